//! A body moved by a character's skeleton: finds the bones, attaches the flesh to them, and turns the animation into
//! channels.

use std::collections::BTreeSet;
use std::f64::consts::TAU;
use std::sync::Arc;

use sinew_fem::force::{AttachTarget, AttachmentParams};
use sinew_fem::model::{FollowParams, FollowedBy, PinParams, RigidParams};
use sinew_geometry::embedding::Embedding;
use sinew_geometry::lattice::HexLattice;
use sinew_geometry::proximity::RestSurface;
use sinew_geometry::shape::{Capsule, Pose};
use sinew_math::{Mat3, Vec3};
use sinew_rig::{Bone, Flesh};
use sinew_scene::spec::body::Body;
use sinew_scene::spec::material::material_spec;
use sinew_scene::spec::mesh::{FillMesh, Mesh, Repair};
use sinew_scene::spec::rig::{Hold, Rig};
use sinew_scene::{Character, Diagnostic, Dimension, Interpolation, SceneCharacter, SkinPaint, Track, format_quantity};

use super::Compiler;
use super::bones::{RigBone, at_rest};
use super::give_way::Yielding;
use super::material_map::Painting;
use super::mesh::located;
use super::rig_checks::Held;

/// Samples of the animation per frame. Between them joints rotate along rotation vectors, which differ from great
/// circles by the cube of the angle.
const SAMPLES_PER_FRAME: usize = 4;
/// Nodes within this many edges of the axis of a bone move with it: at least the corners of the cells that it passes.
pub(super) const HARD_REACH: f64 = 0.87;
/// Minimum number of cells from the axis of a bone to the skin for `hold = "auto"` to choose hard. With fewer, most
/// nodes around the bone are held: where such parts meet, the skin cannot give way.
const HARD_DEPTH: f64 = 2.0;
/// Joints that rotate by less, or move by less relative to the size of the body, are at rest. Files have single
/// precision, and the solver cannot balance forces that are rounding errors.
const AT_REST: f64 = 1e-6;
/// Bones of joints that stretch by less keep their length: keys of scale are rarely exactly one.
const SAME_LENGTH: f64 = 1e-3;
/// Springs of soft bones per edge of a cell.
const SPRINGS_PER_EDGE: f64 = 1.0;
/// No joint.
const NONE: u32 = u32::MAX;

/// A body with a skeleton.
#[derive(Clone, Debug)]
pub(super) struct RiggedBody {
    pub character: Arc<Character>,
    /// The joint with the largest weight at each node of the lattice.
    pub joint_of: Vec<u32>,
    /// Joints and weights of each node.
    pub weights: Vec<Vec<(u32, f64)>>,
    /// The nodes that carry each vertex of the skin.
    pub carriers: Embedding,
}

/// The bones of a body, and the paint on its skin.
#[derive(Default)]
pub(super) struct RiggedBones {
    pub bones: Vec<RigBone>,
    pub paint: SkinPaint,
    /// Share of their stiffness that the springs of soft bones keep.
    pub kept_stiffness: f64,
}

impl Compiler<'_> {
    /// Reads the character of a body.
    pub(super) fn read_character(&mut self, index: usize, rig: &Rig, mesh: &FillMesh) -> Result<Character, Diagnostic> {
        let file = &mesh.surface;
        let scene = self.scene;
        let problem = |(key, message): (&str, String)| located(scene, &format!("body[{index}].{key}"), &message);
        let character = match Character::load(scene.source.folder(), file, rig, mesh.repair) {
            Ok(character) => character,
            Err(problems) => {
                let mut problems: Vec<Diagnostic> = problems.into_iter().map(problem).collect();
                let last = problems.pop().unwrap_or_else(|| problem(("mesh.surface", "not a character".into())));
                self.problems.append(&mut problems);
                return Err(last);
            }
        };
        let notes = character.rig.notes.iter().chain(&character.flesh.notes);
        self.notes.extend(notes.map(|note| format!("{file}: {note}")));
        self.note_posture(index, &character);
        if let (Some(report), Some(motion)) = (&character.motion, &rig.motion) {
            self.notes.extend(report.summary().into_iter().map(|note| format!("{motion}: {note}")));
        }
        Ok(character)
    }

    /// Attaches a body to its bones and drives them.
    pub(super) fn follow_bones(
        &mut self,
        index: usize,
        body: &Body,
        place: &Pose,
        lattice: &HexLattice,
        rigged: &RiggedBody,
        RiggedBones { bones, paint, kept_stiffness }: RiggedBones,
    ) -> Result<(), Vec<Diagnostic>> {
        let Some(rig) = &body.rig else { return Ok(()) };
        let is_repaired = matches!(&body.mesh, Mesh::Fill(mesh) if mesh.repair == Repair::Auto);
        let strays = self.check_strays(index, body, rig, &rigged.character.flesh);
        self.problems.extend(strays);
        if bones.iter().all(|bone| bone.hold == Hold::Slide) {
            let message = "the skeleton has no bone within the flesh".to_string();
            let problem = self.scene.problem(&format!("body[{index}].rig"), message);
            return Err(vec![
                problem.hint("does it fit the surface? Bones lie between joints; `bones` can set their positions"),
            ]);
        }
        let character = rigged.character.clone();
        let at_rest = at_rest(&bones, place);
        self.characters.push(SceneCharacter { body: index, character, bones: at_rest, paint: Arc::new(paint) });
        let owners = owners(lattice, &rigged.joint_of, &rigged.character.flesh, &bones);
        let tracks = self.joint_tracks(body, rig, place, rigged);
        let mut drivers: Vec<Option<FollowedBy>> = vec![None; rigged.character.flesh.joints.len()];
        for (joint, data) in rigged.character.flesh.joints.iter().enumerate() {
            let nodes: Vec<u32> = (0..owners.len() as u32)
                .filter(|&node| owners[node as usize].is_some_and(|bone| bones[bone].joint == joint))
                .collect();
            if nodes.is_empty() {
                continue;
            }
            drivers[joint] = Some(FollowedBy::Pin(data.name.clone()));
            let pivot = place.to_world(data.place * body.scale);
            let prefix = format!("{}.pin.{}", body.name, data.name);
            self.stretch_joint(&prefix, &tracks[joint]);
            self.drive_joint(prefix, &tracks[joint]);
            let name = data.name.clone();
            self.builder.pin(PinParams { body: index, name, nodes, axes: [true; 3], pivot, offsets: Vec::new() });
        }
        // Bones may pass holes of an open skin, where there are no cells.
        let cubes: BTreeSet<[u32; 3]> = lattice.cells.iter().map(|cell| cell.place).collect();
        let is_in_cells = |x: Vec3| {
            let cube = ((x - lattice.origin) / lattice.cell).to_array();
            cube.iter().all(|c| *c >= 0.0) && cubes.contains(&cube.map(|c| c as u32))
        };
        for (joint, data) in rigged.character.flesh.joints.iter().enumerate() {
            let soft: Vec<(&Bone, f64)> = bones
                .iter()
                .filter(|bone| bone.joint == joint && bone.hold == Hold::Soft)
                .filter_map(|bone| Some((bone.capsule()?, bone.attachment_stiffness)))
                .collect();
            let Some((first, _)) = soft.first() else { continue };
            let springs: Vec<(Vec3, f64)> = soft
                .iter()
                .flat_map(|&(bone, attachment_stiffness)| {
                    along(bone, lattice.cell / SPRINGS_PER_EDGE).into_iter().map(move |x| (x, attachment_stiffness))
                })
                .filter(|(x, _)| !is_repaired || is_in_cells(*x))
                .collect();
            if springs.is_empty() {
                continue;
            }
            let places: Vec<Vec3> = springs.iter().map(|spring| spring.0 / body.scale).collect();
            let factors = self
                .attachment_stiffness_factors(index, rig, &rigged.character, &places)
                .map_err(|problem| vec![problem])?;
            let stiffness = lattice.cell * shear_modulus(body);
            let springs = springs.into_iter().zip(factors);
            let springs = springs.map(|((x, attachment_stiffness), factor)| {
                (place.to_world(x), kept_stiffness * attachment_stiffness * factor * stiffness)
            });
            let rigid = self.add_bone(
                first,
                &format!("{}.{}", body.name, data.name),
                place,
                data.place * body.scale,
                &tracks[joint],
            );
            // Rigid bodies keep their size: springs of joints that stretch are held by places in the world instead.
            let stretches = tracks[joint].stretches();
            let target = if stretches { AttachTarget::World } else { AttachTarget::Rigid(rigid) };
            let params = AttachmentParams::places(index, &*data.name, springs.collect(), target);
            let pivot = stretches.then(|| place.to_world(data.place * body.scale));
            self.builder.force(AttachmentParams { pivot, stretches, ..params });
            if stretches {
                let prefix = format!("{}.attach.{}", body.name, data.name);
                self.stretch_joint(&prefix, &tracks[joint]);
                self.drive_joint(prefix, &tracks[joint]);
            }
            drivers[joint].get_or_insert(FollowedBy::Rigid(rigid));
        }
        let sliding =
            self.slide_over(index, body, place, &bones, &rigged.character).map_err(|problem| vec![problem])?;
        for (channel, joint) in &sliding {
            self.drive_joint(channel.clone(), &tracks[*joint]);
        }
        self.follow_joints(index, rigged, &drivers);
        let mut bone_holds: Vec<bool> = bones.iter().map(|bone| bone.hold == Hold::Soft).collect();
        owners.iter().flatten().for_each(|&bone| bone_holds[bone] = true);
        let held = Held { bones: &bones, bone_holds, joint_holds: drivers.iter().map(Option::is_some).collect() };
        let problems = self.check_scales(index, body, rig, &rigged.character, &held);
        if !problems.is_empty() {
            return Err(problems);
        }
        self.note_holds(body, rig, &rigged.character.flesh, &held);
        self.note_stiff(body, rigged, &held, lattice.cell, |node| owners[node as usize].is_some());
        Ok(())
    }

    /// Decides which bones with `hold = "auto"` hold flesh softly, and notes them.
    pub(super) fn choose_holds(
        &mut self,
        body: &Body,
        bones: &mut [RigBone],
        yielding: &Yielding,
        flesh: &Flesh,
        cell: f64,
    ) {
        if bones.iter().all(|bone| bone.hold != Hold::Auto) {
            return;
        }
        let skin = RestSurface::new(flesh.surface.positions().to_vec(), flesh.surface.triangles().to_vec());
        let depth = |x: Vec3| skin.nearest(x / body.scale).map_or(f64::INFINITY, |(_, _, depth)| depth * body.scale);
        let mut soft = 0;
        for (k, bone) in bones.iter_mut().enumerate().filter(|(_, bone)| bone.hold == Hold::Auto) {
            if yielding.lacks_room(k) && bone.capsule().is_some() {
                bone.hold = Hold::Soft;
                continue;
            }
            let depths = bone.capsule().map(|capsule| along(capsule, cell).into_iter().map(depth).collect::<Vec<_>>());
            let is_thin = depths.is_some_and(|depths| median(depths) < HARD_DEPTH * cell);
            bone.hold = if is_thin { Hold::Soft } else { Hold::Hard };
            soft += usize::from(is_thin);
        }
        if soft > 0 {
            let cell = format_quantity(cell, Dimension::LENGTH);
            self.notes.push(format!(
                "{}: {soft} of {} bones hold flesh by springs, because cells of {cell} are coarse for the flesh around them",
                body.name,
                bones.len()
            ));
        }
    }

    /// Sets the drivers of the skinning predictor. Joints that hold no flesh use the nearest ancestor that does.
    fn follow_joints(&mut self, index: usize, rigged: &RiggedBody, drivers: &[Option<FollowedBy>]) {
        let joints = &rigged.character.flesh.joints;
        let above = |joint: usize| {
            let mut at = Some(joint);
            while let Some(joint) = at.filter(|&joint| drivers[joint].is_none()) {
                at = joints[joint].parent;
            }
            at
        };
        let nearest: Vec<Option<u32>> = (0..joints.len()).map(|joint| above(joint).map(|joint| joint as u32)).collect();
        let lead = |weights: &Vec<(u32, f64)>| {
            weights.iter().filter_map(|&(joint, weight)| Some((nearest[joint as usize]?, weight))).collect()
        };
        // Joints that drive no flesh have no pin with this name.
        let names = drivers.iter().map(|driver| driver.clone().unwrap_or(FollowedBy::Pin(String::new()))).collect();
        let weights = rigged.weights.iter().map(lead).collect();
        self.builder.follow(FollowParams { body: index, drivers: names, weights });
    }

    /// The painted attachment stiffness of the skin nearest to some points at rest.
    fn attachment_stiffness_factors(
        &self,
        index: usize,
        rig: &Rig,
        character: &Character,
        places: &[Vec3],
    ) -> Result<Vec<f64>, Diagnostic> {
        let Some(map) = &rig.attachment_stiffness_map else { return Ok(vec![1.0; places.len()]) };
        let fields = character.corner_fields();
        let painting = Painting { surface: &character.flesh.surface, fields: &fields };
        let path = |key: &str| format!("body[{index}].rig.attachment_stiffness_map.{key}");
        let values = match (&map.attribute, &map.texture) {
            (Some(name), _) => painting.attribute(name, places).ok_or_else(|| {
                let known: Vec<String> = painting.names().into_iter().map(String::from).collect();
                let problem = self.scene.problem(&path("attribute"), format!("the skin has no attribute \"{name}\""));
                if known.is_empty() { problem } else { problem.hint(format!("it has {}", super::list_some(&known))) }
            })?,
            (None, Some(file)) => painting
                .texture(&self.scene.source.resolve(file), places)
                .map_err(|message| self.scene.problem(&path("texture"), message))?,
            (None, None) => return Ok(vec![1.0; places.len()]),
        };
        let ([low, high], [first, second]) = (map.range, map.factor);
        let factor = |value: f64| {
            // Unpainted points keep their stiffness.
            if value.is_nan() { 1.0 } else { first + ((value - low) / (high - low)).clamp(0.0, 1.0) * (second - first) }
        };
        Ok(values.into_iter().map(factor).collect())
    }

    /// A visible bone to which springs are attached.
    fn add_bone(&mut self, bone: &Bone, name: &str, place: &Pose, pivot: Vec3, track: &JointTrack) -> usize {
        let [a, b] = bone.ends.map(|x| place.to_world(x));
        let half_length = 0.5 * a.distance(b);
        let shape = Capsule { radius: bone.radius, half_length };
        let pose = Pose::along((a + b) * 0.5, b - a).unwrap_or_else(|_| Pose::from_translation(a));
        self.drive_joint(name.to_string(), track);
        self.builder.add_rigid(RigidParams {
            name: name.to_string(),
            shape: shape.into(),
            mass: 1.0,
            pose,
            velocity: Vec3::zero(),
            angular_velocity: Vec3::zero(),
            driven_about: Some(place.to_world(pivot)),
        })
    }

    fn drive_joint(&mut self, prefix: String, track: &JointTrack) {
        let new = |points: &[(f64, [f64; 3])]| Track::new(points.to_vec(), Interpolation::Linear);
        self.driver.vectors.push((format!("{prefix}.translation"), new(&track.translation)));
        self.driver.vectors.push((format!("{prefix}.rotation"), new(&track.rotation)));
    }

    /// Bones stretch with their joint.
    fn stretch_joint(&mut self, prefix: &str, track: &JointTrack) {
        if !track.stretches() {
            return;
        }
        let axes = ["x", "y", "z"];
        for (i, row) in axes.iter().enumerate() {
            for (j, column) in axes.iter().enumerate() {
                let points = track.stretch.iter().map(|(time, stretch)| (*time, stretch.rows[i][j])).collect();
                let track = Track::new(points, Interpolation::Linear);
                self.driver.scalars.push((format!("{prefix}.deformation.{row}{column}"), track));
            }
        }
    }

    /// The motion of every joint over the run: first from rest to the start of the animation, then the animation.
    fn joint_tracks(&self, body: &Body, rig: &Rig, place: &Pose, rigged: &RiggedBody) -> Vec<JointTrack> {
        let scene = self.scene;
        let performance = rigged.character.performance(rig);
        let flesh = performance.flesh;
        let step = 1.0 / (scene.frame_rate * SAMPLES_PER_FRAME as f64);
        let count = (scene.duration / step).ceil() as usize + 1;
        let size = flesh.surface.bounds().size().norm() * body.scale;
        let mut tracks = vec![JointTrack::default(); flesh.joints.len()];
        for k in 0..=count {
            let time = k as f64 * step;
            let motions = performance.motions(time);
            for ((joint, motion), track) in flesh.joints.iter().zip(&motions).zip(&mut tracks) {
                let before = joint.place * body.scale;
                let after = motion.to_world(joint.place) * body.scale;
                let moved = place.to_world(after) - place.to_world(before);
                let turned = place.rotation.rotate(motion.pose.rotation.log_map());
                let is_at_rest = turned.norm() < AT_REST && moved.norm() < AT_REST * size;
                let [moved, turned] = if is_at_rest { [Vec3::zero(); 2] } else { [moved, turned] };
                let last = track.rotation.last().map_or(Vec3::zero(), |&(_, last)| Vec3::from(last));
                track.translation.push((time, moved.to_array()));
                track.rotation.push((time, nearest_turn(turned, last).to_array()));
                let turn = place.rotation.to_matrix();
                let stretch = motion.stretch.map(|(stretch, _)| turn * stretch * turn.transpose());
                track.stretch.push((time, stretch.unwrap_or_else(Mat3::identity)));
            }
        }
        tracks
    }
}

/// The rotation vector of the same rotation that is nearest to another one.
fn nearest_turn(turn: Vec3, last: Vec3) -> Vec3 {
    let angle = turn.norm();
    // A zero rotation has any axis: use that of the last rotation.
    let axis = if angle > 1e-9 {
        turn / angle
    } else if last.norm() > 0.0 {
        last.normalized()
    } else {
        return turn;
    };
    let turns = ((last.dot(axis) - angle) / TAU).round();
    axis * (angle + TAU * turns)
}

/// Motion of a joint on its channels.
#[derive(Clone, Debug, Default)]
struct JointTrack {
    translation: Vec<(f64, [f64; 3])>,
    rotation: Vec<(f64, [f64; 3])>,
    stretch: Vec<(f64, Mat3)>,
}

impl JointTrack {
    /// Whether the joint changes lengths at any time.
    fn stretches(&self) -> bool {
        self.stretch.iter().any(|(_, stretch)| (*stretch - Mat3::identity()).norm() >= SAME_LENGTH)
    }
}

/// Joints and weights of each node, which sum to one: from the skin that its cells carry, and further inside from the
/// nodes around it.
pub(super) fn weights_of_nodes(lattice: &HexLattice, embedding: &Embedding, flesh: &Flesh) -> Vec<Vec<(u32, f64)>> {
    let count = lattice.node_places.len();
    let mut weights: Vec<Vec<(u32, f64)>> = vec![Vec::new(); count];
    for (vertex, shares) in flesh.weights.iter().enumerate() {
        let (nodes, parts) = embedding.entries(vertex);
        for (&node, &part) in nodes.iter().zip(parts) {
            shares.iter().for_each(|&(joint, share)| add_share(&mut weights[node as usize], joint, part * share));
        }
    }
    weights.iter_mut().for_each(normalize);
    // Layer by layer inward.
    loop {
        let mut gathered: Vec<(u32, Vec<(u32, f64)>)> = Vec::new();
        let mut place = vec![NONE; count];
        for cell in &lattice.cells {
            for &to in cell.nodes.iter().filter(|&&to| weights[to as usize].is_empty()) {
                for &from in cell.nodes.iter().filter(|&&from| !weights[from as usize].is_empty()) {
                    if place[to as usize] == NONE {
                        place[to as usize] = gathered.len() as u32;
                        gathered.push((to, Vec::new()));
                    }
                    let row = &mut gathered[place[to as usize] as usize].1;
                    weights[from as usize].iter().for_each(|&(joint, share)| add_share(row, joint, share));
                }
            }
        }
        if gathered.is_empty() {
            return weights;
        }
        for (node, mut row) in gathered {
            normalize(&mut row);
            weights[node as usize] = row;
        }
    }
}

fn add_share(row: &mut Vec<(u32, f64)>, joint: u32, share: f64) {
    match row.iter_mut().find(|entry| entry.0 == joint) {
        Some(entry) => entry.1 += share,
        None => row.push((joint, share)),
    }
}

fn normalize(row: &mut Vec<(u32, f64)>) {
    let total: f64 = row.iter().map(|entry| entry.1).sum();
    row.retain(|entry| entry.1 > 0.0);
    row.iter_mut().for_each(|entry| entry.1 /= total);
}

/// The joint with the largest weight at each node.
pub(super) fn joints_of_nodes(weights: &[Vec<(u32, f64)>]) -> Vec<u32> {
    let winner = |row: &Vec<(u32, f64)>| {
        row.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map_or(NONE, |entry| entry.0)
    };
    weights.iter().map(winner).collect()
}

/// The bone that holds each node. A node between two bones belongs to the nearer one. A bone holds a node only if its
/// flesh belongs to that joint or to an adjacent one, because fingers may share a cube.
fn owners(lattice: &HexLattice, joint_of: &[u32], flesh: &Flesh, bones: &[RigBone]) -> Vec<Option<usize>> {
    let are_near =
        |a: usize, b: usize| a == b || flesh.joints[a].parent == Some(b) || flesh.joints[b].parent == Some(a);
    let owner = |node: usize| {
        let x = lattice.node_position(node);
        let mut best: Option<(usize, f64)> = None;
        for (k, bone) in bones.iter().enumerate().filter(|(_, bone)| bone.hold == Hold::Hard) {
            let depth = bone.distance(x, HARD_REACH * lattice.cell);
            let belongs = joint_of[node] == NONE || are_near(joint_of[node] as usize, bone.joint);
            if depth <= 0.0 && belongs && best.is_none_or(|(_, least)| depth < least) {
                best = Some((k, depth));
            }
        }
        best.map(|(k, _)| k)
    };
    (0..lattice.node_places.len()).map(owner).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Points along the axis of a bone.
fn along(bone: &Bone, spacing: f64) -> Vec<Vec3> {
    let [a, b] = bone.ends;
    let count = (a.distance(b) / spacing).ceil().max(1.0) as usize;
    (0..=count).map(|k| a + (b - a) * (k as f64 / count as f64)).collect()
}

fn shear_modulus(body: &Body) -> f64 {
    material_spec(&body.material).lame().0
}
