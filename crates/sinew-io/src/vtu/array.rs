//! Decodes declared arrays to numbers.

use std::borrow::Cow;

use sinew_math::Vec3;

use super::base64_run::{Run, RunFault, decode_run};
use super::blocks::{Block, capacity, unpack};
use super::file::{Array, Compressor, Source, VtuFile, line_of};
use super::text_array::{TextFault, parse_array, word_span};
use super::typed::{NO_INDEX, decode_f64, decode_points, decode_u32, points_of};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::memory;
use crate::text::{not_a, parse_f64, parse_i64};

/// Copies of an array at a time: its bytes, its numbers, the mesh that is made of them, and that mesh while it is
/// looked at.
const COPIES: u64 = 4;

/// The bytes of a binary array.
struct Payload<'a> {
    bytes: Cow<'a, [u8]>,
    /// Number of bytes before the first number.
    skip: usize,
}

/// Words of a binary header, and the location of the data.
struct Header<'a> {
    words: Vec<u64>,
    /// Text or bytes from the first byte of data on.
    rest: &'a [u8],
    /// Byte of the file where `rest` begins.
    at: usize,
    /// Header bytes that are decoded again with the data, because one base64 run holds both.
    again: usize,
}

impl<'a> VtuFile<'a> {
    /// The numbers of an array, as doubles.
    pub(super) fn values(&mut self, array: &Array<'a>, count: usize) -> Result<Vec<f64>, ReadError> {
        if let Source::Text { bytes, offset } = array.source {
            return self.text_numbers(array, bytes, offset, count, "a number", parse_f64);
        }
        let kind = self.kind(array)?;
        let payload = self.payload(array, kind, count)?;
        Ok(decode_f64(&payload.bytes[payload.skip..], kind, self.endian))
    }

    /// The numbers of an array, as points.
    pub(super) fn points(&mut self, array: &Array<'a>, count: usize) -> Result<Vec<Vec3>, ReadError> {
        let numbers = count.saturating_mul(3);
        if let Source::Text { bytes, offset } = array.source {
            return Ok(points_of(&self.text_numbers(array, bytes, offset, numbers, "a number", parse_f64)?));
        }
        let kind = self.kind(array)?;
        let payload = self.payload(array, kind, numbers)?;
        Ok(decode_points(&payload.bytes[payload.skip..], kind, self.endian))
    }

    /// The numbers of an array, as indices; invalid ones become [`NO_INDEX`].
    pub(super) fn indices(&mut self, array: &Array<'a>, count: usize) -> Result<Vec<u32>, ReadError> {
        if let Source::Text { bytes, offset } = array.source {
            let parse = |word: &[u8]| parse_i64(word).map(|value| u32::try_from(value).unwrap_or(NO_INDEX));
            return self.text_numbers(array, bytes, offset, count, "an integer", parse);
        }
        let kind = self.kind(array)?;
        if kind.is_float() {
            let reason = format!("the array \"{}\" must have integers", array.name);
            return Err(ReadError::Syntax { place: line_of(self.bytes, array.tag), reason });
        }
        let payload = self.payload(array, kind, count)?;
        Ok(decode_u32(&payload.bytes[payload.skip..], kind, self.endian))
    }

    /// Position of a number in an array, as precisely as possible.
    pub(super) fn place_of(&self, array: &Array<'a>, index: usize) -> Place {
        match array.source {
            Source::Text { bytes, offset } => line_of(self.bytes, offset + word_span(bytes, 0, index).0),
            Source::Base64 { offset, .. } => Place::Byte(offset),
            Source::Appended { distance } => {
                let Some(appended) = self.appended else { return line_of(self.bytes, array.tag) };
                let start = appended.offset.saturating_add(distance);
                let size = array.kind.map_or(1, NumberKind::size);
                let is_plain = !appended.is_base64 && self.compressor == Compressor::None;
                Place::Byte(if is_plain { start + self.header_size + index.saturating_mul(size) } else { start })
            }
        }
    }

    fn kind(&self, array: &Array<'a>) -> Result<NumberKind, ReadError> {
        array.kind.ok_or_else(|| ReadError::Syntax {
            place: line_of(self.bytes, array.tag),
            reason: format!("the array \"{}\" has no numbers", array.name),
        })
    }

    fn text_numbers<T: Copy + Send>(
        &self,
        array: &Array<'a>,
        text: &'a [u8],
        offset: usize,
        count: usize,
        expected: &str,
        parse: impl Fn(&[u8]) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let line = |at: usize| line_of(self.bytes, offset + at);
        let miscounted = |found: usize, at: usize| ReadError::Count {
            place: line(at),
            what: numbers_in(array),
            promised: count as u64,
            found: found as u64,
        };
        let (values, end) = parse_array(text, 0, count, parse).map_err(|fault| match fault {
            TextFault::End { found } => miscounted(found, 0),
            TextFault::Word { at } => {
                let (from, to) = word_span(text, at, 0);
                let line = if let Place::Line(line) = line(at) { line } else { 0 };
                not_a(line, &text[from..to], expected, &numbers_in(array))
            }
        })?;
        if !text[end..].iter().all(u8::is_ascii_whitespace) {
            let found = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
            return Err(miscounted(found, end));
        }
        Ok(values)
    }

    /// The bytes of `count` numbers.
    fn payload(&mut self, array: &Array<'a>, kind: NumberKind, count: usize) -> Result<Payload<'a>, ReadError> {
        // Writers encode empty arrays in many ways, or omit them.
        if count == 0 {
            return Ok(Payload { bytes: Cow::Borrowed(&[]), skip: 0 });
        }
        let (stream, at, is_base64) = match array.source {
            Source::Text { bytes, offset } => (bytes, offset, false),
            Source::Base64 { bytes, offset } => (bytes, offset, true),
            Source::Appended { distance } => {
                let place = || line_of(self.bytes, array.tag);
                let Some(appended) = self.appended else {
                    let reason = format!("the array \"{}\" is appended, but the file has no AppendedData", array.name);
                    return Err(ReadError::Syntax { place: place(), reason });
                };
                let Some(stream) = appended.bytes.get(distance..) else {
                    let (promised, found) = (distance as u64, appended.bytes.len() as u64);
                    let what = format!("appended bytes before the array \"{}\"", array.name);
                    return Err(ReadError::Count { place: place(), what, promised, found });
                };
                (stream, appended.offset + distance, appended.is_base64)
            }
        };
        let size = kind.size();
        let need = count.saturating_mul(size);
        let reader = ArrayReader { array, is_base64, size, endian: self.endian, header_size: self.header_size };
        let (payload, used) = match self.compressor {
            Compressor::None => reader.plain(stream, at, need)?,
            compressor => reader.compressed(stream, at, need, compressor)?,
        };
        if let (Source::Appended { .. }, Some(appended)) = (array.source, self.appended) {
            self.appended_read = self.appended_read.saturating_add(used);
            if self.appended_read > appended.bytes.len() {
                let reason = format!("the array \"{}\" shares bytes with others", array.name);
                return Err(ReadError::byte(at, reason));
            }
        }
        Ok(payload)
    }
}

fn numbers_in(array: &Array<'_>) -> String {
    format!("numbers in the array \"{}\"", array.name)
}

/// Context for reading one binary array.
struct ArrayReader<'r, 'a> {
    array: &'r Array<'a>,
    is_base64: bool,
    /// Bytes per number.
    size: usize,
    endian: Endian,
    header_size: usize,
}

impl<'a> ArrayReader<'_, 'a> {
    fn miscounted(&self, at: usize, need: usize, found: u64) -> ReadError {
        let size = self.size as u64;
        let (promised, found) = (need as u64 / size, found / size);
        ReadError::Count { place: Place::Byte(at), what: numbers_in(self.array), promised, found }
    }

    fn truncated(&self, at: usize) -> ReadError {
        let what = format!("the header of the array \"{}\"", self.array.name);
        ReadError::Truncated { place: Place::Byte(at), what }
    }

    /// Decodes base64; `at` is the offset of the text in the file.
    fn run(&self, text: &[u8], at: usize, need: usize) -> Result<Run, ReadError> {
        decode_run(text, need).map_err(|fault| match fault {
            RunFault::Digit { at: inside, reason } => ReadError::byte(at + inside, reason),
            RunFault::Short { found } => ReadError::Count {
                place: Place::Byte(at),
                what: format!("bytes of the array \"{}\"", self.array.name),
                promised: need as u64,
                found: found as u64,
            },
        })
    }

    /// The first words before the data.
    fn header(&self, stream: &'a [u8], at: usize, count: usize) -> Result<Header<'a>, ReadError> {
        let need = count.saturating_mul(self.header_size);
        let (decoded, used, again);
        let bytes = if self.is_base64 {
            let run = self.run(stream, at, need)?;
            again = if run.is_padded || need.is_multiple_of(3) { 0 } else { need };
            used = if again > 0 { 0 } else { run.used };
            decoded = run.bytes;
            decoded.as_slice()
        } else {
            (used, again) = (need, 0);
            stream.get(..need).ok_or_else(|| self.truncated(at))?
        };
        let kind = if self.header_size == 8 { NumberKind::U64 } else { NumberKind::U32 };
        // Saturates beyond 2⁶³, more than any file has.
        let words = kind.decode_i64(&bytes[..need.min(bytes.len())], self.endian).into_iter().map(|v| v as u64);
        let words = words.collect();
        Ok(Header { words, rest: stream.get(used..).unwrap_or_default(), at: at + used, again })
    }

    /// `need` bytes after a header, `again` bytes of which come with them; also returns the consumed length of the
    /// stream.
    fn data(&self, header: &Header<'a>, need: usize) -> Result<(Payload<'a>, usize), ReadError> {
        let total = need.saturating_add(header.again);
        if self.is_base64 {
            let mut run = self.run(header.rest, header.at, total)?;
            run.bytes.truncate(total);
            return Ok((Payload { bytes: Cow::Owned(run.bytes), skip: header.again }, run.used));
        }
        match header.rest.get(..total) {
            Some(bytes) => Ok((Payload { bytes: Cow::Borrowed(bytes), skip: 0 }, total)),
            None => Err(ReadError::Count {
                place: Place::Byte(header.at),
                what: format!("bytes of the array \"{}\"", self.array.name),
                promised: need as u64,
                found: header.rest.len() as u64,
            }),
        }
    }

    fn plain(&self, stream: &'a [u8], at: usize, need: usize) -> Result<(Payload<'a>, usize), ReadError> {
        let header = self.header(stream, at, 1)?;
        match header.words.first() {
            Some(&length) if length == need as u64 => {}
            Some(&length) => return Err(self.miscounted(at, need, length)),
            None => return Err(self.truncated(at)),
        }
        let (payload, used) = self.data(&header, need)?;
        Ok((payload, header.at - at + used))
    }

    fn compressed(
        &self,
        stream: &'a [u8],
        at: usize,
        need: usize,
        compressor: Compressor,
    ) -> Result<(Payload<'a>, usize), ReadError> {
        let first = self.header(stream, at, 3)?;
        let &[count, full, last] = first.words.as_slice() else {
            return Err(self.truncated(at));
        };
        let most = (stream.len() / self.header_size) as u64;
        if count > most {
            let what = format!("compressed blocks of the array \"{}\"", self.array.name);
            return Err(ReadError::Count { place: Place::Byte(at), what, promised: count, found: most });
        }
        let last = if last == 0 { full } else { last };
        let total = count.saturating_sub(1).saturating_mul(full).saturating_add(if count > 0 { last } else { 0 });
        if total != need as u64 {
            return Err(self.miscounted(at, need, total));
        }
        let header = self.header(stream, at, count as usize + 3)?;
        let sizes = &header.words[3.min(header.words.len())..];
        let mut blocks: Vec<Block> = Vec::with_capacity(sizes.len());
        for &packed in sizes {
            let packed = usize::try_from(packed).unwrap_or(usize::MAX);
            blocks.push(Block { packed, unpacked: usize::try_from(full).unwrap_or(usize::MAX) });
        }
        if let Some(block) = blocks.last_mut() {
            block.unpacked = usize::try_from(last).unwrap_or(usize::MAX);
        }
        // Thirty megabytes may honestly promise all the memory of a machine. What is dishonest is refused below, by
        // block.
        if blocks.iter().all(|block| block.unpacked <= capacity(block, compressor)) {
            memory::require(total.saturating_mul(COPIES)).map_err(|short| {
                let what = format!("the array \"{}\" of {} numbers", self.array.name, total / self.size as u64);
                ReadError::Memory { place: Place::Byte(at), what, short }
            })?;
        }
        let packed_total = blocks.iter().fold(0usize, |sum, block| sum.saturating_add(block.packed));
        let (packed, used) = self.data(&header, packed_total)?;
        let bytes = unpack(&packed.bytes[packed.skip..], &blocks, compressor).map_err(|fault| {
            let reason = format!("block {} of the array \"{}\": {}", fault.block, self.array.name, fault.reason);
            // In base64 only the start of all blocks is known.
            ReadError::byte(if self.is_base64 { header.at } else { header.at + fault.at }, reason)
        })?;
        Ok((Payload { bytes: Cow::Owned(bytes), skip: 0 }, header.at - at + used))
    }
}
