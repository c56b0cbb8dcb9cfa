//! Orders of convergence: the slope of log(error) over log(h).

/// Least-squares slope of ln y over ln x, for y = c·xᵖ the exponent p.
///
/// `None` with fewer than two different x, or if a value is not positive and finite: an error of exactly zero has no
/// order.
pub fn order(points: &[(f64, f64)]) -> Option<f64> {
    let mut logs = Vec::with_capacity(points.len());
    for &(x, y) in points {
        if !(x > 0.0 && y > 0.0 && x.is_finite() && y.is_finite()) {
            return None;
        }
        logs.push((x.ln(), y.ln()));
    }
    let count = logs.len() as f64;
    let mean = logs.iter().fold((0.0, 0.0), |sum, log| (sum.0 + log.0 / count, sum.1 + log.1 / count));
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (x, y) in logs {
        covariance += (x - mean.0) * (y - mean.1);
        variance += (x - mean.0) * (x - mean.0);
    }
    (variance > 1e-12).then(|| covariance / variance)
}

/// The reason why points have no order; `x` is the name of their abscissa.
pub fn why_none(points: &[(f64, f64)], x: &str) -> String {
    let is_bad = |value: f64| !(value > 0.0 && value.is_finite());
    match points {
        [] | [_] => "a fit needs two cases".into(),
        _ if points.iter().any(|point| point.1 == 0.0) => "in one case it equals the exact value".into(),
        _ if points.iter().any(|point| is_bad(point.1)) => "in one case it is not a finite number".into(),
        _ if points.iter().any(|point| is_bad(point.0)) => format!("in one case `{x}` is not positive"),
        _ => format!("`{x}` is the same in all cases"),
    }
}

#[cfg(test)]
mod tests {
    use super::{order, why_none};

    #[test]
    fn what_has_no_order_says_why() {
        let why = |points: &[(f64, f64)]| why_none(points, "h");
        assert!(why(&[(1.0, 1.0)]).contains("two cases"));
        assert!(why(&[(1.0, 1.0), (0.5, 0.0)]).contains("equals the exact value"));
        assert!(why(&[(1.0, 1.0), (0.5, f64::NAN)]).contains("not a finite number"));
        assert!(why(&[(1.0, 1.0), (0.0, 1.0)]).contains("`h` is not positive"));
        assert!(why(&[(1.0, 1.0), (1.0, 2.0)]).contains("`h` is the same"));
    }

    #[test]
    fn exponent_of_a_power_law_is_found() {
        let points: Vec<(f64, f64)> = [1.0, 0.5, 0.25].iter().map(|&h: &f64| (h, 3.0 * h.powf(1.75))).collect();
        assert!((order(&points).unwrap() - 1.75).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_order_has_none() {
        assert_eq!(order(&[]), None);
        assert_eq!(order(&[(1.0, 1.0)]), None);
        assert_eq!(order(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(order(&[(1.0, 1.0), (0.5, 0.0)]), None);
        assert_eq!(order(&[(1.0, 1.0), (0.5, f64::NAN)]), None);
    }
}
