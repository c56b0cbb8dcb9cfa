//! Characters from animation programs: a tree of nodes, surfaces with weights, and keyframes.
//!
//! A [`Rig`] is plain data, in meters and seconds, as in glTF. [`Rig::pose`] gives the transforms of all nodes at a
//! time, [`Rig::blend`] the vertices of a surface after blend skinning (MCA-50). [`characters`] generates some from a
//! few parameters. Start with [`Rig`], [`Animation`] and [`Flesh`].
//!
//! ```
//! use sinew_rig::characters::{Character, CharacterParams, generate};
//!
//! let rig = generate(&CharacterParams { edge: 0.02, ..CharacterParams::of(Character::Arm) })?;
//! let pose = rig.pose(rig.animation(None)?, 0.5);
//! assert_eq!(pose.len(), rig.nodes.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod affine;
mod animation;
mod appearance;
mod blend;
mod bones;
pub mod characters;
mod choice;
#[cfg(test)]
mod choice_tests;
pub mod correctives;
mod fit;
mod flesh;
mod glue;
pub mod humanoid;
mod joints;
mod loose_parts;
mod mirrors;
mod motion;
pub mod motions;
mod performance;
mod posture;
mod repair;
pub mod retarget;
mod ride;
mod rig;
mod roles;
mod room;
mod soup;
#[cfg(test)]
mod tests;

pub use affine::Affine;
pub use animation::{Animation, Channel, Interpolation, Keys};
pub use appearance::{Appearance, GltfLists, Image, Material};
pub use blend::skin_matrices;
pub use bones::{Bone, guess_bones, modelled_bone};
pub use fit::Stray;
pub use flesh::{Flesh, FleshChoice, FleshError, FleshParams, Piece, Source};
pub use glue::Glue;
pub use joints::Joint;
pub use motion::Motion;
pub use performance::Performance;
pub use posture::Posture;
pub use ride::{Anchor, Ride};
pub use rig::{MorphTarget, Node, Part, Rig, RigError, Skin, Surface, Transform, Weights};
pub use roles::{Decision, Role};
pub use room::{Room, least_room};
