//! Mesh to PLY.

use std::collections::HashSet;

use super::JOINED;
use crate::error::WriteError;
use crate::format::WriteOptions;
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData};
use crate::text::{push_f64, push_u64};

/// Bytes of a PLY file, binary (little endian, doubles) or text, with all fields. Sets have no place in the format.
///
/// Lines before or behind all faces are an element of their own. Lines between faces, and points, are written as faces with
/// two corners and one, as meshio does, because elements would change the order of the cells.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    if let Some(group) = mesh.groups.iter().find(|group| group.shape.dimension() == 3 || is_quadratic(group.shape)) {
        let hint = "write the boundary of a volume: `sinew mesh convert --boundary`";
        return Err(WriteError::Unsupported { format: "PLY", what: format!("a {}", group.shape.name()), hint });
    }
    let is_line = |group: &CellGroup| group.shape == CellShape::Line2;
    let edges_first = mesh.groups.first().is_some_and(is_line);
    let line_groups = mesh.groups.iter().filter(|group| is_line(group)).count();
    let lines_apart = line_groups == 1 && (edges_first || mesh.groups.last().is_some_and(is_line));
    let mut faces = Cells::default();
    let mut edges = Cells::default();
    let mut number = 0u32;
    for group in &mesh.groups {
        let target = if lines_apart && is_line(group) { &mut edges } else { &mut faces };
        let longest = group.shape.nodes().unwrap_or_else(|| group.cells().map(<[u32]>::len).max().unwrap_or(0));
        target.most_corners = target.most_corners.max(longest);
        target.groups.push((group, number));
        target.count += group.len();
        number += group.len() as u32;
    }
    let point_properties = properties(&mesh.point_fields, &["x", "y", "z"]);
    let face_properties = properties(&mesh.cell_fields, &["vertex_indices", "vertex_index"]);
    let edge_properties = properties(&mesh.cell_fields, &["vertex1", "vertex2"]);

    let mut header = format!(
        "ply\nformat {} 1.0\nelement vertex {}\nproperty double x\nproperty double y\nproperty double z\n",
        if options.binary { "binary_little_endian" } else { "ascii" },
        mesh.points.len()
    );
    declare(&mut header, &point_properties);
    for is_edges in [edges_first, !edges_first] {
        if is_edges && edges.count > 0 {
            header.push_str(&format!("element edge {}\nproperty int vertex1\nproperty int vertex2\n", edges.count));
            declare(&mut header, &edge_properties);
        } else if !is_edges && faces.count > 0 {
            let count = if faces.most_corners > 255 { "int" } else { "uchar" };
            header.push_str(&format!("element face {}\nproperty list {count} int vertex_indices\n", faces.count));
            declare(&mut header, &face_properties);
        }
    }
    header.push_str("end_header\n");

    let width: usize = if options.binary { 8 } else { 20 };
    let corners: usize = mesh.groups.iter().map(|group| group.nodes.len()).sum();
    let guess = mesh.points.len() * (3 + point_properties.len()) * width
        + mesh.cell_count() * (5 + face_properties.len() * width)
        + corners * 9;
    let mut sink = Sink { out: Vec::with_capacity(header.len() + guess), is_binary: options.binary };
    sink.out.extend_from_slice(header.as_bytes());
    for (entry, point) in mesh.points.iter().enumerate() {
        if options.binary {
            for value in [point.x, point.y, point.z] {
                sink.out.extend_from_slice(&value.to_le_bytes());
            }
        } else {
            [point.x, point.y, point.z].into_iter().for_each(|value| sink.number(value));
        }
        sink.properties(&point_properties, entry);
        sink.end();
    }
    for is_edges in [edges_first, !edges_first] {
        if is_edges {
            sink.edges(&edges, &edge_properties);
        } else {
            sink.faces(&faces, &face_properties);
        }
    }
    Ok(sink.out)
}

fn is_quadratic(shape: CellShape) -> bool {
    matches!(shape, CellShape::Line3 | CellShape::Tri6 | CellShape::Quad8 | CellShape::Quad9)
}

/// Groups of cells of one element, each with its first cell.
#[derive(Default)]
struct Cells<'a> {
    groups: Vec<(&'a CellGroup, u32)>,
    count: usize,
    most_corners: usize,
}

/// One component of a field.
struct Property<'a> {
    name: String,
    field: &'a Field,
    component: usize,
    /// Whether all values of the field are integers of a byte.
    is_byte: bool,
}

impl Property<'_> {
    fn value(&self, entry: usize) -> f64 {
        self.field.values.get(entry * self.field.components + self.component).copied().unwrap_or(f64::NAN)
    }
}

/// Properties with names that are free and hold no blanks.
fn properties<'a>(fields: &'a [Field], taken: &[&str]) -> Vec<Property<'a>> {
    let mut names: HashSet<String> = taken.iter().map(|&name| name.into()).collect();
    let mut properties = Vec::new();
    for field in fields {
        let joined = JOINED.iter().find(|(name, parts, more)| {
            *name == field.name && (field.components == 3 || (more.is_some() && field.components == parts.len() + 1))
        });
        // Other programs know colours as bytes.
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

/// Numbers as bytes or as words.
struct Sink {
    out: Vec<u8>,
    is_binary: bool,
}

impl Sink {
    fn number(&mut self, value: f64) {
        if self.is_binary {
            self.out.extend_from_slice(&value.to_le_bytes());
        } else {
            push_f64(&mut self.out, value);
            self.out.push(b' ');
        }
    }

    fn index(&mut self, node: u32) {
        if self.is_binary {
            self.out.extend_from_slice(&node.to_le_bytes());
        } else {
            push_u64(&mut self.out, node.into());
            self.out.push(b' ');
        }
    }

    fn properties(&mut self, properties: &[Property<'_>], entry: usize) {
        for property in properties {
            let value = property.value(entry);
            if property.is_byte && self.is_binary {
                self.out.push(value as u8);
            } else {
                self.number(value);
            }
        }
    }

    /// Ends an entry; in text the blank after the last word becomes the end of the line.
    fn end(&mut self) {
        if let Some(last) = self.out.last_mut().filter(|_| !self.is_binary) {
            *last = b'\n';
        }
    }

    fn edges(&mut self, cells: &Cells<'_>, properties: &[Property<'_>]) {
        for (group, first) in &cells.groups {
            for (entry, nodes) in group.cells().enumerate() {
                nodes.iter().for_each(|&node| self.index(node));
                self.properties(properties, *first as usize + entry);
                self.end();
            }
        }
    }

    fn faces(&mut self, cells: &Cells<'_>, properties: &[Property<'_>]) {
        for (group, first) in &cells.groups {
            if self.is_binary && properties.is_empty() && group.shape == CellShape::Tri3 && cells.most_corners < 256 {
                self.triangles(&group.nodes);
                continue;
            }
            for (entry, nodes) in group.cells().enumerate() {
                if self.is_binary && cells.most_corners < 256 {
                    self.out.push(nodes.len() as u8);
                } else {
                    self.index(nodes.len() as u32);
                }
                nodes.iter().for_each(|&node| self.index(node));
                self.properties(properties, *first as usize + entry);
                self.end();
            }
        }
    }

    /// The usual case: 13 bytes each.
    fn triangles(&mut self, nodes: &[u32]) {
        let (triangles, _) = nodes.as_chunks::<3>();
        for [a, b, c] in triangles {
            let mut record = [3u8; 13];
            record[1..5].copy_from_slice(&a.to_le_bytes());
            record[5..9].copy_from_slice(&b.to_le_bytes());
            record[9..13].copy_from_slice(&c.to_le_bytes());
            self.out.extend_from_slice(&record);
        }
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
    fn names_that_collide_or_hold_blanks_are_mended() {
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
