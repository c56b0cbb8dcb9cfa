//! Nodes and elements of version 2: flat lists.

use sinew_math::Vec3;

use super::read::{CellRun, Contents, group_of, is_text, node_tag, positions, push_nodes, shape_of};
use super::shape::MAX_NODES;
use super::source::{Encoding, Source};
use super::tags::{TagMap, TagRuns};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::mesh_data::CellShape;

/// Bytes of a node: its number and its position.
const NODE: usize = 4 + 24;

/// `$Nodes`: number and position of each.
pub(super) fn nodes(source: &mut Source, points: &mut Vec<Vec3>) -> Result<TagRuns, ReadError> {
    let count = source.text_count(if is_text(source) { 8 } else { NODE }, "nodes")?;
    let mut tags = TagRuns::default();
    match source.encoding {
        Encoding::Text => {
            points.reserve_exact(count.min(source.words.remaining().len() / 8 + 1));
            for index in 0..count {
                let tag = source.words.integer("number of a node")?;
                tags.push(node_tag(tag, source.place())?, index as u32);
                points.push(source.words.point("position of a node")?);
            }
        }
        Encoding::Binary(endian) => {
            source.end_line()?;
            let mut cursor = source.cursor(endian);
            let start = cursor.position();
            let bytes = cursor.take(count * NODE, "nodes")?;
            for (index, record) in bytes.chunks_exact(NODE).enumerate() {
                let tag = int(&record[..4], endian);
                tags.push(node_tag(tag, Place::Byte(start + index * NODE))?, index as u32);
            }
            positions(bytes, start, NODE, 4, endian, points)?;
            source.move_to(cursor.position());
        }
    }
    Ok(tags)
}

fn int(bytes: &[u8], endian: Endian) -> i64 {
    let mut number = [0; 4];
    number.copy_from_slice(bytes);
    i64::from(if endian == Endian::Little { i32::from_le_bytes(number) } else { i32::from_be_bytes(number) })
}

/// Parser state for one element.
struct Element<'a> {
    tag: i64,
    shape: CellShape,
    order: &'static [u8],
    /// Group and entity; partitions follow.
    tags: [i64; 2],
    nodes: &'a [i64],
}

/// `$Elements`: number, type, tags and nodes of each; in binary files a header gives type and tags for a block.
pub(super) fn elements(
    source: &mut Source,
    nodes: &TagMap,
    contents: &mut Contents,
    tags: &mut TagRuns,
) -> Result<(), ReadError> {
    let count = source.text_count(8, "elements")?;
    let mut cells = 0u32;
    match source.encoding {
        Encoding::Text => {
            let mut record = [0i64; MAX_NODES];
            for _ in 0..count {
                let tag = source.words.integer("number of an element")?;
                let number = source.words.integer("type of an element")?;
                let (shape, order) = shape_of(number, source.place())?;
                let tag_count = source.words.count("tags of an element")?;
                let mut element_tags = [0; 2];
                for k in 0..tag_count {
                    let value = source.words.integer("tags of an element")?;
                    if let Some(slot) = element_tags.get_mut(k) {
                        *slot = value;
                    }
                }
                for node in &mut record[..order.len()] {
                    *node = source.words.integer("nodes of an element")?;
                }
                let element = Element { tag, shape, order, tags: element_tags, nodes: &record };
                push(contents, tags, &mut cells, nodes, &element).map_err(|wrong| wrong.at(source.words.place()))?;
            }
        }
        Encoding::Binary(endian) => {
            source.end_line()?;
            let mut cursor = source.cursor(endian);
            let mut seen = 0usize;
            while seen < count {
                let at = Place::Byte(cursor.position());
                let number = i64::from(cursor.i32("type of elements")?);
                let (shape, order) = shape_of(number, at)?;
                let block = i64::from(cursor.i32("number of elements")?);
                let tag_count = cursor.i32("tags of elements")?;
                let Ok(tag_count) = usize::try_from(tag_count) else {
                    return Err(ReadError::Syntax { place: at, reason: format!("{tag_count} tags per element") });
                };
                let block = match usize::try_from(block) {
                    Ok(block) if (1..=count - seen).contains(&block) => block,
                    _ => {
                        let reason = format!("a block of {block} elements where {} are left", count - seen);
                        return Err(ReadError::Syntax { place: at, reason });
                    }
                };
                let words = 1 + tag_count + order.len();
                let numbers = (block as u64).saturating_mul(words as u64);
                let start = cursor.position();
                let bytes = cursor.take_array(numbers, NumberKind::I32, "elements")?;
                for (k, record) in bytes.chunks_exact(4 * words).enumerate() {
                    let record_at = |i: usize| int(&record[4 * i..4 * i + 4], endian);
                    let mut element_nodes = [0i64; MAX_NODES];
                    for (i, node) in element_nodes[..order.len()].iter_mut().enumerate() {
                        *node = record_at(1 + tag_count + i);
                    }
                    let element_tags = std::array::from_fn(|i| if i < tag_count { record_at(1 + i) } else { 0 });
                    let element =
                        Element { tag: record_at(0), shape, order, tags: element_tags, nodes: &element_nodes };
                    push(contents, tags, &mut cells, nodes, &element)
                        .map_err(|wrong| wrong.at(Place::Byte(start + 4 * k * words)))?;
                }
                seen += block;
            }
            source.move_to(cursor.position());
        }
    }
    Ok(())
}

/// An invalid reference of an element.
struct Wrong {
    what: &'static str,
    index: i64,
}

impl Wrong {
    fn at(self, place: Place) -> ReadError {
        ReadError::Index { place, what: self.what, index: self.index }
    }
}

/// Adds an element. Gmsh repeats an element for each of its groups; repetitions are not new cells.
#[inline]
fn push(
    contents: &mut Contents,
    tags: &mut TagRuns,
    cells: &mut u32,
    map: &TagMap,
    element: &Element,
) -> Result<(), Wrong> {
    let [physical, entity] = element.tags;
    let id = i32::try_from(physical).ok().and_then(i32::checked_abs);
    let physical = id.ok_or(Wrong { what: "physical group", index: physical })?;
    let entity = i32::try_from(entity).map_err(|_| Wrong { what: "entity", index: entity })?;
    let group = group_of(&mut contents.groups, element.shape);
    push_nodes(&mut group.nodes, map, element.order, element.nodes)
        .map_err(|(_, index)| Wrong { what: "node", index })?;
    let dimension = element.shape.dimension();
    match contents.runs.last_mut() {
        Some(run) if run.dimension == dimension && run.entity == entity => {
            if run.physical == physical {
                run.count += 1;
            } else {
                let length = element.order.len();
                let end = group.nodes.len();
                if end >= 2 * length && group.nodes[end - length..] == group.nodes[end - 2 * length..end - length] {
                    group.nodes.truncate(end - length);
                    contents.twins.push((*cells - 1, physical));
                    tags.push(element.tag as u64, *cells - 1);
                    return Ok(());
                }
                contents.runs.push(CellRun { count: 1, dimension, entity, physical });
            }
        }
        _ => contents.runs.push(CellRun { count: 1, dimension, entity, physical }),
    }
    tags.push(element.tag as u64, *cells);
    *cells += 1;
    Ok(())
}
