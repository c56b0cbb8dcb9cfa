//! From labeled voxels and surfaces to anatomy that can be simulated, without files, forces and scenes.
//!
//! - [`labels`]: which tissue each voxel belongs to, as an image has it
//! - [`solid`]: anything with an inside, by signed distance: what meshers take
//! - [`field`]: signed distances on a narrow band of voxels, from labels and surfaces; repair, smoothing and edits
//! - [`mesher`]: tetrahedra inside of a solid
//! - [`cover`]: a coarse mesh around a fine one, with a copy for every part that is not connected
//! - [`annotate`]: attachments, fibers and fields of meshes
//! - [`morph`]: the anatomy of one person on the landmarks of another
//! - [`primitives`]: capsules, cones, ellipsoids, boxes and tubes, of which missing tendons are made
//! - [`phantom`]: anatomy by formulas, with the truth beside

pub mod annotate;
pub mod cover;
pub mod field;
pub mod labels;
pub mod mesher;
pub mod morph;
pub mod phantom;
pub mod primitives;
pub mod solid;

pub use labels::Labels;
pub use solid::Solid;
