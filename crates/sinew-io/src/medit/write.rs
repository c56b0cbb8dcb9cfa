//! Writes `.mesh` and `.meshb` files.

use super::{VERTEX_REFERENCES, keyword, labels_or_sets, whole};
use crate::error::WriteError;
use crate::mesh_data::{CellGroup, CellShape, MeshData};
use crate::text::{push_f64, push_u64};

/// All cells of one shape.
struct Kind<'a> {
    name: &'static str,
    number: i32,
    nodes_each: usize,
    count: usize,
    /// Groups with the index of their first cell.
    groups: Vec<(usize, &'a CellGroup)>,
}

impl<'a> Kind<'a> {
    /// Nodes of each cell, and its index.
    fn cells(&self) -> impl Iterator<Item = (&'a [u32], usize)> {
        let each = self.nodes_each;
        self.groups.iter().flat_map(move |(first, group)| group.nodes.chunks_exact(each).zip(*first..))
    }
}

pub(super) fn write(mesh: &MeshData, is_binary: bool) -> Result<Vec<u8>, WriteError> {
    let kinds = kinds(mesh)?;
    let labels = labels_or_sets(mesh);
    let references = vertex_references(mesh, &labels);
    Ok(if is_binary { binary(mesh, &kinds, &labels, &references) } else { text(mesh, &kinds, &labels, &references) })
}

/// Cells by shape, in order of first use.
fn kinds(mesh: &MeshData) -> Result<Vec<Kind<'_>>, WriteError> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut first = 0;
    for group in &mesh.groups {
        if group.shape != CellShape::Vertex {
            let (Some((name, number)), Some(nodes_each)) = (keyword::of_shape(group.shape), group.shape.nodes()) else {
                let (format, what) = ("MEDIT", format!("{} cells", group.shape.name()));
                return Err(WriteError::Unsupported { format, what, hint: "write VTU, or leave these cells out" });
            };
            let at = kinds.iter().position(|kind| kind.number == number).unwrap_or_else(|| {
                kinds.push(Kind { name, number, nodes_each, count: 0, groups: Vec::new() });
                kinds.len() - 1
            });
            kinds[at].count += group.len();
            kinds[at].groups.push((first, group));
        }
        first += group.len();
    }
    Ok(kinds)
}

/// References of vertices: the field, or labels of point elements.
fn vertex_references(mesh: &MeshData, labels: &[i32]) -> Vec<i32> {
    let field = mesh.point_field(VERTEX_REFERENCES);
    if let Some(field) = field.filter(|field| field.components == 1 && field.values.len() == mesh.points.len()) {
        return field.values.iter().map(|&value| whole(value)).collect();
    }
    let mut references = vec![0; mesh.points.len()];
    for ((shape, nodes), &label) in mesh.cells().zip(labels) {
        if shape == CellShape::Vertex
            && let Some(reference) = nodes.first().and_then(|&node| references.get_mut(node as usize))
        {
            *reference = label;
        }
    }
    references
}

fn push_i32(out: &mut Vec<u8>, value: i32) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, u64::from(value.unsigned_abs()));
}

fn text(mesh: &MeshData, kinds: &[Kind], labels: &[i32], references: &[i32]) -> Vec<u8> {
    let digits = 2 + mesh.points.len().max(1).ilog10() as usize;
    let numbers: usize = kinds.iter().map(|kind| kind.count * (kind.nodes_each + 1)).sum();
    let mut out = Vec::with_capacity(mesh.points.len() * 64 + numbers * digits + 1024);
    out.extend_from_slice(b"MeshVersionFormatted 2\nDimension 3\n\nVertices\n");
    push_u64(&mut out, mesh.points.len() as u64);
    out.push(b'\n');
    for (point, &reference) in mesh.points.iter().zip(references) {
        for x in point.to_array() {
            push_f64(&mut out, x);
            out.push(b' ');
        }
        push_i32(&mut out, reference);
        out.push(b'\n');
    }
    for kind in kinds {
        out.push(b'\n');
        out.extend_from_slice(kind.name.as_bytes());
        out.push(b'\n');
        push_u64(&mut out, kind.count as u64);
        out.push(b'\n');
        for (nodes, cell) in kind.cells() {
            for &node in nodes {
                push_u64(&mut out, u64::from(node) + 1);
                out.push(b' ');
            }
            push_i32(&mut out, labels.get(cell).copied().unwrap_or(0));
            out.push(b'\n');
        }
    }
    out.extend_from_slice(b"\nEnd\n");
    out
}

/// Version 3: 8-byte reals, 4-byte integers, 8-byte offsets, so that files may exceed 2 GiB.
fn binary(mesh: &MeshData, kinds: &[Kind], labels: &[i32], references: &[i32]) -> Vec<u8> {
    let numbers: usize = kinds.iter().map(|kind| kind.count * (kind.nodes_each + 1)).sum();
    let mut out = Vec::with_capacity(mesh.points.len() * 28 + numbers * 4 + 1024);
    let int = |out: &mut Vec<u8>, value: i32| out.extend_from_slice(&value.to_le_bytes());
    // Number of the keyword, offset of the next one, and the count.
    let begin = |out: &mut Vec<u8>, number: i32, row: usize, count: usize| {
        int(out, number);
        let next = out.len() + 8 + 4 + row * count;
        out.extend_from_slice(&(next as u64).to_le_bytes());
        int(out, count as i32);
    };
    int(&mut out, 1);
    int(&mut out, 3);
    // The dimension is stored in place of a count.
    begin(&mut out, 3, 0, 3);
    begin(&mut out, 4, 28, mesh.points.len());
    for (point, reference) in mesh.points.iter().zip(references) {
        let mut row = [0; 28];
        let (position, last) = row.split_at_mut(24);
        for (bytes, x) in position.chunks_exact_mut(8).zip(point.to_array()) {
            bytes.copy_from_slice(&x.to_le_bytes());
        }
        last.copy_from_slice(&reference.to_le_bytes());
        out.extend_from_slice(&row);
    }
    for kind in kinds {
        begin(&mut out, kind.number, 4 * (kind.nodes_each + 1), kind.count);
        for (nodes, cell) in kind.cells() {
            for &node in nodes {
                int(&mut out, (node + 1) as i32);
            }
            int(&mut out, labels.get(cell).copied().unwrap_or(0));
        }
    }
    int(&mut out, 54);
    out.extend_from_slice(&0u64.to_le_bytes());
    out
}
