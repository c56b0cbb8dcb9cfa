//! What can be seen of contact: where, which way, how hard.

use sinew_math::Vec3;

use super::rule::Party;

/// One place of contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The one that is pushed, and the one that pushes.
    pub between: [Party; 2],
    /// Where [m].
    pub place: Vec3,
    /// Unit vector towards the first of the two.
    pub normal: Vec3,
    /// Force on the first, with friction [N].
    pub force: Vec3,
    /// Distance, below zero where they have sunk in [m].
    pub gap: f64,
    /// Rest area that the place stands for [m²]; zero where another place stands for it already.
    pub area: f64,
}
