//! Restitution: ratio of speeds after and before an impact.
//!
//! Two bodies that meet at speed v and separate at e v feel (1 + a u) times the force N of elastic contact, where u is
//! their speed of approach (Hunt and Crossley, 1975). For a mass m on any contact law, m u du/(1 + a u) = −N dd relates
//! both speeds: with β = a v,
//! ```math
//! \beta - \ln(1 + \beta) = -e\beta - \ln(1 - e\beta),
//! ```
//! for any mass, stiffness and shape. Speeds are those of the centers of mass, because flesh yields more than its
//! surface does. So the law holds for soft bodies too, as long as they do not ring.
//!
//! N and u are those at the start of a step. Dividing u by 1 + a N h/m ensures that steps of any length h reduce the
//! speed and do not reverse it.

use std::ops::Range;

use sinew_math::Vec3;

/// Minimum speed of an impact \[m/s\]: slower ones count as this, because damping grows without bound towards zero.
const SLOWEST_MEETING: f64 = 0.01;
/// Minimum restitution.
const MIN_RESTITUTION: f64 = 0.01;

/// β of a restitution: damping a times the speed of the impact; zero for e = 1.
pub(crate) fn bounce_damping(restitution: f64) -> f64 {
    let e = restitution.max(MIN_RESTITUTION);
    let excess = |beta: f64| beta - beta.ln_1p() + e * beta + (-e * beta).ln_1p();
    // The left side is larger for small damping, the right side towards β = 1/e.
    let (mut low, mut high) = (0.0, 1.0 / e);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    if e < 1.0 { low } else { 0.0 }
}

/// A pair of bodies that meet, for one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Meeting {
    /// Σ N n of its contacts, and Σ N \[N\].
    thrust: Vec3,
    force: f64,
    /// Velocity of the first relative to the second \[m/s\].
    velocity: Vec3,
    /// a \[s/m\], and the divisor of u.
    damping: f64,
    softening: f64,
}

impl Meeting {
    /// Adds a contact of normal force N along n.
    pub fn add(&mut self, normal: Vec3, force: f64) {
        self.thrust += normal * force;
        self.force += force;
    }

    /// Completes the pair after all contacts are added. Returns the speed of the impact, 0 for bodies that do not
    /// touch. `before` is the value returned in the last step, `mass` the effective mass.
    pub fn complete(&mut self, velocity: Vec3, before: f64, beta: f64, mass: f64, dt: f64) -> f64 {
        if self.force == 0.0 {
            return 0.0;
        }
        self.velocity = velocity;
        let length = self.thrust.norm();
        let closing = if length > 0.0 { -velocity.dot(self.thrust) / length } else { 0.0 };
        let met = closing.max(before);
        self.damping = beta / met.max(SLOWEST_MEETING);
        self.softening = 1.0 + self.damping * self.force * dt / mass;
        met
    }

    /// Force along the normal of one of its contacts in addition to N \[N\]; at least −N.
    pub fn push(&self, normal: Vec3, force: f64) -> f64 {
        if self.damping == 0.0 {
            return 0.0;
        }
        force * (-self.velocity.dot(normal) * self.damping / self.softening).max(-1.0)
    }
}

/// Velocity of the center of mass of some points \[m/s\], and their mass \[kg\]; `masses` are those of all points.
pub(crate) fn travel(masses: &[f64], points: Range<usize>, velocities: &[Vec3]) -> (Vec3, f64) {
    let mass: f64 = masses[points.clone()].iter().sum();
    let momentum = points.fold(Vec3::zero(), |sum, point| sum + velocities[point] * masses[point]);
    if mass > 0.0 { (momentum / mass, mass) } else { (Vec3::zero(), f64::INFINITY) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mass on a contact law of any power leaves at e times its initial speed.
    #[test]
    fn a_mass_leaves_with_its_restitution() {
        for (restitution, power) in [(0.2, 1.0), (0.5, 1.0), (0.8, 1.5), (0.95, 3.0)] {
            let beta = bounce_damping(restitution);
            let (mass, stiffness, dt) = (0.5, 100.0, 1e-5);
            let (mut depth, mut speed, mut met) = (0.0f64, 2.0f64, 0.0);
            let normal = Vec3::new(0.0, 0.0, 1.0);
            while depth >= 0.0 {
                let force = stiffness * depth.powf(power);
                let mut meeting = Meeting::default();
                meeting.add(normal, force);
                met = meeting.complete(normal * -speed, met, beta, mass, dt);
                speed -= dt / mass * (force + meeting.push(normal, force));
                depth += dt * speed;
            }
            assert!((-speed / 2.0 - restitution).abs() < 2e-3, "{restitution}: {}", -speed / 2.0);
        }
        assert_eq!(bounce_damping(1.0), 0.0);
    }

    /// A step of any length does not reverse the speed.
    #[test]
    fn long_steps_take_speed_and_do_not_turn_it() {
        let (normal, mass) = (Vec3::new(0.0, 0.0, 1.0), 0.5);
        for dt in [1e-3, 1.0, 1e3] {
            let mut meeting = Meeting::default();
            meeting.add(normal, 100.0);
            meeting.complete(normal * -2.0, 0.0, bounce_damping(0.0), mass, dt);
            let taken = meeting.push(normal, 100.0) * dt / mass;
            assert!(taken > 0.0 && taken <= 2.0, "{taken}");
        }
    }
}
