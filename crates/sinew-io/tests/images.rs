//! Volumes by hand: round trips, tables of labels, and everything that can be wrong with a volume.

use std::path::{Path, PathBuf};

use sinew_geometry::VoxelGrid;
use sinew_io::image::{self, ImageData, LabelTable, Voxels, describe, dicom, nifti, nrrd, raw, read_folder, table};
use sinew_io::{Companions, NoCompanions, Place, ReadError};
use sinew_math::{Mat3, Vec3};

/// Files in memory beside `arm`.
struct Beside(Vec<(&'static str, Vec<u8>)>);

impl Companions for Beside {
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let missing = || ReadError::Companion { place, name: name.into(), reason: "it is missing".into() };
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(missing)
    }

    fn stem(&self) -> &str {
        "arm"
    }
}

fn small() -> ImageData {
    let grid = VoxelGrid::cubic([4, 3, 2], Vec3::new(0.01, -0.02, 0.5), 1e-3);
    let mut image = ImageData::of_labels(grid, (0..24).map(|n| n % 3).collect());
    image.table.insert(1, "humerus", Some([1.0, 0.5, 0.25]));
    image.table.insert(2, "biceps, long head <1> & \"2\"", None);
    image
}

#[track_caller]
fn told<T: std::fmt::Debug>(result: Result<T, ReadError>, parts: &[&str]) {
    let text = result.unwrap_err().to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} in {text}");
}

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Any axes, also sheared and mirrored ones, and labels beyond 8 bits.
#[test]
fn what_is_written_is_read_again() {
    let sheared = Mat3::from_rows(Vec3::new(-1e-3, 1e-4, 0.0), Vec3::new(2e-4, 2e-3, 0.0), Vec3::new(0.0, 3e-4, 4e-3));
    for axes in [Mat3::identity() * 1e-3, sheared] {
        for top in [2u16, 255, 256, 65_535] {
            let mut image = small();
            image.grid.axes = axes;
            let Voxels::Labels(labels) = &mut image.voxels else { unreachable!() };
            labels[5] = top;
            image.table.insert(top, "top", None);
            for (name, bytes) in [("a.nii", image::write_nifti(&image)), ("a.nrrd", image::write_nrrd(&image))] {
                let back = image::read(&bytes, name, &NoCompanions).unwrap();
                assert_eq!(back.voxels, image.voxels, "{name}");
                // NIfTI 1 has single precision.
                assert!((back.grid.axes - axes).norm() < 1e-9, "{name}");
                assert!(back.grid.origin.distance(image.grid.origin) < 1e-7, "{name}");
                assert_eq!(back.table.name(2), image.table.name(2), "{name}");
                assert_eq!(back.notes.iter().any(|note| note.contains("sheared by")), axes == sheared, "{name}");
                assert_eq!(back.notes.iter().any(|note| note.contains("mirrored")), axes == sheared, "{name}");
            }
        }
    }
    assert_eq!(image::write_nifti_gz(&small()), image::write_nifti_gz(&small()), "the bytes depend on the image alone");
}

/// An axis beyond 16 bits needs the second version.
#[test]
fn long_axes_are_written_as_nifti_2() {
    let grid = VoxelGrid::cubic([40_000, 1, 2], Vec3::zero(), 0.1);
    let image = ImageData::of_grey(grid, (0..80_000).map(|n| n as f32 - 0.5).collect());
    let bytes = image::write_nifti(&image);
    assert_eq!(&bytes[..7], b"\x1c\x02\0\0n+2");
    assert_eq!(nifti::read(&bytes, &NoCompanions).unwrap().voxels, image.voxels);
}

#[test]
fn gray_values_are_no_labels() {
    let grid = VoxelGrid::cubic([5, 2, 1], Vec3::zero(), 1e-3);
    let mut values = vec![1.0; 10];
    values[7] = 1.5;
    let image = ImageData::of_grey(grid, values);
    told(image.labels(), &["slice 0", "voxel (2, 1, 0) holds 1.5", "hint"]);
    told(image.clone().into_labels(), &["voxel (2, 1, 0)"]);
    // Noise of 8 bits in no order.
    let mut seed = 1u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    })
    .take(4096)
    .collect();
    let header = raw::RawHeader::read(b"size = 16 16 16\nspacing = 1 1 1 mm\ntype = u8\n").unwrap();
    let image = raw::read(&noise, &header).unwrap();
    assert!(image.labels().is_err() && image.notes[0].contains("gray values"), "{:?}", image.notes);
    // The same numbers in patches are labels.
    let patches: Vec<u8> = (0..4096).map(|n| (n / 20) as u8).collect();
    assert!(raw::read(&patches, &header).unwrap().labels().is_ok());
}

#[test]
fn numbers_of_an_atlas_are_counted_through() {
    let header = raw::RawHeader::read(
        b"size = 3 1 1 # an atlas\nspacing = 1 1 1 mm\ntype = u32\norder = big\nskip = 1\nlabel 312782574 = brain\n",
    );
    let bytes = [&[9][..], &0u32.to_be_bytes(), &312_782_574u32.to_be_bytes(), &7u32.to_be_bytes()].concat();
    let image = raw::read(&bytes, &header.unwrap()).unwrap();
    assert_eq!(image.labels().unwrap(), [0, 2, 1]);
    assert_eq!((image.table.name(2), image.table.name(1)), ("brain".into(), "7".into()));
}

#[test]
fn every_kind_of_table_is_read() {
    for text in [
        "# ITK-SNAP\n0 0 0 0 0 0 0 \"Clear\"\n1 255 0 0 1 1 1 \"upper arm\"\n",
        "0 background 0 0 0 0\n1 upper arm 255 0 0 255\n",
        "LabelValue,Name,Color_R,Color_G,Color_B,Color_A\n0,background,0,0,0,0\n1,\"upper arm\",255,0,0,255\n",
        "index\tname\tred\tgreen\tblue\n1\tupper arm\t255\t0\t0\n",
        "1,upper arm,255,0,0\n",
        "{\"labels\": [{\"id\": 1, \"name\": \"upper arm\", \"color\": [255, 0, 0]}]}",
        "{\"upper arm\": {\"value\": 1, \"color\": [255, 0, 0]}}",
        "<a><Label Key='1' Red='1' Green='0' Blue='0'>upper arm</Label></a>",
    ] {
        let found = table::read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((found[&1].name.as_str(), found[&1].color), ("upper arm", Some([1.0, 0.0, 0.0])), "{text}");
    }
    for text in ["1 arm", "1: arm", "1:arm", "1 = arm", "1=arm", "{\"1\": \"arm\"}", "{\"labels\": {\"arm\": 1}}"] {
        assert_eq!(table::read(text.as_bytes()).unwrap()[&1].name, "arm", "{text}");
    }
    for text in ["", "a letter to\nsomebody", "3.5 4.5\n1 2 3\nx\ny", "{", "[1, 2]"] {
        assert!(table::read(text.as_bytes()).is_none_or(|table| table.len() <= 1), "{text}");
    }
}

#[test]
fn tables_beside_a_file_name_its_labels() {
    let folder = Folder::new("tables-beside");
    let mut image = small();
    image.table = LabelTable::default();
    let path = folder.write("arm.nii.gz", image::write_nifti_gz(&image));
    assert_eq!(image::load(&path).unwrap().table.name(1), "label 1");
    folder.write("labels.csv", "1,ulna\n");
    assert_eq!(image::load(&path).unwrap().table.name(1), "ulna");
    folder.write("arm.txt", "1 radius\n");
    let found = image::load(&path).unwrap();
    assert_eq!(found.table.name(1), "radius");
    assert!(found.notes.iter().any(|note| note.contains("arm.txt")), "{:?}", found.notes);
    assert!(image::is_image(&path) && !image::is_image(&folder.0));
}

#[test]
fn raw_voxels_need_their_lines() {
    let folder = Folder::new("raw-voxels");
    let path = folder.write("arm.raw", [1u8, 2, 3, 4]);
    let missing = image::load(&path).unwrap_err().to_string();
    assert!(missing.contains("arm.raw.txt"), "{missing}");
    folder.write(
        "arm.raw.txt",
        "size = 2 2 1\nspacing = 1 2 0.3 cm\ntype = u8\norigin = 1 0 0 m\nx = 0 1 0\ny = -1 0 0\n",
    );
    let image = image::load(&path).unwrap();
    assert!(image.grid.to_world(Vec3::new(1.0, 1.0, 1.0)).distance(Vec3::new(0.98, 0.01, 0.003)) < 1e-12);
    for (line, part) in [
        ("size = 2 2", "line 1: three numbers"),
        ("size = 0 1 1", "three counts"),
        ("spacing = 1 1 1", "unit"),
        ("spacing = 1 1 1 furlong", "furlong"),
        ("type = u7", "u7"),
        ("sise = 1", "sise"),
        ("hello", "key = value"),
    ] {
        told(raw::RawHeader::read(line.as_bytes()), &[part]);
    }
    let header = |text: &str| raw::RawHeader::read(text.as_bytes()).unwrap();
    told(raw::read(&[0; 8], &header("size = 2 2 2\ntype = u8\n")), &["no spacing"]);
    told(raw::read(&[0; 7], &header("size = 2 2 2\ntype = u8\nspacing = 1 1 1 mm\n")), &["8 promised, 7 found"]);
    told(raw::read(&[0; 8], &header("size = 2 2 2\ntype = u8\nspacing = 1 0 1 mm\n")), &["no spacing", "along y"]);
    told(
        raw::read(&[0; 8], &header("size = 2 2 2\ntype = u8\nspacing = 1 1 1 mm\nx = 0 1 0\n")),
        &["two axes of the image have the same direction"],
    );
}

/// A file of 1 kB that promises 10¹⁵ voxels, and one that swells to 100 MB where 24 bytes are promised.
#[test]
fn what_is_larger_than_memory_or_than_promised_is_told() {
    let mut huge = image::write_nifti(&small());
    for at in [42, 44, 46] {
        huge[at..at + 2].copy_from_slice(&32_000i16.to_le_bytes());
    }
    told(nifti::read(&huge, &NoCompanions), &[if cfg!(target_os = "linux") { "fits" } else { "voxels" }, "byte 40"]);
    let header = b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 4 3 2\nspacings: 1 1 1\nencoding: gzip\n\n";
    let mut packer = flate2::write::GzEncoder::new(header.to_vec(), flate2::Compression::best());
    for _ in 0..100 {
        std::io::Write::write_all(&mut packer, &vec![1; 1 << 20]).unwrap();
    }
    let image = nrrd::read(&packer.finish().unwrap(), &NoCompanions).unwrap();
    assert_eq!(image.voxels, Voxels::Labels(vec![1; 24]));
    assert!(image.notes.iter().any(|note| note.contains("behind what the header promises")), "{:?}", image.notes);
}

#[test]
fn damaged_headers_are_told_at_their_place() {
    let good = image::write_nifti(&small());
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        nifti::read(&file, &NoCompanions)
    };
    told(nifti::read(&good[..100], &NoCompanions), &["ends inside the header"]);
    told(nifti::read(&good[..good.len() - 1], &NoCompanions), &["24 promised, 23 found"]);
    told(changed(0, b"ABCD"), &["NIfTI", "348"]);
    told(changed(40, &[9, 0]), &["byte 40", "9 axes"]);
    told(changed(42, &[0, 0]), &["axis 1 has 0 voxels"]);
    told(changed(70, &[99, 0]), &["byte 70", "type 99"]);
    told(changed(280, &f32::NAN.to_le_bytes()), &["byte 280", "not finite"]);
    // No matrix, no quaternion, and no spacing.
    let mut file = good.clone();
    file[254] = 0;
    file[80..84].fill(0);
    told(nifti::read(&file, &NoCompanions), &["byte 76", "no spacing", "along x"]);
    // Spacing that contradicts the matrix.
    let image = changed(80, &5f32.to_le_bytes()).unwrap();
    assert!(image.notes.iter().any(|note| note.starts_with("spacings contradict")), "{:?}", image.notes);
    for (text, parts) in [
        ("NRRD0004\ntype: uchar\ndimension: 3\nsizes: 1 1 1\nencoding: raw\n\nx", ["no spacing", "line 4"]),
        ("NRRD0004\ntype: uchar\ndimension: 2\nsizes: 1 1 1\nencoding: raw\n\nx", ["contradict", "line 4"]),
        ("NRRD0004\ntype: block\ndimension: 3\nsizes: 1 1 1\nspacings: 1 1 1\nencoding: raw\n\nx", ["block", "line 2"]),
        ("NRRD0004\ntype: int\ndimension: 3\nsizes: 1 1 1\nspacings: 1 1 1\nencoding: raw\n\nxxxx", ["endian", "no"]),
        ("NRRD0004\ntype: uchar\ndimension: 3\nsizes: 1 1 1\nspacings: 1 1 1\nencoding: bzip2\n\nx", ["bzip2", "gzip"]),
        (
            "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 1 1 1\nspacings: 1 1 1\nencoding: hex\n\nzz",
            ["hexadecimal", "byte"],
        ),
        ("NRRD0004\nnonsense\n", ["line 2", "colon"]),
    ] {
        told(nrrd::read(text.as_bytes(), &NoCompanions), &parts);
    }
    let outside =
        "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 1 1 1\nspacings: 1 1 1\nencoding: raw\ndata file: ../x.raw\n\n";
    let folder = Folder::new("outside");
    let path = folder.write("a.nhdr", outside);
    let text = image::load(&path).unwrap_err().to_string();
    assert!(text.contains("same folder or below"), "{text}");
}

#[test]
fn detached_and_odd_nrrd_files_are_read() {
    let head = |more: &str| {
        format!(
            "NRRD0005\ntype: uint8\ndimension: 3\nsizes: 2 1 1\nspacings: 1 1 2\nunits: \"cm\" \"cm\" \"cm\"\n{more}\n"
        )
    };
    let beside = Beside(vec![("v.raw", b"a line\n..\x05\x06".to_vec())]);
    let read = |text: String| nrrd::read(text.as_bytes(), &beside).unwrap();
    let first = read(head("encoding: raw\nline skip: 1\nbyte skip: 2\ndata file: v.raw\n"));
    assert_eq!((first.labels().unwrap(), first.spacing().z), (&[5u16, 6][..], 0.02));
    assert_eq!(read(head("encoding: raw\nbyte skip: -1\ndatafile: v.raw\n")).voxels, first.voxels);
    assert_eq!(read(head("encoding: hex\n") + "05 0\n6").voxels, first.voxels);
    assert_eq!(read(head("encoding: text\n") + "5 6").voxels, first.voxels);
}

/// Explicit elements of a DICOM file by hand.
struct Dicom(Vec<u8>);

impl Dicom {
    fn new(syntax: &str) -> Dicom {
        let mut file = Dicom(vec![0; 128]);
        file.0.extend(b"DICM");
        file.text(0x0002_0010, b"UI", syntax);
        file
    }

    fn element(&mut self, tag: u32, vr: &[u8; 2], bytes: &[u8]) {
        self.0.extend(((tag >> 16) as u16).to_le_bytes());
        self.0.extend((tag as u16).to_le_bytes());
        self.0.extend(vr);
        if matches!(vr, b"OB" | b"OW" | b"SQ" | b"UN") {
            self.0.extend([0, 0]);
            self.0.extend((bytes.len() as u32).to_le_bytes());
        } else {
            self.0.extend((bytes.len() as u16).to_le_bytes());
        }
        self.0.extend(bytes);
    }

    fn text(&mut self, tag: u32, vr: &[u8; 2], text: &str) {
        let padded = if text.len() % 2 == 1 { format!("{text} ") } else { text.into() };
        self.element(tag, vr, padded.as_bytes());
    }

    fn short(&mut self, tag: u32, value: u16) {
        self.element(tag, b"US", &value.to_le_bytes());
    }

    /// A slice of 2 × 1 pixels at a height \[mm\].
    fn slice(z: f64) -> Vec<u8> {
        Dicom::slice_with(&format!("0\\0\\{z}"), "1\\2", 1, "1.2.840.10008.1.2.1")
    }

    fn slice_with(position: &str, spacing: &str, samples: u16, syntax: &str) -> Vec<u8> {
        let mut file = Dicom::new(syntax);
        file.text(0x0018_0050, b"DS", "9");
        file.text(0x0020_000e, b"UI", "1.2.3");
        if !position.is_empty() {
            file.text(0x0020_0032, b"DS", position);
        }
        file.text(0x0020_0037, b"DS", "1\\0\\0\\0\\1\\0");
        file.short(0x0028_0002, samples);
        file.short(0x0028_0010, 1);
        file.short(0x0028_0011, 2);
        if !spacing.is_empty() {
            file.text(0x0028_0030, b"DS", spacing);
        }
        file.short(0x0028_0100, 8);
        file.element(0x7fe0_0010, b"OB", &[3, 4]);
        file.0
    }
}

fn series(heights: &[f64]) -> Result<ImageData, ReadError> {
    let files = heights.iter().enumerate().map(|(i, z)| (format!("{i}.dcm"), Dicom::slice(*z))).collect();
    read_folder(files, None)
}

/// A slice lies at (0, 0, z) in the space of DICOM; columns are 2 mm apart, rows 1 mm.
#[test]
fn slices_are_as_far_apart_as_their_positions() {
    let image = series(&[5.0, 1.0, 3.0]).unwrap();
    assert_eq!((image.grid.size, image.labels().unwrap()), ([2, 1, 3], &[3, 4, 3, 4, 3, 4][..]));
    let expected = Mat3::diagonal(Vec3::new(-2e-3, -1e-3, 2e-3));
    assert!((image.grid.axes - expected).norm() < 1e-15 && image.grid.origin.z == 1e-3);
    // A leaning table shears the image.
    let leaning =
        (0..3).map(|k| (format!("{k}"), Dicom::slice_with(&format!("0\\{k}\\{k}"), "1\\1", 1, "1.2.840.10008.1.2.1")));
    let image = read_folder(leaning.collect(), None).unwrap();
    assert!(image.notes.iter().any(|note| note.contains("sheared by 45.0°")), "{:?}", image.notes);
}

#[test]
fn bad_series_are_told_at_the_slice() {
    told(series(&[0.0, 1.0, 2.0, 4.0, 5.0]), &["slice 3", "gap", "\"2.dcm\" and \"3.dcm\"", "1 slices are missing"]);
    told(series(&[0.0, 1.0, 1.0, 2.0]), &["slice 2", "in time", "same place"]);
    let one = |bytes: Vec<u8>| dicom::read(&bytes);
    let plain = "1.2.840.10008.1.2.1";
    told(one(Dicom::slice_with("0\\0\\0", "", 1, plain)), &["no spacing", "pixel spacing"]);
    told(one(Dicom::slice_with("0\\0\\0", "1\\1", 3, plain)), &["color image"]);
    for (syntax, name) in [
        ("1.2.840.10008.1.2.4.90", "JPEG 2000 Lossless"),
        ("1.2.840.10008.1.2.4.50", "JPEG Baseline"),
        ("1.2.840.10008.1.2.4.80", "JPEG-LS"),
        ("1.2.840.10008.1.2.4.201", "High-Throughput"),
        ("1.2.3", "transfer syntax (1.2.3)"),
    ] {
        told(one(Dicom::slice_with("0\\0\\0", "1\\1", 1, syntax)), &[name, "gdcmconv --raw", "byte 140"]);
    }
    let slices = [Dicom::slice_with("", "1\\1", 1, plain), Dicom::slice_with("", "1\\1", 1, plain)];
    told(read_folder(slices.map(|bytes| ("a".into(), bytes)).to_vec(), None), &["no spacing", "positions"]);
    let mixed = vec![("a".into(), Dicom::slice(0.0)), ("b".into(), Dicom::slice_with("0\\0\\1", "1\\3", 1, plain))];
    told(read_folder(mixed, None), &["slice 1", "\"b\" has another spacing"]);
    let cut = Dicom::slice(0.0);
    told(one(cut[..cut.len() - 1].to_vec()), &["ends inside element (7fe0,0010)"]);
}

#[test]
fn folders_without_spacing_or_with_gaps_are_told() {
    let slice =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus/image/png/gray/s8.png"))
            .unwrap();
    let files =
        |names: &[&str]| names.iter().map(|name| ((*name).into(), slice.clone())).collect::<Vec<(String, Vec<u8>)>>();
    told(read_folder(files(&["1.png"]), None), &["no spacing", "spacing.txt"]);
    let header = raw::RawHeader::read(b"spacing = 1 1 1 mm").unwrap();
    let image = read_folder(files(&["s9.png", "s10.png", "s12.png"]), Some(&header)).unwrap();
    assert!(image.notes.iter().any(|note| note.contains("slice 11 is missing")), "{:?}", image.notes);
    let broken = vec![("1.png".into(), slice.clone()), ("2.png".into(), slice[..40].to_vec())];
    told(read_folder(broken, Some(&header)), &["slice 1", "PNG"]);
}

#[test]
fn an_image_is_described_in_a_few_lines() {
    let mut image = small();
    image.table.insert(9, "ulna", None);
    let facts = describe(&image);
    assert_eq!((facts.axes.as_str(), facts.labels[1].clone()), ("RAS", (1, "humerus".into(), 8)));
    assert_eq!(facts.unused, [(9, "ulna".to_string())]);
    let text = facts.to_string();
    assert!(text.contains("4 × 3 × 2") && text.contains("1.0000 × 1.0000 × 1.0000 mm"), "{text}");
    image.grid.axes =
        Mat3::from_columns(Vec3::new(0.0, -1.0, 0.1), Vec3::new(0.0, 0.0, -2.0), Vec3::new(-3.0, 0.0, 0.0));
    assert_eq!(describe(&image).axes, "PIL");
}
