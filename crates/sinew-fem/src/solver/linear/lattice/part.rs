//! One body on a lattice: its cycle, and what holds its nodes.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sinew_lattice::{EmbeddedSprings, Multigrid, MultigridParams, TangentKind};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::sparse::BlockCsr;
use sinew_math::{Mat3, Vec3};

use super::super::backend::SolveFailure;
use super::super::contact_operator::{ContactOperator, ContactsWithin};
use super::super::plan::AssemblyPlan;
use crate::force::{Anchor, Attachment};
use crate::lattice::LatticeBlock;
use crate::model::Model;

/// What is left of a block without its springs, over the block, that f32 cannot tell from nothing.
const TIED_ROUNDING: f32 = 1e-5;

/// One body on a lattice.
pub(super) struct LatticePart {
    pub unknowns: Range<usize>,
    pub multigrid: Multigrid,
    pub rest: Vec<Vec3>,
    /// One for components that may move, zero for others.
    pub free: Vec<Vec3<f32>>,
    /// What springs between nodes add to blocks of B, by slot: the cycle has them as they are.
    tied: Vec<(u32, f32)>,
    /// Unknowns that B couples to others before them.
    coupled: Vec<u32>,
    pub displacements: Vec<Vec3>,
    pub anchors: Vec<Mat3<f32>>,
    contacts: ContactsWithin,
    pub product: Vec<Vec3<f32>>,
    pub wide_product: Vec<Vec3>,
}

impl LatticePart {
    pub fn new(model: &Model, plan: &AssemblyPlan, block: &LatticeBlock, cycle: MultigridParams) -> Self {
        let fixed: Vec<[bool; 3]> = block.unknowns().map(|unknown| model.kinematics.fixed(unknown)).collect();
        let ties = ties_of(model, block);
        let mut tied = Vec::new();
        for (stiffness, entries) in ties.iter() {
            for &(a, weight) in entries {
                for &(b, other) in entries.iter().filter(|(b, _)| *b <= a) {
                    let [row, column] = [a, b].map(|node| block.unknowns().start + node as usize);
                    tied.extend(
                        plan.pattern.slot(row, column).map(|slot| (slot as u32, stiffness.rows[0][0] * weight * other)),
                    );
                }
            }
        }
        tied.sort_unstable_by_key(|&(slot, _)| slot);
        tied.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let multigrid = Multigrid::new(block.lattice(), block.lame(), &fixed, cycle)
            .and_then(|multigrid| if ties.is_empty() { Ok(multigrid) } else { multigrid.with_ties(ties) })
            .and_then(|multigrid| match block.fibers() {
                Some(fibers) => multigrid.with_fibers(fibers),
                None => Ok(multigrid),
            })
            .expect("flesh at rest is definite, and the coarsest level is small");
        let nodes = fixed.len();
        let is_free = |[x, y, z]: [bool; 3]| Vec3::from([x, y, z].map(|fixed| if fixed { 0.0 } else { 1.0 }));
        Self {
            unknowns: block.unknowns(),
            multigrid,
            rest: (0..nodes).map(|node| block.lattice().node_position(node)).collect(),
            free: fixed.into_iter().map(is_free).collect(),
            tied,
            coupled: block
                .unknowns()
                .filter(|&unknown| plan.pattern.row(unknown).start < plan.pattern.diagonal_slot(unknown))
                .map(|unknown| unknown as u32)
                .collect(),
            displacements: vec![Vec3::zero(); nodes],
            anchors: vec![Mat3::zero(); nodes],
            contacts: ContactsWithin::default(),
            product: vec![Vec3::zero(); nodes],
            wide_product: vec![Vec3::zero(); nodes],
        }
    }

    /// What the sparse matrix has on the nodes, besides springs that the cycle knows: its diagonal blocks, and beside
    /// the diagonal what pulls both nodes the same way, as flesh that is bound between them does. So a node is held no
    /// softer than by that itself.
    pub fn gather_anchors(&mut self, matrix: &BlockCsr<f32>) {
        let pattern = matrix.pattern();
        let mut anchors = std::mem::take(&mut self.anchors);
        for_each_block_mut(&mut anchors[..], SUM_BLOCK, |first, anchors: &mut [Mat3<f32>]| {
            for (k, anchor) in anchors.iter_mut().enumerate() {
                let diagonal = pattern.diagonal_slot(self.unknowns.start + first + k);
                *anchor = self.untied(matrix, diagonal).symmetric_part();
            }
        });
        for &unknown in &self.coupled {
            for slot in pattern.row(unknown as usize).start..pattern.diagonal_slot(unknown as usize) {
                let (other, block) = (pattern.columns()[slot] as usize, self.untied(matrix, slot));
                if self.unknowns.contains(&other) && block.trace() > 0.0 {
                    let block = block.symmetric_part();
                    anchors[unknown as usize - self.unknowns.start] += block;
                    anchors[other - self.unknowns.start] += block;
                }
            }
        }
        self.anchors = anchors;
    }

    /// Contacts of the lattice with itself go into its cycles, others hold its nodes; all of them where `takes_none`.
    pub fn gather_contacts(&mut self, couplings: &ContactOperator, takes_none: bool) {
        couplings.for_each_outer_diagonal(&self.unknowns, takes_none, |unknown, block| {
            self.anchors[unknown - self.unknowns.start] += Mat3::from_f64(block.symmetric_part());
        });
        if !takes_none {
            couplings.gather_within(&self.unknowns, &mut self.contacts);
            self.multigrid.set_contacts(&self.contacts.ties);
        }
    }

    /// A block of B without springs that the cycle knows.
    fn untied(&self, matrix: &BlockCsr<f32>, slot: usize) -> Mat3<f32> {
        let block = matrix.values()[slot];
        if self.tied.is_empty() {
            return block;
        }
        match self.tied.binary_search_by_key(&(slot as u32), |&(slot, _)| slot) {
            Ok(at) => {
                let rest = block - Mat3::identity() * self.tied[at].1;
                // Nothing but rounding, or something else besides.
                if rest.norm() > TIED_ROUNDING * block.norm() { rest } else { Mat3::zero() }
            }
            Err(_) => block,
        }
    }
}

/// Springs at points of the flesh of a lattice between its nodes.
fn ties_of(model: &Model, block: &LatticeBlock) -> EmbeddedSprings {
    let mut ties = EmbeddedSprings::default();
    let kinematics = &model.kinematics;
    let node_of =
        |unknown: u32| block.unknowns().contains(&(unknown as usize)).then(|| unknown - block.unknowns().start as u32);
    for spring in model.forces_of::<Attachment>().flat_map(|attachment| &attachment.springs) {
        if let Some(weights) = kinematics.weighted_sum(spring.point as usize) {
            let nodes = weights.iter().map(|&(unknown, weight)| Some((node_of(unknown)?, weight)));
            if let Some(entries) = nodes.collect::<Option<Vec<_>>>() {
                ties.add(spring.stiffness, entries);
            }
        }
        if let Anchor::Points(points) = &spring.anchor {
            let node = |point: u32| node_of(kinematics.own_unknown(point as usize)?);
            let nodes = points.iter().map(|&(point, weight)| Some((node(point)?, weight)));
            if let Some(entries) = nodes.collect::<Option<Vec<_>>>() {
                ties.add(spring.stiffness, entries);
            }
        }
    }
    ties
}

/// Ignores poison: no code panics while it holds the lock, and scratch is valid whatever it contains.
pub(super) fn lock(parts: &Mutex<Vec<LatticePart>>) -> MutexGuard<'_, Vec<LatticePart>> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn get(parts: &mut Mutex<Vec<LatticePart>>) -> &mut Vec<LatticePart> {
    parts.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The tangent of a lattice at its displacements, held by its anchors; why not, if so.
pub(super) fn linearize(part: &mut LatticePart, definite: f64, factor: f64) -> Option<SolveFailure> {
    let tangent = match definite {
        1.0 => TangentKind::Definite,
        0.0 => TangentKind::Exact,
        share => TangentKind::Blend(share),
    };
    set_anchors(part);
    part.multigrid.linearize(&part.displacements, tangent, factor).err().map(SolveFailure::Factor)
}

/// Holds the lattice by its anchors.
pub(super) fn set_anchors(part: &mut LatticePart) {
    let has_anchors = part.anchors.iter().any(|anchor| *anchor != Mat3::zero());
    part.multigrid.set_anchors(has_anchors.then_some(&part.anchors));
}
