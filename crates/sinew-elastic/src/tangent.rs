//! Element matrices.

use std::ops::Range;

use sinew_cell::material::{MAX_PAIRS, Tangent, pair};
use sinew_math::lanes::{Isa, LaneKernel};
use sinew_math::parallel::ChunkWriter;
use sinew_math::sparse::PackReal;
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::fibers::{Actuation, PulledCells};
use crate::law::{ElementMatrices, Lanes, LawInPack, MatrixRoom};
use crate::pack::CellPoints;
use crate::{ElasticBlock, PACK};

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

/// Receives the element matrices of a pack. A trait object, so that kernels are compiled once for both precisions of
/// the matrix.
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

/// Visits the blocks of one cell after another.
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

impl LaneKernel for TangentOf<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // In the order of `matrix_slots`. Every entry of this kind of cell is written for every pack.
        let mut entries = [[0.0; PACK]; 9 * MAX_PAIRS];
        let Self { block, x, actuation, tangent, scale, packs, sink } = self;
        let (nodes, count) = (block.kind.nodes_per_cell(), block.points_per_cell());
        let lanes = Lanes::<I>::LANES;
        let mut points = CellPoints::<Lanes<I>>::new(count);
        let mut pulled = PulledCells::<Lanes<I>>::new();
        let mut room = MatrixRoom::<Lanes<I>>::new();
        for pack in packs {
            for first in (0..PACK).step_by(lanes) {
                block.deform((pack, first), x, &mut points);
                let pulls = pulled.evaluate::<I>(block, (pack, first), &points, actuation);
                points.w[..count].iter_mut().for_each(|w| *w *= Lanes::<I>::splat(scale));
                block.law.visit(ElementMatrices::<I> {
                    law: LawInPack { volume: block.volume, parameters: block.parameters_of_pack(pack), first },
                    tangent,
                    gradients: block.gradients_of_pack(pack, nodes, count),
                    nodes,
                    points: &points,
                    pulls,
                    room: &mut room,
                });
                let blocks = &room.element.blocks[..pair(nodes, 0)];
                for (block, entries) in blocks.iter().zip(entries.chunks_exact_mut(9)) {
                    for e in 0..9 {
                        block.rows[e / 3][e % 3].store(&mut entries[e][first..first + lanes]);
                    }
                }
            }
            sink.add(pack, &entries[..9 * pair(nodes, 0)]);
        }
    }
}
