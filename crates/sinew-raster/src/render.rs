//! From a view to an image.

mod coat;
mod pass;
mod tile;

use std::cell::RefCell;

use sinew_math::lanes::dispatch;
use sinew_math::parallel::prelude::*;

use super::backplate::{Backplate, Setting};
use super::camera::{Bounds, Camera, UpAxis};
use super::coverage::{BAND_ROWS, project};
use super::image::Image;
use super::occlusion::Occlusion;
use super::overlay::{Legend, draw_legend, draw_title};
use super::scene::{Paint, Prepared, Surface};
use super::shade::Lights;
use super::shadow::SoftShadow;
use pass::Pass;
use tile::{Band, Scratch};

/// The content of one picture.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The camera.
    pub camera: Camera,
    /// Axis that points up; lights and ground follow it.
    pub up: UpAxis,
    /// Height of the ground along the up axis \[m\], if there is one.
    pub ground: Option<f32>,
    /// The region of interest, which sets the size of the ground pattern and where it fades. Keep it fixed in an
    /// animation.
    pub stage: Bounds,
    /// Bodies and obstacles.
    pub surfaces: Vec<Surface<'a>>,
    /// Text in the upper left corner.
    pub title: Option<&'a str>,
    /// Text in the upper right corner, usually the time.
    pub caption: Option<&'a str>,
    /// Color bar.
    pub legend: Option<Legend<'a>>,
    /// What is behind the bodies.
    pub background: Background,
}

/// What is behind the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Background {
    /// Sky, and the ground of the view.
    #[default]
    Studio,
    /// Nothing: the picture is clear there. A ground hides what is below it, but is not drawn.
    Clear,
}

/// Least and most texels per side of the key light's depth map; in between, about one per pixel.
const SHADOW_SIZE: [usize; 2] = [256, 1024];

/// Pictures with a longer side are large \[pixels\].
const SMALL: usize = 512;

thread_local! {
    /// Kept from band to band and from picture to picture: fresh memory of this size takes longer than to draw on it.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Largest side of a picture \[pixels\]: 64 megapixels exceed any screen and still fit in memory.
const MAX_SIDE: usize = 8192;

/// Draws views of one size.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    width: usize,
    height: usize,
    is_draft: bool,
}

impl Renderer {
    /// A renderer for pictures of `width` × `height` pixels; sizes outside 1..=8192 are clamped.
    pub fn new(width: usize, height: usize) -> Renderer {
        Renderer { width: width.clamp(1, MAX_SIDE), height: height.clamp(1, MAX_SIDE), is_draft: false }
    }

    /// A renderer without ambient shadows and with a coarser shadow, in a third of the time: for small pictures, and
    /// for charts, whose colors mean numbers.
    pub fn draft(width: usize, height: usize) -> Renderer {
        Renderer { is_draft: true, ..Renderer::new(width, height) }
    }

    /// Width divided by height.
    pub fn aspect(&self) -> f32 {
        self.width as f32 / self.height as f32
    }

    /// Draws the view. The same view gives the same bytes on any number of threads.
    pub fn render(&self, view: &View<'_>) -> Image {
        self.draw(view, None)
    }

    /// Sky and ground of a view, for many pictures with the same camera.
    pub fn backplate(&self, view: &View<'_>) -> Backplate {
        Backplate::new(self.setting(view))
    }

    /// The same bytes as [`Renderer::render`], sooner: computes only what the bodies change. A backplate of another
    /// camera or size is not used.
    pub fn render_on(&self, plate: &Backplate, view: &View<'_>) -> Image {
        self.draw(view, Some(plate).filter(|plate| plate.setting == self.setting(view)))
    }

    fn setting(&self, view: &View<'_>) -> Setting {
        let View { camera, up, ground, stage, .. } = *view;
        Setting { size: [self.width, self.height], camera, up, ground, stage }
    }

    fn draw(&self, view: &View<'_>, plate: Option<&Backplate>) -> Image {
        let prepared = Prepared::new(&view.surfaces);
        let setting = self.setting(view);
        let projection = setting.projection();
        let lights = Lights::new(&projection, view.up);
        let side = self.width.max(self.height);
        // Small pictures hide the grain of a coarser map, and films have many of them.
        let share = if side > SMALL { 1 } else { 2 };
        let texels = (side.next_power_of_two() / share).clamp(SHADOW_SIZE[0], SHADOW_SIZE[1]);
        let shadow = SoftShadow::new(&prepared, lights.key, if self.is_draft { texels / 2 } else { texels });
        let occlusion = match self.is_draft {
            true => Occlusion::open_sky(&prepared, view.up),
            false => Occlusion::new(&prepared, view.up, view.ground, side),
        };
        let backdrop = setting.backdrop();
        let binned = project(&prepared, &projection, self.width, self.height);
        let solid = view
            .surfaces
            .iter()
            .map(|s| if let Paint::Solid(color) = s.paint { color.to_linear() } else { [0.0; 3] })
            .collect();
        let is_smooth = |s: &Surface<'_>| {
            let has_details = match s.paint {
                Paint::Solid(_) | Paint::VertexField { .. } => false,
                Paint::TriangleField { .. } => true,
                Paint::Coat(coat) => !coat.is_plain(),
            };
            s.wireframe.is_none() && !has_details
        };
        let is_smooth = view.surfaces.iter().map(is_smooth).collect();
        let ground_inverse_depth = backdrop.ground_inverse_depth(&projection);
        let has_depths = view.ground.is_some_and(|level| prepared.bounds.min[view.up.index()] < level);
        let pass = Pass {
            view,
            plate,
            solid,
            is_smooth,
            prepared,
            projection,
            lights,
            shadow,
            occlusion,
            backdrop,
            ground_inverse_depth,
            has_depths,
            width: self.width,
            height: self.height,
        };
        let mut image = Image::filled(self.width, self.height, [0; 3]);
        let bands = image.pixels.par_chunks_mut(3 * self.width * BAND_ROWS);
        let draw = |number: usize, pixels: &mut [u8], alpha: &mut [u8]| {
            SCRATCH.with_borrow_mut(|scratch| {
                dispatch(Band { pass: &pass, binned: &binned, scratch, number, pixels, alpha });
            });
        };
        match view.background {
            Background::Studio => bands.enumerate().for_each(|(number, pixels)| draw(number, pixels, &mut [])),
            Background::Clear => {
                image.alpha = vec![0; self.width * self.height];
                let bands = bands.zip(image.alpha.par_chunks_mut(self.width * BAND_ROWS));
                bands.enumerate().for_each(|(number, (pixels, alpha))| draw(number, pixels, alpha));
            }
        }
        if let Some(title) = view.title {
            draw_title(&mut image, title, view.caption);
        } else if view.caption.is_some() {
            draw_title(&mut image, "", view.caption);
        }
        if let Some(legend) = &view.legend {
            draw_legend(&mut image, legend);
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColorMap, Finish, FitParams, Rgb, ShapeMesh};

    fn view<'a>(surfaces: Vec<Surface<'a>>, stage: Bounds) -> View<'a> {
        View {
            camera: Camera::fit(&stage, UpAxis::Z, 1.5, &FitParams::default()),
            up: UpAxis::Z,
            ground: Some(0.0),
            stage,
            surfaces,
            title: Some("title"),
            caption: Some("t = 0 s"),
            legend: Some(Legend { label: "x [m]", min: 0.0, max: 1.0, map: ColorMap::Sequential }),
            background: Background::Studio,
        }
    }

    /// The ball is opaque and as bright as in the studio, its edge is in between, the rest is clear.
    #[test]
    fn a_clear_background_leaves_only_the_bodies() {
        let (mesh, bounds) = ball();
        let surface = Surface::solid(&mesh.positions, &mesh.triangles, Rgb::of_body(0), Finish::FLESH);
        let plain = View { title: None, caption: None, legend: None, ground: None, ..view(vec![surface], bounds) };
        let studio = Renderer::new(150, 100).render(&plain);
        let clear = Renderer::new(150, 100).render(&View { background: Background::Clear, ..plain });
        assert_eq!((clear.alpha[0], clear.alpha[50 * 150 + 75]), (0, 255));
        assert!(clear.alpha.iter().any(|&alpha| alpha > 0 && alpha < 255), "edges are smooth");
        assert!(studio.alpha.is_empty());
        for (i, _) in clear.alpha.iter().enumerate().filter(|(_, alpha)| **alpha == 255) {
            assert_eq!(clear.pixel(i % 150, i / 150), studio.pixel(i % 150, i / 150));
        }
    }

    fn ball() -> (ShapeMesh, Bounds) {
        let mesh = ShapeMesh::sphere([0.0, 0.0, 1.0], 1.0, 24);
        let bounds = Bounds::of(&mesh.positions);
        (mesh, bounds)
    }

    #[test]
    fn one_thread_and_four_give_the_same_bytes() {
        let (mesh, bounds) = ball();
        let surface = Surface::solid(&mesh.positions, &mesh.triangles, Rgb::of_body(0), Finish::FLESH);
        let view = view(vec![surface], bounds);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Renderer::new(150, 100).render(&view))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn lit_side_is_brighter_than_the_shadow_on_the_ground() {
        let (mesh, bounds) = ball();
        let surface = Surface::solid(&mesh.positions, &mesh.triangles, Rgb([0.9; 3]), Finish::MATTE);
        let with = Renderer::new(150, 100).render(&view(vec![surface], bounds));
        let without = Renderer::new(150, 100).render(&view(Vec::new(), bounds));
        let luminance = |image: &Image, x, y| image.pixel(x, y).iter().map(|&c| u32::from(c)).sum::<u32>();
        // The key light comes from the upper left: the ground right of the ball darkens, the ground left of it hardly
        // changes.
        let darkest = (0..100)
            .flat_map(|y| (75..150).map(move |x| (x, y)))
            .map(|(x, y)| luminance(&without, x, y) as i64 - luminance(&with, x, y) as i64);
        assert!(darkest.max().unwrap() > 120, "a shadow falls to the right");
        assert!(luminance(&with, 62, 30) > luminance(&with, 88, 68), "top left of the ball is lit");
    }

    /// Nothing in view, empty meshes, NaN, broken indices, zero sizes, a camera inside a body: there is a picture every
    /// time.
    #[test]
    fn nothing_can_stop_a_picture() {
        let (mesh, bounds) = ball();
        let broken = [[f32::NAN; 3], [f32::INFINITY, 0.0, 0.0], [1e30, 1e30, 1e30], [0.0; 3]];
        let triangles = [[0, 1, 2], [0, 3, 3], [9, 9, 9], [1, 2, 3]];
        let field = Paint::VertexField { values: &[f32::NAN], min: 0.0, max: 0.0, map: ColorMap::Diverging };
        let solid = Surface::solid(&mesh.positions, &mesh.triangles, Rgb([0.5; 3]), Finish::FLESH);
        let mut cases = vec![
            view(Vec::new(), Bounds::default()),
            view(vec![Surface::solid(&broken, &triangles, Rgb([0.5; 3]), Finish::FLESH)], Bounds::of(&broken)),
            view(vec![Surface { paint: field, ..solid }], bounds),
            view(vec![solid], bounds),
            view(vec![solid], bounds),
            view(vec![solid], bounds),
        ];
        cases[3].camera.eye = [0.0, 0.0, 1.0];
        cases[4].camera.target = [100.0, 100.0, 100.0];
        cases[5].camera.eye = cases[5].camera.target;
        for view in &mut cases {
            for (width, height) in [(48, 32), (1, 1), (0, 7)] {
                let image = Renderer::new(width, height).render(view);
                assert_eq!(image.pixels.len(), 3 * image.width * image.height);
            }
            view.ground = None;
            view.camera.up = [0.0; 3];
            Renderer::new(16, 16).render(view);
        }
    }

    /// A triangle field paints each face with its own color: the two halves of a quad differ sharply.
    #[test]
    fn triangle_fields_are_flat() {
        let quad = ShapeMesh::patch([0.0; 3], [0.0, 0.0, 1.0], 1.0, 1);
        let bounds = Bounds::of(&quad.positions);
        let paint = Paint::TriangleField { values: &[0.0, 1.0], min: 0.0, max: 1.0, map: ColorMap::Sequential };
        let surface =
            Surface { paint, ..Surface::solid(&quad.positions, &quad.triangles, Rgb([1.0; 3]), Finish::CHART) };
        let mut view = view(vec![surface], bounds);
        view.camera = Camera { eye: [0.0, 0.0, 6.0], target: [0.0; 3], up: [0.0, 1.0, 0.0], field_of_view: 0.5 };
        view.ground = None;
        view.legend = None;
        let image = Renderer::new(90, 60).render(&view);
        let colors = [image.pixel(38, 40), image.pixel(52, 20)];
        assert!(colors[0] != colors[1], "{colors:?}");
        assert_eq!(image.pixel(38, 40), image.pixel(40, 41), "constant within a face");
    }
}
