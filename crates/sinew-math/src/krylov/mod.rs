//! Iterative solution of A x = b where only products with A are available.
//!
//! * [`LinearOperator`]: y = A x;
//! * [`Preconditioner`]: z ≈ A⁻¹ r, symmetric positive definite;
//! * [`conjugate_gradients`]: the method, with [`CgParams`], [`CgInfo`] and [`CgError`];
//! * [`BlockJacobi`]: the inverse diagonal blocks;
//! * [`dot`], [`norm`]: sums in `f64` with the same bits for any number of threads.

mod block_jacobi;
mod cg;
mod vector;

pub use block_jacobi::{BlockJacobi, BlockJacobiInfo};
pub use cg::{CgError, CgInfo, CgOutcome, CgParams, CgScratch, conjugate_gradients};
pub use vector::{add_scaled, dot, dot_block, norm};

use crate::{Real, Vec3};

/// A linear map from nodal vectors to nodal vectors.
pub trait LinearOperator<S: Real>: Sync {
    /// Number of nodes: the length of the vectors.
    fn node_count(&self) -> usize;

    /// y = A x; overwrites `y`.
    fn apply(&self, x: &[Vec3<S>], y: &mut [Vec3<S>]);

    /// Like [`apply`](Self::apply), and returns x · y; override it to do both in one pass over memory.
    fn apply_dot(&self, x: &[Vec3<S>], y: &mut [Vec3<S>]) -> f64 {
        self.apply(x, y);
        dot(x, y)
    }
}

/// An approximate inverse, symmetric and positive definite.
///
/// Takes `&mut self` because most preconditioners reuse scratch memory from call to call.
pub trait Preconditioner<S: Real> {
    /// z ≈ A⁻¹ r; overwrites `z`.
    fn apply(&mut self, r: &[Vec3<S>], z: &mut [Vec3<S>]);

    /// Like [`apply`](Self::apply), and returns r · z; override it to do both in one pass over memory.
    fn apply_dot(&mut self, r: &[Vec3<S>], z: &mut [Vec3<S>]) -> f64 {
        self.apply(r, z);
        dot(r, z)
    }
}

/// No preconditioning: z = r.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdentityPreconditioner;

impl<S: Real> Preconditioner<S> for IdentityPreconditioner {
    fn apply(&mut self, r: &[Vec3<S>], z: &mut [Vec3<S>]) {
        z.copy_from_slice(r);
    }
}
