//! A lattice as a mesh of hexahedra, and its surface as an embedding, for the rest of the library.

use super::{HexLattice, LatticeFilling};
use crate::embedding::Embedding;
use crate::mesh::{CellBlock, CellMesh, MeshError};

/// Corner of a lattice cell for each node of a hexahedron, whose nodes run around its bottom and its top.
const CORNERS: [usize; 8] = [0, 1, 3, 2, 4, 5, 7, 6];

impl HexLattice {
    /// The cells as hexahedra, with cell and node numbers unchanged.
    pub fn to_mesh(&self) -> Result<CellMesh, MeshError> {
        let positions = (0..self.node_places.len()).map(|node| self.node_position(node)).collect();
        let hexes: Vec<[u32; 8]> = self.cells.iter().map(|cell| CORNERS.map(|corner| cell.nodes[corner])).collect();
        Ok(CellMesh::branching(positions, vec![CellBlock::hexes(&hexes)])?.0)
    }
}

impl LatticeFilling {
    /// The vertices of the surface as points that follow the nodes of the lattice.
    pub fn bind(&self) -> Embedding {
        let (mut ends, mut nodes, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for point in &self.embedding {
            let carriers = self.lattice.cells[point.cell as usize].nodes;
            for (node, weight) in carriers.into_iter().zip(point.weights()).filter(|(_, weight)| *weight != 0.0) {
                nodes.push(node);
                weights.push(weight);
            }
            ends.push(nodes.len() as u32);
        }
        let cells = self.embedding.iter().map(|point| point.cell).collect();
        Embedding::from_rows(&ends, nodes, weights, cells).expect("every vertex has one row")
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::*;
    use crate::lattice::LatticeOptions;
    use crate::procedural::sphere_surface;

    #[test]
    fn hexahedra_keep_numbers_and_volume_of_the_cells() {
        let lattice = HexLattice::dense(Vec3::new(1.0, 2.0, 3.0), 0.5, [3, 2, 4]).unwrap();
        let mesh = lattice.to_mesh().unwrap();
        assert_eq!(mesh.cell_count(), 24);
        assert!((mesh.volume() - 3.0).abs() < 1e-12);
        for (node, place) in mesh.positions().iter().enumerate() {
            assert_eq!(*place, lattice.node_position(node));
        }
    }

    #[test]
    fn a_bound_surface_is_where_it_was() {
        let sphere = sphere_surface(0.05, 0.01).unwrap();
        let filling = HexLattice::from_surface(&sphere, 0.013, &LatticeOptions::default()).unwrap();
        let mesh = filling.lattice.to_mesh().unwrap();
        let mut places = vec![Vec3::zero(); sphere.positions().len()];
        filling.bind().positions(mesh.positions(), &mut places);
        for (bound, given) in places.iter().zip(sphere.positions()) {
            assert!(bound.distance(*given) < 1e-9);
        }
    }
}
