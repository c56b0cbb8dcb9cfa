//! The motions by name.

use super::anatomy::limits;
use super::{Angles, Script, gait, mix, smooth};
use crate::humanoid::{Finger, Humanoid, Role, Side, Slot};

/// Samples per second.
const RATE: f64 = 30.0;
/// Degrees per second of a sweep.
const SWEEP: f64 = 160.0;
/// Cycles of the walk.
const CYCLES: f64 = 2.0;

/// A motion that every human can perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// Four steps ahead.
    Walk,
    /// A raised hand waves.
    Wave,
    /// Down to the heels and up again.
    Squat,
    /// Both hands close and open.
    Fist,
    /// Every joint from limit to limit, one after another.
    RangeOfMotion,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Walk, Self::Wave, Self::Squat, Self::Fist, Self::RangeOfMotion];

    /// Its name on the command line and in scenes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::Wave => "wave",
            Self::Squat => "squat",
            Self::Fist => "fist",
            Self::RangeOfMotion => "range-of-motion",
        }
    }

    /// The motion with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|motion| motion.name() == name)
    }

    /// The motion for the joints that a character has.
    pub fn script(self, character: &Humanoid) -> Script {
        let name = self.name();
        match self {
            Self::Walk => {
                let count = (CYCLES * gait::CYCLE * RATE).round() as usize;
                let times: Vec<f64> = (0..=count).map(|k| k as f64 / RATE).collect();
                let poses = times.iter().map(|time| gait::pose(time / gait::CYCLE)).collect();
                Script { name: name.into(), times, poses, is_planted: true }
            }
            Self::Wave => wave(character),
            Self::Squat => {
                Script::between(name, &[(0.0, stand()), (1.1, squat()), (1.4, squat()), (2.5, stand())], RATE, true)
            }
            Self::Fist => {
                Script::between(name, &[(0.0, stand()), (0.8, fist()), (1.3, fist()), (2.1, stand())], RATE, true)
            }
            Self::RangeOfMotion => range_of_motion(character),
        }
    }
}

/// Standing, arms a little away from the body.
pub fn stand() -> Angles {
    let mut angles = Angles::new();
    for side in [Side::Left, Side::Right] {
        angles.insert(Slot::new(Role::UpperArm, side), [0.0, 25.0, 0.0]);
        angles.insert(Slot::new(Role::Forearm, side), [10.0, 0.0, 0.0]);
    }
    angles
}

fn squat() -> Angles {
    let mut angles = stand();
    for side in [Side::Left, Side::Right] {
        let mut put = |role, own| angles.insert(Slot::new(role, side), own);
        // Thighs level, shins forward by what the ankles give, soles flat: 22 − 105 + 113 − 30 = 0.
        put(Role::Thigh, [105.0, 12.0, 0.0]);
        put(Role::Shin, [113.0, 0.0, 0.0]);
        put(Role::Foot, [30.0, 0.0, 0.0]);
        put(Role::UpperArm, [75.0, 10.0, 0.0]);
    }
    angles.insert(Slot::middle(Role::Hips), [22.0, 0.0, 0.0]);
    for k in 0..3 {
        angles.insert(Slot::middle(Role::Spine(k)), [5.0, 0.0, 0.0]);
    }
    angles.insert(Slot::middle(Role::Neck(0)), [-15.0, 0.0, 0.0]);
    angles.insert(Slot::middle(Role::Head), [-12.0, 0.0, 0.0]);
    angles
}

fn fist() -> Angles {
    let mut angles = stand();
    for side in [Side::Left, Side::Right] {
        let mut put =
            |finger, number, flex| angles.insert(Slot::new(Role::Finger(finger, number), side), [flex, 0.0, 0.0]);
        for finger in [Finger::Index, Finger::Middle, Finger::Ring, Finger::Little] {
            for (number, flex) in [(1, 70.0), (2, 85.0), (3, 50.0)] {
                put(finger, number, flex);
            }
        }
        put(Finger::Thumb, 1, 18.0);
        put(Finger::Thumb, 2, 20.0);
        put(Finger::Thumb, 3, 35.0);
    }
    angles
}

/// The right hand, or the left one of a character that has no other.
fn wave(character: &Humanoid) -> Script {
    let has =
        |side| [Role::UpperArm, Role::Forearm, Role::Hand].iter().any(|role| character.node(*role, side).is_some());
    let side = if has(Side::Right) || !has(Side::Left) { Side::Right } else { Side::Left };
    let raised = |swing: f64| {
        let mut angles = stand();
        let mut put = |role, own| angles.insert(Slot::new(role, side), own);
        put(Role::Clavicle, [0.0, 8.0, 0.0]);
        put(Role::UpperArm, [20.0, 85.0, -70.0]);
        put(Role::Forearm, [80.0 + 22.0 * swing, 0.0, 0.0]);
        put(Role::Hand, [0.0, -8.0 * swing, 0.0]);
        angles
    };
    const RISE: f64 = 0.8;
    const WAVES: f64 = 3.0;
    const PERIOD: f64 = 0.7;
    let end = RISE + WAVES * PERIOD;
    let count = ((end + RISE) * RATE).round() as usize;
    let times: Vec<f64> = (0..=count).map(|k| k as f64 / RATE).collect();
    let pose = |time: &f64| {
        let swing =
            if (RISE..end).contains(time) { (std::f64::consts::TAU * (time - RISE) / PERIOD).sin() } else { 0.0 };
        let part = smooth(time / RISE) - smooth((time - end) / RISE);
        mix(&stand(), &raised(swing), part)
    };
    let poses = times.iter().map(pose).collect();
    Script { name: "wave".into(), times, poses, is_planted: true }
}

/// Joints that turn together in the sweep, and what they turn by.
fn sweeps() -> Vec<(Vec<Role>, f64)> {
    let fingers = |number| {
        [Finger::Index, Finger::Middle, Finger::Ring, Finger::Little].map(|f| Role::Finger(f, number)).to_vec()
    };
    vec![
        // Neck and head share their range, as the joints of the spine do.
        (vec![Role::Neck(0), Role::Head], 0.5),
        (vec![Role::Jaw], 1.0),
        (vec![Role::Spine(0), Role::Spine(1), Role::Spine(2)], 1.0 / 3.0),
        (vec![Role::Clavicle], 1.0),
        (vec![Role::UpperArm], 1.0),
        (vec![Role::Forearm], 1.0),
        (vec![Role::Hand], 1.0),
        (fingers(1), 1.0),
        (fingers(2), 1.0),
        (fingers(3), 1.0),
        (vec![Role::Finger(Finger::Thumb, 1)], 1.0),
        (vec![Role::Finger(Finger::Thumb, 2)], 1.0),
        (vec![Role::Finger(Finger::Thumb, 3)], 1.0),
        (vec![Role::Thigh], 1.0),
        (vec![Role::Shin], 1.0),
        (vec![Role::Foot], 1.0),
        (vec![Role::Toes], 1.0),
    ]
}

/// Every joint that the character has, from limit to limit about one axis after another; both sides together.
fn range_of_motion(character: &Humanoid) -> Script {
    let sides = [Side::Middle, Side::Left, Side::Right];
    let mut keys = vec![(0.0, stand())];
    let mut time = 0.0;
    for (roles, share) in sweeps() {
        let slots: Vec<Slot> = roles
            .iter()
            .flat_map(|&role| sides.map(|side| Slot { role, side }))
            .filter(|slot| character.nodes.contains_key(slot))
            .collect();
        // Chains of any length share what the mannequin does.
        let slots = if matches!(roles[0], Role::Spine(_)) && !slots.is_empty() {
            roles.iter().map(|&role| Slot::middle(role)).collect()
        } else {
            slots
        };
        let Some(first) = slots.first() else { continue };
        for (axis, [low, high]) in limits(first.role).into_iter().enumerate().filter(|(_, [low, high])| high > low) {
            let at = |degrees: f64| {
                let mut angles = stand();
                for slot in &slots {
                    angles.entry(*slot).or_default()[axis] = degrees * share;
                }
                angles
            };
            let start = stand().get(first).map_or(0.0, |own| own[axis]);
            let mut from = start;
            for to in [high, low, start] {
                if (to - from).abs() > 1e-9 {
                    time += ((to - from).abs() / SWEEP).max(2.0 / RATE);
                    keys.push((time, if to == start { stand() } else { at(to) }));
                    from = to;
                }
            }
        }
    }
    Script::between("range-of-motion", &keys, RATE, false)
}
