//! Reads `.node`, `.ele` and `.face` files.

use super::{MARKER, TET10};
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape, Field, LABEL, MeshData};
use crate::text::Words;
use std::collections::BTreeMap;

fn words(bytes: &[u8]) -> Words<'_> {
    Words::new(bytes, 0, 1, Some(b'#'))
}

/// The number at the start of a line, which must be consecutive.
fn numbered(words: &mut Words, expected: i64, what: &str) -> Result<(), ReadError> {
    let number = words.integer(what)?;
    if number == expected {
        return Ok(());
    }
    Err(ReadError::line(words.line(), format!("{what} {number} where {expected} should be")))
}

/// A column count in a header; 0 if the header ends before it.
fn columns(words: &mut Words, what: &str) -> Result<usize, ReadError> {
    if words.clone().next_word_in_line().is_none() {
        return Ok(0);
    }
    let value = words.integer(what)?;
    usize::try_from(value).map_err(|_| ReadError::line(words.line(), format!("{what}: a count of {value}")))
}

/// More attributes than any file has: each becomes a field, which takes more memory than a number of text.
pub(super) const MAX_ATTRIBUTES: usize = 1000;

/// More boundary markers than anyone distinguishes by name.
const MAX_MARKERS: usize = 1000;

/// Rejects columns that the file has no room for: every number takes two bytes of text.
fn check_room(words: &Words, place: Place, count: usize, columns: usize, what: &str) -> Result<(), ReadError> {
    if columns > MAX_ATTRIBUTES {
        let what = format!("{columns} {what}");
        return Err(ReadError::Unsupported { place, what, hint: "leave out attributes that are not needed" });
    }
    let promised = (count as u64).saturating_mul(columns as u64);
    let found = words.remaining().len() as u64 / 2 + 1;
    if promised > found { Err(ReadError::Count { place, what: what.into(), promised, found }) } else { Ok(()) }
}

/// Points, their attributes and markers; and the number of the first node.
pub(super) fn nodes(bytes: &[u8]) -> Result<(MeshData, i64), ReadError> {
    let mut words = words(bytes);
    let count = words.count("nodes")?;
    let header = words.place();
    let mut mesh = MeshData::default();
    if count == 0 {
        return Ok((mesh, 1));
    }
    let dimension = columns(&mut words, "dimension")?;
    if dimension != 3 {
        let what = format!("a mesh of dimension {dimension}");
        return Err(ReadError::Unsupported { place: header, what, hint: "files of Triangle have no volume" });
    }
    let attributes = columns(&mut words, "attributes")?;
    let markers = columns(&mut words, "boundary markers")?;
    check_room(&words, header, count, attributes, "attributes")?;
    mesh.points.reserve_exact(count.min(words.remaining().len() / 8 + 1));
    let mut values = vec![Vec::with_capacity(count); attributes];
    let mut marked: Vec<i64> = Vec::new();
    let mut base = 1;
    for k in 0..count {
        if k == 0 {
            base = words.integer("node")?;
            if base != 0 && base != 1 {
                let reason = format!("the first node is {base}; numbers begin at 0 or 1");
                return Err(ReadError::line(words.line(), reason));
            }
        } else {
            numbered(&mut words, base + k as i64, "node")?;
        }
        mesh.points.push(words.point("position of a node")?);
        for column in &mut values {
            column.push(words.number("attribute of a node")?);
        }
        for marker in 0..markers {
            let value = words.integer("boundary marker of a node")?;
            if marker == 0 {
                marked.push(value);
            }
        }
    }
    for (column, values) in (1..).zip(values) {
        mesh.point_fields.push(Field::scalars(format!("attribute-{column}"), values));
    }
    mark(&mut mesh, &marked);
    Ok((mesh, base))
}

/// Boundary markers as node sets, or as a field if there are too many.
fn mark(mesh: &mut MeshData, marked: &[i64]) {
    let mut sets: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    for (node, &marker) in marked.iter().enumerate().filter(|(_, marker)| **marker != 0) {
        sets.entry(marker).or_default().push(node as u32);
        if sets.len() > MAX_MARKERS {
            let values = marked.iter().map(|&marker| marker as f64).collect();
            mesh.point_fields.push(Field::scalars("marker", values));
            mesh.notes.push(format!("more than {MAX_MARKERS} boundary markers: they are a field instead of sets"));
            return;
        }
    }
    mesh.node_sets = sets.into_iter().map(|(marker, nodes)| (format!("{MARKER}{marker}"), nodes)).collect();
}

/// A node of a cell.
fn node(words: &mut Words, base: i64, points: usize) -> Result<u32, ReadError> {
    let index = words.integer("nodes of a cell")?;
    match usize::try_from(index - base.min(index)) {
        Ok(node) if index >= base && node < points => Ok(node as u32),
        _ => Err(ReadError::Index { place: words.place(), what: "node", index }),
    }
}

/// Tetrahedra and their attributes.
pub(super) fn elements(bytes: &[u8], base: i64, mesh: &mut MeshData) -> Result<(), ReadError> {
    let mut words = words(bytes);
    let count = words.count("tetrahedra")?;
    let header = words.place();
    if count == 0 {
        return Ok(());
    }
    let each = columns(&mut words, "nodes of a tetrahedron")?;
    let shape = match each {
        4 => CellShape::Tet4,
        10 => CellShape::Tet10,
        _ => {
            let (what, hint) = (format!("cells of {each} nodes"), "tetrahedra have 4 nodes or 10");
            return Err(ReadError::Unsupported { place: header, what, hint });
        }
    };
    let attributes = columns(&mut words, "attributes")?;
    check_room(&words, header, count, attributes, "attributes")?;
    let mut nodes = Vec::with_capacity(each * count.min(words.remaining().len() / (2 * each) + 1));
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(count); attributes];
    let points = mesh.points.len();
    for _ in 0..count {
        words.integer("tetrahedron")?;
        if shape == CellShape::Tet4 {
            for _ in 0..4 {
                nodes.push(node(&mut words, base, points)?);
            }
        } else {
            let mut cell = [0; 10];
            for slot in &mut cell {
                *slot = node(&mut words, base, points)?;
            }
            nodes.extend(TET10.map(|at| cell[at]));
        }
        for column in &mut values {
            column.push(words.number("attribute of a tetrahedron")?);
        }
    }
    mesh.groups.push(CellGroup::with_nodes(shape, nodes));
    for (number, values) in (1..).zip(values) {
        let is_label = number == 1 && values.iter().all(|&value| value == value.trunc() && value.abs() < 1e15);
        if !is_label {
            mesh.cell_fields.push(Field::scalars(format!("attribute-{number}"), values));
        } else if values.iter().any(|&value| value != 0.0) {
            mesh.cell_fields.push(Field::scalars(LABEL, values));
        }
    }
    Ok(())
}

/// Faces with their markers, after the tetrahedra.
pub(super) fn faces(bytes: &[u8], base: i64, mesh: &mut MeshData) -> Result<(), ReadError> {
    let mut words = words(bytes);
    let count = words.count("faces")?;
    let markers = columns(&mut words, "boundary markers")?;
    if count == 0 {
        return Ok(());
    }
    // The header does not say whether faces are quadratic (three more nodes), or followed by their two tetrahedra.
    let mut ahead = words.clone();
    ahead.word("faces")?;
    let mut found = 0;
    while ahead.next_word_in_line().is_some() {
        found += 1;
    }
    let (middles, neighbors) = match usize::checked_sub(found, markers) {
        Some(3) => (0, 0),
        Some(5) => (0, 2),
        Some(6) => (3, 0),
        Some(8) => (3, 2),
        _ => {
            let reason = format!("a face of {found} numbers, {markers} of them markers");
            return Err(ReadError::line(ahead.line(), reason));
        }
    };
    let points = mesh.points.len();
    let most = count.min(words.remaining().len() / 8 + 1);
    let mut nodes = Vec::with_capacity(3 * most);
    let mut labels = Vec::with_capacity(most);
    for _ in 0..count {
        words.integer("face")?;
        for _ in 0..3 {
            nodes.push(node(&mut words, base, points)?);
        }
        for _ in 0..middles {
            node(&mut words, base, points)?;
        }
        let mut label = 0;
        for marker in 0..markers {
            let value = words.integer("boundary marker of a face")?;
            label = if marker == 0 { value } else { label };
        }
        for _ in 0..neighbors {
            words.integer("tetrahedra of a face")?;
        }
        labels.push(label as f64);
    }
    let before = mesh.cell_count();
    mesh.groups.push(CellGroup::with_nodes(CellShape::Tri3, nodes));
    if mesh.cell_field(LABEL).is_none() && labels.iter().any(|&label| label != 0.0) {
        mesh.cell_fields.insert(0, Field::scalars(LABEL, vec![0.0; before]));
    }
    for field in &mut mesh.cell_fields {
        if field.name == LABEL {
            field.values.extend_from_slice(&labels);
        } else {
            field.values.extend(std::iter::repeat_n(f64::NAN, count));
        }
    }
    Ok(())
}
