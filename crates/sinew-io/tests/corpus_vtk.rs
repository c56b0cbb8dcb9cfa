//! Files of VTK, pyvista and meshio in all their variants, checked against the formulas of their numbers.
//!
//! The grid: two hexahedra on a 3 × 2 × 2 lattice of points, a wedge beside and three tetrahedra above them, 16 points
//! in all. `temperature` is x + 10 y + 100 z, `displacement` is (0.1 x, −0.2 y, 0.3 z), `velocity gradient` holds 0 to
//! 8 times the temperature; `stress` holds (cell + 1) (component + 1), `label` is 7, 7, 3, 3, 5, 9.

use std::path::{Path, PathBuf};

use sinew_io::{CellGroup, CellShape, MeshData, ReadError, VolumeOptions, vtk, vtu};
use sinew_math::Vec3;

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus").join(format)
}

fn bytes(format: &str, name: &str) -> Vec<u8> {
    let path = folder(format).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(format: &str, name: &str) -> Result<MeshData, ReadError> {
    let bytes = bytes(format, name);
    if format == "vtu" { vtu::read(&bytes) } else { vtk::read(&bytes) }
}

fn names(format: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder(format)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn grid_points() -> Vec<Vec3> {
    let mut points = Vec::new();
    for z in [0.0, 1.0] {
        for y in [0.0, 1.0] {
            points.extend([0.0, 1.0, 2.0].map(|x| Vec3::new(x, y, z)));
        }
    }
    points.extend([[0.5, 0.5, 2.0], [1.5, 0.5, 2.25], [0.125, -1.0, 0.75], [1.0, 2.0, 0.0]].map(Vec3::from));
    points
}

fn grid_groups() -> Vec<CellGroup> {
    vec![
        CellGroup::with_nodes(CellShape::Tet4, vec![6, 7, 9, 12, 7, 10, 9, 12]),
        CellGroup::with_nodes(CellShape::Hex8, vec![0, 1, 4, 3, 6, 7, 10, 9, 1, 2, 5, 4, 7, 8, 11, 10]),
        CellGroup::with_nodes(CellShape::Wedge6, vec![3, 4, 15, 9, 10, 13]),
        CellGroup::with_nodes(CellShape::Tet4, vec![7, 8, 10, 13]),
    ]
}

/// meshio's wedges have the opposite orientation of VTK's; it reorders them when it writes.
const WEDGE_BY_MESHIO: [usize; 6] = [0, 2, 1, 3, 5, 4];

/// VTK writes 11 digits of a double as text and meshio all of them; single precision holds the temperatures exactly.
const TEXT_DIGITS: f64 = 1e-10;

#[track_caller]
fn assert_values(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= TEXT_DIGITS * expected.abs(), "{name}: {found} instead of {expected}");
    }
}

fn check_grid(name: &str, mesh: &MeshData) {
    let points = grid_points();
    assert_eq!(mesh.points, points, "{name}");
    let mut groups = grid_groups();
    if name.starts_with("meshio") {
        groups[2].nodes = WEDGE_BY_MESHIO.map(|at| groups[2].nodes[at]).to_vec();
    }
    assert_eq!(mesh.groups, groups, "{name}");
    let temperatures: Vec<f64> = points.iter().map(|p| p.x + 10.0 * p.y + 100.0 * p.z).collect();
    let displacements: Vec<f64> = points.iter().flat_map(|p| [0.1 * p.x, -0.2 * p.y, 0.3 * p.z]).collect();
    let stresses: Vec<f64> = (1..=6).flat_map(|cell| (1..=6).map(move |c| f64::from(cell * c))).collect();
    let point = |field: &str| mesh.point_field(field).unwrap_or_else(|| panic!("{name} has no {field}"));
    let cell = |field: &str| mesh.cell_field(field).unwrap_or_else(|| panic!("{name} has no {field}"));
    assert_values(name, &point("temperature").values, &temperatures);
    assert_eq!(point("displacement").components, 3, "{name}");
    assert_values(name, &point("displacement").values, &displacements);
    assert_eq!(cell("label").values, [7.0, 7.0, 3.0, 3.0, 5.0, 9.0], "{name}");
    assert_eq!((cell("stress").components, &cell("stress").values), (6, &stresses), "{name}");
    if name.starts_with("vtk-") {
        let gradients: Vec<f64> = temperatures.iter().flat_map(|t| (0..9).map(move |k| t * f64::from(k))).collect();
        assert_eq!(point("velocity gradient").components, 9, "{name}");
        assert_values(name, &point("velocity gradient").values, &gradients);
        assert_eq!(cell("flag").values, [1.0, 1.0, 0.0, 0.0, 0.0, 1.0], "{name}");
        assert!(mesh.notes.iter().any(|note| note.contains("\"names\"")), "{name}: {:?}", mesh.notes);
        assert_eq!(mesh.point_field("names"), None, "{name}");
    }
}

fn is_grid(name: &str) -> bool {
    let others = ["lzma", "pieces", "voxels", "pixels", "shapes", "polydata", "strips", "structured"];
    !others.iter().any(|other| name.contains(other))
}

#[test]
fn every_variant_of_the_grid_has_the_same_numbers() {
    for (format, count) in [("vtu", 24), ("vtk", 8)] {
        let names: Vec<String> = names(format).into_iter().filter(|name| is_grid(name)).collect();
        assert!(names.len() >= count, "{format}: {names:?}");
        for name in names {
            let mesh = read(format, &name).unwrap_or_else(|error| panic!("{name}: {error}"));
            check_grid(&name, &mesh);
        }
    }
}

#[test]
fn attributes_of_legacy_files_are_fields() {
    for name in ["vtk-4.2-ascii.vtk", "vtk-4.2-binary.vtk", "vtk-5.1-ascii.vtk", "vtk-5.1-binary.vtk"] {
        let mesh = read("vtk", name).unwrap();
        let field = |field: &str| mesh.point_field(field).unwrap_or_else(|| panic!("{name} has no {field}"));
        assert_eq!(field("normals").values, [0.0, 0.0, 1.0].repeat(16), "{name}");
        let coordinates: Vec<f64> = grid_points().iter().flat_map(|p| [p.x, p.y]).collect();
        assert_eq!((field("uv").components, &field("uv").values), (2, &coordinates), "{name}");
        let ids: Vec<f64> = (100..116).map(f64::from).collect();
        assert_eq!(field("ids").values, ids, "{name}");
    }
}

#[test]
fn pieces_are_joined() {
    for name in ["vtk-ascii-pieces.vtu", "vtk-binary-pieces.vtu"] {
        let mesh = read("vtu", name).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Points on the border belong to both pieces, so cells are compared by position.
        assert_eq!(mesh.cell_count(), 6, "{name}");
        assert_eq!(mesh.cell_field("label").unwrap().values, [7.0, 7.0, 3.0, 3.0, 5.0, 9.0], "{name}");
        let points = grid_points();
        let expected: Vec<Vec3> = grid_groups().iter().flat_map(|g| &g.nodes).map(|&n| points[n as usize]).collect();
        let found: Vec<Vec3> = mesh.groups.iter().flat_map(|g| &g.nodes).map(|&n| mesh.points[n as usize]).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(mesh.groups.len(), 4, "hexahedra of both pieces are one group");
        for (p, t) in mesh.points.iter().zip(&mesh.point_field("temperature").unwrap().values) {
            assert_eq!(*t, p.x + 10.0 * p.y + 100.0 * p.z, "{name}");
        }
    }
}

#[test]
fn other_compressions_are_refused_by_name() {
    for name in ["meshio-binary-lzma.vtu", "vtk-appended-raw-lzma.vtu"] {
        let error = read("vtu", name).unwrap_err().to_string();
        assert!(error.contains("vtkLZMADataCompressor") && error.contains("hint"), "{name}: {error}");
    }
}

#[test]
fn structured_datasets_are_refused_by_name() {
    let error = read("vtk", "pyvista-structured-points.vtk").unwrap_err().to_string();
    assert!(error.contains("line 4") && error.contains("STRUCTURED_POINTS") && error.contains("hint"), "{error}");
}

/// A lattice of 2 × 1 × 1 unit cells orders its points by x first: 3 × 2 × 2 of them.
#[test]
fn voxels_and_pixels_are_turned() {
    let mesh = read("vtu", "pyvista-voxels.vtu").unwrap();
    let nodes = vec![0, 1, 4, 3, 6, 7, 10, 9, 1, 2, 5, 4, 7, 8, 11, 10];
    assert_eq!(mesh.groups, [CellGroup::with_nodes(CellShape::Hex8, nodes)]);
    let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh.volume();
    assert!((volume - 2.0).abs() < 1e-15, "{volume}");
    let mesh = read("vtk", "pyvista-pixels.vtk").unwrap();
    assert_eq!(mesh.groups, [CellGroup::with_nodes(CellShape::Quad4, vec![0, 1, 4, 3, 1, 2, 5, 4])]);
}

/// One cell of each shape over the points 0, 1, 2 …
#[test]
fn every_shape_is_read() {
    use CellShape::*;
    let by_vtk = [
        Vertex, Line2, Line3, Tri3, Tri6, Quad4, Quad8, Quad9, Polygon, Tet4, Tet10, Pyramid5, Pyramid13, Wedge6,
        Wedge15, Hex8, Hex20, Hex27,
    ];
    let by_meshio: Vec<CellShape> =
        by_vtk.into_iter().filter(|shape| ![Polygon, Pyramid13, Wedge15].contains(shape)).collect();
    let cases = [
        ("vtu", "vtk-binary-shapes.vtu", by_vtk.to_vec()),
        ("vtk", "vtk-4.2-shapes-ascii.vtk", by_vtk.to_vec()),
        ("vtu", "meshio-shapes.vtu", by_meshio.clone()),
        ("vtk", "meshio-5.1-shapes.vtk", by_meshio),
    ];
    for (format, name, shapes) in cases {
        let mesh = read(format, name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(mesh.points.len(), 27, "{name}");
        let found: Vec<(CellShape, Vec<u32>)> = mesh.cells().map(|(shape, nodes)| (shape, nodes.to_vec())).collect();
        let mut expected: Vec<(CellShape, Vec<u32>)> =
            shapes.iter().map(|&shape| (shape, (0..shape.nodes().unwrap_or(5) as u32).collect())).collect();
        if name.starts_with("meshio") {
            let wedge = expected.iter_mut().find(|(shape, _)| *shape == Wedge6).unwrap();
            wedge.1 = WEDGE_BY_MESHIO.map(|at| at as u32).to_vec();
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// A pyramid over a regular pentagon with a quad at its side.
#[test]
fn surfaces_with_polygons_are_read() {
    for name in ["4.2-polydata-ascii", "4.2-polydata-binary", "5.1-polydata-ascii", "5.1-polydata-binary"] {
        let mesh = read("vtk", &format!("vtk-{name}.vtk")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let shapes: Vec<(CellShape, usize)> = mesh.groups.iter().map(|group| (group.shape, group.len())).collect();
        assert_eq!(shapes, [(CellShape::Polygon, 1), (CellShape::Tri3, 5), (CellShape::Quad4, 1)], "{name}");
        assert_eq!(mesh.groups[0].cell(0), [4, 3, 2, 1, 0], "{name}");
        let numbers: Vec<f64> = (0..7).map(|cell| 2.0 * f64::from(cell)).collect();
        assert_eq!(mesh.cell_field("number").unwrap().values, numbers, "{name}");
        let heights: Vec<f64> = mesh.points.iter().map(|p| p.z).collect();
        assert_values(name, &mesh.point_field("height").unwrap().values, &heights);
        for (index, p) in mesh.points.iter().take(5).enumerate() {
            let angle = std::f64::consts::TAU * index as f64 / 5.0;
            assert!((*p - Vec3::new(angle.cos(), angle.sin(), 0.0)).norm() < 1e-9, "{name}");
        }
    }
}

/// Two cells of points, two lines, two polygons and a strip; those of several parts are split and keep their data.
#[test]
fn strips_and_poly_lines_are_split() {
    for name in ["vtk-5.1-strips-ascii.vtk", "vtk-5.1-strips-binary.vtk"] {
        let mesh = read("vtk", name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = [
            CellGroup::with_nodes(CellShape::Vertex, vec![8, 5, 8]),
            CellGroup::with_nodes(CellShape::Line2, vec![0, 1, 1, 2, 2, 3]),
            CellGroup { shape: CellShape::Polygon, nodes: vec![4, 3, 2, 1, 0], ends: vec![5] },
            CellGroup::with_nodes(CellShape::Tri3, vec![0, 1, 5, 0, 6, 1, 1, 6, 7, 1, 7, 8]),
        ];
        assert_eq!(mesh.groups, expected, "{name}");
        let origins = [0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0, 6.0, 6.0];
        assert_eq!(mesh.cell_field("number").unwrap().values, origins.map(|origin| 1.5 * origin), "{name}");
        let colors: Vec<f64> = (0..27).map(|i| f64::from(i * 9)).collect();
        assert_eq!(mesh.point_field("rgb").unwrap().values, colors, "{name}");
        let odd: Vec<f64> = (0..9).map(|i| f64::from(i % 2)).collect();
        assert_eq!(mesh.point_field("odd").unwrap().values, odd, "{name}");
    }
}

/// Every file that is read can be written in every variant and read again.
#[test]
fn every_file_survives_a_round_trip() {
    for name in names("vtu") {
        vtu::fuzz_one(&bytes("vtu", &name));
    }
    for name in names("vtk") {
        vtk::fuzz_one(&bytes("vtk", &name));
    }
}

/// Every file cut at many positions, and with many bytes changed, is a mesh or an error, never a panic.
#[test]
fn broken_files_are_refused_without_a_panic() {
    for (format, fuzz) in [("vtu", vtu::fuzz_one as fn(&[u8])), ("vtk", vtk::fuzz_one)] {
        for name in names(format) {
            let whole = bytes(format, &name);
            for at in (0..whole.len()).step_by(41) {
                fuzz(&whole[..at]);
                for change in [1, 0x10, 0x80, 0xff] {
                    let mut changed = whole.clone();
                    changed[at] ^= change;
                    fuzz(&changed);
                }
            }
        }
    }
}
