//! The program from the user's point of view: exit status, streams, interruption, help.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{assert_generated, fresh_folder, root};

/// A block that swings for a quarter of a second: small enough for every test, large enough for several threads.
const BLOCK: &str = r#"
duration = "0.25 s"

[[body]]
name = "block"
mesh = { from = "box", size = ["20 cm", "5 cm", "5 cm"], cell = "1 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]

[[probe]]
name = "tip"
region = "x-max"
"#;

fn sinew() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

fn run(scene: &Path, extra: &[&str]) -> Output {
    let output = scene.with_extension("out");
    sinew().arg("run").arg(scene).arg("-o").arg(output).args(extra).output().expect("the program starts")
}

fn write_scene(folder: &Path, text: &str) -> std::path::PathBuf {
    let path = folder.join("scene.toml");
    std::fs::write(&path, text).expect("scene is written");
    path
}

fn json(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{}", stderr(output)))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_run_that_meets_its_expectations_ends_with_zero() {
    let folder = fresh_folder("cli_passes");
    let scene = write_scene(&folder, &format!("{BLOCK}\n[expect]\n\"tip.displacement.z\" = {{ max = 0 }}\n"));
    let output = run(&scene, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = json(&output);
    assert_eq!(result["passed"], true);
    assert_eq!(result["frames"], 15);
    assert_eq!(result["expectations"][0]["passed"], true);
    for file in result["outputs"].as_array().expect("a list of files") {
        assert!(root().join(file.as_str().expect("a path")).is_file(), "{file} does not exist");
    }
    assert!(folder.join("scene.out/report.html").is_file());
}

#[test]
fn a_failed_expectation_ends_with_one_and_says_which() {
    let folder = fresh_folder("cli_fails");
    let scene = write_scene(&folder, &format!("{BLOCK}\n[expect]\n\"tip.displacement.z\" = {{ min = \"1 m\" }}\n"));
    let output = run(&scene, &["-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let talk = stderr(&output);
    assert!(talk.contains("FAILED") && talk.contains("tip.displacement.z"), "{talk}");
}

#[test]
fn an_unknown_probe_in_expect_names_its_neighbor() {
    let folder = fresh_folder("cli_unknown_probe");
    let scene = write_scene(&folder, &format!("{BLOCK}\n[expect]\n\"tip.displacment.z\" = 0\n"));
    let output = run(&scene, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `tip.displacement.z`?"), "{}", stderr(&output));
}

#[test]
fn wrong_usage_ends_with_two() {
    for arguments in [&["run"][..], &["rum"], &["run", "--threads", "0", "x.toml"], &["-q", "-v", "doctor"], &[]] {
        let output = sinew().args(arguments).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: mistakes go to stderr");
    }
}

#[test]
fn data_goes_to_stdout_and_talk_to_stderr() {
    let folder = fresh_folder("cli_streams");
    let scene = write_scene(&folder, BLOCK);
    let talkative = run(&scene, &["-v"]);
    assert!(talkative.stdout.is_empty(), "nothing was asked for");
    assert!(stderr(&talkative).contains("frame 15/15") && stderr(&talkative).contains("linear solve"));
    let quiet = run(&scene, &["-q", "--json"]);
    assert_eq!(stderr(&quiet), "");
    assert_eq!(json(&quiet)["frames"], 15);
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let folder = fresh_folder("cli_threads");
    let scene = write_scene(&folder, BLOCK);
    let hash = |threads: &str| json(&run(&scene, &["-q", "--json", "--threads", threads]))["hash"].clone();
    let one = hash("1");
    assert_eq!(one.as_str().map(str::len), Some(16));
    assert_eq!(one, hash("2"));
    assert_eq!(one, hash("3"));
}

#[test]
fn an_override_changes_the_result_and_its_mistakes_are_shown() {
    let folder = fresh_folder("cli_override");
    let scene = write_scene(&folder, BLOCK);
    let hash = |extra: &[&str]| json(&run(&scene, &[&["-q", "--json"], extra].concat()))["hash"].clone();
    assert_ne!(hash(&[]), hash(&["--set", "body.block.material.young=10 kPa"]));
    let wrong = run(&scene, &["--set", "body.block.material.yung=10 kPa"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("did you mean `young`?"), "{}", stderr(&wrong));
}

#[test]
fn check_reads_and_compiles_without_running() {
    let folder = fresh_folder("cli_check");
    let scene = write_scene(&folder, BLOCK);
    let output = sinew().arg("check").arg(&scene).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("block") && text.contains("3000 cells"), "{text}");
    // Notes also appear before the run.
    let free = folder.join("free.toml");
    let text = "duration = 1\nframe_rate = 1\ngravity = [0, 0, 0]\nsolver = { type = \"quasistatic\" }\n[[body]]\nname = \"block\"\n\
        mesh = { from = \"box\", size = [1, 1, 1], cells = [2, 2, 2] }\nmaterial = { type = \"neo_hookean\", young = 1000, poisson = 0.3 }\n";
    std::fs::write(&free, text).expect("scene is written");
    let output = sinew().arg("check").arg(&free).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("one part is not held"), "{}", stderr(&output));
    let broken = folder.join("broken.toml");
    std::fs::write(&broken, "duration = 1\nframe_rat = 3\n").expect("scene is written");
    let output = sinew().arg("check").args([&scene, &broken]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("frame_rat"), "{}", stderr(&output));
}

/// Seen: a forgotten unit, a cell as large as the body, and two bodies in one place were "ok" without a word.
#[test]
fn check_tells_what_is_seldom_meant() {
    let folder = fresh_folder("cli_check_advice");
    let notes = |text: &str| {
        let output = sinew().arg("check").arg(write_scene(&folder, text)).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let sound = notes(BLOCK);
    assert!(!["softer", "hardly", "one place"].iter().any(|word| sound.contains(word)), "{sound}");
    assert!(notes(&BLOCK.replace("\"30 kPa\"", "30")).contains("softer than any tissue"));
    assert!(notes(&BLOCK.replace("\"1 cm\"", "1")).contains("block has 6 cells: it hardly bends"));
    let body = &BLOCK[BLOCK.find("[[body]]").expect("a body")..BLOCK.find("[[probe]]").expect("a probe")];
    let second = body.replace("\"block\"", "\"other\"");
    let two = format!("{}{second}", BLOCK.replace("region = \"x-max\"", "body = \"block\"\nregion = \"x-max\""));
    assert!(notes(&two).contains("block and other start in one place and will pass through each other"));
    assert!(!notes(&format!("{two}position = [1, 0, 0]\n")).contains("pass through"));
}

#[test]
fn check_tells_sizes_and_values() {
    let folder = fresh_folder("cli_check_values");
    let text = BLOCK.replace("pin =", "regions = { half = { box = [[0, 0, 0], [\"10 cm\", 1, 1]] } }\npin =");
    let output = sinew().arg("check").arg("--values").arg(write_scene(&folder, &text)).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "body block: 20 × 5 × 5 cm",
        "5.0 cells across its thinnest part (5 cm)",
        "region half: 1500 cells",
        "MiB and roughly",
        "block.stress.von_mises.max",
        "largest von Mises stress",
        "tip.displacement.z",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
}

/// In the console, in `--json`, on the page and in `sinew status`.
#[test]
fn results_beyond_their_model_are_told_everywhere() {
    let folder = fresh_folder("cli_warnings");
    let scene = write_scene(&folder, &BLOCK.replace("stable_neo_hookean", "linear").replace("0.45", "0.3"));
    let output = run(&scene, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: block is strained by"), "{}", stderr(&output));
    assert!(json(&output)["warnings"][0].as_str().is_some_and(|warning| warning.contains("`linear`")));
    let page = std::fs::read_to_string(scene.with_extension("out").join("report.html")).expect("a page");
    assert!(page.contains("block is strained by"));
    let status = sinew().arg("status").arg(scene.with_extension("out")).output().expect("it starts");
    let text = String::from_utf8_lossy(&status.stdout);
    assert!(text.contains("warning: block is strained by"), "{text}");
}

#[test]
fn schema_and_doctor_answer() {
    let schema = sinew().arg("schema").output().expect("the program starts");
    assert_eq!(schema.status.code(), Some(0));
    assert!(json(&schema)["properties"]["body"].is_object());
    let doctor = sinew().arg("doctor").output().expect("the program starts");
    assert_eq!(doctor.status.code(), Some(0), "{}", String::from_utf8_lossy(&doctor.stdout));
}

/// Ctrl-C in the middle of a run: the frames so far are valid files, and the program prints their number.
#[cfg(unix)]
#[test]
fn an_interruption_leaves_a_valid_result() {
    let folder = fresh_folder("cli_interrupt");
    let long = BLOCK.replace("0.25 s", "1000 s") + "\n[record]\nusd = true\n";
    let scene = write_scene(&folder, &long);
    let out = scene.with_extension("out");
    let mut command = sinew();
    command.args(["run", "-v", "--json"]).arg(&scene).arg("-o").arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    // Some frames: each has more than a few kilobytes.
    let start = Instant::now();
    while std::fs::metadata(out.join("recording.sinew")).map_or(0, |data| data.len()) < 200_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "no frames in a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill exists");
    assert!(killed.success());
    let start = Instant::now();
    let output = child.wait_with_output().expect("the program ends");
    assert!(start.elapsed() < Duration::from_secs(60), "the frame under way is finished, no more");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("interrupted; "), "{}", stderr(&output));
    let result = json(&output);
    assert_eq!(result["interrupted"], true);
    assert!(result["frames"].as_u64().is_some_and(|frames| frames > 0 && frames < 60_000));
    let usd = std::fs::read_to_string(out.join("scene.usda")).or_else(|_| find_text(&out, "usda")).expect("a USD file");
    assert!(usd.starts_with("#usda") && usd.trim_end().ends_with('}'), "the USD file is whole");
    assert_no_leftovers(&out);
}

fn find_text(folder: &Path, extension: &str) -> std::io::Result<String> {
    let found = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let mut found = found.filter(|path| path.extension().is_some_and(|found| found == extension));
    std::fs::read_to_string(found.next().unwrap_or_default())
}

fn assert_no_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("output folder").flatten() {
        assert!(!entry.file_name().to_string_lossy().ends_with(".tmp"), "{:?} was left behind", entry.path());
    }
}

#[test]
fn generated_command_line_reference_is_fresh() {
    let mut page = String::from(
        "<!-- Written by `cargo xtask docs` from the help texts; edit src/cli/ instead. -->\n\n# Command line\n\n\
         Data goes to stdout, messages go to stderr. Exit status: 0 done, 1 an expectation failed, 2 an error.\n",
    );
    let commands = [
        "",
        "run",
        "convert",
        "new",
        "character",
        "skin",
        "lab",
        "gradient",
        "fit",
        "sweep",
        "compare",
        "mesh info",
        "mesh convert",
        "mesh fill",
        "mesh check",
        "muscle curves",
        "play",
        "status",
        "demo",
        "check",
        "schema",
        "bench",
        "bench abuse",
        "bench beam",
        "bench contact",
        "bench gradient",
        "bench io",
        "bench meshes",
        "bench muscle",
        "bench pile",
        "bench scaling",
        "bench scramble",
        "bench svd3",
        "bench solvers",
        "bench skin",
        "bench vcycle",
        "doctor",
        "completions",
        "manual",
    ];
    for command in commands {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = sinew().args(&arguments).env("COLUMNS", "100").output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let text: Vec<&str> = text.lines().map(str::trim_end).collect();
        let title = ["sinew", command].join(" ");
        page += &format!("\n## {}\n\n```text\n{}\n```\n", title.trim_end(), text.join("\n").trim_end());
    }
    assert_generated("docs/reference/cli.md", &page);
}
