//! Lowest modes of K φ = ω² M φ by a block Krylov method with Rayleigh–Ritz projection \[Golub77, Bathe96\].
//!
//! Powers of A = (K + s M)⁻¹ M, s ≥ 0, amplify low frequencies: an eigenpair (ω², φ) of the problem is an eigenpair
//! (1/(ω² + s), φ) of A. From a block X of a few more vectors than requested modes, one cycle
//!
//! 1. spans V = \[X, A X, A² X\], made orthonormal in the product xᵀM y;
//! 2. projects, H = VᵀK V, and solves the small dense problem by Jacobi rotations ([`symmetric_eigen`]);
//! 3. restarts from the Ritz vectors of the lowest values.
//!
//! A block, not a single vector, finds repeated frequencies: the two bending modes of a square beam, the six rigid
//! modes of a free body. K may be singular (a free body) if the shift s is positive.

use crate::cholesky::{CholeskyError, SymbolicCholesky};
use crate::krylov::add_scaled;
use crate::parallel::{SUM_BLOCK, for_each_block_mut, sum};
use crate::sparse::BlockCsr;
use crate::{Mat3, Vec3};

mod jacobi;

pub use jacobi::{SymmetricEigen, symmetric_eigen};

/// What to compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EigenParams {
    /// Number of modes, at least 1; at most three per node exist. Default 10.
    pub count: usize,
    /// Shift s ≥ 0 \[1/s²\] of the factored matrix K + s M. Zero (the default) when K is positive definite; for free
    /// bodies about the square of the lowest expected angular frequency.
    pub shift: f64,
    /// Largest ‖(ω² + s) A φ − φ‖ in the norm of M, with ‖φ‖ = 1. Default 1e-7; the error of ω² is of the order of its
    /// square.
    pub tolerance: f64,
    /// Largest number of cycles. Default 50; a few suffice unless many frequencies are close to the last requested one.
    pub max_iterations: usize,
    /// Seed of the first block of vectors.
    pub seed: u64,
}

impl Default for EigenParams {
    fn default() -> Self {
        Self { count: 10, shift: 0.0, tolerance: 1e-7, max_iterations: 50, seed: 1 }
    }
}

/// Modes in ascending order of frequency.
#[derive(Clone, Debug)]
pub struct EigenModes {
    /// ω² \[1/s²\].
    pub eigenvalues: Vec<f64>,
    /// φ with φᵀM φ = 1, one vector per eigenvalue; the component of largest magnitude is positive.
    pub modes: Vec<Vec<Vec3>>,
    /// ‖(ω² + s) A φ − φ‖ in the norm of M, for each mode.
    pub residuals: Vec<f64>,
    /// Number of cycles.
    pub iterations: usize,
}

/// Why no modes were found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EigenError {
    /// K + s M could not be factored.
    #[error("the shifted stiffness cannot be factored ({0}); hint: a body that is free to move needs a positive shift")]
    Factorization(#[from] CholeskyError),
    /// A nonpositive mass.
    #[error("node {node} has mass {mass}, which is not positive")]
    BadMass {
        /// The node.
        node: usize,
        /// Its mass \[kg\].
        mass: f64,
    },
    /// Numbers of masses and nodes differ, or more modes are requested than exist.
    #[error("{mass_count} masses for {node_count} nodes and {mode_count} modes")]
    SizeMismatch {
        /// Nodes of the stiffness.
        node_count: usize,
        /// Number of masses.
        mass_count: usize,
        /// Requested modes.
        mode_count: usize,
    },
    /// The residuals stayed above the tolerance.
    #[error("after {iterations} cycles the largest residual is {residual}, above the tolerance")]
    NotConverged {
        /// Number of cycles.
        iterations: usize,
        /// Largest residual of a requested mode.
        residual: f64,
    },
}

/// Blocks of the Krylov space in one cycle: X, A X, A² X.
const DEPTH: usize = 3;

/// A vector that keeps less than this share of its length after orthogonalization is linearly dependent.
const DEPENDENT: f64 = 1e-9;

/// The lowest modes for a stiffness K and a lumped mass \[kg\] per node; see the [module](self).
///
/// # Errors
/// See [`EigenError`].
pub fn lowest_modes(stiffness: &BlockCsr<f64>, mass: &[f64], params: &EigenParams) -> Result<EigenModes, EigenError> {
    let node_count = stiffness.node_count();
    let wanted = params.count;
    if mass.len() != node_count || wanted > 3 * node_count || wanted == 0 {
        return Err(EigenError::SizeMismatch { node_count, mass_count: mass.len(), mode_count: wanted });
    }
    if let Some(node) = mass.iter().position(|&m| !(m > 0.0 && m.is_finite())) {
        return Err(EigenError::BadMass { node, mass: mass[node] });
    }
    let mut shifted = stiffness.clone();
    for (node, &m) in mass.iter().enumerate() {
        shifted.add_diagonal(node, &(Mat3::identity() * (params.shift * m)));
    }
    let mut cholesky = SymbolicCholesky::new(stiffness.pattern())?.factor(&shifted)?;

    // Guard vectors speed up the last requested modes and complete groups of equal frequency.
    let block_size = (wanted + 8.max(wanted / 3)).min(3 * node_count);
    let mut space = Space::new(mass);
    space.extend((0..block_size).map(|k| random_vector(node_count, params.seed, k)).collect());
    let mut ritz_values: Vec<f64> = Vec::new();
    let mut worst = f64::INFINITY;
    for iteration in 0..=params.max_iterations {
        let mut begin = 0;
        for depth in 1..DEPTH {
            // A applied to the newest block.
            let mut block: Vec<Vec<Vec3>> = space.basis[begin..].iter().map(|v| scaled_by_mass(v, mass)).collect();
            cholesky.solve_columns_in_place(&mut block)?;
            if depth == 1 && !ritz_values.is_empty() {
                let residuals = residuals(&space.basis[..wanted], &block, &ritz_values, params.shift, mass);
                worst = residuals.iter().fold(0.0, |a: f64, &b| if b.is_nan() { b } else { a.max(b) });
                if worst <= params.tolerance {
                    space.basis.truncate(wanted);
                    ritz_values.truncate(wanted);
                    space.basis.iter_mut().for_each(|mode| fix_sign(mode));
                    let (eigenvalues, modes) = (ritz_values, space.basis);
                    return Ok(EigenModes { eigenvalues, modes, residuals, iterations: iteration });
                }
            }
            begin = space.basis.len();
            space.extend(block);
        }
        ritz_values = space.project(stiffness, block_size);
    }
    Err(EigenError::NotConverged { iterations: params.max_iterations, residual: worst })
}

/// ‖(θ + s) A φ − φ‖ in the norm of M for each Ritz pair; the images hold A φ.
fn residuals(modes: &[Vec<Vec3>], images: &[Vec<Vec3>], values: &[f64], shift: f64, mass: &[f64]) -> Vec<f64> {
    let residual = |k: usize| {
        let (mode, image, factor) = (&modes[k], &images[k], values[k] + shift);
        sum(mass.len(), |i| (image[i] * factor - mode[i]).norm_squared() * mass[i]).sqrt()
    };
    (0..modes.len()).map(residual).collect()
}

fn scaled_by_mass(vector: &[Vec3], mass: &[f64]) -> Vec<Vec3> {
    vector.iter().zip(mass).map(|(v, &m)| *v * m).collect()
}

/// Makes the component of largest magnitude positive, so that modes can be compared.
fn fix_sign(mode: &mut [Vec3]) {
    let mut largest = 0.0f64;
    for v in mode.iter() {
        for component in v.to_array() {
            // Strictly larger beyond rounding, so that the first of several equal components determines the sign.
            if component.abs() > largest.abs() * (1.0 + 1e-6) {
                largest = component;
            }
        }
    }
    if largest < 0.0 {
        mode.iter_mut().for_each(|v| *v = -*v);
    }
}

/// Components in [-1, 1) from a counter-based generator (SplitMix64): the same for any platform and number of threads.
fn random_vector(length: usize, seed: u64, column: usize) -> Vec<Vec3> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ ((column as u64 + 1) << 40);
    let mut next = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..length).map(|_| Vec3::new(next(), next(), next())).collect()
}

/// A basis that is orthonormal in the product xᵀM y.
struct Space<'a> {
    mass: &'a [f64],
    basis: Vec<Vec<Vec3>>,
}

impl<'a> Space<'a> {
    fn new(mass: &'a [f64]) -> Self {
        Self { mass, basis: Vec::new() }
    }

    fn product(&self, a: &[Vec3], b: &[Vec3]) -> f64 {
        sum(self.mass.len(), |i| a[i].dot(b[i]) * self.mass[i])
    }

    /// Adds the parts of `vectors` outside the space; linearly dependent vectors are dropped.
    fn extend(&mut self, vectors: Vec<Vec<Vec3>>) {
        for mut vector in vectors {
            let before = self.product(&vector, &vector).sqrt();
            // Twice is enough [Parlett98]: the second pass removes the rounding error of the first.
            for _ in 0..2 {
                for member in &self.basis {
                    let overlap = self.product(member, &vector);
                    add_scaled(&mut vector, -overlap, member);
                }
            }
            let after = self.product(&vector, &vector).sqrt();
            if after > DEPENDENT * before && self.basis.len() < 3 * self.mass.len() {
                let factor = after.recip();
                vector.iter_mut().for_each(|v| *v *= factor);
                self.basis.push(vector);
            }
        }
    }

    /// Replaces the basis by the Ritz vectors of the `keep` lowest Ritz values of K, and returns these values.
    fn project(&mut self, stiffness: &BlockCsr<f64>, keep: usize) -> Vec<f64> {
        let size = self.basis.len();
        let node_count = self.mass.len();
        let mut image = vec![Vec3::zero(); node_count];
        let mut projected = vec![0.0; size * size];
        for j in 0..size {
            stiffness.multiply(&self.basis[j], &mut image);
            for i in 0..=j {
                let entry = crate::krylov::dot(&self.basis[i], &image);
                projected[i * size + j] = entry;
                projected[j * size + i] = entry;
            }
        }
        let SymmetricEigen { mut values, vectors } = symmetric_eigen(&projected, size);
        let keep = keep.min(size);
        values.truncate(keep);
        let mut rotated: Vec<Vec<Vec3>> = Vec::with_capacity(keep);
        for k in 0..keep {
            let mut mode = vec![Vec3::zero(); node_count];
            for_each_block_mut(&mut mode[..], SUM_BLOCK, |start, block| {
                for (j, member) in self.basis.iter().enumerate() {
                    let weight = vectors[k * size + j];
                    for (target, source) in block.iter_mut().zip(&member[start..]) {
                        *target += *source * weight;
                    }
                }
            });
            rotated.push(mode);
        }
        self.basis = rotated;
        values
    }
}

#[cfg(test)]
mod tests;
