//! The skin of a character as one closed surface at rest, in meters, and the motion of its joints from there.

use std::collections::BTreeMap;

use sinew_geometry::TriMesh;
use sinew_math::Vec3;

use crate::affine::Affine;
use crate::joints::{Assembly, BoundSkin, Joint};
use crate::motion::{Motion, stretches};
use crate::repair::{flip_thin, merge, spread_weights};
use crate::rig::{Rig, Weights};

/// Vertices closer than this fraction of the character's size are merged: the two sides of a seam, after rounding to 16
/// bits.
const WELD: f64 = 2e-5;
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
        // All skinned surfaces at rest, as a triangle soup.
        let mut soup = Soup::default();
        for &k in skinned.iter().filter(|&&k| is_flesh(&pieces[k])) {
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
            (piece.is_mirrored, piece.vertices, piece.offsets) = assembly.sources(piece, of_flesh)?;
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
        motions: &[Motion],
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
        let mut places: Vec<Vec3> = piece.vertices.iter().map(place).collect();
        for ((x, offsets), source) in places.iter_mut().zip(&piece.offsets).zip(&piece.vertices) {
            let Source::Joints(rest, weights) = source else { continue };
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

/// Renumbered joints of one vertex, with weights that sum to one.
fn shares(weights: &Weights, vertex: usize, numbers: &[u32]) -> Vec<(u32, f64)> {
    let mut shares: Vec<(u32, f64)> = weights.of(vertex).map(|(joint, weight)| (numbers[joint], weight)).collect();
    merge(&mut shares);
    shares
}

impl Assembly<'_> {
    /// Whether a piece is mirrored, the sources of its vertices, given its vertices in the flesh, and their
    /// [`Piece::offsets`].
    fn sources(&mut self, piece: &Piece, of_flesh: &[u32]) -> Result<(bool, Vec<Source>, Offsets), FleshError> {
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
                Source::Joints(bound.rest(*x, &weights), weights)
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
