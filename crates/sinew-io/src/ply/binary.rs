//! Binary data: decodes runs of entries with the same layout column by column.

use super::columns::{Columns, Demand, checked};
use super::header::Element;
use crate::binary::{Cursor, Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::mesh_data::CellShape;

/// Layout of the properties in an entry. Entries whose lists have equal counts have equal layouts.
#[derive(Default)]
struct Layout {
    /// Offset of each property; for lists, of the count.
    offsets: Vec<usize>,
    /// Count of each list; 0 for scalars.
    counts: Vec<usize>,
    stride: usize,
}

impl Layout {
    /// The layout of the entry at the start of `bytes`, at `position` of the file.
    fn read(&mut self, element: &Element, bytes: &[u8], endian: Endian, position: usize) -> Result<(), ReadError> {
        self.offsets.clear();
        self.counts.clear();
        self.stride = 0;
        let truncated = || ReadError::Truncated {
            place: Place::Byte(position + bytes.len()),
            what: format!("an entry of `{}`", element.name),
        };
        for property in &element.properties {
            self.offsets.push(self.stride);
            let mut count = 0;
            if let Some(kind) = property.list {
                let value = one_i64(kind, bytes.get(self.stride..).ok_or_else(truncated)?, endian);
                let value = value.ok_or_else(truncated)?;
                count = usize::try_from(value).map_err(|_| {
                    let place = position + self.stride;
                    ReadError::byte(place, format!("{}: a list with {value} entries", property.name))
                })?;
                self.stride += kind.size();
                let room = (bytes.len() - self.stride) / property.kind.size();
                if count > room {
                    return Err(ReadError::Count {
                        place: Place::Byte(position + self.offsets[self.offsets.len() - 1]),
                        what: property.name.clone(),
                        promised: count as u64,
                        found: room as u64,
                    });
                }
                self.stride += count * property.kind.size();
            } else {
                self.stride += property.kind.size();
            }
            self.counts.push(count);
        }
        if self.stride > bytes.len() { Err(truncated()) } else { Ok(()) }
    }

    /// Number of entries with this layout from the start of `bytes`, at most `limit`; the first has it.
    fn run(&self, element: &Element, bytes: &[u8], limit: usize) -> usize {
        let mut run = limit.min(bytes.len() / self.stride.max(1));
        for (property, &offset) in element.properties.iter().zip(&self.offsets) {
            let Some(kind) = property.list else { continue };
            let size = kind.size();
            let first = &bytes[offset..offset + size];
            // Comparing slices of unknown length is a function call; nearly all counts have one byte.
            let differs = if size == 1 {
                (1..run).find(|entry| bytes[entry * self.stride + offset] != first[0])
            } else {
                (1..run).find(|entry| &bytes[entry * self.stride + offset..][..size] != first)
            };
            run = differs.unwrap_or(run);
        }
        run
    }
}

/// Reads the entries of an element.
pub(super) fn read(cursor: &mut Cursor<'_>, element: &Element, columns: &mut Columns) -> Result<(), ReadError> {
    if element.properties.is_empty() {
        return Ok(());
    }
    let smallest: usize = element.properties.iter().map(|property| property.list.unwrap_or(property.kind).size()).sum();
    let room = cursor.remaining().len() / smallest;
    if element.count > room {
        return Err(ReadError::Count {
            place: Place::Line(element.line),
            what: element.name.clone(),
            promised: element.count as u64,
            found: room as u64,
        });
    }
    let endian = cursor.endian;
    let mut layout = Layout::default();
    let mut left = element.count;
    while left > 0 {
        let position = cursor.position();
        layout.read(element, cursor.remaining(), endian, position)?;
        let run = layout.run(element, cursor.remaining(), left);
        let records = cursor.take(run * layout.stride, &element.name)?;
        for (at, property) in element.properties.iter().enumerate() {
            let offset = layout.offsets[at];
            match (property.list, &mut columns.faces) {
                (None, _) => {
                    let column = &mut columns.values[at];
                    let first = column.len();
                    column.reserve(run);
                    each_f64(property.kind, endian, records, layout.stride, offset, |value| column.push(value));
                    if columns.demands[at] != Demand::Nothing {
                        for (entry, &value) in column[first..].iter().enumerate() {
                            let place = || Place::Byte(position + entry * layout.stride + offset);
                            columns.demands[at].check(value, &property.name, place)?;
                        }
                    }
                }
                (Some(count_kind), Some(faces)) if faces.property == at => {
                    let (count, vertex_count) = (layout.counts[at], faces.vertex_count);
                    let offset = offset + count_kind.size();
                    let group = faces.group(count, || Place::Byte(position + offset))?;
                    let first = group.nodes.len();
                    group.nodes.reserve(run * count);
                    let lists = Lists { records, stride: layout.stride, offset, count };
                    if !lists.decode(property.kind, endian, vertex_count, &mut group.nodes) {
                        return Err(wrong_vertex(&lists, property.kind, endian, vertex_count, position));
                    }
                    if group.shape == CellShape::Polygon {
                        group.ends.extend((1..=run).map(|face| (first + face * count) as u32));
                    }
                }
                _ => {}
            }
        }
        left -= run;
    }
    Ok(())
}

/// Lists of equal count in entries of equal size.
struct Lists<'a> {
    records: &'a [u8],
    stride: usize,
    /// First value of the list in an entry.
    offset: usize,
    count: usize,
}

impl Lists<'_> {
    /// Appends all values; false if one is not a vertex.
    fn decode(&self, kind: NumberKind, endian: Endian, vertex_count: usize, nodes: &mut Vec<u32>) -> bool {
        let first = nodes.len();
        // The usual case: three or four 32-bit integers.
        if matches!(kind, NumberKind::I32 | NumberKind::U32) && self.count == 3 {
            self.decode_fixed::<3>(endian, nodes);
        } else if matches!(kind, NumberKind::I32 | NumberKind::U32) && self.count == 4 {
            self.decode_fixed::<4>(endian, nodes);
        } else {
            for record in self.records.chunks_exact(self.stride) {
                let list = &record[self.offset..self.offset + self.count * kind.size()];
                for value in list.chunks_exact(kind.size()) {
                    let index = one_i64(kind, value, endian).and_then(|index| u32::try_from(index).ok());
                    nodes.push(index.unwrap_or(u32::MAX));
                }
            }
        }
        // As unsigned integers, negative values exceed every count.
        nodes[first..].iter().fold(0, |largest, &node| largest.max(node)) < vertex_count.min(u32::MAX as usize) as u32
    }

    fn decode_fixed<const N: usize>(&self, endian: Endian, nodes: &mut Vec<u32>) {
        for record in self.records.chunks_exact(self.stride) {
            let (values, _) = record[self.offset..self.offset + 4 * N].as_chunks::<4>();
            let list: [u32; N] = std::array::from_fn(|i| match endian {
                Endian::Little => u32::from_le_bytes(values[i]),
                Endian::Big => u32::from_be_bytes(values[i]),
            });
            nodes.extend_from_slice(&list);
        }
    }
}

/// The first invalid vertex, as an error.
fn wrong_vertex(
    lists: &Lists<'_>,
    kind: NumberKind,
    endian: Endian,
    vertex_count: usize,
    position: usize,
) -> ReadError {
    for entry in 0..lists.records.len() / lists.stride {
        for corner in 0..lists.count {
            let at = entry * lists.stride + lists.offset + corner * kind.size();
            let index = one_i64(kind, &lists.records[at..], endian).unwrap_or(i64::MAX);
            if let Err(error) = checked(index, vertex_count, || Place::Byte(position + at)) {
                return error;
            }
        }
    }
    ReadError::Index { place: Place::Byte(position), what: "vertex", index: i64::MAX }
}

/// The integer at the start of `bytes`, if they are long enough.
fn one_i64(kind: NumberKind, bytes: &[u8], endian: Endian) -> Option<i64> {
    fn array<const N: usize>(bytes: &[u8], endian: Endian) -> Option<[u8; N]> {
        let mut array = *bytes.first_chunk::<N>()?;
        if endian == Endian::Big {
            array.reverse();
        }
        Some(array)
    }
    Some(match kind {
        NumberKind::I8 => i64::from(*bytes.first()? as i8),
        NumberKind::U8 => i64::from(*bytes.first()?),
        NumberKind::I16 => i64::from(i16::from_le_bytes(array(bytes, endian)?)),
        NumberKind::U16 => i64::from(u16::from_le_bytes(array(bytes, endian)?)),
        NumberKind::I32 => i64::from(i32::from_le_bytes(array(bytes, endian)?)),
        NumberKind::U32 => i64::from(u32::from_le_bytes(array(bytes, endian)?)),
        NumberKind::I64 => i64::from_le_bytes(array(bytes, endian)?),
        NumberKind::U64 => i64::try_from(u64::from_le_bytes(array(bytes, endian)?)).unwrap_or(i64::MAX),
        NumberKind::F32 | NumberKind::F64 => return None,
    })
}

/// Calls `sink` with the number at `offset` of every entry.
pub(super) fn each_f64(
    kind: NumberKind,
    endian: Endian,
    records: &[u8],
    stride: usize,
    offset: usize,
    mut sink: impl FnMut(f64),
) {
    fn walk<const N: usize>(
        (records, stride, offset): (&[u8], usize, usize),
        endian: Endian,
        convert: impl Fn([u8; N]) -> f64,
        mut sink: impl FnMut(f64),
    ) {
        for record in records.chunks_exact(stride) {
            let Some(bytes) = record[offset..].first_chunk::<N>() else { return };
            let mut bytes = *bytes;
            if endian == Endian::Big {
                bytes.reverse();
            }
            sink(convert(bytes));
        }
    }
    let place = (records, stride, offset);
    match kind {
        NumberKind::I8 => walk::<1>(place, endian, |b| f64::from(b[0] as i8), sink),
        NumberKind::U8 => walk::<1>(place, endian, |b| f64::from(b[0]), sink),
        NumberKind::I16 => walk(place, endian, |b| f64::from(i16::from_le_bytes(b)), sink),
        NumberKind::U16 => walk(place, endian, |b| f64::from(u16::from_le_bytes(b)), sink),
        NumberKind::I32 => walk(place, endian, |b| f64::from(i32::from_le_bytes(b)), sink),
        NumberKind::U32 => walk(place, endian, |b| f64::from(u32::from_le_bytes(b)), sink),
        NumberKind::I64 => walk(place, endian, |b| i64::from_le_bytes(b) as f64, sink),
        NumberKind::U64 => walk(place, endian, |b| u64::from_le_bytes(b) as f64, sink),
        NumberKind::F32 => walk(place, endian, |b| f64::from(f32::from_le_bytes(b)), sink),
        NumberKind::F64 => walk(place, endian, f64::from_le_bytes, &mut sink),
    }
}
