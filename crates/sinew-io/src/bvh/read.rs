//! Reads BVH.

use sinew_math::{Quaternion, Vec3};
use sinew_rig::{Animation, Channel, Interpolation, Keys, Node, Rig, Transform};

use crate::error::ReadError;
use crate::text::{Words, parse_f64, shown};

/// What a channel moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Position(usize),
    Rotation(usize),
}

/// The channels of a joint, which begin at `first` in a frame.
struct Channels {
    node: usize,
    first: usize,
    kinds: Vec<Kind>,
}

/// Longest list of wrong frames in a message.
const SHOWN: usize = 4;
/// Largest number: a thousand kilometers in millimeters. Larger ones are faults, and sums of them would overflow.
const LARGEST: f64 = 1e9;
/// Times between frames \[s\].
const FRAME_TIMES: std::ops::RangeInclusive<f64> = 1e-6..=1e4;

pub(super) fn read(bytes: &[u8]) -> Result<Rig, ReadError> {
    let mut words = Words::new(bytes, 0, 1, None);
    match words.next_word() {
        Some(word) if word.eq_ignore_ascii_case(b"HIERARCHY") => {}
        Some(word) => {
            let reason = format!("it begins with `{}` instead of HIERARCHY", shown(word));
            return Err(ReadError::Magic { format: "BVH", reason });
        }
        None => return Err(ReadError::Magic { format: "BVH", reason: "it is empty".into() }),
    }
    let mut hierarchy = Hierarchy::default();
    hierarchy.read(&mut words)?;
    let Hierarchy { nodes, channels, width, .. } = hierarchy;
    if nodes.is_empty() {
        return Err(ReadError::Missing { what: "ROOT, and so no joint" });
    }
    if width == 0 {
        return Err(ReadError::Missing { what: "channel: no joint moves" });
    }
    let (frame_time, values) = frames(&mut words, width)?;
    let times: Vec<f64> = (0..values.len() / width).map(|frame| frame as f64 * frame_time).collect();
    let animated = channels.iter().flat_map(|channels| animated(channels, &nodes, &times, &values, width)).collect();
    let animations = vec![Animation { name: "motion".into(), channels: animated }];
    Ok(Rig { nodes, animations, ..Rig::default() })
}

/// The tree, as far as it was read.
#[derive(Default)]
struct Hierarchy {
    nodes: Vec<Node>,
    channels: Vec<Channels>,
    /// Numbers per frame.
    width: usize,
    /// Nodes whose braces are open.
    open: Vec<usize>,
}

impl Hierarchy {
    /// Reads up to the word MOTION.
    fn read(&mut self, words: &mut Words) -> Result<(), ReadError> {
        loop {
            let word = words.word("the tree of joints: MOTION is missing")?;
            let place = words.place();
            let is = |text: &str| word.eq_ignore_ascii_case(text.as_bytes());
            let wrong = |reason: String| Err(ReadError::Syntax { place, reason });
            if is("MOTION") {
                if let Some(&node) = self.open.last() {
                    return wrong(format!(
                        "MOTION begins inside joint \"{}\": a `}}` is missing",
                        self.nodes[node].name
                    ));
                }
                return Ok(());
            } else if is("ROOT") {
                if !self.open.is_empty() {
                    return wrong("a ROOT begins inside a joint: a `}` is missing".into());
                }
                self.joint(words, "ROOT", None)?;
            } else if is("JOINT") {
                let Some(&parent) = self.open.last() else { return wrong("a JOINT is outside of the ROOT".into()) };
                self.joint(words, "JOINT", Some(parent))?;
            } else if is("End") {
                let Some(&parent) = self.open.last() else { return wrong("an End Site is outside of the ROOT".into()) };
                // The word Site, and in some files a name.
                self.end(words, parent)?;
            } else if is("OFFSET") {
                let Some(&node) = self.open.last() else { return wrong("an OFFSET is outside of a joint".into()) };
                let offset = words.point("an OFFSET")?;
                if offset.abs().max_component() > LARGEST {
                    return Err(ReadError::line(words.line(), format!("an OFFSET is beyond {LARGEST:e}")));
                }
                self.nodes[node].transform = Transform::from_translation(offset);
            } else if is("CHANNELS") {
                let Some(&node) = self.open.last() else { return wrong("CHANNELS are outside of a joint".into()) };
                self.channels(words, node)?;
            } else if is("}") {
                if self.open.pop().is_none() {
                    return wrong("a `}` closes nothing".into());
                }
            } else {
                return wrong(format!(
                    "`{}` is none of ROOT, JOINT, End Site, OFFSET, CHANNELS, `}}` and MOTION",
                    shown(word)
                ));
            }
        }
    }

    fn add(&mut self, name: String, parent: Option<usize>) {
        self.open.push(self.nodes.len());
        self.nodes.push(Node {
            name,
            parent,
            transform: Transform::identity(),
            surface: None,
            skin: None,
            morph_weights: None,
            is_shown: true,
        });
    }

    /// The name of a joint, which may have spaces, and its brace.
    fn joint(&mut self, words: &mut Words, what: &str, parent: Option<usize>) -> Result<(), ReadError> {
        let line = words.line();
        let (name, is_open) = rest_of_line(words);
        if name.is_empty() {
            return Err(ReadError::line(line, format!("a {what} has no name")));
        }
        if !is_open {
            brace(words, &format!("joint \"{name}\""))?;
        }
        self.add(name, parent);
        Ok(())
    }

    fn end(&mut self, words: &mut Words, parent: usize) -> Result<(), ReadError> {
        let name = format!("{}_end", self.nodes[parent].name);
        if !rest_of_line(words).1 {
            brace(words, "an End Site")?;
        }
        self.add(name, Some(parent));
        Ok(())
    }

    fn channels(&mut self, words: &mut Words, node: usize) -> Result<(), ReadError> {
        let count = words.count("CHANNELS")?;
        let name = self.nodes[node].name.clone();
        if self.channels.iter().any(|channels| channels.node == node) {
            return Err(ReadError::line(words.line(), format!("joint \"{name}\" has CHANNELS twice")));
        }
        let mut kinds = Vec::new();
        for number in 0..count {
            let word = words.word("CHANNELS")?;
            let Some(kind) = kind(word) else {
                let reason = format!(
                    "joint \"{name}\" has {count} CHANNELS, but the {}. is `{}`: they are Xposition, Yposition, Zposition, Xrotation, Yrotation and Zrotation",
                    number + 1,
                    shown(word)
                );
                return Err(ReadError::line(words.line(), reason));
            };
            if kinds.contains(&kind) {
                let reason = format!("joint \"{name}\" has the channel {} twice", shown(word));
                return Err(ReadError::line(words.line(), reason));
            }
            kinds.push(kind);
        }
        if let Some(word) = words.next_word_in_line() {
            let reason = format!("joint \"{name}\" has more than {count} CHANNELS: `{}`", shown(word));
            return Err(ReadError::line(words.line(), reason));
        }
        let first = self.width;
        self.width += kinds.len();
        self.channels.push(Channels { node, first, kinds });
        Ok(())
    }
}

fn kind(word: &[u8]) -> Option<Kind> {
    let axis = match word.first()?.to_ascii_lowercase() {
        b'x' => 0,
        b'y' => 1,
        b'z' => 2,
        _ => return None,
    };
    match word[1..].to_ascii_lowercase().as_slice() {
        b"position" => Some(Kind::Position(axis)),
        b"rotation" => Some(Kind::Rotation(axis)),
        _ => None,
    }
}

/// The rest of the line, and whether a brace ended it.
fn rest_of_line(words: &mut Words) -> (String, bool) {
    let mut parts: Vec<String> = Vec::new();
    while let Some(word) = words.next_word_in_line() {
        let (own, is_open) = match word.strip_suffix(b"{") {
            Some(own) => (own, true),
            None => (word, false),
        };
        if !own.is_empty() {
            parts.push(String::from_utf8_lossy(own).into_owned());
        }
        if is_open {
            return (parts.join(" "), true);
        }
    }
    (parts.join(" "), false)
}

fn brace(words: &mut Words, of: &str) -> Result<(), ReadError> {
    match words.word(of)? {
        b"{" => Ok(()),
        other => Err(ReadError::line(words.line(), format!("{of} begins with `{}` instead of `{{`", shown(other)))),
    }
}

/// Time between frames, and all their numbers; every wrong line is told.
fn frames(words: &mut Words, width: usize) -> Result<(f64, Vec<f64>), ReadError> {
    let frame_line = words.place();
    let promised = labelled(words, &["Frames:"], "the number of frames (`Frames: 100`)")?;
    let Some(promised) = crate::text::parse_i64(promised).and_then(|count| usize::try_from(count).ok()) else {
        return Err(ReadError::line(words.line(), format!("`Frames: {}` is not a number of frames", shown(promised))));
    };
    if promised == 0 {
        return Err(ReadError::line(words.line(), "`Frames: 0`: the file has no motion"));
    }
    let text = labelled(words, &["Frame", "Time:"], "the time between frames (`Frame Time: 0.0333333`)")?;
    let line = words.line();
    let frame_time = parse_f64(text).filter(|time| FRAME_TIMES.contains(time)).ok_or_else(|| {
        let reason = format!(
            "`Frame Time: {}` is not a time between two frames; hint: 30 frames per second are `Frame Time: 0.0333333`",
            shown(text)
        );
        ReadError::line(line, reason)
    })?;
    let mut values: Vec<f64> = Vec::new();
    let mut problems: Vec<String> = Vec::new();
    let (mut wrong_lines, mut count) = (0, 0);
    let mut note = |problem: String, wrong: &mut usize| {
        *wrong += 1;
        if *wrong <= SHOWN {
            problems.push(problem);
        }
    };
    let mut bad_values = 0;
    let mut lines: Vec<(usize, usize)> = Vec::new();
    while let Some(word) = words.next_word() {
        let line = words.line();
        if lines.last().is_none_or(|last| last.0 != line) {
            lines.push((line, 0));
        }
        if let Some(last) = lines.last_mut() {
            last.1 += 1;
        }
        let value = parse_f64(word).filter(|value| value.abs() <= LARGEST);
        if value.is_none() {
            note(format!("line {line}: `{}` is not a number up to {LARGEST:e}", shown(word)), &mut bad_values);
        }
        values.push(value.unwrap_or(0.0));
        count += 1;
    }
    let expected = promised.checked_mul(width);
    // Some programs break long frames into several lines.
    if expected != Some(count) {
        for (line, found) in lines.iter().filter(|(_, found)| *found != width) {
            note(format!("line {line} has {found} numbers for {width} channels"), &mut wrong_lines);
        }
        let found = count / width;
        if found != promised || wrong_lines == 0 {
            problems.push(format!("`Frames: {promised}` are promised and {found} are there; hint: export the file again, or correct its number of frames"));
        }
    }
    let more = (wrong_lines.saturating_sub(SHOWN)) + bad_values.saturating_sub(SHOWN);
    if more > 0 {
        problems.push(format!("and {more} more like these"));
    }
    match problems.is_empty() {
        true => Ok((frame_time, values)),
        false => Err(ReadError::Syntax { place: frame_line, reason: problems.join("; ") }),
    }
}

/// The word after a label such as `Frames:`, which may stick to it.
fn labelled<'a>(words: &mut Words<'a>, label: &[&str], what: &str) -> Result<&'a [u8], ReadError> {
    for (k, part) in label.iter().enumerate() {
        let word = words.word(what)?;
        let bare = part.trim_end_matches(':').as_bytes();
        let is_last = k + 1 == label.len();
        if word.eq_ignore_ascii_case(part.as_bytes()) {
            continue;
        }
        if is_last && word.len() > part.len() && word[..part.len()].eq_ignore_ascii_case(part.as_bytes()) {
            return Ok(&word[part.len()..]);
        }
        if is_last && word.eq_ignore_ascii_case(bare) {
            // `Frames : 100`
            let colon = words.word(what)?;
            if colon == b":" {
                continue;
            }
        }
        return Err(ReadError::line(words.line(), format!("`{}` stands where {what} should be", shown(word))));
    }
    words.word(what)
}

/// The channels of a joint as keys.
fn animated(channels: &Channels, nodes: &[Node], times: &[f64], values: &[f64], width: usize) -> Vec<Channel> {
    let Transform::Parts { translation: offset, .. } = nodes[channels.node].transform else { return Vec::new() };
    let frames =
        || values.chunks_exact(width).map(|frame| &frame[channels.first..channels.first + channels.kinds.len()]);
    let place = |frame: &[f64]| {
        let mut place = offset;
        for (kind, value) in channels.kinds.iter().zip(frame) {
            if let Kind::Position(axis) = kind {
                place[*axis] = *value;
            }
        }
        place
    };
    let turn = |frame: &[f64]| {
        let turns = channels.kinds.iter().zip(frame).filter_map(|(kind, value)| match kind {
            Kind::Rotation(axis) => Some(Quaternion::from_axis_angle(Vec3::unit(*axis), value.to_radians())),
            Kind::Position(_) => None,
        });
        let q = turns.fold(Quaternion::identity(), |all, turn| (all * turn).normalized());
        [q.w, q.x, q.y, q.z]
    };
    let channel =
        |keys| Channel { node: channels.node, times: times.to_vec(), interpolation: Interpolation::Linear, keys };
    let mut all = Vec::new();
    if channels.kinds.iter().any(|kind| matches!(kind, Kind::Position(_))) {
        all.push(channel(Keys::Translation(frames().map(place).collect())));
    }
    if channels.kinds.iter().any(|kind| matches!(kind, Kind::Rotation(_))) {
        all.push(channel(Keys::Rotation(frames().map(turn).collect())));
    }
    all
}
