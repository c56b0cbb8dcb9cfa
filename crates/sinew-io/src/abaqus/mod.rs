//! Abaqus input: the mesh with its sets, surfaces and section materials; everything else of the model is passed over.
//!
//! Node and element sets keep their names. The facets of a surface are added behind the elements, with a cell set of the
//! surface's name; `*SOLID SECTION` gives a cell set `material:NAME`. Parts are placed as often as the assembly has instances
//! of them; names that several instances share are written `INSTANCE.NAME`.

mod assembly;
mod blocks;
mod elements;
pub(crate) mod numbering;
mod part;
mod read;
mod sets;
mod surfaces;
mod write;

pub use read::read;
pub use write::write;

/// Reads arbitrary bytes; what is a mesh must survive the way there and back.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let Ok(text) = write(&mesh) else { return };
    let back = read(&text).expect("what was written can be read");
    assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
}
