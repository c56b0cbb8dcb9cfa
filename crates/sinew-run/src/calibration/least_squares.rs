//! Nonlinear least squares by Levenberg–Marquardt \[Marquardt63\], and the uncertainty of the result.
//!
//! ```math
//! (J^T J + \lambda\, \mathrm{diag}\, J^T J)\, \delta = -J^T r, \qquad C = \frac{|r|^2}{n - p} (J^T J)^{-1}
//! ```
//!
//! with the residuals r of n measurements and p parameters, and the covariance C of the parameters at the minimum.

/// Residuals and their derivatives by the parameters.
#[derive(Clone, Debug)]
pub(super) struct Evaluation {
    /// One value per measurement.
    pub residuals: Vec<f64>,
    /// One column per parameter.
    pub columns: Vec<Vec<f64>>,
}

impl Evaluation {
    /// |r|².
    pub fn squares(&self) -> f64 {
        dot(&self.residuals, &self.residuals)
    }
}

/// A minimum.
#[derive(Clone, Debug)]
pub(super) struct Minimum {
    pub parameters: Vec<f64>,
    pub evaluation: Evaluation,
    /// Accepted steps.
    pub iterations: usize,
    /// Standard deviations of the parameters.
    pub deviations: Vec<f64>,
    /// Correlation of each pair of parameters.
    pub correlation: Vec<Vec<f64>>,
}

/// Why there is no minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degenerate {
    /// No measurement depends on this parameter.
    Insensitive(usize),
    /// This parameter can be replaced by others before it.
    Dependent(usize),
}

/// Maximum number of accepted steps. Quadratic convergence needs fewer than ten from a good start.
const MAX_ITERATIONS: usize = 60;
/// Steps below this end the search; far below any uncertainty of a measurement.
const SMALLEST_STEP: f64 = 1e-9;
/// Damping above which no step helps.
const MAX_DAMPING: f64 = 1e12;
/// Squared sine between a column of J and those before it, below which the parameters cannot be told apart.
const SMALLEST_PIVOT: f64 = 1e-10;

/// Minimizes |r|² from `start`, where `evaluation` belongs. `evaluate` returns `None` where there are no residuals, for
/// example beyond the range of a parameter; `accept` is told of every accepted step.
pub(super) fn minimize<E>(
    start: Vec<f64>,
    evaluation: Evaluation,
    mut evaluate: impl FnMut(&[f64]) -> Result<Option<Evaluation>, E>,
    mut accept: impl FnMut(usize, &[f64], &Evaluation),
) -> Result<Result<Minimum, Degenerate>, E> {
    let (mut parameters, mut evaluation) = (start, evaluation);
    let (mut damping, mut iterations) = (1e-3, 0);
    while iterations < MAX_ITERATIONS {
        let scaled = match Scaled::new(&evaluation.columns) {
            Ok(scaled) => scaled,
            Err(degenerate) => return Ok(Err(degenerate)),
        };
        let slope = scaled.times_transpose(&evaluation);
        let step = scaled.step(&slope, damping);
        let next: Vec<f64> = parameters.iter().zip(&step).map(|(value, step)| value + step).collect();
        let size = step.iter().fold(0.0, |most: f64, step| most.max(step.abs()));
        let better = evaluate(&next)?.filter(|next| next.squares() <= evaluation.squares());
        match better {
            Some(better) => {
                (parameters, evaluation, damping) = (next, better, (0.1 * damping).max(1e-12));
                iterations += 1;
                accept(iterations, &parameters, &evaluation);
            }
            None => damping *= 10.0,
        }
        if size < SMALLEST_STEP || damping > MAX_DAMPING {
            break;
        }
    }
    let (deviations, correlation) =
        match Scaled::new(&evaluation.columns).and_then(|scaled| scaled.uncertainty(&evaluation)) {
            Ok(found) => found,
            Err(degenerate) => return Ok(Err(degenerate)),
        };
    Ok(Ok(Minimum { parameters, evaluation, iterations, deviations, correlation }))
}

/// JᵀJ with a unit diagonal, and the lengths of the columns of J.
struct Scaled {
    matrix: Vec<Vec<f64>>,
    lengths: Vec<f64>,
}

impl Scaled {
    fn new(columns: &[Vec<f64>]) -> Result<Self, Degenerate> {
        let lengths: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
        // A column that is nothing but rounding beside the residuals is no information.
        if let Some(flat) = lengths.iter().position(|length| !(*length > 1e-12)) {
            return Err(Degenerate::Insensitive(flat));
        }
        let entry = |i: usize, j: usize| dot(&columns[i], &columns[j]) / (lengths[i] * lengths[j]);
        let matrix = (0..columns.len()).map(|i| (0..columns.len()).map(|j| entry(i, j)).collect()).collect();
        Ok(Self { matrix, lengths })
    }

    fn times_transpose(&self, evaluation: &Evaluation) -> Vec<f64> {
        let columns = evaluation.columns.iter().zip(&self.lengths);
        columns.map(|(column, length)| dot(column, &evaluation.residuals) / length).collect()
    }

    fn step(&self, slope: &[f64], damping: f64) -> Vec<f64> {
        let mut matrix = self.matrix.clone();
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] += damping;
        }
        let down: Vec<f64> = slope.iter().map(|value| -value).collect();
        let step = factor(&matrix).map_or_else(|_| down.clone(), |factor| solve(&factor, &down));
        step.iter().zip(&self.lengths).map(|(value, length)| value / length).collect()
    }

    /// Standard deviations and correlations.
    fn uncertainty(&self, evaluation: &Evaluation) -> Result<(Vec<f64>, Vec<Vec<f64>>), Degenerate> {
        let count = self.lengths.len();
        let factor = factor(&self.matrix).map_err(Degenerate::Dependent)?;
        let unit = |k: usize| (0..count).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
        let inverse: Vec<Vec<f64>> = (0..count).map(|k| solve(&factor, &unit(k))).collect();
        let variance = evaluation.squares() / (evaluation.residuals.len() - count) as f64;
        let deviations = (0..count).map(|k| (variance * inverse[k][k]).sqrt() / self.lengths[k]).collect();
        let correlation = |i: usize, j: usize| inverse[i][j] / (inverse[i][i] * inverse[j][j]).sqrt();
        Ok((deviations, (0..count).map(|i| (0..count).map(|j| correlation(i, j)).collect()).collect()))
    }
}

/// The lower Cholesky factor of a matrix with a unit diagonal; the error is the column that depends on those before it.
fn factor(matrix: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, usize> {
    let count = matrix.len();
    let mut lower = vec![vec![0.0; count]; count];
    for i in 0..count {
        for j in 0..=i {
            let rest = matrix[i][j] - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
            if i != j {
                lower[i][j] = rest / lower[j][j];
            } else if rest > SMALLEST_PIVOT {
                lower[i][i] = rest.sqrt();
            } else {
                return Err(i);
            }
        }
    }
    Ok(lower)
}

fn solve(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let count = right.len();
    let mut x = right.to_vec();
    for i in 0..count {
        x[i] = (x[i] - (0..i).map(|k| lower[i][k] * x[k]).sum::<f64>()) / lower[i][i];
    }
    for i in (0..count).rev() {
        x[i] = (x[i] - (i + 1..count).map(|k| lower[k][i] * x[k]).sum::<f64>()) / lower[i][i];
    }
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Quantile t of Student's distribution, for which P(|T| < t) = `probability`, by bisection of its closed form for whole
/// degrees of freedom ν. With θ = arctan(t/√ν),
///
/// ```math
/// P = \begin{cases}
///   \frac2\pi \bigl(\theta + \sin\theta (\cos\theta + \frac23 \cos^3\theta + \frac{2 \cdot 4}{3 \cdot 5} \cos^5\theta + \dots)\bigr) & \nu \text{ odd} \\
///   \sin\theta \bigl(1 + \frac12 \cos^2\theta + \frac{1 \cdot 3}{2 \cdot 4} \cos^4\theta + \dots\bigr) & \nu \text{ even}
/// \end{cases}
/// ```
///
/// with powers up to ν − 2.
pub(super) fn student(probability: f64, freedom: usize) -> f64 {
    // Beyond this the normal distribution is as good.
    let freedom = freedom.clamp(1, 2000);
    let within = |t: f64| {
        let theta = (t / (freedom as f64).sqrt()).atan();
        let (sine, cosine) = theta.sin_cos();
        let first = freedom % 2;
        let mut term = if first == 1 { cosine } else { 1.0 };
        let mut sum = if freedom == 1 { 0.0 } else { term };
        for power in (first + 2..=freedom.saturating_sub(2)).step_by(2) {
            term *= cosine * cosine * (power - 1) as f64 / power as f64;
            sum += term;
        }
        if first == 1 { std::f64::consts::FRAC_2_PI * (theta + sine * sum) } else { sine * sum }
    };
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if within(middle) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals of a·exp(b·x) against values, with derivatives.
    fn exponential(values: &[f64], [a, b]: [f64; 2]) -> Evaluation {
        let x = |k: usize| k as f64 / 10.0;
        let count = values.len();
        Evaluation {
            residuals: (0..count).map(|k| a * (b * x(k)).exp() - values[k]).collect(),
            columns: vec![
                (0..count).map(|k| (b * x(k)).exp()).collect(),
                (0..count).map(|k| a * x(k) * (b * x(k)).exp()).collect(),
            ],
        }
    }

    fn fitted(values: &[f64]) -> Minimum {
        let evaluate = |p: &[f64]| Ok::<_, ()>(Some(exponential(values, [p[0], p[1]])));
        let start = vec![1.0, 0.0];
        minimize(start.clone(), exponential(values, [1.0, 0.0]), evaluate, |_, _, _| {}).unwrap().unwrap()
    }

    #[test]
    fn exact_data_return_their_parameters() {
        let values: Vec<f64> = (0..12).map(|k| 2.5 * (0.7 * k as f64 / 10.0).exp()).collect();
        let minimum = fitted(&values);
        assert!((minimum.parameters[0] - 2.5).abs() < 1e-9 && (minimum.parameters[1] - 0.7).abs() < 1e-9);
        assert!(minimum.deviations.iter().all(|deviation| *deviation < 1e-9));
    }

    /// Of 400 intervals of 95 %, some 380 contain the truth; the bounds are five standard deviations √(400·0.95·0.05) = 4.4.
    #[test]
    fn intervals_cover_the_truth_as_often_as_they_promise() {
        let mut seed = 7u64;
        let mut uniform = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        // The sum of twelve uniform numbers is close to a normal one.
        let mut noise = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let quantile = student(0.95, 10);
        let mut covered = [0; 2];
        for _ in 0..400 {
            let values: Vec<f64> = (0..12).map(|k| 2.5 * (0.7 * k as f64 / 10.0).exp() + 0.05 * noise()).collect();
            let minimum = fitted(&values);
            for (k, truth) in [2.5, 0.7].into_iter().enumerate() {
                let error = (minimum.parameters[k] - truth).abs();
                covered[k] += usize::from(error < quantile * minimum.deviations[k]);
            }
        }
        assert!(covered.iter().all(|count| (358..=400).contains(count)), "{covered:?}");
    }

    #[test]
    fn what_cannot_be_determined_is_named() {
        let flat = Evaluation { residuals: vec![1.0; 4], columns: vec![vec![1.0; 4], vec![0.0; 4]] };
        let same = Evaluation { residuals: vec![1.0; 4], columns: vec![vec![1.0; 4], vec![2.0; 4]] };
        for (evaluation, expected) in [(flat, Degenerate::Insensitive(1)), (same, Degenerate::Dependent(1))] {
            let found = minimize(vec![0.0; 2], evaluation, |_| Ok::<_, ()>(None), |_, _, _| {}).unwrap();
            assert_eq!(found.unwrap_err(), expected);
        }
    }

    /// Values of printed tables.
    #[test]
    fn quantiles_of_student_are_those_of_tables() {
        for (freedom, expected) in [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (30, 2.042), (1000, 1.962)] {
            assert!((student(0.95, freedom) - expected).abs() < 1e-3, "{freedom}: {}", student(0.95, freedom));
        }
    }
}
