//! Mesh to STL.

use std::io::Write;

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::{ATTRIBUTE, RECORD};
use crate::error::WriteError;
use crate::format::WriteOptions;
use crate::mesh_data::{CellShape, MeshData, triangles_of};
use crate::text::push_f64;

/// Bytes before the first triangle: a text and the triangle count.
const HEADER: usize = 84;

/// Bytes of an STL file, binary in single precision or text. Quads and polygons are cut in halves ([`triangles_of`]).
///
/// A binary file stores the cell field `attribute` if it fits in 16-bit integers; a text file stores several solids if
/// every cell belongs to exactly one cell set. The format cannot store other fields and sets.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    let mut count = 0usize;
    for (shape, nodes) in mesh.cells() {
        match shape {
            CellShape::Tri3 | CellShape::Quad4 | CellShape::Polygon => count += nodes.len().saturating_sub(2),
            other => {
                let hint = "write the boundary of a volume: `sinew mesh convert --boundary`";
                return Err(WriteError::Unsupported { format: "STL", what: format!("a {}", other.name()), hint });
            }
        }
    }
    if options.binary { write_binary(mesh, count) } else { Ok(write_text(mesh, count)) }
}

/// The triangles of a cell.
fn parts<'a>(mesh: &'a MeshData, nodes: &'a [u32]) -> impl Iterator<Item = [Vec3; 3]> + 'a {
    triangles_of(nodes).map(|triangle| triangle.map(|node| mesh.points[node as usize]))
}

/// Unit normal of a triangle, or zero if it is degenerate.
fn normal([a, b, c]: [Vec3; 3]) -> [f32; 3] {
    let n = (b - a).cross(c - a);
    let length = n.norm();
    if length > 0.0 && length.is_finite() { [n.x, n.y, n.z].map(|x| (x / length) as f32) } else { [0.0; 3] }
}

fn write_binary(mesh: &MeshData, count: usize) -> Result<Vec<u8>, WriteError> {
    let unsupported = |what: String, hint| WriteError::Unsupported { format: "STL", what, hint };
    let promised = u32::try_from(count)
        .map_err(|_| unsupported(format!("{count} triangles"), "write PLY, which has no such limit"))?;
    let far = |point: &&Vec3| [point.x, point.y, point.z].iter().any(|x| !(*x as f32).is_finite());
    if let Some(point) = mesh.points.iter().find(far) {
        let what = format!("the coordinates {} {} {} in single precision", point.x, point.y, point.z);
        return Err(unsupported(what, "write the text variant, or scale the mesh"));
    }
    let points: Vec<[f32; 3]> = mesh.points.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    let attributes = mesh.cell_field(ATTRIBUTE).filter(|field| field.components == 1);
    let attribute_of =
        |cell: usize| attributes.and_then(|field| field.values.get(cell)).map_or(0, |value| *value as u16);
    let mut out = vec![0u8; HEADER + RECORD * count];
    let (header, records) = out.split_at_mut(HEADER);
    header[..80].fill(b' ');
    header[..10].copy_from_slice(b"binary STL");
    header[80..].copy_from_slice(&promised.to_le_bytes());
    let (mut records, _) = records.as_chunks_mut::<RECORD>();
    let mut cell = 0;
    for group in &mesh.groups {
        let (own, rest) = records.split_at_mut(group.cells().map(|nodes| nodes.len().saturating_sub(2)).sum());
        records = rest;
        if group.shape == CellShape::Tri3 {
            let (triangles, _) = group.nodes.as_chunks::<3>();
            own.par_iter_mut().zip(triangles).enumerate().with_min_len(4096).for_each(|(index, (record, &nodes))| {
                *record = record_of(nodes.map(|node| points[node as usize]), attribute_of(cell + index));
            });
        } else {
            let parts = group.cells().enumerate().flat_map(|(index, nodes)| {
                let attribute = attribute_of(cell + index);
                triangles_of(nodes).map(move |triangle| (triangle, attribute))
            });
            for (record, (nodes, attribute)) in own.iter_mut().zip(parts) {
                *record = record_of(nodes.map(|node| points[node as usize]), attribute);
            }
        }
        cell += group.len();
    }
    Ok(out)
}

/// Normal, corners and attribute of a triangle.
fn record_of(corners: [[f32; 3]; 3], attribute: u16) -> [u8; RECORD] {
    let mut record = [0u8; RECORD];
    let normal = normal(corners.map(|corner| Vec3::from(corner.map(f64::from))));
    let numbers = normal.iter().chain(corners.as_flattened());
    for (slot, value) in record.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
        *slot = value.to_le_bytes();
    }
    record[RECORD - 2..].copy_from_slice(&attribute.to_le_bytes());
    record
}

fn write_text(mesh: &MeshData, count: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 * count);
    let solids = Solids::of(mesh);
    let mut open = None;
    for (number, (_, nodes)) in mesh.cells().enumerate() {
        let solid = solids.solid_of(number);
        if open != Some(solid) {
            if let Some(before) = open {
                push_line(&mut out, b"endsolid ", solids.name(before));
            }
            push_line(&mut out, b"solid ", solids.name(solid));
            open = Some(solid);
        }
        for corners in parts(mesh, nodes) {
            let [x, y, z] = normal(corners);
            // Writing to a Vec cannot fail.
            let _ = write!(out, "facet normal {x} {y} {z}\n outer loop\n");
            for p in corners {
                out.extend_from_slice(b"  vertex ");
                push_f64(&mut out, p.x);
                out.push(b' ');
                push_f64(&mut out, p.y);
                out.push(b' ');
                push_f64(&mut out, p.z);
                out.push(b'\n');
            }
            out.extend_from_slice(b" endloop\nendfacet\n");
        }
    }
    push_line(&mut out, b"endsolid ", solids.name(open.unwrap_or(0)));
    out
}

/// A keyword and a name without line breaks.
fn push_line(out: &mut Vec<u8>, keyword: &[u8], name: &str) {
    out.extend_from_slice(keyword);
    // A zero would make the file look binary.
    out.extend(name.bytes().map(|b| if b.is_ascii_control() { b' ' } else { b }));
    out.push(b'\n');
}

/// The solid of each cell.
struct Solids<'a> {
    names: Vec<&'a str>,
    /// Empty if there is only one solid.
    of_cell: Vec<u32>,
}

impl<'a> Solids<'a> {
    fn of(mesh: &'a MeshData) -> Solids<'a> {
        let one = Solids { names: vec!["mesh"], of_cell: Vec::new() };
        let members: usize = mesh.cell_sets.values().map(Vec::len).sum();
        if mesh.cell_sets.len() < 2 || members != mesh.cell_count() {
            return one;
        }
        let mut of_cell = vec![u32::MAX; members];
        for (set, cells) in mesh.cell_sets.values().enumerate() {
            for &cell in cells {
                of_cell[cell as usize] = set as u32;
            }
        }
        // As many members as cells: a cell without a set means that another has two.
        if of_cell.contains(&u32::MAX) {
            return one;
        }
        Solids { names: mesh.cell_sets.keys().map(String::as_str).collect(), of_cell }
    }

    fn solid_of(&self, cell: usize) -> usize {
        self.of_cell.get(cell).map_or(0, |solid| *solid as usize)
    }

    fn name(&self, solid: usize) -> &str {
        self.names[solid]
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use crate::mesh_data::Field;

    const TEXT: WriteOptions = WriteOptions { binary: false, compress: false, version: None };

    /// A pyramid over a unit square, of four triangles and a quad, with the tip at height 3: volume 1.
    fn pyramid() -> MeshData {
        let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.1, 0.3, 3.0]];
        let mut mesh = MeshData { points: points.map(Vec3::from).to_vec(), ..MeshData::default() };
        mesh.push_cell(CellShape::Quad4, &[3, 2, 1, 0]);
        for side in [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]] {
            mesh.push_cell(CellShape::Tri3, &side);
        }
        mesh.cell_sets.insert("base".into(), vec![0]);
        mesh.cell_sets.insert("sides".into(), vec![1, 2, 3, 4]);
        mesh.cell_fields.push(Field::scalars(ATTRIBUTE, vec![5.0, 0.0, 0.0, 0.0, 9.0]));
        mesh
    }

    #[test]
    fn text_keeps_the_doubles_and_the_solids() {
        let back = read(&write(&pyramid(), &TEXT).unwrap()).unwrap();
        assert!(pyramid().points.iter().all(|point| back.points.contains(point)));
        assert_eq!((&back.cell_sets["base"], &back.cell_sets["sides"]), (&vec![0, 1], &vec![2, 3, 4, 5]));
        let mesh = back.into_surface(&Default::default()).unwrap().mesh;
        assert!((mesh.volume() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn binary_keeps_attributes_and_single_precision() {
        let bytes = write(&pyramid(), &WriteOptions::default()).unwrap();
        assert_eq!(bytes.len(), 84 + 6 * 50);
        let back = read(&bytes).unwrap();
        assert_eq!(back.cell_field(ATTRIBUTE).unwrap().values, [5.0, 5.0, 0.0, 0.0, 0.0, 9.0]);
        let mesh = back.into_surface(&Default::default()).unwrap().mesh;
        assert!(mesh.is_closed() && (mesh.volume() - 1.0).abs() < 1e-6);
        // The first normal is that of the base.
        assert_eq!(bytes[92..96], (-1.0f32).to_le_bytes());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut mesh = pyramid();
        mesh.points[0].x = 1e300;
        assert!(write(&mesh, &WriteOptions::default()).unwrap_err().to_string().contains("single precision"));
        mesh.push_cell(CellShape::Hex8, &[0; 8]);
        assert!(write(&mesh, &TEXT).unwrap_err().to_string().contains("a hexahedron"));
    }
}
