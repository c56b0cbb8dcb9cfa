//! What strands and tendons are made of.

use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};

use super::AttachTarget;
use crate::force::strand::StrandScaling;

/// A place in the flesh of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FleshPlace {
    /// A node.
    Node {
        /// The body.
        body: usize,
        /// The node.
        node: u32,
    },
    /// A place between nodes, by where it is at rest.
    Place {
        /// The body.
        body: usize,
        /// The place at rest \[m\].
        place: Vec3,
    },
}

/// A muscle of force generators.
#[derive(Clone, Debug)]
pub struct StrandParams {
    /// The body whose name its channel and probes bear.
    pub body: usize,
    /// Name, unique among the muscles and strands of the body.
    pub name: String,
    /// Places of each column from end to end; consecutive ones are joined by a generator.
    pub columns: Vec<Vec<FleshPlace>>,
    /// Greatest isometric force F₀ₐ of the whole muscle \[N\].
    pub force: f64,
    /// Passive force F₀ₚ of the whole muscle where its curve is 1 \[N\].
    pub passive_force: f64,
    /// How these are shared by the generators.
    pub scaling: StrandScaling,
    /// Factor on the forces of each generator, column after column; empty for one everywhere.
    pub factors: Vec<f64>,
    /// Force over length, and over velocity where there is a curve for it.
    pub curves: FiberCurves,
    /// Greatest shortening speed \[rest lengths per second\].
    pub max_velocity: f64,
}

/// Below which length tendons are slack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slack {
    /// This part of the distance that each spans at rest.
    Factor(f64),
    /// This length \[m\].
    Length(f64),
}

/// A group of tendons.
#[derive(Clone, Debug)]
pub struct TendonParams {
    /// The body it belongs to.
    pub body: usize,
    /// Name, unique among the tendons of the body.
    pub name: String,
    /// Where each tendon begins, and where its anchor is at rest, in the world \[m\].
    pub ends: Vec<(FleshPlace, Vec3)>,
    /// What the anchors belong to.
    pub target: AttachTarget,
    /// Force F₀ₜ of all of them together where the curve is 1 \[N\].
    pub force: f64,
    /// Force over strain.
    pub curve: Curve,
    /// Where it begins.
    pub slack: Slack,
}
