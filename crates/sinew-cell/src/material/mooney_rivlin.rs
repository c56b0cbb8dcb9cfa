//! Mooney–Rivlin rubber with isochoric invariants and logarithmic volume term.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape, transform};
use super::declaration::{
    DeclaredLaw, MaterialError, Parameter, Range, Values, bulk_modulus, check_range, lame, zero_point,
};
use super::law::{Material, MaterialPoint};
use super::neo_hookean::inverse_stretches;
use super::principal::{
    IsotropicLaw, PrincipalHessian, PrincipalTangent, definite_by_principal_stretches, products_of_others,
    sums_of_others,
};
use super::spec::{Law, MaterialSpec};
use super::strain::{Volume, add_to_diagonal, green_strain, second_invariant};
use super::tangent::Tangent9;
use super::volume::{VolumeTerm, pointwise_lambda};

/// Two-constant rubber on the isochoric part of the deformation, F̄ = J^(−1/3) F.
///
/// ```math
/// \psi = c_{10} (J^{-2/3} I_1 - 3) + c_{01} (J^{-4/3} I_2 - 3) + \tfrac{\kappa}{2} \ln^2 J, \qquad
///    I_1 = \operatorname{tr} C,\quad I_2 = \tfrac12 (\operatorname{tr}^2 C - \operatorname{tr} C^2)
/// ```
///
/// ```math
/// P = w F - w_2 F C + (\kappa \ln J - p) F^{-T}, \quad w_1 = 2 c_{10} J^{-2/3},\ w_2 = 2 c_{01} J^{-4/3},\
///    w = w_1 + w_2 I_1,\ p = \tfrac13 (w I_1 - w_2 \operatorname{tr} C^2)
/// ```
///
/// The passive flesh of SIF-016, and of TER-33/34 in the corrected form (the printed F³ and F⁻¹ hold only for diagonal
/// F). Small strains give μ = 2 (c₁₀ + c₀₁) and bulk modulus κ. With c₀₁ = 0 it is the isochoric neo-Hookean law. For
/// J ≤ 0 the energy is +∞; beyond J = e the volume term softens. References: \[Mooney40\], \[Rivlin48\], \[Weiss96\].
///
/// [`MaterialPoint::extra`] begins with \[c₀₁, κ\] \[Pa\]; c₁₀ = μ/2 − c₀₁ and λ = κ − 2μ/3.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MooneyRivlin;

/// Terms that stress and tangent share at one point.
struct State<S> {
    w1: S,
    w2: S,
    /// I₁ = tr C.
    trace: S,
    /// tr²C − tr C².
    twice_i2: S,
    /// κ ln J − p, the coefficient of F⁻ᵀ.
    q: S,
    kappa: S,
}

impl<S: Scalar> State<S> {
    /// From ln J, I₁ = tr C and tr²C − tr C².
    #[inline(always)]
    fn new(logarithm: S, trace: S, twice_i2: S, point: &MaterialPoint<S>) -> Self {
        let [c01, kappa, ..] = point.extra;
        // J^(−2/3)
        let scale = (logarithm * S::splat(-2.0 / 3.0)).exp();
        let w1 = (point.mu - c01 - c01) * scale;
        let w2 = (c01 + c01) * scale * scale;
        let q = kappa * logarithm - (w1 * trace + w2 * twice_i2) * S::splat(1.0 / 3.0);
        Self { w1, w2, trace, twice_i2, q, kappa }
    }

    /// State at F together with F⁻ᵀ.
    #[inline(always)]
    fn at(F: &Mat3<S>, point: &MaterialPoint<S>) -> (Self, Mat3<S>) {
        let volume = Volume::of(F).or_rest();
        let C = F.transpose_mul(F);
        let state = Self::new(volume.ln(), C.trace(), second_invariant(&C) * S::splat(2.0), point);
        (state, F.cofactor() * volume.J.recip())
    }

    /// w = w₁ + w₂ I₁.
    #[inline(always)]
    fn w(&self) -> S {
        self.w1 + self.w2 * self.trace
    }

    /// Entries (h11, h13, h23, h33), times `weight`, of the symmetric matrix that couples F, FC and F⁻ᵀ in the tangent
    /// (SIF-016).
    #[inline(always)]
    fn coupling(&self, weight: S) -> [S; 4] {
        let two = S::splat(2.0);
        let two_thirds = S::splat(2.0 / 3.0);
        let bulk = self.kappa + S::splat(2.0 / 9.0) * (self.w1 * self.trace + two * self.w2 * self.twice_i2);
        [
            two * self.w2 * weight,
            -two_thirds * (self.w1 + two * self.w2 * self.trace) * weight,
            two_thirds * two * self.w2 * weight,
            bulk * weight,
        ]
    }
}

impl Material for MooneyRivlin {
    const NAME: &'static str = "mooney_rivlin";
    const BARRIER: bool = true;
    const TAKES_FIBERS: bool = true;
    const PARAMETERS: usize = 4;
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Logarithmic;

    /// With c = J^(1/3) and e₁, e₂ the invariants of the Green strain: I₁ − 3 = 2e₁, I₂ − 3 = 4e₁ + 4e₂ and
    /// c² − 1 = (J − 1)(c + 1)/(c² + c + 1), so that no numbers of order one cancel near rest.
    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let [c01, kappa, ..] = point.extra;
        let volume = Volume::of(F);
        let safe = volume.or_rest();
        let logarithm = safe.ln();
        let c = (logarithm * S::splat(1.0 / 3.0)).exp();
        let square = c * c;
        let square_change = safe.change * (c + S::one()) / (square + c + S::one());
        let fourth_change = square_change * (square + S::one());

        let E = green_strain(F);
        let (e1, e2) = (E.trace(), second_invariant(&E));
        let three = S::splat(3.0);
        let first = (e1 + e1 - three * square_change) / square;
        let second = (S::splat(4.0) * (e1 + e2) - three * fourth_change) / (square * square);
        let half = S::splat(0.5);
        let energy = (point.mu * half - c01) * first + c01 * second + kappa * half * logarithm * logarithm;
        S::select(volume.is_positive(), energy, S::splat(f64::INFINITY))
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let (state, G) = State::at(F, point);
        let FC = F.mul_transpose(F) * *F;
        *F * state.w() - FC * state.w2 + G * state.q
    }

    /// δP = w δF − w₂ (δF C + F δFᵀ F + F Fᵀ δF) − q G δFᵀ G, G = F⁻ᵀ, plus the change of the coefficients:
    /// (h₁₁ F:δF + h₁₃ G:δF) F + h₂₃ G:δF FC + (h₁₃ F:δF + h₂₃ FC:δF + h₃₃ G:δF) G.
    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let (state, G) = State::at(F, point);
        let left = F.mul_transpose(F);
        let FC = left * *F;
        let [h11, h13, h23, h33] = state.coupling(S::one());
        let (f, m, g) = (F.double_dot(dF), FC.double_dot(dF), G.double_dot(dF));
        let quadratic = *dF * F.transpose_mul(F) + F.mul_transpose(dF) * *F + left * *dF;
        *dF * state.w() - quadratic * state.w2 - G.mul_transpose(dF) * G * state.q
            + *F * (h11 * f + h13 * g)
            + FC * (h23 * g)
            + G * (h13 * f + h23 * m + h33 * g)
    }

    /// The differential for δF = eₖ g_bᵀ, applied to gₐ; with f = F g, m = FC g, s = F⁻ᵀ g for each shape gradient.
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        self.blocks(F, point, None, shape, sink);
    }

    #[inline(always)]
    fn blocks_under_pressure<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        self.blocks(F, point, pressure, shape, sink);
    }

    /// κ = λ + 2μ/3: without λ, the law resists volume changes as much as shear, so that the cell has no free modes.
    #[inline(always)]
    fn without_volume_term<S: Scalar>(&self, point: &MaterialPoint<S>) -> MaterialPoint<S> {
        let [c01, kappa, a, b] = point.extra;
        let lambda = pointwise_lambda(point);
        MaterialPoint { lambda, extra: [c01, kappa - (point.lambda - lambda), a, b], ..*point }
    }

    definite_by_principal_stretches!();
}

impl MooneyRivlin {
    /// Blocks of ψ + pJ, whose last term has the differential pJ \[(G:δF) G − G δFᵀ G\]: it joins those of G.
    #[inline(always)]
    fn blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let Shape { gradients, weight, vectors: [f, m, s], .. } = shape;
        let weight = *weight;
        let (state, G) = State::at(F, point);
        let left = F.mul_transpose(F);
        let [h11, h13, h23, mut h33] = state.coupling(weight);
        let (w, w2, mut q) = (state.w() * weight, state.w2 * weight, state.q * weight);
        if let Some(pressure) = pressure {
            let share = pressure * F.determinant() * weight;
            (h33, q) = (h33 + share, q + share);
        }
        let f = transform(F, gradients, f);
        let m = transform(&left, f, m);
        let s = transform(&G, gradients, s);
        for a in 0..gradients.len() {
            let from_f = f[a] * h11 + s[a] * h13;
            let from_m = s[a] * h23;
            let from_s = f[a] * h13 + m[a] * h23 + s[a] * h33;
            let (w2_f, q_s) = (f[a] * w2, s[a] * q);
            for b in 0..=a {
                let dot = gradients[a].dot(gradients[b]);
                let block = Mat3::outer(from_f, f[b]) + Mat3::outer(from_m, m[b]) + Mat3::outer(from_s, s[b])
                    - Mat3::outer(f[b], w2_f)
                    - Mat3::outer(s[b], q_s)
                    - left * (w2 * dot);
                sink.add(a, b, add_to_diagonal(block, w * dot - w2_f.dot(f[b])));
            }
        }
    }

    /// State in principal stretches, and their inverses.
    #[inline(always)]
    fn principal_state<S: Scalar>(s: Vec3<S>, point: &MaterialPoint<S>) -> (State<S>, Vec3<S>) {
        let (J, inverse) = inverse_stretches(s);
        let c = s.component_mul(s);
        let twice_i2 = S::splat(2.0) * (c.x * c.y + c.y * c.z + c.z * c.x);
        (State::new(J.ln(), c.sum(), twice_i2, point), inverse)
    }
}

impl IsotropicLaw for MooneyRivlin {
    /// ψᵢ = w σᵢ − w₂ σᵢ³ + (κ ln J − p)/σᵢ.
    #[inline(always)]
    fn principal_stress<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S> {
        let (state, r) = Self::principal_state(s, point);
        let cubes = s.component_mul(s).component_mul(s);
        s * state.w() - cubes * state.w2 + r * state.q
    }

    /// α and β of SIF-016 give (ψᵢ − ψⱼ)/(σᵢ − σⱼ) = w − w₂ (σᵢ² + σᵢσⱼ + σⱼ²) − q/(σᵢσⱼ), and the twist with the sign
    /// of σⱼ reversed.
    #[inline(always)]
    fn principal_hessian<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S> {
        let (state, r) = Self::principal_state(s, point);
        let (w, w2, q) = (state.w(), state.w2, state.q);
        let [h11, h13, h23, h33] = state.coupling(S::one());
        let cubes = s.component_mul(s).component_mul(s);
        // ψᵢⱼ = (σᵢ, σᵢ³, 1/σᵢ) H (σⱼ, σⱼ³, 1/σⱼ)ᵀ.
        let (of_s, of_cubes, of_r) = (s * h11 + r * h13, r * h23, s * h13 + cubes * h23 + r * h33);
        let coupling = Mat3::outer(s, of_s) + Mat3::outer(cubes, of_cubes) + Mat3::outer(r, of_r);

        let squares = s.component_mul(s);
        let own = Vec3::splat(w) - squares * (S::splat(3.0) * w2) - r.component_mul(r) * q;
        let even = Vec3::splat(w) - sums_of_others(squares) * w2;
        let odd = products_of_others(s) * w2 + products_of_others(r) * q;
        PrincipalHessian { scaling: coupling + Mat3::diagonal(own), flip: even - odd, twist: even + odd }
    }
}

impl DeclaredLaw for MooneyRivlin {
    const DOC: &'static str = "Mooney–Rivlin with a bulk modulus: nearly incompressible tissue.";

    const KEYS: &'static [Parameter] = &[
        Parameter::stiffness("c10", "Coefficient of the first invariant [Pa].", r#""20 kPa""#).or_zero(),
        Parameter::stiffness("c01", "Coefficient of the second invariant [Pa].", r#""10 kPa""#).or_zero().default("0"),
        Parameter::stiffness("bulk", "Bulk modulus [Pa].", r#""1 MPa""#),
    ];

    fn point<S: Scalar>([c10, c01, bulk, _]: Values<S>) -> MaterialPoint<S> {
        let sum = c10 + c01;
        let (mu, lambda) = (S::splat(2.0) * sum, bulk - S::splat(4.0 / 3.0) * sum);
        MaterialPoint { mu, lambda, extra: [c01, bulk, S::zero(), S::zero()], ..zero_point() }
    }

    /// Half of the shear modulus comes from each invariant: c₁₀ = c₀₁ = μ/4.
    fn typical(young: f64, poisson: f64) -> Values {
        let quarter = lame(young, poisson).0 / 4.0;
        [quarter, quarter, bulk_modulus(young, poisson), 0.0]
    }

    fn check([c10, c01, ..]: Values) -> Result<(), MaterialError> {
        check_range("c10 + c01", Range::POSITIVE, c10 + c01)
    }

    /// Deviatoric Kirchhoff stresses of the isochoric stretches, plus the pressure.
    fn principal_stresses<S: Scalar>([c10, c01, bulk, _]: Values, _: Vec3, stretches: [S; 3]) -> [S; 3] {
        let volume = stretches[0] * stretches[1] * stretches[2];
        let scale = volume.powf(-1.0 / 3.0);
        let squares = stretches.map(|s| (s * scale) * (s * scale));
        let third = S::splat(1.0 / 3.0);
        let first = (squares[0] + squares[1] + squares[2]) * third;
        let second = (squares[0].recip() + squares[1].recip() + squares[2].recip()) * third;
        let pressure = S::splat(bulk) * volume.ln();
        [0, 1, 2].map(|i| {
            let distortion =
                S::splat(2.0 * c10) * (squares[i] - first) - S::splat(2.0 * c01) * (squares[i].recip() - second);
            (distortion + pressure) / stretches[i]
        })
    }
}

impl MaterialSpec {
    /// A Mooney–Rivlin material with c₁₀, c₀₁ and bulk modulus κ \[Pa\].
    pub fn mooney_rivlin(c10: f64, c01: f64, bulk: f64) -> Self {
        Self::new(Law::MooneyRivlin, [c10, c01, bulk, 0.0])
    }
}
