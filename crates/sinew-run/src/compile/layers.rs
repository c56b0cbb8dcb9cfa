//! Flesh layered on other bodies: layered skinning (SIF-037).
//!
//! \[Sifakis07\] simulates muscles first and moves the inner boundary of the flesh with the result. Here both are one
//! system: nodes of the flesh near the body below lie on its surface and are weighted sums of its nodes. They follow it
//! up to rounding, and the weight and resistance of the flesh act on the muscle.

use sinew_fem::force::AttachTarget;
use sinew_geometry::embedding::Embedding;
use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::shape::Pose;
use sinew_geometry::{CellBlock, CellKind, CellMesh, MeshError, MeshField, TriMesh};
use sinew_math::Vec3;
use sinew_scene::spec::body::Body;
use sinew_scene::{Diagnostic, Dimension, format_quantity};

use super::Compiler;
use super::body::CompiledBody;
use super::mesh::MeshParts;

/// Minimum volume of a cell that is pressed against a body below, relative to its original volume; flatter cells are
/// removed.
const MIN_VOLUME: f64 = 0.1;
/// Distance from a surface that counts as zero, relative to the size of the body.
const TOUCHES: f64 = 1e-9;

impl Compiler<'_> {
    /// Makes the flesh end on the bodies below: nodes inside or near them move to the nearest point of their surface,
    /// and cells without remaining volume are removed. `bodies` are those before this one, `place` is its pose.
    pub(super) fn carve(
        &self,
        index: usize,
        body: &Body,
        parts: MeshParts,
        place: &Pose,
        bodies: &[CompiledBody],
    ) -> Result<MeshParts, Diagnostic> {
        let problem = |key: &str, message: String| self.scene.problem(&format!("body[{index}].over{key}"), message);
        let mut positions = parts.mesh.positions().to_vec();
        let mut is_near = vec![false; positions.len()];
        for (k, layer) in body.over.iter().enumerate() {
            // A body that could not be compiled has been reported.
            let Some((_, below)) = self.below(&layer.body, bodies) else { continue };
            let surface = surface_of(below).map_err(|error| problem(&format!("[{k}].body"), error.to_string()))?;
            let places: Vec<Vec3> = positions.iter().map(|&p| place.to_world(p)).collect();
            let nearest = NearestPlaces::new(&surface);
            let depths = surface.depths(&places);
            for (node, depth) in depths.iter().enumerate() {
                if *depth >= -layer.within && !is_near[node] {
                    is_near[node] = true;
                    positions[node] =
                        nearest.to(places[node]).map_or(positions[node], |at| place.to_local(at.position));
                }
            }
            if !depths.iter().any(|&depth| depth >= -layer.within) {
                let nearest = depths.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                let message = format!("no node of `{}` is near `{}`", body.name, layer.body);
                let distance = format_quantity(-nearest, Dimension::LENGTH);
                return Err(problem(&format!("[{k}].within"), message).hint(format!("the nearest is {distance} away")));
            }
        }
        let is_left = |(kind, nodes): (CellKind, &[u32])| {
            let at =
                |places: &[Vec3]| kind.volume(&nodes.iter().map(|&node| places[node as usize]).collect::<Vec<_>>());
            !nodes.iter().all(|&node| is_near[node as usize])
                && at(&positions) >= MIN_VOLUME * at(parts.mesh.positions())
        };
        let keep: Vec<bool> = parts.mesh.cells().map(is_left).collect();
        if !keep.contains(&true) {
            let message = format!("nothing of `{}` is outside the bodies it is layered on", body.name);
            let problem = problem("", message);
            return Err(
                problem.hint("it must be larger than they are, and `within` smaller than the thickness of the flesh")
            );
        }
        let mesh = kept(&parts.mesh, positions, &keep).map_err(|error| problem("", error.to_string()))?;
        let surface = match parts.surface {
            Some((surface, _)) => {
                let embedding =
                    Embedding::bind(&mesh, surface.positions()).map_err(|error| problem("", error.to_string()))?;
                Some((surface, embedding))
            }
            None => None,
        };
        let inside = parts.inside.iter().zip(&keep).filter(|&(_, &keep)| keep).map(|(&part, _)| part).collect();
        Ok(MeshParts { mesh, surface, inside, ..parts })
    }

    /// Binds the nodes on bodies below to them, except pinned ones; each node follows the first body that it lies on.
    pub(super) fn lay_over(&mut self, index: usize, body: &Body, compiled: &CompiledBody, bodies: &[CompiledBody]) {
        let mut is_free = vec![true; compiled.rest.len()];
        let pinned = body.pin.iter().filter_map(|pin| compiled.regions.nodes(&pin.region).ok());
        pinned.flatten().for_each(|node| is_free[node as usize] = false);
        for layer in &body.over {
            let Some((target, below)) = self.below(&layer.body, bodies) else { continue };
            let Ok(surface) = surface_of(below) else { continue };
            let reach = TOUCHES * surface.bounds().diagonal();
            let depths = surface.depths(&compiled.rest);
            let touches = |node: &u32| is_free[*node as usize] && depths[*node as usize] >= -reach;
            let nodes: Vec<u32> = (0..depths.len() as u32).filter(touches).collect();
            nodes.iter().for_each(|&node| is_free[node as usize] = false);
            self.builder.bind(index, nodes, AttachTarget::Body(target));
        }
    }

    /// A body that comes before the one layered on it.
    fn below<'b>(&self, name: &str, bodies: &'b [CompiledBody]) -> Option<(usize, &'b CompiledBody)> {
        let index = self.scene.body.iter().position(|other| other.name == name)?;
        Some((index, bodies.get(index)?))
    }
}

/// The surface of a body in its initial pose.
fn surface_of(body: &CompiledBody) -> Result<TriMesh, MeshError> {
    let (surface, _) = body.regions.mesh().boundary_surface()?;
    surface.mapped(|p| body.pose.to_world(p))
}

/// The kept cells, with their nodes at new positions, and the sets and fields of the mesh.
fn kept(mesh: &CellMesh, positions: Vec<Vec3>, keep: &[bool]) -> Result<CellMesh, MeshError> {
    const UNUSED: u32 = u32::MAX;
    let mut node_of = vec![UNUSED; mesh.node_count()];
    for ((_, nodes), _) in mesh.cells().zip(keep).filter(|&(_, &keep)| keep) {
        nodes.iter().for_each(|&node| node_of[node as usize] = 0);
    }
    for (number, place) in (0..).zip(node_of.iter_mut().filter(|place| **place != UNUSED)) {
        *place = number;
    }
    let used = |values: &[f64], components: usize| -> Vec<f64> {
        let rows = values.chunks_exact(components.max(1)).zip(&node_of).filter(|&(_, &place)| place != UNUSED);
        rows.flat_map(|(row, _)| row.iter().copied()).collect()
    };
    let positions =
        positions.into_iter().zip(&node_of).filter(|&(_, &place)| place != UNUSED).map(|(p, _)| p).collect();
    let mut blocks = Vec::new();
    let mut cell_of = vec![UNUSED; mesh.cell_count()];
    let (mut cell, mut next) = (0, 0);
    for block in mesh.blocks() {
        let mut nodes = Vec::new();
        for own in block.cells() {
            if keep[cell] {
                nodes.extend(own.iter().map(|&node| node_of[node as usize]));
                cell_of[cell] = next;
                next += 1;
            }
            cell += 1;
        }
        if !nodes.is_empty() {
            blocks.push(CellBlock { kind: block.kind, nodes });
        }
    }
    let (mut out, _) = CellMesh::branching(positions, blocks)?;
    let renumbered = |list: &[u32], of: &[u32]| -> Vec<u32> {
        list.iter().map(|&old| of[old as usize]).filter(|&new| new != UNUSED).collect()
    };
    if !mesh.cell_labels().is_empty() {
        let labels = mesh.cell_labels().iter().zip(keep).filter(|&(_, &keep)| keep).map(|(&label, _)| label).collect();
        out = out.with_cell_labels(labels)?;
    }
    for (name, nodes) in mesh.node_sets() {
        out = out.with_node_set(name, renumbered(nodes, &node_of))?;
    }
    for (name, cells) in mesh.cell_sets() {
        out = out.with_cell_set(name, renumbered(cells, &cell_of))?;
    }
    for (name, field) in mesh.node_fields() {
        let values = used(&field.values, field.components);
        out = out.with_node_field(name, MeshField { components: field.components, values })?;
    }
    for (name, field) in mesh.cell_fields() {
        let rows = field.values.chunks_exact(field.components.max(1)).zip(keep).filter(|&(_, &keep)| keep);
        let values = rows.flat_map(|(row, _)| row.iter().copied()).collect();
        out = out.with_cell_field(name, MeshField { components: field.components, values })?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::box_hexes;

    use super::*;

    /// A block of 2×1×1 cells without its first one keeps eight nodes; its sets and fields are adapted.
    #[test]
    fn kept_cells_take_their_sets_and_fields_along() {
        let mesh = box_hexes(Vec3::new(2.0, 1.0, 1.0), [2, 1, 1]).unwrap();
        let by_x = |x: f64| {
            let at = |node: &u32| mesh.positions()[*node as usize].x == x;
            (0..12).filter(at).collect::<Vec<u32>>()
        };
        let heights = mesh.positions().iter().map(|p| p.z).collect();
        let right =
            (0..2).find(|&cell| mesh.cell_nodes(cell).iter().all(|&n| mesh.positions()[n as usize].x > 0.5)).unwrap();
        let mesh = mesh
            .clone()
            .with_node_set("left", by_x(0.0))
            .and_then(|m| m.with_node_set("right", by_x(2.0)))
            .and_then(|m| m.with_cell_set("end", vec![right as u32]))
            .and_then(|m| m.with_node_field("z", MeshField { components: 1, values: heights }))
            .and_then(|m| m.with_cell_field("number", MeshField { components: 1, values: vec![0.0, 1.0] }))
            .unwrap();
        let keep: Vec<bool> = (0..2).map(|cell| cell == right).collect();
        let out = kept(&mesh, mesh.positions().to_vec(), &keep).unwrap();
        assert_eq!((out.cell_count(), out.node_count()), (1, 8));
        assert!((out.volume() - 1.0).abs() < 1e-14 && out.bounds().min.x == 1.0);
        assert!(out.node_sets()["left"].is_empty());
        assert!(out.node_sets()["right"].iter().all(|&n| out.positions()[n as usize].x == 2.0));
        assert_eq!((out.node_sets()["right"].len(), out.cell_sets()["end"].as_slice()), (4, [0].as_slice()));
        assert!(out.node_fields()["z"].values.iter().zip(out.positions()).all(|(&z, p)| z == p.z));
        assert_eq!(out.cell_fields()["number"].values, [right as f64]);
    }
}
