//! One Ctrl-C, SIGTERM or SIGHUP ends any command within two seconds, with files that are whole or not there.
//!
//! Work that has something to save asks its [`Interrupt`], saves it, and comes to an end by itself. All other work has nothing to lose, since files appear
//! under their names only when they are complete: it is ended wherever it is.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sinew_fem::{Hold, Interrupt};

use super::{play, talk};

/// Time for work to end by itself: less than anybody waits, more than a picture takes.
const GRACE: Duration = Duration::from_millis(1500);

/// Signals that come so soon after the first are the same wish: a terminal and whoever passes signals on both send to a whole group of processes.
const ONE_WISH: Duration = Duration::from_millis(500);

/// Time for the last words.
const WORDS: Duration = Duration::from_millis(200);

/// When the first signal came.
static FIRST: OnceLock<Instant> = OnceLock::new();

/// Listens from now on; the second wish does not wait for anything.
pub(super) fn listen() -> Interrupt {
    // Without a handler (not supported) Ctrl-C just ends the program.
    let _ = ctrlc::set_handler(|| match FIRST.get() {
        None => {
            let _ = FIRST.set(Instant::now());
            std::thread::spawn(end_when_nobody_holds);
        }
        Some(first) if first.elapsed() < ONE_WISH => {}
        Some(_) => end(),
    });
    Interrupt::new(|| FIRST.get().is_some())
}

fn end_when_nobody_holds() {
    let mut free_since = Instant::now();
    while free_since.elapsed() < GRACE {
        // Who has saved what it had gets time to close its files.
        if Hold::is_any() {
            free_since = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    end();
}

/// Leaves nothing unfinished behind, neither on the disk nor on the terminal.
fn end() -> ! {
    sinew_record::record::give_up_unfinished();
    // Whoever reads what we say may have stopped reading; nobody waits for that.
    let told = std::thread::spawn(|| {
        play::restore_terminal();
        let line = if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
        talk::complain(&format!("{line}error: interrupted"));
    });
    let start = Instant::now();
    while !told.is_finished() && start.elapsed() < WORDS {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::process::exit(2)
}
