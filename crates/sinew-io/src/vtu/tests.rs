use std::collections::BTreeMap;

use sinew_math::Vec3;

use super::*;
use crate::base64;
use crate::mesh_data::{CellGroup, CellShape, Field};
use crate::{Place, ReadError, VolumeOptions};

/// A file with one tetrahedron; the arguments complete the tags and give the content of arrays.
fn file(attributes: &str, points: &str, connectivity: &str, offsets: &str, types: &str, rest: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" {attributes}>\n<UnstructuredGrid>\n\
         <Piece NumberOfPoints=\"4\" NumberOfCells=\"1\">\n\
         <Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" {points}</DataArray></Points>\n\
         <Cells><DataArray type=\"Int32\" Name=\"connectivity\" {connectivity}</DataArray>\n\
         <DataArray type=\"Int32\" Name=\"offsets\" {offsets}</DataArray>\n\
         <DataArray type=\"UInt8\" Name=\"types\" {types}</DataArray></Cells>\n\
         {rest}</Piece></UnstructuredGrid></VTKFile>\n"
    )
}

const POINTS: &str = "format=\"ascii\">0 0 0 1 0 0 0 1 0 0 0 1";
const NODES: &str = "format=\"ascii\">0 1 2 3";
const OFFSETS: &str = "format=\"ascii\">4";
const TYPES: &str = "format=\"ascii\">10";

fn good() -> String {
    let data = "<CellData><DataArray type=\"Int32\" Name=\"label\" format=\"ascii\">7</DataArray></CellData>\n";
    file("", POINTS, NODES, OFFSETS, TYPES, data)
}

/// A mesh with some of everything.
pub(crate) fn sample() -> MeshData {
    let tets = CellGroup::with_nodes(CellShape::Tet4, vec![0, 1, 2, 3, 1, 2, 3, 4]);
    let polygons = CellGroup { shape: CellShape::Polygon, nodes: vec![0, 1, 2, 3, 4, 2, 1, 0], ends: vec![5, 8] };
    let triangle = CellGroup::with_nodes(CellShape::Tri3, vec![4, 2, 0]);
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.1, 1e-300, -2e20]];
    MeshData {
        points: points.map(Vec3::from).to_vec(),
        groups: vec![tets, polygons, triangle],
        point_fields: vec![
            Field::scalars("a <b> & \"c\"\u{e4}", vec![0.1, -0.0, f64::NAN, f64::INFINITY, 5e-324]),
            Field { name: "pairs".into(), components: 2, values: (0..10).map(f64::from).collect() },
        ],
        cell_fields: vec![Field::scalars("label", vec![1.0, 2.0, 3.0, 4.0, 5.0])],
        node_sets: BTreeMap::from([("left side".into(), vec![0, 2, 4]), ("none".into(), vec![])]),
        cell_sets: BTreeMap::from([("ends".into(), vec![0, 4])]),
        notes: Vec::new(),
    }
}

/// Equality by bits: NaN equals itself.
#[track_caller]
pub(crate) fn assert_equal(a: &MeshData, b: &MeshData) {
    assert_eq!((&a.points, &a.groups), (&b.points, &b.groups));
    assert_eq!((&a.node_sets, &a.cell_sets), (&b.node_sets, &b.cell_sets));
    for (a, b) in [(&a.point_fields, &b.point_fields), (&a.cell_fields, &b.cell_fields)] {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            let bits = |field: &Field| field.values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            assert_eq!((&a.name, a.components, bits(a)), (&b.name, b.components, bits(b)));
        }
    }
}

#[test]
fn everything_survives_a_round_trip() {
    let mesh = sample();
    for (binary, compress) in [(false, false), (true, false), (true, true)] {
        let bytes = write(&mesh, &WriteOptions { binary, compress, version: None }).unwrap();
        assert_equal(&mesh, &read(&bytes).unwrap());
    }
    let empty = MeshData::default();
    for (binary, compress) in [(false, false), (true, false), (true, true)] {
        let bytes = write(&empty, &WriteOptions { binary, compress, version: None }).unwrap();
        assert_equal(&empty, &read(&bytes).unwrap());
    }
}

/// A lattice of n³ cubes has volume 1 after any round trip; large enough for several blocks and parts.
#[test]
fn a_large_mesh_survives_a_round_trip() {
    let n = 30u32;
    let node = |x: u32, y: u32, z: u32| x + (n + 1) * (y + (n + 1) * z);
    let mut mesh = MeshData::default();
    for z in 0..=n {
        for y in 0..=n {
            mesh.points.extend((0..=n).map(|x| Vec3::new(f64::from(x), f64::from(y), f64::from(z)) / f64::from(n)));
        }
    }
    for i in 0..n * n * n {
        let (x, y, z) = (i % n, i / n % n, i / n / n);
        let base = [node(x, y, z), node(x + 1, y, z), node(x + 1, y + 1, z), node(x, y + 1, z)];
        let top = base.map(|node| node + (n + 1) * (n + 1));
        mesh.push_cell(CellShape::Hex8, &[base, top].concat());
    }
    for (binary, compress) in [(false, false), (true, false), (true, true)] {
        let bytes = write(&mesh, &WriteOptions { binary, compress, version: None }).unwrap();
        let back = read(&bytes).unwrap();
        assert_equal(&mesh, &back);
        let volume = back.into_volume(&VolumeOptions::default()).unwrap().mesh.volume();
        assert!((volume - 1.0).abs() < 1e-12, "{volume}");
    }
}

/// The same tetrahedron as inline base64, with header and data together or separate, in either byte order and header
/// size.
#[test]
fn inline_base64_is_read_in_all_its_forms() {
    let numbers: [f64; 12] = [0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 1.];
    for case in 0..8 {
        let (big, wide, apart) = (case & 1 > 0, case & 2 > 0, case & 4 > 0);
        let data: Vec<u8> = numbers.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
        let mut header = (data.len() as u64).to_le_bytes()[..if wide { 8 } else { 4 }].to_vec();
        if big {
            header.reverse();
        }
        let text = match apart {
            true => base64::encode(&header) + &base64::encode(&data),
            false => base64::encode(&[header, data].concat()),
        };
        let order = if big { "BigEndian" } else { "LittleEndian" };
        let header = if wide { "UInt64" } else { "UInt32" };
        let attributes = format!("byte_order=\"{order}\" header_type=\"{header}\"");
        let points = format!("format=\"binary\">\n  {text}\n");
        let mesh = read(file(&attributes, &points, NODES, OFFSETS, TYPES, "").as_bytes()).unwrap();
        assert_eq!(mesh.points[3], Vec3::new(0.0, 0.0, 1.0), "{attributes} apart: {apart}");
    }
}

/// A writer may put the header of compressed blocks and the blocks into one run of base64.
#[test]
fn compressed_base64_in_one_run_is_read() {
    let numbers: [f64; 12] = [0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 1.];
    let data: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    let packed = blocks::pack(&data);
    assert_ne!(4 * 8 % 3, 0, "else nothing tells one run from two");
    let points = format!("format=\"binary\">{}", base64::encode(&packed));
    let attributes = "header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\"";
    // Our header gives the last block as shorter; here it is the only one.
    let mesh = read(file(attributes, &points, NODES, OFFSETS, TYPES, "").as_bytes()).unwrap();
    assert_eq!(mesh.points[3], Vec3::new(0.0, 0.0, 1.0));
}

#[test]
fn sets_are_arrays_of_zeros_and_ones() {
    let arrays = "<PointData>\
        <DataArray type=\"UInt8\" Name=\"set:left\" format=\"ascii\">1 0 0 1</DataArray>\
        <DataArray type=\"UInt8\" Name=\"set:not a mask\" format=\"ascii\">1 0 0 2</DataArray>\
        <DataArray type=\"String\" Name=\"words\" format=\"ascii\">97 0</DataArray>\
        <DataArray type=\"Float32\" Name=\"t\" format=\"ascii\">1 2 3 4</DataArray>\
        <DataArray type=\"Float32\" Name=\"t\" format=\"ascii\">5 6 7 8</DataArray></PointData>";
    let mesh = read(file("", POINTS, NODES, OFFSETS, TYPES, arrays).as_bytes()).unwrap();
    assert_eq!(mesh.node_sets, BTreeMap::from([("left".into(), vec![0, 3])]));
    let names: Vec<&str> = mesh.point_fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["set:not a mask", "t"]);
    assert_eq!(mesh.point_fields[1].values, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(mesh.notes.len(), 2, "{:?}", mesh.notes);
}

/// Fields that only some pieces have are dropped; empty pieces do not count.
#[test]
fn fields_of_all_pieces_are_kept() {
    let piece = |fields: &[(&str, f64)]| {
        let one = file("", POINTS, NODES, OFFSETS, TYPES, "");
        let start = one.find("<Piece").unwrap();
        let mut text = one[start..one.find("</Piece>").unwrap()].to_string();
        text += "<CellData>";
        for (name, value) in fields {
            text += &format!("<DataArray type=\"Float64\" Name=\"{name}\" format=\"ascii\">{value}</DataArray>");
        }
        text + "</CellData></Piece>"
    };
    let pieces = [
        piece(&[("a", 1.0), ("b", 2.0)]),
        "<Piece NumberOfPoints=\"0\" NumberOfCells=\"0\"></Piece>".into(),
        piece(&[("c", 3.0), ("a", 4.0)]),
        piece(&[("b", 5.0), ("a", 6.0)]),
    ];
    let text = format!(
        "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid>{}</UnstructuredGrid></VTKFile>",
        pieces.concat()
    );
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!((mesh.points.len(), mesh.groups.len()), (12, 1));
    assert_eq!(mesh.groups[0].nodes, (0..12).collect::<Vec<u32>>());
    assert_eq!(mesh.cell_fields, [Field::scalars("a", vec![1.0, 4.0, 6.0])]);
    assert!(mesh.notes[0].contains("\"b\""), "{:?}", mesh.notes);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let f = |points, nodes, offsets, types| file("", points, nodes, offsets, types, "");
    let cases = [
        (
            f("format=\"ascii\">0 0 0 1", NODES, OFFSETS, TYPES),
            "line 5: numbers in the array \"Points\": 12 promised, 4 found",
        ),
        (f("format=\"ascii\">0\n0 zero", NODES, OFFSETS, TYPES), "line 6: numbers in the array \"Points\": `zero`"),
        (f("format=\"ascii\">0 0 0 1 0 0 0 1 0\n0 0 nan", NODES, OFFSETS, TYPES), "line 6: point 3 is not finite"),
        (f(POINTS, "format=\"ascii\">0 1 2\n9", OFFSETS, TYPES), "line 7: node 9 does not exist"),
        (f(POINTS, "format=\"ascii\">0 1 2 -1", OFFSETS, TYPES), "line 6: node -1 does not exist"),
        (f(POINTS, "format=\"ascii\">0 1 2 1.5", OFFSETS, TYPES), "`1.5` is not an integer"),
        (f(POINTS, NODES, "format=\"ascii\">99", TYPES), "99 promised, 4 found"),
        (f(POINTS, NODES, "format=\"ascii\">3", TYPES), "3 promised, 4 found"),
        (f(POINTS, "format=\"ascii\">0 1 2", "format=\"ascii\">3", TYPES), "has 3 nodes instead of 4"),
        (f(POINTS, NODES, "format=\"ascii\">-4", TYPES), "line 7: connectivity at offset"),
        (
            f(POINTS, NODES, OFFSETS, "format=\"ascii\">42"),
            "line 8: cell 0, a polyhedron (VTK type 42), cannot be read",
        ),
        (f("format=\"binary\">%%%", NODES, OFFSETS, TYPES), "`%` is not base64"),
        (f("format=\"binary\">AAAA", NODES, OFFSETS, TYPES), "4 promised, 3 found"),
        (f("format=\"appended\" offset=\"0\">", NODES, OFFSETS, TYPES), "line 5: the array \"Points\" is appended"),
        (good().replace("UnstructuredGrid\"", "PolyData\""), "line 2: VTK's XML format for PolyData cannot be read"),
        (
            good().replace("NumberOfPoints=\"4\"", "NumberOfPoints=\"-4\""),
            "line 4: NumberOfPoints=\"-4\" is not a count",
        ),
        (good().replace("NumberOfPoints=\"4\"", "NumberOfPoints=\"999999999\""), "2999999997 promised, 12 found"),
        (good().replace("connectivity", "konnektivity"), "no connectivity"),
        (good().replace("</Cells>", ""), "line 10: </Piece> closes <Cells>"),
        (file("header_type=\"UInt7\"", POINTS, NODES, OFFSETS, TYPES, ""), "line 2: header_type=\"UInt7\""),
        (file("compressor=\"vtkZipper\"", POINTS, NODES, OFFSETS, TYPES, ""), "vtkZipper"),
        ("not xml".into(), "not a valid VTU file"),
        ("<html></html>".into(), "begins with <html>"),
        (String::new(), "not a valid VTU file"),
        ("<VTKFile type=\"UnstructuredGrid\"></VTKFile>".into(), "no Piece"),
    ];
    for (text, part) in cases {
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "expected {part:?} in {error:?}");
    }
}

/// A file whose points are appended: `extra` arrays share them.
fn appended(attributes: &str, data: &[u8], extra: &str) -> Vec<u8> {
    let text = file(attributes, "format=\"appended\" offset=\"0\">", NODES, OFFSETS, TYPES, extra);
    let mut bytes = text.replace("</VTKFile>\n", "<AppendedData encoding=\"raw\">_").into_bytes();
    bytes.extend_from_slice(data);
    bytes
}

#[test]
fn lying_lengths_are_refused_at_their_byte() {
    let start = appended("header_type=\"UInt64\"", b"", "").len();
    let error = |data: &[u8]| read(&appended("header_type=\"UInt64\"", data, "")).unwrap_err();
    let count = |promised, found| ReadError::Count {
        place: Place::Byte(start),
        what: "numbers in the array \"Points\"".into(),
        promised,
        found,
    };
    assert_eq!(error(&(1u64 << 62).to_le_bytes()), count(12, 1 << 59));
    assert_eq!(error(&88u64.to_le_bytes()), count(12, 11));
    let cut = error(&96u64.to_le_bytes());
    assert!(matches!(&cut, ReadError::Count { place: Place::Byte(at), found: 0, .. } if *at == start + 8), "{cut}");
    assert!(matches!(error(b"123"), ReadError::Truncated { .. }));
    let mut values = 96u64.to_le_bytes().to_vec();
    values.extend((0..12).flat_map(|i| if i == 7 { f64::NAN } else { 0.0 }.to_le_bytes()));
    let error = error(&values);
    assert!(
        matches!(&error, ReadError::NotFinite { place: Place::Byte(at), .. } if *at == start + 8 + 6 * 8),
        "{error}"
    );
}

/// Arrays that share their bytes could use unlimited memory from a small file.
#[test]
fn shared_bytes_are_refused() {
    let mut data = 96u64.to_le_bytes().to_vec();
    data.resize(8 + 96, 0);
    let extra = "<PointData><DataArray type=\"Float64\" Name=\"a\" NumberOfComponents=\"3\" \
                 format=\"appended\" offset=\"0\"/></PointData>";
    assert!(read(&appended("header_type=\"UInt64\"", &data, "")).is_ok());
    let error = read(&appended("header_type=\"UInt64\"", &data, extra)).unwrap_err().to_string();
    assert!(error.contains("shares bytes"), "{error}");
}

/// Blocks that promise more than they hold, or more than they can hold.
#[test]
fn zip_bombs_are_refused() {
    let attributes = "header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\"";
    let error = |words: &[u64], packed: &[u8]| {
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        data.extend_from_slice(packed);
        read(&appended(attributes, &data, "")).unwrap_err().to_string()
    };
    let zeros = &blocks::pack(&[0; 1 << 17])[4 * 8..];
    let size = zeros.len() as u64;
    assert!(error(&[1, 96, 0, size], zeros).contains("more than the 96 bytes"));
    assert!(error(&[1, 1 << 60, 0, size], zeros).contains("12 promised"));
    assert!(error(&[u64::MAX, 96, 0, size], zeros).contains("compressed blocks"));
    assert!(error(&[1, 96, 0, 1 << 50], zeros).contains("promised"));
    assert!(error(&[1, 96, 0, 0], zeros).contains("hold 0 at most"));
    assert!(error(&[1, 96, 0, 7], b"garbage").contains("not zlib"));
    // A count that matches the promise, but not the compressed bytes.
    let data: Vec<u8> =
        [1, 24 << 30, 0, size].iter().flat_map(|w: &u64| w.to_le_bytes()).chain(zeros.to_vec()).collect();
    let text = String::from_utf8(appended(attributes, b"", "")).unwrap();
    let mut bytes = text.replace("NumberOfPoints=\"4\"", "NumberOfPoints=\"1073741824\"").into_bytes();
    bytes.extend_from_slice(&data);
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("at most"), "{error}");
}

#[test]
fn fields_of_the_wrong_length_are_not_written() {
    let mut mesh = sample();
    mesh.cell_fields[0].values.pop();
    assert!(write(&mesh, &WriteOptions::default()).unwrap_err().to_string().contains("\"label\""));
    let options = WriteOptions { version: Some("7".into()), ..WriteOptions::default() };
    assert!(write(&sample(), &options).unwrap_err().to_string().contains("\"7\""));
}

#[test]
fn every_truncation_and_changed_byte_ends_without_a_panic() {
    let text = good().into_bytes();
    for cut in 0..text.len() {
        fuzz_one(&text[..cut]);
        let mut changed = text.clone();
        changed[cut] ^= 0x15;
        fuzz_one(&changed);
    }
}
