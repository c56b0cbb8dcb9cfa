use sinew_math::Vec3;

use super::read::GEOMETRICAL;
use super::*;
use crate::error::Place;
use crate::mesh_data::{CellGroup, CellShape, Field, LABEL};
use crate::volume::VolumeOptions;

/// Every variant that is written.
fn variants() -> impl Iterator<Item = WriteOptions> {
    ["2.2", "4.1"].into_iter().flat_map(|version| {
        let options = move |binary| WriteOptions { binary, version: Some(version.into()), ..WriteOptions::default() };
        [false, true].map(options)
    })
}

/// Two tetrahedra with a common face, a face below, and unrelated coordinates.
fn two_tets() -> MeshData {
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0 / 3.0], [1e-9, -2.5e300, 7.0]];
    let mut mesh = MeshData { points: points.map(Vec3::from).to_vec(), ..MeshData::default() };
    mesh.push_cell(CellShape::Tet4, &[0, 1, 2, 3]);
    mesh.push_cell(CellShape::Tet4, &[1, 2, 3, 4]);
    mesh.push_cell(CellShape::Tri3, &[0, 2, 1]);
    mesh
}

#[test]
fn labels_sets_and_fields_survive_every_variant() {
    let mut mesh = two_tets();
    mesh.cell_fields.push(Field::scalars(LABEL, vec![4.0, 9.0, 4.0]));
    mesh.cell_sets.insert("the \u{3b1} muscle".into(), vec![0]);
    mesh.cell_sets.insert("floor".into(), vec![2]);
    mesh.point_fields.push(Field {
        name: "u".into(),
        components: 3,
        values: (0..15).map(|i| f64::from(i) / 7.0).collect(),
    });
    mesh.cell_fields.push(Field::scalars("age", vec![1.5, f64::NAN, f64::INFINITY]));
    for options in variants() {
        let back = read(&write(&mesh, &options).unwrap()).unwrap();
        assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups), "{options:?}");
        assert_eq!(back.cell_field(LABEL).unwrap().values, [4.0, 9.0, 4.0]);
        assert_eq!(back.cell_sets, mesh.cell_sets, "{options:?}");
        assert_eq!(back.point_fields, mesh.point_fields);
        let age = &back.cell_field("age").unwrap().values;
        assert!(age[0] == 1.5 && age[1].is_nan() && age[2] == f64::INFINITY, "{age:?}");
    }
}

#[test]
fn overlapping_sets_survive_version_4() {
    let mut mesh = two_tets();
    mesh.cell_fields.push(Field::scalars(LABEL, vec![4.0, 4.0, 0.0]));
    mesh.cell_sets.insert("all".into(), vec![0, 1, 2]);
    mesh.cell_sets.insert("first".into(), vec![0]);
    mesh.cell_sets.insert("second".into(), vec![1, 1]);
    let back = read(&write(&mesh, &WriteOptions::default()).unwrap()).unwrap();
    mesh.cell_sets.insert("second".into(), vec![1]);
    assert_eq!(back.cell_sets, mesh.cell_sets);
    assert_eq!(back.cell_field(LABEL).unwrap().values[..2], [4.0, 4.0]);
    // One group per cell: the set that equals a label stays, those that cut it are lost.
    let options = WriteOptions { version: Some("2.2".into()), ..WriteOptions::default() };
    let back = read(&write(&mesh, &options).unwrap()).unwrap();
    assert_eq!(back.cell_sets.keys().collect::<Vec<_>>(), ["all"]);
    assert_eq!(back.cell_sets["all"], [0, 1, 2]);
}

#[test]
fn node_sets_come_back_as_named_points() {
    let mut mesh = two_tets();
    mesh.points[4] = Vec3::new(1.0, 1.0, 1.0);
    mesh.node_sets.insert("tip".into(), vec![4, 3]);
    mesh.node_sets.insert("edge".into(), vec![3, 0]);
    for options in variants() {
        let back = read(&write(&mesh, &options).unwrap()).unwrap();
        assert_eq!(back.groups.last(), Some(&CellGroup::with_nodes(CellShape::Vertex, vec![3, 0, 4, 3])));
        let volume = back.into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert_eq!(
            (&volume.node_sets()["tip"], &volume.node_sets()["edge"]),
            (&vec![3, 4], &vec![0, 3]),
            "{options:?}"
        );
    }
}

#[test]
fn every_shape_survives_every_variant() {
    let mut mesh = MeshData { points: vec![Vec3::zero(); 27], ..MeshData::default() };
    for shape in CellShape::all().filter(|&shape| shape != CellShape::Polygon) {
        let nodes: Vec<u32> = (0..shape.nodes().unwrap() as u32).collect();
        mesh.push_cell(shape, &nodes);
    }
    for options in variants() {
        let back = read(&write(&mesh, &options).unwrap()).unwrap();
        assert_eq!(back.groups, mesh.groups, "{options:?}");
        fuzz_one(&write(&mesh, &options).unwrap());
    }
}

#[test]
fn labels_that_are_no_groups_become_a_field_and_labels_again() {
    let mut mesh = two_tets();
    mesh.cell_fields.push(Field::scalars(LABEL, vec![-3.0, 2.5, 1e12]));
    for options in variants() {
        let back = read(&write(&mesh, &options).unwrap()).unwrap();
        assert_eq!(back.cell_field(LABEL), mesh.cell_field(LABEL), "{options:?}");
    }
}

#[test]
fn entities_survive_where_they_agree_with_groups() {
    let mut mesh = two_tets();
    mesh.cell_fields.push(Field::scalars(GEOMETRICAL, vec![17.0, 3.0, 3.0]));
    for options in variants() {
        let back = read(&write(&mesh, &options).unwrap()).unwrap();
        assert_eq!(back.cell_field(GEOMETRICAL), mesh.cell_field(GEOMETRICAL), "{options:?}");
    }
    // An entity cannot be in group 1 for one cell and not for another.
    mesh.cell_fields[0].values = vec![3.0; 3];
    mesh.cell_fields.push(Field::scalars(LABEL, vec![1.0, 2.0, 2.0]));
    for options in variants() {
        let back = read(&write(&mesh, &options).unwrap()).unwrap();
        assert_eq!(back.cell_field(GEOMETRICAL).unwrap().values, [1.0, 2.0, 1.0], "{options:?}");
        assert_eq!(back.cell_field(LABEL), mesh.cell_field(LABEL), "{options:?}");
    }
}

#[test]
fn fields_of_other_sizes_are_filled_up_or_refused() {
    let mut mesh = two_tets();
    mesh.point_fields.push(Field { name: "uv".into(), components: 2, values: vec![1.0; 10] });
    let back = read(&write(&mesh, &WriteOptions::default()).unwrap()).unwrap();
    assert_eq!((back.point_fields[0].components, &back.point_fields[0].values[..4]), (3, &[1.0, 1.0, 0.0, 1.0][..]));
    mesh.point_fields[0] = Field { name: "many".into(), components: 12, values: vec![1.0; 60] };
    let error = write(&mesh, &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("\"many\" of 12 components"), "{error}");
    mesh.point_fields.clear();
    mesh.push_cell(CellShape::Polygon, &[0, 1, 2, 3, 4]);
    assert!(write(&mesh, &WriteOptions::default()).unwrap_err().to_string().contains("polygons"));
    let options = WriteOptions { version: Some("3".into()), ..WriteOptions::default() };
    assert!(matches!(write(&mesh, &options), Err(WriteError::Variant { .. })));
}

const SMALL: &str = "$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
2 7 \"skin\"
3 5 \"flesh\"
$EndPhysicalNames
$Nodes
4
10 0 0 0
20 1 0 0
7 0 1 0
1000000 0 0 1
$EndNodes
$Elements
4
3 4 2 5 1 10 20 7 1000000
9 2 2 7 1 10 7 20
10 2 2 8 1 10 7 20
11 15 3 0 1 4 7
$EndElements
$NodeData
2
\"heat\"
\"scheme\"
1
0.5
4
0 1 2 0
7 1.5
10 -2
$EndNodeData
$ElementData
1
\"age\"
0
3
0
1
2
10 3
11 4
$EndElementData
";

/// Sparse numbers, a triangle repeated because it is in two groups, data at some nodes only.
#[test]
fn numbers_may_be_sparse_and_data_incomplete() {
    let mesh = read(SMALL.replace("2 7 \"skin\"", "2 8 \"skin\"").as_bytes()).unwrap();
    assert_eq!(mesh.groups[0].nodes, [0, 1, 2, 3]);
    assert_eq!(mesh.groups[1], CellGroup::with_nodes(CellShape::Tri3, vec![0, 2, 1]));
    assert_eq!(mesh.cell_field(LABEL).unwrap().values, [5.0, 7.0, 0.0]);
    assert_eq!((&mesh.cell_sets["skin"], &mesh.cell_sets["flesh"]), (&vec![1], &vec![0]));
    let heat = &mesh.point_field("heat").unwrap().values;
    assert!(heat[0] == -2.0 && heat[1].is_nan() && heat[2] == 1.5 && heat[3].is_nan(), "{heat:?}");
    let age = &mesh.cell_field("age").unwrap().values;
    assert!(age[0].is_nan() && age[1] == 3.0 && age[2] == 4.0, "{age:?}");
    fuzz_one(SMALL.as_bytes());
}

#[test]
fn mistakes_in_text_are_named_by_their_line() {
    let cases: [(&str, &str, &str); 16] = [
        ("$MeshFormat", "$Mesh", "not a valid Gmsh file"),
        ("2.2 0 8", "4.0 0 8", "line 2: Gmsh's version 4.0 cannot be read\nhint: save it as version 4.1"),
        ("2.2 0 8", "2.2 7 8", "line 2: a file type of 7"),
        ("2.2 0 8", "2.2 0 4", "line 2: numbers of 4 bytes"),
        ("\"skin\"", "skin", "line 6: expected a name in quotes, found `skin`"),
        ("2 7 \"skin\"", "4 7 \"skin\"", "line 6: no physical group has dimension 4"),
        ("20 1 0 0", "20 nan 0 0", "line 12: position of a node is not finite"),
        ("20 1 0 0", "20 1 x 0", "line 12: position of a node: `x` is not a number"),
        ("20 1 0 0", "10 1 0 0", "line 14: the node 10 is given twice"),
        ("$Nodes\n4", "$Nodes\n5", "line 15: number of a node: `$EndNodes` is not an integer"),
        ("$Nodes\n4", "$Nodes\n3", "line 14: expected `$EndNodes`, found `1000000`"),
        ("$Nodes\n4", "$Nodes\n4000", "line 10: nodes: 4000 promised"),
        ("3 4 2 5 1 10", "3 4 2 5 1 11", "line 18: node 11 does not exist"),
        ("3 4 2", "3 92 2", "line 18: element type 92 (hexahedron with 64 nodes) cannot be read"),
        ("7 1.5", "8 1.5", "line 31: node 8 does not exist"),
        ("10 3\n", "12 3\n", "line 42: element 12 does not exist"),
    ];
    for (from, to, expected) in cases {
        assert!(SMALL.contains(from), "{from}");
        let error = read(SMALL.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    let cut = SMALL.split("$EndElements").next().unwrap();
    assert!(matches!(read(cut.as_bytes()), Err(ReadError::Truncated { place: Place::Line(22), .. })));
    let without = SMALL.split("$Elements").next().unwrap();
    assert_eq!(read(without.as_bytes()), Err(ReadError::Missing { what: "`$Elements` section" }));
}

#[test]
fn mistakes_in_bytes_are_named_by_their_byte() {
    let mesh = two_tets();
    for options in variants().filter(|options| options.binary) {
        let bytes = write(&mesh, &options).unwrap();
        let find = |needle: &[u8]| bytes.windows(needle.len()).position(|window| window == needle).unwrap();
        let third = find(&(1.0f64 / 3.0).to_le_bytes());
        let mut wrong = bytes.clone();
        wrong[third..third + 8].copy_from_slice(&f64::NAN.to_le_bytes());
        // The position of a node begins two doubles before its z coordinate.
        let place = Place::Byte(third - 16);
        assert_eq!(read(&wrong), Err(ReadError::NotFinite { place, what: "position of a node".into() }));
        for cut in [third, bytes.len() / 2, bytes.len() - 20] {
            let error = read(&bytes[..cut]).unwrap_err();
            let places = matches!(
                error,
                ReadError::Truncated { place: Place::Byte(_), .. }
                    | ReadError::Count { place: Place::Byte(_), .. }
                    | ReadError::Missing { .. }
            );
            assert!(places, "{error}");
        }
        // The last number of the last element: its node.
        let size = if options.version.as_deref() == Some("4.1") { 8 } else { 4 };
        let at = find(b"\n$EndElements") - size;
        let mut wrong = bytes.clone();
        wrong[at] = 77;
        let error = read(&wrong).unwrap_err();
        assert!(matches!(error, ReadError::Index { place: Place::Byte(_), what: "node", index: 77 }), "{error}");
    }
}

/// Swaps the byte order of a binary file of version 4.1.
#[test]
fn both_orders_of_bytes_are_read() {
    let little = write(&two_tets(), &WriteOptions::default()).unwrap();
    let mut big = Vec::new();
    let mut rest = little.as_slice();
    let copy = |rest: &mut &[u8], size: usize, count: usize, out: &mut Vec<u8>| {
        for _ in 0..count {
            let (number, later) = rest.split_at(size);
            out.extend(number.iter().rev());
            *rest = later;
        }
    };
    let line = |rest: &mut &[u8], out: &mut Vec<u8>| {
        let (line, later) = rest.split_at(rest.iter().position(|&b| b == b'\n').unwrap() + 1);
        out.extend_from_slice(line);
        *rest = later;
    };
    line(&mut rest, &mut big);
    line(&mut rest, &mut big);
    copy(&mut rest, 4, 1, &mut big);
    (0..3).for_each(|_| line(&mut rest, &mut big));
    // A surface and a volume without groups: tag, box, no groups, no boundary.
    copy(&mut rest, 8, 4, &mut big);
    for _ in 0..2 {
        copy(&mut rest, 4, 1, &mut big);
        copy(&mut rest, 8, 8, &mut big);
    }
    (0..3).for_each(|_| line(&mut rest, &mut big));
    copy(&mut rest, 8, 4, &mut big);
    copy(&mut rest, 4, 3, &mut big);
    copy(&mut rest, 8, 1 + 5 + 15, &mut big);
    (0..3).for_each(|_| line(&mut rest, &mut big));
    copy(&mut rest, 8, 4, &mut big);
    copy(&mut rest, 4, 3, &mut big);
    copy(&mut rest, 8, 1 + 10, &mut big);
    copy(&mut rest, 4, 3, &mut big);
    copy(&mut rest, 8, 1 + 4, &mut big);
    big.extend_from_slice(rest);
    assert_eq!(read(&big).unwrap(), read(&little).unwrap());
}

#[test]
fn little_files_cannot_ask_for_much() {
    // Each of these sections would allocate a number for every element.
    let mut text =
        String::from("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1000\n");
    (0..1000).for_each(|i| text.push_str(&format!("{i} 15 0 1\n")));
    text.push_str("$EndElements\n");
    (0..1000).for_each(|_| text.push_str("$ElementData\n0\n0\n3\n0\n9\n0\n$EndElementData\n"));
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("more numbers than the file has bytes"), "{error}");
    for count in ["18446744073709551615", "9223372036854775807", "-1", "4000000000"] {
        let text = format!(
            "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {count} 1 1\n3 1 0 {count}\n1\n0 0 0\n$EndNodes\n"
        );
        assert!(read(text.as_bytes()).is_err());
    }
}

#[test]
fn sections_that_are_not_needed_are_passed_over() {
    let extra = "$Comments\n$ not a section $End $EndCom 3\n$EndComments\n$Periodic\n1\n0 1 2\n$EndPeriodic\n$Nodes";
    let again = "$EndElementData\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$ElementNodeData\n0\n$EndElementNodeData\n";
    let text = SMALL.replacen("$Nodes", extra, 1).replace("$EndElementData\n", again);
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!(mesh.points, read(SMALL.as_bytes()).unwrap().points);
    assert_eq!(mesh.notes.len(), 2, "{:?}", mesh.notes);
    let open = SMALL.replacen("$Nodes", "$Comments\n$Nodes", 1);
    assert!(matches!(read(open.as_bytes()), Err(ReadError::Truncated { place: Place::Line(9), .. })));
}
