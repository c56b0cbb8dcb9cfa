//! Protection of files: no command overwrites its inputs or writes two files to one path.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// All reasons why outputs of a command cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OutputClash {
    problems: Vec<String>,
}

impl fmt::Display for OutputClash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\nerror: "))
    }
}

/// Reports outputs that are inputs, that share a path, or that are folders or devices.
///
/// Writing replaces the name, never the target of a link: a link `a.obj` to an input is protected like the input.
pub fn check_outputs(
    inputs: impl IntoIterator<Item = impl AsRef<Path>>,
    outputs: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), OutputClash> {
    let inputs: Vec<PathBuf> = inputs.into_iter().flat_map(|path| places(path.as_ref())).collect();
    let mut seen: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut problems = Vec::new();
    for output in outputs {
        let output = output.as_ref();
        let shown = output.display();
        if places(output).iter().any(|place| inputs.contains(place)) {
            problems
                .push(format!("{shown} is read by this command, which would overwrite it\nhint: choose another name"));
        } else if output.is_dir() {
            problems.push(format!("{shown} is a folder"));
        } else if output.exists() && !output.is_file() {
            // Renaming would replace the device itself.
            problems.push(format!("{shown} is a device or a pipe, which cannot be replaced by a file"));
        }
        if let Some(other) = seen.insert(place(output), output.into()) {
            problems.push(format!("{} and {shown} are the same file", other.display()));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(OutputClash { problems }) }
}

/// Paths of a file: its own path, and the target of its links.
fn places(path: &Path) -> Vec<PathBuf> {
    let mut places = vec![place(path)];
    places.extend(std::fs::canonicalize(path));
    places.dedup();
    places
}

/// The path of a file that need not exist: links of its folder are followed, the last one is not.
fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path };
    std::fs::canonicalize(folder).map_or_else(|_| path.clone(), |folder| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder that is removed with its contents at the end.
    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> TestFolder {
            let path = std::env::temp_dir().join(format!("sinew-test-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            TestFolder(path)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn inputs_are_not_outputs_by_whatever_path() {
        let folder = TestFolder::new("guard-inputs");
        std::fs::create_dir_all(folder.path("sub")).unwrap();
        std::fs::write(folder.path("a.obj"), "v").unwrap();
        for same in ["a.obj", "sub/../a.obj", "./a.obj"] {
            assert!(check_outputs([folder.path("a.obj")], [folder.path(same)]).is_err(), "{same}");
        }
        assert_eq!(check_outputs([folder.path("a.obj")], [folder.path("b.obj")]), Ok(()));
        assert!(check_outputs([folder.path("a.obj")], [folder.path("sub")]).is_err(), "a folder");
    }

    #[cfg(unix)]
    #[test]
    fn links_to_inputs_are_not_outputs() {
        let folder = TestFolder::new("guard-links");
        std::fs::write(folder.path("a.obj"), "v").unwrap();
        std::os::unix::fs::symlink(folder.path("a.obj"), folder.path("link.obj")).unwrap();
        assert!(check_outputs([folder.path("a.obj")], [folder.path("link.obj")]).is_err());
        assert!(check_outputs([folder.path("link.obj")], [folder.path("a.obj")]).is_err());
        assert!(check_outputs([folder.path("link.obj")], [folder.path("link.obj")]).is_err());
    }

    /// Seen: a rename put a file in the place of a device.
    #[cfg(unix)]
    #[test]
    fn sockets_and_devices_are_not_outputs() {
        let folder = TestFolder::new("guard-socket");
        let _socket = std::os::unix::net::UnixListener::bind(folder.path("a.obj")).unwrap();
        let error = check_outputs([""; 0], [folder.path("a.obj")]).unwrap_err().to_string();
        assert!(error.contains("is a device or a pipe"), "{error}");
    }

    #[test]
    fn all_problems_come_at_once() {
        let folder = TestFolder::new("guard-all");
        std::fs::write(folder.path("a.obj"), "v").unwrap();
        let outputs = [folder.path("a.obj"), folder.path("b.obj"), folder.path("b.obj")];
        let text = check_outputs([folder.path("a.obj")], outputs).unwrap_err().to_string();
        assert!(text.contains("is read by this command") && text.contains("are the same file"), "{text}");
    }
}
