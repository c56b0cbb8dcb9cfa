//! What was seen of characters over a run, as plain data.

use super::advice::Advice;

/// Something at its worst. Of equals the first frame counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst<T> {
    /// The value.
    pub value: T,
    /// Its frame.
    pub frame: usize,
}

impl<T: PartialOrd> Worst<T> {
    /// Takes what is worse.
    pub(super) fn take(&mut self, value: T, frame: usize) {
        if value > self.value {
            *self = Self { value, frame };
        }
    }
}

/// Everything on the artist's page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArtistFacts {
    /// Small pictures at evenly spaced frames.
    pub strip: Vec<StripPicture>,
    /// Surfaces that pass through each other.
    pub crossing: CrossingFacts,
    /// The characters.
    pub bodies: Vec<BodyFacts>,
    /// Where the time went.
    pub time: TimeFacts,
    /// What to change; empty when all is well.
    pub advice: Vec<Advice>,
}

/// A picture of the strip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripPicture {
    /// Frame of the run.
    pub frame: usize,
    /// Its time in the run \[s\].
    pub time: f64,
    /// Frame of the animation, counted as files of skins count; `None` before the animation begins.
    pub animation_frame: Option<f64>,
    /// A PNG file.
    pub png: Vec<u8>,
}

/// Surfaces that pass through each other or themselves, by a check that shares nothing with the solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrossingFacts {
    /// Frames that were looked at.
    pub frames: usize,
    /// Most pairs of triangles that cross.
    pub crossings: Worst<usize>,
    /// The deepest point inside of another surface, or another fold of the same \[m\]; `None` where nothing keeps surfaces apart, and only crossings are counted.
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
    /// What it is made of.
    pub layers: LayerFacts,
    /// Blend skinning beside what was simulated; `None` before there is a frame.
    pub comparison: Option<ComparisonFacts>,
    /// Its flesh by joint.
    pub regions: Vec<RegionFacts>,
    /// Most cells that are inside out at their center.
    pub inverted: Worst<usize>,
    /// Most cells that are inside out at a Gauss point.
    pub folded: Worst<usize>,
    /// Its skin.
    pub stretch: StretchFacts,
    /// The same animation by blend skinning alone: what the flesh is asked to do. `None` where nothing keeps its surface apart from itself.
    pub blend: Option<BlendFacts>,
}

/// Flesh that a joint has most say in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionFacts {
    /// Name of the joint.
    pub name: String,
    /// Number of cells.
    pub cells: usize,
    /// Volume over that at rest less one, where it is farthest from zero.
    pub volume_change: Worst<f64>,
    /// Most cells that are inside out at their center.
    pub inverted: Worst<usize>,
    /// Most cells that are inside out at a Gauss point.
    pub folded: Worst<usize>,
}

/// How skin is stretched in the frame where it is stretched most. The stretch of a triangle is the largest factor on a length in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StretchFacts {
    /// The frame: that in which `most` is largest.
    pub frame: usize,
    /// What 99 % of the skin, by area at rest, stay below: single slivers do not count.
    pub most: f64,
    /// Largest stretch of a triangle in this frame.
    pub largest: f64,
    /// Smallest stretch of a triangle in this frame.
    pub smallest: f64,
    /// Stretches at the ends of the colors of the map; one is in the middle.
    pub range: [f64; 2],
    /// The map, from two sides.
    pub pictures: Vec<NamedPicture>,
}

/// A picture and what it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedPicture {
    /// What, or from where.
    pub name: String,
    /// A PNG file.
    pub png: Vec<u8>,
}

/// What a character is made of, at rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerFacts {
    /// Number of bones.
    pub bones: usize,
    /// Number of triangles of the skin.
    pub triangles: usize,
    /// Bones, cells and skin, from one camera.
    pub pictures: Vec<NamedPicture>,
}

/// The same moment by blend skinning and as it was simulated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonFacts {
    /// The frame: that in which the two are farthest apart, by the root mean square over the vertices.
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

/// How a surface passes through itself when blend skinning alone moves it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlendFacts {
    /// Most pairs of triangles that cross, of the frames of the strip.
    pub crossings: Worst<usize>,
    /// The deepest point in that frame \[m\].
    pub depth: f64,
}

/// Where the time of a run went.
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
    /// The frame with most Newton iterations.
    pub most_newton: Worst<usize>,
}

/// A frame that took long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowFrame {
    /// Its number.
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
