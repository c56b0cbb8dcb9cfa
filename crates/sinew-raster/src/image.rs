//! An 8-bit sRGB picture in memory.

/// Rows from the top, three bytes (red, green, blue, sRGB) per pixel, and perhaps how opaque each pixel is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `3 · width · height` bytes.
    pub pixels: Vec<u8>,
    /// Opacity of each pixel, 0 clear to 255 opaque; empty if all pixels are opaque. Colors are not multiplied by it.
    pub alpha: Vec<u8>,
}

impl Image {
    /// An opaque picture of `3 · width · height` bytes.
    pub fn new(width: usize, height: usize, pixels: Vec<u8>) -> Image {
        Image { width, height, pixels, alpha: Vec::new() }
    }

    /// A picture of one color.
    pub fn filled(width: usize, height: usize, color: [u8; 3]) -> Image {
        Image::new(width, height, color.repeat(width * height))
    }

    /// Four bytes per pixel: red, green, blue, opacity.
    pub fn rgba(&self) -> Vec<u8> {
        let alpha = self.alpha.iter().copied().chain(std::iter::repeat(255));
        self.pixels.chunks_exact(3).zip(alpha).flat_map(|(p, alpha)| [p[0], p[1], p[2], alpha]).collect()
    }

    /// The picture in front of a plain color: opaque.
    #[must_use]
    pub fn over(mut self, color: [u8; 3]) -> Image {
        for (pixel, alpha) in self.pixels.chunks_exact_mut(3).zip(std::mem::take(&mut self.alpha)) {
            let share = f32::from(alpha) / 255.0;
            for (own, back) in pixel.iter_mut().zip(color) {
                *own = (f32::from(*own) * share + f32::from(back) * (1.0 - share)).round() as u8;
            }
        }
        self
    }

    /// Color of the pixel in column `x` of row `y`.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * self.width + x);
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// The picture shrunk to `width` × `height`: each new pixel is the mean of the area it covers.
    pub fn shrunk(&self, width: usize, height: usize) -> Image {
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let rows = spans(self.height, height);
        let columns = spans(self.width, width);
        let mut pixels = Vec::with_capacity(3 * width * height);
        let mut alpha = Vec::new();
        for row in &rows {
            for column in &columns {
                // Clear pixels have no color to give.
                let mut sum = [0.0f32; 3];
                let (mut seen, mut total) = (0.0, 0.0);
                for &(y, wy) in row {
                    for &(x, wx) in column {
                        let at = y * self.width + x;
                        let weight = wx * wy * self.alpha.get(at).map_or(1.0, |&alpha| f32::from(alpha) / 255.0);
                        for c in 0..3 {
                            sum[c] += weight * f32::from(self.pixels[3 * at + c]);
                        }
                        seen += weight;
                        total += wx * wy;
                    }
                }
                pixels.extend(sum.map(|s| if seen > 0.0 { (s / seen).round() as u8 } else { 0 }));
                if !self.alpha.is_empty() {
                    alpha.push((255.0 * seen / total).round() as u8);
                }
            }
        }
        Image { width, height, pixels, alpha }
    }

    /// Like [`Image::shrunk`], without a copy if the size is right.
    pub fn into_shrunk(self, [width, height]: [usize; 2]) -> Image {
        if (width, height) == (self.width, self.height) { self } else { self.shrunk(width, height) }
    }

    /// Blends `color` over the pixel with weight `coverage` in 0..1; pixels outside the picture are ignored.
    pub fn blend(&mut self, x: i64, y: i64, color: [u8; 3], coverage: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 || coverage <= 0.0 {
            return;
        }
        let pixel = y as usize * self.width + x as usize;
        let mut weight = coverage.min(1.0);
        if let Some(alpha) = self.alpha.get_mut(pixel) {
            // Porter and Duff's "over": what shines through the new color is as opaque as it was.
            let old = f32::from(*alpha) / 255.0;
            let new = weight + old * (1.0 - weight);
            weight /= new;
            *alpha = (255.0 * new).round() as u8;
        }
        let at = 3 * pixel;
        for c in 0..3 {
            let old = f32::from(self.pixels[at + c]);
            self.pixels[at + c] = (old + (f32::from(color[c]) - old) * weight).round() as u8;
        }
    }
}

/// For each of `to` equal parts of a line of `from` pixels, the pixels it touches and their weights.
pub(crate) fn spans(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
    let step = from as f64 / to.max(1) as f64;
    (0..to)
        .map(|i| {
            let (start, end) = (i as f64 * step, (i + 1) as f64 * step);
            let last = (end.ceil() as usize).clamp(1, from);
            ((start as usize).min(last - 1)..last)
                .map(|k| (k, (end.min((k + 1) as f64) - start.max(k as f64)).max(1e-6) as f32))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shrinking keeps the mean: a ramp of 0..=239 has the mean 119.5 at every size. Half a step for rounding.
    #[test]
    fn shrinking_keeps_the_mean() {
        let image = Image::new(240, 6, (0..240 * 6).flat_map(|i| [(i % 240) as u8; 3]).collect());
        for (width, height) in [(180, 4), (120, 3), (7, 1), (240, 6)] {
            let small = image.shrunk(width, height);
            assert_eq!(small.pixels.len(), 3 * width * height);
            let mean = small.pixels.iter().map(|&c| f64::from(c)).sum::<f64>() / small.pixels.len() as f64;
            assert!((mean - 119.5).abs() <= 0.5, "{width} x {height}: {mean}");
        }
    }

    /// "Over" is associative: drawing on clear paper and laying it on white is drawing on white. A byte step of rounding.
    #[test]
    fn drawing_on_clear_paper_is_drawing() {
        let clear = Image { alpha: vec![0; 4], ..Image::filled(2, 2, [9; 3]) };
        let mut drawn = [clear, Image::filled(2, 2, [255; 3])];
        for image in &mut drawn {
            image.blend(0, 0, [200, 30, 40], 0.5);
            image.blend(0, 0, [10, 30, 240], 0.25);
            image.blend(1, 1, [10, 30, 240], 1.0);
        }
        let [clear, white] = drawn;
        assert_eq!(clear.alpha, [160, 0, 0, 255]);
        assert_eq!(clear.rgba()[12..], [10, 30, 240, 255]);
        let small = clear.shrunk(1, 1);
        assert!((i32::from(small.alpha[0]) - (160 + 255) / 4).abs() <= 1);
        let flat = clear.over([255; 3]);
        assert!(flat.alpha.is_empty());
        for (a, b) in flat.pixels.iter().zip(&white.pixels) {
            assert!(a.abs_diff(*b) <= 1, "{:?} {:?}", flat.pixels, white.pixels);
        }
    }
}
