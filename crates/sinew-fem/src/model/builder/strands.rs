//! Parameters of strands and tendons.

use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};

use super::AttachTarget;
use crate::force::strand::StrandScaling;

/// A position in the flesh of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FleshPlace {
    /// A node.
    Node {
        /// The body.
        body: usize,
        /// The node.
        node: u32,
    },
    /// A position between nodes, given at rest.
    Place {
        /// The body.
        body: usize,
        /// The rest position \[m\].
        place: Vec3,
    },
}

/// A muscle of force generators.
#[derive(Clone, Debug)]
pub struct StrandParams {
    /// The body whose name its channel and probes use.
    pub body: usize,
    /// Name, unique among the muscles and strands of the body.
    pub name: String,
    /// Positions of each column from end to end; a generator joins consecutive ones.
    pub columns: Vec<Vec<FleshPlace>>,
    /// Maximum isometric force F₀ₐ of the whole muscle \[N\].
    pub force: f64,
    /// Passive force F₀ₚ of the whole muscle where its curve is 1 \[N\].
    pub passive_force: f64,
    /// How the generators share these forces.
    pub scaling: StrandScaling,
    /// Factor on the forces of each generator, column by column; empty for one everywhere.
    pub factors: Vec<f64>,
    /// Force–length curve, and force–velocity curve where there is one.
    pub curves: FiberCurves,
    /// Maximum shortening speed [rest lengths per second].
    pub max_velocity: f64,
}

/// Length below which tendons are slack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slack {
    /// This fraction of the distance that each tendon spans at rest.
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
    /// End of each tendon in the flesh, and rest position of its anchor in the world \[m\].
    pub ends: Vec<(FleshPlace, Vec3)>,
    /// Target of the anchors.
    pub target: AttachTarget,
    /// Force F₀ₜ of all of them together where the curve is 1 \[N\].
    pub force: f64,
    /// Force–strain curve.
    pub curve: Curve,
    /// Slack length.
    pub slack: Slack,
}
