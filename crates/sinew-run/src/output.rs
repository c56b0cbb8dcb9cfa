//! The output folder of a run.
//!
//! A run only replaces files that an earlier run in the same folder wrote, and only removes temporary files with its
//! own naming scheme. `docs/design/files.md` has the rules.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sinew_scene::output::{MANIFEST, OutputPlan, PREVIOUS, PlannedFile, check_outputs, entries};

use crate::checkpoint;
use crate::manifest::Manifest;
use crate::run::RunError;

/// Number of bytes written to test for free space: enough for a full disk to fail, too few to be noticed.
const ROOM: usize = 256 * 1024;

/// The file that is locked while a run uses its folder.
const LOCK: &str = ".sinew.lock";

/// A writable folder, locked against other runs.
///
/// Created folders are removed again if it is dropped without [`OutputFolder::keep`] and they are still empty.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    plan: OutputPlan,
    /// Folders that did not exist before, outermost first.
    created: Vec<PathBuf>,
    /// Newer files are ours.
    since: SystemTime,
    /// Held while the folder is in use; the system releases it however the process ends.
    _lock: File,
    is_kept: bool,
}

impl OutputFolder {
    /// Creates the folder if necessary, and writes and removes a small file in it.
    ///
    /// Returns an error if a planned file is one of `inputs`, or exists and no run in this folder wrote it, unless
    /// `replace` allows it.
    pub fn prepare(path: &Path, plan: OutputPlan, inputs: &[PathBuf], replace: bool) -> Result<Self, RunError> {
        let failed = |source| RunError::Output { path: path.into(), source };
        check_inputs(path, &plan, inputs)?;
        if !replace {
            check_strangers(path, &plan)?;
        }
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let mut created: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        created.reverse();
        std::fs::create_dir_all(path).map_err(failed)?;
        // File times come from a coarser clock than `now`, some milliseconds behind it.
        let since = SystemTime::now() - Duration::from_millis(50);
        let lock = lock(path)?;
        let folder = Self { path: path.into(), plan, created, since, _lock: lock, is_kept: false };
        folder.remove_leftovers();
        let probe = path.join(format!(".sinew-{}.tmp", std::process::id()));
        let written = std::fs::File::create_new(&probe).and_then(|mut file| {
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

    /// Files that may be written to it.
    pub fn plan(&self) -> &OutputPlan {
        &self.plan
    }

    /// Planned files that were written since the folder was prepared, sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        let is_ours = |path: &PathBuf| {
            let modified = path.symlink_metadata().and_then(|data| data.modified());
            modified.is_ok_and(|time| time >= self.since)
        };
        let existing = self.plan.files().iter().flat_map(|file| file.existing(&self.path));
        let mut files: Vec<PathBuf> = existing.filter(is_ours).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Removes the temporary files of a run that was killed: names that only
    /// [`AtomicFile`](sinew_record::record::AtomicFile) uses, of planned files, from a process that has ended.
    fn remove_leftovers(&self) {
        for folder in self.plan.folders() {
            for (path, name) in entries(&self.path, folder) {
                let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
                let is_ours =
                    |(of, process): (&str, u32)| (of == "sinew" || self.plan.has(folder, of)) && !is_running(process);
                if is_file && temporary_of(&name).is_some_and(is_ours) {
                    let _ = std::fs::remove_file(path);
                }
            }
        }
    }

    /// Keeps the created folders.
    pub fn keep(mut self) {
        self.is_kept = true;
        self.created.clear();
    }

    /// The folder, if something was written to it.
    pub(crate) fn keep_if_used(&self) -> Option<PathBuf> {
        (!self.files().is_empty()).then(|| self.path.clone())
    }
}

/// The destination and the process of `.NAME.PID-N.tmp`, or `sinew` and the process of `.sinew-PID.tmp`.
pub(crate) fn temporary_of(name: &str) -> Option<(&str, u32)> {
    let rest = name.strip_prefix('.')?.strip_suffix(".tmp")?;
    if let Some(process) = rest.strip_prefix("sinew-") {
        return Some(("sinew", process.parse().ok()?));
    }
    let (destination, numbers) = rest.rsplit_once('.')?;
    let (process, count) = numbers.split_once('-')?;
    count.parse::<u64>().ok()?;
    Some((destination, process.parse().ok()?))
}

/// Whether a process with this id exists, according to the system. Ours does, but leaves no such files behind.
pub fn is_running(process: u32) -> bool {
    process != std::process::id() && Path::new("/proc").join(process.to_string()).exists()
}

/// An error if an output is an input.
fn check_inputs(root: &Path, plan: &OutputPlan, inputs: &[PathBuf]) -> Result<(), RunError> {
    let existing = plan.files().iter().flat_map(|file| file.existing(root));
    check_outputs(inputs, existing.collect::<std::collections::BTreeSet<_>>()).map_err(RunError::Clash)
}

/// An error if the run would replace files that no run in this folder wrote.
fn check_strangers(root: &Path, plan: &OutputPlan) -> Result<(), RunError> {
    let manifest = Manifest::read(root).ok();
    let mut known: Vec<PlannedFile> = Vec::new();
    if let Some(manifest) = &manifest {
        known.extend(manifest.writes.iter().chain(&manifest.outputs).map(|file| PlannedFile::parse(file)));
    }
    let is_ours = |file: &PlannedFile, path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        known.iter().any(|known| known.folder == file.folder && known.matches(&name))
            || (manifest.is_some() && file.key.is_empty())
            || has_own_content(root, path)
    };
    let mut strangers = Vec::new();
    for file in plan.files() {
        // Older recordings are moved aside under new names, never replaced.
        if file.to_string() == format!("{}*", PREVIOUS) {
            continue;
        }
        strangers.extend(file.existing(root).into_iter().filter(|path| !is_ours(file, path)));
    }
    strangers.sort();
    strangers.dedup();
    if strangers.is_empty() { Ok(()) } else { Err(RunError::Strangers { path: root.into(), files: strangers }) }
}

/// Whether the first bytes of a file show that a run wrote it. For a damaged manifest, the lock file beside it shows
/// it.
fn has_own_content(root: &Path, path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == MANIFEST) {
        return root.join(LOCK).exists();
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_end(&mut start));
    read.is_ok() && (start.starts_with(&sinew_store::MAGIC) || start.starts_with(checkpoint::FAMILY))
}

/// Whether a process is computing in a folder.
pub fn is_busy(folder: &Path) -> bool {
    let file = File::options().write(true).open(folder.join(LOCK));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Locks a folder.
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
            // The lock file alone is not a result.
            let _ = std::fs::remove_file(self.path.join(LOCK));
        }
        for folder in self.created.iter().rev() {
            // Fails if the folder is not empty, as intended.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_own_making_are_temporary() {
        assert_eq!(temporary_of(".probes.csv.123-4.tmp"), Some(("probes.csv", 123)));
        assert_eq!(temporary_of(".sinew-77.tmp"), Some(("sinew", 77)));
        for other in [".notes.tmp", "probes.csv.123-4.tmp", ".a.1-x.tmp", ".a.-1.tmp", ".1-2.tmp", ".sinew-x.tmp"] {
            assert_eq!(temporary_of(other), None, "{other}");
        }
    }
}
