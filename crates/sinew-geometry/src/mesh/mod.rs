//! Meshes: plain arrays, checked once on construction.
//!
//! - [`CellMesh`]: volume meshes of tetrahedra (linear or quadratic) and hexahedra, with labels, named sets and fields
//! - [`TriMesh`]: triangle surfaces, their topology, normals and winding numbers
//! - [`FaceAdjacency`], [`NodeCells`], [`Components`]: adjacency
//! - [`MeshQuality`]: shape quality of the cells
//! - [`Aabb`]: bounding boxes

mod aabb;
mod adjacency;
mod attributes;
mod cell;
mod cell_mesh;
mod check;
mod fade;
mod intersection;
mod nearest;
mod quadratic;
mod quality;
mod removal;
mod tri_mesh;
mod tri_topology;
mod winding;

pub use aabb::Aabb;
pub use adjacency::{Components, FaceAdjacency, NodeCells};
pub use attributes::MeshField;
pub use cell::{CellBlock, CellKind, HEX_CORNERS, MAX_CELL_NODES, tet_volume, tet10_jacobians};
pub use cell_mesh::CellMesh;
pub use check::{MAX_COORDINATE, MAX_ENTRIES, MeshError, MeshReport};
pub use fade::faded;
pub use nearest::{NearestPlaces, SurfacePlace};
pub use quality::MeshQuality;
pub use removal::RemainingMesh;
pub use tri_mesh::{TriMesh, closest_on_triangle, vertex_normals};
pub use tri_topology::SurfaceTopology;
pub use winding::WindingNumber;

pub(crate) use adjacency::find_root;
pub(crate) use intersection::{overlap_depth, segment_meets_triangle, triangles_intersect};
pub(crate) use tri_mesh::triangle_normal;
