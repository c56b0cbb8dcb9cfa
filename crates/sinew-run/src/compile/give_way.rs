//! Bones that give way: where a motion brings bones nearer to each other than the flesh around them has room.

use sinew_geometry::proximity::RestSurface;
use sinew_math::Vec3;
use sinew_rig::{Bone, Flesh, Room, least_room};
use sinew_scene::Character;
use sinew_scene::spec::body::Body;
use sinew_scene::spec::rig::{Hold, Rig};

use super::Compiler;
use super::bones::RigBone;

/// Room below which flesh cannot keep its volume between bones that stay where they are. A closed fist whose thumb does
/// not press on the fingers has 0.7; in a whole one the thumb passes the index finger at less than 0.4.
const LITTLE_ROOM: f64 = 0.6;
/// Share of their stiffness that a note suggests.
const USUAL_SHARE: f64 = 0.07;

/// Which bones of a body give way.
pub(super) struct Yielding {
    /// Share of their stiffness that the springs of soft bones keep.
    pub share: f64,
    room: Vec<Option<Room>>,
}

impl Yielding {
    /// Whether a bone gives way because it lacks room.
    pub fn lacks_room(&self, bone: usize) -> bool {
        self.share < 1.0 && self.room[bone].is_some_and(|room| room.share < LITTLE_ROOM)
    }
}

impl Compiler<'_> {
    /// Finds which bones of a body lack room, and notes where flesh loses volume by that.
    pub(super) fn yielding(&mut self, body: &Body, rig: &Rig, character: &Character, bones: &[RigBone]) -> Yielding {
        let unyielding = Yielding { share: 1.0, room: Vec::new() };
        let may = |bone: &RigBone| matches!(bone.hold, Hold::Soft | Hold::Auto);
        if rig.give_way == Some(1.0) || !bones.iter().any(may) {
            return unyielding;
        }
        let flesh: &Flesh = &character.flesh;
        let skin = RestSurface::new(flesh.surface.positions().to_vec(), flesh.surface.triangles().to_vec());
        let depth = |x: Vec3| skin.nearest(x).map_or(0.0, |(_, _, depth)| depth);
        let numbers: Vec<usize> = (0..bones.len()).filter(|&k| bones[k].capsule().is_some()).collect();
        let capsules: Vec<Bone> = numbers
            .iter()
            .filter_map(|&k| bones[k].capsule())
            .map(|bone| Bone {
                ends: bone.ends.map(|x| x / body.scale),
                radius: bone.radius / body.scale,
                ..bone.clone()
            })
            .collect();
        let performance = character.performance(rig);
        let count = (self.scene.duration * self.scene.frame_rate).ceil() as usize + 1;
        let motions: Vec<_> =
            (0..count).map(|frame| performance.motions(frame as f64 / self.scene.frame_rate)).collect();
        let found = least_room(&capsules, flesh, depth, motions.iter());
        let mut room = vec![None; bones.len()];
        for (&k, found) in numbers.iter().zip(found) {
            room[k] = found.map(|found| Room { other: numbers[found.other], ..found });
        }
        let tightest = (0..bones.len())
            .filter_map(|k| Some((k, room[k]?)))
            .filter(|(k, found)| found.share < LITTLE_ROOM && [*k, found.other].iter().any(|&bone| may(&bones[bone])))
            .min_by(|a, b| a.1.share.total_cmp(&b.1.share));
        if let (Some((bone, found)), None) = (tightest, rig.give_way) {
            let name = |bone: usize| &flesh.joints[bones[bone].joint].name;
            self.notes.push(format!(
                "{}: the motion brings {} to {:.2} of the distance from {} that the flesh around them needs, so that it \
                 loses volume; with `give_way = {USUAL_SHARE}` soft bones leave it room",
                body.name,
                name(bone),
                found.share,
                name(found.other)
            ));
        }
        Yielding { share: rig.give_way.unwrap_or(1.0), room }
    }
}
