//! Blocks of an element matrix: the shape functions that laws build them from, and the sinks that receive them.
//!
//! The number of nodes is a run-time value, so each law is compiled once for all kinds of cells.

use sinew_math::{Mat3, Scalar, Vec3};

/// Maximum number of nodes of a cell: those of a quadratic tetrahedron.
pub const MAX_NODES: usize = 10;

/// Number of blocks on and below the diagonal of the largest element matrix.
pub const MAX_PAIRS: usize = MAX_NODES * (MAX_NODES + 1) / 2;

/// Index of the block of row node `a` and column node `b` ≤ `a` in the list of all blocks.
#[inline(always)]
pub const fn pair(a: usize, b: usize) -> usize {
    a * (a + 1) / 2 + b
}

/// Receives blocks of an element matrix. Implement it with `#[inline(always)]` for kernels on lanes; closures suffice
/// where speed does not matter.
pub trait BlockSink<S> {
    /// Takes the block of row node `a` and column node `b` ≤ `a`; the block (b, a) is its transpose.
    fn add(&mut self, a: usize, b: usize, block: Mat3<S>);
}

impl<S, C: FnMut(usize, usize, Mat3<S>)> BlockSink<S> for C {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, block: Mat3<S>) {
        self(a, b, block);
    }
}

/// Lower blocks of an element matrix, summed over quadrature points.
#[derive(Clone, Copy, Debug)]
pub struct ElementBlocks<S> {
    /// The block (a, b ≤ a) at [`pair`]`(a, b)`.
    pub blocks: [Mat3<S>; MAX_PAIRS],
}

impl<S: Scalar> ElementBlocks<S> {
    /// The zero matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { blocks: [Mat3::zero(); MAX_PAIRS] }
    }

    /// The block of row node `a` and column node `b` ≤ `a`.
    #[inline(always)]
    pub fn at(&self, a: usize, b: usize) -> &Mat3<S> {
        &self.blocks[pair(a, b)]
    }
}

impl<S: Scalar> BlockSink<S> for ElementBlocks<S> {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, block: Mat3<S>) {
        self.blocks[pair(a, b)] += block;
    }
}

/// Scratch memory for vectors and matrices of each node. It is made once for many points, because clearing it for each
/// point costs more than some laws.
pub struct ShapeRoom<S> {
    vectors: [[Vec3<S>; MAX_NODES]; 3],
    matrices: [Mat3<S>; MAX_NODES],
    kept: [Mat3<S>; MAX_PAIRS],
}

impl<S: Scalar> ShapeRoom<S> {
    /// Scratch memory for any cell.
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            vectors: [[Vec3::zero(); MAX_NODES]; 3],
            matrices: [Mat3::zero(); MAX_NODES],
            kept: [Mat3::zero(); MAX_PAIRS],
        }
    }
}

impl<S: Scalar> Default for ShapeRoom<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Gradients of the shape functions at one quadrature point.
pub struct Shape<'a, S> {
    /// Gradients in rest space \[1/m\], at most [`MAX_NODES`].
    pub gradients: &'a [Vec3<S>],
    /// Rest volume that the point stands for \[m³\].
    pub weight: S,
    /// Scratch memory for vectors of each node.
    pub(super) vectors: &'a mut [[Vec3<S>; MAX_NODES]; 3],
    /// Scratch memory for a matrix of each node.
    pub(super) matrices: &'a mut [Mat3<S>; MAX_NODES],
    /// Scratch memory for all blocks, for laws that select between two tangents.
    pub(super) kept: &'a mut [Mat3<S>],
}

impl<'a, S: Scalar> Shape<'a, S> {
    /// A point with these gradients and this weight.
    #[inline(always)]
    pub fn new(gradients: &'a [Vec3<S>], weight: S, room: &'a mut ShapeRoom<S>) -> Self {
        let ShapeRoom { vectors, matrices, kept } = room;
        Self { gradients, weight, vectors, matrices, kept }
    }

    /// The same point without the memory for all blocks, and that memory.
    #[inline(always)]
    pub(super) fn split(&mut self) -> (Shape<'_, S>, &mut [Mat3<S>]) {
        let Self { gradients, weight, vectors, matrices, kept } = self;
        (Shape { gradients, weight: *weight, vectors, matrices, kept: &mut [] }, kept)
    }
}

/// Stores blocks for [`SelectBlocks`].
pub(super) struct Kept<'a, S>(pub &'a mut [Mat3<S>]);

impl<S: Scalar> BlockSink<S> for Kept<'_, S> {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, block: Mat3<S>) {
        self.0[pair(a, b)] = block;
    }
}

/// Passes on stored blocks where a mask holds, and the blocks that it receives elsewhere: two tangents for one pack.
pub(super) struct SelectBlocks<'a, S: Scalar, B> {
    pub mask: S::Mask,
    pub if_true: &'a [Mat3<S>],
    pub sink: &'a mut B,
}

impl<S: Scalar, B: BlockSink<S>> BlockSink<S> for SelectBlocks<'_, S, B> {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, block: Mat3<S>) {
        self.sink.add(a, b, Mat3::select(self.mask, self.if_true[pair(a, b)], block));
    }
}

/// The matrix applied to each vector.
#[inline(always)]
pub(super) fn transform<'a, S: Scalar>(
    matrix: &Mat3<S>,
    vectors: &[Vec3<S>],
    room: &'a mut [Vec3<S>; MAX_NODES],
) -> &'a [Vec3<S>] {
    let out = &mut room[..vectors.len()];
    for (out, vector) in out.iter_mut().zip(vectors) {
        *out = *matrix * *vector;
    }
    out
}
