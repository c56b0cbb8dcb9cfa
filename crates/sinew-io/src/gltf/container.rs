//! The two containers of glTF: plain JSON text, and GLB, which holds the JSON and one buffer as binary chunks.

use crate::binary::{Cursor, Endian};
use crate::error::{Place, ReadError};

const JSON_CHUNK: u32 = u32::from_le_bytes(*b"JSON");
const BIN_CHUNK: u32 = u32::from_le_bytes(*b"BIN\0");

/// The parts of a file.
pub(super) struct Container<'a> {
    /// Length of the whole file.
    pub file_bytes: usize,
    pub json: &'a str,
    /// Byte of the file where the JSON begins.
    json_at: usize,
    /// The binary chunk and its first byte in the file.
    pub bin: Option<(&'a [u8], usize)>,
}

impl<'a> Container<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Container<'a>, ReadError> {
        let (json, json_at, bin) = if bytes.starts_with(b"glTF") { open_glb(bytes)? } else { open_text(bytes)? };
        let json = std::str::from_utf8(json)
            .map_err(|error| ReadError::byte(json_at + error.valid_up_to(), "the JSON is not written in UTF-8"))?;
        Ok(Container { file_bytes: bytes.len(), json, json_at, bin })
    }

    /// Position in the file of a byte of the JSON: a line if the text has line breaks (many writers put everything on
    /// one line).
    pub(super) fn place(&self, offset: usize) -> Place {
        let before = &self.json.as_bytes()[..offset.min(self.json.len())];
        if self.json_at < 4 && self.json.trim_end().contains('\n') {
            Place::Line(1 + before.iter().filter(|&&c| c == b'\n').count())
        } else {
            Place::Byte(self.json_at + offset)
        }
    }
}

type Parts<'a> = (&'a [u8], usize, Option<(&'a [u8], usize)>);

fn open_text(bytes: &[u8]) -> Result<Parts<'_>, ReadError> {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    match bytes[start..].trim_ascii_start().first() {
        Some(b'{') => Ok((&bytes[start..], start, None)),
        _ => {
            let reason = "it begins neither with `glTF` nor with the `{` of JSON".into();
            Err(ReadError::Magic { format: "glTF", reason })
        }
    }
}

fn open_glb(bytes: &[u8]) -> Result<Parts<'_>, ReadError> {
    let mut cursor = Cursor::new(bytes, 4, Endian::Little);
    let version = cursor.u32("the header")?;
    if version != 2 {
        let hint = "export it again as glTF 2.0";
        return Err(ReadError::Unsupported { place: Place::Byte(4), what: format!("GLB version {version}"), hint });
    }
    let length = cursor.u32("the header")?;
    if length as usize != bytes.len() {
        let (place, what) = (Place::Byte(8), "bytes of the file".into());
        return Err(ReadError::Count { place, what, promised: length.into(), found: bytes.len() as u64 });
    }
    let (mut json, mut bin) = (None, None);
    while !cursor.remaining().is_empty() {
        let at = cursor.position();
        let promised = cursor.u32("the header of a chunk")?;
        let kind = cursor.u32("the header of a chunk")?;
        let found = cursor.remaining().len();
        if promised as usize > found {
            let (place, what) = (Place::Byte(at), "bytes of a chunk".into());
            return Err(ReadError::Count { place, what, promised: promised.into(), found: found as u64 });
        }
        let start = cursor.position();
        let chunk = cursor.take(promised as usize, "a chunk")?;
        match (kind, json.is_some()) {
            (JSON_CHUNK, false) => json = Some((chunk, start)),
            (_, false) => return Err(ReadError::byte(at, "the first chunk must be the JSON")),
            (BIN_CHUNK, true) if bin.is_none() => bin = Some((chunk, start)),
            // The specification says to skip chunks of other kinds.
            _ => {}
        }
    }
    let (json, start) = json.ok_or(ReadError::Missing { what: "JSON chunk" })?;
    Ok((json, start, bin))
}
