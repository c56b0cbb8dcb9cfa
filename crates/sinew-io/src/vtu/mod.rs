//! VTU: unstructured grids in VTK's XML format.
//!
//! Reads the output of VTK, ParaView, meshio and our recorder: arrays as text, as inline base64 or appended (raw or
//! base64), plain or compressed with zlib or LZ4, in either byte order, in one piece or several.
//!
//! - `file` reads the markup, `array` decodes one array, [`read`](fn@read) builds a mesh from them.
//! - `text_array` and `typed` convert text and bytes to numbers and back, `base64_run` and `blocks` unpack.
//! - `cells` and `sets` define the storage of cells in VTK, and of our sets in its formats; [`vtk`](crate::vtk) uses
//!   them too.

mod array;
mod base64_run;
mod blocks;
pub(crate) mod cells;
pub(crate) mod file;
mod read;
pub(crate) mod sets;
pub(crate) mod text_array;
pub(crate) mod typed;
pub(crate) mod write;

#[cfg(test)]
pub(crate) mod tests;

pub use read::read;
pub use write::write;

use crate::format::WriteOptions;
use crate::mesh_data::MeshData;

/// Reads arbitrary bytes; a mesh among them must survive a round trip through every variant.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    for (binary, compress) in [(false, false), (true, false), (true, true)] {
        let options = WriteOptions { binary, compress, version: None };
        let Ok(bytes) = write(&mesh, &options) else { continue };
        assert_same(&mesh, read(&bytes), &options);
    }
}

/// Panics unless a mesh survived a round trip unchanged.
pub(crate) fn assert_same(mesh: &MeshData, back: Result<MeshData, crate::ReadError>, options: &WriteOptions) {
    match back {
        Ok(back) => {
            assert_eq!(mesh.points, back.points, "{options:?}");
            assert_eq!(mesh.groups, back.groups, "{options:?}");
        }
        Err(error) => panic!("{options:?}: {error}"),
    }
}
