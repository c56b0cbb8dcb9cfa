//! `$NodeData` and `$ElementData`: fields.

use super::read::{Contents, GEOMETRICAL, PHYSICAL};
use super::source::{Encoding, Source};
use super::tags::{NONE, TagMap};
use crate::binary::Endian;
use crate::error::{Place, ReadError};
use crate::mesh_data::Field;

/// More components than any field has; Gmsh itself uses 1, 3 and 9.
const MAX_COMPONENTS: i64 = 1024;

/// Reads `$NodeData`.
pub(super) fn node_data(source: &mut Source, contents: &mut Contents) -> Result<(), ReadError> {
    let Some(map) = contents.nodes.take() else {
        let reason = "`$NodeData` comes before `$Nodes`".into();
        return Err(ReadError::Syntax { place: source.place(), reason });
    };
    let field = field(source, contents, &map, contents.points.len(), "node", 0)?;
    contents.nodes = Some(map);
    contents.point_fields.push(field);
    source.end_section("NodeData")
}

/// Reads `$ElementData`.
pub(super) fn element_data(source: &mut Source, contents: &mut Contents) -> Result<(), ReadError> {
    let Some(map) = contents.elements.take() else {
        let reason = "`$ElementData` comes before `$Elements`".into();
        return Err(ReadError::Syntax { place: source.place(), reason });
    };
    let cells = contents.runs.iter().map(|run| run.count).sum();
    let field = field(source, contents, &map, cells, "element", 1)?;
    contents.elements = Some(map);
    contents.cell_fields.push(field);
    source.end_section("ElementData")
}

/// A field at `count` points or cells; NaN for missing values.
fn field(
    source: &mut Source,
    contents: &mut Contents,
    map: &TagMap,
    count: usize,
    what: &'static str,
    family: usize,
) -> Result<Field, ReadError> {
    let strings = source.text_count(2, "string tags")?;
    source.end_line()?;
    let mut name = String::new();
    for k in 0..strings {
        let Some(line) = source.words.next_line() else {
            return Err(ReadError::Truncated { place: source.place(), what: "string tags".into() });
        };
        if k == 0 {
            let bare = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(line);
            name = String::from_utf8_lossy(bare).into_owned();
        }
    }
    for _ in 0..source.text_count(2, "real tags")? {
        source.words.word("real tags")?;
    }
    // Time step, components, entries, and a partition that does not matter.
    let mut integers = [0, 1, 0];
    for k in 0..source.text_count(2, "integer tags")? {
        let value = source.text_integer("integer tags")?;
        if let Some(slot) = integers.get_mut(k) {
            *slot = value;
        }
    }
    let place = source.place();
    let [_, components, entries] = integers;
    if !(1..=MAX_COMPONENTS).contains(&components) {
        return Err(ReadError::Syntax { place, reason: format!("a field of {components} components") });
    }
    let components = components as usize;
    let entries =
        u64::try_from(entries).map_err(|_| ReadError::Syntax { place, reason: format!("{entries} values") })?;
    contents.spend(count.saturating_mul(components), place, "fields")?;
    let mut values = vec![f64::NAN; count * components];
    let row = |tag: i64, place: Place| match map.get(tag as u64) {
        NONE => Err(ReadError::Index { place, what, index: tag }),
        index => Ok(index as usize * components..(index as usize + 1) * components),
    };
    match source.encoding {
        Encoding::Text => {
            for _ in 0..entries {
                let tag = source.words.integer("values")?;
                let place = source.words.place();
                for value in &mut values[row(tag, place)?] {
                    *value = source.words.number("values")?;
                }
            }
        }
        Encoding::Binary(endian) => {
            source.end_line()?;
            let mut cursor = source.cursor(endian);
            let found = (cursor.remaining().len() / (4 + 8 * components)) as u64;
            if entries > found {
                return Err(ReadError::Count { place, what: "values".into(), promised: entries, found });
            }
            for _ in 0..entries {
                let at = cursor.position();
                let tag = i64::from(cursor.i32("values")?);
                let bytes = cursor.take(8 * components, "values")?;
                let (numbers, _) = bytes.as_chunks::<8>();
                for (value, number) in values[row(tag, Place::Byte(at))?].iter_mut().zip(numbers) {
                    *value = if endian == Endian::Little {
                        f64::from_le_bytes(*number)
                    } else {
                        f64::from_be_bytes(*number)
                    };
                }
            }
            source.move_to(cursor.position());
        }
    }
    let name = unique(contents, name, family);
    Ok(Field { name, components, values })
}

/// Time steps of one field share a name; the second becomes `name@2`.
fn unique(contents: &mut Contents, name: String, family: usize) -> String {
    let taken = &mut contents.field_names[family];
    if family == 1 && taken.is_empty() {
        taken.insert(GEOMETRICAL.into(), 1);
        taken.insert(PHYSICAL.into(), 1);
    }
    let name = if name.is_empty() { "field".into() } else { name };
    let Some(mut count) = taken.get(&name).copied() else {
        taken.insert(name.clone(), 1);
        return name;
    };
    loop {
        count += 1;
        let next = format!("{name}@{count}");
        if !taken.contains_key(&next) {
            taken.insert(name, count);
            taken.insert(next.clone(), 1);
            return next;
        }
    }
}
