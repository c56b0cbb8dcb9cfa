//! Supported formats, by extension.

use crate::error::{Place, ReadError, WriteError};
use crate::mesh_data::MeshData;
use crate::{abaqus, febio, gltf, gmsh, medit, obj, osu, outline, ply, stl, tetgen, vtk, vtu};

/// A mesh format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Wavefront OBJ.
    Obj,
    /// Stanford PLY.
    Ply,
    /// Stereolithography.
    Stl,
    /// glTF 2.0, as text or as GLB, which VRM is too.
    Gltf,
    /// VTK's XML unstructured grids.
    Vtu,
    /// VTK's older files.
    Vtk,
    /// Gmsh 2.2 and 4.1.
    Gmsh,
    /// TetGen's `.node` and `.ele`.
    Tetgen,
    /// Abaqus input.
    Abaqus,
    /// FEBio input.
    Febio,
    /// INRIA's MEDIT.
    Medit,
    /// Polygons of the Ohio State University.
    Osu,
    /// Shapes by their outlines.
    Outline,
}

/// One row per format: format, name, extensions (the default first), whether it usually holds volumes.
const FORMATS: [(Format, &str, &[&str], bool); 13] = [
    (Format::Obj, "OBJ", &["obj"], false),
    (Format::Ply, "PLY", &["ply"], false),
    (Format::Stl, "STL", &["stl"], false),
    (Format::Gltf, "glTF", &["glb", "gltf", "vrm"], false),
    (Format::Vtu, "VTU", &["vtu"], true),
    (Format::Vtk, "VTK", &["vtk"], true),
    (Format::Gmsh, "Gmsh", &["msh"], true),
    (Format::Tetgen, "TetGen", &["ele", "node"], true),
    (Format::Abaqus, "Abaqus", &["inp"], true),
    (Format::Febio, "FEBio", &["feb"], true),
    (Format::Medit, "MEDIT", &["mesh", "meshb"], true),
    (Format::Osu, "OSU", &["osu"], false),
    (Format::Outline, "outline", &["outline"], false),
];

impl Format {
    /// All formats.
    pub fn all() -> impl Iterator<Item = Format> {
        FORMATS.iter().map(|row| row.0)
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        FORMATS[self as usize].1
    }

    /// Its extensions, without the dot; the default first.
    pub fn extensions(self) -> &'static [&'static str] {
        FORMATS[self as usize].2
    }

    /// Whether files of this format usually hold volumes.
    pub fn holds_volumes(self) -> bool {
        FORMATS[self as usize].3
    }

    /// The format of an extension, ignoring case, without the dot.
    pub fn from_extension(extension: &str) -> Option<Format> {
        let extension = extension.to_ascii_lowercase();
        FORMATS.iter().find(|row| row.2.contains(&extension.as_str())).map(|row| row.0)
    }
}

/// Access to companion files: the buffers of a glTF, the nodes of a `.ele`.
pub trait Companions {
    /// Bytes of the file `name`, relative to the current file. `place` is the position of the reference.
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError>;

    /// Name of the current file without its extension, which TetGen's files share.
    fn stem(&self) -> &str;
}

/// No companion files.
pub struct NoCompanions;

impl Companions for NoCompanions {
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        let reason = "it is missing".into();
        Err(ReadError::Companion { place, name: name.into(), reason })
    }

    fn stem(&self) -> &str {
        "mesh"
    }
}

/// How to write a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteOptions {
    /// Write the binary variant, if the format has one.
    pub binary: bool,
    /// Compress, if the format supports it.
    pub compress: bool,
    /// A version of the format, such as "2.2" for Gmsh; `None` for the default.
    pub version: Option<String>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { binary: true, compress: false, version: None }
    }
}

/// A file ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedFile {
    /// Its extension, without the dot.
    pub extension: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Reads the bytes of a file. `extension` distinguishes the files of formats that use several.
pub fn decode(
    bytes: &[u8],
    format: Format,
    extension: &str,
    companions: &dyn Companions,
) -> Result<MeshData, ReadError> {
    match format {
        Format::Obj => obj::read(bytes),
        Format::Ply => ply::read(bytes),
        Format::Stl => stl::read(bytes),
        Format::Gltf => gltf::read(bytes, companions),
        Format::Vtu => vtu::read(bytes),
        Format::Vtk => vtk::read(bytes),
        Format::Gmsh => gmsh::read(bytes),
        Format::Tetgen => tetgen::read(bytes, extension, companions),
        Format::Abaqus => abaqus::read(bytes),
        Format::Febio => febio::read(bytes),
        Format::Medit => medit::read(bytes),
        Format::Osu => osu::read(bytes, companions),
        Format::Outline => outline::read(bytes, companions),
    }
}

/// Encodes a mesh in a format as one or more files; `extension` is the requested one.
pub fn encode(
    mesh: &MeshData,
    format: Format,
    extension: &str,
    options: &WriteOptions,
) -> Result<Vec<EncodedFile>, WriteError> {
    let usual = format.extensions().iter().copied().find(|known| known.eq_ignore_ascii_case(extension));
    let extension = usual.unwrap_or(format.extensions()[0]);
    let single = |bytes| vec![EncodedFile { extension, bytes }];
    match format {
        Format::Obj => obj::write(mesh).map(single),
        Format::Ply => ply::write(mesh, options).map(single),
        Format::Stl => stl::write(mesh, options).map(single),
        Format::Gltf => gltf::write(mesh, extension != "gltf").map(single),
        Format::Vtu => vtu::write(mesh, options).map(single),
        Format::Vtk => vtk::write(mesh, options).map(single),
        Format::Gmsh => gmsh::write(mesh, options).map(single),
        Format::Tetgen => tetgen::write(mesh),
        Format::Abaqus => abaqus::write(mesh).map(single),
        Format::Febio => febio::write(mesh).map(single),
        Format::Medit => medit::write(mesh, extension == "meshb").map(single),
        Format::Osu => osu::write(mesh),
        Format::Outline => Err(WriteError::Unsupported {
            format: "outline",
            what: "a mesh".into(),
            hint: "write it as .obj, .ply or .osu",
        }),
    }
}
