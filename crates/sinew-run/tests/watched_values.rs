//! Values by name: an unknown name is an error at its line, both in `check` and in a run; probes are at their given
//! positions.

use sinew_run::compile::compile;
use sinew_run::run::{RunOptions, RunOutcome, run};
use sinew_run::value_names::check_compared;
use sinew_scene::Scene;

const BLOCK: &str = r#"
duration = "0.05 s"
[[body]]
name = "block"
mesh = { from = "box", size = ["10 cm", "10 cm", "10 cm"], cells = [2, 2, 2] }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.3 }
pin = [{ region = "x-min" }]
[[probe]]
name = "tip"
region = "x-max"
"#;

/// A brick of 20 × 6 × 4 cm, rotated by 90° about z, that flies and spins without gravity.
const BRICK: &str = r#"
duration = "0.5 s"
frame_rate = 100
gravity = 0
[[rigid]]
name = "brick"
shape = { type = "box", size = ["20 cm", "6 cm", "4 cm"] }
position = [1, 2, 3]
rotation = { axis = [0, 0, 1], angle = "90 deg" }
velocity = [0.5, 0, 0]
angular_velocity = [0, 0, 2]
[[probe]]
name = "end"
body = "brick"
at = ["10 cm", 0, 0]
"#;

fn scene(text: &str) -> Scene {
    Scene::from_str(text, "scene.toml", env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"))
}

/// The result of `sinew check`: the notes on probes, or the error.
fn checked(text: &str) -> Result<Vec<String>, String> {
    let scene = Scene::from_str(text, "scene.toml", env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let simulation = compile(&scene).map_err(|error| error.to_string())?;
    check_compared(&scene).map_err(|error| error.to_string())?;
    Ok(simulation.notes.into_iter().filter(|note| note.contains("probe")).collect())
}

fn ran(text: &str) -> Result<RunOutcome, String> {
    let scene = Scene::from_str(text, "scene.toml", env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    run(&scene, &RunOptions::default(), &mut ()).map_err(|error| error.to_string())
}

/// The common message of check and run for a scene.
fn refused(text: &str) -> String {
    let message = checked(text).expect_err("check refuses it");
    assert_eq!(ran(text).expect_err("a run refuses it"), message);
    message
}

/// `line:column` of the first occurrence of these words in a text.
fn place(text: &str, words: &str) -> String {
    let at = text.find(words).unwrap_or_else(|| panic!("{words} is in the scene"));
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    format!("scene.toml:{}:{}", 1 + text[..at].matches('\n').count(), 1 + at - line_start)
}

#[test]
fn every_unknown_name_is_told_at_its_line_with_what_was_meant() {
    let text = format!(
        "{BLOCK}\n[expect]\n\"tpi.displacement.z\" = {{ max = 0 }}\n\"block.volum\" = [{{ min = 0 }}, {{ max = 1 }}]\n\"energy.total\" = {{ min = -1 }}\n"
    );
    let message = refused(&text);
    for (wrong, meant) in [("tpi.displacement.z", "tip.displacement.z"), ("block.volum", "block.volume")] {
        assert!(message.contains(&format!("this scene has no value `{wrong}`")), "{message}");
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{message}");
        assert!(message.contains(&place(&text, &format!("\"{wrong}\""))), "{message}");
    }
    assert_eq!(message.matches("error:").count(), 2, "{message}");
}

#[test]
fn units_of_expectations_must_fit_their_values() {
    let text = format!(
        "{BLOCK}\n[expect]\n\"tip.displacement.z\" = {{ max = \"-1 N\" }}\n\"block.volume\" = [\"1 l\", {{ min = 0 }}]\n\"energy.total\" = {{ min = \"-1 kJ\" }}\n"
    );
    let message = refused(&text);
    for (name, dimension, wrong) in
        [("tip.displacement.z", "a length", "-1 N"), ("block.volume", "a plain number", "1 l")]
    {
        assert!(message.contains(&format!("`{name}` is {dimension}")), "{message}");
        assert!(message.contains(&place(&text, &format!("\"{wrong}\""))), "{message}");
    }
    assert_eq!(message.matches("error:").count(), 2, "{message}");
}

#[test]
fn a_name_without_a_likeness_gets_the_nearest_values() {
    let message = refused(&format!("{BLOCK}\n[expect]\n\"tip.z\" = {{ max = 0 }}\n"));
    assert!(message.contains("the nearest of "), "{message}");
    assert!(message.contains("`tip.displacement.z`") && message.contains("`tip.position.z`"), "{message}");
}

#[test]
fn names_in_a_study_are_checked_before_it_runs() {
    let study = "[study]\nvary = \"body.block.material.young\"\nvalues = [\"20 kPa\", \"40 kPa\"]\n";
    let text = format!("{BLOCK}\n{study}x = \"block.volumme\"\n[study.order]\n\"tip.displacemnt.z\" = {{ min = 1 }}\n");
    let message = refused(&text);
    assert!(message.contains(&place(&text, "\"block.volumme\"")), "{message}");
    assert!(message.contains(&place(&text, "\"tip.displacemnt.z\"")), "{message}");
    assert!(message.contains("`block.volume`") && message.contains("`tip.displacement.z`"), "{message}");
    // The mean edge length of the cells is not a value of the scene, but has a name.
    checked(&format!("{BLOCK}\n{study}x = \"h\"\n")).expect("it is sound");
}

#[test]
fn names_in_another_scene_are_checked_before_it_runs() {
    let other = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("watched_other.toml");
    std::fs::write(&other, BLOCK.replace("\"tip\"", "\"end\"")).expect("a scene");
    let expect = |value: &str| format!("{BLOCK}\n[expect]\n\"tip.displacement.z\" = {{ compare = {value} }}\n");
    let text = expect(r#"{ scene = "watched_other.toml", probe = "ende.displacement.z", absolute = 1 }"#);
    let message = refused(&text);
    assert!(message.contains("`watched_other.toml` has no value `ende.displacement.z`"), "{message}");
    assert!(message.contains("did you mean `end.displacement.z`?"), "{message}");
    assert!(message.contains(&place(&text, "\"ende.displacement.z\"")), "{message}");
    // Without `probe` the same name is used there, where it does not exist.
    let message = refused(&expect(r#"{ scene = "watched_other.toml", absolute = 1 }"#));
    assert!(message.contains("has no value `tip.displacement.z`"), "{message}");
}

#[test]
fn names_of_results_of_the_laboratory_are_checked() {
    let text = format!("{BLOCK}\n[lab.expect.twitch]\npeak_forse = {{ min = 1 }}\n");
    let message = refused(&text);
    assert!(message.contains("the protocol `twitch` has no value `peak_forse`"), "{message}");
    assert!(
        message.contains("did you mean `peak_force`?") && message.contains(&place(&text, "peak_forse")),
        "{message}"
    );
}

#[test]
fn names_of_the_muscle_on_the_bench_are_checked() {
    let muscle = BLOCK.replace(
        "pin = [",
        "muscle = [{ name = \"belly\", fibers = { along = [1, 0, 0] } }]\npin = [{ region = \"x-max\" }, ",
    );
    checked(&format!("{muscle}\n[lab]\nbody = \"block\"\nmuscle = \"belly\"\nclamp = \"x-max\"\n"))
        .expect("it is sound");
    for (key, wrong, meant) in [("body", "blok", "block"), ("muscle", "bely", "belly"), ("clamp", "x-maxx", "x-max")] {
        let text = format!("{muscle}\n[lab]\n{key} = \"{wrong}\"\n");
        let message = refused(&text);
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{message}");
        assert!(message.contains(&place(&text, &format!("\"{wrong}\""))), "{message}");
    }
}

#[test]
fn a_point_farther_away_than_its_body_is_large_is_a_mistake_of_units() {
    let text = format!("{BLOCK}\n[[probe]]\nname = \"far\"\nbody = \"block\"\nat = [5, 5, 5]\n");
    let message = refused(&text);
    assert!(
        message.contains("the point of probe `far` lies") && message.contains("outside of body `block`"),
        "{message}"
    );
    assert!(message.contains("hint: lengths without a unit are in meters"), "{message}");
    assert!(message.contains(&place(&text, "[5, 5, 5]")), "{message}");
}

#[test]
fn a_point_that_is_moved_to_its_body_is_told() {
    // The body reaches to 10 cm, its cells are 5 cm long.
    let at =
        |x: &str| format!("{BLOCK}\n[[probe]]\nname = \"p\"\nbody = \"block\"\nat = [\"{x}\", \"5 cm\", \"5 cm\"]\n");
    assert_eq!(checked(&at("10 cm")), Ok(Vec::new()), "on the surface");
    assert_eq!(checked(&at("10.5 cm")), Ok(Vec::new()), "as near as a curved surface may be to its cells");
    let beside = checked(&at("13 cm")).expect("it is sound");
    assert!(beside.len() == 1 && beside[0].contains("probe `p` lies 3 cm outside of body `block`"), "{beside:?}");
    let moved = checked(&at("20 cm")).expect("it is sound");
    assert!(moved[0].contains("probe `p` lies 0.1 m outside of body `block`"), "{moved:?}");
    assert!(moved[0].contains("the nearest point of the body instead, (0.1, 0.05, 0.05) m"), "{moved:?}");
    let outcome = ran(&at("20 cm")).expect("it runs");
    assert!(outcome.notes.contains(&moved[0]), "{:?}", outcome.notes);
    // It has not moved at the start: 1e-12 m is rounding.
    let start = outcome.history.column("p.displacement.x").expect("a probe")[0];
    assert!(start.abs() < 1e-12, "{start}");
}

/// A point at r from the center of a body that flies with v and spins with ω about z is at c + v t + R(ω t) r and moves
/// with v + ω × R r.
#[test]
fn a_point_of_a_rigid_moves_with_it() {
    let outcome = ran(BRICK).expect("it runs");
    let column = |name: &str| outcome.history.column(name).unwrap_or_else(|| panic!("{name} is recorded"));
    let (time, omega, speed) = (0.5, 2.0, 0.5);
    // At the start the long side of the brick points along y.
    let angle: f64 = std::f64::consts::FRAC_PI_2 + omega * time;
    let arm = [0.1 * angle.cos(), 0.1 * angle.sin()];
    let position = [1.0 + speed * time + arm[0], 2.0 + arm[1], 3.0];
    let velocity = [speed - omega * arm[1], omega * arm[0], 0.0];
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let start = [1.0, 2.1, 3.0][axis];
        assert!((column(&format!("end.position.{name}"))[0] - start).abs() < 1e-12);
        // Implicit steps of 10 ms turn by atan(ω dt) or so instead of ω dt: a relative error of (ω dt)²/12 over a
        // radian, and lose some spin.
        let found = *column(&format!("end.position.{name}")).last().expect("frames");
        assert!((found - position[axis]).abs() < 2e-3, "{name}: {found} for {}", position[axis]);
        let moved = *column(&format!("end.displacement.{name}")).last().expect("frames");
        assert!((moved - (found - start)).abs() < 1e-12, "{name}");
        let found = *column(&format!("end.velocity.{name}")).last().expect("frames");
        assert!((found - velocity[axis]).abs() < 1e-2, "{name}: {found} for {}", velocity[axis]);
    }
    // The point stays fixed in the brick for any steps.
    let center = |name: &str| column(&format!("brick.position.{name}"));
    for frame in 0..outcome.history.frame_count() {
        let square: f64 = ["x", "y", "z"]
            .map(|name| (column(&format!("end.position.{name}"))[frame] - center(name)[frame]).powi(2))
            .iter()
            .sum();
        assert!((square.sqrt() - 0.1).abs() < 1e-9, "frame {frame}: {}", square.sqrt());
    }
}

#[test]
fn the_only_rigid_of_a_scene_need_not_be_named_by_its_probes() {
    let text = BRICK.replace("body = \"brick\"\n", "");
    let simulation = compile(&scene(&text)).unwrap_or_else(|error| panic!("{error}"));
    assert!(simulation.probe_names().contains(&"end.velocity.y".to_string()));
}

#[test]
fn what_a_rigid_does_not_have_cannot_be_watched() {
    let message = refused(&BRICK.replace("at = [\"10 cm\", 0, 0]", "region = \"x-max\""));
    assert!(message.contains("a rigid has no region to watch") && message.contains("at = ["), "{message}");
    let message = refused(&BRICK.replace("name = \"end\"", "name = \"brick\""));
    assert!(message.contains("`brick` is the name of a rigid"), "{message}");
    let notes = checked(&BRICK.replace("\"10 cm\", 0, 0", "10, 0, 0")).expect("it is sound");
    assert!(notes[0].contains("lies 9.9 m outside of rigid `brick`") && notes[0].contains("meters"), "{notes:?}");
}

/// Seen: `check` accepted the name, and the run ended at its first picture.
#[test]
fn fields_that_color_pictures_are_known_before() {
    let message = refused(&format!("{BRICK}\n[record]\ncolor = \"vonmises\"\n"));
    assert!(message.contains("no field `vonmises` to color by") && message.contains("`von_mises`"), "{message}");
}
