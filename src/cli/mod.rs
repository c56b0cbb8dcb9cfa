//! The command line: one file per command.
//!
//! Data goes to stdout, talk to stderr. Exit status: 0 done, 1 an expectation failed, 2 an error.

mod bench;
mod call;
mod character;
mod check;
mod completions;
mod convert;
mod demo;
mod doctor;
mod gradient;
mod lab;
mod manual;
mod mesh;
mod muscle;
mod new;
mod panic;
mod play;
mod progress;
mod python;
mod run;
mod schema;
mod signals;
mod skin;
mod status;
mod table;
mod talk;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use call::{Called, call, set_program};
pub use python::module as python_module;
use talk::Talk;

/// Muscle, flesh and skin: from anatomy to simulated tissue.
#[derive(Debug, Parser)]
#[command(name = "sinew", version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    /// Says only what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Says more: one line per frame
    #[arg(short, long, global = true)]
    verbose: bool,

    /// Number of threads; results do not depend on it [default: what the scene says, else all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a scene, writes what it records, and checks what it expects
    Run(run::Arguments),
    /// Gives a rigged, animated character flesh, and writes it back in motion
    Skin(skin::Arguments),
    /// Writes a rigged, animated character to try
    Character(character::Arguments),
    /// Turns a recording into files for other programs
    Convert(convert::Arguments),
    /// Writes a scene to begin with, ready to run and full of comments
    New(new::Arguments),
    /// Looks into mesh files, checks, converts and fills them
    Mesh(mesh::Arguments),
    /// Tells what muscles are made of
    Muscle(muscle::Arguments),
    /// Takes a muscle of a scene through a protocol of physiology
    Lab(lab::Arguments),
    /// Runs a quasistatic scene and differentiates what it ends with
    Gradient(gradient::Arguments),
    /// Plays a recording in the terminal, or tells it in numbers
    Play(play::Arguments),
    /// Tells how runs fare, and how to continue those that ended early
    Status(status::Arguments),
    /// Lets a hand make a fist and writes report, USD and pictures
    Demo(demo::Arguments),
    /// Reads and compiles scenes without running them
    Check(check::Arguments),
    /// Prints the JSON schema of scene files
    Schema(schema::Arguments),
    /// Measures the speed of this machine with this program
    Bench(bench::Arguments),
    /// Tells whether this machine has what it takes
    Doctor(doctor::Arguments),
    /// Prints completions for a shell
    Completions(completions::Arguments),
    /// Writes man pages, one per command, or prints the main one
    Manual(manual::Arguments),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything as asked.
    Done,
    /// The run is complete, but the scene expected something else.
    Unexpected,
}

/// Why a command could not do its work; its text is what the user reads after `error:`.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A scene cannot be read or compiled. The text carries its own `error:` lines.
    #[error("{0}")]
    Scene(#[from] sinew_scene::SceneError),
    /// A run stopped. The text carries its own `error:` lines.
    #[error("{0}")]
    Run(#[from] sinew_run::run::RunError),
    /// A protocol has no result. The text carries its own `error:` lines.
    #[error("{0}")]
    Lab(#[from] sinew_run::lab::LabError),
    /// Output that is asked for cannot be written.
    #[error("error: cannot write {what}: {source}")]
    Write {
        /// File or stream.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The user has been told already.
    #[error("")]
    Told,
    /// Anything else, in a sentence.
    #[error("error: {0}")]
    Other(String),
}

/// Reads the command line, runs the command, and turns every end into an exit status.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// [`main`] with a command line of one's own; the first word is the name of the program.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version go to stdout with status 0, mistakes to stderr with status 2: clap knows which.
            let _ = message.print();
            return ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2));
        }
    };
    let _entered = signals::listen().enter();
    panic::guard(|| match execute(arguments) {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Unexpected) => ExitCode::from(1),
        Err(Failure::Told) => ExitCode::from(2),
        Err(failure) => {
            talk::complain(&failure.to_string());
            ExitCode::from(2)
        }
    })
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()
            .map_err(|error| Failure::Other(format!("cannot start {threads} threads: {error}")))?;
    }
    let talk = Talk::new(arguments.quiet, arguments.verbose);
    match arguments.command {
        Command::Run(arguments) => run::execute(&arguments, talk),
        Command::Skin(arguments) => skin::execute(&arguments, talk),
        Command::Character(arguments) => character::execute(&arguments, talk),
        Command::Convert(arguments) => convert::execute(&arguments, talk),
        Command::New(arguments) => new::execute(&arguments, talk),
        Command::Mesh(arguments) => mesh::execute(&arguments, talk),
        Command::Muscle(arguments) => muscle::execute(&arguments, talk),
        Command::Lab(arguments) => lab::execute(&arguments, talk),
        Command::Gradient(arguments) => gradient::execute(&arguments, talk),
        Command::Play(arguments) => play::execute(&arguments, talk),
        Command::Status(arguments) => status::execute(&arguments, talk),
        Command::Demo(arguments) => demo::execute(&arguments, talk),
        Command::Check(arguments) => check::execute(&arguments, talk),
        Command::Schema(arguments) => schema::execute(&arguments),
        Command::Bench(arguments) => bench::execute(&arguments, talk),
        Command::Doctor(arguments) => doctor::execute(&arguments),
        Command::Completions(arguments) => completions::execute(&arguments),
        Command::Manual(arguments) => manual::execute(&arguments, talk),
    }
}
