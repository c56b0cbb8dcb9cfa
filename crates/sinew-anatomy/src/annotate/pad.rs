//! Tendon that flattens onto its footprint: a layer on a bone within an outline.

use std::sync::Arc;

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::outline::Outline;
use crate::Solid;

/// All points between a depth in a bone and a height above it that are within what is drawn on it.
///
/// With d the distance from the bone and l that from the outline on the point of the bone below, negative within,
/// `φ = max(d − height, −d − depth, l − margin)`: the distance at each side, a lower bound at the edges between.
#[derive(Clone)]
pub struct Pad {
    /// The bone.
    pub bone: Arc<dyn Solid + Send>,
    /// What is drawn on it.
    pub outline: Outline,
    /// Thickness above the bone \[m\].
    pub height: f64,
    /// Thickness within the bone \[m\].
    pub depth: f64,
    /// How far the layer reaches past the outline \[m\].
    pub margin: f64,
    /// Farther away than this, any bound of the distance will do \[m\]: about two voxels.
    pub near: f64,
}

impl Solid for Pad {
    fn distance(&self, p: Vec3) -> f64 {
        // Boxes and bones are cheap, outlines are not.
        let apart = self.bounds().distance_squared(p).sqrt();
        if apart > self.near {
            return apart;
        }
        let d = self.bone.distance(p);
        let layer = (d - self.height).max(-d - self.depth);
        if layer > self.near {
            return layer;
        }
        // In the middle of a bone no side of it is the nearest.
        let rim = self.outline.settled(&*self.bone, p).map(|(q, normal)| self.outline.level(q, normal) - self.margin);
        layer.max(rim.unwrap_or(self.near))
    }

    fn bounds(&self) -> Aabb {
        self.outline.bounds().grown(self.margin + self.height.max(self.depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Cuboid;
    use sinew_math::Mat3;

    /// On a plate with a square of 2 cm drawn on its upper face, 2 mm high and 0.5 mm deep with a margin of 1 mm: a box.
    #[test]
    fn a_pad_on_a_plate_is_a_box() {
        let half = Vec3::new(0.05, 0.05, 0.01);
        let plate = Arc::new(Cuboid { center: Vec3::zero(), axes: Mat3::identity(), half });
        let corner = |x: f64, y: f64| Vec3::new(x, y, 0.0105);
        let square = vec![corner(0.01, 0.01), corner(-0.01, 0.01), corner(-0.01, -0.01), corner(0.01, -0.01)];
        let outline = Outline::new(&*plate, &[square], 1e-3, 5e-3);
        let pad = Pad { bone: plate, outline, height: 2e-3, depth: 0.5e-3, margin: 1e-3, near: 5e-3 };
        let above = |x: f64, z: f64| pad.distance(Vec3::new(x, 0.0, 0.01 + z));
        for (x, z, expected) in
            [(0.0, 1e-3, -1e-3), (0.0, 3e-3, 1e-3), (0.011, 0.5e-3, 0.0), (0.0125, 1e-3, 1.5e-3), (0.0, -1e-3, 0.5e-3)]
        {
            // The bone is found to a hundredth of the step.
            assert!((above(x, z) - expected).abs() < 1e-5, "{x} {z}: {}", above(x, z));
        }
        // Neither the far face of the plate nor what is far away.
        assert!(above(0.0, -0.021) > 0.0 && above(0.03, 1e-3) > 0.0);
    }
}
