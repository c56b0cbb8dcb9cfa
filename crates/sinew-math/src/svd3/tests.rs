//! Accuracy against a slow reference, on all kinds of matrices; lanes against plain numbers.

use super::*;
use crate::complex_step::directional_derivative_matrix;
use crate::lanes::{F32_LANES, F64_LANES, Isa, IsaLevel, LaneKernel, dispatch_at};
use crate::quaternion::Quaternion;
use crate::scalar::Real;

/// One out-of-line copy of the plain code: `svd3` is inlined at every call, which makes tests slow to compile.
#[inline(never)]
fn plain<T: Real>(matrix: &Mat3<T>) -> Svd3<T> {
    svd3(matrix)
}

/// Uniform numbers in \[−1, 1\] from a linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn matrix(&mut self) -> Mat3 {
        Mat3::zero().map(|_: f64| self.next())
    }

    fn rotation(&mut self) -> Mat3 {
        Quaternion::new(self.next(), self.next(), self.next(), self.next()).normalized().to_matrix()
    }

    fn with_singular_values(&mut self, x: f64, y: f64, z: f64) -> Mat3 {
        self.rotation() * Mat3::diagonal(Vec3::new(x, y, z)) * self.rotation()
    }
}

/// Matrices of every named kind, many of each: (name, matrix).
fn matrices() -> Vec<(&'static str, Mat3)> {
    let mut random = Random(7);
    let mut list = vec![
        ("zero", Mat3::zero()),
        ("identity", Mat3::identity()),
        ("minus identity", -Mat3::identity()),
        ("reflection", Mat3::diagonal(Vec3::new(1.0, -1.0, 1.0))),
        ("equal entries", Mat3::new([[1.0; 3]; 3])),
        ("one entry", Mat3::outer(Vec3::unit(2), Vec3::unit(0))),
        ("increasing diagonal", Mat3::diagonal(Vec3::new(1.0, 2.0, 3.0))),
        ("permutation", Mat3::new([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])),
        ("shear", Mat3::new([[1.0, 1e-3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])),
    ];
    for _ in 0..1000 {
        list.push(("random", random.matrix()));
        list.push(("near identity", Mat3::identity() + random.matrix() * 0.05));
        list.push(("rotation", random.rotation()));
        let (a, b) = (1.0 + 0.5 * random.next(), 0.5 + 0.4 * random.next());
        list.push(("inverted", random.with_singular_values(a, 0.8, -b)));
        list.push(("rank 2", random.with_singular_values(a, b, 0.0)));
        list.push(("rank 1", random.with_singular_values(a, 0.0, 0.0)));
        let (row, column) = (Vec3::new(a, random.next(), 1.0), Vec3::new(random.next(), b, 3.0));
        list.push(("exact rank 1", Mat3::outer(row, column)));
        let tiny = 10.0_f64.powf(-5.0 + 3.0 * random.next());
        list.push(("all nearly equal", random.with_singular_values(1.0 + tiny, 1.0, 1.0 - tiny)));
        list.push(("two nearly equal", random.with_singular_values(2.0, 1.0 + tiny, 1.0)));
        list.push(("nearly opposite", random.with_singular_values(2.0, 1.0 + tiny, -1.0)));
        let (middle, small) = (10.0_f64.powf(4.0 * random.next() - 4.0), 10.0_f64.powf(4.0 * random.next() - 4.0));
        list.push(("ill conditioned", random.with_singular_values(1.0, middle, middle * small)));
        list.push(("sparse", Mat3::diagonal(Vec3::new(a, b, 0.1)) + Mat3::outer(Vec3::unit(0), Vec3::unit(2)) * tiny));
    }
    list
}

/// Magnitudes of singular values, sorted, by one-sided exact Jacobi rotations in f64 until nothing changes.
fn reference_singular_values(matrix: &Mat3) -> Vec3 {
    let mut columns = [matrix.column(0), matrix.column(1), matrix.column(2)];
    for _ in 0..60 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let (a, b) = (columns[p], columns[q]);
            let angle = 0.5 * (2.0 * a.dot(b)).atan2(a.norm_squared() - b.norm_squared());
            let (sine, cosine) = angle.sin_cos();
            (columns[p], columns[q]) = (a * cosine + b * sine, b * cosine - a * sine);
        }
    }
    let mut lengths = columns.map(|column| column.norm());
    lengths.sort_by(|a, b| b.total_cmp(a));
    lengths.into()
}

/// Largest errors of a set of decompositions, all in the Frobenius norm: |F − UΣVᵀ|/|F|, |UᵀU − I|, |VᵀV − I|,
/// |Σ − exact|/σ₁, disorder/σ₁.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    reconstruction: f64,
    orthogonality: f64,
    values: f64,
    disorder: f64,
}

impl Errors {
    fn add<T: Real>(&mut self, f: &Mat3<T>, svd: &Svd3<T>) {
        let f = f.to_f64();
        let svd = Svd3 { u: svd.u.to_f64(), sigma: svd.sigma.to_f64(), v: svd.v.to_f64() };
        let scale = f.norm();
        let unit = if scale > 0.0 { 1.0 / scale } else { 1.0 };
        let exact = reference_singular_values(&(f * unit));
        let sigma = svd.sigma * unit;
        self.reconstruction = self.reconstruction.max((svd.recompose() * unit - f * unit).norm());
        for m in [svd.u, svd.v] {
            self.orthogonality = self.orthogonality.max((m.transpose_mul(&m) - Mat3::identity()).norm());
            assert!(m.determinant() > 0.9, "must be a rotation: {f:?}");
        }
        self.values = self.values.max((sigma.abs() - exact).norm());
        self.disorder = self.disorder.max(sigma.y - sigma.x).max(sigma.z.abs() - sigma.y);
        assert!(sigma.x >= 0.0 && sigma.y >= 0.0, "{f:?}: {sigma:?}");
        // The sign of σ₃ is that of the determinant wherever both are above rounding.
        let determinant = (f * unit).determinant();
        if exact.z > 1e3 * T::EPSILON.to_f64() && determinant.abs() > 1e3 * f64::EPSILON {
            assert_eq!(sigma.z > 0.0, determinant > 0.0, "{f:?}");
        }
        // A NaN would slip through every maximum.
        assert!(svd.u.is_finite() && svd.v.is_finite() && svd.sigma.is_finite(), "{f:?}");
    }

    fn largest(&self) -> f64 {
        self.reconstruction.max(self.orthogonality).max(self.values).max(self.disorder)
    }
}

/// The named matrices at several scales, rounded to f32, in blocks.
fn blocks(scales: &[f64]) -> Vec<Mat3Block> {
    let list = matrices();
    let mut blocks = Vec::new();
    for &scale in scales {
        for chunk in list.chunks(F32_LANES) {
            let mut block = Mat3Block::default();
            for (lane, (_, matrix)) in chunk.iter().enumerate() {
                block.set(lane, &matrix.map(|entry| (entry * scale) as f32));
            }
            blocks.push(block);
        }
    }
    blocks
}

#[test]
fn f32_errors_are_a_few_roundings_for_every_kind_and_scale() {
    // The last two are near the ends of the normal range.
    for scale in [1.0, 1e-15, 1e15, 1e-37, 1e37] {
        for (name, matrix) in matrices() {
            let matrix = matrix.map(|entry| (entry * scale) as f32);
            if !matrix.is_finite() {
                continue;
            }
            let mut errors = Errors::default();
            errors.add(&matrix, &plain(&matrix));
            // Our bound for the whole project is 5e-6; ε = 1.2e-7 times about ten dependent roundings gives this one.
            assert!(errors.largest() <= 1.5e-6, "{name} × {scale:e}: {errors:?}\n{matrix:?}");
        }
    }
}

#[test]
fn f64_errors_are_a_few_roundings_for_every_kind_and_scale() {
    for scale in [1.0, 1e-15, 1e15, 1e-200, 1e200] {
        for (name, matrix) in matrices() {
            let matrix = matrix * scale;
            let mut errors = Errors::default();
            errors.add(&matrix, &plain(&matrix));
            // ε = 2.2e-16 times about ten dependent roundings.
            assert!(errors.largest() <= 3e-15, "{name} × {scale:e}: {errors:?}\n{matrix:?}");
        }
    }
}

fn bits(svd: &Svd3<f32>) -> Vec<u32> {
    let entries = svd.u.rows.iter().flatten().chain(svd.v.rows.iter().flatten());
    entries.copied().chain(svd.sigma.to_array()).map(f32::to_bits).collect()
}

#[test]
fn batches_have_the_bits_of_plain_f32_at_every_level() {
    // An odd number of blocks covers both the pairs and the remainder.
    let mut input = blocks(&[1.0]);
    input.truncate(input.len() / 2 * 2 - 1);
    let mut reference = Vec::new();
    for block in &input {
        for lane in 0..F32_LANES {
            reference.push(plain(&block.get(lane)));
        }
    }
    for level in IsaLevel::ALL {
        let mut output = vec![Svd3Block::default(); input.len()];
        if svd3_batch_at(level, &input, &mut output).is_none() {
            continue;
        }
        for (k, plain) in reference.iter().enumerate() {
            let lane = output[k / F32_LANES].get(k % F32_LANES);
            assert_eq!(bits(&lane), bits(plain), "{level}, matrix {k}");
        }
    }
    let mut output = vec![Svd3Block::default(); input.len()];
    svd3_batch(&input, &mut output);
    assert_eq!(bits(&output[3].get(5)), bits(&reference[3 * F32_LANES + 5]));
}

/// Decompositions in lanes of f64.
struct F64Lanes<'a>(&'a [Mat3]);

impl LaneKernel for F64Lanes<'_> {
    type Output = Vec<Svd3>;
    #[inline(always)]
    fn run<I: Isa>(self) -> Vec<Svd3> {
        let mut out = Vec::new();
        for chunk in self.0.chunks_exact(F64_LANES) {
            let mut block = Mat3Block::<f64, F64_LANES>::default();
            for (lane, matrix) in chunk.iter().enumerate() {
                block.set(lane, matrix);
            }
            let mut stored = Svd3Block::<f64, F64_LANES>::default();
            stored.store(&svd3(&block.load::<I::F64>()));
            out.extend((0..F64_LANES).map(|lane| stored.get(lane)));
        }
        out
    }
}

#[test]
fn f64_lanes_have_the_bits_of_plain_f64_at_every_level() {
    let list: Vec<Mat3> = matrices().into_iter().map(|(_, matrix)| matrix).take(4000).collect();
    for level in IsaLevel::ALL {
        let Some(lanes) = dispatch_at(level, F64Lanes(&list)) else { continue };
        assert_eq!(lanes.len(), list.len());
        for (matrix, lane) in list.iter().zip(&lanes) {
            assert_eq!(*lane, plain(matrix), "{level}");
            assert_eq!(*lane, svd3_plain(matrix), "{level}");
        }
    }
}

#[test]
fn identity_is_decomposed_without_rounding() {
    // The rest state must not produce forces.
    let svd = plain(&Mat3::<f64>::identity());
    assert_eq!((svd.u, svd.sigma, svd.v), (Mat3::identity(), Vec3::splat(1.0), Mat3::identity()));
    assert_eq!(polar3_plain(&Mat3::<f32>::identity()).rotation, Mat3::identity());
}

#[test]
fn matrices_that_are_not_finite_give_values_that_are_not_finite() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut matrix = Mat3::identity();
        matrix.rows[1][2] = bad;
        assert!(!plain(&matrix).sigma.is_finite());
    }
}

#[test]
fn polar_rotation_is_a_rotation_even_for_inverted_and_flat_matrices() {
    for (name, matrix) in matrices() {
        let Polar3 { rotation, stretch } = polar3_plain(&matrix);
        // ε times about ten roundings, as for the decomposition itself.
        assert!((rotation.transpose_mul(&rotation) - Mat3::identity()).norm() < 5e-15, "{name}");
        assert!((rotation.determinant() - 1.0).abs() < 5e-15, "{name}");
        assert_eq!(stretch, stretch.transpose(), "{name}");
        assert!((rotation * stretch - matrix).norm() <= 5e-15 * (1.0 + matrix.norm()), "{name}");
    }
}

/// The naive R = F (FᵀF)^(−1/2) of an inverted matrix is a reflection; ours is the rotation nearest to F. Check: R
/// maximizes tr(RᵀF) among rotations, so small rotations must not increase it.
#[test]
fn polar_rotation_is_the_nearest_rotation() {
    let mut random = Random(3);
    for _ in 0..200 {
        let f = random.matrix();
        let rotation = polar3_plain(&f).rotation;
        let best = rotation.double_dot(&f);
        for _ in 0..10 {
            let turn = Vec3::new(random.next(), random.next(), random.next()) * 0.3;
            let other = Quaternion::exp_map(turn).to_matrix() * rotation;
            assert!(other.double_dot(&f) <= best + 1e-14);
        }
    }
}

/// δR of the polar decomposition solves Rᵀ δR = \[ω\]×, (tr S I − S) ω = axial vector of RᵀδF − δFᵀR. Complex step
/// through all sweeps must agree: the decomposition is analytic away from equal singular values.
#[test]
fn complex_step_passes_through_the_decomposition() {
    let mut random = Random(11);
    for _ in 0..100 {
        let f = random.with_singular_values(1.6, 1.1, 0.7);
        let direction = random.matrix();
        let Polar3 { rotation, stretch } = polar3_plain(&f);
        let skew = rotation.transpose_mul(&direction) - direction.transpose_mul(&rotation);
        let axial = Vec3::new(skew[(2, 1)], skew[(0, 2)], skew[(1, 0)]);
        let omega = (Mat3::identity() * stretch.trace() - stretch).inverse() * axial;
        let exact = rotation * Mat3::skew(omega);
        let by_step = directional_derivative_matrix(|m| polar3(m).rotation, &f, &direction);
        assert!((by_step - exact).norm() < 1e-12, "{:e}", (by_step - exact).norm());
    }
}
