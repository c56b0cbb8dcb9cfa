//! Chores of the repository: `cargo xtask test | abuse | docs | rustdoc | wheel | addon | dist | demo | bench`.
//!
//! One small dependency, so that the first `cargo xtask` on a fresh clone compiles in seconds.

mod abuse;
mod addon;
mod dist;
mod judges;
mod licenses;
mod lint;
mod opensim;
mod peers;
mod pictures;
mod programs;
mod python;
mod rustdoc;
mod scenes;
mod step;
mod test;
mod turns;
mod venv;

use std::process::{Command, ExitCode};

use step::{Outcome, root};

const USAGE: &str = "\
Chores of the repository.

Usage: cargo xtask <COMMAND>

Commands:
  test [--full] [--only NAME]...  Everything CI runs: format, lints, tests, scenes, examples, licenses
                                  --full adds the large sizes; --only keeps the steps whose name contains NAME
  abuse [OPTIONS]                 Random scenes, meshes, recordings, command lines and signals against the program, with precious files around;
                                  folders of faulty cases are kept in target/abuse/faults
                                  --count N         number of cases [default: 100000]
                                  --first N         first case [default: 0]
                                  --only N          one case
                                  --program FILE    take this program instead of building ours
                                  --json            print the report as JSON
  docs                            Rewrite generated pages: docs/reference/scene.md, docs/papers/coverage.md, help texts, and those of the Python
                                  module if Python is installed
  rustdoc [--private] [--open]    Build the pages of all crates with rendered formulas; a warning is an error
                                  --private adds private items; --open shows them in a browser
  wheel                           Build the Python wheel into target/wheels and print its path
  addon                           Write the add-on for Blender as an archive into target/addon and print its path
  dist [OPTIONS]                  Build a stripped program, the wheel, the add-on for Blender and their SHA-256 into target/dist and print their
                                  paths; the program is static where the musl target or the archive of glibc is installed
                                  --no-wheel        without the wheel
                                  --program FILE    take this program instead of building ours
  demo                            Run the demo and write the pictures of README and guide (docs/images/)
  bench                           Run `sinew bench svd3` and `sinew bench beam` and print their JSON
  bench peers [OPTIONS]           Time the beam in other engines and in ours, in one run; installs them below target/peers
                                  --size S|L        size of the mesh [default: S]
                                  --only NAME,...   of felupe, genesis, drake, mujoco, newton
                                  --repeats N       runs of each engine; reports the best [default: 1; ours 3]
                                  --cap SECONDS     of stepping per run; reports the frames done [default: 120]
                                  --program FILE    time this program instead of building ours
                                  --json            print the report as JSON instead of a table
  bench peers contact [OPTIONS]   Contact of two mats: detection against ipctk, frames against MuJoCo, in one run
                                  --cells N         along each mat; 78 make 51,168 surface triangles [default: 78]
                                  --frames N        of 1/60 s [default: 10]
                                  --only NAME,...   of ipctk, mujoco
                                  --cap SECONDS     of stepping by MuJoCo [default: 120]
                                  --program FILE    time this program instead of building ours
                                  --json            print the report as JSON instead of tables
  bench peers mesh [OPTIONS]      Surfaces filled by TetGen, Gmsh, fTetWild and ours, distances of labels, in one run
                                  --cells N         over the longest side of a surface [default: 48]
                                  --voxels N        edge of the labeled image [default: 256]
                                  --only NAME,...   of tetgen, gmsh, gmsh-hxt, pytetwild, scipy, edt, scikit-fmm, simpleitk
                                  --cap SECONDS     per surface and mesher [default: 300]
                                  --program FILE    time this program instead of building ours
                                  --json            print the report as JSON instead of a table
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("test") => test::run(rest),
        Some("abuse") => abuse::run(rest),
        Some("docs") => docs(),
        Some("rustdoc") => rustdoc::run(rest),
        Some("demo") => demo(),
        Some("wheel") => python::wheel(),
        Some("addon") => addon::run(),
        Some("dist") => dist::run(rest),
        Some("bench") => bench(rest),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        other => {
            if let Some(name) = other {
                eprintln!("error: no chore is called \"{name}\"\n");
            }
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Rewrites every page that a test compares with its source: runs the same tests in writing mode.
fn docs() -> ExitCode {
    let mut command = step::cargo(["test", "--quiet", "--release", "--test", "all", "generated"]);
    command.env("SINEW_BLESS", "1");
    let outcome = step::stream("docs", &mut command);
    if outcome.is_failure() {
        return finish(&outcome);
    }
    match python::pages(false) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: the pages of the Python module are as they were: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the demo and stores its pictures for the README and the guide.
fn demo() -> ExitCode {
    let mut command = step::cargo(["run", "--quiet", "--release", "--", "demo"]);
    let outcome = step::stream("demo", &mut command);
    if !outcome.is_failure()
        && let Err(message) = pictures::keep(&root().join("out/demo"), &root().join("docs/images"))
    {
        eprintln!("error: {message}");
        return ExitCode::from(2);
    }
    finish(&outcome)
}

/// Prints both benchmarks as JSON lines; extra arguments go to `bench beam`. `bench peers` is a separate chore.
fn bench(rest: &[String]) -> ExitCode {
    if let Some(("peers", options)) = rest.split_first().map(|(name, options)| (name.as_str(), options)) {
        return peers::run(options);
    }
    let build = step::stream("build", &mut step::cargo(["build", "--quiet", "--release", "--features", "opponents"]));
    if build.is_failure() {
        return finish(&build);
    }
    let runs: [&[&str]; 2] = [&["bench", "svd3", "--json"], &["bench", "beam", "--json"]];
    for arguments in runs {
        let mut command = Command::new(step::binary("sinew"));
        command.current_dir(root()).args(arguments);
        if arguments[1] == "beam" {
            command.args(rest);
        }
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("error: cannot start sinew: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn finish(outcome: &Outcome) -> ExitCode {
    if outcome.is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
