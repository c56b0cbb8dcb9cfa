//! The tangent of each cell: rotation and the definite part that comes with its change (MCA-13), and the diagonal of K (MCA-39).

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::for_each_block_mut;
use sinew_math::svd3::svd3;
use sinew_math::{LaneScalar, Mat3, Scalar};

use crate::kernel::{BLOCK, ModeStiffness, columns};
use crate::layers::{for_each_layer, for_each_layer_of_blocks};
use crate::layout::{LANES, Layout};

/// Values of the deformation gradients of a block: rows of Fxx, Fxy, …, Fzz.
pub(crate) const GRADIENT: usize = 9 * LANES;
/// Values of the materials of a block: rows of μ and λ.
pub(crate) const MATERIAL: usize = 2 * LANES;

/// Blocks per parallel piece.
const PIECE: usize = 64;

/// Stretches that add up to less than this part of the largest possible hardly tell how a cell turns: MCA-13's denominators stay above it.
const LEAST_STRETCH: f64 = 1e-2;

/// Which tangent is asked for; all but the first are there to compare with (MCA-16..18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TangentKind {
    /// Definite (Algorithm 1).
    #[default]
    Definite,
    /// The exact one, which may be indefinite.
    Exact,
    /// Rotations do not change the stress: L = −μ.
    Warped,
    /// Rotations are frozen: L = 0.
    Frozen,
}

/// State of all blocks from gradients and materials, for cubes of edge h.
pub(crate) fn linearize(kind: TangentKind, h: f64, gradients: &[f32], materials: &[f32], state: &mut [f32]) {
    for_each_block_mut(state, PIECE * BLOCK, |begin, state| {
        let first = begin / BLOCK;
        let count = state.len() / BLOCK;
        let gradients = &gradients[first * GRADIENT..(first + count) * GRADIENT];
        let materials = &materials[first * MATERIAL..(first + count) * MATERIAL];
        dispatch(Linearize { kind, h, gradients, materials, state });
    });
}

struct Linearize<'a> {
    kind: TangentKind,
    h: f64,
    gradients: &'a [f32],
    materials: &'a [f32],
    state: &'a mut [f32],
}

impl LaneKernel for Linearize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let blocks = self.gradients.chunks_exact(GRADIENT).zip(self.materials.chunks_exact(MATERIAL));
        for ((gradient, material), state) in blocks.zip(self.state.chunks_exact_mut(BLOCK)) {
            linearize_block::<I::F32>(self.kind, self.h, gradient, material, state);
        }
    }
}

#[inline(always)]
fn linearize_block<F: LaneScalar<Element = f32>>(
    kind: TangentKind,
    h: f64,
    gradient: &[f32],
    material: &[f32],
    state: &mut [f32],
) {
    let mut rows = [[F::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            rows[i][j] = F::load(&gradient[(3 * i + j) * LANES..(3 * i + j + 1) * LANES]);
        }
    }
    let svd = svd3(&Mat3 { rows });
    let (mu, lambda) = (F::load(material), F::load(&material[LANES..]));
    let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
    let trace = sigma[0] + sigma[1] + sigma[2];
    let c = lambda * (trace - F::splat(3.0)) - mu * F::splat(2.0);
    // A cell of stretch 1 has sums of 2: what is far below has no direction to turn in.
    let least = F::splat(LEAST_STRETCH) * F::max(sigma[0], F::splat(LEAST_STRETCH));
    let mut d = [F::zero(); 3];
    for i in 0..3 {
        let exact = c / F::max(trace - sigma[i], least);
        d[i] = match kind {
            TangentKind::Definite => F::max(exact, -mu),
            TangentKind::Exact => exact,
            TangentKind::Warped => -mu,
            TangentKind::Frozen => F::zero(),
        };
    }
    let q = quaternion(&svd.rotation());
    let root = F::splat(std::f64::consts::SQRT_2);
    let scale = F::splat(h / 16.0);
    let mut out = [F::zero(); 12];
    for k in 0..4 {
        out[k] = q[k] * root;
    }
    out[4] = mu * F::splat(h / 8.0);
    out[5] = lambda * scale;
    // R V = U: L' in the world is U d Uᵀ.
    let u = &svd.u.rows;
    let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (k, (a, b)) in pairs.into_iter().enumerate() {
        let mut sum = F::zero();
        for i in 0..3 {
            sum = (u[a][i] * u[b][i]).mul_add(d[i], sum);
        }
        out[6 + k] = sum * scale;
    }
    for (value, row) in out.iter().zip(state.chunks_exact_mut(LANES)) {
        value.store(row);
    }
}

/// Unit quaternion of a rotation: the largest of its four candidates by magnitude, which loses no digits.
#[inline(always)]
fn quaternion<F: LaneScalar<Element = f32>>(r: &Mat3<F>) -> [F; 4] {
    let one = F::one();
    let [[a, b, c], [d, e, f], [g, h, i]] = r.rows;
    let squares = [one + a + e + i, one + a - e - i, one - a + e - i, one - a - e + i];
    let candidates = [
        [squares[0], h - f, c - g, d - b],
        [h - f, squares[1], b + d, g + c],
        [c - g, b + d, squares[2], f + h],
        [d - b, g + c, f + h, squares[3]],
    ];
    let (mut best, mut q) = (squares[0], candidates[0]);
    for k in 1..4 {
        let is_better = squares[k].gt(best);
        best = F::select(is_better, squares[k], best);
        for n in 0..4 {
            q[n] = F::select(is_better, candidates[k][n], q[n]);
        }
    }
    let mut norm = F::zero();
    for part in q {
        norm = part.mul_add(part, norm);
    }
    let scale = norm.rsqrt();
    [q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale]
}

/// Deformation gradients of all blocks from displacements in slots: F = I + Σ signs u / 4h.
pub(crate) fn gradients_of(layout: &Layout, h: f64, u: &[f32], gradients: &mut [f32]) {
    for_each_layer_of_blocks(layout, GRADIENT, gradients, &|plane, gradients, first| {
        dispatch(Gradients { layout, plane, h, u, gradients, first });
    });
}

struct Gradients<'a> {
    layout: &'a Layout,
    plane: usize,
    h: f64,
    u: &'a [f32],
    gradients: &'a mut [f32],
    /// First block of the layer.
    first: usize,
}

impl LaneKernel for Gradients<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let scale = I::F32::splat(0.25 / self.h);
        for_each_cell_tile(self.layout, self.plane, |block, corners| {
            let block = block - self.first;
            let out = &mut self.gradients[block * GRADIENT..(block + 1) * GRADIENT];
            for i in 0..3 {
                let mut modes = [I::F32::zero(); 3];
                for (k, corner) in corners.iter().enumerate() {
                    let at = corner.at + i * corner.stride;
                    let value = I::F32::load(&self.u[at..at + LANES]);
                    for (axis, mode) in modes.iter_mut().enumerate() {
                        *mode = if k >> axis & 1 == 1 { *mode + value } else { *mode - value };
                    }
                }
                for j in 0..3 {
                    let rest = I::F32::splat(if i == j { 1.0 } else { 0.0 });
                    modes[j].mul_add(scale, rest).store(&mut out[(3 * i + j) * LANES..(3 * i + j + 1) * LANES]);
                }
            }
        });
    }
}

/// Where a corner of sixteen cells is, in the array of the level.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Corner {
    pub at: usize,
    pub stride: usize,
}

/// Calls with every block above a plane and its eight corners.
#[inline(always)]
pub(crate) fn for_each_cell_tile(layout: &Layout, plane: usize, mut visit: impl FnMut(usize, &[Corner; 8])) {
    for segment in layout.segments(plane).iter().filter(|segment| !segment.is_empty_of_cells()) {
        let row = segment.row as usize;
        for tile in segment.first as usize..segment.last as usize {
            let mut corners = [Corner::default(); 8];
            for (k, corner) in corners.iter_mut().enumerate() {
                let (dx, dy, dz) = (k & 1, k >> 1 & 1, k >> 2);
                let line = layout.row(plane + dz, row + dy);
                *corner =
                    Corner { at: layout.plane(plane + dz).start + line.tile(tile) + dx, stride: line.stride as usize };
            }
            visit(segment.block as usize + tile - segment.first as usize, &corners);
        }
    }
}

/// Adds the diagonal of K, component by component.
pub(crate) fn add_diagonal(layout: &Layout, state: &[f32], modes: ModeStiffness, diagonal: &mut [f32]) {
    for_each_layer(layout, diagonal, &|plane, diagonal, offset| {
        dispatch(Diagonal { layout, plane, state, modes, diagonal, offset });
    });
}

struct Diagonal<'a> {
    layout: &'a Layout,
    plane: usize,
    state: &'a [f32],
    modes: ModeStiffness,
    diagonal: &'a mut [f32],
    offset: usize,
}

impl LaneKernel for Diagonal<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let laplace = I::F32::splat(3.0 + 3.0 * self.modes.bilinear + self.modes.trilinear);
        for_each_cell_tile(self.layout, self.plane, |block, corners| {
            let state = &self.state[block * BLOCK..(block + 1) * BLOCK];
            // Opposite corners have the same diagonal.
            for k in 0..4 {
                let sum = corner_diagonal::<I::F32>(state, k, laplace);
                for corner in [corners[k], corners[7 - k]] {
                    for (c, &value) in sum.iter().enumerate() {
                        let at = corner.at + c * corner.stride - self.offset;
                        let entry = &mut self.diagonal[at..at + LANES];
                        (I::F32::load(entry) + value).store(entry);
                    }
                }
            }
        });
    }
}

/// λ'ρᵢ² + (ρ × eᵢ)ᵀ L' (ρ × eᵢ) + μ' Σ modes, with ρ = Σ ± rⱼ.
#[inline(always)]
fn corner_diagonal<F: LaneScalar<Element = f32>>(state: &[f32], corner: usize, laplace: F) -> [F; 3] {
    let mut s = [F::zero(); 12];
    for (value, row) in s.iter_mut().zip(state.chunks_exact(LANES)) {
        *value = F::load(row);
    }
    let r = columns([s[0], s[1], s[2], s[3]]);
    let mut rho = [F::zero(); 3];
    for (j, column) in r.iter().enumerate() {
        for c in 0..3 {
            rho[c] = if corner >> j & 1 == 1 { rho[c] + column[c] } else { rho[c] - column[c] };
        }
    }
    let [xx, yy, zz, xy, xz, yz] = [s[6], s[7], s[8], s[9], s[10], s[11]];
    let two = F::splat(2.0);
    let [x, y, z] = rho;
    let base = s[4] * laplace;
    [
        base + s[5] * x * x + (yy * z * z + zz * y * y - two * yz * y * z),
        base + s[5] * y * y + (xx * z * z + zz * x * x - two * xz * x * z),
        base + s[5] * z * z + (xx * y * y + yy * x * x - two * xy * x * y),
    ]
}
