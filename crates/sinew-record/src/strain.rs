//! Strain of a triangle of skin.
//!
//! A triangle with edges $`(e_1, e_2)`$ at rest and $`(d_1, d_2)`$ now is mapped by $`F = D E^{-1}`$ in its plane. Its
//! principal stretches are the singular values of $`F`$, the square roots of the eigenvalues of $`C = F^T F`$.

use sinew_math::Vec3;

/// How a triangle has changed since rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Strain {
    /// Principal stretches, the larger first; their product is the ratio of areas.
    pub stretches: [f64; 2],
    /// The direction of the smaller one, as it is now: unit length, either sign; zero if it has no length now.
    pub shortest: Vec3,
}

/// A triangle at rest, to compare with many states: in its plane with the first axis along e₁, E = [[a, b], [0, c]].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestTriangle {
    inverse_a: f64,
    b: f64,
    inverse_c: f64,
}

impl RestTriangle {
    /// `None` without area.
    pub fn of(rest: [Vec3; 3]) -> Option<Self> {
        let [e1, e2] = [rest[1] - rest[0], rest[2] - rest[0]];
        let a = e1.norm();
        let (b, c) = (e2.dot(e1) / a, e1.cross(e2).norm() / a);
        (a > 0.0 && c > 0.0 && b.is_finite() && c.is_finite()).then(|| Self {
            inverse_a: 1.0 / a,
            b,
            inverse_c: 1.0 / c,
        })
    }

    /// The columns of F.
    #[inline(always)]
    fn gradient(&self, now: [Vec3; 3]) -> [Vec3; 2] {
        let [d1, d2] = [now[1] - now[0], now[2] - now[0]];
        let f1 = d1 * self.inverse_a;
        [f1, (d2 - f1 * self.b) * self.inverse_c]
    }

    /// The larger principal stretch; NaN or infinite where the triangle is.
    #[inline(always)]
    pub fn largest_stretch(&self, now: [Vec3; 3]) -> f64 {
        let [f1, f2] = self.gradient(now);
        let (xx, xy, yy) = (f1.dot(f1), f1.dot(f2), f2.dot(f2));
        let half = 0.5 * (xx - yy);
        (0.5 * (xx + yy) + (half * half + xy * xy).sqrt()).sqrt()
    }
}

/// The strain of a triangle; `None` without area at rest.
pub(crate) fn strain(rest: [Vec3; 3], now: [Vec3; 3]) -> Option<Strain> {
    let [f1, f2] = RestTriangle::of(rest)?.gradient(now);
    let (xx, xy, yy) = (f1.dot(f1), f1.dot(f2), f2.dot(f2));
    let (mean, radius) = (0.5 * (xx + yy), (0.5 * (xx - yy)).hypot(xy));
    let stretches = [(mean + radius).sqrt(), (mean - radius).max(0.0).sqrt()];
    if !stretches.iter().all(|stretch| stretch.is_finite()) {
        return None;
    }
    let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    let along = f2 * cos - f1 * sin;
    let length = along.norm();
    let shortest = if length > 0.0 { along * (1.0 / length) } else { Vec3::zero() };
    Some(Strain { stretches, shortest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: [Vec3; 3] = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(1.4, 0.1, 0.3), Vec3::new(0.6, 1.5, 0.3)];

    /// diag(2, 1) in the plane, and then any rotation, has the singular values 2 and 1.
    #[test]
    fn a_triangle_stretched_by_two_in_one_direction() {
        let angle = 0.7f64;
        let moved = TRIANGLE.map(|x| {
            let (x, y) = (2.0 * x.x, x.y);
            Vec3::new(0.5, x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos() - 3.0)
        });
        let Strain { stretches: [large, small], shortest } = strain(TRIANGLE, moved).unwrap();
        assert!((large - 2.0).abs() < 1e-12 && (small - 1.0).abs() < 1e-12, "{large} {small}");
        assert!((RestTriangle::of(TRIANGLE).unwrap().largest_stretch(moved) - 2.0).abs() < 1e-12);
        // The y axis, turned.
        assert!((shortest.dot(Vec3::new(0.0, -angle.sin(), angle.cos())).abs() - 1.0).abs() < 1e-12);
        let [large, small] = strain(TRIANGLE, TRIANGLE.map(|x| x * 0.5)).unwrap().stretches;
        assert!((large - 0.5).abs() < 1e-12 && (small - 0.5).abs() < 1e-12);
        // A simple shear by γ: σ₁ σ₂ = 1 and σ₁² + σ₂² = 2 + γ².
        let sheared = TRIANGLE.map(|x| Vec3::new(x.x + 0.8 * x.y, x.y, x.z));
        let [large, small] = strain(TRIANGLE, sheared).unwrap().stretches;
        assert!((large * small - 1.0).abs() < 1e-12 && (large * large + small * small - 2.64).abs() < 1e-12);
    }

    #[test]
    fn triangles_without_area_have_no_strain() {
        let flat = [Vec3::zero(), Vec3::unit(0), Vec3::unit(0) * 2.0];
        assert_eq!(strain(flat, TRIANGLE), None);
        assert_eq!(strain([Vec3::zero(); 3], TRIANGLE), None);
        assert_eq!(strain(TRIANGLE, [Vec3::splat(f64::NAN); 3]), None);
        let gone = Strain { stretches: [0.0; 2], shortest: Vec3::zero() };
        assert_eq!(strain(TRIANGLE, [Vec3::zero(); 3]), Some(gone));
    }
}
