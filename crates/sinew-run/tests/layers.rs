//! Layers of scenes: fascia, flesh over muscles, and their probes.

use sinew_geometry::embedding::Embedding;
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::Scene;

const MUSCLE: &str = r#"duration = "1 s"
gravity = 0
frame_rate = 2
[solver]
type = "quasistatic"
[[body]]
name = "muscle"
mesh = { from = "muscle", shape = "fusiform", length = "12 cm", width = "24 mm", thickness = "24 mm", tendon = ["3 cm", "3 cm"], tendon_width = "14 mm", cell = "6 mm" }
material = { type = "muscle" }
material_regions = [{ region = "tendon", material = { type = "tendon" } }]
muscle = [{ region = "belly", activation = [["0 s", 0], ["1 s", 1]] }]
pin = [{ region = "origin" }, { region = "insertion", motion = { translation = [["0 s", [0, 0, 0]], ["1 s", ["-1 cm", 0, 0]]] } }]
"#;

const LIMB: &str = r#"[[body]]
name = "limb"
mesh = { from = "cylinder", radius = "26 mm", length = "11 cm", cell = "7 mm" }
position = ["5 mm", 0, 0]
material = { type = "stable_neo_hookean", young = "6 kPa", poisson = 0.45 }
over = [{ body = "muscle", within = "3 mm" }]
pin = [{ region = "x-min" }]
"#;

fn complaint(text: &str) -> String {
    let scene = Scene::from_str(text, "a.toml", ".").map_err(|error| error.to_string());
    match scene.and_then(|scene| compile(&scene).map_err(|error| error.to_string())) {
        Ok(_) => panic!("no mistake found in\n{text}"),
        Err(complaint) => complaint,
    }
}

/// SIF-037, E12: flesh starts without strain, its inner nodes follow the surface of the muscle, and its skin bulges
/// over it.
#[test]
fn flesh_over_a_muscle_follows_it() {
    let scene = Scene::from_str(&format!("{MUSCLE}{LIMB}"), "a.toml", ".").unwrap();
    let mut simulation = compile(&scene).unwrap();
    let [muscle, limb] = [0, 1].map(|body| simulation.model().bodies[body].mesh.clone());
    assert!(simulation.probe("limb.volume_ratio.min").unwrap() > 1.0 - 1e-9);
    let (surface, _) = muscle.boundary_surface().unwrap();
    let depths = surface.depths(limb.positions());
    assert!(depths.iter().all(|&depth| depth < 1e-9), "nothing of the flesh is inside of the muscle");
    let touching: Vec<usize> =
        (0..depths.len()).filter(|&node| depths[node] > -1e-9 && limb.positions()[node].x > 0.005 + 1e-9).collect();
    assert!(touching.len() > 50, "{}", touching.len());
    let places: Vec<Vec3> = touching.iter().map(|&node| limb.positions()[node]).collect();
    let embedding = Embedding::bind(&muscle, &places).unwrap();
    let top = simulation.probe("limb.max.z").unwrap();
    for _ in 0..2 {
        simulation.step_frame().unwrap();
    }
    let frame = simulation.frame();
    let mut expected = vec![Vec3::zero(); touching.len()];
    embedding.positions(frame.bodies[0].positions, &mut expected);
    for (&node, expected) in touching.iter().zip(&expected) {
        assert!(frame.bodies[1].positions[node].distance(*expected) < 1e-9);
    }
    assert!(frame.probe("limb.max.z").unwrap() > top + 1e-3);
    assert_eq!(frame.probe("inverted_cells"), Some(0.0));
}

#[test]
fn mistakes_in_layers_are_explained() {
    let limb = |more: &str| {
        complaint(&format!("{MUSCLE}{}", LIMB.replace("over = [{ body = \"muscle\", within = \"3 mm\" }]", more)))
    };
    let unknown = limb(r#"over = [{ body = "muscel", within = "3 mm" }]"#);
    assert!(unknown.contains("there is no body `muscel`") && unknown.contains("muscle"), "{unknown}");
    let itself = limb(r#"over = [{ body = "limb", within = "3 mm" }]"#);
    assert!(itself.contains("cannot be layered on itself"), "{itself}");
    let wide = limb(r#"over = [{ body = "muscle", within = "5 cm" }]"#);
    assert!(wide.contains("nothing of `limb` is outside") && wide.contains("within"), "{wide}");
    let far =
        complaint(&format!("{MUSCLE}{}", LIMB.replace("position = [\"5 mm\", 0, 0]", "position = [\"1 m\", 0, 0]")));
    assert!(far.contains("no node of `limb` is near `muscle`") && far.contains("the nearest is"), "{far}");
    let (muscle, head) = (MUSCLE.split_once("[[body]]").unwrap().1, MUSCLE.split_once("[[body]]").unwrap().0);
    let late = complaint(&format!("{head}{LIMB}[[body]]{muscle}"));
    assert!(late.contains("comes after `limb`") && late.contains("move it down"), "{late}");
    let twice = limb("sheath = [{}, {}]");
    assert!(twice.contains("another sheath named `sheath`"), "{twice}");
    let nowhere = limb(r#"sheath = [{ region = "beley" }]"#);
    assert!(nowhere.contains("no region `beley`"), "{nowhere}");
}

const STRIP: &str = r#"duration = "1 s"
gravity = 0
frame_rate = 2
[solver]
type = "quasistatic"
[[body]]
name = "strip"
mesh = { from = "box", size = ["6 cm", "1 cm", "2 cm"], cells = [6, 1, 2], element = "hex8" }
material = { type = "stable_neo_hookean", young = "10 kPa", poisson = 0.3 }
pin = [
  { region = "x-min", axes = "x" }, { region = "y-min", axes = "y" }, { region = "z-min", axes = "z" },
  { region = "x-max", axes = "x", motion = { translation = [["0 s", [0, 0, 0]], ["1 s", ["6 mm", 0, 0]]] } },
]
"#;

/// A stretched bar gets thinner in all sections; an oblique section is larger by one over the cosine. Its force has a
/// torque about an axis, and the moment arm is the distance of the center of the end from the axis.
#[test]
fn sections_and_levers_are_those_of_a_bar() {
    let text = format!(
        "{STRIP}{}",
        r#"[[probe]]
name = "across"
section = { point = ["3 cm", 0, 0], normal = [2, 0, 0] }
[[probe]]
name = "skew"
section = { point = ["3 cm", "5 mm", "1 cm"], normal = [1, 1, 0] }
[[probe]]
name = "joint"
lever = { pin = "x-max", point = [0, "-4 cm", 0], axis = [0, 0, 2] }
"#
    );
    let mut simulation = compile(&Scene::from_str(&text, "a.toml", ".").unwrap()).unwrap();
    assert!((simulation.probe("across.area").unwrap() - 2e-4).abs() < 1e-15);
    assert!((simulation.probe("skew.area").unwrap() - 2e-4 * 2f64.sqrt()).abs() < 1e-15);
    assert_eq!(simulation.probe("joint.moment_arm").unwrap(), 0.0);
    for _ in 0..2 {
        simulation.step_frame().unwrap();
    }
    let at = |name: &str| simulation.probe(name).unwrap();
    let area = at("strip.max.y") * at("strip.max.z");
    assert!(area < 1.95e-4 && (at("across.area") - area).abs() < 1e-12);
    // The flesh pulls the end toward −x, above the axis: by the right-hand rule the torque about z is positive.
    let arm = 0.04 + 0.5 * at("strip.max.y");
    assert!((at("joint.moment_arm") - arm).abs() < 1e-9, "{} {arm}", at("joint.moment_arm"));
    assert!((at("joint.torque") - arm * at("strip.force.x-max.x")).abs() < 1e-9);
}

#[test]
fn mistakes_in_probes_are_explained() {
    let nothing = complaint(&format!("{STRIP}[[probe]]\nname = \"a\""));
    assert!(nothing.contains("needs one of `at`, `region`, `section` and `lever`"), "{nothing}");
    let both = complaint(&format!("{STRIP}[[probe]]\nname = \"a\"\nat = [0, 0, 0]\nregion = \"x-max\""));
    assert!(both.contains("has one of"), "{both}");
    let lever = complaint(&format!("{STRIP}[[probe]]\nname = \"a\"\nlever = {{ axis = [0, 0, 1] }}"));
    assert!(lever.contains("either `pin` or `tendon`"), "{lever}");
    let pin = complaint(&format!("{STRIP}[[probe]]\nname = \"a\"\nlever = {{ pin = \"surface\", axis = [0, 0, 1] }}"));
    assert!(pin.contains("body `strip` has no pin `surface`"), "{pin}");
}
