//! Gmsh's element types: their numbers, names and node orders.

use crate::mesh_data::CellShape;

/// One row per supported element type: Gmsh's number, the shape, and the node order (entry i is Gmsh's number of VTK's
/// node i).
///
/// Corners agree. Gmsh orders edge midpoints by the lower corner of each edge, VTK by going around the faces.
const TYPES: [(i32, CellShape, &[u8]); 17] = [
    (15, CellShape::Vertex, IDENTITY.split_at(1).0),
    (1, CellShape::Line2, IDENTITY.split_at(2).0),
    (8, CellShape::Line3, IDENTITY.split_at(3).0),
    (2, CellShape::Tri3, IDENTITY.split_at(3).0),
    (9, CellShape::Tri6, IDENTITY.split_at(6).0),
    (3, CellShape::Quad4, IDENTITY.split_at(4).0),
    (16, CellShape::Quad8, IDENTITY.split_at(8).0),
    (10, CellShape::Quad9, IDENTITY.split_at(9).0),
    (4, CellShape::Tet4, IDENTITY.split_at(4).0),
    (11, CellShape::Tet10, &[0, 1, 2, 3, 4, 5, 6, 7, 9, 8]),
    (7, CellShape::Pyramid5, IDENTITY.split_at(5).0),
    (19, CellShape::Pyramid13, &[0, 1, 2, 3, 4, 5, 8, 10, 6, 7, 9, 11, 12]),
    (6, CellShape::Wedge6, IDENTITY.split_at(6).0),
    (18, CellShape::Wedge15, &[0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11]),
    (5, CellShape::Hex8, IDENTITY.split_at(8).0),
    (17, CellShape::Hex20, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15]),
    (
        12,
        CellShape::Hex27,
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15, 22, 23, 21, 24, 20, 25, 26],
    ),
];

/// The identity order.
const IDENTITY: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7, 8];

/// Most nodes of any element.
pub(super) const MAX_NODES: usize = 27;

/// Unsupported element types: number, nodes, shape.
const OTHER_TYPES: [(i32, u32, &str); 37] = [
    (13, 18, "prism"),
    (14, 14, "pyramid"),
    (20, 9, "triangle"),
    (21, 10, "triangle"),
    (22, 12, "triangle"),
    (23, 15, "triangle"),
    (24, 15, "triangle"),
    (25, 21, "triangle"),
    (26, 4, "line"),
    (27, 5, "line"),
    (28, 6, "line"),
    (29, 20, "tetrahedron"),
    (30, 35, "tetrahedron"),
    (31, 56, "tetrahedron"),
    (36, 16, "quad"),
    (37, 25, "quad"),
    (38, 36, "quad"),
    (42, 28, "triangle"),
    (43, 36, "triangle"),
    (44, 45, "triangle"),
    (45, 55, "triangle"),
    (46, 66, "triangle"),
    (47, 49, "quad"),
    (48, 64, "quad"),
    (49, 81, "quad"),
    (50, 100, "quad"),
    (51, 121, "quad"),
    (62, 7, "line"),
    (63, 8, "line"),
    (71, 84, "tetrahedron"),
    (72, 120, "tetrahedron"),
    (90, 40, "prism"),
    (91, 75, "prism"),
    (92, 64, "hexahedron"),
    (93, 125, "hexahedron"),
    (94, 216, "hexahedron"),
    (118, 30, "pyramid"),
];

/// Shape of an element type, and its node order.
pub(super) fn from_type(number: i64) -> Option<(CellShape, &'static [u8])> {
    TYPES.iter().find(|row| i64::from(row.0) == number).map(|row| (row.1, row.2))
}

/// Element type of a shape, and its node order. Gmsh has no general polygons.
pub(super) fn to_type(shape: CellShape) -> Option<(i32, &'static [u8])> {
    TYPES.iter().find(|row| row.1 == shape).map(|row| (row.0, row.2))
}

/// Describes an unsupported element type in a message.
pub(super) fn describe(number: i64) -> String {
    match OTHER_TYPES.iter().find(|row| i64::from(row.0) == number) {
        Some((_, nodes, shape)) => format!("element type {number} ({shape} with {nodes} nodes)"),
        None if number == 34 => "element type 34 (polygon)".into(),
        None if number == 35 => "element type 35 (polyhedron)".into(),
        None => format!("element type {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges by their corners, in the order of their midpoints in Gmsh's manual and VTK's figures.
    #[test]
    fn middles_of_edges_lie_on_the_edges_of_vtk() {
        type Edges = &'static [(u8, u8)];
        let cases: [(CellShape, Edges, Edges); 4] = [
            (
                CellShape::Tet10,
                &[(0, 1), (1, 2), (0, 2), (0, 3), (2, 3), (1, 3)],
                &[(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)],
            ),
            (
                CellShape::Pyramid13,
                &[(0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)],
                &[(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)],
            ),
            (
                CellShape::Wedge15,
                &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)],
                &[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)],
            ),
            (
                CellShape::Hex20,
                &[(0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)],
                &[(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7), (4, 7), (0, 4), (1, 5), (2, 6), (3, 7)],
            ),
        ];
        for (shape, gmsh, vtk) in cases {
            let (_, order) = to_type(shape).unwrap();
            let corners = order.len() - gmsh.len();
            let turned: Vec<(u8, u8)> = order[corners..].iter().map(|&i| gmsh[usize::from(i) - corners]).collect();
            assert_eq!(turned, vtk, "{shape:?}");
        }
    }

    #[test]
    fn every_shape_but_the_polygon_has_a_type_whose_order_is_a_permutation() {
        for shape in CellShape::all() {
            let Some((number, order)) = to_type(shape) else {
                assert_eq!(shape, CellShape::Polygon);
                continue;
            };
            assert_eq!((from_type(i64::from(number)), Some(order.len())), (Some((shape, order)), shape.nodes()));
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(i, &node)| i == usize::from(node)), "{shape:?}");
        }
    }
}
