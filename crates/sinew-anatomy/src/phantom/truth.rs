//! What a pipeline should find: attachments, fibers, distances to surfaces.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::Phantom;
use super::model::{Owner, Unit};
use super::sweep::Station;
use crate::Solid;

/// Which end of a muscle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttachmentKind {
    /// The end that the fibers come from.
    Origin,
    /// The end that the fibers go to.
    Insertion,
}

/// Where a muscle or its tendon is grown to a bone.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    /// The tissue that touches the bone: a tendon, or a belly with a fleshy end.
    pub tissue: usize,
    /// The belly that pulls here: `tissue`, or what its tendon belongs to.
    pub belly: usize,
    /// The bone.
    pub bone: usize,
    /// Which end.
    pub kind: AttachmentKind,
    /// End of the muscle's line \[m\], just below the surface of the bone.
    pub point: Vec3,
    /// Length \[m\] of the line from `point` on along which the muscle is grown to the bone; elsewhere it keeps clear.
    pub reach: f64,
}

/// A section across the line of a muscle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// The point of the line \[m\].
    pub center: Vec3,
    /// Unit direction of the thickness, toward which fibers lean.
    pub thickness: Vec3,
    /// Half width and half thickness \[m\].
    pub half: [f64; 2],
    /// Length of the line from the origin \[m\].
    pub along: f64,
}

/// A joint about an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Hinge {
    /// Name.
    pub name: &'static str,
    /// Tissue that stays.
    pub fixed: usize,
    /// Tissue that turns.
    pub moving: usize,
    /// Two points of the axis \[m\]; a positive angle turns about the direction from the first to the second.
    pub axis: [Vec3; 2],
}

impl Phantom {
    pub(super) fn unit(&self, tissue: usize) -> Option<&Unit> {
        match self.model.owners.get(tissue)? {
            Owner::Unit(i, _) => Some(&self.model.units[*i]),
            _ => None,
        }
    }

    /// Whether a point of the muscle belongs to an attachment: no farther than `tolerance` \[m\] from the bone, and along
    /// the muscle's line no farther from its end than the attachment reaches.
    pub fn is_attached(&self, attachment: &Attachment, p: Vec3, tolerance: f64) -> bool {
        let Some(unit) = self.unit(attachment.tissue) else { return false };
        let bone = &self.tissues[attachment.bone].solid;
        // Most points are far away, which boxes tell soonest.
        let is_near = |bounds: Aabb| bounds.distance_squared(p) <= tolerance * tolerance;
        if !is_near(bone.bounds()) || !is_near(unit.sweep.bounds) {
            return false;
        }
        let seen = unit.sweep.see_all(p);
        let from_end = match attachment.kind {
            AttachmentKind::Origin => seen.s,
            AttachmentKind::Insertion => unit.sweep.length() - seen.s,
        };
        seen.distance <= tolerance && from_end <= attachment.reach && bone.distance(p) <= tolerance
    }

    /// Unit direction of the fibers of a belly or a tendon through a point, from origin to insertion; at the angle of
    /// pennation to [`line_of_action`](Self::line_of_action). Tendons are not pennate. `None` for other tissues.
    pub fn fiber(&self, tissue: usize, p: Vec3) -> Option<Vec3> {
        let unit = self.unit(tissue)?;
        Some(unit.sweep.fiber(p, unit.sweep.see_all(p).at, self.tissues[tissue].pennation))
    }

    /// Unit direction, from origin to insertion, of the line of the muscle that passes through a point and keeps its share
    /// of width and thickness.
    pub fn line_of_action(&self, tissue: usize, p: Vec3) -> Option<Vec3> {
        let unit = self.unit(tissue)?;
        Some(unit.sweep.fiber(p, unit.sweep.see_all(p).at, 0.0))
    }

    /// Share of the way from origin to insertion (0 to 1) of the point on a muscle's line that is nearest to `p`.
    pub fn along(&self, tissue: usize, p: Vec3) -> Option<f64> {
        let sweep = &self.unit(tissue)?.sweep;
        Some(sweep.see_all(p).s / sweep.length())
    }

    /// Points of a muscle's line \[m\] from origin to insertion.
    pub fn line(&self, tissue: usize) -> Option<Vec<Vec3>> {
        Some(self.unit(tissue)?.sweep.stations.iter().map(|station| station.p).collect())
    }

    /// Sections along a muscle's line, from origin to insertion.
    pub fn sections(&self, tissue: usize) -> Option<Vec<Section>> {
        let section = |at: &Station| Section { center: at.p, thickness: at.v, half: [at.a, at.b], along: at.s };
        Some(self.unit(tissue)?.sweep.stations.iter().map(section).collect())
    }

    /// Distance \[m\] of a point near a tissue to its surface, unsigned: length of the way to a point with distance 0,
    /// found by at most 12 Newton steps along the gradient. Never less than the true distance, and at ridges more.
    /// `None` where no surface is found, as far away.
    pub fn surface_distance(&self, tissue: usize, p: Vec3) -> Option<f64> {
        let solid = &self.tissues.get(tissue)?.solid;
        let mut x = p;
        for _ in 0..12 {
            let value = solid.distance(x);
            if value.abs() < 1e-6 {
                return Some(x.distance(p));
            }
            let gradient = solid.gradient(x, 1e-5);
            let slope = gradient.norm_squared();
            if !(slope > 1e-4) {
                return None;
            }
            // A step of 5 mm is enough for what is near, and does not jump across bodies.
            let step = gradient * (value / slope);
            x -= step * (5e-3 / step.norm().max(5e-3));
        }
        (solid.distance(x).abs() < 5e-5).then(|| x.distance(p))
    }

    /// Points of a belly or a tendon on a grid of some spacing \[m\], each with the direction of its fiber.
    pub fn fiber_samples(&self, tissue: usize, spacing: f64) -> Vec<(Vec3, Vec3)> {
        let Some(unit) = self.unit(tissue) else { return Vec::new() };
        let pennation = self.tissues[tissue].pennation;
        let fiber = |p: Vec3| (p, unit.sweep.fiber(p, unit.sweep.see_all(p).at, pennation));
        let solid = &self.tissues[tissue].solid;
        grid_points(solid.bounds(), spacing, |p| solid.distance(p) < 0.0).into_iter().map(fiber).collect()
    }

    /// Points of a grid of some spacing \[m\] that are in the tissue and [attached](Self::is_attached) to the bone, within
    /// one spacing and a half of it.
    pub fn attached_points(&self, attachment: &Attachment, spacing: f64) -> Vec<Vec3> {
        let Some(unit) = self.unit(attachment.tissue) else { return Vec::new() };
        let bone = self.tissues[attachment.bone].solid.bounds().grown(2.0 * spacing);
        let end = end_bounds(unit, attachment);
        let shared = Aabb { min: end.min.max(bone.min), max: end.max.min(bone.max) };
        let is_attached = |p: Vec3| self.is_attached(attachment, p, 1.5 * spacing);
        grid_points(shared, spacing, |p| is_attached(p) && self.tissues[attachment.tissue].solid.distance(p) < 0.0)
    }
}

/// A box around the part of a sweep along which it is grown to its bone.
pub(super) fn end_bounds(unit: &Unit, attachment: &Attachment) -> Aabb {
    let stations = &unit.sweep.stations;
    let from_end = |s: f64| match attachment.kind {
        AttachmentKind::Origin => s,
        AttachmentKind::Insertion => unit.sweep.length() - s,
    };
    // A station more: the reach can end within a segment.
    let step = unit.sweep.length() / unit.sweep.segment_count() as f64;
    let near = stations.iter().filter(|station| from_end(station.s) <= attachment.reach + step);
    near.fold(Aabb::EMPTY, |all, one| all.union(&Aabb::from_points([&one.p]).grown(one.a.max(one.b))))
}

/// Points of a grid through the origin of the world that are in a box and chosen.
fn grid_points(bounds: Aabb, spacing: f64, is_chosen: impl Fn(Vec3) -> bool) -> Vec<Vec3> {
    if bounds.is_empty() || !(spacing > 0.0) {
        return Vec::new();
    }
    let (first, last) = ((bounds.min / spacing).map(f64::ceil), (bounds.max / spacing).map(f64::floor));
    let range = |from: f64, to: f64| from as i64..=to as i64;
    let mut points = Vec::new();
    for k in range(first.z, last.z) {
        for (j, i) in range(first.y, last.y).flat_map(|j| range(first.x, last.x).map(move |i| (j, i))) {
            let p = Vec3::new(i as f64, j as f64, k as f64) * spacing;
            if is_chosen(p) {
                points.push(p);
            }
        }
    }
    points
}
