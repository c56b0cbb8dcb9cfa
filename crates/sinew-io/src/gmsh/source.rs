//! Sequential access to a `.msh` file: lines of text, with numbers in between as text or binary.

use crate::binary::{Cursor, Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::text::{Words, find_byte, not_a, parse_i64, shown};

/// Gmsh file version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 2.0 to 2.2: elements name their group.
    Two,
    /// 4.1: elements belong to entities, entities to groups.
    Four,
}

/// Encoding of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As text.
    Text,
    /// Binary, with a byte order.
    Binary(Endian),
}

/// The file and the read position.
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    /// Scanner for text, and for the text lines of a binary file.
    pub words: Words<'a>,
    /// How numbers are written.
    pub encoding: Encoding,
    /// The format.
    pub version: Version,
    /// Type of the numbers that Gmsh calls `size_t`: counts and tags of version 4.
    pub size: NumberKind,
}

impl<'a> Source<'a> {
    /// Reads `$MeshFormat`.
    pub fn open(bytes: &'a [u8]) -> Result<Source<'a>, ReadError> {
        let mut words = Words::new(bytes, 0, 1, None);
        let first = words.next_word().unwrap_or_default();
        if first == b"$NOD" {
            let (place, what) = (words.place(), "Gmsh's version 1".into());
            return Err(ReadError::Unsupported { place, what, hint: SAVE_AGAIN });
        }
        if first != b"$MeshFormat" {
            let reason = format!("it begins with `{}` instead of `$MeshFormat`", shown(first));
            return Err(ReadError::Magic { format: "Gmsh", reason });
        }
        let word = words.word("$MeshFormat")?;
        let version = match word {
            b"2" | b"2.0" | b"2.1" | b"2.2" => Version::Two,
            b"4.1" => Version::Four,
            _ => {
                let (place, what) = (words.place(), format!("Gmsh's version {}", shown(word)));
                return Err(ReadError::Unsupported { place, what, hint: SAVE_AGAIN });
            }
        };
        let is_binary = match words.integer("file type")? {
            0 => false,
            1 => true,
            other => return Err(ReadError::line(words.line(), format!("a file type of {other}, neither 0 nor 1"))),
        };
        let size = match (version, words.integer("data size")?) {
            // Signed, because it decodes faster and larger numbers are invalid anyway.
            (_, 8) => NumberKind::I64,
            (Version::Four, 4) => NumberKind::U32,
            (_, other) => return Err(ReadError::line(words.line(), format!("numbers of {other} bytes"))),
        };
        let mut source = Source { bytes, words, encoding: Encoding::Text, version, size };
        if is_binary {
            source.end_line()?;
            let at = source.words.position();
            let mut cursor = Cursor::new(bytes, at, Endian::Little);
            let endian = match cursor.take(4, "$MeshFormat")? {
                [1, 0, 0, 0] => Endian::Little,
                [0, 0, 0, 1] => Endian::Big,
                _ => return Err(ReadError::byte(at, "the number 1, which shows the order of bytes, is missing")),
            };
            source.encoding = Encoding::Binary(endian);
            source.move_to(cursor.position());
        }
        source.end_section("MeshFormat")?;
        Ok(source)
    }

    /// Position of the last word, or of the next number.
    pub fn place(&self) -> Place {
        match self.encoding {
            Encoding::Text => self.words.place(),
            Encoding::Binary(_) => Place::Byte(self.words.position()),
        }
    }

    /// Size of the file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// A cursor at the next byte.
    pub fn cursor(&self, endian: Endian) -> Cursor<'a> {
        Cursor::new(self.bytes, self.words.position(), endian)
    }

    /// Continues at a byte of a binary file, without counting lines.
    pub fn move_to(&mut self, position: usize) {
        self.words = Words::new(self.bytes, position, self.words.line(), None);
    }

    /// Replaces the line in a text scanner's error by the byte, for binary files.
    pub fn located(&self, mut error: ReadError) -> ReadError {
        if let (
            Encoding::Binary(_),
            ReadError::Truncated { place, .. }
            | ReadError::Count { place, .. }
            | ReadError::Syntax { place, .. }
            | ReadError::Unsupported { place, .. },
        ) = (self.encoding, &mut error)
            && matches!(place, Place::Line(_))
        {
            *place = Place::Byte(self.words.position());
        }
        error
    }

    /// The name of the next section, without `$`; `None` at the end of the file.
    pub fn next_section(&mut self) -> Result<Option<&'a [u8]>, ReadError> {
        let Some(word) = self.words.next_word() else { return Ok(None) };
        match word.strip_prefix(b"$") {
            Some(name) if !name.is_empty() => Ok(Some(name)),
            _ => {
                let reason = format!("expected a section that begins with `$`, found `{}`", shown(word));
                Err(ReadError::Syntax { place: self.place(), reason })
            }
        }
    }

    /// Consumes the end marker of a section.
    pub fn end_section(&mut self, name: &str) -> Result<(), ReadError> {
        let word = self.words.word(name)?;
        if word.strip_prefix(b"$End") == Some(name.as_bytes()) {
            return Ok(());
        }
        let reason = format!("expected `$End{name}`, found `{}`", shown(word));
        Err(ReadError::Syntax { place: self.place(), reason })
    }

    /// Skips the rest of a section.
    pub fn skip_section(&mut self, name: &[u8]) -> Result<(), ReadError> {
        let rest = self.words.remaining();
        let mut at = 0;
        while let Some(dollar) = rest.get(at..).and_then(|rest| find_byte(rest, b'$')) {
            at += dollar + 1;
            if let Some(end) = rest[at..].strip_prefix(b"End").and_then(|rest| rest.strip_prefix(name))
                && end.first().is_none_or(u8::is_ascii_whitespace)
            {
                let position = self.bytes.len() - end.len();
                match self.encoding {
                    Encoding::Text => self.words.skip_to(position),
                    Encoding::Binary(_) => self.move_to(position),
                }
                return Ok(());
            }
        }
        Err(ReadError::Truncated { place: self.place(), what: format!("${}", shown(name)) })
    }

    /// Consumes the end of the line; binary data follows it in binary files.
    pub fn end_line(&mut self) -> Result<(), ReadError> {
        match self.words.next_word_in_line() {
            None => {
                self.words.next_line();
                Ok(())
            }
            Some(word) => Err(not_a(self.words.line(), word, "the end of the line", "numbers")),
        }
    }

    /// Moves to the first number of a section of version 4; in binary files it follows the line directly.
    pub fn begin_numbers(&mut self) -> Result<(), ReadError> {
        if self.encoding == Encoding::Text { Ok(()) } else { self.end_line() }
    }

    /// The next number of Gmsh's type `int`.
    pub fn integer(&mut self, what: &str) -> Result<i64, ReadError> {
        match self.encoding {
            Encoding::Text => self.words.integer(what),
            Encoding::Binary(endian) => self.number(NumberKind::I32, endian, what),
        }
    }

    /// The next number of Gmsh's type `size_t`.
    pub fn size(&mut self, what: &str) -> Result<u64, ReadError> {
        let place = self.place();
        let value = match self.encoding {
            Encoding::Text => self.words.integer(what)?,
            Encoding::Binary(endian) => self.number(self.size, endian, what)?,
        };
        u64::try_from(value).map_err(|_| ReadError::Syntax { place, reason: format!("{what}: a count of {value}") })
    }

    /// The next `size_t` as a count of things of at least `bytes` bytes each (two as text).
    pub fn count(&mut self, bytes: usize, what: &str) -> Result<usize, ReadError> {
        let place = self.place();
        let promised = self.size(what)?;
        let each = if self.encoding == Encoding::Text { 2 } else { bytes.max(1) };
        // The last number of a text file needs no trailing whitespace.
        let found = (self.words.remaining().len() as u64 + 1) / each as u64;
        if promised > found {
            return Err(ReadError::Count { place, what: what.into(), promised, found });
        }
        Ok(promised as usize)
    }

    /// Skips `count` numbers.
    pub fn skip_numbers(&mut self, count: u64, kind: NumberKind, what: &str) -> Result<(), ReadError> {
        match self.encoding {
            Encoding::Text => {
                for _ in 0..count {
                    self.words.word(what)?;
                }
            }
            Encoding::Binary(endian) => {
                let mut cursor = self.cursor(endian);
                cursor.take_array(count, kind, what)?;
                self.move_to(cursor.position());
            }
        }
        Ok(())
    }

    fn number(&mut self, kind: NumberKind, endian: Endian, what: &str) -> Result<i64, ReadError> {
        let mut cursor = self.cursor(endian);
        let bytes = cursor.take(kind.size(), what)?;
        self.move_to(cursor.position());
        Ok(kind.decode_i64(bytes, endian).first().copied().unwrap_or(0))
    }

    /// A number on its own line, as text even in binary files.
    pub fn text_integer(&mut self, what: &str) -> Result<i64, ReadError> {
        let word = self.words.word(what)?;
        parse_i64(word).ok_or_else(|| not_a(self.words.line(), word, "an integer", what))
    }

    /// The same as a count of things of at least `bytes` bytes each (two as text).
    pub fn text_count(&mut self, bytes: usize, what: &str) -> Result<usize, ReadError> {
        let value = self.text_integer(what)?;
        let each = if self.encoding == Encoding::Text { 2 } else { bytes.max(1) };
        let found = (self.words.remaining().len() as u64 + 1) / each as u64;
        match u64::try_from(value) {
            Ok(promised) if promised <= found => Ok(promised as usize),
            Ok(promised) => Err(ReadError::Count { place: self.place(), what: what.into(), promised, found }),
            Err(_) => Err(ReadError::Syntax { place: self.place(), reason: format!("{what}: a count of {value}") }),
        }
    }
}

const SAVE_AGAIN: &str =
    "save it as version 4.1 or 2.2, for example with `gmsh old.msh -save -o new.msh -format msh41`";
