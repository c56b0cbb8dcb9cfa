//! From tables to a phantom: lines are led around bones and past each other, sections get their areas.

use std::f64::consts::PI;
use std::sync::Arc;

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::form::{Part, outside};
use super::model::{Model, Owner, TissueSolid, Unit};
use super::row::{Bone, Row, meters};
use super::sweep::{Station, Sweep};
use super::{Attachment, AttachmentKind, Hinge, Phantom, Tissue, TissueKind};

/// Distance of stations along a line \[m\].
const STATION: f64 = 7e-3;

/// Stress \[Pa\] in tendons at the maximum isometric force: 32 MPa, half of what keeps tendons safe, since theirs are
/// drawn as tubes of fibers with what surrounds them \[Zajac89\].
const TENDON_STRESS: f64 = 32e6;

/// Least half thickness of a tendon \[m\]: a disc of this radius holds a voxel of 2 mm wherever it is.
const TENDON_RADIUS: f64 = 1.6e-3;

/// Depth \[m\] below the surface of a bone at which lines end.
const INSET: f64 = 1.5e-3;

/// Rounds of leading lines around bones and past each other; 40 more change nothing visible.
const ROUNDS: usize = 40;

/// What a phantom is made from.
pub(super) struct Plan {
    pub name: &'static str,
    /// Bones and the like.
    pub firm: Vec<Bone>,
    pub rows: Vec<Row>,
    /// By how much sections grow, in order of `rows`, so that bellies have their volume though they yield to others.
    pub swelling: &'static [f64],
    /// What gets the rest.
    pub soft: Vec<Bone>,
    /// Gaps of joints, and of muscles to bones that they pass \[m\].
    pub gaps: [f64; 2],
    /// Name, fixed tissue, moving tissue and axis \[mm\] of joints.
    pub hinges: Vec<(&'static str, [&'static str; 2], [[f64; 3]; 2])>,
}

/// Makes the phantom. The tables are ours, so a bone that they do not have is a mistake in them.
pub(super) fn build(plan: Plan) -> Phantom {
    let mut list = List::default();
    let firm: Vec<(Part, Option<usize>)> = plan.firm.into_iter().map(|bone| list.part(bone, Owner::Firm)).collect();
    let ends: Vec<[usize; 2]> = plan.rows.iter().map(|row| row.bones.map(|bone| list.find(bone))).collect();
    let part = |bone: usize| firm.iter().find(|(_, tissue)| *tissue == Some(bone)).map_or(&firm[0].0, |(part, _)| part);
    let ends: Vec<[&Part; 2]> = ends.iter().map(|bones| bones.map(part)).collect();
    let lines = lead(&plan.rows, &ends, &firm, plan.swelling);
    let mut attachments = Vec::new();
    let mut units = Vec::new();
    for ((row, line), i) in plan.rows.iter().zip(lines).zip(0..) {
        let swelling = plan.swelling.get(i).copied().unwrap_or(1.0);
        let unit = list.unit(row, sweep(row, &line, swelling), i);
        attachments.extend(list.attachments(&unit));
        units.push(unit);
    }
    list.count = 0;
    let soft = plan.soft.into_iter().map(|bone| list.part(bone, Owner::Soft)).collect();
    let hinges = plan.hinges.iter().map(|&(name, [fixed, moving], axis)| Hinge {
        name,
        fixed: list.find(fixed),
        moving: list.find(moving),
        axis: axis.map(meters),
    });
    let hinges = hinges.collect();
    let [joint_gap, muscle_gap] = plan.gaps;
    let model = Arc::new(Model { firm, units, soft, owners: list.owners, joint_gap, muscle_gap });
    let solid = |tissue: usize| TissueSolid { model: model.clone(), tissue };
    let tissues = list.drafts.into_iter().enumerate().map(|(i, draft)| draft.tissue(solid(i))).collect();
    Phantom { name: plan.name, tissues, attachments, hinges, model }
}

/// A tissue before there is a model.
struct Draft {
    name: String,
    kind: TissueKind,
    belongs_to: Option<String>,
    literature_volume: Option<f64>,
    pennation: f64,
}

impl Draft {
    fn tissue(self, solid: TissueSolid) -> Tissue {
        let Self { name, kind, belongs_to, literature_volume, pennation } = self;
        Tissue { name, kind, belongs_to, literature_volume, pennation, solid }
    }
}

/// Tissues in order.
#[derive(Default)]
struct List {
    drafts: Vec<Draft>,
    owners: Vec<Owner>,
    /// Parts of the present kind.
    count: usize,
}

impl List {
    fn add(&mut self, draft: Draft, owner: Owner) -> usize {
        self.drafts.push(draft);
        self.owners.push(owner);
        self.drafts.len() - 1
    }

    fn part(&mut self, bone: Bone, owner: fn(usize) -> Owner) -> (Part, Option<usize>) {
        let Bone { name, kind, belongs_to, part, is_hidden } = bone;
        self.count += 1;
        if is_hidden {
            return (part, None);
        }
        let draft = Draft { name, kind, belongs_to, literature_volume: None, pennation: 0.0 };
        (part, Some(self.add(draft, owner(self.count - 1))))
    }

    fn find(&self, name: &str) -> usize {
        self.drafts.iter().position(|draft| draft.name == name).expect("tables name only bones that they have")
    }

    /// Adds the tissues of a head: its belly, then its tendons.
    fn unit(&mut self, row: &Row, sweep: Sweep, i: usize) -> Unit {
        let name = row.name();
        let belly = Draft {
            name: name.clone(),
            kind: TissueKind::Muscle,
            belongs_to: (!row.head.is_empty()).then(|| row.muscle.into()),
            literature_volume: row.has_source.then_some(row.volume * 1e-6),
            pennation: row.pennation.to_radians(),
        };
        let belly = self.add(belly, Owner::Unit(i, 1));
        let mut tendon = |exists: bool, word: &str, portion: usize| {
            let name_of = |name: &str| format!("{name}_{word}");
            let draft = Draft {
                name: name_of(&name),
                kind: TissueKind::Tendon,
                belongs_to: Some(name.clone()),
                literature_volume: None,
                pennation: 0.0,
            };
            exists.then(|| self.add(draft, Owner::Unit(i, portion)))
        };
        let tissues =
            [tendon(row.belly[0] > 0.0, "origin_tendon", 0), Some(belly), tendon(row.belly[1] < 1.0, "tendon", 2)];
        let length = sweep.length();
        // A fleshy end has no cut: the rounding beyond the last station is belly, too.
        let cut = [
            if row.belly[0] > 0.0 { row.belly[0] * length } else { -1.0 },
            if row.belly[1] < 1.0 { row.belly[1] * length } else { length + 1.0 },
        ];
        let bones = row.bones.map(|bone| self.find(bone));
        let sides = row.sides.iter().map(|&[p, normal]| [meters(p), Vec3::from(normal).normalized()]).collect();
        Unit { sweep, cut, tissues, sides, reach: row.reach.map(|r| r * 1e-3), bones }
    }

    fn attachments(&self, unit: &Unit) -> [Attachment; 2] {
        let belly = unit.tissues[1].expect("every head has a belly");
        let stations = &unit.sweep.stations;
        let at = |end: usize, kind: AttachmentKind, point: Vec3| Attachment {
            tissue: unit.tissues[2 * end].unwrap_or(belly),
            belly,
            bone: unit.bones[end],
            kind,
            point,
            reach: unit.reach[end],
        };
        [at(0, AttachmentKind::Origin, stations[0].p), at(1, AttachmentKind::Insertion, stations[stations.len() - 1].p)]
    }
}

/// Points at equal steps along the Catmull–Rom spline (centripetal would differ little here) through a path.
fn resample(path: &[Vec3]) -> Vec<Vec3> {
    let last = path.len() - 1;
    let at = |i: isize| match i {
        -1 => path[0] * 2.0 - path[1],
        i if i as usize > last => path[last] * 2.0 - path[last - 1],
        i => path[i as usize],
    };
    let mut dense = Vec::new();
    for i in 0..last as isize {
        let [a, b, c, d] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
        for k in 0..32 {
            let t = f64::from(k) / 32.0;
            let curve = b * 2.0
                + (c - a) * t
                + (a * 2.0 - b * 5.0 + c * 4.0 - d) * (t * t)
                + (b * 3.0 - a - c * 3.0 + d) * (t * t * t);
            dense.push(curve * 0.5);
        }
    }
    dense.push(path[last]);
    equal_steps(&dense)
}

fn lengths(points: &[Vec3]) -> Vec<f64> {
    let mut sum = 0.0;
    let steps = points.windows(2).map(|pair| {
        sum += pair[0].distance(pair[1]);
        sum
    });
    std::iter::once(0.0).chain(steps).collect()
}

fn equal_steps(points: &[Vec3]) -> Vec<Vec3> {
    let along = lengths(points);
    let total = along[along.len() - 1];
    let count = ((total / STATION).round() as usize).clamp(8, 80);
    let at = |k: usize| {
        let s = total * k as f64 / count as f64;
        let i = along.partition_point(|&l| l <= s).clamp(1, along.len() - 1);
        let t = (s - along[i - 1]) / (along[i] - along[i - 1]).max(1e-12);
        points[i - 1].lerp(points[i], t.min(1.0))
    };
    (0..=count).map(at).collect()
}

fn firm_distance(firm: &[(Part, Option<usize>)], p: Vec3) -> f64 {
    firm.iter().fold(
        f64::INFINITY,
        |least, (part, _)| {
            if outside(&part.bounds, p) < least { least.min(part.distance(p)) } else { least }
        },
    )
}

/// Direction away from the nearest firm part.
fn outward(distance: impl Fn(Vec3) -> f64, p: Vec3) -> Vec3 {
    let step = 1e-4;
    let along = |axis: usize| distance(p + Vec3::unit(axis) * step) - distance(p - Vec3::unit(axis) * step);
    let gradient = Vec3::new(along(0), along(1), along(2));
    gradient / gradient.norm().max(1e-12)
}

/// Moves the end of a line onto its bone, just below the surface.
fn settle(bone: &Part, mut p: Vec3) -> Vec3 {
    for _ in 0..20 {
        p -= outward(|x| bone.distance(x), p) * (bone.distance(p) + INSET);
    }
    p
}

/// A line while it is led: displacements from where the table has it.
struct Lead {
    rest: Vec<Vec3>,
    shift: Vec<Vec3>,
    /// Room that each station wants from bones \[m\].
    from_bones: Vec<f64>,
    /// Room that each station wants from other lines \[m\].
    from_lines: Vec<f64>,
}

impl Lead {
    fn at(&self, k: usize) -> Vec3 {
        self.rest[k] + self.shift[k]
    }

    fn points(&self) -> Vec<Vec3> {
        (0..self.rest.len()).map(|k| self.at(k)).collect()
    }

    /// A box around all the room that it wants.
    fn bounds(&self) -> Aabb {
        let room = self.from_lines.iter().copied().fold(0.0, f64::max);
        Aabb::from_points(&self.points()).grown(room)
    }

    /// Spreads displacements along the line, so that it stays smooth. Its ends stay.
    fn smooth(&mut self) {
        let old = self.shift.clone();
        for k in 1..old.len() - 1 {
            self.shift[k] = old[k] * 0.5 + (old[k - 1] + old[k + 1]) * 0.25;
        }
    }

    fn avoid_bones(&mut self, firm: &[(Part, Option<usize>)]) {
        for k in 1..self.rest.len() - 1 {
            let p = self.at(k);
            let distance = firm_distance(firm, p);
            if distance < self.from_bones[k] {
                self.shift[k] += outward(|x| firm_distance(firm, x), p) * (self.from_bones[k] - distance);
            }
        }
    }
}

/// Lines from bone to bone that pass bones and each other.
fn lead(rows: &[Row], ends: &[[&Part; 2]], firm: &[(Part, Option<usize>)], swelling: &[f64]) -> Vec<Vec<Vec3>> {
    let mut leads: Vec<Lead> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        leads.push(start(row, ends[i], swelling.get(i).copied().unwrap_or(1.0)));
    }
    for round in 0..ROUNDS {
        part_lines(&mut leads);
        leads.iter_mut().for_each(|lead| lead.avoid_bones(firm));
        // The last word is that of the bones.
        if round + 1 < ROUNDS {
            leads.iter_mut().for_each(Lead::smooth);
        }
    }
    leads.iter().map(|lead| equal_steps(&lead.points())).collect()
}

fn start(row: &Row, ends: [&Part; 2], swelling: f64) -> Lead {
    let mut rest = resample(&row.path.iter().copied().map(meters).collect::<Vec<_>>());
    let last = rest.len() - 1;
    let moved = [settle(ends[0], rest[0]) - rest[0], settle(ends[1], rest[last]) - rest[last]];
    // The ends take the next stations with them.
    for k in 0..=last {
        let near = |from: usize| (1.0 - from as f64 / 4.0).max(0.0);
        rest[k] += moved[0] * near(k) + moved[1] * near(last - k);
    }
    let sections = sections(row, &rest, swelling);
    let total = lengths(&rest)[last];
    let room = |k: usize, tendon: f64, belly: f64, extra: f64| {
        let f = k as f64 / last as f64;
        let full =
            if f < row.belly[0] || f > row.belly[1] { sections[k].1 * tendon + extra } else { sections[k].1 * belly };
        // Ends are on bones: the room opens over the attachment.
        let open = |length: f64, reach: f64| (length / (1e-3 * reach).min(15e-3)).min(1.0);
        full * open(f * total, row.reach[0]).min(open((1.0 - f) * total, row.reach[1]))
    };
    let from_bones = (0..=last).map(|k| room(k, 1.0, 0.5, 1.3e-3)).collect();
    let from_lines = (0..=last).map(|k| room(k, 1.0, 0.55, 0.2e-3)).collect();
    Lead { shift: vec![Vec3::zero(); rest.len()], rest, from_bones, from_lines }
}

/// Pushes stations of different lines apart, half each; the order is that of the table.
fn part_lines(leads: &mut [Lead]) {
    let boxes: Vec<Aabb> = leads.iter().map(Lead::bounds).collect();
    for i in 1..leads.len() {
        let (before, from) = leads.split_at_mut(i);
        let own = &mut from[0];
        for (_, other) in before.iter_mut().enumerate().filter(|(j, _)| boxes[*j].overlaps(&boxes[i])) {
            for k in 1..own.rest.len() - 1 {
                for m in 1..other.rest.len() - 1 {
                    let (want, way) = (own.from_lines[k] + other.from_lines[m], own.at(k) - other.at(m));
                    if way.norm_squared() < want * want {
                        let distance = way.norm().max(1e-6);
                        let push = way * ((want - distance) / distance * 0.25);
                        own.shift[k] += push;
                        other.shift[m] -= push;
                    }
                }
            }
        }
    }
}

/// Half width and half thickness \[m\] at each station.
fn sections(row: &Row, line: &[Vec3], swelling: f64) -> Vec<(f64, f64)> {
    let last = line.len() - 1;
    let total = lengths(line)[last];
    let tendon = (row.force / TENDON_STRESS).max(PI * TENDON_RADIUS * TENDON_RADIUS);
    let [from, to] = row.belly;
    let is_fleshy = [from <= 0.0, to >= 1.0];
    // Area in the belly: from one end to the largest and to the other end, (1 − w) · end + w · largest.
    let bulge = |f: f64| {
        let x = ((f - from) / (to - from)).clamp(0.0, 1.0);
        let (x, end) = if x < 0.45 { (x / 0.45, 0) } else { ((1.0 - x) / 0.55, 1) };
        ((0.5 * PI * x).sin().powf(1.3), end)
    };
    let wanted = row.volume * 1e-6 * swelling / (total * (to - from));
    let (mut of_largest, mut fixed) = (0.0, 0.0);
    for k in 0..64 {
        let (w, end) = bulge(from + (to - from) * (f64::from(k) + 0.5) / 64.0);
        of_largest += (w + if is_fleshy[end] { (1.0 - w) * row.ends[end] } else { 0.0 }) / 64.0;
        fixed += if is_fleshy[end] { 0.0 } else { (1.0 - w) * 1.6 * tendon / 64.0 };
    }
    let largest = ((wanted - fixed) / of_largest).max(1.7 * tendon);
    let section = |k: usize| {
        let f = k as f64 / last as f64;
        let (w, end) = bulge(f);
        // A tendon is 1.6 times as thick where it takes up the fibers, and tapers within a third of its length.
        let into = if f < from {
            (from - f) / from
        } else if f > to {
            (f - to) / (1.0 - to)
        } else {
            0.0
        };
        let taper = 1.6 - 0.6 * (3.0 * into).min(1.0);
        let foot = if is_fleshy[end] { row.ends[end] * largest } else { taper * tendon };
        let area = foot + (largest - foot) * w;
        let flat = row.flat[2 * end] + (row.flat[1] - row.flat[2 * end]) * w;
        let b = (area / (PI * flat)).sqrt().max(TENDON_RADIUS.min((area / PI).sqrt()));
        ((b * flat).max(area / (PI * b)), b)
    };
    (0..=last).map(section).collect()
}

/// The head along its line.
fn sweep(row: &Row, line: &[Vec3], swelling: f64) -> Sweep {
    let (sections, along, last) = (sections(row, line, swelling), lengths(line), line.len() - 1);
    let normals = row.normal.map(Vec3::from);
    let station = |k: usize| {
        let t = (line[(k + 1).min(last)] - line[k.saturating_sub(1)]).normalized();
        let normal = normals[0].lerp(normals[1], k as f64 / last as f64);
        let v = normal - t * normal.dot(t);
        // A normal along the line says nothing; any direction across does.
        let v = if v.norm() > 1e-3 * normal.norm() { v } else { t.cross(Vec3::new(0.3, 0.5, 0.8)) }.normalized();
        let (a, b) = sections[k];
        Station { p: line[k], t, u: v.cross(t), v, a, b, s: along[k] }
    };
    Sweep::new((0..=last).map(station).collect())
}
