//! Poses as text: named poses with the angles of joints in degrees, and keys in time.
//!
//! ```toml
//! [pose.hello]
//! right_upper_arm = { side = 85, twist = -70 }     # joints of a human: flex, side, twist
//! right_forearm = { flex = 80 }
//! "tail.001" = { x = 20 }                           # joints of the character: about their own axes
//!
//! [[key]]
//! time = "0 s"
//! pose = "stand"
//!
//! [[key]]
//! time = "0.8 s"
//! pose = "hello"
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use sinew_math::{Quaternion, Vec3};
use sinew_rig::humanoid::{Finger, Humanoid, Role, Side, Slot};
use sinew_rig::motions::anatomy::limits;
use sinew_rig::motions::{Angles, Script, perform, samples, stand};
use sinew_rig::retarget::{RetargetParams, RetargetReport, retarget};
use sinew_rig::{Animation, Channel, Interpolation, Keys, Rig, Transform};
use toml::{Table, Value};

use super::{Outcome, of_motion, told};
use crate::value::Dimension;
use crate::{Quantity, nearest};

/// Samples per second unless the file says otherwise, and the most that make sense.
const RATE: f64 = 30.0;
const RATES: std::ops::RangeInclusive<f64> = 1.0..=1000.0;
/// Longest motion \[s\]: an hour.
const LONGEST: f64 = 3600.0;
/// Largest angle \[degrees\].
const LARGEST: f64 = 720.0;
/// Words of the angles of joints of a human, and of those about the axes of a joint.
const ANATOMY: [&str; 3] = ["flex", "side", "twist"];
const AXES: [&str; 3] = ["x", "y", "z"];
/// Largest file: poses are written by hand.
const LARGEST_FILE: u64 = 4 << 20;

/// A pose: angles of joints of a human, and of joints of the character by name.
#[derive(Clone, Default)]
struct Pose {
    human: Angles,
    own: BTreeMap<String, [f64; 3]>,
}

/// Reads poses and moves them onto a character.
pub(super) fn read(path: &Path, rig: &Rig, params: &RetargetParams) -> Outcome {
    let failed = |reason: String| of_motion(format!("{}: {reason}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !size.is_file() || size.len() > LARGEST_FILE {
        return Err(failed("this is no file of poses: it is a folder, a device or larger than 4 MiB".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| failed(error.to_string().trim().into()))?;
    let mut reader = Reader { rig, humanoid: Humanoid::of(rig), problems: Vec::new(), notes: Vec::new() };
    let file = reader.file(&table);
    let Reader { problems, notes, .. } = reader;
    if !problems.is_empty() {
        return Err(problems.into_iter().flat_map(failed).collect());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (animation, mut report) = file.perform(&name, rig, params)?;
    report.notes.extend(notes);
    Ok((animation, report))
}

/// The content of a file.
struct Poses {
    rate: f64,
    is_planted: bool,
    keys: Vec<(f64, Pose)>,
}

impl Poses {
    fn perform(&self, name: &str, rig: &Rig, params: &RetargetParams) -> Outcome {
        let names: Vec<&String> = self.keys.iter().flat_map(|key| key.1.own.keys()).collect();
        let is_human = self.keys.iter().any(|key| !key.1.human.is_empty()) || names.is_empty();
        let mut animation = Animation { name: name.into(), channels: Vec::new() };
        let mut report = RetargetReport { scale: 1.0, ..RetargetReport::default() };
        if is_human {
            let keys: Vec<(f64, Angles)> = self.keys.iter().map(|(time, pose)| (*time, pose.human.clone())).collect();
            let script = Script::between(name, &keys, self.rate, self.is_planted);
            let mannequin = perform(&script).map_err(|error| of_motion(error.to_string()))?;
            (animation, report) = retarget(rig, &mannequin, &mannequin.animations[0], params).map_err(told)?;
            report.unused.clear();
        }
        let times: Vec<f64> = self.keys.iter().map(|key| key.0).collect();
        let samples = samples(&times, self.rate);
        for (node, data) in rig.nodes.iter().enumerate() {
            let Transform::Parts { rotation, .. } = data.transform else { continue };
            if !names.contains(&&data.name) {
                continue;
            }
            let angles = |key: usize| self.keys[key].1.own.get(&data.name).copied().unwrap_or_default();
            let key = |sample: &sinew_rig::motions::Sample| {
                let [a, b] = sample.keys.map(angles);
                let turn = |axis: usize| {
                    let degrees = a[axis] + (b[axis] - a[axis]) * sample.part;
                    Quaternion::from_axis_angle(Vec3::unit(axis), degrees.to_radians())
                };
                let q = (rotation * turn(0) * turn(1) * turn(2)).normalized();
                [q.w, q.x, q.y, q.z]
            };
            let keys = Keys::Rotation(samples.iter().map(key).collect());
            let times = samples.iter().map(|sample| sample.time).collect();
            animation.channels.retain(|channel| channel.node != node || !matches!(channel.keys, Keys::Rotation(_)));
            animation.channels.push(Channel { node, times, interpolation: Interpolation::Linear, keys });
        }
        Ok((animation, report))
    }
}

/// Collects all problems of a file.
struct Reader<'a> {
    rig: &'a Rig,
    humanoid: Humanoid,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, table: &Table) -> Poses {
        for key in table.keys().filter(|key| !["rate", "floor", "pose", "key"].contains(&key.as_str())) {
            self.problems.push(format!("`{key}` is none of `rate`, `floor`, `pose` and `key`"));
        }
        let rate = table.get("rate").map_or(Some(RATE), |rate| number(rate).filter(|rate| RATES.contains(rate)));
        if rate.is_none() {
            self.problems.push("`rate` is a number of samples per second from 1 to 1000".into());
        }
        let floor = table.get("floor").map_or(Some(true), Value::as_bool);
        if floor.is_none() {
            self.problems.push("`floor` is true or false".into());
        }
        let mut poses = BTreeMap::from([("stand".to_string(), Pose { human: stand(), ..Pose::default() })]);
        match table.get("pose") {
            Some(Value::Table(all)) => {
                for (name, pose) in all {
                    let pose = self.pose(name, pose);
                    poses.insert(name.clone(), pose);
                }
            }
            Some(_) => self.problems.push("`pose` holds named poses: `[pose.NAME]`".into()),
            None => {}
        }
        let keys = self.keys(table, &poses);
        Poses { rate: rate.unwrap_or(RATE), is_planted: floor.unwrap_or(true), keys }
    }

    fn pose(&mut self, name: &str, pose: &Value) -> Pose {
        let mut read = Pose::default();
        let Some(joints) = pose.as_table() else {
            self.problems.push(format!("pose.{name} must be a table of joints"));
            return read;
        };
        for (joint, angles) in joints {
            let place = format!("pose.{name}.{joint}");
            if let Some(slots) = slots_of(joint) {
                if let Some(angles) = self.angles(&place, angles, ANATOMY) {
                    self.check_limits(&place, slots[0].role, angles);
                    let share = 1.0 / slots.len() as f64;
                    read.human.extend(slots.into_iter().map(|slot| (slot, angles.map(|angle| angle * share))));
                }
            } else if let Some(node) = self.rig.nodes.iter().find(|node| node.name == *joint) {
                if matches!(node.transform, Transform::Matrix(_)) {
                    self.problems.push(format!("{place}: the joint has a matrix, and so no rotation of its own"));
                }
                if let Some(angles) = self.angles(&place, angles, AXES) {
                    read.own.insert(joint.clone(), angles);
                }
            } else {
                let known = all_slots();
                let names: Vec<&str> = known
                    .iter()
                    .map(String::as_str)
                    .chain(self.rig.nodes.iter().map(|node| node.name.as_str()))
                    .filter(|name| !name.is_empty())
                    .collect();
                let like = nearest(joint, names).map_or_else(
                    || "hint: for example `left_upper_arm`, or the name of a joint of the character".into(),
                    |name| format!("hint: did you mean `{name}`?"),
                );
                self.problems.push(format!("{place}: neither a joint of a human nor one of the character; {like}"));
            }
        }
        read
    }

    fn angles(&mut self, place: &str, value: &Value, words: [&str; 3]) -> Option<[f64; 3]> {
        let Some(table) = value.as_table() else {
            self.problems.push(format!("{place} must be a table of angles in degrees: `{{ {} = 30 }}`", words[0]));
            return None;
        };
        let mut angles = [0.0; 3];
        let mut is_good = true;
        for (word, value) in table {
            let Some(axis) = words.iter().position(|known| known == word) else {
                self.problems.push(format!("{place}: `{word}` is none of `{}`", words.join("`, `")));
                is_good = false;
                continue;
            };
            match number(value).filter(|angle| angle.abs() <= LARGEST) {
                Some(angle) => angles[axis] = angle,
                None => {
                    self.problems.push(format!("{place}.{word} must be an angle in degrees, from -720 to 720"));
                    is_good = false;
                }
            }
        }
        is_good.then_some(angles)
    }

    /// Notes what no human can do.
    fn check_limits(&mut self, place: &str, role: Role, angles: [f64; 3]) {
        for ((word, angle), [low, high]) in ANATOMY.iter().zip(angles).zip(limits(role)) {
            // Arms hang at 0, which the sweep of the limits leaves out.
            if angle < low.min(0.0) - 1e-9 || angle > high + 1e-9 {
                self.notes.push(format!("{place}.{word} = {angle} is beyond what humans do ({low} to {high} degrees)"));
            }
        }
        if self.humanoid.nodes.is_empty() {
            self.notes.push(format!("{place}: the character has no joint of a human"));
        }
    }

    fn keys(&mut self, table: &Table, poses: &BTreeMap<String, Pose>) -> Vec<(f64, Pose)> {
        let mut keys: Vec<(f64, Pose)> = Vec::new();
        let list = match table.get("key") {
            Some(Value::Array(list)) if !list.is_empty() => list.as_slice(),
            _ => {
                self.problems
                    .push("there is no `[[key]]`; hint: `[[key]]`, `time = \"0 s\"`, `pose = \"stand\"`".into());
                &[]
            }
        };
        for (number_of_key, key) in list.iter().enumerate() {
            let place = format!("key {}", number_of_key + 1);
            let Some(key) = key.as_table() else {
                self.problems.push(format!("{place} must be a table"));
                continue;
            };
            for word in key.keys().filter(|word| !["time", "pose"].contains(&word.as_str())) {
                self.problems.push(format!("{place}: `{word}` is none of `time` and `pose`"));
            }
            let time = key.get("time").and_then(time).filter(|time| (0.0..=LONGEST).contains(time));
            match (time, keys.last()) {
                (None, _) => {
                    self.problems.push(format!("{place}: `time` must be a time up to an hour, for example \"0.5 s\""))
                }
                (Some(time), Some(last)) if time <= last.0 => {
                    self.problems.push(format!("{place}: its time of {time} s is not after that of the key before"));
                }
                _ => {}
            }
            let names: Option<Vec<&str>> = match key.get("pose") {
                Some(Value::String(name)) => Some(vec![name]),
                Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
                _ => None,
            };
            let Some(names) = names else {
                self.problems.push(format!("{place}: `pose` must be the name of a pose, or a list of names"));
                continue;
            };
            // Angles that a pose does not name are those of standing.
            let mut pose = poses["stand"].clone();
            for name in names {
                match poses.get(name) {
                    Some(own) => {
                        pose.human.extend(own.human.iter().map(|(slot, angles)| (*slot, *angles)));
                        pose.own.extend(own.own.iter().map(|(joint, angles)| (joint.clone(), *angles)));
                    }
                    None => {
                        let known: Vec<&str> = poses.keys().map(String::as_str).collect();
                        self.problems
                            .push(format!("{place}: there is no pose `{name}`; hint: there are {}", known.join(", ")));
                    }
                }
            }
            keys.push((time.unwrap_or(0.0), pose));
        }
        // A file that only turns joints of the character leaves the others alone.
        let is_human = keys.iter().any(|key| key.1.human != stand());
        if !is_human && keys.iter().any(|key| !key.1.own.is_empty()) {
            keys.iter_mut().for_each(|key| key.1.human.clear());
        }
        keys
    }
}

/// A number, whole or not.
fn number(value: &Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|number| number as f64)).filter(|number| number.is_finite())
}

/// A time in seconds: a number, or text with a unit.
fn time(value: &Value) -> Option<f64> {
    let parsed = |text: &str| {
        let quantity = Quantity::parse(text).ok()?;
        (quantity.dimension == Dimension::TIME).then_some(quantity.value)
    };
    number(value).or_else(|| parsed(value.as_str()?))
}

/// Joints of a human by the names of a file: chains by one name.
fn slots_of(name: &str) -> Option<Vec<Slot>> {
    let middle = |roles: &[Role]| Some(roles.iter().map(|&role| Slot::middle(role)).collect());
    match name {
        "spine" => return middle(&[Role::Spine(0), Role::Spine(1), Role::Spine(2)]),
        "neck" => return middle(&[Role::Neck(0)]),
        _ => {}
    }
    known_slots().into_iter().find(|slot| slot.name() == name).map(|slot| vec![slot])
}

/// Joints that the mannequin has and that are not chains.
fn known_slots() -> Vec<Slot> {
    let mut slots: Vec<Slot> = [Role::Hips, Role::Head, Role::Jaw].map(Slot::middle).to_vec();
    for side in [Side::Left, Side::Right] {
        let limbs = [
            Role::Clavicle,
            Role::UpperArm,
            Role::Forearm,
            Role::Hand,
            Role::Thigh,
            Role::Shin,
            Role::Foot,
            Role::Toes,
        ];
        slots.extend(limbs.map(|role| Slot::new(role, side)));
        for finger in Finger::ALL {
            slots.extend([1, 2, 3].map(|number| Slot::new(Role::Finger(finger, number), side)));
        }
    }
    slots
}

fn all_slots() -> Vec<String> {
    ["spine".to_string(), "neck".into()].into_iter().chain(known_slots().into_iter().map(Slot::name)).collect()
}
