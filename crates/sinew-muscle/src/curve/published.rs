//! Curves that papers give as formulas, with their slopes and integrals in closed form.

use std::f64::consts::PI;

use super::{CurveKind, CurveSample};

/// Active force over length at twelve points (CHE-09); [Chen92] cites [Delp90] for them without printing them. The near-coincident points at the ends
/// flatten the spline there.
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

/// Scale and rate of the exponential toe of passive force, and the excess of stretch where its tangent takes over (TER-35).
const TOE_SCALE: f64 = 0.05;
const TOE_RATE: f64 = 6.6;
const TOE_END: f64 = 0.4;

/// Height, steepness and shift of the arctangents of CHE-12.
const VELOCITY_HEIGHT: f64 = 1.65 / PI;
const VELOCITY_RATE: f64 = 3.1;
const VELOCITY_SHIFT: f64 = 0.32774;

/// Slope and depth of the straight part of the tendon's curve (CHE-11), and what a smooth parabola before it must be.
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
    #[inline]
    pub fn at(self, x: f64) -> CurveSample {
        match self {
            Formula::ActiveTeran => active_teran(x - 1.0),
            Formula::PassiveTeran => exponential_toe(x - 1.0, TOE_RATE),
            Formula::ActiveBlemker => active_blemker(x - 1.0),
            Formula::PassiveBlemker => exponential_toe(x - 1.0, 0.0),
            Formula::PassiveChen => passive_chen(x - 1.0),
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

/// `e` is the stretch less one; the curve is even in it, so its integral from 0 is odd about half the area, 1/3.
fn active_teran(e: f64) -> CurveSample {
    let (side, distance) = (e.signum(), e.abs());
    if distance < 0.4 {
        let square = e * e;
        CurveSample {
            value: 1.0 - 25.0 / 6.0 * square,
            slope: -25.0 / 3.0 * e,
            integral: 1.0 / 3.0 + e * (1.0 - 25.0 / 18.0 * square),
        }
    } else if distance < 0.6 {
        let rest = 0.6 - distance;
        CurveSample {
            value: 25.0 / 3.0 * rest * rest,
            slope: -side * 50.0 / 3.0 * rest,
            integral: 1.0 / 3.0 + side * (1.0 / 3.0 - 25.0 / 9.0 * rest.powi(3)),
        }
    } else {
        CurveSample { value: 0.0, slope: 0.0, integral: if e > 0.0 { 2.0 / 3.0 } else { 0.0 } }
    }
}

/// As the curve above: half the area is 0.024 + 0.4 − 4/3 · 0.064.
fn active_blemker(e: f64) -> CurveSample {
    const HALF_AREA: f64 = 0.024 + 0.4 - 4.0 / 3.0 * 0.064;
    let (side, distance) = (e.signum(), e.abs());
    if distance < 0.4 {
        let square = e * e;
        CurveSample { value: 1.0 - 4.0 * square, slope: -8.0 * e, integral: HALF_AREA + e * (1.0 - 4.0 / 3.0 * square) }
    } else if distance < 0.6 {
        let rest = 0.6 - distance;
        CurveSample {
            value: 9.0 * rest * rest,
            slope: -side * 18.0 * rest,
            integral: HALF_AREA + side * (HALF_AREA - 3.0 * rest.powi(3)),
        }
    } else {
        CurveSample { value: 0.0, slope: 0.0, integral: if e > 0.0 { 2.0 * HALF_AREA } else { 0.0 } }
    }
}

/// 0.05 (exp(6.6 e) − 1 − c e) up to e = 0.4, its tangent beyond; c = 6.6 takes the slope at zero away.
fn exponential_toe(e: f64, c: f64) -> CurveSample {
    if !(e > 0.0) {
        return CurveSample::default();
    }
    let toe = |e: f64| {
        let growth = (TOE_RATE * e).exp_m1();
        CurveSample {
            value: TOE_SCALE * (growth - c * e),
            slope: TOE_SCALE * (TOE_RATE * (growth + 1.0) - c),
            integral: TOE_SCALE * (growth / TOE_RATE - e - 0.5 * c * e * e),
        }
    };
    if e <= TOE_END { toe(e) } else { along_tangent(toe(TOE_END), e - TOE_END) }
}

fn passive_chen(e: f64) -> CurveSample {
    if !(e > 0.0) {
        return CurveSample::default();
    }
    CurveSample { value: 4.0 * e * e, slope: 8.0 * e, integral: 4.0 / 3.0 * e * e * e }
}

fn velocity_chen(v: f64) -> CurveSample {
    let angle_at_rest = (VELOCITY_RATE * VELOCITY_SHIFT).atan();
    let w = VELOCITY_RATE * (v + VELOCITY_SHIFT);
    let angle = w.atan();
    let value = VELOCITY_HEIGHT * (angle - angle_at_rest) + 1.0;
    let integral = |v: f64, angle: f64| {
        let arctangents = arctangent_integral(v + VELOCITY_SHIFT, angle)
            - arctangent_integral(VELOCITY_SHIFT, angle_at_rest)
            - v * angle_at_rest;
        VELOCITY_HEIGHT * arctangents + v
    };
    if value <= 0.0 {
        // Nothing is added to the integral from where the curve reaches zero.
        let angle = angle_at_rest - 1.0 / VELOCITY_HEIGHT;
        let fastest = angle.tan() / VELOCITY_RATE - VELOCITY_SHIFT;
        return CurveSample { value: 0.0, slope: 0.0, integral: integral(fastest, angle) };
    }
    let slope = VELOCITY_HEIGHT * VELOCITY_RATE / (1.0 + w * w);
    CurveSample { value, slope, integral: integral(v, angle) }
}

/// ∫ arctan(r u) du = u arctan(r u) − ½ ln(1 + (r u)²) / r, given the arctangent.
fn arctangent_integral(u: f64, angle: f64) -> f64 {
    let w = VELOCITY_RATE * u;
    // Beyond 1e9 one vanishes beside w², and beyond 1e154 w² is infinite.
    let half_logarithm = if w.abs() < 1e9 { 0.5 * (1.0 + w * w).ln() } else { u.abs().ln() + VELOCITY_RATE.ln() };
    u * angle - half_logarithm / VELOCITY_RATE
}

fn tendon_zajac(strain: f64) -> CurveSample {
    if !(strain > 0.0) {
        return CurveSample::default();
    }
    let toe = |strain: f64| CurveSample {
        value: TENDON_TOE_FACTOR * strain * strain,
        slope: 2.0 * TENDON_TOE_FACTOR * strain,
        integral: TENDON_TOE_FACTOR / 3.0 * strain.powi(3),
    };
    if strain <= TENDON_TOE_END { toe(strain) } else { along_tangent(toe(TENDON_TOE_END), strain - TENDON_TOE_END) }
}

/// The straight line that goes on from a sample.
fn along_tangent(from: CurveSample, distance: f64) -> CurveSample {
    CurveSample {
        value: from.value + from.slope * distance,
        slope: from.slope,
        integral: from.integral + distance * (from.value + 0.5 * from.slope * distance),
    }
}
