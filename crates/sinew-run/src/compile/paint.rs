//! Art direction: paint by names and maps, on the skin of a character and in its cells.
//!
//! A layer of paint has a mask m between 0 and 1 at the vertices of the skin, and brings a value v there to
//! (1 − m) v + m times its own. Cells read the paint at the nearest point of the skin; in them it becomes
//!
//! - **fat**: with d the depth of the cell below the skin and b its distance to the nearest bone, flesh within f (d + b) of
//!   the skin is fat. A cell of which a share s is fat has the Young's modulus E¹⁻ˢ E_fatˢ, between the bounds for layers
//!   side by side and one above the other;
//! - **stiffness**: a factor on all of it;
//! - **sliding**: next to a bone the shear modulus falls to 1 − 0.95 s of itself while the bulk modulus stays: that layer
//!   passes pressure on, but little shear, so that the flesh over it slides along the bone and cannot come off it.

use std::sync::Arc;

use sinew_fem::material::{ElasticModuli, MaterialSpec};
use sinew_fem::{Simulation, SurfaceFinish};
use sinew_geometry::mesh::{NearestPlaces, faded};
use sinew_geometry::shape::Pose;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::Vec3;
use sinew_scene::spec::Scene;
use sinew_scene::spec::art::{Channel, Look, Paint};
use sinew_scene::spec::body::Body;
use sinew_scene::spec::motion::pose;
use sinew_scene::spec::rig::{Hold, Rig};
use sinew_scene::spec::tissue::Tissue;
use sinew_scene::{Character, Diagnostic, SceneCharacter, SkinPaint, nearest};

use super::body::center_of;
use super::bones::RigBone;
use super::material_map::Painting;
use super::rig::HARD_REACH;
use super::{Compiler, list_some};

/// Share of the resistance to shear that sliding takes away at most. Without any, nothing would keep the layer in shape.
const MOST_SLIDING: f64 = 0.95;
/// Distances from a bone, in cells, between which the layer that slides ends: one whole cell beyond those that it holds.
const SLIDING_REACH: [f64; 2] = [0.75, 1.25];

impl Compiler<'_> {
    /// The paint on the skin of a body.
    pub(super) fn paint_skin(
        &self,
        index: usize,
        rig: &Rig,
        scale: f64,
        character: &Character,
    ) -> Result<SkinPaint, Vec<Diagnostic>> {
        if rig.paint.is_empty() && rig.preset.is_none() {
            return Ok(SkinPaint::default());
        }
        let surface = &character.flesh.surface;
        let mut looks = vec![rig.preset.map_or(Look::PLAIN, |preset| preset.look()); surface.vertex_count()];
        let mut layers = Vec::new();
        let mut problems = Vec::new();
        for (k, paint) in rig.paint.iter().enumerate() {
            match self.mask(&format!("body[{index}].rig.paint[{k}]"), paint, character) {
                Ok(mask) => {
                    let mask = faded(surface, &mask, paint.border / scale);
                    layers.push((paint.describe(), covered(surface, &mask)));
                    looks.iter_mut().zip(&mask).for_each(|(look, &mask)| put(look, paint, mask));
                }
                Err(mut more) => problems.append(&mut more),
            }
        }
        if problems.is_empty() { Ok(SkinPaint { looks, layers }) } else { Err(problems) }
    }

    /// The mask of a layer at the vertices of the skin.
    fn mask(&self, path: &str, paint: &Paint, character: &Character) -> Result<Vec<f64>, Vec<Diagnostic>> {
        let flesh = &character.flesh;
        if !paint.joint.is_empty() {
            let known: Vec<String> = flesh.joints.iter().map(|joint| joint.name.clone()).collect();
            self.check_names(path, "joint", &paint.joint, &known)?;
            let is_in = |joint: u32| paint.joint.contains(&flesh.joints[joint as usize].name);
            let share = |weights: &Vec<(u32, f64)>| {
                weights.iter().filter(|(joint, _)| is_in(*joint)).map(|(_, weight)| weight).sum::<f64>().min(1.0)
            };
            return Ok(flesh.weights.iter().map(share).collect());
        }
        let rig = &character.rig;
        if !paint.material.is_empty() {
            let name_of =
                |material: Option<usize>| material.and_then(|m| rig.appearance.materials.get(m)).map(|m| &m.name);
            let known: Vec<String> = rig.appearance.materials.iter().map(|material| material.name.clone()).collect();
            self.check_names(path, "material", &paint.material, &known)?;
            let is_in =
                |part: &sinew_rig::Part| name_of(part.material).is_some_and(|name| paint.material.contains(name));
            return Ok(at_vertices(flesh, &of_corners(character, is_in)));
        }
        if !paint.part.is_empty() {
            let pieces = &flesh.pieces;
            let mut known: Vec<String> = pieces.iter().map(|piece| piece.name(rig).to_string()).collect();
            let nodes = pieces.iter().map(|piece| rig.nodes[piece.node].name.clone());
            known.extend(nodes.filter(|name| !name.is_empty()));
            known.dedup();
            self.check_names(path, "part", &paint.part, &known)?;
            let wanted: Vec<*const sinew_rig::Part> = pieces
                .iter()
                .filter(|piece| paint.part.iter().any(|name| piece.has_name(rig, name)))
                .map(|piece| std::ptr::from_ref(&rig.surfaces[piece.surface].parts[piece.part]))
                .collect();
            return Ok(at_vertices(flesh, &of_corners(character, |part| wanted.contains(&std::ptr::from_ref(part)))));
        }
        let channel = paint.channel.map(|channel| match channel {
            Channel::R => 0,
            Channel::G => 1,
            Channel::B => 2,
            Channel::A => 3,
        });
        let fields = character.corner_fields();
        let painting = Painting { surface: &flesh.surface, fields: &fields };
        let corners = match (&paint.attribute, &paint.texture) {
            (Some(name), _) => painting.corners_of_attribute(name, channel).ok_or_else(|| {
                let known: Vec<String> = painting.names().into_iter().map(String::from).collect();
                if let Some(field) = fields.iter().find(|field| field.name == *name) {
                    let message = format!("the attribute \"{name}\" has {} components", field.components);
                    return self
                        .scene
                        .problem(&format!("{path}.channel"), message)
                        .hint("leave it out to use the first");
                }
                let problem =
                    self.scene.problem(&format!("{path}.attribute"), format!("the skin has no attribute \"{name}\""));
                with_known(problem, name, &known, "attributes")
            }),
            (None, Some(file)) => painting
                .corners_of_texture(&self.scene.source.resolve(file), channel)
                .map_err(|message| self.scene.problem(&format!("{path}.texture"), message)),
            (None, None) => return Ok(vec![1.0; flesh.surface.vertex_count()]),
        };
        let [low, high] = paint.range;
        // What is not painted is not covered.
        let share = |value: f64| if value.is_nan() { 0.0 } else { ((value - low) / (high - low)).clamp(0.0, 1.0) };
        let corners: Vec<f64> = corners.map_err(|problem| vec![problem])?.into_iter().map(share).collect();
        Ok(at_vertices(flesh, &corners))
    }

    /// All names of a list that do not exist.
    fn check_names(&self, path: &str, key: &str, names: &[String], known: &[String]) -> Result<(), Vec<Diagnostic>> {
        let unknown = names.iter().enumerate().filter(|(_, name)| !known.contains(name));
        let problem = |(k, name): (usize, &String)| {
            let path = if names.len() > 1 { format!("{path}.{key}[{k}]") } else { format!("{path}.{key}") };
            let problem = self.scene.problem(&path, format!("there is no {key} \"{name}\""));
            with_known(problem, name, known, &format!("{key}s"))
        };
        let problems: Vec<Diagnostic> = unknown.map(problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

fn with_known(problem: Diagnostic, name: &str, known: &[String], what: &str) -> Diagnostic {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => problem.hint(format!("did you mean \"{near}\"?")),
        None if known.is_empty() => problem.hint(format!("it has no {what}")),
        None => problem.hint(format!("{what}: {}", list_some(known))),
    }
}

/// Brings the values that a layer sets closer to its own.
fn put(look: &mut Look, paint: &Paint, mask: f64) {
    let Look { stiffness, fat, sliding, answer, jiggle } = look;
    let pairs = [
        (stiffness, paint.stiffness),
        (fat, paint.fat),
        (sliding, paint.sliding),
        (answer, paint.answer),
        (jiggle, paint.jiggle),
    ];
    for (value, own) in pairs {
        if let Some(own) = own {
            *value += mask * (own - *value);
        }
    }
}

/// One at corners of triangles in certain parts of the file, else zero.
fn of_corners(character: &Character, is_in: impl Fn(&sinew_rig::Part) -> bool) -> Vec<f64> {
    let value = |corner: Option<(&sinew_rig::Part, usize)>| f64::from(corner.is_some_and(|(part, _)| is_in(part)));
    character.corners().into_iter().map(value).collect()
}

/// Means of the corners at each vertex.
fn at_vertices(flesh: &sinew_rig::Flesh, corners: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); flesh.surface.vertex_count()];
    for (&vertex, value) in flesh.surface.triangles().iter().flatten().zip(corners) {
        let (sum, count) = &mut sums[vertex as usize];
        *sum += value;
        *count += 1.0;
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { 0.0 }).collect()
}

/// The mean of a mask over the area of the skin.
fn covered(surface: &TriMesh, mask: &[f64]) -> f64 {
    let (mut sum, mut area) = (0.0, 0.0);
    for (k, triangle) in surface.triangles().iter().enumerate() {
        let [a, b, c] = surface.corners(k);
        let size = (b - a).cross(c - a).norm();
        sum += size * triangle.iter().map(|&v| mask[v as usize]).sum::<f64>() / 3.0;
        area += size;
    }
    if area > 0.0 { sum / area } else { 0.0 }
}

/// The paint of cells.
pub(super) struct CellPaint {
    stiffness: Vec<f64>,
    /// Share of each cell that is fat.
    pub fat: Vec<f64>,
    sliding: Vec<f64>,
    /// Young's modulus and Poisson's ratio of fat.
    tissue: (f64, f64),
    /// Its density \[kg/m³\].
    pub density: f64,
}

impl CellPaint {
    /// Reads the paint of the skin, `surface`, for all cells; `None` where no paint changes any.
    pub fn of(paint: &SkinPaint, surface: &TriMesh, mesh: &CellMesh, cell: f64, bones: &[RigBone]) -> Option<Self> {
        let changes = |look: &Look| Look { answer: 1.0, jiggle: 1.0, ..*look } != Look::PLAIN;
        if !paint.looks.iter().any(changes) {
            return None;
        }
        let tissue = Tissue::named("fat")?;
        let places = NearestPlaces::new(surface);
        let count = mesh.cell_count();
        let mut cells = Self {
            stiffness: Vec::with_capacity(count),
            fat: Vec::with_capacity(count),
            sliding: Vec::with_capacity(count),
            tissue: (tissue.value("young")?, tissue.value("poisson")?),
            density: tissue.density,
        };
        for number in 0..count {
            let center = center_of(mesh, number);
            let place = places.to(center)?;
            let corners = surface.triangles()[place.triangle];
            let at = |of: fn(&Look) -> f64| -> f64 {
                corners.iter().zip(place.weights).map(|(&v, weight)| weight * of(&paint.looks[v as usize])).sum()
            };
            let depth = center.distance(place.position);
            let holding = || bones.iter().filter(|bone| bone.hold != Hold::Slide);
            let to_bone = holding().map(|bone| bone.distance(center, 0.0)).fold(f64::INFINITY, f64::min).max(0.0);
            let to_held = holding().map(|bone| bone.distance(center, HARD_REACH * cell)).fold(f64::INFINITY, f64::min);
            let [near, far] = SLIDING_REACH.map(|cells| cells * cell);
            cells.stiffness.push(at(|look| look.stiffness));
            cells.fat.push(share_of_fat(at(|look| look.fat), depth, to_bone, cell));
            cells.sliding.push(at(|look| look.sliding) * ((far - to_held) / (far - near)).clamp(0.0, 1.0));
        }
        Some(cells)
    }

    /// The material of a cell under paint.
    pub fn apply(&self, cell: usize, spec: &MaterialSpec) -> MaterialSpec {
        let (stiffness, fat, sliding) = (self.stiffness[cell], self.fat[cell], self.sliding[cell]);
        if (stiffness, fat, sliding) == (1.0, 0.0, 0.0) {
            return *spec;
        }
        let (young, poisson) = spec.moduli().young_poisson();
        let young = young * (self.tissue.0 / young).powf(fat) * stiffness;
        let poisson = poisson + fat * (self.tissue.1 - poisson);
        let moduli = ElasticModuli::YoungPoisson { young, poisson };
        let (shear, lambda) = moduli.lame();
        let left = shear * (1.0 - MOST_SLIDING * sliding);
        // The bulk modulus λ + 2μ/3 stays.
        spec.with_moduli(ElasticModuli::Lame { mu: left, lambda: lambda + (shear - left) * (2.0 / 3.0) })
    }
}

/// The share of a cell within the layer of fat, which is `fat` of the way from the skin to the bone thick. A cell that the
/// skin cuts counts from the skin on.
fn share_of_fat(fat: f64, depth: f64, to_bone: f64, cell: f64) -> f64 {
    let [top, bottom] = [(depth - 0.5 * cell).max(0.0), depth + 0.5 * cell];
    // Far from all bones the flesh has no depth that counts.
    let layer = if to_bone.is_finite() { fat * (depth + to_bone) } else { fat * f64::MAX };
    ((layer.min(bottom) - top) / (bottom - top)).clamp(0.0, 1.0)
}

/// Shows less of the flesh's answer where paint says so: x = B + w (x − B) with blend skinning B.
struct Answer {
    character: Arc<Character>,
    settings: Rig,
    scale: f64,
    place: Pose,
    /// Vertices with a share below one.
    shares: Vec<(u32, f64)>,
}

impl SurfaceFinish for Answer {
    fn finish(&self, time: f64, _memory: &[Vec3], surface: &mut [Vec3]) {
        let motions = self.character.performance(&self.settings).motions(time);
        let flesh = &self.character.flesh;
        for &(vertex, share) in &self.shares {
            let v = vertex as usize;
            let rest = flesh.surface.positions()[v];
            let moved = |&(joint, weight): &(u32, f64)| motions[joint as usize].to_world(rest) * weight;
            let blended = self.place.to_world(flesh.weights[v].iter().map(moved).sum::<Vec3>() * self.scale);
            surface[v] = blended + (surface[v] - blended) * share;
        }
    }
}

/// Lets a simulation show the skins of its characters as painted.
pub(super) fn show_answers(scene: &Scene, characters: &[SceneCharacter], simulation: &mut Simulation) {
    for SceneCharacter { body, character, paint, .. } in characters {
        let body_of_scene: &Body = &scene.body[*body];
        let looks = paint.looks.iter().enumerate();
        let shares: Vec<(u32, f64)> =
            looks.filter(|(_, look)| look.answer < 1.0).map(|(v, look)| (v as u32, look.answer)).collect();
        let (false, Some(settings)) = (shares.is_empty(), &body_of_scene.rig) else { continue };
        let answer = Answer {
            character: character.clone(),
            settings: settings.clone(),
            scale: body_of_scene.scale,
            place: pose(body_of_scene.position, body_of_scene.rotation.as_ref()),
            shares,
        };
        simulation.finish_surface(*body, Box::new(answer));
    }
}

#[cfg(test)]
mod tests {
    use sinew_fem::material::Law;

    use super::*;

    /// Cells of 1 cm above each other, from the skin to a bone 4 cm below it: the layers of all of them add up.
    #[test]
    fn fat_fills_its_share_of_the_depth() {
        for fat in [0.0, 0.1, 0.25, 0.5, 0.83, 1.0] {
            let share = |k: i32| {
                let depth = 0.01 * (f64::from(k) + 0.5);
                share_of_fat(fat, depth, 0.04 - depth, 0.01)
            };
            let filled: f64 = (0..4).map(share).sum();
            assert!((filled - 4.0 * fat).abs() < 1e-12, "{fat}: {filled}");
        }
        // The skin cuts the first cell in half.
        assert!((share_of_fat(0.1, 0.0, 0.03, 0.01) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn layers_go_over_each_other_as_far_as_their_masks_say() {
        let mut look = Look::PLAIN;
        let soft = Paint { stiffness: Some(0.5), ..Paint::default() };
        put(&mut look, &soft, 1.0);
        assert_eq!(look, Look { stiffness: 0.5, ..Look::PLAIN });
        put(&mut look, &Paint { stiffness: Some(1.5), answer: Some(0.0), ..Paint::default() }, 0.25);
        assert_eq!(look, Look { stiffness: 0.75, answer: 0.75, ..Look::PLAIN });
    }

    /// Sliding takes shear stiffness and leaves bulk; half fat is halfway between the moduli on a logarithmic scale.
    #[test]
    fn paint_changes_the_moduli_as_it_says() {
        let spec = MaterialSpec::with_young(Law::Corotated, 27e3, 0.45);
        let paint = |stiffness, fat, sliding| CellPaint {
            stiffness: vec![stiffness],
            fat: vec![fat],
            sliding: vec![sliding],
            tissue: (3e3, 0.47),
            density: 950.0,
        };
        let (mu, lambda) = spec.lame();
        let (soft, large) = paint(1.0, 0.0, 1.0).apply(0, &spec).lame();
        assert!((soft - 0.05 * mu).abs() < 1e-6 * mu);
        assert!((large + soft * 2.0 / 3.0 - (lambda + mu * 2.0 / 3.0)).abs() < 1e-6 * lambda);
        let (young, poisson) = paint(2.0, 0.5, 0.0).apply(0, &spec).moduli().young_poisson();
        assert!((young - 2.0 * (27e3f64 * 3e3).sqrt()).abs() < 1e-6 * young && (poisson - 0.46).abs() < 1e-12);
    }
}
