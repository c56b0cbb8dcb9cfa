//! Flesh with fibers that resist tension only.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::StableNeoHookean;
use super::blocks::{BlockSink, Kept, MAX_NODES, SelectBlocks, Shape};
use super::declaration::{DeclaredLaw, FiberRole, POISSON, Parameter, Range, Values, YOUNG};
use super::invariant::{InvariantDerivatives, InvariantLaw, Invariants};
use super::law::{Material, MaterialPoint};
use super::principal::PrincipalTangent;
use super::spec::{Law, MaterialSpec};
use super::strain::{add_to_diagonal, displacement_gradient};
use super::tangent::Tangent9;
use super::volume::VolumeTerm;

/// Stretch of the fibers beyond which their tension grows linearly.
const LINEAR_STRETCH: f64 = 1.4;

/// Stable neo-Hookean matrix with passive fibers along the unit vector a of the rest state.
///
/// ```math
/// \psi = \psi_\text{matrix}(F) + w(l), \quad l = |F a|, \qquad
///    P = P_\text{matrix} + \frac{T(l)}{l}\, F a \otimes a, \quad T = w'
/// ```
///
/// ```math
/// T(l) = \begin{cases} 0 & l \le 1 \\ k\, (e^{c (l - 1)} - 1)/c & 1 < l \le l_* \\
///    T(l_*) + k\, e^{c (l_* - 1)} (l - l_*) & l > l_* = 1.4 \end{cases}
/// ```
///
/// Slack fibers buckle and carry nothing; taut ones have the modulus k \[Pa\] at first and stiffen with the exponent c;
/// the straight continuation keeps trial states of a solver from overflowing. T is continuous, and so is T′ at l∗ but
/// not at l = 1.
///
/// ```math
/// \delta P_\text{fiber} = \Bigl[ \frac{T}{l} (I - n \otimes n)
///    + T'\, n \otimes n \Bigr] \delta F\, a \otimes a, \qquad n = F a / l
/// ```
///
/// Because T ≥ 0 and T′ ≥ 0, the tangent of the fibers is positive semi-definite. The definite tangent is therefore the
/// exact one where the sum is definite (tension often compensates for an indefinite matrix). Elsewhere it is the matrix
/// projected in its principal stretches plus the exact fibers: the separable route of SIF-031.
///
/// [`MaterialPoint::extra`] begins with \[k, c\], [`MaterialPoint::fiber`] is a. References: \[Sifakis07, A.3\],
/// \[Weiss96\], \[Smith18\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FiberReinforced;

/// (eʸ − 1)/y and (eʸ − 1 − y)/y² for y ≥ 0, by their series near zero.
#[inline(always)]
fn exponential_quotients<S: Scalar>(y: S) -> [S; 2] {
    // Twelve terms: 0.5¹²/14! is below the rounding error.
    let mut second = S::zero();
    for n in (2..14).rev() {
        second = (second * y + S::one()) / S::splat(f64::from(n));
    }
    let is_small = y.lt(S::splat(0.5));
    let safe = S::select(is_small, S::one(), y);
    let grown = safe.exp() - S::one();
    [
        S::select(is_small, S::one() + second * y, grown / safe),
        S::select(is_small, second, (grown - safe) / (safe * safe)),
    ]
}

/// Energy and tension of a fiber as functions of its stretch.
#[derive(Clone, Copy, Debug)]
pub struct FiberCurve<S = f64> {
    /// w \[J/m³\].
    pub energy: S,
    /// T = w′ \[Pa\].
    pub tension: S,
    /// T′ \[Pa\]; zero for slack fibers.
    pub stiffness: S,
}

impl<S: Scalar> FiberCurve<S> {
    /// At elongation l − 1, with modulus k \[Pa\] and exponent c.
    #[inline(always)]
    pub fn at(elongation: S, k: S, c: S) -> Self {
        let limit = S::splat(LINEAR_STRETCH - 1.0);
        let curved = elongation.max(S::zero()).min(limit);
        let beyond = (elongation - limit).max(S::zero());
        let y = c * curved;
        let [first, second] = exponential_quotients(y);
        let tension = k * curved * first;
        let slope = k * (S::one() + y * first);
        Self {
            energy: k * curved * curved * second + (tension + slope * S::splat(0.5) * beyond) * beyond,
            tension: tension + slope * beyond,
            stiffness: S::select(elongation.gt(S::zero()), slope, S::zero()),
        }
    }
}

/// Terms that stress and tangent share.
struct Fibers<S> {
    /// a.
    rest: Vec3<S>,
    /// n = F a/l; the rest direction for slack fibers, where nothing depends on it.
    direction: Vec3<S>,
    /// 1/l; one for slack fibers.
    inverse: S,
    curve: FiberCurve<S>,
}

impl<S: Scalar> Fibers<S> {
    /// l² − 1 = 2 a·Ha + |Ha|² with H = F − I, so that small stretches keep their precision.
    #[inline(always)]
    fn at(F: &Mat3<S>, point: &MaterialPoint<S>) -> Self {
        let a = point.fiber;
        let moved = displacement_gradient(F) * a;
        let square_change = S::splat(2.0) * a.dot(moved) + moved.norm_squared();
        let is_taut = square_change.gt(S::zero());
        let taut_change = S::select(is_taut, square_change, S::zero());
        let length = (S::one() + taut_change).sqrt();
        let [k, c, ..] = point.extra;
        let inverse = length.recip();
        Self {
            rest: a,
            direction: Vec3::select(is_taut, (a + moved) * inverse, a),
            inverse,
            curve: FiberCurve::at(taut_change / (S::one() + length), k, c),
        }
    }

    /// (T/l)(I − nnᵀ) + T′ nnᵀ.
    #[inline(always)]
    fn stiffness(&self) -> Mat3<S> {
        let across = self.curve.tension * self.inverse;
        let n = self.direction;
        add_to_diagonal(Mat3::outer(n * (self.curve.stiffness - across), n), across)
    }
}

/// Adds the fibers to the blocks of the matrix.
struct WithFibers<'a, S, B> {
    /// Weight times the stiffness of the fibers.
    stiffness: Mat3<S>,
    /// a · gₐ.
    along: [S; MAX_NODES],
    sink: &'a mut B,
}

impl<'a, S: Scalar, B> WithFibers<'a, S, B> {
    #[inline(always)]
    fn new(fibers: &Fibers<S>, shape: &Shape<'_, S>, sink: &'a mut B) -> Self {
        let mut along = [S::zero(); MAX_NODES];
        for (along, gradient) in along.iter_mut().zip(shape.gradients) {
            *along = fibers.rest.dot(*gradient);
        }
        Self { stiffness: fibers.stiffness() * shape.weight, along, sink }
    }
}

impl<S: Scalar, B: BlockSink<S>> BlockSink<S> for WithFibers<'_, S, B> {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, block: Mat3<S>) {
        self.sink.add(a, b, block + self.stiffness * (self.along[a] * self.along[b]));
    }
}

impl FiberReinforced {
    /// Adds the tangent of the fibers to that of the matrix.
    #[inline(always)]
    fn add_fibers<S: Scalar>(fibers: &Fibers<S>, matrix: &PrincipalTangent<S>) -> Tangent9<S> {
        let mut out = matrix.to_tangent9();
        let stiffness = fibers.stiffness();
        for row in 0..9 {
            for column in 0..9 {
                out.0[row][column] += stiffness[(row / 3, column / 3)] * fibers.rest[row % 3] * fibers.rest[column % 3];
            }
        }
        out
    }
}

impl Material for FiberReinforced {
    const NAME: &'static str = "fiber_reinforced";
    const ISOTROPIC: bool = false;
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Quadratic;
    const PARAMETERS: usize = MaterialPoint::<f64>::LEN;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        StableNeoHookean.energy_density(F, point) + Fibers::at(F, point).curve.energy
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let fibers = Fibers::at(F, point);
        StableNeoHookean.stress(F, point) + Mat3::outer(fibers.direction * fibers.curve.tension, fibers.rest)
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let fibers = Fibers::at(F, point);
        StableNeoHookean.stress_differential(F, dF, point)
            + Mat3::outer(fibers.stiffness() * (*dF * fibers.rest), fibers.rest)
    }

    /// The blocks of the matrix plus (a·gₐ)(a·g_b) times the stiffness of the fibers.
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let mut sum = WithFibers::new(&Fibers::at(F, point), shape, sink);
        StableNeoHookean.nodal_blocks(F, point, shape, &mut sum);
    }

    #[inline(always)]
    fn definite_tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Tangent9<S> {
        let fibers = Fibers::at(F, point);
        let matrix = PrincipalTangent::exact(&StableNeoHookean, F, point);
        let exact = Self::add_fibers(&fibers, &matrix);
        let separable = Self::add_fibers(&fibers, &matrix.positive_part());
        Tangent9::select(exact.is_positive_definite(), exact, separable)
    }

    /// Under pressure, the separable route: the projected matrix plus the exact fibers.
    #[inline(always)]
    fn definite_nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let fibers = Fibers::at(F, point);
        let mut sum = WithFibers::new(&fibers, shape, sink);
        if pressure.is_some() {
            return PrincipalTangent::definite(&StableNeoHookean, F, point, pressure).nodal_blocks(shape, &mut sum);
        }
        let matrix = PrincipalTangent::exact(&StableNeoHookean, F, point);
        // Where the matrix is definite, so is the sum, and both results agree.
        let is_definite = matrix.hessian.is_definite();
        if S::all(is_definite) {
            return matrix.positive_part().nodal_blocks(shape, &mut sum);
        }
        let is_definite = !is_definite & Self::add_fibers(&fibers, &matrix).is_positive_definite();
        let (mut shape, kept) = shape.split();
        matrix.nodal_blocks(&mut shape, &mut Kept(kept));
        let mut chosen = SelectBlocks { mask: is_definite, if_true: kept, sink: &mut sum };
        matrix.positive_part().nodal_blocks(&mut shape, &mut chosen);
    }
}

/// ψ₁ = μ/2, ψ₃ = ψ_J/(2J), ψ₃₃ = (J ψ_JJ − ψ_J)/(4J³), ψ₄ = T/(2l), ψ₄₄ = (T′ − T/l)/(4l²); not for flat cells, J = 0.
impl InvariantLaw for FiberReinforced {
    const NAME: &'static str = <Self as Material>::NAME;
    const ISOTROPIC: bool = false;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> S {
        let [i1, _, _, i4, _] = invariants.values;
        let [k, c, ..] = point.extra;
        let (half, change) = (S::splat(0.5), invariants.J - S::one());
        point.mu * (half * (i1 - S::splat(3.0)) - change)
            + (point.lambda + point.mu) * half * change * change
            + FiberCurve::at(i4.sqrt() - S::one(), k, c).energy
    }

    #[inline(always)]
    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> InvariantDerivatives<S> {
        let J = invariants.J;
        let length = invariants.values[3].sqrt();
        let [k, c, ..] = point.extra;
        let bulk = point.lambda + point.mu;
        let pressure = bulk * (J - S::one()) - point.mu;
        let curve = FiberCurve::at(length - S::one(), k, c);
        // Slack fibers may have length zero: no division by it.
        let inverse = length.max(S::one()).recip();
        let (half, quarter) = (S::splat(0.5), S::splat(0.25));
        let mut out = InvariantDerivatives::zero();
        out.first[0] = point.mu * half;
        out.first[2] = pressure * half / J;
        out.first[3] = curve.tension * half * inverse;
        out.second[2][2] = (bulk * J - pressure) * quarter / (J * J * J);
        out.second[3][3] = (curve.stiffness - curve.tension * inverse) * quarter * inverse * inverse;
        out
    }
}

impl DeclaredLaw for FiberReinforced {
    const DOC: &'static str = "Stable neo-Hookean with fibers that resist only tension; needs `fibers` of the body. Their tension at the stretch \
         l > 1 is fiber_stiffness (exp(c (l − 1)) − 1)/c, linear beyond 1.4.";

    const KEYS: &'static [Parameter] = &[
        YOUNG.documented("Young's modulus of the matrix between the fibers [Pa]."),
        POISSON.documented("Poisson's ratio of the matrix."),
        Parameter::stiffness("fiber_stiffness", "Modulus of the fibers at the onset of tension [Pa].", r#""100 kPa""#)
            .or_zero(),
        // e^(100 · 0.4) is still a finite number. The default is the passive curve of skeletal muscle [Weiss96].
        Parameter::number(
            "fiber_stiffening",
            "Exponent c of the stiffening; 0 keeps the modulus constant.",
            Range { low: 0.0, includes_low: true, high: 100.0 },
            "6.6",
        )
        .default("6.6"),
    ];

    const FIBERS: FiberRole = FiberRole::AddedTension;

    fn point<S: Scalar>(values: Values<S>) -> MaterialPoint<S> {
        let [_, _, stiffness, stiffening] = values;
        MaterialPoint {
            extra: [stiffness, stiffening, S::zero(), S::zero()],
            ..<StableNeoHookean as DeclaredLaw>::point(values)
        }
    }

    /// Fibers have the modulus E.
    fn typical(young: f64, poisson: f64) -> Values {
        [young, poisson, young, 6.6]
    }

    fn principal_stresses<S: Scalar>(values: Values, fiber: Vec3, stretches: [S; 3]) -> [S; 3] {
        <StableNeoHookean as DeclaredLaw>::principal_stresses(values, fiber, stretches)
    }

    /// Zero, then k (exp(c (l − 1)) − 1)/c, and its tangent beyond 1.4.
    fn fiber_tension<S: Scalar>([_, _, k, c]: Values, length: S) -> S {
        let most = S::splat(1.4);
        let curved = length.min(most).max(S::one()) - S::one();
        let slope = (curved * S::splat(c)).exp() * S::splat(k);
        let tension = if c == 0.0 { curved * S::splat(k) } else { (slope - S::splat(k)) / S::splat(c) };
        tension + slope * (length - most).max(S::zero())
    }
}

impl MaterialSpec {
    /// A fiber-reinforced material: matrix with (E, ν), modulus k of the fibers \[Pa\], exponent c of their stiffening.
    pub fn fiber_reinforced(young: f64, poisson: f64, fiber_stiffness: f64, fiber_stiffening: f64) -> Self {
        Self::new(Law::FiberReinforced, [young, poisson, fiber_stiffness, fiber_stiffening])
    }
}

#[cfg(test)]
mod tests;
