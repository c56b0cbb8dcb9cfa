//! Flesh, bones and performances of characters from files.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use sinew_geometry::TriMesh;
use sinew_geometry::procedural::icosphere;
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::characters::{Character, CharacterParams, generate};
use crate::*;

mod bones;
mod exports;
mod flesh;
mod followers;
mod performance;

/// Tolerance of vertices and joints \[m\]: rounding over a few matrices.
const EXACT: f64 = 1e-9;
/// Times at which animations are checked \[s\]: at rest, in motion, in the middle, and beyond the end.
const TIMES: [f64; 4] = [0.0, 0.4, 1.25, 3.0];

static CHARACTERS: LazyLock<Vec<Rig>> = LazyLock::new(|| {
    let coarse =
        |character: Character| CharacterParams { edge: 1.5 * character.usual_edge(), ..CharacterParams::of(character) };
    Character::ALL.into_iter().map(|character| generate(&coarse(character)).unwrap()).collect()
});

/// All generated characters by name.
fn characters() -> impl Iterator<Item = (&'static str, &'static Rig)> {
    Character::ALL.iter().map(|character| character.name()).zip(CHARACTERS.iter())
}

fn arm() -> Rig {
    CHARACTERS[0].clone()
}

fn torso() -> Rig {
    CHARACTERS[2].clone()
}

fn flesh(rig: &Rig) -> Flesh {
    Flesh::new(rig, &FleshParams::default()).unwrap()
}

fn joint(rig: &Rig, name: &str) -> usize {
    rig.nodes.iter().position(|node| node.name == name).unwrap()
}

/// The node of the skin.
fn skin_node(rig: &Rig) -> usize {
    rig.nodes.iter().position(|node| node.surface.is_some()).unwrap()
}

fn node(name: &str, parent: Option<usize>, transform: Transform) -> Node {
    Node { name: name.into(), parent, transform, surface: None, skin: None, morph_weights: None, is_shown: true }
}

/// Largest distance between corresponding points.
fn worst(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// Largest distance between pieces placed by the flesh and by blend skinning, over all animations.
fn worst_against_blend(rig: &Rig, flesh: &Flesh) -> f64 {
    let mut largest = 0.0f64;
    for animation in &rig.animations {
        for time in TIMES {
            let pose = rig.pose(Some(animation), time);
            let motions = flesh.motions(&pose);
            let skin = flesh.blend(&motions);
            for piece in &flesh.pieces {
                let part = &rig.surfaces[piece.surface].parts[piece.part];
                let expected = rig.blend(piece.node, part, &part.positions, &pose);
                largest = largest.max(worst(&flesh.place_piece(piece, &skin, &motions, |x| x), &expected));
            }
        }
    }
    largest
}

fn assert_is_flesh(flesh: &Flesh, name: &str) {
    assert!(flesh.surface.is_closed(), "{name}: {:?}", flesh.surface.topology());
    assert!(flesh.surface.volume() > 0.0, "{name}: {} m³", flesh.surface.volume());
    assert_eq!(flesh.weights.len(), flesh.surface.vertex_count(), "{name}");
}

/// The character under a new root, with node lengths divided by `node_unit` and vertex lengths by `vertex_unit`.
fn rerooted(rig: &Rig, root: Transform, node_unit: f64, vertex_unit: f64) -> Rig {
    let mut rig = rig.clone();
    let root_node = rig.nodes.len();
    for node in &mut rig.nodes {
        node.parent = node.parent.or(Some(root_node));
        match &mut node.transform {
            Transform::Parts { translation, .. } => *translation /= node_unit,
            Transform::Matrix(map) => map.translation /= node_unit,
        }
    }
    rig.nodes.push(node("root", None, root));
    for channel in rig.animations.iter_mut().flat_map(|animation| &mut animation.channels) {
        if let Keys::Translation(keys) = &mut channel.keys {
            keys.iter_mut().for_each(|key| *key /= node_unit);
        }
    }
    for bind in rig.skins.iter_mut().flat_map(|skin| &mut skin.inverse_binds) {
        bind.linear *= vertex_unit / node_unit;
        bind.translation /= node_unit;
    }
    for part in rig.surfaces.iter_mut().flat_map(|surface| &mut surface.parts) {
        part.positions.iter_mut().for_each(|x| *x /= vertex_unit);
    }
    rig
}

fn scaled_root(scale: Vec3) -> Transform {
    Transform::Parts { translation: Vec3::zero(), rotation: Quaternion::identity(), scale }
}

/// Joints listed by the skins of a split character.
#[derive(Clone, Copy, Debug)]
enum Lists {
    /// All, the second skin in reverse.
    All,
    /// Those that its vertices need.
    Needed,
}

/// The character in two surfaces, cut across its widest direction, with one skin each.
fn split(rig: &Rig, lists: Lists) -> Rig {
    let mut rig = rig.clone();
    let at = skin_node(&rig);
    let whole = rig.surfaces[0].parts[0].clone();
    let skin = rig.skins[0].clone();
    let low = whole.positions.iter().copied().reduce(Vec3::min).unwrap();
    let high = whole.positions.iter().copied().reduce(Vec3::max).unwrap();
    let axis = (0..3).max_by(|&a, &b| (high - low)[a].total_cmp(&(high - low)[b])).unwrap();
    (rig.surfaces, rig.skins) = (Vec::new(), Vec::new());
    for half in 0..2 {
        let middle = 0.5 * (low[axis] + high[axis]);
        let is_here = |triangle: &&[u32; 3]| {
            usize::from(
                triangle.iter().map(|&vertex| whole.positions[vertex as usize][axis]).sum::<f64>() > 3.0 * middle,
            ) == half
        };
        let triangles: Vec<[u32; 3]> = whole.triangles.iter().filter(is_here).copied().collect();
        let used: Vec<u32> = triangles.as_flattened().iter().copied().collect::<BTreeSet<u32>>().into_iter().collect();
        let new_of = |vertex: u32| used.binary_search(&vertex).unwrap() as u32;
        let mut listed: Vec<usize> = (0..skin.joints.len()).collect();
        if let Lists::Needed = lists {
            let needed: BTreeSet<usize> =
                used.iter().flat_map(|&vertex| whole.weights.of(vertex as usize)).map(|share| share.0).collect();
            listed.retain(|joint| needed.contains(joint));
        }
        if half == 1 {
            listed.reverse();
        }
        let place_of = |joint: u32| listed.iter().position(|&other| other == joint as usize).unwrap_or(0) as u32;
        let width = whole.weights.width;
        let of_used = |vertex: &u32| *vertex as usize * width..(*vertex as usize + 1) * width;
        let weights = Weights {
            width,
            joints: used.iter().flat_map(|v| whole.weights.joints[of_used(v)].iter().map(|&j| place_of(j))).collect(),
            weights: used.iter().flat_map(|v| whole.weights.weights[of_used(v)].iter().copied()).collect(),
        };
        let part = Part {
            positions: used.iter().map(|&vertex| whole.positions[vertex as usize]).collect(),
            triangles: triangles.iter().map(|triangle| triangle.map(new_of)).collect(),
            weights,
            ..Part::default()
        };
        let name = format!("half {half}");
        rig.surfaces.push(Surface { name: name.clone(), parts: vec![part], morph_weights: Vec::new() });
        rig.skins.push(Skin {
            name: name.clone(),
            joints: listed.iter().map(|&joint| skin.joints[joint]).collect(),
            inverse_binds: listed.iter().map(|&joint| skin.inverse_binds[joint]).collect(),
        });
        let stand = Node { surface: Some(half), skin: Some(half), ..node(&name, None, Transform::identity()) };
        if half == 0 { rig.nodes[at] = stand } else { rig.nodes.push(stand) }
    }
    rig
}

/// A ball attached to a joint, a skinned one, and an open strip of hair.
fn with_followers(mut rig: Rig) -> Rig {
    let (head, neck) = (joint(&rig, "head"), joint(&rig, "neck"));
    let ball = icosphere(0.012, 2).unwrap();
    let center = rig.pose(None, 0.0)[head].translation + Vec3::new(0.03, 0.08, 0.09);
    let number = |node: usize| rig.skins[0].joints.iter().position(|&joint| joint == node).unwrap() as u32;
    let (head_number, neck_number) = (number(head), number(neck));
    let part_of = |positions: Vec<Vec3>, triangles: Vec<[u32; 3]>| Part { positions, triangles, ..Part::default() };
    let weights_of = |count: usize, share: &dyn Fn(usize) -> f32| Weights {
        width: 2,
        joints: (0..count).flat_map(|_| [head_number, neck_number]).collect(),
        weights: (0..count).flat_map(|vertex| [share(vertex), 1.0 - share(vertex)]).collect(),
    };
    let eye = part_of(ball.positions().to_vec(), ball.triangles().to_vec());
    let mut skinned_eye = part_of(ball.positions().iter().map(|x| *x + center).collect(), ball.triangles().to_vec());
    skinned_eye.weights = weights_of(ball.vertex_count(), &|_| 1.0);
    let strip = (0..12).map(|k| center + Vec3::new(0.01 * f64::from(k % 2), -0.02 * f64::from(k / 2), -0.2));
    let mut hair = part_of(strip.collect(), (0..10).map(|k| [k, k + 1, k + 2]).collect());
    hair.weights = weights_of(12, &|vertex| 1.0 - (vertex / 2) as f32 / 5.0);
    for (name, part) in [("eye", eye), ("skinned eye", skinned_eye), ("hair", hair)] {
        let surface = rig.surfaces.len();
        let is_skinned = part.weights.width > 0;
        rig.surfaces.push(Surface { name: name.into(), parts: vec![part], morph_weights: Vec::new() });
        let turned = Transform::Parts {
            translation: Vec3::new(-0.03, 0.08, 0.09),
            rotation: Quaternion::from_axis_angle(Vec3::unit(1), 0.3),
            scale: Vec3::splat(1.1),
        };
        let stand = if is_skinned { node(name, None, Transform::identity()) } else { node(name, Some(head), turned) };
        rig.nodes.push(Node { surface: Some(surface), skin: is_skinned.then_some(0), ..stand });
    }
    rig
}

/// Largest difference between motions, as distances of points one meter away.
fn worst_motion(a: &[Motion], b: &[Motion]) -> f64 {
    let places = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
    let all = a.iter().zip(b).flat_map(|(a, b)| places.map(|x| a.to_world(x).distance(b.to_world(x))));
    all.fold(0.0, f64::max)
}
