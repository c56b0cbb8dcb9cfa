//! Local solve: Newton steps on a few nodes far from equilibrium while all others are near it \[CaiKeyes02\].
//!
//! Among contacts, most iterations have something to do only at a dozen nodes: a pair that has come too near, a fold
//! that snaps. So these nodes and their neighborhood P move alone, by the solution of their part of Newton's equation,
//! ```math
//! H_{PP} \, \delta_P = -g_P, \qquad \delta = 0 \text{ elsewhere},
//! ```
//! which takes a hundredth of the time. Energy and collision detection limit this step like any other.

use sinew_lattice::{Patch, PatchCell};
use sinew_math::krylov::{
    BlockJacobi, CgInfo, CgOutcome, CgParams, CgScratch, LinearOperator, conjugate_gradients, norm,
};
use sinew_math::sparse::BlockCsr;
use sinew_math::{Mat3, Vec3};

use super::contact_bends::{Bent, ContactBends, is_within};
use super::contact_operator::ContactOperator;
use crate::kinematics::Kinematics;
use crate::lattice::LatticeBlock;
use crate::model::Model;

/// Rings of cells around the selected nodes that move along.
const RINGS: usize = 2;
/// Maximum number of selected nodes, and of all nodes that move.
const MAX_SEEDS: usize = 400;
const MAX_NODES: usize = 6000;
/// Relative accuracy, and maximum number of iterations.
const ACCURACY: f64 = 0.03;
const MAX_ITERATIONS: usize = 150;
/// Marks unknowns outside the patch.
const NONE: u32 = u32::MAX;

/// Patches of a model on lattices, with scratch memory.
pub(super) struct LocalSolve {
    lattices: Vec<Neighbours>,
    /// Index of each unknown in the patch.
    local: Vec<u32>,
    nodes: Vec<u32>,
    cells: Vec<PatchCell>,
    system: System,
    bends: ContactBends,
    rhs: Vec<Vec3<f32>>,
    solution: Vec<Vec3<f32>>,
    diagonal: Vec<Mat3<f32>>,
    jacobi: BlockJacobi<f32>,
    scratch: CgScratch<f32>,
}

/// Cells around the nodes of a lattice.
struct Neighbours {
    /// First cell of each node, and one past the last.
    offsets: Vec<u32>,
    cells: Vec<u32>,
    is_taken: Vec<bool>,
}

/// H between the nodes of a patch.
#[derive(Default)]
struct System {
    count: usize,
    cells: Vec<Patch>,
    /// Blocks of the sparse matrix on and below the diagonal.
    blocks: Vec<(u32, u32, Mat3<f32>)>,
    /// Contacts, and one past the last entry of each.
    contacts: Vec<(Mat3<f32>, u32)>,
    entries: Vec<(u32, f32)>,
}

impl Neighbours {
    fn new(block: &LatticeBlock) -> Self {
        let lattice = block.lattice();
        let mut offsets = vec![0; lattice.node_places.len() + 1];
        for &node in lattice.cells.iter().flat_map(|cell| &cell.nodes) {
            offsets[node as usize + 1] += 1;
        }
        for k in 1..offsets.len() {
            offsets[k] += offsets[k - 1];
        }
        let mut next = offsets.clone();
        let mut cells = vec![0; 8 * lattice.cells.len()];
        for (cell, nodes) in lattice.cells.iter().enumerate() {
            for &node in &nodes.nodes {
                cells[next[node as usize] as usize] = cell as u32;
                next[node as usize] += 1;
            }
        }
        Self { offsets, cells, is_taken: vec![false; lattice.cells.len()] }
    }

    fn of(&self, node: usize) -> &[u32] {
        &self.cells[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }
}

impl LocalSolve {
    pub fn new(model: &Model) -> Self {
        Self {
            lattices: model.lattices.iter().map(Neighbours::new).collect(),
            local: vec![NONE; model.kinematics.unknown_count()],
            nodes: Vec::new(),
            cells: Vec::new(),
            system: System::default(),
            bends: ContactBends::default(),
            rhs: Vec::new(),
            solution: Vec::new(),
            diagonal: Vec::new(),
            jacobi: BlockJacobi::default(),
            scratch: CgScratch::new(),
        }
    }

    /// Selects the unknowns whose gradient exceeds `least`, with their neighborhood and contacts; returns whether these
    /// are few.
    pub fn choose(&mut self, model: &Model, couplings: &ContactOperator, gradient: &[Vec3], least: f64) -> bool {
        self.forget();
        for block in &model.lattices {
            for unknown in block.unknowns().filter(|&unknown| gradient[unknown].norm_squared() > least * least) {
                if self.nodes.len() == MAX_SEEDS {
                    return false;
                }
                self.add(&model.kinematics, unknown as u32);
            }
        }
        let seeds = self.nodes.len();
        couplings.for_each_contact(|_, entries| {
            if entries.clone().any(|(unknown, _)| self.local[unknown as usize] < seeds as u32) {
                entries.for_each(|(unknown, _)| self.add(&model.kinematics, unknown));
            }
        });
        for _ in 0..RINGS {
            for k in 0..self.nodes.len() {
                let unknown = self.nodes[k] as usize;
                for (lattice, block) in model.lattices.iter().enumerate() {
                    let (unknowns, nodes) = (block.unknowns(), &block.lattice().cells);
                    if unknowns.contains(&unknown) {
                        let node = unknown - unknowns.start;
                        for at in 0..self.lattices[lattice].of(node).len() {
                            let cell = self.lattices[lattice].of(node)[at];
                            for &corner in &nodes[cell as usize].nodes {
                                self.add(&model.kinematics, unknowns.start as u32 + corner);
                            }
                        }
                    }
                }
            }
        }
        seeds > 0 && self.nodes.len() <= MAX_NODES
    }

    /// Adds an unknown if it can move.
    fn add(&mut self, kinematics: &Kinematics, unknown: u32) {
        if self.local[unknown as usize] == NONE && kinematics.fixed(unknown as usize) == [false; 3] {
            self.local[unknown as usize] = self.nodes.len() as u32;
            self.nodes.push(unknown);
        }
    }

    fn forget(&mut self) {
        for node in self.nodes.drain(..) {
            self.local[node as usize] = NONE;
        }
    }

    /// Fills the local part of H: current cells, sparse matrix and contacts. Returns false where cells have terms that
    /// this part lacks.
    pub fn fill<'a>(
        &mut self,
        model: &Model,
        lattices: impl Iterator<Item = &'a sinew_lattice::Multigrid>,
        matrix: &BlockCsr<f32>,
        couplings: &ContactOperator,
        q: &[Vec3],
    ) -> bool {
        let Self { lattices: neighbors, local, nodes, cells, system, bends, .. } = self;
        couplings.bends().gather_local(local, bends);
        let System { count, cells: patches, blocks, contacts, entries } = system;
        *count = nodes.len();
        patches.resize_with(neighbors.len(), Patch::default);
        for (((multigrid, block), around), patch) in
            lattices.zip(&model.lattices).zip(&mut *neighbors).zip(&mut *patches)
        {
            let (unknowns, lattice) = (block.unknowns(), block.lattice());
            cells.clear();
            for &unknown in nodes.iter().filter(|&&unknown| unknowns.contains(&(unknown as usize))) {
                let node = unknown as usize - unknowns.start;
                for at in around.offsets[node]..around.offsets[node + 1] {
                    let cell = around.cells[at as usize];
                    if std::mem::replace(&mut around.is_taken[cell as usize], true) {
                        continue;
                    }
                    let corners = lattice.cells[cell as usize].nodes;
                    // Relative to the first corner: far from the origin f32 would resolve little else.
                    let displaced =
                        |corner: u32| q[unknowns.start + corner as usize] - lattice.node_position(corner as usize);
                    let first = displaced(corners[0]);
                    cells.push(PatchCell {
                        cell,
                        nodes: corners.map(|corner| local[unknowns.start + corner as usize]),
                        corners: corners.map(|corner| displaced(corner) - first),
                    });
                }
            }
            cells.iter().for_each(|cell| around.is_taken[cell.cell as usize] = false);
            if !patch.fill(multigrid, cells) {
                return false;
            }
        }
        let pattern = matrix.pattern();
        blocks.clear();
        for (at, &unknown) in nodes.iter().enumerate() {
            for slot in pattern.row(unknown as usize).start..=pattern.diagonal_slot(unknown as usize) {
                let other = local[pattern.columns()[slot] as usize];
                if other != NONE && matrix.values()[slot] != Mat3::zero() {
                    blocks.push((at as u32, other, matrix.values()[slot]));
                }
            }
        }
        contacts.clear();
        entries.clear();
        couplings.for_each_contact(|block, unknowns| {
            let known = entries.len();
            for (unknown, weight) in unknowns {
                if local[unknown as usize] != NONE {
                    entries.push((local[unknown as usize], weight as f32));
                }
            }
            if entries.len() > known {
                contacts.push((Mat3::from_f64(*block), entries.len() as u32));
            }
        });
        true
    }

    /// Solves for the step of the patch and writes it, with zeros elsewhere; returns whether there is one. A step with
    /// the whole second derivative of contacts moves no node farther than `longest`.
    pub fn solve(&mut self, gradient: &[Vec3], direction: &mut [Vec3], longest: f64) -> bool {
        let Self { nodes, system, bends, rhs, solution, diagonal, jacobi, scratch, .. } = self;
        rhs.clear();
        rhs.extend(nodes.iter().map(|&node| Vec3::<f32>::from_f64(-gradient[node as usize])));
        // Small forces underflow in f32.
        let size = norm(rhs);
        if !(size > 0.0 && size.is_finite()) {
            return false;
        }
        for (rhs, &node) in rhs.iter_mut().zip(&*nodes) {
            *rhs = Vec3::from_f64(-gradient[node as usize] / size);
        }
        solution.clear();
        solution.resize(nodes.len(), Vec3::zero());
        diagonal.clear();
        diagonal.resize(nodes.len(), Mat3::zero());
        system.add_diagonal(diagonal);
        jacobi.update_from_blocks(diagonal.iter().copied());
        let params = CgParams { relative_tolerance: ACCURACY, absolute_tolerance: 0.0, max_iterations: MAX_ITERATIONS };
        let is_definite = |info: &CgInfo| !matches!(info.outcome, CgOutcome::NegativeCurvature { .. });
        let bent = Bent { matrix: &*system, bends };
        let solved = conjugate_gradients(&bent, jacobi, rhs, solution, &params, scratch);
        if !(solved.is_ok_and(|info| is_definite(&info)) && is_within(solution, longest / size)) {
            solution.fill(Vec3::zero());
            let solved = conjugate_gradients(system, jacobi, rhs, solution, &params, scratch);
            if !solved.is_ok_and(|info| is_definite(&info)) {
                return false;
            }
        }
        direction.fill(Vec3::zero());
        for (&node, &step) in nodes.iter().zip(&*solution) {
            direction[node as usize] = step.to_f64() * size;
        }
        true
    }
}

impl System {
    /// Contacts with their entries.
    fn contacts(&self) -> impl Iterator<Item = (&Mat3<f32>, &[(u32, f32)])> {
        let starts = std::iter::once(0).chain(self.contacts.iter().map(|(_, end)| *end));
        starts.zip(&self.contacts).map(|(start, (block, end))| (block, &self.entries[start as usize..*end as usize]))
    }

    fn add_diagonal(&self, diagonal: &mut [Mat3<f32>]) {
        self.cells.iter().for_each(|patch| patch.add_diagonal(diagonal));
        for &(row, _, block) in self.blocks.iter().filter(|(row, column, _)| row == column) {
            diagonal[row as usize] += block;
        }
        for (block, entries) in self.contacts() {
            for &(node, weight) in entries {
                diagonal[node as usize] += *block * (weight * weight);
            }
        }
    }
}

impl LinearOperator<f32> for System {
    fn node_count(&self) -> usize {
        self.count
    }

    fn apply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        y.fill(Vec3::zero());
        self.cells.iter().for_each(|patch| patch.add_product(x, y));
        for &(row, column, block) in &self.blocks {
            let (row, column) = (row as usize, column as usize);
            y[row] += block * x[column];
            if row != column {
                y[column] += block.transpose() * x[row];
            }
        }
        for (block, entries) in self.contacts() {
            let moved = entries.iter().fold(Vec3::zero(), |sum, &(node, weight)| sum + x[node as usize] * weight);
            let force = *block * moved;
            for &(node, weight) in entries {
                y[node as usize] += force * weight;
            }
        }
    }
}
