//! Energies and nodal forces.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use sinew_cell::material::{Material, MaterialVisitor, VolumeForm};
use sinew_geometry::CellKind;
use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::ChunkWriter;
use sinew_math::{LaneScalar, Vec3};

use crate::fibers::{Actuation, PulledCell};
use crate::pack::{PackView, cell_volume, lane_sum, weighted_energy};
use crate::{ElasticBlock, PACK};

/// Energies and nodal forces of some packs.
pub(crate) struct GradientOf<'a, 'w> {
    pub block: &'a ElasticBlock,
    pub x: &'a [Vec3],
    pub actuation: &'a Actuation<'a>,
    pub scale: f64,
    pub packs: Range<usize>,
    pub writer: &'a mut ChunkWriter<'w, Vec3>,
    pub pack_energies: &'a [AtomicU64],
}

impl MaterialVisitor for GradientOf<'_, '_> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => dispatch(GradientKernel::<M, 4, 1> { law, of: self }),
            CellKind::Tet10 => dispatch(GradientKernel::<M, 10, 4> { law, of: self }),
            CellKind::Hex8 => dispatch(GradientKernel::<M, 8, 8> { law, of: self }),
        }
    }
}

struct GradientKernel<'a, 'w, M, const N: usize, const Q: usize> {
    law: M,
    of: GradientOf<'a, 'w>,
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for GradientKernel<'_, '_, M, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.body::<I::F64Register>()
    }
}

impl<M: Material, const N: usize, const Q: usize> GradientKernel<'_, '_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) {
        let GradientOf { block, x, actuation, scale, packs, writer, pack_energies } = self.of;
        for pack in packs {
            let view = PackView::<N, Q>::new(block, pack);
            let mut energies = [0.0; PACK];
            let mut values = [[Vec3::zero(); PACK]; N];
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(x, first);
                let point = view.parameters::<S, M>(first);
                let (F, w) = view.deformations(&x, first);
                let volume = cell_volume(&self.law, block.volume, &point, &F, &w);
                let mut energy = volume.energy;
                let pulled = PulledCell::<S, Q>::new::<M, N>(&view, block, actuation, (pack, first));
                let mut nodal = [Vec3::<S>::zero(); N];
                for k in 0..Q {
                    let g = view.shape_gradients::<S>(k, first);
                    let (mut psi, mut P) = self.law.energy_and_stress(&F[k], &volume.point);
                    if Q > 1 && block.volume == VolumeForm::Mean {
                        P += volume.stress::<M>(&F[k]);
                    }
                    if let Some(pull) = pulled.at(k, &F[k]) {
                        psi += pull.energy;
                        P += pull.fiber.stress(pull.tension);
                    }
                    energy = weighted_energy(w[k], psi, energy);
                    let wP = P * (w[k] * S::splat(scale));
                    for a in 0..N {
                        nodal[a] += wP * g[a];
                    }
                }
                energy.store(&mut energies[first..first + S::LANES]);
                for a in 0..N {
                    for axis in 0..3 {
                        let mut lanes = [0.0; PACK];
                        nodal[a][axis].store(&mut lanes[..S::LANES]);
                        for lane in 0..S::LANES {
                            values[a][first + lane][axis] = lanes[lane];
                        }
                    }
                }
            }
            pack_energies[pack].store(lane_sum(&energies).to_bits(), Ordering::Relaxed);
            writer.add_all(pack, values.as_flattened());
        }
    }
}
