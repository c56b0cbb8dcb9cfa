//! Polygon files of the Ohio State University (`.osu`) \[Chen92\]: `points polygons`, a line `x y z` for each point, a line
//! for each polygon with its number of corners and their numbers from 1. Colors of points are in a file beside
//! (`NAME.colors`), `red green blue` from 0 to 1 for each.

use crate::error::{Place, ReadError, WriteError};
use crate::format::{Companions, EncodedFile};
use crate::mesh_data::{CellShape, Field, MeshData};
use crate::text::{Words, push_f64, push_u64};

/// Extension of the file of colors.
const COLORS: &str = "colors";

/// Reads the bytes of a file, and the colors beside it if there are any.
pub fn read(bytes: &[u8], beside: &dyn Companions) -> Result<MeshData, ReadError> {
    let mut words = Words::new(bytes, 0, 1, None);
    let points = words.count("points")?;
    let polygons = words.count("polygons")?;
    let mut mesh = MeshData::default();
    for _ in 0..points {
        mesh.points.push(words.point("point")?);
    }
    let mut corners = Vec::new();
    for _ in 0..polygons {
        let count = words.count("corners of a polygon")?;
        if count < 3 {
            return Err(ReadError::line(words.line(), format!("a polygon with {count} corners")));
        }
        corners.clear();
        for _ in 0..count {
            corners.push(corner(&mut words, points)?);
        }
        push_face(&mut mesh, &corners);
    }
    if mesh.cell_count() == 0 {
        return Err(ReadError::Missing { what: "polygons" });
    }
    if words.next_word().is_some() {
        mesh.notes.push(format!("line {} and what follows belong to no polygon", words.line()));
    }
    add_colors(&mut mesh, beside)?;
    Ok(mesh)
}

/// Adds a face of any number of corners.
pub(crate) fn push_face(mesh: &mut MeshData, corners: &[u32]) {
    let shape = match corners.len() {
        3 => CellShape::Tri3,
        4 => CellShape::Quad4,
        _ => CellShape::Polygon,
    };
    mesh.push_cell(shape, corners);
}

fn corner(words: &mut Words<'_>, points: usize) -> Result<u32, ReadError> {
    let index = words.integer("corner")?;
    if (1..=points as i64).contains(&index) {
        return Ok((index - 1) as u32);
    }
    Err(ReadError::Index { place: words.place(), what: "point", index })
}

fn add_colors(mesh: &mut MeshData, beside: &dyn Companions) -> Result<(), ReadError> {
    let name = format!("{}.{COLORS}", beside.stem());
    let Ok(bytes) = beside.open(&name, Place::Line(1)) else { return Ok(()) };
    let in_file = |error: ReadError| ReadError::Companion {
        place: Place::Line(1),
        name: name.clone(),
        reason: error.to_string(),
    };
    let mut words = Words::new(&bytes, 0, 1, None);
    let mut values = Vec::with_capacity(3 * mesh.points.len());
    for _ in 0..mesh.points.len() {
        values.extend(words.point("color").map_err(in_file)?.to_array());
    }
    mesh.point_fields.push(Field { name: "color".into(), components: 3, values });
    Ok(())
}

/// Encodes faces, with the point field `color` as a second file.
pub fn write(mesh: &MeshData) -> Result<Vec<EncodedFile>, WriteError> {
    let mut out = Vec::new();
    push_u64(&mut out, mesh.points.len() as u64);
    out.push(b' ');
    push_u64(&mut out, mesh.cell_count() as u64);
    out.push(b'\n');
    for point in &mesh.points {
        push_row(&mut out, &point.to_array());
    }
    for (shape, nodes) in mesh.cells() {
        if !matches!(shape, CellShape::Tri3 | CellShape::Quad4 | CellShape::Polygon) {
            let hint = "write the boundary of the volume: `sinew mesh convert --boundary`";
            return Err(WriteError::Unsupported { format: "OSU", what: format!("a {}", shape.name()), hint });
        }
        push_u64(&mut out, nodes.len() as u64);
        for &node in nodes {
            out.push(b' ');
            push_u64(&mut out, u64::from(node) + 1);
        }
        out.push(b'\n');
    }
    let mut files = vec![EncodedFile { extension: "osu", bytes: out }];
    if let Some(color) = mesh.point_field("color").filter(|field| matches!(field.components, 3 | 4)) {
        let mut bytes = Vec::new();
        color.values.chunks_exact(color.components).for_each(|row| push_row(&mut bytes, &row[..3]));
        files.push(EncodedFile { extension: COLORS, bytes });
    }
    Ok(files)
}

fn push_row(out: &mut Vec<u8>, values: &[f64]) {
    for (number, &value) in values.iter().enumerate() {
        if number > 0 {
            out.push(b' ');
        }
        push_f64(out, value);
    }
    out.push(b'\n');
}

/// For fuzzing: reads, and reads back what is written of it.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes, &crate::format::NoCompanions) else { return };
    let Ok(files) = write(&mesh) else { return };
    let back = read(&files[0].bytes, &crate::format::NoCompanions).expect("our own file");
    assert_eq!((back.points, back.groups), (mesh.points, mesh.groups));
}
