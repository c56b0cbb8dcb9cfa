//! One conforming mesh of many solids that touch, in the manner of lattice cleaving \[Bronson14\].
//!
//! A node of the lattice belongs to the solid with the smallest distance there, or to the background if all are
//! positive. Edges between labels are cut where the two distances are equal, nodes near a cut move to it, and each cell
//! is replaced by pieces of one label (`labeled_cell.rs`). A cell that would get an angle below 8° gives its nodes
//! back to the lattice: they return, and the edges around them are cut in the middle, which leaves good angles for every
//! pattern of labels. So this always ends.

use sinew_geometry::{Aabb, CellMesh};
use sinew_math::Vec3;

use super::improve::improve_on;
use super::labeled_cell::{BACKGROUND, Label};
use super::labeled_lattice::LabeledLattice;
use super::quality::dihedral_range_of;
use super::sides::Sides;
use super::stuff::RawMesh;
use super::{Lattice, MeshError, MeshOptions};
use crate::Solid;

/// Most solids of one mesh.
pub const MAX_SOLIDS: usize = 60_000;

/// One mesh of many solids.
#[derive(Clone, Debug)]
pub struct Many {
    /// All cells; the label of a cell is the number of its solid.
    pub mesh: CellMesh,
    /// For each solid, its volume in the mesh \[m³\]; zero if it has no cell.
    pub volumes: Vec<f64>,
    /// What a user should know.
    pub report: ManyReport,
}

/// What a user should know about a mesh of many solids.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ManyReport {
    /// Smallest angle between two faces of a cell \[rad\].
    pub min_dihedral: f64,
    /// Largest angle between two faces of a cell \[rad\].
    pub max_dihedral: f64,
    /// Nodes of the lattice that were given back: the interfaces around them are up to half a cell off.
    pub fallback_nodes: usize,
    /// Nodes that were moved to improve angles.
    pub moved_nodes: usize,
}

/// Distances of many solids, with the background between them.
pub(crate) struct Field<'a> {
    pub solids: &'a [&'a dyn Solid],
}

impl Field<'_> {
    /// Value whose minimum decides: the distance of a solid, zero for the background.
    #[inline]
    pub fn value(&self, label: Label, p: Vec3) -> f64 {
        if label == BACKGROUND { 0.0 } else { self.solids[usize::from(label) - 1].distance(p) }
    }

    /// The label of a point among some candidates: a solid wins over the background only if it is inside.
    pub fn label(&self, candidates: &[Label], p: Vec3) -> Result<Label, MeshError> {
        let mut best = (BACKGROUND, 0.0);
        for label in candidates.iter().copied().filter(|label| *label != BACKGROUND) {
            let value = self.value(label, p);
            if value.is_nan() {
                return Err(MeshError::NotFinite { at: p });
            }
            if value < best.1 {
                best = (label, value);
            }
        }
        Ok(best.0)
    }

    /// Labels that a point within `reach` \[m\] of p may have.
    pub fn candidates(&self, p: Vec3, reach: f64) -> Result<Vec<Label>, MeshError> {
        let values: Vec<f64> = (0..=self.solids.len()).map(|label| self.value(label as Label, p)).collect();
        if values.iter().any(|value| value.is_nan()) {
            return Err(MeshError::NotFinite { at: p });
        }
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        let near = |label: &usize| values[*label] <= best + 2.0 * reach;
        Ok((0..values.len()).filter(near).map(|label| label as Label).collect())
    }
}

/// Fills many solids with one conforming mesh: cells of neighbors share their faces.
///
/// Solids are numbered in their order; where two overlap, the deeper one wins. All dihedral angles are at least 8° and
/// at most 172°.
///
/// # Errors
/// [`MeshError`] as for one solid; a solid without a cell is no error unless all have none.
pub fn mesh_many(solids: &[&dyn Solid], options: &MeshOptions) -> Result<Many, MeshError> {
    if solids.len() > MAX_SOLIDS {
        return Err(MeshError::TooManySolids { count: solids.len(), limit: MAX_SOLIDS });
    }
    let bounds = solids.iter().map(|solid| solid.bounds()).filter(|bounds| !bounds.is_empty());
    let bounds = bounds.fold(Aabb::EMPTY, |all, bounds| all.union(&bounds));
    let field = Field { solids };
    let lattice = Lattice { cell: options.cell };
    let mut labeled = LabeledLattice::new(lattice, &bounds, options.max_cells, &field)?;
    let fallback_nodes = labeled.settle();
    let (mut raw, labels) = labeled.into_cells();
    if raw.tets.is_empty() {
        return Err(MeshError::TooCoarse { cell: options.cell, size: bounds.size().max_component() });
    }
    let sides = Sides::new(&mut raw, &labels, &field, options.cell);
    let moved_nodes = if options.improve { improve_on(&mut raw, &sides, options.cell) } else { 0 };
    finish(raw, labels, solids.len(), fallback_nodes, moved_nodes)
}

fn finish(
    raw: RawMesh,
    labels: Vec<Label>,
    solid_count: usize,
    fallback_nodes: usize,
    moved_nodes: usize,
) -> Result<Many, MeshError> {
    let (min_dihedral, max_dihedral) = dihedral_range_of(&raw.positions, &raw.tets);
    let mut volumes = vec![0.0; solid_count];
    for (cell, label) in labels.iter().enumerate() {
        volumes[usize::from(*label) - 1] += raw.volume(cell as u32);
    }
    let labels = labels.iter().map(|label| u32::from(*label) - 1).collect();
    let mesh = CellMesh::from_conforming_tets(raw.positions, raw.tets)?.with_cell_labels(labels)?;
    Ok(Many { mesh, volumes, report: ManyReport { min_dihedral, max_dihedral, fallback_nodes, moved_nodes } })
}
