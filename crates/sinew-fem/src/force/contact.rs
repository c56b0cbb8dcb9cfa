//! Penalty contact of surface points (and of inner nodes, which only collapsing flesh brings there) with a rigid collider, and lagged
//! Coulomb friction.
//!
//! With signed distance φ, normal n = ∇φ and area A of a point,
//! $$E_n = \tfrac12 k A\, \langle -\varphi \rangle^2, \qquad
//!   E_f = \mu\, N\, f(|u|), \quad f(y) = \begin{cases} y^2/\epsilon - y^3/(3\epsilon^2) + \epsilon/3 & y < \epsilon \\ y & y \ge \epsilon\end{cases}$$
//! where u is the slip of the step in the tangent plane and N, n are those of the start of the step, so that friction has a potential
//! within the step [Li20]. Below the slip ε the force grows smoothly from zero: a resting body creeps by less than ε per step.

use sinew_geometry::shape::{AnyShape, Pose, Shape};
use sinew_math::{Mat3, Quaternion, Vec3};

use super::{Force, Linearized, StepContext};
use crate::contacts::Touch;
use crate::control::{ChannelId, Control};
use crate::material::Tangent;

/// Slip speed below which friction is smoothed [m/s]: 1 mm/s is invisible at the scale of a body.
const SLIP_SPEED: f64 = 1e-3;

/// Channels that move a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMotion {
    /// Translation from the initial place [m].
    pub translation: [ChannelId; 3],
    /// Rotation vector about the pivot [rad].
    pub rotation: [ChannelId; 3],
}

/// A rigid shape moved by the scene.
#[derive(Clone, Debug)]
pub struct Collider {
    /// Name from the scene.
    pub name: String,
    /// Geometry in its own frame.
    pub shape: AnyShape,
    /// Initial place.
    pub initial: Pose,
    /// Centre of the rotation [m].
    pub pivot: Vec3,
    /// Channels that move it.
    pub motion: ContactMotion,
}

impl Collider {
    /// World from shape under `control`.
    pub fn pose(&self, control: &Control) -> Pose {
        let turn = Quaternion::exp_map(control.vector(self.motion.rotation));
        Pose {
            translation: self.pivot
                + turn.rotate(self.initial.translation - self.pivot)
                + control.vector(self.motion.translation),
            rotation: (turn * self.initial.rotation).normalized(),
        }
    }
}

/// Contact of the surface of one body with one collider.
pub struct ContactForce {
    /// Name in reports.
    pub name: String,
    /// Index of the collider.
    pub collider: usize,
    /// The collider (for its pose during the step).
    pub shape: Collider,
    /// First entry of each contact point in `entries`, and one past the last.
    pub offsets: Vec<u32>,
    /// Points and weights that carry the contact points.
    pub entries: Vec<(u32, f64)>,
    /// Area of each contact point at rest [m²].
    pub areas: Vec<f64>,
    /// Penalty stiffness k: pressure per depth [Pa/m].
    pub stiffness: f64,
    /// Coefficient of friction μ.
    pub friction: f64,
    /// Index of this force among the contact forces of the model.
    pub index: usize,
}

impl ContactForce {
    /// Points and weights that carry a contact point.
    pub(crate) fn carriers(&self, point: usize) -> &[(u32, f64)] {
        &self.entries[self.offsets[point] as usize..self.offsets[point + 1] as usize]
    }

    #[inline]
    fn position(&self, point: usize, x: &[Vec3]) -> Vec3 {
        self.carriers(point).iter().fold(Vec3::zero(), |sum, &(p, w)| sum + x[p as usize] * w)
    }

    /// Number of contact points.
    pub fn point_count(&self) -> usize {
        self.areas.len()
    }

    /// Collects the points that are inside the collider.
    pub fn find_touches(&self, pose: &Pose, x: &[Vec3], touches: &mut Vec<Touch>) {
        self.for_each_at(pose, x, |point, distance, normal, local| {
            let normal_force = -self.stiffness * self.areas[point] * distance;
            // Gradients of level sets are units to the accuracy of their grids only.
            let normal = normal.normalized();
            touches.push(Touch { point: point as u32, normal, normal_force, anchor: local });
        });
    }

    /// Calls `visit(point, distance, normal)` for each contact point inside the collider at `x`.
    fn for_each_inside(&self, x: &[Vec3], ctx: &StepContext<'_>, mut visit: impl FnMut(usize, f64, Vec3)) {
        self.for_each_at(&self.shape.pose(ctx.control), x, |point, distance, normal, _| visit(point, distance, normal));
    }

    /// Calls `visit(point, distance, normal, local)` for each contact point inside the collider at `pose`.
    pub(crate) fn for_each_at(&self, pose: &Pose, x: &[Vec3], mut visit: impl FnMut(usize, f64, Vec3, Vec3)) {
        let shape = &self.shape.shape;
        for point in 0..self.point_count() {
            let local = pose.to_local(self.position(point, x));
            let distance = shape.distance(local);
            if distance < 0.0 {
                visit(point, distance, pose.rotation.rotate(shape.normal(local)), local);
            }
        }
    }

    /// Calls `visit(point, N, normal, u)` with the slip u of each lagged touch.
    fn for_each_slip(&self, x: &[Vec3], ctx: &StepContext<'_>, mut visit: impl FnMut(usize, f64, Vec3, Vec3)) {
        if self.friction == 0.0 {
            return;
        }
        let pose = self.shape.pose(ctx.control);
        for touch in ctx.contacts.of(self.index) {
            let point = touch.point as usize;
            let moved = self.position(point, x) - pose.to_world(touch.anchor);
            let slip = moved - touch.normal * moved.dot(touch.normal);
            visit(point, touch.normal_force, touch.normal, slip);
        }
    }

    fn smoothing(&self, ctx: &StepContext<'_>) -> f64 {
        SLIP_SPEED * ctx.dt
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

    /// Energy stored in the penalty alone; friction dissipates and stores nothing [J].
    pub fn penalty_energy(&self, x: &[Vec3], ctx: &StepContext<'_>) -> f64 {
        let mut energy = 0.0;
        self.for_each_inside(x, ctx, |point, distance, _| {
            energy += 0.5 * self.stiffness * self.areas[point] * distance * distance;
        });
        energy
    }

    /// Total force of the collider on the body at `x` [N].
    pub fn total_force(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Vec3 {
        let mut total = Vec3::zero();
        self.for_each_inside(x, ctx, |point, distance, normal| {
            total -= normal * (self.stiffness * self.areas[point] * distance);
        });
        let epsilon = self.smoothing(ctx);
        self.for_each_slip(x, ctx, |_, normal_force, _, slip| {
            total -= slip * (self.friction * normal_force * friction_slope(slip.norm(), epsilon));
        });
        total
    }
}

/// f'(y)/y of the smoothed friction potential: finite at y = 0.
fn friction_slope(y: f64, epsilon: f64) -> f64 {
    if y < epsilon { (2.0 - y / epsilon) / epsilon } else { 1.0 / y }
}

impl Force for ContactForce {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let mut energy = self.penalty_energy(x, ctx);
        let epsilon = self.smoothing(ctx);
        self.for_each_slip(x, ctx, |_, normal_force, _, slip| {
            let y = slip.norm();
            let f =
                if y < epsilon { y * y / epsilon - y * y * y / (3.0 * epsilon * epsilon) + epsilon / 3.0 } else { y };
            energy += self.friction * normal_force * f;
        });
        Some(energy)
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        self.for_each_inside(x, ctx, |point, distance, normal| {
            self.scatter(point, normal * (self.stiffness * self.areas[point] * distance), gradient);
        });
        let epsilon = self.smoothing(ctx);
        self.for_each_slip(x, ctx, |point, normal_force, _, slip| {
            let slope = friction_slope(slip.norm(), epsilon);
            self.scatter(point, slip * (self.friction * normal_force * slope), gradient);
        });
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        let pose = self.shape.pose(ctx.control);
        let rotation = pose.rotation.to_matrix();
        self.for_each_at(&pose, x, |point, distance, normal, local| {
            let mut block = Mat3::outer(normal, normal);
            // φ ∇²φ is negative inside convex shapes: the definite tangent leaves it out.
            if tangent == Tangent::Exact {
                let curvature = self.shape.shape.curvature(local);
                block += (rotation * curvature).mul_transpose(&rotation) * distance;
            }
            self.scatter_block(point, block * (self.stiffness * self.areas[point]), out);
        });
        let epsilon = self.smoothing(ctx);
        self.for_each_slip(x, ctx, |point, normal_force, normal, slip| {
            let y = slip.norm();
            let slope = friction_slope(y, epsilon);
            let tangent_plane = Mat3::identity() - Mat3::outer(normal, normal);
            // f'' − f'/y along the slip: −1/ε² · y below ε, −1/y above, so that the block stays positive semi-definite.
            let along = if y < epsilon { -y / (epsilon * epsilon) } else { -1.0 / y };
            let direction = if y > 0.0 { slip / y } else { Vec3::zero() };
            let block = tangent_plane * slope + Mat3::outer(direction, direction) * along;
            self.scatter_block(point, block * (self.friction * normal_force), out);
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
}
