//! Largest eigenvalue of D⁻¹(K + A), which the smoother needs.

/// Lanczos steps of a first estimate. Power iteration would find the mode of the whole body and miss a single
/// compressed cell whose eigenvalue is a tenth larger: in twelve steps that mode grows by a factor of 3 there, by more
/// than 1000 here \[Lanczos50\].
pub(crate) const LANCZOS_STEPS: usize = 12;
/// Lanczos steps of later estimates, which refine a known value.
pub(crate) const NEXT_LANCZOS_STEPS: usize = 5;

/// The tridiagonal matrix built by conjugate gradients with preconditioner D. Its eigenvalues lie within the spectrum
/// of D⁻¹(K + A).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ritz {
    diagonal: [f64; LANCZOS_STEPS],
    /// Squared off-diagonal entries; the first is zero.
    beside: [f64; LANCZOS_STEPS],
    count: usize,
    last: [f64; 2],
}

impl Ritz {
    /// Adds one iteration: its step α = r·z / p·Ap, and β, the new r·z over the old.
    pub fn push(&mut self, alpha: f64, beta: f64) {
        let [last_alpha, last_beta] = self.last;
        let is_first = self.count == 0;
        self.diagonal[self.count] = 1.0 / alpha + if is_first { 0.0 } else { last_beta / last_alpha };
        self.beside[self.count] = if is_first { 0.0 } else { last_beta / (last_alpha * last_alpha) };
        self.last = [alpha, beta];
        self.count += 1;
    }

    /// The largest eigenvalue, by bisection.
    pub fn largest(&self) -> f64 {
        let row = |k: usize| {
            let next = if k + 1 < self.count { self.beside[k + 1] } else { 0.0 };
            self.diagonal[k] + self.beside[k].sqrt() + next.sqrt()
        };
        let (mut low, mut high) = (0.0, (0..self.count).map(row).fold(0.0, f64::max));
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if self.is_above(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// Whether all eigenvalues are below `value`: all pivots of the shifted matrix are negative.
    fn is_above(&self, value: f64) -> bool {
        let mut pivot = -1.0;
        (0..self.count).all(|k| {
            pivot = self.diagonal[k] - value - self.beside[k] / pivot;
            pivot < 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conjugate gradients on a diagonal matrix with this many distinct entries find the largest of them.
    #[test]
    fn conjugate_gradients_leave_the_largest_eigenvalue() {
        let entries: Vec<f64> = (1..=LANCZOS_STEPS).map(|k| k as f64 * 0.7).collect();
        let mut r = vec![1.0; entries.len()];
        let mut p = r.clone();
        let mut ritz = Ritz::default();
        assert_eq!(ritz.largest(), 0.0);
        for _ in 0..LANCZOS_STEPS {
            let before: f64 = r.iter().map(|r| r * r).sum();
            let alpha = before / p.iter().zip(&entries).map(|(p, e)| p * p * e).sum::<f64>();
            r.iter_mut().zip(&p).zip(&entries).for_each(|((r, p), e)| *r -= alpha * p * e);
            let beta = r.iter().map(|r| r * r).sum::<f64>() / before;
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + beta * *p);
            ritz.push(alpha, beta);
        }
        assert!((ritz.largest() - 0.7 * LANCZOS_STEPS as f64).abs() < 1e-9, "{}", ritz.largest());
    }
}
