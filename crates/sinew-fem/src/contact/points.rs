//! Contact points for output: position, normal and force.

use sinew_math::Vec3;

use super::rule::Party;

/// One point of contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The body that is pushed, and the one that pushes.
    pub between: [Party; 2],
    /// Position \[m\].
    pub place: Vec3,
    /// Unit vector towards the first of the two.
    pub normal: Vec3,
    /// Force on the first, including friction \[N\].
    pub force: Vec3,
    /// Distance, negative where they penetrate \[m\].
    pub gap: f64,
    /// Rest area of the point \[m²\]; zero where another point already has this area.
    pub area: f64,
}
