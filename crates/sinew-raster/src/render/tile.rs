//! Bands of a picture, tile by tile.

use std::ops::Range;

use sinew_math::lanes::{Isa, LaneKernel};

use super::super::backplate::LightLattice;
use super::super::coverage::{BAND_ROWS, Binned, NOTHING, SampleBand, TILE};
use super::super::shade::display;
use super::Background;
use super::pass::{Pass, Seen};

/// Memory of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    samples: SampleBand,
    lattice: LightLattice,
}

/// Some rows of a picture: covered, shaded and lit.
pub(super) struct Band<'a> {
    pub pass: &'a Pass<'a>,
    pub binned: &'a Binned,
    pub scratch: &'a mut Scratch,
    pub number: usize,
    pub pixels: &'a mut [u8],
    /// Opacities; empty in front of the studio.
    pub alpha: &'a mut [u8],
}

/// A tile of a band: its columns and rows in the picture.
struct Tile {
    columns: Range<usize>,
    rows: Range<usize>,
}

impl LaneKernel for Band<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.draw();
    }
}

impl Band<'_> {
    #[inline(always)]
    fn draw(self) {
        let Band { pass, binned, scratch: Scratch { samples, lattice }, number, pixels, alpha } = self;
        let width = pass.width;
        let first_row = number * BAND_ROWS;
        let rows = first_row..first_row + pixels.len() / (3 * width);
        samples.cover(binned, number, width, rows.len());
        lattice.start(width, first_row);
        for number in 0..samples.is_touched.len() {
            let columns = number * TILE..((number + 1) * TILE).min(width);
            let tile = Tile { columns, rows: rows.clone() };
            if samples.is_touched[number] {
                pass.body_tile(&tile, samples, lattice, pixels, alpha);
            } else if pass.view.background == Background::Studio {
                pass.open_tile(&tile, lattice, pixels);
            }
        }
    }
}

/// Pixels per side of a cell: if its corners are lit alike, so is what is between them.
const CELL: usize = 4;

/// Shares of the key light that differ by less count as alike: a third of a byte.
const ALIKE: f32 = 1.0 / 1024.0;

impl Pass<'_> {
    /// A tile without bodies.
    #[inline(always)]
    fn open_tile(&self, tile: &Tile, lattice: &mut LightLattice, pixels: &mut [u8]) {
        let light = self.ground_light();
        let is_full = light.is_full(&tile.columns, &tile.rows);
        for (y, row) in tile.rows.clone().enumerate() {
            let at = y * self.width + tile.columns.start..y * self.width + tile.columns.end;
            let bytes = &mut pixels[3 * at.start..3 * at.end];
            if is_full && let Some(plate) = self.plate {
                bytes.copy_from_slice(plate.row(row, tile.columns.clone()).1);
                continue;
            }
            let shares = if is_full { [[1.0; 2]; TILE] } else { lattice.row(tile.columns.start, row, &light) };
            for (bytes, (column, shares)) in bytes.chunks_exact_mut(3).zip(tile.columns.clone().zip(shares)) {
                bytes.copy_from_slice(&self.open_pixel([column, row], |_| shares));
            }
        }
    }

    /// Color of a pixel without bodies under shares of the key light and of the sky.
    #[inline(always)]
    fn open_pixel(&self, [column, row]: [usize; 2], shares: impl FnOnce([f32; 2]) -> [f32; 2]) -> [u8; 3] {
        let at = [column as f32 + 0.5, row as f32 + 0.5];
        let Some(plate) = self.plate else {
            let pixel = self.behind_bodies().pixel(at[0], at[1]);
            return display(pixel.shaded(&self.lights, if pixel.has_ground() { shares(at) } else { [1.0; 2] }));
        };
        let (pixel, open) = plate.row(row, column..column + 1);
        let shares = if pixel[0].has_ground() { shares(at) } else { [1.0; 2] };
        // Much of the ground is in full light.
        let is_open = shares == [1.0; 2];
        if is_open { [open[0], open[1], open[2]] } else { display(pixel[0].shaded(&self.lights, shares)) }
    }

    /// A tile that a body may touch.
    #[inline(always)]
    fn body_tile(
        &self,
        tile: &Tile,
        samples: &SampleBand,
        lattice: &mut LightLattice,
        pixels: &mut [u8],
        alpha: &mut [u8],
    ) {
        let is_clear = self.view.background == Background::Clear;
        let mut seen: [Option<Seen>; TILE * BAND_ROWS] = [None; TILE * BAND_ROWS];
        for (y, row) in tile.rows.clone().enumerate() {
            for (x, column) in tile.columns.clone().enumerate() {
                let i = y * self.width + column;
                let here = (&samples.source[i], &samples.inverse_depth[i]);
                let bytes = &mut pixels[3 * i..3 * i + 3];
                let mut opacity = 255;
                if let Some(source) = self.only_source([column, row], here) {
                    seen[y * TILE + x] = Some(self.seen(
                        source,
                        column as f32 + 0.5,
                        row as f32 + 0.5,
                        self.coat_of(source, here.0, [column, row]),
                    ));
                } else if here.0.iter().any(|&source| source != NOTHING) {
                    let (color, part) = self.mixed_pixel([column, row], here, lattice);
                    bytes.copy_from_slice(&color);
                    opacity = part;
                } else if is_clear {
                    opacity = 0;
                } else {
                    let shares = |at| lattice.at(at, &self.ground_light());
                    bytes.copy_from_slice(&self.open_pixel([column, row], shares));
                }
                if let Some(alpha) = alpha.get_mut(i) {
                    *alpha = opacity;
                }
            }
        }
        let lit = self.key_light(&seen);
        for (y, x) in (0..tile.rows.len()).flat_map(|y| (0..tile.columns.len()).map(move |x| (y, x))) {
            if let Some(point) = &seen[y * TILE + x] {
                let i = y * self.width + tile.columns.start + x;
                pixels[3 * i..3 * i + 3].copy_from_slice(&display(self.color(point, lit[y * TILE + x])));
            }
        }
    }

    /// Share of the key light at points of a tile: interpolated in cells of one piece of a surface whose corners are lit
    /// alike, as in most.
    #[inline(always)]
    fn key_light(&self, seen: &[Option<Seen>; TILE * BAND_ROWS]) -> [f32; TILE * BAND_ROWS] {
        let mut lit = [f32::NAN; TILE * BAND_ROWS];
        for (y0, x0) in (0..BAND_ROWS).step_by(CELL).flat_map(|y| (0..TILE).step_by(CELL).map(move |x| (y, x))) {
            let first = y0 * TILE + x0;
            let end = CELL - 1;
            let corners = [first, first + end, first + end * TILE, first + end * TILE + end];
            for i in corners {
                if let Some(point) = &seen[i] {
                    lit[i] = self.lights.key_light(&point.at, &self.shadow);
                }
            }
            let is_piece = |a: &Option<Seen>, b: &Option<Seen>| match (a, b) {
                (Some(a), Some(b)) => self.is_same_piece(a.source, b.source),
                _ => false,
            };
            let [a, b, c, d] = corners.map(|i| lit[i]);
            // Written so that missing corners are unlike.
            let is_alike = a.max(b).max(c.max(d)) - a.min(b).min(c.min(d)) < ALIKE
                && corners[1..].iter().all(|&i| is_piece(&seen[first], &seen[i]));
            for (y, x) in (0..CELL).flat_map(|y| (0..CELL).map(move |x| (y, x))) {
                let i = first + y * TILE + x;
                let Some(point) = seen[i].as_ref().filter(|_| !corners.contains(&i)) else { continue };
                lit[i] = match is_alike && is_piece(&seen[first], &seen[i]) {
                    true => 0.25 * (a + b + c + d),
                    false => self.lights.key_light(&point.at, &self.shadow),
                };
            }
        }
        lit
    }
}
