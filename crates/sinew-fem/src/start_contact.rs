//! Bodies that touch or overlap at the start, and the lift that frees them.

use sinew_geometry::proximity::{RestSurface, ray_triangle};
use sinew_geometry::shape::AnyShape;
use sinew_geometry::{Aabb, TriMesh};
use sinew_math::Vec3;

use crate::contact::{ContactMode, Party, RestContact, TOUCHING};
use crate::model::Model;
use crate::state::State;
use crate::surface_check::{SAMPLES, SurfacePlaces, overlaps_at};

/// Depth and distance that are rounding, as a share of the size of the smaller of two.
const ROUNDING: f64 = 1e-6;
/// A half-space is a floor where the cosine of its slope is above this.
const FLOOR: f64 = 0.2;
/// Maximum number of lifts until one comes free of another: each takes it past one layer of the other's surface.
const MAX_LIFTS: usize = 16;

/// Two that touch or overlap at the start, or one that overlaps itself.
#[derive(Clone, Debug, PartialEq)]
pub struct StartContact {
    /// The two, or twice the same.
    pub parties: [Party; 2],
    /// Their names.
    pub names: [String; 2],
    /// Contact mode of the pair.
    pub mode: ContactMode,
    /// Pairs of triangles that cross.
    pub crossings: usize,
    /// Maximum depth found; zero where they only touch \[m\].
    pub depth: f64,
    /// Position of the deepest point, of a crossing, or of the nearest point \[m\].
    pub place: [f64; 3],
    /// Which of the two is free to move, and the height by which it must rise \[m\]; `None` where no lift helps.
    pub lift: Option<(usize, f64)>,
}

/// The surfaces at the start of a simulation.
pub struct StartSurfaces<'a> {
    model: &'a Model,
    places: SurfacePlaces,
    up: Vec3,
}

impl<'a> StartSurfaces<'a> {
    /// The surfaces of a state with collider poses; `up` is a unit vector.
    pub fn new(model: &'a Model, state: &State, up: Vec3) -> Self {
        Self { model, places: SurfacePlaces::of_state(model, state), up }
    }

    /// All pairs that touch or overlap; under penalties, only those that overlap. Barriers that leave such places alone
    /// are not among them.
    pub fn contacts(&self) -> Vec<StartContact> {
        let contact = &self.model.surfaces;
        let mut found = Vec::new();
        let overlaps = overlaps_at(self.model, &self.places);
        let is_left = |g: usize, h: usize| contact.rule(g, h).is_some_and(|rule| rule.rest == RestContact::LeftAlone);
        for (&[g, h], overlap) in overlaps
            .iter()
            .filter(|([g, h], _)| !is_left(*g, *h))
            .filter(|([g, h], o)| o.crossings > 0 || o.depth > self.rounding(*g, *h))
        {
            found.push(StartContact {
                parties: [g, h].map(|group| contact.groups[group].party),
                names: [g, h].map(|group| contact.groups[group].name.clone()),
                mode: overlap.mode,
                crossings: overlap.crossings,
                depth: overlap.depth,
                place: overlap.place,
                lift: if g == h { None } else { self.lift(g, h) },
            });
        }
        for (g, h, rule) in contact.pairs().filter(|(g, h, rule)| g != h && rule.mode == ContactMode::Barrier) {
            let reach = TOUCHING * rule.gap;
            let is_known = |known: &StartContact| known.parties == [g, h].map(|group| contact.groups[group].party);
            if is_left(g, h) || found.iter().any(is_known) {
                continue;
            }
            if let Some(place) = self.nearest(g, h, reach) {
                found.push(StartContact {
                    parties: [g, h].map(|group| contact.groups[group].party),
                    names: [g, h].map(|group| contact.groups[group].name.clone()),
                    mode: rule.mode,
                    crossings: 0,
                    depth: 0.0,
                    place: place.to_array(),
                    lift: self.lift(g, h),
                });
            }
        }
        found.sort_by_key(|contact| contact.parties);
        found
    }

    /// Heights by which bodies and rigid bodies must rise so that nothing touches \[m\], the lowest first. What cannot
    /// be freed stays.
    pub fn lifts(&mut self) -> Vec<(Party, f64)> {
        let groups = &self.model.surfaces.groups;
        let mut order: Vec<usize> = (0..groups.len()).filter(|&g| self.is_free(groups[g].party)).collect();
        let bottom = |g: usize| self.heights(g)[0];
        order.sort_by(|&a, &b| bottom(a).total_cmp(&bottom(b)).then(a.cmp(&b)));
        let mut lifts = Vec::new();
        for (k, &g) in order.iter().enumerate() {
            let mut height = 0.0;
            // One lift may take it into something higher.
            for _ in 0..groups.len() {
                let fixed = (0..groups.len()).filter(|h| !order[k..].contains(h));
                let more = fixed.map(|h| if self.must_part(g, h) { self.climb(g, h).unwrap_or(0.0) } else { 0.0 });
                let more = more.fold(0.0, f64::max);
                if more == 0.0 {
                    break;
                }
                height += more;
                self.places.translate(self.model, g, self.up * more);
            }
            if height > 0.0 {
                lifts.push((groups[g].party, height));
            }
        }
        lifts
    }

    /// Whether two have a rule and touch or overlap.
    fn must_part(&self, g: usize, h: usize) -> bool {
        let Some(rule) = self.model.surfaces.rule(g, h) else { return false };
        let reach = if rule.mode == ContactMode::Barrier { TOUCHING * rule.gap } else { 0.0 };
        if self.nearest(g, h, reach).is_none() {
            return false;
        }
        let pair = [g.min(h), g.max(h)];
        let overlaps = overlaps_at(self.model, &self.places);
        rule.mode == ContactMode::Barrier
            || overlaps.get(&pair).is_some_and(|o| o.crossings > 0 || o.depth > self.rounding(g, h))
    }

    /// Which of two to lift, and how far.
    fn lift(&self, g: usize, h: usize) -> Option<(usize, f64)> {
        let groups = &self.model.surfaces.groups;
        let middle = |group: usize| self.heights(group).iter().sum::<f64>();
        let mut order = [(0, g, h), (1, h, g)];
        if middle(g) < middle(h) {
            order.swap(0, 1);
        }
        let free = order.into_iter().filter(|&(_, one, _)| self.is_free(groups[one].party));
        free.filter_map(|(which, one, other)| Some((which, self.climb(one, other)?))).next()
    }

    /// Whether a lift moves it whole: nothing of it is pinned, bound or driven.
    fn is_free(&self, party: Party) -> bool {
        match party {
            Party::Body(body) => {
                let points = self.model.bodies[body].points.clone();
                let is_bound = |point: usize| self.model.kinematics.own_unknown(point).is_none();
                !self.model.pins.iter().any(|pin| pin.body == body) && !points.into_iter().any(is_bound)
            }
            Party::Rigid(rigid) => !self.model.driven.iter().any(|driven| driven.rigid == rigid),
            Party::Collider(_) => false,
        }
    }

    /// Lowest and highest vertex of a group along `up`; a half-space is below everything.
    fn heights(&self, group: usize) -> [f64; 2] {
        let vertices = &self.places.vertices()[self.model.surfaces.groups[group].vertices.clone()];
        let heights = vertices.iter().map(|v| v.dot(self.up));
        heights.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], z| [low.min(z), high.max(z)])
    }

    fn rounding(&self, g: usize, h: usize) -> f64 {
        let size = |group: usize| self.bounds(group).size().max_component();
        let sizes = [size(g), size(h)];
        ROUNDING * sizes.into_iter().filter(|size| *size > 0.0).fold(f64::INFINITY, f64::min)
    }

    fn bounds(&self, group: usize) -> Aabb {
        Aabb::from_points(&self.places.vertices()[self.model.surfaces.groups[group].vertices.clone()])
    }

    /// Distance from a half-space of a point; `None` for other groups.
    fn plane(&self, group: usize) -> Option<(Vec3, f64)> {
        let Party::Collider(index) = self.model.surfaces.groups[group].party else { return None };
        let AnyShape::Plane(plane) = &self.model.colliders[index].shape else { return None };
        let pose = self.places.collider_pose(index);
        let normal = pose.rotation.rotate(plane.normal);
        Some((normal, normal.dot(pose.to_world(plane.point))))
    }

    fn surface(&self, group: usize) -> Option<TriMesh> {
        let contact = &self.model.surfaces;
        let group = &contact.groups[group];
        let first = group.vertices.start as u32;
        let triangles = contact.triangles[group.triangles.clone()].iter().map(|t| t.map(|v| v - first)).collect();
        TriMesh::new(self.places.vertices()[group.vertices.clone()].to_vec(), triangles).ok()
    }

    /// A vertex of either group within `reach` of the other.
    fn nearest(&self, g: usize, h: usize, reach: f64) -> Option<Vec3> {
        let vertices = |group: usize| &self.places.vertices()[self.model.surfaces.groups[group].vertices.clone()];
        for (one, other) in [(g, h), (h, g)] {
            if let Some((normal, offset)) = self.plane(other) {
                return vertices(one).iter().copied().find(|v| normal.dot(*v) - offset <= reach);
            }
        }
        if !self.bounds(g).grown(reach).overlaps(&self.bounds(h)) {
            return None;
        }
        for (one, other) in [(g, h), (h, g)] {
            let (bounds, surface) = (self.bounds(other).grown(reach), self.surface(other)?);
            let winding = surface.winding_numbers();
            let near = RestSurface::new(surface.positions().to_vec(), surface.triangles().to_vec());
            let touches = |v: &Vec3| {
                bounds.contains(*v) && (near.nearest(*v).is_some_and(|(_, _, d)| d <= reach) || winding.at(*v) >= 0.5)
            };
            if let Some(place) = vertices(one).iter().copied().find(touches) {
                return Some(place);
            }
        }
        let pair = [g.min(h), g.max(h)];
        overlaps_at(self.model, &self.places).get(&pair).map(|overlap| Vec3::from(overlap.place))
    }

    /// Height by which `g` must rise to come free of `h` and to keep their gap \[m\].
    fn climb(&self, g: usize, h: usize) -> Option<f64> {
        let rule = self.model.surfaces.rule(g, h)?;
        let kept = if rule.mode == ContactMode::Barrier { rule.gap } else { self.rounding(g, h) };
        if let Some((normal, offset)) = self.plane(h) {
            let slope = normal.dot(self.up);
            let vertices = &self.places.vertices()[self.model.surfaces.groups[g].vertices.clone()];
            let lowest = vertices.iter().map(|v| normal.dot(*v) - offset).fold(f64::INFINITY, f64::min);
            return (slope > FLOOR).then(|| (kept - lowest) / slope);
        }
        let (mut own, other) = (self.surface(g)?, self.surface(h)?);
        let mut height = 0.0;
        for _ in 0..MAX_LIFTS {
            let more = way_out(&own, &other, self.up).max(way_out(&other, &own, -self.up));
            if more == 0.0 {
                return Some(height + kept);
            }
            // A little more than needed, or rounding would leave the deepest point on the surface.
            let more = more * (1.0 + ROUNDING) + 0.1 * kept;
            height += more;
            own = own.mapped(|v| v + self.up * more).ok()?;
        }
        None
    }
}

/// Longest way along `direction` from a sample of `one` inside `other` to where it first leaves it \[m\].
fn way_out(one: &TriMesh, other: &TriMesh, direction: Vec3) -> f64 {
    let (bounds, winding) = (other.bounds(), other.winding_numbers());
    let mut longest = 0.0f64;
    for triangle in 0..one.triangle_count() {
        let corners = one.corners(triangle);
        for weights in SAMPLES {
            let place = (0..3).fold(Vec3::zero(), |sum, k| sum + corners[k] * weights[k]);
            if bounds.contains(place) && winding.at(place) >= 0.5 {
                let ways = (0..other.triangle_count()).filter_map(|t| ray_triangle(place, direction, other.corners(t)));
                longest = longest.max(ways.fold(f64::INFINITY, f64::min));
            }
        }
    }
    if longest.is_finite() { longest } else { 0.0 }
}
