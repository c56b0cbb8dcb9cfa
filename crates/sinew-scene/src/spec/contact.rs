//! Which bodies touch each other, and how.

use crate::{
    decode::{
        codec::{flag, length, number, quantity, text, word},
        compound::{fixed, list},
        table::table,
    },
    value::Dimension,
};

words! {
    /// How two bodies are kept apart.
    pub enum ContactMode {
        /// Points inside the other body are pushed out by springs: undoes tangles, lets surfaces sink in a little.
        "penalty" => Penalty,
        /// Surfaces repel each other before they touch, and no step takes them through each other.
        "barrier" => Barrier,
        /// They pass through each other.
        "none" => None,
    }
}

table! {
    /// Another word on the contact of two of them.
    pub struct ContactPair as "contact pair" {
        /// Two bodies, rigids or colliders; the same body twice is its contact with itself.
        between: [String; 2] = fixed(text("name of a body, rigid or collider")), required, example(["left", "right"]);
        /// How they are kept apart.
        mode: Option<ContactMode> = word(), optional, example("none");
        /// Coulomb coefficient of friction.
        friction: Option<f64> = number().at_least(0.0), optional, example(0.5);
        /// Coefficient of restitution, 0 to 1.
        restitution: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.3);
        /// Penalty: pressure per depth \[Pa/m\].
        stiffness: Option<f64> = quantity(Dimension::PRESSURE_PER_LENGTH).positive(), optional, example("10 MPa/m");
        /// Penalty: stiffness across the normal over that along it, at most 1.
        tangential: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.3);
        /// Barrier: distance at which they begin to repel each other \[m\].
        gap: Option<f64> = length().positive(), optional, example("0.5 mm");
    }
}

table! {
    /// Contact of bodies with each other and with themselves; without this table they pass through each other. Bodies that are bound to one another do
    /// not touch. With `mode = "barrier"` rigids and colliders are kept away by barriers as well.
    pub struct Contact as "contact" {
        /// How bodies are kept apart.
        mode: ContactMode = word(), default("penalty");
        /// Whether bodies touch themselves too.
        with_itself as "self": bool = flag(), default(true);
        /// Coulomb coefficient of friction.
        friction: f64 = number().at_least(0.0), default(0), example(0.5);
        /// Coefficient of restitution, 0 to 1: the share of its speed that a stiff body keeps when it bounces. At 1 contact takes no energy; what waves in
        /// flesh and long steps take comes on top. Without effect in quasistatics.
        restitution: f64 = number().at_least(0.0).at_most(1.0), default(1), example(0.3);
        /// How far friction gives way before it slides, over the length of a step, here and on colliders \[m/s\]. What it holds stays.
        creep: f64 = quantity(Dimension::VELOCITY).positive(), default("1 mm/s");
        /// Penalty: pressure per depth that pushes points out \[Pa/m\]; chosen from the stiffness and size of the cells when left out.
        stiffness: Option<f64> = quantity(Dimension::PRESSURE_PER_LENGTH).positive(), optional, example("10 MPa/m");
        /// Penalty: stiffness across the normal over that along it, at most 1. Keeps skin from sliding on skin.
        tangential: f64 = number().at_least(0.0).at_most(1.0), default(0), example(0.3);
        /// Barrier: distance at which surfaces begin to repel each other \[m\]; a tenth of the mean edge of the finer surface when left out.
        gap: Option<f64> = length().positive(), optional, example("0.5 mm");
        /// Whether every frame is looked at by an independent method, which takes time: `check.crossings` counts the pairs of triangles that cross,
        /// `check.penetration` \[m\] is how deep a surface is inside of another or of itself.
        check: bool = flag(), default(false);
        /// Another word on some of them.
        pair: Vec<ContactPair> = list(table()), default([]);
    }
}
