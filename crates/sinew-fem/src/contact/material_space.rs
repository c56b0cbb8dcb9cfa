//! Points that are inside other flesh, found in its cells and led out through its rest shape (SIF-036, MCA-25 to MCA-27).
//!
//! A point x in a deformed cell has barycentric coordinates there, hence a place X in the rest shape of that flesh. The nearest place of the rest surface is
//! carried back by the deformed triangle it lies on: that is where the point should come out. Distances of the deformed shape are never needed.
//! Cells around the point itself are passed over, and so are cells inside out: they are negative space.
//!
//! A point that was in contact before looks for the nearest place by walking from where it was: in a thin sheet the other side may be nearer, and a point that
//! changed sides from step to step would never come to rest.

use sinew_geometry::mesh::tet_volume;
use sinew_geometry::proximity::{CellTree, RestSurface};
use sinew_math::Vec3;
use sinew_math::parallel::for_each_block_mut;

use super::rule::ContactMode;
use super::surface::ContactModel;

/// No triangle.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Vertices per parallel block.
const BLOCK: usize = 256;
/// A walk may end this much further away than the nearest place before it is given up, and so many cells on top.
const PATIENCE: f64 = 4.0;
const PATIENCE_CELLS: f64 = 0.5;
/// Flesh that lies nearer to a vertex at rest than so many cells is its own surroundings (MCA-25): when it is crumpled, its elasticity answers.
const SURROUNDINGS: f64 = 2.0;

/// A vertex inside flesh, and where it should come out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exit {
    pub vertex: u32,
    /// Triangle of the collision surface.
    pub triangle: u32,
    pub barycentric: [f64; 3],
    /// Outward, of the deformed triangle.
    pub normal: Vec3,
}

impl Exit {
    /// The vertices of the contact and the weights of its gap.
    pub fn stencil(&self, model: &ContactModel) -> ([u32; 4], [f64; 4]) {
        let [a, b, c] = model.triangles[self.triangle as usize];
        let [u, v, w] = self.barycentric;
        ([self.vertex, a, b, c], [1.0, -u, -v, -w])
    }
}

/// The search, with its memory.
pub(super) struct MaterialSpace {
    cells: CellTree,
    /// Places of all points at rest.
    rest: Vec<Vec3>,
    /// Rest surface of each group that others may enter.
    surfaces: Vec<Option<RestSurface>>,
    paired: Vec<bool>,
    /// Vertices that may enter others.
    vertices: Vec<u32>,
    found: Vec<Option<Exit>>,
    /// Whether a point belongs to a cell inside out.
    is_inverted: Vec<bool>,
}

impl MaterialSpace {
    /// For a model with penalty rules; `rest` holds the places of all points at rest.
    pub fn new(model: &ContactModel, rest: Vec<Vec3>) -> Self {
        let has_penalty = |group: usize| model.has_mode(group, ContactMode::Penalty);
        let surfaces = model.groups.iter().enumerate().map(|(g, group)| {
            has_penalty(g).then(|| {
                let first = group.vertices.start as u32;
                let triangles = &model.triangles[group.triangles.clone()];
                let triangles = triangles.iter().map(|triangle| triangle.map(|v| v - first)).collect();
                RestSurface::new(model.rest[group.vertices.clone()].to_vec(), triangles)
            })
        });
        let surfaces = surfaces.collect();
        let vertices = (0..model.vertex_count()).filter(|&v| has_penalty(model.vertex_groups[v] as usize));
        let vertices: Vec<u32> = vertices.map(|v| v as u32).collect();
        Self {
            cells: CellTree::new(model.tets.clone()),
            is_inverted: vec![false; rest.len()],
            rest,
            surfaces,
            paired: model.paired(ContactMode::Penalty),
            found: vec![None; vertices.len()],
            vertices,
        }
    }

    /// Builds the tree of cells anew.
    pub fn begin_step(&mut self, x: &[Vec3]) {
        self.cells.rebuild(x);
    }

    /// Finds the exits of all vertices at points `x` and vertices `y`; `memory` has the triangle each vertex came out of last.
    pub fn find(&mut self, model: &ContactModel, x: &[Vec3], y: &[Vec3], memory: &[u32], exits: &mut Vec<Exit>) {
        self.cells.refit(x);
        self.is_inverted.fill(false);
        for tet in self.cells.tets() {
            let [a, b, c, d] = tet.map(|point| x[point as usize]);
            // Written so that NaN counts too.
            if !(tet_volume(a, b, c, d) > 0.0) {
                tet.iter().for_each(|&point| self.is_inverted[point as usize] = true);
            }
        }
        let mut found = std::mem::take(&mut self.found);
        for_each_block_mut((&mut found[..], &self.vertices[..]), BLOCK, |_, (found, vertices)| {
            for (found, &vertex) in found.iter_mut().zip(vertices) {
                *found = self.exit(model, x, y, memory[vertex as usize], vertex);
            }
        });
        self.found = found;
        exits.clear();
        exits.extend(self.found.iter().flatten());
    }

    /// The way out for one vertex: of all cells it is in, the one that leads out on the shortest way.
    fn exit(&self, model: &ContactModel, x: &[Vec3], y: &[Vec3], last: u32, vertex: u32) -> Option<Exit> {
        let own = model.vertex_groups[vertex as usize] as usize;
        let carriers = model.carriers(vertex as usize);
        let place = y[vertex as usize];
        let is_turned =
            |vertex: u32| model.carriers(vertex as usize).iter().any(|&(point, _)| self.is_inverted[point as usize]);
        // The surface of flesh inside out has no outside.
        if is_turned(vertex) {
            return None;
        }
        let mut best: Option<(f64, Exit)> = None;
        self.cells.for_each_containing(x, place, |tet, barycentric| {
            let group = model.tet_groups[tet as usize] as usize;
            let nodes = self.cells.tets()[tet as usize];
            let is_own = || nodes.iter().any(|node| carriers.iter().any(|(point, _)| point == node));
            if !self.paired[own * model.groups.len() + group] || (own == group && is_own()) {
                return;
            }
            let material = (0..4).fold(Vec3::zero(), |sum, a| sum + self.rest[nodes[a] as usize] * barycentric[a]);
            let own_place = model.rest[vertex as usize];
            if own == group && (material - own_place).norm() < SURROUNDINGS * model.groups[own].cell {
                return;
            }
            let Some((depth, exit)) = self.way_out(model, group, material, last, vertex, y) else { return };
            if best.as_ref().is_none_or(|(least, _)| depth < *least) {
                best = Some((depth, exit));
            }
        });
        best.map(|(_, exit)| exit).filter(|exit| !model.triangles[exit.triangle as usize].iter().any(|&v| is_turned(v)))
    }

    fn way_out(
        &self,
        model: &ContactModel,
        group: usize,
        material: Vec3,
        last: u32,
        vertex: u32,
        y: &[Vec3],
    ) -> Option<(f64, Exit)> {
        let surface = self.surfaces[group].as_ref()?;
        let first = model.groups[group].triangles.start as u32;
        let mut nearest = surface.nearest(material)?;
        if model.groups[group].triangles.contains(&(last as usize)) {
            let walked = surface.nearest_near(material, last - first);
            if walked.2 <= PATIENCE * nearest.2 + PATIENCE_CELLS * model.groups[group].cell {
                nearest = walked;
            }
        }
        let (local, barycentric, depth) = nearest;
        let triangle = first + local;
        let corners = model.triangles[triangle as usize];
        // Flesh folded so far that a vertex is led out through its own triangle needs no contact but its elasticity.
        if corners.contains(&vertex) {
            return None;
        }
        let [a, b, c] = corners.map(|v| y[v as usize]);
        let normal = (b - a).cross(c - a);
        let size = normal.norm();
        (size > 0.0).then(|| (depth, Exit { vertex, triangle, barycentric, normal: normal / size }))
    }
}
