//! The artist's report of a run with characters: how it looks, where it is wrong, what took the time, and what to
//! change.
//!
//! - `watch`: looks at the frames as they are recorded, or replayed after `--resume`, so that both give the same report
//! - `facts`: the findings as plain data; `json`: the same for programs
//! - `stretch`: stretch of the triangles of skin
//! - `paint`: what was painted on a character
//! - `parts`: the loose parts, colored by what was decided about them
//! - `pictures`: the strip of frames, the layers of a character, blend skinning beside flesh, and the stretch map
//! - `advice`: rules from facts to keys of the scene
//!
//! `report/artist.rs` makes the page.

mod advice;
mod facts;
mod json;
mod paint;
mod parts;
mod pictures;
mod stretch;
mod watch;

pub(crate) use advice::length;
pub use advice::{Advice, Remedy};
pub use facts::{
    ArtistFacts, BlendFacts, BodyFacts, ComparisonFacts, CrossingFacts, LayerFacts, NamedPicture, PaintFacts,
    PartFacts, RegionFacts, SlowFrame, StretchFacts, StripPicture, TimeFacts, Worst,
};
pub(crate) use parts::color as part_color;
pub use watch::{Spent, Watch};
