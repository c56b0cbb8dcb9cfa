//! VTU files: unstructured grids of tetrahedra and hexahedra with their fields.
//!
//! Reads what VTK, ParaView, meshio and our own recorder write: arrays as text, as inline base64 or appended (raw or
//! base64), without compression. Memory stays within a small multiple of the file: counts are believed only after the
//! bytes they promise were found.

use sinew_geometry::{CellBlock, CellKind, CellMesh, MeshError, MeshReport};
use sinew_math::Vec3;
use thiserror::Error;

use super::base64;
use super::xml::{Element, Event, Reader, XmlError, find};

/// Why a VTU file could not be read.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum VtuError {
    /// The markup is broken.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// The file is of another kind.
    #[error("line {line}: this is {found}, but an UnstructuredGrid is needed")]
    Kind {
        /// Line of the element.
        line: usize,
        /// What it is.
        found: String,
    },
    /// The arrays are compressed.
    #[error(
        "line {line}: the arrays are compressed with {compressor}, which is not read\nhint: save the file without compression (ParaView: Data Mode, Compressor Type None)"
    )]
    Compressed {
        /// Line of the element.
        line: usize,
        /// Name of the compressor.
        compressor: String,
    },
    /// An array is broken.
    #[error("line {line} (byte {offset}), array \"{array}\": {reason}")]
    Array {
        /// Line of the array's element.
        line: usize,
        /// Byte where the trouble is.
        offset: usize,
        /// Name of the array.
        array: String,
        /// What is wrong.
        reason: String,
    },
    /// Something that a grid needs is missing.
    #[error("the grid has no {what}")]
    Missing {
        /// What.
        what: &'static str,
    },
    /// A cell is of a type that cannot be simulated.
    #[error("cell {cell} is a {name} (VTK type {vtk_type}), but only tetrahedra (10) and hexahedra (12) are read")]
    CellType {
        /// Number of the cell.
        cell: usize,
        /// VTK's number of the type.
        vtk_type: i64,
        /// VTK's name of the type.
        name: &'static str,
    },
    /// A cell has the wrong number of nodes or names nodes that do not exist.
    #[error("cell {cell}: {reason}")]
    Cell {
        /// Number of the cell.
        cell: usize,
        /// What is wrong.
        reason: String,
    },
    /// A coordinate is infinite or not a number.
    #[error("point {point} is not finite")]
    NotFinite {
        /// Number of the point.
        point: usize,
    },
    /// The cells do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Values at every point or cell.
#[derive(Clone, Debug, PartialEq)]
pub struct GridField {
    /// Name of the field.
    pub name: String,
    /// Numbers per point or cell.
    pub components: usize,
    /// All numbers, flat.
    pub values: Vec<f64>,
}

/// What a VTU file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VtuGrid {
    /// Points.
    pub positions: Vec<Vec3>,
    /// Cells, one block per kind: the kind of the first cell first, each in the order of the file.
    pub blocks: Vec<CellBlock>,
    /// For each cell of `blocks` its number in the file.
    pub cell_numbers: Vec<usize>,
    /// Fields at the points.
    pub point_fields: Vec<GridField>,
    /// Fields at the cells, in the order of `blocks`.
    pub cell_fields: Vec<GridField>,
}

impl VtuGrid {
    /// A point field by name.
    pub fn point_field(&self, name: &str) -> Option<&GridField> {
        self.point_fields.iter().find(|field| field.name == name)
    }

    /// A cell field by name.
    pub fn cell_field(&self, name: &str) -> Option<&GridField> {
        self.cell_fields.iter().find(|field| field.name == name)
    }

    /// The mesh, checked and mended, with labels from the cell field `label` (or `medit:ref`, `gmsh:physical`).
    pub fn into_mesh(self) -> Result<(CellMesh, MeshReport), VtuError> {
        let labels = ["label", "medit:ref", "gmsh:physical", "material"]
            .iter()
            .find_map(|name| self.cell_field(name))
            .filter(|field| field.components == 1)
            .map(|field| field.values.iter().map(|&v| v.clamp(0.0, f64::from(u32::MAX)) as u32).collect::<Vec<u32>>());
        let (mesh, report) = CellMesh::new(self.positions, self.blocks)?;
        match labels {
            Some(labels) => Ok((mesh.with_cell_labels(labels)?, report)),
            None => Ok((mesh, report)),
        }
    }
}

/// Reads the bytes of a VTU file.
pub fn read_vtu(bytes: &[u8]) -> Result<VtuGrid, VtuError> {
    let mut file = VtuFile::parse(bytes)?;
    let points = file.take(Section::Points, None).ok_or(VtuError::Missing { what: "Points" })?;
    let points = file.numbers(&points, Some(3 * file.point_count))?;
    let positions: Vec<Vec3> = points.chunks_exact(3).map(|p| Vec3::new(p[0], p[1], p[2])).collect();
    if let Some(point) = positions.iter().position(|p| !p.is_finite()) {
        return Err(VtuError::NotFinite { point });
    }
    let connectivity = file.cell_array("connectivity", None)?;
    let offsets = file.cell_array("offsets", Some(file.cell_count))?;
    let types = file.cell_array("types", Some(file.cell_count))?;
    let (blocks, cell_numbers) = cells(&connectivity, &offsets, &types, positions.len())?;
    let mut grid = VtuGrid { positions, blocks, cell_numbers, ..VtuGrid::default() };
    for (section, count) in [(Section::PointData, file.point_count), (Section::CellData, file.cell_count)] {
        while let Some(array) = file.take(section, None) {
            // Strings and other exotic arrays are not fields.
            if array.kind.is_none() {
                continue;
            }
            let values = file.numbers(&array, Some(array.components.saturating_mul(count)))?;
            let mut field = GridField { name: array.name.clone(), components: array.components, values };
            if section == Section::PointData {
                grid.point_fields.push(field);
            } else {
                field.values = grid
                    .cell_numbers
                    .iter()
                    .flat_map(|&cell| field.values[cell * field.components..(cell + 1) * field.components].to_vec())
                    .collect();
                grid.cell_fields.push(field);
            }
        }
    }
    Ok(grid)
}

fn cells(
    connectivity: &[f64],
    offsets: &[f64],
    types: &[f64],
    point_count: usize,
) -> Result<(Vec<CellBlock>, Vec<usize>), VtuError> {
    let mut blocks: Vec<(CellBlock, Vec<usize>)> = Vec::new();
    let mut start = 0;
    for (cell, (&offset, &vtk_type)) in offsets.iter().zip(types).enumerate() {
        let kind = match vtk_type as i64 {
            10 => CellKind::Tet4,
            12 => CellKind::Hex8,
            other => return Err(VtuError::CellType { cell, vtk_type: other, name: cell_type_name(other) }),
        };
        let known = blocks.iter().position(|(block, _)| block.kind == kind);
        let at = known.unwrap_or_else(|| {
            blocks.push((CellBlock { kind, nodes: Vec::new() }, Vec::new()));
            blocks.len() - 1
        });
        let (block, numbers) = &mut blocks[at];
        let end = offset as usize;
        let nodes = connectivity.get(start..end).ok_or_else(|| VtuError::Cell {
            cell,
            reason: format!("its nodes {start}..{end} are not in a connectivity of {}", connectivity.len()),
        })?;
        let needed = kind.nodes_per_cell();
        if nodes.len() != needed {
            return Err(VtuError::Cell { cell, reason: format!("{} nodes instead of {needed}", nodes.len()) });
        }
        for &node in nodes {
            if !(node >= 0.0 && node < point_count as f64) {
                return Err(VtuError::Cell { cell, reason: format!("node {node} of {point_count}") });
            }
            block.nodes.push(node as u32);
        }
        numbers.push(cell);
        start = end;
    }
    let (blocks, numbers): (Vec<CellBlock>, Vec<Vec<usize>>) = blocks.into_iter().unzip();
    Ok((blocks, numbers.concat()))
}

fn cell_type_name(vtk_type: i64) -> &'static str {
    match vtk_type {
        1 => "vertex",
        2 => "poly-vertex",
        3 => "line",
        4 => "poly-line",
        5 => "triangle",
        6 => "triangle strip",
        7 => "polygon",
        8 => "pixel",
        9 => "quad",
        11 => "voxel",
        13 => "wedge",
        14 => "pyramid",
        21 => "quadratic edge",
        22 => "quadratic triangle",
        23 => "quadratic quad",
        24 => "quadratic tetrahedron",
        25 => "quadratic hexahedron",
        29 => "tri-quadratic hexahedron",
        42 => "polyhedron",
        71 => "Lagrange tetrahedron",
        72 => "Lagrange hexahedron",
        _ => "cell of an unknown type",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Points,
    Cells,
    PointData,
    CellData,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    Int(usize),
    UInt(usize),
    Float(usize),
}

impl NumberKind {
    fn parse(name: &str) -> Option<NumberKind> {
        Some(match name {
            "Int8" => NumberKind::Int(1),
            "Int16" => NumberKind::Int(2),
            "Int32" => NumberKind::Int(4),
            "Int64" => NumberKind::Int(8),
            "UInt8" => NumberKind::UInt(1),
            "UInt16" => NumberKind::UInt(2),
            "UInt32" => NumberKind::UInt(4),
            "UInt64" => NumberKind::UInt(8),
            "Float32" => NumberKind::Float(4),
            "Float64" => NumberKind::Float(8),
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            NumberKind::Int(size) | NumberKind::UInt(size) | NumberKind::Float(size) => size,
        }
    }

    /// The number in `bytes`, which has the size of this kind and is little-endian.
    fn decode(self, bytes: &[u8]) -> f64 {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let raw = u64::from_le_bytes(wide);
        match self {
            NumberKind::UInt(_) => raw as f64,
            NumberKind::Int(size) => {
                let shift = 64 - 8 * size as u32;
                ((raw << shift) as i64 >> shift) as f64
            }
            NumberKind::Float(4) => f64::from(f32::from_bits(raw as u32)),
            NumberKind::Float(_) => f64::from_bits(raw),
        }
    }
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Text { bytes: &'a [u8], offset: usize },
    Base64 { bytes: &'a [u8], offset: usize },
    Appended { offset: usize },
}

#[derive(Clone, Debug)]
struct ArrayInfo<'a> {
    section: Section,
    name: String,
    kind: Option<NumberKind>,
    components: usize,
    line: usize,
    source: Source<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AppendedEncoding {
    Raw,
    Base64,
}

struct VtuFile<'a> {
    point_count: usize,
    cell_count: usize,
    is_big_endian: bool,
    /// Bytes of the number before binary arrays: 4 or 8.
    header_size: usize,
    /// What binary arrays are compressed with.
    compressor: Option<String>,
    arrays: Vec<ArrayInfo<'a>>,
    /// Bytes after the `_`, where they begin, and how they are written.
    appended: Option<(&'a [u8], usize, AppendedEncoding)>,
}

impl<'a> VtuFile<'a> {
    fn parse(bytes: &'a [u8]) -> Result<VtuFile<'a>, VtuError> {
        let mut reader = Reader::new(bytes);
        let mut file = VtuFile {
            point_count: 0,
            cell_count: 0,
            is_big_endian: false,
            header_size: 4,
            compressor: None,
            arrays: Vec::new(),
            appended: None,
        };
        let mut pieces = 0;
        let mut section = None;
        // The array whose content comes next.
        let mut pending: Option<ArrayInfo<'a>> = None;
        let mut is_grid = false;
        while let Some(event) = reader.next_event()? {
            match event {
                Event::Start(element) => match element.name {
                    "VTKFile" => {
                        file.header(&reader, &element)?;
                        is_grid = true;
                    }
                    "Piece" => {
                        pieces += 1;
                        if pieces > 1 {
                            return Err(reader.error_at(element.offset, "more than one Piece is not read").into());
                        }
                        file.point_count = count(&reader, &element, "NumberOfPoints")?;
                        file.cell_count = count(&reader, &element, "NumberOfCells")?;
                    }
                    "Points" => section = Some(Section::Points),
                    "Cells" => section = Some(Section::Cells),
                    "PointData" => section = (!element.is_empty).then_some(Section::PointData),
                    "CellData" => section = (!element.is_empty).then_some(Section::CellData),
                    "DataArray" => {
                        if let Some(section) = section {
                            let array = array_info(&reader, &element, section)?;
                            if element.is_empty || matches!(array.source, Source::Appended { .. }) {
                                file.arrays.push(array);
                            } else {
                                pending = Some(array);
                            }
                        }
                    }
                    "AppendedData" => {
                        file.appended = Some(appended(bytes, &reader, &element)?);
                        // Raw bytes are no markup: nothing after them can be read, and nothing needs to be.
                        break;
                    }
                    _ => {}
                },
                Event::Text { bytes, offset } => {
                    // VTK puts elements with text of their own inside arrays.
                    if let Some(array) = pending.as_mut().filter(|_| reader.path().last() == Some(&"DataArray")) {
                        array.source = match array.source {
                            Source::Base64 { .. } => Source::Base64 { bytes, offset },
                            _ => Source::Text { bytes, offset },
                        };
                    }
                }
                Event::End("DataArray") => file.arrays.extend(pending.take()),
                Event::End("Points" | "Cells" | "PointData" | "CellData") => section = None,
                Event::End(_) => {}
            }
        }
        if !is_grid {
            return Err(VtuError::Missing { what: "VTKFile element" });
        }
        if pieces == 0 {
            return Err(VtuError::Missing { what: "Piece" });
        }
        Ok(file)
    }

    fn header(&mut self, reader: &Reader<'a>, element: &Element<'a>) -> Result<(), VtuError> {
        let line = reader.error_at(element.offset, "").line;
        let kind = element.attribute("type").unwrap_or("a file of no type");
        if kind != "UnstructuredGrid" {
            return Err(VtuError::Kind { line, found: kind.into() });
        }
        self.compressor = element.attribute("compressor").filter(|name| !name.is_empty()).map(String::from);
        self.is_big_endian = element.attribute("byte_order") == Some("BigEndian");
        self.header_size = match element.attribute("header_type") {
            Some("UInt64") => 8,
            Some("UInt32") | None => 4,
            Some(other) => {
                return Err(reader.error_at(element.offset, format!("header_type {other} is not known")).into());
            }
        };
        Ok(())
    }

    /// Removes and returns the first array of a section, by name if one is given.
    fn take(&mut self, section: Section, name: Option<&str>) -> Option<ArrayInfo<'a>> {
        let at =
            self.arrays.iter().position(|array| array.section == section && name.is_none_or(|n| array.name == n))?;
        Some(self.arrays.remove(at))
    }

    /// The numbers of an array that describes the cells.
    fn cell_array(&mut self, name: &'static str, count: Option<usize>) -> Result<Vec<f64>, VtuError> {
        let array = self.take(Section::Cells, Some(name)).ok_or(VtuError::Missing { what: name })?;
        self.numbers(&array, count)
    }

    /// The numbers of an array; `count` is how many there must be.
    fn numbers(&self, array: &ArrayInfo<'a>, count: Option<usize>) -> Result<Vec<f64>, VtuError> {
        let fail = |offset: usize, reason: String| VtuError::Array {
            line: array.line,
            offset,
            array: array.name.clone(),
            reason,
        };
        let Some(kind) = array.kind else {
            return Err(fail(0, "its type is not a number".into()));
        };
        if let (Some(compressor), false) = (&self.compressor, matches!(array.source, Source::Text { .. })) {
            return Err(VtuError::Compressed { line: array.line, compressor: compressor.clone() });
        }
        let (values, offset) = match array.source {
            Source::Text { bytes, offset } => {
                (text_numbers(bytes).map_err(|(at, reason)| fail(offset + at, reason))?, offset)
            }
            Source::Base64 { bytes, offset } => {
                let data = self.base64_block(bytes).map_err(|(at, reason)| fail(offset + at, reason))?;
                (self.decode(kind, &data).map_err(|reason| fail(offset, reason))?, offset)
            }
            Source::Appended { offset } => {
                let Some((bytes, start, encoding)) = self.appended else {
                    return Err(fail(0, "the file has no AppendedData".into()));
                };
                let Some(block) = bytes.get(offset..).filter(|block| !block.is_empty()) else {
                    return Err(fail(
                        start,
                        format!("its offset {offset} is beyond the {} appended bytes", bytes.len()),
                    ));
                };
                let at = start + offset;
                let values = match encoding {
                    AppendedEncoding::Raw => self.raw_block(block).and_then(|data| self.decode(kind, data)),
                    AppendedEncoding::Base64 => {
                        self.base64_block(block).map_err(|(_, reason)| reason).and_then(|data| self.decode(kind, &data))
                    }
                };
                (values.map_err(|reason| fail(at, reason))?, at)
            }
        };
        match count {
            Some(count) if count != values.len() => {
                Err(fail(offset, format!("{} numbers instead of {count}", values.len())))
            }
            _ => Ok(values),
        }
    }

    fn length(&self, header: &[u8]) -> u64 {
        let mut wide = [0; 8];
        wide[..self.header_size].copy_from_slice(&header[..self.header_size]);
        if self.is_big_endian {
            wide[..self.header_size].reverse();
        }
        u64::from_le_bytes(wide)
    }

    fn raw_block<'b>(&self, block: &'b [u8]) -> Result<&'b [u8], String> {
        let header = block.get(..self.header_size).ok_or("the file ends in its header")?;
        let length = self.length(header);
        let rest = &block[self.header_size..];
        usize::try_from(length)
            .ok()
            .and_then(|length| rest.get(..length))
            .ok_or_else(|| format!("it promises {length} bytes, but {} are left in the file", rest.len()))
    }

    /// Header and data are encoded together or one after the other; both exist in the wild.
    fn base64_block(&self, text: &[u8]) -> Result<Vec<u8>, (usize, String)> {
        let (decoded, used) = base64::decode(text)?;
        if decoded.len() < self.header_size {
            return Err((0, "the file ends in its header".into()));
        }
        let length = self.length(&decoded);
        let mut data = decoded;
        data.drain(..self.header_size);
        if data.is_empty() && length > 0 {
            data = base64::decode(&text[used..]).map_err(|(at, reason)| (used + at, reason))?.0;
        }
        match usize::try_from(length).ok().filter(|&length| length <= data.len()) {
            Some(length) => {
                data.truncate(length);
                Ok(data)
            }
            None => Err((0, format!("it promises {length} bytes, but {} are there", data.len()))),
        }
    }

    fn decode(&self, kind: NumberKind, data: &[u8]) -> Result<Vec<f64>, String> {
        let size = kind.size();
        if !data.len().is_multiple_of(size) {
            return Err(format!("{} bytes are no whole number of {size}-byte numbers", data.len()));
        }
        let number = |bytes: &[u8]| {
            if !self.is_big_endian {
                return kind.decode(bytes);
            }
            let mut reversed = [0; 8];
            reversed[..size].copy_from_slice(bytes);
            reversed[..size].reverse();
            kind.decode(&reversed[..size])
        };
        Ok(data.chunks_exact(size).map(number).collect())
    }
}

fn count(reader: &Reader<'_>, element: &Element<'_>, name: &str) -> Result<usize, VtuError> {
    let text = element.attribute(name).unwrap_or("");
    text.trim().parse().map_err(|_| reader.error_at(element.offset, format!("{name}=\"{text}\" is not a count")).into())
}

fn array_info<'a>(reader: &Reader<'a>, element: &Element<'a>, section: Section) -> Result<ArrayInfo<'a>, VtuError> {
    let line = reader.error_at(element.offset, "").line;
    let name = element.attribute("Name").unwrap_or("").to_string();
    let components = match element.attribute("NumberOfComponents") {
        None => 1,
        Some(text) => text.trim().parse().ok().filter(|n| (1..=1000).contains(n)).ok_or_else(|| {
            reader.error_at(element.offset, format!("NumberOfComponents=\"{text}\" is not a number from 1 to 1000"))
        })?,
    };
    let source = match element.attribute("format") {
        Some("ascii") | None => Source::Text { bytes: b"", offset: reader.position() },
        Some("binary") => Source::Base64 { bytes: b"", offset: reader.position() },
        Some("appended") => {
            let text = element.attribute("offset").unwrap_or("");
            let offset = text.trim().parse();
            let offset =
                offset.map_err(|_| reader.error_at(element.offset, format!("offset=\"{text}\" is not a number")))?;
            Source::Appended { offset }
        }
        Some(other) => return Err(reader.error_at(element.offset, format!("format=\"{other}\" is not known")).into()),
    };
    let kind = NumberKind::parse(element.attribute("type").unwrap_or(""));
    Ok(ArrayInfo { section, name, kind, components, line, source })
}

fn appended<'a>(
    bytes: &'a [u8],
    reader: &Reader<'a>,
    element: &Element<'a>,
) -> Result<(&'a [u8], usize, AppendedEncoding), VtuError> {
    let encoding = match element.attribute("encoding") {
        Some("raw") => AppendedEncoding::Raw,
        Some("base64") | None => AppendedEncoding::Base64,
        Some(other) => {
            return Err(reader.error_at(element.offset, format!("encoding=\"{other}\" is not known")).into());
        }
    };
    let start = reader.position();
    match find(&bytes[start..], b"_") {
        Some(at) if bytes[start..start + at].iter().all(u8::is_ascii_whitespace) => {
            Ok((&bytes[start + at + 1..], start + at + 1, encoding))
        }
        _ => Err(reader.error_at(start, "AppendedData must begin with _").into()),
    }
}

/// Numbers separated by blanks. Errors carry the byte within the text.
fn text_numbers(text: &[u8]) -> Result<Vec<f64>, (usize, String)> {
    let mut values = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let length = text[at..].iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let word = String::from_utf8_lossy(&text[at..at + length]);
        values.push(word.parse().map_err(|_| (at, format!("`{word}` is not a number")))?);
        at += length;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(attributes: &str, points: &str, connectivity: &str, offsets: &str, types: &str, rest: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" {attributes}>\n<UnstructuredGrid>\n\
             <Piece NumberOfPoints=\"4\" NumberOfCells=\"1\">\n\
             <Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" {points}</DataArray></Points>\n\
             <Cells><DataArray type=\"Int32\" Name=\"connectivity\" {connectivity}</DataArray>\n\
             <DataArray type=\"Int32\" Name=\"offsets\" {offsets}</DataArray>\n\
             <DataArray type=\"UInt8\" Name=\"types\" {types}</DataArray></Cells>\n\
             {rest}</Piece></UnstructuredGrid></VTKFile>\n"
        )
    }

    const POINTS: &str = "format=\"ascii\">0 0 0 1 0 0 0 1 0 0 0 1";
    const NODES: &str = "format=\"ascii\">0 1 2 3";
    const OFFSETS: &str = "format=\"ascii\">4";
    const TYPES: &str = "format=\"ascii\">10";

    fn good() -> String {
        let data = "<CellData><DataArray type=\"Int32\" Name=\"label\" format=\"ascii\">7</DataArray></CellData>";
        file("", POINTS, NODES, OFFSETS, TYPES, data)
    }

    #[test]
    fn text_arrays_and_labels_are_read() {
        let (mesh, _) = read_vtu(good().as_bytes()).unwrap().into_mesh().unwrap();
        assert_eq!((mesh.node_count(), mesh.cell_labels()), (4, &[7][..]));
        assert!((mesh.volume() - 1.0 / 6.0).abs() < 1e-15);
    }

    /// The same tetrahedron with inline base64, header and data together or apart, either byte order and header size.
    #[test]
    fn inline_base64_is_read_in_all_its_forms() {
        let numbers: Vec<f64> = vec![0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 1.];
        for big in [false, true] {
            for wide in [false, true] {
                for apart in [false, true] {
                    let data: Vec<u8> =
                        numbers.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
                    let mut header = if wide {
                        (data.len() as u64).to_le_bytes().to_vec()
                    } else {
                        (data.len() as u32).to_le_bytes().to_vec()
                    };
                    if big {
                        header.reverse();
                    }
                    let text = if apart {
                        base64::encode(&header) + &base64::encode(&data)
                    } else {
                        base64::encode(&[header, data].concat())
                    };
                    let attributes = format!(
                        "byte_order=\"{}\" header_type=\"{}\"",
                        if big { "BigEndian" } else { "LittleEndian" },
                        if wide { "UInt64" } else { "UInt32" }
                    );
                    let points = format!("format=\"binary\">\n  {text}\n");
                    let grid = read_vtu(file(&attributes, &points, NODES, OFFSETS, TYPES, "").as_bytes()).unwrap();
                    assert_eq!(grid.positions[3], Vec3::new(0.0, 0.0, 1.0), "{attributes} apart: {apart}");
                }
            }
        }
    }

    /// VTK writes the range of a vector as elements inside its array, and names a compressor it does not use for text.
    #[test]
    fn files_of_vtk_are_read() {
        let points = "format=\"ascii\">0 0 0 1 0 0 0 1 0 0 0 1\n<InformationKey name=\"L2_NORM_RANGE\">\
            <Value index=\"0\">0.5</Value></InformationKey>\n";
        let text = file("compressor=\"vtkZLibDataCompressor\"", points, NODES, OFFSETS, TYPES, "");
        assert_eq!(read_vtu(text.as_bytes()).unwrap().positions.len(), 4);
    }

    #[test]
    fn mistakes_are_named() {
        let f = |points, nodes, offsets, types| file("", points, nodes, offsets, types, "");
        let cases = [
            (f("format=\"ascii\">0 0 0 1", NODES, OFFSETS, TYPES), "4 numbers instead of 12"),
            (f("format=\"ascii\">0 0 zero", NODES, OFFSETS, TYPES), "`zero`"),
            (f("format=\"ascii\">0 0 0 1 0 0 0 1 0 0 0 nan", NODES, OFFSETS, TYPES), "point 3 is not finite"),
            (f(POINTS, "format=\"ascii\">0 1 2 9", OFFSETS, TYPES), "node 9 of 4"),
            (f(POINTS, "format=\"ascii\">0 1 2 -1", OFFSETS, TYPES), "node -1"),
            (f(POINTS, NODES, "format=\"ascii\">99", TYPES), "connectivity of 4"),
            (f(POINTS, NODES, "format=\"ascii\">3", TYPES), "3 nodes instead of 4"),
            (f(POINTS, NODES, "format=\"ascii\">-4", TYPES), "nodes instead of 4"),
            (f(POINTS, NODES, OFFSETS, "format=\"ascii\">13"), "wedge"),
            (f(POINTS, NODES, OFFSETS, "format=\"ascii\">24"), "quadratic tetrahedron"),
            (f("format=\"binary\">%%%", NODES, OFFSETS, TYPES), "not base64"),
            (f("format=\"binary\">AAAA", NODES, OFFSETS, TYPES), "header"),
            (f("format=\"appended\" offset=\"0\">", NODES, OFFSETS, TYPES), "no AppendedData"),
            (
                file("compressor=\"vtkZLibDataCompressor\"", "format=\"binary\">AQAA", NODES, OFFSETS, TYPES, ""),
                "vtkZLibDataCompressor",
            ),
            (good().replace("UnstructuredGrid\"", "PolyData\""), "PolyData"),
            (good().replace("NumberOfPoints=\"4\"", "NumberOfPoints=\"-4\""), "not a count"),
            (good().replace("NumberOfPoints=\"4\"", "NumberOfPoints=\"99999999999999\""), "numbers instead of"),
            (good().replace("connectivity", "konnektivity"), "no connectivity"),
            ("not xml".into(), "no VTKFile"),
            (String::new(), "no VTKFile"),
        ];
        for (text, part) in cases {
            let error = read_vtu(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "expected {part:?} in {error:?}");
        }
    }

    /// A raw block that promises 2⁶³ bytes must not be believed.
    #[test]
    fn lying_lengths_are_refused_without_allocation() {
        let mut bytes = file("header_type=\"UInt64\"", "format=\"appended\" offset=\"0\">", NODES, OFFSETS, TYPES, "")
            .replace("</VTKFile>\n", "<AppendedData encoding=\"raw\">_")
            .into_bytes();
        bytes.extend((1u64 << 63).to_le_bytes());
        let error = read_vtu(&bytes).unwrap_err().to_string();
        assert!(error.contains("promises 9223372036854775808 bytes"), "{error}");
    }

    #[test]
    fn every_truncation_and_flipped_byte_ends_without_a_panic() {
        let text = good().into_bytes();
        for cut in 0..text.len() {
            let _ = read_vtu(&text[..cut]);
            let mut flipped = text.clone();
            flipped[cut] ^= 0x15;
            let _ = read_vtu(&flipped).map(VtuGrid::into_mesh);
        }
    }
}
