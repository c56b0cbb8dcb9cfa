//! Runs commands inside this process, for programs that embed Sinew such as the Python module.

use std::cell::RefCell;
use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

use clap::Parser;
use sinew_fem::Interrupt;

use super::{Arguments, Failure, Status, execute};

/// Output and exit status of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// Exit status: 0 done, 1 an expectation failed, 2 an error.
    pub status: u8,
    /// Text for stdout.
    pub output: String,
    /// Text for stderr.
    pub messages: String,
}

thread_local! {
    /// Collects the output of the command that runs on this thread.
    static CAPTURED: RefCell<Option<Called>> = const { RefCell::new(None) };
}

/// Command line that starts this program again, if it is not just the executable.
static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs a command line (without the name of the program) in this process, on this thread.
///
/// Writes nothing to stdout and stderr and sets no signal handler: `interrupt` stops long commands.
pub fn call(arguments: impl IntoIterator<Item = OsString>, interrupt: Interrupt) -> Called {
    let words: Vec<OsString> = std::iter::once("sinew".into()).chain(arguments).collect();
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(message) => {
            let status = u8::try_from(message.exit_code()).unwrap_or(2);
            let text = message.to_string();
            return match status {
                0 => Called { output: text, ..Called::default() },
                _ => Called { status, messages: text, ..Called::default() },
            };
        }
    };
    CAPTURED.set(Some(Called::default()));
    let entered = interrupt.enter();
    let result = execute(arguments, words.iter().skip(1));
    drop(entered);
    let mut called = CAPTURED.take().unwrap_or_default();
    called.status = match result {
        Ok(Status::Done) => 0,
        Ok(Status::Unexpected) => 1,
        Err(failure) => {
            if !matches!(failure, Failure::Reported) {
                called.messages.push_str(&format!("{failure}\n"));
            }
            2
        }
    };
    called
}

/// Sets the command line that starts this program again, for executables that embed Sinew.
pub fn set_program(command: Vec<OsString>) {
    let _ = PROGRAM.set(command);
}

/// A command that starts this program again.
pub(super) fn program() -> Result<Command, String> {
    match PROGRAM.get().map(Vec::as_slice) {
        Some([program, arguments @ ..]) => {
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
        _ => std::env::current_exe().map(Command::new).map_err(|error| error.to_string()),
    }
}

/// Whether [`call`] runs a command on this thread.
pub(super) fn is_called() -> bool {
    CAPTURED.with_borrow(Option::is_some)
}

/// Captures text for stdout; false outside of [`call`].
pub(super) fn keep_output(text: &str) -> bool {
    keep(|called| called.output.push_str(text))
}

/// Captures a line for stderr; false outside of [`call`].
pub(super) fn keep_message(line: &str) -> bool {
    keep(|called| {
        called.messages.push_str(line);
        called.messages.push('\n');
    })
}

fn keep(add: impl FnOnce(&mut Called)) -> bool {
    CAPTURED.with_borrow_mut(|captured| match captured {
        Some(called) => {
            add(called);
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(arguments: &[&str]) -> Called {
        call(arguments.iter().map(OsString::from), Interrupt::default())
    }

    #[test]
    fn output_of_a_command_is_captured() {
        let schema = called(&["schema"]);
        assert_eq!((schema.status, schema.messages.as_str()), (0, ""));
        assert!(schema.output.starts_with('{'), "{}", schema.output);
        let help = called(&["--help"]);
        assert!(help.status == 0 && help.output.contains("Usage: sinew"), "{help:?}");
    }

    #[test]
    fn errors_are_messages_with_a_status() {
        let unknown = called(&["walk"]);
        assert!(unknown.status == 2 && unknown.messages.contains("walk"), "{unknown:?}");
        let missing = called(&["check", "no-such-scene.toml"]);
        assert!(missing.status == 2 && missing.messages.contains("no-such-scene.toml"), "{missing:?}");
    }
}
