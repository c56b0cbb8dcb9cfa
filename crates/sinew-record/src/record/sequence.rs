//! One file per frame.

use std::path::{Path, PathBuf};

use sinew_fem::RecordError;
use sinew_scene::output::stem;

use super::atomic::{unfinished, write_file};

/// Numbered files that belong together. They are removed if dropped before [`Sequence::keep`], like a single unfinished
/// file.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    files: Vec<PathBuf>,
    is_kept: bool,
}

impl Sequence {
    /// Writes one file.
    pub fn put(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), RecordError> {
        write_file(&path, bytes)?;
        self.add(path);
        Ok(())
    }

    /// Adds a file that was written elsewhere.
    pub fn add(&mut self, path: PathBuf) {
        unfinished().insert(path.clone());
        self.files.push(path);
    }

    /// Marks the sequence as complete, or as complete as it will be.
    pub fn keep(&mut self) {
        self.is_kept = true;
        self.forget();
    }

    /// Removes the files from the list of unfinished ones.
    fn forget(&self) {
        let mut unfinished = unfinished();
        for file in &self.files {
            unfinished.remove(file);
        }
    }

    /// The written files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        if !self.is_kept {
            self.forget();
            for file in &self.files {
                let _ = std::fs::remove_file(file);
            }
        }
    }
}

/// `folder/stem_00012.obj` for `folder/stem.obj`, with the name of a part before the number if there is one.
pub(crate) fn numbered(pattern: &Path, part: Option<&str>, index: usize) -> PathBuf {
    let extension = pattern.extension().map(|extension| extension.to_string_lossy().into_owned()).unwrap_or_default();
    let part = part.map(|part| format!("_{part}")).unwrap_or_default();
    pattern.with_file_name(format!("{}{part}_{index:05}.{extension}", stem(pattern)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::TestFolder;

    #[test]
    fn sequence_vanishes_unless_it_is_kept() {
        let folder = TestFolder::new("sequence");
        let pattern = folder.path("a.obj");
        for (is_kept, expected) in [(false, 0), (true, 2)] {
            let mut sequence = Sequence::default();
            sequence.put(numbered(&pattern, None, 0), b"x").unwrap();
            sequence.put(numbered(&pattern, Some("flesh"), 12), b"y").unwrap();
            if is_kept {
                sequence.keep();
            }
            drop(sequence);
            assert_eq!(folder.entries().len(), expected);
        }
        assert_eq!(folder.entries(), ["a_00000.obj", "a_flesh_00012.obj"]);
    }
}
