//! Reads `.mesh` files.

use super::Contents;
use super::keyword::{self, Content};
use crate::error::ReadError;
use crate::mesh_data::{CellShape, MeshData};
use crate::text::{Words, shown};

/// Most nodes of any cell here.
const MAX_NODES: usize = 10;

/// Reads a `.mesh` file.
pub(super) fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut words = Words::new(bytes, 0, 1, Some(b'#'));
    let first = words.next_word().unwrap_or_default();
    // Some programs write the number directly after the word.
    let attached = first.strip_prefix(b"MeshVersionFormatted").filter(|rest| !rest.is_empty());
    let version = match (first, attached) {
        (b"MeshVersionFormatted", _) => words.integer("version")?,
        (_, Some(number)) => crate::text::parse_i64(number).unwrap_or(-1),
        _ => {
            let reason = format!("it begins with `{}` instead of `MeshVersionFormatted`", shown(first));
            return Err(ReadError::Magic { format: "MEDIT", reason });
        }
    };
    if !(0..=4).contains(&version) {
        return Err(ReadError::line(words.line(), format!("there is no version {version}")));
    }
    let mut contents = Contents::default();
    let mut has_dimension = false;
    let mut has_vertices = false;
    while let Some(word) = words.next_word() {
        let Some(content) = keyword::by_name(word) else {
            unknown(&mut words, word, &mut contents)?;
            continue;
        };
        match content {
            Content::Dimension => {
                check_dimension(words.integer("Dimension")?, words.place())?;
                has_dimension = true;
            }
            Content::Vertices if has_vertices => {
                return Err(ReadError::line(words.line(), "`Vertices` are given twice"));
            }
            Content::Vertices if !has_dimension => {
                return Err(ReadError::line(words.line(), "`Vertices` come before `Dimension`"));
            }
            Content::Vertices => {
                has_vertices = true;
                vertices(&mut words, &mut contents)?;
            }
            Content::Cells(_) if !has_vertices => {
                return Err(ReadError::line(words.line(), format!("`{}` come before `Vertices`", shown(word))));
            }
            Content::Cells(shape) => cells(&mut words, shape, &mut contents)?,
            Content::OtherCells => return Err(other_cells(words.place(), &shown(word))),
            Content::Rows(columns) => {
                let count = words.count("rows")?;
                skip(&mut words, count.saturating_mul(columns))?;
            }
            Content::Words(count) => skip(&mut words, count)?,
            Content::End => break,
        }
    }
    if !has_vertices {
        return Err(ReadError::Missing { what: "`Vertices`" });
    }
    Ok(contents.finish())
}

/// Only three-dimensional meshes are supported.
pub(super) fn check_dimension(dimension: i64, place: crate::Place) -> Result<(), ReadError> {
    if dimension == 3 {
        return Ok(());
    }
    let what = format!("a mesh of dimension {dimension}");
    Err(ReadError::Unsupported { place, what, hint: "save it with `Dimension 3` and a third coordinate of 0" })
}

/// Cells of other kinds must not be lost silently.
pub(super) fn other_cells(place: crate::Place, keyword: &str) -> ReadError {
    let hint = "save linear cells, or quadratic tetrahedra and triangles";
    ReadError::Unsupported { place, what: format!("`{keyword}`"), hint }
}

fn skip(words: &mut Words, count: usize) -> Result<(), ReadError> {
    for _ in 0..count {
        words.word("the numbers of a keyword")?;
    }
    Ok(())
}

/// Skips the numbers of an unknown keyword, which end at the next word.
fn unknown(words: &mut Words, word: &[u8], contents: &mut Contents) -> Result<(), ReadError> {
    /// Limit on notes: files can be full of unknown words.
    const MAX_NOTES: usize = 8;
    if !word.first().is_some_and(u8::is_ascii_alphabetic) {
        return Err(ReadError::line(words.line(), format!("expected a keyword, found `{}`", shown(word))));
    }
    if contents.mesh.notes.len() < MAX_NOTES {
        contents.mesh.notes.push(format!("the keyword `{}` in line {} was skipped", shown(word), words.line()));
    }
    loop {
        let mut ahead = words.clone();
        match ahead.next_word() {
            Some(next) if !next.first().is_some_and(u8::is_ascii_alphabetic) => *words = ahead,
            _ => return Ok(()),
        }
    }
}

fn vertices(words: &mut Words, contents: &mut Contents) -> Result<(), ReadError> {
    let count = words.count("vertices")?;
    let most = words.remaining().len() / 8 + 1;
    contents.mesh.points.reserve_exact(count.min(most));
    contents.vertex_references.reserve_exact(count.min(most));
    for _ in 0..count {
        contents.mesh.points.push(words.point("position of a vertex")?);
        contents.vertex_references.push(words.number("reference of a vertex")?);
    }
    Ok(())
}

fn cells(words: &mut Words, shape: CellShape, contents: &mut Contents) -> Result<(), ReadError> {
    let count = words.count(shape.name())?;
    let each = shape.nodes().unwrap_or(1).min(MAX_NODES);
    let points = contents.mesh.points.len() as i64;
    let most = count.min(words.remaining().len() / (2 * (each + 1)) + 1);
    let mut labels = std::mem::take(&mut contents.labels);
    labels.reserve(most);
    let nodes = &mut contents.group(shape).nodes;
    nodes.reserve(most * each);
    for _ in 0..count {
        for _ in 0..each {
            let node = words.integer("nodes of a cell")?;
            if node < 1 || node > points {
                return Err(ReadError::Index { place: words.place(), what: "vertex", index: node });
            }
            nodes.push((node - 1) as u32);
        }
        labels.push(words.integer("reference of a cell")? as f64);
    }
    contents.labels = labels;
    Ok(())
}
