//! Words and arrays of a legacy file, which mixes lines of text with binary arrays.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::text::{Words, find_byte, not_a, parse_f64, parse_i64, shown};
use crate::vtu::file::line_of;
use crate::vtu::text_array::{TextFault, parse_array, word_span};
use crate::vtu::typed::{NO_INDEX, decode_f64, decode_points, decode_u32, points_of};

/// Cells decoded by one task.
const SPAN: usize = 32 << 10;

/// Value type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Numbers.
    Number(NumberKind),
    /// Bits; eight of them share a byte in binary files.
    Bit,
    /// Strings.
    Text,
}

impl ValueKind {
    /// Parses a type name, ignoring case as VTK does.
    fn from_name(name: &[u8]) -> Option<ValueKind> {
        let kind = match name.to_ascii_lowercase().as_slice() {
            b"bit" => return Some(ValueKind::Bit),
            b"string" | b"utf8_string" => return Some(ValueKind::Text),
            b"char" | b"signed_char" | b"vtktypeint8" => NumberKind::I8,
            b"unsigned_char" | b"vtktypeuint8" => NumberKind::U8,
            b"short" | b"vtktypeint16" => NumberKind::I16,
            b"unsigned_short" | b"vtktypeuint16" => NumberKind::U16,
            // VTK writes its indices as 32-bit integers here, whatever their size in memory.
            b"int" | b"vtkidtype" | b"vtktypeint32" => NumberKind::I32,
            b"unsigned_int" | b"vtktypeuint32" => NumberKind::U32,
            b"long" | b"long_long" | b"vtktypeint64" => NumberKind::I64,
            b"unsigned_long" | b"unsigned_long_long" | b"vtktypeuint64" => NumberKind::U64,
            b"float" | b"vtktypefloat32" => NumberKind::F32,
            b"double" | b"vtktypefloat64" => NumberKind::F64,
            _ => return None,
        };
        Some(ValueKind::Number(kind))
    }
}

/// Position of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayPlace {
    start: usize,
    size: usize,
}

/// Reads a legacy file sequentially.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    words: Words<'a>,
    /// Whether arrays are binary.
    pub is_binary: bool,
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of the file.
    pub(super) fn new(bytes: &'a [u8]) -> Scanner<'a> {
        Scanner { bytes, words: Words::new(bytes, 0, 1, None), is_binary: false }
    }

    /// Position of the last word: a line in text files, a byte in binary ones.
    pub(super) fn place(&self) -> Place {
        if self.is_binary { Place::Byte(self.words.position()) } else { self.words.place() }
    }

    /// The line of that word, meaningful before the first binary array.
    pub(super) fn line(&self) -> Place {
        self.words.place()
    }

    /// An error at the last word.
    pub(super) fn wrong(&self, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: self.place(), reason: reason.into() }
    }

    /// The next line.
    pub(super) fn next_line(&mut self) -> Option<&'a [u8]> {
        self.words.next_line()
    }

    /// The next word; `None` at the end of the file.
    pub(super) fn next_word(&mut self) -> Option<&'a [u8]> {
        self.words.next_word()
    }

    /// The next word of the line.
    pub(super) fn next_word_in_line(&mut self) -> Option<&'a [u8]> {
        self.words.next_word_in_line()
    }

    /// Whether the next word is `expected`, ignoring case; does not consume it.
    pub(super) fn is_next(&self, expected: &[u8]) -> bool {
        self.words.clone().next_word().is_some_and(|word| word.eq_ignore_ascii_case(expected))
    }

    /// The next word, which belongs to `what`.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a [u8], ReadError> {
        let word = self.words.next_word();
        word.ok_or_else(|| ReadError::Truncated { place: self.place(), what: what.into() })
    }

    /// The next word as a count of things that take at least one bit of the file each.
    pub(super) fn count(&mut self, what: &str) -> Result<usize, ReadError> {
        let word = self.word(what)?;
        let value = parse_i64(word).and_then(|value| u64::try_from(value).ok());
        let promised = value.ok_or_else(|| self.wrong(format!("{what}: `{}` is not a count", shown(word))))?;
        let found = (self.words.remaining().len() as u64).saturating_mul(8);
        if promised > found || promised >= u64::from(NO_INDEX) {
            return Err(ReadError::Count { place: self.place(), what: what.into(), promised, found });
        }
        Ok(promised as usize)
    }

    /// The next word as a value type.
    pub(super) fn kind(&mut self, what: &str) -> Result<ValueKind, ReadError> {
        let word = self.word(what)?;
        ValueKind::from_name(word).ok_or_else(|| self.wrong(format!("{what}: the type `{}` is not known", shown(word))))
    }

    /// The next word as a number type.
    pub(super) fn number_kind(&mut self, what: &str) -> Result<NumberKind, ReadError> {
        match self.kind(what)? {
            ValueKind::Number(kind) => Ok(kind),
            _ => Err(self.wrong(format!("{what} must be numbers"))),
        }
    }

    /// The next word as a name, in which VTK escapes spaces and the like as `%20`.
    pub(super) fn name(&mut self, what: &str) -> Result<String, ReadError> {
        let word = self.word(what)?;
        let mut name = Vec::with_capacity(word.len());
        let mut rest = word;
        while let [first, after @ ..] = rest {
            let digit = |at: usize| after.get(at).and_then(|&b| char::from(b).to_digit(16));
            match (first, digit(0), digit(1)) {
                (b'%', Some(high), Some(low)) => {
                    name.push((high * 16 + low) as u8);
                    rest = &after[2..];
                }
                _ => {
                    name.push(*first);
                    rest = after;
                }
            }
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }

    /// Consumes the end of the line, after which a binary array begins.
    pub(super) fn end_line(&mut self) -> Result<(), ReadError> {
        let rest = self.words.remaining();
        let length = find_byte(rest, b'\n').unwrap_or(rest.len());
        if !rest[..length].iter().all(u8::is_ascii_whitespace) {
            let word = shown(rest[..length].trim_ascii());
            return Err(self.wrong(format!("unexpected `{word}` in this line")));
        }
        self.skip_to(self.words.position() + length + 1);
        Ok(())
    }

    /// Position of an array that begins here.
    pub(super) fn array_place(&self, kind: NumberKind) -> ArrayPlace {
        let mut start = self.words.position();
        if self.is_binary {
            let rest = self.words.remaining();
            start += find_byte(rest, b'\n').map_or(rest.len(), |length| length + 1);
        }
        ArrayPlace { start, size: kind.size() }
    }

    /// Position of a number in an array.
    pub(super) fn place_of(&self, array: ArrayPlace, index: usize) -> Place {
        if self.is_binary {
            Place::Byte(array.start.saturating_add(index.saturating_mul(array.size)))
        } else {
            line_of(self.bytes, word_span(self.bytes, array.start, index).0)
        }
    }

    /// Moves to a byte. Does not count lines between binary arrays, where they mean nothing.
    fn skip_to(&mut self, position: usize) {
        if self.is_binary {
            self.words = Words::new(self.bytes, position, self.words.line(), None);
        } else {
            self.words.skip_to(position);
        }
    }

    /// Consumes a text array.
    fn text_numbers<T: Copy + Send>(
        &mut self,
        count: usize,
        what: &str,
        expected: &str,
        parse: impl Fn(&[u8]) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        match parse_array(self.bytes, self.words.position(), count, parse) {
            Ok((values, end)) => {
                self.words.skip_to(end);
                Ok(values)
            }
            Err(TextFault::Word { at }) => {
                let (from, to) = word_span(self.bytes, at, 0);
                self.words.skip_to(from);
                Err(not_a(self.words.line(), &self.bytes[from..to], expected, what))
            }
            Err(TextFault::End { found }) => {
                let (promised, found) = (count as u64, found as u64);
                Err(ReadError::Count { place: self.place(), what: what.into(), promised, found })
            }
        }
    }

    /// Consumes the bytes of a binary array of `count` numbers, from the next line on.
    fn raw(&mut self, count: usize, kind: NumberKind, what: &str) -> Result<&'a [u8], ReadError> {
        self.end_line()?;
        self.take(count.saturating_mul(kind.size()), kind.size(), what)
    }

    fn take(&mut self, length: usize, size: usize, what: &str) -> Result<&'a [u8], ReadError> {
        let rest = self.words.remaining();
        let Some(bytes) = rest.get(..length) else {
            let (promised, found) = ((length / size) as u64, (rest.len() / size) as u64);
            return Err(ReadError::Count { place: self.place(), what: what.into(), promised, found });
        };
        self.skip_to(self.words.position() + length);
        Ok(bytes)
    }

    /// `count` numbers as doubles.
    pub(super) fn values(&mut self, count: usize, kind: NumberKind, what: &str) -> Result<Vec<f64>, ReadError> {
        if self.is_binary {
            return Ok(decode_f64(self.raw(count, kind, what)?, kind, Endian::Big));
        }
        self.text_numbers(count, what, "a number", parse_f64)
    }

    /// `count` points.
    pub(super) fn points(&mut self, count: usize, kind: NumberKind) -> Result<Vec<Vec3>, ReadError> {
        let (count, what) = (count.saturating_mul(3), "coordinates");
        if self.is_binary {
            return Ok(decode_points(self.raw(count, kind, what)?, kind, Endian::Big));
        }
        Ok(points_of(&self.text_numbers(count, what, "a number", parse_f64)?))
    }

    /// `count` indices; invalid ones become [`NO_INDEX`].
    pub(super) fn indices(&mut self, count: usize, kind: NumberKind, what: &str) -> Result<Vec<u32>, ReadError> {
        if self.is_binary {
            return Ok(decode_u32(self.raw(count, kind, what)?, kind, Endian::Big));
        }
        let parse = |word: &[u8]| parse_i64(word).map(|value| u32::try_from(value).unwrap_or(NO_INDEX));
        self.text_numbers(count, what, "an integer", parse)
    }

    /// Nodes of `count` cells in a binary array of `size` numbers, and their number per cell, if it is the same for
    /// all; otherwise consumes nothing. Saves most files the detour through an array with node counts.
    pub(super) fn rows_of_cells(&mut self, count: usize, size: usize) -> Result<Option<(usize, Vec<u32>)>, ReadError> {
        if !self.is_binary || count == 0 || !size.is_multiple_of(count) || size <= count {
            return Ok(None);
        }
        let before = self.clone();
        let row = size / count;
        let (numbers, _) = self.raw(size, NumberKind::I32, "numbers of cells")?.as_chunks::<4>();
        let per_cell = row - 1;
        let head = (per_cell as u32).to_be_bytes();
        if !numbers.par_chunks(row * SPAN).all(|rows| rows.chunks_exact(row).all(|row| row[0] == head)) {
            *self = before;
            return Ok(None);
        }
        let mut nodes = vec![0; count * per_cell];
        nodes.par_chunks_mut(per_cell * SPAN).zip(numbers.par_chunks(row * SPAN)).for_each(|(nodes, rows)| {
            for (nodes, row) in nodes.chunks_exact_mut(per_cell).zip(rows.chunks_exact(row)) {
                for (node, number) in nodes.iter_mut().zip(&row[1..]) {
                    let value = i32::from_be_bytes(*number);
                    *node = if value < 0 { NO_INDEX } else { value as u32 };
                }
            }
        });
        Ok(Some((per_cell, nodes)))
    }

    /// `count` bits, the highest of each byte first.
    pub(super) fn bits(&mut self, count: usize, what: &str) -> Result<Vec<f64>, ReadError> {
        if !self.is_binary {
            return self.text_numbers(count, what, "a number", parse_f64);
        }
        let bytes = self.raw(count.div_ceil(8), NumberKind::U8, what)?;
        Ok((0..count).map(|i| f64::from(bytes[i / 8] >> (7 - i % 8) & 1)).collect())
    }

    /// Skips `count` strings: lines in text files, length-prefixed bytes in binary ones.
    pub(super) fn skip_strings(&mut self, count: usize, what: &str) -> Result<(), ReadError> {
        self.end_line()?;
        for _ in 0..count {
            if !self.is_binary {
                let line = self.next_line();
                line.ok_or_else(|| ReadError::Truncated { place: self.place(), what: what.into() })?;
                continue;
            }
            // The two highest bits give the size of the length: 8, 4, 2 or 1 bytes.
            let first = self.words.remaining().first().copied().unwrap_or(0);
            let header = self.take(8 >> (first >> 6), 1, what)?;
            let length = header.iter().fold(0u64, |length, &byte| length << 8 | u64::from(byte));
            let mask = (1u64 << (8 * header.len() - 2)) - 1;
            self.take(usize::try_from(length & mask).unwrap_or(usize::MAX), 1, what)?;
        }
        Ok(())
    }
}
