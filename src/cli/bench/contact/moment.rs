//! Times detection on one frame of the mats: the one with the most contacts, which other detectors also get.
//!
//! Two tasks. Static: find vertex-triangle and edge-edge pairs closer than the gap d̂. Swept: find the collision-free
//! fraction of a motion. Each starts from vertex positions only and rebuilds the tree.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use sinew_fem::contact::ContactModel;
use sinew_math::Vec3;

use super::super::spread;
use super::detection::Detection;

/// The surface in one frame.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Positions at the start of the frame \[m\].
    pub start: Vec<Vec3>,
    /// Positions at its end \[m\].
    pub end: Vec<Vec3>,
    /// Positions after one frame at the initial velocities, with penetration: the initial guess of a solver \[m\].
    pub ahead: Vec<Vec3>,
}

impl Moment {
    /// The frame from the second of three states to the third.
    pub fn new(before: &[Vec3], start: &[Vec3], end: &[Vec3]) -> Self {
        let ahead = start.iter().zip(before).map(|(start, before)| *start * 2.0 - *before).collect();
        Self { start: start.to_vec(), end: end.to_vec(), ahead }
    }

    /// Writes the frame for numpy: `start.f64`, `end.f64`, `ahead.f64` with three numbers per vertex, `triangles.u32`
    /// with three vertices per triangle, all little-endian without header; and `moment.json` with the gap and the
    /// counts.
    pub fn write(&self, folder: &Path, contact: &ContactModel, gap: f64) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (name, positions) in [("start", &self.start), ("end", &self.end), ("ahead", &self.ahead)] {
            let bytes: Vec<u8> = positions.iter().flat_map(|x| x.to_array()).flat_map(f64::to_le_bytes).collect();
            std::fs::write(folder.join(format!("{name}.f64")), bytes)?;
        }
        let bytes: Vec<u8> = contact.triangles.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(folder.join("triangles.u32"), bytes)?;
        let facts = json!({ "vertices": self.start.len(), "triangles": contact.triangles.len(), "gap": gap });
        std::fs::write(folder.join("moment.json"), format!("{facts}\n"))
    }
}

/// Times detection, the best of some repeats: `static` at the end of the frame, `swept` along the frame, `ahead` along
/// the initial velocities.
pub fn time(moment: &Moment, contact: &ContactModel, gap: f64, repeats: usize) -> [(&'static str, Value); 3] {
    let mut detection = Detection::new(contact, vec![0.5 * gap; contact.groups.len()]);
    let Moment { start, end, ahead } = moment;
    let near = |detection: &mut Detection| {
        detection.find(end, end);
        let (count, least) = detection.near_pairs(end, gap);
        json!({ "near_pairs": count, "least_distance": least })
    };
    let free = |goal: &[Vec3], detection: &mut Detection| {
        detection.find(start, goal);
        json!({ "free_share": detection.free_share(start, goal) })
    };
    [
        ("static", best(repeats, &mut detection, near)),
        ("swept", best(repeats, &mut detection, |detection| free(end, detection))),
        ("ahead", best(repeats, &mut detection, |detection| free(ahead, detection))),
    ]
}

/// A result of detection, with its minimum time and the number of candidates.
fn best(repeats: usize, detection: &mut Detection, answer: impl Fn(&mut Detection) -> Value) -> Value {
    let (mut times, mut report) = (Vec::new(), Value::Null);
    for _ in 0..repeats.max(1) {
        let begin = Instant::now();
        report = answer(detection);
        times.push(begin.elapsed().as_secs_f64());
    }
    report["milliseconds"] = (1e3 * times.iter().copied().fold(f64::INFINITY, f64::min)).into();
    report["spread"] = spread(&times).into();
    report["point_triangle"] = detection.candidates().point_triangle.len().into();
    report["edge_edge"] = detection.candidates().edge_edge.len().into();
    report
}
