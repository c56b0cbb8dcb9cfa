//! Names and node orders of FEBio's elements.

use crate::mesh_data::CellShape;

/// Shapes and their names; the writer uses the first name of a shape.
const NAMES: [(&str, CellShape); 19] = [
    ("line2", CellShape::Line2),
    ("line3", CellShape::Line3),
    ("truss2", CellShape::Line2),
    ("tri3", CellShape::Tri3),
    ("tri6", CellShape::Tri6),
    ("quad4", CellShape::Quad4),
    ("q4ans", CellShape::Quad4),
    ("q4eas", CellShape::Quad4),
    ("quad8", CellShape::Quad8),
    ("quad9", CellShape::Quad9),
    ("tet4", CellShape::Tet4),
    ("tet10", CellShape::Tet10),
    ("pyra5", CellShape::Pyramid5),
    ("pyra13", CellShape::Pyramid13),
    ("penta6", CellShape::Wedge6),
    ("penta15", CellShape::Wedge15),
    ("hex8", CellShape::Hex8),
    ("hex20", CellShape::Hex20),
    ("hex27", CellShape::Hex27),
];

/// Our node order by FEBio's: FEBio lists the face centers of the sides first.
pub(super) const HEX27_ORDER: [usize; 27] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 23, 21, 20, 22, 24, 25, 26];

/// The shape of an element type, whose name may include its integration rule: `TET10G8`.
pub(super) fn shape_of(name: &str) -> Option<CellShape> {
    let name = name.to_ascii_lowercase();
    let is_rule = |rest: &str| rest.strip_prefix('g').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let found = NAMES.iter().find(|(known, _)| name.strip_prefix(known).is_some_and(|r| r.is_empty() || is_rule(r)));
    found.map(|(_, shape)| *shape)
}

/// The name of a shape.
pub(super) fn name_of(shape: CellShape) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| *known == shape).map(|(name, _)| *name)
}
