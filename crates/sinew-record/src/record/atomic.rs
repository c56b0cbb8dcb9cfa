//! Atomic files: they appear complete or not at all.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sinew_fem::RecordError;

/// Files of this process that must not remain after it: temporary ones, and those of incomplete sequences.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

pub(super) fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished files, for a process that ends at once. From then on no other file appears either: a thread
/// that would finish one blocks until the end.
pub fn give_up_unfinished() {
    let unfinished = unfinished();
    for file in &*unfinished {
        let _ = std::fs::remove_file(file);
    }
    std::mem::forget(unfinished);
}

/// A file under a temporary name in the folder of its destination.
///
/// [`AtomicFile::commit`] flushes it to the disk and renames it in one step; dropping it without a commit removes it.
/// Readers see the old file or the new one, never a part.
#[derive(Debug)]
pub struct AtomicFile {
    destination: PathBuf,
    temporary: PathBuf,
    /// `None` after the commit.
    file: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Opens a temporary file beside `destination`; creates the folder if it is missing.
    pub fn create(destination: impl Into<PathBuf>) -> Result<AtomicFile, RecordError> {
        /// Distinguishes temporary files of one process.
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let destination = destination.into();
        let folder = match destination.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        std::fs::create_dir_all(&folder).map_err(|source| RecordError::Io { path: folder.clone(), source })?;
        let mut name = OsString::from(".");
        name.push(destination.file_name().unwrap_or_default());
        name.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let temporary = folder.join(name);
        let mut unfinished = unfinished();
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(|source| RecordError::Io { path: destination.clone(), source })?;
        unfinished.insert(temporary.clone());
        drop(unfinished);
        Ok(AtomicFile { destination, temporary, file: Some(BufWriter::new(file)) })
    }

    /// The final path of the file.
    pub fn path(&self) -> &Path {
        &self.destination
    }

    /// The path under which it is written, for a program that writes it.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Adds the destination to an error of the system.
    pub fn error(&self, source: std::io::Error) -> RecordError {
        RecordError::Io { path: self.destination.clone(), source }
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.write_all(bytes).map_err(|source| self.error(source))
    }

    /// Flushes to the disk and renames the file to its destination.
    pub fn commit(mut self) -> Result<(), RecordError> {
        self.commit_in_place()
    }

    fn commit_in_place(&mut self) -> Result<(), RecordError> {
        let Some(writer) = self.file.take() else { return Ok(()) };
        let result = writer
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            // A full disk may only show here: without it a rename could publish a file with holes.
            .and_then(|file| file.sync_all());
        let mut unfinished = unfinished();
        unfinished.remove(&self.temporary);
        let result = result.and_then(|()| std::fs::rename(&self.temporary, &self.destination));
        result.map_err(|source| {
            // Best effort: the first error is the one to report.
            let _ = std::fs::remove_file(&self.temporary);
            RecordError::Io { path: self.destination.clone(), source }
        })
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(std::io::Error::other("the file was already committed")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, place: SeekFrom) -> std::io::Result<u64> {
        match &mut self.file {
            Some(file) => file.seek(place),
            None => Err(std::io::Error::other("the file was already committed")),
        }
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            unfinished().remove(&self.temporary);
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Temporary storage on the disk beside a destination, for formats that group data over time. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Spool(AtomicFile);

impl Spool {
    pub fn create(destination: &Path) -> Result<Spool, RecordError> {
        AtomicFile::create(destination).map(Spool)
    }

    /// Number and checksum of the bytes written so far.
    pub fn size_and_crc(&mut self) -> Result<(u64, u32), RecordError> {
        let destination = self.0.destination.clone();
        let size = self.0.stream_position().map_err(|source| RecordError::Io { path: destination, source })?;
        let mut checksum = Checksum::default();
        self.copy_range_to(0..size, &mut checksum)?;
        Ok((size, checksum.0.finalize()))
    }

    /// Appends a range of the bytes written so far to `out`; more may follow.
    pub fn copy_range_to(&mut self, range: Range<u64>, out: &mut impl Write) -> Result<(), RecordError> {
        let Some(writer) = &mut self.0.file else { return Ok(()) };
        let destination = self.0.destination.clone();
        let mut copy = || -> std::io::Result<()> {
            writer.flush()?;
            let file = writer.get_mut();
            file.seek(SeekFrom::Start(range.start))?;
            let mut wanted = file.take(range.end.saturating_sub(range.start));
            let mut buffer = vec![0; 1 << 16];
            loop {
                let count = wanted.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                out.write_all(&buffer[..count])?;
            }
            file.seek(SeekFrom::End(0)).map(|_| ())
        };
        copy().map_err(|source| RecordError::Io { path: destination, source })
    }
}

/// Bytes that were written and may be read again. They are removed in the end unless they are copied.
impl From<AtomicFile> for Spool {
    fn from(file: AtomicFile) -> Spool {
        Spool(file)
    }
}

/// A place for bytes of which only the checksum is wanted.
#[derive(Default)]
struct Checksum(crc32fast::Hasher);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Writes a whole file at once.
pub fn write_file(destination: impl Into<PathBuf>, bytes: &[u8]) -> Result<(), RecordError> {
    let mut file = AtomicFile::create(destination)?;
    file.put(bytes)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::TestFolder;

    #[test]
    fn file_appears_with_the_commit_and_not_before() {
        let folder = TestFolder::new("atomic-commit");
        let path = folder.path("deep/er/file.txt");
        let mut file = AtomicFile::create(&path).unwrap();
        file.put(b"whole").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn dropped_file_leaves_the_old_one() {
        let folder = TestFolder::new("atomic-drop");
        let path = folder.path("file.txt");
        write_file(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.put(b"new").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.entries(), ["file.txt"]);
    }

    #[test]
    fn errors_name_the_path_and_the_cause() {
        let folder = TestFolder::new("atomic-error");
        write_file(folder.path("plain"), b"x").unwrap();
        // A file in the place of a folder: an error for every user, including root.
        let error = AtomicFile::create(folder.path("plain/inside.txt")).unwrap_err().to_string();
        assert!(error.contains("plain") && error.contains("cannot write"), "{error}");
    }

    #[test]
    fn commit_onto_a_folder_fails_and_cleans_up() {
        let folder = TestFolder::new("atomic-onto");
        std::fs::create_dir_all(folder.path("taken/child")).unwrap();
        let mut file = AtomicFile::create(folder.path("taken")).unwrap();
        file.put(b"x").unwrap();
        assert!(file.commit().is_err());
        assert_eq!(folder.entries(), ["taken"]);
    }

    #[test]
    fn spool_can_be_copied_and_continued() {
        let folder = TestFolder::new("spool");
        let mut spool = Spool::create(&folder.path("a.usda")).unwrap();
        spool.write_all(b"one ").unwrap();
        let mut out = AtomicFile::create(folder.path("first")).unwrap();
        spool.copy_range_to(0..u64::MAX, &mut out).unwrap();
        out.commit().unwrap();
        spool.write_all(b"two").unwrap();
        let mut out = AtomicFile::create(folder.path("second")).unwrap();
        spool.copy_range_to(0..u64::MAX, &mut out).unwrap();
        out.commit().unwrap();
        let mut out = AtomicFile::create(folder.path("third")).unwrap();
        spool.copy_range_to(2..5, &mut out).unwrap();
        out.commit().unwrap();
        drop(spool);
        assert_eq!(std::fs::read(folder.path("third")).unwrap(), b"e t");
        assert_eq!(std::fs::read(folder.path("first")).unwrap(), b"one ");
        assert_eq!(std::fs::read(folder.path("second")).unwrap(), b"one two");
        assert_eq!(folder.entries(), ["first", "second", "third"]);
    }
}
