//! Text data: one entry after another, word by word.

use super::columns::{Columns, checked};
use super::header::Element;
use crate::error::{Place, ReadError};
use crate::text::Words;

/// Reads the entries of an element.
pub(super) fn read(words: &mut Words<'_>, element: &Element, columns: &mut Columns) -> Result<(), ReadError> {
    if element.properties.is_empty() {
        return Ok(());
    }
    // A value and the whitespace after it take at least two bytes; the last one may have none.
    let smallest = 2 * element.properties.len();
    let room = (words.remaining().len() + 1) / smallest;
    if element.count > room {
        return Err(ReadError::Count {
            place: Place::Line(element.line),
            what: element.name.clone(),
            promised: element.count as u64,
            found: room as u64,
        });
    }
    for (property, column) in element.properties.iter().zip(&mut columns.values) {
        if property.list.is_none() {
            column.reserve_exact(element.count);
        }
    }
    for _ in 0..element.count {
        for (at, property) in element.properties.iter().enumerate() {
            if property.list.is_none() {
                let value = words.number(&property.name)?;
                columns.demands[at].check(value, &property.name, || words.place())?;
                columns.values[at].push(value);
                continue;
            }
            let count = words.count(&property.name)?;
            match &mut columns.faces {
                Some(faces) if faces.property == at => {
                    let vertex_count = faces.vertex_count;
                    let place = words.place();
                    let group = faces.group(count, || place)?;
                    for _ in 0..count {
                        let index = words.integer(&property.name)?;
                        group.nodes.push(checked(index, vertex_count, || words.place())?);
                    }
                    if count > 4 {
                        group.ends.push(group.nodes.len() as u32);
                    }
                }
                _ => {
                    for _ in 0..count {
                        words.word(&property.name)?;
                    }
                }
            }
        }
    }
    Ok(())
}
