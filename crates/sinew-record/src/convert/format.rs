//! Output formats of a recording, by extension.

use std::path::Path;

use super::ConvertError;

/// Output format of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    /// Cells with fields: `.vtu` per body and frame, `.pvd` over time.
    Vtu,
    /// Moving surfaces.
    Usd,
    /// Moving surfaces by morph targets.
    Glb,
    /// Surfaces per frame.
    Obj,
    /// Surfaces per frame and body.
    Ply,
    /// Point caches, little-endian.
    Pc2,
    /// Point caches, big-endian.
    Mdd,
    /// Probes.
    Csv,
    /// Arrays.
    Npz,
    /// Pictures.
    Png,
    /// One animated picture.
    Apng,
    /// One animated picture for every program.
    Gif,
    /// A film, by `ffmpeg`.
    Mp4,
    /// A film, by `ffmpeg`.
    Webm,
    /// Plots of probes: `.svg` and `.csv` each.
    Svg,
}

/// One row per format: extensions and purpose.
const FORMATS: [(OutputFormat, &[&str], &str); 15] = [
    (OutputFormat::Vtu, &["pvd", "vtu"], "cells with stress and strain, for ParaView and PyVista"),
    (OutputFormat::Usd, &["usda", "usdc", "usdz"], "moving surfaces, for Blender, Houdini, Maya and usdview"),
    (OutputFormat::Glb, &["glb"], "moving surfaces by morph targets, for web pages and engines"),
    (OutputFormat::Obj, &["obj"], "surfaces, one file per frame"),
    (OutputFormat::Ply, &["ply"], "surfaces, one file per frame and body"),
    (OutputFormat::Pc2, &["pc2"], "point caches, for Blender and 3ds Max"),
    (OutputFormat::Mdd, &["mdd"], "point caches, for Blender, Maya and LightWave"),
    (OutputFormat::Csv, &["csv"], "probes over time, for tables and plots"),
    (OutputFormat::Npz, &["npz"], "everything as arrays, for NumPy"),
    (OutputFormat::Png, &["png"], "pictures, one file per frame"),
    (OutputFormat::Apng, &["apng"], "one animated picture, for web pages"),
    (OutputFormat::Gif, &["gif"], "one animated picture, for slides and every other program"),
    (OutputFormat::Mp4, &["mp4"], "a film, for slides and journals; needs the program ffmpeg"),
    (OutputFormat::Webm, &["webm"], "a film, for web pages; needs the program ffmpeg"),
    (OutputFormat::Svg, &["svg"], "plots of probes over time, one .svg and one .csv each, for print"),
];

impl OutputFormat {
    /// All formats.
    pub fn all() -> impl Iterator<Item = OutputFormat> {
        FORMATS.iter().map(|row| row.0)
    }

    /// Extensions without dot; the first is the usual one.
    pub fn extensions(self) -> &'static [&'static str] {
        FORMATS[self as usize].1
    }

    /// Whether it needs the probes only.
    pub fn is_of_probes(self) -> bool {
        matches!(self, Self::Csv | Self::Svg)
    }

    /// Whether it is one file made of pictures.
    pub fn is_film(self) -> bool {
        matches!(self, Self::Apng | Self::Gif | Self::Mp4 | Self::Webm)
    }

    /// Its purpose, in a few words.
    pub fn purpose(self) -> &'static str {
        FORMATS[self as usize].2
    }

    /// The format of a file name.
    pub fn from_path(path: &Path) -> Result<OutputFormat, ConvertError> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let known = FORMATS.iter().find(|row| row.1.contains(&extension.as_str()));
        known.map(|row| row.0).ok_or_else(|| ConvertError::UnknownFormat { path: path.into(), extension })
    }
}

/// The list of formats, with a hint for popular ones that are not in it.
pub(super) fn known_formats(extension: &str) -> String {
    let rows = FORMATS.iter().map(|(_, extensions, purpose)| {
        let names: Vec<String> = extensions.iter().map(|extension| format!(".{extension}")).collect();
        format!("  {:<11} {purpose}", names.join(", "))
    });
    let list: Vec<String> = rows.collect();
    let hint = match extension {
        "abc" => "\nhint: for Alembic write .usdc; Blender, Houdini and Maya read it and export Alembic",
        "fbx" => "\nhint: for FBX write .usdc; Blender and Maya read it and export FBX",
        "usd" => "\nhint: write .usdc, which is binary, or .usda, which is text",
        "gltf" => "\nhint: write .glb, which is glTF in one file",
        "mov" | "avi" | "mkv" | "m4v" => "\nhint: write .mp4, or .gif, which needs no other program",
        "jpg" | "jpeg" | "tif" | "tiff" | "bmp" => "\nhint: write .png, which has no loss",
        "pdf" | "eps" => "\nhint: pictures are .png files, plots are .svg files",
        _ => "",
    };
    format!("known formats:\n{}{hint}", list.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn every_format_is_found_by_its_extensions() {
        for (number, format) in OutputFormat::all().enumerate() {
            assert_eq!(format as usize, number, "rows are in the order of the formats");
            for extension in format.extensions() {
                let path = PathBuf::from(format!("shot.{}", extension.to_uppercase()));
                assert_eq!(OutputFormat::from_path(&path).unwrap(), format);
            }
        }
    }

    #[test]
    fn unknown_extensions_are_answered_with_the_known() {
        for (name, word) in [("a.abc", "Alembic"), ("a.mov", ".mp4"), ("a", ".usda"), ("a.usd", "binary")] {
            let error = OutputFormat::from_path(Path::new(name)).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("for NumPy"), "{error}");
        }
    }
}
