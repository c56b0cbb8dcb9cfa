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
//! - [`shape_functions`]: interpolation in cells, from coordinates in their reference cell
//! - [`region`]: selects nodes of a mesh by name or shape
//!
//! Start with [`CellMesh`], [`TriMesh`] and [`Embedding`].
//!
//! ```
//! use sinew_geometry::Embedding;
//! use sinew_geometry::procedural::{TetPattern, box_tets};
//! use sinew_math::Vec3;
//!
//! let mesh = box_tets(Vec3::new(0.2, 0.1, 0.1), [4, 2, 2], TetPattern::Kuhn)?;
//! assert_eq!(mesh.cell_count(), 6 * 4 * 2 * 2);
//! assert!((mesh.volume() - 0.002).abs() < 1e-12);
//! let point = Embedding::bind(&mesh, &[Vec3::new(0.11, 0.03, 0.02)])?;
//! let mut position = [Vec3::zero()];
//! point.positions(mesh.positions(), &mut position);
//! assert!((position[0] - Vec3::new(0.11, 0.03, 0.02)).norm() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod shape_functions;
mod voxel_grid;

pub use embedding::{Embedding, EmbeddingError};
pub use fill::{FillError, FillOptions, Filled, fill_surface};
pub use lattice::{HexLattice, LatticeError, LatticeOptions};
pub use mesh::{
    Aabb, CellBlock, CellKind, CellMesh, MeshError, MeshField, MeshQuality, MeshReport, RemainingMesh, TriMesh,
};
pub use region::{Region, RegionError};
pub use shape::Shape;
pub use voxel_grid::VoxelGrid;
