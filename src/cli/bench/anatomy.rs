//! `sinew bench anatomy`: the arm phantom from noisy labels without tendons to a model, against the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use sinew_anatomy::Solid;
use sinew_anatomy::phantom::{Attachment, AttachmentKind, Flaws, Phantom, TissueKind};
use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::{Aabb, CellMesh, TriMesh};
use sinew_io::VolumeOptions;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use sinew_run::anatomy::{BuildOptions, Model, build, phantom_of, phantom_recipe};
use sinew_scene::Recipe;
use sinew_scene::recipe::image::{PhantomImage, PhantomName};
use sinew_scene::recipe::model::{ModelAttachment, ModelTissue};
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

    /// Makes meshes of this tissue only; may be given several times
    #[arg(long, value_name = "TISSUE")]
    only: Vec<String>,

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
    let only: Option<BTreeSet<String>> = (!arguments.only.is_empty()).then(|| arguments.only.iter().cloned().collect());
    let text = phantom_recipe(&image, cell, Some(arguments.cover.unwrap_or(4.0 * cell)), only.as_ref());
    let recipe = Recipe::from_text(&text, "arm.toml", ".")?;
    let options = || BuildOptions { folder: Some(&folder), only: only.clone(), ..BuildOptions::default() };
    console.note("first build");
    let start = Instant::now();
    let model = build(&recipe, &options())?;
    let seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let again = build(&recipe, &options())?;
    let second = start.elapsed().as_secs_f64();
    console.note("comparison with the phantom");
    let phantom = phantom_of(PhantomName::Arm);
    let peak_mib = peak_mib();
    let measured = compared(&phantom, &model, &folder, &image);
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
        "peak_mib": peak_mib,
        "tissues": facts.len(),
        "missing": model.problems.len(),
        "problems": model.problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>(),
        "fine_tets": sum(&|tissue| tissue.cells),
        "coarse_tets": sum(&|tissue| tissue.cover_cells),
        "step_ratio": model.file.step_ratio,
        "stage_seconds": stage_seconds(&model),
        "truth": measured,
    }))
}

/// Largest memory of this process so far \[MiB\].
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// Seconds of all stages of one kind together; stages run side by side.
fn stage_seconds(model: &Model) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for stage in &model.stages {
        let kind = stage.name.split(' ').next().unwrap_or_default().to_string();
        *sums.entry(kind).or_insert(0.0) += stage.time.as_secs_f64();
    }
    sums
}

/// How a muscle compares with the phantom.
struct Compared {
    name: String,
    in_one_piece: bool,
    cover_has_its_parts: bool,
    image_volume_error: f64,
    volume_error: f64,
    surface_voxels: f64,
    /// Areas of origin and insertion.
    attached: [Areas; 2],
    fiber_degrees: f64,
}

/// Spacing at which true volumes are counted \[m\].
const SPACING: f64 = 1e-3;

fn compared(phantom: &Phantom, model: &Model, folder: &Path, image: &PhantomImage) -> Value {
    let muscles: Vec<&ModelTissue> =
        model.file.tissue.iter().filter(|tissue| tissue.kind == Kind::Muscle && tissue.mesh.is_some()).collect();
    let bellies: Vec<usize> = muscles.iter().flat_map(|muscle| parts_of(phantom, &muscle.name).0).collect();
    let truth = phantom.volumes_near(&bellies, SPACING);
    let seen = seen_volumes(phantom, image);
    let row = |facts: &&ModelTissue| {
        let mesh = load(&folder.join(facts.mesh.as_ref()?)).ok()?;
        Some(compare(phantom, facts, folder, &mesh, [&truth, &seen], image.voxel))
    };
    let rows: Vec<Compared> = muscles.par_iter().filter_map(row).collect();
    let worst = |value: &dyn Fn(&Compared) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    let count = |holds: &dyn Fn(&Compared) -> bool| rows.iter().filter(|row| holds(row)).count();
    let attachments: Vec<f64> = rows.iter().flat_map(|row| row.attached.map(|areas| areas.shares()[2])).collect();
    let detail: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "in_one_piece": row.in_one_piece,
                "cover_has_its_parts": row.cover_has_its_parts,
                "image_volume_error": row.image_volume_error,
                "volume_error": row.volume_error,
                "surface_voxels": row.surface_voxels,
                "areas": row.attached.map(|areas| [areas.truth, areas.found, areas.both]),
                "recall": row.attached.map(|areas| areas.shares()[0]),
                "precision": row.attached.map(|areas| areas.shares()[1]),
                "jaccard": row.attached.map(|areas| areas.shares()[2]),
                "fiber_degrees": row.fiber_degrees,
            })
        })
        .collect();
    json!({
        "muscles": rows.len(),
        "in_one_piece": count(&|row| row.in_one_piece),
        "cover_has_its_parts": count(&|row| row.cover_has_its_parts),
        "image_volume_within_2_percent": count(&|row| row.image_volume_error.abs() <= 0.02),
        "volume_within_2_percent": count(&|row| row.volume_error.abs() <= 0.02),
        "surface_within_a_voxel": count(&|row| row.surface_voxels <= 1.0),
        "muscles_with_jaccard_of_0.9": count(&|row| row.attached.iter().all(|areas| areas.shares()[2] >= 0.9)),
        "attachments": attachments.len(),
        "attachments_with_jaccard_of_0.9": attachments.iter().filter(|jaccard| **jaccard >= 0.9).count(),
        "mean_jaccard": attachments.iter().sum::<f64>() / attachments.len().max(1) as f64,
        "fibers_within_10_degrees": count(&|row| row.fiber_degrees <= 10.0),
        "largest_volume_error": worst(&|row| row.volume_error.abs()),
        "largest_surface_voxels": worst(&|row| row.surface_voxels),
        "each": detail,
    })
}

/// Volumes \[m³\] of all tissues in the image, by voxels: what noise and the size of voxels leave of the truth.
fn seen_volumes(phantom: &Phantom, image: &PhantomImage) -> Vec<f64> {
    let flaws = Flaws {
        noise: image.noise,
        wrong_labels: image.wrong_labels,
        missing_tendons: image.without_tendons,
        seed: image.seed as u64,
    };
    let image = phantom.labels(image.voxel, &flaws);
    let mut counts = vec![0usize; phantom.tissues.len() + 1];
    image.voxels.iter().for_each(|label| counts[usize::from(*label)] += 1);
    let voxel = image.grid.axes.determinant().abs();
    counts[1..].iter().map(|count| *count as f64 * voxel).collect()
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

fn compare(
    phantom: &Phantom,
    facts: &ModelTissue,
    folder: &Path,
    mesh: &CellMesh,
    [truth, seen]: [&[f64]; 2],
    voxel: f64,
) -> Compared {
    let (bellies, tendons) = parts_of(phantom, &facts.name);
    // Tendons that the image did not show were made by guess: bellies are what can be compared.
    let has_tendon = mesh.cell_sets().get("tendon").cloned().unwrap_or_default();
    let mut is_belly = vec![true; mesh.cell_count()];
    has_tendon.iter().for_each(|cell| is_belly[*cell as usize] = false);
    let made: f64 = mesh.cell_volumes().iter().zip(&is_belly).filter(|(_, belly)| **belly).map(|(v, _)| v).sum();
    let volume = |of: &[f64]| bellies.iter().map(|&i| of[i]).sum::<f64>();
    let all: Vec<usize> = bellies.iter().chain(&tendons).copied().collect();
    Compared {
        name: facts.name.clone(),
        in_one_piece: facts.components == 1 && facts.attach.iter().all(|at| at.nodes > 0),
        cover_has_its_parts: facts.cover_components == facts.components,
        image_volume_error: volume(seen) / volume(truth) - 1.0,
        volume_error: made / volume(truth) - 1.0,
        surface_voxels: surface_error(phantom, &all, mesh) / voxel,
        attached: [(AttachmentKind::Origin, "origin"), (AttachmentKind::Insertion, "insertion")]
            .map(|(kind, word)| attached(phantom, facts, folder, &bellies, kind, word)),
        fiber_degrees: fiber_error(phantom, &bellies, mesh, &is_belly),
    }
}

/// Nodes and cells that are compared with formulas, per muscle: every n-th, so that there are about as many.
const SAMPLES: usize = 20_000;

/// Every n-th of some things.
fn sampled<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(SAMPLES).max(1);
    all.into_iter().step_by(step)
}

/// Distance of nine tenths of the boundary nodes to the true surface of the muscle \[m\].
fn surface_error(phantom: &Phantom, tissues: &[usize], mesh: &CellMesh) -> f64 {
    let nearest =
        |p: Vec3| tissues.iter().filter_map(|&i| phantom.surface_distance(i, p)).fold(f64::INFINITY, f64::min);
    let mut errors: Vec<f64> =
        sampled(mesh.boundary_nodes()).map(|node| nearest(mesh.positions()[node as usize])).collect();
    percentile(&mut errors, 0.9)
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::INFINITY)
}

/// Areas \[m²\] on the true surface of bones at one end of a muscle.
#[derive(Clone, Copy, Default)]
struct Areas {
    /// Where the muscle of the phantom or its tendon touches the bone.
    truth: f64,
    /// What the model attaches.
    found: f64,
    both: f64,
}

impl Areas {
    fn add(&mut self, area: f64, [is_true, is_covered]: [bool; 2]) {
        self.truth += if is_true { area } else { 0.0 };
        self.found += if is_covered { area } else { 0.0 };
        self.both += if is_true && is_covered { area } else { 0.0 };
    }

    /// Part of the truth that was found, part of what was found that is true, and what both share of their union.
    fn shares(&self) -> [f64; 3] {
        let part = |of: f64| if of > 0.0 { self.both / of } else { 0.0 };
        [part(self.truth), part(self.found), part(self.truth + self.found - self.both)]
    }
}

/// Parts into which edges of triangles are cut that are attached in part.
const PIECES: usize = 4;

/// Distance of points of a bone to what is attached there and has been laid on the bone, up to which they are covered \[m\]:
/// above or below, as triangles cut corners of the bone; and aside, where their planes lean by a tenth or so. Aside by as
/// much as above would be a ring around every attachment: a tenth of the area of one of 15 mm².
const COVERED: f64 = 0.1e-3;
const ASIDE: f64 = 0.01e-3;

/// Compares the attachments at one end on the surfaces of the phantom's bones: the model's are laid on them.
fn attached(
    phantom: &Phantom,
    facts: &ModelTissue,
    folder: &Path,
    bellies: &[usize],
    kind: AttachmentKind,
    word: &str,
) -> Areas {
    let mut areas = Areas::default();
    let at: Vec<&Attachment> =
        phantom.attachments.iter().filter(|at| at.kind == kind && bellies.contains(&at.belly)).collect();
    let bones: BTreeSet<usize> = at.iter().map(|at| at.bone).collect();
    for bone in bones {
        let at: Vec<&Attachment> = at.iter().filter(|at| at.bone == bone).copied().collect();
        let own = |at: &&ModelAttachment| at.name.starts_with(word) && at.bone == phantom.tissues[bone].name;
        let files = facts.attach.iter().filter(own).filter_map(|at| at.surface.as_ref());
        let laid: Vec<Vec3> = files.flat_map(|file| laid_on(phantom, bone, &folder.join(file))).collect();
        let triangles = (0..laid.len() as u32 / 3).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let found = TriMesh::new(laid, triangles).ok().filter(|found| found.triangle_count() > 0);
        let room = at.iter().fold(Aabb::EMPTY, |room, at| room.union(&phantom.end_bounds(at)));
        let room = found.as_ref().map_or(room, |found| room.union(&found.bounds())).grown(2.0 * COVERED);
        let spacing = (room.diagonal() / 120.0).clamp(0.6e-3, 2e-3);
        let Some(surface) = phantom.bone_surface(bone, room, spacing) else { continue };
        let places = found.as_ref().map(NearestPlaces::new);
        let near = found.as_ref().map(|found| found.bounds().grown(COVERED));
        let state = |x: Vec3| {
            let is_true = at.iter().any(|at| phantom.touches(at, x));
            let is_near = near.is_some_and(|near| near.distance_squared(x) == 0.0);
            let place = places.as_ref().filter(|_| is_near).and_then(|places| places.to(x));
            let is_covered = place.is_some_and(|at| {
                let (off, normal) = (at.position - x, phantom.tissues[bone].solid.gradient(x, 1e-5).normalized());
                let above = off.dot(normal);
                above.abs() <= COVERED && (off - normal * above).norm() <= ASIDE
            });
            [is_true, is_covered]
        };
        let states: Vec<[bool; 2]> = surface.positions().par_iter().map(|x| state(*x)).collect();
        for (i, t) in surface.triangles().iter().enumerate() {
            let [a, b, c] = surface.corners(i);
            let area = (b - a).cross(c - a).norm() / 2.0;
            let own = t.map(|node| states[node as usize]);
            if own[0] == own[1] && own[1] == own[2] {
                areas.add(area, own[0]);
                continue;
            }
            for (j, k) in (0..PIECES).flat_map(|j| (0..PIECES - j).map(move |k| (j, k))) {
                let at = |j: f64, k: f64| a + (b - a) * (j / PIECES as f64) + (c - a) * (k / PIECES as f64);
                let (piece, (j, k)) = (area / (PIECES * PIECES) as f64, (j as f64, k as f64));
                areas.add(piece, state(phantom.on_bone(bone, at(j + 1.0 / 3.0, k + 1.0 / 3.0))));
                if j + k + 2.0 <= PIECES as f64 {
                    areas.add(piece, state(phantom.on_bone(bone, at(j + 2.0 / 3.0, k + 2.0 / 3.0))));
                }
            }
        }
    }
    areas
}

/// Largest edge of what is laid on a bone \[m\]: on a finger of radius 4 mm its middle is 31 µm from the bone.
const LAID: f64 = 1e-3;

/// Corners of triangles of a file, cut small and moved to the nearest points of the phantom's bone; none that would turn over.
fn laid_on(phantom: &Phantom, bone: usize, file: &Path) -> Vec<Vec3> {
    let read = sinew_io::load(file).ok().and_then(|data| data.into_surface(&BTreeSet::new()).ok());
    let Some(surface) = read.map(|parts| parts.mesh) else { return Vec::new() };
    let normal = |[a, b, c]: [Vec3; 3]| (b - a).cross(c - a);
    let laid = |i: usize| {
        let [a, b, c] = surface.corners(i);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let n = (longest / LAID).ceil().clamp(1.0, 16.0) as usize;
        let at = |j: usize, k: usize| a + (b - a) * (j as f64 / n as f64) + (c - a) * (k as f64 / n as f64);
        let on: Vec<Vec<Vec3>> =
            (0..=n).map(|j| (0..=n - j).map(|k| phantom.on_bone(bone, at(j, k))).collect()).collect();
        let mut found = Vec::new();
        for (j, k) in (0..n).flat_map(|j| (0..n - j).map(move |k| (j, k))) {
            found.push([on[j][k], on[j + 1][k], on[j][k + 1]]);
            if j + k + 1 < n {
                found.push([on[j + 1][k], on[j + 1][k + 1], on[j][k + 1]]);
            }
        }
        found.retain(|corners| normal(*corners).dot(normal([a, b, c])) > 0.0);
        found.into_flattened()
    };
    (0..surface.triangle_count()).into_par_iter().map(laid).collect::<Vec<_>>().concat()
}

/// Mean angle between the fibers of the belly and the true ones \[°\].
fn fiber_error(phantom: &Phantom, bellies: &[usize], mesh: &CellMesh, is_belly: &[bool]) -> f64 {
    let Some(field) = mesh.cell_fields().get("fiber") else { return 180.0 };
    let (mut sum, mut count) = (0.0, 0usize);
    for cell in sampled((0..mesh.cell_count()).filter(|&cell| is_belly[cell]).collect()) {
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
