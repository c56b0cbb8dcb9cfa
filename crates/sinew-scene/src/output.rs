//! The output folder: checked before a run, cleaned after a failure that left nothing in it.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::run::RunError;

/// Bytes written to see whether there is room: enough for a full disk to refuse, too few to be noticed.
const ROOM: usize = 256 * 1024;

/// The file that is locked while a run uses its folder.
const LOCK: &str = ".sinew.lock";

/// A folder that can be written to, by nobody else at the same time.
///
/// Folders that had to be created are removed again when it is dropped without [`OutputFolder::keep`] and still empty.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// Folders that did not exist before, outermost first.
    created: Vec<PathBuf>,
    /// Files that are younger are ours.
    since: SystemTime,
    /// Held while the folder is used: the system lets go of it however the process ends.
    _lock: File,
    is_kept: bool,
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
        let lock = lock(path)?;
        let folder = Self { path: path.into(), created, since, _lock: lock, is_kept: false };
        folder.remove_leftovers();
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

    /// Files written to the folder since it was prepared, sorted; those that only the program itself reads are left out.
    pub fn files(&self) -> Vec<PathBuf> {
        let is_ours = |path: &PathBuf| {
            let modified = std::fs::metadata(path).and_then(|data| data.modified());
            !is_hidden(path) && modified.is_ok_and(|time| time >= self.since)
        };
        self.all_files().into_iter().filter(is_ours).collect()
    }

    /// Every file in the folder and below, sorted.
    fn all_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }

    /// Removes the temporary files of a run that was killed. Nobody else uses the folder, so they belong to nobody.
    fn remove_leftovers(&self) {
        for file in self.all_files() {
            if is_hidden(&file) && file.extension().is_some_and(|extension| extension == "tmp") {
                let _ = std::fs::remove_file(file);
            }
        }
    }

    /// Keeps what was created.
    pub fn keep(mut self) {
        self.is_kept = true;
        self.created.clear();
    }

    /// The folder if something was written to it.
    pub(crate) fn keep_if_used(&self) -> Option<PathBuf> {
        (!self.files().is_empty()).then(|| self.path.clone())
    }
}

/// Whether a name begins with a dot.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Whether a process is computing in a folder.
pub fn is_busy(folder: &Path) -> bool {
    let file = File::options().write(true).open(folder.join(LOCK));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Reserves a folder.
fn lock(folder: &Path) -> Result<File, RunError> {
    let failed = |source| RunError::Output { path: folder.into(), source };
    let file = File::options().write(true).create(true).truncate(false).open(folder.join(LOCK)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { path: folder.into() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // The lock alone is no result.
            let _ = std::fs::remove_file(self.path.join(LOCK));
        }
        for folder in self.created.iter().rev() {
            // Refuses when something is in it, which is what we want.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
