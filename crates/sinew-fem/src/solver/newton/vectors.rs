//! Norms and products of vectors over the unknowns, with the same bits for any number of threads.

use sinew_math::Vec3;
use sinew_math::parallel::sum;

pub(super) fn norm(v: &[Vec3]) -> f64 {
    sum(v.len(), |i| v[i].norm_squared()).sqrt()
}

/// Norm of the largest vector.
pub(super) fn largest(v: &[Vec3]) -> f64 {
    v.iter().map(|v| v.norm_squared()).fold(0.0, f64::max).sqrt()
}

pub(super) fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    sum(a.len(), |i| a[i].dot(b[i]))
}
