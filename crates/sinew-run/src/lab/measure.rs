//! Values derived from measured curves: peaks, crossings, time constants.

/// The maximum of a sampled curve and its abscissa: the top of the parabola through the largest sample and its
/// neighbors, with an error of third order in their distance; at an end, the sample itself. `None` without finite
/// samples.
pub(super) fn peak(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    let top = (0..x.len().min(y.len())).filter(|&i| y[i].is_finite()).max_by(|&a, &b| y[a].total_cmp(&y[b]))?;
    let inner = top > 0 && top + 1 < y.len() && y[top - 1].is_finite() && y[top + 1].is_finite();
    if !inner {
        return Some((x[top], y[top]));
    }
    let (left, right) = (x[top - 1] - x[top], x[top + 1] - x[top]);
    let (before, after) = (y[top - 1] - y[top], y[top + 1] - y[top]);
    // y = y₀ + b s + c s² through the three points.
    let determinant = left * right * (right - left);
    let c = (after * left - before * right) / determinant;
    let b = (before * right * right - after * left * left) / determinant;
    if !(c < 0.0) {
        return Some((x[top], y[top]));
    }
    let s = (-0.5 * b / c).clamp(left.min(right), left.max(right));
    Some((x[top] + s, y[top] + b * s + c * s * s))
}

/// The abscissa where a sampled curve first crosses a level, by linear interpolation.
pub(super) fn crossing(x: &[f64], y: &[f64], level: f64) -> Option<f64> {
    let passes = |pair: &[f64]| (pair[0] - level) * (pair[1] - level) <= 0.0 && pair[0] != pair[1];
    let i = y.windows(2).position(passes)?;
    Some(between([y[i], y[i + 1]], [x[i], x[i + 1]], level))
}

/// The value at `at` on the straight line through two points.
pub(super) fn between(x: [f64; 2], y: [f64; 2], at: f64) -> f64 {
    y[0] + (y[1] - y[0]) * (at - x[0]) / (x[1] - x[0])
}

/// Time in which a curve covers 1 − 1/e of the way from its first value to its last: the time constant of an
/// exponential.
pub(super) fn time_constant(times: &[f64], values: &[f64]) -> Option<f64> {
    let (first, last) = (*values.first()?, *values.last()?);
    let level = first + (last - first) * (1.0 - (-1f64).exp());
    Some(crossing(times, values, level)? - times[0])
}

/// Whether no value is less than one before it, up to this fraction of the largest.
pub(super) fn is_rising(values: &[f64], tolerance: f64) -> bool {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let mut highest = f64::NEG_INFINITY;
    values.iter().all(|&value| {
        highest = highest.max(value);
        value >= highest - tolerance * largest
    })
}

/// Index of the smallest value.
pub(super) fn lowest(values: &[f64]) -> Option<usize> {
    (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b]))
}

/// Largest distance of ratios from one.
pub(super) fn largest_change(ratios: &[f64]) -> f64 {
    ratios.iter().fold(0.0, |largest: f64, ratio| largest.max((ratio - 1.0).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any three points of a parabola give its top, even if they are unevenly spaced.
    #[test]
    fn top_of_a_parabola_is_exact() {
        let f = |x: f64| 3.0 - 2.0 * (x - 1.03).powi(2);
        let x = [0.6, 0.8, 0.97, 1.2, 1.5];
        let (place, value) = peak(&x, &x.map(f)).unwrap();
        assert!((place - 1.03).abs() < 1e-12 && (value - 3.0).abs() < 1e-12, "{place} {value}");
    }

    #[test]
    fn peaks_at_an_end_and_among_gaps_are_samples() {
        assert_eq!(peak(&[1.0, 2.0, 3.0], &[1.0, 2.0, 5.0]), Some((3.0, 5.0)));
        assert_eq!(peak(&[1.0, 2.0, 3.0], &[f64::NAN, 2.0, 1.0]), Some((2.0, 2.0)));
        assert_eq!(peak(&[1.0, 2.0, 3.0], &[4.0, 4.0, 4.0]).map(|top| top.1), Some(4.0));
        assert_eq!(peak(&[], &[]), None);
        assert_eq!(peak(&[1.0], &[f64::NAN]), None);
    }

    /// 5 − 4 exp(−t/τ), observed for 12 τ and sampled every τ/10: linear interpolation has an error of (0.1)²/8 of τ.
    #[test]
    fn time_constant_of_an_exponential_is_found() {
        let tau = 0.03;
        let times: Vec<f64> = (0..=120).map(|i| f64::from(i) * 0.1 * tau + 7.0).collect();
        let values: Vec<f64> = times.iter().map(|t| 5.0 - 4.0 * (-(t - 7.0) / tau).exp()).collect();
        let found = time_constant(&times, &values).unwrap();
        assert!((found / tau - 1.0).abs() < 2e-3, "{found}");
        let falling: Vec<f64> = values.iter().map(|v| -v).collect();
        assert!((time_constant(&times, &falling).unwrap() - found).abs() < 1e-12);
        assert_eq!(time_constant(&[0.0, 1.0], &[2.0, 2.0]), None, "a constant has no time constant");
    }

    #[test]
    fn crossings_are_interpolated_and_may_be_missing() {
        assert_eq!(crossing(&[0.0, 1.0, 2.0], &[0.0, 2.0, 8.0], 5.0), Some(1.5));
        assert_eq!(crossing(&[0.0, 1.0], &[4.0, 0.0], 1.0), Some(0.75));
        assert_eq!(crossing(&[0.0, 1.0], &[4.0, 3.0], 1.0), None);
    }

    #[test]
    fn a_rise_forgives_only_what_it_is_told_to() {
        assert!(is_rising(&[1.0, 2.0, 2.0, 3.0], 0.0));
        assert!(!is_rising(&[1.0, 2.0, 1.9, 3.0], 0.01));
        assert!(is_rising(&[1.0, 2.0, 1.999, 3.0], 0.01));
        // A slow fall is a fall as well.
        assert!(!is_rising(&[3.0, 2.98, 2.96, 2.94], 0.01));
        assert_eq!(lowest(&[3.0, 1.0, 2.0]), Some(1));
    }
}
