//! Ambient light: the fraction of the sky that a point sees.
//!
//! ```math
//! A(p, n) = \frac{\sum_d V(p, d)\, w(n \cdot d)}{\sum_d w(n \cdot d)}
//! ```
//!
//! over evenly spread directions d of the upper half space, with the visibility V from one small depth map per
//! direction. It is evaluated at vertices and on a grid of the ground and interpolated, so it costs little and varies
//! smoothly with the mesh.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::prelude::*;

use super::camera::{Bounds, UpAxis};
use super::scene::Prepared;
use super::shadow::{DepthMap, LANES};
use super::vector::{V3, dot, mad};

/// Number of directions of the sky, for small and for large pictures; after interpolation, more make no visible
/// difference.
const DIRECTIONS: [usize; 2] = [18, 32];
const MAX_DIRECTIONS: usize = 32;

/// Texels per side of each depth map, for small and for large pictures.
const MAP_SIZE: [usize; 2] = [64, 96];

/// Points per side of the ground grid, for small and for large pictures.
const GRID: [usize; 2] = [48, 112];

/// Pictures of more pixels per side are large.
const SMALL: usize = 512;

/// Fraction of light that arrives at grazing and slightly hidden angles: sky light scatters in skin and dust.
const WRAP: f32 = 0.2;

/// Ambient light of a view.
pub(crate) struct Occlusion {
    /// Per corner of every triangle, 0..1.
    pub corners: Vec<[f32; 3]>,
    ground: GroundGrid,
}

impl Occlusion {
    /// `side` is the longer side of the picture \[pixels\].
    pub fn new(prepared: &Prepared, up: UpAxis, ground: Option<f32>, side: usize) -> Occlusion {
        let size = usize::from(side > SMALL);
        let directions = sky(up, DIRECTIONS[size]);
        let maps: Vec<DepthMap> = directions.par_iter().map(|&d| DepthMap::new(prepared, d, MAP_SIZE[size])).collect();
        let points: Vec<(V3, V3)> =
            prepared.positions.iter().copied().zip(prepared.vertex_normals.iter().copied()).collect();
        // An offset of two texels along the normal clears the vertex's own faces.
        let visible = visibility(&maps, &points, 2.0);
        let at_vertices: Vec<f32> = visible
            .par_iter()
            .zip(&points)
            .map(|(visible, (_, normal))| gather(&directions, visible, *normal))
            .collect();
        let corner = |v: u32, normal: V3| {
            // Only at creases the normals of the corners of a vertex differ.
            let v = v as usize;
            if normal == points[v].1 { at_vertices[v] } else { gather(&directions, &visible[v], normal) }
        };
        let corners = prepared
            .triangles
            .par_iter()
            .zip(&prepared.corner_normals)
            .map(|(t, normals)| std::array::from_fn(|i| corner(t.corners[i], normals[i])))
            .collect();
        let ground = GroundGrid::new(&prepared.bounds, up, ground, GRID[size], &directions, &maps);
        Occlusion { corners, ground }
    }

    /// Ambient light under an open sky: faces that point up see all of it.
    pub fn open_sky(prepared: &Prepared, up: UpAxis) -> Occlusion {
        let upwards = up.direction();
        let light = |n: V3| (0.5 + 0.5 * dot(n, upwards)).clamp(0.0, 1.0).sqrt();
        let corners = prepared.corner_normals.iter().map(|normals| normals.map(light)).collect();
        Occlusion { corners, ground: GroundGrid::new(&prepared.bounds, up, None, 0, &[], &[]) }
    }

    /// Sides of the ground that bodies dim, beyond which a point of the ground lies: one bit each.
    #[inline(always)]
    pub fn sides_beyond(&self, p: V3) -> u8 {
        self.ground.sides_beyond(p)
    }

    /// Ambient light on the ground below or at `p`.
    #[inline(always)]
    pub fn on_ground(&self, p: V3) -> f32 {
        self.ground.at(p)
    }
}

/// Number of points per map in one pass: one map fits in the cache, all of them do not.
const CHUNK: usize = 512;

/// Visibility of the sky's directions from points with normals, offset by `texels` of the maps along the normal.
fn visibility(maps: &[DepthMap], points: &[(V3, V3)], texels: f32) -> Vec<[f32; MAX_DIRECTIONS]> {
    let mut visible = vec![[0.0; MAX_DIRECTIONS]; points.len()];
    let chunks = visible.par_chunks_mut(CHUNK).zip(points.par_chunks(CHUNK));
    chunks.for_each(|(visible, points)| dispatch(Visibility { maps, points, texels, visible }));
    visible
}

/// Visibility of the directions of some maps from some points.
struct Visibility<'a> {
    maps: &'a [DepthMap],
    points: &'a [(V3, V3)],
    texels: f32,
    visible: &'a mut [[f32; MAX_DIRECTIONS]],
}

impl LaneKernel for Visibility<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (k, map) in self.maps.iter().enumerate() {
            let by = self.texels * map.texel();
            for (visible, points) in self.visible.chunks_mut(LANES).zip(self.points.chunks(LANES)) {
                let lit = map.lit(&offset(points, |point| point.0, |point| point.1, by));
                for (out, lit) in visible.iter_mut().zip(lit) {
                    out[k] = lit;
                }
            }
        }
    }
}

/// Ambient light at points with one normal.
struct Gathered<'a> {
    maps: &'a [DepthMap],
    directions: &'a [V3],
    points: &'a [V3],
    normal: V3,
    /// Offset along the normal.
    texels: f32,
    values: &'a mut [f32],
}

impl LaneKernel for Gathered<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut total = 0.0;
        for (map, &direction) in self.maps.iter().zip(self.directions) {
            let weight = weight(self.normal, direction);
            total += weight;
            for (values, points) in self.values.chunks_mut(LANES).zip(self.points.chunks(LANES)) {
                let lit = map.lit(&offset(points, |&p| p, |_| self.normal, self.texels * map.texel()));
                for (value, lit) in values.iter_mut().zip(lit) {
                    *value += weight * lit;
                }
            }
        }
        self.values.iter_mut().for_each(|value| *value = if total > 1e-6 { *value / total } else { 0.0 });
    }
}

/// A block of points, moved along their normals; the last block repeats its last point.
#[inline(always)]
fn offset<P>(points: &[P], at: impl Fn(&P) -> V3, normal: impl Fn(&P) -> V3, by: f32) -> [V3; LANES] {
    let mut block = [[0.0; 3]; LANES];
    for (i, out) in block.iter_mut().enumerate() {
        let point = &points[i.min(points.len() - 1)];
        *out = mad(at(point), normal(point), by);
    }
    block
}

/// Weight of the light from a direction on a face.
#[inline(always)]
fn weight(normal: V3, direction: V3) -> f32 {
    (dot(normal, direction) * (1.0 - WRAP) + WRAP).max(0.0)
}

fn gather(directions: &[V3], visible: &[f32; MAX_DIRECTIONS], n: V3) -> f32 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (&d, v) in directions.iter().zip(visible) {
        let w = weight(n, d);
        sum += w * v;
        total += w;
    }
    // A face that points straight down sees no sky.
    if total > 1e-6 { sum / total } else { 0.0 }
}

/// Fibonacci points on the upper hemisphere, from just above the horizon.
fn sky(up: UpAxis, count: usize) -> Vec<V3> {
    let golden = std::f32::consts::PI * (3.0 - 5.0f32.sqrt());
    let axis = up.index();
    (0..count)
        .map(|i| {
            // Equal steps of height are equal areas of the sphere (Archimedes). 0.06: below 3.5° maps only see
            // themselves.
            let z = 0.06 + 0.94 * (i as f32 + 0.5) / count as f32;
            let r = (1.0 - z * z).max(0.0).sqrt();
            let (sin, cos) = (i as f32 * golden).sin_cos();
            let mut d = [0.0; 3];
            d[axis] = z;
            d[(axis + 1) % 3] = r * cos;
            d[(axis + 2) % 3] = r * sin;
            d
        })
        .collect()
}

/// Ambient light on a rectangle of the ground below the bodies; 1 outside.
struct GroundGrid {
    axes: [usize; 2],
    min: [f32; 2],
    /// Grid steps per meter.
    scale: [f32; 2],
    /// Points per side.
    side: usize,
    values: Vec<f32>,
}

impl GroundGrid {
    fn new(
        bounds: &Bounds,
        up: UpAxis,
        ground: Option<f32>,
        side: usize,
        directions: &[V3],
        maps: &[DepthMap],
    ) -> GroundGrid {
        let axes = [(up.index() + 1) % 3, (up.index() + 2) % 3];
        let Some(level) = ground.filter(|_| !bounds.is_empty()) else {
            return GroundGrid { axes, min: [0.0; 2], scale: [0.0; 2], side, values: Vec::new() };
        };
        // Low directions cast ambient shadows about as far as one body height; beyond, they are too faint to see.
        let height = (bounds.max[up.index()] - level).clamp(0.05 * bounds.radius(), 4.0 * bounds.radius());
        let (min, max) = (axes.map(|a| bounds.min[a] - 1.5 * height), axes.map(|a| bounds.max[a] + 1.5 * height));
        let scale: [f32; 2] = std::array::from_fn(|i| (side - 1) as f32 / (max[i] - min[i]));
        let normal = up.direction();
        let points: Vec<V3> = (0..side * side)
            .map(|i| {
                let mut p = [0.0; 3];
                p[up.index()] = level;
                p[axes[0]] = min[0] + (i % side) as f32 / scale[0];
                p[axes[1]] = min[1] + (i / side) as f32 / scale[1];
                p
            })
            .collect();
        let mut values = vec![0.0; points.len()];
        let chunks = values.par_chunks_mut(CHUNK).zip(points.par_chunks(CHUNK));
        chunks
            .for_each(|(values, points)| dispatch(Gathered { maps, directions, points, normal, texels: 0.5, values }));
        // Each direction casts a faint shadow with its own edge: blur the edges, keep the depth.
        let values = blurred(&blurred(&values, side, 1, side), side, side, 1);
        GroundGrid { axes, min, scale, side, values }
    }

    #[inline(always)]
    fn sides_beyond(&self, p: V3) -> u8 {
        if self.values.is_empty() {
            return u8::MAX;
        }
        let x = (p[self.axes[0]] - self.min[0]) * self.scale[0];
        let y = (p[self.axes[1]] - self.min[1]) * self.scale[1];
        let end = (self.side - 1) as f32;
        u8::from(x < 0.0) | u8::from(x > end) << 1 | u8::from(y < 0.0) << 2 | u8::from(y > end) << 3
    }

    #[inline(always)]
    fn at(&self, p: V3) -> f32 {
        if self.values.is_empty() {
            return 1.0;
        }
        let x = (p[self.axes[0]] - self.min[0]) * self.scale[0];
        let y = (p[self.axes[1]] - self.min[1]) * self.scale[1];
        let end = (self.side - 1) as f32;
        // Fades to full light at the border, and is full outside.
        let border = x.min(y).min(end - x).min(end - y);
        if border.is_nan() || border <= 0.0 {
            return 1.0;
        }
        let (i, k) = ((x as usize).min(self.side - 2), (y as usize).min(self.side - 2));
        let (fx, fy) = (x - i as f32, y - k as f32);
        let at = |i: usize, k: usize| self.values[k * self.side + i];
        let below = at(i, k) * (1.0 - fx) + at(i + 1, k) * fx;
        let above = at(i, k + 1) * (1.0 - fx) + at(i + 1, k + 1) * fx;
        let inside = below * (1.0 - fy) + above * fy;
        1.0 + (inside - 1.0) * (border / 12.0).min(1.0)
    }
}

/// Binomial blur of the ground grid along one axis.
fn blurred(values: &[f32], side: usize, along: usize, across: usize) -> Vec<f32> {
    const KERNEL: [f32; 5] = [70.0 / 256.0, 56.0 / 256.0, 28.0 / 256.0, 8.0 / 256.0, 1.0 / 256.0];
    let mut to = vec![0.0; values.len()];
    for line in 0..side {
        let at = |i: usize| values[line * across + i.min(side - 1) * along];
        for i in 0..side {
            let sides = (1..KERNEL.len()).map(|k| KERNEL[k] * (at(i.saturating_sub(k)) + at(i + k)));
            to[line * across + i * along] = KERNEL[0] * at(i) + sides.sum::<f32>();
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finish, Rgb, ShapeMesh, Surface};

    /// The top of a single sphere sees the whole sky; the ground under it sees less than the ground far away.
    #[test]
    fn contact_is_darker_than_open_ground() {
        let mesh = ShapeMesh::sphere([0.0, 1.0, 0.0], 1.0, 32);
        let prepared = Prepared::new(&[Surface::solid(&mesh.positions, &mesh.triangles, Rgb([1.0; 3]), Finish::MATTE)]);
        let occlusion = Occlusion::new(&prepared, UpAxis::Y, Some(0.0), 1024);
        let contact = occlusion.on_ground([0.1, 0.0, 0.1]);
        assert!(contact < 0.25, "contact {contact}");
        assert!(occlusion.on_ground([50.0, 0.0, 0.0]) == 1.0);
        // A cosine-weighted cap of the sky: a sphere resting at horizontal distance x hides more, the nearer it is.
        let ring: Vec<f32> = (1..8).map(|i| occlusion.on_ground([0.5 * i as f32, 0.0, 0.0])).collect();
        assert!(ring.windows(2).all(|w| w[1] >= w[0] - 0.02), "{ring:?}");
        for (t, corners) in prepared.triangles.iter().zip(&occlusion.corners) {
            for (&v, &sky) in t.corners.iter().zip(corners) {
                if prepared.positions[v as usize][1] > 1.9 {
                    assert!(sky > 0.97, "top sees {sky}");
                }
            }
        }
    }

    #[test]
    fn sky_directions_are_unit_and_above_the_horizon() {
        for up in [UpAxis::X, UpAxis::Y, UpAxis::Z] {
            for d in sky(up, 32) {
                assert!((dot(d, d) - 1.0).abs() < 1e-5 && dot(d, up.direction()) > 0.0);
            }
        }
    }
}
