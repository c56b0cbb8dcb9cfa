//! Muscle fibers in lattice cells: tension along one direction, as a function of stretch and activation.
//!
//! ```math
//! \psi = \sigma_0 \left[ \alpha \int f_a + \int f_p \right] (l), \qquad l = |F a|, \qquad
//!    P = T(l)\, n \otimes a, \quad n = F a / l, \quad T = \sigma_0 (\alpha f_a + f_p)
//! ```
//! with the force–length curves of variant A of TER-35: f_a is 1 at rest length and vanishes at 60 % elongation or
//! shortening; f_p rises from rest length on. The tangent adds to K
//! ```math
//! \delta P = \left[ T' n \otimes n + \tfrac{T}{l} (I - n \otimes n) \right] \delta F\, a \otimes a,
//! ```
//! which is definite where T' ≥ 0; the definite tangent replaces negative T' by zero.

use std::sync::atomic::{AtomicBool, Ordering};

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::for_each_block_mut;
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::aligned::Aligned;
use crate::layout::{LANES, Layout};
use crate::tangent::{GRADIENT, TangentKind};

/// Rows of a block of fibers at rest: direction (x, y, z) and peak stress σ₀.
pub(crate) const REST: usize = 4 * LANES;
/// Rows of a block of the tangent of fibers: direction, and the symmetric factor (xx, yy, zz, xy, xz, yz) of δF a.
pub(crate) const PULL: usize = 9 * LANES;

/// Blocks per parallel piece.
const PIECE: usize = 64;
/// Stretch below which fibers are slack in any case; keeps 1 / l finite.
const MIN_STRETCH: f64 = 0.1;

/// Elongations where the active curve bends and ends, and where the passive curve becomes a straight line.
const BEND: f64 = 0.4;
const END: f64 = 0.6;
const STRAIGHT: f64 = 0.4;
/// Scale of the passive tension: this times (exp(c e) − c e − 1).
const PASSIVE: f64 = 0.05;
const STIFFENING: f64 = 6.6;

/// Fibers of the cells of a lattice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fibers {
    /// Unit direction in each cell at rest.
    pub directions: Vec<Vec3>,
    /// Peak isometric stress σ₀ of each cell \[Pa\]; zero in cells without fibers.
    pub stress: Vec<f64>,
    /// Index of the activation of each cell.
    pub groups: Vec<u16>,
}

impl Fibers {
    /// Contribution of a cell's fibers to its first Piola–Kirchhoff stress, T n ⊗ a \[Pa\].
    pub fn stress_of(&self, cell: usize, deformation: &Mat3, activations: &[f64]) -> Mat3 {
        let (a, stress) = (self.directions[cell], self.stress[cell]);
        let active = stress * activations[usize::from(self.groups[cell])];
        let columns = [0, 1, 2].map(|j| [0, 1, 2].map(|i| deformation.rows[i][j]));
        let pulled = Pull { direction: a.to_array(), active, passive: stress }.at(&columns);
        Mat3::outer(Vec3::from(pulled.forward) * (pulled.tension * pulled.inverse), a)
    }

    /// Fibers of coarser cells: the mean stress, and the direction and group with the largest weight.
    pub(crate) fn coarsened(&self, parents: &[u32], count: usize) -> Self {
        let mut coarse =
            Self { directions: vec![Vec3::zero(); count], stress: vec![0.0; count], groups: vec![0; count] };
        let mut strongest = vec![0.0; count];
        for (cell, &parent) in parents.iter().enumerate() {
            let parent = parent as usize;
            let (stress, direction) = (self.stress[cell], self.directions[cell]);
            coarse.stress[parent] += 0.125 * stress;
            // The sign of a fiber direction has no meaning.
            let sense = if coarse.directions[parent].dot(direction) < 0.0 { -1.0 } else { 1.0 };
            coarse.directions[parent] += direction * (sense * stress);
            if stress > strongest[parent] {
                strongest[parent] = stress;
                coarse.groups[parent] = self.groups[cell];
            }
        }
        for (direction, stress) in coarse.directions.iter_mut().zip(&mut coarse.stress) {
            let length = direction.norm();
            if length > 0.0 {
                *direction /= length;
            } else {
                *stress = 0.0;
            }
        }
        coarse
    }
}

/// The fibers of a level, in lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneFibers {
    /// Blocks of [`REST`]; empty where there are no fibers.
    pub rest: Aligned,
    groups: Vec<u16>,
}

impl LaneFibers {
    pub fn new(layout: &Layout, fibers: &Fibers) -> Self {
        let mut rest = Aligned::zeros(layout.block_count() * REST);
        let mut groups = vec![0; layout.block_count() * LANES];
        // Lanes without a cell have a direction, but no stress.
        for block in rest.chunks_exact_mut(REST) {
            block[..LANES].fill(1.0);
        }
        for (cell, direction) in fibers.directions.iter().enumerate() {
            let (block, lane) = layout.cell_slot(cell);
            let row = |k: usize| block * REST + k * LANES + lane;
            for c in 0..3 {
                rest[row(c)] = direction[c] as f32;
            }
            rest[row(3)] = fibers.stress[cell] as f32;
            groups[block * LANES + lane] = fibers.groups[cell];
        }
        Self { rest, groups }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// α σ₀ of each lane.
    pub fn fill_active(&self, activations: &[f64], active: &mut Aligned) {
        if active.is_empty() {
            *active = Aligned::zeros(self.groups.len());
        }
        let rows = self.rest.chunks_exact(REST).zip(self.groups.chunks_exact(LANES));
        for (active, (rest, groups)) in active.chunks_exact_mut(LANES).zip(rows) {
            for (lane, active) in active.iter_mut().enumerate() {
                *active = activations[groups[lane] as usize] as f32 * rest[3 * LANES + lane];
            }
        }
    }
}

/// Fibers of some cells: direction, α σ₀ and σ₀.
#[derive(Clone, Copy)]
pub(crate) struct Pull<F> {
    pub direction: [F; 3],
    pub active: F,
    pub passive: F,
}

/// Response of fibers at a deformation gradient.
pub(crate) struct Pulled<F> {
    /// F a.
    pub forward: [F; 3],
    /// 1 / l.
    pub inverse: F,
    /// Energy density, tension and its slope.
    pub energy: F,
    pub tension: F,
    pub slope: F,
}

impl<F: Scalar> Pull<F> {
    /// Evaluates at the columns of F.
    #[inline(always)]
    pub fn at(&self, columns: &[[F; 3]; 3]) -> Pulled<F> {
        let mut forward = [F::zero(); 3];
        let mut square = F::zero();
        for c in 0..3 {
            for j in 0..3 {
                forward[c] += columns[j][c] * self.direction[j];
            }
            square += forward[c] * forward[c];
        }
        let length = F::max(square.sqrt(), F::splat(MIN_STRETCH));
        let elongation = length - F::one();
        let (active, passive) = (active(elongation), passive(elongation));
        let sum = |k: usize| self.active * active[k] + self.passive * passive[k];
        Pulled { forward, inverse: F::one() / length, energy: sum(0), tension: sum(1), slope: sum(2) }
    }
}

/// ∫ f_a, f_a and its slope at elongation e = l − 1.
#[inline(always)]
fn active<F: Scalar>(e: F) -> [F; 3] {
    let s = e.abs();
    let is_inner = s.lt(F::splat(BEND));
    let outer = F::min(s - F::splat(END), F::zero());
    let square = s * s;
    let tension = F::select(is_inner, F::one() - F::splat(25.0 / 6.0) * square, F::splat(25.0 / 3.0) * outer * outer);
    let slope = F::select(is_inner, F::splat(-25.0 / 3.0) * s, F::splat(50.0 / 3.0) * outer);
    let inner_energy = s - F::splat(25.0 / 18.0) * square * s;
    let third = F::splat(1.0 / 3.0);
    let energy = F::select(is_inner, inner_energy, third + F::splat(25.0 / 9.0) * outer * outer * outer);
    let is_short = e.lt(F::zero());
    [third + F::select(is_short, -energy, energy), tension, F::select(is_short, -slope, slope)]
}

/// ∫ f_p, f_p and its slope at elongation e = l − 1.
#[inline(always)]
fn passive<F: Scalar>(e: F) -> [F; 3] {
    let (factor, c) = (F::splat(PASSIVE), F::splat(STIFFENING));
    let curved = F::min(F::max(e, F::zero()), F::splat(STRAIGHT));
    let beyond = F::max(e - F::splat(STRAIGHT), F::zero());
    let y = c * curved;
    let grown = y.exp() - F::one();
    let tension = factor * (grown - y);
    let slope = factor * c * grown;
    let half = F::splat(0.5);
    let energy = factor * ((grown - y) / c - half * c * curved * curved);
    [energy + (tension + half * slope * beyond) * beyond, tension + slope * beyond, slope]
}

/// Inputs of fiber tangents besides deformation gradients.
#[derive(Clone, Copy)]
pub(crate) struct PullOf<'a> {
    pub kind: TangentKind,
    /// Edge of the cubes \[m\].
    pub h: f64,
    /// Factor on all of K.
    pub scale: f64,
    pub rest: &'a [f32],
    pub active: &'a [f32],
}

/// Computes the fiber tangents of all blocks, [`PULL`]. Returns whether one of them is not definite.
pub(crate) fn linearize(of: PullOf<'_>, gradients: &[f32], out: &mut [f32]) -> bool {
    let differs = AtomicBool::new(false);
    for_each_block_mut(out, PIECE * PULL, |begin, out: &mut [f32]| {
        let (first, count) = (begin / PULL, out.len() / PULL);
        let part = |size: usize| first * size..(first + count) * size;
        let of = PullOf { rest: &of.rest[part(REST)], active: &of.active[part(LANES)], ..of };
        if dispatch(Linearize { of, gradients: &gradients[part(GRADIENT)], out }) {
            differs.store(true, Ordering::Relaxed);
        }
    });
    differs.into_inner()
}

struct Linearize<'a> {
    of: PullOf<'a>,
    gradients: &'a [f32],
    out: &'a mut [f32],
}

impl LaneKernel for Linearize<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let PullOf { kind, h, scale, rest, active } = self.of;
        let missing = I::F32::splat(kind.missing_share());
        let scale = I::F32::splat(scale * h / 16.0);
        let mut differs = false;
        for (block, out) in self.out.chunks_exact_mut(PULL).enumerate() {
            let pull = load_pull::<I::F32>(rest, active, block);
            let pulled = pull.at(&load_columns(self.gradients, block));
            let across = pulled.tension * pulled.inverse;
            let is_soft = pulled.slope.lt(I::F32::zero());
            let along = I::F32::select(is_soft, missing * pulled.slope, pulled.slope);
            differs |= I::F32::any(is_soft);
            let mut n = [I::F32::zero(); 3];
            for c in 0..3 {
                n[c] = pulled.forward[c] * pulled.inverse;
                pull.direction[c].store(&mut out[c * LANES..(c + 1) * LANES]);
            }
            for (k, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                let identity = if a == b { across } else { I::F32::zero() };
                let entry = scale * (n[a] * n[b]).mul_add(along - across, identity);
                entry.store(&mut out[(3 + k) * LANES..(4 + k) * LANES]);
            }
        }
        differs && kind.missing_share() > 0.0
    }
}

#[inline(always)]
pub(crate) fn load_pull<F: LaneScalar<Element = f32>>(rest: &[f32], active: &[f32], block: usize) -> Pull<F> {
    let rows = &rest[block * REST..(block + 1) * REST];
    Pull {
        direction: [F::load(rows), F::load(&rows[LANES..]), F::load(&rows[2 * LANES..])],
        active: F::load(&active[block * LANES..]),
        passive: F::load(&rows[3 * LANES..]),
    }
}

/// Columns of the deformation gradients of a block.
#[inline(always)]
pub(crate) fn load_columns<F: LaneScalar<Element = f32>>(gradients: &[f32], block: usize) -> [[F; 3]; 3] {
    let mut columns = [[F::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            columns[j][i] = F::load(&gradients[block * GRADIENT + (3 * i + j) * LANES..]);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TER section 7, item 12.
    #[test]
    fn curves_are_those_of_the_extract() {
        for e in [-0.4, 0.4] {
            for side in [-1e-9, 1e-9] {
                let [_, tension, slope] = active(e + side);
                assert!((tension - 1.0 / 3.0).abs() < 1e-8 && (slope.abs() - 10.0 / 3.0).abs() < 1e-7);
            }
        }
        assert!((active(0.7)[0] - active(-0.7)[0] - 2.0 / 3.0).abs() < 1e-15, "area below the active curve");
        let [_, tension, slope] = passive(0.4);
        assert!((tension - 0.51866).abs() < 1e-5 && (slope - 4.2944).abs() < 1e-4);
        assert!((passive(0.5)[1] - (4.294357 * 1.5 - 5.493440)).abs() < 1e-6);
    }

    #[test]
    fn tensions_are_derivatives_of_energies() {
        let h = 1e-6;
        for k in 0..200 {
            let e = -0.9 + 0.01 * f64::from(k) + 0.003;
            for curve in [active::<f64>, passive::<f64>] {
                let ([before, t0, _], [_, tension, slope], [after, t1, _]) = (curve(e - h), curve(e), curve(e + h));
                assert!(((after - before) / (2.0 * h) - tension).abs() < 1e-8, "{e}");
                assert!(((t1 - t0) / (2.0 * h) - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{e}");
            }
        }
    }
}
