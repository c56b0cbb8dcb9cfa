//! Stanford PLY: text and both byte orders, with whatever elements and properties the header declares.
//!
//! Vertices give points, faces triangles, quads and polygons, edges lines; their scalar properties become fields. `red green
//! blue [alpha]` is one field `color` with the values as stored, `nx ny nz` one field `normal`. Other elements and lists are
//! passed over.

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

/// Properties that are one field: its name, the properties that must be there, and one that may.
const JOINED: [(&str, [&str; 3], Option<&str>); 2] =
    [("color", ["red", "green", "blue"], Some("alpha")), ("normal", ["nx", "ny", "nz"], None)];

/// Reads arbitrary bytes; what is a mesh must survive the way there and back.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    for binary in [true, false] {
        let written = write(&mesh, &WriteOptions { binary, ..WriteOptions::default() }).expect("what was read fits");
        let back = read(&written).expect("what was written can be read");
        assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
        assert_eq!(back.point_fields.len(), mesh.point_fields.len());
    }
}
