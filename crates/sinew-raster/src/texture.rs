//! Color images on surfaces, filtered so that films do not flicker.
//!
//! An image keeps copies of half its size, and half of that, down to one texel, each averaged in linear light. A pixel
//! reads the copies whose texels are as large as the pixel on the surface: bilinear within a copy, linear between two.
//! At a slant a pixel is long and narrow there, and several reads along it keep the image sharp across. Reference:
//! Williams, "Pyramidal parametrics" (1983).

use std::sync::{Arc, OnceLock};

use sinew_math::parallel::prelude::*;

use super::color::{linear_from_srgb, srgb_from_linear};
use super::image::spans;
use super::vector::V3;

/// An image continues beyond its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// As itself, again and again.
    #[default]
    Repeat,
    /// As its mirror image, and that one's.
    Mirror,
    /// With the color of its edge.
    Clamp,
}

impl Wrap {
    /// The texel for any integer along a side of `size` texels.
    fn texel(self, at: i64, size: usize) -> usize {
        let size = size as i64;
        let inside = match self {
            Wrap::Repeat => at.rem_euclid(size),
            Wrap::Clamp => at.clamp(0, size - 1),
            Wrap::Mirror => {
                let at = at.rem_euclid(2 * size);
                at.min(2 * size - 1 - at)
            }
        };
        inside as usize
    }
}

/// One size of an image, rows from the top: four bytes per texel, sRGB and opacity.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Level {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

/// An image with its smaller copies. A copy of a texture shares its memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Texture {
    levels: Arc<Vec<Level>>,
}

impl std::fmt::Debug for Texture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Texture({:?})", self.size())
    }
}

/// Most reads along a long and narrow pixel.
const MAX_READS: f32 = 4.0;

/// Entries of the table from linear light to sRGB: a step is less than one byte value of a dark color.
const ENCODED: usize = 1 << 14;

impl Texture {
    /// An image of four bytes per texel, sRGB and opacity, row by row from the top; `None` if their number is not
    /// `4 · width · height`, or zero.
    ///
    /// It is halved until it has at most `most` texels.
    pub fn new(width: usize, height: usize, bytes: Vec<u8>, most: usize) -> Option<Texture> {
        let count = width.checked_mul(height).and_then(|texels| texels.checked_mul(4));
        if bytes.is_empty() || count != Some(bytes.len()) {
            return None;
        }
        let mut top = Level { width, height, bytes };
        while top.width * top.height > most.max(1) {
            top = top.halved();
        }
        let mut levels = vec![top];
        while let Some(last) = levels.last().filter(|last| last.width * last.height > 1) {
            let next = last.halved();
            levels.push(next);
        }
        Some(Texture { levels: Arc::new(levels) })
    }

    /// Width and height of the largest size \[texels\].
    pub fn size(&self) -> [usize; 2] {
        [self.levels[0].width, self.levels[0].height]
    }

    /// Linear color and opacity around `at`, averaged over a pixel: `steps` are the changes of `at` from one pixel to the
    /// next, to the right and down. (0, 0) is the upper left corner of the image, (1, 1) the lower right one.
    pub fn sample(&self, at: [f32; 2], steps: [[f32; 2]; 2], wrap: [Wrap; 2]) -> [f32; 4] {
        let size = self.size().map(|side| side as f32);
        let length = |step: [f32; 2]| (step[0] * size[0]).hypot(step[1] * size[1]);
        let lengths = steps.map(length);
        let coarsest = (self.levels.len() - 1) as f32;
        let is_wider = lengths[0] >= lengths[1];
        let (long, short) = if is_wider { (lengths[0], lengths[1]) } else { (lengths[1], lengths[0]) };
        if !long.is_finite() {
            return self.between_levels(at, coarsest, wrap);
        }
        let reads = (long / short.max(1e-6)).clamp(1.0, MAX_READS).round();
        let level = (long / reads).max(1.0).log2().min(coarsest);
        if reads < 1.5 || level >= coarsest {
            return self.between_levels(at, level, wrap);
        }
        let along = if is_wider { steps[0] } else { steps[1] };
        let mut sum = [0.0; 4];
        for read in 0..reads as usize {
            let offset = (read as f32 + 0.5) / reads - 0.5;
            let color = self.between_levels([at[0] + offset * along[0], at[1] + offset * along[1]], level, wrap);
            sum.iter_mut().zip(color).for_each(|(sum, c)| *sum += c / reads);
        }
        sum
    }

    fn between_levels(&self, at: [f32; 2], level: f32, wrap: [Wrap; 2]) -> [f32; 4] {
        let below = level.floor();
        let share = level - below;
        let fine = self.levels[below as usize].bilinear(at, wrap);
        match self.levels.get(below as usize + 1).filter(|_| share > 0.0) {
            Some(level) => {
                let coarse = level.bilinear(at, wrap);
                std::array::from_fn(|c| fine[c] + (coarse[c] - fine[c]) * share)
            }
            None => fine,
        }
    }
}

impl Level {
    /// Colors are exact at the centers of texels, and linear in between.
    fn bilinear(&self, at: [f32; 2], wrap: [Wrap; 2]) -> [f32; 4] {
        let decode = bytes_to_linear();
        // Texel and share of the next one, along each side.
        let place = |axis: usize, size: usize| {
            let x = if at[axis].is_finite() { at[axis] * size as f32 - 0.5 } else { 0.0 };
            let below = x.floor();
            let texel = |offset: i64| wrap[axis].texel((below as i64).saturating_add(offset), size);
            (texel(0), texel(1), x - below)
        };
        let (left, right, x) = place(0, self.width);
        let (top, bottom, y) = place(1, self.height);
        let texels = self.bytes.as_chunks::<4>().0;
        let mut sum = [0.0; 4];
        for (column, row, weight) in [
            (left, top, (1.0 - x) * (1.0 - y)),
            (right, top, x * (1.0 - y)),
            (left, bottom, (1.0 - x) * y),
            (right, bottom, x * y),
        ] {
            let [r, g, b, alpha] = texels[row * self.width + column];
            let color = [decode[r as usize], decode[g as usize], decode[b as usize], f32::from(alpha) / 255.0];
            sum.iter_mut().zip(color).for_each(|(sum, c)| *sum += weight * c);
        }
        sum
    }

    /// Half as wide and high, at least one texel; each new texel is the mean of the area it covers.
    fn halved(&self) -> Level {
        let (width, height) = ((self.width / 2).max(1), (self.height / 2).max(1));
        let (rows, columns) = (spans(self.height, height), spans(self.width, width));
        let (decode, encode) = (bytes_to_linear(), linear_to_bytes());
        let texels = self.bytes.as_chunks::<4>().0;
        let mut bytes = vec![0; 4 * width * height];
        bytes.par_chunks_mut(4 * width).zip(&rows).for_each(|(out, row)| {
            for (texel, column) in out.as_chunks_mut::<4>().0.iter_mut().zip(&columns) {
                let (mut sum, mut total) = ([0.0f32; 4], 0.0f32);
                for &(y, wy) in row {
                    for &(x, wx) in column {
                        let [r, g, b, alpha] = texels[y * self.width + x];
                        let color = [decode[r as usize], decode[g as usize], decode[b as usize], f32::from(alpha)];
                        sum.iter_mut().zip(color).for_each(|(sum, c)| *sum += wx * wy * c);
                        total += wx * wy;
                    }
                }
                let [r, g, b, alpha] = sum.map(|c| c / total);
                let byte = |c: f32| encode[(c * (ENCODED - 1) as f32).round() as usize % ENCODED];
                *texel = [byte(r), byte(g), byte(b), alpha.round() as u8];
            }
        });
        Level { width, height, bytes }
    }
}

fn bytes_to_linear() -> &'static [f32; 256] {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|byte| linear_from_srgb(byte as f32 / 255.0)))
}

fn linear_to_bytes() -> &'static [u8] {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let byte = |i: usize| (srgb_from_linear(i as f32 / (ENCODED - 1) as f32) * 255.0).round() as u8;
        (0..ENCODED).map(byte).collect()
    })
}

/// One material of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Pigment {
    /// Linear color, which multiplies the image.
    pub color: [f32; 3],
    /// Image, if there is one.
    pub texture: Option<Texture>,
    /// How the image continues to the sides, and up and down.
    pub wrap: [Wrap; 2],
}

impl Pigment {
    /// One linear color.
    pub fn plain(color: [f32; 3]) -> Pigment {
        Pigment { color, texture: None, wrap: [Wrap::Repeat; 2] }
    }
}

/// Material and image coordinates of a triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoatTriangle {
    /// Index into [`Coat::pigments`].
    pub pigment: u32,
    /// Image coordinates of the corners, downward from the upper left corner of the image. They belong to corners, not
    /// vertices: a closed surface has seams.
    pub coordinates: [[f32; 2]; 3],
}

/// Materials of a surface, triangle by triangle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coat {
    /// The materials.
    pub pigments: Vec<Pigment>,
    /// One entry per triangle.
    pub triangles: Vec<CoatTriangle>,
    /// Linear colors at the corners of all triangles, which multiply the materials; empty if all are white.
    pub corner_colors: Vec<[[f32; 3]; 3]>,
}

impl Coat {
    /// Whether all of it has one color.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&self.pigments[..], [Pigment { texture: None, .. }]) && self.corner_colors.is_empty()
    }

    /// Linear color at a point of a triangle with barycentric `weights`. `next` gives the weights one pixel to the right
    /// and one down.
    pub(crate) fn color(&self, triangle: usize, weights: V3, next: impl Fn() -> [V3; 2]) -> V3 {
        const UNKNOWN: V3 = [0.5; 3];
        let Some(CoatTriangle { pigment, coordinates }) = self.triangles.get(triangle) else { return UNKNOWN };
        let Some(pigment) = self.pigments.get(*pigment as usize) else { return UNKNOWN };
        let mut color = pigment.color;
        if let Some(texture) = &pigment.texture {
            let at = |weights: V3| {
                [0, 1].map(|axis| (0..3).map(|corner| weights[corner] * coordinates[corner][axis]).sum::<f32>())
            };
            let here = at(weights);
            let [right, down] = next();
            let step = |to: V3| {
                let there = at(to);
                [there[0] - here[0], there[1] - here[1]]
            };
            let image = texture.sample(here, [step(right), step(down)], pigment.wrap);
            (0..3).for_each(|c| color[c] *= image[c]);
        }
        if let Some(corners) = self.corner_colors.get(triangle) {
            (0..3).for_each(|c| color[c] *= (0..3).map(|corner| weights[corner] * corners[corner][c]).sum::<f32>());
        }
        color
    }
}

#[cfg(test)]
mod tests;
