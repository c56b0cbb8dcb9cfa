//! What drives correctives: smooth functions of joint rotations and of the places of flesh that can touch.

use sinew_math::svd3::polar3_plain;
use sinew_math::{Quaternion, Vec3};

use crate::affine::Affine;
use crate::rig::Rig;

/// Functions of the pose around the flesh of one joint: how joints near it are turned, and where flesh is that can touch
/// it.
///
/// With z the rotation vectors of the joints from rest and the places of other flesh, one after the other, centers
/// $`c_i`$ and the width σ, these are
/// ```math
/// \varphi_i(z) = e^{-|z - c_i|^2 / 2\sigma^2} - e^{-|c_i|^2 / 2\sigma^2}
/// ```
/// and the components of z/σ. All vanish at rest. A target has the weight $`w = \max(0, \sum_i a_i \varphi_i(z))`$.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The joint whose flesh it moves, as a node.
    pub flesh: usize,
    /// Nodes of the joints that turn.
    pub joints: Vec<usize>,
    /// Their rotations at rest, relative to their parents.
    pub rest: Vec<Quaternion>,
    /// Flesh that can touch.
    pub places: Vec<Place>,
    /// Width of the kernels.
    pub width: f64,
    /// Values of z at each center.
    pub centers: Vec<Vec<f64>>,
    /// What it moves.
    pub weights: Vec<Weight>,
}

/// The middle of the flesh of one joint, as another sees it: $`s\,(M_a^{-1} M_b\, p - p_0)`$ with the transforms M of both.
#[derive(Clone, Debug)]
pub struct Place {
    /// Node b, whose flesh it is.
    pub of: usize,
    /// Node a, from which it is seen.
    pub from: usize,
    /// Its place p in the space of node b.
    pub point: Vec3,
    /// Its place p₀ at rest in the space of node a.
    pub rest: Vec3,
    /// One over the distance s at which both touch.
    pub scale: f64,
}

impl Place {
    /// Its place in the space of node a.
    pub(super) fn seen(&self, pose: &[Affine]) -> Vec3 {
        let inverse = pose[self.from].inverse().unwrap_or_else(Affine::identity);
        inverse.apply(pose[self.of].apply(self.point))
    }
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
    /// All functions of z.
    pub fn functions(&self, inputs: &[f64]) -> Vec<f64> {
        let scale = -0.5 / (self.width * self.width);
        let kernel = |center: &Vec<f64>| {
            let far: f64 = center.iter().zip(inputs).map(|(c, z)| (z - c) * (z - c)).sum();
            let rest: f64 = center.iter().map(|c| c * c).sum();
            (scale * far).exp() - (scale * rest).exp()
        };
        let mut values: Vec<f64> = self.centers.iter().map(kernel).collect();
        values.extend(inputs.iter().map(|z| z / self.width));
        values
    }

    /// The values of z in a pose of all nodes.
    pub fn inputs(&self, rig: &Rig, pose: &[Affine]) -> Vec<f64> {
        let joints = self.joints.iter().zip(&self.rest);
        let turns = joints.flat_map(|(&node, rest)| turns(rig, pose, node, *rest).to_array());
        let places = self.places.iter().flat_map(|place| ((place.seen(pose) - place.rest) * place.scale).to_array());
        turns.chain(places).collect()
    }

    /// Sets the weights of its targets for given values of z.
    pub fn set_weights(&self, inputs: &[f64], weights: &mut [f64]) {
        let values = self.functions(inputs);
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
