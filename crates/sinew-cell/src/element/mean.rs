//! Mean deformation of cells, from a mesh and positions, without a simulation.

use sinew_geometry::{CellKind, CellMesh};
use sinew_math::{Mat3, Vec3};

use super::{Element, ElementError, Hex8, RestGeometry, Tet4, Tet10, deformation_gradient};

/// F of each cell, averaged over its rest volume: F̄ = 1/V ∫ F dX.
pub fn mean_deformation_gradients(mesh: &CellMesh, positions: &[Vec3]) -> Result<Vec<Mat3>, ElementError> {
    let mut means = Vec::with_capacity(mesh.cell_count());
    for block in mesh.blocks() {
        match block.kind {
            CellKind::Tet4 => block_means::<Tet4, 4>(mesh, &block.nodes, positions, &mut means)?,
            CellKind::Tet10 => block_means::<Tet10, 10>(mesh, &block.nodes, positions, &mut means)?,
            CellKind::Hex8 => block_means::<Hex8, 8>(mesh, &block.nodes, positions, &mut means)?,
        }
    }
    Ok(means)
}

fn block_means<E: Element<N>, const N: usize>(
    mesh: &CellMesh,
    cells: &[u32],
    positions: &[Vec3],
    means: &mut Vec<Mat3>,
) -> Result<(), ElementError> {
    let rest = RestGeometry::<N>::new::<E>(mesh.positions(), cells)?;
    let points = rest.points_per_cell();
    for (cell, nodes) in cells.chunks_exact(N).enumerate() {
        let corners: [Vec3; N] = std::array::from_fn(|a| positions[nodes[a] as usize]);
        let mut sum = Mat3::zero();
        for point in cell * points..(cell + 1) * points {
            sum += deformation_gradient(&corners, &rest.gradients[point]) * rest.weights[point];
        }
        means.push(sum / rest.cell_volume(cell));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};

    /// An affine motion has the same F everywhere, for all kinds of cells.
    #[test]
    fn an_affine_motion_is_found_in_every_cell() {
        let f = Mat3::new([[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.05, 0.0, 1.3]]);
        let size = Vec3::new(0.3, 0.2, 0.1);
        let tets = box_tets(size, [3, 2, 1], TetPattern::Bcc).unwrap();
        for mesh in [box_hexes(size, [3, 2, 1]).unwrap(), tets.to_quadratic().unwrap(), tets] {
            let positions: Vec<Vec3> = mesh.positions().iter().map(|&x| f * x + Vec3::splat(0.7)).collect();
            let means = mean_deformation_gradients(&mesh, &positions).unwrap();
            assert_eq!(means.len(), mesh.cell_count());
            // Positions of about 1 m in cells of 0.1 m lose a digit.
            assert!(means.iter().all(|mean| (*mean - f).norm() < 1e-13));
        }
    }
}
