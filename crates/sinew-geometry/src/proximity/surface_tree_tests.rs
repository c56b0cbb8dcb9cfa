//! The tree against loops over all pairs.

use std::collections::BTreeSet;

use sinew_math::Vec3;

use super::random::Random;
use super::{Candidates, SurfaceTree, Way, edge_edge, point_triangle};
use crate::mesh::{Aabb, TriMesh};
use crate::procedural::icosphere;

/// Several groups of triangles, each with its own vertices, in random motion.
struct Soup {
    start: Vec<Vec3>,
    end: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    groups: Vec<u32>,
    vertex_groups: Vec<u32>,
    margins: Vec<f64>,
}

impl Soup {
    fn new(random: &mut Random, group_sizes: &[usize], triangle_size: f64) -> Self {
        let mut soup = Self {
            start: vec![],
            end: vec![],
            triangles: vec![],
            groups: vec![],
            vertex_groups: vec![],
            margins: group_sizes.iter().map(|_| random.unit() * 0.1 * triangle_size).collect(),
        };
        for (group, size) in group_sizes.iter().enumerate() {
            let mut previous = Vec::new();
            for _ in 0..*size {
                let center = random.point() + Vec3::new(50.0, 0.0, 0.0);
                // Half of the triangles share an edge with the previous one.
                let mut corners: Vec<u32> =
                    if random.unit() < 0.5 { previous.into_iter().take(2).collect() } else { vec![] };
                while corners.len() < 3 {
                    let near = corners.first().map_or(center, |first| soup.start[*first as usize]);
                    corners.push(soup.start.len() as u32);
                    soup.start.push(near + random.point() * triangle_size);
                    soup.end.push(soup.start[soup.start.len() - 1] + random.point() * triangle_size * 0.3);
                    soup.vertex_groups.push(group as u32);
                }
                corners.rotate_left((random.bits() % 3) as usize);
                soup.triangles.push([corners[0], corners[1], corners[2]]);
                soup.groups.push(group as u32);
                previous = corners;
            }
        }
        soup
    }

    fn tree(&self, is_paired: &[bool]) -> SurfaceTree {
        let mut tree =
            SurfaceTree::new(self.start.len(), self.triangles.clone(), self.groups.clone(), is_paired.to_vec());
        tree.rebuild(&self.start);
        tree.refit(&self.start, &self.end, &self.margins);
        tree
    }

    /// Group, vertices and grown boxes of one element, at the start and at the end.
    fn element<const N: usize>(&self, vertices: [u32; N]) -> (u32, Vec<u32>, [Aabb; 2]) {
        let group = self.vertex_groups[vertices[0] as usize];
        let boxes = [&self.start, &self.end].map(|places| {
            let places = vertices.iter().map(|v| &places[*v as usize]);
            Aabb::from_points(places).grown(self.margins[group as usize])
        });
        (group, vertices.to_vec(), boxes)
    }

    /// All candidates by double loops, with boxes additionally grown by `slack`.
    fn brute_force(&self, tree: &SurfaceTree, is_paired: &[bool], slack: f64) -> [BTreeSet<[u32; 2]>; 2] {
        let group_count = self.margins.len() as u32;
        let points: Vec<_> = (0..self.start.len() as u32).map(|v| self.element([v])).collect();
        let triangles: Vec<_> = tree.triangles().iter().map(|t| self.element(*t)).collect();
        let edges: Vec<_> = tree.edges().iter().map(|e| self.element(*e)).collect();
        let is_beyond = |a: &[Aabb; 2], b: &[Aabb; 2]| {
            (0..3).any(|axis| (0..2).all(|end| a[end].min[axis] - slack > b[end].max[axis]))
        };
        let is_candidate = |a: &(u32, Vec<u32>, [Aabb; 2]), b: &(u32, Vec<u32>, [Aabb; 2])| {
            is_paired[(a.0 * group_count + b.0) as usize]
                && !(is_beyond(&a.2, &b.2) || is_beyond(&b.2, &a.2))
                && !a.1.iter().any(|v| b.1.contains(v))
        };
        let mut found = [BTreeSet::new(), BTreeSet::new()];
        for (i, point) in points.iter().enumerate() {
            for (j, triangle) in triangles.iter().enumerate() {
                if is_candidate(point, triangle) {
                    found[0].insert([i as u32, j as u32]);
                }
            }
        }
        for (i, first) in edges.iter().enumerate() {
            for (j, second) in edges.iter().enumerate().skip(i + 1) {
                if is_candidate(first, second) {
                    found[1].insert([i as u32, j as u32]);
                }
            }
        }
        found
    }
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn set_of(pairs: &[[u32; 2]]) -> BTreeSet<[u32; 2]> {
    let set: BTreeSet<_> = pairs.iter().copied().collect();
    assert_eq!(set.len(), pairs.len(), "no pair may occur twice");
    set
}

/// Candidates contain all pairs of overlapping boxes, and no pair farther apart than the rounding to single precision.
#[test]
fn candidates_equal_brute_force_for_all_pairings() {
    let mut random = Random::new(7);
    let mut total = 0;
    for pairing in 0..64 {
        let soup = Soup::new(&mut random, &[60, 5, 45], [0.1, 0.4][pairing % 2]);
        let mut is_paired = vec![false; 9];
        for (bit, (g, h)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            is_paired[g * 3 + h] = pairing >> bit & 1 == 1;
            is_paired[h * 3 + g] = is_paired[g * 3 + h];
        }
        let mut tree = soup.tree(&is_paired);
        let mut found = Candidates::default();
        tree.find(&mut found);
        let [least_points, least_edges] = soup.brute_force(&tree, &is_paired, 0.0);
        let [most_points, most_edges] = soup.brute_force(&tree, &is_paired, 1e-6);
        let (points, edges) = (set_of(&found.point_triangle), set_of(&found.edge_edge));
        assert!(points.is_superset(&least_points) && points.is_subset(&most_points));
        assert!(edges.is_superset(&least_edges) && edges.is_subset(&most_edges));
        total += points.len() + edges.len();
    }
    assert!(total > 10_000, "{total}");
}

#[test]
fn candidates_do_not_depend_on_threads_or_history() {
    let mut random = Random::new(8);
    let soup = Soup::new(&mut random, &[6000, 3000, 10, 1], 0.03);
    let is_paired = vec![true; 16];
    let mut expected = Candidates::default();
    with_threads(1, || soup.tree(&is_paired).find(&mut expected));
    assert!(expected.edge_edge.len() > 10_000);
    with_threads(2, || {
        let mut tree = soup.tree(&is_paired);
        let mut found = Candidates::default();
        tree.find(&mut found);
        assert_eq!(found, expected);
        // Elsewhere and back.
        let turned: Vec<Vec3> = soup.start.iter().map(|x| Vec3::new(x.y, x.z * 3.0, x.x)).collect();
        tree.rebuild(&turned);
        tree.refit(&turned, &turned, &soup.margins);
        tree.find(&mut found);
        tree.rebuild(&soup.start);
        tree.refit(&soup.start, &soup.end, &soup.margins);
        tree.find(&mut found);
        assert_eq!(found, expected);
    });
}

/// Boxes refitted without a rebuild give the same pairs in another order.
#[test]
fn tree_of_other_places_finds_the_same() {
    let mut random = Random::new(9);
    let soup = Soup::new(&mut random, &[300, 200], 0.1);
    let is_paired = vec![true, true, true, false];
    let (mut tree, mut other) = (soup.tree(&is_paired), soup.tree(&is_paired));
    let mirrored: Vec<Vec3> = soup.start.iter().map(|x| Vec3::new(x.y, x.x, -x.z)).collect();
    other.rebuild(&mirrored);
    other.rebuild(&soup.start.iter().map(|x| *x + random.point()).collect::<Vec<_>>());
    other.refit(&soup.start, &soup.end, &soup.margins);
    let (mut found, mut other_found) = (Candidates::default(), Candidates::default());
    tree.find(&mut found);
    other.find(&mut other_found);
    // The boxes are rounded about different origins.
    let difference = set_of(&found.edge_edge).symmetric_difference(&set_of(&other_found.edge_edge)).count();
    assert!(difference <= 2, "{difference}");
}

#[test]
fn nothing_and_broken_places_give_nothing() {
    let mut found = Candidates { point_triangle: vec![[1, 2]], edge_edge: vec![] };
    let mut empty = SurfaceTree::new(0, vec![], vec![], vec![]);
    empty.rebuild(&[]);
    empty.refit(&[], &[], &[]);
    empty.find(&mut found);
    assert_eq!(found, Candidates::default());
    let mut broken = SurfaceTree::new(6, vec![[0, 1, 2], [3, 4, 5]], vec![0, 0], vec![true]);
    let places = [Vec3::splat(f64::NAN); 6];
    broken.rebuild(&places);
    broken.refit(&places, &places, &[1.0]);
    broken.find(&mut found);
    assert_eq!(found, Candidates::default());
}

#[test]
fn crossings_equal_self_intersections_of_the_merged_mesh() {
    let sphere = icosphere(1.0, 5).unwrap();
    let (mut positions, mut triangles, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for (group, shift) in [Vec3::zero(), Vec3::new(0.9, 0.1, 0.2), Vec3::new(0.4, 1.1, 0.0)].into_iter().enumerate() {
        let first = positions.len() as u32;
        positions.extend(sphere.positions().iter().map(|x| *x + shift));
        triangles.extend(sphere.triangles().iter().map(|t| t.map(|v| v + first)));
        groups.extend(vec![group as u32; sphere.triangle_count()]);
    }
    // A dent through the other side: the first sphere also crosses itself.
    positions[0] *= -1.5;
    let expected = TriMesh::new(positions.clone(), triangles.clone()).unwrap().self_intersections(usize::MAX);
    let crossings = |is_paired: Vec<bool>, limit: usize| {
        let mut tree = SurfaceTree::new(positions.len(), triangles.clone(), groups.clone(), is_paired);
        tree.rebuild(&positions);
        tree.refit(&positions, &positions, &[0.0, 0.01, 0.0]);
        tree.crossings(&positions, limit)
    };
    assert!(expected.len() > 100);
    assert_eq!(crossings(vec![true; 9], usize::MAX), expected);
    let others_only: Vec<[u32; 2]> =
        expected.iter().copied().filter(|[a, b]| groups[*a as usize] != groups[*b as usize]).collect();
    assert!(others_only.len() < expected.len());
    assert_eq!(crossings((0..9).map(|i| i % 4 != 0).collect(), usize::MAX), others_only);
    let some = crossings(vec![true; 9], 7);
    assert!(some.len() == 7 && some.iter().all(|pair| expected.contains(pair)) && some.is_sorted());
}

/// Crumpled more and more: from no triangle that crosses another to most of them, neighbors included.
#[test]
fn crossings_of_a_crumpled_sphere_are_all_found() {
    let sphere = icosphere(1.0, 4).unwrap();
    let mut tree = SurfaceTree::new(
        sphere.positions().len(),
        sphere.triangles().to_vec(),
        vec![0; sphere.triangle_count()],
        vec![true],
    );
    let mut counts = Vec::new();
    for size in [0.0, 0.1, 0.2, 0.4, 0.8] {
        let crumple = |(k, x): (usize, &Vec3)| {
            let k = k as f64;
            *x + Vec3::new((12.9 * k).sin(), (78.2 * k).cos(), (37.7 * k).sin()) * size
        };
        let positions: Vec<Vec3> = sphere.positions().iter().enumerate().map(crumple).collect();
        let expected =
            TriMesh::new(positions.clone(), sphere.triangles().to_vec()).unwrap().self_intersections(usize::MAX);
        tree.rebuild(&positions);
        tree.refit(&positions, &positions, &[0.0]);
        assert_eq!(tree.crossings(&positions, usize::MAX), expected, "crumpled by {size}");
        counts.push(expected.len());
    }
    assert!(counts[0] == 0 && counts[2] > 0 && counts[4] > sphere.triangle_count(), "{counts:?}");
}

/// The two triangles at an edge, and no third.
#[test]
fn edges_know_their_triangles() {
    let tree = SurfaceTree::new(5, vec![[0, 1, 2], [2, 1, 3], [1, 2, 4]], vec![0; 3], vec![true]);
    let shared = tree.edges().iter().position(|edge| *edge == [1, 2]).unwrap();
    assert_eq!(tree.edge_triangles()[shared], [0, 1]);
    assert_eq!(tree.edge_triangles().iter().filter(|[_, second]| *second == u32::MAX).count(), tree.edges().len() - 1);
    assert_eq!(tree.group(2), 0);
}

/// A bumpy ball of many tasks, moved everywhere by less than the slack and in a small part by much more: only that part is
/// searched anew, and no pair is missing that comes near. So it is after the same motion once more, from its end, and back.
#[test]
fn what_hardly_moves_is_not_searched_again() {
    let mut random = Random::new(17);
    let ball = icosphere(1.0, 18).unwrap();
    let start: Vec<Vec3> = ball.positions().iter().map(|x| *x * (1.0 + 0.05 * random.unit())).collect();
    let drift = Vec3::new(0.3, -0.2, 0.1);
    let end: Vec<Vec3> = start.iter().map(|x| *x + drift + random.point() * 0.01).collect();
    let (slack, margin) = (0.004, 0.02);
    let jitter = |x: &[Vec3], random: &mut Random| -> Vec<Vec3> {
        x.iter().map(|x| *x + random.direction() * (0.99 * slack * random.unit())).collect()
    };
    // A dent in the end: the cap sinks by more than any slack.
    let dented = |x: &[Vec3]| -> Vec<Vec3> {
        x.iter()
            .zip(&start)
            .map(|(x, s)| if s.z > 0.93 { *x - Vec3::new(0.0, 0.0, 0.3 * (s.z - 0.93)) } else { *x })
            .collect()
    };
    let motions = [
        (jitter(&start, &mut random), dented(&jitter(&end, &mut random))),
        (end.clone(), dented(&end)),
        (jitter(&end, &mut random), jitter(&end, &mut random)),
        (dented(&end), jitter(&start, &mut random)),
    ];
    let triangles = ball.triangles().to_vec();
    let mut tree = SurfaceTree::new(start.len(), triangles.clone(), vec![0; triangles.len()], vec![true]);
    tree.rebuild(&start);
    let mut found = Candidates::default();
    let margins = [margin + slack];
    let way = |start, end| Way { start, end, margins: &margins, slack };
    assert!(tree.find_on_way(&way(&start, &end), &mut found), "all is searched first");
    for (k, (from, to)) in motions.iter().enumerate() {
        let is_whole = tree.find_on_way(&way(from, to), &mut found);
        assert!(!is_whole, "motion {k}");
        let (points, edges) = (set_of(&found.point_triangle), set_of(&found.edge_edge));
        assert_eq!((points.len(), edges.len()), (found.point_triangle.len(), found.edge_edge.len()), "each pair once");
        let mut fresh = SurfaceTree::new(start.len(), triangles.clone(), vec![0; triangles.len()], vec![true]);
        fresh.rebuild(&start);
        let mut all = Candidates::default();
        fresh.refit(from, to, &[margin]);
        fresh.find(&mut all);
        let comes_near = |vertices: [u32; 4], is_edge: bool| {
            (0..=20).any(|k| {
                let t = f64::from(k) / 20.0;
                let x = vertices.map(|v| from[v as usize] + (to[v as usize] - from[v as usize]) * t);
                let closest = if is_edge { edge_edge(x) } else { point_triangle(x) };
                closest.distance_squared < 4.0 * margin * margin
            })
        };
        let mut near = 0;
        for [v, t] in all.point_triangle {
            let [a, b, c] = triangles[t as usize];
            if comes_near([v, a, b, c], false) {
                near += 1;
                assert!(points.contains(&[v, t]), "motion {k}: {v} and {t}");
            }
        }
        for [e, f] in all.edge_edge {
            let ([a, b], [c, d]) = (tree.edges()[e as usize], tree.edges()[f as usize]);
            if comes_near([a, b, c, d], true) {
                near += 1;
                assert!(edges.contains(&[e, f]), "motion {k}: {e} and {f}");
            }
        }
        assert!(near > 100, "{near} near pairs in motion {k}");
    }
    // Elsewhere, all is searched.
    let away: Vec<Vec3> = end.iter().map(|x| *x * 1.2).collect();
    assert!(tree.find_on_way(&way(&end, &away), &mut found));
    // A tree that is built anew knows nothing.
    tree.rebuild(&end);
    assert!(tree.find_on_way(&way(&end, &away), &mut found));
}
