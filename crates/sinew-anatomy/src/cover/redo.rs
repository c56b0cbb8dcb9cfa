//! The cover after a cut or another change of the fine mesh.

use sinew_geometry::{CellMesh, Embedding};
use sinew_math::Vec3;

use super::build::Cover;
use super::error::CoverError;

/// A cover of a changed mesh, and where its nodes were.
#[derive(Clone, Debug)]
pub struct Redone {
    /// The new cover.
    pub cover: Cover,
    /// Each new node in the old cover: with weight one where it is an old node or a copy of one, extrapolated where the
    /// new mesh reaches farther. [`Embedding::positions`] carries positions and velocities over.
    pub old_from_new: Embedding,
}

impl Cover {
    /// Covers a mesh whose topology has changed: cells were separated, removed or split \[Teran05\].
    ///
    /// `old_cells` names for each cell of the changed mesh the cell of the old one it was, or was a part of.
    pub fn redo(&self, fine: &CellMesh, old_cells: &[u32]) -> Result<Redone, CoverError> {
        if old_cells.len() != fine.cell_count() {
            let (what, expected, found) = ("old fine cells", fine.cell_count(), old_cells.len());
            return Err(CoverError::WrongCount { what, expected, found });
        }
        let count = self.cells_of_fine.count();
        if let Some(index) = old_cells.iter().map(|cell| *cell as usize).find(|cell| *cell >= count) {
            return Err(CoverError::OutOfRange { what: "old fine cell", index, count });
        }
        let cover = Self::build(fine, self.size())?;
        let old_from_new = self.nodes_before(&cover, old_cells);
        Ok(Redone { cover, old_from_new })
    }

    /// For each node of the new cover its weights in the old one.
    fn nodes_before(&self, new: &Self, old_cells: &[u32]) -> Embedding {
        let scale = 2.0 / self.size();
        // Cell and weights of each node, and whether the node is a node of that cell.
        let mut places: Vec<Option<(u32, [f64; 4], bool)>> = vec![None; new.mesh.node_count()];
        for (cell, lattice_cell) in new.cells.iter().enumerate() {
            let old = new.fine_cells(cell).0.iter().flat_map(|fine| self.cells_of_fine.of(old_cells[*fine as usize]));
            let same = old.clone().copied().find(|old| self.cells[*old as usize] == *lattice_cell);
            // Every fine cell has a coarse one.
            let Some(old) = same.or_else(|| old.copied().min()) else { continue };
            for (i, node) in new.mesh.cell_nodes(cell).iter().enumerate() {
                let place = &mut places[*node as usize];
                if same.is_some() && !place.is_some_and(|(_, _, is_node)| is_node) {
                    let mut weights = [0.0; 4];
                    weights[i] = 1.0;
                    *place = Some((old, weights, true));
                } else if place.is_none() {
                    let p = new.mesh.positions()[*node as usize] * scale;
                    *place = Some((old, self.cells[old as usize].weights(p), false));
                }
            }
        }
        let (mut ends, mut nodes, mut weights, mut cells) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (old, w, _) in places.into_iter().flatten() {
            for (node, w) in self.mesh.cell_nodes(old as usize).iter().zip(w).filter(|(_, w)| *w != 0.0) {
                nodes.push(*node);
                weights.push(w);
            }
            ends.push(nodes.len() as u32);
            cells.push(old);
        }
        Embedding::from_rows(&ends, nodes, weights, cells).expect("rows were appended in order")
    }
}

impl Redone {
    /// Values at the nodes of the new cover, from those at the nodes of the old one: positions, velocities.
    pub fn carried(&self, old: &[Vec3]) -> Vec<Vec3> {
        let mut new = vec![Vec3::zero(); self.old_from_new.len()];
        self.old_from_new.positions(old, &mut new);
        new
    }
}
