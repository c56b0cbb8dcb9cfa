//! The linear system of a morph.
//!
//! With K the kernel between landmarks and P their affine functions (1, x, y, z), K c + P a = t and Pᵀ c = 0. The columns
//! of N, orthonormal and perpendicular to P, make c = N d, and ± Nᵀ K N is positive definite (− for r, + for r³), so
//! that Cholesky's factors exist \[Carr01\].

use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};

use super::{Kernel, MorphError};

/// A pivot below this fraction of its diagonal entry is rounding.
const SINGULAR: f64 = 1e-14;

/// What the system gives.
pub(super) struct Solved {
    pub coefficients: Vec<Vec3>,
    pub linear: Mat3,
    pub constant: Vec3,
}

/// Reflections that triangulate the affine functions: P = H₀ H₁ H₂ H₃ R.
struct Reflections {
    /// Unit vectors; vector k is zero before entry k.
    vectors: [Vec<f64>; 4],
    /// Rows of R.
    upper: [[f64; 4]; 4],
}

/// Solves for landmarks that are centered and of size one.
pub(super) fn solve(from: &[Vec3], to: &[Vec3], kernel: Kernel) -> Result<Solved, MorphError> {
    let n = from.len();
    let sign = match kernel {
        Kernel::Biharmonic => -1.0,
        Kernel::Triharmonic => 1.0,
    };
    let value = |i: usize, j: usize| sign * kernel.value(from[i].distance(from[j]));
    let mut matrix: Vec<f64> = (0..n * n).into_par_iter().map(|at| value(at / n, at % n)).collect();
    let reflections = Reflections::new(from);
    // H K H, so that its last rows and columns are Nᵀ K N.
    reflections.apply_both(&mut matrix, n);
    let lower = Cholesky::new(&matrix, n)?;
    let mut solved = Solved { coefficients: vec![Vec3::zero(); n], linear: Mat3::zero(), constant: Vec3::zero() };
    for axis in 0..3 {
        let target: Vec<f64> = to.iter().map(|t| t[axis]).collect();
        let mut residual = target.clone();
        // The second pass takes away what rounding of the first has left.
        for _ in 0..3 {
            let (c, a) = one_pass(&reflections, &matrix, &lower, residual, sign);
            for (sum, c) in solved.coefficients.iter_mut().zip(&c) {
                sum[axis] += c;
            }
            solved.constant[axis] += a[0];
            for k in 0..3 {
                solved.linear[(axis, k)] += a[k + 1];
            }
            residual = residual_of(&solved, from, &target, kernel, axis);
        }
    }
    Ok(solved)
}

/// Coefficients of the kernel and of the affine functions for one right-hand side.
fn one_pass(h: &Reflections, matrix: &[f64], lower: &Cholesky, mut t: Vec<f64>, sign: f64) -> (Vec<f64>, [f64; 4]) {
    let n = t.len();
    h.apply(&mut t);
    let mut d: Vec<f64> = t[4..].to_vec();
    lower.solve_in_place(&mut d);
    let mut a = [0.0; 4];
    for row in (0..4).rev() {
        let coupled: f64 = matrix[row * n + 4..(row + 1) * n].iter().zip(&d).map(|(k, d)| k * d).sum();
        let known: f64 = (row + 1..4).map(|k| h.upper[row][k] * a[k]).sum();
        a[row] = (t[row] - coupled - known) / h.upper[row][row];
    }
    let mut c = vec![0.0; 4];
    c.extend(d.iter().map(|d| sign * d));
    h.apply_reversed(&mut c);
    (c, a)
}

/// t − m(s) at the landmarks, in one component.
fn residual_of(solved: &Solved, from: &[Vec3], target: &[f64], kernel: Kernel, axis: usize) -> Vec<f64> {
    from.par_iter()
        .zip(target)
        .map(|(x, target)| {
            let mut value = solved.constant[axis] + solved.linear.row(axis).dot(*x);
            for (s, c) in from.iter().zip(&solved.coefficients) {
                value += c[axis] * kernel.value(x.distance(*s));
            }
            target - value
        })
        .collect()
}

impl Reflections {
    fn new(points: &[Vec3]) -> Self {
        let column = |k: usize| points.iter().map(|x| if k == 0 { 1.0 } else { x[k - 1] }).collect::<Vec<f64>>();
        let mut columns = [column(0), column(1), column(2), column(3)];
        let mut vectors: [Vec<f64>; 4] = Default::default();
        let mut upper = [[0.0; 4]; 4];
        for k in 0..4 {
            let mut v = columns[k].clone();
            v[..k].fill(0.0);
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v[k] += if v[k] < 0.0 { -norm } else { norm };
            let scale = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter_mut().for_each(|x| *x /= scale);
            for (j, column) in columns.iter_mut().enumerate() {
                reflect(&v, column);
                upper[k][j] = column[k];
            }
            vectors[k] = v;
        }
        Self { vectors, upper }
    }

    /// H₃ H₂ H₁ H₀ x.
    fn apply(&self, x: &mut [f64]) {
        self.vectors.iter().for_each(|v| reflect(v, x));
    }

    /// H₀ H₁ H₂ H₃ x.
    fn apply_reversed(&self, x: &mut [f64]) {
        self.vectors.iter().rev().for_each(|v| reflect(v, x));
    }

    /// The same to rows and columns of a symmetric matrix.
    fn apply_both(&self, matrix: &mut [f64], n: usize) {
        matrix.par_chunks_mut(n).for_each(|row| self.apply(row));
        for v in &self.vectors {
            let mut sums = vec![0.0; n];
            for (row, v) in matrix.chunks(n).zip(v) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += v * x);
            }
            for (row, v) in matrix.chunks_mut(n).zip(v) {
                row.iter_mut().zip(&sums).for_each(|(x, sum)| *x -= 2.0 * v * sum);
            }
        }
    }
}

/// x − 2 v (v · x).
fn reflect(v: &[f64], x: &mut [f64]) {
    let twice = 2.0 * v.iter().zip(x.iter()).map(|(v, x)| v * x).sum::<f64>();
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= twice * v);
}

/// Factor L of the block of a matrix without its first four rows and columns, by rows.
struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Column by column: the entries of a column depend on earlier columns only, so its rows are found side by side.
    fn new(matrix: &[f64], n: usize) -> Result<Self, MorphError> {
        let size = n - 4;
        let mut rows: Vec<Vec<f64>> =
            (0..size).map(|i| matrix[(i + 4) * n + 4..(i + 4) * n + 5 + i].to_vec()).collect();
        for column in 0..size {
            let (_, rest) = rows.split_at_mut(column);
            let (pivot_row, rest) = rest.split_first_mut().expect("column is below size");
            let diagonal = pivot_row[column];
            let pivot = diagonal - dot(&pivot_row[..column], &pivot_row[..column]);
            if !(pivot > SINGULAR * diagonal.abs()) {
                return Err(MorphError::Singular { landmark: column + 4 });
            }
            let root = pivot.sqrt();
            pivot_row[column] = root;
            let pivot_row = &*pivot_row;
            let eliminate = |row: &mut Vec<f64>| {
                row[column] = (row[column] - dot(&row[..column], &pivot_row[..column])) / root;
            };
            // Short columns do not pay for threads.
            if column * rest.len() > 100_000 {
                rest.par_iter_mut().with_min_len(64).for_each(eliminate);
            } else {
                rest.iter_mut().for_each(eliminate);
            }
        }
        Ok(Self { rows })
    }

    fn solve_in_place(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for (i, row) in self.rows.iter().enumerate().rev() {
            x[i] /= row[i];
            let value = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= l * value);
        }
    }
}

/// a · b with four sums side by side, in a fixed order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    sinew_math::parallel::sum_interleaved(0..a.len(), |i| a[i] * b[i])
}
