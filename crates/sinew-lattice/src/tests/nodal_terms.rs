//! Blocks added at nodes, the tangents of products and of cycles, and independence of earlier steps.

use sinew_geometry::lattice::HexLattice;
use sinew_math::{Mat3, Vec3};

use super::*;
use crate::pass::Pass;
use crate::{Multigrid, MultigridParams, TangentKind};

type Block = Mat3<f32>;

#[derive(Clone, Copy, Debug)]
enum Blocks {
    Diagonal,
    Full,
}

/// Random definite blocks, scaled by `stiffness`; none at every third node.
fn random_blocks(count: usize, kind: Blocks, stiffness: f64, noise: &mut Noise) -> Vec<Block> {
    let block = |node: usize, noise: &mut Noise| {
        let m = Mat3::from_rows(noise.vector(), noise.vector(), noise.vector());
        let square = m.mul_transpose(&m) * (4.0 * stiffness);
        let block = match kind {
            Blocks::Diagonal => Mat3::diagonal(square.diagonal_entries()),
            Blocks::Full => square,
        };
        if node.is_multiple_of(3) { Mat3::zero() } else { block }
    };
    (0..count).map(|node| Block::from_f64(block(node, noise))).collect()
}

fn random_vector(fixed: &[[bool; 3]], noise: &mut Noise) -> Vec<Vec3> {
    let free = |fixed: bool, value: f64| if fixed { 0.0 } else { value };
    let value = |fixed: &[bool; 3], v: Vec3| Vec3::new(free(fixed[0], v.x), free(fixed[1], v.y), free(fixed[2], v.z));
    fixed.iter().map(|fixed| value(fixed, noise.vector())).collect()
}

/// Holds one end, and lets some nodes beyond it slide.
fn some_fixed(cells: &HexLattice, axis: usize) -> Vec<[bool; 3]> {
    let mut fixed = fixed_end(cells, axis);
    fixed.iter_mut().step_by(7).for_each(|fixed| fixed[1] = true);
    fixed
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

fn precondition(system: &mut Multigrid, r: &[Vec3]) -> Vec<Vec3> {
    let mut z = narrow(&vec![Vec3::zero(); r.len()]);
    system.precondition(&narrow(r), &mut z);
    widen(&z)
}

/// (K + A) x of free components, in f64.
fn product(system: &mut Multigrid, blocks: &[Block], fixed: &[[bool; 3]], x: &[Vec3]) -> Vec<Vec3> {
    let mut out = vec![Vec3::zero(); x.len()];
    system.apply_wide(x, &mut out);
    for (node, out) in out.iter_mut().enumerate() {
        *out += blocks[node].to_f64() * x[node];
        for c in 0..3 {
            out[c] = if fixed[node][c] { 0.0 } else { out[c] };
        }
    }
    out
}

fn mean_diagonal(system: &Multigrid) -> f64 {
    let mut means = vec![0.0; system.layout().node_count()];
    system.mean_diagonal(&mut means);
    means.iter().map(|&mean| f64::from(mean)).sum::<f64>() / means.len() as f64
}

/// One sheet, and two with seams.
fn bodies() -> [(HexLattice, Vec<[bool; 3]>); 2] {
    [carved([12, 10, 9], |[x, y, _]| x + y < 16), fingers()].map(|cells| {
        let fixed = some_fixed(&cells, 0);
        (cells, fixed)
    })
}

#[test]
fn cycles_with_anchors_are_symmetric_and_positive() {
    for (cells, fixed) in bodies() {
        for kind in [Blocks::Diagonal, Blocks::Full] {
            let mut noise = Noise(5);
            let (lame, u, _) = random_problem(&cells, &mut noise);
            let mut system = Multigrid::new(&cells, &lame, &fixed, MultigridParams::default()).unwrap();
            assert!(system.level_count() > 1);
            let blocks = random_blocks(fixed.len(), kind, 10.0 * mean_diagonal(&system), &mut noise);
            system.set_anchors(Some(&blocks));
            system.linearize(&u, TangentKind::Exact, 1.5).unwrap();
            let r = [random_vector(&fixed, &mut noise), random_vector(&fixed, &mut noise)];
            let z = [precondition(&mut system, &r[0]), precondition(&mut system, &r[1])];
            let (a, b, size) = (dot(&r[0], &z[1]), dot(&r[1], &z[0]), dot(&r[0], &z[0]));
            println!("{kind:?}: asymmetry {:.1e}", (a - b).abs() / size);
            assert!(size > 0.0 && dot(&r[1], &z[1]) > 0.0);
            assert!((a - b).abs() < 1e-5 * size, "{kind:?}: {a} {b} of {size}");
            let is_held = |(z, fixed): (&Vec3, &[bool; 3])| (0..3).all(|c| !fixed[c] || z[c] == 0.0);
            assert!(z[0].iter().zip(&fixed).all(is_held));
        }
    }
}

/// r = −(K + A) x and x + D⁻¹ r of single passes, against blocks written out. The blocks of seam nodes count once, too.
#[test]
fn passes_add_the_block_of_each_node_once() {
    for (cells, fixed) in bodies() {
        for kind in [Blocks::Diagonal, Blocks::Full] {
            let mut noise = Noise(8);
            let (lame, u, _) = random_problem(&cells, &mut noise);
            let mut system = Multigrid::new(&cells, &lame, &fixed, printed_volume()).unwrap();
            system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
            let diagonal = system.diagonal();
            let blocks = random_blocks(fixed.len(), kind, 10.0 * mean_diagonal(&system), &mut noise);
            system.set_anchors(Some(&blocks));
            system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
            let x = random_vector(&fixed, &mut noise);
            let expected = product(&mut system, &blocks, &fixed, &x);
            let (modes, level) = (system.params.modes, &mut system.levels[0]);
            let spread = |level: &mut crate::level::Level| {
                level.layout.spread(&mut level.x, |node| [x[node].x as f32, x[node].y as f32, x[node].z as f32]);
                level.b.fill(0.0);
                level.out.fill(0.0);
            };
            spread(level);
            level.pass(modes, |b, inverse, out| Pass::Residual { b, inverse, out });
            let mut residual = vec![Vec3::zero(); x.len()];
            level.gather(&level.out, &mut residual);
            spread(level);
            level.pass(modes, |b, inverse, out| Pass::Smooth { b, inverse, out, a: 0.0, c: 1.0 });
            let mut moved = vec![Vec3::zero(); x.len()];
            level.gather(&level.x, &mut moved);
            let largest = expected.iter().map(|v| v.norm()).fold(0.0, f64::max);
            for node in 0..x.len() {
                assert!((residual[node] + expected[node]).norm() < 1e-5 * largest, "{kind:?} {node}");
                let mut block = blocks[node].to_f64() + Mat3::diagonal(diagonal[node]);
                for c in 0..3 {
                    if fixed[node][c] {
                        (0..3).for_each(|k| (block.rows[c][k], block.rows[k][c]) = (0.0, 0.0));
                        block.rows[c][c] = 1.0;
                    }
                }
                let step = block.inverse() * expected[node];
                assert!((moved[node] - x[node] + step).norm() < 1e-4 * (1.0 + step.norm()), "{kind:?} {node}");
            }
        }
    }
}

/// One cycle solves a lattice of one level, including added blocks.
#[test]
fn coarsest_level_has_the_anchors() {
    let cells = dense([6, 5, 4]);
    let fixed = some_fixed(&cells, 0);
    let mut noise = Noise(4);
    let mut system = Multigrid::new(&cells, &material(&cells), &fixed, MultigridParams::default()).unwrap();
    let blocks = random_blocks(fixed.len(), Blocks::Full, 3.0 * mean_diagonal(&system), &mut noise);
    system.set_anchors(Some(&blocks));
    system.linearize(&vec![Vec3::zero(); fixed.len()], TangentKind::Definite, 1.0).unwrap();
    let b = random_vector(&fixed, &mut noise);
    let x = precondition(&mut system, &b);
    let error: Vec<Vec3> =
        product(&mut system, &blocks, &fixed, &x).iter().zip(&b).map(|(product, b)| *product - *b).collect();
    assert!(dot(&error, &error) < 1e-10 * dot(&b, &b), "{}", (dot(&error, &error) / dot(&b, &b)).sqrt());
}

/// A cube held at one end, with a right-hand side.
fn cube(n: usize) -> (HexLattice, Vec<[bool; 3]>, Multigrid, Vec<Vec3>) {
    let cells = dense([n, n, n]);
    let fixed = fixed_end(&cells, 0);
    let system = Multigrid::new(&cells, &material(&cells), &fixed, MultigridParams::default()).unwrap();
    let b = random_vector(&fixed, &mut Noise(2));
    (cells, fixed, system, b)
}

/// x ← x + M (b − (K + A) x) for masses of a tenth to ten times the mean diagonal.
#[test]
fn cycles_converge_with_inertia() {
    let (_, fixed, mut system, b) = cube(24);
    let rest = vec![Vec3::zero(); b.len()];
    for mass in [0.1, 1.0, 10.0] {
        let block = Block::from_f64(Mat3::identity() * (mass * mean_diagonal(&system)));
        let blocks = vec![block; b.len()];
        system.set_anchors(Some(&blocks));
        system.linearize(&rest, TangentKind::Definite, 1.0).unwrap();
        let (mut x, mut r) = (rest.clone(), b.clone());
        let mut norms = vec![dot(&r, &r).sqrt()];
        for _ in 0..6 {
            let z = precondition(&mut system, &r);
            x.iter_mut().zip(&z).for_each(|(x, z)| *x += *z);
            let product = product(&mut system, &blocks, &fixed, &x);
            r = b.iter().zip(&product).map(|(b, product)| *b - *product).collect();
            norms.push(dot(&r, &r).sqrt());
        }
        let factors: Vec<f64> = norms.windows(2).map(|pair| pair[1] / pair[0]).collect();
        println!("mass {mass}: {factors:.3?}");
        assert!(factors.iter().all(|&factor| factor < 0.5), "mass {mass}: {factors:?}");
    }
}

/// Iterations of conjugate gradients for a reduction by 1e-5.
fn iterations(system: &mut Multigrid, blocks: &[Block], fixed: &[[bool; 3]], b: &[Vec3]) -> usize {
    let mut r = b.to_vec();
    let mut p = vec![Vec3::zero(); b.len()];
    let mut before = 1.0;
    for iteration in 0..100 {
        if dot(&r, &r) <= 1e-10 * dot(b, b) {
            return iteration;
        }
        let z = precondition(system, &r);
        let rz = dot(&r, &z);
        let beta = if iteration == 0 { 0.0 } else { rz / before };
        before = rz;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = *p * beta + *z);
        let q = product(system, blocks, fixed, &p);
        let alpha = rz / dot(&p, &q);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= *q * alpha);
    }
    100
}

/// Springs along random directions on one face, alone and with inertia.
#[test]
fn conjugate_gradients_converge_with_contact() {
    let (cells, fixed, mut system, b) = cube(24);
    let mean = mean_diagonal(&system);
    for (stiffness, mass, most) in [(1.0, 0.0, 10), (100.0, 0.0, 10), (1e4, 0.0, 10), (1e6, 0.0, 100), (100.0, 1.0, 10)]
    {
        let mut noise = Noise(6);
        let block = |place: &[u32; 3]| {
            let n = noise.vector();
            let spring = if place[1] == 0 { stiffness * mean / n.norm_squared() } else { 0.0 };
            Block::from_f64(Mat3::outer(n, n) * spring + Mat3::identity() * (mass * mean))
        };
        let blocks: Vec<Block> = cells.node_places.iter().map(block).collect();
        system.set_anchors(Some(&blocks));
        system.linearize(&vec![Vec3::zero(); b.len()], TangentKind::Definite, 1.0).unwrap();
        let count = iterations(&mut system, &blocks, &fixed, &b);
        println!("contact {stiffness}, mass {mass}: {count} iterations, {} sweeps", system.fine_sweeps());
        assert!(count <= most, "{stiffness}, {mass}: {count}");
    }
}

#[test]
fn blends_go_from_exact_to_definite() {
    for (cells, fixed) in bodies() {
        let mut noise = Noise(13);
        let (lame, u, x) = random_problem(&cells, &mut noise);
        // Cells at half their size have an indefinite exact tangent.
        let u: Vec<Vec3> = u.iter().enumerate().map(|(k, u)| *u * 0.5 - cells.node_position(k) * 0.5).collect();
        let mut system = Multigrid::new(&cells, &lame, &fixed, printed_volume()).unwrap();
        let mut products = |kind: TangentKind, scale: f64| {
            system.linearize(&u, kind, scale).unwrap();
            let mut wide = vec![Vec3::zero(); x.len()];
            system.apply_wide(&x, &mut wide);
            (product_of(&mut system, &x), wide)
        };
        let exact = products(TangentKind::Exact, 1.0);
        let half = products(TangentKind::Blend(0.5), 1.0);
        let definite = products(TangentKind::Definite, 1.0);
        assert_eq!(exact, products(TangentKind::Blend(0.0), 1.0));
        assert_eq!(definite, products(TangentKind::Blend(1.0), 1.0));
        let distance = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| (*a - *b).norm()).fold(0.0, f64::max);
        let gap = distance(&exact.1, &definite.1);
        let mean: Vec<Vec3> = exact.1.iter().zip(&definite.1).map(|(a, b)| (*a + *b) * 0.5).collect();
        let largest = exact.1.iter().map(|v| v.norm()).fold(0.0, f64::max);
        assert!(gap > 1e-3 * largest, "{gap} of {largest}");
        assert!(distance(&mean, &half.1) < 1e-5 * largest);
        assert!(distance(&half.0, &half.1) < 1e-5 * largest);
        // Twice K equals K of twice the stiffness, bit for bit.
        let doubled: Vec<Vec3> = exact.0.iter().map(|v| *v * 2.0).collect();
        assert_eq!(doubled, products(TangentKind::Exact, 2.0).0);
    }
}

#[test]
fn threads_do_not_change_a_bit_with_anchors() {
    for kind in [Blocks::Diagonal, Blocks::Full] {
        let solve = |threads: usize| {
            let cells = dense([40, 32, 32]);
            let fixed = some_fixed(&cells, 0);
            let mut noise = Noise(3);
            let (lame, u, _) = random_problem(&cells, &mut noise);
            let params = MultigridParams { threads, ..MultigridParams::default() };
            let mut system = Multigrid::new(&cells, &lame, &fixed, params).unwrap();
            let blocks = random_blocks(fixed.len(), kind, mean_diagonal(&system), &mut noise);
            system.set_anchors(Some(&blocks));
            system.linearize(&u, TangentKind::Exact, 1.0).unwrap();
            precondition(&mut system, &random_vector(&fixed, &mut noise))
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let one = alone.install(|| solve(1));
        assert_eq!(one, pool.install(|| solve(2)));
        assert_eq!(one, alone.install(|| solve(2)));
    }
}

/// After `begin_step` results equal those of a new system, whatever happened before.
#[test]
fn steps_do_not_remember() {
    for (cells, fixed) in bodies() {
        for anchors in [None, Some(Blocks::Diagonal), Some(Blocks::Full)] {
            let mut noise = Noise(23);
            let (lame, u, other) = random_problem(&cells, &mut noise);
            let r = random_vector(&fixed, &mut noise);
            let new = || Multigrid::new(&cells, &lame, &fixed, MultigridParams::default()).unwrap();
            let (mut fresh, mut used) = (new(), new());
            let stiffness = mean_diagonal(&fresh);
            let before = random_blocks(fixed.len(), Blocks::Full, 50.0 * stiffness, &mut noise);
            used.set_anchors(Some(&before));
            used.linearize(&other, TangentKind::Exact, 3.0).unwrap();
            precondition(&mut used, &other);
            used.linearize(&u, TangentKind::Frozen, 0.1).unwrap();
            product_of(&mut used, &other);
            let blocks = anchors.map(|kind| random_blocks(fixed.len(), kind, stiffness, &mut noise));
            let mut results = [&mut fresh, &mut used].map(|system| {
                system.begin_step(&[]);
                system.set_anchors(blocks.as_deref());
                system.linearize(&u, TangentKind::Blend(0.3), 1.0).unwrap();
                let first = (precondition(system, &r), product_of(system, &r), mean_diagonal(system));
                system.linearize(&other, TangentKind::Definite, 1.0).unwrap();
                (first, precondition(system, &r))
            });
            let [fresh, used] = &mut results;
            assert_eq!(fresh, used);
        }
    }
}

#[test]
fn mean_diagonal_and_work_are_counted() {
    let (cells, fixed, _, b) = cube(12);
    let mut system = Multigrid::new(&cells, &material(&cells), &fixed, printed_volume()).unwrap();
    let mut noise = Noise(1);
    let (_, u, _) = random_problem(&cells, &mut noise);
    system.set_anchors(Some(&random_blocks(b.len(), Blocks::Full, 1.0, &mut noise)));
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    let mut means = vec![0.0; b.len()];
    system.mean_diagonal(&mut means);
    for node in (0..b.len()).step_by(97) {
        let diagonal = |c: usize| {
            let mut unit = vec![Vec3::zero(); b.len()];
            unit[node][c] = 1.0;
            unit
        };
        let trace: f64 = (0..3).map(|c| product_of(&mut system, &diagonal(c))[node][c]).sum();
        assert!((f64::from(means[node]) / (trace / 3.0) - 1.0).abs() < 1e-5, "fixed {:?}", fixed[node]);
    }
    assert_eq!(system.work(), crate::CycleWork::default());
    precondition(&mut system, &b);
    precondition(&mut system, &b);
    let work = system.work();
    let cells: usize = system.cell_counts().iter().sum();
    assert_eq!((work.cycles, work.cell_sweeps), (2, (2 * cells * (2 * system.fine_sweeps() + 1)) as f64));
    assert!(work.seconds > 0.0);
}
