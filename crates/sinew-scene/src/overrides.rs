//! Overrides: single values set from outside, as in `--set body.flesh.material.young="10 kPa"`.
//!
//! An override changes the tree of values before decoding, so that it is checked like the file. Its problems point into
//! its own text.

use crate::{
    decode::tree::{self, Entry, Node, Value},
    diagnostic::{Diagnostic, Span},
    suggest,
};

/// `path=value`: the path as in `body.flesh.material.young` (bodies by name or index), the value as in a scene; the
/// quotes of a text are optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    text: String,
}

impl Override {
    /// An override from a path and a value.
    pub fn new(path: &str, value: &str) -> Self {
        Self { text: format!("{path}={value}") }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Override {
    fn from(text: &str) -> Self {
        Self { text: text.to_string() }
    }
}

impl From<String> for Override {
    fn from(text: String) -> Self {
        Self { text }
    }
}

/// One segment of a path and its position in the text of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub key: String,
    pub start: usize,
    pub end: usize,
}

/// Splits `body[0]."a.b".c` into its keys; the error is the position that cannot be read.
pub(crate) fn split_path(path: &str) -> Result<Vec<Segment>, usize> {
    let bytes = path.as_bytes();
    let mut segments = Vec::new();
    let mut at = 0;
    let mut after_dot = true;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            quote @ (b'"' | b'\'') if after_dot => {
                let length = path[at + 1..].bytes().position(|b| b == quote).ok_or(at)?;
                at += length + 2;
                segments.push(Segment { key: path[start + 1..at - 1].to_string(), start, end: at });
            }
            b'[' if !after_dot => {
                let length = path[at..].find(']').ok_or(at)?;
                at += length + 1;
                segments.push(Segment { key: path[start + 1..at - 1].trim().to_string(), start, end: at });
            }
            _ if after_dot => {
                at += path[at..].find(['.', '[', '"']).unwrap_or(path.len() - at);
                let key = path[start..at].trim();
                if key.is_empty() {
                    return Err(start);
                }
                segments.push(Segment { key: key.to_string(), start, end: at });
            }
            _ => return Err(at),
        }
        after_dot = bytes.get(at) == Some(&b'.');
        if after_dot {
            at += 1;
        }
    }
    if after_dot || segments.len() > tree::MAX_DEPTH { Err(path.len()) } else { Ok(segments) }
}

/// Changes the tree; `source` is the index of the text of this override.
pub(crate) fn apply(root: &mut Node, set: &Override, source: usize, problems: &mut Vec<Diagnostic>) {
    let text = set.text.as_str();
    let whole = Span { source, start: 0, end: text.len() };
    let Some(equals) = find_equals(text) else {
        problems.push(
            Diagnostic::at(whole, "an override has the form path=value")
                .label("has no `=`")
                .hint("for example --set body.flesh.material.young=\"10 kPa\""),
        );
        return;
    };
    let segments = match split_path(&text[..equals]) {
        Ok(segments) => segments,
        Err(at) => {
            problems
                .push(Diagnostic::at(Span { source, start: at, end: equals }, "cannot read the path of this override"));
            return;
        }
    };
    let Some(value) = parse_right_side(text, equals + 1, source, problems) else { return };
    if let Err(problem) = set_value(root, &segments, value, source) {
        problems.push(problem);
    }
}

/// The first `=` outside quotes.
fn find_equals(text: &str) -> Option<usize> {
    let mut quote = None;
    text.bytes().position(|b| {
        match (quote, b) {
            (None, b'=') => return true,
            (None, b'"' | b'\'') => quote = Some(b),
            (Some(open), b) if open == b => quote = None,
            _ => {}
        }
        false
    })
}

/// A TOML value, or else the plain text: shells remove the quotes of `"10 kPa"`.
fn parse_right_side(text: &str, start: usize, source: usize, problems: &mut Vec<Diagnostic>) -> Option<Node> {
    let right = &text[start..];
    let start = start + right.len() - right.trim_start().len();
    let right = right.trim();
    let mut found = Vec::new();
    let parsed = tree::parse_value(right, source, &mut found);
    let structured = right.starts_with(['[', '{', '"', '\'']);
    match parsed {
        Some(mut node) if found.is_empty() => {
            node.shift(start);
            Some(node)
        }
        // A number that does not fit is still a number, and an open bracket is not a text.
        parsed if structured || parsed.is_some() => {
            problems.extend(found.into_iter().map(|mut problem| {
                if let Some(span) = &mut problem.span {
                    span.start += start;
                    span.end += start;
                }
                problem
            }));
            None
        }
        _ => {
            Some(Node { span: Span { source, start, end: start + right.len() }, value: Value::Text(right.to_string()) })
        }
    }
}

fn set_value(root: &mut Node, segments: &[Segment], value: Node, source: usize) -> Result<(), Diagnostic> {
    let span_of = |segment: &Segment| Span { source, start: segment.start, end: segment.end };
    let mut node = root;
    let mut rest = segments;
    while let [segment, tail @ ..] = rest {
        rest = tail;
        let here = span_of(segment);
        let described = node.describe();
        match &mut node.value {
            Value::Table(entries) => {
                let (at, used) = match find_joined(entries, segment, tail) {
                    Some(found) => found,
                    None => {
                        entries.push(Entry { key: segment.key.clone(), key_span: here, node: Node::empty_table(here) });
                        (entries.len() - 1, 0)
                    }
                };
                rest = &tail[used..];
                node = &mut entries[at].node;
            }
            Value::List(items) => {
                let names: Vec<String> =
                    items.iter().filter_map(|item| item.get("name")?.as_text().map(str::to_string)).collect();
                let index = items
                    .iter()
                    .position(|item| item.get("name").and_then(Node::as_text) == Some(segment.key.as_str()))
                    .or_else(|| segment.key.parse().ok().filter(|&index: &usize| index < items.len()));
                let count = items.len();
                let Some(index) = index else {
                    let problem = Diagnostic::at(here, format!("there is no `{}` in this list", segment.key));
                    return Err(
                        match suggest::hint(&segment.key, names.iter().map(String::as_str), "names in the list") {
                            Some(hint) => problem.hint(hint),
                            None => problem.hint(format!("the list has {count} elements, counted from 0")),
                        },
                    );
                };
                node = &mut items[index];
            }
            _ => {
                return Err(Diagnostic::at(here, format!("`{}` cannot be set inside {described}", segment.key)));
            }
        }
    }
    *node = value;
    Ok(())
}

/// The entry of a key. Channel names contain dots, so the longest run of segments that forms a key wins.
fn find_joined(entries: &[Entry], segment: &Segment, tail: &[Segment]) -> Option<(usize, usize)> {
    (0..=tail.len()).rev().find_map(|used| {
        let mut key = segment.key.clone();
        for more in &tail[..used] {
            key.push('.');
            key.push_str(&more.key);
        }
        entries.iter().position(|entry| entry.key == key).map(|at| (at, used))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, set: &str) -> Result<Node, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut root = tree::parse_document(text, 0, &mut problems);
        apply(&mut root, &Override::from(set), 1, &mut problems);
        if problems.is_empty() { Ok(root) } else { Err(problems) }
    }

    const SCENE: &str = "[[body]]\nname = \"flesh\"\nmaterial = { young = 1 }\n[control]\n\"a.b\" = 1\n";

    #[test]
    fn bodies_are_found_by_name_and_by_index() {
        for path in ["body.flesh.material.young", "body[0].material.young", "body.0.material.young"] {
            let root = applied(SCENE, &format!("{path}=10 kPa")).unwrap();
            let young = root.get("body").and_then(|b| b.items()[0].get("material")?.get("young")).unwrap();
            assert_eq!(young.as_text(), Some("10 kPa"), "{path}");
        }
    }

    #[test]
    fn values_are_toml_and_else_texts() {
        for (right, value) in [
            ("3", Value::Integer(3)),
            ("1e-6", Value::Float(1e-6)),
            ("true", Value::Flag(true)),
            ("\"10 kPa\"", Value::Text("10 kPa".into())),
            ("10 kPa", Value::Text("10 kPa".into())),
            ("x-min", Value::Text("x-min".into())),
        ] {
            let root = applied(SCENE, &format!("new.key = {right}")).unwrap();
            assert_eq!(root.get("new").and_then(|n| n.get("key")).map(|n| &n.value), Some(&value), "{right}");
        }
    }

    #[test]
    fn keys_with_dots_are_found_with_and_without_quotes() {
        for path in ["control.a.b", "control.\"a.b\""] {
            let root = applied(SCENE, &format!("{path}=7")).unwrap();
            assert_eq!(root.get("control").and_then(|c| c.get("a.b")).map(|n| &n.value), Some(&Value::Integer(7)));
        }
    }

    #[test]
    fn mistakes_point_into_the_override() {
        for (set, start, message) in [
            ("body.flsh.material.young=1", 5, "there is no `flsh` in this list"),
            ("body", 0, "an override has the form path=value"),
            ("body..x=1", 5, "cannot read the path of this override"),
            ("=1", 0, "cannot read the path of this override"),
            ("body[0=1", 4, "cannot read the path of this override"),
            ("body.flesh.name.x=1", 16, "`x` cannot be set inside \"flesh\""),
            ("a=[1", 4, "not valid TOML: unclosed array, expected `]`"),
        ] {
            let problems = applied(SCENE, set).unwrap_err();
            assert_eq!(problems[0].message, message);
            assert_eq!(problems[0].span.map(|s| (s.source, s.start)), Some((1, start)), "{set}");
        }
    }
}
