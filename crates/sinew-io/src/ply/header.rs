//! The header: elements, their properties, and the encoding.

use std::collections::HashSet;

use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::text::{Words, not_a, parse_i64, shown};

/// Encoding of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Binary(Endian),
}

/// A property: one value, or a list with its count, per entry of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: String,
    /// Number type of a list's count.
    pub(super) list: Option<NumberKind>,
    /// Number type of the values.
    pub(super) kind: NumberKind,
}

/// Consecutive entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) properties: Vec<Property>,
    /// Line of its declaration.
    pub(super) line: usize,
}

impl Element {
    /// Index of a scalar property.
    pub(super) fn scalar(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|property| property.name == name && property.list.is_none())
    }
}

/// The whole header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) elements: Vec<Element>,
    /// First byte of the data.
    pub(super) data: usize,
    /// Its line, for text.
    pub(super) line: usize,
}

fn kind_of(word: &[u8]) -> Option<NumberKind> {
    Some(match word {
        b"char" | b"int8" => NumberKind::I8,
        b"uchar" | b"uint8" => NumberKind::U8,
        b"short" | b"int16" => NumberKind::I16,
        b"ushort" | b"uint16" => NumberKind::U16,
        b"int" | b"int32" => NumberKind::I32,
        b"uint" | b"uint32" => NumberKind::U32,
        b"long" | b"int64" => NumberKind::I64,
        b"ulong" | b"uint64" => NumberKind::U64,
        b"float" | b"float32" => NumberKind::F32,
        b"double" | b"float64" => NumberKind::F64,
        _ => return None,
    })
}

/// Reads the lines up to `end_header`.
pub(super) fn read(bytes: &[u8]) -> Result<Header, ReadError> {
    let mut lines = Words::new(bytes, 0, 1, None);
    if lines.next_line() != Some(b"ply") {
        let start = &bytes[..bytes.len().min(8)];
        return Err(ReadError::Magic { format: "PLY", reason: format!("it begins with `{}`", shown(start)) });
    }
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    let mut element_names = HashSet::new();
    let mut property_names = HashSet::new();
    loop {
        let line = lines.line();
        let fail = |reason: &str| Err(ReadError::line(line, reason));
        let Some(text) = lines.next_line() else {
            return Err(ReadError::Truncated { place: Place::Line(line), what: "the header".into() });
        };
        let mut words = Words::new(text, 0, line, None);
        match words.next_word() {
            None | Some(b"comment" | b"obj_info") => {}
            Some(b"format") => {
                let word = words.word("format")?;
                encoding = Some(match word {
                    b"ascii" => Encoding::Text,
                    b"binary_little_endian" => Encoding::Binary(Endian::Little),
                    b"binary_big_endian" => Encoding::Binary(Endian::Big),
                    _ => return Err(not_a(line, word, "ascii or binary", "format")),
                });
            }
            Some(b"element") => {
                let name = String::from_utf8_lossy(words.word("element")?).into_owned();
                let word = words.word("element")?;
                let count = parse_i64(word).and_then(|count| usize::try_from(count).ok());
                let count = count.ok_or_else(|| not_a(line, word, "a count", "element"))?;
                if !element_names.insert(name.clone()) {
                    return fail("the element is declared twice");
                }
                property_names.clear();
                elements.push(Element { name, count, properties: Vec::new(), line });
            }
            Some(b"property") => {
                let Some(element) = elements.last_mut() else { return fail("a property before the first element") };
                let property = property(&mut words)?;
                if !property_names.insert(property.name.clone()) {
                    return fail("the property is declared twice");
                }
                element.properties.push(property);
            }
            Some(b"end_header") => break,
            Some(word) => return Err(not_a(line, word, "a keyword of the header", "header")),
        }
    }
    let encoding = encoding.ok_or_else(|| ReadError::line(lines.line(), "the header has no format"))?;
    Ok(Header { encoding, elements, data: lines.position(), line: lines.line() })
}

fn property(words: &mut Words<'_>) -> Result<Property, ReadError> {
    const WHAT: &str = "property";
    let line = words.line();
    let known = |word: &[u8]| kind_of(word).ok_or_else(|| not_a(line, word, "a kind of number", WHAT));
    let mut word = words.word(WHAT)?;
    let mut list = None;
    if word == b"list" {
        let count = words.word(WHAT)?;
        list = Some(known(count)?);
        if list.is_some_and(NumberKind::is_float) {
            return Err(not_a(line, count, "an integer kind", "count of a list"));
        }
        word = words.word(WHAT)?;
    }
    let kind = known(word)?;
    let name = String::from_utf8_lossy(words.word(WHAT)?).into_owned();
    Ok(Property { name, list, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("plx\n", "not a valid PLY file: it begins with `plx"),
            ("ply\nformat octal 1.0\n", "line 2: format: `octal`"),
            ("ply\nelement vertex -1\n", "line 2: element: `-1`"),
            ("ply\nelement vertex 1\nelement vertex 1\n", "line 3: the element is declared twice"),
            ("ply\nproperty float x\n", "line 2: a property before"),
            ("ply\nelement a 1\nproperty real x\n", "line 3: property: `real`"),
            ("ply\nelement a 1\nproperty int x\nproperty int x\n", "line 4: the property is declared twice"),
            ("ply\nelement a 1\nproperty list float int x\n", "line 3: count of a list: `float`"),
            ("ply\nelement a 1\nproperty float\n", "line 3: the file ends inside property"),
            ("ply\nhello\n", "line 2: header: `hello`"),
            ("ply\nelement a 1\n", "line 3: the file ends inside the header"),
            ("ply\nend_header\n", "has no format"),
        ];
        for (text, part) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
