//! Key figures of a recording, for terminals without pictures and for programs.

use serde_json::{Map, Value, json};
use sinew_geometry::Aabb;
use sinew_geometry::mesh::MAX_CELL_NODES;
use sinew_math::Vec3;
use sinew_record::convert::matching_probes;
use sinew_scene::format_number;
use sinew_store::{Header, Recording, StoreError, StoredFrame};

use super::super::mesh::bytes_text;
use super::super::table;

/// Maximum number of rows of the table; longer recordings are sampled evenly.
const ROWS: usize = 20;

/// Default number of probe columns.
const PROBES: usize = 3;

/// The recording as a table.
pub fn to_text(recording: &Recording, probes: &[String], frame: Option<i64>, all: bool) -> Result<String, StoreError> {
    let header = recording.header();
    let count = recording.frame_count();
    let bodies: Vec<&str> = header.bodies.iter().map(|body| body.name.as_str()).collect();
    let last = recording.frame(count - 1)?;
    let mut text = format!(
        "{}: {} of {}, {} frames, {} s\n",
        recording.path().display(),
        if bodies.is_empty() { "probes".to_string() } else { bodies.join(", ") },
        header.scene_name,
        count,
        format_number(round(last.time)),
    );
    text += &format!(
        "  {}, {} probes, {}\n",
        bytes_text(recording.length()),
        header.probe_names.len(),
        if header.error > 0.0 {
            format!("rounded to {} of the size", format_number(header.error))
        } else {
            "exact".into()
        }
    );
    let columns = columns(header, probes);
    let chosen: Vec<usize> = match frame {
        Some(frame) => {
            let number = if frame < 0 { count as i64 + frame } else { frame };
            vec![usize::try_from(number).unwrap_or(usize::MAX)]
        }
        None if all || count <= ROWS => (0..count).collect(),
        None => (0..ROWS).map(|row| row * (count - 1) / (ROWS - 1)).collect(),
    };
    let mut frames = Vec::new();
    for number in chosen {
        let stored = recording.frame(number)?;
        let measured = measures(header, &stored);
        frames.push((stored, measured));
    }
    // One unit per column, so that its numbers can be compared.
    let largest = frames.iter().filter_map(|(_, (_, size))| size.map(|size| size.max_component())).fold(0.0, f64::max);
    let (unit, per_meter) = match largest {
        l if l >= 2.0 => ("m", 1.0),
        l if l >= 0.02 => ("cm", 1e2),
        _ => ("mm", 1e3),
    };
    let mut titles = vec!["  frame".to_string(), "time [s]".into()];
    if largest > 0.0 {
        titles.extend([
            format!("volume [{unit}³]"),
            format!("x [{unit}]"),
            format!("y [{unit}]"),
            format!("z [{unit}]"),
        ]);
    }
    titles.extend(columns.iter().map(|&column| header.probe_names[column].clone()));
    let mut rows = vec![titles];
    for (stored, (volume, size)) in &frames {
        let mut row = vec![format!("  {}", stored.index), format!("{:.4}", stored.time)];
        if largest > 0.0 {
            let shown = |value: Option<f64>, power: i32| {
                value.map_or("-".into(), |value| format!("{:.2}", value * f64::powi(per_meter, power)))
            };
            row.push(shown(*volume, 3));
            row.extend((0..3).map(|axis| shown(size.map(|size| size[axis]), 1)));
        }
        row.extend(columns.iter().map(|&column| format_number(round(stored.probes[column]))));
        rows.push(row);
    }
    let right: Vec<bool> = rows[0].iter().map(|_| true).collect();
    text += &table::layout(&rows, &right);
    if largest > 0.0 {
        text += "  x, y and z are the extents of all bodies together; --probe NAME selects other columns\n";
    }
    Ok(text)
}

/// Four significant digits.
fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Columns of the table: the probes that match `--probe`, else the first probes that the scene defines.
fn columns(header: &Header, requested: &[String]) -> Vec<usize> {
    let names = &header.probe_names;
    if let Ok(found) = matching_probes(names, requested)
        && !found.is_empty()
    {
        return found;
    }
    // The probes of a scene are NAME.displacement.x and so on; the vertical part is the most useful.
    let is_own = |name: &String| name.ends_with(".displacement.z");
    let mut found: Vec<usize> = (0..names.len()).filter(|&i| is_own(&names[i])).collect();
    found.extend((0..names.len()).filter(|&i| names[i] == "energy.total" || names[i] == "inverted_cells"));
    found.truncate(PROBES);
    found
}

/// Volume \[m³\] and extents \[m\] of all bodies together.
fn measures(header: &Header, stored: &StoredFrame) -> (Option<f64>, Option<Vec3>) {
    if !stored.has_geometry || header.bodies.is_empty() {
        return (None, None);
    }
    let frame = stored.view(header);
    let mut bounds = Aabb::EMPTY;
    let mut volume = 0.0;
    for body in &frame.bodies {
        body.positions.iter().for_each(|&position| bounds.include(position));
        for (kind, nodes) in body.mesh.cells() {
            let mut corners = [Vec3::zero(); MAX_CELL_NODES];
            for (corner, &node) in corners.iter_mut().zip(nodes) {
                *corner = body.positions[node as usize];
            }
            volume += kind.volume(&corners[..nodes.len()]);
        }
    }
    (Some(volume), Some(bounds.size()))
}

/// All data except the shapes.
pub fn to_json(recording: &Recording) -> Result<Value, StoreError> {
    let header = recording.header();
    let mut frames = Vec::with_capacity(recording.frame_count());
    for stored in recording.frames() {
        let stored = stored?;
        let (volume, size) = measures(header, &stored);
        let probes: Map<String, Value> =
            header.probe_names.iter().cloned().zip(stored.probes.iter().map(|value| json!(value))).collect();
        frames.push(json!({
            "frame": stored.index,
            "time": stored.time,
            "volume": volume,
            "size": size.map(|size| size.to_array()),
            "probes": probes,
        }));
    }
    Ok(json!({
        "file": recording.path().to_string_lossy(),
        "scene": header.scene_name,
        "overrides": header.overrides,
        "frame_rate": header.frame_rate,
        "error": header.error,
        "bytes": recording.length(),
        "lost_bytes": recording.lost_bytes(),
        "bodies": header.bodies.iter().map(|body| json!({ "name": body.name, "nodes": body.mesh.node_count(), "cells": body.mesh.cell_count() })).collect::<Vec<_>>(),
        "frames": frames,
    }))
}
