//! Derivatives by complex step: f′(x) = Im f(x + ih)/h + O(h²), without subtraction and hence without cancellation.
//!
//! [`ComplexStep`] numbers nest. `ComplexStep<ComplexStep<f64>>` has two independent imaginary units i₁, i₂ with
//! i₁² = i₂² = −1, i₁i₂ = i₂i₁, and
//!
//! ```math
//! f''(x) = \operatorname{Im}_{12} f(x + h i_1 + h i_2) / h^2 + O(h^2).
//! ```
//!
//! # Traps
//!
//! * The differentiated code must be analytic: no conjugation (|v|² = Σ vᵢ²), comparisons act on real parts, `abs`
//!   flips the sign by the real part. [`Scalar`] guarantees all of that.
//! * ln of a negative number has an imaginary part of order one, which would read as a derivative of 1/h. Here both
//!   parts become NaN instead, so that inverted elements with ln J are noticed.
//! * For tiny h, (eʰ − e⁻ʰ)/2 is zero in floating point. `exp` and `ln` use power series in the imaginary part, so
//!   imaginary parts must be small (below 10⁻³ of the real part): these are steps, not general complex numbers.
//! * Products of n steps are of order hⁿ, and a square root squares once more: second derivatives need f64.
//! * Multicomplex numbers have zero divisors, such as i₁ + i₂ = i₁ (1 − i₁i₂). Square roots of their squares work
//!   (√(x²) at x = 0), their reciprocals do not.
//!
//! Reference: Luo 2020, chapter 4; Martins, Sturdza and Alonso 2003.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::mat3::Mat3;
use crate::scalar::{Scalar, Work};

/// Step h. 1e-30: h² = 1e-60 vanishes beside any real part in f64, so the derivative is exact to rounding; h⁴ = 1e-120,
/// the smallest power in second derivatives of square roots, is far from underflow; and h itself is normal in f32.
pub const STEP: f64 = 1e-30;

/// The number `re + i im`, where `im` carries a derivative times [`STEP`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ComplexStep<S = f64> {
    /// The value.
    pub re: S,
    /// The derivative times the step.
    pub im: S,
}

impl<S: Scalar> ComplexStep<S> {
    /// The number `re + i im`.
    #[inline(always)]
    pub fn new(re: S, im: S) -> Self {
        Self { re, im }
    }

    /// A constant: no derivative.
    #[inline(always)]
    pub fn constant(value: S) -> Self {
        Self::new(value, S::zero())
    }

    /// `value + i h direction`: an input that moves with velocity `direction`.
    #[inline(always)]
    pub fn moving(value: S, direction: S) -> Self {
        Self::new(value, direction * S::splat(STEP))
    }

    /// The derivative carried by a result: the imaginary part over the step.
    #[inline(always)]
    pub fn derivative(self) -> S {
        self.im / S::splat(STEP)
    }
}

impl<S: Scalar> Add for ComplexStep<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self::new(self.re + o.re, self.im + o.im)
    }
}

impl<S: Scalar> Sub for ComplexStep<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self::new(self.re - o.re, self.im - o.im)
    }
}

impl<S: Scalar> Mul for ComplexStep<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self::new(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)
    }
}

impl<S: Scalar> Div for ComplexStep<S> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let inverse = (o.re * o.re + o.im * o.im).recip();
        Self::new((self.re * o.re + self.im * o.im) * inverse, (self.im * o.re - self.re * o.im) * inverse)
    }
}

impl<S: Scalar> Neg for ComplexStep<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.re, -self.im)
    }
}

impl<S: Scalar> AddAssign for ComplexStep<S> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<S: Scalar> SubAssign for ComplexStep<S> {
    #[inline(always)]
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}

impl<S: Scalar> MulAssign for ComplexStep<S> {
    #[inline(always)]
    fn mul_assign(&mut self, o: Self) {
        *self = *self * o;
    }
}

impl<S: Scalar> DivAssign for ComplexStep<S> {
    #[inline(always)]
    fn div_assign(&mut self, o: Self) {
        *self = *self / o;
    }
}

impl<S: Scalar> Scalar for ComplexStep<S> {
    type Mask = S::Mask;
    const PRECISION: f64 = S::PRECISION;
    const TINY: f64 = S::TINY;

    #[inline(always)]
    fn apart<W: Work>(work: W) -> W::Output {
        S::apart(work)
    }

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self::constant(S::splat(value))
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self::new(
            (-self.im).mul_add(b.im, self.re.mul_add(b.re, c.re)),
            self.re.mul_add(b.im, self.im.mul_add(b.re, c.im)),
        )
    }

    /// With r = √(a² + b²) and t = √((r + |a|)/2): √(a + ib) = t + ib/(2t), or |b|/(2t) ± it left of the imaginary
    /// axis. Zero at zero, where the derivative is undefined.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let (a, b) = (self.re, self.im);
        let r = (a * a + b * b).sqrt();
        let t = ((r + a.abs()) * S::splat(0.5)).sqrt();
        let positive = t.gt(S::zero());
        // The guard avoids 0/0: at zero the quotient is 0/1.
        let quotient = b / S::select(positive, t + t, S::one());
        let left = a.lt(S::zero());
        Self::new(S::select(left, quotient.abs(), t), S::select(left, S::select(b.lt(S::zero()), -t, t), quotient))
    }

    #[inline(always)]
    fn recip(self) -> Self {
        let inverse = (self.re * self.re + self.im * self.im).recip();
        Self::new(self.re * inverse, -self.im * inverse)
    }

    /// ln(a + ib) = ln a + ½ ln(1 + t²) + i atan t with t = b/a, by series in t.
    #[inline(always)]
    fn ln(self) -> Self {
        let t = self.im / self.re;
        let t2 = t * t;
        let log1p_half = t2 * (S::splat(0.5) - t2 * S::splat(0.25));
        let arctangent = t * (S::one() - t2 * (S::splat(1.0 / 3.0) - t2 * S::splat(0.2)));
        let defined = self.re.gt(S::zero());
        Self::new(self.re.ln() + log1p_half, S::select(defined, arctangent, S::splat(f64::NAN)))
    }

    /// exp(a + ib) = eᵃ (cos b + i sin b), by series in b.
    #[inline(always)]
    fn exp(self) -> Self {
        let magnitude = self.re.exp();
        let b = self.im;
        let b2 = b * b;
        let cosine = S::one() - b2 * (S::splat(0.5) - b2 * S::splat(1.0 / 24.0));
        let sine = b * (S::one() - b2 * (S::splat(1.0 / 6.0) - b2 * S::splat(1.0 / 120.0)));
        Self::new(magnitude * cosine, magnitude * sine)
    }

    #[inline(always)]
    fn binary_magnitude(self) -> Self {
        Self::constant(self.re.binary_magnitude())
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self::select(self.re.lt(S::zero()), -self, self)
    }

    #[inline(always)]
    fn lt(self, o: Self) -> S::Mask {
        self.re.lt(o.re)
    }

    #[inline(always)]
    fn le(self, o: Self) -> S::Mask {
        self.re.le(o.re)
    }

    #[inline(always)]
    fn select(mask: S::Mask, if_true: Self, if_false: Self) -> Self {
        Self::new(S::select(mask, if_true.re, if_false.re), S::select(mask, if_true.im, if_false.im))
    }

    #[inline(always)]
    fn any(mask: S::Mask) -> bool {
        S::any(mask)
    }

    #[inline(always)]
    fn all(mask: S::Mask) -> bool {
        S::all(mask)
    }
}

impl<S: Scalar> Mat3<ComplexStep<S>> {
    /// `value + i h direction`: a matrix that moves with velocity `direction`.
    #[inline(always)]
    pub fn moving(value: &Mat3<S>, direction: &Mat3<S>) -> Self {
        let mut out = Self::zero();
        for i in 0..3 {
            for j in 0..3 {
                out.rows[i][j] = ComplexStep::moving(value.rows[i][j], direction.rows[i][j]);
            }
        }
        out
    }

    /// The derivative carried by a result.
    #[inline(always)]
    pub fn derivative(&self) -> Mat3<S> {
        let mut out = Mat3::zero();
        for i in 0..3 {
            for j in 0..3 {
                out.rows[i][j] = self.rows[i][j].derivative();
            }
        }
        out
    }
}

/// f′(x).
#[inline(always)]
pub fn derivative<S: Scalar>(f: impl Fn(ComplexStep<S>) -> ComplexStep<S>, x: S) -> S {
    f(ComplexStep::moving(x, S::one())).derivative()
}

/// f″(x), from one evaluation with two imaginary units.
#[inline(always)]
pub fn second_derivative<S: Scalar>(f: impl Fn(ComplexStep<ComplexStep<S>>) -> ComplexStep<ComplexStep<S>>, x: S) -> S {
    f(ComplexStep::moving(ComplexStep::moving(x, S::one()), ComplexStep::one())).derivative().derivative()
}

/// d/dt f(F + t dF) at t = 0, for a scalar function of a matrix.
#[inline(always)]
pub fn directional_derivative<S: Scalar>(
    f: impl Fn(&Mat3<ComplexStep<S>>) -> ComplexStep<S>,
    matrix: &Mat3<S>,
    direction: &Mat3<S>,
) -> S {
    f(&Mat3::moving(matrix, direction)).derivative()
}

/// d/dt f(F + t dF) at t = 0, for a matrix function of a matrix.
#[inline(always)]
pub fn directional_derivative_matrix<S: Scalar>(
    f: impl Fn(&Mat3<ComplexStep<S>>) -> Mat3<ComplexStep<S>>,
    matrix: &Mat3<S>,
    direction: &Mat3<S>,
) -> Mat3<S> {
    f(&Mat3::moving(matrix, direction)).derivative()
}

/// The gradient ∂f/∂F, one evaluation per entry.
#[inline(always)]
pub fn gradient<S: Scalar>(f: impl Fn(&Mat3<ComplexStep<S>>) -> ComplexStep<S>, matrix: &Mat3<S>) -> Mat3<S> {
    let mut out = Mat3::zero();
    for i in 0..3 {
        for j in 0..3 {
            let mut direction = Mat3::zero();
            direction.rows[i][j] = S::one();
            out.rows[i][j] = directional_derivative(&f, matrix, &direction);
        }
    }
    out
}

/// ∂²/∂s∂t f(F + s A + t B) at s = t = 0, for a scalar function of a matrix.
#[inline(always)]
pub fn mixed_derivative<S: Scalar>(
    f: impl Fn(&Mat3<ComplexStep<ComplexStep<S>>>) -> ComplexStep<ComplexStep<S>>,
    matrix: &Mat3<S>,
    a: &Mat3<S>,
    b: &Mat3<S>,
) -> S {
    let inner = Mat3::moving(matrix, a);
    let outer = Mat3::moving(b, &Mat3::zero());
    f(&Mat3::moving(&inner, &outer)).derivative().derivative()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Bicomplex = ComplexStep<ComplexStep<f64>>;

    /// f(x) = eˣ/(x⁴ + x² + 1), the test function of Luo 2020.
    fn f<S: Scalar>(x: S) -> S {
        let x2 = x * x;
        x.exp() / (x2 * x2 + x2 + S::one())
    }

    /// Closed forms of f′(4) and f″(4): with g = x⁴ + x² + 1 = 273, g′ = 264, g″ = 194,
    /// f′ = f (1 − g′/g) and f″ = f ((1 − g′/g)² − g″/g + (g′/g)²).
    fn exact() -> (f64, f64) {
        let value = 4.0_f64.exp() / 273.0;
        let (p, q) = (264.0 / 273.0, 194.0 / 273.0);
        (value * (9.0 / 273.0), value * ((1.0 - 2.0 * p) + 2.0 * p * p - q))
    }

    fn relative_error(value: f64, exact: f64) -> f64 {
        ((value - exact) / exact).abs()
    }

    #[test]
    fn first_derivative_is_exact_for_every_small_step() {
        let (first, _) = exact();
        for exponent in 9..=100 {
            let h = 10.0_f64.powi(-exponent);
            let value = f(ComplexStep::new(4.0, h)).im / h;
            // f′ is 1/30 of the two terms it is the difference of: 30 times a few roundings is about 1e-14.
            assert!(relative_error(value, first) <= 5e-14, "h = {h:e}: {:e}", relative_error(value, first));
        }
        assert!(relative_error(derivative(f, 4.0), first) <= 5e-14);
    }

    #[test]
    fn forward_differences_never_reach_ten_digits() {
        let (first, _) = exact();
        let best = (2..=127)
            .map(|k| 2.0_f64.powi(-k))
            .map(|h| relative_error((f(4.0 + h) - f(4.0_f64)) / h, first))
            .fold(f64::INFINITY, f64::min);
        assert!(best > 1e-10, "{best:e}");
        // Below 2⁻⁵¹ the step is lost in 4 + h: the difference is zero, the error 100 %.
        let h = 2.0_f64.powi(-60);
        assert_eq!(f(4.0 + h) - f(4.0_f64), 0.0);
    }

    #[test]
    fn second_derivative_is_exact_for_every_small_step() {
        let (_, second) = exact();
        for exponent in 9..=140 {
            let h = 10.0_f64.powi(-exponent);
            let x = Bicomplex::new(ComplexStep::new(4.0, h), ComplexStep::new(h, 0.0));
            let value = f(x).im.im / h / h;
            assert!(relative_error(value, second) <= 1e-14, "h = {h:e}: {:e}", relative_error(value, second));
        }
        assert!(relative_error(second_derivative(f, 4.0), second) <= 1e-14);
    }

    const X: Mat3 = Mat3::new([[2.1, -0.3, 0.7], [0.4, 1.9, -0.6], [-0.2, 0.8, 2.6]]);

    /// d(X⁻¹) = −X⁻¹EX⁻¹ and d²(X⁻¹) = 2X⁻¹EX⁻¹EX⁻¹ for the direction E = e₂e₂ᵀ.
    #[test]
    fn derivatives_of_the_inverse_match_the_closed_forms() {
        let mut e = Mat3::zero();
        e.rows[1][1] = 1.0;
        let inverse = X.inverse();
        let first = -(inverse * e * inverse);
        let second = (inverse * e * inverse * e * inverse) * 2.0;
        let by_step = directional_derivative_matrix(|m| m.inverse(), &X, &e);
        assert!((by_step - first).norm() <= 1e-12 * first.norm());
        for i in 0..3 {
            for j in 0..3 {
                let value = mixed_derivative(|m| m.inverse().rows[i][j], &X, &e, &e);
                assert!((value - second.rows[i][j]).abs() <= 1e-12 * second.norm());
            }
        }
    }

    /// Cauchy–Riemann form: X + ihE becomes the real 6×6 matrix \[\[X, −hE\], \[hE, X\]\], and Im of the inverse is the
    /// lower-left block of its inverse. A real routine computes its own derivative.
    #[test]
    fn cauchy_riemann_form_of_the_inverse_gives_the_same_derivative() {
        let mut real = [[0.0; 12]; 6];
        for i in 0..3 {
            for j in 0..3 {
                real[i][j] = X.rows[i][j];
                real[i + 3][j + 3] = X.rows[i][j];
            }
        }
        real[1][4] = -STEP;
        real[4][1] = STEP;
        for i in 0..6 {
            real[i][6 + i] = 1.0;
        }
        // Gauss–Jordan; the matrix is diagonally dominant, so pivots are safe.
        for k in 0..6 {
            let pivot = real[k][k];
            real[k].iter_mut().for_each(|entry| *entry /= pivot);
            let pivot_row = real[k];
            for i in (0..6).filter(|&i| i != k) {
                let factor = real[i][k];
                for j in 0..12 {
                    real[i][j] -= factor * pivot_row[j];
                }
            }
        }
        let mut e = Mat3::zero();
        e.rows[1][1] = 1.0;
        let exact = -(X.inverse() * e * X.inverse());
        for i in 0..3 {
            for j in 0..3 {
                assert!((real[3 + i][6 + j] / STEP - exact.rows[i][j]).abs() <= 1e-12 * exact.norm());
            }
        }
    }

    /// g(x) = ln²(1 − √((x−1)²)) = ln²(1 − |x − 1|) at x = 1, where dual numbers divide zero by zero: g′ = 0, g″ = 2.
    #[test]
    fn removable_singularity_gives_finite_derivatives() {
        fn g<S: Scalar>(x: S) -> S {
            let distance = (x - S::one()).square().sqrt();
            (S::one() - distance).ln().square()
        }
        // The remainder is O(h²) = 1e-60.
        assert!(derivative(g, 1.0).abs() <= 1e-50);
        let second = second_derivative(g, 1.0);
        assert!((second - 2.0).abs() <= 1e-14, "{second}");
    }

    #[test]
    fn elementary_functions_carry_their_derivatives() {
        for x in [0.03, 0.7, 1.0, 2.5, 40.0] {
            assert!(relative_error(derivative(|z| z.ln(), x), 1.0 / x) < 1e-15);
            assert!(relative_error(derivative(|z| z.exp(), x), x.exp()) < 1e-15);
            assert!(relative_error(derivative(|z| z.sqrt(), x), 0.5 / x.sqrt()) < 1e-15);
            assert!(relative_error(derivative(|z| z.rsqrt(), x), -0.5 / (x * x.sqrt())) < 2e-15);
            assert!(relative_error(derivative(|z| z.recip(), x), -1.0 / (x * x)) < 1e-15);
            assert!(relative_error(second_derivative(|z| z.ln(), x), -1.0 / (x * x)) < 1e-15);
            assert!(relative_error(second_derivative(|z| z.sqrt(), x), -0.25 / (x * x.sqrt())) < 2e-15);
            assert!(relative_error(second_derivative(|z| z.exp(), x), x.exp()) < 1e-15);
            assert!(relative_error(derivative(|z| z.powi(-3), x), -3.0 * x.powi(-4)) < 3e-15);
        }
        assert_eq!(derivative(|z| z.abs(), -2.0), -1.0);
        assert_eq!(derivative(|z| z.max(ComplexStep::splat(1.0)), 3.0), 1.0);
        assert_eq!(derivative(|z| z.min(ComplexStep::splat(1.0)), 3.0), 0.0);
    }

    #[test]
    fn logarithm_of_a_negative_number_is_not_a_derivative() {
        assert!(derivative(|z| z.ln(), -0.5_f64).is_nan());
    }

    /// ∂det/∂F is the cofactor matrix; the Hessian in directions A, B is (∂cof : A) : B.
    #[test]
    fn gradient_of_the_determinant_is_the_cofactor() {
        let by_step = gradient(|m| m.determinant(), &X);
        assert!((by_step - X.cofactor()).norm() < 1e-14);
        let (a, b) = (Mat3::new([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [0.0, 1.0, 1.0]]), X.transpose());
        let mixed = mixed_derivative(|m| m.determinant(), &X, &a, &b);
        let through_cofactor = directional_derivative_matrix(|m| m.cofactor(), &X, &a).double_dot(&b);
        assert!(relative_error(mixed, through_cofactor) < 1e-14);
    }
}
