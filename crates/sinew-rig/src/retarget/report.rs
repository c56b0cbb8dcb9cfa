//! What came of moving a motion onto another skeleton.

use serde_json::{Value, json};

/// Why a joint follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// The map that was given says so.
    Map,
    /// Both are the same joint of a human.
    Human,
    /// Between two joints of a chain with another number of them.
    Shared,
    /// Both have the same name.
    Name,
    /// It takes a part of the roll of a limb.
    Twist,
}

impl MatchKind {
    /// For people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Human => "human",
            Self::Shared => "shared",
            Self::Name => "name",
            Self::Twist => "twist",
        }
    }
}

/// A joint of the character.
#[derive(Clone, Debug, PartialEq)]
pub struct JointMatch {
    /// Its name.
    pub target: String,
    /// The joint that it is in a human, such as `left_forearm`.
    pub role: Option<String>,
    /// The joints of the motion that it follows: one, or two neighbors in a chain; none if it only follows its parent.
    pub sources: Vec<String>,
    /// Why.
    pub kind: Option<MatchKind>,
}

/// How far a hand or a foot is from where the source has it, scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// `left_hand` and so on.
    pub name: String,
    /// Mean over the frames \[m\].
    pub mean: f64,
    /// The largest \[m\].
    pub max: f64,
    /// Its time \[s\].
    pub time: f64,
}

/// What matched, and how well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetargetReport {
    /// Joints of the character, parents first.
    pub joints: Vec<JointMatch>,
    /// Joints of the motion that move, but that no joint of the character follows.
    pub unused: Vec<String>,
    /// Lengths of the character over those of the source: of legs, or of what both have.
    pub scale: f64,
    /// Length of the legs of the source, in units of its file as read.
    pub source_leg: Option<f64>,
    /// Number of frames.
    pub frame_count: usize,
    /// Hands and feet.
    pub drift: Vec<Drift>,
    /// What else the user should know.
    pub notes: Vec<String>,
}

impl RetargetReport {
    /// Joints that follow the motion.
    pub fn matched(&self) -> impl Iterator<Item = &JointMatch> {
        self.joints.iter().filter(|joint| joint.kind.is_some())
    }

    /// In a few sentences: what matched, what did not, how far hands and feet are off.
    pub fn summary(&self) -> Vec<String> {
        let list = |names: Vec<&str>| {
            const SHOWN: usize = 8;
            let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect();
            let more = names.len().saturating_sub(SHOWN);
            if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
        };
        let idle: Vec<&str> =
            self.joints.iter().filter(|joint| joint.kind.is_none()).map(|joint| joint.target.as_str()).collect();
        let mut text = format!("{} of {} joints follow the motion", self.matched().count(), self.joints.len());
        if !idle.is_empty() {
            text += &format!("; these keep their pose: {}", list(idle));
        }
        if !self.unused.is_empty() {
            text += &format!(
                "; of the motion these move nothing: {}",
                list(self.unused.iter().map(String::as_str).collect())
            );
        }
        let mut lines = vec![text];
        if !self.drift.is_empty() {
            let drift = |drift: &Drift| {
                format!(
                    "{} {:.1} cm (at most {:.1} cm)",
                    drift.name.replace('_', " "),
                    100.0 * drift.mean,
                    100.0 * drift.max
                )
            };
            let all: Vec<String> = self.drift.iter().map(drift).collect();
            lines.push(format!("off from the motion, scaled by {:.3}, on average: {}", self.scale, all.join(", ")));
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }

    /// For programs: lengths in meters, times in seconds.
    pub fn to_json(&self) -> Value {
        let joint = |joint: &JointMatch| {
            json!({
                "joint": joint.target,
                "human": joint.role,
                "follows": joint.sources,
                "match": joint.kind.map(MatchKind::name),
            })
        };
        let drift =
            |drift: &Drift| json!({ "name": drift.name, "mean": drift.mean, "max": drift.max, "time": drift.time });
        json!({
            "joints": self.joints.iter().map(joint).collect::<Vec<_>>(),
            "unused": self.unused,
            "scale": self.scale,
            "frames": self.frame_count,
            "drift": self.drift.iter().map(drift).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}
