//! Which reader a file is for: its first bytes decide, else its name.

use super::data::ImageData;
use super::raw::{self, RawHeader};
use super::{contours, dicom, meta, nifti, nrrd, stack};
use crate::error::{Place, ReadError};
use crate::format::Companions;

/// Formats of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// NIfTI 1 and 2, and Analyze.
    Nifti,
    /// NRRD.
    Nrrd,
    /// MetaImage.
    MetaImage,
    /// DICOM.
    Dicom,
    /// PNG slices.
    Png,
    /// Voxels without a header.
    Raw,
    /// Polygons slice by slice.
    Contours,
}

/// Ends of names, in small letters.
const ENDS: [(&str, ImageFormat); 15] = [
    (".nii", ImageFormat::Nifti),
    (".nii.gz", ImageFormat::Nifti),
    (".hdr", ImageFormat::Nifti),
    (".hdr.gz", ImageFormat::Nifti),
    (".img", ImageFormat::Nifti),
    (".img.gz", ImageFormat::Nifti),
    (".nrrd", ImageFormat::Nrrd),
    (".nhdr", ImageFormat::Nrrd),
    (".mha", ImageFormat::MetaImage),
    (".mhd", ImageFormat::MetaImage),
    (".dcm", ImageFormat::Dicom),
    (".dicom", ImageFormat::Dicom),
    (".png", ImageFormat::Png),
    (".raw", ImageFormat::Raw),
    (".contours", ImageFormat::Contours),
];

impl ImageFormat {
    /// The format of a file by the end of its name.
    pub fn from_name(name: &str) -> Option<ImageFormat> {
        let name = name.to_ascii_lowercase();
        ENDS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
    }

    /// The format of bytes by how they begin.
    pub fn from_bytes(bytes: &[u8]) -> Option<ImageFormat> {
        if dicom::is_dicom(bytes) {
            return Some(ImageFormat::Dicom);
        }
        if bytes.starts_with(b"NRRD000") {
            return Some(ImageFormat::Nrrd);
        }
        if bytes.starts_with(b"\x89PNG") {
            return Some(ImageFormat::Png);
        }
        let is_nifti = matches!(bytes.get(344..348), Some(b"n+1\0" | b"ni1\0"))
            || matches!(bytes.get(4..7), Some(b"n+2" | b"ni2"));
        is_nifti.then_some(ImageFormat::Nifti)
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            ImageFormat::Nifti => "NIfTI",
            ImageFormat::Nrrd => "NRRD",
            ImageFormat::MetaImage => "MetaImage",
            ImageFormat::Dicom => "DICOM",
            ImageFormat::Png => "PNG",
            ImageFormat::Raw => "raw voxels",
            ImageFormat::Contours => "contours",
        }
    }
}

/// Reads the bytes of a file; `name` is its name, and `beside` opens what belongs to it.
pub fn read(bytes: &[u8], name: &str, beside: &dyn Companions) -> Result<ImageData, ReadError> {
    let known = ImageFormat::from_bytes(bytes).or_else(|| ImageFormat::from_name(name));
    let Some(format) = known else {
        let reason = format!("\"{name}\" is none of .nii, .nii.gz, .nrrd, .mha, .mhd, .dcm, .png, .raw, .contours");
        return Err(ReadError::Magic { format: "image", reason });
    };
    match format {
        ImageFormat::Nifti => nifti::read(bytes, beside),
        ImageFormat::Nrrd => nrrd::read(bytes, beside),
        ImageFormat::MetaImage => meta::read(bytes, beside),
        ImageFormat::Dicom => dicom::read(bytes),
        ImageFormat::Png => Err(ReadError::Unsupported {
            place: Place::Byte(0),
            what: "a single PNG slice".into(),
            hint: "name the folder of the slices; its spacing.txt says `spacing = 0.8 0.8 2 mm`",
        }),
        ImageFormat::Contours => contours::read(bytes),
        ImageFormat::Raw => raw::read(bytes, &RawHeader::read(&beside.open(&format!("{name}.txt"), Place::Byte(0))?)?),
    }
}

/// Reads slices of a folder: DICOM or PNG files by their names, with what `spacing.txt` says.
pub fn read_folder(files: Vec<(String, Vec<u8>)>, header: Option<&RawHeader>) -> Result<ImageData, ReadError> {
    let is_png = |(_, bytes): &(String, Vec<u8>)| ImageFormat::from_bytes(bytes) == Some(ImageFormat::Png);
    let pngs = files.iter().filter(|file| is_png(file)).count();
    if pngs > 0 && pngs == files.len() {
        let Some(header) = header else {
            let hint = "write a file spacing.txt into it with the line `spacing = 0.8 0.8 2 mm`";
            let what = "no spacing: PNG slices do not say how far they are apart, and the folder".into();
            return Err(ReadError::Unsupported { place: Place::Slice(0), what, hint });
        };
        return stack::read(files, header);
    }
    dicom::read_files(&files)
}
