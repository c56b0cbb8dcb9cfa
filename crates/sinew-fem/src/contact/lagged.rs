//! Lagged contact: friction and restitution of the contacts at the start of a step, during that step. Normal force N,
//! normal n and position lag by one step \[Li20\], so that both have a potential within the step.
//!
//! The slip that friction holds carries over from step to step, so that a resting contact does not creep. It is stored
//! in units of ε, the slip at which friction reaches μN, and is limited to one unit: beyond that the contact slides.

use sinew_math::{Mat3, Vec3};

use super::friction::{KEPT_DROP, friction_block, friction_energy, friction_slope};
use crate::state::ContactMemory;

/// Slip of a contact in a list sorted by keys; zero if absent.
pub(crate) fn recall(memories: &[ContactMemory], key: [u32; 4]) -> Vec3 {
    memories.binary_search_by_key(&key, |memory| memory.key).map_or(Vec3::zero(), |index| memories[index].slip)
}

/// A lagged contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Unit normal towards the first of the two.
    pub normal: Vec3,
    /// Normal force N at the start of the step \[N\], ≥ 0.
    pub normal_force: f64,
    /// Coefficient of friction μ.
    pub friction: f64,
    /// Slip held at the start of the step \[m\].
    pub held: Vec3,
    /// Force along the normal in addition to N \[N\].
    pub push: f64,
}

impl Response {
    /// Whether it has no effect.
    pub(crate) fn is_idle(&self) -> bool {
        self.friction == 0.0 && self.push == 0.0
    }

    /// Held slip after a motion of the first relative to the second \[m\].
    fn slip(&self, moved: Vec3) -> Vec3 {
        let slip = self.held + moved;
        slip - self.normal * slip.dot(self.normal)
    }

    /// Potential after a motion `moved` of the first relative to the second, with the slip ε over which friction grows
    /// \[J\].
    pub(crate) fn energy(&self, moved: Vec3, epsilon: f64) -> f64 {
        let mut energy = -self.push * moved.dot(self.normal);
        if self.friction > 0.0 {
            energy += self.friction * self.normal_force * friction_energy(self.slip(moved).norm(), epsilon);
        }
        energy
    }

    /// Derivative of the potential: minus the force on the first \[N\].
    pub(crate) fn gradient(&self, moved: Vec3, epsilon: f64) -> Vec3 {
        let mut gradient = self.normal * -self.push;
        if self.friction > 0.0 {
            let slip = self.slip(moved);
            gradient += slip * (self.friction * self.normal_force * friction_slope(slip.norm(), epsilon));
        }
        gradient
    }

    /// Second derivative of the potential, positive semi-definite \[N/m\].
    pub(crate) fn block(&self, moved: Vec3, epsilon: f64) -> Mat3 {
        self.block_that_keeps(1.0, moved, epsilon)
    }

    /// Second derivative, stiffened along the slip so that steps do not overshoot where many contacts start to slide at
    /// once \[N/m\].
    pub(crate) fn stiffened_block(&self, moved: Vec3, epsilon: f64) -> Mat3 {
        self.block_that_keeps(KEPT_DROP, moved, epsilon)
    }

    fn block_that_keeps(&self, kept: f64, moved: Vec3, epsilon: f64) -> Mat3 {
        if self.friction == 0.0 {
            return Mat3::zero();
        }
        friction_block(self.slip(moved), self.normal, epsilon, kept) * (self.friction * self.normal_force)
    }

    /// Force on the first before any motion: normal force, and friction of the held slip \[N\].
    pub(crate) fn force_at_rest(&self, epsilon: f64) -> Vec3 {
        self.normal * self.normal_force - self.gradient(Vec3::zero(), epsilon)
    }

    /// Slip to carry over after a motion, divided by ε: no more than friction can hold.
    pub(crate) fn remembered_slip(&self, moved: Vec3, epsilon: f64) -> Vec3 {
        let slip = self.slip(moved) / epsilon;
        slip / slip.norm().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPSILON: f64 = 1e-3;

    fn response() -> Response {
        let (normal, held) = (Vec3::new(0.0, 0.6, 0.8), Vec3::new(4e-4, 0.0, 0.0));
        Response { normal, normal_force: 3.0, friction: 0.5, held, push: -0.7 }
    }

    #[test]
    fn gradient_and_block_are_derivatives() {
        let response = response();
        // Sticking, and sliding.
        for moved in [Vec3::new(1e-4, 2e-4, -1e-4), Vec3::new(2e-3, 0.0, 0.05)] {
            for axis in 0..3 {
                let h = 1e-8;
                let mut step = Vec3::zero();
                step[axis] = h;
                let energies = [moved + step, moved - step].map(|moved| response.energy(moved, EPSILON));
                let slope = (energies[0] - energies[1]) / (2.0 * h);
                assert!((slope - response.gradient(moved, EPSILON)[axis]).abs() < 1e-6);
                let gradients = [moved + step, moved - step].map(|moved| response.gradient(moved, EPSILON));
                let column = (gradients[0] - gradients[1]) / (2.0 * h);
                let difference = column - response.block(moved, EPSILON) * (step / h);
                assert!(difference.norm() < 1e-4 * response.block(moved, EPSILON).norm());
                let excess = response.stiffened_block(moved, EPSILON) - response.block(moved, EPSILON);
                let slip = response.slip(moved);
                assert!(step.dot(excess * step) >= 0.0, "stiffer");
                assert!((excess * response.normal.cross(slip)).norm() < 1e-12 * excess.norm(), "only along the slip");
            }
        }
    }

    #[test]
    fn slip_beyond_what_friction_holds_is_forgotten() {
        let slip = response().remembered_slip(Vec3::new(0.1, 0.0, 0.0), EPSILON);
        assert!((slip - Vec3::new(1.0, 0.0, 0.0)).norm() < 1e-12);
    }
}
