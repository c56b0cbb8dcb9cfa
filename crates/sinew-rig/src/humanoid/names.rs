//! What a joint is, by its name: `mixamorig:LeftForeArm`, `Bip01 L Forearm`, `DEF-forearm.L`, `lForearmBend`,
//! `lowerarm_l`, `leftLowerArm` and `LeftElbow` are the same joint in different programs.
//!
//! A name is cut into words at separators, at capitals and at digits. Sides and numbers are taken out, namespaces and
//! prefixes are ignored by looking at the last words first. Words that programs use in two ways (the "shoulder" is a
//! collarbone in one and an upper arm in the other) stay ambiguous: [`super::Humanoid`] decides with the whole skeleton.

use super::{Finger, Side};

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub word: Word,
    pub side: Side,
}

/// The meaning of a name without its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Hips,
    /// The hips, or with a side a thigh.
    Hip,
    Spine,
    Neck,
    Head,
    Jaw,
    Eye,
    Clavicle,
    /// A collarbone, or an upper arm.
    Shoulder,
    UpperArm,
    Forearm,
    Hand,
    Thigh,
    /// A thigh, or a shin.
    Leg,
    Shin,
    Ankle,
    /// A foot, or its toes below an ankle.
    Foot,
    Toes,
    /// A bone of a finger; its number counts from 0, the metacarpal, if the name tells.
    Finger(Finger, Option<u8>),
}

/// Words of joints that only help others to deform or to be controlled.
const NOT_JOINTS: [&str; 19] = [
    "twist", "roll", "end", "nub", "tip", "ik", "fk", "pole", "target", "helper", "socket", "site", "ctrl", "control",
    "aux", "share", "mch", "effector", "ref",
];

/// Words at the end that say nothing.
const NOISE: [&str; 10] = ["joint", "jnt", "jt", "bone", "bend", "def", "bind", "skin", "jj", "sk"];

/// Whole names, joined in lower case.
const WORDS: [(&str, Word); 53] = [
    ("hips", Word::Hips),
    ("pelvis", Word::Hips),
    ("hip", Word::Hip),
    ("spine", Word::Spine),
    ("chest", Word::Spine),
    ("upperchest", Word::Spine),
    ("torso", Word::Spine),
    ("abdomen", Word::Spine),
    ("waist", Word::Spine),
    ("thorax", Word::Spine),
    ("neck", Word::Neck),
    ("head", Word::Head),
    ("jaw", Word::Jaw),
    ("eye", Word::Eye),
    ("eyeball", Word::Eye),
    ("clavicle", Word::Clavicle),
    ("collar", Word::Clavicle),
    ("collarbone", Word::Clavicle),
    ("shoulder", Word::Shoulder),
    ("shldr", Word::Shoulder),
    ("arm", Word::UpperArm),
    ("upperarm", Word::UpperArm),
    ("uparm", Word::UpperArm),
    ("armupper", Word::UpperArm),
    ("humerus", Word::UpperArm),
    ("forearm", Word::Forearm),
    ("lowerarm", Word::Forearm),
    ("lowarm", Word::Forearm),
    ("armlower", Word::Forearm),
    ("elbow", Word::Forearm),
    ("hand", Word::Hand),
    ("wrist", Word::Hand),
    ("thigh", Word::Thigh),
    ("upleg", Word::Thigh),
    ("upperleg", Word::Thigh),
    ("legupper", Word::Thigh),
    ("femur", Word::Thigh),
    ("leg", Word::Leg),
    ("shin", Word::Shin),
    ("calf", Word::Shin),
    ("lowerleg", Word::Shin),
    ("lowleg", Word::Shin),
    ("leglower", Word::Shin),
    ("foreleg", Word::Shin),
    ("knee", Word::Shin),
    ("tibia", Word::Shin),
    ("ankle", Word::Ankle),
    ("foot", Word::Foot),
    ("toe", Word::Toes),
    ("toes", Word::Toes),
    ("toebase", Word::Toes),
    ("ball", Word::Toes),
    ("foottoe", Word::Toes),
];

/// Reads a name.
pub(super) fn read(name: &str) -> Option<Reading> {
    let own = name.rsplit(['|', ':']).find(|part| !part.trim().is_empty())?;
    let mut words = words_of(own);
    if words.iter().any(|word| NOT_JOINTS.contains(&word.as_str())) {
        return None;
    }
    let side = take_side(&mut words);
    let digits: Vec<String> = words.extract_if(.., |word| word.starts_with(|c: char| c.is_ascii_digit())).collect();
    while words.len() > 1 && words.last().is_some_and(|word| NOISE.contains(&word.as_str())) {
        words.pop();
    }
    if let Some(word) = finger(&words, digits.last().map(String::as_str)) {
        return Some(Reading { word, side });
    }
    for start in 0..words.len() {
        let joined = words[start..].concat();
        if let Some(word) = known(&joined) {
            return Some(Reading { word, side });
        }
        // `lthigh`, `leftupleg`: a side without any separator.
        let glued = [("left", Side::Left), ("right", Side::Right), ("l", Side::Left), ("r", Side::Right)];
        let rest = |&(prefix, side): &(&str, Side)| Some((known(joined.strip_prefix(prefix)?)?, side));
        if let (Side::Middle, Some((word, side))) = (side, glued.iter().find_map(rest)) {
            return Some(Reading { word, side });
        }
    }
    None
}

fn known(joined: &str) -> Option<Word> {
    WORDS.iter().find(|(text, _)| *text == joined).map(|(_, word)| *word)
}

/// Words in lower case, cut at separators, before capitals and around digits.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    let mut is_open = false;
    for (k, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            is_open = false;
            continue;
        }
        let before = k.checked_sub(1).map(|k| letters[k]);
        let begins_word = before.is_none_or(|before| {
            let is_next_small = letters.get(k + 1).is_some_and(|next| next.is_lowercase());
            let is_capital = letter.is_uppercase() && (before.is_lowercase() || is_next_small);
            is_capital || letter.is_numeric() != before.is_numeric()
        });
        match words.last_mut().filter(|_| is_open && !begins_word) {
            Some(word) => word.extend(letter.to_lowercase()),
            None => words.push(letter.to_lowercase().collect()),
        }
        is_open = true;
    }
    words
}

/// Removes the side from the words.
fn take_side(words: &mut Vec<String>) -> Side {
    let side_of = |word: &String| match word.as_str() {
        "left" | "l" | "lft" | "lf" => Some(Side::Left),
        "right" | "r" | "rgt" | "rt" => Some(Side::Right),
        _ => None,
    };
    let Some(place) = words.iter().position(|word| side_of(word).is_some()) else { return Side::Middle };
    side_of(&words.remove(place)).unwrap_or(Side::Middle)
}

/// A bone of a finger.
fn finger(words: &[String], digits: Option<&str>) -> Option<Word> {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    // The nearest palm bones have the names of fingers in some programs; toes have them too.
    if has(&["toe", "toes", "foot", "carpal", "palm"]) {
        return None;
    }
    if words.last().is_some_and(|word| word == "finger") {
        // Biped: Finger0 is the thumb, Finger12 the third bone of the index.
        let mut digits = digits?.chars().map(|digit| digit.to_digit(10));
        let which = Finger::ALL.get(digits.next()?? as usize).copied()?;
        return Some(Word::Finger(which, Some(digits.next().flatten().unwrap_or(0) as u8 + 1)));
    }
    let name = |which: Finger| match which {
        Finger::Thumb => &["thumb"][..],
        Finger::Index => &["index", "point", "pointer"],
        Finger::Middle => &["middle", "mid"],
        Finger::Ring => &["ring"],
        Finger::Little => &["little", "pinky", "small", "pinkie"],
    };
    let others = [Finger::Thumb, Finger::Index, Finger::Ring, Finger::Little, Finger::Middle];
    let which = others.into_iter().find(|&which| has(name(which)))?;
    let is_thumb = which == Finger::Thumb;
    let of_word = if has(&["metacarpal"]) {
        Some(u8::from(is_thumb))
    } else if has(&["proximal"]) {
        // VRM 0 and Unity call the metacarpal of the thumb proximal; order in the tree corrects it.
        Some(if is_thumb { 2 } else { 1 })
    } else if has(&["intermediate", "medial"]) || (which != Finger::Middle && has(&["middle"])) {
        Some(2)
    } else if has(&["distal"]) {
        Some(3)
    } else {
        None
    };
    let of_number = digits.and_then(|digits| digits.parse::<u8>().ok()).filter(|number| (1..=3).contains(number));
    Some(Word::Finger(which, of_word.or(of_number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same joint in Mixamo, 3ds Max, Blender's Rigify, Daz, Unreal, VRM, Character Creator and BVH files.
    #[test]
    fn joints_are_known_by_the_names_of_many_programs() {
        let left = |word| Some(Reading { word, side: Side::Left });
        for name in [
            "mixamorig:LeftForeArm",
            "mixamorig9:LeftForeArm",
            "mixamorigLeftForeArm",
            "Bip01 L Forearm",
            "ValveBiped.Bip01_L_Forearm",
            "DEF-forearm.L",
            "Armature|DEF-forearm.L",
            "lForearmBend",
            "lowerarm_l",
            "leftLowerArm",
            "CC_Base_L_Forearm",
            "LeftElbow",
            "Character1_LeftForeArm",
            "lforearm",
        ] {
            assert_eq!(read(name), left(Word::Forearm), "{name}");
        }
        for (name, word) in [
            ("LeftUpLeg", Word::Thigh),
            ("lThighBend", Word::Thigh),
            ("LHipJoint", Word::Hip),
            ("CC_Base_L_Calf", Word::Shin),
            ("LeftToeBase", Word::Toes),
            ("ball_l", Word::Toes),
            ("lShldrBend", Word::Shoulder),
            ("LeftHandIndex2", Word::Finger(Finger::Index, Some(2))),
            ("Bip01 L Finger0", Word::Finger(Finger::Thumb, Some(1))),
            ("Bip01 L Finger12", Word::Finger(Finger::Index, Some(3))),
            ("DEF-f_pinky.02.L", Word::Finger(Finger::Little, Some(2))),
            ("leftMiddleIntermediate", Word::Finger(Finger::Middle, Some(2))),
            ("index_metacarpal_l", Word::Finger(Finger::Index, Some(0))),
        ] {
            assert_eq!(read(name), left(word), "{name}");
        }
        for name in ["upperarm_twist_01_l", "LeftHand_end", "Foot_IK.L", "Cube.003", "", "Armature", "LeftArmRollBone"]
        {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
