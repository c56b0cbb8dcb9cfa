//! Expected results of a scene.

use crate::{
    decode::{
        Codec, Context,
        codec::{any_quantity, number, text, time},
        compound::fixed,
        shape::{Definitions, Shape},
        table::{TableOf, table},
        tree::{Node, Value},
    },
    spec::expect::codecs::{InstantCodec, SpanCodec},
};

words! {
    /// How a value must change over time.
    pub enum Monotone {
        /// Each value is greater than the one before.
        "increasing" => Increasing,
        /// Each value is less than the one before.
        "decreasing" => Decreasing,
        /// No value is less than the one before.
        "nondecreasing" => Nondecreasing,
        /// No value is greater than the one before.
        "nonincreasing" => Nonincreasing,
    }
}

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instant {
    /// The last frame.
    End,
    /// The frame nearest to a time \[s\].
    Time(f64),
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeSpan {
    /// Every frame.
    All,
    /// From one time to another, inclusive \[s\].
    Between(f64, f64),
}

table! {
    /// Comparison with a value of another scene.
    pub struct Compare as "compare" {
        /// Path of the other scene, relative to this one.
        scene: String = text("path of a scene"), required, example("reference.toml");
        /// The name of the value in the other scene. Default: the name in this one.
        probe: Option<String> = text("name of a value"), optional, example("tip.displacement.z");
        /// Largest difference as a fraction of the other value.
        relative: Option<f64> = number().at_least(0.0), optional, example(0.01);
        /// Largest difference in the unit of the value.
        absolute: Option<f64> = any_quantity().at_least(0.0), optional, example("1 mm");
    }
}

table! {
    /// Condition on a value. A plain number or a text with a unit stands for `{ value = … }`; a list holds several
    /// conditions.
    pub struct Expectation as "expectation" {
        /// The expected value, in any unit. Without a tolerance it must agree to nine digits.
        value: Option<f64> = any_quantity(), optional, example("270 N");
        /// Largest difference from `value`.
        absolute: Option<f64> = any_quantity().at_least(0.0), optional, example("1 mm");
        /// Largest difference from `value` as a fraction of it.
        relative: Option<f64> = number().at_least(0.0), optional, example(0.02);
        /// Smallest allowed value.
        min: Option<f64> = any_quantity(), optional, example(0);
        /// Largest allowed value.
        max: Option<f64> = any_quantity(), optional, example("5 mm");
        /// The time of the value, or "end".
        at: Option<Instant> = InstantCodec, optional, example("1 s");
        /// The frames that count: "all" or two times. Without `at` and `over`, the last frame counts.
        over: Option<TimeSpan> = SpanCodec, optional, example("all");
        /// How the value must change over time.
        monotone: Option<Monotone> = crate::decode::codec::word(), optional, example("nonincreasing");
        /// Agreement with another scene.
        compare: Option<Compare> = table(), optional;
    }
}

/// An expectation: a table, or just the value.
pub(crate) struct ExpectationCodec(TableOf<Expectation>);

/// An expectation: a table, or just the value.
pub(crate) const fn expectation() -> ExpectationCodec {
    ExpectationCodec(table())
}

impl Codec for ExpectationCodec {
    type Output = Expectation;

    fn decode(&self, node: &Node, cx: &mut Context) -> Expectation {
        match node.value {
            Value::Table(_) => self.0.decode(node, cx),
            _ => Expectation { value: Some(any_quantity().decode(node, cx)), ..Expectation::default() },
        }
    }

    fn encode(&self, value: &Expectation) -> Node {
        self.0.encode(value)
    }

    fn fallback(&self) -> Expectation {
        Expectation::default()
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        Shape::Either(vec![any_quantity().shape(defs), self.0.shape(defs)])
    }
}

/// The span in the scene file of one of the expectations of a value.
pub fn path_of(name: &str, expectations: &[Expectation], number: usize) -> String {
    match expectations.len() {
        1 => format!("expect.\"{name}\""),
        _ => format!("expect.\"{name}\"[{number}]"),
    }
}

/// Codecs of times and time spans.
mod codecs {
    use super::*;

    pub(crate) struct InstantCodec;

    impl Codec for InstantCodec {
        type Output = Instant;

        fn decode(&self, node: &Node, cx: &mut Context) -> Instant {
            match node.as_text() {
                Some("end") => Instant::End,
                _ => Instant::Time(time().at_least(0.0).decode(node, cx)),
            }
        }

        fn encode(&self, value: &Instant) -> Node {
            match value {
                Instant::End => Node::new(Value::Text("end".into())),
                Instant::Time(at) => time().encode(at),
            }
        }

        fn fallback(&self) -> Instant {
            Instant::End
        }

        fn shape(&self, defs: &mut Definitions) -> Shape {
            Shape::Either(vec![time().at_least(0.0).shape(defs), Shape::Words(vec![("end", "the last frame")])])
        }
    }

    pub(crate) struct SpanCodec;

    impl Codec for SpanCodec {
        type Output = TimeSpan;

        fn decode(&self, node: &Node, cx: &mut Context) -> TimeSpan {
            match &node.value {
                Value::Text(word) if word == "all" => TimeSpan::All,
                Value::List(_) => {
                    let [from, to] = fixed(time().at_least(0.0)).decode(node, cx);
                    TimeSpan::Between(from, to)
                }
                _ => {
                    cx.wrong_kind(node, "\"all\" or two times");
                    TimeSpan::All
                }
            }
        }

        fn encode(&self, value: &TimeSpan) -> Node {
            match value {
                TimeSpan::All => Node::new(Value::Text("all".into())),
                TimeSpan::Between(from, to) => fixed(time()).encode(&[*from, *to]),
            }
        }

        fn fallback(&self) -> TimeSpan {
            TimeSpan::All
        }

        fn shape(&self, defs: &mut Definitions) -> Shape {
            let times = fixed::<2, _>(time().at_least(0.0)).shape(defs);
            Shape::Either(vec![Shape::Words(vec![("all", "every frame")]), times])
        }
    }
}
