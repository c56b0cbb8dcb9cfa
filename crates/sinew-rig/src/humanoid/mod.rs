//! The joints of a human in a skeleton, found by their names and their place in the tree.
//!
//! Names give candidates (`names`), which skins and the tree sort out: a joint of a skin goes before a control, the
//! joint nearest to the root before those below. The spine is what lies between hips and neck, whatever its names.

mod names;

use std::collections::BTreeMap;

use sinew_math::Vec3;

use crate::rig::Rig;
use names::{Reading, Word, read, words_of};

/// A side of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// On the midline, or without a side.
    Middle,
    /// The left of the character.
    Left,
    /// Its right.
    Right,
}

/// A finger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finger {
    /// The thumb.
    Thumb,
    /// The index finger.
    Index,
    /// The middle finger.
    Middle,
    /// The ring finger.
    Ring,
    /// The little finger.
    Little,
}

impl Finger {
    /// All of them, from the thumb on.
    pub const ALL: [Self; 5] = [Self::Thumb, Self::Index, Self::Middle, Self::Ring, Self::Little];

    fn name(self) -> &'static str {
        ["thumb", "index", "middle", "ring", "little"][self as usize]
    }
}

/// A joint of a human, apart from its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The pelvis.
    Hips,
    /// A joint between hips and neck, from below; chains have any number.
    Spine(u8),
    /// A joint of the neck, from below.
    Neck(u8),
    /// The head.
    Head,
    /// The jaw.
    Jaw,
    /// An eye.
    Eye,
    /// The collarbone.
    Clavicle,
    /// The upper arm, which turns at the shoulder.
    UpperArm,
    /// The forearm, which turns at the elbow.
    Forearm,
    /// The hand, which turns at the wrist.
    Hand,
    /// A bone of a finger: 0 is the metacarpal in the palm, 1 to 3 the phalanges; those of the thumb are 1 to 3 with
    /// its metacarpal.
    Finger(Finger, u8),
    /// The thigh, which turns at the hip.
    Thigh,
    /// The lower leg, which turns at the knee.
    Shin,
    /// The foot, which turns at the ankle.
    Foot,
    /// The toes, which turn at the ball of the foot.
    Toes,
}

/// A joint of a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Which joint.
    pub role: Role,
    /// On which side.
    pub side: Side,
}

impl Slot {
    /// A joint on one side.
    pub fn new(role: Role, side: Side) -> Self {
        Self { role, side }
    }

    /// A joint on the midline.
    pub fn middle(role: Role) -> Self {
        Self { role, side: Side::Middle }
    }

    /// Its name in lists and in files of poses, such as `left_upper_arm` and `right_index_2`.
    pub fn name(self) -> String {
        let side = match self.side {
            Side::Middle => "",
            Side::Left => "left_",
            Side::Right => "right_",
        };
        let numbered =
            |name: &str, number: u8| if number == 0 { name.into() } else { format!("{name}_{}", number + 1) };
        let role = match self.role {
            Role::Hips => "hips".into(),
            Role::Spine(number) => numbered("spine", number),
            Role::Neck(number) => numbered("neck", number),
            Role::Head => "head".into(),
            Role::Jaw => "jaw".into(),
            Role::Eye => "eye".into(),
            Role::Clavicle => "clavicle".into(),
            Role::UpperArm => "upper_arm".into(),
            Role::Forearm => "forearm".into(),
            Role::Hand => "hand".into(),
            Role::Finger(finger, 0) => format!("{}_metacarpal", finger.name()),
            Role::Finger(finger, number) => format!("{}_{number}", finger.name()),
            Role::Thigh => "thigh".into(),
            Role::Shin => "shin".into(),
            Role::Foot => "foot".into(),
            Role::Toes => "toes".into(),
        };
        format!("{side}{role}")
    }
}

/// The joints of a human in a skeleton.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Humanoid {
    /// Nodes by joint; chains of spine and neck are numbered from below.
    pub nodes: BTreeMap<Slot, usize>,
    /// The side of an arm or hand whose names have none, as guessed from its shape.
    pub guessed_side: Option<Side>,
}

/// A name that was understood.
#[derive(Clone, Copy)]
struct Candidate {
    node: usize,
    reading: Reading,
    /// Whether no skin has it, and its depth: the smallest wins.
    rank: (bool, usize),
}

impl Humanoid {
    /// Finds the joints of a rig by the names that its file has for them ([`Rig::humanoid`]), and by those of its nodes.
    pub fn of(rig: &Rig) -> Self {
        let mut is_of_skin = vec![false; rig.nodes.len()];
        rig.skins.iter().flat_map(|skin| &skin.joints).for_each(|&joint| is_of_skin[joint] = true);
        let order = rig.order();
        let mut candidates: Vec<Candidate> = Vec::new();
        for (depth, &node) in order.iter().enumerate() {
            let data = &rig.nodes[node];
            let alias = rig.humanoid.iter().find(|entry| *entry.1 == node).map(|entry| entry.0.as_str());
            let is_prop = data.surface.is_some() && !is_of_skin[node];
            if let Some(reading) = read(alias.unwrap_or(&data.name)).filter(|_| !is_prop) {
                candidates.push(Candidate { node, reading, rank: (alias.is_none() && !is_of_skin[node], depth) });
            }
        }
        candidates.sort_by_key(|candidate| candidate.rank);
        let mut found = Self::default();
        let is_limb = |word: Word| {
            !matches!(word, Word::Hips | Word::Hip | Word::Spine | Word::Neck | Word::Head | Word::Jaw | Word::Leg)
        };
        let limbs = || candidates.iter().filter(|candidate| is_limb(candidate.reading.word));
        if limbs().all(|candidate| candidate.reading.side == Side::Middle) && limbs().next().is_some() {
            let side = found.limb_side(rig, &candidates);
            found.guessed_side = Some(side);
            candidates
                .iter_mut()
                .filter(|candidate| is_limb(candidate.reading.word) || candidate.reading.word == Word::Leg)
                .for_each(|candidate| candidate.reading.side = side);
        }
        for side in [Side::Left, Side::Right] {
            found.add_limbs(&candidates, side);
            found.add_fingers(rig, &candidates, side);
        }
        found.add_trunk(rig, &candidates);
        found
    }

    /// The node of a joint.
    pub fn node(&self, role: Role, side: Side) -> Option<usize> {
        self.nodes.get(&Slot { role, side }).copied()
    }

    /// The joint that a node is.
    pub fn slot_of(&self, node: usize) -> Option<Slot> {
        self.nodes.iter().find(|entry| *entry.1 == node).map(|entry| *entry.0)
    }

    /// The nodes of the spine, from below.
    pub fn spine(&self) -> Vec<usize> {
        (0..=u8::MAX).map_while(|k| self.node(Role::Spine(k), Side::Middle)).collect()
    }

    /// The nodes of the neck, from below.
    pub fn neck(&self) -> Vec<usize> {
        (0..=u8::MAX).map_while(|k| self.node(Role::Neck(k), Side::Middle)).collect()
    }

    /// The joint on which one hangs in a body.
    pub(crate) fn carrier(&self, Slot { role, side }: Slot) -> Option<usize> {
        let hips = || self.node(Role::Hips, Side::Middle);
        let trunk = || self.spine().last().copied().or_else(hips);
        match role {
            Role::Hips => None,
            Role::Spine(0) | Role::Thigh => hips(),
            Role::Spine(number) => self.node(Role::Spine(number - 1), side),
            Role::Neck(0) | Role::Clavicle => trunk(),
            Role::Neck(number) => self.node(Role::Neck(number - 1), side),
            Role::Head => self.neck().last().copied().or_else(trunk),
            Role::Jaw | Role::Eye => self.node(Role::Head, Side::Middle),
            Role::UpperArm => self.node(Role::Clavicle, side).or_else(trunk),
            Role::Forearm => self.node(Role::UpperArm, side),
            Role::Hand => self.node(Role::Forearm, side),
            Role::Finger(finger, number) => {
                let below = (0..number).rev().find_map(|number| self.node(Role::Finger(finger, number), side));
                below.or_else(|| self.node(Role::Hand, side))
            }
            Role::Shin => self.node(Role::Thigh, side),
            Role::Foot => self.node(Role::Shin, side),
            Role::Toes => self.node(Role::Foot, side),
        }
    }

    fn put(&mut self, role: Role, side: Side, node: Option<usize>) {
        if let Some(node) = node.filter(|node| self.nodes.values().all(|known| known != node)) {
            self.nodes.entry(Slot { role, side }).or_insert(node);
        }
    }

    /// Arms, legs and eyes of a side; ambiguous words mean what the others leave.
    fn add_limbs(&mut self, candidates: &[Candidate], side: Side) {
        let first = |word: Word| {
            let wanted = Reading { word, side };
            candidates.iter().find(|candidate| candidate.reading == wanted).map(|candidate| candidate.node)
        };
        let shoulder = first(Word::Shoulder);
        let upper_arm = first(Word::UpperArm);
        self.put(Role::Clavicle, side, first(Word::Clavicle).or(shoulder.filter(|_| upper_arm.is_some())));
        self.put(Role::UpperArm, side, upper_arm.or(shoulder));
        self.put(Role::Forearm, side, first(Word::Forearm));
        self.put(Role::Hand, side, first(Word::Hand));
        let (leg, shin) = (first(Word::Leg), first(Word::Shin));
        let thigh = first(Word::Thigh).or(leg.filter(|_| shin.is_some())).or(first(Word::Hip)).or(leg);
        self.put(Role::Thigh, side, thigh);
        self.put(Role::Shin, side, shin.or(leg));
        let (ankle, foot) = (first(Word::Ankle), first(Word::Foot));
        self.put(Role::Foot, side, ankle.or(foot));
        self.put(Role::Toes, side, first(Word::Toes).or(foot));
        self.put(Role::Eye, side, first(Word::Eye));
    }

    /// Fingers of a side, bone by bone along the tree.
    fn add_fingers(&mut self, rig: &Rig, candidates: &[Candidate], side: Side) {
        for finger in Finger::ALL {
            let mut bones: Vec<(usize, Option<u8>)> = candidates
                .iter()
                .filter(|candidate| candidate.reading.side == side)
                .filter_map(|candidate| match candidate.reading.word {
                    Word::Finger(which, number) if which == finger => Some((candidate.node, number)),
                    _ => None,
                })
                .collect();
            let Some(&(first, _)) = bones.first() else { continue };
            if bones.iter().any(|&(node, _)| is_below(rig, node, first)) {
                // Controls stand beside the joints: only bones below the first count.
                bones.retain(|&(node, _)| node == first || is_below(rig, node, first));
                bones.sort_by_key(|&(node, _)| depth(rig, node));
                bones.dedup_by_key(|&mut (node, _)| depth(rig, node));
            } else {
                // Siblings tell by their numbers.
                bones.sort_by_key(|&(_, number)| number);
                bones.dedup_by_key(|&mut (_, number)| number);
            }
            let has_metacarpal = finger != Finger::Thumb
                && (bones[0].1 == Some(0) || (bones.len() > 3 && bones[0].1.is_none() && bones[1].1 == Some(1)));
            let first_number = if has_metacarpal { 0 } else { 1 };
            for (number, &(node, _)) in (first_number..=3).zip(&bones) {
                self.put(Role::Finger(finger, number), side, Some(node));
            }
        }
    }

    /// Hips, spine, neck and head: the path from the hips to the head.
    fn add_trunk(&mut self, rig: &Rig, candidates: &[Candidate]) {
        let first = |word: Word| {
            let wanted = Reading { word, side: Side::Middle };
            candidates.iter().find(|candidate| candidate.reading == wanted).map(|candidate| candidate.node)
        };
        let pair = |role: Role| [Side::Left, Side::Right].map(|side| self.node(role, side));
        let common = |role: Role| match pair(role) {
            [Some(a), Some(b)] => common_ancestor(rig, a, b),
            _ => None,
        };
        let named: Vec<usize> = [first(Word::Hips), first(Word::Hip)].into_iter().flatten().collect();
        // The upper one of two, such as `hip` above `pelvis`.
        let hips =
            named.into_iter().min_by_key(|&node| depth(rig, node)).or(common(Role::Thigh)).or(first(Word::Spine));
        let fork = common(Role::Clavicle).or(common(Role::UpperArm));
        let neck = first(Word::Neck);
        let mut head = first(Word::Head);
        // Blender's Rigify numbers its spine up to the head.
        if let (None, None, Some(fork)) = (head, neck, fork) {
            let below =
                |candidate: &&Candidate| candidate.reading.word == Word::Spine && is_below(rig, candidate.node, fork);
            head = candidates.iter().filter(below).map(|candidate| candidate.node).max_by_key(|&node| depth(rig, node));
        }
        let spines = || candidates.iter().filter(|candidate| candidate.reading.word == Word::Spine);
        let top = head.or(neck).or(fork).or(spines().map(|c| c.node).max_by_key(|&node| depth(rig, node)));
        let mut path = Vec::new();
        let mut at = top;
        while let Some(node) = at.filter(|&node| Some(node) != hips && path.len() < rig.nodes.len()) {
            path.push(node);
            at = rig.nodes[node].parent;
        }
        if at.is_none() {
            // The hips do not carry the head: only what is called a spine belongs to it.
            path.retain(|&node| {
                spines().any(|candidate| candidate.node == node) || Some(node) == neck || Some(node) == head
            });
        }
        path.reverse();
        let is_spine = |node: &usize| spines().any(|candidate| candidate.node == *node);
        if let (true, Some(hips)) = (at.is_none() && !path.iter().any(is_spine), hips) {
            path = [loose_spine(rig, hips, top, spines()), neck.into_iter().chain(head).collect()].concat();
            path.dedup();
        }
        let begins_neck = neck.and_then(|neck| path.iter().position(|&node| node == neck));
        let after_fork = fork.and_then(|fork| path.iter().position(|&node| node == fork)).map(|place| place + 1);
        let end = path.len() - usize::from(head.is_some() && path.last() == head.as_ref());
        let begins_neck = begins_neck.or(after_fork.filter(|_| head.is_some())).unwrap_or(end).min(end);
        self.put(Role::Hips, Side::Middle, hips);
        for (k, &node) in path[..begins_neck].iter().enumerate().take(usize::from(u8::MAX)) {
            self.put(Role::Spine(k as u8), Side::Middle, Some(node));
        }
        for (k, &node) in path[begins_neck..end].iter().enumerate().take(usize::from(u8::MAX)) {
            self.put(Role::Neck(k as u8), Side::Middle, Some(node));
        }
        self.put(Role::Head, Side::Middle, head);
        self.put(Role::Jaw, Side::Middle, first(Word::Jaw));
    }

    /// Left or right, for a limb whose names do not say. A hand shows it: seen from its back with fingers up, the thumb
    /// of a left hand is on the right. Of an arm the direction tells, as characters look along z.
    fn limb_side(&self, rig: &Rig, candidates: &[Candidate]) -> Side {
        let pose = rig.pose(None, 0.0);
        let first = |wanted: Word| candidates.iter().find(|candidate| candidate.reading.word == wanted);
        let bone = |finger: Finger, number: u8| {
            first(Word::Finger(finger, Some(number))).map(|candidate| pose[candidate.node].translation)
        };
        let bones = [1, 2, 3].map(|number| bone(Finger::Index, number));
        if let ([Some(a), Some(b), Some(c)], Some(little)) = (bones, bone(Finger::Little, 1)) {
            // Fingers bend toward the palm about this axis.
            let bend = (b - a).cross(c - b);
            let across = a - little;
            if bend.norm() > 1e-3 * (b - a).norm() * (c - b).norm() {
                return if bend.dot(across) > 0.0 { Side::Right } else { Side::Left };
            }
        }
        let places: Vec<Vec3> = candidates.iter().map(|candidate| pose[candidate.node].translation).collect();
        match (places.first(), places.last()) {
            (Some(first), Some(last)) if last.x < first.x - 1e-9 => Side::Right,
            _ => Side::Left,
        }
    }
}

/// Joints of the spine that hang on no other, such as siblings, from below.
fn loose_spine<'a>(
    rig: &Rig,
    hips: usize,
    top: Option<usize>,
    spines: impl Iterator<Item = &'a Candidate>,
) -> Vec<usize> {
    let pose = rig.pose(None, 0.0);
    let from = pose[hips].translation;
    let up = top.map_or(Vec3::unit(1), |top| pose[top].translation - from);
    let mut all: Vec<&Candidate> = spines.filter(|candidate| candidate.node != hips).collect();
    if all.iter().any(|candidate| !candidate.rank.0) {
        all.retain(|candidate| !candidate.rank.0);
    }
    let height = |candidate: &&Candidate| (pose[candidate.node].translation - from).dot(up);
    all.sort_by(|a, b| height(a).total_cmp(&height(b)));
    all.into_iter().map(|candidate| candidate.node).collect()
}

/// Whether a name is that of a joint that takes a part of the roll of a limb.
pub(crate) fn is_twist(name: &str) -> bool {
    let own = name.rsplit(['|', ':']).next().unwrap_or(name);
    words_of(own).iter().any(|word| matches!(word.as_str(), "twist" | "roll"))
}

fn depth(rig: &Rig, mut node: usize) -> usize {
    let mut depth = 0;
    while let Some(parent) = rig.nodes[node].parent.filter(|_| depth <= rig.nodes.len()) {
        (node, depth) = (parent, depth + 1);
    }
    depth
}

/// Whether a node is below another.
pub(crate) fn is_below(rig: &Rig, mut node: usize, above: usize) -> bool {
    for _ in 0..rig.nodes.len() {
        match rig.nodes[node].parent {
            Some(parent) if parent == above => return true,
            Some(parent) => node = parent,
            None => return false,
        }
    }
    false
}

fn common_ancestor(rig: &Rig, a: usize, b: usize) -> Option<usize> {
    let mut at = rig.nodes[a].parent;
    for _ in 0..rig.nodes.len() {
        let node = at?;
        if is_below(rig, b, node) {
            return Some(node);
        }
        at = rig.nodes[node].parent;
    }
    None
}

#[cfg(test)]
mod tests;
