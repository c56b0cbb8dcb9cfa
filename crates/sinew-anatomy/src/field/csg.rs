//! Union, intersection and difference of anything with an inside.
//!
//! With φ negative inside, union = min(a, b), intersection = max(a, b) and difference = max(a, −b) \[Teran05\]. Signs
//! are exact and |φ| is a lower bound of the distance; [`DistanceField::combine`](super::DistanceField::combine)
//! restores distances.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use crate::Solid;

/// How two bodies are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// In either.
    Union,
    /// In both.
    Intersection,
    /// In the first, not in the second.
    Difference,
}

/// Two bodies combined, computed when asked.
#[derive(Clone, Copy)]
pub struct Combined<'a> {
    /// The first body.
    pub first: &'a dyn Solid,
    /// The second.
    pub second: &'a dyn Solid,
    /// How.
    pub operation: Operation,
}

impl Solid for Combined<'_> {
    fn distance(&self, p: Vec3) -> f64 {
        let (a, b) = (self.first.distance(p), self.second.distance(p));
        match self.operation {
            Operation::Union => a.min(b),
            Operation::Intersection => a.max(b),
            Operation::Difference => a.max(-b),
        }
    }

    fn bounds(&self) -> Aabb {
        let (a, b) = (self.first.bounds(), self.second.bounds());
        match self.operation {
            Operation::Union => a.union(&b),
            Operation::Intersection => Aabb { min: a.min.max(b.min), max: a.max.min(b.max) },
            Operation::Difference => a,
        }
    }
}
