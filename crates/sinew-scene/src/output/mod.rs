//! Which files a run or a command may write.
//!
//! `docs/design/files.md` has the rules.

mod guard;
mod names;
mod plan;

pub use self::guard::{OutputClash, check_outputs};
pub use self::names::{
    CHECKPOINT, FilmFormat, MANIFEST, PREVIOUS, RECORDING, SkinFormat, UsdEncoding, animation_path, file_stem,
    maps_folder, skin_files, stem, with_part,
};
pub use self::plan::{Clash, OutputPlan, PlannedFile, entries};
