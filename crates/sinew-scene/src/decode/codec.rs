//! Codecs of single values: quantities, whole numbers, texts, words, flags.

use crate::{
    decode::{
        shape::{Bound, Definitions, Interval, Shape},
        tree::{Node, Value},
    },
    diagnostic::{Diagnostic, Span},
    suggest,
    value::{self, Dimension, Quantity as Measured, QuantityError},
};

/// Maximum number of problems that are kept; a file with more is not a scene.
pub(crate) const MAX_PROBLEMS: usize = 1000;

/// State of decoding: the path of keys, and the problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub problems: Vec<Diagnostic>,
    /// Whether the text has syntax errors: keys that seem to be missing may only be unreadable.
    pub is_recovering: bool,
    keys: Vec<String>,
}

impl Context {
    /// For a text that could not be parsed completely.
    pub fn recovering(is_recovering: bool) -> Self {
        Self { is_recovering, ..Self::default() }
    }

    /// Runs `inside` one key deeper.
    pub fn within<T>(&mut self, key: &str, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.keys.push(key.to_string());
        let result = inside(self);
        self.keys.pop();
        result
    }

    /// The key being decoded, for messages: `` `density` ``.
    pub fn subject(&self) -> String {
        self.keys.last().map_or_else(|| "the value".to_string(), |key| format!("`{key}`"))
    }

    /// The table being decoded, for messages: `` `material` ``, or "the scene".
    pub fn table(&self) -> String {
        self.keys.last().map_or_else(|| "the scene".to_string(), |key| format!("`{key}`"))
    }

    /// Reports a problem.
    pub fn report(&mut self, problem: Diagnostic) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Reports that a value has the wrong kind.
    pub fn wrong_kind(&mut self, node: &Node, wanted: &str) {
        let message = format!("{} must be {wanted}", self.subject());
        self.report(Diagnostic::at(node.span, message).label(format!("got {}", node.describe())));
    }
}

/// Reads and describes one kind of value. Decoding always returns a value: a wrong one is reported and replaced, so
/// that the rest of the file is still checked.
pub(crate) trait Codec {
    type Output;

    /// The value of a node.
    fn decode(&self, node: &Node, cx: &mut Context) -> Self::Output;

    /// A node that decodes to the value.
    fn encode(&self, value: &Self::Output) -> Node;

    /// The replacement for a value that is missing or wrong.
    fn fallback(&self) -> Self::Output;

    /// The shape of the value; named tables are added to `defs`.
    fn shape(&self, defs: &mut Definitions) -> Shape;

    /// Whether a node looks like one plain value rather than a list of `[time, value]` pairs.
    fn looks_constant(&self, node: &Node) -> bool {
        !matches!(node.value, Value::List(_))
    }
}

/// A number with a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    dimension: Option<Dimension>,
    interval: Interval,
    title: Option<&'static str>,
    hint: Option<&'static str>,
}

/// A quantity of one dimension.
pub(crate) const fn quantity(dimension: Dimension) -> Quantity {
    Quantity { dimension: Some(dimension), interval: Interval { low: None, high: None }, title: None, hint: None }
}

/// A plain number.
pub(crate) const fn number() -> Quantity {
    quantity(Dimension::NUMBER)
}

/// A length \[m\].
pub(crate) const fn length() -> Quantity {
    quantity(Dimension::LENGTH)
}

/// A time \[s\].
pub(crate) const fn time() -> Quantity {
    quantity(Dimension::TIME)
}

/// A number with any unit, converted to SI.
pub(crate) const fn any_quantity() -> Quantity {
    Quantity { dimension: None, interval: Interval { low: None, high: None }, title: None, hint: None }
}

impl Quantity {
    /// Only values greater than `low`.
    pub const fn above(mut self, low: f64) -> Self {
        self.interval.low = Some(Bound { value: low, inclusive: false });
        self
    }

    /// Only values greater than zero.
    pub const fn positive(self) -> Self {
        self.above(0.0)
    }

    /// Only values of at least `low`.
    pub const fn at_least(mut self, low: f64) -> Self {
        self.interval.low = Some(Bound { value: low, inclusive: true });
        self
    }

    /// Only values less than `high`.
    pub const fn below(mut self, high: f64) -> Self {
        self.interval.high = Some(Bound { value: high, inclusive: false });
        self
    }

    /// Only values of at most `high`.
    pub const fn at_most(mut self, high: f64) -> Self {
        self.interval.high = Some(Bound { value: high, inclusive: true });
        self
    }

    /// Name of the value in messages, instead of its key.
    pub const fn titled(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Hint for a value out of range.
    pub const fn hinted(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    fn subject(&self, cx: &Context) -> String {
        self.title.map_or_else(|| cx.subject(), str::to_string)
    }

    fn show(&self, value: f64) -> String {
        value::format_quantity(value, self.dimension.unwrap_or_default())
    }

    /// "a number", "a length, such as \"4 mm\"".
    fn wanted(&self) -> String {
        match self.dimension {
            None => "a number, or a text with a number and a unit".to_string(),
            Some(Dimension::NUMBER) => "a number".to_string(),
            Some(dimension) => {
                format!("{}: a number in {} or a text with a unit", dimension.describe(), dimension.si_unit())
            }
        }
    }

    fn units_hint(&self) -> Option<String> {
        let dimension = self.dimension?;
        let units = dimension.usual_units();
        if units.is_empty() {
            return Some("write a plain number without a unit".to_string());
        }
        Some(format!("accepted units: {}; a plain number is in {}", units.join(", "), dimension.si_unit()))
    }

    fn decode_text(&self, text: &str, span: Span, cx: &mut Context) -> Option<f64> {
        let subject = self.subject(cx);
        let problem = match Measured::parse(text) {
            Ok(measured) if self.dimension.is_none_or(|wanted| wanted == measured.dimension) => {
                return Some(measured.value);
            }
            // "30" in quotes: a plain number is SI, quoted or not.
            Ok(measured) if Measured::parse(text).is_ok() && has_no_unit(text) => return Some(measured.value),
            Ok(measured) => {
                Diagnostic::at(span, format!("{subject} must be {}", self.dimension.unwrap_or_default().describe()))
                    .label(format!("{text:?} is {}", measured.dimension.describe()))
            }
            Err(QuantityError::UnknownUnit(unit)) => {
                let problem = Diagnostic::at(span, format!("{subject} has an unknown unit `{unit}`"));
                let candidates: Vec<&str> = match self.dimension {
                    Some(dimension) => dimension.usual_units().to_vec(),
                    None => value::unit_words().collect(),
                };
                match suggest::nearest(&unit, candidates) {
                    Some(near) => problem.label(format!("did you mean `{near}`?")),
                    None => problem,
                }
            }
            Err(error) => Diagnostic::at(span, format!("{subject} must be {}", self.wanted()))
                .label(format!("{text:?} is {error}")),
        };
        cx.report(match self.units_hint() {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
        None
    }
}

fn has_no_unit(text: &str) -> bool {
    text.trim().chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | '_' | 'e' | 'E'))
}

impl Codec for Quantity {
    type Output = f64;

    fn decode(&self, node: &Node, cx: &mut Context) -> f64 {
        let value = match &node.value {
            Value::Integer(value) => *value as f64,
            Value::Float(value) => *value,
            Value::Text(text) => match self.decode_text(text, node.span, cx) {
                Some(value) => value,
                None => return self.fallback(),
            },
            _ => {
                cx.wrong_kind(node, &self.wanted());
                return self.fallback();
            }
        };
        let rule = if value.is_finite() {
            self.interval.broken_rule(value, |bound| self.show(bound))
        } else {
            Some("must be a finite number".to_string())
        };
        if let Some(rule) = rule {
            let shown = match &node.value {
                Value::Text(text) => text.clone(),
                _ => node.describe(),
            };
            let problem =
                Diagnostic::at(node.span, format!("{} {rule}", self.subject(cx))).label(format!("got {shown}"));
            cx.report(match self.hint {
                Some(hint) => problem.hint(hint),
                None => problem,
            });
            return self.fallback();
        }
        value
    }

    fn encode(&self, value: &f64) -> Node {
        Node::new(Value::Float(*value))
    }

    fn fallback(&self) -> f64 {
        // Any value inside the interval, so that later checks do not report the replacement.
        match (self.interval.low, self.interval.high) {
            (Some(low), Some(high)) => 0.5 * (low.value + high.value),
            (Some(low), None) => low.value + 1.0,
            (None, Some(high)) => high.value - 1.0,
            (None, None) => 0.0,
        }
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Quantity { dimension: self.dimension, interval: self.interval }
    }
}

/// A whole number in a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    least: i64,
    most: i64,
}

/// A whole number of at least `least` and at most `most`.
pub(crate) const fn whole(least: i64, most: i64) -> Whole {
    Whole { least, most }
}

impl Codec for Whole {
    type Output = usize;

    fn decode(&self, node: &Node, cx: &mut Context) -> usize {
        let value = match node.value {
            Value::Integer(value) => value,
            // People write 1e3 and 3.0 for whole numbers too.
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => value as i64,
            _ => {
                cx.wrong_kind(node, "a whole number");
                return self.fallback();
            }
        };
        if !(self.least..=self.most).contains(&value) {
            let rule = match (value < self.least, self.least) {
                (true, 0) => "must not be negative".to_string(),
                (true, 1) => "must be positive".to_string(),
                (true, least) => format!("must be at least {least}"),
                (false, _) => format!("must be at most {}", self.most),
            };
            let message = format!("{} {rule}", cx.subject());
            cx.report(Diagnostic::at(node.span, message).label(format!("got {value}")));
            return self.fallback();
        }
        value as usize
    }

    fn encode(&self, value: &usize) -> Node {
        Node::new(Value::Integer(i64::try_from(*value).unwrap_or(i64::MAX)))
    }

    fn fallback(&self) -> usize {
        self.least as usize
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Whole { least: self.least, most: self.most }
    }
}

/// A text with a rule for its characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    what: &'static str,
    rule: TextRule,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TextRule {
    Free,
    Name,
    FileName,
}

/// Any text that is not empty.
pub(crate) const fn text(what: &'static str) -> Text {
    Text { what, rule: TextRule::Free }
}

/// A name that can stand in a dotted path: letters, digits, `_` and `-`.
pub(crate) const fn name(what: &'static str) -> Text {
    Text { what, rule: TextRule::Name }
}

/// The name of an output file, inside the output folder.
pub(crate) const fn file_name(what: &'static str) -> Text {
    Text { what, rule: TextRule::FileName }
}

/// Maximum length of a text in a scene. Longer ones are a mistake and would end up in names of files and columns.
const LONGEST_TEXT: usize = 4096;

impl Codec for Text {
    type Output = String;

    fn decode(&self, node: &Node, cx: &mut Context) -> String {
        let Some(text) = node.as_text() else {
            cx.wrong_kind(node, "a text");
            return String::new();
        };
        let broken = match self.rule {
            _ if text.is_empty() => Some("must not be empty".to_string()),
            _ if text.len() > LONGEST_TEXT => Some(format!("must be shorter than {LONGEST_TEXT} bytes")),
            TextRule::Name if !is_name(text) => Some("may only use letters, digits, `_` and `-`".to_string()),
            TextRule::FileName if !is_file_name(text) => {
                Some("must be a file name inside the output folder".to_string())
            }
            _ => None,
        };
        if let Some(rule) = broken {
            let message = format!("{} {rule}", cx.subject());
            cx.report(Diagnostic::at(node.span, message).label(format!("got {}", node.describe())));
            return String::new();
        }
        text.to_string()
    }

    fn encode(&self, value: &String) -> Node {
        Node::new(Value::Text(value.clone()))
    }

    fn fallback(&self) -> String {
        String::new()
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Text(self.what)
    }
}

/// Whether a text can stand in a dotted path.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

fn is_file_name(text: &str) -> bool {
    text.len() <= 200
        && !text.starts_with('.')
        && text.chars().all(|c| !c.is_control() && !matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'))
}

/// `true` or `false`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag;

/// `true` or `false`.
pub(crate) const fn flag() -> Flag {
    Flag
}

impl Codec for Flag {
    type Output = bool;

    fn decode(&self, node: &Node, cx: &mut Context) -> bool {
        match node.value {
            Value::Flag(value) => value,
            _ => {
                cx.wrong_kind(node, "true or false");
                false
            }
        }
    }

    fn encode(&self, value: &bool) -> Node {
        Node::new(Value::Flag(*value))
    }

    fn fallback(&self) -> bool {
        false
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Flag
    }
}

/// An enum whose values are words of the scene; made by `words!`.
pub(crate) trait Words: Copy + PartialEq + 'static {
    /// Word, value and meaning.
    const WORDS: &'static [(&'static str, Self, &'static str)];
}

/// One of the words of `E`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<E>(std::marker::PhantomData<E>);

/// One of the words of `E`.
pub(crate) const fn word<E: Words>() -> Word<E> {
    Word(std::marker::PhantomData)
}

impl<E: Words> Codec for Word<E> {
    type Output = E;

    fn decode(&self, node: &Node, cx: &mut Context) -> E {
        let words = || E::WORDS.iter().map(|known| known.0);
        let quoted: Vec<String> = words().map(|word| format!("{word:?}")).collect();
        let Some(text) = node.as_text() else {
            cx.wrong_kind(node, &format!("one of {}", quoted.join(", ")));
            return self.fallback();
        };
        if let Some(known) = E::WORDS.iter().find(|known| known.0 == text) {
            return known.1;
        }
        let problem = Diagnostic::at(node.span, format!("{} must be one of {}", cx.subject(), quoted.join(", ")))
            .label(format!("got {}", node.describe()));
        cx.report(match suggest::nearest(text, words()) {
            Some(near) => problem.hint(format!("did you mean {near:?}?")),
            None => problem,
        });
        self.fallback()
    }

    fn encode(&self, value: &E) -> Node {
        let known = E::WORDS.iter().find(|known| known.1 == *value);
        Node::new(Value::Text(known.map_or("", |known| known.0).into()))
    }

    fn fallback(&self) -> E {
        E::WORDS[0].1
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Words(E::WORDS.iter().map(|known| (known.0, known.2)).collect())
    }
}
