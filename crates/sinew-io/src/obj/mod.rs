//! Wavefront OBJ: polygons, lines and points with groups, objects, materials and vertex colors.
//!
//! `g` and `o` become cell sets of their names, `usemtl` a set `material:NAME`. Skips texture coordinates and normals,
//! which are not part of the geometry, and all other statements.

mod read;
mod write;

pub use read::read;
pub use write::write;

/// Prefix of the sets from `usemtl NAME`.
pub(crate) const MATERIAL: &str = "material:";

/// Members of cell sets per byte of the file. A `g` with thousands of names before thousands of faces would make memory
/// quadratic in the file size; legitimate files stay far below.
const MEMBERS_PER_BYTE: usize = 2;

/// Reads arbitrary bytes; a mesh among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let Ok(text) = write(&mesh) else { return };
    let back = read(&text).expect("round trip");
    assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
}
