//! Lines over a picture, hidden where a surface covers them.

use sinew_raster::{Camera, Image};

/// Style of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen {
    pub color: [u8; 3],
    /// \[pixels\]
    pub width: f32,
    /// 0 invisible, 1 opaque.
    pub opacity: f32,
}

/// A point on the screen: column, row, 1/depth.
type Screen = [f32; 3];

/// Projection and depth of a picture.
pub(crate) struct Lines {
    camera: Camera,
    focal: f32,
    near: f32,
    width: usize,
    height: usize,
    /// Nearest surface per pixel as 1/depth; 0 where there is none.
    inverse_depth: Vec<f32>,
}

/// A line behind the surface by less than this fraction of its depth counts as on it.
const SLACK: f32 = 4e-3;

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Lines {
    /// Lines for a picture with this camera and size.
    pub fn new(camera: &Camera, width: usize, height: usize) -> Lines {
        let to_target = sub(camera.target, camera.eye);
        Lines {
            camera: *camera,
            focal: 0.5 * height as f32 / (0.5 * camera.field_of_view).tan(),
            near: (1e-3 * dot(to_target, to_target).sqrt()).max(1e-9),
            width,
            height,
            inverse_depth: vec![0.0; width * height],
        }
    }

    /// The position of a point on the screen; `None` behind the camera.
    fn project(&self, p: [f32; 3]) -> Option<Screen> {
        let basis = self.camera.basis();
        let [x, y, depth] = basis.to_camera(p);
        if !(depth > self.near && x.is_finite() && y.is_finite()) {
            return None;
        }
        let inverse = 1.0 / depth;
        let (u, v) = (self.focal * x * inverse, self.focal * y * inverse);
        Some([0.5 * self.width as f32 + u, 0.5 * self.height as f32 - v, inverse])
    }

    /// Stores the depth of the surface in each pixel.
    pub fn cover(&mut self, points: &[[f32; 3]], triangles: &[[u32; 3]]) {
        let screen: Vec<Option<Screen>> = points.iter().map(|&p| self.project(p)).collect();
        for t in triangles {
            if let [Some(a), Some(b), Some(c)] = t.map(|v| screen[v as usize]) {
                self.cover_triangle([a, b, c]);
            }
        }
    }

    fn cover_triangle(&mut self, [a, b, c]: [Screen; 3]) {
        let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if !(area.abs() > 1e-12) {
            return;
        }
        let low = |i: usize| a[i].min(b[i]).min(c[i]);
        let high = |i: usize| a[i].max(b[i]).max(c[i]);
        let range = |i: usize, size: usize| {
            let first = (low(i) - 0.5).ceil().clamp(0.0, size as f32) as usize;
            first..((high(i) + 0.5).floor().clamp(0.0, size as f32) as usize)
        };
        for y in range(1, self.height) {
            for x in range(0, self.width) {
                let p = [x as f32 + 0.5, y as f32 + 0.5];
                let part = |q: Screen, r: Screen| (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
                let weights = [part(b, c) / area, part(c, a) / area, part(a, b) / area];
                if weights.iter().all(|w| *w >= -1e-4) {
                    let depth = weights[0] * a[2] + weights[1] * b[2] + weights[2] * c[2];
                    let at = y * self.width + x;
                    self.inverse_depth[at] = self.inverse_depth[at].max(depth);
                }
            }
        }
    }

    /// Median length of the edges on the screen \[pixels\].
    pub fn typical_length(&self, points: &[[f32; 3]], edges: &[[u32; 2]]) -> f32 {
        let step = (edges.len() / 1000).max(1);
        let length = |edge: &[u32; 2]| {
            let [a, b] = edge.map(|v| self.project(points[v as usize]));
            a.zip(b).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]))
        };
        let mut lengths: Vec<f32> = edges.iter().step_by(step).filter_map(length).collect();
        lengths.sort_by(f32::total_cmp);
        lengths.get(lengths.len() / 2).copied().unwrap_or(0.0)
    }

    /// Draws the part of a segment that no surface hides.
    pub fn draw_visible(&self, image: &mut Image, ends: [[f32; 3]; 2], pen: &Pen) {
        self.draw(image, ends, pen, |at, inverse| inverse * (1.0 + SLACK) >= self.inverse_depth[at]);
    }

    /// Draws a whole segment, visible through all bodies.
    pub fn draw_through(&self, image: &mut Image, ends: [[f32; 3]; 2], pen: &Pen) {
        self.draw(image, ends, pen, |_, _| true);
    }

    fn draw(&self, image: &mut Image, ends: [[f32; 3]; 2], pen: &Pen, is_seen: impl Fn(usize, f32) -> bool) {
        let [Some(a), Some(b)] = ends.map(|p| self.project(p)) else { return };
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length_squared = dx * dx + dy * dy;
        let reach = 0.5 * pen.width + 0.5;
        // Along the longer direction, column by column or row by row: each pixel is touched once.
        let is_steep = dy.abs() > dx.abs();
        let (major, minor) = if is_steep { (1, 0) } else { (0, 1) };
        let size = [self.width as f32, self.height as f32];
        let first = (a[major].min(b[major]) - reach).floor().max(0.0) as usize;
        let last = (a[major].max(b[major]) + reach).ceil().clamp(0.0, size[major]) as usize;
        let span = (b[major] - a[major]).abs().max(1e-6);
        // Slanted lines are wider when measured along an axis, by √2 at most.
        let across = reach * 1.5 + 1.0;
        for i in first..last {
            let along = ((i as f32 + 0.5 - a[major]) / (b[major] - a[major]).signum() / span).clamp(0.0, 1.0);
            let center = a[minor] + along * (b[minor] - a[minor]);
            let low = (center - across).floor().max(0.0) as usize;
            let high = (center + across).ceil().clamp(0.0, size[minor]) as usize;
            for j in low..high {
                let (x, y) = if is_steep { (j, i) } else { (i, j) };
                let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
                let t = if length_squared > 0.0 {
                    (((px - a[0]) * dx + (py - a[1]) * dy) / length_squared).clamp(0.0, 1.0)
                } else {
                    0.0
                };
                let distance = (px - a[0] - t * dx).hypot(py - a[1] - t * dy);
                let coverage = (reach - distance).clamp(0.0, 1.0);
                if coverage > 0.0 && is_seen(y * self.width + x, a[2] + t * (b[2] - a[2])) {
                    image.blend(x as i64, y as i64, pen.color, coverage * pen.opacity);
                }
            }
        }
    }

    /// Draws rings around points; points close together in the picture share one.
    pub fn rings(&self, image: &mut Image, places: &[[f32; 3]], radius: f32, pen: &Pen) {
        let mut drawn: Vec<[f32; 2]> = Vec::new();
        for &place in places {
            let Some([cx, cy, _]) = self.project(place) else { continue };
            let is_near = drawn.iter().any(|[x, y]| (x - cx).hypot(y - cy) < radius);
            if is_near || !(cx.abs() < 1e6 && cy.abs() < 1e6) {
                continue;
            }
            drawn.push([cx, cy]);
            let reach = (radius + pen.width + 1.0).ceil();
            for y in (cy - reach) as i64..=(cy + reach) as i64 {
                for x in (cx - reach) as i64..=(cx + reach) as i64 {
                    let distance = (x as f32 + 0.5 - cx).hypot(y as f32 + 0.5 - cy);
                    let coverage = (0.5 * pen.width + 0.5 - (distance - radius).abs()).clamp(0.0, 1.0);
                    image.blend(x, y, pen.color, coverage * pen.opacity);
                }
            }
        }
    }
}
