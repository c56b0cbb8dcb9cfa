//! Raw voxels, described by a few lines of text beside them.
//!
//! ```text
//! # arm.raw.txt, beside arm.raw
//! size = 128 128 96
//! spacing = 0.8 0.8 2 mm
//! type = u16               # i8 u8 i16 u16 i32 u32 i64 u64 f32 f64
//! order = little           # or big; little without it
//! skip = 0                 # bytes in front of the voxels
//! origin = -51 -51 0 mm    # center of the first voxel, RAS; 0 without it
//! x = 1 0 0                # directions of the axes, RAS; right, front, up without them
//! y = 0 1 0
//! z = 0 0 1
//! label 1 = humerus
//! ```
//!
//! A folder of PNG slices has the same in `spacing.txt`, where spacing is all that it needs.

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use super::data::{ImageData, LabelInfo};
use super::layout;
use super::samples::{LongTable, Meaning, Samples, promised};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::text::{parse_f64, parse_i64};

/// What the lines say.
#[derive(Clone, Debug, PartialEq)]
pub struct RawHeader {
    /// Number of voxels along each axis.
    pub size: Option<[usize; 3]>,
    /// Way from a voxel to the next \[m\].
    pub spacing: Option<Vec3>,
    /// Type of the numbers.
    pub kind: Option<NumberKind>,
    /// Byte order.
    pub endian: Endian,
    /// Bytes in front of the voxels.
    pub skip: usize,
    /// Center of the first voxel \[m\].
    pub origin: Vec3,
    /// Directions of the axes as columns.
    pub directions: Mat3,
    /// Names of labels.
    pub(crate) names: LongTable,
}

impl Default for RawHeader {
    fn default() -> Self {
        Self {
            size: None,
            spacing: None,
            kind: None,
            endian: Endian::Little,
            skip: 0,
            origin: Vec3::zero(),
            directions: Mat3::identity(),
            names: LongTable::new(),
        }
    }
}

impl RawHeader {
    /// Reads the lines; an error names the line that is not understood.
    pub fn read(text: &[u8]) -> Result<RawHeader, ReadError> {
        let mut header = RawHeader::default();
        let text = String::from_utf8_lossy(text);
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let fault = |reason: &str| ReadError::line(number + 1, reason);
            let Some((key, value)) = line.split_once('=') else { return Err(fault("a line is not \"key = value\"")) };
            header.set(key.trim(), value.trim()).map_err(|reason| fault(&reason))?;
        }
        Ok(header)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "size" => {
                let sizes = three(value)?.0;
                if sizes.iter().any(|n| !(1.0..=1e9).contains(n) || n.fract() != 0.0) {
                    return Err("size: three counts are expected".into());
                }
                self.size = Some(sizes.map(|n| n as usize));
            }
            "spacing" => self.spacing = Some(lengths(value)?),
            "origin" => self.origin = lengths(value)?,
            "type" => self.kind = Some(kind(value).ok_or_else(|| format!("type \"{value}\" is not known"))?),
            "order" => {
                self.endian = match value {
                    "little" => Endian::Little,
                    "big" => Endian::Big,
                    _ => return Err("order: little or big".into()),
                }
            }
            "skip" => {
                let skip = parse_i64(value.as_bytes()).and_then(|skip| usize::try_from(skip).ok());
                self.skip = skip.ok_or("skip: a count of bytes is expected")?;
            }
            "x" => self.directions.set_column(0, Vec3::from(three(value)?.0).normalized()),
            "y" => self.directions.set_column(1, Vec3::from(three(value)?.0).normalized()),
            "z" => self.directions.set_column(2, Vec3::from(three(value)?.0).normalized()),
            _ => return self.set_label(key, value),
        }
        Ok(())
    }

    fn set_label(&mut self, key: &str, value: &str) -> Result<(), String> {
        let label = key.strip_prefix("label").and_then(|rest| rest.trim().parse::<u32>().ok());
        let Some(label) = label else {
            return Err(format!(
                "key \"{key}\" is not known: size, spacing, type, order, skip, origin, x, y, z, label N"
            ));
        };
        self.names.insert(label.into(), LabelInfo { name: value.to_string(), color: None });
        Ok(())
    }

    /// The grid of an image of a size.
    pub(crate) fn grid(&self, size: [usize; 3], notes: &mut Vec<String>) -> Result<VoxelGrid, ReadError> {
        let Some(spacing) = self.spacing else {
            return Err(ReadError::Syntax { place: Place::Line(1), reason: NO_SPACING.into() });
        };
        layout::grid(size, self.origin, self.directions * Mat3::diagonal(spacing), Place::Line(1), notes)
    }
}

/// What is missing where nobody says how far voxels are apart.
pub(crate) const NO_SPACING: &str = "no spacing: a line such as `spacing = 0.8 0.8 2 mm` is needed";

/// Three numbers, and what follows them.
fn three(value: &str) -> Result<([f64; 3], &str), String> {
    let mut words = value.split_whitespace();
    let mut number = || words.next().and_then(|word| parse_f64(word.as_bytes())).filter(|value| value.is_finite());
    let (Some(x), Some(y), Some(z)) = (number(), number(), number()) else {
        return Err("three numbers are expected".into());
    };
    Ok(([x, y, z], words.next().unwrap_or("")))
}

/// Three lengths with their unit \[m\].
fn lengths(value: &str) -> Result<Vec3, String> {
    let (numbers, name) = three(value)?;
    let unit = layout::unit(name).ok_or_else(|| format!("unit \"{name}\" is not known: m, cm, mm, um"))?;
    Ok(Vec3::from(numbers) * unit)
}

fn kind(name: &str) -> Option<NumberKind> {
    match name {
        "i8" => Some(NumberKind::I8),
        "u8" => Some(NumberKind::U8),
        "i16" => Some(NumberKind::I16),
        "u16" => Some(NumberKind::U16),
        "i32" => Some(NumberKind::I32),
        "u32" => Some(NumberKind::U32),
        "i64" => Some(NumberKind::I64),
        "u64" => Some(NumberKind::U64),
        "f32" => Some(NumberKind::F32),
        "f64" => Some(NumberKind::F64),
        _ => None,
    }
}

/// Reads voxels that `header` describes.
pub fn read(bytes: &[u8], header: &RawHeader) -> Result<ImageData, ReadError> {
    let size = header.size.ok_or(ReadError::Missing { what: "line with the size" })?;
    let kind = header.kind.ok_or(ReadError::Missing { what: "line with the type" })?;
    let count = layout::voxel_count(size, Place::Line(1))?;
    let mut notes = Vec::new();
    let grid = header.grid(size, &mut notes)?;
    let start = header.skip.min(bytes.len());
    let rest = &bytes[start..];
    let voxels = promised(rest, count, kind, Place::Byte(start))?;
    if rest.len() > voxels.len() {
        notes.push(format!("{} bytes behind the voxels are left out", rest.len() - voxels.len()));
    }
    let image = Samples::new(voxels, kind, header.endian).decode(Meaning::Unknown, &header.names, &mut notes);
    Ok(ImageData { grid, voxels: image.voxels, table: image.table, notes })
}

/// For fuzzing: text up to a line `===`, voxels behind it.
pub fn fuzz_one(bytes: &[u8]) {
    let at = bytes.windows(5).position(|window| window == b"\n===\n");
    let Some(at) = at else { return };
    if let Ok(header) = RawHeader::read(&bytes[..at])
        && let Ok(image) = read(&bytes[at + 5..], &header)
    {
        assert_eq!(image.voxels.len(), image.grid.len(), "voxels");
    }
}
