//! Tables of label names: inside files as XML, beside them as text, CSV or JSON.
//!
//! | kind | a row |
//! |---|---|
//! | ITK-SNAP | `1 255 0 0 1 1 1 "humerus"` |
//! | Slicer's `.ctbl`, FreeSurfer | `1 humerus 255 0 0 255` |
//! | CSV and TSV, with or without a heading | `1,humerus` or `LabelValue,Name,Color_R,…` |
//! | plain | `1 humerus`, `1: humerus`, `1 = humerus` |
//! | JSON | `{"1": "humerus"}`, `{"humerus": 1}`, `[{"id": 1, "name": "humerus"}]`, also below `labels` |

use serde_json::Value;

use super::data::{LabelInfo, LabelTable};
use super::samples::LongTable;
use crate::text::{parse_f64, parse_i64};

/// Reads a table, whatever its kind; `None` where most lines are no rows of any.
pub fn read(bytes: &[u8]) -> Option<LongTable> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let table = if text.starts_with(['{', '[']) {
        from_json(&serde_json::from_str(text).ok()?)
    } else if text.starts_with('<') {
        from_bytes_with_xml(text.as_bytes())
    } else {
        from_lines(text)?
    };
    (!table.is_empty()).then_some(table)
}

/// Rows of text.
fn from_lines(text: &str) -> Option<LongTable> {
    let rows: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let separator = [',', ';', '\t']
        .into_iter()
        .find(|mark| rows.iter().filter(|row| row.contains(*mark)).count() * 2 > rows.len());
    let mut heading = None;
    let mut table = LongTable::new();
    let mut strange = 0usize;
    for (number, row) in rows.iter().enumerate() {
        let fields = fields(row, separator);
        if number == 0 && separator.is_some() {
            heading = Heading::of(&fields);
            if heading.is_some() {
                continue;
            }
        }
        match heading.as_ref().map_or_else(|| plain_row(&fields), |heading| heading.row(&fields)) {
            Some((label, info)) => drop(table.insert(label, info)),
            None => strange += 1,
        }
    }
    (strange <= table.len()).then_some(table)
}

/// The fields of a row; quotes hold one together.
fn fields(row: &str, separator: Option<char>) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for c in row.chars() {
        let is_end = match separator {
            Some(mark) => c == mark,
            None => c.is_whitespace(),
        };
        match (c, is_end) {
            ('"', _) => is_quoted = !is_quoted,
            (_, true) if !is_quoted => {
                // Several blanks are one, several commas are not.
                if separator.is_some() || fields.last().is_some_and(|field| !field.is_empty()) {
                    fields.push(String::new());
                }
            }
            _ => fields.last_mut().into_iter().for_each(|field| field.push(c)),
        }
    }
    fields.into_iter().map(|field| field.trim().to_string()).collect()
}

fn number(field: &str) -> Option<f64> {
    parse_f64(field.trim().as_bytes()).filter(|value| value.is_finite())
}

fn label(field: &str) -> Option<u64> {
    let value = parse_i64(field.trim_end_matches([':', '=', ',']).as_bytes())?;
    u64::try_from(value).ok().filter(|value| *value <= u64::from(u32::MAX))
}

/// A color from three numbers up to 1 or up to 255.
fn color(parts: [f64; 3]) -> Option<[f32; 3]> {
    if parts.iter().any(|part| !(0.0..=255.0).contains(part)) {
        return None;
    }
    // A row of whole numbers with only zeros and ones is black or nearly so in 255 parts; 1 stands for full color only
    // beside fractions.
    let is_unit = parts.iter().all(|part| *part <= 1.0) && parts.iter().any(|part| part.fract() != 0.0);
    let scale = if is_unit { 1.0 } else { 255.0 };
    Some(parts.map(|part| (part / scale) as f32))
}

/// A row without a heading.
fn plain_row(fields: &[String]) -> Option<(u64, LabelInfo)> {
    let fields: Vec<&str> =
        fields.iter().map(String::as_str).filter(|field| !matches!(*field, "" | ":" | "=")).collect();
    let (first, rest) = fields.split_first()?;
    // `1:humerus` and `1=humerus`.
    if let Some((front, name)) = first.split_once([':', '=']) {
        let words: Vec<&str> = [name].into_iter().chain(rest.iter().copied()).filter(|word| !word.is_empty()).collect();
        return Some((label(front)?, LabelInfo { name: words.join(" "), color: None }));
    }
    let label = label(first)?;
    let numbers: Vec<Option<f64>> = rest.iter().map(|field| number(field)).collect();
    let at = |i: usize| numbers.get(i).copied().flatten();
    // ITK-SNAP: red, green, blue, opacity, two flags, name.
    if rest.len() >= 7 && (0..6).all(|i| at(i).is_some()) {
        let parts = [at(0)?, at(1)?, at(2)?];
        return Some((label, LabelInfo { name: rest[6..].join(" "), color: color(parts) }));
    }
    // Names may have several words; behind them there are three or four numbers of a color, or none.
    let tail = numbers.iter().rev().take_while(|number| number.is_some()).count();
    let colored = if tail >= 4 {
        4
    } else if tail == 3 {
        3
    } else {
        0
    };
    let (words, parts) = rest.split_at(rest.len() - colored.min(rest.len().saturating_sub(1)));
    let parts: Vec<f64> = parts.iter().filter_map(|part| number(part)).collect();
    let color = parts.get(..3).and_then(|parts| color([parts[0], parts[1], parts[2]]));
    (!words.is_empty()).then(|| (label, LabelInfo { name: words.join(" "), color }))
}

/// Columns of a table with a heading.
struct Heading {
    label: usize,
    name: usize,
    color: Option<[usize; 3]>,
}

impl Heading {
    /// What the first row says, unless it begins with a number.
    fn of(fields: &[String]) -> Option<Heading> {
        if fields.first().is_some_and(|field| label(field).is_some()) {
            return None;
        }
        let names: Vec<String> = fields.iter().map(|field| field.to_ascii_lowercase()).collect();
        let find = |wanted: &[&str]| wanted.iter().find_map(|wanted| names.iter().position(|name| name == wanted));
        let name =
            find(&["name", "label_name", "labelname", "structure", "tissue", "region", "segment", "description"]);
        let label =
            find(&["labelvalue", "label_value", "value", "index", "id", "number", "key", "label_id", "label", "#"])?;
        let name = name.or_else(|| find(&["label"]).filter(|at| *at != label))?;
        let color =
            [["color_r", "r", "red"], ["color_g", "g", "green"], ["color_b", "b", "blue"]].map(|part| find(&part));
        let color = match color {
            [Some(r), Some(g), Some(b)] => Some([r, g, b]),
            _ => None,
        };
        Some(Heading { label, name, color })
    }

    fn row(&self, fields: &[String]) -> Option<(u64, LabelInfo)> {
        let label = label(fields.get(self.label)?)?;
        let name = fields.get(self.name)?.clone();
        let part = |at: usize| fields.get(at).and_then(|field| number(field));
        let color = self.color.and_then(|[r, g, b]| color([part(r)?, part(g)?, part(b)?]));
        Some((label, LabelInfo { name, color }))
    }
}

/// Labels of a JSON value: pairs either way round, or a list of objects; also below `labels` or `segments`.
fn from_json(value: &Value) -> LongTable {
    match value {
        Value::Array(entries) => entries.iter().filter_map(json_entry).collect(),
        Value::Object(map) => {
            let below = ["labels", "segments", "segmentAttributes"].iter().find_map(|key| map.get(*key));
            if let Some(below) = below.filter(|below| below.is_object() || below.is_array()) {
                return from_json(below);
            }
            map.iter().filter_map(|(key, value)| json_pair(key, value)).collect()
        }
        _ => LongTable::new(),
    }
}

fn json_pair(key: &str, value: &Value) -> Option<(u64, LabelInfo)> {
    let named = |name: &str| LabelInfo { name: name.to_string(), color: None };
    match (label(key), value) {
        (Some(label), Value::String(name)) => Some((label, named(name))),
        (Some(label), Value::Object(_)) => Some((label, json_info(value)?)),
        (None, Value::Number(_)) => Some((json_label(value)?, named(key))),
        (None, Value::Object(_)) => Some((json_number(value)?, LabelInfo { color: json_color(value), ..named(key) })),
        _ => None,
    }
}

fn json_entry(value: &Value) -> Option<(u64, LabelInfo)> {
    match value {
        // dcmqi has a list of segments for each file.
        Value::Array(inner) => inner.iter().find_map(json_entry),
        _ => Some((json_number(value)?, json_info(value)?)),
    }
}

fn json_label(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| label(value.as_str()?)).filter(|value| *value <= u64::from(u32::MAX))
}

fn json_number(value: &Value) -> Option<u64> {
    ["id", "label", "value", "index", "labelID", "number"].iter().find_map(|key| json_label(value.get(*key)?))
}

fn json_info(value: &Value) -> Option<LabelInfo> {
    let keys = ["name", "SegmentLabel", "SegmentDescription", "structure", "title", "label"];
    let name = keys.iter().find_map(|key| value.get(*key)?.as_str())?.to_string();
    Some(LabelInfo { name, color: json_color(value) })
}

fn json_color(value: &Value) -> Option<[f32; 3]> {
    let parts = ["color", "rgb", "recommendedDisplayRGBValue"].iter().find_map(|key| value.get(*key)?.as_array())?;
    let part = |i: usize| parts.get(i)?.as_f64();
    color([part(0)?, part(1)?, part(2)?])
}

/// Labels of XML somewhere in `bytes`: `<Label Key="1" Red="1" …>name</Label>` of Caret, GIFTI and TotalSegmentator,
/// `<label index="1">name</label>` of FSL's atlases.
pub(crate) fn from_bytes_with_xml(bytes: &[u8]) -> LongTable {
    let text = String::from_utf8_lossy(bytes);
    let mut table = LongTable::new();
    let mut rest = text.as_ref();
    while let Some(at) = rest.find("<Label ").into_iter().chain(rest.find("<label ")).min() {
        rest = &rest[at + 7..];
        let Some(end) = rest.find('>') else { break };
        let (attributes, behind) = (&rest[..end], &rest[end + 1..]);
        let name = &behind[..behind.find("</").unwrap_or(0)];
        if let Some(label) = attribute(attributes, "Key").or_else(|| attribute(attributes, "index")).and_then(label) {
            let part = |name: &str| attribute(attributes, name).and_then(number);
            let parts = [part("Red"), part("Green"), part("Blue")];
            // Colors of Caret go to 1, those of older tables to 255.
            let color = match parts {
                [Some(r), Some(g), Some(b)] if r.max(g).max(b) <= 1.0 => {
                    Some([r, g, b].map(|part| part.max(0.0) as f32))
                }
                [Some(r), Some(g), Some(b)] => color([r, g, b]),
                _ => None,
            };
            table.insert(label, LabelInfo { name: plain_text(name), color });
        }
        rest = behind;
    }
    table
}

/// Value of an attribute in a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    while let Some(at) = rest.find(name) {
        let is_word = rest[..at].chars().next_back().is_none_or(char::is_whitespace);
        let behind = rest[at + name.len()..].trim_start();
        if let (true, Some(value)) = (is_word, behind.strip_prefix('=')) {
            let value = value.trim_start();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            return value[1..].split(quote).next();
        }
        rest = &rest[at + name.len()..];
    }
    None
}

/// Text of an element, without the marks around plain characters.
fn plain_text(text: &str) -> String {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix("<![CDATA[") {
        return inner.strip_suffix("]]>").unwrap_or(inner).trim().to_string();
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

/// A table as XML that Caret and others read.
pub(crate) fn to_xml(table: &LabelTable) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CaretExtension>\n<VolumeInformation Index=\"0\">\n<LabelTable>\n",
    );
    for (label, info) in table.iter() {
        let [r, g, b] = info.color.unwrap_or_else(|| distinct_color(label));
        let name = info.name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        out += &format!("<Label Key=\"{label}\" Red=\"{r}\" Green=\"{g}\" Blue=\"{b}\" Alpha=\"1\">{name}</Label>\n");
    }
    out + "</LabelTable>\n</VolumeInformation>\n</CaretExtension>\n"
}

/// A color for a label without one: hues a golden angle apart.
pub fn distinct_color(label: u16) -> [f32; 3] {
    let hue = (f32::from(label) * 0.618_034).fract() * 6.0;
    let part = |shift: f32| {
        let at = (hue + shift) % 6.0;
        ((0.35 + 0.6 * ((at - 3.0).abs() - 1.0).clamp(0.0, 1.0)) * 100.0).round() / 100.0
    };
    [part(0.0), part(4.0), part(2.0)]
}
