//! From labeled voxels and surfaces to anatomy that can be simulated, without files, forces and scenes.
//!
//! - [`labels`]: which tissue each voxel belongs to, as an image has it
//! - [`solid`]: anything with an inside, by signed distance: what meshers take
//! - [`field`]: signed distances on a narrow band of voxels, from labels and surfaces; repair, smoothing and edits
//! - [`mesher`]: tetrahedra inside of a solid

pub mod field;
pub mod labels;
pub mod mesher;
pub mod solid;

pub use labels::Labels;
pub use solid::Solid;
