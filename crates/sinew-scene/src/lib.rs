//! The outside world of Sinew: scene files in, pictures and numbers out.
//!
//! ```text
//! scene.toml ─parse→ Scene ─validate→ Scene ─compile→ Simulation ─step→ State ─observe→ Frame ─record→ file
//! ```
//!
//! A scene is TOML with units. [`Scene::load`] reads it into plain data in SI units and reports every mistake at once, with
//! line, column, excerpt and hint. The JSON schema ([`schema::json_schema`]) and the reference page ([`reference::markdown`]) come from
//! the same declarations as the decoder.
//!
//! ```
//! use sinew_scene::Scene;
//! let scene = Scene::from_str("duration = \"2 s\"\nframe_rate = \"50 Hz\"", "tiny.toml", ".").unwrap();
//! assert_eq!((scene.frame_count(), scene.gravity_vector()), (100, [0.0, 0.0, -9.81]));
//! let error = Scene::from_str("duration = \"2 kg\"", "tiny.toml", ".").unwrap_err();
//! assert!(error.to_string().starts_with("error: `duration` must be a time"));
//! ```

#[macro_use]
mod decode;

pub mod artist;
mod character;
mod checkpoint;
pub mod compile;
pub mod convert;
mod diagnostic;
pub mod expect;
mod fit;
pub mod history;
pub mod import;
pub mod inspect;
mod journal;
mod json;
pub mod lab;
mod load;
pub mod manifest;
pub mod output;
mod overrides;
pub mod raster;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod schema;
pub mod snapshot;
mod source;
pub mod spec;
pub mod still;
pub mod store;
pub mod study;
mod suggest;
mod summary;
pub mod template;
pub mod timing;
mod track;
mod validate;
mod value;
pub mod value_names;

pub use diagnostic::{Diagnostic, SceneError, SourceText, Span};
pub use load::LARGEST_SCENE;
pub use overrides::Override;
pub use source::{Attachments, Source};
pub use spec::Scene;
pub use suggest::nearest;
pub use track::{Interpolation, Track, TrackValue};
pub use value::{Dimension, Quantity, QuantityError, format_number, format_quantity};
