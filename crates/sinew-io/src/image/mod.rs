//! Volumes of other programs: where their voxels are and what they hold.
//!
//! Everything inside is in meters and in the RAS world of NIfTI: x to the right of the patient, y to the front, z up.
//! DICOM, NRRD and MetaImage count x and y the other way (LPS); they are turned when they are read.
//!
//! | file | read | written |
//! |---|---|---|
//! | NIfTI 1 and 2 (`.nii`, `.nii.gz`, `.hdr` with `.img`) | [`nifti`] | [`write_nifti`] |
//! | NRRD (`.nrrd`, `.nhdr`), with the segments of Slicer | [`nrrd`] | [`write_nrrd`] |
//! | MetaImage (`.mha`, `.mhd`) | [`meta`] | – |
//! | DICOM series and segmentations (`.dcm`, or a folder) | [`dicom`] | – |
//! | PNG slices in a folder | [`stack`] | – |
//! | contours slice by slice (`.contours`) | [`contours`] | – |
//! | raw voxels (`.raw` with `.raw.txt` beside it) | [`raw`] | – |
//!
//! Start with [`load`] and [`ImageData`].

pub mod contours;
pub mod data;
pub mod describe;
pub mod dicom;
pub mod disk;
mod inflate;
mod layout;
pub mod meta;
pub mod nifti;
pub mod nrrd;
pub mod raw;
pub mod read;
mod samples;
pub mod stack;
pub mod table;

pub use data::{ImageData, LabelInfo, LabelTable, Voxels};
pub use describe::{Description, describe};
pub use disk::{is_image, load, load_table, save};
pub use nifti::{write_nifti, write_nifti_gz};
pub use nrrd::write_nrrd;
pub use read::{ImageFormat, read, read_folder};
