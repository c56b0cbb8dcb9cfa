use sinew_math::Vec3;

use super::*;
use crate::error::Place;

const SMALL: &str = "# a comment
MeshVersionFormatted 2
Dimension
3
Vertices # with a comment behind
5
0 0 0 0
1 0 0 0
0 1 0 4
0 0 1 0
0 0 -1 0
Corners
2
1 2
Normals
1
0 0 1
NormalAtVertices
1
1 1
Tetrahedra
2
1 2 3 4 7
2 1 3 5 -8
Triangles
1
1 2 3 0
MadeUp 2
0.5 1
-3 2
Ridges
1
1
End
whatever follows
";

#[test]
fn references_are_labels_and_other_keywords_are_passed_over() {
    let mesh = read(SMALL.as_bytes()).unwrap();
    assert_eq!((mesh.points.len(), mesh.points[4]), (5, Vec3::new(0.0, 0.0, -1.0)));
    assert_eq!(mesh.groups[0], CellGroup::with_nodes(CellShape::Tet4, vec![0, 1, 2, 3, 1, 0, 2, 4]));
    assert_eq!(mesh.groups[1], CellGroup::with_nodes(CellShape::Tri3, vec![0, 1, 2]));
    assert_eq!(mesh.cell_field(LABEL).unwrap().values, [7.0, -8.0, 0.0]);
    assert_eq!(mesh.point_field(VERTEX_REFERENCES).unwrap().values, [0.0, 0.0, 4.0, 0.0, 0.0]);
    assert!(mesh.notes.len() == 1 && mesh.notes[0].contains("`MadeUp` in line 28"), "{:?}", mesh.notes);
}

#[test]
fn everything_that_has_a_place_survives_both_variants() {
    let mesh = read(SMALL.as_bytes()).unwrap();
    for is_binary in [false, true] {
        let mut back = read(&write(&mesh, is_binary).unwrap()).unwrap();
        back.notes.clone_from(&mesh.notes);
        assert_eq!(back, mesh);
    }
    fuzz_one(SMALL.as_bytes());
}

#[test]
fn every_kind_of_cell_is_written_once() {
    let mut mesh = MeshData { points: vec![Vec3::zero(); 10], ..MeshData::default() };
    let shapes = [
        CellShape::Line2,
        CellShape::Line3,
        CellShape::Tri3,
        CellShape::Tri6,
        CellShape::Quad4,
        CellShape::Tet4,
        CellShape::Tet10,
        CellShape::Pyramid5,
        CellShape::Wedge6,
        CellShape::Hex8,
    ];
    for (label, shape) in shapes.into_iter().chain(shapes).enumerate() {
        let nodes: Vec<u32> = (0..shape.nodes().unwrap() as u32).collect();
        mesh.push_cell(shape, &nodes);
        mesh.cell_fields.resize(1, Field::scalars(LABEL, Vec::new()));
        mesh.cell_fields[0].values.push(label as f64);
    }
    for is_binary in [false, true] {
        let written = write(&mesh, is_binary).unwrap();
        let back = read(&written).unwrap();
        assert_eq!(
            back.groups.iter().map(|group| (group.shape, group.len())).collect::<Vec<_>>(),
            shapes.map(|s| (s, 2))
        );
        let expected: Vec<f64> = (0..10).flat_map(|i| [f64::from(i), f64::from(i + 10)]).collect();
        assert_eq!(back.cell_fields[0].values, expected);
        fuzz_one(&written);
    }
    mesh.push_cell(CellShape::Hex20, &[0; 20]);
    let error = write(&mesh, true).unwrap_err().to_string();
    assert!(error.contains("MEDIT cannot hold quadratic hexahedron cells"), "{error}");
}

#[test]
fn sets_number_the_cells_and_points_mark_their_vertices_where_nothing_else_does() {
    let mut mesh = MeshData { points: vec![Vec3::zero(); 4], ..MeshData::default() };
    mesh.push_cell(CellShape::Vertex, &[2]);
    mesh.push_cell(CellShape::Tet4, &[0, 1, 2, 3]);
    mesh.cell_sets.insert("body".into(), vec![1]);
    mesh.cell_sets.insert("tip".into(), vec![0, 1]);
    for is_binary in [false, true] {
        let back = read(&write(&mesh, is_binary).unwrap()).unwrap();
        assert_eq!(back.cell_field(LABEL).unwrap().values, [1.0]);
        assert_eq!(back.point_field(VERTEX_REFERENCES).unwrap().values, [0.0, 0.0, 2.0, 0.0]);
    }
}

#[test]
fn mistakes_in_text_are_named_by_their_line() {
    let cases = [
        ("MeshVersionFormatted 2", "Mesh 2", "not a valid MEDIT file"),
        ("MeshVersionFormatted 2", "MeshVersionFormatted 9", "line 2: there is no version 9"),
        ("Dimension\n3", "Dimension\n2", "line 4: a mesh of dimension 2 cannot be read\nhint: "),
        ("Dimension\n3", "Time\n3", "line 5: `Vertices` come before `Dimension`"),
        ("0 0 1 0", "0 0 inf 0", "line 10: position of a vertex is not finite"),
        ("behind\n5", "behind\n500", "line 6: vertices: 500 promised"),
        ("behind\n5", "behind\n6", "line 12: position of a vertex: `Corners` is not a number"),
        ("behind\n5", "behind\n4", "line 11: expected a keyword, found `0`"),
        ("1 2 3 4 7", "1 2 3 6 7", "line 23: vertex 6 does not exist"),
        ("1 2 3 4 7", "0 2 3 4 7", "line 23: vertex 0 does not exist"),
        ("Triangles", "HexahedraQ2", "line 25: `HexahedraQ2` cannot be read"),
        ("Corners", "Vertices", "line 12: `Vertices` are given twice"),
    ];
    for (from, to, expected) in cases {
        assert!(SMALL.contains(from), "{from}");
        let error = read(SMALL.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    let cut = SMALL.split("-8").next().unwrap();
    assert!(matches!(read(cut.as_bytes()), Err(ReadError::Truncated { place: Place::Line(24), .. })));
    assert_eq!(read(b"MeshVersionFormatted 2 Dimension 3 End"), Err(ReadError::Missing { what: "`Vertices`" }));
}

/// A file with one tetrahedron in each version and byte order, and an unknown keyword.
fn binary_file(version: i32, endian_is_big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let turn = |bytes: &[u8], out: &mut Vec<u8>| {
        if endian_is_big { out.extend(bytes.iter().rev()) } else { out.extend_from_slice(bytes) }
    };
    let key = |value: i32, out: &mut Vec<u8>| turn(&value.to_le_bytes(), out);
    let int = |value: i64, out: &mut Vec<u8>| {
        if version == 4 { turn(&value.to_le_bytes(), out) } else { turn(&(value as i32).to_le_bytes(), out) }
    };
    let position = |value: u64, out: &mut Vec<u8>| {
        if version >= 3 { turn(&value.to_le_bytes(), out) } else { turn(&(value as u32).to_le_bytes(), out) }
    };
    let real = |value: f64, out: &mut Vec<u8>| {
        if version == 1 { turn(&(value as f32).to_le_bytes(), out) } else { turn(&value.to_le_bytes(), out) }
    };
    key(1, &mut out);
    key(version, &mut out);
    key(3, &mut out);
    position(0, &mut out);
    key(3, &mut out);
    key(4, &mut out);
    position(0, &mut out);
    int(4, &mut out);
    for point in [[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
        point.into_iter().for_each(|x| real(x, &mut out));
        int(0, &mut out);
    }
    key(99_999, &mut out);
    let next = out.len() as u64 + if version >= 3 { 8 } else { 4 } + 3;
    position(next, &mut out);
    out.extend_from_slice(b"???");
    key(8, &mut out);
    position(0, &mut out);
    int(1, &mut out);
    [1, 2, 3, 4, -5].into_iter().for_each(|value| int(value, &mut out));
    key(54, &mut out);
    position(0, &mut out);
    out
}

#[test]
fn all_binary_versions_are_read_in_both_orders_of_bytes() {
    for version in 1..=4 {
        for is_big in [false, true] {
            let bytes = binary_file(version, is_big);
            let mesh = read(&bytes).unwrap_or_else(|error| panic!("version {version}, big: {is_big}: {error}"));
            assert_eq!(
                (mesh.points[0], mesh.groups[0].nodes.as_slice()),
                (Vec3::new(0.5, 0.0, 0.0), &[0, 1, 2, 3][..])
            );
            assert_eq!(mesh.cell_field(LABEL).unwrap().values, [-5.0]);
            fuzz_one(&bytes);
        }
    }
}

#[test]
fn mistakes_in_bytes_are_named_by_their_byte() {
    let good = binary_file(2, false);
    let changed = |at: usize, value: i32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        read(&bytes).unwrap_err()
    };
    // Dimension is at 8..20, the count of vertices at 28, positions from 32 in rows of 28.
    assert!(matches!(changed(4, 7), ReadError::Syntax { place: Place::Byte(4), .. }));
    assert!(matches!(changed(16, 2), ReadError::Unsupported { place: Place::Byte(8), .. }));
    assert!(matches!(changed(28, 4000), ReadError::Count { place: Place::Byte(28), promised: 4000, .. }));
    assert!(matches!(changed(28, -1), ReadError::Syntax { place: Place::Byte(28), .. }));
    // A backward offset would loop forever.
    let table = 32 + 4 * 28;
    assert!(matches!(changed(table + 4, 8), ReadError::Index { place: Place::Byte(_), index: 8, .. }));
    let cell = table + 4 + 4 + 3 + 12;
    assert_eq!(changed(cell, 9), ReadError::Index { place: Place::Byte(cell), what: "vertex", index: 9 });
    let mut bytes = good.clone();
    bytes[32 + 28..32 + 36].copy_from_slice(&f64::NAN.to_le_bytes());
    assert!(matches!(read(&bytes), Err(ReadError::NotFinite { place: Place::Byte(60), .. })));
    for end in 5..good.len() - 16 {
        let result = read(&good[..end]);
        // A file may end after any complete keyword.
        let is_whole = end == table || end == table + 11;
        assert_eq!(result.is_ok(), is_whole, "{end}: {result:?}");
    }
}
