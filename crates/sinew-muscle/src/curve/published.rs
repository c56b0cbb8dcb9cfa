//! Published curves with formulas, with their slopes and integrals in closed form.

use std::f64::consts::PI;

use sinew_math::Scalar;

use super::{CurveKind, CurveSample};

/// Active force over length at twelve points (CHE-09). \[Chen92\] cites \[Delp90\] for them without printing them. The
/// nearly coincident points at the ends flatten the spline there.
pub const DELP_ACTIVE_POINTS: [[f64; 2]; 12] = [
    [0.401, 0.0],
    [0.402, 0.0],
    [0.4035, 0.0],
    [0.52725, 0.226667],
    [0.62875, 0.636667],
    [0.71875, 0.856667],
    [0.86125, 0.95],
    [1.045, 0.993333],
    [1.2175, 0.77],
    [1.43875, 0.246667],
    [1.61875, 0.0],
    [1.62, 0.0],
];

/// Scale and rate of the exponential toe of passive force, and the excess of stretch where its tangent takes over
/// (TER-35).
const TOE_SCALE: f64 = 0.05;
const TOE_RATE: f64 = 6.6;
const TOE_END: f64 = 0.4;

/// Height, steepness and shift of the arctangents of CHE-12.
const VELOCITY_HEIGHT: f64 = 1.65 / PI;
const VELOCITY_RATE: f64 = 3.1;
const VELOCITY_SHIFT: f64 = 0.32774;
/// Their angle at rest, arctan(3.1 · 0.32774), and angle and speed where they reach zero.
const ANGLE_AT_REST: f64 = 0.793_331_552_312_106_7;
const ANGLE_OF_FASTEST: f64 = ANGLE_AT_REST - 1.0 / VELOCITY_HEIGHT;
const FASTEST: f64 = -0.978_611_260_560_415;

/// Slope and depth of the straight part of the tendon's curve (CHE-11), and the parabola that meets it smoothly.
const TENDON_SLOPE: f64 = 37.5;
const TENDON_DEPTH: f64 = 0.2375;
const TENDON_TOE_END: f64 = 2.0 * TENDON_DEPTH / TENDON_SLOPE;
const TENDON_TOE_FACTOR: f64 = TENDON_SLOPE * TENDON_SLOPE / (4.0 * TENDON_DEPTH);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    ActiveTeran,
    PassiveTeran,
    ActiveBlemker,
    PassiveBlemker,
    PassiveChen,
    VelocityChen,
    TendonZajac,
}

impl Formula {
    /// Value, slope and integral, in plain numbers or in lanes, with the same bits.
    #[inline(always)]
    pub fn at<S: Scalar>(self, x: S) -> CurveSample<S> {
        let e = x - S::one();
        match self {
            Formula::ActiveTeran => active_teran(e),
            Formula::PassiveTeran => exponential_toe(e, TOE_RATE),
            Formula::ActiveBlemker => active_blemker(e),
            Formula::PassiveBlemker => exponential_toe(e, 0.0),
            Formula::PassiveChen => passive_chen(e),
            Formula::VelocityChen => velocity_chen(x),
            Formula::TendonZajac => tendon_zajac(x),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Formula::ActiveTeran | Formula::PassiveTeran => "Teran 2005, variant A",
            Formula::ActiveBlemker | Formula::PassiveBlemker => "Blemker 2005",
            Formula::PassiveChen | Formula::VelocityChen => "Chen 1992",
            Formula::TendonZajac => "Zajac 1989, closed form",
        }
    }

    pub fn kind(self) -> CurveKind {
        match self {
            Formula::ActiveTeran | Formula::ActiveBlemker => CurveKind::Active,
            Formula::PassiveTeran | Formula::PassiveBlemker | Formula::PassiveChen => CurveKind::Passive,
            Formula::VelocityChen => CurveKind::Velocity,
            Formula::TendonZajac => CurveKind::Tendon,
        }
    }

    pub fn range(self) -> [f64; 2] {
        match self.kind() {
            CurveKind::Active => [0.3, 1.7],
            CurveKind::Passive => [0.8, 1.6],
            CurveKind::Velocity => [-1.2, 1.2],
            CurveKind::Tendon => [-0.01, 0.06],
        }
    }
}

/// `e` is the stretch minus one; the curve is even in it, so its integral from 0 is odd about half the area, 1/3.
#[inline(always)]
fn active_teran<S: Scalar>(e: S) -> CurveSample<S> {
    let third = S::splat(1.0 / 3.0);
    let (side, distance) = side_and_distance(e);
    let square = e * e;
    let near = CurveSample {
        value: S::one() - S::splat(25.0 / 6.0) * square,
        slope: S::splat(-25.0 / 3.0) * e,
        integral: third + e * (S::one() - S::splat(25.0 / 18.0) * square),
    };
    // Zero beyond 0.6.
    let rest = (S::splat(0.6) - distance).max(S::zero());
    let far = CurveSample {
        value: S::splat(25.0 / 3.0) * rest * rest,
        slope: -side * S::splat(50.0 / 3.0) * rest,
        integral: third + side * (third - S::splat(25.0 / 9.0) * rest * rest * rest),
    };
    CurveSample::select(distance.lt(S::splat(0.4)), near, far)
}

/// Like the curve above: half the area is 0.024 + 0.4 − 4/3 · 0.064.
#[inline(always)]
fn active_blemker<S: Scalar>(e: S) -> CurveSample<S> {
    let half_area = S::splat(0.024 + 0.4 - 4.0 / 3.0 * 0.064);
    let (side, distance) = side_and_distance(e);
    let square = e * e;
    let near = CurveSample {
        value: S::one() - S::splat(4.0) * square,
        slope: S::splat(-8.0) * e,
        integral: half_area + e * (S::one() - S::splat(4.0 / 3.0) * square),
    };
    let rest = (S::splat(0.6) - distance).max(S::zero());
    let far = CurveSample {
        value: S::splat(9.0) * rest * rest,
        slope: -side * S::splat(18.0) * rest,
        integral: half_area + side * (half_area - S::splat(3.0) * rest * rest * rest),
    };
    CurveSample::select(distance.lt(S::splat(0.4)), near, far)
}

#[inline(always)]
fn side_and_distance<S: Scalar>(e: S) -> (S, S) {
    (S::select(e.lt(S::zero()), S::splat(-1.0), S::one()), e.abs())
}

/// 0.05 (exp(6.6 e) − 1 − c e) up to e = 0.4, its tangent beyond; c = 6.6 makes the slope at zero vanish.
#[inline(always)]
fn exponential_toe<S: Scalar>(e: S, c: f64) -> CurveSample<S> {
    // Fibers of a shortened muscle are slack in all lanes: nothing to compute.
    if !S::any(e.gt(S::zero())) {
        return CurveSample::zero();
    }
    let (scale, rate, c) = (S::splat(TOE_SCALE), S::splat(TOE_RATE), S::splat(c));
    let within = e.max(S::zero()).min(S::splat(TOE_END));
    let growth = (rate * within).exp() - S::one();
    let toe = CurveSample {
        value: (scale * (growth - c * within)).max(S::zero()),
        slope: scale * (rate * (growth + S::one()) - c),
        integral: scale * (growth / rate - within - S::splat(0.5) * c * within * within),
    };
    let sample = toe.along_tangent((e - S::splat(TOE_END)).max(S::zero()));
    CurveSample::select(e.gt(S::zero()), sample, CurveSample::zero())
}

#[inline(always)]
fn passive_chen<S: Scalar>(e: S) -> CurveSample<S> {
    let e = e.max(S::zero());
    CurveSample { value: S::splat(4.0) * e * e, slope: S::splat(8.0) * e, integral: S::splat(4.0 / 3.0) * e * e * e }
}

#[inline(always)]
fn velocity_chen<S: Scalar>(v: S) -> CurveSample<S> {
    let (height, shift) = (S::splat(VELOCITY_HEIGHT), S::splat(VELOCITY_SHIFT));
    let w = S::splat(VELOCITY_RATE) * (v + shift);
    let angle = w.atan();
    let value = height * (angle - S::splat(ANGLE_AT_REST)) + S::one();
    let pulls = value.gt(S::zero());
    let slope = S::splat(VELOCITY_HEIGHT * VELOCITY_RATE) / (S::one() + w * w);
    // Below the zero of the curve, the integral is constant.
    let (u, angle) = (S::select(pulls, v, S::splat(FASTEST)), S::select(pulls, angle, S::splat(ANGLE_OF_FASTEST)));
    let arctangents = arctangent_integral(u + shift, angle)
        - arctangent_integral(shift, S::splat(ANGLE_AT_REST))
        - u * S::splat(ANGLE_AT_REST);
    CurveSample {
        value: value.max(S::zero()),
        slope: S::select(pulls, slope, S::zero()),
        integral: height * arctangents + u,
    }
}

/// ∫ arctan(r u) du = u arctan(r u) − ½ ln(1 + (r u)²) / r, given the arctangent.
#[inline(always)]
fn arctangent_integral<S: Scalar>(u: S, angle: S) -> S {
    let rate = S::splat(VELOCITY_RATE);
    let w = rate * u;
    // Beyond 1e9 one vanishes beside w², and beyond 1e154 w² is infinite.
    let half_logarithm =
        S::select(w.abs().lt(S::splat(1e9)), S::splat(0.5) * (S::one() + w * w).ln(), u.abs().ln() + rate.ln());
    u * angle - half_logarithm / rate
}

#[inline(always)]
fn tendon_zajac<S: Scalar>(strain: S) -> CurveSample<S> {
    let factor = S::splat(TENDON_TOE_FACTOR);
    let within = strain.max(S::zero()).min(S::splat(TENDON_TOE_END));
    let toe = CurveSample {
        value: factor * within * within,
        slope: (factor + factor) * within,
        integral: S::splat(TENDON_TOE_FACTOR / 3.0) * within * within * within,
    };
    toe.along_tangent((strain - S::splat(TENDON_TOE_END)).max(S::zero()))
}

impl<S: Scalar> CurveSample<S> {
    #[inline(always)]
    fn zero() -> Self {
        Self { value: S::zero(), slope: S::zero(), integral: S::zero() }
    }

    #[inline(always)]
    fn select(mask: S::Mask, if_true: Self, if_false: Self) -> Self {
        Self {
            value: S::select(mask, if_true.value, if_false.value),
            slope: S::select(mask, if_true.slope, if_false.slope),
            integral: S::select(mask, if_true.integral, if_false.integral),
        }
    }

    /// Continues along the tangent by a distance.
    #[inline(always)]
    fn along_tangent(self, distance: S) -> Self {
        Self {
            value: self.value + self.slope * distance,
            slope: self.slope,
            integral: self.integral + distance * (self.value + S::splat(0.5) * self.slope * distance),
        }
    }
}
