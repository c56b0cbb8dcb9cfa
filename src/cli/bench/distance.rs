//! `sinew bench distance`: fields of labelled balls: seconds, error, order and memory.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_anatomy::Labels;
use sinew_anatomy::field::{DistanceField, FieldOptions, LabelOptions, fields_from_labels};
use sinew_anatomy::primitives::Ellipsoid;
use sinew_anatomy::solid::Solid;
use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use super::super::console::Console;
use super::{Failure, spread};

/// Runs of which the best counts.
const RUNS: usize = 5;
/// Radii at which the error is measured \[voxels\].
const RADII: [f64; 7] = [6.0, 9.0, 12.0, 13.0, 25.0, 50.0, 100.0];
/// Errors count up to this distance from the surface \[voxels\].
const NEAR: f64 = 3.0;
/// Tissues of the image for which memory is measured.
const TISSUES: u16 = 40;

/// Signed distances of labelled balls on a narrow band: time of one, error of many sizes, memory of forty
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Edge of the image in voxels; memory is measured at twice as many
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=1024))]
    size: u32,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Measures everything.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let size = arguments.size as usize;
    let Timed { seconds, processor, bricks } = time(size)?;
    console.note(&format!("{size}³ voxels: {:.3} s", best(&seconds)));
    let mut rms = serde_json::Map::new();
    let mut worst = 0.0f64;
    for radius in RADII.into_iter().filter(|radius| 2.0 * radius + 14.0 <= size as f64) {
        let (root, max) = ball_error(radius)?;
        console.note(&format!("radius {radius}: rms {root:.3}, max {max:.3} voxels"));
        rms.insert(format!("{radius}"), json!(root));
        worst = worst.max(max);
    }
    let order = order()?;
    let tissues = many(2 * size)?;
    console.note(&format!("{}³ voxels with {TISSUES} labels: {:.2} s", 2 * size, tissues.seconds));
    Ok(json!({
        "size": size,
        "seconds": best(&seconds),
        "processor_seconds": processor,
        "spread": spread(&seconds),
        "bricks": bricks,
        "rms_error_voxels": rms,
        "max_error_voxels": worst,
        "order": order,
        "tissues": {
            "size": 2 * size,
            "labels": TISSUES,
            "seconds": tissues.seconds,
            "image_mib": tissues.image_mib,
            "fields_mib": tissues.fields_mib,
        },
        "peak_mib": peak_mib(),
        "threads": rayon::current_num_threads(),
    }))
}

fn best(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn failed(error: sinew_anatomy::field::FieldError) -> Failure {
    Failure::Other(format!("the field cannot be made: {error}"))
}

/// Labels of a ball: 1 inside.
fn ball_labels(size: usize, radius: f64, center: Vec3) -> Vec<u16> {
    let distance =
        |i: usize| (Vec3::from([i % size, i / size % size, i / size / size].map(|c| c as f64)) - center).norm();
    (0..size.pow(3)).map(|i| u16::from(distance(i) < radius)).collect()
}

fn cubic(size: usize) -> VoxelGrid {
    VoxelGrid::cubic([size; 3], Vec3::zero(), 1.0)
}

/// A center in no symmetry with the voxels.
fn center(size: usize) -> Vec3 {
    Vec3::splat(0.5 * size as f64) + Vec3::new(0.13, -0.27, 0.41)
}

/// What the field of one ball takes.
struct Timed {
    /// Seconds of each run.
    seconds: Vec<f64>,
    /// Processor time of one run \[s\].
    processor: Option<f64>,
    bricks: usize,
}

/// Times a ball that nearly fills the image.
fn time(size: usize) -> Result<Timed, Failure> {
    let voxels = ball_labels(size, 100.0 / 256.0 * size as f64, center(size));
    let labels = Labels { grid: cubic(size), voxels: &voxels };
    let mut timed = Timed { seconds: Vec::with_capacity(RUNS), processor: None, bricks: 0 };
    let before = processor_seconds();
    for _ in 0..RUNS {
        let begin = Instant::now();
        let field = DistanceField::from_labels(&labels, &[1], &LabelOptions::default()).map_err(failed)?;
        timed.seconds.push(begin.elapsed().as_secs_f64());
        timed.bricks = field.brick_count();
    }
    timed.processor = processor_seconds().zip(before).map(|(after, before)| (after - before) / RUNS as f64);
    Ok(timed)
}

/// Root mean square and largest error near the surface of a ball \[voxels\].
fn ball_error(radius: f64) -> Result<(f64, f64), Failure> {
    let size = (2.0 * radius) as usize + 14;
    let voxels = ball_labels(size, radius, center(size));
    let labels = Labels { grid: cubic(size), voxels: &voxels };
    let field = DistanceField::from_labels(&labels, &[1], &LabelOptions::default()).map_err(failed)?;
    let errors = field.voxels().filter_map(|(voxel, value)| {
        let exact = (field.grid().position(voxel) - center(size)).norm() - radius;
        (exact.abs() < NEAR).then_some(value - exact)
    });
    let (squares, max, count) =
        errors.fold((0.0, 0.0f64, 0.0), |(squares, max, count), e| (squares + e * e, max.max(e.abs()), count + 1.0f64));
    Ok(((squares / count).sqrt(), max))
}

/// Order with which a smooth function that is no distance, (r² − R²)/2R, becomes one: largest error relative to R, from
/// 8 to 32 voxels.
fn order() -> Result<f64, Failure> {
    let error = |radius: f64| -> Result<f64, Failure> {
        let ball = Ellipsoid { center: center(0), axes: Mat3::identity(), radii: Vec3::splat(radius) };
        let field = DistanceField::from_solid(&Warped(ball), 1.0).map_err(failed)?;
        let mut field = field;
        field.redistance_with(&FieldOptions::default());
        let near = field.voxels().filter(|(_, value)| value.abs() < NEAR);
        let errors = near.map(|(voxel, value)| (value - ball.distance(field.grid().position(voxel))).abs());
        Ok(errors.fold(0.0, f64::max) / radius)
    };
    Ok((error(8.0)? / error(32.0)?).ln() / 4f64.ln())
}

/// A ball by (r² − R²)/2R near its surface.
struct Warped(Ellipsoid);

impl Solid for Warped {
    fn distance(&self, p: Vec3) -> f64 {
        let radius = self.0.radii.x;
        let squares = ((p - self.0.center).norm_squared() - radius * radius) / (2.0 * radius);
        if squares.abs() < 1.5 { squares } else { self.0.distance(p) }
    }

    fn bounds(&self) -> sinew_geometry::Aabb {
        self.0.bounds()
    }
}

/// What forty tissues cost.
struct Tissues {
    seconds: f64,
    image_mib: f64,
    fields_mib: f64,
}

/// Fields of all labels of an image: balls on a lattice, which touch and cut one another like tissues.
fn many(size: usize) -> Result<Tissues, Failure> {
    let voxels = tissue_labels(size);
    let labels = Labels { grid: cubic(size), voxels: &voxels };
    let tissues: Vec<[u16; 1]> = (1..=TISSUES).map(|label| [label]).collect();
    let tissues: Vec<&[u16]> = tissues.iter().map(|tissue| &tissue[..]).collect();
    let begin = Instant::now();
    let fields = fields_from_labels(&labels, &tissues, &LabelOptions::default()).map_err(failed)?;
    let seconds = begin.elapsed().as_secs_f64();
    let mut bytes = 0;
    for field in fields {
        bytes += field.map_err(failed)?.bytes();
    }
    let mib = f64::from(1u32 << 20);
    Ok(Tissues { seconds, image_mib: (2 * voxels.len()) as f64 / mib, fields_mib: bytes as f64 / mib })
}

/// Each voxel belongs to the nearest of forty scattered points, if one is near.
fn tissue_labels(size: usize) -> Vec<u16> {
    let edge = size as f64;
    // Multiples of irrational numbers scatter evenly.
    let point = |i: u16| {
        let t = f64::from(i);
        Vec3::new((t * 0.754_877_666).fract(), (t * 0.569_840_291).fract(), (t * 0.430_159_709).fract()) * edge
    };
    let points: Vec<Vec3> = (1..=TISSUES).map(point).collect();
    let reach = 0.17 * edge;
    let mut voxels = vec![0u16; size.pow(3)];
    let mut nearest = vec![reach * reach; size];
    for (row, labels) in voxels.chunks_exact_mut(size).enumerate() {
        nearest.fill(reach * reach);
        let (y, z) = ((row % size) as f64, (row / size) as f64);
        for (label, point) in (1..).zip(&points) {
            let across = (y - point.y).powi(2) + (z - point.z).powi(2);
            let half = (reach * reach - across).max(0.0).sqrt();
            let (from, to) = ((point.x - half).max(0.0) as usize, ((point.x + half) as usize + 1).min(size));
            for x in from..to {
                let distance = across + (x as f64 - point.x).powi(2);
                if distance < nearest[x] {
                    (nearest[x], labels[x]) = (distance, label);
                }
            }
        }
    }
    voxels
}

/// Processor time of this process so far \[s\], if the system reports it: on a busy machine it tells more than the clock.
fn processor_seconds() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in parentheses and may hold spaces; user and system time are the 14th and 15th entry.
    let (_, rest) = status.rsplit_once(')')?;
    let ticks: Vec<f64> = rest.split_whitespace().skip(11).take(2).filter_map(|word| word.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}

/// Largest memory of this process so far \[MiB\], if the system reports it.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1024.0)
}
