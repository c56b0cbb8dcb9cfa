//! Time stepping: Newmark's parameters, substeps of a frame, and the iteration limits of live steps.

use crate::decode::{
    Codec, Context,
    codec::{number, whole},
    shape::{Definitions, Shape},
    tree::{Node, Value},
};

table! {
    /// Parameters of Newmark's method; stable for 2 beta ≥ gamma ≥ 1/2.
    pub struct Newmark as "newmark" {
        /// Weight of the new acceleration in the positions.
        beta: f64 = number().positive(), default(0.25);
        /// Weight of the new acceleration in the velocities; more than 1/2 damps fast vibrations but reduces the order
        /// of accuracy to one.
        gamma: f64 = number().positive(), default(0.5);
    }
}

table! {
    /// Iteration limits of a step. A step that reaches them is accepted as it is, so that no frame fails or takes long; the next
    /// goes on from there, so that a character comes to rest some frames after its bones.
    pub struct Live as "live" {
        /// Maximum number of Newton iterations of a step.
        newton: usize = whole(1, 100_000), default(2);
        /// Maximum number of iterations of each linear solve; a direct solver always completes.
        linear: usize = whole(1, 1_000_000), default(30);
    }
}

/// How frames are divided into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substeps {
    /// A fixed number of equal steps.
    Fixed(usize),
    /// As many as the error of each step requires.
    Adaptive,
}

/// A whole number or the word "adaptive".
pub(crate) struct SubstepsCodec;

/// Maximum number of steps of one frame; more are a mistake.
const COUNT: crate::decode::codec::Whole = whole(1, 100_000);

const WORD: &str = "adaptive";

impl Codec for SubstepsCodec {
    type Output = Substeps;

    fn decode(&self, node: &Node, cx: &mut Context) -> Substeps {
        match &node.value {
            Value::Text(text) if text == WORD => Substeps::Adaptive,
            Value::Integer(_) | Value::Float(_) => Substeps::Fixed(COUNT.decode(node, cx)),
            _ => {
                cx.wrong_kind(node, "a whole number or \"adaptive\"");
                self.fallback()
            }
        }
    }

    fn encode(&self, value: &Substeps) -> Node {
        match value {
            Substeps::Fixed(count) => COUNT.encode(count),
            Substeps::Adaptive => Node::new(Value::Text(WORD.into())),
        }
    }

    fn fallback(&self) -> Substeps {
        Substeps::Fixed(1)
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        Shape::Either(vec![
            COUNT.shape(defs),
            Shape::Words(vec![(WORD, "As many as the error of each step requires.")]),
        ])
    }
}
