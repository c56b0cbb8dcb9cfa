//! Sums and extremes over the quadrature points of a block: energy, volumes, mean stresses.

use std::ops::Range;

use sinew_math::lanes::{Isa, LaneKernel};
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::fibers::{Actuation, PulledCells};
use crate::law::{Lanes, LawInPack, Stresses};
use crate::pack::{CellPoints, lane_sum, weighted_energy};
use crate::{ElasticBlock, PACK};

/// Volume ratio up to which a cell counts as flattened.
pub const FLATTENED: f64 = 0.05;

/// Von Mises equivalent of a stress tensor \[Pa\].
#[inline(always)]
pub fn von_mises<S: Scalar>(sigma: &Mat3<S>) -> S {
    let deviator = *sigma - Mat3::identity() * (sigma.trace() * S::splat(1.0 / 3.0));
    (S::splat(1.5) * deviator.norm_squared()).sqrt()
}

/// Sums and extremes over the quadrature points of a block; see [`ElasticBlock::summarize`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSummary {
    /// Strain energy, that of stretched fibers included \[J\].
    pub energy: f64,
    /// The same with what active fibers could still do \[J\], up to a constant of the step: the energy whose derivative
    /// the forces are.
    pub potential: f64,
    /// Rest volume Σ w \[m³\].
    pub rest_volume: f64,
    /// Volume Σ w J \[m³\].
    pub volume: f64,
    /// Cells with a quadrature point of non-positive volume.
    pub inverted_cells: usize,
    /// Cells with a quadrature point of less than [`FLATTENED`] of its volume.
    pub flattened_cells: usize,
    /// Smallest volume ratio J.
    pub min_volume_ratio: f64,
    /// Largest volume ratio J.
    pub max_volume_ratio: f64,
    /// Largest von Mises stress where J > 0 \[Pa\].
    pub max_von_mises: f64,
    /// Σ w P \[N m\].
    pub piola: Mat3,
    /// Σ w P Fᵀ \[N m\].
    pub kirchhoff: Mat3,
    /// Σ w F \[m³\].
    pub deformation: Mat3,
}

impl Default for BlockSummary {
    fn default() -> Self {
        Self {
            energy: 0.0,
            potential: 0.0,
            rest_volume: 0.0,
            volume: 0.0,
            inverted_cells: 0,
            flattened_cells: 0,
            min_volume_ratio: f64::INFINITY,
            max_volume_ratio: f64::NEG_INFINITY,
            max_von_mises: 0.0,
            piola: Mat3::zero(),
            kirchhoff: Mat3::zero(),
            deformation: Mat3::zero(),
        }
    }
}

impl BlockSummary {
    /// The summary for an energy `factor` times as large.
    pub fn stiffened(self, factor: f64) -> Self {
        Self {
            energy: self.energy * factor,
            potential: self.potential * factor,
            max_von_mises: self.max_von_mises * factor,
            piola: self.piola * factor,
            kirchhoff: self.kirchhoff * factor,
            ..self
        }
    }

    /// Both together.
    pub fn join(self, other: Self) -> Self {
        Self {
            energy: self.energy + other.energy,
            potential: self.potential + other.potential,
            rest_volume: self.rest_volume + other.rest_volume,
            volume: self.volume + other.volume,
            inverted_cells: self.inverted_cells + other.inverted_cells,
            flattened_cells: self.flattened_cells + other.flattened_cells,
            min_volume_ratio: self.min_volume_ratio.min(other.min_volume_ratio),
            max_volume_ratio: self.max_volume_ratio.max(other.max_volume_ratio),
            max_von_mises: self.max_von_mises.max(other.max_von_mises),
            piola: self.piola + other.piola,
            kirchhoff: self.kirchhoff + other.kirchhoff,
            deformation: self.deformation + other.deformation,
        }
    }
}

/// The summary of some packs.
pub(crate) struct SummaryOf<'a> {
    pub block: &'a ElasticBlock,
    pub x: &'a [Vec3],
    pub actuation: &'a Actuation<'a>,
    pub packs: Range<usize>,
}

/// Numbers that a quadrature point adds to the sums: energy, volumes, three tensors, potential.
const SUMMANDS: usize = 3 + 27 + 1;

impl LaneKernel for SummaryOf<'_> {
    type Output = BlockSummary;
    #[inline(always)]
    fn run<I: Isa>(self) -> BlockSummary {
        self.body::<I, Lanes<I>>()
    }
}

impl SummaryOf<'_> {
    #[inline(always)]
    fn body<I: Isa<F64Register = S>, S: LaneScalar<Element = f64>>(self) -> BlockSummary {
        let mut total = BlockSummary::default();
        let mut sums = [0.0; SUMMANDS];
        let SummaryOf { block, x, actuation, packs } = self;
        let mut points = CellPoints::<S>::new(block.points_per_cell());
        let mut pulled = PulledCells::<S>::new();
        for pack in packs {
            let mut lanes = [[0.0; PACK]; SUMMANDS];
            let (mut lowest, mut highest, mut mises) = ([0.0; PACK], [0.0; PACK], [0.0; PACK]);
            for first in (0..PACK).step_by(S::LANES) {
                block.deform((pack, first), x, &mut points);
                let law = LawInPack { volume: block.volume, parameters: block.parameters_of_pack(pack), first };
                block.law.visit(Stresses::<I> { law, points: &mut points });
                let pulls = pulled.evaluate::<I>(block, (pack, first), &points, actuation);
                let mut summands = [S::zero(); SUMMANDS];
                (summands[0], summands[30]) = (points.volume_energy, points.volume_energy);
                let (mut low, mut high) = (S::splat(f64::INFINITY), S::splat(f64::NEG_INFINITY));
                let mut worst = S::zero();
                for k in 0..points.count {
                    let (w, F) = (points.w[k], points.F[k]);
                    let (mut psi, mut P) = (points.psi[k], points.P[k]);
                    let mut potential = psi;
                    if let Some(pulls) = pulls {
                        psi += pulls[k].stored;
                        potential += pulls[k].energy;
                        P += pulls[k].stress();
                    }
                    let J = F.determinant();
                    let kirchhoff = P.mul_transpose(&F);
                    summands[0] = weighted_energy(w, psi, summands[0]);
                    summands[30] = weighted_energy(w, potential, summands[30]);
                    summands[1] += w;
                    summands[2] += w * J;
                    for i in 0..3 {
                        for j in 0..3 {
                            let e = 3 + 3 * i + j;
                            summands[e] += w * P[(i, j)];
                            summands[e + 9] += w * kirchhoff[(i, j)];
                            summands[e + 18] += w * F[(i, j)];
                        }
                    }
                    low = low.min(J);
                    high = high.max(J);
                    let stress = von_mises(&kirchhoff) / J;
                    worst = S::select(J.gt(S::zero()), worst.max(stress), worst);
                }
                for (summand, lanes) in summands.iter().zip(&mut lanes) {
                    summand.store(&mut lanes[first..first + S::LANES]);
                }
                low.store(&mut lowest[first..first + S::LANES]);
                high.store(&mut highest[first..first + S::LANES]);
                worst.store(&mut mises[first..first + S::LANES]);
            }
            for (sum, lanes) in sums.iter_mut().zip(&lanes) {
                *sum += lane_sum(lanes);
            }
            let real = (block.cells.len() - pack * PACK).min(PACK);
            for lane in 0..real {
                total.inverted_cells += usize::from(lowest[lane] <= 0.0);
                total.flattened_cells += usize::from(lowest[lane] <= FLATTENED);
                total.min_volume_ratio = total.min_volume_ratio.min(lowest[lane]);
                total.max_volume_ratio = total.max_volume_ratio.max(highest[lane]);
                total.max_von_mises = total.max_von_mises.max(mises[lane]);
            }
        }
        let tensor =
            |first: usize| Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| sums[first + 3 * i + j])));
        BlockSummary {
            energy: sums[0],
            potential: sums[30],
            rest_volume: sums[1],
            volume: sums[2],
            piola: tensor(3),
            kirchhoff: tensor(12),
            deformation: tensor(21),
            ..total
        }
    }
}
