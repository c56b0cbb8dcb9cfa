//! Contact of bodies with each other, with themselves and with colliders.
//!
//! - [`ContactRule`]: which bodies may touch, and how
//! - [`ContactModel`]: the surface of everything that can touch
//! - `stage`: candidates, distances and forces of one step
//! - `material_space`: exits from other flesh, for penalty contact
//! - `barrier`: the potential that keeps surfaces apart, for barrier contact
//! - `friction`: Coulomb's law
//! - `restitution`: ratio of speeds after and before an impact
//! - `lagged`: friction and restitution during a step, from the contacts at its start

mod barrier;
mod check;
mod friction;
mod lagged;
mod material_space;
mod pace;
mod patches;
mod points;
mod restitution;
mod rule;
mod stage;
mod surface;
#[cfg(test)]
mod tests;

pub use check::{CheckProbe, StartOverlap, SurfaceCheck, SurfacePlaces, find_overlaps};
pub use friction::USUAL_CREEP;
pub use lagged::{ContactMemory, Response};
pub use points::ContactPoint;
pub use rule::{ContactMode, ContactRule, Party};
pub use surface::{ContactModel, Group, Obstacle, PairRule, PlaneGroup};

pub(crate) use lagged::recall;
pub(crate) use pace::{increments_of_motion, parts_of_step};
pub(crate) use points::{ContactFinder, allow_start, most_touches};
pub(crate) use restitution::{Meeting, bounce_damping};
pub(crate) use rule::allowed_depth;
pub(crate) use stage::{ContactStage, ContactTerm};
pub(crate) use surface::{Parts, RigidSurface};
