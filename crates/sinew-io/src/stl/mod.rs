//! STL: unconnected triangles, as text or binary.
//!
//! Corners with exactly equal coordinates merge into one vertex, so that a closed surface stays closed. Several solids
//! in one text file become cell sets of their names; attributes of binary files that are not all zero become the cell
//! field `attribute`.

mod read;
mod weld;
mod write;

pub use read::read;
pub use write::write;

use crate::format::WriteOptions;

/// The cell field with the attribute bytes of binary files.
pub(crate) const ATTRIBUTE: &str = "attribute";

/// Bytes of a triangle in binary files: normal, corners, attribute.
const RECORD: usize = 50;

/// Reads arbitrary bytes; a mesh among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let text = write(&mesh, &WriteOptions { binary: false, ..WriteOptions::default() }).expect("triangles fit");
    let back = read(&text).expect("round trip");
    assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
    // Single precision loses digits of a text file, and with them triangles; the rest must be stable.
    let binary = WriteOptions::default();
    let Ok(once) = write(&mesh, &binary) else { return };
    let Ok(rounded) = read(&once) else { return };
    let twice = write(&rounded, &binary).expect("single precision fits");
    let back = read(&twice).expect("round trip");
    assert_eq!((&back.points, &back.groups), (&rounded.points, &rounded.groups));
}
