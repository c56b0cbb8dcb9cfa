//! What stands behind the bodies: sky and ground, which are the same in every picture of an animation.
//!
//! The color of a ground pixel is B + G L, with the light L from key light and sky. Only L depends on the bodies, so
//! B, G and the color in full light are computed once.

use rayon::prelude::*;

use super::camera::{Bounds, Camera, UpAxis};
use super::coverage::{BAND_ROWS, Projection};
use super::occlusion::Occlusion;
use super::shade::{Backdrop, Lights, display, footprint};
use super::shadow::SoftShadow;
use super::vector::{V3, mad, mul, scale};

/// Sky and ground of a fixed camera, for [`Renderer::render_on`](super::Renderer::render_on).
#[derive(Clone, Debug)]
pub struct Backplate {
    pub(crate) setting: Setting,
    pixels: Vec<PlatePixel>,
}

/// All that a backplate depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub size: [usize; 2],
    pub camera: Camera,
    pub up: UpAxis,
    pub ground: Option<f32>,
    pub stage: Bounds,
}

impl Setting {
    pub fn projection(&self) -> Projection {
        Projection::new(&self.camera, self.size[0], self.size[1])
    }

    pub fn backdrop(&self) -> Backdrop {
        Backdrop::new(self.up, self.ground, self.stage.center(), self.stage.radius())
    }
}

impl Backplate {
    pub(crate) fn new(setting: Setting) -> Backplate {
        let (projection, backdrop) = (setting.projection(), setting.backdrop());
        let lights = Lights::new(&projection, setting.up);
        let plate = Behind { projection: &projection, backdrop: &backdrop, lights: &lights, height: setting.size[1] };
        let row = |y: usize| (0..setting.size[0]).map(move |x| plate.pixel(x as f32 + 0.5, y as f32 + 0.5));
        let pixels = (0..setting.size[1]).into_par_iter().flat_map_iter(row).collect();
        Backplate { setting, pixels }
    }

    /// The pixel in column `x` of row `y`.
    #[inline]
    pub(crate) fn pixel(&self, x: usize, y: usize) -> &PlatePixel {
        &self.pixels[y * self.setting.size[0] + x]
    }
}

/// A point of the screen without bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlatePixel {
    /// B: the background where the ground has faded.
    background: V3,
    /// G: albedo of the ground, times its share of the pixel.
    ground: V3,
    /// The point of the ground, if it is visible.
    pub position: Option<V3>,
    /// Color in full light.
    pub open: [u8; 3],
}

impl PlatePixel {
    /// Color under `lit` of the key light and `sky` of the light of the sky.
    pub fn shaded(&self, lights: &Lights, lit: f32, sky: f32) -> V3 {
        let light = lights.on_ground(lit, sky);
        let ground = mul(self.ground, light);
        [self.background[0] + ground[0], self.background[1] + ground[1], self.background[2] + ground[2]]
    }
}

/// Computes [`PlatePixel`]s.
#[derive(Clone, Copy)]
pub(crate) struct Behind<'a> {
    pub projection: &'a Projection,
    pub backdrop: &'a Backdrop,
    pub lights: &'a Lights,
    /// Rows of the picture.
    pub height: usize,
}

impl Behind<'_> {
    /// What is seen at a point of the screen.
    pub fn pixel(&self, x: f32, y: f32) -> PlatePixel {
        let background = self.backdrop.background(1.0 - y / self.height as f32);
        let mut pixel = PlatePixel { background, ground: [0.0; 3], position: None, open: [0; 3] };
        if let Some(position) = self.ground_at(x, y) {
            let width = footprint(self.projection, position, self.lights.up);
            let (albedo, visible) = self.backdrop.ground_albedo(position, width);
            if visible > 0.0 {
                pixel.background = scale(background, 1.0 - visible);
                pixel.ground = scale(albedo, visible);
                pixel.position = Some(position);
            }
        }
        pixel.open = display(pixel.shaded(self.lights, 1.0, 1.0));
        pixel
    }

    fn ground_at(&self, x: f32, y: f32) -> Option<V3> {
        let (eye, ray) = (self.projection.basis.eye, self.projection.ray(x, y));
        self.backdrop.ground_hit(eye, ray).map(|distance| mad(eye, ray, distance))
    }
}

/// Pixels between two evaluations of the shadow on the ground.
const STEP: usize = 2;

/// Lattice rows of one band.
const ROWS: usize = BAND_ROWS / STEP + 1;

/// The value of a lattice point that was not needed yet.
const UNKNOWN: f32 = -1.0;

/// The shadow on the ground behind one band of rows. It is smooth on the scale of a pixel and expensive, so it is
/// evaluated at every second point and interpolated.
#[derive(Default)]
pub(crate) struct ShadowLattice {
    values: Vec<f32>,
    columns: usize,
    first_row: usize,
}

impl ShadowLattice {
    /// Starts a band of a picture of `width` columns.
    pub fn start(&mut self, width: usize, first_row: usize) {
        (self.columns, self.first_row) = (width / STEP + 2, first_row);
        self.values.clear();
        self.values.resize(self.columns * ROWS, UNKNOWN);
    }

    /// Fraction of the key light at a point of the screen that lies in the band.
    pub fn lit(&mut self, x: f32, y: f32, behind: &Behind<'_>, shadow: &SoftShadow) -> f32 {
        let (u, v) = (x / STEP as f32, (y - self.first_row as f32) / STEP as f32);
        let (i, k) = ((u as usize).min(self.columns - 2), (v as usize).min(ROWS - 2));
        let (fx, fy) = (u - i as f32, v - k as f32);
        let mut at = |i: usize, k: usize| {
            let value = &mut self.values[k * self.columns + i];
            if *value == UNKNOWN {
                let screen = ((i * STEP) as f32, (self.first_row + k * STEP) as f32);
                let ground = behind.ground_at(screen.0, screen.1);
                *value = ground.map_or(1.0, |position| shadow.lit(position, behind.lights.up));
            }
            *value
        };
        let below = at(i, k) * (1.0 - fx) + at(i + 1, k) * fx;
        let above = at(i, k + 1) * (1.0 - fx) + at(i + 1, k + 1) * fx;
        below * (1.0 - fy) + above * fy
    }
}

/// The color of a point behind the bodies.
pub(crate) fn behind_color(
    pixel: &PlatePixel,
    [x, y]: [f32; 2],
    behind: &Behind<'_>,
    (shadow, occlusion): (&SoftShadow, &Occlusion),
    lattice: &mut ShadowLattice,
) -> Option<V3> {
    let position = pixel.position?;
    let sky = occlusion.on_ground(position);
    let lit = if shadow.may_reach(position) { lattice.lit(x, y, behind, shadow) } else { 1.0 };
    // Most of the ground: nothing dims it.
    if lit == 1.0 && sky == 1.0 { None } else { Some(pixel.shaded(behind.lights, lit, sky)) }
}
