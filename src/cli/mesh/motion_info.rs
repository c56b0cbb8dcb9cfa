//! `sinew mesh info` of a motion: joints, frames, and which joints of a human it knows.

use std::path::Path;

use serde_json::{Value, json};
use sinew_io::load_motion;
use sinew_rig::humanoid::{Humanoid, Slot};
use sinew_rig::{Animation, Rig};

use super::super::{Failure, table};

/// Content of a motion.
pub(super) struct MotionFacts {
    file: String,
    rig: Rig,
    humanoid: Humanoid,
}

impl MotionFacts {
    /// Whether a file holds nothing but a motion.
    pub fn are_of(path: &Path) -> bool {
        path.extension().is_some_and(|end| end.eq_ignore_ascii_case("bvh"))
    }

    pub fn read(path: &Path) -> Result<Self, Failure> {
        let rig = load_motion(path).map_err(|error| Failure::Other(error.to_string()))?;
        let humanoid = Humanoid::of(&rig);
        Ok(Self { file: path.display().to_string(), rig, humanoid })
    }

    /// Frames, seconds and frames per second.
    fn times(&self) -> (usize, f64, f64) {
        let times = self.rig.animations.iter().flat_map(|animation: &Animation| &animation.channels).map(|c| &c.times);
        let Some(times) = times.max_by_key(|times| times.len()) else { return (0, 0.0, 0.0) };
        let seconds = times.last().unwrap_or(&0.0) - times.first().unwrap_or(&0.0);
        let rate = if seconds > 0.0 { (times.len() - 1) as f64 / seconds } else { 0.0 };
        (times.len(), seconds, rate)
    }

    fn joints(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.rig.nodes.iter().enumerate().map(|(node, data)| (node, data.name.as_str()));
        names.filter(|(_, name)| !name.ends_with("_end"))
    }

    pub fn to_text(&self) -> String {
        let (frames, seconds, rate) = self.times();
        let human = self.humanoid.nodes.len();
        let count = self.joints().count();
        let mut text = format!(
            "{}: motion (BVH)\n  {count} joints, {frames} frames, {seconds:.3} s at {rate:.4}/s\n  {human} of them are joints of a human\n",
            self.file
        );
        let row = |(node, name): (usize, &str)| {
            vec![format!("    {name}"), self.humanoid.slot_of(node).map(Slot::name).unwrap_or_default()]
        };
        text += &table::layout(&self.joints().map(row).collect::<Vec<_>>(), &[]);
        text
    }

    pub fn to_json(&self) -> Value {
        let (frames, seconds, rate) = self.times();
        let joint = |(node, name): (usize, &str)| {
            let parent = self.rig.nodes[node].parent.map(|parent| &self.rig.nodes[parent].name);
            json!({ "name": name, "parent": parent, "human": self.humanoid.slot_of(node).map(Slot::name) })
        };
        json!({
            "file": self.file,
            "format": "BVH",
            "frames": frames,
            "seconds": seconds,
            "frame_rate": rate,
            "joints": self.joints().map(joint).collect::<Vec<_>>(),
        })
    }
}
