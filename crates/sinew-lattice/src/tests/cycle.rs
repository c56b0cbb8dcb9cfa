//! Convergence of cycles, alone and as preconditioners of conjugate gradients.

use sinew_geometry::lattice::HexLattice;
use sinew_math::Vec3;

use super::*;
use crate::layout::LANES;
use crate::tangent::GRADIENT;
use crate::{Method, Multigrid, MultigridParams, SolveReport, TangentKind};

/// A cube with both ends held and one moved by half its length, and the right-hand side of its first Newton step (X7).
fn face_load(n: usize, params: MultigridParams, poisson: f64) -> (Multigrid, Vec<Vec3>) {
    let cells = dense([n, n, n]);
    let lame = vec![lame(poisson); cells.cells.len()];
    let (mut fixed, mut moved) =
        (vec![[false; 3]; cells.node_places.len()], vec![Vec3::zero(); cells.node_places.len()]);
    for cell in &cells.cells {
        for (k, &node) in cell.nodes.iter().enumerate() {
            let x = cell.place[0] as usize + (k & 1);
            if x == 0 || x == n {
                fixed[node as usize] = [true; 3];
                moved[node as usize].x = if x == n { 0.5 } else { 0.0 };
            }
        }
    }
    let mut system = Multigrid::new(&cells, &lame, &fixed, params).unwrap();
    let mut b = vec![Vec3::zero(); fixed.len()];
    system.apply_wide(&moved, &mut b);
    for (b, fixed) in b.iter_mut().zip(&fixed) {
        *b = if fixed[0] { Vec3::zero() } else { -*b };
    }
    (system, b)
}

fn defects(n: usize, params: MultigridParams, method: Method, most: usize) -> SolveReport {
    let (mut system, b) = face_load(n, params, 0.3);
    let mut x = vec![Vec3::zero(); b.len()];
    system.solve(method, &b, &mut x, 1e-11, most)
}

/// X7: the first cycle reduces the residual by one to two orders of magnitude; later cycles converge at a constant
/// rate.
#[test]
fn cycles_converge_as_the_paper_says() {
    let paper = defects(32, MultigridParams::paper(), Method::Cycles, 10).defects;
    assert!(paper[1] < 0.01 * paper[0] && paper[10] < 0.45 * paper[9], "{paper:?}");
    let ours = defects(32, MultigridParams { sweeps: 10, ..MultigridParams::default() }, Method::Cycles, 6).defects;
    assert!(ours[1] < 0.01 * ours[0] && ours[6] < 0.3 * ours[5], "{ours:?}");
}

/// X8: the cube of 64³ cells with five levels, at a factor of 0.75 and less from cycle to cycle.
#[test]
fn cycles_converge_on_the_larger_cube_too() {
    let (mut system, b) = face_load(64, MultigridParams::paper(), 0.3);
    assert_eq!(system.level_count(), 5);
    let mut x = vec![Vec3::zero(); b.len()];
    let defects = system.solve(Method::Cycles, &b, &mut x, 1e-11, 6).defects;
    assert!(defects[1] < 0.1 * defects[0], "{defects:?}");
    assert!(defects[1..].windows(2).all(|pair| pair[1] < 0.75 * pair[0]), "{defects:?}");
}

/// X9: cycles keep their rate, conjugate gradients take their time. Plain ones left 0.27, 0.014 and 2.6e-4 of the
/// residual after 10, 50 and 100 iterations in a prototype, in another norm.
#[test]
fn residuals_fall_as_figure_seven_shows() {
    let curve_of = |params, method, most| {
        let defects = defects(32, params, method, most).defects;
        defects.iter().map(|defect| defect / defects[0]).collect::<Vec<f64>>()
    };
    let curve = |method, most| curve_of(MultigridParams::default(), method, most);
    let printed = curve_of(MultigridParams::paper(), Method::Cg, 100);
    for (at, told) in [(10, 0.27), (50, 0.014), (100, 2.6e-4)] {
        assert!((told / 5.0..told * 5.0).contains(&printed[at]), "after {at}: {}", printed[at]);
    }
    let plain = curve(Method::Cg, 100);
    let cycles = curve(Method::Cycles, 6);
    // The rate is constant from the third cycle on.
    let rates: Vec<f64> = cycles.windows(2).skip(2).map(|pair| pair[1] / pair[0]).collect();
    assert!(rates.iter().all(|rate| (0.5..2.0).contains(&(rate / rates[0]))), "{cycles:?}");
    assert!(curve(Method::MultigridCg, 6)[6] < 0.2 * cycles[6]);
    assert!(cycles[3] < plain[100] && curve(Method::JacobiCg, 60)[60] < plain[60]);
}

#[test]
fn conjugate_gradients_reach_what_f32_cannot() {
    for (method, most) in [(Method::MultigridCg, 20), (Method::JacobiCg, 200)] {
        let report = defects(16, MultigridParams::default(), method, most);
        assert!(report.reduction() < 1e-10, "{method:?}: {report:?}");
    }
}

#[test]
fn cycle_is_symmetric_and_positive() {
    for (cells, axis) in [(carved([12, 10, 9], |[x, y, _]| x + y < 16), 2), (fingers(), 0)] {
        let mut noise = Noise(5);
        let (lame, u, _) = random_problem(&cells, &mut noise);
        let fixed = fixed_end(&cells, axis);
        let mut system = Multigrid::new(&cells, &lame, &fixed, MultigridParams::default()).unwrap();
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        assert_symmetric_and_positive(&mut system, &fixed, &mut noise);
    }
}

/// A lattice of one level: only f32 rounding and the small diagonal shift remain.
#[test]
fn small_lattices_are_solved_at_once() {
    let cells = dense([6, 5, 4]);
    let mut noise = Noise(9);
    let (lame, u, b) = random_problem(&cells, &mut noise);
    let fixed = fixed_end(&cells, 0);
    let mut system = Multigrid::new(&cells, &lame, &fixed, MultigridParams::default()).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    assert_eq!(system.level_count(), 1);
    let report = system.solve(Method::Cycles, &b, &mut vec![Vec3::zero(); b.len()], 1e-4, 1);
    assert!(report.reduction() < 1e-4, "{report:?}");
}

#[test]
fn fingers_in_one_place_move_apart() {
    let cells = fingers();
    let fixed = fixed_end(&cells, 0);
    let lame = vec![lame(0.3); cells.cells.len()];
    let mut system = Multigrid::new(&cells, &lame, &fixed, MultigridParams::default()).unwrap();
    assert!(system.layout().seams().count() > 0, "there are two sheets");
    // Pulls the tips in opposite directions.
    let tips: Vec<usize> = (0..fixed.len()).filter(|&node| cells.node_places[node][0] == 20).collect();
    let mut b = vec![Vec3::zero(); fixed.len()];
    for (k, &node) in tips.iter().enumerate() {
        b[node].y = if k % 2 == 0 { 1e-3 } else { -1e-3 };
    }
    let mut x = vec![Vec3::zero(); b.len()];
    let report = system.solve(Method::MultigridCg, &b, &mut x, 1e-6, 30);
    assert!(report.reduction() < 1e-6 && report.iterations <= 15, "{report:?}");
    // Mirror images, so nodes at the same position move by the same distance in opposite directions.
    for pair in tips.chunks_exact(2) {
        assert_eq!(cells.node_places[pair[0]], cells.node_places[pair[1]]);
        assert!(x[pair[0]].y > 1e-3 && (x[pair[0]].y + x[pair[1]].y).abs() < 1e-5 * x[pair[0]].y);
    }
}

/// Iterations of preconditioned conjugate gradients to a millionth of a random load.
fn iterations(cells: &HexLattice, fixed: &[[bool; 3]], lame: &[[f64; 2]], u: Option<&[Vec3]>) -> usize {
    let mut system = Multigrid::new(cells, lame, fixed, MultigridParams::default()).unwrap();
    if let Some(u) = u {
        system.linearize(u, TangentKind::Definite, 1.0).unwrap();
    }
    let mut noise = Noise(3);
    let b: Vec<Vec3> = fixed.iter().map(|f| if f[0] { Vec3::zero() } else { noise.vector() }).collect();
    let report = system.solve(Method::MultigridCg, &b, &mut vec![Vec3::zero(); b.len()], 1e-6, 100);
    assert!(report.reduction() < 1e-6, "{report:?}");
    report.iterations
}

#[test]
fn flesh_that_hardly_changes_its_volume_converges() {
    let cells = dense([24, 24, 24]);
    let ends: Vec<[bool; 3]> = cells.node_places.iter().map(|p| [p[0] == 0 || p[0] == 24; 3]).collect();
    for poisson in [0.3, 0.45, 0.49] {
        let count = iterations(&cells, &ends, &vec![lame(poisson); cells.cells.len()], None);
        assert!(count <= 10, "ν = {poisson}: {count}");
    }
}

#[test]
fn hard_lumps_in_soft_flesh_converge() {
    let cells = dense([24, 24, 24]);
    let ends: Vec<[bool; 3]> = cells.node_places.iter().map(|p| [p[0] == 0 || p[0] == 24; 3]).collect();
    let is_hard: [&dyn Fn([u32; 3]) -> bool; 2] =
        [&|p| p.iter().all(|p| (6..15).contains(p)), &|p| p.iter().map(|p| p / 5).sum::<u32>().is_multiple_of(2)];
    for is_hard in is_hard {
        let stiffness = |p: [u32; 3]| if is_hard(p) { 1e3 } else { 1.0 };
        let lame: Vec<[f64; 2]> = cells.cells.iter().map(|c| lame(0.3).map(|v| v * stiffness(c.place))).collect();
        let count = iterations(&cells, &ends, &lame, None);
        assert!(count <= 15, "{count}");
    }
}

/// A round arm with displacements that bend it by 69 degrees over 1.5 m, and its bone, one cell wide, which does not
/// move.
fn bent_arm() -> (HexLattice, Vec<Vec3>, Vec<[bool; 3]>) {
    let arm = carved([64, 17, 17], |[_, y, z]| (y as f64 - 8.0).powi(2) + (z as f64 - 8.0).powi(2) < 70.0);
    let center = Vec3::new(3.2, 8.5 * H, 8.5 * H);
    let bent = |node: usize| {
        let q = arm.node_position(node) - center;
        let angle = 1.2 * (q.x / 1.5).clamp(0.0, 1.0);
        let (along, sideways) = (q.x.max(0.0), Vec3::new(-angle.sin(), angle.cos(), 0.0));
        let axis = Vec3::new(q.x.min(0.0) + along * angle.cos(), along * angle.sin(), 0.0);
        axis + sideways * q.y + Vec3::unit(2) * q.z - q
    };
    let u: Vec<Vec3> = (0..arm.node_places.len()).map(bent).collect();
    let is_bone = |p: &[u32; 3]| (8..=9).contains(&p[1]) && (8..=9).contains(&p[2]);
    let bone = arm.node_places.iter().map(|p| [is_bone(p); 3]).collect();
    (arm, u, bone)
}

/// MCA-31: a coarse cell is linearized at the mean F of the cells in it, weighted by their stiffness; through several
/// levels at that of all fine cells in it. These are compared with F at the centers of the fine cells in f64.
#[test]
fn coarse_cells_have_the_mean_gradient_of_the_cells_in_them() {
    let body = carved([16, 12, 10], |[x, y, z]| (x + y * z) % 3 != 0);
    let (lame, u, _) = random_problem(&body, &mut Noise(11));
    let free = vec![[false; 3]; body.node_places.len()];
    let params = MultigridParams { coarsest_cells: 8, ..printed_volume() };
    let mut system = Multigrid::new(&body, &lame, &free, params).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    assert!(system.levels.len() > 2, "{} levels", system.levels.len());
    // μ F and μ, summed over the fine cells in each cell.
    let weighted = |(cell, [mu, _]): (&LatticeCell, &[f64; 2])| -> [f64; 10] {
        let slope = |i: usize, j: usize| {
            let corners = cell.nodes.iter().enumerate();
            corners.map(|(k, &node)| u[node as usize][i] * sign(k, j) / (4.0 * H)).sum::<f64>()
        };
        std::array::from_fn(|k| if k < 9 { mu * (f64::from(u8::from(k % 4 == 0)) + slope(k / 3, k % 3)) } else { *mu })
    };
    let mut sums: Vec<[f64; 10]> = body.cells.iter().zip(&lame).map(weighted).collect();
    let mut lattice = body.clone();
    for level in &system.levels[1..] {
        let to = lattice.coarsen();
        let mut coarse = vec![[0.0; 10]; to.lattice.cells.len()];
        for (fine, &parent) in sums.iter().zip(&to.parent) {
            coarse[parent as usize].iter_mut().zip(fine).for_each(|(sum, fine)| *sum += fine);
        }
        for (cell, sum) in coarse.iter().enumerate() {
            let (block, lane) = level.layout.cell_slot(cell);
            let found = |k: usize| f64::from(level.gradients[block * GRADIENT + k * LANES + lane]);
            let apart = (0..9).map(|k| (found(k) - sum[k] / sum[9]).abs()).fold(0.0, f64::max);
            // Differences of f32 displacements of a few meters over a tenth of one.
            assert!(apart < 2e-5, "cell {cell}: {apart}");
        }
        (lattice, sums) = (to.lattice, coarse);
    }
}

#[test]
fn bent_arms_with_thin_bones_converge() {
    let (arm, u, bone) = bent_arm();
    let count = iterations(&arm, &bone, &material(&arm), Some(&u));
    assert!(count <= 15, "{count}");
    let count = iterations(&arm, &fixed_end(&arm, 0), &material(&arm), None);
    assert!(count <= 15, "held at one end: {count}");
}

/// X9, the arm of figure 7: cycles keep their rate, and converge faster as a preconditioner of conjugate gradients; both
/// are far ahead of conjugate gradients without cycles.
#[test]
fn residuals_of_a_bent_arm_fall_as_figure_seven_shows() {
    let (arm, u, bone) = bent_arm();
    let mut system = Multigrid::new(&arm, &material(&arm), &bone, MultigridParams::default()).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    let mut noise = Noise(3);
    let b: Vec<Vec3> = bone.iter().map(|f| if f[0] { Vec3::zero() } else { noise.vector() }).collect();
    let mut left = |method, most: usize| {
        let defects = system.solve(method, &b, &mut vec![Vec3::zero(); b.len()], 1e-11, most).defects;
        (defects[most] / defects[0], defects[most] / defects[most - 1])
    };
    let [cycles, preconditioned, jacobi, plain] =
        [(Method::Cycles, 6), (Method::MultigridCg, 6), (Method::JacobiCg, 30), (Method::Cg, 30)]
            .map(|(method, most)| left(method, most));
    assert!(cycles.1 < 0.75 && preconditioned.0 < cycles.0, "{cycles:?} {preconditioned:?}");
    assert!(cycles.0 < 0.5 * jacobi.0 && jacobi.0 < plain.0, "{cycles:?} {jacobi:?} {plain:?}");
}

#[test]
fn threads_do_not_change_a_bit() {
    let solve = |threads: usize| {
        let (mut system, b) = face_load(32, MultigridParams { threads, ..MultigridParams::default() }, 0.3);
        let mut x = vec![Vec3::zero(); b.len()];
        system.solve(Method::MultigridCg, &b, &mut x, 1e-8, 10);
        x
    };
    let one = solve(1);
    assert_eq!(one, solve(2));
    assert_eq!(one, solve(5));
}

#[test]
fn crumbs_are_not_coarsened_for_ever() {
    let crumbs = carved([15, 15, 15], |place| place.iter().all(|p| p.is_multiple_of(2)));
    let system =
        Multigrid::new(&crumbs, &material(&crumbs), &fixed_end(&crumbs, 0), MultigridParams::default()).unwrap();
    assert_eq!(system.cell_counts(), [512]);
}

/// Bones between the nodes of coarse levels, including straight ones, which the paper's rule ignores.
#[test]
fn thin_bones_between_coarse_nodes_do_not_slow_the_cycle() {
    let arm = carved([64, 16, 16], |_| true);
    let is_bone = |p: &[u32; 3]| p[1] == 7 && (8..=9).contains(&p[2]) && !(30..=34).contains(&p[0]);
    let bone: Vec<[bool; 3]> = arm.node_places.iter().map(|p| [is_bone(p); 3]).collect();
    let count = iterations(&arm, &bone, &material(&arm), None);
    assert!(count <= 15, "{count}");
}

/// A block with a flap one cell thick, at any position between the planes of coarse levels; and a plate, which is thin
/// everywhere.
#[test]
fn parts_one_cell_thick_do_not_slow_the_cycle() {
    for height in 7..11 {
        let is_flesh = |[x, y, z]: [usize; 3]| x < 16 || (z == height && (3..13).contains(&y));
        let flap = carved([24, 16, 16], is_flesh);
        let count = iterations(&flap, &fixed_end(&flap, 0), &material(&flap), None);
        assert!(count <= 15, "at height {height}: {count}");
    }
    for (size, most) in [(32, 15), (64, 20)] {
        for height in 0..2 {
            let plate = carved([size, size, 2], |[_, _, z]| z == height);
            let count = iterations(&plate, &fixed_end(&plate, 0), &material(&plate), None);
            assert!(count <= most, "plate of {size} cells at {height}: {count}");
        }
    }
}
