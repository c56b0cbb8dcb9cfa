//! NIfTI 1 and 2, in either byte order, packed or not, in one file or two.
//!
//! The rows of the header's matrix (sform) come before its quaternion (qform). Labels may hide in extensions as XML.

mod header;
mod orientation;
mod write;

use super::data::ImageData;
use super::inflate::{self, Packed};
use super::layout;
use super::samples::{Meaning, Samples};
use super::table;
use crate::error::{Place, ReadError};
use crate::format::Companions;
use header::Header;

pub use write::{write_nifti, write_nifti_gz};

/// Longest header with the four bytes that tell of extensions.
const LONGEST_HEADER: usize = 544;

/// Extensions beyond this are not looked at.
const LONGEST_EXTENSION: usize = 16 << 20;

/// Reads a file; that with the voxels of a pair is opened by `beside`.
pub fn read(bytes: &[u8], beside: &dyn Companions) -> Result<ImageData, ReadError> {
    let front = if inflate::is_gzip(bytes) {
        inflate::front(bytes, Packed::Gzip, LONGEST_HEADER)
    } else {
        bytes[..bytes.len().min(LONGEST_HEADER)].to_vec()
    };
    let header = Header::read(&front)?;
    let size = header.image_size()?;
    let count = layout::voxel_count(size, Place::Byte(header.dim_place()))?;
    let promised = count * header.kind()?.size();
    let mut notes = Vec::new();
    let (in_front, voxels) = if header.is_pair {
        let (name, data) = pair(beside)?;
        notes.push(format!("its voxels are in \"{name}\""));
        (bytes.to_vec(), unpacked(&data, header.data_start(), promised, &mut notes)?)
    } else {
        let all = unpacked(bytes, header.data_start(), promised, &mut notes)?;
        let start = header.data_start().min(all.len());
        (all[..start].to_vec(), all)
    };
    let start = header.data_start().min(voxels.len());
    let place = Place::Byte(header.data_start());
    let voxels = super::samples::promised(&voxels[start..], count, header.kind()?, place)?;
    let names = table::from_bytes_with_xml(header.extensions(&in_front));
    let grid = orientation::grid(&header, size, &mut notes)?;
    let (slope, intercept) = header.scaling();
    let samples = Samples { slope, intercept, ..Samples::new(voxels, header.kind()?, header.endian) };
    let meaning = if header.says_labels() { Meaning::Labels } else { Meaning::Unknown };
    let decoded = samples.decode(meaning, &names, &mut notes);
    Ok(ImageData { grid, voxels: decoded.voxels, table: decoded.table, notes })
}

/// The file with the voxels, beside a `.hdr`.
fn pair(beside: &dyn Companions) -> Result<(String, Vec<u8>), ReadError> {
    let place = Place::Byte(0);
    let name = format!("{}.img", beside.stem());
    let packed = format!("{name}.gz");
    match beside.open(&name, place) {
        Ok(data) => Ok((name, data)),
        Err(error) => beside.open(&packed, place).map(|data| (packed, data)).map_err(|_| error),
    }
}

/// All bytes up to the end of the voxels; packed ones are unpacked so far.
fn unpacked(bytes: &[u8], start: usize, promised: usize, notes: &mut Vec<String>) -> Result<Vec<u8>, ReadError> {
    let most = start.saturating_add(promised);
    if inflate::is_gzip(bytes) {
        let unpacked = inflate::inflate(bytes, Packed::Gzip, most, Place::Byte(0))?;
        notes.extend(unpacked.has_more.then(|| inflate::MORE.into()));
        return Ok(unpacked.bytes);
    }
    Ok(bytes[..bytes.len().min(most)].to_vec())
}

/// For fuzzing: reads, and reads back what is written of it.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(image) = read(bytes, &crate::format::NoCompanions) else { return };
    let back = read(&write_nifti(&image), &crate::format::NoCompanions).expect("our own file");
    assert_eq!(image.grid.size, back.grid.size, "size");
    if image.labels().is_ok() {
        assert_eq!(image.voxels, back.voxels, "voxels");
    }
}
