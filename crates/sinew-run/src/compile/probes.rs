//! Probes of a scene: points, regions, sections, levers, errors and frequencies.

use sinew_fem::force::{AttachTarget, TendonStrand};
use sinew_fem::manufactured::ErrorProbe;
use sinew_fem::modal::{FrequencyProbe, natural_frequencies};
use sinew_fem::model::Model;
use sinew_fem::probe::{LeverHold, LeverProbe, PointProbe, Probe, SectionProbe};
use sinew_geometry::embedding::Embedding;
use sinew_geometry::shape::{Pose, Shape};
use sinew_math::Vec3;
use sinew_scene::spec::motion::pose;
use sinew_scene::{Diagnostic, Dimension, format_number, format_quantity, spec};

use super::Compiler;
use super::body::CompiledBody;

/// A point outside its body by more than this fraction of the body's size gets a note; a surface that cells only
/// approximate is nearer.
const NOTED: f64 = 0.05;

/// The usual mistake behind a point that is far away.
const UNITS: &str = "lengths without a unit are in meters, for example `\"5 cm\"` is 0.05; `at` is in body coordinates, before `rotation` and `position`";

impl Compiler<'_> {
    pub(super) fn probes(
        &mut self,
        model: &Model,
        bodies: &[CompiledBody],
    ) -> Result<Vec<Box<dyn Probe>>, Vec<Diagnostic>> {
        let scene = self.scene;
        let mut probes: Vec<Box<dyn Probe>> = Vec::new();
        let mut problems = Vec::new();
        for (index, probe) in scene.probe.iter().enumerate() {
            match self.probe(model, bodies, index, probe) {
                Ok(probe) => probes.push(probe),
                Err(problem) => problems.push(problem),
            }
        }
        for (body, compiled) in bodies.iter().enumerate() {
            if let Some(field) = compiled.manufactured {
                probes.push(Box::new(ErrorProbe { body, field }));
            }
        }
        if scene.modes > 0 && !scene.rigid.is_empty() {
            problems.push(scene.problem("modes", "natural frequencies need a scene without rigid bodies"));
        } else if scene.modes > 0 && !model.lattices.is_empty() {
            problems.push(scene.problem("modes", "natural frequencies need a scene without lattices"));
        } else if scene.modes > 0 {
            match natural_frequencies(model, scene.modes) {
                Ok(frequencies) => probes.push(Box::new(FrequencyProbe { frequencies })),
                Err(error) => {
                    let message = format!("natural frequencies cannot be computed: {error}");
                    problems.push(scene.problem("modes", message));
                }
            }
        }
        if problems.is_empty() { Ok(probes) } else { Err(problems) }
    }

    /// A named point, the mean over a region, a section or a lever.
    fn probe(
        &mut self,
        model: &Model,
        bodies: &[CompiledBody],
        index: usize,
        probe: &spec::Probe,
    ) -> Result<Box<dyn Probe>, Diagnostic> {
        let target = match &probe.body {
            Some(name) => self.target(name),
            None if bodies.is_empty() => AttachTarget::Rigid(0),
            None => AttachTarget::Body(0),
        };
        let body = match target {
            AttachTarget::Body(body) => body,
            AttachTarget::Rigid(rigid) => return Ok(self.rigid_probe(model, rigid, probe)),
            AttachTarget::World => {
                return Err(self.scene.problem(&format!("probe[{index}]"), "this probe belongs to nothing"));
            }
        };
        let compiled = &bodies[body];
        let first = model.bodies[body].points.start as u32;
        let name = probe.name.clone();
        if let Some(plane) = &probe.section {
            let triangles = compiled.regions.mesh().boundary_triangles();
            let triangles = triangles.into_iter().map(|triangle| triangle.map(|node| first + node)).collect();
            let (point, normal) = (Vec3::from(plane.point), Vec3::from(plane.normal).normalized());
            return Ok(Box::new(SectionProbe { name, body, triangles, point, normal }));
        }
        if let Some(lever) = &probe.lever {
            return self.lever_probe(model, body, index, lever, name);
        }
        let (carriers, rest) = if let Some(region) = &probe.region {
            let path = format!("probe[{index}].region");
            let nodes = compiled.regions.nodes(region).map_err(|message| self.scene.problem(&path, message))?;
            let weight = 1.0 / nodes.len() as f64;
            let rest = nodes.iter().map(|&n| compiled.rest[n as usize]).sum::<Vec3>() * weight;
            (nodes.iter().map(|&n| (first + n, weight)).collect(), rest)
        } else {
            let (embedding, rest) = self.bind_point(model, body, compiled, index, probe)?;
            let (nodes, weights) = embedding.entries(0);
            (nodes.iter().zip(weights).map(|(&n, &w)| (first + n, w)).collect(), rest)
        };
        Ok(Box::new(PointProbe { name, carriers, rest }))
    }

    /// Binds the point of a probe to the flesh and finds its rest position. A point outside gets a note; one farther
    /// away than the size of the body is an error.
    fn bind_point(
        &mut self,
        model: &Model,
        body: usize,
        compiled: &CompiledBody,
        index: usize,
        probe: &spec::Probe,
    ) -> Result<(Embedding, Vec3), Diagnostic> {
        let at = compiled.pose.to_world(Vec3::from(probe.at.unwrap_or([0.0; 3])));
        let path = format!("probe[{index}].at");
        let mesh = &model.bodies[body].mesh;
        let embedding = Embedding::bind(mesh, &[at]).map_err(|error| self.scene.problem(&path, error.to_string()))?;
        let (distance, size) = (embedding.report().max_distance, mesh.bounds().size().norm());
        let where_it_is = outside_of(&probe.name, distance, &format!("body `{}`", model.bodies[body].name));
        if distance > size {
            let problem = self.scene.problem(&path, where_it_is);
            let label = format!("the body is {} across", about(size));
            return Err(problem.label(label).hint(UNITS));
        }
        let mut rest = [at];
        if embedding.report().clamped > 0 {
            embedding.positions(mesh.positions(), &mut rest);
            // Less than a millionth of the body is rounding.
            let clean = |x: f64| format_number(rounded(if x.abs() < 1e-6 * size { 0.0 } else { x }));
            let place = compiled.pose.to_local(rest[0]).to_array().map(clean).join(", ");
            self.notes
                .push(format!("{where_it_is}; the probe watches the nearest point of the body instead, ({place}) m"));
        } else if distance > NOTED * size {
            self.notes.push(format!("{where_it_is}; it moves as if the nearest cell extended that far"));
        }
        Ok((embedding, rest[0]))
    }

    /// A point that moves with a rigid body, inside or outside: a weighted sum of its six point masses, which lie in
    /// pairs on three axes.
    fn rigid_probe(&mut self, model: &Model, rigid: usize, probe: &spec::Probe) -> Box<dyn Probe> {
        let (data, body) = (&self.scene.rigid[rigid], &model.rigid_bodies[rigid]);
        let at = pose(data.position, data.rotation.as_ref()).to_world(Vec3::from(probe.at.unwrap_or([0.0; 3])));
        let state = model.initial_state();
        let masses = &state.positions[body.points.clone()];
        let center = masses.iter().copied().sum::<Vec3>() / masses.len() as f64;
        let mut carriers = Vec::with_capacity(masses.len());
        let mut square = 0.0;
        for (pair, point) in masses.chunks_exact(2).zip((body.points.start as u32..).step_by(2)) {
            let arm = (pair[1] - pair[0]) * 0.5;
            let share = 0.5 * (at - center).dot(arm) / arm.norm_squared();
            carriers.extend([(point, 1.0 / 6.0 - share), (point + 1, 1.0 / 6.0 + share)]);
            square += arm.norm_squared();
        }
        let block = model.kinematics.rigid_blocks()[body.block as usize];
        let placed = Pose {
            translation: state.unknowns.vectors[block.translation as usize],
            rotation: state.unknowns.rotations[body.block as usize],
        };
        // The point masses of a block lie on its faces, those of other shapes a little deeper.
        let (distance, size) = (body.shape.distance(placed.to_local(at)), 2.0 * square.sqrt());
        if distance > size {
            let where_it_is = outside_of(&probe.name, distance, &format!("rigid `{}`", body.name));
            self.notes.push(format!("{where_it_is}, with which it moves nevertheless; {UNITS}"));
        }
        Box::new(PointProbe { name: probe.name.clone(), carriers, rest: at })
    }

    fn lever_probe(
        &self,
        model: &Model,
        body: usize,
        index: usize,
        lever: &spec::Lever,
        name: String,
    ) -> Result<Box<dyn Probe>, Diagnostic> {
        let own = &model.bodies[body].name;
        let (key, asked, hold) = match (&lever.pin, lever.tendon.as_deref().unwrap_or_default()) {
            (Some(region), _) => {
                let pin = model.pins.iter().position(|pin| pin.body == body && pin.name == *region);
                ("pin", region.as_str(), pin.map(LeverHold::Pin))
            }
            (None, name) => {
                let full = format!("{own}.tendon.{name}");
                let tendon = model.forces_of::<TendonStrand>().position(|tendon| tendon.name == full);
                ("tendon", name, tendon.map(LeverHold::Tendon))
            }
        };
        let Some(hold) = hold else {
            let message = format!("body `{own}` has no {key} `{asked}`");
            return Err(self.scene.problem(&format!("probe[{index}].lever.{key}"), message));
        };
        let (point, axis) = (Vec3::from(lever.point), Vec3::from(lever.axis).normalized());
        Ok(Box::new(LeverProbe { name, hold, point, axis }))
    }
}

fn outside_of(probe: &str, distance: f64, whose: &str) -> String {
    format!("the point of probe `{probe}` lies {} outside of {whose}", about(distance))
}

/// A length in readable units.
fn about(length: f64) -> String {
    format_quantity(rounded(length), Dimension::LENGTH)
}

/// Rounds to three digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
