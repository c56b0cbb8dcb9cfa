//! Names of the files of a run.

use std::path::{Path, PathBuf};

use crate::spec::Scene;
use crate::spec::mesh::Mesh;
use crate::spec::record::Record;

/// Name of the manifest in the run folder.
pub const MANIFEST: &str = "manifest.json";

/// Name of the checkpoint in the run folder.
pub const CHECKPOINT: &str = "checkpoint.bin";

/// Prefix of the files of an unfinished run that a new run has moved aside.
pub const PREVIOUS: &str = "previous-";

/// Usual name of the recording.
pub const RECORDING: &str = "recording.sinew";

/// File format of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkinFormat {
    /// `.usda`, `.usdc` or `.usdz`, exact.
    Usd,
    /// `.pc2` per part, exact.
    Pc2,
    /// `.glb`, with fitted morph targets.
    Glb,
}

impl SkinFormat {
    /// The format of a file name, by its extension.
    pub fn of(file: &str) -> Option<Self> {
        match file.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
            Some("usda" | "usdc" | "usdz") => Some(Self::Usd),
            Some("pc2") => Some(Self::Pc2),
            Some("glb") => Some(Self::Glb),
            _ => None,
        }
    }
}

/// Encoding of a USD file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsdEncoding {
    /// `.usda`: text.
    Text,
    /// `.usdc`: a crate, which is binary.
    Crate,
    /// `.usdz`: a crate and its images in one file.
    Package,
}

impl UsdEncoding {
    /// The encoding of a file, by its extension; any other extension is text.
    pub fn of(file: &Path) -> Self {
        match file.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).as_deref() {
            Some("usdc") => Self::Crate,
            Some("usdz") => Self::Package,
            _ => Self::Text,
        }
    }
}

/// File format of a film.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilmFormat {
    /// Animated `.png`.
    Apng,
    /// `.gif`.
    Gif,
    /// `.mp4`: H.264, by `ffmpeg`.
    Mp4,
    /// `.webm`: VP9, by `ffmpeg`.
    Webm,
}

impl FilmFormat {
    /// The format of a file name, by its extension.
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_string_lossy().to_ascii_lowercase().as_str() {
            "png" | "apng" => Some(Self::Apng),
            "gif" => Some(Self::Gif),
            "mp4" => Some(Self::Mp4),
            "webm" => Some(Self::Webm),
            _ => None,
        }
    }

    /// Whether the program `ffmpeg` makes it.
    pub fn is_video(self) -> bool {
        matches!(self, Self::Mp4 | Self::Webm)
    }
}

/// One file per character, relative to the output folder; from the second on, the file name has the name of the body
/// appended.
pub fn skin_files(scene: &Scene, name: &str) -> Vec<PathBuf> {
    let characters = scene.body.iter().filter(|body| body.rig.is_some() && matches!(body.mesh, Mesh::Fill(_)));
    let part = |(k, body): (usize, &crate::spec::body::Body)| {
        with_part(Path::new(name), (k > 0).then_some(body.name.as_str()))
    };
    characters.enumerate().map(part).collect()
}

/// The path of the animation, which a report also shows; `None` if the scene records neither, or draws no pictures.
pub fn animation_path(record: &Record, folder: &Path) -> Option<PathBuf> {
    if !record.pictures {
        return None;
    }
    let usual = "animation.png";
    let asked = record.apng.file_name(usual);
    asked.or_else(|| record.report.file_name(usual).map(|_| usual)).map(|name| folder.join(name))
}

/// A file name for body number `part`: letters, digits, `-` and `_`, never empty.
pub fn file_stem(name: &str, part: usize) -> String {
    let stem: String = name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if stem.is_empty() { format!("body{part}") } else { stem }
}

/// The folder of the wrinkle and stretch maps beside a character.
pub fn maps_folder(path: &Path) -> String {
    format!("{}_maps", file_stem(&stem(path), 0))
}

/// `folder/stem_part.pc2` for `folder/stem.pc2`.
pub fn with_part(path: &Path, part: Option<&str>) -> PathBuf {
    let Some(part) = part else { return path.into() };
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{}_{part}.{extension}", stem(path)))
}

/// The name without folder and extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "frame".into(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_have_no_separators() {
        assert_eq!(file_stem("../etc/passwd", 0), "___etc_passwd");
        assert_eq!(file_stem("", 3), "body3");
    }
}
