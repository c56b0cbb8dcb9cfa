use std::collections::BTreeMap;

use super::*;
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData};
use crate::vtu::tests::{assert_equal, sample};

const TET: &str = "# vtk DataFile Version 3.0\na tetrahedron\nASCII\nDATASET UNSTRUCTURED_GRID\n\
    POINTS 4 float\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n";

fn tet_with(rest: &str) -> String {
    format!("{TET}{rest}")
}

#[test]
fn everything_survives_a_round_trip() {
    for mesh in [sample(), MeshData::default()] {
        for binary in [false, true] {
            let bytes = write(&mesh, &WriteOptions { binary, compress: false, version: None }).unwrap();
            assert_equal(&mesh, &read(&bytes).unwrap());
        }
    }
}

#[test]
fn attributes_are_fields() {
    let mesh = read(
        tet_with(
            "POINT_DATA 4\nSCALARS s int\nLOOKUP_TABLE default\n1 2 3 4\nSCALARS pairs float 2\nLOOKUP_TABLE mine\n\
             1 2 3 4 5 6 7 8\nLOOKUP_TABLE mine 2\n0 0 0 1 1 1 1 1\nSCALARS without%20table double\n5 6 7 8\n\
             VECTORS v double\n1 2 3 4 5 6 7 8 9 10 11 12\nMETADATA\nINFORMATION 1\nNAME a LOCATION b\nDATA 2 0 1\n\n\
             TENSORS6 t6 float\n1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6 1 2 3 4 5 6\nCOLOR_SCALARS c 1\n0 0.2 0.4 1\n\
             CELL_DATA 1\nFIELD FieldData 3\nwords 1 1 string\na%20b\nset:all 1 1 unsigned_char\n1\nlabel 1 1 int\n7\n\
             METADATA\nCOMPONENT_NAMES\nx\n\nSCALARS label float 1\nLOOKUP_TABLE default\n8\n",
        )
        .as_bytes(),
    )
    .unwrap();
    let field = |name: &str| &mesh.point_field(name).unwrap().values;
    assert_eq!(field("s"), &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(field("pairs"), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(field("without table"), &[5.0, 6.0, 7.0, 8.0]);
    assert_eq!(field("v").iter().sum::<f64>(), 78.0);
    assert_eq!(mesh.point_field("t6").unwrap().components, 6);
    assert_eq!(field("c"), &[0.0, 51.0, 102.0, 255.0]);
    assert_eq!(mesh.cell_fields, [Field::scalars("label", vec![7.0])]);
    assert_eq!(mesh.cell_sets, BTreeMap::from([("all".into(), vec![0])]));
    assert_eq!(mesh.notes.len(), 2, "{:?}", mesh.notes);
}

#[test]
fn windows_line_ends_and_cases_do_not_matter() {
    let text = TET.replace('\n', "\r\n").replace("POINTS", "points").replace("ASCII", "ascii");
    assert_eq!(read(text.as_bytes()).unwrap(), read(TET.as_bytes()).unwrap());
}

/// Both triangles of a strip get the strip's tensor; with a tensor of a thousand numbers they would fill the memory.
#[test]
fn a_long_strip_with_much_data_does_not_fill_the_memory() {
    let strip: String = (0..2000).map(|i| format!("{} ", i % 3)).collect();
    let data = "1 ".repeat(1000);
    let text = format!(
        "# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n\
         TRIANGLE_STRIPS 1 2001\n2000 {strip}\nCELL_DATA 1\nFIELD f 2\nlarge 1000 1 float\n{data}\nsmall 1 1 int\n5\n"
    );
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!(mesh.cell_count(), 1998);
    assert_eq!(mesh.cell_fields, [Field::scalars("small", vec![5.0; 1998])]);
    assert!(mesh.notes[0].contains("\"large\""), "{:?}", mesh.notes);
}

#[test]
fn a_surface_of_points_only_has_no_cells() {
    let text = "# vtk DataFile Version 5.1\n\nASCII\nDATASET POLYDATA\nPOINTS 1 double\n1 2 3\nPOLYGONS 0 0\n";
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!((mesh.points.len(), mesh.cell_count()), (1, 0));
}

#[test]
fn mistakes_are_named_with_their_line() {
    let poly = |cells: &str| {
        format!("# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n{cells}")
    };
    let offsets = |numbers: &str| {
        format!("{}\nCELL_TYPES 1\n5\n", poly(numbers)).replace("3.0", "5.1").replace("POLYDATA", "UNSTRUCTURED_GRID")
    };
    let cases = [
        ("<?xml?>".to_string(), ".vtu"),
        (TET.replace("3.0", "three"), "line 1: the version `three`"),
        (TET.replace("ASCII", "EBCDIC"), "line 3: `EBCDIC` is neither"),
        (TET.replace("DATASET", "DATA"), "line 4: `DATA` instead of DATASET"),
        (TET.replace("UNSTRUCTURED_GRID", "RECTILINEAR_GRID"), "line 4: the dataset RECTILINEAR_GRID cannot be read"),
        (TET.replace("UNSTRUCTURED_GRID", "OCTREE"), "line 4: the dataset `OCTREE` is not known"),
        (TET.replace("POINTS 4", "POINTS four"), "line 5: points: `four` is not a count"),
        (TET.replace("POINTS 4", "POINTS -4"), "line 5: points: `-4` is not a count"),
        (TET.replace("POINTS 4", "POINTS 99999999"), "line 5: points: 99999999 promised"),
        (TET.replace("POINTS 4", "POINTS 5"), "line 10: coordinates: `CELLS` is not a number"),
        (TET.replace("4 float", "4 quadruple"), "line 5: points: the type `quadruple`"),
        (TET.replace("0 1 0\n", "0 inf 0\n"), "line 8: point 2 is not finite"),
        (TET.replace("0 1 2 3", "0 1 2 4"), "line 11: node 4 does not exist"),
        (TET.replace("0 1 2 3", "0 1 -2 3"), "line 11: node -1 does not exist"),
        (TET.replace("4 0 1 2 3", "5 0 1 2 3"), "line 11: cells: 1 promised, 0 found"),
        (TET.replace("CELLS 1 5", "CELLS 1 6"), "line 12: numbers of cells: `CELL_TYPES` is not an integer"),
        (TET.replace("CELLS 1 5\n4 0 1 2 3", "CELLS 1 5\n3 0 1 2 3"), "line 10: numbers of cells: 5 promised, 4 found"),
        (
            TET.replace("CELLS 1 5\n4 0 1 2 3", "CELLS 1 4\n3 0 1 2"),
            "line 10: cell 0, a tetrahedron, has 3 nodes instead of 4",
        ),
        (TET.replace("\n10\n", "\n42\n"), "line 13: cell 0, a polyhedron (VTK type 42), cannot be read"),
        (TET.replace("CELL_TYPES 1\n10\n", ""), "no CELL_TYPES"),
        (TET.replace("CELL_TYPES 1\n10", "CELL_TYPES 2\n10 10"), "cell types: 1 promised, 2 found"),
        (tet_with("POINT_DATA 3\n"), "line 14: points with data: 3 promised, 4 found"),
        (tet_with("CELL_DATA 2\n"), "line 14: cells with data: 2 promised, 1 found"),
        (
            tet_with("CELL_DATA 1\nFIELD f 1\na 1 2 int\n1 2\n"),
            "line 16: entries of the field \"a\": 1 promised, 2 found",
        ),
        (tet_with("CELL_DATA 1\nSCALARS a int x\n"), "line 15: `x` is not a number of components"),
        (tet_with("CELL_DATA 1\nVECTORS a int\n1 2\n"), "line 15: numbers in the field \"a\": 3 promised, 2 found"),
        (tet_with("CELL_DATA 1\nSPINORS a int\n"), "line 15: `SPINORS` was not expected here"),
        (tet_with("POLYGONS 1 4\n"), "line 14: `POLYGONS` was not expected here"),
        (poly("POLYGONS 1 3\n2 0 1\n"), "cell 0, a polygon, has 2 nodes instead of at least 3"),
        (poly("LINES 1 2\n1 0\n"), "cell 0, a line, has 1 nodes instead of 2"),
        (poly("LINES 1 3\n2 0 1\nLINES 1 3\n2 0 1\n"), "a second LINES"),
        (poly("").split("POINTS").next().unwrap_or_default().to_string(), "no POINTS"),
        (
            offsets("CELLS 2 3\nOFFSETS int\n0 2\nCONNECTIVITY int\n0 1 2"),
            "line 9: nodes up to the last offset: 3 promised, 2 found",
        ),
        (offsets("CELLS 2 3\nOFFSETS int\n1 3\nCONNECTIVITY int\n0 1 2"), "line 9: the first offset is not 0"),
        (offsets("CELLS 2 3\nOFFSETS int\n0 3\nCONNECTIVITY int\n0 1 3"), "line 11: node 3 does not exist"),
        (offsets("CELLS 2 3\n0 3\n"), "line 8: `0` instead of OFFSETS"),
    ];
    for (text, part) in cases {
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "expected {part:?} in {error:?}");
    }
}

#[test]
fn mistakes_in_binary_files_are_named_with_their_byte() {
    let mesh = sample();
    let bytes = write(&mesh, &WriteOptions::default()).unwrap();
    let points = crate::xml::find(&bytes, b"double\n").unwrap() + 7;
    let mut wrong = bytes.clone();
    wrong[points + 8 * 6..points + 8 * 7].copy_from_slice(&f64::NAN.to_be_bytes());
    let error = read(&wrong).unwrap_err().to_string();
    assert_eq!(error, format!("byte {}: point 2 is not finite", points + 8 * 6));
    let cells = crate::xml::find(&bytes, b"CELLS").unwrap();
    let start = cells + bytes[cells..].iter().position(|&b| b == b'\n').unwrap() + 1;
    let mut wrong = bytes.clone();
    wrong[start + 8..start + 12].copy_from_slice(&77u32.to_be_bytes());
    assert_eq!(read(&wrong).unwrap_err().to_string(), format!("byte {}: node 77 does not exist", start + 8));
    for counts in ["CELLS 5 0", "CELLS 1 1", "CELLS 0 9"] {
        let wrong = [&bytes[..cells], counts.as_bytes(), b"\n", &bytes[start..]].concat();
        assert!(read(&wrong).is_err(), "{counts}");
    }
    assert!(read(&bytes[..start + 3]).unwrap_err().to_string().contains("promised"));
}

#[test]
fn a_strip_turns_every_second_triangle() {
    let text = "# vtk DataFile Version 2.0\n\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 1 1 0\n\
                TRIANGLE_STRIPS 1 5\n4 0 1 2 3\n";
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!(mesh.groups, [CellGroup::with_nodes(CellShape::Tri3, vec![0, 1, 2, 2, 1, 3])]);
}

#[test]
fn every_truncation_and_changed_byte_ends_without_a_panic() {
    let binary = write(&sample(), &WriteOptions::default()).unwrap();
    for bytes in [TET.as_bytes().to_vec(), binary] {
        for cut in 0..bytes.len() {
            fuzz_one(&bytes[..cut]);
            let mut changed = bytes.clone();
            changed[cut] ^= 0x15;
            fuzz_one(&changed);
        }
    }
}
