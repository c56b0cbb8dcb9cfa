//! Requirements of every character.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sinew_geometry::TriMesh;
use sinew_geometry::mesh::NearestPlaces;
use sinew_math::Vec3;

use super::body::Body;
use super::*;
use crate::animation::Animation;
use crate::rig::{Part, Rig};

fn generated(character: Character, coarser: f64) -> Rig {
    generate(&CharacterParams { edge: coarser * character.usual_edge(), ..CharacterParams::of(character) }).unwrap()
}

/// A character, generated once for all tests.
fn rig(character: Character, coarser: f64) -> Arc<Rig> {
    type Rigs = BTreeMap<(&'static str, u64), Arc<Rig>>;
    static RIGS: Mutex<Rigs> = Mutex::new(Rigs::new());
    let mut rigs = RIGS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || Arc::new(generated(character, coarser));
    rigs.entry((character.name(), coarser.to_bits())).or_insert_with(new).clone()
}

fn part(rig: &Rig) -> &Part {
    &rig.surfaces[0].parts[0]
}

/// The skin with its seam closed.
fn skin(rig: &Rig) -> TriMesh {
    TriMesh::new(part(rig).positions.clone(), part(rig).triangles.clone()).unwrap().welded().unwrap().0
}

fn joint(rig: &Rig, name: &str) -> usize {
    rig.nodes.iter().position(|node| node.name == name).unwrap()
}

#[test]
fn names_lead_back_to_characters() {
    for character in Character::ALL {
        assert_eq!(Character::from_name(character.name()), Some(character));
    }
    assert_eq!(Character::from_name("tail"), None);
}

#[test]
fn skins_are_closed_like_a_sphere_and_do_not_cut_themselves() {
    for character in Character::ALL {
        for coarser in [1.0, 1.7] {
            let skin = skin(&rig(character, coarser));
            let topology = skin.topology();
            assert!(topology.is_closed(), "{character:?} at {coarser}: {topology:?}");
            assert_eq!(topology.euler_characteristic, 2);
            assert_eq!(skin.components().count, 1);
            assert!(skin.volume() > 0.0);
            assert_eq!(skin.self_intersections(10), Vec::<[u32; 2]>::new(), "{character:?} at {coarser}");
        }
    }
}

/// The seam is there: duplicate vertices with other texture coordinates, and no other cut.
#[test]
fn seams_are_cut_and_sewn_exactly() {
    for character in Character::ALL {
        let rig = rig(character, 1.5);
        let cut = part(&rig);
        assert!(skin(&rig).vertex_count() < cut.positions.len());
        assert_eq!(cut.texcoords[0].len(), cut.positions.len());
        assert_eq!(cut.normals.len(), cut.positions.len());
        assert!(!TriMesh::new(cut.positions.clone(), cut.triangles.clone()).unwrap().is_closed());
    }
}

#[test]
fn normals_point_out_of_the_triangles() {
    for character in Character::ALL {
        let rig = rig(character, 1.0);
        let part = part(&rig);
        let agreement = part.triangles.iter().map(|triangle| {
            let [a, b, c] = triangle.map(|vertex| part.positions[vertex as usize]);
            let mean =
                triangle.map(|vertex| Vec3::from(part.normals[vertex as usize].map(f64::from))).iter().sum::<Vec3>();
            (b - a).cross(c - a).normalized().dot(mean.normalized())
        });
        let worst = agreement.fold(1.0, f64::min);
        // Where the skin bends more than the edge resolves they may differ, but not flip.
        assert!(worst > 0.0, "{character:?}: {worst}");
    }
}

/// The mean edge is met within a few percent, and so is the area from which vertices are estimated.
#[test]
fn mean_edge_is_as_asked() {
    for character in Character::ALL {
        let skin = skin(&rig(character, 1.0));
        let lengths = skin.triangles().iter().flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]]);
        let sum: f64 = lengths.map(|[a, b]| skin.positions()[a as usize].distance(skin.positions()[b as usize])).sum();
        let mean = sum / (3 * skin.triangle_count()) as f64;
        assert!((mean / character.usual_edge() - 1.0).abs() < 0.04, "{character:?}: {mean}");
        let area = Body::of(character).skin_area;
        assert!((skin.area() / area - 1.0).abs() < 0.04, "{character:?}: {} against {area}", skin.area());
    }
}

#[test]
fn sizes_are_those_of_people() {
    let size = |character| skin(&rig(character, 1.0)).bounds();
    let arm = size(Character::Arm).size();
    assert!((arm.x - 0.75).abs() < 0.03, "{arm:?}");
    // From the wrist at the origin to the tip of the middle finger.
    let hand = size(Character::Hand);
    assert!((hand.max.y - 0.19).abs() < 0.005, "{hand:?}");
    let torso = size(Character::Torso);
    assert!((torso.max.y - 1.75).abs() < 0.01, "{torso:?}");
}

#[test]
fn weights_sum_to_one_and_every_joint_has_skin() {
    for character in Character::ALL {
        let rig = rig(character, 1.0);
        let part = part(&rig);
        assert_eq!(part.weights.width, 4);
        let mut largest = vec![0.0f64; rig.skins[0].joints.len()];
        for vertex in 0..part.positions.len() {
            let sum: f32 = part.weights.weights[4 * vertex..4 * vertex + 4].iter().sum();
            assert_eq!(sum, 1.0);
            for (joint, weight) in part.weights.of(vertex) {
                assert!(weight > 0.0);
                largest[joint] = largest[joint].max(weight);
            }
        }
        for (joint, weight) in largest.iter().enumerate() {
            assert!(*weight > 0.5, "{character:?}: {} has {weight}", rig.nodes[joint].name);
        }
    }
}

/// Weights of neighbors differ by no more than a step between joints allows: nothing jumps.
#[test]
fn weights_are_smooth() {
    for character in Character::ALL {
        let rig = rig(character, 1.0);
        let part = part(&rig);
        let weight = |vertex: u32, joint: usize| {
            part.weights.of(vertex as usize).find(|(j, _)| *j == joint).map_or(0.0, |(_, weight)| weight)
        };
        for triangle in &part.triangles {
            for (joint, weight_here) in part.weights.of(triangle[0] as usize) {
                let jump = (weight_here - weight(triangle[1], joint)).abs();
                assert!(jump < 0.5, "{character:?}: {jump} of {}", rig.nodes[joint].name);
            }
        }
    }
}

#[test]
fn rest_pose_returns_the_skin() {
    for character in Character::ALL {
        let rig = rig(character, 1.5);
        let positions = &part(&rig).positions;
        let blended = rig.blend(rig.nodes.len() - 1, part(&rig), positions, &rig.pose(None, 0.0));
        let worst = blended.iter().zip(positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(worst < 1e-12, "{character:?}: {worst}");
    }
}

#[test]
fn torso_is_its_own_mirror_image() {
    let rig = rig(Character::Torso, 1.0);
    let skin = skin(&rig);
    let bits = |p: Vec3| p.to_array().map(|c| (c + 0.0).to_bits());
    let places: std::collections::HashSet<_> = skin.positions().iter().map(|p| bits(*p)).collect();
    for p in skin.positions() {
        assert!(places.contains(&bits(Vec3::new(-p.x, p.y, p.z))), "{p:?}");
    }
    let left = joint(&rig, "forearm.L");
    let right = joint(&rig, "forearm.R");
    let pose = rig.pose(None, 0.0);
    let [l, r] = [left, right].map(|node| pose[node].translation);
    assert_eq!([l.x, l.y, l.z], [-r.x, r.y, r.z]);
}

/// A finger's vertices beyond the web are at least 3 mm from those of all other fingers, and no vertex belongs to two.
#[test]
fn fingers_are_apart() {
    let rig = rig(Character::Hand, 1.0);
    let part = part(&rig);
    let finger_of = |joint: usize| {
        let name = rig.nodes[joint].name.clone();
        let [finger, bone] = name.split('.').collect::<Vec<_>>()[..] else { return None };
        (bone != "metacarpal").then(|| finger.to_string())
    };
    let fingers: Vec<Option<String>> = (0..rig.skins[0].joints.len()).map(finger_of).collect();
    let mut beyond: Vec<(&str, Vec3)> = Vec::new();
    for vertex in 0..part.positions.len() {
        let own: Vec<(&str, f64)> =
            part.weights.of(vertex).filter_map(|(j, w)| Some((fingers[j].as_deref()?, w))).collect();
        assert!(own.iter().all(|(finger, _)| *finger == own[0].0), "vertex {vertex} belongs to {own:?}");
        if own.iter().map(|(_, weight)| weight).sum::<f64>() > 0.999 {
            beyond.push((own[0].0, part.positions[vertex]));
        }
    }
    let mut closest = f64::INFINITY;
    for (k, (finger, p)) in beyond.iter().enumerate() {
        for (other, q) in beyond[..k].iter().filter(|(other, _)| other != finger) {
            assert!(p.distance(*q) > 0.003, "{finger} and {other}: {}", p.distance(*q));
            closest = closest.min(p.distance(*q));
        }
    }
    assert!(closest < 0.02, "no fingers found");
}

/// Largest rotation of any joint in the world between two times \[degrees\].
fn largest_turn(rig: &Rig, animation: &Animation, times: [f64; 2]) -> f64 {
    let [a, b] = times.map(|time| rig.pose(Some(animation), time));
    let angle = |k: usize| {
        let cosine = 0.5 * ((b[k].linear * a[k].linear.transpose()).trace() - 1.0);
        cosine.clamp(-1.0, 1.0).acos().to_degrees()
    };
    (0..rig.nodes.len()).map(angle).fold(0.0, f64::max)
}

#[test]
fn motions_are_quick_return_to_rest_and_have_their_names() {
    let expected: [(Character, &[&str]); 4] = [
        (Character::Arm, &["curl", "reach", "punch"]),
        (Character::Hand, &["fist", "wave", "knock"]),
        (Character::Torso, &["shrug", "twist", "press", "rock"]),
        (Character::Leg, &["squat"]),
    ];
    for (character, names) in expected {
        let rig = rig(character, 1.7);
        let found: Vec<&str> = rig.animations.iter().map(|animation| animation.name.as_str()).collect();
        assert_eq!(found, names);
        for animation in &rig.animations {
            assert_eq!(animation.span(), Some([0.0, 2.5]));
            assert!(animation.channels.iter().all(|channel| channel.times.len() == 61));
            let steps: Vec<f64> =
                (0..60).map(|k| largest_turn(&rig, animation, [k, k + 1].map(|k| f64::from(k) / 24.0))).collect();
            let moving: Vec<f64> = steps.iter().copied().filter(|step| *step > 1.0).collect();
            let mean = moving.iter().sum::<f64>() / moving.len() as f64;
            assert!(mean >= 5.0, "{}: {mean} degrees a frame", animation.name);
            // Motions that fold and then swing do not stop.
            let ends: &[f64] = if ["punch", "knock", "rock"].contains(&animation.name.as_str()) {
                assert!(steps.iter().all(|step| *step >= 5.0), "{}: {steps:?}", animation.name);
                &[0.0]
            } else {
                &[0.0, 2.5]
            };
            for &time in ends {
                let pose = rig.pose(Some(animation), time);
                let rest = rig.pose(None, 0.0);
                let worst = pose.iter().zip(&rest).map(|(a, b)| (a.linear - b.linear).norm()).fold(0.0, f64::max);
                assert!(worst < 1e-6, "{} at {time}: {worst}", animation.name);
            }
        }
    }
}

#[test]
fn elbow_bends_to_130_degrees_and_stays_for_half_of_the_time() {
    let rig = rig(Character::Arm, 1.7);
    let curl = rig.animation(Some("curl")).unwrap().unwrap();
    let bend = |time: f64| {
        let pose = rig.pose(Some(curl), time);
        let [shoulder, elbow, wrist] = ["shoulder", "elbow", "wrist"].map(|name| pose[joint(&rig, name)].translation);
        (elbow - shoulder).normalized().dot((wrist - elbow).normalized()).acos().to_degrees()
    };
    assert!((bend(0.0) - 5.0).abs() < 0.1 && (bend(1.25) - 130.0).abs() < 0.1, "{} to {}", bend(0.0), bend(1.25));
    let held = (0..60).filter(|frame| bend(f64::from(*frame) / 24.0) > 125.0).count();
    assert!((28..=38).contains(&held), "{held}");
}

/// Pairs of intersecting triangles in the middle of an animation, between parts of the skin that two joints mostly
/// move.
fn contacts(rig: &Rig, animation: &str, starts: [&str; 2]) -> usize {
    let part = part(rig);
    let pose = rig.pose(rig.animation(Some(animation)).unwrap(), 1.25);
    let positions = rig.blend(rig.nodes.len() - 1, part, &part.positions, &pose);
    let posed = TriMesh::new(positions, part.triangles.clone()).unwrap();
    let name = |triangle: u32| {
        let vertex = part.triangles[triangle as usize][0] as usize;
        let (joint, _) = part.weights.of(vertex).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        rig.nodes[joint].name.as_str()
    };
    let pairs = posed.self_intersections(usize::MAX).into_iter().map(|pair| pair.map(name));
    let is = |a: &str, b: &str| a.starts_with(starts[0]) && b.starts_with(starts[1]);
    pairs.filter(|[a, b]| is(a, b) || is(b, a)).count()
}

/// Blend skinning has no contact, so skin intersects skin where flesh should press on flesh.
#[test]
fn motions_press_skin_on_skin() {
    let expected: [(Character, &str, [&str; 2]); 7] = [
        (Character::Arm, "curl", ["shoulder", "elbow"]),
        (Character::Hand, "fist", ["thumb.", "middle."]),
        (Character::Hand, "fist", ["ring.distal", "wrist"]),
        (Character::Hand, "fist", ["middle.", "ring."]),
        (Character::Torso, "press", ["upper_arm.L", "chest"]),
        (Character::Torso, "press", ["forearm.L", "chest"]),
        (Character::Leg, "squat", ["knee", "hip"]),
    ];
    let counts = expected.map(|(character, animation, joints)| contacts(&rig(character, 1.0), animation, joints));
    assert!(counts.iter().all(|count| *count > 5), "{counts:?} for {expected:?}");
}

/// Bones lie in the flesh, end to end, with their joints' skin around them.
#[test]
fn bones_are_inside_the_skin() {
    for character in Character::ALL {
        let rig = rig(character, 1.0);
        let skin = skin(&rig);
        let (nearest, winding) = (NearestPlaces::new(&skin), skin.winding_numbers());
        for bone in bone_hints(character) {
            assert!(bone.joint < rig.skins[0].joints.len() && bone.radius > 0.0);
            for k in 0..=10 {
                let p = bone.from.lerp(bone.to, f64::from(k) / 10.0);
                let place = nearest.to(p).unwrap();
                let depth = p.distance(place.position) - bone.radius;
                let name = &rig.nodes[bone.joint].name;
                assert!(winding.at(p) > 0.5 && depth > 0.0005, "{character:?} {name} {p:?}: {depth}");
            }
        }
    }
}

#[test]
fn wrong_numbers_are_refused() {
    let refused =
        |edge, seconds| generate(&CharacterParams { edge, seconds, ..CharacterParams::default() }).unwrap_err();
    assert!(matches!(refused(-1.0, 2.0), CharacterError::NotPositive { name: "edge", .. }));
    assert!(matches!(refused(0.003, f64::NAN), CharacterError::NotPositive { name: "seconds", .. }));
    assert!(matches!(refused(0.02, 2.0), CharacterError::TooCoarse { .. }));
    assert!(matches!(refused(0.00001, 2.0), CharacterError::TooFine { .. }));
}

/// Omitted lumps have no share: values and gradients near the surface are the same.
#[test]
fn nearby_lumps_are_enough() {
    for character in Character::ALL {
        let field = Body::of(character).field;
        let skin = skin(&rig(character, 1.7));
        for triangle in (0..skin.triangle_count()).step_by(13) {
            let [a, b, c] = skin.corners(triangle);
            let p = (a + b + c) / 3.0;
            let near = field.near(a, 2.0 * a.distance(p));
            assert!((near.value(p) - field.value(p)).abs() < 1e-12, "{character:?} at {p:?}");
            // And the gradient is the derivative of the value.
            let h = 1e-6;
            let slope = field.slope(p).gradient;
            for axis in 0..3 {
                let step = Vec3::unit(axis) * h;
                let difference = (field.value(p + step) - field.value(p - step)) / (2.0 * h);
                assert!((difference - slope[axis]).abs() < 0.2, "{character:?} at {p:?}: {difference} {}", slope[axis]);
            }
        }
    }
}

/// 3 s in a development build; a tenth of that on an idle machine.
#[test]
fn hand_is_made_in_a_moment() {
    let start = Instant::now();
    generated(Character::Hand, 1.0);
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 3.0, "{seconds} s");
}
