//! The loose parts of a skin: triangles that are connected across edges, however they were modeled.
//!
//! Production characters consist of many: a body that is open at the neck, eyes, teeth, lashes, hair, clothes of one
//! layer, plates. Triangles that lie on each other count once. Where more than two triangles meet at an edge, those that
//! continue each other with the smallest bend belong together, so a fin that is sewn to a body is a part of its own. In
//! every part triangles are turned so that neighbors agree, and so that it encloses a positive volume:
//! ```math
//! V = \tfrac16 \sum_t a_t \cdot (b_t \times c_t)
//! ```
//! over its triangles and over fans that close its borders.

use std::collections::{BTreeMap, VecDeque};

use sinew_geometry::TriMesh;
use sinew_geometry::mesh::WindingNumber;
use sinew_math::Vec3;

/// Triangles of a part at which its closure is sampled.
const SAMPLES: usize = 400;
/// Distance of samples from their triangle, relative to the root of its area: near enough for the triangle to hide the
/// rest, far enough for rounding.
const LIFT: f64 = 1e-3;

/// Connected triangles.
#[derive(Clone, Debug)]
pub(crate) struct LoosePart {
    /// Triangles of the welded soup, in order, oriented.
    pub triangles: Vec<[u32; 3]>,
    /// Their numbers in the soup.
    pub numbers: Vec<u32>,
    /// Edges with one triangle.
    pub open_edges: usize,
    /// Volume inside, with closed borders, not negative \[m³\].
    pub volume: f64,
    /// Area \[m²\].
    pub area: f64,
    /// Mean winding number just behind its triangles: 1 for a closed surface, ½ for a plane sheet.
    pub closure: f64,
    /// How often it winds around points.
    pub winding: WindingNumber,
}

impl LoosePart {
    /// Volume over area, half the thickness of a slab \[m\].
    pub fn thickness(&self) -> f64 {
        self.volume / self.area.max(f64::MIN_POSITIVE)
    }

    /// Points of some of its triangles with their outward unit normals.
    pub fn samples<'a>(&'a self, positions: &'a [Vec3]) -> impl Iterator<Item = (Vec3, Vec3)> + 'a {
        let step = self.triangles.len().div_ceil(SAMPLES);
        self.triangles.iter().step_by(step).filter_map(|triangle| {
            let [a, b, c] = triangle.map(|v| positions[v as usize]);
            let across = (b - a).cross(c - a);
            let size = across.norm();
            (size > 0.0).then(|| ((a + b + c) / 3.0, across / size))
        })
    }

    /// Several parts as one.
    pub fn joined(parts: &[&Self], positions: &[Vec3]) -> Option<Self> {
        let triangles: Vec<[u32; 3]> = parts.iter().flat_map(|part| part.triangles.iter().copied()).collect();
        let numbers = parts.iter().flat_map(|part| part.numbers.iter().copied()).collect();
        Self::new(triangles, numbers, positions)
    }

    fn new(mut triangles: Vec<[u32; 3]>, numbers: Vec<u32>, positions: &[Vec3]) -> Option<Self> {
        let borders = borders(&triangles);
        let mut volume = capped_volume(&triangles, &borders, positions);
        if volume < 0.0 {
            triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
            volume = -volume;
        }
        let corners = triangles.iter().flatten().map(|&v| positions[v as usize]).collect();
        let surface =
            TriMesh::new(corners, (0..triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect());
        let surface = surface.ok()?;
        let winding = surface.winding_numbers();
        let mut part =
            Self { triangles, numbers, open_edges: borders.len(), volume, area: surface.area(), closure: 1.0, winding };
        if part.open_edges > 0 {
            part.closure = part.closure(positions);
        }
        Some(part)
    }

    /// The mean winding number just behind the triangles, by area.
    fn closure(&self, positions: &[Vec3]) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for triangle in self.triangles.iter().step_by(self.triangles.len().div_ceil(SAMPLES)) {
            let [a, b, c] = triangle.map(|v| positions[v as usize]);
            let across = (b - a).cross(c - a);
            let area = 0.5 * across.norm();
            if area > 0.0 {
                let behind = (a + b + c) / 3.0 - across * (LIFT * area.sqrt() / (2.0 * area));
                sum += area * self.winding.at(behind).clamp(0.0, 1.0);
                total += area;
            }
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

/// The loose parts of triangles over welded vertices, in the order of their first triangles; and how many triangles lay
/// on others.
pub(crate) fn loose_parts(
    positions: &[Vec3],
    triangles: &[[u32; 3]],
    class: impl Fn(usize) -> u32,
) -> (Vec<LoosePart>, usize) {
    let distinct = distinct(triangles);
    let links = links(positions, triangles, &distinct, class);
    let mut parts = Vec::new();
    let mut is_known = vec![false; triangles.len()];
    for &first in &distinct {
        if std::mem::replace(&mut is_known[first as usize], true) {
            continue;
        }
        // Triangles with whether they are turned against the first.
        let mut members = vec![(first, false)];
        let mut queue = VecDeque::from([(first, false)]);
        while let Some((triangle, is_turned)) = queue.pop_front() {
            for &(other, agrees) in &links[triangle as usize] {
                if !std::mem::replace(&mut is_known[other as usize], true) {
                    members.push((other, is_turned == agrees));
                    queue.push_back((other, is_turned == agrees));
                }
            }
        }
        members.sort_unstable();
        let turned = members.iter().filter(|(_, is_turned)| *is_turned).count();
        // Most were meant as they are.
        let turns = 2 * turned > members.len();
        let oriented = members.iter().map(|&(triangle, is_turned)| {
            let [a, b, c] = triangles[triangle as usize];
            if is_turned != turns { [a, c, b] } else { [a, b, c] }
        });
        let (oriented, numbers) = (oriented.collect(), members.iter().map(|&(triangle, _)| triangle).collect());
        parts.extend(LoosePart::new(oriented, numbers, positions));
    }
    (parts, triangles.len() - distinct.len())
}

/// The first of all triangles with the same vertices, in order.
fn distinct(triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut known = std::collections::HashSet::new();
    let is_first = |&number: &u32| {
        let mut corners = triangles[number as usize];
        corners.sort_unstable();
        known.insert(corners)
    };
    (0..triangles.len() as u32).filter(is_first).collect()
}

/// For each triangle those that continue it, and whether their orientations agree. Only triangles of one class do.
fn links(
    positions: &[Vec3],
    triangles: &[[u32; 3]],
    distinct: &[u32],
    class: impl Fn(usize) -> u32,
) -> Vec<Vec<(u32, bool)>> {
    // Ends, class, triangle, and whether the triangle runs from the smaller to the larger.
    let mut edges: Vec<([u32; 3], u32, bool)> = Vec::with_capacity(3 * distinct.len());
    for &number in distinct {
        let [a, b, c] = triangles[number as usize];
        let class = class(number as usize);
        edges.extend([(a, b), (b, c), (c, a)].map(|(a, b)| ([a.min(b), a.max(b), class], number, a < b)));
    }
    edges.sort_unstable();
    let mut links = vec![Vec::new(); triangles.len()];
    let mut link = |a: &([u32; 3], u32, bool), b: &([u32; 3], u32, bool)| {
        links[a.1 as usize].push((b.1, a.2 != b.2));
        links[b.1 as usize].push((a.1, a.2 != b.2));
    };
    let normal = |number: u32| {
        let [a, b, c] = triangles[number as usize].map(|v| positions[v as usize]);
        (b - a).cross(c - a).normalized()
    };
    for group in edges.chunk_by(|a, b| a.0 == b.0) {
        if let [a, b] = group {
            link(a, b);
        } else if group.len() > 2 {
            // The flattest pairs of opposite direction first.
            let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
            for (i, a) in group.iter().enumerate() {
                for (j, b) in group.iter().enumerate().skip(i + 1).filter(|(_, b)| a.2 != b.2) {
                    pairs.push((normal(a.1).dot(normal(b.1)), i, j));
                }
            }
            pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            let mut is_taken = vec![false; group.len()];
            for (_, i, j) in pairs {
                if !is_taken[i] && !is_taken[j] {
                    (is_taken[i], is_taken[j]) = (true, true);
                    link(&group[i], &group[j]);
                }
            }
        }
    }
    links
}

/// Directed edges that no other triangle of the part continues.
fn borders(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut balance: BTreeMap<[u32; 2], i32> = BTreeMap::new();
    for &[a, b, c] in triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            *balance.entry([from.min(to), from.max(to)]).or_default() += if from < to { 1 } else { -1 };
        }
    }
    let directed = balance.into_iter().filter(|(_, balance)| *balance != 0);
    directed.map(|([low, high], balance)| if balance > 0 { [low, high] } else { [high, low] }).collect()
}

/// Volume of triangles with their borders closed by fans from the middle of each.
fn capped_volume(triangles: &[[u32; 3]], borders: &[[u32; 2]], positions: &[Vec3]) -> f64 {
    let origin = triangles.first().map_or(Vec3::zero(), |triangle| positions[triangle[0] as usize]);
    let place = |v: u32| positions[v as usize] - origin;
    let six_volume = |a: Vec3, b: Vec3, c: Vec3| a.dot(b.cross(c));
    let mut total: f64 = triangles.iter().map(|&[a, b, c]| six_volume(place(a), place(b), place(c))).sum();
    // Borders as sets of vertices.
    let mut root: BTreeMap<u32, u32> = borders.iter().flatten().map(|&v| (v, v)).collect();
    fn find(root: &mut BTreeMap<u32, u32>, mut v: u32) -> u32 {
        while root[&v] != v {
            let above = root[&root[&v]];
            root.insert(v, above);
            v = above;
        }
        v
    }
    for &[a, b] in borders {
        let (a, b) = (find(&mut root, a), find(&mut root, b));
        root.insert(a.max(b), a.min(b));
    }
    let mut middles: BTreeMap<u32, (Vec3, f64)> = BTreeMap::new();
    for v in root.keys().copied().collect::<Vec<_>>() {
        let middle = middles.entry(find(&mut root, v)).or_insert((Vec3::zero(), 0.0));
        *middle = (middle.0 + place(v), middle.1 + 1.0);
    }
    for &[a, b] in borders {
        let (sum, count) = middles[&find(&mut root, a)];
        total += six_volume(place(b), place(a), sum / count);
    }
    total / 6.0
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::icosphere;

    use super::*;

    fn ball() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let ball = icosphere(1.0, 8).unwrap();
        (ball.positions().to_vec(), ball.triangles().to_vec())
    }

    /// A ball with every third triangle turned, all doubled, and a fin along its equator: a whole ball and a sheet.
    #[test]
    fn turned_and_doubled_triangles_and_fins_do_not_break_a_part() {
        let (mut positions, triangles) = ball();
        let volume = TriMesh::new(positions.clone(), triangles.clone()).unwrap().volume();
        let mut messy: Vec<[u32; 3]> = triangles.clone();
        let count = triangles.len();
        messy.iter_mut().take(count / 2).step_by(3).for_each(|triangle| triangle.swap(1, 2));
        messy.extend(triangles.iter().map(|&[a, b, c]| [c, b, a]));
        // Fins stand on some edges of the other half.
        for &[a, b, _] in triangles[3 * count / 4..].iter().step_by(50) {
            let tip = (positions[a as usize] + positions[b as usize]) * 0.7;
            positions.push(tip);
            messy.push([a, b, positions.len() as u32 - 1]);
        }
        let (parts, doubled) = loose_parts(&positions, &messy, |_| 0);
        assert_eq!(doubled, count);
        let whole: Vec<&LoosePart> = parts.iter().filter(|part| part.open_edges == 0).collect();
        assert_eq!(whole.len(), 1);
        assert_eq!(whole[0].triangles.len(), count);
        assert!((whole[0].volume - volume).abs() < 1e-12);
        assert!(parts.iter().filter(|part| part.open_edges > 0).all(|part| part.triangles.len() == 1));
    }

    /// A ball without its cap below a plane at −0.8: V = π/3 (2 + 3h − h³), h = 0.8, up to the facets; its winding number
    /// is nearly 1 behind its triangles. A flat sheet has ½.
    #[test]
    fn open_parts_enclose_what_their_closed_borders_do() {
        let (positions, mut triangles) = ball();
        triangles.retain(|t| t.iter().all(|v| positions[*v as usize].z > -0.8));
        let (parts, _) = loose_parts(&positions, &triangles, |_| 0);
        let [part] = &parts[..] else { panic!("{} parts", parts.len()) };
        let h: f64 = 0.8;
        let expected = std::f64::consts::PI / 3.0 * (2.0 + 3.0 * h - h.powi(3));
        assert!((part.volume / expected - 1.0).abs() < 0.03, "{} {expected}", part.volume);
        assert!(part.closure > 0.9 && part.open_edges > 0, "{}", part.closure);
        let grid: Vec<Vec3> = (0..100).map(|k| Vec3::new(f64::from(k % 10), f64::from(k / 10), 0.0)).collect();
        let cells = (0..9).flat_map(|i| (0..9).map(move |j| 10 * i + j));
        let sheet: Vec<[u32; 3]> = cells.flat_map(|k| [[k, k + 1, k + 11], [k, k + 11, k + 10]]).collect();
        let (parts, _) = loose_parts(&grid, &sheet, |_| 0);
        assert!((parts[0].closure - 0.5).abs() < 0.01, "{}", parts[0].closure);
    }
}
