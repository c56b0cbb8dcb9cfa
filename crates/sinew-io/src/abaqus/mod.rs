//! Abaqus input: the mesh with its sets, surfaces and section materials. Ignores the rest of the model.
//!
//! Node and element sets keep their names. The facets of a surface follow the elements, with a cell set of the
//! surface's name; `*SOLID SECTION` gives a cell set `material:NAME`. Each instance in the assembly places a copy of
//! its part; names that several instances share become `INSTANCE.NAME`.

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

/// Reads arbitrary bytes; a mesh among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let Ok(text) = write(&mesh) else { return };
    let back = read(&text).expect("round trip");
    assert_eq!((&back.points, &back.groups), (&mesh.points, &mesh.groups));
}
