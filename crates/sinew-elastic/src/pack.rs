//! One pack of cells in lanes: what every kernel starts from.

use sinew_cell::element::deformation_gradient;
use sinew_cell::material::{CellVolume, Material, MaterialPoint, VolumeForm};
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::{ElasticBlock, PACK};

/// One pack in lanes: gathers positions and evaluates F at the quadrature points.
pub(crate) struct PackView<'a, const N: usize, const Q: usize> {
    offsets: &'a [u32],
    gradients: &'a [f64],
    weights: &'a [f64],
    parameters: &'a [f64],
}

impl<'a, const N: usize, const Q: usize> PackView<'a, N, Q> {
    #[inline(always)]
    pub fn new(block: &'a ElasticBlock, pack: usize) -> Self {
        let slice = |values: &'a [f64], width: usize| &values[pack * width..(pack + 1) * width];
        Self {
            offsets: &block.offsets[pack * N * PACK..(pack + 1) * N * PACK],
            gradients: slice(&block.gradients, Q * N * 3 * PACK),
            weights: slice(&block.weights, Q * PACK),
            parameters: slice(&block.parameters, block.parameter_count * PACK),
        }
    }

    #[inline(always)]
    pub fn positions<S: LaneScalar<Element = f64>>(&self, x: &[Vec3], first: usize) -> [Vec3<S>; N] {
        let x = Vec3::as_flattened(x);
        let mut out = [Vec3::zero(); N];
        for a in 0..N {
            let offsets = &self.offsets[a * PACK + first..][..S::LANES];
            // SAFETY: `ElasticBlock::new` built its plan with all points below `point_count`, and every kernel starts from a
            // function that compared that with the length of x, so 3 · point + 2 is in range.
            let gathered = unsafe {
                // Written out: a closure would be compiled without the instruction set and called 24 times per pack.
                Vec3::new(S::gather(x, offsets), S::gather(&x[1..], offsets), S::gather(&x[2..], offsets))
            };
            out[a] = gathered;
        }
        out
    }

    #[inline(always)]
    pub fn shape_gradients<S: LaneScalar<Element = f64>>(&self, k: usize, first: usize) -> [Vec3<S>; N] {
        let mut out = [Vec3::zero(); N];
        for a in 0..N {
            let at = |axis: usize| S::load(&self.gradients[((k * N + a) * 3 + axis) * PACK + first..][..S::LANES]);
            out[a] = Vec3::new(at(0), at(1), at(2));
        }
        out
    }

    /// Deformation gradients and weights at all quadrature points.
    #[inline(always)]
    pub fn deformations<S: LaneScalar<Element = f64>>(&self, x: &[Vec3<S>; N], first: usize) -> ([Mat3<S>; Q], [S; Q]) {
        let (mut F, mut w) = ([Mat3::zero(); Q], [S::zero(); Q]);
        for k in 0..Q {
            F[k] = deformation_gradient(x, &self.shape_gradients(k, first));
            w[k] = S::load(&self.weights[k * PACK + first..][..S::LANES]);
        }
        (F, w)
    }

    /// What the law M reads, which is all that the table holds.
    #[inline(always)]
    pub fn parameters<S: LaneScalar<Element = f64>, M: Material>(&self, first: usize) -> MaterialPoint<S> {
        let mut values = [S::zero(); MaterialPoint::<f64>::LEN];
        for (k, value) in values.iter_mut().enumerate().take(M::PARAMETERS) {
            *value = S::load(&self.parameters[k * PACK + first..][..S::LANES]);
        }
        MaterialPoint::from_array(values)
    }
}

/// Sum over the lanes of a pack, in one order for every register width.
#[inline(always)]
pub(crate) fn lane_sum(lanes: &[f64; PACK]) -> f64 {
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

/// What the points of a cell share. With a single point the mean is the point itself, and nothing of it is compiled.
#[inline(always)]
pub(crate) fn cell_volume<M: Material, S: Scalar, const Q: usize>(
    law: &M,
    form: VolumeForm,
    point: &MaterialPoint<S>,
    F: &[Mat3<S>; Q],
    w: &[S; Q],
) -> CellVolume<S> {
    if Q > 1 && form == VolumeForm::Mean { CellVolume::mean(law, point, F, w) } else { CellVolume::pointwise(point) }
}

/// Adds w ψ, where padding lanes (w = 0) must not turn an infinite ψ into 0·∞.
#[inline(always)]
pub(crate) fn weighted_energy<S: Scalar>(weight: S, psi: S, sum: S) -> S {
    sum + S::select(weight.gt(S::zero()), weight * psi, S::zero())
}
