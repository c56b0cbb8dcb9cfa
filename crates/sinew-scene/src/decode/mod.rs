//! From text to typed data, collecting every problem on the way.
//!
//! `text ─tree→ Node (values with spans) ─codec→ plain structs + diagnostics`. serde stops at the first error and loses
//! its position. Here a wrong value is reported and replaced by a fallback, and decoding continues. Each table of the
//! scene is declared once (`table!`, `tagged!`, `keyed!`, `words!`); the declaration yields the struct, its decoder,
//! its JSON schema and its section of the reference page.

#[macro_use]
pub(crate) mod table;
pub(crate) mod codec;
pub(crate) mod compound;
pub(crate) mod shape;
pub(crate) mod tree;

pub(crate) use codec::{Codec, Context};
