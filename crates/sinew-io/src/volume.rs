//! The volume mesh of a file: the simulated cells, and the sets that other cells mark.

use std::collections::{BTreeMap, BTreeSet};

use sinew_geometry::{CellBlock, CellKind, CellMesh, MeshField, MeshReport};

use crate::error::ReadError;
use crate::mesh_data::{CellShape, Field, LABEL, MeshData};

/// Options of the conversion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeOptions {
    /// Kinds of cells to drop instead of simulating or rejecting them.
    pub skip: BTreeSet<CellShape>,
}

/// A volume mesh, with a report and notes.
#[derive(Clone, Debug)]
pub struct VolumeParts {
    /// The mesh, with its labels, sets and fields.
    pub mesh: CellMesh,
    /// Repairs.
    pub report: MeshReport,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Names that other programs use for [`LABEL`].
const OTHER_LABELS: [&str; 5] = ["medit:ref", "gmsh:physical", "tetgen:attribute", "material", "cell_tags"];

/// The simulated kind of a shape.
fn kind_of(shape: CellShape) -> Option<CellKind> {
    match shape {
        CellShape::Tet4 => Some(CellKind::Tet4),
        CellShape::Tet10 => Some(CellKind::Tet10),
        CellShape::Hex8 => Some(CellKind::Hex8),
        _ => None,
    }
}

impl MeshData {
    /// The integer label of each cell, under any known name.
    pub fn labels(&self) -> Option<&Field> {
        let names = std::iter::once(&LABEL).chain(&OTHER_LABELS);
        names.filter_map(|name| self.cell_field(name)).find(|field| field.components == 1)
    }

    /// The tetrahedra and hexahedra as a checked and repaired mesh for simulation.
    ///
    /// Points, lines and faces whose nodes all belong to the volume mark it: their named sets and labels become node
    /// sets (`surface-3` for the label 3 on faces). Rejects other cells unless `options` skips their kind. Named sets
    /// and fields follow their nodes and cells.
    pub fn into_volume(self, options: &VolumeOptions) -> Result<VolumeParts, ReadError> {
        let marked = self.mask_of_volume(options);
        let mut refused: BTreeMap<CellShape, [usize; 2]> = BTreeMap::new();
        let mut blocks: Vec<(CellBlock, Vec<u32>)> = Vec::new();
        for (number, (shape, nodes)) in self.cells().enumerate() {
            if let Some(kind) = kind_of(shape).filter(|_| !options.skip.contains(&shape)) {
                let at = blocks.iter().position(|(block, _)| block.kind == kind).unwrap_or_else(|| {
                    blocks.push((CellBlock { kind, nodes: Vec::new() }, Vec::new()));
                    blocks.len() - 1
                });
                blocks[at].0.nodes.extend_from_slice(nodes);
                blocks[at].1.push(number as u32);
            } else if !options.skip.contains(&shape) {
                let is_mark = shape.dimension() < 3 && nodes.iter().all(|&node| marked[node as usize]);
                if !is_mark {
                    refused.entry(shape).or_insert([0, number])[0] += 1;
                }
            }
        }
        if !refused.is_empty() {
            return Err(ReadError::CellKinds {
                kinds: kind_list(&refused),
                reason: "only tetrahedra and hexahedra are simulated",
                hint: "convert them in the program that made the mesh, or leave them out with `skip`",
            });
        }
        if blocks.is_empty() {
            return Err(ReadError::Missing { what: "tetrahedra or hexahedra" });
        }
        let (blocks, old_from_new): (Vec<CellBlock>, Vec<Vec<u32>>) = blocks.into_iter().unzip();
        let old_from_new = old_from_new.concat();
        self.attached(blocks, &old_from_new, options)
    }

    /// For each point, whether a tetrahedron or hexahedron uses it.
    fn mask_of_volume(&self, options: &VolumeOptions) -> Vec<bool> {
        let mut mask = vec![false; self.points.len()];
        let is_simulated = |shape: CellShape| kind_of(shape).is_some() && !options.skip.contains(&shape);
        for group in self.groups.iter().filter(|group| is_simulated(group.shape)) {
            for &node in &group.nodes {
                mask[node as usize] = true;
            }
        }
        mask
    }

    /// The mesh with labels, sets and fields.
    fn attached(
        mut self,
        blocks: Vec<CellBlock>,
        old_from_new: &[u32],
        options: &VolumeOptions,
    ) -> Result<VolumeParts, ReadError> {
        let mut node_sets = std::mem::take(&mut self.node_sets);
        let cell_sets = std::mem::take(&mut self.cell_sets);
        let mut new_from_old = vec![u32::MAX; self.cell_count()];
        for (new, &old) in old_from_new.iter().enumerate() {
            new_from_old[old as usize] = new as u32;
        }
        let mut volume_sets = BTreeMap::new();
        for (name, cells) in cell_sets {
            let members: Vec<u32> =
                cells.iter().map(|&cell| new_from_old[cell as usize]).filter(|&cell| cell != u32::MAX).collect();
            if members.len() < cells.len() {
                let marks = cells.iter().filter(|&&cell| new_from_old[cell as usize] == u32::MAX);
                let nodes = self.nodes_of(marks.copied(), options);
                if !nodes.is_empty() {
                    node_sets.entry(name.clone()).or_default().extend(nodes);
                }
            }
            if !members.is_empty() {
                volume_sets.insert(name, members);
            }
        }
        for (name, nodes) in self.labeled_marks(options) {
            node_sets.entry(name).or_default().extend(nodes);
        }
        let labels = self.labels().map(|field| {
            let label = |&old: &u32| field.values[old as usize].clamp(0.0, f64::from(u32::MAX)) as u32;
            old_from_new.iter().map(label).collect::<Vec<u32>>()
        });
        let (mut mesh, report) = CellMesh::new(std::mem::take(&mut self.points), blocks)?;
        if let Some(labels) = labels {
            mesh = mesh.with_cell_labels(labels)?;
        }
        let renumbered = &report.new_from_old_node;
        let new_node = |node: u32| if renumbered.is_empty() { Some(node) } else { renumbered[node as usize] };
        for (name, nodes) in node_sets {
            mesh = mesh.with_node_set(name, nodes.into_iter().filter_map(new_node).collect())?;
        }
        for (name, cells) in volume_sets {
            mesh = mesh.with_cell_set(name, cells)?;
        }
        for Field { name, components, values } in self.point_fields {
            let mut kept = vec![0.0; components * mesh.node_count()];
            for (old, value) in values.chunks_exact(components.max(1)).enumerate() {
                if let Some(new) = new_node(old as u32) {
                    kept[new as usize * components..(new as usize + 1) * components].copy_from_slice(value);
                }
            }
            mesh = mesh.with_node_field(name, MeshField { components, values: kept })?;
        }
        for Field { name, components, values } in self.cell_fields {
            let rows = old_from_new.iter().map(|&old| old as usize * components..(old as usize + 1) * components);
            let kept = rows.flat_map(|row| values[row].iter().copied()).collect();
            mesh = mesh.with_cell_field(name, MeshField { components, values: kept })?;
        }
        Ok(VolumeParts { mesh, report, notes: self.notes })
    }

    /// Nodes of some cells, without skipped kinds.
    fn nodes_of(&self, cells: impl Iterator<Item = u32>, options: &VolumeOptions) -> Vec<u32> {
        let mut wanted = vec![false; self.cell_count()];
        cells.for_each(|cell| wanted[cell as usize] = true);
        let chosen = self.cells().zip(&wanted).filter(|((shape, _), wanted)| **wanted && !options.skip.contains(shape));
        chosen.flat_map(|((_, nodes), _)| nodes.iter().copied()).collect()
    }

    /// Node sets from labels on points, lines and faces; the label 0 means none.
    fn labeled_marks(&self, options: &VolumeOptions) -> BTreeMap<String, Vec<u32>> {
        let mut sets: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let Some(field) = self.labels() else { return sets };
        for ((shape, nodes), &label) in self.cells().zip(&field.values) {
            let word = match shape.dimension() {
                0 => "point",
                1 => "curve",
                2 => "surface",
                _ => continue,
            };
            if label != 0.0 && !options.skip.contains(&shape) {
                sets.entry(format!("{word}-{label}")).or_default().extend_from_slice(nodes);
            }
        }
        sets
    }
}

/// `3 wedges (first: cell 7), …` for a message.
pub(crate) fn kind_list(kinds: &BTreeMap<CellShape, [usize; 2]>) -> String {
    let list: Vec<String> = kinds
        .iter()
        .map(|(shape, [count, first])| format!("{count} × {} (first: cell {first})", shape.name()))
        .collect();
    list.join(", ")
}

impl From<&CellMesh> for MeshData {
    /// Converts everything in a mesh for writing.
    fn from(mesh: &CellMesh) -> MeshData {
        let mut data = MeshData { points: mesh.positions().to_vec(), ..MeshData::default() };
        for block in mesh.blocks() {
            let shape = match block.kind {
                CellKind::Tet4 => CellShape::Tet4,
                CellKind::Tet10 => CellShape::Tet10,
                CellKind::Hex8 => CellShape::Hex8,
            };
            data.groups.push(crate::CellGroup::with_nodes(shape, block.nodes.clone()));
        }
        data.node_sets.clone_from(mesh.node_sets());
        data.cell_sets.clone_from(mesh.cell_sets());
        if mesh.cell_labels().iter().any(|&label| label != 0) {
            let labels = mesh.cell_labels().iter().map(|&label| f64::from(label)).collect();
            data.cell_fields.push(Field::scalars(LABEL, labels));
        }
        let field = |(name, field): (&String, &MeshField)| Field {
            name: name.clone(),
            components: field.components,
            values: field.values.clone(),
        };
        data.point_fields.extend(mesh.node_fields().iter().map(field));
        data.cell_fields.extend(mesh.cell_fields().iter().filter(|(name, _)| *name != LABEL).map(field));
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh_data::CellGroup;
    use sinew_math::Vec3;

    /// A unit tetrahedron on nodes 1..5, with an unused node 0, a labeled face and a named set of each kind.
    fn marked() -> MeshData {
        let corners = [[9.0; 3], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut data = MeshData { points: corners.map(Vec3::from).to_vec(), ..MeshData::default() };
        data.groups.push(CellGroup::with_nodes(CellShape::Tri3, vec![1, 3, 2]));
        data.groups.push(CellGroup::with_nodes(CellShape::Tet4, vec![1, 2, 3, 4]));
        data.cell_fields.push(Field::scalars(LABEL, vec![3.0, 7.0]));
        data.point_fields.push(Field::scalars("heat", vec![-1.0, 10.0, 20.0, 30.0, 40.0]));
        data.node_sets.insert("tip".into(), vec![4]);
        data.cell_sets.insert("muscle".into(), vec![1]);
        data.cell_sets.insert("bottom".into(), vec![0]);
        data
    }

    #[test]
    fn faces_mark_the_volume_and_everything_follows_the_renumbering() {
        let VolumeParts { mesh, report, .. } = marked().into_volume(&VolumeOptions::default()).unwrap();
        assert_eq!((mesh.node_count(), mesh.cell_count(), report.unused_nodes), (4, 1, 1));
        assert_eq!(mesh.cell_labels(), [7]);
        let set = |name: &str| mesh.node_sets()[name].clone();
        assert_eq!((set("surface-3"), set("bottom"), set("tip")), (vec![0, 1, 2], vec![0, 1, 2], vec![3]));
        assert_eq!(mesh.cell_sets()["muscle"], [0]);
        assert_eq!(mesh.node_fields()["heat"].values, [10.0, 20.0, 30.0, 40.0]);
    }

    #[test]
    fn other_kinds_are_named_and_left_out_by_choice_only() {
        let mut data = marked();
        data.push_cell(CellShape::Pyramid5, &[0, 1, 2, 3, 4]);
        data.push_cell(CellShape::Line2, &[0, 1]);
        data.cell_fields[0].values.extend([1.0, 1.0]);
        let error = data.clone().into_volume(&VolumeOptions::default()).unwrap_err().to_string();
        assert!(error.contains("1 × pyramid (first: cell 2)") && error.contains("1 × line (first: cell 3)"), "{error}");
        let skip = BTreeSet::from([CellShape::Pyramid5, CellShape::Line2]);
        let mesh = data.into_volume(&VolumeOptions { skip }).unwrap().mesh;
        assert_eq!((mesh.cell_count(), mesh.cell_labels()), (1, [7].as_slice()));
    }

    #[test]
    fn a_mesh_survives_the_way_there_and_back() {
        let mesh = marked().into_volume(&VolumeOptions::default()).unwrap().mesh;
        let back = MeshData::from(&mesh).into_volume(&VolumeOptions::default()).unwrap().mesh;
        assert_eq!(mesh, back);
    }
}
