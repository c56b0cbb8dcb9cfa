//! Unpacks what a header has promised, and no more: a file that swells stops there.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::error::{Place, ReadError};

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    Gzip,
    Zlib,
    Deflate,
}

impl Packed {
    /// Name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Packed::Gzip => "gzip",
            Packed::Zlib => "zlib",
            Packed::Deflate => "deflate",
        }
    }

    fn reader<'a>(self, bytes: &'a [u8]) -> Box<dyn Read + 'a> {
        match self {
            Packed::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Packed::Zlib => Box::new(ZlibDecoder::new(bytes)),
            Packed::Deflate => Box::new(DeflateDecoder::new(bytes)),
        }
    }
}

/// Unpacked bytes, at most as many as promised.
pub(crate) struct Unpacked {
    pub bytes: Vec<u8>,
    /// Whether the file goes on.
    pub has_more: bool,
}

/// What is told of a file that swells beyond what its header promises.
pub(crate) const MORE: &str = "the packed voxels go on behind what the header promises: the rest is left out";

/// Unpacks at most `most` bytes of `bytes`, which begin at `place` of the file. Damaged ones are refused, early ends are
/// not.
pub(crate) fn inflate(bytes: &[u8], packed: Packed, most: usize, place: Place) -> Result<Unpacked, ReadError> {
    let mut reader = packed.reader(bytes);
    let mut out = Vec::new();
    let failed = |found: usize, error: &std::io::Error| {
        let reason = format!("the {} data is damaged after {found} unpacked bytes: {error}", packed.name());
        ReadError::Syntax { place, reason }
    };
    let result = reader.by_ref().take(most as u64).read_to_end(&mut out);
    match result {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Ok(Unpacked { bytes: out, has_more: false });
        }
        Err(error) => return Err(failed(out.len(), &error)),
    }
    // One byte more makes the reader compare the checksum at the end.
    let has_more = match reader.read(&mut [0]) {
        Ok(count) => count > 0,
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(failed(out.len(), &error)),
    };
    Ok(Unpacked { bytes: out, has_more })
}

/// The first bytes of packed ones, for a look at a header.
pub(crate) fn front(bytes: &[u8], packed: Packed, most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    // What is damaged is told when the whole is unpacked.
    let _ = packed.reader(bytes).take(most as u64).read_to_end(&mut out);
    out
}

/// Whether bytes begin like gzip.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}
