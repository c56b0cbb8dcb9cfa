//! `sinew mesh tets`: fills a surface or the labels of an image with tetrahedra that end at it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use sinew_anatomy::field::{DistanceField, FieldOptions, LabelOptions, fields_from_labels};
use sinew_anatomy::mesher::compress::{CompressOptions, mesh_compressed};
use sinew_anatomy::mesher::red::{RedLattice, RedOptions};
use sinew_anatomy::mesher::{MeshOptions, mesh_many, mesh_solid, quality};
use sinew_anatomy::{Labels, Solid};
use sinew_geometry::CellMesh;
use sinew_io::MeshData;
use sinew_io::image::{self, ImageData};
use sinew_scene::Dimension;
use sinew_scene::output::check_outputs;

use super::super::console::{self, Console};
use super::super::progress::duration;
use super::super::{Failure, Status, table};
use super::{Writing, failure, load, quantity, write};

/// Voxels of the distance field of a surface in a cell along each axis: the surface is as sharp as a quarter of a cell.
const VOXELS_PER_CELL: f64 = 2.0;

/// Fills a surface or the labels of an image with tetrahedra that end at it
///
/// A surface may be open or cut itself: inside is where it winds around a point. An image with several labels becomes
/// one mesh whose parts share their faces; its cell field `label` has the numbers of the image.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Input: a surface, or an image with labels
    #[arg(value_name = "FILE")]
    pub input: PathBuf,

    /// Output mesh; its extension selects the format
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Long edge of a cell, for example "4 mm"
    #[arg(long, value_name = "SIZE", value_parser = super::length, default_value = "4 mm")]
    pub cell: f64,

    /// How: stuffed bounds all angles, compressed has the better worst angle and takes longer, red covers the solid with
    /// equal cells in several sizes, whose hanging nodes (node field `hanging_ends`) scenes bind to the edges they halve
    #[arg(long, value_name = "METHOD", default_value = "stuffed", value_parser = ["stuffed", "compressed", "red"])]
    pub method: String,

    /// With --method red: how often cells double in size from the surface, where they have the size of --cell
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=8), default_value = "2")]
    pub levels: u8,

    /// Moves nodes until angles are good (the default)
    #[arg(long, overrides_with = "no_improve")]
    pub improve: bool,

    /// Leaves nodes where they are
    #[arg(long)]
    pub no_improve: bool,

    /// Takes one label of an image, by name or number
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,

    /// Factor on all coordinates of a surface, or their unit (mm converts to meters)
    #[arg(long, value_name = "F", value_parser = super::scale, default_value = "1")]
    pub scale: f64,

    #[command(flatten)]
    writing: Writing,

    /// Prints the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A mesh and what is said of it.
struct Filled {
    mesh: CellMesh,
    /// Smallest and largest dihedral angle \[rad\].
    dihedral: [f64; 2],
    notes: Vec<String>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    check(arguments)?;
    let start = Instant::now();
    let filled = if image::is_image(&arguments.input) { fill_image(arguments) } else { fill_surface(arguments) };
    let filled = filled?;
    let elapsed = start.elapsed();
    for note in &filled.notes {
        console.note(&format!("note: {note}"));
    }
    let files = arguments.writing.encode(&MeshData::from(&filled.mesh), &arguments.output)?;
    write(&files, console)?;
    let [low, high] = filled.dihedral.map(f64::to_degrees);
    let mesh = &filled.mesh;
    if arguments.json {
        let value = json!({
            "cell": arguments.cell,
            "method": arguments.method,
            "nodes": mesh.node_count(),
            "cells": mesh.cell_count(),
            "volume": mesh.volume(),
            "min_dihedral_degrees": low,
            "max_dihedral_degrees": high,
            "seconds": elapsed.as_secs_f64(),
            "notes": filled.notes,
            "outputs": files.iter().map(|(path, _)| path.to_string_lossy()).collect::<Vec<_>>(),
        });
        console::print(&format!("{value:#}\n"))?;
    } else {
        let row = |name: &str, text: String| vec![format!("  {name}"), text];
        let rows = [
            row("cells", format!("{} on {} nodes", mesh.cell_count(), mesh.node_count())),
            row("dihedral angles", format!("{low:.1}°–{high:.1}°")),
            row("volume", quantity(mesh.volume(), Dimension::VOLUME)),
            row("time", duration(elapsed)),
        ];
        console::print(&table::layout(&rows, &[]))?;
    }
    Ok(Status::Done)
}

/// Problems that can be seen before the work begins.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let (format, _) = sinew_io::file::format_of(&arguments.output).map_err(failure)?;
    if !format.holds_volumes() {
        let known: Vec<String> = sinew_io::Format::all()
            .filter(|format| format.holds_volumes())
            .map(|format| format!(".{}", format.extensions()[0]))
            .collect();
        let (name, known) = (format.name(), known.join(", "));
        return Err(Failure::Other(format!("{name} stores surfaces, not volumes\nhint: choose one of {known}")));
    }
    check_outputs([&arguments.input], [&arguments.output]).map_err(failure)?;
    arguments.writing.check_absent(&arguments.output)
}

fn fill_surface(arguments: &Arguments) -> Result<Filled, Failure> {
    let name = arguments.input.display();
    let named = |error: &dyn std::fmt::Display| failure(format!("{name}: {error}"));
    if arguments.label.is_some() {
        return Err(Failure::Other(format!("{name}: a surface has no labels\nhint: leave --label away")));
    }
    let parts = load(&arguments.input)?.into_surface(&Default::default()).map_err(|error| named(&error))?;
    let surface = parts.mesh.mapped(|p| p * arguments.scale).map_err(|error| named(&error))?;
    let voxel = arguments.cell / VOXELS_PER_CELL;
    let field =
        DistanceField::from_surface(&surface, voxel, &FieldOptions::default()).map_err(|error| named(&error))?;
    let mut filled = fill_solid(&field, arguments)?;
    let topology = surface.topology();
    if !topology.is_closed() {
        let open = topology.boundary_edges.len();
        filled.notes.push(format!("the surface is not closed ({open} open edges): winding numbers say what is inside"));
    }
    filled.notes.splice(0..0, parts.notes);
    Ok(filled)
}

/// Covers a solid with cells of several sizes.
fn cover_red(solid: &dyn Solid, arguments: &Arguments) -> Result<Filled, Failure> {
    let name = arguments.input.display();
    let spacing = arguments.cell * f64::from(1u32 << arguments.levels);
    let options = RedOptions { spacing, depth: arguments.levels, ..RedOptions::default() };
    let lattice = RedLattice::cover(solid, &options);
    let lattice = lattice.map_err(|error| failure(format!("{name}: {error}")))?;
    let mesh = lattice.described().map_err(failure)?;
    let tets: Vec<[u32; 4]> = mesh.cells().map(|(_, nodes)| [0, 1, 2, 3].map(|k| nodes[k])).collect();
    let (min, max) = quality::dihedral_range_of(mesh.positions(), &tets);
    let hanging = lattice.hanging.len();
    let text = "nodes hang between cells of two sizes; a scene binds them to the ends of their edges";
    Ok(Filled { mesh, dihedral: [min, max], notes: vec![format!("{hanging} {text}")] })
}

fn fill_solid(solid: &dyn Solid, arguments: &Arguments) -> Result<Filled, Failure> {
    if arguments.method == "red" {
        return cover_red(solid, arguments);
    }
    let name = arguments.input.display();
    let meshed = match arguments.method.as_str() {
        "compressed" => mesh_compressed(solid, &CompressOptions::new(arguments.cell)),
        _ => mesh_solid(solid, &options(arguments)),
    };
    let meshed = meshed.map_err(|error| failure(format!("{name}: {error}")))?;
    let report = &meshed.report;
    let mut notes = Vec::new();
    if report.thin_nodes > 0 {
        let share = 100.0 * report.thin_nodes as f64 / meshed.surface_nodes.len().max(1) as f64;
        let text = "of the surface is thinner than 1.5 cells and may have holes; smaller cells keep it whole";
        notes.push(format!("{share:.1} % {text}"));
    }
    if report.dropped_cells > 0 {
        notes.push(format!("{} cells were left out where parts touch in an edge", report.dropped_cells));
    }
    let dihedral = [report.min_dihedral, report.max_dihedral];
    Ok(Filled { mesh: meshed.mesh, dihedral, notes })
}

fn options(arguments: &Arguments) -> MeshOptions {
    MeshOptions { improve: !arguments.no_improve, ..MeshOptions::new(arguments.cell) }
}

fn fill_image(arguments: &Arguments) -> Result<Filled, Failure> {
    let image = image::load(&arguments.input).map_err(failure)?;
    let name = arguments.input.display();
    let voxels = image.labels().map_err(|error| failure(format!("{name}: {error}")))?;
    let numbers = chosen_labels(&image, arguments.label.as_deref(), &arguments.input)?;
    let labels = Labels { grid: image.grid, voxels };
    let tissues: Vec<&[u16]> = numbers.iter().map(std::slice::from_ref).collect();
    let fields = fields_from_labels(&labels, &tissues, &LabelOptions::default())
        .and_then(|fields| fields.into_iter().collect::<Result<Vec<DistanceField>, _>>())
        .map_err(|error| failure(format!("{name}: {error}")))?;
    let mut filled = match &fields[..] {
        [only] => fill_solid(only, arguments)?,
        _ => fill_labels(&fields, &numbers, &image, arguments)?,
    };
    filled.notes.splice(0..0, image.notes.iter().cloned());
    Ok(filled)
}

/// The labels of an image that are filled: all but the background, or the one that was asked for.
fn chosen_labels(image: &ImageData, wanted: Option<&str>, path: &Path) -> Result<Vec<u16>, Failure> {
    let present: Vec<u16> = image.label_counts().into_keys().filter(|label| *label != 0).collect();
    let known = || present.iter().take(20).map(|label| image.table.name(*label)).collect::<Vec<_>>().join(", ");
    let Some(wanted) = wanted else {
        let path = path.display();
        return if present.is_empty() {
            Err(Failure::Other(format!("{path}: no voxel has a label")))
        } else {
            Ok(present)
        };
    };
    let number = image.table.find(wanted).or_else(|| wanted.parse().ok()).filter(|label| present.contains(label));
    number.map(|label| vec![label]).ok_or_else(|| {
        Failure::Other(format!("{}: no voxel has the label \"{wanted}\"\nhint: labels are {}", path.display(), known()))
    })
}

/// One mesh of several labels.
fn fill_labels(
    fields: &[DistanceField],
    numbers: &[u16],
    image: &ImageData,
    arguments: &Arguments,
) -> Result<Filled, Failure> {
    let name = arguments.input.display();
    if arguments.method == "red" {
        let text = format!("{name}: a red lattice of {} labels would cover them all alike", numbers.len());
        return Err(Failure::Other(format!("{text}\nhint: choose one with --label, or --method stuffed")));
    }
    if arguments.method == "compressed" {
        let text = format!("{name}: {} labels cannot be compressed into one mesh", numbers.len());
        return Err(Failure::Other(format!("{text}\nhint: choose one with --label, or --method stuffed")));
    }
    let solids: Vec<&dyn Solid> = fields.iter().map(|field| field as &dyn Solid).collect();
    let many = mesh_many(&solids, &options(arguments)).map_err(|error| failure(format!("{name}: {error}")))?;
    let lost = numbers.iter().zip(&many.volumes).filter(|(_, volume)| **volume == 0.0);
    let mut notes: Vec<String> =
        lost.map(|(label, _)| format!("{} is smaller than a cell and has none", image.table.name(*label))).collect();
    if many.report.fallback_nodes > 0 {
        let count = many.report.fallback_nodes;
        notes.push(format!("{count} nodes went back to the lattice: interfaces there are up to half a cell off"));
    }
    let labels = many.mesh.cell_labels().iter().map(|solid| u32::from(numbers[*solid as usize])).collect();
    let mesh = many.mesh.with_cell_labels(labels).map_err(failure)?;
    let dihedral = [many.report.min_dihedral, many.report.max_dihedral];
    Ok(Filled { mesh, dihedral, notes })
}
