//! The exact change of the forces in f64, δf = (∂²E/∂u²) δu, without a stored tangent.
//!
//! Cycles need a definite tangent of few numbers, so theirs is rounded to f32 and approximates the volume term
//! ([`crate::volume`]). Derivatives of an equilibrium need the tangent of the energy itself. With F = U Σ Vᵀ, R = U Vᵀ and c = cof F,
//! $$\delta P = 2\mu\,(\delta F - \delta R) + \lambda \left[ (c : \delta F)\,c + (J - 1)\,\delta c \right], \qquad
//!   \delta R = U W V^T, \quad W_{ij} = \frac{(U^T \delta F V)_{ij} - (U^T \delta F V)_{ji}}{\sigma_i + \sigma_j},$$
//! for the determinant volume law; fibers add what [`crate::fibers`] says, and the inversion barrier is differentiated by complex step.

use sinew_math::complex_step::ComplexStep;
use sinew_math::lanes::{F64_LANES, Isa, LaneKernel, dispatch};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::svd3::{Svd3, svd3};
use sinew_math::{LaneScalar, Mat3, Scalar};

use crate::fibers::{Pull, REST};
use crate::force::{Elastic, columns_of};
use crate::inversion_barrier;
use crate::layers::for_each_layer;
use crate::layout::LANES;
use crate::precise::{add_corners, load_corners, transform, transform_back, widen};
use crate::tangent::{MATERIAL, corners_of};
use crate::volume::{VolumeLaw, cofactor_columns};

/// Least sum of two stretches: below it a cell has no rotation to speak of.
const MIN_SUM: f64 = 1e-9;
/// Bend of cells without any, over their edge: a square root has no slope at zero.
const NO_BEND: f64 = 1e-30;

/// out = the change of ∂E/∂u along `du`, in slots.
pub(crate) fn product(elastic: Elastic<'_>, u: &[f64], du: &[f64], out: &mut [f64]) {
    for_each_block_mut(&mut *out, SUM_BLOCK, |_, out: &mut [f64]| out.fill(0.0));
    for_each_layer(elastic.layout, out, &|layer, out, offset| {
        dispatch(Layer { elastic, layer, u, du, out, offset });
    });
    elastic.layout.sum_seams(out);
}

struct Layer<'a> {
    elastic: Elastic<'a>,
    layer: usize,
    u: &'a [f64],
    du: &'a [f64],
    out: &'a mut [f64],
    offset: usize,
}

impl LaneKernel for Layer<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Elastic { layout, materials, fibers, active, bend_limits, .. } = self.elastic;
        let mut material = [[0.0; LANES]; 2];
        let mut limits = [[0.0; LANES]];
        let mut rest = [[0.0; LANES]; REST / LANES + 1];
        for segment in layout.segments(self.layer) {
            for tile in segment.cell_tiles() {
                let corners = corners_of(layout, self.layer, segment, tile);
                let block = segment.block_of(tile);
                widen(&materials[block * MATERIAL..], &mut material);
                if !bend_limits.is_empty() {
                    widen(&bend_limits[block * LANES..], &mut limits);
                }
                if !fibers.is_empty() {
                    widen(&fibers[block * REST..], &mut rest[..REST / LANES]);
                    widen(&active[block * LANES..], &mut rest[REST / LANES..]);
                }
                for half in (0..LANES).step_by(F64_LANES) {
                    let row = |k: usize| I::F64::load(&rest[k][half..]);
                    let pull = (!fibers.is_empty()).then(|| Pull {
                        direction: [row(0), row(1), row(2)],
                        passive: row(3),
                        active: row(4),
                    });
                    let limit = (!bend_limits.is_empty()).then(|| I::F64::load(&limits[0][half..]));
                    let lame = [I::F64::load(&material[0][half..]), I::F64::load(&material[1][half..])];
                    let nodes = load_corners::<I::F64>(self.u, &corners, half);
                    let mut change = load_corners::<I::F64>(self.du, &corners, half);
                    cell(&self.elastic, lame, pull, limit, nodes, &mut change);
                    add_corners(&change, self.out, self.offset, &corners, half);
                }
            }
        }
    }
}

/// Overwrites a change of the displacements of cells with the change of their forces.
#[inline(always)]
fn cell<F: Scalar>(
    elastic: &Elastic<'_>,
    [mu, lambda]: [F; 2],
    pull: Option<Pull<F>>,
    bend_limit: Option<F>,
    mut nodes: [[F; 3]; 8],
    change: &mut [[F; 3]; 8],
) {
    let (h, modes) = (elastic.h, elastic.modes);
    transform(&mut nodes);
    transform(change);
    let (bends, moved) = (nodes, *change);
    let (mut f, mut df) = (Mat3::identity(), Mat3::zero());
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            f.rows[i][j] += nodes[mode][i] * F::splat(0.25 / h);
            df.rows[i][j] = change[mode][i] * F::splat(0.25 / h);
        }
    }
    let svd = svd3(&f);
    let mut stress = stress_change(elastic.volume, [mu, lambda], &f, &df, &svd);
    if let Some(pull) = pull {
        add_pull_change(&pull, &f, &df, &mut stress);
    }
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            change[mode][i] = stress.rows[i][j] * F::splat(0.25 * h * h);
        }
    }
    let stiffness = mu * F::splat(h / 8.0);
    let factors = [(0, 0.0), (3, modes.bilinear), (5, modes.bilinear), (6, modes.bilinear), (7, modes.trilinear)];
    for (mode, factor) in factors {
        for value in &mut change[mode] {
            *value = *value * stiffness * F::splat(factor);
        }
    }
    if let Some(limit) = bend_limit {
        let least = F::min(F::min(svd.sigma.x, svd.sigma.y), svd.sigma.z);
        let moving = |value: F, direction: F| ComplexStep::moving(value, direction);
        let mut center = [[ComplexStep::constant(F::zero()); 3]; 3];
        for j in 0..3 {
            for i in 0..3 {
                center[j][i] = moving(f.rows[i][j], df.rows[i][j]);
            }
        }
        let mut bent = [[ComplexStep::constant(F::zero()); 3]; 8];
        for k in 0..8 {
            for c in 0..3 {
                bent[k][c] = moving(bends[k][c] + F::splat(NO_BEND * h), moved[k][c]);
            }
        }
        let mut forces = [[ComplexStep::constant(F::zero()); 3]; 8];
        let lame = [mu, lambda].map(ComplexStep::constant);
        let (limit, least) = (ComplexStep::constant(limit), ComplexStep::constant(least));
        inversion_barrier::resist(h, lame, limit, &center, least, &bent, &mut forces);
        for (change, force) in change.iter_mut().flatten().zip(forces.iter().flatten()) {
            *change += force.derivative();
        }
    }
    transform_back(change);
}

/// δP of the flesh.
#[inline(always)]
fn stress_change<F: Scalar>(law: VolumeLaw, [mu, lambda]: [F; 2], f: &Mat3<F>, df: &Mat3<F>, svd: &Svd3<F>) -> Mat3<F> {
    let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
    let turned = svd.u.transpose_mul(df) * svd.v;
    let mut turn = Mat3::zero();
    for i in 0..3 {
        for j in 0..3 {
            let sum = F::max(sigma[i] + sigma[j], F::splat(MIN_SUM));
            turn.rows[i][j] = (turned.rows[i][j] - turned.rows[j][i]) / sum;
        }
    }
    let (r, dr) = (svd.rotation(), (svd.u * turn).mul_transpose(&svd.v));
    let mut out = (*df - dr) * (F::splat(2.0) * mu);
    match law {
        VolumeLaw::Trace => {
            let trace = sigma[0] + sigma[1] + sigma[2] - F::splat(3.0);
            out += r * (lambda * r.double_dot(df)) + dr * (lambda * trace);
        }
        VolumeLaw::Determinant => {
            let (f, df) = (columns_of(f), columns_of(df));
            let c = cofactor_columns(&f);
            // The cofactor is quadratic: its change is half of what (f + df) has more than (f − df).
            let (mut plus, mut minus) = (f, f);
            for j in 0..3 {
                for i in 0..3 {
                    plus[j][i] += df[j][i];
                    minus[j][i] -= df[j][i];
                }
            }
            let (plus, minus) = (cofactor_columns(&plus), cofactor_columns(&minus));
            let mut volume = F::zero();
            (0..3).for_each(|j| (0..3).for_each(|i| volume += c[j][i] * df[j][i]));
            let pressure = lambda * (sigma[0] * sigma[1] * sigma[2] - F::one());
            for j in 0..3 {
                for i in 0..3 {
                    let dc = F::splat(0.5) * (plus[j][i] - minus[j][i]);
                    out.rows[i][j] += lambda * volume * c[j][i] + pressure * dc;
                }
            }
        }
    }
    out
}

/// stress += δP of the fibers, [T' n nᵀ + T/l (I − n nᵀ)] δF a aᵀ.
#[inline(always)]
fn add_pull_change<F: Scalar>(pull: &Pull<F>, f: &Mat3<F>, df: &Mat3<F>, stress: &mut Mat3<F>) {
    let pulled = pull.at(&columns_of(f));
    let across = pulled.tension * pulled.inverse;
    let (mut moved, mut along) = ([F::zero(); 3], F::zero());
    for i in 0..3 {
        for j in 0..3 {
            moved[i] += df.rows[i][j] * pull.direction[j];
        }
        along += pulled.forward[i] * pulled.inverse * moved[i];
    }
    for i in 0..3 {
        let n = pulled.forward[i] * pulled.inverse;
        let change = across * moved[i] + (pulled.slope - across) * along * n;
        for j in 0..3 {
            stress.rows[i][j] += change * pull.direction[j];
        }
    }
}
