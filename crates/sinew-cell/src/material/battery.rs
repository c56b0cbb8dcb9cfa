//! What every law must satisfy. The tests run over [`Law::ALL`], so a new law gets them for free.
//!
//! The reference is complex step differentiation, which has no truncation error: agreement is demanded to 1e-10 of the
//! stress plus the shear modulus (some ten thousand roundings; extreme stretches lose digits in J).

#![allow(non_snake_case)]

use sinew_math::lanes::{F64_LANES, Isa, IsaLevel, LaneKernel, dispatch_at};
use sinew_math::{ComplexStep, LaneScalar, Mat3, Scalar, Vec3, complex_step};

use super::blocks::{BlockSink, Shape};
use super::strain::{cofactor_differential, green_strain};
use super::tangent::unit_direction;
use super::volume::VolumeTerm;
use super::*;

/// Uniform numbers in [−1, 1) from a linear congruence, the same on every machine.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn matrix(&mut self) -> Mat3 {
        Mat3::zero().map(|_: f64| self.next())
    }

    pub fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }

    /// A proper rotation: Gram–Schmidt on two random vectors.
    pub fn rotation(&mut self) -> Mat3 {
        let a = self.vector().normalized();
        let b = self.vector();
        let b = (b - a * a.dot(b)).normalized();
        Mat3::from_columns(a, b, a.cross(b))
    }

    /// U diag(σ) Vᵀ.
    pub fn with_stretches(&mut self, stretches: [f64; 3]) -> Mat3 {
        let (u, v) = (self.rotation(), self.rotation());
        (u * Mat3::diagonal(stretches.into())).mul_transpose(&v)
    }
}

/// Deformations that every law can bear.
fn regular_samples() -> Vec<Mat3> {
    let mut random = Random(11);
    let mut samples = vec![Mat3::identity(), random.rotation()];
    for _ in 0..12 {
        samples.push(Mat3::identity() + random.matrix() * 0.05);
        samples.push(Mat3::identity() + random.matrix() * 0.35);
        samples.push(random.with_stretches([1.8, 1.1, 0.5]));
    }
    // Nearly and exactly equal stretches, then extreme ones.
    for near in [0.0, 1e-14, 1e-9, 1e-5] {
        samples.push(random.with_stretches([1.3 + near, 1.3, 1.3 - near]));
        samples.push(random.with_stretches([1.2, 0.7 + near, 0.7]));
        samples.push(random.with_stretches([1.0 + near, 1.0, 1.0]));
    }
    samples.push(random.with_stretches([8.0, 0.5, 0.05]));
    samples.push(random.with_stretches([0.2, 0.1, 0.05]));
    samples.push(random.with_stretches([20.0, 15.0, 0.3]));
    samples.retain(|F| F.determinant() > 0.0);
    samples
}

/// Inverted deformations, away from σᵢ + σⱼ = 0 where the corotated stress jumps.
fn inverted_samples() -> Vec<Mat3> {
    let mut random = Random(12);
    let stretches = [[1.2, 0.9, -0.3], [1.0, 1.0, -0.5], [1.6, 0.4, -0.1], [5.0, 2.0, -1.0], [0.3, 0.2, -0.05]];
    stretches.iter().map(|s| random.with_stretches(*s)).collect()
}

/// Flat, collapsed and mirrored deformations.
fn singular_samples() -> Vec<Mat3> {
    let mut random = Random(13);
    let mut samples = vec![Mat3::zero(), -Mat3::identity(), Mat3::diagonal(Vec3::new(1.0, 1.0, -1.0))];
    for stretches in [[1.0, 1.0, 0.0], [1.5, 0.0, 0.0], [1.0, 0.5, -0.5], [2.0, 1e-9, -1e-9], [1.0, 1e-200, 0.0]] {
        samples.push(Mat3::diagonal(stretches.into()));
        samples.push(random.with_stretches(stretches));
    }
    samples
}

/// All finite samples of a law.
fn samples_of<M: Material>() -> Vec<Mat3> {
    let mut samples = regular_samples();
    if !M::BARRIER {
        samples.extend(inverted_samples());
    }
    samples
}

/// Two sets of parameters of each law.
fn points(law: Law) -> Vec<MaterialPoint> {
    let mut specs = vec![MaterialSpec::with_young(law, 30e3, 0.4), MaterialSpec::with_young(law, 2.0, 0.0)];
    if law == Law::MooneyRivlin {
        specs.push(MaterialSpec::mooney_rivlin(700.0, 120.0, 9e3));
    }
    if law == Law::FiberReinforced {
        let fiber = Vec3::new(2.0, -1.0, 2.0) / 3.0;
        specs.push(MaterialSpec::fiber_reinforced(5e3, 0.45, 4e4, 10.0).with_fiber(fiber));
    }
    specs.iter().map(MaterialSpec::point).collect()
}

fn constant(point: &MaterialPoint) -> MaterialPoint<ComplexStep> {
    point.map(ComplexStep::constant)
}

/// Whether complex steps see the derivatives of a law at F: not below the threshold of an extended law, because
/// singular vectors have none at equal stretches. There, differences do the same tests (`invertible/tests.rs`).
fn is_analytic(F: &Mat3, point: &MaterialPoint) -> bool {
    sinew_math::svd3::svd3(F).sigma.min_component() > point.extra[2] || point.extra[2] == 0.0
}

/// A law whose functions are compiled once for all tests. Laws are inlined wherever they are called: without this, the
/// tests take minutes to compile.
#[derive(Clone, Copy)]
struct Apart<M>(M);

impl<M: Material> Material for Apart<M> {
    const NAME: &'static str = M::NAME;
    const OBJECTIVE: bool = M::OBJECTIVE;
    const BARRIER: bool = M::BARRIER;
    const ISOTROPIC: bool = M::ISOTROPIC;
    const TAKES_FIBERS: bool = M::TAKES_FIBERS;
    const PARAMETERS: usize = M::PARAMETERS;
    const VOLUME_TERM: VolumeTerm = M::VOLUME_TERM;

    #[inline(never)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        self.0.energy_density(F, point)
    }

    #[inline(never)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        self.0.stress(F, point)
    }

    #[inline(never)]
    fn energy_and_stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> (S, Mat3<S>) {
        self.0.energy_and_stress(F, point)
    }

    #[inline(never)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        self.0.stress_differential(F, dF, point)
    }

    #[inline(never)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        self.0.nodal_blocks(F, point, shape, sink);
    }

    #[inline(never)]
    fn definite_tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Tangent9<S> {
        self.0.definite_tangent(F, point)
    }

    #[inline(never)]
    fn definite_nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        self.0.definite_nodal_blocks(F, point, pressure, shape, sink);
    }

    fn without_volume_term<S: Scalar>(&self, point: &MaterialPoint<S>) -> MaterialPoint<S> {
        self.0.without_volume_term(point)
    }

    #[inline(never)]
    fn blocks_under_pressure<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        self.0.blocks_under_pressure(F, point, pressure, shape, sink);
    }
}

/// Runs a generic test over every law, its samples and its parameters.
macro_rules! for_every_law {
    ($(#[$doc:meta])* $name:ident, |$material:ident, $F:ident, $point:ident, $random:ident| $body:block) => {
        $(#[$doc])*
        #[test]
        fn $name() {
            struct Visit(Law);
            impl MaterialVisitor for Visit {
                type Output = ();
                fn visit<M: Material>(self, law: M) {
                    let $material = Apart(law);
                    let mut $random = Random(99);
                    for $point in &points(self.0) {
                        for $F in &samples_of::<M>() {
                            $body
                        }
                    }
                }
            }
            with_room(|| Law::ALL.into_iter().for_each(|law| law.visit(Visit(law))));
        }
    };
}

/// Runs a test on a thread with room for all laws in lanes: without optimization they need more than a test's own thread
/// has.
fn with_room(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(32 << 20).spawn(test).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Asserts |a − b| ≤ tolerance (|b| + scale).
pub(super) fn assert_close(a: &Mat3, b: &Mat3, scale: f64, tolerance: f64, what: &str) {
    let error = (*a - *b).norm();
    assert!(error <= tolerance * (b.norm() + scale), "{what}: error {error:e} of {:e}\n{a:?}\n{b:?}", b.norm() + scale);
}

for_every_law!(
    /// P = ∂ψ/∂F.
    stress_is_derivative_of_energy, |material, F, point, _random| {
        let stress = material.stress(F, point);
        if is_analytic(F, point) {
            let constant = constant(point);
            let exact = complex_step::gradient(|F| material.energy_density(F, &constant), F);
            assert_close(&stress, &exact, point.mu, 1e-10, M::NAME);
        }
        let together = material.energy_and_stress(F, point);
        assert_eq!(together, (material.energy_density(F, point), stress), "{}", M::NAME);
    }
);

for_every_law!(
    /// δP = d/dt P(F + t δF).
    differential_is_derivative_of_stress, |material, F, point, random| {
        let dF = random.matrix();
        if is_analytic(F, point) {
            let constant = constant(point);
            let exact = complex_step::directional_derivative_matrix(|F| material.stress(F, &constant), F, &dF);
            assert_close(&material.stress_differential(F, &dF, point), &exact, point.mu, 1e-10, M::NAME);
        }
    }
);

for_every_law!(
    /// A : δP(B) = B : δP(A) = ∂²ψ/∂A∂B, the last by two nested imaginary units.
    tangent_is_symmetric_and_second_derivative_of_energy, |material, F, point, random| {
        let (A, B) = (random.matrix(), random.matrix());
        let (dA, dB) = (material.stress_differential(F, &A, point), material.stress_differential(F, &B, point));
        let scale = dA.norm() * B.norm() + dB.norm() * A.norm() + point.mu;
        assert!((A.double_dot(&dB) - B.double_dot(&dA)).abs() <= 1e-12 * scale, "{} is not symmetric", M::NAME);
        if is_analytic(F, point) {
            let constant = constant(point).map(ComplexStep::constant);
            let mixed = complex_step::mixed_derivative(|F| material.energy_density(F, &constant), F, &A, &B);
            assert!((A.double_dot(&dB) - mixed).abs() <= 1e-10 * scale, "{}: {} {mixed}", M::NAME, A.double_dot(&dB));
        }
    }
);

for_every_law!(
    /// ψ(QF) = ψ(F), P(QF) = Q P(F), for every law but the small-strain one.
    rotation_of_space_changes_nothing, |material, F, point, random| {
        if M::OBJECTIVE {
            let Q = random.rotation();
            let (energy, rotated) = (material.energy_density(F, point), material.energy_density(&(Q * *F), point));
            assert!((energy - rotated).abs() <= 1e-11 * (energy.abs() + point.mu), "{}", M::NAME);
            // Rounding of F, times the stiffness at this stretch.
            let scale = point.mu + material.stress_differential(F, F, point).norm();
            assert_close(&material.stress(&(Q * *F), point), &(Q * material.stress(F, point)), scale, 1e-12, M::NAME);
        }
    }
);

for_every_law!(
    /// ψ(FQ) = ψ(F), P(FQ) = P(F) Q: no direction of the rest state is special, but for that of fibers, which turn
    /// along. The small-strain law passes only by conjugation, ψ(QᵀFQ) = ψ(F).
    rotation_of_the_rest_state_changes_nothing, |material, F, point, random| {
        let Q = random.rotation();
        let turned = &MaterialPoint { fiber: Q.transpose() * point.fiber, ..*point };
        let left = if M::OBJECTIVE { Mat3::identity() } else { Q.transpose() };
        let G = left * *F * Q;
        let (energy, rotated) = (material.energy_density(F, point), material.energy_density(&G, turned));
        assert!((energy - rotated).abs() <= 1e-11 * (energy.abs() + point.mu), "{}", M::NAME);
        let scale = point.mu + material.stress_differential(F, F, point).norm();
        assert_close(&material.stress(&G, turned), &(left * material.stress(F, point) * Q), scale, 1e-12, M::NAME);
    }
);

for_every_law!(
    /// Blocks given to the element matrix equal the contraction of the 9×9 tangent, exact and definite.
    nodal_blocks_are_contractions_of_the_tangent, |material, F, point, random| {
        let gradients: [Vec3; 5] = std::array::from_fn(|_| random.vector());
        for kind in [Tangent::Exact, Tangent::Definite] {
            let tangent = material.tangent(F, point, kind);
            let (mut blocks, mut room) = (ElementBlocks::zero(), ShapeRoom::new());
            let mut shape = Shape::new(&gradients, 0.7, &mut room);
            material.tangent_blocks(F, point, (kind, None), &mut shape, &mut blocks);
            let mut seen = 0;
            let mut compare = |a: usize, b: usize, expected: Mat3| {
                seen += 1;
                let scale = norm9(&tangent);
                assert_close(blocks.at(a, b), &expected, scale, 1e-12, M::NAME);
            };
            tangent.nodal_blocks(&shape, &mut compare);
            assert_eq!(seen, 15);
        }
    }
);

for_every_law!(
    /// The energy ψ + pJ has the blocks of ψ and those of pJ.
    blocks_under_pressure_have_the_change_of_the_cofactors, |material, F, point, random| {
        let gradients: [Vec3; 3] = std::array::from_fn(|_| random.vector());
        let pressure = 0.6 * point.mu;
        let (mut blocks, mut room) = (ElementBlocks::zero(), ShapeRoom::new());
        let mut shape = Shape::new(&gradients, 0.7, &mut room);
        material.blocks_under_pressure(F, point, Some(pressure), &mut shape, &mut blocks);
        let mut tangent = material.tangent(F, point, Tangent::Exact);
        for column in 0..9 {
            let change = cofactor_differential(F, &unit_direction(column)) * pressure;
            for row in 0..9 {
                tangent.0[row][column] += change[(row / 3, row % 3)];
            }
        }
        let scale = norm9(&tangent);
        tangent.nodal_blocks(&shape, &mut |a: usize, b: usize, expected: Mat3| {
            assert_close(blocks.at(a, b), &expected, scale, 1e-12, M::NAME);
        });
    }
);

for_every_law!(
    /// The definite tangent is the exact one with negative eigenvalues set to zero, and the exact one where there are
    /// none. Laws with fibers may be more generous than that, but definite.
    definite_tangent_equals_brute_force_projection, |material, F, point, _random| {
        let exact = material.tangent(F, point, Tangent::Exact);
        let definite = material.tangent(F, point, Tangent::Definite);
        let (brute, smallest) = brute_force_projection(&exact);
        let scale = norm9(&exact);
        if M::ISOTROPIC {
            let error = distance9(&definite, &brute) / scale;
            assert!(error <= 1e-10, "{}: {error:e} {F:?}", M::NAME);
        } else {
            assert!(brute_force_projection(&definite).1 >= -1e-12 * scale, "{} {F:?}", M::NAME);
        }
        if smallest >= 0.0 {
            assert!(distance9(&definite, &exact) <= 1e-12 * scale, "{}: changed a definite tangent", M::NAME);
        }
        // The route without principal stretches, for laws that have none.
        assert!(distance9(&exact.positive_part(), &brute) <= 1e-12 * scale, "{}", M::NAME);
    }
);

for_every_law!(
    /// ψ, P, δP and tangent blocks of eight lanes are, bit for bit, those of plain numbers.
    lanes_equal_plain_numbers, |material, F, point, random| {
        let cases: [(Mat3, Mat3); F64_LANES] =
            std::array::from_fn(|k| (if k % 2 == 0 { *F } else { *F + random.matrix() * 0.01 }, random.matrix()));
        for level in IsaLevel::ALL {
            let kernel = InLanes { material: material.0, point: *point, cases: &cases };
            let Some(lanes) = dispatch_at(level, kernel).flatten() else { continue };
            for (lane, (F, dF)) in cases.iter().enumerate() {
                let plain = outputs(&material, F, dF, point);
                for (k, value) in plain.iter().enumerate() {
                    let found = lanes[k][lane];
                    assert!(found.to_bits() == value.to_bits(), "{} at {level}, output {k}: {found:e} {value:e}", M::NAME);
                }
            }
        }
    }
);

/// ψ, P, δP, the exact and the definite blocks of two nodes.
#[inline(always)]
fn outputs<M: Material, S: Scalar>(material: &M, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> [S; 46] {
    let mut out = [S::zero(); 46];
    out[0] = material.energy_density(F, point);
    write(&mut out[1..10], &material.stress(F, point));
    write(&mut out[10..19], &material.stress_differential(F, dF, point));
    let gradients = [dF.row(0), dF.row(1)];
    let mut room = ShapeRoom::new();
    let mut shape = Shape::new(&gradients, S::splat(0.3), &mut room);
    let mut exact = ElementBlocks::zero();
    material.nodal_blocks(F, point, &mut shape, &mut exact);
    write(&mut out[19..28], exact.at(1, 0));
    let mut definite = ElementBlocks::zero();
    material.definite_nodal_blocks(F, point, None, &mut shape, &mut definite);
    write(&mut out[28..37], definite.at(1, 0));
    write(&mut out[37..46], definite.at(1, 1));
    out
}

#[inline(always)]
fn write<S: Scalar>(out: &mut [S], matrix: &Mat3<S>) {
    for (k, place) in out.iter_mut().enumerate() {
        *place = matrix[(k / 3, k % 3)];
    }
}

struct InLanes<'a, M> {
    material: M,
    point: MaterialPoint,
    cases: &'a [(Mat3, Mat3); F64_LANES],
}

impl<M: Material> LaneKernel for InLanes<'_, M> {
    type Output = Option<[[f64; F64_LANES]; 46]>;

    /// One level stands for all: `sinew-math` shows the lanes of each equal to plain numbers operation by operation, and
    /// laws take minutes to compile at every level.
    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        if const { matches!(I::LEVEL, IsaLevel::Avx2) } { Some(self.evaluate::<I::F64>()) } else { None }
    }
}

impl<M: Material> InLanes<'_, M> {
    #[inline(always)]
    fn evaluate<S: LaneScalar<Element = f64>>(&self) -> [[f64; F64_LANES]; 46] {
        let (mut F, mut dF) = (Mat3::<S>::zero(), Mat3::<S>::zero());
        for i in 0..3 {
            for j in 0..3 {
                let mut entries = [[0.0; F64_LANES]; 2];
                for (lane, (a, b)) in self.cases.iter().enumerate() {
                    entries[0][lane] = a[(i, j)];
                    entries[1][lane] = b[(i, j)];
                }
                F[(i, j)] = S::load(&entries[0]);
                dF[(i, j)] = S::load(&entries[1]);
            }
        }
        let results = outputs(&self.material, &F, &dF, &MaterialPoint::from_f64(self.point));
        let mut out = [[0.0; F64_LANES]; 46];
        for (k, value) in results.into_iter().enumerate() {
            value.store(&mut out[k]);
        }
        out
    }
}

/// Runs a test once per law.
macro_rules! once_per_law {
    ($(#[$doc:meta])* $name:ident, |$material:ident, $law:ident| $body:block) => {
        $(#[$doc])*
        #[test]
        fn $name() {
            struct Visit(Law);
            impl MaterialVisitor for Visit {
                type Output = ();
                fn visit<M: Material>(self, law: M) {
                    let ($material, $law) = (Apart(law), self.0);
                    $body
                }
            }
            for law in Law::ALL {
                law.visit(Visit(law));
            }
        }
    };
}

once_per_law!(
    /// ψ(I) = 0 and P(I) = 0 exactly; P(Q) = 0 to rounding.
    rest_state_is_free_of_stress_and_energy, |material, law| {
        let mut random = Random(5);
        for point in &points(law) {
            assert_eq!(material.energy_density(&Mat3::identity(), point), 0.0, "{}", M::NAME);
            assert!(material.stress(&Mat3::identity(), point).norm() <= 4.0 * f64::EPSILON * point.mu, "{}", M::NAME);
            if M::OBJECTIVE {
                let stress = material.stress(&random.rotation(), point).norm();
                assert!(stress <= 1e-14 * (point.mu + point.lambda), "{}: {stress:e}", M::NAME);
            }
        }
    }
);

once_per_law!(
    /// Small strains give Hooke's law with the declared moduli: ∂P/∂F at rest is that of the linear law, and ψ(I + εA)
    /// keeps its digits down to ε = 1e-9.
    small_strain_limit_is_hookes_law, |material, law| {
        let mut random = Random(6);
        for point in &points(law) {
            let hooke = MaterialPoint { mu: point.mu, lambda: point.lambda, ..MaterialPoint::default() };
            for _ in 0..10 {
                let A = random.matrix();
                let found = material.stress_differential(&Mat3::identity(), &A, point);
                let expected = Linear.stress_differential(&Mat3::identity(), &A, &hooke);
                assert_close(&found, &expected, point.mu, 1e-13, M::NAME);
                for epsilon in [1e-5, 1e-7, 1e-9] {
                    let F = Mat3::identity() + A * epsilon;
                    // The strain that F really has after rounding, to first order.
                    let E = green_strain(&F);
                    let mut quadratic = point.mu * E.norm_squared() + 0.5 * point.lambda * E.trace() * E.trace();
                    if law == Law::FiberReinforced {
                        // Fibers come on top where they are taut; at rest, by definition, they are not.
                        quadratic += 0.5 * point.extra[0] * point.fiber.dot(E * point.fiber).max(0.0).powi(2);
                    }
                    let energy = material.energy_density(&F, point);
                    // Third order of ψ, and rounding of F and R relative to the strain. An energy formed by subtracting
                    // 3 from I₁ would be wrong by 1e-16/ε².
                    let tolerance = 30.0 * epsilon + 2e-15 / epsilon;
                    assert!((energy / quadratic - 1.0).abs() < tolerance, "{} {epsilon}: {energy:e} {quadratic:e}", M::NAME);
                }
            }
        }
    }
);

once_per_law!(
    /// Flat, collapsed and mirrored cells: no NaN; energies are finite or, for barrier laws, +∞; definite tangents are
    /// definite.
    singular_deformations_give_no_nan, |material, law| {
        let mut random = Random(7);
        for point in &points(law) {
            for F in singular_samples().iter().chain(&inverted_samples()) {
                let energy = material.energy_density(F, point);
                if M::BARRIER && F.determinant() <= 0.0 {
                    assert_eq!(energy, f64::INFINITY, "{} {F:?}", M::NAME);
                } else {
                    assert!(energy.is_finite() && energy >= -1e-10 * point.mu, "{} {F:?}: {energy}", M::NAME);
                }
                assert!(material.stress(F, point).is_finite(), "{} {F:?}", M::NAME);
                assert!(material.stress_differential(F, &random.matrix(), point).is_finite(), "{} {F:?}", M::NAME);
                let definite = material.tangent(F, point, Tangent::Definite);
                let (_, smallest) = brute_force_projection(&definite);
                assert!(smallest >= -1e-12 * norm9(&definite), "{} {F:?}: {smallest:e}", M::NAME);
            }
        }
    }
);

once_per_law!(
    /// The tensor formulas agree with the closed forms in principal stretches that share no code with them.
    tensor_stress_agrees_with_closed_forms, |material, law| {
        let spec = MaterialSpec::with_young(law, 30e3, 0.35);
        let point = spec.point();
        let check = |F: Mat3, expected: Mat3, what: &str| {
            assert_close(&material.stress(&F, &point), &expected, point.mu, 1e-11, &format!("{} {what}", M::NAME));
        };
        for stretch in [0.8, 1.0, 1.05, 1.3] {
            let pulled = closed_form::uniaxial(&spec, stretch).unwrap();
            let F = Mat3::diagonal(Vec3::new(stretch, pulled.lateral_stretch, pulled.lateral_stretch));
            check(F, Mat3::diagonal(Vec3::new(pulled.nominal_stress, 0.0, 0.0)), "uniaxial");
            let sheet = closed_form::biaxial(&spec, [stretch, 1.1]).unwrap();
            let [x, y] = sheet.nominal_stresses;
            let F = Mat3::diagonal(Vec3::new(stretch, 1.1, sheet.thickness_stretch));
            check(F, Mat3::diagonal(Vec3::new(x, y, 0.0)), "biaxial");
            let cauchy = sheet.cauchy_stresses[0];
            let area = if law == Law::Linear { 1.0 } else { 1.1 * sheet.thickness_stretch };
            assert!((cauchy * area - x).abs() <= 1e-12 * point.mu);
        }
        for shear in [-0.6, 0.1, 1.0] {
            let F = Mat3::new([[1.0, shear, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
            // Sheared fibers lie in no principal axis of the one law that has no closed form for them.
            let Ok(block) = closed_form::simple_shear(&spec, shear) else {
                assert_eq!(law, Law::TransverselyIsotropic);
                continue;
            };
            check(F, block.nominal_stress, "shear");
            if M::OBJECTIVE {
                assert_close(&material.stress(&F, &point).mul_transpose(&F), &block.cauchy_stress, point.mu, 1e-11, M::NAME);
            }
        }
    }
);

/// Principal derivatives against the tensor formulas, at P(diag σ) = diag ψᵢ and ∂P/∂F.
fn principal_forms_agree<L: IsotropicLaw>(law: L, name: Law) {
    for point in &points(name) {
        for F in samples_of::<L>() {
            let svd = sinew_math::svd3::svd3(&F);
            let stress = (svd.u * Mat3::diagonal(law.principal_stress(svd.sigma, point))).mul_transpose(&svd.v);
            let scale = point.mu + law.stress_differential(&F, &F, point).norm();
            assert_close(&stress, &law.stress(&F, point), scale, 1e-12, L::NAME);
            let principal = PrincipalTangent::exact(&law, &F, point).to_tangent9();
            let exact = Tangent9::exact(&law, &F, point);
            assert!(distance9(&principal, &exact) <= 1e-11 * norm9(&exact), "{}", L::NAME);
        }
    }
}

#[test]
fn principal_stretch_formulas_agree_with_tensor_formulas() {
    principal_forms_agree(Corotated, Law::Corotated);
    principal_forms_agree(StVenantKirchhoff, Law::StVenantKirchhoff);
    principal_forms_agree(NeoHookean, Law::NeoHookean);
    principal_forms_agree(StableNeoHookean, Law::StableNeoHookean);
    principal_forms_agree(MooneyRivlin, Law::MooneyRivlin);
}

/// A law that writes only its energy: ψ = μ/2 (I₁ − 3) − μ (J − 1) + (λ + μ)/2 (J − 1)².
#[derive(Clone, Copy)]
struct EnergyOnly;

impl Material for EnergyOnly {
    const NAME: &'static str = "energy_only";
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        StableNeoHookean.energy_density(F, point)
    }
}

#[test]
fn a_law_that_writes_only_its_energy_gets_the_rest() {
    let point = MaterialSpec::with_young(Law::StableNeoHookean, 5e3, 0.3).point();
    let mut random = Random(8);
    for F in samples_of::<EnergyOnly>() {
        let dF = random.matrix();
        assert_close(&EnergyOnly.stress(&F, &point), &StableNeoHookean.stress(&F, &point), point.mu, 1e-10, "stress");
        let (found, expected) =
            (EnergyOnly.stress_differential(&F, &dF, &point), StableNeoHookean.stress_differential(&F, &dF, &point));
        assert_close(&found, &expected, point.mu, 1e-10, "differential");
        let (found, expected) =
            (EnergyOnly.definite_tangent(&F, &point), StableNeoHookean.definite_tangent(&F, &point));
        assert!(distance9(&found, &expected) <= 1e-9 * norm9(&expected));
    }
}

pub(super) fn norm9(tangent: &Tangent9) -> f64 {
    tangent.0.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
}

pub(super) fn distance9(a: &Tangent9, b: &Tangent9) -> f64 {
    a.0.iter().flatten().zip(b.0.iter().flatten()).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Positive part and smallest eigenvalue by the classical Jacobi method: always rotate away the largest off-diagonal
/// entry, with the angle from an arctangent. Slow, simple, and another algorithm than the one under test.
pub(super) fn brute_force_projection(tangent: &Tangent9) -> (Tangent9, f64) {
    let mut a = tangent.0;
    let mut v = [[0.0; 9]; 9];
    for (i, row) in v.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    let floor = 1e-17 * norm9(tangent);
    for _ in 0..2000 {
        let (mut p, mut q) = (0, 1);
        for i in 0..9 {
            for j in i + 1..9 {
                if a[i][j].abs() > a[p][q].abs() {
                    (p, q) = (i, j);
                }
            }
        }
        if a[p][q].abs() <= floor {
            break;
        }
        let angle = 0.5 * f64::atan2(2.0 * a[p][q], a[p][p] - a[q][q]);
        let (s, c) = angle.sin_cos();
        for k in 0..9 {
            (a[k][p], a[k][q]) = (c * a[k][p] + s * a[k][q], c * a[k][q] - s * a[k][p]);
        }
        for k in 0..9 {
            (a[p][k], a[q][k]) = (c * a[p][k] + s * a[q][k], c * a[q][k] - s * a[p][k]);
            (v[k][p], v[k][q]) = (c * v[k][p] + s * v[k][q], c * v[k][q] - s * v[k][p]);
        }
    }
    let mut out = Tangent9([[0.0; 9]; 9]);
    let mut smallest = f64::INFINITY;
    for n in 0..9 {
        smallest = smallest.min(a[n][n]);
        for i in 0..9 {
            for j in 0..9 {
                out.0[i][j] += a[n][n].max(0.0) * v[i][n] * v[j][n];
            }
        }
    }
    (out, smallest)
}
