//! The command line: one file per command.
//!
//! Data goes to stdout, messages go to stderr. Exit status: 0 done, 1 an expectation failed, 2 an error.

mod anatomy;
mod bench;
mod call;
mod character;
mod check;
mod compare;
mod completions;
mod console;
mod convert;
mod demo;
mod doctor;
mod fit;
mod gradient;
mod lab;
mod manual;
mod mesh;
mod muscle;
mod new;
mod panic;
mod phantom;
mod play;
mod plots;
mod progress;
mod python;
mod resume;
mod run;
mod schema;
mod shots;
mod signals;
mod skin;
mod status;
mod sweep;
mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use call::{Called, call, set_program};
use console::Console;
pub use python::module as python_module;
use sinew_run::manifest::Origin;
use sinew_scene::Scene;

/// Muscle, flesh and skin: from anatomy to simulated tissue.
#[derive(Debug, Parser)]
#[command(name = "sinew", version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    /// Prints errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Prints one line per frame
    #[arg(short, long, global = true)]
    verbose: bool,

    /// Number of threads; results do not depend on it [default: as in the scene, else all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a scene, records it, and checks its expectations
    Run(run::Arguments),
    /// Adds simulated flesh to a rigged, animated character
    Skin(Box<skin::Arguments>),
    /// Writes a sample character with rig and animation
    Character(character::Arguments),
    /// Converts a recording to the formats of other programs
    Convert(convert::Arguments),
    /// Writes a commented scene, ready to run
    New(new::Arguments),
    /// Makes bones, muscles, attachments, fibers and meshes of labeled images
    Anatomy(anatomy::Arguments),
    /// Inspects, checks, converts and fills meshes
    Mesh(mesh::Arguments),
    /// Writes a labeled image of anatomy by formulas, to test recipes with
    Phantom(phantom::Arguments),
    /// Prints and plots muscle curves
    Muscle(muscle::Arguments),
    /// Runs a physiology protocol on a muscle of a scene
    Lab(lab::Arguments),
    /// Runs a quasistatic scene and differentiates its final state
    Gradient(gradient::Arguments),
    /// Fits material parameters of a quasistatic scene to a measured curve
    Fit(fit::Arguments),
    /// Runs a scene for all combinations of some values and prints one table
    Sweep(sweep::Arguments),
    /// Compares two runs: values over each other, differences on the bodies, one page
    Compare(compare::Arguments),
    /// Plays a recording in the terminal, or prints its key figures
    Play(play::Arguments),
    /// Continues a run that ended early, with the command that started it
    Resume(resume::Arguments),
    /// Shows the state of runs and how to resume them
    Status(status::Arguments),
    /// Simulates a hand that makes a fist; writes report, USD and pictures
    Demo(demo::Arguments),
    /// Reads and compiles scenes without running them
    Check(check::Arguments),
    /// Prints the JSON schema of scene files
    Schema(schema::Arguments),
    /// Runs benchmarks on this machine
    Bench(bench::Arguments),
    /// Checks whether this machine can run Sinew
    Doctor(doctor::Arguments),
    /// Prints shell completions
    Completions(completions::Arguments),
    /// Writes man pages, one per command, or prints the main page
    Manual(manual::Arguments),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The command succeeded.
    Done,
    /// The run is complete, but an expectation of the scene failed.
    Unexpected,
}

/// Why a command failed. The user reads its text.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A scene cannot be read or compiled. The text has its own `error:` lines.
    #[error("{0}")]
    Scene(#[from] sinew_scene::SceneError),
    /// A run stopped. The text has its own `error:` lines.
    #[error("{0}")]
    Run(#[from] sinew_run::run::RunError),
    /// A protocol has no result. The text has its own `error:` lines.
    #[error("{0}")]
    Lab(#[from] sinew_run::lab::LabError),
    /// An output cannot be written.
    #[error("error: cannot write {what}: {source}")]
    Write {
        /// File or stream.
        what: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// An error whose text has its own `error:` lines.
    #[error("{0}")]
    Told(String),
    /// The error is already on stderr.
    #[error("")]
    Reported,
    /// Any other error.
    #[error("error: {0}")]
    Other(String),
}

/// Reads the command line, runs the command, and returns its exit status.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// [`main`] with a given command line; its first word is the name of the program.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(message) => {
            // clap prints help and version to stdout (status 0) and errors to stderr (status 2).
            let _ = message.print();
            return ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2));
        }
    };
    if let Err(error) = sinew_math::lanes::check_processor() {
        console::message(&Failure::Other(error.to_string()).to_string());
        return ExitCode::from(2);
    }
    let _entered = signals::listen().enter();
    panic::guard(|| match execute(arguments, words.iter().skip(1)) {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Unexpected) => ExitCode::from(1),
        Err(Failure::Reported) => ExitCode::from(2),
        Err(failure) => {
            console::message(&failure.to_string());
            ExitCode::from(2)
        }
    })
}

/// Runs a command; `words` is its command line, without the name of the program.
fn execute<'a>(arguments: Arguments, words: impl IntoIterator<Item = &'a OsString>) -> Result<Status, Failure> {
    let words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    // A manifest keeps the command; `sinew resume` adds this word.
    execute_from(arguments, Origin::here(words.filter(|word| word != "--resume").collect()))
}

/// Uses as many threads as a scene says. The option `--threads` takes precedence: it has built the pool already.
fn use_threads_of(scene: &Scene) {
    if let Some(threads) = scene.threads {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
}

fn execute_from(arguments: Arguments, origin: Origin) -> Result<Status, Failure> {
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()
            .map_err(|error| Failure::Other(format!("cannot start {threads} threads: {error}")))?;
    }
    let console = Console::new(arguments.quiet, arguments.verbose);
    match arguments.command {
        Command::Run(arguments) => run::execute(&arguments, origin, console),
        Command::Skin(arguments) => skin::execute(&arguments, origin, console),
        Command::Character(arguments) => character::execute(&arguments, console),
        Command::Convert(arguments) => convert::execute(&arguments, console),
        Command::New(arguments) => new::execute(&arguments, console),
        Command::Anatomy(arguments) => anatomy::execute(&arguments, console),
        Command::Mesh(arguments) => mesh::execute(&arguments, console),
        Command::Phantom(arguments) => phantom::execute(&arguments, console),
        Command::Muscle(arguments) => muscle::execute(&arguments, console),
        Command::Lab(arguments) => lab::execute(&arguments, origin, console),
        Command::Gradient(arguments) => gradient::execute(&arguments, console),
        Command::Fit(arguments) => fit::execute(&arguments, console),
        Command::Sweep(arguments) => sweep::execute(&arguments, console),
        Command::Compare(arguments) => compare::execute(&arguments, console),
        Command::Play(arguments) => play::execute(&arguments, console),
        Command::Resume(resume) => resume::execute(&resume, arguments.threads, console),
        Command::Status(arguments) => status::execute(&arguments, console),
        Command::Demo(arguments) => demo::execute(&arguments, console),
        Command::Check(arguments) => check::execute(&arguments, console),
        Command::Schema(arguments) => schema::execute(&arguments),
        Command::Bench(arguments) => bench::execute(&arguments, console),
        Command::Doctor(arguments) => doctor::execute(&arguments),
        Command::Completions(arguments) => completions::execute(&arguments),
        Command::Manual(arguments) => manual::execute(&arguments, console),
    }
}
