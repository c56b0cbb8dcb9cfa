//! The apparatus, which holds, moves and measures a muscle: a simulation with channels set before every step.

use sinew_fem::force::Load as LoadForce;
use sinew_fem::{Command, Simulation, State};
use sinew_math::Vec3;
use sinew_scene::spec::body::{Load, Traction};
use sinew_scene::{Scene, Track};

use super::session::{Session, Stop};
use super::specimen::Specimen;
use crate::compile::compile;

/// Whether the force of fibers depends on their speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speed {
    /// No: every state is in equilibrium.
    Ignored,
    /// Yes, as in the scene.
    Felt,
}

/// How the apparatus acts on its end of the muscle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grip {
    /// Holds it at a position.
    Held,
    /// Pulls with a force; the end may move along the axis.
    Loaded,
}

/// Settings of the apparatus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Setting {
    /// Displacement of a held clamp from rest, along the axis \[m\].
    pub travel: f64,
    /// Activation, from 0 to 1.
    pub activation: f64,
    /// Force on a loaded clamp, along the axis \[N\].
    pub load: f64,
}

impl Setting {
    fn blend(self, to: Self, share: f64) -> Self {
        let between = |a: f64, b: f64| if share == 1.0 { b } else { a + (b - a) * share };
        Self {
            travel: between(self.travel, to.travel),
            activation: between(self.activation, to.activation),
            load: between(self.load, to.load),
        }
    }
}

/// Measured values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// Mean displacement of the nodes of the clamp from rest, along the axis \[m\].
    pub travel: f64,
    /// Force of the muscle on the clamp along the axis \[N\].
    pub force: f64,
    /// Mean, smallest and largest length of the fibers, in optimal lengths.
    pub length: f64,
    pub shortest: f64,
    pub longest: f64,
    /// Mean active tension of the fibers per rest area \[Pa\].
    pub active: f64,
    /// Mean angle between fibers and axis \[rad\].
    pub pennation: f64,
    /// Volume of the body relative to that at rest.
    pub volume: f64,
    /// Extents of the body \[m\].
    pub extents: Vec3,
}

/// A simulation of the muscle in a grip.
pub(super) struct Apparatus<'a> {
    specimen: &'a Specimen,
    simulation: Simulation,
    grip: Grip,
    setting: Setting,
    /// Area over which a load is spread \[m²\]; 1 if nodes share it.
    area: f64,
    /// Mean rest position of the nodes of the clamp along the axis \[m\].
    rest_place: f64,
    step_secs: f64,
}

/// Minimum fraction of a change that is tried when the whole fails.
const MIN_PART: f64 = 1.0 / 128.0;

impl<'a> Apparatus<'a> {
    /// Compiles the scene for this grip, with steps of this length \[s\].
    pub fn new(specimen: &'a Specimen, grip: Grip, speed: Speed, step_secs: f64) -> Result<Self, Stop> {
        let mut scene = specimen.scene.clone();
        scene.frame_rate = 1.0 / step_secs;
        let body = &mut scene.body[specimen.body];
        if speed == Speed::Ignored {
            let muscle = &mut body.muscle[specimen.muscle];
            muscle.max_velocity = None;
            muscle.velocity_curve.clear();
        }
        if grip == Grip::Loaded {
            let (axis, _) = specimen.coordinate_axis()?;
            body.pin[specimen.clamp].axes.xyz[axis] = false;
        }
        let (simulation, area) = match grip {
            Grip::Held => (compile(&scene)?, 1.0),
            Grip::Loaded => loaded(specimen, scene)?,
        };
        let mut apparatus =
            Self { specimen, simulation, grip, setting: Setting::default(), area, rest_place: 0.0, step_secs };
        apparatus.rest_place = apparatus.clamp_place();
        Ok(apparatus)
    }

    /// The current setting.
    pub fn setting(&self) -> Setting {
        self.setting
    }

    /// The current state and setting, for [`adopt`](Self::adopt).
    pub fn state(&self) -> (State, Setting) {
        (self.simulation.state().clone(), self.setting)
    }

    /// Puts the muscle at rest into the shape of another apparatus, or of an earlier state.
    pub fn adopt(&mut self, (shape, setting): &(State, Setting)) -> Result<(), Stop> {
        let mut state = self.simulation.model().initial_state();
        state.unknowns.clone_from(&shape.unknowns);
        state.positions.clone_from(&shape.positions);
        state.reactions.clone_from(&shape.reactions);
        state.history.activations.clone_from(&shape.history.activations);
        if !state.history.fiber_start.is_empty() {
            state.history.fiber_start.clone_from(&shape.positions);
        }
        state.history.collider_poses.clone_from(&shape.history.collider_poses);
        // Not at time 0: a failed step there would be repeated without load.
        state.time = self.step_secs;
        self.simulation.set_state(&state);
        self.command(*setting)
    }

    fn command(&mut self, setting: Setting) -> Result<(), Stop> {
        let Specimen { body_name: body, muscle_name, clamp_name, axis, .. } = self.specimen;
        let mut set = |channel: String, value: f64| {
            let refused = |error: sinew_fem::control::ControlError| Stop::Failed(error.to_string());
            self.simulation.command(&Command::SetChannel { channel, value }).map_err(refused)
        };
        set(format!("{body}.activation.{muscle_name}"), setting.activation)?;
        for (k, name) in ["x", "y", "z"].iter().enumerate() {
            match self.grip {
                Grip::Held => set(format!("{body}.pin.{clamp_name}.translation.{name}"), setting.travel * axis[k])?,
                Grip::Loaded => {
                    let region = &self.specimen.scene.body[self.specimen.body].pin[self.specimen.clamp].region;
                    set(format!("{body}.load.{region}.{name}"), setting.load * axis[k] / self.area)?;
                }
            }
        }
        self.setting = setting;
        Ok(())
    }

    /// One time step; the setting holds at its end.
    pub fn step(&mut self, setting: Setting, session: &mut Session<'_>) -> Result<(), Stop> {
        session.check()?;
        self.command(setting)?;
        let report = self.simulation.step_frame().map_err(Stop::from)?;
        session.stepped(&report)
    }

    /// Approaches a setting in equal parts, and in smaller ones where these fail; for muscles in equilibrium, where
    /// time has no effect.
    pub fn approach(&mut self, setting: Setting, parts: usize, session: &mut Session<'_>) -> Result<(), Stop> {
        let start = self.setting;
        if start == setting && self.simulation.frame_index() > 0 {
            return Ok(());
        }
        let (mut done, mut part) = (0.0, 1.0 / parts.max(1) as f64);
        while done < 1.0 {
            let next = if done + part > 1.0 - 1e-9 { 1.0 } else { done + part };
            match self.step(start.blend(setting, next), session) {
                Ok(()) => done = next,
                Err(Stop::Step(_)) if part > MIN_PART => {
                    part *= 0.5;
                    self.command(start.blend(setting, done))?;
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// Moves the held clamp until the fibers have this mean length at the activation \[optimal lengths\], by the secant
    /// method.
    pub fn find_length(&mut self, length: f64, activation: f64, session: &mut Session<'_>) -> Result<Reading, Stop> {
        let specimen = self.specimen;
        let mut slope = specimen.fiber_length * specimen.group.optimal_stretch / specimen.cosine;
        let mut travel = if self.setting.activation > 0.0 { self.setting.travel } else { specimen.travel(length) };
        self.approach(Setting { travel, activation: self.setting.activation, load: 0.0 }, 1, session)?;
        let steps = if self.setting.activation == activation { 1 } else { ACTIVATION_PARTS };
        self.approach(Setting { travel, activation, load: 0.0 }, steps, session)?;
        let mut reading = self.reading();
        for _ in 0..MAX_SECANTS {
            let missing = length - reading.length;
            if missing.abs() < LENGTH_TOLERANCE {
                return Ok(reading);
            }
            // Long distances in small parts: fibers may yield on the descending limb.
            let way = (missing * slope).clamp(-0.1 * specimen.fiber_length, 0.1 * specimen.fiber_length);
            travel += way;
            self.approach(Setting { travel, activation, load: 0.0 }, 1, session)?;
            let next = self.reading();
            let change = next.length - reading.length;
            if change.abs() > 1e-9 && (way / change) > 0.0 {
                slope = (way / change).min(5.0 * slope);
            }
            reading = next;
        }
        Err(Stop::Failed(format!(
            "no position of the clamp gives the fibers a mean length of {length}: the last trial gave {:.4}",
            reading.length
        )))
    }

    fn clamp_place(&self) -> f64 {
        let model = self.simulation.model();
        let pin = model.pins.iter().filter(|pin| pin.body == self.specimen.body).nth(self.specimen.clamp);
        let points = pin.map_or(&[][..], |pin| &pin.points);
        let sum: Vec3 = points.iter().map(|&point| self.simulation.state().positions[point as usize]).sum();
        (sum / points.len().max(1) as f64).dot(self.specimen.axis)
    }

    /// The current measured values.
    pub fn reading(&self) -> Reading {
        let Specimen { body_name: body, muscle_name: muscle, clamp_name: clamp, axis, group, .. } = self.specimen;
        let frame = self.simulation.frame();
        let probe = |name: String| frame.probe(&name).unwrap_or(f64::NAN);
        let vector = |name: String| Vec3::from(["x", "y", "z"].map(|k| probe(format!("{name}.{k}"))));
        let direction = |k: &str| probe(format!("{body}.fiber_direction.{k}.{muscle}"));
        let along = Vec3::from(["x", "y", "z"].map(direction)).dot(*axis);
        let length = |what: &str| probe(format!("{body}.{what}.{muscle}")) / group.optimal_stretch;
        Reading {
            travel: self.clamp_place() - self.rest_place,
            force: match self.grip {
                Grip::Held => vector(format!("{body}.force.{clamp}")).dot(*axis),
                Grip::Loaded => self.setting.load,
            },
            length: length("fiber_stretch"),
            shortest: length("fiber_stretch.min"),
            longest: length("fiber_stretch.max"),
            active: probe(format!("{body}.fiber_tension.active.{muscle}")),
            pennation: along.abs().clamp(0.0, 1.0).acos(),
            volume: probe(format!("{body}.volume")),
            extents: vector(format!("{body}.max")) - vector(format!("{body}.min")),
        }
    }
}

/// Compiles a scene with a load on the clamp, spread evenly over its faces so that it pulls all fibers alike; nodes share
/// it where the clamp has no faces. Also returns the area of the faces \[m²\], or 1.
fn loaded(specimen: &Specimen, mut scene: Scene) -> Result<(Simulation, f64), Stop> {
    let body = &mut scene.body[specimen.body];
    let region = body.pin[specimen.clamp].region.clone();
    let name = format!("{}.load.{region}", specimen.body_name);
    // Alone or before others, so that its channel has the plain name of the region.
    body.traction = vec![Traction { region: region.clone(), value: Track::constant([0.0; 3]) }];
    if let Ok(simulation) = compile(&scene) {
        let load = simulation.model().forces_of::<LoadForce>().find(|load| load.name == name);
        let area = load.map_or(0.0, |load| load.points.iter().map(|(_, share)| share.x).sum());
        if area > 0.0 {
            return Ok((simulation, area));
        }
    }
    let body = &mut scene.body[specimen.body];
    body.traction.clear();
    body.force.insert(0, Load { region, value: Track::constant([0.0; 3]) });
    Ok((compile(&scene)?, 1.0))
}

/// Number of parts in which a resting muscle is activated.
pub(super) const ACTIVATION_PARTS: usize = 4;

/// Tolerance of the mean length \[optimal lengths\].
const LENGTH_TOLERANCE: f64 = 2e-4;
const MAX_SECANTS: usize = 12;
