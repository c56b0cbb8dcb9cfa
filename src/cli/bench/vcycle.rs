//! `sinew bench vcycle`: time of the V-cycle of a lattice relative to memory bandwidth, and its convergence (MCA X7,
//! X8, X9).

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};
use sinew_geometry::lattice::HexLattice;
use sinew_lattice::{LANES, Method, Multigrid, MultigridParams, TangentKind};
use sinew_math::cholesky::CholeskyError;
use sinew_math::lanes::{F32_LANES, Isa, LaneKernel, dispatch};
use sinew_math::parallel::{for_each_block_mut, in_pool};
use sinew_math::{LaneScalar, Scalar, Vec3};

use super::{Failure, spread};

/// Smoothing sweeps before and after the coarse correction, as in the paper.
const SWEEPS: usize = 10;
/// Numbers per array of the triad; three arrays of f32 take 24 MB.
const TRIAD: usize = 2 << 20;
/// Numbers per block of parallel work.
const TRIAD_PIECE: usize = 1 << 14;
/// Cycles of a measurement.
const TIMED_CYCLES: usize = 10;
/// Number of reported residuals, and the first and last cycle of the mean factor.
const CYCLES: usize = 8;
const FACTOR: std::ops::Range<usize> = 2..6;
/// Maximum number of iterations of a curve.
const CURVE: usize = 200;
/// Maximum number of iterations to reduce the residual to a ten-thousandth.
const MAX_ITERATIONS: usize = 2000;

/// V-cycle of a lattice: its time relative to memory bandwidth, and its convergence
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Cells along the edge of the cube
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(8..=512))]
    size: u16,

    /// Poisson's ratio, above -1 and below 0.5
    #[arg(long, value_name = "NU", default_value_t = 0.3, allow_negative_numbers = true, value_parser = poisson)]
    poisson: f64,

    /// Number of measurements; reports the best
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Also reports the residual per iteration of four methods, for a cube and for a bent arm with a thin bone
    #[arg(long)]
    curves: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

fn poisson(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if ratio > -1.0 && ratio < 0.5 => Ok(ratio),
        _ => Err("Poisson's ratio is a number above -1 and below 0.5".into()),
    }
}

/// Measures cube and capsule.
pub fn measure(arguments: &Arguments) -> Result<Value, Failure> {
    in_pool(|| measure_in_pool(arguments)).map_err(|error| Failure::Other(error.to_string()))
}

fn measure_in_pool(arguments: &Arguments) -> Result<Value, CholeskyError> {
    let n = usize::from(arguments.size);
    let cube = Problem::new(cube_of(n), arguments.poisson);
    let capsule = Problem::new(capsule_of(n), arguments.poisson);
    let ten_sweeps = MultigridParams { sweeps: SWEEPS, ..MultigridParams::default() };
    let (mut cycles, mut bandwidths, mut capsules) = (Vec::new(), Vec::new(), Vec::new());
    let mut dense = cube.system(ten_sweeps)?;
    let mut sparse = capsule.system(ten_sweeps)?;
    let mut triad = Triad::new();
    let (paper, five_sweeps) = (MultigridParams::paper(), MultigridParams::default());
    let three_sweeps = MultigridParams { sweeps: 3, ..five_sweeps };
    let (factors, mut factor_values) = ([ten_sweeps, paper, five_sweeps], Vec::new());
    let methods = [
        (five_sweeps, Method::Cycles),
        (paper, Method::Cycles),
        (three_sweeps, Method::MultigridCg),
        (five_sweeps, Method::JacobiCg),
    ];
    let mut operators = Vec::new();
    // Alternate, with untimed work in between, so that other programs affect all equally.
    for turn in 0..usize::from(arguments.repeats).max(methods.len()) {
        if turn < arguments.repeats.into() {
            cycles.push(seconds_per_cycle(&mut dense));
            bandwidths.push(triad.bytes_per_second());
            capsules.push(seconds_per_cycle(&mut sparse));
        }
        if let Some(&params) = factors.get(turn) {
            factor_values.push(cube.factor(params)?);
        }
        if let Some(&(params, method)) = methods.get(turn) {
            operators.push(cube.operators(params, method)?);
        }
    }
    let seconds = least(&cycles);
    let bandwidth = bandwidths.iter().copied().fold(0.0, f64::max);
    let cells: usize = dense.cell_counts().iter().sum();
    let capsule_cells: usize = sparse.cell_counts().iter().sum();
    // Sweeps before and after, and the residual.
    let sweeps = (2 * dense.fine_sweeps() + 1) as f64;
    let per_cell = seconds * 1e9 / (sweeps * cells as f64);
    let capsule_per_cell = least(&capsules) * 1e9 / (sweeps * capsule_cells as f64);
    let lanes = (sparse.layout().block_count() * LANES) as f64;
    let mut result = json!({
        "size": n,
        "cells": dense.layout().cell_count(),
        "levels": dense.level_count(),
        "poisson": arguments.poisson,
        "seconds_per_vcycle": seconds,
        "seconds_per_vcycle_spread": spread(&cycles),
        "nanoseconds_per_cell_per_sweep": per_cell,
        "stream_ratio": seconds * bandwidth / dense.bytes_per_cycle(),
        "gigabytes_per_second": dense.bytes_per_cycle() / seconds / 1e9,
        "triad_gigabytes_per_second": bandwidth / 1e9,
        "convergence_factor": factor_values[0],
        "convergence_factor_paper": factor_values[1],
        "convergence_factor_five_sweeps": factor_values[2],
        "operators_to_1e4": {
            "vcycle": operators[0],
            "vcycle_paper": operators[1],
            "multigrid_cg": operators[2],
            "jacobi_cg": operators[3],
        },
        "capsule": {
            "cells": sparse.layout().cell_count(),
            "lane_fill": sparse.layout().cell_count() as f64 / lanes,
            "nanoseconds_per_cell_per_sweep": capsule_per_cell,
            "cost_over_cube": capsule_per_cell / per_cell,
        },
        "sweeps": dense.fine_sweeps(),
        "threads": rayon::current_num_threads(),
        "isa": super::isa_name(),
    });
    if arguments.curves {
        result["curves"] = json!({ "cube": cube.curves()?, "arm": Problem::arm(n, arguments.poisson).curves()? });
    }
    Ok(result)
}

/// A cube of n cells along each edge, 1 m wide.
fn cube_of(n: usize) -> HexLattice {
    HexLattice::dense(Vec3::zero(), 1.0 / n as f64, [n; 3]).expect("the size has been checked")
}

/// A capsule along the diagonal of such a cube.
fn capsule_of(n: usize) -> HexLattice {
    let mut lattice = cube_of(n);
    lattice.retain(|cell| is_in_capsule(cell.place.map(|p| p as usize), n));
    lattice
}

fn is_in_capsule(place: [usize; 3], n: usize) -> bool {
    let (n, radius) = (n as f64, 0.11 * n as f64);
    let p = Vec3::from(place.map(|p| p as f64 + 0.5));
    let along = (p.x + p.y + p.z) / 3.0;
    let nearest = along.clamp(1.1 * radius, n - 1.1 * radius);
    (p - Vec3::new(nearest, nearest, nearest)).norm() < radius
}

/// A body with pinned ends along x, one of them moved by half its length: the first Newton step from rest.
struct Problem {
    lattice: HexLattice,
    lame: Vec<[f64; 2]>,
    fixed: Vec<[bool; 3]>,
    moved: Vec<Vec3>,
    /// Displacements for the tangent; none at rest.
    bent: Option<Vec<Vec3>>,
}

impl Problem {
    fn new(lattice: HexLattice, poisson: f64) -> Self {
        let lame = [0.5 / (1.0 + poisson), poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))];
        let ends = lattice.node_places.iter().fold([u32::MAX, 0], |[a, b], p| [a.min(p[0]), b.max(p[0])]);
        let fixed = lattice.node_places.iter().map(|place| [ends.contains(&place[0]); 3]).collect();
        let moved = |place: &[u32; 3]| Vec3::unit(0) * if place[0] == ends[1] { 0.5 } else { 0.0 };
        let moved = lattice.node_places.iter().map(moved).collect();
        Self { lame: vec![lame; lattice.cells.len()], fixed, moved, bent: None, lattice }
    }

    fn system(&self, params: MultigridParams) -> Result<Multigrid, CholeskyError> {
        let mut system = Multigrid::new(&self.lattice, &self.lame, &self.fixed, params)?;
        if let Some(bent) = &self.bent {
            system.linearize(bent, TangentKind::Definite, 1.0)?;
        }
        let b = self.right_side(&mut system);
        system.set_right_side(&b);
        Ok(system)
    }

    /// A round arm of n cells length and n / 4 cells width, bent by 69 degrees about a fixed bone one cell wide, with a
    /// force at its end.
    fn arm(n: usize, poisson: f64) -> Self {
        let (width, h) = ((n / 4) | 1, 1.0 / n as f64);
        let mut lattice = HexLattice::dense(Vec3::zero(), h, [n, width, width]).expect("the size has been checked");
        let middle = 0.5 * width as f64;
        lattice.retain(|cell| {
            let [y, z] = [1, 2].map(|axis| f64::from(cell.place[axis]) + 0.5 - middle);
            y.hypot(z) < middle
        });
        let mut arm = Self::new(lattice, poisson);
        let places = &arm.lattice.node_places;
        let bone = [width as u32 / 2, width as u32 / 2 + 1];
        arm.fixed = places.iter().map(|place| [bone.contains(&place[1]) && bone.contains(&place[2]); 3]).collect();
        let center = Vec3::new(0.5, middle * h, middle * h);
        let bent = |node: usize| {
            let q = arm.lattice.node_position(node) - center;
            let angle = 1.2 * (4.0 * q.x).clamp(0.0, 1.0);
            let (along, sideways) = (q.x.max(0.0), Vec3::new(-angle.sin(), angle.cos(), 0.0));
            let axis = Vec3::new(q.x.min(0.0) + along * angle.cos(), along * angle.sin(), 0.0);
            axis + sideways * q.y + Vec3::unit(2) * q.z - q
        };
        arm.bent = Some((0..places.len()).map(bent).collect());
        arm
    }

    /// Relative residual after each iteration, down to 1e-8 or for two hundred iterations.
    fn curves(&self) -> Result<Value, CholeskyError> {
        let mut curves = json!({});
        let methods = [
            ("vcycle", Method::Cycles),
            ("multigrid_cg", Method::MultigridCg),
            ("jacobi_cg", Method::JacobiCg),
            ("cg", Method::Cg),
        ];
        for (name, method) in methods {
            let mut system = self.system(MultigridParams::default())?;
            let b = self.right_side(&mut system);
            let defects = system.solve(method, &b, &mut vec![Vec3::zero(); b.len()], 1e-8, CURVE).defects;
            curves[name] = defects.iter().map(|defect| defect / defects[0]).collect::<Vec<f64>>().into();
        }
        Ok(curves)
    }

    fn right_side(&self, system: &mut Multigrid) -> Vec<Vec3> {
        let mut b = vec![Vec3::zero(); self.fixed.len()];
        system.apply_wide(&self.moved, &mut b);
        let free = |fixed: &[bool; 3], b: Vec3| if fixed[0] { Vec3::zero() } else { -b };
        b.iter().zip(&self.fixed).map(|(&b, fixed)| free(fixed, b)).collect()
    }

    /// Geometric mean of the residual reduction in cycles 3 to 6.
    fn factor(&self, params: MultigridParams) -> Result<f64, CholeskyError> {
        let mut system = self.system(params)?;
        let b = self.right_side(&mut system);
        let defects = system.solve(Method::Cycles, &b, &mut vec![Vec3::zero(); b.len()], 1e-13, CYCLES).defects;
        let last = FACTOR.end.min(defects.len() - 1);
        Ok((defects[last] / defects[FACTOR.start]).powf(1.0 / (last - FACTOR.start) as f64))
    }

    /// Matrix products until the residual is a ten-thousandth.
    fn operators(&self, params: MultigridParams, method: Method) -> Result<usize, CholeskyError> {
        let mut system = self.system(params)?;
        let b = self.right_side(&mut system);
        Ok(system.solve(method, &b, &mut vec![Vec3::zero(); b.len()], 1e-4, MAX_ITERATIONS).operators)
    }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Time of a cycle: the best of some, after a warm-up, as for the triad.
fn seconds_per_cycle(system: &mut Multigrid) -> f64 {
    system.cycle();
    let timed = |_| {
        let start = Instant::now();
        system.cycle();
        start.elapsed().as_secs_f64()
    };
    (0..TIMED_CYCLES).map(timed).fold(f64::INFINITY, f64::min)
}

/// a = b + s c, the common measure of bandwidth.
struct Triad {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Triad {
    fn new() -> Self {
        Self { a: vec![0.0; TRIAD], b: vec![1.0; TRIAD], c: vec![2.0; TRIAD] }
    }

    /// The best of some passes.
    fn bytes_per_second(&mut self) -> f64 {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            let (b, c) = (&self.b, &self.c);
            for_each_block_mut(&mut self.a[..], TRIAD_PIECE, |at, a: &mut [f32]| {
                dispatch(TriadPiece { b: &b[at..at + a.len()], c: &c[at..at + a.len()], a });
            });
            black_box(&self.a);
            best = best.min(start.elapsed().as_secs_f64());
        }
        (3 * size_of::<f32>() * TRIAD) as f64 / best
    }
}

struct TriadPiece<'a> {
    a: &'a mut [f32],
    b: &'a [f32],
    c: &'a [f32],
}

impl LaneKernel for TriadPiece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let scale = I::F32::splat(3.0);
        let pieces =
            self.a.chunks_exact_mut(F32_LANES).zip(self.b.chunks_exact(F32_LANES)).zip(self.c.chunks_exact(F32_LANES));
        for ((a, b), c) in pieces {
            I::F32::load(c).mul_add(scale, I::F32::load(b)).store(a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_no_flesh_are_refused() {
        assert_eq!(poisson("0.49"), Ok(0.49));
        assert_eq!(poisson("-0.2"), Ok(-0.2));
        for text in ["0.5", "-1", "nan", "inf", "soft"] {
            assert!(poisson(text).is_err(), "{text}");
        }
    }

    /// X9, figure 7: cycles keep their rate on cube and arm and need fewer iterations with conjugate gradients around
    /// them. Conjugate gradients without cycles need several times as many, and the fewer with a preconditioner.
    #[test]
    fn curves_fall_as_figure_seven_shows() {
        for problem in [Problem::new(cube_of(32), 0.3), Problem::arm(32, 0.3)] {
            let curves = problem.curves().unwrap();
            let curve = |name: &str| -> Vec<f64> {
                let curve: Vec<f64> = serde_json::from_value(curves[name].clone()).unwrap();
                assert!(curve[0] == 1.0 && *curve.last().unwrap() <= 1e-8, "{name}: {curve:?}");
                curve
            };
            let cycles = curve("vcycle");
            assert!(cycles[1] < 0.05 && cycles.windows(2).all(|pair| pair[1] < 0.75 * pair[0]), "{cycles:?}");
            let counts = ["multigrid_cg", "vcycle", "jacobi_cg", "cg"].map(|name| curve(name).len());
            assert!(counts[0] < counts[1] && 5 * counts[1] < counts[2] && counts[2] < counts[3], "{counts:?}");
        }
        // The system of the arm is that of its bent state.
        let straight = Problem { bent: None, ..Problem::arm(32, 0.3) };
        assert_ne!(straight.curves().unwrap()["cg"], Problem::arm(32, 0.3).curves().unwrap()["cg"]);
    }

    /// Half of the arm is as at rest, the other is turned by 1.2 rad; the bone is held.
    #[test]
    fn arm_is_bent_about_its_bone() {
        let arm = Problem::arm(32, 0.3);
        let bent = arm.bent.unwrap();
        for (node, place) in arm.lattice.node_places.iter().enumerate() {
            let moved = arm.lattice.node_position(node) + bent[node];
            let bone = (1..3).all(|axis| [4, 5].contains(&place[axis]));
            assert_eq!(arm.fixed[node], [bone; 3]);
            let height = moved.y - 4.5 / 32.0;
            assert!(place[0] > 16 || bent[node].norm() < 1e-12, "{place:?}");
            // The axis ends at sin 1.2 / 2 above its start.
            assert!(place[0] < 32 || (height - 0.5 * 1.2_f64.sin()).abs() < 0.06, "{place:?}: {height}");
        }
    }

    #[test]
    fn capsule_lies_within_the_cube_and_fills_some_of_it() {
        let n = 32;
        let cells = capsule_of(n).cells;
        let share = cells.len() as f64 / (n * n * n) as f64;
        assert!((0.03..0.09).contains(&share), "{share}");
        assert!(cells.iter().all(|cell| cell.place.iter().all(|&p| (0..n as u32).contains(&p))));
    }
}
