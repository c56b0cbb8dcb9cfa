//! NRRD, with one file or a header beside the voxels, and segmentations of 3D Slicer.
//!
//! Slicer keeps names, colors and layers of segments in keys `Segment0_Name` and so on. Segments of several layers may
//! overlap; we keep one label for each voxel, that of the last layer, and say how many voxels lost one.

mod header;
mod segments;
mod write;

use std::borrow::Cow;

use sinew_math::{Mat3, Vec3};

use super::data::{ImageData, turned};
use super::inflate::{self, Packed};
use super::layout;
use super::samples::{Meaning, Samples, promised};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::format::Companions;
use crate::text::{Words, parse_f64};
use header::{Encoding, Header};

pub use write::write_nrrd;

/// Reads a file; a detached one with voxels is opened by `beside`.
pub fn read(bytes: &[u8], beside: &dyn Companions) -> Result<ImageData, ReadError> {
    let header = Header::read(bytes)?;
    let mut notes = Vec::new();
    let shape = header.shape()?;
    let count = layout::voxel_count(shape.size, header.place("sizes"))?;
    let all =
        count.checked_mul(shape.layers).ok_or_else(|| header.refuse("sizes", "more voxels than can be counted"))?;
    layout::voxel_count([all, 1, 1], header.place("sizes"))?;
    let kind = header.kind()?;
    let detached;
    let data = match header.data_file()? {
        None => &bytes[header.data_start..],
        Some(name) => {
            detached = beside.open(name, header.place("data file"))?;
            &detached[..]
        }
    };
    let start = if header.data_file()?.is_none() { header.data_start } else { 0 };
    let (voxels, kind) = decoded(&header, data, start, all, kind, &mut notes)?;
    let voxels = promised(&voxels, all, kind, Place::Byte(start))?;
    let endian = if header.encoding()?.is_text() { Endian::Little } else { header.endian(kind)? };
    let (origin, axes) = placed(&header, &shape, &mut notes)?;
    let grid = layout::grid(shape.size, origin, axes, header.place("space directions"), &mut notes)?;
    let segments = segments::of(&header);
    let samples = Samples::new(voxels, kind, endian);
    if shape.layers > 1 {
        let (voxels, table) = segments::flatten(&samples, shape.layers, count, &segments, &header, &mut notes)?;
        return Ok(ImageData { grid, voxels, table, notes });
    }
    let says_labels = !segments.is_empty() || header.content() == Some(write::LABELS);
    let meaning = if says_labels { Meaning::Labels } else { Meaning::Unknown };
    let image = samples.decode(meaning, &segments::names(&segments), &mut notes);
    Ok(ImageData { grid, voxels: image.voxels, table: image.table, notes })
}

/// The bytes of the voxels with the type of their numbers: text becomes doubles.
fn decoded<'a>(
    header: &Header<'_>,
    data: &'a [u8],
    start: usize,
    count: usize,
    kind: NumberKind,
    notes: &mut Vec<String>,
) -> Result<(Cow<'a, [u8]>, NumberKind), ReadError> {
    let most = count.saturating_mul(kind.size());
    let data = header.skip_lines(data)?;
    let (skip, from_end) = header.byte_skip()?;
    let front = |bytes: &'a [u8]| {
        if from_end { &bytes[bytes.len().saturating_sub(most)..] } else { &bytes[skip.min(bytes.len())..] }
    };
    match header.encoding()? {
        Encoding::Raw => Ok((Cow::Borrowed(front(data)), kind)),
        Encoding::Gzip => {
            let wanted = if from_end { most } else { most.saturating_add(skip) };
            let unpacked = inflate::inflate(data, Packed::Gzip, wanted, Place::Byte(start))?;
            notes.extend(unpacked.has_more.then(|| inflate::MORE.into()));
            let skip = if from_end { 0 } else { skip.min(unpacked.bytes.len()) };
            Ok((Cow::Owned(unpacked.bytes[skip..].to_vec()), kind))
        }
        Encoding::Hex => Ok((Cow::Owned(hex(front(data), start, most)?), kind)),
        Encoding::Text => Ok((Cow::Owned(text(front(data), count, header.line_count())?), NumberKind::F64)),
    }
}

/// Bytes written as pairs of hexadecimal digits.
fn hex(data: &[u8], start: usize, most: usize) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::with_capacity(most.min(data.len() / 2));
    let mut high = None;
    for (at, byte) in data.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace()) {
        if out.len() == most {
            break;
        }
        let Some(digit) = char::from(*byte).to_digit(16) else {
            return Err(ReadError::byte(start + at, "this is no hexadecimal digit"));
        };
        match high.take() {
            None => high = Some(digit),
            Some(front) => out.push((16 * front + digit) as u8),
        }
    }
    Ok(out)
}

/// Numbers written as text, as the bytes of doubles.
pub(in crate::image) fn text(data: &[u8], count: usize, line: usize) -> Result<Vec<u8>, ReadError> {
    // A number takes at least a digit and a blank.
    let mut out = Vec::with_capacity(8 * count.min(data.len() / 2 + 1));
    let mut words = Words::new(data, 0, line, None);
    for _ in 0..count {
        let Some(word) = words.next_word() else { break };
        let number = parse_f64(word).ok_or_else(|| crate::text::not_a(words.line(), word, "a number", "voxels"))?;
        out.extend(number.to_le_bytes());
    }
    Ok(out)
}

/// Origin and axes [m, RAS].
fn placed(header: &Header<'_>, shape: &header::Shape, notes: &mut Vec<String>) -> Result<(Vec3, Mat3), ReadError> {
    let unit = header.unit(shape.first, notes)?;
    let (axes, origin) = header.axes(shape.first, notes)?;
    let half = match header.space() {
        Some("left-posterior-superior" | "lps") => turned(&Mat3::identity()),
        Some("left-anterior-superior" | "las") => Mat3::diagonal(Vec3::new(-1.0, 1.0, 1.0)),
        Some("right-anterior-superior" | "ras") => Mat3::identity(),
        Some(other) => {
            notes.push(format!("its space \"{other}\" is not one of a patient: taken as right, front, up"));
            Mat3::identity()
        }
        None => {
            notes.push("the file does not say how the patient lies: its axes are taken as right, front, up".into());
            Mat3::identity()
        }
    };
    Ok((half * origin * unit, half * axes * unit))
}

/// For fuzzing: reads, and reads back what is written of it.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(image) = read(bytes, &crate::format::NoCompanions) else { return };
    let back = read(&write_nrrd(&image), &crate::format::NoCompanions).expect("our own file");
    assert_eq!(image.grid.size, back.grid.size, "size");
    if image.labels().is_ok() {
        assert_eq!(image.voxels, back.voxels, "voxels");
    }
}
