//! The sections of a `.msh` file.

use std::collections::{BTreeMap, HashMap};

use sinew_math::Vec3;

use super::shape;
use super::source::{Encoding, Source, Version};
use super::tags::{NONE, TagMap, TagRuns};
use crate::binary::NumberKind;
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape, Field, LABEL, MeshData};
use crate::text::shown;

/// Cell field with the geometric entity of each element.
pub(super) const GEOMETRICAL: &str = "gmsh:geometrical";

/// Cell field with the physical ids if the file itself has a field called [`LABEL`].
pub(super) const PHYSICAL: &str = "gmsh:physical";

/// Consecutive cells on one entity, in one group.
pub(super) struct CellRun {
    /// Number of cells.
    pub count: usize,
    /// Their dimension.
    pub dimension: usize,
    /// The entity they lie on.
    pub entity: i32,
    /// Their group, in version 2; 0 for none.
    pub physical: i32,
}

/// Parsed contents so far.
#[derive(Default)]
pub(super) struct Contents {
    /// Points, and the map from tags to them once read.
    pub points: Vec<Vec3>,
    pub nodes: Option<TagMap>,
    /// Cells, likewise.
    pub groups: Vec<CellGroup>,
    pub elements: Option<TagMap>,
    pub runs: Vec<CellRun>,
    /// Additional groups of single cells: version 2 repeats a cell that is in several.
    pub twins: Vec<(u32, i32)>,
    /// Groups of each entity, by dimension and tag.
    pub physicals: HashMap<(usize, i32), Vec<i32>>,
    /// Names of groups, by dimension and id.
    pub names: BTreeMap<(usize, i32), String>,
    pub point_fields: Vec<Field>,
    pub cell_fields: Vec<Field>,
    /// Number of uses of each field name, points first.
    pub field_names: [BTreeMap<String, usize>; 2],
    /// Remaining budget of numbers for fields and sets.
    pub budget: usize,
    pub notes: Vec<String>,
}

impl Contents {
    /// Sparse fields and overlapping groups could make small files huge; one number per byte of the file is plenty.
    pub fn spend(&mut self, numbers: usize, place: Place, what: &str) -> Result<(), ReadError> {
        match self.budget.checked_sub(numbers) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                let what = format!("{what} with more numbers than the file has bytes");
                Err(ReadError::Unsupported { place, what, hint: "leave out fields and groups that are not needed" })
            }
        }
    }
}

/// Reads a file.
pub(super) fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut source = Source::open(bytes)?;
    read_sections(&mut source).map_err(|error| source.located(error))
}

fn read_sections(source: &mut Source) -> Result<MeshData, ReadError> {
    let mut contents = Contents { budget: source.len(), ..Contents::default() };
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    while let Some(name) = source.next_section()? {
        match name {
            b"PhysicalNames" => physical_names(source, &mut contents)?,
            b"Entities" if source.version == Version::Four => {
                entities(source, &mut contents, Entities::Whole)?;
                source.end_section("Entities")?;
            }
            b"PartitionedEntities" if source.version == Version::Four => {
                entities(source, &mut contents, Entities::Partitioned)?;
                source.end_section("PartitionedEntities")?;
            }
            b"Nodes" if contents.nodes.is_none() => {
                let tags = match source.version {
                    Version::Two => super::version2::nodes(source, &mut contents.points)?,
                    Version::Four => super::version4::nodes(source, &mut contents.points)?,
                };
                let (map, twice) = tags.into_map();
                if let Some(tag) = twice {
                    let reason = format!("the node {tag} is given twice");
                    return Err(ReadError::Syntax { place: source.place(), reason });
                }
                contents.nodes = Some(map);
                source.end_section("Nodes")?;
            }
            b"Elements" if contents.elements.is_none() => {
                let Some(nodes) = contents.nodes.take() else {
                    let reason = "`$Elements` comes before `$Nodes`".into();
                    return Err(ReadError::Syntax { place: source.place(), reason });
                };
                let mut tags = TagRuns::default();
                match source.version {
                    Version::Two => super::version2::elements(source, &nodes, &mut contents, &mut tags)?,
                    Version::Four => super::version4::elements(source, &nodes, &mut contents, &mut tags)?,
                }
                contents.nodes = Some(nodes);
                contents.elements = Some(tags.into_map().0);
                source.end_section("Elements")?;
            }
            b"NodeData" => super::data::node_data(source, &mut contents)?,
            b"ElementData" => super::data::element_data(source, &mut contents)?,
            b"Nodes" | b"Elements" => {
                *skipped.entry("repeated mesh").or_default() += 1;
                source.skip_section(name)?;
            }
            b"ElementNodeData" => {
                *skipped.entry("$ElementNodeData").or_default() += 1;
                source.skip_section(name)?;
            }
            _ => source.skip_section(name)?,
        }
    }
    contents.notes.extend(skipped.iter().map(|(what, count)| format!("{count} sections were left out: {what}")));
    if contents.nodes.is_none() {
        return Err(ReadError::Missing { what: "`$Nodes` section" });
    }
    if contents.elements.is_none() {
        return Err(ReadError::Missing { what: "`$Elements` section" });
    }
    finish(contents)
}

/// `$PhysicalNames`: lines of dimension, id and quoted name.
fn physical_names(source: &mut Source, contents: &mut Contents) -> Result<(), ReadError> {
    let count = source.text_count(2, "physical names")?;
    for _ in 0..count {
        let dimension = source.text_integer("dimension of a physical name")?;
        let place = source.place();
        let id = source.text_integer("id of a physical name")?;
        let line = source.words.next_line().unwrap_or_default();
        let name = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        let key = usize::try_from(dimension).ok().filter(|d| *d <= 3).zip(i32::try_from(id).ok());
        match (key, name) {
            (Some(key), Some(name)) => {
                contents.names.insert(key, String::from_utf8_lossy(name).into_owned());
            }
            (None, _) => {
                let reason = format!("no physical group has dimension {dimension} and id {id}");
                return Err(ReadError::Syntax { place, reason });
            }
            (_, None) => {
                let reason = format!("expected a name in quotes, found `{}`", shown(line));
                return Err(ReadError::Syntax { place, reason });
            }
        }
    }
    source.end_section("PhysicalNames")
}

/// The two sections of entities differ in the data before the bounding box.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entities {
    Whole,
    Partitioned,
}

/// `$Entities` of version 4; only the groups of each entity matter here.
fn entities(source: &mut Source, contents: &mut Contents, kind: Entities) -> Result<(), ReadError> {
    source.begin_numbers()?;
    if kind == Entities::Partitioned {
        source.size("partitions")?;
        let ghosts = source.count(8, "ghost entities")?;
        source.skip_numbers(2 * ghosts as u64, NumberKind::I32, "ghost entities")?;
    }
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = source.count(4, "entities")?;
    }
    for (dimension, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            let tag = source.integer("entity")?;
            if kind == Entities::Partitioned {
                source.skip_numbers(2, NumberKind::I32, "parent of an entity")?;
                let partitions = source.size("partitions of an entity")?;
                source.skip_numbers(partitions, NumberKind::I32, "partitions of an entity")?;
            }
            let coordinates = if dimension == 0 { 3 } else { 6 };
            source.skip_numbers(coordinates, NumberKind::F64, "bounding box of an entity")?;
            let groups = source.count(4, "groups of an entity")?;
            let mut physicals: Vec<i32> = Vec::with_capacity(groups);
            for _ in 0..groups {
                let place = source.place();
                let id = source.integer("group of an entity")?;
                // A negative id means the reversed orientation of the entity.
                match i32::try_from(id).ok().and_then(i32::checked_abs) {
                    Some(0) => {}
                    Some(id) => physicals.push(id),
                    None => return Err(ReadError::Index { place, what: "physical group", index: id }),
                }
            }
            if dimension > 0 {
                let bounds = source.size("boundary of an entity")?;
                source.skip_numbers(bounds, NumberKind::I32, "boundary of an entity")?;
            }
            if let Ok(tag) = i32::try_from(tag)
                && !physicals.is_empty()
            {
                contents.physicals.insert((dimension, tag), physicals);
            }
        }
    }
    Ok(())
}

/// Builds labels, sets and fields.
fn finish(mut contents: Contents) -> Result<MeshData, ReadError> {
    let cell_count = contents.runs.iter().map(|run| run.count).sum();
    let mut labels: Vec<f64> = Vec::with_capacity(cell_count);
    let mut entities: Vec<f64> = Vec::with_capacity(cell_count);
    let mut cell_sets: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let runs = std::mem::take(&mut contents.runs);
    let entity_physicals = std::mem::take(&mut contents.physicals);
    let names = std::mem::take(&mut contents.names);
    let mut first = 0u32;
    for run in &runs {
        let own = [run.physical];
        let physicals = match entity_physicals.get(&(run.dimension, run.entity)) {
            Some(physicals) => physicals.as_slice(),
            None if run.physical == 0 => &[],
            None => &own,
        };
        labels.extend(std::iter::repeat_n(f64::from(physicals.first().copied().unwrap_or(0)), run.count));
        entities.extend(std::iter::repeat_n(f64::from(run.entity), run.count));
        let last = first + run.count as u32;
        if !names.is_empty() {
            for &id in physicals {
                if let Some(name) = names.get(&(run.dimension, id)) {
                    contents.spend(run.count, Place::Line(1), "groups")?;
                    match cell_sets.get_mut(name) {
                        Some(members) => members.extend(first..last),
                        None => {
                            cell_sets.insert(name.clone(), (first..last).collect());
                        }
                    }
                }
            }
        }
        first = last;
    }
    add_twins(&contents, &runs, &names, &mut cell_sets);
    for members in cell_sets.values_mut() {
        members.sort_unstable();
        members.dedup();
    }
    let mut cell_fields = Vec::new();
    let has_labels = labels.iter().any(|&label| label != 0.0);
    // A field of the file named like our labels takes precedence over groups.
    let name = if contents.cell_fields.iter().any(|field| field.name == LABEL) { PHYSICAL } else { LABEL };
    if has_labels {
        cell_fields.push(Field::scalars(name, labels));
    }
    cell_fields.push(Field::scalars(GEOMETRICAL, entities));
    cell_fields.append(&mut contents.cell_fields);
    Ok(MeshData {
        points: contents.points,
        groups: contents.groups,
        point_fields: contents.point_fields,
        cell_fields,
        cell_sets,
        notes: contents.notes,
        ..MeshData::default()
    })
}

/// Adds repeated cells of version 2 to the sets of their additional groups.
fn add_twins(
    contents: &Contents,
    runs: &[CellRun],
    names: &BTreeMap<(usize, i32), String>,
    cell_sets: &mut BTreeMap<String, Vec<u32>>,
) {
    let mut runs = runs.iter();
    let mut dimension = 0;
    let mut end = 0usize;
    // Twins are in cell order.
    for &(cell, id) in &contents.twins {
        while end <= cell as usize {
            let Some(run) = runs.next() else { return };
            (dimension, end) = (run.dimension, end + run.count);
        }
        if let Some(name) = names.get(&(dimension, id)) {
            cell_sets.entry(name.clone()).or_default().push(cell);
        }
    }
}

/// The shape of an element type, and its node order: index i gives Gmsh's number of VTK's node i.
pub(super) fn shape_of(number: i64, place: Place) -> Result<(CellShape, &'static [u8]), ReadError> {
    shape::from_type(number).ok_or_else(|| ReadError::Unsupported {
        place,
        what: shape::describe(number),
        hint: "mesh with `Mesh.ElementOrder = 1`, or with 2 and `Mesh.SecondOrderIncomplete = 1`",
    })
}

/// The group that cells of a shape are added to.
pub(super) fn group_of(groups: &mut Vec<CellGroup>, shape: CellShape) -> &mut CellGroup {
    if groups.last().is_none_or(|group| group.shape != shape) {
        groups.push(CellGroup::new(shape));
    }
    let last = groups.len() - 1;
    &mut groups[last]
}

/// Appends the nodes of a cell in VTK's order; returns an unknown tag with its position in the element.
#[inline]
pub(super) fn push_nodes(out: &mut Vec<u32>, map: &TagMap, order: &[u8], tags: &[i64]) -> Result<(), (usize, i64)> {
    let start = out.len();
    let tag_of = |&at: &u8| tags.get(usize::from(at)).copied().unwrap_or(-1);
    out.extend(order.iter().map(|at| map.get(tag_of(at) as u64)));
    match out[start..].iter().position(|&node| node == NONE) {
        None => Ok(()),
        Some(wrong) => {
            out.truncate(start);
            let at = order.get(wrong).copied().unwrap_or(0);
            Err((usize::from(at), tag_of(&at)))
        }
    }
}

/// Node coordinates in a binary file: `stride` bytes per node, with the position as three doubles from `offset`.
pub(super) fn positions(
    bytes: &[u8],
    start: usize,
    stride: usize,
    offset: usize,
    endian: crate::binary::Endian,
    points: &mut Vec<Vec3>,
) -> Result<(), ReadError> {
    let first = points.len();
    let double = |record: &[u8], k: usize| {
        let mut number = [0; 8];
        number.copy_from_slice(&record[offset + 8 * k..offset + 8 * k + 8]);
        match endian {
            crate::binary::Endian::Little => f64::from_le_bytes(number),
            crate::binary::Endian::Big => f64::from_be_bytes(number),
        }
    };
    points.extend(bytes.chunks_exact(stride).map(|r| Vec3::new(double(r, 0), double(r, 1), double(r, 2))));
    match points[first..].iter().position(|point| !point.is_finite()) {
        None => Ok(()),
        Some(wrong) => {
            let place = Place::Byte(start + wrong * stride + offset);
            Err(ReadError::NotFinite { place, what: "position of a node".into() })
        }
    }
}

/// A node's tag, which must not be negative.
pub(super) fn node_tag(tag: i64, place: Place) -> Result<u64, ReadError> {
    u64::try_from(tag).map_err(|_| ReadError::Syntax { place, reason: format!("a node with the number {tag}") })
}

/// Whether numbers are stored as text.
pub(super) fn is_text(source: &Source) -> bool {
    source.encoding == Encoding::Text
}
