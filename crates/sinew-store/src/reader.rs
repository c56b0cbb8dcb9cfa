//! Reads a recording, starting at any frame.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::StoreError;
use super::chunk::{self, Kind, Place};
use super::frame::{self, FrameLevels, StoredFrame};
use super::header::{Header, TopologyChange};

/// An open recording, without a cut-off or damaged end.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: Mutex<File>,
    header: Header,
    /// Where the changes of the header stand.
    changes: Vec<Place>,
    frames: Vec<Entry>,
    /// Bytes of whole chunks.
    length: u64,
    /// Bytes after them, which are not a whole chunk.
    lost: u64,
    cache: Mutex<Option<Cached>>,
}

/// A frame in the file.
#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    is_key: bool,
    has_geometry: bool,
}

/// The frame decoded last and the data to predict the next one: frames are mostly read in order.
#[derive(Debug)]
struct Cached {
    frame: usize,
    past: Vec<FrameLevels>,
}

impl Recording {
    /// Opens a recording and finds its whole frames.
    pub fn open(path: &Path) -> Result<Recording, StoreError> {
        let mut file = File::open(path)?;
        chunk::check_start(&mut file)?;
        let size = file.metadata()?.len();
        let first = chunk::locate(&mut file, chunk::START, size)?.filter(|place| place.kind == Kind::Header);
        let head = first.ok_or(StoreError::Empty)?;
        let mut header = Header::decode(&chunk::payload(&mut file, &head)?.ok_or(StoreError::Empty)?)?;
        let mut frames: Vec<Entry> = Vec::new();
        let mut changes: Vec<Place> = Vec::new();
        let mut offset = head.end();
        while let Some(place) = chunk::locate(&mut file, offset, size)?.filter(|place| place.kind != Kind::Header) {
            if place.kind == Kind::Topology {
                // Frames after a damaged one cannot be read.
                let Some(payload) = chunk::payload(&mut file, &place)? else { break };
                header.changes.push(TopologyChange::decode(&payload)?);
                changes.push(place);
            } else {
                let flags = chunk::first_byte(&mut file, &place)?;
                frames.push(Entry { place, is_key: frame::is_key(&flags), has_geometry: frame::has_geometry(&flags) });
            }
            offset = place.end();
        }
        // After a power failure the last chunks may have their length but not their content.
        while let Some(last) = frames.last() {
            if chunk::payload(&mut file, &last.place)?.is_some() {
                break;
            }
            frames.pop();
        }
        let length = frames.last().map_or(head.end(), |entry| entry.place.end());
        if frames.is_empty() {
            return Err(StoreError::Empty);
        }
        let (file, cache) = (Mutex::new(file), Mutex::new(None));
        Ok(Recording { path: path.into(), file, header, changes, frames, length, lost: size - length, cache })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The constant data.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of whole frames, including those with probes only.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Indices of the frames that have more than probes.
    pub fn shown_frames(&self) -> Vec<usize> {
        (0..self.frames.len()).filter(|&frame| self.frames[frame].has_geometry).collect()
    }

    /// Bytes of whole frames.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes at the end that are not a whole frame.
    pub fn lost_bytes(&self) -> u64 {
        self.lost
    }

    /// Number of frames in the first `length` bytes; `None` if no frame ends there.
    pub fn frames_within(&self, length: u64) -> Option<usize> {
        self.frames.iter().position(|entry| entry.place.end() == length).map(|last| last + 1)
    }

    /// What the first `length` bytes know of bodies.
    pub(super) fn header_within(&self, length: u64) -> Header {
        let mut header = self.header.clone();
        header.changes.truncate(self.changes.iter().filter(|place| place.end() <= length).count());
        header
    }

    /// Decodes a frame, and the frames before it from which it is predicted.
    pub fn frame(&self, number: usize) -> Result<StoredFrame, StoreError> {
        let count = self.frames.len();
        let entry = self.frames.get(number).ok_or(StoreError::NoFrame { frame: number, count })?;
        if !entry.has_geometry {
            return Ok(frame::decode(&self.payload(number)?, &self.header, &[])?.0);
        }
        let shown_before = |frame: usize| self.frames[..frame].iter().rposition(|entry| entry.has_geometry);
        // Back to a key frame, or to the frame that was decoded last.
        let mut chain = vec![number];
        let mut cached = lock(&self.cache).take();
        let mut past = loop {
            let earliest = chain[chain.len() - 1];
            if self.frames[earliest].is_key {
                break Vec::new();
            }
            let Some(before) = shown_before(earliest) else { break Vec::new() };
            if let Some(cached) = cached.take_if(|cached| cached.frame == before) {
                break cached.past;
            }
            chain.push(before);
        };
        let mut decoded = StoredFrame::default();
        for &frame in chain.iter().rev() {
            let known: Vec<&FrameLevels> = past.iter().collect();
            let (stored, levels) = frame::decode(&self.payload(frame)?, &self.header, &known)?;
            if self.frames[frame].is_key {
                past.clear();
            }
            past.insert(0, levels);
            past.truncate(2);
            decoded = stored;
        }
        *lock(&self.cache) = Some(Cached { frame: number, past });
        Ok(decoded)
    }

    /// All frames in order.
    pub fn frames(&self) -> impl Iterator<Item = Result<StoredFrame, StoreError>> {
        (0..self.frames.len()).map(|frame| self.frame(frame))
    }

    fn payload(&self, frame: usize) -> Result<Vec<u8>, StoreError> {
        let place = self.frames[frame].place;
        let payload = chunk::payload(&mut lock(&self.file), &place)?;
        payload.ok_or(StoreError::Damaged { frame, offset: place.offset })
    }
}

/// Locks a mutex even if a thread panicked while holding it: the state stays valid, and the next reader seeks and
/// decodes anew.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
