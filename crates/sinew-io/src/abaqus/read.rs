//! Abaqus input to mesh.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::assembly::Outline;
use super::blocks::{self, Block};
use super::part::Part;
use super::sets::{Assembly, Budget, Member, Placed, Set, Sets, extend};
use super::surfaces::{CellIndex, Facets};
use crate::error::{Place, ReadError};
use crate::mesh_data::MeshData;
use crate::obj::MATERIAL;

/// Unsupported keywords that create nodes or elements: ignoring them would leave holes in the mesh.
const REFUSED: [(&str, &str); 8] = [
    ("INCLUDE", "paste the file into this one"),
    ("NGEN", "write the nodes out, for instance by saving the mesh from Abaqus/CAE"),
    ("NFILL", "write the nodes out, for instance by saving the mesh from Abaqus/CAE"),
    ("NCOPY", "write the nodes out, for instance by saving the mesh from Abaqus/CAE"),
    ("NMAP", "write the nodes out, for instance by saving the mesh from Abaqus/CAE"),
    ("ELGEN", "write the elements out, for instance by saving the mesh from Abaqus/CAE"),
    ("ELCOPY", "write the elements out, for instance by saving the mesh from Abaqus/CAE"),
    ("SYSTEM", "write the nodes in the coordinates of the model"),
];

/// Reads the bytes of an Abaqus input file.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let blocks = blocks::split(bytes)?;
    for block in &blocks {
        if let Some((_, hint)) = REFUSED.iter().find(|(keyword, _)| *keyword == block.keyword) {
            let what = format!("*{}", block.keyword);
            return Err(ReadError::Unsupported { place: Place::Line(block.line), what, hint });
        }
    }
    let outline = Outline::new(&blocks)?;
    let mut mesh = MeshData::default();
    let mut assembly = Assembly { placed: Vec::new(), budget: Budget::new(bytes.len()) };
    // The set blocks of each placed part, in the same order.
    let mut blocks_of = Vec::new();
    place(&mut mesh, &mut assembly, String::new(), Rc::new(Part::read(&outline.global)?), |p| p, 1)?;
    blocks_of.push(outline.global.clone());
    let mut parts: HashMap<usize, Rc<Part>> = HashMap::new();
    for instance in &outline.instances {
        let has_mesh = instance.blocks.iter().any(|block| block.keyword == "NODE");
        let part = match parts.get(&instance.part) {
            _ if has_mesh => Rc::new(Part::read(&instance.blocks)?),
            Some(part) => part.clone(),
            None => {
                let part = Rc::new(Part::read(&outline.parts[instance.part].blocks)?);
                parts.insert(instance.part, part.clone());
                part
            }
        };
        place(&mut mesh, &mut assembly, instance.name.clone(), part, |p| instance.motion.apply(p), instance.line)?;
        let mut own = if has_mesh { Vec::new() } else { outline.parts[instance.part].blocks.clone() };
        own.extend(&instance.blocks);
        let is_set = |block: &&&Block<'_>| !matches!(block.keyword.as_str(), "NODE" | "ELEMENT");
        // Reading the sets of a part once per instance must stay cheap.
        let bytes: usize = own.iter().filter(is_set).map(|block| block.data_len()).sum();
        assembly.budget.spend(bytes / 4 + own.len(), instance.line)?;
        blocks_of.push(own);
    }
    if mesh.points.is_empty() {
        return Err(ReadError::Missing { what: "nodes" });
    }
    if mesh.cell_count() == 0 {
        return Err(ReadError::Missing { what: "elements" });
    }
    // Instances first: sets of the assembly may refer to theirs.
    let order = || (1..blocks_of.len()).chain([0]);
    let index = CellIndex::new(&mesh);
    for own in order() {
        for block in &blocks_of[own] {
            match block.keyword.as_str() {
                "NSET" if block.parameter("ELSET").is_some() => {
                    nodes_of_elements(&mut assembly, &mesh, &index, block, own)?
                }
                "NSET" => assembly.read_set(block, own, Member::Node)?,
                "ELSET" => assembly.read_set(block, own, Member::Element)?,
                _ => {}
            }
        }
    }
    let mut facets = Facets::default();
    for own in order() {
        for block in blocks_of[own].iter().filter(|block| block.keyword == "SURFACE") {
            facets.read(&mut assembly, &mesh, &index, block, own)?;
        }
    }
    facets.append_to(&mut mesh);
    for own in order() {
        for block in &blocks_of[own] {
            add_material(&mut mesh, &mut assembly, block, own)?;
        }
    }
    note_left_out(&mut mesh, &assembly);
    name_sets(&mut mesh, assembly);
    Ok(mesh)
}

/// Adds the points and elements of a part.
fn place(
    mesh: &mut MeshData,
    assembly: &mut Assembly,
    name: String,
    part: Rc<Part>,
    motion: impl Fn(sinew_math::Vec3) -> sinew_math::Vec3,
    line: usize,
) -> Result<(), ReadError> {
    let node_count: usize = part.groups.iter().map(|group| group.nodes.len()).sum();
    // Three doubles are six words.
    assembly.budget.spend(6 * part.points.len() + node_count, line)?;
    let (first_node, first_cell) = (mesh.points.len() as u32, mesh.cell_count() as u32);
    for &point in &part.points {
        let point = motion(point);
        if !point.is_finite() {
            return Err(ReadError::NotFinite { place: Place::Line(line), what: format!("a node of {name}") });
        }
        mesh.points.push(point);
    }
    for group in &part.groups {
        let nodes = group.nodes.iter().map(|node| node + first_node);
        match mesh.groups.last_mut() {
            Some(last) if last.shape == group.shape => last.nodes.extend(nodes),
            _ => mesh.groups.push(crate::CellGroup::with_nodes(group.shape, nodes.collect())),
        }
    }
    let mut placed = Placed {
        name,
        first_node,
        first_cell,
        node_sets: Sets::new(),
        cell_sets: Sets::new(),
        surfaces: Sets::new(),
        part: part.clone(),
    };
    for (name, members) in &part.node_sets {
        assembly.budget.spend(members.len(), line)?;
        extend(&mut placed.node_sets, name, members.iter().map(|node| node + first_node), false);
    }
    for (name, members) in &part.cell_sets {
        assembly.budget.spend(members.len(), line)?;
        extend(&mut placed.cell_sets, name, members.iter().map(|cell| cell + first_cell), false);
    }
    assembly.placed.push(placed);
    Ok(())
}

/// `*NSET, NSET=…, ELSET=…`.
fn nodes_of_elements(
    assembly: &mut Assembly,
    mesh: &MeshData,
    index: &CellIndex,
    block: &Block<'_>,
    own: usize,
) -> Result<(), ReadError> {
    let scope = assembly.scope(block, own)?;
    let elset = block.required("ELSET")?;
    let cells = assembly.members(scope, Member::Element, elset.as_bytes(), block.line)?;
    let node_count = cells.iter().map(|&cell| index.cell(mesh, cell).1.len()).sum();
    assembly.budget.spend(node_count, block.line)?;
    let nodes = cells.iter().flat_map(|&cell| index.cell(mesh, cell).1.iter().copied());
    let is_internal = block.parameter("INTERNAL").is_some();
    extend(&mut assembly.placed[own].node_sets, block.required("NSET")?, nodes, is_internal);
    Ok(())
}

/// `*SOLID SECTION, ELSET=…, MATERIAL=…` and similar.
fn add_material(mesh: &mut MeshData, assembly: &mut Assembly, block: &Block<'_>, own: usize) -> Result<(), ReadError> {
    if !block.keyword.ends_with("SECTION") {
        return Ok(());
    }
    let (Some(elset), Some(material)) = (block.parameter("ELSET"), block.parameter("MATERIAL")) else { return Ok(()) };
    // A section of skipped elements has no set here. That is not an error in the mesh.
    if let Some(set) = assembly.placed[own].cell_sets.get(&elset.to_uppercase()) {
        assembly.budget.spend(set.members.len(), block.line)?;
        mesh.cell_sets.entry(format!("{MATERIAL}{material}")).or_default().extend(&set.members);
    }
    Ok(())
}

fn note_left_out(mesh: &mut MeshData, assembly: &Assembly) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in assembly.placed.iter().flat_map(|placed| &placed.part.left_out) {
        *counts.entry(name).or_default() += count;
    }
    let notes = counts.iter().map(|(name, count)| format!("{count} elements of type {name} were left out"));
    mesh.notes.extend(notes);
}

/// Adds the sets to the mesh under unique names.
fn name_sets(mesh: &mut MeshData, assembly: Assembly) {
    let mut all: [Vec<(String, Sets)>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    for placed in assembly.placed {
        for (target, sets) in all.iter_mut().zip([placed.node_sets, placed.cell_sets, placed.surfaces]) {
            target.push((placed.name.clone(), sets));
        }
    }
    let [node_sets, cell_sets, surfaces] = all.map(unique);
    for (name, members) in node_sets {
        mesh.node_sets.insert(name, members);
    }
    for (name, members) in cell_sets {
        mesh.cell_sets.entry(name).or_default().extend(members);
    }
    for (name, members) in surfaces {
        let name = if mesh.cell_sets.contains_key(&name) { format!("surface:{name}") } else { name };
        mesh.cell_sets.entry(name).or_default().extend(members);
    }
    for members in mesh.node_sets.values_mut().chain(mesh.cell_sets.values_mut()) {
        members.sort_unstable();
        members.dedup();
    }
    mesh.node_sets.retain(|_, members| !members.is_empty());
    mesh.cell_sets.retain(|_, members| !members.is_empty());
}

/// Sets of all instances; names that several instances share get the instance name as prefix.
fn unique(scopes: Vec<(String, Sets)>) -> Vec<(String, Vec<u32>)> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for key in scopes.iter().flat_map(|(_, sets)| sets.keys()) {
        *uses.entry(key.clone()).or_default() += 1;
    }
    let mut named = Vec::new();
    for (instance, sets) in scopes {
        for (key, Set { name, members, is_internal }) in sets {
            if is_internal {
                continue;
            }
            let is_shared = uses[&key] > 1 && !instance.is_empty();
            named.push((if is_shared { format!("{instance}.{name}") } else { name }, members));
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh_data::CellShape;
    use crate::volume::VolumeOptions;

    /// Two stacked unit cubes, with gaps in the numbering, and odd capitalization throughout.
    const CUBES: &str = "*Heading\n two cubes, 1, 2\n** nothing\n*Node, nset=All\n10, 0., 0., 0.\n20, 1., 0., 0.\n\
        30, 1., 1., 0.\n40, 0., 1., 0.\n50, 0,0,1\n60,1,0,1\n70,1,1,1\n80,,1.,1.\n*NODE\n90,0,0,2\n100,1,0,2\n\
        110,1,1,2\n 120 , 0 , 1 , 2\n*ELEMENT, type=c3d8R,\n elset=lower\n 5, 10,20,30,40,\n 50,60,70,80\n\
        *Element, TYPE=C3D8, ELSET=\"upper part\"\n7,50,60,70,80,90,100,110,120\n\
        *Nset, NSET=bottom, generate\n10, 40, 10\n*nset, nset=both\nbottom, 90, 100,\n110\n 120\n\
        *Elset, elset=Every\nLOWER, \"Upper part\"\n*elset, elset=_top_S2, internal, generate\n7, 1000000000000\n\
        *Surface, type=element, name=top\n_top_S2, S2\n*surface, name=outside\n5,S1\nevery,S3\n\
        *SURFACE, TYPE=NODE, NAME=feet\nbottom, 1.\n12345\n*NSET, NSET=low, ELSET=lower\n\
        *Solid Section, elset=every, material=Muscle\n,\n*Material, name=Muscle\n*Elastic\n1e5, 0.3\n";

    fn cubes() -> String {
        CUBES.replace("12345\n", "")
    }

    #[test]
    fn sets_surfaces_and_materials_are_read() {
        let mesh = read(cubes().as_bytes()).unwrap();
        assert_eq!(mesh.points.len(), 12);
        let shapes: Vec<(CellShape, usize)> = mesh.groups.iter().map(|group| (group.shape, group.len())).collect();
        assert_eq!(shapes, [(CellShape::Hex8, 2), (CellShape::Quad4, 4)]);
        let names: Vec<&str> = mesh.cell_sets.keys().map(String::as_str).collect();
        assert_eq!(names, ["Every", "lower", "material:Muscle", "outside", "top", "upper part"]);
        assert_eq!((&mesh.cell_sets["Every"], &mesh.cell_sets["top"]), (&vec![0, 1], &vec![2]));
        assert_eq!((&mesh.cell_sets["outside"], &mesh.cell_sets["material:Muscle"]), (&vec![3, 4, 5], &vec![0, 1]));
        assert_eq!(mesh.node_sets["All"], (0..8).collect::<Vec<u32>>());
        assert_eq!(mesh.node_sets["both"], [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!((&mesh.node_sets["feet"], mesh.node_sets["low"].len()), (&vec![0, 1, 2, 3], 8));
        // Facets face outward: the top is counterclockwise seen from above.
        assert_eq!(mesh.groups[1].cell(0), [8, 9, 10, 11]);
        let volume = mesh.into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert_eq!((volume.node_count(), volume.cell_count()), (12, 2));
        assert_eq!(volume.node_sets()["top"], [8, 9, 10, 11]);
    }

    /// A tetrahedron in a part, placed three times: in place, moved, and moved and rotated by 90° about the vertical.
    const PARTS: &str = "*PART, NAME=Bone\n*NODE\n1, 0,0,0\n2, 1,0,0\n3, 0,1,0\n4, 0,0,1\n*ELEMENT, TYPE=C3D4, ELSET=all\n\
        1, 1,2,3,4\n*NSET, NSET=tip\n4\n*END PART\n*PART, NAME=Other\n*NODE\n1, 5,5,5\n2,6,5,5\n3,5,6,5\n4,5,5,6\n\
        *ELEMENT, TYPE=C3D4, ELSET=single\n9, 1,2,3,4\n*END PART\n*ASSEMBLY, NAME=A\n\
        *INSTANCE, NAME=left, PART=bone\n*END INSTANCE\n*INSTANCE, NAME=right, PART=bone\n10, 0, 0\n\
        0,0,0, 0,0,2, 90\n*END INSTANCE\n*INSTANCE, NAME=o, PART=Other\n*END INSTANCE\n\
        *NSET, NSET=tips\nleft.tip, Right.4\n*NSET, NSET=two, INSTANCE=right\n2, 3\n\
        *ELSET, ELSET=faces, INSTANCE=right\n1\n*SURFACE, NAME=skin\nfaces, S1\nleft.all, S3\no.9, S4\n*END ASSEMBLY\n";

    #[test]
    fn parts_stand_where_their_instances_put_them() {
        let mesh = read(PARTS.as_bytes()).unwrap();
        assert_eq!((mesh.points.len(), mesh.groups[0].len()), (12, 3));
        // (1, 0, 0) moved by 10 rotates to (0, 11, 0).
        let turned = mesh.points[5];
        assert!((turned - sinew_math::Vec3::new(0.0, 11.0, 0.0)).norm() < 1e-14, "{turned:?}");
        let names: Vec<&str> = mesh.cell_sets.keys().chain(mesh.node_sets.keys()).map(String::as_str).collect();
        assert_eq!(names, ["faces", "left.all", "right.all", "single", "skin", "left.tip", "right.tip", "tips", "two"]);
        assert_eq!((&mesh.node_sets["tips"], &mesh.node_sets["two"]), (&vec![3, 7], &vec![5, 6]));
        assert_eq!((&mesh.cell_sets["right.all"], &mesh.cell_sets["skin"]), (&vec![1], &vec![3, 4, 5]));
        let nodes: Vec<&[u32]> = mesh.groups[1].cells().collect();
        assert_eq!(nodes, [&[4, 6, 5], &[1, 2, 3], &[8, 11, 10]]);
    }

    #[test]
    fn mistakes_name_their_line() {
        let with = |from: &str, to: &str| CUBES.replace("12345\n", "").replace(from, to);
        let cases = [
            (CUBES.to_string(), "line 41: node 12345 does not exist"),
            (with("20, 1.,", "20, 1.x,"), "line 6: node: `1.x` is not a number"),
            (with("20, 1.,", "20, inf,"), "line 6: node is not finite"),
            (with("20, 1.,", "-20, 1.,"), "line 6: node -20"),
            (with("20, 1.,", "10, 1.,"), "line 6: node 10 already exists at another"),
            (with("90,100,110,120", "90,100,110,121"), "line 23: node 121 does not exist"),
            (with("90,100,110,120", "90,100,110"), "line 23: 7 nodes where a hexahedron has 8"),
            (with("90,100,110,120", "90,100,110,120,50"), "line 23: more than 8 nodes"),
            (with("\n7,50", "\n5,50"), "line 23: element 5 exists already"),
            (with("C3D8,", "C3D9,"), "line 22: the element type C3D9 cannot be read"),
            (with("TYPE=C3D8, ", ""), "line 22: *ELEMENT without TYPE="),
            (with("10, 40, 10", "10, 40, 0"), "line 25: a range from 10 to 40 in steps of 0"),
            (with("10, 40, 10", "41, 49"), "line 25: node 41 does not exist"),
            (with("bottom, 90", "botom, 90"), "line 27: there is no node set `botom`"),
            (with("5,S1", "5,S7"), "line 37: surface: `S7` is not a side"),
            (with("*Heading", "*INCLUDE, INPUT=a.inp"), "line 1: *INCLUDE cannot be read\nhint: paste"),
            (with("*NODE\n", "*NODE, SYSTEM=C\n"), "line 13: cylindrical"),
            (PARTS.replace("PART=bone\n10", "PART=bones\n10"), "line 24: there is no part bones"),
            (PARTS.replace("0,0,2, 90", "0,0,0, 90"), "line 26: the axis"),
            (PARTS.replace("INSTANCE=right\n2", "INSTANCE=rigth\n2"), "there is no instance rigth"),
            ("hello".into(), "not a valid Abaqus file"),
            ("*HEADING\n".into(), "no nodes"),
            ("*NODE\n1,0,0,0\n".into(), "no elements"),
        ];
        for (text, part) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}, not {part}");
        }
    }

    #[test]
    fn springs_are_left_out_and_noted() {
        let text = cubes() + "*ELEMENT, TYPE=SPRINGA, ELSET=springs\n77, 10, 20\n*ELSET, ELSET=mixed\n5, 77\n";
        let mesh = read(text.as_bytes()).unwrap();
        assert_eq!(mesh.cell_sets["mixed"], [0]);
        assert_eq!(mesh.notes, ["1 elements of type SPRINGA were left out"]);
    }

    #[test]
    fn repetition_cannot_make_memory_grow_with_the_square_of_the_file() {
        let nodes: String = (1..40_000).map(|i| format!("{i}\n")).collect();
        let sets: String = (0..20_000).map(|i| format!("*NSET, NSET={i}\nN\n")).collect();
        let text = format!("*NODE, NSET=N\n{nodes}*ELEMENT, TYPE=T3D2\n1,1,2\n{sets}");
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("repeat so much"), "{error}");
    }
}
