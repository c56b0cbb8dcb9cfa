//! Material parameters painted on a surface, as a vertex attribute or a texture, or given as a field of a volume mesh.

use std::path::Path;

use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_io::Field;
use sinew_math::Vec3;
use sinew_record::costume::pixels;

/// The attribute with the texture coordinates of a corner.
const PLACES: &str = "TEXCOORD_0";
/// Pixels more transparent than this have no value.
const OPAQUE: f64 = 0.5;

/// Sources of painted values of a body.
pub(super) struct Canvas<'a> {
    pub mesh: &'a CellMesh,
    /// The surface that was filled.
    pub surface: Option<Painting<'a>>,
}

/// A surface with fields at the corners of its triangles.
#[derive(Clone, Copy)]
pub(super) struct Painting<'a> {
    pub surface: &'a TriMesh,
    pub fields: &'a [Field],
}

impl Painting<'_> {
    /// The first component of an attribute at the surface points nearest to some points; `None` if the attribute does
    /// not exist. NaN where it has no value.
    pub fn attribute(&self, name: &str, points: &[Vec3]) -> Option<Vec<f64>> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(self.nearest(field, points).into_iter().map(|value| value[0]).collect())
    }

    /// The brightness of an image at the surface points nearest to some points, from 0 to 1. NaN where the image is
    /// transparent.
    pub fn texture(&self, path: &Path, points: &[Vec3]) -> Result<Vec<f64>, String> {
        let Some(places) = self.fields.iter().find(|field| field.name == PLACES && field.components == 2) else {
            return Err(no_places());
        };
        let picture = Picture::load(path, None)?;
        Ok(self.nearest(places, points).into_iter().map(|[u, v, _]| picture.at(u, v)).collect())
    }

    /// A component of an attribute, the first unless told otherwise, at each corner of the triangles. NaN where it has no
    /// value. `None` if the attribute does not exist or has fewer components.
    pub fn corners_of_attribute(&self, name: &str, component: Option<usize>) -> Option<Vec<f64>> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        let component = component.unwrap_or_default();
        let rows = field.values.chunks_exact(field.components);
        (component < field.components).then(|| rows.map(|row| row[component]).collect())
    }

    /// The brightness of an image, or one of its channels, at each corner of the triangles, from 0 to 1. NaN where the image
    /// is transparent.
    pub fn corners_of_texture(&self, path: &Path, channel: Option<usize>) -> Result<Vec<f64>, String> {
        let Some(places) = self.fields.iter().find(|field| field.name == PLACES && field.components == 2) else {
            return Err(no_places());
        };
        let picture = Picture::load(path, channel)?;
        Ok(places.values.as_chunks().0.iter().map(|&[u, v]| picture.at(u, v)).collect())
    }

    /// Names of all attributes.
    pub fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.name.as_str()).collect()
    }

    /// The first three components of a field at the surface points nearest to some points.
    fn nearest(&self, field: &Field, points: &[Vec3]) -> Vec<[f64; 3]> {
        let places = NearestPlaces::new(self.surface);
        let value = |point: &Vec3| {
            let Some(place) = places.to(*point) else { return [f64::NAN; 3] };
            let mut sum = [0.0; 3];
            for (corner, weight) in place.weights.into_iter().enumerate() {
                let first = (3 * place.triangle + corner) * field.components;
                for (sum, value) in sum.iter_mut().zip(&field.values[first..first + field.components]) {
                    *sum += weight * value;
                }
            }
            sum
        };
        points.iter().map(value).collect()
    }
}

impl Canvas<'_> {
    /// The value of each cell from an attribute: at the nearest point of the surface, or of the mesh itself. NaN where
    /// there is none.
    pub fn attribute(&self, name: &str) -> Result<Vec<f64>, String> {
        let (nodes, cells) = (self.mesh.node_fields(), self.mesh.cell_fields());
        if let Some(field) = nodes.get(name) {
            let value = |&node: &u32| field.values[node as usize * field.components];
            let mean = |nodes: &[u32]| nodes.iter().map(value).sum::<f64>() / nodes.len() as f64;
            return Ok(self.mesh.cells().map(|(_, nodes)| mean(nodes)).collect());
        }
        if let Some(field) = cells.get(name) {
            return Ok(field.values.iter().step_by(field.components).copied().collect());
        }
        if let Some(values) = self.surface.and_then(|painting| painting.attribute(name, &self.centers())) {
            return Ok(values);
        }
        let known: Vec<&str> = nodes
            .keys()
            .chain(cells.keys())
            .map(String::as_str)
            .chain(self.surface.iter().flat_map(Painting::names))
            .collect();
        Err(match known.is_empty() {
            true => format!("there is no attribute \"{name}\": the mesh has none"),
            false => format!("there is no attribute \"{name}\"; the mesh has {}", known.join(", ")),
        })
    }

    /// The value of each cell from the brightness of an image at the nearest point of the surface, from 0 to 1. NaN
    /// where the image is transparent.
    pub fn texture(&self, path: &Path) -> Result<Vec<f64>, String> {
        match self.surface {
            Some(painting) => painting.texture(path, &self.centers()),
            None => Err(no_places()),
        }
    }

    fn centers(&self) -> Vec<Vec3> {
        let x = self.mesh.positions();
        let center = |nodes: &[u32]| nodes.iter().map(|&n| x[n as usize]).sum::<Vec3>() / nodes.len() as f64;
        self.mesh.cells().map(|(_, nodes)| center(nodes)).collect()
    }
}

fn no_places() -> String {
    format!("a texture needs a surface with texture coordinates: a glTF file with {PLACES}")
}

/// A grayscale image with opacity.
struct Picture {
    size: [usize; 2],
    /// Brightness and opacity of the pixels, from 0 to 1.
    pixels: Vec<[f64; 2]>,
}

impl Picture {
    /// Its brightness, or one of its channels.
    fn load(path: &Path, channel: Option<usize>) -> Result<Self, String> {
        let failed = |reason: String| format!("{}: {reason}", path.display());
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let (width, height, rgba) = pixels(&bytes).map_err(failed)?;
        let part = |byte: u8| f64::from(byte) / 255.0;
        let pixel = |&[r, g, b, a]: &[u8; 4]| match channel {
            // Opacity that is painted is no hole.
            Some(3) => [part(a), 1.0],
            Some(channel) => [part([r, g, b][channel]), part(a)],
            None => [[r, g, b].iter().map(|&c| f64::from(c)).sum::<f64>() / (3.0 * 255.0), part(a)],
        };
        Ok(Self { size: [width, height], pixels: rgba.as_chunks().0.iter().map(pixel).collect() })
    }

    /// Brightness at (u, v), with v downward, interpolated between the centers of pixels. Beyond the image it repeats;
    /// at its edges it does not blend with the other side. NaN where it is transparent.
    fn at(&self, u: f64, v: f64) -> f64 {
        if !(u.is_finite() && v.is_finite()) {
            return f64::NAN;
        }
        let place = [u, v].map(|x| if (0.0..=1.0).contains(&x) { x } else { x - x.floor() });
        let [x, y] = [0, 1].map(|axis| place[axis] * self.size[axis] as f64 - 0.5);
        let (mut sum, mut opacity) = (0.0, 0.0);
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let along = |at: f64, step: i64, size: usize| {
                let weight = if step == 1 { at - at.floor() } else { 1.0 - (at - at.floor()) };
                ((at.floor() as i64 + step).clamp(0, size as i64 - 1) as usize, weight)
            };
            let ((i, wx), (j, wy)) = (along(x, dx, self.size[0]), along(y, dy, self.size[1]));
            let [brightness, opaque] = self.pixels[j * self.size[0] + i];
            sum += wx * wy * opaque * brightness;
            opacity += wx * wy * opaque;
        }
        if opacity < OPAQUE { f64::NAN } else { sum / opacity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_read_between_their_pixels() {
        let picture = Picture { size: [2, 1], pixels: vec![[0.0, 1.0], [1.0, 1.0]] };
        for (u, value) in [(0.25, 0.0), (0.5, 0.5), (0.75, 1.0), (0.0, 0.0), (1.0, 1.0), (-0.75, 0.0), (1.6, 0.7)] {
            assert!((picture.at(u, 0.3) - value).abs() < 1e-12, "{u}");
        }
        let hole = Picture { size: [2, 1], pixels: vec![[0.0, 0.0], [1.0, 1.0]] };
        assert!(hole.at(0.3, 0.0).is_nan() && hole.at(0.7, 0.0) == 1.0 && hole.at(f64::NAN, 0.0).is_nan());
    }
}
