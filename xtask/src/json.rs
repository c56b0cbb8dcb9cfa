//! A small JSON reader and writer, for the output of our program and scripts, and for reports.
//!
//! The chores have no dependencies (see `main.rs`); we wrote the input ourselves, so errors give only a position.

use std::fmt;

/// A JSON value; objects keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Any number; non-finite values are written as `null`.
    Number(f64),
    /// A string.
    Text(String),
    /// `[…]`
    List(Vec<Json>),
    /// `{…}`
    Object(Vec<(String, Json)>),
}

/// Deeper values are rejected: no input is nested more than three times.
const DEPTH: usize = 32;

impl Json {
    /// Parses a text that holds one value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let value = reader.value(DEPTH)?;
        reader.skip_spaces();
        if reader.at == reader.bytes.len() { Ok(value) } else { Err(reader.complaint("the end")) }
    }

    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A number member of an object.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Some(Json::Number(value)) => Some(*value),
            _ => None,
        }
    }

    /// A string member of an object.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Json::Text(value)) => Some(value),
            _ => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn complaint(&self, wanted: &str) -> String {
        format!("JSON: expected {wanted} at byte {}", self.at)
    }

    fn skip_spaces(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Consumes a word, after spaces, if it comes next.
    fn passes(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let stands = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += if stands { word.len() } else { 0 };
        stands
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth == 0 {
            return Err(self.complaint("less nesting"));
        }
        let words = [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
        for (word, value) in words {
            if self.passes(word) {
                return Ok(value);
            }
        }
        if self.passes("{") {
            let entry = |reader: &mut Self| {
                let key = reader.string()?;
                if !reader.passes(":") {
                    return Err(reader.complaint("\":\""));
                }
                Ok((key, reader.value(depth - 1)?))
            };
            return Ok(Json::Object(self.items("}", entry)?));
        }
        if self.passes("[") {
            return Ok(Json::List(self.items("]", |reader| reader.value(depth - 1))?));
        }
        if self.bytes.get(self.at) == Some(&b'"') { Ok(Json::Text(self.string()?)) } else { self.number() }
    }

    /// Items separated by commas, up to the closing bracket.
    fn items<T>(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut items = Vec::new();
        if self.passes(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.passes(end) {
                return Ok(items);
            }
            if !self.passes(",") {
                return Err(self.complaint(end));
            }
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let length = self.bytes[self.at..].iter().take_while(|byte| is_part(byte)).count();
        let text = std::str::from_utf8(&self.bytes[self.at..self.at + length]).unwrap_or_default();
        let number = text.parse::<f64>().map_err(|_| self.complaint("a value"))?;
        self.at += length;
        Ok(Json::Number(number))
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.passes("\"") {
            return Err(self.complaint("a string"));
        }
        let mut bytes = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at).ok_or_else(|| self.complaint("\""))?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).map_err(|_| self.complaint("UTF-8")),
                b'\\' => bytes.extend(self.escaped()?.to_string().bytes()),
                other => bytes.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let letter = *self.bytes.get(self.at).ok_or_else(|| self.complaint("an escape"))?;
        self.at += 1;
        Ok(match letter {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let digits = self.bytes.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                self.at += 4;
                // Halves of surrogate pairs become the replacement character: no engine's name contains an emoji.
                char::from_u32(code.ok_or_else(|| self.complaint("four digits"))?).unwrap_or('\u{fffd}')
            }
            b'"' | b'\\' | b'/' => letter as char,
            _ => return Err(self.complaint("an escape")),
        })
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(value) if value.is_finite() => write!(f, "{value}"),
            Json::Number(_) => f.write_str("null"),
            Json::Text(text) => write_string(f, text),
            Json::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Json::Object(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    write_string(f, key)?;
                    write!(f, ": {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{"a": [1, -2.5e-3, true, null], "b": {"c \"d\"": "×\n"}, "e": [], "f": {}}"#;
        let value = Json::parse(text).expect("valid");
        assert_eq!(Json::parse(&value.to_string()), Ok(value.clone()));
        assert_eq!(value.get("b").and_then(|b| b.text("c \"d\"")), Some("×\n"));
        assert_eq!(Json::parse(r#""\u00d7""#), Ok(Json::Text("×".into())));
    }

    #[test]
    fn broken_text_is_refused() {
        let deep = "[".repeat(1000);
        for text in ["", "{", "[1,]", "{\"a\" 1}", "1 2", "\"a", "\"\\u12\"", "nul", "NaN", "-", &deep] {
            assert!(Json::parse(text).is_err(), "{text:.20}");
        }
    }
}
