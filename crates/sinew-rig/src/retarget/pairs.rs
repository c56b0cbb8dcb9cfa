//! Which joint of the target follows which joints of the source.

use super::report::MatchKind;
use super::skeleton::Skeleton;
use super::{RetargetError, RetargetParams};
use crate::humanoid::{Role, Side, Slot};

/// A joint of the target with those that it follows.
pub(super) struct Pair {
    pub target: usize,
    /// One joint of the source, or two neighbors in a chain with the share of the second.
    pub sources: [usize; 2],
    pub share: f64,
    pub kind: MatchKind,
    /// What both are in a human.
    pub slot: Option<Slot>,
}

impl Pair {
    fn single(target: usize, source: usize, kind: MatchKind, slot: Option<Slot>) -> Self {
        Self { target, sources: [source; 2], share: 0.0, kind, slot }
    }
}

/// Matches joints: by the map, as joints of a human, and what is left by equal names.
pub(super) fn match_joints(
    target: &mut Skeleton,
    source: &mut Skeleton,
    params: &RetargetParams,
) -> Result<Vec<Pair>, RetargetError> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut problems = Vec::new();
    for (from, to) in &params.map {
        match (find(source, from), find(target, to)) {
            (Some(source), Some(target)) => pairs.push(Pair::single(target, source, MatchKind::Map, None)),
            (in_source, in_target) => {
                let missing = |found: Option<usize>, skeleton: &Skeleton, name: &str, whose: &str| {
                    if found.is_none() {
                        Some(format!(
                            "the map `{from}={to}`: {whose} has no joint \"{name}\"; hint: it has {}",
                            some_names(skeleton)
                        ))
                    } else {
                        None
                    }
                };
                problems.extend(missing(in_source, source, from, "the motion"));
                problems.extend(missing(in_target, target, to, "the character"));
            }
        }
    }
    if !problems.is_empty() {
        return Err(RetargetError { problems });
    }
    // A joint that the map names is what its partner is.
    for pair in &mut pairs {
        let slot = target.humanoid.slot_of(pair.target).or(source.humanoid.slot_of(pair.sources[0]));
        let Some(slot) = slot else { continue };
        target.humanoid.nodes.retain(|_, node| *node != pair.target);
        source.humanoid.nodes.retain(|_, node| *node != pair.sources[0]);
        target.humanoid.nodes.insert(slot, pair.target);
        source.humanoid.nodes.insert(slot, pair.sources[0]);
        pair.slot = Some(slot);
    }
    let is_mapped = |pairs: &[Pair], node: usize| pairs.iter().any(|pair| pair.target == node);
    for (&slot, &node) in &target.humanoid.nodes {
        let is_of_chain = matches!(slot.role, Role::Spine(_) | Role::Neck(_));
        let partner = source.humanoid.nodes.get(&slot).filter(|_| !is_of_chain && !is_mapped(&pairs, node));
        if let Some(&partner) = partner {
            pairs.push(Pair::single(node, partner, MatchKind::Human, Some(slot)));
        }
    }
    for pair in chains(target, source) {
        if !is_mapped(&pairs, pair.target) {
            pairs.push(pair);
        }
    }
    let of_source: Vec<(String, usize)> =
        (0..source.rig.nodes.len()).map(|node| (plain(&source.rig.nodes[node].name), node)).collect();
    for node in 0..target.rig.nodes.len() {
        let name = plain(&target.rig.nodes[node].name);
        let is_free = |other: usize| pairs.iter().all(|pair| !pair.sources.contains(&other));
        let is_joint = is_joint(target, node) && !name.is_empty() && !is_mapped(&pairs, node);
        if is_joint && let Some(&(_, partner)) = of_source.iter().find(|other| other.0 == name && is_free(other.1)) {
            pairs.push(Pair::single(node, partner, MatchKind::Name, None));
        }
    }
    if pairs.is_empty() {
        let problem = format!(
            "no joint of the motion is one of the character; the motion has {}; the character has {}; hint: say which belong together: `--map SOURCE=TARGET`, or `motion_map = {{ SOURCE = \"TARGET\" }}` in the rig of a scene",
            some_names(source),
            some_names(target)
        );
        return Err(RetargetError { problems: vec![problem] });
    }
    // Parents first, so that the first limb is the uppermost.
    let place = |node: usize| target.order.iter().position(|&other| other == node);
    pairs.sort_by_key(|pair| place(pair.target));
    Ok(pairs)
}

/// Whether a node can be a joint: a skin has it, or no skin has any.
pub(super) fn is_joint(skeleton: &Skeleton, node: usize) -> bool {
    let rig = skeleton.rig;
    rig.skins.is_empty() || rig.skins.iter().any(|skin| skin.joints.contains(&node))
}

/// Spine and neck, whose joints share out the rotations of the source along their length.
fn chains(target: &Skeleton, source: &Skeleton) -> Vec<Pair> {
    let node = |skeleton: &Skeleton, role| skeleton.humanoid.node(role, Side::Middle);
    let (spine, neck) = (source.humanoid.spine(), source.humanoid.neck());
    let part = |k: usize, count: usize| k as f64 / count as f64;
    let mut of_source: Vec<(f64, usize)> = node(source, Role::Hips).map(|hips| (0.0, hips)).into_iter().collect();
    of_source.extend(spine.iter().enumerate().map(|(k, &node)| (part(k + 1, spine.len()), node)));
    let of_target = target.humanoid.spine();
    let count = of_target.len();
    let mut pairs = Vec::new();
    if !spine.is_empty() {
        pairs.extend(
            of_target
                .iter()
                .enumerate()
                .map(|(k, &node)| shared(node, part(k + 1, count), &of_source, Role::Spine(k as u8))),
        );
    }
    let head = node(source, Role::Head);
    let count = neck.len() + 1;
    let mut of_source: Vec<(f64, usize)> = spine.last().map(|&top| (0.0, top)).into_iter().collect();
    of_source.extend(neck.iter().enumerate().map(|(k, &node)| (part(k + 1, count), node)));
    of_source.extend(head.map(|head| (1.0, head)));
    let of_target = target.humanoid.neck();
    let count = of_target.len() + 1;
    if !neck.is_empty() || head.is_some() {
        pairs.extend(
            of_target
                .iter()
                .enumerate()
                .map(|(k, &node)| shared(node, part(k + 1, count), &of_source, Role::Neck(k as u8))),
        );
    }
    pairs
}

/// A joint at a fraction of a chain between its neighbors in the chain of the source.
fn shared(target: usize, part: f64, of_source: &[(f64, usize)], role: Role) -> Pair {
    let after = of_source.partition_point(|&(place, _)| place < part - 1e-9).min(of_source.len() - 1);
    let before = if (of_source[after].0 - part).abs() < 1e-9 { after } else { after.saturating_sub(1) };
    let [(from, first), (to, second)] = [of_source[before], of_source[after]];
    let share = if to > from { ((part - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
    let kind = if first == second { MatchKind::Human } else { MatchKind::Shared };
    Pair { target, sources: [first, second], share, kind, slot: Some(Slot::middle(role)) }
}

/// The node with a name: exactly, or without namespace and case.
fn find(skeleton: &Skeleton, name: &str) -> Option<usize> {
    let nodes = &skeleton.rig.nodes;
    let named = |is_it: &dyn Fn(&str) -> bool| {
        let mut all = skeleton.order.iter().copied().filter(|&node| is_it(&nodes[node].name));
        all.clone().find(|&node| is_joint(skeleton, node)).or_else(|| all.next())
    };
    let wanted = plain(name);
    let by_slot = || skeleton.humanoid.nodes.iter().find(|entry| entry.0.name() == name).map(|entry| *entry.1);
    named(&|known| known == name)
        .or_else(|| named(&|known| !wanted.is_empty() && plain(known) == wanted))
        .or_else(by_slot)
}

/// A name without namespace, separators and case.
fn plain(name: &str) -> String {
    let own = name.rsplit(['|', ':']).next().unwrap_or(name);
    own.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The first names of a skeleton.
pub(super) fn some_names(skeleton: &Skeleton) -> String {
    const SHOWN: usize = 6;
    let joints: Vec<usize> = skeleton
        .order
        .iter()
        .copied()
        .filter(|&node| is_joint(skeleton, node) && !skeleton.rig.nodes[node].name.is_empty())
        .collect();
    if joints.is_empty() {
        return "no joint with a name".into();
    }
    let shown: Vec<String> = joints.iter().take(SHOWN).map(|&node| format!("\"{}\"", skeleton.name(node))).collect();
    match joints.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}
