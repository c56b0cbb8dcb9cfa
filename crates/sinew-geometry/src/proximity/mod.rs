//! Nearness of moving triangles: what contact needs to know about geometry.
//!
//! - [`point_triangle`], [`edge_edge`]: closest points of two primitives as weights on their vertices
//! - [`free_fraction`]: how far a motion may go before two primitives come too near
//! - [`SurfaceTree`]: which points, triangles and edges of many surfaces may be near each other, and which triangles cross
//! - [`CellTree`]: which deformed tetrahedra contain a point
//! - [`RestSurface`]: the nearest point of a resting surface, everywhere or on the side where one is

mod box32;
mod box_tree;
mod cell_tree;
mod closest;
mod impact;
mod leaf_pairs;
mod nearest;
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
pub use surface_tree::{Candidates, SurfaceTree};
