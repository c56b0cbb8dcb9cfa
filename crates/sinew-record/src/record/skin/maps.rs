//! Wrinkle and stretch maps: how the skin of a character is strained, at its vertices and as images on its texture
//! coordinates.
//!
//! With the principal stretches σ₁ ≥ σ₂ of the skin against rest, a map has
//! ```math
//! \text{wrinkle} = \frac{1/\sigma_2 - 1}{r}, \qquad \text{stretch} = \frac{\sigma_1 - 1}{r},
//! ```
//! both cut to 0 … 1, where r is the strain at which they are full. Values of triangles are averaged by area at vertices,
//! over seams of texture coordinates.

use std::collections::HashMap;
use std::path::PathBuf;

use sinew_fem::RecordError;
use sinew_math::Vec3;
use sinew_rig::Source;
use sinew_scene::output::{file_stem, maps_folder};
use sinew_scene::spec::record::{self, SkinTextures};

use super::SkinRecorder;
use crate::record::atomic::write_file;
use crate::strain::strain;

/// Pixels by which the colors go on beyond the borders of the texture, so that filtering finds no gap at seams.
const PADDING: usize = 8;

/// Strain at a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct VertexStrain {
    /// Principal stretches, the larger first.
    pub stretches: [f64; 2],
    /// Area divided by that at rest.
    pub area: f64,
    /// Along which the skin is compressed, where it is: unit length, either sign.
    pub direction: Vec3,
}

impl VertexStrain {
    /// Wrinkle and stretch, 0 to 1.
    pub fn levels(&self, full: f64) -> [f32; 2] {
        let [largest, smallest] = self.stretches;
        let level = |strain: f64| (strain / full).clamp(0.0, 1.0) as f32;
        [level(1.0 / smallest.max(f64::MIN_POSITIVE) - 1.0), level(largest - 1.0)]
    }
}

/// The maps of a character.
pub(super) struct SkinMaps {
    settings: record::SkinMaps,
    /// Whether this recorder writes images: only one of several files of a character does.
    with_images: bool,
    /// Triangles of all pieces: the points at their corners, their corners at rest, and areas.
    triangles: Vec<([u32; 3], [Vec3; 3], f64)>,
    /// For each piece the point of each vertex: copies along seams are one point.
    point_of: Vec<Vec<u32>>,
    /// A piece and vertex of each point.
    members: Vec<(u32, u32)>,
    /// Largest wrinkle and stretch so far, by point.
    peak: Vec<[f32; 2]>,
    files: Vec<PathBuf>,
}

impl SkinRecorder {
    /// Adds maps to the files of this recorder.
    pub fn with_maps(mut self, settings: record::SkinMaps, with_images: bool) -> Self {
        let (flesh, rig) = (&self.character.flesh, &self.character.rig);
        let mut points: HashMap<(usize, u32), u32> = HashMap::new();
        let (mut point_of, mut members, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
        for (k, piece) in flesh.pieces.iter().enumerate() {
            let point = |(vertex, source): (usize, &Source)| {
                let key = match source {
                    Source::Flesh(of_flesh) => (usize::MAX, *of_flesh),
                    _ => (k, vertex as u32),
                };
                *points.entry(key).or_insert_with(|| {
                    members.push((k as u32, vertex as u32));
                    members.len() as u32 - 1
                })
            };
            let of_piece: Vec<u32> = piece.vertices.iter().enumerate().map(point).collect();
            for triangle in super::triangles(rig, piece) {
                let corners = triangle.map(|v| self.stand.to_scene(piece.vertices[v as usize].rest(&flesh.surface)));
                let [a, b, c] = corners;
                let area = 0.5 * (b - a).cross(c - a).norm();
                triangles.push((triangle.map(|v| of_piece[v as usize]), corners, area));
            }
            point_of.push(of_piece);
        }
        let peak = vec![[0.0; 2]; members.len()];
        self.maps = Some(SkinMaps { settings, with_images, triangles, point_of, members, peak, files: Vec::new() });
        self
    }
}

impl SkinMaps {
    /// The strain at all vertices, piece by piece, and its share in the peak.
    pub fn strains(&mut self, placed: &[Vec<Vec3>]) -> Vec<Vec<VertexStrain>> {
        let places: Vec<Vec3> =
            self.members.iter().map(|&(piece, vertex)| placed[piece as usize][vertex as usize]).collect();
        let mut sums = vec![(VertexStrain::default(), 0.0); places.len()];
        for &(points, rest, area) in &self.triangles {
            let Some(found) = strain(rest, points.map(|p| places[p as usize])) else { continue };
            let [largest, smallest] = found.stretches;
            for point in points {
                let (sum, weight) = &mut sums[point as usize];
                sum.stretches = [sum.stretches[0] + area * largest, sum.stretches[1] + area * smallest];
                sum.area += area * largest * smallest;
                let pressed = area * (1.0 - smallest).max(0.0);
                let sign = if sum.direction.dot(found.shortest) < 0.0 { -1.0 } else { 1.0 };
                sum.direction += found.shortest * (sign * pressed);
                *weight += area;
            }
        }
        let mean = |(sum, weight): (VertexStrain, f64)| {
            if !(weight > 0.0) {
                return VertexStrain { stretches: [1.0; 2], area: 1.0, direction: Vec3::zero() };
            }
            let length = sum.direction.norm();
            VertexStrain {
                stretches: sum.stretches.map(|x| x / weight),
                area: sum.area / weight,
                direction: if length > 0.0 { sum.direction / length } else { Vec3::zero() },
            }
        };
        let strains: Vec<VertexStrain> = sums.into_iter().map(mean).collect();
        for (peak, strain) in self.peak.iter_mut().zip(&strains) {
            let now = strain.levels(self.settings.full);
            *peak = [0, 1].map(|k| peak[k].max(now[k]));
        }
        let of_piece = |points: &Vec<u32>| points.iter().map(|&point| strains[point as usize]).collect();
        self.point_of.iter().map(of_piece).collect()
    }

    /// The strain at which the maps are full.
    pub fn full(&self) -> f64 {
        self.settings.full
    }

    /// The peaks of wrinkle and stretch at the vertices of a piece.
    pub fn peaks(&self, piece: usize) -> Vec<[f32; 2]> {
        self.point_of[piece].iter().map(|&point| self.peak[point as usize]).collect()
    }

    /// Whether every whole frame has its images.
    pub fn has_frames(&self) -> bool {
        self.with_images && self.settings.textures == SkinTextures::Frames
    }

    /// Whether there are images of the peaks.
    pub fn has_peaks(&self) -> bool {
        self.with_images && self.settings.textures == SkinTextures::Peak
    }

    /// The images so far.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl SkinRecorder {
    /// Writes the images of all pieces with texture coordinates, of levels by piece and vertex. `frame` is in their names.
    pub(super) fn write_images(&mut self, levels: &[Vec<[f32; 2]>], frame: Option<f64>) -> Result<(), RecordError> {
        let Some(size) = self.maps.as_ref().map(|maps| maps.settings.size) else { return Ok(()) };
        let folder = self.path.with_file_name(maps_folder(&self.path));
        for (k, piece) in self.character.flesh.pieces.iter().enumerate() {
            let Some(places) = self.part(piece).texcoords.first() else { continue };
            let name = file_stem(&self.names[k], k);
            let name = match frame {
                Some(frame) => format!("{name}_{:04}.png", frame.round()),
                None => format!("{name}.png"),
            };
            let image = Image::of(size, places, &self.triangles(piece), &levels[k]);
            let path = folder.join(name);
            write_file(&path, &image.encode())?;
            if let Some(maps) = &mut self.maps {
                maps.files.push(path);
            }
        }
        Ok(())
    }
}

/// Two numbers per pixel, where there are any.
struct Image {
    size: usize,
    pixels: Vec<Option<[f32; 2]>>,
}

impl Image {
    /// Levels of vertices, interpolated over their triangles on the texture, with v downward. Beyond the image it repeats.
    fn of(size: usize, places: &[[f32; 2]], triangles: &[[u32; 3]], levels: &[[f32; 2]]) -> Self {
        let mut image = Self { size, pixels: vec![None; size * size] };
        for triangle in triangles {
            let corners = triangle.map(|v| places[v as usize].map(|x| f64::from(x) * size as f64 - 0.5));
            let [a, b, c] = corners;
            let double = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
            if !(double.abs() > 0.0 && double.is_finite()) {
                continue;
            }
            let span = |axis: usize| {
                let all = corners.map(|corner| corner[axis]);
                let [low, high] = [
                    all.iter().copied().fold(f64::INFINITY, f64::min),
                    all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                ];
                // No more than the whole image, however far a texture repeats.
                let first = low.ceil() as i64;
                first..=(high.floor() as i64).min(first + size as i64 - 1)
            };
            for y in span(1) {
                for x in span(0) {
                    let (px, py) = (x as f64, y as f64);
                    let part =
                        |p: [f64; 2], q: [f64; 2]| ((p[0] - px) * (q[1] - py) - (p[1] - py) * (q[0] - px)) / double;
                    let weights = [part(b, c), part(c, a), part(a, b)];
                    if weights.iter().any(|weight| *weight < -1e-9) {
                        continue;
                    }
                    let value = |k: usize| -> f32 {
                        triangle.iter().zip(weights).map(|(&v, w)| levels[v as usize][k] * w as f32).sum()
                    };
                    let at = |i: i64| i.rem_euclid(size as i64) as usize;
                    image.pixels[at(y) * size + at(x)] = Some([value(0), value(1)]);
                }
            }
        }
        image.pad();
        image
    }

    /// Empty pixels beside others take their mean, ring by ring.
    fn pad(&mut self) {
        let size = self.size;
        let mut border: Vec<usize> = (0..size * size).filter(|&i| self.pixels[i].is_none()).collect();
        for _ in 0..PADDING {
            let mean = |&i: &usize| {
                let (x, y) = (i % size, i / size);
                let (mut sum, mut count) = ([0.0f32; 2], 0.0f32);
                for j in y.saturating_sub(1)..=(y + 1).min(size - 1) {
                    for value in
                        self.pixels[j * size + x.saturating_sub(1)..=j * size + (x + 1).min(size - 1)].iter().flatten()
                    {
                        sum = [sum[0] + value[0], sum[1] + value[1]];
                        count += 1.0;
                    }
                }
                (count > 0.0).then(|| (i, sum.map(|x| x / count)))
            };
            let filled: Vec<(usize, [f32; 2])> = border.iter().filter_map(mean).collect();
            if filled.is_empty() {
                break;
            }
            filled.iter().for_each(|&(i, value)| self.pixels[i] = Some(value));
            border.retain(|&i| self.pixels[i].is_none());
        }
    }

    /// A PNG file of linear values: red is wrinkle, green stretch; clear where the texture is not used.
    fn encode(&self) -> Vec<u8> {
        let byte = |x: f32| (255.0 * x).round() as u8;
        let pixel = |pixel: &Option<[f32; 2]>| {
            pixel.map_or([0; 4], |[wrinkle, stretch]| [byte(wrinkle), byte(stretch), 0, 255])
        };
        let rgba: Vec<u8> = self.pixels.iter().flat_map(pixel).collect();
        let mut bytes = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut bytes, self.size as u32, self.size as u32);
        encoder.set_color(::png::ColorType::Rgba);
        encoder.set_depth(::png::BitDepth::Eight);
        let result = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&rgba)?;
            writer.finish()
        });
        debug_assert!(result.is_ok(), "an image in memory has a size and the right number of bytes");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_zero_at_rest_and_full_where_asked() {
        let at = |stretches: [f64; 2]| VertexStrain { stretches, ..VertexStrain::default() }.levels(0.5);
        assert_eq!(at([1.0, 1.0]), [0.0, 0.0]);
        assert_eq!(at([1.25, 0.8]), [0.5, 0.5]);
        assert_eq!(at([3.0, 0.0]), [1.0, 1.0]);
        assert_eq!(at([0.9, 0.9])[1], 0.0);
    }

    /// Two triangles that fill the left half of the texture, one value at each corner: linear between, and padded to the
    /// right by eight pixels.
    #[test]
    fn images_are_linear_in_triangles_and_go_on_beyond_borders() {
        let places = [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]];
        let levels = [[0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]];
        let image = Image::of(64, &places, &[[0, 1, 2], [0, 2, 3]], &levels);
        for y in 0..64 {
            for x in 0..64 {
                let pixel = image.pixels[64 * y + x];
                match x {
                    0..32 => {
                        let [wrinkle, stretch] = pixel.unwrap();
                        assert!(
                            (f64::from(wrinkle) - (x as f64 + 0.5) / 32.0).abs() < 1e-5 && stretch == 1.0,
                            "{x} {y}"
                        );
                    }
                    32..40 => assert!(pixel.unwrap()[0] > 0.95, "{x} {y}"),
                    _ => assert_eq!(pixel, None, "{x} {y}"),
                }
            }
        }
        // A tile further: the same image.
        let beyond = places.map(|[u, v]| [u + 3.0, v - 2.0]);
        let again = Image::of(64, &beyond, &[[0, 1, 2], [0, 2, 3]], &levels);
        assert!(image.pixels.iter().zip(&again.pixels).all(|(a, b)| a.is_some() == b.is_some()));
        assert!(crate::costume::pixels(&image.encode()).is_ok());
    }
}
