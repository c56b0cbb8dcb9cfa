//! DICOM: series of slices, enhanced files of many frames, segmentations.
//!
//! Read as they are, deflated, packed by runs (RLE) or by lossless JPEG; other compressions are refused by name, with the
//! command that undoes them. Slices are apart what their positions say along the normal, never what the slice thickness
//! says.

mod elements;
mod jpeg;
mod pixels;
mod rle;
mod segmentation;
mod series;
mod syntax;

use std::collections::BTreeMap;

use super::data::ImageData;
use crate::error::{Place, ReadError};
use elements::{DataSet, DicomFile, tag};

/// Whether bytes begin like a DICOM file.
pub fn is_dicom(bytes: &[u8]) -> bool {
    bytes.get(128..132) == Some(b"DICM")
}

/// Reads one file: a slice, many frames, or a segmentation.
pub fn read(bytes: &[u8]) -> Result<ImageData, ReadError> {
    let file = DicomFile::read(bytes)?;
    if segmentation::is_one(&file.data) {
        return segmentation::read(&file);
    }
    series::read(&[("the file".into(), file)])
}

/// Reads the files of a folder: its segmentation, or else its largest series. Others are told in a note.
pub fn read_files(files: &[(String, Vec<u8>)]) -> Result<ImageData, ReadError> {
    let mut notes = Vec::new();
    let mut groups: BTreeMap<String, Vec<(String, DicomFile<'_>)>> = BTreeMap::new();
    for (number, (name, bytes)) in files.iter().enumerate() {
        let file = DicomFile::read(bytes).map_err(|error| in_file(error, number, name))?;
        if file.data.find(tag::PIXELS).is_none() {
            notes.push(format!("\"{name}\" holds no image"));
            continue;
        }
        let key = if segmentation::is_one(&file.data) { name.clone() } else { file.data.text(tag::SERIES) };
        groups.entry(key).or_default().push((name.clone(), file));
    }
    let Some(best) = chosen(&groups, &mut notes) else { return Err(ReadError::Missing { what: "DICOM image" }) };
    let group = groups.remove(&best).unwrap_or_default();
    let mut image = match &group[..] {
        [(name, file)] if segmentation::is_one(&file.data) => {
            segmentation::read(file).map_err(|error| in_file(error, 0, name))
        }
        _ => series::read(&group),
    }?;
    notes.append(&mut image.notes);
    image.notes = notes;
    Ok(image)
}

/// The key of the group to read: the only segmentation, or else the series of most files.
fn chosen(groups: &BTreeMap<String, Vec<(String, DicomFile<'_>)>>, notes: &mut Vec<String>) -> Option<String> {
    let is_segmentation = |group: &[(String, DicomFile<'_>)]| segmentation::is_one(&group[0].1.data);
    let frames = |group: &[(String, DicomFile<'_>)]| -> usize {
        group.iter().map(|(_, file)| file.data.number(tag::FRAMES).map_or(1, |n| n.max(1.0) as usize)).sum()
    };
    let mut order: Vec<(&String, &Vec<(String, DicomFile<'_>)>)> = groups.iter().collect();
    // Stable: equal ones stay in the order of their keys.
    order.sort_by_key(|(_, group)| (!is_segmentation(group), std::cmp::Reverse(frames(group))));
    let (best, _) = order.first()?;
    for (_, group) in &order[1..] {
        let (name, file) = &group[0];
        let title = file.data.text(tag::SERIES_TITLE);
        notes.push(format!("left out: another series \"{title}\" of {} slices, with \"{name}\"", frames(group)));
    }
    Some((*best).clone())
}

/// An error in a file of several.
fn in_file(error: ReadError, number: usize, name: &str) -> ReadError {
    ReadError::Companion { place: Place::Slice(number), name: name.into(), reason: error.to_string() }
}

/// Number of the series of a file, to find what belongs to it.
pub fn series_of(bytes: &[u8]) -> Option<String> {
    DicomFile::read(bytes).ok().map(|file| file.data.text(tag::SERIES)).filter(|series| !series.is_empty())
}

/// Whether a file is a volume by itself: a segmentation, or of several frames.
pub fn stands_alone(bytes: &[u8]) -> bool {
    let is_whole =
        |data: &DataSet<'_>| segmentation::is_one(data) || data.number(tag::FRAMES).is_some_and(|frames| frames > 1.0);
    DicomFile::read(bytes).is_ok_and(|file| is_whole(&file.data))
}

/// For fuzzing: reads.
pub fn fuzz_one(bytes: &[u8]) {
    if let Ok(image) = read(bytes) {
        assert_eq!(image.voxels.len(), image.grid.len(), "voxels");
    }
}
