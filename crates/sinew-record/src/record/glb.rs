//! GLB: an animation for web pages, game engines and viewers.
//!
//! glTF deforms meshes by morph targets, a few shapes that are added with weights over time. They are fitted to the
//! motion of each body, and the remaining error is reported. For exact motion use USD, Alembic through USD, or point
//! caches.

use std::path::PathBuf;

use sinew_fem::{Frame, RecordError, Recorder};
use sinew_io::gltf::animated::{self, MorphFit, PartMotion, Shot, encode_shot, fit_morph_targets};
use sinew_raster::{Bounds, UpAxis};
use sinew_scene::format_number;
use sinew_scene::output::stem;

use super::FileRecorder;
use super::atomic::{AtomicFile, write_file};
use super::shapes::{f32s, points_f32};
use super::surface::Cast;

/// Maximum number of morph targets of a body that viewers support.
pub const MAX_MORPH_TARGETS: usize = 32;

/// Maximum memory for positions in bytes; beyond it every second frame is dropped.
const KEPT_BYTES: usize = 2 << 30;

/// Fits the motion and writes one file when it is finished.
pub struct GlbRecorder {
    path: PathBuf,
    params: GlbParams,
    cast: Option<Cast>,
    frames: Vec<Moment>,
    /// Interval between kept frames.
    stride: usize,
    seen: usize,
    kept_bytes: usize,
    most_bytes: usize,
    notes: Vec<String>,
    is_finished: bool,
}

/// Parameters of a GLB file.
#[derive(Clone, Debug, PartialEq)]
pub struct GlbParams {
    /// Axis that points up.
    pub up: UpAxis,
    /// Maximum number of morph targets of a body.
    pub morph_targets: usize,
    /// Name of scene and animation; `None` uses the file name.
    pub title: Option<String>,
}

impl Default for GlbParams {
    fn default() -> Self {
        GlbParams { up: UpAxis::Z, morph_targets: MAX_MORPH_TARGETS, title: None }
    }
}

/// Positions and poses at one time.
struct Moment {
    time: f64,
    bodies: Vec<Vec<[f32; 3]>>,
    /// Translation and rotation (x, y, z, w).
    poses: Vec<([f32; 3], [f32; 4])>,
}

impl GlbRecorder {
    /// Starts a file; it appears when the recorder is finished.
    pub fn create(path: impl Into<PathBuf>, params: GlbParams) -> Result<GlbRecorder, RecordError> {
        let path = path.into();
        AtomicFile::create(&path)?;
        Ok(GlbRecorder {
            path,
            params,
            cast: None,
            frames: Vec::new(),
            stride: 1,
            seen: 0,
            kept_bytes: 0,
            most_bytes: KEPT_BYTES,
            notes: Vec::new(),
            is_finished: false,
        })
    }

    /// Maximum size of a file in bytes: positions and normals of base and targets, triangles, weights.
    pub(super) fn largest_size(cast: &Cast, frames: usize, morph_targets: usize) -> u64 {
        let targets = morph_targets.min(frames) as u64;
        let (count, mut bytes) = (frames as u64, 4 * frames as u64);
        for part in &cast.parts {
            let (vertices, triangles) = (part.vertex_count as u64, part.triangles.len() as u64);
            let shapes = if part.rigid_points.is_some() { 1 } else { 1 + targets };
            let keys = if part.rigid_points.is_some() { 7 } else { targets };
            bytes += 24 * vertices * shapes + 12 * triangles + 4 * count * keys + 300 * shapes;
        }
        bytes
    }

    fn keep(&mut self, frame: &Frame<'_>) {
        let bodies: Vec<_> = frame.bodies.iter().map(|body| points_f32(&body.surface_positions)).collect();
        let pose = |shape: &sinew_fem::ShapeFrame<'_>| {
            let q = shape.pose.rotation;
            (f32s(shape.pose.translation), [q.x, q.y, q.z, q.w].map(|x| x as f32))
        };
        self.kept_bytes += bodies.iter().map(|body| 12 * body.len()).sum::<usize>();
        self.frames.push(Moment { time: frame.time, bodies, poses: frame.shapes.iter().map(pose).collect() });
        if self.kept_bytes > self.most_bytes && self.frames.len() > 2 {
            let mut number = 0;
            self.frames.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
            self.kept_bytes /= 2;
        }
    }

    fn write(&mut self) -> Result<(), RecordError> {
        let Some(cast) = &self.cast else { return Ok(()) };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if self.stride > 1 {
            self.notes.push(format!("{name} shows every {}th frame: more do not fit into memory", self.stride));
        }
        let mut frames = std::mem::take(&mut self.frames);
        let times: Vec<f64> = frames.iter().map(|frame| frame.time).collect();
        let mut fits: Vec<MorphFit> = Vec::new();
        for (number, part) in cast.bodies().iter().enumerate() {
            let positions: Vec<_> = frames.iter_mut().map(|frame| std::mem::take(&mut frame.bodies[number])).collect();
            let fit = fit_morph_targets(&positions, self.params.morph_targets);
            let size = positions.first().map_or(0.0, |positions| 2.0 * Bounds::of(positions).radius());
            self.notes.push(error_note(&name, &part.name, &fit, size));
            fits.push(fit);
        }
        let poses: Vec<Vec<_>> = (0..cast.parts.len() - cast.body_count)
            .map(|i| frames.iter().map(|frame| frame.poses[i]).collect())
            .collect();
        let parts = cast.parts.iter().enumerate().map(|(number, part)| animated::Part {
            name: &part.name,
            color: part.color.to_linear(),
            triangles: &part.triangles,
            motion: match &part.rigid_points {
                None => PartMotion::Deforming(&fits[number]),
                Some(positions) => PartMotion::Rigid { positions, poses: &poses[number - cast.body_count] },
            },
        });
        let title = self.params.title.clone().unwrap_or_else(|| stem(&self.path));
        let up = match self.params.up {
            UpAxis::X => animated::UpAxis::X,
            UpAxis::Y => animated::UpAxis::Y,
            UpAxis::Z => animated::UpAxis::Z,
        };
        let shot = Shot { title: &title, frame_times: &times, up, parts: parts.collect() };
        let bytes = encode_shot(&shot)
            .map_err(|error| RecordError::Unsupported { format: "GLB", reason: error.to_string() })?;
        write_file(&self.path, &bytes)
    }
}

/// A note on the error of the fitted motion.
fn error_note(file: &str, body: &str, fit: &MorphFit, size: f32) -> String {
    let percent = if size > 0.0 { 100.0 * f64::from(fit.largest_error) / f64::from(size) } else { 0.0 };
    format!(
        "{file}: {} morph targets show \"{body}\" with an error of at most {} ({} % of its size), {} on average",
        fit.targets.len(),
        length(fit.largest_error),
        two_digits(percent),
        length(fit.rms_error)
    )
}

/// A small length in a unit that suits it.
fn length(meters: f32) -> String {
    let meters = f64::from(meters);
    if meters < 1e-5 { format!("{} µm", two_digits(meters * 1e6)) } else { format!("{} mm", two_digits(meters * 1e3)) }
}

/// Two digits are enough for an error.
fn two_digits(value: f64) -> String {
    format_number(format!("{value:.1e}").parse().unwrap_or(value))
}

impl Recorder for GlbRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        self.cast.get_or_insert_with(|| Cast::of(frame)).check(frame, "GLB")?;
        if self.seen.is_multiple_of(self.stride) {
            self.keep(frame);
        }
        self.seen += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if self.is_finished {
            return Ok(());
        }
        self.is_finished = true;
        self.write()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl FileRecorder for GlbRecorder {
    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, shapes_at, tets_at};

    /// A body that moves along a line needs one target.
    #[test]
    fn motion_along_a_line_is_one_target() {
        let folder = TestFolder::new("glb");
        let mut recorder = GlbRecorder::create(folder.path("shot.glb"), GlbParams::default()).unwrap();
        for index in 0..5 {
            tets_at(index, 1, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        let bytes = std::fs::read(folder.path("shot.glb")).unwrap();
        assert_eq!(&bytes[..4], b"glTF");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.contains("\"tet0\"") && text.contains("weights"), "{text}");
        let notes = recorder.notes();
        assert!(notes[0].starts_with("shot.glb: 1 morph targets show \"tet0\" with an error of at most "), "{notes:?}");
    }

    #[test]
    fn errors_are_told_in_two_digits() {
        assert_eq!(
            (length(1.6e-7), length(1.234e-3), two_digits(7.62e-5)),
            ("0.16 µm".into(), "1.2 mm".into(), "7.6e-5".into())
        );
    }

    #[test]
    fn shapes_move_as_nodes() {
        let folder = TestFolder::new("glb-rigid");
        let mut recorder = GlbRecorder::create(folder.path("shot.glb"), GlbParams::default()).unwrap();
        for index in 0..3 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        let text = String::from_utf8_lossy(&std::fs::read(folder.path("shot.glb")).unwrap()).into_owned();
        assert!(text.contains("\"ball\"") && text.contains("\"translation\""), "{text}");
    }

    #[test]
    fn long_shots_are_thinned_and_say_so() {
        let folder = TestFolder::new("glb-long");
        let mut recorder = GlbRecorder::create(folder.path("shot.glb"), GlbParams::default()).unwrap();
        recorder.most_bytes = 10 * 48;
        for index in 0..30 {
            tets_at(index, 1, &mut |frame| recorder.frame(frame).unwrap());
        }
        let kept: Vec<usize> = recorder.frames.iter().map(|frame| (frame.time * 60.0).round() as usize).collect();
        assert!(kept.windows(2).all(|w| w[1] - w[0] == recorder.stride), "{kept:?}");
        recorder.finish().unwrap();
        assert!(recorder.notes()[0].contains("every 4th frame"), "{:?}", recorder.notes());
    }
}
