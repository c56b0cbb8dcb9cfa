//! Problems of a surface that is to be filled.

use std::collections::BTreeMap;

use sinew_geometry::TriMesh;
use sinew_io::{CellShape, MeshData, triangles_of};
use sinew_math::Vec3;

use super::shape::triangle_angles;
use super::{Problem, Severity, Spot, WORST, coincident, foreign_cells, parts, several_parts, short, spot};

/// Maximum number of self-intersections that are counted: one is an error, more help to find the region.
const COUNTED: usize = 1000;

/// Adds all problems of the faces of a mesh.
pub(super) fn check(data: &MeshData, problems: &mut Vec<Problem>) {
    let mut foreign: BTreeMap<CellShape, Vec<u32>> = BTreeMap::new();
    let mut triangles: Vec<[u32; 3]> = Vec::new();
    let mut owners: Vec<u32> = Vec::new();
    let mut repeated: Vec<u32> = Vec::new();
    let mut is_used = vec![false; data.points.len()];
    for (number, (shape, nodes)) in data.cells().enumerate() {
        let number = number as u32;
        match shape {
            CellShape::Tri3 | CellShape::Quad4 | CellShape::Polygon => {
                nodes.iter().for_each(|&node| is_used[node as usize] = true);
                for triangle in triangles_of(nodes) {
                    if triangle[0] == triangle[1] || triangle[1] == triangle[2] || triangle[2] == triangle[0] {
                        repeated.push(number);
                    } else {
                        triangles.push(triangle);
                        owners.push(number);
                    }
                }
            }
            _ if shape.dimension() < 2 => {}
            _ => foreign.entry(shape).or_default().push(number),
        }
    }
    foreign_cells(
        foreign,
        data,
        "only triangles, quads and polygons make a surface; `skip` leaves a kind out",
        problems,
    );
    if !repeated.is_empty() {
        let mut problem =
            Problem::new("repeated_points", Severity::Fatal, repeated.len(), "faces that name a point twice");
        problem.spots = repeated.iter().take(WORST).map(|&cell| spot(data, cell, String::new())).collect();
        problem.cells = repeated;
        problems.push(problem.hint("remove them"));
    }
    let unused = is_used.iter().filter(|used| !**used).count();
    if unused > 0 {
        problems.push(Problem::new(
            "unused_points",
            Severity::Repaired,
            unused,
            "points that no face uses; they have no effect",
        ));
    }
    let Ok(surface) = TriMesh::new(data.points.clone(), triangles) else { return };
    check_shapes(data, &surface, &owners, problems);
    let Ok((welded, count)) = surface.welded() else { return };
    if count > 0 {
        let (_, first) = coincident(data, &is_used);
        let what = "points at the position of another; they are merged";
        let mut problem = Problem::new("coincident_points", Severity::Repaired, count, what);
        let place = |[a, b]: [u32; 2]| Spot {
            name: format!("points {a} and {b}"),
            at: data.points[a as usize],
            detail: String::new(),
        };
        problem.spots = first.map(place).into_iter().collect();
        problems.push(problem);
    }
    check_edges(&welded, problems);
    check_crossings(&welded, Severity::Fatal, COUNTED, problems);
    let has_holes =
        problems.iter().any(|problem| matches!(problem.key, "open_edges" | "inconsistent_edges" | "branching_edges"));
    if welded.volume() < 0.0 && !has_holes {
        problems.push(Problem::new(
            "inside_out",
            Severity::Repaired,
            0,
            "surface whose faces all point inward; it is filled nevertheless",
        ));
    }
    let numbered = welded.triangles().iter().enumerate().map(|(i, triangle)| (i as u32, triangle.as_slice()));
    let found = parts(welded.vertex_count(), numbered);
    // Welding may remove triangles; indices match those of the file only if it removed none.
    if welded.triangle_count() == owners.len() {
        let named: Vec<Vec<u32>> =
            found.into_iter().map(|part| part.into_iter().map(|t| owners[t as usize]).collect()).collect();
        several_parts(&named, data, problems);
    }
}

fn check_edges(welded: &TriMesh, problems: &mut Vec<Problem>) {
    let topology = welded.topology();
    let kinds = [
        (
            "open_edges",
            topology.boundary_edges,
            "open edges: the surface has holes",
            "close them, or fill with `repair = \"winding\"` (`--repair winding`)",
        ),
        (
            "branching_edges",
            topology.branching_edges,
            "edges with more than two faces",
            "separate the sheets, or fill with `repair = \"winding\"`",
        ),
        (
            "inconsistent_edges",
            topology.inconsistent_edges,
            "edges whose two faces disagree about what is outside",
            "orient the faces, or fill with `repair = \"winding\"`",
        ),
    ];
    for (key, edges, what, hint) in kinds {
        if edges.is_empty() {
            continue;
        }
        let ends = |[a, b]: [u32; 2]| [welded.positions()[a as usize], welded.positions()[b as usize]];
        let mut problem = Problem::new(key, Severity::Fatal, edges.len(), what).hint(hint);
        problem.edges = edges.iter().map(|&edge| ends(edge)).collect();
        let mut longest: Vec<[Vec3; 2]> = problem.edges.clone();
        longest.sort_by(|a, b| b[0].distance(b[1]).total_cmp(&a[0].distance(a[1])));
        let place = |[a, b]: &[Vec3; 2]| Spot {
            name: "edge".into(),
            at: a.lerp(*b, 0.5),
            detail: format!("{} m long", short(a.distance(*b))),
        };
        problem.spots = longest.iter().take(WORST).map(place).collect();
        problems.push(problem);
    }
}

/// Triangles that intersect.
pub(super) fn check_crossings(surface: &TriMesh, severity: Severity, limit: usize, problems: &mut Vec<Problem>) {
    let pairs = surface.self_intersections(limit);
    if pairs.is_empty() {
        return;
    }
    let what = "pairs of faces that intersect";
    let mut problem = Problem::new("self_intersections", severity, pairs.len(), what);
    problem.is_at_least = pairs.len() >= limit;
    let middle = |triangle: u32| surface.corners(triangle as usize).into_iter().sum::<Vec3>() / 3.0;
    let place = |pair: &[u32; 2]| Spot { name: "faces".into(), at: middle(pair[0]), detail: String::new() };
    problem.spots = pairs.iter().take(WORST).map(place).collect();
    problem.edges = pairs
        .iter()
        .flatten()
        .flat_map(|&triangle| {
            let [a, b, c] = surface.corners(triangle as usize);
            [[a, b], [b, c], [c, a]]
        })
        .collect();
    problems.push(problem.hint("pull the parts apart, or join them where they were meant to be one"));
}

/// Triangles without area, and duplicates.
fn check_shapes(data: &MeshData, surface: &TriMesh, owners: &[u32], problems: &mut Vec<Problem>) {
    // Below this fraction of the square of its longest edge a triangle is a line.
    const FLAT: f64 = 1e-10;
    let mut flat: Vec<(u32, f64)> = Vec::new();
    for (triangle, &owner) in owners.iter().enumerate() {
        let [a, b, c] = surface.corners(triangle);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        if (b - a).cross(c - a).norm() <= FLAT * longest * longest {
            flat.push((owner, triangle_angles([a, b, c])[0]));
        }
    }
    if !flat.is_empty() {
        let mut problem = Problem::new("flat_faces", Severity::Suspect, flat.len(), "faces without area");
        problem.cells = flat.iter().map(|(cell, _)| *cell).collect();
        problem.spots = flat.iter().take(WORST).map(|&(cell, _)| spot(data, cell, String::new())).collect();
        problems.push(problem.hint("collapse them in the program that made the surface"));
    }
    let mut order: Vec<([u32; 3], u32)> = surface
        .triangles()
        .iter()
        .zip(owners)
        .map(|(t, &owner)| {
            let mut sorted = *t;
            sorted.sort_unstable();
            (sorted, owner)
        })
        .collect();
    sinew_math::parallel::ParallelSlice::par_sort_unstable(order.as_mut_slice());
    let copies: Vec<(u32, u32)> = order
        .chunk_by(|a, b| a.0 == b.0)
        .flat_map(|group| group[1..].iter().map(|(_, owner)| (*owner, group[0].1)))
        .collect();
    if !copies.is_empty() {
        let mut problem =
            Problem::new("duplicate_faces", Severity::Suspect, copies.len(), "faces with the same points as another");
        problem.cells = copies.iter().map(|(cell, _)| *cell).collect();
        problem.spots =
            copies.iter().take(WORST).map(|&(cell, other)| spot(data, cell, format!("same as cell {other}"))).collect();
        problems.push(problem.hint("remove them"));
    }
}
