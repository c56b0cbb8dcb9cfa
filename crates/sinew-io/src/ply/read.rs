//! PLY to mesh.

use sinew_math::Vec3;

use super::columns::{Columns, Demand, Faces, append};
use super::header::{self, Element, Encoding, Header};
use super::{JOINED, binary, text};
use crate::binary::Cursor;
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData};
use crate::text::Words;

/// Values of cell fields per byte of the file. Faces and edges share their fields, so thousands of properties of one
/// edge would take memory for every face; legitimate files stay below 2.
const VALUES_PER_BYTE: usize = 4;

/// Reads the bytes of a PLY file. A file without faces is a point cloud, a mesh without cells.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let header = header::read(bytes)?;
    let vertices = header.elements.iter().find(|element| element.name == "vertex");
    let vertex_count = vertices.ok_or(ReadError::Missing { what: "element `vertex`" })?.count;
    let mut source = Source::new(bytes, &header);
    let mut mesh = MeshData::default();
    // Fields of faces and edges, with the first cell that has them.
    let mut cell_fields: Vec<(usize, Field)> = Vec::new();
    for element in &header.elements {
        match element.name.as_str() {
            "vertex" => {
                let mut columns = Columns::new(element, None);
                let places = columns.demand(element, ["x", "y", "z"], Demand::Finite)?;
                source.read(element, &mut columns)?;
                mesh.points = points(&mut columns, places);
                mesh.point_fields = fields(element, columns, &["x", "y", "z"]);
            }
            "face" => {
                let is_corners = |name: &str| matches!(name, "vertex_indices" | "vertex_index");
                let property = element.properties.iter().position(|p| is_corners(&p.name) && p.list.is_some());
                let property = property.filter(|&at| !element.properties[at].kind.is_float());
                let property = property.ok_or_else(|| {
                    ReadError::line(element.line, "faces without a list of integers `vertex_indices`")
                })?;
                let mut columns = Columns::new(element, Some(Faces { property, vertex_count, groups: Vec::new() }));
                source.read(element, &mut columns)?;
                let first = mesh.cell_count();
                append(&mut mesh, columns.faces.take().map(|faces| faces.groups).unwrap_or_default());
                cell_fields.extend(fields(element, columns, &[]).into_iter().map(|field| (first, field)));
            }
            "edge" if element.scalar("vertex1").is_some() && element.scalar("vertex2").is_some() => {
                let mut columns = Columns::new(element, None);
                let ends = ["vertex1", "vertex2"];
                let ends = columns.demand(element, ends, Demand::Vertex(vertex_count))?;
                source.read(element, &mut columns)?;
                let first = mesh.cell_count();
                let [from, to] = ends.map(|at| &columns.values[at]);
                let nodes: Vec<u32> = from.iter().zip(to).flat_map(|(a, b)| [*a as u32, *b as u32]).collect();
                if !nodes.is_empty() {
                    append(&mut mesh, vec![CellGroup::with_nodes(CellShape::Line2, nodes)]);
                }
                let fields = fields(element, columns, &["vertex1", "vertex2"]);
                cell_fields.extend(fields.into_iter().map(|field| (first, field)));
            }
            "tristrips" if element.count > 0 => {
                return Err(ReadError::Unsupported {
                    place: Place::Line(element.line),
                    what: "faces as strips of triangles".into(),
                    hint: "write the file with an element `face`, for instance through MeshLab or Blender",
                });
            }
            _ => {
                let mut columns = Columns::new(element, None);
                source.read(element, &mut columns)?;
            }
        }
    }
    let cell_count = mesh.cell_count();
    let values: usize = cell_fields.iter().map(|(_, field)| field.components.saturating_mul(cell_count)).sum();
    if values > bytes.len().saturating_mul(VALUES_PER_BYTE) {
        return Err(ReadError::Unsupported {
            place: Place::Line(header.line),
            what: format!("{} properties of some of {cell_count} faces and edges", cell_fields.len()),
            hint: "leave out the properties of the faces, or of the edges",
        });
    }
    mesh.cell_fields = spread(cell_fields, cell_count);
    Ok(mesh)
}

/// Source of the data.
enum Source<'a> {
    Text(Words<'a>),
    Binary(Cursor<'a>),
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8], header: &Header) -> Source<'a> {
        match header.encoding {
            Encoding::Text => Source::Text(Words::new(bytes, header.data, header.line, None)),
            Encoding::Binary(endian) => Source::Binary(Cursor::new(bytes, header.data, endian)),
        }
    }

    fn read(&mut self, element: &Element, columns: &mut Columns) -> Result<(), ReadError> {
        match self {
            Source::Text(words) => text::read(words, element, columns),
            Source::Binary(cursor) => binary::read(cursor, element, columns),
        }
    }
}

fn points(columns: &mut Columns, at: [usize; 3]) -> Vec<Vec3> {
    let [x, y, z] = at.map(|column| std::mem::take(&mut columns.values[column]));
    x.iter().zip(&y).zip(&z).map(|((&x, &y), &z)| Vec3::new(x, y, z)).collect()
}

/// Fields from the scalar columns that are not `used`.
fn fields(element: &Element, mut columns: Columns, used: &[&str]) -> Vec<Field> {
    let mut fields = Vec::new();
    let is_free = |name: &str| element.properties.iter().all(|property| property.name != name);
    for (at, property) in element.properties.iter().enumerate() {
        if property.list.is_some() || used.contains(&property.name.as_str()) {
            continue;
        }
        // The first property of a joined field stands for all; the others were consumed with it.
        let joined = JOINED.iter().find(|(name, parts, more)| {
            is_free(name)
                && (parts.contains(&property.name.as_str()) || *more == Some(property.name.as_str()))
                && parts.iter().all(|part| element.scalar(part).is_some())
        });
        let Some((name, parts, more)) = joined else {
            fields.push(Field::scalars(&property.name, std::mem::take(&mut columns.values[at])));
            continue;
        };
        let parts: Vec<usize> = parts.iter().chain(more).filter_map(|part| element.scalar(part)).collect();
        if parts.iter().min() != Some(&at) {
            continue;
        }
        let mut values = Vec::with_capacity(parts.len() * element.count);
        for entry in 0..columns.values[at].len() {
            values.extend(parts.iter().map(|&part| columns.values[part][entry]));
        }
        fields.push(Field { name: (*name).into(), components: parts.len(), values });
    }
    fields
}

/// Extends fields of some cells to all cells, with NaN for cells of other elements.
fn spread(parts: Vec<(usize, Field)>, cell_count: usize) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for (first, part) in parts {
        let components = part.components;
        let at = fields.iter().position(|field| field.name == part.name && field.components == components);
        let at = at.unwrap_or_else(|| {
            let values = vec![f64::NAN; components * cell_count];
            fields.push(Field { name: part.name.clone(), components, values });
            fields.len() - 1
        });
        let start = first * components;
        fields[at].values[start..start + part.values.len()].copy_from_slice(&part.values);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit tetrahedron with an extra quad, as text; vertices after the faces, an unknown element in between.
    const TEXT: &str = "ply\nformat ascii 1.0\ncomment made by hand\nelement face 5\nproperty uchar red\n\
        property list uchar int vertex_indices\nproperty list uint8 float texcoord\nproperty int part\n\
        element camera 2\nproperty list int double rays\nproperty float f\n\
        element vertex 4\nproperty double z\nproperty int x\nproperty uchar blue\nproperty uchar green\nproperty float y\n\
        property uchar red\nproperty float quality\nelement edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n\
        9 3 0 2 1 0 7\n9 3 0 1 3 2 0.5 0.5 8\n9 3 1 2 3 0 7\n9 3 0 3 2 0 6\n1 4 0 1 2 3 0 5\n\
        0 1\n2 1 2 3\n\
        0 0 3 2 0 1 0.1\n0 1 3 2 0 1 0.2\n0 0 3 2 1 1 0.3\n1 0 3 2 0 1 0.4\n2 3\n";

    #[test]
    fn any_order_of_elements_and_properties_is_read() {
        let mesh = read(TEXT.as_bytes()).unwrap();
        let shapes: Vec<CellShape> = mesh.groups.iter().map(|group| group.shape).collect();
        assert_eq!(shapes, [CellShape::Tri3, CellShape::Quad4, CellShape::Line2]);
        assert_eq!(mesh.points[3], Vec3::new(0.0, 0.0, 1.0));
        let color = mesh.point_field("color").unwrap();
        assert_eq!((color.components, &color.values[..3]), (3, &[1.0, 2.0, 3.0][..]));
        assert_eq!(mesh.point_field("quality").unwrap().values, [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(mesh.cell_field("part").unwrap().values[..5], [7.0, 8.0, 7.0, 6.0, 5.0]);
        assert!(mesh.cell_field("part").unwrap().values[5].is_nan());
        // Red without green and blue is an ordinary property.
        assert_eq!(mesh.cell_field("red").unwrap().values[4], 1.0);
    }

    /// The header of a file with `faces` triangles on 3 vertices.
    fn header(format: &str, faces: usize) -> Vec<u8> {
        format!(
            "ply\nformat {format} 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
            element face {faces}\nproperty list uchar int vertex_index\nend_header\n"
        )
        .into_bytes()
    }

    #[test]
    fn mistakes_in_text_name_their_line() {
        let with = |body: &str| [header("ascii", 1), body.into()].concat();
        let cases = [
            (with("0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n"), "line 13: vertex 3 does not exist"),
            (with("0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n"), "line 13: vertex -1 does not exist"),
            (with("0 0 0\n\n1 0 nan\n0 1 0\n3 0 1 2\n"), "line 12: z is not finite"),
            (with("0 0 0\n1 0 x\n0 1 0\n3 0 1 2\n"), "line 11: z: `x` is not a number"),
            (with("0 0 0\n1 0 0\n0 1 0\n0\n"), "line 13: a face with 0 corners"),
            (with("0 0 0\n1 0 0\n0 1 0\n3 0 1\n"), "the file ends inside vertex_index"),
            (with("0 0 0\n1 0 0\n0 1 0\n900 0 1\n"), "900 promised"),
            (header("ascii", 1), "line 3: vertex: 3 promised, 0 found"),
            ([header("ascii", 99), b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n".to_vec()].concat(), "line 7: face: 99 promised"),
        ];
        for (bytes, part) in cases {
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{error}, not {part}");
        }
    }

    #[test]
    fn mistakes_in_binary_name_their_byte() {
        let face = |nodes: [i32; 3]| [vec![3u8], nodes.iter().flat_map(|node| node.to_be_bytes()).collect()].concat();
        let vertices = |last: f32| {
            let values = [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, last];
            values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>()
        };
        let start = header("binary_big_endian", 2).len();
        let file = |last: f32, faces: [[i32; 3]; 2]| {
            let [a, b] = faces.map(face);
            [header("binary_big_endian", 2), vertices(last), a, b].concat()
        };
        let good = file(0.0, [[0, 1, 2], [2, 1, 0]]);
        assert_eq!(read(&good).unwrap().groups[0].nodes, [0, 1, 2, 2, 1, 0]);
        let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert_eq!(error(&file(f32::NAN, [[0; 3]; 2])), format!("byte {}: z is not finite", start + 32));
        let wrong = error(&file(0.0, [[0, 1, 2], [2, -1, 0]]));
        assert_eq!(wrong, format!("byte {}: vertex -1 does not exist", start + 36 + 13 + 5));
        let mut lying = good.clone();
        lying[start + 36 + 13] = 200;
        assert!(error(&lying).starts_with(&format!("byte {}: vertex_index: 200 promised, 3", start + 36 + 13)));
        for cut in 0..good.len() {
            assert!(read(&good[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn strips_are_refused_with_a_hint() {
        let text = "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\n\
            element tristrips 1\nproperty list int int vertex_indices\nend_header\n4 0 1 2 -1\n";
        assert!(read(text.as_bytes()).unwrap_err().to_string().contains("strips of triangles"));
    }
}
