//! `sinew mesh` from the user's point of view: files, tables and pictures.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{fresh_folder, root};
use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets, icosphere};
use sinew_io::{CellShape, Field, LABEL, MeshData, WriteOptions};
use sinew_math::Vec3;

fn mesh(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(root()).stdin(Stdio::null()).arg("mesh").args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a command; it must have ended with this status and without a bug report.
fn printed(output: &Output, status: i32) -> String {
    let talk = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{talk}{}", text(&output.stdout));
    assert!(!talk.contains("this is a bug"), "{talk}");
    text(&output.stdout)
}

fn json(output: &Output, status: i32) -> serde_json::Value {
    let text = printed(output, status);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn save(data: &MeshData, path: &Path) -> String {
    for (file, bytes) in sinew_io::save(data, path, &WriteOptions::default()).expect("the mesh fits the format") {
        std::fs::write(file, bytes).expect("the mesh is written");
    }
    path.to_string_lossy().into_owned()
}

/// A block of 20 × 10 × 10 cm of tetrahedra with labels, a node set, a cell set and fields.
fn block() -> MeshData {
    let mesh = box_tets(Vec3::new(0.2, 0.1, 0.1), [4, 2, 2], TetPattern::Kuhn).expect("a block");
    let mut data = MeshData::from(&mesh);
    let middle = |cell: usize| data.groups[0].cell(cell).iter().map(|&n| data.points[n as usize].x).sum::<f64>() / 4.0;
    let labels: Vec<f64> = (0..data.cell_count()).map(|cell| if middle(cell) < 0.1 { 1.0 } else { 2.0 }).collect();
    let far: Vec<u32> = (0..data.cell_count() as u32).filter(|&cell| labels[cell as usize] == 2.0).collect();
    data.node_sets
        .insert("left".into(), (0..data.points.len() as u32).filter(|&n| data.points[n as usize].x == 0.0).collect());
    data.cell_sets.insert("far".into(), far);
    data.point_fields.push(Field::scalars("heat", data.points.iter().map(|p| 10.0 * p.x).collect()));
    data.cell_fields.push(Field::scalars(LABEL, labels));
    data
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

fn assert_picture(file: &str) {
    let bytes = std::fs::read(file).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 5_000, "{file}: {} bytes", bytes.len());
}

#[test]
fn info_tells_what_is_in_a_volume_mesh() {
    let folder = fresh_folder("mesh_info");
    let file = save(&block(), &folder.join("block.vtu"));
    let picture = path(&folder, "block.png");
    let told = printed(&mesh(&["info", &file, "--picture", &picture]), 0);
    for expected in [
        "VTU",
        "45",
        "96 × tetrahedron",
        "20 × 10 × 10 cm",
        "2 L",
        "1: 48 cells, 2: 48 cells",
        "heat  0 … 2",
        "can be simulated",
    ] {
        assert!(told.contains(expected), "`{expected}` is missing:\n{told}");
    }
    assert!(told.lines().count() < 24, "one screen");
    assert_picture(&picture);
    let facts = json(&mesh(&["info", &file, "--json"]), 0);
    assert_eq!((&facts["cells"]["tetrahedron"], &facts["points"]), (&96.into(), &45.into()));
    let volume = facts["volume"].as_f64().expect("a volume");
    assert!((volume - 0.002).abs() < 1e-15, "{volume}");
    assert!((facts["area"].as_f64().expect("an area") - 0.1).abs() < 1e-14, "2 (0.2·0.1 + 0.2·0.1 + 0.1·0.1)");
    assert_eq!(facts["can_be_simulated"], true);
}

#[test]
fn info_tells_whether_a_surface_can_be_filled() {
    let folder = fresh_folder("mesh_info_surface");
    let ball = MeshData::from(&icosphere(0.1, 4).expect("a ball"));
    let file = save(&ball, &folder.join("ball.stl"));
    let facts = json(&mesh(&["info", &file, "--json"]), 0);
    assert_eq!((&facts["can_be_filled"], &facts["can_be_simulated"]), (&true.into(), &false.into()));
    let mut open = ball;
    open.groups[0].nodes.truncate(3 * 200);
    let file = save(&open, &folder.join("open.stl"));
    let told = printed(&mesh(&["info", &file]), 0);
    assert!(told.contains("open") && told.contains("repair = \"winding\""), "{told}");
}

#[test]
fn several_files_are_told_and_one_bad_file_does_not_hide_the_others() {
    let folder = fresh_folder("mesh_info_many");
    let good = save(&block(), &folder.join("block.vtu"));
    let bad = path(&folder, "bad.vtu");
    std::fs::write(&bad, "<VTKFile").expect("a file");
    let output = mesh(&["info", &good, &bad]);
    assert!(printed(&output, 2).contains("96 × tetrahedron"));
    assert!(text(&output.stderr).contains("bad.vtu"), "{}", text(&output.stderr));
    let missing = mesh(&["info", &path(&folder, "blok.vtu")]);
    assert!(text(&missing.stderr).contains("did you mean") && text(&missing.stderr).contains("block.vtu"));
    let both = mesh(&["info", &good, &good, "--picture", &path(&folder, "x.png")]);
    assert!(text(&both.stderr).contains("one mesh") && both.status.code() == Some(2));
    let unknown = mesh(&["info", &path(&folder, "block.xyz")]);
    assert!(text(&unknown.stderr).contains(".vtu") && unknown.status.code() == Some(2));
}

/// Round trip through every volume format: the same points and cells, in parts if a format has parts.
#[test]
fn a_volume_survives_every_volume_format() {
    let folder = fresh_folder("mesh_convert");
    let block = block();
    let file = save(&block, &folder.join("block.vtu"));
    for format in sinew_io::Format::all().filter(|format| format.holds_volumes()) {
        let extension = format.extensions()[0];
        let other = path(&folder, &format!("other.{extension}"));
        printed(&mesh(&["convert", &file, &other]), 0);
        let back = path(&folder, &format!("back-{extension}.vtu"));
        printed(&mesh(&["convert", &other, &back]), 0);
        let read = sinew_io::load(Path::new(&back)).expect("what was written is read");
        let worst = read.points.iter().zip(&block.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(read.points.len() == block.points.len() && worst < 1e-15, "{}: {worst}", format.name());
        let tets = |data: &MeshData| {
            let cells = data.cells().filter(|(shape, _)| *shape == CellShape::Tet4);
            let mut cells: Vec<Vec<u32>> = cells.map(|(_, nodes)| nodes.to_vec()).collect();
            cells.sort();
            cells
        };
        assert_eq!(tets(&read), tets(&block), "{}", format.name());
    }
}

#[test]
fn what_a_format_cannot_hold_is_told() {
    let folder = fresh_folder("mesh_lost");
    let file = save(&block(), &folder.join("block.vtu"));
    let output = mesh(&["convert", &file, &path(&folder, "block.ele"), "--json"]);
    let told = json(&output, 0);
    let lost: Vec<&str> = told["lost"].as_array().expect("a list").iter().filter_map(|line| line.as_str()).collect();
    assert!(lost.iter().any(|line| line.contains("\"far\"")), "{lost:?}");
    assert_eq!(told["outputs"].as_array().map(Vec::len), Some(2), "nodes and cells are two files");
    let refused = mesh(&["convert", &file, &path(&folder, "block.obj")]);
    assert!(text(&refused.stderr).contains("--boundary") && refused.status.code() == Some(2));
}

#[test]
fn files_are_replaced_only_by_force() {
    let folder = fresh_folder("mesh_force");
    let file = save(&block(), &folder.join("block.vtu"));
    let other = path(&folder, "other.vtk");
    std::fs::write(&other, "precious").expect("a file");
    let output = mesh(&["convert", &file, &other]);
    assert!(text(&output.stderr).contains("--force") && output.status.code() == Some(2));
    assert_eq!(std::fs::read_to_string(&other).expect("still there"), "precious");
    printed(&mesh(&["convert", &file, &other, "--force"]), 0);
    assert!(sinew_io::load(Path::new(&other)).is_ok());
}

/// The boundary of the block as a surface: area 0.1 m², closed, in millimeters after scaling.
#[test]
fn boundary_scale_and_skip_do_what_they_say() {
    let folder = fresh_folder("mesh_boundary");
    let mut data = block();
    data.push_cell(CellShape::Wedge6, &[0, 1, 2, 3, 4, 5]);
    data.cell_fields[0].values.push(9.0);
    let file = save(&data, &folder.join("block.vtu"));
    let surface = path(&folder, "surface.ply");
    printed(&mesh(&["convert", &file, &surface, "--boundary", "--scale", "1000", "--skip", "wedge"]), 0);
    let facts = json(&mesh(&["info", &surface, "--json"]), 0);
    // Single precision for PLY.
    assert!((facts["area"].as_f64().expect("an area") - 0.1e6).abs() < 1.0, "{facts}");
    assert!((facts["volume"].as_f64().expect("closed") - 0.002e9).abs() < 20.0, "{facts}");
    let wrong = mesh(&["convert", &file, &path(&folder, "x.vtu"), "--skip", "wegde"]);
    assert!(text(&wrong.stderr).contains("did you mean \"wedge\"?"), "{}", text(&wrong.stderr));
    let nothing = mesh(&["convert", &surface, &path(&folder, "y.ply"), "--boundary"]);
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn text_and_versions_can_be_asked_for() {
    let folder = fresh_folder("mesh_variants");
    let file = save(&block(), &folder.join("block.vtu"));
    let old = path(&folder, "old.msh");
    printed(&mesh(&["convert", &file, &old, "--ascii", "--version", "2.2"]), 0);
    assert!(std::fs::read_to_string(&old).expect("text").starts_with("$MeshFormat\n2.2 0 8"));
    let wrong = mesh(&["convert", &file, &path(&folder, "x.msh"), "--version", "77"]);
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("77"), "{}", text(&wrong.stderr));
    let (plain, packed) = (path(&folder, "plain.vtu"), path(&folder, "packed.vtu"));
    let fine = MeshData::from(&box_hexes(Vec3::splat(0.1), [12, 12, 12]).expect("a cube"));
    let fine = save(&fine, &folder.join("fine.vtk"));
    printed(&mesh(&["convert", &fine, &plain]), 0);
    printed(&mesh(&["convert", &fine, &packed, "--compress"]), 0);
    let size = |file: &str| std::fs::metadata(file).expect("a file").len();
    assert!(2 * size(&packed) < size(&plain), "{} {}", size(&packed), size(&plain));
}

/// A ball of radius 10 cm is filled: the lattice has at least its volume, 4/3 π r³ = 4.19 L, and not much more.
#[test]
fn a_closed_surface_is_filled() {
    let folder = fresh_folder("mesh_fill");
    let mut ball = MeshData::from(&icosphere(100.0, 6).expect("a ball"));
    ball.cell_sets.insert("cap".into(), (0..20).collect());
    let file = save(&ball, &folder.join("ball.obj"));
    let (out, picture) = (path(&folder, "ball.vtu"), path(&folder, "ball.png"));
    let told =
        json(&mesh(&["fill", &file, &out, "--cell", "2 cm", "--scale", "mm", "--picture", &picture, "--json"]), 0);
    let (surface, lattice) =
        (told["surface"]["volume"].as_f64().expect("a volume"), told["volume"].as_f64().expect("a volume"));
    assert!(surface > 4.0e-3 && surface < 4.19e-3 && lattice > surface && lattice < 1.6 * surface, "{told}");
    assert_picture(&picture);
    let filled = sinew_io::load(Path::new(&out)).expect("a mesh");
    let inside = filled.cell_field("inside").expect("fractions");
    assert!(inside.values.iter().all(|part| (0.0..=1.0).contains(part)));
    printed(&mesh(&["check", &out]), 0);
    let wrong = mesh(&["fill", &file, &path(&folder, "x.vtu"), "--cell", "2 kg"]);
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("length"), "{}", text(&wrong.stderr));
    let flat = mesh(&["fill", &file, &path(&folder, "x.stl"), "--cell", "2 cm"]);
    assert!(text(&flat.stderr).contains("stores surfaces"), "{}", text(&flat.stderr));
}

#[test]
fn an_open_surface_is_filled_only_with_repair() {
    let folder = fresh_folder("mesh_repair");
    let mut open = MeshData::from(&icosphere(0.1, 6).expect("a ball"));
    let kept = open.groups[0].nodes.len() - 30;
    open.groups[0].nodes.truncate(kept);
    let file = save(&open, &folder.join("open.obj"));
    let out = path(&folder, "open.vtu");
    let refused = mesh(&["fill", &file, &out, "--cell", "2 cm"]);
    let talk = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && talk.contains("hint:") && talk.contains("--repair winding"), "{talk}");
    assert!(!Path::new(&out).exists());
    let told = printed(&mesh(&["fill", &file, &out, "--cell", "2 cm", "--repair", "winding"]), 0);
    assert!(told.contains("open edges"), "{told}");
}

/// `mesh tets` on a ball, whole and open: within one percent of its volume, good angles, a mesh that can be simulated.
#[test]
fn tets_end_at_a_surface_even_if_it_is_open() {
    let folder = fresh_folder("mesh_tets");
    let mut ball = MeshData::from(&icosphere(0.1, 24).expect("a ball"));
    let whole = save(&ball, &folder.join("ball.ply"));
    let kept = ball.groups[0].nodes.len() - 30;
    ball.groups[0].nodes.truncate(kept);
    let open = save(&ball, &folder.join("open.ply"));
    for (file, method) in [(&whole, "stuffed"), (&whole, "compressed"), (&open, "stuffed")] {
        let out = path(&folder, "ball.vtu");
        let told =
            json(&mesh(&["tets", file, "-o", &out, "--cell", "1.5 cm", "--method", method, "--force", "--json"]), 0);
        let number = |key: &str| told[key].as_f64().expect("a number");
        // The lattice cuts h²/R² / 8 of the volume off, the triangles of the surface less.
        assert!((number("volume") / 4.189e-3 - 1.0).abs() < 0.02, "{told}");
        assert!(number("min_dihedral_degrees") >= 18.0 && number("max_dihedral_degrees") <= 158.0, "{told}");
        assert_eq!(told["notes"].as_array().is_some_and(|notes| !notes.is_empty()), *file == open, "{told}");
        printed(&mesh(&["check", &out]), 0);
    }
    let refused = |arguments: &[&str], expected: &str| {
        let talk = text(&mesh(arguments).stderr);
        assert!(talk.contains(expected), "{talk}");
    };
    let out = path(&folder, "x.vtu");
    refused(&["tets", &whole, "-o", &whole, "--cell", "1 cm", "--force"], "stores surfaces");
    refused(&["tets", &whole, "-o", &out, "--cell", "1 um"], "hint:");
    refused(&["tets", &whole, "-o", &out, "--cell", "1 cm", "--label", "liver"], "no labels");
    assert!(!Path::new(&out).exists());
}

/// Two halves of a block in an image become one mesh with both labels; one can be taken alone.
#[test]
fn labels_of_an_image_share_one_mesh() {
    use sinew_geometry::VoxelGrid;
    use sinew_io::image::{ImageData, write_nifti};
    let folder = fresh_folder("mesh_tets_labels");
    let size = [24, 14, 14];
    let grid = VoxelGrid::cubic(size, Vec3::zero(), 0.002);
    let inside = |[i, j, k]: [usize; 3]| (3..21).contains(&i) && (3..11).contains(&j) && (3..11).contains(&k);
    let label = |p: [usize; 3]| u16::from(inside(p)) * if p[0] < 12 { 3 } else { 7 };
    let voxels: Vec<u16> = (0..size.iter().product())
        .map(|n: usize| label([n % size[0], n / size[0] % size[1], n / size[0] / size[1]]))
        .collect();
    let file = folder.join("block.nii");
    std::fs::write(&file, write_nifti(&ImageData::of_labels(grid, voxels))).expect("the image is written");
    let file = file.to_string_lossy().into_owned();
    let out = path(&folder, "block.vtu");
    let told = json(&mesh(&["tets", &file, "-o", &out, "--cell", "4 mm", "--json"]), 0);
    let volume = told["volume"].as_f64().expect("a volume");
    // Eight voxels across; blurring rounds its edges off.
    let exact = 18.0 * 8.0 * 8.0 * 0.002_f64.powi(3);
    assert!((volume / exact - 1.0).abs() < 0.12, "{volume} {exact}");
    assert!(told["min_dihedral_degrees"].as_f64().is_some_and(|angle| angle >= 8.0), "{told}");
    let filled = sinew_io::load(Path::new(&out)).expect("a mesh");
    let labels = &filled.cell_field(LABEL).expect("labels").values;
    assert!(labels.iter().all(|label| *label == 3.0 || *label == 7.0));
    assert!(labels.contains(&3.0) && labels.contains(&7.0));
    printed(&mesh(&["check", &out]), 0);
    let one = json(&mesh(&["tets", &file, "-o", &out, "--cell", "4 mm", "--label", "7", "--force", "--json"]), 0);
    assert!((one["volume"].as_f64().expect("a volume") / volume - 0.5).abs() < 0.1, "{one}");
    let wrong = mesh(&["tets", &file, "-o", &out, "--label", "liver", "--force"]);
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("labels are"), "{}", text(&wrong.stderr));
}

#[test]
fn check_tells_everything_that_is_wrong_at_once() {
    let folder = fresh_folder("mesh_check");
    let mut data = block();
    data.cell_fields.clear();
    data.cell_sets.clear();
    // A copy of a cell, a flat cell, and an unused point.
    let first: Vec<u32> = data.groups[0].cell(0).to_vec();
    data.push_cell(CellShape::Tet4, &first);
    data.points.push((data.points[0] + data.points[1]) * 0.5);
    data.push_cell(CellShape::Tet4, &[0, 1, 2, 45]);
    data.points.push(Vec3::splat(0.05));
    data.point_fields.clear();
    let file = save(&data, &folder.join("bad.vtu"));
    let picture = path(&folder, "bad.png");
    let told = printed(&mesh(&["check", &file, "--picture", &picture]), 1);
    for expected in
        ["cannot be simulated", "cell 96", "as cell 0", "cells without volume: 1", "cell 97 at", "no volume cell uses"]
    {
        assert!(told.contains(expected), "`{expected}` is missing:\n{told}");
    }
    assert_picture(&picture);
    let found = json(&mesh(&["check", &file, "--json"]), 1);
    let keys: Vec<&str> =
        found["problems"].as_array().expect("a list").iter().filter_map(|p| p["key"].as_str()).collect();
    assert!(
        keys.contains(&"duplicate_cells") && keys.contains(&"degenerate_cells") && keys.contains(&"unused_points"),
        "{keys:?}"
    );
    let good = save(&block(), &folder.join("good.vtu"));
    assert!(printed(&mesh(&["check", &good]), 0).contains("ok, can be simulated"));
    let both = printed(&mesh(&["check", &good, &file]), 1);
    assert!(both.contains("good.vtu") && both.contains("bad.vtu"), "{both}");
}

#[test]
fn nonsense_is_refused_in_words() {
    let folder = fresh_folder("mesh_nonsense");
    for extension in sinew_io::Format::all().flat_map(sinew_io::Format::extensions) {
        let file: PathBuf = folder.join(format!("noise.{extension}"));
        std::fs::write(&file, b"\x00\xff nonsense \n 3 4 5").expect("a file");
        for command in ["info", "check"] {
            let output = mesh(&[command, &file.to_string_lossy()]);
            let talk = text(&output.stderr);
            assert!(!talk.contains("this is a bug"), "{extension}: {talk}");
            assert_eq!(output.status.code(), Some(2), "{extension}: {talk}{}", text(&output.stdout));
        }
    }
}
