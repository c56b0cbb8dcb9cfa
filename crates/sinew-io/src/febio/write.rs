//! Mesh to FEBio input.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::elements::{HEX27_ORDER, name_of};
use crate::error::WriteError;
use crate::mesh_data::{CellShape, MeshData};
use crate::obj::MATERIAL;
use crate::text::{push_f64, push_u64};

/// Encodes a FEBio 4.0 file with a mesh and nothing else.
///
/// Cells of one shape and label form a part. A set with exactly these cells gives the part its name. In a mesh with
/// volumes, faces become surfaces, one per set. The format cannot store fields.
pub fn write(mesh: &MeshData) -> Result<Vec<u8>, WriteError> {
    if let Some(group) = mesh.groups.iter().find(|group| name_of(group.shape).is_none()) {
        return Err(WriteError::Unsupported {
            format: "FEBio",
            what: format!("a {}", group.shape.name()),
            hint: "split polygons into triangles and leave points out",
        });
    }
    let corner_count: usize = mesh.groups.iter().map(|group| group.nodes.len()).sum();
    let mut out = Vec::with_capacity(80 * mesh.points.len() + 9 * corner_count + 30 * mesh.cell_count() + 512);
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<febio_spec version=\"4.0\">\n");
    out.extend_from_slice(b"\t<Module type=\"solid\"/>\n\t<Mesh>\n\t\t<Nodes>\n");
    for (index, point) in mesh.points.iter().enumerate() {
        out.extend_from_slice(b"\t\t\t<node id=\"");
        push_u64(&mut out, index as u64 + 1);
        out.extend_from_slice(b"\">");
        push_f64(&mut out, point.x);
        out.push(b',');
        push_f64(&mut out, point.y);
        out.push(b',');
        push_f64(&mut out, point.z);
        out.extend_from_slice(b"</node>\n");
    }
    out.extend_from_slice(b"\t\t</Nodes>\n");

    let cells: Vec<(CellShape, &[u32])> = mesh.cells().collect();
    let plan = Plan::new(mesh, &cells);
    // File number of each element; 0 for facets, which no set refers to.
    let mut numbers = vec![0u64; cells.len()];
    let mut next = 1;
    for part in &plan.parts {
        let kind = name_of(part.shape).unwrap_or_default();
        out.extend_from_slice(format!("\t\t<Elements type=\"{kind}\" name=\"{}\">\n", escaped(&part.name)).as_bytes());
        for &cell in &part.cells {
            numbers[cell as usize] = next;
            push_cell(&mut out, "elem", next, cells[cell as usize]);
            next += 1;
        }
        out.extend_from_slice(b"\t\t</Elements>\n");
    }
    for (name, nodes) in &mesh.node_sets {
        push_set(&mut out, "NodeSet", name, nodes.iter().map(|&node| u64::from(node) + 1));
    }
    for (name, facets) in &plan.surfaces {
        out.extend_from_slice(format!("\t\t<Surface name=\"{}\">\n", escaped(name)).as_bytes());
        for (number, &cell) in (1..).zip(facets) {
            let (shape, nodes) = cells[cell as usize];
            push_cell(&mut out, name_of(shape).unwrap_or_default(), number, (shape, nodes));
        }
        out.extend_from_slice(b"\t\t</Surface>\n");
    }
    for (name, members) in mesh.cell_sets.iter().filter(|(name, _)| !plan.named.contains(name.as_str())) {
        let elements: Vec<u64> = members.iter().map(|&cell| numbers[cell as usize]).filter(|&n| n != 0).collect();
        push_set(&mut out, "ElementSet", name, elements.into_iter());
    }
    out.extend_from_slice(b"\t</Mesh>\n</febio_spec>\n");
    Ok(out)
}

/// Cells of one shape and label.
struct Part {
    name: String,
    shape: CellShape,
    cells: Vec<u32>,
}

/// Assignment of cells to parts and surfaces.
struct Plan<'a> {
    parts: Vec<Part>,
    /// Ordered by first facet.
    surfaces: Vec<(String, Vec<u32>)>,
    /// Sets written as part names.
    named: HashSet<&'a str>,
}

impl<'a> Plan<'a> {
    fn new(mesh: &'a MeshData, cells: &[(CellShape, &[u32])]) -> Plan<'a> {
        let has_volumes = mesh.groups.iter().any(|group| group.shape.dimension() == 3);
        let is_facet = |cell: u32| has_volumes && cells[cell as usize].0.dimension() == 2;
        let labels = mesh.labels().map_or(&[][..], |field| &field.values);
        let label_of = |cell: u32| labels.get(cell as usize).map_or(0, |label| *label as i64);
        let mut parts: Vec<Part> = Vec::new();
        let mut part_of: HashMap<(CellShape, i64), usize> = HashMap::new();
        for cell in (0..cells.len() as u32).filter(|&cell| !is_facet(cell)) {
            let shape = cells[cell as usize].0;
            let at = *part_of.entry((shape, label_of(cell))).or_insert_with(|| {
                let mut name = format!("part-{}", parts.len() + 1);
                while mesh.cell_sets.contains_key(&name) {
                    name.push('_');
                }
                parts.push(Part { name, shape, cells: Vec::new() });
                parts.len() - 1
            });
            parts[at].cells.push(cell);
        }
        let mut named = HashSet::new();
        let groups = mesh.cell_sets.iter().filter(|(name, _)| !name.starts_with(MATERIAL));
        let set_of: HashMap<&[u32], &str> = groups.map(|(name, cells)| (cells.as_slice(), name.as_str())).collect();
        for part in &mut parts {
            if let Some(&name) = set_of.get(part.cells.as_slice()) {
                part.name = name.into();
                named.insert(name);
            }
        }
        let mut surfaces: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut has_surface = vec![false; cells.len()];
        for (name, members) in mesh.cell_sets.iter().filter(|(name, _)| !name.starts_with(MATERIAL)) {
            let facets: Vec<u32> = members.iter().copied().filter(|&cell| is_facet(cell)).collect();
            if !facets.is_empty() {
                facets.iter().for_each(|&cell| has_surface[cell as usize] = true);
                surfaces.insert(name.clone(), facets);
            }
        }
        for cell in (0..cells.len() as u32).filter(|&cell| is_facet(cell) && !has_surface[cell as usize]) {
            surfaces.entry(format!("surface-{}", label_of(cell))).or_default().push(cell);
        }
        let mut surfaces: Vec<(String, Vec<u32>)> = surfaces.into_iter().collect();
        surfaces.sort_by_key(|(_, facets)| facets.first().copied());
        Plan { parts, surfaces, named }
    }
}

fn push_cell(out: &mut Vec<u8>, tag: &str, number: u64, (shape, nodes): (CellShape, &[u32])) {
    out.extend_from_slice(b"\t\t\t<");
    out.extend_from_slice(tag.as_bytes());
    out.extend_from_slice(b" id=\"");
    push_u64(out, number);
    out.extend_from_slice(b"\">");
    let mut push = |index: usize, node: u32| {
        if index > 0 {
            out.push(b',');
        }
        push_u64(out, u64::from(node) + 1);
    };
    if shape == CellShape::Hex27 {
        for theirs in 0..27 {
            let ours = HEX27_ORDER.iter().position(|&from| from == theirs).unwrap_or(theirs);
            push(theirs, nodes[ours]);
        }
    } else {
        nodes.iter().enumerate().for_each(|(index, &node)| push(index, node));
    }
    out.extend_from_slice(b"</");
    out.extend_from_slice(tag.as_bytes());
    out.extend_from_slice(b">\n");
}

fn push_set(out: &mut Vec<u8>, tag: &str, name: &str, members: impl ExactSizeIterator<Item = u64>) {
    if members.len() == 0 {
        return;
    }
    out.extend_from_slice(format!("\t\t<{tag} name=\"{}\">", escaped(name)).as_bytes());
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        // Short lines, for people and editors.
        if index % 16 == 0 {
            out.extend_from_slice(b"\n\t\t\t");
        }
        push_u64(out, member);
    }
    out.extend_from_slice(format!("\n\t\t</{tag}>\n").as_bytes());
}

/// A name escaped for quotes.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            c if c.is_control() => text.push('_'),
            c => text.push(c),
        }
    }
    if text.is_empty() { "unnamed".into() } else { text }
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::super::read;
    use super::*;
    use crate::mesh_data::{Field, LABEL};

    #[test]
    fn every_shape_survives() {
        let mut mesh = MeshData {
            points: (0..27).map(|i| Vec3::new(f64::from(i) / 3.0, -1e-300, 1e20)).collect(),
            ..MeshData::default()
        };
        let nodes: Vec<u32> = (0..27).rev().collect();
        for shape in CellShape::all().filter(|shape| name_of(*shape).is_some()) {
            // Without volumes faces are shells, with volumes they are surfaces; both must survive.
            let mut single = MeshData { points: mesh.points.clone(), ..MeshData::default() };
            let corners = &nodes[..shape.nodes().unwrap_or(0)];
            single.push_cell(shape, corners);
            let back = read(&write(&single).unwrap()).unwrap();
            assert_eq!((&back.points, &back.groups), (&single.points, &single.groups), "{}", shape.name());
            if shape.dimension() == 3 {
                mesh.push_cell(shape, corners);
            }
        }
        let volumes = mesh.cell_count();
        mesh.push_cell(CellShape::Tri6, &[0, 1, 2, 3, 4, 5]);
        mesh.push_cell(CellShape::Quad4, &[0, 1, 2, 3]);
        let mut labels = vec![7.0; volumes];
        labels.extend([3.0, 4.0]);
        mesh.cell_fields.push(Field::scalars(LABEL, labels));
        mesh.cell_sets.insert("<all> & more".into(), (0..volumes as u32 + 1).collect());
        let back = read(&write(&mesh).unwrap()).unwrap();
        assert_eq!(back.groups, mesh.groups);
        assert_eq!(back.cell_sets["<all> & more"], (0..volumes as u32).collect::<Vec<u32>>());
        assert_eq!(back.cell_sets["surface:<all> & more"], [volumes as u32]);
        // A facet without a set is named after its label.
        assert_eq!(back.cell_sets["surface-4"], [volumes as u32 + 1]);
    }

    #[test]
    fn polygons_are_refused_with_their_name() {
        let mut mesh = MeshData { points: vec![Vec3::zero(); 5], ..MeshData::default() };
        mesh.push_cell(CellShape::Polygon, &[0, 1, 2, 3, 4]);
        assert!(write(&mesh).unwrap_err().to_string().contains("a polygon"));
    }
}
