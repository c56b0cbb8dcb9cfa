//! The examined muscle: its supports, the length of its fibers and their maximum force.

use sinew_fem::elastic::FiberGroup;
use sinew_fem::model::Model;
use sinew_geometry::procedural;
use sinew_math::Vec3;
use sinew_muscle::{Actuator, ActuatorError, ActuatorParams, Curve, Pennation};
use sinew_scene::spec::mesh::Mesh;
use sinew_scene::spec::{Gravity, Scene, SolverKind, solver::Substeps};
use sinew_scene::{Diagnostic, SceneError, Track, suggest};

use crate::compile::compile;

/// A muscle of a scene, ready for an apparatus.
pub(super) struct Specimen {
    /// The scene with everything at rest: no gravity, no inertia, no activation, no motion of pins.
    pub scene: Scene,
    /// Index of the body.
    pub body: usize,
    /// Index of the muscle in the body.
    pub muscle: usize,
    /// Names of both in channels and probes.
    pub body_name: String,
    pub muscle_name: String,
    /// Index of the clamp among the pins of the body, and its name.
    pub clamp: usize,
    pub clamp_name: String,
    /// Unit vector along which the apparatus pulls.
    pub axis: Vec3,
    /// Mean length of the fibers at rest \[m\].
    pub fiber_length: f64,
    /// Mean cosine of the angle between fibers and axis at rest.
    pub cosine: f64,
    /// Rest volume of the cells with its fibers \[m³\].
    pub volume: f64,
    /// Distance from the other pins to the clamp at rest \[m\].
    pub path_length: f64,
    /// Active stress at optimal length \[Pa\].
    pub stress: f64,
    /// Curves of the fibers.
    pub group: FiberGroup,
    /// Smallest cross-section along the axis as a part of the mean; `None` for pennate muscles, whose fibers do not run
    /// from one end to the other.
    pub thinnest_section: Option<f64>,
    /// Number of cells of the body.
    pub cells: usize,
}

/// Cosine of the pennation from which on fibers run from end to end: 18°, more than those of spindles.
const PARALLEL: f64 = 0.95;

/// Sections in which the thickness of a muscle is measured.
const SECTIONS: usize = 12;

/// Cosine from which on an axis counts as a coordinate axis: a deviation of 0.06° costs a millionth of the force.
const ALIGNED: f64 = 1.0 - 1e-6;

impl Specimen {
    /// Finds the muscle of `[lab]`.
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        let one = |problem: Diagnostic| scene.error(vec![problem]);
        let (body, muscle) = choose_muscle(scene).map_err(one)?;
        let clamp = choose_clamp(scene, body).map_err(one)?;
        let prepared = at_rest(scene, body);
        let simulation = compile(&prepared)?;
        let model = simulation.model();
        if model.lattice_of(body).is_some() {
            let problem =
                scene.problem(&format!("body[{body}].mesh"), "the laboratory examines muscles of bodies on meshes");
            return Err(one(problem.hint("use `element = \"tet4\"` or `\"hex8\"` instead of a lattice")));
        }
        let pins: Vec<_> = model.pins.iter().filter(|pin| pin.body == body).collect();
        let place = |pin: &sinew_fem::model::Pin| {
            let sum: Vec3 = pin.points.iter().map(|&point| simulation.state().positions[point as usize]).sum();
            sum / pin.points.len().max(1) as f64
        };
        let others: Vec<&&sinew_fem::model::Pin> =
            pins.iter().enumerate().filter(|(k, _)| *k != clamp).map(|(_, pin)| pin).collect();
        let anchor = others.iter().map(|pin| place(pin)).sum::<Vec3>() / others.len().max(1) as f64;
        let arm = place(pins[clamp]) - anchor;
        let axis = match scene.lab.axis {
            Some(axis) => Vec3::from(axis).normalized(),
            None if others.is_empty() || !(arm.norm() > 0.0) => {
                let problem =
                    scene.problem("lab", "nothing but the clamp holds the muscle, so it has no line of action");
                return Err(one(problem.hint("pin its other end as well, or give `axis`")));
            }
            None => snapped(arm.normalized()),
        };
        let summary = model.fiber_summary(body, muscle, simulation.state(), simulation.control());
        if !(summary.rest_volume > 0.0) {
            let path = format!("body[{body}].muscle[{muscle}]");
            return Err(one(scene.problem(&path, "this muscle has no cells: they all belong to later muscles")));
        }
        let [start, end] = ends_along(model, body, muscle, axis);
        let fiber_length = scene.lab.fiber_length.or_else(|| procedural_length(scene, body)).unwrap_or(end - start);
        let group = model.elastic[model.bodies[body].elastic.clone()]
            .iter()
            .find_map(|block| block.fiber_groups().get(muscle))
            .cloned()
            .unwrap_or_default();
        // Fibers have no sign; those of a spindle are not exactly parallel.
        let cosine = summary.direction.dot(axis).abs().clamp(1e-3, 1.0);
        Ok(Self {
            body,
            muscle,
            body_name: model.bodies[body].name.clone(),
            muscle_name: model.muscles_of(body)[muscle].name.clone(),
            clamp,
            clamp_name: pins[clamp].name.clone(),
            axis,
            fiber_length,
            cosine,
            volume: summary.rest_volume,
            path_length: arm.dot(axis).abs(),
            stress: scene.body[body].muscle[muscle].stress,
            group,
            thinnest_section: (cosine > PARALLEL).then(|| thinnest_section(model, body, muscle, axis)).flatten(),
            cells: model.bodies[body].mesh.cell_count(),
            scene: prepared,
        })
    }

    /// Physiological cross-section V/ℓ \[m²\] (CHE-08).
    pub fn cross_section(&self) -> f64 {
        self.volume / self.fiber_length
    }

    /// Maximum isometric force along the fibers \[N\]: stress times cross-section.
    pub fn max_force(&self) -> f64 {
        self.stress / self.group.optimal_stretch * self.cross_section()
    }

    /// Developed force of an ideal muscle along the axis \[N\]: fibers of one length between sheets at constant distance.
    pub fn ideal_force(&self, length: f64, activation: f64) -> f64 {
        let stretch = length * self.group.optimal_stretch;
        let across = 1.0 - self.cosine * self.cosine;
        let cosine = (1.0 - across / (stretch * stretch)).max(0.0).sqrt();
        self.max_force() * activation * self.group.curves.active.value(length) * cosine
    }

    /// Displacement of the clamp from rest for fibers of this length, in optimal lengths, if only they change \[m\].
    /// Between sheets at constant distance, (ℓ cos α)² = ℓ² − (ℓ₀ sin α₀)².
    pub fn travel(&self, length: f64) -> f64 {
        let stretch = length * self.group.optimal_stretch;
        let across = 1.0 - self.cosine * self.cosine;
        self.fiber_length * ((stretch * stretch - across).max(0.0).sqrt() - self.cosine)
    }

    /// The coordinate axis along which the clamp can be freed, and the sign of our axis along it.
    pub fn coordinate_axis(&self) -> Result<(usize, f64), SceneError> {
        let found = (0..3).find(|&k| self.axis[k].abs() > ALIGNED);
        found.map(|k| (k, self.axis[k].signum())).ok_or_else(|| {
            let message = format!(
                "the muscle pulls along ({:.3}, {:.3}, {:.3}); its clamp can only be freed along x, y or z",
                self.axis.x, self.axis.y, self.axis.z
            );
            let problem = self.scene.problem("lab", message);
            self.scene.error(vec![problem.hint("turn the body by `rotation`, or give `axis`")])
        })
    }

    /// Maximum shortening speed \[optimal lengths per second\]; an error if force does not depend on speed.
    pub fn max_velocity(&self) -> Result<f64, SceneError> {
        let muscle = &self.scene.body[self.body].muscle[self.muscle];
        muscle.max_velocity.ok_or_else(|| {
            let path = format!("body[{}].muscle[{}]", self.body, self.muscle);
            let problem = self
                .scene
                .problem(&path, "the force of this muscle does not depend on speed, so it has no speed under a load");
            self.scene.error(vec![problem.hint("give `max_velocity`, for example `max_velocity = \"10 1/s\"`")])
        })
    }

    /// The muscle as one fiber on a tendon of this slack length \[m\] \[Zajac89\]: the dashed line for comparison.
    pub fn actuator(&self, tendon_slack_length: f64) -> Result<Actuator, ActuatorError> {
        Actuator::new(ActuatorParams {
            max_force: self.max_force(),
            optimal_fiber_length: self.fiber_length * self.group.optimal_stretch,
            tendon_slack_length,
            pennation_angle: self.cosine.acos(),
            pennation: Pennation::ConstantThickness,
            max_speed: self.group.max_velocity,
            // Bounds velocities where nothing else does; too small to be visible.
            damping: 0.01,
            fiber: self.group.curves.clone(),
            tendon: Curve::tendon_zajac(),
        })
    }

    /// Rest length of the tendons \[m\]: the path without the fibers.
    pub fn tendon_length(&self) -> f64 {
        (self.path_length - self.fiber_length * self.cosine).max(0.0)
    }
}

/// Replaces an axis that is nearly a coordinate axis by that axis.
fn snapped(axis: Vec3) -> Vec3 {
    match (0..3).find(|&k| axis[k].abs() > ALIGNED) {
        Some(k) => Vec3::unit(k) * axis[k].signum(),
        None => axis,
    }
}

/// Problems of the names in `[lab]`; none if it names nothing, because few scenes are for the laboratory.
pub(crate) fn unknown_specimen(scene: &Scene) -> Option<Diagnostic> {
    let lab = &scene.lab;
    if lab.body.is_none() && lab.muscle.is_none() && lab.clamp.is_none() {
        return None;
    }
    let clamp = |(body, _)| lab.clamp.as_ref().map_or(Ok(0), |_| choose_clamp(scene, body));
    choose_muscle(scene).and_then(clamp).err()
}

fn choose_muscle(scene: &Scene) -> Result<(usize, usize), Diagnostic> {
    let body = match &scene.lab.body {
        Some(name) => scene.body.iter().position(|body| body.name == *name).ok_or_else(|| {
            let problem = scene.problem("lab.body", format!("there is no body `{name}`"));
            hinted(problem, name, scene.body.iter().map(|body| body.name.as_str()), "bodies")
        })?,
        None => scene.body.iter().position(|body| !body.muscle.is_empty()).ok_or_else(|| {
            let problem = scene.problem("lab", "no body of this scene has a muscle to examine");
            problem.hint("give one `muscle = [{ region = \"belly\" }]`")
        })?,
    };
    let muscles = &scene.body[body].muscle;
    if muscles.is_empty() {
        let problem = scene.problem("lab.body", format!("the body `{}` has no muscle", scene.body[body].name));
        return Err(problem.hint("give it `muscle = [{ region = \"belly\" }]`"));
    }
    let names = || muscles.iter().map(|muscle| muscle.name.as_ref().unwrap_or(&muscle.region).as_str());
    let Some(wanted) = &scene.lab.muscle else { return Ok((body, 0)) };
    match names().position(|name| name == wanted) {
        Some(muscle) => Ok((body, muscle)),
        None => {
            let problem = scene.problem("lab.muscle", format!("`{}` has no muscle `{wanted}`", scene.body[body].name));
            Err(hinted(problem, wanted, names(), "muscles"))
        }
    }
}

fn choose_clamp(scene: &Scene, body: usize) -> Result<usize, Diagnostic> {
    let pins = &scene.body[body].pin;
    let find = |region: &str| pins.iter().position(|pin| pin.region == region);
    match &scene.lab.clamp {
        Some(region) => find(region).ok_or_else(|| {
            let message = format!("no pin of `{}` holds the region `{region}`", scene.body[body].name);
            hinted(
                scene.problem("lab.clamp", message),
                region,
                pins.iter().map(|pin| pin.region.as_str()),
                "pinned regions",
            )
        }),
        None => find("insertion").or(pins.len().checked_sub(1)).ok_or_else(|| {
            let problem =
                scene.problem(&format!("body[{body}]"), "no pin holds this muscle, so no force can be measured");
            problem.hint("for example `pin = [{ region = \"origin\" }, { region = \"insertion\" }]`")
        }),
    }
}

fn hinted<'a>(problem: Diagnostic, word: &str, known: impl Iterator<Item = &'a str> + Clone, kind: &str) -> Diagnostic {
    match suggest::hint(word, known, kind) {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// The scene for the laboratory: at rest, without expectations.
fn at_rest(scene: &Scene, body: usize) -> Scene {
    let mut scene = scene.clone();
    scene.solver.kind = SolverKind::Quasistatic;
    scene.solver.substeps = Some(Substeps::Fixed(1));
    scene.solver.live = None;
    scene.gravity = Gravity::Down(0.0);
    scene.control.clear();
    scene.modes = 0;
    scene.study = None;
    // `[lab.expect]` has the expectations of a protocol.
    scene.expect.clear();
    for body in &mut scene.body {
        for muscle in &mut body.muscle {
            (muscle.activation, muscle.excitation) = (Track::constant(0.0), None);
        }
    }
    scene.body[body].pin.iter_mut().for_each(|pin| pin.motion = None);
    scene.body[body].start = None;
    scene
}

/// Fiber length of a procedural muscle.
fn procedural_length(scene: &Scene, body: usize) -> Option<f64> {
    let Mesh::Muscle(mesh) = &scene.body[body].mesh else { return None };
    procedural::muscle(&mesh.params()).ok().map(|made| made.fiber_length)
}

/// Calls `visit` with the extent along an axis \[m\] and the volume \[m³\] of each cell of a muscle at rest.
fn for_each_cell(model: &Model, body: usize, muscle: usize, axis: Vec3, mut visit: impl FnMut([f64; 2], f64)) {
    let mesh = &model.bodies[body].mesh;
    let volumes = mesh.cell_volumes();
    for block in &model.elastic[model.bodies[body].elastic.clone()] {
        for (k, &cell) in block.cells().iter().enumerate() {
            let fiber = block.fiber_of(k);
            if fiber.stress == 0.0 || usize::from(fiber.group) != muscle {
                continue;
            }
            let places = mesh.cell_nodes(cell as usize).iter().map(|&node| mesh.positions()[node as usize].dot(axis));
            let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
            visit([low, high], volumes[cell as usize]);
        }
    }
}

/// Ends of the cells of a muscle along an axis \[m\].
fn ends_along(model: &Model, body: usize, muscle: usize, axis: Vec3) -> [f64; 2] {
    let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
    for_each_cell(model, body, muscle, axis, |[low, high], _| ends = [ends[0].min(low), ends[1].max(high)]);
    ends
}

/// The smallest cross-section of a muscle along an axis as a part of the mean. The sections at both ends are left out,
/// where slanted ends share them with tendons.
fn thinnest_section(model: &Model, body: usize, muscle: usize, axis: Vec3) -> Option<f64> {
    let [start, end] = ends_along(model, body, muscle, axis);
    let width = (end - start) / SECTIONS as f64;
    let mut volumes = [0.0; SECTIONS];
    for_each_cell(model, body, muscle, axis, |[low, high], volume| {
        for (k, sum) in volumes.iter_mut().enumerate() {
            let (from, to) = (start + k as f64 * width, start + (k + 1) as f64 * width);
            *sum += volume * (high.min(to) - low.max(from)).max(0.0) / (high - low);
        }
    });
    let mean = volumes.iter().sum::<f64>() / SECTIONS as f64;
    let inner = &volumes[1..SECTIONS - 1];
    Some(inner.iter().copied().fold(f64::INFINITY, f64::min) / mean).filter(|part| part.is_finite())
}
