//! Element types, and the face numbers that surfaces use.

use crate::mesh_data::CellShape;

/// Meaning of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A cell of that shape, and its node order in the file; `None` if the orders agree.
    Cell(CellShape, Option<&'static [usize]>),
    /// Not part of the mesh: springs, masses, connectors.
    LeftOut,
    /// Not known.
    Unknown,
}

/// Families whose number is the node count, by dimension.
const SOLIDS: [&str; 9] = ["C3D", "DC3D", "DCC3D", "AC3D", "EMC3D", "FC3D", "Q3D", "COH3D", "SC"];
const FACES: [&str; 21] = [
    "CPS", "CPE", "CPEG", "CAX", "CGAX", "DC2D", "DCC2D", "DCAX", "DCCAX", "AC2D", "ACAX", "COH2D", "COHAX", "S", "DS",
    "STRI", "M3D", "SFM3D", "R3D", "F3D", "WARP2D",
];
const LINES: [&str; 10] = ["T2D", "T3D", "DC1D", "AC1D", "R2D", "RAX", "RB2D", "RB3D", "F2D", "FAX"];
/// Families whose last number is the order of interpolation.
const BEAMS: [&str; 5] = ["B2", "B3", "PIPE2", "PIPE3", "SAX"];
const LEFT_OUT: [&str; 14] = [
    "SPRING",
    "DASHPOT",
    "MASS",
    "ROTARYI",
    "CONN",
    "GAP",
    "ITT",
    "DCOUP",
    "JOINT",
    "HEATCAP",
    "PC3D",
    "PD3D",
    "ELBOW",
    "DISTRIBUTING",
];

/// Beams list their middle node between the ends.
const BEAM_ORDER: [usize; 3] = [0, 2, 1];
/// The center node of the volume comes first, then those of the faces S1 to S6.
const HEX27_ORDER: [usize; 27] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 26, 24, 23, 25, 21, 22, 20];

/// The kind of an element type.
pub(super) fn kind_of(name: &str) -> Kind {
    let name = name.to_ascii_uppercase();
    let number_after = |prefix: &str| -> Option<u32> {
        let rest = name.strip_prefix(prefix)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok()
    };
    let first = |families: &[&str]| families.iter().find_map(|family| number_after(family));
    let shape = if let Some(count) = first(&SOLIDS) {
        match count {
            4 => CellShape::Tet4,
            5 => CellShape::Pyramid5,
            6 => CellShape::Wedge6,
            8 => CellShape::Hex8,
            10 => CellShape::Tet10,
            13 => CellShape::Pyramid13,
            15 => CellShape::Wedge15,
            20 => CellShape::Hex20,
            27 => return Kind::Cell(CellShape::Hex27, Some(&HEX27_ORDER)),
            _ => return Kind::Unknown,
        }
    } else if let Some(count) = first(&FACES) {
        match count {
            3 => CellShape::Tri3,
            4 => CellShape::Quad4,
            // STRI65 has five degrees of freedom at six nodes.
            6 | 65 => CellShape::Tri6,
            8 => CellShape::Quad8,
            9 => CellShape::Quad9,
            _ => return Kind::Unknown,
        }
    } else if let Some(count) = first(&LINES) {
        match count {
            2 => CellShape::Line2,
            3 => CellShape::Line3,
            _ => return Kind::Unknown,
        }
    } else if let Some(order) = first(&BEAMS) {
        match order {
            // Cubic beams have no middle node either.
            1 | 3 => CellShape::Line2,
            2 => return Kind::Cell(CellShape::Line3, Some(&BEAM_ORDER)),
            _ => return Kind::Unknown,
        }
    } else if LEFT_OUT.iter().any(|family| name.starts_with(family)) {
        return Kind::LeftOut;
    } else {
        return Kind::Unknown;
    };
    Kind::Cell(shape, None)
}

/// Element type to write for a shape, and its node order.
pub(super) fn type_of(shape: CellShape) -> Option<(&'static str, Option<[usize; 27]>)> {
    let name = match shape {
        CellShape::Line2 => "T3D2",
        CellShape::Line3 => "T3D3",
        CellShape::Tri3 => "S3",
        CellShape::Tri6 => "STRI65",
        CellShape::Quad4 => "S4",
        CellShape::Quad8 => "S8R",
        CellShape::Quad9 => "S9R5",
        CellShape::Tet4 => "C3D4",
        CellShape::Tet10 => "C3D10",
        CellShape::Pyramid5 => "C3D5",
        CellShape::Pyramid13 => "C3D13",
        CellShape::Wedge6 => "C3D6",
        CellShape::Wedge15 => "C3D15",
        CellShape::Hex8 => "C3D8",
        CellShape::Hex20 => "C3D20",
        CellShape::Hex27 => {
            let mut inverse = [0; 27];
            for (ours, &theirs) in HEX27_ORDER.iter().enumerate() {
                inverse[theirs] = ours;
            }
            return Some(("C3D27", Some(inverse)));
        }
        CellShape::Vertex | CellShape::Polygon => return None,
    };
    Some((name, None))
}

/// Corners of the faces S1, S2, … seen from outside (Abaqus lists them seen from inside).
const TET_FACES: [&[usize]; 4] = [&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[0, 3, 2]];
const HEX_FACES: [&[usize]; 6] =
    [&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]];
const WEDGE_FACES: [&[usize]; 5] = [&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]];
const PYRAMID_FACES: [&[usize]; 5] = [&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]];
/// Sides of flat elements: front, back, edges.
const TRI_SIDES: [&[usize]; 5] = [&[0, 1, 2], &[0, 2, 1], &[0, 1], &[1, 2], &[2, 0]];
const QUAD_SIDES: [&[usize]; 6] = [&[0, 1, 2, 3], &[0, 3, 2, 1], &[0, 1], &[1, 2], &[2, 3], &[3, 0]];

/// A side of an element, as surfaces name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// No side given.
    Any,
    /// SPOS.
    Front,
    /// SNEG.
    Back,
    /// Zero-based number: S1 or E1 is 0.
    Number(usize),
}

impl Side {
    /// Parses the name of a side.
    pub(super) fn from_name(name: &[u8]) -> Option<Side> {
        match name.to_ascii_uppercase().as_slice() {
            b"" => Some(Side::Any),
            b"SPOS" => Some(Side::Front),
            b"SNEG" => Some(Side::Back),
            [b'S' | b'E', digit @ b'1'..=b'6'] => Some(Side::Number(usize::from(digit - b'1'))),
            _ => None,
        }
    }

    /// Corners of this side of an element.
    pub(super) fn of(self, shape: CellShape) -> Option<&'static [usize]> {
        let flat = |sides: &[&'static [usize]]| match self {
            Side::Any | Side::Front => sides.first().copied(),
            Side::Back => sides.get(1).copied(),
            Side::Number(number) => sides.get(number + 2).copied(),
        };
        let solid = |faces: &[&'static [usize]]| match self {
            Side::Number(number) => faces.get(number).copied(),
            _ => None,
        };
        match shape {
            CellShape::Tri3 | CellShape::Tri6 => flat(&TRI_SIDES),
            CellShape::Quad4 | CellShape::Quad8 | CellShape::Quad9 => flat(&QUAD_SIDES),
            CellShape::Tet4 | CellShape::Tet10 => solid(&TET_FACES),
            CellShape::Hex8 | CellShape::Hex20 | CellShape::Hex27 => solid(&HEX_FACES),
            CellShape::Wedge6 | CellShape::Wedge15 => solid(&WEDGE_FACES),
            CellShape::Pyramid5 | CellShape::Pyramid13 => solid(&PYRAMID_FACES),
            CellShape::Vertex | CellShape::Line2 | CellShape::Line3 | CellShape::Polygon => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_family_and_number() {
        let cases = [
            ("c3d10mh", CellShape::Tet10),
            ("C3D8R", CellShape::Hex8),
            ("CAX4P", CellShape::Quad4),
            ("CPEG3", CellShape::Tri3),
            ("S4R5", CellShape::Quad4),
            ("SC8R", CellShape::Hex8),
            ("STRI65", CellShape::Tri6),
            ("R3D4", CellShape::Quad4),
            ("B33H", CellShape::Line2),
            ("T3D2", CellShape::Line2),
            ("SFM3D4R", CellShape::Quad4),
        ];
        for (name, shape) in cases {
            assert_eq!(kind_of(name), Kind::Cell(shape, None), "{name}");
        }
        assert_eq!(kind_of("SPRINGA"), Kind::LeftOut);
        for name in ["C3D7", "U1", "", "S"] {
            assert_eq!(kind_of(name), Kind::Unknown, "{name}");
        }
        for shape in CellShape::all() {
            if let Some((name, _)) = type_of(shape) {
                assert!(matches!(kind_of(name), Kind::Cell(read, _) if read == shape), "{name}");
            }
        }
    }

    /// A closed, consistently oriented surface uses every edge once in each direction.
    #[test]
    fn faces_of_solids_close() {
        for faces in [&TET_FACES[..], &HEX_FACES, &WEDGE_FACES, &PYRAMID_FACES] {
            let edges = |faces: &[&[usize]]| -> Vec<[usize; 2]> {
                faces.iter().flat_map(|f| (0..f.len()).map(|i| [f[i], f[(i + 1) % f.len()]])).collect()
            };
            let all = edges(faces);
            assert!(all.iter().all(|[a, b]| all.iter().filter(|edge| **edge == [*b, *a]).count() == 1));
        }
    }
}
