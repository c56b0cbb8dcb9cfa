//! Pictures of a run: stills, and films of them.
//!
//! All pictures share one view and one range of colors, which depend on all frames. Frames are kept as snapshots. A
//! [`Studio`] draws them on another core while the run goes on, with the view that fits the frames so far; pictures
//! that no longer fit are drawn again. An interrupted run draws nothing: pictures can be drawn from the recording later.
//! Memory is bounded: very long runs are thinned out evenly.

use std::path::PathBuf;
use std::sync::Arc;

use sinew_fem::{Frame, Interrupt, RecordError, Recorder};
use sinew_raster::{Bounds, FitParams, Image, UpAxis};
use sinew_scene::output::FilmFormat;
use sinew_scene::spec::record::{Background, Mark};

use super::FileRecorder;
use super::atomic::AtomicFile;
use super::field::ColorField;
use super::gif::MIN_DELAY;
use super::painter::{Cast, Drawing, Snapshot, Stage, StageParams};
use super::png::Animation;
use super::sequence::{Sequence, numbered};
use super::shapes::{PLANE_HALF, f32s, ground_level, points_f32, shape_mesh, transform_rows};
use super::studio::Studio;
use super::video::{MAX_PER_SECOND, Video, VideoParams, check_program};
use crate::costume::{Dressed, Wardrobe};
use crate::still::{ForceAt, Marks, largest_force, surface_edges};

/// Contents and paths of pictures.
#[derive(Clone, Debug)]
pub struct PictureParams {
    /// Stills become `<stem>_00000.png` beside this path; `None` for no stills.
    pub stills: Option<PathBuf>,
    /// Files of films, each in the format of its extension ([`FilmFormat`]).
    pub films: Vec<PathBuf>,
    /// Width and height of stills \[pixels\].
    pub size: [usize; 2],
    /// Width and height of animated PNG and GIF files \[pixels\], with the aspect ratio of `size`. Videos have `size`.
    pub animation_size: [usize; 2],
    /// Maximum number of frames of animated PNG and GIF files. Videos have all.
    pub animation_frames: usize,
    /// Pictures per second that suffice for animated PNG and GIF files: they leave out frames beyond that.
    pub animation_rate: f64,
    /// Speed of films; 1 is real time.
    pub speed: f64,
    /// Number of frames that will come, if known: pictures that the animation will skip are then not drawn early.
    pub expected: Option<usize>,
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
    /// What is behind the bodies; only the studio has a ground.
    pub background: Background,
    /// Text in the upper left corner.
    pub title: Option<String>,
    /// Whether the title and the time are drawn.
    pub captions: bool,
    /// Whether the edges of the mesh are drawn.
    pub edges: bool,
    /// Whether a scale bar is drawn.
    pub scale_bar: bool,
    /// What is drawn over the surfaces.
    pub show: Vec<Mark>,
    /// Materials of characters, which a `color` replaces.
    pub wardrobe: Arc<Wardrobe>,
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
            films: Vec::new(),
            size: STILL_SIZE,
            animation_size: ANIMATION_SIZE,
            animation_frames: 60,
            animation_rate: 20.0,
            speed: 1.0,
            expected: None,
            up: UpAxis::Z,
            eye: None,
            target: None,
            camera_up: None,
            fit: FitParams::default(),
            color: None,
            range: None,
            ground: GroundStyle::Checker,
            background: Background::Studio,
            title: None,
            captions: true,
            edges: false,
            scale_bar: true,
            show: Vec::new(),
            wardrobe: Arc::default(),
        }
    }
}

/// Usual width and height of stills \[pixels\].
const STILL_SIZE: [usize; 2] = [960, 720];

/// Usual width and height of animations \[pixels\].
const ANIMATION_SIZE: [usize; 2] = [480, 360];

/// Maximum width of an animation of another size \[pixels\].
const ANIMATION_WIDTH: usize = 720;

/// Snapshots are thinned out beyond this many bytes.
const SNAPSHOT_BYTES: usize = 512 << 20;

/// Number of pictures that determine the palette of an animation.
const PALETTE_EXAMPLES: usize = 6;

impl PictureParams {
    /// Sets both sizes: `size` for stills, at most 720 pixels of width for the animation. `None` sets the usual sizes.
    #[must_use]
    pub fn with_size(mut self, size: Option<[usize; 2]>) -> PictureParams {
        (self.size, self.animation_size) = match size {
            None => (STILL_SIZE, ANIMATION_SIZE),
            Some([width, height]) => {
                let shrink = (ANIMATION_WIDTH as f64 / width as f64).min(1.0);
                let scaled = |side: usize| ((side as f64 * shrink / 2.0).round() as usize * 2).max(2);
                ([width, height], [scaled(width), scaled(height)])
            }
        };
        self
    }

    /// Interval between the frames of the animation of `count` frames, a power of two times `pace`.
    fn interval(&self, count: usize, pace: usize) -> usize {
        let mut interval = pace;
        while count.div_ceil(interval) > self.animation_frames.max(1) {
            interval *= 2;
        }
        interval
    }

    /// The largest interval between frames of the animation that keeps its rate, for frames `spacing` apart \[s\].
    fn pace(&self, spacing: f64) -> usize {
        let shown = (spacing / self.speed).max(1.0 / MAX_PER_SECOND);
        // Times of frames are rounded.
        ((1.0 / (shown * self.animation_rate) + 1e-3).floor() as usize).max(1)
    }

    /// Films of all frames.
    pub(super) fn videos(&self) -> impl Iterator<Item = (&PathBuf, FilmFormat)> {
        self.formats().filter(|(_, format)| format.is_video())
    }

    /// Films of some frames.
    pub(super) fn animations(&self) -> impl Iterator<Item = (&PathBuf, FilmFormat)> {
        self.formats().filter(|(_, format)| !format.is_video())
    }

    fn formats(&self) -> impl Iterator<Item = (&PathBuf, FilmFormat)> {
        self.films.iter().map(|path| (path, FilmFormat::of(path).unwrap_or(FilmFormat::Apng)))
    }

    /// Whether every frame is drawn.
    fn needs_all(&self) -> bool {
        self.stills.is_some() || self.videos().next().is_some()
    }
}

/// Draws stills and an animation.
pub struct PictureRecorder {
    params: PictureParams,
    studio: Studio,
    /// Triangles of the bodies, as they are at the last frame.
    bodies: Arc<Vec<Vec<[u32; 3]>>>,
    /// Edges of the bodies, if they are drawn.
    edges: Arc<Vec<Vec<[u32; 2]>>>,
    topology_revision: u64,
    cast: Arc<Cast>,
    /// Height of a level plane, if there is one.
    level: Option<f32>,
    snapshot_bytes: usize,
    /// Interval between kept frames.
    stride: usize,
    /// Interval that the rate of the animation permits.
    pace: usize,
    seen: usize,
    /// Time of the first frame \[s\].
    start: f64,
    has_begun: bool,
    stage: StageParams,
    files: Sequence,
    /// How much slower than asked films play.
    slowed: f64,
    /// Whether a character has lost its materials, since its surface is not that of its file.
    has_misfit: bool,
    is_finished: bool,
}

impl PictureRecorder {
    /// Starts a recorder; the folders of its files must be writable.
    pub fn create(params: PictureParams) -> Result<PictureRecorder, RecordError> {
        // Fails now rather than after the run.
        for path in params.stills.iter().chain(&params.films) {
            AtomicFile::create(path)?;
        }
        for (path, _) in params.videos() {
            check_program(path)?;
        }
        Ok(PictureRecorder {
            studio: Studio::new(),
            params,
            bodies: Arc::default(),
            edges: Arc::default(),
            topology_revision: 0,
            cast: Arc::default(),
            level: None,
            snapshot_bytes: 0,
            stride: 1,
            pace: 1,
            seen: 0,
            start: 0.0,
            has_begun: false,
            stage: StageParams::default(),
            files: Sequence::default(),
            slowed: 1.0,
            has_misfit: false,
            is_finished: false,
        })
    }

    fn begin(&mut self, frame: &Frame<'_>) {
        self.has_begun = true;
        self.take_triangles(frame);
        let shapes = frame.shapes.iter().map(|shape| shape_mesh(shape.shape, PLANE_HALF, 24)).collect();
        let levels: Vec<Option<f32>> =
            frame.shapes.iter().map(|shape| ground_level(shape.shape, &shape.pose, self.params.up.index())).collect();
        let is_level = levels.iter().map(Option::is_some).collect();
        self.cast = Arc::new(Cast { params: self.params.clone(), shapes, is_level });
        // The highest floor is the visible one.
        self.level = levels.into_iter().flatten().fold(None, |best: Option<f32>, l| Some(best.map_or(l, |b| b.max(l))));
    }

    /// Learns from the second frame how many of them the animation needs.
    fn set_pace(&mut self, spacing: f64) {
        self.pace = self.params.pace(spacing);
        if !self.params.needs_all() {
            self.stride = self.pace;
            // Frames that the animation will skip are not worth drawing early.
            let count = self.params.expected.unwrap_or(0);
            self.studio.set_interval(self.params.interval(count, self.pace));
        }
    }

    fn take_triangles(&mut self, frame: &Frame<'_>) {
        self.bodies = Arc::new(frame.bodies.iter().map(|body| body.surface_triangles.to_vec()).collect());
        if self.params.edges {
            self.edges = Arc::new(frame.bodies.iter().map(surface_edges).collect());
        }
        self.topology_revision = frame.topology_revision;
    }

    fn snapshot(&mut self, frame: &Frame<'_>) -> Snapshot {
        let bodies: Vec<(Vec<[f32; 3]>, Vec<f32>)> = frame
            .bodies
            .iter()
            .map(|body| {
                let values = self.params.color.map_or_else(Vec::new, |field| field.surface_values(body));
                (points_f32(&body.surface_positions), values)
            })
            .collect();
        // A field tells more than materials.
        let dressed: Vec<Option<Dressed>> = match self.params.color {
            Some(_) => Vec::new(),
            None => self.params.wardrobe.dress(frame),
        };
        self.has_misfit |= self.params.color.is_none() && self.params.wardrobe.left_over(&dressed) > 0;
        let mut bounds = Bounds::default();
        dressed.iter().flatten().for_each(|dressed| bounds.union(&dressed.bounds()));
        for (positions, values) in &bodies {
            bounds.union(&Bounds::of(positions));
            self.stage.take_values(values);
        }
        let shapes = frame.shapes.iter().map(|shape| transform_rows(&shape.pose).map(f32s)).collect();
        let contacts: Vec<ForceAt> = frame.contacts.iter().map(|c| (f32s(c.place), f32s(c.force))).collect();
        self.stage.largest_force = self.stage.largest_force.max(largest_force(&contacts));
        let marks = match self.params.show.is_empty() {
            true => Vec::new(),
            false => frame.bodies.iter().map(|body| Marks::of(body, &self.params.show)).collect(),
        };
        let snapshot = Snapshot {
            index: frame.index,
            order: self.seen,
            time: frame.time,
            bodies,
            dressed,
            triangles: self.bodies.clone(),
            edges: self.edges.clone(),
            shapes,
            contacts,
            marks,
        };
        self.stage.take_bounds(&bounds, self.cast.shape_bounds(&snapshot));
        snapshot
    }

    fn keep(&mut self, frame: &Frame<'_>) {
        let snapshot = self.snapshot(frame);
        self.snapshot_bytes += snapshot.bytes();
        let stage = self.stage();
        self.studio.add(&self.cast, snapshot, stage);
        let is_crowded = !self.params.needs_all() && self.studio.len() > self.params.animation_frames;
        if is_crowded || self.snapshot_bytes > SNAPSHOT_BYTES {
            self.studio.thin();
            self.stride *= 2;
            self.snapshot_bytes /= 2;
        }
    }

    /// The view that fits all frames so far.
    fn stage(&self) -> Stage {
        Stage::new(&self.params, &self.stage, self.level)
    }

    fn draw_all(&mut self, files: &mut Sequence, watch: &mut dyn FnMut(usize, usize)) -> Result<(), RecordError> {
        if self.studio.len() > 0 {
            // Frames after the last one drawn may have widened the view.
            self.studio.set_stage(&self.cast, self.stage());
        }
        let params = &self.params;
        // Without stills and videos, only what the animation needs is kept.
        let pace = if params.needs_all() { self.pace } else { 1 };
        let interval = params.interval(self.studio.len(), pace);
        let seconds = self.studio.seconds_per_frame() / params.speed;
        let per_frame = frame_time(seconds, self.studio.len());
        self.slowed = per_frame / seconds;
        let mut videos = Vec::new();
        if self.studio.len() > 0 {
            for (path, format) in params.videos() {
                let is_clear = params.background == Background::Transparent;
                let video = VideoParams { format, size: params.size, seconds_per_frame: per_frame, is_clear };
                videos.push((path, Video::start(path, video)?));
            }
        }
        let has_animation = params.animations().next().is_some();
        let (mut count, mut shown) = (0, Vec::new());
        let mut put = |picture: Drawing| {
            if let Some(pattern) = &params.stills {
                files.put(numbered(pattern, None, picture.index), &picture.still)?;
            }
            videos.iter_mut().try_for_each(|(_, video)| video.put(&picture.video))?;
            if has_animation && count % interval == 0 {
                shown.push(picture.frame);
            }
            count += 1;
            Ok::<(), RecordError>(())
        };
        self.studio.finish(&self.cast, &Interrupt::ambient(), watch, &mut put)?;
        for (path, video) in &mut videos {
            video.finish()?;
            files.add(path.to_path_buf());
        }
        if shown.is_empty() {
            return Ok(());
        }
        let per_frame = per_frame * interval as f64;
        for (path, format) in params.animations() {
            let bytes = match format {
                FilmFormat::Gif => {
                    // Viewers do not show more frames.
                    let skip = ((MIN_DELAY / per_frame - 1e-3).ceil() as usize).clamp(1, shown.len());
                    animated(&shown, skip)?.encode_gif(per_frame * skip as f64)
                }
                _ => animated(&shown, 1)?.encode(per_frame)?,
            };
            files.put(path.clone(), &bytes)?;
        }
        Ok(())
    }
}

/// Every `skip`-th picture as an animation.
fn animated(shown: &[Image], skip: usize) -> Result<Animation, RecordError> {
    let (count, last) = (PALETTE_EXAMPLES.min(shown.len()), shown.len() - 1);
    let mut animation = Animation::new((0..count).map(|i| &shown[i * last / (count - 1).max(1)]));
    shown.iter().step_by(skip).try_for_each(|image| animation.push(image))?;
    Ok(animation)
}

/// Time of a frame of a film \[s\] of `count` frames that asks for `seconds` per frame. What is over in the blink of an eye
/// is stretched: to a second, or until no frame is skipped.
fn frame_time(seconds: f64, count: usize) -> f64 {
    seconds.max((1.0 / MAX_PER_SECOND).min(1.0 / count.max(1) as f64))
}

impl Recorder for PictureRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if !self.has_begun {
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
        match self.seen {
            0 => self.start = frame.time,
            1 => self.set_pace(frame.time - self.start),
            _ => {}
        }
        if self.seen.is_multiple_of(self.stride) {
            self.keep(frame);
        }
        self.seen += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.finish_watched(&mut |_, _| ())
    }

    fn finish_watched(&mut self, watch: &mut dyn FnMut(usize, usize)) -> Result<(), RecordError> {
        if self.is_finished {
            return Ok(());
        }
        self.is_finished = true;
        let mut files = std::mem::take(&mut self.files);
        let result = self.draw_all(&mut files, watch);
        self.files = files;
        match &result {
            Ok(()) => self.files.keep(),
            Err(_) => self.files = Sequence::default(),
        }
        result
    }

    fn notes(&self) -> Vec<String> {
        let is_thinned = self.stride > 1 && self.params.needs_all();
        let thinned = format!("pictures show every {}th frame: more do not fit into memory", self.stride);
        let is_slowed = self.slowed > 1.01 && !self.params.films.is_empty();
        let slowed = format!("films play {:.0} times slower than asked: screens are not faster", self.slowed);
        let misfit = "pictures show flesh color where the surface of a character is not that of its file".to_string();
        let own = [(is_thinned, thinned), (is_slowed, slowed), (self.has_misfit, misfit)];
        let own = own.into_iter().filter(|(is, _)| *is).map(|(_, note)| note);
        let is_worn = self.params.color.is_none();
        own.chain(self.params.wardrobe.notes.iter().filter(|_| is_worn).cloned()).collect()
    }
}

impl FileRecorder for PictureRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
    }

    /// View and colors fit frames that are not drawn too, so that pictures of some frames can be compared with others.
    fn look(&mut self, frame: &Frame<'_>) {
        if !self.has_begun {
            self.begin(frame);
        }
        if frame.bodies.len() == self.bodies.len() {
            drop(self.snapshot(frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::split_animation;
    use crate::record::tests::{TestFolder, shapes_at};

    fn params(folder: &TestFolder) -> PictureParams {
        PictureParams {
            stills: Some(folder.path("shot.png")),
            films: vec![folder.path("animation.png")],
            animation_rate: 60.0,
            ..PictureParams::default().with_size(Some([96, 64]))
        }
    }

    /// Frames are 1/60 s apart, so every third makes 20 pictures per second. Stills show all of them.
    #[test]
    fn an_animation_leaves_out_frames_beyond_its_rate() {
        let folder = TestFolder::new("picture-rate");
        let mut recorder = PictureRecorder::create(PictureParams { animation_rate: 20.0, ..params(&folder) }).unwrap();
        for index in 0..7 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        let parts = split_animation(&std::fs::read(folder.path("animation.png")).unwrap()).unwrap();
        assert_eq!((parts.frames.len(), folder.entries().len()), (3, 1 + 7));
        assert!((parts.seconds_per_frame - 0.05).abs() < 1e-3, "{}", parts.seconds_per_frame);
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
        // After the first of them.
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let interrupt = Interrupt::new(move || asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= 1);
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
        assert_eq!(recorder.cast.is_level, [true, false]);
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
        let kept = recorder.studio.frames();
        assert!(kept.len() <= 60 && kept.len() >= 30, "{kept:?}");
        let step = kept[1] - kept[0];
        assert!(kept.windows(2).all(|w| w[1] - w[0] == step), "{kept:?}");
    }

    /// Drawing early or at the end is a question of time only: the view fits all frames either way.
    #[test]
    fn the_other_core_draws_the_same_pictures() {
        let folder = TestFolder::new("picture-cores");
        let mut bytes = Vec::new();
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut recorder = PictureRecorder::create(params(&folder)).unwrap();
                assert_eq!(
                    recorder.studio.has_worker(),
                    threads > 1 && std::thread::available_parallelism().is_ok_and(|n| n.get() > 1)
                );
                for index in 0..12 {
                    shapes_at(index / 4, &mut |frame| recorder.frame(frame).unwrap());
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                let mut watched = Vec::new();
                recorder.finish_watched(&mut |done, all| watched.push((done, all))).unwrap();
                assert!(watched.last().is_none_or(|&(done, all)| done == all), "{watched:?}");
            });
            let files = folder.entries().into_iter().map(|name| std::fs::read(folder.path(&name)).unwrap());
            bytes.push(files.collect::<Vec<_>>());
        }
        assert_eq!(bytes[0].len(), 4);
        assert!(bytes[0] == bytes[1], "pictures depend on when they are drawn");
    }

    /// Real time where screens can show it, a second where they cannot.
    #[test]
    fn films_are_never_over_at_once() {
        let is = |seconds: f64, count: usize, expected: f64| (frame_time(seconds, count) - expected).abs() < 1e-12;
        assert!(is(0.2, 6, 0.2) && is(1.0 / 60.0, 600, 1.0 / 60.0) && is(1e-3, 5000, 1e-3));
        assert!(is(1e-4, 100, 1e-2) && is(1e-4, 20, 1.0 / 60.0));
    }

    #[test]
    fn animations_are_small_unless_asked() {
        let usual = PictureParams::default();
        assert_eq!((usual.animation_size, usual.animation_frames), ([480, 360], 60));
        assert_eq!(usual.clone().with_size(Some([640, 480])).animation_size, [640, 480]);
        assert_eq!(usual.with_size(Some([1440, 720])).animation_size, [720, 360]);
    }
}
