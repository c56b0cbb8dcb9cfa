//! Which labels meet at the nodes of a mesh of many solids, and the surfaces between them.
//!
//! Two labels keep a node to the surface where their distances are equal, three to a line, four to a point. The
//! background has the distance zero. Where two solids touch, both distances vanish all over the interface, so they do
//! not tell where it ends: at a node where they meet the background, the outer surface is seen from within each solid,
//! half a cell to the side of the interface, and the mean of these distances is zero on it, up to the square of half a
//! cell over the radius of curvature.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::constraint::{Constraint, MAX_SHEETS, Sheets};
use super::crowd::Crowd;
use super::labeled_cell::{BACKGROUND, Label};
use super::many::Field;
use super::stuff::RawMesh;

/// Labels of a node that count.
const MOST: usize = MAX_SHEETS + 1;
/// How far to the side of an interface the outer surface is looked at, in cells.
const ASIDE: f64 = 0.5;
/// Slope of the outer distance below which it says nothing: the node is deeper than [`ASIDE`].
const FLAT: f64 = 0.3;
/// A place less far aside must see the outer surface farther away by this many cells.
const GAIN: f64 = 0.02;
/// A solid nearer than this many cells to an exposed node is at it, even if none of its cells is.
const HIDDEN: f64 = 0.05;
/// No rim, no crowd.
const NONE: u32 = u32::MAX;
/// A crowd without a place of its own.
const CROWDED: u32 = u32::MAX - 1;

/// The labels that meet at each node.
pub(crate) struct Sides<'a> {
    field: &'a Field<'a>,
    labels: Vec<NodeLabels>,
    rims: Vec<Rim>,
    crowds: Vec<Crowd>,
    cell: f64,
}

/// The first labels around a node, the background before all others.
#[derive(Clone, Copy)]
struct NodeLabels {
    known: [Label; MOST],
    count: u8,
    /// Number of its rim, if solids meet the background here.
    rim: u32,
    /// Number of its crowd, if there are more labels than fit.
    crowd: u32,
}

/// Where solids meet the background: the ways from the node to the side of each solid \[m\].
type Rim = [Vec3; MAX_SHEETS];

impl NodeLabels {
    fn add(&mut self, label: Label) {
        let used = usize::from(self.count);
        if self.known[..used].contains(&label) {
            return;
        }
        if used < MOST {
            (self.known[used], self.count) = (label, self.count + 1);
        } else if self.known[0] == BACKGROUND {
            self.crowd = CROWDED;
        }
    }

    fn all(&self) -> &[Label] {
        &self.known[..usize::from(self.count)]
    }
}

impl<'a> Sides<'a> {
    /// Finds the labels around nodes and marks those on interfaces.
    pub fn new(raw: &mut RawMesh, labels: &[Label], field: &'a Field<'a>, cell: f64) -> Self {
        let none = NodeLabels { known: [BACKGROUND; MOST], count: 0, rim: NONE, crowd: NONE };
        let mut sides = vec![none; raw.positions.len()];
        for (side, is_exposed) in sides.iter_mut().zip(&raw.on_surface) {
            if *is_exposed {
                side.add(BACKGROUND);
            }
        }
        for (tet, label) in raw.tets.iter().zip(labels) {
            tet.iter().for_each(|node| sides[*node as usize].add(*label));
        }
        for (node, label) in hidden(raw, &sides, field, HIDDEN * cell) {
            sides[node as usize].add(label);
        }
        let mut rims = 0;
        for side in sides.iter_mut().filter(|side| side.known[0] == BACKGROUND && side.count > 2) {
            side.rim = rims;
            rims += 1;
        }
        raw.on_surface = sides.par_iter().map(|side| side.count > 1).collect();
        let rims = rims_of(raw, labels, &sides, rims as usize, ASIDE * cell);
        let crowds = crowds_of(raw, labels, &mut sides, field, cell);
        let mut all = Self { field, labels: sides, rims, crowds, cell };
        all.narrow_rims(&raw.positions);
        all
    }

    /// Looks less far aside where a solid is too narrow for that: from beyond its other side it would seem to end.
    fn narrow_rims(&mut self, positions: &[Vec3]) {
        let narrowed = |(side, p): (&NodeLabels, &Vec3)| {
            let rim = self.rims.get(side.rim as usize)?;
            let solids = &side.all()[1..];
            let seen = |part: f64| (part, self.outer(solids, &rim.map(|way| way * part), *p));
            let narrower = [0.5, 0.25, 0.125].map(seen);
            let (part, _) = narrower
                .into_iter()
                .fold(seen(1.0), |best, other| if other.1 < best.1 - GAIN * self.cell { other } else { best });
            (part < 1.0).then_some((side.rim, part))
        };
        let found: Vec<(u32, f64)> = self.labels.par_iter().zip(positions).filter_map(narrowed).collect();
        for (rim, part) in found {
            self.rims[rim as usize] = self.rims[rim as usize].map(|way| way * part);
        }
    }

    /// Half the difference of the distances of two solids: both change along the normal.
    fn between(&self, a: Label, b: Label, p: Vec3) -> f64 {
        0.5 * (self.field.value(a, p) - self.field.value(b, p))
    }

    /// Distance from the outer surface of some solids that touch at a node.
    fn outer(&self, solids: &[Label], rim: &Rim, p: Vec3) -> f64 {
        let seen = solids.iter().zip(rim).map(|(solid, aside)| self.field.value(*solid, p + *aside));
        seen.sum::<f64>() / solids.len() as f64
    }

    /// Gradients of the distances by central differences.
    fn gradients(&self, node: u32, p: Vec3, step: f64) -> [Vec3; MAX_SHEETS] {
        let along = |k: usize| {
            let way = Vec3::unit(k) * step;
            let (ahead, behind) = (self.distances(node, p + way), self.distances(node, p - way));
            std::array::from_fn::<f64, MAX_SHEETS, _>(|sheet| (ahead[sheet] - behind[sheet]) / (2.0 * step))
        };
        let [x, y, z] = [along(0), along(1), along(2)];
        std::array::from_fn(|sheet| Vec3::new(x[sheet], y[sheet], z[sheet]))
    }

    fn rim(&self, node: u32) -> Option<&Rim> {
        self.rims.get(self.labels[node as usize].rim as usize)
    }

    fn crowd(&self, node: u32) -> Option<&Crowd> {
        self.crowds.get(self.labels[node as usize].crowd as usize)
    }
}

/// Finds where crowded nodes belong and numbers those that belong somewhere.
fn crowds_of(raw: &RawMesh, labels: &[Label], sides: &mut [NodeLabels], field: &Field<'_>, cell: f64) -> Vec<Crowd> {
    let mut nodes: Vec<(u32, Vec<Label>)> = Vec::new();
    for (node, side) in sides.iter_mut().enumerate().filter(|(_, side)| side.crowd == CROWDED) {
        side.crowd = nodes.len() as u32;
        nodes.push((node as u32, Vec::new()));
    }
    for (tet, label) in raw.tets.iter().zip(labels) {
        for node in tet {
            let Some((_, solids)) = nodes.get_mut(sides[*node as usize].crowd as usize) else { continue };
            if !solids.contains(label) {
                solids.push(*label);
            }
        }
    }
    let found = nodes.par_iter().map(|(node, solids)| Crowd::new(field, solids, raw.positions[*node as usize], cell));
    let found: Vec<Option<Crowd>> = found.collect();
    let mut crowds = Vec::new();
    for ((node, _), crowd) in nodes.iter().zip(found) {
        sides[*node as usize].crowd = if crowd.is_some() { crowds.len() as u32 } else { CROWDED };
        crowds.extend(crowd);
    }
    crowds
}

/// Exposed nodes of one solid that lie at another one, too, with its label: a node that was moved to an interface may
/// have cells on one side of it only, and would count as on the outer surface.
fn hidden(raw: &RawMesh, sides: &[NodeLabels], field: &Field<'_>, near: f64) -> Vec<(u32, Label)> {
    let found = raw.changed.par_iter().flat_map_iter(|cell| {
        let tet = raw.tets[*cell as usize];
        let solids: Vec<Label> = tet.iter().flat_map(|node| sides[*node as usize].all()).copied().collect();
        tet.into_iter().flat_map(move |node| {
            let own = &sides[node as usize];
            let is_alone = own.known[0] == BACKGROUND && own.count == 2;
            let others = solids.clone().into_iter().filter(move |label| is_alone && !own.all().contains(label));
            others.map(move |label| (node, label))
        })
    });
    let mut pairs: Vec<(u32, Label)> = found.collect();
    pairs.par_sort_unstable();
    pairs.dedup();
    pairs.into_par_iter().filter(|(node, label)| field.value(*label, raw.positions[*node as usize]) < near).collect()
}

/// Where the cells of each solid lie around the nodes that have rims.
fn rims_of(raw: &RawMesh, labels: &[Label], sides: &[NodeLabels], count: usize, aside: f64) -> Vec<Rim> {
    let mut sums = vec![([Vec3::zero(); MAX_SHEETS], [0_u32; MAX_SHEETS], 0); count];
    for (tet, label) in raw.tets.iter().zip(labels) {
        for node in tet {
            let side = &sides[*node as usize];
            let Some((sum, cells, number)) = sums.get_mut(side.rim as usize) else { continue };
            let Some(slot) = side.all()[1..].iter().position(|known| known == label) else { continue };
            let center = tet.iter().map(|corner| raw.positions[*corner as usize]).sum::<Vec3>() / 4.0;
            sum[slot] += center - raw.positions[*node as usize];
            cells[slot] += 1;
            *number = usize::from(side.count) - 1;
        }
    }
    let rim = |(sum, cells, solids): ([Vec3; MAX_SHEETS], [u32; MAX_SHEETS], usize)| {
        let ways: Vec<Vec3> = (0..solids).map(|k| sum[k] / f64::from(cells[k].max(1))).collect();
        let mean = ways.iter().copied().sum::<Vec3>() / solids.max(1) as f64;
        let spread = ways.iter().map(|way| (*way - mean).norm()).sum::<f64>() / solids.max(1) as f64;
        let mut rim = Rim::default();
        if spread > 0.0 {
            ways.iter().zip(&mut rim).for_each(|(way, to)| *to = (*way - mean) * (aside / spread));
        }
        rim
    };
    sums.into_iter().map(rim).collect()
}

impl Constraint for Sides<'_> {
    fn distances(&self, node: u32, p: Vec3) -> [f64; MAX_SHEETS] {
        if let Some(crowd) = self.crowd(node) {
            return crowd.distances(p);
        }
        let mut distances = [0.0; MAX_SHEETS];
        match (self.labels[node as usize].all(), self.rim(node)) {
            ([BACKGROUND, first, others @ ..], Some(rim)) => {
                distances[0] = self.outer(&self.labels[node as usize].all()[1..], rim, p);
                // Where more than three solids meet, no point is on all their sides: the outer surface counts.
                let others = if self.labels[node as usize].crowd == CROWDED { &[] } else { others };
                let rest = distances[1..].iter_mut().zip(others);
                rest.for_each(|(distance, other)| *distance = self.between(*first, *other, p));
            }
            ([BACKGROUND, solid], _) => distances[0] = self.field.value(*solid, p),
            ([first, others @ ..], _) => {
                let rest = distances.iter_mut().zip(others);
                rest.for_each(|(distance, other)| *distance = self.between(*first, *other, p));
            }
            ([], _) => {}
        }
        distances
    }

    fn sheets(&self, node: u32, p: Vec3, step: f64) -> Sheets {
        if self.crowd(node).is_some() {
            return Sheets::new([0, 1, 2].map(Vec3::unit));
        }
        let mut gradients = self.gradients(node, p, step);
        if self.rim(node).is_some() && gradients[0].norm() < FLAT {
            // Deeper than the interface is looked at from: farther differences see the outside.
            gradients[0] = self.gradients(node, p, self.cell)[0];
        }
        Sheets::new(gradients)
    }

    fn starts_on_surface(&self) -> bool {
        false
    }
}
