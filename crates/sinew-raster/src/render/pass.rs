//! The color of a pixel.

use super::super::backplate::{Backplate, Behind, GroundLight, LightLattice, PlatePixel};
use super::super::coverage::{NOTHING, OFFSETS, Projection, SAMPLES};
use super::super::occlusion::Occlusion;
use super::super::scene::{Paint, Prepared, Surface, Triangle};
use super::super::shade::{Backdrop, Lights, ShadePoint, display};
use super::super::shadow::SoftShadow;
use super::super::vector::{V3, add, cross, dot, each, lerp, mad, norm, scale, sub, unit_or};
use super::{Background, View};

/// The input of shading.
pub(super) struct Pass<'a> {
    pub view: &'a View<'a>,
    pub plate: Option<&'a Backplate>,
    /// Linear colors of the surfaces with one color.
    pub solid: Vec<V3>,
    /// For each surface whether colors change little from pixel to pixel.
    pub is_smooth: Vec<bool>,
    pub prepared: Prepared,
    pub projection: Projection,
    pub lights: Lights,
    pub shadow: SoftShadow,
    pub occlusion: Occlusion,
    pub backdrop: Backdrop,
    pub ground_inverse_depth: V3,
    /// Whether the ground may hide parts of bodies.
    pub has_depths: bool,
    pub width: usize,
    pub height: usize,
}

/// Samples of a pixel that see the same smooth piece of surface.
#[derive(Clone, Copy)]
struct Group {
    source: u32,
    count: u32,
    offset: [f32; 2],
}

/// Samples of a pixel.
pub(super) type Samples<'a> = (&'a [u32; SAMPLES], &'a [f32; SAMPLES]);

/// A point of a surface that a pixel shows.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// Index into [`Prepared::triangles`].
    pub source: u32,
    pub at: ShadePoint,
}

impl Pass<'_> {
    /// The color behind the bodies at any point of the screen.
    #[inline(always)]
    fn behind(&self, x: f32, y: f32, lattice: &mut LightLattice) -> V3 {
        let pixel = self.behind_bodies().pixel(x, y);
        pixel.shaded(&self.lights, self.light_behind(&pixel, [x, y], lattice))
    }

    #[inline(always)]
    fn light_behind(&self, pixel: &PlatePixel, at: [f32; 2], lattice: &mut LightLattice) -> [f32; 2] {
        if pixel.has_ground() { lattice.at(at, &self.ground_light()) } else { [1.0; 2] }
    }

    #[inline(always)]
    pub fn ground_light(&self) -> GroundLight<'_> {
        GroundLight { behind: self.behind_bodies(), shadow: &self.shadow, occlusion: &self.occlusion }
    }

    #[inline(always)]
    pub fn behind_bodies(&self) -> Behind<'_> {
        Behind { projection: &self.projection, backdrop: &self.backdrop, lights: &self.lights, height: self.height }
    }

    /// The triangle of the first sample, if all show the same piece of a surface, as in most pixels of a body.
    #[inline(always)]
    pub fn only_source(&self, at: [usize; 2], (sources, inverse_depths): Samples<'_>) -> Option<u32> {
        let first = sources[0];
        if first == NOTHING {
            return None;
        }
        // Without an early end: one comparison of vectors.
        let mut is_alone = true;
        for &source in sources {
            is_alone &= source == first;
        }
        if !is_alone {
            for &source in sources {
                if !self.is_same_piece(first, source) {
                    return None;
                }
            }
        }
        if self.has_depths {
            for (&[ox, oy], &depth) in OFFSETS.iter().zip(inverse_depths) {
                if self.is_below_ground([at[0] as f32 + ox, at[1] as f32 + oy], depth) {
                    return None;
                }
            }
        }
        Some(first)
    }

    /// The ground hides bodies below it.
    #[inline(always)]
    fn is_below_ground(&self, [x, y]: [f32; 2], inverse_depth: f32) -> bool {
        let [constant, per_column, per_row] = self.ground_inverse_depth;
        constant + per_column * x + per_row * y > inverse_depth * (1.0 + 1e-4)
    }

    /// Color and opacity of a pixel whose samples differ.
    #[inline(always)]
    pub fn mixed_pixel(
        &self,
        at: [usize; 2],
        (sources, inverse_depths): Samples<'_>,
        lattice: &mut LightLattice,
    ) -> ([u8; 3], u8) {
        let [px, py] = at.map(|at| at as f32);
        let mut groups = [Group { source: NOTHING, count: 0, offset: [0.0; 2] }; SAMPLES];
        let mut used = 0;
        let mut group_of = [0; SAMPLES];
        for s in 0..SAMPLES {
            let [ox, oy] = OFFSETS[s];
            let mut source = sources[s];
            if source != NOTHING && self.is_below_ground([px + ox, py + oy], inverse_depths[s]) {
                source = NOTHING;
            }
            let known = groups[..used].iter().position(|g| self.is_same_piece(g.source, source));
            let group = known.unwrap_or_else(|| {
                groups[used].source = source;
                used += 1;
                used - 1
            });
            group_of[s] = group;
            groups[group].count += 1;
            groups[group].offset[0] += ox;
            groups[group].offset[1] += oy;
        }
        // A clear background gives no color.
        let is_clear = self.view.background == Background::Clear;
        let is_drawn = |group: &&Group| !is_clear || group.source != NOTHING;
        let drawn: u32 = groups[..used].iter().filter(is_drawn).map(|group| group.count).sum();
        let mut color = [0.0; 3];
        for (number, group) in groups[..used].iter().enumerate().filter(|(_, group)| is_drawn(group)) {
            let share = group.count as f32;
            let (gx, gy) = (px + group.offset[0] / share, py + group.offset[1] / share);
            let shaded = match group.source {
                NOTHING => display_weight(self.behind(gx, gy, lattice)),
                source => {
                    let is_member = |s: usize| group_of[s] == number;
                    self.surface(source, gx, gy, self.mixed_coat(source, sources, [px, py], is_member))
                }
            };
            color = add(color, scale(shaded, share / drawn as f32));
        }
        (display(color), (255 * drawn / SAMPLES as u32) as u8)
    }

    /// Whether two samples may share one shading: same surface, no crease in between, no step of the field.
    #[inline(always)]
    pub fn is_same_piece(&self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        if a == NOTHING || b == NOTHING {
            return false;
        }
        let (s, t) = (&self.prepared.triangles[a as usize], &self.prepared.triangles[b as usize]);
        s.surface == t.surface
            && !matches!(self.view.surfaces[s.surface as usize].paint, Paint::TriangleField { .. })
            && dot(self.prepared.face_normals[a as usize], self.prepared.face_normals[b as usize]) > 0.8
    }

    /// Light from a surface; `mixed` is the color of its coat if that is known.
    #[inline(always)]
    fn surface(&self, source: u32, x: f32, y: f32, mixed: Option<V3>) -> V3 {
        let seen = self.seen(source, x, y, mixed);
        self.color(&seen, self.lights.key_light(&seen.at, &self.shadow))
    }

    /// Color of a point of a surface under `lit` of the key light.
    #[inline(always)]
    pub fn color(&self, seen: &Seen, lit: f32) -> V3 {
        let surface = &self.view.surfaces[self.prepared.triangles[seen.source as usize].surface as usize];
        display_weight(self.lights.body(&seen.at, &surface.finish, lit))
    }

    /// The point of a triangle under a point of the screen; `mixed` is the color of its coat if that is known.
    #[inline(always)]
    pub fn seen(&self, source: u32, x: f32, y: f32, mixed: Option<V3>) -> Seen {
        let triangle = &self.prepared.triangles[source as usize];
        let corners = triangle.corners.map(|v| self.prepared.positions[v as usize]);
        let eye = self.projection.basis.eye;
        let ray = self.projection.ray(x, y);
        let weights = clamped(barycentric(eye, ray, corners));
        let blend = |v: [V3; 3]| mad(mad(scale(v[0], weights[0]), v[1], weights[1]), v[2], weights[2]);
        let position = blend(corners);
        let face = self.prepared.face_normals[source as usize];
        let to_eye = unit_or(scale(ray, -1.0), face);
        let mut normal = unit_or(blend(self.prepared.corner_normals[source as usize]), face);
        if dot(face, ray) > 0.0 {
            // Seen from inside: an open or cut surface.
            normal = scale(normal, -1.0);
        }
        let sky = self.occlusion.corners[source as usize];
        let sky = sky[0] * weights[0] + sky[1] * weights[1] + sky[2] * weights[2];
        let surface = &self.view.surfaces[triangle.surface as usize];
        let mut albedo = match surface.paint {
            Paint::Coat(coat) => mixed.unwrap_or_else(|| self.coat_color(coat, source, x, y)),
            _ => self.albedo(surface, triangle, weights),
        };
        if let Some(wire) = surface.wireframe {
            let coverage = self.wire_coverage(wire.width, x, y, corners, position);
            albedo = lerp(albedo, wire.color.to_linear(), coverage * wire.opacity);
        }
        let openness = if self.view.ground.is_some() { self.occlusion.on_ground(position) } else { 0.7 };
        Seen { source, at: ShadePoint { position, normal, to_eye, albedo, sky, openness } }
    }

    #[inline(always)]
    fn albedo(&self, surface: &Surface<'_>, triangle: &Triangle, weights: V3) -> V3 {
        let place = |value: f32, min: f32, max: f32| {
            // A field with one value lies at the center of its range.
            if max > min { f64::from((value - min) / (max - min)) } else { 0.5 }
        };
        match surface.paint {
            Paint::Solid(_) | Paint::Coat(_) => self.solid[triangle.surface as usize],
            Paint::VertexField { values, min, max, map } => {
                let first = self.prepared.first_vertex[triangle.surface as usize];
                let at = |i: usize| values.get((triangle.corners[i] - first) as usize).copied().unwrap_or(f32::NAN);
                let value = weights[0] * at(0) + weights[1] * at(1) + weights[2] * at(2);
                map.linear(place(value, min, max))
            }
            Paint::TriangleField { values, min, max, map } => {
                let value = values.get(triangle.local as usize).copied().unwrap_or(f32::NAN);
                map.linear(place(value, min, max))
            }
        }
    }

    /// Fraction of the pixel around (x, y) that lies on an edge of the triangle.
    #[inline(always)]
    fn wire_coverage(&self, width: f32, x: f32, y: f32, corners: [V3; 3], position: V3) -> f32 {
        let eye = self.projection.basis.eye;
        let pixel = dot(sub(position, eye), self.projection.basis.forward) / self.projection.focal;
        let twice_area = norm(cross(sub(corners[1], corners[0]), sub(corners[2], corners[0])));
        // The distance to an edge is its barycentric weight times the height of the triangle above it.
        let height = |i: usize| twice_area / norm(sub(corners[(i + 2) % 3], corners[(i + 1) % 3])).max(1e-30);
        let heights = [height(0), height(1), height(2)];
        let mut sum = 0.0;
        // At a slant, lines are thinner than the pixel grid: four positions per pixel keep them from breaking up.
        for [ox, oy] in [[-0.3, -0.1], [0.1, -0.3], [0.3, 0.1], [-0.1, 0.3]] {
            let weights = barycentric(eye, self.projection.ray(x + ox, y + oy), corners);
            let nearest = (0..3).map(|i| (weights[i] * heights[i]).abs()).fold(f32::INFINITY, f32::min);
            sum += (0.5 * width + 0.5 - nearest / pixel).clamp(0.0, 1.0);
        }
        0.25 * sum
    }
}

/// Limits a sample before samples are averaged: a highlight far above white would spoil the antialiasing of its edge.
#[inline(always)]
fn display_weight(color: V3) -> V3 {
    each(color, |c| c.min(2.5))
}

/// Barycentric weights of the point where the ray meets the plane of the triangle.
#[inline(always)]
pub(super) fn barycentric(eye: V3, ray: V3, [a, b, c]: [V3; 3]) -> V3 {
    let (e1, e2) = (sub(b, a), sub(c, a));
    let p = cross(ray, e2);
    let determinant = dot(e1, p);
    if determinant.abs() < 1e-30 {
        return [1.0 / 3.0; 3];
    }
    let s = sub(eye, a);
    let u = dot(s, p) / determinant;
    let v = dot(ray, cross(s, e1)) / determinant;
    [1.0 - u - v, u, v]
}

/// The weights clamped to the triangle: at an edge the mean sample position may lie just outside.
#[inline(always)]
pub(super) fn clamped([a, b, c]: V3) -> V3 {
    let weights = [a.clamp(0.0, 1.0), b.clamp(0.0, 1.0), c.clamp(0.0, 1.0)];
    let sum = weights[0] + weights[1] + weights[2];
    if sum > 0.0 && sum.is_finite() { scale(weights, 1.0 / sum) } else { [1.0 / 3.0; 3] }
}
