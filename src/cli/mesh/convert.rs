//! `sinew mesh convert`: converts a mesh to another format and reports losses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use sinew_io::{CellShape, Companions, Field, MeshData, Place, ReadError, decode};
use sinew_scene::inspect::{boundary, has_volume, used_bounds, without};

use super::super::console::{self, Console};
use super::super::{Failure, Status};
use super::{Writing, failure, kinds, load, short, write};

/// Converts a mesh to another format and reports what the format cannot hold
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Input mesh
    #[arg(value_name = "IN")]
    pub input: PathBuf,

    /// Output file; its extension selects the format
    #[arg(value_name = "OUT")]
    pub output: PathBuf,

    /// Writes the outer faces of a volume mesh
    #[arg(long)]
    pub boundary: bool,

    /// Factor on all coordinates, or their unit (mm converts to meters)
    #[arg(long, value_name = "F", value_parser = super::scale)]
    pub scale: Option<f64>,

    /// Kinds of cells to skip, for example wedge,pyramid
    #[arg(long, value_name = "KIND,...")]
    pub skip: Vec<String>,

    #[command(flatten)]
    writing: Writing,

    /// Prints files and losses as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let skip = kinds(&arguments.skip)?;
    let (format, extension) = sinew_io::file::format_of(&arguments.output).map_err(failure)?;
    arguments.writing.check_absent(&arguments.output)?;
    let mut data = load(&arguments.input)?;
    for note in &data.notes {
        console.note(&format!("note: {note}"));
    }
    if !skip.is_empty() {
        data = without(&data, &skip);
    }
    if arguments.boundary {
        if !has_volume(&data) {
            return Err(Failure::Other(format!(
                "{} has no volume cells; --boundary needs them",
                arguments.input.display()
            )));
        }
        data = boundary(&data);
    } else if !format.holds_volumes() && has_volume(&data) {
        let (name, input) = (format.name(), arguments.input.display());
        return Err(Failure::Other(format!(
            "{name} stores surfaces, but {input} is a volume mesh\nhint: --boundary writes its surface"
        )));
    }
    if let Some(scale) = arguments.scale {
        data.points.iter_mut().for_each(|point| *point *= scale);
        if let Some(point) = data.points.iter().position(|point| !point.is_finite()) {
            return Err(Failure::Other(format!("point {point} is not finite after scaling")));
        }
    }
    let files = arguments.writing.encode(&data, &arguments.output)?;
    // Read the result again to find losses; a list of capabilities per format could be wrong.
    let losses = match reread(&files, &arguments.output, format, &extension) {
        Ok(read) => losses(&data, &read, format.name()),
        Err(error) => return Err(Failure::Other(format!("the encoded mesh cannot be read again: {error}"))),
    };
    write(&files, console)?;
    for loss in &losses {
        console.note(&format!("lost: {loss}"));
    }
    if arguments.json {
        let outputs: Vec<_> =
            files.iter().map(|(path, bytes)| json!({ "file": path.to_string_lossy(), "bytes": bytes.len() })).collect();
        let value = json!({ "format": format.name(), "points": data.points.len(), "cells": data.cell_count(), "outputs": outputs, "lost": losses });
        console::print(&format!("{value:#}\n"))?;
    }
    Ok(Status::Done)
}

/// Files in memory, before they are written.
struct Unwritten<'a> {
    files: BTreeMap<String, &'a [u8]>,
    stem: String,
}

impl Companions for Unwritten<'_> {
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        match self.files.get(name) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(ReadError::Companion { place, name: name.into(), reason: "it is not written".into() }),
        }
    }

    fn stem(&self) -> &str {
        &self.stem
    }
}

/// Reads the encoded files.
fn reread(
    files: &[(PathBuf, Vec<u8>)],
    output: &Path,
    format: sinew_io::Format,
    extension: &str,
) -> Result<MeshData, ReadError> {
    let named = |(path, bytes): &'_ (PathBuf, Vec<u8>)| {
        path.file_name().map(|name| (name.to_string_lossy().into_owned(), bytes.clone()))
    };
    let owned: Vec<(String, Vec<u8>)> = files.iter().filter_map(named).collect();
    let stem = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let unwritten =
        Unwritten { files: owned.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())).collect(), stem };
    let has_extension = |path: &Path| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension));
    let main = files.iter().find(|(path, _)| has_extension(path)).or(files.first());
    let bytes = main.map_or(&[][..], |(_, bytes)| bytes);
    decode(bytes, format, extension, &unwritten)
}

/// The losses between two meshes, as sentences.
fn losses(before: &MeshData, after: &MeshData, format: &str) -> Vec<String> {
    let mut lost = Vec::new();
    let mut compare = |what: &str, names: Vec<&str>, is_kept: &dyn Fn(&str) -> bool| {
        let gone: Vec<String> =
            names.into_iter().filter(|name| !is_kept(name)).map(|name| format!("\"{name}\"")).collect();
        if !gone.is_empty() {
            lost.push(format!("{format} cannot store the {what} {}", gone.join(", ")));
        }
    };
    let fields = |fields: &'_ [Field]| -> Vec<String> { fields.iter().map(|field| field.name.clone()).collect() };
    let (point_fields, cell_fields) = (fields(&before.point_fields), fields(&before.cell_fields));
    compare("point fields", point_fields.iter().map(String::as_str).collect(), &|name| {
        after.point_field(name).is_some()
    });
    // A format may rename a label.
    let label = before.labels().map(|field| field.name.as_str());
    compare("cell fields", cell_fields.iter().map(String::as_str).collect(), &|name| {
        after.cell_field(name).is_some() || (Some(name) == label && after.labels().is_some())
    });
    compare("node sets", before.node_sets.keys().map(String::as_str).collect(), &|name| {
        after.node_sets.contains_key(name)
    });
    compare("cell sets", before.cell_sets.keys().map(String::as_str).collect(), &|name| {
        after.cell_sets.contains_key(name)
    });
    let kinds = |data: &MeshData| {
        let mut counts: BTreeMap<CellShape, usize> = BTreeMap::new();
        data.groups.iter().for_each(|group| *counts.entry(group.shape).or_default() += group.len());
        let list: Vec<String> = counts.iter().map(|(shape, count)| format!("{count} × {}", shape.name())).collect();
        list.join(", ")
    };
    let (old, new) = (kinds(before), kinds(after));
    if old != new {
        lost.push(format!("{old} became {new}"));
    } else if after.points.len() == before.points.len() && !before.cells().eq(after.cells()) {
        lost.push("the order of the cells".into());
    }
    if after.points.len() != before.points.len() {
        lost.push(format!("{} points became {}", before.points.len(), after.points.len()));
        return lost;
    }
    let shift = before.points.iter().zip(&after.points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    let size = used_bounds(before).diagonal();
    match shift {
        0.0 => {}
        // Much more than the rounding of single precision.
        shift if shift > 1e-4 * size => lost.push("the order of the points".into()),
        shift => lost.push(format!("points moved by up to {} m: {format} keeps fewer digits", short(shift))),
    }
    lost
}
