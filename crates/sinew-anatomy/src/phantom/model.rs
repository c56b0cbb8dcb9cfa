//! Who owns a point: competition among bones, sweeps and soft parts.

use std::sync::Arc;

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::form::{Part, outside};
use super::sweep::{Seen, Sweep};
use crate::Solid;

/// Share of q that counts in a tendon: it stays whole where it runs along a belly that is much thicker.
const TENDON_WEIGHT: f64 = 0.4;

/// Length \[m\] over which a belly's rules become those of its tendon, and over which a muscle leaves its bone.
const RAMP: f64 = 10e-3;

/// One head of a muscle, from bone to bone.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub sweep: Sweep,
    /// Lengths of the line \[m\] at which the belly begins and ends.
    pub cut: [f64; 2],
    /// Tissues of origin tendon, belly and insertion tendon.
    pub tissues: [Option<usize>; 3],
    /// Lengths \[m\] at both ends along which it lies on its bone.
    pub reach: [f64; 2],
    /// Planes (a point and the unit normal to the side it keeps to) that it does not cross near its origin.
    pub sides: Vec<[Vec3; 2]>,
    /// Tissues of the bones of origin and insertion.
    pub bones: [usize; 2],
}

impl Unit {
    /// 0 origin tendon, 1 belly, 2 insertion tendon.
    pub fn portion(&self, s: f64) -> usize {
        if s < self.cut[0] { 0 } else { usize::from(s > self.cut[1]) + 1 }
    }

    /// How much q counts.
    fn weight(&self, s: f64) -> f64 {
        let beyond = (self.cut[0] - s).max(s - self.cut[1]).clamp(0.0, RAMP) / RAMP;
        1.0 + (TENDON_WEIGHT - 1.0) * beyond
    }

    /// Distance \[m\] kept from bones, `full` away from the ends.
    fn gap(&self, s: f64, full: f64) -> f64 {
        let beyond = (s - self.reach[0]).min(self.sweep.length() - self.reach[1] - s);
        full * (beyond / RAMP).clamp(0.0, 1.0)
    }

    /// Signed distance \[m\]: the sweep's, cut by the planes. Beyond the reach of the origin a plane yields, so that what
    /// passes the edge of the bone may cross it.
    fn distance(&self, p: Vec3, seen: &Seen) -> f64 {
        let slack = (seen.s - self.reach[0]).max(0.0);
        self.sides.iter().fold(seen.distance, |distance, [q, normal]| distance.max((*q - p).dot(*normal) - slack))
    }

    /// Distance \[m\] along the line to a portion, negative within.
    fn to_portion(&self, s: f64, portion: usize) -> f64 {
        match portion {
            0 => s - self.cut[0],
            1 => (self.cut[0] - s).max(s - self.cut[1]),
            _ => self.cut[1] - s,
        }
    }
}

/// Which part of the model a tissue is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Firm(usize),
    Unit(usize, usize),
    Soft(usize),
}

/// Everything that competes for space.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Bones, teeth and the like with their tissues, and cavities without; the deeper one wins.
    pub firm: Vec<(Part, Option<usize>)>,
    pub units: Vec<Unit>,
    /// What gets the rest; the first one wins.
    pub soft: Vec<(Part, Option<usize>)>,
    pub owners: Vec<Owner>,
    /// Width \[m\] of joints between bones.
    pub joint_gap: f64,
    /// Distance \[m\] of muscles to bones away from their attachments.
    pub muscle_gap: f64,
}

/// What can own points of a ball.
pub(super) struct Near {
    firm: Vec<usize>,
    units: Vec<(usize, Vec<usize>)>,
    soft: Vec<usize>,
}

impl Near {
    pub fn is_empty(&self) -> bool {
        self.firm.is_empty() && self.units.is_empty() && self.soft.is_empty()
    }
}

impl Model {
    /// All that can own a point within `radius` \[m\] of `center`, and nothing that decides there is left out.
    pub fn near(&self, center: Vec3, radius: f64) -> Near {
        let margin = radius + 1e-9;
        let reach = margin + self.joint_gap.max(self.muscle_gap);
        let within = |parts: &[(Part, Option<usize>)], reach: f64| {
            (0..parts.len()).filter(|&i| outside(&parts[i].0.bounds, center) <= reach).collect()
        };
        let units = self.units.iter().enumerate();
        let units = units.filter_map(|(i, unit)| Some((i, near_segments(&unit.sweep, center, margin)?))).collect();
        Near { firm: within(&self.firm, reach), units, soft: within(&self.soft, margin) }
    }

    /// Tissue at a point, where `near` holds all candidates.
    pub fn tissue_at(&self, p: Vec3, near: &Near) -> Option<usize> {
        let mut bone = (f64::INFINITY, None);
        let mut second = f64::INFINITY;
        for &i in &near.firm {
            let distance = self.firm[i].0.distance(p);
            if distance < bone.0 {
                second = bone.0;
                bone = (distance, self.firm[i].1);
            } else {
                second = second.min(distance);
            }
        }
        if bone.0 < 0.0 {
            return bone.1.filter(|_| bone.0 - second + self.joint_gap < 0.0);
        }
        self.unit_at(p, near, bone.0).unwrap_or_else(|| {
            near.soft.iter().find(|&&i| self.soft[i].0.distance(p) < 0.0).and_then(|&i| self.soft[i].1)
        })
    }

    /// The sweep that owns a point outside of bones; `Some(None)` in the gap between a sweep and a bone.
    fn unit_at(&self, p: Vec3, near: &Near, bone: f64) -> Option<Option<usize>> {
        let mut best: Option<(f64, &Unit, f64)> = None;
        for (i, segments) in &near.units {
            let unit = &self.units[*i];
            let seen = unit.sweep.see(p, segments.iter().copied());
            let q = seen.q * unit.weight(seen.s);
            if unit.distance(p, &seen) < 0.0 && best.is_none_or(|(least, _, _)| q < least) {
                best = Some((q, unit, seen.s));
            }
        }
        let (_, unit, s) = best?;
        Some(unit.tissues[unit.portion(s)].filter(|_| bone > unit.gap(s, self.muscle_gap)))
    }

    /// Distance \[m\] to the nearest firm part but one, if it is less than `limit`; otherwise at least `limit`.
    fn firm_distance(&self, p: Vec3, except: Option<usize>, limit: f64) -> f64 {
        let mut least = limit;
        for (i, (part, _)) in self.firm.iter().enumerate() {
            if Some(i) != except && outside(&part.bounds, p) < least {
                least = least.min(part.distance(p));
            }
        }
        least
    }

    /// Signed distance \[m\] of a tissue: see [`TissueSolid`].
    pub fn distance(&self, tissue: usize, p: Vec3) -> f64 {
        match self.owners[tissue] {
            Owner::Firm(i) => {
                let own = self.firm[i].0.distance(p);
                let limit = self.joint_gap - own;
                own.max((own - self.firm_distance(p, Some(i), limit) + self.joint_gap) / 2.0)
            }
            Owner::Unit(i, portion) => self.unit_distance(i, portion, p),
            Owner::Soft(i) => self.soft_distance(i, p),
        }
    }

    fn unit_distance(&self, i: usize, portion: usize, p: Vec3) -> f64 {
        let unit = &self.units[i];
        // Far away the box is bound enough, and cheap.
        let apart = outside(&unit.sweep.bounds, p);
        if apart > 20e-3 {
            return apart;
        }
        let seen = unit.sweep.see_all(p);
        let mut distance = unit.distance(p, &seen).max(unit.to_portion(seen.s, portion));
        let gap = unit.gap(seen.s, self.muscle_gap);
        distance = distance.max(gap - self.firm_distance(p, None, gap - distance));
        for (j, other) in self.units.iter().enumerate() {
            if j != i && outside(&other.sweep.bounds, p) <= (-distance).max(0.0) {
                distance = distance.max(yielded(unit, &seen, other, p, j < i));
            }
        }
        distance
    }

    fn soft_distance(&self, i: usize, p: Vec3) -> f64 {
        let mut distance = self.soft[i].0.distance(p);
        distance = distance.max(-self.firm_distance(p, None, -distance));
        for (part, _) in &self.soft[..i] {
            distance = distance.max(-part.distance(p));
        }
        for unit in &self.units {
            if outside(&unit.sweep.bounds, p) <= (-distance).max(0.0) {
                distance = distance.max(-unit.distance(p, &unit.sweep.see_all(p)));
            }
        }
        distance
    }
}

/// How deep \[m\] a point of `unit` lies in what `other` takes from it: q differs by as much as both slopes allow.
fn yielded(unit: &Unit, seen: &Seen, other: &Unit, p: Vec3, wins_ties: bool) -> f64 {
    let there = other.sweep.see_all(p);
    let (own, theirs) = (unit.weight(seen.s), other.weight(there.s));
    let difference = seen.q * own - there.q * theirs;
    let depth = difference / (own * seen.steep / seen.b + theirs * there.steep / there.b);
    let depth = if difference == 0.0 && wins_ties { f64::MIN_POSITIVE } else { depth };
    depth.min(-other.distance(p, &there))
}

/// Segments of a line that are nearest to any point of a ball, if the ball can touch the sweep.
fn near_segments(sweep: &Sweep, center: Vec3, radius: f64) -> Option<Vec<usize>> {
    if outside(&sweep.bounds, center) > radius {
        return None;
    }
    let distances: Vec<f64> = (0..sweep.segment_count()).map(|i| sweep.to_segment(center, i).0.sqrt()).collect();
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let widest = sweep.stations.iter().map(|station| station.a.max(station.b)).fold(0.0, f64::max);
    if nearest > widest + radius {
        return None;
    }
    Some((0..distances.len()).filter(|&i| distances[i] <= nearest + 2.0 * radius).collect())
}

/// Where a tissue is, by signed distance: the sign is that of [`tissue_at`](super::Phantom::tissue_at). Near surfaces that
/// are not cut it is right to first order. Where tissues share space it is a lower bound, as of any intersection: for a
/// distance to the surface use [`surface_distance`](super::Phantom::surface_distance).
#[derive(Clone, Debug)]
pub struct TissueSolid {
    pub(super) model: Arc<Model>,
    pub(super) tissue: usize,
}

impl Solid for TissueSolid {
    fn distance(&self, p: Vec3) -> f64 {
        self.model.distance(self.tissue, p)
    }

    fn bounds(&self) -> Aabb {
        match self.model.owners[self.tissue] {
            Owner::Firm(i) => self.model.firm[i].0.bounds,
            Owner::Unit(i, portion) => portion_bounds(&self.model.units[i], portion),
            Owner::Soft(i) => self.model.soft[i].0.bounds,
        }
    }
}

fn portion_bounds(unit: &Unit, portion: usize) -> Aabb {
    let stations = &unit.sweep.stations;
    // A portion can begin within a segment: both of its ends count.
    let mut bounds = Aabb::EMPTY;
    for pair in stations.windows(2) {
        if (unit.portion(pair[0].s)..=unit.portion(pair[1].s)).contains(&portion) {
            for station in pair {
                bounds = bounds.union(&Aabb::from_points([&station.p]).grown(station.a.max(station.b)));
            }
        }
    }
    bounds
}
