//! Closest points of a point and a triangle and of two edges: minimize |Σ wᵢ xᵢ| over the weights inside both.
//!
//! Both problems are least squares with two unknowns in a convex set, min |r + s u − t v|. Either the free minimum lies
//! inside the set, or the minimum lies on its boundary, which consists of segments and endpoints. The free minimum is
//! found by orthogonalization (QR), not from the normal equations: its distance is then exact to a few roundings of the
//! lengths even if u and v are parallel up to rounding and s, t themselves are noise. If rounding pushes noisy
//! parameters out of the set, convexity puts a point of equal distance on the boundary, which is searched completely.

use sinew_math::Vec3;

/// The closest points of two primitives as weights on their four vertices.
///
/// difference = Σ weights\[i\] x\[i\] = (point on the first) − (point on the second)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// Weights of the vertices: those of the first primitive sum to 1, those of the second to −1.
    pub weights: [f64; 4],
    /// Vector from the second primitive to the first \[m\].
    pub difference: Vec3,
    /// Squared distance \[m²\].
    pub distance_squared: f64,
}

impl Closest {
    #[inline(always)]
    fn new(weights: [f64; 4], difference: Vec3) -> Self {
        Self { weights, difference, distance_squared: difference.norm_squared() }
    }

    /// The closer of two; the first if they are equal.
    #[inline(always)]
    fn or_nearer(self, other: Self) -> Self {
        if other.distance_squared < self.distance_squared { other } else { self }
    }
}

/// 1 / x for positive x, zero for zero: parameters along a degenerate primitive become zero.
#[inline(always)]
fn inverse_or_zero(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

/// The free minimum (s, t) of |r + s u − t v|, where `inverse_uu` is 1/u² or zero; NaN or infinite where u and v are
/// parallel.
#[inline(always)]
fn free_minimum(r: Vec3, u: Vec3, v: Vec3, inverse_uu: f64) -> (f64, f64) {
    let (ru, uv) = (r.dot(u) * inverse_uu, u.dot(v) * inverse_uu);
    let (r_across, v_across) = (r - u * ru, v - u * uv);
    let t = r_across.dot(v_across) / v_across.norm_squared();
    (t * uv - ru, t)
}

/// Closest points of the point p and the triangle abc, x = \[p, a, b, c\]; weights \[1, −wa, −wb, −wc\] with w ≥ 0, Σ
/// w = 1.
#[inline]
pub fn point_triangle(x: [Vec3; 4]) -> Closest {
    let [p, a, b, c] = x;
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (ab_ab, ac_ac) = (ab.norm_squared(), ac.norm_squared());
    let inverse_ab = inverse_or_zero(ab_ab);
    // p − (a + wb ab + wc ac) = ap + s ab − t ac with s = −wb, t = wc.
    let (s, wc) = free_minimum(ap, ab, ac, inverse_ab);
    let wb = -s;
    let wa = 1.0 - wb - wc;
    if wa >= 0.0 && wb >= 0.0 && wc >= 0.0 {
        return Closest::new([1.0, -wa, -wb, -wc], ap - ab * wb - ac * wc);
    }
    let (bc, bp) = (c - b, p - b);
    let on_ab = (ap.dot(ab) * inverse_ab).clamp(0.0, 1.0);
    let on_ac = (ap.dot(ac) * inverse_or_zero(ac_ac)).clamp(0.0, 1.0);
    let on_bc = (bp.dot(bc) * inverse_or_zero(bc.norm_squared())).clamp(0.0, 1.0);
    Closest::new([1.0, on_ab - 1.0, -on_ab, 0.0], ap - ab * on_ab)
        .or_nearer(Closest::new([1.0, on_ac - 1.0, 0.0, -on_ac], ap - ac * on_ac))
        .or_nearer(Closest::new([1.0, 0.0, on_bc - 1.0, -on_bc], bp - bc * on_bc))
}

/// Closest points of the edges ab and cd, x = \[a, b, c, d\]; weights \[1 − s, s, −(1 − t), −t\] with s, t in \[0, 1\].
///
/// For parallel edges that overlap, returns one of the closest pairs.
#[inline]
pub fn edge_edge(x: [Vec3; 4]) -> Closest {
    let [a, b, c, d] = x;
    let (u, v, r) = (b - a, d - c, a - c);
    let inverse_uu = inverse_or_zero(u.norm_squared());
    let at = |s: f64, t: f64| Closest::new([1.0 - s, s, t - 1.0, -t], r + u * s - v * t);
    let (s, t) = free_minimum(r, u, v, inverse_uu);
    if (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t) {
        return at(s, t);
    }
    // The boundary: each end against the other edge.
    let inverse_vv = inverse_or_zero(v.norm_squared());
    let (ru, rv, uv) = (r.dot(u), r.dot(v), u.dot(v));
    at(0.0, (rv * inverse_vv).clamp(0.0, 1.0))
        .or_nearer(at(1.0, ((rv + uv) * inverse_vv).clamp(0.0, 1.0)))
        .or_nearer(at((-ru * inverse_uu).clamp(0.0, 1.0), 0.0))
        .or_nearer(at(((uv - ru) * inverse_uu).clamp(0.0, 1.0), 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proximity::random::Random;

    fn combine(weights: [f64; 4], x: [Vec3; 4]) -> Vec3 {
        (0..4).map(|i| x[i] * weights[i]).sum()
    }

    fn size(x: [Vec3; 4]) -> f64 {
        x.iter().map(|p| p.distance(x[0])).fold(0.0, f64::max)
    }

    /// Checks that the weights belong to the primitives and give the difference, and that no pair of points is closer.
    ///
    /// Along the unit vector n of the difference the primitives are min n·x − max n·y apart, a lower bound of the
    /// distance.
    fn check(x: [Vec3; 4], first: usize, closest: Closest) {
        let Closest { weights: w, difference, distance_squared } = closest;
        let size = size(x);
        assert!(w[..first].iter().all(|w| (0.0..=1.0).contains(w)), "{w:?}");
        assert!(w[first..].iter().all(|w| (-1.0..=0.0).contains(w)), "{w:?}");
        assert!((w[..first].iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((w[first..].iter().sum::<f64>() + 1.0).abs() < 1e-15);
        assert_eq!(distance_squared, difference.norm_squared());
        let scale = x.iter().map(|p| p.norm()).fold(0.0, f64::max);
        assert!((combine(w, x) - difference).norm() <= 1e-15 * scale);
        let distance = difference.norm();
        if distance <= 1e-13 * size {
            return;
        }
        let n = difference / distance;
        let low = x[..first].iter().map(|p| n.dot(*p - x[0])).fold(f64::INFINITY, f64::min);
        let high = x[first..].iter().map(|p| n.dot(*p - x[0])).fold(f64::NEG_INFINITY, f64::max);
        // The difference is exact to some ε size, its direction to some ε size / distance.
        let tolerance = 1e-14 * size * (1.0 + size / distance);
        assert!(distance - (low - high) <= tolerance, "{distance} {} {x:?} {w:?}", low - high);
    }

    /// Random vertices, some collinear, coplanar, repeated or far from the origin.
    fn random_vertices(random: &mut Random, case: usize) -> [Vec3; 4] {
        let mut x = [(); 4].map(|()| random.point());
        let squeeze = 10f64.powi(-((case / 8 % 17) as i32));
        match case % 8 {
            0 => {}
            1 => x.iter_mut().for_each(|p| p.z *= squeeze),
            2 => x.iter_mut().for_each(|p| *p = Vec3::new(p.x, p.y * squeeze, p.z * squeeze)),
            3 => x.iter_mut().for_each(|p| *p = Vec3::new(p.x, 0.0, p.z * squeeze)),
            4 => x[3] = x[2] + (x[1] - x[0]) * random.unit() + random.point() * squeeze,
            5 => x[case / 136 % 4] = x[(case / 136 + 1) % 4],
            6 => x.iter_mut().for_each(|p| *p = p.map(|c| (c * 2.0).round())),
            _ => x[1] = x[0] + (x[1] - x[0]) * squeeze,
        }
        x
    }

    #[test]
    fn no_points_are_closer() {
        let mut random = Random::new(1);
        for case in 0..60_000 {
            let x = random_vertices(&mut random, case);
            check(x, 1, point_triangle(x));
            check(x, 2, edge_edge(x));
        }
    }

    #[test]
    fn sampling_finds_nothing_closer() {
        let mut random = Random::new(2);
        for case in 0..2_000 {
            let x = random_vertices(&mut random, case);
            let (triangle, edges) = (point_triangle(x), edge_edge(x));
            for i in 0..=12 {
                for j in 0..=12 {
                    let (s, t) = (f64::from(i) / 12.0, f64::from(j) / 12.0);
                    let on_edges = combine([1.0 - s, s, t - 1.0, -t], x).norm();
                    assert!(edges.distance_squared.sqrt() <= on_edges + 1e-14);
                    if i + j <= 12 {
                        assert!(
                            triangle.distance_squared.sqrt() <= combine([1.0, s + t - 1.0, -s, -t], x).norm() + 1e-14
                        );
                    }
                }
            }
        }
    }

    /// Edges in two parallel planes that cross at a vanishing angle: the distance is that of the planes.
    #[test]
    fn almost_parallel_edges_keep_their_distance() {
        let mut random = Random::new(3);
        for exponent in 0..=20 {
            for _ in 0..500 {
                let (u, side) = (random.direction(), random.direction());
                let n = u.cross(side).normalized();
                let v = (u + n.cross(u) * 10f64.powi(-exponent)).normalized();
                let distance = 10f64.powi(-(exponent % 7));
                let (middle, s, t) = (random.point(), random.unit(), random.unit());
                let a = middle - u * s;
                let c = middle - n * distance - v * t;
                let found = edge_edge([a, a + u, c, c + v]).distance_squared.sqrt();
                assert!((found - distance).abs() < 2e-15, "{exponent} {found} {distance}");
            }
        }
    }

    #[test]
    fn primitives_without_length_are_points() {
        let (p, q) = (Vec3::new(1.0, 2.0, 3.0), Vec3::new(1.0, 2.0, 5.0));
        assert_eq!(edge_edge([p, p, q, q]).distance_squared, 4.0);
        assert_eq!(point_triangle([p, q, q, q]).distance_squared, 4.0);
        assert_eq!(point_triangle([p, p, p, p]).distance_squared, 0.0);
        let edge = [q + Vec3::unit(0), q - Vec3::unit(0)];
        assert_eq!(edge_edge([p, p, edge[0], edge[1]]).weights, [1.0, 0.0, -0.5, -0.5]);
        assert_eq!(edge_edge([edge[0], edge[1], p, p]).distance_squared, 4.0);
    }
}
