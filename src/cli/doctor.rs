//! `sinew doctor`: checks whether this machine can run Sinew.

use std::io::{IsTerminal, Write};
use std::path::Path;

use super::{Failure, Status, console, table};

/// Checks whether this machine can run Sinew
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Result of one check.
struct Finding {
    topic: &'static str,
    text: String,
    is_fine: bool,
}

/// Runs the command.
pub fn execute(_: &Arguments) -> Result<Status, Failure> {
    let findings = [
        Finding { topic: "version", text: env!("CARGO_PKG_VERSION").into(), is_fine: true },
        Finding {
            topic: "platform",
            text: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            is_fine: true,
        },
        instruction_set(),
        threads(),
        memory(),
        writable("this folder", Path::new(".")),
        writable("temporary folder", &std::env::temp_dir()),
        terminal(),
        arithmetic(),
    ];
    let word = |is_fine: bool| String::from(if is_fine { "ok" } else { "BAD" });
    let rows: Vec<Vec<String>> =
        findings.iter().map(|found| vec![word(found.is_fine), found.topic.into(), found.text.clone()]).collect();
    console::print(&table::layout(&rows, &[]))?;
    match findings.iter().filter(|found| !found.is_fine).count() {
        0 => Ok(Status::Done),
        count => Err(Failure::Other(format!("{count} of {} checks failed", findings.len()))),
    }
}

fn instruction_set() -> Finding {
    let forced = std::env::var("SINEW_ISA").map(|isa| format!(" (SINEW_ISA={isa})")).unwrap_or_default();
    Finding { topic: "instruction set", text: format!("{}{forced}", super::bench::isa_name()), is_fine: true }
}

fn threads() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let text = format!("{} used of {cores} available", rayon::current_num_threads());
    Finding { topic: "threads", text, is_fine: true }
}

/// Free memory, if the system reports it. A large body needs about 10 kB per cell with its factorization.
fn memory() -> Finding {
    match sinew_io::memory::free() {
        Some(bytes) => {
            let gigabytes = sinew_io::memory::gibibytes(bytes as f64);
            Finding { topic: "memory", text: format!("{gigabytes:.1} GiB free"), is_fine: gigabytes > 0.25 }
        }
        None => Finding { topic: "memory", text: "not reported by this system".into(), is_fine: true },
    }
}

fn writable(topic: &'static str, folder: &Path) -> Finding {
    let file = folder.join(format!(".sinew-doctor-{}.tmp", std::process::id()));
    let result = std::fs::File::create(&file).and_then(|mut file| file.write_all(b"sinew"));
    let _ = std::fs::remove_file(&file);
    let folder = std::path::absolute(folder).unwrap_or(folder.to_path_buf());
    match result {
        Ok(()) => Finding { topic, text: format!("{} is writable", folder.display()), is_fine: true },
        Err(error) => Finding { topic, text: format!("cannot write to {}: {error}", folder.display()), is_fine: false },
    }
}

fn terminal() -> Finding {
    let kind = if std::io::stderr().is_terminal() {
        "yes, progress is one line"
    } else {
        "no, progress is printed line by line"
    };
    Finding { topic: "terminal", text: kind.into(), is_fine: true }
}

/// One decomposition with the vector kernels: shows wrong instructions before a run.
fn arithmetic() -> Finding {
    let errors = super::bench::quick_svd_check();
    let text = format!("SVD error {:.1e}, orthogonality {:.1e}", errors.0, errors.1);
    Finding { topic: "arithmetic", text, is_fine: errors.0 <= 5e-6 && errors.1 <= 5e-6 }
}
