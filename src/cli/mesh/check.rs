//! `sinew mesh check`: reports all problems of meshes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sinew_io::MeshData;
use sinew_math::Vec3;
use sinew_record::still::MeshPicture;
use sinew_scene::inspect::{Diagnosis, Problem, Purpose, Severity, diagnose};

use super::super::console::{self, Console};
use super::super::{Failure, Status};
use super::{check_picture, draw, load, point_text};

/// Reports all problems of meshes; the exit status is 1 if one cannot be simulated
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Mesh files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Draws the mesh with its problems in red
    #[arg(long, value_name = "FILE.png")]
    pub picture: Option<PathBuf>,

    /// Prints one JSON object, or a list for several files
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    check_picture(&arguments.files, arguments.picture.as_ref(), &[])?;
    let (mut all, mut unreadable, mut unusable) = (Vec::new(), 0, 0);
    for path in &arguments.files {
        let data = match load(path) {
            Ok(data) => data,
            Err(failure) => {
                unreadable += 1;
                console::message(&failure.to_string());
                continue;
            }
        };
        let diagnosis = diagnose(&data);
        unusable += usize::from(!diagnosis.is_usable());
        if arguments.json {
            all.push(to_json(path, &diagnosis));
        } else {
            console::print(&to_text(path, &data, &diagnosis))?;
        }
        if let Some(picture) = &arguments.picture {
            show(picture, path, &data, &diagnosis, console)?;
        }
    }
    if arguments.json && !all.is_empty() {
        let value = if arguments.files.len() == 1 { all.remove(0) } else { Value::Array(all) };
        console::print(&format!("{value:#}\n"))?;
    }
    match (unreadable, unusable) {
        (0, 0) => Ok(Status::Done),
        (0, _) => Ok(Status::Unexpected),
        _ => Err(Failure::Reported),
    }
}

/// Use of the mesh, to complete "can be …".
fn purpose(diagnosis: &Diagnosis) -> &'static str {
    match diagnosis.purpose {
        Purpose::Simulate => "simulated",
        Purpose::Fill => "filled",
        Purpose::Nothing => "used",
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Fatal => "FATAL",
        Severity::Suspect => "suspect",
        Severity::Repaired => "repaired",
    }
}

fn to_text(path: &Path, data: &MeshData, diagnosis: &Diagnosis) -> String {
    let count = |severity| diagnosis.problems.iter().filter(|problem| problem.severity == severity).count();
    let verdict = match (count(Severity::Fatal), count(Severity::Suspect)) {
        (0, 0) => format!("ok, can be {}", purpose(diagnosis)),
        (0, suspects) => format!(
            "can be {}, but look at {suspects} finding{}",
            purpose(diagnosis),
            if suspects == 1 { "" } else { "s" }
        ),
        _ => format!("cannot be {}", purpose(diagnosis)),
    };
    let mut text =
        format!("{}: {verdict} ({} points, {} cells)\n", path.display(), data.points.len(), data.cell_count());
    for (number, problem) in diagnosis.problems.iter().enumerate() {
        let next = diagnosis.problems.get(number + 1);
        let count = match (problem.count, problem.is_at_least) {
            (0, _) => String::new(),
            (count, false) => format!(": {count}"),
            (count, true) => format!(": {count} or more"),
        };
        text += &format!("  {:<8} {}{count}\n", word(problem.severity), problem.what);
        for spot in &problem.spots {
            let detail = if spot.detail.is_empty() { String::new() } else { format!(": {}", spot.detail) };
            text += &format!("             {} at {}{detail}\n", spot.name, point_text(spot.at));
        }
        // Print a hint once for problems with the same remedy.
        if !problem.hint.is_empty() && next.is_none_or(|next| next.hint != problem.hint) {
            text += &format!("           hint: {}\n", problem.hint);
        }
    }
    text
}

fn to_json(path: &Path, diagnosis: &Diagnosis) -> Value {
    let problem = |problem: &Problem| {
        let spots = problem
            .spots
            .iter()
            .map(|spot| json!({ "name": spot.name, "at": spot.at.to_array(), "detail": spot.detail }));
        json!({
            "key": problem.key,
            "what": problem.what,
            "severity": word(problem.severity).to_lowercase(),
            "count": problem.count,
            "worst": spots.collect::<Vec<_>>(),
            "cells": problem.cells,
            "hint": problem.hint,
        })
    };
    json!({
        "file": path.to_string_lossy(),
        "is_usable": diagnosis.is_usable(),
        "purpose": purpose(diagnosis),
        "problems": diagnosis.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

/// Draws the mesh: cells and edges of problems in red, rings around the worst points.
fn show(picture: &Path, path: &Path, data: &MeshData, diagnosis: &Diagnosis, console: Console) -> Result<(), Failure> {
    let shown = || diagnosis.problems.iter().filter(|problem| problem.severity != Severity::Repaired);
    let cells: Vec<u32> = shown().flat_map(|problem| problem.cells.iter().copied()).collect();
    let edges: Vec<[Vec3; 2]> = shown().flat_map(|problem| problem.edges.iter().copied()).collect();
    let has_location = |problem: &&Problem| !problem.cells.is_empty() || !problem.edges.is_empty();
    let rings: Vec<Vec3> =
        shown().filter(has_location).flat_map(|problem| problem.spots.iter().map(|spot| spot.at)).collect();
    let title = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found: usize = shown().count();
    let caption = match found {
        0 => "no problems".to_string(),
        1 => "1 finding".to_string(),
        count => format!("{count} findings"),
    };
    let what = MeshPicture {
        title: &title,
        caption: &caption,
        marked_cells: &cells,
        marked_edges: &edges,
        rings: &rings,
        size: [0, 0],
    };
    draw(picture, data, &what, console)
}
