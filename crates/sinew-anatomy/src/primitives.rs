//! Bodies by formula: capsules, cones, ellipsoids, boxes, and tubes along splines, from which missing tendons are made.

use sinew_geometry::Aabb;
use sinew_math::{Mat3, Vec3};

use crate::Solid;

/// All points within `radius` of a segment. Exact distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Ends of the segment \[m\].
    pub ends: [Vec3; 2],
    /// Radius \[m\].
    pub radius: f64,
}

impl Solid for Capsule {
    fn distance(&self, p: Vec3) -> f64 {
        let (_, near) = near_on_segment(p, self.ends);
        (p - near).norm() - self.radius
    }

    fn bounds(&self) -> Aabb {
        Aabb::from_points(&self.ends).grown(self.radius)
    }
}

/// Parameter and point of a segment nearest to `p`.
fn near_on_segment(p: Vec3, [a, b]: [Vec3; 2]) -> (f64, Vec3) {
    let d = b - a;
    let length_squared = d.norm_squared();
    let t = if length_squared > 0.0 { ((p - a).dot(d) / length_squared).clamp(0.0, 1.0) } else { 0.0 };
    (t, a + d * t)
}

/// A cone cut by two planes across its axis: a cylinder where the radii are equal. Exact distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// Ends of the axis \[m\].
    pub ends: [Vec3; 2],
    /// Radius at each end \[m\]; one may be zero.
    pub radii: [f64; 2],
}

impl Solid for Cone {
    /// In the half-plane of the axis the section is a quadrilateral with corners on the axis and on the rims.
    fn distance(&self, p: Vec3) -> f64 {
        let axis = self.ends[1] - self.ends[0];
        let height = axis.norm();
        let unit = if height > 0.0 { axis / height } else { Vec3::unit(2) };
        let along = (p - self.ends[0]).dot(unit);
        let across = (p - self.ends[0] - unit * along).norm();
        let [r0, r1] = self.radii;
        let q = [across, along];
        let rims = [[0.0, 0.0], [r0, 0.0], [r1, height], [0.0, height]];
        let near = (0..3).map(|i| planar_distance(q, rims[i], rims[i + 1])).fold(f64::INFINITY, f64::min);
        let inside = (0.0..=height).contains(&along) && across * height <= r0 * height + (r1 - r0) * along;
        if inside { -near } else { near }
    }

    fn bounds(&self) -> Aabb {
        Aabb::from_points(&self.ends).grown(self.radii[0].max(self.radii[1]))
    }
}

/// Distance of a point of the plane from a segment.
pub(crate) fn planar_distance(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let (d, w) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let square = d[0] * d[0] + d[1] * d[1];
    let t = if square > 0.0 { ((w[0] * d[0] + w[1] * d[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
    (w[0] - d[0] * t).hypot(w[1] - d[1] * t)
}

/// An ellipsoid. Exact distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid {
    /// Center \[m\].
    pub center: Vec3,
    /// Columns: unit vectors along the half-axes.
    pub axes: Mat3,
    /// Lengths of the half-axes \[m\].
    pub radii: Vec3,
}

impl Solid for Ellipsoid {
    fn distance(&self, p: Vec3) -> f64 {
        let q = self.axes.transpose_mul_vec(p - self.center).abs();
        let level = q.component_div(self.radii).norm_squared();
        let distance = (q - foot_on_ellipsoid(q, self.radii)).norm();
        if level < 1.0 { -distance } else { distance }
    }

    fn bounds(&self) -> Aabb {
        let reach = |row: usize| (0..3).map(|c| (self.axes.row(row)[c] * self.radii[c]).powi(2)).sum::<f64>().sqrt();
        let half = Vec3::new(reach(0), reach(1), reach(2));
        Aabb { min: self.center - half, max: self.center + half }
    }
}

/// The nearest point of an ellipsoid with half-axes r to a point q in the first octant.
///
/// It is xᵢ = rᵢ² qᵢ / (t + rᵢ²), where t is the largest root of Σ (rᵢ qᵢ / (t + rᵢ²))² = 1; that sum decreases beyond
/// t = −min r², so bisection is safe and Newton is not needed: forty steps give twelve digits.
fn foot_on_ellipsoid(q: Vec3, r: Vec3) -> Vec3 {
    let square = r.component_mul(r);
    // On a plane of symmetry the root may lie at the pole: move off it by less than rounding shows.
    let q = q.max(r * 1e-9);
    let sum = |t: f64| (0..3).map(|i| (r[i] * q[i] / (t + square[i])).powi(2)).sum::<f64>();
    let rq = r.component_mul(q);
    let least = (0..3).map(|i| rq[i] - square[i]).fold(f64::NEG_INFINITY, f64::max);
    let (mut low, mut high) = (least, rq.norm() - square.min_component());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if sum(middle) > 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = 0.5 * (low + high);
    Vec3::from([0, 1, 2].map(|i| square[i] * q[i] / (t + square[i])))
}

/// A box of any orientation. Exact distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    /// Center \[m\].
    pub center: Vec3,
    /// Columns: unit vectors along the edges.
    pub axes: Mat3,
    /// Half of the edges \[m\].
    pub half: Vec3,
}

impl Solid for Cuboid {
    fn distance(&self, p: Vec3) -> f64 {
        let q = self.axes.transpose_mul_vec(p - self.center).abs() - self.half;
        q.max(Vec3::zero()).norm() + q.max_component().min(0.0)
    }

    fn bounds(&self) -> Aabb {
        let reach = |row: usize| (0..3).map(|c| (self.axes.row(row)[c] * self.half[c]).abs()).sum::<f64>();
        let half = Vec3::new(reach(0), reach(1), reach(2));
        Aabb { min: self.center - half, max: self.center + half }
    }
}

/// Straight pieces between two control points of a spline tube: the error is below a hundredth of a radius for bends
/// of up to a right angle.
const PIECES: usize = 12;

/// A round tube along a Catmull–Rom spline through control points, with a radius at each, and round ends.
#[derive(Clone, Debug, PartialEq)]
pub struct SplineTube {
    /// Points of the center line and radii, from piece to piece \[m\].
    pieces: Vec<(Vec3, f64)>,
    /// Boxes around every [`PIECES`] pieces, which spare most of them.
    boxes: Vec<Aabb>,
}

impl SplineTube {
    /// A tube through points with radii \[m\]; `None` without points, or with other than finite numbers and radii ≥ 0.
    pub fn new(points: &[(Vec3, f64)]) -> Option<Self> {
        if points.is_empty() || !points.iter().all(|(p, r)| p.is_finite() && r.is_finite() && *r >= 0.0) {
            return None;
        }
        let last = points.len() - 1;
        let mut pieces = Vec::with_capacity(last * PIECES + 1);
        for i in 0..last {
            let at = |k: usize| points[k.clamp(1, last + 1) - 1];
            let knots = [at(i), at(i + 1), at(i + 2), at(i + 3)];
            pieces.extend((0..PIECES).map(|s| catmull_rom(knots, s as f64 / PIECES as f64)));
        }
        pieces.push(points[last]);
        let around = |run: &[(Vec3, f64)]| {
            run.iter().fold(Aabb::EMPTY, |all, (p, r)| all.union(&Aabb { min: *p, max: *p }.grown(*r)))
        };
        let starts = (0..pieces.len() - 1).step_by(PIECES);
        let boxes = starts.map(|start| around(&pieces[start..=(start + PIECES).min(pieces.len() - 1)])).collect();
        Some(Self { pieces, boxes })
    }

    /// Points of the center line, with radii \[m\].
    pub fn center_line(&self) -> &[(Vec3, f64)] {
        &self.pieces
    }
}

/// Point and radius between the second and the third knot.
fn catmull_rom(knots: [(Vec3, f64); 4], t: f64) -> (Vec3, f64) {
    let weights = [
        0.5 * t * ((2.0 - t) * t - 1.0),
        0.5 * (t * t * (3.0 * t - 5.0) + 2.0),
        0.5 * t * ((4.0 - 3.0 * t) * t + 1.0),
        0.5 * t * t * (t - 1.0),
    ];
    let point = (0..4).map(|k| knots[k].0 * weights[k]).sum();
    // Radii are linear: the spline could swing below zero.
    (point, knots[1].1 + (knots[2].1 - knots[1].1) * t)
}

impl Solid for SplineTube {
    /// The least over the pieces of the distance to the center line minus the radius there: exact where the radius is
    /// constant, else to the square of the taper.
    fn distance(&self, p: Vec3) -> f64 {
        let (first, radius) = self.pieces[0];
        let alone = (p - first).norm() - radius;
        let piece = |pair: &[(Vec3, f64)]| {
            let (t, near) = near_on_segment(p, [pair[0].0, pair[1].0]);
            (p - near).norm() - (pair[0].1 + (pair[1].1 - pair[0].1) * t)
        };
        let mut least = alone;
        for (k, around) in self.boxes.iter().enumerate() {
            let apart = around.distance_squared(p).sqrt();
            if apart == 0.0 || apart < least {
                let run = &self.pieces[k * PIECES..=((k + 1) * PIECES).min(self.pieces.len() - 1)];
                least = run.windows(2).map(piece).fold(least, f64::min);
            }
        }
        least
    }

    fn bounds(&self) -> Aabb {
        let balls = self.pieces.iter().map(|(p, r)| Aabb { min: *p, max: *p }.grown(*r));
        balls.fold(Aabb::EMPTY, |all, ball| all.union(&ball))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a box around a body, in no regular order.
    fn probes(bounds: Aabb, count: usize) -> impl Iterator<Item = Vec3> {
        let size = bounds.size();
        (1..count).map(move |i| {
            let t = i as f64;
            let u = Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract());
            bounds.min + size.component_mul(u)
        })
    }

    fn rotated() -> Mat3 {
        let a = Vec3::new(1.0, 2.0, 2.0) / 3.0;
        let b = Vec3::new(2.0, 1.0, -2.0) / 3.0;
        Mat3::from_columns(a, b, a.cross(b))
    }

    /// The gradient of an exact distance is a unit vector; a step along it ends on the surface.
    fn is_a_distance(body: &dyn Solid, tolerance: f64) {
        let bounds = body.bounds();
        for p in probes(bounds.grown(0.3), 3000) {
            let d = body.distance(p);
            if d < 0.0 {
                assert!(bounds.contains(p), "{p:?}");
            }
            let g = body.gradient(p, 1e-6);
            // On the medial axis the gradient jumps and its difference is shorter.
            if (g.norm() - 1.0).abs() < 0.2 {
                assert!(body.distance(p - g * d).abs() < tolerance, "{p:?}: {d}, {}", body.distance(p - g * d));
            }
        }
    }

    #[test]
    fn a_step_down_the_gradient_ends_on_the_surface() {
        let ends = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(0.9, -0.2, 0.5)];
        is_a_distance(&Capsule { ends, radius: 0.2 }, 1e-8);
        is_a_distance(&Cone { ends, radii: [0.3, 0.1] }, 1e-7);
        is_a_distance(&Cone { ends, radii: [0.0, 0.2] }, 1e-7);
        // Differences of the bisected foot limit the digits.
        is_a_distance(&Ellipsoid { center: ends[0], axes: rotated(), radii: Vec3::new(0.5, 0.3, 0.2) }, 1e-5);
        is_a_distance(&Cuboid { center: ends[0], axes: rotated(), half: Vec3::new(0.5, 0.3, 0.2) }, 1e-8);
    }

    #[test]
    fn distances_on_the_axes_are_known() {
        let ball = Ellipsoid { center: Vec3::zero(), axes: Mat3::identity(), radii: Vec3::splat(0.5) };
        assert!((ball.distance(Vec3::new(0.0, 0.0, 2.0)) - 1.5).abs() < 1e-7);
        assert!((ball.distance(Vec3::new(0.3, 0.0, 0.0)) + 0.2).abs() < 1e-7);
        let flat = Ellipsoid { center: Vec3::zero(), axes: Mat3::identity(), radii: Vec3::new(3.0, 2.0, 1.0) };
        assert!((flat.distance(Vec3::zero()) + 1.0).abs() < 1e-6);
        assert!((flat.distance(Vec3::new(5.0, 0.0, 0.0)) - 2.0).abs() < 1e-7);
        let cylinder = Cone { ends: [Vec3::zero(), Vec3::unit(0)], radii: [0.4; 2] };
        assert!((cylinder.distance(Vec3::new(1.5, 0.0, 0.0)) - 0.5).abs() < 1e-12);
        assert!((cylinder.distance(Vec3::new(0.5, 0.0, 1.0)) - 0.6).abs() < 1e-12);
        assert!((cylinder.distance(Vec3::new(0.5, 0.1, 0.0)) + 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_tube_passes_through_its_control_points_with_their_radii() {
        let points = [(Vec3::zero(), 0.1), (Vec3::new(0.5, 0.2, 0.0), 0.2), (Vec3::new(1.0, -0.1, 0.3), 0.1)];
        let tube = SplineTube::new(&points).unwrap();
        for (point, radius) in points {
            assert!((tube.distance(point) + radius).abs() < 1e-2, "{}", tube.distance(point));
        }
        let straight = SplineTube::new(&[(Vec3::zero(), 0.2), (Vec3::unit(0), 0.2)]).unwrap();
        let capsule = Capsule { ends: [Vec3::zero(), Vec3::unit(0)], radius: 0.2 };
        for p in probes(capsule.bounds(), 500) {
            assert!((straight.distance(p) - capsule.distance(p)).abs() < 1e-12);
        }
        assert!(SplineTube::new(&[]).is_none() && SplineTube::new(&[(Vec3::zero(), f64::NAN)]).is_none());
    }
}
