//! Roots of functions of one variable, by bracketed Newton steps.

/// Tolerance relative to the bracket: a few roundings of a double.
const TOLERANCE: f64 = 1e-15;

/// The first point between `near` and `far` where a function leaves its sign at `near`. It has a strict sign at `near`,
/// and is zero or of the other sign at `far`.
///
/// An interval of zeros counts as the far side, so the result is its near edge. A Newton step is taken if it stays in
/// the bracket and at least halves the last step; otherwise the bracket is bisected. `function` returns value and
/// slope.
pub fn first_root(near: f64, far: f64, function: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut near, mut far) = (near, far);
    let sign = function(near).0.signum();
    let smallest = TOLERANCE * (far - near).abs().max(near.abs()).max(far.abs());
    let mut x = 0.5 * (near + far);
    let mut last_step = (far - near).abs();
    // Bisection alone ends after about 60 iterations, and at most every other iteration does not bisect.
    for _ in 0..200 {
        let (value, slope) = function(x);
        if value == 0.0 && slope != 0.0 {
            return x;
        }
        if value * sign > 0.0 {
            near = x
        } else {
            far = x
        }
        if (far - near).abs() <= smallest {
            return far;
        }
        let newton = x - value / slope;
        let is_inside = (newton - near) * (newton - far) < 0.0;
        let next = if value != 0.0 && is_inside && (newton - x).abs() <= 0.5 * last_step {
            newton
        } else {
            0.5 * (near + far)
        };
        last_step = (next - x).abs();
        x = next;
        if last_step <= smallest {
            return x;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_roots_are_found_to_rounding() {
        let root = first_root(0.0, 3.0, |x| (2.0 - x * x, -2.0 * x));
        assert!((root - 2f64.sqrt()).abs() < 1e-15);
        let root = first_root(3.0, 0.0, |x| (2.0 - x * x, -2.0 * x));
        assert!((root - 2f64.sqrt()).abs() < 1e-15);
    }

    /// Zero from 1 to 2: from either side, its near edge.
    #[test]
    fn a_stretch_of_zeros_ends_at_its_near_edge() {
        let g = |x: f64| {
            if x < 1.0 {
                ((1.0 - x).powi(2), 2.0 * x - 2.0)
            } else if x > 2.0 {
                (2.0 - x, -1.0)
            } else {
                (0.0, 0.0)
            }
        };
        assert!((first_root(0.0, 1.7, g) - 1.0).abs() < 1e-7);
        assert!((first_root(5.0, 1.2, g) - 2.0).abs() < 1e-14);
    }

    /// Plain Newton diverges on an arctangent.
    #[test]
    fn steep_and_flat_functions_stay_in_the_bracket() {
        let g = |x: f64| (-(50.0 * (x - 0.3)).atan(), -50.0 / (1.0 + (50.0 * (x - 0.3)).powi(2)));
        assert!((first_root(-100.0, 1000.0, g) - 0.3).abs() < 1e-12);
    }
}
