//! Continuous collision detection by additive advancement: t ← t + (remaining distance) / (speed bound).
//!
//! At time t let n be the unit vector between the closest points. For every unit vector n the distance is at least
//!
//! ```math
//! d(t + \tau) \ge \min_{i, j}\; n \cdot (x_i - y_j) + \tau\, n \cdot (\dot x_i - \dot y_j),
//! ```
//!
//! over the vertices xᵢ of the first primitive and yⱼ of the second, which move on straight lines. The step τ ends
//! where the first of these lines reaches the distance to keep. No cubic root is computed, so rounding cannot miss a
//! collision. The bound by |ẋᵢ| + |ẏⱼ| \[Li21, additive CCD\] is never better; with directions, sliding motion costs
//! one step.

use sinew_math::Vec3;

use super::closest::{edge_edge, point_triangle};

/// The primitives formed by the four vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// The point x₀ and the triangle x₁x₂x₃.
    PointTriangle,
    /// The edges x₀x₁ and x₂x₃.
    EdgeEdge,
}

/// Target above the distance to keep, as a fraction of the initial distance: covers rounding for motions up to 10¹⁰
/// times longer than the distance.
const AIM_ABOVE: f64 = 1e-4;

/// Tolerance above the distance to keep, as a fraction of the initial distance.
const STOP_ABOVE: f64 = 1e-3;

/// Largest number of steps, after which the fraction reached so far is used: only a lever that swings about the closest
/// point comes near.
const MAX_STEPS: usize = 10_000;

/// The largest fraction t in \[0, 1\] of the straight motion `end − start` of the four vertices for which the
/// primitives provably keep at least `keep` (e.g. 0.1) of their initial distance throughout; 1 if the whole motion is
/// free.
///
/// Stops within about a thousandth of the initial distance from the distance to keep. Zero if the primitives touch at
/// the start, and for nonfinite numbers.
pub fn free_fraction(kind: PairKind, start: [Vec3; 4], end: [Vec3; 4], keep: f64) -> f64 {
    // Common motion does not matter; it would only loosen the bounds and add rounding error.
    let mean = |x: [Vec3; 4]| (x[0] + x[1] + x[2] + x[3]) * 0.25;
    let origin = mean(start);
    let start = start.map(|x| x - origin);
    let drift = mean(end) - origin;
    let motion: [Vec3; 4] = std::array::from_fn(|i| end[i] - origin - start[i] - drift);

    let initial = distance(kind, start).0;
    let speed = relative_speed(kind, motion);
    if !(initial > 0.0 && initial.is_finite() && speed.is_finite()) {
        return 0.0;
    }
    let floor = keep * initial;
    if speed == 0.0 || initial - speed >= floor {
        return 1.0;
    }
    advance(kind, start, motion, Distances { initial, floor, speed })
}

/// Distance bounds of the pair \[m\].
struct Distances {
    initial: f64,
    /// Smallest allowed distance.
    floor: f64,
    /// Bound on how much closer the two can come during the whole motion.
    speed: f64,
}

fn advance(kind: PairKind, start: [Vec3; 4], motion: [Vec3; 4], bounds: Distances) -> f64 {
    let aim = bounds.floor + AIM_ABOVE * (bounds.initial - bounds.floor);
    let stop = bounds.floor + STOP_ABOVE * bounds.initial;
    let mut t = 0.0;
    let mut x = start;
    for _ in 0..MAX_STEPS {
        let (d, n) = distance(kind, x);
        // Both bounds are safe; that of the speed is larger only where rounding spoils the direction.
        let step = safe_step(kind, x, motion, n, aim).max((d - aim) / bounds.speed);
        if t + step >= 1.0 {
            return 1.0;
        }
        let next = t + step;
        if !(next > t) {
            return t;
        }
        let x_next = std::array::from_fn(|i| start[i] + motion[i] * next);
        let d_next = distance(kind, x_next).0;
        if d_next < bounds.floor {
            return t;
        }
        if d_next <= stop {
            return next;
        }
        (t, x) = (next, x_next);
    }
    t
}

/// Distance \[m\] and unit vector from the second primitive to the first.
#[inline]
fn distance(kind: PairKind, x: [Vec3; 4]) -> (f64, Vec3) {
    let closest = match kind {
        PairKind::PointTriangle => point_triangle(x),
        PairKind::EdgeEdge => edge_edge(x),
    };
    let distance = closest.distance_squared.sqrt();
    (distance, closest.difference / distance)
}

/// Bound on the approach speed: the fastest vertex of each primitive, added.
fn relative_speed(kind: PairKind, motion: [Vec3; 4]) -> f64 {
    let [a, b, c, d] = motion.map(Vec3::norm_squared);
    let (first, second) = match kind {
        PairKind::PointTriangle => (a, b.max(c).max(d)),
        PairKind::EdgeEdge => (a.max(b), c.max(d)),
    };
    first.sqrt() + second.sqrt()
}

/// Time for which all vertices of the first primitive stay at least `aim` ahead of all of the second along `n`.
#[inline]
fn safe_step(kind: PairKind, x: [Vec3; 4], motion: [Vec3; 4], n: Vec3, aim: f64) -> f64 {
    let place = x.map(|x| n.dot(x));
    let speed = motion.map(|v| n.dot(v));
    let mut step = f64::INFINITY;
    let mut limit = |i: usize, j: usize| {
        let closing = speed[j] - speed[i];
        if closing > 0.0 {
            step = step.min((place[i] - place[j] - aim) / closing);
        }
    };
    match kind {
        PairKind::PointTriangle => [(0, 1), (0, 2), (0, 3)].into_iter().for_each(|(i, j)| limit(i, j)),
        PairKind::EdgeEdge => [(0, 2), (0, 3), (1, 2), (1, 3)].into_iter().for_each(|(i, j)| limit(i, j)),
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proximity::random::Random;

    const TRIANGLE: [Vec3; 3] = [Vec3::new(-1.0, -1.0, 0.0), Vec3::new(2.0, 0.0, 0.0), Vec3::new(-1.0, 2.0, 0.0)];

    fn with_point(p: Vec3) -> [Vec3; 4] {
        [p, TRIANGLE[0], TRIANGLE[1], TRIANGLE[2]]
    }

    /// (1 − keep) d₀ / travel, within the tolerance of the search.
    #[test]
    fn falling_point_stops_before_the_triangle() {
        for (height, travel, keep) in [(1.0, 2.0, 0.1), (1e-3, 5.0, 0.1), (0.5, 0.6, 0.2), (1e-7, 1.0, 0.5)] {
            let fall = |by: f64| with_point(Vec3::new(0.1, 0.2, height - by));
            let t = free_fraction(PairKind::PointTriangle, fall(0.0), fall(travel), keep);
            let expected = (1.0 - keep) * height / travel;
            assert!(t <= expected * (1.0 + 1e-9) && t > 0.998 * expected, "{t} {expected}");
        }
    }

    #[test]
    fn free_ways_are_gone_to_the_end() {
        let start = with_point(Vec3::new(0.0, 0.0, 1e-3));
        let slide = with_point(Vec3::new(90.0, -70.0, 1e-3));
        assert_eq!(free_fraction(PairKind::PointTriangle, start, slide, 0.1), 1.0);
        let rise = with_point(Vec3::new(0.0, 0.0, 9.0));
        assert_eq!(free_fraction(PairKind::PointTriangle, start, rise, 0.1), 1.0);
        assert_eq!(free_fraction(PairKind::PointTriangle, start, start.map(|x| x + Vec3::splat(7.0)), 0.1), 1.0);
        // Parallel edges that slide along each other.
        let edges = [Vec3::zero(), Vec3::unit(0), Vec3::new(0.0, 1e-4, 0.0), Vec3::new(1.0, 1e-4, 0.0)];
        let far = Vec3::new(30.0, 0.0, 0.0);
        let end = [edges[0] + far, edges[1] + far, edges[2], edges[3]];
        assert_eq!(free_fraction(PairKind::EdgeEdge, edges, end, 0.1), 1.0);
    }

    #[test]
    fn passing_edges_stop_where_they_meet() {
        let start = [Vec3::unit(0) * -1.0, Vec3::unit(0), Vec3::new(0.2, -1.0, 0.5), Vec3::new(0.2, 1.0, 0.5)];
        let down = Vec3::new(0.0, 0.0, -2.0);
        let t = free_fraction(PairKind::EdgeEdge, start, [start[0], start[1], start[2] + down, start[3] + down], 0.1);
        assert!(t <= 0.225 && t > 0.2245, "{t}");
        // Side by side they pass.
        let aside = start.map(|x| x + Vec3::new(0.0, 0.0, -2.0));
        let start = [start[0], start[1], start[2] + Vec3::unit(0), start[3] + Vec3::unit(0)];
        let t = free_fraction(
            PairKind::EdgeEdge,
            start,
            [start[0], start[1], aside[2] + Vec3::unit(0), aside[3] + Vec3::unit(0)],
            0.1,
        );
        assert_eq!(t, 1.0);
    }

    #[test]
    fn touching_or_broken_primitives_do_not_move() {
        let touching = with_point(Vec3::zero());
        assert_eq!(free_fraction(PairKind::PointTriangle, touching, with_point(Vec3::unit(2)), 0.1), 0.0);
        let broken = with_point(Vec3::new(f64::NAN, 0.0, 1.0));
        assert_eq!(free_fraction(PairKind::PointTriangle, with_point(Vec3::unit(2)), broken, 0.1), 0.0);
    }

    /// A long edge rotated through the other by a quarter turn: many small steps, and none too far.
    #[test]
    fn turning_edge_is_stopped_safely() {
        let start = [
            Vec3::new(-1.0, 0.0, 1e-3),
            Vec3::new(1.0, 0.0, 1e-3),
            Vec3::new(0.5, -1.0, 0.0),
            Vec3::new(0.5, 1.0, 0.0),
        ];
        let end = [Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.0, 0.0, -1.0), start[2], start[3]];
        check(PairKind::EdgeEdge, start, end, 0.1);
    }

    /// The distance stays above the floor until t, and falls below it shortly after t (or t = 1).
    fn check(kind: PairKind, start: [Vec3; 4], end: [Vec3; 4], keep: f64) -> f64 {
        let t = free_fraction(kind, start, end, keep);
        let at = |t: f64| distance(kind, std::array::from_fn(|i| start[i] + (end[i] - start[i]) * t)).0;
        let initial = at(0.0);
        assert!((0.0..=1.0).contains(&t));
        for k in 0..=200 {
            let d = at(t * f64::from(k) / 200.0);
            assert!(d >= keep * initial * (1.0 - 1e-9), "{kind:?} {t} {k}: {d} of {initial}");
        }
        if t < 1.0 {
            assert!(at(t) <= (keep + 1.1 * STOP_ABOVE) * initial, "{kind:?} {t}: {} of {initial}", at(t));
        }
        t
    }

    #[test]
    fn random_motions_are_stopped_safely_and_tightly() {
        let mut random = Random::new(4);
        let mut stopped = 0;
        for case in 0..6_000 {
            let reach = [0.2, 1.0, 4.0][case % 3];
            let start = [(); 4].map(|()| random.point());
            let end = start.map(|x| x + random.point() * reach);
            for kind in [PairKind::PointTriangle, PairKind::EdgeEdge] {
                stopped += usize::from(check(kind, start, end, [0.1, 0.5, 0.01][case / 3 % 3]) < 1.0);
            }
        }
        assert!(stopped > 1_000, "{stopped}");
    }

    /// Much closer than their size and their motion, as in contact.
    #[test]
    fn near_contacts_are_stopped_safely_and_tightly() {
        let mut random = Random::new(5);
        for case in 0..4_000 {
            let height = 10f64.powi(-(case % 5) - 1);
            let n = random.direction();
            let flat = |p: Vec3| p - n * n.dot(p);
            let edges = [random.point(), random.point(), random.point(), random.point()].map(flat);
            let start = [edges[0] + n * height, edges[1] + n * height, edges[2], edges[3]];
            let end = start.map(|x| x + random.point() * 0.1);
            check(PairKind::EdgeEdge, start, end, 0.1);
            check(PairKind::PointTriangle, [edges[0] + n * height, edges[1], edges[2], edges[3]], end, 0.1);
        }
    }
}
