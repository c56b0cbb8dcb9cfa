//! Reports a panic, which is always our bug, as a message instead of a backtrace.

use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::process::ExitCode;

/// Runs the program; a panic becomes a short message and exit status 2.
pub fn guard(program: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(report));
    std::panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or_else(|_| ExitCode::from(2))
}

fn report(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let message =
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let location = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    let message = message.unwrap_or("no message");
    super::console::message(&format!(
        "error: this is a bug in sinew {}: {message}{location}\nhint: please report it together with the scene file",
        env!("CARGO_PKG_VERSION")
    ));
}
