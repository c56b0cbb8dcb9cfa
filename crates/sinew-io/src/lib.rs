//! Mesh files and volumes of other programs.
//!
//! Readers take bytes, so tests and fuzzers need no disk. They report the line or byte of an error, and limit memory to
//! a small multiple of the file size: they trust a count only after finding the bytes it promises. The content of a
//! file becomes [`MeshData`]; [`volume`] and [`surface`] select what is simulated.
//!
//! Start with [`load`], [`save`] and [`MeshData`]; [`load_rig`] reads characters, [`load_motion`] motions,
//! [`image::load`] volumes.
//!
//! ```
//! use sinew_io::{Format, NoCompanions, decode};
//!
//! let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
//! let mesh = decode(text.as_bytes(), Format::Obj, "obj", &NoCompanions)?;
//! assert_eq!((mesh.points.len(), mesh.cell_count()), (3, 1));
//! # Ok::<(), sinew_io::ReadError>(())
//! ```
//!
//! To add a format: a file here with `read(&[u8], …)` and `write(&MeshData, …)`, a row in [`mod@format`], a line in
//! [`decode`] and [`encode`], real files in `tests/corpus`, and a target in `fuzz/`.

pub mod abaqus;
pub mod base64;
pub mod binary;
pub mod bvh;
pub mod error;
pub mod febio;
pub mod file;
pub mod format;
pub mod gltf;
pub mod gmsh;
pub mod image;
pub mod medit;
pub mod memory;
pub mod mesh_data;
pub mod obj;
pub mod osu;
pub mod outline;
pub mod ply;
pub mod stl;
pub mod surface;
pub mod tetgen;
pub mod text;
pub mod usd;
pub mod volume;
pub mod vtk;
pub mod vtu;
pub mod xml;

pub use error::{Place, ReadError, WriteError};
pub use file::{FileError, load, load_motion, load_rig, save};
pub use format::{Companions, EncodedFile, Format, NoCompanions, WriteOptions, decode, encode};
pub use mesh_data::{CellGroup, CellShape, Field, LABEL, MeshData, triangles_of};
pub use surface::SurfaceParts;
pub use volume::{VolumeOptions, VolumeParts};
