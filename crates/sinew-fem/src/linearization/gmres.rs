//! Flexible GMRES for systems that are neither symmetric nor definite: the preconditioner may change from iteration to
//! iteration \[Saad93\].

use sinew_math::Vec3;
use sinew_math::krylov::{add_scaled, dot, norm};

/// Relative residual to reach: a few digits above rounding.
const TOLERANCE: f64 = 1e-13;
/// Relative residual to accept where rounding allows no better.
const ACCEPTED: f64 = 1e-10;
/// Iterations before a restart, and maximum number of restarts.
const RESTART: usize = 40;
const MAX_RESTARTS: usize = 5;

/// Solves A x = b from zero; returns the relative residual, as an error where it is too large.
///
/// `apply(v, out)` writes A v; `precondition(r, z)` writes an approximation of A⁻¹ r.
pub(super) fn gmres<E>(
    mut apply: impl FnMut(&[Vec3], &mut [Vec3]),
    mut precondition: impl FnMut(&[Vec3], &mut [Vec3]) -> Result<(), E>,
    b: &[Vec3],
    x: &mut [Vec3],
) -> Result<Result<f64, f64>, E> {
    x.fill(Vec3::zero());
    let size = norm(b);
    if size == 0.0 {
        return Ok(Ok(0.0));
    }
    let count = b.len();
    let mut residual = b.to_vec();
    let mut product = vec![Vec3::zero(); count];
    let mut best = 1.0;
    for _ in 0..=MAX_RESTARTS {
        let start = norm(&residual);
        let mut basis = vec![scaled(&residual, 1.0 / start)];
        let mut directions: Vec<Vec<Vec3>> = Vec::new();
        // Columns of the triangle R, the Givens rotations behind it, and the right-hand side.
        let (mut triangle, mut rotations, mut target) = (Vec::<Vec<f64>>::new(), Vec::new(), vec![start]);
        for k in 0..RESTART {
            let mut z = vec![Vec3::zero(); count];
            precondition(&basis[k], &mut z)?;
            apply(&z, &mut product);
            directions.push(z);
            let mut column: Vec<f64> = Vec::with_capacity(k + 2);
            for v in &basis {
                let share = dot(v, &product);
                add_scaled(&mut product, -share, v);
                column.push(share);
            }
            let left = norm(&product);
            column.push(left);
            for (i, &(cos, sin)) in rotations.iter().enumerate() {
                let (a, b): (f64, f64) = (column[i], column[i + 1]);
                (column[i], column[i + 1]) = (cos * a + sin * b, cos * b - sin * a);
            }
            let length = column[k].hypot(left);
            if !(length > 0.0) {
                directions.pop();
                break;
            }
            let (cos, sin) = (column[k] / length, left / length);
            rotations.push((cos, sin));
            column[k] = length;
            column.truncate(k + 1);
            triangle.push(column);
            let last = target[k];
            target[k] = cos * last;
            target.push(-sin * last);
            if target[k + 1].abs() <= TOLERANCE * size || left <= f64::EPSILON * length {
                break;
            }
            basis.push(scaled(&product, 1.0 / left));
        }
        let mut shares = vec![0.0; directions.len()];
        for i in (0..shares.len()).rev() {
            let known: f64 = (i + 1..shares.len()).map(|j| triangle[j][i] * shares[j]).sum();
            shares[i] = (target[i] - known) / triangle[i][i];
        }
        for (&share, direction) in shares.iter().zip(&directions) {
            add_scaled(x, share, direction);
        }
        apply(x, &mut product);
        for ((r, &b), &p) in residual.iter_mut().zip(b).zip(&product) {
            *r = b - p;
        }
        let relative = norm(&residual) / size;
        if !(relative > TOLERANCE) {
            return Ok(if relative.is_finite() { Ok(relative) } else { Err(relative) });
        }
        // A round that gains less than a digit has reached rounding, or the matrix is singular.
        if !(relative < 0.1 * best) {
            break;
        }
        best = relative;
    }
    let relative = norm(&residual) / size;
    Ok(if relative <= ACCEPTED { Ok(relative) } else { Err(relative) })
}

fn scaled(v: &[Vec3], factor: f64) -> Vec<Vec3> {
    v.iter().map(|&v| v * factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_math::Mat3;

    /// A chain of blocks that are neither symmetric nor definite.
    fn apply(v: &[Vec3], out: &mut [Vec3]) {
        let block = Mat3::new([[2.0, 1.0, 0.0], [-1.0, -3.0, 0.5], [0.3, 0.0, 4.0]]);
        for i in 0..v.len() {
            let next = if i + 1 < v.len() { v[i + 1] } else { Vec3::zero() };
            out[i] = block * v[i] + next * 0.7;
        }
    }

    #[test]
    fn systems_that_are_neither_symmetric_nor_definite_are_solved() {
        let wanted: Vec<Vec3> = (0..30).map(|i| Vec3::new(f64::from(i), 1.0, -0.5 * f64::from(i))).collect();
        let mut b = vec![Vec3::zero(); 30];
        apply(&wanted, &mut b);
        let mut x = b.clone();
        let none = |r: &[Vec3], z: &mut [Vec3]| -> Result<(), ()> {
            z.copy_from_slice(r);
            Ok(())
        };
        let left = gmres(apply, none, &b, &mut x).unwrap().unwrap();
        assert!(left < 1e-10, "{left}");
        // The condition number of these blocks is below ten.
        assert!((0..30).all(|i| (x[i] - wanted[i]).norm() < 1e-7), "{x:?}");
    }

    #[test]
    fn matrices_without_an_inverse_are_told() {
        let flat = |v: &[Vec3], out: &mut [Vec3]| {
            for (out, v) in out.iter_mut().zip(v) {
                *out = Vec3::new(v.x, v.y, 0.0);
            }
        };
        let none = |r: &[Vec3], z: &mut [Vec3]| -> Result<(), ()> {
            z.copy_from_slice(r);
            Ok(())
        };
        let b = vec![Vec3::new(1.0, 1.0, 1.0); 4];
        let mut x = b.clone();
        assert!(gmres(flat, none, &b, &mut x).unwrap().is_err());
    }
}
