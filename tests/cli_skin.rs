//! `sinew character` and `sinew skin` from the user's point of view.

use std::path::Path;

use crate::support::character::{arm, complaint, told, write};
use crate::support::fresh_folder;
use sinew_fem::Simulation;
use sinew_fem::force::Attachment;
use sinew_geometry::TriMesh;
use sinew_geometry::procedural::icosphere;
use sinew_io::load_rig;
use sinew_math::{Quaternion, Vec3};
use sinew_rig::{Channel, Interpolation, Keys, MorphTarget, Node, Part, Rig, Surface, Transform, Weights};
use sinew_scene::Scene;

#[test]
fn a_character_is_written_with_its_bones() {
    let folder = fresh_folder("character_hand");
    let said = told(&folder, &["character", "hand", "-o", "hand.glb", "--bones", "b.toml"]);
    assert!(said.contains("hand.glb") && said.contains("b.toml") && said.contains("fist"), "{said}");
    let rig = load_rig(&folder.join("hand.glb")).expect("a character");
    let bones = std::fs::read_to_string(folder.join("b.toml")).expect("bones");
    let bones: toml::Table = bones.parse().expect("TOML");
    let bones = bones["bones"].as_array().expect("a list");
    assert!(bones.len() >= rig.skins[0].joints.len(), "{} bones", bones.len());
    for bone in bones {
        let joint = bone["joint"].as_str().expect("a name");
        assert!(rig.skins[0].joints.iter().any(|&node| rig.nodes[node].name == joint), "{joint}");
        assert!(bone["radius"].as_float().is_some_and(|radius| radius > 0.0), "{bone:?}");
        assert_eq!(bone["ends"].as_array().map(Vec::len), Some(2));
    }
    // A single motion that is not among the default ones.
    told(&folder, &["character", "hand", "--edge", "8 mm", "--motion", "poses", "--seconds", "5", "-o", "poses.glb"]);
    let rig = load_rig(&folder.join("poses.glb")).expect("a character");
    let names: Vec<&str> = rig.animations.iter().map(|animation| animation.name.as_str()).collect();
    assert_eq!((names, rig.animations[0].span()), (vec!["poses"], Some([0.0, 5.0])));
    // Without a name it has its own.
    told(&folder, &["character", "arm", "--edge", "15 mm"]);
    assert!(folder.join("arm.glb").exists());
}

#[test]
fn characters_that_cannot_be_made_are_refused() {
    let folder = fresh_folder("character_refused");
    complaint(&folder, &["character", "foot"], &["foot", "arm, hand, torso"]);
    complaint(&folder, &["character", "hand", "--edge", "2 cm"], &["0.02 m", "hand", "hint: try an edge of 0.003 m"]);
    complaint(&folder, &["character", "hand", "--motion", "dance"], &["`dance`", "hint: it has fist,", "poses"]);
    complaint(&folder, &["character", "hand", "--seconds", "0"], &["seconds", "positive"]);
    complaint(&folder, &["character", "hand", "-o", "hand.fbx"], &["hand.fbx", ".glb or .gltf"]);
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0, "something was left behind");
}

/// Points of a PC2 file, sample by sample.
fn read_point_cache(path: &Path) -> Vec<Vec<Vec3>> {
    let bytes = std::fs::read(path).expect("a point cache");
    assert_eq!(&bytes[..12], b"POINTCACHE2\0");
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    assert_eq!(i32::from_le_bytes(word(12)), 1);
    let [points, samples] = [16, 28].map(|at| i32::from_le_bytes(word(at)) as usize);
    assert_eq!(bytes.len(), 32 + 12 * points * samples);
    let number = |k: usize| f64::from(f32::from_le_bytes(word(32 + 4 * k)));
    let point = |k: usize| Vec3::new(number(3 * k), number(3 * k + 1), number(3 * k + 2));
    (0..samples).map(|sample| (0..points).map(|k| point(sample * points + k)).collect()).collect()
}

#[test]
fn an_arm_with_flesh_is_written_in_all_formats() {
    let folder = fresh_folder("skin_arm");
    told(&folder, &["character", "arm", "--edge", "15 mm", "--seconds", "0.25", "-o", "arm.glb"]);
    let outputs = ["-o", "out/arm.usda", "-o", "out/arm.glb", "-o", "out/arm.pc2"];
    let options = ["skin", "arm.glb", "--cell", "2.5 cm", "--contact", "none", "--duration", "0.125 s"];
    let said = told(&folder, &[&options[..], &outputs].concat());
    for file in ["arm.usda", "arm.glb", "arm.pc2", "report.html"] {
        assert!(said.contains(file), "{file}: {said}");
    }
    let rig = load_rig(&folder.join("arm.glb")).expect("a character");
    let part = &rig.surfaces[0].parts[0];
    let node = rig.nodes.iter().position(|node| node.surface.is_some()).expect("a skin");

    // Frames of the animation alone: 3 steps of 1/24 s.
    let samples = read_point_cache(&folder.join("out/arm.pc2"));
    assert_eq!((samples.len(), samples[0].len()), (4, part.positions.len()));
    let blended = rig.blend(node, part, &part.positions, &rig.pose(rig.animations.first(), 0.0));
    let worst = samples[0].iter().zip(&blended).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(worst < 1e-3, "{worst} m from the first pose");
    // It moves, and flesh stays near its skeleton.
    let blended = rig.blend(node, part, &part.positions, &rig.pose(rig.animations.first(), 0.125));
    let moved = samples[3].iter().zip(&samples[0]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    let mean = samples[3].iter().zip(&blended).map(|(a, b)| a.distance(*b)).sum::<f64>() / blended.len() as f64;
    assert!(moved > 0.1 && mean < 0.03, "moved by {moved} m, {mean} m from blend skinning");

    let back = load_rig(&folder.join("out/arm.glb")).expect("the character");
    let part_back = &back.surfaces[0].parts[0];
    assert_eq!((&part_back.triangles, &part_back.texcoords), (&part.triangles, &part.texcoords));
    let names = |rig: &Rig| rig.appearance.materials.iter().map(|m| (m.name.clone(), m.base_color)).collect::<Vec<_>>();
    assert_eq!((names(&back), part_back.material), (names(&rig), part.material));
    let [first, last] = back.animations[0].span().expect("keys");
    assert!(!part_back.morph_targets.is_empty() && first.abs() < 1e-6 && (last - 0.125).abs() < 1e-6, "{first} {last}");

    let usd = std::fs::read_to_string(folder.join("out/arm.usda")).expect("text");
    for line in
        ["def Material \"skin\"", "primvars:st", "normals.timeSamples", "points.timeSamples", "endTimeCode = 3\n"]
    {
        assert!(usd.contains(line), "{line}");
    }
    assert!(folder.join("out/arm/report.html").exists());
}

/// With correctives the file keeps skeleton, weights, both of its animations and a morph target of its own, and skinning
/// comes near the flesh.
#[test]
fn correctives_keep_the_skeleton() {
    let folder = fresh_folder("skin_correctives");
    told(&folder, &["character", "arm", "--edge", "25 mm", "--seconds", "1", "-o", "arm.glb"]);
    let mut rig = load_rig(&folder.join("arm.glb")).expect("a character");
    // So small that distances below do not see it.
    let own = vec![Vec3::splat(1e-6); rig.surfaces[0].parts[0].positions.len()];
    rig.surfaces[0].parts[0].morph_targets =
        vec![MorphTarget { name: "smile".into(), positions: own, normals: Vec::new() }];
    rig.surfaces[0].morph_weights = vec![0.25];
    let skin = rig.nodes.iter().position(|node| node.surface.is_some()).expect("a skin");
    let curl = rig.animations.iter_mut().find(|animation| animation.name == "curl").expect("the animation");
    curl.channels.push(Channel {
        node: skin,
        times: vec![0.0, 1.0],
        interpolation: Interpolation::Linear,
        keys: Keys::Morph(1, vec![0.25, 0.75]),
    });
    write(&rig, &folder.join("arm.glb"));
    let options = ["skin", "arm.glb", "--animation", "curl", "--cell", "2.5 cm", "--contact", "none", "--no-pictures"];
    let outputs = ["--correctives", "6", "-o", "out/arm.glb", "-o", "out/arm.pc2"];
    let said = told(&folder, &[&options[..], &outputs].concat());
    assert!(said.contains("arm.glb: 6 corrective shapes") && said.contains("worst poses"), "{said}");
    let report = std::fs::read_to_string(folder.join("out/arm/report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let poses = report["figures"]["arm.glb"]["rows"].as_array().expect("distances in each pose");
    assert!(
        poses.len() > 20 && poses.iter().all(|pose| pose["mean"].as_f64() <= pose["largest"].as_f64()),
        "{poses:?}"
    );
    let [rig, back] = ["arm.glb", "out/arm.glb"].map(|file| load_rig(&folder.join(file)).expect("a character"));
    let part = &back.surfaces[0].parts[0];
    assert_eq!((part.morph_targets.len(), back.skins.len(), back.nodes.len()), (7, 1, rig.nodes.len()));
    assert_eq!(part.morph_targets[6].name, "smile");
    assert_eq!(part.weights, rig.surfaces[0].parts[0].weights);
    let names = |rig: &Rig| rig.animations.iter().map(|animation| animation.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&back), names(&rig));
    // As a program would show it, against the exact motion.
    let node = back.nodes.iter().position(|node| node.surface.is_some()).expect("a skin");
    let animation = back.animation(Some("curl")).expect("the animation");
    let flesh = read_point_cache(&folder.join("out/arm.pc2"));
    let mean = |shown: &[Vec3], frame: usize| {
        shown.iter().zip(&flesh[frame]).map(|(a, b)| a.distance(*b)).sum::<f64>() / shown.len() as f64
    };
    let mut sums = [0.0; 2];
    for frame in 0..flesh.len() {
        let time = frame as f64 / 24.0;
        let (pose, weights) = (back.pose(animation, time), back.morph_weights(node, animation, time));
        sums[0] += mean(&back.blend(node, part, &part.morphed(&weights), &pose), frame);
        sums[1] += mean(&back.blend(node, part, &part.positions, &pose), frame);
    }
    assert!(sums[0] < 0.1 * sums[1], "{} of {} m", sums[0], sums[1]);
    assert!((back.morph_weights(node, animation, 0.5)[6] - 0.5).abs() < 1e-6);
    assert_eq!(back.morph_weights(node, None, 0.0), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25]);
    // What was not simulated has weights too.
    let punch = back.animation(Some("punch")).expect("another animation");
    assert!(back.morph_weights(node, punch, 0.5).iter().any(|weight| weight.abs() > 0.05));
}

/// A root that mirrors everything: the output has no root, and must face outward without it.
#[test]
fn a_mirrored_arm_is_not_inside_out() {
    let folder = fresh_folder("skin_mirrored");
    let mut rig = arm();
    let root = rig.nodes.len();
    rig.nodes.iter_mut().for_each(|node| node.parent = node.parent.or(Some(root)));
    rig.nodes.push(Node {
        name: "mirror".into(),
        parent: None,
        transform: Transform::Parts {
            translation: Vec3::zero(),
            rotation: Quaternion::identity(),
            scale: Vec3::new(-1.0, 1.0, 1.0),
        },
        surface: None,
        skin: None,
        morph_weights: None,
        is_shown: true,
    });
    write(&rig, &folder.join("arm.glb"));
    let options =
        ["--cell", "2.5 cm", "--contact", "none", "--duration", "0 s", "--frame-rate", "4", "-o", "out/arm.glb"];
    told(&folder, &[&["skin", "arm.glb"][..], &options].concat());
    let back = load_rig(&folder.join("out/arm.glb")).expect("the character");
    let volume = |rig: &Rig| {
        let part = &rig.surfaces[0].parts[0];
        TriMesh::new(part.positions.clone(), part.triangles.clone()).expect("a surface").volume()
    };
    assert!((volume(&back) / volume(&rig) - 1.0).abs() < 1e-3, "{} against {} m³", volume(&back), volume(&rig));
}

/// Before its first key an animation stands still, here at rest up to the rounding of the file.
#[test]
fn a_character_may_stand_still() {
    let folder = fresh_folder("skin_still");
    write(&arm(), &folder.join("arm.glb"));
    let options = ["--cell", "2.5 cm", "--contact", "none", "--frame-rate", "12", "--start", "-1 s", "--duration"];
    told(&folder, &[&["skin", "arm.glb", "-o", "out/arm.pc2"][..], &options, &["0.25 s"]].concat());
    let samples = read_point_cache(&folder.join("out/arm.pc2"));
    let moved = samples[3].iter().zip(&samples[0]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(samples.len() == 4 && moved < 1e-5, "{} samples, moved by {moved} m", samples.len());
}

#[test]
fn what_cannot_get_flesh_is_refused_with_the_cause() {
    let folder = fresh_folder("skin_refused");
    let rig = arm();
    write(&rig, &folder.join("arm.glb"));
    let mut still = rig.clone();
    still.animations.clear();
    write(&still, &folder.join("still.glb"));
    let mut bare = rig.clone();
    bare.skins.clear();
    bare.nodes.iter_mut().for_each(|node| node.skin = None);
    bare.surfaces[0].parts[0].weights = Weights::default();
    write(&bare, &folder.join("bare.glb"));
    let bone = "bones = [{ joint = \"elbw\", ends = [[0, 0, 0], [\"10 cm\", 0, 0]], radius = \"5 mm\" }]\n";
    std::fs::write(folder.join("bones.toml"), bone).expect("bones");
    let cases: [(&[&str], &[&str]); 11] = [
        (&["still.glb"], &["still.glb", "no animation"]),
        (&["bare.glb"], &["bare.glb", "no visible node", "skin"]),
        (&["arm.glb", "--animation", "dance"], &["arm.glb", "`dance`", "`curl`"]),
        (&["arm.glb", "-o", "out/arm.fbx"], &["arm.fbx", ".usdz, .pc2 or .glb"]),
        (&["arm.glb", "--correctives", "8"], &["--correctives", "no output is a .glb file", "hint: add -o"]),
        (&["arm.glb", "--correctives", "0"], &["--correctives", "0 is not in 1..=512"]),
        (&["arm.glb", "-o", "arm.glb"], &["arm.glb", "would overwrite it"]),
        (&["arm.glb", "--surface", "tail"], &["arm.glb", "\"tail\"", "\"arm\""]),
        (&["arm.glb", "--bones", "bones.toml", "--cell", "2.5 cm"], &["\"elbw\"", "did you mean \"elbow\"?"]),
        (&["arm.glb", "--bones", "nothing.toml"], &["nothing.toml"]),
        (&["nobody.glb"], &["nobody.glb"]),
    ];
    for (arguments, causes) in cases {
        complaint(&folder, &[&["skin"][..], arguments].concat(), causes);
    }
    assert!(!folder.join("out").exists(), "something was left behind");
}

#[test]
fn the_scene_of_a_character_can_be_written_and_checked() {
    let folder = fresh_folder("skin_scene");
    write(&arm(), &folder.join("arm.glb"));
    told(&folder, &["skin", "arm.glb", "--cell", "2.5 cm", "--animation", "reach", "--scene", "arm.toml"]);
    let scene = std::fs::read_to_string(folder.join("arm.toml")).expect("a scene");
    assert!(scene.contains("animation = \"reach\"") && scene.contains("[body.rig]"), "{scene}");
    told(&folder, &["check", "arm.toml"]);
}

/// Bones from a file in another folder: a capsule that holds, and modeled ones over which flesh slides.
#[test]
fn flesh_slides_over_modelled_bones() {
    let folder = fresh_folder("skin_bones");
    // A ball on the elbow, in the file of the character.
    let mut rig = arm();
    let ball = icosphere(0.008, 4).expect("a ball");
    let part = Part { positions: ball.positions().to_vec(), triangles: ball.triangles().to_vec(), ..Part::default() };
    let elbow = rig.nodes.iter().position(|node| node.name == "elbow").expect("a joint");
    rig.nodes.push(Node {
        name: "knob".into(),
        parent: Some(elbow),
        transform: Transform::from_translation(Vec3::new(0.02, -0.015, 0.0)),
        surface: Some(rig.surfaces.len()),
        ..rig.nodes[elbow].clone()
    });
    rig.surfaces.push(Surface { name: "knob".into(), parts: vec![part], morph_weights: Vec::new() });
    write(&rig, &folder.join("arm.glb"));
    std::fs::create_dir(folder.join("bones")).expect("a folder");
    let obj = ball.positions().iter().map(|x| format!("v {} {} {}\n", x.x + 0.38, x.y - 0.01, x.z));
    let faces = ball.triangles().iter().map(|t| format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1));
    std::fs::write(folder.join("bones/ball.obj"), obj.chain(faces).collect::<String>()).expect("a mesh");
    let slide =
        |name: &str, form: &str| format!("{{ name = \"{name}\", joint = \"elbow\", {form}, hold = \"slide\" }}");
    let bones = |list: &[String]| format!("bones = [{}]\n", list.join(", "));
    let list = [slide("knob", "surface = \"knob\", cover = \"2 mm\""), slide("ball", "mesh = \"ball.obj\"")];
    std::fs::write(folder.join("bones/arm.toml"), bones(&list)).expect("bones");
    let options = ["skin", "arm.glb", "--cell", "2.5 cm", "--contact", "barrier", "--duration", "0.05 s", "--bones"];
    let said = told(&folder, &[&options[..], &["bones/arm.toml"]].concat());
    assert!(said.contains("it slides over 2 more"), "{said}");
    for (list, causes) in [
        (slide("ball", "mesh = \"nothing.obj\""), &["nothing.obj"][..]),
        (slide("knob", "surface = \"knop\""), &["\"knop\"", "did you mean \"knob\"?"]),
        (slide("knob", "radius = \"1 cm\""), &["one of `ends`, `mesh` and `surface`"]),
        (slide("knob", "ends = [[0, 0, 0], [1, 0, 0]]"), &["`ends` and `radius` belong together"]),
        ("{ joint = \"elbow\", surface = \"knob\", hold = \"soft\" }".into(), &["a surface has no axis"]),
        ("{ joint = \"elbow\", surface = \"knob\", cover = \"1 mm\" }".into(), &["`cover` needs"]),
    ] {
        std::fs::write(folder.join("bones/wrong.toml"), bones(&[list])).expect("bones");
        complaint(&folder, &[&options[..], &["bones/wrong.toml"]].concat(), causes);
    }
    for (text, cause) in
        [("hold = \"slide\"\n", "list `bones` is missing"), ("bones = []\nhold = \"slide\"\n", "nothing would hold it")]
    {
        std::fs::write(folder.join("bones/wrong.toml"), text).expect("bones");
        complaint(&folder, &[&options[..], &["bones/wrong.toml"]].concat(), &[cause]);
    }
}

/// Attachment stiffness of soft bones by bone and by paint, stiffness of flesh by joint and by paint: all from one
/// character.
#[test]
fn firmness_and_stiffness_are_said_by_name_or_painted() {
    let folder = fresh_folder("skin_paint");
    let mut rig = arm();
    let part = &mut rig.surfaces[0].parts[0];
    // Nothing is painted up to the elbow, at 33.5 cm.
    let paint = part.positions.iter().map(|x| if x.x < 0.335 { 0.0 } else { 1.0 }).collect();
    part.numbers.insert("_PAINT".into(), paint);
    write(&rig, &folder.join("arm.glb"));
    let scene = |body: &str, more: &str| {
        format!(
            r#"
duration = "0 s"
[solver]
type = "quasistatic"
[[body]]
name = "arm"
mesh = {{ from = "arm.glb", element = "lattice", cell = "1.5 cm" }}
material = {{ type = "corotated", young = "20 kPa", poisson = 0.25 }}
{body}
[body.rig]
hold = "soft"
attachment_stiffness = 10
{more}
"#
        )
    };
    let model = |body: &str, more: &str| {
        let scene = Scene::from_str(&scene(body, more), "arm", &folder).expect("a scene");
        sinew_run::compile::compile(&scene).expect("a simulation")
    };
    // μ = 8 kPa, times the edge of a cell.
    let unit = 8e3 * 0.015;
    let bones = r#"bones = [
    { joint = "shoulder", ends = [[0.05, 0, 0], [0.30, 0, 0]], radius = "1 cm", attachment_stiffness = 40 },
    { joint = "elbow", ends = [[0.37, 0, 0], [0.55, 0.015, 0]], radius = "1 cm" },
    { joint = "wrist", ends = [[0.59, 0.02, 0], [0.66, 0.02, 0]], radius = "1 cm", hold = "hard" },
]"#;
    let firmness = |simulation: &Simulation, name: &str| {
        let springs = &simulation
            .model()
            .forces_of::<Attachment>()
            .find(|group| group.name.ends_with(name))
            .expect("springs")
            .springs;
        let of = |worst: fn(f64, f64) -> f64| springs.iter().map(|spring| spring.stiffness / unit).reduce(worst);
        [of(f64::min).expect("one"), of(f64::max).expect("one")]
    };
    let is = |got: [f64; 2], expected: f64| got.iter().all(|value| (value / expected - 1.0).abs() < 1e-6);
    let plain = model("", bones);
    assert!(is(firmness(&plain, "shoulder"), 40.0) && is(firmness(&plain, "elbow"), 10.0));
    let map = r#"attachment_stiffness_map = { attribute = "_PAINT", factor = [0.5, 3] }"#;
    let painted = model("", &format!("{bones}\n{map}"));
    let shoulder = firmness(&painted, "shoulder");
    assert!(is(shoulder, 20.0), "{shoulder:?}");
    assert!(is(firmness(&painted, "elbow"), 30.0));

    // Cells in the middle of the forearm, entirely flesh, and the same of the upper arm.
    let young = |simulation: &Simulation| {
        let body = &simulation.model().bodies[0];
        let stiffest = |range: std::ops::Range<f64>| {
            let x = body.mesh.positions();
            let cells = body
                .mesh
                .cells()
                .zip(&body.materials)
                .filter(|((_, nodes), _)| range.contains(&x[nodes[0] as usize].x));
            cells.map(|(_, spec)| spec.moduli().young_poisson().0).fold(0.0, f64::max)
        };
        [stiffest(0.15..0.25), stiffest(0.42..0.52)]
    };
    let by_joint = model(r#"material_regions = [{ region = "elbow", young = "60 kPa" }]"#, bones);
    let by_paint = model(r#"material_maps = [{ attribute = "_PAINT", young = ["20 kPa", "60 kPa"] }]"#, bones);
    for simulation in [by_joint, by_paint] {
        let [upper, fore] = young(&simulation);
        assert!((upper / 20e3 - 1.0).abs() < 1e-6 && (fore / 60e3 - 1.0).abs() < 1e-6, "{upper} {fore}");
    }

    let refused = |more: &str, cause: &str| {
        std::fs::write(folder.join("wrong.toml"), scene("", more)).expect("a scene");
        complaint(&folder, &["check", "wrong.toml"], &[cause]);
    };
    refused("attachment_stiffness_map = { attribute = \"_PINT\" }", "_PAINT");
    refused("attachment_stiffness_map = { }", "`attribute` or `texture`");
    refused(
        &bones.replace("hold = \"hard\"", "hold = \"hard\", attachment_stiffness = 3"),
        "`attachment_stiffness` needs",
    );
}
