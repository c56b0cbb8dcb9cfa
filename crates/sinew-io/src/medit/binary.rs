//! Reads `.meshb` files.
//!
//! A keyword consists of its number, the byte offset of the next keyword, and its content. Versions differ in widths:
//! reals have 4 bytes in version 1, file offsets have 8 from version 3 on, integers have 8 in version 4.

use std::sync::atomic::{AtomicBool, Ordering};

use sinew_math::parallel::prelude::*;

use super::Contents;
use super::keyword::{self, Content};
use super::text::{check_dimension, other_cells};
use crate::binary::{Cursor, Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellShape, MeshData};
use sinew_math::Vec3;

/// Rows decoded at a time: enough to be fast, few enough to stay in the cache.
const CHUNK: usize = 1024;

/// Number widths of a version.
#[derive(Clone, Copy)]
struct Widths {
    real: NumberKind,
    integer: NumberKind,
    position: NumberKind,
}

/// Reads a `.meshb` file.
pub(super) fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let endian = if bytes.first() == Some(&1) { Endian::Little } else { Endian::Big };
    let mut cursor = Cursor::new(bytes, 4, endian);
    let at = Place::Byte(cursor.position());
    let (i32, i64) = (NumberKind::I32, NumberKind::I64);
    let widths = match cursor.i32("version")? {
        1 => Widths { real: NumberKind::F32, integer: i32, position: i32 },
        2 => Widths { real: NumberKind::F64, integer: i32, position: i32 },
        3 => Widths { real: NumberKind::F64, integer: i32, position: i64 },
        4 => Widths { real: NumberKind::F64, integer: i64, position: i64 },
        other => return Err(ReadError::Syntax { place: at, reason: format!("there is no version {other}") }),
    };
    let mut contents = Contents::default();
    let mut has_dimension = false;
    let mut has_vertices = false;
    // A file without an end keyword is complete too.
    while !cursor.remaining().is_empty() {
        let at = cursor.position();
        let place = Place::Byte(at);
        let number = cursor.i32("keyword")?;
        let known = keyword::by_number(number);
        if known.is_some_and(|(_, content)| content == Content::End) {
            break;
        }
        let next_at = cursor.position();
        let next = number_of(&mut cursor, widths.position, "position of the next keyword")?;
        match known {
            Some((_, Content::Dimension)) => {
                check_dimension(i64::from(cursor.i32("Dimension")?), place)?;
                has_dimension = true;
            }
            Some((_, Content::Vertices)) if has_vertices => {
                return Err(ReadError::Syntax { place, reason: "`Vertices` are given twice".into() });
            }
            Some((_, Content::Vertices)) if !has_dimension => {
                return Err(ReadError::Syntax { place, reason: "`Vertices` come before `Dimension`".into() });
            }
            Some((_, Content::Vertices)) => {
                has_vertices = true;
                vertices(&mut cursor, widths, &mut contents)?;
            }
            Some((name, Content::Cells(_))) if !has_vertices => {
                return Err(ReadError::Syntax { place, reason: format!("`{name}` come before `Vertices`") });
            }
            Some((_, Content::Cells(shape))) => cells(&mut cursor, widths, shape, &mut contents)?,
            Some((name, Content::OtherCells)) => return Err(other_cells(place, name)),
            _ => {
                // The file gives the end of any keyword; 0 means that nothing follows.
                match usize::try_from(next) {
                    Ok(0) => break,
                    Ok(next) if next > at && next <= bytes.len() => cursor = Cursor::new(bytes, next, endian),
                    _ => {
                        let place = Place::Byte(next_at);
                        return Err(ReadError::Index { place, what: "keyword at byte", index: next });
                    }
                }
            }
        }
    }
    if !has_vertices {
        return Err(ReadError::Missing { what: "`Vertices`" });
    }
    Ok(contents.finish())
}

fn number_of(cursor: &mut Cursor, kind: NumberKind, what: &str) -> Result<i64, ReadError> {
    Ok(match kind {
        NumberKind::I64 => cursor.u64(what)? as i64,
        _ => i64::from(cursor.i32(what)?),
    })
}

/// A count of rows of `row` bytes, and all their bytes.
fn rows<'a>(
    cursor: &mut Cursor<'a>,
    integer: NumberKind,
    row: usize,
    what: &str,
) -> Result<(usize, &'a [u8]), ReadError> {
    let place = Place::Byte(cursor.position());
    let count = number_of(cursor, integer, what)?;
    let found = cursor.remaining().len() / row;
    match usize::try_from(count) {
        Ok(count) if count <= found => {
            let start = cursor.position();
            Ok((start, cursor.take(count * row, what)?))
        }
        Ok(count) => Err(ReadError::Count { place, what: what.into(), promised: count as u64, found: found as u64 }),
        Err(_) => Err(ReadError::Syntax { place, reason: format!("{what}: a count of {count}") }),
    }
}

fn vertices(cursor: &mut Cursor, widths: Widths, contents: &mut Contents) -> Result<(), ReadError> {
    let Widths { real, integer, .. } = widths;
    let row = 3 * real.size() + integer.size();
    let (start, bytes) = rows(cursor, integer, row, "vertices")?;
    let endian = cursor.endian;
    let points = &mut contents.mesh.points;
    // One loop per width, so that each is a plain copy.
    match real {
        NumberKind::F32 => points.extend(bytes.chunks_exact(row).map(|row| position::<4>(row, endian, single))),
        _ => points.extend(bytes.chunks_exact(row).map(|row| position::<8>(row, endian, f64::from_le_bytes))),
    }
    if let Some(wrong) = points.iter().position(|point| !point.is_finite()) {
        let place = Place::Byte(start + wrong * row);
        return Err(ReadError::NotFinite { place, what: "position of a vertex".into() });
    }
    let references = bytes.chunks_exact(row).map(|row| whole(&row[3 * real.size()..], endian) as f64);
    contents.vertex_references.extend(references);
    Ok(())
}

fn single(bytes: [u8; 4]) -> f64 {
    f64::from(f32::from_le_bytes(bytes))
}

/// Three reals of `N` bytes at the start of a row.
fn position<const N: usize>(row: &[u8], endian: Endian, decode: fn([u8; N]) -> f64) -> Vec3 {
    let real = |k: usize| {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&row[k * N..(k + 1) * N]);
        if endian == Endian::Big {
            bytes.reverse();
        }
        decode(bytes)
    };
    Vec3::new(real(0), real(1), real(2))
}

/// An integer of 4 or 8 bytes.
fn whole(bytes: &[u8], endian: Endian) -> i64 {
    let mut wide = [0; 8];
    let mut narrow = [0; 4];
    match (bytes.len(), endian) {
        (8, Endian::Little) => {
            wide.copy_from_slice(bytes);
            i64::from_le_bytes(wide)
        }
        (8, Endian::Big) => {
            wide.copy_from_slice(bytes);
            i64::from_be_bytes(wide)
        }
        (_, Endian::Little) => {
            narrow.copy_from_slice(bytes);
            i64::from(i32::from_le_bytes(narrow))
        }
        (_, Endian::Big) => {
            narrow.copy_from_slice(bytes);
            i64::from(i32::from_be_bytes(narrow))
        }
    }
}

/// Nodes and references of cells with `N` nodes in 4-byte numbers, on all threads. `None` for an invalid node, which
/// the slow path then reports.
fn quick_cells<const N: usize>(bytes: &[u8], endian: Endian, points: i64) -> Option<(Vec<u32>, Vec<f64>)> {
    let is_wrong = AtomicBool::new(false);
    let rows = bytes.par_chunks_exact(4 * (N + 1)).with_min_len(1 << 14);
    let (nodes, labels): (Vec<[u32; N]>, Vec<f64>) = rows
        .map(|row| {
            let number = |k: usize| whole(&row[4 * k..4 * (k + 1)], endian);
            let nodes = std::array::from_fn(|k| {
                let node = number(k);
                if node < 1 || node > points {
                    is_wrong.store(true, Ordering::Relaxed);
                }
                (node - 1) as u32
            });
            (nodes, number(N) as f64)
        })
        .unzip();
    (!is_wrong.into_inner()).then(|| (nodes.into_flattened(), labels))
}

fn cells(cursor: &mut Cursor, widths: Widths, shape: CellShape, contents: &mut Contents) -> Result<(), ReadError> {
    let each = shape.nodes().unwrap_or(1);
    let size = widths.integer.size();
    let row = (each + 1) * size;
    let (start, bytes) = rows(cursor, widths.integer, row, shape.name())?;
    let count = bytes.len() / row;
    let points = contents.mesh.points.len() as i64;
    let is_first = contents.labels.is_empty() && contents.group(shape).nodes.is_empty();
    let kinds = (is_first && widths.integer == NumberKind::I32, each);
    let quick = match kinds {
        (true, 3) => quick_cells::<3>(bytes, cursor.endian, points),
        (true, 4) => quick_cells::<4>(bytes, cursor.endian, points),
        (true, 8) => quick_cells::<8>(bytes, cursor.endian, points),
        _ => None,
    };
    if let Some((nodes, labels)) = quick {
        contents.group(shape).nodes = nodes;
        contents.labels = labels;
        return Ok(());
    }
    let mut labels = std::mem::take(&mut contents.labels);
    labels.reserve(count);
    let nodes = &mut contents.group(shape).nodes;
    nodes.reserve(count * each);
    let first = nodes.len();
    for chunk in bytes.chunks(CHUNK * row) {
        let numbers = widths.integer.decode_i64(chunk, cursor.endian);
        for record in numbers.chunks_exact(each + 1) {
            let mut is_wrong = false;
            nodes.extend(record[..each].iter().map(|&node| {
                is_wrong |= node < 1 || node > points;
                (node - 1) as u32
            }));
            if is_wrong {
                let at = record[..each].iter().position(|&node| node < 1 || node > points).unwrap_or(0);
                let cell = (nodes.len() - first) / each - 1;
                let place = Place::Byte(start + cell * row + at * size);
                return Err(ReadError::Index { place, what: "vertex", index: record[at] });
            }
            labels.push(record[each] as f64);
        }
    }
    contents.labels = labels;
    Ok(())
}
