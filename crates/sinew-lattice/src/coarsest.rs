//! Direct solve on the coarsest level (MCA-35).

use std::fmt;
use std::sync::Arc;

use sinew_geometry::lattice::HexLattice;
use sinew_math::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Vec3};

use crate::embedded_springs::LevelTies;
use crate::fibers::PULL;
use crate::kernel::{BLOCK, BULK, MOMENT, STATE};
use crate::layout::LANES;
use crate::pass::Operator;
use crate::precise::{Bent, forces};

/// Diagonal shift relative to the largest diagonal entry. It keeps unconstrained parts in place.
const SHIFT: f64 = 1e-7;

/// Matrix and factor of the coarsest level.
pub(crate) struct Coarsest {
    cells: Vec<[u32; 8]>,
    /// Components that do not move.
    fixed: Vec<[bool; 3]>,
    /// Factor without contacts.
    apart: Direct,
    /// Factor with contacts, and the node pairs in its structure.
    joined: Option<(Direct, Vec<[u32; 2]>)>,
    /// Node pairs coupled by contacts. Pairs found in a step stay until the next step begins, so that not every new
    /// contact needs a new structure.
    pairs: Vec<[u32; 2]>,
    /// Whether the last factorization included contacts.
    is_joined: bool,
    /// Right-hand side on entry, solution on return.
    pub x: Vec<Vec3>,
}

/// A matrix with its factor.
struct Direct {
    matrix: BlockCsr<f64>,
    factor: Cholesky<f64>,
}

impl Direct {
    /// Builds the structure for these cells and node pairs.
    fn new(count: usize, cells: &[[u32; 8]], pairs: &[[u32; 2]]) -> Result<Self, CholeskyError> {
        let groups: Vec<&[u32]> =
            cells.iter().map(|cell| &cell[..]).chain(pairs.iter().map(|pair| &pair[..])).collect();
        let pattern = Arc::new(
            BlockPattern::from_elements(count, &groups).map_err(|_| CholeskyError::TooLarge { size: 3 * count })?,
        );
        let factor = SymbolicCholesky::new(&pattern)?.prepare()?;
        Ok(Self { matrix: BlockCsr::zeros(pattern), factor })
    }
}

impl fmt::Debug for Coarsest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Coarsest {{ {} cells }}", self.cells.len())
    }
}

impl Coarsest {
    /// Builds the structure of a lattice's matrix.
    pub fn new(lattice: &HexLattice, fixed: &[[bool; 3]]) -> Result<Self, CholeskyError> {
        let cells: Vec<[u32; 8]> = lattice.cells.iter().map(|cell| cell.nodes).collect();
        let count = lattice.node_places.len();
        Ok(Self {
            apart: Direct::new(count, &cells, &[])?,
            joined: None,
            pairs: Vec::new(),
            is_joined: false,
            cells,
            fixed: fixed.to_vec(),
            x: vec![Vec3::zero(); count],
        })
    }

    /// Discards the node pairs coupled by contacts.
    pub fn begin_step(&mut self) {
        self.pairs.clear();
    }

    /// Extends the structure for contacts between nodes that share no cell.
    fn make_room(&mut self, contacts: &LevelTies) -> Result<(), CholeskyError> {
        let known = self.pairs.len();
        let pattern = self.apart.matrix.pattern();
        let pairs = &mut self.pairs;
        contacts.for_each_pair(|a, b| {
            if a < b && pattern.slot(a as usize, b as usize).is_none() {
                pairs.push([a, b]);
            }
        });
        // The known pairs come first, sorted.
        let (old, new) = pairs.split_at_mut(known);
        new.sort_unstable();
        let is_known = new.iter().all(|pair| old.binary_search(pair).is_ok());
        if is_known {
            pairs.truncate(known);
        } else {
            pairs.sort_unstable();
            pairs.dedup();
        }
        // An earlier step may have left a factor for the same pairs.
        if self.joined.as_ref().is_none_or(|(_, room)| *room != self.pairs) {
            let direct = Direct::new(self.fixed.len(), &self.cells, &self.pairs)?;
            self.joined = Some((direct, self.pairs.clone()));
        }
        Ok(())
    }

    /// Factorizes the tangent at this state with everything added to it.
    pub fn factorize(
        &mut self,
        operator: Operator<'_>,
        ties: &LevelTies,
        contacts: &LevelTies,
    ) -> Result<(), CholeskyError> {
        self.is_joined = !contacts.is_empty();
        if self.is_joined {
            self.make_room(contacts)?;
        }
        let Self { cells, fixed, apart, joined, .. } = self;
        let joined = joined.as_mut().filter(|_| self.is_joined);
        let Direct { matrix, factor } = joined.map_or(apart, |(direct, _)| direct);
        let Operator { layout, state, modes, moments, fibers, bulk, anchors } = operator;
        matrix.set_zero();
        for (cell, nodes) in cells.iter().enumerate() {
            let (block, lane) = layout.cell_slot(cell);
            let s: [f64; STATE] = std::array::from_fn(|k| f64::from(state[block * BLOCK + k * LANES + lane]));
            let mut bent = Bent::full(modes);
            if !moments.is_empty() {
                let row = |k: usize| f64::from(moments[block * MOMENT + k * LANES + lane]);
                bent = Bent {
                    center: Some([row(0), row(1), row(2)]),
                    factors: [row(3), row(4), row(5), row(6)],
                    pull: None,
                    bulk: None,
                };
            }
            if !fibers.is_empty() {
                bent.pull = Some(std::array::from_fn(|k| f64::from(fibers[block * PULL + k * LANES + lane])));
            }
            if !bulk.is_empty() {
                bent.bulk = Some(std::array::from_fn(|k| f64::from(bulk[block * BULK + k * LANES + lane])));
            }
            for b in 0..8 {
                let mut columns = [Mat3::zero(); 8];
                for j in 0..3 {
                    let mut unit = [[0.0; 3]; 8];
                    unit[b][j] = 1.0;
                    for (column, force) in columns.iter_mut().zip(forces(&s, &unit, &bent)) {
                        for (i, value) in force.into_iter().enumerate() {
                            column.rows[i][j] = value;
                        }
                    }
                }
                for (a, block) in columns.iter_mut().enumerate() {
                    hold(fixed, nodes[a], nodes[b], block);
                    matrix
                        .add_block(nodes[a] as usize, nodes[b] as usize, block)
                        .map_err(|_| CholeskyError::PatternMismatch)?;
                }
            }
        }
        let entries = matrix.diagonal_blocks().flat_map(|block| [block.rows[0][0], block.rows[1][1], block.rows[2][2]]);
        let largest = entries.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        for (node, fixed) in fixed.iter().enumerate() {
            let stiffness = |c: usize| if fixed[c] { largest } else { SHIFT * largest };
            let block = Mat3::diagonal(Vec3::new(stiffness(0), stiffness(1), stiffness(2)));
            matrix.add_diagonal(node, &block);
        }
        // After the shift, which applies to K alone: stiff blocks would make it too large for the rest.
        for node in 0..fixed.len() {
            if let Some(mut block) = anchors.block(layout.slots(node)[0]) {
                hold(fixed, node as u32, node as u32, &mut block);
                matrix.add_diagonal(node, &block);
            }
        }
        for ties in [ties, contacts] {
            ties.for_each_block(|a, b, mut block| {
                hold(fixed, a, b, &mut block);
                let added = matrix.add_block(a as usize, b as usize, &block);
                debug_assert!(added.is_ok(), "springs lie in one cell, and contacts have been given room: {added:?}");
            });
        }
        factor.refactor(matrix)
    }

    /// Replaces the right-hand side by the solution, or by zero without a factor.
    pub fn solve(&mut self) {
        let Self { apart, joined, x, .. } = self;
        let joined = joined.as_mut().filter(|_| self.is_joined);
        let Direct { factor, .. } = joined.map_or(apart, |(direct, _)| direct);
        if factor.solve_in_place(x).is_err() {
            x.fill(Vec3::zero());
        }
    }
}

/// Zeroes the fixed components of a block.
fn hold(fixed: &[[bool; 3]], row: u32, column: u32, block: &mut Mat3) {
    for i in 0..3 {
        for j in 0..3 {
            if fixed[row as usize][i] || fixed[column as usize][j] {
                block.rows[i][j] = 0.0;
            }
        }
    }
}
