//! What bones are blended from: cones with round ends, ellipsoids and round plates.

use sinew_geometry::Aabb;
use sinew_math::{Mat3, Vec3};

/// A simple convex body \[m\].
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Balls of radius `ra` at `a` to `rb` at `b`.
    Cone { a: Vec3, b: Vec3, ra: f64, rb: f64 },
    /// Ellipsoid with semiaxes `radii` along the columns of `axes`.
    Ellipsoid { center: Vec3, radii: Vec3, axes: Mat3 },
    /// Balls of radius `r` on a triangle.
    Plate { corners: [Vec3; 3], r: f64 },
}

impl Form {
    /// Signed distance \[m\]: the right sign; near the surface right to first order. Of a cone and of a plate never more
    /// than the true distance.
    pub fn distance(&self, p: Vec3) -> f64 {
        match self {
            Form::Cone { a, b, ra, rb } => cone(p, *a, *b, *ra, *rb),
            Form::Ellipsoid { center, radii, axes } => ellipsoid(axes.transpose_mul_vec(p - *center), *radii),
            Form::Plate { corners, r } => triangle(p, corners) - r,
        }
    }

    /// A box around it.
    pub fn bounds(&self) -> Aabb {
        match self {
            Form::Cone { a, b, ra, rb } => Aabb::from_points([a]).grown(*ra).union(&Aabb::from_points([b]).grown(*rb)),
            Form::Ellipsoid { center, radii, axes } => {
                let row = |i: usize| axes.row(i).component_mul(*radii).norm();
                let half = Vec3::new(row(0), row(1), row(2));
                Aabb { min: *center - half, max: *center + half }
            }
            Form::Plate { corners, r } => Aabb::from_points(corners).grown(*r),
        }
    }
}

/// |p − c(t)| − r(t) at the nearest point c of the axis, divided by √(1 + r′²), so that it never exceeds the distance.
fn cone(p: Vec3, a: Vec3, b: Vec3, ra: f64, rb: f64) -> f64 {
    let axis = b - a;
    let length_squared = axis.norm_squared();
    let t = ((p - a).dot(axis) / length_squared).clamp(0.0, 1.0);
    let slope_squared = (rb - ra) * (rb - ra) / length_squared;
    ((p - a - axis * t).norm() - (ra + (rb - ra) * t)) / (1.0 + slope_squared).sqrt()
}

/// k₀(k₀ − 1)/k₁ with k₀ = |p/r| and k₁ = |p/r²|: the distance to first order at the surface, exact for balls. Deep inside
/// of what is flat that is too deep; there it is −(1 − k₀) min r, which never is.
pub(super) fn ellipsoid(p: Vec3, radii: Vec3) -> f64 {
    let scaled = p.component_div(radii);
    let k0 = scaled.norm();
    let bound = (k0 - 1.0) * radii.min_component();
    let near = ((k0 - 0.8) / 0.15).min(1.0);
    if near <= 0.0 {
        return bound;
    }
    bound + (k0 * (k0 - 1.0) / scaled.component_div(radii).norm() - bound) * near
}

fn segment(p: Vec3, a: Vec3, b: Vec3) -> f64 {
    let axis = b - a;
    let t = ((p - a).dot(axis) / axis.norm_squared()).clamp(0.0, 1.0);
    (p - a - axis * t).norm()
}

fn triangle(p: Vec3, corners: &[Vec3; 3]) -> f64 {
    let [a, b, c] = *corners;
    let normal = (b - a).cross(c - a);
    let inside = |from: Vec3, to: Vec3| (to - from).cross(p - from).dot(normal) >= 0.0;
    if inside(a, b) && inside(b, c) && inside(c, a) {
        return (p - a).dot(normal).abs() / normal.norm();
    }
    segment(p, a, b).min(segment(p, b, c)).min(segment(p, c, a))
}

/// Union of two distances, rounded where they are closer than `blend` \[m\] to each other (polynomial smooth minimum).
pub(super) fn smooth_min(a: f64, b: f64, blend: f64) -> f64 {
    if blend <= 0.0 {
        return a.min(b);
    }
    let h = (blend - (a - b).abs()).max(0.0) / blend;
    a.min(b) - h * h * blend / 4.0
}

/// A bone, or another firm part: forms blended together, less others.
#[derive(Clone, Debug)]
pub(super) struct Part {
    add: Vec<(Form, Aabb)>,
    cut: Vec<Form>,
    blend: f64,
    /// A box around it.
    pub bounds: Aabb,
}

impl Part {
    pub fn new(add: Vec<Form>, cut: Vec<Form>, blend: f64) -> Self {
        let bounds = add.iter().fold(Aabb::EMPTY, |bounds, form| bounds.union(&form.bounds())).grown(blend);
        let add = add
            .into_iter()
            .map(|form| {
                let bounds = form.bounds();
                (form, bounds)
            })
            .collect();
        Self { add, cut, blend, bounds }
    }

    /// Signed distance \[m\], with the reserves of [`Form::distance`]; what is cut away leaves a lower bound.
    pub fn distance(&self, p: Vec3) -> f64 {
        let mut distance = f64::INFINITY;
        for (form, bounds) in &self.add {
            // Too far away to change the union.
            if outside(bounds, p) < distance + self.blend {
                distance = smooth_min(distance, form.distance(p), self.blend);
            }
        }
        self.cut.iter().fold(distance, |distance, form| distance.max(-form.distance(p)))
    }
}

/// Distance \[m\] of a point to a box, 0 inside.
pub(super) fn outside(bounds: &Aabb, p: Vec3) -> f64 {
    (bounds.min - p).max(p - bounds.max).max(Vec3::zero()).norm()
}
