//! Whether a skeleton fits its skin.

use sinew_math::Vec3;

use crate::affine::Affine;
use crate::flesh::Flesh;

/// Weight from which on a joint has a vertex for its own.
const OWN: f64 = 0.5;
/// Joints that move little skin may be this part of the size of the character away from it.
const NEAR: f64 = 0.1;

/// A joint far from the skin that it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stray {
    /// The joint, by number in [`Flesh::joints`].
    pub joint: usize,
    /// How far it is from there [m].
    pub distance: f64,
}

impl Flesh {
    /// The vertices that each joint has for its own.
    pub fn own_vertices(&self) -> Vec<Vec<u32>> {
        let mut own = vec![Vec::new(); self.joints.len()];
        for (vertex, weights) in self.weights.iter().enumerate() {
            for &(joint, _) in weights.iter().filter(|share| share.1 >= OWN) {
                own[joint as usize].push(vertex as u32);
            }
        }
        own
    }

    /// Joints that are further from the box around their own skin than that box is wide: the skeleton has another size or place than the surface, or the weights are not its own.
    pub fn strays(&self) -> Vec<Stray> {
        let near = NEAR * self.surface.bounds().size().norm();
        let mut strays = Vec::new();
        for (joint, own) in self.own_vertices().iter().enumerate().filter(|(_, own)| !own.is_empty()) {
            let [mut low, mut high] = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
            for x in own.iter().map(|&vertex| self.surface.positions()[vertex as usize]) {
                for c in 0..3 {
                    (low[c], high[c]) = (low[c].min(x[c]), high[c].max(x[c]));
                }
            }
            let place = self.joints[joint].place;
            let nearest = Vec3::from(std::array::from_fn(|c| place[c].clamp(low[c], high[c])));
            let distance = place.distance(nearest);
            if distance > (Vec3::from(high) - Vec3::from(low)).norm().max(near) {
                strays.push(Stray { joint, distance });
            }
        }
        strays
    }

    /// Factors on volume by which joints scale from rest: negative where they mirror, and zero where they leave nothing.
    pub fn volume_factors(&self, pose: &[Affine]) -> Vec<f64> {
        self.joints.iter().map(|joint| joint.from_rest_to(pose).linear.determinant()).collect()
    }
}
