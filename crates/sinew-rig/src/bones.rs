//! Bones within flesh: capsules, or surfaces modeled in the character's file.

use sinew_geometry::mesh::{NearestPlaces, WindingNumber};
use sinew_geometry::{MeshError, TriMesh};
use sinew_math::Vec3;

use crate::flesh::Flesh;
use crate::joints::Joint;
use crate::rig::Rig;

/// Bone radius over limb radius: that of a humerus in an upper arm.
const BONE_SHARE: f64 = 0.3;
/// Bones end this fraction of their limb's radius before the next joint, so that flesh there can bend.
const JOINT_SHARE: f64 = 0.35;
/// Samples along a bone; the longest part within the flesh is kept.
const SAMPLES: usize = 64;
/// Maximum radius of a bone over the depth of its axis below the skin: feet are flat.
const MAX_DEPTH_SHARE: f64 = 0.9;

/// A capsule that moves with a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Bone {
    /// Joint, as an index into [`Flesh::joints`].
    pub joint: usize,
    /// Ends of its axis at rest \[m\].
    pub ends: [Vec3; 2],
    /// Radius \[m\].
    pub radius: f64,
}

impl Bone {
    /// Distance of a point from the axis, and the position of the nearest axis point, from 0 to 1.
    pub fn distance(&self, x: Vec3) -> (f64, f64) {
        let [a, b] = self.ends;
        let axis = b - a;
        let along = ((x - a).dot(axis) / axis.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        (x.distance(a + axis * along), along)
    }
}

/// A bone modeled in the character's file, at rest \[m\]: the surface or node with this name. Vertices split along
/// seams are merged. `None` if there is no such name.
///
/// # Errors
/// When it has no triangles.
pub fn modelled_bone(rig: &Rig, flesh: &Flesh, name: &str) -> Option<Result<TriMesh, MeshError>> {
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    let mut is_found = false;
    for piece in flesh.pieces.iter().filter(|piece| piece.has_name(rig, name)) {
        is_found = true;
        let first = positions.len() as u32;
        positions.extend(piece.vertices.iter().map(|source| source.rest(&flesh.surface)));
        let of_part = &rig.surfaces[piece.surface].parts[piece.part].triangles;
        triangles.extend(of_part.iter().map(|triangle| triangle.map(|vertex| first + vertex)));
    }
    let whole = || {
        let (surface, _) = TriMesh::new(positions, triangles)?.welded()?;
        // Mirrored nodes invert surfaces.
        Ok(if surface.volume() < 0.0 { surface.flipped() } else { surface })
    };
    is_found.then(whole)
}

/// Bones from every joint that moves vertices to its child joints; at the end of a chain, to the end of its vertices.
pub fn guess_bones(flesh: &Flesh) -> Vec<Bone> {
    let inside = flesh.surface.winding_numbers();
    let nearest = NearestPlaces::new(&flesh.surface);
    let depth = |x: Vec3| nearest.to(x).map_or(f64::INFINITY, |skin| skin.position.distance(x));
    let place = |&vertex: &u32| flesh.surface.positions()[vertex as usize];
    let own: Vec<Vec<Vec3>> = flesh.own_vertices().iter().map(|own| own.iter().map(place).collect()).collect();
    let mut bones = Vec::new();
    for (joint, data) in flesh.joints.iter().enumerate().filter(|&(joint, _)| !own[joint].is_empty()) {
        let is_below = |other: &&Joint| other.parent == Some(joint) && other.is_of_skin;
        let below: Vec<Vec3> = flesh.joints.iter().filter(is_below).map(|other| other.place).collect();
        let own = &own[joint];
        let ends = if below.is_empty() { vec![tip(data.place, own)] } else { below };
        for end in ends {
            let straight = Bone { joint, ends: [data.place, end], radius: 0.0 };
            if let Some(mut bone) = fitted(straight, own, &inside) {
                bone.radius = bone.radius.min(MAX_DEPTH_SHARE * least(&bone, depth));
                bones.push(bone);
            }
        }
    }
    bones
}

/// Smallest depth along the axis of a bone.
fn least(bone: &Bone, depth: impl Fn(Vec3) -> f64) -> f64 {
    let at = |k: usize| bone.ends[0].lerp(bone.ends[1], k as f64 / (SAMPLES - 1) as f64);
    (0..SAMPLES).map(|k| depth(at(k))).fold(f64::INFINITY, f64::min)
}

/// End of the vertices of the last joint of a chain.
fn tip(place: Vec3, own: &[Vec3]) -> Vec3 {
    let center = own.iter().copied().sum::<Vec3>() / own.len() as f64;
    let direction = (center - place).normalized();
    let reach = own.iter().map(|x| (*x - place).dot(direction)).fold(0.0, f64::max);
    place + direction * reach
}

/// A bone as thick as its limb allows, within the flesh, and shortened before its joints.
fn fitted(bone: Bone, own: &[Vec3], inside: &WindingNumber) -> Option<Bone> {
    let [a, b] = bone.ends;
    let length = a.distance(b);
    // Only vertices beside the bone determine the thickness of the limb.
    let mut distances: Vec<f64> = own
        .iter()
        .map(|x| bone.distance(*x))
        .filter(|&(_, along)| along > 0.0 && along < 1.0)
        .map(|(distance, _)| distance)
        .collect();
    if distances.is_empty() || length <= 0.0 {
        return None;
    }
    // Use the thinner side: half of the vertices are closer than the median, and the bone must not protrude there.
    distances.sort_by(f64::total_cmp);
    let limb = distances[distances.len() / 4];
    let radius = BONE_SHARE * limb;
    let trim = (JOINT_SHARE * limb).min(0.2 * length);
    let (from, to) = (trim / length, 1.0 - trim / length);
    let at = |k: usize| a + (b - a) * (from + (to - from) * k as f64 / (SAMPLES - 1) as f64);
    let mut best = 0..0;
    let mut start = 0;
    for k in 0..=SAMPLES {
        if k < SAMPLES && inside.is_inside(at(k)) {
            continue;
        }
        if k - start > best.len() {
            best = start..k;
        }
        start = k + 1;
    }
    if best.len() < 2 {
        return None;
    }
    // Ends are round: where the axis would leave the flesh, it stops short of the surface by the radius.
    let mut ends = [at(best.start), at(best.end - 1)];
    if best.end < SAMPLES || !inside.is_inside(b + (b - a).normalized() * radius) {
        ends[1] -= (ends[1] - ends[0]).normalized() * radius.min(0.5 * ends[0].distance(ends[1]));
    }
    Some(Bone { ends, radius, ..bone })
}
