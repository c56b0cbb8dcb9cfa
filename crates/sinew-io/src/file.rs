//! Mesh files on disk.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::error::{Place, ReadError, WriteError};
use crate::format::{Companions, EncodedFile, Format, WriteOptions, decode, encode};
use crate::memory::{self, MemoryShort};
use crate::mesh_data::MeshData;

/// Why a mesh file could not be loaded or saved.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file exceeds the size limit.
    #[error("{} has {bytes} bytes; at most {limit} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file does not fit into the memory that is free.
    #[error("{} {short}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// How much is missing.
        short: MemoryShort,
    },
    /// It is a pipe, a device or a folder: neither its size nor its end is known.
    #[error("{} is not a file but {kind}\nhint: write what it gives into a file first", path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
        /// What it is, with its article.
        kind: &'static str,
    },
    /// No format has the extension.
    #[error("{}: no format has the extension `{extension}`; there are {known}{}", path.display(), way_out(extension))]
    Extension {
        /// The file.
        path: PathBuf,
        /// Its extension.
        extension: String,
        /// Known extensions.
        known: String,
    },
    /// Characters come from other formats.
    #[error("{}: characters are read from .glb, .gltf and .vrm files\nhint: {hint}", path.display())]
    Character {
        /// The file.
        path: PathBuf,
        /// The command that makes such a file.
        hint: &'static str,
    },
    /// The content is wrong.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ReadError,
    },
    /// The mesh does not fit the format.
    #[error("{}: {source}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: WriteError,
    },
}

/// A mesh takes about as much memory as its file, once as bytes, once as numbers, and once more while it is looked at.
const COPIES: u64 = 3;

/// 4 GiB: a mesh that large has 50 million cells, far beyond what fits in memory as a simulation.
const LARGEST: u64 = 4 << 30;

/// Loads a mesh; the extension determines the format.
pub fn load(path: &Path) -> Result<MeshData, FileError> {
    let (format, extension) = format_of(path)?;
    let bytes = read(path)?;
    let beside =
        Beside { path: path.into(), stem: path.file_stem().unwrap_or_default().to_string_lossy().into_owned() };
    decode(&bytes, format, &extension, &beside).map_err(|source| FileError::Read { path: path.into(), source })
}

/// Loads a character from a glTF file, which VRM is too.
pub fn load_rig(path: &Path) -> Result<sinew_rig::Rig, FileError> {
    if let Some(hint) = converter(path) {
        return Err(FileError::Character { path: path.into(), hint });
    }
    let failed = |source| FileError::Read { path: path.into(), source };
    let beside =
        Beside { path: path.into(), stem: path.file_stem().unwrap_or_default().to_string_lossy().into_owned() };
    crate::gltf::read_rig(&read(path)?, &beside).map_err(failed)
}

/// Extensions of files with motions.
pub const MOTION_EXTENSIONS: [&str; 4] = ["bvh", "glb", "gltf", "vrm"];

/// Loads the joints and animations of a BVH, glTF or VRM file; the extension determines the format. Animations without
/// a name get that of the file. Lengths of BVH are as in the file.
pub fn load_motion(path: &Path) -> Result<sinew_rig::Rig, FileError> {
    let extension = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if !MOTION_EXTENSIONS.contains(&extension.as_str()) {
        let known = MOTION_EXTENSIONS.map(|known| format!(".{known}")).join(", ");
        return Err(FileError::Extension { path: path.into(), extension: format!(".{extension}"), known });
    }
    if extension != "bvh" {
        return load_rig(path);
    }
    let failed = |source| FileError::Read { path: path.into(), source };
    crate::bvh::read(&read(path)?).map_err(failed)
}

/// Encodes a mesh in the format of `path`'s extension; returns the files with their paths. Does not write to disk.
pub fn save(mesh: &MeshData, path: &Path, options: &WriteOptions) -> Result<Vec<(PathBuf, Vec<u8>)>, FileError> {
    let (format, extension) = format_of(path)?;
    let files =
        encode(mesh, format, &extension, options).map_err(|source| FileError::Encode { path: path.into(), source })?;
    Ok(files.into_iter().map(|EncodedFile { extension, bytes }| (path.with_extension(extension), bytes)).collect())
}

/// The command that makes a .glb of a popular format for characters that is not ours; a line each.
fn converter(path: &Path) -> Option<&'static str> {
    macro_rules! blender {
        ($import:literal) => {
            concat!(
                "blender -b --python-expr \"import bpy; bpy.ops.wm.read_factory_settings(use_empty=True); bpy.ops.",
                $import,
                "; bpy.ops.export_scene.gltf(filepath='out.glb')\""
            )
        };
    }
    let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
    match extension.as_str() {
        "fbx" => Some(blender!("import_scene.fbx(filepath='in.fbx')")),
        "blend" => {
            Some("blender -b in.blend --python-expr \"import bpy; bpy.ops.export_scene.gltf(filepath='out.glb')\"")
        }
        "usd" | "usda" | "usdc" | "usdz" => Some(blender!("wm.usd_import(filepath='in.usd')")),
        "abc" => Some("Alembic has no skeleton: export from the original program as .glb"),
        "dae" | "x" | "md5mesh" | "smd" | "ms3d" | "b3d" | "cob" | "iqm" => {
            Some("assimp export in.dae out.glb (package assimp-utils)")
        }
        "ma" | "mb" | "max" | "c4d" | "hip" | "hiplc" | "unitypackage" | "uasset" => {
            Some("export it as .fbx or .glb from its program; Blender turns .fbx into .glb")
        }
        "pmx" | "pmd" => Some("Blender with the add-on MMD Tools imports it and exports .glb"),
        _ => None,
    }
}

/// A hint for popular formats that are not ours.
fn way_out(extension: &str) -> &'static str {
    match extension {
        ".fbx" | ".blend" => "\nhint: Blender turns it into .glb or .obj",
        ".usd" | ".usda" | ".usdc" | ".usdz" | ".abc" => "\nhint: Blender and Houdini turn it into .glb or .obj",
        ".vti" | ".vts" | ".vtr" => "\nhint: `cast_to_unstructured_grid` of pyvista turns it into a grid for .vtu",
        _ => "",
    }
}

/// The format of a file by its extension.
pub fn format_of(path: &Path) -> Result<(Format, String), FileError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match Format::from_extension(&extension) {
        Some(format) => Ok((format, extension)),
        None => {
            let known: Vec<String> =
                Format::all().flat_map(Format::extensions).map(|extension| format!(".{extension}")).collect();
            let (path, extension) = (path.into(), format!(".{extension}"));
            Err(FileError::Extension { path, extension, known: known.join(", ") })
        }
    }
}

/// All bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let failed = |source| FileError::Open { path: path.into(), source };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    // Before it is opened: a pipe that nobody writes to waits for ever.
    if let Some(kind) = other_kind(&metadata) {
        return Err(FileError::NotAFile { path: path.into(), kind });
    }
    let bytes = metadata.len();
    if bytes > LARGEST {
        return Err(FileError::TooLarge { path: path.into(), bytes, limit: LARGEST });
    }
    memory::require(bytes.saturating_mul(COPIES)).map_err(|short| FileError::Memory { path: path.into(), short })?;
    read_all(path, bytes).map_err(failed)
}

/// What something is that is no file.
fn other_kind(metadata: &std::fs::Metadata) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_block_device() || kind.is_char_device() {
            return Some("a device");
        }
    }
    metadata.is_dir().then_some("a folder")
}

/// Large files are read in pieces by all threads: most of the time goes into touching fresh memory.
#[cfg(unix)]
fn read_all(path: &Path, size: u64) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;

    use sinew_math::parallel::prelude::*;

    /// Small enough to split even a modest file in two, large enough to pay for a thread.
    const PIECE: usize = 2 << 20;
    if size < 4 * PIECE as u64 {
        return std::fs::read(path);
    }
    let file = std::fs::File::open(path)?;
    let mut bytes = vec![0; size as usize];
    let pieces = bytes.par_chunks_mut(PIECE).enumerate();
    pieces.try_for_each(|(number, piece)| file.read_exact_at(piece, (number * PIECE) as u64))?;
    Ok(bytes)
}

#[cfg(not(unix))]
fn read_all(path: &Path, _size: u64) -> std::io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// Bytes of a file in a folder or below it.
pub(crate) fn open_beside(folder: &Path, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
    let failed = |reason: String| ReadError::Companion { place, name: name.into(), reason };
    let relative = Path::new(name);
    // A mesh from the internet must not read other parts of the disk.
    if !relative.components().all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir))
    {
        return Err(failed("it must be in the same folder or below".into()));
    }
    read(&folder.join(relative)).map_err(|error| match error {
        FileError::Open { source, .. } => failed(source.to_string()),
        other => failed(other.to_string()),
    })
}

/// Files in the folder of a file.
struct Beside {
    path: PathBuf,
    stem: String,
}

impl Companions for Beside {
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        open_beside(&self.path.with_file_name(""), name, place)
    }

    fn stem(&self) -> &str {
        &self.stem
    }
}
