//! Stanford PLY: text and both byte orders, with any elements and properties in the header.
//!
//! Vertices become points; faces become triangles, quads and polygons; edges become lines. Scalar properties become
//! fields. `red green blue [alpha]` is one field `color` with the values as stored, `nx ny nz` one field `normal`.
//! Skips other elements and lists.

mod binary;
mod columns;
mod header;
mod read;
mod text;
mod write;
mod write_binary;

pub use read::read;
pub use write::write;

use crate::format::WriteOptions;

/// Properties joined into one field: its name, the required properties, and an optional one.
const JOINED: [(&str, [&str; 3], Option<&str>); 2] =
    [("color", ["red", "green", "blue"], Some("alpha")), ("normal", ["nx", "ny", "nz"], None)];

/// Reads arbitrary bytes; a mesh among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    for binary in [true, false] {
        let written = write(&mesh, &WriteOptions { binary, ..WriteOptions::default() }).expect("fits in PLY");
        let back = read(&written).expect("round trip");
        assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
        assert_eq!(back.point_fields.len(), mesh.point_fields.len());
    }
}
