//! USD: moving surfaces for Blender, Houdini, Maya and usdview, and through them Alembic.
//!
//! A `Mesh` per body with points sampled over time and velocities for motion blur, and one per rigid shape with a
//! sampled transform. Where cells are removed, the triangles are sampled too, at the frames where they change. The
//! layer is the same in every encoding: text (`.usda`), crate (`.usdc`), and a crate in a package (`.usdz`).
//!
//! Text groups samples by attribute, not by time, so they are spooled beside the file until the end. Short animations
//! are one file. The samples of long ones are in value clips: files of some frames each that readers open on demand.
//! Crates take samples as they come, and readers find each of them by itself, so they are never split.

mod file;
mod layer;
mod text;

use std::ops::Range;
use std::path::PathBuf;

use sinew_fem::{BodyFrame, Frame, RecordError, Recorder};
use sinew_io::usd::{Content, Layer, Prim, Property, Value};
use sinew_math::Vec3;
use sinew_raster::UpAxis;
use sinew_scene::output::{UsdEncoding, file_stem, stem};

pub(super) use self::file::{Companion, UsdFile};
pub(super) use self::layer::{Stage, as_simulated, extent, triangles};
use super::FileRecorder;
use super::atomic::AtomicFile;
use super::names::identifier;
use super::sequence::Sequence;
use super::shapes::{points_f32, transform_rows};
use super::surface::{Cast, Part, surface_velocities};

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
    /// Samples of all bodies: three attributes each.
    file: Option<UsdFile>,
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
    /// Index of its extents among the sampled attributes; points and velocities follow.
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
            file: None,
            shapes: Vec::new(),
            codes: Vec::new(),
            files: Sequence::default(),
            notes: Vec::new(),
            is_finished: false,
        })
    }

    /// Splits the samples of text into clips of this many frames; `None` does so only if one file would be too large.
    pub fn with_clips(mut self, frames_per_clip: Option<usize>) -> UsdRecorder {
        self.clips = frames_per_clip.map(|frames| frames.max(1));
        self
    }

    /// Bytes of the constant part, and of the samples of a frame like this one.
    pub(super) fn sizes(frame: &Frame<'_>, encoding: UsdEncoding) -> [u64; 2] {
        let cast = Cast::of(frame);
        let is_text = encoding == UsdEncoding::Text;
        let topology = |part: &Part| if is_text { 30 } else { 6 } * part.triangles.len() + 500;
        let mut samples = if is_text { 200 } else { 160 } * frame.shapes.len() as u64;
        for body in &frame.bodies {
            let (values, is_moving) = sample_values(body);
            let size = |value: &Value| match value {
                Value::Float3s(vectors) if !is_text => 12 * vectors.len() + 24,
                value => text::sample_line(0.0, value).len(),
            };
            let values = if is_moving { &values[..] } else { &values[..2] };
            samples += values.iter().map(|value| size(value) as u64).sum::<u64>();
        }
        let constant = cast.parts.iter().map(topology).sum::<usize>() as u64;
        [constant + if is_text { 400 } else { 1500 }, samples]
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
        self.file = Some(UsdFile::create(&self.path, ATTRIBUTES.len() * self.bodies.len())?);
        self.cast = Some(cast);
        Ok(())
    }

    /// Time code of a time, rounded to remove floating-point noise: 0.1 s at 60 Hz is frame 6.
    fn time_code(&self, time: f64) -> f64 {
        (time * self.frame_rate * 1e6).round() / 1e6
    }

    /// Frames per clip; `None` for a single file.
    fn frames_per_clip(&mut self) -> Option<usize> {
        if self.codes.is_empty() || self.bodies.is_empty() {
            return None;
        }
        let samples = self.file.as_mut()?.lines()?;
        self.clips.or_else(|| {
            let bytes: u64 =
                self.bodies.iter().flat_map(|body| body.attributes().map(|number| samples.length_of(number))).sum();
            let clips = bytes.div_ceil(CLIP_BYTES.min(self.largest_file)).max(1);
            (bytes > self.largest_file).then(|| (self.codes.len() as u64).div_ceil(clips).max(1) as usize)
        })
    }

    fn write(&mut self) -> Result<(), RecordError> {
        let stage = Stage { root: "World", up: self.up, frame_rate: self.frame_rate };
        let clips = match self.frames_per_clip() {
            Some(frames) => Some(self.write_clips(&stage, frames)?),
            None => None,
        };
        let mut world = stage.world();
        let parts = self.cast.as_ref().map(|cast| cast.parts.as_slice()).unwrap_or_default();
        for (body, part) in self.bodies.iter().zip(parts) {
            let mut mesh = Prim::def("Mesh", &body.name);
            mesh.properties = if clips.is_some() { body.declared() } else { body.recorded() };
            mesh.properties.extend(layer::triangles(&body.triangles));
            mesh.properties.extend(layer::look(part.color));
            world.children.push(mesh);
        }
        for (shape, part) in self.shapes.iter().zip(parts.iter().skip(self.bodies.len())) {
            let mut mesh = Prim::def("Mesh", &shape.name);
            let points = part.rigid_points.as_deref().unwrap_or_default();
            mesh.properties = layer::rigid(points, &shape.rows, &self.codes);
            mesh.properties.extend(layer::triangles(&[(0.0, part.triangles.clone())]));
            mesh.properties.extend(layer::look(part.color));
            world.children.push(mesh);
        }
        if let Some(clips) = clips {
            world.metadata.insert(0, ("clips", clips));
        }
        let layer = Layer { metadata: stage.metadata(self.ends(0..self.codes.len())), prims: vec![world] };
        // A run without frames has no samples either.
        let file = self.file.take().map_or_else(|| UsdFile::create(&self.path, 0), Ok)?;
        file.finish(&layer, &[])?;
        self.files.add(self.path.clone());
        self.files.keep();
        Ok(())
    }

    /// First and last time code of some frames.
    fn ends(&self, frames: Range<usize>) -> [f64; 2] {
        let codes = &self.codes[frames];
        [codes.first(), codes.last()].map(|code| code.copied().unwrap_or(0.0))
    }

    /// A layer with nothing but attributes of bodies.
    fn over(&self, stage: &Stage, frames: Range<usize>, properties: impl Fn(&BodySamples) -> Vec<Property>) -> Layer {
        let mut world = Prim::over("World");
        let bodies = self.bodies.iter().map(|body| Prim { properties: properties(body), ..Prim::over(&body.name) });
        world.children = bodies.collect();
        Layer { metadata: stage.metadata(self.ends(frames)), prims: vec![world] }
    }

    /// Writes the clips and their manifest, and returns the clip metadata of the stage.
    fn write_clips(&mut self, stage: &Stage, frames_per_clip: usize) -> Result<Value, RecordError> {
        let folder = format!("{}_clips", file_stem(&stem(&self.path), 0));
        let at = |name: &str| self.path.with_file_name(&folder).join(name);
        let count = self.codes.len();
        let names: Vec<String> =
            (0..count.div_ceil(frames_per_clip)).map(|clip| format!("clip_{clip:05}.usda")).collect();
        let mut lines = self.file.take();
        for (clip, name) in names.iter().enumerate() {
            // One frame more than the clip covers, to interpolate up to the next clip.
            let first = clip * frames_per_clip;
            let frames = first..(first + frames_per_clip + 1).min(count);
            let mut out = AtomicFile::create(at(name))?;
            let layer = self.over(stage, frames.clone(), BodySamples::recorded);
            text::write(&layer, lines.as_mut().and_then(UsdFile::lines), &frames, &mut out)?;
            out.commit()?;
            self.files.add(at(name));
        }
        self.file = lines;
        let mut out = AtomicFile::create(at("manifest.usda"))?;
        text::write(&self.over(stage, 0..count, BodySamples::declared), None, &(0..0), &mut out)?;
        out.commit()?;
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
        for (body, samples) in frame.bodies.iter().zip(&mut self.bodies) {
            let (values, is_moving) = sample_values(body);
            samples.is_moving |= is_moving;
            for (k, value) in values.iter().enumerate() {
                self.file.as_mut().map_or(Ok(()), |file| file.push(samples.first + k, code, value))?;
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
        self.file = None;
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

/// The sampled attributes with their types.
const ATTRIBUTES: [(&str, &str); 3] = [("extent", "float3[]"), ("points", "point3f[]"), ("velocities", "vector3f[]")];

/// Values of [`ATTRIBUTES`], and whether any velocity is not zero.
fn sample_values(body: &BodyFrame<'_>) -> ([Value; 3], bool) {
    let points = points_f32(&body.surface_positions);
    let velocities = points_f32(&surface_velocities(body));
    let is_moving = velocities.as_flattened().iter().any(|&v| v != 0.0);
    ([extent(&points), Value::Float3s(points), Value::Float3s(velocities)], is_moving)
}

impl BodySamples {
    /// Other triangles from a time code on.
    fn change(&mut self, code: f64, triangles: &[[u32; 3]]) {
        if self.triangles.last().is_none_or(|(_, last)| last != triangles) {
            self.triangles.push((code, triangles.to_vec()));
        }
    }

    /// Numbers of its sampled attributes. A body that never moves needs no velocities.
    fn attributes(&self) -> Range<usize> {
        self.first..self.first + if self.is_moving { ATTRIBUTES.len() } else { ATTRIBUTES.len() - 1 }
    }

    fn properties(&self, content: impl Fn(usize) -> Content) -> Vec<Property> {
        let attribute = |(number, (name, kind)): (usize, &(&'static str, &'static str))| {
            Property::new(kind, *name, content(number))
        };
        self.attributes().zip(&ATTRIBUTES).map(attribute).collect()
    }

    /// The attributes without their values.
    fn declared(&self) -> Vec<Property> {
        self.properties(|_| Content::Declared)
    }

    /// The attributes with their samples.
    fn recorded(&self) -> Vec<Property> {
        self.properties(Content::Recorded)
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
