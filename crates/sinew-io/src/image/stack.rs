//! Slices as PNG files, sorted by the numbers in their names.
//!
//! The first pixel is at the left and top of a slice; rows go down. Indices of a palette are labels, with its colors.

use std::io::Cursor;

use png::{ColorType, Limits, Transformations};

use super::data::{ImageData, LabelInfo};
use super::layout;
use super::raw::RawHeader;
use super::samples::{LongTable, Meaning, Samples};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};

/// A decoded slice.
struct Slice {
    width: usize,
    height: usize,
    /// Numbers of one byte, or of two with the highest first.
    values: Vec<u8>,
    is_wide: bool,
    palette: Option<LongTable>,
}

/// Reads slices in the order of the numbers in their names.
pub fn read(mut files: Vec<(String, Vec<u8>)>, header: &RawHeader) -> Result<ImageData, ReadError> {
    files.sort_by(|a, b| numbers_of(&a.0).cmp(&numbers_of(&b.0)).then_with(|| a.0.cmp(&b.0)));
    let mut notes = Vec::new();
    tell_gaps(&files, &mut notes);
    let Some((_, front)) = files.first() else { return Err(ReadError::Missing { what: "slices" }) };
    let first = decode(front, 0)?;
    let size = [first.width, first.height, files.len()];
    layout::voxel_count(size, Place::Slice(0))?;
    let grid = header.grid(size, &mut notes)?;
    let mut all = Vec::with_capacity(first.values.len().saturating_mul(files.len()));
    let (is_wide, palette) = (first.is_wide, first.palette.clone());
    for (number, (name, bytes)) in files.iter().enumerate() {
        let slice = decode(bytes, number)?;
        if [slice.width, slice.height] != size[..2] || slice.is_wide != is_wide {
            let reason = format!(
                "\"{name}\" has {} x {} pixels of {} bits, the first slice {} x {} of {}",
                slice.width,
                slice.height,
                bits(slice.is_wide),
                size[0],
                size[1],
                bits(is_wide)
            );
            return Err(ReadError::Syntax { place: Place::Slice(number), reason });
        }
        if slice.palette != palette {
            let reason = format!("\"{name}\" has another palette than the first slice");
            return Err(ReadError::Syntax { place: Place::Slice(number), reason });
        }
        all.extend_from_slice(&slice.values);
    }
    let kind = if is_wide { NumberKind::U16 } else { NumberKind::U8 };
    let meaning = if palette.is_some() { Meaning::Labels } else { Meaning::Unknown };
    let mut names = palette.unwrap_or_default();
    names.extend(header.names.clone());
    let image = Samples::new(&all, kind, Endian::Big).decode(meaning, &names, &mut notes);
    Ok(ImageData { grid, voxels: image.voxels, table: image.table, notes })
}

fn bits(is_wide: bool) -> u8 {
    if is_wide { 16 } else { 8 }
}

/// All numbers in a name, which sort slice 9 before slice 10.
pub(super) fn numbers_of(name: &str) -> Vec<u64> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let parts = stem.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

/// Notes on numbers that are left out.
fn tell_gaps(files: &[(String, Vec<u8>)], notes: &mut Vec<String>) {
    let last: Vec<u64> = files.iter().filter_map(|(name, _)| numbers_of(name).last().copied()).collect();
    if last.len() < files.len() {
        notes.push("not all slices have a number: they are sorted by name".into());
        return;
    }
    let gaps: Vec<u64> =
        last.windows(2).filter(|pair| pair[1] > pair[0].saturating_add(1)).map(|pair| pair[0] + 1).collect();
    if let Some(gap) = gaps.first() {
        let more = if gaps.len() > 1 { format!(" and {} more", gaps.len() - 1) } else { String::new() };
        notes.push(format!("slice {gap} is missing{more}: its neighbors are taken as adjacent"));
    }
}

fn decode(bytes: &[u8], number: usize) -> Result<Slice, ReadError> {
    let place = Place::Slice(number);
    let failed = |error: png::DecodingError| ReadError::Syntax { place, reason: format!("it is no PNG: {error}") };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 1 << 30 });
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(failed)?;
    let (color, depth) = reader.output_color_type();
    if !matches!(color, ColorType::Grayscale | ColorType::Indexed) {
        let hint = "slices in gray or with a palette, one number in each pixel; colors are no labels";
        return Err(ReadError::Unsupported { place, what: "a color image".into(), hint });
    }
    let size = [reader.info().width as usize, reader.info().height as usize, 1];
    layout::voxel_count(size, place)?;
    let palette = reader.info().palette.as_ref().filter(|_| color == ColorType::Indexed).map(|colors| palette(colors));
    let length =
        reader.output_buffer_size().ok_or_else(|| ReadError::Syntax { place, reason: "it is too large".into() })?;
    // Deflate packs at most 1032 bytes into one: a slice that promises more is cut off.
    if length / 1032 > bytes.len() {
        return Err(ReadError::Truncated { place, what: "the pixels".into() });
    }
    let mut packed = vec![0; length];
    reader.next_frame(&mut packed).map_err(failed)?;
    let values = unpacked(&packed, size[0], size[1], depth as u8);
    Ok(Slice { width: size[0], height: size[1], values, is_wide: depth as u8 == 16, palette })
}

fn palette(colors: &[u8]) -> LongTable {
    let part = |value: u8| f32::from(value) / 255.0;
    let color = |rgb: &[u8]| Some([part(rgb[0]), part(rgb[1]), part(rgb[2])]);
    (0..)
        .zip(colors.chunks_exact(3))
        .map(|(at, rgb)| (at, LabelInfo { name: String::new(), color: color(rgb) }))
        .collect()
}

/// One byte for each pixel of 1, 2 or 4 bits; rows begin at a byte.
fn unpacked(packed: &[u8], width: usize, height: usize, depth: u8) -> Vec<u8> {
    if depth >= 8 {
        return packed.to_vec();
    }
    let depth = usize::from(depth);
    let row = (width * depth).div_ceil(8);
    let pixel = |row: &[u8], x: usize| {
        let bit = x * depth;
        row.get(bit / 8).map_or(0, |byte| (byte >> (8 - depth - bit % 8)) & ((1 << depth) - 1) as u8)
    };
    packed.chunks(row.max(1)).take(height).flat_map(|row| (0..width).map(move |x| pixel(row, x))).collect()
}

/// For fuzzing: one slice.
pub fn fuzz_one(bytes: &[u8]) {
    let header = RawHeader { spacing: Some(sinew_math::Vec3::splat(1e-3)), ..RawHeader::default() };
    if let Ok(image) = read(vec![("1.png".into(), bytes.to_vec())], &header) {
        assert_eq!(image.voxels.len(), image.grid.len(), "voxels");
    }
}
