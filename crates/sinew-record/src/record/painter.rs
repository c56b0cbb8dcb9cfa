//! One view for all pictures of a run, and the drawing of a frame in it.

use std::sync::Arc;

use sinew_raster::{
    Backplate, Bounds, Camera, Finish, FitParams, Image, Legend, Paint, Renderer, Rgb, ShapeMesh, Surface, View,
    draw_footnote, draw_scale_bar,
};
use sinew_scene::spec::record::Background;
use sinew_scene::{Dimension, format_quantity};

use super::field::ColorField;
use super::picture::{GroundStyle, PictureParams};
use super::png::encode_png;
use crate::costume::{Dressed, body_surfaces};
use crate::still::{ArrowScale, ForceAt, LONGEST_ARROW, Lines, Marks, draw_edges, draw_forces};

/// Pictures of more pixels get no backplate: it would take too much memory.
const PLATE_PIXELS: usize = 1 << 21;

/// Steps by which the view widens, as a fraction of its size, and how much may stick out, as a fraction of a step.
const STEP: f32 = 0.125;
const TOLERANCE: f32 = 1e-3;

/// Share of the width of a picture that a color bar takes.
const LEGEND_SHARE: f32 = 0.16;

/// What stays the same in all frames.
#[derive(Default)]
pub(super) struct Cast {
    pub params: PictureParams,
    pub shapes: Vec<ShapeMesh>,
    /// For each shape whether it is a level plane.
    pub is_level: Vec<bool>,
}

impl Cast {
    /// Shapes with their poses; level planes are the ground and not drawn again.
    fn drawn_shapes<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = ShapeMesh> + 'a {
        let all = self.shapes.iter().zip(&snapshot.shapes).zip(&self.is_level);
        all.filter(|(_, is_level)| !**is_level).map(|((shape, rows), _)| placed(shape, rows))
    }

    pub fn shape_bounds(&self, snapshot: &Snapshot) -> Vec<Bounds> {
        self.drawn_shapes(snapshot).map(|shape| Bounds::of(&shape.positions)).collect()
    }
}

/// Moving data at one time.
pub(super) struct Snapshot {
    pub index: usize,
    /// How many frames came before.
    pub order: usize,
    pub time: f64,
    pub bodies: Vec<(Vec<[f32; 3]>, Vec<f32>)>,
    /// Their materials; empty if a field colors them.
    pub dressed: Vec<Option<Dressed>>,
    pub triangles: Arc<Vec<Vec<[u32; 3]>>>,
    /// Edges of the bodies, if they are drawn.
    pub edges: Arc<Vec<Vec<[u32; 2]>>>,
    pub shapes: Vec<[[f32; 3]; 4]>,
    pub contacts: Vec<ForceAt>,
    /// Marks of the bodies, if they are drawn.
    pub marks: Vec<Marks>,
}

impl Snapshot {
    /// What a body wears.
    fn dressed_body(&self, number: usize) -> Option<&Dressed> {
        self.dressed.get(number).and_then(Option::as_ref)
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        let bodies: usize = self.bodies.iter().map(|(positions, values)| 12 * positions.len() + 4 * values.len()).sum();
        let followers: usize = self.dressed.iter().flatten().map(|dressed| 12 * dressed.followers.len()).sum();
        bodies + followers + 24 * self.contacts.len() + self.marks.iter().map(Marks::bytes).sum::<usize>()
    }
}

/// What the view depends on, of all frames so far.
pub(super) struct StageParams {
    /// Bodies and shapes of the first frame.
    first: Option<(Bounds, Vec<Bounds>)>,
    /// Bodies and shapes of all frames.
    bodies: Bounds,
    shapes: Vec<Bounds>,
    values: [f64; 2],
    /// Largest contact force \[N\].
    pub largest_force: f32,
}

impl Default for StageParams {
    fn default() -> StageParams {
        StageParams {
            first: None,
            bodies: Bounds::default(),
            shapes: Vec::new(),
            values: [f64::INFINITY, f64::NEG_INFINITY],
            largest_force: 0.0,
        }
    }
}

impl StageParams {
    pub fn take_values(&mut self, values: &[f32]) {
        for &value in values.iter().filter(|v| v.is_finite()) {
            self.values = [self.values[0].min(f64::from(value)), self.values[1].max(f64::from(value))];
        }
    }

    pub fn take_bounds(&mut self, bodies: &Bounds, shapes: Vec<Bounds>) {
        self.bodies.union(bodies);
        self.shapes.extend(&shapes);
        self.first.get_or_insert((*bodies, shapes));
    }

    /// The box of all bodies and shapes, widened in steps.
    fn bounds(&self) -> Bounds {
        let size = self.bodies.radius();
        let with_shapes = |bodies: &Bounds, shapes: &[Bounds]| {
            let mut bounds = *bodies;
            // Obstacles and rigid bodies must be in view too, unless they are much larger than the bodies.
            let is_shown = |shape: &&Bounds| self.bodies.is_empty() || shape.radius() < 2.0 * size;
            shapes.iter().filter(is_shown).for_each(|shape| bounds.union(shape));
            bounds
        };
        let all = with_shapes(&self.bodies, &self.shapes);
        self.first.as_ref().map_or(all, |(bodies, shapes)| widened(&with_shapes(bodies, shapes), &all))
    }
}

/// The constant part of all pictures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    camera: Camera,
    pub bounds: Bounds,
    pub ground: Option<f32>,
    legend: Option<LegendText>,
    largest_force: f32,
}

#[derive(Clone, Debug, PartialEq)]
struct LegendText {
    label: String,
    min: f64,
    max: f64,
    /// Factor from SI to the unit of the label.
    factor: f64,
}

impl Stage {
    /// The view of everything; `level` is the height of a level plane.
    pub fn new(params: &PictureParams, seen: &StageParams, level: Option<f32>) -> Stage {
        let up = params.up.index();
        let mut bounds = seen.bounds();
        let ground = match params.ground {
            GroundStyle::None => None,
            GroundStyle::Checker => level.or((!bounds.is_empty()).then(|| bounds.min[up])),
        };
        let ground = ground.filter(|_| params.background == Background::Studio);
        if let Some(level) = level.filter(|_| params.ground == GroundStyle::Checker) {
            // The floor must be in view if something may fall on it.
            let gap = bounds.min[up] - level;
            if gap > 0.0 && gap < 2.0 * seen.bodies.radius() {
                bounds.min[up] = level;
            }
        }
        let aspect = params.size[0] as f32 / params.size[1] as f32;
        let free_right = if params.color.is_some() { LEGEND_SHARE } else { 0.0 };
        let mut camera = Camera::fit(&bounds, params.up, aspect, &FitParams { free_right, ..params.fit });
        match (params.eye, params.target) {
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
        camera.up = params.camera_up.unwrap_or(camera.up);
        let legend = params.color.filter(|_| seen.values[0] <= seen.values[1]).map(|field| {
            let [min, max] = params.range.unwrap_or_else(|| field.round_range(seen.values));
            let (label, factor) = field.legend(min.abs().max(max.abs()));
            LegendText { label, min, max, factor }
        });
        Stage { camera, bounds, ground, legend, largest_force: seen.largest_force }
    }
}

/// The first box, widened in steps until it holds all of `all`: a view that follows every movement would have to be drawn
/// again with every frame.
fn widened(first: &Bounds, all: &Bounds) -> Bounds {
    if first.is_empty() || all.is_empty() {
        return *all;
    }
    // A power of two, so that the step rarely changes.
    let step = STEP * all.radius().log2().floor().exp2();
    let out = |by: f32| if by > TOLERANCE * step { step * (by / step - TOLERANCE).ceil() } else { 0.0 };
    Bounds {
        min: std::array::from_fn(|i| first.min[i] - out(first.min[i] - all.min[i])),
        max: std::array::from_fn(|i| first.max[i] + out(all.max[i] - first.max[i])),
    }
}

/// A frame as it is shown.
pub(super) struct Drawing {
    pub index: usize,
    /// PNG file of the still; empty without stills.
    pub still: Vec<u8>,
    /// Picture of the animation; empty without one.
    pub frame: Image,
    /// Picture of videos; empty without them.
    pub video: Image,
}

impl Drawing {
    /// Its memory.
    pub fn bytes(&self) -> usize {
        self.still.len() + self.frame.pixels.len() + self.video.pixels.len()
    }
}

/// Draws frames in one view.
pub(super) struct Painter {
    cast: Arc<Cast>,
    pub stage: Arc<Stage>,
    renderer: Renderer,
    plate: Option<Backplate>,
}

impl Painter {
    pub fn new(cast: &Arc<Cast>, stage: &Arc<Stage>) -> Painter {
        // Frames of the animation are shrunk stills if there are stills, else drawn at their own size.
        let params = &cast.params;
        let is_large = params.stills.is_some() || params.videos().next().is_some();
        let [width, height] = if is_large { params.size } else { params.animation_size };
        let mut painter =
            Painter { cast: cast.clone(), stage: stage.clone(), renderer: Renderer::new(width, height), plate: None };
        if width * height <= PLATE_PIXELS && params.background == Background::Studio {
            painter.plate = Some(painter.renderer.backplate(&painter.view(Vec::new(), None)));
        }
        painter
    }

    pub fn draw(&self, snapshot: &Snapshot) -> Drawing {
        let image = self.image(snapshot);
        let params = &self.cast.params;
        let still = if params.stills.is_some() { encode_png(&image) } else { Vec::new() };
        let empty = || Image::filled(0, 0, [0; 3]);
        let video = params.videos().next().map_or_else(empty, |_| image.clone());
        let frame = params.animations().next().map_or_else(empty, |_| image.into_shrunk(params.animation_size));
        Drawing { index: snapshot.index, still, frame, video }
    }

    fn view<'a>(&'a self, surfaces: Vec<Surface<'a>>, caption: Option<&'a str>) -> View<'a> {
        let (params, stage) = (&self.cast.params, &self.stage);
        let map = params.color.map(ColorField::map).unwrap_or_default();
        View {
            camera: stage.camera,
            up: params.up,
            ground: stage.ground,
            stage: stage.bounds,
            surfaces,
            title: params.title.as_deref().filter(|_| params.captions),
            caption: caption.filter(|_| params.captions),
            background: match params.background {
                Background::Studio => sinew_raster::Background::Studio,
                Background::White | Background::Transparent => sinew_raster::Background::Clear,
            },
            legend: stage.legend.as_ref().map(|legend| Legend {
                label: &legend.label,
                min: legend.min * legend.factor,
                max: legend.max * legend.factor,
                map,
            }),
        }
    }

    fn image(&self, snapshot: &Snapshot) -> Image {
        let (params, stage) = (&self.cast.params, &self.stage);
        let mut surfaces = Vec::new();
        let map = params.color.map(ColorField::map).unwrap_or_default();
        let bodies = snapshot.bodies.iter().zip(snapshot.triangles.iter());
        for (number, ((positions, values), triangles)) in bodies.enumerate() {
            let Some(legend) = &stage.legend else {
                surfaces.extend(body_surfaces(number, positions, triangles, snapshot.dressed_body(number)));
                continue;
            };
            let mut surface = Surface::solid(positions, triangles, Rgb::of_body(number), Finish::CHART);
            surface.paint = Paint::VertexField { values, min: legend.min as f32, max: legend.max as f32, map };
            surfaces.push(surface);
        }
        let shapes: Vec<ShapeMesh> = self.cast.drawn_shapes(snapshot).collect();
        for shape in &shapes {
            surfaces.push(Surface::solid(&shape.positions, &shape.triangles, Rgb([0.62, 0.64, 0.67]), Finish::MATTE));
        }
        let caption = format!("t = {:.2} s", snapshot.time);
        let view = self.view(surfaces, Some(&caption));
        let mut image = match &self.plate {
            Some(plate) => self.renderer.render_on(plate, &view),
            None => self.renderer.render(&view),
        };
        if params.edges {
            let mut lines = Lines::new(&stage.camera, image.width, image.height);
            let bodies = || snapshot.bodies.iter().zip(snapshot.triangles.iter());
            bodies().for_each(|((positions, _), triangles)| lines.cover(positions, triangles));
            let worn = snapshot.dressed.iter().flatten();
            worn.for_each(|dressed| lines.cover(&dressed.followers, dressed.follower_triangles()));
            shapes.iter().for_each(|shape| lines.cover(&shape.positions, &shape.triangles));
            for ((positions, _), edges) in snapshot.bodies.iter().zip(snapshot.edges.iter()) {
                draw_edges(&mut image, &lines, positions, edges);
            }
        }
        let mut words: Vec<String> = Vec::new();
        for marks in &snapshot.marks {
            marks.draw(&mut image, &stage.camera);
            let new: Vec<String> = marks.words().into_iter().map(String::from).filter(|w| !words.contains(w)).collect();
            words.extend(new);
        }
        if stage.largest_force > 0.0 {
            let arrows = ArrowScale { force: stage.largest_force, length: LONGEST_ARROW * stage.bounds.radius() };
            draw_forces(&mut image, &stage.camera, &snapshot.contacts, arrows);
            // Two digits suffice for reading a length.
            let digits = 10f64.powf(f64::from(arrows.force).log10().floor() - 1.0);
            let force = (f64::from(arrows.force) / digits).round() * digits;
            words.push(format!("longest arrow {}", format_quantity(force, Dimension::FORCE)));
        }
        if !words.is_empty() {
            draw_footnote(&mut image, &words.join("   "));
        }
        if params.scale_bar {
            draw_scale_bar(&mut image, &stage.camera);
        }
        if params.background == Background::White { image.over([255; 3]) } else { image }
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

    #[test]
    fn views_widen_in_steps_and_lose_nothing() {
        let first = Bounds { min: [0.0; 3], max: [0.5, 0.5, 1.0] };
        assert_eq!(widened(&first, &first), first);
        let with = |z: f32| Bounds { min: [0.0, 0.0, z], ..first };
        assert_eq!(widened(&first, &with(-1e-6)), first, "rounding does not move the ground");
        let views: Vec<Bounds> = (1..=20).map(|k| widened(&first, &with(-0.01 * k as f32))).collect();
        assert!(views.iter().zip(1..).all(|(view, k)| view.min[2] <= -0.01 * k as f32 + 1e-3));
        let mut different = views.clone();
        different.dedup();
        assert!(different.len() <= 4, "{different:?}");
    }
}
