//! Preconditioning by the inverse diagonal blocks.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::krylov::Preconditioner;
use crate::parallel::for_each_block_mut;
use crate::sparse::BlockCsr;
use crate::{Mat3, Real, Vec3};

/// z = D⁻¹ r with D the 3×3 diagonal blocks of a matrix.
///
/// A block that is not positive definite shows that the matrix is not, with a direction of negative curvature at one
/// node. It is counted in [`BlockJacobiInfo`] and replaced by a positive multiple of the identity. So the
/// preconditioner stays positive definite, and conjugate gradients can find the negative curvature.
#[derive(Clone, Debug, Default)]
pub struct BlockJacobi<S: Real = f64> {
    inverses: Vec<Mat3<S>>,
}

/// Summary of the diagonal blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockJacobiInfo {
    /// Number of blocks that are not positive definite.
    pub indefinite_count: usize,
    /// The first node with such a block.
    pub first_indefinite: Option<usize>,
}

/// Nodes per parallel block of the product: a few microseconds of work.
const NODE_BLOCK: usize = 4096;
/// Nodes per parallel block of the inversion.
const INVERSE_BLOCK: usize = 512;

impl<S: Real> BlockJacobi<S> {
    /// Inverts the diagonal blocks of `matrix`.
    pub fn new(matrix: &BlockCsr<S>) -> (Self, BlockJacobiInfo) {
        let mut preconditioner = Self { inverses: Vec::new() };
        let info = preconditioner.update(matrix);
        (preconditioner, info)
    }

    /// Replaces the inverses by those of `matrix`; allocates only when the number of nodes exceeds all previous ones.
    pub fn update(&mut self, matrix: &BlockCsr<S>) -> BlockJacobiInfo {
        self.inverses.resize(matrix.node_count(), Mat3::zero());
        let (count, first) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        for_each_block_mut(&mut self.inverses[..], INVERSE_BLOCK, |start, inverses| {
            for (k, inverse) in inverses.iter_mut().enumerate() {
                let block = matrix.diagonal_block(start + k).to_f64();
                let exact = positive_inverse(&block);
                if exact.is_none() {
                    count.fetch_add(1, Ordering::Relaxed);
                    first.fetch_min(start + k, Ordering::Relaxed);
                }
                *inverse = Mat3::from_f64(exact.unwrap_or_else(|| substitute(&block)));
            }
        });
        let first = first.into_inner();
        BlockJacobiInfo {
            indefinite_count: count.into_inner(),
            first_indefinite: (first != usize::MAX).then_some(first),
        }
    }

    /// Replaces the inverses by those of the given diagonal blocks, for operators other than [`BlockCsr`].
    pub fn update_from_blocks(&mut self, blocks: impl IntoIterator<Item = Mat3<S>>) -> BlockJacobiInfo {
        let mut info = BlockJacobiInfo::default();
        self.inverses.clear();
        for block in blocks {
            let inverse = positive_inverse(&block.to_f64());
            if inverse.is_none() {
                info.indefinite_count += 1;
                info.first_indefinite.get_or_insert(self.inverses.len());
            }
            self.inverses.push(Mat3::from_f64(inverse.unwrap_or_else(|| substitute(&block.to_f64()))));
        }
        info
    }

    /// The inverse blocks.
    pub fn inverse_blocks(&self) -> &[Mat3<S>] {
        &self.inverses
    }
}

/// Inverse of the symmetric part, in `f64` so that no determinant of `f32` stiffnesses overflows; `None` unless
/// positive definite.
///
/// Sylvester's criterion on the leading minors. By rounding, the minors of a singular block may reach a few ε of the
/// product of its diagonal entries (their Hadamard bound); smaller minors count as zero.
fn positive_inverse(block: &Mat3) -> Option<Mat3> {
    const UNTRUSTED: f64 = 8.0 * f64::EPSILON;
    let a = block.symmetric_part();
    let d = a.diagonal_entries();
    let second = d.x * d.y - a.rows[0][1] * a.rows[0][1];
    let is_positive = d.x > 0.0
        && d.y > 0.0
        && d.z > 0.0
        && second > UNTRUSTED * d.x * d.y
        && a.determinant() > UNTRUSTED * d.x * d.y * d.z;
    let inverse = a.inverse();
    (is_positive && inverse.is_finite()).then_some(inverse)
}

/// A positive multiple of the identity with about the scale of the block.
fn substitute(block: &Mat3) -> Mat3 {
    let d = block.diagonal_entries().abs();
    let mean = d.sum() / 3.0;
    let factor = if mean.is_finite() && mean > 0.0 { 1.0 / mean } else { 1.0 };
    Mat3::identity() * factor
}

impl<S: Real> Preconditioner<S> for BlockJacobi<S> {
    fn apply(&mut self, r: &[Vec3<S>], z: &mut [Vec3<S>]) {
        for_each_block_mut((&self.inverses[..], r, z), NODE_BLOCK, |_, (inverses, r, z)| {
            for k in 0..z.len() {
                z[k] = inverses[k] * r[k];
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::tests::{random_spd, random_vector};

    #[test]
    fn it_inverts_each_diagonal_block() {
        let matrix = random_spd([2, 2, 2]);
        let (mut preconditioner, info) = BlockJacobi::new(&matrix);
        assert_eq!(info, BlockJacobiInfo::default());
        let r = random_vector(matrix.node_count(), 3);
        let mut z = vec![Vec3::zero(); r.len()];
        preconditioner.apply(&r, &mut z);
        for node in 0..r.len() {
            // Blocks of condition number about ten.
            assert!((*matrix.diagonal_block(node) * z[node] - r[node]).norm() < 1e-13);
        }
    }

    #[test]
    fn indefinite_singular_and_zero_blocks_are_counted_and_replaced_by_positive_ones() {
        let negative = Mat3::diagonal(Vec3::new(1.0, -2.0, 3.0));
        let singular = Mat3::outer(Vec3::new(1.0, 2.0, 3.0), Vec3::new(1.0, 2.0, 3.0));
        let blocks = [Mat3::identity(), negative, singular, Mat3::zero(), Mat3::identity() * f64::NAN];
        let mut preconditioner = BlockJacobi::default();
        let info = preconditioner.update_from_blocks(blocks);
        assert_eq!(info, BlockJacobiInfo { indefinite_count: 4, first_indefinite: Some(1) });
        assert_eq!(preconditioner.inverse_blocks()[1], Mat3::identity() * 0.5);
        assert!(preconditioner.inverse_blocks().iter().all(|block| positive_inverse(block).is_some()));
    }

    #[test]
    fn stiff_blocks_in_single_precision_do_not_overflow() {
        let mut preconditioner = BlockJacobi::<f32>::default();
        let info = preconditioner.update_from_blocks([Mat3::identity() * 1e20]);
        assert_eq!(info.indefinite_count, 0);
        assert!((preconditioner.inverse_blocks()[0].rows[0][0] * 1e20 - 1.0).abs() < 1e-6);
    }
}
