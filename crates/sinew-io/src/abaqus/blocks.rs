//! Keyword lines and the data lines that follow each.

use crate::error::{Place, ReadError};
use crate::text::{Words, not_a, parse_f64, parse_i64};

/// A keyword line and everything up to the next.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    /// In capitals, with single spaces and without the asterisk.
    pub(super) keyword: String,
    /// Names in capitals; values as written, without quotes, or empty.
    parameters: Vec<(String, String)>,
    /// Line of the keyword.
    pub(super) line: usize,
    data: &'a [u8],
    data_line: usize,
}

impl<'a> Block<'a> {
    /// Value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Value of a required parameter.
    pub(super) fn required(&self, name: &str) -> Result<&str, ReadError> {
        let missing = || ReadError::line(self.line, format!("*{} without {name}=", self.keyword));
        self.parameter(name).filter(|value| !value.is_empty()).ok_or_else(missing)
    }

    /// The data lines.
    pub(super) fn rows(&self) -> Rows<'a> {
        Rows { words: Words::new(self.data, 0, self.data_line, None) }
    }

    /// Bytes of the data lines.
    pub(super) fn data_len(&self) -> usize {
        self.data.len()
    }
}

/// Data lines without comments and empty lines.
pub(super) struct Rows<'a> {
    words: Words<'a>,
}

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        loop {
            let line = self.words.line();
            let text = self.words.next_line()?;
            if !text.is_empty() && !text.starts_with(b"**") {
                return Some(Row { text, line });
            }
        }
    }
}

/// One data line.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    text: &'a [u8],
    pub(super) line: usize,
}

impl<'a> Row<'a> {
    /// Text between the commas. An empty last field means that the next line continues.
    #[inline]
    pub(super) fn fields(self) -> impl Iterator<Item = &'a [u8]> {
        self.text.split(|&b| b == b',').map(<[u8]>::trim_ascii)
    }

    /// Whether the next line continues this one.
    pub(super) fn continues(self) -> bool {
        self.text.ends_with(b",")
    }

    /// A field as an integer.
    #[inline]
    pub(super) fn integer(self, field: &[u8], what: &str) -> Result<i64, ReadError> {
        parse_i64(field).ok_or_else(|| not_a(self.line, field, "an integer", what))
    }

    /// A field as a finite number; an empty one is 0.
    #[inline]
    pub(super) fn number(self, field: &[u8], what: &str) -> Result<f64, ReadError> {
        if field.is_empty() {
            return Ok(0.0);
        }
        let value = parse_f64(field).ok_or_else(|| not_a(self.line, field, "a number", what))?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(ReadError::NotFinite { place: Place::Line(self.line), what: what.into() })
    }
}

/// Splits a file into blocks; text before the first keyword must be blank or comments.
pub(super) fn split(bytes: &[u8]) -> Result<Vec<Block<'_>>, ReadError> {
    let mut lines = Words::new(bytes, 0, 1, None);
    let mut blocks: Vec<Block<'_>> = Vec::new();
    loop {
        let (start, line) = (lines.position(), lines.line());
        let Some(text) = lines.next_line() else { break };
        if !text.starts_with(b"*") || text.starts_with(b"**") {
            if blocks.is_empty() && !text.is_empty() && !text.starts_with(b"**") {
                let reason = "it does not begin with a keyword such as *HEADING or *NODE".into();
                return Err(ReadError::Magic { format: "Abaqus", reason });
            }
            continue;
        }
        if let Some(before) = blocks.last_mut() {
            // Until now it extended to the end of the file.
            let length = before.data.len() - (bytes.len() - start);
            before.data = &before.data[..length];
        }
        let mut keyword = String::from_utf8_lossy(&text[1..]).into_owned();
        while keyword.ends_with(',') {
            let mut ahead = lines.clone();
            match ahead.next_line() {
                Some(next) if !next.starts_with(b"*") && !next.is_empty() => {
                    keyword.push_str(&String::from_utf8_lossy(next));
                    lines = ahead;
                }
                _ => break,
            }
        }
        let mut parts = split_outside_quotes(&keyword).into_iter();
        let name = parts.next().unwrap_or_default().to_ascii_uppercase();
        let parameters = parts
            .filter(|part| !part.trim().is_empty())
            .map(|part| {
                let (key, value) = part.split_once('=').unwrap_or((part, ""));
                (key.trim().to_ascii_uppercase(), unquoted(value.trim()).to_string())
            })
            .collect();
        blocks.push(Block {
            keyword: name.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            parameters,
            line,
            data: lines.remaining(),
            data_line: lines.line(),
        });
    }
    Ok(blocks)
}

/// Splits at commas outside of quotes.
fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    })
    .collect()
}

/// A name without the quotes around it.
pub(super) fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_parameters_and_rows_are_found() {
        let text = b"** c\n\n*Solid  section, ELSET=\"a, b\",\n  material = Steel\r\n1.,\n** no\n\n 2 , x\n*end\n";
        let blocks = split(text).unwrap();
        assert_eq!((blocks[0].keyword.as_str(), blocks[0].line), ("SOLID SECTION", 3));
        assert_eq!(blocks[0].parameter("ELSET"), Some("a, b"));
        assert_eq!(blocks[0].parameter("MATERIAL"), Some("Steel"));
        let rows: Vec<(usize, Vec<&[u8]>)> = blocks[0].rows().map(|row| (row.line, row.fields().collect())).collect();
        let expected: [(usize, Vec<&[u8]>); 2] = [(5, vec![b"1.", b""]), (8, vec![b"2", b"x"])];
        assert_eq!(rows, expected);
        assert_eq!(blocks[1].rows().count(), 0);
    }
}
