//! Linear blend skinning (MCA-50): $`v' = \sum_j w_j M_j v`$, with $`M_j`$ from the bind space of the vertices to the
//! world.

use sinew_math::Vec3;
use sinew_math::parallel::for_each_block_mut;

use crate::affine::Affine;
use crate::rig::{Part, Rig, Skin};

/// Vertices per parallel block.
const PIECE: usize = 4096;

/// The matrices of a skin's joints, from the bind space of the vertices to the world, for a pose of all nodes.
pub fn skin_matrices(skin: &Skin, pose: &[Affine]) -> Vec<Affine> {
    skin.joints.iter().zip(&skin.inverse_binds).map(|(&joint, bind)| pose[joint].after(bind)).collect()
}

impl Part {
    /// Vertices with morph targets added.
    pub fn morphed(&self, weights: &[f64]) -> Vec<Vec3> {
        let mut positions = self.positions.clone();
        for (target, &weight) in self.morph_targets.iter().zip(weights) {
            if weight != 0.0 {
                positions.iter_mut().zip(&target.positions).for_each(|(x, d)| *x += *d * weight);
            }
        }
        positions
    }
}

impl Rig {
    /// Vertices of a part after blend skinning, or moved by its node if it has no skin. `positions` are the vertices
    /// with their morph targets; weights are normalized.
    pub fn blend(&self, node: usize, part: &Part, positions: &[Vec3], pose: &[Affine]) -> Vec<Vec3> {
        let mut out = positions.to_vec();
        let skin = self.nodes[node].skin.filter(|_| part.weights.width > 0);
        let Some(skin) = skin else {
            for_each_block_mut(&mut out[..], PIECE, |_, out: &mut [Vec3]| {
                out.iter_mut().for_each(|x| *x = pose[node].apply(*x));
            });
            return out;
        };
        let matrices = skin_matrices(&self.skins[skin], pose);
        for_each_block_mut(&mut out[..], PIECE, |first, out: &mut [Vec3]| {
            for (k, x) in out.iter_mut().enumerate() {
                let (mut sum, mut total) = (Vec3::zero(), 0.0);
                for (joint, weight) in part.weights.of(first + k) {
                    sum += matrices[joint].apply(*x) * weight;
                    total += weight;
                }
                *x = if total > 0.0 { sum * (1.0 / total) } else { pose[node].apply(*x) };
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Node, Surface, Transform, Weights};
    use sinew_math::Quaternion;

    fn node(transform: Transform) -> Node {
        Node {
            name: String::new(),
            parent: None,
            transform,
            surface: None,
            skin: None,
            morph_weights: None,
            is_shown: true,
        }
    }

    #[test]
    fn bound_pose_is_the_shape_and_weights_are_shares() {
        let joint = Vec3::new(0.0, 3.0, 0.0);
        let turned = |angle: f64| Transform::Parts {
            translation: joint,
            rotation: Quaternion::from_axis_angle(Vec3::unit(0), angle),
            scale: Vec3::new(1.0, 1.0, 1.0),
        };
        let rig = |angle: f64| {
            let bind = |transform: Transform| transform.to_affine().inverse().unwrap();
            let skin = Skin {
                name: String::new(),
                joints: vec![0, 1],
                inverse_binds: vec![bind(Transform::identity()), bind(turned(0.0))],
            };
            let mut skinned = node(Transform::from_translation(Vec3::new(9.0, 9.0, 9.0)));
            skinned.skin = Some(0);
            let nodes = vec![node(Transform::identity()), node(turned(angle)), skinned];
            Rig { nodes, skins: vec![skin], surfaces: vec![Surface::default()], ..Rig::default() }
        };
        let part = Part {
            positions: vec![Vec3::new(0.0, 4.0, 0.0); 3],
            // The weights of the last vertex sum to one half, in equal parts.
            weights: Weights {
                width: 2,
                joints: vec![0, 1, 1, 0, 0, 1],
                weights: vec![1.0, 0.0, 1.0, 0.0, 0.25, 0.25],
            },
            ..Part::default()
        };
        let blend = |angle: f64| {
            let rig = rig(angle);
            rig.blend(2, &part, &part.positions, &rig.pose(None, 0.0))
        };
        assert!(blend(0.0).iter().all(|x| (*x - part.positions[0]).norm() < 1e-12));
        let bent = blend(std::f64::consts::FRAC_PI_2);
        let expected = [Vec3::new(0.0, 4.0, 0.0), Vec3::new(0.0, 3.0, 1.0), Vec3::new(0.0, 3.5, 0.5)];
        for (bent, expected) in bent.iter().zip(expected) {
            assert!((*bent - expected).norm() < 1e-12, "{bent:?}");
        }
    }
}
