//! Where muscles and tendons touch bones: patches of bone surfaces, and the curves around them.

use std::collections::BTreeMap;

use sinew_geometry::{Aabb, TriMesh};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::model::Owner;
use super::truth::end_bounds;
use super::{Attachment, AttachmentKind, Phantom};
use crate::Solid;
use crate::mesher::rough_isosurface;

/// Height \[m\] above a bone at which is looked for what touches it.
const TOUCH: f64 = 0.1e-3;
/// Steps of bisection of an edge between a point that is touched and one that is not: to a 4,000th of it.
const BISECTIONS: usize = 12;
/// Cosine of the angle to their mean within which normals are those of one side of a bone: 65°.
const ONE_SIDE: f64 = 0.42;
/// Room \[spacings\] around a box in which a bone is looked at: what is near its sides is left out again.
const MARGIN: f64 = 3.0;

impl Phantom {
    /// Whether a point of the surface of a bone is where the muscle or its tendon is grown to it: a tenth of a millimeter
    /// outside of the bone there is muscle or tendon of this head, no farther along its line than the attachment reaches.
    pub fn touches(&self, attachment: &Attachment, x: Vec3) -> bool {
        let (Some(unit), Owner::Unit(own, _)) = (self.unit(attachment.tissue), self.model.owners[attachment.tissue])
        else {
            return false;
        };
        if unit.sweep.bounds.distance_squared(x) > TOUCH * TOUCH || unit.sweep.see_all(x).distance > 2.0 * TOUCH {
            return false;
        }
        let p = x + self.bone_normal(attachment.bone, x) * TOUCH;
        let seen = unit.sweep.see_all(p);
        let is_own = |tissue: usize| matches!(self.model.owners[tissue], Owner::Unit(unit, _) if unit == own);
        if !self.tissue_at(p).is_some_and(is_own) {
            return false;
        }
        let from_end = match attachment.kind {
            AttachmentKind::Origin => seen.s,
            AttachmentKind::Insertion => unit.sweep.length() - seen.s,
        };
        from_end <= attachment.reach
    }

    /// Outward unit normal of a tissue near its surface.
    fn bone_normal(&self, bone: usize, x: Vec3) -> Vec3 {
        self.tissues[bone].solid.gradient(x, 1e-5).normalized()
    }

    /// The point of the surface of a bone near a point of space.
    pub fn on_bone(&self, bone: usize, mut x: Vec3) -> Vec3 {
        let solid = &self.tissues[bone].solid;
        for _ in 0..8 {
            let (distance, gradient) = (solid.distance(x), solid.gradient(x, 1e-5));
            if distance.abs() < 1e-6 || !(gradient.norm_squared() > 1e-4) {
                break;
            }
            x -= gradient * (distance / gradient.norm_squared());
        }
        x
    }

    /// A box around the part of a muscle along which it is grown to its bone; empty for what is no muscle.
    pub fn end_bounds(&self, attachment: &Attachment) -> Aabb {
        self.unit(attachment.tissue).map_or(Aabb::EMPTY, |unit| end_bounds(unit, attachment))
    }

    /// The surface of a bone within a box and a little beyond, in triangles of about a spacing \[m\]; open where it was cut
    /// off. `None` if the bone is not there.
    pub fn bone_surface(&self, bone: usize, room: Aabb, spacing: f64) -> Option<TriMesh> {
        let near = Near { bone: &self.tissues[bone].solid, room: room.grown(MARGIN * spacing) };
        let surface = rough_isosurface(&near, spacing).ok()?;
        let is_bone = |node: &u32| near.outside(surface.positions()[*node as usize]) < -0.5 * spacing;
        let triangles = surface.triangles().iter().filter(|t| t.iter().all(is_bone)).copied().collect();
        TriMesh::new(surface.positions().to_vec(), triangles).ok()
    }

    /// Closed curves around the patches of the bone that an attachment [touches](Self::touches), counterclockwise as seen
    /// from outside, by points about a spacing \[m\] apart. What goes around a bone is drawn on each of its sides. Patches
    /// below the area of 2 spacings squared are left out, as are holes.
    pub fn touched_outlines(&self, attachment: &Attachment, spacing: f64) -> Vec<Vec<Vec3>> {
        let room = self.end_bounds(attachment);
        let Some(surface) = self.bone_surface(attachment.bone, room, spacing) else { return Vec::new() };
        let x = surface.positions();
        let normal = |p: &Vec3| self.touches(attachment, *p).then(|| self.bone_normal(attachment.bone, *p));
        let normals: Vec<Option<Vec3>> = x.par_iter().map(normal).collect();
        let mean = normals.iter().flatten().copied().sum::<Vec3>().normalized();
        let is_one = normals.iter().flatten().all(|normal| normal.dot(mean) > ONE_SIDE);
        let side = |normal: Vec3| if is_one { 0 } else { side(normal) };
        let sides: Vec<Option<usize>> = normals.into_iter().map(|normal| normal.map(side)).collect();
        let mut loops = Vec::new();
        for k in 0..6 {
            let is_own = |p: Vec3| self.touches(attachment, p) && side(self.bone_normal(attachment.bone, p)) == k;
            for edges in loops_around(surface.triangles(), |node| sides[node as usize] == Some(k)) {
                let crossing = |edge: &[u32; 2]| self.crossing(attachment.bone, edge.map(|k| x[k as usize]), is_own);
                let points: Vec<Vec3> = edges.par_iter().map(crossing).collect();
                if self.area_within(attachment.bone, &points) > 2.0 * spacing * spacing {
                    loops.push(points);
                }
            }
        }
        loops
    }

    /// Where the edge from a point of a region of a bone to one outside leaves the region.
    fn crossing(&self, bone: usize, [mut inside, mut outside]: [Vec3; 2], is_own: impl Fn(Vec3) -> bool) -> Vec3 {
        for _ in 0..BISECTIONS {
            let middle = self.on_bone(bone, (inside + outside) * 0.5);
            match is_own(middle) {
                true => inside = middle,
                false => outside = middle,
            }
        }
        (inside + outside) * 0.5
    }

    /// Area \[m²\] within a curve on a bone as seen along its mean normal; negative if it runs clockwise.
    fn area_within(&self, bone: usize, points: &[Vec3]) -> f64 {
        let normal: Vec3 = points.iter().map(|p| self.bone_normal(bone, *p)).sum();
        let Some(first) = points.first() else { return 0.0 };
        let area: Vec3 = points.windows(2).map(|pair| (pair[0] - *first).cross(pair[1] - *first) * 0.5).sum();
        area.dot(normal.normalized())
    }
}

/// The side of a bone by its normal: along which axis, and which way.
fn side(normal: Vec3) -> usize {
    let axis = (0..3).max_by(|a, b| normal[*a].abs().total_cmp(&normal[*b].abs())).unwrap_or(0);
    2 * axis + usize::from(normal[axis] < 0.0)
}

/// Closed chains of the edges from nodes of a region to others, counterclockwise around the region.
fn loops_around(triangles: &[[u32; 3]], is_own: impl Fn(u32) -> bool) -> Vec<Vec<[u32; 2]>> {
    // Where the curve enters a triangle, and where it leaves it; both are edges, from the node of the region to the other.
    let mut next: BTreeMap<[u32; 2], [u32; 2]> = BTreeMap::new();
    for t in triangles {
        let (mut leaves, mut enters) = (None, None);
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            match (is_own(a), is_own(b)) {
                (true, false) => leaves = Some([a, b]),
                (false, true) => enters = Some([b, a]),
                _ => {}
            }
        }
        if let (Some(from), Some(to)) = (leaves, enters) {
            next.insert(from, to);
        }
    }
    let mut loops = Vec::new();
    while let Some((&start, _)) = next.first_key_value() {
        let (mut edge, mut edges) = (start, Vec::new());
        while let Some(after) = next.remove(&edge) {
            edges.push(edge);
            edge = after;
        }
        if edge == start {
            loops.push(edges);
        }
    }
    loops
}

/// A bone within a box.
struct Near<'a> {
    bone: &'a dyn Solid,
    room: Aabb,
}

impl Near<'_> {
    /// Distance to the box, negative inside.
    fn outside(&self, p: Vec3) -> f64 {
        let (below, above) = (self.room.min - p, p - self.room.max);
        below.max(above).max_component()
    }
}

impl Solid for Near<'_> {
    fn distance(&self, p: Vec3) -> f64 {
        // Beyond the box its distance is bound enough, and cheap.
        let outside = self.outside(p);
        if outside > 0.0 { outside } else { self.bone.distance(p).max(outside) }
    }

    fn bounds(&self) -> Aabb {
        let bone = self.bone.bounds();
        Aabb { min: bone.min.max(self.room.min), max: bone.max.min(self.room.max) }
    }
}
