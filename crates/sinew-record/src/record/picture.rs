//! Pictures of a run: stills and one animation.
//!
//! Frames are kept as snapshots and drawn at the end, when the view of the camera and the range of the colors are
//! known. An interrupted run draws nothing: pictures can be drawn from the recording later. Memory is bounded: very
//! long runs are thinned out evenly.

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use sinew_fem::{Frame, Interrupt, RecordError, Recorder};
use sinew_raster::{
    Bounds, Camera, Finish, FitParams, Image, Legend, Paint, Renderer, Rgb, ShapeMesh, Surface, UpAxis, View,
    draw_footnote,
};
use sinew_scene::{Dimension, format_quantity};

use super::FileRecorder;
use super::atomic::AtomicFile;
use super::field::ColorField;
use super::png::{Animation, encode_png};
use super::sequence::{Sequence, numbered};
use super::shapes::{PLANE_HALF, f32s, ground_level, points_f32, shape_mesh, transform_rows};
use crate::still::{ArrowScale, ForceAt, LONGEST_ARROW, draw_forces, largest_force};

/// Contents and paths of pictures.
#[derive(Clone, Debug)]
pub struct PictureParams {
    /// Stills become `<stem>_00000.png` beside this path; `None` for no stills.
    pub stills: Option<PathBuf>,
    /// File of the animation; `None` for no animation.
    pub animation: Option<PathBuf>,
    /// Width and height of stills \[pixels\]. The animation has the same aspect ratio and is at most 720 pixels wide.
    pub size: [usize; 2],
    /// Axis that points up.
    pub up: UpAxis,
    /// Position of the camera \[m\]; `None` shows everything.
    pub eye: Option<[f32; 3]>,
    /// The point at the center of the picture \[m\]; `None` uses the center of the scene.
    pub target: Option<[f32; 3]>,
    /// Upward direction in the picture; `None` uses the up axis.
    pub camera_up: Option<[f32; 3]>,
    /// Direction and lens of the automatic camera.
    pub fit: FitParams,
    /// Field that colors the bodies; `None` uses plain flesh color.
    pub color: Option<ColorField>,
    /// Values at the ends of the color map; `None` uses the extremes of the run.
    pub range: Option<[f64; 2]>,
    /// Whether a ground is drawn: at the height of a level plane, else under the lowest point.
    pub ground: GroundStyle,
    /// Text in the corner.
    pub title: Option<String>,
}

/// The ground under a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroundStyle {
    /// A checkered floor.
    Checker,
    /// No ground.
    None,
}

impl Default for PictureParams {
    fn default() -> PictureParams {
        PictureParams {
            stills: None,
            animation: None,
            size: [960, 720],
            up: UpAxis::Z,
            eye: None,
            target: None,
            camera_up: None,
            fit: FitParams::default(),
            color: None,
            range: None,
            ground: GroundStyle::Checker,
            title: None,
        }
    }
}

/// Maximum number of frames of an animation: four seconds at 30 per second, and at most a few megabytes.
const ANIMATION_FRAMES: usize = 120;

/// Maximum width of an animation \[pixels\].
const ANIMATION_WIDTH: usize = 720;

/// Snapshots are thinned out beyond this many bytes.
const SNAPSHOT_BYTES: usize = 512 << 20;

/// Number of pictures that determine the palette of an animation.
const PALETTE_EXAMPLES: usize = 6;

/// Number of pictures that are drawn at the same time: a few megabytes each.
const BATCH: usize = 8;

/// Draws stills and an animation when it is finished.
pub struct PictureRecorder {
    params: PictureParams,
    /// Triangles of the bodies, as they are at the last frame.
    bodies: Arc<Vec<Vec<[u32; 3]>>>,
    topology_revision: u64,
    shapes: Vec<ShapeMesh>,
    /// Height of a level plane, if there is one, and for each shape whether it is such a plane.
    level: Option<f32>,
    is_level: Vec<bool>,
    snapshots: Vec<Snapshot>,
    snapshot_bytes: usize,
    /// Interval between kept frames.
    stride: usize,
    seen: usize,
    bounds: Bounds,
    values: [f64; 2],
    /// Largest contact force \[N\].
    largest_force: f32,
    files: Sequence,
    is_finished: bool,
}

/// Moving data at one time.
struct Snapshot {
    index: usize,
    time: f64,
    bodies: Vec<(Vec<[f32; 3]>, Vec<f32>)>,
    triangles: Arc<Vec<Vec<[u32; 3]>>>,
    shapes: Vec<[[f32; 3]; 4]>,
    contacts: Vec<ForceAt>,
}

impl PictureRecorder {
    /// Starts a recorder; the folders of its files must be writable.
    pub fn create(params: PictureParams) -> Result<PictureRecorder, RecordError> {
        // Fails now rather than after the run.
        for path in params.stills.iter().chain(&params.animation) {
            AtomicFile::create(path)?;
        }
        Ok(PictureRecorder {
            params,
            bodies: Arc::default(),
            topology_revision: 0,
            shapes: Vec::new(),
            level: None,
            is_level: Vec::new(),
            snapshots: Vec::new(),
            snapshot_bytes: 0,
            stride: 1,
            seen: 0,
            bounds: Bounds::default(),
            values: [f64::INFINITY, f64::NEG_INFINITY],
            largest_force: 0.0,
            files: Sequence::default(),
            is_finished: false,
        })
    }

    fn begin(&mut self, frame: &Frame<'_>) {
        self.take_triangles(frame);
        self.shapes = frame.shapes.iter().map(|shape| shape_mesh(shape.shape, PLANE_HALF, 24)).collect();
        let levels: Vec<Option<f32>> =
            frame.shapes.iter().map(|shape| ground_level(shape.shape, &shape.pose, self.params.up.index())).collect();
        self.is_level = levels.iter().map(Option::is_some).collect();
        // The highest floor is the visible one.
        self.level = levels.into_iter().flatten().fold(None, |best: Option<f32>, l| Some(best.map_or(l, |b| b.max(l))));
    }

    fn take_triangles(&mut self, frame: &Frame<'_>) {
        self.bodies = Arc::new(frame.bodies.iter().map(|body| body.surface_triangles.to_vec()).collect());
        self.topology_revision = frame.topology_revision;
    }

    fn keep(&mut self, frame: &Frame<'_>) {
        let bodies: Vec<(Vec<[f32; 3]>, Vec<f32>)> = frame
            .bodies
            .iter()
            .map(|body| {
                let values = self.params.color.map_or_else(Vec::new, |field| field.surface_values(body));
                (points_f32(&body.surface_positions), values)
            })
            .collect();
        for (positions, values) in &bodies {
            self.bounds.union(&Bounds::of(positions));
            for &value in values.iter().filter(|v| v.is_finite()) {
                self.values[0] = self.values[0].min(f64::from(value));
                self.values[1] = self.values[1].max(f64::from(value));
            }
            self.snapshot_bytes += 12 * positions.len() + 4 * values.len();
        }
        let shapes = frame.shapes.iter().map(|shape| transform_rows(&shape.pose).map(f32s)).collect();
        let contacts: Vec<ForceAt> = frame.contacts.iter().map(|c| (f32s(c.place), f32s(c.force))).collect();
        self.largest_force = self.largest_force.max(largest_force(&contacts));
        self.snapshot_bytes += 24 * contacts.len();
        let triangles = self.bodies.clone();
        self.snapshots.push(Snapshot { index: frame.index, time: frame.time, bodies, triangles, shapes, contacts });
        let is_crowded = self.params.stills.is_none() && self.snapshots.len() > 2 * ANIMATION_FRAMES;
        if is_crowded || self.snapshot_bytes > SNAPSHOT_BYTES {
            let mut number = 0;
            self.snapshots.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
            self.snapshot_bytes /= 2;
        }
    }

    fn draw_all(&self, files: &mut Sequence) -> Result<(), RecordError> {
        if self.snapshots.is_empty() {
            return Ok(());
        }
        let stage = self.stage();
        let [width, height] = self.params.size;
        let shrink = (ANIMATION_WIDTH as f64 / width as f64).min(1.0);
        let scaled = |side: usize| ((side as f64 * shrink / 2.0).round() as usize * 2).max(2);
        let small = [scaled(width), scaled(height)];
        // Frames of the animation are shrunk stills if there are stills, else drawn at their own size.
        let renderer = match &self.params.stills {
            Some(_) => Renderer::new(width, height),
            None => Renderer::new(small[0], small[1]),
        };
        // Pictures take the longest of all outputs, so the run can be interrupted before each of them.
        let interrupt = Interrupt::ambient();
        let draw = |i: usize| match interrupt.is_wanted() {
            true => Err(RecordError::Interrupted),
            false => Ok(self.draw(&self.snapshots[i], &stage, &renderer)),
        };
        let stride = self.snapshots.len().div_ceil(ANIMATION_FRAMES).max(1);
        let mut animation = None;
        if self.params.animation.is_some() {
            let count = PALETTE_EXAMPLES.min(self.snapshots.len());
            let last = self.snapshots.len() - 1;
            let examples: Vec<usize> = (0..count).map(|i| i * last / (count - 1).max(1)).collect();
            let small = |&i: &usize| draw(i).map(|image| image.shrunk(small[0], small[1]));
            animation = Some(Animation::new(&examples.par_iter().map(small).collect::<Result<Vec<Image>, _>>()?));
        }
        let step = if self.params.stills.is_some() { 1 } else { stride };
        let wanted: Vec<usize> = (0..self.snapshots.len()).step_by(step).collect();
        // Several at a time: drawing is parallel inside a picture too, but compression is not.
        for batch in wanted.chunks(BATCH) {
            let drawn: Vec<(Option<Vec<u8>>, Option<Image>)> = batch
                .par_iter()
                .map(|&i| {
                    let image = draw(i)?;
                    let file = self.params.stills.as_ref().map(|_| encode_png(&image));
                    let is_shown = animation.is_some() && i.is_multiple_of(stride);
                    Ok((file, is_shown.then(|| image.shrunk(small[0], small[1]))))
                })
                .collect::<Result<_, RecordError>>()?;
            for (&i, (file, image)) in batch.iter().zip(&drawn) {
                if let (Some(pattern), Some(bytes)) = (&self.params.stills, file) {
                    files.put(numbered(pattern, None, self.snapshots[i].index), bytes)?;
                }
                if let (Some(animation), Some(image)) = (&mut animation, image) {
                    animation.push(image)?;
                }
            }
        }
        if let (Some(animation), Some(path)) = (animation, &self.params.animation) {
            let shown = self.snapshots.len().div_ceil(stride);
            let last = (shown - 1) * stride;
            let span = self.snapshots[last].time - self.snapshots[0].time;
            let per_frame = if shown > 1 { span / (shown - 1) as f64 } else { 0.04 };
            files.put(path.clone(), &animation.encode(per_frame)?)?;
        }
        Ok(())
    }

    /// The constant part of all pictures.
    fn stage(&self) -> Stage {
        let up = self.params.up.index();
        let mut bounds = self.bounds;
        // Obstacles and rigid bodies must be in view too, unless they are much larger than the bodies.
        let size = bounds.radius();
        for snapshot in &self.snapshots {
            for (shape, rows) in self.drawn_shapes(snapshot) {
                let moved = Bounds::of(&placed(shape, rows).positions);
                if self.bodies.is_empty() || moved.radius() < 2.0 * size {
                    bounds.union(&moved);
                }
            }
        }
        let ground = match self.params.ground {
            GroundStyle::None => None,
            GroundStyle::Checker => self.level.or((!bounds.is_empty()).then(|| bounds.min[up])),
        };
        if let Some(level) = self.level.filter(|_| self.params.ground == GroundStyle::Checker) {
            // The floor must be in view if something may fall on it.
            let gap = bounds.min[up] - level;
            if gap > 0.0 && gap < 2.0 * size {
                bounds.min[up] = level;
            }
        }
        let aspect = self.params.size[0] as f32 / self.params.size[1] as f32;
        let mut camera = Camera::fit(&bounds, self.params.up, aspect, &self.params.fit);
        match (self.params.eye, self.params.target) {
            (Some(eye), target) => {
                camera.eye = eye;
                camera.target = target.unwrap_or(bounds.center());
            }
            (None, Some(target)) => {
                let offset: [f32; 3] = std::array::from_fn(|i| target[i] - camera.target[i]);
                camera.target = target;
                camera.eye = std::array::from_fn(|i| camera.eye[i] + offset[i]);
            }
            (None, None) => {}
        }
        camera.up = self.params.camera_up.unwrap_or(camera.up);
        let legend = self.params.color.filter(|_| self.values[0] <= self.values[1]).map(|field| {
            let [min, max] = self.params.range.unwrap_or_else(|| field.range(self.values[0], self.values[1]));
            let (label, factor) = field.legend(min.abs().max(max.abs()));
            LegendText { label, min, max, factor }
        });
        Stage { camera, bounds, ground, legend }
    }

    /// Shapes with their poses; level planes are the ground and not drawn again.
    fn drawn_shapes<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = (&'a ShapeMesh, &'a [[f32; 3]; 4])> {
        let all = self.shapes.iter().zip(&snapshot.shapes).zip(&self.is_level);
        all.filter(|(_, is_level)| !**is_level).map(|(shape, _)| shape)
    }

    fn draw(&self, snapshot: &Snapshot, stage: &Stage, renderer: &Renderer) -> Image {
        let mut surfaces = Vec::new();
        let map = self.params.color.map(ColorField::map).unwrap_or_default();
        let bodies = snapshot.bodies.iter().zip(snapshot.triangles.iter());
        for (number, ((positions, values), triangles)) in bodies.enumerate() {
            let mut surface = Surface::solid(positions, triangles, Rgb::of_body(number), Finish::FLESH);
            if let Some(legend) = &stage.legend {
                surface.paint = Paint::VertexField { values, min: legend.min as f32, max: legend.max as f32, map };
                surface.finish = Finish::CHART;
            }
            surfaces.push(surface);
        }
        let shapes: Vec<ShapeMesh> = self.drawn_shapes(snapshot).map(|(shape, rows)| placed(shape, rows)).collect();
        for shape in &shapes {
            surfaces.push(Surface::solid(&shape.positions, &shape.triangles, Rgb([0.62, 0.64, 0.67]), Finish::MATTE));
        }
        let caption = format!("t = {:.2} s", snapshot.time);
        let mut image = renderer.render(&View {
            camera: stage.camera,
            up: self.params.up,
            ground: stage.ground,
            stage: stage.bounds,
            surfaces,
            title: self.params.title.as_deref(),
            caption: Some(&caption),
            legend: stage.legend.as_ref().map(|legend| Legend {
                label: &legend.label,
                min: legend.min * legend.factor,
                max: legend.max * legend.factor,
                map,
            }),
        });
        if self.largest_force > 0.0 {
            let arrows = ArrowScale { force: self.largest_force, length: LONGEST_ARROW * stage.bounds.radius() };
            draw_forces(&mut image, &stage.camera, &snapshot.contacts, arrows);
            // Two digits suffice for reading a length.
            let digits = 10f64.powf(f64::from(arrows.force).log10().floor() - 1.0);
            let force = (f64::from(arrows.force) / digits).round() * digits;
            draw_footnote(&mut image, &format!("longest arrow {}", format_quantity(force, Dimension::FORCE)));
        }
        image
    }
}

struct Stage {
    camera: Camera,
    bounds: Bounds,
    ground: Option<f32>,
    legend: Option<LegendText>,
}

struct LegendText {
    label: String,
    min: f64,
    max: f64,
    /// Factor from SI to the unit of the label.
    factor: f64,
}

impl Recorder for PictureRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if self.seen == 0 {
            self.begin(frame);
        }
        if frame.topology_revision != self.topology_revision {
            self.take_triangles(frame);
        }
        if frame.bodies.len() != self.bodies.len() {
            return Err(RecordError::Unsupported {
                format: "picture",
                reason: format!("the surfaces at frame {} differ from those of the first frame", frame.index),
            });
        }
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
        let mut files = std::mem::take(&mut self.files);
        let result = self.draw_all(&mut files);
        self.files = files;
        self.snapshots.clear();
        match &result {
            Ok(()) => self.files.keep(),
            Err(_) => self.files = Sequence::default(),
        }
        result
    }

    fn notes(&self) -> Vec<String> {
        let is_thinned = self.stride > 1 && self.params.stills.is_some();
        let note = format!("pictures show every {}th frame: more do not fit into memory", self.stride);
        if is_thinned { vec![note] } else { Vec::new() }
    }
}

impl FileRecorder for PictureRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
    }
}

fn placed(shape: &ShapeMesh, rows: &[[f32; 3]; 4]) -> ShapeMesh {
    shape
        .clone()
        .mapped(|p| std::array::from_fn(|i| rows[3][i] + p[0] * rows[0][i] + p[1] * rows[1][i] + p[2] * rows[2][i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::split_animation;
    use crate::record::tests::{TestFolder, shapes_at};

    fn params(folder: &TestFolder) -> PictureParams {
        PictureParams {
            stills: Some(folder.path("shot.png")),
            animation: Some(folder.path("animation.png")),
            size: [96, 64],
            ..PictureParams::default()
        }
    }

    #[test]
    fn finished_run_leaves_stills_and_an_animation() {
        let folder = TestFolder::new("picture");
        let mut recorder = PictureRecorder::create(params(&folder)).unwrap();
        for index in 0..3 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        recorder.finish().unwrap();
        assert_eq!(folder.entries(), ["animation.png", "shot_00000.png", "shot_00001.png", "shot_00002.png"]);
        let parts = split_animation(&std::fs::read(folder.path("animation.png")).unwrap()).unwrap();
        assert_eq!((parts.width, parts.height, parts.frames.len()), (96, 64, 3));
    }

    #[test]
    fn pictures_that_are_interrupted_leave_nothing() {
        let folder = TestFolder::new("picture-interrupted");
        let mut recorder = PictureRecorder::create(params(&folder)).unwrap();
        for index in 0..20 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        // After the examples for the palette and the first stills.
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let interrupt = Interrupt::new(move || asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= 16);
        let _entered = interrupt.enter();
        assert!(matches!(recorder.finish(), Err(RecordError::Interrupted)));
        assert!(folder.entries().is_empty(), "{:?}", folder.entries());
    }

    #[test]
    fn run_without_frames_writes_nothing() {
        let folder = TestFolder::new("picture-empty");
        PictureRecorder::create(params(&folder)).unwrap().finish().unwrap();
        assert!(folder.entries().is_empty());
    }

    #[test]
    fn level_plane_is_the_ground() {
        let folder = TestFolder::new("picture-ground");
        let mut recorder = PictureRecorder::create(params(&folder)).unwrap();
        shapes_at(0, &mut |frame| recorder.frame(frame).unwrap());
        assert_eq!(recorder.is_level, [true, false]);
        let stage = recorder.stage();
        assert_eq!(stage.ground, Some(-0.5));
        assert!(stage.bounds.min[2] <= -0.5, "the floor is in view below the ball");
    }

    #[test]
    fn long_runs_are_thinned_evenly() {
        let folder = TestFolder::new("picture-long");
        let mut recorder = PictureRecorder::create(PictureParams { stills: None, ..params(&folder) }).unwrap();
        for index in 0..1000 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        let kept: Vec<usize> = recorder.snapshots.iter().map(|s| s.index).collect();
        assert!(kept.len() <= 2 * ANIMATION_FRAMES + 1 && kept.len() >= ANIMATION_FRAMES);
        let step = kept[1] - kept[0];
        assert!(kept.windows(2).all(|w| w[1] - w[0] == step), "{kept:?}");
    }
}
