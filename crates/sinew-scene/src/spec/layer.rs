//! Bodies layered on other bodies.

use crate::decode::codec::{length, text};

table! {
    /// A body under this one, as a muscle is under skin and fat. This body ends on the surface of the other: cells
    /// inside the other are left out. Nodes near its surface move onto it and follow it exactly, unless they are
    /// pinned. Forces act both ways.
    pub struct Layer as "over" {
        /// The body below; it must come before this one in the scene.
        body: String = text("name of a body"), required, example("biceps");
        /// Distance within which nodes move onto the surface of the body below \[m\]: about half a cell.
        within: f64 = length().at_least(0.0), required, example("2 mm");
    }
}
