//! From the text of a scene file to checked plain data.
//!
//! ```text
//! scene.toml ─parse→ Scene ─validate→ Scene
//! ```
//!
//! A scene is TOML with units. [`Scene::load`] reads it into plain data in SI units and reports all errors together,
//! with line, column, excerpt and hint. The JSON schema ([`schema::json_schema`]) and the reference page
//! ([`reference::markdown`]) come from the same declarations as the decoder. Start with [`Scene`], [`SceneError`], and
//! [`build::SceneBuilder`] for scenes in code.
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

mod anatomy;
pub mod build;
mod character;
mod diagnostic;
pub mod import;
pub mod inspect;
mod load;
pub mod motion;
pub mod output;
mod overrides;
pub mod recipe;
pub mod reference;
pub mod schema;
mod source;
pub mod spec;
pub mod suggest;
pub mod template;
mod track;
mod validate;
mod value;
pub mod value_table;

pub use character::{Character, SceneCharacter, SkinPaint};
pub use diagnostic::{Diagnostic, SceneError, SourceText, Span};
pub use load::LARGEST_SCENE;
pub use overrides::Override;
pub use recipe::Recipe;
pub use source::{Attachments, Source};
pub use spec::Scene;
pub use suggest::nearest;
pub use track::{Interpolation, Track, TrackValue};
pub use value::{Dimension, Quantity, QuantityError, format_number, format_quantity, format_size};
