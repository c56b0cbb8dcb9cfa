//! The skin of a character as one closed surface at rest, in meters, and the motion of its joints from there.

use std::collections::BTreeMap;

use sinew_geometry::TriMesh;
use sinew_math::Vec3;

use crate::affine::Affine;
use crate::choice::{Chosen, choose, told};
use crate::joints::{Assembly, BoundSkin, Joint};
use crate::motion::{Motion, stretches};
use crate::repair::{merge, spread_weights};
use crate::ride::{Anchor, Ride};
use crate::rig::{Rig, Weights};
use crate::roles::{Decision, Role};
use crate::soup::Soup;

/// The skin at rest.
#[derive(Clone, Debug)]
pub struct Flesh {
    /// The closed surface to simulate \[m\].
    pub surface: TriMesh,
    /// Joints of its vertices, as indices into [`Flesh::joints`], with weights that sum to one.
    pub weights: Vec<Vec<(u32, f64)>>,
    /// Joints that move something.
    pub joints: Vec<Joint>,
    /// Volume that the surface encloses, with closed borders \[m³\].
    pub volume: f64,
    /// All visible parts.
    pub pieces: Vec<Piece>,
    /// What was decided about each loose part of the skinned surfaces, and about what stands on other nodes.
    pub decisions: Vec<Decision>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A visible part of a surface.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its node.
    pub node: usize,
    /// Its surface.
    pub surface: usize,
    /// Its part of the surface.
    pub part: usize,
    /// Whether it is mirrored in the world, so that its triangles must be flipped to face outward.
    pub is_mirrored: bool,
    /// Source of each of its vertices.
    pub vertices: Vec<Source>,
    /// If its skin was bound in another pose than that of rest: for each vertex how far from its rest position the
    /// points lie that its joints move \[m\]; empty where all are the same.
    pub offsets: Vec<Vec<Vec3>>,
}

impl Piece {
    /// The name of its surface or else of its node.
    pub fn name<'a>(&self, rig: &'a Rig) -> &'a str {
        let (surface, node) = (&rig.surfaces[self.surface].name, &rig.nodes[self.node].name);
        [surface, node].into_iter().find(|name| !name.is_empty()).map_or("(no name)", |name| name)
    }

    /// Whether its node or its surface has this name.
    pub fn has_name(&self, rig: &Rig, name: &str) -> bool {
        rig.nodes[self.node].name == name || rig.surfaces[self.surface].name == name
    }
}

/// Motion of a vertex of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Follows a vertex of the flesh.
    Flesh(u32),
    /// Follows joints by skinning, from a rest position \[m\]: eyes, hair, clothes. Without joints it is static.
    Joints(Vec3, Vec<(u32, f64)>),
    /// Follows joints, and the surface of the flesh near it.
    Ride(Box<Ride>),
}

impl Source {
    /// Its rest position \[m\]; `surface` is that of the flesh.
    pub fn rest(&self, surface: &TriMesh) -> Vec3 {
        match self {
            Self::Flesh(vertex) => surface.positions()[*vertex as usize],
            Self::Joints(rest, _) => *rest,
            Self::Ride(ride) => ride.rest,
        }
    }
}

/// Why a character has no flesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FleshError {
    /// There is no surface.
    #[error(
        "the file has no mesh, only {joints} joints and {animations} animations; hint: it is a motion for another character, or was exported without its mesh"
    )]
    NoMesh {
        /// Number of joints.
        joints: usize,
        /// Number of animations.
        animations: usize,
    },
    /// Nothing is skinned.
    #[error("nothing is moved by a skeleton: no visible node has both a surface with weights and a skin")]
    NoSkin,
    /// No surface has this name.
    #[error("there is no skinned surface \"{name}\"; known surfaces: {known}")]
    NoSurface {
        /// The name.
        name: String,
        /// Existing names.
        known: String,
    },
    /// No part has this name.
    #[error("there is no part \"{name}\" of a skinned surface; known parts: {known}")]
    NoPart {
        /// The name.
        name: String,
        /// Existing names.
        known: String,
    },
    /// Joint transforms are singular.
    #[error(
        "joints have zero scale in the pose without animation: {joints}; hint: show the character at its size before the export"
    )]
    Flat {
        /// Their names.
        joints: String,
    },
    /// Inverse bind matrices are singular.
    #[error(
        "inverse bind matrices cannot be inverted, so that the rest of these joints is unknown: {joints}; hint: bind the surface to its skeleton again before the export"
    )]
    FlatBind {
        /// The names of their joints.
        joints: String,
    },
    /// No vertex has a weight.
    #[error("no vertex of the skinned surface has a weight; hint: bind it to its skeleton before the export")]
    NoWeights,
    /// No triangle has an area.
    #[error("no triangle of the skinned surface has an area")]
    NoArea,
    /// The surface encloses no volume.
    #[error("the skinned surface encloses no volume that could be flesh; hint: give it thickness")]
    NoVolume,
    /// Too few triangles.
    #[error("{0}")]
    Mesh(String),
}

/// Selection of the surfaces that are flesh.
#[derive(Clone, Debug, Default)]
pub struct FleshParams {
    /// Names of nodes or surfaces; empty for all that qualify.
    pub surfaces: Vec<String>,
    /// Names of nodes or surfaces that are bones, and never flesh.
    pub bones: Vec<String>,
    /// How flesh is chosen among the loose parts.
    pub choice: FleshChoice,
    /// Roles of parts by name: that of a surface or node, or of one of its parts, such as `"eyes:2"`.
    pub roles: Vec<(String, Role)>,
}

/// How flesh is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FleshChoice {
    /// By what encloses a volume, and by weights: surfaces may be open, doubled or inside each other.
    #[default]
    Auto,
    /// Closed pieces of at least a fifth of the volume of the largest, as they are in the file; all if none is closed.
    Closed,
}

impl Flesh {
    /// Joins the skinned surfaces of a character.
    ///
    /// # Errors
    /// When there is no skin, no surface with a requested name, or no sensible skeleton.
    pub fn new(rig: &Rig, params: &FleshParams) -> Result<Self, FleshError> {
        let pose = rig.pose(None, 0.0);
        let mut assembly = Assembly::new(rig, &pose);
        let mut skinned = Vec::new();
        let mut pieces = Vec::new();
        for (node, data) in rig.nodes.iter().enumerate().filter(|(_, node)| node.is_shown) {
            let Some(surface) = data.surface else { continue };
            for (part, shape) in rig.surfaces[surface].parts.iter().enumerate() {
                let piece =
                    Piece { node, surface, part, is_mirrored: false, vertices: Vec::new(), offsets: Vec::new() };
                if data.skin.is_some() && shape.weights.width > 0 && !shape.triangles.is_empty() {
                    skinned.push(pieces.len());
                }
                pieces.push(piece);
            }
        }
        if skinned.is_empty() {
            let joints = rig.nodes.iter().filter(|node| node.surface.is_none()).count();
            let animations = rig.animations.len();
            let has_motion = joints > 0 && animations > 0;
            let is_bare = rig.surfaces.iter().all(|surface| surface.parts.is_empty());
            return Err(match is_bare && has_motion {
                true => FleshError::NoMesh { joints, animations },
                false => FleshError::NoSkin,
            });
        }
        let is_flesh = |piece: &Piece| {
            let is_in = |names: &[String]| names.iter().any(|name| piece.has_name(rig, name));
            (params.surfaces.is_empty() || is_in(&params.surfaces)) && !is_in(&params.bones)
        };
        for name in &params.surfaces {
            let mut names: Vec<&str> = skinned
                .iter()
                .flat_map(|&k| [&rig.nodes[pieces[k].node].name[..], &rig.surfaces[pieces[k].surface].name])
                .filter(|name| !name.is_empty())
                .collect();
            names.sort_unstable();
            names.dedup();
            if !names.contains(&name.as_str()) {
                let known = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
                return Err(FleshError::NoSurface { name: name.clone(), known });
            }
        }
        // All skinned surfaces at rest, as a triangle soup; with a strict choice only those that may be flesh.
        let is_bone = |piece: &Piece| params.bones.iter().any(|name| piece.has_name(rig, name));
        let is_in_soup = |piece: &Piece| match params.choice {
            FleshChoice::Auto => !is_bone(piece),
            FleshChoice::Closed => is_flesh(piece),
        };
        let mut soup = Soup::default();
        for &k in skinned.iter().filter(|&&k| is_in_soup(&pieces[k])) {
            let piece = &pieces[k];
            let skin = rig.nodes[piece.node].skin.unwrap_or_default();
            let bound = assembly.skin(skin)?;
            let part = &rig.surfaces[piece.surface].parts[piece.part];
            let weights: Vec<Vec<(u32, f64)>> =
                (0..part.positions.len()).map(|vertex| shares(&part.weights, vertex, &bound.numbers)).collect();
            let stored = part.morphed(&rig.morph_weights(piece.node, None, 0.0));
            let rest = stored.iter().zip(&weights).map(|(&x, weights)| bound.rest(x, weights));
            soup.add(k, rest, &part.triangles);
            soup.weights.extend(weights);
            if bound.rest_from_stored.linear.determinant() < 0.0 {
                soup.flip_last(part.triangles.len());
            }
        }
        let mut notes = Vec::new();
        let mut welded = soup.weld();
        if welded.flat > 0 {
            notes.push(format!("{} triangles have no area and are ignored", welded.flat));
        }
        if welded.triangles.is_empty() {
            return Err(FleshError::NoArea);
        }
        let unweighted = welded.weights.iter().filter(|weights| weights.is_empty()).count();
        if unweighted == welded.weights.len() {
            return Err(FleshError::NoWeights);
        }
        if unweighted > 0 {
            notes.push(format!("{unweighted} vertices have no weights and move with the skin around them"));
            spread_weights(&mut welded.weights, &welded.triangles);
        }
        // Whole pieces without weights follow the first joint.
        for weights in welded.weights.iter_mut().filter(|weights| weights.is_empty()) {
            weights.push((0, 1.0));
        }
        let Chosen { kept: flesh, volume, anchors, mut decisions, notes: of_choice } =
            choose(rig, params, &pieces, welded)?;
        notes.extend(of_choice);
        // All joints before the parts they carry.
        for &k in &skinned {
            assembly.skin(rig.nodes[pieces[k].node].skin.unwrap_or_default())?;
        }
        let vertices_of: BTreeMap<usize, Vec<u32>> = flesh.vertices_of.into_iter().collect();
        for (k, piece) in pieces.iter_mut().enumerate() {
            let of_flesh = vertices_of.get(&k).map_or(&[][..], |vertices| vertices);
            let anchors = anchors.get(&k).map_or(&[][..], |anchors| anchors);
            (piece.is_mirrored, piece.vertices, piece.offsets) = assembly.sources(piece, of_flesh, anchors)?;
        }
        let is_skinned = |k: &usize| skinned.binary_search(k).is_ok();
        decisions.extend((0..pieces.len()).filter(|k| !is_skinned(k)).map(|k| Decision {
            name: pieces[k].name(rig).into(),
            triangles: rig.surfaces[pieces[k].surface].parts[pieces[k].part].triangles.len(),
            open_edges: 0,
            volume: 0.0,
            role: Role::OnBone,
            why: "hangs on a node without weights",
        }));
        notes.extend(match params.choice {
            FleshChoice::Auto => told(&decisions),
            FleshChoice::Closed => followers(rig, &pieces),
        });
        notes.append(&mut assembly.notes);
        let (surface, weights, joints) = (flesh.surface, flesh.weights, assembly.joints);
        Ok(Self { surface, weights, joints, volume, pieces, decisions, notes })
    }

    /// Vertex positions of a piece in a scene, from those of the flesh, the motions of the joints, and the placement of
    /// the character.
    pub fn place_piece(
        &self,
        piece: &Piece,
        flesh: &[Vec3],
        motions: &[Motion],
        scene_from_character: impl Fn(Vec3) -> Vec3,
    ) -> Vec<Vec3> {
        let blend = |rest: Vec3, weights: &[(u32, f64)]| {
            let moved = |&(joint, weight): &(u32, f64)| motions[joint as usize].to_world(rest) * weight;
            scene_from_character(if weights.is_empty() { rest } else { weights.iter().map(moved).sum() })
        };
        let place = |source: &Source| match source {
            Source::Flesh(vertex) => flesh[*vertex as usize],
            Source::Joints(rest, weights) => blend(*rest, weights),
            Source::Ride(ride) => {
                let Anchor { vertices, share } = ride.anchor;
                let gone = vertices.iter().map(|&(v, w)| {
                    let v = v as usize;
                    (flesh[v] - blend(self.surface.positions()[v], &self.weights[v])) * w
                });
                blend(ride.rest, &ride.weights) + gone.sum::<Vec3>() * share
            }
        };
        let mut places: Vec<Vec3> = piece.vertices.iter().map(place).collect();
        for ((x, offsets), source) in places.iter_mut().zip(&piece.offsets).zip(&piece.vertices) {
            let (rest, weights) = match source {
                Source::Flesh(_) => continue,
                Source::Joints(rest, weights) => (rest, weights),
                Source::Ride(ride) => (&ride.rest, &ride.weights),
            };
            let moved = |x: &dyn Fn(usize) -> Vec3| -> Vec3 {
                let parts = weights.iter().enumerate();
                parts.map(|(k, &(joint, weight))| motions[joint as usize].to_world(x(k)) * weight).sum()
            };
            if !offsets.is_empty() {
                let [from, to] = [moved(&|_| *rest), moved(&|k| *rest + offsets[k])];
                *x += scene_from_character(to) - scene_from_character(from);
            }
        }
        places
    }

    /// The motions of all joints from rest, for a pose of all nodes.
    pub fn motions(&self, pose: &[Affine]) -> Vec<Motion> {
        self.joints.iter().map(|joint| joint.motion(pose)).collect()
    }

    /// Largest factor by which joints stretch or shrink lengths relative to rest.
    pub fn largest_scale(&self, pose: &[Affine]) -> f64 {
        let scale = |joint: &Joint| {
            let [least, most] = stretches(&joint.pose_from_rest(pose));
            most.max(1.0 / least.max(f64::MIN_POSITIVE))
        };
        self.joints.iter().map(scale).fold(1.0, f64::max)
    }

    /// Vertices of the surface after blend skinning.
    pub fn blend(&self, motions: &[Motion]) -> Vec<Vec3> {
        let moved = |(x, weights): (&Vec3, &Vec<(u32, f64)>)| {
            weights.iter().map(|&(joint, weight)| motions[joint as usize].to_world(*x) * weight).sum()
        };
        self.surface.positions().iter().zip(&self.weights).map(moved).collect()
    }
}

/// Offsets of the joints of vertices, as in [`Piece::offsets`].
type Offsets = Vec<Vec<Vec3>>;

/// A note on the parts that follow by skinning.
fn followers(rig: &Rig, pieces: &[Piece]) -> Vec<String> {
    let follows = |piece: &&Piece| piece.vertices.iter().all(|source| matches!(source, Source::Joints(..)));
    let mut names: Vec<&str> = Vec::new();
    for name in pieces.iter().filter(follows).map(|piece| piece.name(rig)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { Vec::new() } else { vec![format!("follow by skinning: {}", names.join(", "))] }
}

/// Renumbered joints of one vertex, with weights that sum to one.
fn shares(weights: &Weights, vertex: usize, numbers: &[u32]) -> Vec<(u32, f64)> {
    let mut shares: Vec<(u32, f64)> = weights.of(vertex).map(|(joint, weight)| (numbers[joint], weight)).collect();
    merge(&mut shares);
    shares
}

impl Assembly<'_> {
    /// Whether a piece is mirrored, the sources of its vertices, given its vertices in the flesh and the places that others
    /// ride on, and their [`Piece::offsets`].
    fn sources(
        &mut self,
        piece: &Piece,
        of_flesh: &[u32],
        anchors: &[Option<Anchor>],
    ) -> Result<(bool, Vec<Source>, Offsets), FleshError> {
        let rig = self.rig;
        let part = &rig.surfaces[piece.surface].parts[piece.part];
        let positions = part.morphed(&rig.morph_weights(piece.node, None, 0.0));
        let skin = rig.nodes[piece.node].skin.filter(|_| part.weights.width > 0);
        let skin = skin.map(|skin| self.skin(skin)).transpose()?;
        let carrier = if skin.is_none() { self.carrier(piece.node) } else { None };
        let source = |(vertex, x): (usize, &Vec3)| match (of_flesh.get(vertex), &skin) {
            (Some(&number), _) if number != u32::MAX => Source::Flesh(number),
            (_, Some(bound)) => {
                let weights = shares(&part.weights, vertex, &bound.numbers);
                let rest = bound.rest(*x, &weights);
                match anchors.get(vertex).copied().flatten() {
                    Some(anchor) => Source::Ride(Box::new(Ride { rest, weights, anchor })),
                    None => Source::Joints(rest, weights),
                }
            }
            (_, None) => {
                let x = self.pose[piece.node].apply(*x);
                match carrier {
                    // Back to rest, which may differ from the pose without animation.
                    Some((joint, rest_from_world)) => Source::Joints(rest_from_world.apply(x), vec![(joint, 1.0)]),
                    None => Source::Joints(x, Vec::new()),
                }
            }
        };
        let vertices: Vec<Source> = positions.iter().enumerate().map(source).collect();
        let rebound = skin.as_deref().filter(|bound| !bound.rebinds.is_empty());
        let offsets_of = |bound: &BoundSkin| {
            let offsets =
                |(vertex, x): (usize, &Vec3)| bound.offsets(*x, &shares(&part.weights, vertex, &bound.numbers));
            positions.iter().enumerate().map(offsets).collect()
        };
        let world_from_stored = skin.as_ref().map_or(&self.pose[piece.node], |bound| &bound.rest_from_stored);
        let is_mirrored = world_from_stored.linear.determinant() < 0.0;
        Ok((is_mirrored, vertices, rebound.map(offsets_of).unwrap_or_default()))
    }
}
