//! The structure of a recording: a sequence of chunks, each with its length and checksum.
//!
//! ```text
//! file  = magic (8 bytes) version (u32) chunk*
//! chunk = kind (4 bytes) length (u64) payload checksum (u32, CRC-32 of kind, length and payload)
//! ```
//!
//! One call writes a whole chunk. A file that was cut off anywhere is readable up to its last whole chunk.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use super::StoreError;

/// First bytes; the end-of-line and end-of-file characters reveal transfers that corrupt binary files.
pub const MAGIC: [u8; 8] = *b"SINEW\r\n\x1a";

/// Version of the layout; other versions are an error.
pub(super) const VERSION: u32 = 7;

/// Bytes before the first chunk.
pub(super) const START: u64 = 12;

/// Bytes of a chunk around its payload.
const FRAME: u64 = 16;

/// Content of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Constant data: bodies, shapes, probes, scene.
    Header,
    /// One frame.
    Frame,
    /// Bodies whose cells have changed, from the next frame on.
    Topology,
}

impl Kind {
    fn tag(self) -> [u8; 4] {
        match self {
            Kind::Header => *b"HEAD",
            Kind::Frame => *b"FRAM",
            Kind::Topology => *b"TOPO",
        }
    }

    fn from_tag(tag: [u8; 4]) -> Option<Kind> {
        [Kind::Header, Kind::Frame, Kind::Topology].into_iter().find(|kind| kind.tag() == tag)
    }
}

/// Bytes of a whole chunk.
pub(super) fn encode(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + FRAME as usize);
    bytes.extend(kind.tag());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(payload);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Writes the part before the first chunk.
pub(super) fn write_start(file: &mut File) -> std::io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    file.write_all(&bytes)
}

/// Checks the part before the first chunk.
pub(super) fn check_start(file: &mut File) -> Result<(), StoreError> {
    let mut bytes = [0; START as usize];
    file.seek(SeekFrom::Start(0))?;
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => return Err(StoreError::NotARecording),
            count => filled += count,
        }
    }
    let (magic, version) = bytes.split_at(8);
    if magic != MAGIC {
        return Err(StoreError::NotARecording);
    }
    let version = u32::from_le_bytes([version[0], version[1], version[2], version[3]]);
    if version == VERSION { Ok(()) } else { Err(StoreError::Version { found: version, known: VERSION }) }
}

/// Position of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub kind: Kind,
    /// Offset of its tag.
    pub offset: u64,
    /// Length of its payload in bytes.
    pub length: u64,
}

impl Place {
    /// The offset after the chunk.
    pub fn end(&self) -> u64 {
        self.offset + FRAME + self.length
    }
}

/// The chunk at `offset`, if the file (of `size` bytes) contains all of it.
pub(super) fn locate(file: &mut File, offset: u64, size: u64) -> std::io::Result<Option<Place>> {
    if offset.checked_add(FRAME).is_none_or(|end| end > size) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut head = [0; 12];
    file.read_exact(&mut head)?;
    let [a, b, c, d, length @ ..] = head;
    let Some(kind) = Kind::from_tag([a, b, c, d]) else { return Ok(None) };
    let length = u64::from_le_bytes(length);
    let is_whole = length.checked_add(offset + FRAME).is_some_and(|end| end <= size);
    Ok(is_whole.then_some(Place { kind, offset, length }))
}

/// The payload of a chunk; `None` if its checksum is wrong.
pub(super) fn payload(file: &mut File, place: &Place) -> std::io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(place.offset))?;
    // `locate` has compared the length with the size of the file.
    let mut bytes = vec![0; (place.length + FRAME) as usize];
    file.read_exact(&mut bytes)?;
    let checksum = bytes.split_off(bytes.len() - 4);
    if crc32fast::hash(&bytes).to_le_bytes() != checksum[..] {
        return Ok(None);
    }
    bytes.drain(..12);
    Ok(Some(bytes))
}

/// The first byte of a payload; `None` if it is empty.
pub(super) fn first_byte(file: &mut File, place: &Place) -> std::io::Result<Vec<u8>> {
    let mut byte = vec![0; place.length.min(1) as usize];
    file.seek(SeekFrom::Start(place.offset + 12))?;
    file.read_exact(&mut byte)?;
    Ok(byte)
}
