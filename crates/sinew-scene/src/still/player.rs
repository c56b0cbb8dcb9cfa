//! Any frame of a recording as a picture.

use sinew_fem::Frame;
use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::Vec3;

use super::{ArrowScale, ForceAt, LONGEST_ARROW, draw_forces, largest_force};
use crate::raster::{Bounds, Camera, Finish, FitParams, Image, Renderer, Rgb, ShapeMesh, Surface, UpAxis, View};
use crate::record::shapes::{f32s, ground_level, shape_mesh};
use crate::spec::record::Camera as AskedCamera;
use crate::spec::{Scene, Up};
use crate::store::{Recording, StoreError, StoredFrame};

/// Frames that are looked at to find what the camera must see.
const LOOKED_AT: usize = 48;

/// Half the edge of the patch that stands for a plane that is not the ground, in parts of what is in view.
const PATCH: f32 = 2.0;

/// Draws frames of a recording, all with the same camera.
pub struct Player<'a> {
    recording: &'a Recording,
    shown: Vec<usize>,
    up: UpAxis,
    scene: Option<Scene>,
    bounds: Bounds,
    ground: Option<f32>,
    /// Of the contacts in the frames that were looked at [N].
    largest_force: f32,
}

impl<'a> Player<'a> {
    /// Looks through a recording.
    pub fn new(recording: &'a Recording) -> Result<Player<'a>, StoreError> {
        let header = recording.header();
        // What the scene says about the camera; a scene that cannot be read any more is no reason not to play its recording.
        let overrides: Vec<_> = header.overrides.iter().cloned().map(Into::into).collect();
        let scene = Scene::from_str(&header.scene_text, &header.scene_name, ".").ok();
        let scene = scene.map(|scene| scene.with_overrides(&overrides).unwrap_or(scene));
        let up = match scene.as_ref().map(|scene| scene.up) {
            Some(Up::X) => UpAxis::X,
            Some(Up::Y) => UpAxis::Y,
            _ => UpAxis::Z,
        };
        let shown = recording.shown_frames();
        let mut player =
            Player { recording, shown, up, scene, bounds: Bounds::default(), ground: None, largest_force: 0.0 };
        let count = player.shown.len();
        let step = count.div_ceil(LOOKED_AT).max(1);
        let chosen: Vec<usize> = (0..count).step_by(step).chain(count.checked_sub(1)).collect();
        let (mut bodies, mut shapes) = (Bounds::default(), Bounds::default());
        let mut level: Option<f32> = None;
        for place in chosen {
            let stored = recording.frame(player.shown[place])?;
            let frame = stored.view(header);
            player.largest_force = player.largest_force.max(largest_force(&forces(&frame)));
            for body in &frame.bodies {
                body.surface_positions.iter().for_each(|&p| bodies.add(f32s(p)));
            }
            for shape in &frame.shapes {
                match ground_level(shape.shape, &shape.pose, up.index()) {
                    Some(height) => level = Some(level.map_or(height, |known: f32| known.max(height))),
                    None => placed_mesh(shape.shape, &shape.pose, 0.0).positions.iter().for_each(|&p| shapes.add(p)),
                }
            }
        }
        // Obstacles belong in view too, unless they dwarf what they act on.
        let size = bodies.radius();
        let mut bounds = bodies;
        if bodies.is_empty() || shapes.radius() < 2.0 * size {
            bounds.union(&shapes);
        }
        let axis = up.index();
        if let Some(level) = level.filter(|level| bounds.min[axis] - level < 2.0 * size) {
            bounds.min[axis] = bounds.min[axis].min(level);
        }
        let wants_ground = player.scene.as_ref().is_none_or(|scene| scene.record.ground);
        player.ground = level.or((!bounds.is_empty()).then(|| bounds.min[axis])).filter(|_| wants_ground);
        player.bounds = bounds;
        Ok(player)
    }

    /// Number of frames that can be drawn.
    pub fn frame_count(&self) -> usize {
        self.shown.len()
    }

    /// The recorded frame behind a picture.
    pub fn stored(&self, number: usize) -> Result<StoredFrame, StoreError> {
        let count = self.shown.len();
        let frame = self.shown.get(number).copied().ok_or(StoreError::NoFrame { frame: number, count })?;
        self.recording.frame(frame)
    }

    /// Draws a frame.
    pub fn draw(&self, stored: &StoredFrame, [width, height]: [usize; 2]) -> Image {
        let frame = stored.view(self.recording.header());
        let renderer = Renderer::new(width, height);
        let bodies: Vec<Vec<[f32; 3]>> =
            frame.bodies.iter().map(|body| body.surface_positions.iter().map(|&p| f32s(p)).collect()).collect();
        let mut surfaces = Vec::new();
        for (number, (body, positions)) in frame.bodies.iter().zip(&bodies).enumerate() {
            surfaces.push(Surface::solid(positions, body.surface_triangles, Rgb::of_body(number), Finish::FLESH));
        }
        let shapes = self.shapes(&frame);
        for shape in &shapes {
            surfaces.push(Surface::solid(&shape.positions, &shape.triangles, Rgb([0.62, 0.64, 0.67]), Finish::MATTE));
        }
        // Small pictures have no room for words.
        let has_words = height >= 240;
        let caption = format!("t = {:.2} s", frame.time);
        let title = self.scene.as_ref().and_then(|scene| scene.title.as_deref());
        let camera = self.camera(renderer.aspect());
        let mut image = renderer.render(&View {
            camera,
            up: self.up,
            ground: self.ground,
            stage: self.bounds,
            surfaces,
            title: title.filter(|_| has_words),
            caption: has_words.then_some(caption.as_str()),
            legend: None,
        });
        let scale = ArrowScale { force: self.largest_force, length: LONGEST_ARROW * self.bounds.radius() };
        draw_forces(&mut image, &camera, &forces(&frame), scale);
        image
    }

    fn shapes(&self, frame: &Frame<'_>) -> Vec<ShapeMesh> {
        let is_ground = |shape: &AnyShape, pose| ground_level(shape, pose, self.up.index()).is_some();
        let drawn = frame.shapes.iter().filter(|shape| !is_ground(shape.shape, &shape.pose));
        drawn.map(|shape| placed_mesh(shape.shape, &shape.pose, PATCH * self.bounds.radius())).collect()
    }

    fn camera(&self, aspect: f32) -> Camera {
        match self.scene.as_ref().map(|scene| &scene.record.camera) {
            Some(asked) => camera_of(asked, &self.bounds, self.up, aspect),
            None => Camera::fit(&self.bounds, self.up, aspect, &FitParams::default()),
        }
    }
}

/// The camera that a scene asks for; what it does not say is chosen so that all of `bounds` is in view.
pub(crate) fn camera_of(asked: &AskedCamera, bounds: &Bounds, up: UpAxis, aspect: f32) -> Camera {
    let fit = FitParams { field_of_view: asked.fov as f32, ..FitParams::default() };
    let mut camera = Camera::fit(bounds, up, aspect, &fit);
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
    /// Rings of round shapes: smooth at the size of a terminal.
    const RINGS: usize = 24;
    let mut mesh = shape_mesh(shape, patch, RINGS);
    for p in &mut mesh.positions {
        *p = f32s(pose.to_world(Vec3::from(p.map(f64::from))));
    }
    mesh
}
