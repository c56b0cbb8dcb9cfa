//! `sinew compare`, `sweep` and `fit` from the user's point of view.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::fresh_folder;
use serde_json::Value;

/// A bar that is pulled, in equilibrium: fast enough for many runs.
const BAR: &str = r#"
duration = "1 s"
frame_rate = 4
gravity = 0

[solver]
type = "quasistatic"
tolerance = 1e-8

[[body]]
name = "bar"
mesh = { from = "box", size = ["8 cm", "2 cm", "2 cm"], cells = [4, 1, 1], element = "hex8" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.3 }
pin = [
    { region = "x-min", axes = "x" },
    { region = "y-min", axes = "y" },
    { region = "z-min", axes = "z" },
    { region = "x-max", axes = "x", motion = { translation = [["0 s", [0, 0, 0]], ["1 s", ["2 cm", 0, 0]]] } },
]

[[probe]]
name = "side"
region = "y-max"
"#;

fn sinew(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(folder).stdin(Stdio::null()).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stderr), text(&output.stdout));
    text(&output.stdout)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&printed(output)).expect("JSON")
}

/// The message of a command that must be refused.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = sinew(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

fn prepared(name: &str) -> std::path::PathBuf {
    let folder = fresh_folder(name);
    std::fs::write(folder.join("bar.toml"), BAR).expect("a scene");
    folder
}

/// The measured curve of a bar with a known material, as `probes.csv` has it.
fn measured(folder: &Path, young: &str, poisson: &str) -> Vec<[f64; 3]> {
    let (young, poisson) = (format!("body.bar.material.young={young}"), format!("body.bar.material.poisson={poisson}"));
    printed(&sinew(
        folder,
        &["run", "bar.toml", "-q", "-o", "truth", "--set", &young, "--set", &poisson, "--set", "record.report=false"],
    ));
    let csv = std::fs::read_to_string(folder.join("truth/probes.csv")).expect("probes");
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let at = |name: &str| names.iter().position(|known| known.trim_matches('"') == name).expect(name);
    let columns = [at("time"), at("bar.force.x-max.x"), at("side.displacement.y")];
    lines
        .map(|line| {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
            columns.map(|column| cells[column])
        })
        .collect()
}

fn table(rows: &[[f64; 3]]) -> String {
    let rows = rows.iter().map(|[time, force, side]| format!("{},{},{}\n", 1e3 * time, 1e3 * force, 1e3 * side));
    format!("time [ms],bar.force.x-max.x [mN],side.displacement.y [mm]\n{}", rows.collect::<String>())
}

#[test]
fn a_known_material_is_found_again() {
    let folder = prepared("fit_truth");
    let rows = measured(&folder, "23 kPa", "0.41");
    std::fs::write(folder.join("data.csv"), table(&rows)).expect("data");
    let fitted = json(&sinew(&folder, &["fit", "bar.toml", "data.csv", "--by", "bar.young,bar.poisson", "--json"]));
    let value = |name: &str| fitted["parameters"][name]["value"].as_f64().expect(name);
    assert!((value("bar.young") / 23e3 - 1.0).abs() < 1e-3, "{fitted}");
    assert!((value("bar.poisson") - 0.41).abs() < 1e-3, "{fitted}");
    let page = std::fs::read_to_string(folder.join("out/fit/bar/fit.html")).expect("a page");
    assert!(page.contains("measured") && page.contains("bar.young"));
    assert!(folder.join("out/fit/bar/fit.csv").is_file());
}

/// Noise of 1 % with a fixed seed: the interval contains the truth, and has a width of the order of the noise.
#[test]
fn noise_gives_an_interval_that_covers_the_truth() {
    let folder = prepared("fit_noise");
    let mut rows = measured(&folder, "23 kPa", "0.3");
    let largest = rows.iter().fold(0.0, |most: f64, row| most.max(row[1].abs()));
    for (k, row) in rows.iter_mut().enumerate() {
        row[1] += 0.01 * largest * [0.6, -1.1, 0.3, 0.9, -0.7][k % 5];
    }
    let csv: String = rows.iter().map(|row| format!("{},{}\n", row[0], row[1])).collect();
    std::fs::write(folder.join("data.csv"), format!("time,bar.force.x-max.x\n{csv}")).expect("data");
    let fitted = json(&sinew(&folder, &["fit", "bar.toml", "data.csv", "--json", "--no-files"]));
    let found = &fitted["parameters"]["bar.young"];
    let [low, high] = ["low", "high"].map(|key| found[key].as_f64().expect("an end"));
    assert!(low < 23e3 && 23e3 < high, "{fitted}");
    assert!((high - low) / 23e3 > 1e-3 && (high - low) / 23e3 < 0.2, "{fitted}");
}

#[test]
fn fits_that_cannot_be_are_refused_at_once() {
    let folder = prepared("fit_wrong");
    let write = |name: &str, content: &str| std::fs::write(folder.join(name), content).expect("data");
    write("units.csv", "time [s],bar.force.x-max.x [kPa]\n0.5,1\n1,2\n");
    write("few.csv", "time,bar.force.x-max.x\n1,2\n");
    write("beyond.csv", "time,bar.force.x-max.x\n0.5,1\n3,2\n");
    write("name.csv", "time,bar.force.x-mx.x\n0.5,1\n1,2\n");
    write("good.csv", "time,bar.force.x-max.x\n0.5,1\n1,2\n");
    for (arguments, expected) in [
        (&["units.csv"][..], "is in kPa, but the value of the scene is in N"),
        (&["few.csv"], "too few"),
        (&["beyond.csv"], "line 3: 3 is outside of the run"),
        (&["name.csv"], "did you mean `bar.force.x-max.x`?"),
        (&["good.csv", "--by", "bar.yung"], "did you mean \"bar.young\"?"),
        (&["good.csv", "--by", "bar.young,bar.young"], "twice"),
        (&["good.csv", "--by", "bar.density"], "do not depend on bar.density"),
        (&["nothing.csv"], "nothing.csv cannot be read"),
        (&["good.csv", "--set", "solver.type=implicit_euler"], "quasistatic"),
    ] {
        let arguments: Vec<&str> = ["fit", "bar.toml"].into_iter().chain(arguments.iter().copied()).collect();
        let told = refused(&folder, &arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}

#[test]
fn a_sweep_fills_a_table_and_continues() {
    let folder = prepared("sweep");
    let over = ["--over", "body.bar.material.young=10kPa..30kPa:3", "--over", "body.bar.material.poisson=0.2,0.4"];
    let command: Vec<&str> =
        ["sweep", "bar.toml"].into_iter().chain(over).chain(["--measure", "bar.force.x-max.x", "--json"]).collect();
    let first = json(&sinew(&folder, &command));
    let points = first["points"].as_array().expect("points");
    assert_eq!(points.len(), 6);
    let force = |k: usize| points[k]["measures"]["bar.force.x-max.x"].as_f64().expect("a force");
    // A uniform bar: the force is proportional to the modulus.
    assert!(
        (force(4) / force(0) - 3.0).abs() < 1e-6 && points.iter().all(|point| point["status"] == "done"),
        "{first}"
    );
    let sweep = folder.join("out/sweep/bar");
    assert_eq!(std::fs::read_to_string(sweep.join("table.csv")).expect("a table").lines().count(), 7);
    assert!(sweep.join("sweep.json").is_file() && !sweep.join("points/0000/recording.sinew").exists());
    // A point that is gone is computed again, and only that.
    std::fs::remove_dir_all(sweep.join("points/0003")).expect("a point");
    let again = sinew(&folder, &command);
    assert_eq!(json(&again)["points"][3]["measures"], first["points"][3]["measures"]);
    assert_eq!(text(&again.stderr).matches("is done").count(), 1, "{}", text(&again.stderr));
    let told = refused(&folder, &["sweep", "bar.toml", "--over", "body.bar.material.young=1 kPa"]);
    assert!(told.contains("holds another sweep"), "{told}");
}

#[test]
fn sweeps_with_mistakes_are_refused_at_once() {
    let folder = prepared("sweep_wrong");
    for (over, expected) in [
        ("body.bar.material.yung=1,2", "did you mean `young`?"),
        ("body.bra.material.young=1,2", "did you mean `bar`?"),
        ("body.bar.material.young=-1,2", "must be positive"),
        ("body.bar.material.young=1 kg", "pressure"),
        ("body.bar.material.young=1..2", "needs a count"),
    ] {
        let told = refused(&folder, &["sweep", "bar.toml", "--over", over]);
        assert!(told.contains(expected), "{over}: {told}");
    }
    let wrong = ["sweep", "bar.toml", "--over", "duration=1 s", "--measure", "side.displacment.y"];
    assert!(refused(&folder, &wrong).contains("did you mean `side.displacement.y`?"));
    assert!(!folder.join("out").exists(), "nothing is written");
}

#[test]
fn runs_are_compared_value_by_value_and_node_by_node() {
    let folder = prepared("compare");
    for (name, young) in [("soft", "20 kPa"), ("stiff", "40 kPa")] {
        let set = format!("body.bar.material.young={young}");
        let move_ = "gravity=[0, 0, -1]";
        printed(&sinew(
            &folder,
            &["run", "bar.toml", "-q", "-o", name, "--set", &set, "--set", move_, "--set", "record.report=false"],
        ));
    }
    let found = json(&sinew(&folder, &["compare", "soft", "stiff/recording.sinew", "--json"]));
    let value = |name: &str| {
        found["values"].as_array().expect("values").iter().find(|v| v["name"] == name).cloned().expect(name)
    };
    let force = value("bar.force.x-max.x");
    let [a, b] = [0, 1].map(|k| force["ends"][k].as_f64().expect("an end"));
    assert!((b / a - 2.0).abs() < 0.02, "{force}");
    assert!((force["largest"].as_f64().expect("largest") - (b - a).abs()).abs() < 1e-9 * b.abs(), "{force}");
    assert!(found["bodies"][0]["largest"].as_f64().expect("a distance") > 0.0, "{found}");
    let page = std::fs::read_to_string(folder.join("out/compare.html")).expect("a page");
    assert!(page.contains("data:image/png;base64,") && page.contains("bar.force.x-max.x"));
    let same = json(&sinew(&folder, &["compare", "soft", "soft", "--json", "--no-files"]));
    assert_eq!(same["equal"], true);
}

#[test]
fn runs_that_share_nothing_are_refused() {
    let folder = prepared("compare_nothing");
    let other = BAR.replace("\"bar\"", "\"beam\"").replace("\"side\"", "\"edge\"");
    std::fs::write(folder.join("beam.toml"), other).expect("a scene");
    for name in ["bar", "beam"] {
        let scene = format!("{name}.toml");
        printed(&sinew(&folder, &["run", &scene, "-q", "--frames", "1", "-o", name, "--set", "record.report=false"]));
    }
    let told = refused(&folder, &["compare", "bar", "beam"]);
    assert!(
        told.contains("share nothing") && told.contains("bar has bar, side") && told.contains("beam has beam, edge"),
        "{told}"
    );
    assert!(refused(&folder, &["compare", "bar", "nowhere"]).contains("nowhere does not exist"));
    assert!(refused(&folder, &["compare", "bar", "bar.toml"]).contains("bar.toml"));
    let input = "bar/report.html";
    std::fs::write(folder.join(input), "mine").expect("a page");
    assert!(refused(&folder, &["compare", "bar", "bar", "-o", input]).contains(input));
    assert!(refused(&folder, &["compare", "bar", "bar", "-o", "page.png"]).contains(".html"));
}
