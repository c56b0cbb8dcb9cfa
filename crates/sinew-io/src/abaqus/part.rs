//! Nodes and elements of one part.

use std::collections::BTreeMap;

use sinew_math::Vec3;

use super::blocks::Block;
use super::elements::{Kind, kind_of};
use super::numbering::Numbering;
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, MeshData};

/// Set members declared by a block of nodes or elements, by the name as written.
type DeclaredSets = Vec<(String, Vec<u32>)>;

/// The mesh of a part.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) points: Vec<Vec3>,
    pub(super) nodes: Numbering,
    pub(super) node_sets: DeclaredSets,
    pub(super) groups: Vec<CellGroup>,
    pub(super) cells: Numbering,
    pub(super) cell_sets: DeclaredSets,
    /// Number of skipped elements, by type.
    pub(super) left_out: BTreeMap<String, usize>,
}

/// A valid node or element number of the file.
fn positive(number: i64, line: usize, what: &str) -> Result<u32, ReadError> {
    let fits = u32::try_from(number).ok().filter(|&number| number > 0 && number < u32::MAX);
    fits.ok_or_else(|| ReadError::line(line, format!("{what} {number}: numbers go from 1 to 2³²")))
}

impl Part {
    /// Reads nodes first, then elements, in any block order.
    pub(super) fn read(blocks: &[&Block<'_>]) -> Result<Part, ReadError> {
        let mut points = Vec::new();
        let mut numbers: Vec<u32> = Vec::new();
        let mut lines: Vec<u32> = Vec::new();
        let mut sets: Vec<(String, std::ops::Range<usize>)> = Vec::new();
        for block in blocks.iter().filter(|block| block.keyword == "NODE") {
            refuse_other_sources(block)?;
            let first = numbers.len();
            for row in block.rows() {
                let mut fields = row.fields();
                let number = row.integer(fields.next().unwrap_or_default(), "node")?;
                numbers.push(positive(number, row.line, "node")?);
                let mut coordinate = || row.number(fields.next().unwrap_or_default(), "node");
                points.push(Vec3::new(coordinate()?, coordinate()?, coordinate()?));
                lines.push(row.line as u32);
            }
            if let Some(name) = block.parameter("NSET") {
                sets.push((name.into(), first..numbers.len()));
            }
        }
        let nodes = Numbering::new(&numbers);
        for (index, &number) in numbers.iter().enumerate() {
            let first = nodes.get(number.into()).map_or(index, |first| first as usize);
            if first != index && points[first] != points[index] {
                let reason = format!("node {number} already exists at another position");
                return Err(ReadError::line(lines[index] as usize, reason));
            }
        }
        let ours = |number: &u32| nodes.get((*number).into());
        let node_sets =
            sets.into_iter().map(|(name, range)| (name, numbers[range].iter().filter_map(ours).collect())).collect();
        let mut part = Part {
            points,
            nodes,
            node_sets,
            groups: Vec::new(),
            cells: Numbering::Table(Vec::new()),
            cell_sets: Vec::new(),
            left_out: BTreeMap::new(),
        };
        part.read_elements(blocks)?;
        Ok(part)
    }

    fn read_elements(&mut self, blocks: &[&Block<'_>]) -> Result<(), ReadError> {
        let mut numbers: Vec<u32> = Vec::new();
        let mut lines: Vec<u32> = Vec::new();
        for block in blocks.iter().filter(|block| block.keyword == "ELEMENT") {
            refuse_other_sources(block)?;
            let name = block.required("TYPE")?;
            let first = numbers.len();
            match kind_of(name) {
                Kind::Cell(shape, order) => {
                    if self.groups.last().is_none_or(|group| group.shape != shape) {
                        self.groups.push(CellGroup::new(shape));
                    }
                    let last = self.groups.len() - 1;
                    let mut elements = Elements {
                        nodes: &self.nodes,
                        group: &mut self.groups[last],
                        numbers: &mut numbers,
                        lines: &mut lines,
                    };
                    elements.read(block, order)?;
                }
                Kind::LeftOut => *self.left_out.entry(name.to_ascii_uppercase()).or_default() += block.rows().count(),
                Kind::Unknown => {
                    return Err(ReadError::Unsupported {
                        place: Place::Line(block.line),
                        what: format!("the element type {name}"),
                        hint: "take the block out of the file, or convert the elements in the program that made them",
                    });
                }
            }
            if let Some(set) = block.parameter("ELSET").filter(|_| first < numbers.len()) {
                self.cell_sets.push((set.into(), (first as u32..numbers.len() as u32).collect()));
            }
        }
        self.groups.retain(|group| !group.is_empty());
        self.groups = merged(std::mem::take(&mut self.groups));
        self.cells = Numbering::new(&numbers);
        for (index, &number) in numbers.iter().enumerate() {
            if self.cells.get(number.into()) != Some(index as u32) {
                return Err(ReadError::line(lines[index] as usize, format!("element {number} exists already")));
            }
        }
        Ok(())
    }
}

/// Merges adjacent groups of the same shape.
fn merged(groups: Vec<CellGroup>) -> Vec<CellGroup> {
    let mut mesh = MeshData::default();
    for group in groups {
        match mesh.groups.last_mut() {
            Some(last) if last.shape == group.shape => last.nodes.extend(group.nodes),
            _ => mesh.groups.push(group),
        }
    }
    mesh.groups
}

/// Parser state for the elements of one block.
struct Elements<'a> {
    nodes: &'a Numbering,
    group: &'a mut CellGroup,
    numbers: &'a mut Vec<u32>,
    lines: &'a mut Vec<u32>,
}

impl Elements<'_> {
    fn read(&mut self, block: &Block<'_>, order: Option<&[usize]>) -> Result<(), ReadError> {
        let count = self.group.shape.nodes().unwrap_or(0);
        // Nodes of the current element so far; complete initially.
        let mut found = count;
        for row in block.rows() {
            let mut fields = row.fields();
            if found == count {
                let number = row.integer(fields.next().unwrap_or_default(), "element")?;
                self.numbers.push(positive(number, row.line, "element")?);
                self.lines.push(row.line as u32);
                found = 0;
            }
            for field in fields {
                // After the last comma.
                if field.is_empty() {
                    continue;
                }
                if found == count {
                    let reason = format!("more than {count} nodes for a {}", self.group.shape.name());
                    return Err(ReadError::line(row.line, reason));
                }
                let index = row.integer(field, "node")?;
                let node = self.nodes.get(index);
                let place = Place::Line(row.line);
                self.group.nodes.push(node.ok_or(ReadError::Index { place, what: "node", index })?);
                found += 1;
            }
            if found < count && !row.continues() {
                let reason = format!("{found} nodes where a {} has {count}", self.group.shape.name());
                return Err(ReadError::line(row.line, reason));
            }
            if let Some(order) = order.filter(|_| found == count) {
                let start = self.group.nodes.len() - count;
                let theirs = self.group.nodes[start..].to_vec();
                for (slot, &from) in self.group.nodes[start..].iter_mut().zip(order) {
                    *slot = theirs[from];
                }
            }
        }
        if found < count {
            return Err(ReadError::Truncated {
                place: Place::Line(self.lines.last().map_or(block.line, |line| *line as usize)),
                what: "an element".into(),
            });
        }
        Ok(())
    }
}

/// Nodes from other files or in other coordinates would be read incorrectly.
fn refuse_other_sources(block: &Block<'_>) -> Result<(), ReadError> {
    let place = Place::Line(block.line);
    if block.parameter("INPUT").is_some() {
        let hint = "paste the file into this one";
        return Err(ReadError::Unsupported { place, what: format!("*{} from another file", block.keyword), hint });
    }
    if block.parameter("SYSTEM").is_some_and(|system| !system.eq_ignore_ascii_case("R")) {
        let hint = "write the nodes in rectangular coordinates";
        return Err(ReadError::Unsupported { place, what: "cylindrical or spherical coordinates".into(), hint });
    }
    Ok(())
}
