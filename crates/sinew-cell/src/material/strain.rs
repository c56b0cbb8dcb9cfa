//! Strain measures that keep their precision near the rest state.
//!
//! At small strains ψ is of order ε², but I₁ − 3 and J − 1, computed by subtraction, have the rounding error of 3.
//! Computed from H = F − I, they are as accurate as H itself, and so is the energy that a line search compares.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar};

/// H = F − I, the displacement gradient.
#[inline(always)]
pub(super) fn displacement_gradient<S: Scalar>(F: &Mat3<S>) -> Mat3<S> {
    *F - Mat3::identity()
}

/// Green strain E = (FᵀF − I)/2 = (H + Hᵀ + HᵀH)/2.
#[inline(always)]
pub(super) fn green_strain<S: Scalar>(F: &Mat3<S>) -> Mat3<S> {
    let H = displacement_gradient(F);
    (H + H.transpose() + H.transpose_mul(&H)) * S::splat(0.5)
}

/// Second principal invariant (tr²A − tr A²)/2.
#[inline(always)]
pub(super) fn second_invariant<S: Scalar>(A: &Mat3<S>) -> S {
    let [[a, b, c], [d, e, f], [g, h, i]] = A.rows;
    (a * e - b * d) + (e * i - f * h) + (i * a - g * c)
}

/// Volume ratio J = det F, and J − 1 to full relative precision near 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume<S> {
    /// det F.
    pub J: S,
    /// det F − 1.
    pub change: S,
}

impl<S: Scalar> Volume<S> {
    /// det(I + H) − 1 = tr H + i₂(H) + det H near rest; far from rest the plain determinant, which keeps the relative
    /// precision of very small volumes.
    #[inline(always)]
    pub fn of(F: &Mat3<S>) -> Self {
        let H = displacement_gradient(F);
        let change = H.trace() + second_invariant(&H) + H.determinant();
        let determinant = F.determinant();
        let near = change.abs().lt(S::splat(0.5));
        Self {
            J: S::select(near, S::one() + change, determinant),
            change: S::select(near, change, determinant - S::one()),
        }
    }

    /// The mean over a cell, from the means of J and of J − 1.
    #[inline(always)]
    pub fn of_mean(J: S, change: S) -> Self {
        let near = change.abs().lt(S::splat(0.5));
        Self { J: S::select(near, S::one() + change, J), change: S::select(near, change, J - S::one()) }
    }

    /// ln J for positive J. The second term corrects the rounding of 1 plus the change.
    #[inline(always)]
    pub fn ln(&self) -> S {
        self.J.ln() + (self.change - (self.J - S::one())) / self.J
    }

    /// Where the volume is positive.
    #[inline(always)]
    pub fn is_positive(&self) -> S::Mask {
        self.J.gt(S::zero())
    }

    /// The same volume where it is positive, and the rest volume elsewhere: keeps logarithms and quotients finite where
    /// a barrier law is undefined.
    #[inline(always)]
    pub fn or_rest(&self) -> Self {
        let positive = self.is_positive();
        Self { J: S::select(positive, self.J, S::one()), change: S::select(positive, self.change, S::zero()) }
    }
}

/// Derivative of the cofactor matrix in direction δF; linear in both arguments.
#[inline(always)]
pub(super) fn cofactor_differential<S: Scalar>(F: &Mat3<S>, dF: &Mat3<S>) -> Mat3<S> {
    let (a, b, c) = (F.row(0), F.row(1), F.row(2));
    let (da, db, dc) = (dF.row(0), dF.row(1), dF.row(2));
    Mat3::from_rows(db.cross(c) + b.cross(dc), dc.cross(a) + c.cross(da), da.cross(b) + a.cross(db))
}

/// `matrix + factor · I`.
#[inline(always)]
pub(super) fn add_to_diagonal<S: Scalar>(mut matrix: Mat3<S>, factor: S) -> Mat3<S> {
    for i in 0..3 {
        matrix[(i, i)] += factor;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_change_keeps_its_digits_near_rest_and_far_from_it() {
        // F = (1 + h) I: J − 1 = 3h + 3h² + h³, ln J = 3 ln(1 + h); one part in 1e15 although h is 1e-9.
        let h = 2f64.powi(-30);
        let volume = Volume::of(&(Mat3::identity() * (1.0 + h)));
        let exact = 3.0 * h + 3.0 * h * h + h * h * h;
        assert!((volume.change - exact).abs() <= 1e-15 * exact);
        assert!((volume.ln() - 3.0 * h.ln_1p()).abs() <= 1e-15 * exact);

        // A crushed cell: 1e-9 must not come out of 1 − 0.999999999.
        let crushed = Volume::of(&(Mat3::identity() * 1e-3));
        assert!((crushed.J - 1e-9).abs() < 1e-23);
        assert!((crushed.ln() - 3.0 * 1e-3f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn cofactor_differential_is_exact_for_quadratic_growth() {
        // cof is quadratic: cof(F + D) = cof F + δcof(F; D) + cof D, exactly in small integers.
        let F = Mat3::new([[2.0, -1.0, 3.0], [0.0, 4.0, 1.0], [5.0, 2.0, -2.0]]);
        let D = Mat3::new([[1.0, 2.0, 0.0], [-3.0, 1.0, 2.0], [4.0, -1.0, 1.0]]);
        assert_eq!((F + D).cofactor(), F.cofactor() + cofactor_differential(&F, &D) + D.cofactor());
        assert_eq!(second_invariant(&F), (F.trace().powi(2) - (F * F).trace()) / 2.0);
    }
}
