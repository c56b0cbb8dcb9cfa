//! Codecs made of other codecs: fixed and free lists, maps, one or many, tracks over time, directions.

use std::collections::BTreeMap;

use crate::{
    decode::{
        codec::{Codec, Context, Quantity, number, time, word},
        shape::{Body, Definitions, FieldShape, Shape},
        table::Fields,
        tree::{Node, Value},
    },
    diagnostic::Diagnostic,
    track::{Interpolation, Track},
};

/// A list of exactly `N` values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed<C, const N: usize>(C);

/// Three numbers: x, y, z.
pub(crate) const fn vector(component: Quantity) -> Fixed<Quantity, 3> {
    Fixed(component)
}

/// A list of exactly `N` values.
pub(crate) const fn fixed<const N: usize, C: Codec>(item: C) -> Fixed<C, N> {
    Fixed(item)
}

/// Three rows of three plain numbers.
pub(crate) const fn matrix() -> Fixed<Fixed<Quantity, 3>, 3> {
    Fixed(Fixed(number()))
}

impl<C: Codec, const N: usize> Codec for Fixed<C, N> {
    type Output = [C::Output; N];

    fn decode(&self, node: &Node, cx: &mut Context) -> Self::Output {
        let items = match &node.value {
            Value::List(items) if items.len() == N => items,
            _ => {
                cx.wrong_kind(node, &format!("a list of {N} values"));
                return self.fallback();
            }
        };
        std::array::from_fn(|i| self.0.decode(&items[i], cx))
    }

    fn encode(&self, value: &Self::Output) -> Node {
        Node::new(Value::List(value.iter().map(|item| self.0.encode(item)).collect()))
    }

    fn fallback(&self) -> Self::Output {
        std::array::from_fn(|_| self.0.fallback())
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        Shape::Tuple(Box::new(self.0.shape(defs)), N)
    }

    fn looks_constant(&self, node: &Node) -> bool {
        // A [time, value] pair is a list of two whose second element is a list again.
        match node.items() {
            [] => !matches!(node.value, Value::List(_)),
            [first, ..] => first.items().len() != 2,
        }
    }
}

/// A direction: three numbers that are not all zero, returned with length one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction;

/// A direction, returned with length one.
pub(crate) const fn direction() -> Direction {
    Direction
}

impl Codec for Direction {
    type Output = [f64; 3];

    fn decode(&self, node: &Node, cx: &mut Context) -> [f64; 3] {
        let known = cx.problems.len();
        let v = vector(number()).decode(node, cx);
        if cx.problems.len() > known {
            return self.fallback();
        }
        // Scaling by the largest component keeps tiny and huge directions from under- and overflowing.
        let largest = v.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        if largest == 0.0 {
            let message = format!("{} must not be zero: it is a direction", cx.subject());
            cx.report(Diagnostic::at(node.span, message).label("has no direction"));
            return self.fallback();
        }
        let scaled = v.map(|c| c / largest);
        let norm = scaled.iter().map(|c| c * c).sum::<f64>().sqrt();
        scaled.map(|c| c / norm)
    }

    fn encode(&self, value: &[f64; 3]) -> Node {
        vector(number()).encode(value)
    }

    fn fallback(&self) -> [f64; 3] {
        [0.0, 0.0, 1.0]
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        vector(number()).shape(defs)
    }
}

/// A list of any length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<C>(C);

/// A list of any length.
pub(crate) const fn list<C: Codec>(item: C) -> List<C> {
    List(item)
}

impl<C: Codec> Codec for List<C> {
    type Output = Vec<C::Output>;

    fn decode(&self, node: &Node, cx: &mut Context) -> Self::Output {
        match &node.value {
            Value::List(items) => items.iter().map(|item| self.0.decode(item, cx)).collect(),
            _ => {
                cx.wrong_kind(node, "a list");
                Vec::new()
            }
        }
    }

    fn encode(&self, value: &Self::Output) -> Node {
        Node::new(Value::List(value.iter().map(|item| self.0.encode(item)).collect()))
    }

    fn fallback(&self) -> Self::Output {
        Vec::new()
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        Shape::List(Box::new(self.0.shape(defs)))
    }
}

/// One value or a list of them; always a list in Rust.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneOrMany<C>(C);

/// One value or a list of them.
pub(crate) const fn one_or_many<C: Codec>(item: C) -> OneOrMany<C> {
    OneOrMany(item)
}

impl<C: Codec> Codec for OneOrMany<C> {
    type Output = Vec<C::Output>;

    fn decode(&self, node: &Node, cx: &mut Context) -> Self::Output {
        match &node.value {
            Value::List(items) => items.iter().map(|item| self.0.decode(item, cx)).collect(),
            _ => vec![self.0.decode(node, cx)],
        }
    }

    fn encode(&self, value: &Self::Output) -> Node {
        Node::new(Value::List(value.iter().map(|item| self.0.encode(item)).collect()))
    }

    fn fallback(&self) -> Self::Output {
        Vec::new()
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        let one = self.0.shape(defs);
        Shape::Either(vec![one.clone(), Shape::List(Box::new(one))])
    }
}

/// A table with free keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map<C>(C);

/// A table with free keys.
pub(crate) const fn map<C: Codec>(item: C) -> Map<C> {
    Map(item)
}

impl<C: Codec> Codec for Map<C> {
    type Output = BTreeMap<String, C::Output>;

    fn decode(&self, node: &Node, cx: &mut Context) -> Self::Output {
        match &node.value {
            Value::Table(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), cx.within(&entry.key, |cx| self.0.decode(&entry.node, cx))))
                .collect(),
            _ => {
                cx.wrong_kind(node, "a table");
                BTreeMap::new()
            }
        }
    }

    fn encode(&self, value: &Self::Output) -> Node {
        Node::table(value.iter().map(|(key, item)| (key.clone(), self.0.encode(item))))
    }

    fn fallback(&self) -> Self::Output {
        BTreeMap::new()
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        Shape::Map(Box::new(self.0.shape(defs)))
    }
}

/// A value over time: one value, a list of `[time, value]`, or a table with `points` and `interpolation`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackOf<C>(C);

/// A value over time.
pub(crate) const fn track<C: Codec>(value: C) -> TrackOf<C> {
    TrackOf(value)
}

impl<C: Codec> TrackOf<C>
where
    C::Output: Clone,
{
    fn decode_points(&self, node: &Node, cx: &mut Context) -> Vec<(f64, C::Output)> {
        let Value::List(items) = &node.value else {
            cx.wrong_kind(node, "a list of [time, value] pairs");
            return vec![(0.0, self.0.fallback())];
        };
        if items.is_empty() {
            let message = format!("{} needs at least one [time, value] pair", cx.subject());
            cx.report(Diagnostic::at(node.span, message).label("the list is empty"));
            return vec![(0.0, self.0.fallback())];
        }
        let mut points: Vec<(f64, C::Output)> = Vec::with_capacity(items.len());
        for item in items {
            let [at, value] = item.items() else {
                cx.wrong_kind(item, "a list of [time, value] pairs");
                continue;
            };
            let known = cx.problems.len();
            let at_time = time().decode(at, cx);
            let sound = cx.problems.len() == known;
            if let Some((before, _)) = points.last().filter(|last| sound && last.0 >= at_time) {
                let message = format!("the times of {} must increase", cx.subject());
                let label = format!("{} does not come after {}", seconds(at_time), seconds(*before));
                cx.report(Diagnostic::at(at.span, message).label(label));
            }
            points.push((at_time, self.0.decode(value, cx)));
        }
        if points.is_empty() {
            points.push((0.0, self.0.fallback()));
        }
        points
    }
}

fn seconds(value: f64) -> String {
    crate::value::format_quantity(value, crate::value::Dimension::TIME)
}

impl<C: Codec> Codec for TrackOf<C>
where
    C::Output: Clone,
{
    type Output = Track<C::Output>;

    fn decode(&self, node: &Node, cx: &mut Context) -> Self::Output {
        if let Value::Table(_) = node.value {
            let mut fields = Fields::open(node, cx, &["points", "interpolation"], None);
            let interpolation = fields.default("interpolation", &word::<Interpolation>(), "\"linear\"");
            let points = match node.get("points") {
                Some(points) => fields.cx.within("points", |cx| self.decode_points(points, cx)),
                None => {
                    fields.missing("points", Some("[[\"0 s\", 0], [\"1 s\", 1]]"));
                    vec![(0.0, self.0.fallback())]
                }
            };
            return Track::new(points, interpolation);
        }
        if self.0.looks_constant(node) {
            return Track::constant(self.0.decode(node, cx));
        }
        Track::new(self.decode_points(node, cx), Interpolation::Linear)
    }

    fn encode(&self, value: &Self::Output) -> Node {
        let pair =
            |(at, value): &(f64, C::Output)| Node::new(Value::List(vec![time().encode(at), self.0.encode(value)]));
        match (value.points(), value.interpolation()) {
            ([(_, only)], _) => self.0.encode(only),
            (points, interpolation) => Node::table([
                ("points".to_string(), Node::new(Value::List(points.iter().map(pair).collect()))),
                ("interpolation".to_string(), word::<Interpolation>().encode(&interpolation)),
            ]),
        }
    }

    fn fallback(&self) -> Self::Output {
        Track::constant(self.0.fallback())
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        let value = self.0.shape(defs);
        let pairs = Shape::List(Box::new(Shape::TimedValue(Box::new(value.clone()))));
        let points = Shape::List(Box::new(Shape::TimedValue(Box::new(Shape::Anything))));
        let named = defs.add("track", "A value over time with a chosen interpolation.".to_string(), |defs| {
            let field = |key, doc: &str, shape, required, default| FieldShape {
                key,
                doc: doc.to_string(),
                shape,
                required,
                default,
                example: None,
            };
            Body::Fields(vec![
                field("points", "Pairs of time and value, with increasing times.", points, true, None),
                field(
                    "interpolation",
                    "How the value changes between the points; it is constant before the first and after the last.",
                    word::<Interpolation>().shape(defs),
                    false,
                    Some("\"linear\""),
                ),
            ])
        });
        Shape::Either(vec![value, pairs, named])
    }
}
