//! The text as a tree of values with their positions.
//!
//! The `toml` crate parses. Here its tree becomes owned, ordered as in the text, and safe: the nesting is bounded
//! before the parser sees the text, because dropping a tree of dotted keys recurses as deep as the keys are nested.

use toml::de::{DeTable, DeValue};

use crate::{
    diagnostic::{Diagnostic, Span},
    value::Quantity,
};

/// Maximum nesting of tables and lists. Scenes need seven; the bound keeps recursion far from the end of the stack.
pub(crate) const MAX_DEPTH: usize = 48;

/// Texts longer than this stop at their first syntax error: they are not written by hand, and a wrong file could have
/// an error in every byte.
const LARGE_TEXT: usize = 256 << 10;

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub span: Span,
    pub value: Value,
}

/// The kinds of TOML values. Dates have no meaning in a scene and are kept as text for messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

impl Node {
    /// A value without a position.
    pub fn new(value: Value) -> Self {
        Self { span: Span::default(), value }
    }

    /// A table without a position.
    pub fn table(entries: impl IntoIterator<Item = (String, Node)>) -> Self {
        let entry = |(key, node)| Entry { key, key_span: Span::default(), node };
        Self::new(Value::Table(entries.into_iter().map(entry).collect()))
    }

    /// An empty table at a position.
    pub fn empty_table(span: Span) -> Self {
        Self { span, value: Value::Table(Vec::new()) }
    }

    /// The value of a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The entry of a key, if this is a table that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The mutable entry of a key, if this is a table that has it.
    pub fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        match &mut self.value {
            Value::Table(entries) => entries.iter_mut().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The entries of a table; none for other values.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list; none for other values.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The kind of value with an article, for "got …".
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Text(text) if text.chars().count() <= 40 => format!("{text:?}"),
            Value::Text(_) => "a long text".to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => crate::value::format_number(*value),
            Value::Flag(value) => value.to_string(),
            Value::Date(_) => "a date".to_string(),
            Value::List(items) if items.is_empty() => "an empty list".to_string(),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Table(_) => "a table".to_string(),
        }
    }
}

impl Node {
    /// Moves every span by `offset` bytes, for values cut out of a longer text.
    pub fn shift(&mut self, offset: usize) {
        let move_span = |span: &mut Span| (span.start, span.end) = (span.start + offset, span.end + offset);
        move_span(&mut self.span);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.shift(offset)),
            Value::Table(entries) => entries.iter_mut().for_each(|entry| {
                move_span(&mut entry.key_span);
                entry.node.shift(offset);
            }),
            _ => {}
        }
    }

    /// The value as a TOML document: tables and lists of tables get headers, everything else one line each.
    pub fn to_document(&self) -> String {
        let is_table = |node: &Node| matches!(node.value, Value::Table(_));
        let is_section =
            |node: &Node| is_table(node) || (!node.items().is_empty() && node.items().iter().all(is_table));
        let lines = |node: &Node| -> String {
            node.entries().iter().map(|entry| format!("{} = {}\n", bare(&entry.key), entry.node.to_toml())).collect()
        };
        let (sections, plain): (Vec<&Entry>, Vec<&Entry>) =
            self.entries().iter().partition(|entry| is_section(&entry.node));
        let mut text: String =
            plain.iter().map(|entry| format!("{} = {}\n", bare(&entry.key), entry.node.to_toml())).collect();
        for entry in sections {
            let key = bare(&entry.key);
            if is_table(&entry.node) {
                text.push_str(&format!("\n[{key}]\n{}", lines(&entry.node)));
            }
            for item in entry.node.items() {
                text.push_str(&format!("\n[[{key}]]\n{}", lines(item)));
            }
        }
        text
    }

    /// The value as TOML text on one line.
    pub fn to_toml(&self) -> String {
        match &self.value {
            Value::Text(text) => quoted(text),
            Value::Integer(value) => value.to_string(),
            // Debug keeps the point of 1.0, so that the text stays a float.
            Value::Float(value) => format!("{value:?}").replace("NaN", "nan"),
            Value::Flag(value) => value.to_string(),
            Value::Date(date) => date.clone(),
            Value::List(items) => format!("[{}]", items.iter().map(Self::to_toml).collect::<Vec<_>>().join(", ")),
            Value::Table(entries) => {
                let pairs: Vec<String> =
                    entries.iter().map(|entry| format!("{} = {}", bare(&entry.key), entry.node.to_toml())).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }
}

/// A key, in quotes if TOML requires them.
fn bare(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { key.into() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Parses a document. If there are problems, the tree holds the readable part.
pub(crate) fn parse_document(text: &str, source: usize, problems: &mut Vec<Diagnostic>) -> Node {
    let root = Span { source, start: 0, end: 0 };
    if let Some(problem) = find_deep_nesting(text, source) {
        problems.push(problem);
        return Node::empty_table(root);
    }
    if text.len() > LARGE_TEXT {
        return match DeTable::parse(text) {
            Ok(table) => Node { span: root, value: own_table(table.get_ref(), source, problems) },
            Err(error) => {
                problems.push(syntax_problem(&error, text, source));
                Node::empty_table(root)
            }
        };
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    problems.extend(errors.iter().map(|error| syntax_problem(error, text, source)));
    Node { span: root, value: own_table(table.get_ref(), source, problems) }
}

/// Parses a single value, such as the right side of an override.
pub(crate) fn parse_value(text: &str, source: usize, problems: &mut Vec<Diagnostic>) -> Option<Node> {
    if let Some(problem) = find_deep_nesting(text, source) {
        problems.push(problem);
        return None;
    }
    match DeValue::parse(text) {
        Ok(value) => Some(own_value(value.get_ref(), span_of(value.span(), source), source, problems)),
        Err(error) => {
            problems.push(syntax_problem(&error, text, source));
            None
        }
    }
}

fn span_of(range: std::ops::Range<usize>, source: usize) -> Span {
    Span { source, start: range.start, end: range.end }
}

fn syntax_problem(error: &toml::de::Error, text: &str, source: usize) -> Diagnostic {
    let span = span_of(error.span().unwrap_or(0..0), source);
    let problem = Diagnostic::at(span, format!("not valid TOML: {}", error.message()));
    match text.get(span.start..span.end).map(str::trim) {
        // `young = 30 kPa` is the most likely mistake.
        Some(value) if value.contains(char::is_alphabetic) && Quantity::parse(value).is_ok() => {
            problem.hint(format!("a value with a unit needs quotes: \"{value}\""))
        }
        _ => problem,
    }
}

fn own_table(table: &DeTable<'_>, source: usize, problems: &mut Vec<Diagnostic>) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: span_of(key.span(), source),
            node: own_value(value.get_ref(), span_of(value.span(), source), source, problems),
        })
        .collect();
    // The parser sorts keys by name; people read diagnostics and maps in the order of the text.
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

fn own_value(value: &DeValue<'_>, span: Span, source: usize, problems: &mut Vec<Diagnostic>) -> Node {
    let mut too_large = |digits: &str| {
        let shown: String = digits.chars().take(24).collect();
        problems.push(
            Diagnostic::at(span, "this number is too large")
                .label(format!("{shown} does not fit into 64 bits"))
                .hint("write large quantities with a unit or an exponent, for example \"3 GPa\" or 3e9"),
        );
    };
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Integer(integer) => {
            Value::Integer(i64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or_else(|_| {
                too_large(integer.as_str());
                0
            }))
        }
        DeValue::Float(float) => {
            let parsed = float.as_str().parse::<f64>().unwrap_or(f64::NAN);
            if parsed.is_infinite() && !float.as_str().contains("inf") {
                too_large(float.as_str());
                Value::Float(0.0)
            } else {
                Value::Float(parsed)
            }
        }
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| own_value(item.get_ref(), span_of(item.span(), source), source, problems))
                .collect(),
        ),
        DeValue::Table(table) => own_table(table, source, problems),
    };
    Node { span, value }
}

/// Finds the first position nested deeper than [`MAX_DEPTH`], counting brackets, dotted keys and table headers.
///
/// This needs a scanner because the parser bounds only brackets: `a.a.a. … = 1` costs it one level per dot. The scanner
/// follows strings and comments and may overestimate malformed text.
fn find_deep_nesting(text: &str, source: usize) -> Option<Diagnostic> {
    let bytes = text.as_bytes();
    let mut open: Vec<usize> = Vec::new(); // depth in front of each open bracket
    let (mut header, mut dots, mut key) = (0, 0, 0);
    let mut line_is_fresh = true;
    let mut at = 0;
    while at < bytes.len() {
        let base = open.last().copied().unwrap_or(header);
        match bytes[at] {
            b'#' => {
                at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            quote @ (b'"' | b'\'') => at = end_of_string(bytes, at, quote) - 1,
            b'.' => dots += 1,
            b'=' => (key, dots) = (dots, 0),
            b'[' if open.is_empty() && line_is_fresh => {
                // A table header: its dots count until the next header.
                let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n);
                header = 1 + bytes[at..end].iter().filter(|&&b| b == b'.').count();
                if header > MAX_DEPTH {
                    return Some(too_deep(source, at, end));
                }
                at = end;
                continue;
            }
            b'[' | b'{' => {
                open.push(base + key + 1);
                (key, dots) = (0, 0);
            }
            b']' | b'}' => {
                open.pop();
                (key, dots) = (0, 0);
            }
            b',' => (key, dots) = (0, 0),
            b'\n' if open.is_empty() => (key, dots) = (0, 0),
            _ => {}
        }
        let depth = open.last().copied().unwrap_or(header) + key + dots;
        if depth > MAX_DEPTH {
            return Some(too_deep(source, at, at + 1));
        }
        line_is_fresh =
            bytes.get(at) == Some(&b'\n') || (line_is_fresh && bytes.get(at).is_some_and(u8::is_ascii_whitespace));
        at += 1;
    }
    None
}

fn too_deep(source: usize, start: usize, end: usize) -> Diagnostic {
    Diagnostic::at(Span { source, start, end }, "tables and lists are nested too deeply")
        .label(format!("deeper than {MAX_DEPTH} levels"))
}

/// One past the closing quote of the string that opens at `at`; the end of the line if it never closes.
fn end_of_string(bytes: &[u8], at: usize, quote: u8) -> usize {
    let multiline = bytes[at..].starts_with(&[quote; 3]);
    let mut i = at + if multiline { 3 } else { 1 };
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if quote == b'"' => i += 1,
            b if b == quote && !multiline => return i + 1,
            b if b == quote && bytes[i..].starts_with(&[quote; 3]) => return i + 3,
            b'\n' if !multiline => return i,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Node, Vec<Diagnostic>) {
        let mut problems = Vec::new();
        let node = parse_document(text, 0, &mut problems);
        (node, problems)
    }

    #[test]
    fn entries_keep_the_order_and_the_places_of_the_text() {
        let text = "zeta = 1_000\n[alpha]\nb = \"x\"\n";
        let (root, problems) = parse(text);
        assert_eq!(problems, []);
        let keys: Vec<&str> = root.entries().iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["zeta", "alpha"]);
        assert_eq!(root.get("zeta").map(|n| &n.value), Some(&Value::Integer(1000)));
        let b = root.get("alpha").and_then(|a| a.get("b")).map(|n| n.span);
        assert_eq!(b.map(|s| &text[s.start..s.end]), Some("\"x\""));
    }

    #[test]
    fn deep_nesting_of_every_kind_is_refused_without_recursion() {
        let many = 100_000;
        for text in [
            format!("a = {}1{}", "[".repeat(many), "]".repeat(many)),
            format!("a = {}", "{a=".repeat(many)),
            format!("a{} = 1", ".a".repeat(many)),
            format!("[a{}]", ".a".repeat(many)),
            format!("[[a{}]]", ".\"a\"".repeat(many)),
            format!("a = {}", format!("{{a{} = ", ".b".repeat(20)).repeat(many / 20)),
        ] {
            let (_, problems) = parse(&text);
            assert!(problems.iter().any(|p| p.message.contains("nested too deeply")), "{}", &text[..60]);
        }
    }

    #[test]
    fn dots_brackets_and_quotes_inside_strings_and_numbers_do_not_count_as_nesting() {
        let dots = ".".repeat(200);
        let numbers = "0.5, ".repeat(200);
        let text = format!("# {dots}\na = \"{dots}[[[\\\"\"\nb = '''\n{dots}'\n'''\nc = [{numbers}]\n");
        assert_eq!(parse(&text).1, []);
    }

    #[test]
    fn numbers_that_do_not_fit_are_problems_not_infinities() {
        let (_, problems) = parse("a = 99999999999999999999\nb = 1e999\n");
        assert_eq!(problems.len(), 2);
        assert!(problems.iter().all(|p| p.message == "this number is too large"));
    }

    #[test]
    fn several_syntax_errors_are_found_at_once() {
        let (_, problems) = parse("a = \nb = 3\nc = [1, \n\nd = 4 4\n");
        assert!(problems.len() >= 2, "{problems:?}");
    }
}
