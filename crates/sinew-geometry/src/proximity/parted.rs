//! Pairs that a plane keeps apart while both move.
//!
//! The vertices xᵢ of one primitive and yⱼ of another move along straight lines, so along any vector n each n·(xᵢ − yⱼ)
//! changes linearly with time and never falls below the smaller of its values at both ends. Points of the primitives are
//! means of their vertices. So if
//!
//! ```math
//! \min_i n \cdot x_i - \max_j n \cdot y_j > r\,|n|
//! ```
//!
//! at the start and at the end, no point of one comes within r of the other on the whole way. The boxes of the candidates
//! test this for three fixed axes, which are blind to a pair that lies askew. Along the line between the centers most
//! neighbors on a surface are apart by nearly their whole distance, and parallel edges across their direction.

use sinew_math::lanes::{F64_LANES, Isa, LaneKernel};
use sinew_math::{LaneScalar, Scalar, Vec3};

use super::surface_topology::SurfaceTopology;
use super::surface_tree::Candidates;

/// Allowance for the rounding of the test, as factors of r² and of the squared size of the pair; see [`are_parted`].
const GROWTH: f64 = 1.0 + 1e-6;
const ROUNDING: f64 = 1e-23;

/// Removes the pairs that stay farther apart than the sum of the margins \[m\] of their groups while vertices move from
/// `ends[0]` to `ends[1]`; the others keep their order.
pub(super) struct LeaveParted<'a> {
    pub topology: &'a SurfaceTopology,
    pub vertex_groups: &'a [u32],
    pub ends: [&'a [Vec3]; 2],
    pub margins: &'a [f64],
    pub candidates: &'a mut Candidates,
}

impl LaneKernel for LeaveParted<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { topology, vertex_groups, ends, margins, candidates } = self;
        let places = Places { topology, vertex_groups, ends, margins };
        keep::<I::F64, 1>(&places, &mut candidates.point_triangle);
        keep::<I::F64, 2>(&places, &mut candidates.edge_edge);
    }
}

struct Places<'a> {
    topology: &'a SurfaceTopology,
    vertex_groups: &'a [u32],
    ends: [&'a [Vec3]; 2],
    margins: &'a [f64],
}

/// The places of eight pairs: for each end and vertex its three coordinates.
struct Gathered {
    coordinates: [[[[f64; F64_LANES]; 3]; 4]; 2],
    reach: [f64; F64_LANES],
}

impl Gathered {
    #[inline(always)]
    fn set<const SPLIT: usize>(&mut self, lane: usize, places: &Places<'_>, [first, second]: [u32; 2]) {
        let vertices = if SPLIT == 1 {
            let [a, b, c] = places.topology.triangles[second as usize];
            [first, a, b, c]
        } else {
            let ([a, b], [c, d]) = (places.topology.edges[first as usize], places.topology.edges[second as usize]);
            [a, b, c, d]
        };
        for (end, at) in places.ends.iter().enumerate() {
            for (k, &v) in vertices.iter().enumerate() {
                let Vec3 { x, y, z } = at[v as usize];
                self.coordinates[end][k][0][lane] = x;
                self.coordinates[end][k][1][lane] = y;
                self.coordinates[end][k][2][lane] = z;
            }
        }
        let margin = |v: u32| places.margins[places.vertex_groups[v as usize] as usize];
        self.reach[lane] = margin(vertices[0]) + margin(vertices[SPLIT]);
    }

    #[inline(always)]
    fn end<L: LaneScalar<Element = f64>>(&self, end: usize) -> [Vec3<L>; 4] {
        let at = |k: usize| {
            let [x, y, z] = &self.coordinates[end][k];
            Vec3::new(L::load(x), L::load(y), L::load(z))
        };
        [at(0), at(1), at(2), at(3)]
    }
}

#[inline(always)]
fn keep<L: LaneScalar<Element = f64>, const SPLIT: usize>(places: &Places<'_>, pairs: &mut Vec<[u32; 2]>) {
    let mut gathered = Gathered { coordinates: [[[[0.0; F64_LANES]; 3]; 4]; 2], reach: [0.0; F64_LANES] };
    let mut is_parted = [0.0; F64_LANES];
    let mut kept = 0;
    let mut first = 0;
    while first < pairs.len() {
        // What is left over of the last ones in other lanes does no harm.
        let count = (pairs.len() - first).min(F64_LANES);
        for lane in 0..count {
            gathered.set::<SPLIT>(lane, places, pairs[first + lane]);
        }
        let parted = are_parted::<L, SPLIT>([gathered.end(0), gathered.end(1)], L::load(&gathered.reach));
        L::select(parted, L::splat(1.0), L::splat(0.0)).store(&mut is_parted);
        for lane in 0..count {
            // Each is written, and stays if it is wanted: no branch to foresee.
            pairs[kept] = pairs[first + lane];
            kept += usize::from(is_parted[lane] == 0.0);
        }
        first += F64_LANES;
    }
    pairs.truncate(kept);
}

/// Whether a plane provably keeps two primitives farther apart than `reach`, at both ends of the motion and on the way;
/// false for numbers that are not finite. The first `SPLIT` vertices are those of the first: a point and a triangle, or
/// two edges.
///
/// Rounding: places are taken relative to a vertex of the pair, which rounds each by at most u = 2⁻⁵³ of itself. With the
/// sums of the products every n·(xᵢ − yⱼ) is off by less than 16 u |n| L, where L² is the sum of the squares of these
/// places. So the test needs s > (r + 16 u L) |n|, which follows from s² > |n|² ((1 + 10⁻⁶) r² + (1 + 10⁶) (16 u L)²).
#[inline(always)]
fn are_parted<S: Scalar, const SPLIT: usize>(ends: [[Vec3<S>; 4]; 2], reach: S) -> S::Mask {
    let [x, y] = [relative(&ends[0]), relative(&ends[1])];
    let [a, b, c] = [x[0] + y[0], x[1] + y[1], x[2] + y[2]];
    let mut size = S::zero();
    for place in [&x[0], &x[1], &x[2], &y[0], &y[1], &y[2]] {
        size += place.norm_squared();
    }
    let needed = S::splat(GROWTH) * reach * reach + S::splat(ROUNDING) * size;
    if SPLIT == 1 {
        return is_plane_between::<S, SPLIT>(a * S::splat(3.0) - b - c, &x, &y, needed);
    }
    let between = a + b - c;
    let along = b - a;
    let across = between - along * (between.dot(along) / along.norm_squared());
    is_plane_between::<S, SPLIT>(between, &x, &y, needed) | is_plane_between::<S, SPLIT>(across, &x, &y, needed)
}

/// The first three places relative to the last.
#[inline(always)]
fn relative<S: Scalar>([a, b, c, d]: &[Vec3<S>; 4]) -> [Vec3<S>; 3] {
    [*a - *d, *b - *d, *c - *d]
}

/// Whether n·(xᵢ − yⱼ) exceeds |n| times the root of `needed` at both ends; vertices relative to the last.
#[inline(always)]
fn is_plane_between<S: Scalar, const SPLIT: usize>(
    axis: Vec3<S>,
    start: &[Vec3<S>; 3],
    end: &[Vec3<S>; 3],
    needed: S,
) -> S::Mask {
    let least = apart::<S, SPLIT>(axis, start).min(apart::<S, SPLIT>(axis, end));
    // A NaN anywhere is in the axis too, and no comparison with its length holds.
    least.gt(S::zero()) & (least * least).gt(axis.norm_squared() * needed)
}

/// Least n·(xᵢ − yⱼ).
#[inline(always)]
fn apart<S: Scalar, const SPLIT: usize>(axis: Vec3<S>, place: &[Vec3<S>; 3]) -> S {
    let [a, b, c] = [axis.dot(place[0]), axis.dot(place[1]), axis.dot(place[2])];
    if SPLIT == 1 { a - b.max(c).max(S::zero()) } else { a.min(b) - c.max(S::zero()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proximity::random::Random;
    use crate::proximity::{SurfaceTree, edge_edge, point_triangle};

    /// What is called parted never comes nearer than the reach at any sampled time, and much of what stays twice as far
    /// away is called parted.
    #[test]
    fn parted_pairs_never_come_near() {
        let mut random = Random::new(12);
        let (mut parted, mut far) = (0, 0);
        for case in 0..40_000 {
            let shrink = [1.0, 0.3, 1e-3][case % 3];
            let far_away = Vec3::new(50.0, -3.0, 8.0) * [0.0, 1.0, 1e3][case / 3 % 3];
            let start = [(); 4].map(|()| far_away + random.point() * shrink);
            let (drift, speed) = (random.point(), [0.0, 0.1, 1.0][case / 9 % 3] * shrink);
            let end = start.map(|place| place + drift + random.point() * speed);
            let reach = 0.3 * shrink * random.unit();
            let at = |t: f64| -> [Vec3; 4] { std::array::from_fn(|i| start[i] + (end[i] - start[i]) * t) };
            for is_edge in [false, true] {
                let distance = |x: [Vec3; 4]| {
                    let closest = if is_edge { edge_edge(x) } else { point_triangle(x) };
                    closest.distance_squared.sqrt()
                };
                let nearest = (0..=40).map(|k| distance(at(f64::from(k) / 40.0))).fold(f64::INFINITY, f64::min);
                let ends = [start, end];
                let is_parted =
                    if is_edge { are_parted::<f64, 2>(ends, reach) } else { are_parted::<f64, 1>(ends, reach) };
                assert!(!is_parted || nearest > reach * (1.0 - 1e-9), "{case}: {nearest} within {reach}");
                let stays_away = speed == 0.0 && nearest > 2.0 * reach;
                far += usize::from(stays_away);
                parted += usize::from(is_parted && stays_away);
            }
        }
        assert!(far > 5_000 && 3 * parted > far, "{parted} of {far}");
    }

    /// Just at the reach in rounded numbers, far from the origin: the answer is no.
    #[test]
    fn rounding_does_not_part_what_touches() {
        let mut random = Random::new(13);
        for case in 0..20_000 {
            let place = random.point() * 10f64.powi(case % 6);
            let (n, reach) = (random.direction(), 10f64.powi(-(case % 7)));
            let flat = |p: Vec3| p - n * n.dot(p);
            let [a, b, c] = [(); 3].map(|()| place + flat(random.point()));
            let middle = (a + b + c) * (1.0 / 3.0);
            let x = [middle + n * reach, a, b, c];
            let exact = point_triangle(x).distance_squared.sqrt();
            assert!(!are_parted::<f64, 1>([x; 2], exact), "{case}");
            // Nearer than this, rounded places tilt the line between the centers.
            assert!(reach < 5e-5 || are_parted::<f64, 1>([x; 2], 0.9 * reach), "{case}");
        }
    }

    /// Neighboring diagonals of squares, which no line between centers parts.
    #[test]
    fn parallel_edges_are_parted_across_their_direction() {
        let at = |x: f64, y: f64| Vec3::new(x, y, 0.3);
        let diagonals = [at(0.0, 0.0), at(1.0, 1.0), at(1.0, 0.0), at(2.0, 1.0)];
        let moved = diagonals.map(|place| place + Vec3::new(5.0, -2.0, 1.0));
        assert!(are_parted::<f64, 2>([diagonals, moved], 0.7) && !are_parted::<f64, 2>([diagonals, moved], 0.71));
        assert!(
            !are_parted::<f64, 2>([diagonals, [moved[0], moved[1], diagonals[2], diagonals[3]]], 0.7),
            "they cross"
        );
    }

    #[test]
    fn broken_numbers_are_not_parted() {
        let (near, far) = (Vec3::zero(), Vec3::new(9.0, 0.0, 0.0));
        assert!(
            are_parted::<f64, 1>([[near, far, far, far]; 2], 8.9)
                && !are_parted::<f64, 1>([[near, far, far, far]; 2], 9.1)
        );
        assert!(are_parted::<f64, 2>([[near, near, far, far]; 2], 8.9), "edges without length");
        for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for (k, axis) in (0..4).flat_map(|k| (0..3).map(move |axis| (k, axis))) {
                let mut places = [near, far, far, far];
                places[k][axis] = broken;
                assert!(
                    !are_parted::<f64, 1>([places; 2], 1.0)
                        && !are_parted::<f64, 1>([[near, far, far, far], places], 1.0)
                );
                assert!(
                    !are_parted::<f64, 2>([places; 2], 1.0)
                        && !are_parted::<f64, 2>([[near, near, far, far], places], 1.0)
                );
            }
        }
        assert!(!are_parted::<f64, 2>([[near; 4]; 2], 0.0));
    }

    /// Candidates of two crumpled sheets: the same as those of all pairs, in the same order, and what is left out stays
    /// farther apart than the margins.
    #[test]
    fn only_pairs_that_stay_apart_are_left_out() {
        let side = 12;
        let mut random = Random::new(14);
        let mut start = Vec::new();
        for sheet in 0..2 {
            for k in 0..side * side {
                let flat = Vec3::new((k % side) as f64, (k / side) as f64, 1.3 * f64::from(sheet));
                start.push(flat + random.point() * 0.3);
            }
        }
        let end: Vec<Vec3> = start.iter().map(|&x| x + Vec3::new(7.0, 0.0, -2.0) + random.point() * 0.2).collect();
        let squares = (0..2).flat_map(|sheet| {
            (0..(side - 1) * (side - 1))
                .map(move |k| (sheet * side * side + k / (side - 1) * side + k % (side - 1)) as u32)
        });
        let next = side as u32;
        let triangles: Vec<[u32; 3]> =
            squares.flat_map(|v| [[v, v + 1, v + next + 1], [v, v + next + 1, v + next]]).collect();
        let margin = 0.15;
        let mut tree = SurfaceTree::new(start.len(), triangles.clone(), vec![0; triangles.len()], vec![true]);
        tree.rebuild(&start);
        tree.refit(&start, &end, &[margin]);
        let mut all = Candidates::default();
        tree.find(&mut all);
        let mut left = Candidates::default();
        tree.find_on_way(&start, &end, &[margin], &mut left);
        let stays_apart = |vertices: [u32; 4], is_edge: bool| {
            (0..=30).all(|k| {
                let t = f64::from(k) / 30.0;
                let x = vertices.map(|v| start[v as usize] + (end[v as usize] - start[v as usize]) * t);
                let closest = if is_edge { edge_edge(x) } else { point_triangle(x) };
                closest.distance_squared > 4.0 * margin * margin
            })
        };
        let of_points = |&[v, t]: &[u32; 2]| {
            let [a, b, c] = triangles[t as usize];
            stays_apart([v, a, b, c], false)
        };
        let of_edges = |&[e, f]: &[u32; 2]| {
            let ([a, b], [c, d]) = (tree.edges()[e as usize], tree.edges()[f as usize]);
            stays_apart([a, b, c, d], true)
        };
        let check = |all: &[[u32; 2]], left: &[[u32; 2]], stays_apart: &dyn Fn(&[u32; 2]) -> bool| {
            let is_left: std::collections::BTreeSet<[u32; 2]> = left.iter().copied().collect();
            let expected: Vec<[u32; 2]> = all.iter().copied().filter(|pair| is_left.contains(pair)).collect();
            assert_eq!(left, expected, "the same order");
            let out: Vec<&[u32; 2]> = all.iter().filter(|pair| !is_left.contains(*pair)).collect();
            assert!(out.iter().all(|pair| stays_apart(pair)), "what is left out stays apart");
            assert!(out.len() > 100 && !left.is_empty(), "{} of {}", out.len(), all.len());
        };
        // Pairs in lanes are those one by one.
        let ends_of = |vertices: [u32; 4]| [&start, &end].map(|at| vertices.map(|v| at[v as usize]));
        let points_alone = all.point_triangle.iter().copied().filter(|&[v, t]| {
            let [a, b, c] = triangles[t as usize];
            !are_parted::<f64, 1>(ends_of([v, a, b, c]), 2.0 * margin)
        });
        let edges_alone = all.edge_edge.iter().copied().filter(|&[e, f]| {
            let ([a, b], [c, d]) = (tree.edges()[e as usize], tree.edges()[f as usize]);
            !are_parted::<f64, 2>(ends_of([a, b, c, d]), 2.0 * margin)
        });
        assert_eq!(left.point_triangle, points_alone.collect::<Vec<_>>());
        assert_eq!(left.edge_edge, edges_alone.collect::<Vec<_>>());
        check(&all.point_triangle, &left.point_triangle, &of_points);
        check(&all.edge_edge, &left.edge_edge, &of_edges);
    }
}
