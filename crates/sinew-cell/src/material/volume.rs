//! The volume term of a law, and its mean over a cell.
//!
//! Most laws have the form ψ(F) = ψ₀(F) + λ U(θ(F)), where θ measures the volume. At ν → ½ the second term becomes a
//! constraint at every quadrature point. A cell has too few degrees of freedom to satisfy all of them: it locks. With
//! one constraint per cell,
//!
//! ```math
//! E = \sum_q w_q\, \psi_0(F_q) + V \lambda\, U(\bar\theta), \qquad \bar\theta = \frac1V \sum_q w_q\, \theta(F_q),
//!    \qquad V = \sum_q w_q
//! ```
//!
//! it does not \[Nagtegaal74\], \[Simo85\]; `docs/design/locking.md` has the figures. The sum is a true energy, with
//! the stress and the tangent
//!
//! ```math
//! P_q = P_0 + p\, \frac{\partial\theta}{\partial F}, \quad p = \lambda U'(\bar\theta), \qquad
//!    K = \sum_q w_q \Bigl( \frac{\partial^2\psi_0}{\partial F^2} + p\, \frac{\partial^2\theta}{\partial F^2} \Bigr)
//!    + \frac{\lambda U''(\bar\theta)}{V}\, G \otimes G, \quad
//!    G_a = \sum_q w_q \frac{\partial\theta}{\partial F} \nabla N_a .
//! ```
//!
//! For the definite tangent, the negative eigenvalues of the bracket, which is the tangent of ψ₀ + pθ at one point,
//! become zero, and so does a negative U″.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape};
use super::law::{Material, MaterialPoint};
use super::strain::{Volume, displacement_gradient};
use super::tangent::Tangent;

/// Where the volume term of a law is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VolumeForm {
    /// At each quadrature point.
    #[default]
    Pointwise,
    /// With the mean volume ratio of the cell, where the law has such a term; for cells with one point both forms are
    /// equal.
    Mean,
}

/// How the energy of a law depends on the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumeTerm {
    /// Not in a separate term: such a law is always pointwise.
    Inseparable,
    /// λ/2 (J − 1)².
    Quadratic,
    /// λ/2 ln² J; beyond J = e its curvature is negative.
    Logarithmic,
    /// λ/2 tr² (F − I), the small-strain form.
    Trace,
}

/// The volume term of one cell, which its quadrature points share.
#[derive(Clone, Copy, Debug)]
pub struct CellVolume<S> {
    /// Parameters of ψ₀: those of the law, without a volume term that is averaged.
    pub point: MaterialPoint<S>,
    /// p = λ U′(θ̄) \[Pa\]; zero for the pointwise form.
    pub pressure: S,
    /// V λ U(θ̄) \[J\]; zero for the pointwise form.
    pub energy: S,
    /// λ U″(θ̄)/V \[Pa/m³\]; zero for the pointwise form.
    curvature: S,
}

impl<S: Scalar> CellVolume<S> {
    /// No mean: the law is evaluated point by point.
    #[inline(always)]
    pub fn pointwise(point: &MaterialPoint<S>) -> Self {
        Self { point: *point, pressure: S::zero(), energy: S::zero(), curvature: S::zero() }
    }

    /// The mean over the points of a cell with deformation gradients `F` and weights `w` \[m³\].
    ///
    /// A cell of weight zero, which pads a pack, has mean volume ratio one.
    #[inline(always)]
    pub fn mean<M: Material>(law: &M, point: &MaterialPoint<S>, F: &[Mat3<S>], w: &[S]) -> Self {
        let mut volume = S::zero();
        for &w in w {
            volume += w;
        }
        let inverse = S::select(volume.gt(S::zero()), volume, S::one()).recip();
        let (mut change, mut ratio) = (S::zero(), S::zero());
        for (F, &w) in F.iter().zip(w) {
            let share = w * inverse;
            if const { matches!(M::VOLUME_TERM, VolumeTerm::Trace) } {
                change += share * displacement_gradient(F).trace();
            } else {
                let at = Volume::of(F);
                change += share * at.change;
                ratio += share * at.J;
            }
        }
        let lambda = point.lambda - pointwise_lambda(point);
        let half = S::splat(0.5);
        // U, U′ and U″ at θ̄.
        let [u, du, ddu] = match M::VOLUME_TERM {
            VolumeTerm::Inseparable => return Self::pointwise(point),
            VolumeTerm::Quadratic | VolumeTerm::Trace => [half * change.square(), change, S::one()],
            VolumeTerm::Logarithmic => {
                let mean = Volume::of_mean(ratio, change).or_rest();
                let (logarithm, r) = (mean.ln(), mean.J.recip());
                [half * logarithm * logarithm, logarithm * r, (S::one() - logarithm) * r * r]
            }
        };
        Self {
            point: law.without_volume_term(point),
            pressure: lambda * du,
            energy: volume * lambda * u,
            curvature: lambda * ddu * inverse,
        }
    }

    /// p ∂θ/∂F, the stress of the volume term.
    #[inline(always)]
    pub fn stress<M: Material>(&self, F: &Mat3<S>) -> Mat3<S> {
        slope::<M, S>(F) * self.pressure
    }

    /// The number p of the energy ψ₀ + pJ for the tangent at a point; `None` if the law has no volume term, or one
    /// without a second derivative.
    #[inline(always)]
    pub fn point_pressure<M: Material>(&self) -> Option<S> {
        match M::VOLUME_TERM {
            VolumeTerm::Inseparable | VolumeTerm::Trace => None,
            VolumeTerm::Quadratic | VolumeTerm::Logarithmic => Some(self.pressure),
        }
    }

    /// Adds the contribution of one point to the G of all nodes.
    #[inline(always)]
    pub fn add_slopes<M: Material>(&self, F: &Mat3<S>, weight: S, gradients: &[Vec3<S>], G: &mut [Vec3<S>]) {
        let slope = slope::<M, S>(F) * weight;
        for (G, gradient) in G.iter_mut().zip(gradients) {
            *G += slope * *gradient;
        }
    }

    /// Adds λ U″/V G ⊗ G, which couples all nodes of the cell; for the definite tangent only where U″ is positive.
    #[inline(always)]
    pub fn add_coupling(&self, G: &[Vec3<S>], kind: Tangent, sink: &mut impl BlockSink<S>) {
        let curvature = match kind {
            Tangent::Exact => self.curvature,
            Tangent::Definite => self.curvature.max(S::zero()),
        };
        for a in 0..G.len() {
            let scaled = G[a] * curvature;
            for b in 0..=a {
                sink.add(a, b, Mat3::outer(scaled, G[b]));
            }
        }
    }
}

/// Passes on blocks plus the exact ones of w p ∂²J/∂F² for a given number p, if any.
pub(super) struct WithPressure<'a, S, B> {
    F: &'a Mat3<S>,
    gradients: &'a [Vec3<S>],
    /// w p.
    pressure: Option<S>,
    sink: &'a mut B,
}

impl<'a, S: Scalar, B: BlockSink<S>> WithPressure<'a, S, B> {
    #[inline(always)]
    pub fn new(F: &'a Mat3<S>, pressure: Option<S>, shape: &Shape<'a, S>, sink: &'a mut B) -> Self {
        // Not a closure, which would be compiled without the instruction set.
        let pressure = pressure.map(|pressure| pressure * shape.weight);
        Self { F, gradients: shape.gradients, pressure, sink }
    }
}

impl<S: Scalar, B: BlockSink<S>> BlockSink<S> for WithPressure<'_, S, B> {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, mut block: Mat3<S>) {
        // For a = b the cross product is zero.
        if let Some(pressure) = self.pressure
            && a != b
        {
            block += Mat3::skew(*self.F * self.gradients[b].cross(self.gradients[a] * pressure));
        }
        self.sink.add(a, b, block);
    }
}

/// The part of λ that stays pointwise if the volume term is averaged: only a negative λ, which is no constraint. A
/// positive part would bring back locking.
#[inline(always)]
pub(super) fn pointwise_lambda<S: Scalar>(point: &MaterialPoint<S>) -> S {
    point.lambda.min(S::zero())
}

/// ∂θ/∂F: the cofactor matrix for θ = J, the identity for the trace.
#[inline(always)]
fn slope<M: Material, S: Scalar>(F: &Mat3<S>) -> Mat3<S> {
    if const { matches!(M::VOLUME_TERM, VolumeTerm::Trace) } { Mat3::identity() } else { F.cofactor() }
}
