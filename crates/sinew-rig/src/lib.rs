//! Characters as animation programs make them: a tree of nodes, surfaces with weights, and key frames.
//!
//! A [`Rig`] is plain data, in metres and seconds, as glTF has it. [`Rig::pose`] says where every node is at a time, [`Rig::blend`] where blend skinning
//! takes the vertices of a surface (MCA-50). [`characters`] makes some from a few numbers.

mod affine;
mod animation;
mod appearance;
mod blend;
mod bones;
pub mod characters;
mod fit;
mod flesh;
mod glue;
mod mend;
mod performance;
mod rig;
#[cfg(test)]
mod tests;

pub use affine::Affine;
pub use animation::{Animation, Channel, Interpolation, Keys};
pub use appearance::{Appearance, GltfLists, Image, Material};
pub use blend::skin_matrices;
pub use bones::{Bone, guess_bones, modelled_bone};
pub use fit::Stray;
pub use flesh::{Flesh, FleshError, FleshParams, Joint, Piece, Source};
pub use glue::Glue;
pub use performance::Performance;
pub use rig::{MorphTarget, Node, Part, Rig, RigError, Skin, Surface, Transform, Weights};
