//! Bodies grown, shrunk, opened and closed.

use super::csg::Operation;
use super::distance_field::DistanceField;
use super::options::{FieldError, FieldOptions};
use super::redistance::Trust;

impl DistanceField {
    /// Moves the surface outward by `distance` \[m\]; inward where negative. The result may be empty.
    pub fn offset(&mut self, distance: f64) {
        let options = FieldOptions { band: self.band, ..FieldOptions::default() };
        // Zeros must stay within the band, a voxel from its end.
        let reach = (self.band - 1.5) * self.grid.voxel;
        let steps = (distance.abs() / reach).ceil().min(1e4);
        for _ in 0..steps as usize {
            let shift = (distance / steps) as f32;
            *self = self.mapped(|_, value| value - shift).redistanced(&options, Trust::Values(0.0));
        }
    }

    /// Removes what no ball of this radius \[m\] fits into, and rounds edges; nothing is added.
    ///
    /// # Errors
    /// When the radius is negative or no number.
    pub fn open(&mut self, radius: f64) -> Result<(), FieldError> {
        self.reopened(-radius, radius, Operation::Intersection)
    }

    /// Fills what no ball of this radius \[m\] outside reaches: cracks, dents and narrow gaps; nothing is removed.
    ///
    /// # Errors
    /// When the radius is negative or no number.
    pub fn close(&mut self, radius: f64) -> Result<(), FieldError> {
        self.reopened(radius, radius, Operation::Union)
    }

    fn reopened(&mut self, first: f64, radius: f64, operation: Operation) -> Result<(), FieldError> {
        if !(radius >= 0.0 && radius < 1e3 * self.grid.voxel) {
            let range = "from 0 to 1000 voxels";
            return Err(FieldError::OutOfRange { what: "the radius", range, value: radius });
        }
        let mut other = self.clone();
        other.offset(first);
        other.offset(-first);
        // Errors of the two moves must not change the other side.
        self.combine(operation, &other)
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::{Mat3, Vec3};

    use super::*;
    use crate::Solid;
    use crate::primitives::{Capsule, Cuboid, Ellipsoid};

    const H: f64 = 1e-3;

    fn ball(radius: f64) -> Ellipsoid {
        Ellipsoid { center: Vec3::zero(), axes: Mat3::identity(), radii: Vec3::splat(radius) }
    }

    #[test]
    fn a_ball_grown_or_shrunk_is_a_ball() {
        for distance in [-6e-3, -1e-3, 2e-3, 9e-3] {
            let mut field = DistanceField::from_solid(&ball(0.012), H).unwrap();
            field.offset(distance);
            let expected = ball(0.012 + distance);
            let worst = field.voxels().filter(|(_, v)| v.abs() < 2.0 * H);
            let worst = worst.map(|(i, v)| (v - expected.distance(field.grid().position(i))).abs()).fold(0.0, f64::max);
            assert!(worst < 0.25 * H, "{distance}: {worst}");
        }
        let mut field = DistanceField::from_solid(&ball(0.004), H).unwrap();
        field.offset(-0.006);
        assert!(field.is_empty());
    }

    /// A ball with a thin rod loses the rod and keeps its volume; nothing is added.
    #[test]
    fn opening_removes_the_rod_and_closing_fills_the_slot() {
        let rod = Capsule { ends: [Vec3::zero(), Vec3::new(0.02, 0.0, 0.0)], radius: 0.002 };
        let mut field = DistanceField::from_solid(&ball(0.01), H).unwrap();
        let volume = field.volume();
        field.combine(Operation::Union, &rod).unwrap();
        let before = field.clone();
        field.open(0.003).unwrap();
        assert!(field.distance(Vec3::new(0.016, 0.0, 0.0)) > 0.0 && before.distance(Vec3::new(0.016, 0.0, 0.0)) < 0.0);
        assert!((field.volume() / volume - 1.0).abs() < 0.03, "{}", field.volume() / volume);
        assert!(field.voxels().all(|(i, v)| v > -1e-9 || before.value(i) < 1e-5));
        let slot = Cuboid { center: Vec3::zero(), axes: Mat3::identity(), half: Vec3::new(0.02, 0.02, 0.001) };
        let mut slit = DistanceField::from_solid(&ball(0.01), H).unwrap();
        slit.combine(Operation::Difference, &slot).unwrap();
        assert!(slit.distance(Vec3::zero()) > 0.0);
        slit.close(0.003).unwrap();
        assert!(slit.distance(Vec3::zero()) < 0.0);
        assert!(field.open(f64::NAN).is_err() && field.close(-1.0).is_err());
    }
}
