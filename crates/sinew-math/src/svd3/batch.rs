//! Many decompositions at once.

use crate::lanes::{F32_LANES, Isa, IsaLevel, LaneKernel, Pair, active_isa, dispatch_at};
use crate::mat3::Mat3;
use crate::scalar::{LaneScalar, Real, Scalar};
use crate::vec3::Vec3;

use super::{Svd3, svd3};

/// `N` matrices, entry by entry: `entries[i][j][lane]`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Mat3Block<T = f32, const N: usize = F32_LANES> {
    /// Entry of row i, column j, of each matrix.
    pub entries: [[[T; N]; 3]; 3],
}

impl<T: Real, const N: usize> Default for Mat3Block<T, N> {
    fn default() -> Self {
        Self { entries: [[[T::default(); N]; 3]; 3] }
    }
}

impl<T: Real, const N: usize> Mat3Block<T, N> {
    /// The matrix in one lane.
    pub fn get(&self, lane: usize) -> Mat3<T> {
        let mut out = Mat3::zero();
        for i in 0..3 {
            for j in 0..3 {
                out.rows[i][j] = self.entries[i][j][lane];
            }
        }
        out
    }

    /// Replaces the matrix in one lane.
    pub fn set(&mut self, lane: usize, matrix: &Mat3<T>) {
        for i in 0..3 {
            for j in 0..3 {
                self.entries[i][j][lane] = matrix.rows[i][j];
            }
        }
    }

    /// All matrices in lanes. `S` must have `N` lanes.
    #[inline(always)]
    pub fn load<S: LaneScalar<Element = T>>(&self) -> Mat3<S> {
        let mut out = Mat3::zero();
        for i in 0..3 {
            for j in 0..3 {
                out.rows[i][j] = S::load(&self.entries[i][j]);
            }
        }
        out
    }

    /// Stores all matrices. `S` must have `N` lanes.
    #[inline(always)]
    pub fn store<S: LaneScalar<Element = T>>(&mut self, matrix: &Mat3<S>) {
        for i in 0..3 {
            for j in 0..3 {
                matrix.rows[i][j].store(&mut self.entries[i][j]);
            }
        }
    }
}

/// `N` decompositions F = U Σ Vᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Svd3Block<T = f32, const N: usize = F32_LANES> {
    /// Left singular vectors.
    pub u: Mat3Block<T, N>,
    /// Singular values: `sigma[k][lane]`.
    pub sigma: [[T; N]; 3],
    /// Right singular vectors.
    pub v: Mat3Block<T, N>,
}

impl<T: Real, const N: usize> Default for Svd3Block<T, N> {
    fn default() -> Self {
        Self { u: Mat3Block::default(), sigma: [[T::default(); N]; 3], v: Mat3Block::default() }
    }
}

impl<T: Real, const N: usize> Svd3Block<T, N> {
    /// The decomposition in one lane.
    pub fn get(&self, lane: usize) -> Svd3<T> {
        let sigma = Vec3::new(self.sigma[0][lane], self.sigma[1][lane], self.sigma[2][lane]);
        Svd3 { u: self.u.get(lane), sigma, v: self.v.get(lane) }
    }

    /// Replaces the decomposition in one lane.
    pub fn set(&mut self, lane: usize, svd: &Svd3<T>) {
        self.u.set(lane, &svd.u);
        for k in 0..3 {
            self.sigma[k][lane] = svd.sigma[k];
        }
        self.v.set(lane, &svd.v);
    }

    /// Stores all decompositions. `S` must have `N` lanes.
    #[inline(always)]
    pub fn store<S: LaneScalar<Element = T>>(&mut self, svd: &Svd3<S>) {
        self.u.store(&svd.u);
        for k in 0..3 {
            svd.sigma[k].store(&mut self.sigma[k]);
        }
        self.v.store(&svd.v);
    }
}

/// Decomposes each block of `input` into the block of `output` with the same index, at the active instruction-set
/// level. Panics if the lengths differ. The bits are those of [`svd3`] on plain f32.
pub fn svd3_batch(input: &[Mat3Block], output: &mut [Svd3Block]) {
    let done = svd3_batch_at(active_isa(), input, output);
    debug_assert!(done.is_some(), "the active level is available");
}

/// [`svd3_batch`] at a given level; `None`, without touching `output`, if the processor lacks it.
pub fn svd3_batch_at(level: IsaLevel, input: &[Mat3Block], output: &mut [Svd3Block]) -> Option<()> {
    assert_eq!(input.len(), output.len(), "one output block per input block");
    dispatch_at(level, Svd3Kernel { input, output })
}

struct Svd3Kernel<'a> {
    input: &'a [Mat3Block],
    output: &'a mut [Svd3Block],
}

impl LaneKernel for Svd3Kernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        // Without vector instructions the lanes go through one by one: the same bits, and far less code.
        if const { matches!(I::LEVEL, IsaLevel::Scalar) } {
            for (block, out) in self.input.iter().zip(self.output) {
                for lane in 0..F32_LANES {
                    out.set(lane, &svd3_out_of_line(&block.get(lane)));
                }
            }
            return;
        }
        // A decomposition is one long chain of dependent operations. With one register per block, processing two blocks
        // at a time hides the latency; other levels already have two registers or more per block.
        let (input, output) = if const { matches!(I::LEVEL, IsaLevel::Avx512) } {
            let (input_pairs, input_rest) = self.input.as_chunks::<2>();
            let (output_pairs, output_rest) = self.output.as_chunks_mut::<2>();
            for ([in0, in1], [out0, out1]) in input_pairs.iter().zip(output_pairs) {
                let svd = svd3(&zip(&in0.load::<I::F32>(), &in1.load::<I::F32>()));
                let [first, second] = unzip(&svd);
                out0.store(&first);
                out1.store(&second);
            }
            (input_rest, output_rest)
        } else {
            (self.input, self.output)
        };
        for (block, out) in input.iter().zip(output) {
            out.store(&svd3(&block.load::<I::F32>()));
        }
    }
}

/// One out-of-line copy of the plain code.
#[inline(never)]
fn svd3_out_of_line(f: &Mat3<f32>) -> Svd3<f32> {
    svd3(f)
}

/// Two matrices of lanes as one.
#[inline(always)]
fn zip<S: Scalar>(a: &Mat3<S>, b: &Mat3<S>) -> Mat3<Pair<S>> {
    let mut out = Mat3::zero();
    for i in 0..3 {
        for j in 0..3 {
            out.rows[i][j] = Pair(a.rows[i][j], b.rows[i][j]);
        }
    }
    out
}

/// The two halves of a matrix of paired lanes.
#[inline(always)]
fn halves<S: Scalar>(m: &Mat3<Pair<S>>) -> [Mat3<S>; 2] {
    let mut out = [Mat3::zero(); 2];
    for i in 0..3 {
        for j in 0..3 {
            out[0].rows[i][j] = m.rows[i][j].0;
            out[1].rows[i][j] = m.rows[i][j].1;
        }
    }
    out
}

/// The two halves of a decomposition of paired lanes.
#[inline(always)]
fn unzip<S: Scalar>(svd: &Svd3<Pair<S>>) -> [Svd3<S>; 2] {
    let ([u0, u1], [v0, v1]) = (halves(&svd.u), halves(&svd.v));
    let Vec3 { x, y, z } = svd.sigma;
    [Svd3 { u: u0, sigma: Vec3::new(x.0, y.0, z.0), v: v0 }, Svd3 { u: u1, sigma: Vec3::new(x.1, y.1, z.1), v: v1 }]
}
