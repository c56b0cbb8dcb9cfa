//! What stands behind the bodies: sky and ground, which are the same in every picture of an animation.
//!
//! The color of a ground pixel is B + G L, with the light L from key light and sky. Only L depends on the bodies, so
//! B, G and the color in full light are computed once.

use std::ops::Range;

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::prelude::*;

use super::camera::{Bounds, Camera, UpAxis};
use super::coverage::{BAND_ROWS, Projection, TILE};
use super::occlusion::Occlusion;
use super::shade::{Backdrop, Lights, RowBytes, RowColors, display_row, footprint};
use super::shadow::SoftShadow;
use super::vector::{V3, add, mad, mul, scale};

/// Sky and ground of a fixed camera, for [`Renderer::render_on`](super::Renderer::render_on).
#[derive(Clone, Debug)]
pub struct Backplate {
    pub(crate) setting: Setting,
    /// Rows of tiles, from left to right and from the top.
    rows: Vec<PlateRow>,
    /// The picture in full light, in the same order.
    open: Vec<RowBytes>,
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
        let [width, height] = setting.size;
        let behind = Behind { projection: &projection, backdrop: &backdrop, lights: &lights, height };
        let tiles = width.div_ceil(TILE);
        let mut plate = Backplate {
            setting,
            rows: vec![PlateRow::default(); tiles * height],
            open: vec![RowBytes::default(); tiles * height],
        };
        let rows = plate.rows.par_chunks_mut(tiles).zip(plate.open.par_chunks_mut(tiles)).enumerate();
        rows.for_each(|(row, (rows, open))| dispatch(PlateBand { behind, row, rows, open }));
        plate
    }

    /// Eight pixels of a row, from a column that is a multiple of that, and their bytes in full light.
    #[inline(always)]
    pub(crate) fn row(&self, first_column: usize, row: usize) -> (&PlateRow, &RowBytes) {
        let at = row * self.setting.size[0].div_ceil(TILE) + first_column / TILE;
        (&self.rows[at], &self.open[at])
    }
}

/// Computes a row of pixels.
struct PlateBand<'a> {
    behind: Behind<'a>,
    row: usize,
    rows: &'a mut [PlateRow],
    open: &'a mut [RowBytes],
}

impl LaneKernel for PlateBand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (tile, (row, open)) in self.rows.iter_mut().zip(self.open).enumerate() {
            *row = self.behind.row(tile * TILE, self.row);
            *open = row.shaded(self.behind.lights, &[[1.0; TILE]; 2]);
        }
    }
}

/// A row of pixels of a tile without bodies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlateRow {
    /// B: the background where the ground has faded.
    background: RowColors,
    /// G: albedo of the ground, times its share of the pixel; zero where no ground is visible.
    ground: RowColors,
}

impl PlateRow {
    /// Bytes under shares of the key light and of the light of the sky.
    #[inline(always)]
    pub fn shaded(&self, lights: &Lights, [lit, sky]: &[[f32; TILE]; 2]) -> RowBytes {
        let mut colors = RowColors::default();
        for i in 0..TILE {
            let light = lights.on_ground(lit[i], sky[i]);
            for c in 0..3 {
                colors[c][i] = self.background[c][i] + self.ground[c][i] * light[c];
            }
        }
        display_row(&colors)
    }
}

/// A point of the screen without bodies, as in [`PlateRow`].
#[derive(Clone, Copy)]
pub(crate) struct PlatePixel {
    background: V3,
    ground: V3,
}

impl PlatePixel {
    /// Color under `lit` of the key light and `sky` of the light of the sky.
    #[inline(always)]
    pub fn shaded(&self, lights: &Lights, [lit, sky]: [f32; 2]) -> V3 {
        add(self.background, mul(self.ground, lights.on_ground(lit, sky)))
    }

    /// Whether bodies can dim the pixel.
    #[inline(always)]
    pub fn has_ground(&self) -> bool {
        self.ground != [0.0; 3]
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
    #[inline(always)]
    pub fn pixel(&self, x: f32, y: f32) -> PlatePixel {
        let background = self.backdrop.background(1.0 - y / self.height as f32);
        let mut pixel = PlatePixel { background, ground: [0.0; 3] };
        if let Some(position) = self.ground_at(x, y) {
            let width = footprint(self.projection, position, self.lights.up);
            let (albedo, visible) = self.backdrop.ground_albedo(position, width);
            if visible > 0.0 {
                pixel.background = scale(background, 1.0 - visible);
                pixel.ground = scale(albedo, visible);
            }
        }
        pixel
    }

    /// What is seen in the middle of eight pixels of a row.
    #[inline(always)]
    pub fn row(&self, first_column: usize, row: usize) -> PlateRow {
        let mut pixels = PlateRow::default();
        for i in 0..TILE {
            let pixel = self.pixel((first_column + i) as f32 + 0.5, row as f32 + 0.5);
            for c in 0..3 {
                (pixels.background[c][i], pixels.ground[c][i]) = (pixel.background[c], pixel.ground[c]);
            }
        }
        pixels
    }

    #[inline(always)]
    pub fn ground_at(&self, x: f32, y: f32) -> Option<V3> {
        let (eye, ray) = (self.projection.basis.eye, self.projection.ray(x, y));
        let distance = self.backdrop.ground_hit(eye, ray)?;
        Some(mad(eye, ray, distance))
    }
}

/// Light on the ground: from the key light and from the sky.
#[derive(Clone, Copy)]
pub(crate) struct GroundLight<'a> {
    pub behind: Behind<'a>,
    pub shadow: &'a SoftShadow,
    pub occlusion: &'a Occlusion,
}

impl GroundLight<'_> {
    /// Whether a rectangle of the screen surely shows the ground in full light, or none.
    #[inline(always)]
    pub fn is_full(&self, columns: &Range<usize>, rows: &Range<usize>) -> bool {
        let [left, right, top, bottom] = [columns.start, columns.end, rows.start, rows.end].map(|at| at as f32);
        let corners = [[left, top], [right, top], [left, bottom], [right, bottom]];
        // The ground in the rectangle is convex, and so is what bodies dim: with all corners beyond one side of that,
        // all between them is.
        let (mut hits, mut of_shadow, mut of_sky) = (0, u8::MAX, u8::MAX);
        for [x, y] in corners {
            if let Some(p) = self.behind.ground_at(x, y) {
                hits += 1;
                of_shadow &= self.shadow.sides_beyond(p);
                of_sky &= self.occlusion.sides_beyond(p);
            }
        }
        hits == 0 || hits == 4 && of_shadow != 0 && of_sky != 0
    }

    /// Share of the key light at a point of the screen.
    #[inline(always)]
    fn key(&self, [x, y]: [f32; 2]) -> f32 {
        match self.behind.ground_at(x, y) {
            Some(p) => self.shadow.lit(p, self.behind.lights.up),
            None => 1.0,
        }
    }

    /// Shares of the key light and of the sky at a point of the screen.
    #[inline(always)]
    fn both(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        match self.behind.ground_at(x, y) {
            Some(p) => [self.shadow.lit(p, self.behind.lights.up), self.occlusion.on_ground(p)],
            None => [1.0; 2],
        }
    }
}

/// Pixels between two lattice points.
const STEP: usize = 2;

/// Lattice rows of one band.
const ROWS: usize = BAND_ROWS / STEP + 1;

/// Shares of the key light that differ by less count as alike.
const ALIKE: f32 = 1.0 / 64.0;

/// Cells whose corners differ by less may have no edge of a shadow, only a slope.
const SOFT: f32 = 0.125;

/// A lattice point that was not needed yet.
const UNKNOWN: f32 = -1.0;

/// Light on the ground behind one band of rows: shares of the key light and of the sky. They are smooth on the scale of
/// a pixel and expensive, so they are evaluated at lattice points and interpolated: the sky at every second point, the
/// key light at the points between only where those around them differ.
#[derive(Default)]
pub(crate) struct LightLattice {
    values: Vec<[f32; 2]>,
    columns: usize,
    first_row: usize,
}

impl LightLattice {
    /// Starts a band of a picture of `width` columns.
    pub fn start(&mut self, width: usize, first_row: usize) {
        (self.columns, self.first_row) = ((width.div_ceil(TILE) * TILE) / STEP + 4, first_row);
        self.values.clear();
        self.values.resize(self.columns * ROWS, [UNKNOWN; 2]);
    }

    /// Shares of the key light and of the sky at a point of the screen that lies in the band.
    #[inline(always)]
    pub fn at(&mut self, [x, y]: [f32; 2], light: &GroundLight<'_>) -> [f32; 2] {
        let (u, v) = (x * (1.0 / STEP as f32), (y - self.first_row as f32) * (1.0 / STEP as f32));
        let (i, k) = ((u as u32 as usize).min(self.columns - 4), (v as u32 as usize).min(ROWS - 2));
        let (fx, fy) = (u - i as f32, v - k as f32);
        // Cells are two points wide; the one in the center is known last.
        let (first, center) = ([i & !1, k & !1], (k | 1) * self.columns + (i | 1));
        if self.values[center][0] == UNKNOWN {
            self.fill(first, light);
        }
        let below = &self.values[k * self.columns + i..];
        let (a, b, c, d) = (below[0], below[1], below[self.columns], below[self.columns + 1]);
        let mut shares = [0.0; 2];
        for (n, share) in shares.iter_mut().enumerate() {
            let (below, above) = (a[n] + (b[n] - a[n]) * fx, c[n] + (d[n] - c[n]) * fx);
            *share = below + (above - below) * fy;
        }
        shares
    }

    /// Shares of the key light and of the sky at the pixels of a row of a tile.
    #[inline(always)]
    pub fn row(&mut self, first_column: usize, row: usize, light: &GroundLight<'_>) -> [[f32; TILE]; 2] {
        let (i, y) = (first_column / STEP, row - self.first_row);
        let k = y / STEP;
        for cell in (0..TILE / STEP).step_by(2) {
            if self.values[(k | 1) * self.columns + (i + cell + 1)][0] == UNKNOWN {
                self.fill([i + cell, k & !1], light);
            }
        }
        let fy = ((y % STEP) as f32 + 0.5) / STEP as f32;
        let at = k * self.columns + i;
        let (upper, lower) = (&self.values[at..=at + TILE / STEP], &self.values[at + self.columns..]);
        let lower = &lower[..=TILE / STEP];
        let mut shares = [[0.0; TILE]; 2];
        for (n, shares) in shares.iter_mut().enumerate() {
            let mut between = [0.0; TILE / STEP + 1];
            for (i, between) in between.iter_mut().enumerate() {
                *between = upper[i][n] + (lower[i][n] - upper[i][n]) * fy;
            }
            for (x, share) in shares.iter_mut().enumerate() {
                let (left, right) = (between[x / STEP], between[x / STEP + 1]);
                *share = left + (right - left) * (((x % STEP) as f32 + 0.5) / STEP as f32);
            }
        }
        shares
    }

    /// Fills the cell of 3 × 3 points that starts at a point with even numbers.
    #[inline(always)]
    fn fill(&mut self, [i, k]: [usize; 2], light: &GroundLight<'_>) {
        let (a, b) = (self.corner([i, k], light), self.corner([i + 2, k], light));
        let (c, d) = (self.corner([i, k + 2], light), self.corner([i + 2, k + 2], light));
        // The light is linear in the cell if it is so in the center.
        let mean = 0.25 * (a[0] + b[0] + c[0] + d[0]);
        let center = self.between([i + 1, k + 1], [a, b, c, d], false, light);
        let most = a[0].max(b[0]).max(c[0].max(d[0]));
        let is_linear = (center - mean).abs() < ALIKE && most - a[0].min(b[0]).min(c[0].min(d[0])) < SOFT;
        self.between([i + 1, k], [a, b, a, b], is_linear, light);
        self.between([i, k + 1], [a, c, a, c], is_linear, light);
        self.between([i + 2, k + 1], [b, d, b, d], is_linear, light);
        self.between([i + 1, k + 2], [c, d, c, d], is_linear, light);
    }

    fn screen(&self, [i, k]: [usize; 2]) -> [f32; 2] {
        [(i * STEP) as f32, (self.first_row + k * STEP) as f32]
    }

    #[inline(always)]
    fn corner(&mut self, [i, k]: [usize; 2], light: &GroundLight<'_>) -> [f32; 2] {
        let at = k * self.columns + i;
        if self.values[at][0] == UNKNOWN {
            self.values[at] = light.both(self.screen([i, k]));
        }
        self.values[at]
    }

    /// A point in the middle of corners, between which the key light may be linear, and its share of that.
    #[inline(always)]
    fn between(
        &mut self,
        [i, k]: [usize; 2],
        [a, b, c, d]: [[f32; 2]; 4],
        is_linear: bool,
        light: &GroundLight<'_>,
    ) -> f32 {
        let at = k * self.columns + i;
        if self.values[at][0] == UNKNOWN {
            let (key, sky) = (0.25 * (a[0] + b[0] + c[0] + d[0]), 0.25 * (a[1] + b[1] + c[1] + d[1]));
            let most = a[0].max(b[0]).max(c[0].max(d[0]));
            let is_alike = is_linear || most - a[0].min(b[0]).min(c[0].min(d[0])) < ALIKE;
            self.values[at] = [if is_alike { key } else { light.key(self.screen([i, k])) }, sky];
        }
        self.values[at][0]
    }
}
