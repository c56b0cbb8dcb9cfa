//! Affine bodies: every node follows four control points, so that x = A X + t with twelve numbers \[Lan22\].
//!
//! ```math
//! x_p = \sum_{i=1}^4 w_{pi}\,q_i, \qquad w_{pi} = \tfrac14\,(1 + s_i\cdot y_p), \qquad X_p = c + L\,y_p, \qquad
//!    Q_i = c + L\,s_i ,
//! ```
//!
//! with corners sᵢ of a regular tetrahedron, the center of mass c and L Lᵀ = Σ m (X − c)(X − c)ᵀ / Σ m at rest. The
//! unknowns are places, as those of nodes are, and the mass matrix of the four is diagonal: Σ m wᵢ wⱼ = ¼ δᵢⱼ Σ m.

#![allow(non_snake_case)]

use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Vec3};

/// Corners of a regular tetrahedron in the cube \[−1, 1\]³. They sum to zero and Σ s sᵀ = 4 I.
const CORNERS: [[f64; 3]; 4] = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
/// Least extent along an axis over the largest: flat bodies are affine too.
const MIN_EXTENT: f64 = 1e-6;

/// The control points of one body at rest.
pub(crate) struct ControlPoints {
    center: Vec3,
    /// L.
    axes: Mat3,
    inverse: Mat3,
    mass: f64,
}

impl ControlPoints {
    /// Of a body with these nodes at rest and their masses, whose sum is positive.
    pub fn new(rest: &[Vec3], masses: &[f64]) -> Self {
        let mass: f64 = masses.iter().sum();
        let center = rest.iter().zip(masses).map(|(&X, &m)| X * m).sum::<Vec3>() / mass;
        let mut covariance = Mat3::zero();
        for (&X, &m) in rest.iter().zip(masses) {
            covariance += Mat3::outer(X - center, X - center) * (m / mass);
        }
        let svd = svd3_plain(&covariance);
        let least = MIN_EXTENT * svd.sigma[0].sqrt().max(f64::MIN_POSITIVE);
        let extent = |k: usize| svd.sigma[k].max(0.0).sqrt().max(least);
        let axes = svd.v * Mat3::diagonal(Vec3::new(extent(0), extent(1), extent(2)));
        Self { center, axes, inverse: axes.inverse(), mass }
    }

    /// Places Qᵢ at rest \[m\].
    pub fn places(&self) -> [Vec3; 4] {
        CORNERS.map(|corner| self.center + self.axes * Vec3::from(corner))
    }

    /// Weights of the control points at a place X at rest.
    pub fn weights(&self, X: Vec3) -> [f64; 4] {
        let y = self.inverse * (X - self.center);
        CORNERS.map(|corner| 0.25 * (1.0 + Vec3::from(corner).dot(y)))
    }

    /// The control points that bring the nodes of the body closest to `places`, by the masses they were made for.
    pub fn fit(&self, rest: &[Vec3], masses: &[f64], places: &[Vec3]) -> [Vec3; 4] {
        let mut sums = [Vec3::zero(); 4];
        for ((&X, &m), &x) in rest.iter().zip(masses).zip(places) {
            for (sum, w) in sums.iter_mut().zip(self.weights(X)) {
                *sum += x * (m * w);
            }
        }
        // The matrix of the normal equations is ¼ Σ m times the identity.
        sums.map(|sum| sum * (4.0 / self.mass))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> (Vec<Vec3>, Vec<f64>) {
        let rest = (0..12).map(|i| {
            let t = i as f64;
            Vec3::new((1.3 * t).sin() + 2.0, 0.3 * (2.1 * t).cos() - 1.0, 0.05 * (0.7 * t * t).sin() + 0.4)
        });
        (rest.collect(), (0..12).map(|i| 1.0 + 0.2 * f64::from(i % 5)).collect())
    }

    #[test]
    fn weights_reproduce_every_affine_map() {
        let (rest, masses) = body();
        let control = ControlPoints::new(&rest, &masses);
        let A = Mat3::new([[1.2, 0.3, -0.1], [0.2, 0.7, 0.5], [-0.4, 0.1, 1.5]]);
        let t = Vec3::new(3.0, -1.0, 0.2);
        let q = control.places().map(|Q| A * Q + t);
        for &X in &rest {
            let x = control.weights(X).iter().zip(q).map(|(&w, q)| q * w).sum::<Vec3>();
            assert!((x - (A * X + t)).norm() < 1e-13, "{x:?}");
        }
        let places: Vec<Vec3> = rest.iter().map(|&X| A * X + t).collect();
        for (fitted, q) in control.fit(&rest, &masses, &places).into_iter().zip(q) {
            assert!((fitted - q).norm() < 1e-12, "{fitted:?} {q:?}");
        }
    }

    /// Σ m wᵢ wⱼ = ¼ δᵢⱼ Σ m, so that lumped masses of the control points are exact.
    #[test]
    fn the_mass_matrix_of_control_points_is_diagonal() {
        let (rest, masses) = body();
        let control = ControlPoints::new(&rest, &masses);
        let total: f64 = masses.iter().sum();
        for i in 0..4 {
            for j in 0..4 {
                let sum: f64 = rest
                    .iter()
                    .zip(&masses)
                    .map(|(&X, m)| {
                        let w = control.weights(X);
                        m * w[i] * w[j]
                    })
                    .sum();
                let expected = if i == j { 0.25 * total } else { 0.0 };
                // The axes come from an SVD with vectors orthogonal to some 1e-7.
                assert!((sum - expected).abs() < 1e-6 * total, "{i} {j}: {sum} {expected}");
            }
        }
    }
}
