//! Nonlinear cycles.

use sinew_math::{Quaternion, Vec3};

use super::*;
use crate::{EmbeddedSprings, MultigridParams, TangentKind};

/// −∂E/∂u of free nodes, and its norm.
fn residual(cells: &HexLattice, elastic: &LatticeElastic, fixed: &[[bool; 3]], u: &[Vec3]) -> (Vec<Vec3>, f64) {
    let mut gradient = vec![Vec3::zero(); u.len()];
    gradient_at(elastic, cells, u, &mut gradient);
    let force: Vec<Vec3> =
        gradient.iter().zip(fixed).map(|(g, fixed)| if fixed[0] { Vec3::zero() } else { -*g }).collect();
    let norm = force.iter().map(|f| f.norm_squared()).sum::<f64>().sqrt();
    (force, norm)
}

/// The step that one cycle from u proposes.
fn correction(system: &mut Multigrid, u: &[Vec3], force: &[Vec3]) -> Vec<Vec3> {
    system.linearize(u, TangentKind::Definite, 1.0).unwrap();
    let mut step = vec![Vec3::new(0.0f32, 0.0, 0.0); u.len()];
    system.correct(&narrow(force), &mut step).unwrap();
    widen(&step)
}

/// A bar with one end rotated about the bar's axis and shifted; the rest of it at rest.
fn turned_end(cells: &HexLattice, cubes: usize, turn: Vec3, shift: Vec3) -> (Vec<[bool; 3]>, Vec<Vec3>) {
    let fixed = cells.node_places.iter().map(|p| [p[0] == 0 || p[0] as usize == cubes; 3]).collect();
    let rotation = Quaternion::exp_map(turn);
    let center = Vec3::new(cubes as f64 * H, 4.0 * H, 4.0 * H);
    let displacement = |node: usize| match cells.node_places[node][0] as usize == cubes {
        true => rotation.rotate(cells.node_position(node) - center) + center + shift - cells.node_position(node),
        false => Vec3::zero(),
    };
    (fixed, (0..cells.node_places.len()).map(displacement).collect())
}

/// A bar twisted by 90 degrees at once, without an outer line search: as in the prototype of the extract, but faster,
/// since rotations update on every level.
#[test]
fn cycles_twist_a_bar_at_once() {
    let cells = dense([32, 8, 8]);
    let lame = material(&cells);
    let params = MultigridParams { coarsest_cells: 16, ..MultigridParams::default() };
    let (fixed, start) = turned_end(&cells, 32, Vec3::new(1.5, 0.0, 0.0), Vec3::zero());
    let elastic = LatticeElastic::new(&cells, &lame, params.modes, params.volume);
    let mut system = Multigrid::new(&cells, &lame, &fixed, params).unwrap();
    assert!(system.level_count() >= 3);
    let mut u = start;
    let (mut force, first) = residual(&cells, &elastic, &fixed, &u);
    let mut norms = vec![1.0];
    for _ in 0..8 {
        let step = correction(&mut system, &u, &force);
        u.iter_mut().zip(&step).for_each(|(u, step)| *u += *step);
        let norm;
        (force, norm) = residual(&cells, &elastic, &fixed, &u);
        norms.push(norm / first);
    }
    assert!(norms[8] < 1e-5, "{norms:?}");
}

/// MCA section 7, item 16: at the solution a cycle proposes no step. Includes seams, half-empty coarse cells, springs
/// and inertia.
#[test]
fn solutions_stay_where_they_are() {
    for (name, cells) in [("fingers", fingers()), ("odd box", dense([19, 5, 3]))] {
        let lame = material(&cells);
        let fixed = fixed_end(&cells, 0);
        let elastic = LatticeElastic::new(&cells, &lame, MultigridParams::default().modes, VolumeLaw::default());
        let mut ties = EmbeddedSprings::default();
        ties.add(3.0, cells.cells[cells.cells.len() / 2].nodes.map(|node| (node, 0.125)));
        let params = MultigridParams { coarsest_cells: 16, ..MultigridParams::default() };
        let mut system = Multigrid::new(&cells, &lame, &fixed, params).unwrap().with_ties(ties).unwrap();
        let anchors = vec![sinew_math::Mat3::<f32>::identity() * 0.01; fixed.len()];
        system.set_anchors(Some(&anchors));
        // Bent by a load that balances its own forces: b, their sum, is zero.
        let mut noise = Noise(3);
        let (_, bent, _) = random_problem(&cells, &mut noise);
        let u: Vec<Vec3> = bent.iter().zip(&fixed).map(|(u, fixed)| if fixed[0] { Vec3::zero() } else { *u }).collect();
        let (_, size) = residual(&cells, &elastic, &fixed, &u);
        assert!(size > 0.0);
        let step = correction(&mut system, &u, &vec![Vec3::zero(); u.len()]);
        let largest = step.iter().map(|step| step.norm()).fold(0.0, f64::max);
        assert!(largest < 2e-5 * H, "{name}: {largest}");
    }
}

#[test]
fn threads_do_not_change_a_bit_of_a_nonlinear_cycle() {
    let cells = carved([24, 16, 16], |[x, y, z]| (x + y + z) % 13 != 0);
    let lame = material(&cells);
    let fixed = fixed_end(&cells, 0);
    let mut noise = Noise(5);
    let (_, u, r) = random_problem(&cells, &mut noise);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let params = MultigridParams { threads, ..MultigridParams::default() };
            let mut system = Multigrid::new(&cells, &lame, &fixed, params).unwrap();
            correction(&mut system, &u, &r)
        })
    };
    assert_eq!(run(1), run(2));
}
