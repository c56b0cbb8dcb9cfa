//! Ctrl-C, SIGTERM or SIGHUP stops any command within two seconds. Files are complete or absent.
//!
//! A command with unsaved work polls its [`Interrupt`], saves, and returns. Other commands stop at once: they lose
//! nothing, because a file gets its name only when it is complete.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sinew_fem::{Hold, Interrupt};

use super::{console, play};

/// Time for a command to return by itself; longer than a picture takes.
const GRACE: Duration = Duration::from_millis(1500);

/// Signals within this time after the first count as one: the terminal and a parent process may both send it.
const REPEAT_TIME: Duration = Duration::from_millis(500);

/// Time for the last message.
const MESSAGE_TIME: Duration = Duration::from_millis(200);

/// Time of the first signal.
static FIRST: OnceLock<Instant> = OnceLock::new();

/// Installs the handlers. A second signal stops the program at once.
pub(super) fn listen() -> Interrupt {
    report_file_limit();
    // If handlers are not supported, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(|| match FIRST.get() {
        None => {
            let _ = FIRST.set(Instant::now());
            std::thread::spawn(end_when_saved);
        }
        Some(first) if first.elapsed() < REPEAT_TIME => {}
        Some(_) => end(),
    });
    Interrupt::new(|| FIRST.get().is_some())
}

/// A write beyond `ulimit -f` becomes an error that names the file: without a handler, its signal ends the program
/// without a word.
#[cfg(unix)]
fn report_file_limit() {
    use std::sync::{Arc, atomic::AtomicBool};
    // Nobody reads the flag: the write fails as soon as there is any handler.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

#[cfg(not(unix))]
fn report_file_limit() {}

fn end_when_saved() {
    let mut free_since = Instant::now();
    while free_since.elapsed() < GRACE {
        // After saving, a command gets time to close its files.
        if Hold::is_any() {
            free_since = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    end();
}

/// Removes unfinished files, restores the terminal, and exits.
fn end() -> ! {
    sinew_record::record::give_up_unfinished();
    // Do not wait forever for a reader that has stopped reading.
    let message = std::thread::spawn(|| {
        play::restore_terminal();
        let line = if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
        console::message(&format!("{line}error: interrupted"));
    });
    let start = Instant::now();
    while !message.is_finished() && start.elapsed() < MESSAGE_TIME {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::process::exit(2)
}
