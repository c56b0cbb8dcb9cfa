//! FEBio input to mesh.

use std::collections::{BTreeMap, HashMap};

use super::parse::{self, Contents, RawCells, Reference};
use crate::abaqus::numbering::Numbering;
use crate::error::ReadError;
use crate::mesh_data::{Field, LABEL, MeshData};
use crate::obj::MATERIAL;

/// Reads the bytes of a FEBio file.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut contents = parse::parse(bytes)?;
    if !contents.has_mesh {
        return Err(ReadError::Missing { what: "section <Mesh> or <Geometry>" });
    }
    if contents.points.is_empty() {
        return Err(ReadError::Missing { what: "nodes" });
    }
    if contents.element_numbers.is_empty() {
        return Err(ReadError::Missing { what: "elements" });
    }
    let nodes = numbering(bytes, &contents.nodes, "node")?;
    let elements = numbering(bytes, &contents.element_numbers, "element")?;
    renumber(bytes, &mut contents.elements, &nodes)?;
    renumber(bytes, &mut contents.facets, &nodes)?;
    let mut mesh = MeshData { points: std::mem::take(&mut contents.points), ..MeshData::default() };
    mesh.groups = std::mem::take(&mut contents.elements.groups);
    for (name, range) in std::mem::take(&mut contents.named_nodes) {
        if !name.is_empty() {
            mesh.node_sets.entry(name).or_default().extend(range.start as u32..range.end as u32);
        }
    }
    for (name, members) in std::mem::take(&mut contents.node_sets) {
        let members = resolved(bytes, &members, &nodes, "node")?;
        mesh.node_sets.entry(name).or_default().extend(members);
    }
    let labels = add_parts(&mut mesh, &contents);
    for (name, members) in std::mem::take(&mut contents.element_sets) {
        add_set(&mut mesh.cell_sets, "elements", name, resolved(bytes, &members, &elements, "element")?);
    }
    add_facets(&mut mesh, contents.facets, contents.surfaces);
    let facet_count = mesh.cell_count() - labels.len();
    let labels = labels.into_iter().chain(std::iter::repeat_n(0.0, facet_count)).collect();
    mesh.cell_fields.push(Field::scalars(LABEL, labels));
    for members in mesh.node_sets.values_mut().chain(mesh.cell_sets.values_mut()) {
        members.sort_unstable();
        members.dedup();
    }
    mesh.node_sets.retain(|_, members| !members.is_empty());
    mesh.cell_sets.retain(|_, members| !members.is_empty());
    if !contents.left_out.is_empty() {
        mesh.notes.push(format!("only the mesh is read, not {}", contents.left_out.join(", ")));
    }
    Ok(mesh)
}

/// Maps file numbers to indices; rejects duplicates.
fn numbering(bytes: &[u8], references: &[Reference], what: &'static str) -> Result<Numbering, ReadError> {
    let numbers: Vec<u32> = references.iter().map(|(number, _)| *number).collect();
    let numbering = Numbering::new(&numbers);
    for (index, &(number, offset)) in references.iter().enumerate() {
        if numbering.get(number.into()) != Some(index as u32) {
            let reason = format!("{what} {number} exists already");
            return Err(ReadError::Syntax { place: parse::place(bytes, offset), reason });
        }
    }
    Ok(numbering)
}

/// Replaces node numbers of the file by indices.
fn renumber(bytes: &[u8], cells: &mut RawCells, nodes: &Numbering) -> Result<(), ReadError> {
    let mut offsets = cells.offsets.iter();
    for group in &mut cells.groups {
        let count = group.shape.nodes().unwrap_or(1);
        for (cell, offset) in group.nodes.chunks_exact_mut(count).zip(&mut offsets) {
            for node in cell {
                let index = i64::from(*node);
                let missing = || ReadError::Index { place: parse::place(bytes, *offset), what: "node", index };
                *node = nodes.get(index).ok_or_else(missing)?;
            }
        }
    }
    Ok(())
}

/// Indices of the members of a set.
fn resolved(
    bytes: &[u8],
    members: &[Reference],
    numbering: &Numbering,
    what: &'static str,
) -> Result<Vec<u32>, ReadError> {
    let ours = |&(number, offset): &Reference| {
        let index = i64::from(number);
        numbering.get(index).ok_or_else(|| ReadError::Index { place: parse::place(bytes, offset), what, index })
    };
    members.iter().map(ours).collect()
}

/// Adds sets of the parts, of their materials and of part lists; returns the label of every element.
fn add_parts(mesh: &mut MeshData, contents: &Contents) -> Vec<f64> {
    let materials: HashMap<&str, &str> =
        contents.materials.iter().map(|(number, name)| (number.as_str(), name.as_str())).collect();
    let domains: HashMap<&str, &str> =
        contents.domains.iter().map(|(part, material)| (part.as_str(), material.as_str())).collect();
    let mut labels = vec![0.0; mesh.cell_count()];
    for (index, part) in contents.parts.iter().enumerate() {
        let number = part.material.as_deref().and_then(|number| number.trim().parse::<u32>().ok());
        labels[part.cells.clone()].fill(number.map_or((index + 1) as f64, f64::from));
        let cells = part.cells.start as u32..part.cells.end as u32;
        let name = part.name.as_deref();
        if let Some(name) = name {
            mesh.cell_sets.entry(name.into()).or_default().extend(cells.clone());
        }
        let domain = name.and_then(|name| domains.get(name));
        if let Some(material) = domain.or_else(|| materials.get(part.material.as_deref()?.trim())) {
            mesh.cell_sets.entry(format!("{MATERIAL}{material}")).or_default().extend(cells);
        }
    }
    // A part counts once per list, and lists cannot name more parts than they have bytes.
    let mut budget = 4 * labels.len() + contents.part_lists.len();
    for (name, parts) in &contents.part_lists {
        let mut members = Vec::new();
        for cells in parts.iter().filter_map(|part| mesh.cell_sets.get(part)) {
            match budget.checked_sub(cells.len()) {
                Some(rest) => budget = rest,
                None => {
                    mesh.notes.push(format!("the part list {name} was left out: lists repeat too many elements"));
                    return labels;
                }
            }
            members.extend_from_slice(cells);
        }
        add_set(&mut mesh.cell_sets, "parts", name.clone(), members);
    }
    labels
}

/// Adds a set, with its kind as prefix if the name is taken.
fn add_set(sets: &mut BTreeMap<String, Vec<u32>>, kind: &str, name: String, members: Vec<u32>) {
    let name = if sets.contains_key(&name) { format!("{kind}:{name}") } else { name };
    sets.entry(name).or_default().extend(members);
}

fn add_facets(mesh: &mut MeshData, facets: RawCells, surfaces: Vec<(String, std::ops::Range<usize>)>) {
    let first = mesh.cell_count();
    for group in facets.groups {
        match mesh.groups.last_mut() {
            Some(last) if last.shape == group.shape => last.nodes.extend(group.nodes),
            _ => mesh.groups.push(group),
        }
    }
    let mut names: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (name, range) in surfaces {
        names.entry(name).or_default().extend((first + range.start) as u32..(first + range.end) as u32);
    }
    for (name, cells) in names {
        add_set(&mut mesh.cell_sets, "surface", name, cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: &str = "<febio_spec version=\"4.0\">\n<Mesh>\n<Nodes>\n<node id=\"1\">0,0,0</node>\n\
        <node id=\"2\">1,0,0</node>\n<node id=\"3\">0,1,0</node>\n<node id=\"4\">0,0,1</node>\n</Nodes>\n\
        <Elements type=\"TET4G4\" name=\"a\">\n<elem id=\"9\">1,2,3,4</elem>\n</Elements>\n\
        <NodeSet name=\"n\">\n1,\n2\n</NodeSet>\n<ElementSet name=\"a\">9</ElementSet>\n\
        <Surface name=\"a\">\n<tri3 id=\"1\">1,3,2</tri3>\n</Surface>\n</Mesh>\n</febio_spec>\n";

    #[test]
    fn names_may_be_shared_by_parts_sets_and_surfaces() {
        let mesh = read(TETRAHEDRON.as_bytes()).unwrap();
        let names: Vec<&str> = mesh.cell_sets.keys().map(String::as_str).collect();
        assert_eq!(names, ["a", "elements:a", "surface:a"]);
        assert!(mesh.notes.is_empty());
    }

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("id=\"2\">1,0,0", "id=\"2\">1,x,0", "line 5: node: `x` is not a number"),
            ("id=\"2\">1,0,0", "id=\"2\">1,0", "line 5: a node with 2 coordinates"),
            ("id=\"2\">1,0,0", "id=\"2\">1,nan,0", "line 5: node is not finite"),
            ("id=\"2\">1,0,0", "id=\"1\">1,0,0", "line 5: node 1 exists already"),
            ("id=\"2\">1,0,0", "id=\"-2\">1,0,0", "line 5: number -2"),
            ("id=\"2\">1,0,0", ">1,0,0", "line 5: <node> without id"),
            ("1,2,3,4<", "1,2,3,5<", "line 10: node 5 does not exist"),
            ("1,2,3,4<", "1,2,3<", "line 10: 3 nodes where a tetrahedron has 4"),
            ("1,2,3,4<", "1,2,3,4.5<", "line 10: number: `4.5`"),
            ("TET4G4", "tet15", "line 9: the element type \"tet15\" cannot be read"),
            ("\n2\n</NodeSet>", "\n7\n</NodeSet>", "line 14: node 7 does not exist"),
            ("\n2\n</NodeSet>", "\n<x/>\n</NodeSet>", "line 14: <x> in a set"),
            (">9</ElementSet>", ">8</ElementSet>", "line 16: element 8 does not exist"),
            ("1,3,2", "1,3,8", "line 18: node 8 does not exist"),
            ("<tri3", "<tri7", "line 18: the facet <tri7> cannot be read"),
            ("<Surface name=\"a\"", "<Surface", "line 17: <Surface> without name"),
            ("4.0", "1.2", "line 1: version 1.2"),
            ("<febio_spec", "<html", "not a valid FEBio file"),
            ("<Mesh>", "<Mesh from=\"b.feb\">", "line 2: a mesh in another file"),
            ("<Nodes>", "<Part>", "line 3: <Part> in the geometry"),
        ];
        for (from, to, part) in cases {
            let error = read(TETRAHEDRON.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}, not {part}");
        }
        for (text, part) in [
            ("", "not a valid FEBio file"),
            ("<febio_spec version=\"4.0\"/>", "no section"),
            ("<febio_spec version=\"4.0\"><Mesh/></febio_spec>", "no nodes"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}, not {part}");
        }
    }
}
