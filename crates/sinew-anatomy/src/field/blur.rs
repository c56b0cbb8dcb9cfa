//! Signed distances at the surface of labels: the Heaviside function H, blurred and inverted.
//!
//! Blurred by a Gaussian of width σ, H of a half-space is ½ (1 − erf(d/(√2 σ))), hence d = −σ√2 erf⁻¹(2H − 1). The blur
//! moves a curved surface toward its center by ½σ²κ, κ = div(∇φ/|∇φ|), so that much is subtracted; κ comes from a wider
//! blur, whose level surfaces around a ball are spheres as well. Where the blur would take a voxel away from its label,
//! the tissue is thin, and the surface is half-way between the voxels.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};

use super::bits::{BitVolume, Bits, has};
use super::distance_field::Brick;
use super::extent::{EDGE, VOLUME};

/// Width of the blur \[voxels\]: wide enough to round the steps of voxels, narrow enough for details of three voxels.
const WIDTH: f64 = 1.2;
/// Width of the blur for curvatures \[voxels\].
const WIDE: f64 = 2.0;
/// Reach of the two kernels \[voxels\]: three to four widths, and less than a brick with its border.
const REACH: usize = 4;
const WIDE_REACH: usize = 6;
/// Blurred values count up to this distance \[voxels\]; beyond it the march is better.
const KEPT: f32 = 1.4;
/// The sphere of three voxels' radius is the smallest that the blur resolves: κ = 2/3.
const MAX_CURVATURE: f32 = 0.67;
/// A voxel that the blur takes away by less than this is noise, by more a thin part \[voxels\].
const THIN: f32 = 0.3;
/// Distance of a voxel that the blur takes away by a little \[voxels\]: it keeps its sign.
const LEAST: f32 = 0.02;
/// Values of an x row: −1 to 8, padded to lanes.
const LANES: usize = 12;

type Row = [f32; LANES];

/// A Gaussian, and what eight bits of a row contribute to ten values.
struct Kernel {
    reach: usize,
    weights: Vec<f32>,
    /// For the byte left of the brick, in it and right of it: contribution of its 256 patterns to x = −1‥8.
    table: Vec<Row>,
}

impl Kernel {
    fn new(width: f64, reach: usize) -> Self {
        let raw: Vec<f64> =
            (0..=2 * reach).map(|i| (-(i as f64 - reach as f64).powi(2) / (2.0 * width * width)).exp()).collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f32> = raw.iter().map(|w| (w / sum) as f32).collect();
        let mut table = vec![[0.0; LANES]; 3 * 256];
        for (pattern, row) in table.iter_mut().enumerate() {
            for bit in (0..8).filter(|bit| pattern >> bit & 1 != 0) {
                let x = (pattern / 256 * 8 + bit) as i32 - 8;
                for (lane, value) in row.iter_mut().enumerate().take(10) {
                    let at = lane as i32 - 1 - x + reach as i32;
                    *value += usize::try_from(at).ok().and_then(|at| weights.get(at)).copied().unwrap_or(0.0);
                }
            }
        }
        Self { reach, weights, table }
    }

    /// Blurred values at −1‥8 along each axis: rows of [`LANES`], ten by ten.
    #[inline(always)]
    fn blur(&self, rows: &[[u32; 24]; 24], out: &mut [Row; 100]) {
        let (reach, first) = (self.reach, 7 - self.reach);
        let span = 10 + 2 * reach;
        let mut planes = [[[0.0; LANES]; 10]; 24];
        for z in first..first + span {
            let mut along_x = [[0.0; LANES]; 24];
            for y in first..first + span {
                along_x[y] = self.row(rows[z][y]);
            }
            for (y, sum) in planes[z].iter_mut().enumerate() {
                self.gather(&along_x[y + first..y + first + 2 * reach + 1], |row| row, sum);
            }
        }
        for (i, sum) in out.iter_mut().enumerate() {
            let (y, z) = (i % 10, i / 10);
            self.gather(&planes[z + first..z + first + 2 * reach + 1], |plane| &plane[y], sum);
        }
    }

    #[inline(always)]
    fn row(&self, bits: u32) -> Row {
        let byte = |which: usize| &self.table[which << 8 | (bits >> (8 * which) & 255) as usize];
        let (left, own, right) = (byte(0), byte(1), byte(2));
        let mut sum = [0.0; LANES];
        for lane in 0..LANES {
            sum[lane] = left[lane] + own[lane] + right[lane];
        }
        sum
    }

    #[inline(always)]
    fn gather<T>(&self, items: &[T], row: impl Fn(&T) -> &Row, sum: &mut Row) {
        // In registers: the sum itself is in memory.
        let mut total = [0.0; LANES];
        for (weight, item) in self.weights.iter().zip(items) {
            let row = row(item);
            for lane in 0..LANES {
                total[lane] += weight * row[lane];
            }
        }
        *sum = total;
    }
}

/// [`Blur::distances`] of one brick: the compiler makes wide lanes of its rows.
struct BlurBrick<'a> {
    blur: &'a Blur,
    volume: &'a BitVolume,
    brick: [i32; 3],
}

impl LaneKernel for BlurBrick<'_> {
    type Output = Brick;

    #[inline(always)]
    fn run<I: Isa>(self) -> Brick {
        self.blur.distances_at_level(self.volume, self.brick)
    }
}

/// Entries of the table of inverses.
const INVERSES: usize = 4096;
/// d/σ where no voxel within reach is of the tissue.
const MAX_INVERSE: f32 = 5.0;

/// d/σ over H, at equal steps of H.
pub(super) struct Inverse(Vec<f32>);

impl Inverse {
    pub fn new() -> Self {
        let mut table = vec![0.0f32; INVERSES + 1];
        let mut t = 0.0;
        for i in 1..INVERSES / 2 {
            // Newton from one entry to the next; outward, where H is convex, it does not overshoot.
            let h = 0.5 - i as f64 / INVERSES as f64;
            for _ in 0..6 {
                t += (heaviside(t) - h) / density(t);
            }
            (table[INVERSES / 2 - i], table[INVERSES / 2 + i]) = (t as f32, -t as f32);
        }
        (table[0], table[INVERSES]) = (MAX_INVERSE, -MAX_INVERSE);
        Self(table)
    }

    /// d/σ by interpolation in the table.
    #[inline(always)]
    pub fn at(&self, h: f32) -> f32 {
        let at = h.clamp(0.0, 1.0) * INVERSES as f32;
        let low = (at as usize).min(INVERSES - 1);
        let t = at - low as f32;
        self.0[low] + t * (self.0[low + 1] - self.0[low])
    }
}

/// Blurs bricks of labels.
pub(super) struct Blur {
    narrow: Kernel,
    wide: Kernel,
    inverse: Inverse,
}

impl Blur {
    pub fn new() -> Self {
        Self { narrow: Kernel::new(WIDTH, REACH), wide: Kernel::new(WIDE, WIDE_REACH), inverse: Inverse::new() }
    }

    /// Distances \[voxels\], without sign, at the voxels of a brick near its surface; infinite elsewhere.
    pub fn distances(&self, volume: &BitVolume, brick: [i32; 3]) -> Brick {
        dispatch(BlurBrick { blur: self, volume, brick })
    }

    /// As [`Blur::distances`], compiled once per instruction-set level.
    #[inline(always)]
    fn distances_at_level(&self, volume: &BitVolume, brick: [i32; 3]) -> Brick {
        let rows = volume.rows(brick);
        let (mut narrow, mut wide) = ([[0.0; LANES]; 100], [[0.0; LANES]; 100]);
        self.narrow.blur(&rows, &mut narrow);
        self.wide.blur(&rows, &mut wide);
        let near = Near { inside: volume.brick(brick), border: volume.border(brick), thin: self.thin(&rows, &narrow) };
        let mut out = [f32::INFINITY; VOLUME];
        for (row, out) in out.chunks_exact_mut(EDGE).enumerate() {
            let (y, z) = (1 + row % EDGE, 1 + row / EDGE);
            self.row_distances(&narrow[y + 10 * z], &wide, &near, [y, z], out);
        }
        let mut thin = near.border;
        (0..VOLUME / 64).for_each(|z| thin[z] &= near.thin_word(z));
        for local in (0..VOLUME).filter(|&local| has(&thin, local)) {
            out[local] = half_cell(volume, brick, local);
        }
        out
    }

    /// A row of eight distances; `at` counts from −1.
    #[inline(always)]
    fn row_distances(&self, narrow: &Row, wide: &[Row; 100], near: &Near, [y, z]: [usize; 2], out: &mut [f32]) {
        let shift = 8 * (y - 1);
        let (inside, border) = (near.inside[z - 1] >> shift, near.border[z - 1] >> shift);
        let mut rough = [0.0; EDGE];
        for x in 0..EDGE {
            rough[x] = WIDTH as f32 * self.inverse.at(narrow[x + 1]);
        }
        if border & 255 == 0 && rough.iter().all(|d| d.abs() > KEPT + 0.5) {
            return;
        }
        let mut bend = [0.0; EDGE];
        curvature(wide, y, z, &mut bend);
        for x in 0..EDGE {
            let signed = rough[x] - 0.5 * (WIDTH * WIDTH) as f32 * bend[x];
            let distance = if inside >> x & 1 != 0 { -signed } else { signed };
            if border >> x & 1 != 0 {
                out[x] = distance.clamp(LEAST, 1.2);
            } else if distance > 0.5 && distance <= KEPT {
                out[x] = distance;
            }
        }
    }

    /// Voxels, at −1‥8 along each axis, that the blur takes away from their label by more than noise.
    #[inline(always)]
    fn thin(&self, rows: &[[u32; 24]; 24], narrow: &[Row; 100]) -> [u16; 100] {
        // |d| > THIN on the wrong side, as a limit of H.
        let limit = 0.5 - (0.5 - heaviside(f64::from(THIN) / WIDTH)) as f32;
        let mut thin = [0; 100];
        for i in 0..100 {
            let bits = rows[i / 10 + 7][i % 10 + 7] >> 7;
            for x in 0..10 {
                let h = narrow[i][x];
                let taken = if bits >> x & 1 != 0 { h < limit } else { h > 1.0 - limit };
                thin[i] |= u16::from(taken) << x;
            }
        }
        thin
    }
}

/// What is known of the voxels of a brick before their distances.
struct Near<'a> {
    inside: &'a Bits,
    /// Voxels with a neighbor of the other kind.
    border: Bits,
    /// Thin voxels, at −1‥8 along each axis.
    thin: [u16; 100],
}

impl Near<'_> {
    /// Whether voxels or neighbors of them are thin, for a layer of the brick.
    fn thin_word(&self, z: usize) -> u64 {
        let at = |y: usize, z: usize| self.thin[y + 10 * z];
        (0..EDGE).fold(0, |word, y| {
            let row = at(y + 1, z + 1);
            let beside = at(y, z + 1) | at(y + 2, z + 1) | at(y + 1, z) | at(y + 1, z + 2);
            let near = (row | row << 1 | row >> 1 | beside) >> 1;
            word | u64::from(near & 255) << (8 * y)
        })
    }
}

/// κ = div(∇φ/|∇φ|) \[1/voxel\] of a row from the blurred Heaviside function, φ falling where it rises.
#[inline(always)]
fn curvature(h: &[Row; 100], y: usize, z: usize, out: &mut [f32; EDGE]) {
    let row = |dy: usize, dz: usize| &h[y + dy - 1 + 10 * (z + dz - 1)];
    let (own, left, right, below, above) = (row(1, 1), row(0, 1), row(2, 1), row(1, 0), row(1, 2));
    let corners = [row(0, 0), row(2, 0), row(0, 2), row(2, 2)];
    for x in 0..EDGE {
        let (a, b, c) = (x, x + 1, x + 2);
        let gx = 0.5 * (own[c] - own[a]);
        let gy = 0.5 * (right[b] - left[b]);
        let gz = 0.5 * (above[b] - below[b]);
        let xx = own[c] + own[a] - 2.0 * own[b];
        let yy = right[b] + left[b] - 2.0 * own[b];
        let zz = above[b] + below[b] - 2.0 * own[b];
        let xy = 0.25 * (right[c] + left[a] - left[c] - right[a]);
        let yz = 0.25 * (corners[3][b] + corners[0][b] - corners[1][b] - corners[2][b]);
        let zx = 0.25 * (above[c] + below[a] - below[c] - above[a]);
        // Far from the surface, where nothing needs it, the floor keeps it finite.
        let square = (gx * gx + gy * gy + gz * gz).max(1e-8);
        let along = gx * gx * xx + gy * gy * yy + gz * gz * zz + 2.0 * (gx * gy * xy + gy * gz * yz + gz * gx * zx);
        let bend = (along / square - (xx + yy + zz)) / square.sqrt();
        out[x] = bend.clamp(-MAX_CURVATURE, MAX_CURVATURE);
    }
}

/// Distance to a surface half-way to each neighbor of the other kind: 1/√(Σ 1/½²) over the axes that are crossed;
/// infinite where none is \[Teran05\].
fn half_cell(volume: &BitVolume, brick: [i32; 3], local: usize) -> f32 {
    let own = has(volume.brick(brick), local);
    let crossed = |way: usize| has(&volume.shifted(brick, way), local) != own;
    let axes = (0..3).filter(|axis| crossed(2 * axis) || crossed(2 * axis + 1)).count();
    0.5 / (axes as f32).sqrt()
}

/// Half-cell distances at the voxels of a brick with a neighbor of the other kind.
pub(super) fn half_cells(volume: &BitVolume, brick: [i32; 3]) -> Brick {
    let own = volume.brick(brick);
    let ways: [Bits; 6] = std::array::from_fn(|way| volume.shifted(brick, way));
    std::array::from_fn(|local| {
        let crossed = |way: usize| has(&ways[way], local) != has(own, local);
        let axes = (0..3).filter(|axis| crossed(2 * axis) || crossed(2 * axis + 1)).count();
        if axes == 0 { f32::INFINITY } else { 0.5 / (axes as f32).sqrt() }
    })
}

/// H at the distance d = σ t outside of a half-space: ½ erfc(t/√2), by the continued fraction of Mills' ratio far away
/// and the series near.
fn heaviside(t: f64) -> f64 {
    let density = density(t);
    if t.abs() > 3.5 {
        let a = t.abs();
        let mut fraction = a;
        for k in (1..=40).rev() {
            fraction = a + f64::from(k) / fraction;
        }
        let tail = density / fraction;
        return if t > 0.0 { tail } else { 1.0 - tail };
    }
    let (mut term, mut sum, mut k) = (t, t, 1.0);
    while term.abs() > 1e-17 {
        k += 2.0;
        term *= t * t / k;
        sum += term;
    }
    0.5 - density * sum
}

/// −dH/dt.
fn density(t: f64) -> f64 {
    (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::extent::{Extent, voxel_of};
    use super::*;

    /// Table: ½ erfc(1/√2) = 0.158655…, ½ erfc(4/√2) = 3.16712e-5.
    #[test]
    fn heaviside_has_the_tabulated_values_and_its_inverse_returns() {
        assert!((heaviside(0.0) - 0.5).abs() < 1e-16);
        assert!((heaviside(1.0) - 0.158_655_253_931_457).abs() < 1e-13);
        assert!((heaviside(4.0) - 3.167_124_183_311_992e-5).abs() < 1e-15);
        for t in [-3.0, -1.2, 0.0, 0.3, 2.5] {
            assert!((heaviside(t) + heaviside(-t) - 1.0).abs() < 1e-14);
            // Linear between 4096 entries: in the tail at 3σ the second derivative of t is 150,000.
            assert!((f64::from(Inverse::new().at(heaviside(t) as f32)) - t).abs() < 2e-3, "{t}");
        }
    }

    fn volume(is_inside: impl Fn([i32; 3]) -> bool) -> BitVolume {
        let extent = Extent { low: [-2; 3], size: [5; 3] };
        let bricks = (0..extent.len())
            .map(|index| {
                let mut bits = [0; 8];
                for local in (0..VOLUME).filter(|&l| is_inside(voxel_of(extent.brick(index), l))) {
                    super::super::bits::set(&mut bits, local);
                }
                bits
            })
            .collect();
        BitVolume { extent, bricks }
    }

    /// The blur by tables and lanes is the sum over all voxels.
    #[test]
    fn blurred_rows_are_the_sum_over_all_voxels() {
        let inside = |v: [i32; 3]| (v[0] * 7 + v[1] * 5 + v[2] * 3 + v[0] * v[1]).rem_euclid(11) < 5;
        let volume = volume(inside);
        let kernel = Kernel::new(WIDE, WIDE_REACH);
        let mut out = [[0.0; LANES]; 100];
        kernel.blur(&volume.rows([0; 3]), &mut out);
        let reach = WIDE_REACH as i32;
        let width = 2 * reach + 1;
        let weight = |d: i32| f64::from(kernel.weights[(d + reach) as usize]);
        for p in [[-1, -1, -1], [8, 8, 8], [3, 0, 7], [0, 8, -1]] {
            let mut sum = 0.0;
            for (z, y, x) in
                (0..width.pow(3)).map(|i| (i / (width * width) - reach, i / width % width - reach, i % width - reach))
            {
                if inside([p[0] + x, p[1] + y, p[2] + z]) {
                    sum += weight(x) * weight(y) * weight(z);
                }
            }
            let got = out[(p[1] + 1) as usize + 10 * (p[2] + 1) as usize][(p[0] + 1) as usize];
            // Some forty sums in single precision.
            assert!((f64::from(got) - sum).abs() < 1e-5, "{p:?}: {got} {sum}");
        }
    }

    /// A plane through voxel centers has its surface half a voxel on, with either kind of seeds.
    #[test]
    fn seeds_of_a_plane_are_half_a_voxel() {
        let volume = volume(|v| v[2] < 4);
        let (blurred, half) = (Blur::new().distances(&volume, [0; 3]), half_cells(&volume, [0; 3]));
        for local in 0..VOLUME {
            match local >> 6 {
                3 | 4 => {
                    // The width is right for surfaces that cross voxels anywhere; on a plane of voxels it is 3 % too much.
                    assert!((blurred[local] - 0.5).abs() < 0.02 && half[local] == 0.5, "{}", blurred[local]);
                }
                _ => assert!(half[local].is_infinite()),
            }
        }
    }

    /// A sheet and a single voxel keep their inside.
    #[test]
    fn thin_parts_keep_half_cells() {
        let sheet = volume(|v| v[2] == 4);
        let values = Blur::new().distances(&sheet, [0; 3]);
        assert!((3 * 64..6 * 64).all(|local| values[local] == 0.5), "{:?}", &values[3 * 64..3 * 64 + 4]);
        let speck = volume(|v| v == [4, 4, 4]);
        let values = Blur::new().distances(&speck, [0; 3]);
        assert!((values[4 * 73] - 0.5 / 3f32.sqrt()).abs() < 1e-6);
        assert_eq!(values[4 * 73 + 1], 0.5);
    }
}
