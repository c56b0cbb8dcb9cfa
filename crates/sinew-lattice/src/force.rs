//! Energy and forces of the cells in f64 (MCA-03, MCA-05, MCA-10):
//! ```math
//! E = \sum_e h^3 \left[ \mu \|F-R\|^2 + \tfrac{\lambda}{2}\operatorname{tr}^2(R^T F - I) \right]
//!    + \tfrac{\mu'}{2} \Big( \beta_2 \sum |m_{ij}|^2 + \beta_3 |m_{xyz}|^2 \Big)
//! ```
//! with F at the center of a cell. The second term uses the bilinear and trilinear displacement modes, which one-point
//! quadrature does not see.

use std::sync::atomic::{AtomicU64, Ordering};

use sinew_math::lanes::{F64_LANES, Isa, LaneKernel, dispatch};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::svd3::svd3;
use sinew_math::{LaneScalar, Mat3, Scalar};

use crate::fibers::{Pull, REST};
use crate::inversion_barrier;
use crate::kernel::ModeStiffness;
use crate::layers::for_each_layer;
use crate::layout::{LANES, Layout};
use crate::precise::{add_corners, load_corners, transform, transform_back, widen};
use crate::tangent::{MATERIAL, corners_of};
use crate::volume::{VolumeLaw, cofactor_columns};

/// Inputs of the energy besides displacements.
#[derive(Clone, Copy)]
pub(crate) struct Elastic<'a> {
    pub layout: &'a Layout,
    /// Edge of the cubes \[m\].
    pub h: f64,
    pub materials: &'a [f32],
    /// Fibers at rest, and α σ₀ of each lane; empty without fibers.
    pub fibers: &'a [f32],
    pub active: &'a [f32],
    pub modes: ModeStiffness,
    pub volume: VolumeLaw,
    /// b₀ of each lane of cells with an inversion barrier, see [`crate::inversion_barrier`]; empty without one.
    pub bend_limits: &'a [f32],
}

/// ∂E/∂u in slots, and the energy of each layer; returns their sum \[J\].
pub(crate) fn gradient(elastic: Elastic<'_>, u: &[f64], out: &mut [f64], energies: &mut [AtomicU64]) -> f64 {
    for_each_block_mut(&mut *out, SUM_BLOCK, |_, out: &mut [f64]| out.fill(0.0));
    energies.fill_with(AtomicU64::default);
    let shared = &*energies;
    for_each_layer(elastic.layout, out, &|layer, out, offset| {
        let energy = dispatch(Layer::<true> { elastic, layer, u, out, offset });
        shared[layer].store(energy.to_bits(), Ordering::Relaxed);
    });
    elastic.layout.sum_seams(out);
    total(energies)
}

/// The energy alone, bit-identical to the one computed with forces.
pub(crate) fn energy(elastic: Elastic<'_>, u: &[f64], energies: &mut [AtomicU64]) -> f64 {
    for_each_block_mut(&mut *energies, 1, |layer, energies: &mut [AtomicU64]| {
        let energy = dispatch(Layer::<false> { elastic, layer, u, out: &mut [], offset: 0 });
        energies.fill_with(|| AtomicU64::new(energy.to_bits()));
    });
    total(energies)
}

/// Sum of the energies of layers.
fn total(energies: &mut [AtomicU64]) -> f64 {
    energies.iter_mut().map(|energy| f64::from_bits(*energy.get_mut())).sum()
}

/// A layer of cells, with or without forces.
struct Layer<'a, const FORCES: bool> {
    elastic: Elastic<'a>,
    layer: usize,
    u: &'a [f64],
    out: &'a mut [f64],
    offset: usize,
}

impl<const FORCES: bool> LaneKernel for Layer<'_, FORCES> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Elastic { layout, h, materials, fibers, active, modes, volume, bend_limits } = self.elastic;
        let mut total = I::F64::zero();
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
                    let mut nodes = load_corners::<I::F64>(self.u, &corners, half);
                    let lame = [I::F64::load(&material[0][half..]), I::F64::load(&material[1][half..])];
                    let row = |k: usize| I::F64::load(&rest[k][half..]);
                    let pull = match fibers.is_empty() {
                        true => None,
                        false => Some(Pull { direction: [row(0), row(1), row(2)], passive: row(3), active: row(4) }),
                    };
                    let limit = match bend_limits.is_empty() {
                        true => None,
                        false => Some(I::F64::load(&limits[0][half..])),
                    };
                    total += cell(h, lame, (modes, volume, limit), pull, &mut nodes);
                    if FORCES {
                        add_corners(&nodes, self.out, self.offset, &corners, half);
                    }
                }
            }
        }
        let mut lanes = [0.0; F64_LANES];
        total.store(&mut lanes);
        lanes.iter().sum()
    }
}

/// Energy of cells; overwrites their displacements with its derivatives.
#[inline(always)]
fn cell<F: Scalar>(
    h: f64,
    [mu, lambda]: [F; 2],
    (modes, law, bend_limit): (ModeStiffness, VolumeLaw, Option<F>),
    pull: Option<Pull<F>>,
    nodes: &mut [[F; 3]; 8],
) -> F {
    transform(nodes);
    let bends = *nodes;
    let mut f = Mat3::identity();
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            f.rows[i][j] += nodes[mode][i] * F::splat(0.25 / h);
        }
    }
    let svd = svd3(&f);
    let r = svd.rotation();
    let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
    let (mut change, mut shape) = (F::zero(), F::zero());
    for sigma in sigma {
        let strain = sigma - F::one();
        change += strain;
        shape += strain * strain;
    }
    let half = F::splat(0.5);
    // Derivative of the volume measure.
    let mut g = columns_of(&r);
    if law == VolumeLaw::Determinant {
        g = cofactor_columns(&columns_of(&f));
        change = sigma[0] * sigma[1] * sigma[2] - F::one();
    }
    let density = mu * shape + half * lambda * change * change;
    let mut energy = density * F::splat(h * h * h);
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            let stress = F::splat(2.0) * mu * (f.rows[i][j] - r.rows[i][j]) + lambda * change * g[j][i];
            nodes[mode][i] = stress * F::splat(0.25 * h * h);
        }
    }
    if let Some(pull) = pull {
        let pulled = pull.at(&columns_of(&f));
        energy += pulled.energy * F::splat(h * h * h);
        let share = pulled.tension * pulled.inverse * F::splat(0.25 * h * h);
        for (j, mode) in [1, 2, 4].into_iter().enumerate() {
            for i in 0..3 {
                nodes[mode][i] += share * pulled.forward[i] * pull.direction[j];
            }
        }
    }
    let stiffness = mu * F::splat(h / 8.0);
    let factors = [(0, 0.0), (3, modes.bilinear), (5, modes.bilinear), (6, modes.bilinear), (7, modes.trilinear)];
    for (mode, factor) in factors {
        for value in &mut nodes[mode] {
            let force = *value * stiffness * F::splat(factor);
            energy += half * *value * force;
            *value = force;
        }
    }
    if let Some(limit) = bend_limit {
        let least = F::min(F::min(sigma[0], sigma[1]), sigma[2]);
        energy += inversion_barrier::resist(h, [mu, lambda], limit, &columns_of(&f), least, &bends, nodes);
    }
    transform_back(nodes);
    energy
}

#[inline(always)]
pub(crate) fn columns_of<F: Scalar>(m: &Mat3<F>) -> [[F; 3]; 3] {
    [
        [m.rows[0][0], m.rows[1][0], m.rows[2][0]],
        [m.rows[0][1], m.rows[1][1], m.rows[2][1]],
        [m.rows[0][2], m.rows[1][2], m.rows[2][2]],
    ]
}
