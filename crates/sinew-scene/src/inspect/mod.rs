//! Diagnosis of a mesh: all its problems at once.
//!
//! Reading a mesh for a simulation ends at the first mistake. To repair a mesh, one needs all of them, with their
//! positions and their severity: [`diagnose`] lists them. Cells and points are numbered as in the file, from 0.

mod faces;
mod shape;
mod surface;
mod volume;

use std::collections::BTreeMap;

use sinew_geometry::mesh::MAX_COORDINATE;
use sinew_io::{CellShape, MeshData};
use sinew_math::Vec3;

pub use faces::edges_of;
pub use faces::{Skin, boundary, has_volume, used_bounds, without};
pub use shape::{CellShapeQuality, cell_quality, spread, triangle_angles};

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The mesh cannot be simulated or filled.
    Fatal,
    /// The mesh can be simulated, but may behave badly or differ from the intention.
    Suspect,
    /// Repaired automatically when the mesh is read.
    Repaired,
}

/// Where a problem is.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Its name, such as `cell 12` or `points 3 and 8`.
    pub name: String,
    /// Its position, in the unit of the file.
    pub at: Vec3,
    /// A measure of the problem, such as `smallest angle 0.4°`; may be empty.
    pub detail: String,
}

/// One kind of problem of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// An identifier for programs, such as `degenerate_cells`.
    pub key: &'static str,
    /// A description that follows the count: `cells without volume`.
    pub what: String,
    /// Severity of the problem.
    pub severity: Severity,
    /// Number of occurrences; 0 for problems that are not counted.
    pub count: usize,
    /// Whether there may be more than `count`.
    pub is_at_least: bool,
    /// The worst spots, worst first; at most [`WORST`].
    pub spots: Vec<Spot>,
    /// All cells with this problem.
    pub cells: Vec<u32>,
    /// Edges to show in pictures.
    pub edges: Vec<[Vec3; 2]>,
    /// How to solve the problem.
    pub hint: &'static str,
}

/// Maximum number of spots listed per problem.
pub const WORST: usize = 5;

impl Problem {
    fn new(key: &'static str, severity: Severity, count: usize, what: impl Into<String>) -> Problem {
        let (spots, cells, edges) = (Vec::new(), Vec::new(), Vec::new());
        Problem { key, what: what.into(), severity, count, is_at_least: false, spots, cells, edges, hint: "" }
    }

    fn hint(mut self, hint: &'static str) -> Problem {
        self.hint = hint;
        self
    }
}

/// What a mesh can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It has volume cells: `mesh = { from = "file" }`.
    Simulate,
    /// It is a surface: `mesh = { from = "fill" }`.
    Fill,
    /// It is neither.
    Nothing,
}

/// Result of [`diagnose`].
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Possible use of the mesh.
    pub purpose: Purpose,
    /// The problems, worst first.
    pub problems: Vec<Problem>,
}

impl Diagnosis {
    /// Whether the mesh can be used for its purpose.
    pub fn is_usable(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity != Severity::Fatal)
    }
}

/// Finds all problems of a mesh.
pub fn diagnose(data: &MeshData) -> Diagnosis {
    let mut problems = Vec::new();
    if let Some(problem) = far_points(data) {
        // Lengths, areas and volumes of the rest would overflow.
        let purpose = if has_volume(data) { Purpose::Simulate } else { Purpose::Fill };
        return Diagnosis { purpose, problems: vec![problem] };
    }
    let has_faces = data.groups.iter().any(|group| group.shape.dimension() == 2 && !group.is_empty());
    let purpose = if has_volume(data) {
        volume::check(data, &mut problems);
        Purpose::Simulate
    } else if has_faces {
        surface::check(data, &mut problems);
        Purpose::Fill
    } else {
        problems.push(
            Problem::new("no_cells", Severity::Fatal, 0, "mesh without volume cells and without faces")
                .hint("points and lines alone cannot be simulated"),
        );
        Purpose::Nothing
    };
    check_size(data, &mut problems);
    problems.sort_by_key(|problem| problem.severity);
    Diagnosis { purpose, problems }
}

/// Points so far away that computations with them would overflow.
pub fn far_points(data: &MeshData) -> Option<Problem> {
    let is_far = |p: &&Vec3| !(p.abs().max_component() <= MAX_COORDINATE);
    let first = data.points.iter().position(|p| is_far(&p))?;
    let count = data.points.iter().filter(is_far).count();
    let mut problem =
        Problem::new("far_points", Severity::Fatal, count, format!("points beyond {MAX_COORDINATE:.0e} m"));
    problem.spots.push(Spot { name: format!("point {first}"), at: data.points[first], detail: String::new() });
    Some(problem.hint("check the unit of length"))
}

/// A body of flesh measures between a millimeter and ten meters; other sizes usually mean another unit.
fn check_size(data: &MeshData, problems: &mut Vec<Problem>) {
    let largest = used_bounds(data).size().max_component();
    if largest > 10.0 && largest.is_finite() {
        let what = format!("size of {} m: probably not in meters", short(largest));
        problems.push(
            Problem::new("size", Severity::Suspect, 0, what)
                .hint("`scale = 0.001` in the scene reads it as millimeters"),
        );
    } else if largest < 1e-3 && largest > 0.0 {
        let what = format!("size of {} m: probably not in meters", short(largest));
        problems.push(Problem::new("size", Severity::Suspect, 0, what).hint("set `scale` in the scene"));
    }
}

/// Cells of unsupported kinds.
fn foreign_cells(
    foreign: BTreeMap<CellShape, Vec<u32>>,
    data: &MeshData,
    hint: &'static str,
    problems: &mut Vec<Problem>,
) {
    for (shape, cells) in foreign {
        let mut problem = Problem::new(
            "foreign_cells",
            Severity::Fatal,
            cells.len(),
            format!("cells of the kind \"{}\", which cannot be used here", shape.name()),
        );
        problem.spots = cells.iter().take(1).map(|&cell| spot(data, cell, String::new())).collect();
        problem.cells = cells;
        problems.push(problem.hint(hint));
    }
}

/// A number with four significant digits.
fn short(value: f64) -> String {
    crate::format_number(format!("{value:.3e}").parse().unwrap_or(value))
}

/// A cell and the mean of its corners.
fn spot(data: &MeshData, cell: u32, detail: String) -> Spot {
    let mut left = cell as usize;
    let mut at = Vec3::zero();
    for group in &data.groups {
        if left < group.len() {
            let nodes = group.cell(left);
            at = nodes.iter().map(|&node| data.points[node as usize]).sum::<Vec3>() / nodes.len().max(1) as f64;
            break;
        }
        left -= group.len();
    }
    Spot { name: format!("cell {cell}"), at, detail }
}

/// Points at exactly the position of another: their number, and the first one.
fn coincident(data: &MeshData, is_used: &[bool]) -> (usize, Option<[u32; 2]>) {
    let key = |node: u32| data.points[node as usize].map(|c| c + 0.0).to_array();
    let compare = |a: &u32, b: &u32| {
        let (p, q) = (key(*a), key(*b));
        p[0].total_cmp(&q[0]).then(p[1].total_cmp(&q[1])).then(p[2].total_cmp(&q[2])).then(a.cmp(b))
    };
    let mut order: Vec<u32> = (0..data.points.len() as u32).filter(|&node| is_used[node as usize]).collect();
    sinew_math::parallel::ParallelSlice::par_sort_unstable_by(order.as_mut_slice(), compare);
    let mut found: (usize, Option<[u32; 2]>) = (0, None);
    for pair in order.windows(2).filter(|pair| key(pair[0]) == key(pair[1])) {
        found.0 += 1;
        let earlier = found.1.filter(|known| known[1] < pair[1]);
        found.1 = Some(earlier.unwrap_or([pair[0], pair[1]]));
    }
    found
}

/// Connected parts as lists of cells, largest first. Cells are given with their points.
fn parts<'a>(point_count: usize, cells: impl Iterator<Item = (u32, &'a [u32])> + Clone) -> Vec<Vec<u32>> {
    // Union by index with path halving: shallow enough in practice, and deterministic.
    let mut parent: Vec<u32> = (0..point_count as u32).collect();
    fn root(parent: &mut [u32], mut node: u32) -> u32 {
        while parent[node as usize] != node {
            parent[node as usize] = parent[parent[node as usize] as usize];
            node = parent[node as usize];
        }
        node
    }
    for (_, nodes) in cells.clone() {
        for pair in nodes.windows(2) {
            let (a, b) = (root(&mut parent, pair[0]), root(&mut parent, pair[1]));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (cell, nodes) in cells {
        if let Some(&first) = nodes.first() {
            found.entry(root(&mut parent, first)).or_default().push(cell);
        }
    }
    let mut found: Vec<Vec<u32>> = found.into_values().collect();
    found.sort_by_key(|cells| std::cmp::Reverse(cells.len()));
    found
}

/// Several parts, with their sizes.
fn several_parts(parts: &[Vec<u32>], data: &MeshData, problems: &mut Vec<Problem>) {
    if parts.len() < 2 {
        return;
    }
    let mut problem = Problem::new(
        "parts",
        Severity::Suspect,
        parts.len(),
        "separate parts: they share no point and are not connected",
    );
    let first =
        |cells: &Vec<u32>| cells.first().map(|&cell| spot(data, cell, format!("a part of {} cells", cells.len())));
    problem.spots = parts.iter().filter_map(first).take(WORST).collect();
    problems.push(problem.hint("join points that were meant to be one; `bind` and `attach` connect bodies on purpose"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::procedural::{TetPattern, box_tets, icosphere};
    use sinew_io::VolumeOptions;

    fn block() -> MeshData {
        MeshData::from(&box_tets(Vec3::splat(0.1), [2, 2, 2], TetPattern::Kuhn).unwrap())
    }

    fn keys(data: &MeshData) -> Vec<&'static str> {
        diagnose(data).problems.iter().map(|problem| problem.key).collect()
    }

    #[test]
    fn sound_meshes_have_no_problems() {
        assert_eq!(diagnose(&block()), Diagnosis { purpose: Purpose::Simulate, problems: Vec::new() });
        let ball = MeshData::from(&icosphere(0.1, 4).unwrap());
        assert_eq!(diagnose(&ball), Diagnosis { purpose: Purpose::Fill, problems: Vec::new() });
    }

    /// Each problem alone: [`diagnose`] reports it, and a fatal one is also an error of the volume reader.
    #[test]
    fn each_mistake_is_named_and_agrees_with_the_reader() {
        type Change = fn(&mut MeshData);
        let cases: [(&str, Change); 9] = [
            ("repeated_points", |data| data.groups[0].nodes[1] = data.groups[0].nodes[0]),
            ("degenerate_cells", |data| {
                data.points.push(Vec3::new(0.2, 0.2, 0.0));
                data.push_cell(CellShape::Tet4, &[0, 1, 3, 27]);
                data.points[27] = (data.points[0] + data.points[1]) * 0.5;
            }),
            ("duplicate_cells", |data| {
                let first = data.groups[0].cell(0).to_vec();
                data.push_cell(CellShape::Tet4, &first);
            }),
            ("foreign_cells", |data| data.push_cell(CellShape::Wedge6, &[0, 1, 2, 3, 4, 5])),
            ("turned_cells", |data| data.groups[0].nodes.swap(2, 3)),
            ("unused_points", |data| data.points.push(Vec3::splat(0.05))),
            ("size", |data| data.points.iter_mut().for_each(|p| *p *= 1000.0)),
            ("parts", |data| {
                let shift = data.points.len() as u32;
                let moved: Vec<Vec3> = data.points.iter().map(|p| *p + Vec3::splat(0.3)).collect();
                data.points.extend(moved);
                let nodes: Vec<u32> = data.groups[0].nodes.iter().map(|node| node + shift).collect();
                data.groups[0].nodes.extend(nodes);
            }),
            ("bad_shapes", |data| data.points.iter_mut().for_each(|p| p.z *= 0.01)),
        ];
        for (key, change) in cases {
            let mut data = block();
            change(&mut data);
            let diagnosis = diagnose(&data);
            assert!(keys(&data).contains(&key), "{key}: {:?}", keys(&data));
            let read = data.into_volume(&VolumeOptions::default());
            assert_eq!(diagnosis.is_usable(), read.is_ok(), "{key}: {:?}", read.err());
        }
    }

    /// A node pushed through the opposite face inverts a cell; the reader would only report that two cells overlap.
    #[test]
    fn a_cell_turned_inside_out_is_told_from_one_wound_the_other_way() {
        let mut data = block();
        let nodes = data.groups[0].cell(0).to_vec();
        let corner = nodes.iter().copied().find(|&n| data.points[n as usize].norm() == 0.0).unwrap_or(nodes[0]);
        data.points[corner as usize] = Vec3::splat(0.2);
        let found = keys(&data);
        assert!(found.contains(&"inverted_cells") && !found.contains(&"overlapping_cells"), "{found:?}");
        assert!(!diagnose(&data).is_usable());
    }

    /// A coordinate of 1e308 is finite, but lengths computed from it are not.
    #[test]
    fn points_beyond_any_body_are_all_that_is_told() {
        for mut data in [block(), MeshData::from(&icosphere(0.1, 4).unwrap())] {
            (data.points[3].x, data.points[5].y) = (1e308, -1e308);
            let found = diagnose(&data);
            assert!(!found.is_usable());
            assert_eq!((keys(&data), found.problems[0].count), (vec!["far_points"], 2));
        }
    }

    #[test]
    fn mistakes_of_surfaces_are_named() {
        let ball = MeshData::from(&icosphere(0.1, 4).unwrap());
        let mut open = ball.clone();
        open.groups[0].nodes.truncate(3 * 100);
        assert!(keys(&open).contains(&"open_edges"));
        let mut turned = ball.clone();
        turned.groups[0].nodes.swap(0, 1);
        assert_eq!(keys(&turned), ["inconsistent_edges"]);
        let mut cutting = ball.clone();
        cutting.points[0] *= -1.5;
        assert!(keys(&cutting).contains(&"self_intersections"));
        let mut inside_out = ball;
        inside_out.groups[0].nodes.chunks_exact_mut(3).for_each(|t| t.swap(0, 1));
        let found = diagnose(&inside_out);
        assert!(found.is_usable() && found.problems[0].key == "inside_out", "{found:?}");
    }
}
