//! What drives correctives: smooth functions of joint rotations.

use sinew_math::svd3::polar3_plain;
use sinew_math::{Quaternion, Vec3};

use crate::affine::Affine;
use crate::rig::Rig;

/// Functions of the rotation of a joint, or of a joint and its parent.
///
/// With r the rotation vectors of the joints from rest, one after the other, centers $`c_i`$ and the width σ, these are
/// ```math
/// \varphi_i(r) = e^{-|r - c_i|^2 / 2\sigma^2} - e^{-|c_i|^2 / 2\sigma^2},
/// ```
/// and for a single joint also the three components of r/σ. All vanish at rest. A target has the weight
/// $`w = \max(0, \sum_i a_i \varphi_i(r))`$.
#[derive(Clone, Debug)]
pub struct Driver {
    /// Nodes of the joints: one, or the parent and the joint.
    pub joints: Vec<usize>,
    /// Their rotations at rest, relative to their parents.
    pub rest: Vec<Quaternion>,
    /// Width of the kernels \[rad\].
    pub width: f64,
    /// Rotation vectors of all joints, one after the other, at each center \[rad\].
    pub centers: Vec<Vec<f64>>,
    /// What it moves.
    pub weights: Vec<Weight>,
}

/// The weight of a target.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Its target.
    pub target: usize,
    /// A factor for each function.
    pub coefficients: Vec<f64>,
}

impl Driver {
    /// All functions at given rotation vectors.
    pub fn functions(&self, turns: &[f64]) -> Vec<f64> {
        let scale = -0.5 / (self.width * self.width);
        let kernel = |center: &Vec<f64>| {
            let far: f64 = center.iter().zip(turns).map(|(c, r)| (r - c) * (r - c)).sum();
            let rest: f64 = center.iter().map(|c| c * c).sum();
            (scale * far).exp() - (scale * rest).exp()
        };
        let mut values: Vec<f64> = self.centers.iter().map(kernel).collect();
        if self.joints.len() == 1 {
            values.extend(turns.iter().map(|r| r / self.width));
        }
        values
    }

    /// Number of functions.
    pub(super) fn count(&self) -> usize {
        self.centers.len() + if self.joints.len() == 1 { 3 } else { 0 }
    }

    /// The rotation vectors of its joints in a pose of all nodes.
    pub fn turns(&self, rig: &Rig, pose: &[Affine]) -> Vec<f64> {
        self.joints.iter().zip(&self.rest).flat_map(|(&node, rest)| turns(rig, pose, node, *rest).to_array()).collect()
    }

    /// Sets the weights of its targets at given rotation vectors.
    pub fn set_weights(&self, turns: &[f64], weights: &mut [f64]) {
        let values = self.functions(turns);
        for Weight { target, coefficients } in &self.weights {
            let sum: f64 = coefficients.iter().zip(&values).map(|(a, value)| a * value).sum();
            weights[*target] = sum.max(0.0);
        }
    }
}

/// The rotation vector of a node relative to its parent, from its rotation at rest \[rad\].
pub fn turns(rig: &Rig, pose: &[Affine], node: usize, rest: Quaternion) -> Vec3 {
    (rest.conjugate() * local_rotation(rig, pose, node)).normalized().log_map()
}

/// The rotation of a node relative to its parent.
pub(super) fn local_rotation(rig: &Rig, pose: &[Affine], node: usize) -> Quaternion {
    let rotation = |map: &Affine| Quaternion::from_rotation_matrix(&polar3_plain(&map.linear).rotation);
    let own = rotation(&pose[node]);
    match rig.nodes[node].parent {
        Some(parent) => (rotation(&pose[parent]).conjugate() * own).normalized(),
        None => own,
    }
}
