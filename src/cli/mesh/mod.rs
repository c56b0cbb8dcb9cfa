//! `sinew mesh`: inspects, checks, converts and fills meshes.

mod check;
mod convert;
mod fill;
mod image_info;
mod info;
mod motion_info;
mod tets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sinew_io::{CellShape, MeshData, WriteOptions};
use sinew_math::Vec3;
use sinew_record::record::{encode_png, write_file};
use sinew_record::still::{MeshPicture, mesh_picture};
use sinew_scene::output::check_outputs;
use sinew_scene::{Dimension, Quantity, format_number, format_quantity, nearest};

use super::console::Console;
use super::{Failure, Status};

/// Inspects, checks, converts and fills meshes
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints the content of meshes: cells, size, regions, fields, and possible uses
    Info(info::Arguments),
    /// Converts a mesh to another format and reports what the format cannot hold
    #[command(disable_version_flag = true)]
    Convert(convert::Arguments),
    /// Fills a closed surface with tetrahedra
    #[command(disable_version_flag = true)]
    Fill(fill::Arguments),
    /// Fills a surface or the labels of an image with tetrahedra that end at it
    #[command(disable_version_flag = true)]
    Tets(tets::Arguments),
    /// Reports all problems of meshes; the exit status is 1 if one cannot be simulated
    Check(check::Arguments),
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    match &arguments.command {
        Command::Info(arguments) => info::execute(arguments, console),
        Command::Convert(arguments) => convert::execute(arguments, console),
        Command::Fill(arguments) => fill::execute(arguments, console),
        Command::Tets(arguments) => tets::execute(arguments, console),
        Command::Check(arguments) => check::execute(arguments, console),
    }
}

/// Options for writing files.
#[derive(Debug, clap::Args)]
struct Writing {
    /// Writes text instead of the binary variant of the format
    #[arg(long)]
    ascii: bool,

    /// Compresses the file, if the format allows
    #[arg(long)]
    compress: bool,

    /// Version of the format, for example 2.2 for Gmsh [default: the most common version]
    #[arg(long = "version", value_name = "V")]
    format_version: Option<String>,

    /// Replaces existing files
    #[arg(long)]
    force: bool,
}

impl Writing {
    fn options(&self) -> WriteOptions {
        WriteOptions { binary: !self.ascii, compress: self.compress, version: self.format_version.clone() }
    }

    /// The encoded files of a mesh. An existing file is an error without `--force`.
    fn encode(&self, mesh: &MeshData, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
        self.check_absent(path)?;
        let files = sinew_io::save(mesh, path, &self.options()).map_err(failure)?;
        for (file, _) in &files {
            self.check_absent(file)?;
        }
        Ok(files)
    }

    /// An existing file is an error without `--force`.
    fn check_absent(&self, path: &Path) -> Result<(), Failure> {
        if path.exists() && !self.force {
            return Err(Failure::Other(format!("{} exists\nhint: --force replaces it", path.display())));
        }
        Ok(())
    }
}

/// Writes files; each is complete or absent.
fn write(files: &[(PathBuf, Vec<u8>)], console: Console) -> Result<(), Failure> {
    for (path, bytes) in files {
        write_file(path, bytes).map_err(failure)?;
        console.note(&format!("wrote {} ({})", path.display(), bytes_text(bytes.len() as u64)));
    }
    Ok(())
}

/// Loads a mesh; the error for a missing file suggests a similar name.
fn load(path: &Path) -> Result<MeshData, Failure> {
    sinew_io::load(path).map_err(|error| {
        let text = error.to_string();
        match similar_file(path) {
            Some(near) if !path.exists() => Failure::Other(format!("{text}\nhint: did you mean {}?", near.display())),
            _ => Failure::Other(text),
        }
    })
}

/// The file of the same folder with the nearest name.
fn similar_file(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> =
        entries.take(10_000).flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(folder.map_or_else(|| PathBuf::from(near), |folder| folder.join(near)))
}

/// An error of a library for the user; `; hint:` starts a new line.
fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::Other(error.to_string().replace("; hint: ", "\nhint: "))
}

/// Draws a mesh and writes the picture.
fn draw(path: &Path, data: &MeshData, picture: &MeshPicture<'_>, console: Console) -> Result<(), Failure> {
    match mesh_picture(data, picture) {
        Some(image) => write(&[(path.into(), encode_png(&image))], console),
        None => Err(Failure::Other("cannot draw the mesh: it has no faces".into())),
    }
}

/// Checks that a picture shows one file, is a PNG, and replaces neither the mesh nor another output.
fn check_picture(files: &[PathBuf], picture: Option<&PathBuf>, outputs: &[PathBuf]) -> Result<(), Failure> {
    let Some(picture) = picture else { return Ok(()) };
    if files.len() > 1 {
        return Err(Failure::Other(format!("--picture shows one mesh, but {} files are given", files.len())));
    }
    if picture.extension().is_none_or(|end| !end.eq_ignore_ascii_case("png")) {
        return Err(Failure::Other(format!("{}: pictures are written as .png", picture.display())));
    }
    check_outputs(files, outputs.iter().chain([picture])).map_err(failure)
}

/// Kinds of cells from a list such as `wedge,pyramid`.
fn kinds(texts: &[String]) -> Result<BTreeSet<CellShape>, Failure> {
    let mut found = BTreeSet::new();
    for text in texts.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|text| !text.is_empty()) {
        let shape = CellShape::from_name(text).ok_or_else(|| {
            let names: Vec<&str> = CellShape::all().map(CellShape::name).collect();
            let hint = match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("kinds are {}", names.join(", ")),
            };
            Failure::Other(format!("unknown kind of cells \"{text}\"\nhint: {hint}"))
        })?;
        found.insert(shape);
    }
    Ok(found)
}

/// A positive length with a unit, in meters; for clap.
pub(super) fn length(text: &str) -> Result<f64, String> {
    let quantity = Quantity::parse(text).map_err(|error| error.to_string())?;
    match quantity {
        Quantity { value, dimension: Dimension::LENGTH | Dimension::NUMBER } if value > 0.0 => Ok(value),
        Quantity { dimension: Dimension::LENGTH | Dimension::NUMBER, .. } => Err("must be positive".into()),
        other => Err(format!("must be a length such as \"8 mm\", not {}", other.dimension.describe())),
    }
}

/// A positive factor, or the unit of the file (`mm`); for clap.
pub(super) fn scale(text: &str) -> Result<f64, String> {
    let value = match text.parse::<f64>() {
        Ok(value) => value,
        Err(_) => match Quantity::parse(&format!("1 {text}")) {
            Ok(Quantity { value, dimension: Dimension::LENGTH }) => value,
            _ => return Err("neither a number nor a unit of length such as mm".into()),
        },
    };
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("must be positive and finite".into()) }
}

/// A number with four significant digits.
fn short(value: f64) -> String {
    format_number(format!("{value:.3e}").parse().unwrap_or(value))
}

/// A quantity with four significant digits, in a suitable unit.
fn quantity(value: f64, dimension: Dimension) -> String {
    format_quantity(format!("{value:.3e}").parse().unwrap_or(value), dimension)
}

/// Coordinates of a point.
fn point_text(p: Vec3) -> String {
    // Show rounding errors as zero.
    let noise = 1e-12 * p.abs().max_component();
    let [x, y, z] = p.to_array().map(|c| short(if c.abs() <= noise { 0.0 } else { c }));
    format!("({x}, {y}, {z})")
}

/// A number of bytes in readable units.
pub(super) fn bytes_text(count: u64) -> String {
    let value = count as f64;
    match value {
        v if v < 1e3 => format!("{count} bytes"),
        v if v < 1e6 => format!("{:.1} kB", v / 1e3),
        v if v < 1e9 => format!("{:.1} MB", v / 1e6),
        v => format!("{:.1} GB", v / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_and_scales_may_be_units() {
        assert_eq!(length("8 mm"), Ok(0.008));
        assert_eq!(length("0.5"), Ok(0.5));
        assert!(length("3 kPa").is_err_and(|error| error.contains("a pressure")));
        assert!(length("-1 cm").is_err() && length("0").is_err());
        assert_eq!((scale("0.001"), scale("mm"), scale("cm")), (Ok(0.001), Ok(0.001), Ok(0.01)));
        assert!(scale("kg").is_err() && scale("nan").is_err() && scale("0").is_err());
    }

    #[test]
    fn kinds_are_listed_by_name() {
        let found = kinds(&["wedge, pyramid".into(), "quadratic tetrahedron".into()]).unwrap();
        assert_eq!(found.len(), 3);
        let error = kinds(&["wedg".into()]).unwrap_err().to_string();
        assert!(error.contains("did you mean \"wedge\"?"), "{error}");
    }
}
