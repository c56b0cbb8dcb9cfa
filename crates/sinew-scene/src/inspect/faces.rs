//! The visible faces of a mesh with cells of any kind.

use std::collections::BTreeMap;

use sinew_geometry::Aabb;
use sinew_io::{CellGroup, CellShape, Field, MeshData, triangles_of};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

/// Marks the missing fourth node of a triangle.
const NONE: u32 = u32::MAX;

const TET: &[&[usize]] = &[&[1, 2, 3], &[0, 3, 2], &[0, 1, 3], &[0, 2, 1]];
const PYRAMID: &[&[usize]] = &[&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]];
const WEDGE: &[&[usize]] = &[&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]];
const HEX: &[&[usize]] = &[&[0, 4, 7, 3], &[1, 2, 6, 5], &[0, 1, 5, 4], &[3, 7, 6, 2], &[0, 3, 2, 1], &[4, 5, 6, 7]];

/// Corners of the faces of a volume cell, without midpoints of edges and faces.
fn faces_of(shape: CellShape) -> &'static [&'static [usize]] {
    match shape {
        CellShape::Tet4 | CellShape::Tet10 => TET,
        CellShape::Pyramid5 | CellShape::Pyramid13 => PYRAMID,
        CellShape::Wedge6 | CellShape::Wedge15 => WEDGE,
        CellShape::Hex8 | CellShape::Hex20 | CellShape::Hex27 => HEX,
        _ => &[],
    }
}

/// Number of corner nodes of a cell; they come first.
pub(crate) fn corner_count(shape: CellShape, nodes: usize) -> usize {
    match shape {
        CellShape::Vertex => 1,
        CellShape::Line2 | CellShape::Line3 => 2,
        CellShape::Tri3 | CellShape::Tri6 => 3,
        CellShape::Quad4 | CellShape::Quad8 | CellShape::Quad9 | CellShape::Tet4 | CellShape::Tet10 => 4,
        CellShape::Pyramid5 | CellShape::Pyramid13 => 5,
        CellShape::Wedge6 | CellShape::Wedge15 => 6,
        CellShape::Hex8 | CellShape::Hex20 | CellShape::Hex27 => 8,
        CellShape::Polygon => nodes,
    }
}

/// A face that belongs to only one volume cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OuterFace {
    /// Corners, counterclockwise when seen from outside; [`NONE`] at the end of a triangle.
    nodes: [u32; 4],
    /// Index of the cell in the file.
    cell: u32,
}

impl OuterFace {
    fn corners(&self) -> &[u32] {
        if self.nodes[3] == NONE { &self.nodes[..3] } else { &self.nodes }
    }
}

/// Faces of volume cells that no other cell shares, in the order of their cells.
fn outer_faces(data: &MeshData) -> Vec<OuterFace> {
    let mut uses: Vec<([u32; 4], u32, u8)> = Vec::new();
    let mut number = 0u32;
    for group in &data.groups {
        let faces = faces_of(group.shape);
        for nodes in group.cells() {
            for (local, face) in faces.iter().enumerate() {
                let mut key = [NONE; 4];
                for (slot, &corner) in key.iter_mut().zip(face.iter()) {
                    *slot = nodes[corner];
                }
                key.sort_unstable();
                uses.push((key, number, local as u8));
            }
            number += 1;
        }
    }
    uses.par_sort_unstable();
    let mut outer: Vec<(u32, u8)> = uses
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() == 1)
        .map(|group| (group[0].1, group[0].2))
        .collect();
    drop(uses);
    outer.sort_unstable();
    let mut found = Vec::with_capacity(outer.len());
    let mut outer = outer.into_iter().peekable();
    for (number, (shape, nodes)) in (0u32..).zip(data.cells()) {
        while let Some((_, local)) = outer.next_if(|(cell, _)| *cell == number) {
            found.push(OuterFace { nodes: turned_outwards(data, shape, nodes, local), cell: number });
        }
    }
    found
}

/// Corners of a face, counterclockwise when seen from outside even where the cell is inverted.
fn turned_outwards(data: &MeshData, shape: CellShape, nodes: &[u32], local: u8) -> [u32; 4] {
    let face = faces_of(shape)[usize::from(local)];
    let mut corners = [NONE; 4];
    for (slot, &corner) in corners.iter_mut().zip(face) {
        *slot = nodes[corner];
    }
    let at = |node: u32| data.points[node as usize];
    let mean = |list: &[u32]| list.iter().map(|&n| at(n)).sum::<Vec3>() / list.len() as f64;
    let normal = (at(corners[1]) - at(corners[0])).cross(at(corners[2]) - at(corners[0]));
    let outwards = mean(&corners[..face.len()]) - mean(&nodes[..corner_count(shape, nodes.len())]);
    if normal.dot(outwards) < 0.0 {
        corners[1..face.len()].reverse();
    }
    corners
}

/// The visible part of a mesh: the outer faces of its volume cells, or its faces if it has no volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    /// Triangles between points of the file, counterclockwise when seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// For each triangle the index of its cell in the file.
    pub cells: Vec<u32>,
    /// Edges of the faces, each once, smaller point first.
    pub edges: Vec<[u32; 2]>,
}

impl Skin {
    /// The skin of a mesh; empty if it has no faces.
    pub fn of(data: &MeshData) -> Skin {
        let mut skin = Skin::default();
        if has_volume(data) {
            for face in outer_faces(data) {
                skin.add(face.corners(), face.cell);
            }
        } else {
            for (number, (shape, nodes)) in data.cells().enumerate() {
                if shape.dimension() == 2 {
                    skin.add(&nodes[..corner_count(shape, nodes.len())], number as u32);
                }
            }
        }
        skin.edges.par_sort_unstable();
        skin.edges.dedup();
        skin
    }

    fn add(&mut self, corners: &[u32], cell: u32) {
        let Some((&last, _)) = corners.split_last() else { return };
        let mut from = last;
        for &to in corners {
            self.edges.push([from.min(to), from.max(to)]);
            from = to;
        }
        self.triangles.extend(triangles_of(corners));
        self.cells.resize(self.triangles.len(), cell);
    }
}

/// Edges between the corners of all cells, each once, smaller point first.
pub fn edges_of(data: &MeshData) -> Vec<[u32; 2]> {
    let mut edges = Vec::new();
    for (shape, nodes) in data.cells() {
        let mut around = |corners: &mut dyn Iterator<Item = u32>| {
            let Some(first) = corners.next() else { return };
            let mut from = first;
            for to in corners.chain([first]) {
                edges.push([from.min(to), from.max(to)]);
                from = to;
            }
        };
        if shape.dimension() == 3 {
            for face in faces_of(shape) {
                around(&mut face.iter().map(|&corner| nodes[corner]));
            }
        } else {
            around(&mut nodes[..corner_count(shape, nodes.len())].iter().copied());
        }
    }
    edges.par_sort_unstable();
    edges.dedup();
    edges
}

/// Whether any cell has a volume.
pub fn has_volume(data: &MeshData) -> bool {
    data.groups.iter().any(|group| group.shape.dimension() == 3 && !group.is_empty())
}

/// Bounds of the points that cells use; of all points if there are no cells.
pub fn used_bounds(data: &MeshData) -> Aabb {
    let used = data.groups.iter().flat_map(|group| &group.nodes).map(|&node| &data.points[node as usize]);
    let bounds = Aabb::from_points(used);
    if bounds.is_empty() { Aabb::from_points(&data.points) } else { bounds }
}

/// The outer faces of a volume mesh as a mesh of triangles and quads.
///
/// Points keep their fields and sets; a face has the fields, label and sets of its cell.
pub fn boundary(data: &MeshData) -> MeshData {
    let faces = outer_faces(data);
    let mut old_from_new: Vec<u32> = faces.iter().flat_map(|face| face.corners().iter().copied()).collect();
    old_from_new.par_sort_unstable();
    old_from_new.dedup();
    let mut new_from_old = vec![NONE; data.points.len()];
    for (new, &old) in old_from_new.iter().enumerate() {
        new_from_old[old as usize] = new as u32;
    }
    let mut surface = MeshData {
        points: old_from_new.iter().map(|&old| data.points[old as usize]).collect(),
        notes: data.notes.clone(),
        ..MeshData::default()
    };
    // Triangles first: alternating kinds would make a group of every face.
    let (triangles, quads): (Vec<&OuterFace>, Vec<&OuterFace>) = faces.iter().partition(|face| face.nodes[3] == NONE);
    for (shape, list) in [(CellShape::Tri3, &triangles), (CellShape::Quad4, &quads)] {
        let nodes = list.iter().flat_map(|face| face.corners().iter().map(|&node| new_from_old[node as usize]));
        let nodes: Vec<u32> = nodes.collect();
        if !nodes.is_empty() {
            surface.groups.push(CellGroup::with_nodes(shape, nodes));
        }
    }
    let owners: Vec<u32> = triangles.iter().chain(&quads).map(|face| face.cell).collect();
    surface.point_fields = data.point_fields.iter().map(|field| rows(field, &old_from_new)).collect();
    surface.cell_fields = data.cell_fields.iter().map(|field| rows(field, &owners)).collect();
    for (name, nodes) in &data.node_sets {
        let kept = nodes.iter().map(|&node| new_from_old[node as usize]).filter(|&node| node != NONE);
        surface.node_sets.insert(name.clone(), kept.collect());
    }
    surface.cell_sets = sets_of(&data.cell_sets, &owners, data.cell_count());
    surface.node_sets.retain(|_, nodes| !nodes.is_empty());
    surface
}

/// The mesh without cells of some kinds. Points stay; fields and sets are adapted.
pub fn without(data: &MeshData, skip: &std::collections::BTreeSet<CellShape>) -> MeshData {
    let mut kept = MeshData {
        points: data.points.clone(),
        point_fields: data.point_fields.clone(),
        node_sets: data.node_sets.clone(),
        notes: data.notes.clone(),
        ..MeshData::default()
    };
    let mut cells = Vec::new();
    let mut first = 0;
    for group in &data.groups {
        let count = group.len() as u32;
        if !skip.contains(&group.shape) {
            kept.groups.push(group.clone());
            cells.extend(first..first + count);
        }
        first += count;
    }
    kept.cell_fields = data.cell_fields.iter().map(|field| rows(field, &cells)).collect();
    kept.cell_sets = sets_of(&data.cell_sets, &cells, data.cell_count());
    kept
}

/// The rows of a field for a list of its entries.
fn rows(field: &Field, entries: &[u32]) -> Field {
    let n = field.components.max(1);
    let values = entries.iter().flat_map(|&entry| &field.values[entry as usize * n..(entry as usize + 1) * n]).copied();
    Field { name: field.name.clone(), components: field.components, values: values.collect() }
}

/// Sets of cells after the cells were replaced; `origins` maps each new cell to its source.
fn sets_of(sets: &BTreeMap<String, Vec<u32>>, origins: &[u32], count: usize) -> BTreeMap<String, Vec<u32>> {
    let mut found = BTreeMap::new();
    for (name, cells) in sets {
        let mut is_member = vec![false; count];
        cells.iter().for_each(|&cell| is_member[cell as usize] = true);
        let members = origins.iter().enumerate().filter(|(_, origin)| is_member[**origin as usize]);
        let members: Vec<u32> = members.map(|(new, _)| new as u32).collect();
        if !members.is_empty() {
            found.insert(name.clone(), members);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_io::LABEL;

    /// Two unit cubes side by side; the second consists of two wedges and has a set and a label.
    fn blocks() -> MeshData {
        let mut data = MeshData::default();
        for x in 0..3 {
            for corner in [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]] {
                data.points.push(Vec3::new(f64::from(x), corner[0], corner[1]));
            }
        }
        data.push_cell(CellShape::Hex8, &[0, 1, 2, 3, 4, 5, 6, 7]);
        data.push_cell(CellShape::Wedge6, &[4, 5, 6, 8, 9, 10]);
        data.push_cell(CellShape::Wedge6, &[4, 6, 7, 8, 10, 11]);
        data.cell_fields.push(Field::scalars(LABEL, vec![1.0, 2.0, 3.0]));
        data.cell_sets.insert("far".into(), vec![1, 2]);
        data.point_fields.push(Field::scalars("x", data.points.iter().map(|p| p.x).collect()));
        data
    }

    fn area_and_volume(data: &MeshData, triangles: &[[u32; 3]]) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        for t in triangles {
            let [a, b, c] = t.map(|v| data.points[v as usize]);
            sums.0 += 0.5 * (b - a).cross(c - a).norm();
            sums.1 += a.dot(b.cross(c)) / 6.0;
        }
        sums
    }

    /// The surface of the 2 × 1 × 1 block is 10 and encloses 2. The face between the cubes is visible from both sides,
    /// because it is one quad on one side and two triangles on the other.
    #[test]
    fn skin_of_mixed_cells_is_closed_and_points_outward() {
        let data = blocks();
        let skin = Skin::of(&data);
        let (area, volume) = area_and_volume(&data, &skin.triangles);
        assert!((volume - 2.0).abs() < 1e-12 && (area - 12.0).abs() < 1e-12, "{area} {volume}");
        assert_eq!(skin.cells.len(), skin.triangles.len());
    }

    #[test]
    fn boundary_keeps_fields_labels_and_sets() {
        let surface = boundary(&blocks());
        let label = surface.labels().expect("labels").values.clone();
        let far = &surface.cell_sets["far"];
        assert_eq!(label.len(), surface.cell_count());
        assert!(far.iter().all(|&face| label[face as usize] > 1.5));
        assert_eq!(far.len(), label.iter().filter(|label| **label > 1.5).count());
        let x = &surface.point_fields[0].values;
        assert!(surface.points.iter().zip(x).all(|(p, x)| p.x == *x));
    }

    #[test]
    fn kinds_that_are_left_out_take_their_fields_with_them() {
        let kept = without(&blocks(), &[CellShape::Hex8].into());
        assert_eq!((kept.cell_count(), kept.cell_fields[0].values.clone()), (2, vec![2.0, 3.0]));
        assert_eq!(kept.cell_sets["far"], [0, 1]);
    }
}
