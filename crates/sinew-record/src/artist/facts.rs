//! Facts about the characters of a run, as plain data.

use sinew_rig::Decision;
use sinew_rig::retarget::RetargetReport;

use super::advice::Advice;

/// The worst value of a quantity and its frame; of equal values the first frame counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst<T> {
    /// The value.
    pub value: T,
    /// Its frame.
    pub frame: usize,
}

impl<T: PartialOrd> Worst<T> {
    /// Replaces the value if the new one is worse.
    pub(super) fn take(&mut self, value: T, frame: usize) {
        if value > self.value {
            *self = Self { value, frame };
        }
    }
}

/// The content of the artist's report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArtistFacts {
    /// Small pictures at evenly spaced frames.
    pub strip: Vec<StripPicture>,
    /// Surfaces that pass through each other.
    pub crossing: CrossingFacts,
    /// The characters.
    pub bodies: Vec<BodyFacts>,
    /// Timing of the run.
    pub time: TimeFacts,
    /// Advice; empty if all is well.
    pub advice: Vec<Advice>,
}

/// A picture of the strip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripPicture {
    /// Frame of the run.
    pub frame: usize,
    /// Its time in the run \[s\].
    pub time: f64,
    /// Frame of the animation, counted as in skin files; `None` before the animation begins.
    pub animation_frame: Option<f64>,
    /// A PNG file.
    pub png: Vec<u8>,
}

/// Surfaces that pass through each other or themselves, according to a check that is independent of the solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrossingFacts {
    /// Number of checked frames.
    pub frames: usize,
    /// Largest number of intersecting pairs of triangles that contact guards.
    pub crossings: Worst<usize>,
    /// Largest number of those that cross since rest, which contact leaves alone until they part.
    pub at_rest: Worst<usize>,
    /// The deepest point inside another surface, or another fold of the same \[m\]; `None` without contact, where only
    /// intersections are counted.
    pub depth: Option<Worst<f64>>,
}

/// A character.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyFacts {
    /// Name of its body.
    pub name: String,
    /// Number of cells.
    pub cells: usize,
    /// Edge of a cell \[m\].
    pub cell: f64,
    /// What was decided about its loose parts.
    pub parts: PartFacts,
    /// What was painted on it.
    pub paint: PaintFacts,
    /// Its layers: bones, cells and skin.
    pub layers: LayerFacts,
    /// Comparison of blend skinning with the simulation; `None` before there is a frame.
    pub comparison: Option<ComparisonFacts>,
    /// Its flesh by joint.
    pub regions: Vec<RegionFacts>,
    /// Largest number of cells that are inverted at their center.
    pub inverted: Worst<usize>,
    /// Largest number of cells that are inverted at a Gauss point.
    pub folded: Worst<usize>,
    /// Stretch of its skin.
    pub stretch: StretchFacts,
    /// The same animation by blend skinning alone, which shows the demands on the flesh. `None` without self-contact.
    pub blend: Option<BlendFacts>,
    /// How a motion from elsewhere came onto the character.
    pub motion: Option<RetargetReport>,
}

/// The flesh for which a joint has the largest weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionFacts {
    /// Name of the joint.
    pub name: String,
    /// Number of cells.
    pub cells: usize,
    /// Volume divided by that at rest, minus one, where its magnitude is largest.
    pub volume_change: Worst<f64>,
    /// Largest number of cells that are inverted at their center.
    pub inverted: Worst<usize>,
    /// Largest number of cells that are inverted at a Gauss point.
    pub folded: Worst<usize>,
}

/// Stretch of the skin in the frame where it is largest. The stretch of a triangle is the largest factor on a length in
/// it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StretchFacts {
    /// The frame in which `most` is largest.
    pub frame: usize,
    /// The stretch below which 99 % of the skin stays, by area at rest: single slivers do not count.
    pub most: f64,
    /// Largest stretch of a triangle in this frame.
    pub largest: f64,
    /// Smallest stretch of a triangle in this frame.
    pub smallest: f64,
    /// Stretches at the ends of the color map; one is at its center.
    pub range: [f64; 2],
    /// The map, from two sides.
    pub pictures: Vec<NamedPicture>,
}

/// A picture and its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedPicture {
    /// What it shows, or from where.
    pub name: String,
    /// A PNG file.
    pub png: Vec<u8>,
}

/// The loose parts of a character: which are flesh, and what the others ride on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartFacts {
    /// What was decided, part by part; empty where nothing was.
    pub decisions: Vec<Decision>,
    /// The parts at rest, colored by what they are: all, and those that ride.
    pub pictures: Vec<NamedPicture>,
}

impl PartFacts {
    /// Whether there is something to tell: more than one closed part.
    pub fn is_told(&self) -> bool {
        self.decisions.len() > 1 || self.decisions.iter().any(|part| part.open_edges > 0)
    }
}

/// Paint on a character.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaintFacts {
    /// The preset.
    pub preset: Option<String>,
    /// The layers, and the share of the skin that they cover.
    pub layers: Vec<(String, f64)>,
    /// What each value is on the skin.
    pub pictures: Vec<NamedPicture>,
}

impl PaintFacts {
    /// Whether there is any.
    pub fn is_told(&self) -> bool {
        self.preset.is_some() || !self.layers.is_empty()
    }
}

/// The layers of a character at rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerFacts {
    /// Number of bones.
    pub bones: usize,
    /// Number of triangles of the skin.
    pub triangles: usize,
    /// Bones, cells and skin, from one camera.
    pub pictures: Vec<NamedPicture>,
}

/// The same moment by blend skinning and by simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonFacts {
    /// The frame in which the two differ most, by the root mean square over the vertices.
    pub frame: usize,
    /// That distance \[m\].
    pub distance: f64,
    /// The largest distance of a vertex in this frame \[m\].
    pub farthest: f64,
    /// Points in contact in this frame.
    pub contacts: usize,
    /// Blend skinning and flesh, from one camera.
    pub pictures: Vec<NamedPicture>,
}

/// Self-intersections of a surface that blend skinning alone moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlendFacts {
    /// Largest number of intersecting pairs of triangles, over the frames of the strip.
    pub crossings: Worst<usize>,
    /// The deepest point in that frame \[m\].
    pub depth: f64,
}

/// Timing of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeFacts {
    /// Parts and their seconds.
    pub parts: Vec<(String, f64)>,
    /// Their sum \[s\].
    pub total: f64,
    /// Median of the Newton iterations of a frame.
    pub usual_newton: usize,
    /// The slowest frames, slowest first.
    pub slowest: Vec<SlowFrame>,
    /// The frame with the most Newton iterations.
    pub most_newton: Worst<usize>,
}

/// A slow frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowFrame {
    /// Its index.
    pub frame: usize,
    /// Wall-clock time of its steps \[s\].
    pub seconds: f64,
    /// Newton iterations.
    pub newton: usize,
    /// Iterations of linear solves.
    pub linear: usize,
    /// Points in contact at its end.
    pub contacts: usize,
}
