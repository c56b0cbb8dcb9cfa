//! Nodes and elements of version 4.1: blocks on entities.

use sinew_math::Vec3;

use super::read::{CellRun, Contents, group_of, node_tag, positions, push_nodes, shape_of};
use super::shape::MAX_NODES;
use super::source::{Encoding, Source};
use super::tags::{NONE, TagMap, TagRuns};
use crate::binary::NumberKind;
use crate::error::{Place, ReadError};

/// Records decoded at a time: enough to be fast, few enough to stay in the cache.
const CHUNK: usize = 1024;

/// The header of both sections: number of blocks, total number, smallest and largest tag.
fn header(source: &mut Source, what: &str) -> Result<(usize, usize, Place), ReadError> {
    source.begin_numbers()?;
    let blocks = source.count(20, "blocks")?;
    let place = source.place();
    let total = source.count(16, what)?;
    source.skip_numbers(2, source.size, what)?;
    Ok((blocks, total, place))
}

/// `$Nodes`: for each block all tags, then all positions.
pub(super) fn nodes(source: &mut Source, points: &mut Vec<Vec3>) -> Result<TagRuns, ReadError> {
    let (blocks, total, place) = header(source, "nodes")?;
    points.reserve_exact(total.min(source.words.remaining().len() / 8 + 1));
    let mut tags = TagRuns::default();
    for _ in 0..blocks {
        let dimension = source.integer("block of nodes")?;
        source.integer("block of nodes")?;
        let is_parametric = source.integer("block of nodes")? != 0;
        // Parameters on the curve or surface follow the position.
        let parameters = if is_parametric { usize::try_from(dimension).unwrap_or(0).min(3) } else { 0 };
        let count = source.count(32, "nodes of a block")?;
        match source.encoding {
            Encoding::Text => {
                for k in 0..count {
                    let tag = source.words.integer("tag of a node")?;
                    tags.push(node_tag(tag, source.place())?, (points.len() + k) as u32);
                }
                for _ in 0..count {
                    points.push(source.words.point("position of a node")?);
                    source.skip_numbers(parameters as u64, NumberKind::F64, "parameters of a node")?;
                }
            }
            Encoding::Binary(endian) => {
                let mut cursor = source.cursor(endian);
                let start = cursor.position();
                let bytes = cursor.take_array(count as u64, source.size, "tags of nodes")?;
                let mut index = points.len();
                for chunk in bytes.chunks(CHUNK * source.size.size()) {
                    for tag in source.size.decode_i64(chunk, endian) {
                        tags.push(node_tag(tag, Place::Byte(start))?, index as u32);
                        index += 1;
                    }
                }
                let stride = 8 * (3 + parameters);
                let start = cursor.position();
                let numbers = (count * (3 + parameters)) as u64;
                let bytes = cursor.take_array(numbers, NumberKind::F64, "positions of nodes")?;
                positions(bytes, start, stride, 0, endian, points)?;
                source.move_to(cursor.position());
            }
        }
    }
    if points.len() != total {
        let (promised, found) = (total as u64, points.len() as u64);
        return Err(ReadError::Count { place, what: "nodes".into(), promised, found });
    }
    Ok(tags)
}

/// `$Elements`: tag and nodes of each.
pub(super) fn elements(
    source: &mut Source,
    nodes: &TagMap,
    contents: &mut Contents,
    tags: &mut TagRuns,
) -> Result<(), ReadError> {
    let (blocks, total, place) = header(source, "elements")?;
    let mut index = 0usize;
    for _ in 0..blocks {
        let at = source.place();
        let dimension = source.integer("block of elements")?;
        let entity = source.integer("block of elements")?;
        let number = source.integer("block of elements")?;
        let (shape, order) = shape_of(number, source.place())?;
        if usize::try_from(dimension).ok() != Some(shape.dimension()) {
            let reason = format!("{} elements on an entity of dimension {dimension}", shape.name());
            return Err(ReadError::Syntax { place: at, reason });
        }
        let entity =
            i32::try_from(entity).map_err(|_| ReadError::Index { place: at, what: "entity", index: entity })?;
        let words = 1 + order.len();
        let count = source.count(words * source.size.size(), "elements of a block")?;
        let group = group_of(&mut contents.groups, shape);
        match source.encoding {
            Encoding::Text => {
                group.nodes.reserve(order.len() * count.min(source.words.remaining().len() / (2 * words) + 1));
                let mut record = [0i64; MAX_NODES];
                for _ in 0..count {
                    let tag = source.words.integer("tag of an element")?;
                    for node in &mut record[..order.len()] {
                        *node = source.words.integer("nodes of an element")?;
                    }
                    tags.push(tag as u64, index as u32);
                    index += 1;
                    push_nodes(&mut group.nodes, nodes, order, &record).map_err(|(_, index)| ReadError::Index {
                        place: source.words.place(),
                        what: "node",
                        index,
                    })?;
                }
            }
            Encoding::Binary(endian) => {
                let mut cursor = source.cursor(endian);
                let start = cursor.position();
                let bytes = cursor.take_array((count * words) as u64, source.size, "elements")?;
                group.nodes.reserve(order.len() * count);
                let mut first = 0;
                for chunk in bytes.chunks(CHUNK * words * source.size.size()) {
                    let numbers = source.size.decode_i64(chunk, endian);
                    push_records(&mut group.nodes, nodes, order, &numbers).map_err(|(at, tag)| {
                        let place = Place::Byte(start + (first + at) * source.size.size());
                        ReadError::Index { place, what: "node", index: tag }
                    })?;
                    first += numbers.len();
                    for record in numbers.chunks_exact(words) {
                        tags.push(record[0] as u64, index as u32);
                        index += 1;
                    }
                }
                source.move_to(cursor.position());
            }
        }
        if count > 0 {
            contents.runs.push(CellRun { count, dimension: shape.dimension(), entity, physical: 0 });
        } else if group_of(&mut contents.groups, shape).is_empty() {
            contents.groups.pop();
        }
    }
    if index != total {
        let (promised, found) = (total as u64, index as u64);
        return Err(ReadError::Count { place, what: "elements".into(), promised, found });
    }
    Ok(())
}

/// Appends the nodes of elements, whose tags precede them; returns an unknown tag with its position.
fn push_records(out: &mut Vec<u32>, map: &TagMap, order: &[u8], numbers: &[i64]) -> Result<(), (usize, i64)> {
    let start = out.len();
    let words = order.len() + 1;
    out.resize(start + numbers.len() / words * order.len(), 0);
    let new = &mut out[start..];
    // Most files number their nodes consecutively. Checking the kind of map for each node would cost more than
    // everything else.
    match map {
        TagMap::Consecutive(run) => fill(new, order, numbers, |tag| run.get(tag)),
        _ => fill(new, order, numbers, |tag| map.get(tag)),
    }
    let Some(wrong) = new.iter().position(|&node| node == NONE) else { return Ok(()) };
    let at = wrong / order.len() * words + 1 + usize::from(order[wrong % order.len()]);
    Err((at, numbers[at]))
}

#[inline(always)]
fn fill(out: &mut [u32], order: &[u8], numbers: &[i64], node_of: impl Fn(u64) -> u32) {
    let rows = out.chunks_exact_mut(order.len()).zip(numbers.chunks_exact(order.len() + 1));
    if order.is_sorted() {
        for (row, record) in rows {
            for (node, &tag) in row.iter_mut().zip(&record[1..]) {
                *node = node_of(tag as u64);
            }
        }
    } else {
        for (row, record) in rows {
            for (node, &at) in row.iter_mut().zip(order) {
                *node = node_of(record[1 + usize::from(at)] as u64);
            }
        }
    }
}
