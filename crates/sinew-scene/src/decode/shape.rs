//! Shapes of values: the common source of the JSON schema and the reference page.

use crate::value::Dimension;

/// An interval of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Interval {
    pub low: Option<Bound>,
    pub high: Option<Bound>,
}

/// One end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub value: f64,
    pub inclusive: bool,
}

impl Interval {
    /// The rule that a value outside the interval violates, as "must …"; `None` inside.
    pub fn broken_rule(&self, value: f64, show: impl Fn(f64) -> String) -> Option<String> {
        if let Some(low) = self.low.filter(|low| value < low.value || (value == low.value && !low.inclusive)) {
            return Some(match (low.value == 0.0, low.inclusive) {
                (true, true) => "must not be negative".to_string(),
                (true, false) => "must be positive".to_string(),
                (false, true) => format!("must be at least {}", show(low.value)),
                (false, false) => format!("must be above {}", show(low.value)),
            });
        }
        let high = self.high.filter(|high| value > high.value || (value == high.value && !high.inclusive))?;
        Some(match high.inclusive {
            true => format!("must be at most {}", show(high.value)),
            false => format!("must be below {}", show(high.value)),
        })
    }

    /// The interval in words for the reference page; empty if everything is allowed.
    pub fn describe(&self, show: impl Fn(f64) -> String) -> String {
        let show = |value: f64| if value == 0.0 { "0".to_string() } else { show(value) };
        let low = self.low.map(|b| format!("{} {}", if b.inclusive { "≥" } else { ">" }, show(b.value)));
        let high = self.high.map(|b| format!("{} {}", if b.inclusive { "≤" } else { "<" }, show(b.value)));
        [low, high].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The shape of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A number in SI units or a text with a unit; `None` takes any unit.
    Quantity { dimension: Option<Dimension>, interval: Interval },
    /// A whole number.
    Whole { least: i64, most: i64 },
    /// A text; the field describes its meaning ("file", "name of a region").
    Text(&'static str),
    /// `true` or `false`.
    Flag,
    /// One of some words, each with its meaning.
    Words(Vec<(&'static str, &'static str)>),
    /// A list with a fixed number of values of one shape.
    Tuple(Box<Shape>, usize),
    /// A list of a time and a value.
    TimedValue(Box<Shape>),
    /// A list of any length.
    List(Box<Shape>),
    /// A table with free keys.
    Map(Box<Shape>),
    /// A table described elsewhere.
    Named(&'static str),
    /// One of several shapes.
    Either(Vec<Shape>),
    /// Any TOML value.
    Anything,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldShape {
    pub key: &'static str,
    pub doc: String,
    pub shape: Shape,
    pub required: bool,
    /// The default as TOML text.
    pub default: Option<&'static str>,
    /// An example value as TOML text.
    pub example: Option<&'static str>,
}

/// One form of a tagged table: the word, its meaning, and the keys that come with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    pub word: &'static str,
    pub doc: String,
    pub fields: Vec<FieldShape>,
}

/// The contents of a named table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// Fixed keys.
    Fields(Vec<FieldShape>),
    /// Keys that depend on the word at `tag`.
    Tagged { tag: &'static str, variants: Vec<Variant> },
    /// Exactly one of the keys.
    Keyed(Vec<FieldShape>),
}

/// A named table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub name: &'static str,
    pub doc: String,
    pub body: Body,
}

/// All named tables in the order in which the scene mentions them.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub list: Vec<Definition>,
}

impl Definitions {
    /// Adds a definition unless it exists; `body` may add further ones after it.
    pub fn add(&mut self, name: &'static str, doc: String, body: impl FnOnce(&mut Self) -> Body) -> Shape {
        if !self.list.iter().any(|known| known.name == name) {
            let at = self.list.len();
            self.list.push(Definition { name, doc, body: Body::Fields(Vec::new()) });
            self.list[at].body = body(self);
        }
        Shape::Named(name)
    }
}

/// Doc-comment lines as one paragraph, with the brackets of units as the reader sees them: `\[m\]` becomes `[m]`.
pub(crate) fn paragraph(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    text.replace("\\[", "[").replace("\\]", "]")
}
