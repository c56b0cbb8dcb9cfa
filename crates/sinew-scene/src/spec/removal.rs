//! Cells that are taken away during a run.

use super::Scene;
use crate::{
    decode::codec::{quantity, text},
    value::Dimension,
};

table! {
    /// Cells that are taken away during a run. What is left keeps its mass and momentum; what was held by them alone
    /// falls.
    pub struct Removal as "remove" {
        /// The cells: those whose center lies in a region of space, or whose nodes all belong to it.
        region: String = text("name of a region"), required, example("lower-half");
        /// When they go \[s\]: the first frame at or after this time is the first without them.
        at: f64 = quantity(Dimension::TIME).at_least(0.0), required, example("0.5 s");
    }
}

impl Removal {
    /// Where the scene file has a removal of a body: one may stand without a list.
    pub fn path(scene: &Scene, body: usize, index: usize) -> String {
        let alone = format!("body[{body}].remove");
        let listed = format!("{alone}[{index}]");
        if scene.source.node(&listed).is_some() { listed } else { alone }
    }
}
