//! Exact signs of determinants: the side of a plane or line on which a point lies.
//!
//! A floating-point evaluation almost always decides. Where its error bound is too large, the determinant is evaluated
//! without rounding as a sum of nonoverlapping doubles \[Shewchuk97\]. Valid as long as no product underflows or
//! overflows.

use sinew_math::Vec3;

/// a + b exactly, as (rounded sum, error).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_virtual = sum - a;
    (sum, (a - (sum - b_virtual)) + (b - b_virtual))
}

/// a · b exactly, as (rounded product, error).
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// An exact number: the sum of nonoverlapping doubles in increasing magnitude, zeros removed.
#[derive(Clone, Debug, Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    fn difference(a: f64, b: f64) -> Self {
        let (high, low) = two_sum(a, -b);
        let mut sum = Self::default();
        sum.add(low);
        sum.add(high);
        sum
    }

    fn add(&mut self, value: f64) {
        let mut carry = value;
        let mut kept = 0;
        for i in 0..self.0.len() {
            let (high, low) = two_sum(carry, self.0[i]);
            carry = high;
            if low != 0.0 {
                self.0[kept] = low;
                kept += 1;
            }
        }
        self.0.truncate(kept);
        if carry != 0.0 {
            self.0.push(carry);
        }
    }

    fn product(&self, other: &Self) -> Self {
        let mut product = Self::default();
        for a in &self.0 {
            for b in &other.0 {
                let (high, low) = two_product(*a, *b);
                product.add(low);
                product.add(high);
            }
        }
        product
    }

    fn minus(mut self, other: &Self) -> Self {
        for value in &other.0 {
            self.add(-value);
        }
        self
    }

    fn plus(mut self, other: &Self) -> Self {
        for value in &other.0 {
            self.add(*value);
        }
        self
    }

    /// The component of largest magnitude carries the sign.
    fn estimate(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
}

/// The determinant det\[b−a, c−a, d−a\] if its sign is certain despite rounding, otherwise zero.
#[inline]
pub(crate) fn orient3d_if_certain(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> f64 {
    let (u, v, w) = (b - a, c - a, d - a);
    let determinant = u.dot(v.cross(w));
    let permanent = (v.y * w.z).abs() * u.x.abs()
        + (v.z * w.y).abs() * u.x.abs()
        + ((v.z * w.x).abs() + (v.x * w.z).abs()) * u.y.abs()
        + ((v.x * w.y).abs() + (v.y * w.x).abs()) * u.z.abs();
    // Rounding of the differences, products and sums stays below 8e-16 of the permanent [Shewchuk97]; twice that is
    // safe.
    if determinant.abs() > 2e-15 * permanent { determinant } else { 0.0 }
}

/// A number with the exact sign of det\[b−a, c−a, d−a\]: positive if d lies on the side of the plane abc from which the
/// triangle appears counterclockwise.
pub(crate) fn orient3d(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> f64 {
    let determinant = orient3d_if_certain(a, b, c, d);
    if determinant != 0.0 {
        return determinant;
    }
    let column = |p: Vec3| [0, 1, 2].map(|i| Expansion::difference(p[i], a[i]));
    let (u, v, w) = (column(b), column(c), column(d));
    let minor = |i: usize, j: usize| v[i].product(&w[j]).minus(&v[j].product(&w[i]));
    u[0].product(&minor(1, 2)).plus(&u[1].product(&minor(2, 0))).plus(&u[2].product(&minor(0, 1))).estimate()
}

/// Twice the area of the planar triangle abc if its sign is certain despite rounding, otherwise zero.
#[inline]
pub(crate) fn orient2d_if_certain(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    let (left, right) = ((b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0]));
    let determinant = left - right;
    if determinant.abs() > 1e-15 * (left.abs() + right.abs()) { determinant } else { 0.0 }
}

/// A number with the exact sign of the area of the planar triangle abc: positive when counterclockwise.
pub(crate) fn orient2d(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    let determinant = orient2d_if_certain(a, b, c);
    if determinant != 0.0 {
        return determinant;
    }
    let d = Expansion::difference;
    let left = d(b[0], a[0]).product(&d(c[1], a[1]));
    left.minus(&d(b[1], a[1]).product(&d(c[0], a[0]))).estimate()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orientation_of_a_right_handed_tripod_is_positive() {
        let (a, b, c, d) = (Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2));
        assert!(orient3d(a, b, c, d) > 0.0);
        assert!(orient3d(a, c, b, d) < 0.0);
        assert!(orient2d([0.0, 0.0], [1.0, 0.0], [0.0, 1.0]) > 0.0);
    }

    /// Points of the plane x + y + z = 3 with few bits are exactly coplanar; one ulp off the plane must be detected.
    #[test]
    fn one_ulp_off_a_plane_is_seen() {
        let a = Vec3::new(0.5, 0.75, 1.75);
        let b = Vec3::new(12.0, -24.0, 15.0);
        let c = Vec3::new(-3.0, 4.5, 1.5);
        let d = Vec3::new(1.0, 0.25, 1.75);
        assert_eq!(orient3d(a, b, c, d), 0.0);
        let up = Vec3::new(1.0 + f64::EPSILON, 0.25, 1.75);
        let down = Vec3::new(1.0 - f64::EPSILON, 0.25, 1.75);
        assert!(orient3d(a, b, c, up) * orient3d(a, b, c, down) < 0.0);
    }

    /// Collinear points 1/3 apart are not exactly collinear in binary; the sign must still be antisymmetric.
    #[test]
    fn swapping_two_points_flips_the_sign_exactly() {
        let p = |t: f64| [0.1 + t * 0.3, 0.2 + t * 0.7];
        for i in 0..50 {
            let (a, b, c) = (p(0.0), p(1.0 / 3.0), p(f64::from(i) / 7.0));
            let (forward, backward) = (orient2d(a, b, c), orient2d(b, a, c));
            assert_eq!(forward > 0.0, backward < 0.0);
            assert_eq!(forward == 0.0, backward == 0.0);
        }
    }
}
