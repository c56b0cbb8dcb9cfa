//! `sinew phantom`: labeled images of anatomy by formulas, and the truth beside them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sinew_anatomy::phantom::{self, Attachment, AttachmentKind, Flaws, LabelVolume, Phantom, TissueKind};
use sinew_io::image::{ImageData, write_nifti, write_nifti_gz, write_nrrd};
use sinew_math::Vec3;
use sinew_record::record::write_file;
use sinew_scene::output::check_outputs;

use super::console::{self, Console};
use super::{Failure, Status, mesh};

/// Distance of the points in the truth at which fibers are given \[m\].
const FIBER_SPACING: f64 = 6e-3;

/// Distance of the points in the truth that lie on attachments \[m\].
const ATTACHMENT_SPACING: f64 = 1e-3;

/// Writes a labeled image of anatomy by formulas, to test recipes with
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What the image shows
    pub body: Body,

    /// Edge of a voxel, for example "1 mm"
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length, default_value = "1 mm")]
    pub voxel: f64,

    /// Jitter of the boundaries, as a standard deviation in voxels (0 to 2)
    #[arg(long, value_name = "F", value_parser = jitter, default_value = "0")]
    pub noise: f64,

    /// Number of blobs, some voxels across, with the label of their neighbor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub wrong_labels: usize,

    /// Leaves tendons out, as most images do
    #[arg(long)]
    pub without_tendons: bool,

    /// Seed of noise and blobs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Output image (.nii, .nii.gz or .nrrd)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Writes DIR/truth.json: volumes, origins, insertions and fibers
    #[arg(long, value_name = "DIR")]
    pub truth: Option<PathBuf>,
}

/// The phantoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Body {
    /// Right upper limb with half a thorax: 33 muscles
    Arm,
    /// Head with a jaw on its hinge
    Head,
    /// Right calf and foot: ten muscles and the peroneal group
    Calf,
}

/// How an image is written.
#[derive(Clone, Copy, Debug)]
enum Format {
    Nifti,
    PackedNifti,
    Nrrd,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        match name.as_str() {
            name if name.ends_with(".nii.gz") => Ok(Self::PackedNifti),
            name if name.ends_with(".nii") => Ok(Self::Nifti),
            name if name.ends_with(".nrrd") => Ok(Self::Nrrd),
            _ => Err(Failure::Other(format!(
                "{}: this ending is no format of images\nhint: use .nii.gz, .nii or .nrrd",
                path.display()
            ))),
        }
    }

    fn encode(self, image: &ImageData) -> Vec<u8> {
        match self {
            Self::Nifti => write_nifti(image),
            Self::PackedNifti => write_nifti_gz(image),
            Self::Nrrd => write_nrrd(image),
        }
    }
}

fn jitter(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err("must be a number of voxels from 0 to 2".into()),
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let format = Format::of(&arguments.output)?;
    let truth = arguments.truth.as_ref().map(|folder| folder.join("truth.json"));
    check_outputs([] as [&Path; 0], [&arguments.output].into_iter().chain(&truth))
        .map_err(|error| Failure::Other(error.to_string()))?;
    let body = match arguments.body {
        Body::Arm => phantom::arm(),
        Body::Head => phantom::head(),
        Body::Calf => phantom::calf(),
    };
    check_voxel(&body, arguments.voxel)?;
    let flaws = Flaws {
        noise: arguments.noise,
        wrong_labels: arguments.wrong_labels,
        missing_tendons: arguments.without_tendons,
        seed: arguments.seed,
    };
    let image = body.labels(arguments.voxel, &flaws);
    let [x, y, z] = image.grid.size;
    console.note(&format!("{x} × {y} × {z} voxels, {} labels", image.names.len()));
    write(&arguments.output, &format.encode(&with_names(image)))?;
    let mut written = vec![arguments.output.display().to_string()];
    if let Some(path) = &truth {
        let text = serde_json::to_string(&truth_of(&body, arguments.voxel))
            .map_err(|error| Failure::Other(format!("the truth cannot be written as JSON: {error}")))?;
        write(path, (text + "\n").as_bytes())?;
        written.push(path.display().to_string());
    }
    console::print(&(written.join("\n") + "\n"))?;
    Ok(Status::Done)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_file(path, bytes).map_err(|error| Failure::Other(error.to_string()))
}

/// Voxels from 0.2 mm, which is finer than any such image, to 20 mm, which shows nothing any more.
fn check_voxel(body: &Phantom, voxel: f64) -> Result<(), Failure> {
    let (range, millimeters) = (0.2e-3..=20e-3, voxel * 1e3);
    if range.contains(&voxel) {
        return Ok(());
    }
    let size = body.bounds().size() * 1e3;
    Err(Failure::Other(format!(
        "voxels of {millimeters} mm: the {} measures {:.0} × {:.0} × {:.0} mm\nhint: use 0.2 mm to 20 mm",
        body.name, size.x, size.y, size.z
    )))
}

/// The image for a file, with a color for each label.
fn with_names(volume: LabelVolume) -> ImageData {
    let mut image = ImageData::of_labels(volume.grid, volume.voxels);
    for (label, name) in volume.names {
        image.table.insert(label, name, None);
    }
    image
}

/// A point in millimeters, rounded to micrometers.
fn millimeters(p: Vec3) -> [f64; 3] {
    [p.x, p.y, p.z].map(|x| (x * 1e6).round() * 1e-3)
}

fn direction(d: Vec3) -> [f64; 3] {
    [d.x, d.y, d.z].map(|x| (x * 1e5).round() * 1e-5)
}

/// All that a pipeline should find.
fn truth_of(body: &Phantom, voxel: f64) -> Value {
    // Finer than the image, so that its errors can be seen.
    let volumes = body.volumes((voxel / 2.0).clamp(0.75e-3, 2e-3));
    let tissues: Vec<Value> =
        (0..body.tissues.len()).map(|tissue| tissue_json(body, tissue, volumes[tissue])).collect();
    let attachments: Vec<Value> = body.attachments.iter().map(|attachment| attachment_json(body, attachment)).collect();
    let hinges: Vec<Value> = body
        .hinges
        .iter()
        .map(|hinge| {
            let [fixed, moving] = [hinge.fixed, hinge.moving].map(|tissue| &body.tissues[tissue].name);
            json!({ "name": hinge.name, "fixed": fixed, "moving": moving, "axis_mm": hinge.axis.map(millimeters) })
        })
        .collect();
    json!({
        "phantom": body.name,
        "world": "RAS, millimeters",
        "tissues": tissues,
        "attachments": attachments,
        "hinges": hinges,
    })
}

fn tissue_json(body: &Phantom, tissue: usize, volume: f64) -> Value {
    let about = &body.tissues[tissue];
    let kind = match about.kind {
        TissueKind::Bone => "bone",
        TissueKind::Tooth => "tooth",
        TissueKind::Muscle => "muscle",
        TissueKind::Tendon => "tendon",
        TissueKind::Eye => "eye",
        TissueKind::Flesh => "flesh",
    };
    let mut value = json!({
        "label": tissue + 1,
        "name": about.name,
        "kind": kind,
        "belongs_to": about.belongs_to,
        "volume_cm3": (volume * 1e9).round() * 1e-3,
        "literature_volume_cm3": about.literature_volume.map(|volume| (volume * 1e9).round() * 1e-3),
    });
    if about.kind == TissueKind::Muscle {
        let samples = body.fiber_samples(tissue, FIBER_SPACING);
        value["pennation_degrees"] = json!(about.pennation.to_degrees());
        value["fibers"] = samples.iter().map(|(p, d)| json!([millimeters(*p), direction(*d)])).collect();
    }
    value
}

fn attachment_json(body: &Phantom, attachment: &Attachment) -> Value {
    let name = |tissue: usize| &body.tissues[tissue].name;
    let kind = match attachment.kind {
        AttachmentKind::Origin => "origin",
        AttachmentKind::Insertion => "insertion",
    };
    let points: Vec<[f64; 3]> =
        body.attached_points(attachment, ATTACHMENT_SPACING).into_iter().map(millimeters).collect();
    json!({
        "kind": kind,
        "tissue": name(attachment.tissue),
        "muscle": name(attachment.belly),
        "bone": name(attachment.bone),
        "end_mm": millimeters(attachment.point),
        "reach_mm": attachment.reach * 1e3,
        "points_mm": points,
    })
}
