//! Layers: fascia on flesh, and bodies layered on other bodies.

use crate::{
    decode::codec::{length, name, quantity, text},
    value::Dimension,
};

table! {
    /// Fascia: a thin sheet on the surface that resists stretch along each principal direction, and nothing else.
    pub struct Sheath as "sheath" {
        /// Name of its probes `BODY.sheath.NAME.tension` \[N/m\] and `.stretch.max`.
        name: String = name("letters, digits, `_` and `-`"), default("sheath"), example("epimysium");
        /// The boundary faces whose nodes all lie in this region.
        region: String = text("name of a region"), default("surface"), example("belly");
        /// Shear modulus \[Pa\]; the default is about that of tendon.
        shear: f64 = quantity(Dimension::PRESSURE).positive(), default("280 kPa"), example("1 MPa");
        /// Thickness \[m\].
        thickness: f64 = length().positive(), default("1 mm"), example("0.5 mm");
    }
}

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
