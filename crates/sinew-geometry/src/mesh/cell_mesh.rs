//! Volume meshes.

use sinew_math::Vec3;

use super::adjacency::{Components, FaceAdjacency, NodeCells, middles_of_face, rotated_face, sorted_faces};
use super::attributes::Attributes;
use super::cell::{CellBlock, CellKind, MAX_CELL_NODES};
use super::check::{MeshError, MeshReport, check_cells, check_conforming_tets};
use super::quality::MeshQuality;
use super::{Aabb, TriMesh};

/// A volume mesh at rest: positions, blocks of cells, a label per cell, named sets and fields.
///
/// Valid by construction: finite positions, existing nodes, every cell with positive volume, every node used by some
/// cell, every face shared by at most two cells on opposite sides (unless built by [`CellMesh::branching`]).
#[derive(Clone, Debug, PartialEq)]
pub struct CellMesh {
    positions: Vec<Vec3>,
    blocks: Vec<CellBlock>,
    /// First cell of each block, and the number of cells at the end.
    block_offsets: Vec<usize>,
    /// Whether more than two cells may share a face.
    may_branch: bool,
    pub(super) attributes: Attributes,
}

impl CellMesh {
    /// Checks the arrays. Inverted cells are flipped and unused nodes dropped; both are reported.
    pub fn new(positions: Vec<Vec3>, blocks: Vec<CellBlock>) -> Result<(Self, MeshReport), MeshError> {
        Self::checked(positions, blocks, false)
    }

    /// Like [`CellMesh::new`], for cells that may overlap: two fingers that pass through one cube of a lattice each
    /// have a copy of it, and both copies share a face with the adjacent cell of the palm. A face of several cells is
    /// not a boundary.
    pub fn branching(positions: Vec<Vec3>, blocks: Vec<CellBlock>) -> Result<(Self, MeshReport), MeshError> {
        Self::checked(positions, blocks, true)
    }

    pub(super) fn checked(
        mut positions: Vec<Vec3>,
        mut blocks: Vec<CellBlock>,
        may_branch: bool,
    ) -> Result<(Self, MeshReport), MeshError> {
        let report = check_cells(&mut positions, &mut blocks, may_branch)?;
        blocks.retain(|block| !block.nodes.is_empty());
        let mut block_offsets = vec![0];
        let mut cell_count = 0;
        for block in &blocks {
            cell_count += block.cell_count();
            block_offsets.push(cell_count);
        }
        let attributes = Attributes { labels: vec![0; cell_count], ..Attributes::default() };
        Ok((Self { positions, blocks, block_offsets, may_branch, attributes }, report))
    }

    /// A mesh of one block of tetrahedra.
    pub fn from_tets(positions: Vec<Vec3>, tets: &[[u32; 4]]) -> Result<(Self, MeshReport), MeshError> {
        Self::new(positions, vec![CellBlock::tets(tets)])
    }

    /// A mesh of tetrahedra that conform by construction, as meshers make them. Positions, nodes and volumes are checked
    /// in parallel; that every face has one or two cells and every node some cell is the promise of the caller, whose
    /// tests compare with [`CellMesh::from_tets`]. That takes most of the time of a mesher otherwise.
    ///
    /// # Errors
    /// [`MeshError`] for the first cell that is not right-handed with a positive volume, or names no node.
    pub fn from_conforming_tets(positions: Vec<Vec3>, tets: Vec<[u32; 4]>) -> Result<Self, MeshError> {
        check_conforming_tets(&positions, &tets)?;
        let cell_count = tets.len();
        let blocks = vec![CellBlock { kind: CellKind::Tet4, nodes: tets.into_flattened() }];
        let attributes = Attributes { labels: vec![0; cell_count], ..Attributes::default() };
        Ok(Self { positions, blocks, block_offsets: vec![0, cell_count], may_branch: false, attributes })
    }

    /// The same cells, labels, sets and fields with every node moved by `f`, checked again; a reflection flips all
    /// cells.
    pub fn mapped(&self, f: impl Fn(Vec3) -> Vec3) -> Result<(Self, MeshReport), MeshError> {
        let positions = self.positions.iter().map(|x| f(*x)).collect();
        let (mut mesh, report) = Self::checked(positions, self.blocks.clone(), self.may_branch)?;
        mesh.attributes.clone_from(&self.attributes);
        Ok((mesh, report))
    }

    /// Whether more than two cells may share a face.
    pub(super) fn may_branch(&self) -> bool {
        self.may_branch
    }

    /// Rest positions \[m\].
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Blocks of cells of one kind; none is empty.
    pub fn blocks(&self) -> &[CellBlock] {
        &self.blocks
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.positions.len()
    }

    /// Number of cells in all blocks.
    pub fn cell_count(&self) -> usize {
        self.attributes.labels.len()
    }

    /// Block of a cell, and its index in the block.
    fn locate(&self, cell: usize) -> (&CellBlock, usize) {
        debug_assert!(cell < self.cell_count(), "cell {cell} of {}", self.cell_count());
        let block = self.block_offsets.partition_point(|first| *first <= cell) - 1;
        (&self.blocks[block], cell - self.block_offsets[block])
    }

    /// Number of the first cell of a block.
    pub fn first_cell(&self, block: usize) -> usize {
        self.block_offsets[block]
    }

    /// Kind of a cell; cells are numbered through the blocks in order.
    pub fn cell_kind(&self, cell: usize) -> CellKind {
        self.locate(cell).0.kind
    }

    /// Nodes of a cell; cells are numbered through the blocks in order.
    pub fn cell_nodes(&self, cell: usize) -> &[u32] {
        let (block, local) = self.locate(cell);
        let n = block.kind.nodes_per_cell();
        &block.nodes[local * n..(local + 1) * n]
    }

    /// Kind and nodes of every cell in order.
    pub fn cells(&self) -> impl Iterator<Item = (CellKind, &[u32])> + Clone {
        self.blocks.iter().flat_map(|block| block.cells().map(|nodes| (block.kind, nodes)))
    }

    /// Rest positions of the nodes of a cell; unused entries at the end are zero.
    pub(crate) fn corners(&self, nodes: &[u32]) -> [Vec3; MAX_CELL_NODES] {
        let mut corners = [Vec3::zero(); MAX_CELL_NODES];
        for (corner, node) in corners.iter_mut().zip(nodes) {
            *corner = self.positions[*node as usize];
        }
        corners
    }

    /// Cells around each node.
    pub fn node_cells(&self) -> NodeCells {
        NodeCells::new(self.node_count(), self.cells().map(|(_, nodes)| nodes))
    }

    /// Cells across each face.
    pub fn face_adjacency(&self) -> FaceAdjacency {
        FaceAdjacency::new(self.node_count(), &self.blocks)
    }

    /// Connected components, which share no node.
    pub fn components(&self) -> Components {
        Components::new(self.node_count(), self.cells().map(|(_, nodes)| nodes))
    }

    /// Boundary triangles, counterclockwise seen from outside, in order of cell and local face. Quadrilaterals are
    /// split in two from their smallest node. Faces of quadratic tetrahedra are split in four: three at the corners,
    /// starting with the smallest node, then the one between the midpoints.
    pub fn boundary_triangles(&self) -> Vec<[u32; 3]> {
        self.boundary_triangles_with_cells().0
    }

    /// Boundary triangles, and for each the cell it bounds.
    pub fn boundary_triangles_with_cells(&self) -> (Vec<[u32; 3]>, Vec<u32>) {
        let faces = sorted_faces(self.node_count(), &self.blocks);
        let mut boundary: Vec<_> = faces
            .chunk_by(|a, b| a.key == b.key)
            .filter(|group| group.len() == 1)
            .map(|group| (group[0].cell, group[0].local))
            .collect();
        boundary.sort_unstable();
        let mut triangles = Vec::with_capacity(boundary.len());
        let mut cells = Vec::with_capacity(boundary.len());
        for (cell, local) in boundary {
            let (block, _) = self.locate(cell as usize);
            let nodes = self.cell_nodes(cell as usize);
            let ([a, b, c], fourth) = rotated_face(block.kind, nodes, local);
            match (middles_of_face(block.kind, nodes, [a, b, c]), fourth) {
                (Some([ab, bc, ca]), _) => triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]),
                (None, Some(d)) => triangles.extend([[a, b, c], [a, c, d]]),
                (None, None) => triangles.push([a, b, c]),
            }
            cells.resize(triangles.len(), cell);
        }
        (triangles, cells)
    }

    /// Nodes on the boundary, sorted.
    pub fn boundary_nodes(&self) -> Vec<u32> {
        let mut nodes = self.boundary_triangles().into_flattened();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The boundary as a separate surface, and for each of its vertices the node of this mesh.
    pub fn boundary_surface(&self) -> Result<(TriMesh, Vec<u32>), MeshError> {
        let mut triangles = self.boundary_triangles();
        let nodes = {
            let mut nodes = triangles.as_flattened().to_vec();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        let mut vertex_of_node = vec![u32::MAX; self.node_count()];
        for (vertex, node) in nodes.iter().enumerate() {
            vertex_of_node[*node as usize] = vertex as u32;
        }
        for vertex in triangles.as_flattened_mut() {
            *vertex = vertex_of_node[*vertex as usize];
        }
        let positions = nodes.iter().map(|node| self.positions[*node as usize]).collect();
        Ok((TriMesh::new(positions, triangles)?, nodes))
    }

    /// Volume of each cell \[m³\]; all are positive.
    pub fn cell_volumes(&self) -> Vec<f64> {
        self.cells().map(|(kind, nodes)| kind.volume(&self.corners(nodes)[..nodes.len()])).collect()
    }

    /// Volume of the mesh \[m³\], summed in the order of the cells.
    pub fn volume(&self) -> f64 {
        self.cells().map(|(kind, nodes)| kind.volume(&self.corners(nodes)[..nodes.len()])).sum()
    }

    /// Bounding box.
    pub fn bounds(&self) -> Aabb {
        Aabb::from_points(&self.positions)
    }

    /// Shape of the cells: angles, aspect ratio, volumes.
    pub fn quality(&self) -> MeshQuality {
        MeshQuality::measure(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{TetPattern, box_hexes, box_tets};

    #[test]
    fn cells_are_numbered_through_the_blocks() {
        let positions: Vec<Vec3> = (0..8)
            .map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64))
            .chain([
                Vec3::new(5.0, 0.0, 0.0),
                Vec3::new(6.0, 0.0, 0.0),
                Vec3::new(5.0, 1.0, 0.0),
                Vec3::new(5.0, 0.0, 1.0),
            ])
            .collect();
        let blocks = vec![CellBlock::tets(&[[8, 9, 10, 11]]), CellBlock::hexes(&[[0, 1, 3, 2, 4, 5, 7, 6]])];
        let (mesh, report) = CellMesh::new(positions, blocks).unwrap();
        assert!(report.is_clean());
        assert_eq!(report.component_count, 2);
        assert_eq!(mesh.cell_kind(0), CellKind::Tet4);
        assert_eq!(mesh.cell_nodes(1), [0, 1, 3, 2, 4, 5, 7, 6]);
        assert_eq!(mesh.boundary_triangles().len(), 4 + 12);
    }

    /// Divergence theorem: the volume inside the boundary triangles is the sum of the cell volumes.
    #[test]
    fn boundary_is_closed_and_encloses_the_volume() {
        let size = Vec3::new(0.4, 0.2, 0.3);
        for mesh in [
            box_tets(size, [4, 2, 3], TetPattern::Kuhn).unwrap(),
            box_tets(size, [4, 2, 3], TetPattern::Bcc).unwrap(),
            box_hexes(size, [4, 2, 3]).unwrap(),
        ] {
            let (surface, nodes) = mesh.boundary_surface().unwrap();
            assert!(surface.is_closed());
            assert_eq!(nodes, mesh.boundary_nodes());
            assert!((surface.volume() - mesh.volume()).abs() < 1e-15);
            assert!((surface.volume() - 0.024).abs() < 1e-15);
            assert_eq!(surface.topology().euler_characteristic, 2);
        }
    }

    #[test]
    fn labels_and_sets_are_checked() {
        let mesh = box_hexes(Vec3::splat(1.0), [2, 1, 1]).unwrap();
        assert!(mesh.clone().with_cell_labels(vec![1]).is_err());
        assert!(mesh.clone().with_node_set("tip", vec![99]).is_err());
        let mesh = mesh.with_cell_labels(vec![3, 4]).unwrap().with_node_set("tip", vec![5, 1, 5]).unwrap();
        assert_eq!(mesh.cell_labels(), [3, 4]);
        assert_eq!(mesh.node_sets()["tip"], [1, 5]);
    }

    #[test]
    fn mirrored_mesh_keeps_its_volume() {
        let mesh = box_tets(Vec3::splat(1.0), [2, 2, 2], TetPattern::Bcc).unwrap();
        let (mirrored, report) = mesh.mapped(|x| Vec3::new(-x.x, x.y, x.z)).unwrap();
        assert_eq!(report.flipped_cells.len(), mesh.cell_count());
        assert!((mirrored.volume() - 1.0).abs() < 1e-14);
    }
}
