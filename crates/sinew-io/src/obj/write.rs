//! Mesh to OBJ text.

use super::{MATERIAL, MEMBERS_PER_BYTE};
use crate::error::WriteError;
use crate::mesh_data::{CellShape, MeshData};
use crate::text::{push_f64, push_u64};

/// Encodes an OBJ file: triangles, quads, polygons, lines and points, cell sets as groups and materials, and the point
/// field `color`. The format cannot store other fields and node sets.
pub fn write(mesh: &MeshData) -> Result<Vec<u8>, WriteError> {
    let mut out = Vec::with_capacity(64 * mesh.points.len() + 32 * mesh.cell_count());
    let color = mesh.point_fields.iter().find(|field| field.name == "color" && matches!(field.components, 3 | 4));
    for (index, point) in mesh.points.iter().enumerate() {
        out.push(b'v');
        let color = color.and_then(|field| field.values.get(index * field.components..)?.get(..3)).unwrap_or_default();
        for &value in [point.x, point.y, point.z].iter().chain(color) {
            out.push(b' ');
            push_f64(&mut out, value);
        }
        out.push(b'\n');
    }
    let memberships = Memberships::new(mesh);
    let mut members = 0usize;
    let mut open: &[u32] = &[];
    for (number, (shape, nodes)) in mesh.cells().enumerate() {
        let sets = memberships.of(number);
        members += sets.len();
        if sets != open {
            push_sets(&mut out, &memberships.names, open, sets);
            open = sets;
        }
        out.extend_from_slice(match shape {
            CellShape::Tri3 | CellShape::Quad4 | CellShape::Polygon => b"f",
            CellShape::Line2 => b"l",
            CellShape::Vertex => b"p",
            other => {
                let hint = "write the boundary of the volume: `sinew mesh convert --boundary`";
                return Err(WriteError::Unsupported { format: "OBJ", what: format!("a {}", other.name()), hint });
            }
        });
        for &node in nodes {
            out.push(b' ');
            push_u64(&mut out, u64::from(node) + 1);
        }
        out.push(b'\n');
    }
    if members > out.len() * MEMBERS_PER_BYTE {
        let what = format!("{members} members of cell sets on {} cells", mesh.cell_count());
        return Err(WriteError::Unsupported { format: "OBJ", what, hint: "give each cell a few sets only" });
    }
    Ok(out)
}

/// Changes the open groups and material.
fn push_sets(out: &mut Vec<u8>, names: &[&str], before: &[u32], now: &[u32]) {
    let name = |set: &u32| names[*set as usize];
    let material = |sets: &[u32]| sets.iter().map(name).find_map(|name| name.strip_prefix(MATERIAL));
    let (old, new) = (material(before), material(now));
    if old != new {
        out.extend_from_slice(b"usemtl");
        new.unwrap_or_default().split_ascii_whitespace().for_each(|part| push_name(out, part));
        out.push(b'\n');
    }
    out.push(b'g');
    // A second material of the same cells becomes a group whose name reads back as that material.
    let is_open = |name: &&str| name.strip_prefix(MATERIAL).is_none_or(|material| Some(material) != new);
    for name in now.iter().map(name).filter(is_open) {
        push_name(out, name);
    }
    out.push(b'\n');
}

/// Appends a space and a name, escaping spaces (separators), backslashes (line continuations) and a leading `#`
/// (comment).
fn push_name(out: &mut Vec<u8>, name: &str) {
    out.push(b' ');
    let name = if let Some(rest) = name.strip_prefix('#') {
        out.push(b'_');
        rest
    } else {
        name
    };
    out.extend(name.bytes().map(|b| if b.is_ascii_whitespace() || b == b'\\' { b'_' } else { b }));
}

/// The sets of each cell, by index in `names`.
struct Memberships<'a> {
    names: Vec<&'a str>,
    /// End of the sets of each cell; empty without sets.
    ends: Vec<usize>,
    sets: Vec<u32>,
}

impl<'a> Memberships<'a> {
    fn new(mesh: &'a MeshData) -> Memberships<'a> {
        let names: Vec<&str> = mesh.cell_sets.keys().map(String::as_str).collect();
        if names.is_empty() {
            return Memberships { names, ends: Vec::new(), sets: Vec::new() };
        }
        // Counting sort by cell: counts, starts, then each set fills its entries, which moves the starts to the ends.
        let mut ends = vec![0usize; mesh.cell_count()];
        let mut total = 0;
        for &cell in mesh.cell_sets.values().flatten() {
            ends[cell as usize] += 1;
        }
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut sets = vec![0u32; total];
        for (set, cells) in mesh.cell_sets.values().enumerate() {
            for &cell in cells {
                sets[ends[cell as usize]] = set as u32;
                ends[cell as usize] += 1;
            }
        }
        Memberships { names, ends, sets }
    }

    fn of(&self, cell: usize) -> &[u32] {
        let Some(&end) = self.ends.get(cell) else { return &[] };
        let start = cell.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.sets[start..end]
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::super::read;
    use super::*;
    use crate::mesh_data::Field;

    #[test]
    fn everything_the_format_holds_survives() {
        let mut mesh = MeshData {
            points: vec![Vec3::new(0.1, -0.0, 1e-300), Vec3::new(1.0 / 3.0, 2.0, 3.0), Vec3::new(1e20, 0.0, 7.0)],
            ..MeshData::default()
        };
        mesh.push_cell(CellShape::Tri3, &[0, 1, 2]);
        mesh.push_cell(CellShape::Polygon, &[0, 1, 2, 1, 0]);
        mesh.push_cell(CellShape::Line2, &[0, 2]);
        mesh.push_cell(CellShape::Vertex, &[1]);
        mesh.push_cell(CellShape::Quad4, &[0, 1, 2, 1]);
        mesh.point_fields.push(Field { name: "color".into(), components: 3, values: vec![0.25; 9] });
        mesh.cell_sets.insert("skin".into(), vec![0, 1, 4]);
        mesh.cell_sets.insert("left".into(), vec![1, 2]);
        mesh.cell_sets.insert("material:red".into(), vec![0, 1, 3]);
        mesh.cell_sets.insert("material:blue paint".into(), vec![4]);
        let back = read(&write(&mesh).unwrap()).unwrap();
        assert_eq!(back, mesh);
    }

    #[test]
    fn volumes_are_refused_with_their_name() {
        let mut mesh = MeshData { points: vec![Vec3::zero(); 4], ..MeshData::default() };
        mesh.push_cell(CellShape::Tet4, &[0, 1, 2, 3]);
        let error = write(&mesh).unwrap_err().to_string();
        assert!(error.contains("a tetrahedron") && error.contains("boundary"), "{error}");
    }
}
