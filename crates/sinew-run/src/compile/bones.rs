//! Bones of a character listed in the scene: capsules or closed surfaces. Bones over which flesh slides become
//! colliders inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sinew_fem::model::{ColliderParams, Side};
use sinew_geometry::TriMesh;
use sinew_geometry::shape::{AnyShape, Capsule, LevelSet, Pose, Shape};
use sinew_math::Vec3;
use sinew_rig::{Bone, guess_bones, modelled_bone};
use sinew_scene::import::load_surface;
use sinew_scene::spec::body::Body;
use sinew_scene::spec::rig::{self as spec, Hold, Rig};
use sinew_scene::{Character, Diagnostic, nearest};

use super::mesh::located;
use super::{Compiler, list_some};

/// Minimum number of cells of the distance grid across the thickness of a bone, and along it.
const CELLS_ACROSS: f64 = 6.0;
const CELLS_ALONG: f64 = 48.0;
/// Maximum number of cells along it, so that a needle does not fill the memory.
const MAX_CELLS: f64 = 400.0;
/// Number of samples along each side of its box in the search for the center of a bone.
const LOOKS: usize = 32;

/// A bone at rest, in body coordinates \[m\].
pub(super) struct RigBone {
    /// Index of the joint in [`sinew_rig::Flesh::joints`].
    pub joint: usize,
    pub hold: Hold,
    pub form: Form,
    /// Stiffness of a spring divided by that of a cell, for soft bones.
    pub attachment_stiffness: f64,
    /// Its name, and the thickness of the flesh that stays on it where flesh slides.
    pub name: String,
    pub cover: f64,
}

/// The shape of a bone.
pub(super) enum Form {
    Capsule(Bone),
    Surface {
        set: Arc<LevelSet>,
        /// Depth of its center \[m\].
        radius: f64,
    },
}

impl RigBone {
    /// Signed distance of a point from the bone, which counts as at least `radius` thick; negative inside \[m\].
    pub fn distance(&self, x: Vec3, radius: f64) -> f64 {
        match &self.form {
            Form::Capsule(bone) => bone.distance(x).0 - bone.radius.max(radius),
            Form::Surface { set, radius: own } => set.distance(x) - (radius - own).max(0.0),
        }
    }

    /// Distance of a point from the axis of the bone, or from the center of a surface \[m\].
    pub fn axis_distance(&self, x: Vec3) -> f64 {
        match &self.form {
            Form::Capsule(bone) => bone.distance(x).0,
            Form::Surface { set, radius } => set.distance(x) + radius,
        }
    }

    /// The capsule, if it is one.
    pub fn capsule(&self) -> Option<&Bone> {
        match &self.form {
            Form::Capsule(bone) => Some(bone),
            Form::Surface { .. } => None,
        }
    }

    /// The shape, and its pose in body coordinates.
    fn shape(&self) -> Result<(AnyShape, Pose), String> {
        match &self.form {
            Form::Capsule(Bone { ends: [a, b], radius, .. }) => {
                let posed = Capsule::between(*a, *b, *radius).map_err(|error| error.to_string())?;
                Ok((posed.shape.into(), posed.pose))
            }
            Form::Surface { set, .. } => Ok((AnyShape::LevelSet(set.clone()), Pose::identity())),
        }
    }
}

/// Bones at rest in the world, where `place` is the pose of the body. Bones without a shape are left out.
pub(super) fn at_rest(bones: &[RigBone], place: &Pose) -> Vec<(AnyShape, Pose)> {
    let shapes = bones.iter().filter_map(|bone| bone.shape().ok());
    let in_world = |local: Pose| Pose {
        translation: place.to_world(local.translation),
        rotation: place.rotation * local.rotation,
    };
    shapes.map(|(shape, local)| (shape, in_world(local))).collect()
}

impl Compiler<'_> {
    /// The bones of the scene. If it has none that hold flesh, those are guessed.
    pub(super) fn bones(
        &mut self,
        index: usize,
        body: &Body,
        rig: &Rig,
        character: &Character,
    ) -> Result<Vec<RigBone>, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut bones = Vec::new();
        for (k, bone) in rig.bones.iter().enumerate() {
            match self.bone(&format!("body[{index}].rig.bones[{k}]"), body, rig, bone, character) {
                Ok(bone) => bones.push(bone),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if are_guessed(rig) {
            let guessed = guess_bones(&character.flesh).into_iter().map(|bone| RigBone {
                joint: bone.joint,
                hold: rig.hold,
                form: Form::Capsule(scaled(bone, body.scale)),
                attachment_stiffness: rig.attachment_stiffness,
                name: String::new(),
                cover: 0.0,
            });
            bones.extend(guessed);
        }
        Ok(bones)
    }

    fn bone(
        &mut self,
        path: &str,
        body: &Body,
        rig: &Rig,
        bone: &spec::Bone,
        character: &Character,
    ) -> Result<RigBone, Diagnostic> {
        let joints = &character.flesh.joints;
        let Some(joint) = joints.iter().position(|joint| joint.name == bone.joint) else {
            let names: Vec<String> = joints.iter().map(|joint| joint.name.clone()).collect();
            let message = format!("there is no joint \"{}\"", bone.joint);
            return Err(self.unknown(&format!("{path}.joint"), message, &bone.joint, &names, "joints"));
        };
        let form = match (bone.ends, &bone.mesh) {
            (Some(ends), _) => {
                let capsule = Bone { joint, ends: ends.map(Vec3::from), radius: bone.radius.unwrap_or_default() };
                Form::Capsule(scaled(capsule, body.scale))
            }
            (None, Some(file)) => {
                let form = self.bone_file(file).and_then(|surface| form_of(&surface, body.scale));
                form.map_err(|message| located(self.scene, &format!("{path}.mesh"), &message))?
            }
            (None, None) => {
                let (path, name) = (format!("{path}.surface"), bone.surface.as_deref().unwrap_or_default());
                let Some(surface) = modelled_bone(&character.rig, &character.flesh, name) else {
                    let message = format!("there is no surface \"{name}\"");
                    return Err(self.unknown(&path, message, name, &surface_names(character), "surfaces"));
                };
                let form = surface.map_err(|error| error.to_string()).and_then(|surface| form_of(&surface, body.scale));
                form.map_err(|message| located(self.scene, &path, &message))?
            }
        };
        Ok(RigBone {
            joint,
            hold: bone.hold.unwrap_or(rig.hold),
            form,
            attachment_stiffness: bone.attachment_stiffness.unwrap_or(rig.attachment_stiffness),
            name: bone.name.clone().unwrap_or_else(|| bone.joint.clone()),
            cover: bone.cover * body.scale,
        })
    }

    fn unknown(&self, path: &str, message: String, name: &str, known: &[String], what: &str) -> Diagnostic {
        let problem = self.scene.problem(path, message);
        match nearest(name, known.iter().map(String::as_str)) {
            Some(name) => problem.hint(format!("did you mean \"{name}\"?")),
            None => problem.hint(format!("{what}: {}", list_some(known))),
        }
    }

    /// The surface from a file, with its faces pointing outward.
    fn bone_file(&mut self, file: &str) -> Result<TriMesh, String> {
        let parts = load_surface(&self.scene.source, file, &BTreeSet::new()).map_err(|error| error.to_string())?;
        self.notes.extend(parts.notes.iter().map(|note| format!("{file}: {note}")));
        let (surface, _) = parts.mesh.welded().map_err(|error| error.to_string())?;
        Ok(if surface.volume() < 0.0 { surface.flipped() } else { surface })
    }

    /// Turns the bones over which flesh slides into colliders.
    pub(super) fn slide_over(
        &mut self,
        index: usize,
        body: &Body,
        place: &Pose,
        bones: &[RigBone],
        character: &Character,
    ) -> Result<Vec<(String, usize)>, Diagnostic> {
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        let mut driven = Vec::new();
        for (k, bone) in bones.iter().enumerate().filter(|(_, bone)| bone.hold == Hold::Slide) {
            let path = format!("body[{index}].rig.bones[{k}]");
            let (shape, local) = bone.shape().map_err(|message| located(self.scene, &path, &message))?;
            let count = uses.entry(bone.name.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { bone.name.clone() } else { format!("{}-{count}", bone.name) };
            let channel = format!("{}.bone.{name}", body.name);
            self.bones.push(ColliderParams {
                name: channel.clone(),
                shape,
                pose: Pose {
                    translation: place.to_world(local.translation),
                    rotation: place.rotation * local.rotation,
                },
                pivot: place.to_world(character.flesh.joints[bone.joint].place * body.scale),
                stiffness: None,
                friction: 0.0,
                restitution: 1.0,
                side: Side::Bone { body: index, cover: bone.cover },
            });
            driven.push((channel, bone.joint));
        }
        Ok(driven)
    }
}

/// Whether the bones that hold flesh are guessed, because the scene has none.
pub(super) fn are_guessed(rig: &Rig) -> bool {
    rig.bones.iter().all(|bone| bone.hold.unwrap_or(rig.hold) == Hold::Slide)
}

fn scaled(bone: Bone, scale: f64) -> Bone {
    Bone { ends: bone.ends.map(|x| x * scale), radius: bone.radius * scale, ..bone }
}

/// The level set of a closed surface, on a grid that resolves its thickness.
fn form_of(surface: &TriMesh, scale: f64) -> Result<Form, String> {
    let surface = surface.mapped(|x| x * scale).map_err(|error| error.to_string())?;
    let bounds = surface.bounds();
    let length = bounds.size().max_component();
    // For a long cylinder this is the diameter.
    let thickness = 4.0 * surface.volume() / surface.area();
    let cell = (length / CELLS_ALONG).min(thickness / CELLS_ACROSS).max(length / MAX_CELLS);
    let set = LevelSet::new(surface, Some(cell)).map_err(|error| error.to_string())?;
    let mut radius = 0.0f64;
    for k in 0..LOOKS.pow(3) {
        let part = [k % LOOKS, k / LOOKS % LOOKS, k / (LOOKS * LOOKS)].map(|i| (i as f64 + 0.5) / LOOKS as f64);
        radius = radius.max(-set.distance(bounds.min + bounds.size().component_mul(Vec3::from(part))));
    }
    Ok(Form::Surface { set: Arc::new(set), radius })
}

fn surface_names(character: &Character) -> Vec<String> {
    let pieces = character.flesh.pieces.iter();
    let names = pieces.flat_map(|piece| {
        [&character.rig.nodes[piece.node].name, &character.rig.surfaces[piece.surface].name].map(String::clone)
    });
    names.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}
