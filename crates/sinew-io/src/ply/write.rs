//! Mesh to PLY.

use std::collections::HashSet;

use super::{JOINED, write_binary};
use crate::error::WriteError;
use crate::format::WriteOptions;
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData};
use crate::text::{push_f64, push_u64};

/// Encodes a PLY file, binary (little endian, doubles) or text, with all fields. The format cannot store sets.
///
/// Lines before or after all faces become an element. Lines between faces, and points, become faces with two corners
/// and one, as in meshio, because separate elements would reorder the cells.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    if let Some(group) = mesh.groups.iter().find(|group| group.shape.dimension() == 3 || is_quadratic(group.shape)) {
        let hint = "write the boundary of a volume: `sinew mesh convert --boundary`";
        return Err(WriteError::Unsupported { format: "PLY", what: format!("a {}", group.shape.name()), hint });
    }
    let point_properties = properties(&mesh.point_fields, &["x", "y", "z"]);
    let elements = elements(mesh);
    let mut header = format!(
        "ply\nformat {} 1.0\nelement vertex {}\nproperty double x\nproperty double y\nproperty double z\n",
        if options.binary { "binary_little_endian" } else { "ascii" },
        mesh.points.len()
    );
    declare(&mut header, &point_properties);
    for element in &elements {
        header.push_str(&match element.count_size {
            0 => format!("element edge {}\nproperty int vertex1\nproperty int vertex2\n", element.count()),
            1 => format!("element face {}\nproperty list uchar int vertex_indices\n", element.count()),
            _ => format!("element face {}\nproperty list int int vertex_indices\n", element.count()),
        });
        declare(&mut header, &element.properties);
    }
    header.push_str("end_header\n");
    Ok(if options.binary {
        write_binary::data(header.as_bytes(), &mesh.points, &point_properties, &elements)
    } else {
        write_text(header.as_bytes(), mesh, &point_properties, &elements)
    })
}

fn is_quadratic(shape: CellShape) -> bool {
    matches!(shape, CellShape::Line3 | CellShape::Tri6 | CellShape::Quad8 | CellShape::Quad9)
}

/// Faces or edges.
pub(super) struct Element<'a> {
    /// Groups, each with its first cell.
    pub(super) groups: Vec<(&'a CellGroup, usize)>,
    pub(super) properties: Vec<Property<'a>>,
    /// Bytes of the count before the nodes of a face; 0 for edges, which have none.
    pub(super) count_size: usize,
}

impl Element<'_> {
    fn count(&self) -> usize {
        self.groups.iter().map(|(group, _)| group.len()).sum()
    }
}

/// The elements that hold the cells, in cell order.
fn elements(mesh: &MeshData) -> Vec<Element<'_>> {
    let is_line = |group: &CellGroup| group.shape == CellShape::Line2;
    let edges_first = mesh.groups.first().is_some_and(is_line);
    let line_groups = mesh.groups.iter().filter(|group| is_line(group)).count();
    let lines_apart = line_groups == 1 && (edges_first || mesh.groups.last().is_some_and(is_line));
    let (mut faces, mut edges) = (Vec::new(), Vec::new());
    let mut most_corners = 0;
    let mut first = 0;
    for group in &mesh.groups {
        if lines_apart && is_line(group) {
            edges.push((group, first));
        } else {
            let corners = group.shape.nodes().unwrap_or_else(|| group.cells().map(<[u32]>::len).max().unwrap_or(0));
            most_corners = most_corners.max(corners);
            faces.push((group, first));
        }
        first += group.len();
    }
    let faces = Element {
        groups: faces,
        properties: properties(&mesh.cell_fields, &["vertex_indices", "vertex_index"]),
        count_size: if most_corners > 255 { 4 } else { 1 },
    };
    let edges =
        Element { groups: edges, properties: properties(&mesh.cell_fields, &["vertex1", "vertex2"]), count_size: 0 };
    let mut elements = if edges_first { vec![edges, faces] } else { vec![faces, edges] };
    elements.retain(|element| element.count() > 0);
    elements
}

/// One component of a field.
pub(super) struct Property<'a> {
    name: String,
    field: &'a Field,
    component: usize,
    /// Whether all values of the field fit in an unsigned byte.
    pub(super) is_byte: bool,
}

impl Property<'_> {
    /// Value at a point or cell.
    pub(super) fn value(&self, entry: usize) -> f64 {
        self.field.values.get(entry * self.field.components + self.component).copied().unwrap_or(f64::NAN)
    }

    /// Bytes of a value.
    pub(super) fn size(&self) -> usize {
        if self.is_byte { 1 } else { 8 }
    }
}

/// Properties with unused names without whitespace.
fn properties<'a>(fields: &'a [Field], taken: &[&str]) -> Vec<Property<'a>> {
    let mut names: HashSet<String> = taken.iter().map(|&name| name.into()).collect();
    let mut properties = Vec::new();
    for field in fields {
        let joined = JOINED.iter().find(|(name, parts, more)| {
            *name == field.name && (field.components == 3 || (more.is_some() && field.components == parts.len() + 1))
        });
        // Other programs expect colors as bytes.
        let is_byte = field.name == "color"
            && joined.is_some()
            && field.values.iter().all(|v| (0.0..=255.0).contains(v) && v.fract() == 0.0);
        for component in 0..field.components {
            let mut name = match joined {
                Some((_, parts, more)) => parts.iter().chain(more).nth(component).map_or("", |part| part).to_string(),
                None if field.components == 1 => field.name.clone(),
                None => format!("{}_{component}", field.name),
            };
            name = name.chars().map(|c| if c.is_ascii_whitespace() || c.is_control() { '_' } else { c }).collect();
            while name.is_empty() || !names.insert(name.clone()) {
                name.push('_');
            }
            properties.push(Property { name, field, component, is_byte });
        }
    }
    properties
}

fn declare(header: &mut String, properties: &[Property<'_>]) {
    for property in properties {
        let kind = if property.is_byte { "uchar" } else { "double" };
        header.push_str(&format!("property {kind} {}\n", property.name));
    }
}

fn write_text(header: &[u8], mesh: &MeshData, properties: &[Property<'_>], elements: &[Element<'_>]) -> Vec<u8> {
    let corners: usize = mesh.groups.iter().map(|group| group.nodes.len()).sum();
    let per_cell: usize = elements.iter().map(|element| 20 * element.properties.len()).max().unwrap_or(0) + 3;
    let guess = mesh.points.len() * (3 + properties.len()) * 20 + mesh.cell_count() * per_cell + corners * 8;
    let mut out = Vec::with_capacity(header.len() + guess);
    out.extend_from_slice(header);
    for (entry, point) in mesh.points.iter().enumerate() {
        for value in [point.x, point.y, point.z].into_iter().chain(properties.iter().map(|p| p.value(entry))) {
            push_f64(&mut out, value);
            out.push(b' ');
        }
        end_line(&mut out);
    }
    for element in elements {
        for (group, first) in &element.groups {
            for (entry, nodes) in group.cells().enumerate() {
                if element.count_size > 0 {
                    push_u64(&mut out, nodes.len() as u64);
                    out.push(b' ');
                }
                for &node in nodes {
                    push_u64(&mut out, node.into());
                    out.push(b' ');
                }
                for property in &element.properties {
                    push_f64(&mut out, property.value(first + entry));
                    out.push(b' ');
                }
                end_line(&mut out);
            }
        }
    }
    out
}

/// Replaces the space after the last word by a line break.
fn end_line(out: &mut [u8]) {
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::super::read;
    use super::*;

    fn mixed() -> MeshData {
        let mut mesh = MeshData {
            points: (0..6).map(|i| Vec3::new(f64::from(i) / 3.0, 1e-300, -0.0)).collect(),
            ..MeshData::default()
        };
        mesh.push_cell(CellShape::Tri3, &[0, 1, 2]);
        mesh.push_cell(CellShape::Quad4, &[2, 3, 4, 5]);
        mesh.push_cell(CellShape::Polygon, &[0, 1, 2, 3, 4]);
        mesh.push_cell(CellShape::Polygon, &[5, 4, 3, 2, 1, 0]);
        mesh.push_cell(CellShape::Tri3, &[3, 4, 5]);
        mesh.push_cell(CellShape::Line2, &[0, 5]);
        let ramp = |count: usize| (0..count).map(|i| i as f64).collect::<Vec<f64>>();
        mesh.point_fields.push(Field { name: "color".into(), components: 4, values: ramp(24) });
        mesh.point_fields.push(Field { name: "normal".into(), components: 3, values: ramp(18) });
        mesh.point_fields.push(Field::scalars("heat", vec![0.1, 0.2, f64::INFINITY, 0.4, 0.5, 0.6]));
        mesh.cell_fields.push(Field::scalars("label", ramp(6)));
        mesh
    }

    #[test]
    fn both_variants_read_back_the_same() {
        for binary in [true, false] {
            let bytes = write(&mixed(), &WriteOptions { binary, ..WriteOptions::default() }).unwrap();
            assert_eq!(read(&bytes).unwrap(), mixed(), "binary: {binary}");
        }
    }

    #[test]
    fn lines_and_points_between_faces_keep_their_order() {
        let mut mesh = MeshData { points: vec![Vec3::zero(); 4], ..MeshData::default() };
        mesh.push_cell(CellShape::Tri3, &[0, 1, 2]);
        mesh.push_cell(CellShape::Line2, &[0, 1]);
        mesh.push_cell(CellShape::Vertex, &[3]);
        mesh.push_cell(CellShape::Tri3, &[0, 1, 3]);
        assert_eq!(read(&write(&mesh, &WriteOptions::default()).unwrap()).unwrap(), mesh);
        mesh.push_cell(CellShape::Tet4, &[0, 1, 2, 3]);
        assert!(write(&mesh, &WriteOptions::default()).unwrap_err().to_string().contains("a tetrahedron"));
    }

    #[test]
    fn names_that_collide_or_hold_blanks_are_repaired() {
        let mut mesh = mixed();
        mesh.point_fields = vec![
            Field { name: "u v".into(), components: 2, values: vec![1.0; 12] },
            Field::scalars("u_v_0", vec![2.0; 6]),
            Field::scalars("x", vec![3.0; 6]),
        ];
        let back = read(&write(&mesh, &WriteOptions::default()).unwrap()).unwrap();
        let names: Vec<&str> = back.point_fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["u_v_0", "u_v_1", "u_v_0_", "x_"]);
    }

    #[test]
    fn polygons_with_many_corners_need_a_longer_count() {
        let mut mesh = MeshData { points: vec![Vec3::zero(); 300], ..MeshData::default() };
        mesh.push_cell(CellShape::Polygon, &(0..300).collect::<Vec<u32>>());
        mesh.push_cell(CellShape::Tri3, &[0, 1, 2]);
        let back = read(&write(&mesh, &WriteOptions::default()).unwrap()).unwrap();
        assert_eq!(back, mesh);
    }
}
