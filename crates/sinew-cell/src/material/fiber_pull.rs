//! Fibers that pull along one direction of the rest state: how their tension acts on a cell.
//!
//! Whatever makes the tension (activation, length, speed: `sinew-muscle`), at one point and within one step it is a function of one number, the
//! stretch of the fibers. Here is the rest: the stretch as a function of F, and stress and tangent of an energy W of it.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::MAX_NODES;
use super::law::MaterialPoint;
use super::strain::add_to_diagonal;

/// Which stretch the tension of fibers answers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FiberStretch {
    /// J^(−1/3) |F a|: what is left of the stretch when the change of volume is taken out. The fibers then add no mean stress, and active flesh
    /// keeps its volume however soft it is (TER-36, SIF-018).
    #[default]
    Isochoric,
    /// |F a|, the stretch that one would measure. Active flesh with a small bulk modulus loses volume.
    Full,
}

/// Volume ratio below which the isochoric stretch stops following the volume: flesh that far gone is not the fibers' to save.
const SMALLEST_VOLUME: f64 = 0.2;

/// The stretch of fibers along the unit vector a at one point, and what its derivatives are made of.
///
/// ```math
/// \bar\lambda = \varphi(J)\, l, \quad l = |F a|, \qquad \varphi = h(J)^{-1/3}
/// ```
///
/// where h(J) = J down to a volume ratio of 0.2 and, below, the map of [`Invertible`](super::Invertible), which never reaches zero: inverted
/// cells have a finite stretch. For [`FiberStretch::Full`] φ = 1. With m = F a ⊗ a and C = cof F
///
/// ```math
/// \frac{\partial \bar\lambda}{\partial F} = \frac{\varphi}{l}\, m + \varphi' l\, C
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StretchedFiber<S> {
    /// a.
    rest: Vec3<S>,
    /// F a.
    moved: Vec3<S>,
    /// l, kept above zero.
    length: S,
    /// φ, φ′ and φ″ at J.
    phi: [S; 3],
    /// cof F.
    cofactor: Mat3<S>,
    /// J.
    volume: S,
}

/// Length below which fibers have no direction.
const SHORTEST: f64 = 1e-9;

impl<S: Scalar> StretchedFiber<S> {
    /// Fibers along `rest` under F.
    #[inline(always)]
    pub fn at(F: &Mat3<S>, rest: Vec3<S>, measure: FiberStretch) -> Self {
        let moved = *F * rest;
        let cofactor = F.cofactor();
        let volume = F.determinant();
        let phi = match measure {
            FiberStretch::Full => [S::one(), S::zero(), S::zero()],
            FiberStretch::Isochoric => isochoric_factor(volume),
        };
        Self { rest, moved, length: moved.norm_squared().sqrt().max(S::splat(SHORTEST)), phi, cofactor, volume }
    }

    /// λ̄.
    #[inline(always)]
    pub fn stretch(&self) -> S {
        self.phi[0] * self.length
    }

    /// P = T ∂λ̄/∂F for the tension T = W′ \[Pa\].
    #[inline(always)]
    pub fn stress(&self, tension: S) -> Mat3<S> {
        Mat3::outer(self.moved * (tension * self.phi[0] / self.length), self.rest)
            + self.cofactor * self.pressure(tension)
    }

    /// T φ′ l, the number by which C appears in the stress: negative, since fibers that pull press the flesh between them.
    #[inline(always)]
    pub fn pressure(&self, tension: S) -> S {
        tension * self.phi[1] * self.length
    }

    /// What the tangent adds to the blocks of the flesh, but for the change of C itself, which [`pressure`](Self::pressure) multiplies:
    ///
    /// ```math
    /// \delta F : \delta P = \frac{T\varphi}{l} |\delta F\, a|^2 + \alpha\, \mu^2 + 2 \beta\, \mu \nu + \gamma\, \nu^2, \quad
    ///    \mu = m : \delta F,\ \nu = C : \delta F,
    /// ```
    ///
    /// ```math
    /// \alpha = \frac{T' \varphi^2}{l^2} - \frac{T \varphi}{l^3}, \quad \beta = \frac{T \varphi'}{l} + T' \varphi \varphi', \quad
    ///    \gamma = T \varphi'' l + T' \varphi'^2 l^2 .
    /// ```
    #[inline(always)]
    pub fn beside(&self, tension: S, stiffness: S, gradients: &[Vec3<S>], weight: S, out: &mut PullBlocks<S>) {
        let across = tension * self.phi[0] / self.length;
        let [alpha, beta, gamma] = self.coupling(tension, stiffness);
        let alpha = alpha - across / self.length.square();
        self.write_form(across, [alpha, beta, gamma], gradients, weight, out);
    }

    /// The same with a positive semi-definite form: fibers push neither across nor along, and of the quadratic form in (μ, ν) the negative
    /// eigenvalue is dropped. `point` are the parameters of the flesh: the more it resists a change of volume, the more of the correction is put
    /// there, where it does least.
    ///
    /// Together with the flesh under the pressure T φ′ l (see [`Material::definite_nodal_blocks`](super::Material)) that is a definite tangent
    /// of both: the pressure of the fibers and that of the flesh, which all but cancel in a muscle with free sides, are never projected alone.
    #[inline(always)]
    pub fn definite_beside(
        &self,
        tension: S,
        stiffness: S,
        point: &MaterialPoint<S>,
        gradients: &[Vec3<S>],
        weight: S,
        out: &mut PullBlocks<S>,
    ) {
        let (tension, stiffness) = (tension.max(S::zero()), stiffness.max(S::zero()));
        let across = tension * self.phi[0] / self.length;
        let square = self.length.square();
        // In relative changes of length and of volume, each as much as flesh resists it.
        let yielding = (point.mu / (point.mu + point.lambda.max(S::zero()))).sqrt();
        let volume = self.volume.abs().max(S::splat(SMALLEST_VOLUME)) * yielding;
        let [a, b, c] = self.coupling(tension, stiffness);
        let [a, b, c] = positive_form([a * square.square(), b * square * volume, c * volume.square()]);
        let alpha = a / square.square() - across / square;
        self.write_form(across, [alpha, b / (square * volume), c / volume.square()], gradients, weight, out);
    }

    /// The part of (α, β, γ) that T′ makes, and T with the volume.
    #[inline(always)]
    fn coupling(&self, tension: S, stiffness: S) -> [S; 3] {
        let [phi, slope, curvature] = self.phi;
        let l = self.length;
        [
            stiffness * (phi / l).square(),
            tension * slope / l + stiffness * phi * slope,
            tension * curvature * l + stiffness * (slope * l).square(),
        ]
    }

    /// Writes down `across` |δF a|² + α μ² + 2β μν + γ ν².
    #[inline(always)]
    fn write_form(
        &self,
        across: S,
        [alpha, beta, gamma]: [S; 3],
        gradients: &[Vec3<S>],
        weight: S,
        out: &mut PullBlocks<S>,
    ) {
        let (alpha, beta, gamma) = (alpha * weight, beta * weight, gamma * weight);
        out.across = across * weight;
        for (a, gradient) in gradients.iter().enumerate() {
            out.along[a] = self.rest.dot(*gradient);
            out.m[a] = self.moved * out.along[a];
            out.c[a] = self.cofactor * *gradient;
            out.from_m[a] = out.m[a] * alpha + out.c[a] * beta;
            out.from_c[a] = out.m[a] * beta + out.c[a] * gamma;
        }
    }
}

/// What the fibers at one point add to the blocks of flesh.
pub struct PullBlocks<S> {
    across: S,
    /// a · g of each node.
    along: [S; MAX_NODES],
    /// m g and C g.
    m: [Vec3<S>; MAX_NODES],
    c: [Vec3<S>; MAX_NODES],
    /// α m g + β C g, and β m g + γ C g.
    from_m: [Vec3<S>; MAX_NODES],
    from_c: [Vec3<S>; MAX_NODES],
}

impl<S: Scalar> PullBlocks<S> {
    /// Nothing, to be written by [`StretchedFiber::beside`].
    #[inline(always)]
    pub fn zero() -> Self {
        let none = [Vec3::zero(); MAX_NODES];
        Self { across: S::zero(), along: [S::zero(); MAX_NODES], m: none, c: none, from_m: none, from_c: none }
    }

    /// The block of flesh with that of the fibers.
    #[inline(always)]
    pub fn add_to(&self, a: usize, b: usize, block: Mat3<S>) -> Mat3<S> {
        let pull = Mat3::outer(self.from_m[a], self.m[b]) + Mat3::outer(self.from_c[a], self.c[b]);
        add_to_diagonal(block + pull, self.across * self.along[a] * self.along[b])
    }
}

/// φ = h(J)^(−1/3) with its derivatives.
#[inline(always)]
fn isochoric_factor<S: Scalar>(J: S) -> [S; 3] {
    let (one, epsilon) = (S::one(), S::splat(SMALLEST_VOLUME));
    let t = ((epsilon - J) / epsilon).max(S::zero());
    let D = one + t + t * t;
    let is_below = J.lt(epsilon);
    let h = S::select(is_below, epsilon / D, J);
    let slope = (one + t + t) / (D * D);
    let curvature = S::splat(6.0) * t * (one + t) / (epsilon * D * D * D);
    let phi = (h.ln() * S::splat(-1.0 / 3.0)).exp();
    let over = h.recip();
    let first = phi * over * S::splat(-1.0 / 3.0);
    [phi, first * slope, first * (curvature - S::splat(4.0 / 3.0) * over * slope.square())]
}

/// The positive semi-definite part of \[\[a, b\], \[b, c\]\].
#[inline(always)]
fn positive_form<S: Scalar>([a, b, c]: [S; 3]) -> [S; 3] {
    let half = S::splat(0.5);
    let (mean, difference) = ((a + c) * half, (a - c) * half);
    let radius = (difference.square() + b.square()).sqrt();
    let (high, low) = (mean + radius, mean - radius);
    let is_definite = low.ge(S::zero());
    // λ₁ v₁v₁ᵀ = λ₁/(λ₁ − λ₂) (A − λ₂ I), and nothing where λ₁ is negative, too.
    let share = high.max(S::zero()) / (radius + radius).max(S::splat(S::TINY));
    [
        S::select(is_definite, a, share * (a - low)),
        S::select(is_definite, b, share * b),
        S::select(is_definite, c, share * (c - low)),
    ]
}

#[cfg(test)]
mod tests;
