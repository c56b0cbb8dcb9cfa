//! The parts of a character.

use std::collections::BTreeMap;

use sinew_math::{Mat3, Quaternion, Vec3};

use crate::affine::Affine;
use crate::animation::Animation;
use crate::appearance::Appearance;

/// A character: everything of a file that moves or is moved.
#[derive(Clone, Debug, Default)]
pub struct Rig {
    /// The tree; parents may come after their children.
    pub nodes: Vec<Node>,
    /// Surfaces, which nodes refer to.
    pub surfaces: Vec<Surface>,
    /// Skins, which nodes refer to.
    pub skins: Vec<Skin>,
    /// Animations.
    pub animations: Vec<Animation>,
    /// What surfaces look like.
    pub appearance: Appearance,
    /// What deserves attention.
    pub notes: Vec<String>,
}

/// A node of the tree: a joint, or where a surface stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name; empty where it has none.
    pub name: String,
    /// The node it moves with.
    pub parent: Option<usize>,
    /// Its place in its parent.
    pub transform: Transform,
    /// Surface that stands here.
    pub surface: Option<usize>,
    /// Skin that moves the surface instead of this node.
    pub skin: Option<usize>,
    /// Weights of the morph targets, where they differ from those of the surface.
    pub morph_weights: Option<Vec<f64>>,
    /// Whether it is part of the scene that is shown.
    pub is_shown: bool,
}

/// A place in a parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// First scaled, then turned, then moved; what animations change.
    Parts {
        /// Moved [m].
        translation: Vec3,
        /// Turned; a unit quaternion.
        rotation: Quaternion,
        /// Scaled along its own axes.
        scale: Vec3,
    },
    /// As a whole, which animations replace by the identity and what they say.
    Matrix(Affine),
}

impl Transform {
    /// At its parent.
    pub fn identity() -> Self {
        Self::Parts { translation: Vec3::zero(), rotation: Quaternion::identity(), scale: Vec3::new(1.0, 1.0, 1.0) }
    }

    /// Moved only.
    pub fn from_translation(translation: Vec3) -> Self {
        Self::Parts { translation, rotation: Quaternion::identity(), scale: Vec3::new(1.0, 1.0, 1.0) }
    }

    /// As one map.
    pub fn to_affine(&self) -> Affine {
        match *self {
            Self::Parts { translation, rotation, scale } => {
                Affine { linear: rotation.to_matrix() * Mat3::diagonal(scale), translation }
            }
            Self::Matrix(affine) => affine,
        }
    }
}

/// A surface in parts of one material each.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    /// Name; empty where it has none.
    pub name: String,
    /// The parts.
    pub parts: Vec<Part>,
    /// Weights of the morph targets of all parts.
    pub morph_weights: Vec<f64>,
}

/// Triangles of one material.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Vertices, before any morph target and skin [m].
    pub positions: Vec<Vec3>,
    /// Normals of the vertices; empty where there are none.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates of the vertices, set by set, v downwards as in glTF.
    pub texcoords: Vec<Vec<[f32; 2]>>,
    /// Colours with opacity; empty where there are none.
    pub colors: Vec<[f32; 4]>,
    /// Numbers of the vertices under names of their own, which begin with `_` in glTF, such as `_ATTACHMENT`.
    pub numbers: BTreeMap<String, Vec<f32>>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Who moves the vertices, and by how much.
    pub weights: Weights,
    /// Shapes that can be added.
    pub morph_targets: Vec<MorphTarget>,
    /// Material in [`Appearance::materials`].
    pub material: Option<usize>,
}

/// A shape that can be added.
#[derive(Clone, Debug, Default)]
pub struct MorphTarget {
    /// Name; empty where it has none.
    pub name: String,
    /// Displacements of the vertices; empty where none moves.
    pub positions: Vec<Vec3>,
    /// What is added to the normals of the vertices; empty where nothing is said. Written, not read: flesh has normals of its own.
    pub normals: Vec<[f32; 3]>,
}

/// Joints of each vertex, as many for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Joints per vertex; 0 where no skin moves the vertices.
    pub width: usize,
    /// Numbers in [`Skin::joints`], vertex by vertex.
    pub joints: Vec<u32>,
    /// Weights, vertex by vertex, as they are: they may not sum to one.
    pub weights: Vec<f32>,
}

impl Weights {
    /// Joints of a vertex with their weights, without those of no weight.
    pub fn of(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = vertex * self.width..(vertex + 1) * self.width;
        let pairs = self.joints[range.clone()].iter().zip(&self.weights[range]);
        pairs.filter(|&(_, &weight)| weight != 0.0).map(|(&joint, &weight)| (joint as usize, f64::from(weight)))
    }
}

/// Joints that move vertices.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Name; empty where it has none.
    pub name: String,
    /// Nodes.
    pub joints: Vec<usize>,
    /// From where vertices are stored to each joint, in the pose in which they were bound.
    pub inverse_binds: Vec<Affine>,
}

/// Why a character makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigError {
    /// A name that nobody has.
    #[error("there is no animation `{name}`: it has {}", list(.known))]
    NoAnimation {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".into()
    } else {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

impl Rig {
    /// The animation of a name; the first one without a name.
    ///
    /// # Errors
    /// When nobody has the name. Without a name and without any animation there is none.
    pub fn animation(&self, name: Option<&str>) -> Result<Option<&Animation>, RigError> {
        let Some(name) = name else { return Ok(self.animations.first()) };
        let known = || self.animations.iter().map(|animation| animation.name.clone()).collect();
        let found = self.animations.iter().find(|animation| animation.name == name);
        found.map(Some).ok_or_else(|| RigError::NoAnimation { name: name.into(), known: known() })
    }

    /// Nodes in an order in which parents come before their children.
    pub fn order(&self) -> Vec<usize> {
        let mut depths: Vec<Option<u32>> = vec![None; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut path = Vec::new();
            let mut node = start;
            let mut depth = loop {
                if let Some(depth) = depths[node] {
                    break depth;
                }
                path.push(node);
                match self.nodes[node].parent {
                    // Trees have no cycles; should there be one, it ends here.
                    Some(parent) if path.len() <= self.nodes.len() => node = parent,
                    _ => break 0,
                }
            };
            for &node in path.iter().rev() {
                depth += 1;
                depths[node].get_or_insert(depth);
            }
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&node| depths[node]);
        order
    }
}
