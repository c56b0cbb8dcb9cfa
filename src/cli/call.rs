//! Commands without a process of their own: for programs that have Sinew in them, such as the Python module.

use std::cell::RefCell;
use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

use clap::Parser;
use sinew_fem::Interrupt;

use super::{Arguments, Failure, Status, execute};

/// What a command said and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// The exit status it would have had: 0 done, 1 an expectation failed, 2 an error.
    pub status: u8,
    /// What it would have printed on stdout.
    pub output: String,
    /// What it would have said on stderr.
    pub messages: String,
}

thread_local! {
    /// Where the words of a command go while it is called.
    static CAPTURED: RefCell<Option<Called>> = const { RefCell::new(None) };
}

/// How this program can be started once more, where that is not simply its own file.
static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs a command line (without the name of the program) in this process, on this thread. Nothing is written to stdout and stderr, and no signal handler is
/// set: `interrupt` ends long commands.
pub fn call(arguments: impl IntoIterator<Item = OsString>, interrupt: Interrupt) -> Called {
    let name = OsString::from("sinew");
    let arguments = match Arguments::try_parse_from(std::iter::once(name).chain(arguments)) {
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
    let result = execute(arguments);
    drop(entered);
    let mut called = CAPTURED.take().unwrap_or_default();
    called.status = match result {
        Ok(Status::Done) => 0,
        Ok(Status::Unexpected) => 1,
        Err(failure) => {
            if !matches!(failure, Failure::Told) {
                called.messages.push_str(&format!("{failure}\n"));
            }
            2
        }
    };
    called
}

/// Says how to start this program with other arguments, where its file is another program that has Sinew in it.
pub fn set_program(command: Vec<OsString>) {
    let _ = PROGRAM.set(command);
}

/// This program, to be started once more.
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

/// Whether a command is being called on this thread.
pub(super) fn is_called() -> bool {
    CAPTURED.with_borrow(Option::is_some)
}

/// Keeps something said on stdout; false when nobody called.
pub(super) fn keep_output(text: &str) -> bool {
    keep(|called| called.output.push_str(text))
}

/// Keeps a line said on stderr; false when nobody called.
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
    fn words_of_a_called_command_are_kept() {
        let schema = called(&["schema"]);
        assert_eq!((schema.status, schema.messages.as_str()), (0, ""));
        assert!(schema.output.starts_with('{'), "{}", schema.output);
        let help = called(&["--help"]);
        assert!(help.status == 0 && help.output.contains("Usage: sinew"), "{help:?}");
    }

    #[test]
    fn mistakes_are_messages_with_a_status() {
        let unknown = called(&["walk"]);
        assert!(unknown.status == 2 && unknown.messages.contains("walk"), "{unknown:?}");
        let missing = called(&["check", "no-such-scene.toml"]);
        assert!(missing.status == 2 && missing.messages.contains("no-such-scene.toml"), "{missing:?}");
    }
}
