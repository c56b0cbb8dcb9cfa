//! The same character, exported in many ways: scaled and turned armatures, matrices in centimeters, several skins bound in
//! different poses, files of VRM, units and axes that are not ours. Each is read as the file means it, or refused with all
//! causes at once.

use std::path::Path;

use crate::support::character::{arm, complaint, told, write};
use crate::support::fresh_folder;
use serde_json::{Value, json};
use sinew_io::load_rig;
use sinew_math::{Mat3, Quaternion, Vec3};
use sinew_rig::{Affine, Channel, Flesh, FleshParams, Interpolation, Keys, Node, Rig, Transform};

/// Options of a quick run.
const BRIEF: [&str; 8] = ["--cell", "2.5 cm", "--duration", "0.125 s", "--frame-rate", "8", "--contact", "none"];

fn node(name: &str, parent: Option<usize>, transform: Transform) -> Node {
    Node { name: name.into(), parent, transform, surface: None, skin: None, morph_weights: None, is_shown: true }
}

/// The character below an armature that scales and turns it, with nodes, vertices and inverse bind matrices in a unit \[m\].
fn below(rig: &Rig, unit: f64, armature: Transform) -> Rig {
    let mut rig = rig.clone();
    let root = rig.nodes.len();
    for node in &mut rig.nodes {
        node.parent = node.parent.or(Some(root));
        let Transform::Parts { translation, .. } = &mut node.transform else { panic!("parts") };
        *translation /= unit;
    }
    rig.nodes.push(node("Armature", None, armature));
    for channel in rig.animations.iter_mut().flat_map(|animation| &mut animation.channels) {
        if let Keys::Translation(keys) = &mut channel.keys {
            keys.iter_mut().for_each(|key| *key /= unit);
        }
    }
    rig.skins.iter_mut().flat_map(|skin| &mut skin.inverse_binds).for_each(|bind| bind.translation /= unit);
    rig.surfaces[0].parts[0].positions.iter_mut().for_each(|x| *x /= unit);
    rig
}

fn scaled_by(scale: f64) -> Transform {
    Transform::Parts { translation: Vec3::zero(), rotation: Quaternion::identity(), scale: Vec3::splat(scale) }
}

/// Changes the JSON of a GLB.
fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let bytes = std::fs::read(path).expect("a file");
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let mut value: Value = serde_json::from_slice(&bytes[20..20 + length]).expect("JSON");
    change(&mut value);
    let mut text = value.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let rest = &bytes[20 + length..];
    let all = 20 + text.len() + rest.len();
    let numbers = |number: usize| (number as u32).to_le_bytes();
    let head = [&b"glTF"[..], &numbers(2), &numbers(all), &numbers(text.len()), b"JSON"].concat();
    std::fs::write(path, [&head[..], &text, rest].concat()).expect("it is written");
}

/// Points of all frames of the only mesh of a USD file.
fn points(path: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(path).expect("text");
    let samples = text.split("point3f[] points.timeSamples = {").nth(1).and_then(|rest| rest.split('}').next());
    let of_line = |line: &str| -> Option<Vec<f64>> {
        let (_, numbers) = line.split_once(": [")?;
        let numbers = numbers.split([',', '(', ')', ' ', ']']).filter(|word| !word.is_empty());
        Some(numbers.map(|word| word.parse().expect("a number")).collect())
    };
    samples.expect("points").lines().filter_map(of_line).collect()
}

/// Simulated flesh is the same, whatever the units of nodes and matrices, and so are the frames that are written.
#[test]
fn an_armature_in_centimeters_makes_no_difference() {
    let folder = fresh_folder("export_armature");
    let plain = arm();
    write(&plain, &folder.join("plain.glb"));
    write(&below(&plain, 0.01, scaled_by(0.01)), &folder.join("scaled.glb"));
    for name in ["plain", "scaled"] {
        let said = told(
            &folder,
            &[&["skin", &format!("{name}.glb"), "-o", &format!("{name}.usda"), "--no-pictures"][..], &BRIEF].concat(),
        );
        assert!(said.contains("4 of 4 joints hold flesh") && !said.contains("scaled by"), "{said}");
    }
    let [a, b] = ["plain.usda", "scaled.usda"].map(|name| points(&folder.join(name)));
    assert_eq!((a.len(), a[0].len()), (b.len(), b[0].len()));
    let worst = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // Files have single precision, and steps end when forces are small.
    assert!(a.len() == 2 && worst < 1e-4, "{worst} m");
}

/// Scaled joints: bones that hold cells and bones that hold by springs stretch with them, so that flesh moves by as much
/// as the file says.
#[test]
fn flesh_follows_joints_that_are_stretched() {
    let folder = fresh_folder("export_stretch");
    let plain = arm();
    let elbow = plain.nodes.iter().position(|node| node.name == "elbow").expect("a joint");
    let mut long = plain.clone();
    long.animations[0].channels.push(Channel {
        node: elbow,
        times: vec![0.0, 0.125],
        interpolation: Interpolation::Linear,
        keys: Keys::Scale(vec![Vec3::splat(1.0), Vec3::new(1.3, 1.0, 1.0)]),
    });
    let last_of = |rig: &Rig, name: &str, hold: &str| -> (String, Vec<f64>, Vec<Vec3>) {
        let (file, output) = (format!("{name}_{hold}.glb"), format!("{name}_{hold}.usda"));
        write(rig, &folder.join(&file));
        told(&folder, &[&["skin", &file, "-o", &output, "--scene", "scene.toml"][..], &BRIEF].concat());
        let hold = format!("body.flesh.rig.hold=\"{hold}\"");
        let settings = ["--set", &hold, "--set", "record.pictures=false"];
        let said = told(&folder, &[&["run", "scene.toml", "-o", "."][..], &settings].concat());
        let part = &rig.surfaces[0].parts[0];
        let at = rig.nodes.iter().position(|node| node.surface.is_some()).expect("a skin");
        let pose = rig.pose(rig.animations.first(), 0.125);
        let flesh = points(&folder.join(output)).pop().expect("a frame");
        (said, flesh, rig.blend(at, part, &part.positions, &pose))
    };
    let (_, flesh, blended) = last_of(&plain, "plain", "hard");
    let (said, long_flesh, long_blended) = last_of(&long, "long", "hard");
    let (soft_said, soft_flesh, _) = last_of(&long, "long", "soft");
    assert!(said.contains("bones stretch with them") && soft_said.contains("bones stretch with them"), "{said}");
    // How far the stretch moves each vertex, by blend skinning and of flesh. Flesh on springs can roll about straight
    // bones, so it is compared with that which bones hold.
    let (mut moved, mut apart, mut soft) = (0.0, 0.0, 0.0);
    for (k, (x, long)) in blended.iter().zip(&long_blended).enumerate() {
        let place = |flesh: &[f64]| Vec3::new(flesh[3 * k], flesh[3 * k + 1], flesh[3 * k + 2]);
        moved += (*long - *x).norm();
        apart += (place(&long_flesh) - place(&flesh) - (*long - *x)).norm();
        soft += place(&soft_flesh).distance(place(&long_flesh));
    }
    let mean = moved / blended.len() as f64;
    assert!(
        mean > 0.01 && apart < 0.25 * moved && soft < 0.25 * moved,
        "moved by {mean} m in the mean, of which {} are missed, and {} on springs",
        apart / moved,
        soft / moved
    );
}

/// A file of VRM is a GLB: it is read by that name, with the bones that its map names.
#[test]
fn vrm_files_are_characters_with_named_bones() {
    let folder = fresh_folder("export_vrm");
    let rig = arm();
    let [elbow, wrist] = ["elbow", "wrist"].map(|name| rig.nodes.iter().position(|n| n.name == name).expect("a joint"));
    let maps = [
        json!({"VRMC_vrm": {"specVersion": "1.0", "humanoid": {"humanBones": {
            "leftLowerArm": {"node": elbow}, "leftHand": {"node": wrist}}}}}),
        json!({"VRM": {"humanoid": {"humanBones": [
            {"bone": "leftLowerArm", "node": elbow}, {"bone": "leftHand", "node": wrist},
            {"bone": "leftThumbProximal", "node": wrist}, {"bone": "neck", "node": -1}]}}}),
    ];
    for (k, map) in maps.into_iter().enumerate() {
        let file = folder.join(format!("arm{k}.vrm"));
        write(&rig, &file);
        edit(&file, |json| {
            json["extensionsUsed"] = map.as_object().expect("a table").keys().cloned().collect::<Vec<_>>().into();
            json["extensions"] = map;
        });
        let read = load_rig(&file).expect("a character");
        assert_eq!(read.humanoid["leftLowerArm"], elbow);
        assert_eq!(read.humanoid["leftHand"], wrist);
        assert_eq!(read.humanoid.get("leftThumbMetacarpal"), (k == 1).then_some(&wrist));
        assert!(!read.humanoid.contains_key("neck"));
        told(&folder, &["skin", &format!("arm{k}.vrm"), "--scene", "scene.toml", "--cell", "2.5 cm"]);
        assert!(told(&folder, &["check", "scene.toml"]).contains("4 of 4 joints hold flesh"));
    }
    write(&rig, &folder.join("arm.vrm"));
    edit(&folder.join("arm.vrm"), |json| {
        json["extensions"] = json!({"VRM": {"humanoid": {"humanBones": [{"bone": "hips", "node": 99}]}}})
    });
    complaint(&folder, &["skin", "arm.vrm"], &["humanBones[0].node is node 99, which does not exist"]);
}

/// Hips, head and feet beside the arm, so that it counts as somebody.
fn somebody() -> Rig {
    let mut rig = arm();
    let bones = [("hips", 0.9), ("head", 1.6), ("leftFoot", 0.1), ("rightFoot", 0.1)];
    let root = rig.skins[0].joints[0];
    for (name, y) in bones {
        rig.humanoid.insert(name.into(), rig.nodes.len());
        let transform = Transform::from_translation(Vec3::new(0.0, y, 0.0));
        rig.nodes.push(node(name, Some(root), transform));
    }
    rig
}

/// Writes a character with its map of bones.
fn write_human(rig: &Rig, path: &Path) {
    write(rig, path);
    let bones: serde_json::Map<String, Value> =
        rig.humanoid.iter().map(|(name, node)| (name.clone(), json!({ "node": node }))).collect();
    edit(path, |json| json["extensions"] = json!({"VRMC_vrm": {"humanoid": {"humanBones": bones}}}));
}

#[test]
fn people_of_100_meters_are_asked_about() {
    let folder = fresh_folder("export_units");
    let human = somebody();
    let size =
        |rig: &Rig| Flesh::new(rig, &FleshParams::default()).expect("flesh").surface.bounds().size().max_component();
    let large = below(&human, 1.0, scaled_by(100.0));
    write_human(&large, &folder.join("large.vrm"));
    write_human(&below(&human, 1.0, scaled_by(0.01)), &folder.join("small.vrm"));
    let asked = ["m large", "not in meters", "hint: --scale 0.01 if its file is in centimeters", "--scale 1 if it is"];
    complaint(&folder, &["skin", "large.vrm"], &asked);
    complaint(&folder, &["skin", "small.vrm"], &["--scale 100 if its file is in hundreds of meters"]);
    complaint(&folder, &["skin", "large.vrm", "--scale", "-2"], &["--scale", "positive"]);
    assert!(!folder.join("out").exists());

    told(&folder, &["skin", "large.vrm", "--scale", "0.01", "--scene", "scene.toml"]);
    let scene = std::fs::read_to_string(folder.join("scene.toml")).expect("a scene");
    assert!(scene.contains("\nscale = 0.01\n"), "{scene}");
    let said = told(&folder, &["check", "scene.toml"]);
    assert!(!said.contains(" large"), "{said}");
    let said =
        told(&folder, &["check", "scene.toml", "--set", "body.flesh.scale=1", "--set", "body.flesh.mesh.cell=\"4 m\""]);
    assert!(said.contains("m large") && said.contains("`scale = 0.01` if its file is in centimeters"), "{said}");
    // The same cells as those of the character in meters, and the same size.
    write_human(&human, &folder.join("human.vrm"));
    told(&folder, &["skin", "human.vrm", "--scene", "meters.toml"]);
    let meters = std::fs::read_to_string(folder.join("meters.toml")).expect("a scene");
    let line = |text: &str, word: &str| text.lines().find(|line| line.contains(word)).map(str::to_string);
    assert_eq!(line(&scene, "gap ="), line(&meters, "gap ="));
    let cell = |text: &str| text.split("cell = \"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_string);
    assert_eq!(cell(&scene), cell(&meters));
    assert!((size(&large) / size(&human) - 100.0).abs() < 1e-6);
}

#[test]
fn people_on_their_side_are_told() {
    let folder = fresh_folder("export_up");
    let turn = Quaternion::from_axis_angle(Vec3::unit(0), std::f64::consts::FRAC_PI_2);
    let lying = Transform::Parts { translation: Vec3::zero(), rotation: turn, scale: Vec3::splat(1.0) };
    write_human(&below(&somebody(), 1.0, lying), &folder.join("lying.vrm"));
    write_human(&somebody(), &folder.join("standing.vrm"));
    let told_of = |file: &str, up: &str| {
        told(&folder, &["skin", file, "--up", up, "--scene", "scene.toml", "--cell", "2.5 cm"]);
        told(&folder, &["check", "scene.toml"])
    };
    let said = told_of("lying.vrm", "y");
    assert!(said.contains("lies on its side: z runs") && said.contains("--up z"), "{said}");
    assert!(!told_of("lying.vrm", "z").contains("lies on"));
    assert!(!told_of("standing.vrm", "y").contains("lies on"));
}

/// Keys have single precision: the first key at frame 1 may be at 0.9999996, which is 1.
#[test]
fn keys_at_frames_give_whole_time_codes() {
    let folder = fresh_folder("export_codes");
    let mut rig = arm();
    for channel in rig.animations.iter_mut().flat_map(|animation| &mut animation.channels) {
        for time in &mut channel.times {
            // Frame 1 of 24, the single-precision number below it.
            *time += f64::from(f32::from_bits((1.0f32 / 24.0).to_bits() - 8));
        }
    }
    write(&rig, &folder.join("arm.glb"));
    let options = ["--cell", "5 cm", "--duration", "0.05 s", "--contact", "none", "--no-pictures"];
    told(&folder, &[&["skin", "arm.glb", "-o", "out/arm.usda", "-o", "out/arm.pc2"][..], &options].concat());
    let usd = std::fs::read_to_string(folder.join("out/arm.usda")).expect("text");
    assert!(usd.contains(" 1: [") && usd.contains(" 2: [") && usd.contains("startTimeCode = 1\n"), "{}", &usd[..400]);
    let cache = std::fs::read(folder.join("out/arm.pc2")).expect("a cache");
    let first = f32::from_le_bytes(cache[20..24].try_into().expect("four bytes"));
    assert_eq!(first, 1.0);
}

#[test]
fn everything_wrong_with_numbers_is_told_at_once() {
    let folder = fresh_folder("export_numbers");
    let mut rig = arm();
    write(&rig, &folder.join("arm.glb"));
    // Not a number in two channels, in the weights and in a matrix.
    let bytes = std::fs::read(folder.join("arm.glb")).expect("a file");
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let json: Value = serde_json::from_slice(&bytes[20..20 + length]).expect("JSON");
    let mut broken = bytes.clone();
    let index = |value: &Value| value.as_u64().expect("an index") as usize;
    let samplers = &json["animations"][0]["samplers"];
    let outputs = [0, 1].map(|k| index(&samplers[k]["output"]));
    let binds = index(&json["skins"][0]["inverseBindMatrices"]);
    for accessor in [outputs[0], outputs[1], binds] {
        let accessor = &json["accessors"][accessor];
        let view = &json["bufferViews"][index(&accessor["bufferView"])];
        let offset = |value: &Value| value["byteOffset"].as_u64().unwrap_or(0) as usize;
        let at = 20 + length + 8 + offset(view) + offset(accessor);
        broken[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    }
    std::fs::write(folder.join("broken.glb"), broken).expect("it is written");
    let causes =
        ["broken.glb", "skins[0].inverseBindMatrices", "samplers[0].output", "samplers[1].output", "is not finite"];
    complaint(&folder, &["skin", "broken.glb"], &causes);

    // Matrices that cannot be inverted, and a file of motions alone.
    for bind in &mut rig.skins[0].inverse_binds[1..3] {
        *bind = Affine { linear: Mat3::zero(), translation: Vec3::zero() };
    }
    write(&rig, &folder.join("flat.glb"));
    let names = [1, 2].map(|k| rig.nodes[rig.skins[0].joints[k]].name.clone());
    complaint(&folder, &["skin", "flat.glb"], &["cannot be inverted", &names[0], &names[1], "hint: bind"]);
    let mut motion = arm();
    motion.surfaces.clear();
    motion.skins.clear();
    motion.nodes.iter_mut().for_each(|node| (node.surface, node.skin) = (None, None));
    write(&motion, &folder.join("motion.glb"));
    complaint(&folder, &["skin", "motion.glb"], &["no mesh, only", "joints", "hint: it is a motion"]);

    // All weights on one joint: it works, but nothing bends.
    let mut stiff = arm();
    stiff.surfaces[0].parts[0].weights.joints.iter_mut().for_each(|joint| *joint = 1);
    write(&stiff, &folder.join("stiff.glb"));
    told(&folder, &["skin", "stiff.glb", "--scene", "scene.toml", "--cell", "2.5 cm"]);
    assert!(told(&folder, &["check", "scene.toml"]).contains("nothing bends; is it bound"));
}

/// Formats of other programs are named with the command that converts them.
#[test]
fn other_formats_come_with_a_command() {
    let folder = fresh_folder("export_formats");
    for (name, command) in
        [("a.fbx", "bpy.ops.import_scene.fbx"), ("a.blend", "blender -b in.blend"), ("a.dae", "assimp export")]
    {
        std::fs::write(folder.join(name), b"?").expect("it is written");
        complaint(&folder, &["skin", name], &["characters are read from .glb, .gltf and .vrm", "hint: ", command]);
    }
    write(&arm(), &folder.join("arm.glb"));
    edit(&folder.join("arm.glb"), |json| json["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]));
    complaint(&folder, &["skin", "arm.glb"], &["KHR_draco_mesh_compression", "hint: ", "npx @gltf-transform/cli copy"]);
}
