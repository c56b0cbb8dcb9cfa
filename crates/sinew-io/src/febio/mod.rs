//! FEBio input, versions 2 to 4: the mesh with its parts, sets and surfaces. Ignores the rest of the model.
//!
//! Parts, node sets and element sets keep their names. The facets of a surface follow the elements, with a cell set of
//! the surface's name. The label of a cell is the material number of its part if the file has one (version 2), else the
//! number of the part, from 1; facets have 0. Materials give cell sets `material:NAME`.

mod elements;
mod parse;
mod read;
mod write;

pub use read::read;
pub use write::write;

/// Reads arbitrary bytes; a mesh among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let Ok(text) = write(&mesh) else { return };
    let back = read(&text).expect("round trip");
    assert_eq!(back.points, mesh.points);
    // The writer orders cells by part and surface, and writes a facet of two surfaces twice.
    let sorted = |mesh: &crate::MeshData| {
        let mut cells: Vec<_> = mesh.cells().map(|(shape, nodes)| (shape, nodes.to_vec())).collect();
        cells.sort();
        cells.dedup();
        cells
    };
    assert_eq!(sorted(&back), sorted(&mesh));
}
