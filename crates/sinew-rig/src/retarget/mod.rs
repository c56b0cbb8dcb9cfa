//! A motion of one skeleton on another.
//!
//! Joints are matched by what they are in a human ([`crate::humanoid`]), by equal names, or by a map that is given.
//! With $`R_s^0`$, $`R_s(t)`$ the world rotations of a source joint at rest and at a time, and $`G`$ the rotation
//! between the two bodies at rest (up and forward of both), the matched joint of the target turns by
//! ```math
//! Q(t) = G\, R_s(t)\, (R_s^0)^{-1} G^{-1} A,
//! ```
//! in the world, from its own rest. $`A`$ turns the target's rest pose into the source's: limbs and fingers get the
//! directions that they have there, so that a T-pose and an A-pose meet, while trunk, collarbones, head and feet, whose
//! directions are a matter of modelling, keep theirs. Hence limbs of both always point the same way, whatever the axes
//! of their joints. Hips move as those of the source, times the ratio of the lengths of the legs. Twist joints share out
//! the roll of limbs. Joints without partner keep their pose relative to what carries them: their parent, or where joints
//! of a human are siblings the one that they hang on in a body.
//!
//! - `skeleton`: a rig at rest, its body frame
//! - `pairs`: which joint follows which
//! - `align`: the rotations $`A`$ and $`G`$
//! - `transfer`: frame by frame
//! - `twists`: joints that share out the roll of a limb
//! - `limbs`: hands and feet kept where the source has them, by two-bone inverse kinematics
//! - `report`: what matched, and how far hands and feet drift

mod align;
mod limbs;
mod pairs;
mod report;
mod skeleton;
#[cfg(test)]
mod tests;
mod transfer;
mod twists;

pub use report::{Drift, JointMatch, MatchKind, RetargetReport};
pub use transfer::retarget;

/// How to move a motion onto another skeleton.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetargetParams {
    /// Joints of the source with those of the target that follow them; they go before all names.
    pub map: Vec<(String, String)>,
    /// Whether the hips stay above their place.
    pub in_place: bool,
    /// Whether feet are brought to where the source has them.
    pub keep_feet: bool,
    /// Whether hands are brought to where the source has them.
    pub keep_hands: bool,
    /// The rest pose of the source.
    pub source_rest: SourceRest,
}

/// The pose of the source that corresponds to the rest pose of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceRest {
    /// That in which its skin is bound, or else that of its file.
    #[default]
    File,
    /// The first frame of the motion.
    FirstFrame,
}

/// Why a motion does not move a skeleton: all reasons.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .problems.join("; "))]
pub struct RetargetError {
    /// The reasons, with hints after `; hint: `.
    pub problems: Vec<String>,
}
