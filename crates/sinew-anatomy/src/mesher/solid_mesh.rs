//! A solid filled with tetrahedra: stuffed, separated, improved, sharpened.

use sinew_geometry::CellMesh;
use sinew_math::parallel::prelude::*;

use super::improve::{floor, improve};
use super::quality::dihedral_range_of;
use super::separate::separate;
use super::sharpen::{Floor, sharpen};
use super::stuff::{Extent, RawMesh, cutting};
use super::{MeshError, MeshOptions, Meshed, MeshingReport};
use crate::Solid;

/// Depths in cells at which a part of 1.5 cells must still be inside.
const DEPTHS: [f64; 3] = [0.5, 1.0, 1.5];

/// Fills a solid with tetrahedra of one size by isosurface stuffing \[Labelle07\].
///
/// All dihedral angles are within 11.82° and 161.17° for any solid, and at least 22° for smooth ones after improvement.
/// Boundary nodes lie on φ = 0, and go to sharp edges where angles allow. Each edge of the boundary has two faces; the mesh does not depend on the bounds of the
/// solid, nor on threads.
///
/// # Errors
/// [`MeshError`] for an empty solid, one that is smaller than a cell or has too many cells, and distances that are not
/// finite.
pub fn mesh_solid(solid: &dyn Solid, options: &MeshOptions) -> Result<Meshed, MeshError> {
    let mut raw = cutting(solid, options)?.cells(Extent::Whole);
    let separation = separate(&mut raw);
    if raw.tets.is_empty() {
        return Err(MeshError::TooCoarse { cell: options.cell, size: solid.bounds().size().max_component() });
    }
    let thin_nodes = thin_nodes(&raw, solid, options.cell);
    let moved_nodes = if options.improve { improve(&mut raw, solid, options.cell) } else { 0 };
    let sharpened_nodes =
        if options.sharpen { sharpen(&mut raw, solid, options.cell, Floor::OrAsItWas(floor())) } else { 0 };
    let (min_dihedral, max_dihedral) = dihedral_range_of(&raw.positions, &raw.tets);
    let report = MeshingReport {
        min_dihedral,
        max_dihedral,
        separated_nodes: separation.separated_nodes,
        dropped_cells: separation.dropped_cells,
        thin_nodes,
        moved_nodes,
        sharpened_nodes,
    };
    let mesh = CellMesh::from_conforming_tets(raw.positions, raw.tets)?;
    let surface_nodes = (0..raw.on_surface.len() as u32).filter(|node| raw.on_surface[*node as usize]).collect();
    Ok(Meshed { mesh, surface_nodes, report })
}

/// Number of surface nodes where the solid ends within 1.5 cells against the normal.
fn thin_nodes(raw: &RawMesh, solid: &dyn Solid, cell: f64) -> usize {
    let is_thin = |node: &usize| {
        let p = raw.positions[*node];
        let inward = -solid.gradient(p, 0.05 * cell).normalized();
        DEPTHS.iter().any(|depth| solid.distance(p + inward * (depth * cell)) > 0.0)
    };
    (0..raw.positions.len()).into_par_iter().filter(|node| raw.on_surface[*node]).filter(is_thin).count()
}
