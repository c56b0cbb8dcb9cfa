//! The output folder: checked before a run, cleaned after a failure that left nothing in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::run::RunError;

/// Bytes written to see whether there is room: enough for a full disk to refuse, too few to be noticed.
const ROOM: usize = 256 * 1024;

/// A folder that can be written to.
///
/// Folders that had to be created are removed again when it is dropped without [`OutputFolder::keep`] and still empty.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// Folders that did not exist before, outermost first.
    created: Vec<PathBuf>,
    /// Files that are younger are ours.
    since: SystemTime,
}

impl OutputFolder {
    /// Creates the folder where necessary, and writes and removes a small file in it.
    pub fn prepare(path: &Path) -> Result<Self, RunError> {
        let failed = |source| RunError::Output { path: path.into(), source };
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let mut created: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        created.reverse();
        std::fs::create_dir_all(path).map_err(failed)?;
        // File times come from a coarser clock than `now`, some milliseconds behind it.
        let since = SystemTime::now() - Duration::from_millis(50);
        let folder = Self { path: path.into(), created, since };
        let probe = path.join(format!(".sinew-{}.tmp", std::process::id()));
        let written = std::fs::File::create(&probe).and_then(|mut file| {
            file.write_all(&vec![0; ROOM])?;
            file.sync_all()
        });
        let removed = if probe.exists() { std::fs::remove_file(&probe) } else { Ok(()) };
        written.and(removed).map_err(failed)?;
        Ok(folder)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files written to the folder since it was prepared, sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                let modified = entry.metadata().and_then(|data| data.modified());
                if path.is_dir() {
                    folders.push(path);
                } else if modified.is_ok_and(|time| time >= self.since) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// Keeps what was created.
    pub fn keep(mut self) {
        self.created.clear();
    }

    /// The folder if something was written to it.
    pub(crate) fn keep_if_used(&self) -> Option<PathBuf> {
        (!self.files().is_empty()).then(|| self.path.clone())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        for folder in self.created.iter().rev() {
            // Refuses when something is in it, which is what we want.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
