use sinew_math::Vec3;

use super::*;
use crate::mesh_data::{CellGroup, CellShape, Field, LABEL};

const NODES: &str = "# a unit tetrahedron and its mirror\n5 3 2 1\n 0 0 0 0 0.5 1 0\n1 1 0 0 1.5 2 3\n2 0 1 0 2.5 3 3\n3 0 0 1 3.5 4 0\n\n4 0 0 -1 4.5 5 -1\n# end\n";
const CELLS: &str = "2 4 1\n0 0 1 2 3 7\n1 1 0 2 4 8 # last\n";
const FACES: &str = "1 1\n0 0 1 2 6\n";

fn read_all(node: &str, ele: &str, face: Option<&str>) -> Result<MeshData, ReadError> {
    let mut files = vec![("mesh.node".into(), node.into())];
    files.extend(face.map(|face| ("mesh.face".into(), face.into())));
    read(ele.as_bytes(), "ele", &Beside(files))
}

#[test]
fn attributes_markers_and_faces_are_kept() {
    let mesh = read_all(NODES, CELLS, Some(FACES)).unwrap();
    assert_eq!((mesh.points.len(), mesh.points[4]), (5, Vec3::new(0.0, 0.0, -1.0)));
    assert_eq!(mesh.groups[0], CellGroup::with_nodes(CellShape::Tet4, vec![0, 1, 2, 3, 1, 0, 2, 4]));
    assert_eq!(mesh.groups[1], CellGroup::with_nodes(CellShape::Tri3, vec![0, 1, 2]));
    assert_eq!(mesh.cell_field(LABEL).unwrap().values, [7.0, 8.0, 6.0]);
    assert_eq!(mesh.point_field("attribute-1").unwrap().values, [0.5, 1.5, 2.5, 3.5, 4.5]);
    assert_eq!(mesh.point_field("attribute-2").unwrap().values, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!((&mesh.node_sets["marker-3"], &mesh.node_sets["marker--1"]), (&vec![1, 2], &vec![4]));
    // From the other file, and numbered from 1.
    let beside = Beside(vec![("mesh.ele".into(), CELLS.into())]);
    assert_eq!(read(NODES.as_bytes(), "NODE", &beside).unwrap(), read_all(NODES, CELLS, None).unwrap());
    let one = read_all("2 3\n1 0 0 0\n2 1 1 1", "1 4 0\n1 1 2 1 2", None).unwrap();
    assert_eq!((one.groups[0].nodes.as_slice(), one.cell_fields.len()), (&[0, 1, 0, 1][..], 0));
}

#[test]
fn a_mesh_survives_being_written() {
    let mesh = read_all(NODES, CELLS, Some(FACES)).unwrap();
    let files = write(&mesh).unwrap();
    assert_eq!(files.iter().map(|file| file.extension).collect::<Vec<_>>(), ["node", "ele", "face"]);
    let texts: Vec<String> = files.into_iter().map(|file| String::from_utf8(file.bytes).unwrap()).collect();
    assert_eq!(read_all(&texts[0], &texts[1], Some(&texts[2])).unwrap(), mesh);
    fuzz_one(format!("{NODES}===\n{CELLS}").as_bytes());
}

/// The midpoint of an edge lies between its ends in VTK's order: 01, 12, 02, 03, 13, 23. TetGen's order is 23, 03, 01,
/// 12, 13, 02.
#[test]
fn quadratic_tetrahedra_are_turned_to_the_order_of_vtk() {
    let corners = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 8.0]].map(Vec3::from);
    let mut node = String::from("10 3 0 0\n");
    let edges = [(2, 3), (0, 3), (0, 1), (1, 2), (1, 3), (0, 2)];
    let middles = edges.map(|(a, b)| (corners[a] + corners[b]) * 0.5);
    for (i, p) in corners.iter().chain(&middles).enumerate() {
        node.push_str(&format!("{} {} {} {}\n", i + 1, p.x, p.y, p.z));
    }
    let ele = "1 10 0\n1 1 2 3 4 5 6 7 8 9 10\n";
    // Quadratic faces list the midpoints of their edges and, optionally, two tetrahedra.
    let mesh = read_all(&node, ele, Some("1 1\n1 1 2 3 8 10 7 5 1 -1\n")).unwrap();
    let cell = mesh.groups[0].cell(0);
    for (at, (a, b)) in (4..).zip([(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]) {
        assert_eq!(mesh.points[cell[at] as usize], (corners[a] + corners[b]) * 0.5);
    }
    assert_eq!(
        (mesh.groups[1].nodes.as_slice(), mesh.cell_fields[0].values.as_slice()),
        (&[0, 1, 2][..], &[0.0, 5.0][..])
    );
    let files = write(&mesh).unwrap();
    assert_eq!(String::from_utf8_lossy(&files[1].bytes), ele);
}

#[test]
fn sets_become_markers_and_labels() {
    let mut mesh = read_all(NODES, CELLS, None).unwrap();
    mesh.cell_fields.clear();
    mesh.cell_sets.insert("belly".into(), vec![1]);
    mesh.node_sets.insert("fixed".into(), vec![0, 1]);
    mesh.push_cell(CellShape::Vertex, &[3]);
    mesh.cell_sets.insert("point".into(), vec![2]);
    let files = write(&mesh).unwrap();
    let text = |at: usize| String::from_utf8_lossy(&files[at].bytes).into_owned();
    let back = read_all(&text(0), &text(1), None).unwrap();
    assert_eq!(back.cell_field(LABEL).unwrap().values, [0.0, 1.0]);
    let names: Vec<(&str, &[u32])> =
        back.node_sets.iter().map(|(name, nodes)| (name.as_str(), nodes.as_slice())).collect();
    assert_eq!(names, [("marker--1", &[4][..]), ("marker-2", &[3]), ("marker-3", &[1, 2]), ("marker-4", &[0])]);
    mesh.push_cell(CellShape::Hex8, &[0; 8]);
    assert!(write(&mesh).unwrap_err().to_string().contains("TetGen cannot hold hexahedron cells"));
}

#[test]
fn mistakes_are_named_by_their_file_and_line() {
    let node = |from: &str, to: &str| read_all(&NODES.replacen(from, to, 1), CELLS, None).unwrap_err().to_string();
    let ele = |from: &str, to: &str| read_all(NODES, &CELLS.replacen(from, to, 1), None).unwrap_err().to_string();
    let face = |text: &str| read_all(NODES, CELLS, Some(text)).unwrap_err().to_string();
    let cases = [
        (node("5 3 2 1", "5 2 2 1"), "\"mesh.node\" cannot be read: line 2: a mesh of dimension 2"),
        (node(" 0 0 0 0 0.5", " 4 0 0 0 0.5"), "line 3: the first node is 4"),
        (node("2 0 1 0", "9 0 1 0"), "line 5: node 9 where 2 should be"),
        (node("1 1 0 0", "1 nan 0 0"), "line 4: position of a node is not finite"),
        (node("5 3 2 1", "6 3 2 1"), "line 10: the file ends inside node"),
        (node("5 3 2 1", "5000 3 2 1"), "line 2: nodes: 5000 promised"),
        (node("5 3 2 1", "5 3 30 1"), "line 2: attributes: 150 promised"),
        (ele("2 4 1", "2 8 1"), "line 1: cells of 8 nodes cannot be read"),
        (ele("0 1 2 3 7", "0 1 2 5 7"), "line 2: node 5 does not exist"),
        (ele("0 1 2 3 7", "-1 1 2 3 7"), "line 2: node -1 does not exist"),
        (ele("0 1 2 3 7", "0 1 2 x 7"), "line 2: nodes of a cell: `x` is not an integer"),
        (ele("2 4 1", "3 4 1"), "line 4: the file ends inside tetrahedron"),
        (face("1 1\n0 0 1 9 6\n"), "\"mesh.face\" cannot be read: line 2: node 9 does not exist"),
        (face("1 1\n0 0 1\n"), "line 2: a face of 2 numbers"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    let alone = read(NODES.as_bytes(), "node", &crate::NoCompanions).unwrap_err().to_string();
    assert!(alone.contains("\"mesh.ele\" cannot be read: it is missing"), "{alone}");
}

#[test]
fn attributes_that_are_no_labels_stay_fields() {
    let mesh = read_all(NODES, &CELLS.replace(" 7\n", " 7.5\n"), Some(FACES)).unwrap();
    let values = &mesh.cell_field("attribute-1").unwrap().values;
    assert!(values[..2] == [7.5, 8.0] && values[2].is_nan(), "{values:?}");
    assert_eq!(mesh.cell_field(LABEL), Some(&Field::scalars(LABEL, vec![0.0, 0.0, 6.0])));
}

#[test]
fn markers_that_are_numbers_become_a_field_and_absurd_columns_are_refused() {
    let mut node = String::from("2000 3 0 1\n");
    (0..2000).for_each(|i| node.push_str(&format!("{i} 0 0 0 {i}\n")));
    let mesh = read_all(&node, "0 4 0\n", None).unwrap();
    assert!(mesh.node_sets.is_empty() && mesh.notes.len() == 1);
    assert_eq!(mesh.point_field("marker").unwrap().values[1999], 1999.0);
    let error = read_all(&format!("1 3 2000 0\n1 0 0 0{}", " 1".repeat(2000)), CELLS, None).unwrap_err().to_string();
    assert!(error.contains("line 1: 2000 attributes cannot be read"), "{error}");
}
