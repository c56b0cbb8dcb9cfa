//! MetaImage: `.mha` with the voxels behind the header, `.mhd` with them in a file beside.
//!
//! Its world is that of DICOM (LPS). The rows of `TransformMatrix` are the directions of the axes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use super::data::{ImageData, turned};
use super::inflate::{self, Packed};
use super::layout;
use super::samples::{LongTable, Meaning, Samples, promised};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::format::Companions;
use crate::text::{find_byte, parse_f64, parse_i64};

/// Lines of the header by key in small letters, each with its number.
struct Header<'a> {
    lines: BTreeMap<String, (usize, &'a str)>,
    data_start: usize,
    last: usize,
}

/// Reads a file; that with the voxels of a `.mhd` is opened by `beside`.
pub fn read(bytes: &[u8], beside: &dyn Companions) -> Result<ImageData, ReadError> {
    let header = Header::read(bytes)?;
    let size = header.size()?;
    let kind = header.kind()?;
    let count = layout::voxel_count(size, header.place("dimsize"))?;
    let mut notes = Vec::new();
    let grid = header.grid(size, &mut notes)?;
    let detached;
    let (data, start) = match header.data_file()? {
        None => (&bytes[header.data_start..], header.data_start),
        Some(name) => {
            detached = beside.open(name, header.place("elementdatafile"))?;
            (&detached[..], 0)
        }
    };
    let (data, kind, endian) = header.decoded(data, start, count, kind, &mut notes)?;
    let voxels = promised(&data, count, kind, Place::Byte(start))?;
    let image = Samples::new(voxels, kind, endian).decode(Meaning::Unknown, &LongTable::new(), &mut notes);
    Ok(ImageData { grid, voxels: image.voxels, table: image.table, notes })
}

impl<'a> Header<'a> {
    fn read(bytes: &'a [u8]) -> Result<Header<'a>, ReadError> {
        let mut header = Header { lines: BTreeMap::new(), data_start: bytes.len(), last: 0 };
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let length = find_byte(rest, b'\n').unwrap_or(rest.len());
            at = (at + length + 1).min(bytes.len());
            header.last += 1;
            let text = std::str::from_utf8(rest[..length].trim_ascii()).ok();
            let Some((key, value)) = text.and_then(|text| text.split_once('=')) else {
                if text.is_some_and(str::is_empty) {
                    continue;
                }
                if header.last == 1 {
                    let reason = "its first line is not \"key = value\"".into();
                    return Err(ReadError::Magic { format: "MetaImage", reason });
                }
                return Err(ReadError::line(header.last, "a line of the header is not \"key = value\""));
            };
            let key = key.trim().to_ascii_lowercase();
            let is_last = key == "elementdatafile";
            header.lines.insert(key, (header.last, value.trim()));
            if is_last {
                header.data_start = at;
                break;
            }
        }
        Ok(header)
    }

    fn value(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.lines.get(*name)).map(|(_, value)| *value)
    }

    fn place(&self, name: &str) -> Place {
        Place::Line(self.lines.get(name).map_or(self.last.max(1), |(line, _)| *line))
    }

    fn refuse(&self, name: &str, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: self.place(name), reason: reason.into() }
    }

    fn numbers(&self, names: &[&str]) -> Result<Option<Vec<f64>>, ReadError> {
        let Some(value) = self.value(names) else { return Ok(None) };
        let numbers: Option<Vec<f64>> = value.split_whitespace().map(|word| parse_f64(word.as_bytes())).collect();
        numbers.map(Some).ok_or_else(|| self.refuse(names[0], format!("{}: numbers are expected", names[0])))
    }

    fn is_true(&self, names: &[&str]) -> bool {
        self.value(names).is_some_and(|value| value.starts_with(['T', 't', '1']))
    }

    fn size(&self) -> Result<[usize; 3], ReadError> {
        let Some(value) = self.value(&["dimsize"]) else { return Err(ReadError::Missing { what: "DimSize" }) };
        let sizes: Option<Vec<usize>> =
            value.split_whitespace().map(|word| usize::try_from(parse_i64(word.as_bytes())?).ok()).collect();
        let sizes = sizes.ok_or_else(|| self.refuse("dimsize", "DimSize: counts are expected"))?;
        let axes = self.value(&["ndims"]).and_then(|value| value.parse::<usize>().ok());
        if axes.is_some_and(|axes| axes != sizes.len()) {
            return Err(self.refuse("dimsize", format!("{} sizes contradict NDims", sizes.len())));
        }
        let channels = self.value(&["elementnumberofchannels"]).unwrap_or("1");
        if channels != "1" {
            return Err(ReadError::Unsupported {
                place: self.place("elementnumberofchannels"),
                what: format!("an image of {channels} channels (colors or vectors)"),
                hint: "an image with one number in each voxel, labels or gray values",
            });
        }
        match sizes[..] {
            [x, y] => Ok([x, y, 1]),
            [x, y, z] | [x, y, z, 1] => Ok([x, y, z]),
            _ => Err(ReadError::Unsupported {
                place: self.place("dimsize"),
                what: format!("an image of {} dimensions", sizes.len()),
                hint: "keep one volume, as in SimpleITK: `image[..., 0]`",
            }),
        }
    }

    fn kind(&self) -> Result<NumberKind, ReadError> {
        match self.value(&["elementtype"]) {
            Some("MET_CHAR" | "MET_ASCII_CHAR") => Ok(NumberKind::I8),
            Some("MET_UCHAR") => Ok(NumberKind::U8),
            Some("MET_SHORT") => Ok(NumberKind::I16),
            Some("MET_USHORT") => Ok(NumberKind::U16),
            Some("MET_INT" | "MET_LONG") => Ok(NumberKind::I32),
            Some("MET_UINT" | "MET_ULONG") => Ok(NumberKind::U32),
            Some("MET_LONG_LONG") => Ok(NumberKind::I64),
            Some("MET_ULONG_LONG") => Ok(NumberKind::U64),
            Some("MET_FLOAT") => Ok(NumberKind::F32),
            Some("MET_DOUBLE") => Ok(NumberKind::F64),
            Some(other) => Err(self.refuse("elementtype", format!("type \"{other}\" of voxels is not known"))),
            None => Err(ReadError::Missing { what: "ElementType" }),
        }
    }

    fn grid(&self, size: [usize; 3], notes: &mut Vec<String>) -> Result<VoxelGrid, ReadError> {
        let Some(mut spacing) = self.numbers(&["elementspacing", "elementsize"])? else {
            return Err(self.refuse("dimsize", "no spacing: neither ElementSpacing nor ElementSize is given"));
        };
        let flat = self.value(&["ndims"]) == Some("2") || spacing.len() == 2;
        if flat {
            spacing.truncate(2);
            spacing.push(spacing.first().copied().unwrap_or(0.0));
        }
        let unit = match self.value(&["distanceunits"]) {
            None | Some("?") => layout::MILLIMETER,
            Some(name) => layout::unit(name).unwrap_or(layout::MILLIMETER),
        };
        let place = self.place("elementspacing");
        let &[x, y, z, ..] = &spacing[..] else {
            return Err(self.refuse("elementspacing", "three spacings are expected"));
        };
        let matrix = self.directions(flat)?;
        let mut origin = self.numbers(&["offset", "position", "origin"])?.unwrap_or_else(|| vec![0.0; 3]);
        origin.resize(3.max(origin.len()), 0.0);
        let axes = turned(&(matrix * Mat3::diagonal(Vec3::new(x, y, z)))) * unit;
        let origin = Vec3::new(-origin[0], -origin[1], origin[2]) * unit;
        layout::grid(size, origin, axes, place, notes)
    }

    /// Directions of the axes as columns.
    fn directions(&self, is_flat: bool) -> Result<Mat3, ReadError> {
        let names = ["transformmatrix", "rotation", "orientation"];
        match self.numbers(&names)?.as_deref() {
            None => Ok(Mat3::identity()),
            Some([a, b, c, d]) if is_flat => {
                Ok(Mat3::from_columns(Vec3::new(*a, *b, 0.0), Vec3::new(*c, *d, 0.0), Vec3::unit(2)))
            }
            Some([a, b, c, d, e, f, g, h, i]) => {
                let [x, y, z] = [[*a, *b, *c], [*d, *e, *f], [*g, *h, *i]].map(Vec3::from);
                Ok(Mat3::from_columns(x, y, z))
            }
            // A fourth axis of one volume.
            Some([a, b, c, _, d, e, f, _, g, h, i, ..]) => {
                let [x, y, z] = [[*a, *b, *c], [*d, *e, *f], [*g, *h, *i]].map(Vec3::from);
                Ok(Mat3::from_columns(x, y, z))
            }
            Some(other) => Err(self.refuse(names[0], format!("{} numbers; a matrix has nine", other.len()))),
        }
    }

    /// The file with the voxels, if they are not in this one.
    fn data_file(&self) -> Result<Option<&'a str>, ReadError> {
        match self.value(&["elementdatafile"]) {
            None => Err(ReadError::Missing { what: "ElementDataFile" }),
            Some("LOCAL" | "Local" | "local") => Ok(None),
            Some(name) if name.starts_with("LIST") || name.contains('%') => Err(ReadError::Unsupported {
                place: self.place("elementdatafile"),
                what: "voxels in several files".into(),
                hint: "save it as one .mha",
            }),
            Some(name) => Ok(Some(name)),
        }
    }

    /// The bytes of the voxels, unpacked or from text, with the type and byte order of their numbers.
    fn decoded<'b>(
        &self,
        data: &'b [u8],
        start: usize,
        count: usize,
        kind: NumberKind,
        notes: &mut Vec<String>,
    ) -> Result<(Cow<'b, [u8]>, NumberKind, Endian), ReadError> {
        let is_big = self.is_true(&["binarydatabyteordermsb", "elementbyteordermsb"]);
        let endian = if is_big { Endian::Big } else { Endian::Little };
        let most = count.saturating_mul(kind.size());
        if self.value(&["binarydata"]).is_some() && !self.is_true(&["binarydata"]) {
            let numbers = super::nrrd::text(data, count, self.last + 1)?;
            return Ok((Cow::Owned(numbers), NumberKind::F64, Endian::Little));
        }
        let skip = match self.value(&["headersize"]).and_then(|value| parse_i64(value.as_bytes())) {
            None | Some(0) => 0,
            Some(-1) => data.len().saturating_sub(most),
            Some(skip) => usize::try_from(skip).unwrap_or(usize::MAX).min(data.len()),
        };
        let data = &data[skip..];
        if !self.is_true(&["compresseddata"]) {
            return Ok((Cow::Borrowed(data), kind, endian));
        }
        let packed = if inflate::is_gzip(data) { Packed::Gzip } else { Packed::Zlib };
        let unpacked = inflate::inflate(data, packed, most, Place::Byte(start + skip))?;
        notes.extend(unpacked.has_more.then(|| inflate::MORE.into()));
        Ok((Cow::Owned(unpacked.bytes), kind, endian))
    }
}

/// For fuzzing: reads.
pub fn fuzz_one(bytes: &[u8]) {
    if let Ok(image) = read(bytes, &crate::format::NoCompanions) {
        assert_eq!(image.voxels.len(), image.grid.len(), "voxels");
    }
}
