//! Curves through points: cubics between them, straight or level beyond them, never below zero.

use super::{CurveKind, CurveSample};

/// $`y = c_0 + c_1 t + c_2 t^2 + c_3 t^3`$ with $`t = x - `$ `anchor`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cubic {
    anchor: f64,
    coefficients: [f64; 4],
    /// Constant added to the primitive that vanishes at the anchor, to make it the integral from the curve's origin.
    integral_at_anchor: f64,
}

impl Cubic {
    fn new(anchor: f64, coefficients: [f64; 4]) -> Cubic {
        Cubic { anchor, coefficients, integral_at_anchor: 0.0 }
    }

    /// The cubic with given values and slopes at both ends of an interval.
    fn hermite([x0, y0]: [f64; 2], [x1, y1]: [f64; 2], slope0: f64, slope1: f64) -> Cubic {
        let h = x1 - x0;
        let secant = (y1 - y0) / h;
        Cubic::new(
            x0,
            [y0, slope0, (3.0 * secant - 2.0 * slope0 - slope1) / h, (slope0 + slope1 - 2.0 * secant) / (h * h)],
        )
    }

    #[inline]
    fn at(&self, x: f64) -> CurveSample {
        let [c0, c1, c2, c3] = self.coefficients;
        let t = x - self.anchor;
        CurveSample {
            value: c0 + t * (c1 + t * (c2 + t * c3)),
            slope: c1 + t * (2.0 * c2 + 3.0 * c3 * t),
            integral: self.integral_at_anchor + t * (c0 + t * (c1 / 2.0 + t * (c2 / 3.0 + t * c3 / 4.0))),
        }
    }

    /// Stationary points: roots of the quadratic slope.
    fn stationary(&self) -> [f64; 2] {
        let [_, c1, c2, c3] = self.coefficients;
        let root = (c2 * c2 - 3.0 * c1 * c3).sqrt();
        // The sum of terms of equal sign does not cancel; the other root follows from the product of both.
        let sum = -(c2 + root.copysign(c2));
        [sum / (3.0 * c3), c1 / sum].map(|t| self.anchor + t)
    }
}

/// Fraction of its last interval within which a constant continuation levels off: short, so that it stays near its last
/// point, and long enough for smooth slopes.
const LEVELLING: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub name: String,
    pub kind: CurveKind,
    pub range: [f64; 2],
    /// Start of each piece; the first at −∞.
    starts: Vec<f64>,
    pieces: Vec<Cubic>,
}

impl Table {
    pub fn natural(points: &[[f64; 2]], kind: CurveKind, name: String) -> Table {
        // A curve that is zero beyond some point reaches it level, instead of overshooting around the zeros.
        let count = points.len();
        let is_above = |[_, y]: &[f64; 2]| *y > 0.0 || !kind.is_held_beyond_ends();
        let first = points.iter().position(is_above).unwrap_or(count - 1).saturating_sub(1).min(count - 2);
        let last = points.iter().rposition(is_above).map_or(first + 1, |last| (last + 1).clamp(first + 1, count - 1));
        let end = |point: [f64; 2]| if is_above(&point) { End::Natural } else { End::Slope(0.0) };
        let mut slopes = vec![0.0; count];
        let ends = [end(points[first]), end(points[last])];
        slopes[first..=last].copy_from_slice(&spline_slopes(&points[first..=last], ends));
        Table::with_slopes(points, &slopes, kind, name)
    }

    pub fn shape_preserving(points: &[[f64; 2]], kind: CurveKind, name: String) -> Table {
        let last = points.len() - 1;
        let ends = [one_sided_slope(points, 0), one_sided_slope(points, last)].map(End::Slope);
        let mut slopes = spline_slopes(points, ends);
        limit_slopes(points, &mut slopes);
        Table::with_slopes(points, &slopes, kind, name)
    }

    fn with_slopes(points: &[[f64; 2]], slopes: &[f64], kind: CurveKind, name: String) -> Table {
        let last = points.len() - 1;
        let range = [points[0][0], points[last][0]];
        let mut table = Table { name, kind, range, starts: Vec::new(), pieces: Vec::new() };
        table.push_tail(kind, points[0], slopes[0], points[1][0] - points[0][0], Side::Left);
        for i in 0..last {
            table.push_above_zero(Cubic::hermite(points[i], points[i + 1], slopes[i], slopes[i + 1]), points[i + 1][0]);
        }
        table.push_tail(kind, points[last], slopes[last], points[last][0] - points[last - 1][0], Side::Right);
        table.integrate_from(kind.origin());
        table
    }

    pub fn named(&self, name: &str) -> Table {
        Table { name: name.into(), ..self.clone() }
    }

    #[inline]
    pub fn at(&self, x: f64) -> CurveSample {
        let piece = self.starts.partition_point(|&start| start <= x).saturating_sub(1);
        let sample = self.pieces[piece].at(x);
        // Rounding may leave −1e-17 at a zero.
        CurveSample { value: sample.value.max(0.0), ..sample }
    }

    fn push(&mut self, start: f64, piece: Cubic) {
        self.starts.push(start);
        self.pieces.push(piece);
    }

    /// Adds a cubic from its anchor to `end`, clipped at zero. It is nonnegative at both ends.
    fn push_above_zero(&mut self, cubic: Cubic, end: f64) {
        let start = cubic.anchor;
        self.push(start, cubic);
        let lowest = cubic.stationary().into_iter().filter(|&x| x > start && x < end && cubic.at(x).value < 0.0);
        if let Some(lowest) = lowest.min_by(|&a, &b| cubic.at(a).value.total_cmp(&cubic.at(b).value)) {
            let leaves = crossing(&cubic, start, lowest);
            let returns = crossing(&cubic, end, lowest);
            if leaves > start {
                self.push(leaves, Cubic::new(leaves, [0.0; 4]));
            } else if let Some(piece) = self.pieces.last_mut() {
                *piece = Cubic::new(start, [0.0; 4]);
            }
            if returns < end {
                self.push(returns, cubic);
            }
        }
    }

    /// Continuation beyond an end: leveling off, or a straight line down to zero at most. `interval` is the length of
    /// the last one.
    fn push_tail(&mut self, kind: CurveKind, [x, y]: [f64; 2], slope: f64, interval: f64, side: Side) {
        let outward = match side {
            Side::Left => -1.0,
            Side::Right => 1.0,
        };
        let falls = outward * slope < 0.0;
        let (bend, distance, level) = if slope == 0.0 || falls && y == 0.0 {
            (None, 0.0, y)
        } else if kind.is_held_beyond_ends() {
            // A parabola whose slope vanishes at its far end, `distance` slope / 2 above the end, and not below zero.
            let width = LEVELLING * interval;
            let distance = if falls { width.min(2.0 * y / slope.abs()) } else { width };
            let parabola = Cubic::new(x, [y, slope, -0.5 * outward * slope / distance, 0.0]);
            (Some(parabola), distance, (y + 0.5 * outward * slope * distance).max(0.0))
        } else {
            let line = Cubic::new(x, [y, slope, 0.0, 0.0]);
            (Some(line), if falls { y / slope.abs() } else { f64::INFINITY }, 0.0)
        };
        let far = x + outward * distance;
        let rest = Cubic::new(if far.is_finite() { far } else { x }, [level, 0.0, 0.0, 0.0]);
        match (side, bend) {
            (Side::Left, None) => self.push(f64::NEG_INFINITY, rest),
            (Side::Left, Some(bend)) => {
                if far.is_finite() {
                    self.push(f64::NEG_INFINITY, rest);
                }
                self.push(far, bend);
            }
            (Side::Right, None) => self.push(x, rest),
            (Side::Right, Some(bend)) => {
                self.push(x, bend);
                if far.is_finite() {
                    self.push(far, rest);
                }
            }
        }
    }

    /// Shifts the primitives of the pieces to one continuous primitive that vanishes at `origin`.
    fn integrate_from(&mut self, origin: f64) {
        for i in 1..self.pieces.len() {
            let joint = self.starts[i];
            let gap = self.pieces[i - 1].at(joint).integral - self.pieces[i].at(joint).integral;
            self.pieces[i].integral_at_anchor += gap;
        }
        let before = self.at(origin).integral;
        self.pieces.iter_mut().for_each(|piece| piece.integral_at_anchor -= before);
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Zero crossing of a cubic between a nonnegative and a negative point.
fn crossing(cubic: &Cubic, mut above: f64, mut below: f64) -> f64 {
    // Bisect until no number lies between the two.
    loop {
        let middle = 0.5 * (above + below);
        if middle == above || middle == below {
            return above;
        }
        if cubic.at(middle).value >= 0.0 { above = middle } else { below = middle }
    }
}

#[derive(Clone, Copy)]
enum End {
    /// Zero curvature.
    Natural,
    Slope(f64),
}

/// Slopes of the cubic spline at the points: curvatures agree where two cubics meet,
///
/// ```math
/// \frac{d_{i-1}}{h_{i-1}} + 2 \Bigl( \frac{1}{h_{i-1}} + \frac{1}{h_i} \Bigr) d_i + \frac{d_{i+1}}{h_i}
///    = 3 \Bigl( \frac{s_{i-1}}{h_{i-1}} + \frac{s_i}{h_i} \Bigr)
/// ```
///
/// with intervals $`h`$ and their secants $`s`$; the system is tridiagonal and diagonally dominant.
fn spline_slopes(points: &[[f64; 2]], ends: [End; 2]) -> Vec<f64> {
    let last = points.len() - 1;
    let inverse_width = |i: usize| 1.0 / (points[i + 1][0] - points[i][0]);
    // Row i is [before, diagonal, after, right side].
    let row = |i: usize| {
        let end = |end: End, interval: usize, before: f64, after: f64| match end {
            End::Natural => [before, 2.0, after, 3.0 * secant(points, interval)],
            End::Slope(slope) => [0.0, 1.0, 0.0, slope],
        };
        if i == 0 {
            return end(ends[0], 0, 0.0, 1.0);
        }
        if i == last {
            return end(ends[1], last - 1, 1.0, 0.0);
        }
        let (p, q) = (inverse_width(i - 1), inverse_width(i));
        [p, 2.0 * (p + q), q, 3.0 * (p * secant(points, i - 1) + q * secant(points, i))]
    };
    let mut upper = vec![0.0; last + 1];
    let mut slopes = vec![0.0; last + 1];
    for i in 0..=last {
        let [before, diagonal, after, right] = row(i);
        let (upper_before, slope_before) = if i == 0 { (0.0, 0.0) } else { (upper[i - 1], slopes[i - 1]) };
        let pivot = diagonal - before * upper_before;
        upper[i] = after / pivot;
        slopes[i] = (right - before * slope_before) / pivot;
    }
    for i in (0..last).rev() {
        slopes[i] -= upper[i] * slopes[i + 1];
    }
    slopes
}

fn secant(points: &[[f64; 2]], i: usize) -> f64 {
    (points[i + 1][1] - points[i][1]) / (points[i + 1][0] - points[i][0])
}

/// Slope at an end of the polynomial through the four nearest points, or all if there are fewer: Newton's divided
/// differences.
fn one_sided_slope(points: &[[f64; 2]], end: usize) -> f64 {
    let count = points.len().min(4);
    let near = |k: usize| if end == 0 { points[k] } else { points[end - k] };
    let mut differences = [0.0; 4];
    (0..count).for_each(|k| differences[k] = near(k)[1]);
    let (mut slope, mut product) = (0.0, 1.0);
    for order in 1..count {
        for k in 0..count - order {
            differences[k] = (differences[k + 1] - differences[k]) / (near(k + order)[0] - near(k)[0]);
        }
        slope += differences[0] * product;
        product *= near(0)[0] - near(order)[0];
    }
    slope
}

/// Limits slopes so that cubics are monotone between monotone points: of the sign of both secants, and at most three
/// times the smaller \[Fritsch80\].
///
/// At a peak of the points the slope need only be small, not zero \[Hyman83\]: the true peak lies between points, and
/// zero slopes would lose the fourth order there. At zeros slopes vanish, so that the curve does not go negative.
fn limit_slopes(points: &[[f64; 2]], slopes: &mut [f64]) {
    let last = points.len() - 1;
    for (i, slope) in slopes.iter_mut().enumerate() {
        let before = secant(points, i.max(1) - 1);
        let after = secant(points, i.min(last - 1));
        let most = 3.0 * before.abs().min(after.abs());
        if points[i][1] == 0.0 {
            *slope = 0.0;
        } else if before * after > 0.0 {
            *slope = before.signum() * (before.signum() * *slope).clamp(0.0, most);
        } else {
            *slope = slope.clamp(-most, most);
        }
    }
}
