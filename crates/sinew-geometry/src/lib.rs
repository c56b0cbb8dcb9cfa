//! Shapes without time: meshes, procedural bodies, fibres, embedding, filling, colliders and regions.
//!
//! - [`mesh`]: [`CellMesh`] (volumes) and [`TriMesh`] (surfaces), checked on construction
//! - [`procedural`]: boxes, spheres, cylinders, tori and whole muscles from a few numbers
//! - [`embedding`]: points bound to cells; positions go down, forces come back
//! - [`fibers`]: directions of muscle fibres, from B-spline solids and from Laplace's equation
//! - [`fill`]: a closed surface becomes a lattice of tetrahedra with the surface bound to it
//! - [`lattice`]: a closed surface becomes cubes that keep apart what shares a cube but no flesh, on many levels
//! - [`proximity`]: closest points, safe motion and contact candidates of moving triangles
//! - [`shape`]: planes, spheres, capsules and cuboids by signed distance
//! - [`region`]: which nodes of a mesh a name or a shape selects

mod bvh;
mod predicates;

pub mod embedding;
pub mod fibers;
pub mod fill;
pub mod lattice;
pub mod mesh;
pub mod procedural;
pub mod proximity;
pub mod region;
pub mod shape;

pub use embedding::{Embedding, EmbeddingError};
pub use fill::{FillError, FillOptions, Filled, fill_surface};
pub use lattice::{HexLattice, LatticeError, LatticeOptions};
pub use mesh::{Aabb, CellBlock, CellKind, CellMesh, MeshError, MeshField, MeshQuality, MeshReport, TriMesh};
pub use region::{Region, RegionError};
pub use shape::Shape;
