//! Strands and tendons of scenes: their model, and the messages for mistakes in them.

use sinew_fem::force::{Strand, TendonStrand};
use sinew_run::compile::compile;
use sinew_scene::Scene;

const BODY: &str = r#"duration = "1 s"
[[body]]
name = "flesh"
mesh = { from = "box", size = ["8 cm", "2 cm", "2 cm"], cell = "1 cm" }
material = { type = "corotated", young = "30 kPa", poisson = 0.45 }
"#;

fn read(more: &str) -> Result<Scene, String> {
    Scene::from_str(&format!("{BODY}{more}\n"), "a.toml", ".").map_err(|error| error.to_string())
}

/// The message for a body with more lines, before or during compilation.
fn complaint(more: &str) -> String {
    match read(more).and_then(|scene| compile(&scene).map_err(|error| error.to_string())) {
        Ok(_) => panic!("no mistake found in\n{more}"),
        Err(complaint) => complaint,
    }
}

#[test]
fn strands_and_tendons_become_forces_channels_and_probes() {
    let scene = read(
        r#"strand = [{ columns = { from = "x-min", to = "x-max" }, force = "4 N", activation = 0.5, by_volume = true }]
tendon = [
  { strand = "strand", end = "first", offset = ["-1 cm", 0, 0], force = "4 N" },
  { region = "x-max", anchor = ["10 cm", "1 cm", "1 cm"], force = "2 N", slack_factor = 1.1, motion = ["1 mm", 0, 0] },
]"#,
    );
    let mut simulation = compile(&scene.unwrap()).unwrap();
    let model = simulation.model();
    let strands: Vec<&Strand> = model.forces_of().collect();
    let tendons: Vec<&TendonStrand> = model.forces_of().collect();
    assert_eq!((strands.len(), strands[0].generators.len()), (1, 32));
    assert_eq!((strands[0].active_force, strands[0].passive_force), (1.0, 1.0));
    // A box has as much flesh around each; the first and last cells are shared with their neighbors.
    let factors = strands[0].generators.iter().map(|generator| generator.factor);
    assert!((factors.clone().sum::<f64>() / 32.0 - 1.0).abs() < 1e-12);
    assert!(factors.into_iter().all(|factor| (factor - 1.0).abs() < 0.35));
    assert_eq!((tendons[0].tendons.len(), tendons[0].name.as_str()), (4, "flesh.tendon.strand-first"));
    assert_eq!((tendons[1].tendons.len(), tendons[1].name.as_str()), (9, "flesh.tendon.x-max"));
    assert!((tendons[1].force - 2.0 / 9.0).abs() < 1e-15);
    simulation.step_frame().unwrap();
    let names = simulation.probe_names();
    for name in [
        "flesh.activation.strand",
        "flesh.strand.strand.stretch",
        "flesh.strand.strand.stretch.min",
        "flesh.strand.strand.stretch.max",
        "flesh.strand.strand.force",
        "flesh.tendon.x-max.force",
        "flesh.tendon.x-max.force.x",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
}

#[test]
fn mistakes_in_strands_and_tendons_are_named_at_their_cause() {
    let columns = "columns = { from = \"x-min\", to = \"x-max\" }";
    let strand = |more: &str| format!("strand = [{{ {columns}, force = \"1 N\"{more} }}]");
    let tendon = |more: &str| format!("{}\ntendon = [{{ {more} }}]", strand(""));
    for (more, message, line) in [
        (strand(", force = 1").replace("\"1 N\", force = 1", "\"0 N\""), "`force` must be positive", 6),
        (strand(", activation = 1.5"), "`activation` must be at most 1", 6),
        (strand(", max_velocity = 0"), "`max_velocity` must be positive", 6),
        (strand(", points = [[[0, 0, 0], [1, 0, 0]]]"), "a strand has either `columns` or `points`, not both", 6),
        ("strand = [{ force = \"1 N\" }]".into(), "a strand needs `columns` or `points`", 6),
        (strand("").replace("x-max", "x-mox"), "body `flesh` has no region `x-mox`", 6),
        (strand("").replace("x-max", "x-min"), "columns must begin and end in different regions", 6),
        (
            strand("").replace("}]", "}, { force = 1, points = [[[0.01, 0.01, 0.01], [0.02, 0.01, 0.01]]] }]"),
            "body `flesh` has another muscle named `strand`",
            6,
        ),
        (
            "strand = [{ force = 1, points = [[[0.01, 0.01, 0.01], [0.01, 0.01, 0.01]]] }]".into(),
            "this generator has no length",
            6,
        ),
        ("strand = [{ force = 1, points = [[[0.01, 0.01, 0.01]]] }]".into(), "a column needs at least two points", 6),
        (
            "strand = [{ force = 1, points = [[[0.01, 0.01, 0.01], [\"9 cm\", \"1 cm\", \"1 cm\"]]] }]".into(),
            "(9 cm, 1 cm, 1 cm) lies outside the flesh",
            6,
        ),
        (tendon("region = \"x-max\", offset = [1, 0, 0], force = 0"), "`force` must be positive", 7),
        (tendon("offset = [1, 0, 0], force = 1"), "tendons begin at one of `region`, `points` and `strand`", 7),
        (tendon("strand = \"strnd\", offset = [1, 0, 0], force = 1"), "body `flesh` has no strand `strnd`", 7),
        (
            tendon("region = \"x-max\", to = \"bone\", offset = [1, 0, 0], force = 1"),
            "there is no body or rigid `bone`",
            7,
        ),
        (
            tendon("region = \"x-max\", force = 1"),
            "tendons end at an `anchor`, or by an `offset` from where they begin",
            7,
        ),
        (tendon("region = \"x-max\", offset = [0, 0, 0], force = 1"), "these tendons have no length", 7),
        (tendon("points = [[0.08, 0.01, 0.01]], anchor = [0.08, 0.01, 0.01], force = 1"), "a tendon has no length", 7),
        (
            tendon("points = [[0.1, 0.01, 0.01]], offset = [1, 0, 0], force = 1"),
            "(0.1 m, 1 cm, 1 cm) lies outside the flesh",
            7,
        ),
        (
            tendon("region = \"x-max\", offset = [\"1 cm\", 0, 0], slack = \"20 m\", force = 1"),
            "these tendons are slack by 19.99 m, more than the size of the body (8.48528137 cm)",
            7,
        ),
    ] {
        let complaint = complaint(&more);
        assert_eq!(complaint.lines().next(), Some(format!("error: {message}").as_str()), "{complaint}");
        assert!(complaint.contains(&format!("a.toml:{line}:")), "{complaint}");
    }
}
