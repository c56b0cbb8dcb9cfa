//! A potential that grows without bound as two surfaces meet, and ends smoothly at a distance [Li20].
//!
//! $$\varphi(d) = \kappa A \hat d\; b(d / \hat d), \qquad b(s) = -(1 - s)^2 \ln s \quad (0 < s < 1), \qquad b(s) = 0 \quad (s \ge 1)$$
//!
//! with the area A that the pair stands for and a modulus κ [Pa]. The pressure −φ'/A is κ at d ≈ 0.53 d̂, so with κ the stiffness of the flesh
//! itself the gap stays a good part of d̂ at any load that flesh bears, and the barrier is not much stiffer than a layer of flesh of thickness d̂.

/// Energy, slope and curvature of b at s > 0.
#[inline]
pub(super) fn barrier(s: f64) -> [f64; 3] {
    if s >= 1.0 {
        return [0.0; 3];
    }
    let (r, ln) = (1.0 - s, s.ln());
    [-r * r * ln, 2.0 * r * ln - r * r / s, -2.0 * ln + 4.0 * r / s + r * r / (s * s)]
}

/// Factor that fades the repulsion of two edges out as they become parallel, where their closest points jump, with its derivative by c = |u × v|²:
/// m = (2 − c/ε) c/ε below ε [Li20].
#[inline]
pub(super) fn mollifier(c: f64, epsilon: f64) -> [f64; 2] {
    if c >= epsilon {
        return [1.0, 0.0];
    }
    let r = c / epsilon;
    [(2.0 - r) * r, 2.0 * (1.0 - r) / epsilon]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_energy() {
        for s in [1e-3, 0.1, 0.54, 0.9, 0.999, 1.5] {
            let h = 1e-6 * s;
            let [[low, low_slope, _], [_, slope, curvature], [high, high_slope, _]] =
                [barrier(s - h), barrier(s), barrier(s + h)];
            assert!(((high - low) / (2.0 * h) - slope).abs() < 1e-5 * (1.0 + slope.abs()), "slope at {s}");
            assert!(((high_slope - low_slope) / (2.0 * h) - curvature).abs() < 1e-4 * (1.0 + curvature), "at {s}");
            assert!(slope <= 0.0 && curvature >= 0.0);
        }
        assert!(barrier(1e-300)[0] > 600.0, "without bound");
        for c in [0.1, 0.5, 0.9, 2.0] {
            let h = 1e-7;
            let [m, slope] = mollifier(c, 1.0);
            assert!(((mollifier(c + h, 1.0)[0] - mollifier(c - h, 1.0)[0]) / (2.0 * h) - slope).abs() < 1e-6);
            assert!((0.0..=1.0).contains(&m));
        }
    }

    /// Pressure κ at about half the gap.
    #[test]
    fn half_the_gap_bears_the_modulus() {
        assert!((-barrier(0.532)[1] - 1.0).abs() < 0.02, "{}", barrier(0.532)[1]);
    }
}
