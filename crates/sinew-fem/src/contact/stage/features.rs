//! The features of a pair: a triangle has edges and corners, an edge has ends, and neighbors share them.
//!
//! A vertex near an edge is near both triangles of that edge. Summed over pairs, one place counts several times, and
//! skins slide over bumps of the size of their triangles. So each pair takes back what it shares \[Li23\]: with the
//! energy b of the distance to a feature,
//! ```math
//! \varphi_{pT} = b(p, T) - \sum_{e \in T} \sigma_e\, b(p, e) + \sum_{c \in T} \sigma_c\, b(p, c), \qquad
//!    \varphi_{ef} = b(e, f) - \tfrac12 \sum_{q \in f} b(e, q) - \tfrac12 \sum_{p \in e} b(p, f)
//!       + \tfrac14 \sum_{p, q} b(p, q).
//! ```
//! With σ_e = ½ at an edge of two triangles and σ_c = 1/n at a corner of n triangles, the sum over the triangles around
//! is the energy of the distance to the surface: once per place, in valleys once per side. Edges end in half of
//! themselves, so that each straight line of edges counts once.

use sinew_math::Vec3;

/// A point-point, point-edge, point-triangle or edge-edge part of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feature {
    /// Weights of the closest points: zero for vertices that are not in the feature.
    pub weights: [f64; 4],
    pub difference: Vec3,
    pub distance_squared: f64,
    /// How often it counts.
    pub count: f64,
}

/// How often a triangle takes back its edges, and counts its corners again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    /// Edge k joins corners k and k + 1.
    pub edges: [f64; 3],
    pub corners: [f64; 3],
}

/// Share of each end that an edge takes back.
const END: f64 = 0.5;
/// Maximum number of features of a pair.
const MOST: usize = 9;

/// The features of one pair that are nearer than its gap, those with the same closest points in one.
pub(super) struct Features {
    list: [Feature; MOST],
    used: usize,
}

impl Features {
    fn none() -> Self {
        let empty = Feature { weights: [0.0; 4], difference: Vec3::zero(), distance_squared: 0.0, count: 0.0 };
        Self { list: [empty; MOST], used: 0 }
    }

    fn add(&mut self, feature: Feature) {
        let support = |weights: &[f64; 4]| weights.map(|w| w != 0.0);
        let own = support(&feature.weights);
        match self.list[..self.used].iter_mut().find(|known| support(&known.weights) == own) {
            Some(known) => known.count += feature.count,
            None => {
                self.list[self.used] = feature;
                self.used += 1;
            }
        }
    }

    /// Those that count.
    pub fn iter(&self) -> impl Iterator<Item = &Feature> {
        self.list[..self.used].iter().filter(|feature| feature.count != 0.0)
    }

    /// Features of a point p and a triangle abc, x = \[p, a, b, c\], of which `whole` is the nearest.
    pub fn of_triangle(x: [Vec3; 4], whole: Feature, shares: &Shares, limit: f64) -> Self {
        let mut features = Self::none();
        features.add(whole);
        for k in 0..3 {
            let (i, j) = (1 + k, 1 + (k + 1) % 3);
            if shares.edges[k] != 0.0 {
                let share = along(x[0], x[i], x[j]);
                let mut weights = [1.0, 0.0, 0.0, 0.0];
                (weights[i], weights[j]) = (share - 1.0, -share);
                features.add_near(x, weights, -shares.edges[k], limit);
            }
            if shares.corners[k] != 0.0 {
                let mut weights = [1.0, 0.0, 0.0, 0.0];
                weights[i] = -1.0;
                features.add_near(x, weights, shares.corners[k], limit);
            }
        }
        features
    }

    /// Features of two edges ab and cd, x = \[a, b, c, d\], of which `whole` is the nearest.
    pub fn of_edges(x: [Vec3; 4], whole: Feature, limit: f64) -> Self {
        let mut features = Self::none();
        features.add(whole);
        for end in 0..2 {
            let share = along(x[2 + end], x[0], x[1]);
            let mut weights = [1.0 - share, share, 0.0, 0.0];
            weights[2 + end] = -1.0;
            features.add_near(x, weights, -END, limit);
            let share = along(x[end], x[2], x[3]);
            let mut weights = [0.0, 0.0, share - 1.0, -share];
            weights[end] = 1.0;
            features.add_near(x, weights, -END, limit);
            for other in 0..2 {
                let mut weights = [0.0; 4];
                (weights[end], weights[2 + other]) = (1.0, -1.0);
                features.add_near(x, weights, END * END, limit);
            }
        }
        features
    }

    fn add_near(&mut self, x: [Vec3; 4], weights: [f64; 4], count: f64, limit: f64) {
        let difference = (0..4).fold(Vec3::zero(), |sum, i| sum + x[i] * weights[i]);
        let distance_squared = difference.norm_squared();
        if distance_squared < limit {
            self.add(Feature { weights, difference, distance_squared, count });
        }
    }
}

/// Share of the way from a to b of the point of this edge that is nearest to p.
fn along(p: Vec3, a: Vec3, b: Vec3) -> f64 {
    let edge = b - a;
    let length = edge.norm_squared();
    if length > 0.0 { ((p - a).dot(edge) / length).clamp(0.0, 1.0) } else { 0.0 }
}

/// Shares of all triangles of a surface of so many vertices.
pub(super) fn shares_of(vertex_count: usize, triangles: &[[u32; 3]]) -> Vec<Shares> {
    let edge = |t: usize, k: usize| {
        let [a, b] = [triangles[t][k], triangles[t][(k + 1) % 3]];
        [a.min(b), a.max(b)]
    };
    let mut sides: Vec<([u32; 2], u32)> =
        (0..triangles.len()).flat_map(|t| (0..3).map(move |k| (edge(t, k), (3 * t + k) as u32))).collect();
    sides.sort_unstable();
    let mut shares = vec![Shares::default(); triangles.len()];
    // 1 − n + Σ (sides of an edge − 1): how often a corner must count again.
    let mut again = vec![1.0; vertex_count];
    let mut around = vec![0.0; vertex_count];
    for &v in triangles.iter().flatten() {
        again[v as usize] -= 1.0;
        around[v as usize] += 1.0;
    }
    for same in sides.chunk_by(|a, b| a.0 == b.0) {
        let count = same.len() as f64;
        for &(_, side) in same {
            shares[side as usize / 3].edges[side as usize % 3] = (count - 1.0) / count;
        }
        for v in same[0].0 {
            again[v as usize] += count - 1.0;
        }
    }
    for (shares, triangle) in shares.iter_mut().zip(triangles) {
        shares.corners = triangle.map(|v| again[v as usize] / around[v as usize]);
    }
    shares
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use sinew_geometry::proximity::{Closest, edge_edge, point_triangle};

    use super::super::super::barrier::barrier;
    use super::*;

    const GAP: f64 = 0.5;

    fn whole(closest: &Closest) -> Feature {
        let &Closest { weights, difference, distance_squared } = closest;
        Feature { weights, difference, distance_squared, count: 1.0 }
    }

    fn energy(features: &Features) -> f64 {
        features.iter().map(|feature| feature.count * barrier(feature.distance_squared.sqrt() / GAP)[0]).sum()
    }

    /// Energy of a point over a surface.
    fn over(p: Vec3, vertices: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
        let shares = shares_of(vertices.len(), triangles);
        let pair = |(triangle, shares): (&[u32; 3], &Shares)| {
            let [a, b, c] = triangle.map(|v| vertices[v as usize]);
            let x = [p, a, b, c];
            energy(&Features::of_triangle(x, whole(&point_triangle(x)), shares, GAP * GAP))
        };
        triangles.iter().zip(&shares).map(pair).sum()
    }

    /// A patch of equilateral triangles of unit edges in rows, bent along the line y = 0 by an angle.
    fn patch(angle: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let n = 7u32;
        let place = |i: u32, j: u32| {
            let (x, y) = (f64::from(i) + 0.5 * f64::from(j % 2) - 3.0, (f64::from(j) - 3.0) * 0.75f64.sqrt());
            if y > 0.0 { Vec3::new(x, y * angle.cos(), y * angle.sin()) } else { Vec3::new(x, y, 0.0) }
        };
        let vertices = (0..n * n).map(|k| place(k % n, k / n)).collect();
        let mut triangles = Vec::new();
        for j in 0..n - 1 {
            for i in 0..n - 1 {
                let [a, b, c, d] = [j * n + i, j * n + i + 1, (j + 1) * n + i, (j + 1) * n + i + 1];
                triangles.extend(if j % 2 == 0 { [[a, b, c], [b, d, c]] } else { [[a, d, c], [a, b, d]] });
            }
        }
        (vertices, triangles)
    }

    /// Over a plane a point has the energy of its height, and over a ridge that of its distance, wherever edges and
    /// corners are; in a valley that of both sides.
    #[test]
    fn a_point_slides_over_triangles_as_over_a_smooth_surface() {
        let (vertices, triangles) = patch(0.0);
        for k in 0..400 {
            let (s, t) = (f64::from(k % 20) / 19.0, f64::from(k / 20) / 19.0);
            for height in [0.03, 0.2, 0.4] {
                let expected = barrier(height / GAP)[0];
                let found = over(Vec3::new(s - 0.5, 1.8 * t - 0.9, height), &vertices, &triangles);
                assert!((found - expected).abs() < 1e-12 * expected, "{s} {t} {height}: {found} {expected}");
            }
        }
        let (vertices, triangles) = patch(-1.0);
        for k in 0..100 {
            let (s, phi) = (f64::from(k % 10) / 9.0 - 0.5, FRAC_PI_2 - 1.3 + 0.16 * f64::from(k / 10));
            let p = Vec3::new(s, 0.1 * phi.cos(), 0.1 * phi.sin());
            let d = match phi {
                _ if phi > FRAC_PI_2 => p.z,
                _ if phi < FRAC_PI_2 - 1.0 => p.dot(Vec3::new(0.0, 1.0f64.sin(), 1.0f64.cos())),
                _ => 0.1,
            };
            let (found, expected) = (over(p, &vertices, &triangles), barrier(d / GAP)[0]);
            assert!((found - expected).abs() < 1e-9 * expected, "{s} {phi}: {found} {expected}");
        }
        let (vertices, triangles) = patch(1.0);
        let p = Vec3::new(0.2, -0.05, 0.2);
        let to_other = (p.z * 1.0f64.cos() - p.y * 1.0f64.sin()).abs();
        let expected = [p.z, to_other].map(|d| barrier(d / GAP)[0]);
        let edge = barrier(p.y.hypot(p.z) / GAP)[0];
        let found = over(p, &vertices, &triangles);
        assert!((found - (expected[0] + expected[1] - edge)).abs() < 1e-9 * found, "{found} {expected:?} {edge}");
    }

    /// Two lines of edges that cross at a height count once, wherever their joints are.
    #[test]
    fn an_edge_slides_over_a_line_of_edges_as_over_a_straight_line() {
        for k in 0..60 {
            let s = f64::from(k) / 20.0 - 1.5;
            let total: f64 = [-2.0, -1.0, 0.0, 1.0]
                .into_iter()
                .flat_map(|from| [-2.3, -1.3, -0.3, 0.7].map(|other| (from, other)))
                .map(|(from, other)| {
                    let x = [
                        Vec3::new(from, 0.0, 0.0),
                        Vec3::new(from + 1.0, 0.0, 0.0),
                        Vec3::new(s, other + 0.4 * s, 0.2),
                        Vec3::new(s, other + 1.0 + 0.4 * s, 0.2),
                    ];
                    let closest = edge_edge(x);
                    let is_near = closest.distance_squared < GAP * GAP;
                    if is_near { energy(&Features::of_edges(x, whole(&closest), GAP * GAP)) } else { 0.0 }
                })
                .sum();
            let expected = barrier(0.2 / GAP)[0];
            assert!((total - expected).abs() < 1e-12 * expected, "{s}: {total} {expected}");
        }
    }

    /// Borders, corners of borders and edges of three triangles are shared, too: each place counts once.
    #[test]
    fn shares_add_up_to_one() {
        let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4]];
        let book = [[0, 1, 2], [0, 1, 3], [1, 0, 4]];
        for (triangles, count) in [(&fan[..], 5), (&book[..], 5)] {
            let shares = shares_of(count, triangles);
            for v in 0..count as u32 {
                let mut total = 0.0;
                for (shares, triangle) in shares.iter().zip(triangles) {
                    for k in (0..3).filter(|&k| triangle[k] == v) {
                        total += 1.0 + shares.corners[k] - shares.edges[k] - shares.edges[(k + 2) % 3];
                    }
                }
                assert!((total - 1.0f64).abs() < 1e-12, "{v}: {total}");
            }
        }
    }
}
