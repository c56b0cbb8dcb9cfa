//! Attachments, fibers and fields of meshes \[Teran05, Sifakis07\].
//!
//! - `select`: cells, faces and nodes inside of a solid, of a closed surface or of labels; which tissue they are
//! - `attach`: origins and insertions: boundary near a bone, grown and cut back
//! - `outline`, `region`: attachments as drawn on bones, finer than the triangles of meshes
//! - `pad`: tendon that fills what is drawn
//! - `fibers`: directions by a potential between the attachments, and leaning toward an aponeurosis
//! - `lines`: fibers along lines of action
//! - `ends`: where a muscle ends that lies lengthwise on its bone, and leaning from place to place
//! - `template`: fibers of one muscle for another, by its axes or by a morph
//!
//! B-spline solids are in [`sinew_geometry::fibers`]. All results are sets and fields of meshes.

mod attach;
mod ends;
mod error;
mod fibers;
mod lines;
mod outline;
mod pad;
mod region;
mod select;
mod template;

pub use attach::{AttachRule, Attachment, Boundary, Growth, attach, attach_all, jaccard};
pub use ends::{Leaning, end_nodes, lean_by_place};
pub use error::AnnotateError;
pub use fibers::{FiberField, FiberOptions, fibers_between, lean_toward};
pub use lines::fibers_along;
pub use outline::Outline;
pub use pad::Pad;
pub use select::{Part, Tissue, boundary_faces_in, cells_in, nodes_in, tissue_of_cells, with_tissues};
pub use template::{FiberTemplate, MuscleAxes};
