//! The skeleton of a character, which moves a body.

use crate::{
    decode::{
        codec::{flag, length, name, number, quantity, text, word},
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
        /// They hold nothing: flesh slides over them without friction, and neither flesh nor skin gets inside.
        "slide" => Slide,
    }
}

table! {
    /// A bone that moves with a joint: a capsule, or a closed surface.
    pub struct Bone as "bone" {
        /// Its name in values such as `BODY.cover.NAME.min`; that of its joint when left out.
        name: Option<String> = name("letters, digits, `_` and `-`"), optional, example("ulna");
        /// The joint.
        joint: String = text("name of a joint"), required, example("forearm");
        /// A capsule: ends of its axis at rest, in coordinates of the file \[m\].
        ends: Option<[[f64; 3]; 2]> = fixed(vector(length())), optional, example([[0, 0, 0], [0, "20 cm", 0]]);
        /// The radius of the capsule \[m\].
        radius: Option<f64> = length().positive(), optional, example("8 mm");
        /// A closed surface instead of a capsule, from a file, at rest and in coordinates of the character's file \[m\].
        mesh: Option<String> = text("path of a file"), optional, example("ulna.obj");
        /// A closed surface instead of a capsule: name of a surface or node of the character's file.
        surface: Option<String> = text("name of a surface"), optional, example("ulna");
        /// How it holds flesh; as `hold` of the rig when left out.
        hold: Option<Hold> = word(), optional, example("slide");
        /// With `hold = "soft"`: stiffness of a spring over that of a cell; as `attachment_stiffness` of the rig when left out.
        attachment_stiffness: Option<f64> = number().positive(), optional, example(30);
        /// With `hold = "slide"`: thickness of the flesh that stays between it and the skin, where there is so much at rest \[m\].
        cover: f64 = length().at_least(0.0), default(0), example("3 mm");
    }
}

table! {
    /// How firmly soft bones hold flesh, painted on the skin: a factor on the stiffness of each spring by the nearest place of the skin.
    pub struct AttachmentStiffnessMap as "attachment_stiffness map" {
        /// An attribute of the vertices of the skin: `COLOR_0`, whose red counts, or a number of their own such as `_ATTACHMENT`. Either this or `texture`.
        attribute: Option<String> = text("name of an attribute"), optional, example("_ATTACHMENT");
        /// A picture (.png) on the skin by TEXCOORD_0: its brightness, from 0 to 1. Either this or `attribute`.
        texture: Option<String> = text("path of a file"), optional, example("paint.png");
        /// The values that stand for the first and the second factor; what is beyond is taken to the nearer one.
        range: [f64; 2] = fixed(number()), default([0, 1]);
        /// The factor at both ends of the range.
        factor: [f64; 2] = fixed(number().positive()), default([0.01, 1]), example([0.1, 10]);
    }
}

table! {
    /// The skeleton in the glTF file of a body's surface. It moves the bones, and these the flesh; the body is at rest in the pose in which the surface was bound.
    pub struct Rig as "rig" {
        /// Name of the animation; the first one when left out.
        animation: Option<String> = text("name of an animation"), optional, example("fist");
        /// Whether it follows no animation and stands as its file has it: what moves is around it.
        still: bool = flag(), default(false), example(true);
        /// Whether cells resist before they turn inside out at their corners, so that creases have no inverted Gauss points; nonlinear cycles (`fas`) do without. Flesh that bones press flat loses more volume with it.
        inversion_barrier: bool = flag(), default(true), example(false);
        /// Time of the animation where it begins \[s\].
        start: f64 = quantity(Dimension::TIME), default("0 s"), example("0.5 s");
        /// Time from rest to where the animation begins \[s\].
        preroll: f64 = quantity(Dimension::TIME).at_least(0.0), default("0.5 s");
        /// Names of the surfaces or nodes that are flesh; left out, all closed skinned surfaces but small ones. What else is in the file follows by skinning.
        surfaces: Vec<String> = list(text("name of a surface")), default([]), example(["body"]);
        /// The bones. When none of them holds flesh, or they are left out, those that do are guessed from joints and weights.
        bones: Vec<Bone> = list(table()), default([]), example([{ joint = "forearm", ends = [[0, 0, 0], [0, "20 cm", 0]], radius = "8 mm" }]);
        /// How bones hold flesh that do not say it themselves.
        hold: Hold = word(), default("hard");
        /// Soft bones: stiffness of a spring over that of a cell, μ times its edge.
        attachment_stiffness: f64 = number().positive(), default(10), example(100);
        /// Soft bones: a factor on `attachment_stiffness`, painted on the skin.
        attachment_stiffness_map: Option<AttachmentStiffnessMap> = table(), optional, example({ attribute = "_ATTACHMENT", factor = [0.1, 1] });
    }
}
