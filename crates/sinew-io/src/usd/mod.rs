//! USD layers as plain data, and their binary encoding, the crate file (`.usdc`).
//!
//! A [`Layer`] says what is on a stage: prims with their properties. [`CrateWriter`] writes values to a file as they
//! come, and the tables that say what they are at the end; so an animation never has to be in memory.
//!
//! | section | holds |
//! |---|---|
//! | values | arrays, matrices, lists; anywhere between header and tables |
//! | `TOKENS` | every name and word once |
//! | `STRINGS` | which of them are strings |
//! | `FIELDS` | pairs of a name and a value |
//! | `FIELDSETS` | lists of fields, ended by −1 |
//! | `PATHS` | the tree of prims and properties |
//! | `SPECS` | the kind and the fields of each path |
//!
//! The design note is `docs/design/usd.md`. Reference: OpenUSD, `pxr/usd/sdf/crateFile.h`.

mod crate_writer;
mod integers;
mod layer;
mod paths;
mod value;

pub use self::crate_writer::{CrateWriter, ValueRep};
pub use self::layer::{Content, Layer, Prim, Property, Specifier};
pub use self::value::Value;
