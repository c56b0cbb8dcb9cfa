//! `sinew bench anatomy`: the arm phantom from noisy labels without tendons to a model, against the truth.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use sinew_anatomy::phantom::{AttachmentKind, Phantom, TissueKind};
use sinew_geometry::CellMesh;
use sinew_io::VolumeOptions;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use sinew_run::anatomy::{BuildOptions, Model, build, phantom_of, phantom_recipe};
use sinew_scene::Recipe;
use sinew_scene::recipe::image::{PhantomImage, PhantomName};
use sinew_scene::recipe::model::ModelTissue;
use sinew_scene::recipe::tissue::Kind;

use super::super::console::Console;
use super::super::{Failure, mesh};

/// The arm phantom from noisy labels without tendons to a model, against the truth
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Edge of the voxels
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length, default_value = "4 mm")]
    voxel: f64,

    /// Size of the cells [default: twice the voxels]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    cell: Option<f64>,

    /// Size of the cells of the cover [default: four cells]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    cover: Option<f64>,

    /// Shows tendons in the image and makes no noise
    #[arg(long)]
    clean: bool,

    /// Keeps the model in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Builds the model twice and compares it with the phantom.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let temporary = std::env::temp_dir().join(format!("sinew-bench-anatomy-{}", std::process::id()));
    let folder = arguments.keep.clone().unwrap_or_else(|| temporary.clone());
    let cell = arguments.cell.unwrap_or(2.0 * arguments.voxel);
    let image = PhantomImage {
        name: PhantomName::Arm,
        voxel: arguments.voxel,
        noise: if arguments.clean { 0.0 } else { 0.3 },
        without_tendons: !arguments.clean,
        ..PhantomImage::default()
    };
    let text = phantom_recipe(&image, cell, Some(arguments.cover.unwrap_or(4.0 * cell)));
    let recipe = Recipe::from_text(&text, "arm.toml", ".")?;
    let options = || BuildOptions { folder: Some(&folder), ..BuildOptions::default() };
    console.note("first build");
    let start = Instant::now();
    let model = build(&recipe, &options())?;
    let seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let again = build(&recipe, &options())?;
    let second = start.elapsed().as_secs_f64();
    console.note("comparison with the phantom");
    let phantom = phantom_of(PhantomName::Arm);
    let measured = compared(&phantom, &model, &folder, arguments.voxel);
    if arguments.keep.is_none() {
        let _ = std::fs::remove_dir_all(&temporary);
    }
    let facts = &model.file.tissue;
    let sum = |count: &dyn Fn(&ModelTissue) -> usize| facts.iter().map(count).sum::<usize>();
    Ok(json!({
        "voxel": arguments.voxel,
        "cell": cell,
        "seconds": seconds,
        "second_build_seconds": second,
        "second_build_stages": again.stages.len(),
        "peak_mib": peak_mib(),
        "tissues": facts.len(),
        "missing": model.problems.len(),
        "problems": model.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>(),
        "fine_tets": sum(&|tissue| tissue.cells),
        "coarse_tets": sum(&|tissue| tissue.cover_cells),
        "step_ratio": model.file.step_ratio,
        "truth": measured,
    }))
}

/// Largest memory of this process so far \[MiB\].
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// How a muscle compares with the phantom.
struct Compared {
    name: String,
    in_one_piece: bool,
    volume_error: f64,
    surface_voxels: f64,
    jaccard: f64,
    fiber_degrees: f64,
}

fn compared(phantom: &Phantom, model: &Model, folder: &Path, voxel: f64) -> Value {
    let volumes = phantom.volumes(voxel.min(2e-3));
    let muscles: Vec<&ModelTissue> =
        model.file.tissue.iter().filter(|tissue| tissue.kind == Kind::Muscle && tissue.mesh.is_some()).collect();
    let row = |facts: &&ModelTissue| {
        let mesh = load(&folder.join(facts.mesh.as_ref()?)).ok()?;
        Some(compare(phantom, facts, &mesh, &volumes, voxel))
    };
    let rows: Vec<Compared> = muscles.par_iter().filter_map(row).collect();
    let worst = |value: &dyn Fn(&Compared) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    let detail: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "in_one_piece": row.in_one_piece,
                "volume_error": row.volume_error,
                "surface_voxels": row.surface_voxels,
                "jaccard": row.jaccard,
                "fiber_degrees": row.fiber_degrees,
            })
        })
        .collect();
    json!({
        "muscles": rows.len(),
        "in_one_piece": rows.iter().filter(|row| row.in_one_piece).count(),
        "volume_within_2_percent": rows.iter().filter(|row| row.volume_error.abs() <= 0.02).count(),
        "surface_within_a_voxel": rows.iter().filter(|row| row.surface_voxels <= 1.0).count(),
        "jaccard_at_least_0.9": rows.iter().filter(|row| row.jaccard >= 0.9).count(),
        "fibers_within_10_degrees": rows.iter().filter(|row| row.fiber_degrees <= 10.0).count(),
        "largest_volume_error": worst(&|row| row.volume_error.abs()),
        "largest_surface_voxels": worst(&|row| row.surface_voxels),
        "each": detail,
    })
}

fn load(file: &Path) -> Result<CellMesh, Failure> {
    let data = sinew_io::load(file).map_err(|error| Failure::Other(error.to_string()))?;
    let parts = data.into_volume(&VolumeOptions::default()).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(parts.mesh)
}

/// Tissues of the phantom that make a muscle: its bellies and their tendons.
fn parts_of(phantom: &Phantom, muscle: &str) -> (Vec<usize>, Vec<usize>) {
    let owner = |i: usize| phantom.tissues[i].belongs_to.as_deref().unwrap_or(&phantom.tissues[i].name);
    let all = 0..phantom.tissues.len();
    let bellies: Vec<usize> =
        all.clone().filter(|&i| phantom.tissues[i].kind == TissueKind::Muscle && owner(i) == muscle).collect();
    let is_own = |i: &usize| {
        let tissue = &phantom.tissues[*i];
        tissue.kind == TissueKind::Tendon && bellies.iter().any(|&belly| owner(*i) == phantom.tissues[belly].name)
    };
    let tendons = all.filter(is_own).collect();
    (bellies, tendons)
}

fn compare(phantom: &Phantom, facts: &ModelTissue, mesh: &CellMesh, volumes: &[f64], voxel: f64) -> Compared {
    let (bellies, tendons) = parts_of(phantom, &facts.name);
    // Tendons that the image did not show were made by guess: bellies are what can be compared.
    let has_tendon = mesh.cell_sets().get("tendon").cloned().unwrap_or_default();
    let mut is_belly = vec![true; mesh.cell_count()];
    has_tendon.iter().for_each(|cell| is_belly[*cell as usize] = false);
    let made: f64 = mesh.cell_volumes().iter().zip(&is_belly).filter(|(_, belly)| **belly).map(|(v, _)| v).sum();
    let true_volume: f64 = bellies.iter().map(|&i| volumes[i]).sum();
    let all: Vec<usize> = bellies.iter().chain(&tendons).copied().collect();
    Compared {
        name: facts.name.clone(),
        in_one_piece: facts.components == 1 && facts.attach.iter().all(|at| at.nodes > 0),
        volume_error: made / true_volume - 1.0,
        surface_voxels: surface_error(phantom, &all, mesh) / voxel,
        jaccard: jaccard(phantom, mesh, &bellies, voxel),
        fiber_degrees: fiber_error(phantom, &bellies, mesh, &is_belly),
    }
}

/// Distance of nine tenths of the boundary nodes to the true surface of the muscle \[m\].
fn surface_error(phantom: &Phantom, tissues: &[usize], mesh: &CellMesh) -> f64 {
    let nearest =
        |p: Vec3| tissues.iter().filter_map(|&i| phantom.surface_distance(i, p)).fold(f64::INFINITY, f64::min);
    let mut errors: Vec<f64> =
        mesh.boundary_nodes().iter().map(|&node| nearest(mesh.positions()[node as usize])).collect();
    percentile(&mut errors, 0.9)
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::INFINITY)
}

/// The least over the attachments of nodes in both, divided by nodes in either.
fn jaccard(phantom: &Phantom, mesh: &CellMesh, bellies: &[usize], voxel: f64) -> f64 {
    let boundary = mesh.boundary_nodes();
    let mut least = 1.0f64;
    for (kind, word) in [(AttachmentKind::Origin, "origin"), (AttachmentKind::Insertion, "insertion")] {
        let at: Vec<_> =
            phantom.attachments.iter().filter(|at| at.kind == kind && bellies.contains(&at.belly)).collect();
        let mut found = vec![false; mesh.node_count()];
        for (_, nodes) in mesh.node_sets().iter().filter(|(name, _)| name.starts_with(word)) {
            nodes.iter().for_each(|node| found[*node as usize] = true);
        }
        let (mut both, mut either) = (0usize, 0usize);
        for &node in &boundary {
            let is_true = at.iter().any(|at| phantom.is_attached(at, mesh.positions()[node as usize], voxel));
            let is_found = found[node as usize];
            both += usize::from(is_true && is_found);
            either += usize::from(is_true || is_found);
        }
        least = least.min(if either == 0 { 0.0 } else { both as f64 / either as f64 });
    }
    least
}

/// Mean angle between the fibers of the belly and the true ones \[°\].
fn fiber_error(phantom: &Phantom, bellies: &[usize], mesh: &CellMesh, is_belly: &[bool]) -> f64 {
    let Some(field) = mesh.cell_fields().get("fiber") else { return 180.0 };
    let (mut sum, mut count) = (0.0, 0usize);
    for cell in (0..mesh.cell_count()).filter(|&cell| is_belly[cell]) {
        let nodes = mesh.cell_nodes(cell);
        let center = nodes.iter().map(|&n| mesh.positions()[n as usize]).sum::<Vec3>() / nodes.len() as f64;
        let Some(tissue) = phantom.tissue_at(center).filter(|tissue| bellies.contains(tissue)) else { continue };
        let Some(truth) = phantom.fiber(tissue, center) else { continue };
        let fiber = Vec3::new(field.values[3 * cell], field.values[3 * cell + 1], field.values[3 * cell + 2]);
        sum += fiber.dot(truth).abs().clamp(0.0, 1.0).acos();
        count += 1;
    }
    if count == 0 { 180.0 } else { (sum / count as f64).to_degrees() }
}
