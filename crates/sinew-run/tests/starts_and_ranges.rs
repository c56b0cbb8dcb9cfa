//! Starts that touch or overlap, rigid bodies on floors and flesh, and warnings where results leave the range of their
//! models.
//!
//! Seen: rigid bodies fell through floors and flesh under penalties without a word; a slab that lay exactly on a floor
//! passed `check` and ended "no longer finite" under barriers; a brick of 6 cm hovered 6 mm over a floor; fibers at
//! eight times their maximum velocity, and cells of a linear law at any strain, ended with status 0 and no word.

use sinew_run::compile::compile;
use sinew_run::run::{RunOptions, RunOutcome, run};
use sinew_scene::Scene;
use sinew_scene::value_table::ValueKind;

fn scene(text: &str) -> Scene {
    Scene::from_str(text, "scene.toml", env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"))
}

fn notes(text: &str) -> Vec<String> {
    compile(&scene(text)).unwrap_or_else(|error| panic!("{error}")).notes
}

fn refused(text: &str) -> String {
    compile(&scene(text)).err().expect("it is refused").to_string()
}

fn ran(text: &str) -> RunOutcome {
    run(&scene(text), &RunOptions::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"))
}

fn last(outcome: &RunOutcome, name: &str) -> f64 {
    outcome.history.last(name).unwrap_or_else(|| panic!("no value {name}"))
}

const SLAB: &str = r#"
duration = "0.1 s"
frame_rate = 50
[[body]]
name = "slab"
mesh = { from = "box", size = ["10 cm", "10 cm", "2 cm"], cells = [3, 3, 1] }
material = { type = "stable_neo_hookean", young = "50 kPa", poisson = 0.4 }
[[collider]]
name = "floor"
shape = { type = "plane" }
"#;

const BRICK: &str = r#"
duration = "1 s"
frame_rate = 50
[[rigid]]
name = "brick"
shape = { type = "box", size = ["6 cm", "6 cm", "6 cm"] }
position = [0, 0, "31 mm"]
density = "2000 kg/m^3"
[[collider]]
name = "floor"
shape = { type = "plane" }
restitution = 0.1
"#;

#[test]
fn a_brick_lies_on_the_floor_without_a_table_of_contact() {
    let outcome = ran(BRICK);
    let weight = 2000.0 * 0.06f64.powi(3) * 9.81;
    let (height, force) = (last(&outcome, "brick.position.z"), last(&outcome, "brick.contact.floor.force.z"));
    assert!((height - 0.03).abs() < 2e-4, "{height}");
    assert!((force / weight - 1.0).abs() < 0.02, "{force} against {weight}");
    assert!((last(&outcome, "brick.contact.floor.area") / 0.0036 - 1.0).abs() < 1e-9);
}

#[test]
fn a_brick_under_barriers_does_not_hover() {
    let outcome = ran(&format!("{BRICK}\n[contact]\nmode = \"barrier\"\nrestitution = 0.1\n"));
    let hover = last(&outcome, "brick.position.z") - 0.03;
    assert!((0.0..7e-4).contains(&hover), "a hundredth of its thickness: {hover}");
}

#[test]
fn a_pair_may_pass_through_a_collider() {
    let pair = "[contact]\n[[contact.pair]]\nbetween = [\"brick\", \"floor\"]\nmode = \"none\"\n";
    let outcome = ran(&format!("{BRICK}\n{pair}"));
    assert!(last(&outcome, "brick.position.z") < -4.0);
    assert!(outcome.history.last("brick.contact.floor.force.z").is_none());
}

#[test]
fn a_slab_on_the_floor_is_refused_by_barriers_or_lifted() {
    assert!(notes(SLAB).iter().all(|note| !note.contains("start")), "penalties may touch");
    let told = refused(&format!("{SLAB}\n[contact]\nmode = \"barrier\"\n"));
    assert!(told.contains("slab and floor touch at the start") && told.contains("`slab` comes free"), "{told}");
    let lifted = format!("{SLAB}\n[contact]\nmode = \"barrier\"\nstart = \"lift\"\n");
    let told = notes(&lifted);
    assert!(told.iter().any(|note| note.starts_with("slab starts ") && note.contains("higher")), "{told:?}");
    let outcome = ran(&lifted);
    assert!(last(&outcome, "slab.min.z") > 0.0);
}

#[test]
fn overlaps_are_named_with_the_lift_that_frees_them() {
    let sunk = SLAB.replace("[[collider]]", "position = [0, 0, \"-3 mm\"]\n[[collider]]");
    let told = notes(&sunk);
    let about = told.iter().find(|note| note.contains("slab and floor start inside each other"));
    let about = about.unwrap_or_else(|| panic!("{told:?}"));
    assert!(about.contains("3 mm deep") && about.contains("`slab` comes free 3.1 mm higher"), "{about}");
    let stack = r#"
[[rigid]]
name = "brick"
shape = { type = "box", size = ["4 cm", "4 cm", "4 cm"] }
position = ["5 cm", "5 cm", "39 mm"]
[contact]
mode = "barrier"
start = "lift"
"#;
    let mut simulation = compile(&scene(&format!("{SLAB}\n{stack}"))).unwrap_or_else(|error| panic!("{error}"));
    assert!(simulation.notes.iter().any(|note| note.starts_with("brick starts")), "{:?}", simulation.notes);
    let above = simulation.probe("brick.position.z").unwrap() - 0.02 - simulation.probe("slab.max.z").unwrap();
    assert!((0.0..2e-3).contains(&above), "{above}");
    simulation.step_frame().unwrap();
}

/// The lowest is lifted first, and what lies on it follows.
#[test]
fn what_is_held_is_not_lifted() {
    let held = SLAB.replace("[[collider]]", "pin = [{ region = \"z-max\" }]\n[[collider]]");
    let told = refused(&format!("{held}\n[contact]\nmode = \"barrier\"\nstart = \"lift\"\n"));
    assert!(told.contains("slab and floor touch") && told.contains("move them apart"), "{told}");
}

const STRIP: &str = r#"
duration = "0.1 s"
frame_rate = 100
gravity = 0
[[body]]
name = "strip"
mesh = { from = "box", size = ["6 cm", "1 cm", "1 cm"], cells = [6, 1, 1], element = "hex8" }
material = { type = "stable_neo_hookean", young = "100 kPa", poisson = 0.4 }
muscle = [{ name = "belly", fibers = { along = [1, 0, 0] }, activation = 0.2, max_velocity = "1 1/s" }]
pin = [{ region = "x-min" }, { region = "x-max", motion = { translation = [["0 s", [0, 0, 0]], ["0.1 s", ["PULL cm", 0, 0]]] } }]
"#;

#[test]
fn fibers_beyond_their_velocity_and_curves_are_told() {
    let slow = ran(&STRIP.replace("PULL", "0.3"));
    assert!(slow.warnings.is_empty(), "{:?}", slow.warnings);
    // Four centimeters of six in a tenth of a second: 6.7 lengths per second, to a stretch of 1.67.
    let fast = ran(&STRIP.replace("PULL", "5"));
    let [speed, stretch] = &fast.warnings[..] else { panic!("{:?}", fast.warnings) };
    assert!(speed.contains("fibers of strip.belly move at") && speed.contains("`max_velocity`"), "{speed}");
    assert!(stretch.contains("strip.belly are at a stretch of") && stretch.contains("0.3 to 1.7"), "{stretch}");
}

#[test]
fn activation_beyond_its_range_is_told_by_check() {
    let text = STRIP.replace("PULL", "0.1") + "[control]\n\"strip.activation.belly\" = 1.5\n";
    assert!(notes(&text).iter().any(|note| note.contains("strip.activation.belly") && note.contains("1.5")));
    let told = ran(&text).warnings;
    assert!(told.iter().any(|warning| warning.contains("the activation of strip.belly is 1.5")), "{told:?}");
}

#[test]
fn large_strain_of_a_linear_law_is_told() {
    let text = |gravity: &str| {
        format!(
            "duration = \"0.2 s\"\nframe_rate = 10\ngravity = [0, 0, \"{gravity} m/s^2\"]\n[solver]\ntype = \"quasistatic\"\n\
             [[body]]\nname = \"beam\"\n\
             mesh = {{ from = \"box\", size = [\"20 cm\", \"4 cm\", \"4 cm\"], cells = [5, 1, 1] }}\n\
             material = {{ type = \"linear\", young = \"50 kPa\", poisson = 0.3 }}\npin = [{{ region = \"x-min\" }}]\n"
        )
    };
    assert!(ran(&text("-0.05")).warnings.is_empty());
    let told = ran(&text("-9.81")).warnings;
    assert!(
        told.iter().any(|warning| warning.contains("beam is strained by") && warning.contains("`linear`")),
        "{told:?}"
    );
}

/// Every value of a scene with all kinds of parts has a unit and a meaning.
#[test]
fn every_value_has_a_meaning() {
    for text in [
        SLAB.to_string(),
        BRICK.to_string(),
        STRIP.replace("PULL", "1"),
        format!("{BRICK}\n{}", &SLAB[SLAB.find("[[body]]").unwrap()..SLAB.find("[[collider]]").unwrap()])
            + "[contact]\ncheck = true\n",
    ] {
        let simulation = compile(&scene(&text)).unwrap_or_else(|error| panic!("{error}"));
        for name in simulation.probe_names() {
            assert!(ValueKind::of(name).is_some(), "{name} has no meaning");
        }
    }
}
