//! One pack of cells in lanes, the input of every kernel.

use sinew_cell::element::deformation_gradient;
use sinew_geometry::CellKind;
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::{ElasticBlock, PACK};

/// Maximum number of quadrature points of a cell.
pub(crate) const MAX_POINTS: usize = 8;

/// The quadrature points of one cell per lane: inputs of a law, and its results.
pub(crate) struct CellPoints<S> {
    /// Number of points of a cell.
    pub count: usize,
    /// Deformation gradients.
    pub F: [Mat3<S>; MAX_POINTS],
    /// Weights \[m³\].
    pub w: [S; MAX_POINTS],
    /// Energy densities.
    pub psi: [S; MAX_POINTS],
    /// First Piola–Kirchhoff stresses.
    pub P: [Mat3<S>; MAX_POINTS],
    /// Energy of the volume term of the whole cell, where that is taken in the mean \[J\].
    pub volume_energy: S,
}

impl<S: Scalar> CellPoints<S> {
    #[inline(always)]
    pub fn new(count: usize) -> Self {
        Self {
            count,
            F: [Mat3::zero(); MAX_POINTS],
            w: [S::zero(); MAX_POINTS],
            psi: [S::zero(); MAX_POINTS],
            P: [Mat3::zero(); MAX_POINTS],
            volume_energy: S::zero(),
        }
    }
}

/// One pack in lanes: gathers positions and evaluates F at the quadrature points.
pub(crate) struct PackView<'a, const N: usize, const Q: usize> {
    offsets: &'a [u32],
    gradients: &'a [f64],
    weights: &'a [f64],
}

impl<'a, const N: usize, const Q: usize> PackView<'a, N, Q> {
    #[inline(always)]
    pub fn new(block: &'a ElasticBlock, pack: usize) -> Self {
        Self {
            offsets: &block.offsets[pack * N * PACK..(pack + 1) * N * PACK],
            gradients: block.gradients_of_pack(pack, N, Q),
            weights: &block.weights[pack * Q * PACK..(pack + 1) * Q * PACK],
        }
    }

    #[inline(always)]
    fn positions<S: LaneScalar<Element = f64>>(&self, x: &[Vec3], first: usize) -> [Vec3<S>; N] {
        let x = Vec3::as_flattened(x);
        let mut out = [Vec3::zero(); N];
        for a in 0..N {
            let offsets = &self.offsets[a * PACK + first..][..S::LANES];
            // SAFETY: `ElasticBlock::new` built its plan with all points below `point_count`, and every kernel starts
            // from a function that compared that with the length of x, so 3 · point + 2 is in range.
            let gathered = unsafe {
                // Not a closure, which would be compiled without the instruction set and called 24 times per pack.
                Vec3::new(S::gather(x, offsets), S::gather(&x[1..], offsets), S::gather(&x[2..], offsets))
            };
            out[a] = gathered;
        }
        out
    }

    #[inline(always)]
    pub fn shape_gradients<S: LaneScalar<Element = f64>>(&self, k: usize, first: usize) -> [Vec3<S>; N] {
        let mut out = [Vec3::zero(); N];
        load_gradients(&self.gradients[k * N * 3 * PACK..], first, &mut out);
        out
    }

    /// Deformation gradients and weights at all quadrature points.
    #[inline(always)]
    pub fn deform<S: LaneScalar<Element = f64>>(&self, x: &[Vec3], first: usize, points: &mut CellPoints<S>) {
        self.deformations(x, first, &mut points.F);
        for k in 0..Q {
            points.w[k] = S::load(&self.weights[k * PACK + first..][..S::LANES]);
        }
    }

    #[inline(always)]
    fn deformations<S: LaneScalar<Element = f64>>(&self, x: &[Vec3], first: usize, F: &mut [Mat3<S>; MAX_POINTS]) {
        let x = self.positions::<S>(x, first);
        for k in 0..Q {
            F[k] = deformation_gradient(&x, &self.shape_gradients(k, first));
        }
    }
}

/// Gradients of the first nodes from their rows `[node][axis][lane]`.
#[inline(always)]
pub(crate) fn load_gradients<S: LaneScalar<Element = f64>>(rows: &[f64], first: usize, out: &mut [Vec3<S>]) {
    for (rows, out) in rows.chunks_exact(3 * PACK).zip(out) {
        *out = Vec3::new(
            S::load(&rows[first..][..S::LANES]),
            S::load(&rows[PACK + first..][..S::LANES]),
            S::load(&rows[2 * PACK + first..][..S::LANES]),
        );
    }
}

impl ElasticBlock {
    /// Deformation gradients and weights at all quadrature points of the cells `first …` of a pack.
    #[inline(always)]
    pub(crate) fn deform<S: LaneScalar<Element = f64>>(
        &self,
        (pack, first): (usize, usize),
        x: &[Vec3],
        points: &mut CellPoints<S>,
    ) {
        match self.kind {
            CellKind::Tet4 => PackView::<4, 1>::new(self, pack).deform(x, first, points),
            CellKind::Tet10 => PackView::<10, 4>::new(self, pack).deform(x, first, points),
            CellKind::Hex8 => PackView::<8, 8>::new(self, pack).deform(x, first, points),
        }
    }

    /// The same without weights.
    #[inline(always)]
    pub(crate) fn deformations<S: LaneScalar<Element = f64>>(
        &self,
        (pack, first): (usize, usize),
        x: &[Vec3],
        F: &mut [Mat3<S>; MAX_POINTS],
    ) {
        match self.kind {
            CellKind::Tet4 => PackView::<4, 1>::new(self, pack).deformations(x, first, F),
            CellKind::Tet10 => PackView::<10, 4>::new(self, pack).deformations(x, first, F),
            CellKind::Hex8 => PackView::<8, 8>::new(self, pack).deformations(x, first, F),
        }
    }

    /// Shape gradients of a pack of cells with N nodes and Q points.
    #[inline(always)]
    pub(crate) fn gradients_of_pack(&self, pack: usize, nodes: usize, points: usize) -> &[f64] {
        let width = points * nodes * 3 * PACK;
        &self.gradients[pack * width..(pack + 1) * width]
    }

    /// Parameters of the law in a pack, `[parameter][lane]`.
    #[inline(always)]
    pub(crate) fn parameters_of_pack(&self, pack: usize) -> &[f64] {
        let width = self.parameter_count * PACK;
        &self.parameters[pack * width..(pack + 1) * width]
    }
}

/// Sum over the lanes of a pack, in one order for every register width.
#[inline(always)]
pub(crate) fn lane_sum(lanes: &[f64; PACK]) -> f64 {
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

/// Adds w ψ; an infinite ψ in a padding lane (w = 0) adds nothing instead of 0·∞.
#[inline(always)]
pub(crate) fn weighted_energy<S: Scalar>(weight: S, psi: S, sum: S) -> S {
    sum + S::select(weight.gt(S::zero()), weight * psi, S::zero())
}
