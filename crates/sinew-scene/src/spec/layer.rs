//! Layers: fascia on flesh, and flesh over other bodies.

use crate::{
    decode::codec::{length, name, quantity, text},
    value::Dimension,
};

table! {
    /// Fascia: a thin sheet on the surface that resists being stretched, along each principal direction by itself, and nothing else.
    pub struct Sheath as "sheath" {
        /// Name of its probes `BODY.sheath.NAME.tension` \[N/m\] and `.stretch.max`.
        name: String = name("letters, digits, `_` and `-`"), default("sheath"), example("epimysium");
        /// The faces: those of the boundary whose nodes all lie in it.
        region: String = text("name of a region"), default("surface"), example("belly");
        /// Shear modulus \[Pa\]; about that of tendon when left out.
        shear: f64 = quantity(Dimension::PRESSURE).positive(), default("280 kPa"), example("1 MPa");
        /// Thickness \[m\].
        thickness: f64 = length().positive(), default("1 mm"), example("0.5 mm");
    }
}

table! {
    /// A body that this one lies over, as skin and fat lie over a muscle. Its cells end on the surface of the other: what is inside is left out, and nodes near the surface move onto it and follow it exactly,
    /// unless they are pinned. Forces flow both ways.
    pub struct Layer as "over" {
        /// The body below; it comes before this one in the scene.
        body: String = text("name of a body"), required, example("biceps");
        /// How near its surface nodes move onto it \[m\]: about half the size of a cell.
        within: f64 = length().at_least(0.0), required, example("2 mm");
    }
}
