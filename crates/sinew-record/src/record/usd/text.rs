//! USDA: a layer as text.

use std::fmt::Write as _;
use std::io::{Result, Write};
use std::ops::Range;

use sinew_fem::RecordError;
use sinew_io::usd::{Content, Layer, Prim, Property, Specifier, Value};

use crate::record::atomic::AtomicFile;
use crate::record::digits::{push_f32, tuples, write_all};
use crate::record::interleaved::Interleaved;

/// Indentation of one level.
const INDENT: &str = "    ";

/// The line of a recorded sample: prims with samples are children of the root prim.
pub(super) fn sample_line(code: f64, value: &Value) -> Vec<u8> {
    let mut line = format!("            {code}: ").into_bytes();
    line.append(&mut value_text(value, 0));
    line.extend_from_slice(b",\n");
    line
}

/// Writes a layer with the given frames of its recorded samples.
pub(super) fn write(
    layer: &Layer,
    mut samples: Option<&mut Interleaved>,
    frames: &Range<usize>,
    out: &mut AtomicFile,
) -> std::result::Result<(), RecordError> {
    let mut head = String::from("#usda 1.0\n");
    push_metadata(&mut head, &layer.metadata, 0);
    out.put(head.as_bytes())?;
    out.put(b"\n")?;
    for prim in &layer.prims {
        out.put(b"\n")?;
        write_prim(prim, 0, &mut samples, frames, out)?;
    }
    Ok(())
}

fn write_prim(
    prim: &Prim,
    depth: usize,
    samples: &mut Option<&mut Interleaved>,
    frames: &Range<usize>,
    out: &mut AtomicFile,
) -> std::result::Result<(), RecordError> {
    let indent = INDENT.repeat(depth);
    let specifier = match prim.specifier {
        Specifier::Def => "def",
        Specifier::Over => "over",
    };
    let kind = if prim.type_name.is_empty() { String::new() } else { format!(" {}", prim.type_name) };
    let mut head = format!("{indent}{specifier}{kind} \"{}\"", prim.name);
    if !prim.metadata.is_empty() {
        head.push(' ');
        push_metadata(&mut head, &prim.metadata, depth);
    }
    let _ = write!(head, "\n{indent}{{\n");
    out.put(head.as_bytes())?;
    for property in &prim.properties {
        write_property(property, depth + 1, samples, frames, out)?;
    }
    for (k, child) in prim.children.iter().enumerate() {
        if k > 0 || !prim.properties.is_empty() {
            out.put(b"\n")?;
        }
        write_prim(child, depth + 1, samples, frames, out)?;
    }
    out.put(format!("{indent}}}\n").as_bytes())
}

/// `(` the entries `)`.
fn push_metadata(text: &mut String, entries: &[(&'static str, Value)], depth: usize) {
    let indent = INDENT.repeat(depth);
    text.push_str("(\n");
    for (name, value) in entries {
        let prepend = if matches!(value, Value::Prepended(_)) { "prepend " } else { "" };
        let value = String::from_utf8_lossy(&value_text(value, depth + 1)).into_owned();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{indent}{INDENT}{prepend}{name} = {value}");
    }
    let _ = write!(text, "{indent})");
}

fn write_property(
    property: &Property,
    depth: usize,
    samples: &mut Option<&mut Interleaved>,
    frames: &Range<usize>,
    out: &mut AtomicFile,
) -> std::result::Result<(), RecordError> {
    let Property { name, type_name, is_uniform, interpolation, content } = property;
    let indent = INDENT.repeat(depth);
    let uniform = if *is_uniform { "uniform " } else { "" };
    let title = format!("{indent}{uniform}{type_name} {name}");
    let per = interpolation
        .map_or_else(String::new, |per| format!(" (\n{indent}{INDENT}interpolation = \"{per}\"\n{indent})"));
    match content {
        Content::Declared => out.put(format!("{title}{per}\n").as_bytes()),
        Content::Default(value) => {
            out.put(format!("{title} = ").as_bytes())?;
            out.put(&value_text(value, depth))?;
            out.put(format!("{per}\n").as_bytes())
        }
        Content::Samples(_) | Content::Recorded(_) => {
            if interpolation.is_some() {
                out.put(format!("{title}{per}\n").as_bytes())?;
            }
            out.put(format!("{title}.timeSamples = {{\n").as_bytes())?;
            match (content, samples) {
                (Content::Samples(samples), _) => {
                    for (code, value) in samples {
                        out.put(format!("{indent}{INDENT}{code}: ").as_bytes())?;
                        out.put(&value_text(value, depth))?;
                        out.put(b",\n")?;
                    }
                }
                (Content::Recorded(array), Some(samples)) => samples.copy_rows(*array, frames.clone(), out)?,
                _ => {}
            }
            out.put(format!("{indent}}}\n").as_bytes())
        }
        Content::Connection(source) => out.put(format!("{title}.connect = <{source}>\n").as_bytes()),
        Content::Target(target) => out.put(format!("{indent}rel {name} = <{target}>\n").as_bytes()),
    }
}

/// A value; `depth` is that of the line on which it begins.
fn value_text(value: &Value, depth: usize) -> Vec<u8> {
    let text = match value {
        Value::Flag(flag) => u8::from(*flag).to_string(),
        Value::Double(number) => number.to_string(),
        Value::Token(word) | Value::Text(word) => format!("\"{word}\""),
        Value::Asset(path) => format!("@{path}@"),
        Value::Float(number) => return tuple(&[*number]),
        Value::Float3(numbers) => return tuple(numbers),
        Value::Float4(numbers) => return tuple(numbers),
        Value::Matrix(rows) => {
            let rows = rows.map(|[x, y, z, w]| format!("({x}, {y}, {z}, {w})"));
            format!("( {} )", rows.join(", "))
        }
        Value::Ints(values) => {
            return list(values, |out, value| {
                if *value < 0 {
                    out.push(b'-');
                }
                sinew_io::text::push_u64(out, u64::from(value.unsigned_abs()));
            });
        }
        Value::Float2s(pairs) => return list(pairs, |out, pair| out.append(&mut tuple(pair))),
        Value::Float3s(vectors) => return tuples(vectors),
        Value::Double2s(pairs) => {
            return list(pairs, |out, [x, y]| {
                let _ = push(out, format_args!("({x}, {y})"));
            });
        }
        Value::Tokens(words) | Value::Prepended(words) => return list(words, |out, word| quote(out, word, b'"')),
        Value::Assets(paths) => return list(paths, |out, path| quote(out, path, b'@')),
        Value::Dictionary(entries) => {
            let indent = INDENT.repeat(depth);
            let mut text = String::from("{\n");
            for (name, value) in entries {
                let kind = value.type_name();
                let value = String::from_utf8_lossy(&value_text(value, depth + 1)).into_owned();
                let _ = writeln!(text, "{indent}{INDENT}{kind} {name} = {value}");
            }
            let _ = write!(text, "{indent}}}");
            text
        }
    };
    text.into_bytes()
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) -> Result<()> {
    out.write_fmt(text)
}

fn quote(out: &mut Vec<u8>, text: &str, mark: u8) {
    out.push(mark);
    out.extend_from_slice(text.as_bytes());
    out.push(mark);
}

/// `(x, y, …)`, or the number if there is only one.
fn tuple(numbers: &[f32]) -> Vec<u8> {
    let mut text = Vec::new();
    for (k, number) in numbers.iter().enumerate() {
        text.extend_from_slice(if k > 0 { b", " } else { b"" });
        push_f32(&mut text, *number);
    }
    if numbers.len() > 1 {
        text.insert(0, b'(');
        text.push(b')');
    }
    text
}

/// `[a, b, …]`, written in parallel.
fn list<T: Sync>(items: &[T], write: impl Fn(&mut Vec<u8>, &T) + Sync) -> Vec<u8> {
    let mut text = vec![b'['];
    text.append(&mut write_all(items, |out, item| {
        write(out, item);
        out.extend_from_slice(b", ");
    }));
    text.truncate(text.len() - if items.is_empty() { 0 } else { 2 });
    text.push(b']');
    text
}
