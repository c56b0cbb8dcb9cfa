//! A study: one scene run for several values of a parameter.

use std::collections::BTreeMap;

use crate::{
    decode::{
        Codec, Context,
        codec::{any_quantity, number, text},
        compound::{list, map},
        shape::{Definitions, Shape},
        table::table,
        tree::{self, Node, Value},
    },
    overrides::Override,
};

/// Any TOML value, kept as text so that an override can set it.
struct Literal;

impl Codec for Literal {
    type Output = String;

    fn decode(&self, node: &Node, _: &mut Context) -> String {
        node.to_toml()
    }

    fn encode(&self, value: &String) -> Node {
        tree::parse_value(value, 0, &mut Vec::new()).unwrap_or_else(|| Node::new(Value::Text(value.clone())))
    }

    fn fallback(&self) -> String {
        String::new()
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Anything
    }
}

table! {
    /// Bounds on the order p of a least-squares fit |measure − exact| ≈ C xᵖ over the runs of a study, and on how much
    /// the measure changes.
    pub struct Order as "order" {
        /// Smallest order.
        min: Option<f64> = number(), optional, example(1.9);
        /// Largest order.
        max: Option<f64> = number(), optional, example(2.2);
        /// The exact value, in any unit; 0 for values that are errors themselves.
        exact: f64 = any_quantity(), default(0), example("12.5 mm");
        /// Largest change of |measure − exact| from one run to the next, as a fraction of the later value.
        change: Option<f64> = number().positive(), optional, example(0.02);
    }
}

table! {
    /// Runs the scene for several values of a parameter and fits orders of convergence. `[expect]` holds for each run.
    pub struct Study as "study" {
        /// The parameter, written as in `--set`: bodies are found by name.
        vary: Option<String> = text("path of a parameter"), optional, example("body.beam.mesh.cell");
        /// Its values, one per run.
        values: Vec<String> = list(Literal), default([]), example(["20 mm", "10 mm", "5 mm"]);
        /// Instead of `vary` and `values`: several parameters at once, one table per run.
        cases: Vec<BTreeMap<String, String>> = list(map(Literal)), default([]), example([{ "body.beam.mesh.cells" = [8, 2, 2] }, { "body.beam.mesh.cells" = [16, 4, 4] }]);
        /// The name of the value x in the fit: "h" is the mean edge length of the cells; any other recorded value is
        /// possible.
        x: String = text("name of a value"), default("h");
        /// Bounds on the fitted order, by the name of the measured value at the end of the run.
        order: BTreeMap<String, Order> = map(table()), default({}), example({ "beam.error.l2" = { min = 1.9 } });
    }
}

impl Study {
    /// The overrides of each run.
    pub fn runs(&self) -> Vec<Vec<Override>> {
        match &self.vary {
            Some(path) => self.values.iter().map(|value| vec![Override::new(path, value)]).collect(),
            None => self
                .cases
                .iter()
                .map(|case| case.iter().map(|(path, value)| Override::new(path, value)).collect())
                .collect(),
        }
    }
}
