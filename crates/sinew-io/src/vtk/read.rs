//! Reader for legacy files.

use super::attributes::{Attributes, skip_fields, skip_lookup_table, skip_metadata};
use super::poly_data::{CellList, PolyData};
use super::scan::{ArrayPlace, Scanner};
use crate::binary::NumberKind;
use crate::error::{Place, ReadError};
use crate::mesh_data::MeshData;
use crate::text::shown;
use crate::vtu::cells::{CellFault, add_cells, first_beyond};
use crate::vtu::sets::sets_from_fields;
use crate::vtu::typed::NO_INDEX;

/// Kind of mesh in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dataset {
    UnstructuredGrid,
    PolyData,
}

/// Reads the bytes of a legacy VTK file.
///
/// In `POLYDATA`, cells of several points become several cells (points, segments, and the triangles of strips), each
/// with the data of its source cell. Arrays named `set:…` with a 0 or 1 per point or cell become sets.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut scanner = Scanner::new(bytes);
    let version = read_head(&mut scanner)?;
    let dataset = read_dataset(&mut scanner)?;
    let mut parts = Parts { has_offsets: version >= 5, ..Parts::default() };
    let mut mesh = MeshData::default();
    // What the next attributes describe; before the first POINT_DATA, the file.
    let mut section = None;
    while let Some(word) = scanner.next_word() {
        let keyword = word.to_ascii_uppercase();
        match keyword.as_slice() {
            b"POINTS" if !parts.has_points => parts.read_points(&mut scanner, &mut mesh)?,
            b"CELLS" if dataset == Dataset::UnstructuredGrid && parts.cells.is_none() => {
                parts.cells = Some(parts.read_cells(&mut scanner, mesh.points.len())?);
            }
            b"CELL_TYPES" if dataset == Dataset::UnstructuredGrid && parts.types.is_none() => {
                let count = scanner.count("cell types")?;
                let place = scanner.array_place(NumberKind::I32);
                parts.types = Some((scanner.indices(count, NumberKind::I32, "cell types")?, place));
            }
            b"VERTICES" | b"LINES" | b"POLYGONS" | b"TRIANGLE_STRIPS" if dataset == Dataset::PolyData => {
                let cells = parts.read_cells(&mut scanner, mesh.points.len())?;
                if !parts.poly_data.set(&keyword, cells) {
                    return Err(scanner.wrong(format!("a second {}", shown(word))));
                }
            }
            b"POINT_DATA" => section = Some(begin(&mut scanner, &mut parts.point_data, mesh.points.len(), 0)?),
            b"CELL_DATA" => {
                let count = parts.cell_count();
                section = Some(begin(&mut scanner, &mut parts.cell_data, count, 1)?);
            }
            b"METADATA" => skip_metadata(&mut scanner),
            b"LOOKUP_TABLE" => skip_lookup_table(&mut scanner)?,
            b"FIELD" if section.is_none() => skip_fields(&mut scanner)?,
            other => {
                let attributes = match section {
                    Some(0) => Some(&mut parts.point_data),
                    Some(_) => Some(&mut parts.cell_data),
                    None => None,
                };
                let known = match attributes {
                    Some(attributes) => attributes.read(&mut scanner, other, &mut mesh.notes)?,
                    None => None,
                };
                known.ok_or_else(|| scanner.wrong(format!("`{}` was not expected here", shown(word))))?;
            }
        }
    }
    if !parts.has_points {
        return Err(ReadError::Missing { what: "POINTS" });
    }
    parts.finish(&scanner, &mut mesh, bytes.len())?;
    Ok(mesh)
}

/// Reads the first three lines; returns the major version.
fn read_head(scanner: &mut Scanner<'_>) -> Result<u32, ReadError> {
    let magic = |reason: &str| ReadError::Magic { format: "VTK", reason: reason.into() };
    let first = scanner.next_line().unwrap_or_default().to_ascii_lowercase();
    let version = first.strip_prefix(b"# vtk datafile version").ok_or_else(|| {
        let hint = if first.starts_with(b"<") { "; XML files have the extension .vtu" } else { "" };
        magic(&format!("its first line is not `# vtk DataFile Version`{hint}"))
    })?;
    let version = version.trim_ascii().split(|&b| b == b'.').next().unwrap_or_default();
    let major = crate::text::parse_i64(version).and_then(|version| u32::try_from(version).ok());
    let major = major.ok_or_else(|| at_line(1, format!("the version `{}` is not a number", shown(version))))?;
    scanner.next_line();
    match scanner.next_line().unwrap_or_default().to_ascii_uppercase().as_slice() {
        b"ASCII" => {}
        b"BINARY" => scanner.is_binary = true,
        other => return Err(at_line(3, format!("`{}` is neither ASCII nor BINARY", shown(other)))),
    }
    Ok(major)
}

fn at_line(line: usize, reason: String) -> ReadError {
    ReadError::Syntax { place: Place::Line(line), reason }
}

fn read_dataset(scanner: &mut Scanner<'_>) -> Result<Dataset, ReadError> {
    let word = scanner.word("the kind of dataset")?;
    let wrong = |scanner: &Scanner<'_>, reason| ReadError::Syntax { place: scanner.line(), reason };
    if !word.eq_ignore_ascii_case(b"DATASET") {
        return Err(wrong(scanner, format!("`{}` instead of DATASET", shown(word))));
    }
    let kind = scanner.word("the kind of dataset")?;
    match kind.to_ascii_uppercase().as_slice() {
        b"UNSTRUCTURED_GRID" => Ok(Dataset::UnstructuredGrid),
        b"POLYDATA" => Ok(Dataset::PolyData),
        b"STRUCTURED_POINTS" | b"STRUCTURED_GRID" | b"RECTILINEAR_GRID" | b"FIELD" => Err(ReadError::Unsupported {
            place: scanner.line(),
            what: format!("the dataset {}", shown(kind)),
            hint: "turn it into an unstructured grid, in pyvista with `cast_to_unstructured_grid`, \
                   in ParaView with the filter Append Datasets",
        }),
        _ => Err(wrong(scanner, format!("the dataset `{}` is not known", shown(kind)))),
    }
}

/// Reads the count after `POINT_DATA` or `CELL_DATA`.
fn begin(scanner: &mut Scanner<'_>, attributes: &mut Attributes, count: usize, section: u8) -> Result<u8, ReadError> {
    let what = if section == 0 { "points with data" } else { "cells with data" };
    let found = scanner.count(what)?;
    if found != count {
        let (promised, found) = (found as u64, count as u64);
        return Err(ReadError::Count { place: scanner.place(), what: what.into(), promised, found });
    }
    attributes.count = count;
    Ok(section)
}

/// Parsed contents so far.
#[derive(Default)]
struct Parts {
    /// Whether cells are stored as offsets and connectivity (version 5) or each after its node count.
    has_offsets: bool,
    has_points: bool,
    cells: Option<CellList>,
    types: Option<(Vec<u32>, ArrayPlace)>,
    poly_data: PolyData,
    point_data: Attributes,
    cell_data: Attributes,
}

impl Parts {
    fn cell_count(&self) -> usize {
        self.cells.as_ref().map_or_else(|| self.poly_data.cell_count(), |cells| cells.ends.len())
    }

    fn read_points(&mut self, scanner: &mut Scanner<'_>, mesh: &mut MeshData) -> Result<(), ReadError> {
        self.has_points = true;
        let count = scanner.count("points")?;
        let kind = scanner.number_kind("points")?;
        let place = scanner.array_place(kind);
        mesh.points = scanner.points(count, kind)?;
        if let Some(point) = mesh.points.iter().position(|p| !p.is_finite()) {
            let place = scanner.place_of(place, 3 * point);
            return Err(ReadError::NotFinite { place, what: format!("point {point}") });
        }
        Ok(())
    }

    /// Reads the cells after a keyword, in either layout.
    fn read_cells(&self, scanner: &mut Scanner<'_>, point_count: usize) -> Result<CellList, ReadError> {
        let count = scanner.count("cells")?;
        let size = scanner.count("numbers of cells")?;
        if self.has_offsets && (count > 0 || scanner.is_next(b"OFFSETS")) {
            read_offsets(scanner, count, size, point_count)
        } else {
            read_counted(scanner, count, size, point_count)
        }
    }

    fn finish(self, scanner: &Scanner<'_>, mesh: &mut MeshData, file_size: usize) -> Result<(), ReadError> {
        mesh.point_fields = self.point_data.fields;
        mesh.cell_fields = self.cell_data.fields;
        if let Some(cells) = self.cells {
            let (types, types_place) = self.types.ok_or(ReadError::Missing { what: "CELL_TYPES" })?;
            if types.len() != cells.ends.len() {
                let (promised, found) = (cells.ends.len() as u64, types.len() as u64);
                let place = scanner.place_of(types_place, 0);
                return Err(ReadError::Count { place, what: "cell types".into(), promised, found });
            }
            let place = cells.place;
            add_cells(&mut mesh.groups, &types, &cells.ends, cells.nodes).map_err(|fault| {
                let is_type = matches!(fault, CellFault::Type { .. });
                fault.at(if is_type { scanner.place_of(types_place, fault.cell()) } else { place })
            })?;
        }
        self.poly_data.add_to(mesh, file_size)?;
        mesh.node_sets = sets_from_fields(&mut mesh.point_fields);
        mesh.cell_sets = sets_from_fields(&mut mesh.cell_fields);
        Ok(())
    }
}

/// `CELLS cells numbers`, then for each cell its node count and nodes.
fn read_counted(
    scanner: &mut Scanner<'_>,
    count: usize,
    size: usize,
    point_count: usize,
) -> Result<CellList, ReadError> {
    let place = scanner.place();
    let array = scanner.array_place(NumberKind::I32);
    let (ends, nodes) = match scanner.rows_of_cells(count, size)? {
        Some((per_cell, nodes)) => ((1..=count).map(|cell| (cell * per_cell) as u32).collect(), nodes),
        None => {
            let numbers = scanner.indices(size, NumberKind::I32, "numbers of cells")?;
            split_counted(scanner, numbers, count, place, array)?
        }
    };
    if let Some(wrong) = first_beyond(&nodes, point_count) {
        // A node is preceded by all earlier nodes, and by the node counts up to its own cell.
        let cell = ends.partition_point(|&end| end as usize <= wrong);
        return Err(no_node(scanner.place_of(array, wrong + cell + 1), nodes[wrong]));
    }
    Ok(CellList { ends, nodes, place })
}

/// Splits cells with leading node counts into ends and nodes.
fn split_counted(
    scanner: &Scanner<'_>,
    mut numbers: Vec<u32>,
    count: usize,
    place: Place,
    array: ArrayPlace,
) -> Result<(Vec<u32>, Vec<u32>), ReadError> {
    // Each cell takes at least its node count.
    let mut ends = Vec::with_capacity(count.min(numbers.len()));
    let (mut from, mut to) = (0, 0);
    for _ in 0..count {
        let start = from + 1;
        let length = numbers.get(from).map(|&length| length as usize);
        let end = length.map(|length| start.saturating_add(length)).filter(|&end| end <= numbers.len());
        let Some(end) = end else {
            let (promised, found) = (count as u64, ends.len() as u64);
            let place = scanner.place_of(array, from);
            return Err(ReadError::Count { place, what: "cells".into(), promised, found });
        };
        // Moves the nodes over the node counts, which are no longer needed.
        numbers.copy_within(start..end, to);
        to += end - start;
        from = end;
        ends.push(to as u32);
    }
    if from != numbers.len() {
        let (promised, found) = (numbers.len() as u64, from as u64);
        return Err(ReadError::Count { place, what: "numbers of cells".into(), promised, found });
    }
    numbers.truncate(to);
    Ok((ends, numbers))
}

/// `CELLS offsets nodes`, then `OFFSETS type` and `CONNECTIVITY type`.
fn read_offsets(
    scanner: &mut Scanner<'_>,
    count: usize,
    size: usize,
    point_count: usize,
) -> Result<CellList, ReadError> {
    let mut read = |keyword: &[u8], count: usize, what: &str| {
        let word = scanner.word(what)?;
        if !word.eq_ignore_ascii_case(keyword) {
            return Err(scanner.wrong(format!("`{}` instead of {}", shown(word), shown(keyword))));
        }
        let place = scanner.place();
        let kind = scanner.number_kind(what)?;
        let array = scanner.array_place(kind);
        Ok((scanner.indices(count, kind, what)?, array, place))
    };
    let (mut ends, offsets, place) = read(b"OFFSETS", count, "offsets")?;
    let (nodes, connectivity, _) = read(b"CONNECTIVITY", size, "connectivity")?;
    if let Some(wrong) = first_beyond(&nodes, point_count) {
        return Err(no_node(scanner.place_of(connectivity, wrong), nodes[wrong]));
    }
    if ends.first().is_some_and(|&start| start != 0) {
        let reason = "the first offset is not 0".into();
        return Err(ReadError::Syntax { place: scanner.place_of(offsets, 0), reason });
    }
    if ends.last().map_or(0, |&end| end as usize) != nodes.len() {
        let found = ends.last().copied().map_or(0, u64::from);
        let place = scanner.place_of(offsets, count.saturating_sub(1));
        let what = "nodes up to the last offset".into();
        return Err(ReadError::Count { place, what, promised: nodes.len() as u64, found });
    }
    if !ends.is_empty() {
        ends.remove(0);
    }
    Ok(CellList { ends, nodes, place })
}

fn no_node(place: Place, node: u32) -> ReadError {
    let index = if node == NO_INDEX { -1 } else { i64::from(node) };
    ReadError::Index { place, what: "node", index }
}
