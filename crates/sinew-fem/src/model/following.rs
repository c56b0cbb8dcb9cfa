//! Flesh that follows what moves it: where blend skinning would put it is a place for the iterations of a step to start from (MCA-49, MCA-50).
//!
//! A node with weights w follows leaders, pins or driven rigid bodies, whose motions x ↦ R (x − p) + q over the step are known:
//! $$x' = \sum_j w_j \left( R_j (x - p_j) + q_j \right)$$
//! So flesh whose leaders all move alike moves with them exactly, however far.

use sinew_math::svd3::svd3;
use sinew_math::{Mat3, Vec3};

use super::Model;
use crate::kinematics::Unknowns;

/// Spread of the nodes of a pin across its widest axis, over that along it, below which it says nothing of a turn.
const NARROW: f64 = 1e-9;

/// Something whose motion is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leader {
    /// A pin of the model, by index.
    Pin(usize),
    /// A driven rigid body, by index among those.
    Driven(usize),
}

/// Which unknowns follow which leaders.
#[derive(Clone, Debug, Default)]
pub struct Following {
    pub(crate) leaders: Vec<Leader>,
    /// Unknowns that follow, and the end of the entries of each.
    pub(crate) unknowns: Vec<(u32, u32)>,
    /// Leaders, and weights that sum to one.
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
    /// The one that comes nearest to taking points from one place to another, in the sense of least squares.
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

impl Following {
    /// Whether nothing follows.
    pub(crate) fn is_empty(&self) -> bool {
        self.unknowns.is_empty()
    }

    /// Writes the motions of the leaders from `before` to `after`, where what is prescribed has its new values.
    pub(crate) fn find_motions(&self, model: &Model, before: &Unknowns, after: &Unknowns, motions: &mut Vec<Motion>) {
        motions.clear();
        motions.extend(self.leaders.iter().map(|leader| match *leader {
            Leader::Pin(pin) => {
                let place =
                    |&(unknown, _): &(u32, Vec3)| [before.vectors[unknown as usize], after.vectors[unknown as usize]];
                Motion::fit(model.pins[pin].nodes.iter().map(place))
            }
            Leader::Driven(driven) => {
                let block = model.rigid_bodies[model.driven[driven].rigid].block as usize;
                let place = model.kinematics.rigid_blocks()[block].translation as usize;
                let turn = after.rotations[block] * before.rotations[block].conjugate();
                Motion { rotation: turn.to_matrix(), from: before.vectors[place], to: after.vectors[place] }
            }
        }));
    }

    /// Moves all that follows and may move.
    pub(crate) fn carry(&self, model: &Model, motions: &[Motion], q: &mut [Vec3]) {
        let mut first = 0;
        for &(unknown, end) in &self.unknowns {
            let entries = &self.entries[first..end as usize];
            first = end as usize;
            let (x, fixed) = (q[unknown as usize], model.kinematics.fixed(unknown as usize));
            let moved = entries
                .iter()
                .fold(Vec3::zero(), |sum, &(leader, weight)| sum + motions[leader as usize].apply(x) * weight);
            for axis in (0..3).filter(|&axis| !fixed[axis]) {
                q[unknown as usize][axis] = moved[axis];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Quaternion;

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
        // Points on a line say nothing of turns about it, and one point of none.
        for count in [1, 2] {
            let motion = Motion::fit(places[..count].iter().map(|&x| [x, x + shift]));
            assert_eq!(motion.rotation, Mat3::identity());
            assert!((motion.apply(places[3]) - (places[3] + shift)).norm() < 1e-12);
        }
        assert_eq!(Motion::fit(places.iter().map(|&x| [x, x])).apply(shift), shift);
    }
}
