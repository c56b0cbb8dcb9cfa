//! `POINT_DATA` and `CELL_DATA`.

use std::collections::HashSet;

use super::scan::{Scanner, ValueKind};
use crate::binary::NumberKind;
use crate::error::ReadError;
use crate::mesh_data::Field;
use crate::text::{parse_i64, shown};

/// Fields at the points or at the cells.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// Number of points or cells.
    pub count: usize,
    /// The fields.
    pub fields: Vec<Field>,
    names: HashSet<String>,
}

impl Attributes {
    /// Reads the data after a keyword; `None` if it is not a keyword of attributes.
    pub(super) fn read(
        &mut self,
        scanner: &mut Scanner<'_>,
        keyword: &[u8],
        notes: &mut Vec<String>,
    ) -> Result<Option<()>, ReadError> {
        let components = match keyword {
            b"FIELD" => return self.read_arrays(scanner, notes).map(Some),
            b"SCALARS" => return self.read_scalars(scanner, notes).map(Some),
            b"COLOR_SCALARS" => return self.read_colors(scanner, notes).map(Some),
            b"TEXTURE_COORDINATES" => return self.read_texture_coordinates(scanner, notes).map(Some),
            b"VECTORS" | b"NORMALS" => 3,
            b"TENSORS" => 9,
            b"TENSORS6" => 6,
            b"GLOBAL_IDS" | b"PEDIGREE_IDS" | b"EDGE_FLAGS" => 1,
            _ => return Ok(None),
        };
        let name = scanner.name("a field")?;
        let kind = scanner.kind("a field")?;
        self.read_values(scanner, name, components, self.count, kind, notes).map(Some)
    }

    /// Reads an array of `entries` × `components` values; keeps it if it is new and numeric.
    fn read_values(
        &mut self,
        scanner: &mut Scanner<'_>,
        name: String,
        components: usize,
        entries: usize,
        kind: ValueKind,
        notes: &mut Vec<String>,
    ) -> Result<(), ReadError> {
        if entries != self.count {
            let what = format!("entries of the field \"{name}\"");
            let (promised, found) = (self.count as u64, entries as u64);
            return Err(ReadError::Count { place: scanner.place(), what, promised, found });
        }
        let values = read_array(scanner, &name, components, entries, kind)?;
        match values {
            Some(values) if components > 0 => self.push(Field { name, components, values }, notes),
            _ => notes.push(format!("the array \"{name}\" was left out: it has no numbers")),
        }
        Ok(())
    }

    fn push(&mut self, field: Field, notes: &mut Vec<String>) {
        if self.names.insert(field.name.clone()) {
            self.fields.push(field);
        } else {
            notes.push(format!("a second array \"{}\" was left out", field.name));
        }
    }

    /// `FIELD name count`, then arrays `name components entries type`.
    fn read_arrays(&mut self, scanner: &mut Scanner<'_>, notes: &mut Vec<String>) -> Result<(), ReadError> {
        scanner.name("a group of fields")?;
        for _ in 0..scanner.count("fields")? {
            let (name, components, entries, kind) = array_head(scanner)?;
            self.read_values(scanner, name, components, entries, kind, notes)?;
        }
        Ok(())
    }

    /// `SCALARS name type [components]`, then `LOOKUP_TABLE name`, which some writers omit.
    fn read_scalars(&mut self, scanner: &mut Scanner<'_>, notes: &mut Vec<String>) -> Result<(), ReadError> {
        let name = scanner.name("a field")?;
        let kind = scanner.kind("a field")?;
        let components = match scanner.next_word_in_line() {
            None => 1,
            Some(word) => {
                let number = parse_i64(word).and_then(|number| usize::try_from(number).ok());
                number.ok_or_else(|| scanner.wrong(format!("`{}` is not a number of components", shown(word))))?
            }
        };
        if scanner.is_next(b"LOOKUP_TABLE") {
            scanner.word("a field")?;
            scanner.word("the name of a lookup table")?;
        }
        self.read_values(scanner, name, components, self.count, kind, notes)
    }

    /// `COLOR_SCALARS name components`: bytes in binary files, numbers from 0 to 1 in text; both become 0 to 255 as in
    /// VTK.
    fn read_colors(&mut self, scanner: &mut Scanner<'_>, notes: &mut Vec<String>) -> Result<(), ReadError> {
        let name = scanner.name("colors")?;
        let components = scanner.count("components of a color")?;
        let kind = ValueKind::Number(NumberKind::U8);
        let values = read_array(scanner, &name, components, self.count, kind)?.unwrap_or_default();
        let is_unit = !scanner.is_binary;
        let values = values.into_iter().map(|v| if is_unit { (255.0 * v).round() } else { v }).collect();
        if components > 0 {
            self.push(Field { name, components, values }, notes);
        }
        Ok(())
    }

    /// `TEXTURE_COORDINATES name dimension type`.
    fn read_texture_coordinates(
        &mut self,
        scanner: &mut Scanner<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(), ReadError> {
        let name = scanner.name("texture coordinates")?;
        let components = scanner.count("texture coordinates")?;
        let kind = scanner.kind("texture coordinates")?;
        self.read_values(scanner, name, components, self.count, kind, notes)
    }
}

/// `name components entries type` of an array in a `FIELD`; the `METADATA` of the previous array may come first.
fn array_head(scanner: &mut Scanner<'_>) -> Result<(String, usize, usize, ValueKind), ReadError> {
    while scanner.is_next(b"METADATA") {
        scanner.next_word();
        skip_metadata(scanner);
    }
    let name = scanner.name("a field")?;
    let components = scanner.count("components of a field")?;
    let entries = scanner.count("entries of a field")?;
    Ok((name, components, entries, scanner.kind("a field")?))
}

/// Skips `FIELD name count` before the points, which describes the file, such as its time.
pub(super) fn skip_fields(scanner: &mut Scanner<'_>) -> Result<(), ReadError> {
    scanner.name("a group of fields")?;
    for _ in 0..scanner.count("fields")? {
        let (name, components, entries, kind) = array_head(scanner)?;
        read_array(scanner, &name, components, entries, kind)?;
    }
    Ok(())
}

/// Skips the rest of the line after `METADATA`, and the lines up to an empty one.
pub(super) fn skip_metadata(scanner: &mut Scanner<'_>) {
    scanner.next_line();
    while scanner.next_line().is_some_and(|line| !line.is_empty()) {}
}

/// Skips `LOOKUP_TABLE name size` with four bytes, or numbers from 0 to 1, per color.
pub(super) fn skip_lookup_table(scanner: &mut Scanner<'_>) -> Result<(), ReadError> {
    let name = scanner.name("a lookup table")?;
    let size = scanner.count("colors of a lookup table")?;
    read_array(scanner, &name, 4, size, ValueKind::Number(NumberKind::U8))?;
    Ok(())
}

/// The values of an array; `None` for strings, which are skipped.
fn read_array(
    scanner: &mut Scanner<'_>,
    name: &str,
    components: usize,
    entries: usize,
    kind: ValueKind,
) -> Result<Option<Vec<f64>>, ReadError> {
    let what = format!("numbers in the field \"{name}\"");
    let count = components.saturating_mul(entries);
    Ok(match kind {
        ValueKind::Number(kind) => Some(scanner.values(count, kind, &what)?),
        ValueKind::Bit => Some(scanner.bits(count, &what)?),
        ValueKind::Text => {
            scanner.skip_strings(count, &what)?;
            None
        }
    })
}
