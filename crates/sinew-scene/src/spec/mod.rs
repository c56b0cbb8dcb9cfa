//! The scene as plain data: the contents of a scene file, in SI units, with all defaults filled in.
//!
//! Each table is declared once; decoder, schema and reference page come from the declaration. Laws declare their keys
//! themselves; sources of meshes call their generators. Forces are elsewhere.

pub mod anatomy;
pub mod art;
pub mod body;
pub mod contact;
pub mod expect;
pub mod lab;
pub mod law;
pub mod layer;
pub mod material;
pub mod mesh;
pub mod motion;
pub mod muscle;
pub mod record;
pub mod region;
pub mod removal;
pub mod rig;
pub mod rigid;
pub mod solver;
pub mod strand;
pub mod study;
pub mod tissue;

use std::collections::BTreeMap;

use self::{
    body::Body,
    expect::{Expectation, expectation},
    lab::Lab,
    record::Record,
    rigid::{Collider, Rigid},
    solver::{Live, Newmark, Substeps, SubstepsCodec},
    study::Study,
};
use crate::{
    decode::{
        Codec, Context,
        codec::{any_quantity, flag, number, quantity, text, time, whole, word},
        compound::{list, map, one_or_many, track, vector},
        shape::{Definitions, Shape},
        table::table,
        tree::{Node, Value},
    },
    source::Source,
    track::Track,
    value::Dimension,
};

words! {
    /// The axis that points up.
    pub enum Up {
        /// The x axis.
        "x" => X,
        /// The y axis.
        "y" => Y,
        /// The z axis.
        "z" => Z,
    }
}

impl Up {
    /// The unit vector that points up.
    pub fn direction(self) -> [f64; 3] {
        match self {
            Self::X => [1.0, 0.0, 0.0],
            Self::Y => [0.0, 1.0, 0.0],
            Self::Z => [0.0, 0.0, 1.0],
        }
    }
}

words! {
    /// What is solved in each frame.
    pub enum SolverKind {
        /// Dynamics by backward Euler: inertia, damping, impact.
        "implicit_euler" => ImplicitEuler,
        /// Dynamics by the two-step backward differentiation formula: second order, loses little energy.
        "bdf2" => Bdf2,
        /// Dynamics by Newmark's method: second order, loses no energy with its default parameters. Does not support
        /// rigid bodies.
        "newmark" => Newmark,
        /// Dynamics by central differences: no systems to solve, but many short steps. Does not support rigid bodies
        /// and bindings.
        "explicit" => Explicit,
        /// Static equilibrium in each frame; time only changes boundary conditions and controls.
        "quasistatic" => Quasistatic,
    }
}

words! {
    /// How the linear systems of Newton's method are solved.
    pub enum LinearSolver {
        /// Chooses by the number of nodes, the compressibility and the regime; the report gives the reason.
        "auto" => Auto,
        /// Conjugate gradients, preconditioned by diagonal blocks plus a coarse grid.
        "cg" => Cg,
        /// Conjugate gradients, preconditioned by smoothing followed by a coarse grid: for large, nearly incompressible
        /// bodies.
        "v_cycle" => VCycle,
        /// Conjugate gradients, preconditioned by a factorization of the rest state that rotates with the flesh: for
        /// small bodies.
        "rest_factor" => RestFactor,
        /// Sparse Cholesky factorization.
        "cholesky" => Cholesky,
        /// Conjugate gradients, preconditioned by multigrid: the choice of `auto` for scenes with bodies on lattices.
        "multigrid" => Multigrid,
    }
}

words! {
    /// How the nonlinear equations of a step are solved.
    pub enum NonlinearSolver {
        /// Newton's method.
        "newton" => Newton,
        /// Nonlinear multigrid on bodies on lattices, then Newton's method: for sudden motion, such as a limb that
        /// turns by 90 degrees in one frame.
        "fas" => Fas,
    }
}

words! {
    /// How the residual (the unbalanced forces) is measured.
    pub enum ResidualNorm {
        /// The square root of the sum of squares.
        "euclidean" => Euclidean,
        /// The largest residual of any node.
        "largest" => Largest,
    }
}

words! {
    /// When element Hessians are projected to be positive definite.
    pub enum Projection {
        /// Only when negative curvature appears: keeps the quadratic convergence of Newton's method.
        "on_demand" => OnDemand,
        /// In every iteration.
        "always" => Always,
    }
}

table! {
    /// How a step is solved.
    pub struct SolverSettings as "solver" {
        /// What is solved in each frame.
        kind as "type": SolverKind = word(), default("implicit_euler");
        /// Newton stops when the residual is this fraction of the residual before the step, or in dynamics of weight and
        /// loads if they are larger.
        tolerance: f64 = number().positive().below(1.0), default(1e-6);
        /// How the residual is measured.
        norm: ResidualNorm = word(), default("euclidean");
        /// Maximum number of Newton iterations of a step; after that the step is halved. The limit is four times as
        /// high where the step starts with inverted cells, and thirty times as high as a last resort of quasistatics
        /// while the energy falls. All such extra iterations of a frame together are limited to forty times this
        /// number. Few steps need more than 10; flesh that starts in a random shape needs many.
        max_newton: usize = whole(1, 100_000), default(100);
        /// How the linear systems are solved.
        linear: LinearSolver = word(), default("auto");
        /// Extra multigrid sweeps over the boundaries of bodies on lattices: for thin flesh.
        band_sweeps: usize = whole(0, 100), default(0);
        /// How the nonlinear equations of a step are solved.
        nonlinear: NonlinearSolver = word(), default("newton");
        /// When element Hessians are projected to be positive definite.
        projection: Projection = word(), default("on_demand");
        /// Quasistatics only: a step that starts with inverted cells may start from a harmonic guess instead, a shape
        /// that follows from the pins alone, where that has less energy.
        untangle: bool = flag(), default(false);
        /// Steps per frame, or "adaptive". Default: 1; for `explicit` as many as stability needs.
        substeps: Option<Substeps> = SubstepsCodec, optional, example("adaptive");
        /// With adaptive steps: allowed position error of each step, as a fraction of the size of the largest body.
        accuracy: f64 = number().positive().below(1.0), default(1e-3);
        /// With explicit steps: length of a step as a fraction of the stable one.
        safety: f64 = number().positive().below(1.0), default(0.9);
        /// Parameters of `type = "newmark"`.
        newmark: Option<Newmark> = table(), optional, example({ beta = 0.3025, gamma = 0.6 });
        /// Ends steps after a fixed number of iterations instead of at the tolerance, for interactive use.
        live: Option<Live> = table(), optional, example({ newton = 2, linear = 30 });
        /// How many times a failed step may be halved before the run ends with an error.
        max_halvings: usize = whole(0, 30), default(6);
    }
}

/// Gravity: a magnitude along −up, or a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gravity {
    /// Magnitude \[m/s²\], pointing against `up`.
    Down(f64),
    /// Acceleration \[m/s²\].
    Vector([f64; 3]),
}

struct GravityCodec;

impl Codec for GravityCodec {
    type Output = Gravity;

    fn decode(&self, node: &Node, cx: &mut Context) -> Gravity {
        let acceleration = quantity(Dimension::ACCELERATION);
        match node.value {
            Value::List(_) => Gravity::Vector(vector(acceleration).decode(node, cx)),
            _ => Gravity::Down(acceleration.decode(node, cx)),
        }
    }

    fn encode(&self, value: &Gravity) -> Node {
        let acceleration = quantity(Dimension::ACCELERATION);
        match value {
            Gravity::Down(magnitude) => acceleration.encode(magnitude),
            Gravity::Vector(components) => vector(acceleration).encode(components),
        }
    }

    fn fallback(&self) -> Gravity {
        Gravity::Down(0.0)
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        let acceleration = quantity(Dimension::ACCELERATION);
        Shape::Either(vec![acceleration.shape(defs), vector(acceleration).shape(defs)])
    }
}

table! {
    /// A named point, region, section or lever to watch. Values of points and regions are `NAME.position.x`,
    /// `NAME.displacement.x`, `NAME.velocity.x` and so on. On a rigid, probes can only watch points; its own values are
    /// `RIGID.position.x`, `RIGID.velocity.x`, `RIGID.rotation.x` \[rad\] and `RIGID.momentum.x`.
    pub struct Probe as "probe" {
        /// The name of the probe, with which the names of its values begin.
        name: String = crate::decode::codec::name("letters, digits, `_` and `-`"), required, example("tip");
        /// The body or rigid that the probe watches; optional when there is only one.
        body: Option<String> = text("name of a body or rigid"), optional, example("beam");
        /// A point in body coordinates \[m\]. A point outside the body by more than a cell moves to the nearest point
        /// of the body, with a note; a point farther away than the size of the body is an error. Points of a rigid may
        /// be anywhere.
        at: Option<[f64; 3]> = vector(crate::decode::codec::length()), optional, example(["40 cm", "5 cm", "5 cm"]);
        /// A region of the body; values are means over its nodes.
        region: Option<String> = text("name of a region"), optional, example("x-max");
        /// A plane in the world that cuts the body: `NAME.area` is the area of the cut \[m²\].
        section: Option<region::PlaneRegion> = table(), optional, example({ point = ["10 cm", 0, 0], normal = [1, 0, 0] });
        /// The force of a pin or of tendons about an axis.
        lever: Option<Lever> = table(), optional;
    }
}

table! {
    /// The torque about an axis by which a muscle acts on its pin or its tendons: `NAME.torque` \[N m\], positive by
    /// the right-hand rule, and `NAME.moment_arm` \[m\], torque divided by force.
    pub struct Lever as "lever" {
        /// The region of a pin. Either this or `tendon`.
        pin: Option<String> = text("region of a pin"), optional, example("insertion");
        /// The name of a group of tendons. Either this or `pin`.
        tendon: Option<String> = text("name of tendons"), optional, example("achilles");
        /// A point on the axis, in world coordinates \[m\].
        point: [f64; 3] = vector(crate::decode::codec::length()), default([0, 0, 0]);
        /// Direction of the axis; any length.
        axis: [f64; 3] = crate::decode::compound::direction(), required, example([0, 1, 0]);
    }
}

table! {
    /// A scene. Lengths, masses and times without a unit are in m, kg and s.
    pub struct Scene as "scene" {
        /// A sentence that describes the scene in reports.
        title: Option<String> = text("a sentence"), optional, example("A soft block falls on the floor");
        /// The axis that points up.
        up: Up = word(), default("z");
        /// How long the simulation runs \[s\].
        duration: f64 = time().at_least(0.0), required, example("2 s");
        /// Frames per second \[1/s\].
        frame_rate: f64 = quantity(Dimension::FREQUENCY).positive(), default(60);
        /// Gravity: a downward magnitude, or a vector \[m/s²\].
        gravity: Gravity = GravityCodec, default("9.81 m/s^2"), example(["0 m/s^2", 0, "-9.81 m/s^2"]);
        /// Number of threads. Default: all cores. Results do not depend on it.
        threads: Option<usize> = whole(1, 1024), optional, example(2);
        /// How a step is solved.
        solver: SolverSettings = table(), default({});
        /// Anatomy of models: bodies, rigids and muscles by name. Reading a scene writes them out, and leaves this list
        /// empty.
        anatomy: Vec<anatomy::Anatomy> = list(table()), default([]), example([{ model = "model" }]);
        /// Deformable bodies.
        body: Vec<Body> = list(table()), default([]);
        /// Rigid bodies that move freely.
        rigid: Vec<Rigid> = list(table()), default([]);
        /// Rigid obstacles that rest or follow a prescribed motion.
        collider: Vec<Collider> = list(table()), default([]);
        /// Contact of bodies with each other and with themselves.
        contact: Option<contact::Contact> = table(), optional, example({ mode = "barrier", friction = 0.3 });
        /// Control values over time, by the name of their channel.
        control: BTreeMap<String, Track<f64>> = map(track(any_quantity())), default({});
        /// Number of natural frequencies of the initial state to compute; they are recorded as `frequency.1`,
        /// `frequency.2` … \[Hz\].
        modes: usize = whole(0, 100), default(0);
        /// Points, regions, sections and levers to watch.
        probe: Vec<Probe> = list(table()), default([]);
        /// Files to write to the output folder.
        record: Record = table(), default({});
        /// Expected results, by the name of a value. They make the scene a test.
        expect: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Runs the scene for several values of a parameter and fits an order of convergence.
        study: Option<Study> = table(), optional;
        /// How `sinew lab` examines a muscle of the scene, and the expected results.
        lab: Lab = table(), default({}), example({ clamp = "insertion", lengths = [0.7, 1.4] });
    }
    plus {
        /// The source text, for messages that point into the file.
        source: Source,
    }
}

/// Maximum number of frames of a scene: a day at a thousand frames per second, and small enough to count in memory.
pub(crate) const MAX_FRAMES: f64 = 1e8;

impl Scene {
    /// Gravity as a vector \[m/s²\].
    pub fn gravity_vector(&self) -> [f64; 3] {
        match self.gravity {
            // Subtraction from zero keeps the other components +0.
            Gravity::Down(magnitude) => self.up.direction().map(|c| 0.0 - c * magnitude),
            Gravity::Vector(vector) => vector,
        }
    }

    /// Number of frames after the first one: duration × frame rate, rounded.
    pub fn frame_count(&self) -> usize {
        (self.duration * self.frame_rate).round().min(MAX_FRAMES) as usize
    }

    /// Mesh files that the scene names.
    pub fn files(&self) -> Vec<std::path::PathBuf> {
        let named = self.body.iter().filter_map(|body| body.mesh.source().file().map(|(_, file)| file));
        let rigs = self.body.iter().filter_map(|body| body.rig.as_ref());
        let bones = rigs.flat_map(|rig| &rig.bones).filter_map(|bone| bone.mesh.as_deref());
        let files = named.chain(bones).filter(|file| self.source.attached(file).is_none());
        let anatomy = self.body.iter().filter_map(|body| match &body.mesh {
            mesh::Mesh::Anatomy(mesh) => mesh.file_in_model(),
            _ => None,
        });
        files.map(str::to_string).chain(anatomy).map(|file| self.source.resolve(&file)).collect()
    }

    /// Every file that the scene reads, including itself, the scenes it compares with and data of the laboratory.
    pub fn inputs(&self) -> Vec<std::path::PathBuf> {
        let compared = self.expect.values().flatten().filter_map(|expectation| expectation.compare.as_ref());
        let mut inputs: Vec<_> = compared.map(|compare| self.source.resolve(&compare.scene)).collect();
        inputs.extend(self.files());
        let rigs = self.body.iter().filter_map(|body| body.rig.as_ref());
        let motions = rigs.filter_map(|rig| rig.motion.as_deref()).filter(|motion| !crate::motion::is_built_in(motion));
        inputs.extend(motions.map(|file| self.source.resolve(file)));
        let data = lab::Protocol::words().filter_map(|(_, protocol, _)| self.lab.beside.of(protocol));
        inputs.extend(data.map(|file| self.source.resolve(file)));
        inputs.push(self.source.name().into());
        inputs
    }

    /// Time between frames \[s\].
    pub fn frame_duration(&self) -> f64 {
        1.0 / self.frame_rate
    }
}
