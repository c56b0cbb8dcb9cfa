//! Layers: flesh over other bodies.

use crate::decode::codec::{length, text};

table! {
    /// A body that this one lies over, as skin and fat lie over a muscle. Its cells end on the surface of the other: what is inside is left out, and nodes near the surface move onto it and follow it exactly,
    /// unless they are pinned. Forces flow both ways.
    pub struct Layer as "over" {
        /// The body below; it comes before this one in the scene.
        body: String = text("name of a body"), required, example("biceps");
        /// How near its surface nodes move onto it [m]: about half the size of a cell.
        within: f64 = length().at_least(0.0), required, example("2 mm");
    }
}
