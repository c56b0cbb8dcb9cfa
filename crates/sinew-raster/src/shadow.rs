//! Depth maps seen from a light, for shadows.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};

use super::camera::Bounds;
use super::scene::Prepared;
use super::vector::{V3, cross, dot, frame_about};

/// Heights toward a distant light over a square of texels.
///
/// A point p is in shadow where the map is higher than p·d, d being the direction to the light.
pub(crate) struct DepthMap {
    /// Direction to the light, unit.
    pub direction: V3,
    tangent: V3,
    bitangent: V3,
    /// Texel coordinates are (p·t − origin) · scale.
    origin: [f32; 2],
    scale: f32,
    size: usize,
    heights: Vec<f32>,
    /// Highest height anywhere.
    pub top: f32,
}

/// Height of a texel nothing was drawn to.
const EMPTY: f32 = f32::NEG_INFINITY;

/// Draws a map of so many texels per side.
struct Drawn<'a> {
    prepared: &'a Prepared,
    direction: V3,
    size: usize,
}

impl LaneKernel for Drawn<'_> {
    type Output = DepthMap;

    #[inline(always)]
    fn run<I: Isa>(self) -> DepthMap {
        DepthMap::drawn(self.prepared, self.direction, self.size)
    }
}

impl DepthMap {
    pub fn new(prepared: &Prepared, direction: V3, size: usize) -> DepthMap {
        dispatch(Drawn { prepared, direction, size })
    }

    #[inline(always)]
    fn drawn(prepared: &Prepared, direction: V3, size: usize) -> DepthMap {
        let (tangent, bitangent) = frame_about(direction);
        debug_assert!(dot(cross(tangent, bitangent), direction) > 0.99, "frame is right-handed");
        let mut projected: Vec<V3> =
            prepared.positions.iter().map(|&p| [dot(p, tangent), dot(p, bitangent), dot(p, direction)]).collect();
        let mut bounds = Bounds::default();
        // Only vertices of drawn triangles count (others have no normal): a stray vertex must not blur the map.
        for (&p, &normal) in projected.iter().zip(&prepared.vertex_normals) {
            if normal != [0.0; 3] {
                bounds.add(p);
            }
        }
        if bounds.is_empty() {
            bounds.add([0.0; 3]);
        }
        let extent = (bounds.max[0] - bounds.min[0]).max(bounds.max[1] - bounds.min[1]).max(1e-6);
        // Two texels of margin keep filters at the silhouette inside the map.
        let scale = (size as f32 - 4.0) / extent;
        let origin = [bounds.min[0] - 2.0 / scale, bounds.min[1] - 2.0 / scale];
        let mut map = DepthMap {
            direction,
            tangent,
            bitangent,
            origin,
            scale,
            size,
            heights: vec![EMPTY; size * size],
            top: bounds.max[2],
        };
        for p in &mut projected {
            *p = [(p[0] - origin[0]) * scale, (p[1] - origin[1]) * scale, p[2]];
        }
        for (t, &normal) in prepared.triangles.iter().zip(&prepared.face_normals) {
            // The near side of a closed body hides its far side.
            if prepared.is_closed[t.surface as usize] && dot(normal, direction) < 0.0 {
                continue;
            }
            let [a, b, c] = t.corners;
            map.draw(projected[a as usize], projected[b as usize], projected[c as usize]);
        }
        map
    }

    /// Edge of a texel \[m\].
    pub fn texel(&self) -> f32 {
        1.0 / self.scale
    }

    /// Texel coordinates and height of a world point.
    #[inline(always)]
    pub fn locate(&self, p: V3) -> V3 {
        [
            (dot(p, self.tangent) - self.origin[0]) * self.scale,
            (dot(p, self.bitangent) - self.origin[1]) * self.scale,
            dot(p, self.direction),
        ]
    }

    #[inline(always)]
    fn draw(&mut self, a: V3, mut b: V3, mut c: V3) {
        let (left, right) = (a[0].min(b[0]).min(c[0]), a[0].max(b[0]).max(c[0]));
        let (low, high) = (a[1].min(b[1]).min(c[1]), a[1].max(b[1]).max(c[1]));
        // The map leaves a margin of two texels on all sides, so casts need no check.
        let (x0, x1) = (left as usize, right as usize);
        let (y0, y1) = (low as usize, high as usize);
        // Within one texel: most triangles of a fine mesh in a coarse map end here.
        if x0 == x1 && y0 == y1 {
            let texel = &mut self.heights[y0 * self.size + x0];
            *texel = texel.max((a[2] + b[2] + c[2]) * (1.0 / 3.0));
            return;
        }
        let mut area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if area < 0.0 {
            (b, c, area) = (c, b, -area);
        }
        if area.is_nan() || area <= 0.0 {
            return;
        }
        // Heights and edge functions are affine: start at the center of the first texel and step.
        let inverse = 1.0 / area;
        let (d1, d2) = (b[2] - a[2], c[2] - a[2]);
        let gx = (d1 * (c[1] - a[1]) - d2 * (b[1] - a[1])) * inverse;
        let gy = (d2 * (b[0] - a[0]) - d1 * (c[0] - a[0])) * inverse;
        let (e0, e1, e2) = (edge(b, c), edge(c, a), edge(a, b));
        for y in y0..=y1 {
            let py = y as f32 + 0.5;
            // A row in blocks: most triangles need one. The last block may begin before the triangle does.
            for x in (x0..=x1).step_by(LANES) {
                let x = x.min(self.size - LANES);
                let texels = &mut self.heights[y * self.size + x..][..LANES];
                for (i, texel) in texels.iter_mut().enumerate() {
                    let px = (x + i) as f32 + 0.5;
                    let inside = (e0[0] * px + e0[1] * py + e0[2] >= 0.0)
                        & (e1[0] * px + e1[1] * py + e1[2] >= 0.0)
                        & (e2[0] * px + e2[1] * py + e2[2] >= 0.0);
                    let height = a[2] + gx * (px - a[0]) + gy * (py - a[1]);
                    *texel = if inside & (height > *texel) { height } else { *texel };
                }
            }
        }
    }

    /// Fractions of light that reach points, interpolated between four texels each.
    #[inline(always)]
    pub fn lit(&self, points: &[V3; LANES]) -> Lanes {
        let mut at = [[0.0; LANES]; 3];
        for i in 0..LANES {
            let [u, v, h] = self.locate(points[i]);
            (at[0][i], at[1][i], at[2][i]) = (u - 0.5, v - 0.5, h);
        }
        let [u, v, height] = at;
        let (mut count, mut sum) = ([0.0; LANES], [0.0; LANES]);
        block(&self.heights, self.size, [&u, &v, &height], &mut count, &mut sum);
        count.map(|blocked| 1.0 - blocked)
    }
}

/// Edge function through p and q, positive to the left.
#[inline(always)]
fn edge(p: V3, q: V3) -> V3 {
    [p[1] - q[1], q[0] - p[0], p[0] * q[1] - p[1] * q[0]]
}

/// Taps that are looked up together.
pub(crate) const LANES: usize = 8;

/// One number for each of some taps.
pub(crate) type Lanes = [f32; LANES];

/// Points in the unit disc, in blocks.
type Taps = Vec<[Lanes; 2]>;

/// Numbers of blocks of the search for occluders and of the filter, in small and in large maps.
const SEARCH_BLOCKS: [usize; 2] = [1, 2];
const FILTER_BLOCKS: [usize; 2] = [2, 2];

/// Blocks of the filter on the coarsest level, whose radius has no bound in texels.
const WIDE_BLOCKS: [usize; 2] = [4, 5];

/// Maps with more texels per side are large.
const SMALL: usize = 512;

/// Texels per side of the coarsest level: in smaller ones, maxima would enlarge every shadow.
const COARSEST: usize = 32;

/// Tangent of the half angle of the key light: about a soft box one and a half meters wide at six meters.
const LIGHT_RADIUS: f32 = 0.12;

/// Steepest assumed plane of a receiver, height over distance; steeper ones face away from the light anyway.
const STEEPEST: f32 = 5.0;

/// Cells per side of the map that shows where no shadow is possible.
const COARSE: usize = 64;

/// A key light with shadows that are sharp at the contact and soft far from it.
///
/// Percentage-closer soft shadows: the mean distance to the occluders around the point sets the width of the filter.
/// Wide filters read coarser levels of a pyramid of maxima, so that their few taps still overlap and no copies of an
/// edge show. Reference: R. Fernando, "Percentage-Closer Soft Shadows" (2005).
pub(crate) struct SoftShadow {
    map: DepthMap,
    /// Halvings of `map`: side and heights.
    levels: Vec<(usize, Vec<f32>)>,
    search: Taps,
    filter: Taps,
    wide: Taps,
    /// Highest texel within reach of the search, to return early where nothing can cast a shadow.
    coarse: Vec<f32>,
    /// Lowest height drawn.
    lowest: f32,
    /// Largest radius of the search \[texels\].
    reach: f32,
    /// Edge of a texel \[m\].
    texel: f32,
}

impl SoftShadow {
    pub fn new(prepared: &Prepared, direction: V3, size: usize) -> SoftShadow {
        debug_assert!(size.is_power_of_two() && size >= COARSE, "levels halve down to the coarse map");
        let mut map = DepthMap::new(prepared, direction, size);
        let lowest = map.heights.iter().copied().filter(|h| h.is_finite()).fold(map.top, f32::min);
        // Beyond a sixth of the map a shadow has no visible shape left.
        let reach = (LIGHT_RADIUS * (map.top - lowest) * map.scale).clamp(2.0, 0.18 * size as f32);
        let heights = std::mem::take(&mut map.heights);
        let spread = (reach * COARSE as f32 / size as f32).ceil() as usize + 1;
        let (levels, coarse) = dispatch(Pyramid { heights, size, spread });
        let [search, filter, wide] =
            [SEARCH_BLOCKS, FILTER_BLOCKS, WIDE_BLOCKS].map(|blocks| spiral(blocks[usize::from(size > SMALL)]));
        SoftShadow { search, filter, wide, levels, coarse, lowest, reach, texel: map.texel(), map }
    }

    /// Sides of what bodies can shade, beyond which a point lies: one bit each.
    #[inline(always)]
    pub fn sides_beyond(&self, p: V3) -> u8 {
        let [u, v, h] = self.map.locate(p);
        // The offset of points along their normal is at most three texels.
        let reach = self.reach + 4.0;
        let far = self.map.size as f32 + reach;
        u8::from(u < -reach)
            | u8::from(u > far) << 1
            | u8::from(v < -reach) << 2
            | u8::from(v > far) << 3
            | u8::from(h > self.map.top) << 4
    }

    /// Fraction of the key light that reaches a point with unit normal `n`, 0..1.
    #[inline(always)]
    pub fn lit(&self, p: V3, n: V3) -> f32 {
        // Grazing light needs a larger offset along the normal to clear the texel's own slope.
        let slope = 1.0 - dot(n, self.map.direction).clamp(0.0, 1.0);
        let offset = (1.0 + 2.0 * slope) * self.texel;
        let [u, v, h] = self.map.locate(super::vector::mad(p, n, offset));
        let size = self.map.size as f32;
        let (inside_u, inside_v) = (u.clamp(0.0, size - 1.0), v.clamp(0.0, size - 1.0));
        let cell = |at: f32| (at * (COARSE as f32 / size)) as usize;
        let top = self.coarse[cell(inside_v) * COARSE + cell(inside_u)];
        let outside = (inside_u - u).abs().max((inside_v - v).abs());
        // The filter extends the border of the map to points beside it.
        if top <= h || outside > self.reach {
            return 1.0;
        }
        let above = (self.local_top(inside_u, inside_v) - h).max(0.0);
        let radius = (LIGHT_RADIUS * above * self.map.scale).clamp(1.5, self.reach);
        // The receiver itself rises toward the light: taps beside the point compare with its plane, not with its
        // height.
        let facing = dot(n, self.map.direction).max(1e-3);
        let rise = |axis: V3| (-dot(n, axis) / facing).clamp(-STEEPEST, STEEPEST) * self.texel;
        let plane = Receiver { u, v, h, slope, rise: [rise(self.map.tangent), rise(self.map.bitangent)] };
        let level = self.level(radius, 2.0);
        let [count, sum] = self.occluders(level, &plane, radius, &self.search);
        if count <= 1e-3 {
            return 1.0;
        }
        let penumbra = (LIGHT_RADIUS * (sum / count - h) * self.map.scale).clamp(1.2, self.reach);
        let level = self.level(penumbra, 2.5);
        let here = self.filtered(level, &plane, penumbra);
        // Cross-fade into the next level over the last 40 % of this one: a switch would draw a contour line.
        let next = (penumbra * shrink_of(level) / 2.5 - 1.6) / 0.4;
        if next <= 0.0 || level + 1 >= self.levels.len() {
            return here;
        }
        here + (self.filtered(level + 1, &plane, penumbra) - here) * next.min(1.0)
    }

    /// The interpolated coarse map: where its cells jump, the search must not.
    #[inline(always)]
    fn local_top(&self, u: f32, v: f32) -> f32 {
        let scale = COARSE as f32 / self.map.size as f32;
        let last = (COARSE - 1) as f32;
        let (x, y) = ((u * scale - 0.5).clamp(0.0, last - 1e-3), (v * scale - 0.5).clamp(0.0, last - 1e-3));
        let (i, k) = (x as usize, y as usize);
        let (fx, fy) = (x - i as f32, y - k as f32);
        // Empty cells get the lowest height that does not spoil the mean.
        let at = |i: usize, k: usize| self.coarse[k * COARSE + i].max(self.lowest);
        let below = at(i, k) + (at(i + 1, k) - at(i, k)) * fx;
        let above = at(i, k + 1) + (at(i + 1, k + 1) - at(i, k + 1)) * fx;
        below + (above - below) * fy
    }

    #[inline(always)]
    fn filtered(&self, level: usize, plane: &Receiver, penumbra: f32) -> f32 {
        let taps = if level + 1 == self.levels.len() { &self.wide } else { &self.filter };
        let [blocked, _] = self.occluders(level, plane, penumbra, taps);
        (1.0 - blocked / (LANES * taps.len()) as f32).max(0.0)
    }

    /// Taps on texels above the plane of the receiver, and the sum of their heights. Each tap counts by the weights of the
    /// four texels around it: a plain count of texels would draw streaks through the penumbra. Outside the map is
    /// nothing.
    #[inline(always)]
    fn occluders(&self, level: usize, plane: &Receiver, radius: f32, taps: &Taps) -> [f32; 2] {
        let (side, heights) = &self.levels[level];
        let shrink = shrink_of(level);
        let margin = self.margin(shrink, plane.slope);
        let (mut count, mut sum) = ([0.0; LANES], [0.0; LANES]);
        for [xs, ys] in taps {
            let mut at = [[0.0; LANES]; 3];
            for i in 0..LANES {
                let (x, y) = (radius * xs[i], radius * ys[i]);
                at[0][i] = (plane.u + x) * shrink - 0.5;
                at[1][i] = (plane.v + y) * shrink - 0.5;
                at[2][i] = plane.height(x, y) + margin;
            }
            let [u, v, limit] = at;
            block(heights, *side, [&u, &v, &limit], &mut count, &mut sum);
        }
        [total(count), total(sum)]
    }

    /// The level at which a radius given in base texels spans between `texels` and twice as many.
    #[inline(always)]
    fn level(&self, radius: f32, texels: f32) -> usize {
        let mut level = 0;
        while level + 1 < self.levels.len() && radius * shrink_of(level) > 2.0 * texels {
            level += 1;
        }
        level
    }

    /// Maxima over a coarse texel lie above a sloped surface: occluders must be higher by that much.
    #[inline(always)]
    fn margin(&self, shrink: f32, slope: f32) -> f32 {
        (1.0 / shrink - 1.0) * self.texel * (0.6 + 1.4 * slope)
    }
}

/// The tangent plane at the lit point, in texels of the base.
struct Receiver {
    u: f32,
    v: f32,
    h: f32,
    /// 0 where the plane faces the light, 1 where it is parallel to it.
    slope: f32,
    /// Height gained per texel.
    rise: [f32; 2],
}

impl Receiver {
    #[inline(always)]
    fn height(&self, x: f32, y: f32) -> f32 {
        self.h + self.rise[0] * x + self.rise[1] * y
    }
}

/// Adds up, for some points (u, v) between the centers of texels, which part of the four around each is above its height,
/// and that part of their heights. Outside the map is nothing.
#[inline(always)]
fn block(heights: &[f32], side: usize, [u, v, height]: [&Lanes; 3], count: &mut Lanes, sum: &mut Lanes) {
    let (side32, end) = (side as u32, (side - 1) as f32);
    let (mut fx, mut fy, mut limit) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut at = [0u32; LANES];
    for i in 0..LANES {
        // Written so that NaN is outside.
        let is_inside = (u[i] > 0.0) & (v[i] > 0.0) & (u[i] < end) & (v[i] < end);
        let (u, v) = (if is_inside { u[i] } else { 0.0 }, if is_inside { v[i] } else { 0.0 });
        limit[i] = if is_inside { height[i] } else { f32::INFINITY };
        let ([column, row], rest) = whole_and_rest([u, v]);
        [fx[i], fy[i]] = rest;
        at[i] = row * side32 + column;
    }
    let mut corners = [[0.0; LANES]; 4];
    for i in 0..LANES {
        let texels = &heights[at[i] as usize..][..side + 2];
        (corners[0][i], corners[1][i]) = (texels[0], texels[1]);
        (corners[2][i], corners[3][i]) = (texels[side], texels[side + 1]);
    }
    for i in 0..LANES {
        let weights = [(1.0 - fx[i]) * (1.0 - fy[i]), fx[i] * (1.0 - fy[i]), (1.0 - fx[i]) * fy[i], fx[i] * fy[i]];
        for (weight, corner) in weights.into_iter().zip(&corners) {
            let is_above = corner[i] > limit[i];
            count[i] += if is_above { weight } else { 0.0 };
            sum[i] += if is_above { weight * corner[i] } else { 0.0 };
        }
    }
}

/// Whole numbers below coordinates of a texel, and what is left. Sums with a number whose last bit is one take a quarter of
/// the time of conversions, which must care for numbers that are not in range.
#[inline(always)]
fn whole_and_rest(at: [f32; 2]) -> ([u32; 2], [f32; 2]) {
    const ONES: f32 = 1.5 * (1 << 23) as f32;
    let sum = [at[0] - 0.5 + ONES, at[1] - 0.5 + ONES];
    let whole = [sum[0].to_bits().wrapping_sub(ONES.to_bits()), sum[1].to_bits().wrapping_sub(ONES.to_bits())];
    (whole, [at[0] - (sum[0] - ONES), at[1] - (sum[1] - ONES)])
}

/// Texels of a level per texel of the base, a power of two: from the exponent, without a division.
#[inline(always)]
fn shrink_of(level: usize) -> f32 {
    f32::from_bits((127 - level as u32) << 23)
}

/// The sum in a tree, as vectors do it.
#[inline(always)]
fn total([a, b, c, d, e, f, g, h]: Lanes) -> f32 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Sunflower arrangement of points in the unit disc: even density without visible rows.
fn spiral(blocks: usize) -> Taps {
    let golden = std::f32::consts::PI * (3.0 - 5.0f32.sqrt());
    let count = (blocks * LANES) as f32;
    let point = |i: usize| {
        let r = ((i as f32 + 0.5) / count).sqrt();
        let (sin, cos) = (i as f32 * golden).sin_cos();
        [r * cos, r * sin]
    };
    let block = |block: usize| [0, 1].map(|axis| std::array::from_fn(|i| point(block * LANES + i)[axis]));
    (0..blocks).map(block).collect()
}

/// Halves a map of so many texels per side until it is coarse; spreads the level that tells where no shadow is.
struct Pyramid {
    heights: Vec<f32>,
    size: usize,
    spread: usize,
}

impl LaneKernel for Pyramid {
    type Output = (Vec<(usize, Vec<f32>)>, Vec<f32>);

    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        let mut levels = vec![(self.size, self.heights)];
        let mut coarse = vec![f32::INFINITY; COARSE * COARSE];
        while let Some((side, heights)) = levels.last() {
            if *side == COARSE {
                coarse = dilated(heights, self.spread);
            }
            if *side <= COARSEST {
                break;
            }
            levels.push((side / 2, halved(heights, *side)));
        }
        (levels, coarse)
    }
}

/// The higher one of heights, which are not NaN: one instruction, unlike `max`.
#[inline(always)]
fn higher(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Map of half the side, each texel the highest of four.
#[inline(always)]
fn halved(heights: &[f32], side: usize) -> Vec<f32> {
    let half = side / 2;
    let mut to = vec![EMPTY; half * half];
    for (to, rows) in to.chunks_exact_mut(half).zip(heights.chunks_exact(2 * side)) {
        let (upper, lower) = rows.split_at(side);
        for (to, (upper, lower)) in to.iter_mut().zip(upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0)) {
            *to = higher(higher(upper[0], upper[1]), higher(lower[0], lower[1]));
        }
    }
    to
}

/// Maxima over squares of `spread` cells around each cell of the coarse map, along rows and then along columns.
#[inline(always)]
fn dilated(coarse: &[f32], spread: usize) -> Vec<f32> {
    let mut along_rows = vec![EMPTY; COARSE * COARSE];
    for (to, from) in along_rows.chunks_exact_mut(COARSE).zip(coarse.chunks_exact(COARSE)) {
        for shift in 0..=spread.min(COARSE - 1) {
            for i in 0..COARSE - shift {
                to[i] = higher(to[i], from[i + shift]);
            }
            for i in shift..COARSE {
                to[i] = higher(to[i], from[i - shift]);
            }
        }
    }
    let mut to = vec![EMPTY; COARSE * COARSE];
    for (row, to) in to.chunks_exact_mut(COARSE).enumerate() {
        for other in row.saturating_sub(spread)..(row + spread + 1).min(COARSE) {
            for (to, &from) in to.iter_mut().zip(&along_rows[other * COARSE..][..COARSE]) {
                *to = higher(*to, from);
            }
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finish, Rgb, ShapeMesh, Surface};

    fn sphere_above_ground() -> Prepared {
        let mesh = ShapeMesh::sphere([0.0, 2.0, 0.0], 1.0, 32);
        Prepared::new(&[Surface::solid(&mesh.positions, &mesh.triangles, Rgb([1.0; 3]), Finish::MATTE)])
    }

    #[test]
    fn point_under_the_sphere_is_dark_and_far_point_is_lit() {
        let up = [0.0, 1.0, 0.0];
        let shadow = SoftShadow::new(&sphere_above_ground(), up, 256);
        assert_eq!(shadow.lit([0.0, 0.0, 0.0], up), 0.0);
        assert_eq!(shadow.lit([3.0, 0.0, 0.0], up), 1.0);
        assert_eq!(shadow.lit([0.0, 3.5, 0.0], up), 1.0, "above the sphere");
        // Half of a symmetric penumbra is lit below the silhouette; 0.2 for the few taps and the round edge.
        let edge = shadow.lit([1.0, 0.0, 0.0], up);
        assert!((edge - 0.5).abs() < 0.2, "penumbra {edge}");
    }

    #[test]
    fn empty_scene_casts_no_shadow() {
        let shadow = SoftShadow::new(&Prepared::new(&[]), [0.0, 1.0, 0.0], 64);
        assert_eq!(shadow.lit([0.0, -1.0, 0.0], [0.0, 1.0, 0.0]), 1.0);
    }
}
