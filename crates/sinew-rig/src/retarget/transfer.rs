//! The motion of the target, frame by frame.

use sinew_math::{Mat3, Quaternion, Vec3};

use super::align::{between_bodies, rest_alignments};
use super::limbs::reach;
use super::pairs::{Pair, is_joint, match_joints};
use super::report::{Drift, JointMatch, MatchKind, RetargetReport};
use super::skeleton::{Skeleton, rotation_of};
use super::twists::{self, Twist};
use super::{RetargetError, RetargetParams, SourceRest};
use crate::affine::Affine;
use crate::animation::{Animation, Channel, Interpolation, Keys};
use crate::humanoid::{Role, Side, Slot};
use crate::rig::{Rig, Transform};

/// Samples per second of motions between whose keys joints do not turn evenly.
const DENSE_RATE: f64 = 60.0;
/// Most samples of such a motion: hours.
const MOST_SAMPLES: f64 = 1e6;
/// Transforms that differ by less are the same.
const SAME: f64 = 1e-9;
/// Most frames that are looked at to find the floor.
const FLOOR_SAMPLES: usize = 300;
/// Feet that stay farther above or below the floor of the rest pose, in lengths of a leg, stand on another one.
const OFF_FLOOR: f64 = 0.3;

/// Moves a motion of one skeleton onto another.
///
/// # Errors
/// When no joint matches, the map has unknown names, or the motion has no keys; all reasons at once.
pub fn retarget(
    target: &Rig,
    source: &Rig,
    motion: &Animation,
    params: &RetargetParams,
) -> Result<(Animation, RetargetReport), RetargetError> {
    let times = key_times(motion).map_err(|problem| RetargetError { problems: vec![problem] })?;
    let mut target = Skeleton::new(target, None);
    let first_frame = (params.source_rest == SourceRest::FirstFrame).then(|| source.pose(Some(motion), times[0]));
    let mut source = Skeleton::new(source, first_frame);
    let pairs = match_joints(&mut target, &mut source, params)?;
    settle(&mut source, motion, &times);
    let transfer = Transfer::new(&target, &source, &pairs, params);
    Ok(transfer.run(motion, &times))
}

/// Times of all keys, or dense samples if joints do not turn evenly between keys.
fn key_times(motion: &Animation) -> Result<Vec<f64>, String> {
    let Some([first, last]) = motion.span() else { return Err("the motion has no keys".into()) };
    let moving = || motion.channels.iter().filter(|channel| !matches!(channel.keys, Keys::Morph(..)));
    let is_finite = moving().all(|channel| match &channel.keys {
        Keys::Translation(keys) | Keys::Scale(keys) => keys.iter().all(|key| key.is_finite()),
        Keys::Rotation(keys) => keys.iter().flatten().all(|x| x.is_finite()),
        Keys::Morph(..) => true,
    });
    if !is_finite || !first.is_finite() || !last.is_finite() {
        return Err("the motion has keys that are not finite".into());
    }
    if moving().next().is_none() {
        return Err("the motion moves no joint".into());
    }
    let mut times: Vec<f64> = moving().flat_map(|channel| channel.times.iter().copied()).collect();
    times.sort_by(f64::total_cmp);
    // Exporters round the same time differently.
    times.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
    if moving().any(|channel| channel.interpolation != Interpolation::Linear && channel.times.len() > 1) {
        let count = ((last - first) * DENSE_RATE).ceil().clamp(1.0, MOST_SAMPLES) as usize;
        times = (0..=count).map(|k| first + (last - first) * k as f64 / count as f64).collect();
    }
    Ok(times)
}

/// Puts the rest pose of the source on the floor of its motion: BVH files have it around their origin, which is at the
/// hips.
fn settle(source: &mut Skeleton, motion: &Animation, times: &[f64]) {
    let up = source.body_frame().map_or(Vec3::unit(1), |frame| frame.column(1));
    let node = |role, side| source.humanoid.node(role, side);
    let feet: Vec<usize> = [Side::Left, Side::Right].into_iter().filter_map(|side| node(Role::Foot, side)).collect();
    let lowest =
        |places: &dyn Fn(usize) -> Vec3| feet.iter().map(|&foot| places(foot).dot(up)).fold(f64::INFINITY, f64::min);
    let rise = match node(Role::Hips, Side::Middle) {
        _ if !feet.is_empty() => {
            let step = times.len().div_ceil(FLOOR_SAMPLES);
            let heights = times.iter().step_by(step).map(|&time| {
                let pose = source.rig.pose(Some(motion), time);
                lowest(&|foot| pose[foot].translation)
            });
            heights.fold(f64::INFINITY, f64::min) - lowest(&|foot| source.place(foot))
        }
        Some(hips) => (source.rig.pose(Some(motion), times[0])[hips].translation - source.place(hips)).dot(up),
        None => return,
    };
    // Less is a motion that kneels or jumps.
    if rise.abs() > OFF_FLOOR * source.leg_length().unwrap_or(source.size) {
        source.rest.iter_mut().for_each(|transform| transform.translation += up * rise);
    }
}

/// What stays the same over the frames.
struct Transfer<'a> {
    target: &'a Skeleton<'a>,
    source: &'a Skeleton<'a>,
    pairs: &'a [Pair],
    params: &'a RetargetParams,
    /// The pair of each node of the target.
    pair_of: Vec<Option<usize>>,
    twists: Vec<Twist>,
    /// Pairs that nothing carries which moves, besides the one that carries the body: they go where the source has them.
    free: Vec<usize>,
    /// From the world of the source to that of the target.
    turned: Quaternion,
    /// By pair: from the rest pose of the target to that of the source.
    alignments: Vec<Quaternion>,
    /// By node of the source: from a pose to the rotation since rest.
    rest_inverses: Vec<Mat3>,
    scale: f64,
    /// The pair that carries the body.
    lead: Option<usize>,
    /// The target at rest, with limbs as the source has them.
    aligned: Posed,
    up: Vec3,
    /// Hands and feet of both.
    ends: Vec<End>,
}

/// A hand or a foot.
struct End {
    slot: Slot,
    /// Root, middle and end of the limb in the target.
    limb: [usize; 3],
    source: usize,
}

/// A pose of the target: rotations of its nodes from rest in the world, and their places.
#[derive(Clone, Default)]
struct Posed {
    turns: Vec<Quaternion>,
    places: Vec<Vec3>,
}

impl<'a> Transfer<'a> {
    fn new(target: &'a Skeleton<'a>, source: &'a Skeleton<'a>, pairs: &'a [Pair], params: &'a RetargetParams) -> Self {
        let turned = between_bodies(target, source, pairs);
        let mut pair_of = vec![None; target.rest.len()];
        pairs.iter().enumerate().for_each(|(number, pair)| pair_of[pair.target] = Some(number));
        let invert = |transform: &Affine| transform.inverse().map_or(Mat3::zero(), |inverse| inverse.linear);
        let lead = pairs.iter().position(|pair| pair.slot == Some(Slot::middle(Role::Hips))).or_else(|| {
            // Without hips the uppermost joint carries what is no limb of a human.
            let first = pairs.first()?;
            first.slot.is_none().then_some(0)
        });
        let is_free = |&number: &usize| {
            let mut at = target.parent[pairs[number].target];
            while let Some(node) = at.filter(|&node| pair_of[node].is_none()) {
                at = target.parent[node];
            }
            at.is_none() && lead != Some(number)
        };
        // A human is carried by its hips.
        let is_human = pairs.iter().any(|pair| pair.slot.is_some());
        let free = (0..pairs.len()).filter(|_| !is_human).filter(is_free).collect();
        let mut ends = Vec::new();
        for (roles, side) in [
            ([Role::UpperArm, Role::Forearm, Role::Hand], Side::Left),
            ([Role::UpperArm, Role::Forearm, Role::Hand], Side::Right),
            ([Role::Thigh, Role::Shin, Role::Foot], Side::Left),
            ([Role::Thigh, Role::Shin, Role::Foot], Side::Right),
        ] {
            let nodes = roles.map(|role| target.humanoid.node(role, side));
            if let ([Some(root), Some(middle), Some(end)], Some(of_source)) =
                (nodes, source.humanoid.node(roles[2], side))
            {
                ends.push(End { slot: Slot::new(roles[2], side), limb: [root, middle, end], source: of_source });
            }
        }
        let mut transfer = Self {
            alignments: rest_alignments(target, source, pairs, turned),
            rest_inverses: source.rest.iter().map(invert).collect(),
            scale: scale(target, source),
            up: target.body_frame().map_or(Vec3::unit(1), |frame| frame.column(1)),
            aligned: Posed::default(),
            twists: twists::find(target, pairs),
            free,
            target,
            source,
            pairs,
            params,
            pair_of,
            turned,
            lead,
            ends,
        };
        let own = transfer.alignments.clone();
        transfer.aligned = transfer.posed(&own, None, &[]);
        // Legs that stand closer or wider than in the model lift it off the floor, or press it in.
        let feet = transfer.ends.iter().filter(|end| end.slot.role == Role::Foot).map(|end| end.limb[2]);
        let rises: Vec<f64> =
            feet.map(|foot| (transfer.aligned.places[foot] - target.place(foot)).dot(transfer.up)).collect();
        if let (false, Some(lead)) = (rises.is_empty(), transfer.lead) {
            let rise = rises.iter().sum::<f64>() / rises.len() as f64;
            let place = target.place(pairs[lead].target) - transfer.up * rise;
            transfer.aligned = transfer.posed(&own, Some(place), &[]);
        }
        transfer
    }

    /// The pose in which pairs are turned like this; `lead` is the place of the one that carries the body, `ways` those of
    /// the free pairs from rest.
    fn posed(&self, own: &[Quaternion], lead: Option<Vec3>, ways: &[Vec3]) -> Posed {
        let count = self.target.rest.len();
        let mut posed = Posed { turns: vec![Quaternion::identity(); count], places: vec![Vec3::zero(); count] };
        for &node in &self.target.order {
            let rest = self.target.place(node);
            let (turn, place) = match self.target.parent[node] {
                Some(parent) => {
                    let turn = posed.turns[parent];
                    (turn, posed.places[parent] + turn.rotate(rest - self.target.place(parent)))
                }
                None => (Quaternion::identity(), rest),
            };
            let twist = || self.twists.iter().find(|twist| twist.node == node);
            posed.turns[node] = match self.pair_of[node] {
                Some(pair) => own[pair],
                None => twist().map_or(turn, |twist| {
                    let bone = self.pairs[twist.bone].target;
                    let above = self.target.parent[bone].map_or(Quaternion::identity(), |above| posed.turns[above]);
                    twist.turn(own, above)
                }),
            };
            let is_lead = self.lead.is_some_and(|lead| self.pairs[lead].target == node);
            posed.places[node] = lead.filter(|_| is_lead).unwrap_or(place);
            let mut free = self.free.iter().zip(ways);
            if let Some((_, way)) = free.find(|(pair, _)| self.pairs[**pair].target == node) {
                posed.places[node] = rest + *way;
            }
        }
        posed
    }

    /// Rotation of a node of the source from rest, in the world of the target.
    fn source_turn(&self, pose: &[Affine], node: usize) -> Quaternion {
        let turn = rotation_of(&(pose[node].linear * self.rest_inverses[node]));
        self.turned * turn * self.turned.conjugate()
    }

    /// Way of a node of the source from rest, scaled, in the world of the target.
    fn source_way(&self, pose: &[Affine], node: usize) -> Vec3 {
        self.turned.rotate(pose[node].translation - self.source.place(node)) * self.scale
    }

    /// The target at a pose of the source.
    fn frame(&self, pose: &[Affine]) -> (Posed, Vec<Vec3>) {
        let turn = |(pair, alignment): (&Pair, &Quaternion)| {
            let [first, second] = pair.sources.map(|node| self.source_turn(pose, node));
            first.slerp(second, pair.share) * *alignment
        };
        let mut own: Vec<Quaternion> =
            self.pairs.iter().zip(&self.alignments).map(turn).map(|q| q.normalized()).collect();
        let (mut lead_place, mut shift) = (None, Vec3::zero());
        if let Some(lead) = self.lead {
            let pair = &self.pairs[lead];
            let mut way = self.source_way(pose, pair.sources[0]);
            if self.params.in_place {
                shift = self.up * way.dot(self.up) - way;
                way += shift;
            }
            lead_place = Some(self.aligned.places[pair.target] + way);
        }
        let free = self.free.iter().map(|&pair| self.source_way(pose, self.pairs[pair].sources[0]) + shift);
        let free: Vec<Vec3> = free.collect();
        let mut posed = self.posed(&own, lead_place, &free);
        let goals: Vec<Vec3> = self.ends.iter().map(|end| self.goal(end, pose, &posed) + shift).collect();
        let is_kept = |end: &End| match end.slot.role {
            Role::Foot => self.params.keep_feet,
            _ => self.params.keep_hands,
        };
        let mut is_changed = false;
        for (end, goal) in self.ends.iter().zip(&goals).filter(|(end, _)| is_kept(end)) {
            let [Some(root), Some(middle), _] = end.limb.map(|node| self.pair_of[node]) else { continue };
            let places = end.limb.map(|node| posed.places[node]);
            let front = self.target.body_frame().map_or(Vec3::unit(2), |frame| frame.column(2));
            let front = (posed.turns[end.limb[0]] * self.aligned.turns[end.limb[0]].conjugate()).rotate(front);
            let toward = if end.slot.role == Role::Foot { -front } else { front };
            if let Some([upper, lower]) = reach(places, *goal, (places[2] - places[0]).cross(toward)) {
                own[root] = (upper * own[root]).normalized();
                own[middle] = (lower * own[middle]).normalized();
                is_changed = true;
            }
        }
        if is_changed {
            posed = self.posed(&own, lead_place, &free);
        }
        (posed, goals)
    }

    /// Where the source has a hand or foot: its way from the rest pose of the source, scaled. Without hips it counts
    /// from the uppermost joint.
    fn goal(&self, end: &End, pose: &[Affine], posed: &Posed) -> Vec3 {
        let node = end.limb[2];
        let way = self.source_way(pose, end.source);
        if self.lead.is_some() {
            return self.aligned.places[node] + way;
        }
        let first = &self.pairs[0];
        let rest = self.aligned.places[node] - self.aligned.places[first.target];
        posed.places[first.target] + rest + way - self.source_way(pose, first.sources[0])
    }

    fn run(&self, motion: &Animation, times: &[f64]) -> (Animation, RetargetReport) {
        let rig = self.target.rig;
        let locals: Vec<Local> = (0..rig.nodes.len()).map(|node| Local::of(self.target, node)).collect();
        let lead = self.lead.map(|lead| self.pairs[lead].target);
        let mut rotations: Vec<Vec<[f64; 4]>> = vec![Vec::new(); rig.nodes.len()];
        let mut ways = Vec::new();
        // What the file does not carry needs its place, too, and twist joints turn.
        let has_place =
            |node: usize| self.target.is_loose(node) || self.free.iter().any(|&pair| self.pairs[pair].target == node);
        let turns = |node: usize| {
            self.pair_of[node].is_some() || has_place(node) || self.twists.iter().any(|twist| twist.node == node)
        };
        let mut places: Vec<Vec<Vec3>> = vec![Vec::new(); rig.nodes.len()];
        let mut misses: Vec<Vec<f64>> = vec![Vec::new(); self.ends.len()];
        for &time in times {
            let (posed, goals) = self.frame(&self.source.rig.pose(Some(motion), time));
            for (node, local) in locals.iter().enumerate() {
                if turns(node) {
                    let above = rig.nodes[node].parent.map_or(Quaternion::identity(), |parent| posed.turns[parent]);
                    local.push(above, posed.turns[node], &mut rotations[node]);
                }
                if has_place(node) {
                    places[node].push(self.local_place(&posed, node));
                }
            }
            if let Some(lead) = lead {
                ways.push(self.local_place(&posed, lead));
            }
            for ((end, goal), misses) in self.ends.iter().zip(&goals).zip(&mut misses) {
                misses.push(posed.places[end.limb[2]].distance(*goal));
            }
        }
        let mut channels = Vec::new();
        let mut add = |node: usize, times: &[f64], keys: Keys| {
            channels.push(Channel { node, times: times.to_vec(), interpolation: Interpolation::Linear, keys });
        };
        for (node, local) in locals.iter().enumerate() {
            let keys = std::mem::take(&mut rotations[node]);
            if !keys.is_empty() {
                add(node, times, Keys::Rotation(keys));
            } else if local.is_other {
                let mut keys = Vec::new();
                local.push(Quaternion::identity(), Quaternion::identity(), &mut keys);
                add(node, &times[..1], Keys::Rotation(keys));
            }
            if Some(node) == lead {
                add(node, times, Keys::Translation(std::mem::take(&mut ways)));
            } else if has_place(node) {
                add(node, times, Keys::Translation(std::mem::take(&mut places[node])));
            } else if local.is_other || (local.is_matrix && self.pair_of[node].is_some()) {
                add(node, &times[..1], Keys::Translation(vec![local.translation]));
            }
            if local.is_matrix && (local.is_other || self.pair_of[node].is_some()) {
                add(node, &times[..1], Keys::Scale(vec![local.scale]));
            }
        }
        let report = self.report(motion, times, &misses);
        (Animation { name: motion.name.clone(), channels }, report)
    }

    /// Place of a node relative to its parent.
    fn local_place(&self, posed: &Posed, node: usize) -> Vec3 {
        self.above(posed, node).inverse().unwrap_or(Affine::identity()).apply(posed.places[node])
    }

    /// World transform of the parent of a node.
    fn above(&self, posed: &Posed, node: usize) -> Affine {
        let Some(parent) = self.target.rig.nodes[node].parent else { return Affine::identity() };
        let linear = posed.turns[parent].to_matrix() * self.target.rest[parent].linear;
        Affine { linear, translation: posed.places[parent] }
    }

    fn report(&self, motion: &Animation, times: &[f64], misses: &[Vec<f64>]) -> RetargetReport {
        let joint = |&node: &usize| {
            let pair = self.pair_of[node].map(|pair| &self.pairs[pair]);
            let sources = |pair: &Pair| match pair.sources {
                [first, second] if first == second => vec![self.source.name(first)],
                both => both.map(|node| self.source.name(node)).to_vec(),
            };
            let twist = self.twists.iter().find(|twist| twist.node == node);
            let of_twist = twist.map(|twist| {
                let both = [Some(twist.bone), twist.end].into_iter().flatten();
                both.map(|pair| self.source.name(self.pairs[pair].sources[0])).collect::<Vec<_>>()
            });
            JointMatch {
                target: self.target.name(node),
                role: self.target.humanoid.slot_of(node).map(Slot::name),
                sources: pair.map(sources).or(of_twist).unwrap_or_default(),
                kind: pair.map(|pair| pair.kind).or(twist.map(|_| MatchKind::Twist)),
            }
        };
        let is_used = |node: usize| self.pairs.iter().any(|pair| pair.sources.contains(&node));
        let mut unused: Vec<usize> = motion
            .channels
            .iter()
            .filter(|channel| moves(channel) && !is_used(channel.node))
            .map(|channel| channel.node)
            .collect();
        unused.sort_unstable();
        unused.dedup();
        let drift = self.ends.iter().zip(misses).filter_map(|(end, misses)| {
            let (worst, max) = misses.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let mean = misses.iter().sum::<f64>() / misses.len() as f64;
            Some(Drift { name: end.slot.name(), mean, max, time: times[worst] })
        });
        let mut notes = Vec::new();
        if let Some(side) = self.target.humanoid.guessed_side {
            let side = if side == Side::Left { "left" } else { "right" };
            notes.push(format!("the names of the character have no side: taken as {side}"));
        }
        let loose: Vec<String> = self.target.loose().map(|node| self.target.name(node)).collect();
        if !loose.is_empty() {
            notes.push(format!(
                "joints that hang on no other in the file are moved as those of a body: {}",
                loose.join(", ")
            ));
        }
        let flat: Vec<String> = self
            .pairs
            .iter()
            .filter(|pair| {
                let has_tip = |skeleton: &Skeleton, slot: Slot| {
                    has_bone(skeleton, slot) && skeleton.along(slot.role, slot.side).is_none()
                };
                pair.slot.is_some_and(|slot| has_tip(self.target, slot) || has_tip(self.source, slot))
            })
            .map(|pair| self.target.name(pair.target))
            .collect();
        if !flat.is_empty() {
            notes.push(format!(
                "bones without length have no direction, and turn as their parents at rest: {}",
                flat.join(", ")
            ));
        }
        RetargetReport {
            joints: self
                .target
                .order
                .iter()
                .filter(|&&node| is_joint(self.target, node) || self.pair_of[node].is_some())
                .map(joint)
                .collect(),
            unused: unused.into_iter().map(|node| self.source.name(node)).collect(),
            scale: self.scale,
            source_leg: self.source.leg_length(),
            frame_count: times.len(),
            drift: drift.collect(),
            notes,
        }
    }
}

/// Whether the bone of a limb has both ends.
fn has_bone(skeleton: &Skeleton, slot: Slot) -> bool {
    let next = match slot.role {
        Role::UpperArm => Role::Forearm,
        Role::Forearm => Role::Hand,
        Role::Thigh => Role::Shin,
        Role::Shin => Role::Foot,
        Role::Finger(finger, number) => Role::Finger(finger, number + 1),
        _ => return false,
    };
    skeleton.humanoid.node(slot.role, slot.side).is_some() && skeleton.humanoid.node(next, slot.side).is_some()
}

/// Whether a channel does more than to hold a rotation or a place.
fn moves(channel: &Channel) -> bool {
    let differ = |keys: &[[f64; 4]]| {
        keys.iter().any(|key| {
            let cosine: f64 = key.iter().zip(&keys[0]).map(|(a, b)| a * b).sum();
            1.0 - cosine.abs() > 1e-6
        })
    };
    match &channel.keys {
        Keys::Rotation(keys) => !keys.is_empty() && differ(keys),
        _ => false,
    }
}

/// Ratio of the lengths of the legs, or of the trunks, or of all limbs that both have.
fn scale(target: &Skeleton, source: &Skeleton) -> f64 {
    let trunk = |skeleton: &Skeleton| skeleton.trunk().map(Vec3::norm);
    let mut sums = [0.0; 2];
    for slot in target.humanoid.nodes.keys() {
        if let [Some(a), Some(b)] = [target, source].map(|skeleton| skeleton.along(slot.role, slot.side)) {
            sums = [sums[0] + a.norm(), sums[1] + b.norm()];
        }
    }
    let ratios = [
        [target.leg_length(), source.leg_length()],
        [trunk(target), trunk(source)],
        [Some(sums[0]), Some(sums[1])],
        [Some(target.size), Some(source.size)],
    ];
    let ratio = |[a, b]: [Option<f64>; 2]| Some(a? / b?).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    ratios.into_iter().find_map(ratio).unwrap_or(1.0)
}

/// A node relative to its parent at rest.
struct Local {
    /// (L⁻¹ of the parent, L of the node over its scale), with the linear parts L at rest.
    frames: [Mat3; 2],
    translation: Vec3,
    scale: Vec3,
    /// Whether the file has another transform than that at rest.
    is_other: bool,
    /// Whether the file has a matrix, which keys replace.
    is_matrix: bool,
}

impl Local {
    fn of(target: &Skeleton, node: usize) -> Self {
        let above = target.rig.nodes[node].parent.map_or(Affine::identity(), |parent| target.rest[parent]);
        let inverse = above.inverse().unwrap_or(Affine::identity());
        let local = inverse.after(&target.rest[node]);
        let of_file = target.rig.nodes[node].transform;
        let scale = match of_file {
            Transform::Parts { scale, .. } => scale,
            Transform::Matrix(_) => Vec3::from([0, 1, 2].map(|c| local.linear.column(c).norm())),
        };
        let unscaled = Mat3::diagonal(scale.map(|s| if s == 0.0 { 0.0 } else { 1.0 / s }));
        let file = of_file.to_affine();
        let is_other = (file.linear - local.linear).norm() > 1e-4 * local.linear.norm()
            || file.translation.distance(local.translation) > 1e-5 * target.size.max(SAME);
        Self {
            frames: [inverse.linear, target.rest[node].linear * unscaled],
            translation: local.translation,
            scale,
            is_other,
            is_matrix: matches!(of_file, Transform::Matrix(_)),
        }
    }

    /// Adds the rotation relative to the parent for rotations from rest in the world; on the side of the last one.
    fn push(&self, above: Quaternion, own: Quaternion, keys: &mut Vec<[f64; 4]>) {
        let turn = (above.conjugate() * own).to_matrix();
        let q = rotation_of(&(self.frames[0] * turn * self.frames[1]));
        let key = [q.w, q.x, q.y, q.z];
        let is_far = keys.last().is_some_and(|last| last.iter().zip(&key).map(|(a, b)| a * b).sum::<f64>() < 0.0);
        keys.push(if is_far { key.map(|x| -x) } else { key });
    }
}
