//! Pose-space correctives: shapes that are added to a skinned surface at rest, with weights that follow from joint
//! angles, so that blend skinning looks like simulated flesh.
//!
//! Let $`A_v`$ be the blended matrix of vertex v in a pose and $`x_v`$ its place by simulation. What blend skinning
//! lacks, pulled back to rest, is
//! ```math
//! d_v = A_v^{-1} x_v - p_v \approx \sum_k w_k(q)\, T_{kv},
//! ```
//! with targets T and weights w of the pose q around the flesh of one joint each (\[Lewis00\]; \[Kry02\] for the targets
//! as principal components of one joint each). See [`Driver`] for the weights and [`fit`] for how both are found.

mod dense;
mod driver;
mod fit;
mod regions;

pub use driver::{Driver, Place, Weight, turns};
pub use fit::{Correctives, Observation, fit};
