//! USDA: moving surfaces for Blender, Houdini, Maya and usdview, and through them Alembic.
//!
//! A `Mesh` per body with points sampled over time and velocities for motion blur, and one per rigid shape with a
//! sampled transform. Where cells are removed, the triangles are sampled too, at the frames where they change. USD
//! groups samples by attribute, not by time, so samples are spooled beside the file until the end. Short animations are
//! one file. The samples of long ones are in value clips: files of some frames each that readers open on demand.

mod layer;

use std::ops::Range;
use std::path::PathBuf;

use sinew_fem::{BodyFrame, Frame, RecordError, Recorder};
use sinew_math::Vec3;
use sinew_raster::{Bounds, UpAxis};
use sinew_scene::output::{file_stem, stem};

use self::layer::Stage;
use super::FileRecorder;
use super::atomic::{AtomicFile, write_file};
use super::digits::tuples;
use super::interleaved::Interleaved;
use super::names::identifier;
use super::sequence::Sequence;
use super::shapes::{points_f32, transform_rows};
use super::surface::{Cast, surface_velocities};

/// Larger animations are split into clips: readers parse the whole text of a file before they show anything.
const LARGEST_FILE: u64 = 256 << 20;

/// Default size of a clip: it opens in about a second.
const CLIP_BYTES: u64 = 64 << 20;

/// Writes time-sampled meshes. Lengths are meters; time codes are frames.
pub struct UsdRecorder {
    path: PathBuf,
    up: UpAxis,
    frame_rate: f64,
    /// Frames per clip, if given.
    clips: Option<usize>,
    largest_file: u64,
    cast: Option<Cast>,
    bodies: Vec<BodySamples>,
    /// Samples of all bodies: three arrays of lines of text each, one line per frame.
    samples: Option<Interleaved>,
    shapes: Vec<ShapeSamples>,
    /// Time code of each frame.
    codes: Vec<f64>,
    files: Sequence,
    notes: Vec<String>,
    is_finished: bool,
}

/// A body that deforms.
struct BodySamples {
    name: String,
    /// Index of its extents among the sampled arrays; points and velocities follow.
    first: usize,
    /// Whether any velocity was not zero.
    is_moving: bool,
    /// Triangles from each time code on at which they are others.
    triangles: Vec<(f64, Vec<[u32; 3]>)>,
}

/// Samples of a rigid shape.
struct ShapeSamples {
    name: String,
    rows: Vec<[Vec3; 4]>,
}

impl UsdRecorder {
    /// Starts a file; it appears when the recorder is finished.
    pub fn create(path: impl Into<PathBuf>, up: UpAxis, frame_rate: f64) -> Result<UsdRecorder, RecordError> {
        let path = path.into();
        // Fails now rather than at the end of a long run if the folder cannot be written.
        AtomicFile::create(&path)?;
        Ok(UsdRecorder {
            path,
            up,
            frame_rate,
            clips: None,
            largest_file: LARGEST_FILE,
            cast: None,
            bodies: Vec::new(),
            samples: None,
            shapes: Vec::new(),
            codes: Vec::new(),
            files: Sequence::default(),
            notes: Vec::new(),
            is_finished: false,
        })
    }

    /// Splits the samples into clips of this many frames; `None` does so only if one file would be too large.
    pub fn with_clips(mut self, frames_per_clip: Option<usize>) -> UsdRecorder {
        self.clips = frames_per_clip.map(|frames| frames.max(1));
        self
    }

    /// Bytes of the constant part, and of the samples of a frame like this one.
    pub(super) fn sizes(frame: &Frame<'_>) -> [u64; 2] {
        let cast = Cast::of(frame);
        let topology = |part: &super::surface::Part| 30 * part.triangles.len() + 500;
        let mut samples = 200 * frame.shapes.len() as u64;
        for body in &frame.bodies {
            let (texts, is_moving) = sample_texts(body);
            let lines = if is_moving { &texts[..] } else { &texts[..2] };
            samples += lines.iter().map(|text| text.len() as u64 + 20).sum::<u64>();
        }
        [cast.parts.iter().map(topology).sum::<usize>() as u64 + 400, samples]
    }

    fn begin(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let cast = Cast::of(frame);
        let mut names: Vec<String> = Vec::new();
        for part in &cast.parts {
            let name = identifier(&part.name, &names);
            names.push(name.clone());
            if part.rigid_points.is_some() {
                self.shapes.push(ShapeSamples { name, rows: Vec::new() });
            } else {
                let first = ATTRIBUTES.len() * self.bodies.len();
                let triangles = vec![(self.time_code(frame.time), part.triangles.clone())];
                self.bodies.push(BodySamples { name, first, is_moving: false, triangles });
            }
        }
        self.samples = Some(Interleaved::create(&self.path, ATTRIBUTES.len() * self.bodies.len())?);
        self.cast = Some(cast);
        Ok(())
    }

    /// Time code of a time, rounded to remove floating-point noise: 0.1 s at 60 Hz is frame 6.
    fn time_code(&self, time: f64) -> f64 {
        (time * self.frame_rate * 1e6).round() / 1e6
    }

    /// Frames per clip; `None` for a single file.
    fn frames_per_clip(&self) -> Option<usize> {
        if self.codes.is_empty() || self.bodies.is_empty() {
            return None;
        }
        self.clips.or_else(|| {
            let samples = self.samples.as_ref()?;
            let bytes: u64 =
                self.bodies.iter().flat_map(|body| body.arrays().map(|array| samples.length_of(array))).sum();
            let clips = bytes.div_ceil(CLIP_BYTES.min(self.largest_file)).max(1);
            (bytes > self.largest_file).then(|| (self.codes.len() as u64).div_ceil(clips).max(1) as usize)
        })
    }

    fn write(&mut self) -> Result<(), RecordError> {
        let stage = Stage { up: self.up, frame_rate: self.frame_rate };
        let all = 0..self.codes.len();
        let clips = match self.frames_per_clip() {
            Some(frames) => Some(self.write_clips(&stage, frames)?),
            None => None,
        };
        let mut out = AtomicFile::create(&self.path)?;
        out.put(&stage.head(&self.codes))?;
        out.put(stage.world(clips.as_deref().unwrap_or_default()).as_bytes())?;
        let parts = self.cast.as_ref().map(|cast| cast.parts.as_slice()).unwrap_or_default();
        for (body, part) in self.bodies.iter().zip(parts) {
            out.put(format!("\n    def Mesh \"{}\"\n    {{\n", body.name).as_bytes())?;
            match &clips {
                Some(_) => out.put(body.declarations().as_bytes())?,
                None => body.write_samples(self.samples.as_mut(), all.clone(), &mut out)?,
            }
            out.put(&layer::topology(&body.triangles, part.color))?;
        }
        for (shape, part) in self.shapes.iter().zip(parts.iter().skip(self.bodies.len())) {
            out.put(format!("\n    def Mesh \"{}\"\n    {{\n", shape.name).as_bytes())?;
            let points = part.rigid_points.as_deref().unwrap_or_default();
            out.put(&layer::rigid(points, &shape.rows, &self.codes))?;
            out.put(&layer::topology(&[(0.0, part.triangles.clone())], part.color))?;
        }
        out.put(b"}\n")?;
        out.commit()?;
        self.files.add(self.path.clone());
        self.files.keep();
        Ok(())
    }

    /// Writes the clips and their manifest, and returns the clip metadata of the stage.
    fn write_clips(&mut self, stage: &Stage, frames_per_clip: usize) -> Result<String, RecordError> {
        let folder = format!("{}_clips", file_stem(&stem(&self.path), 0));
        let at = |name: &str| self.path.with_file_name(&folder).join(name);
        let count = self.codes.len();
        let names: Vec<String> =
            (0..count.div_ceil(frames_per_clip)).map(|clip| format!("clip_{clip:05}.usda")).collect();
        for (clip, name) in names.iter().enumerate() {
            // One frame more than the clip covers, to interpolate up to the next clip.
            let first = clip * frames_per_clip;
            let frames = first..(first + frames_per_clip + 1).min(count);
            let mut out = AtomicFile::create(at(name))?;
            out.put(&stage.head(&self.codes[frames.clone()]))?;
            out.put(b"over \"World\"\n{\n")?;
            for body in &self.bodies {
                out.put(format!("    over \"{}\"\n    {{\n", body.name).as_bytes())?;
                body.write_samples(self.samples.as_mut(), frames.clone(), &mut out)?;
                out.put(b"    }\n")?;
            }
            out.put(b"}\n")?;
            out.commit()?;
            self.files.add(at(name));
        }
        let mut manifest = stage.head(&self.codes);
        manifest.extend_from_slice(b"over \"World\"\n{\n");
        for body in &self.bodies {
            let text = format!("    over \"{}\"\n    {{\n{}    }}\n", body.name, body.declarations());
            manifest.extend_from_slice(text.as_bytes());
        }
        manifest.extend_from_slice(b"}\n");
        write_file(at("manifest.usda"), &manifest)?;
        self.files.add(at("manifest.usda"));
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.notes.push(format!("{file} reads its motion from {} clips in {folder}/", names.len()));
        Ok(layer::clips(&folder, &names, &self.codes, frames_per_clip))
    }
}

impl Recorder for UsdRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if self.cast.is_none() {
            self.begin(frame)?;
        }
        let code = self.time_code(frame.time);
        if let Some(cast) = &mut self.cast {
            if cast.follow(frame) {
                for (samples, part) in self.bodies.iter_mut().zip(cast.bodies()) {
                    samples.change(code, &part.triangles);
                }
            }
            cast.check(frame, "USD")?;
        }
        let start = format!("            {code}: ");
        let failed = |source| RecordError::Io { path: self.path.clone(), source };
        for (body, samples) in frame.bodies.iter().zip(&mut self.bodies) {
            let (texts, is_moving) = sample_texts(body);
            samples.is_moving |= is_moving;
            for (k, text) in texts.iter().enumerate() {
                let line = [start.as_bytes(), text, b",\n"];
                self.samples.as_mut().map_or(Ok(()), |arrays| arrays.push(samples.first + k, &line)).map_err(failed)?;
            }
        }
        for (shape, samples) in frame.shapes.iter().zip(&mut self.shapes) {
            samples.rows.push(transform_rows(&shape.pose));
        }
        self.codes.push(code);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if self.is_finished {
            return Ok(());
        }
        self.is_finished = true;
        let result = self.write();
        // Frees the disk space of the samples.
        self.samples = None;
        result
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl FileRecorder for UsdRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
    }
}

/// The sampled attributes with their types: one per spool.
const ATTRIBUTES: [(&str, &str); 3] = [("extent", "float3[]"), ("points", "point3f[]"), ("velocities", "vector3f[]")];

/// Values of [`ATTRIBUTES`], and whether any velocity is not zero.
fn sample_texts(body: &BodyFrame<'_>) -> ([Vec<u8>; 3], bool) {
    let points = points_f32(&body.surface_positions);
    let velocities = points_f32(&surface_velocities(body));
    let is_moving = velocities.as_flattened().iter().any(|&v| v != 0.0);
    ([tuples(&extent(&points)), tuples(&points), tuples(&velocities)], is_moving)
}

/// The corners of the box around some points.
fn extent(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let bounds = Bounds::of(points);
    if bounds.is_empty() { [[0.0; 3]; 2] } else { [bounds.min, bounds.max] }
}

impl BodySamples {
    /// Other triangles from a time code on.
    fn change(&mut self, code: f64, triangles: &[[u32; 3]]) {
        if self.triangles.last().is_none_or(|(_, last)| last != triangles) {
            self.triangles.push((code, triangles.to_vec()));
        }
    }

    /// Sampled attributes. A body that never moves needs no velocities.
    fn attributes(&self) -> &'static [(&'static str, &'static str)] {
        if self.is_moving { &ATTRIBUTES } else { &ATTRIBUTES[..2] }
    }

    /// The attributes without their values.
    fn declarations(&self) -> String {
        self.attributes().iter().map(|(name, kind)| format!("        {kind} {name}\n")).collect()
    }

    /// Indices of their arrays.
    fn arrays(&self) -> Range<usize> {
        self.first..self.first + self.attributes().len()
    }

    /// The attributes with the values of some frames.
    fn write_samples(
        &self,
        mut samples: Option<&mut Interleaved>,
        frames: Range<usize>,
        out: &mut AtomicFile,
    ) -> Result<(), RecordError> {
        for ((name, kind), array) in self.attributes().iter().zip(self.arrays()) {
            out.put(format!("        {kind} {name}.timeSamples = {{\n").as_bytes())?;
            if let Some(samples) = samples.as_deref_mut() {
                samples.copy_rows(array, frames.clone(), out)?;
            }
            out.put(b"        }\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, shapes_at, tets_at};

    fn record(folder: &TestFolder, name: &str, clips: Option<usize>, largest_file: u64) -> UsdRecorder {
        let mut recorder = UsdRecorder::create(folder.path(name), UpAxis::Z, 60.0).unwrap().with_clips(clips);
        recorder.largest_file = largest_file;
        for index in 0..5 {
            tets_at(index, 2, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        recorder.finish().unwrap();
        recorder
    }

    fn assert_balanced(text: &str) {
        for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
            assert_eq!(text.matches(open).count(), text.matches(close).count(), "{open} {close} in\n{text}");
        }
    }

    #[test]
    fn samples_are_grouped_under_their_attributes() {
        let folder = TestFolder::new("usd");
        record(&folder, "a.usda", None, LARGEST_FILE);
        let text = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        for needle in [
            "#usda 1.0",
            "upAxis = \"Z\"",
            "metersPerUnit = 1",
            "timeCodesPerSecond = 60",
            "startTimeCode = 0",
            "endTimeCode = 4",
            "defaultPrim = \"World\"",
            "        point3f[] points.timeSamples = {\n            0: [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],\n",
            "            1: [(0.1, 0, 0), (1.1, 1, 1)],",
            "        vector3f[] velocities.timeSamples = {\n            0: [(6, 0, 0), (6, 0, 0), (6, 0, 0), (6, 0, 0)],",
            "int[] faceVertexCounts = [3, 3, 3, 3]",
            "interpolation = \"constant\"",
            "subdivisionScheme = \"none\"",
        ] {
            assert!(text.contains(needle), "{needle} is missing in\n{text}");
        }
        assert_balanced(&text);
        assert_eq!(folder.entries(), ["a.usda"], "no spool is left");
    }

    #[test]
    fn rigid_shapes_are_sampled_as_transforms() {
        let folder = TestFolder::new("usd-rigid");
        let mut recorder = UsdRecorder::create(folder.path("a.usda"), UpAxis::Z, 60.0).unwrap();
        for index in 0..3 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        assert!(text.contains("def Mesh \"ball\"") && text.contains("endTimeCode = 2"), "{text}");
        assert!(text.contains("2: ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0.2, 0, 0, 1) ),"), "{text}");
        // The floor does not move.
        assert!(text.contains("xformOp:transform = ( (1, 0, 0, 0)"), "{text}");
    }

    #[test]
    fn x_up_is_turned_to_z_up() {
        let folder = TestFolder::new("usd-x");
        UsdRecorder::create(folder.path("a.usda"), UpAxis::X, 24.0).unwrap().finish().unwrap();
        let text = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        assert!(text.contains("upAxis = \"Z\"") && text.contains("(0, 0, 1, 0), (-1, 0, 0, 0), (0, -1, 0, 0)"));
    }

    /// Each clip contains its frames and the first of the next, so that any two consecutive frames are in one clip.
    #[test]
    fn clips_overlap_by_a_frame() {
        let folder = TestFolder::new("usd-clips");
        std::fs::create_dir_all(folder.path("a_clips")).unwrap();
        std::fs::write(folder.path("a_clips/clip_00009.usda"), "old").unwrap();
        let recorder = record(&folder, "a.usda", Some(2), LARGEST_FILE);
        let main = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        assert_balanced(&main);
        assert!(!main.contains("timeSamples"), "{main}");
        assert!(main.contains("double2[] active = [(0, 0), (2, 1), (4, 2)]"), "{main}");
        let codes = |name: &str| {
            let text = std::fs::read_to_string(folder.path("a_clips").join(name)).unwrap();
            assert_balanced(&text);
            let points = text.split("points.timeSamples = {\n").nth(1).unwrap().split('}').next().unwrap().to_string();
            let codes: Vec<String> =
                points.lines().filter_map(|line| line.trim().split_once(':').map(|(code, _)| code.into())).collect();
            codes.join(" ")
        };
        assert_eq!(codes("clip_00000.usda"), "0 1 2");
        assert_eq!(codes("clip_00001.usda"), "2 3 4");
        assert_eq!(codes("clip_00002.usda"), "4");
        assert_eq!(recorder.files().len(), 5);
        assert_eq!(std::fs::read(folder.path("a_clips/clip_00009.usda")).unwrap(), b"old", "not ours to remove");
        assert!(!main.contains("clip_00009"), "{main}");
    }

    #[test]
    fn long_shots_are_split_by_themselves() {
        let folder = TestFolder::new("usd-long");
        let recorder = record(&folder, "a.usda", None, 1500);
        assert!(recorder.files().len() > 3, "{:?}", recorder.files());
        assert!(recorder.notes()[0].contains("clips in a_clips/"), "{:?}", recorder.notes());
    }
}
