//! Characters of a scene, read from files.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use sinew_geometry::shape::{AnyShape, Pose};
use sinew_io::Field;
use sinew_rig::retarget::RetargetReport;
use sinew_rig::{
    Animation, Flesh, FleshChoice, FleshError, FleshParams, Part, Performance, Rig, RigError, Role, Source,
};

use crate::motion;
use crate::spec::art::Look;
use crate::spec::mesh::Repair;
use crate::spec::rig as spec;
use crate::value::{Dimension, format_quantity};

/// A character with its flesh.
#[derive(Clone, Debug)]
pub struct Character {
    /// The character in its file.
    pub rig: Rig,
    /// The skin at rest and the joints that move it.
    pub flesh: Flesh,
    /// What came of a motion from elsewhere, which is the last animation of `rig`.
    pub motion: Option<RetargetReport>,
}

/// A character of a compiled scene. It is read from its file once and shared.
#[derive(Clone, Debug)]
pub struct SceneCharacter {
    /// Index of the body.
    pub body: usize,
    /// The character.
    pub character: Arc<Character>,
    /// The bones of the simulation, at rest in the world; bones without a shape are left out.
    pub bones: Vec<(AnyShape, Pose)>,
    /// The paint on its skin.
    pub paint: Arc<SkinPaint>,
}

/// Paint on the skin of a character.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkinPaint {
    /// The look of each vertex of the flesh's surface; empty without paint and preset.
    pub looks: Vec<Look>,
    /// The layers: what was painted, and the share of the skin that it covers, by area.
    pub layers: Vec<(String, f64)>,
}

impl Character {
    /// Reads a character and its motion, and assembles its flesh; files are relative to `folder`. Errors name the wrong
    /// keys of the body, with reasons.
    pub fn load(
        folder: &Path,
        file: &str,
        settings: &spec::Rig,
        repair: Repair,
    ) -> Result<Self, Vec<(&'static str, String)>> {
        let mut rig =
            sinew_io::load_rig(&folder.join(file)).map_err(|error| vec![("mesh.surface", error.to_string())])?;
        let mut problems = Vec::new();
        let motion = match motion::perform(&mut rig, folder, settings) {
            Ok(motion) => motion,
            Err(all) => {
                problems = all;
                None
            }
        };
        let animation = chosen(&rig, settings);
        match animation.as_ref().map(|animation| animation.and_then(|animation| animation.span())) {
            _ if settings.still || !problems.is_empty() => {}
            _ if rig.animations.is_empty() => {
                let message = "the file has no animation, so the character cannot move; hint: export it with its animation, or set `motion` in the rig to a file or a test such as \"range-of-motion\", or set `still = true`";
                problems.push(("mesh.surface", message.into()));
            }
            Err(error) => problems.push(("rig.animation", error.to_string())),
            Ok(None) => problems.push(("rig.animation", "the animation has no keys".into())),
            // Before its first key the character stands still, which is a valid start.
            Ok(Some([_, last])) if settings.start > last => {
                let last = format_quantity(last, Dimension::TIME);
                problems.push(("rig.start", format!("the animation ends at {last}")));
            }
            Ok(Some(_)) => {}
        }
        let key = if settings.surfaces.is_empty() { "mesh.surface" } else { "rig.surfaces" };
        let mut flesh = Flesh::new(&rig, &flesh_params(settings, repair));
        if let (Ok(bound), true) = (&flesh, problems.is_empty()) {
            let animation = animation.ok().flatten().filter(|_| !settings.still).cloned();
            let mirrored = rig.unmirror(bound, animation.as_ref());
            if !mirrored.is_empty() {
                rig.notes.push(format!(
                    "joints are mirrored against the pose in which the skin was bound; their mirroring is ignored: {}",
                    mirrored.join(", ")
                ));
                flesh = Flesh::new(&rig, &flesh_params(settings, repair));
            }
        }
        match flesh {
            Ok(flesh) if problems.is_empty() => Ok(Self { rig, flesh, motion }),
            Ok(_) => Err(problems),
            Err(error) => {
                let key = if matches!(error, FleshError::NoPart { .. }) { "rig.parts" } else { key };
                problems.push((key, error.to_string()));
                Err(problems)
            }
        }
    }

    /// For each corner of the triangles of the flesh its part of the file and its vertex there.
    pub fn corners(&self) -> Vec<Option<(&Part, usize)>> {
        // Triangles of the flesh are those of the file, in another order and perhaps with flipped orientation.
        let mut origins: HashMap<[u32; 3], (&Part, [(u32, u32); 3])> = HashMap::new();
        // Where edges were flipped to remove triangles without area, any vertex of the file at the corner serves.
        let mut any: HashMap<u32, (&Part, usize)> = HashMap::new();
        for piece in &self.flesh.pieces {
            let part = &self.rig.surfaces[piece.surface].parts[piece.part];
            for triangle in &part.triangles {
                let vertex_of = |vertex: u32| match piece.vertices[vertex as usize] {
                    Source::Flesh(of_flesh) => Some((of_flesh, vertex)),
                    Source::Joints(..) | Source::Ride(_) => None,
                };
                if let [Some(a), Some(b), Some(c)] = triangle.map(vertex_of) {
                    origins.insert(sorted([a.0, b.0, c.0]), (part, [a, b, c]));
                    for (of_flesh, vertex) in [a, b, c] {
                        any.entry(of_flesh).or_insert((part, vertex as usize));
                    }
                }
            }
        }
        let corners = self.flesh.surface.triangles().iter().flat_map(|triangle| {
            let origin = origins.get(&sorted(*triangle));
            triangle.map(|vertex| {
                let Some((part, pairs)) = origin else { return any.get(&vertex).copied() };
                let pair = pairs.iter().find(|pair| pair.0 == vertex)?;
                Some((*part, pair.1 as usize))
            })
        });
        corners.collect()
    }

    /// Vertex attributes of the file at the corners of the triangles of the flesh: texture coordinates, colors and
    /// named numbers. NaN where a part lacks an attribute.
    pub fn corner_fields(&self) -> Vec<Field> {
        let corners = self.corners();
        let field = |name: &str, components: usize, value: &dyn Fn(&Part, usize, usize) -> Option<f32>| {
            let at = |corner: &Option<(&Part, usize)>, k: usize| {
                corner.and_then(|(part, vertex)| value(part, vertex, k)).map_or(f64::NAN, f64::from)
            };
            let values: Vec<f64> =
                corners.iter().flat_map(|corner| (0..components).map(move |k| at(corner, k))).collect();
            let is_there = values.iter().any(|value| !value.is_nan());
            is_there.then(|| Field { name: name.into(), components, values })
        };
        let mut fields = Vec::new();
        fields.extend(field("TEXCOORD_0", 2, &|part, vertex, k| Some(part.texcoords.first()?.get(vertex)?[k])));
        fields.extend(field("COLOR_0", 4, &|part, vertex, k| Some(part.colors.get(vertex)?[k])));
        let parts = self.rig.surfaces.iter().flat_map(|surface| &surface.parts);
        let names: BTreeSet<&String> = parts.flat_map(|part| part.numbers.keys()).collect();
        for name in names {
            fields.extend(field(name, 1, &|part, vertex, _| part.numbers.get(name)?.get(vertex).copied()));
        }
        fields
    }

    /// The motion of the character over the run.
    pub fn performance(&self, settings: &spec::Rig) -> Performance<'_> {
        let named = chosen(&self.rig, settings).ok().flatten();
        let animation = named.filter(|_| !settings.still);
        Performance { rig: &self.rig, flesh: &self.flesh, animation, start: settings.start, preroll: settings.preroll }
    }
}

/// The animation that a character performs: its motion from elsewhere, which was added last, or one of its own.
fn chosen<'a>(rig: &'a Rig, settings: &spec::Rig) -> Result<Option<&'a Animation>, RigError> {
    match settings.motion {
        Some(_) => Ok(rig.animations.last()),
        None => rig.animation(settings.animation.as_deref()),
    }
}

/// How the settings of a body choose the flesh of its character.
pub fn flesh_params(settings: &spec::Rig, repair: Repair) -> FleshParams {
    let role = |part: &spec::RigPart| match part.role {
        spec::PartRole::Flesh => Role::Flesh,
        spec::PartRole::OnFlesh => Role::OnFlesh,
        spec::PartRole::OnBone => Role::OnBone,
    };
    FleshParams {
        surfaces: settings.surfaces.clone(),
        bones: settings.bones.iter().filter_map(|bone| bone.surface.clone()).collect(),
        choice: if repair == Repair::Auto { FleshChoice::Auto } else { FleshChoice::Closed },
        roles: settings.parts.iter().map(|part| (part.name.clone(), role(part))).collect(),
    }
}

fn sorted(mut vertices: [u32; 3]) -> [u32; 3] {
    vertices.sort_unstable();
    vertices
}
