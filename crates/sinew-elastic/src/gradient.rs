//! Energies and nodal forces.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use sinew_geometry::CellKind;
use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::ChunkWriter;
use sinew_math::{LaneScalar, Scalar, Vec3};

use crate::fibers::{Actuation, PulledCells};
use crate::law::{Lanes, LawInPack, Stresses};
use crate::pack::{CellPoints, PackView, lane_sum, weighted_energy};
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

impl GradientOf<'_, '_> {
    pub fn run(self) {
        match self.block.kind {
            CellKind::Tet4 => dispatch(GradientKernel::<4, 1>(self)),
            CellKind::Tet10 => dispatch(GradientKernel::<10, 4>(self)),
            CellKind::Hex8 => dispatch(GradientKernel::<8, 8>(self)),
        }
    }
}

struct GradientKernel<'a, 'w, const N: usize, const Q: usize>(GradientOf<'a, 'w>);

impl<const N: usize, const Q: usize> LaneKernel for GradientKernel<'_, '_, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let GradientOf { block, x, actuation, scale, packs, writer, pack_energies } = self.0;
        let lanes = Lanes::<I>::LANES;
        let mut points = CellPoints::<Lanes<I>>::new(Q);
        let mut pulled = PulledCells::<Lanes<I>>::new();
        for pack in packs {
            let view = PackView::<N, Q>::new(block, pack);
            let mut energies = [0.0; PACK];
            let mut values = [[Vec3::zero(); PACK]; N];
            for first in (0..PACK).step_by(lanes) {
                view.deform(x, first, &mut points);
                let law = LawInPack { volume: block.volume, parameters: block.parameters_of_pack(pack), first };
                block.law.visit(Stresses::<I> { law, points: &mut points });
                let pulls = pulled.evaluate::<I>(block, (pack, first), &points, actuation);
                let mut energy = points.volume_energy;
                let mut nodal = [Vec3::<Lanes<I>>::zero(); N];
                for k in 0..Q {
                    let g = view.shape_gradients::<Lanes<I>>(k, first);
                    let (w, mut psi, mut P) = (points.w[k], points.psi[k], points.P[k]);
                    if let Some(pulls) = pulls {
                        psi += pulls[k].energy;
                        P += pulls[k].stress();
                    }
                    energy = weighted_energy(w, psi, energy);
                    let wP = P * (w * Lanes::<I>::splat(scale));
                    for a in 0..N {
                        nodal[a] += wP * g[a];
                    }
                }
                energy.store(&mut energies[first..first + lanes]);
                for a in 0..N {
                    for axis in 0..3 {
                        let mut stored = [0.0; PACK];
                        nodal[a][axis].store(&mut stored[..lanes]);
                        for lane in 0..lanes {
                            values[a][first + lane][axis] = stored[lane];
                        }
                    }
                }
            }
            pack_energies[pack].store(lane_sum(&energies).to_bits(), Ordering::Relaxed);
            writer.add_all(pack, values.as_flattened());
        }
    }
}
