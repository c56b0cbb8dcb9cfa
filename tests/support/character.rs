//! The program on characters: its messages, and test characters.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use sinew_rig::Rig;
use sinew_rig::characters::{Character, CharacterParams, generate};

/// Runs a command in a folder.
pub fn sinew(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(folder).stdin(Stdio::null()).args(arguments).output().expect("the program starts")
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The messages of a successful command.
pub fn told(folder: &Path, arguments: &[&str]) -> String {
    let output = sinew(folder, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    said
}

/// The messages of a failed command; they name all causes.
pub fn complaint(folder: &Path, arguments: &[&str], causes: &[&str]) -> String {
    let output = sinew(folder, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}: an error is talk, not data");
    for word in ["panicked", "this is a bug"] {
        assert!(!said.contains(word), "{arguments:?}: {said}");
    }
    assert!(said.starts_with("error: "), "{arguments:?}: {said}");
    for cause in causes {
        assert!(said.contains(cause), "{arguments:?}: \"{cause}\" is not named:\n{said}");
    }
    said
}

/// A coarse arm that moves for a quarter of a second.
pub fn arm() -> Rig {
    let params = CharacterParams { edge: 0.015, seconds: 0.25, ..CharacterParams::of(Character::Arm) };
    generate(&params).expect("an arm")
}

/// Writes a character as GLB.
pub fn write(rig: &Rig, path: &Path) {
    std::fs::write(path, sinew_io::gltf::write_rig(rig, true).expect("a file")).expect("it is written");
}
