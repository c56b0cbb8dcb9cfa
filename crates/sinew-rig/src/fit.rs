//! Checks whether a skeleton fits its skin.

use sinew_math::Vec3;

use crate::affine::Affine;
use crate::flesh::Flesh;

/// Weight above which a joint owns a vertex.
const OWN: f64 = 0.5;
/// Joints that move little skin may be this fraction of the character's size away from it.
const NEAR: f64 = 0.1;

/// A joint far from the skin that it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stray {
    /// The joint, as an index into [`Flesh::joints`].
    pub joint: usize,
    /// Its distance from that skin \[m\].
    pub distance: f64,
}

impl Flesh {
    /// The vertices that each joint owns.
    pub fn own_vertices(&self) -> Vec<Vec<u32>> {
        let mut own = vec![Vec::new(); self.joints.len()];
        for (vertex, weights) in self.weights.iter().enumerate() {
            for &(joint, _) in weights.iter().filter(|share| share.1 >= OWN) {
                own[joint as usize].push(vertex as u32);
            }
        }
        own
    }

    /// Joints farther from the bounding box of their own skin than that box is wide, as are their child joints: the
    /// skeleton has another size or position than the surface, or the weights belong to another skeleton.
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
            let distance_of =
                |place: Vec3| place.distance(Vec3::from(std::array::from_fn(|c| place[c].clamp(low[c], high[c]))));
            // Bones run from joint to joint, and may have skin only at their far end, as in a palm.
            let below = self.joints.iter().filter(|other| other.parent == Some(joint));
            let ends = below.map(|other| other.place).chain([self.joints[joint].place]);
            let distance = ends.map(distance_of).fold(f64::INFINITY, f64::min);
            if distance > (Vec3::from(high) - Vec3::from(low)).norm().max(near) {
                strays.push(Stray { joint, distance });
            }
        }
        strays
    }

    /// Volume scale factors of joints relative to rest: negative if mirrored, and zero if degenerate.
    pub fn volume_factors(&self, pose: &[Affine]) -> Vec<f64> {
        self.joints.iter().map(|joint| joint.pose_from_rest(pose).linear.determinant()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characters::{Character, CharacterParams, generate};
    use crate::flesh::FleshParams;
    use crate::rig::Transform;

    #[test]
    fn joints_stray_when_their_skeleton_has_another_size() {
        for character in Character::ALL {
            let edge = 1.7 * character.usual_edge();
            let mut rig = generate(&CharacterParams { edge, ..CharacterParams::of(character) }).unwrap();
            let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
            assert_eq!(flesh.strays(), [], "{character:?}");
            // In centimeters.
            for joint in rig.skins[0].joints.clone() {
                let Transform::Parts { translation, .. } = &mut rig.nodes[joint].transform else { panic!("parts") };
                *translation *= 100.0;
            }
            rig.skins[0].inverse_binds.iter_mut().for_each(|bind| bind.translation *= 100.0);
            let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
            let moving = flesh.own_vertices().iter().filter(|own| !own.is_empty()).count();
            // Of the leg's four joints two stray, half of them.
            assert!(2 * flesh.strays().len() >= moving, "{character:?}: {} of {moving}", flesh.strays().len());
        }
    }

    #[test]
    fn factors_on_volume_tell_mirrored_joints() {
        let mut rig = generate(&CharacterParams::of(Character::Arm)).unwrap();
        let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
        let wrist = rig.nodes.iter().position(|node| node.name == "wrist").unwrap();
        let Transform::Parts { scale, .. } = &mut rig.nodes[wrist].transform else { panic!("parts") };
        *scale = Vec3::new(-2.0, 1.0, 1.0);
        let factors = flesh.volume_factors(&rig.pose(None, 0.0));
        for (joint, factor) in flesh.joints.iter().zip(factors) {
            let expected = if joint.node == wrist { -2.0 } else { 1.0 };
            assert!((factor - expected).abs() < 1e-9, "{}: {factor}", joint.name);
        }
    }
}
