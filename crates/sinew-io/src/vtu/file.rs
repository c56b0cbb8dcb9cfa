//! The markup of a VTU file: its arrays, and where their numbers are.

use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::xml::{Element, Event, Reader, XmlError};

/// Compression of binary arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compressor {
    /// Nothing.
    None,
    /// Deflate with the header of zlib.
    Zlib,
    /// Blocks of LZ4.
    Lz4,
}

/// Location of an array's numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// Between the tags, as text.
    Text {
        /// The text.
        bytes: &'a [u8],
        /// Byte of the file where it begins.
        offset: usize,
    },
    /// Between the tags, as base64.
    Base64 {
        /// The text.
        bytes: &'a [u8],
        /// Byte of the file where it begins.
        offset: usize,
    },
    /// At an offset from the start of the appended bytes.
    Appended {
        /// The offset.
        distance: usize,
    },
}

/// A declared array.
#[derive(Clone, Debug)]
pub(super) struct Array<'a> {
    /// Its name.
    pub name: String,
    /// Type of its numbers; `None` for strings and other nonnumeric data.
    pub kind: Option<NumberKind>,
    /// Numbers per point or cell.
    pub components: usize,
    /// Byte of the file where its tag begins.
    pub tag: usize,
    /// Location of its numbers.
    pub source: Source<'a>,
}

/// A piece of the grid, with separate points.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece<'a> {
    /// Number of points.
    pub point_count: usize,
    /// Number of cells.
    pub cell_count: usize,
    /// The array of points, if there is one.
    pub points: Vec<Array<'a>>,
    /// `connectivity`, `offsets`, `types` and other arrays that describe cells.
    pub cells: Vec<Array<'a>>,
    /// Fields at the points.
    pub point_data: Vec<Array<'a>>,
    /// Fields at the cells.
    pub cell_data: Vec<Array<'a>>,
}

/// The bytes after the markup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Appended<'a> {
    /// The bytes after the underscore.
    pub bytes: &'a [u8],
    /// Byte of the file where they begin.
    pub offset: usize,
    /// Whether they are base64.
    pub is_base64: bool,
}

/// A VTU file whose arrays are not decoded yet.
#[derive(Clone, Debug)]
pub(super) struct VtuFile<'a> {
    /// All bytes.
    pub bytes: &'a [u8],
    /// Byte order.
    pub endian: Endian,
    /// Size of the header words of binary arrays: 4 or 8 bytes.
    pub header_size: usize,
    /// Compression of binary arrays.
    pub compressor: Compressor,
    /// The parts of the grid.
    pub pieces: Vec<Piece<'a>>,
    /// The bytes after the markup.
    pub appended: Option<Appended<'a>>,
    /// Number of appended bytes read: arrays that share bytes could otherwise use unlimited memory.
    pub appended_read: usize,
}

/// The line of a byte.
pub(crate) fn line_of(bytes: &[u8], at: usize) -> Place {
    Place::Line(1 + bytes[..at.min(bytes.len())].iter().filter(|&&b| b == b'\n').count())
}

pub(super) fn xml_error(error: XmlError) -> ReadError {
    ReadError::line(error.line, error.reason)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Points,
    Cells,
    PointData,
    CellData,
}

impl<'a> VtuFile<'a> {
    /// Reads the markup.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<VtuFile<'a>, ReadError> {
        let mut reader = Reader::new(bytes);
        let mut file = None;
        let mut section = None;
        while let Some(event) = reader.next_event().map_err(xml_error)? {
            match event {
                Event::Start(element) => {
                    let Some(file) = file.as_mut() else {
                        file = Some(VtuFile::begin(bytes, &element)?);
                        continue;
                    };
                    match element.name {
                        "Piece" => file.pieces.push(piece(bytes, &element)?),
                        "Points" => section = Some(Section::Points).filter(|_| !element.is_empty),
                        "Cells" => section = Some(Section::Cells).filter(|_| !element.is_empty),
                        "PointData" => section = Some(Section::PointData).filter(|_| !element.is_empty),
                        "CellData" => section = Some(Section::CellData).filter(|_| !element.is_empty),
                        "DataArray" | "Array" => {
                            let mut array = array(bytes, &mut reader, &element)?;
                            if section == Some(Section::Points) && array.name.is_empty() {
                                array.name = "Points".into();
                            }
                            if let (Some(section), Some(piece)) = (section, file.pieces.last_mut()) {
                                piece.arrays(section).push(array);
                            }
                        }
                        "AppendedData" => {
                            file.appended = Some(appended(bytes, reader.position(), &element)?);
                            // Raw bytes are not markup: nothing after them can be parsed, or needs to be.
                            break;
                        }
                        _ => {}
                    }
                }
                Event::End("Points" | "Cells" | "PointData" | "CellData") => section = None,
                Event::Text { offset, .. } if file.is_none() => {
                    let reason = format!("{} has no markup", line_of(bytes, offset));
                    return Err(ReadError::Magic { format: "VTU", reason });
                }
                _ => {}
            }
        }
        file.ok_or_else(|| ReadError::Magic { format: "VTU", reason: "there is no VTKFile element".into() })
    }

    /// Reads the outermost element.
    fn begin(bytes: &'a [u8], element: &Element<'_>) -> Result<VtuFile<'a>, ReadError> {
        let place = line_of(bytes, element.offset);
        if element.name != "VTKFile" {
            return Err(ReadError::Magic { format: "VTU", reason: format!("it begins with <{}>", element.name) });
        }
        let kind = element.attribute("type").unwrap_or("nothing");
        if kind != "UnstructuredGrid" {
            return Err(ReadError::Unsupported {
                place,
                what: format!("VTK's XML format for {kind}"),
                hint: "save it as an unstructured grid (.vtu), in ParaView with the filter Append Datasets",
            });
        }
        let header_size = match element.attribute("header_type") {
            Some("UInt64") => 8,
            Some("UInt32") | None => 4,
            Some(other) => {
                return Err(ReadError::Syntax { place, reason: format!("header_type=\"{other}\" is not known") });
            }
        };
        let endian = match element.attribute("byte_order") {
            Some("BigEndian") => Endian::Big,
            Some("LittleEndian") | None => Endian::Little,
            Some(other) => {
                return Err(ReadError::Syntax { place, reason: format!("byte_order=\"{other}\" is not known") });
            }
        };
        let compressor = match element.attribute("compressor") {
            None | Some("") => Compressor::None,
            Some("vtkZLibDataCompressor") => Compressor::Zlib,
            Some("vtkLZ4DataCompressor") => Compressor::Lz4,
            Some(other) => {
                return Err(ReadError::Unsupported {
                    place,
                    what: format!("the compression {other}"),
                    hint: "save the file with the compressor ZLib, LZ4 or None",
                });
            }
        };
        Ok(VtuFile { bytes, endian, header_size, compressor, pieces: Vec::new(), appended: None, appended_read: 0 })
    }
}

impl<'a> Piece<'a> {
    fn arrays(&mut self, section: Section) -> &mut Vec<Array<'a>> {
        match section {
            Section::Points => &mut self.points,
            Section::Cells => &mut self.cells,
            Section::PointData => &mut self.point_data,
            Section::CellData => &mut self.cell_data,
        }
    }
}

fn piece<'a>(bytes: &[u8], element: &Element<'_>) -> Result<Piece<'a>, ReadError> {
    let count = |name: &str| {
        let text = element.attribute(name).unwrap_or("");
        // Nodes and cells have 32-bit indices.
        text.trim().parse().ok().filter(|&count: &usize| count < u32::MAX as usize).ok_or_else(|| ReadError::Syntax {
            place: line_of(bytes, element.offset),
            reason: format!("{name}=\"{text}\" is not a count"),
        })
    };
    let (point_count, cell_count) = (count("NumberOfPoints")?, count("NumberOfCells")?);
    Ok(Piece { point_count, cell_count, ..Piece::default() })
}

/// Reads an array up to the end of its element.
fn array<'a>(bytes: &[u8], reader: &mut Reader<'a>, element: &Element<'_>) -> Result<Array<'a>, ReadError> {
    let wrong = |name: &str, expected: &str| ReadError::Syntax {
        place: line_of(bytes, element.offset),
        reason: format!("{name}=\"{}\" is not {expected}", element.attribute(name).unwrap_or("")),
    };
    let components = match element.attribute("NumberOfComponents") {
        None => 1,
        Some(text) => text.trim().parse().map_err(|_| wrong("NumberOfComponents", "a count"))?,
    };
    let mut text = (&b""[..], reader.position());
    if !element.is_empty {
        let depth = reader.path().len();
        let mut has_text = false;
        // VTK nests elements with text inside arrays, after the numbers.
        while reader.path().len() >= depth {
            match reader.next_event().map_err(xml_error)? {
                Some(Event::Text { bytes: content, offset }) if reader.path().len() == depth => {
                    if has_text {
                        let place = line_of(bytes, offset);
                        return Err(ReadError::Syntax {
                            place,
                            reason: "the numbers of an array are interrupted".into(),
                        });
                    }
                    has_text = true;
                    text = (content, offset);
                }
                Some(_) => {}
                None => break,
            }
        }
    }
    let source = match element.attribute("format") {
        Some("ascii") | None => Source::Text { bytes: text.0, offset: text.1 },
        Some("binary") => Source::Base64 { bytes: text.0, offset: text.1 },
        Some("appended") => {
            let distance = element.attribute("offset").unwrap_or("").trim().parse();
            Source::Appended { distance: distance.map_err(|_| wrong("offset", "a distance in bytes"))? }
        }
        Some(_) => return Err(wrong("format", "ascii, binary or appended")),
    };
    let kind = match element.attribute("type").unwrap_or("") {
        "Int8" => Some(NumberKind::I8),
        "UInt8" => Some(NumberKind::U8),
        "Int16" => Some(NumberKind::I16),
        "UInt16" => Some(NumberKind::U16),
        "Int32" => Some(NumberKind::I32),
        "UInt32" => Some(NumberKind::U32),
        "Int64" => Some(NumberKind::I64),
        "UInt64" => Some(NumberKind::U64),
        "Float32" => Some(NumberKind::F32),
        "Float64" => Some(NumberKind::F64),
        _ => None,
    };
    let name = element.attribute("Name").unwrap_or("").to_string();
    Ok(Array { name, kind, components, tag: element.offset, source })
}

fn appended<'a>(bytes: &'a [u8], start: usize, element: &Element<'_>) -> Result<Appended<'a>, ReadError> {
    let is_base64 = match element.attribute("encoding") {
        Some("raw") => false,
        Some("base64") | None => true,
        Some(other) => {
            let reason = format!("encoding=\"{other}\" is not known");
            return Err(ReadError::Syntax { place: line_of(bytes, element.offset), reason });
        }
    };
    let rest = &bytes[start..];
    match rest.iter().position(|b| !b.is_ascii_whitespace()) {
        Some(at) if rest[at] == b'_' => Ok(Appended { bytes: &rest[at + 1..], offset: start + at + 1, is_base64 }),
        _ => Err(ReadError::Syntax {
            place: line_of(bytes, start),
            reason: "the appended bytes must begin with an underscore".into(),
        }),
    }
}
