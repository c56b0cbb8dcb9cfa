//! Writer for VTU files.

use sinew_math::Vec3;

use super::blocks::pack;
use super::sets::{PREFIX, mask};
use super::text_array::push_rows;
use super::typed::encode;
use crate::error::WriteError;
use crate::format::WriteOptions;
use crate::mesh_data::{CellGroup, Field, MeshData};
use crate::text::{push_f64, push_u64};

/// The numbers of an array.
enum Numbers<'a> {
    Points(&'a [Vec3]),
    Doubles(&'a [f64]),
    Connectivity(&'a [CellGroup]),
    Offsets(&'a [CellGroup]),
    Types(&'a [CellGroup]),
    Mask(Vec<u8>),
}

/// An array to be written.
struct Column<'a> {
    section: &'static str,
    name: String,
    components: usize,
    numbers: Numbers<'a>,
}

/// Encodes the mesh as a VTU file.
///
/// Appends binary arrays raw, in 64-bit numbers; with `compress`, in zlib blocks. Sets become arrays `set:…` with a 1
/// for each member.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    if let Some(asked) = options.version.as_ref().filter(|version| *version != "1.0") {
        return Err(WriteError::Variant { format: "VTU", known: "1.0", asked: asked.clone() });
    }
    let columns = columns(mesh)?;
    if !options.binary {
        return Ok(as_text(mesh, &columns));
    }
    if !options.compress {
        return Ok(as_raw(mesh, &columns));
    }
    let packed: Vec<Vec<u8>> = columns
        .iter()
        .map(|column| {
            let mut bytes = vec![0; column.numbers.byte_count()];
            column.numbers.fill(&mut bytes);
            pack(&bytes)
        })
        .collect();
    let sizes: Vec<usize> = packed.iter().map(Vec::len).collect();
    let mut out = appended_markup(mesh, &columns, &sizes, " compressor=\"vtkZLibDataCompressor\"");
    out.reserve(sizes.iter().sum::<usize>() + END.len());
    packed.iter().for_each(|bytes| out.extend_from_slice(bytes));
    out.extend_from_slice(END);
    Ok(out)
}

const END: &[u8] = b"\n</AppendedData>\n</VTKFile>\n";

/// Checks that every field has an entry per point or cell.
pub(crate) fn check_fields(fields: &[Field], count: usize, format: &'static str) -> Result<(), WriteError> {
    match fields.iter().find(|field| Some(field.values.len()) != field.components.checked_mul(count)) {
        None => Ok(()),
        Some(field) => Err(WriteError::Unsupported {
            format,
            what: format!("the field \"{}\" with {} numbers for {count} entries", field.name, field.values.len()),
            hint: "give every point or cell as many numbers as the field has components",
        }),
    }
}

fn columns(mesh: &MeshData) -> Result<Vec<Column<'_>>, WriteError> {
    let (point_count, cell_count) = (mesh.points.len(), mesh.cell_count());
    check_fields(&mesh.point_fields, point_count, "VTU")?;
    check_fields(&mesh.cell_fields, cell_count, "VTU")?;
    let column = |section, name: &str, components, numbers| Column { section, name: name.into(), components, numbers };
    let mut columns = vec![
        column("Points", "Points", 3, Numbers::Points(&mesh.points)),
        column("Cells", "connectivity", 1, Numbers::Connectivity(&mesh.groups)),
        column("Cells", "offsets", 1, Numbers::Offsets(&mesh.groups)),
        column("Cells", "types", 1, Numbers::Types(&mesh.groups)),
    ];
    let sections = [
        ("PointData", &mesh.point_fields, &mesh.node_sets, point_count),
        ("CellData", &mesh.cell_fields, &mesh.cell_sets, cell_count),
    ];
    for (section, fields, sets, count) in sections {
        // An array without components looks like a missing one.
        for field in fields.iter().filter(|field| field.components > 0) {
            columns.push(column(section, &field.name, field.components, Numbers::Doubles(&field.values)));
        }
        for (name, members) in sets {
            let numbers = Numbers::Mask(mask(members, count));
            columns.push(column(section, &format!("{PREFIX}{name}"), 1, numbers));
        }
    }
    Ok(columns)
}

fn as_text(mesh: &MeshData, columns: &[Column<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024 + columns.iter().map(|column| column.numbers.byte_count()).sum::<usize>());
    push_markup(&mut out, mesh, columns, "", |out, column| {
        out.extend_from_slice(b" format=\"ascii\">\n");
        column.numbers.push_text(out, column.components);
        out.extend_from_slice(b"</DataArray>\n");
    });
    out.extend_from_slice(b"</VTKFile>\n");
    out
}

fn as_raw(mesh: &MeshData, columns: &[Column<'_>]) -> Vec<u8> {
    const HEADER: usize = 8;
    let sizes: Vec<usize> = columns.iter().map(|column| column.numbers.byte_count() + HEADER).collect();
    let markup = appended_markup(mesh, columns, &sizes, "");
    // Zeroed memory comes untouched from the system, so each page is touched once, by the core that fills it.
    let mut out = vec![0; markup.len() + sizes.iter().sum::<usize>() + END.len()];
    let (head, mut rest) = out.split_at_mut(markup.len());
    head.copy_from_slice(&markup);
    for (column, &size) in columns.iter().zip(&sizes) {
        let (block, after) = rest.split_at_mut(size);
        let (header, data) = block.split_at_mut(HEADER);
        header.copy_from_slice(&(data.len() as u64).to_le_bytes());
        column.numbers.fill(data);
        rest = after;
    }
    rest.copy_from_slice(END);
    out
}

/// Everything up to the first appended byte; `sizes` are the appended bytes of each array.
fn appended_markup(mesh: &MeshData, columns: &[Column<'_>], sizes: &[usize], attributes: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    let mut offset = 0;
    let mut sizes = sizes.iter();
    push_markup(&mut out, mesh, columns, attributes, |out, _| {
        out.extend_from_slice(b" format=\"appended\" offset=\"");
        push_u64(out, offset);
        out.extend_from_slice(b"\"/>\n");
        offset += sizes.next().map_or(0, |&size| size as u64);
    });
    out.extend_from_slice(b"<AppendedData encoding=\"raw\">\n_");
    out
}

/// The markup; `push_rest` completes the element of each array.
fn push_markup(
    out: &mut Vec<u8>,
    mesh: &MeshData,
    columns: &[Column<'_>],
    attributes: &str,
    mut push_rest: impl FnMut(&mut Vec<u8>, &Column<'_>),
) {
    let (points, cells) = (mesh.points.len(), mesh.cell_count());
    let head = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" \
         header_type=\"UInt64\"{attributes}>\n<UnstructuredGrid>\n\
         <Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n"
    );
    out.extend_from_slice(head.as_bytes());
    for section in ["Points", "Cells", "PointData", "CellData"] {
        out.extend_from_slice(format!("<{section}>\n").as_bytes());
        for column in columns.iter().filter(|column| column.section == section) {
            let (kind, name) = (column.numbers.type_name(), escaped(&column.name));
            let tag =
                format!("<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{}\"", column.components);
            out.extend_from_slice(tag.as_bytes());
            push_rest(out, column);
        }
        out.extend_from_slice(format!("</{section}>\n").as_bytes());
    }
    out.extend_from_slice(b"</Piece>\n</UnstructuredGrid>\n");
}

/// A name as an attribute value. XML forbids control characters.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('_'),
            c => out.push(c),
        }
    }
    out
}

impl Numbers<'_> {
    fn type_name(&self) -> &'static str {
        match self {
            Numbers::Points(_) | Numbers::Doubles(_) => "Float64",
            Numbers::Connectivity(_) | Numbers::Offsets(_) => "Int64",
            Numbers::Types(_) | Numbers::Mask(_) => "UInt8",
        }
    }

    fn byte_count(&self) -> usize {
        let cell_count = |groups: &[CellGroup]| groups.iter().map(CellGroup::len).sum::<usize>();
        match self {
            Numbers::Points(points) => 24 * points.len(),
            Numbers::Doubles(values) => 8 * values.len(),
            Numbers::Connectivity(groups) => 8 * groups.iter().map(|group| group.nodes.len()).sum::<usize>(),
            Numbers::Offsets(groups) => 8 * cell_count(groups),
            Numbers::Types(groups) => cell_count(groups),
            Numbers::Mask(mask) => mask.len(),
        }
    }

    /// Writes the numbers to `out`, which has exactly their size.
    fn fill(&self, mut out: &mut [u8]) {
        match self {
            Numbers::Points(points) => encode(out, points, point_bytes),
            Numbers::Doubles(values) => encode(out, values, f64::to_le_bytes),
            Numbers::Mask(mask) => out.copy_from_slice(mask),
            Numbers::Connectivity(groups) => {
                for group in *groups {
                    let (room, rest) = std::mem::take(&mut out).split_at_mut(8 * group.nodes.len());
                    encode(room, &group.nodes, |node| i64::from(node).to_le_bytes());
                    out = rest;
                }
            }
            Numbers::Offsets(groups) => {
                let mut before = 0u64;
                for group in *groups {
                    let (room, rest) = std::mem::take(&mut out).split_at_mut(8 * group.len());
                    let (room, _) = room.as_chunks_mut::<8>();
                    match group.shape.nodes() {
                        Some(nodes) => {
                            for (index, end) in room.iter_mut().enumerate() {
                                *end = (before + (index as u64 + 1) * nodes as u64).to_le_bytes();
                            }
                        }
                        None => {
                            for (room, &end) in room.iter_mut().zip(&group.ends) {
                                *room = (before + u64::from(end)).to_le_bytes();
                            }
                        }
                    }
                    before += group.nodes.len() as u64;
                    out = rest;
                }
            }
            Numbers::Types(groups) => {
                for group in *groups {
                    let (room, rest) = std::mem::take(&mut out).split_at_mut(group.len());
                    room.fill(group.shape.vtk());
                    out = rest;
                }
            }
        }
    }

    fn push_text(&self, out: &mut Vec<u8>, components: usize) {
        match self {
            Numbers::Points(points) => push_rows(out, points.len(), |out, row| push_point(out, points[row])),
            Numbers::Doubles(values) => push_values(out, values, components),
            Numbers::Connectivity(groups) => {
                for group in *groups {
                    push_rows(out, group.len(), |out, cell| push_nodes(out, group.cell(cell)));
                }
            }
            // One per line; computes the bytes first, since they count through the groups.
            Numbers::Offsets(_) => {
                let mut bytes = vec![0; self.byte_count()];
                self.fill(&mut bytes);
                let (ends, _) = bytes.as_chunks::<8>();
                push_rows(out, ends.len(), |out, cell| {
                    push_u64(out, u64::from_le_bytes(ends[cell]));
                    out.push(b'\n');
                });
            }
            Numbers::Types(groups) => {
                for group in *groups {
                    let mut line = Vec::new();
                    push_u64(&mut line, u64::from(group.shape.vtk()));
                    line.push(b'\n');
                    push_rows(out, group.len(), |out, _| out.extend_from_slice(&line));
                }
            }
            Numbers::Mask(mask) => {
                push_rows(out, mask.len(), |out, row| out.extend_from_slice(&[b'0' + mask[row], b'\n']))
            }
        }
    }
}

fn point_bytes(point: Vec3) -> [u8; 24] {
    let mut bytes = [0; 24];
    let (numbers, _) = bytes.as_chunks_mut::<8>();
    for (number, value) in numbers.iter_mut().zip([point.x, point.y, point.z]) {
        *number = value.to_le_bytes();
    }
    bytes
}

/// Appends a line with a point.
pub(crate) fn push_point(out: &mut Vec<u8>, point: Vec3) {
    for (value, end) in [(point.x, b' '), (point.y, b' '), (point.z, b'\n')] {
        push_f64(out, value);
        out.push(end);
    }
}

/// Appends the values of a field, a line per point or cell.
pub(crate) fn push_values(out: &mut Vec<u8>, values: &[f64], components: usize) {
    let components = components.max(1);
    push_rows(out, values.len() / components, |out, row| {
        for (index, &value) in values[row * components..(row + 1) * components].iter().enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            push_f64(out, value);
        }
        out.push(b'\n');
    });
}

/// Appends a line with the nodes of a cell.
pub(crate) fn push_nodes(out: &mut Vec<u8>, nodes: &[u32]) {
    for (index, &node) in nodes.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        push_u64(out, u64::from(node));
    }
    out.push(b'\n');
}
