//! Axis-aligned bounding boxes.

use sinew_math::Vec3;

/// The box of all points p with `min` ≤ p ≤ `max` in each component.
///
/// An empty box has `min` = +∞ and `max` = −∞, so including a point or another box needs no special case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lower corner \[m\].
    pub min: Vec3,
    /// Upper corner \[m\].
    pub max: Vec3,
}

impl Aabb {
    /// The box that contains nothing.
    pub const EMPTY: Self = Self {
        min: Vec3::new(f64::INFINITY, f64::INFINITY, f64::INFINITY),
        max: Vec3::new(f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    /// The smallest box around the points; [`Aabb::EMPTY`] for none.
    pub fn from_points<'a>(points: impl IntoIterator<Item = &'a Vec3>) -> Self {
        let mut bounds = Self::EMPTY;
        for point in points {
            bounds.include(*point);
        }
        bounds
    }

    /// Grows the box until it contains `point`.
    #[inline]
    pub fn include(&mut self, point: Vec3) {
        self.min = self.min.min(point);
        self.max = self.max.max(point);
    }

    /// The smallest box around both.
    #[inline]
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The box with every face moved outward by `margin` \[m\].
    #[must_use]
    pub fn grown(&self, margin: f64) -> Self {
        Self { min: self.min - Vec3::splat(margin), max: self.max + Vec3::splat(margin) }
    }

    /// Whether the box contains no point.
    pub fn is_empty(&self) -> bool {
        !(self.min.x <= self.max.x && self.min.y <= self.max.y && self.min.z <= self.max.z)
    }

    /// Whether the point is inside or on the border.
    #[inline]
    pub fn contains(&self, p: Vec3) -> bool {
        p.x >= self.min.x
            && p.x <= self.max.x
            && p.y >= self.min.y
            && p.y <= self.max.y
            && p.z >= self.min.z
            && p.z <= self.max.z
    }

    /// Whether the boxes share a point; touching counts.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min.x <= other.max.x
            && other.min.x <= self.max.x
            && self.min.y <= other.max.y
            && other.min.y <= self.max.y
            && self.min.z <= other.max.z
            && other.min.z <= self.max.z
    }

    /// Edge lengths \[m\].
    pub fn size(&self) -> Vec3 {
        self.max - self.min
    }

    /// Center of the box.
    #[inline]
    pub fn center(&self) -> Vec3 {
        self.min * 0.5 + self.max * 0.5
    }

    /// Length of the space diagonal \[m\].
    pub fn diagonal(&self) -> f64 {
        self.size().norm()
    }

    /// Volume \[m³\].
    pub fn volume(&self) -> f64 {
        let s = self.size();
        s.x * s.y * s.z
    }

    /// Squared distance \[m²\] from a point to the box; zero inside.
    #[inline]
    pub fn distance_squared(&self, p: Vec3) -> f64 {
        let outside = (self.min - p).max(p - self.max).max(Vec3::zero());
        outside.norm_squared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_of_points_contains_them_and_knows_its_size() {
        let points = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 5.0, 2.0)];
        let bounds = Aabb::from_points(&points);
        assert!(points.iter().all(|p| bounds.contains(*p)));
        assert_eq!(bounds.size(), Vec3::new(2.0, 3.0, 1.0));
        assert_eq!(bounds.volume(), 6.0);
        assert_eq!(bounds.center(), Vec3::new(0.0, 3.5, 2.5));
    }

    #[test]
    fn empty_box_contains_nothing_and_vanishes_in_a_union() {
        let unit = Aabb { min: Vec3::zero(), max: Vec3::splat(1.0) };
        assert!(Aabb::EMPTY.is_empty());
        assert!(!Aabb::EMPTY.overlaps(&unit));
        assert_eq!(Aabb::EMPTY.union(&unit), unit);
    }

    #[test]
    fn distance_to_a_box_is_zero_inside_and_euclidean_outside() {
        let unit = Aabb { min: Vec3::zero(), max: Vec3::splat(1.0) };
        assert_eq!(unit.distance_squared(Vec3::splat(0.5)), 0.0);
        assert_eq!(unit.distance_squared(Vec3::new(4.0, 5.0, 0.5)), 25.0);
    }
}
