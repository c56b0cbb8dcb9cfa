//! Fibers that pull: stress and tangent against complex steps, definiteness, what they do to volume.

use super::super::battery::Random;
use super::super::tangent::{Tangent9, unit_direction};
use super::super::{
    BlockSink, ElementBlocks, Material, MaterialSpec, MooneyRivlin, PrincipalTangent, Shape, ShapeRoom,
};
use super::*;
use sinew_math::{ComplexStep, complex_step};

/// An energy with its tension and stiffness, none of them zero: W = σ (λ³/3 + λ²).
fn curve<S: Scalar>(stretch: S) -> [S; 3] {
    let (scale, two) = (S::splat(2.5e5), S::splat(2.0));
    [
        scale * stretch * stretch * (stretch * S::splat(1.0 / 3.0) + S::one()),
        scale * stretch * (stretch + two),
        scale * (stretch + S::one()) * two,
    ]
}

fn energy<S: Scalar>(F: &Mat3<S>, fiber: Vec3, measure: FiberStretch) -> S {
    let fiber = Vec3::new(S::splat(fiber.x), S::splat(fiber.y), S::splat(fiber.z));
    curve(StretchedFiber::at(F, fiber, measure).stretch())[0]
}

fn stress<S: Scalar>(F: &Mat3<S>, fiber: Vec3, measure: FiberStretch) -> Mat3<S> {
    let fiber = Vec3::new(S::splat(fiber.x), S::splat(fiber.y), S::splat(fiber.z));
    let stretched = StretchedFiber::at(F, fiber, measure);
    stretched.stress(curve(stretched.stretch())[1])
}

/// Deformations of all kinds, the last ones flat and inverted.
fn deformations(random: &mut Random) -> Vec<Mat3> {
    let stretches = [
        [1.0, 1.0, 1.0],
        [1.3, 0.9, 0.8],
        [0.6, 1.2, 1.5],
        [2.0, 0.4, 0.7],
        [1.0, 0.5, 0.3],
        [1.1, 0.9, 0.05],
        [1.1, 0.9, -0.4],
        [1.4, 1.2, -0.9],
    ];
    stretches.iter().map(|&s| random.with_stretches(s)).collect()
}

const MEASURES: [FiberStretch; 2] = [FiberStretch::Isochoric, FiberStretch::Full];

#[test]
fn stress_is_the_derivative_of_the_energy() {
    let mut random = Random(5);
    for F in deformations(&mut random) {
        let fiber = random.vector().normalized();
        for measure in MEASURES {
            let expected = complex_step::gradient(|F: &Mat3<ComplexStep>| energy(F, fiber, measure), &F);
            let found = stress(&F, fiber, measure);
            assert!((found - expected).norm() <= 1e-10 * (expected.norm() + 1e5), "{measure:?} {F:?}");
        }
    }
}

/// The blocks of the fibers without any flesh.
fn alone(pull: &PullBlocks<f64>) -> ElementBlocks<f64> {
    let mut blocks = ElementBlocks::zero();
    for a in 0..3 {
        (0..=a).for_each(|b| blocks.add(a, b, pull.add_to(a, b, Mat3::zero())));
    }
    blocks
}

/// The blocks, and the change of the cofactor matrix under the pressure of the fibers, are the derivative of the
/// stress.
#[test]
fn blocks_are_the_derivative_of_the_stress() {
    let mut random = Random(6);
    for F in deformations(&mut random) {
        let fiber = random.vector().normalized();
        let gradients: [Vec3; 3] = std::array::from_fn(|_| random.vector());
        for measure in MEASURES {
            let stretched = StretchedFiber::at(&F, fiber, measure);
            let [_, tension, stiffness] = curve(stretched.stretch());
            let mut pull = PullBlocks::zero();
            stretched.beside(tension, stiffness, &gradients, 0.7, &mut pull);
            let blocks = alone(&pull);
            for a in 0..3 {
                for b in 0..=a {
                    for k in 0..3 {
                        let dF = Mat3::outer(Vec3::unit(k), gradients[b]);
                        let dP = complex_step::directional_derivative_matrix(
                            |F: &Mat3<ComplexStep>| stress(F, fiber, measure),
                            &F,
                            &dF,
                        );
                        let turned = super::super::strain::cofactor_differential(&F, &dF) * stretched.pressure(tension);
                        let expected = ((dP - turned) * gradients[a]) * 0.7;
                        let found = blocks.at(a, b).column(k);
                        assert!((found - expected).norm() <= 1e-9 * (dP.norm() + 1e5), "{measure:?} {F:?} {a}{b}{k}");
                    }
                }
            }
        }
    }
}

/// With three orthonormal gradients the blocks are ∂P/∂F itself.
fn tangent(blocks: &ElementBlocks<f64>) -> Tangent9 {
    let mut out = Tangent9([[0.0; 9]; 9]);
    for row in 0..9 {
        for column in 0..9 {
            let (a, b) = (row % 3, column % 3);
            let block = if a >= b { *blocks.at(a, b) } else { blocks.at(b, a).transpose() };
            out.0[row][column] = block[(row / 3, column / 3)];
        }
    }
    out
}

const AXES: [Vec3; 3] = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];

#[test]
fn definite_blocks_are_definite_on_the_descending_limb_too() {
    let mut random = Random(7);
    for F in deformations(&mut random) {
        let fiber = random.vector().normalized();
        for measure in MEASURES {
            for (tension, stiffness) in [(3e5, 0.0), (3e5, -1e6), (1e4, 1e6), (0.0, 0.0), (3e5, 1e5)] {
                let mut pull = PullBlocks::zero();
                let point = MaterialSpec::mooney_rivlin(6e4, 2e4, 2e7).point();
                let stretched = StretchedFiber::at(&F, fiber, measure);
                stretched.definite_beside(tension, stiffness, &point, &AXES, 1.0, &mut pull);
                let found = tangent(&alone(&pull));
                let lost = found.distance(&found.positive_part());
                assert!(lost <= 1e-9 * (found.norm() + 1.0), "{measure:?} {F:?}: {lost}");
            }
        }
    }
}

/// A strip with free sides, active at rest length: its definite tangent is all but exact, since the pressures of flesh
/// and fibers cancel. Projected one by one they would leave an error of the order of the active stress.
#[test]
fn pressures_of_flesh_and_fibers_cancel_in_the_definite_tangent() {
    let (tension, stiffness) = (3e5, 0.0);
    let point = MaterialSpec::mooney_rivlin(6e4, 2e4, 2e7).point();
    // Free sides: κ ln J = T/3 to first order.
    let F = Mat3::identity() * (tension / 3.0 / 2e7 / 3.0_f64).exp();
    let fiber = Vec3::unit(0);
    let stretched = StretchedFiber::at(&F, fiber, FiberStretch::Isochoric);
    let (mut exact, mut pull, mut room) = (ElementBlocks::zero(), PullBlocks::zero(), ShapeRoom::new());
    stretched.beside(tension, stiffness, &AXES, 1.0, &mut pull);
    let mut both = |a: usize, b: usize, block: Mat3| exact.add(a, b, pull.add_to(a, b, block));
    MooneyRivlin.nodal_blocks(&F, &point, &mut Shape::new(&AXES, 1.0, &mut room), &mut both);
    let mut exact = tangent(&exact);
    for column in 0..9 {
        let turned =
            super::super::strain::cofactor_differential(&F, &unit_direction(column)) * stretched.pressure(tension);
        for row in 0..9 {
            exact.0[row][column] += turned[(row / 3, row % 3)];
        }
    }
    let mut definite = ElementBlocks::zero();
    stretched.definite_beside(tension, stiffness, &point, &AXES, 1.0, &mut pull);
    let mut both = |a: usize, b: usize, block: Mat3| definite.add(a, b, pull.add_to(a, b, block));
    let pressure = Some(stretched.pressure(tension));
    MooneyRivlin.definite_nodal_blocks(&F, &point, pressure, &mut Shape::new(&AXES, 1.0, &mut room), &mut both);
    // What keeps the volume, measured apart: the correction sits mostly in the stiffness against its change, which is
    // 20 MPa.
    let error = |found: &Tangent9| {
        let mut error = [[0.0; 9]; 9];
        for row in 0..9 {
            for column in 0..9 {
                error[row][column] = found.0[row][column] - exact.0[row][column];
            }
        }
        // The largest of what extensions along the fibers and shears at constant volume feel.
        let mut most = 0.0f64;
        for dF in [
            Mat3::diagonal(Vec3::new(1.0, -0.5, -0.5)),
            Mat3::diagonal(Vec3::new(0.0, 1.0, -1.0)),
            Mat3::outer(Vec3::unit(0), Vec3::unit(1)),
            Mat3::outer(Vec3::unit(1), Vec3::unit(0)),
            Mat3::outer(Vec3::unit(1), Vec3::unit(2)),
        ] {
            most = most.max((dF.double_dot(&Tangent9(error).apply(&dF)) / dF.norm_squared()).abs());
        }
        most
    };
    let together = error(&tangent(&definite));
    assert!(together < 0.05 * tension, "{together}");

    // One by one.
    let mut apart = ElementBlocks::zero();
    MooneyRivlin.definite_nodal_blocks(&F, &point, None, &mut Shape::new(&AXES, 1.0, &mut room), &mut apart);
    let mut fibers = exact;
    let matrix = PrincipalTangent::exact(&MooneyRivlin, &F, &point).to_tangent9();
    for row in 0..9 {
        for column in 0..9 {
            fibers.0[row][column] -= matrix.0[row][column];
        }
    }
    let mut apart = tangent(&apart);
    let fibers = fibers.positive_part();
    for row in 0..9 {
        for column in 0..9 {
            apart.0[row][column] += fibers.0[row][column];
        }
    }
    assert!(error(&apart) > 5.0 * together, "{} beside {together}", error(&apart));
}

/// Isochoric fibers add no mean stress: tr(P Fᵀ) = 0 (TER fact 6, SIF fact 8), and their energy does not see a change
/// of size.
#[test]
fn isochoric_fibers_leave_the_volume_alone() {
    let mut random = Random(8);
    for stretches in [[1.0, 1.0, 1.0], [1.3, 0.9, 0.8], [0.6, 1.2, 1.5]] {
        let (F, fiber) = (random.with_stretches(stretches), random.vector().normalized());
        let P = stress(&F, fiber, FiberStretch::Isochoric);
        assert!(P.double_dot(&F).abs() <= 1e-11 * P.norm() * F.norm());
        let (small, large) =
            (energy(&F, fiber, FiberStretch::Isochoric), energy(&(F * 1.2), fiber, FiberStretch::Isochoric));
        assert!((small - large).abs() <= 1e-12 * small);
        let full = stress(&F, fiber, FiberStretch::Full);
        assert!(full.double_dot(&F) > 0.1 * full.norm() * F.norm() * 0.5);
    }
}

/// The golden stresses of TER fact 10: the published constants with the coefficient 4T and the corrected pressure of
/// the fibers, and curve A with a peak of 300 kPa at half and full activation.
#[test]
fn stresses_equal_the_golden_ones() {
    let F = Mat3::new([[1.10, 0.05, -0.02], [0.03, 0.95, 0.04], [-0.01, 0.02, 0.98]]);
    let fiber = Vec3::new(0.6, 0.0, 0.8);
    let stretched = StretchedFiber::at(&F, fiber, FiberStretch::Isochoric);
    assert!((stretched.stretch() - 1.004_043_39).abs() < 1e-8);
    let check = |bulk: f64, tension: f64, expected: [[f64; 3]; 3]| {
        let point = MaterialSpec::mooney_rivlin(6e4, 2e4, bulk).point();
        let found = MooneyRivlin.stress(&F, &point) + stretched.stress(tension);
        assert!((found - Mat3::new(expected)).norm() < 0.3, "{found:?}");
    };
    check(6e4, 0.0, [[26746.4, 12487.4, -4801.2], [12421.9, -19656.4, 10397.5], [-4941.5, 10710.5, -8863.4]]);
    // c = T/λ̄ = 4 · 80 kPa.
    check(
        6e4,
        3.2e5 * stretched.stretch(),
        [[50733.7, 15624.3, 156675.2], [27086.7, -133110.8, 25385.5], [140117.8, 15405.3, 77652.5]],
    );
    let e = stretched.stretch() - 1.0;
    let (active, passive) = (1.0 - 25.0 / 6.0 * e * e, 0.05 * ((6.6 * e).exp() - 6.6 * e - 1.0));
    check(
        6e5,
        3e5 * (active + passive),
        [[59616.2, 15080.7, 146079.4], [25557.9, -113450.9, 24138.1], [130733.6, 14591.8, 83663.8]],
    );
    check(
        6e5,
        3e5 * (0.5 * active + passive),
        [[48418.3, 13616.3, 70697.4], [18711.9, -60486.9, 17141.2], [63015.5, 12400.1, 43275.5]],
    );
}
