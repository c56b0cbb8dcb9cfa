//! Range images of a scanner that turns around the head \[Chen92\]: columns are angles, rows are heights, brightness is the
//! distance from the axis.

use std::f64::consts::{FRAC_PI_2, TAU};

use png::{ColorType, Limits, Transformations};
use sinew_math::Vec3;

use crate::error::{Place, ReadError};
use crate::mesh_data::{CellShape, Field, MeshData};

/// How a scan becomes a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanOptions {
    /// Exponent of the colors: (byte / 255)^(1/γ).
    pub gamma: f64,
    /// Pixels along a row and a column that become one, by their mean.
    pub downsample: usize,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { gamma: 1.0, downsample: 1 }
    }
}

/// An image with `channels` bytes in each pixel.
pub struct Raster {
    /// Pixels along a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Numbers in a pixel.
    pub channels: usize,
    /// All of them, row by row.
    pub values: Vec<f64>,
}

/// Reads a range image and the colors beside it, both PNG files of 8 bits.
pub fn read(range: &[u8], colors: Option<&[u8]>, options: &ScanOptions) -> Result<MeshData, ReadError> {
    let range = raster(range, 1)?;
    let colors = colors.map(|bytes| raster(bytes, 3)).transpose()?;
    if let Some(colors) = colors.as_ref().filter(|colors| (colors.width, colors.height) != (range.width, range.height))
    {
        let reason = format!(
            "colors of {} x {} pixels for distances of {} x {}",
            colors.width, colors.height, range.width, range.height
        );
        return Err(ReadError::byte(0, reason));
    }
    let range = range.reduced(options.downsample);
    if range.width < 3 || range.height < 2 {
        return Err(ReadError::byte(0, format!("{} x {} pixels are left: no mesh", range.width, range.height)));
    }
    let colors = colors.map(|colors| colors.reduced(options.downsample));
    Ok(mesh(&range, colors.as_ref(), options.gamma))
}

/// Quads between pixels: z = 1 − 2 i/(height − 1), θ = π/2 + 2π j/width, r = value/255. The last column meets the first
/// one: the surface has no seam.
pub fn mesh(range: &Raster, colors: Option<&Raster>, gamma: f64) -> MeshData {
    let (width, height) = (range.width, range.height);
    let mut mesh = MeshData::default();
    for i in 0..height {
        let z = 1.0 - 2.0 * i as f64 / (height - 1) as f64;
        for j in 0..width {
            let (sine, cosine) = (FRAC_PI_2 + j as f64 * TAU / width as f64).sin_cos();
            let r = range.values[i * width + j] / 255.0;
            mesh.points.push(Vec3::new(r * cosine, r * sine, z));
        }
    }
    for i in 0..height as u32 - 1 {
        for j in 0..width as u32 {
            let (a, b) = (i * width as u32 + j, i * width as u32 + (j + 1) % width as u32);
            mesh.push_cell(CellShape::Quad4, &[a, a + width as u32, b + width as u32, b]);
        }
    }
    if let Some(colors) = colors {
        let values = colors.values.iter().map(|value| (value / 255.0).powf(1.0 / gamma).clamp(0.0, 1.0)).collect();
        mesh.point_fields.push(Field { name: "color".into(), components: 3, values });
    }
    mesh
}

impl Raster {
    /// Means over squares of pixels: far simpler than making a mesh coarser. Rests at the end of a row or column are
    /// left out.
    fn reduced(self, by: usize) -> Raster {
        if by <= 1 {
            return self;
        }
        let (width, height) = (self.width / by, self.height / by);
        let mut values = Vec::with_capacity(width * height * self.channels);
        for i in 0..height {
            for j in 0..width {
                for channel in 0..self.channels {
                    let at = |n: usize| ((i * by + n / by) * self.width + j * by + n % by) * self.channels + channel;
                    values.push((0..by * by).map(|n| self.values[at(n)]).sum::<f64>() / (by * by) as f64);
                }
            }
        }
        Raster { width, height, channels: self.channels, values }
    }
}

fn raster(bytes: &[u8], channels: usize) -> Result<Raster, ReadError> {
    let failed = |error: png::DecodingError| ReadError::byte(0, format!("an image of the scan is no PNG: {error}"));
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), Limits { bytes: 1 << 28 });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(failed)?;
    let (color, _) = reader.output_color_type();
    let found = color.samples();
    let is_wanted = if channels == 1 { color == ColorType::Grayscale } else { found >= 3 };
    if !is_wanted {
        let what = format!("an image of the scan with {found} numbers in each pixel");
        let hint = "distances are a gray image, colors are red, green and blue";
        return Err(ReadError::Unsupported { place: Place::Byte(0), what, hint });
    }
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let length = reader.output_buffer_size().filter(|length| length / 1032 <= bytes.len());
    let length = length.ok_or_else(|| ReadError::byte(bytes.len(), "an image of the scan is cut off"))?;
    let mut pixels = vec![0; length];
    reader.next_frame(&mut pixels).map_err(failed)?;
    let values = pixels.chunks_exact(found).flat_map(|pixel| &pixel[..channels]).map(|byte| f64::from(*byte)).collect();
    Ok(Raster { width, height, channels, values })
}
