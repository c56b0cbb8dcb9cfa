//! Difficult characters: the built-in ones with what makes production characters hard, chosen by a seed.
//!
//! Every seed picks a character, a motion and a subset of [`Difficulty`]; the same seed gives the same file on every
//! machine. What was picked is told, so that a test knows what it looked at.

use sinew_geometry::procedural::icosphere;
use sinew_geometry::proximity::RestSurface;
use sinew_math::{Quaternion, Vec3};

use super::body::{CharacterError, generate};
use super::messy::{Messy, Patch};
use super::{Character, CharacterParams, motion_names};
use crate::affine::Affine;
use crate::animation::Keys;
use crate::appearance::Material;
use crate::rig::{Node, Part, Rig, Surface, Transform};

/// Edges of the skin, in usual ones: coarse, so that many characters can be tried.
const COARSE: f64 = 2.5;
/// Duration of the motion \[s\], and keys per second.
const SECONDS: f64 = 1.0;
const RATE: f64 = 24.0;

/// Linear colors of what is added to a character.
const COLORS: [[f32; 3]; 5] =
    [[0.10, 0.19, 0.40], [0.80, 0.78, 0.70], [0.13, 0.30, 0.16], [0.45, 0.11, 0.08], [0.50, 0.36, 0.08]];

/// What makes a character difficult.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difficulty {
    /// Closed lumps that cross the skin, as limbs and plates that were modeled apart.
    Lumps,
    /// The skin crosses itself in a fold.
    Fold,
    /// The skin is open: one end is cut off, and it has holes.
    Open,
    /// A closed shell inside of the skin.
    Shell,
    /// Balls half in the skin and blocks inside of it, each moved by one joint, as eyes and teeth.
    InnerParts,
    /// A sleeve of one layer over the skin, open at both ends.
    Cloth,
    /// Strips of one layer that stand out of the skin.
    Hair,
    /// Triangles that lie on others, mostly with the other side up.
    Doubled,
    /// Fins on edges, which then have three triangles.
    Fins,
    /// Hundreds of little parts on the skin.
    Buttons,
    /// Triangles with the wrong side up.
    Turned,
    /// Every triangle has vertices of its own.
    Unwelded,
    /// The armature is turned by 90° and scaled by 0.01.
    ScaledArmature,
    /// The same, and vertices and binds are in centimeters.
    Centimeters,
    /// Two surfaces with a skin each.
    TwoSkins,
    /// Joints without names.
    Unnamed,
}

impl Difficulty {
    /// All, in the order in which they are applied, with the per cent of seeds that have each.
    const CHANCES: [(Self, u64); 16] = [
        (Self::Fold, 30),
        (Self::Open, 35),
        (Self::Lumps, 35),
        (Self::Shell, 20),
        (Self::InnerParts, 35),
        (Self::Cloth, 35),
        (Self::Hair, 25),
        (Self::Fins, 25),
        (Self::Doubled, 25),
        (Self::Buttons, 20),
        (Self::Turned, 20),
        (Self::Unwelded, 25),
        (Self::TwoSkins, 20),
        (Self::ScaledArmature, 20),
        (Self::Centimeters, 15),
        (Self::Unnamed, 15),
    ];

    /// In a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lumps => "crossing lumps",
            Self::Fold => "crossing fold",
            Self::Open => "open borders",
            Self::Shell => "inner shell",
            Self::InnerParts => "eyes and teeth",
            Self::Cloth => "cloth of one layer",
            Self::Hair => "hair",
            Self::Doubled => "doubled faces",
            Self::Fins => "non-manifold edges",
            Self::Buttons => "loose parts",
            Self::Turned => "turned faces",
            Self::Unwelded => "unwelded",
            Self::ScaledArmature => "scaled armature",
            Self::Centimeters => "centimeters",
            Self::TwoSkins => "two skins",
            Self::Unnamed => "unnamed joints",
        }
    }
}

/// A difficult character, and what is difficult about it.
#[derive(Clone, Debug)]
pub struct DifficultCharacter {
    /// The character that it is made of.
    pub base: Character,
    /// The character with its motion.
    pub rig: Rig,
    /// What was picked.
    pub difficulties: Vec<Difficulty>,
}

/// Reproducible random numbers: SplitMix64 \[Steele14\].
pub(super) struct Dice(u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.roll() % count.max(1) as u64) as usize
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.roll() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// What difficult characters are made of.
const BASES: [Character; 3] = [Character::Arm, Character::Hand, Character::Torso];

/// The difficult character of a seed.
///
/// # Errors
/// None for the built-in characters; those of their generator.
pub fn difficult(seed: u64) -> Result<DifficultCharacter, CharacterError> {
    let mut dice = Dice(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0xD1F);
    let base = BASES[dice.below(BASES.len())];
    let motions = motion_names(base);
    // Stress tests stand last, and are too hard for coarse cells.
    let motion = Some(motions[dice.below(motions.len().min(2))]);
    let edge = COARSE * base.usual_edge();
    let params = CharacterParams { edge, seconds: SECONDS, frame_rate: RATE, motion, ..CharacterParams::of(base) };
    let mut rig = generate(&params)?;
    let rolls = Difficulty::CHANCES.map(|(difficulty, chance)| (difficulty, dice.roll() % 100 < chance));
    let mut difficulties: Vec<Difficulty> =
        rolls.iter().filter(|(_, is_picked)| *is_picked).map(|(difficulty, _)| *difficulty).collect();
    if difficulties.is_empty() {
        difficulties.push(Difficulty::CHANCES[dice.below(12)].0);
    }
    // Either way the armature is scaled.
    if difficulties.contains(&Difficulty::Centimeters) {
        difficulties.retain(|difficulty| *difficulty != Difficulty::ScaledArmature);
    }
    for &difficulty in &difficulties {
        apply(&mut rig, difficulty, edge, &mut dice);
    }
    Ok(DifficultCharacter { base, rig, difficulties })
}

/// A coarse character with one difficulty, for tests.
#[cfg(test)]
pub(crate) fn with_difficulty(rig: &Rig, edge: f64, difficulty: Difficulty, seed: u64) -> Rig {
    let mut rig = rig.clone();
    apply(&mut rig, difficulty, edge, &mut Dice(seed));
    rig
}

fn apply(rig: &mut Rig, difficulty: Difficulty, edge: f64, dice: &mut Dice) {
    match difficulty {
        Difficulty::ScaledArmature => scale_armature(rig, false),
        Difficulty::Centimeters => scale_armature(rig, true),
        Difficulty::Unnamed => {
            rig.skins.iter().flat_map(|skin| &skin.joints).for_each(|&joint| rig.nodes[joint].name.clear());
        }
        Difficulty::TwoSkins => split_skin(rig),
        Difficulty::Shell => add_part(rig, "shell", |messy, _| Patch::shell(messy), dice),
        Difficulty::InnerParts => {
            add_part(rig, "eyes", |messy, dice| balls(messy, dice, 2, [0.15, 0.3]), dice);
            add_part(rig, "teeth", teeth, dice);
        }
        Difficulty::Cloth => add_part(rig, "cloth", Patch::sleeve, dice),
        Difficulty::Hair => add_part(rig, "hair", Patch::strips, dice),
        Difficulty::Buttons => add_part(rig, "buttons", Patch::buttons, dice),
        Difficulty::Lumps => add_part(rig, "lumps", lumps, dice),
        _ => {
            let part = &mut rig.surfaces[0].parts[0];
            let mut messy = Messy::of(part, edge);
            match difficulty {
                Difficulty::Fold => messy.fold(dice),
                Difficulty::Open => messy.open(dice),
                Difficulty::Doubled => messy.double(dice),
                Difficulty::Fins => messy.add_fins(dice),
                Difficulty::Turned => messy.turn(dice),
                _ => messy.unweld(),
            }
            messy.into_part(part);
        }
    }
}

/// Adds a surface with the skin of the character.
fn add_part(rig: &mut Rig, name: &str, make: impl FnOnce(&Messy, &mut Dice) -> Patch, dice: &mut Dice) {
    let skin = rig.nodes.iter().position(|node| node.surface == Some(0));
    let messy = Messy::of(&rig.surfaces[0].parts[0], 0.0);
    let patch = make(&messy, dice);
    let surface = rig.surfaces.len();
    let [r, g, b] = COLORS[surface % COLORS.len()];
    let part = Part { material: Some(rig.appearance.materials.len()), ..patch.into_part() };
    let look = Material { base_color: [r, g, b, 1.0], metallic: 0.0, roughness: 0.8, ..Material::default() };
    rig.appearance.materials.push(Material { name: name.into(), double_sided: true, ..look });
    rig.surfaces.push(Surface { name: name.into(), parts: vec![part], morph_weights: Vec::new() });
    if let Some(stand) = skin.map(|skin| rig.nodes[skin].clone()) {
        rig.nodes.push(Node { name: name.into(), surface: Some(surface), ..stand });
    }
}

/// Closed balls that cross the skin and bend with it.
fn lumps(messy: &Messy, dice: &mut Dice) -> Patch {
    let mut patch = Patch::default();
    for _ in 0..2 + dice.below(3) {
        let v = messy.any_vertex(dice);
        let radius = messy.size * dice.between(0.03, 0.06);
        let height = radius * dice.between(0.1, 0.4);
        patch.add_ball(messy, messy.positions[v] + messy.normals[v] * height, radius, None);
    }
    patch
}

/// Balls that stick in the skin, each moved by one joint.
fn balls(messy: &Messy, dice: &mut Dice, count: usize, depth: [f64; 2]) -> Patch {
    let mut patch = Patch::default();
    for _ in 0..count {
        let v = messy.any_vertex(dice);
        let radius = messy.size * dice.between(0.012, 0.02);
        let center = messy.positions[v] - messy.normals[v] * (radius * dice.between(depth[0], depth[1]));
        patch.add_ball(messy, center, radius, Some(messy.main_joint(v)));
    }
    patch
}

/// A row of blocks inside of the skin.
fn teeth(messy: &Messy, dice: &mut Dice) -> Patch {
    let mut patch = Patch::default();
    let v = messy.any_vertex(dice);
    let size = 0.004 * messy.size;
    let start = messy.positions[v] - messy.normals[v] * (4.0 * size);
    let along = messy.normals[v].cross(Vec3::new(0.37, 0.61, 0.7)).normalized();
    for k in 0..6 {
        patch.add_block(start + along * (2.2 * size * f64::from(k)), size, messy.main_joint(v));
    }
    patch
}

/// Turns the armature by 90° and scales it by 0.01: its joints are in centimeters, with z up. With `in_centimeters`
/// vertices and binds are, too.
fn scale_armature(rig: &mut Rig, in_centimeters: bool) {
    let turn = Quaternion::from_axis_angle(Vec3::unit(0), -std::f64::consts::FRAC_PI_2);
    let scale = 0.01;
    let root = Transform::Parts { translation: Vec3::zero(), rotation: turn, scale: Vec3::splat(scale) };
    let Some(back) = root.to_affine().inverse() else { return };
    let joints: Vec<usize> = rig.skins.iter().flat_map(|skin| skin.joints.iter().copied()).collect();
    let armature = rig.nodes.len();
    for (number, node) in rig.nodes.iter_mut().enumerate().filter(|(number, _)| joints.contains(number)) {
        if let Transform::Parts { translation, rotation, scale } = node.transform {
            let (translation, rotation) = (back.linear * translation, turn.conjugate() * rotation * turn);
            node.transform = Transform::Parts { translation, rotation, scale };
        }
        if node.parent.is_none_or(|parent| parent >= number && !joints.contains(&parent)) {
            node.parent = Some(armature);
        }
    }
    let name = "Armature".to_string();
    let stand =
        Node { name, parent: None, transform: root, surface: None, skin: None, morph_weights: None, is_shown: true };
    rig.nodes.push(stand);
    for channel in rig.animations.iter_mut().flat_map(|animation| &mut animation.channels) {
        match &mut channel.keys {
            Keys::Rotation(keys) => keys.iter_mut().for_each(|key| {
                let [w, x, y, z] = *key;
                let turned = turn.conjugate() * Quaternion { w, x, y, z } * turn;
                let v = turned.vector();
                *key = [turned.w, v.x, v.y, v.z];
            }),
            Keys::Translation(keys) => keys.iter_mut().for_each(|key| *key = back.linear * *key),
            _ => {}
        }
    }
    let root = root.to_affine();
    for bind in rig.skins.iter_mut().flat_map(|skin| &mut skin.inverse_binds) {
        let scaled = back.after(bind);
        *bind = if in_centimeters { scaled.after(&root) } else { scaled };
    }
    if in_centimeters {
        move_vertices(rig, &back);
    }
}

fn move_vertices(rig: &mut Rig, map: &Affine) {
    for part in rig.surfaces.iter_mut().flat_map(|surface| &mut surface.parts) {
        part.positions.iter_mut().for_each(|x| *x = map.apply(*x));
        for normal in &mut part.normals {
            let turned = (map.linear * Vec3::from(normal.map(f64::from))).normalized();
            *normal = turned.to_array().map(|c| c as f32);
        }
    }
}

/// Cuts the skin across its longest side in two surfaces, each with a skin of its own.
fn split_skin(rig: &mut Rig) {
    let Some(stand) = rig.nodes.iter().position(|node| node.surface == Some(0)) else { return };
    let part = rig.surfaces[0].parts[0].clone();
    let messy = Messy::of(&part, 0.0);
    let (axis, middle) = messy.longest();
    let (low, high): (Vec<[u32; 3]>, Vec<[u32; 3]>) = part
        .triangles
        .iter()
        .partition(|triangle| triangle.iter().map(|&v| part.positions[v as usize][axis]).sum::<f64>() < 3.0 * middle);
    rig.surfaces[0].parts[0].triangles = low;
    let mut other = part;
    other.triangles = high;
    let (surface, skin) = (rig.surfaces.len(), rig.skins.len());
    let name = format!("{} 2", rig.surfaces[0].name);
    rig.surfaces.push(Surface { name: name.clone(), parts: vec![other], morph_weights: Vec::new() });
    rig.skins.push(rig.skins[0].clone());
    let node = Node { name, surface: Some(surface), skin: Some(skin), ..rig.nodes[stand].clone() };
    rig.nodes.push(node);
}

impl Patch {
    /// A ball with the weights of the skin near it, or of one joint.
    fn add_ball(&mut self, messy: &Messy, center: Vec3, radius: f64, joint: Option<u32>) {
        let Ok(ball) = icosphere(radius, 4) else { return };
        let near = RestSurface::new(messy.positions.clone(), messy.triangles.clone());
        let positions: Vec<Vec3> = ball.positions().iter().map(|x| *x + center).collect();
        let weights = positions.iter().map(|x| match joint {
            Some(joint) => vec![(joint, 1.0)],
            None => messy.weights_near(&near, *x),
        });
        let weights = weights.collect();
        self.add(positions, ball.triangles(), weights);
    }
}
