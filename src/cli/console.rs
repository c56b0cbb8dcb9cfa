//! Output: messages for people go to stderr, data for programs goes to stdout.

use std::io::{self, IsTerminal, Write};

use super::{Failure, call};

/// Verbosity and kind of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Console {
    /// Show notes and progress (no `-q`).
    pub notes: bool,
    /// Show a line per frame (`-v`).
    pub details: bool,
    /// stderr is a terminal that can redraw a line.
    pub terminal: bool,
}

impl Console {
    /// From `-q` and `-v`.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { notes: !quiet, details: verbose, terminal: io::stderr().is_terminal() && !dumb && !call::is_called() }
    }

    /// Writes a message to stderr, except with `-q`.
    pub fn note(self, text: &str) {
        if self.notes {
            message(text);
        }
    }
}

/// Writes a message to stderr, also with `-q`. A closed stderr is not an error.
pub fn message(text: &str) {
    if call::keep_message(text) {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes data to stdout. A reader that closes the pipe early (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    if call::keep_output(text) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Write { what: "to standard output".into(), source: error })
        }
        _ => Ok(()),
    }
}
