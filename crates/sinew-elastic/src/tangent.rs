//! Element matrices.

use std::ops::Range;

use sinew_cell::material::{CellVolume, ElementBlocks, Material, MaterialVisitor, Tangent, VolumeForm};
use sinew_geometry::CellKind;
use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::ChunkWriter;
use sinew_math::sparse::PackReal;
use sinew_math::{LaneScalar, Mat3, Vec3};

use crate::fibers::{Actuation, PulledCell};
use crate::pack::{PackView, cell_volume};
use crate::{ElasticBlock, PACK};

/// Entries of the lower blocks of the element matrix with the most nodes.
const MAX_ENTRIES: usize = 9 * 10 * 11 / 2;

/// The element matrices of some packs.
pub(crate) struct TangentOf<'a> {
    pub block: &'a ElasticBlock,
    pub x: &'a [Vec3],
    pub actuation: &'a Actuation<'a>,
    pub tangent: Tangent,
    pub scale: f64,
    pub packs: Range<usize>,
    pub sink: &'a mut dyn PackSink,
}

impl MaterialVisitor for TangentOf<'_> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => dispatch(TangentKernel::<M, 4, 1> { law, of: self }),
            CellKind::Tet10 => dispatch(TangentKernel::<M, 10, 4> { law, of: self }),
            CellKind::Hex8 => dispatch(TangentKernel::<M, 8, 8> { law, of: self }),
        }
    }
}

/// Takes the element matrices of a pack. A trait object, so that kernels are compiled once for both precisions of the matrix.
pub(crate) trait PackSink {
    /// `entries[9 · pair + entry][lane]` of the blocks of all pairs (a, b ≤ a).
    fn add(&mut self, pack: usize, entries: &[[f64; PACK]]);
}

/// Rounds to the precision of the matrix and adds.
pub(crate) struct PrecisionSink<'a, 'w, S>(pub &'a mut ChunkWriter<'w, Mat3<S>>);

impl<S: PackReal> PackSink for PrecisionSink<'_, '_, S> {
    fn add(&mut self, pack: usize, entries: &[[f64; PACK]]) {
        S::add_pack(self.0, pack, entries);
    }
}

/// Hands out the blocks of one cell after another.
pub(crate) struct VisitSink<'a> {
    pub block: &'a ElasticBlock,
    pub visit: &'a mut dyn FnMut(usize, usize, usize, Mat3),
}

impl PackSink for VisitSink<'_> {
    fn add(&mut self, pack: usize, entries: &[[f64; PACK]]) {
        let nodes = self.block.kind.nodes_per_cell();
        for lane in 0..PACK.min(self.block.cell_count() - pack * PACK) {
            let cell = pack * PACK + lane;
            for a in 0..nodes {
                for b in 0..=a {
                    let first = 9 * (a * (a + 1) / 2 + b);
                    let entry = |i: usize, j: usize| entries[first + 3 * i + j][lane];
                    let K = Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))));
                    (self.visit)(cell, a, b, K);
                    if a != b {
                        (self.visit)(cell, b, a, K.transpose());
                    }
                }
            }
        }
    }
}

struct TangentKernel<'a, M, const N: usize, const Q: usize> {
    law: M,
    of: TangentOf<'a>,
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for TangentKernel<'_, M, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.body::<I::F64Register>()
    }
}

impl<M: Material, const N: usize, const Q: usize> TangentKernel<'_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) {
        // In the order of `matrix_slots`. Every entry of this kind of cell is written for every pack.
        let mut entries = [[0.0; PACK]; MAX_ENTRIES];
        let TangentOf { block, x, actuation, tangent, scale, packs, sink } = self.of;
        for pack in packs {
            let view = PackView::<N, Q>::new(block, pack);
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(x, first);
                let point = view.parameters::<S, M>(first);
                let pulled = PulledCell::<S, Q>::new::<M, N>(&view, block, actuation, (pack, first));
                let mut element = ElementBlocks::<S, N>::zero();
                let (F, mut w) = view.deformations(&x, first);
                w.iter_mut().for_each(|w| *w *= S::splat(scale));
                add_cell_tangent(
                    &self.law,
                    &cell_volume(&self.law, block.volume, &point, &F, &w),
                    (block.volume, tangent),
                    (&F, &w, &pulled),
                    |k| view.shape_gradients::<S>(k, first),
                    &mut element,
                );
                let mut next = 0;
                for a in 0..N {
                    for b in 0..=a {
                        for i in 0..3 {
                            for j in 0..3 {
                                let lanes = &mut entries[next][first..first + S::LANES];
                                element.blocks[a][b].rows[i][j].store(lanes);
                                next += 1;
                            }
                        }
                    }
                }
            }
            sink.add(pack, &entries[..9 * N * (N + 1) / 2]);
        }
    }
}

/// The tangent of one cell: of its points, and of the mean volume that couples them.
#[inline(always)]
fn add_cell_tangent<M: Material, S: LaneScalar<Element = f64>, const N: usize, const Q: usize>(
    law: &M,
    volume: &CellVolume<S>,
    (form, tangent): (VolumeForm, Tangent),
    (F, w, pulled): (&[Mat3<S>; Q], &[S; Q], &PulledCell<'_, S, Q>),
    gradients: impl Fn(usize) -> [Vec3<S>; N],
    element: &mut ElementBlocks<S, N>,
) {
    for k in 0..Q {
        let g = gradients(k);
        if let Some(pull) = pulled.at(k, &F[k]) {
            pull.add_blocks(law, volume, &F[k], tangent, &g, w[k], element);
        } else if Q > 1 {
            volume.add_point_blocks(law, &F[k], tangent, &g, w[k], element);
        } else {
            law.tangent_blocks(&F[k], &volume.point, tangent, &g, w[k], element);
        }
    }
    if Q > 1 && form == VolumeForm::Mean {
        volume.add_coupling::<M, N, Q>(F, gradients, w, tangent, element);
    }
}
