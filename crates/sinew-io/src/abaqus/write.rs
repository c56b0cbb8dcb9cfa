//! Mesh to Abaqus input.

use std::collections::{BTreeMap, HashSet};

use super::elements::type_of;
use crate::error::WriteError;
use crate::mesh_data::MeshData;
use crate::text::{push_f64, push_u64};

/// Members per line of a set.
const PER_LINE: usize = 16;

/// Encodes an input file without parts: nodes, elements and sets. Labels become element sets `label-N`; the format
/// cannot store other fields.
pub fn write(mesh: &MeshData) -> Result<Vec<u8>, WriteError> {
    let corner_count: usize = mesh.groups.iter().map(|group| group.nodes.len()).sum();
    let guess = 70 * mesh.points.len() + 10 * (corner_count + mesh.cell_count()) + 256;
    let mut out = Vec::with_capacity(guess);
    out.extend_from_slice(b"*HEADING\nmesh\n*NODE\n");
    for (index, point) in mesh.points.iter().enumerate() {
        push_u64(&mut out, index as u64 + 1);
        for value in [point.x, point.y, point.z] {
            out.extend_from_slice(b", ");
            push_f64(&mut out, value);
        }
        out.push(b'\n');
    }
    let mut number = 0u64;
    for group in &mesh.groups {
        let Some((name, order)) = type_of(group.shape) else {
            return Err(WriteError::Unsupported {
                format: "Abaqus",
                what: format!("a {}", group.shape.name()),
                hint: "split polygons into triangles and leave points out",
            });
        };
        out.extend_from_slice(b"*ELEMENT, TYPE=");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
        for nodes in group.cells() {
            number += 1;
            push_u64(&mut out, number);
            for (index, &node) in nodes.iter().enumerate() {
                // A line holds at most 16 numbers; a trailing comma continues it.
                out.extend_from_slice(if (index + 1) % PER_LINE == 0 { b",\n" } else { b", " });
                let node = order.as_ref().map_or(node, |order| nodes[order[index]]);
                push_u64(&mut out, u64::from(node) + 1);
            }
            out.push(b'\n');
        }
    }
    let mut names = HashSet::new();
    for (name, nodes) in &mesh.node_sets {
        push_set(&mut out, "NSET", &free_name(name, &mut names), nodes);
    }
    names.clear();
    for (name, cells) in &mesh.cell_sets {
        push_set(&mut out, "ELSET", &free_name(name, &mut names), cells);
    }
    for (label, cells) in cells_by_label(mesh) {
        push_set(&mut out, "ELSET", &free_name(&format!("label-{label}"), &mut names), &cells);
    }
    Ok(out)
}

/// Cells with each label except 0, which means none.
pub(crate) fn cells_by_label(mesh: &MeshData) -> BTreeMap<i64, Vec<u32>> {
    let mut cells: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    let values = mesh.labels().map_or(&[][..], |field| &field.values);
    for (cell, value) in values.iter().enumerate().filter(|(_, value)| **value as i64 != 0) {
        cells.entry(*value as i64).or_default().push(cell as u32);
    }
    cells
}

/// A name without line breaks that is unique ignoring case.
fn free_name(name: &str, names: &mut HashSet<String>) -> String {
    let is_kept = |c: char| !c.is_control() && !matches!(c, ',' | '"' | '=' | '*');
    let mut name: String = name.trim().chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    while name.is_empty() || !names.insert(name.to_uppercase()) {
        name.push('_');
    }
    if name.contains(char::is_whitespace) { format!("\"{name}\"") } else { name }
}

fn push_set(out: &mut Vec<u8>, keyword: &str, name: &str, members: &[u32]) {
    if members.is_empty() {
        return;
    }
    out.extend_from_slice(format!("*{keyword}, {keyword}={name}\n").as_bytes());
    for row in members.chunks(PER_LINE) {
        for (index, &member) in row.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            push_u64(out, u64::from(member) + 1);
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::super::read;
    use super::*;
    use crate::mesh_data::{CellShape, Field, LABEL};

    #[test]
    fn every_shape_survives_with_its_sets_and_labels() {
        let mut mesh = MeshData {
            points: (0..27).map(|i| Vec3::new(f64::from(i) / 3.0, -1e-300, 1e20)).collect(),
            ..MeshData::default()
        };
        for shape in CellShape::all().filter(|&shape| type_of(shape).is_some()) {
            let nodes: Vec<u32> = (0..shape.nodes().unwrap_or(0) as u32).rev().collect();
            mesh.push_cell(shape, &nodes);
            mesh.push_cell(shape, &nodes);
        }
        mesh.cell_sets.insert("some of them".into(), (3..30).collect());
        mesh.node_sets.insert("ends".into(), vec![0, 26]);
        let expected = mesh.clone();
        mesh.cell_fields.push(Field::scalars(LABEL, (0..mesh.cell_count()).map(|i| (i % 3) as f64).collect()));
        mesh.cell_sets.insert("SOME of them".into(), vec![1]);
        let mut back = read(&write(&mesh).unwrap()).unwrap();
        let first = back.cell_sets.remove("label-1").unwrap();
        assert!(first.iter().all(|cell| cell % 3 == 1) && back.cell_sets.remove("label-2").is_some());
        // Names that differ only in case would merge into one set.
        assert_eq!(back.cell_sets.remove("SOME of them"), Some(vec![1]));
        assert_eq!(back.cell_sets.remove("some of them_"), Some((3..30).collect()));
        assert_eq!(back.node_sets, expected.node_sets);
        assert_eq!((back.points, back.groups), (expected.points, expected.groups));
    }

    #[test]
    fn polygons_are_refused_with_their_name() {
        let mut mesh = MeshData { points: vec![Vec3::zero(); 5], ..MeshData::default() };
        mesh.push_cell(CellShape::Polygon, &[0, 1, 2, 3, 4]);
        assert!(write(&mesh).unwrap_err().to_string().contains("a polygon"));
    }
}
