//! Joints, lumps and motions of a character, and the resulting rig.

use std::collections::{BTreeMap, HashMap};

use sinew_geometry::TriMesh;
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};

use super::field::Field;
use super::mesher::{PIECE, Symmetry, near_points, surface_net};
use super::motion::{Motion, Trial};
use super::weights::{Chain, skin_weights};
use super::{Character, CharacterParams, arm, hand, leg, torso};
use crate::affine::Affine;
use crate::animation::Animation;
use crate::appearance::{Appearance, Material};
use crate::rig::{Node, Part, Rig, Skin, Surface, Transform};

/// Largest number of vertices: 5 million need a few gigabytes in later stages.
const VERTEX_LIMIT: usize = 5_000_000;

/// Largest number of keys of an animation: over an hour of film.
const KEY_LIMIT: f64 = 100_000.0;

/// A bone as a capsule, in world coordinates of the rest pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoneHint {
    /// The node that moves it, in [`Rig::nodes`].
    pub joint: usize,
    /// One end \[m\].
    pub from: Vec3,
    /// The other end \[m\].
    pub to: Vec3,
    /// Radius \[m\].
    pub radius: f64,
    /// Its name if flesh slides over it, because it is close to the skin; otherwise flesh is attached to it.
    pub sliding: Option<&'static str>,
}

/// Why a character cannot be generated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CharacterError {
    /// A number that is not positive and finite.
    #[error("`{name}` must be positive, but is {value}")]
    NotPositive {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The character has no such motion.
    #[error("the {} has no motion `{name}`: it has {}", .character.name(), motion_names(*.character).join(", "))]
    NoMotion {
        /// The character.
        character: Character,
        /// The name.
        name: &'static str,
    },
    /// Parts of the skin merge.
    #[error("edges of {edge} m cannot resolve the {}: parts of its skin merge\nhint: try an edge of {} m", .character.name(), .character.usual_edge())]
    TooCoarse {
        /// The character.
        character: Character,
        /// Mean edge \[m\].
        edge: f64,
    },
    /// More vertices than allowed.
    #[error(
        "edges of {edge} m need about {vertex_count} vertices, and {limit} are allowed\nhint: make the edge longer"
    )]
    TooFine {
        /// Mean edge \[m\].
        edge: f64,
        /// Estimated number.
        vertex_count: usize,
        /// Largest number allowed.
        limit: usize,
    },
    /// More keys than allowed.
    #[error(
        "`seconds` of {seconds} at a `frame_rate` of {frame_rate} are {keys:.3e} keys, and {KEY_LIMIT} are allowed\nhint: lower `seconds` or `frame_rate`"
    )]
    TooManyKeys {
        /// Keys per second.
        frame_rate: f64,
        /// Length of an animation \[s\].
        seconds: f64,
        /// Their product.
        keys: f64,
    },
    /// The skin is not a valid surface, which is an internal error.
    #[error("the skin is not a valid surface")]
    Mesh(#[from] sinew_geometry::MeshError),
}

/// A joint of the rest pose, where no joint is rotated.
pub(super) struct Joint {
    pub name: String,
    pub parent: Option<usize>,
    /// Position in the world \[m\].
    pub position: Vec3,
}

/// Layout of texture coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chart {
    /// Around a line from the origin along x with a slope, with a seam below.
    AroundX {
        /// Height per length.
        rise: f64,
    },
    /// Front and back side by side, with a seam where they meet.
    FrontAndBack,
}

/// Complete description of a character.
pub(super) struct Body {
    pub joints: Vec<Joint>,
    pub chains: Vec<Chain>,
    pub field: Field,
    pub symmetry: Symmetry,
    pub chart: Chart,
    /// Bones; joints are nodes with the same index.
    pub bones: Vec<BoneHint>,
    pub motions: Vec<Motion>,
    /// Motions that stress the flesh.
    pub trials: Vec<Trial>,
    /// Width of the skin over which parts of the body blend into each other \[m\].
    pub melt: f64,
    /// Approximate area of the skin \[m²\].
    pub skin_area: f64,
}

impl Body {
    pub fn of(character: Character) -> Self {
        match character {
            Character::Arm => arm::body(),
            Character::Hand => hand::body(),
            Character::Torso => torso::body(),
            Character::Leg => leg::body(),
        }
    }
}

/// Bones of a character for simulations: capsules in world coordinates of the rest pose.
pub fn bone_hints(character: Character) -> Vec<BoneHint> {
    Body::of(character).bones
}

/// Names of the motions of a character, the usual ones first.
pub fn motion_names(character: Character) -> Vec<&'static str> {
    let body = Body::of(character);
    body.motions.iter().map(|motion| motion.name).chain(body.trials.iter().map(|trial| trial.name)).collect()
}

/// A character: joints, a skin with weights, animations and a material.
///
/// Nodes are the joints, each with a translation relative to its parent and no rotation, followed by the node of the
/// skin.
///
/// # Errors
/// When a parameter is invalid, there would be too many keys, the edge is too long for the shape, or so short that
/// there would be too many vertices.
pub fn generate(params: &CharacterParams) -> Result<Rig, CharacterError> {
    let CharacterParams { character, edge, frame_rate, seconds, motion } = *params;
    for (name, value) in [("edge", edge), ("frame_rate", frame_rate), ("seconds", seconds)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(CharacterError::NotPositive { name, value });
        }
    }
    let keys = frame_rate * seconds;
    if keys > KEY_LIMIT {
        return Err(CharacterError::TooManyKeys { frame_rate, seconds, keys });
    }
    let body = Body::of(character);
    let animations: Vec<Animation> = match motion {
        None => body.motions.iter().map(|motion| motion.animation(frame_rate, seconds)).collect(),
        Some(name) => {
            let usual = body.motions.iter().find(|motion| motion.name == name);
            let trial = body.trials.iter().find(|trial| trial.name == name);
            let found = usual
                .map(|motion| motion.animation(frame_rate, seconds))
                .or_else(|| trial.map(|trial| trial.animation(frame_rate, seconds)));
            vec![found.ok_or(CharacterError::NoMotion { character, name })?]
        }
    };
    // Vertices per area of a mesh of equilateral triangles.
    let vertex_count = (body.skin_area / (edge * edge * 0.75f64.sqrt())) as usize;
    if vertex_count > VERTEX_LIMIT {
        return Err(CharacterError::TooFine { edge, vertex_count, limit: VERTEX_LIMIT });
    }
    let too_coarse = CharacterError::TooCoarse { character, edge };
    if vertex_count < 50 {
        return Err(too_coarse);
    }
    let net = surface_net(&body.field, edge, body.symmetry);
    let surface = TriMesh::new(net.positions, net.triangles)?;
    if surface.topology().euler_characteristic != 2 || surface.components().count != 1 {
        return Err(too_coarse);
    }
    let part = skin(&body, &surface);
    let material = plain_skin();
    let mut nodes: Vec<Node> = body.joints.iter().map(|joint| joint_node(joint, &body.joints)).collect();
    nodes.push(Node {
        name: character.name().into(),
        parent: None,
        transform: Transform::identity(),
        surface: Some(0),
        skin: Some(0),
        morph_weights: None,
        is_shown: true,
    });
    let inverse_binds =
        body.joints.iter().map(|joint| Affine { linear: Mat3::identity(), translation: -joint.position });
    let skin = Skin {
        name: character.name().into(),
        joints: (0..body.joints.len()).collect(),
        inverse_binds: inverse_binds.collect(),
    };
    Ok(Rig {
        nodes,
        surfaces: vec![Surface { name: character.name().into(), parts: vec![part], morph_weights: Vec::new() }],
        skins: vec![skin],
        animations,
        appearance: Appearance { materials: vec![material], ..Appearance::default() },
        ..Rig::default()
    })
}

/// The material of the characters. It stands for plain flesh.
pub fn plain_skin() -> Material {
    Material {
        name: "skin".into(),
        base_color: [0.80, 0.56, 0.45, 1.0],
        metallic: 0.0,
        roughness: 0.6,
        ..Material::default()
    }
}

fn joint_node(joint: &Joint, joints: &[Joint]) -> Node {
    let origin = joint.parent.map_or(Vec3::zero(), |parent| joints[parent].position);
    Node {
        name: joint.name.clone(),
        parent: joint.parent,
        transform: Transform::from_translation(joint.position - origin),
        surface: None,
        skin: None,
        morph_weights: None,
        is_shown: true,
    }
}

/// The skin with normals, texture coordinates and weights; vertices on the seam are duplicated.
fn skin(body: &Body, surface: &TriMesh) -> Part {
    let (sources, uvs, triangles) = charted(surface, body.chart);
    let normals: Vec<[f32; 3]> = surface
        .positions()
        .par_chunks(PIECE)
        .flat_map_iter(|points| {
            let near = near_points(&body.field, points);
            let normal = |p: &Vec3| near.slope(*p).gradient.normalized().to_array().map(|c| c as f32);
            points.iter().map(normal).collect::<Vec<_>>()
        })
        .collect();
    let weights = skin_weights(&body.field, &body.chains, surface, body.melt);
    let pick = |source: &u32| *source as usize;
    Part {
        positions: sources.iter().map(|source| surface.positions()[pick(source)]).collect(),
        normals: sources.iter().map(|source| normals[pick(source)]).collect(),
        texcoords: vec![uvs],
        colors: Vec::new(),
        numbers: BTreeMap::new(),
        triangles,
        weights: weights.picked(&sources),
        morph_targets: Vec::new(),
        material: Some(0),
    }
}

/// For each vertex, the vertex of the closed surface it copies; then its texture coordinates, and the triangles.
fn charted(surface: &TriMesh, chart: Chart) -> (Vec<u32>, Vec<[f32; 2]>, Vec<[u32; 3]>) {
    let bounds = surface.bounds();
    let size = bounds.size();
    let part = |p: Vec3, axis: usize| (p[axis] - bounds.min[axis]) / size[axis];
    let rise = if let Chart::AroundX { rise } = chart { rise } else { 0.0 };
    let mut sources: Vec<u32> = Vec::new();
    let mut uvs = Vec::new();
    let mut number: HashMap<(u32, bool), u32> = HashMap::new();
    let mut triangles = Vec::with_capacity(surface.triangle_count());
    for (index, triangle) in surface.triangles().iter().enumerate() {
        let corners = surface.corners(index);
        let around = corners.map(|p| (p.z.atan2(rise * p.x - p.y) / std::f64::consts::TAU).rem_euclid(1.0));
        let crosses_seam = around.iter().any(|u| *u > 0.75) && around.iter().any(|u| *u < 0.25);
        let faces_back = (corners[1] - corners[0]).cross(corners[2] - corners[0]).z < 0.0;
        triangles.push([0, 1, 2].map(|k| {
            // Whether this is the copy beyond the seam.
            let is_beyond = match chart {
                Chart::AroundX { .. } => crosses_seam && around[k] < 0.5,
                Chart::FrontAndBack => faces_back,
            };
            *number.entry((triangle[k], is_beyond)).or_insert_with(|| {
                sources.push(triangle[k]);
                let p = corners[k];
                let uv = match chart {
                    Chart::AroundX { .. } => [around[k] + f64::from(u8::from(is_beyond)), part(p, 0)],
                    Chart::FrontAndBack if is_beyond => [1.0 - 0.5 * part(p, 0), 1.0 - part(p, 1)],
                    Chart::FrontAndBack => [0.5 * part(p, 0), 1.0 - part(p, 1)],
                };
                uvs.push(uv.map(|c| c as f32));
                sources.len() as u32 - 1
            })
        }));
    }
    (sources, uvs, triangles)
}
