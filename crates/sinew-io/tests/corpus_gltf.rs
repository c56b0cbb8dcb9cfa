//! glTF files of other programs, and handmade files with features that those programs never write, give the numbers
//! their authors put in. `trimesh-*` is trimesh 5.2, `blender-*` Blender 5.0, `vtk-*` VTK 9.7; `hand-*` passed the
//! Khronos validator, and `gltf::write_rig` wrote `hand-rigged.glb`.

use std::f64::consts::SQRT_2;
use std::path::{Path, PathBuf};

use sinew_io::{CellShape, MeshData, gltf, load};
use sinew_math::Vec3;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus/gltf")
}

fn corpus(name: &str) -> MeshData {
    load(&folder().join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Volume and center enclosed by the triangles of a set, by the divergence theorem.
fn solid(mesh: &MeshData, set: &str) -> (f64, Vec3) {
    let cells: Vec<_> = mesh.cells().collect();
    let (mut volume, mut moment) = (0.0, Vec3::zero());
    for &cell in mesh.cell_sets.get(set).unwrap_or_else(|| panic!("{set} in {:?}", mesh.cell_sets.keys())) {
        let (shape, nodes) = cells[cell as usize];
        assert_eq!(shape, CellShape::Tri3);
        let [a, b, c] = [0, 1, 2].map(|k| mesh.points[nodes[k] as usize]);
        let part = a.dot(b.cross(c)) / 6.0;
        volume += part;
        moment += (a + b + c) * (part / 4.0);
    }
    (volume, moment * volume.recip())
}

/// To single precision at sizes of about ten.
fn assert_solid(mesh: &MeshData, set: &str, volume: f64, center: [f64; 3]) {
    let (found, place) = solid(mesh, set);
    let [x, y, z] = center;
    assert!((found - volume).abs() < 2e-5, "{set}: volume {found}");
    assert!((place - Vec3::new(x, y, z)).norm() < 2e-5, "{set}: center {place:?}");
}

#[test]
fn a_box_of_trimesh_has_its_volume() {
    let mesh = corpus("trimesh-box.glb");
    assert_eq!((mesh.points.len(), mesh.cell_count()), (8, 12));
    let surface = mesh.into_surface(&Default::default()).unwrap().mesh;
    assert!(surface.is_closed() && (surface.volume() - 6.0).abs() < 1e-12);
}

/// A scene of two balls that share one mesh and a brick, in one file and with four buffers beside it.
#[test]
fn a_scene_of_trimesh_is_placed_by_its_nodes() {
    let mesh = corpus("trimesh-scene.glb");
    assert_eq!((mesh.points.len(), mesh.cell_count()), (42 + 8 + 42, 80 + 12 + 80));
    assert_solid(&mesh, "right", 1.0, [SQRT_2, SQRT_2, 0.0]);
    let ball = solid(&mesh, "left").0;
    // An icosphere of radius ½, subdivided once: between the icosahedron's 0.317 and the ball's 0.524.
    assert!(ball > 0.4 && ball < 0.524);
    assert_solid(&mesh, "left", ball, [-2.0, 0.0, 0.0]);
    assert_solid(&mesh, "ball again", ball, [0.0, 0.0, 5.0]);
    assert_eq!(mesh.cell_sets["ball"].len(), 160);

    let external = corpus("trimesh-external.gltf");
    assert_eq!((external.points, external.groups), (mesh.points, mesh.groups));
}

#[test]
fn a_scene_of_blender_keeps_materials_and_the_first_pose() {
    for name in ["blender-two-materials.glb", "blender-separate.gltf"] {
        let mesh = corpus(name);
        // Blender's (1, 2, 3) with Z up.
        assert_solid(&mesh, "Crate", 8.0, [1.0, 3.0, -2.0]);
        assert_solid(&mesh, "Ball", solid(&mesh, "Ball").0, [1.0, 3.0, -2.0]);
        assert_eq!((mesh.cell_sets["material:top"].len(), mesh.cell_sets["material:rest"].len()), (2, 10));
        for &cell in &mesh.cell_sets["material:top"] {
            let nodes = mesh.cells().nth(cell as usize).unwrap().1;
            assert!(nodes.iter().all(|&node| mesh.points[node as usize].y == 4.0));
        }
        assert_eq!(mesh.point_fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["NORMAL", "TEXCOORD_0"]);
        assert!(mesh.notes.iter().any(|note| note.contains("rest pose")), "{:?}", mesh.notes);
    }
}

#[test]
fn a_cone_of_vtk_has_its_volume() {
    let mesh = corpus("vtk-cone.gltf");
    let surface = mesh.into_surface(&Default::default()).unwrap().mesh;
    // A hexagon of radius 1, height 2.
    let volume = 3f64.sqrt() * 1.5 * 2.0 / 3.0;
    assert!(surface.is_closed() && (surface.volume() - volume).abs() < 1e-6, "{}", surface.volume());
}

#[test]
fn sparse_accessors_correct_single_elements() {
    let mesh = corpus("hand-sparse.gltf");
    for (i, point) in mesh.points.iter().enumerate() {
        let height = if i == 4 { 0.5 } else { 0.0 };
        assert_eq!(*point, Vec3::new((i % 3) as f64, (i / 3) as f64, height));
    }
    let colors = mesh.point_field("COLOR_0").unwrap();
    assert_eq!(colors.components, 4);
    assert!(colors.values[..32].iter().all(|x| *x == 0.0) && colors.values[32..] == [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(mesh.cell_sets["tent"], mesh.cell_sets["cloth"]);
}

#[test]
fn quantized_positions_and_normals_are_spread_to_their_range() {
    let mesh = corpus("hand-quantized.glb");
    assert_solid(&mesh, "fine", 1.0, [0.0; 3]);
    assert_solid(&mesh, "coarse", 8.0, [4.1, 1.1, 1.1]);
    let normals = mesh.point_field("NORMAL").unwrap();
    assert!(normals.values.iter().all(|x| (x.abs() - 3f64.sqrt().recip()).abs() < 1e-12));
}

#[test]
fn every_mode_of_a_primitive_is_read() {
    let mesh = corpus("hand-modes.gltf");
    // All modes share the same vertices.
    assert_eq!(mesh.points.len(), 13 + 3);
    let count = |name: &str| mesh.cell_sets[&format!("material:{name}")].len();
    assert_eq!(["strip", "fan", "loop", "polyline", "lines", "points"].map(count), [4, 6, 4, 2, 2, 2]);
    let shapes: Vec<_> = mesh.groups.iter().map(|group| (group.shape, group.len())).collect();
    let (line, triangle) = (CellShape::Line2, CellShape::Tri3);
    assert_eq!(shapes, [(triangle, 10), (line, 8), (CellShape::Vertex, 2), (triangle, 1)]);
    let area = |cells: &[u32]| {
        let cells = cells.iter().map(|&cell| mesh.cells().nth(cell as usize).unwrap().1);
        let area = cells.map(|n| {
            let [a, b, c] = [0, 1, 2].map(|k| mesh.points[n[k] as usize]);
            // All counterclockwise seen from +z.
            (b - a).cross(c - a).z / 2.0
        });
        area.collect::<Vec<_>>()
    };
    assert_eq!(area(&mesh.cell_sets["material:strip"]), [0.5; 4]);
    assert!(area(&mesh.cell_sets["material:fan"]).iter().all(|a| (a - 3f64.sqrt() / 4.0).abs() < 1e-6));
}

#[test]
fn interleaved_attributes_are_told_apart() {
    let mesh = corpus("hand-interleaved.glb");
    assert_solid(&mesh, "cube", 1.0, [0.0; 3]);
    for (i, point) in mesh.points.iter().enumerate() {
        let bit = |k: usize| (i >> k & 1) as f64;
        assert_eq!(*point, Vec3::new(bit(0) - 0.5, bit(1) - 0.5, bit(2) - 0.5));
        assert_eq!(mesh.point_field("TEXCOORD_0").unwrap().values[2 * i..][..2], [bit(0), bit(1)]);
        assert_eq!(mesh.point_field("COLOR_0").unwrap().values[4 * i..][..4], [bit(0), bit(1), bit(2), 1.0]);
    }
}

#[test]
fn the_default_scene_is_placed_by_its_tree_and_mirrors_stay_right_side_out() {
    let mesh = corpus("hand-tree.gltf");
    assert_eq!(mesh.cell_count(), 36);
    assert!(!mesh.cell_sets.contains_key("unused"));
    assert_solid(&mesh, "hand", 8.0, [10.0, 2.0, 0.0]);
    assert_solid(&mesh, "mirror", 8.0, [4.0, 0.0, 0.0]);
    assert_solid(&mesh, "sheared", 8.0, [10.0, 0.0, 8.0]);
    assert_eq!(mesh.cell_sets["material:bone"].len(), 36);
    assert!(mesh.notes.iter().any(|note| note.contains("several scenes")));
}

#[test]
fn characters_are_read_whole() {
    let bytes = std::fs::read(folder().join("hand-rigged.glb")).unwrap();
    let rig = gltf::read_rig(&bytes, &sinew_io::NoCompanions).unwrap();
    assert_eq!((rig.nodes.len(), rig.skins.len(), rig.animations.len(), rig.surfaces.len()), (7, 2, 2, 2));
    let part = &rig.surfaces[0].parts[0];
    assert_eq!((part.weights.width, part.morph_targets.len(), part.texcoords.len()), (8, 2, 2));
    // Reading it as a surface gives the same vertices, without skins.
    let mesh = corpus("hand-rigged.glb");
    let vertex_count: usize =
        rig.surfaces.iter().flat_map(|surface| &surface.parts).map(|part| part.positions.len()).sum();
    assert_eq!(mesh.points.len(), vertex_count);
    assert!(mesh.notes.iter().any(|note| note.contains("skins are left out")));
}

#[test]
fn every_file_of_the_corpus_survives_writing() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        gltf::fuzz_one(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 10);
    for name in ["blender-separate.gltf", "trimesh-external.gltf", "hand-modes.gltf", "hand-tree.gltf"] {
        let mesh = corpus(name);
        for glb in [true, false] {
            let written = gltf::write(&mesh, glb).unwrap();
            let again = gltf::read(&written, &sinew_io::NoCompanions).unwrap();
            assert_eq!((again.points.len(), again.cell_count()), (mesh.points.len(), mesh.cell_count()));
            for (name, cells) in mesh.cell_sets.iter().filter(|(name, _)| name.starts_with("material:")) {
                assert_eq!(again.cell_sets[name].len(), cells.len(), "{name}");
            }
        }
    }
}
