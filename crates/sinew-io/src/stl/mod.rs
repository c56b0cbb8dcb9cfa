//! STL: triangles without connection, as text or binary.
//!
//! Corners with exactly equal coordinates are made one vertex, so that a closed surface comes out closed. Several solids in one
//! text file become cell sets of their names; attributes of binary files that are not all zero become the cell field
//! `attribute`.

mod read;
mod weld;
mod write;

pub use read::read;
pub use write::write;

use crate::format::WriteOptions;

/// The cell field that holds the attribute bytes of binary files.
pub(crate) const ATTRIBUTE: &str = "attribute";

/// Bytes of a triangle in binary files: normal, corners, attribute.
const RECORD: usize = 50;

/// Reads arbitrary bytes; what is a mesh must survive the way there and back.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let text = write(&mesh, &WriteOptions { binary: false, ..WriteOptions::default() }).expect("triangles fit");
    let back = read(&text).expect("what was written can be read");
    assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
    // Single precision loses digits of a text file, and with them triangles; what is left must be stable.
    let binary = WriteOptions::default();
    let Ok(once) = write(&mesh, &binary) else { return };
    let Ok(rounded) = read(&once) else { return };
    let twice = write(&rounded, &binary).expect("single precision fits");
    let back = read(&twice).expect("what was written can be read");
    assert_eq!((&back.points, &back.groups), (&rounded.points, &rounded.groups));
}
