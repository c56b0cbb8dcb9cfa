//! Energy and forces of the cells in f64 (MCA-03, MCA-05, MCA-10):
//! $$E = \sum_e h^3 \left[ \mu \|F-R\|^2 + \tfrac{\lambda}{2}\operatorname{tr}^2(R^T F - I) \right] + \tfrac{\mu'}{2} \Big( \beta_2 \sum |m_{ij}|^2 + \beta_3 |m_{xyz}|^2 \Big)$$
//! with F at the centre of a cell, and the bilinear and trilinear modes of its displacements, which hold the shape that one point does not see.

use std::sync::atomic::{AtomicU64, Ordering};

use sinew_math::lanes::{F64_LANES, Isa, LaneKernel, dispatch};
use sinew_math::svd3::svd3;
use sinew_math::{LaneScalar, Mat3, Scalar};

use crate::kernel::ModeStiffness;
use crate::layers::for_each_layer;
use crate::layout::{LANES, Layout};
use crate::precise::{add_corners, load_corners, transform, transform_back, widen};
use crate::tangent::{MATERIAL, for_each_cell_tile};

/// What the energy depends on besides displacements.
#[derive(Clone, Copy)]
pub(crate) struct Elastic<'a> {
    pub layout: &'a Layout,
    /// Edge of the cubes [m].
    pub h: f64,
    pub materials: &'a [f32],
    pub modes: ModeStiffness,
}

/// ∂E/∂u in slots, and the energy of each layer; returns their sum [J].
pub(crate) fn gradient(elastic: Elastic<'_>, u: &[f64], out: &mut [f64], energies: &[AtomicU64]) -> f64 {
    out.fill(0.0);
    energies.iter().for_each(|energy| energy.store(0, Ordering::Relaxed));
    for_each_layer(elastic.layout, out, &|layer, out, offset| {
        let energy = dispatch(Layer { elastic, layer, u, out, offset });
        energies[layer].store(energy.to_bits(), Ordering::Relaxed);
    });
    elastic.layout.sum_seams(out);
    energies.iter().map(|energy| f64::from_bits(energy.load(Ordering::Relaxed))).sum()
}

struct Layer<'a> {
    elastic: Elastic<'a>,
    layer: usize,
    u: &'a [f64],
    out: &'a mut [f64],
    offset: usize,
}

impl LaneKernel for Layer<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Elastic { layout, h, materials, modes } = self.elastic;
        let mut total = I::F64::zero();
        let mut material = [[0.0; LANES]; 2];
        for_each_cell_tile(layout, self.layer, |block, corners| {
            widen(&materials[block * MATERIAL..], &mut material);
            for half in (0..LANES).step_by(F64_LANES) {
                let mut nodes = load_corners::<I::F64>(self.u, corners, half);
                let lame = [I::F64::load(&material[0][half..]), I::F64::load(&material[1][half..])];
                total += cell(h, lame, modes, &mut nodes);
                add_corners(&nodes, self.out, self.offset, corners, half);
            }
        });
        let mut lanes = [0.0; F64_LANES];
        total.store(&mut lanes);
        lanes.iter().sum()
    }
}

/// Energy of cells; their displacements become its derivatives.
#[inline(always)]
fn cell<F: Scalar>(h: f64, [mu, lambda]: [F; 2], modes: ModeStiffness, nodes: &mut [[F; 3]; 8]) -> F {
    transform(nodes);
    let mut f = Mat3::identity();
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            f.rows[i][j] += nodes[mode][i] * F::splat(0.25 / h);
        }
    }
    let svd = svd3(&f);
    let r = svd.rotation();
    let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
    let (mut volume, mut shape) = (F::zero(), F::zero());
    for sigma in sigma {
        let strain = sigma - F::one();
        volume += strain;
        shape += strain * strain;
    }
    let half = F::splat(0.5);
    let density = mu * shape + half * lambda * volume * volume;
    let mut energy = density * F::splat(h * h * h);
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for i in 0..3 {
            let stress = F::splat(2.0) * mu * (f.rows[i][j] - r.rows[i][j]) + lambda * volume * r.rows[i][j];
            nodes[mode][i] = stress * F::splat(0.25 * h * h);
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
    transform_back(nodes);
    energy
}
