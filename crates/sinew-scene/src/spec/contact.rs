//! Contact: which bodies touch each other, and how.

use crate::{
    decode::{
        codec::{flag, length, number, quantity, text, word},
        compound::{fixed, list},
        table::table,
    },
    value::Dimension,
};

words! {
    /// How contact keeps two bodies apart.
    pub enum ContactMode {
        /// Springs push out points that are inside the other body: resolves interpenetration, but lets surfaces
        /// penetrate a little.
        "penalty" => Penalty,
        /// Surfaces repel each other before they touch, and no step takes them through each other.
        "barrier" => Barrier,
        /// They pass through each other.
        "none" => None,
    }
}

words! {
    /// What becomes of bodies and rigids that touch or overlap at the start.
    pub enum ContactStart {
        /// `"part"` for characters that are filled with `repair = "auto"`, `"keep"` for everything else.
        "auto" => Auto,
        /// They stay where they are. Penalties push them apart, with a note; barriers refuse them.
        "keep" => Keep,
        /// Barriers leave places that cross or touch at rest alone until they have parted, and guard them from then on.
        /// Penalties push them apart.
        "part" => Part,
        /// They are lifted along `up`, the lowest first, until they are free; those that are pinned, bound or driven
        /// stay.
        "lift" => Lift,
    }
}

table! {
    /// Other contact settings for one pair.
    pub struct ContactPair as "contact pair" {
        /// Two bodies, rigids or colliders; the same body twice is its contact with itself.
        between: [String; 2] = fixed(text("name of a body, rigid or collider")), required, example(["left", "right"]);
        /// How contact keeps them apart.
        mode: Option<ContactMode> = word(), optional, example("none");
        /// Coulomb coefficient of friction.
        friction: Option<f64> = number().at_least(0.0), optional, example(0.5);
        /// Coefficient of restitution, 0 to 1.
        restitution: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.3);
        /// Penalty: pressure per depth \[Pa/m\].
        stiffness: Option<f64> = quantity(Dimension::PRESSURE_PER_LENGTH).positive(), optional, example("10 MPa/m");
        /// Penalty: tangential stiffness divided by normal stiffness, at most 1.
        tangential: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.3);
        /// Barrier: distance at which surfaces begin to repel each other \[m\].
        gap: Option<f64> = length().positive(), optional, example("0.5 mm");
    }
}

table! {
    /// Contact of bodies and rigids with each other, and of bodies with themselves; without this table they pass
    /// through each other, and touch colliders only. Bodies that are bound to one another do not collide.
    pub struct Contact as "contact" {
        /// How contact keeps bodies apart.
        mode: ContactMode = word(), default("penalty");
        /// What becomes of those that touch or overlap at the start.
        start: ContactStart = word(), default("auto"), example("lift");
        /// Whether bodies also collide with themselves.
        with_itself as "self": bool = flag(), default(true);
        /// Coulomb coefficient of friction.
        friction: f64 = number().at_least(0.0), default(0), example(0.5);
        /// Coefficient of restitution, 0 to 1: the fraction of its speed that a stiff body keeps when it bounces. At 1
        /// contact dissipates no energy; waves in the flesh and long steps still do. Has no effect in quasistatics.
        restitution: f64 = number().at_least(0.0).at_most(1.0), default(1), example(0.3);
        /// Regularization speed of friction, here and on colliders \[m/s\]: friction builds up over this speed times
        /// the length of a step before it slides. Sticking contacts do not drift.
        creep: f64 = quantity(Dimension::VELOCITY).positive(), default("1 mm/s");
        /// Penalty: pressure per depth that pushes points out \[Pa/m\]. Default: chosen from the stiffness and size of
        /// the cells.
        stiffness: Option<f64> = quantity(Dimension::PRESSURE_PER_LENGTH).positive(), optional, example("10 MPa/m");
        /// Penalty: tangential stiffness divided by normal stiffness, at most 1. Keeps skin from sliding on skin.
        tangential: f64 = number().at_least(0.0).at_most(1.0), default(0), example(0.3);
        /// Barrier: distance at which surfaces begin to repel each other \[m\]. Default: a tenth of the mean edge of
        /// the finer surface, at most a hundredth of the thickness of a rigid.
        gap: Option<f64> = length().positive(), optional, example("0.5 mm");
        /// Whether an independent method checks every frame, which takes time: `check.crossings` is the number of pairs
        /// of triangles that intersect though contact guards them, `check.rest_crossings` of those that cross since rest,
        /// `check.penetration` \[m\] is the depth to which a surface penetrates another or itself.
        check: bool = flag(), default(false);
        /// Other settings for some pairs.
        pair: Vec<ContactPair> = list(table()), default([]);
    }
}
