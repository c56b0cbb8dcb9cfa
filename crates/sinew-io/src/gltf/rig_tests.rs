//! Characters: round trips, the meaning of handwritten files, and errors with their positions.

use serde_json::{Value, json};
use sinew_math::{Mat3, Quaternion, Vec3};
use sinew_rig::{
    Affine, Animation, Appearance, Channel, GltfLists, Image, Interpolation, Keys, Material, MorphTarget, Node, Part,
    Rig, Skin, Surface, Transform, Weights,
};

use super::tests::glb;
use super::*;
use crate::{NoCompanions, Place};

fn node(name: &str, parent: Option<usize>, transform: Transform) -> Node {
    let name = name.to_string();
    Node { name, parent, transform, surface: None, skin: None, morph_weights: None, is_shown: true }
}

fn bind(x: f64) -> Affine {
    Affine { linear: Mat3::identity() * 2.0, translation: Vec3::new(x, 0.5, -1.0) }
}

/// A square of four vertices whose coordinates are exact in single precision.
fn square(weights: Weights) -> Part {
    let corner = |i: usize| Vec3::new((i % 2) as f64, (i / 2) as f64, 0.25);
    Part {
        positions: (0..4).map(corner).collect(),
        normals: vec![[0.0, 0.0, 1.0]; 4],
        texcoords: vec![(0..4).map(|i| [0.25 * i as f32, 0.5]).collect(), vec![[0.0, 1.0]; 4]],
        colors: vec![[1.0, 0.5, 0.25, 1.0]; 4],
        numbers: [("_ATTACHMENT".to_string(), vec![0.0, 0.25, 0.5, 1.0])].into(),
        triangles: vec![[0, 1, 3], [0, 3, 2]],
        weights,
        morph_targets: vec![
            MorphTarget { name: "smile".into(), positions: vec![Vec3::new(0.0, 0.125, 0.0); 4], normals: Vec::new() },
            MorphTarget { name: "still".into(), ..MorphTarget::default() },
        ],
        material: Some(1),
    }
}

/// One of everything that a file can hold.
fn sample() -> Rig {
    let half = Quaternion::from_parts(0.5, Vec3::new(0.5, -0.5, 0.5));
    let turned =
        Transform::Parts { translation: Vec3::new(1.0, 2.0, 3.0), rotation: half, scale: Vec3::new(1.0, 2.0, 0.5) };
    let matrix = Mat3::new([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -2.0]]);
    let matrix = Transform::Matrix(Affine { linear: matrix, translation: Vec3::new(0.0, 0.0, 7.0) });
    // The first joint is the child of a later node.
    let mut nodes = vec![
        node("hand", Some(1), turned),
        node("arm", Some(2), Transform::from_translation(Vec3::new(0.0, 1.5, 0.0))),
        node("figure", None, Transform::identity()),
        node("skin", Some(2), Transform::identity()),
        node("", Some(2), matrix),
        node("spare", None, Transform::identity()),
        node("spare hand", Some(5), Transform::identity()),
    ];
    (nodes[3].surface, nodes[3].skin, nodes[3].morph_weights) = (Some(0), Some(1), Some(vec![0.25, 0.75]));
    (nodes[4].surface, nodes[4].skin) = (Some(1), None);
    (nodes[5].is_shown, nodes[6].is_shown) = (false, false);
    let skins = vec![
        Skin { name: "spare".into(), joints: vec![5, 6], inverse_binds: vec![bind(1.0), bind(2.0)] },
        Skin { name: "body".into(), joints: vec![2, 1, 0], inverse_binds: vec![bind(0.0), bind(0.5), bind(0.25)] },
    ];
    // Eight joints per vertex, three of them with a weight.
    let joints = [2, 1, 0, 0, 0, 0, 0, 1];
    let weights = [0.25, 0.25, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0];
    let eight = Weights { width: 8, joints: joints.repeat(4), weights: weights.repeat(4) };
    let mut bare = square(Weights::default());
    (bare.normals, bare.texcoords, bare.colors, bare.material) = (Vec::new(), Vec::new(), Vec::new(), None);
    bare.morph_targets.clear();
    let surfaces = vec![
        Surface {
            name: "body".into(),
            parts: vec![square(eight.clone()), Part { material: Some(0), ..square(eight) }],
            morph_weights: vec![0.0, 1.0],
        },
        Surface { name: String::new(), parts: vec![bare], morph_weights: Vec::new() },
    ];
    let channel =
        |node, times: &[f64], interpolation, keys| Channel { node, times: times.to_vec(), interpolation, keys };
    let x = |x: f64| Vec3::new(x, 0.0, 0.5);
    let animations = vec![
        Animation {
            name: "wave".into(),
            channels: vec![
                channel(0, &[0.0, 0.5, 2.0], Interpolation::Linear, Keys::Translation(vec![x(0.0), x(1.0), x(0.5)])),
                channel(
                    1,
                    &[0.0, 0.5],
                    Interpolation::Linear,
                    Keys::Rotation(vec![[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, -0.5]]),
                ),
                channel(1, &[0.25, 0.5], Interpolation::Step, Keys::Scale(vec![x(1.0), x(2.0)])),
                channel(
                    3,
                    &[0.0, 0.5],
                    Interpolation::CubicSpline,
                    Keys::Morph(2, (0..12).map(|i| 0.125 * f64::from(i)).collect()),
                ),
            ],
        },
        Animation {
            name: String::new(),
            channels: vec![channel(
                0,
                &[0.0, 0.5],
                Interpolation::CubicSpline,
                Keys::Rotation(
                    [[0.0; 4], [0.0, 1.0, 0.0, 0.0], [4.0, 0.0, 1.0, 0.0], [0.25; 4], [0.5; 4], [0.0; 4]].to_vec(),
                ),
            )],
        },
    ];
    let materials = vec![
        Material { name: "cloth".into(), metallic: 0.0, double_sided: true, ..Material::default() },
        Material {
            name: "flesh".into(),
            base_color: [1.0, 0.5, 0.25, 1.0],
            base_color_image: Some(1),
            metallic: 0.0,
            roughness: 0.5,
            normal_image: Some(0),
            double_sided: false,
        },
    ];
    let image = |name: &str, bytes: &[u8]| Image { name: name.into(), mime: "image/png".into(), bytes: bytes.to_vec() };
    let images = vec![image("bumps", b"\x89PNG one"), image("", b"\x89PNG the other")];
    let appearance = Appearance { materials, images, gltf: GltfLists::default() };
    Rig { nodes, surfaces, skins, animations, appearance, ..Rig::default() }
}

/// Everything except the lists that stay verbatim.
fn described(rig: &Rig) -> Vec<String> {
    let Rig { nodes, surfaces, skins, animations, humanoid: _, appearance, notes } = rig;
    let Appearance { materials, images, .. } = appearance;
    vec![
        format!("{nodes:#?}"),
        format!("{surfaces:#?}"),
        format!("{skins:#?}"),
        format!("{animations:#?}"),
        format!("{materials:#?} {images:#?}"),
        format!("{notes:#?}"),
    ]
}

#[test]
fn everything_survives_writing_and_reading() {
    for is_glb in [true, false] {
        let rig = sample();
        let written = write_rig(&rig, is_glb).unwrap();
        let again = read_rig(&written, &NoCompanions).unwrap();
        for (before, after) in described(&rig).iter().zip(&described(&again)) {
            assert_eq!(before, after);
        }
        assert_eq!(again.appearance.gltf.textures.as_array().unwrap().len(), 2);
        // From then on nothing changes.
        assert_eq!(write_rig(&again, is_glb).unwrap(), written);
        fuzz_one(&written);
    }
}

#[test]
fn materials_are_kept_word_for_word() {
    let mut rig = sample();
    let sheen = json!({"KHR_materials_sheen": {"sheenRoughnessFactor": 0.5}});
    rig.appearance.gltf = GltfLists {
        materials: json!([
            {"name": "cloth", "extensions": sheen, "extras": {"extensions": {"none": 1}}},
            {"alphaMode": "MASK", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 1}}},
        ]),
        textures: json!([{"source": 1}]),
        samplers: Value::Null,
    };
    let written = write_rig(&rig, false).unwrap();
    let document: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(document["extensionsUsed"], json!(["KHR_materials_sheen"]));
    assert!(document.get("samplers").is_none());
    let again = read_rig(&written, &NoCompanions).unwrap();
    assert_eq!(again.appearance.gltf, rig.appearance.gltf);
    assert_eq!(again.appearance.materials[1].base_color_image, Some(1));
    // With another material they are rebuilt.
    rig.appearance.materials.push(Material { name: "new".into(), ..Material::default() });
    let again = read_rig(&write_rig(&rig, true).unwrap(), &NoCompanions).unwrap();
    assert_eq!(again.appearance.materials, rig.appearance.materials);
}

#[test]
fn what_does_not_fit_is_not_written() {
    let refusal = |change: &dyn Fn(&mut Rig)| {
        let mut rig = sample();
        change(&mut rig);
        write_rig(&rig, true).unwrap_err().to_string()
    };
    let cases: [(&dyn Fn(&mut Rig), &str); 14] = [
        (&|rig| rig.nodes[2].parent = Some(0), "is its own descendant"),
        (&|rig| rig.nodes[2].skin = Some(2), "node 2, whose skin does not exist"),
        (&|rig| rig.skins[0].joints.clear(), "skin 0 of 0 joints"),
        (&|rig| rig.skins[0].joints[1] = 7, "skin 0 with a joint that does not exist"),
        (&|rig| rig.skins[1].inverse_binds[1].translation.x = 1e39, "the binds of skin 1"),
        (&|rig| rig.surfaces[0].parts[1].triangles[0][0] = 4, "part 1 of surface 0: a triangle"),
        (&|rig| rig.surfaces[0].parts[1].material = Some(2), "its material does not exist"),
        (&|rig| rig.surfaces[0].parts[1].weights.joints[0] = 65536, "a joint beyond 65535"),
        (&|rig| rig.surfaces[0].parts[1].colors.truncate(1), "another number of vertices"),
        (&|rig| rig.surfaces[1].parts[0].positions[0].x = f64::NAN, "part 0 of surface 1: a number that is not finite"),
        (&|rig| rig.animations[0].channels[0].times[1] = 0.0, "channel 0 of animation 0: times"),
        (&|rig| rig.animations[0].channels[1].times.truncate(1), "another number of values"),
        (&|rig| rig.animations[0].channels[3].node = 4, "weights of 2 morph targets for a node that has 0"),
        (&|rig| rig.appearance.images.truncate(1), "a material whose picture does not exist"),
    ];
    for (change, reason) in cases {
        let said = refusal(change);
        assert!(said.contains(reason) && said.contains("hint:"), "{reason}: {said}");
    }
}

#[test]
fn what_gltf_has_no_place_for_is_left_out_and_the_rest_stays() {
    let mut rig = sample();
    rig.surfaces[0].parts.iter_mut().for_each(|part| part.triangles.clear());
    rig.animations[0].channels.truncate(2);
    rig.animations[1].channels[0].times.clear();
    rig.appearance.images[0].bytes.clear();
    let again = read_rig(&write_rig(&rig, true).unwrap(), &NoCompanions).unwrap();
    assert_eq!((again.surfaces.len(), again.nodes[3].surface, again.nodes[4].surface), (1, None, Some(0)));
    assert_eq!((again.animations.len(), again.skins.len(), again.appearance.images.len()), (1, 2, 2));
    // A white pixel replaces the missing picture.
    assert!(again.appearance.images[0].bytes.starts_with(b"\x89PNG"));
    assert!(read_rig(&write_rig(&Rig::default(), true).unwrap(), &NoCompanions).unwrap().nodes.is_empty());
}

/// A document and its buffer.
struct Sketch {
    document: Value,
    bin: Vec<u8>,
}

impl Sketch {
    /// Adds a view; returns its index.
    fn view(&mut self, bytes: &[u8]) -> usize {
        let view = json!({"buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len()});
        self.bin.extend(bytes);
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        self.document["buffers"] = json!([{"byteLength": self.bin.len()}]);
        self.push("bufferViews", view)
    }

    fn accessor(&mut self, component: u32, kind: &str, count: usize, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        self.push("accessors", json!({"bufferView": view, "componentType": component, "type": kind, "count": count}))
    }

    fn push(&mut self, list: &str, value: Value) -> usize {
        let list = self.document[list].as_array_mut().unwrap();
        list.push(value);
        list.len() - 1
    }

    fn set(&mut self, pointer: &str, value: Value) {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match self.document.pointer_mut(pointer) {
            Some(slot) => *slot = value,
            None => self.document.pointer_mut(parent).unwrap()[key] = value,
        }
    }

    fn remove(&mut self, parent: &str, key: &str) {
        self.document.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key).unwrap();
    }

    fn read(&self) -> Result<Rig, ReadError> {
        let file = glb(&self.document, &self.bin);
        fuzz_one(&file);
        read_rig(&file, &NoCompanions)
    }

    /// File offset of an accessor.
    fn byte_of(&self, accessor: usize) -> usize {
        let view = self.document["accessors"][accessor]["bufferView"].as_u64().unwrap() as usize;
        let offset = self.document["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
        glb(&self.document, &self.bin).len() - self.bin.len() + offset
    }
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn shorts(numbers: &[i16]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

const IDENTITY: [f32; 16] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];

const POSITION: usize = 0;
const JOINTS: usize = 1;
const WEIGHTS: usize = 2;
const BINDS: usize = 3;
const TIMES: usize = 4;
const ROTATIONS: usize = 5;

/// A triangle moved by two joints, the second of which rotates. The constants number the accessors.
fn skinned_triangle() -> Sketch {
    let document = json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0, "skin": 0}, {"children": [2]}, {"name": "tip"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": POSITION, "JOINTS_0": JOINTS, "WEIGHTS_0": WEIGHTS}}]}],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": BINDS}],
        "animations": [{
            "samplers": [{"input": TIMES, "output": ROTATIONS}],
            "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}],
        }],
        "accessors": [],
        "bufferViews": [],
    });
    let mut sketch = Sketch { document, bin: Vec::new() };
    sketch.accessor(5126, "VEC3", 3, &floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    sketch.accessor(5121, "VEC4", 3, &[0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    sketch.accessor(5126, "VEC4", 3, &floats(&[0.5, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]));
    sketch.accessor(5126, "MAT4", 2, &floats(&[IDENTITY, IDENTITY].concat()));
    sketch.accessor(5126, "SCALAR", 2, &floats(&[0.0, 1.0]));
    sketch.accessor(5126, "VEC4", 2, &floats(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
    sketch
}

#[test]
fn the_skinned_triangle_itself_is_read() {
    let rig = skinned_triangle().read().unwrap();
    assert!(rig.notes.is_empty(), "{:?}", rig.notes);
    let part = &rig.surfaces[0].parts[0];
    assert_eq!((part.triangles.as_slice(), part.weights.width), (&[[0, 1, 2]][..], 4));
    assert_eq!(part.weights.joints[..5], [0, 1, 0, 0, 1]);
    assert_eq!((rig.nodes[2].parent, rig.nodes[2].name.as_str()), (Some(1), "tip"));
    // The real part is first here, and last in the file.
    let Keys::Rotation(keys) = &rig.animations[0].channels[0].keys else { panic!() };
    assert_eq!(*keys, [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]);
    // At the end the tip is rotated by 180 degrees about x.
    let pose = rig.pose(rig.animations.first(), 1.0);
    assert!((pose[2].apply(Vec3::unit(1)) - Vec3::new(0.0, -1.0, 0.0)).norm() < 1e-12);
}

#[test]
fn sparse_accessors_correct_what_they_name() {
    let mut sketch = skinned_triangle();
    let indices = sketch.view(&[1, 0, 2, 0]);
    let values = sketch.view(&floats(&[0.0, 0.0, 5.0, 0.0, 6.0, 0.0]));
    let sparse = json!({
        "count": 2,
        "indices": {"bufferView": indices, "componentType": 5123},
        "values": {"bufferView": values},
    });
    // One morph target has sparse values over zeros, the other over the positions.
    let zeros = json!({"componentType": 5126, "type": "VEC3", "count": 3, "sparse": sparse});
    let mut moved = zeros.clone();
    moved["bufferView"] = sketch.document["accessors"][POSITION]["bufferView"].clone();
    let (zeros, moved) = (sketch.push("accessors", zeros), sketch.push("accessors", moved));
    sketch.set("/meshes/0/primitives/0/targets", json!([{"POSITION": zeros}, {"POSITION": moved}, {"NORMAL": zeros}]));
    sketch.set("/meshes/0/extras", json!({"targetNames": ["up", "out"]}));
    let rig = sketch.read().unwrap();
    let [up, out, still] = &rig.surfaces[0].parts[0].morph_targets[..] else { panic!() };
    assert_eq!(up.positions, [[0.0; 3], [0.0, 0.0, 5.0], [0.0, 6.0, 0.0]].map(Vec3::from));
    assert_eq!(out.positions, up.positions);
    assert_eq!((up.name.as_str(), out.name.as_str(), still.name.as_str()), ("up", "out", ""));
    assert!(still.positions.is_empty() && rig.notes[0].contains("all but the positions of morph targets"));
    assert_eq!(rig.surfaces[0].morph_weights, [0.0; 3]);
}

#[test]
fn quantized_positions_and_weights_keep_their_meaning() {
    let mut sketch = skinned_triangle();
    sketch.set("/extensionsRequired", json!(["KHR_mesh_quantization"]));
    // Rows of eight bytes, six of them used.
    let positions = sketch.accessor(5122, "VEC3", 3, &shorts(&[0, 0, 0, 9, 32767, 0, 0, 9, -32767, 16384, 0, 9]));
    sketch.set(&format!("/accessors/{positions}/normalized"), true.into());
    let view = sketch.document["accessors"][positions]["bufferView"].clone();
    sketch.set(&format!("/bufferViews/{view}/byteStride"), 8.into());
    let weights = sketch.accessor(5121, "VEC4", 3, &[255, 0, 0, 0, 51, 204, 0, 0, 0, 0, 0, 255]);
    sketch.set(&format!("/accessors/{weights}/normalized"), true.into());
    let joints = sketch.accessor(5123, "VEC4", 3, &shorts(&[0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1]));
    let attributes = json!({"POSITION": positions, "JOINTS_0": joints, "WEIGHTS_0": weights});
    sketch.set("/meshes/0/primitives/0/attributes", attributes);
    let part = sketch.read().unwrap().surfaces.remove(0).parts.remove(0);
    assert_eq!(part.positions[1], Vec3::new(1.0, 0.0, 0.0));
    assert_eq!(part.positions[2], Vec3::new(-1.0, 16384.0 / 32767.0, 0.0));
    assert_eq!((&part.weights.weights[4..8], part.weights.joints[11]), (&[0.2, 0.8, 0.0, 0.0][..], 1));
}

#[test]
fn normalized_rotation_keys_are_quaternions() {
    let mut sketch = skinned_triangle();
    let keys = sketch.accessor(5122, "VEC4", 2, &shorts(&[0, 0, 0, 32767, 0, -32768, 0, 0]));
    sketch.set(&format!("/accessors/{keys}/normalized"), true.into());
    sketch.set("/animations/0/samplers/0/output", keys.into());
    let rig = sketch.read().unwrap();
    let Keys::Rotation(keys) = &rig.animations[0].channels[0].keys else { panic!() };
    assert_eq!(*keys, [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0]]);
}

#[test]
fn strips_and_fans_become_triangles_and_points_and_lines_are_noted() {
    let mut sketch = skinned_triangle();
    let positions = sketch.accessor(5126, "VEC3", 4, &floats(&[0.0; 12]));
    let primitive = |mode: usize| json!({"attributes": {"POSITION": positions}, "mode": mode});
    sketch.set("/meshes/0/primitives", json!([primitive(5), primitive(6), primitive(0), primitive(3)]));
    let rig = sketch.read().unwrap();
    let triangles: Vec<_> = rig.surfaces[0].parts.iter().map(|part| part.triangles.clone()).collect();
    assert_eq!(triangles, [[[0, 1, 2], [1, 3, 2]], [[1, 2, 0], [2, 3, 0]]]);
    assert_eq!(rig.notes, ["left out: primitives of points and lines"]);
}

#[test]
fn weights_stay_as_they_are_and_odd_sums_are_noted() {
    let mut sketch = skinned_triangle();
    let at = sketch.byte_of(WEIGHTS) - sketch.byte_of(POSITION);
    sketch.bin[at..at + 4].copy_from_slice(&0.25f32.to_le_bytes());
    sketch.bin[at + 16..at + 20].copy_from_slice(&0.0f32.to_le_bytes());
    // A joint that does not exist and moves nothing.
    let joints = sketch.byte_of(JOINTS) - sketch.byte_of(POSITION);
    sketch.bin[joints + 3] = 200;
    let rig = sketch.read().unwrap();
    let weights = &rig.surfaces[0].parts[0].weights;
    assert_eq!((&weights.weights[..5], weights.joints[3]), (&[0.25, 0.5, 0.0, 0.0, 0.0][..], 0));
    let notes = rig.notes.join("\n");
    for said in ["weights of 1 of 3 vertices do not sum", "1 of 3 vertices have no weight", "with a weight of 0"] {
        assert!(notes.contains(said) && notes.contains("meshes[0].primitives[0].attributes"), "{notes}");
    }
}

#[test]
fn channels_that_move_nothing_are_noted() {
    let mut sketch = skinned_triangle();
    let channel = |target: Value| json!({"sampler": 0, "target": target});
    let channels = [
        json!({"path": "rotation"}),
        json!({"node": 0, "path": "weights"}),
        json!({"node": 1, "path": "pointer"}),
        json!({"node": 1, "path": "rotation"}),
    ];
    sketch.set("/animations/0/channels", channels.map(channel).to_vec().into());
    sketch.set("/nodes/1/matrix", json!(IDENTITY));
    let rig = sketch.read().unwrap();
    assert_eq!(rig.animations[0].channels.len(), 1);
    let notes = rig.notes.join("\n");
    for said in
        ["channels without a node", "weights without morph targets", "channels of `pointer`", "nodes[1] has a matrix"]
    {
        assert!(notes.contains(said), "{notes}");
    }
}

#[test]
fn nodes_beside_the_scene_are_read_but_not_shown() {
    let mut sketch = skinned_triangle();
    sketch.set("/scenes/0/nodes", json!([0]));
    let shown = |sketch: &Sketch| sketch.read().unwrap().nodes.iter().map(|node| node.is_shown).collect::<Vec<_>>();
    assert_eq!(shown(&sketch), [true, false, false]);
    sketch.remove("", "scene");
    sketch.remove("", "scenes");
    assert_eq!(shown(&sketch), [true; 3]);
}

/// Pictures are optional: a character without them is still valid.
#[test]
fn pictures_are_found_where_they_are_and_missed_with_a_note() {
    struct Beside;
    impl Companions for Beside {
        fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
            match name {
                "my skin.jpg" => Ok(b"\xff\xd8\xff".to_vec()),
                _ => NoCompanions.open(name, place),
            }
        }
        fn stem(&self) -> &str {
            "mesh"
        }
    }
    let mut sketch = skinned_triangle();
    let view = sketch.view(b"RIFF....WEBP");
    sketch.document["images"] = json!([
        {"uri": "my%20skin.jpg"},
        {"uri": "missing.png", "name": "lost"},
        {"uri": "data:image/png;base64,AAAA"},
        {"bufferView": view},
        {"uri": "my%20skin.jpg"},
    ]);
    sketch.document["textures"] = json!([{"extensions": {"EXT_texture_webp": {"source": 3}}}, {"source": 0}]);
    sketch.document["materials"] = json!([{"normalTexture": {"index": 0}}]);
    let rig = read_rig(&glb(&sketch.document, &sketch.bin), &Beside).unwrap();
    let images: Vec<_> = rig
        .appearance
        .images
        .iter()
        .map(|image| (image.mime.as_str(), image.bytes.len(), image.name.as_str()))
        .collect();
    let expected = [
        ("image/jpeg", 3, "my%20skin.jpg"),
        ("", 0, "lost"),
        ("image/png", 3, ""),
        ("image/webp", 12, ""),
        ("image/jpeg", 3, "my%20skin.jpg"),
    ];
    assert_eq!(images, expected);
    assert_eq!(rig.appearance.materials[0].normal_image, Some(3));
    assert!(rig.notes.len() == 1 && rig.notes[0].contains("images[1].uri") && rig.notes[0].contains("missing.png"));
    fuzz_one(&glb(&sketch.document, &sketch.bin));
}

#[test]
fn mistakes_are_refused_with_their_path() {
    let primitive = "/meshes/0/primitives/0";
    for (pointer, value, reason) in [
        ("/skins/0/joints", json!([]), "skins[0] has no joints"),
        ("/skins/0/joints", json!([1, 3]), "skins[0].joints[1] is node 3, which does not exist: there are 3"),
        ("/skins/0/joints", json!([1, "a"]), "skins[0].joints[1] must be a whole number"),
        (
            "/skins/0/joints",
            json!([0, 1, 2]),
            "skins[0].inverseBindMatrices: matrices in accessors[3]: 3 promised, 2 found",
        ),
        ("/skins/0/inverseBindMatrices", json!(9), "skins[0].inverseBindMatrices is accessor 9, which does not exist"),
        ("/skins/0/inverseBindMatrices", json!(POSITION), "accessors[0] has the wrong `type` for skins[0].inverse"),
        ("/accessors/3/componentType", json!(5125), "accessors[3] must hold single precision for skins[0].inverse"),
        ("/nodes/0/skin", json!(1), "nodes[0].skin is skin 1, which does not exist: there are 1"),
        ("/nodes/0/mesh", json!(1), "nodes[0].mesh is mesh 1, which does not exist"),
        ("/nodes/2/children", json!([1]), "is its own descendant"),
        ("/nodes/2/translation", json!([1, 2]), "nodes[2].translation must be 3 finite numbers"),
        (
            "/accessors/1/count",
            json!(2),
            "accessors[1] holds 2 elements for meshes[0].primitives[0].attributes.JOINTS_0",
        ),
        (
            "/accessors/2/count",
            json!(2),
            "accessors[2] holds 2 elements for meshes[0].primitives[0].attributes.WEIGHTS_0",
        ),
        ("/accessors/1/componentType", json!(5120), "accessors[1] holds joints"),
        ("/accessors/1/type", json!("VEC3"), "accessors[1] holds joints"),
        ("/accessors/2/componentType", json!(5121), "accessors[2] must hold single precision, or normalized"),
        ("/accessors/0/count", json!(4), "accessors[0]: elements: 4 promised, 3 found"),
        (&format!("{primitive}/attributes/JOINTS_1"), json!(JOINTS), "attributes has JOINTS_1 without WEIGHTS_1"),
        (&format!("{primitive}/attributes/WEIGHTS_1"), json!(WEIGHTS), "attributes has WEIGHTS_1 without JOINTS_1"),
        (
            &format!("{primitive}/attributes/TEXCOORD_0"),
            json!(0),
            "wrong `type` for meshes[0].primitives[0].attributes",
        ),
        (&format!("{primitive}/mode"), json!(7), "meshes[0].primitives[0] has the unknown mode 7"),
        (&format!("{primitive}/targets"), json!([{"POSITION": 9}]), "primitives[0].targets[0].POSITION is accessor 9"),
        (&format!("{primitive}/extensions"), json!({"KHR_draco_mesh_compression": {}}), "KHR_draco_mesh_compression"),
        ("/animations/0/channels/0/sampler", json!(1), "animations[0].channels[0].sampler is sampler 1"),
        ("/animations/0/channels/0/target/node", json!(3), "animations[0].channels[0].target.node is node 3"),
        (
            "/animations/0/samplers/0/interpolation",
            json!("FAST"),
            "animations[0].samplers[0].interpolation must be LINEAR",
        ),
        (
            "/animations/0/samplers/0/interpolation",
            json!("CUBICSPLINE"),
            "animations[0].samplers[0].output: values in accessors[5]: 6 promised, 2 found",
        ),
        ("/animations/0/samplers/0/input", json!(POSITION), "wrong `type` for animations[0].samplers[0].input"),
        ("/animations/0/samplers/0/output", json!(9), "animations[0].samplers[0].output is accessor 9"),
        ("/materials", json!([{"normalTexture": {"index": 0}}]), "materials[0].normalTexture.index is texture 0"),
        ("/textures", json!([{"source": 0}]), "textures[0].source is image 0, which does not exist"),
        ("/images", json!([{"uri": "data:,a"}]), "images[0].uri is data in another encoding"),
    ] {
        let mut sketch = skinned_triangle();
        if reason.contains("draco") {
            sketch.remove("/accessors/0", "bufferView");
        }
        sketch.set(pointer, value);
        let said = sketch.read().unwrap_err().to_string();
        assert!(said.contains(reason) && said.starts_with("byte "), "{pointer}: {said}");
    }
}

#[test]
fn weights_of_morph_targets_are_as_many_as_they() {
    let mut sketch = skinned_triangle();
    sketch.set("/meshes/0/primitives/0/targets", json!([{"POSITION": POSITION}]));
    sketch.set("/meshes/0/weights", json!([0.5, 1.0]));
    let said = sketch.read().unwrap_err().to_string();
    assert!(said.contains("meshes[0].weights holds 2 weights for 1 morph targets"), "{said}");
    sketch.set("/meshes/0/weights", json!([0.5]));
    sketch.set("/nodes/0/weights", json!([]));
    let said = sketch.read().unwrap_err().to_string();
    assert!(said.contains("nodes[0].weights holds 0 weights for 1 morph targets"), "{said}");
    sketch.set("/nodes/0/weights", json!([0.25]));
    let rig = sketch.read().unwrap();
    assert_eq!(
        (&rig.surfaces[0].morph_weights[..], rig.nodes[0].morph_weights.as_deref()),
        (&[0.5][..], Some(&[0.25][..]))
    );
}

#[test]
fn wrong_numbers_are_shown_at_the_byte_of_their_element() {
    let nan = f32::NAN.to_le_bytes();
    // Accessor, byte in it, replacement, byte of the element, expected message.
    for (accessor, at, bytes, element, reason) in [
        (POSITION, 16, &nan[..], 12, "attributes.POSITION: element 1 of accessors[0] is not finite"),
        (JOINTS, 4, &[2], 4, "attributes.JOINTS_0: vertex 1 names joint 2 of skins[0], which has 2"),
        (WEIGHTS, 20, &nan, 16, "attributes.WEIGHTS_0: element 1 of accessors[2] is not finite"),
        (WEIGHTS, 32, &(-1f32).to_le_bytes(), 32, "attributes.WEIGHTS_0: a weight of vertex 2 is negative"),
        (BINDS, 64 + 4, &nan, 64, "skins[0].inverseBindMatrices: element 1 of accessors[3] is not finite"),
        (BINDS, 64 + 12, &0.5f32.to_le_bytes(), 64, "skins[0].inverseBindMatrices: matrix 1 must end its columns"),
        (TIMES, 4, &[0; 4], 4, "animations[0].samplers[0].input: the time of key 1 is not after"),
        (TIMES, 0, &nan, 0, "animations[0].samplers[0].input: element 0 of accessors[4] is not finite"),
        (ROTATIONS, 16, &[0; 4], 16, "animations[0].samplers[0].output: element 1 must be a quaternion of length 1"),
    ] {
        let mut sketch = skinned_triangle();
        let start = sketch.byte_of(accessor) - sketch.byte_of(POSITION) + at;
        sketch.bin[start..start + bytes.len()].copy_from_slice(bytes);
        let said = sketch.read().unwrap_err().to_string();
        let place = format!("byte {}: ", sketch.byte_of(accessor) + element);
        assert!(said.starts_with(&place) && said.contains(reason), "expected {place}{reason}, got {said}");
    }
}

#[test]
fn memory_that_no_byte_stands_for_is_refused() {
    let mut sketch = skinned_triangle();
    sketch.document["accessors"][0] = json!({"componentType": 5126, "count": 1_000_000_000, "type": "VEC3"});
    let said = sketch.read().unwrap_err().to_string();
    assert!(said.contains("has no buffer view"), "{said}");
    // As many primitives as fit in a few kilobytes, with the same vertices.
    let mut sketch = skinned_triangle();
    sketch.document["accessors"][0] = json!({"componentType": 5126, "count": 3000, "type": "VEC3"});
    sketch.document["meshes"][0]["primitives"] = vec![json!({"attributes": {"POSITION": 0}}); 2000].into();
    let said = sketch.read().unwrap_err().to_string();
    assert!(said.contains("repeats its numbers") && said.starts_with("byte "), "{said}");
    // The same picture again and again.
    let mut sketch = skinned_triangle();
    let view = sketch.view(&[0; 1 << 16]);
    sketch.document["images"] = vec![json!({"bufferView": view}); 2000].into();
    let said = sketch.read().unwrap_err().to_string();
    assert!(said.contains("repeats its numbers"), "{said}");
}

/// Every change of one byte is read or rejected, and everything that is read survives a round trip.
#[test]
fn changed_bytes_never_panic() {
    let sketch = skinned_triangle();
    let good = glb(&sketch.document, &sketch.bin);
    for at in 0..good.len() {
        for value in [0, 1, b'9', b'"', b'-', 0x7f, 0xff] {
            let mut file = good.clone();
            file[at] = value;
            fuzz_one(&file);
        }
    }
}

/// A file that gltfpack has packed and quantized, with the file from which it was made.
#[test]
fn packed_characters_are_what_they_were() {
    let [plain, packed] = [
        &include_bytes!("../../tests/corpus/gltf/hand-rigged.glb")[..],
        include_bytes!("../../tests/corpus/gltf/gltfpack-meshopt.glb"),
    ]
    .map(|bytes| read_rig(bytes, &NoCompanions).unwrap());
    let skinned = |rig: &Rig| -> Vec<Vec3> {
        let pose = rig.pose(rig.animations.first(), 0.25);
        let is_skinned = |node: &&usize| rig.nodes[**node].skin.is_some();
        let nodes: Vec<usize> = (0..rig.nodes.len()).collect();
        let node = *nodes.iter().find(is_skinned).expect("a skin");
        let surface = rig.nodes[node].surface.expect("a surface");
        let parts = &rig.surfaces[surface].parts;
        parts.iter().flat_map(|part| rig.blend(node, part, &part.positions, &pose)).collect()
    };
    let [plain, packed] = [skinned(&plain), skinned(&packed)];
    let size = plain.iter().map(|x| x.norm()).fold(0.0, f64::max);
    // Vertices are in another order, have 14 bits, and at most four weights of 8 bits.
    for (from, to) in [(&plain, &packed), (&packed, &plain)] {
        let gap = |x: &Vec3| to.iter().map(|y| x.distance(*y)).fold(f64::INFINITY, f64::min);
        let worst = from.iter().map(gap).fold(0.0, f64::max);
        assert!(worst < 2e-2 * size, "{worst} of {size}");
    }
}

#[test]
fn descriptions_of_packed_views_are_checked() {
    let packed = include_bytes!("../../tests/corpus/gltf/gltfpack-meshopt.glb");
    let length = u32::from_le_bytes(packed[12..16].try_into().unwrap()) as usize;
    let document: Value = serde_json::from_slice(&packed[20..20 + length]).unwrap();
    let bin = &packed[20 + length + 8..];
    let views = document["bufferViews"].as_array().unwrap();
    let view =
        views.iter().position(|view| view["extensions"]["EXT_meshopt_compression"]["mode"] == "ATTRIBUTES").unwrap();
    for (key, value, reason) in [
        ("mode", json!("ZIP"), "has no known `mode`"),
        ("filter", json!("BLUR"), "has an unknown `filter`"),
        ("count", json!(0), "has a `count` of 0"),
        ("count", json!(7), "unpacks to another number of bytes than the view has"),
        ("byteStride", json!(6), "has a `byteStride` that is not a multiple of 4"),
        ("buffer", json!(9), "buffer 9, which does not exist"),
        ("byteLength", json!(40), "compressed data of bufferViews"),
        ("byteLength", json!(1 << 30), "bytes of bufferViews"),
    ] {
        let mut wrong = document.clone();
        wrong["bufferViews"][view]["extensions"]["EXT_meshopt_compression"][key] = value;
        let said = read_rig(&glb(&wrong, bin), &NoCompanions).unwrap_err().to_string();
        assert!(said.contains(reason), "{key}: {said}");
    }
}
