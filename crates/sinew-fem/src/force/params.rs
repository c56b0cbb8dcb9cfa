//! How a force comes into a model: parameters that are plain data, and the model in the making on which they become a
//! force.

use std::fmt::Debug;
use std::sync::Arc;

use sinew_geometry::CellMesh;
use sinew_geometry::shape::Pose;
use sinew_math::Vec3;
use thiserror::Error;

use super::Force;
use crate::control::ChannelTable;

/// Why a force cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("body \"{body}\", {key} \"{name}\": {reason}")]
pub struct ForceError {
    /// The body.
    pub body: String,
    /// The kind of force, by its key in scenes.
    pub key: &'static str,
    /// The name of the force.
    pub name: String,
    /// What is wrong.
    pub reason: String,
}

/// What a force is made of: bodies and rigid bodies by index, nodes by number. Plain data, which can be kept and
/// assembled again.
pub trait ForceParams: Debug + Send + Sync + 'static {
    /// The force on the points of a model.
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError>;
    /// The same force after nodes were renumbered. What acts on lost nodes or flesh is left out; the rest acts as
    /// before. `None` where the force cannot follow: then no cells can be removed from its model.
    fn renumbered(&self, _map: &dyn NodeMap) -> Option<Renumbered> {
        None
    }
    /// Place of its kind in the list of forces, small ones first. Sums of floating-point numbers depend on their order,
    /// so ranks stay as they are; new kinds have none and come last, in the order in which they were added.
    fn rank(&self) -> u8 {
        u8::MAX
    }
}

/// So that parameters that were kept or renumbered go into a model as new ones do.
impl ForceParams for Arc<dyn ForceParams> {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        (**self).assemble(assembly)
    }

    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        (**self).renumbered(map)
    }

    fn rank(&self) -> u8 {
        (**self).rank()
    }
}

/// The model in the making, as forces see it.
pub trait Assembly {
    /// Name of a body.
    fn body_name(&self, body: usize) -> &str;
    /// Mesh of a body at rest.
    fn mesh(&self, body: usize) -> &CellMesh;
    /// The point of a node.
    fn point(&self, body: usize, node: u32) -> u32;
    /// Initial place of a rigid body.
    fn rigid_pose(&self, rigid: usize) -> Pose;
    /// Adds a massless point fixed to a rigid body, at a place in its frame \[m\].
    fn add_rigid_point(&mut self, rigid: usize, local: Vec3) -> u32;
    /// Adds a massless point that is a weighted sum of nodes of a body. These must not be bound to others: an error
    /// names the first that is.
    fn add_flesh_point(&mut self, body: usize, weights: &[(u32, f64)]) -> Result<u32, u32>;
    /// Channels, for those of the force.
    fn channels(&mut self) -> &mut ChannelTable;
    /// Whether fibers of a body have this name.
    fn has_muscle(&self, body: usize, name: &str) -> bool;
    /// Whether there is a force of this full name already.
    fn has_force(&self, name: &str) -> bool;
}

/// New numbers of the nodes of a model that has lost cells. Nodes are given by their old numbers.
pub trait NodeMap {
    /// New number of a node; `None` where it is gone.
    fn node(&self, body: usize, node: u32) -> Option<u32>;
    /// Rest position of a node \[m\].
    fn rest_position(&self, body: usize, node: u32) -> Vec3;
    /// Which of these places in the flesh of a body, at rest \[m\], are left.
    fn places_left(&self, body: usize, places: &[Vec3]) -> Vec<bool>;
    /// Whether a triangle, by new numbers, is on the boundary of what is left.
    fn is_boundary(&self, body: usize, triangle: [u32; 3]) -> bool;
}

/// A force after nodes were renumbered.
pub struct Renumbered {
    /// The force without what is gone.
    pub params: Arc<dyn ForceParams>,
    /// The body it belongs to.
    pub body: usize,
    /// Kind of force, for messages.
    pub kind: &'static str,
    /// Name of the force.
    pub name: String,
    /// What it consists of: springs, triangles, nodes.
    pub things: &'static str,
    /// How many of them are gone.
    pub lost: usize,
    /// How many there were.
    pub count: usize,
    /// Whether the force makes no sense once all are gone. Loads may be left without a node: their channels stay.
    pub needs_some: bool,
}

/// Triangles of a body that are still on its boundary, by their new numbers.
pub(super) fn triangles_left(triangles: &[[u32; 3]], body: usize, map: &dyn NodeMap) -> Vec<[u32; 3]> {
    let new = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|node| map.node(body, node));
        Some([a?, b?, c?]).filter(|&triangle| map.is_boundary(body, triangle))
    };
    triangles.iter().filter_map(new).collect()
}

/// Nodes that are left, with what belongs to them.
pub(super) fn nodes_left<T: Copy>(nodes: &[(u32, T)], body: usize, map: &dyn NodeMap) -> Vec<(u32, T)> {
    nodes.iter().filter_map(|&(node, value)| Some((map.node(body, node)?, value))).collect()
}
