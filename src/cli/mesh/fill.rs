//! `sinew mesh fill`: fills a closed surface with tetrahedra.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use sinew_geometry::fill::{FillOptions, Repair, fill_surface};
use sinew_io::{Field, MeshData, SurfaceParts};
use sinew_record::still::MeshPicture;
use sinew_scene::Dimension;

use super::super::console::{self, Console};
use super::super::progress::duration;
use super::super::{Failure, Status, table};
use super::{Writing, check_picture, draw, failure, kinds, load, quantity, write};

/// Fills a closed surface with tetrahedra
///
/// The lattice covers the surface and extends beyond it by less than a cell. The cell field `inside` is the fraction of
/// each cell inside the surface. In a scene, mesh = { from = "fill" } does the same and keeps the surface for pictures.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Input surface
    #[arg(value_name = "SURFACE")]
    pub surface: PathBuf,

    /// Output mesh; its extension selects the format
    #[arg(value_name = "OUT")]
    pub output: PathBuf,

    /// Edge length of a cell, for example "8 mm"
    #[arg(long, value_name = "SIZE", value_parser = super::length)]
    pub cell: f64,

    /// For a surface that is open or intersects itself: none is an error, winding fills it by winding numbers
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = ["none", "winding"])]
    pub repair: String,

    /// Factor on all coordinates before filling, or their unit (mm converts to meters)
    #[arg(long, value_name = "F", value_parser = super::scale, default_value = "1")]
    pub scale: f64,

    /// Kinds of cells to skip
    #[arg(long, value_name = "KIND,...")]
    pub skip: Vec<String>,

    /// Draws the result
    #[arg(long, value_name = "FILE.png")]
    pub picture: Option<PathBuf>,

    #[command(flatten)]
    writing: Writing,

    /// Prints the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let skip = kinds(&arguments.skip)?;
    let (format, _) = sinew_io::file::format_of(&arguments.output).map_err(failure)?;
    if !format.holds_volumes() {
        let known: Vec<String> = sinew_io::Format::all()
            .filter(|format| format.holds_volumes())
            .map(|format| format!(".{}", format.extensions()[0]))
            .collect();
        return Err(Failure::Other(format!(
            "{} stores surfaces, not volumes\nhint: choose one of {}",
            format.name(),
            known.join(", ")
        )));
    }
    arguments.writing.check_absent(&arguments.output)?;
    let surfaces = std::slice::from_ref(&arguments.surface);
    check_picture(surfaces, arguments.picture.as_ref(), std::slice::from_ref(&arguments.output))?;
    let name = arguments.surface.display();
    let SurfaceParts { mesh: surface, groups, notes, .. } =
        load(&arguments.surface)?.into_surface(&skip).map_err(|error| failure(format!("{name}: {error}")))?;
    for note in notes {
        console.note(&format!("note: {note}"));
    }
    let surface = surface.mapped(|p| p * arguments.scale).map_err(|error| failure(format!("{name}: {error}")))?;
    let repair = if arguments.repair == "winding" { Repair::Winding } else { Repair::Reject };
    let start = Instant::now();
    let filled = fill_surface(&surface, arguments.cell, &FillOptions { repair, ..FillOptions::default() })
        .map_err(|error| failure(format!("{name}: {error}").replace("repair = \"winding\"", "--repair winding")))?;
    let elapsed = start.elapsed();
    // A group of the surface becomes a node set: the nodes that embed its vertices.
    let mut mesh = filled.mesh.clone();
    for (name, triangles) in groups {
        let vertices = triangles.iter().flat_map(|&triangle| surface.triangles()[triangle as usize]);
        let nodes = vertices.flat_map(|vertex| filled.embedding.entries(vertex as usize).0.iter().copied()).collect();
        mesh = mesh.with_node_set(name, nodes).map_err(failure)?;
    }
    let mut data = MeshData::from(&mesh);
    data.cell_fields.push(Field::scalars("inside", filled.inside_fractions(&surface)));
    let files = arguments.writing.encode(&data, &arguments.output)?;
    write(&files, console)?;
    let quality = mesh.quality();
    let report = &filled.report;
    if arguments.json {
        let value = json!({
            "surface": { "points": surface.vertex_count(), "triangles": surface.triangle_count(), "volume": report.surface_volume },
            "cell": arguments.cell,
            "nodes": mesh.node_count(),
            "cells": mesh.cell_count(),
            "volume": report.lattice_volume,
            "parts": report.component_count,
            "boundary_edges": report.boundary_edges,
            "branching_edges": report.branching_edges,
            "inconsistent_edges": report.inconsistent_edges,
            "self_intersections": report.self_intersections,
            "smallest_angle": quality.min_dihedral.to_degrees(),
            "seconds": elapsed.as_secs_f64(),
            "outputs": files.iter().map(|(path, _)| path.to_string_lossy()).collect::<Vec<_>>(),
        });
        console::print(&format!("{value:#}\n"))?;
    } else {
        let row = |name: &str, text: String| vec![format!("  {name}"), text];
        let rows = [
            row(
                "surface",
                format!(
                    "{} triangles, {}",
                    surface.triangle_count(),
                    quantity(report.surface_volume, Dimension::VOLUME)
                ),
            ),
            row(
                "filled with",
                format!("{} tetrahedra on {} nodes in {}", mesh.cell_count(), mesh.node_count(), duration(elapsed)),
            ),
            row("report", report.to_string()),
            row("shape", quality.to_string()),
        ];
        console::print(&table::layout(&rows, &[]))?;
    }
    if let Some(picture) = &arguments.picture {
        let title = arguments.output.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let caption = format!("{} tetrahedra", mesh.cell_count());
        draw(picture, &data, &MeshPicture { title: &title, caption: &caption, ..MeshPicture::default() }, console)?;
    }
    Ok(Status::Done)
}
