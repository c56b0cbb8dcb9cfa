//! JSON whose values know their byte offsets.
//!
//! `serde_json` does not keep the position of a value, so semantic errors (an invalid index, a wrong count) could not
//! show it. Here a document is a flat list of values in the order of the text, 16 bytes each: memory stays within a
//! small multiple of the text for any nesting, and buffers embedded as text are not copied.

use std::borrow::Cow;

/// Deeper than any real file; also the limit of `serde_json`.
const DEEPEST: usize = 128;

/// A parsed document.
pub(super) struct Json<'a> {
    text: &'a str,
    nodes: Vec<Node>,
}

/// A value, or a member name followed by its value.
struct Node {
    kind: Kind,
    /// First byte; for strings, the one after the opening quote.
    start: u32,
    /// One past the last byte; for strings, the closing quote.
    end: u32,
    /// Index of the node after this one and its contents.
    after: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    True,
    False,
    Number,
    Plain,
    /// A string with escapes.
    Escaped,
    Array,
    Object,
}

/// What the parser expects next.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Value,
    /// A value or `]`.
    FirstItem,
    Name,
    /// A name or `}`.
    FirstName,
    /// A comma, or the end of the open array or object.
    Comma,
    Nothing,
}

/// Byte offset and reason.
pub(super) type JsonError = (usize, String);

impl<'a> Json<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Json<'a>, JsonError> {
        if u32::try_from(text.len()).is_err() {
            return Err((0, "more than 4 GiB of JSON".into()));
        }
        let mut parser = Parser { bytes: text.as_bytes(), at: 0, nodes: Vec::new() };
        parser.document()?;
        Ok(Json { text, nodes: parser.nodes })
    }

    pub(super) fn root(&self) -> Value<'_, 'a> {
        Value { json: self, node: 0 }
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), JsonError> {
        let mut open: Vec<usize> = Vec::new();
        let mut expected = Expected::Value;
        loop {
            self.skip_blanks();
            let Some(&c) = self.bytes.get(self.at) else { break };
            let is_in_object = open.last().is_some_and(|&node| self.nodes[node].kind == Kind::Object);
            match (c, expected) {
                (b',', Expected::Comma) => {
                    self.at += 1;
                    expected = if is_in_object { Expected::Name } else { Expected::Value };
                }
                (b'}', Expected::Comma | Expected::FirstName) | (b']', Expected::Comma | Expected::FirstItem)
                    if is_in_object == (c == b'}') =>
                {
                    self.at += 1;
                    if let Some(node) = open.pop() {
                        self.nodes[node].after = self.nodes.len() as u32;
                        self.nodes[node].end = self.at as u32;
                    }
                    expected = if open.is_empty() { Expected::Nothing } else { Expected::Comma };
                }
                (b'"', Expected::Name | Expected::FirstName) => {
                    self.string()?;
                    self.skip_blanks();
                    if self.bytes.get(self.at) != Some(&b':') {
                        return Err((self.at, "a name in JSON must be followed by a colon".into()));
                    }
                    self.at += 1;
                    expected = Expected::Value;
                }
                (b'{' | b'[', Expected::Value | Expected::FirstItem) => {
                    if open.len() == DEEPEST {
                        return Err((self.at, format!("JSON is nested more than {DEEPEST} deep")));
                    }
                    open.push(self.nodes.len());
                    let (kind, next) = if c == b'{' {
                        (Kind::Object, Expected::FirstName)
                    } else {
                        (Kind::Array, Expected::FirstItem)
                    };
                    self.push(kind, self.at, self.at);
                    self.at += 1;
                    expected = next;
                }
                (_, Expected::Value | Expected::FirstItem) => {
                    match c {
                        b'"' => self.string()?,
                        b'-' | b'0'..=b'9' => self.number()?,
                        _ => self.word()?,
                    }
                    expected = if open.is_empty() { Expected::Nothing } else { Expected::Comma };
                }
                (_, Expected::Nothing) => return Err((self.at, "text after the end of the JSON".into())),
                (_, Expected::Comma) => {
                    let end = if is_in_object { '}' } else { ']' };
                    return Err((self.at, format!("`,` or `{end}` expected in JSON")));
                }
                (_, Expected::Name | Expected::FirstName) => {
                    return Err((self.at, "a name in quotes expected in JSON".into()));
                }
            }
        }
        if expected != Expected::Nothing {
            return Err((self.at, "the JSON ends too early".into()));
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let after = self.nodes.len() as u32 + 1;
        self.nodes.push(Node { kind, start: start as u32, end: end as u32, after });
    }

    fn word(&mut self) -> Result<(), JsonError> {
        for (word, kind) in [("null", Kind::Null), ("true", Kind::True), ("false", Kind::False)] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.push(kind, self.at, self.at + word.len());
                self.at += word.len();
                return Ok(());
            }
        }
        Err((self.at, "a JSON value expected".into()))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err((self.at, "a digit expected".into())) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        self.at += usize::from(self.bytes[start] == b'-');
        let first = self.at;
        self.digits()?;
        if self.bytes[first] == b'0' && self.at > first + 1 {
            return Err((first, "a number in JSON must not begin with a zero".into()));
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        self.push(Kind::Number, start, self.at);
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        let start = self.at + 1;
        let mut kind = Kind::Plain;
        self.at = start;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    let (_, length) = escape(&self.bytes[self.at..]).ok_or((self.at, "wrong escape".to_string()))?;
                    self.at += length;
                }
                Some(0..=0x1f) => return Err((self.at, "a control character in a JSON string".into())),
                Some(_) => self.at += 1,
                None => return Err((self.at, "the JSON ends inside a string".into())),
            }
        }
        self.push(kind, start, self.at);
        self.at += 1;
        Ok(())
    }
}

/// The character of an escape sequence, and the sequence's length.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?;
        let is_unit = digits.starts_with(b"\\u") && digits[2..].iter().all(u8::is_ascii_hexdigit);
        u16::from_str_radix(std::str::from_utf8(&digits[2..]).ok().filter(|_| is_unit)?, 16).ok()
    };
    let simple = match bytes.get(1)? {
        b'u' => {
            let high = unit(0)?;
            if let Some(c) = char::from_u32(u32::from(high)) {
                return Some((c, 6));
            }
            return char::decode_utf16([high, unit(6)?]).next()?.ok().map(|c| (c, 12));
        }
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        &c @ (b'"' | b'\\' | b'/') => char::from(c),
        _ => return None,
    };
    Some((simple, 2))
}

/// A value of a document.
#[derive(Clone, Copy)]
pub(super) struct Value<'t, 'a> {
    json: &'t Json<'a>,
    node: u32,
}

impl<'t, 'a> Value<'t, 'a> {
    fn node(self) -> &'t Node {
        &self.json.nodes[self.node as usize]
    }

    fn slice(self) -> &'a str {
        let node = self.node();
        &self.json.text[node.start as usize..node.end as usize]
    }

    /// Its first byte in the text.
    pub(super) fn offset(self) -> usize {
        self.node().start as usize
    }

    pub(super) fn is_array(self) -> bool {
        self.node().kind == Kind::Array
    }

    pub(super) fn is_object(self) -> bool {
        self.node().kind == Kind::Object
    }

    /// Items of an array; none for other values.
    pub(super) fn items(self) -> impl Iterator<Item = Value<'t, 'a>> + use<'t, 'a> {
        let Node { kind, after, .. } = *self.node();
        let mut next = if kind == Kind::Array { self.node + 1 } else { after };
        std::iter::from_fn(move || {
            let item = Value { node: next, ..self };
            (next < after).then(|| {
                next = item.node().after;
                item
            })
        })
    }

    /// Names and values of an object.
    pub(super) fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Value<'t, 'a>)> + use<'t, 'a> {
        let Node { kind, after, .. } = *self.node();
        let mut next = if kind == Kind::Object { self.node + 1 } else { after };
        std::iter::from_fn(move || {
            if next >= after {
                return None;
            }
            let name = Value { node: next, ..self }.text().unwrap_or_default();
            let value = Value { node: next + 1, ..self };
            next = value.node().after;
            Some((name, value))
        })
    }

    /// A member of an object; the first, if the name occurs twice.
    pub(super) fn get(self, name: &str) -> Option<Value<'t, 'a>> {
        self.members().find(|member| member.0 == name).map(|member| member.1)
    }

    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self.node().kind {
            Kind::Plain => Some(Cow::Borrowed(self.slice())),
            Kind::Escaped => {
                let (mut plain, mut rest) = (String::new(), self.slice());
                while let Some(at) = rest.find('\\') {
                    let (c, length) = escape(&rest.as_bytes()[at..])?;
                    plain.push_str(&rest[..at]);
                    plain.push(c);
                    rest = &rest[at + length..];
                }
                plain.push_str(rest);
                Some(Cow::Owned(plain))
            }
            _ => None,
        }
    }

    /// A number; infinite if it exceeds double precision.
    pub(super) fn number(self) -> Option<f64> {
        if self.node().kind == Kind::Number { self.slice().parse().ok() } else { None }
    }

    /// A nonnegative integer; accepts `3.0`.
    pub(super) fn whole(self) -> Option<usize> {
        let number = self.number()?;
        if let Ok(exact) = self.slice().parse() {
            return Some(exact);
        }
        // 2^53: above it, doubles skip integers.
        (number >= 0.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_992.0).then_some(number as usize)
    }

    /// Converts to `serde_json`. The error is the byte offset of a number that no double can hold.
    pub(super) fn to_serde(self) -> Result<serde_json::Value, usize> {
        Ok(match self.node().kind {
            Kind::Null => serde_json::Value::Null,
            Kind::True => true.into(),
            Kind::False => false.into(),
            Kind::Number => serde_json::from_str(self.slice()).map_err(|_| self.offset())?,
            Kind::Plain | Kind::Escaped => self.text().unwrap_or_default().into_owned().into(),
            Kind::Array => serde_json::Value::Array(self.items().map(Value::to_serde).collect::<Result<_, _>>()?),
            Kind::Object => {
                let mut members = serde_json::Map::new();
                // Of duplicate names the first counts, as everywhere here.
                for (name, value) in self.members() {
                    if let serde_json::map::Entry::Vacant(slot) = members.entry(name) {
                        slot.insert(value.to_serde()?);
                    }
                }
                serde_json::Value::Object(members)
            }
        })
    }

    pub(super) fn boolean(self) -> Option<bool> {
        match self.node().kind {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts the document to `serde_json`.
    fn convert(value: Value) -> serde_json::Value {
        match value.node().kind {
            Kind::Null => serde_json::Value::Null,
            Kind::True | Kind::False => value.boolean().into(),
            Kind::Number => value.number().into(),
            Kind::Plain | Kind::Escaped => value.text().unwrap().into_owned().into(),
            Kind::Array => value.items().map(convert).collect(),
            Kind::Object => {
                let mut members: Vec<_> = value.members().map(|(k, v)| (k.into_owned(), convert(v))).collect();
                // Of duplicate names we take the first, serde_json the last.
                members.reverse();
                serde_json::Value::Object(members.into_iter().collect())
            }
        }
    }

    const SAMPLE: &str = r#" {"a": [1, -2.5e-3, 0.0, 1E+2, {}], "b\n\u00e9\ud83d\ude00\/": {"c": [], "d": [[null], true, false]},
        "": "\"x\\", "é": [""]} "#;

    #[test]
    fn documents_agree_with_serde_json() {
        let json = Json::parse(SAMPLE).unwrap();
        let mut expected: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
        // serde_json distinguishes integers from doubles.
        for item in expected["a"].as_array_mut().unwrap() {
            if let Some(number) = item.as_f64() {
                *item = number.into();
            }
        }
        assert_eq!(convert(json.root()), expected);
        let items: Vec<_> = json.root().get("a").unwrap().items().collect();
        assert_eq!(
            (items[0].whole(), items[1].whole(), items[2].whole(), items[3].whole()),
            (Some(1), None, Some(0), Some(100))
        );
        assert_eq!(&SAMPLE[items[1].offset()..][..4], "-2.5");
    }

    /// Both parsers accept or both reject every single-byte change of a document.
    #[test]
    fn refuses_exactly_what_serde_json_refuses() {
        let mut refused = 0;
        for at in 0..SAMPLE.len() {
            for c in b"\0\"\\{}[],:.eE+-019utn/ \n" {
                for insert in [false, true] {
                    let mut bytes = SAMPLE.as_bytes().to_vec();
                    if insert {
                        bytes.insert(at, *c);
                    } else {
                        bytes[at] = *c;
                    }
                    let Ok(text) = std::str::from_utf8(&bytes) else { continue };
                    let theirs = serde_json::from_str::<serde_json::Value>(text);
                    let ours = Json::parse(text);
                    assert_eq!(ours.is_ok(), theirs.is_ok(), "{text} {theirs:?} {:?}", ours.err());
                    refused += usize::from(theirs.is_err());
                }
            }
        }
        assert!(refused > 1000);
    }

    #[test]
    fn mistakes_are_shown_at_their_byte() {
        for (text, byte, reason) in [
            ("{\"a\" 1}", 5, "colon"),
            ("[1 2]", 3, "`,` or `]`"),
            ("[1,]", 3, "value"),
            ("{\"a\":01}", 5, "zero"),
            ("{\"a\":[1}", 7, "`]`"),
            ("[\"\\ud800\"]", 2, "escape"),
            ("[] x", 3, "after the end"),
            ("[", 1, "too early"),
            ("", 0, "too early"),
        ] {
            let (at, said) = Json::parse(text).err().unwrap();
            assert!(at == byte && said.contains(reason), "{text}: {at} {said}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).err().unwrap().1.contains("128 deep"));
    }
}
