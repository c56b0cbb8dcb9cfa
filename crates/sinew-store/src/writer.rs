//! Writes a recording, one whole chunk per frame.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sinew_fem::{Frame, RecordError};

use super::KEY_INTERVAL;
use super::chunk::{self, Kind};
use super::frame::{self, FrameLevels, StoredFrame};
use super::header::{Header, TopologyChange};
use super::reader::Recording;

/// Parameters of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingParams {
    /// Largest error of a coordinate, as a fraction of the size of its body; 0: exact.
    pub error: f64,
    /// Whether to keep the stress of the cells.
    pub stress: bool,
    /// Whether to keep contact points.
    pub contacts: bool,
    /// Interval between frames with geometry; probes are kept for all frames.
    pub every: usize,
}

impl Default for RecordingParams {
    fn default() -> Self {
        Self { error: 0.0, stress: false, contacts: false, every: 1 }
    }
}

/// A growing recording.
pub struct RecordingWriter {
    path: PathBuf,
    file: File,
    /// Bytes of whole chunks.
    length: u64,
    header: Header,
    every: usize,
    /// Frames with geometry since the last key, latest first, at most two.
    past: Vec<FrameLevels>,
    since_key: usize,
    has_header: bool,
    /// That of the last frame.
    topology_revision: u64,
}

impl RecordingWriter {
    /// Starts a file, in place of an older one. `header` describes scene and program; bodies come with the first frame.
    pub fn create(path: &Path, header: Header, params: &RecordingParams) -> Result<Self, RecordError> {
        let failed = |source| RecordError::Io { path: path.into(), source };
        let mut file = File::create(path).map_err(failed)?;
        chunk::write_start(&mut file).map_err(failed)?;
        let header = Header { error: params.error, has_stress: params.stress, has_contacts: params.contacts, ..header };
        Ok(Self {
            path: path.into(),
            file,
            length: chunk::START,
            header,
            every: params.every.max(1),
            past: Vec::new(),
            since_key: 0,
            has_header: false,
            topology_revision: 0,
        })
    }

    /// Continues a file after its first `length` bytes, which `recording` has read.
    pub fn resume(recording: &Recording, length: u64, params: &RecordingParams) -> Result<Self, RecordError> {
        let path = recording.path();
        let failed = |source| RecordError::Io { path: path.into(), source };
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        file.set_len(length).map_err(failed)?;
        file.seek(SeekFrom::Start(length)).map_err(failed)?;
        let last = recording.frames_within(length).and_then(|count| recording.frame(count.checked_sub(1)?).ok());
        Ok(Self {
            path: path.into(),
            file,
            length,
            header: recording.header_within(length),
            every: params.every.max(1),
            // The next frame is independent: the frames before need not be decoded.
            past: Vec::new(),
            since_key: 0,
            has_header: true,
            topology_revision: last.map_or(0, |frame| frame.topology_revision),
        })
    }

    /// The constant data; complete after the first frame.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of whole frames.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds a frame and returns the recorded version.
    pub fn append(&mut self, frame: &Frame<'_>) -> Result<StoredFrame, RecordError> {
        if !self.has_header {
            self.header.set_content(frame);
            self.put(Kind::Header, &self.header.encode())?;
            self.has_header = true;
        } else if frame.topology_revision != self.topology_revision {
            let change = TopologyChange::of(frame);
            self.put(Kind::Topology, &change.encode())?;
            self.header.changes.push(change);
            // Other nodes cannot be predicted from those before.
            self.past.clear();
            self.since_key = 0;
        }
        self.topology_revision = frame.topology_revision;
        let recorded = self.header.bodies_at(frame.topology_revision);
        if let Some((body, recorded)) = frame.bodies.iter().zip(recorded).find(|(body, recorded)| {
            body.mesh.node_count() != recorded.mesh.node_count() || body.mesh.cell_count() != recorded.mesh.cell_count()
        }) {
            let reason =
                format!("the cells of \"{}\" have changed since the recording of \"{}\"", body.name, recorded.name);
            return Err(RecordError::Unsupported { format: "a recording", reason });
        }
        let with_geometry = frame.index.is_multiple_of(self.every);
        if with_geometry && self.since_key >= KEY_INTERVAL {
            self.past.clear();
            self.since_key = 0;
        }
        let past: Vec<&FrameLevels> = self.past.iter().collect();
        let (payload, stored, levels) = frame::encode(frame, &self.header, &past, with_geometry);
        self.put(Kind::Frame, &payload)?;
        if with_geometry {
            self.since_key += 1;
            self.past.insert(0, levels);
            self.past.truncate(2);
        }
        Ok(stored)
    }

    /// Ensures that everything written so far survives a power failure.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.file.sync_data().map_err(|source| RecordError::Io { path: self.path.clone(), source })
    }

    fn put(&mut self, kind: Kind, payload: &[u8]) -> Result<(), RecordError> {
        let bytes = chunk::encode(kind, payload);
        match self.file.write_all(&bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(source) => {
                // A partial chunk does no harm, but takes space on a full disk.
                let _ = self.file.set_len(self.length);
                let _ = self.file.seek(SeekFrom::Start(self.length));
                Err(RecordError::Io { path: self.path.clone(), source })
            }
        }
    }
}
