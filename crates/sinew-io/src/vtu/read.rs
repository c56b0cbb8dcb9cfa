//! Builds a mesh from arrays.

use std::collections::{HashMap, HashSet};

use super::cells::{CellFault, add_cells, first_beyond};
use super::file::{Array, Piece, VtuFile, line_of};
use super::sets::sets_from_fields;
use super::typed::NO_INDEX;
use crate::error::ReadError;
use crate::mesh_data::{Field, MeshData};

/// Reads the bytes of a VTU file.
///
/// Joins pieces; keeps the fields that every nonempty piece has. Arrays named `set:…` with a 0 or 1 per point or cell
/// become sets.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut file = VtuFile::parse(bytes)?;
    let pieces = std::mem::take(&mut file.pieces);
    if pieces.is_empty() {
        return Err(ReadError::Missing { what: "Piece" });
    }
    let mut mesh = MeshData::default();
    let mut point_fields = Fields::default();
    let mut cell_fields = Fields::default();
    let mut node_count = 0;
    for piece in &pieces {
        // Parallel programs write empty pieces without arrays.
        if piece.point_count > 0 {
            add_points(&mut file, piece, &mut mesh)?;
            point_fields.add(&mut file, &piece.point_data, piece.point_count, &mut mesh.notes)?;
        }
        if piece.cell_count > 0 {
            add_piece_cells(&mut file, piece, &mut mesh, &mut node_count)?;
            cell_fields.add(&mut file, &piece.cell_data, piece.cell_count, &mut mesh.notes)?;
        }
    }
    mesh.point_fields = point_fields.finish(&mut mesh.notes);
    mesh.cell_fields = cell_fields.finish(&mut mesh.notes);
    mesh.node_sets = sets_from_fields(&mut mesh.point_fields);
    mesh.cell_sets = sets_from_fields(&mut mesh.cell_fields);
    Ok(mesh)
}

fn add_points<'a>(file: &mut VtuFile<'a>, piece: &Piece<'a>, mesh: &mut MeshData) -> Result<(), ReadError> {
    let array = piece.points.first().ok_or(ReadError::Missing { what: "Points" })?;
    if array.components != 3 {
        let place = line_of(file.bytes, array.tag);
        let what = "coordinates of a point".into();
        return Err(ReadError::Count { place, what, promised: 3, found: array.components as u64 });
    }
    let points = file.points(array, piece.point_count)?;
    if let Some(point) = points.iter().position(|p| !p.is_finite()) {
        let place = file.place_of(array, 3 * point);
        return Err(ReadError::NotFinite { place, what: format!("point {}", mesh.points.len() + point) });
    }
    if mesh.points.len() + points.len() >= NO_INDEX as usize {
        let place = line_of(file.bytes, array.tag);
        return Err(ReadError::Syntax { place, reason: "more points than 32-bit indices".into() });
    }
    append(&mut mesh.points, points);
    Ok(())
}

fn add_piece_cells<'a>(
    file: &mut VtuFile<'a>,
    piece: &Piece<'a>,
    mesh: &mut MeshData,
    node_count: &mut usize,
) -> Result<(), ReadError> {
    let find =
        |what: &'static str| piece.cells.iter().find(|array| array.name == what).ok_or(ReadError::Missing { what });
    let (connectivity, offsets, types) = (find("connectivity")?, find("offsets")?, find("types")?);
    let type_values = file.indices(types, piece.cell_count)?;
    let ends = file.indices(offsets, piece.cell_count)?;
    // The end of the last cell gives the length of the connectivity.
    let length = ends.last().map_or(0, |&end| end as usize);
    *node_count += length;
    if *node_count >= NO_INDEX as usize {
        let place = file.place_of(offsets, ends.len().saturating_sub(1));
        return Err(ReadError::Index { place, what: "connectivity at offset", index: *node_count as i64 });
    }
    let mut nodes = file.indices(connectivity, length)?;
    if let Some(at) = first_beyond(&nodes, piece.point_count) {
        let place = file.place_of(connectivity, at);
        let index = if nodes[at] == NO_INDEX { -1 } else { i64::from(nodes[at]) };
        return Err(ReadError::Index { place, what: "node", index });
    }
    let base = (mesh.points.len() - piece.point_count) as u32;
    if base > 0 {
        nodes.iter_mut().for_each(|node| *node += base);
    }
    add_cells(&mut mesh.groups, &type_values, &ends, nodes).map_err(|fault| {
        let array = if matches!(fault, CellFault::Type { .. }) { types } else { offsets };
        fault.at(file.place_of(array, fault.cell()))
    })
}

/// Fields of all pieces so far.
#[derive(Default)]
struct Fields {
    /// In the order of the first piece.
    fields: Vec<Field>,
    by_name: HashMap<String, usize>,
    /// Points or cells so far.
    count: usize,
}

impl Fields {
    /// Adds the fields of a piece.
    fn add<'a>(
        &mut self,
        file: &mut VtuFile<'a>,
        arrays: &[Array<'a>],
        count: usize,
        notes: &mut Vec<String>,
    ) -> Result<(), ReadError> {
        let mut seen = HashSet::new();
        for array in arrays {
            let name = array.name.as_str();
            if array.kind.is_none() || array.components == 0 {
                notes.push(format!("the array \"{name}\" was left out: it has no numbers"));
                continue;
            }
            if !seen.insert(name) {
                notes.push(format!("a second array \"{name}\" was left out"));
                continue;
            }
            let known = self.by_name.get(name).copied();
            let is_wanted = match known {
                None => self.count == 0,
                Some(at) => {
                    let field = &self.fields[at];
                    field.components == array.components && field.len() == self.count
                }
            };
            if !is_wanted {
                continue;
            }
            let values = file.values(array, count.saturating_mul(array.components))?;
            match known {
                Some(at) => self.fields[at].values.extend_from_slice(&values),
                None => {
                    self.by_name.insert(name.into(), self.fields.len());
                    self.fields.push(Field { name: name.into(), components: array.components, values });
                }
            }
        }
        self.count += count;
        Ok(())
    }

    /// The fields that every piece has.
    fn finish(mut self, notes: &mut Vec<String>) -> Vec<Field> {
        self.fields.retain(|field| {
            let is_whole = field.len() == self.count;
            if !is_whole {
                notes.push(format!("the field \"{}\" was left out: not every piece has it", field.name));
            }
            is_whole
        });
        self.fields
    }
}

/// Appends; moves instead of copying if there is nothing yet.
fn append<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.append(&mut more);
    }
}
