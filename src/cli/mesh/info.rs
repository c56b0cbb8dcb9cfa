//! `sinew mesh info`: prints the content of meshes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sinew_geometry::{Aabb, CellKind};
use sinew_io::{CellShape, Field, MeshData, ReadError, VolumeOptions};
use sinew_math::Vec3;
use sinew_record::still::MeshPicture;
use sinew_scene::inspect::{Skin, cell_quality, far_points, has_volume, spread, triangle_angles, used_bounds};
use sinew_scene::template::plausible_scale;
use sinew_scene::{Dimension, format_size};

use super::super::console::{self, Console};
use super::super::{Failure, Status, table};
use super::image_info::ImageFacts;
use super::motion_info::MotionFacts;
use super::{bytes_text, check_picture, draw, load, point_text, quantity, short};

/// Prints the content of meshes: cells, size, regions, fields, and possible uses; of motions (.bvh) joints and frames, of
/// volumes (.nii, .nrrd, .mha, .dcm, folders of slices) spacing, axes and labels
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Mesh files, motions (.bvh), or volumes
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Draws the mesh
    #[arg(long, value_name = "FILE.png")]
    pub picture: Option<PathBuf>,

    /// Prints one JSON object, or a list for several files
    #[arg(long)]
    pub json: bool,
}

/// Runs the command. Reads all files, also after an error.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    check_picture(&arguments.files, arguments.picture.as_ref(), &[])?;
    let mut all = Vec::new();
    let mut bad = 0;
    for path in &arguments.files {
        if ImageFacts::are_of(path) {
            match ImageFacts::read(path) {
                Ok(facts) if arguments.json => all.push(facts.to_json()),
                Ok(facts) => console::print(&facts.to_text())?,
                Err(failure) => {
                    bad += 1;
                    console::message(&failure.to_string());
                }
            }
            continue;
        }
        if MotionFacts::are_of(path) {
            match MotionFacts::read(path) {
                Ok(facts) if arguments.json => all.push(facts.to_json()),
                Ok(facts) => console::print(&facts.to_text())?,
                Err(failure) => {
                    bad += 1;
                    console::message(&failure.to_string());
                }
            }
            continue;
        }
        match load(path) {
            Ok(data) => {
                let facts = Facts::of(path, &data);
                if arguments.json {
                    all.push(facts.to_json());
                } else {
                    console::print(&facts.to_text())?;
                }
                if let Some(picture) = &arguments.picture {
                    let (title, caption) = (facts.name(), facts.caption());
                    draw(
                        picture,
                        &data,
                        &MeshPicture { title: &title, caption: &caption, ..MeshPicture::default() },
                        console,
                    )?;
                }
            }
            Err(failure) => {
                bad += 1;
                console::message(&failure.to_string());
            }
        }
    }
    if arguments.json && !all.is_empty() {
        let value = if arguments.files.len() == 1 { all.remove(0) } else { Value::Array(all) };
        console::print(&format!("{value:#}\n"))?;
    }
    if bad > 0 { Err(Failure::Reported) } else { Ok(Status::Done) }
}

/// Use of a mesh.
enum Use {
    Simulate { repairs: Option<String> },
    Fill { is_closed: bool, has_crossings: bool },
    Nothing(String),
}

/// Content of a file.
struct Facts {
    path: PathBuf,
    format: &'static str,
    bytes: u64,
    points: usize,
    kinds: BTreeMap<CellShape, usize>,
    bounds: Aabb,
    volume: Option<f64>,
    area: Option<f64>,
    labels: Vec<(f64, usize)>,
    node_sets: Vec<(String, usize)>,
    cell_sets: Vec<(String, usize)>,
    point_fields: Vec<FieldFacts>,
    cell_fields: Vec<FieldFacts>,
    /// Kind of the angles, their range and median \[rad\].
    angles: Option<(&'static str, [f64; 2], f64)>,
    /// Aspect ratios: smallest, first percentile, median, 99th percentile, largest.
    aspect: Option<[f64; 5]>,
    parts: usize,
    use_for: Use,
    notes: Vec<String>,
    /// Whether lengths are finite.
    is_measurable: bool,
}

/// Content of a field.
struct FieldFacts {
    name: String,
    components: usize,
    /// Range of the values, or of their lengths.
    range: [f64; 2],
    not_finite: usize,
}

impl FieldFacts {
    fn of(field: &Field) -> FieldFacts {
        let n = field.components.max(1);
        let size = |row: &[f64]| if n == 1 { row[0] } else { row.iter().map(|v| v * v).sum::<f64>().sqrt() };
        let mut facts = FieldFacts {
            name: field.name.clone(),
            components: n,
            range: [f64::INFINITY, f64::NEG_INFINITY],
            not_finite: 0,
        };
        for value in field.values.chunks_exact(n).map(size) {
            if value.is_finite() {
                facts.range = [facts.range[0].min(value), facts.range[1].max(value)];
            } else {
                facts.not_finite += 1;
            }
        }
        facts
    }

    fn to_text(&self) -> String {
        let range = match self.range {
            [low, high] if low > high => "no finite value".to_string(),
            [low, high] if low == high => format!("{} everywhere", short(low)),
            [low, high] => format!("{} … {}", short(low), short(high)),
        };
        let kind =
            if self.components == 1 { String::new() } else { format!(" [{} components, length]", self.components) };
        let holes = if self.not_finite > 0 { format!(", {} not finite", self.not_finite) } else { String::new() };
        format!("{}{kind}  {range}{holes}", self.name)
    }

    fn to_json(&self) -> Value {
        let range = (self.range[0] <= self.range[1]).then_some(self.range);
        json!({ "name": self.name, "components": self.components, "range": range, "not_finite": self.not_finite })
    }
}

/// Maximum number of faces tested for intersections; `mesh check` tests larger surfaces.
const TESTED_FACES: usize = 500_000;

impl Facts {
    fn of(path: &Path, data: &MeshData) -> Facts {
        let mut kinds = BTreeMap::new();
        for group in &data.groups {
            *kinds.entry(group.shape).or_insert(0) += group.len();
        }
        let format = sinew_io::file::format_of(path).map_or("", |(format, _)| format.name());
        let sizes =
            |sets: &BTreeMap<String, Vec<u32>>| sets.iter().map(|(name, set)| (name.clone(), set.len())).collect();
        let label = data.labels().map_or("", |field| field.name.as_str());
        let shown = |field: &&Field| field.name != label;
        let skin = Skin::of(data);
        let corner = |t: &[u32; 3]| t.map(|v| data.points[v as usize]);
        let area: f64 = skin.triangles.iter().map(corner).map(|[a, b, c]| 0.5 * (b - a).cross(c - a).norm()).sum();
        let far = far_points(data);
        let mut facts = Facts {
            path: path.into(),
            format,
            bytes: std::fs::metadata(path).map_or(0, |file| file.len()),
            points: data.points.len(),
            kinds,
            bounds: used_bounds(data),
            volume: None,
            area: (!skin.triangles.is_empty() && far.is_none()).then_some(area),
            labels: labels(data),
            node_sets: sizes(&data.node_sets),
            cell_sets: sizes(&data.cell_sets),
            point_fields: data.point_fields.iter().map(FieldFacts::of).collect(),
            cell_fields: data.cell_fields.iter().filter(shown).map(FieldFacts::of).collect(),
            angles: None,
            aspect: None,
            parts: 0,
            use_for: Use::Nothing("it has no volume cells and no faces".into()),
            notes: data.notes.clone(),
            is_measurable: true,
        };
        if let Some(far) = far {
            facts.use_for = Use::Nothing(format!("it has {} {}", far.count, far.what));
            facts.is_measurable = false;
        } else if has_volume(data) {
            facts.look_at_volume(data);
        } else if !skin.triangles.is_empty() {
            facts.look_at_surface(data);
        }
        facts
    }

    fn look_at_volume(&mut self, data: &MeshData) {
        match data.clone().into_volume(&VolumeOptions::default()) {
            Ok(parts) => {
                self.volume = Some(parts.mesh.volume());
                self.parts = parts.report.component_count;
                let repairs = (!parts.report.is_clean()).then(|| parts.report.to_string());
                self.use_for = Use::Simulate { repairs };
            }
            Err(error) => self.use_for = Use::Nothing(reason(&error)),
        }
        let (mut least, mut most, mut aspects) = (Vec::new(), 0.0f64, Vec::new());
        for (shape, nodes) in data.cells() {
            let kind = match shape {
                CellShape::Tet4 => CellKind::Tet4,
                CellShape::Tet10 => CellKind::Tet10,
                CellShape::Hex8 => CellKind::Hex8,
                _ => continue,
            };
            let corners: Vec<Vec3> = nodes.iter().map(|&node| data.points[node as usize]).collect();
            let quality = cell_quality(kind, &corners);
            least.push(quality.min_angle);
            most = most.max(quality.max_angle);
            aspects.push(quality.aspect);
        }
        self.angles = spread(least).map(|[low, _, median, ..]| ("between faces", [low, most], median));
        self.aspect = spread(aspects);
    }

    fn look_at_surface(&mut self, data: &MeshData) {
        let parts = match data.clone().into_surface(&BTreeSet::new()) {
            Ok(parts) => parts,
            Err(error) => {
                self.use_for = Use::Nothing(reason(&error));
                return;
            }
        };
        let mesh = parts.mesh;
        let is_closed = mesh.is_closed();
        self.parts = mesh.components().count;
        self.volume = is_closed.then(|| mesh.volume().abs());
        let has_crossings = mesh.triangle_count() <= TESTED_FACES && !mesh.self_intersections(1).is_empty();
        self.use_for = Use::Fill { is_closed, has_crossings };
        self.notes.extend(parts.notes.into_iter().filter(|note| !data.notes.contains(note)));
        let angles: Vec<[f64; 2]> = (0..mesh.triangle_count()).map(|t| triangle_angles(mesh.corners(t))).collect();
        let most = angles.iter().map(|angles| angles[1]).fold(0.0, f64::max);
        let least = spread(angles.iter().map(|angles| angles[0]).collect());
        self.angles = least.map(|[low, _, median, ..]| ("of triangles", [low, most], median));
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Short text for the corner of a picture.
    fn caption(&self) -> String {
        let count: usize = self.kinds.values().sum();
        let kinds: Vec<String> =
            self.kinds.iter().map(|(shape, count)| format!("{count} x {}", shape.name())).collect();
        if kinds.len() <= 2 { kinds.join(", ") } else { format!("{count} cells of {} kinds", kinds.len()) }
    }

    /// The use of the mesh in one line.
    fn use_text(&self) -> String {
        match &self.use_for {
            Use::Simulate { repairs: None } => "can be simulated: mesh = { from = \"file\", … }".into(),
            Use::Simulate { repairs: Some(repairs) } => format!("can be simulated after repair: {repairs}"),
            Use::Fill { is_closed: true, has_crossings: false } => {
                "can be filled: mesh = { from = \"fill\", … } or `sinew mesh fill`".into()
            }
            Use::Fill { is_closed, .. } => {
                let why = if *is_closed { "it intersects itself" } else { "it is open or inconsistently oriented" };
                format!("{why}: can be filled only with repair = \"winding\"; `sinew mesh check` shows where")
            }
            Use::Nothing(reason) => format!("cannot be simulated: {reason}; `sinew mesh check` shows details"),
        }
    }

    fn to_text(&self) -> String {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut add = |name: &str, text: String| rows.push(vec![format!("  {name}"), text]);
        add("points", self.points.to_string());
        let kinds: Vec<String> =
            self.kinds.iter().map(|(shape, count)| format!("{count} × {}", shape.name())).collect();
        add("cells", if kinds.is_empty() { "none".into() } else { kinds.join(", ") });
        if !self.bounds.is_empty() {
            let size = self.bounds.size();
            let (factor, unit) = plausible_scale(size.max_component());
            let doubt = if factor == 1.0 {
                String::new()
            } else {
                format!("   (in meters; probably {unit}: scale = {})", short(factor))
            };
            if self.is_measurable {
                add("size", format!("{}{doubt}", format_size(size.to_array(), 4)));
            }
            add("bounds", format!("{} to {} m", point_text(self.bounds.min), point_text(self.bounds.max)));
        }
        let measures: Vec<String> = [
            self.volume.map(|volume| quantity(volume, Dimension::VOLUME)),
            self.area.map(|area| {
                let area = quantity(area, Dimension::AREA);
                if self.volume.is_some() { format!("surface {area}") } else { area }
            }),
            (self.parts > 1).then(|| format!("{} separate parts", self.parts)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !measures.is_empty() {
            add(if self.volume.is_some() { "volume" } else { "surface" }, measures.join(", "));
        }
        let listed = |list: Vec<String>| {
            const SHOWN: usize = 12;
            let more = if list.len() > SHOWN { format!(" and {} more", list.len() - SHOWN) } else { String::new() };
            list.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ") + &more
        };
        if !self.labels.is_empty() {
            add("labels", listed(self.labels.iter().map(|(label, count)| format!("{label}: {count} cells")).collect()));
        }
        for (name, sets) in [("node sets", &self.node_sets), ("cell sets", &self.cell_sets)] {
            if !sets.is_empty() {
                add(name, listed(sets.iter().map(|(name, count)| format!("{name} ({count})")).collect()));
            }
        }
        for (name, fields) in [("point fields", &self.point_fields), ("cell fields", &self.cell_fields)] {
            for (number, field) in fields.iter().enumerate() {
                add(if number == 0 { name } else { "" }, field.to_text());
            }
        }
        if let Some((what, [low, high], median)) = self.angles {
            let [low, high, median] = [low, high, median].map(f64::to_degrees);
            let aspect =
                self.aspect.map(|[_, _, median, _, most]| format!("; aspect {median:.2} usual, {most:.2} worst"));
            add(
                "angles",
                format!("{low:.1}° … {high:.1}° {what}, smallest usually {median:.0}°{}", aspect.unwrap_or_default()),
            );
        }
        add("use", self.use_text());
        for (number, note) in self.notes.iter().enumerate() {
            add(if number == 0 { "notes" } else { "" }, note.clone());
        }
        format!("{}: {}, {}\n{}", self.path.display(), self.format, bytes_text(self.bytes), table::layout(&rows, &[]))
    }

    fn to_json(&self) -> Value {
        let kinds: serde_json::Map<String, Value> =
            self.kinds.iter().map(|(shape, count)| (shape.name().to_string(), json!(count))).collect();
        let counts = |sets: &[(String, usize)]| -> serde_json::Map<String, Value> {
            sets.iter().map(|(name, count)| (name.clone(), json!(count))).collect()
        };
        let corner = |p: Vec3| p.to_array();
        let (simulate, fill) = match &self.use_for {
            Use::Simulate { .. } => (true, false),
            Use::Fill { is_closed, has_crossings } => (false, *is_closed && !has_crossings),
            Use::Nothing(_) => (false, false),
        };
        json!({
            "file": self.path.to_string_lossy(),
            "format": self.format,
            "bytes": self.bytes,
            "points": self.points,
            "cells": kinds,
            "bounds": (!self.bounds.is_empty()).then(|| json!({ "min": corner(self.bounds.min), "max": corner(self.bounds.max) })),
            "volume": self.volume,
            "area": self.area,
            "parts": self.parts,
            "labels": self.labels.iter().map(|(label, count)| json!({ "label": label, "cells": count })).collect::<Vec<_>>(),
            "node_sets": counts(&self.node_sets),
            "cell_sets": counts(&self.cell_sets),
            "point_fields": self.point_fields.iter().map(FieldFacts::to_json).collect::<Vec<_>>(),
            "cell_fields": self.cell_fields.iter().map(FieldFacts::to_json).collect::<Vec<_>>(),
            "angles": self.angles.map(|(_, [low, high], median)| json!({
                "smallest": low.to_degrees(), "largest": high.to_degrees(), "usual_smallest": median.to_degrees(),
            })),
            "aspect": self.aspect.map(|[_, _, median, _, most]| json!({ "usual": median, "worst": most })),
            "can_be_simulated": simulate,
            "can_be_filled": fill,
            "use": self.use_text(),
            "notes": self.notes,
        })
    }
}

/// Why a mesh cannot be used.
fn reason(error: &ReadError) -> String {
    match error {
        ReadError::CellKinds { reason, .. } => (*reason).to_string(),
        other => other.to_string().lines().next().unwrap_or_default().to_string(),
    }
}

/// Labels and their cell counts, sorted by label.
fn labels(data: &MeshData) -> Vec<(f64, usize)> {
    let Some(field) = data.labels() else { return Vec::new() };
    let mut values: Vec<f64> = field.values.iter().copied().filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.chunk_by(|a, b| a == b).map(|group| (group[0], group.len())).collect()
}
