//! Errors with their positions, and round trips. Files of other programs are in `tests/corpus_gltf.rs`.

use serde_json::{Value, json};
use sinew_math::Vec3;

use super::*;
use crate::mesh_data::Field;
use crate::{NoCompanions, Place, base64};

/// A triangle as a document whose buffer is in the binary chunk: positions at 0, indices at 36.
fn triangle() -> (Value, Vec<u8>) {
    let positions = [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut bin: Vec<u8> = positions.iter().flat_map(|x| x.to_le_bytes()).collect();
    bin.extend([0u16, 1, 2].iter().flat_map(|x| x.to_le_bytes()));
    let document = json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 6},
        ],
        "buffers": [{"byteLength": 42}],
    });
    (document, bin)
}

/// A file with a binary chunk.
pub(super) fn glb(document: &Value, bin: &[u8]) -> Vec<u8> {
    let mut json = document.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut bin = bin.to_vec();
    bin.resize(bin.len().next_multiple_of(4), 0);
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend(((28 + json.len() + bin.len()) as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", &json), (b"BIN\0", &bin)] {
        file.extend((chunk.len() as u32).to_le_bytes());
        file.extend(kind);
        file.extend(chunk);
    }
    file
}

fn read_document(document: &Value, bin: &[u8]) -> Result<MeshData, ReadError> {
    read(&glb(document, bin), &NoCompanions)
}

/// The error after a change of the triangle's document.
fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let (mut document, bin) = triangle();
    change(&mut document);
    read_document(&document, &bin).unwrap_err().to_string()
}

#[test]
fn the_triangle_itself_is_read() {
    let (document, bin) = triangle();
    let mesh = read_document(&document, &bin).unwrap();
    assert_eq!(mesh.points[1], Vec3::new(1.0, 0.0, 0.0));
    assert_eq!(mesh.groups, [crate::CellGroup::with_nodes(CellShape::Tri3, vec![0, 1, 2])]);
    assert!(mesh.notes.is_empty() && mesh.cell_sets.is_empty());
}

#[test]
fn indices_and_counts_that_lie_are_refused_with_their_path() {
    for (pointer, value, reason) in [
        (
            "/accessors/0/bufferView",
            json!(7),
            "accessors[0].bufferView is buffer view 7, which does not exist: there are 2",
        ),
        ("/accessors/0/count", json!(4), "accessors[0]: elements: 4 promised, 3 found"),
        ("/accessors/0/count", json!(u64::MAX), "accessors[0]: elements"),
        ("/accessors/0/count", json!(0), "`count` of 0"),
        ("/accessors/0/count", json!(-1), "accessors[0].count must be a whole number"),
        ("/accessors/0/byteOffset", json!(4), "accessors[0]: elements: 3 promised, 2 found"),
        ("/accessors/0/byteOffset", json!(u64::MAX), "accessors[0]: elements: 3 promised, 0 found"),
        ("/accessors/0/componentType", json!(5124), "accessors[0] has the unknown `componentType` 5124"),
        ("/accessors/0/type", json!("VEC2"), "accessors[0] has the wrong `type` for POSITION"),
        ("/accessors/1/type", json!("MAT3"), "accessors[1] holds indices"),
        (
            "/accessors/1",
            json!({"bufferView": 1, "byteOffset": 99, "componentType": 5123, "count": 3, "type": "MAT2"}),
            "accessors[1]: elements",
        ),
        ("/accessors/1/componentType", json!(5122), "accessors[1] holds indices"),
        ("/accessors/1/count", json!(2), "middle of a line or triangle"),
        ("/bufferViews/0/byteOffset", json!(u64::MAX), "bytes of bufferViews[0]"),
        ("/bufferViews/0/byteLength", json!(43), "bytes of bufferViews[0]: 43 promised, 42 found"),
        ("/bufferViews/0/byteStride", json!(8), "bufferViews[0].byteStride is 8, less than the 12 bytes"),
        ("/bufferViews/0/byteStride", json!(1u64 << 63), "accessors[0]: elements"),
        ("/bufferViews/1/buffer", json!(1), "bufferViews[1].buffer is buffer 1, which does not exist"),
        ("/buffers/0/byteLength", json!(1000), "buffers[0].byteLength: 1000 promised, 44 found"),
        ("/buffers/0/uri", json!("data:;base64,AAAA"), "buffers[0].byteLength: 42 promised, 3 found"),
        ("/buffers/0/uri", json!("data:;base64,AA!A"), "buffers[0].uri is wrong at character 15"),
        ("/buffers/0/uri", json!("data:text/plain,abc"), "another encoding"),
        ("/buffers/0/uri", json!("beside.bin"), "\"beside.bin\" cannot be read"),
        ("/meshes/0/primitives/0/mode", json!(7), "unknown mode 7"),
        ("/meshes/0/primitives/0/attributes", json!({}), "without POSITION"),
        ("/meshes/0/primitives/0/attributes/NORMAL", json!(1), "accessors[1] has the wrong `type` for NORMAL"),
        ("/meshes/0/primitives", json!(3), "meshes[0] has no `primitives`"),
        ("/nodes/0", json!([]), "nodes[0] must be an object"),
        ("/nodes/0/mesh", json!(1), "nodes[0].mesh is mesh 1, which does not exist"),
        ("/nodes/0/matrix", json!([1, 2]), "nodes[0].matrix must be 16 finite numbers"),
        ("/nodes/0/matrix", json!([1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]), "must end its columns"),
        ("/nodes/0/rotation", json!([0, 0, 0, 0]), "quaternion of length 1"),
        (
            "/nodes/0",
            json!({"mesh": 0, "scale": [1e308, 1, 1], "translation": [1.7e308, 0, 0]}),
            "the position of vertex 1",
        ),
        ("/scene", json!(1), "scene is scene 1, which does not exist"),
        ("/scenes/0/nodes", json!([5]), "scenes[0].nodes names a node that does not exist"),
        ("/scenes/0/nodes", json!([0, 0]), "scenes[0].nodes names node 0 twice"),
        ("/scenes/0/nodes", json!([]), "the file has no mesh in its default scene"),
        ("/asset/version", json!("1.0"), "glTF version 1.0 cannot be read"),
        ("/asset", json!({}), "asset has no `version`"),
        ("/extensionsRequired", json!(["KHR_draco_mesh_compression"]), "KHR_draco_mesh_compression"),
        (
            "/extensionsRequired",
            json!(["KHR_draco_mesh_compression"]),
            "hint: unpack it with `npx @gltf-transform/cli copy",
        ),
        ("/extensionsRequired", json!(["EXT_mesh_gpu_instancing"]), "the required extension EXT_mesh_gpu_instancing"),
    ] {
        let said = refusal(|document| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match document.pointer_mut(pointer) {
                Some(slot) => *slot = value.clone(),
                None => document.pointer_mut(parent).unwrap()[key] = value.clone(),
            }
        });
        assert!(
            said.contains(reason) && (said.starts_with("byte ") || said.starts_with("the file")),
            "{pointer}: {said}"
        );
    }
}

#[test]
fn wrong_numbers_are_shown_at_their_byte() {
    let (document, mut bin) = triangle();
    bin[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
    let file = glb(&document, &bin);
    let at = file.len() - 44 + 12;
    match read(&file, &NoCompanions).unwrap_err() {
        ReadError::NotFinite { place, what } => {
            assert!(place == Place::Byte(at) && what == "the position of vertex 1 in accessors[0]", "{place} {what}");
        }
        other => panic!("{other}"),
    }
    let (document, mut bin) = triangle();
    bin[40] = 9;
    let error = read_document(&document, &bin).unwrap_err();
    assert_eq!(error, ReadError::Index { place: Place::Byte(at - 12 + 40), what: "vertex", index: 9 });

    // A wrong count points at the accessor, by line if the text has lines.
    let (mut document, _) = triangle();
    document["accessors"][1]["count"] = 12.into();
    document["buffers"][0]["uri"] = format!("data:;base64,{}", base64::encode(&bin)).into();
    let text = serde_json::to_string_pretty(&document).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("\"bufferView\": 1")).unwrap();
    match read(text.as_bytes(), &NoCompanions).unwrap_err() {
        // The object begins one line before its first member.
        ReadError::Count { place, promised: 12, found: 3, .. } => assert_eq!(place, Place::Line(line - 1)),
        other => panic!("{other}"),
    }
}

#[test]
fn containers_that_lie_are_refused() {
    let (document, bin) = triangle();
    let good = glb(&document, &bin);
    let refusal = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        read(&file, &NoCompanions).unwrap_err().to_string()
    };
    assert!(refusal(&|file| file[0] = b'x').contains("this is not a valid glTF file"));
    assert!(refusal(&|file| file[4] = 1).contains("byte 4: GLB version 1 cannot be read"));
    assert!(refusal(&|file| file.truncate(file.len() - 1)).contains("byte 8: bytes of the file"));
    assert!(refusal(&|file| file[14] = 1).contains("byte 12: bytes of a chunk"));
    assert!(refusal(&|file| file[16] = b'X').contains("byte 12: the first chunk must be the JSON"));
    assert!(refusal(&|file| file[20] = b'[').contains("`,` or `]` expected in JSON"));
    assert!(refusal(&|file| file[25] = 0xff).contains("byte 25: the JSON is not written in UTF-8"));
    assert!(read(b"", &NoCompanions).is_err() && read(b"glTF", &NoCompanions).is_err());
    assert!(read(b"{}", &NoCompanions).unwrap_err().to_string().contains("no `asset`"));
    for end in 0..good.len() {
        assert!(read(&good[..end], &NoCompanions).is_err());
    }
}

#[test]
fn trees_that_are_none_are_refused_with_the_node() {
    let tree = |nodes: Value| refusal(|document| document["nodes"] = nodes);
    let said = tree(json!([{"mesh": 0}, {"children": [2]}, {"children": [3]}, {"children": [1]}]));
    assert!(said.contains("is its own descendant") && said.contains("nodes["), "{said}");
    assert!(tree(json!([{"mesh": 0, "children": [0]}])).contains("nodes[0] is its own descendant"));
    let said = tree(json!([{"children": [2]}, {"children": [2]}, {"mesh": 0}]));
    assert!(said.contains("nodes[1].children names node 2, which is a child of nodes[0] already"), "{said}");
    assert!(tree(json!([{"children": [4]}])).contains("nodes[0].children names a node that does not exist"));
    let chain = |count: usize| {
        let mut nodes: Vec<Value> = (1..count).map(|child| json!({"children": [child]})).collect();
        nodes.push(json!({"mesh": 0}));
        Value::from(nodes)
    };
    assert!(tree(chain(257)).contains("nodes[256] lies more than 256 levels deep"));
    assert!(tree(chain(100_000)).contains("256 levels"));
    let (mut document, bin) = triangle();
    document["nodes"] = chain(256);
    assert_eq!(read_document(&document, &bin).unwrap().cell_count(), 1);
}

#[test]
fn memory_that_no_byte_stands_for_is_refused() {
    let said = refusal(|document| {
        document["accessors"][0] = json!({"componentType": 5126, "count": 1_000_000_000, "type": "VEC3"});
    });
    assert!(said.contains("has no buffer view") && said.contains("1000000000 promised"), "{said}");
    // As many nodes as fit in a few kilobytes, each with a mesh of as many vertices.
    let (mut document, bin) = triangle();
    document["accessors"][0] = json!({"componentType": 5126, "count": 3000, "type": "VEC3"});
    let node = |i: usize| json!({"mesh": 0, "translation": [i, 0, 0]});
    document["nodes"] = (0..2000).map(node).collect();
    document["scenes"][0]["nodes"] = (0..2000).collect();
    let said = read_document(&document, &bin).unwrap_err().to_string();
    assert!(said.contains("repeats its meshes"), "{said}");
}

#[test]
fn compressed_geometry_is_not_read_as_zeros() {
    let said = refusal(|document| {
        document["accessors"][0].as_object_mut().unwrap().remove("bufferView");
        document["meshes"][0]["primitives"][0]["extensions"] = json!({"KHR_draco_mesh_compression": {}});
    });
    assert!(said.contains("KHR_draco_mesh_compression") && said.contains("hint:"), "{said}");
}

#[test]
fn fields_that_only_some_primitives_have_are_left_out() {
    let (mut document, bin) = triangle();
    let primitive = |color| json!({"attributes": {"POSITION": 0, "NORMAL": 0, "COLOR_0": color}, "indices": 1});
    document["accessors"].as_array_mut().unwrap().push(json!({"componentType": 5126, "count": 3, "type": "VEC4"}));
    document["meshes"][0]["primitives"] = json!([primitive(0), primitive(2)]);
    let mesh = read_document(&document, &bin).unwrap();
    // Colors with and without alpha together.
    let colors = mesh.point_field("COLOR_0").unwrap();
    assert_eq!((colors.components, &colors.values[4..8]), (4, &[1.0, 0.0, 0.0, 1.0][..]));
    assert_eq!((mesh.points.len(), colors.len()), (6, 6));
    document["meshes"][0]["primitives"][1]["attributes"].as_object_mut().unwrap().remove("NORMAL");
    let mesh = read_document(&document, &bin).unwrap();
    assert!(mesh.point_field("NORMAL").is_none() && mesh.notes[0].contains("NORMAL is left out"), "{:?}", mesh.notes);
}

#[test]
fn normals_stay_normal_where_their_mesh_is_stretched_and_mirrored() {
    let (mut document, mut bin) = triangle();
    // The plane x + y = 1 through (1, 0, ·) and (0, 1, ·), with its normal.
    let rows =
        [[1.0f32, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.6f32, 0.6, 0.0], [0.6, 0.6, 0.0], [0.6, 0.6, 0.0]];
    bin.splice(0..36, rows.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
    document["buffers"][0]["byteLength"] = 78.into();
    document["bufferViews"][0]["byteLength"] = 72.into();
    document["bufferViews"][1]["byteOffset"] = 72.into();
    let mut normal = document["accessors"][0].clone();
    normal["byteOffset"] = 36.into();
    document["accessors"].as_array_mut().unwrap().push(normal);
    document["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = 2.into();
    for scale in [[1.0, 1.0, 1.0], [3.0, 1.0, 0.5], [-2.0, 1.0, 1.0], [-1.0, -4.0, -1.0]] {
        document["nodes"][0]["scale"] = json!(scale);
        let mesh = read_document(&document, &bin).unwrap();
        let [a, b, c] = [0, 1, 2].map(|k| mesh.points[mesh.groups[0].nodes[k] as usize]);
        let normal = (b - a).cross(c - a).normalized();
        let field = &mesh.point_field("NORMAL").unwrap().values;
        if scale != [1.0; 3] {
            assert!(
                (Vec3::new(field[0], field[1], field[2]) - normal).norm() < 1e-12,
                "{scale:?} {field:?} {normal:?}"
            );
        }
    }
}

/// Two squares and a triangle over shared points.
fn sample() -> MeshData {
    let mut mesh = MeshData::default();
    mesh.points.extend((0..6).map(|i| Vec3::new((i / 2) as f64 * 0.1, (i % 2) as f64, 0.3)));
    mesh.push_cell(CellShape::Quad4, &[0, 2, 3, 1]);
    mesh.push_cell(CellShape::Polygon, &[2, 4, 5, 3]);
    mesh.push_cell(CellShape::Tri3, &[0, 1, 2]);
    mesh.point_fields.push(Field { name: "NORMAL".into(), components: 3, values: [0.0, 0.0, 2.0].repeat(6) });
    mesh.point_fields.push(Field { name: "TEXCOORD_0".into(), components: 2, values: [0.25, 0.75].repeat(6) });
    mesh.point_fields.push(Field { name: "COLOR_0".into(), components: 3, values: [0.5, 1.5, 0.0].repeat(6) });
    mesh
}

#[test]
fn surfaces_survive_writing_with_sets_and_fields() {
    let mut mesh = sample();
    for (name, cells) in
        [("left", [0, 2].as_slice()), ("right", &[1]), ("node of right", &[1]), ("material:red", &[0, 1])]
    {
        mesh.cell_sets.insert(name.into(), cells.to_vec());
    }
    for glb in [true, false] {
        let again = read(&write(&mesh, glb).unwrap(), &NoCompanions).unwrap();
        assert_eq!(again.points.len(), 6);
        assert!(again.points.iter().zip(&mesh.points).all(|(a, b)| (*a - *b).norm() < 1e-7));
        // Each square becomes two triangles; the left part comes before the right one.
        let sets: Vec<_> = again.cell_sets.iter().map(|(name, cells)| (name.as_str(), cells.clone())).collect();
        let expected = [
            ("left", vec![0, 1, 2]),
            ("material:red", vec![0, 1, 3, 4]),
            ("node of right", vec![3, 4]),
            ("right", vec![3, 4]),
        ];
        assert_eq!(sets, expected);
        assert_eq!(again.groups[0].nodes, [0, 2, 3, 0, 3, 1, 0, 1, 2, 2, 4, 5, 2, 5, 3]);
        assert_eq!(again.point_field("NORMAL").unwrap().values[..3], [0.0, 0.0, 1.0]);
        assert_eq!(again.point_field("TEXCOORD_0").unwrap().values[..2], [0.25, 0.75]);
        assert_eq!(again.point_field("COLOR_0").unwrap().values[..3], [0.5, 1.0, 0.0]);
    }
    // Overlapping sets cannot become meshes.
    mesh.cell_sets.insert("both".into(), vec![0, 1]);
    let again = read(&write(&mesh, true).unwrap(), &NoCompanions).unwrap();
    assert_eq!(again.cell_sets.keys().collect::<Vec<_>>(), ["material:red"]);
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let mut mesh = sample();
    mesh.push_cell(CellShape::Tet4, &[0, 1, 2, 4]);
    let error = write(&mesh, true).unwrap_err().to_string();
    assert!(error.contains("tetrahedron (first: cell 3)") && error.contains("--boundary"), "{error}");
    let mut mesh = sample();
    mesh.points[4].y = 1e39;
    assert!(write(&mesh, true).unwrap_err().to_string().contains("point 4"));
    assert!(write(&MeshData::default(), true).is_err());
    // Skips a field with a value that glTF forbids, and writes the rest.
    let mut mesh = sample();
    mesh.point_fields[0].values[3..6].fill(0.0);
    let again = read(&write(&mesh, true).unwrap(), &NoCompanions).unwrap();
    assert!(again.point_field("NORMAL").is_none() && again.point_field("COLOR_0").is_some());
}

#[test]
fn points_without_cells_are_written_as_points() {
    let mesh = MeshData { points: vec![Vec3::zero(), Vec3::unit(1)], ..MeshData::default() };
    let again = read(&write(&mesh, true).unwrap(), &NoCompanions).unwrap();
    assert_eq!((again.groups[0].shape, again.cell_count(), again.points), (CellShape::Vertex, 2, mesh.points));
}

/// A small file may refer to a large buffer beside it.
#[test]
fn buffers_beside_the_file_are_opened_by_their_decoded_name() {
    struct Beside(usize);
    impl Companions for Beside {
        fn open(&self, name: &str, _: Place) -> Result<Vec<u8>, ReadError> {
            assert_eq!(name, "my mesh.bin");
            Ok(vec![0; self.0])
        }
        fn stem(&self) -> &str {
            "mesh"
        }
    }
    let (mut document, _) = triangle();
    let count = 1_500_000;
    document["buffers"] = json!([{"byteLength": 12 * count, "uri": "my%20mesh.bin"}]);
    document["bufferViews"][0]["byteLength"] = (12 * count).into();
    document["accessors"][0]["count"] = count.into();
    document["meshes"][0]["primitives"] = json!([{"attributes": {"POSITION": 0}}]);
    let text = document.to_string();
    assert_eq!(read(text.as_bytes(), &Beside(12 * count)).unwrap().cell_count(), count / 3);
    let said = read(text.as_bytes(), &Beside(12 * count - 1)).unwrap_err().to_string();
    assert!(said.contains("buffers[0].byteLength: 18000000 promised, 17999999 found"), "{said}");
}

/// Every change of one byte is read or rejected, and everything that is read survives a round trip.
#[test]
fn changed_bytes_never_panic() {
    let (document, bin) = triangle();
    let good = glb(&document, &bin);
    for at in 0..good.len() {
        for value in [0, 1, b'9', b'"', b'-', 0x7f, 0xff] {
            let mut file = good.clone();
            file[at] = value;
            fuzz_one(&file);
        }
    }
}
