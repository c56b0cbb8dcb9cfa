//! Node and element sets of placed parts.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::blocks::{Block, Row, unquoted};
use super::part::Part;
use crate::error::{Place, ReadError};
use crate::text::{parse_i64, shown};

/// Limit on memory and time beyond the file size: sets of sets, ranges and instances repeat their members.
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// 16 words of 4 bytes per byte of the file: room for 80 instances of one part.
    const WORDS_PER_BYTE: usize = 16;
    /// 16 MB for files of any size: a thousand small screws are a legitimate model.
    const ALWAYS: usize = 4 << 20;

    pub(super) fn new(bytes: usize) -> Budget {
        Budget { left: bytes.saturating_mul(Self::WORDS_PER_BYTE).saturating_add(Self::ALWAYS) }
    }

    /// Spends some of the budget, or rejects `line`.
    pub(super) fn spend(&mut self, words: usize, line: usize) -> Result<(), ReadError> {
        self.left = self.left.checked_sub(words).ok_or_else(|| ReadError::Unsupported {
            place: Place::Line(line),
            what: "a model whose instances and sets repeat so much".into(),
            hint: "write the mesh without parts from the program that made it",
        })?;
        Ok(())
    }
}

/// A named set.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    /// As written.
    pub(super) name: String,
    pub(super) members: Vec<u32>,
    /// Created by Abaqus for internal use.
    pub(super) is_internal: bool,
}

/// Sets by their names in capitals, since Abaqus names are case-insensitive.
pub(super) type Sets = BTreeMap<String, Set>;

/// Adds members to a set; creates it if needed.
pub(super) fn extend(sets: &mut Sets, name: &str, members: impl IntoIterator<Item = u32>, is_internal: bool) {
    let set = sets.entry(name.to_uppercase()).or_default();
    if set.name.is_empty() {
        set.name = name.into();
        set.is_internal = is_internal;
    }
    set.members.extend(members);
}

/// Kind of member of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Node,
    Element,
}

impl Member {
    pub(super) fn name(self) -> &'static str {
        match self {
            Member::Node => "node",
            Member::Element => "element",
        }
    }
}

/// A placed part, with our indices.
pub(super) struct Placed {
    /// Name of the instance; empty outside of parts.
    pub(super) name: String,
    pub(super) part: Rc<Part>,
    pub(super) first_node: u32,
    pub(super) first_cell: u32,
    pub(super) node_sets: Sets,
    pub(super) cell_sets: Sets,
    /// Cell sets of the facets of surfaces.
    pub(super) surfaces: Sets,
}

impl Placed {
    pub(super) fn sets(&self, member: Member) -> &Sets {
        match member {
            Member::Node => &self.node_sets,
            Member::Element => &self.cell_sets,
        }
    }

    /// Index of a node or element of the part.
    fn number(&self, member: Member, theirs: i64) -> Option<u32> {
        match member {
            Member::Node => Some(self.first_node + self.part.nodes.get(theirs)?),
            Member::Element => Some(self.first_cell + self.part.cells.get(theirs)?),
        }
    }
}

/// Limit on the dots in a name that may separate an instance.
const MAX_DOTS: usize = 8;

/// All placed parts; the first holds everything outside of parts.
pub(super) struct Assembly {
    pub(super) placed: Vec<Placed>,
    pub(super) budget: Budget,
}

impl Assembly {
    /// The placed part that a block refers to: its own, or the one given by INSTANCE.
    pub(super) fn scope(&self, block: &Block<'_>, own: usize) -> Result<usize, ReadError> {
        let Some(name) = block.parameter("INSTANCE") else { return Ok(own) };
        let found = self.placed.iter().position(|placed| placed.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| ReadError::line(block.line, format!("there is no instance {name}")))
    }

    /// Resolves a field of a data line: a number or a set, possibly as `INSTANCE.NAME`.
    pub(super) fn members(
        &mut self,
        scope: usize,
        member: Member,
        field: &[u8],
        line: usize,
    ) -> Result<Vec<u32>, ReadError> {
        let text = String::from_utf8_lossy(field);
        let mut candidates = vec![(scope, unquoted(&text))];
        // Names may contain dots: any of them could follow the instance.
        for (dot, _) in text.match_indices('.').take(MAX_DOTS) {
            let (instance, rest) = (unquoted(&text[..dot]), unquoted(&text[dot + 1..]));
            let is_named = |placed: &Placed| !placed.name.is_empty() && placed.name.eq_ignore_ascii_case(instance);
            candidates.extend(self.placed.iter().position(is_named).map(|placed| (placed, rest)));
        }
        for (at, name) in candidates {
            let placed = &self.placed[at];
            if let Some(number) = parse_i64(name.as_bytes()) {
                if let Some(index) = placed.number(member, number) {
                    return Ok(vec![index]);
                }
                // Sets may contain skipped elements.
                if member == Member::Element && !placed.part.left_out.is_empty() {
                    return Ok(Vec::new());
                }
                let place = Place::Line(line);
                return Err(ReadError::Index { place, what: member.name(), index: number });
            }
            if let Some(set) = placed.sets(member).get(&name.to_uppercase()) {
                self.budget.spend(set.members.len(), line)?;
                return Ok(set.members.clone());
            }
        }
        let reason = format!("there is no {} set `{}` before this line", member.name(), shown(field));
        Err(ReadError::line(line, reason))
    }

    /// Reads `*NSET` or `*ELSET` of a placed part.
    pub(super) fn read_set(&mut self, block: &Block<'_>, own: usize, member: Member) -> Result<(), ReadError> {
        let parameter = if member == Member::Node { "NSET" } else { "ELSET" };
        let name = block.required(parameter)?;
        let scope = self.scope(block, own)?;
        let mut members = Vec::new();
        let is_generated = block.parameter("GENERATE").is_some();
        for row in block.rows() {
            if is_generated {
                self.generated(scope, member, row, &mut members)?;
                continue;
            }
            for field in row.fields().filter(|field| !field.is_empty()) {
                // Most fields are existing numbers; only the others need a lookup.
                match parse_i64(field).and_then(|number| self.placed[scope].number(member, number)) {
                    Some(index) => members.push(index),
                    None => members.extend(self.members(scope, member, field, row.line)?),
                }
            }
        }
        let is_internal = block.parameter("INTERNAL").is_some();
        let placed = &mut self.placed[own];
        let sets = if member == Member::Node { &mut placed.node_sets } else { &mut placed.cell_sets };
        extend(sets, name, members, is_internal);
        Ok(())
    }

    /// `first, last, step`; skips missing numbers in between, as Abaqus does.
    fn generated(
        &mut self,
        scope: usize,
        member: Member,
        row: Row<'_>,
        members: &mut Vec<u32>,
    ) -> Result<(), ReadError> {
        let mut bounds = [0, 0, 1];
        for (slot, field) in bounds.iter_mut().zip(row.fields().filter(|field| !field.is_empty())) {
            *slot = row.integer(field, "range")?;
        }
        let [first, last, step] = bounds;
        if step <= 0 || first > last || first < 1 {
            return Err(ReadError::line(row.line, format!("a range from {first} to {last} in steps of {step}")));
        }
        let placed = &self.placed[scope];
        let (numbering, offset) = match member {
            Member::Node => (&placed.part.nodes, placed.first_node),
            Member::Element => (&placed.part.cells, placed.first_cell),
        };
        let before = members.len();
        // Iterating over existing numbers is faster than over a much longer range.
        let steps = usize::try_from((last - first) / step).unwrap_or(usize::MAX).saturating_add(1);
        if steps <= numbering.walk_len() {
            self.budget.spend(steps, row.line)?;
            let range = (0..steps as i64).filter_map(|i| numbering.get(first + i * step));
            members.extend(range.map(|index| offset + index));
        } else {
            self.budget.spend(numbering.walk_len(), row.line)?;
            let found = numbering.within(first, last).into_iter();
            members.extend(found.filter(|(number, _)| (number - first) % step == 0).map(|(_, index)| offset + index));
        }
        if members.len() == before && placed.part.left_out.is_empty() {
            return Err(ReadError::Index { place: Place::Line(row.line), what: member.name(), index: first });
        }
        Ok(())
    }
}
