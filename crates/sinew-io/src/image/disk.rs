//! Images on disk: a file, or a folder of slices. Beside [`crate::file`] the only place of images that opens files.

use std::path::{Path, PathBuf};

use super::data::ImageData;
use super::dicom;
use super::raw::RawHeader;
use super::read::{ImageFormat, read, read_folder};
use super::samples::merge;
use super::table;
use crate::error::{Place, ReadError};
use crate::file::{FileError, read as read_file};
use crate::format::Companions;
use crate::memory;

/// Names of tables that a folder may have for all its images.
const TABLES: [&str; 5] = ["labels.txt", "labels.csv", "labels.json", "labels.ctbl", "dataset.json"];

/// Longer tables are none.
const LONGEST_TABLE: u64 = 16 << 20;

/// Loads an image: a file, with what belongs to it, or a folder of DICOM or PNG slices. A table of labels beside it names
/// labels that have none: `NAME.txt`, `.csv`, `.tsv`, `.json`, `.ctbl`, `.label`, or `labels.…` in the folder.
pub fn load(path: &Path) -> Result<ImageData, FileError> {
    let mut image = if path.is_dir() { load_folder(path)? } else { load_file(path)? };
    if image.labels().is_ok() {
        add_table(&mut image, path);
    }
    Ok(image)
}

/// Loads a table of labels, whatever its kind.
pub fn load_table(path: &Path, image: &mut ImageData) -> Result<(), FileError> {
    let Some(names) = table::read(&read_file(path)?) else {
        let reason = "it is no table of labels: rows such as `1 humerus`, CSV or JSON are read".into();
        let source = ReadError::Magic { format: "label table", reason };
        return Err(FileError::Read { path: path.into(), source });
    };
    merge(&mut image.table, &names);
    Ok(())
}

/// Encodes an image by the end of a name: `.nii`, `.nii.gz` or `.nrrd`. Does not write to disk.
pub fn save(image: &ImageData, path: &Path) -> Result<Vec<u8>, FileError> {
    let name = file_name(path).to_ascii_lowercase();
    match () {
        () if name.ends_with(".nii") => Ok(super::write_nifti(image)),
        () if name.ends_with(".nii.gz") => Ok(super::write_nifti_gz(image)),
        () if name.ends_with(".nrrd") => Ok(super::write_nrrd(image)),
        () => Err(FileError::Extension {
            path: path.into(),
            extension: path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default(),
            known: ".nii, .nii.gz, .nrrd".into(),
        }),
    }
}

/// Whether a path names an image: by its end, or a folder with slices.
pub fn is_image(path: &Path) -> bool {
    if path.is_dir() {
        return entries(path).is_ok_and(|names| {
            names.iter().any(|name| matches!(file_format(name), Some(ImageFormat::Dicom | ImageFormat::Png)))
        });
    }
    file_format(path).is_some()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn file_format(path: &Path) -> Option<ImageFormat> {
    ImageFormat::from_name(&file_name(path))
}

/// The name without its ends, of which packed files have two.
fn stem(path: &Path) -> String {
    let name = file_name(path);
    let lower = name.to_ascii_lowercase();
    let ends = [".nii.gz", ".hdr.gz", ".img.gz", ".seg.nrrd", ".label.nrrd"];
    match ends.iter().find(|end| lower.ends_with(*end)) {
        Some(end) => name[..name.len() - end.len()].to_string(),
        None => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

fn load_file(path: &Path) -> Result<ImageData, FileError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| FileError::Read { path, source }
    };
    let name = file_name(path);
    let lower = name.to_ascii_lowercase();
    // The file with the voxels was named instead of the one with the header.
    if lower.ends_with(".img") || lower.ends_with(".img.gz") {
        let header = path.with_file_name(format!("{}.hdr", stem(path)));
        let header = if header.exists() { header } else { path.with_file_name(format!("{}.hdr.gz", stem(path))) };
        return load_file(&header);
    }
    let bytes = read_file(path)?;
    let beside = Beside { folder: path.with_file_name(""), stem: stem(path) };
    let is_slice = ImageFormat::from_bytes(&bytes) == Some(ImageFormat::Dicom) && !dicom::stands_alone(&bytes);
    if let Some(series) = dicom::series_of(&bytes).filter(|_| is_slice) {
        let files = series_beside(path, &series, bytes)?;
        return dicom::read_files(&files).map_err(failed(path));
    }
    read(&bytes, &name, &beside).map_err(failed(path))
}

/// The other files of a series in the folder of one.
fn series_beside(path: &Path, series: &str, bytes: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, FileError> {
    let mut files = vec![(file_name(path), bytes)];
    for other in entries(&path.with_file_name(""))? {
        if file_name(&other) == file_name(path) || !is_dicom_name(&other) {
            continue;
        }
        // What cannot be read is none of the series.
        let Ok(bytes) = read_file(&other) else { continue };
        if dicom::is_dicom(&bytes)
            && dicom::series_of(&bytes).as_deref() == Some(series)
            && !dicom::stands_alone(&bytes)
        {
            files.push((file_name(&other), bytes));
        }
    }
    files.sort();
    Ok(files)
}

/// Many DICOM files have no extension, or numbers behind a point.
fn is_dicom_name(path: &Path) -> bool {
    match path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()) {
        None => true,
        Some(end) => {
            matches!(end.as_str(), "dcm" | "dicom" | "ima") || end.chars().all(|c| c.is_ascii_digit() || c == '_')
        }
    }
}

fn load_folder(path: &Path) -> Result<ImageData, FileError> {
    let mut files = Vec::new();
    let mut total = 0u64;
    let mut header = None;
    let names = entries(path)?;
    let has_pngs = names.iter().any(|name| file_format(name) == Some(ImageFormat::Png));
    for name in names {
        if file_name(&name) == "spacing.txt" {
            let read = RawHeader::read(&read_file(&name)?);
            header = Some(read.map_err(|source| FileError::Read { path: name.clone(), source })?);
            continue;
        }
        let is_wanted = if has_pngs { file_format(&name) == Some(ImageFormat::Png) } else { is_dicom_name(&name) };
        if !is_wanted || file_name(&name).starts_with('.') {
            continue;
        }
        let bytes = read_file(&name)?;
        total = total.saturating_add(bytes.len() as u64);
        memory::require(total).map_err(|short| FileError::Memory { path: path.into(), short })?;
        if has_pngs || dicom::is_dicom(&bytes) || file_format(&name) == Some(ImageFormat::Dicom) {
            files.push((file_name(&name), bytes));
        }
    }
    if files.is_empty() {
        let source = ReadError::Missing { what: "DICOM or PNG slices" };
        return Err(FileError::Read { path: path.into(), source });
    }
    read_folder(files, header.as_ref()).map_err(|source| FileError::Read { path: path.into(), source })
}

/// Files of a folder, sorted by name.
fn entries(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let failed = |source| FileError::Open { path: path.into(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_file() {
            names.push(entry.path());
        }
    }
    names.sort();
    Ok(names)
}

/// Adds names from the first table beside an image. A file that is none stays what it is, with a note.
fn add_table(image: &mut ImageData, path: &Path) {
    let folder = if path.is_dir() { path.to_path_buf() } else { path.with_file_name("") };
    let stem = stem(path);
    let own = ["txt", "csv", "tsv", "json", "ctbl", "label", "lut"].map(|end| format!("{stem}.{end}"));
    let own = own.into_iter().filter(|_| !path.is_dir());
    for name in own.chain(TABLES.map(String::from)) {
        let candidate = folder.join(&name);
        let is_small = std::fs::metadata(&candidate).is_ok_and(|data| data.is_file() && data.len() <= LONGEST_TABLE);
        if !is_small {
            continue;
        }
        let Ok(bytes) = read_file(&candidate) else { continue };
        match table::read(&bytes) {
            Some(names) => {
                merge(&mut image.table, &names);
                image.notes.push(format!("names of labels are from \"{name}\""));
                return;
            }
            None => image.notes.push(format!("\"{name}\" lies beside it, but is no table of labels")),
        }
    }
}

/// Files in the folder of a file.
struct Beside {
    folder: PathBuf,
    stem: String,
}

impl Companions for Beside {
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        crate::file::open_beside(&self.folder, name, place)
    }

    fn stem(&self) -> &str {
        &self.stem
    }
}
