//! Affine maps.

use sinew_math::{Mat3, Vec3};

/// x ↦ linear x + translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// Rotation, scale and shear.
    pub linear: Mat3,
    /// Image of the origin.
    pub translation: Vec3,
}

impl Affine {
    /// The identity.
    pub fn identity() -> Self {
        Self { linear: Mat3::identity(), translation: Vec3::zero() }
    }

    /// Maps a point.
    pub fn apply(&self, x: Vec3) -> Vec3 {
        self.linear * x + self.translation
    }

    /// Composition: `first`, then this map.
    pub fn after(&self, first: &Self) -> Self {
        Self { linear: self.linear * first.linear, translation: self.apply(first.translation) }
    }

    /// Inverse; `None` if the map is singular.
    pub fn inverse(&self) -> Option<Self> {
        let determinant = self.linear.determinant();
        let linear = self.linear.cofactor().transpose() * (1.0 / determinant);
        linear.is_finite().then(|| Self { linear, translation: -(linear * self.translation) })
    }

    /// Whether all entries are finite.
    pub fn is_finite(&self) -> bool {
        self.linear.is_finite() && self.translation.to_array().iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes_and_flat_maps_have_none() {
        let linear = Mat3::new([[1.0, 2.0, 0.5], [0.0, -1.5, 0.3], [0.2, 0.1, 3.0]]);
        let map = Affine { linear, translation: Vec3::new(1.0, -2.0, 0.5) };
        let there_and_back = map.inverse().unwrap().after(&map);
        assert!((there_and_back.linear - Mat3::identity()).norm() < 1e-14 && there_and_back.translation.norm() < 1e-14);
        let flat = Affine { linear: Mat3::diagonal(Vec3::new(1.0, 0.0, 1.0)), ..map };
        assert_eq!(flat.inverse(), None);
    }
}
