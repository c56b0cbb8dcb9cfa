//! NIfTI 1; NIfTI 2 where an axis has more voxels than 16 bits count.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use super::super::data::{ImageData, Voxels};
use super::super::table;

/// Header of version 1 with the mark of extensions.
const FIRST: usize = 352;

/// Header of version 2 with the mark of extensions.
const SECOND: usize = 544;

/// XML of the program Caret, which several programs read label names from.
const CARET: i32 = 30;

/// Most voxels along an axis in version 1.
const LARGEST: usize = 32_767;

/// Encodes an image as one NIfTI file: labels as 8- or 16-bit integers, gray values as floats, millimeters, the matrix
/// of the axes as sform, names of labels as an extension.
pub fn write_nifti(image: &ImageData) -> Vec<u8> {
    let extension = extension(image);
    let is_second = image.grid.size.iter().any(|&n| n > LARGEST);
    let start = (if is_second { SECOND } else { FIRST }) + extension.len();
    let mut out = if is_second { second(image, start) } else { first(image, start) };
    let mark = out.len() - 4;
    out[mark] = u8::from(!extension.is_empty());
    out.extend_from_slice(&extension);
    push_voxels(&mut out, &image.voxels);
    out
}

/// The same, packed: a `.nii.gz`. The bytes depend on the image alone.
pub fn write_nifti_gz(image: &ImageData) -> Vec<u8> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(6));
    // Writing to a Vec cannot fail.
    let _ = packer.write_all(&write_nifti(image));
    packer.finish().unwrap_or_default()
}

/// Number of the type and its bits.
fn kind(voxels: &Voxels) -> (i16, i16) {
    match voxels {
        Voxels::Labels(labels) if labels.iter().all(|label| *label < 256) => (2, 8),
        Voxels::Labels(_) => (512, 16),
        Voxels::Grey(_) => (16, 32),
    }
}

fn push_voxels(out: &mut Vec<u8>, voxels: &Voxels) {
    match voxels {
        Voxels::Labels(labels) if kind(voxels).0 == 2 => out.extend(labels.iter().map(|label| *label as u8)),
        Voxels::Labels(labels) => out.extend(labels.iter().flat_map(|label| label.to_le_bytes())),
        Voxels::Grey(values) => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
    }
}

/// 1002 says labels.
fn intent(voxels: &Voxels) -> i32 {
    if matches!(voxels, Voxels::Labels(_)) { 1002 } else { 0 }
}

/// Rows of the matrix with the origin [mm].
fn rows(image: &ImageData) -> [[f64; 4]; 3] {
    let grid = &image.grid;
    std::array::from_fn(|row| {
        let axes = grid.axes.row(row) * 1e3;
        [axes.x, axes.y, axes.z, grid.origin[row] * 1e3]
    })
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    out[at..at + bytes.len()].copy_from_slice(bytes);
}

fn first(image: &ImageData, start: usize) -> Vec<u8> {
    let mut out = vec![0; FIRST];
    put(&mut out, 0, &348i32.to_le_bytes());
    let [x, y, z] = image.grid.size.map(|n| n as i16);
    for (i, n) in [3, x, y, z, 1, 1, 1, 1].into_iter().enumerate() {
        put(&mut out, 40 + 2 * i, &n.to_le_bytes());
    }
    let (number, bits) = kind(&image.voxels);
    put(&mut out, 68, &(intent(&image.voxels) as i16).to_le_bytes());
    put(&mut out, 70, &number.to_le_bytes());
    put(&mut out, 72, &bits.to_le_bytes());
    let spacing = image.spacing().to_array().map(|length| (length * 1e3) as f32);
    for (i, length) in [1.0].into_iter().chain(spacing).enumerate() {
        put(&mut out, 76 + 4 * i, &f32::to_le_bytes(length));
    }
    for (at, value) in [(108, start as f32), (112, 1.0)] {
        put(&mut out, at, &value.to_le_bytes());
    }
    out[123] = 2;
    put(&mut out, 254, &1i16.to_le_bytes());
    for (i, value) in rows(image).as_flattened().iter().enumerate() {
        put(&mut out, 280 + 4 * i, &(*value as f32).to_le_bytes());
    }
    put(&mut out, 344, b"n+1\0");
    out
}

fn second(image: &ImageData, start: usize) -> Vec<u8> {
    let mut out = vec![0; SECOND];
    put(&mut out, 0, &540i32.to_le_bytes());
    put(&mut out, 4, b"n+2\0\r\n\x1a\n");
    let (number, bits) = kind(&image.voxels);
    put(&mut out, 12, &number.to_le_bytes());
    put(&mut out, 14, &bits.to_le_bytes());
    let [x, y, z] = image.grid.size.map(|n| n as i64);
    for (i, n) in [3, x, y, z, 1, 1, 1, 1].into_iter().enumerate() {
        put(&mut out, 16 + 8 * i, &n.to_le_bytes());
    }
    for (i, length) in [1.0].into_iter().chain(image.spacing().to_array().map(|length| length * 1e3)).enumerate() {
        put(&mut out, 104 + 8 * i, &f64::to_le_bytes(length));
    }
    put(&mut out, 168, &(start as i64).to_le_bytes());
    put(&mut out, 176, &1f64.to_le_bytes());
    put(&mut out, 348, &1i32.to_le_bytes());
    for (i, value) in rows(image).as_flattened().iter().enumerate() {
        put(&mut out, 400 + 8 * i, &value.to_le_bytes());
    }
    put(&mut out, 500, &2i32.to_le_bytes());
    put(&mut out, 504, &intent(&image.voxels).to_le_bytes());
    out
}

/// Names of labels, with its length and kind in front, filled up to a multiple of 16 bytes.
fn extension(image: &ImageData) -> Vec<u8> {
    if image.table.is_empty() {
        return Vec::new();
    }
    let text = table::to_xml(&image.table);
    let length = (8 + text.len()).next_multiple_of(16);
    let mut out = Vec::with_capacity(length);
    out.extend((length as i32).to_le_bytes());
    out.extend(CARET.to_le_bytes());
    out.extend(text.as_bytes());
    out.resize(length, 0);
    out
}
