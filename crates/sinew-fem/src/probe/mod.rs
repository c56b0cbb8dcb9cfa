//! Probes: named numbers over time, such as energies, volumes, reactions and points.

mod activation;
mod gradient;

use sinew_math::Vec3;

pub(crate) use activation::add_activation_gradients;
pub use gradient::ProbeGradient;

use crate::contact::{ContactPoint, Party};
use crate::control::Control;
use crate::diagnostics::{
    BodySummary, angular_momentum, center_of_mass, kinetic_energy, largest_displacement, momentum, shape_error,
};
use crate::force::{ContactForce, ForceView, TendonStrand};
use crate::model::Model;
use crate::report::StepReport;
use crate::state::State;

/// Inputs of a probe.
pub struct ProbeContext<'a> {
    /// The model.
    pub model: &'a Model,
    /// The state at the end of the frame.
    pub state: &'a State,
    /// The commands at the end of the frame.
    pub control: &'a Control,
    /// How the frame was computed.
    pub report: &'a StepReport,
    /// Summary of each body, computed once for all probes.
    pub summaries: &'a [BodySummary],
    /// Contact points of bodies with each other, themselves and colliders.
    pub contacts: &'a [ContactPoint],
    /// New numbers of the points of the first model; `None` while no cells were taken away.
    pub renumbered: Option<&'a [Option<u32>]>,
}

impl ProbeContext<'_> {
    /// Number that a point of the first model has now. Points that a probe watches are never taken away.
    pub fn point(&self, point: u32) -> usize {
        self.renumbered.map_or(point, |numbers| numbers[point as usize].unwrap_or(0)) as usize
    }
}

/// A group of named numbers, evaluated once per frame.
pub trait Probe: Send {
    /// Names, in the order of the values.
    fn names(&self, model: &Model) -> Vec<String>;
    /// Appends one value per name.
    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>);
    /// Appends the points whose numbers it knows: they cannot be taken away.
    fn watched_points(&self, _points: &mut Vec<u32>) {}
    /// Adds the derivatives of the value at `index` by everything it reads. Returns false, and adds nothing, where
    /// there is no closed form.
    fn add_gradient(&self, _ctx: &ProbeContext<'_>, _index: usize, _out: &mut ProbeGradient) -> bool {
        false
    }
}

const AXES: [&str; 3] = ["x", "y", "z"];
/// Components of a symmetric tensor, in the order of their names.
const SYMMETRIC: [(&str, usize, usize); 6] =
    [("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("yz", 1, 2), ("xz", 0, 2)];

/// `prefix.x`, `prefix.y`, `prefix.z`.
pub fn vector_names(prefix: &str) -> impl Iterator<Item = String> + '_ {
    AXES.iter().map(move |axis| format!("{prefix}.{axis}"))
}

/// Appends the three components.
pub fn push_vector(v: Vec3, out: &mut Vec<f64>) {
    out.extend([v.x, v.y, v.z]);
}

/// Probe of the whole model: energies, momentum, effort.
pub struct GlobalProbe;

impl Probe for GlobalProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        let mut names: Vec<String> = [
            "energy.total",
            "energy.elastic",
            "energy.kinetic",
            "energy.gravity",
            "energy.contact",
            "energy.other",
            "inverted_cells",
            "residual",
            "newton_iterations",
            "nonlinear_cycles",
            "linear_iterations",
            "substeps",
            "step",
            "contacts",
            "unconverged_steps",
            "time_error",
            "work.pins",
            "work.damping",
            "work.muscles",
            "work.lost",
        ]
        .map(String::from)
        .to_vec();
        names.extend(vector_names("momentum"));
        names.extend(vector_names("angular_momentum"));
        names
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let ProbeContext { model, state, report, summaries, .. } = *ctx;
        let e = &report.energies;
        let inverted: usize = summaries.iter().map(|summary| summary.inverted_cells).sum();
        out.extend([e.total(), e.elastic, e.kinetic, e.gravity, e.contact, e.other, inverted as f64]);
        out.extend([
            report.relative_residual,
            report.newton_iterations as f64,
            report.nonlinear_cycles as f64,
            report.linear_iterations as f64,
            report.substeps as f64,
            state.history.last_dt,
            report.contacts as f64,
            report.unconverged as f64,
            report.local_error,
            state.history.work.pins,
            state.history.work.damping,
            state.history.work.muscles,
            state.history.work.lost(e.total()),
        ]);
        let all = 0..model.kinematics.point_count();
        push_vector(momentum(model, state, all.clone()), out);
        push_vector(angular_momentum(model, state, all), out);
    }
}

/// Probe of one body: volume, stress, center, momentum, reactions of its pins.
pub struct BodyProbe {
    /// Index of the body.
    pub body: usize,
}

impl Probe for BodyProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let body = &model.bodies[self.body].name;
        let mut names: Vec<String> = [
            "volume",
            "inverted_cells",
            "volume_ratio.min",
            "volume_ratio.max",
            "stress.von_mises.max",
            "energy.elastic",
            "energy.kinetic",
            "flattened_cells",
            "shape_error",
            "displacement.max",
        ]
        .iter()
        .map(|name| format!("{body}.{name}"))
        .collect();
        for (name, ..) in SYMMETRIC {
            names.push(format!("{body}.stress.{name}"));
        }
        for a in AXES {
            for b in AXES {
                names.push(format!("{body}.piola.{a}{b}"));
            }
            for b in AXES {
                names.push(format!("{body}.deformation.{a}{b}"));
            }
        }
        names.extend(vector_names(&format!("{body}.center")));
        names.extend(vector_names(&format!("{body}.momentum")));
        names.extend(vector_names(&format!("{body}.angular_momentum")));
        names.extend(vector_names(&format!("{body}.min")));
        names.extend(vector_names(&format!("{body}.max")));
        for pin in model.pins.iter().filter(|pin| pin.body == self.body) {
            names.push(format!("{body}.force.{}", pin.name));
            names.extend(vector_names(&format!("{body}.force.{}", pin.name)));
            names.extend(vector_names(&format!("{body}.torque.{}", pin.name)));
        }
        for muscle in model.muscles_of(self.body) {
            names.push(format!("{body}.activation.{}", muscle.name));
            names.push(format!("{body}.fiber_stretch.{}", muscle.name));
            if model.lattice_of(self.body).is_none() {
                for what in MUSCLE {
                    names.push(format!("{body}.{what}.{}", muscle.name));
                }
            }
        }
        if has_fibers(model, self.body) {
            names.push(format!("{body}.projection_excess"));
        }
        names
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let ProbeContext { model, state, .. } = *ctx;
        let x = &state.positions;
        let body = &model.bodies[self.body];
        let s = &ctx.summaries[self.body];
        out.extend([
            s.volume,
            s.inverted_cells as f64,
            s.min_volume_ratio,
            s.max_volume_ratio,
            s.max_von_mises,
            s.energy,
            kinetic_energy(model, state, body.points.clone()),
            s.flattened_cells as f64,
            shape_error(model, self.body, x),
            largest_displacement(model, self.body, x),
        ]);
        out.extend(SYMMETRIC.map(|(_, i, j)| s.cauchy[(i, j)]));
        for i in 0..3 {
            out.extend((0..3).map(|j| s.piola[(i, j)]));
            out.extend((0..3).map(|j| s.deformation[(i, j)]));
        }
        push_vector(center_of_mass(model, x, body.points.clone()), out);
        push_vector(momentum(model, state, body.points.clone()), out);
        push_vector(angular_momentum(model, state, body.points.clone()), out);
        let bounds = body.bounds(&x[body.points.clone()]);
        push_vector(bounds.min, out);
        push_vector(bounds.max, out);
        for pin in model.pins.iter().filter(|pin| pin.body == self.body) {
            let held = |reaction: Vec3| {
                Vec3::from(std::array::from_fn(|axis| if pin.axes[axis] { reaction[axis] } else { 0.0 }))
            };
            // Torque about the mean position of the nodes; a pure couple is the same about every point.
            let center = pin.points.iter().map(|&p| x[p as usize]).sum::<Vec3>() / pin.points.len().max(1) as f64;
            let (mut force, mut torque) = (Vec3::zero(), Vec3::zero());
            for &point in &pin.points {
                let reaction = held(state.reactions[point as usize]);
                force += reaction;
                torque += (x[point as usize] - center).cross(reaction);
            }
            out.push(force.norm());
            push_vector(force, out);
            push_vector(torque, out);
        }
        if let Some(block) = model.lattice_of(self.body) {
            for (k, muscle) in block.muscles().iter().enumerate() {
                out.extend([ctx.control.get(muscle.activation), block.fiber_stretch(k, x)]);
            }
        }
        if model.lattice_of(self.body).is_none() {
            for (k, muscle) in model.muscles_of(self.body).iter().enumerate() {
                let s = model.fiber_summary(self.body, k, state, ctx.control);
                out.extend([ctx.control.get(muscle.activation), s.stretch]);
                out.extend([s.shortest, s.longest, s.tension, s.active]);
                push_vector(s.direction, out);
            }
        }
        if has_fibers(model, self.body) {
            out.push(projection_excess(model, self.body, x));
        }
    }

    fn add_gradient(&self, ctx: &ProbeContext<'_>, index: usize, out: &mut ProbeGradient) -> bool {
        let names = self.names(ctx.model);
        let name = &names[index][ctx.model.bodies[self.body].name.len() + 1..];
        out.add_body(ctx, self.body, name)
    }
}

/// Further values of a muscle of a body on a mesh, besides activation and mean stretch: extremes of the stretch,
/// tension per rest area and its active part \[Pa\], and the mean fiber direction.
const MUSCLE: [&str; 7] = [
    "fiber_stretch.min",
    "fiber_stretch.max",
    "fiber_tension",
    "fiber_tension.active",
    "fiber_direction.x",
    "fiber_direction.y",
    "fiber_direction.z",
];

/// Whether a law of the body has a fiber direction, so that its definite tangent may differ from the nearest one.
fn has_fibers(model: &Model, body: usize) -> bool {
    model.elastic[model.bodies[body].elastic.clone()].iter().any(|block| !block.is_isotropic())
}

/// Maximum number of cells per block for [`projection_excess`]: about ten milliseconds of work.
const EXCESS_CELLS: usize = 500;

/// Largest excess of the definite tangent over the exact one, ‖T⁺ − T‖/‖T‖, among evenly spaced cells with fibers.
fn projection_excess(model: &Model, body: usize, x: &[Vec3]) -> f64 {
    let mut most = 0.0f64;
    for block in model.elastic[model.bodies[body].elastic.clone()].iter().filter(|block| !block.is_isotropic()) {
        for cell in (0..block.cell_count()).step_by(block.cell_count().div_ceil(EXCESS_CELLS)) {
            most = most.max(block.projection_excess(cell, x));
        }
    }
    most
}

/// The values that a force reports.
pub struct ForceProbe {
    /// Index of the force in the model.
    pub force: usize,
}

impl Probe for ForceProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        model.forces[self.force].probe_names(&model.channels)
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        ctx.model.forces[self.force].probe(&ForceView { state: ctx.state, control: ctx.control }, out);
    }
}

/// Position and displacement of a named point of a body: a weighted sum of its nodes.
pub struct PointProbe {
    /// Full name, `BODY.NAME`.
    pub name: String,
    /// Points and weights.
    pub carriers: Vec<(u32, f64)>,
    /// Rest position \[m\].
    pub rest: Vec3,
}

impl Probe for PointProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        vector_names(&format!("{}.position", self.name))
            .chain(vector_names(&format!("{}.displacement", self.name)))
            .chain(vector_names(&format!("{}.velocity", self.name)))
            .collect()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let at = |values: &[Vec3]| self.carriers.iter().fold(Vec3::zero(), |s, &(p, w)| s + values[ctx.point(p)] * w);
        let position = at(&ctx.state.positions);
        push_vector(position, out);
        push_vector(position - self.rest, out);
        push_vector(at(&ctx.state.velocities), out);
    }

    fn watched_points(&self, points: &mut Vec<u32>) {
        points.extend(self.carriers.iter().map(|carrier| carrier.0));
    }

    fn add_gradient(&self, ctx: &ProbeContext<'_>, index: usize, out: &mut ProbeGradient) -> bool {
        let is_place = index < 6;
        for &(point, weight) in self.carriers.iter().filter(|_| is_place) {
            out.points[ctx.point(point)][index % 3] += weight;
        }
        is_place
    }
}

/// Area of the cut of a plane through a body.
pub struct SectionProbe {
    /// Name in reports.
    pub name: String,
    /// The body.
    pub body: usize,
    /// Its surface at the start, outward oriented, by points.
    pub triangles: Vec<[u32; 3]>,
    /// A point of the plane \[m\].
    pub point: Vec3,
    /// Its unit normal.
    pub normal: Vec3,
}

impl Probe for SectionProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        vec![format!("{}.area", self.name)]
    }

    /// ½ Σ n · (a × b) over the segments in which the plane cuts the triangles; they run around the flesh.
    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let body = &ctx.model.bodies[self.body];
        let first = body.points.start as u32;
        let bare = ctx.renumbered.map(|_| body.mesh.boundary_triangles());
        let bare = bare.map(|triangles| triangles.iter().map(|t| t.map(|node| first + node)).collect::<Vec<_>>());
        let mut area = 0.0;
        for triangle in bare.as_ref().unwrap_or(&self.triangles) {
            let corners = triangle.map(|point| ctx.state.positions[point as usize] - self.point);
            let heights = corners.map(|p| self.normal.dot(p));
            let (mut enters, mut leaves) = (None, None);
            for i in 0..3 {
                let j = (i + 1) % 3;
                // Corners in the plane count as above it, so that every outline is closed.
                let (is_below, goes_below) = (heights[i] < 0.0, heights[j] < 0.0);
                if is_below != goes_below {
                    let place = corners[i] + (corners[j] - corners[i]) * (heights[i] / (heights[i] - heights[j]));
                    if is_below { enters = Some(place) } else { leaves = Some(place) }
                }
            }
            // Seen along the normal, flesh lies to the left of the path from where a triangle goes below to where it
            // comes up.
            if let (Some(a), Some(b)) = (leaves, enters) {
                area += 0.5 * self.normal.dot(a.cross(b));
            }
        }
        out.push(area);
    }
}

/// What holds a muscle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeverHold {
    /// A pin, by its index.
    Pin(usize),
    /// A group of tendons, by its index among them.
    Tendon(usize),
}

/// Torque of a muscle about an axis, and its moment arm.
pub struct LeverProbe {
    /// Name in reports.
    pub name: String,
    /// What holds the muscle.
    pub hold: LeverHold,
    /// A point of the axis \[m\].
    pub point: Vec3,
    /// Its direction, a unit vector.
    pub axis: Vec3,
}

impl Probe for LeverProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        ["torque", "moment_arm"].map(|what| format!("{}.{what}", self.name)).to_vec()
    }

    /// τ = a · Σ (x − p) × f with the forces f on what holds the muscle, and τ/|Σ f|: minus the derivative of its
    /// length by the angle (CHE fact 20).
    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let ProbeContext { model, state, .. } = *ctx;
        let (mut force, mut torque) = (Vec3::zero(), 0.0);
        let mut add = |place: Vec3, f: Vec3| {
            force += f;
            torque += self.axis.dot((place - self.point).cross(f));
        };
        match self.hold {
            LeverHold::Pin(index) => {
                let pin = &model.pins[index];
                for &point in &pin.points {
                    let reaction = state.reactions[point as usize];
                    let held = std::array::from_fn(|axis| if pin.axes[axis] { -reaction[axis] } else { 0.0 });
                    add(state.positions[point as usize], Vec3::from(held));
                }
            }
            LeverHold::Tendon(index) => {
                if let Some(tendon) = model.forces_of::<TendonStrand>().nth(index) {
                    tendon.for_each_force(&state.positions, ctx.control, |place, f| add(place, -f));
                }
            }
        }
        let size = force.norm();
        out.extend([torque, if size > 0.0 { torque / size } else { 0.0 }]);
    }
}

/// Position and motion of a rigid body.
pub struct RigidProbe {
    /// Index of the rigid body.
    pub rigid: usize,
}

impl Probe for RigidProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let name = &model.rigid_bodies[self.rigid].name;
        vector_names(&format!("{name}.position"))
            .chain(vector_names(&format!("{name}.velocity")))
            .chain(vector_names(&format!("{name}.rotation")))
            .chain(vector_names(&format!("{name}.momentum")))
            .collect()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let ProbeContext { model, state, .. } = *ctx;
        let rigid = &model.rigid_bodies[self.rigid];
        let block = model.kinematics.rigid_blocks()[rigid.block as usize];
        let p = momentum(model, state, rigid.points.clone());
        push_vector(state.unknowns.vectors[block.translation as usize], out);
        push_vector(p / rigid.mass, out);
        push_vector(state.unknowns.rotations[rigid.block as usize].log_map(), out);
        push_vector(p, out);
    }

    fn add_gradient(&self, ctx: &ProbeContext<'_>, index: usize, out: &mut ProbeGradient) -> bool {
        let block = ctx.model.kinematics.rigid_blocks()[ctx.model.rigid_bodies[self.rigid].block as usize];
        if index < 3 {
            out.unknowns[block.translation as usize][index] += 1.0;
        }
        index < 3
    }
}

/// Penalty contact of a body or rigid body with a collider.
pub struct ColliderProbe {
    /// Index among the contact forces.
    pub contact: usize,
}

impl Probe for ColliderProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let Some(contact) = model.forces_of::<ContactForce>().nth(self.contact) else { return Vec::new() };
        let name = &contact.name;
        vector_names(&format!("{name}.force")).chain(["depth", "area"].map(|part| format!("{name}.{part}"))).collect()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let (mut force, mut deepest, mut area) = (Vec3::zero(), 0.0f64, 0.0);
        let Some(contact) = ctx.model.forces_of::<ContactForce>().nth(self.contact) else { return };
        let own = [contact.party, Party::Collider(contact.collider)];
        for point in ctx.contacts.iter().filter(|point| point.between == own) {
            force += point.force;
            deepest = deepest.max(-point.gap);
            area += point.area;
        }
        push_vector(force, out);
        out.extend([deepest, area]);
    }
}

/// Contact of two groups of the collision surface, or of one with itself.
pub struct ContactProbe {
    /// The groups, the smaller first.
    pub groups: [usize; 2],
}

impl ContactProbe {
    /// The orders of the groups that have names: forces on colliders have no effect, and a body has one name for
    /// itself.
    fn orders(&self, model: &Model) -> Vec<[usize; 2]> {
        let [g, h] = self.groups;
        if g == h || matches!(model.contact.groups[h].party, Party::Collider(_)) {
            vec![[g, h]]
        } else {
            vec![[g, h], [h, g]]
        }
    }
}

impl Probe for ContactProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let names = self.orders(model).into_iter().flat_map(|groups| {
            let [a, b] = groups.map(|group| model.contact.groups[group].name.as_str());
            let prefix = format!("{a}.contact.{b}");
            let numbers = ["depth", "area", "load", "distance"].map(|part| format!("{prefix}.{part}"));
            vector_names(&format!("{prefix}.force")).chain(numbers).collect::<Vec<_>>()
        });
        names.collect()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let rule = ctx.model.contact.rule(self.groups[0], self.groups[1]);
        for [g, h] in self.orders(ctx.model) {
            let parties = [g, h].map(|group| ctx.model.contact.groups[group].party);
            let mut force = Vec3::zero();
            let (mut deepest, mut areas, mut load) = (0.0f64, [0.0; 2], 0.0);
            let mut distance = rule.map_or(0.0, |rule| rule.gap);
            for point in ctx.contacts {
                let [a, b] = point.between;
                let sign = match [a, b] == parties {
                    true => 1.0,
                    false if [b, a] == parties => -1.0,
                    false => continue,
                };
                // A body has no resultant force on itself.
                force += point.force * if g == h { 0.0 } else { sign };
                deepest = deepest.max(-point.gap);
                distance = distance.min(point.gap);
                load += point.force.dot(point.normal);
                areas[usize::from(sign < 0.0)] += point.area;
            }
            push_vector(force, out);
            // Coarse surfaces touch with few of their own points, so the side with the larger area counts.
            out.extend([deepest, areas[0].max(areas[1]), load, distance]);
        }
    }
}
