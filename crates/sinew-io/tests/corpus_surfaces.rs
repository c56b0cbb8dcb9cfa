//! Surface files of other programs, and some handmade ones, with known contents.
//!
//! Boxes have the sides 1, 2 and 3, prisms are hexagonal with radius 1 and height 2. Files in single precision or with
//! six digits are compared within 1e-6 of the volume, all others exactly.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sinew_io::{CellShape, LABEL, MeshData, WriteOptions, load, obj, ply, stl};

const BOX: f64 = 6.0;
const TETRAHEDRON: f64 = 1.0 / 6.0;

/// Area of a regular hexagon of radius 1, times the height 2.
fn prism() -> f64 {
    3.0 * 3f64.sqrt() / 2.0 * 2.0
}

fn corpus(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus").join(format)
}

fn read(format: &str, name: &str) -> MeshData {
    load(&corpus(format).join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Name, volume, vertices of the closed surface, number of triangles, quads and polygons in the file.
const FILES: [(&str, &str, f64, usize, [usize; 3]); 38] = [
    ("obj", "blender-prism-materials.obj", 0.0, 12, [0, 6, 2]),
    ("obj", "hand-everything.obj", 1.0, 8, [2, 5, 0]),
    ("obj", "meshio-mixed.obj", BOX, 8, [10, 1, 0]),
    ("obj", "pyvista-prism.obj", 0.0, 12, [0, 6, 2]),
    ("obj", "pyvista-quads.obj", BOX, 8, [0, 6, 0]),
    ("obj", "trimesh-box-colours.obj", BOX, 8, [12, 0, 0]),
    ("obj", "trimesh-box-normals.obj", BOX, 8, [12, 0, 0]),
    ("obj", "trimesh-box.obj", BOX, 8, [12, 0, 0]),
    ("obj", "trimesh-scene-objects.obj", 2.0 * BOX, 16, [24, 0, 0]),
    ("ply", "blender-ascii-ngons.ply", 0.0, 12, [0, 6, 2]),
    ("ply", "blender-binary-ngons.ply", 0.0, 12, [0, 6, 2]),
    ("ply", "hand-ascii-any-order.ply", TETRAHEDRON, 4, [4, 0, 0]),
    ("ply", "meshio-ascii-lines-as-faces.ply", f64::NAN, 0, [1, 0, 0]),
    ("ply", "meshio-ascii-mixed-field.ply", BOX, 8, [10, 1, 0]),
    ("ply", "meshio-binary-lines-as-faces.ply", f64::NAN, 0, [1, 0, 0]),
    ("ply", "meshio-binary-mixed-field.ply", BOX, 8, [10, 1, 0]),
    ("ply", "pyvista-ascii-prism.ply", 0.0, 12, [0, 6, 2]),
    ("ply", "pyvista-ascii-quads.ply", BOX, 8, [0, 6, 0]),
    ("ply", "pyvista-binary-prism.ply", 0.0, 12, [0, 6, 2]),
    ("ply", "pyvista-binary-quads.ply", BOX, 8, [0, 6, 0]),
    ("ply", "trimesh-ascii-colours.ply", BOX, 8, [12, 0, 0]),
    ("ply", "trimesh-binary-colours.ply", BOX, 8, [12, 0, 0]),
    ("ply", "vtk-big-endian-prism.ply", 0.0, 12, [0, 6, 2]),
    ("ply", "vtk-big-endian-quads.ply", BOX, 8, [0, 6, 0]),
    ("stl", "blender-ascii.stl", 0.0, 12, [20, 0, 0]),
    ("stl", "blender-binary.stl", 0.0, 12, [20, 0, 0]),
    ("stl", "meshio-ascii.stl", BOX, 8, [12, 0, 0]),
    ("stl", "meshio-binary-attributes-header-solid.stl", BOX, 8, [12, 0, 0]),
    ("stl", "meshio-binary.stl", BOX, 8, [12, 0, 0]),
    ("stl", "pyvista-ascii.stl", BOX, 8, [12, 0, 0]),
    ("stl", "pyvista-binary.stl", BOX, 8, [12, 0, 0]),
    ("stl", "trimesh-ascii-two-solids.stl", 2.0 * BOX, 16, [24, 0, 0]),
    ("stl", "trimesh-ascii.stl", BOX, 8, [12, 0, 0]),
    ("stl", "trimesh-binary.stl", BOX, 8, [12, 0, 0]),
    // Open, or not only a surface; checked below.
    ("obj", "blender-edges.obj", f64::NAN, 0, [1, 0, 0]),
    ("ply", "blender-ascii-edges.ply", f64::NAN, 0, [1, 0, 0]),
    ("ply", "blender-binary-edges.ply", f64::NAN, 0, [1, 0, 0]),
    ("stl", "gmsh-surfaces.stl", f64::NAN, 0, [8, 0, 0]),
];

#[test]
fn every_file_of_the_corpus_has_its_volume() {
    for (format, name, volume, vertices, counts) in FILES {
        let data = read(format, name);
        let count =
            |shape| data.groups.iter().filter(|group| group.shape == shape).map(|group| group.len()).sum::<usize>();
        let found = [CellShape::Tri3, CellShape::Quad4, CellShape::Polygon].map(count);
        assert_eq!(found, counts, "{name}");
        if volume.is_nan() {
            continue;
        }
        let volume = if volume == 0.0 { prism() } else { volume };
        let mesh = data.into_surface(&BTreeSet::new()).unwrap().mesh;
        assert!(mesh.is_closed(), "{name} is open");
        assert_eq!(mesh.vertex_count(), vertices, "{name}");
        let tolerance = if volume == prism() { 1e-6 * volume } else { 1e-15 };
        assert!((mesh.volume() - volume).abs() <= tolerance, "{name}: {} instead of {volume}", mesh.volume());
    }
}

#[test]
fn no_file_of_the_corpus_is_forgotten() {
    for format in ["obj", "ply", "stl"] {
        for entry in std::fs::read_dir(corpus(format)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(FILES.iter().any(|file| file.1 == name), "{format}/{name} is in no test");
        }
    }
}

#[test]
fn groups_and_materials_of_obj_are_kept() {
    let data = read("obj", "hand-everything.obj");
    let set = |name: &str| data.cell_sets[name].clone();
    assert_eq!((set("bottom"), set("floor"), set("top")), (vec![0], vec![0], vec![1]));
    assert_eq!((set("material:red"), set("thing").len()), (vec![0], 11));
    assert_eq!(set("material:blue paint"), (1..11).collect::<Vec<u32>>());
    let blender = read("obj", "blender-prism-materials.obj");
    let sizes: Vec<(&str, usize)> =
        blender.cell_sets.iter().map(|(name, cells)| (name.as_str(), cells.len())).collect();
    assert!(sizes.contains(&("material:cap", 2)) && sizes.contains(&("material:side_paint", 6)), "{sizes:?}");
    let scene = read("obj", "trimesh-scene-objects.obj");
    assert_eq!((scene.cell_sets["lower"].len(), scene.cell_sets["upper"].len()), (12, 12));
}

#[test]
fn colors_of_all_writers_are_kept() {
    let color = |format: &str, name: &str| {
        let data = read(format, name);
        let field = data.point_field("color").unwrap_or_else(|| panic!("{name}")).clone();
        assert_eq!(field.len(), data.points.len());
        (field.components, field.values)
    };
    let (components, values) = color("obj", "trimesh-box-colours.obj");
    assert_eq!((components, values[0], values[3 * 7 + 2]), (3, 1.0, 0.0));
    assert!((values[3 * 7 + 1] - 70.0 / 255.0).abs() < 1e-8);
    for name in ["trimesh-ascii-colours.ply", "trimesh-binary-colours.ply"] {
        let (components, values) = color("ply", name);
        assert_eq!((components, &values[28..]), (4, &[255.0, 70.0, 0.0, 255.0][..]), "{name}");
    }
    assert_eq!(color("obj", "blender-prism-materials.obj").1[1], 0.7353);
    assert_eq!(color("ply", "blender-binary-ngons.ply").1[4 * 3], 63.0);
}

#[test]
fn fields_of_ply_are_kept() {
    for name in ["meshio-ascii-mixed-field.ply", "meshio-binary-mixed-field.ply"] {
        let data = read("ply", name);
        let heat: Vec<f64> = (0..8).map(|i| f64::from(i) / 3.0).collect();
        assert_eq!(data.point_field("heat").unwrap().values, heat, "{name}");
    }
    let data = read("ply", "hand-ascii-any-order.ply");
    assert_eq!(data.cell_field("group").unwrap().values, [4.0, 5.0, 5.0, 6.0, 9.0, 8.0]);
    let top = read("ply", "blender-ascii-ngons.ply").point_field("top").unwrap().values.clone();
    assert_eq!(top.iter().sum::<f64>(), 6.0);
    assert!(data.cell_field(LABEL).is_none());
}

#[test]
fn loose_edges_become_lines() {
    for (format, name) in [
        ("obj", "blender-edges.obj"),
        ("ply", "blender-ascii-edges.ply"),
        ("ply", "blender-binary-edges.ply"),
        ("ply", "meshio-ascii-lines-as-faces.ply"),
        ("ply", "meshio-binary-lines-as-faces.ply"),
    ] {
        let data = read(format, name);
        assert_eq!((data.points.len(), data.cell_count()), (4, 2), "{name}");
        let line = data.groups.iter().find(|group| group.shape == CellShape::Line2).unwrap();
        let length = (data.points[line.nodes[0] as usize] - data.points[line.nodes[1] as usize]).norm();
        assert!((length - 12f64.sqrt()).abs() < 1e-6, "{name}");
    }
}

#[test]
fn solids_and_attributes_of_stl_are_kept() {
    let data = read("stl", "trimesh-ascii-two-solids.stl");
    assert_eq!(data.cell_sets["right bone"], (12..24).collect::<Vec<u32>>());
    let data = read("stl", "meshio-binary-attributes-header-solid.stl");
    let attributes = &data.cell_field("attribute").unwrap().values;
    assert_eq!((attributes[0], attributes[11]), (f64::from(0x8000), f64::from(0x800b)));
}

#[test]
fn every_file_survives_the_way_there_and_back() {
    for (format, name, ..) in FILES {
        let bytes = std::fs::read(corpus(format).join(name)).unwrap();
        match format {
            "obj" => obj::fuzz_one(&bytes),
            "ply" => ply::fuzz_one(&bytes),
            _ => stl::fuzz_one(&bytes),
        }
        let data = read(format, name);
        if format == "obj" {
            assert_eq!(obj::read(&obj::write(&data).unwrap()).unwrap(), data, "{name}");
        }
        // Cells without a value have NaN, which does not equal itself.
        if format == "ply" && data.cell_fields.iter().all(|field| field.values.iter().all(|value| !value.is_nan())) {
            for binary in [true, false] {
                let bytes = ply::write(&data, &WriteOptions { binary, ..WriteOptions::default() }).unwrap();
                assert_eq!(ply::read(&bytes).unwrap(), data, "{name}");
            }
        }
    }
}

/// Every prefix of every file is rejected or read, without a panic.
#[test]
fn truncation_ends_without_a_panic() {
    for (format, name, ..) in FILES {
        let bytes = std::fs::read(corpus(format).join(name)).unwrap();
        for cut in (0..bytes.len()).step_by(7) {
            match format {
                "obj" => obj::fuzz_one(&bytes[..cut]),
                "ply" => ply::fuzz_one(&bytes[..cut]),
                _ => stl::fuzz_one(&bytes[..cut]),
            }
        }
    }
}
