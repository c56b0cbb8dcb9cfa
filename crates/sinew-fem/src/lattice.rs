//! Flesh on a lattice of cubes: energy, forces and cell data for probes.
//!
//! Corotated elasticity with one rotation per cell, and a stiffness of the hourglass modes that one-point quadrature
//! does not see (MCA-03, MCA-10); see [`sinew_lattice`]. The linear systems are never assembled:
//! `solver/linear/lattice.rs`. Muscles are fibers in the cells, with an activation from a channel
//! ([`sinew_lattice::Fibers`]).

#![allow(non_snake_case)]

use std::ops::Range;

use sinew_geometry::lattice::HexLattice;
use sinew_lattice::{Fibers, LatticeElastic, ModeStiffness, VolumeLaw};
use sinew_math::parallel::reduce_blocks;
use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Vec3};

use crate::control::Control;
use crate::elastic::{BlockSummary, FLATTENED, von_mises};
use crate::muscle::{Activations, Muscle};

/// Cells per parallel piece of a summary.
const PIECE: usize = 512;

/// Energy of a change of volume.
pub(crate) const VOLUME_LAW: VolumeLaw = VolumeLaw::Determinant;

/// The cells of one body on a lattice.
pub struct LatticeBlock {
    /// The body.
    pub body: usize,
    points: Range<usize>,
    unknowns: Range<usize>,
    lattice: HexLattice,
    lame: Vec<[f64; 2]>,
    elastic: LatticeElastic,
    muscles: Vec<Muscle>,
    fibers: Option<Fibers>,
    resists: bool,
}

impl LatticeBlock {
    /// Creates the cells of a lattice with μ and λ of each \[Pa\]. Its nodes are these points and unknowns, in the same
    /// order. The lattice may lie anywhere: rigid motions cost no energy.
    pub(crate) fn new(
        body: usize,
        points: Range<usize>,
        unknowns: Range<usize>,
        lattice: HexLattice,
        lame: Vec<[f64; 2]>,
        muscles: Vec<Muscle>,
        fibers: Option<Fibers>,
    ) -> Self {
        let elastic = LatticeElastic::with_fibers(&lattice, &lame, ModeStiffness::EXACT, VOLUME_LAW, fibers.as_ref());
        Self { body, points, unknowns, lattice, lame, elastic, muscles, fibers, resists: false }
    }

    /// Adds the inversion barrier, which keeps corners of cells from inverting in creases.
    pub(crate) fn with_inversion_barrier(self) -> Self {
        Self { elastic: self.elastic.with_inversion_barrier(&self.lattice), resists: true, ..self }
    }

    /// Whether cells have the inversion barrier.
    pub fn resists(&self) -> bool {
        self.resists
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.lattice.cells.len()
    }

    /// Cells and nodes at rest, in coordinates of the lattice.
    pub fn lattice(&self) -> &HexLattice {
        &self.lattice
    }

    /// μ and λ of each cell \[Pa\].
    pub fn lame(&self) -> &[[f64; 2]] {
        &self.lame
    }

    /// Its muscles.
    pub fn muscles(&self) -> &[Muscle] {
        &self.muscles
    }

    /// The fibers of its cells, whose groups are the muscles.
    pub fn fibers(&self) -> Option<&Fibers> {
        self.fibers.as_ref()
    }

    /// Activations of its muscles, relative to a stiffness factor, clamped to 0 to 1.
    pub fn activations(&self, control: &Control, stiffness: f64) -> Activations {
        Activations::of(&self.muscles, control, stiffness)
    }

    /// Mean stretch |F a| of the fibers of a muscle.
    pub fn fiber_stretch(&self, muscle: usize, x: &[Vec3]) -> f64 {
        let Some(fibers) = &self.fibers else { return 1.0 };
        let (mut sum, mut count) = (0.0, 0.0f64);
        for (cell, &group) in fibers.groups.iter().enumerate() {
            if usize::from(group) == muscle && fibers.stress[cell] > 0.0 {
                sum += (self.deformation(cell, x) * fibers.directions[cell]).norm();
                count += 1.0;
            }
        }
        sum / count.max(1.0)
    }

    /// Points of the nodes.
    pub fn points(&self) -> Range<usize> {
        self.points.clone()
    }

    /// Unknowns of the nodes.
    pub fn unknowns(&self) -> Range<usize> {
        self.unknowns.clone()
    }

    /// Strain energy \[J\] at the positions `x` of all points of the model.
    pub fn energy(&self, x: &[Vec3], activations: &Activations) -> f64 {
        self.elastic.energy(&x[self.points()], activations)
    }

    /// gradient += s ∂E/∂x with the factor s = `scale`; returns s E \[J\].
    pub fn add_gradient(&self, x: &[Vec3], activations: &Activations, scale: f64, gradient: &mut [Vec3]) -> f64 {
        self.elastic.add_gradient(&x[self.points()], activations, scale, &mut gradient[self.points()])
    }

    /// out += s (∂²E/∂x²) d over the points, exact and in f64, with the factor s = `scale`.
    pub fn add_product(&self, x: &[Vec3], activations: &Activations, scale: f64, d: &[Vec3], out: &mut [Vec3]) {
        let points = self.points();
        self.elastic.add_product(&x[points.clone()], activations, scale, &d[points.clone()], &mut out[points]);
    }

    /// Rest volume of a cell \[m³\].
    pub fn rest_volume(&self) -> f64 {
        self.lattice.cell.powi(3)
    }

    /// Whether a point is a node of a cell.
    pub fn touches(&self, cell: usize, point: usize) -> bool {
        self.lattice.cells[cell].nodes.iter().any(|&node| self.points.start + node as usize == point)
    }

    /// Deformation gradient at the center of a cell, F = Σ ± x / 4h.
    pub fn deformation(&self, cell: usize, x: &[Vec3]) -> Mat3 {
        let mut F = Mat3::zero();
        for (k, &node) in self.lattice.cells[cell].nodes.iter().enumerate() {
            let place = x[self.points.start + node as usize];
            for i in 0..3 {
                for j in 0..3 {
                    F.rows[i][j] += if k >> j & 1 == 1 { place[i] } else { -place[i] };
                }
            }
        }
        F * (0.25 / self.lattice.cell)
    }

    /// Calls `visit(point, ∇N)` with the gradient of each corner at the center of a cell \[1/m\].
    pub(crate) fn for_each_gradient(&self, cell: usize, mut visit: impl FnMut(usize, Vec3)) {
        let slope = 0.25 / self.lattice.cell;
        for (k, &node) in self.lattice.cells[cell].nodes.iter().enumerate() {
            let sign = |j: usize| if k >> j & 1 == 1 { slope } else { -slope };
            visit(self.points.start + node as usize, Vec3::new(sign(0), sign(1), sign(2)));
        }
    }

    /// First Piola–Kirchhoff stress of a cell, P = 2μ (F − R) + λ tr(RᵀF − I) R plus the stress of its fibers \[Pa\].
    pub fn stress(&self, cell: usize, F: &Mat3, activations: &Activations) -> Mat3 {
        let [mu, lambda] = self.lame[cell];
        let R = svd3_plain(F).rotation();
        let flesh = (*F - R) * (2.0 * mu) + VOLUME_LAW.push(F, &R) * lambda;
        self.fibers.as_ref().map_or(flesh, |fibers| flesh + fibers.stress_of(cell, F, activations))
    }

    /// Summarizes all cells: sums and extremes.
    pub fn summarize(&self, x: &[Vec3], activations: &Activations) -> BlockSummary {
        let piece = |cells| self.summarize_cells(cells, x, activations);
        let cells = reduce_blocks(self.cell_count(), PIECE, piece, BlockSummary::join).unwrap_or_default();
        BlockSummary { energy: self.energy(x, activations), ..cells }
    }

    fn summarize_cells(&self, cells: Range<usize>, x: &[Vec3], activations: &Activations) -> BlockSummary {
        let weight = self.rest_volume();
        let mut sum = BlockSummary::default();
        for cell in cells {
            let F = self.deformation(cell, x);
            let P = self.stress(cell, &F, activations);
            let (J, kirchhoff) = (F.determinant(), P.mul_transpose(&F));
            sum.rest_volume += weight;
            sum.volume += weight * J;
            sum.inverted_cells += usize::from(!(J > 0.0));
            sum.flattened_cells += usize::from(!(J > FLATTENED));
            sum.min_volume_ratio = sum.min_volume_ratio.min(J);
            sum.max_volume_ratio = sum.max_volume_ratio.max(J);
            if J > 0.0 {
                sum.max_von_mises = sum.max_von_mises.max(von_mises(&kirchhoff) / J);
            }
            sum.piola += P * weight;
            sum.kirchhoff += kirchhoff * weight;
            sum.deformation += F * weight;
        }
        sum
    }

    /// Whether any cell has a non-positive volume.
    pub fn has_inverted_cells(&self, x: &[Vec3]) -> bool {
        let piece = |mut cells: Range<usize>| cells.any(|cell| !(self.deformation(cell, x).determinant() > 0.0));
        reduce_blocks(self.cell_count(), PIECE, piece, |a, b| a || b).unwrap_or(false)
    }

    /// Adds to each point the size of the elastic force on it at unit strain: Σ h³ (λ + 2μ) |∇Nₐ| \[N\].
    pub fn add_unit_strain_forces(&self, forces: &mut [f64]) {
        let h = self.lattice.cell;
        // ∇N of each corner at the center is (±1, ±1, ±1) / 4h.
        let share = h * h * 3f64.sqrt() / 4.0;
        for (cell, [mu, lambda]) in self.lattice.cells.iter().zip(&self.lame) {
            for &node in &cell.nodes {
                forces[self.points.start + node as usize] += share * (lambda.abs() + 2.0 * mu.abs());
            }
        }
    }
}
