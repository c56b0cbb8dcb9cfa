//! Attachments drawn on bones: closed curves, as atlases of anatomy show them.
//!
//! A point of a bone belongs to what is drawn if a curve runs around it once, counterclockwise as seen from outside:
//! curve and point are looked at along the normal of the bone, so the other face of a thin bone does not belong. How far
//! it is from the curve is known everywhere, so boundaries of attachments are finer than triangles of meshes.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use crate::Solid;

/// Segments of a curve that share a box, which spares most of them.
const RUN: usize = 16;
/// Cosine of the angle between the normals at a point and at the nearest point of a curve below which both are on different
/// faces of the bone: 107°, as curves may pass an edge.
const OTHER_FACE: f64 = -0.3;
/// Boxes are larger by this for crossings \[m\]: rounding must not lose one.
const ROUNDING: f64 = 1e-12;

/// A region of the surface of a bone, within closed curves.
#[derive(Clone, Debug)]
pub struct Outline {
    curves: Vec<Curve>,
    bounds: Aabb,
    /// Step of differences of distances \[m\].
    step: f64,
    /// Points farther from the bone are not on it \[m\].
    reach: f64,
}

/// A closed curve on a bone.
#[derive(Clone, Debug)]
struct Curve {
    /// Points with the outward normals of the bone, or zero where it is far: counterclockwise as seen from outside.
    points: Vec<(Vec3, Vec3)>,
    /// Boxes around the segments that end at [`RUN`] points each.
    boxes: Vec<Aabb>,
}

impl Curve {
    fn new(points: Vec<(Vec3, Vec3)>) -> Self {
        let around = |first: usize| {
            let last = (first + RUN).min(points.len());
            let before = points[(first + points.len() - 1) % points.len()].0;
            points[first..last]
                .iter()
                .fold(Aabb::from_points(&[before]), |all, (p, _)| all.union(&Aabb::from_points(&[*p])))
        };
        let boxes = (0..points.len()).step_by(RUN).map(around).collect();
        Self { points, boxes }
    }

    /// Whether the curve runs around a point of the bone as seen along its normal, across which u and v are; `nearest` is
    /// the squared distance and the normal of the nearest point so far.
    fn turns(&self, q: Vec3, [u, v]: [Vec3; 2], nearest: &mut (f64, Vec3)) -> bool {
        let mut turns = 0;
        for (k, around) in self.boxes.iter().enumerate() {
            let is_near = around.distance_squared(q) < nearest.0;
            let (middle, half) = ((around.min + around.max) * 0.5 - q, (around.max - around.min) * 0.5);
            let can_cross =
                middle.dot(v).abs() <= half.dot(v.abs()) + ROUNDING && middle.dot(u) >= -half.dot(u.abs()) - ROUNDING;
            if !is_near && !can_cross {
                continue;
            }
            let first = k * RUN;
            let mut a = self.points[(first + self.points.len() - 1) % self.points.len()].0 - q;
            for (p, normal) in &self.points[first..(first + RUN).min(self.points.len())] {
                let b = *p - q;
                let squared = to_segment(a, b);
                if squared < nearest.0 {
                    *nearest = (squared, *normal);
                }
                let (a2, b2) = ([a.dot(u), a.dot(v)], [b.dot(u), b.dot(v)]);
                // Crossings of the half line along u: up counts once, down counts back.
                let left = (b2[0] - a2[0]) * -a2[1] + a2[0] * (b2[1] - a2[1]);
                if a2[1] <= 0.0 && b2[1] > 0.0 && left > 0.0 {
                    turns += 1;
                } else if a2[1] > 0.0 && b2[1] <= 0.0 && left < 0.0 {
                    turns -= 1;
                }
                a = b;
            }
        }
        turns > 0
    }
}

impl Outline {
    /// The region within curves through points on or near the bone, either way around. They are laid on the bone in
    /// steps of `step` \[m\], about half the size of the voxels of the bone; where the bone is farther than `reach` \[m\],
    /// they stay as drawn.
    pub fn new(bone: &dyn Solid, curves: &[Vec<Vec3>], step: f64, reach: f64) -> Self {
        let mut outline = Self { curves: Vec::new(), bounds: Aabb::EMPTY, step, reach };
        for curve in curves {
            let mut points: Vec<(Vec3, Vec3)> = Vec::new();
            for (i, a) in curve.iter().enumerate() {
                let b = curve[(i + 1) % curve.len()];
                let count = (a.distance(b) / step).ceil().clamp(1.0, 200.0) as usize;
                for k in 0..count {
                    let drawn = a.lerp(b, k as f64 / count as f64);
                    points.push(outline.settled(bone, drawn).unwrap_or((drawn, Vec3::zero())));
                }
            }
            let Some((first, _)) = points.first().copied() else { continue };
            let area: Vec3 = points.windows(2).map(|pair| (pair[0].0 - first).cross(pair[1].0 - first)).sum();
            let normal: Vec3 = points.iter().map(|(_, normal)| *normal).sum();
            if area.dot(normal) < 0.0 {
                points.reverse();
            }
            let curve = Curve::new(points);
            outline.bounds = curve.boxes.iter().fold(outline.bounds, |all, one| all.union(one));
            outline.curves.push(curve);
        }
        outline
    }

    /// The point of the bone below or above a point, and the outward unit normal there; `None` where the bone is farther
    /// than the reach.
    pub fn settled(&self, bone: &dyn Solid, p: Vec3) -> Option<(Vec3, Vec3)> {
        let mut x = p;
        for _ in 0..8 {
            let (distance, gradient) = (bone.distance(x), bone.gradient(x, self.step));
            let slope = gradient.norm_squared();
            if !(slope > 1e-2) || x.distance(p) > self.reach {
                return None;
            }
            if distance.abs() < 1e-2 * self.step {
                return Some((x, gradient / slope.sqrt()));
            }
            x -= gradient * (distance / slope);
        }
        // Between voxels distances have kinks: near enough is good enough.
        (bone.distance(x).abs() < 0.5 * self.step).then(|| (x, bone.gradient(x, self.step).normalized()))
    }

    /// Diagonal of the box around all curves \[m\].
    pub fn size(&self) -> f64 {
        self.bounds.diagonal()
    }

    /// A box around all curves.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Distance \[m\] of a point of the bone with an outward normal from the curves: negative within them.
    pub fn level(&self, q: Vec3, normal: Vec3) -> f64 {
        let (u, v) = across(normal);
        let (mut nearest, mut is_within) = ((f64::INFINITY, Vec3::zero()), false);
        for curve in &self.curves {
            // Each curve by itself: one on the far face of a thin bone runs the other way around and would cancel this.
            is_within |= curve.turns(q, [u, v], &mut nearest);
        }
        // Curves that pass over several sides of a bone run around points of its far face, too, as seen from there.
        let (squared, there) = nearest;
        if is_within && there.dot(normal) > OTHER_FACE { -squared.sqrt() } else { squared.sqrt() }
    }
}

/// Two unit directions across a third, counterclockwise as seen from its tip.
fn across(normal: Vec3) -> (Vec3, Vec3) {
    let axis = (0..3).min_by(|a, b| normal[*a].abs().total_cmp(&normal[*b].abs())).unwrap_or(0);
    let u = normal.cross(Vec3::unit(axis)).normalized();
    (u, normal.cross(u))
}

/// Squared distance of the origin to a segment.
fn to_segment(a: Vec3, b: Vec3) -> f64 {
    let axis = b - a;
    let t = (-a.dot(axis) / axis.norm_squared().max(1e-300)).clamp(0.0, 1.0);
    (a + axis * t).norm_squared()
}

#[cfg(test)]
mod tests {
    use sinew_geometry::shape::Sphere;

    use super::*;
    use crate::primitives::Cuboid;
    use crate::solid::Bounded;

    fn circle(radius: f64, height: f64, points: usize) -> Vec<Vec3> {
        let at = |k: usize| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / points as f64).sin_cos();
            Vec3::new(radius * cos, radius * sin, height)
        };
        (0..points).map(at).collect()
    }

    /// On a ball of radius 1 a circle at latitude θ: the level is minus the chord to it, and its sign does not depend on
    /// the way around.
    #[test]
    fn level_on_a_ball_is_the_distance_to_the_curve() {
        let bounds = Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        let ball = Bounded { shape: Sphere::new(1.0).unwrap(), bounds };
        for points in [circle(0.6, 0.8, 24), circle(0.6, 0.8, 24).into_iter().rev().collect()] {
            let outline = Outline::new(&ball, &[points], 0.02, 0.2);
            for latitude in [0.0_f64, 0.2, 0.4, 0.9, 1.4, 2.0, 3.0] {
                let p = Vec3::new(latitude.sin(), 0.0, latitude.cos());
                let (q, normal) = outline.settled(&ball, p * 1.05).unwrap();
                // The curve is at 0.6435 rad.
                let chord = 2.0 * (0.5 * (latitude - 0.6_f64.asin()).abs()).sin();
                let expected = if latitude < 0.6_f64.asin() { -chord } else { chord };
                // Chords of 24 sides are up to 5 mm inside of the circle.
                assert!((outline.level(q, normal) - expected).abs() < 6e-3, "{latitude}");
            }
        }
    }

    /// The far face of a plate does not belong, though it is only a tenth of the curve away.
    #[test]
    fn the_other_face_of_a_thin_bone_is_outside() {
        let plate =
            Cuboid { center: Vec3::zero(), axes: sinew_math::Mat3::identity(), half: Vec3::new(2.0, 2.0, 0.05) };
        let outline = Outline::new(&plate, &[circle(1.0, 0.05, 32)], 0.02, 0.1);
        let level = |z: f64| {
            let (q, normal) = outline.settled(&plate, Vec3::new(0.1, 0.0, z)).unwrap();
            outline.level(q, normal)
        };
        assert!((level(0.06) + 0.9).abs() < 0.01, "{}", level(0.06));
        assert!(level(-0.06) > 0.5, "{}", level(-0.06));
    }

    /// What is drawn on both faces of a plate belongs on both, though the curves run opposite ways as seen from one of them.
    #[test]
    fn curves_on_both_faces_of_a_thin_bone_do_not_cancel() {
        let half = Vec3::new(2.0, 2.0, 0.05);
        let plate = Cuboid { center: Vec3::zero(), axes: sinew_math::Mat3::identity(), half };
        let outline = Outline::new(&plate, &[circle(1.0, 0.05, 64), circle(1.0, -0.05, 64)], 0.02, 0.1);
        for (x, z) in [(0.1, 0.06), (0.1, -0.06), (1.3, 0.06), (1.3, -0.06)] {
            let (q, normal) = outline.settled(&plate, Vec3::new(x, 0.0, z)).unwrap();
            assert!((outline.level(q, normal) - (x - 1.0)).abs() < 0.01, "{x} {z}: {}", outline.level(q, normal));
        }
    }

    /// On a shelf that stands off a wall, both a tenth thick, a curve around a part of both, through the corner between them: the
    /// back of the wall does not belong, though the curve runs counterclockwise around a point of it as seen from there
    /// where the bone is not quite flat.
    #[test]
    fn the_back_of_a_wall_is_outside_of_a_curve_through_a_corner() {
        struct Both([Cuboid; 2]);
        impl Solid for Both {
            fn distance(&self, p: Vec3) -> f64 {
                self.0[0].distance(p).min(self.0[1].distance(p))
            }
            fn bounds(&self) -> Aabb {
                self.0[0].bounds().union(&self.0[1].bounds())
            }
        }
        let cuboid = |center, half| Cuboid { center, axes: sinew_math::Mat3::identity(), half };
        let shelf = cuboid(Vec3::new(1.0, 0.0, 0.0), Vec3::new(1.0, 1.0, 0.05));
        let wall = cuboid(Vec3::new(0.0, 0.0, 1.0), Vec3::new(0.05, 1.0, 1.0));
        let side = |y: f64| [[1.5, y, 0.05], [0.05, y, 0.05], [0.05, y, 0.3]].map(Vec3::from);
        let curve = [side(-0.5).to_vec(), side(0.5).into_iter().rev().collect()].concat();
        let outline = Outline::new(&Both([shelf, wall]), &[curve], 0.02, 0.1);
        assert!((outline.level(Vec3::new(0.8, 0.0, 0.05), Vec3::unit(2)) + 0.5).abs() < 0.01);
        assert!((outline.level(Vec3::new(0.05, 0.0, 0.2), Vec3::unit(0)) + 0.1).abs() < 0.01);
        let (q, normal) = (Vec3::new(-0.05, 0.0, 0.4), Vec3::new(-0.8, 0.0, 0.6));
        let across = across(normal);
        let runs_around = outline.curves[0].turns(q, across.into(), &mut (f64::INFINITY, Vec3::zero()));
        assert!(runs_around && outline.level(q, normal) > 0.1, "{}", outline.level(q, normal));
    }

    /// What lies within one of two curves belongs; the bridge between them does not.
    #[test]
    fn several_curves_are_several_places() {
        let plate = Cuboid { center: Vec3::zero(), axes: sinew_math::Mat3::identity(), half: Vec3::new(9.0, 9.0, 0.5) };
        let shifted = |x: f64| circle(1.0, 0.5, 64).into_iter().map(|p| p + Vec3::unit(0) * x).collect();
        let outline = Outline::new(&plate, &[shifted(-2.0), shifted(2.0)], 0.05, 0.2);
        let level = |x: f64| outline.level(Vec3::new(x, 0.0, 0.5), Vec3::unit(2));
        assert!((level(-2.0) + 1.0).abs() < 2e-3 && (level(2.0) + 1.0).abs() < 2e-3);
        assert!((level(0.0) - 1.0).abs() < 2e-3 && (level(2.5) + 0.5).abs() < 2e-3);
    }
}
