//! Contact of bodies with each other, with themselves and with colliders.
//!
//! It knows surfaces, points and who owns them, and nothing of models or forces: those stand above.
//!
//! - [`ContactRule`]: who may touch whom, and how
//! - [`ContactModel`]: the surface of everything that can touch
//! - `stage`: candidates, distances and forces of one step between surfaces
//! - `touches`: what touched colliders at the start of a step, for contact that is a force of its own
//! - `material_space`: the way out of other flesh, for penalty contact
//! - `barrier`: the potential that keeps surfaces apart, for barrier contact
//! - `friction`: Coulomb's law
//! - `restitution`: ratio of speeds after and before an impact
//! - [`Tangles`]: places that cross at rest, which contact leaves alone until they part
//! - `lagged`: friction and restitution during a step, from the contacts at its start

mod barrier;
mod friction;
mod lagged;
mod material_space;
mod patches;
mod points;
mod restitution;
mod rule;
mod stage;
mod surface;
mod tangles;
#[cfg(test)]
mod tests;
mod touches;

pub use friction::USUAL_CREEP;
pub use lagged::Response;
pub use points::ContactPoint;
pub use rule::{ContactMode, ContactRule, Party, RestContact};
pub use surface::{ContactModel, Group, Obstacle, PairRule, PlaneGroup};
pub use tangles::Tangles;
pub use touches::{Contacts, Touch};

pub(crate) use lagged::recall;
pub(crate) use patches::Moving;
pub(crate) use restitution::{Meeting, bounce_damping, travel};
pub(crate) use rule::{ORDINARY_DEPTH, allowed_depth};
pub(crate) use stage::{Bend, ContactStage, ContactTerm, StepStart};
pub(crate) use surface::{FleshSurface, Parts, RIGID_MODULUS, RigidSurface, facing_areas, usual_stiffness};
pub(crate) use tangles::TOUCHING;
