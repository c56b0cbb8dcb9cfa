//! Penalty contact with a collider, of surface points of flesh and rigid bodies, and of inner nodes of flesh, which
//! reach the collider only when it collapses.
//!
//! With signed distance φ, normal n = ∇φ and area A of a point,
//! ```math
//! E_n = \tfrac12 k A\, \langle -\varphi \rangle^2,
//! ```
//! with friction and restitution as in [`crate::contact`].

use std::ops::Range;

use sinew_geometry::shape::{Pose, Shape};
use sinew_math::{Mat3, Vec3};

use super::{EnergyPart, Force, Linearized, RowBounds, StepContext};
use crate::collider::Collider;
use crate::contact::{Meeting, Party, Response, Touch, allowed_depth, recall, travel};
use crate::control::Control;
use crate::material::Tangent;
use crate::state::{ContactMemory, State};

/// Contact of the surface of one body or rigid body with one collider.
pub struct ContactForce {
    /// Name in reports.
    pub name: String,
    /// The body or rigid body.
    pub party: Party,
    /// Points that have its mass.
    pub points: Range<usize>,
    /// Its cell size, half the thickness of a rigid body \[m\].
    pub cell: f64,
    /// Index of the collider.
    pub collider: usize,
    /// The collider (for its pose during the step).
    pub shape: Collider,
    /// First entry of each contact point in `entries`, and one past the last.
    pub offsets: Vec<u32>,
    /// Points and weights that carry the contact points.
    pub entries: Vec<(u32, f64)>,
    /// Area of each contact point at rest \[m²\].
    pub areas: Vec<f64>,
    /// Penalty stiffness k: pressure per depth \[Pa/m\].
    pub stiffness: f64,
    /// Coefficient of friction μ.
    pub friction: f64,
    /// β of the restitution: damping times the speed of the impact.
    pub bounce: f64,
    /// Slip at which friction reaches its maximum, per step length \[m/s\].
    pub creep: f64,
    /// Index of this force among the contact forces of the model.
    pub index: usize,
    /// Index of its speed of meeting in the history of the state.
    pub meeting: usize,
    /// Depth of each point that the start allows \[m\]; empty where nothing starts inside. It is taken back in the
    /// first half second.
    pub grace: Vec<f64>,
    /// Minimum distance of each point from the collider \[m\]; empty where all may touch it.
    pub clearances: Vec<f64>,
}

impl ContactForce {
    /// Points and weights that carry a contact point.
    pub(crate) fn carriers(&self, point: usize) -> &[(u32, f64)] {
        &self.entries[self.offsets[point] as usize..self.offsets[point + 1] as usize]
    }

    #[inline]
    pub(crate) fn interpolate(&self, point: usize, x: &[Vec3]) -> Vec3 {
        self.carriers(point).iter().fold(Vec3::zero(), |sum, &(p, w)| sum + x[p as usize] * w)
    }

    /// Number of contact points.
    pub fn point_count(&self) -> usize {
        self.areas.len()
    }

    /// Collects the points that are inside the collider at the start of a step of length `dt`; returns the speed at
    /// which the two met. `masses` are those of all points \[kg\].
    pub fn find_touches(
        &self,
        masses: &[f64],
        state: &State,
        control: &Control,
        dt: f64,
        touches: &mut Vec<Touch>,
    ) -> f64 {
        touches.clear();
        let Some(pose) = state.history.collider_poses.get(self.collider) else { return 0.0 };
        let mut meeting = Meeting::default();
        self.for_each_at(pose, &state.positions, state.time, |point, distance, normal, local| {
            // Gradients of level sets have unit length only to the accuracy of their grids.
            let normal = normal.normalized();
            let normal_force = -self.stiffness * self.areas[point] * distance;
            let slip = recall(&state.history.contact_memory, self.key(point));
            let held = pose.rotation.rotate(slip) * (self.creep * dt);
            let response = Response { normal, normal_force, friction: self.friction, held, push: 0.0 };
            meeting.add(normal, normal_force);
            touches.push(Touch { point: point as u32, response, anchor: local });
        });
        if self.bounce == 0.0 {
            return 0.0;
        }
        let (velocity, mass) = travel(masses, self.points.clone(), &state.velocities);
        let motion = self.shape.pose(control).translation - pose.translation;
        let before = state.history.meeting_speeds.get(self.meeting);
        let met = meeting.complete(velocity - motion / dt, before.copied().unwrap_or(0.0), self.bounce, mass, dt);
        for Touch { response, .. } in touches.iter_mut() {
            response.push = meeting.push(response.normal, response.normal_force);
        }
        met
    }

    /// Writes the held slips of the touches at the end of a step.
    pub(crate) fn remember(
        &self,
        touches: &[Touch],
        x: &[Vec3],
        control: &Control,
        dt: f64,
        memories: &mut Vec<ContactMemory>,
    ) {
        let pose = self.shape.pose(control);
        memories.extend(touches.iter().filter(|touch| !touch.response.is_idle()).map(|touch| {
            let slip = touch.response.remembered_slip(self.moved(touch, &pose, x), self.creep * dt);
            ContactMemory { key: self.key(touch.point as usize), slip: pose.rotation.conjugate().rotate(slip) }
        }));
    }

    /// Identity of a point in the history of contacts, distinct from all vertices.
    fn key(&self, point: usize) -> [u32; 4] {
        [u32::MAX, self.index as u32, point as u32, 0]
    }

    /// Motion of a point relative to the collider, now at `pose`, since it was found to touch.
    fn moved(&self, touch: &Touch, pose: &Pose, x: &[Vec3]) -> Vec3 {
        self.interpolate(touch.point as usize, x) - pose.to_world(touch.anchor)
    }

    /// Calls `visit(point, distance, normal)` for each contact point inside the collider at `x`.
    fn for_each_inside(&self, x: &[Vec3], ctx: &StepContext<'_>, mut visit: impl FnMut(usize, f64, Vec3)) {
        let pose = self.shape.pose(ctx.control);
        self.for_each_at(&pose, x, ctx.time, |point, distance, normal, _| visit(point, distance, normal));
    }

    /// Allows the depth at which points start at `x` with the collider at `pose`, beyond what the weight of a body may
    /// cause. The allowance is temporary; pushed out at once, points would fly off.
    pub(crate) fn allow_start(&mut self, pose: &Pose, x: &[Vec3], ordinary: f64) {
        let mut grace = vec![0.0; self.point_count()];
        self.grace.clear();
        self.for_each_at(pose, x, 0.0, |point, distance, _, _| grace[point] = (-distance - ordinary).max(0.0));
        if grace.iter().any(|&depth| depth > 0.0) {
            self.grace = grace;
        }
    }

    /// Calls `visit(point, distance, normal, local)` for each contact point nearer to the collider at `pose` than its
    /// minimum distance, less the depth allowed at `time`.
    pub(crate) fn for_each_at(
        &self,
        pose: &Pose,
        x: &[Vec3],
        time: f64,
        mut visit: impl FnMut(usize, f64, Vec3, Vec3),
    ) {
        let shape = &self.shape.shape;
        for point in 0..self.point_count() {
            let local = pose.to_local(self.interpolate(point, x));
            let allowed = self.grace.get(point).map_or(0.0, |&depth| allowed_depth(depth, time));
            let kept = self.clearances.get(point).copied().unwrap_or(0.0);
            let distance = shape.distance(local) + allowed - kept;
            if distance < 0.0 {
                visit(point, distance, pose.rotation.rotate(shape.normal(local)), local);
            }
        }
    }

    /// Calls `visit(point, response, moved)` for each lagged touch.
    fn for_each_touch(&self, x: &[Vec3], ctx: &StepContext<'_>, mut visit: impl FnMut(usize, &Response, Vec3)) {
        if self.friction == 0.0 && self.bounce == 0.0 {
            return;
        }
        let pose = self.shape.pose(ctx.control);
        for touch in ctx.contacts.of(self.index) {
            visit(touch.point as usize, &touch.response, self.moved(touch, &pose, x));
        }
    }

    fn scatter(&self, point: usize, force: Vec3, gradient: &mut [Vec3]) {
        for &(p, w) in self.carriers(point) {
            gradient[p as usize] += force * w;
        }
    }

    fn scatter_block(&self, point: usize, block: Mat3, out: &mut Linearized) {
        let carriers = self.carriers(point);
        for &(a, wa) in carriers {
            for &(b, wb) in carriers {
                out.add(a, b, block * (wa * wb));
            }
        }
    }

    /// Energy stored in the penalty alone; friction dissipates and stores nothing \[J\].
    pub fn penalty_energy(&self, x: &[Vec3], ctx: &StepContext<'_>) -> f64 {
        let mut energy = 0.0;
        self.for_each_inside(x, ctx, |point, distance, _| {
            energy += 0.5 * self.stiffness * self.areas[point] * distance * distance;
        });
        energy
    }

    /// Total force of the collider on the body at `x` \[N\].
    pub fn total_force(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Vec3 {
        let mut total = Vec3::zero();
        self.for_each_inside(x, ctx, |point, distance, normal| {
            total -= normal * (self.stiffness * self.areas[point] * distance);
        });
        let epsilon = self.creep * ctx.dt;
        self.for_each_touch(x, ctx, |_, response, moved| total -= response.gradient(moved, epsilon));
        total
    }
}

impl Force for ContactForce {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let mut energy = self.penalty_energy(x, ctx);
        let epsilon = self.creep * ctx.dt;
        self.for_each_touch(x, ctx, |_, response, moved| energy += response.energy(moved, epsilon));
        Some(energy)
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        self.for_each_inside(x, ctx, |point, distance, normal| {
            self.scatter(point, normal * (self.stiffness * self.areas[point] * distance), gradient);
        });
        let epsilon = self.creep * ctx.dt;
        self.for_each_touch(x, ctx, |point, response, moved| {
            self.scatter(point, response.gradient(moved, epsilon), gradient);
        });
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        let pose = self.shape.pose(ctx.control);
        let rotation = pose.rotation.to_matrix();
        self.for_each_at(&pose, x, ctx.time, |point, distance, normal, local| {
            let mut block = Mat3::outer(normal, normal);
            // φ ∇²φ is negative inside convex shapes, so the definite tangent omits it.
            if tangent == Tangent::Exact {
                let curvature = self.shape.shape.curvature(local);
                block += (rotation * curvature).mul_transpose(&rotation) * distance;
            }
            self.scatter_block(point, block * (self.stiffness * self.areas[point]), out);
        });
        let epsilon = self.creep * ctx.dt;
        self.for_each_touch(x, ctx, |point, response, moved| {
            self.scatter_block(point, response.block(moved, epsilon), out);
        });
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for point in 0..self.point_count() {
            let carriers = self.carriers(point);
            for (k, &(a, _)) in carriers.iter().enumerate() {
                pairs.extend(carriers[..k].iter().map(|&(b, _)| (a, b)));
            }
        }
        pairs
    }

    fn stored(&self, x: &[Vec3], ctx: &StepContext<'_>) -> f64 {
        self.penalty_energy(x, ctx)
    }

    fn energy_part(&self) -> EnergyPart {
        EnergyPart::Contact
    }

    fn add_row_bounds(&self, _x: &[Vec3], _control: &Control, bounds: &mut RowBounds<'_>) {
        for (vertex, &area) in self.areas.iter().enumerate() {
            for &(point, weight) in self.carriers(vertex) {
                bounds.stiffness[point as usize] += self.stiffness * area * weight.abs();
            }
        }
    }
}
