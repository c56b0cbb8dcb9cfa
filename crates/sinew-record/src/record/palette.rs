//! A common palette for the frames of an animation.
//!
//! Median cut over a histogram of 5-bit colors, then a few rounds of k-means. 255 colors and a faint ordered dither
//! suffice for smooth shading, with a third of the bytes of true color.

use std::sync::atomic::{AtomicU8, Ordering};

use sinew_math::parallel::prelude::*;
use sinew_raster::Image;

/// Colors of a palette; one more index is left for "transparent".
pub(crate) const COLORS: usize = 255;

/// The index of the transparent entry.
pub(crate) const TRANSPARENT: u8 = 255;

/// Bits per channel of the histogram.
const BITS: usize = 5;

/// Bits per channel of the lookup table.
const TABLE_BITS: usize = 6;

/// Colors seen so far.
pub(crate) struct Histogram {
    /// Count and sums of the three channels, per 5-bit color.
    bins: Vec<[u64; 4]>,
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram { bins: vec![[0; 4]; 1 << (3 * BITS)] }
    }

    pub fn add(&mut self, image: &Image) {
        let alpha = image.alpha.iter().copied().chain(std::iter::repeat(255));
        for (p, _) in image.pixels.chunks_exact(3).zip(alpha).filter(|(_, alpha)| *alpha > 0) {
            let shift = 8 - BITS;
            let at = (usize::from(p[0] >> shift) << (2 * BITS))
                | (usize::from(p[1] >> shift) << BITS)
                | usize::from(p[2] >> shift);
            let bin = &mut self.bins[at];
            bin[0] += 1;
            for c in 0..3 {
                bin[c + 1] += u64::from(p[c]);
            }
        }
    }

    /// Colors of several pictures.
    pub fn of(images: &[&Image]) -> Histogram {
        // A histogram takes a megabyte: a few of them.
        let few = images.par_iter().with_min_len(images.len().div_ceil(8));
        let found = few.by_block(|histogram: &mut Option<Histogram>, image| {
            histogram.get_or_insert_with(Histogram::new).add(image);
        });
        found.into_iter().flatten().reduce(Histogram::merged).unwrap_or_else(Histogram::new)
    }

    fn merged(mut self, other: Histogram) -> Histogram {
        for (bin, other) in self.bins.as_flattened_mut().iter_mut().zip(other.bins.as_flattened()) {
            *bin += other;
        }
        self
    }

    pub fn palette(&self) -> Palette {
        // Mean color and weight of every used bin. The power keeps a large background from taking all colors, but
        // leaves it enough for a gradient without steps.
        let points: Vec<([f32; 3], f32)> = self
            .bins
            .iter()
            .filter(|bin| bin[0] > 0)
            .map(|bin| {
                let mean = |c: usize| bin[c + 1] as f32 / bin[0] as f32;
                ([mean(0), mean(1), mean(2)], (bin[0] as f32).powf(0.7))
            })
            .collect();
        let mut colors = refined(median_cut(points.clone()), &points);
        colors.resize(COLORS, [0.0; 3]);
        Palette::new(colors)
    }
}

fn median_cut(points: Vec<([f32; 3], f32)>) -> Vec<[f32; 3]> {
    /// Axis with the largest spread and the weighted variance along it.
    fn spread(points: &[([f32; 3], f32)]) -> (usize, f32) {
        let weight: f32 = points.iter().map(|p| p.1).sum();
        (0..3)
            .map(|axis| {
                let mean = points.iter().map(|p| p.0[axis] * p.1).sum::<f32>() / weight;
                (axis, points.iter().map(|p| (p.0[axis] - mean).powi(2) * p.1).sum::<f32>())
            })
            .fold((0, -1.0), |best, next| if next.1 > best.1 { next } else { best })
    }
    if points.is_empty() {
        return Vec::new();
    }
    let mut boxes = vec![(spread(&points), points)];
    while boxes.len() < COLORS {
        // Split where the error is largest; the first of equals, so that the result is deterministic.
        let Some((at, _)) =
            boxes.iter().enumerate().filter(|(_, b)| b.1.len() > 1).fold(None, |best, (i, b)| match best {
                Some((_, error)) if error >= b.0.1 => best,
                _ => Some((i, b.0.1)),
            })
        else {
            break;
        };
        let ((axis, _), mut low) = boxes.swap_remove(at);
        low.sort_by(|a, b| a.0[axis].total_cmp(&b.0[axis]));
        let half = 0.5 * low.iter().map(|p| p.1).sum::<f32>();
        let mut sum = 0.0;
        let cut = low.iter().position(|p| {
            sum += p.1;
            sum > half
        });
        let high = low.split_off(cut.unwrap_or(1).clamp(1, low.len() - 1));
        boxes.push((spread(&low), low));
        boxes.push((spread(&high), high));
    }
    boxes.into_iter().map(|(_, points)| mean(&points)).collect()
}

fn mean(points: &[([f32; 3], f32)]) -> [f32; 3] {
    let weight: f32 = points.iter().map(|p| p.1).sum();
    std::array::from_fn(|c| points.iter().map(|p| p.0[c] * p.1).sum::<f32>() / weight)
}

/// Three rounds of k-means; later ones move colors by less than a byte step.
fn refined(mut colors: Vec<[f32; 3]>, points: &[([f32; 3], f32)]) -> Vec<[f32; 3]> {
    for _ in 0..3 {
        let mut sums = vec![[0.0f32; 4]; colors.len()];
        let swatches = Swatches::new(&colors);
        for (p, weight) in points {
            let sum = &mut sums[swatches.nearest(*p)];
            sum[0] += weight;
            for c in 0..3 {
                sum[c + 1] += weight * p[c];
            }
        }
        for (color, sum) in colors.iter_mut().zip(&sums).filter(|(_, sum)| sum[0] > 0.0) {
            *color = [sum[1] / sum[0], sum[2] / sum[0], sum[3] / sum[0]];
        }
    }
    colors
}

/// Colors in blocks, component by component: their distances to a color are computed block by block.
struct Swatches(Vec<[[f32; LANES]; 3]>);

/// Colors of a block.
const LANES: usize = 8;

impl Swatches {
    fn new(colors: &[[f32; 3]]) -> Swatches {
        // What is missing in the last block is infinitely far.
        let color = |i: usize, c: usize| colors.get(i).map_or(f32::INFINITY, |color| color[c]);
        let block = |k: usize| std::array::from_fn(|c| std::array::from_fn(|i| color(k * LANES + i, c)));
        Swatches((0..colors.len().div_ceil(LANES)).map(block).collect())
    }

    /// Number of the color nearest to `p`, the first of equals.
    fn nearest(&self, p: [f32; 3]) -> usize {
        let (mut best, mut number) = ([f32::INFINITY; LANES], [0usize; LANES]);
        for (k, [red, green, blue]) in self.0.iter().enumerate() {
            for i in 0..LANES {
                let (r, g, b) = (red[i] - p[0], green[i] - p[1], blue[i] - p[2]);
                // Green counts most to the eye, blue least.
                let d = 2.0 * (r * r) + 4.0 * (g * g) + b * b;
                let is_nearer = d < best[i];
                best[i] = if is_nearer { d } else { best[i] };
                number[i] = if is_nearer { k * LANES + i } else { number[i] };
            }
        }
        let all = best.into_iter().zip(number);
        all.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map_or(0, |(_, number)| number)
    }
}

/// A palette with a table from 6-bit colors to indices, filled as colors come up: pictures have few.
pub(crate) struct Palette {
    pub colors: Vec<[f32; 3]>,
    swatches: Swatches,
    table: Vec<AtomicU8>,
}

/// An entry of the table that is not filled; the nearest color is never the transparent one.
const UNKNOWN: u8 = TRANSPARENT;

impl Palette {
    fn new(colors: Vec<[f32; 3]>) -> Palette {
        let table = (0..1 << (3 * TABLE_BITS)).map(|_| AtomicU8::new(UNKNOWN)).collect();
        Palette { swatches: Swatches::new(&colors), colors, table }
    }

    /// The color nearest to a 6-bit color.
    fn look_up(&self, code: usize) -> u8 {
        let known = self.table[code].load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let side = 1usize << TABLE_BITS;
        let step = 256.0 / side as f32;
        let channel = |k: usize| ((code >> (k * TABLE_BITS)) % side) as f32 * step + 0.5 * step - 0.5;
        let index = self.swatches.nearest([channel(2), channel(1), channel(0)]) as u8;
        self.table[code].store(index, Ordering::Relaxed);
        index
    }

    /// Bytes of the PLTE chunk, including the transparent entry.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.colors.iter().flatten().map(|&c| c.round().clamp(0.0, 255.0) as u8).collect();
        bytes.extend([0, 0, 0]);
        bytes
    }

    /// Index of the color at column `x` of row `y`. The dither depends only on the position, so static parts do not
    /// flicker.
    pub fn index(&self, color: [u8; 3], x: usize, y: usize) -> u8 {
        /// Bayer's 4 × 4 matrix, in sixteenths.
        const BAYER: [[i32; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];
        // ±3 of 255: about the distance between neighboring colors of a typical palette.
        let shift = (BAYER[y % 4][x % 4] * 7) / 16 - 3;
        let channel = |c: u8| ((i32::from(c) + shift).clamp(0, 255) as usize) >> (8 - TABLE_BITS);
        self.look_up((channel(color[0]) << (2 * TABLE_BITS)) | (channel(color[1]) << TABLE_BITS) | channel(color[2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colors_are_kept_exactly() {
        let mut image = Image::filled(8, 8, [200, 30, 60]);
        image.pixels[..96].copy_from_slice(&[10, 240, 90].repeat(32));
        let mut histogram = Histogram::new();
        histogram.add(&image);
        let bytes = histogram.palette().bytes();
        assert_eq!(bytes.len(), 3 * 256);
        for color in [[200, 30, 60], [10, 240, 90]] {
            assert!(bytes.chunks_exact(3).any(|c| c == color), "{color:?} is in the palette");
        }
    }

    /// A smooth gray ramp is reproduced to a few byte steps: spacing of the palette plus the dither.
    #[test]
    fn ramp_is_reproduced_closely() {
        let pixels = (0..256 * 64).flat_map(|i| [(i % 256) as u8; 3]).collect();
        let image = Image::new(256, 64, pixels);
        let mut histogram = Histogram::new();
        histogram.add(&image);
        let palette = histogram.palette();
        let bytes = palette.bytes();
        for v in 0..256usize {
            let index = usize::from(palette.index([v as u8; 3], v, 3));
            assert!((i32::from(bytes[3 * index]) - v as i32).abs() <= 8);
        }
    }
}
