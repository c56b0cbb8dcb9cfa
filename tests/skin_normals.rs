//! Normals of animated characters: they follow the skin, are single where the file has one, and double at hard edges.

use std::collections::HashMap;
use std::path::Path;

use crate::support::character::{arm, told, write};
use crate::support::fresh_folder;
use serde_json::Value;
use sinew_geometry::mesh::vertex_normals;
use sinew_math::Vec3;
use sinew_rig::{Part, Rig};

/// An arm with a hard edge across its wrist: vertices there exist twice, with normals that lean to either side.
fn arm_with_a_hard_edge() -> Rig {
    let mut rig = arm();
    let part = &mut rig.surfaces[0].parts[0];
    let is_beyond = |part: &Part, triangle: &[u32; 3]| {
        triangle.iter().map(|&vertex| part.positions[vertex as usize].x).sum::<f64>() > 3.0 * 0.55
    };
    let sides: Vec<bool> = part.triangles.iter().map(|triangle| is_beyond(part, triangle)).collect();
    let used = |beyond: bool, part: &Part| -> Vec<bool> {
        let mut used = vec![false; part.positions.len()];
        let corners = part.triangles.iter().zip(&sides).filter(|(_, side)| **side == beyond).flat_map(|(t, _)| *t);
        corners.for_each(|vertex| used[vertex as usize] = true);
        used
    };
    let (here, beyond) = (used(false, part), used(true, part));
    let mut copy_of = HashMap::new();
    for vertex in (0..here.len()).filter(|&vertex| here[vertex] && beyond[vertex]) {
        copy_of.insert(vertex as u32, part.positions.len() as u32);
        part.positions.push(part.positions[vertex]);
        let lean = |n: [f32; 3], x: f32| [n[0] + x, n[1], n[2]];
        let normal = part.normals[vertex];
        part.normals[vertex] = lean(normal, -0.4);
        part.normals.push(lean(normal, 0.4));
        part.texcoords[0].extend_from_within(vertex..vertex + 1);
        let range = vertex * part.weights.width..(vertex + 1) * part.weights.width;
        part.weights.joints.extend_from_within(range.clone());
        part.weights.weights.extend_from_within(range);
    }
    assert!(copy_of.len() > 10);
    for (triangle, _) in part.triangles.iter_mut().zip(&sides).filter(|(_, side)| **side) {
        triangle.iter_mut().for_each(|vertex| *vertex = copy_of.get(vertex).copied().unwrap_or(*vertex));
    }
    rig
}

/// Normals of a skin at some positions, where vertices with one position and one normal in the file count as one.
fn expected(part: &Part, positions: &[Vec3]) -> Vec<Vec3> {
    let mut number = HashMap::new();
    let mut one: Vec<u32> = Vec::new();
    let mut places = Vec::new();
    for (vertex, x) in positions.iter().enumerate() {
        let rest = part.positions[vertex].to_array().map(|c| (c as f32).to_bits());
        let normal = Vec3::from(part.normals[vertex].map(f64::from)).normalized();
        let rounded = normal.to_array().map(|c| (1e3 * c).round() as i32);
        one.push(*number.entry((rest, rounded)).or_insert_with(|| {
            places.push(*x);
            places.len() as u32 - 1
        }));
    }
    assert!(places.len() < positions.len(), "the arm has a seam");
    let triangles: Vec<[u32; 3]> = part.triangles.iter().map(|t| t.map(|vertex| one[vertex as usize])).collect();
    let normals = vertex_normals(&places, &triangles);
    one.iter().map(|&group| normals[group as usize]).collect()
}

/// A GLB as JSON and bytes.
struct Glb {
    json: Value,
    bytes: Vec<u8>,
}

impl Glb {
    fn read(path: &Path) -> Self {
        let file = std::fs::read(path).expect("a file");
        let length = u32::from_le_bytes(file[12..16].try_into().expect("a length")) as usize;
        let json = serde_json::from_slice(&file[20..20 + length]).expect("JSON");
        Self { json, bytes: file[28 + length..].to_vec() }
    }

    fn numbers(&self, accessor: &Value) -> Vec<f64> {
        let accessor = &self.json["accessors"][accessor.as_u64().expect("an accessor") as usize];
        let view = &self.json["bufferViews"][accessor["bufferView"].as_u64().expect("a view") as usize];
        let [start, length] = ["byteOffset", "byteLength"].map(|key| view[key].as_u64().expect("a number") as usize);
        let words = self.bytes[start..start + length].chunks_exact(4);
        words.map(|word| f64::from(f32::from_le_bytes(word.try_into().expect("4 bytes")))).collect()
    }

    /// Values of an attribute with morph targets added, as a viewer computes them in each frame.
    fn frames(&self, attribute: &str) -> Vec<Vec<Vec3>> {
        let primitive = &self.json["meshes"][0]["primitives"][0];
        let base = self.numbers(&primitive["attributes"][attribute]);
        let targets: Vec<Vec<f64>> = primitive["targets"]
            .as_array()
            .expect("targets")
            .iter()
            .map(|target| self.numbers(&target[attribute]))
            .collect();
        let weights = self.numbers(&self.json["animations"][0]["samplers"][0]["output"]);
        let frame = |weights: &[f64]| {
            let mut sum = base.clone();
            for (target, weight) in targets.iter().zip(weights) {
                sum.iter_mut().zip(target).for_each(|(sum, change)| *sum += weight * change);
            }
            sum.chunks_exact(3).map(|x| Vec3::new(x[0], x[1], x[2])).collect()
        };
        weights.chunks_exact(targets.len()).map(frame).collect()
    }
}

/// Vectors of a sampled attribute of a USD file, frame by frame.
fn usd_samples(text: &str, attribute: &str) -> Vec<Vec<Vec3>> {
    let block = text.split(&format!("{attribute}.timeSamples = {{\n")).nth(1).and_then(|rest| rest.split('}').next());
    let vectors = |line: &str| {
        let words = line.split(|c: char| !"0123456789.+-e".contains(c)).filter(|word| !word.is_empty());
        let numbers: Vec<f64> = words.skip(1).map(|word| word.parse().expect("a number")).collect();
        numbers.chunks_exact(3).map(|x| Vec3::new(x[0], x[1], x[2])).collect()
    };
    block.expect("samples").lines().filter(|line| line.contains(':')).map(vectors).collect()
}

/// Angles between vectors \[degrees\].
fn angles(a: &[Vec3], b: &[Vec3]) -> Vec<f64> {
    assert_eq!(a.len(), b.len());
    let angle = |(a, b): (&Vec3, &Vec3)| a.normalized().cross(b.normalized()).norm().atan2(a.dot(*b)).to_degrees();
    a.iter().zip(b).map(angle).collect()
}

fn largest_angle(a: &[Vec3], b: &[Vec3]) -> f64 {
    angles(a, b).into_iter().fold(0.0, f64::max)
}

/// Largest angle between normals and those of a skin at these positions, less the effect of rounding: in a crease,
/// normals of small triangles nearly cancel.
fn largest_error(part: &Part, positions: &[Vec3], normals: &[Vec3]) -> f64 {
    let truth = expected(part, positions);
    let nudge = |k: usize| if k * k % 7 < 3 { f64::from(f32::EPSILON) } else { -f64::from(f32::EPSILON) };
    let nudged: Vec<Vec3> = positions.iter().enumerate().map(|(k, &x)| x + Vec3::splat(nudge(k) * x.norm())).collect();
    let rounding = angles(&truth, &expected(part, &nudged));
    assert!(rounding.iter().filter(|angle| **angle > 0.02).count() < 5, "rounding is no excuse for many");
    angles(normals, &truth).iter().zip(rounding).map(|(angle, rounding)| angle - 2.0 * rounding).fold(0.0, f64::max)
}

#[test]
fn normals_follow_the_skin_and_keep_hard_edges() {
    let folder = fresh_folder("skin_normals");
    let rig = arm_with_a_hard_edge();
    write(&rig, &folder.join("arm.glb"));
    let part = &rig.surfaces[0].parts[0];
    for (frames, count) in [("0..1", 2), ("0..6", 7)] {
        let options = ["--cell", "2.5 cm", "--contact", "none", "--frames", frames];
        let outputs = ["-o", "out/arm.usda", "-o", "out/arm.glb"];
        told(&folder, &[&["skin", "arm.glb"][..], &options, &outputs].concat());
        let text = std::fs::read_to_string(folder.join("out/arm.usda")).expect("text");
        let (points, normals) = (usd_samples(&text, "points"), usd_samples(&text, "normals"));
        let file = Glb::read(&folder.join("out/arm.glb"));
        let (morphed, shaded) = (file.frames("POSITION"), file.frames("NORMAL"));
        assert_eq!([points.len(), normals.len(), morphed.len(), shaded.len()], [count; 4]);
        for frame in 0..count {
            let angle = largest_error(part, &points[frame], &normals[frame]);
            assert!(angle < 0.02, "USD, frame {frame}: {angle} degrees");
            // As many targets as there are motions: only rounding errors remain.
            let angle = largest_error(part, &morphed[frame], &shaded[frame]);
            assert!(angle < 0.1, "GLB, frame {frame} of {count}: {angle} degrees");
        }
        // With two frames the one target has full weight in one of them, and none in the other.
        if count == 2 {
            let turned = largest_angle(&shaded[0], &shaded[1]);
            assert!(turned > 2.0, "{turned} degrees");
        }
        // Both sides of the hard edge differ; those of the seam do not.
        let mut at: HashMap<[u32; 3], Vec<usize>> = HashMap::new();
        for (vertex, x) in part.positions.iter().enumerate() {
            at.entry(x.to_array().map(|c| (c as f32).to_bits())).or_default().push(vertex);
        }
        let (mut hard, mut soft) = (0, 0);
        for pair in at.values().filter(|vertices| vertices.len() == 2) {
            let [a, b] = [pair[0], pair[1]];
            let differ = part.normals[a] != part.normals[b];
            assert_eq!(shaded[0][a] != shaded[0][b], differ, "vertices {a} and {b}");
            *(if differ { &mut hard } else { &mut soft }) += 1;
        }
        assert!(hard > 10 && soft > 10, "{hard} {soft}");
    }
}
