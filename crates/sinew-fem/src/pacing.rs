//! Step sizes of a frame: equal, by the error of each step, or by stability.
//!
//! A step of a scheme of order p has an error e ∝ h^{p+1}, so the step with the tolerated error ε is
//! ```math
//! h' = 0.9\,h\,(\epsilon/e)^{1/(p+1)},
//! ```
//! at most twice and at least a fifth of the last one \[Hairer93\]. A step with an error above ε is rolled back.
//! Everything is a function of the state, so a resumed run takes the same steps.

/// How to divide a frame into steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Substeps {
    /// A number of steps of equal length.
    Fixed(usize),
    /// Steps whose estimated error stays below a tolerance.
    Adaptive(AdaptiveParams),
    /// Steps of a fraction of the stable length, for explicit solvers; others take one step.
    Stable {
        /// The fraction, in (0, 1], because stiffness may grow between estimates.
        safety: f64,
    },
}

impl Default for Substeps {
    fn default() -> Self {
        Self::Fixed(1)
    }
}

/// Parameters of adaptive steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveParams {
    /// Maximum position error of one step, relative to the size of the largest body. The default of 1e-3 is about a
    /// pixel.
    pub tolerance: f64,
    /// Maximum number of steps of a frame due to errors; steps of that length are accepted with any error.
    pub most: usize,
}

impl Default for AdaptiveParams {
    fn default() -> Self {
        Self { tolerance: 1e-3, most: 256 }
    }
}

/// Steps between two estimates of the stable length.
pub(crate) const STEPS_PER_ESTIMATE: usize = 16;

/// Maximum number of explicit steps of a frame: more would take hours.
pub(crate) const MAX_EXPLICIT_STEPS: f64 = 1e6;

/// Length of the step with the error `wanted`, given that a step of length `dt` had `error`.
pub(crate) fn next_step(dt: f64, error: f64, wanted: f64, order: i32) -> f64 {
    let ratio = if error > 0.0 { 0.9 * (wanted / error).powf(1.0 / f64::from(order + 1)) } else { 2.0 };
    dt * ratio.clamp(0.2, 2.0)
}

/// End time of the next of equal steps of at most `longest` that end at `end`.
pub(crate) fn even_target(now: f64, end: f64, longest: f64) -> f64 {
    // Slightly more than a whole number of steps counts as that number.
    let steps = ((end - now) / longest - 1e-6).ceil();
    if steps <= 1.0 { end } else { now + (end - now) / steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// e = c hᵖ⁺¹: one correction leads to 0.9 of the step with exactly the tolerated error.
    #[test]
    fn the_next_step_makes_the_error_wanted() {
        for order in [1, 2] {
            let error = |h: f64| 3.0 * h.powi(order + 1);
            let next = next_step(0.01, error(0.01), error(0.013), order);
            assert!((next - 0.9 * 0.013).abs() < 1e-12);
        }
        assert_eq!(next_step(0.01, 0.0, 1.0, 1), 0.02);
        assert!((next_step(0.01, 1e30, 1.0, 1) - 0.002).abs() < 1e-15);
    }

    #[test]
    fn steps_end_exactly_at_the_end() {
        for longest in [0.3, 0.25, 1.0 / 3.0, 1.0, 7.0] {
            let (mut now, mut count) = (0.0, 0);
            while now < 1.0 {
                let target = even_target(now, 1.0, longest);
                assert!(target - now <= longest * (1.0 + 1e-5));
                now = target;
                count += 1;
            }
            assert_eq!((now, count), (1.0, (1.0 / longest - 1e-6).ceil() as usize));
        }
    }
}
