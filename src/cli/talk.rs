//! What is said to people (stderr) and what is handed to programs (stdout).

use std::io::{self, IsTerminal, Write};

use super::{Failure, call};

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Talk {
    /// Notes and progress are wanted (no `-q`).
    pub notes: bool,
    /// A line per frame is wanted (`-v`).
    pub details: bool,
    /// stderr is a terminal that can redraw a line.
    pub terminal: bool,
}

impl Talk {
    /// From `-q` and `-v`.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { notes: !quiet, details: verbose, terminal: io::stderr().is_terminal() && !dumb && !call::is_called() }
    }

    /// Says something that `-q` keeps quiet.
    pub fn note(self, text: &str) {
        if self.notes {
            complain(text);
        }
    }
}

/// Says something in any case. A closed stderr is not worth dying for.
pub fn complain(text: &str) {
    if call::keep_message(text) {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Hands out data. A reader that has seen enough (`| head`) is not an error.
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
