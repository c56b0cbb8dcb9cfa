//! `sinew bench solvers`: one linear system on a lattice by multigrid and other methods, and one quasistatic step on a
//! lattice and on tetrahedra.

mod incomplete;

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sinew_fem::material::{Law, MaterialSpec, VolumeForm};
use sinew_fem::model::PinParams;
use sinew_fem::{BodyParams, Interrupt, Model, ModelBuilder, NewtonSolver, Solver as _, SolverParams};
use sinew_geometry::CellMesh;
use sinew_geometry::lattice::HexLattice;
use sinew_geometry::procedural::{TetPattern, box_tets};
use sinew_lattice::{Method, Multigrid, MultigridParams};
use sinew_math::cholesky::SymbolicCholesky;
use sinew_math::parallel::in_pool;
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Vec3};

use super::super::call;
use super::Failure;
use incomplete::IncompleteFactor;

/// Relative residual to reach.
const TOLERANCE: f64 = 1e-6;
/// Maximum number of conjugate gradient iterations.
const MAX_ITERATIONS: usize = 5000;
/// Limits of memory \[bytes\] and time of a method.
const MAX_BYTES: f64 = 16.0 * (1u64 << 30) as f64;
const MAX_TIME: Duration = Duration::from_secs(600);

/// Linear solvers on one lattice: time and memory of multigrid and other methods, and of a step on tetrahedra
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Cells along the edges of the cubes
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [22, 46], value_parser = clap::value_parser!(u16).range(2..=200))]
    sizes: Vec<u16>,

    /// Measures only this method, in this process
    #[arg(long, value_enum)]
    method: Option<Way>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// The measured methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// Conjugate gradients with a V-cycle
    MultigridCg,
    /// Conjugate gradients with the diagonal
    JacobiCg,
    /// Conjugate gradients with an incomplete block factor
    BlockIcCg,
    /// A sparse factor
    Cholesky,
    /// A quasistatic step on the lattice
    StepOnLattice,
    /// The same step on six tetrahedra per cube
    StepOnTets,
}

const WAYS: [Way; 6] =
    [Way::MultigridCg, Way::JacobiCg, Way::BlockIcCg, Way::Cholesky, Way::StepOnLattice, Way::StepOnTets];

impl Way {
    /// The name as an option, and as a key.
    fn names(self) -> (String, String) {
        let option =
            clap::ValueEnum::to_possible_value(&self).map_or_else(String::new, |value| value.get_name().into());
        let key = option.replace('-', "_");
        (option, key)
    }
}

/// Measures all sizes and methods, each in its own process, to limit its time and measure its memory.
pub fn measure(arguments: &Arguments) -> Result<Value, Failure> {
    if let Some(way) = arguments.method {
        let size = arguments.sizes.first().map_or(22, |&size| usize::from(size));
        let found = in_pool(|| run(way, size)).unwrap_or_else(|reason| json!({ "stopped": reason }));
        return Ok(found);
    }
    let mut rows = Vec::new();
    let mut points: Map<String, Value> = Map::new();
    let mut times = WAYS.map(|_| Vec::new());
    for &size in &arguments.sizes {
        let cells = f64::from(size).powi(3);
        let mut row = Map::new();
        row.insert("cells".into(), json!(cells));
        for (way, times) in WAYS.into_iter().zip(&mut times) {
            let found = in_process(way, size).map_err(Failure::Other)?;
            times.extend(found.get("seconds").and_then(Value::as_f64).map(|seconds| (cells, seconds)));
            row.insert(way.names().1, found);
        }
        rows.push(Value::Object(row));
    }
    for (way, times) in WAYS.into_iter().zip(&times) {
        points.insert(way.names().1, json!(exponent(times)));
    }
    Ok(json!({
        "rows": rows,
        "exponents": points,
        "tolerance": TOLERANCE,
        "most_seconds": MAX_TIME.as_secs(),
        "most_bytes": MAX_BYTES,
        "threads": rayon::current_num_threads(),
        "isa": super::isa_name(),
    }))
}

/// Starts this program for one method; returns its result, or that it was stopped.
fn in_process(way: Way, size: u16) -> Result<Value, String> {
    let mut command = call::program()?;
    let threads = rayon::current_num_threads().to_string();
    command.args(["bench", "solvers", "--json", "--threads", &threads, "--method", &way.names().0]);
    command.args(["--sizes", &size.to_string()]).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let start = Instant::now();
    let is_late = || start.elapsed() > MAX_TIME;
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        let is_interrupted = Interrupt::ambient().is_wanted();
        if is_late() || is_interrupted {
            // The process may have ended just now; ignore the error.
            let _ = child.kill();
            let _ = child.wait();
            if is_interrupted {
                return Err("interrupted".into());
            }
            return Ok(json!({ "stopped": format!("exceeds {} s", MAX_TIME.as_secs()) }));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| json!({ "stopped": format!("{}", output.status) })))
}

/// One method: its time, iterations and peak memory.
fn run(way: Way, size: usize) -> Result<Value, String> {
    let mut found = match way {
        Way::StepOnLattice => step(&lattice_model(size)?)?,
        Way::StepOnTets => step(&tet_model(size)?)?,
        _ => {
            let problem = Problem::new(size)?;
            let start = Instant::now();
            let iterations = match way {
                Way::MultigridCg => problem.multigrid(Method::MultigridCg)?,
                Way::JacobiCg => problem.multigrid(Method::JacobiCg)?,
                Way::BlockIcCg => problem.incomplete()?,
                _ => problem.cholesky()?,
            };
            json!({ "iterations": iterations, "seconds": start.elapsed().as_secs_f64() })
        }
    };
    found["bytes"] = json!(peak_bytes());
    Ok(found)
}

/// Peak memory of this process \[bytes\], if the system reports it.
fn peak_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024.0 * line.split_whitespace().nth(1)?.parse::<f64>().ok()?)
}

/// Exponent p of t = c nᵖ, by least squares of the logarithms.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let points: Vec<(f64, f64)> = points.iter().map(|&(n, t)| (n.ln(), t.ln())).filter(|p| p.1.is_finite()).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    (spread > 0.0).then(|| points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread)
}

/// A cube with pinned ends along x, one of them moved by half its length: the first Newton step from rest.
struct Problem {
    lattice: HexLattice,
    lame: [f64; 2],
    fixed: Vec<[bool; 3]>,
    b: Vec<Vec3>,
}

impl Problem {
    fn new(size: usize) -> Result<Self, String> {
        let lattice =
            HexLattice::dense(Vec3::zero(), 1.0 / size as f64, [size; 3]).map_err(|error| error.to_string())?;
        let end = size as u32;
        let fixed: Vec<[bool; 3]> = lattice.node_places.iter().map(|p| [p[0] == 0 || p[0] == end; 3]).collect();
        // μ and λ of E = 1, ν = 0.3.
        let mut problem = Self { lattice, lame: [0.5 / 1.3, 0.3 / (1.3 * 0.4)], fixed, b: Vec::new() };
        let moved = problem.lattice.node_places.iter();
        let moved: Vec<Vec3> = moved.map(|p| Vec3::unit(0) * if p[0] == end { 0.5 } else { 0.0 }).collect();
        let mut b = vec![Vec3::zero(); moved.len()];
        problem.system()?.apply_wide(&moved, &mut b);
        problem.b = b.iter().zip(&problem.fixed).map(|(&b, fixed)| if fixed[0] { Vec3::zero() } else { -b }).collect();
        Ok(problem)
    }

    fn system(&self) -> Result<Multigrid, String> {
        let lame = vec![self.lame; self.lattice.cells.len()];
        Multigrid::new(&self.lattice, &lame, &self.fixed, MultigridParams::default()).map_err(|error| error.to_string())
    }

    fn multigrid(&self, method: Method) -> Result<usize, String> {
        let mut system = self.system()?;
        let mut x = vec![Vec3::zero(); self.b.len()];
        let report = system.solve(method, &self.b, &mut x, TOLERANCE, MAX_ITERATIONS);
        if report.reduction() > TOLERANCE {
            return Err(format!("relative residual {:.1e} after {} iterations", report.reduction(), report.iterations));
        }
        Ok(report.iterations)
    }

    /// The matrix without the prescribed rows and columns.
    fn assembled(&self) -> Result<BlockCsr<f64>, String> {
        let cells: Vec<[u32; 8]> = self.lattice.cells.iter().map(|cell| cell.nodes).collect();
        // 27 blocks per node, of 72 bytes each.
        let needed = 27.0 * 76.0 * self.b.len() as f64;
        if needed > MAX_BYTES {
            return Err(format!("the matrix would take {:.0} GiB", needed / (1u64 << 30) as f64));
        }
        let pattern = BlockPattern::from_elements(self.b.len(), &cells).map_err(|error| error.to_string())?;
        let mut matrix = BlockCsr::zeros(Arc::new(pattern));
        let blocks = self.cell_blocks()?;
        for nodes in &cells {
            for (a, row) in blocks.iter().enumerate() {
                for (b, block) in row.iter().enumerate() {
                    let (a, b) = (nodes[a] as usize, nodes[b] as usize);
                    if !self.fixed[a][0] && !self.fixed[b][0] {
                        matrix.add_block(a, b, block).map_err(|error| error.to_string())?;
                    }
                }
            }
        }
        for node in (0..self.b.len()).filter(|&node| self.fixed[node][0]) {
            matrix.add_diagonal(node, &Mat3::identity());
        }
        Ok(matrix)
    }

    /// Stiffness of one cell at rest, from products with a lattice of one cell.
    fn cell_blocks(&self) -> Result<[[Mat3; 8]; 8], String> {
        let cell = HexLattice::dense(Vec3::zero(), self.lattice.cell, [1; 3]).map_err(|error| error.to_string())?;
        let system = Multigrid::new(&cell, &[self.lame], &[[false; 3]; 8], MultigridParams::default());
        let mut system = system.map_err(|error| error.to_string())?;
        let mut blocks = [[Mat3::zero(); 8]; 8];
        for b in 0..8 {
            for j in 0..3 {
                let (mut unit, mut pull) = ([Vec3::zero(); 8], [Vec3::zero(); 8]);
                unit[cell.cells[0].nodes[b] as usize][j] = 1.0;
                system.apply_wide(&unit, &mut pull);
                for a in 0..8 {
                    for i in 0..3 {
                        blocks[a][b].rows[i][j] = pull[cell.cells[0].nodes[a] as usize][i];
                    }
                }
            }
        }
        Ok(blocks)
    }

    fn incomplete(&self) -> Result<usize, String> {
        let matrix = self.assembled()?;
        let factor = IncompleteFactor::new(&matrix)?;
        incomplete::conjugate_gradients(&matrix, &factor, &self.b, TOLERANCE)
    }

    fn cholesky(&self) -> Result<usize, String> {
        let matrix = self.assembled()?;
        let symbolic = SymbolicCholesky::new(matrix.pattern()).map_err(|error| error.to_string())?;
        let bytes = 8.0 * symbolic.factor_entry_count() as f64;
        if bytes > MAX_BYTES {
            return Err(format!("the factor would take {:.0} GiB", bytes / (1u64 << 30) as f64));
        }
        let mut factor = symbolic.factor(&matrix).map_err(|error| error.to_string())?;
        let mut x = self.b.clone();
        factor.solve_in_place(&mut x).map_err(|error| error.to_string())?;
        Ok(1)
    }
}

fn model(mesh: CellMesh, lattice: Option<HexLattice>) -> Result<Model, String> {
    let cells = mesh.cell_count();
    let nodes = |x: f64| {
        let is_in = |node: &u32| (mesh.positions()[*node as usize].x - x).abs() < 1e-9;
        (0..mesh.node_count() as u32).filter(is_in).collect::<Vec<u32>>()
    };
    let ends = [nodes(0.0), nodes(1.0)];
    let mut builder = ModelBuilder::new();
    let body = builder.add_body(BodyParams {
        name: "cube".into(),
        materials: vec![MaterialSpec::with_young(Law::Corotated, 1e4, 0.3); cells],
        densities: vec![1000.0; cells],
        mass_damping: 0.0,
        stiffness_damping: 0.0,
        tissue_damping: 0.0,
        start: Vec::new(),
        velocities: Vec::new(),
        volume: VolumeForm::Pointwise,
        surface: None,
        mesh,
        lattice,
        deformation: Default::default(),
    });
    for (name, nodes) in ["left", "right"].into_iter().zip(ends) {
        let (name, axes, offsets) = (name.to_string(), [true; 3], Vec::new());
        builder.pin(PinParams { body, name, nodes, axes, pivot: Vec3::zero(), offsets });
    }
    builder.build().map_err(|error| error.to_string())
}

fn lattice_model(size: usize) -> Result<Model, String> {
    let lattice = HexLattice::dense(Vec3::zero(), 1.0 / size as f64, [size; 3]).map_err(|error| error.to_string())?;
    let mesh = lattice.to_mesh().map_err(|error| error.to_string())?;
    model(mesh, Some(lattice))
}

fn tet_model(size: usize) -> Result<Model, String> {
    model(box_tets(Vec3::splat(1.0), [size; 3], TetPattern::Kuhn).map_err(|error| error.to_string())?, None)
}

/// One quasistatic step: a stretch by half.
fn step(model: &Model) -> Result<Value, String> {
    let (mut state, mut control) = (model.initial_state(), model.initial_control());
    control.set_by_name("cube.pin.right.translation.x", 0.5).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let mut solver = NewtonSolver::new(SolverParams { tolerance: TOLERANCE, ..SolverParams::default() });
    let report = solver.step(model, &mut state, &control, 1.0).map_err(|error| error.to_string())?;
    Ok(json!({
        "newton": report.newton_iterations,
        "iterations": report.linear_iterations,
        "seconds": start.elapsed().as_secs_f64(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_powers() {
        let points: Vec<(f64, f64)> = [10.0, 100.0, 1000.0f64].iter().map(|&n| (n, 3.0 * n.powf(1.5))).collect();
        assert!(exponent(&points).is_some_and(|p| (p - 1.5).abs() < 1e-12));
        assert_eq!(exponent(&points[..1]), None);
    }

    /// All methods solve the same system.
    #[test]
    fn methods_agree() {
        let problem = Problem::new(6).unwrap();
        let matrix = problem.assembled().unwrap();
        let mut direct = problem.b.clone();
        SymbolicCholesky::new(matrix.pattern()).unwrap().factor(&matrix).unwrap().solve_in_place(&mut direct).unwrap();
        let mut x = vec![Vec3::zero(); direct.len()];
        problem.system().unwrap().solve(Method::MultigridCg, &problem.b, &mut x, 1e-10, 100);
        let largest = direct.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let apart = direct.iter().zip(&x).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(apart < 1e-8 * largest, "{apart} of {largest}");
        assert!(problem.incomplete().is_ok());
    }
}
