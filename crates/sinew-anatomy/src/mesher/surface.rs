//! Triangles on the surface of a solid, for bones and pictures.

use sinew_geometry::TriMesh;

use super::improve::floor;
use super::separate::{boundary_after_separation, separated_boundary};
use super::sharpen::{has_far_faces, sharpen};
use super::stuff::{Extent, RawMesh, cutting};
use super::{MeshError, MeshOptions};
use crate::Solid;

/// The surface of a solid by marching tetrahedra on the lattice with spacing `cell` \[m\]: closed, outward, every edge
/// with two triangles, nodes at sharp edges where angles allow.
///
/// It is the boundary of the tetrahedra that [`super::mesh_solid`] makes before their nodes are improved, without the
/// cells of the inside: nodes near the surface move to it, which leaves no thin triangles \[Labelle07\].
///
/// # Errors
/// [`MeshError`] as for tetrahedra.
pub fn isosurface(solid: &dyn Solid, cell: f64) -> Result<TriMesh, MeshError> {
    let cutting = cutting(solid, &MeshOptions::new(cell))?;
    let mut raw = cutting.cells(Extent::Shell);
    let triangles = match separated_boundary(&mut raw) {
        Some(triangles) if !has_far_faces(&raw, solid, cell) => triangles,
        _ => {
            // The cells of the inside give way to nodes at sharp edges.
            raw = cutting.cells(Extent::Near);
            let triangles = boundary_after_separation(&mut raw);
            sharpen(&mut raw, solid, cell, floor());
            triangles
        }
    };
    surface_of(solid, cell, &raw, &triangles)
}

/// As [`isosurface`], but faces cut sharp edges off: much quicker for what has some.
///
/// # Errors
/// [`MeshError`] as for tetrahedra.
pub fn rough_isosurface(solid: &dyn Solid, cell: f64) -> Result<TriMesh, MeshError> {
    let cutting = cutting(solid, &MeshOptions::new(cell))?;
    let mut raw = cutting.cells(Extent::Shell);
    let triangles = separated_boundary(&mut raw).unwrap_or_else(|| {
        raw = cutting.cells(Extent::Near);
        boundary_after_separation(&mut raw)
    });
    surface_of(solid, cell, &raw, &triangles)
}

/// Triangles with the nodes that they use.
fn surface_of(solid: &dyn Solid, cell: f64, raw: &RawMesh, triangles: &[[u32; 3]]) -> Result<TriMesh, MeshError> {
    if triangles.is_empty() {
        return Err(MeshError::TooCoarse { cell, size: solid.bounds().size().max_component() });
    }
    let mut numbers = vec![u32::MAX; raw.positions.len()];
    let mut positions = Vec::new();
    let mut numbered = |node: u32| {
        let number = &mut numbers[node as usize];
        if *number == u32::MAX {
            *number = positions.len() as u32;
            positions.push(raw.positions[node as usize]);
        }
        *number
    };
    let triangles: Vec<[u32; 3]> = triangles.iter().map(|triangle| triangle.map(&mut numbered)).collect();
    Ok(TriMesh::new(positions, triangles)?)
}
