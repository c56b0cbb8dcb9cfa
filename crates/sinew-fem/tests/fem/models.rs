//! Small models and random numbers shared by the tests.

use sinew_fem::Solver as _;
use sinew_fem::material::{Law, MaterialSpec, VolumeForm};
use sinew_fem::model::PinParams;
use sinew_fem::{BodyParams, Control, Model, NewtonSolver, SolverParams, State, StepError, StepReport};
use sinew_geometry::CellMesh;
use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};
use sinew_math::Vec3;

/// A linear congruential generator with fixed seed: reproducible noise in [−1, 1).
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }

    pub fn vectors(&mut self, count: usize) -> Vec<Vec3> {
        (0..count).map(|_| self.vector()).collect()
    }
}

pub fn tets(size: [f64; 3], cells: [usize; 3]) -> CellMesh {
    box_tets(size.into(), cells, TetPattern::Kuhn).unwrap()
}

pub fn hexes(size: [f64; 3], cells: [usize; 3]) -> CellMesh {
    box_hexes(size.into(), cells).unwrap()
}

/// The mesh, translated.
pub fn at(mesh: &CellMesh, offset: Vec3) -> CellMesh {
    mesh.mapped(|x| x + offset).unwrap().0
}

pub fn spec(law: Law) -> MaterialSpec {
    MaterialSpec::with_young(law, 1e4, 0.3)
}

/// A body of one material, 1000 kg/m³, undamped, at rest.
pub fn body(name: &str, mesh: CellMesh, material: MaterialSpec) -> BodyParams {
    let cells = mesh.cell_count();
    BodyParams {
        name: name.into(),
        mesh,
        materials: vec![material; cells],
        densities: vec![1000.0; cells],
        mass_damping: 0.0,
        stiffness_damping: 0.0,
        tissue_damping: 0.0,
        start: Vec::new(),
        velocities: Vec::new(),
        volume: VolumeForm::Pointwise,
        surface: None,
        lattice: None,
        deformation: Default::default(),
    }
}

pub fn nodes_where(mesh: &CellMesh, is_in: impl Fn(Vec3) -> bool) -> Vec<u32> {
    (0..mesh.node_count() as u32).filter(|&n| is_in(mesh.positions()[n as usize])).collect()
}

/// Pins all axes of these nodes, with rotations about `pivot`.
pub fn pin(body: usize, name: &str, nodes: Vec<u32>, pivot: Vec3) -> PinParams {
    PinParams { body, name: name.into(), nodes, axes: [true; 3], pivot, offsets: Vec::new() }
}

/// A model with its state, commands and solver.
pub struct Run {
    pub model: Model,
    pub state: State,
    pub control: Control,
    pub solver: NewtonSolver,
}

impl Run {
    pub fn new(model: Model, params: SolverParams) -> Self {
        let (state, control) = (model.initial_state(), model.initial_control());
        Self { model, state, control, solver: NewtonSolver::new(params) }
    }

    pub fn set(&mut self, channel: &str, value: f64) {
        self.control.set_by_name(channel, value).unwrap();
    }

    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        self.solver.step(&self.model, &mut self.state, &self.control, dt)
    }

    /// Moves the unknowns and updates the points.
    pub fn disturb(&mut self, mut place: impl FnMut(usize, Vec3) -> Vec3) {
        for (unknown, x) in self.state.unknowns.vectors.iter_mut().enumerate() {
            let fixed = self.model.kinematics.fixed(unknown);
            let moved = place(unknown, *x);
            for axis in 0..3 {
                if !fixed[axis] {
                    x[axis] = moved[axis];
                }
            }
        }
        self.model.kinematics.place(&self.state.unknowns, &mut self.state.positions);
    }

    pub fn momentum(&self) -> Vec3 {
        sinew_fem::diagnostics::momentum(&self.model, &self.state, 0..self.model.kinematics.point_count())
    }

    pub fn is_finite(&self) -> bool {
        self.state.positions.iter().chain(&self.state.velocities).all(|v| v.is_finite())
    }
}
