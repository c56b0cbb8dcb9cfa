//! B-spline functions of one variable over clamped uniform knots on \[0, 1\].
//!
//! ```math
//! B_{i,0}(t) = 1 \text{ on } [t_i, t_{i+1}), \qquad
//!    B_{i,p}(t) = \frac{t - t_i}{t_{i+p} - t_i} B_{i,p-1}(t)
//!    + \frac{t_{i+p+1} - t}{t_{i+p+1} - t_{i+1}} B_{i+1,p-1}(t)
//! ```
//!
//! Reference: \[Piegl97\], chapter 2.

/// Largest degree.
pub(super) const MAX_DEGREE: usize = 3;

/// The functions of one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Basis {
    degree: usize,
    count: usize,
    knots: Vec<f64>,
}

/// The nonzero functions at some t, and their derivatives: those numbered `first` to `first + degree`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalBasis {
    pub first: usize,
    pub values: [f64; MAX_DEGREE + 1],
    pub slopes: [f64; MAX_DEGREE + 1],
}

impl Basis {
    /// `count` functions; the first and last knots repeat so that the ends of the domain are control points.
    pub fn clamped_uniform(count: usize, degree: usize) -> Self {
        debug_assert!(count > degree && (1..=MAX_DEGREE).contains(&degree), "checked by the solid");
        let spans = count - degree;
        let knot = |i: usize| (i.saturating_sub(degree) as f64 / spans as f64).min(1.0);
        Self { degree, count, knots: (0..count + degree + 1).map(knot).collect() }
    }

    /// Number of nonzero functions at a point.
    pub fn local_count(&self) -> usize {
        self.degree + 1
    }

    /// Number of intervals between distinct knots.
    pub fn span_count(&self) -> usize {
        self.count - self.degree
    }

    /// Greville abscissa of each function, the mean of its inner knots. Control points there reproduce the identity.
    pub fn greville(&self) -> Vec<f64> {
        let mean = |i: usize| self.knots[i + 1..=i + self.degree].iter().sum::<f64>() / self.degree as f64;
        (0..self.count).map(mean).collect()
    }

    /// Values and derivatives at t ∈ \[0, 1\].
    pub fn at(&self, t: f64) -> LocalBasis {
        let p = self.degree;
        let spans = self.span_count();
        // The last span includes its end. Rounding may miss the span by one; the comparison corrects that.
        let mut span = p + ((t * spans as f64) as usize).min(spans - 1);
        if t < self.knots[span] && span > p {
            span -= 1;
        }
        let mut values = [0.0; MAX_DEGREE + 1];
        let mut lower = values;
        values[0] = 1.0;
        for degree in 1..=p {
            lower = values;
            let mut saved = 0.0;
            for k in 0..degree {
                let (right, left) = (self.knots[span + 1 + k], self.knots[span + 1 + k - degree]);
                let share = values[k] / (right - left);
                values[k] = saved + (right - t) * share;
                saved = (t - left) * share;
            }
            values[degree] = saved;
        }
        // B' = p (B_{i,p−1} / (t_{i+p} − t_i) − B_{i+1,p−1} / (t_{i+p+1} − t_{i+1})), with the functions of degree p −
        // 1 kept above.
        let mut slopes = [0.0; MAX_DEGREE + 1];
        for k in 0..p {
            let share = p as f64 * lower[k] / (self.knots[span + 1 + k] - self.knots[span + 1 + k - p]);
            slopes[k] -= share;
            slopes[k + 1] += share;
        }
        LocalBasis { first: span - p, values, slopes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ B_i = 1, Σ B_i' = 0 and B_i ≥ 0.
    #[test]
    fn functions_are_a_partition_of_unity() {
        for degree in 1..=MAX_DEGREE {
            for count in degree + 1..degree + 7 {
                let basis = Basis::clamped_uniform(count, degree);
                for step in 0..=97 {
                    let local = basis.at(f64::from(step) / 97.0);
                    assert!(local.first + degree < count && local.values.iter().all(|b| *b >= 0.0));
                    assert!((local.values.iter().sum::<f64>() - 1.0).abs() < 4e-16);
                    assert!(local.slopes.iter().sum::<f64>().abs() < 1e-13);
                }
            }
        }
    }

    /// Σ ξ_i B_i(t) = t, to two units in the last place of 1.
    #[test]
    fn greville_abscissae_reproduce_the_identity() {
        let mut worst = 0.0_f64;
        for degree in 1..=MAX_DEGREE {
            for count in degree + 1..degree + 7 {
                let basis = Basis::clamped_uniform(count, degree);
                let greville = basis.greville();
                for step in 0..=200 {
                    let t = f64::from(step) / 200.0;
                    let local = basis.at(t);
                    let sum: f64 = (0..=degree).map(|k| local.values[k] * greville[local.first + k]).sum();
                    worst = worst.max((sum - t).abs());
                }
            }
        }
        assert!(worst <= 4.5e-16, "{worst:e}");
    }

    /// Central differences of the values; the error of the difference is h² B''' / 6 with B''' up to a few thousand.
    #[test]
    fn slopes_are_derivatives_of_the_values() {
        let h = 1e-5;
        for degree in 1..=MAX_DEGREE {
            let basis = Basis::clamped_uniform(degree + 4, degree);
            for step in 1..60 {
                let t = f64::from(step) / 60.3;
                let (low, at, high) = (basis.at(t - h), basis.at(t), basis.at(t + h));
                if low.first == high.first {
                    for k in 0..=degree {
                        let difference = (high.values[k] - low.values[k]) / (2.0 * h);
                        assert!((difference - at.slopes[k]).abs() < 1e-6, "degree {degree} at {t}");
                    }
                }
            }
        }
    }
}
