//! Characters in contact with obstacles that come and go, and with themselves.

use crate::support;
use crate::support::flesh::{PREROLL, Stage, add_root, distance, skins};
use crate::support::fresh_folder;
use sinew_geometry::TriMesh;
use sinew_geometry::mesh::vertex_normals;
use sinew_geometry::procedural::icosphere;
use sinew_math::Vec3;
use sinew_rig::characters::{Character, CharacterParams, generate};
use sinew_rig::{Animation, Channel, Flesh, FleshParams, Interpolation, Keys, Rig};

fn arm() -> Rig {
    let params = CharacterParams { edge: 0.016, seconds: 2.0, ..CharacterParams::of(Character::Arm) };
    generate(&params).expect("an arm")
}

/// A ball that comes down on the upper arm, presses, and goes up again, with this many frames each: its path and its
/// table.
struct Ball {
    radius: f64,
    /// Its middle, above the skin \[m\].
    start: Vec3,
    /// How far it goes down \[m\].
    way: f64,
    frames: usize,
}

const BALL: Ball = Ball { radius: 0.03, start: Vec3::new(0.18, 0.10, 0.0), way: 0.045, frames: 5 };

impl Ball {
    /// Fraction of its path after a frame.
    fn part(&self, frame: usize) -> f64 {
        let (frame, frames) = (frame as f64, self.frames as f64);
        (frame / frames).min(2.0 - frame / frames).max(0.0)
    }

    /// Its table in a scene that starts after the preroll; `carried` is an additional displacement as a function of the
    /// fraction of frames that have passed.
    fn table(&self, frame_rate: f64, carried: impl Fn(usize) -> Vec3) -> String {
        let key = |frame: usize| {
            let x = carried(frame) - Vec3::unit(1) * (self.way * self.part(frame));
            format!("[\"{} s\", [{}, {}, {}]]", (PREROLL + frame) as f64 / frame_rate, x.x, x.y, x.z)
        };
        let keys: Vec<String> = (0..=2 * self.frames + 1).map(key).collect();
        let Vec3 { x, y, z } = self.start;
        format!(
            "[[collider]]\nname = \"ball\"\nshape = {{ type = \"sphere\", radius = {} }}\nposition = [{x}, {y}, {z}]\n\
             motion = {{ translation = [[\"0 s\", [0, 0, 0]], {}] }}\n",
            self.radius,
            keys.join(", ")
        )
    }
}

/// Skin under a ball lies on the ball at the distance of the gap, and returns to its place when the ball has left.
#[test]
fn what_presses_from_outside_leaves_a_dent_and_no_trace() {
    let folder = fresh_folder("character_press");
    let stage = Stage::default();
    let table = BALL.table(stage.frame_rate, |_| Vec3::zero());
    let frames = 2 * BALL.frames + 1;
    let stage = Stage { frames, rig: "still = true", tolerance: 1e-4, more: &table, ..stage };
    let mut simulation = stage.simulation(&folder, &arm());
    let rest = support::flesh::skin(&simulation);
    let skins = skins(&mut simulation, frames);
    let above: Vec<f64> = (0..=frames).map(|frame| BALL.start.y - BALL.way * BALL.part(frame)).collect();
    for (frame, skin) in skins.iter().enumerate() {
        let middle = Vec3::new(BALL.start.x, above[frame + 1], BALL.start.z);
        let nearest = skin.iter().map(|x| x.distance(middle)).fold(f64::INFINITY, f64::min);
        assert!(nearest > BALL.radius, "frame {frame}: {nearest}");
        let free = rest.iter().map(|x| x.distance(middle)).fold(f64::INFINITY, f64::min);
        // Triangles touch the ball between their vertices, which are off by up to e²/6r.
        let slack = 0.2 * stage.cell + 0.016f64.powi(2) / (6.0 * BALL.radius);
        // The residual of a step keeps the skin slightly off.
        let most = free.max(BALL.radius + slack) + 1e-6 * stage.cell;
        assert!(nearest < most, "frame {frame}: {nearest}, and {free} if nothing moved");
    }
    let deepest = distance(&skins[BALL.frames - 1], &rest);
    assert!(deepest > 0.03, "{deepest}");
    let left = distance(&skins[frames - 1], &rest) / stage.cell;
    assert!(left < 1e-3, "{left} cells");
}

/// A character that moves together with the ball has the same dent as one at rest: only relative motion counts.
#[test]
fn what_moves_along_presses_all_the_same() {
    let folder = fresh_folder("character_press_moving");
    let frames = 2 * BALL.frames + 1;
    let plain = Stage::default();
    let table = BALL.table(plain.frame_rate, |_| Vec3::zero());
    // Relative to the forces of a frame in which bones have moved by 9 cm.
    let still = Stage { frames, rig: "still = true", tolerance: 1e-8, more: &table, ..Stage::default() };
    let at_home = skins(&mut still.simulation(&folder, &arm()), frames);
    // A root that moves away, at 9 cm per frame.
    let place = |frame: usize| Vec3::new(0.06, 0.05, -0.05) * frame as f64;
    let mut rig = arm();
    let root = add_root(&mut rig);
    rig.animations = vec![Animation {
        name: "leave".into(),
        channels: vec![Channel {
            node: root,
            times: (0..=frames).map(|frame| frame as f64 / plain.frame_rate).collect(),
            interpolation: Interpolation::Linear,
            keys: Keys::Translation((0..=frames).map(place).collect()),
        }],
    }];
    let table = BALL.table(plain.frame_rate, place);
    let moving = Stage { rig: "animation = \"leave\"", more: &table, ..still };
    let carried = skins(&mut moving.simulation(&folder, &rig), frames);
    for (frame, (carried, home)) in carried.iter().zip(&at_home).enumerate() {
        let back: Vec<Vec3> = carried.iter().map(|x| *x - place(frame + 1)).collect();
        let off = distance(&back, home) / plain.cell;
        assert!(off < 1e-3, "frame {frame}: {off} cells");
    }
}

/// Vertices inside other flesh. Slightly below itself every vertex is inside once; where other flesh covers it, twice. Winding
/// numbers are sums over all triangles.
fn covered(positions: &[Vec3], triangles: &[[u32; 3]], depth: f64) -> Vec<usize> {
    let normals = vertex_normals(positions, triangles);
    let surface = TriMesh::new(positions.to_vec(), triangles.to_vec()).expect("a surface");
    let is_covered = |vertex: &usize| surface.winding_number(positions[*vertex] - normals[*vertex] * depth) > 1.5;
    (0..positions.len()).filter(is_covered).collect()
}

/// Of two overlapping balls, the covered vertices are those inside the other ball.
#[test]
fn vertices_of_a_ball_are_covered_where_they_lie_in_the_other() {
    let middles = [Vec3::zero(), Vec3::new(1.2, 0.3, 0.1)];
    let ball = icosphere(1.0, 3).expect("a ball");
    let count = ball.positions().len();
    let positions: Vec<Vec3> = middles.iter().flat_map(|&to| ball.positions().iter().map(move |x| *x + to)).collect();
    let other = ball.triangles().iter().map(|triangle| triangle.map(|vertex| vertex + count as u32));
    let triangles: Vec<[u32; 3]> = ball.triangles().iter().copied().chain(other).collect();
    let found = covered(&positions, &triangles, 0.01);
    // Undecided within the flatness of the facets.
    let depth_in_other = |vertex: usize| 1.0 - positions[vertex].distance(middles[usize::from(vertex < count)]);
    for vertex in 0..positions.len() {
        let depth = depth_in_other(vertex);
        if depth.abs() > 0.03 {
            assert_eq!(found.contains(&vertex), depth > 0.0, "vertex {vertex}, {depth} deep");
        }
    }
    assert!(found.len() > 20 && found.len() < positions.len() / 2, "{}", found.len());
    assert!(covered(ball.positions(), ball.triangles(), 0.01).is_empty());
}

/// Blend skinning pushes fingers of a fist into palm and thumb; flesh does not. All vertices are tested by brute force.
#[test]
fn a_fist_covers_no_skin() {
    let folder = fresh_folder("character_fist");
    let params =
        CharacterParams { edge: 0.005, seconds: 1.0, motion: Some("fist"), ..CharacterParams::of(Character::Hand) };
    let rig = generate(&params).expect("a hand");
    // Closed after 6 frames, for half a second.
    let frames = 8;
    let stage = Stage { frames, cell: 0.006, tolerance: 1e-3, ..Stage::default() };
    let flesh_skins = skins(&mut stage.simulation(&folder, &rig), frames);
    let flesh = Flesh::new(&rig, &FleshParams::default()).expect("flesh");
    let triangles = flesh.surface.triangles();
    let pose = rig.pose(rig.animations.first(), frames as f64 / stage.frame_rate);
    let blended = flesh.blend(&flesh.motions(&pose));
    // A hundredth of an edge.
    let count = |skin: &[Vec3]| covered(skin, triangles, 5e-5).len();
    let (ours, blended) = (count(&flesh_skins[frames - 1]), count(&blended));
    assert!(blended > 100, "{blended}");
    assert!(10 * ours <= blended, "{ours} with flesh, {blended} with blend skinning");
    assert_eq!(count(flesh.surface.positions()), 0);
}
