//! The skeleton of a character, which moves a body.

use std::collections::BTreeMap;

use super::art::{Jiggle, Paint, Preset};
use crate::{
    decode::{
        codec::{flag, length, name, number, quantity, text, word},
        compound::{fixed, list, map, one_or_many, vector},
        table::table,
    },
    value::Dimension,
};

words! {
    /// How bones hold flesh.
    pub enum Hold {
        /// The nodes of the cells around the axis move with the bone exactly.
        "hard" => Hard,
        /// Springs along the axis pull at the flesh, which yields: softer creases and bulges.
        "soft" => Soft,
        /// The bone holds nothing: flesh slides over it without friction, and neither flesh nor skin gets inside.
        "slide" => Slide,
        /// Hard where there are two cells or more from the axis of the bone to the skin, else soft: held nodes would
        /// leave thinner flesh no freedom.
        "auto" => Auto,
    }
}

words! {
    /// What stays where a motion has it, although limbs have other lengths.
    pub enum Keep {
        /// Feet, by bending knees and hips.
        "feet" => Feet,
        /// Hands, by bending elbows and shoulders.
        "hands" => Hands,
    }
}

words! {
    /// The pose of a motion file that corresponds to the rest pose of the character.
    pub enum MotionRest {
        /// The pose in which its skin is bound; without a skin that of its joints without animation.
        "file" => File,
        /// The first frame of the motion.
        "first-frame" => FirstFrame,
    }
}

words! {
    /// What a part of a character is.
    pub enum PartRole {
        /// Flesh: simulated.
        "flesh" => Flesh,
        /// Rides on the flesh under it: follows its joints, and the surface of the flesh where that differs from blend
        /// skinning.
        "on_flesh" => OnFlesh,
        /// Rides on its bones: follows its joints.
        "on_bone" => OnBone,
    }
}

table! {
    /// What a part of a character is, where the choice of `repair = "auto"` is not what is wanted.
    pub struct RigPart as "part" {
        /// A surface or node of the file with all of its parts, or one of its loose parts, as the report and `sinew check`
        /// name them.
        name: String = text("name of a part"), required, example("body:2");
        /// What it is.
        role: PartRole = word(), required, example("on_bone");
    }
}

table! {
    /// A bone that moves with a joint: a capsule, or a closed surface.
    pub struct Bone as "bone" {
        /// The name in values such as `BODY.cover.NAME.min`. Default: the name of the joint.
        name: Option<String> = name("letters, digits, `_` and `-`"), optional, example("ulna");
        /// The joint that moves the bone.
        joint: String = text("name of a joint"), required, example("forearm");
        /// A capsule: ends of its axis at rest, in file coordinates \[m\].
        ends: Option<[[f64; 3]; 2]> = fixed(vector(length())), optional, example([[0, 0, 0], [0, "20 cm", 0]]);
        /// The radius of the capsule \[m\].
        radius: Option<f64> = length().positive(), optional, example("8 mm");
        /// A closed surface instead of a capsule, from a file, at rest and in coordinates of the character's file
        /// \[m\].
        mesh: Option<String> = text("path of a file"), optional, example("ulna.obj");
        /// A closed surface instead of a capsule: the name of a surface or node in the character's file.
        surface: Option<String> = text("name of a surface"), optional, example("ulna");
        /// How the bone holds flesh. Default: `hold` of the rig.
        hold: Option<Hold> = word(), optional, example("slide");
        /// With `hold = "soft"`: stiffness of a spring divided by that of a cell. Default: `attachment_stiffness` of
        /// the rig.
        attachment_stiffness: Option<f64> = number().positive(), optional, example(30);
        /// With `hold = "slide"`: thickness of the flesh that stays between bone and skin, where there is that much at
        /// rest \[m\].
        cover: f64 = length().at_least(0.0), default(0), example("3 mm");
    }
}

table! {
    /// Attachment stiffness of soft bones, painted on the skin: a factor on the stiffness of each spring, taken at the
    /// nearest point of the skin.
    pub struct AttachmentStiffnessMap as "attachment stiffness map" {
        /// A vertex attribute of the skin: the red of `COLOR_0`, or a scalar attribute such as `_ATTACHMENT`. Either
        /// this or `texture`.
        attribute: Option<String> = text("name of an attribute"), optional, example("_ATTACHMENT");
        /// An image (.png) on the skin with TEXCOORD_0; its brightness counts, from 0 to 1. Either this or `attribute`.
        texture: Option<String> = text("path of a file"), optional, example("paint.png");
        /// The painted values that map to the first and the second factor; values beyond are clamped.
        range: [f64; 2] = fixed(number()), default([0, 1]);
        /// The factor at both ends of the range.
        factor: [f64; 2] = fixed(number().positive()), default([0.01, 1]), example([0.1, 10]);
    }
}

table! {
    /// The skeleton in the glTF file of a body's surface. It moves the bones, and the bones move the flesh. The bind
    /// pose is the rest pose of the body.
    pub struct Rig as "rig" {
        /// A motion from elsewhere instead of an animation of the character: a file (.bvh, .glb, .gltf, .vrm), poses as
        /// text (.toml), or one of `walk`, `wave`, `squat`, `fist` and `range-of-motion`. Joints are matched by their
        /// names.
        motion: Option<String> = text("a motion: a file, or walk, wave, squat, fist, range-of-motion"), optional, example("walk.bvh");
        /// Joints of the motion with those of the character that follow them; they go before all names.
        motion_map: BTreeMap<String, String> = map(text("name of a joint")), default({}), example({ LeftArm = "upper_arm.L" });
        /// Whether the character performs the motion on the spot.
        in_place: bool = flag(), default(false), example(true);
        /// What stays where the motion has it, scaled, although limbs have other lengths.
        keep: Vec<Keep> = one_or_many(word()), default([]), example(["feet"]);
        /// The pose of the motion that corresponds to the rest pose of the character.
        motion_rest: MotionRest = word(), default("file"), example("first-frame");
        /// Name of the animation, in the file of the motion if there is one. Default: the first one.
        animation: Option<String> = text("name of an animation"), optional, example("fist");
        /// Whether the character ignores animations and stays in the pose of its file while other things move around
        /// it.
        still: bool = flag(), default(false), example(true);
        /// Whether an inversion barrier keeps the corners of cells from inverting, so that creases have no inverted
        /// quadrature points. Nonlinear multigrid (`fas`) does not use it. With it, flesh that bones press flat loses
        /// more volume.
        inversion_barrier: bool = flag(), default(true), example(false);
        /// Time in the animation at which it starts, after the preroll \[s\].
        start: f64 = quantity(Dimension::TIME), default("0 s"), example("0.5 s");
        /// Time from the rest pose to the start of the animation \[s\].
        preroll: f64 = quantity(Dimension::TIME).at_least(0.0), default("0.5 s");
        /// Names of the surfaces or nodes that are flesh. Default: what `repair` of the mesh finds; with `"auto"` all that
        /// encloses a volume and is large or deforms, otherwise all closed skinned surfaces except small ones.
        surfaces: Vec<String> = list(text("name of a surface")), default([]), example(["body"]);
        /// Loose parts that are something else than `repair = "auto"` of the mesh finds.
        parts: Vec<RigPart> = list(table()), default([]), example([{ name = "shirt", role = "on_bone" }]);
        /// The bones. If none of them holds flesh, the bones that do are guessed from joints and skin weights.
        bones: Vec<Bone> = list(table()), default([]), example([{ joint = "forearm", ends = [[0, 0, 0], [0, "20 cm", 0]], radius = "8 mm" }]);
        /// How bones without `hold` of their own hold flesh.
        hold: Hold = word(), default("hard");
        /// Soft bones: stiffness of a spring divided by that of a cell, μ times its edge.
        attachment_stiffness: f64 = number().positive(), default(10), example(100);
        /// Soft bones: a factor on `attachment_stiffness`, painted on the skin.
        attachment_stiffness_map: Option<AttachmentStiffnessMap> = table(), optional, example({ attribute = "_ATTACHMENT", factor = [0.1, 1] });
        /// A kind of flesh to start from.
        preset: Option<Preset> = word(), optional, example("stocky");
        /// Layers of paint: stiffness, fat, sliding, and how much the skin shows of jiggle and of the flesh's answer.
        paint: Vec<Paint> = list(table()), default([]), example([{ joint = "thigh", fat = 0.6 }, { attribute = "COLOR_0", channel = "g", answer = 0.3 }]);
        /// How flesh jiggles, with a `quasistatic` solver. Default: as the `preset` says; without one it does not.
        jiggle: Option<Jiggle> = table(), optional, example({ frequency = "4 Hz", overshoot = "20 %" });
        /// Lets bones give way: share of their stiffness that soft bones keep; and bones with `hold = "auto"` are soft if
        /// the motion brings them nearer to others than 0.6 of what the flesh around both needs. Default: they do not
        /// give way, and a note tells which bones come that near.
        give_way: Option<f64> = number().at_least(0.001).at_most(1.0), optional, example(0.1);
    }
}
