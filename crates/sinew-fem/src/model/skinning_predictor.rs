//! Skinning predictor: an initial guess that moves flesh with its drivers by blend skinning (MCA-49, MCA-50).
//!
//! A node with weights w follows drivers (pins or driven rigid bodies), whose motions x ↦ R (x − p) + q over the step
//! are known:
//! ```math
//! x' = \sum_j w_j \left( R_j (x - p_j) + q_j \right)
//! ```
//! So flesh whose drivers all move alike moves with them exactly, however far.

use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::svd3::svd3;
use sinew_math::{Mat3, Quaternion, Vec3};

use super::Model;
use crate::control::ChannelId;
use crate::force::Attachment;
use crate::kinematics::Unknowns;

/// Minimum ratio of the spread of the nodes of a pin across their longest axis to that along it; below it they do not
/// determine a rotation.
const NARROW: f64 = 1e-9;

/// A driver: something with prescribed motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MotionSource {
    /// A pin of the model, by index.
    Pin(usize),
    /// A driven rigid body, by index among those.
    Driven(usize),
}

/// Unknowns that follow drivers.
#[derive(Clone, Debug, Default)]
pub struct SkinningPredictor {
    pub(crate) drivers: Vec<MotionSource>,
    /// Unknowns that follow, and the end of the entries of each.
    pub(crate) unknowns: Vec<(u32, u32)>,
    /// Drivers, and weights that sum to one.
    pub(crate) entries: Vec<(u32, f64)>,
}

/// A rigid motion x ↦ R (x − p) + q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Motion {
    rotation: Mat3,
    from: Vec3,
    to: Vec3,
}

impl Motion {
    /// Best-fit rigid motion of pairs of points, by least squares.
    fn fit(pairs: impl Iterator<Item = [Vec3; 2]> + Clone) -> Self {
        let (mut from, mut to, mut count) = (Vec3::zero(), Vec3::zero(), 0.0);
        let mut is_still = true;
        for [a, b] in pairs.clone() {
            from += a;
            to += b;
            count += 1.0;
            is_still &= a == b;
        }
        if is_still {
            return Self { rotation: Mat3::identity(), from: Vec3::zero(), to: Vec3::zero() };
        }
        let (from, to) = (from / count, to / count);
        let spread = pairs.fold(Mat3::zero(), |sum, [a, b]| sum + Mat3::outer(b - to, a - from));
        let svd = svd3(&spread);
        let is_known = svd.sigma.y.abs() > NARROW * svd.sigma.x.abs();
        Self { rotation: if is_known { svd.rotation() } else { Mat3::identity() }, from, to }
    }

    fn apply(&self, x: Vec3) -> Vec3 {
        self.rotation * (x - self.from) + self.to
    }
}

impl Model {
    /// Whether the model is one body that follows drivers: then only the body itself can be in its way, and it may move
    /// any distance at once.
    pub(crate) fn moves_as_one(&self) -> bool {
        let nothing_else =
            self.bodies.len() == 1 && self.colliders.is_empty() && self.driven.len() == self.rigid_bodies.len();
        !self.skinning_predictor.is_empty() && nothing_else
    }

    /// Channels of the rotations of drivers.
    pub(crate) fn driver_rotations(&self) -> impl Iterator<Item = [ChannelId; 3]> {
        self.skinning_predictor.drivers.iter().map(|driver| match *driver {
            MotionSource::Pin(pin) => self.pins[pin].motion.rotation,
            MotionSource::Driven(driven) => self.driven[driven].rotation,
        })
    }

    /// Channels of the motions of drivers, and of springs that go along with them because their bones stretch.
    pub(crate) fn driver_channels(&self) -> impl Iterator<Item = ChannelId> {
        let stretching = self.forces_of::<Attachment>().filter_map(|attachment| attachment.motion);
        let stretching = stretching.filter(|motion| motion.deformation.is_some());
        let of_springs = stretching.flat_map(|motion| motion.translation.into_iter().chain(motion.rotation));
        let of_drivers = self.skinning_predictor.drivers.iter().flat_map(|driver| {
            let (translation, rotation) = match *driver {
                MotionSource::Pin(pin) => (self.pins[pin].motion.translation, self.pins[pin].motion.rotation),
                MotionSource::Driven(driven) => (self.driven[driven].translation, self.driven[driven].rotation),
            };
            translation.into_iter().chain(rotation)
        });
        of_drivers.chain(of_springs)
    }
}

impl SkinningPredictor {
    /// Best-fit rigid motion of all drivers.
    pub(crate) fn common_motion(&self, model: &Model, motions: &[Motion]) -> Motion {
        // The motion of a frame of this size at each driver.
        let size = 0.1 * model.rest_size();
        let pairs = motions.iter().flat_map(|motion| {
            let frame = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
            frame.map(|axis| motion.from + axis * size).map(|x| [x, motion.apply(x)])
        });
        Motion::fit(pairs)
    }

    /// Whether nothing follows a driver.
    pub(crate) fn is_empty(&self) -> bool {
        self.unknowns.is_empty()
    }

    /// Writes the motions of the drivers from `before` to `after`, where prescribed unknowns have their new values.
    pub(crate) fn find_motions(&self, model: &Model, before: &Unknowns, after: &Unknowns, motions: &mut Vec<Motion>) {
        motions.clear();
        motions.extend(self.drivers.iter().map(|driver| match *driver {
            MotionSource::Pin(pin) => {
                let place =
                    |&(unknown, _): &(u32, Vec3)| [before.vectors[unknown as usize], after.vectors[unknown as usize]];
                Motion::fit(model.pins[pin].nodes.iter().map(place))
            }
            MotionSource::Driven(driven) => {
                let block = model.rigid_bodies[model.driven[driven].rigid].block as usize;
                let place = model.kinematics.rigid_blocks()[block].translation as usize;
                let turn = after.rotations[block] * before.rotations[block].conjugate();
                Motion { rotation: turn.to_matrix(), from: before.vectors[place], to: after.vectors[place] }
            }
        }));
    }

    /// Moves everything by one motion.
    pub(crate) fn carry_all(model: &Model, motion: &Motion, q: &mut Unknowns) {
        let blocks = model.kinematics.rigid_blocks();
        q.vectors.iter_mut().for_each(|x| *x = motion.apply(*x));
        let turn = quaternion_of(&motion.rotation);
        for (rotation, block) in q.rotations.iter_mut().zip(blocks) {
            *rotation = (turn * *rotation).normalized();
            // Rotation increments are not positions.
            q.vectors[block.rotation as usize] = Vec3::zero();
        }
    }

    /// Moves all nodes that follow drivers and can move; `moved` has room for as many.
    pub(crate) fn carry(&self, model: &Model, motions: &[Motion], q: &mut [Vec3], moved: &mut [Vec3]) {
        let moved = &mut moved[..self.unknowns.len()];
        let places = &*q;
        for_each_block_mut(
            (&mut *moved, &self.unknowns[..]),
            SUM_BLOCK,
            |start, (moved, unknowns): (&mut [Vec3], &[(u32, u32)])| {
                let mut first = if start == 0 { 0 } else { self.unknowns[start - 1].1 as usize };
                for (moved, &(unknown, end)) in moved.iter_mut().zip(unknowns) {
                    let (x, entries) = (places[unknown as usize], &self.entries[first..end as usize]);
                    first = end as usize;
                    *moved = entries
                        .iter()
                        .fold(Vec3::zero(), |sum, &(driver, weight)| sum + motions[driver as usize].apply(x) * weight);
                }
            },
        );
        for (&(unknown, _), &moved) in self.unknowns.iter().zip(&*moved) {
            let fixed = model.kinematics.fixed(unknown as usize);
            for axis in (0..3).filter(|&axis| !fixed[axis]) {
                q[unknown as usize][axis] = moved[axis];
            }
        }
    }
}

/// The quaternion of a rotation, from the largest of its four components \[Shepperd78\].
fn quaternion_of(rotation: &Mat3) -> Quaternion {
    let r = rotation.rows;
    let trace = r[0][0] + r[1][1] + r[2][2];
    let skew = Vec3::new(r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]);
    if trace > 0.0 {
        return Quaternion::from_parts(1.0 + trace, skew).normalized();
    }
    let i = (0..3).max_by(|&a, &b| r[a][a].total_cmp(&r[b][b])).unwrap_or(0);
    let (j, k) = ((i + 1) % 3, (i + 2) % 3);
    let mut vector = Vec3::zero();
    vector[i] = 1.0 + r[i][i] - r[j][j] - r[k][k];
    vector[j] = r[i][j] + r[j][i];
    vector[k] = r[i][k] + r[k][i];
    Quaternion::from_parts(skew[i], vector).normalized()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_find_rigid_motions() {
        let places = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.3, 0.4, 0.5]].map(Vec3::from);
        let turn = Quaternion::exp_map(Vec3::new(0.4, -2.0, 1.1)).to_matrix();
        let shift = Vec3::new(100.0, -3.0, 7.0);
        for count in [3, 4] {
            let pairs = places[..count].iter().map(|&x| [x, turn * x + shift]);
            let motion = Motion::fit(pairs);
            let x = Vec3::new(0.7, -0.2, 0.9);
            assert!((motion.apply(x) - (turn * x + shift)).norm() < 1e-12, "of {count} points");
        }
        // Points on a line do not determine the rotation about it, and one point determines none.
        for count in [1, 2] {
            let motion = Motion::fit(places[..count].iter().map(|&x| [x, x + shift]));
            assert_eq!(motion.rotation, Mat3::identity());
            assert!((motion.apply(places[3]) - (places[3] + shift)).norm() < 1e-12);
        }
        assert_eq!(Motion::fit(places.iter().map(|&x| [x, x])).apply(shift), shift);
    }

    #[test]
    fn quaternions_are_those_of_the_matrices() {
        for turn in [[0.3, -0.2, 0.9], [3.1, 0.1, 0.0], [0.0, 2.9, 0.4], [0.2, 0.3, -3.0], [0.0, 0.0, 0.0]] {
            let matrix = Quaternion::exp_map(Vec3::from(turn)).to_matrix();
            assert!((quaternion_of(&matrix).to_matrix() - matrix).norm() < 1e-12, "{turn:?}");
        }
    }
}
