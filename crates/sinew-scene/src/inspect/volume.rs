//! Problems of the tetrahedra and hexahedra of a mesh.

use std::collections::BTreeMap;

use sinew_geometry::mesh::{MAX_CELL_NODES, tet10_jacobians};
use sinew_geometry::{CellKind, TriMesh};
use sinew_io::{CellShape, MeshData};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::shape::{cell_quality, hex_jacobians, longest_edge};
use super::{Problem, Severity, Spot, WORST, coincident, foreign_cells, parts, several_parts, spot};

/// Below this fraction of the cube of its longest edge a cell has no volume; the same value as in the mesh reader.
const DEGENERATE_FRACTION: f64 = 1e-12;

/// Angles between faces beyond which cells behave badly \[rad\]: 5° from flat.
const WORST_ANGLE: f64 = 5.0 * std::f64::consts::PI / 180.0;

/// Aspect beyond which cells behave badly.
const WORST_ASPECT: f64 = 20.0;

/// Maximum number of self-intersections of the boundary that are counted.
const COUNTED: usize = 1000;

/// A cell without problems of its own.
struct Cell {
    number: u32,
    kind: CellKind,
    /// Nodes, reordered so that the volume is positive.
    nodes: [u32; MAX_CELL_NODES],
    was_turned: bool,
}

impl Cell {
    fn nodes(&self) -> &[u32] {
        &self.nodes[..self.kind.nodes_per_cell()]
    }

    fn sorted(&self) -> [u32; MAX_CELL_NODES] {
        let mut sorted = self.nodes;
        sorted.sort_unstable();
        sorted
    }
}

/// Adds all problems of the volume of a mesh.
pub(super) fn check(data: &MeshData, problems: &mut Vec<Problem>) {
    let (cells, is_used) = single_cells(data, problems);
    let cells = unique_cells(data, cells, problems);
    check_faces(data, &cells, problems);
    check_shapes(data, &cells, problems);
    let unused = is_used.iter().filter(|used| !**used).count();
    if unused > 0 && !cells.is_empty() {
        problems.push(Problem::new(
            "unused_points",
            Severity::Repaired,
            unused,
            "points that no volume cell uses; they are dropped",
        ));
    }
    let (count, first) = coincident(data, &is_used);
    if let Some([a, b]) = first {
        let mut problem = Problem::new(
            "coincident_points",
            Severity::Suspect,
            count,
            "points at the position of another: cells are not connected there",
        );
        problem.spots.push(Spot {
            name: format!("points {a} and {b}"),
            at: data.points[a as usize],
            detail: String::new(),
        });
        problems.push(problem.hint("merge equal points in the program that made the mesh, unless a slit is intended"));
    }
    several_parts(&parts(data.points.len(), cells.iter().map(|cell| (cell.number, cell.nodes()))), data, problems);
    if problems.iter().all(|problem| problem.severity != Severity::Fatal) {
        check_boundary(data, &cells, problems);
    }
}

/// Checks each cell alone; returns the valid ones, and for each point whether a volume cell uses it.
fn single_cells(data: &MeshData, problems: &mut Vec<Problem>) -> (Vec<Cell>, Vec<bool>) {
    let mut is_used = vec![false; data.points.len()];
    let is_simulated = |shape| matches!(shape, CellShape::Tet4 | CellShape::Tet10 | CellShape::Hex8);
    for group in data.groups.iter().filter(|group| is_simulated(group.shape)) {
        group.nodes.iter().for_each(|&node| is_used[node as usize] = true);
    }
    let mut foreign: BTreeMap<CellShape, Vec<u32>> = BTreeMap::new();
    let (mut repeated, mut degenerate, mut folded, mut turned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut cells = Vec::new();
    for (number, (shape, nodes)) in data.cells().enumerate() {
        let number = number as u32;
        let kind = match shape {
            CellShape::Tet4 => CellKind::Tet4,
            CellShape::Tet10 => CellKind::Tet10,
            CellShape::Hex8 => CellKind::Hex8,
            // Points, lines and faces on the volume are markers.
            _ if shape.dimension() < 3 && nodes.iter().all(|&node| is_used[node as usize]) => continue,
            _ => {
                foreign.entry(shape).or_default().push(number);
                continue;
            }
        };
        if let Some(&node) = nodes.iter().enumerate().find(|(i, node)| nodes[..*i].contains(node)).map(|(_, node)| node)
        {
            repeated.push((number, 0.0, format!("point {node}")));
            continue;
        }
        let mut corners = [Vec3::zero(); MAX_CELL_NODES];
        for (corner, &node) in corners.iter_mut().zip(nodes) {
            *corner = data.points[node as usize];
        }
        let corners = &corners[..nodes.len()];
        let limit = DEGENERATE_FRACTION * longest_edge(kind, corners).powi(3);
        let volume = kind.volume(corners);
        if !(volume.abs() > limit) {
            degenerate.push((number, volume.abs(), format!("volume {volume:.1e} m³")));
            continue;
        }
        let jacobians = match kind {
            CellKind::Tet4 => None,
            CellKind::Tet10 => Some(tet10_jacobians(corners)),
            CellKind::Hex8 => Some(hex_jacobians(corners)),
        };
        if let Some([low, high]) = jacobians.filter(|[low, high]| *low <= limit && *high >= -limit) {
            folded.push((number, low / high, format!("corner Jacobians {low:.1e} to {high:.1e} m³")));
            continue;
        }
        let mut cell = Cell { number, kind, nodes: [u32::MAX; MAX_CELL_NODES], was_turned: volume < 0.0 };
        cell.nodes[..nodes.len()].copy_from_slice(nodes);
        if cell.was_turned {
            turned.push(number);
            match kind {
                CellKind::Tet4 => cell.nodes.swap(2, 3),
                CellKind::Tet10 => {
                    cell.nodes.swap(2, 3);
                    cell.nodes.swap(5, 8);
                    cell.nodes.swap(6, 7);
                }
                CellKind::Hex8 => cell.nodes[..8].rotate_left(4),
            }
        }
        cells.push(cell);
    }
    let hint = "convert them in the program that made the mesh, or leave them out with `skip` (`--skip` of `sinew mesh convert`)";
    foreign_cells(foreign, data, hint, problems);
    add_cells(
        data,
        problems,
        Problem::new("repeated_points", Severity::Fatal, repeated.len(), "cells that name a point twice"),
        repeated,
    );
    let hint = "remove them, or smooth the mesh in the program that made it";
    let problem =
        Problem::new("degenerate_cells", Severity::Fatal, degenerate.len(), "cells without volume").hint(hint);
    add_cells(data, problems, problem, degenerate);
    let problem = Problem::new(
        "folded_cells",
        Severity::Fatal,
        folded.len(),
        "hexahedra or quadratic tetrahedra that are folded: a corner is inverted",
    );
    add_cells(
        data,
        problems,
        problem.hint("check the order of their nodes: hexahedra have the bottom four, then the four above them; quadratic tetrahedra have the corners, then the edge midpoints"),
        folded,
    );
    if !turned.is_empty() {
        let what = "cells with mirrored node order; they are reordered";
        let mut problem = Problem::new("turned_cells", Severity::Repaired, turned.len(), what);
        problem.spots = turned.iter().take(1).map(|&cell| spot(data, cell, String::new())).collect();
        problems.push(problem);
    }
    (cells, is_used)
}

/// Adds a problem of cells if there are any. Each cell has a number that is smaller for worse cells.
fn add_cells(data: &MeshData, problems: &mut Vec<Problem>, mut problem: Problem, mut found: Vec<(u32, f64, String)>) {
    if found.is_empty() {
        return;
    }
    problem.count = found.len();
    problem.cells = found.iter().map(|(cell, ..)| *cell).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    problem.spots = found.into_iter().take(WORST).map(|(cell, _, detail)| spot(data, cell, detail)).collect();
    problems.push(problem);
}

/// Removes cells that have the nodes of an earlier one, because their other problems follow from that.
fn unique_cells(data: &MeshData, cells: Vec<Cell>, problems: &mut Vec<Problem>) -> Vec<Cell> {
    let mut order: Vec<([u32; MAX_CELL_NODES], u32)> = cells.iter().map(|cell| (cell.sorted(), cell.number)).collect();
    order.par_sort_unstable();
    let mut copies: Vec<(u32, f64, String)> = order
        .chunk_by(|a, b| a.0 == b.0)
        .flat_map(|group| {
            group[1..].iter().map(|(_, cell)| (*cell, f64::from(*cell), format!("same as cell {}", group[0].1)))
        })
        .collect();
    if copies.is_empty() {
        return cells;
    }
    copies.sort_unstable_by_key(|copy| copy.0);
    let cells =
        cells.into_iter().filter(|cell| copies.binary_search_by_key(&cell.number, |copy| copy.0).is_err()).collect();
    let problem =
        Problem::new("duplicate_cells", Severity::Fatal, copies.len(), "cells with the same points as another");
    add_cells(data, problems, problem.hint("remove them"), copies);
    cells
}

/// A face of a cell: its sorted points, the cell, and whether it has the orientation of the sorted points.
type FaceUse = ([u32; 4], u32, bool);

/// Each face has one cell, or two on opposite sides.
fn check_faces(data: &MeshData, cells: &[Cell], problems: &mut Vec<Problem>) {
    let mut uses: Vec<FaceUse> = Vec::with_capacity(4 * cells.len());
    for (index, cell) in cells.iter().enumerate() {
        for face in cell.kind.faces() {
            let mut nodes = [u32::MAX; 4];
            for (slot, &local) in nodes.iter_mut().zip(face.iter()) {
                *slot = cell.nodes[local];
            }
            let count = face.len();
            let start = (0..count).min_by_key(|&i| nodes[i]).unwrap_or(0);
            let (next, previous) = (nodes[(start + 1) % count], nodes[(start + count - 1) % count]);
            let mut key = nodes;
            key.sort_unstable();
            uses.push((key, index as u32, next < previous));
        }
    }
    uses.par_sort_unstable();
    let (mut crowded, mut inverted, mut overlapping) = (Vec::new(), Vec::new(), Vec::new());
    for group in uses.chunk_by(|a, b| a.0 == b.0) {
        let number = |face: &FaceUse| cells[face.1 as usize].number;
        match group {
            [a, b] if a.2 == b.2 => {
                let (first, second) = (&cells[a.1 as usize], &cells[b.1 as usize]);
                // A cell that fits its neighbor only in its original node order does not have mirrored nodes: it is
                // inverted.
                match (first.was_turned, second.was_turned) {
                    (true, false) => inverted.push(first.number),
                    (false, true) => inverted.push(second.number),
                    _ => overlapping.push((
                        second.number,
                        f64::from(second.number),
                        format!("with cell {}", first.number),
                    )),
                }
            }
            [_] | [_, _] => {}
            [a, b, c, ..] => {
                crowded.push((number(c), f64::from(number(c)), format!("with cells {} and {}", number(a), number(b))));
            }
            [] => {}
        }
    }
    inverted.sort_unstable();
    inverted.dedup();
    let size = |cell: u32| {
        let at = cells.binary_search_by_key(&cell, |known| known.number).ok()?;
        let corners: Vec<Vec3> = cells[at].nodes().iter().map(|&node| data.points[node as usize]).collect();
        Some(-cells[at].kind.volume(&corners))
    };
    let found = inverted.iter().map(|&cell| {
        let volume = size(cell).unwrap_or(0.0);
        (cell, volume, format!("volume {volume:.1e} m³"))
    });
    let found: Vec<_> = found.collect();
    if !found.is_empty() {
        // They were counted among the reordered cells; reordering does not help them.
        for problem in problems.iter_mut().filter(|problem| problem.key == "turned_cells") {
            problem.count -= found.len().min(problem.count);
        }
        problems.retain(|problem| problem.key != "turned_cells" || problem.count > 0);
    }
    let what = "inverted cells: a point lies on the wrong side of the opposite face";
    let problem = Problem::new("inverted_cells", Severity::Fatal, found.len(), what);
    add_cells(
        data,
        problems,
        problem.hint("move the point back, or smooth the mesh in the program that made it"),
        found,
    );
    let what = "cells on the same side of a face they share with another: they overlap";
    add_cells(data, problems, Problem::new("overlapping_cells", Severity::Fatal, overlapping.len(), what), overlapping);
    let what = "faces with more than two cells";
    let count = crowded.len();
    let mut problem = Problem::new("crowded_faces", Severity::Fatal, count, what)
        .hint("a face has only two sides: separate the cells");
    problem.count = count;
    add_cells(data, problems, problem, crowded);
}

/// Cells that are nearly flat.
fn check_shapes(data: &MeshData, cells: &[Cell], problems: &mut Vec<Problem>) {
    let found: Vec<(u32, f64, String)> = cells
        .par_iter()
        .filter_map(|cell| {
            let corners: Vec<Vec3> = cell.nodes().iter().map(|&node| data.points[node as usize]).collect();
            let quality = cell_quality(cell.kind, &corners);
            let is_bad = quality.margin() < WORST_ANGLE || quality.aspect > WORST_ASPECT;
            is_bad.then(|| {
                let (least, most) = (quality.min_angle.to_degrees(), quality.max_angle.to_degrees());
                (
                    cell.number,
                    quality.margin(),
                    format!("angles {least:.2}° to {most:.2}°, aspect {:.0}", quality.aspect),
                )
            })
        })
        .collect();
    let what = "badly shaped cells: angles within 5° of flat, or an aspect above 20";
    let problem = Problem::new("bad_shapes", Severity::Suspect, found.len(), what);
    add_cells(
        data,
        problems,
        problem.hint("they cost accuracy and time; remesh with a size that fits the thinnest part"),
        found,
    );
}

/// The boundary may touch or intersect itself although every cell is valid.
fn check_boundary(data: &MeshData, cells: &[Cell], problems: &mut Vec<Problem>) {
    let mut uses: Vec<([u32; 4], [u32; 4])> = Vec::with_capacity(4 * cells.len());
    for cell in cells {
        for face in cell.kind.faces() {
            let mut nodes = [u32::MAX; 4];
            for (slot, &local) in nodes.iter_mut().zip(face.iter()) {
                *slot = cell.nodes[local];
            }
            let mut key = nodes;
            key.sort_unstable();
            uses.push((key, nodes));
        }
    }
    uses.par_sort_unstable();
    let mut triangles = Vec::new();
    for group in uses.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() == 1) {
        let [a, b, c, d] = group[0].1;
        triangles.push([a, b, c]);
        if d != u32::MAX {
            triangles.push([a, c, d]);
        }
    }
    let Ok(surface) = TriMesh::new(data.points.clone(), triangles) else { return };
    super::surface::check_crossings(&surface, Severity::Suspect, COUNTED, problems);
    let branching = surface.topology().branching_edges;
    if let Some(&[a, b]) = branching.first() {
        let edge = |[a, b]: [u32; 2]| [data.points[a as usize], data.points[b as usize]];
        let what = "edges where the body touches itself along a line only";
        let mut problem = Problem::new("hinges", Severity::Suspect, branching.len(), what);
        let at = data.points[a as usize].lerp(data.points[b as usize], 0.5);
        problem.spots.push(Spot { name: format!("points {a} and {b}"), at, detail: String::new() });
        problem.edges = branching.into_iter().map(edge).collect();
        problems.push(problem.hint("cells that share an edge but no face turn about it like a hinge"));
    }
}
