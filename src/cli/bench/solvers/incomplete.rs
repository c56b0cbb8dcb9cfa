//! Conjugate gradients with an incomplete block Cholesky factor in the pattern of the matrix, as a baseline for
//! multigrid.

use sinew_math::sparse::BlockCsr;
use sinew_math::{Mat3, Vec3};

/// Fraction of the diagonal added if a pivot is not positive, and how often it grows tenfold.
const FIRST_SHIFT: f64 = 1e-3;
const SHIFTS: usize = 4;
/// Maximum number of iterations.
const MAX_ITERATIONS: usize = 20_000;

/// A ≈ L D Lᵀ with unit blocks on the diagonal of L.
pub struct IncompleteFactor {
    /// Rows of L below the diagonal: columns and blocks.
    starts: Vec<usize>,
    columns: Vec<u32>,
    lower: Vec<Mat3>,
    inverses: Vec<Mat3>,
}

impl IncompleteFactor {
    pub fn new(matrix: &BlockCsr<f64>) -> Result<Self, String> {
        let mut shift = 0.0;
        for _ in 0..=SHIFTS {
            if let Some(factor) = Self::try_new(matrix, shift) {
                return Ok(factor);
            }
            shift = if shift == 0.0 { FIRST_SHIFT } else { 10.0 * shift };
        }
        Err("the incomplete factorization breaks down".into())
    }

    /// Row by row: L_ij D_j = A_ij − Σ_k L_ik D_k L_jkᵀ where all three blocks are in the pattern.
    fn try_new(matrix: &BlockCsr<f64>, shift: f64) -> Option<Self> {
        let pattern = matrix.pattern();
        let count = pattern.node_count();
        let (mut starts, mut columns, mut lower) = (vec![0], Vec::<u32>::new(), Vec::<Mat3>::new());
        let (mut pivots, mut inverses) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for row in 0..count {
            let begin = columns.len();
            for slot in pattern.row(row).start..pattern.diagonal_slot(row) {
                let column = pattern.columns()[slot];
                let mut block = matrix.values()[slot];
                // Both rows are sorted by column.
                let (mut i, mut j) = (begin, starts[column as usize]);
                while i < columns.len() && j < starts[column as usize + 1] {
                    match columns[i].cmp(&columns[j]) {
                        std::cmp::Ordering::Less => i += 1,
                        std::cmp::Ordering::Greater => j += 1,
                        std::cmp::Ordering::Equal => {
                            let pivot: Mat3 = pivots[columns[i] as usize];
                            block -= lower[i] * pivot * lower[j].transpose();
                            (i, j) = (i + 1, j + 1);
                        }
                    }
                }
                let inverse: Mat3 = inverses[column as usize];
                columns.push(column);
                lower.push(block * inverse);
            }
            let own = *matrix.diagonal_block(row);
            let mut pivot = own + Mat3::identity() * (shift * own.trace() / 3.0);
            for k in begin..columns.len() {
                let other: Mat3 = pivots[columns[k] as usize];
                pivot -= lower[k] * other * lower[k].transpose();
            }
            let is_definite = pivot.rows[0][0] > 0.0
                && pivot.rows[0][0] * pivot.rows[1][1] > pivot.rows[0][1] * pivot.rows[1][0]
                && pivot.determinant() > 0.0;
            if !is_definite {
                return None;
            }
            inverses.push(pivot.inverse());
            pivots.push(pivot);
            starts.push(columns.len());
        }
        Some(Self { starts, columns, lower, inverses })
    }

    /// z = (L D Lᵀ)⁻¹ r.
    fn solve(&self, r: &[Vec3], z: &mut [Vec3]) {
        z.copy_from_slice(r);
        for row in 0..z.len() {
            for k in self.starts[row]..self.starts[row + 1] {
                let above = z[self.columns[k] as usize];
                z[row] -= self.lower[k] * above;
            }
        }
        for (z, inverse) in z.iter_mut().zip(&self.inverses) {
            *z = *inverse * *z;
        }
        for row in (0..z.len()).rev() {
            for k in self.starts[row]..self.starts[row + 1] {
                let below = z[row];
                z[self.columns[k] as usize] -= self.lower[k].transpose() * below;
            }
        }
    }
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    sinew_math::krylov::dot(a, b)
}

fn largest(v: &[Vec3]) -> f64 {
    v.iter().map(|v| v.abs().max_component()).fold(0.0, f64::max)
}

/// Iterations until the largest component of the residual is `tolerance` times its initial value.
pub fn conjugate_gradients(
    matrix: &BlockCsr<f64>,
    factor: &IncompleteFactor,
    b: &[Vec3],
    tolerance: f64,
) -> Result<usize, String> {
    let mut r = b.to_vec();
    let [mut z, mut p, mut q] = [(); 3].map(|()| vec![Vec3::zero(); b.len()]);
    let (goal, mut before) = (tolerance * largest(b), f64::INFINITY);
    for iteration in 1..=MAX_ITERATIONS {
        factor.solve(&r, &mut z);
        let rz = dot(&r, &z);
        p.iter_mut().zip(&z).for_each(|(p, &z)| *p = *p * (rz / before) + z);
        before = rz;
        matrix.multiply(&p, &mut q);
        let step = rz / dot(&p, &q);
        r.iter_mut().zip(&q).for_each(|(r, &q)| *r -= q * step);
        if largest(&r) <= goal {
            return Ok(iteration);
        }
    }
    Err(format!("relative residual {:.1e} after {MAX_ITERATIONS} iterations", largest(&r) / largest(b)))
}
