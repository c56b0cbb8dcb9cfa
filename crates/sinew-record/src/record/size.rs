//! Estimated sizes of files before they are written.

use sinew_fem::{Frame, RecordError};
use sinew_raster::UpAxis;
use sinew_scene::output::UsdEncoding;

use super::csv::row_size;
use super::glb::GlbRecorder;
use super::npz::NpzRecorder;
use super::obj::{ObjRecorder, encode_object};
use super::ply::PlyRecorder;
use super::point_cache::PointCache;
use super::shapes::points_f32;
use super::surface::{Cast, rest_surface};
use super::usd::UsdRecorder;
use super::vtu::VtuRecorder;

/// Bytes of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of all its files.
    pub bytes: u64,
    /// Whether the number is exact; otherwise it is close for text, an upper bound for GLB, and a rough guess for
    /// pictures.
    pub is_exact: bool,
}

impl Estimate {
    fn exactly(bytes: u64) -> Estimate {
        Estimate { bytes, is_exact: true }
    }

    fn about(bytes: u64) -> Estimate {
        Estimate { bytes, is_exact: false }
    }
}

/// Numbers have as many digits as they need, so the text size of frames varies a little. The sample is the last frame,
/// whose digits are long.
pub(crate) fn of_usd(sample: &Frame<'_>, frames: usize, encoding: UsdEncoding) -> Estimate {
    let [still, samples] = UsdRecorder::sizes(sample, encoding);
    Estimate::about(still + frames as u64 * samples)
}

pub(crate) fn of_obj(sample: &Frame<'_>, frames: usize, up: UpAxis) -> Estimate {
    Estimate::about(frames as u64 * ObjRecorder::encode(&Cast::of(sample), sample, up).len() as u64)
}

pub(crate) fn of_ply(sample: &Frame<'_>, frames: usize, up: UpAxis) -> Estimate {
    Estimate::exactly(frames as u64 * PlyRecorder::frame_size(&Cast::of(sample), up))
}

pub(crate) fn of_point_caches(sample: &Frame<'_>, frames: usize, kind: PointCache, up: UpAxis) -> Estimate {
    let bodies = sample.bodies.iter().map(|body| {
        let rest = encode_object(body.name, &points_f32(&rest_surface(body)), body.surface_triangles, up);
        rest.len() as u64 + kind.size(body.surface_positions.len(), frames)
    });
    Estimate::exactly(bodies.sum())
}

pub(crate) fn of_npz(sample: &Frame<'_>, frames: usize) -> Estimate {
    Estimate::exactly(NpzRecorder::size(sample, frames))
}

pub(crate) fn of_glb(sample: &Frame<'_>, frames: usize, morph_targets: usize) -> Estimate {
    Estimate::about(GlbRecorder::largest_size(&Cast::of(sample), frames, morph_targets))
}

pub(crate) fn of_csv(sample: &Frame<'_>, frames: usize) -> Estimate {
    let names: usize = sample.probe_names.iter().map(|name| name.len() + 1).sum();
    Estimate::about(names as u64 + 5 + frames as u64 * row_size(sample.time, sample.probe_values))
}

/// An image of about 8 KiB for each few probes, and the table.
pub(crate) fn of_plots(sample: &Frame<'_>, frames: usize) -> Estimate {
    let images = 4096 * sample.probe_names.len() as u64;
    Estimate::about(images + of_csv(sample, frames).bytes)
}

pub(crate) fn of_vtu(sample: &Frame<'_>, frames: usize, fields: Option<Vec<String>>) -> Result<Estimate, RecordError> {
    let recorder = VtuRecorder::create("sample.pvd", fields)?;
    let mut bytes = 150;
    for body in &sample.bodies {
        // A line of the index for each file.
        bytes += frames as u64 * (recorder.encode(body)?.len() as u64 + 100);
    }
    Ok(Estimate::about(bytes))
}

/// A shaded surface on a plain background takes about a byte per pixel as PNG.
pub(crate) fn of_stills(frames: usize, [width, height]: [usize; 2]) -> Estimate {
    Estimate::about(frames as u64 * (width * height) as u64)
}

/// Videos store the changes, with a loss: about a twentieth of a byte per pixel.
pub(crate) fn of_video(frames: usize, [width, height]: [usize; 2]) -> Estimate {
    Estimate::about((0.05 * (width * height) as f64 * frames as f64) as u64)
}

/// Frames of an animation store the changes, in one byte per pixel before compression.
pub(crate) fn of_animation(frames: usize, [width, height]: [usize; 2]) -> Estimate {
    Estimate::about((0.2 * (width * height) as f64 * frames as f64) as u64)
}
