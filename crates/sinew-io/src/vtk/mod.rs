//! VTK's legacy format (`.vtk`): unstructured grids and surfaces of versions 2 to 5, as text or binary.
//!
//! - `scan` reads words and arrays, `attributes` the fields, `poly_data` the cells of surfaces; [`read`](fn@read)
//!   combines them.
//! - The storage of cells in VTK, and of our sets in its formats, is shared with [`vtu`](crate::vtu).

mod attributes;
mod poly_data;
mod read;
mod scan;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::write;

use crate::format::WriteOptions;
use crate::vtu::assert_same;

/// Reads arbitrary bytes; a mesh among them must survive a round trip through every variant.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    for binary in [false, true] {
        let options = WriteOptions { binary, compress: false, version: None };
        let Ok(bytes) = write(&mesh, &options) else { continue };
        assert_same(&mesh, read(&bytes), &options);
    }
}
