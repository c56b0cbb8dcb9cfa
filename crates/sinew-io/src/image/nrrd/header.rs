//! The lines above the voxels: fields `key: value` and free keys `key:=value`.

use std::collections::BTreeMap;

use sinew_math::{Mat3, Vec3};

use super::super::layout;
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::text::{find_byte, parse_f64, parse_i64};

/// Longer headers are none.
const LONGEST: usize = 8 << 20;

/// How voxels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Raw,
    Gzip,
    Hex,
    Text,
}

impl Encoding {
    pub(super) fn is_text(self) -> bool {
        self == Encoding::Text
    }
}

/// The header of a file.
pub(super) struct Header<'a> {
    /// Fields by name in small letters, each with its line.
    fields: BTreeMap<String, (usize, &'a str)>,
    /// Free keys with their values.
    pub keys: BTreeMap<&'a str, &'a str>,
    /// Byte behind the empty line that ends the header.
    pub data_start: usize,
    lines: usize,
}

/// Size of the image, layers in front of it, and the axis of the file that is its x.
pub(super) struct Shape {
    pub size: [usize; 3],
    pub layers: usize,
    pub first: usize,
}

impl<'a> Header<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Header<'a>, ReadError> {
        if !bytes.starts_with(b"NRRD000") {
            return Err(ReadError::Magic { format: "NRRD", reason: "it does not begin with NRRD000".into() });
        }
        let mut header = Header { fields: BTreeMap::new(), keys: BTreeMap::new(), data_start: bytes.len(), lines: 1 };
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty() && at < LONGEST) {
            let length = find_byte(rest, b'\n').unwrap_or(rest.len());
            at = (at + length + 1).min(bytes.len());
            let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
            if line.is_empty() {
                header.data_start = at;
                break;
            }
            if header.lines > 1 && line[0] != b'#' {
                header.line(line)?;
            }
            header.lines += 1;
        }
        Ok(header)
    }

    fn line(&mut self, line: &'a [u8]) -> Result<(), ReadError> {
        let Ok(text) = std::str::from_utf8(line) else {
            return Err(ReadError::line(self.lines, "the header is not UTF-8"));
        };
        if let Some((key, value)) = text.split_once(":=") {
            self.keys.insert(key, value);
        } else if let Some((key, value)) = text.split_once(':') {
            self.fields.insert(key.trim().to_ascii_lowercase(), (self.lines, value.trim()));
        } else {
            return Err(ReadError::line(self.lines, "a line of the header has no colon"));
        }
        Ok(())
    }

    fn field(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.fields.get(*name)).map(|(_, value)| *value)
    }

    /// Line of a field, or the end of the header.
    pub(super) fn place(&self, name: &str) -> Place {
        Place::Line(self.fields.get(name).map_or(self.lines, |(line, _)| *line))
    }

    /// Line at which voxels as text begin.
    pub(super) fn line_count(&self) -> usize {
        self.lines + 1
    }

    pub(super) fn refuse(&self, field: &str, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: self.place(field), reason: reason.into() }
    }

    fn needed(&self, name: &'static str) -> Result<&'a str, ReadError> {
        self.field(&[name]).ok_or(ReadError::Missing { what: name })
    }

    fn integers(&self, name: &'static str) -> Result<Vec<i64>, ReadError> {
        let words = self.needed(name)?.split_whitespace();
        let numbers: Option<Vec<i64>> = words.map(|word| parse_i64(word.as_bytes())).collect();
        numbers.ok_or_else(|| self.refuse(name, format!("{name}: integers are expected")))
    }

    /// Three axes of space, with at most one of layers in front of them.
    pub(super) fn shape(&self) -> Result<Shape, ReadError> {
        let sizes = self.integers("sizes")?;
        if self.integers("dimension")? != [sizes.len() as i64] {
            return Err(self.refuse("sizes", format!("{} sizes contradict the dimension", sizes.len())));
        }
        let unsigned: Option<Vec<usize>> = sizes.iter().map(|&n| usize::try_from(n).ok().filter(|n| *n > 0)).collect();
        let unsigned = unsigned.ok_or_else(|| self.refuse("sizes", "an axis holds no voxels"))?;
        match unsigned[..] {
            [x, y] => Ok(Shape { size: [x, y, 1], layers: 1, first: 0 }),
            [x, y, z] => self.plain(Shape { size: [x, y, z], layers: 1, first: 0 }),
            [layers, x, y, z] if self.is_of_layers() => Ok(Shape { size: [x, y, z], layers, first: 1 }),
            [x, y, z, 1] => Ok(Shape { size: [x, y, z], layers: 1, first: 0 }),
            [1, x, y, z] => Ok(Shape { size: [x, y, z], layers: 1, first: 1 }),
            _ => Err(self.too_many(&unsigned)),
        }
    }

    /// Refuses images with colors on the first axis.
    fn plain(&self, shape: Shape) -> Result<Shape, ReadError> {
        let kinds: Vec<String> = self.words("kinds").iter().map(|kind| kind.to_ascii_lowercase()).collect();
        match kinds.iter().find(|kind| kind.contains("color") || kind.contains("vector") || kind.contains("matrix")) {
            Some(kind) => Err(ReadError::Unsupported {
                place: self.place("kinds"),
                what: format!("an image with an axis of kind {kind}"),
                hint: "an image with one number in each voxel, labels or gray values",
            }),
            None => Ok(shape),
        }
    }

    /// Whether the first axis are layers of a segmentation.
    fn is_of_layers(&self) -> bool {
        let kinds = self.words("kinds");
        let has_segments = self.keys.keys().any(|key| key.starts_with("Segment0_"));
        kinds.first().is_some_and(|kind| kind.eq_ignore_ascii_case("list")) && has_segments
    }

    fn too_many(&self, sizes: &[usize]) -> ReadError {
        let what = format!("an image of {} dimensions ({sizes:?}), in time or in color,", sizes.len());
        let hint = "keep one volume with one number in each voxel";
        ReadError::Unsupported { place: self.place("sizes"), what, hint }
    }

    fn words(&self, name: &str) -> Vec<&'a str> {
        self.field(&[name]).map(|value| value.split_whitespace().collect()).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> Result<NumberKind, ReadError> {
        match self.needed("type")?.to_ascii_lowercase().as_str() {
            "signed char" | "int8" | "int8_t" => Ok(NumberKind::I8),
            "uchar" | "unsigned char" | "uint8" | "uint8_t" => Ok(NumberKind::U8),
            "short" | "short int" | "signed short" | "signed short int" | "int16" | "int16_t" => Ok(NumberKind::I16),
            "ushort" | "unsigned short" | "unsigned short int" | "uint16" | "uint16_t" => Ok(NumberKind::U16),
            "int" | "signed int" | "int32" | "int32_t" => Ok(NumberKind::I32),
            "uint" | "unsigned int" | "uint32" | "uint32_t" => Ok(NumberKind::U32),
            "longlong"
            | "long long"
            | "long long int"
            | "signed long long"
            | "signed long long int"
            | "int64"
            | "int64_t" => Ok(NumberKind::I64),
            "ulonglong" | "unsigned long long" | "unsigned long long int" | "uint64" | "uint64_t" => {
                Ok(NumberKind::U64)
            }
            "float" => Ok(NumberKind::F32),
            "double" => Ok(NumberKind::F64),
            other => Err(self.refuse("type", format!("type \"{other}\" of voxels is not known"))),
        }
    }

    pub(super) fn encoding(&self) -> Result<Encoding, ReadError> {
        match self.needed("encoding")?.to_ascii_lowercase().as_str() {
            "raw" => Ok(Encoding::Raw),
            "gz" | "gzip" => Ok(Encoding::Gzip),
            "hex" => Ok(Encoding::Hex),
            "txt" | "text" | "ascii" => Ok(Encoding::Text),
            "bz2" | "bzip2" => Err(ReadError::Unsupported {
                place: self.place("encoding"),
                what: "bzip2".into(),
                hint: "save it with the encoding gzip, as 3D Slicer does",
            }),
            other => Err(self.refuse("encoding", format!("encoding \"{other}\" is not known"))),
        }
    }

    pub(super) fn endian(&self, kind: NumberKind) -> Result<Endian, ReadError> {
        match self.field(&["endian"]).map(str::to_ascii_lowercase).as_deref() {
            Some("little") => Ok(Endian::Little),
            Some("big") => Ok(Endian::Big),
            None if kind.size() == 1 => Ok(Endian::Little),
            None => Err(ReadError::Missing { what: "endian" }),
            Some(other) => Err(self.refuse("endian", format!("byte order \"{other}\" is not known"))),
        }
    }

    /// What it is, in its author's words.
    pub(super) fn content(&self) -> Option<&'a str> {
        self.field(&["content"])
    }

    /// The file with the voxels, if they are not in this one.
    pub(super) fn data_file(&self) -> Result<Option<&'a str>, ReadError> {
        let Some(name) = self.field(&["data file", "datafile"]) else { return Ok(None) };
        if name.starts_with("LIST") || name.contains('%') {
            return Err(ReadError::Unsupported {
                place: self.place("data file"),
                what: "voxels in several files".into(),
                hint: "save it as one .nrrd",
            });
        }
        Ok(Some(name))
    }

    /// The bytes behind the lines that are to be passed over.
    pub(super) fn skip_lines<'b>(&self, data: &'b [u8]) -> Result<&'b [u8], ReadError> {
        let count = self.number_of(&["line skip", "lineskip"])?.unwrap_or(0);
        let mut rest = data;
        for _ in 0..count {
            match find_byte(rest, b'\n') {
                Some(at) => rest = &rest[at + 1..],
                None => return Ok(&[]),
            }
        }
        Ok(rest)
    }

    /// Bytes to pass over, or that the voxels are the last bytes (−1).
    pub(super) fn byte_skip(&self) -> Result<(usize, bool), ReadError> {
        match self.number_of(&["byte skip", "byteskip"])? {
            None => Ok((0, false)),
            Some(-1) => Ok((0, true)),
            Some(skip) => match usize::try_from(skip) {
                Ok(skip) => Ok((skip, false)),
                Err(_) => Err(self.refuse("byte skip", format!("{skip} bytes cannot be passed over"))),
            },
        }
    }

    fn number_of(&self, names: &[&str]) -> Result<Option<i64>, ReadError> {
        let Some(value) = self.field(names) else { return Ok(None) };
        let number = parse_i64(value.as_bytes());
        number.map(Some).ok_or_else(|| self.refuse(names[0], format!("{}: an integer is expected", names[0])))
    }

    /// The space in which axes and origin are given, in small letters.
    pub(super) fn space(&self) -> Option<&'static str> {
        const KNOWN: [&str; 6] =
            ["left-posterior-superior", "lps", "left-anterior-superior", "las", "right-anterior-superior", "ras"];
        let name = self.field(&["space"])?.to_ascii_lowercase();
        Some(KNOWN.into_iter().find(|known| *known == name).unwrap_or("scanner-xyz"))
    }

    /// Meters of the unit.
    pub(super) fn unit(&self, first: usize, notes: &mut Vec<String>) -> Result<f64, ReadError> {
        let named = |field: &str, skip: usize| {
            let value = self.field(&[field])?;
            let units: Vec<&str> = value.split('"').map(str::trim).filter(|name| !name.is_empty()).collect();
            Some(units.get(skip.min(units.len().saturating_sub(1))).copied().unwrap_or("").to_string())
        };
        let Some(name) = named("space units", 0).or_else(|| named("units", first)) else {
            return Ok(layout::MILLIMETER);
        };
        Ok(layout::unit(&name).unwrap_or_else(|| {
            notes.push(format!("unit \"{name}\" is not known: taken as mm"));
            layout::MILLIMETER
        }))
    }

    /// Axes and origin in the space and the unit of the file.
    pub(super) fn axes(&self, first: usize, notes: &mut Vec<String>) -> Result<(Mat3, Vec3), ReadError> {
        let origin = match self.field(&["space origin"]) {
            Some(value) => self.vectors("space origin", value)?.first().copied().flatten(),
            None => None,
        };
        if let Some(value) = self.field(&["space directions"]) {
            let vectors: Vec<Vec3> = self.vectors("space directions", value)?.into_iter().flatten().collect();
            let mut axes = match vectors[..] {
                [x, y, z] => Mat3::from_columns(x, y, z),
                [x, y] => Mat3::from_columns(x, y, x.cross(y).normalized() * x.norm()),
                _ => {
                    let reason = format!("{} directions; an image has three", vectors.len());
                    return Err(self.refuse("space directions", reason));
                }
            };
            if !axes.is_finite() && vectors.len() == 2 {
                axes = Mat3::zero();
            }
            return Ok((axes, origin.unwrap_or_else(Vec3::zero)));
        }
        let Some(value) = self.field(&["spacings"]) else {
            let reason = "no spacing: neither \"space directions\" nor \"spacings\" is given";
            return Err(self.refuse("sizes", reason));
        };
        let spacings: Vec<f64> = value.split_whitespace().filter_map(|word| parse_f64(word.as_bytes())).collect();
        let spacing = match spacings.get(first..) {
            Some([x, y, z, ..]) => Vec3::new(*x, *y, *z),
            Some([x, y]) => Vec3::new(*x, *y, *x),
            _ => return Err(self.refuse("spacings", "spacings: three numbers are expected")),
        };
        if spacing.to_array().iter().any(|length| *length < 0.0) {
            notes.push("a spacing is negative: that axis is mirrored".into());
        }
        Ok((Mat3::diagonal(spacing), origin.unwrap_or_else(Vec3::zero)))
    }

    /// Vectors in parentheses; `none` for axes that are not of space.
    fn vectors(&self, field: &str, value: &str) -> Result<Vec<Option<Vec3>>, ReadError> {
        let mut vectors = Vec::new();
        let mut rest = value.trim();
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix("none") {
                vectors.push(None);
                rest = behind.trim_start();
                continue;
            }
            let inner = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            let Some((inner, behind)) = inner else {
                return Err(self.refuse(field, format!("{field}: vectors in parentheses are expected")));
            };
            let numbers: Vec<Option<f64>> = inner.split(',').map(|part| parse_f64(part.trim().as_bytes())).collect();
            match numbers[..] {
                [Some(x), Some(y), Some(z)] => vectors.push(Some(Vec3::new(x, y, z))),
                [Some(x), Some(y)] => vectors.push(Some(Vec3::new(x, y, 0.0))),
                _ => return Err(self.refuse(field, format!("{field}: three numbers in parentheses are expected"))),
            }
            rest = behind.trim_start();
        }
        Ok(vectors)
    }
}
