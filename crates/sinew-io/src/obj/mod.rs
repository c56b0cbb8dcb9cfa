//! Wavefront OBJ: polygons, lines and points with groups, objects, materials and vertex colours.
//!
//! `g` and `o` become cell sets of their names, `usemtl` a set `material:NAME`. Texture coordinates and normals are not part of
//! the geometry and are skipped, as is every other statement.

mod read;
mod write;

pub use read::read;
pub use write::write;

/// What `usemtl NAME` becomes, before the name.
pub(crate) const MATERIAL: &str = "material:";

/// Members of cell sets per byte of the file. A `g` with thousands of names before thousands of faces would make memory grow
/// with the square of the file; honest files stay far below.
const MEMBERS_PER_BYTE: usize = 2;

/// Reads arbitrary bytes; what is a mesh must survive the way there and back.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let Ok(text) = write(&mesh) else { return };
    let back = read(&text).expect("what was written can be read");
    assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
}
