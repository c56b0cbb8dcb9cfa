//! Exits for points inside other flesh: found in its cells and traced through its rest shape (SIF-036, MCA-25 to
//! MCA-27).
//!
//! A point x in a deformed cell has barycentric coordinates there, hence a position X in the rest shape of that flesh.
//! The nearest point of the rest surface lies on a triangle; the deformed triangle maps it back, and this is the exit.
//! Distances in the deformed shape are never needed. The search skips cells around the point itself, and inverted
//! cells, which are negative space.
//!
//! The nearest surface point may not face the point: the side of a block does not face points of a face that has
//! entered it. Then the search prefers a surface point that does, if there is one; else each point of the face would
//! have its own exit. It must be nearer than the far side of the point's own body: both sides of a thin body that has
//! entered as a whole use the same exit. Folds of one body, which may be sharp, use the nearest point only.
//!
//! A point that was in contact before searches by walking from its last exit: in a thin sheet the other side may be
//! nearer, and a point that changed sides from step to step would never come to rest.

use sinew_geometry::mesh::tet_volume;
use sinew_geometry::proximity::{CellTree, RestSurface};
use sinew_math::Vec3;
use sinew_math::parallel::for_each_block_mut;

use super::rule::ContactMode;
use super::surface::ContactModel;

/// Marks a vertex without an exit triangle.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Vertices per parallel block.
const BLOCK: usize = 256;
/// A walk fails if it ends further away than this many times the nearest distance plus this many cells.
const PATIENCE: f64 = 4.0;
const PATIENCE_CELLS: f64 = 0.5;
/// Two surfaces face each other where the cosine between their normals is below this.
const FACING: f64 = -0.1;
/// Maximum distance of an exit that faces the point, in thicknesses of the point's own body; and maximum thickness to
/// search for, in cells.
const LONGEST_WAY_OUT: f64 = 0.75;
const MAX_THICKNESS: f64 = 16.0;
/// The far side of a body at a point is where the cosine between both normals is below this.
const FAR_SIDE: f64 = -0.5;
/// Flesh within this many cells of a vertex at rest is its neighborhood (MCA-25): when it crumples, its elasticity
/// resists. For hexahedra, which may have several copies at one position, cells must connect them too: two fingers side
/// by side are not neighbors.
const SURROUNDINGS: f64 = 2.0;

/// A vertex inside flesh, and its exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exit {
    pub vertex: u32,
    /// Triangle of the collision surface.
    pub triangle: u32,
    pub barycentric: [f64; 3],
    /// Outward normal of the deformed triangle.
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

/// The search for exits, with scratch memory.
pub(super) struct MaterialSpace {
    cells: CellTree,
    /// Rest positions of all points.
    rest: Vec<Vec3>,
    /// Rest surface of each group that others may enter.
    surfaces: Vec<Option<RestSurface>>,
    paired: Vec<bool>,
    /// Vertices that may enter others.
    vertices: Vec<u32>,
    found: Vec<Option<Exit>>,
    /// Outward normals of the vertices, and of the triangles; zero where there is no area.
    normals: Vec<Vec3>,
    faces: Vec<Vec3>,
    /// Thickness of the body at each vertex at rest \[m\].
    thickness: Vec<f64>,
    /// Whether a point belongs to an inverted cell.
    is_inverted: Vec<bool>,
    around: Neighbors,
}

/// For each point of a hexahedron, the points that share a hexahedron with it, itself included, sorted. Empty for
/// points of other cells.
struct Neighbors {
    starts: Vec<u32>,
    points: Vec<u32>,
}

impl Neighbors {
    fn new(count: usize, hexes: &[[u32; 8]]) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(64 * hexes.len());
        for hex in hexes {
            pairs.extend(hex.iter().flat_map(|&a| hex.iter().map(move |&b| (a, b))));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; count + 1];
        pairs.iter().for_each(|&(a, _)| starts[a as usize + 1] += 1);
        for point in 0..count {
            starts[point + 1] += starts[point];
        }
        Self { starts, points: pairs.into_iter().map(|(_, b)| b).collect() }
    }

    fn of(&self, point: u32) -> &[u32] {
        &self.points[self.starts[point as usize] as usize..self.starts[point as usize + 1] as usize]
    }

    fn is_empty(&self, point: u32) -> bool {
        self.of(point).is_empty()
    }

    /// Whether one cell, or two that share a node, connect two points.
    fn are_near(&self, a: u32, b: u32) -> bool {
        let (mut a, mut b) = (self.of(a), self.of(b));
        while let (Some(first), Some(second)) = (a.first(), b.first()) {
            match first.cmp(second) {
                std::cmp::Ordering::Less => a = &a[1..],
                std::cmp::Ordering::Greater => b = &b[1..],
                std::cmp::Ordering::Equal => return true,
            }
        }
        false
    }
}

impl MaterialSpace {
    /// Creates the search for a model with penalty rules; `rest` holds the rest positions of all points.
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
        let mut space = Self {
            around: Neighbors::new(rest.len(), &model.hexes),
            cells: CellTree::new(model.tets.clone()),
            is_inverted: vec![false; rest.len()],
            rest,
            surfaces,
            paired: model.paired(ContactMode::Penalty),
            found: vec![None; vertices.len()],
            normals: vec![Vec3::zero(); model.vertex_count()],
            faces: vec![Vec3::zero(); model.triangles.len()],
            thickness: vec![0.0; model.vertex_count()],
            vertices,
        };
        space.find_normals(model, &model.rest);
        space.thickness = (0..model.vertex_count()).map(|vertex| space.thickness_at(model, vertex)).collect();
        space
    }

    /// Distance from a vertex to the far side of its own body at rest \[m\]; zero for vertices that enter nothing.
    fn thickness_at(&self, model: &ContactModel, vertex: usize) -> f64 {
        let group = model.vertex_groups[vertex] as usize;
        let Some(surface) = &self.surfaces[group] else { return 0.0 };
        let first = model.groups[group].triangles.start;
        let is_far = |local: u32| self.faces[first + local as usize].dot(self.normals[vertex]) < FAR_SIDE;
        let reach = MAX_THICKNESS * model.groups[group].cell;
        surface.nearest_where(model.rest[vertex], reach, is_far).map_or(reach, |(_, _, distance)| distance)
    }

    /// Rebuilds the tree of cells.
    pub fn begin_step(&mut self, x: &[Vec3]) {
        self.cells.rebuild(x);
    }

    /// Finds the exits of all vertices, at points `x` and vertices `y`; `memory` holds the last exit triangle of each
    /// vertex.
    pub fn find(&mut self, model: &ContactModel, x: &[Vec3], y: &[Vec3], memory: &[u32], exits: &mut Vec<Exit>) {
        self.cells.refit(x);
        self.is_inverted.fill(false);
        for tet in self.cells.tets() {
            let [a, b, c, d] = tet.map(|point| x[point as usize]);
            // This form catches NaN too.
            if !(tet_volume(a, b, c, d) > 0.0) {
                tet.iter().for_each(|&point| self.is_inverted[point as usize] = true);
            }
        }
        self.find_normals(model, y);
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

    fn find_normals(&mut self, model: &ContactModel, y: &[Vec3]) {
        let unit = |v: Vec3| if v.norm() > 0.0 { v / v.norm() } else { Vec3::zero() };
        self.normals.fill(Vec3::zero());
        for (face, triangle) in self.faces.iter_mut().zip(&model.triangles) {
            let [a, b, c] = triangle.map(|v| y[v as usize]);
            let area = (b - a).cross(c - a);
            triangle.iter().for_each(|&v| self.normals[v as usize] += area);
            *face = unit(area);
        }
        self.normals.iter_mut().for_each(|normal| *normal = unit(*normal));
    }

    /// Finds the exit of one vertex: the shortest over all cells that contain it.
    fn exit(&self, model: &ContactModel, x: &[Vec3], y: &[Vec3], last: u32, vertex: u32) -> Option<Exit> {
        let own = model.vertex_groups[vertex as usize] as usize;
        let carriers = model.carriers(vertex as usize);
        let place = y[vertex as usize];
        let is_turned =
            |vertex: u32| model.carriers(vertex as usize).iter().any(|&(point, _)| self.is_inverted[point as usize]);
        // The surface of inverted flesh has no outside.
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
                let leads_there = |a: u32| nodes.iter().any(|&b| self.around.are_near(a, b));
                if self.around.is_empty(nodes[0]) || carriers.iter().any(|&(point, _)| leads_there(point)) {
                    return;
                }
            }
            let Some((depth, exit)) = self.way_out(model, group, material, last, vertex) else { return };
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
    ) -> Option<(f64, Exit)> {
        let surface = self.surfaces[group].as_ref()?;
        let first = model.groups[group].triangles.start as u32;
        let is_other = model.vertex_groups[vertex as usize] as usize != group;
        let cosine = |local: u32| self.faces[(first + local) as usize].dot(self.normals[vertex as usize]);
        let cell = model.groups[group].cell;
        let mut nearest = surface.nearest(material)?;
        if is_other && cosine(nearest.0) >= FACING {
            let reach = LONGEST_WAY_OUT * self.thickness[vertex as usize];
            nearest = surface.nearest_where(material, reach, |local| cosine(local) < FACING).unwrap_or(nearest);
        }
        if model.groups[group].triangles.contains(&(last as usize)) {
            let walked = surface.nearest_near(material, last - first);
            let turns_away = is_other && cosine(nearest.0) < FACING && cosine(walked.0) >= FACING;
            if !turns_away && walked.2 <= PATIENCE * nearest.2 + PATIENCE_CELLS * cell {
                nearest = walked;
            }
        }
        let (local, barycentric, depth) = nearest;
        let triangle = first + local;
        let normal = self.faces[triangle as usize];
        // Flesh folded so far that a vertex would exit through its own triangle needs only its elasticity, not contact.
        let is_own = model.triangles[triangle as usize].contains(&vertex);
        (!is_own && normal != Vec3::zero()).then_some((depth, Exit { vertex, triangle, barycentric, normal }))
    }
}
