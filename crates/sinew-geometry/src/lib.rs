//! Time-independent geometry: meshes, procedural bodies, fibers, embedding, filling, colliders and regions.
//!
//! - [`mesh`]: [`CellMesh`] (volumes) and [`TriMesh`] (surfaces), checked on construction
//! - [`procedural`]: boxes, spheres, cylinders, tori and whole muscles from a few numbers
//! - [`embedding`]: points bound to cells; positions are interpolated, forces transferred back
//! - [`fibers`]: directions of muscle fibers, from B-spline solids and from Laplace's equation
//! - [`fill`]: fills a closed surface with a lattice of tetrahedra and binds the surface to it
//! - [`lattice`]: covers a closed surface with cubes, on several levels; parts that share a cube but no flesh stay
//!   separate
//! - [`proximity`]: closest points, safe motion and contact candidates of moving triangles
//! - [`shape`]: planes, spheres, capsules and cuboids by signed distance
//! - [`region`]: selects nodes of a mesh by name or shape

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
pub use mesh::{
    Aabb, CellBlock, CellKind, CellMesh, MeshError, MeshField, MeshQuality, MeshReport, RemainingMesh, TriMesh,
};
pub use region::{Region, RegionError};
pub use shape::Shape;
