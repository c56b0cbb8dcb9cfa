//! The triangle surface of a file.

use std::collections::{BTreeMap, BTreeSet};

use sinew_geometry::{CellMesh, TriMesh};

use crate::error::ReadError;
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData, triangles_of};
use crate::volume::kind_list;

/// A surface, with its groups, fields and notes.
#[derive(Clone, Debug)]
pub struct SurfaceParts {
    /// The triangles.
    pub mesh: TriMesh,
    /// Named groups of triangles.
    pub groups: BTreeMap<String, Vec<u32>>,
    /// Fields at the corners of the triangles, three per triangle: merged vertices may have had different values.
    pub corner_fields: Vec<Field>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl MeshData {
    /// The faces as triangles; polygons are cut in halves ([`triangles_of`]).
    ///
    /// Merges vertices at equal positions if that closes the surface: files that store a vertex once per texture corner
    /// would otherwise have a gap along every seam.
    pub fn into_surface(self, skip: &BTreeSet<CellShape>) -> Result<SurfaceParts, ReadError> {
        let mut triangles: Vec<[u32; 3]> = Vec::new();
        // First triangle of each cell, to map groups.
        let mut first_of = Vec::with_capacity(self.cell_count() + 1);
        let mut refused: BTreeMap<CellShape, [usize; 2]> = BTreeMap::new();
        for (number, (shape, nodes)) in self.cells().enumerate() {
            first_of.push(triangles.len() as u32);
            match shape {
                CellShape::Tri3 | CellShape::Quad4 | CellShape::Polygon => {
                    triangles.extend(triangles_of(nodes));
                }
                // Points and lines do not affect a surface.
                _ if shape.dimension() < 2 || skip.contains(&shape) => {}
                _ => refused.entry(shape).or_insert([0, number])[0] += 1,
            }
        }
        first_of.push(triangles.len() as u32);
        if !refused.is_empty() {
            return Err(ReadError::CellKinds {
                kinds: kind_list(&refused),
                reason: "a surface consists of triangles, quads and polygons",
                hint: "`sinew mesh convert --boundary` writes the surface of a volume; `skip` leaves a kind out",
            });
        }
        let corner_fields = self.point_fields.iter().map(|field| at_corners(field, &triangles)).collect();
        let mut notes = self.notes;
        let mut mesh = TriMesh::new(self.points, triangles)?;
        let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (name, cells) in self.cell_sets {
            let members = cells.iter().flat_map(|&cell| first_of[cell as usize]..first_of[cell as usize + 1]).collect();
            groups.insert(name, members);
        }
        if !mesh.is_closed() {
            let (welded, count) = mesh.welded()?;
            // Collapsing triangles would shift the groups, and welding alone does not close a surface with such
            // triangles.
            if count > 0 && welded.triangle_count() == mesh.triangle_count() && welded.is_closed() {
                notes.push(format!("{count} vertices were merged with another at the same position"));
                mesh = welded;
            }
        }
        Ok(SurfaceParts { mesh, groups, corner_fields, notes })
    }

    /// The boundary of a volume mesh.
    pub fn boundary_of(mesh: &CellMesh) -> Result<MeshData, ReadError> {
        let (surface, _) = mesh.boundary_surface()?;
        Ok(MeshData::from(&surface))
    }
}

/// Values of a field at the corners of triangles.
fn at_corners(field: &Field, triangles: &[[u32; 3]]) -> Field {
    let value = |&point: &u32| &field.values[point as usize * field.components..][..field.components];
    let values = triangles.as_flattened().iter().flat_map(value).copied().collect();
    Field { name: field.name.clone(), components: field.components, values }
}

impl From<&TriMesh> for MeshData {
    fn from(mesh: &TriMesh) -> MeshData {
        let nodes = mesh.triangles().as_flattened().to_vec();
        let groups = vec![CellGroup::with_nodes(CellShape::Tri3, nodes)];
        MeshData { points: mesh.positions().to_vec(), groups, ..MeshData::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_math::Vec3;

    /// A cube of six quads that share no vertices: seams everywhere.
    fn cube_with_seams() -> MeshData {
        let corner = |i: usize| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64);
        let mut data = MeshData::default();
        for face in [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] {
            let first = data.points.len() as u32;
            data.points.extend(face.map(corner));
            data.push_cell(CellShape::Quad4, &[first, first + 1, first + 2, first + 3]);
        }
        data.cell_sets.insert("top".into(), vec![1]);
        data
    }

    #[test]
    fn seams_are_closed_and_groups_follow_the_triangles() {
        let parts = cube_with_seams().into_surface(&BTreeSet::new()).unwrap();
        assert!(parts.mesh.is_closed() && (parts.mesh.volume() - 1.0).abs() < 1e-15);
        assert_eq!((parts.mesh.vertex_count(), parts.groups["top"].clone()), (8, vec![2, 3]));
        assert!(parts.notes[0].contains("16 vertices"), "{:?}", parts.notes);
    }

    /// Merged vertices keep the values of each face.
    #[test]
    fn fields_follow_the_corners() {
        let mut data = cube_with_seams();
        let values = (0..24).flat_map(|point| [f64::from(point / 4), -1.0]).collect();
        data.point_fields.push(Field { name: "face".into(), components: 2, values });
        let parts = data.into_surface(&BTreeSet::new()).unwrap();
        let field = &parts.corner_fields[0];
        assert_eq!((parts.mesh.vertex_count(), field.values.len()), (8, 2 * 3 * 12));
        for (corner, value) in field.values.chunks_exact(2).enumerate() {
            assert_eq!(value, [(corner / 6) as f64, -1.0]);
        }
    }

    #[test]
    fn volumes_are_refused_by_name() {
        let mut data = cube_with_seams();
        data.push_cell(CellShape::Tet4, &[0, 1, 2, 3]);
        let error = data.into_surface(&BTreeSet::new()).unwrap_err().to_string();
        assert!(error.contains("1 × tetrahedron (first: cell 6)") && error.contains("--boundary"), "{error}");
    }
}
