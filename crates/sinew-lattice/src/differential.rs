//! The exact change of the forces in f64, δf = (∂²E/∂u²) δu, without a stored tangent.
//!
//! Cycles need a definite tangent of few numbers, so theirs is rounded to f32 and approximates the volume term
//! ([`crate::volume`]). Derivatives of an equilibrium need the tangent of the energy itself. With F = U Σ Vᵀ, R = U Vᵀ
//! and c = cof F,
//! ```math
//! \delta P = 2\mu\,(\delta F - \delta R) + \lambda \left[ (c : \delta F)\,c + (J - 1)\,\delta c \right], \qquad
//!    \delta R = U W V^T, \quad W_{ij} = \frac{(U^T \delta F V)_{ij} - (U^T \delta F V)_{ji}}{\sigma_i + \sigma_j},
//! ```
//! for the determinant volume law; fibers add what [`crate::fibers`] says, and the inversion barrier is differentiated
//! by complex step.

use sinew_math::complex_step::ComplexStep;
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::svd3::{Svd3, svd3_plain};
use sinew_math::{Mat3, Vec3};

use crate::fibers::{Pull, REST};
use crate::force::{Elastic, columns_of};
use crate::inversion_barrier;
use crate::layers::for_each_layer;
use crate::layout::LANES;
use crate::precise::{transform, transform_back};
use crate::tangent::{Corner, MATERIAL, corners_of};
use crate::volume::{VolumeLaw, cofactor_columns};

/// Least sum of two stretches: below it a cell has no rotation to speak of.
const MIN_SUM: f64 = 1e-9;
/// Bend of cells without any, over their edge: a square root has no slope at zero.
const NO_BEND: f64 = 1e-30;

/// out = the change of ∂E/∂u along `du`, in slots. One cell at a time: lanes of all instruction sets are not worth
/// their machine code here, beside the solves that each product belongs to.
pub(crate) fn product(elastic: Elastic<'_>, u: &[f64], du: &[f64], out: &mut [f64]) {
    for_each_block_mut(&mut *out, SUM_BLOCK, |_, out: &mut [f64]| out.fill(0.0));
    for_each_layer(elastic.layout, out, &|layer, out, offset| add_layer(&elastic, layer, u, du, out, offset));
    elastic.layout.sum_seams(out);
}

/// Adds a layer of cells to `out`, which begins at `offset`.
fn add_layer(elastic: &Elastic<'_>, layer: usize, u: &[f64], du: &[f64], out: &mut [f64], offset: usize) {
    let Elastic { layout, materials, fibers, active, bend_limits, .. } = *elastic;
    for segment in layout.segments(layer) {
        for tile in segment.cell_tiles() {
            let corners = corners_of(layout, layer, segment, tile);
            let block = segment.block_of(tile);
            for lane in 0..LANES {
                let value = |values: &[f32], row: usize| f64::from(values[row * LANES + lane]);
                let lame = [0, 1].map(|row| value(&materials[block * MATERIAL..], row));
                if lame == [0.0; 2] {
                    continue;
                }
                let pull = (!fibers.is_empty()).then(|| {
                    let rest = &fibers[block * REST..];
                    let direction = [0, 1, 2].map(|row| value(rest, row));
                    Pull { direction, passive: value(rest, 3), active: value(&active[block * LANES..], 0) }
                });
                let limit = (!bend_limits.is_empty()).then(|| value(&bend_limits[block * LANES..], 0));
                let slot = |corner: &Corner, c: usize| corner.at + c * corner.stride + lane;
                let [nodes, mut change] =
                    [u, du].map(|values| corners.each_ref().map(|corner| [0, 1, 2].map(|c| values[slot(corner, c)])));
                cell(elastic, lame, pull, limit, nodes, &mut change);
                for (corner, change) in corners.iter().zip(&change) {
                    (0..3).for_each(|c| out[slot(corner, c) - offset] += change[c]);
                }
            }
        }
    }
}

/// Overwrites a change of the displacements of a cell with the change of its forces.
fn cell(
    elastic: &Elastic<'_>,
    [mu, lambda]: [f64; 2],
    pull: Option<Pull<f64>>,
    bend_limit: Option<f64>,
    mut nodes: [[f64; 3]; 8],
    change: &mut [[f64; 3]; 8],
) {
    let (h, modes) = (elastic.h, elastic.modes);
    transform(&mut nodes);
    transform(change);
    let moved = *change;
    let (mut f, mut df) = (Mat3::identity(), Mat3::zero());
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            f.rows[i][j] += nodes[mode][i] * 0.25 / h;
            df.rows[i][j] = change[mode][i] * 0.25 / h;
        }
    }
    let svd = svd3_plain(&f);
    let mut stress = stress_change(elastic.volume, [mu, lambda], &f, &df, &svd);
    if let Some(pull) = pull {
        add_pull_change(&pull, &f, &df, &mut stress);
    }
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            change[mode][i] = stress.rows[i][j] * 0.25 * h * h;
        }
    }
    let factors = [(0, 0.0), (3, modes.bilinear), (5, modes.bilinear), (6, modes.bilinear), (7, modes.trilinear)];
    for (mode, factor) in factors {
        change[mode] = change[mode].map(|value| value * mu * h / 8.0 * factor);
    }
    if let Some(limit) = bend_limit {
        let least = svd.sigma.to_array().into_iter().fold(f64::INFINITY, f64::min);
        add_barrier_change(h, [mu, lambda], [limit, least], [&f, &df], [&nodes, &moved], change);
    }
    transform_back(change);
}

/// change += that of the forces of the inversion barrier, for modes `nodes` that change by `moved`.
fn add_barrier_change(
    h: f64,
    lame: [f64; 2],
    [limit, least]: [f64; 2],
    [f, df]: [&Mat3; 2],
    [nodes, moved]: [&[[f64; 3]; 8]; 2],
    change: &mut [[f64; 3]; 8],
) {
    let (columns, moving) = (columns_of(f), columns_of(df));
    let (mut center, mut bent) = ([[ComplexStep::constant(0.0); 3]; 3], [[ComplexStep::constant(0.0); 3]; 8]);
    for c in 0..3 {
        (0..3).for_each(|j| center[j][c] = ComplexStep::moving(columns[j][c], moving[j][c]));
        (0..8).for_each(|k| bent[k][c] = ComplexStep::moving(nodes[k][c] + NO_BEND * h, moved[k][c]));
    }
    let mut forces = [[ComplexStep::constant(0.0); 3]; 8];
    let [limit, least] = [limit, least].map(ComplexStep::constant);
    inversion_barrier::resist(h, lame.map(ComplexStep::constant), limit, &center, least, &bent, &mut forces);
    for (change, force) in change.iter_mut().flatten().zip(forces.iter().flatten()) {
        *change += force.derivative();
    }
}

/// δP of the flesh.
fn stress_change(law: VolumeLaw, [mu, lambda]: [f64; 2], f: &Mat3, df: &Mat3, svd: &Svd3<f64>) -> Mat3 {
    let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
    let turned = svd.u.transpose_mul(df) * svd.v;
    let mut turn = Mat3::zero();
    for i in 0..3 {
        for j in 0..3 {
            let sum = (sigma[i] + sigma[j]).max(MIN_SUM);
            turn.rows[i][j] = (turned.rows[i][j] - turned.rows[j][i]) / sum;
        }
    }
    let (r, dr) = (svd.rotation(), (svd.u * turn).mul_transpose(&svd.v));
    let mut out = (*df - dr) * (2.0 * mu);
    match law {
        VolumeLaw::Trace => {
            let trace = sigma[0] + sigma[1] + sigma[2] - 3.0;
            out += r * (lambda * r.double_dot(df)) + dr * (lambda * trace);
        }
        VolumeLaw::Determinant => {
            let (f, df) = (columns_of(f), columns_of(df));
            let c = cofactor_columns(&f);
            let cross = |a: [f64; 3], b: [f64; 3]| Vec3::from(a).cross(b.into());
            let mut volume = 0.0;
            (0..3).for_each(|j| (0..3).for_each(|i| volume += c[j][i] * df[j][i]));
            let pressure = lambda * (sigma[0] * sigma[1] * sigma[2] - 1.0);
            for j in 0..3 {
                let (a, b) = ((j + 1) % 3, (j + 2) % 3);
                let dc = cross(df[a], f[b]) + cross(f[a], df[b]);
                for i in 0..3 {
                    out.rows[i][j] += lambda * volume * c[j][i] + pressure * dc[i];
                }
            }
        }
    }
    out
}

/// stress += δP of the fibers, \[T' n nᵀ + T/l (I − n nᵀ)\] δF a aᵀ.
fn add_pull_change(pull: &Pull<f64>, f: &Mat3, df: &Mat3, stress: &mut Mat3) {
    let pulled = pull.at(&columns_of(f));
    let across = pulled.tension * pulled.inverse;
    let (mut moved, mut along) = ([0.0; 3], 0.0);
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
