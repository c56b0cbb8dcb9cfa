//! Muscle and tendon of one dimension between points of flesh [Chen92].
//!
//! A [`Strand`] is a muscle of many force generators, each of which pulls two points of flesh together (CHE-49). A
//! [`TendonStrand`] is a group of strings from points of flesh to the world, a rigid body or other flesh (CHE-51).
//! Points are weighted sums of points of the model, so both act on any mesh, and neither stores anything between steps.

mod generator;
mod line;
mod tendon;

pub use generator::{Generator, Strand, StrandParams, StrandScaling, StrandSummary};
pub use line::Line;
pub use tendon::{Slack, Tendon, TendonParams, TendonStrand};
