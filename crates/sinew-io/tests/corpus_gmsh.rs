//! Files of Gmsh, MEDIT and TetGen, written by Gmsh 4.15, meshio 5.3 and TetGen 1.6.
//!
//! Most hold a box of 2 × 1 × 1 whose left half is called `muscle belly` (11) and right half `tendon` (12), with the
//! face `fixed` (5) at x = 0 and the points `tip` (3) at x = 2.

use std::path::{Path, PathBuf};

use sinew_io::{CellShape, LABEL, MeshData, ReadError, VolumeOptions, WriteOptions, decode, load, save};
use sinew_math::Vec3;

fn corpus(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus").join(folder)
}

fn read(name: &str) -> MeshData {
    load(&corpus(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(corpus(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Shapes with their number of cells.
fn shapes(mesh: &MeshData) -> Vec<(CellShape, usize)> {
    mesh.groups.iter().map(|group| (group.shape, group.len())).collect()
}

/// Corners around each mid-node of a cell, in VTK's order; corners themselves are omitted.
fn middles(shape: CellShape) -> &'static [&'static [usize]] {
    match shape {
        CellShape::Line3 => &[&[0, 1]],
        CellShape::Tri6 => &[&[0, 1], &[1, 2], &[2, 0]],
        CellShape::Quad8 => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
        CellShape::Quad9 => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0], &[0, 1, 2, 3]],
        CellShape::Tet10 => &[&[0, 1], &[1, 2], &[2, 0], &[0, 3], &[1, 3], &[2, 3]],
        CellShape::Pyramid13 => &[&[0, 1], &[1, 2], &[2, 3], &[3, 0], &[0, 4], &[1, 4], &[2, 4], &[3, 4]],
        CellShape::Wedge15 => &[&[0, 1], &[1, 2], &[2, 0], &[3, 4], &[4, 5], &[5, 3], &[0, 3], &[1, 4], &[2, 5]],
        CellShape::Hex20 => &HEX27[..12],
        CellShape::Hex27 => &HEX27,
        _ => &[],
    }
}

const HEX27: [&[usize]; 19] = [
    &[0, 1],
    &[1, 2],
    &[2, 3],
    &[3, 0],
    &[4, 5],
    &[5, 6],
    &[6, 7],
    &[7, 4],
    &[0, 4],
    &[1, 5],
    &[2, 6],
    &[3, 7],
    &[0, 3, 7, 4],
    &[1, 2, 6, 5],
    &[0, 1, 5, 4],
    &[3, 2, 6, 7],
    &[0, 1, 2, 3],
    &[4, 5, 6, 7],
    &[0, 1, 2, 3, 4, 5, 6, 7],
];

/// All cells here have straight edges, so a mid-node in VTK's order is the mean of its corners.
fn check_middles(name: &str, mesh: &MeshData) {
    for (shape, nodes) in mesh.cells() {
        let middles = middles(shape);
        for (corners, &node) in middles.iter().zip(&nodes[nodes.len() - middles.len()..]) {
            let sum: Vec3 = corners.iter().map(|&corner| mesh.points[nodes[corner] as usize]).sum();
            let distance = mesh.points[node as usize].distance(sum / corners.len() as f64);
            assert!(distance < 1e-12, "{name}: {shape:?}, between corners {corners:?}: off by {distance}");
        }
    }
}

/// The box has the same names, numbers and volume in every variant.
#[test]
fn the_box_is_the_same_in_every_variant() {
    let names = [
        "gmsh-2.2-ascii-physical",
        "gmsh-2.2-binary-physical",
        "gmsh-4.1-ascii-physical",
        "gmsh-4.1-binary-physical",
        "gmsh-4.1-ascii-parametric",
        "gmsh-4.1-ascii-partitioned",
        "gmsh-4.1-binary-partitioned",
        "meshio-2.2-ascii",
        "meshio-2.2-binary",
    ];
    for name in names {
        let mesh = read(&format!("gmsh/{name}.msh"));
        let kinds = [CellShape::Vertex, CellShape::Tri3, CellShape::Tet4];
        let count =
            |shape| mesh.groups.iter().filter(|group| group.shape == shape).map(|group| group.len()).sum::<usize>();
        assert_eq!(kinds.map(count), [4, 4, 48], "{name}");
        let sets: Vec<(&str, usize)> =
            mesh.cell_sets.iter().map(|(name, cells)| (name.as_str(), cells.len())).collect();
        assert_eq!(sets, [("fixed", 4), ("muscle belly", 24), ("tendon", 24), ("tip", 4)], "{name}");
        let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert_eq!((volume.node_count(), volume.cell_count()), (23, 48), "{name}");
        assert!((volume.volume() - 2.0).abs() < 1e-12, "{name}: {}", volume.volume());
        let cells = |set: &str| volume.cell_sets()[set].iter().map(|&cell| cell as usize).collect::<Vec<_>>();
        for (set, label) in [("muscle belly", 11), ("tendon", 12)] {
            let volumes = volume.cell_volumes();
            let half: f64 = cells(set).iter().map(|&cell| volumes[cell]).sum();
            assert!((half - 1.0).abs() < 1e-12, "{name}: {set} {half}");
            assert!(cells(set).iter().all(|&cell| volume.cell_labels()[cell] == label), "{name}");
        }
        for (set, x, count) in [("fixed", 0.0, 5), ("tip", 2.0, 4)] {
            let nodes = &volume.node_sets()[set];
            assert!(nodes.iter().all(|&node| volume.positions()[node as usize].x == x), "{name}: {set}");
            assert_eq!(nodes.len(), count, "{name}: {set}");
        }
    }
}

/// meshio lists only entities with nodes of their own. The volumes of the box have none, but their cells exist.
#[test]
fn cells_on_entities_that_are_not_listed_have_no_group() {
    for name in ["meshio-4.1-ascii", "meshio-4.1-binary"] {
        let mesh = read(&format!("gmsh/{name}.msh"));
        let sets: Vec<(&str, usize)> =
            mesh.cell_sets.iter().map(|(name, cells)| (name.as_str(), cells.len())).collect();
        assert_eq!(sets, [("fixed", 4), ("tip", 4)], "{name}");
        let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert!((volume.volume() - 2.0).abs() < 1e-12 && volume.cell_labels().iter().all(|&label| label == 0));
    }
}

#[test]
fn hexahedra_fill_the_cube_and_one_name_spans_two_dimensions() {
    for name in ["gmsh-2.2-ascii-hex8", "gmsh-4.1-binary-hex8"] {
        let mesh = read(&format!("gmsh/{name}.msh"));
        assert_eq!(shapes(&mesh), [(CellShape::Quad4, 8), (CellShape::Hex8, 8)]);
        assert_eq!(mesh.cell_sets["block"], (0..16).collect::<Vec<u32>>());
        let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert!((volume.volume() - 1.0).abs() < 1e-12);
        // Two opposite faces of 3 × 3 nodes.
        assert_eq!((volume.node_sets()["block"].len(), volume.cell_sets()["block"].len()), (18, 8));
    }
}

/// Cells that Gmsh made quadratic, and one file per shape.
#[test]
fn quadratic_cells_have_the_node_order_of_vtk() {
    let every = [
        (CellShape::Line3, 1),
        (CellShape::Tri6, 1),
        (CellShape::Quad8, 1),
        (CellShape::Tet10, 1),
        (CellShape::Pyramid13, 1),
        (CellShape::Wedge15, 1),
        (CellShape::Hex20, 1),
    ];
    let mut found = shapes(&read("gmsh/gmsh-4.1-ascii-every-kind-incomplete.msh"));
    found.sort();
    assert_eq!(found, every);
    for file in files("gmsh").into_iter().chain(files("medit")).chain(files("tetgen")) {
        if let Ok(mesh) = load(&file) {
            check_middles(&file.display().to_string(), &mesh);
        }
    }
    let quadratic = read("gmsh/gmsh-4.1-binary-tet10.msh");
    assert_eq!(shapes(&quadratic), [(CellShape::Vertex, 4), (CellShape::Tri6, 4), (CellShape::Tet10, 48)]);
    assert_eq!(shapes(&read("gmsh/gmsh-2.2-ascii-tet10.msh")), shapes(&quadratic));
    assert_eq!(shapes(&read("gmsh/gmsh-4.1-ascii-hex27.msh")), [(CellShape::Quad9, 2), (CellShape::Hex27, 1)]);
    assert_eq!(shapes(&read("tetgen/tetgen-order2.ele")), [(CellShape::Tet10, 6)]);
    assert_eq!(shapes(&read("medit/gmsh-tet10.mesh")), [(CellShape::Tri6, 4), (CellShape::Tet10, 48)]);
}

/// The whole box is also called `everything`; version 2 stores that by writing each of its cells twice.
#[test]
fn cells_in_two_groups_are_one_cell() {
    for name in ["gmsh-2.2-ascii-overlapping", "gmsh-4.1-ascii-overlapping"] {
        let mesh = read(&format!("gmsh/{name}.msh"));
        let sizes = ["everything", "muscle belly", "tendon"].map(|set| mesh.cell_sets[set].len());
        assert_eq!(sizes, [48, 24, 24], "{name}");
        let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert!((volume.volume() - 2.0).abs() < 1e-12, "{name}");
    }
}

/// Gmsh's data: every second node has its number, every tetrahedron (number, 0, 1).
#[test]
fn incomplete_data_is_not_a_number_elsewhere() {
    for name in ["gmsh-2.2-binary-periodic-data", "gmsh-4.1-ascii-periodic-data"] {
        let mesh = read(&format!("gmsh/{name}.msh"));
        let heat = mesh.point_field("heat").unwrap();
        assert!(heat.values.iter().zip(1..).all(|(&value, tag)| value.is_nan() == (tag % 2 == 0)), "{name}");
        assert_eq!(heat.values[44], 45.0);
        let stress = mesh.cell_field("stress").unwrap();
        assert_eq!((stress.components, stress.len()), (3, mesh.cell_count()));
        for ((shape, _), row) in mesh.cells().zip(stress.values.chunks(3)) {
            let is_given = row[1..] == [0.0, 1.0];
            assert_eq!(is_given, shape == CellShape::Tet4, "{name}: {row:?}");
        }
    }
}

/// meshio's data: x² at the nodes, 0.1 x as a vector, half their number at the tetrahedra.
#[test]
fn data_of_meshio_is_read() {
    for variant in ["2.2-ascii", "2.2-binary", "4.1-ascii", "4.1-binary"] {
        let mesh = read(&format!("gmsh/meshio-{variant}-data.msh"));
        let (heat, u) = (&mesh.point_field("heat").unwrap().values, mesh.point_field("u").unwrap());
        for (i, x) in mesh.points.iter().enumerate() {
            assert_eq!(heat[i], x.x * x.x);
            assert_eq!(u.values[3 * i..3 * i + 3], x.to_array().map(|x| x * 0.1));
        }
        let age = &mesh.cell_field("age").unwrap().values;
        assert!(age.iter().enumerate().all(|(i, &age)| age == 0.5 * i as f64));
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    for (name, expected) in [
        ("gmsh-4.0-ascii", "line 2: Gmsh's version 4 cannot be read\nhint: save it as version 4.1"),
        ("gmsh-4.1-ascii-every-kind-unsupported", "element type 14 (pyramid with 14 nodes) cannot be read"),
    ] {
        let error = load(&corpus(&format!("gmsh/{name}.msh"))).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn medit_files_hold_the_box_the_cube_and_every_kind() {
    let volume = |name: &str| read(name).into_volume(&VolumeOptions::default()).unwrap().mesh;
    assert!((volume("medit/gmsh-physical.mesh").volume() - 2.0).abs() < 1e-12);
    assert!((volume("medit/gmsh-hex8.mesh").volume() - 1.0).abs() < 1e-12);
    let kinds = [
        (CellShape::Line2, 2),
        (CellShape::Tri3, 1),
        (CellShape::Quad4, 1),
        (CellShape::Tet4, 1),
        (CellShape::Pyramid5, 1),
        (CellShape::Wedge6, 1),
        (CellShape::Hex8, 1),
    ];
    let text = read("medit/meshio-mixed.mesh");
    for name in ["meshio-mixed.mesh", "meshio-mixed.meshb", "meshio-mixed-32bit.meshb", "meshio-float.mesh"] {
        let mesh = read(&format!("medit/{name}"));
        assert_eq!(shapes(&mesh), kinds, "{name}");
        assert_eq!((&mesh.points, &mesh.groups), (&text.points, &text.groups), "{name}");
    }
    assert_eq!(text.cell_field(LABEL).unwrap().values, [0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(text.point_field("medit:ref").unwrap().values, (0..11).map(f64::from).collect::<Vec<_>>());
    assert_eq!(text, read("medit/meshio-mixed.meshb"));
}

#[test]
fn tetgen_files_hold_the_box_and_the_cube() {
    let mesh = read("tetgen/meshio.node");
    assert_eq!(mesh, read("tetgen/meshio.ele"));
    assert_eq!(mesh.node_sets["marker-3"].len(), 5);
    assert!(mesh.node_sets["marker-3"].iter().all(|&node| mesh.points[node as usize].x == 0.0));
    let x: Vec<f64> = mesh.points.iter().map(|point| point.x).collect();
    assert_eq!(mesh.point_field("attribute-1").unwrap().values, x);
    let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh;
    let labeled = |label: u32| volume.cell_labels().iter().filter(|&&l| l == label).count();
    assert_eq!((labeled(11), labeled(12)), (24, 24));
    assert!((volume.volume() - 2.0).abs() < 1e-12);
    // Six faces of the cube, each with a marker and two triangles.
    let cube = read("tetgen/tetgen-order1.node").into_volume(&VolumeOptions::default()).unwrap().mesh;
    assert!((cube.volume() - 1.0).abs() < 1e-12);
    for marker in 1..=6 {
        assert_eq!(cube.node_sets()[&format!("surface-{marker}")].len(), 4);
    }
}

/// Reads, writes in every variant that can hold it, and reads again: points, cells, labels and sets are the same.
#[test]
fn every_file_survives_being_written() {
    let mut written = 0;
    for file in files("gmsh") {
        let Ok(mesh) = load(&file) else { continue };
        for version in ["2.2", "4.1"] {
            for binary in [false, true] {
                let options = WriteOptions { binary, version: Some(version.into()), ..WriteOptions::default() };
                let (_, bytes) = save(&mesh, &file, &options).unwrap().remove(0);
                let back = sinew_io::gmsh::read(&bytes).unwrap();
                let name = format!("{} as {version}, binary: {binary}", file.display());
                assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups), "{name}");
                assert_eq!(back.cell_field(LABEL), mesh.cell_field(LABEL), "{name}");
                if version == "4.1" {
                    assert_eq!(back.cell_sets, mesh.cell_sets, "{name}");
                }
                written += 1;
            }
        }
        sinew_io::gmsh::fuzz_one(&std::fs::read(&file).unwrap());
    }
    for file in files("medit") {
        let mesh = load(&file).unwrap();
        for extension in ["mesh", "meshb"] {
            let (path, bytes) =
                save(&mesh, &file.with_extension(extension), &WriteOptions::default()).unwrap().remove(0);
            let back = decode(&bytes, sinew_io::Format::Medit, extension, &sinew_io::NoCompanions).unwrap();
            assert_eq!(back, mesh, "{}", path.display());
            written += 1;
        }
        sinew_io::medit::fuzz_one(&std::fs::read(&file).unwrap());
    }
    for file in files("tetgen") {
        sinew_io::tetgen::fuzz_one(&std::fs::read(&file).unwrap());
    }
    assert!(written > 100, "{written}");
}

/// Every truncated file is rejected, or is a mesh without the missing rest; nothing panics.
#[test]
fn files_cut_off_anywhere_are_refused() {
    for file in files("gmsh") {
        let bytes = std::fs::read(&file).unwrap();
        // Parsing each prefix of each file would take minutes without adding information.
        for end in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
            match sinew_io::gmsh::read(&bytes[..end]) {
                Ok(mesh) => assert!(mesh.cell_count() > 0, "{}: {end}", file.display()),
                Err(ReadError::Mesh(error)) => panic!("{error}"),
                Err(_) => {}
            }
        }
    }
}
