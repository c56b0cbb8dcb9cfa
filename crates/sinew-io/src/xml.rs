//! A parser for the XML subset of VTK files: elements, attributes, text, comments.
//!
//! Works on bytes because VTU files may contain raw binary; reports positions so that errors can give a line.

use std::borrow::Cow;

use thiserror::Error;

/// An error in the markup, with its position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} (byte {offset}): {reason}")]
pub struct XmlError {
    /// Line, from 1.
    pub line: usize,
    /// Byte from the start of the file.
    pub offset: usize,
    /// What is wrong.
    pub reason: String,
}

/// An opening or empty element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Name of the element.
    pub name: &'a str,
    attributes: Vec<(&'a str, Cow<'a, str>)>,
    /// Byte of its `<`.
    pub offset: usize,
    /// Whether it ends with `/>`.
    pub is_empty: bool,
}

impl Element<'_> {
    /// Value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_ref())
    }
}

/// The next item of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// An element begins (an empty one also ends).
    Start(Element<'a>),
    /// An element ends.
    End(&'a str),
    /// Bytes between tags that are not only whitespace.
    Text {
        /// The bytes.
        bytes: &'a [u8],
        /// Their offset.
        offset: usize,
    },
}

/// Reads a file sequentially.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Open elements, outermost first.
    open: Vec<&'a str>,
}

/// Deeper nesting is no VTK file and would only waste memory.
const DEEPEST: usize = 64;

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, position: 0, open: Vec::new() }
    }

    /// Current position.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Open elements, outermost first.
    pub fn path(&self) -> &[&'a str] {
        &self.open
    }

    /// An error at a byte.
    pub fn error_at(&self, offset: usize, reason: impl Into<String>) -> XmlError {
        let offset = offset.min(self.bytes.len());
        let line = 1 + self.bytes[..offset].iter().filter(|&&b| b == b'\n').count();
        XmlError { line, offset, reason: reason.into() }
    }

    /// The next element, end or text; `None` at the end of a complete file.
    pub fn next_event(&mut self) -> Result<Option<Event<'a>>, XmlError> {
        loop {
            let start = self.position;
            let Some(rest) = self.bytes.get(start..).filter(|rest| !rest.is_empty()) else {
                return match self.open.last() {
                    Some(name) => Err(self.error_at(start, format!("the file ends inside <{name}>"))),
                    None => Ok(None),
                };
            };
            if rest[0] != b'<' {
                let length = rest.iter().position(|&b| b == b'<').unwrap_or(rest.len());
                self.position += length;
                let text = &rest[..length];
                // A byte-order mark before the first tag counts as whitespace.
                if text.iter().all(u8::is_ascii_whitespace) || (start == 0 && text == b"\xef\xbb\xbf") {
                    continue;
                }
                return Ok(Some(Event::Text { bytes: text, offset: start }));
            }
            if rest.starts_with(b"<!--") {
                self.skip_past(b"-->", "comment")?;
            } else if rest.starts_with(b"<?") {
                self.skip_past(b"?>", "processing instruction")?;
            } else if rest.starts_with(b"<!") {
                self.skip_past(b">", "declaration")?;
            } else if rest.starts_with(b"</") {
                return self.end().map(Some);
            } else {
                return self.start().map(Some);
            }
        }
    }

    fn skip_past(&mut self, mark: &[u8], what: &str) -> Result<(), XmlError> {
        match find(&self.bytes[self.position..], mark) {
            Some(at) => {
                self.position += at + mark.len();
                Ok(())
            }
            None => Err(self.error_at(self.position, format!("the {what} has no end"))),
        }
    }

    fn end(&mut self) -> Result<Event<'a>, XmlError> {
        let start = self.position;
        self.position += 2;
        let name = self.name()?;
        self.blanks();
        self.expect(b'>')?;
        match self.open.pop() {
            Some(open) if open == name => Ok(Event::End(name)),
            Some(open) => Err(self.error_at(start, format!("</{name}> closes <{open}>"))),
            None => Err(self.error_at(start, format!("</{name}> closes nothing"))),
        }
    }

    fn start(&mut self) -> Result<Event<'a>, XmlError> {
        let offset = self.position;
        self.position += 1;
        let name = self.name()?;
        let mut attributes = Vec::new();
        loop {
            self.blanks();
            match self.bytes.get(self.position) {
                Some(b'>') => {
                    self.position += 1;
                    if self.open.len() >= DEEPEST {
                        return Err(self.error_at(offset, format!("more than {DEEPEST} elements inside each other")));
                    }
                    self.open.push(name);
                    return Ok(Event::Start(Element { name, attributes, offset, is_empty: false }));
                }
                Some(b'/') => {
                    self.position += 1;
                    self.expect(b'>')?;
                    return Ok(Event::Start(Element { name, attributes, offset, is_empty: true }));
                }
                Some(_) => {
                    let key = self.name()?;
                    self.blanks();
                    self.expect(b'=')?;
                    self.blanks();
                    attributes.push((key, self.value()?));
                }
                None => return Err(self.error_at(offset, format!("the file ends inside the tag <{name}"))),
            }
        }
    }

    fn value(&mut self) -> Result<Cow<'a, str>, XmlError> {
        let start = self.position;
        let quote = match self.bytes.get(start) {
            Some(&quote @ (b'"' | b'\'')) => quote,
            _ => return Err(self.error_at(start, "the value of an attribute must be in quotes")),
        };
        let rest = &self.bytes[start + 1..];
        let Some(length) = rest.iter().position(|&b| b == quote) else {
            return Err(self.error_at(start, "the value of an attribute has no end"));
        };
        self.position = start + length + 2;
        let text = self.text(&rest[..length], start + 1)?;
        if !text.contains('&') {
            return Ok(Cow::Borrowed(text));
        }
        self.unescaped(text, start + 1).map(Cow::Owned)
    }

    fn unescaped(&self, text: &str, offset: usize) -> Result<String, XmlError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            out.push_str(&rest[..at]);
            let entity = &rest[at + 1..];
            let Some(end) = entity.find(';') else {
                return Err(self.error_at(offset, "& without ;"));
            };
            let name = &entity[..end];
            let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
            let c = match name {
                "amp" => Some('&'),
                "lt" => Some('<'),
                "gt" => Some('>'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                _ => match name.strip_prefix('#') {
                    Some(code) => code.strip_prefix('x').map_or_else(|| number(code, 10), |hex| number(hex, 16)),
                    None => None,
                },
            };
            out.push(c.ok_or_else(|| self.error_at(offset, format!("&{name}; is not known")))?);
            rest = &entity[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn name(&mut self) -> Result<&'a str, XmlError> {
        let start = self.position;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':' | b'.') || *b >= 0x80;
        let length = self.bytes[start.min(self.bytes.len())..].iter().take_while(|b| is_part(b)).count();
        if length == 0 {
            return Err(self.error_at(start, "a name is missing"));
        }
        self.position += length;
        self.text(&self.bytes[start..start + length], start)
    }

    fn text(&self, bytes: &'a [u8], offset: usize) -> Result<&'a str, XmlError> {
        std::str::from_utf8(bytes).map_err(|_| self.error_at(offset, "the text is not UTF-8"))
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.position).is_some_and(u8::is_ascii_whitespace) {
            self.position += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), XmlError> {
        if self.bytes.get(self.position) != Some(&byte) {
            return Err(self.error_at(self.position, format!("`{}` is missing", char::from(byte))));
        }
        self.position += 1;
        Ok(())
    }
}

/// First position of `mark` in `bytes`.
pub(crate) fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Result<Vec<Event<'_>>, XmlError> {
        let mut reader = Reader::new(text.as_bytes());
        let mut events = Vec::new();
        while let Some(event) = reader.next_event()? {
            events.push(event);
        }
        Ok(events)
    }

    #[test]
    fn elements_attributes_and_text_are_found() {
        let events =
            events("<?xml version=\"1.0\"?>\n<!-- <a> -->\n<a x='1' y=\"&lt;&#65;&#x42;\"> 1 2 <b/></a>\n").unwrap();
        let Event::Start(a) = &events[0] else { panic!("{events:?}") };
        assert_eq!((a.attribute("x"), a.attribute("y"), a.attribute("z")), (Some("1"), Some("<AB"), None));
        assert!(matches!(&events[1], Event::Text { bytes: b" 1 2 ", .. }));
        assert!(matches!(&events[2], Event::Start(b) if b.is_empty));
        assert_eq!(events[3], Event::End("a"));
    }

    #[test]
    fn broken_markup_is_named_with_its_line() {
        let cases = [
            ("<a>\n<b></a>", 2, "closes <b>"),
            ("<a>\n\n", 3, "inside <a>"),
            ("<a x=1/>", 1, "quotes"),
            ("<a x='1", 1, "no end"),
            ("</a>", 1, "nothing"),
            ("<a y='&nope;'/>", 1, "not known"),
            ("<!-- ", 1, "no end"),
            ("< a/>", 1, "name"),
        ];
        for (text, line, part) in cases {
            let error = events(text).unwrap_err();
            assert!(error.line == line && error.reason.contains(part), "{text:?}: {error}");
        }
        assert!(events(&"<a>".repeat(1000)).unwrap_err().reason.contains("64"));
    }

    #[test]
    fn every_truncation_ends_without_a_panic() {
        let text = "<a x='1' y=\"&lt;\"><!-- c --> 1 2 <b/>\u{e4}</a>";
        for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let _ = events(&text[..cut]);
        }
    }
}
