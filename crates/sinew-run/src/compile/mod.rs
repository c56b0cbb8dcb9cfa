//! From a scene to a simulation: generates meshes, resolves regions to nodes and turns motions into channels.
//!
//! Problems that only appear here (a missing file, a region without nodes, an open surface) point to their position in
//! the scene file, and all of them are reported at once.

mod body;
mod bones;
mod columns;
mod contact;
mod drive;
mod forces;
mod give_way;
mod jiggle;
mod layers;
mod material_map;
mod mesh;
mod muscles;
mod paint;
mod pins;
mod probes;
mod regions;
mod removals;
mod rig;
mod rig_checks;
mod shapes;
mod solver;
mod strands;

use sinew_fem::elastic::Response;
use sinew_fem::force::{AttachTarget, ForceError};
use sinew_fem::model::{ColliderParams, Model, ModelBuilder, ModelError};
use sinew_fem::surface_check::CheckProbe;
use sinew_fem::{Force, FrameParams, Interrupt, Simulation};
use sinew_math::Vec3;
use sinew_scene::SceneCharacter;
use sinew_scene::spec::material::material_spec;
use sinew_scene::spec::{self, Scene};
use sinew_scene::{Diagnostic, SceneError, format_number, nearest};

use self::drive::{ChannelMotion, TrackDriver};
use self::jiggle::JiggleParams;
pub(crate) use self::solver::substeps;
use crate::overview::RegionSize;
use crate::value_names;

/// Builds the simulation that a scene describes.
pub fn compile(scene: &Scene) -> Result<Simulation, SceneError> {
    compile_with(scene, |_| Vec::new())
}

/// A simulation, and the characters of its scene.
pub(crate) struct Compiled {
    pub simulation: Simulation,
    pub characters: Vec<SceneCharacter>,
    /// Named regions of each body, where they are counted.
    pub regions: Vec<Vec<RegionSize>>,
}

/// Like [`compile`], but also returns the characters.
pub(crate) fn compile_all(scene: &Scene) -> Result<Compiled, SceneError> {
    Compiler::new(scene).run(|_| Vec::new())
}

/// Like [`compile_all`], and counts the regions of bodies.
pub(crate) fn compile_counted(scene: &Scene) -> Result<Compiled, SceneError> {
    let mut compiler = Compiler::new(scene);
    compiler.counts_regions = true;
    compiler.run(|_| Vec::new())
}

/// Like [`compile`], with forces that no scene can describe; `forces` creates them from the model.
pub fn compile_with(
    scene: &Scene,
    forces: impl FnOnce(&Model) -> Vec<Box<dyn Force>>,
) -> Result<Simulation, SceneError> {
    Compiler::new(scene).run(forces).map(|compiled| compiled.simulation)
}

/// The material that the scene gives to a body, with its first muscle, for evaluation at single points.
pub fn response_of(scene: &Scene, body: usize) -> Result<Response, SceneError> {
    let compiler = Compiler::new(scene);
    let spec = &scene.body[body];
    let response = Response::new(material_spec(&spec.material));
    let Some(muscle) = spec.muscle.first() else { return Ok(response) };
    let path = format!("body[{body}].muscle[0]");
    let group = compiler.fiber_group(&path, spec, muscle).map_err(|problem| scene.error(vec![problem]))?;
    let stress = muscle.stress;
    response.with_muscle(group, stress).map_err(|error| scene.error(vec![scene.problem(&path, error.to_string())]))
}

/// State of the compilation.
struct Compiler<'a> {
    scene: &'a Scene,
    problems: Vec<Diagnostic>,
    notes: Vec<String>,
    builder: ModelBuilder,
    driver: TrackDriver,
    /// Bones over which flesh slides: colliders after those of the scene.
    bones: Vec<ColliderParams>,
    characters: Vec<SceneCharacter>,
    jiggles: Vec<JiggleParams>,
    counts_regions: bool,
}

impl<'a> Compiler<'a> {
    fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            problems: Vec::new(),
            notes: Vec::new(),
            builder: ModelBuilder::new(),
            driver: TrackDriver::default(),
            bones: Vec::new(),
            characters: Vec::new(),
            jiggles: Vec::new(),
            counts_regions: false,
        }
    }
}

impl Compiler<'_> {
    fn run(mut self, forces: impl FnOnce(&Model) -> Vec<Box<dyn Force>>) -> Result<Compiled, SceneError> {
        let scene = self.scene;
        self.builder.gravity(Vec3::from(scene.gravity_vector()));
        self.add_rigid_bodies();
        let bodies = self.add_bodies();
        go_on()?;
        self.add_colliders();
        self.add_contacts();
        let removals = self.removals(&bodies);
        if !self.problems.is_empty() {
            return Err(scene.error(self.problems));
        }
        go_on()?;
        let parts = self.kept_parts(&removals);
        let builder = std::mem::take(&mut self.builder);
        let mut model = builder.build().map_err(|error| self.model_error(&error))?;
        go_on()?;
        if let Some(lifted) = self.check_start(&model) {
            drop(model);
            let mut again = Compiler::new(&lifted);
            (again.notes, again.counts_regions) = (self.notes, self.counts_regions);
            return again.run(forces);
        }
        let custom = forces(&model);
        model.forces.extend(custom);
        let probes = self.probes(&model, &bodies);
        self.check_gaps(&model);
        self.driver.resolve(&model, &scene.control, |channel, known| {
            let path = format!("control.\"{channel}\"");
            let problem = scene.problem(&path, format!("there is no control channel \"{channel}\""));
            self.problems.push(match nearest(channel, known.iter().map(String::as_str)) {
                Some(name) => problem.hint(format!("did you mean \"{name}\"?")),
                None => problem.hint(format!("channels of this scene: {}", list_some(known))),
            });
        });
        self.check_activations();
        let probes = probes.map(|mut probes| {
            if scene.contact.as_ref().is_some_and(|contact| contact.check) {
                probes.push(Box::new(CheckProbe));
            }
            probes
        });
        let probes = match probes {
            Ok(probes) if self.problems.is_empty() => probes,
            Ok(_) => return Err(scene.error(self.problems)),
            Err(mut more) => {
                self.problems.append(&mut more);
                return Err(scene.error(self.problems));
            }
        };
        go_on()?;
        let solver = self.solver(&model).map_err(|problem| scene.error(vec![problem]))?;
        let params = FrameParams {
            frame_rate: scene.frame_rate,
            substeps: solver::substeps(scene),
            max_halvings: scene.solver.max_halvings,
        };
        let driver = std::mem::take(&mut self.driver);
        let mut simulation = Simulation::new(model, solver, params, vec![Box::new(driver)], probes);
        simulation.notes = std::mem::take(&mut self.notes);
        let characters = std::mem::take(&mut self.characters);
        self.jiggle(&characters, &mut simulation).map_err(|problems| scene.error(problems))?;
        paint::show_answers(scene, &characters, &mut simulation);
        self.schedule(&mut simulation, parts, &removals).map_err(|problem| scene.error(vec![problem]))?;
        let unknown = value_names::unknown(scene, simulation.probe_names());
        if !unknown.is_empty() {
            return Err(scene.error(unknown));
        }
        let regions =
            if self.counts_regions { bodies.iter().map(|body| body.regions.sizes()).collect() } else { vec![] };
        Ok(Compiled { simulation, characters, regions })
    }

    /// Reports commands for activations that muscles cannot follow.
    fn check_activations(&mut self) {
        for (channel, track) in self.scene.control.iter().filter(|(channel, _)| channel.contains(".activation.")) {
            let outside = track.points().iter().map(|point| point.1).find(|value| !(0.0..=1.0).contains(value));
            self.notes.extend(outside.map(|value| {
                format!("`{channel}` of `[control]` is {}; it acts as if cut to 0 to 1", format_number(value))
            }));
        }
    }

    /// The target of a binding or attachment; names were checked when the scene was read.
    fn target(&self, name: &str) -> AttachTarget {
        if let Some(body) = self.scene.body.iter().position(|body| body.name == name) {
            AttachTarget::Body(body)
        } else if let Some(rigid) = self.scene.rigid.iter().position(|rigid| rigid.name == name) {
            AttachTarget::Rigid(rigid)
        } else {
            AttachTarget::World
        }
    }

    fn model_error(&self, error: &ModelError) -> SceneError {
        let path = match error {
            ModelError::Material { body, .. } => format!("body.{body}.material"),
            ModelError::Density { body, .. } => format!("body.{body}.density"),
            ModelError::Element { body, .. } | ModelError::Hanging { body, .. } => format!("body.{body}.mesh"),
            ModelError::BoundTwice { body, .. }
            | ModelError::PinOnBound { body, .. }
            | ModelError::BindToBound { body, .. }
            | ModelError::Embedding { body, .. } => format!("body.{body}.bind"),
            ModelError::Deformation { body, .. } => format!("body.{body}.deformation"),
            ModelError::LatticeLaw { body, .. } => format!("body.{body}.material"),
            ModelError::Lattice { body, .. } => format!("body.{body}.mesh"),
            ModelError::Muscle { body, .. } => format!("body.{body}.muscle"),
            ModelError::Force(ForceError { body, key, name, .. }) => format!("body.{body}.{key}.{name}"),
            ModelError::Rigid { name, .. } => format!("rigid.{name}"),
        };
        let problem = self.scene.problem(&path, error.to_string());
        self.scene.error(vec![match error {
            ModelError::Element { .. } => problem.hint(
                "a cell needs volume at rest: move its nodes apart or remove the cell; `sinew mesh check` lists all such cells",
            ),
            ModelError::Deformation { .. } => problem.hint("leave `deformation` out to give each node its own place"),
            ModelError::Density { .. } => problem.hint("every cell needs mass, also in quasistatics, where gravity pulls at it"),
            _ => problem,
        }])
    }

    /// Registers the channels of a motion under a prefix.
    fn drive(&mut self, prefix: String, motion: Option<&spec::motion::Motion>) {
        if let Some(motion) = motion {
            self.driver.motions.push(ChannelMotion { prefix, motion: motion.clone() });
        }
    }
}

/// An error if an interrupt was requested.
fn go_on() -> Result<(), SceneError> {
    match Interrupt::ambient().is_wanted() {
        true => Err(SceneError::nowhere(Diagnostic::nowhere("interrupted"))),
        false => Ok(()),
    }
}

/// Rotation center of a motion.
fn pivot(motion: Option<&spec::motion::Motion>) -> Vec3 {
    motion.map_or(Vec3::zero(), |motion| Vec3::from(motion.rotation.as_ref().map_or(motion.about, |turn| turn.through)))
}

/// The first few names of a long list.
fn list_some(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
