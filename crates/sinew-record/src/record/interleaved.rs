//! Arrays that grow in parallel, on the disk until they are complete.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use sinew_fem::RecordError;

use super::atomic::{AtomicFile, Spool};

/// Rows of several arrays in one temporary file: one file per array would be hundreds of open files for a body with its
/// muscles.
pub(crate) struct Interleaved {
    spool: Spool,
    length: u64,
    /// Byte range of each row of each array.
    rows: Vec<Vec<Range<u64>>>,
}

impl Interleaved {
    /// Creates `arrays` empty arrays beside `destination`.
    pub fn create(destination: &Path, arrays: usize) -> Result<Interleaved, RecordError> {
        Ok(Interleaved { spool: Spool::create(destination)?, length: 0, rows: vec![Vec::new(); arrays] })
    }

    /// Appends a row to an array.
    pub fn push(&mut self, array: usize, pieces: &[&[u8]]) -> std::io::Result<()> {
        let start = self.length;
        for piece in pieces {
            self.spool.write_all(piece)?;
            self.length += piece.len() as u64;
        }
        self.rows[array].push(start..self.length);
        Ok(())
    }

    /// Bytes of one array.
    pub fn length_of(&self, array: usize) -> u64 {
        self.rows[array].iter().map(|row| row.end - row.start).sum()
    }

    /// Rows of the longest array.
    pub fn rows(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Appends some rows of an array to a file.
    pub fn copy_rows(&mut self, array: usize, rows: Range<usize>, out: &mut AtomicFile) -> Result<(), RecordError> {
        let mut rows = self.rows[array][rows].iter().cloned().peekable();
        while let Some(mut row) = rows.next() {
            // Rows of a single array are contiguous.
            while let Some(next) = rows.next_if(|next| next.start == row.end) {
                row.end = next.end;
            }
            self.spool.copy_range_to(row, out)?;
        }
        Ok(())
    }

    /// Appends all rows of an array to a file.
    pub fn copy_all(&mut self, array: usize, out: &mut AtomicFile) -> Result<(), RecordError> {
        self.copy_rows(array, 0..self.rows[array].len(), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::TestFolder;

    #[test]
    fn arrays_come_apart_again() {
        let folder = TestFolder::new("interleaved");
        let mut arrays = Interleaved::create(&folder.path("a"), 2).unwrap();
        for row in ["a", "bb", "ccc"] {
            arrays.push(0, &[row.as_bytes(), b","]).unwrap();
            arrays.push(1, &[b"-"]).unwrap();
        }
        arrays.push(0, &[b"d"]).unwrap();
        arrays.push(0, &[b"e"]).unwrap();
        let mut out = AtomicFile::create(folder.path("out")).unwrap();
        arrays.copy_all(1, &mut out).unwrap();
        arrays.copy_all(0, &mut out).unwrap();
        arrays.copy_rows(0, 1..2, &mut out).unwrap();
        out.commit().unwrap();
        assert_eq!((arrays.length_of(0), arrays.length_of(1)), (11, 3));
        assert_eq!(std::fs::read(folder.path("out")).unwrap(), b"---a,bb,ccc,debb,");
    }
}
