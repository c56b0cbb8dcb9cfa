//! Volume files for Abaqus and FEBio with known contents: by meshio, by Gmsh and handmade.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sinew_io::{CellShape, LABEL, MeshData, VolumeOptions, abaqus, febio, load};
use sinew_math::Vec3;

fn corpus(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus").join(format)
}

fn read(format: &str, name: &str) -> MeshData {
    load(&corpus(format).join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Volume of the tetrahedra and hexahedra, without other shapes.
fn volume(data: MeshData) -> f64 {
    let skip: BTreeSet<CellShape> =
        CellShape::all().filter(|shape| !matches!(shape, CellShape::Tet4 | CellShape::Hex8)).collect();
    let mesh = data.into_volume(&VolumeOptions { skip }).unwrap().mesh;
    mesh.boundary_surface().unwrap().0.volume()
}

fn sizes(data: &MeshData) -> Vec<(CellShape, usize)> {
    data.groups.iter().map(|group| (group.shape, group.len())).collect()
}

/// A box of 1 × 2 × 3 from all writers and in all shapes; quadratic cells have the volume of their corners.
#[test]
fn boxes_have_the_volume_6() {
    for name in ["meshio-hex.inp", "meshio-tets-sets.inp", "gmsh-tet4.inp", "gmsh-hex8.inp"] {
        let found = volume(read("abaqus", name));
        assert!((found - 6.0).abs() < 1e-12, "{name}: {found}");
    }
    for (name, linear, corners) in [("gmsh-tet10.inp", CellShape::Tet4, 4), ("gmsh-hex20.inp", CellShape::Hex8, 8)] {
        let mut data = read("abaqus", name);
        let cells: Vec<Vec<u32>> = data
            .cells()
            .filter(|(shape, _)| shape.dimension() == 3)
            .map(|(_, nodes)| nodes[..corners].to_vec())
            .collect();
        data = MeshData { points: data.points, ..MeshData::default() };
        cells.iter().for_each(|nodes| data.push_cell(linear, nodes));
        assert!((volume(data) - 6.0).abs() < 1e-12, "{name}");
    }
}

/// Mid-nodes lie at the midpoint of their edge in VTK's order.
#[test]
fn quadratic_cells_have_their_middle_nodes_where_vtk_has_them() {
    const TET: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];
    const HEX: [[usize; 2]; 12] =
        [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]];
    for (name, wanted, edges) in
        [("gmsh-tet10.inp", CellShape::Tet10, &TET[..]), ("gmsh-hex20.inp", CellShape::Hex20, &HEX[..])]
    {
        let data = read("abaqus", name);
        let at = |node: u32| data.points[node as usize];
        let mut count = 0;
        for (_, nodes) in data.cells().filter(|(shape, _)| *shape == wanted) {
            for (index, [a, b]) in edges.iter().enumerate() {
                let middle = (at(nodes[*a]) + at(nodes[*b])) * 0.5;
                let found = at(nodes[nodes.len() - edges.len() + index]);
                assert!((middle - found).norm() < 1e-12, "{name}");
                count += 1;
            }
        }
        assert!(count > 0, "{name}");
    }
}

#[test]
fn sets_of_other_writers_are_kept() {
    let data = read("abaqus", "meshio-tets-sets.inp");
    let fixed = &data.node_sets["fixed"];
    assert_eq!(fixed.len(), 9);
    assert!(fixed.iter().all(|&node| data.points[node as usize].z == 0.0));
    assert_eq!(data.cell_sets["left"].len() * 2, data.cell_count());
    for name in ["gmsh-tet4.inp", "gmsh-hex8.inp", "gmsh-tet10.inp", "gmsh-hex20.inp"] {
        let data = read("abaqus", name);
        let volumes = data.cells().filter(|(shape, _)| shape.dimension() == 3).count();
        assert_eq!(data.cell_sets["muscle"].len(), volumes, "{name}");
        assert!(data.node_sets["bottom"].iter().all(|&node| data.points[node as usize].z == 0.0), "{name}");
    }
}

#[test]
fn parts_instances_and_surfaces_by_hand() {
    let data = read("abaqus", "hand-parts-surfaces.inp");
    let quads = CellShape::Quad4;
    assert_eq!(sizes(&data), [(CellShape::Hex8, 2), (quads, 1 + 2 + 2)]);
    // The second cube was moved by 4, then rotated by 90° about the edge at its origin.
    let far = data.points[8 + 1];
    assert!((far - Vec3::new(4.0, 1.0, 0.0)).norm() < 1e-14, "{far:?}");
    let names =
        |sets: &std::collections::BTreeMap<String, Vec<u32>>| sets.keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(names(&data.cell_sets), "Cube-1.body Cube-1.lid Cube-2.body Cube-2.lid material:Muscle push skin");
    assert_eq!(names(&data.node_sets), "Cube-1.floor Cube-2.floor held mixed pins rim");
    assert_eq!((&data.node_sets["held"], &data.node_sets["pins"]), (&vec![0, 1, 10, 11], &vec![0, 1, 10, 11]));
    assert_eq!(data.node_sets["mixed"], [0, 1, 2, 3, 16, 17, 18, 19]);
    assert_eq!(data.cell_sets["material:Muscle"], [0, 1]);
    // The lid of a cube faces up, so does the pressed plate; the bottom of the second cube faces down.
    let normal = |cell: u32| {
        let (_, nodes) = data.cells().nth(cell as usize).unwrap();
        let [a, b, c] = [0, 1, 2].map(|i| data.points[nodes[i] as usize]);
        (b - a).cross(c - b).normalized().z
    };
    assert_eq!(data.cell_sets["Cube-2.lid"].iter().map(|&cell| normal(cell)).collect::<Vec<_>>(), [1.0]);
    assert_eq!(data.cell_sets["push"].iter().map(|&cell| normal(cell)).collect::<Vec<_>>(), [1.0, -1.0]);
    assert!((volume(data) - 2.0).abs() < 1e-14);
}

#[test]
fn shapes_gaps_and_continued_lines_by_hand() {
    let data = read("abaqus", "hand-shapes-continuation.inp");
    let shapes: Vec<CellShape> = data.groups.iter().map(|group| group.shape).collect();
    assert_eq!(
        shapes,
        [
            CellShape::Hex8,
            CellShape::Pyramid5,
            CellShape::Wedge6,
            CellShape::Tet4,
            CellShape::Line2,
            CellShape::Quad4,
            CellShape::Tri3,
            CellShape::Quad4,
            CellShape::Tri3
        ]
    );
    assert_eq!((&data.cell_sets["SOLIDS"], &data.cell_sets["ODD"]), (&vec![0, 1, 2, 3], &vec![0, 2, 4]));
    assert_eq!((data.node_sets["TOP"].len(), data.node_sets["CORNERS"].len()), (5, 8));
    assert_eq!(data.notes, ["1 elements of type SPRINGA were left out"]);
    assert!((volume(data) - (1.0 + 1.0 / 6.0)).abs() < 1e-14);
}

#[test]
fn febio_2_5_has_material_numbers_and_lists_of_nodes() {
    let data = read("febio", "hand-2.5-hex8.feb");
    assert_eq!(sizes(&data), [(CellShape::Hex8, 2), (CellShape::Quad4, 1), (CellShape::Tri3, 1)]);
    assert_eq!(data.cell_field(LABEL).unwrap().values, [2.0, 1.0, 0.0, 0.0]);
    assert_eq!((&data.node_sets["fixed"], data.node_sets["block"].len()), (&vec![0, 1, 2, 3], 8));
    let set = |name: &str| data.cell_sets[name].clone();
    assert_eq!((set("lower"), set("upper"), set("both"), set("pressed")), (vec![0], vec![1], vec![0, 1], vec![2, 3]));
    assert_eq!((set("material:Muscle"), set("material:Fat")), (vec![1], vec![0]));
    assert_eq!(data.notes, ["only the mesh is read, not Module, Globals, Material, Boundary"]);
    assert!((volume(data) - 2.0).abs() < 1e-14);
}

#[test]
fn febio_3_0_may_have_surfaces_before_nodes() {
    let data = read("febio", "hand-3.0-tet4.feb");
    assert_eq!(sizes(&data), [(CellShape::Tet4, 1), (CellShape::Tri3, 4)]);
    assert_eq!((&data.node_sets["tip"], &data.cell_sets["one"]), (&vec![3], &vec![0]));
    assert_eq!((&data.cell_sets["material:Bone"], &data.cell_sets["skin"]), (&vec![0], &vec![1, 2, 3, 4]));
    // The facets enclose the same volume.
    let skin = MeshData { points: data.points.clone(), groups: data.groups[1..].to_vec(), ..MeshData::default() };
    let skin = skin.into_surface(&BTreeSet::new()).unwrap().mesh;
    assert!(skin.is_closed() && (skin.volume() - 1.0).abs() < 1e-15);
    assert!((volume(data) - 1.0).abs() < 1e-15);
}

#[test]
fn febio_4_0_has_domains_and_lists_as_text() {
    let data = read("febio", "hand-4.0-mixed.feb");
    assert_eq!(
        sizes(&data),
        [
            (CellShape::Hex8, 1),
            (CellShape::Tet4, 2),
            (CellShape::Wedge6, 1),
            (CellShape::Tri3, 4),
            (CellShape::Quad4, 1)
        ]
    );
    assert_eq!(data.cell_field(LABEL).unwrap().values[..5], [1.0, 2.0, 2.0, 3.0, 0.0]);
    let set = |name: &str| data.cell_sets[name].clone();
    assert_eq!((set("material:Muscle & fat"), set("material:Tendon")), (vec![0], vec![1, 2, 3]));
    assert_eq!((set("upper"), set("soft"), set("base")), (vec![1, 2], vec![0, 1, 2], vec![8]));
    assert_eq!((&data.node_sets["bottom"], &data.node_sets["blanks"]), (&vec![0, 1, 2, 3], &vec![4, 5, 6, 7]));
    assert!((volume(data) - 1.5).abs() < 1e-14);
}

#[test]
fn every_file_survives_the_way_there_and_back() {
    for entry in std::fs::read_dir(corpus("abaqus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let data = read("abaqus", &name);
        let mut expected = data.clone();
        expected.notes.clear();
        assert_eq!(abaqus::read(&abaqus::write(&data).unwrap()).unwrap(), expected, "{name}");
    }
    for entry in std::fs::read_dir(corpus("febio")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let data = read("febio", &name);
        let back = febio::read(&febio::write(&data).unwrap()).unwrap();
        assert_eq!((&back.points, &back.groups), (&data.points, &data.groups), "{name}");
        assert_eq!((&back.node_sets, &back.cell_sets), (&data.node_sets, &data.cell_sets), "{name}");
    }
}

/// Every prefix of every file is rejected or read, without a panic.
#[test]
fn truncation_ends_without_a_panic() {
    for format in ["abaqus", "febio"] {
        for entry in std::fs::read_dir(corpus(format)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            for cut in (0..=bytes.len()).step_by(7) {
                match format {
                    "abaqus" => abaqus::fuzz_one(&bytes[..cut]),
                    _ => febio::fuzz_one(&bytes[..cut]),
                }
            }
        }
    }
}
