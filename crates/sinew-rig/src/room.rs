//! How much room a motion leaves the flesh between bones.
//!
//! Two points on the axes of bones lie at the depths r₁ and r₂ below the skin. At a distance r₁ + r₂ the flesh on both
//! sides just touches; what comes nearer presses it away. The room is the smallest distance over this sum.

use sinew_math::Vec3;

use crate::bones::Bone;
use crate::flesh::Flesh;
use crate::motion::Motion;

/// Largest number of points per bone, and of distances to compute for a motion.
const MAX_POINTS: usize = 12;
const MAX_DISTANCES: usize = 40_000_000;
/// Flesh of neighbors in the skeleton meets in the crease of their joint, where bones have always been near: points
/// there count from this multiple of the depths at rest on.
const CREASE: f64 = 2.0;
/// Number of joints between neighbors in the skeleton.
const NEAR: usize = 2;

/// The least room of a bone over a motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Smallest distance from the axis of another bone over the sum of their depths.
    pub share: f64,
    /// That bone.
    pub other: usize,
}

/// A point on the axis of a bone.
struct Point {
    bone: usize,
    place: Vec3,
    depth: f64,
}

/// The least room of each bone over the given motions of all joints; `depth` is the distance of a point from the skin
/// at rest. `None` for bones that come near no other.
pub fn least_room<'a>(
    bones: &[Bone],
    flesh: &Flesh,
    depth: impl Fn(Vec3) -> f64,
    motions: impl ExactSizeIterator<Item = &'a Vec<Motion>>,
) -> Vec<Option<Room>> {
    let mut points = Vec::new();
    for (bone, data) in bones.iter().enumerate() {
        let [a, b] = data.ends;
        let deep = depth((a + b) * 0.5).max(data.radius);
        let count = ((2.0 * a.distance(b) / deep.max(f64::MIN_POSITIVE)).ceil() as usize).clamp(2, MAX_POINTS);
        points.extend((0..=count).map(|k| {
            let place = a + (b - a) * (k as f64 / count as f64);
            Point { bone, place, depth: depth(place) }
        }));
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (k, first) in points.iter().enumerate() {
        for (l, second) in points.iter().enumerate().skip(k + 1) {
            let joints = [first, second].map(|point| bones[point.bone].joint);
            let factor = if are_near(flesh, joints) { CREASE } else { 1.0 };
            let is_apart = first.place.distance(second.place) >= factor * (first.depth + second.depth);
            if joints[0] != joints[1] && is_apart {
                pairs.push((k, l));
            }
        }
    }
    let stride = (pairs.len() * motions.len()).div_ceil(MAX_DISTANCES).max(1);
    let mut least: Vec<Option<Room>> = vec![None; bones.len()];
    let mut placed = vec![Vec3::zero(); points.len()];
    for motion in motions.step_by(stride) {
        for (to, point) in placed.iter_mut().zip(&points) {
            *to = motion[bones[point.bone].joint].to_world(point.place);
        }
        for &(k, l) in &pairs {
            let [first, second] = [&points[k], &points[l]];
            let share = placed[k].distance(placed[l]) / (first.depth + second.depth).max(f64::MIN_POSITIVE);
            if share < 1.0 {
                for (own, other) in [(first.bone, second.bone), (second.bone, first.bone)] {
                    if least[own].is_none_or(|room| share < room.share) {
                        least[own] = Some(Room { share, other });
                    }
                }
            }
        }
    }
    least
}

/// Whether one joint is the other or at most a few above it.
fn are_near(flesh: &Flesh, joints: [usize; 2]) -> bool {
    let reaches = |from: usize, to: usize| {
        let mut at = Some(from);
        for _ in 0..=NEAR {
            if at == Some(to) {
                return true;
            }
            at = at.and_then(|joint| flesh.joints[joint].parent);
        }
        false
    };
    reaches(joints[0], joints[1]) || reaches(joints[1], joints[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characters::{Character, CharacterParams, bone_hints, generate};
    use crate::flesh::FleshParams;
    use sinew_geometry::proximity::RestSurface;

    /// In a whole fist the thumb comes to the bones of the index finger; fingers beside each other keep their room, and
    /// so does everything at rest.
    #[test]
    fn a_whole_fist_leaves_the_thumb_no_room() {
        let rig = generate(&CharacterParams { edge: 0.0045, ..CharacterParams::of(Character::Hand) }).unwrap();
        let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
        let joint = |name: &str| flesh.joints.iter().position(|joint| joint.name == name).unwrap();
        let bones: Vec<Bone> = bone_hints(Character::Hand)
            .iter()
            .map(|hint| Bone {
                joint: joint(&rig.nodes[hint.joint].name),
                ends: [hint.from, hint.to],
                radius: hint.radius,
            })
            .collect();
        let skin = RestSurface::new(flesh.surface.positions().to_vec(), flesh.surface.triangles().to_vec());
        let depth = |x: Vec3| skin.nearest(x).map_or(0.0, |(_, _, depth)| depth);
        let room = |times: &[f64]| {
            let fist = rig.animation(Some("fist")).unwrap();
            let motions: Vec<_> = times.iter().map(|&time| flesh.motions(&rig.pose(fist, time))).collect();
            least_room(&bones, &flesh, depth, motions.iter())
        };
        let of = |room: &[Option<Room>], name: &str| {
            let shares = (0..bones.len()).filter(|&k| bones[k].joint == joint(name)).filter_map(|k| room[k]);
            shares.map(|room| room.share).fold(1.0, f64::min)
        };
        let frames: Vec<f64> = (0..=30).map(|frame| f64::from(frame) / 24.0).collect();
        let (rest, closed) = (room(&[0.0]), room(&frames));
        assert!(rest.iter().flatten().all(|room| room.share > 0.85), "{rest:?}");
        assert!(of(&closed, "thumb.distal") < 0.4, "{closed:?}");
        assert!(of(&closed, "index.middle") < 0.4 && of(&closed, "little.proximal") > 0.7, "{closed:?}");
    }
}
