//! `sinew bench mesher`: tetrahedra inside of trial shapes: angles, failures, distances from the surface, speed.

use std::time::Instant;

use serde_json::{Map, Value, json};
use sinew_anatomy::Solid;
use sinew_anatomy::mesher::compress::{CompressOptions, mesh_compressed};
use sinew_anatomy::mesher::shapes::{self, Formula};
use sinew_anatomy::mesher::{MeshError, MeshOptions, Meshed, isosurface, mesh_many, mesh_solid};
use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::Vec3;

use super::super::Failure;
use super::super::console::Console;

/// Runs of which the best counts.
const RUNS: usize = 5;
/// Part of a cell within which a boundary node of the compressed mesher counts as on the surface.
const ON_SURFACE: f64 = 0.01;
/// Points of the surface that are tried for the nearest one, and steps to each.
const FEET: usize = 30;
const ROOT_STEPS: usize = 40;
/// Triangles of the surface that meshes are looked for from, per cell.
const FINENESS: f64 = 4.0;

/// Options of `sinew bench mesher`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of shapes: balls, tori, capsules, gyroids, blobs, noisy balls, random fields
    #[arg(long, default_value_t = 20)]
    pub shapes: usize,

    /// Number of the first shape
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub first: usize,

    /// Cells across the largest size of a shape, which is filled at all of them; gyroids are thin below 16
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "16,24,32")]
    pub cells: Vec<usize>,

    /// Cells across the ball that is timed
    #[arg(long, value_name = "N", default_value_t = 48)]
    pub ball: usize,

    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Extremes over all shapes for one method.
#[derive(Default)]
struct Extremes {
    failures: usize,
    inverted: usize,
    open: usize,
    min_dihedral: Option<f64>,
    max_dihedral: f64,
    /// Largest distance of the boundary of smooth shapes from their surface, in cells, and where.
    hausdorff: f64,
    farthest: String,
    /// Largest distance of the surface of smooth shapes from their boundary, in cells: what the mesh has lost.
    missed: f64,
    /// Boundary nodes within a hundredth of a cell of the surface, and all.
    on_surface: [usize; 2],
    notes: Vec<String>,
}

impl Extremes {
    /// `surface` is that of a smooth shape.
    fn add(&mut self, shape: &Formula, cell: f64, surface: Option<&TriMesh>, result: Result<Meshed, MeshError>) {
        let meshed = match result {
            Ok(meshed) => meshed,
            Err(error) => {
                self.failures += 1;
                self.notes.push(format!("{} at {cell:.4}: {error}", shape.name));
                return;
            }
        };
        let mesh = &meshed.mesh;
        self.inverted += mesh.cell_volumes().iter().filter(|volume| !(**volume > 0.0)).count();
        let quality = mesh.quality();
        let least = self.min_dihedral.unwrap_or(f64::INFINITY).min(quality.min_dihedral.to_degrees());
        self.min_dihedral = Some(least);
        self.max_dihedral = self.max_dihedral.max(quality.max_dihedral.to_degrees());
        let Ok((boundary, _)) = mesh.boundary_surface() else {
            self.open += 1;
            return;
        };
        self.open += usize::from(!boundary.topology().is_closed());
        for p in boundary.positions() {
            self.on_surface[0] += usize::from(nearness(shape, *p, cell) < ON_SURFACE);
            self.on_surface[1] += 1;
        }
        if let Some(surface) = surface {
            let samples = boundary.samples(0.4 * cell);
            let far = samples.iter().map(|(p, _)| nearness(shape, *p, cell)).fold(0.0, f64::max);
            if far > self.hausdorff {
                let across = shape.bounds.size().max_component() / cell;
                (self.hausdorff, self.farthest) = (far, format!("{}, {across:.0} cells across", shape.name));
            }
            let places = NearestPlaces::new(&boundary);
            let missed = |p: &Vec3| places.to(*p).map_or(f64::INFINITY, |place| place.position.distance(*p) / cell);
            self.missed = surface.positions().iter().map(missed).fold(self.missed, f64::max);
        }
    }

    /// The figures under a prefix.
    fn write(&self, prefix: &str, result: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Value| drop(result.insert(format!("{prefix}{name}"), value));
        set("failures", json!(self.failures + self.open));
        set("inverted", json!(self.inverted));
        set("min_dihedral_degrees", json!(self.min_dihedral));
        set("max_dihedral_degrees", json!(self.max_dihedral));
        set("hausdorff_cells", json!(self.hausdorff));
        set("farthest", json!(self.farthest));
        set("missed_cells", json!(self.missed));
        if !self.notes.is_empty() {
            set("notes", json!(self.notes));
        }
    }
}

/// Distance of a point from a surface near it, in cells. Formulas are lower bounds of distances, so it is the way to the
/// nearest of some points of the surface: the root along the gradient, then that below the point's foot on the tangent
/// plane, again and again.
fn nearness(solid: &dyn Solid, p: Vec3, cell: f64) -> f64 {
    let (mut q, mut normal) = root(solid, p, cell);
    let mut nearest = q.distance(p);
    for _ in 0..FEET {
        // Good enough for a maximum that is a third of a cell.
        if nearest < 0.1 * cell {
            break;
        }
        let foot = p - normal * normal.dot(p - q);
        (q, normal) = root(solid, q.lerp(foot, 0.5), cell);
        nearest = nearest.min(q.distance(p));
    }
    nearest / cell
}

/// A point of the surface near another one, and the normal there.
fn root(solid: &dyn Solid, mut q: Vec3, cell: f64) -> (Vec3, Vec3) {
    let mut normal = Vec3::zero();
    for _ in 0..ROOT_STEPS {
        let (distance, gradient) = (solid.distance(q), solid.gradient(q, 0.01 * cell));
        let slope = gradient.norm();
        normal = gradient / slope.max(1e-9);
        if distance.abs() < 1e-4 * cell * slope {
            break;
        }
        q -= normal * (distance / slope.max(1e-3)).clamp(-0.2 * cell, 0.2 * cell);
    }
    (q, normal)
}

/// Runs the benchmark.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let [mut stuffed, mut improved, mut smooth, mut compressed] = [(); 4].map(|()| Extremes::default());
    for k in 0..arguments.shapes {
        let shape = shapes::trial(arguments.first + k);
        for cells in &arguments.cells {
            let cell = shape.bounds.size().max_component() / (*cells).max(1) as f64;
            let plain = MeshOptions { improve: false, ..MeshOptions::new(cell) };
            let fine = if shape.is_smooth { Some(isosurface(&shape, cell / FINENESS).map_err(failed)?) } else { None };
            stuffed.add(&shape, cell, fine.as_ref(), mesh_solid(&shape, &plain));
            let better = if shape.is_smooth { &mut smooth } else { &mut improved };
            better.add(&shape, cell, fine.as_ref(), mesh_solid(&shape, &MeshOptions::new(cell)));
            let pressed = mesh_compressed(&shape, &CompressOptions::new(cell));
            compressed.add(&shape, cell, fine.as_ref(), pressed);
        }
        console.note(&format!("{} of {} shapes", k + 1, arguments.shapes));
    }
    let mut result = Map::new();
    stuffed.write("", &mut result);
    smooth.write("improved_smooth_", &mut result);
    improved.write("improved_rough_", &mut result);
    compressed.write("compressed_", &mut result);
    let [near, all] = compressed.on_surface;
    result.insert("compressed_on_surface_percent".into(), json!(100.0 * near as f64 / all.max(1) as f64));
    add_speed(arguments, &mut result)?;
    add_many(arguments, &mut result)?;
    result.insert("volume_order".into(), json!(volume_order(arguments.ball)?));
    result.insert("shapes".into(), json!(arguments.shapes));
    result.insert("cells_across".into(), json!(arguments.cells));
    result.insert("threads".into(), json!(rayon::current_num_threads()));
    Ok(Value::Object(result))
}

fn failed(error: MeshError) -> Failure {
    Failure::Other(error.to_string())
}

/// The ball that is timed, in no symmetry with the lattice.
fn timed_ball() -> Formula {
    shapes::ball(Vec3::new(0.013, -0.027, 0.041), 0.4)
}

/// Millions of tetrahedra per second, the best of some runs.
fn add_speed(arguments: &Arguments, result: &mut Map<String, Value>) -> Result<(), Failure> {
    let ball = timed_ball();
    let cell = 0.8 / arguments.ball.max(1) as f64;
    let best = |runs: usize, mesh: &dyn Fn() -> Result<Meshed, MeshError>| -> Result<(usize, f64), Failure> {
        let mut best = (0, f64::INFINITY);
        for _ in 0..runs {
            let start = Instant::now();
            let meshed = mesh().map_err(failed)?;
            best = (meshed.mesh.cell_count(), best.1.min(start.elapsed().as_secs_f64()));
        }
        Ok(best)
    };
    let options = MeshOptions::new(cell);
    let plain = MeshOptions { improve: false, ..options };
    let (tets, seconds) = best(RUNS, &|| mesh_solid(&ball, &options))?;
    let (_, plain_seconds) = best(RUNS, &|| mesh_solid(&ball, &plain))?;
    let (pressed, pressed_seconds) = best(2, &|| mesh_compressed(&ball, &CompressOptions::new(cell)))?;
    result.insert("tets".into(), json!(tets));
    result.insert("seconds".into(), json!(seconds));
    result.insert("million_tets_per_second".into(), json!(tets as f64 / seconds / 1e6));
    result.insert("unimproved_million_tets_per_second".into(), json!(tets as f64 / plain_seconds / 1e6));
    result.insert("compressed_million_tets_per_second".into(), json!(pressed as f64 / pressed_seconds / 1e6));
    Ok(())
}

/// A ball in slices and a core: one mesh of many labels.
fn add_many(arguments: &Arguments, result: &mut Map<String, Value>) -> Result<(), Failure> {
    let mut least = f64::INFINITY;
    let mut most = 0.0_f64;
    let mut hausdorff = 0.0_f64;
    let (mut fallbacks, mut failures, mut tets, mut seconds) = (0, 0, 0, 0.0);
    for cells in &arguments.cells {
        for count in [2, 3, 5, 8] {
            let parts = shapes::wedges(count);
            let solids: Vec<&dyn Solid> = parts.iter().map(|part| part as &dyn Solid).collect();
            let cell = 0.8 / (*cells).max(1) as f64;
            let start = Instant::now();
            let many = mesh_many(&solids, &MeshOptions::new(cell)).map_err(failed)?;
            seconds += start.elapsed().as_secs_f64();
            tets += many.mesh.cell_count();
            let quality = many.mesh.quality();
            least = least.min(quality.min_dihedral.to_degrees());
            most = most.max(quality.max_dihedral.to_degrees());
            fallbacks += many.report.fallback_nodes;
            match many_far(&many.mesh, &solids, cell) {
                Some(far) => hausdorff = hausdorff.max(far),
                None => failures += 1,
            }
        }
    }
    result.insert("many_failures".into(), json!(failures));
    result.insert("many_min_dihedral_degrees".into(), json!(least));
    result.insert("many_max_dihedral_degrees".into(), json!(most));
    result.insert("many_hausdorff_cells".into(), json!(hausdorff));
    result.insert("many_fallback_nodes".into(), json!(fallbacks));
    result.insert("many_million_tets_per_second".into(), json!(tets as f64 / seconds / 1e6));
    Ok(())
}

/// How far, in cells, the boundary of any part is from the surface of its solid; `None` where one is open or a cell is
/// inverted.
fn many_far(mesh: &CellMesh, solids: &[&dyn Solid], cell: f64) -> Option<f64> {
    let labels = mesh.cell_labels();
    if mesh.cell_volumes().iter().any(|volume| !(*volume > 0.0)) {
        return None;
    }
    let (whole, _) = mesh.boundary_surface().ok()?;
    if !whole.topology().is_closed() {
        return None;
    }
    // All together are a ball of radius 0.4: points of an inner interface are no points of its surface.
    let outer = whole.samples(0.4 * cell);
    let mut far = outer.iter().map(|(p, _)| (p.norm() - 0.4).abs() / cell).fold(0.0, f64::max);
    for (number, solid) in solids.iter().enumerate() {
        let part = mesh.with_cells(|cell| labels[cell] as usize == number).ok()?.mesh;
        let (boundary, _) = part.boundary_surface().ok()?;
        if !boundary.topology().boundary_edges.is_empty() {
            return None;
        }
        let samples = boundary.samples(0.4 * cell);
        far = samples.iter().map(|(p, _)| nearness(*solid, *p, cell)).fold(far, f64::max);
    }
    Some(far)
}

/// Order with which the volume of a ball converges, from cells and half cells.
fn volume_order(cells: usize) -> Result<f64, Failure> {
    let ball = timed_ball();
    let exact = ball.volume.unwrap_or(f64::NAN);
    let error = |cell: f64| -> Result<f64, Failure> {
        let meshed = mesh_solid(&ball, &MeshOptions::new(cell)).map_err(failed)?;
        Ok((meshed.mesh.volume() / exact - 1.0).abs())
    };
    let cell = 1.6 / cells.max(2) as f64;
    Ok((error(cell)? / error(0.5 * cell)?).log2())
}
