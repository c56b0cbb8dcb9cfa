//! The skeleton of a character, which moves a body.

use crate::{
    decode::{
        codec::{length, number, quantity, text, word},
        compound::{fixed, list, vector},
        table::table,
    },
    value::Dimension,
};

words! {
    /// How bones hold flesh.
    pub enum Hold {
        /// The nodes of the cells around their axis move with them exactly.
        "hard" => Hard,
        /// Springs along their axis pull at the flesh, which gives way: softer creases and bulges.
        "soft" => Soft,
    }
}

table! {
    /// A bone: a capsule that moves with a joint.
    pub struct Bone as "bone" {
        /// The joint.
        joint: String = text("name of a joint"), required, example("forearm");
        /// Ends of its axis at rest, in coordinates of the file [m].
        ends: [[f64; 3]; 2] = fixed(vector(length())), required, example([[0, 0, 0], [0, "20 cm", 0]]);
        /// Its radius [m].
        radius: f64 = length().positive(), required, example("8 mm");
        /// How it holds flesh; as `hold` of the rig when left out.
        hold: Option<Hold> = word(), optional, example("soft");
    }
}

table! {
    /// The skeleton in the glTF file of a body's surface. It moves the bones, and these the flesh; the body is at rest in the pose in which the surface was bound.
    pub struct Rig as "rig" {
        /// Name of the animation; the first one when left out.
        animation: Option<String> = text("name of an animation"), optional, example("fist");
        /// Time of the animation where it begins [s].
        start: f64 = quantity(Dimension::TIME), default("0 s"), example("0.5 s");
        /// Time from rest to where the animation begins [s].
        preroll: f64 = quantity(Dimension::TIME).at_least(0.0), default("0.5 s");
        /// Names of the surfaces or nodes that are flesh; left out, all closed skinned surfaces but small ones. What else is in the file follows by skinning.
        surfaces: Vec<String> = list(text("name of a surface")), default([]), example(["body"]);
        /// The bones; guessed from joints and weights when left out.
        bones: Vec<Bone> = list(table()), default([]), example([{ joint = "forearm", ends = [[0, 0, 0], [0, "20 cm", 0]], radius = "8 mm" }]);
        /// How bones hold flesh.
        hold: Hold = word(), default("hard");
        /// Soft bones: stiffness of a spring over that of a cell, μ times its edge.
        softness: f64 = number().positive(), default(10), example(100);
    }
}
