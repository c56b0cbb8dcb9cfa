//! Proximity of moving triangles: the geometry of contact.
//!
//! - [`point_triangle`], [`edge_edge`]: closest points of two primitives as weights on their vertices
//! - [`ray_triangle`]: where a ray meets a triangle
//! - [`free_fraction`]: the fraction of a motion before two primitives come too close
//! - [`SurfaceTree`]: candidate pairs of points, triangles and edges of many surfaces, and triangles that cross
//! - [`triangles_cross`]: whether two triangles cross
//! - [`CellTree`]: deformed tetrahedra that contain a point
//! - [`RestSurface`]: the nearest point of a surface at rest, global or local

mod box32;
mod box_block;
mod box_tree;
mod cell_tree;
mod closest;
mod impact;
mod leaf_pairs;
mod nearest;
mod parted;
mod plain_fans;
mod ray;
mod surface_topology;
mod surface_tree;
mod swept_box;

#[cfg(test)]
mod random;
#[cfg(test)]
mod surface_tree_tests;

pub use cell_tree::CellTree;
pub use closest::{Closest, edge_edge, point_triangle};
pub use impact::{PairKind, free_fraction};
pub use nearest::RestSurface;
pub use ray::ray_triangle;
pub use surface_tree::{Candidates, SurfaceTree, triangles_cross};
