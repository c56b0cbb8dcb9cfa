//! Checks sheets against closed forms, differences and invariance.

use super::*;

/// A sheet of two triangles over the unit square.
fn square(stiffness: f64) -> (Sheath, Vec<Vec3>) {
    let rest = vec![Vec3::zero(), Vec3::new(1.0, 0.0, 0.0), Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.0, 1.0, 0.0)];
    let sheath = Sheath::new("s".into(), stiffness, &[([0, 1, 2], 1.0), ([0, 2, 3], 1.0)], |node| rest[node as usize]);
    (sheath, rest)
}

fn energy(sheath: &Sheath, x: &[Vec3]) -> f64 {
    let energies = sheath.triangles.iter().filter_map(|triangle| {
        let e = triangle.stretched(x)?.elongations();
        Some(triangle.area * sheath.stiffness * dot(e, e))
    });
    energies.sum()
}

fn with_context<T>(use_it: impl FnOnce(&StepContext<'_>) -> T) -> T {
    let (state, contacts) = (crate::state::State::default(), crate::contact::Contacts::default());
    let table = std::sync::Arc::new(crate::control::ChannelTable::default());
    let control = crate::control::Control::new(table);
    use_it(&StepContext { time: 0.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts })
}

fn gradient(sheath: &Sheath, x: &[Vec3]) -> Vec<Vec3> {
    let mut out = vec![Vec3::zero(); x.len()];
    with_context(|ctx| sheath.add_gradient(x, ctx, &mut out));
    out
}

/// Positions with both triangles stretched along both axes, along one, along one and folded, and hardly at all.
fn poses(rest: &[Vec3]) -> Vec<Vec<Vec3>> {
    let maps: [fn(Vec3) -> Vec3; 4] = [
        |p| Vec3::new(1.3 * p.x + 0.2 * p.y, 1.1 * p.y, 0.1 * p.x * p.y),
        |p| Vec3::new(1.4 * p.x, 0.7 * p.y, 0.3 * p.y),
        |p| Vec3::new(1.2 * p.x + 0.3 * p.x * p.y, 0.4 * p.y, 0.5 * p.x * p.y - 0.2 * p.y),
        |p| Vec3::new(1.01 * p.x, 0.2 * p.x + 0.99 * p.y, 0.0),
    ];
    maps.iter().map(|map| rest.iter().map(|&p| map(p)).collect()).collect()
}

/// E = A k Σ (s − 1)² for stretches above 1 only; forces of a square stretched along x are 2k(s − 1) times its width.
#[test]
fn a_stretched_square_pulls_as_the_formula_says() {
    let (sheath, rest) = square(3.0);
    let x: Vec<Vec3> = rest.iter().map(|p| Vec3::new(1.2 * p.x, 0.8 * p.y, 0.0)).collect();
    assert!((energy(&sheath, &x) - 3.0 * 0.04).abs() < 1e-14);
    let forces = gradient(&sheath, &x);
    assert!((forces[1].x + forces[2].x - 2.0 * 3.0 * 0.2).abs() < 1e-14);
    assert!(forces.iter().all(|f| f.y.abs() < 1e-14 && f.z == 0.0));
    let (tension, longest) = sheath.summarize(&x);
    assert!((tension - 1.2).abs() < 1e-14 && (longest - 1.2).abs() < 1e-14);
}

#[test]
fn pressed_folded_and_turned_sheets_do_not_resist() {
    let (sheath, rest) = square(3.0);
    let maps: [fn(Vec3) -> Vec3; 3] = [
        |p| p * 0.6,
        |p| Vec3::new(p.x, 0.0, 0.5 * p.y),
        |p| Vec3::new(0.6 * p.x - 0.8 * p.y, 0.8 * p.x + 0.6 * p.y, 4.0) * (1.0 - 1e-12),
    ];
    for map in maps {
        let x: Vec<Vec3> = rest.iter().map(|&p| map(p)).collect();
        assert!(energy(&sheath, &x) < 1e-20);
        assert!(gradient(&sheath, &x).iter().all(|f| f.norm() < 1e-10));
    }
}

/// Rounding leaves stretches at or one unit in the last place above 1; nothing is divided by their difference.
#[test]
fn a_sheet_at_rest_has_a_finite_tangent() {
    let (sheath, rest) = square(3.0);
    for scale in [1.0, 1.0 + f64::EPSILON, 1.0 + 2.0 * f64::EPSILON] {
        let x: Vec<Vec3> = rest.iter().map(|&p| p * scale).collect();
        let mut tangent = Linearized::default();
        with_context(|ctx| sheath.linearize(&x, ctx, Tangent::Exact, &mut tangent));
        assert!(tangent.blocks().iter().all(|(_, _, block)| block.norm_squared().is_finite()));
    }
}

#[test]
fn gradient_and_tangent_are_derivatives_of_the_energy() {
    const H: f64 = 1e-6;
    let (sheath, rest) = square(2.0);
    for x in poses(&rest) {
        let forces = gradient(&sheath, &x);
        let mut tangent = Linearized::default();
        with_context(|ctx| sheath.linearize(&x, ctx, Tangent::Exact, &mut tangent));
        for node in 0..4 {
            for axis in 0..3 {
                let (mut up, mut down) = (x.clone(), x.clone());
                up[node][axis] += H;
                down[node][axis] -= H;
                let slope = (energy(&sheath, &up) - energy(&sheath, &down)) / (2.0 * H);
                assert!((slope - forces[node][axis]).abs() < 1e-8, "{slope} {:?}", forces[node]);
                let mut direction = vec![Vec3::zero(); 4];
                direction[node][axis] = 1.0;
                let mut product = vec![Vec3::zero(); 4];
                tangent.add_product(&direction, &mut product);
                for (k, (after, before)) in gradient(&sheath, &up).iter().zip(gradient(&sheath, &down)).enumerate() {
                    let difference = (*after - before) / (2.0 * H);
                    assert!((difference - product[k]).norm() < 1e-7, "{k}: {difference:?} {:?}", product[k]);
                }
            }
        }
        // Positive semi-definite without projection.
        for seed in 0..50u32 {
            let dx: Vec<Vec3> = (0..4u32)
                .map(|k| {
                    let at =
                        |axis: u32| f64::from((seed * 7919 + k * 104_729 + axis * 1_299_709) % 2003) / 1001.5 - 1.0;
                    Vec3::new(at(0), at(1), at(2))
                })
                .collect();
            let mut product = vec![Vec3::zero(); 4];
            tangent.add_product(&dx, &mut product);
            let curvature: f64 = dx.iter().zip(&product).map(|(d, p)| d.dot(*p)).sum();
            assert!(curvature > -1e-12, "{curvature}");
        }
    }
}
