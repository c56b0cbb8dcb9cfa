//! Constitutive laws: ψ(F), P = ∂ψ/∂F and δP = (∂P/∂F) : δF at one point.

#![allow(non_snake_case)]

use sinew_math::{ComplexStep, Mat3, Scalar, Vec3, complex_step};

use super::blocks::{BlockSink, Shape};
use super::strain::cofactor_differential;
use super::tangent::{Tangent, Tangent9, unit_direction};
use super::volume::{VolumeTerm, WithPressure, pointwise_lambda};

/// Parameters of a law at one point. They may differ from cell to cell.
///
/// `mu` and `lambda` are always the Lamé parameters of the small-strain limit \[Pa\], whatever the law, so that code
/// that only needs a stiffness (time-step estimates, contact, scaling) can read them. What the rest holds is said by
/// each law; tables of many points store only the first [`Material::PARAMETERS`] numbers of
/// [`MaterialPoint::into_array`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaterialPoint<S = f64> {
    /// Shear modulus μ of the small-strain limit \[Pa\].
    pub mu: S,
    /// Second Lamé parameter λ of the small-strain limit \[Pa\].
    pub lambda: S,
    /// Further parameters of the law; zero where it has none.
    pub extra: [S; 4],
    /// Unit vector along the fibers at rest, where the law has fibers; zero elsewhere.
    pub fiber: Vec3<S>,
}

impl<S> MaterialPoint<S> {
    /// How many numbers a point holds.
    pub const LEN: usize = 9;

    /// The point with parameters `[mu, lambda, extra[0..4], fiber.x, fiber.y, fiber.z]`.
    #[inline(always)]
    pub fn from_array([mu, lambda, a, b, c, d, x, y, z]: [S; 9]) -> Self {
        Self { mu, lambda, extra: [a, b, c, d], fiber: Vec3 { x, y, z } }
    }

    /// The parameters as `[mu, lambda, extra[0..4], fiber.x, fiber.y, fiber.z]`.
    #[inline(always)]
    pub fn into_array(self) -> [S; 9] {
        let ([a, b, c, d], Vec3 { x, y, z }) = (self.extra, self.fiber);
        [self.mu, self.lambda, a, b, c, d, x, y, z]
    }

    /// Applies `f` to each parameter, for example to convert it to lanes or complex-step numbers.
    #[inline(always)]
    pub fn map<T>(self, f: impl FnMut(S) -> T) -> MaterialPoint<T> {
        MaterialPoint::from_array(self.into_array().map(f))
    }
}

impl<S: Scalar> MaterialPoint<S> {
    /// The same parameters in every lane.
    #[inline(always)]
    pub fn from_f64(point: MaterialPoint<f64>) -> Self {
        point.map(S::splat)
    }
}

/// A hyperelastic law at one point.
///
/// Only [`energy_density`](Material::energy_density) must be written; stress and differential then follow by complex
/// step \[Martins00\] and the definite tangent by an eigendecomposition. Hot laws write closed forms, and the test
/// battery compares them with the defaults.
///
/// Implementations are branch-free (`Scalar::select`), analytic away from the selected thresholds, and marked
/// `#[inline(always)]` so that a kernel under `sinew_math::dispatch` compiles for its instruction set down to the last
/// multiplication.
pub trait Material: Copy + Send + Sync + 'static {
    /// Name in scene files and reports.
    const NAME: &'static str;

    /// Whether ψ(QF) = ψ(F) for rotations Q. False only for the small-strain law.
    const OBJECTIVE: bool = true;

    /// Whether ψ = +∞ for det F ≤ 0, so that a line search must keep volumes positive. Stress and tangent are then
    /// finite but meaningless.
    const BARRIER: bool = false;

    /// Whether ψ(FQ) = ψ(F) for rotations Q.
    const ISOTROPIC: bool = true;

    /// Whether cells of this law may have contractile fibers ([`StretchedFiber`](super::StretchedFiber)). Each such law
    /// takes longer to compile.
    const TAKES_FIBERS: bool = false;

    /// How many numbers of [`MaterialPoint::into_array`] the law reads, from the first.
    const PARAMETERS: usize = 2;
    /// How ψ depends on the volume: the term that may be evaluated with the mean over a cell
    /// ([`VolumeForm`](super::VolumeForm)).
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Inseparable;

    /// Energy density ψ(F) per rest volume \[J/m³\]; zero at rest.
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S;

    /// First Piola–Kirchhoff stress P = ∂ψ/∂F \[Pa\]; default: complex step of ψ, nine evaluations.
    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let constant = point.map(ComplexStep::constant);
        complex_step::gradient(|F| self.energy_density(F, &constant), F)
    }

    /// ψ and P, for laws where they share work; the same bits as from separate calls.
    #[inline(always)]
    fn energy_and_stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> (S, Mat3<S>) {
        (self.energy_density(F, point), self.stress(F, point))
    }

    /// δP = (∂P/∂F) : δF \[Pa\]; default: complex step of [`stress`](Material::stress).
    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let constant = point.map(ComplexStep::constant);
        complex_step::directional_derivative_matrix(|F| self.stress(F, &constant), F, dF)
    }

    /// Calls `sink.add(a, b, K)` once for every b ≤ a with the exact blocks of the element matrix,
    /// K\[i\]\[k\] = w Σⱼₗ gₐ\[j\] (∂Pᵢⱼ/∂Fₖₗ) g_b\[l\]; the block (b, a) is the transpose.
    ///
    /// `shape` has the rest-space gradients g of the shape functions and the weight w. The default contracts the 9×9
    /// tangent; closed forms build each block from a few outer products.
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        Tangent9::exact(self, F, point).nodal_blocks(shape, sink);
    }

    /// The positive semi-definite part of ∂P/∂F: negative eigenvalues become zero. Default: numerical
    /// eigendecomposition of the 9×9 matrix; isotropic laws use their principal stretches.
    #[inline(always)]
    fn definite_tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Tangent9<S> {
        Tangent9::exact(self, F, point).positive_part()
    }

    /// Like [`blocks_under_pressure`](Material::blocks_under_pressure), of the definite tangent.
    #[inline(always)]
    fn definite_nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let Some(pressure) = pressure else {
            return self.definite_tangent(F, point).nodal_blocks(shape, sink);
        };
        let mut tangent = Tangent9::exact(self, F, point);
        for column in 0..9 {
            let change = cofactor_differential(F, &unit_direction(column)) * pressure;
            for row in 0..9 {
                tangent.0[row][column] += change[(row / 3, row % 3)];
            }
        }
        tangent.positive_part().nodal_blocks(shape, sink);
    }

    /// Parameters of ψ₀ = ψ − λ U(θ), without the term [`VOLUME_TERM`](Material::VOLUME_TERM). A negative λ is no
    /// constraint and stays in ψ₀.
    #[inline(always)]
    fn without_volume_term<S: Scalar>(&self, point: &MaterialPoint<S>) -> MaterialPoint<S> {
        MaterialPoint { lambda: pointwise_lambda(point), ..*point }
    }

    /// Like [`nodal_blocks`](Material::nodal_blocks), of the energy ψ + pJ with a given number p, if any: the pressure
    /// of a volume term with the mean over a cell, and of fibers.
    #[inline(always)]
    fn blocks_under_pressure<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let mut sum = WithPressure::new(F, pressure, shape, sink);
        self.nodal_blocks(F, point, shape, &mut sum);
    }

    /// The tangent ∂P/∂F as a 9×9 matrix, exact or definite.
    #[inline(always)]
    fn tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>, kind: Tangent) -> Tangent9<S> {
        match kind {
            Tangent::Exact => Tangent9::exact(self, F, point),
            Tangent::Definite => self.definite_tangent(F, point),
        }
    }

    /// Element blocks of the exact or the definite tangent of ψ, or of ψ + pJ with a given number p.
    #[inline(always)]
    fn tangent_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        (kind, pressure): (Tangent, Option<S>),
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        match kind {
            Tangent::Exact => self.blocks_under_pressure(F, point, pressure, shape, sink),
            Tangent::Definite => self.definite_nodal_blocks(F, point, pressure, shape, sink),
        }
    }
}
