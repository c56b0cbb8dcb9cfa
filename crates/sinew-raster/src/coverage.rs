//! Visibility: the triangle seen through each sample of a band of rows.
//!
//! Triangles are projected to (x, y, 1/depth), where 1/depth is affine on the screen, and tested at eight positions per
//! pixel with edge functions E(x, y) = A x + B y + C. Two triangles that share an edge compute it with exactly opposite
//! signs, so a closed surface shows no cracks; samples on the edge go to the nearer triangle, and to the first of two
//! equals.

use super::camera::{Camera, CameraBasis};
use super::scene::Prepared;
use super::vector::{V3, dot, lerp, mad, sub};

/// Samples per pixel.
pub(crate) const SAMPLES: usize = 8;

/// Sample positions inside a pixel: eight queens, so that near-vertical and near-horizontal edges get eight gray
/// levels.
pub(crate) const OFFSETS: [[f32; 2]; SAMPLES] = [
    [1.0 / 16.0, 7.0 / 16.0],
    [3.0 / 16.0, 13.0 / 16.0],
    [5.0 / 16.0, 3.0 / 16.0],
    [7.0 / 16.0, 9.0 / 16.0],
    [9.0 / 16.0, 15.0 / 16.0],
    [11.0 / 16.0, 1.0 / 16.0],
    [13.0 / 16.0, 11.0 / 16.0],
    [15.0 / 16.0, 5.0 / 16.0],
];

/// No triangle at this sample.
pub(crate) const NOTHING: u32 = u32::MAX;

/// A camera with derived values for a picture of a given size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projection {
    pub basis: CameraBasis,
    /// Pixels per unit of x/depth.
    pub focal: f32,
    /// Center of the picture \[pixels\].
    pub middle: [f32; 2],
    /// Nothing nearer than this is drawn \[m\].
    pub near: f32,
}

impl Projection {
    pub fn new(camera: &Camera, width: usize, height: usize) -> Projection {
        let half_angle = 0.5 * camera.field_of_view.clamp(0.01, 3.0);
        let focal = 0.5 * height as f32 / half_angle.tan();
        let distance = super::vector::norm(super::vector::sub(camera.target, camera.eye));
        Projection {
            basis: camera.basis(),
            focal,
            middle: [0.5 * width as f32, 0.5 * height as f32],
            near: (1e-3 * distance).max(1e-9),
        }
    }

    /// Direction of sight through a point of the screen, with depth component 1.
    #[inline(always)]
    pub fn ray(&self, x: f32, y: f32) -> V3 {
        let (u, v) = ((x - self.middle[0]) / self.focal, (self.middle[1] - y) / self.focal);
        mad(mad(self.basis.forward, self.basis.right, u), self.basis.up, v)
    }

    fn to_screen(self, [x, y, depth]: V3) -> V3 {
        let inverse = 1.0 / depth;
        [self.middle[0] + self.focal * x * inverse, self.middle[1] - self.focal * y * inverse, inverse]
    }
}

/// A triangle on the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScreenTriangle {
    /// (x, y, 1/depth) of the corners.
    corners: [V3; 3],
    /// Index into [`Prepared::triangles`].
    source: u32,
}

/// Rows of pixels that one task covers and shades: few enough that its samples stay in the cache.
pub(crate) const BAND_ROWS: usize = 8;

/// Pixels of a band that are handled together: `BAND_ROWS` rows of so many columns.
pub(crate) const TILE: usize = 8;

/// Projected triangles and, for each band of rows, those that may touch it: first those that look toward the camera, in
/// scene order, then the others.
pub(crate) struct Binned {
    pub triangles: Vec<ScreenTriangle>,
    pub bands: Vec<Vec<u32>>,
}

pub(crate) fn project(prepared: &Prepared, projection: &Projection, width: usize, height: usize) -> Binned {
    let in_camera: Vec<V3> = prepared.positions.iter().map(|&p| projection.basis.to_camera(p)).collect();
    let mut binned = Binned { triangles: Vec::new(), bands: vec![Vec::new(); height.div_ceil(BAND_ROWS)] };
    let looks_here = |source: usize| {
        let a = prepared.positions[prepared.triangles[source].corners[0] as usize];
        dot(sub(a, projection.basis.eye), prepared.face_normals[source]) < 0.0
    };
    let (here, away): (Vec<usize>, Vec<usize>) = (0..prepared.triangles.len()).partition(|&source| looks_here(source));
    for source in here.into_iter().chain(away) {
        let corners = prepared.triangles[source].corners.map(|v| in_camera[v as usize]);
        let (polygon, count) = clip_near(corners, projection.near);
        for i in 2..count {
            let corners = [polygon[0], polygon[i - 1], polygon[i]].map(|p| projection.to_screen(p));
            binned.push(ScreenTriangle { corners, source: source as u32 }, width, height);
        }
    }
    binned
}

impl Binned {
    fn push(&mut self, triangle: ScreenTriangle, width: usize, height: usize) {
        let [a, b, c] = triangle.corners;
        let low = |i: usize| a[i].min(b[i]).min(c[i]);
        let high = |i: usize| a[i].max(b[i]).max(c[i]);
        // Comparisons are written so that NaN fails them.
        let visible = high(0) >= 0.0 && low(0) <= width as f32 && high(1) >= 0.0 && low(1) <= height as f32;
        if !visible {
            return;
        }
        let number = self.triangles.len() as u32;
        self.triangles.push(triangle);
        let first = (low(1).max(0.0) as usize / BAND_ROWS).min(self.bands.len() - 1);
        let last = (high(1).min(height as f32 - 1.0).max(0.0) as usize / BAND_ROWS).min(self.bands.len() - 1);
        self.bands[first..=last].iter_mut().for_each(|band| band.push(number));
    }
}

/// The part of a triangle in camera coordinates beyond the near plane: up to four corners.
fn clip_near(corners: [V3; 3], near: f32) -> ([V3; 4], usize) {
    let mut polygon = [[0.0; 3]; 4];
    if corners.iter().all(|p| p[2] >= near) {
        polygon[..3].copy_from_slice(&corners);
        return (polygon, 3);
    }
    let mut count = 0;
    for i in 0..3 {
        let (p, q) = (corners[i], corners[(i + 1) % 3]);
        if p[2] >= near {
            polygon[count] = p;
            count += 1;
        }
        if (p[2] >= near) != (q[2] >= near) {
            // From the visible end in both neighbors of the edge, so that they cut it at the same bits.
            let (inside, outside) = if p[2] >= near { (p, q) } else { (q, p) };
            polygon[count] = lerp(inside, outside, (inside[2] - near) / (inside[2] - outside[2]));
            count += 1;
        }
    }
    (polygon, count)
}

/// Samples of one band: nearest 1/depth and triangle.
#[derive(Default)]
pub(crate) struct SampleBand {
    pub inverse_depth: Vec<[f32; SAMPLES]>,
    pub source: Vec<[u32; SAMPLES]>,
    /// Least 1/depth of the samples of each pixel: what is farther changes nothing there.
    farthest: Vec<f32>,
    /// For each tile whether triangles may touch it; samples of other tiles are out of date.
    pub is_touched: Vec<bool>,
}

impl SampleBand {
    /// Covers `rows` rows from `first_row` on with the triangles of the band.
    #[inline(always)]
    pub fn cover(&mut self, binned: &Binned, band: usize, width: usize, rows: usize) {
        self.inverse_depth.resize(width * rows, [0.0; SAMPLES]);
        self.source.resize(width * rows, [NOTHING; SAMPLES]);
        self.farthest.resize(width * rows, 0.0);
        self.is_touched.clear();
        self.is_touched.resize(width.div_ceil(TILE), false);
        for &number in &binned.bands[band] {
            self.draw(&binned.triangles[number as usize], band * BAND_ROWS, width, rows);
        }
    }

    /// Clears the tiles from column `x0` to `x1` that nothing has touched yet.
    #[inline(always)]
    fn touch(&mut self, x0: usize, x1: usize, width: usize, rows: usize) {
        for tile in x0 / TILE..=x1 / TILE {
            if !std::mem::replace(&mut self.is_touched[tile], true) {
                for row in 0..rows {
                    let columns = row * width + tile * TILE..row * width + ((tile + 1) * TILE).min(width);
                    self.inverse_depth[columns.clone()].fill([0.0; SAMPLES]);
                    self.source[columns.clone()].fill([NOTHING; SAMPLES]);
                    self.farthest[columns].fill(0.0);
                }
            }
        }
    }

    #[inline(always)]
    fn draw(&mut self, triangle: &ScreenTriangle, first_row: usize, width: usize, rows: usize) {
        let [a, mut b, mut c] = triangle.corners;
        let mut area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if area < 0.0 {
            (b, c, area) = (c, b, -area);
        }
        // A sliver without area covers no sample; NaN ends here too.
        if area.is_nan() || area <= 0.0 {
            return;
        }
        let edges = [edge(b, c), edge(c, a), edge(a, b)];
        // 1/depth = w0 + gx (x − ax) + gy (y − ay), clamped to the corners because gradients of slivers are unreliable.
        let (d1, d2) = (b[2] - a[2], c[2] - a[2]);
        let gx = (d1 * (c[1] - a[1]) - d2 * (b[1] - a[1])) / area;
        let gy = (d2 * (b[0] - a[0]) - d1 * (c[0] - a[0])) / area;
        let (nearest, farthest) = (a[2].max(b[2]).max(c[2]), a[2].min(b[2]).min(c[2]));

        let inverse_depth = |x: f32, y: f32| {
            let w = a[2] + gx * (x - a[0]) + gy * (y - a[1]);
            // One instruction each, unlike `min` and `max`, which look for NaN.
            let w = if w < nearest { w } else { nearest };
            if w > farthest { w } else { farthest }
        };

        let column = |x: f32| x.clamp(0.0, width as f32 - 1.0) as usize;
        let row = |y: f32| (y - first_row as f32).clamp(0.0, rows as f32 - 1.0) as usize;
        let (x0, x1) = (column(a[0].min(b[0]).min(c[0])), column(a[0].max(b[0]).max(c[0])));
        let (y0, y1) = (row(a[1].min(b[1]).min(c[1])), row(a[1].max(b[1]).max(c[1])));
        self.touch(x0, x1, width, rows);
        // Offsets of the edge values within a pixel, the same for every pixel.
        let mut inside = [[0.0f32; SAMPLES]; 3];
        let mut reach = [0.0f32; 3];
        // Least offset of an edge value within a pixel: where even this is inside, all samples are.
        let mut least = [f32::INFINITY; 3];
        for i in 0..3 {
            let [ea, eb, _] = edges[i];
            reach[i] = ea.max(0.0) + eb.max(0.0);
            for s in 0..SAMPLES {
                inside[i][s] = ea * OFFSETS[s][0] + eb * OFFSETS[s][1];
                least[i] = least[i].min(inside[i][s]);
            }
        }
        // Where an edge function plus its reach is not negative, columns lie on one side of a line x = at + by (y − ay).
        let corners = [b, c, a];
        let mut lines = [[0.0f32; 2]; 3];
        for i in 0..3 {
            let [ea, eb, _] = edges[i];
            lines[i] = [corners[i][0] - reach[i] / ea, -eb / ea];
        }
        for y in y0..=y1 {
            let py = (first_row + y) as f32;
            let (mut left, mut right) = (x0 as f32, x1 as f32);
            for i in 0..3 {
                let at = lines[i][0] + lines[i][1] * (py - corners[i][1]);
                // A column of allowance for rounding; level edges have infinities or NaN here, which bound nothing.
                let (low, high) = (at - 1.0, at + 1.0);
                left = if edges[i][0] > 0.0 && low > left { low } else { left };
                right = if edges[i][0] < 0.0 && high < right { high } else { right };
            }
            if left > right {
                continue;
            }
            for x in left as usize..=(right as usize).min(x1) {
                // Most of what looks away is hidden.
                if nearest <= self.farthest[y * width + x] {
                    continue;
                }
                let px = x as f32;
                let value = |e: &[f32; 3]| e[0] * px + e[1] * py + e[2];
                let at = [value(&edges[0]), value(&edges[1]), value(&edges[2])];
                if at[0] + reach[0] < 0.0 || at[1] + reach[1] < 0.0 || at[2] + reach[2] < 0.0 {
                    continue;
                }
                let (depths, sources) = (&mut self.inverse_depth[y * width + x], &mut self.source[y * width + x]);
                if at[0] + least[0] >= 0.0 && at[1] + least[1] >= 0.0 && at[2] + least[2] >= 0.0 {
                    for s in 0..SAMPLES {
                        let w = inverse_depth(px + OFFSETS[s][0], py + OFFSETS[s][1]);
                        let is_nearer = w > depths[s];
                        depths[s] = if is_nearer { w } else { depths[s] };
                        sources[s] = if is_nearer { triangle.source } else { sources[s] };
                    }
                    // All samples are at least as near as the farthest corner of the pixel.
                    let bound =
                        inverse_depth(px + if gx > 0.0 { 0.0 } else { 1.0 }, py + if gy > 0.0 { 0.0 } else { 1.0 });
                    let known = &mut self.farthest[y * width + x];
                    *known = if bound > *known { bound } else { *known };
                    continue;
                }
                for s in 0..SAMPLES {
                    let covered =
                        (at[0] + inside[0][s] >= 0.0) & (at[1] + inside[1][s] >= 0.0) & (at[2] + inside[2][s] >= 0.0);
                    let w = inverse_depth(px + OFFSETS[s][0], py + OFFSETS[s][1]);
                    let is_nearer = covered & (w > depths[s]);
                    depths[s] = if is_nearer { w } else { depths[s] };
                    sources[s] = if is_nearer { triangle.source } else { sources[s] };
                }
                self.farthest[y * width + x] = least_of(depths);
            }
        }
    }
}

/// The least of some numbers that are not NaN, in a tree: as vectors do it.
#[inline(always)]
fn least_of(values: &[f32; SAMPLES]) -> f32 {
    let least = |a: f32, b: f32| if a < b { a } else { b };
    let [a, b, c, d, e, f, g, h] = *values;
    least(least(least(a, e), least(c, g)), least(least(b, f), least(d, h)))
}

/// Edge function through p and q; swapping p and q negates every coefficient exactly.
#[inline(always)]
fn edge(p: V3, q: V3) -> [f32; 3] {
    [p[1] - q[1], q[0] - p[0], p[0] * q[1] - p[1] * q[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finish, Rgb, ShapeMesh, Surface};

    fn covered(mesh: &ShapeMesh, camera: &Camera, size: usize) -> Vec<[u32; SAMPLES]> {
        let prepared = Prepared::new(&[Surface::solid(&mesh.positions, &mesh.triangles, Rgb([1.0; 3]), Finish::MATTE)]);
        let projection = Projection::new(camera, size, size);
        let binned = project(&prepared, &projection, size, size);
        let mut all = Vec::new();
        for band in 0..binned.bands.len() {
            let mut samples = SampleBand::default();
            let rows = BAND_ROWS.min(size - band * BAND_ROWS);
            samples.cover(&binned, band, size, rows);
            let is_touched = |i: usize| samples.is_touched[i % size / TILE];
            let seen = samples.source.iter().enumerate();
            all.extend(seen.map(|(i, &sources)| if is_touched(i) { sources } else { [NOTHING; SAMPLES] }));
        }
        all
    }

    fn camera_at(distance: f32) -> Camera {
        Camera { eye: [0.0, 0.0, distance], target: [0.0; 3], up: [0.0, 1.0, 0.0], field_of_view: 0.8 }
    }

    /// A sphere of radius r at distance d appears as a disk with tan α = r / √(d² − r²), which gives the covered
    /// fraction of the picture. One percent: 64² pixels with 8 samples and a polyhedral sphere.
    #[test]
    fn sphere_covers_the_solid_angle_it_should() {
        let (size, r, d) = (64, 1.0f32, 5.0f32);
        let samples = covered(&ShapeMesh::sphere([0.0; 3], r, 64), &camera_at(d), size);
        let hits = samples.iter().flatten().filter(|&&s| s != NOTHING).count() as f32;
        let radius_pixels = r / (d * d - r * r).sqrt() / 0.4f32.tan() * size as f32 * 0.5;
        let expected = std::f32::consts::PI * radius_pixels * radius_pixels * SAMPLES as f32;
        assert!((hits / expected - 1.0).abs() < 0.01, "{hits} samples instead of {expected}");
    }

    #[test]
    fn closed_surface_has_no_cracks() {
        // Inside the silhouette every sample must be hit, including those on edges.
        let size = 96;
        let samples = covered(&ShapeMesh::sphere([0.0; 3], 1.0, 40), &camera_at(4.0), size);
        let radius = 1.0 / 15.0f32.sqrt() / 0.4f32.tan() * size as f32 * 0.5 - 2.0;
        for (i, pixel) in samples.iter().enumerate() {
            let (x, y) = ((i % size) as f32 + 0.5 - 48.0, (i / size) as f32 + 0.5 - 48.0);
            if x * x + y * y < radius * radius {
                assert!(pixel.iter().all(|&s| s != NOTHING), "crack at {x}, {y}");
            }
        }
    }

    #[test]
    fn plane_through_the_camera_is_clipped_not_smeared() {
        // Floor one meter below a camera that looks along it: everything below the horizon and nothing above.
        let floor = ShapeMesh::patch([0.0, -1.0, 0.0], [0.0, 1.0, 0.0], 1000.0, 1);
        let size = 64;
        let samples = covered(&floor, &camera_at(5.0), size);
        let rows: Vec<bool> =
            (0..size).map(|y| samples[y * size..(y + 1) * size].iter().flatten().all(|&s| s != NOTHING)).collect();
        assert!(rows[..size / 2].iter().all(|&full| !full), "sky is free");
        assert!(rows[size / 2 + 2..].iter().all(|&full| full), "floor is filled");
    }
}
