//! What a scene amounts to before it runs: sizes, regions, resolution, expected memory and time.

use std::collections::BTreeMap;

use sinew_fem::contact::ContactMode;
use sinew_fem::model::{Body, Model};
use sinew_fem::{Simulation, Substeps};
use sinew_geometry::proximity::ray_triangle;
use sinew_geometry::{Aabb, CellKind};
use sinew_math::Vec3;
use sinew_scene::SceneError;
use sinew_scene::spec::{Scene, SolverKind};

use crate::compile::{Compiled, compile_counted, substeps};

/// Maximum number of places at which the thickness of a body is measured.
const RAYS: usize = 200;
/// Share of these places that are thinner than the thinnest part: corners and tips are thin everywhere.
const TIPS: f64 = 0.05;

/// A region of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionSize {
    /// Its name.
    pub name: String,
    /// Cells whose nodes all lie in it; none for surfaces and points.
    pub cells: usize,
    /// Nodes in it.
    pub nodes: usize,
}

/// A body or rigid of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct PartOverview {
    /// Its name.
    pub name: String,
    /// Edges of its bounding box in the initial pose \[m\].
    pub size: [f64; 3],
    /// Cells and nodes; none for rigids.
    pub cells: usize,
    /// Nodes.
    pub nodes: usize,
    /// Volume at rest \[m³\].
    pub volume: f64,
    /// Thickness of its thinnest part \[m\], and cells across it; none for rigids.
    pub thinnest: Option<(f64, f64)>,
    /// Its named regions.
    pub regions: Vec<RegionSize>,
}

/// A compiled scene with its sizes.
pub struct Overview {
    /// The simulation at its start.
    pub simulation: Simulation,
    /// Bodies, then rigids.
    pub parts: Vec<PartOverview>,
    /// Expected memory \[bytes\].
    pub memory: f64,
    /// Expected time of the run on this machine \[s\], within a factor of five or so.
    pub seconds: f64,
}

impl Overview {
    /// Compiles a scene and measures it.
    pub fn of(scene: &Scene) -> Result<Self, SceneError> {
        let Compiled { simulation, regions, .. } = compile_counted(scene)?;
        let model = simulation.model();
        let positions = &model.initial_state().positions;
        let bodies = model.bodies.iter().zip(regions).map(|(body, regions)| PartOverview {
            name: body.name.clone(),
            size: Aabb::from_points(&positions[body.points.clone()]).size().to_array(),
            cells: body.mesh.cell_count(),
            nodes: body.mesh.node_count(),
            volume: body.mesh.volume(),
            thinnest: thinnest(body).map(|thickness| (thickness, thickness / edge(body))),
            regions,
        });
        let rigids = model.rigid_bodies.iter().map(|rigid| {
            let size = rigid.shape.surface().map_or(Vec3::zero(), |surface| surface.bounds().size());
            PartOverview {
                name: rigid.name.clone(),
                size: size.to_array(),
                cells: 0,
                nodes: 0,
                volume: rigid.shape.volume().unwrap_or(0.0),
                thinnest: None,
                regions: Vec::new(),
            }
        });
        let parts = bodies.chain(rigids).collect();
        let (memory, seconds) = (memory(model), seconds(scene, model));
        Ok(Self { simulation, parts, memory, seconds })
    }
}

/// Thickness of the thinnest part of a body \[m\]: the shortest ways straight through it from nodes of its surface,
/// those of tips and corners aside.
///
/// Straight through means against the mean normal around a node: single faces of a filled body are slanted steps, from
/// which the way to the next step is one cell, however thick the body is.
fn thinnest(body: &Body) -> Option<f64> {
    let rest = body.mesh.positions();
    let faces = body.mesh.boundary_triangles();
    let corners = |face: &[u32; 3]| face.map(|node| rest[node as usize]);
    let mut inward: BTreeMap<u32, Vec3> = BTreeMap::new();
    for face in &faces {
        let [a, b, c] = corners(face);
        let twice_area = (c - a).cross(b - a);
        face.iter().for_each(|node| *inward.entry(*node).or_insert(Vec3::zero()) += twice_area);
    }
    let way = |(node, inward): (&u32, &Vec3)| {
        let others = faces.iter().filter(|face| !face.contains(node));
        let hits = others.filter_map(|face| ray_triangle(rest[*node as usize], inward.normalized(), corners(face)));
        (inward.norm() > 0.0).then(|| hits.fold(f64::INFINITY, f64::min)).filter(|way| way.is_finite())
    };
    let mut ways: Vec<f64> = inward.iter().step_by(inward.len().div_ceil(RAYS).max(1)).filter_map(way).collect();
    ways.sort_unstable_by(f64::total_cmp);
    ways.get((TIPS * ways.len() as f64) as usize).copied()
}

/// Typical edge of the cells of a body \[m\]: that of a cube, which is one hexahedron or six tetrahedra.
fn edge(body: &Body) -> f64 {
    let cube =
        |((kind, _), volume): ((CellKind, &[u32]), f64)| if kind == CellKind::Hex8 { volume } else { 6.0 * volume };
    let cubes: f64 = body.mesh.cells().zip(body.mesh.cell_volumes()).map(cube).sum();
    (cubes / body.mesh.cell_count().max(1) as f64).cbrt()
}

/// Estimated memory of a run \[bytes\].
///
/// Per node: about 15 neighbors in a matrix of 3×3 blocks (twice: matrix, and factor or preconditioner) and 30 vectors
/// of state and scratch. Per cell: shape gradients and linearized stress.
fn memory(model: &Model) -> f64 {
    let [cells, nodes] = sizes(model);
    nodes * (2.0 * 15.0 * 72.0 + 30.0 * 24.0) + cells * 1000.0
}

fn sizes(model: &Model) -> [f64; 2] {
    let cells: usize = model.bodies.iter().map(|body| body.mesh.cell_count()).sum();
    let nodes: usize = model.bodies.iter().map(|body| body.mesh.node_count()).sum();
    [cells as f64, nodes as f64]
}

/// Rough time of one Newton iteration per cell and per node \[s\] on one thread: the estimate is for orders of
/// magnitude, often wrong by a factor of two.
const CELL_SECONDS: f64 = 1.5e-6;
const NODE_SECONDS: f64 = 1.2e-5;
/// Newton iterations of a step, and the factor of contact on them.
const STATIC_ITERATIONS: f64 = 12.0;
const DYNAMIC_ITERATIONS: f64 = 4.0;
const CONTACT_FACTOR: f64 = 3.0;
/// Time of a frame besides its steps: probes, files \[s\].
const FRAME_SECONDS: f64 = 1e-3;

/// Estimated time of a run \[s\].
fn seconds(scene: &Scene, model: &Model) -> f64 {
    let [cells, nodes] = sizes(model);
    let threads = rayon::current_num_threads().min(8) as f64;
    let iteration = cells * CELL_SECONDS / threads + nodes * NODE_SECONDS;
    let iterations = match scene.solver.kind {
        SolverKind::Quasistatic => STATIC_ITERATIONS,
        SolverKind::Explicit => 0.1,
        _ => DYNAMIC_ITERATIONS,
    };
    let steps = match substeps(scene) {
        Substeps::Fixed(steps) => steps as f64,
        Substeps::Adaptive(_) => 4.0,
        Substeps::Stable { .. } => 100.0,
    };
    let contact = if model.contact.has(ContactMode::Barrier) || model.contact.has(ContactMode::Penalty) {
        CONTACT_FACTOR
    } else {
        1.0
    };
    scene.frame_count() as f64 * (FRAME_SECONDS + steps * iterations * contact * iteration)
}
