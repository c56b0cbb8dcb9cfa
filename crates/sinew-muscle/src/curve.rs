//! Curves of force over one variable, with slope and integral: $`y(x)`$, $`y'(x)`$, $`\int y\,dx`$.

mod published;
mod table;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use published::Formula;
use sinew_math::LaneScalar;
use table::Table;

/// Largest number of f64 lanes of any instruction set.
const MAX_LANES: usize = 8;

/// A curve's value, slope and integral at one abscissa.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CurveSample<S = f64> {
    /// Force, in units of the maximum isometric force (for force over velocity: the factor of the active force); never
    /// negative.
    pub value: S,
    /// Derivative of the value; at a kink one of the two one-sided slopes, never a value in between.
    pub slope: S,
    /// Integral of the value from the origin of the curve's kind ([`CurveKind::origin`]).
    pub integral: S,
}

/// The quantity of a curve: determines the origin of its integral and its continuation beyond its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveKind {
    /// Active force over fiber length; constant beyond its ends (zero if the end is zero).
    Active,
    /// Passive force over fiber length; continues along straight lines, down to zero at most.
    Passive,
    /// Factor of the active force over velocity, negative for shortening; constant beyond its ends.
    Velocity,
    /// Tendon force over strain; continues along straight lines, down to zero at most.
    Tendon,
}

impl CurveKind {
    /// Origin of integrals: 0 for active force, so that the integral is the whole work from zero length; 1 for passive
    /// force, which begins at the optimal length; 0 for velocity and for strain.
    pub fn origin(self) -> f64 {
        match self {
            CurveKind::Passive => 1.0,
            CurveKind::Active | CurveKind::Velocity | CurveKind::Tendon => 0.0,
        }
    }

    fn is_held_beyond_ends(self) -> bool {
        matches!(self, CurveKind::Active | CurveKind::Velocity)
    }
}

/// Why points do not form a curve.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// A curve needs at least two points.
    #[error("a curve needs at least two points, and there are {count}")]
    TooFewPoints {
        /// Number of points given.
        count: usize,
    },
    /// Points must be sorted by abscissa, without repetition.
    #[error(
        "point {index} has abscissa {after}, which is not above {before} of the point before it; hint: sort the points and drop repeated ones"
    )]
    NotIncreasing {
        /// The later of the two points, counted from 0.
        index: usize,
        /// Abscissa of the point before.
        before: f64,
        /// Abscissa of the point.
        after: f64,
    },
    /// A coordinate is infinite or NaN.
    #[error("point {index} is ({x}, {y}); both must be finite")]
    NotFinite {
        /// The point, counted from 0.
        index: usize,
        /// Its abscissa.
        x: f64,
        /// Its force.
        y: f64,
    },
    /// Fibers and tendons pull; they do not push.
    #[error("point {index} at {x} has the negative force {y}; hint: fibers and tendons only pull, so use 0 there")]
    NegativeForce {
        /// The point, counted from 0.
        index: usize,
        /// Its abscissa.
        x: f64,
        /// Its force.
        y: f64,
    },
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Formula(Formula),
    Table(Arc<Table>),
}

/// A smooth curve of one variable: force over length, velocity or strain.
///
/// The value is never negative, and no finite abscissa gives NaN. Evaluation does not allocate; a clone shares its
/// points. Slopes are continuous, except at the kinks of some published curves: [`Curve::active_blemker`],
/// [`Curve::passive_blemker`] and [`Curve::velocity_chen`] where it reaches zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(Shape);

impl Curve {
    /// Active force over stretch as two parabolas on either side of 1, smooth at ±0.4: TER-35, variant A \[Teran05\].
    ///
    /// ```math
    /// f = 1 - \tfrac{25}{6} e^2 \ (|e| < 0.4), \quad \tfrac{25}{3} (|e| - 0.6)^2 \ (|e| < 0.6), \quad e = l - 1
    /// ```
    pub fn active_teran() -> Curve {
        Curve(Shape::Formula(Formula::ActiveTeran))
    }

    /// Passive force over stretch, exponential without its linear part: TER-35, variant A \[Teran05\].
    ///
    /// ```math
    /// f = 0.05\,(\exp(6.6 e) - 6.6 e - 1), \quad e = l - 1 > 0
    /// ```
    ///
    /// and its tangent from $`l = 1.4`$ on.
    pub fn passive_teran() -> Curve {
        Curve(Shape::Formula(Formula::PassiveTeran))
    }

    /// Active force over stretch of \[Blemker05\]: TER-35, variant B, SIF-019.
    ///
    /// ```math
    /// f = 9 (l - 0.4)^2,\quad 1 - 4 (1 - l)^2,\quad 9 (l - 1.6)^2
    /// ```
    ///
    /// between 0.4, 0.6, 1.4 and 1.6. It has kinks at 0.6 and 1.4, where the slope jumps between 3.6 and 3.2.
    pub fn active_blemker() -> Curve {
        Curve(Shape::Formula(Formula::ActiveBlemker))
    }

    /// Passive force over stretch of \[Blemker05\]: TER-35, variant B, SIF-019.
    ///
    /// ```math
    /// f = 0.05\,(\exp(6.6 (l - 1)) - 1), \quad l > 1
    /// ```
    ///
    /// and its tangent from $`l = 1.4`$ on. It has a kink at 1, where the slope jumps from 0 to 0.33.
    pub fn passive_blemker() -> Curve {
        Curve(Shape::Formula(Formula::PassiveBlemker))
    }

    /// Active force over length: the natural cubic spline through twelve points of \[Delp90\], as \[Chen92\]
    /// interpolates them (CHE-09).
    ///
    /// The zeros crowded at both ends make the spline level there. We implement that intent: the spline begins and ends
    /// level at the innermost zeros, 0.4035 and 1.61875, instead of with slopes of 0.01 and an overshoot of 1e-6 below
    /// zero.
    pub fn active_delp() -> Curve {
        static TABLE: OnceLock<Arc<Table>> = OnceLock::new();
        let build =
            || Arc::new(Table::natural(&published::DELP_ACTIVE_POINTS, CurveKind::Active, "Delp 1990, spline".into()));
        Curve(Shape::Table(TABLE.get_or_init(build).clone()))
    }

    /// Passive force over length of \[Chen92\]: $`f = 4 (l - 1)^2`$ above 1 (CHE-10).
    pub fn passive_chen() -> Curve {
        Curve(Shape::Formula(Formula::PassiveChen))
    }

    /// Factor of the active force over velocity of \[Chen92\] (CHE-12); negative velocities shorten.
    ///
    /// ```math
    /// f = \max\Bigl(0,\,
    ///    1 + \tfrac{1.65}{\pi} \bigl( \arctan 3.1 (v + 0.32774) - \arctan(3.1 \cdot 0.32774) \bigr) \Bigr)
    /// ```
    ///
    /// The arctangents fall below zero at $`v = -0.97861`$; a fiber does not push, so the curve stays at zero from
    /// there, with zero slope.
    pub fn velocity_chen() -> Curve {
        Curve(Shape::Formula(Formula::VelocityChen))
    }

    /// Tendon force over strain: a parabola and its tangent, fitted to the curve of \[Zajac89\] (CHE-11).
    ///
    /// ```math
    /// F = k \varepsilon^2 \ (\varepsilon < \varepsilon_1), \quad
    ///    37.5\,\varepsilon - 0.2375 \ (\varepsilon \ge \varepsilon_1)
    /// ```
    ///
    /// The two meet smoothly for $`k = 37.5^2 / (4 \cdot 0.2375) = 1480.26`$ and
    /// $`\varepsilon_1 = 2 \cdot 0.2375 / 37.5 = 0.012667`$; the usually printed figures, 1480.3 and 0.0127, are
    /// rounded. $`F(0.033) = 1`$.
    pub fn tendon_zajac() -> Curve {
        Curve(Shape::Formula(Formula::TendonZajac))
    }

    /// A curve through points `[abscissa, force]` with increasing abscissae: cubics with the slopes of a spline,
    /// limited so that the curve rises and falls only where the points do \[Fritsch80, Hyman83\].
    ///
    /// For closely spaced points the limits have no effect, and the error falls with the fourth power of the spacing:
    /// about a hundred samples of a smooth curve reproduce it to 1e-5. Zeros stay zeros. Beyond the ends, passive and
    /// tendon forces continue along straight lines. Active forces and velocity factors level off within a tenth of the
    /// last interval, so that slopes are continuous there too, and stay constant.
    pub fn through(points: &[[f64; 2]], kind: CurveKind) -> Result<Curve, CurveError> {
        check(points)?;
        Ok(Curve(Shape::Table(Arc::new(Table::shape_preserving(points, kind, "points".into())))))
    }

    /// The natural cubic spline through points, clipped at zero. Its curvature is continuous, but a spline overshoots
    /// at corners, and it has kinks where it is clipped. A curve that stays zero beyond an end begins level at the last
    /// of its zeros there. Continues beyond the ends like [`Curve::through`].
    pub fn spline_through(points: &[[f64; 2]], kind: CurveKind) -> Result<Curve, CurveError> {
        check(points)?;
        Ok(Curve(Shape::Table(Arc::new(Table::natural(points, kind, "spline through points".into())))))
    }

    /// The same curve with another source name. Curves of formulas keep theirs.
    pub fn named(self, name: &str) -> Curve {
        match self.0 {
            Shape::Table(table) => Curve(Shape::Table(Arc::new(table.named(name)))),
            formula => Curve(formula),
        }
    }

    /// Value, slope and integral.
    pub fn at(&self, x: f64) -> CurveSample {
        match &self.0 {
            Shape::Formula(formula) => formula.at(x),
            Shape::Table(table) => table.at(x),
        }
    }

    /// The same in each lane. `kind` must be that of the curve, so that a kernel compiles only the formulas of that
    /// kind.
    #[inline(always)]
    pub fn in_lanes<S: LaneScalar<Element = f64>>(&self, kind: CurveKind, x: S) -> CurveSample<S> {
        match &self.0 {
            Shape::Formula(formula) => match (kind, formula) {
                (CurveKind::Active, Formula::ActiveTeran) => Formula::ActiveTeran.at(x),
                (CurveKind::Active, Formula::ActiveBlemker) => Formula::ActiveBlemker.at(x),
                (CurveKind::Passive, Formula::PassiveTeran) => Formula::PassiveTeran.at(x),
                (CurveKind::Passive, Formula::PassiveBlemker) => Formula::PassiveBlemker.at(x),
                (CurveKind::Passive, Formula::PassiveChen) => Formula::PassiveChen.at(x),
                (CurveKind::Velocity, Formula::VelocityChen) => Formula::VelocityChen.at(x),
                _ => self.lane_by_lane(x),
            },
            Shape::Table(_) => self.lane_by_lane(x),
        }
    }

    #[inline(always)]
    fn lane_by_lane<S: LaneScalar<Element = f64>>(&self, x: S) -> CurveSample<S> {
        let (mut places, mut values, mut slopes, mut integrals) =
            ([0.0; MAX_LANES], [0.0; MAX_LANES], [0.0; MAX_LANES], [0.0; MAX_LANES]);
        x.store(&mut places[..S::LANES]);
        for lane in 0..S::LANES {
            let sample = self.at(places[lane]);
            (values[lane], slopes[lane], integrals[lane]) = (sample.value, sample.slope, sample.integral);
        }
        CurveSample { value: S::load(&values), slope: S::load(&slopes), integral: S::load(&integrals) }
    }

    /// The value alone.
    #[inline]
    pub fn value(&self, x: f64) -> f64 {
        self.at(x).value
    }

    /// Source of the curve, e.g. "Teran 2005, variant A".
    pub fn name(&self) -> &str {
        match &self.0 {
            Shape::Formula(formula) => formula.name(),
            Shape::Table(table) => &table.name,
        }
    }

    /// The quantity of the curve.
    pub fn kind(&self) -> CurveKind {
        match &self.0 {
            Shape::Formula(formula) => formula.kind(),
            Shape::Table(table) => table.kind,
        }
    }

    /// Abscissae worth plotting. Outside, active forces and velocity factors hardly change, and passive and tendon
    /// forces are zero, straight lines or of no interest.
    pub fn range(&self) -> [f64; 2] {
        match &self.0 {
            Shape::Formula(formula) => formula.range(),
            Shape::Table(table) => table.range,
        }
    }
}

fn check(points: &[[f64; 2]]) -> Result<(), CurveError> {
    if points.len() < 2 {
        return Err(CurveError::TooFewPoints { count: points.len() });
    }
    for (index, &[x, y]) in points.iter().enumerate() {
        if !x.is_finite() || !y.is_finite() {
            return Err(CurveError::NotFinite { index, x, y });
        }
        if y < 0.0 {
            return Err(CurveError::NegativeForce { index, x, y });
        }
        if index > 0 && x <= points[index - 1][0] {
            return Err(CurveError::NotIncreasing { index, before: points[index - 1][0], after: x });
        }
    }
    Ok(())
}
