//! Contractile fibers along one direction of the rest state: the effect of their tension on a cell.
//!
//! Within one step, the tension at one point is a function of the stretch of the fibers alone; `sinew-muscle` has its
//! dependence on activation, length and speed. This module has the stretch as a function of F, and stress and tangent
//! of an energy W of the stretch.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::MAX_NODES;
use super::law::MaterialPoint;
use super::strain::add_to_diagonal;

/// The stretch on which the tension of fibers depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FiberStretch {
    /// J^(−1/3) |F a|, the stretch without the change of volume. The fibers then add no mean stress, and active flesh
    /// keeps its volume even with a small bulk modulus (TER-36, SIF-018).
    #[default]
    Isochoric,
    /// |F a|, the measurable stretch. Active flesh with a small bulk modulus loses volume.
    Full,
}

/// Volume ratio below which the isochoric stretch is regularized: the fibers need not recover such flesh.
const SMALLEST_VOLUME: f64 = 0.2;

/// The stretch of fibers along the unit vector a at one point, with the terms of its derivatives.
///
/// ```math
/// \bar\lambda = \varphi(J)\, l, \quad l = |F a|, \qquad \varphi = h(J)^{-1/3}
/// ```
///
/// where h(J) = J down to a volume ratio of 0.2. Below, h is the map of [`Invertible`](super::Invertible), which never
/// reaches zero: inverted cells have a finite stretch. For [`FiberStretch::Full`] φ = 1. With m = F a ⊗ a and C = cof F
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

    /// T φ′ l, the coefficient of C in the stress: negative, because fibers under tension compress the flesh between
    /// them.
    #[inline(always)]
    pub fn pressure(&self, tension: S) -> S {
        tension * self.phi[1] * self.length
    }

    /// Terms of the tangent to be added to the blocks of the flesh, without the derivative of C, which has the
    /// coefficient [`pressure`](Self::pressure):
    ///
    /// ```math
    /// \delta F : \delta P = \frac{T\varphi}{l} |\delta F\, a|^2 + \alpha\, \mu^2 + 2 \beta\, \mu \nu
    ///    + \gamma\, \nu^2, \quad
    ///    \mu = m : \delta F,\ \nu = C : \delta F,
    /// ```
    ///
    /// ```math
    /// \alpha = \frac{T' \varphi^2}{l^2} - \frac{T \varphi}{l^3}, \quad
    ///    \beta = \frac{T \varphi'}{l} + T' \varphi \varphi', \quad
    ///    \gamma = T \varphi'' l + T' \varphi'^2 l^2 .
    /// ```
    #[inline(always)]
    pub fn beside(&self, tension: S, stiffness: S, gradients: &[Vec3<S>], weight: S, out: &mut PullBlocks<S>) {
        let across = tension * self.phi[0] / self.length;
        let [alpha, beta, gamma] = self.coupling(tension, stiffness);
        let alpha = alpha - across / self.length.square();
        self.write_form(across, [alpha, beta, gamma], gradients, weight, out);
    }

    /// The same with a positive semi-definite form: compressive tension counts as zero, and the negative eigenvalue of
    /// the quadratic form in (μ, ν) is dropped. `point` has the parameters of the flesh. They set the scales of μ and
    /// ν, so that most of the correction goes to the change of volume, which the flesh resists most.
    ///
    /// Together with the flesh under the pressure T φ′ l (see [`Material::definite_nodal_blocks`](super::Material)) the
    /// sum is definite. The pressures of fibers and flesh almost cancel in a muscle with free sides; neither is
    /// projected alone.
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
        // Relative changes of length and volume, scaled by the stiffness of the flesh against each.
        let yielding = (point.mu / (point.mu + point.lambda.max(S::zero()))).sqrt();
        let volume = self.volume.abs().max(S::splat(SMALLEST_VOLUME)) * yielding;
        let [a, b, c] = self.coupling(tension, stiffness);
        let [a, b, c] = positive_form([a * square.square(), b * square * volume, c * volume.square()]);
        let alpha = a / square.square() - across / square;
        self.write_form(across, [alpha, b / (square * volume), c / volume.square()], gradients, weight, out);
    }

    /// The terms of (α, β, γ) with T′, and those with T and the volume.
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

    /// Stores `across` |δF a|² + α μ² + 2β μν + γ ν².
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

/// Blocks of the fibers at one point, to be added to those of the flesh.
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
    /// Zero, to be written by [`StretchedFiber::beside`].
    #[inline(always)]
    pub fn zero() -> Self {
        let none = [Vec3::zero(); MAX_NODES];
        Self { across: S::zero(), along: [S::zero(); MAX_NODES], m: none, c: none, from_m: none, from_c: none }
    }

    /// The block of the flesh plus that of the fibers.
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
    // λ₁ v₁v₁ᵀ = λ₁/(λ₁ − λ₂) (A − λ₂ I); zero where λ₁ is negative as well.
    let share = high.max(S::zero()) / (radius + radius).max(S::splat(S::TINY));
    [
        S::select(is_definite, a, share * (a - low)),
        S::select(is_definite, b, share * b),
        S::select(is_definite, c, share * (c - low)),
    ]
}

#[cfg(test)]
mod tests;
