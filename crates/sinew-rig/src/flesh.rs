//! The skin of a character as one closed surface at rest, in meters, and the motion of its joints from there.
//!
//! Files store vertices in a separate bind space per skin. With $`B_j^{-1}`$ the inverse bind matrix of joint j,
//! $`J_j`$ its world transform and $`A`$ the map from stored vertices to rest, flesh moves from rest by
//! ```math
//! D_j = J_j\, B_j^{-1} A^{-1},
//! ```
//! which is a rigid motion wherever joints are not scaled. $`A = J_0 B_0^{-1}`$ of the uppermost joint, with nodes in
//! their pose without animation: so rest is the bind shape, at the size and place of the scene. Further skins share
//! this rest: their $`A`$ gives the joint they share with the first skin the same $`D`$.

use std::collections::BTreeMap;

use sinew_geometry::TriMesh;
use sinew_geometry::shape::Pose;
use sinew_math::svd3::{polar3_plain, svd3_plain};
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::affine::Affine;
use crate::animation::Keys;
use crate::repair::{flip_thin, merge, spread_weights};
use crate::rig::{Rig, Weights};

/// Vertices closer than this fraction of the character's size are merged: the two sides of a seam, after rounding to 16
/// bits.
const WELD: f64 = 2e-5;
/// Tolerated difference between the axis scales of a joint.
const EVEN: f64 = 1e-3;
/// Skins were bound in different poses if a joint differs by more than this, in radians and in skeleton sizes.
const SAME_BIND: f64 = 1e-2;
/// Closed pieces of at least this fraction of the volume of the largest are flesh, unless the user names the flesh.
const MIN_SHARE: f64 = 0.2;

/// The skin at rest.
#[derive(Clone, Debug)]
pub struct Flesh {
    /// The closed surface to simulate \[m\].
    pub surface: TriMesh,
    /// Joints of its vertices, as indices into [`Flesh::joints`], with weights that sum to one.
    pub weights: Vec<Vec<(u32, f64)>>,
    /// Joints that move something.
    pub joints: Vec<Joint>,
    /// All visible parts.
    pub pieces: Vec<Piece>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A joint at rest.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its node.
    pub node: usize,
    /// Its name.
    pub name: String,
    /// Index of its parent joint.
    pub parent: Option<usize>,
    /// Its rest position \[m\].
    pub place: Vec3,
    /// Whether a skin lists it; otherwise it is a node that moves on its own and carries a surface.
    pub is_of_skin: bool,
    /// B⁻¹A⁻¹: from rest to the joint.
    from_rest: Affine,
}

impl Joint {
    /// Transform from rest to a pose of all nodes.
    pub(crate) fn pose_from_rest(&self, pose: &[Affine]) -> Affine {
        pose[self.node].after(&self.from_rest)
    }
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
}

impl Piece {
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
}

/// Why a character has no flesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FleshError {
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
    /// A joint transform is singular.
    #[error("joint \"{joint}\" has zero scale in the pose without animation")]
    Flat {
        /// The joint.
        joint: String,
    },
    /// The skeleton scales the surface nonuniformly.
    #[error("the skeleton scales the surface unevenly, by {least:.3} to {most:.3}: apply its scale before the export")]
    Uneven {
        /// Smallest factor.
        least: f64,
        /// Largest factor.
        most: f64,
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
}

impl Flesh {
    /// Joins the skinned surfaces of a character.
    ///
    /// # Errors
    /// When there is no skin, no surface with a requested name, or no sensible skeleton.
    pub fn new(rig: &Rig, params: &FleshParams) -> Result<Self, FleshError> {
        let pose = rig.pose(None, 0.0);
        let mut assembly =
            Assembly { rig, pose: &pose, joints: Vec::new(), number_of: BTreeMap::new(), notes: Vec::new() };
        let mut skinned = Vec::new();
        let mut pieces = Vec::new();
        for (node, data) in rig.nodes.iter().enumerate().filter(|(_, node)| node.is_shown) {
            let Some(surface) = data.surface else { continue };
            for (part, shape) in rig.surfaces[surface].parts.iter().enumerate() {
                let piece = Piece { node, surface, part, is_mirrored: false, vertices: Vec::new() };
                if data.skin.is_some() && shape.weights.width > 0 && !shape.triangles.is_empty() {
                    skinned.push(pieces.len());
                }
                pieces.push(piece);
            }
        }
        if skinned.is_empty() {
            return Err(FleshError::NoSkin);
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
        // All skinned surfaces at rest, as a triangle soup.
        let mut soup = Soup::default();
        for &k in skinned.iter().filter(|&&k| is_flesh(&pieces[k])) {
            let piece = &pieces[k];
            let skin = rig.nodes[piece.node].skin.unwrap_or_default();
            let (rest_from_stored, numbers) = assembly.skin(skin)?;
            let part = &rig.surfaces[piece.surface].parts[piece.part];
            let weights = rig.morph_weights(piece.node, None, 0.0);
            soup.add(k, part.morphed(&weights).iter().map(|&x| rest_from_stored.apply(x)), &part.triangles);
            soup.weights.extend((0..part.positions.len()).map(|vertex| shares(&part.weights, vertex, &numbers)));
            if rest_from_stored.linear.determinant() < 0.0 {
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
        let kept = welded.flesh_triangles(params.surfaces.is_empty());
        let mut flesh = welded.keep(&kept)?;
        // Whole pieces without weights follow the first joint.
        for weights in flesh.weights.iter_mut().filter(|weights| weights.is_empty()) {
            weights.push((0, 1.0));
        }
        // All joints before the parts they carry.
        for &k in &skinned {
            assembly.skin(rig.nodes[pieces[k].node].skin.unwrap_or_default())?;
        }
        let vertices_of: BTreeMap<usize, Vec<u32>> = flesh.vertices_of.into_iter().collect();
        for (k, piece) in pieces.iter_mut().enumerate() {
            let of_flesh = vertices_of.get(&k).map_or(&[][..], |vertices| vertices);
            (piece.is_mirrored, piece.vertices) = assembly.sources(piece, of_flesh)?;
        }
        let follows = |piece: &&Piece| piece.vertices.iter().all(|source| matches!(source, Source::Joints(..)));
        let mut followers: Vec<&str> = Vec::new();
        for piece in pieces.iter().filter(follows) {
            let (surface, node) = (&rig.surfaces[piece.surface].name, &rig.nodes[piece.node].name);
            let name = [surface, node].into_iter().find(|name| !name.is_empty()).map_or("(no name)", |name| name);
            if !followers.contains(&name) {
                followers.push(name);
            }
        }
        if !followers.is_empty() {
            notes.push(format!("follow by skinning: {}", followers.join(", ")));
        }
        notes.append(&mut assembly.notes);
        Ok(Self { surface: flesh.surface, weights: flesh.weights, joints: assembly.joints, pieces, notes })
    }

    /// Vertex positions of a piece in a scene, from those of the flesh, the motions of the joints, and the placement of
    /// the character.
    pub fn place_piece(
        &self,
        piece: &Piece,
        flesh: &[Vec3],
        motions: &[Pose],
        scene_from_character: impl Fn(Vec3) -> Vec3,
    ) -> Vec<Vec3> {
        let place = |source: &Source| match source {
            Source::Flesh(vertex) => flesh[*vertex as usize],
            Source::Joints(rest, weights) if weights.is_empty() => scene_from_character(*rest),
            Source::Joints(rest, weights) => {
                let moved = |&(joint, weight): &(u32, f64)| motions[joint as usize].to_world(*rest) * weight;
                scene_from_character(weights.iter().map(moved).sum())
            }
        };
        piece.vertices.iter().map(place).collect()
    }

    /// The rigid motions of all joints from rest, for a pose of all nodes.
    pub fn motions(&self, pose: &[Affine]) -> Vec<Pose> {
        let rigid = |joint: &Joint| {
            let map = joint.pose_from_rest(pose);
            let rotation = Quaternion::from_rotation_matrix(&polar3_plain(&map.linear).rotation);
            // The joint itself follows the animation exactly, scaled or not.
            Pose { translation: map.apply(joint.place) - rotation.rotate(joint.place), rotation }
        };
        self.joints.iter().map(rigid).collect()
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
    pub fn blend(&self, motions: &[Pose]) -> Vec<Vec3> {
        let moved = |(x, weights): (&Vec3, &Vec<(u32, f64)>)| {
            weights.iter().map(|&(joint, weight)| motions[joint as usize].to_world(*x) * weight).sum()
        };
        self.surface.positions().iter().zip(&self.weights).map(moved).collect()
    }
}

/// Renumbered joints of one vertex, with weights that sum to one.
fn shares(weights: &Weights, vertex: usize, numbers: &[u32]) -> Vec<(u32, f64)> {
    let mut shares: Vec<(u32, f64)> = weights.of(vertex).map(|(joint, weight)| (numbers[joint], weight)).collect();
    merge(&mut shares);
    shares
}

/// Joints in order of first use.
struct Assembly<'a> {
    rig: &'a Rig,
    pose: &'a [Affine],
    joints: Vec<Joint>,
    number_of: BTreeMap<usize, u32>,
    notes: Vec<String>,
}

impl Assembly<'_> {
    /// The map from stored vertices of a skin to rest, and the indices of its joints.
    fn skin(&mut self, skin: usize) -> Result<(Affine, Vec<u32>), FleshError> {
        let (rig, skin) = (self.rig, &self.rig.skins[skin]);
        let depth = |mut node: usize| {
            let mut depth = 0;
            while let (Some(parent), true) = (rig.nodes[node].parent, depth < rig.nodes.len()) {
                (node, depth) = (parent, depth + 1);
            }
            depth
        };
        let top = (0..skin.joints.len()).min_by_key(|&k| depth(skin.joints[k])).unwrap_or_default();
        // Nodes may not be in their bind pose, so a known joint determines rest better than the uppermost one.
        let first = skin.joints.iter().position(|joint| self.number_of.contains_key(joint)).unwrap_or(top);
        let standing = self.pose[skin.joints[first]].after(&skin.inverse_binds[first]);
        let rest_from_stored = match self.joint_above(skin.joints[first]) {
            Some((_, rest_from_world)) => rest_from_world.after(&standing),
            None => standing,
        };
        let flat = |node: usize| FleshError::Flat { joint: rig.nodes[node].name.clone() };
        let stored_from_rest = rest_from_stored.inverse().ok_or_else(|| flat(skin.joints[first]))?;
        let [least, most] = stretches(&rest_from_stored);
        if most > (1.0 + EVEN) * least {
            return Err(FleshError::Uneven { least, most });
        }
        let mut numbers = Vec::new();
        let mut reach = 0.0f64;
        let mut largest_gap = [0.0f64; 2];
        for (&node, bind) in skin.joints.iter().zip(&skin.inverse_binds) {
            let from_rest = bind.after(&stored_from_rest);
            let to_rest = from_rest.inverse().ok_or_else(|| flat(node))?;
            let number = self.joint(node, from_rest, to_rest.translation, true);
            let known = &self.joints[number as usize];
            let origin = numbers.first().map_or(known.place, |&first: &u32| self.joints[first as usize].place);
            reach = reach.max(known.place.distance(origin));
            let turn = (to_rest.linear * known.from_rest.linear - Mat3::identity()).norm();
            let gaps = [turn, known.place.distance(to_rest.translation)];
            largest_gap = [0, 1].map(|k| largest_gap[k].max(gaps[k]));
            numbers.push(number);
        }
        if largest_gap[0] > SAME_BIND || largest_gap[1] > SAME_BIND * reach.max(f64::MIN_POSITIVE) {
            let name = if skin.name.is_empty() { "a skin".into() } else { format!("skin \"{}\"", skin.name) };
            let note = format!("{name} was bound in another pose than the rest, and moves as if bound at rest");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        // Joints of this skin may lie between those of others.
        for joint in 0..self.joints.len() {
            self.joints[joint].parent = self.parent(self.joints[joint].node);
        }
        Ok((rest_from_stored, numbers))
    }

    /// Index of a joint, added if new.
    fn joint(&mut self, node: usize, from_rest: Affine, place: Vec3, is_of_skin: bool) -> u32 {
        let next = self.joints.len() as u32;
        let number = *self.number_of.entry(node).or_insert(next);
        if number == next {
            let name = self.rig.nodes[node].name.clone();
            let name = if name.is_empty() { format!("joint {node}") } else { name };
            self.joints.push(Joint { node, name, parent: None, place, is_of_skin, from_rest });
        }
        number
    }

    /// The next skin joint above a node.
    fn parent(&self, mut node: usize) -> Option<usize> {
        for _ in 0..self.rig.nodes.len() {
            node = self.rig.nodes[node].parent?;
            let joint = self.number_of.get(&node).map(|&joint| joint as usize);
            if joint.is_some_and(|joint| self.joints[joint].is_of_skin) {
                return joint;
            }
        }
        None
    }

    /// The joint that carries the contents of a node, and the map from there to rest. A node that moves on its own
    /// becomes a joint, such as an eye.
    fn carrier(&mut self, node: usize) -> Option<(u32, Affine)> {
        let above = self.joint_above(node);
        if !self.moves_by_itself(node) {
            return above;
        }
        let rest_from_world = above.map_or_else(Affine::identity, |(_, rest_from_world)| rest_from_world);
        let to_rest = rest_from_world.after(&self.pose[node]);
        let Some(from_rest) = to_rest.inverse() else { return above };
        let number = self.joint(node, from_rest, to_rest.translation, false);
        self.joints[number as usize].parent = self.parent(node);
        Some((number, rest_from_world))
    }

    /// Whether a node, or one between it and the next joint above, is animated.
    fn moves_by_itself(&self, mut node: usize) -> bool {
        let is_animated = |node: usize| {
            let mut channels = self.rig.animations.iter().flat_map(|animation| &animation.channels);
            channels.any(|channel| channel.node == node && !matches!(channel.keys, Keys::Morph(..)))
        };
        for _ in 0..self.rig.nodes.len() {
            if self.number_of.contains_key(&node) {
                return false;
            }
            if is_animated(node) {
                return true;
            }
            let Some(parent) = self.rig.nodes[node].parent else { return false };
            node = parent;
        }
        false
    }

    /// Whether a piece is mirrored, and the sources of its vertices, given its vertices in the flesh.
    fn sources(&mut self, piece: &Piece, of_flesh: &[u32]) -> Result<(bool, Vec<Source>), FleshError> {
        let rig = self.rig;
        let part = &rig.surfaces[piece.surface].parts[piece.part];
        let positions = part.morphed(&rig.morph_weights(piece.node, None, 0.0));
        let skin = rig.nodes[piece.node].skin.filter(|_| part.weights.width > 0);
        let skin = skin.map(|skin| self.skin(skin)).transpose()?;
        let carrier = if skin.is_none() { self.carrier(piece.node) } else { None };
        let source = |(vertex, x): (usize, &Vec3)| match (of_flesh.get(vertex), &skin) {
            (Some(&number), _) if number != u32::MAX => Source::Flesh(number),
            (_, Some((rest_from_stored, numbers))) => {
                Source::Joints(rest_from_stored.apply(*x), shares(&part.weights, vertex, numbers))
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
        let world_from_stored = skin.as_ref().map_or(&self.pose[piece.node], |(rest_from_stored, _)| rest_from_stored);
        let is_mirrored = world_from_stored.linear.determinant() < 0.0;
        Ok((is_mirrored, positions.iter().enumerate().map(source).collect()))
    }

    /// The parent joint of a node, and the map from its transform to rest.
    fn joint_above(&self, mut node: usize) -> Option<(u32, Affine)> {
        for _ in 0..self.rig.nodes.len() {
            if let Some(&joint) = self.number_of.get(&node) {
                let motion = self.pose[node].after(&self.joints[joint as usize].from_rest);
                return motion.inverse().map(|back| (joint, back));
            }
            node = self.rig.nodes[node].parent?;
        }
        None
    }
}

/// Smallest and largest length scale factor.
fn stretches(map: &Affine) -> [f64; 2] {
    let sigma = svd3_plain(&map.linear).sigma.map(f64::abs);
    [sigma.x.min(sigma.y).min(sigma.z), sigma.x.max(sigma.y).max(sigma.z)]
}

/// Triangles of several pieces with separate vertices.
#[derive(Default)]
struct Soup {
    positions: Vec<Vec3>,
    weights: Vec<Vec<(u32, f64)>>,
    triangles: Vec<[u32; 3]>,
    /// Pieces with their first vertex.
    pieces: Vec<(usize, usize)>,
}

/// The soup with closed seams.
struct Welded {
    positions: Vec<Vec3>,
    weights: Vec<Vec<(u32, f64)>>,
    triangles: Vec<[u32; 3]>,
    /// Vertices of the soup, piece by piece, as vertices of this mesh.
    vertices_of: Vec<(usize, Vec<u32>)>,
    /// Vertices closer than this are merged \[m\].
    tolerance: f64,
    /// Triangles that had no area.
    flat: usize,
}

/// The part that is simulated.
struct Kept {
    surface: TriMesh,
    weights: Vec<Vec<(u32, f64)>>,
    vertices_of: Vec<(usize, Vec<u32>)>,
}

impl Soup {
    fn add(&mut self, piece: usize, positions: impl Iterator<Item = Vec3>, triangles: &[[u32; 3]]) {
        let first = self.positions.len();
        self.pieces.push((piece, first));
        self.positions.extend(positions);
        self.triangles.extend(triangles.iter().map(|triangle| triangle.map(|vertex| vertex + first as u32)));
    }

    /// Flips the last triangles.
    fn flip_last(&mut self, count: usize) {
        let first = self.triangles.len() - count;
        self.triangles[first..].iter_mut().for_each(|triangle| triangle.swap(1, 2));
    }

    /// Merges coincident vertices.
    fn weld(self) -> Welded {
        let (low, high) =
            self.positions.iter().fold(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), |(mut low, mut high), x| {
                for c in 0..3 {
                    (low[c], high[c]) = (low[c].min(x[c]), high[c].max(x[c]));
                }
                (low, high)
            });
        let size = (Vec3::from(high) - Vec3::from(low)).norm();
        let tolerance = (WELD * size).max(f64::MIN_POSITIVE);
        // Boxes twice as wide as the tolerance: close vertices lie in the same box or in a neighbor.
        let key = |x: Vec3, c: usize| ((x[c] - low[c]) / (2.0 * tolerance)).floor() as i64;
        let mut boxes: std::collections::HashMap<[i64; 3], Vec<u32>> = std::collections::HashMap::new();
        let mut new_of = Vec::with_capacity(self.positions.len());
        let (mut positions, mut weights): (Vec<Vec3>, Vec<Vec<(u32, f64)>>) = (Vec::new(), Vec::new());
        for (x, own) in self.positions.iter().zip(&self.weights) {
            let home = [0, 1, 2].map(|c| key(*x, c));
            // In each direction only the closer neighbor can hold something within the tolerance.
            let side =
                [0, 1, 2].map(|c| if (x[c] - low[c]) / (2.0 * tolerance) - home[c] as f64 >= 0.5 { 1 } else { -1 });
            let near = (0..8).find_map(|k: usize| {
                let place = std::array::from_fn(|c| home[c] + if k >> c & 1 == 1 { side[c] } else { 0 });
                boxes.get(&place)?.iter().copied().find(|&other| positions[other as usize].distance(*x) <= tolerance)
            });
            new_of.push(match near {
                Some(other) => {
                    // Both sides of a seam contribute.
                    weights[other as usize].extend_from_slice(own);
                    other
                }
                None => {
                    let new = positions.len() as u32;
                    boxes.entry(home).or_default().push(new);
                    positions.push(*x);
                    weights.push(own.clone());
                    new
                }
            });
        }
        weights.iter_mut().for_each(merge);
        let mut triangles: Vec<[u32; 3]> =
            self.triangles.iter().map(|triangle| triangle.map(|vertex| new_of[vertex as usize])).collect();
        triangles.retain(|[a, b, c]| a != b && b != c && c != a);
        let collapsed = self.triangles.len() - triangles.len();
        let flat = collapsed + flip_thin(&positions, &mut triangles, tolerance);
        let ends = self.pieces.iter().skip(1).map(|piece| piece.1).chain([new_of.len()]);
        let vertices_of =
            self.pieces.iter().zip(ends).map(|(&(piece, first), end)| (piece, new_of[first..end].to_vec()));
        Welded { vertices_of: vertices_of.collect(), positions, weights, triangles, tolerance, flat }
    }
}

impl Welded {
    /// Triangles of flesh: all, or those of closed pieces that are large enough. If no piece is closed, all: the
    /// filling reports the defects.
    fn flesh_triangles(&self, chooses: bool) -> Vec<bool> {
        let everything = vec![true; self.triangles.len()];
        if !chooses {
            return everything;
        }
        let mut roots: Vec<u32> = (0..self.positions.len() as u32).collect();
        fn root(roots: &mut [u32], mut vertex: u32) -> u32 {
            while roots[vertex as usize] != vertex {
                roots[vertex as usize] = roots[roots[vertex as usize] as usize];
                vertex = roots[vertex as usize];
            }
            vertex
        }
        for &[a, b, c] in &self.triangles {
            for other in [b, c] {
                let (a, other) = (root(&mut roots, a), root(&mut roots, other));
                roots[a as usize] = other;
            }
        }
        // Volume of each piece, and its unpaired edges.
        let mut volumes: BTreeMap<u32, f64> = BTreeMap::new();
        let mut edges: BTreeMap<(u32, u32), i32> = BTreeMap::new();
        let component: Vec<u32> = self.triangles.iter().map(|triangle| root(&mut roots, triangle[0])).collect();
        for (triangle, &component) in self.triangles.iter().zip(&component) {
            let [a, b, c] = triangle.map(|vertex| self.positions[vertex as usize]);
            *volumes.entry(component).or_default() += a.dot(b.cross(c)) / 6.0;
            for (from, to) in [(0, 1), (1, 2), (2, 0)].map(|(i, k)| (triangle[i], triangle[k])) {
                *edges.entry((from.min(to), from.max(to))).or_default() += if from < to { 1 } else { -1 };
            }
        }
        for ((from, _), balance) in edges {
            if balance != 0 {
                volumes.remove(&root(&mut roots, from));
            }
        }
        let largest = volumes.values().fold(0.0f64, |most, volume| most.max(volume.abs()));
        if volumes.is_empty() || largest == 0.0 {
            return everything;
        }
        let is_flesh =
            |component: &u32| volumes.get(component).is_some_and(|volume| volume.abs() >= MIN_SHARE * largest);
        component.iter().map(is_flesh).collect()
    }

    fn keep(self, is_kept: &[bool]) -> Result<Kept, FleshError> {
        let mut new_of = vec![u32::MAX; self.positions.len()];
        let (mut positions, mut weights, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
        for (triangle, _) in self.triangles.iter().zip(is_kept).filter(|&(_, &kept)| kept) {
            triangles.push(triangle.map(|vertex| {
                let new = &mut new_of[vertex as usize];
                if *new == u32::MAX {
                    *new = positions.len() as u32;
                    positions.push(self.positions[vertex as usize]);
                    weights.push(self.weights[vertex as usize].clone());
                }
                *new
            }));
        }
        // A piece is flesh when all of its used vertices are.
        let vertices_of = self.vertices_of.into_iter().filter_map(|(piece, vertices)| {
            let numbers: Vec<u32> = vertices.iter().map(|&vertex| new_of[vertex as usize]).collect();
            numbers.iter().any(|&vertex| vertex != u32::MAX).then_some((piece, numbers))
        });
        let vertices_of = vertices_of.collect();
        let surface = TriMesh::new(positions, triangles).map_err(|error| FleshError::Mesh(error.to_string()))?;
        // As thin as the merge tolerance.
        if surface.volume().abs() <= self.tolerance * surface.area() {
            return Err(FleshError::NoVolume);
        }
        let surface = if surface.volume() < 0.0 { surface.flipped() } else { surface };
        Ok(Kept { surface, weights, vertices_of })
    }
}
