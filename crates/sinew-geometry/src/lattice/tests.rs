//! Lattices over bodies with known parts, volumes and neighbors.

use std::collections::{HashMap, HashSet};

use sinew_math::{Quaternion, Vec3};

use super::*;
use crate::fill::{CubeGrid, Enclosure, Repair};
use crate::mesh::{Components, TriMesh};
use crate::procedural::{box_surface, icosphere, torus_surface};
use crate::shape::{AnyShape, Capsule};

fn filled(surface: &TriMesh, cell: f64) -> LatticeFilling {
    let filling = HexLattice::from_surface(surface, cell, &LatticeOptions::default()).unwrap();
    check(surface, &filling);
    filling
}

fn stuck(surface: &TriMesh, cell: f64) -> LatticeFilling {
    let options = LatticeOptions { separate: false, ..LatticeOptions::default() };
    let filling = HexLattice::from_surface(surface, cell, &options).unwrap();
    check(surface, &filling);
    filling
}

/// Invariants of every lattice, on every level.
fn check(surface: &TriMesh, filling: &LatticeFilling) {
    check_lattice(&filling.lattice);
    let lattice = &filling.lattice;
    for (point, x) in filling.embedding.iter().zip(surface.positions()) {
        let nodes = lattice.cells[point.cell as usize].nodes;
        let placed: Vec3 = (0..8).map(|k| lattice.node_position(nodes[k] as usize) * point.weights()[k]).sum();
        assert!(placed.distance(*x) < 1e-12);
        assert!(point.local.iter().all(|c| (-1e-8..=1.0 + 1e-8).contains(c)));
    }
    let mut fine = lattice.clone();
    for _ in 0..5 {
        let coarsening = fine.coarsen();
        check_lattice(&coarsening.lattice);
        check_coarsening(&fine, &coarsening);
        fine = coarsening.lattice;
    }
}

fn check_lattice(lattice: &HexLattice) {
    assert!(
        lattice.cells.is_sorted_by_key(|cell| cell.place)
            && lattice.node_places.is_sorted_by_key(|[x, y, z]| [z, y, x])
    );
    let mut is_used = vec![false; lattice.node_places.len()];
    for cell in &lattice.cells {
        assert!((0..3).all(|axis| (cell.place[axis] as usize) < lattice.cubes[axis]));
        assert!(cell.fraction > 0.0 && cell.fraction <= 1.0);
        for (corner, node) in cell.nodes.iter().enumerate() {
            is_used[*node as usize] = true;
            assert_eq!(lattice.node_places[*node as usize], super::nodes::corner_place(cell.place, corner));
        }
    }
    assert!(is_used.iter().all(|is_used| *is_used));
}

/// Each fine node has the same coarse nodes in all its cells; their weights sum to one and reproduce linear functions
/// exactly.
fn check_coarsening(fine: &HexLattice, Coarsening { lattice, parent, prolongation }: &Coarsening) {
    assert_eq!(lattice.cubes, fine.cubes.map(|n| n.div_ceil(2)));
    assert_eq!(prolongation.node_count(), fine.node_places.len());
    for (cell, parent) in fine.cells.iter().zip(parent) {
        let coarse = &lattice.cells[*parent as usize];
        assert_eq!(coarse.place, cell.place.map(|i| i / 2));
        for node in cell.nodes {
            let place = fine.node_places[node as usize];
            let mut expected = Vec::new();
            for corner in 0..8 {
                let distance = |axis: usize| {
                    let at = 2 * coarse.place[axis] + 2 * (corner >> axis & 1);
                    f64::from(at.abs_diff(place[axis]))
                };
                let weight: f64 = (0..3).map(|axis| (1.0 - 0.5 * distance(axis)).max(0.0)).product();
                if weight > 0.0 {
                    expected.push((coarse.nodes[corner as usize], weight));
                }
            }
            let row: Vec<(u32, f64)> = prolongation.row(node as usize).collect();
            assert_eq!(row, expected);
            assert_eq!(row.iter().map(|(_, weight)| weight).sum::<f64>(), 1.0);
            let carried: Vec3 = row.iter().map(|(node, weight)| lattice.node_position(*node as usize) * *weight).sum();
            assert!(carried.distance(fine.node_position(node as usize)) < 1e-12);
        }
    }
    let (below, above) = (fine.volume(), lattice.volume());
    // Sums of thousands of single-precision fractions.
    assert!((above / below - 1.0).abs() < 1e-4, "{below} becomes {above}");
}

/// The union of the selected boxes \[x, x'\]×\[y, y'\]×\[z, z'\] between the given coordinates; they must not meet in
/// an edge alone.
fn boxes(axes: [&[f64]; 3], is_solid: impl Fn(usize, usize, usize) -> bool) -> TriMesh {
    let counts = axes.map(|axis| axis.len() as i64 - 1);
    let solid = |p: [i64; 3]| {
        (0..3).all(|a| p[a] >= 0 && p[a] < counts[a]) && is_solid(p[0] as usize, p[1] as usize, p[2] as usize)
    };
    let mut vertices = HashMap::new();
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    for i in 0..counts[0] {
        for j in 0..counts[1] {
            for k in 0..counts[2] {
                for face in (0..6).filter(|_| solid([i, j, k])) {
                    let mut next = [i, j, k];
                    next[face / 2] += if face % 2 == 1 { 1 } else { -1 };
                    if solid(next) {
                        continue;
                    }
                    let [a, b, c, d] = super::hex_lattice::face_corners(face).map(|corner| {
                        let p = [0, 1, 2].map(|axis| [i, j, k][axis] as usize + (corner >> axis & 1));
                        *vertices.entry(p).or_insert_with(|| {
                            positions.push(Vec3::new(axes[0][p[0]], axes[1][p[1]], axes[2][p[2]]));
                            positions.len() as u32 - 1
                        })
                    });
                    triangles.extend([[a, b, c], [a, c, d]]);
                }
            }
        }
    }
    TriMesh::new(positions, triangles).unwrap()
}

/// A palm below y = 0.5 and two fingers above, `gap` apart.
fn two_fingers(gap: f64) -> TriMesh {
    boxes([&[0.0, 0.3, 0.3 + gap, 0.6 + gap], &[0.0, 0.5, 1.5], &[0.0, 0.27]], |i, j, _| j == 0 || i != 1)
}

fn turned(surface: &TriMesh, angle: f64) -> TriMesh {
    let rotation = Quaternion::from_axis_angle(Vec3::new(0.3, -0.5, 0.8).normalized(), angle);
    surface.mapped(|x| rotation.rotate(x)).unwrap()
}

/// Components of the selected cells, by shared nodes.
fn parts_of(lattice: &HexLattice, is_chosen: impl Fn(&LatticeCell) -> bool) -> Components {
    let chosen: Vec<&[u32]> = lattice.cells.iter().filter(|c| is_chosen(c)).map(|c| c.nodes.as_slice()).collect();
    Components::new(lattice.node_places.len(), chosen.into_iter())
}

fn center(lattice: &HexLattice, cell: &LatticeCell) -> Vec3 {
    lattice.origin + (Vec3::from(cell.place.map(f64::from)) + Vec3::splat(0.5)) * lattice.cell
}

/// Each shared corner of a box of cubes is one node: (n + 1)³ of them.
#[test]
fn dense_lattice_has_one_node_per_corner() {
    let lattice = HexLattice::dense(Vec3::new(1.0, 2.0, 3.0), 0.5, [5, 3, 4]).unwrap();
    check_lattice(&lattice);
    assert_eq!((lattice.cells.len(), lattice.node_places.len()), (60, 6 * 4 * 5));
    assert_eq!(lattice.surface_faces().len(), 2 * (15 + 20 + 12));
    assert_eq!(lattice.cells_at([2, 1, 3]).count(), 1);
    assert_eq!(lattice.cells_at([5, 0, 0]).count(), 0);
    let at = |place| lattice.cells_at(place).next().unwrap();
    assert!(lattice.are_neighbors(at([1, 1, 1]), at([2, 2, 2])));
    assert!(!lattice.are_neighbors(at([1, 1, 1]), at([3, 1, 1])));
    assert!(!lattice.are_neighbors(0, 60));
    let coarsening = lattice.coarsen();
    check_coarsening(&lattice, &coarsening);
    assert_eq!(coarsening.lattice.cells.len(), 3 * 2 * 2);
}

/// Outward normals: the faces of a closed lattice enclose its volume, V = ⅓ Σ x · n A.
#[test]
fn surface_faces_enclose_the_volume_of_the_lattice() {
    let filling = filled(&torus_surface(0.3, 0.1, 0.03).unwrap(), 0.04);
    let lattice = &filling.lattice;
    let mut volume = 0.0;
    for face in lattice.surface_faces() {
        let [a, b, c, d] = face.nodes.map(|node| lattice.node_position(node as usize));
        volume += (a.dot(b.cross(c)) + a.dot(c.cross(d))) / 6.0;
    }
    assert!((volume / filling.report.surface.lattice_volume - 1.0).abs() < 1e-12);
}

/// Cells weighted by their fraction add up to the body; lines through a smooth body are far more accurate than a cell.
#[test]
fn fractions_give_the_volume_of_a_sphere() {
    let surface = icosphere(1.0, 12).unwrap();
    for cell in [0.4, 0.1] {
        let filling = filled(&surface, cell);
        let ratio = filling.lattice.volume() / surface.volume();
        assert!((ratio - 1.0).abs() < 0.01, "{ratio} with cells of {cell}");
        assert_eq!(filling.report.split_cubes, 0);
        assert_eq!(filling.report.surface.component_count, 1);
        // Nothing is split, so separation changes nothing.
        assert!(filling.lattice == stuck(&surface, cell).lattice);
    }
}

#[test]
fn box_along_lattice_planes_is_the_dense_lattice() {
    for size in [[10, 10, 1], [4, 3, 2], [1, 1, 1], [1, 7, 1]] {
        let surface = box_surface(Vec3::from(size.map(|n| 0.1 * n as f64)), [2, 1, 3]).unwrap();
        let lattice = filled(&surface, 0.1).lattice;
        assert!(lattice == HexLattice::dense(lattice.origin, 0.1, size).unwrap());
    }
}

/// Labels: the finger of each fine cell, and on coarser levels the finger of all its children.
fn check_fingers(lattice: &HexLattice, is_finger: impl Fn(Vec3) -> bool, is_first: impl Fn(Vec3) -> bool) {
    let is_free = |cell: &LatticeCell| (0..8).all(|k| is_finger(lattice.node_position(cell.nodes[k] as usize)));
    let components = parts_of(lattice, is_free);
    assert_eq!(components.count, 2);
    let mut free = components.component_of.iter();
    let mut labels: Vec<Option<u32>> =
        lattice.cells.iter().map(|cell| if is_free(cell) { free.next().copied() } else { None }).collect();
    // The labels follow the fingers: cells across the gap have the other label.
    let sides: HashSet<(bool, u32)> = lattice
        .cells
        .iter()
        .zip(&labels)
        .filter(|(cell, _)| lattice.cells_at(cell.place).count() == 1)
        .filter_map(|(cell, label)| Some((is_first(center(lattice, cell)), (*label)?)))
        .collect();
    assert_eq!(sides.len(), 2);

    let mut fine = lattice.clone();
    let mut met = 0;
    while fine.cubes != [1, 1, 1] {
        let Coarsening { lattice: coarse, parent, .. } = fine.coarsen();
        let mut coarse_labels: Vec<Vec<Option<u32>>> = vec![vec![]; coarse.cells.len()];
        for (label, parent) in labels.iter().zip(&parent) {
            coarse_labels[*parent as usize].push(*label);
        }
        labels = coarse_labels.iter().map(|all| all[0].filter(|_| all.iter().all(|l| *l == all[0]))).collect();
        // Where the fingers meet the palm, they share the palm.
        let labeled = coarse.cells.iter().zip(&labels);
        let palm: HashSet<u32> = labeled.filter(|(_, l)| l.is_none()).flat_map(|(cell, _)| cell.nodes).collect();
        for a in 0..coarse.cells.len() {
            for b in (0..a).filter(|b| labels[a].is_some() && labels[*b].is_some() && labels[a] != labels[*b]) {
                let is_shared = |node: &&u32| coarse.cells[b].nodes.contains(node) && !palm.contains(node);
                assert_eq!(coarse.cells[a].nodes.iter().find(is_shared), None);
                met += usize::from(coarse.cells[a].place == coarse.cells[b].place && !coarse.are_neighbors(a, b));
            }
        }
        assert_eq!(parts_of(&coarse, |_| true).count, 1);
        fine = coarse;
    }
    // Otherwise no cube would contain both fingers, and the test would prove nothing.
    assert!(met > 0);
}

#[test]
fn fingers_in_one_cube_share_no_nodes_on_any_level() {
    let cell = 0.1;
    for angle in [0.0, 0.4, 1.1, 2.0, 2.6] {
        let up = turned(&two_fingers(0.0401), angle);
        let rotation = Quaternion::from_axis_angle(Vec3::new(0.3, -0.5, 0.8).normalized(), angle);
        let hand = |x: Vec3| rotation.conjugate().rotate(x);
        let filling = filled(&up, cell);
        assert!(filling.report.split_cubes > 0);
        assert_eq!(filling.report.surface.component_count, 1);
        // Cells that extend into the palm belong to both fingers, with nodes up to a diagonal above.
        check_fingers(&filling.lattice, |x| hand(x).y > 0.675, |x| hand(x).x < 0.32);
        // The edges of the body run between two lines.
        let ratio = filling.lattice.volume() / up.volume();
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");

        let glued = stuck(&up, cell).lattice;
        let above = |c: &LatticeCell| (0..8).all(|k| hand(glued.node_position(c.nodes[k] as usize)).y > 0.675);
        assert_eq!(parts_of(&glued, above).count, 1);
    }
}

/// Round fingers that extend into the palm: the surface crosses itself, and the winding number defines the flesh.
#[test]
fn capsule_fingers_on_a_palm_are_apart_by_winding_number() {
    let capsule = AnyShape::Capsule(Capsule { radius: 0.15, half_length: 0.5 }).surface().unwrap();
    let palm =
        box_surface(Vec3::new(0.8, 0.4, 0.4), [1, 1, 1]).unwrap().mapped(|x| x - Vec3::new(0.45, 0.2, 0.4)).unwrap();
    let mut positions = palm.positions().to_vec();
    let mut triangles = palm.triangles().to_vec();
    for x in [-0.17, 0.17] {
        let offset = positions.len() as u32;
        positions.extend(capsule.positions().iter().map(|p| *p + Vec3::new(x, 0.013, 0.45)));
        triangles.extend(capsule.triangles().iter().map(|t| t.map(|v| v + offset)));
    }
    let hand = TriMesh::new(positions, triangles).unwrap();
    let options = LatticeOptions { repair: Repair::Winding, ..LatticeOptions::default() };
    let filling = HexLattice::from_surface(&hand, 0.1, &options).unwrap();
    check(&hand, &filling);
    assert!(filling.report.surface.self_intersections > 0);
    assert_eq!(filling.report.surface.component_count, 1);
    check_fingers(&filling.lattice, |x| x.z > 0.101, |x| x.x < 0.0);
}

/// A sheet a fifth of a cell thick, folded three times with gaps of a tenth: each layer is a separate plate.
#[test]
fn folded_sheet_has_a_cell_per_layer() {
    let (thick, gap) = (0.02, 0.01);
    let mut z = vec![0.0];
    for layer in 0..4 {
        z.push(z[2 * layer] + thick);
        z.push(z[2 * layer + 1] + gap);
    }
    z.pop();
    // Gaps are closed alternately at their right and left ends.
    let solid = |i: usize, k: usize| k.is_multiple_of(2) || if k % 4 == 1 { i == 2 } else { i == 0 };
    let sheet = boxes([&[0.0, 0.1, 0.9, 1.0], &[0.0, 0.5], &z], |i, _, k| solid(i, k));
    for angle in [0.0, 0.3, 0.9, 1.7, 2.2, 2.9] {
        let rotation = Quaternion::from_axis_angle(Vec3::new(0.3, -0.5, 0.8).normalized(), angle);
        let sheet = turned(&sheet, angle);
        let filling = filled(&sheet, 0.1);
        assert_eq!(filling.report.surface.component_count, 1);
        let lattice = &filling.lattice;
        let middle = |c: &LatticeCell| {
            (0..8).all(|k| {
                let x = rotation.conjugate().rotate(lattice.node_position(c.nodes[k] as usize)).x;
                // Cells that extend into a fold have nodes up to a diagonal away.
                x > 0.275 && x < 0.725
            })
        };
        assert_eq!(parts_of(lattice, middle).count, 4, "angle {angle}");
        let ratio = lattice.volume() / sheet.volume();
        assert!((ratio - 1.0).abs() < 0.03, "{ratio} at angle {angle}");
    }
}

/// The parts of each cube against the known layers of a stack of sheets: parts with two layers are forbidden, layers
/// split into two parts are counted.
fn count_split_layers(sheets: &TriMesh, cell: f64, layer_of: impl Fn(Vec3) -> u32) -> (usize, usize) {
    let bounds = sheets.bounds();
    let grid = CubeGrid::centered(&bounds, cell, CubeGrid::counts(bounds.size(), cell, 0.0)).unwrap();
    let winding = sheets.winding_numbers();
    let cuts = super::cuts::Cuts::new(&grid, sheets);
    let columns = super::columns::Columns::new(&grid, sheets, &winding, Enclosure::Watertight);
    let mut finder = super::parts::PartFinder::new(&grid, sheets, &columns, &cuts);
    let (mut split, mut total) = (0, 0);
    for cut in 0..cuts.cubes.len() {
        let parts = finder.find(cut);
        let mut layer_of_part = HashMap::new();
        for (triangle, part) in cuts.triangles(cut).iter().zip(&parts.part_of_triangle) {
            let layer = layer_of(sheets.corners(*triangle as usize)[0]);
            assert_eq!(*layer_of_part.entry(part).or_insert(layer), layer);
        }
        let layers: HashSet<u32> = layer_of_part.values().copied().collect();
        split += parts.fractions.len() - layers.len();
        total += layers.len();
    }
    (split, total)
}

/// For any direction, thickness and gap: sheets never stick, and hardly any sheet is torn.
#[test]
fn parts_of_a_cube_are_the_sheets_that_pass_it() {
    let (mut split, mut total) = (0, 0);
    for seed in 0..60 {
        let random = |k: i32| (f64::from(7 * seed + k) * 0.618_034).fract();
        let (thick, gap) = (0.003 + 0.05 * random(1), 0.0005 + 0.03 * random(2));
        let z: Vec<f64> = (0..5).flat_map(|n| [f64::from(n), f64::from(n) + thick / (thick + gap)]).collect();
        let pile = boxes([&[0.0, 0.7], &[0.0, 0.4], &z], |_, _, k| k.is_multiple_of(2));
        let axis = Vec3::new(random(3) - 0.5, random(4) - 0.5, random(5) - 0.5).normalized();
        let rotation = Quaternion::from_axis_angle(axis, 3.0 * random(6));
        let place = |x: Vec3| rotation.rotate(Vec3::new(x.x, x.y, x.z * (thick + gap)));
        let sheets = pile.mapped(place).unwrap();
        let layer = |x: Vec3| (rotation.conjugate().rotate(x).z / (thick + gap) + 1e-6).floor() as u32;
        let counts = count_split_layers(&sheets, 0.1, layer);
        split += counts.0;
        total += counts.1;
    }
    assert!(100 * split < total, "{split} of {total}");
}

/// Spheres that almost touch, in one cube: the gap is a millionth of a cell.
#[test]
fn bodies_a_millionth_of_a_cell_apart_stay_apart() {
    let ball = icosphere(0.5, 6).unwrap();
    let top = ball.positions().iter().map(|x| x.x).fold(f64::MIN, f64::max);
    let offset = ball.vertex_count() as u32;
    let moved = ball.positions().iter().map(|x| *x + Vec3::new(2.0 * top + 1e-7, 0.0, 0.0));
    let positions = ball.positions().iter().copied().chain(moved).collect();
    let triangles =
        ball.triangles().iter().copied().chain(ball.triangles().iter().map(|t| t.map(|v| v + offset))).collect();
    let two = TriMesh::new(positions, triangles).unwrap();
    for cell in [0.1, 0.23, 0.7, 3.0] {
        let filling = filled(&two, cell);
        assert_eq!(filling.report.surface.component_count, 2, "cells of {cell}");
        for vertex in 0..ball.vertex_count() {
            let cells = [vertex, vertex + ball.vertex_count()].map(|v| filling.embedding[v].cell as usize);
            assert!(!filling.lattice.are_neighbors(cells[0], cells[1]));
        }
    }
}

/// A curved shell a twentieth of a cell thick, with almost no sample inside: one cell per cube, all connected.
#[test]
fn thin_shell_is_one_body_with_one_cell_per_cube() {
    let outer = icosphere(1.0, 16).unwrap();
    let offset = outer.vertex_count() as u32;
    let inner = outer.clone().flipped();
    let positions = outer.positions().iter().copied().chain(outer.positions().iter().map(|x| *x * 0.99)).collect();
    let triangles = outer.triangles().iter().copied().chain(inner.triangles().iter().map(|t| t.map(|v| v + offset)));
    let shell = TriMesh::new(positions, triangles.collect()).unwrap();
    let filling = filled(&shell, 0.2);
    assert_eq!(filling.report.surface.component_count, 1);
    assert_eq!(filling.report.split_cubes, 0);
    let ratio = filling.lattice.volume() / shell.volume();
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// A slit that ends within the neighbors of a cube splits nothing: copies that share all nodes are one cell.
#[test]
fn slit_inside_of_flesh_splits_no_cube() {
    let a = [0.0, 0.41, 0.59, 1.0];
    let slit = boxes([&a, &a, &[0.0, 0.499, 0.501, 1.0]], |i, j, k| [i, j, k] != [1, 1, 1]);
    let filling = filled(&slit, 1.0 / 9.0);
    assert_eq!(filling.report.surface.component_count, 1);
    assert_eq!(filling.lattice.cells.len(), 729);
    assert_eq!(filling.lattice.node_places.len(), 1000);
}

#[test]
fn inside_out_surfaces_and_soups_give_the_same_lattice() {
    let surface = turned(&two_fingers(0.0401), 0.4);
    let expected = filled(&surface, 0.1);
    let reversed = filled(&surface.clone().flipped(), 0.1);
    assert!(expected.lattice == reversed.lattice);
    assert!(reversed.report.surface.is_inside_out);

    let soup: Vec<Vec3> = (0..surface.triangle_count()).flat_map(|t| surface.corners(t)).collect();
    let triangles = (0..surface.triangle_count() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let soup = TriMesh::new(soup, triangles).unwrap();
    assert!(filled(&soup, 0.1).lattice == expected.lattice);
}

#[test]
fn open_surface_is_refused_or_covered_by_winding_number() {
    let sphere = icosphere(1.0, 6).unwrap();
    let top = |t: &[u32; 3]| t.iter().all(|v| sphere.positions()[*v as usize].z > 0.85);
    let triangles: Vec<[u32; 3]> = sphere.triangles().iter().filter(|t| !top(t)).copied().collect();
    let open = TriMesh::new(sphere.positions().to_vec(), triangles).unwrap();
    let error = HexLattice::from_surface(&open, 0.2, &LatticeOptions::default()).unwrap_err();
    assert!(matches!(error, LatticeError::Surface(crate::fill::FillError::Open { .. })), "{error}");
    let options = LatticeOptions { repair: Repair::Winding, ..LatticeOptions::default() };
    let filling = HexLattice::from_surface(&open, 0.2, &options).unwrap();
    check_lattice(&filling.lattice);
    assert_eq!(filling.report.surface.component_count, 1);
    assert!((filling.lattice.volume() / sphere.volume() - 1.0).abs() < 0.05);
    assert!(filling.report.unused_vertices > 0);
}

#[test]
fn lattice_does_not_depend_on_the_number_of_threads() {
    let surface = turned(&two_fingers(0.03), 0.7);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| HexLattice::from_surface(&surface, 0.07, &LatticeOptions::default()).unwrap())
    };
    assert!(with(1) == with(2));
}

#[test]
fn bad_sizes_are_refused_with_one_that_fits() {
    let sphere = icosphere(1.0, 4).unwrap();
    let make = |cell: f64, options: &LatticeOptions| HexLattice::from_surface(&sphere, cell, options);
    let options = LatticeOptions::default();
    for cell in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(make(cell, &options).unwrap_err(), LatticeError::CellSize { .. }));
        assert!(matches!(HexLattice::dense(Vec3::zero(), cell, [1; 3]).unwrap_err(), LatticeError::CellSize { .. }));
    }
    for cell in [1e-6, 1e-300] {
        let error = make(cell, &options).unwrap_err();
        let LatticeError::TooManyCells { cells, fitting, .. } = error else { panic!("{error}") };
        assert!(cells > 1e7 && (1e-3..0.1).contains(&fitting), "{error}");
    }
    let options = LatticeOptions { max_bytes: Some(10_000_000), ..options };
    let error = make(0.01, &options).unwrap_err();
    let LatticeError::TooMuchMemory { bytes, limit: 10_000_000, fitting: Some(fitting) } = error else {
        panic!("{error}")
    };
    assert!(bytes > 1e8);
    assert!(make(fitting, &options).is_ok() && make(0.9 * fitting, &options).is_err(), "{error}");
    let printed: f64 = format!("{fitting:.3e}").parse().unwrap();
    assert!(make(printed, &options).is_ok());
    let options = LatticeOptions { max_bytes: Some(0), ..options };
    assert!(matches!(make(0.1, &options).unwrap_err(), LatticeError::TooMuchMemory { fitting: None, .. }));

    assert!(matches!(HexLattice::dense(Vec3::zero(), 1.0, [0, 1, 1]).unwrap_err(), LatticeError::NothingInside));
    let huge = HexLattice::dense(Vec3::zero(), 1.0, [usize::MAX; 3]).unwrap_err();
    assert!(matches!(huge, LatticeError::TooManyCells { .. }));
    // Cells larger than the body are coarse, not wrong.
    assert_eq!(filled(&sphere, 100.0).lattice.cells.len(), 1);
}

#[test]
fn surface_without_volume_is_refused() {
    let flat = box_surface(Vec3::splat(1.0), [1, 1, 1]).unwrap().mapped(|x| Vec3::new(x.x, x.y, 0.0)).unwrap();
    for repair in [Repair::Reject, Repair::Winding] {
        let options = LatticeOptions { repair, ..LatticeOptions::default() };
        assert!(HexLattice::from_surface(&flat, 0.3, &options).is_err());
    }
}

#[test]
fn dropped_cells_take_their_nodes_with_them() {
    let mut lattice = HexLattice::dense(Vec3::zero(), 1.0, [3, 2, 2]).unwrap();
    lattice.retain(|cell| cell.place[0] != 1);
    assert_eq!((lattice.cells.len(), lattice.node_places.len()), (8, 36));
    for cell in &lattice.cells {
        for (k, &node) in cell.nodes.iter().enumerate() {
            let place = std::array::from_fn(|axis| cell.place[axis] + (k as u32 >> axis & 1));
            assert_eq!(lattice.node_places[node as usize], place);
        }
    }
}
