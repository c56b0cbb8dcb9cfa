//! Stretch of the triangles of skin.
//!
//! A triangle with edges $`(e_1, e_2)`$ at rest and $`(d_1, d_2)`$ now is mapped by $`F = D E^{-1}`$ in its plane. Its
//! stretch is the larger singular value of $`F`$, the square root of the larger eigenvalue of $`C = F^T F`$.

use sinew_math::Vec3;

/// Fraction of the skin, by area at rest, that stays below the reported stretch.
const MOST: f64 = 0.99;

/// Singular values of the map of a triangle, the larger first; `None` for a triangle without area at rest.
pub(super) fn principal_stretches(rest: [Vec3; 3], now: [Vec3; 3]) -> Option<[f64; 2]> {
    let [e1, e2] = [rest[1] - rest[0], rest[2] - rest[0]];
    let [d1, d2] = [now[1] - now[0], now[2] - now[0]];
    // In the plane at rest with the first axis along e1: E = [[a, b], [0, c]].
    let a = e1.norm();
    let (b, c) = (e2.dot(e1) / a, e1.cross(e2).norm() / a);
    if !(a > 0.0 && c > 0.0 && b.is_finite() && c.is_finite()) {
        return None;
    }
    let f1 = d1 * (1.0 / a);
    let f2 = (d2 - f1 * b) * (1.0 / c);
    let (xx, xy, yy) = (f1.dot(f1), f1.dot(f2), f2.dot(f2));
    let (mean, radius) = (0.5 * (xx + yy), (0.5 * (xx - yy)).hypot(xy));
    let stretches = [(mean + radius).sqrt(), (mean - radius).max(0.0).sqrt()];
    stretches.iter().all(|stretch| stretch.is_finite()).then_some(stretches)
}

/// The skin of a body at rest.
pub(super) struct Skin {
    rest: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    areas: Vec<f64>,
    area: f64,
}

/// Stretches of all triangles of a skin; NaN where a triangle has no area at rest.
pub(super) struct Stretches {
    pub of_triangles: Vec<f64>,
    /// The stretch below which 99 % of the skin stays.
    pub most: f64,
    pub largest: f64,
    pub smallest: f64,
}

impl Skin {
    pub fn new(rest: Vec<Vec3>, triangles: &[[u32; 3]]) -> Self {
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| rest[v as usize]);
            0.5 * (b - a).cross(c - a).norm()
        };
        let areas: Vec<f64> = triangles.iter().map(area).collect();
        let area = areas.iter().sum();
        Self { rest, triangles: triangles.to_vec(), areas, area }
    }

    /// Vertices at rest \[m\].
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Stretches for the vertices at `now` \[m\].
    pub fn stretches(&self, now: &[Vec3]) -> Stretches {
        let stretch = |t: &[u32; 3]| {
            let corners = |places: &[Vec3]| t.map(|v| places[v as usize]);
            principal_stretches(corners(&self.rest), corners(now)).map_or(f64::NAN, |stretches| stretches[0])
        };
        let of_triangles: Vec<f64> = self.triangles.iter().map(stretch).collect();
        let known = || of_triangles.iter().copied().filter(|stretch| !stretch.is_nan());
        let (largest, smallest) = (known().fold(0.0, f64::max), known().fold(f64::INFINITY, f64::min));
        let most = self.quantile(&of_triangles);
        Stretches { of_triangles, most, largest, smallest: if smallest.is_finite() { smallest } else { 0.0 } }
    }

    /// The stretch below which this fraction of the area stays. Few triangles are above it: only those are sorted.
    fn quantile(&self, stretches: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..stretches.len()).filter(|&t| !stretches[t].is_nan()).collect();
        let descending = |a: &usize, b: &usize| stretches[*b].total_cmp(&stretches[*a]);
        let mut above = (1.0 - MOST) * self.area;
        let (mut rest, mut size) = (order.as_mut_slice(), stretches.len() / 32 + 1);
        while !rest.is_empty() {
            let (top, below) = if size < rest.len() {
                rest.select_nth_unstable_by(size, descending);
                rest.split_at_mut(size)
            } else {
                (rest, [].as_mut_slice())
            };
            top.sort_unstable_by(descending);
            for &mut triangle in top {
                above -= self.areas[triangle];
                if above < 0.0 {
                    return stretches[triangle];
                }
            }
            (rest, size) = (below, 2 * size);
        }
        1.0
    }

    /// Area-weighted means over the triangles around each vertex: colors without facets. One where undefined.
    pub fn at_vertices(&self, stretches: &[f64]) -> Vec<f32> {
        let mut sums = vec![[0.0; 2]; self.rest.len()];
        for ((triangle, &area), &stretch) in self.triangles.iter().zip(&self.areas).zip(stretches) {
            if !stretch.is_nan() {
                for &vertex in triangle {
                    let [sum, weight] = &mut sums[vertex as usize];
                    *sum += area * stretch;
                    *weight += area;
                }
            }
        }
        sums.iter().map(|[sum, weight]| if *weight > 0.0 { (sum / weight) as f32 } else { 1.0 }).collect()
    }
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
        let [large, small] = principal_stretches(TRIANGLE, moved).unwrap();
        assert!((large - 2.0).abs() < 1e-12 && (small - 1.0).abs() < 1e-12, "{large} {small}");
        let [large, small] = principal_stretches(TRIANGLE, TRIANGLE.map(|x| x * 0.5)).unwrap();
        assert!((large - 0.5).abs() < 1e-12 && (small - 0.5).abs() < 1e-12);
        // A simple shear by γ: σ₁ σ₂ = 1 and σ₁² + σ₂² = 2 + γ².
        let sheared = TRIANGLE.map(|x| Vec3::new(x.x + 0.8 * x.y, x.y, x.z));
        let [large, small] = principal_stretches(TRIANGLE, sheared).unwrap();
        assert!((large * small - 1.0).abs() < 1e-12 && (large * large + small * small - 2.64).abs() < 1e-12);
    }

    #[test]
    fn triangles_without_area_have_no_stretch() {
        let flat = [Vec3::zero(), Vec3::unit(0), Vec3::unit(0) * 2.0];
        assert_eq!(principal_stretches(flat, TRIANGLE), None);
        assert_eq!(principal_stretches([Vec3::zero(); 3], TRIANGLE), None);
        assert_eq!(principal_stretches(TRIANGLE, [Vec3::splat(f64::NAN); 3]), None);
        assert_eq!(principal_stretches(TRIANGLE, [Vec3::zero(); 3]), Some([0.0, 0.0]));
    }

    /// A strip of 200 equal triangles with one pulled out: less than 1 % of the area.
    #[test]
    fn slivers_do_not_decide_what_is_stretched_most() {
        let mut rest = Vec::new();
        let mut triangles = Vec::new();
        for k in 0..200u32 {
            let x = Vec3::unit(0) * (2.0 * f64::from(k));
            rest.extend([x, x + Vec3::unit(0), x + Vec3::unit(1)]);
            triangles.push([3 * k, 3 * k + 1, 3 * k + 2]);
        }
        let skin = Skin::new(rest.clone(), &triangles);
        let mut now: Vec<Vec3> = rest.iter().map(|x| Vec3::new(x.x, 1.25 * x.y, x.z)).collect();
        now[1] = now[0] + Vec3::unit(0) * 9.0;
        let stretches = skin.stretches(&now);
        assert!((stretches.largest - 9.0).abs() < 1e-12 && (stretches.most - 1.25).abs() < 1e-12);
        assert!((stretches.smallest - 1.25).abs() < 1e-12);
        let vertices = skin.at_vertices(&stretches.of_triangles);
        assert!((vertices[0] - 9.0).abs() < 1e-5 && (vertices[3] - 1.25).abs() < 1e-6);
        let nothing = Skin::new(Vec::new(), &[]).stretches(&[]);
        assert_eq!((nothing.most, nothing.largest, nothing.smallest), (1.0, 0.0, 0.0));
    }
}
