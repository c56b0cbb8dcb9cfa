//! Volumes that nibabel, pynrrd, SimpleITK, pydicom, highdicom, GDCM and Pillow wrote, checked against the formulas of
//! their voxels.
//!
//! 5 × 4 × 3 voxels of 0.8 × 0.9 × 2.5 mm. Labels are (i + 2 j + 3 k) mod 4, gray values i + 10 j + 100 k − 50. The axes
//! are turned by 0.3 about z and then by −0.2 about x; the first voxel lies at (−10, 20, 30) mm, right, front, up.

use std::path::{Path, PathBuf};

use sinew_io::image::{self, ImageData, Voxels};
use sinew_math::{Mat3, Vec3};

const SIZE: [usize; 3] = [5, 4, 3];

/// Headers in single precision, of lengths up to 30 mm.
const SINGLE: f64 = 3e-8;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus/image").join(name)
}

fn load(name: &str) -> ImageData {
    image::load(&corpus(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(name: &str) -> String {
    image::load(&corpus(name)).map(|image| image.notes).unwrap_err().to_string()
}

fn voxels() -> impl Iterator<Item = [usize; 3]> {
    (0..60).map(|n| [n % 5, n / 5 % 4, n / 20])
}

fn labels() -> Vec<u16> {
    voxels().map(|[i, j, k]| ((i + 2 * j + 3 * k) % 4) as u16).collect()
}

fn greys(slope: f32, intercept: f32) -> Voxels {
    Voxels::Grey(voxels().map(|[i, j, k]| slope * ((i + 10 * j + 100 * k) as f32 - 50.0) + intercept).collect())
}

/// Axes and origin [m].
fn frame() -> (Mat3, Vec3) {
    let ((s, c), (t, d)) = (0.3f64.sin_cos(), (-0.2f64).sin_cos());
    let about_z = Mat3::from_rows(Vec3::new(c, -s, 0.0), Vec3::new(s, c, 0.0), Vec3::unit(2));
    let about_x = Mat3::from_rows(Vec3::unit(0), Vec3::new(0.0, d, -t), Vec3::new(0.0, t, d));
    (about_z * about_x * Mat3::diagonal(Vec3::new(0.8e-3, 0.9e-3, 2.5e-3)), Vec3::new(-0.01, 0.02, 0.03))
}

#[track_caller]
fn assert_placed(image: &ImageData, name: &str) {
    let (axes, origin) = frame();
    assert_eq!(image.grid.size, SIZE, "{name}");
    for [i, j, k] in voxels() {
        let at = Vec3::new(i as f64, j as f64, k as f64);
        let apart = image.grid.to_world(at).distance(origin + axes * at);
        assert!(apart < SINGLE, "{name}: voxel ({i}, {j}, {k}) is off by {apart} m");
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(corpus(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy())).collect();
    names.sort();
    names
}

fn has(image: &ImageData, part: &str) -> bool {
    image.notes.iter().any(|note| note.contains(part))
}

/// Integers and floats of 8 to 64 bits, both byte orders, packed or not: the same labels at the same places.
#[test]
fn every_type_of_voxels_gives_the_same_labels() {
    let plain = |name: &&String| {
        let is_typed = ["-little-", "-big-", "pynrrd-", "itk-"].iter().any(|part| name.contains(part));
        let is_other = ["color", "spacings", "i2.mha", "itk-i2.nrrd", "layers", ".raw"];
        is_typed && !is_other.iter().any(|part| name.contains(part))
    };
    let all: Vec<String> = ["nifti", "nrrd", "meta"].into_iter().flat_map(names).collect();
    let typed: Vec<&String> = all.iter().filter(plain).collect();
    assert!(typed.len() >= 40, "{} files", typed.len());
    for name in typed {
        let image = load(name);
        assert_eq!(image.labels().unwrap(), labels(), "{name}");
        assert_placed(&image, name);
    }
}

#[test]
fn gray_values_are_scaled_and_units_are_kept() {
    for (name, slope, intercept) in
        [("nifti/nibabel-scaled.nii", 0.5, 2.0), ("nrrd/itk-i2.nrrd", 1.0, 0.0), ("meta/itk-i2.mha", 1.0, 0.0)]
    {
        let image = load(name);
        assert_eq!(image.voxels, greys(slope, intercept), "{name}");
        assert_placed(&image, name);
        assert!(image.labels().is_err(), "{name}");
    }
    // The file says that its numbers are meters.
    let meters = load("nifti/nibabel-2-meter.nii.gz");
    assert_eq!(meters.voxels, greys(1.0, 0.0));
    let (axes, origin) = frame();
    assert!((meters.grid.axes - axes * 1e3).norm() < 1e-9 && meters.grid.origin.distance(origin * 1e3) < 1e-9);
    assert!(has(&meters, "is the unit of the file right?"), "{:?}", meters.notes);
}

#[test]
fn quaternions_and_pairs_of_files_are_read() {
    for name in ["nifti/nibabel-qform.nii.gz", "nifti/nibabel-pair.hdr", "nifti/nibabel-pair.img"] {
        let image = load(name);
        assert_eq!(image.labels().unwrap(), labels(), "{name}");
        assert_placed(&image, name);
    }
    let mirrored = load("nifti/nibabel-mirrored-qform.nii");
    let (axes, origin) = frame();
    let expected = Mat3::from_columns(-axes.column(0), axes.column(1), axes.column(2));
    assert!((mirrored.grid.axes - expected).norm() < SINGLE && mirrored.grid.origin.distance(origin) < SINGLE);
    assert!(mirrored.is_mirrored() && has(&mirrored, "mirrored"), "{:?}", mirrored.notes);
    // Every voxel stays where it is.
    let upright = mirrored.clone().right_handed();
    assert!(!upright.is_mirrored());
    for [i, j, k] in voxels() {
        let (a, b) = (Vec3::new(i as f64, j as f64, k as f64), Vec3::new((4 - i) as f64, j as f64, k as f64));
        assert!(mirrored.grid.to_world(a).distance(upright.grid.to_world(b)) < 1e-15);
        let at = mirrored.grid.index([i, j, k]);
        assert_eq!(mirrored.labels().unwrap()[at], upright.labels().unwrap()[upright.grid.index([4 - i, j, k])]);
    }
}

#[test]
fn names_and_colors_of_labels_are_found_in_files() {
    let xml = load("nifti/nibabel-xml.nii.gz").table;
    assert_eq!((xml.name(1), xml.get(1).unwrap().color), ("humerus".into(), Some([1.0, 0.5, 0.0])));
    assert_eq!((xml.name(2), xml.name(3), xml.find("HUMERUS")), ("biceps & co".into(), "label 3".into(), Some(1)));
    let segments = load("nrrd/pynrrd-segments.seg.nrrd");
    let found: Vec<_> = segments.table.iter().map(|(label, info)| (label, info.name.as_str(), info.color)).collect();
    let expected = [
        (1, "humerus", Some([1.0, 0.5, 0.0])),
        (2, "biceps", Some([0.0, 0.0, 1.0])),
        (3, "triceps", Some([0.0, 1.0, 0.0])),
    ];
    assert_eq!(found, expected);
}

/// Humerus where the label is 1, in the first layer; biceps where it is 2 and a wall at i = 0, which adds 2, in the
/// second: 1 + 2 = 3 has no segment.
#[test]
fn layers_of_segments_become_one_label_for_each_voxel() {
    let image = load("nrrd/pynrrd-layers.seg.nrrd");
    assert_placed(&image, "layers");
    let [humerus, biceps, wall] = ["humerus", "biceps", "wall"].map(|name| image.table.find(name).unwrap());
    let (mut overlaps, mut strange) = (0, 0);
    for ([i, j, k], &label) in voxels().zip(image.labels().unwrap()) {
        let value = (i + 2 * j + 3 * k) % 4;
        let second = usize::from(value == 2) + 2 * usize::from(i == 0);
        overlaps += usize::from(value == 1 && second == 2);
        strange += usize::from(second == 3);
        let expected = match (second, value) {
            (1, _) => biceps,
            (2, _) => wall,
            (_, 1) => humerus,
            _ => 0,
        };
        assert_eq!(label, expected, "voxel ({i}, {j}, {k})");
    }
    assert!(has(&image, &format!("overlap in {overlaps} voxels")), "{:?}", image.notes);
    assert!(has(&image, &format!("{strange} values belong to no segment")), "{:?}", image.notes);
}

#[test]
fn spacings_without_axes_are_read_and_told() {
    let image = load("nrrd/pynrrd-ras-spacings.nrrd");
    let spacing = Mat3::diagonal(Vec3::new(1e-3, 2e-3, 3e-3));
    assert!((image.grid.axes - spacing).norm() < 1e-15 && has(&image, "how the patient lies"), "{:?}", image.notes);
}

/// Slices are named in another order than they lie, and the slice thickness (7 mm) is not their distance.
#[test]
fn series_are_sorted_by_their_positions() {
    for kind in ["explicit", "implicit", "big", "deflated", "runs"] {
        let name = format!("dicom/pydicom-{kind}");
        let image = load(&name);
        assert_eq!(image.voxels, greys(2.0, -10.0), "{name}");
        assert_placed(&image, &name);
    }
    // One slice stands for its series.
    let one = load("dicom/pydicom-explicit/slice-1.dcm");
    assert_eq!(one.voxels, greys(2.0, -10.0));
    assert_placed(&one, "one slice");
}

/// The middle slice of the binary one has no biceps; fractions are 0.8 of 200.
#[test]
fn segmentations_become_labels_with_names() {
    for name in ["binary", "fractional", "labelmap"] {
        let image = load(&format!("dicom/highdicom-{name}.dcm"));
        let mut expected = labels();
        if name == "binary" {
            expected[20..40].iter_mut().filter(|label| **label == 2).for_each(|label| *label = 0);
        }
        assert_eq!(image.labels().unwrap(), expected, "{name}: {:?}", image.notes);
        assert_placed(&image, name);
        assert_eq!([1, 2, 3].map(|label| image.table.name(label)), ["humerus", "biceps", "triceps"]);
        let orange = image.table.get(1).unwrap().color.unwrap();
        let apart =
            orange.iter().zip([1.0, 128.0 / 255.0, 0.0]).map(|(a, b): (&f32, f32)| (a - b).abs()).fold(0.0, f32::max);
        // Two rounds through CIE Lab with other white points.
        assert!(apart < 0.05, "{name}: {orange:?}");
    }
}

#[test]
fn lossless_jpeg_is_unpacked() {
    let image = load("dicom/gdcm-JPEG.dcm");
    assert_eq!(image.grid.size, [5, 4, 1]);
    let expected: Vec<u16> = (0..20).map(|n| (n % 5 * 1000 + n / 5 * 77) as u16).collect();
    assert_eq!(image.into_labels().unwrap().labels().unwrap(), expected);
}

#[test]
fn folders_of_slices_are_sorted_by_number() {
    for name in ["png/gray", "png/palette"] {
        let image = load(name);
        assert_eq!((image.grid.size, image.labels().unwrap()), (SIZE, &labels()[..]), "{name}");
        assert!(image.spacing().distance(Vec3::new(0.8e-3, 0.9e-3, 2.5e-3)) < 1e-12, "{name}");
    }
    assert_eq!(load("png/palette").table.get(1).unwrap().color, Some([1.0, 128.0 / 255.0, 0.0]));
    let wide: Vec<u16> = voxels().map(|[i, j, k]| (i * 1000 + j * 77 + k * 3) as u16).collect();
    assert_eq!(load("png/wide").labels().unwrap(), wide);
}

#[test]
fn colors_and_times_are_refused_with_a_cure() {
    for (name, parts) in [
        ("nifti/nibabel-two-volumes.nii.gz", ["4 dimensions with 2 volumes", "slicer"]),
        ("nifti/nibabel-color.nii.gz", ["color image", "one number in each voxel"]),
        ("nrrd/itk-color.nrrd", ["dimensions", "one number in each voxel"]),
        ("meta/itk-color.mha", ["3 channels", "one number in each voxel"]),
        ("png/color", ["color image", "palette"]),
    ] {
        let told = refusal(name);
        assert!(parts.iter().all(|part| told.contains(part)), "{name}: {told}");
    }
}

/// What we write reads back the same.
#[test]
fn all_of_them_survive_being_written() {
    for name in names("nifti").into_iter().chain(names("nrrd")).chain(names("dicom")) {
        let Ok(image) = image::load(&corpus(&name)) else { continue };
        for end in ["out.nii", "out.nii.gz", "out.nrrd"] {
            let bytes = image::save(&image, Path::new(end)).unwrap();
            let back = image::read(&bytes, end, &sinew_io::NoCompanions).unwrap();
            assert_eq!(back.voxels, image.voxels, "{name} as {end}");
            assert!((back.grid.axes - image.grid.axes).norm() <= 1e-6 * image.grid.axes.norm(), "{name} as {end}");
            assert!(back.grid.origin.distance(image.grid.origin) <= 1e-6 * image.grid.origin.norm(), "{name} as {end}");
            let named = |image: &ImageData| -> Vec<(u16, String)> {
                image
                    .table
                    .iter()
                    .filter(|(label, _)| *label > 0)
                    .map(|(label, info)| (label, info.name.clone()))
                    .collect()
            };
            assert_eq!(named(&back), named(&image), "{name} as {end}");
        }
    }
}
