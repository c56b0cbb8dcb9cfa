//! The cover and how it is built.

use sinew_geometry::mesh::NodeCells;
use sinew_geometry::{CellKind, CellMesh, Embedding};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::bind::{CubeTable, bind_nodes};
use super::error::CoverError;
use super::fragments::Fragments;
use super::lattice_cell::LatticeCell;
use super::merge::{CopiesOfFine, Merged, merge};
use crate::mesher::Lattice;

/// Largest number of lattice cells in the box around a mesh, and of cells that its volume needs: indices take four
/// bytes each.
const MAX_CELLS: f64 = 2e9;

/// Farthest cube from the origin: lattice coordinates are integers of 32 bits, counted in half cubes.
pub(super) const MAX_REACH: f64 = 1e9;

/// A coarse mesh of lattice cells around a fine mesh, which it carries.
#[derive(Clone, Debug)]
pub struct Cover {
    /// The coarse cells. More than two may share a face where copies meet, see [`CellMesh::branching`].
    pub mesh: CellMesh,
    /// Nodes and weights of each node of the fine mesh in the coarse one.
    pub embedding: Embedding,
    /// Counts.
    pub report: CoverReport,
    pub(super) lattice: Lattice,
    pub(super) cells: Vec<LatticeCell>,
    pub(super) table: CubeTable,
    /// Fine cells of coarse cell c: entries `fine_offsets[c]..fine_offsets[c + 1]`.
    pub(super) fine_offsets: Vec<usize>,
    pub(super) fine_cells: Vec<u32>,
    /// Volumes of the parts of these fine cells \[m³\].
    pub(super) fine_volumes: Vec<f64>,
    /// Coarse cells of each fine cell, in compressed rows.
    pub(super) cells_of_fine: CellsOfFine,
}

/// Coarse cells of each fine cell, in compressed rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CellsOfFine {
    offsets: Vec<u32>,
    cells: Vec<u32>,
}

impl CellsOfFine {
    pub fn of(&self, fine: u32) -> &[u32] {
        &self.cells[self.offsets[fine as usize] as usize..self.offsets[fine as usize + 1] as usize]
    }

    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// How many cells and parts there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoverReport {
    /// Cells of the fine mesh.
    pub fine_cells: usize,
    /// Coarse cells.
    pub cells: usize,
    /// Coarse nodes.
    pub nodes: usize,
    /// Lattice cells that hold some of the mesh: coarse cells without further copies.
    pub lattice_cells: usize,
    /// Connected components of the fine mesh.
    pub fine_components: usize,
    /// Connected components of the cover; equal to those of the fine mesh.
    pub components: usize,
    /// Volume of the fine mesh divided by that of the cover.
    pub volume_fraction: f64,
}

/// A fine mesh of tetrahedra, ready to be cut.
pub(super) struct FineTets<'a> {
    /// The mesh.
    pub mesh: &'a CellMesh,
    /// Nodes of each cell.
    pub tets: Vec<[u32; 4]>,
    /// Positions of the nodes in half cubes of the lattice.
    pub half_cubes: Vec<Vec3>,
    /// Cells around each node.
    pub node_cells: NodeCells,
}

impl<'a> FineTets<'a> {
    fn new(mesh: &'a CellMesh, lattice: &Lattice) -> Result<Self, CoverError> {
        if let Some(cell) = mesh.cells().position(|(kind, _)| kind != CellKind::Tet4) {
            return Err(CoverError::NotTets { cell });
        }
        let tets = mesh.cells().map(|(_, nodes)| [0, 1, 2, 3].map(|i| nodes[i])).collect();
        let scale = 2.0 / lattice.cell;
        let half_cubes = mesh.positions().par_iter().map(|x| *x * scale).collect();
        Ok(Self { mesh, tets, half_cubes, node_cells: mesh.node_cells() })
    }
}

impl Cover {
    /// Covers a mesh of tetrahedra with lattice cells of a size h \[m\].
    ///
    /// With h a power of two times the spacing of the lattice that the fine mesh was made of, its inner cells lie in one
    /// lattice cell each, and the cover is the fastest. Other sizes, and cells larger than the lattice, are cut. The
    /// cover has the connected components of the fine mesh: parts thinner than h stay in one piece, parts that share no
    /// node stay apart however close they are.
    pub fn build(fine: &CellMesh, size: f64) -> Result<Self, CoverError> {
        let lattice = checked_lattice(fine, size)?;
        let tets = FineTets::new(fine, &lattice)?;
        let fragments = Fragments::new(&tets);
        let copies_of_fine = CopiesOfFine::new(tets.tets.len(), &fragments);
        let merged = merge(&tets, &fragments, &copies_of_fine);
        Self::assembled(&tets, lattice, &fragments, merged)
    }

    fn assembled(tets: &FineTets, lattice: Lattice, fragments: &Fragments, merged: Merged) -> Result<Self, CoverError> {
        let positions: Vec<Vec3> = merged.nodes.iter().map(|node| lattice.position(*node)).collect();
        let (mesh, found) = CellMesh::branching(positions, vec![sinew_geometry::CellBlock::tets(&merged.tets)])?;
        let (fine_offsets, fine_cells, fine_volumes) = parts_by_cell(fragments, &merged, &lattice);
        let cells_of_fine = cells_of_fine(tets.tets.len(), &fine_offsets, &fine_cells);
        let table = CubeTable::new(&merged.cells);
        let embedding = bind_nodes(tets, &merged, &cells_of_fine);
        let report = CoverReport {
            fine_cells: tets.tets.len(),
            cells: merged.cells.len(),
            nodes: merged.nodes.len(),
            lattice_cells: merged.cells.chunk_by(|a, b| a == b).count(),
            fine_components: tets.mesh.components().count,
            components: found.component_count,
            volume_fraction: tets.mesh.volume() / (merged.cells.len() as f64 * lattice_cell_volume(&lattice)),
        };
        let cells = merged.cells;
        Ok(Self {
            mesh,
            embedding,
            report,
            lattice,
            cells,
            table,
            fine_offsets,
            fine_cells,
            fine_volumes,
            cells_of_fine,
        })
    }

    /// Size h of the lattice \[m\]: its long edges.
    pub fn size(&self) -> f64 {
        self.lattice.cell
    }

    /// The lattice cell of each coarse cell; copies follow each other.
    pub fn lattice_cells(&self) -> &[LatticeCell] {
        &self.cells
    }

    /// Class of each coarse cell, 0 to 5: the rotation of the rest shape, see [`super::rotation_of_class`].
    pub fn classes(&self) -> Vec<u8> {
        self.cells.iter().map(|cell| cell.class).collect()
    }

    /// Fine cells that reach into a coarse cell, ascending, and the volumes of these parts \[m³\].
    pub fn fine_cells(&self, cell: usize) -> (&[u32], &[f64]) {
        let range = self.fine_offsets[cell]..self.fine_offsets[cell + 1];
        (&self.fine_cells[range.clone()], &self.fine_volumes[range])
    }

    /// Coarse cells that a fine cell reaches into.
    pub fn cells_of_fine(&self, fine: usize) -> &[u32] {
        self.cells_of_fine.of(fine as u32)
    }
}

/// Volume of each cell of a lattice \[m³\].
pub(super) fn lattice_cell_volume(lattice: &Lattice) -> f64 {
    lattice.cell.powi(3) / 12.0
}

/// A lattice of this size, if it is one and not too fine for the mesh.
fn checked_lattice(fine: &CellMesh, size: f64) -> Result<Lattice, CoverError> {
    if !(size > 0.0 && size.is_finite()) {
        return Err(CoverError::Size { size });
    }
    let bounds = fine.bounds();
    let cubes = (bounds.size() / size).map(|n| n + 3.0);
    let reach = bounds.min.abs().max(bounds.max.abs()).max_component() / size;
    let cells = cubes.x * cubes.y * cubes.z * 12.0;
    if !(cells <= MAX_CELLS) || !(reach < MAX_REACH) {
        let fitting = (size * (cells / MAX_CELLS).cbrt().max(reach / MAX_REACH) * 1.1).max(size);
        return Err(CoverError::TooFine { size, cells, limit: MAX_CELLS, fitting });
    }
    Ok(Lattice { cell: size })
}

/// Offsets, fine cells and volumes \[m³\] of the parts in each coarse cell.
fn parts_by_cell(fragments: &Fragments, merged: &Merged, lattice: &Lattice) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let cell_of = |part: usize| merged.cell_of_copy[fragments.copy_of_part[part] as usize] as usize;
    let mut offsets = vec![0; merged.cells.len() + 1];
    for part in 0..fragments.parts.len() {
        offsets[cell_of(part) + 1] += 1;
    }
    for cell in 0..merged.cells.len() {
        offsets[cell + 1] += offsets[cell];
    }
    let mut next = offsets.clone();
    let mut cells = vec![0; fragments.parts.len()];
    let mut volumes = vec![0.0; fragments.parts.len()];
    let unit = lattice_cell_volume(lattice);
    for (i, part) in fragments.parts.iter().enumerate() {
        let slot = &mut next[cell_of(i)];
        cells[*slot] = part.fine;
        volumes[*slot] = part.volume * unit;
        *slot += 1;
    }
    (offsets, cells, volumes)
}

fn cells_of_fine(fine_count: usize, fine_offsets: &[usize], fine_cells: &[u32]) -> CellsOfFine {
    let mut offsets = vec![0_u32; fine_count + 1];
    for fine in fine_cells {
        offsets[*fine as usize + 1] += 1;
    }
    for i in 0..fine_count {
        offsets[i + 1] += offsets[i];
    }
    let mut next = offsets.clone();
    let mut cells = vec![0; fine_cells.len()];
    for cell in 0..fine_offsets.len() - 1 {
        for fine in &fine_cells[fine_offsets[cell]..fine_offsets[cell + 1]] {
            let slot = &mut next[*fine as usize];
            cells[*slot as usize] = cell as u32;
            *slot += 1;
        }
    }
    CellsOfFine { offsets, cells }
}
