//! MEDIT's keywords: their names in text files, their numbers in binary files, and their content.

use crate::mesh_data::CellShape;

/// Content of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The dimension of space.
    Dimension,
    /// A count, and that many vertices.
    Vertices,
    /// A count, and that many cells.
    Cells(CellShape),
    /// A count, and that many cells of an unsupported kind.
    OtherCells,
    /// A count, and that many rows of this many numbers.
    Rows(usize),
    /// This many words.
    Words(usize),
    /// The end of the file.
    End,
}

use Content::{Cells, Dimension, End, OtherCells, Rows, Vertices, Words};

/// One row per keyword: name, number, content. The lengths of rows of reals are those of three dimensions.
const KEYWORDS: [(&str, i32, Content); 68] = [
    ("Dimension", 3, Dimension),
    ("Vertices", 4, Vertices),
    ("Edges", 5, Cells(CellShape::Line2)),
    ("Triangles", 6, Cells(CellShape::Tri3)),
    ("Quadrilaterals", 7, Cells(CellShape::Quad4)),
    ("Tetrahedra", 8, Cells(CellShape::Tet4)),
    ("Prisms", 9, Cells(CellShape::Wedge6)),
    ("Hexahedra", 10, Cells(CellShape::Hex8)),
    // Spelling of older programs.
    ("Hexaedra", 10, Cells(CellShape::Hex8)),
    ("Corners", 13, Rows(1)),
    ("Ridges", 14, Rows(1)),
    ("RequiredVertices", 15, Rows(1)),
    ("RequiredEdges", 16, Rows(1)),
    ("RequiredTriangles", 17, Rows(1)),
    ("RequiredQuadrilaterals", 18, Rows(1)),
    ("TangentAtEdgeVertices", 19, Rows(3)),
    ("NormalAtVertices", 20, Rows(2)),
    ("NormalAtTriangleVertices", 21, Rows(3)),
    ("NormalAtQuadrilateralVertices", 22, Rows(3)),
    ("AngleOfCornerBound", 23, Words(1)),
    ("TrianglesP2", 24, Cells(CellShape::Tri6)),
    ("EdgesP2", 25, Cells(CellShape::Line3)),
    ("QuadrilateralsQ2", 27, OtherCells),
    ("SubDomainFromGeom", 29, Rows(4)),
    ("TetrahedraP2", 30, Cells(CellShape::Tet10)),
    ("HexahedraQ2", 33, OtherCells),
    ("VerticesOnGeometricVertices", 40, Rows(2)),
    ("VerticesOnGeometricEdges", 41, Rows(4)),
    ("VerticesOnGeometricTriangles", 42, Rows(5)),
    ("VerticesOnGeometricQuadrilaterals", 43, Rows(5)),
    ("EdgesOnGeometricEdges", 44, Rows(2)),
    ("Polyhedra", 46, OtherCells),
    ("Polygons", 47, OtherCells),
    ("Pyramids", 49, Cells(CellShape::Pyramid5)),
    ("BoundingBox", 50, Words(6)),
    ("PrivateTable", 52, Rows(1)),
    ("End", 54, End),
    ("Tangents", 59, Rows(3)),
    ("Normals", 60, Rows(3)),
    ("TangentAtVertices", 61, Rows(2)),
    ("Iterations", 77, Words(1)),
    ("Time", 78, Words(1)),
    ("CoarseHexahedra", 80, Rows(1)),
    ("PeriodicVertices", 82, Rows(2)),
    ("PeriodicEdges", 83, Rows(2)),
    ("PeriodicTriangles", 84, Rows(2)),
    ("PeriodicQuadrilaterals", 85, Rows(2)),
    ("PrismsP2", 86, OtherCells),
    ("PyramidsP2", 87, OtherCells),
    ("QuadrilateralsQ3", 88, OtherCells),
    ("QuadrilateralsQ4", 89, OtherCells),
    ("TrianglesP3", 90, OtherCells),
    ("TrianglesP4", 91, OtherCells),
    ("EdgesP3", 92, OtherCells),
    ("EdgesP4", 93, OtherCells),
    ("TetrahedraP3", 96, OtherCells),
    ("TetrahedraP4", 97, OtherCells),
    ("HexahedraQ3", 98, OtherCells),
    ("HexahedraQ4", 99, OtherCells),
    // In text files only: names and relations to a geometry.
    ("Geometry", 0, Words(1)),
    ("Identifier", 0, Words(1)),
    ("MeshVersionFormatted", 1, Words(1)),
    ("SubDomainFromMesh", 0, Rows(4)),
    ("VertexOnGeometricVertex", 0, Rows(2)),
    ("VertexOnGeometricEdge", 0, Rows(3)),
    ("EdgeOnGeometricEdge", 0, Rows(2)),
    ("VertexOnSupportVertex", 0, Rows(2)),
    ("MaximalEdgeSize", 0, Words(1)),
];

/// Content of a keyword of a text file.
pub(super) fn by_name(name: &[u8]) -> Option<Content> {
    KEYWORDS.iter().find(|row| row.0.as_bytes() == name).map(|row| row.2)
}

/// Name and content of a keyword of a binary file.
pub(super) fn by_number(number: i32) -> Option<(&'static str, Content)> {
    KEYWORDS.iter().find(|row| row.1 == number && number != 0).map(|row| (row.0, row.2))
}

/// Name and number of the keyword for cells of a shape.
pub(super) fn of_shape(shape: CellShape) -> Option<(&'static str, i32)> {
    KEYWORDS.iter().find(|row| row.2 == Cells(shape)).map(|row| (row.0, row.1))
}
