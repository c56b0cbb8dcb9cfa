//! The parts of a character.

use std::collections::BTreeMap;

use sinew_math::{Mat3, Quaternion, Vec3};

use crate::affine::Affine;
use crate::animation::Animation;
use crate::appearance::Appearance;

/// A character: everything in a file that moves or is moved.
#[derive(Clone, Debug, Default)]
pub struct Rig {
    /// The tree; parents may follow their children.
    pub nodes: Vec<Node>,
    /// Surfaces, which nodes refer to.
    pub surfaces: Vec<Surface>,
    /// Skins, which nodes refer to.
    pub skins: Vec<Skin>,
    /// Animations.
    pub animations: Vec<Animation>,
    /// Nodes by the bone of a human that they are, with the names of VRM 1: `hips`, `leftUpperArm` … Empty if the file
    /// does not say.
    pub humanoid: BTreeMap<String, usize>,
    /// Materials and images of the surfaces.
    pub appearance: Appearance,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A node of the tree: a joint, or the location of a surface.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name, possibly empty.
    pub name: String,
    /// Its parent.
    pub parent: Option<usize>,
    /// Its transform relative to the parent.
    pub transform: Transform,
    /// Surface at this node.
    pub surface: Option<usize>,
    /// Skin that moves the surface instead of this node.
    pub skin: Option<usize>,
    /// Weights of the morph targets, if different from those of the surface.
    pub morph_weights: Option<Vec<f64>>,
    /// Whether it is part of the visible scene.
    pub is_shown: bool,
}

/// A transform relative to a parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// Scale, then rotation, then translation; the parts that animations change.
    Parts {
        /// Translation \[m\].
        translation: Vec3,
        /// Rotation; a unit quaternion.
        rotation: Quaternion,
        /// Scale along its own axes.
        scale: Vec3,
    },
    /// A matrix; an animation replaces it by the identity with the animated parts.
    Matrix(Affine),
}

impl Transform {
    /// The identity.
    pub fn identity() -> Self {
        Self::Parts { translation: Vec3::zero(), rotation: Quaternion::identity(), scale: Vec3::new(1.0, 1.0, 1.0) }
    }

    /// A pure translation.
    pub fn from_translation(translation: Vec3) -> Self {
        Self::Parts { translation, rotation: Quaternion::identity(), scale: Vec3::new(1.0, 1.0, 1.0) }
    }

    /// As an affine map.
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
    /// Name, possibly empty.
    pub name: String,
    /// The parts.
    pub parts: Vec<Part>,
    /// Weights of the morph targets of all parts.
    pub morph_weights: Vec<f64>,
}

/// Triangles of one material.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Vertices, before morph targets and skinning \[m\].
    pub positions: Vec<Vec3>,
    /// Vertex normals; may be empty.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates of the vertices, set by set, v downward as in glTF.
    pub texcoords: Vec<Vec<[f32; 2]>>,
    /// Colors with opacity; may be empty.
    pub colors: Vec<[f32; 4]>,
    /// Custom vertex attributes by name; names begin with `_` in glTF, such as `_ATTACHMENT`.
    pub numbers: BTreeMap<String, Vec<f32>>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Skin weights of the vertices.
    pub weights: Weights,
    /// Morph targets.
    pub morph_targets: Vec<MorphTarget>,
    /// Material in [`Appearance::materials`].
    pub material: Option<usize>,
}

/// A morph target.
#[derive(Clone, Debug, Default)]
pub struct MorphTarget {
    /// Name, possibly empty.
    pub name: String,
    /// Vertex displacements; empty if none moves.
    pub positions: Vec<Vec3>,
    /// Additions to the vertex normals; may be empty. Written but not read: flesh computes its own normals.
    pub normals: Vec<[f32; 3]>,
}

/// Joints of each vertex, the same number for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Joints per vertex; 0 without a skin.
    pub width: usize,
    /// Indices into [`Skin::joints`], vertex by vertex.
    pub joints: Vec<u32>,
    /// Weights, vertex by vertex, as stored: they may not sum to one.
    pub weights: Vec<f32>,
}

impl Weights {
    /// Joints of a vertex with nonzero weights.
    pub fn of(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = vertex * self.width..(vertex + 1) * self.width;
        let pairs = self.joints[range.clone()].iter().zip(&self.weights[range]);
        pairs.filter(|&(_, &weight)| weight != 0.0).map(|(&joint, &weight)| (joint as usize, f64::from(weight)))
    }
}

/// Joints that move vertices.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Name, possibly empty.
    pub name: String,
    /// Nodes.
    pub joints: Vec<usize>,
    /// Inverse bind matrices: from the bind space of the vertices to each joint.
    pub inverse_binds: Vec<Affine>,
}

/// Why a request to a rig fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigError {
    /// No animation has this name.
    #[error("there is no animation `{name}`: it has {}", list(.known))]
    NoAnimation {
        /// The name.
        name: String,
        /// Existing names.
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
    /// The animation with this name; the first animation if `name` is `None`.
    ///
    /// # Errors
    /// When no animation has the name. Without a name and without animations the result is `None`.
    pub fn animation(&self, name: Option<&str>) -> Result<Option<&Animation>, RigError> {
        let Some(name) = name else { return Ok(self.animations.first()) };
        let known = || self.animations.iter().map(|animation| animation.name.clone()).collect();
        let found = self.animations.iter().find(|animation| animation.name == name);
        found.map(Some).ok_or_else(|| RigError::NoAnimation { name: name.into(), known: known() })
    }

    /// Nodes in an order with parents before their children.
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
                    // A tree has no cycles; if there is one, stop here.
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
