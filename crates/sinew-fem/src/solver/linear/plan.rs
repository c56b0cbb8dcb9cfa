//! Layout of the matrix over the unknowns: positions of cells and forces, and the rows and columns that pins prescribe.

use std::sync::Arc;

use sinew_math::Real;
use sinew_math::parallel::ScatterPlan;
use sinew_math::sparse::{BlockCsr, BlockPattern};

use crate::kinematics::Kinematics;
use crate::model::Model;

/// Layout of the matrix, found once per model.
pub(crate) struct AssemblyPlan {
    pub pattern: Arc<BlockPattern>,
    /// One plan per elastic block; `None` for blocks with bound nodes.
    pub(super) elastic: Vec<Option<ScatterPlan>>,
}

impl AssemblyPlan {
    pub fn new(model: &Model) -> Self {
        let kinematics = &model.kinematics;
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut unknowns = Vec::new();
        for block in &model.elastic {
            for cell in 0..block.cell_count() {
                unknowns.clear();
                for a in 0..block.kind().nodes_per_cell() {
                    kinematics.unknowns_of(block.point(cell, a) as usize, &mut unknowns);
                }
                unknowns.sort_unstable();
                unknowns.dedup();
                groups.push(unknowns.clone());
            }
        }
        let mut add_group = |points: &[u32]| {
            let mut group = Vec::new();
            for &point in points {
                kinematics.unknowns_of(point as usize, &mut group);
            }
            group.sort_unstable();
            group.dedup();
            groups.push(group);
        };
        for point in 0..kinematics.point_count() as u32 {
            if kinematics.own_unknown(point as usize).is_none() {
                add_group(&[point]);
            }
        }
        for force in model.forces() {
            for (a, b) in force.couplings() {
                add_group(&[a, b]);
            }
        }
        // Every unknown has a diagonal block, even one without neighbors.
        groups.extend((0..kinematics.unknown_count() as u32).map(|u| vec![u]));
        let pattern = BlockPattern::from_elements(kinematics.unknown_count(), &groups)
            .expect("unknowns of points are unknowns of the model");
        let elastic = model
            .elastic
            .iter()
            .map(|block| {
                (!block.has_bound_nodes).then(|| {
                    let slots = block.matrix_slots(|a, b| {
                        let [a, b] = [a, b].map(|point| match kinematics.own_unknown(point as usize) {
                            Some(unknown) => unknown as usize,
                            None => unreachable!("blocks without bound nodes have free points only"),
                        });
                        debug_assert!(a >= b, "unknowns are numbered like points");
                        pattern.slot(a, b).expect("nodes of one cell are coupled") as u32
                    });
                    ScatterPlan::new(pattern.block_count(), slots).expect("slots are in the pattern")
                })
            })
            .collect();
        Self { pattern: Arc::new(pattern), elastic }
    }

    /// Positions of the cells of an elastic block in a matrix of this pattern; `None` where some of their nodes are
    /// bound.
    pub fn elastic(&self, block: usize) -> Option<&ScatterPlan> {
        self.elastic[block].as_ref()
    }
}

/// Rows and columns of prescribed components, which are removed from the system.
pub(crate) struct Filter {
    /// Blocks on or below the diagonal with prescribed rows or columns, and which ones.
    blocks: Vec<(u32, [bool; 3], [bool; 3])>,
    /// The diagonal blocks among them.
    diagonal: Vec<(u32, [bool; 3])>,
}

impl Filter {
    pub fn new(kinematics: &Kinematics, pattern: &BlockPattern) -> Self {
        let mut filter = Self { blocks: Vec::new(), diagonal: Vec::new() };
        for row in 0..pattern.node_count() {
            for slot in pattern.row(row).start..=pattern.diagonal_slot(row) {
                let (rows, columns) = (kinematics.fixed(row), kinematics.fixed(pattern.columns()[slot] as usize));
                if rows != [false; 3] || columns != [false; 3] {
                    filter.blocks.push((slot as u32, rows, columns));
                }
            }
            if kinematics.fixed(row) != [false; 3] {
                filter.diagonal.push((pattern.diagonal_slot(row) as u32, kinematics.fixed(row)));
            }
        }
        filter
    }

    /// Zeroes rows and columns of prescribed components and puts `scale` on their diagonal, so that their solution is
    /// zero.
    pub fn apply<S: Real>(&self, matrix: &mut BlockCsr<S>, scale: S) {
        let values = matrix.values_mut();
        for &(slot, rows, columns) in &self.blocks {
            let block = &mut values[slot as usize];
            for i in 0..3 {
                for j in 0..3 {
                    if rows[i] || columns[j] {
                        block.rows[i][j] = S::zero();
                    }
                }
            }
        }
        for &(slot, fixed) in &self.diagonal {
            for axis in (0..3).filter(|&axis| fixed[axis]) {
                values[slot as usize].rows[axis][axis] = scale;
            }
        }
    }
}
