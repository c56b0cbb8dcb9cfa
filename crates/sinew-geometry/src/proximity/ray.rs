//! Rays against triangles.

use sinew_math::Vec3;

/// Distance from `from` along `direction` to a triangle \[lengths of `direction`\]; `None` where the ray misses it, runs
/// in its plane or starts on it.
///
/// Solves o + t d = a + β (b − a) + γ (c − a) by Cramer's rule \[Moller97\].
pub fn ray_triangle(from: Vec3, direction: Vec3, [a, b, c]: [Vec3; 3]) -> Option<f64> {
    let (u, v) = (b - a, c - a);
    let across = direction.cross(v);
    let determinant = u.dot(across);
    if determinant == 0.0 {
        return None;
    }
    let offset = from - a;
    let beta = offset.dot(across) / determinant;
    let around = offset.cross(u);
    let gamma = direction.dot(around) / determinant;
    let distance = v.dot(around) / determinant;
    (beta >= 0.0 && gamma >= 0.0 && beta + gamma <= 1.0 && distance > 0.0).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNERS: [Vec3; 3] = [Vec3::new(0.0, 0.0, 1.0), Vec3::new(1.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 1.0)];

    #[test]
    fn a_ray_meets_a_triangle_before_it_within_its_edges() {
        let up = Vec3::new(0.0, 0.0, 2.0);
        assert_eq!(ray_triangle(Vec3::new(0.25, 0.25, 0.0), up, CORNERS), Some(0.5));
        assert_eq!(ray_triangle(Vec3::new(0.25, 0.25, 0.0), -up, CORNERS), None);
        assert_eq!(ray_triangle(Vec3::new(0.75, 0.75, 0.0), up, CORNERS), None);
        assert_eq!(ray_triangle(Vec3::new(-0.1, 0.25, 0.0), up, CORNERS), None);
        assert_eq!(ray_triangle(Vec3::new(0.25, 0.25, 1.0), Vec3::new(1.0, 0.0, 0.0), CORNERS), None);
    }
}
