//! Barrier: a potential that grows without bound as two surfaces meet, and ends smoothly at a distance.
//!
//! ```math
//! \varphi(d) = \kappa A \hat d\; b(d / \hat d), \qquad b(s) = k\, q(1 - s) + k\, s_0^2\, \beta(s / s_0),
//! ```
//! ```math
//! q(r) = \begin{cases} r^3 / 6w & r < w \\ (r - w/2)^2 / 2 + w^2/24 & r \ge w \end{cases} \qquad
//!    \beta(t) = -(1 - t)^2 \ln t \quad (0 < t < 1),
//! ```
//! both zero beyond, with the area A that the pair represents and a modulus κ \[Pa\]. A pure logarithm \[Li20\] hardens
//! from the first touch on: a pair that starts too near opens only by a factor per Newton iteration. Here most of the
//! gap is a spring, which opens in one iteration, and the logarithm starts at a quarter of the gap.
//!
//! The pressure −φ'/A is κ at half of d̂. With κ equal to the stiffness of the flesh, the gap stays a good part of d̂
//! under any load that flesh bears, and the barrier is not much stiffer than a layer of flesh of thickness d̂.

/// Stiffness k of the spring: pressure 1 at s = 1/2.
const SPRING: f64 = 2.5;
/// Share of the gap over which the spring sets in, and share below which the logarithm adds to it.
const ONSET: f64 = 0.2;
const HARD: f64 = 0.25;

/// Energy, slope and curvature of b at s > 0.
#[inline]
pub(super) fn barrier(s: f64) -> [f64; 3] {
    if s >= 1.0 {
        return [0.0; 3];
    }
    let r = 1.0 - s;
    let [mut energy, mut slope, mut curvature] = if r < ONSET {
        [r * r * r / (6.0 * ONSET), -r * r / (2.0 * ONSET), r / ONSET]
    } else {
        let beyond = r - 0.5 * ONSET;
        [0.5 * beyond * beyond + ONSET * ONSET / 24.0, -beyond, 1.0]
    };
    if s < HARD {
        let t = s / HARD;
        let (r, ln) = (1.0 - t, t.ln());
        energy -= HARD * HARD * r * r * ln;
        slope += HARD * (2.0 * r * ln - r * r / t);
        curvature += -2.0 * ln + 4.0 * r / t + r * r / (t * t);
    }
    [SPRING * energy, SPRING * slope, SPRING * curvature]
}

/// Factor that fades out the repulsion of two edges as they become parallel, where their closest points jump, with its
/// first and second derivative by c = |u × v|²: m = (2 − c/ε) c/ε below ε \[Li20\].
#[inline]
pub(super) fn mollifier(c: f64, epsilon: f64) -> [f64; 3] {
    if c >= epsilon {
        return [1.0, 0.0, 0.0];
    }
    let r = c / epsilon;
    [(2.0 - r) * r, 2.0 * (1.0 - r) / epsilon, -2.0 / (epsilon * epsilon)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_energy() {
        for s in [1e-3, 0.1, 0.249, 0.251, 0.54, 0.79, 0.81, 0.9, 0.999, 1.5] {
            let h = 1e-6 * s;
            let [[low, low_slope, _], [_, slope, curvature], [high, high_slope, _]] =
                [barrier(s - h), barrier(s), barrier(s + h)];
            assert!(((high - low) / (2.0 * h) - slope).abs() < 1e-5 * (1.0 + slope.abs()), "slope at {s}");
            assert!(((high_slope - low_slope) / (2.0 * h) - curvature).abs() < 1e-4 * (1.0 + curvature), "at {s}");
            assert!(slope <= 0.0 && curvature >= 0.0);
        }
        assert!(barrier(1e-300)[0] > 100.0, "grows without bound");
        for c in [0.1, 0.5, 0.9, 2.0] {
            let h = 1e-7;
            let [m, slope, curvature] = mollifier(c, 1.0);
            assert!(((mollifier(c + h, 1.0)[0] - mollifier(c - h, 1.0)[0]) / (2.0 * h) - slope).abs() < 1e-6);
            assert!(((mollifier(c + h, 1.0)[1] - mollifier(c - h, 1.0)[1]) / (2.0 * h) - curvature).abs() < 1e-6);
            assert!((0.0..=1.0).contains(&m));
        }
    }

    /// Pressure κ at half the gap.
    #[test]
    fn half_the_gap_bears_the_modulus() {
        assert!((barrier(0.5)[1] + 1.0).abs() < 1e-12, "{}", barrier(0.5)[1]);
    }
}
