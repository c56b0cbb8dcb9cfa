//! A deformable body: its mesh, its points and its visible surface.

use std::ops::Range;

use sinew_geometry::embedding::Embedding;
use sinew_geometry::lattice::HexLattice;
use sinew_geometry::{Aabb, CellMesh};
use sinew_math::Vec3;

use crate::material::{MaterialSpec, VolumeForm};

/// Parameters of [`crate::ModelBuilder::add_body`].
#[derive(Clone)]
pub struct BodyParams {
    /// Name, unique in the model.
    pub name: String,
    /// Mesh at rest, in its final position.
    pub mesh: CellMesh,
    /// The lattice behind the mesh, with the same numbering of cells and nodes but in any position; `None` for other
    /// meshes.
    pub lattice: Option<HexLattice>,
    /// Law of each cell.
    pub materials: Vec<MaterialSpec>,
    /// Density of each cell \[kg/m³\].
    pub densities: Vec<f64>,
    /// Where the volume term of the laws is evaluated; laws without one are always pointwise.
    pub volume: VolumeForm,
    /// α of Rayleigh damping \[1/s\].
    pub mass_damping: f64,
    /// β of Rayleigh damping \[s\].
    pub stiffness_damping: f64,
    /// γ of the rest-state damping in the rotated frame, see `solver/damping.rs` \[s\].
    pub tissue_damping: f64,
    /// In how many coordinates it deforms.
    pub deformation: Deformation,
    /// Place of each node before the first step where no pin holds it \[m\]; empty for the rest places.
    pub start: Vec<Vec3>,
    /// Initial velocity of each node \[m/s\]; empty for none.
    pub velocities: Vec<Vec3>,
    /// A finer surface bound to the mesh; `None` shows the boundary of the mesh.
    pub surface: Option<(Vec<[u32; 3]>, Embedding)>,
}

/// In how many coordinates a body deforms.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Deformation {
    /// Each node on its own.
    #[default]
    Free,
    /// As a whole, x = A X + t: twelve numbers.
    Affine,
    /// x = X + Σ φₖ qₖ: one number for each mode φ, which has a vector for each node.
    Modes(Vec<Vec<Vec3>>),
}

/// The visible surface of a body.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Triangles over the surface vertices.
    pub triangles: Vec<[u32; 3]>,
    /// For each vertex the nearest node at rest.
    pub nearest_nodes: Vec<u32>,
    /// Points of the body and weights that carry each vertex; `None` when vertices are nodes (those in
    /// `nearest_nodes`).
    pub embedding: Option<Embedding>,
    /// Rest area that belongs to each vertex \[m²\].
    pub areas: Vec<f64>,
}

impl Surface {
    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.nearest_nodes.len()
    }

    /// Calls `visit(node, weight)` for the nodes that carry a vertex.
    pub fn for_each_carrier(&self, vertex: usize, mut visit: impl FnMut(u32, f64)) {
        match &self.embedding {
            None => visit(self.nearest_nodes[vertex], 1.0),
            Some(embedding) => {
                let (nodes, weights) = embedding.entries(vertex);
                for (&node, &weight) in nodes.iter().zip(weights) {
                    visit(node, weight);
                }
            }
        }
    }

    /// Positions of the vertices for the given node positions.
    pub fn positions(&self, nodes: &[Vec3]) -> Vec<Vec3> {
        self.carried(nodes).collect()
    }

    /// Positions of the vertices, one after the other.
    pub fn carried<'a>(&'a self, nodes: &'a [Vec3]) -> impl Iterator<Item = Vec3> + 'a {
        (0..self.vertex_count()).map(|vertex| self.position(vertex, nodes))
    }

    /// Position of one vertex.
    pub fn position(&self, vertex: usize, nodes: &[Vec3]) -> Vec3 {
        let mut p = Vec3::zero();
        self.for_each_carrier(vertex, |node, weight| p += nodes[node as usize] * weight);
        p
    }
}

/// A deformable body of a model.
pub struct Body {
    /// Name from the scene.
    pub name: String,
    /// Mesh at rest.
    pub mesh: CellMesh,
    /// Points of its nodes.
    pub points: Range<usize>,
    /// The visible surface.
    pub surface: Surface,
    /// Elastic blocks of the body.
    pub elastic: Range<usize>,
    /// Law of each cell.
    pub materials: Vec<MaterialSpec>,
    /// In how many coordinates it deforms.
    pub deformation: Deformation,
    /// Rest volume \[m³\].
    pub rest_volume: f64,
    /// Mass \[kg\].
    pub mass: f64,
}

impl Body {
    /// Largest stiffness λ + 2μ of its cells \[Pa\].
    pub fn modulus(&self) -> f64 {
        let stiffness = |spec: &MaterialSpec| {
            let point = spec.point();
            point.lambda + 2.0 * point.mu
        };
        self.materials.iter().map(stiffness).fold(0.0, f64::max)
    }

    /// Bounding box of its visible surface for these node positions. Cells that carry a finer surface reach beyond it.
    pub fn bounds(&self, nodes: &[Vec3]) -> Aabb {
        match &self.surface.embedding {
            None => Aabb::from_points(nodes),
            Some(_) => {
                let mut bounds = Aabb::EMPTY;
                (0..self.surface.vertex_count())
                    .for_each(|vertex| bounds.include(self.surface.position(vertex, nodes)));
                bounds
            }
        }
    }

    /// Mean size of its cells at rest \[m\].
    pub fn cell_size(&self) -> f64 {
        (self.rest_volume / self.mesh.cell_count().max(1) as f64).cbrt()
    }
}
