//! The tangent matrix over the unknowns: H = Jᵀ (∂²Φ/∂x²) J + geometric term.

use std::sync::Arc;

use sinew_math::parallel::ScatterPlan;
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Vec3};

use super::problem::Problem;
use crate::force::Linearized;
use crate::kinematics::{Kinematics, PointMap, Unknowns};
use crate::material::Tangent;
use crate::model::Model;

/// Where everything goes: found once per model.
pub(crate) struct AssemblyPlan {
    pub pattern: Arc<BlockPattern>,
    /// One plan per elastic block; `None` for blocks with bound nodes.
    elastic: Vec<Option<ScatterPlan>>,
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
            if !matches!(kinematics.map(point as usize), PointMap::Free(_)) {
                add_group(&[point]);
            }
        }
        for force in model.forces() {
            for (a, b) in force.couplings() {
                add_group(&[a, b]);
            }
        }
        for pressure in &model.pressures {
            pressure.triangles.iter().for_each(|triangle| add_group(triangle));
        }
        // Every unknown has a diagonal block, even one that nothing couples to.
        groups.extend((0..kinematics.unknown_count() as u32).map(|u| vec![u]));
        let pattern = BlockPattern::from_elements(kinematics.unknown_count(), &groups)
            .expect("unknowns of points are unknowns of the model");
        let elastic = model
            .elastic
            .iter()
            .map(|block| {
                (!block.has_bound_nodes).then(|| {
                    let slots = block.matrix_slots(|a, b| {
                        let [a, b] = [a, b].map(|point| match kinematics.map(point as usize) {
                            PointMap::Free(unknown) => unknown as usize,
                            _ => unreachable!("blocks without bound nodes have free points only"),
                        });
                        pattern.slot(a, b).expect("nodes of one cell are coupled") as u32
                    });
                    ScatterPlan::new(pattern.block_count(), slots).expect("slots are in the pattern")
                })
            })
            .collect();
        Self { pattern: Arc::new(pattern), elastic }
    }

    /// Fills `matrix` with the tangent at (q, x); `point_gradient` is the gradient there.
    pub fn assemble(
        &self,
        problem: &Problem<'_>,
        q: &Unknowns,
        x: &[Vec3],
        point_gradient: &[Vec3],
        tangent: Tangent,
        linearized: &mut Linearized,
        matrix: &mut BlockCsr,
    ) {
        let model = problem.model;
        let kinematics = &model.kinematics;
        matrix.set_zero();
        for (block, plan) in model.elastic.iter().zip(&self.elastic) {
            match plan {
                Some(plan) => block.add_tangent(x, tangent, plan, matrix.values_mut()),
                None => {
                    for cell in 0..block.cell_count() {
                        block.cell_tangent(cell, x, tangent, |a, b, k| {
                            add_point_block(kinematics, q, block.point(cell, a), block.point(cell, b), &k, matrix);
                        });
                    }
                }
            }
        }
        for point in 0..kinematics.point_count() {
            let inertia = problem.point_inertia(point);
            if inertia > 0.0 {
                add_point_block(kinematics, q, point as u32, point as u32, &(Mat3::identity() * inertia), matrix);
            }
        }
        linearized.clear();
        for force in model.forces() {
            force.linearize(x, &problem.ctx, tangent, linearized);
        }
        for &(a, b, ref block) in linearized.blocks().iter().chain(problem.damping_blocks().blocks()) {
            add_point_block(kinematics, q, a, b, block, matrix);
        }
        kinematics.for_each_geometric_term(q, point_gradient, |unknown, term| {
            // The geometric term is indefinite; a definite tangent keeps its positive part only, by a bound on its eigenvalues.
            let term = match tangent {
                Tangent::Exact => term,
                Tangent::Definite => positive_part(&term),
            };
            matrix.add_diagonal(unknown as usize, &term);
        });
    }
}

/// Adds Jₐᵀ K J_b.
fn add_point_block(kinematics: &Kinematics, q: &Unknowns, a: u32, b: u32, k: &Mat3, matrix: &mut BlockCsr) {
    let mut add = |row: u32, column: u32, block: Mat3| {
        let added = matrix.add_block(row as usize, column as usize, &block);
        debug_assert!(added.is_ok(), "the pattern covers all couplings: {added:?}");
    };
    if let (PointMap::Free(row), PointMap::Free(column)) = (kinematics.map(a as usize), kinematics.map(b as usize)) {
        add(row, column, *k);
        return;
    }
    kinematics.for_each_jacobian(q, a as usize, |row, ja| {
        kinematics.for_each_jacobian(q, b as usize, |column, jb| add(row, column, ja.transpose() * *k * jb));
    });
}

/// The part of a symmetric matrix with positive eigenvalues.
fn positive_part(matrix: &Mat3) -> Mat3 {
    let svd = sinew_math::svd3::svd3_plain(&matrix.symmetric_part());
    let mut out = Mat3::zero();
    for k in 0..3 {
        let (u, v) = (svd.u.column(k), svd.v.column(k));
        let eigenvalue = svd.sigma[k] * u.dot(v);
        if eigenvalue > 0.0 {
            out += Mat3::outer(v, v) * eigenvalue;
        }
    }
    out
}

/// Zeroes rows and columns of prescribed components and puts `scale` on their diagonal, so that they solve to zero.
pub(crate) fn filter(kinematics: &Kinematics, matrix: &mut BlockCsr, scale: f64) {
    let pattern = matrix.pattern().clone();
    let values = matrix.values_mut();
    for row in 0..pattern.node_count() {
        let fixed_row = kinematics.fixed(row);
        for slot in pattern.row(row) {
            let column = pattern.columns()[slot] as usize;
            let fixed_column = kinematics.fixed(column);
            if fixed_row == [false; 3] && fixed_column == [false; 3] {
                continue;
            }
            for i in 0..3 {
                for j in 0..3 {
                    if fixed_row[i] || fixed_column[j] {
                        let on_diagonal = row == column && i == j;
                        values[slot].rows[i][j] = if on_diagonal { scale } else { 0.0 };
                    }
                }
            }
        }
    }
}
