//! Size and attitude of a character: whether its file is in meters, and which way is up.

use crate::flesh::Flesh;
use crate::rig::Rig;

/// Sizes of people, from the smallest child to the tallest giant of a tale \[m\].
const OF_HUMANS: [f64; 2] = [0.3, 4.0];
/// Sizes of other characters, from a finger to a whale \[m\].
const OF_OTHERS: [f64; 2] = [0.01, 30.0];
/// Units in which files are written by mistake, with their length \[m\]; the last two stand for a scale applied twice.
const UNITS: [(&str, f64); 6] = [
    ("centimeters", 0.01),
    ("millimeters", 0.001),
    ("inches", 0.0254),
    ("feet", 0.3048),
    ("hundreds of meters", 100.0),
    ("kilometers", 1000.0),
];
/// Cosine of the largest angle between an axis and the direction from feet to hips of somebody upright: 45 degrees.
const UPRIGHT: f64 = 0.71;

/// Size and attitude of a character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posture {
    /// Its largest extent \[m\].
    pub size: f64,
    /// Whether it has the hips, feet and head of a human.
    pub is_human: bool,
    /// The axis from the feet to the hips: 0, 1, 2 for x, y, z; `None` if unknown or between axes.
    pub up: Option<usize>,
}

impl Flesh {
    /// Its posture at a scale, in the pose without animation.
    pub fn posture(&self, rig: &Rig, scale: f64) -> Posture {
        let pose = rig.pose(None, 0.0);
        let place = |node: usize| pose[node].translation;
        let [hips, head] = [&["hips", "pelvis"][..], &["head"]].map(|names| find(rig, names, "").map(place));
        let feet = [["left", "l"], ["right", "r"]].map(|side| foot(rig, side).map(place));
        let up = match (hips, feet) {
            (Some(hips), [Some(left), Some(right)]) => {
                let axis = (hips - (left + right) * 0.5).normalized();
                (0..3).find(|&k| axis[k].abs() > UPRIGHT)
            }
            _ => None,
        };
        let is_human = hips.is_some() && head.is_some() && feet.iter().all(Option::is_some);
        Posture { size: scale * self.surface.bounds().size().max_component(), is_human, up }
    }
}

impl Posture {
    /// Scales that make the size a usual one, with the unit that the file then has; `None` if the size is usual.
    pub fn scales(&self) -> Option<Vec<(&'static str, f64)>> {
        let [least, most] = if self.is_human { OF_HUMANS } else { OF_OTHERS };
        let is_usual = |size: f64| (least..=most).contains(&size);
        let units = || UNITS.into_iter().filter(|(_, unit)| is_usual(self.size * unit)).collect();
        (!is_usual(self.size)).then(units)
    }
}

/// The node of a bone of a human: as the file says, or by one of its usual names.
fn find(rig: &Rig, names: &[&str], side: &str) -> Option<usize> {
    let known = names.iter().find_map(|name| {
        let first = name.chars().next()?.to_ascii_uppercase();
        let bone = if side.is_empty() { (*name).to_string() } else { format!("{side}{first}{}", &name[1..]) };
        rig.humanoid.get(&bone)
    });
    known.copied().or_else(|| {
        let joints = rig.skins.iter().flat_map(|skin| &skin.joints).copied();
        joints.into_iter().find(|&node| words(&rig.nodes[node].name).iter().any(|word| names.contains(&word.as_str())))
    })
}

/// The foot of a side, whose name begins or ends with one of some words.
fn foot(rig: &Rig, side: [&str; 2]) -> Option<usize> {
    let of_file = rig.humanoid.get(&format!("{}Foot", side[0])).copied();
    of_file.or_else(|| {
        let joints = rig.skins.iter().flat_map(|skin| &skin.joints).copied();
        joints.into_iter().find(|&node| {
            let words = words(&rig.nodes[node].name);
            words.iter().any(|word| word == "foot" || word == "ankle")
                && words.iter().any(|word| side.contains(&word.as_str()))
        })
    })
}

/// The words of a name in small letters: `mixamorig:LeftFoot` is mixamorig, left, foot.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_alphabetic() || letter.is_uppercase() && was_small {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().unwrap_or(&mut String::new()).extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use sinew_math::Vec3;

    use super::*;
    use crate::affine::Affine;
    use crate::characters::{Character, CharacterParams, generate};
    use crate::flesh::FleshParams;
    use crate::rig::{Node, Transform};

    /// A torso with joints of legs, under a root.
    fn human(root: Affine, map: bool) -> Rig {
        static TORSO: OnceLock<Rig> = OnceLock::new();
        let coarse = CharacterParams { edge: 0.02, ..CharacterParams::of(Character::Torso) };
        let mut rig = TORSO.get_or_init(|| generate(&coarse).unwrap()).clone();
        let root_node = rig.nodes.len();
        rig.nodes.iter_mut().for_each(|node| node.parent = node.parent.or(Some(root_node)));
        let mut add = |name: &str, transform: Transform, parent: Option<usize>| {
            rig.nodes.push(Node {
                name: name.into(),
                parent,
                transform,
                surface: None,
                skin: None,
                morph_weights: None,
                is_shown: true,
            });
            rig.nodes.len() - 1
        };
        add("armature", Transform::Matrix(root), None);
        let names = [("mixamorig:Hips", 0.9), ("mixamorig:LeftFoot", 0.1), ("foot.R", 0.1), ("Head", 1.7)];
        let nodes = names.map(|(name, y)| {
            let name = if map { "bone" } else { name };
            add(name, Transform::from_translation(Vec3::new(0.0, y, 0.0)), Some(root_node))
        });
        match map {
            true => {
                let bones = ["hips", "leftFoot", "rightFoot", "head"];
                rig.humanoid = bones.iter().map(|bone| (*bone).to_string()).zip(nodes).collect();
            }
            false => {
                rig.skins[0].joints.extend(nodes);
                rig.skins[0].inverse_binds.extend([Affine::identity(); 4]);
            }
        }
        rig
    }

    #[test]
    fn people_in_centimeters_and_on_their_side_are_found() {
        let turn = sinew_math::Quaternion::from_axis_angle(Vec3::unit(0), std::f64::consts::FRAC_PI_2).to_matrix();
        for map in [true, false] {
            for (scale, usual) in [(1.0, None), (100.0, Some("centimeters")), (0.01, Some("hundreds of meters"))] {
                for (linear, up) in [(sinew_math::Mat3::identity(), 1), (turn, 2)] {
                    let rig = human(Affine { linear: linear * scale, translation: Vec3::zero() }, map);
                    let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
                    let posture = flesh.posture(&rig, 1.0);
                    assert!(posture.is_human && posture.up == Some(up), "{posture:?}");
                    assert_eq!(posture.scales().map(|units| units[0].0), usual, "{posture:?}");
                    assert_eq!(flesh.posture(&rig, 1.0 / scale).scales(), None);
                }
            }
        }
        let arm = generate(&CharacterParams::of(Character::Arm)).unwrap();
        let posture = Flesh::new(&arm, &FleshParams::default()).unwrap().posture(&arm, 1.0);
        assert!(!posture.is_human && posture.up.is_none() && posture.scales().is_none());
    }

    #[test]
    fn names_are_words() {
        assert_eq!(words("mixamorig:LeftFoot_01"), ["mixamorig", "left", "foot"]);
        assert_eq!(words("foot.L"), ["foot", "l"]);
        assert_eq!(words("Bip01 R Foot"), ["bip", "r", "foot"]);
        assert_eq!(words(""), [""; 0]);
    }
}
