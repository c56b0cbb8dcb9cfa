//! What an artist wants to know of a run with characters: how it looks, where it is wrong, what took the time, and what to change.
//!
//! - `watch`: looks at the frames as they are recorded, or shown once more after `--resume`, so that both tell the same
//! - `facts`: what was seen, as plain data; `json`: the same for programs
//! - `stretch`: how triangles of skin are stretched
//! - `pictures`: the strip of frames, what a character is made of, blend skinning beside flesh, and the stretch map
//! - `advice`: rules from facts to keys of the scene
//!
//! The page itself is made in `report/artist.rs`.

mod advice;
mod facts;
mod json;
mod pictures;
mod stretch;
mod watch;

pub(crate) use advice::length;
pub use advice::{Advice, Remedy};
pub use facts::{
    ArtistFacts, BlendFacts, BodyFacts, ComparisonFacts, CrossingFacts, LayerFacts, NamedPicture, RegionFacts,
    SlowFrame, StretchFacts, StripPicture, TimeFacts, Worst,
};
pub use watch::{Spent, Watch};
