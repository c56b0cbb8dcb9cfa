//! An 8-bit sRGB picture in memory.

/// Rows from the top, three bytes (red, green, blue, sRGB) per pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `3 · width · height` bytes.
    pub pixels: Vec<u8>,
}

impl Image {
    /// A picture of one color.
    pub fn filled(width: usize, height: usize, color: [u8; 3]) -> Image {
        Image { width, height, pixels: color.repeat(width * height) }
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
        for row in &rows {
            for column in &columns {
                let mut sum = [0.0f32; 3];
                let mut total = 0.0;
                for &(y, wy) in row {
                    for &(x, wx) in column {
                        let at = 3 * (y * self.width + x);
                        for c in 0..3 {
                            sum[c] += wx * wy * f32::from(self.pixels[at + c]);
                        }
                        total += wx * wy;
                    }
                }
                pixels.extend(sum.map(|s| (s / total).round() as u8));
            }
        }
        Image { width, height, pixels }
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
        let at = 3 * (y as usize * self.width + x as usize);
        for c in 0..3 {
            let old = f32::from(self.pixels[at + c]);
            self.pixels[at + c] = (old + (f32::from(color[c]) - old) * coverage.min(1.0)).round() as u8;
        }
    }
}

/// For each of `to` equal parts of a line of `from` pixels, the pixels it touches and their weights.
fn spans(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
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
        let image = Image { width: 240, height: 6, pixels: (0..240 * 6).flat_map(|i| [(i % 240) as u8; 3]).collect() };
        for (width, height) in [(180, 4), (120, 3), (7, 1), (240, 6)] {
            let small = image.shrunk(width, height);
            assert_eq!(small.pixels.len(), 3 * width * height);
            let mean = small.pixels.iter().map(|&c| f64::from(c)).sum::<f64>() / small.pixels.len() as f64;
            assert!((mean - 119.5).abs() <= 0.5, "{width} x {height}: {mean}");
        }
    }
}
