//! Writes `.node`, `.ele` and `.face` files. Numbers nodes and cells from 1, TetGen's default.

use super::read::MAX_ATTRIBUTES;
use super::{MARKER, TET10};
use crate::error::WriteError;
use crate::format::EncodedFile;
use crate::medit::labels_or_sets;
use crate::mesh_data::{CellShape, Field, MeshData};
use crate::text::{parse_i64, push_f64, push_u64};

pub(super) fn write(mesh: &MeshData) -> Result<Vec<EncodedFile>, WriteError> {
    let shape = check(mesh)?;
    let labels = labels_or_sets(mesh);
    let mut files = vec![
        EncodedFile { extension: "node", bytes: nodes(mesh, &labels) },
        EncodedFile { extension: "ele", bytes: elements(mesh, shape, &labels) },
    ];
    if mesh.groups.iter().any(|group| group.shape == CellShape::Tri3 && !group.is_empty()) {
        files.push(EncodedFile { extension: "face", bytes: faces(mesh, &labels) });
    }
    Ok(files)
}

/// Rejects content that the format cannot store; returns the shape of all tetrahedra.
fn check(mesh: &MeshData) -> Result<CellShape, WriteError> {
    let format = "TetGen";
    let attributes: usize = mesh.point_fields.iter().map(|field| field.components).sum();
    if attributes > MAX_ATTRIBUTES {
        let what = format!("{attributes} attributes");
        return Err(WriteError::Unsupported { format, what, hint: "write VTU, or leave out fields" });
    }
    let mut shape = None;
    for group in mesh.groups.iter().filter(|group| !group.is_empty()) {
        match group.shape {
            CellShape::Vertex | CellShape::Tri3 => {}
            CellShape::Tet4 | CellShape::Tet10 if shape.is_none_or(|known| known == group.shape) => {
                shape = Some(group.shape);
            }
            CellShape::Tet4 | CellShape::Tet10 => {
                let what = "linear and quadratic tetrahedra in one mesh".into();
                return Err(WriteError::Unsupported { format, what, hint: "write VTU" });
            }
            other => {
                let what = format!("{} cells", other.name());
                return Err(WriteError::Unsupported { format, what, hint: "write VTU, or leave these cells out" });
            }
        }
    }
    Ok(shape.unwrap_or(CellShape::Tet4))
}

fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

fn push_words(out: &mut Vec<u8>, numbers: &[u64]) {
    for &number in numbers {
        push_u64(out, number);
        out.push(b' ');
    }
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

/// Digits of the largest number, and a space.
fn digits(count: usize) -> usize {
    2 + count.max(1).ilog10() as usize
}

/// One marker per node, if any node has one.
fn markers(mesh: &MeshData, labels: &[i32]) -> Option<Vec<i64>> {
    let mut markers = vec![0i64; mesh.points.len()];
    let mut mark = |node: u32, value: i64| {
        if let Some(marker) = markers.get_mut(node as usize).filter(|marker| **marker == 0) {
            *marker = value;
        }
    };
    let number_of = |name: &str| name.strip_prefix(MARKER).and_then(|number| parse_i64(number.as_bytes()));
    let mut largest = 0;
    for (name, nodes) in &mesh.node_sets {
        if let Some(number) = number_of(name) {
            largest = largest.max(number);
            nodes.iter().for_each(|&node| mark(node, number));
        }
    }
    for ((shape, nodes), &label) in mesh.cells().zip(labels) {
        if shape == CellShape::Vertex {
            largest = largest.max(i64::from(label));
            nodes.iter().for_each(|&node| mark(node, i64::from(label)));
        }
    }
    for (name, nodes) in &mesh.node_sets {
        if number_of(name).is_none() {
            largest = largest.saturating_add(1);
            nodes.iter().for_each(|&node| mark(node, largest));
        }
    }
    markers.iter().any(|&marker| marker != 0).then_some(markers)
}

fn nodes(mesh: &MeshData, labels: &[i32]) -> Vec<u8> {
    let count = mesh.points.len();
    let is_whole = |field: &&Field| field.components > 0 && field.values.len() == count * field.components;
    let fields: Vec<&Field> = mesh.point_fields.iter().filter(is_whole).collect();
    let attributes: usize = fields.iter().map(|field| field.components).sum();
    let markers = markers(mesh, labels);
    let mut out = Vec::with_capacity(count * (digits(count) + 20 * (3 + attributes)) + 256);
    push_words(&mut out, &[count as u64, 3, attributes as u64, u64::from(markers.is_some())]);
    for (index, point) in mesh.points.iter().enumerate() {
        push_u64(&mut out, index as u64 + 1);
        for x in point.to_array() {
            out.push(b' ');
            push_f64(&mut out, x);
        }
        for field in &fields {
            for &value in &field.values[index * field.components..(index + 1) * field.components] {
                out.push(b' ');
                push_f64(&mut out, value);
            }
        }
        if let Some(markers) = &markers {
            out.push(b' ');
            push_i64(&mut out, markers[index]);
        }
        out.push(b'\n');
    }
    out
}

/// Nodes of all cells of a shape, with their label.
fn cells<'a>(
    mesh: &'a MeshData,
    shape: CellShape,
    labels: &'a [i32],
) -> impl Iterator<Item = (&'a [u32], i32)> + Clone {
    let cells = mesh.groups.iter().flat_map(|group| (0..group.len()).map(move |cell| (group, cell)));
    cells
        .zip(labels)
        .filter(move |((group, _), _)| group.shape == shape)
        .map(|((group, cell), &label)| (group.cell(cell), label))
}

fn elements(mesh: &MeshData, shape: CellShape, labels: &[i32]) -> Vec<u8> {
    let each = shape.nodes().unwrap_or(4);
    let tetrahedra = cells(mesh, shape, labels);
    let count: usize = mesh.groups.iter().filter(|group| group.shape == shape).map(|group| group.len()).sum();
    let has_labels = tetrahedra.clone().any(|(_, label)| label != 0);
    let mut out = Vec::with_capacity(count * (digits(count) + (each + 1) * digits(mesh.points.len())) + 256);
    push_words(&mut out, &[count as u64, each as u64, u64::from(has_labels)]);
    // Inverts VTK's order.
    let mut order = [0; 10];
    for (vtk, &tetgen) in TET10.iter().enumerate() {
        order[tetgen] = vtk;
    }
    for (number, (nodes, label)) in (1..).zip(tetrahedra) {
        push_u64(&mut out, number);
        for k in 0..each {
            let node = if each == 10 { nodes[order[k]] } else { nodes[k] };
            out.push(b' ');
            push_u64(&mut out, u64::from(node) + 1);
        }
        if has_labels {
            out.push(b' ');
            push_i64(&mut out, i64::from(label));
        }
        out.push(b'\n');
    }
    out
}

fn faces(mesh: &MeshData, labels: &[i32]) -> Vec<u8> {
    let triangles = cells(mesh, CellShape::Tri3, labels);
    let count = triangles.clone().count();
    let mut out = Vec::with_capacity(count * (digits(count) + 3 * digits(mesh.points.len()) + 4) + 256);
    push_words(&mut out, &[count as u64, 1]);
    for (number, (nodes, label)) in (1..).zip(triangles) {
        push_u64(&mut out, number);
        for &node in nodes {
            out.push(b' ');
            push_u64(&mut out, u64::from(node) + 1);
        }
        out.push(b' ');
        push_i64(&mut out, i64::from(label));
        out.push(b'\n');
    }
    out
}
