//! Parts of a model that nothing holds: quasistatics decides their shape, not their place (SIF-033).
//!
//! The matrix of such a part is singular: the three translations and three rotations of the whole part need no force. The residual and every
//! step are kept orthogonal to these six motions,
//! $$v_i \leftarrow v_i - \bar v - \omega \times d_i, \qquad d_i = x_i - \bar x, \qquad
//!   \Big(\sum_i |d_i|^2 I - d_i d_i^T\Big)\,\omega = \sum_i d_i \times v_i,$$
//! so that the part stays where it is and settles in shape. A resultant force or couple (weight, for instance) has no equilibrium and
//! is left out of account.

use sinew_math::sparse::BlockPattern;
use sinew_math::{Mat3, Vec3};

use crate::force::Anchor;
use crate::kinematics::PointMap;
use crate::model::Model;

/// Unknowns of the parts that nothing holds.
#[derive(Default)]
pub(crate) struct FreeParts {
    parts: Vec<Vec<u32>>,
}

impl FreeParts {
    /// Finds connected parts without pin, spring to the world, possible contact, custom force or rigid body.
    pub fn find(model: &Model, pattern: &BlockPattern) -> Self {
        let kinematics = &model.kinematics;
        let count = kinematics.unknown_count();
        let mut is_held: Vec<bool> = (0..count).map(|unknown| kinematics.fixed(unknown) != [false; 3]).collect();
        let mut hold = |point: u32| {
            let mut unknowns = Vec::new();
            kinematics.unknowns_of(point as usize, &mut unknowns);
            unknowns.into_iter().for_each(|unknown| is_held[unknown as usize] = true);
        };
        for attachment in &model.attachments {
            let places = attachment.springs.iter().filter(|spring| matches!(spring.anchor, Anchor::Place(_)));
            places.for_each(|spring| hold(spring.point));
        }
        let in_contact = !model.contacts.is_empty() || !model.custom.is_empty();
        for point in 0..kinematics.point_count() {
            if in_contact || !matches!(kinematics.map(point), PointMap::Free(_)) {
                hold(point as u32);
            }
        }
        for rigid in kinematics.rigid_blocks() {
            is_held[rigid.translation as usize] = true;
            is_held[rigid.rotation as usize] = true;
        }
        let mut seen = vec![false; count];
        let mut parts = Vec::new();
        for seed in 0..count {
            if seen[seed] {
                continue;
            }
            seen[seed] = true;
            let (mut part, mut next) = (vec![seed as u32], 0);
            while let Some(&node) = part.get(next) {
                next += 1;
                for slot in pattern.row(node as usize) {
                    let other = pattern.columns()[slot];
                    if !std::mem::replace(&mut seen[other as usize], true) {
                        part.push(other);
                    }
                }
            }
            if part.iter().all(|&unknown| !is_held[unknown as usize]) {
                parts.push(part);
            }
        }
        Self { parts }
    }

    /// The unknowns of each part.
    pub fn parts(&self) -> &[Vec<u32>] {
        &self.parts
    }

    /// Takes the six rigid motions of each part at places `q` out of `v`.
    pub fn project(&self, q: &[Vec3], v: &mut [Vec3]) {
        for part in &self.parts {
            let count = part.len() as f64;
            let mean = |values: &[Vec3]| part.iter().fold(Vec3::zero(), |sum, &i| sum + values[i as usize]) / count;
            let (center, shift) = (mean(q), mean(v));
            let (mut inertia, mut moment) = (Mat3::zero(), Vec3::zero());
            for &i in part {
                let d = q[i as usize] - center;
                inertia += Mat3::identity() * d.norm_squared() - Mat3::outer(d, d);
                moment += d.cross(v[i as usize]);
            }
            // A part on a line (or a point) does not feel all turns: a hair of extra inertia leaves those alone.
            let trace = inertia.trace();
            let turn = if trace > 0.0 {
                (inertia + Mat3::identity() * (1e-12 * trace)).inverse() * moment
            } else {
                Vec3::zero()
            };
            for &i in part {
                v[i as usize] -= shift + turn.cross(q[i as usize] - center);
            }
        }
    }
}
