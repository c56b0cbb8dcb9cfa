//! NRRD as 3D Slicer writes segmentations: one layer, packed with gzip.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use sinew_math::Vec3;

use super::super::data::{ImageData, Voxels, turned};
use super::super::table::distinct_color;

/// What the field `content` says of labels, with or without names.
pub(super) const LABELS: &str = "labels";

/// Encodes an image as one NRRD file in the space of DICOM (LPS) and millimeters; labels become Slicer's segments, which
/// a file named `.seg.nrrd` opens with. The bytes depend on the image alone.
pub fn write_nrrd(image: &ImageData) -> Vec<u8> {
    let mut out = header(image).into_bytes();
    let mut packer = GzBuilder::new().mtime(0).write(&mut out, Compression::new(6));
    // Writing to a Vec cannot fail.
    let _ = packer.write_all(&voxels(&image.voxels));
    let _ = packer.finish();
    out
}

fn header(image: &ImageData) -> String {
    let kind = match &image.voxels {
        Voxels::Labels(labels) if labels.iter().all(|label| *label < 256) => "unsigned char",
        Voxels::Labels(_) => "unsigned short",
        Voxels::Grey(_) => "float",
    };
    let [x, y, z] = image.grid.size;
    let axes = turned(&image.grid.axes) * 1e3;
    let directions: Vec<String> = (0..3).map(|axis| vector(axes.column(axis))).collect();
    let origin = image.grid.origin * 1e3;
    let origin = vector(Vec3::new(-origin.x, -origin.y, origin.z));
    let mut text = format!(
        "NRRD0004\n# Complete NRRD file format specification at:\n# http://teem.sourceforge.net/nrrd/format.html\n\
         type: {kind}\ndimension: 3\nspace: left-posterior-superior\nsizes: {x} {y} {z}\nspace directions: {}\n\
         kinds: domain domain domain\nendian: little\nencoding: gzip\nspace origin: {origin}\n\
         space units: \"mm\" \"mm\" \"mm\"\n",
        directions.join(" ")
    );
    if matches!(image.voxels, Voxels::Labels(_)) {
        text += &format!("content: {LABELS}\n{}", segments(image));
    }
    text + "\n"
}

fn vector(v: Vec3) -> String {
    // No minus in front of 0.
    let [x, y, z] = v.to_array().map(|part| part + 0.0);
    format!("({x},{y},{z})")
}

fn segments(image: &ImageData) -> String {
    let [x, y, z] = image.grid.size.map(|n| n.saturating_sub(1));
    let mut text = String::new();
    for (number, (label, info)) in image.table.iter().filter(|(label, _)| *label != 0).enumerate() {
        let [r, g, b] = info.color.unwrap_or_else(|| distinct_color(label));
        // A line break would end the header.
        let name = info.name.replace(['\n', '\r'], " ");
        for (key, value) in [
            ("ID", format!("Segment_{label}")),
            ("Name", name),
            ("Color", format!("{r} {g} {b}")),
            ("Extent", format!("0 {x} 0 {y} 0 {z}")),
            ("LabelValue", label.to_string()),
            ("Layer", "0".into()),
        ] {
            text += &format!("Segment{number}_{key}:={value}\n");
        }
    }
    text
}

fn voxels(voxels: &Voxels) -> Vec<u8> {
    match voxels {
        Voxels::Labels(labels) if labels.iter().all(|label| *label < 256) => {
            labels.iter().map(|label| *label as u8).collect()
        }
        Voxels::Labels(labels) => labels.iter().flat_map(|label| label.to_le_bytes()).collect(),
        Voxels::Grey(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}
