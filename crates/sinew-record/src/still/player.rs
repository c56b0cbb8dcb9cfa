//! Pictures of any frame of a recording or of a running simulation.

use std::sync::OnceLock;

use sinew_fem::Frame;
use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::Vec3;
use sinew_raster::{
    Background, Bounds, Camera, Finish, FitParams, Image, Legend, Paint, Renderer, Rgb, ShapeMesh, Surface, UpAxis,
    View,
};
use sinew_scene::spec::record::Camera as AskedCamera;
use sinew_scene::spec::{Scene, Up};
use sinew_store::{Recording, StoreError, StoredFrame};

use super::{ArrowScale, ForceAt, LONGEST_ARROW, draw_forces, largest_force};
use crate::costume::{Dressed, Wardrobe, body_surfaces};
use crate::record::shapes::{f32s, ground_level, shape_mesh};
use crate::record::{ColorField, fit_params};

/// Number of frames examined to place the camera.
const LOOKED_AT: usize = 48;

/// Half the edge of the patch that represents a plane other than the ground, relative to the view.
const PATCH: f32 = 2.0;

/// Draws frames of a recording, all with the same camera.
pub struct Player<'a> {
    recording: &'a Recording,
    shown: Vec<usize>,
    portrait: Portrait,
}

impl<'a> Player<'a> {
    /// Examines a recording.
    pub fn new(recording: &'a Recording) -> Result<Player<'a>, StoreError> {
        let header = recording.header();
        // Camera settings of the scene; a recording plays even if its scene can no longer be read.
        let overrides: Vec<_> = header.overrides.iter().cloned().map(Into::into).collect();
        let scene = Scene::from_str(&header.scene_text, &header.scene_name, ".").ok();
        let scene = scene.map(|scene| scene.with_overrides(&overrides).unwrap_or(scene));
        let shown = recording.shown_frames();
        let step = shown.len().div_ceil(LOOKED_AT).max(1);
        let chosen = (0..shown.len()).step_by(step).chain(shown.len().checked_sub(1));
        let mut portrait = Portrait::new(scene);
        if portrait.color.is_none() && portrait.scene.as_ref().is_none_or(|scene| scene.record.textures) {
            portrait.wardrobe = OnceLock::from(Wardrobe::of_recording(recording));
        }
        for place in chosen {
            portrait.look(&recording.frame(shown[place])?.view(header));
        }
        Ok(Player { recording, shown, portrait })
    }

    /// Number of drawable frames.
    pub fn frame_count(&self) -> usize {
        self.shown.len()
    }

    /// The recorded frame of a picture.
    pub fn stored(&self, number: usize) -> Result<StoredFrame, StoreError> {
        let count = self.shown.len();
        let frame = self.shown.get(number).copied().ok_or(StoreError::NoFrame { frame: number, count })?;
        self.recording.frame(frame)
    }

    /// Draws a frame.
    pub fn draw(&self, stored: &StoredFrame, [width, height]: [usize; 2]) -> Image {
        self.portrait.draw(&stored.view(self.recording.header()), [width, height])
    }
}

/// Camera and stage for pictures of a scene, chosen from the examined frames.
pub struct Portrait {
    scene: Option<Scene>,
    up: UpAxis,
    bodies: Bounds,
    shapes: Bounds,
    /// Height of the highest ground.
    level: Option<f32>,
    /// Largest contact force in the examined frames \[N\].
    largest_force: f32,
    /// The field that colors bodies, and its smallest and largest value in those frames.
    color: Option<ColorField>,
    values: [f64; 2],
    /// The ends of the color bar, if the scene sets them.
    range: Option<[f64; 2]>,
    /// Materials of characters; those of the files of the scene if a picture is the first to ask.
    wardrobe: OnceLock<Wardrobe>,
}

impl Portrait {
    /// A portrait without examined frames; `scene` may set the camera and the color field.
    pub fn new(scene: Option<Scene>) -> Portrait {
        let up = match scene.as_ref().map(|scene| scene.up) {
            Some(Up::X) => UpAxis::X,
            Some(Up::Y) => UpAxis::Y,
            _ => UpAxis::Z,
        };
        let (bodies, shapes) = (Bounds::default(), Bounds::default());
        let color = scene.as_ref().and_then(|scene| ColorField::from_name(scene.record.color.as_deref()?).ok());
        let values = [f64::INFINITY, f64::NEG_INFINITY];
        let range = scene.as_ref().and_then(|scene| scene.record.range);
        let wardrobe = OnceLock::new();
        Portrait { scene, up, bodies, shapes, level: None, largest_force: 0.0, color, values, range, wardrobe }
    }

    /// The portrait with bodies colored by another field, or by none.
    pub fn colored(self, color: Option<ColorField>) -> Portrait {
        Portrait { color, range: None, ..self }
    }

    /// Extends the view to the contents of a frame.
    pub fn look(&mut self, frame: &Frame<'_>) {
        self.largest_force = self.largest_force.max(largest_force(&forces(frame)));
        if self.color.is_none() {
            let dressed = self.wardrobe().dress(frame);
            dressed.iter().flatten().for_each(|dressed| self.bodies.union(&dressed.bounds()));
        }
        for body in &frame.bodies {
            body.surface_positions.iter().for_each(|&p| self.bodies.add(f32s(p)));
            let values = self.color.map(|field| field.surface_values(body)).unwrap_or_default();
            for value in values.into_iter().filter(|value| value.is_finite()).map(f64::from) {
                self.values = [self.values[0].min(value), self.values[1].max(value)];
            }
        }
        for shape in &frame.shapes {
            match ground_level(shape.shape, &shape.pose, self.up.index()) {
                Some(height) => self.level = Some(self.level.map_or(height, |known: f32| known.max(height))),
                None => placed_mesh(shape.shape, &shape.pose, 0.0).positions.iter().for_each(|&p| self.shapes.add(p)),
            }
        }
    }

    /// Materials of characters.
    fn wardrobe(&self) -> &Wardrobe {
        self.wardrobe.get_or_init(|| self.scene.as_ref().map(Wardrobe::of_scene).unwrap_or_default())
    }

    /// The bounds of the view, and the height of the ground.
    fn stage(&self) -> (Bounds, Option<f32>) {
        // Obstacles must be in view too, unless they are much larger than the bodies.
        let size = self.bodies.radius();
        let mut bounds = self.bodies;
        if self.bodies.is_empty() || self.shapes.radius() < 2.0 * size {
            bounds.union(&self.shapes);
        }
        let axis = self.up.index();
        if let Some(level) = self.level.filter(|level| bounds.min[axis] - level < 2.0 * size) {
            bounds.min[axis] = bounds.min[axis].min(level);
        }
        let wants_ground = self.scene.as_ref().is_none_or(|scene| scene.record.ground);
        let ground = self.level.or((!bounds.is_empty()).then(|| bounds.min[axis])).filter(|_| wants_ground);
        (bounds, ground)
    }

    /// Draws a frame.
    pub fn draw(&self, frame: &Frame<'_>, [width, height]: [usize; 2]) -> Image {
        let renderer = Renderer::new(width, height);
        let (bounds, ground) = self.stage();
        let bodies: Vec<Vec<[f32; 3]>> =
            frame.bodies.iter().map(|body| body.surface_positions.iter().map(|&p| f32s(p)).collect()).collect();
        // A field without data, such as stress that was not recorded, colors nothing.
        let field = self.color.filter(|_| self.values[0] <= self.values[1]);
        let [min, max] = field.map_or([0.0, 1.0], |field| self.range.unwrap_or_else(|| field.round_range(self.values)));
        let map = field.map(ColorField::map).unwrap_or_default();
        let values: Vec<Vec<f32>> =
            frame.bodies.iter().map(|body| field.map_or(Vec::new(), |field| field.surface_values(body))).collect();
        let dressed: Vec<Option<Dressed>> = match field {
            Some(_) => Vec::new(),
            None => self.wardrobe().dress(frame),
        };
        let mut surfaces = Vec::new();
        for (number, ((body, positions), values)) in frame.bodies.iter().zip(&bodies).zip(&values).enumerate() {
            if field.is_none() {
                let dressed = dressed.get(number).and_then(Option::as_ref);
                surfaces.extend(body_surfaces(number, positions, body.surface_triangles, dressed));
                continue;
            }
            let mut surface = Surface::solid(positions, body.surface_triangles, Rgb::of_body(number), Finish::CHART);
            surface.paint = Paint::VertexField { values, min: min as f32, max: max as f32, map };
            surfaces.push(surface);
        }
        let legend = field.map(|field| field.legend(min.abs().max(max.abs())));
        let shapes = self.placed_shapes(frame, &bounds);
        for shape in &shapes {
            surfaces.push(Surface::solid(&shape.positions, &shape.triangles, Rgb([0.62, 0.64, 0.67]), Finish::MATTE));
        }
        // Small pictures have no room for text.
        let has_words = height >= 240;
        let caption = format!("t = {:.2} s", frame.time);
        let title = self.scene.as_ref().and_then(|scene| scene.title.as_deref());
        let camera = self.camera(&bounds, renderer.aspect());
        let mut image = renderer.render(&View {
            camera,
            up: self.up,
            ground,
            stage: bounds,
            surfaces,
            title: title.filter(|_| has_words),
            caption: has_words.then_some(caption.as_str()),
            background: Background::Studio,
            legend: legend.as_ref().filter(|_| has_words).map(|(label, factor)| Legend {
                label,
                min: min * factor,
                max: max * factor,
                map,
            }),
        });
        let scale = ArrowScale { force: self.largest_force, length: LONGEST_ARROW * bounds.radius() };
        draw_forces(&mut image, &camera, &forces(frame), scale);
        image
    }

    fn placed_shapes(&self, frame: &Frame<'_>, bounds: &Bounds) -> Vec<ShapeMesh> {
        let is_ground = |shape: &AnyShape, pose| ground_level(shape, pose, self.up.index()).is_some();
        let drawn = frame.shapes.iter().filter(|shape| !is_ground(shape.shape, &shape.pose));
        drawn.map(|shape| placed_mesh(shape.shape, &shape.pose, PATCH * bounds.radius())).collect()
    }

    fn camera(&self, bounds: &Bounds, aspect: f32) -> Camera {
        match self.scene.as_ref().map(|scene| &scene.record.camera) {
            Some(asked) => camera_of(asked, bounds, self.up, aspect),
            None => Camera::fit(bounds, self.up, aspect, &FitParams::default()),
        }
    }
}

/// The camera of a scene; missing settings are chosen so that all of `bounds` is in view.
pub(crate) fn camera_of(asked: &AskedCamera, bounds: &Bounds, up: UpAxis, aspect: f32) -> Camera {
    let mut camera = Camera::fit(bounds, up, aspect, &fit_params(asked));
    let f32s = |v: [f64; 3]| v.map(|c| c as f32);
    if let Some(eye) = asked.eye {
        camera.eye = f32s(eye);
        camera.target = asked.target.map_or(bounds.center(), f32s);
    } else if let Some(target) = asked.target.map(f32s) {
        camera.eye = std::array::from_fn(|i| camera.eye[i] + target[i] - camera.target[i]);
        camera.target = target;
    }
    camera.up = asked.up.map_or(camera.up, f32s);
    camera
}

fn forces(frame: &Frame<'_>) -> Vec<ForceAt> {
    frame.contacts.iter().map(|contact| (f32s(contact.place), f32s(contact.force))).collect()
}

/// Triangles of a shape in the world; planes are patches with half edges of `patch`.
pub(crate) fn placed_mesh(shape: &AnyShape, pose: &Pose, patch: f32) -> ShapeMesh {
    /// Number of rings of round shapes: smooth at the size of a terminal.
    const RINGS: usize = 24;
    let mut mesh = shape_mesh(shape, patch, RINGS);
    for p in &mut mesh.positions {
        *p = f32s(pose.to_world(Vec3::from(p.map(f64::from))));
    }
    mesh
}
