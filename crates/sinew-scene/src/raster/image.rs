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
    /// A picture of one colour.
    pub fn filled(width: usize, height: usize, color: [u8; 3]) -> Image {
        Image { width, height, pixels: color.repeat(width * height) }
    }

    /// Colour of the pixel in column `x` of row `y`.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * self.width + x);
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// Mixes `color` over the pixel with weight `coverage` in 0..1; pixels outside the picture are ignored.
    pub(crate) fn blend(&mut self, x: i64, y: i64, color: [u8; 3], coverage: f32) {
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
