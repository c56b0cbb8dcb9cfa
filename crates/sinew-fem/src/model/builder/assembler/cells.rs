//! Cells of bodies: blocks of one kind and law, lattices, and their mass.

use std::collections::BTreeMap;

use sinew_geometry::CellKind;
use sinew_geometry::lattice::HexLattice;
use sinew_math::Vec3;

use super::{Assembler, ModelError};
use crate::elastic::ElasticBlock;
use crate::element::{Element, ElementError, Hex8, RestGeometry, Tet4, Tet10};
use crate::force::Assembly;
use crate::lattice::LatticeBlock;
use crate::material::{Law, MaterialSpec};
use crate::model::BodyParams;
use crate::muscle::Muscle;

impl Assembler {
    /// Groups the cells of a body by kind, law and whether all their nodes are unknowns; lumps their mass.
    pub(super) fn elastic_blocks(
        &mut self,
        index: usize,
        params: &BodyParams,
        point_count: usize,
    ) -> Result<Vec<ElasticBlock>, ModelError> {
        check_cells(params)?;
        let mut groups: BTreeMap<(CellKind, Law, bool), Vec<u32>> = BTreeMap::new();
        for (cell, (kind, nodes)) in params.mesh.cells().enumerate() {
            let is_bound = nodes.iter().any(|&n| self.kinematics.own_unknown(self.point(index, n) as usize).is_none());
            let law = params.materials[cell].law();
            groups.entry((kind, law, is_bound)).or_default().push(cell as u32);
        }
        let mut blocks = Vec::new();
        for ((kind, law, has_bound_nodes), cells) in groups {
            // Parameters differ from cell to cell, but a law with a wrong rest state has it with all of them.
            let cell = cells[0] as usize;
            law.check_rest_state(&params.materials[cell].point()).map_err(|source| ModelError::Material {
                body: params.name.clone(),
                cell,
                source,
            })?;
            let nodes: Vec<u32> = cells.iter().flat_map(|&c| params.mesh.cell_nodes(c as usize)).copied().collect();
            let densities: Vec<f64> = cells.iter().map(|&c| params.densities[c as usize]).collect();
            let specs: Vec<MaterialSpec> = cells.iter().map(|&c| params.materials[c as usize]).collect();
            let group = CellGroup { body: index, first_point: self.first_point[index], cells, nodes, densities, specs };
            let rest = params.mesh.positions();
            let mut block = match kind {
                CellKind::Tet4 => group.into_block::<Tet4, 4>(rest, &mut self.masses, point_count),
                CellKind::Tet10 => group.into_block::<Tet10, 10>(rest, &mut self.masses, point_count),
                CellKind::Hex8 => group.into_block::<Hex8, 8>(rest, &mut self.masses, point_count),
            }
            .map_err(|source| ModelError::Element { body: params.name.clone(), source })?;
            block.has_bound_nodes = has_bound_nodes;
            if law.has_volume_term() {
                block.volume = params.volume;
            }
            self.add_fibers(index, params, law, &mut block)?;
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// The cells of a body on a lattice; lumps their mass.
    pub(super) fn lattice_block(
        &mut self,
        index: usize,
        params: &BodyParams,
        lattice: &HexLattice,
        muscles: &[Muscle],
    ) -> Result<LatticeBlock, ModelError> {
        check_cells(params)?;
        let wrong = |reason: &str| ModelError::Lattice { body: params.name.clone(), reason: reason.into() };
        if params.mesh.cell_count() != lattice.cells.len() || params.mesh.node_count() != lattice.node_places.len() {
            return Err(wrong("its mesh is another one"));
        }
        if params.stiffness_damping != 0.0 || params.tissue_damping != 0.0 {
            return Err(wrong("it can be damped by its mass only"));
        }
        if let Some((cell, spec)) = params.materials.iter().enumerate().find(|(_, spec)| spec.law() != Law::Corotated) {
            let law = spec.law().name().to_string();
            return Err(ModelError::LatticeLaw { body: params.name.clone(), cell, law });
        }
        let points = self.first_point[index]..self.first_point[index] + params.mesh.node_count();
        let unknown = |point: usize| self.kinematics.own_unknown(point).map(|unknown| unknown as usize);
        let first = unknown(points.start).unwrap_or(0);
        if points.clone().enumerate().any(|(k, point)| unknown(point) != Some(first + k)) {
            return Err(wrong("its nodes cannot be bound to others; bind the other body to it"));
        }
        let share = lattice.cell.powi(3) / 8.0;
        for (cell, density) in lattice.cells.iter().zip(&params.densities) {
            for &node in &cell.nodes {
                self.masses[points.start + node as usize] += share * density;
            }
        }
        let lame = params.materials.iter().map(|spec| spec.lame().into()).collect();
        let unknowns = first..first + points.len();
        let fibers = self.lattice_fibers(index, params)?;
        let muscles = muscles.to_vec();
        let block = LatticeBlock::new(index, points, unknowns, lattice.clone(), lame, muscles, fibers);
        Ok(if self.parts.inversion_barrier.contains(&index) { block.with_inversion_barrier() } else { block })
    }
}

/// Refuses laws and densities that no cell can have.
fn check_cells(params: &BodyParams) -> Result<(), ModelError> {
    for (cell, spec) in params.materials.iter().enumerate() {
        spec.validate().map_err(|source| ModelError::Material { body: params.name.clone(), cell, source })?;
    }
    for (cell, &density) in params.densities.iter().enumerate() {
        if !(density > 0.0 && density.is_finite()) {
            return Err(ModelError::Density { body: params.name.clone(), cell, density });
        }
    }
    Ok(())
}

/// Cells of one body, kind and law.
struct CellGroup {
    body: usize,
    first_point: usize,
    cells: Vec<u32>,
    nodes: Vec<u32>,
    densities: Vec<f64>,
    specs: Vec<MaterialSpec>,
}

impl CellGroup {
    /// Adds the lumped masses of the cells and packs them.
    fn into_block<E: Element<N>, const N: usize>(
        self,
        rest_positions: &[Vec3],
        masses: &mut [f64],
        point_count: usize,
    ) -> Result<ElasticBlock, ElementError> {
        let geometry = RestGeometry::<N>::new::<E>(rest_positions, &self.nodes).map_err(|error| match error {
            // Name the cell of the mesh, not of the group.
            ElementError::NotPositive { cell, point, volume } => {
                ElementError::NotPositive { cell: self.cells[cell] as usize, point, volume }
            }
            other => other,
        })?;
        geometry.add_lumped_mass(&self.nodes, &self.densities, &mut masses[self.first_point..]);
        let points: Vec<u32> = self.nodes.iter().map(|&node| self.first_point as u32 + node).collect();
        Ok(ElasticBlock::new(self.body, self.cells, &geometry, &points, &self.specs, point_count))
    }
}
