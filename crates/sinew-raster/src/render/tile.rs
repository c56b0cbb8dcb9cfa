//! Bands of a picture, tile by tile.

use std::ops::Range;

use sinew_math::lanes::{Isa, LaneKernel};

use super::super::backplate::LightLattice;
use super::super::coverage::{BAND_ROWS, Binned, NOTHING, SAMPLES, SampleBand, TILE};
use super::super::shade::{RowBytes, RowColors, display_row};
use super::super::vector::{V3, lerp};
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

/// Columns and rows of a tile at which colors are computed first.
const KNOTS: [usize; 3] = [0, 4, TILE - 1];

/// Shares of the key light that differ by less count as alike: a third of a byte.
const ALIKE: f32 = 1.0 / 1024.0;

/// Shares of light on the ground above this are full: a fifth of a byte.
const OPEN: f32 = 0.998;

/// Colors that differ by less, relatively, are interpolated: the error is that of a parabola in place of its chord, at most
/// a quarter of it, which is half a byte of bright flesh for a difference of two.
const ALIKE_COLOR: f32 = 0.03;

/// Colors that differ by less, relatively, are the same: a third of a byte.
const SAME_COLOR: f32 = 0.004;

/// Triangles of one piece continue each other where 1/depth is linear on the screen up to so much.
const ALIKE_DEPTH: f32 = 2e-3;

/// Sources of the pixels of a tile that show one piece of a surface each, `NOTHING` elsewhere.
type Sources = [u32; TILE * BAND_ROWS];

/// A pixel in full detail.
#[derive(Clone, Copy)]
struct Knot {
    color: V3,
    /// Share of the key light.
    lit: f32,
}

/// The pixels from knot to knot.
#[derive(Clone, Copy)]
struct Cell {
    x0: usize,
    x1: usize,
    y0: usize,
    y1: usize,
}

impl Cell {
    /// Color of a pixel between the corners of the cell.
    #[inline(always)]
    fn between(self, [a, b, c, d]: [V3; 4], [x, y]: [usize; 2]) -> V3 {
        let (across, down) = ((x - self.x0) as f32, (y - self.y0) as f32);
        let (width, height) = ((self.x1 - self.x0) as f32, (self.y1 - self.y0) as f32);
        lerp(lerp(a, c, down / height), lerp(b, d, down / height), across / width)
    }

    /// Interpolates the colors of some columns and rows.
    #[inline(always)]
    fn fill(self, corners: [V3; 4], [columns, rows]: [Range<usize>; 2], colors: &mut [RowColors; BAND_ROWS]) {
        for y in rows {
            for x in columns.clone() {
                [colors[y][0][x], colors[y][1][x], colors[y][2][x]] = self.between(corners, [x, y]);
            }
        }
    }
}

impl Pass<'_> {
    /// A tile without bodies.
    #[inline(always)]
    fn open_tile(&self, tile: &Tile, lattice: &mut LightLattice, pixels: &mut [u8]) {
        let is_full = self.ground_light().is_full(&tile.columns, &tile.rows);
        for (y, row) in tile.rows.clone().enumerate() {
            let at = y * self.width + tile.columns.start..y * self.width + tile.columns.end;
            let bytes = match self.plate.filter(|_| is_full) {
                Some(plate) => *plate.row(tile.columns.start, row).1,
                None => self.open_row(tile.columns.start, row, lattice),
            };
            pixels[3 * at.start..3 * at.end].copy_from_slice(&bytes[..3 * at.len()]);
        }
    }

    /// Pixels of a row of a tile without bodies.
    #[inline(always)]
    fn open_row(&self, first_column: usize, row: usize, lattice: &mut LightLattice) -> RowBytes {
        let shares = lattice.row(first_column, row, &self.ground_light());
        let mut least = 1.0f32;
        for &share in shares.as_flattened() {
            least = if share < least { share } else { least };
        }
        let is_open = least > OPEN;
        match self.plate {
            Some(plate) if is_open => *plate.row(first_column, row).1,
            Some(plate) => plate.row(first_column, row).0.shaded(&self.lights, &shares),
            None => {
                let shares = if is_open { [[1.0; TILE]; 2] } else { shares };
                self.behind_bodies().row(first_column, row).shaded(&self.lights, &shares)
            }
        }
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
        let mut only = [NOTHING; TILE * BAND_ROWS];
        for (y, row) in tile.rows.clone().enumerate() {
            let mut open = None;
            for (x, column) in tile.columns.clone().enumerate() {
                let i = y * self.width + column;
                let here = (&samples.source[i], &samples.inverse_depth[i]);
                let bytes = &mut pixels[3 * i..3 * i + 3];
                let mut opacity = 255;
                if let Some(source) = self.only_source([column, row], here) {
                    only[y * TILE + x] = source;
                } else if here.0 != &[NOTHING; SAMPLES] {
                    let (color, part) = self.mixed_pixel([column, row], here, lattice);
                    bytes.copy_from_slice(&color);
                    opacity = part;
                } else if is_clear {
                    opacity = 0;
                } else {
                    // No closure: it would not be compiled for lanes.
                    let shown = match open {
                        Some(shown) => shown,
                        None => self.open_row(tile.columns.start, row, lattice),
                    };
                    bytes.copy_from_slice(&shown[3 * x..3 * x + 3]);
                    open = Some(shown);
                }
                if let Some(alpha) = alpha.get_mut(i) {
                    *alpha = opacity;
                }
            }
        }
        let colors = self.body_colors(tile, samples, &only);
        for (y, (colors, only)) in colors.iter().zip(only.as_chunks::<TILE>().0).enumerate().take(tile.rows.len()) {
            let row = display_row(colors);
            for x in (0..tile.columns.len()).filter(|&x| only[x] != NOTHING) {
                let i = y * self.width + tile.columns.start + x;
                pixels[3 * i..3 * i + 3].copy_from_slice(&row[3 * x..3 * x + 3]);
            }
        }
    }

    /// Colors of the pixels of a tile that show one piece of a surface: interpolated between knots where these belong to
    /// one smooth piece and differ little, as in most places.
    #[inline(always)]
    fn body_colors(&self, tile: &Tile, samples: &SampleBand, only: &Sources) -> [RowColors; BAND_ROWS] {
        let mut colors = [RowColors::default(); BAND_ROWS];
        let mut knots = [[None; KNOTS.len()]; KNOTS.len()];
        let whole = Cell { x0: 0, x1: TILE - 1, y0: 0, y1: BAND_ROWS - 1 };
        // The corners and the center first, which suffice on large faces.
        for (n, [k, i]) in
            [[0, 0], [0, 2], [2, 0], [2, 2], [1, 1], [0, 1], [1, 0], [1, 2], [2, 1]].into_iter().enumerate()
        {
            if n == 5
                && let [Some(a), Some(b), Some(c), Some(d)] = [knots[0][0], knots[0][2], knots[2][0], knots[2][2]]
                && let Some(center) = knots[1][1]
                && let corners = [a, b, c, d].map(|knot: Knot| knot.color)
                && is_near(corners)
                && is_same(center.color, whole.between(corners, [KNOTS[1]; 2]))
                && self.is_flat(tile, samples, only, whole)
            {
                whole.fill(corners, [0..TILE, 0..BAND_ROWS], &mut colors);
                return colors;
            }
            let at = [KNOTS[i], KNOTS[k]];
            if only[at[1] * TILE + at[0]] != NOTHING {
                let seen = self.seen_in(tile, samples, only, at);
                let lit = self.lights.key_light(&seen.at, &self.shadow);
                knots[k][i] = Some(Knot { color: self.color(&seen, lit), lit });
            }
        }
        for [i, k] in [[0, 0], [1, 0], [0, 1], [1, 1]] {
            let cell = Cell { x0: KNOTS[i], x1: KNOTS[i + 1], y0: KNOTS[k], y1: KNOTS[k + 1] };
            let corners = [knots[k][i], knots[k][i + 1], knots[k + 1][i], knots[k + 1][i + 1]];
            // The next cell has the last column or row, except at the end of the tile.
            let (columns, rows) = (cell.x0..cell.x1 + i, cell.y0..cell.y1 + k);
            if let [Some(a), Some(b), Some(c), Some(d)] = corners
                && is_near([a.color, b.color, c.color, d.color])
                && self.is_flat(tile, samples, only, cell)
            {
                cell.fill([a, b, c, d].map(|knot| knot.color), [columns, rows], &mut colors);
                continue;
            }
            let lit = self.alike(corners.map(|knot| knot.map_or(f32::NAN, |knot| knot.lit)), only, cell);
            for y in rows {
                for x in columns.clone() {
                    let source = only[y * TILE + x];
                    if source == NOTHING {
                        continue;
                    }
                    let (i, k) = (KNOTS.iter().position(|&at| at == x), KNOTS.iter().position(|&at| at == y));
                    let color = match i.zip(k).and_then(|(i, k)| knots[k][i]) {
                        Some(knot) => knot.color,
                        None => {
                            let seen = self.seen_in(tile, samples, only, [x, y]);
                            let lit = match lit {
                                Some(lit) if self.is_same_piece(only[cell.y0 * TILE + cell.x0], source) => lit,
                                _ => self.lights.key_light(&seen.at, &self.shadow),
                            };
                            self.color(&seen, lit)
                        }
                    };
                    [colors[y][0][x], colors[y][1][x], colors[y][2][x]] = color;
                }
            }
        }
        colors
    }

    /// What a pixel of a tile shows that shows one piece of a surface.
    #[inline(always)]
    fn seen_in(&self, tile: &Tile, samples: &SampleBand, only: &Sources, [x, y]: [usize; 2]) -> Seen {
        let (column, row) = (tile.columns.start + x, tile.rows.start + y);
        let source = only[y * TILE + x];
        let mixed = self.coat_of(source, &samples.source[y * self.width + column], [column, row]);
        self.seen(source, column as f32 + 0.5, row as f32 + 0.5, mixed)
    }

    /// Mean share of the key light of the corners of a cell, if they belong to one piece and are lit alike.
    #[inline(always)]
    fn alike(&self, [a, b, c, d]: [f32; 4], only: &Sources, cell: Cell) -> Option<f32> {
        let Cell { x0, x1, y0, y1 } = cell;
        let [first, others @ ..] = [[x0, y0], [x1, y0], [x0, y1], [x1, y1]].map(|[x, y]| only[y * TILE + x]);
        // Written so that missing corners are unlike.
        let is_alike = a.max(b).max(c.max(d)) - a.min(b).min(c.min(d)) < ALIKE;
        (is_alike && others.iter().all(|&other| self.is_same_piece(first, other))).then_some(0.25 * (a + b + c + d))
    }

    /// Whether the pixels of a cell show one smooth piece of a surface whose colors are smooth too.
    #[inline(always)]
    fn is_flat(&self, tile: &Tile, samples: &SampleBand, only: &Sources, cell: Cell) -> bool {
        let Cell { x0, x1, y0, y1 } = cell;
        let first = only[y0 * TILE + x0];
        if !self.is_smooth[self.prepared.triangles[first as usize].surface as usize] {
            return false;
        }
        // Most neighbors show the same triangle.
        let (mut last, mut is_alone) = (first, true);
        for y in y0..=y1 {
            for &source in &only[y * TILE + x0..=y * TILE + x1] {
                if source != last && !self.is_same_piece(first, source) {
                    return false;
                }
                is_alone &= source == first;
                last = source;
            }
        }
        if is_alone {
            return true;
        }
        // A fold may lie between two parts of a piece.
        let at = |x: usize, y: usize| y * self.width + tile.columns.start + x;
        let [a, b, c] = [at(x0, y0), at(x1, y0), at(x0, y1)].map(|i| samples.inverse_depth[i][0]);
        let (right, down) = ((b - a) / (x1 - x0) as f32, (c - a) / (y1 - y0) as f32);
        let mut worst = 0.0f32;
        for y in y0..=y1 {
            for x in x0..=x1 {
                let plane = a + right * (x - x0) as f32 + down * (y - y0) as f32;
                worst = worst.max((samples.inverse_depth[at(x, y)][0] - plane).abs());
            }
        }
        worst < ALIKE_DEPTH * a
    }
}

/// Whether colors differ so little that those between them may be interpolated.
#[inline(always)]
fn is_near([a, b, c, d]: [V3; 4]) -> bool {
    let mut is = true;
    for n in 0..3 {
        let (high, low) = (a[n].max(b[n]).max(c[n].max(d[n])), a[n].min(b[n]).min(c[n].min(d[n])));
        is &= high - low <= ALIKE_COLOR * high;
    }
    is
}

/// Whether colors look the same.
#[inline(always)]
fn is_same(a: V3, b: V3) -> bool {
    let mut is = true;
    for n in 0..3 {
        is &= (a[n] - b[n]).abs() <= SAME_COLOR * a[n];
    }
    is
}
