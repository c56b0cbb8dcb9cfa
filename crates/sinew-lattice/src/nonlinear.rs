//! Deformation gradients of a level, and its forces at deformations far from the linearization point: the nonlinear
//! counterpart of K x.
//!
//! The deformation gradient of a cell is an offset plus the gradient of a correction, F = F₀ + G u (MCA-37). Offsets
//! come from the finer level, so coarse levels store no displacements; rotations are those of F. The higher modes,
//! which one-point quadrature does not see, are linear in u.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::svd3::svd3;
use sinew_math::{LaneScalar, Mat3, Scalar};

use crate::fibers::{load_columns, load_pull};
use crate::kernel::{BLOCK, MOMENT, ModeStiffness, columns};
use crate::layers::{for_each_layer, for_each_layer_of_blocks};
use crate::layout::{LANES, Layout};
use crate::precise::{transform, transform_back};
use crate::tangent::{Corner, GRADIENT, corners_of};
use crate::volume::{VolumeLaw, cofactor_columns};

/// Blocks per parallel chunk.
const PIECE: usize = 64;

/// Inputs of a level's forces besides corrections.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub layout: &'a Layout,
    /// Edge of the cubes \[m\].
    pub h: f64,
    pub modes: ModeStiffness,
    /// Moments of blocks; empty if all cells are full.
    pub moments: &'a [f32],
    /// Fibers at rest, and α σ₀ of each lane; empty without fibers.
    pub fibers: &'a [f32],
    pub active: &'a [f32],
    pub volume: VolumeLaw,
    /// Factor on all forces.
    pub scale: f64,
}

/// gradients = offsets + G u; without offsets, I + G u.
pub(crate) fn gradients_of(cells: Cells<'_>, offsets: &[f32], u: &[f32], gradients: &mut [f32]) {
    for_each_layer_of_blocks(cells.layout, GRADIENT, gradients, &|plane, gradients, first| {
        dispatch(Gradients { cells, plane, offsets, u, gradients, first });
    });
}

/// out = ∂E/∂u at these deformation gradients, whose rotations are in `state`. Slots of seams hold parts of a sum.
pub(crate) fn forces(cells: Cells<'_>, state: &[f32], gradients: &[f32], u: &[f32], out: &mut [f32]) {
    for_each_block_mut(&mut *out, SUM_BLOCK, |_, out: &mut [f32]| out.fill(0.0));
    for_each_layer(cells.layout, out, &|plane, out, offset| {
        dispatch(Forces { cells, plane, state, gradients, u, out, offset });
    });
}

/// Removes compression from deformation gradients: stretches below one become one.
pub(crate) fn decompress(gradients: &mut [f32]) {
    for_each_block_mut(gradients, PIECE * GRADIENT, |_, gradients: &mut [f32]| dispatch(Decompress { gradients }));
}

struct Decompress<'a> {
    gradients: &'a mut [f32],
}

impl LaneKernel for Decompress<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for block in self.gradients.chunks_exact_mut(GRADIENT) {
            let mut rows = [[I::F32::zero(); 3]; 3];
            for i in 0..3 {
                for j in 0..3 {
                    rows[i][j] = I::F32::load(&block[(3 * i + j) * LANES..]);
                }
            }
            let svd = svd3(&Mat3 { rows });
            let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
            for i in 0..3 {
                for j in 0..3 {
                    let mut sum = I::F32::zero();
                    for k in 0..3 {
                        let stretch = I::F32::max(sigma[k], I::F32::one());
                        sum = (svd.u.rows[i][k] * stretch).mul_add(svd.v.rows[j][k], sum);
                    }
                    sum.store(&mut block[(3 * i + j) * LANES..(3 * i + j + 1) * LANES]);
                }
            }
        }
    }
}

struct Gradients<'a> {
    cells: Cells<'a>,
    plane: usize,
    offsets: &'a [f32],
    u: &'a [f32],
    gradients: &'a mut [f32],
    /// First block of the layer.
    first: usize,
}

impl LaneKernel for Gradients<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Cells { layout, h, moments, .. } = self.cells;
        let scale = I::F32::splat(0.25 / h);
        for segment in layout.segments(self.plane) {
            for tile in segment.cell_tiles() {
                let block = segment.block_of(tile);
                let mut modes = load_corners::<I::F32>(self.u, &corners_of(layout, self.plane, segment, tile));
                transform(&mut modes);
                let linear = linear_modes(&modes, &center_of(moments, block));
                let out = &mut self.gradients[(block - self.first) * GRADIENT..(block - self.first + 1) * GRADIENT];
                for i in 0..3 {
                    for j in 0..3 {
                        let at = (3 * i + j) * LANES;
                        let offset = match self.offsets.is_empty() {
                            true => I::F32::splat(if i == j { 1.0 } else { 0.0 }),
                            false => I::F32::load(&self.offsets[block * GRADIENT + at..]),
                        };
                        linear[j][i].mul_add(scale, offset).store(&mut out[at..at + LANES]);
                    }
                }
            }
        }
    }
}

struct Forces<'a> {
    cells: Cells<'a>,
    plane: usize,
    state: &'a [f32],
    gradients: &'a [f32],
    u: &'a [f32],
    out: &'a mut [f32],
    offset: usize,
}

impl LaneKernel for Forces<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Cells { layout, h, moments, modes: stiffness, fibers, active, volume, scale } = self.cells;
        for segment in layout.segments(self.plane) {
            for tile in segment.cell_tiles() {
                let block = segment.block_of(tile);
                let corners = corners_of(layout, self.plane, segment, tile);
                let mut modes = load_corners::<I::F32>(self.u, &corners);
                transform(&mut modes);
                let state = &self.state[block * BLOCK..(block + 1) * BLOCK];
                let mu = I::F32::load(&state[4 * LANES..]);
                let mut stress = stress_of::<I::F32>(h, volume, state, &self.gradients[block * GRADIENT..]);
                if !fibers.is_empty() {
                    let pull = load_pull::<I::F32>(fibers, active, block);
                    let pulled = pull.at(&load_columns(self.gradients, block));
                    let share = pulled.tension * pulled.inverse * I::F32::splat(0.25 * scale * h * h);
                    for j in 0..3 {
                        for c in 0..3 {
                            stress[j][c] += share * pulled.forward[c] * pull.direction[j];
                        }
                    }
                }
                let center = center_of::<I::F32>(moments, block);
                let factors = factors_of::<I::F32>(moments, block, stiffness);
                modes[0] = [I::F32::zero(); 3];
                for (k, mode) in [3, 5, 6, 7].into_iter().enumerate() {
                    for value in &mut modes[mode] {
                        *value *= mu * factors[k];
                    }
                }
                for (j, mode) in [1, 2, 4].into_iter().enumerate() {
                    modes[mode] = stress[j];
                }
                if let Some([x, y, z]) = center {
                    for c in 0..3 {
                        let [p, q, r] = [modes[1][c], modes[2][c], modes[4][c]];
                        modes[3][c] += y * p + x * q;
                        modes[5][c] += z * p + x * r;
                        modes[6][c] += z * q + y * r;
                        modes[7][c] += y * z * p + x * z * q + x * y * r;
                    }
                }
                transform_back(&mut modes);
                add_corners(&modes, self.out, self.offset, &corners);
            }
        }
    }
}

/// Columns of h² P / 4, P = 2μ (F − R) + λ tr(RᵀF − I) R or 2μ (F − R) + λ (J − 1) cof F.
#[inline(always)]
fn stress_of<F: LaneScalar<Element = f32>>(h: f64, volume: VolumeLaw, state: &[f32], gradients: &[f32]) -> [[F; 3]; 3] {
    let mut s = [F::zero(); 6];
    for (value, row) in s.iter_mut().zip(state.chunks_exact(LANES)) {
        *value = F::load(row);
    }
    let r = columns([s[0], s[1], s[2], s[3]]);
    let mut f = [[F::zero(); 3]; 3];
    let mut trace = -F::splat(3.0);
    for i in 0..3 {
        for j in 0..3 {
            f[j][i] = F::load(&gradients[(3 * i + j) * LANES..]);
            trace = r[j][i].mul_add(f[j][i], trace);
        }
    }
    let size = F::splat(4.0 * h);
    let (mut g, mut change) = (r, trace);
    if volume == VolumeLaw::Determinant {
        g = cofactor_columns(&f);
        change = -F::one();
        for c in 0..3 {
            change = f[0][c].mul_add(g[0][c], change);
        }
    }
    let (mu, push) = (s[4] * size, s[5] * size * change);
    for j in 0..3 {
        for i in 0..3 {
            f[j][i] = mu.mul_add(f[j][i] - r[j][i], push * g[j][i]);
        }
    }
    f
}

/// Linear modes at the center of the material; see [`crate::moments`].
#[inline(always)]
fn linear_modes<F: Scalar>(modes: &[[F; 3]; 8], center: &Option<[F; 3]>) -> [[F; 3]; 3] {
    let mut m = [modes[1], modes[2], modes[4]];
    if let &Some([x, y, z]) = center {
        for c in 0..3 {
            m[0][c] += y * modes[3][c] + z * modes[5][c] + y * z * modes[7][c];
            m[1][c] += x * modes[3][c] + z * modes[6][c] + x * z * modes[7][c];
            m[2][c] += x * modes[5][c] + y * modes[6][c] + x * y * modes[7][c];
        }
    }
    m
}

#[inline(always)]
fn center_of<F: LaneScalar<Element = f32>>(moments: &[f32], block: usize) -> Option<[F; 3]> {
    if moments.is_empty() {
        return None;
    }
    let rows = &moments[block * MOMENT..];
    Some([F::load(rows), F::load(&rows[LANES..]), F::load(&rows[2 * LANES..])])
}

/// Factors of the modes xy, xz, yz and xyz.
#[inline(always)]
fn factors_of<F: LaneScalar<Element = f32>>(moments: &[f32], block: usize, modes: ModeStiffness) -> [F; 4] {
    let mut factors =
        [F::splat(modes.bilinear), F::splat(modes.bilinear), F::splat(modes.bilinear), F::splat(modes.trilinear)];
    if !moments.is_empty() {
        for (k, factor) in factors.iter_mut().enumerate() {
            *factor = F::load(&moments[block * MOMENT + (3 + k) * LANES..]);
        }
    }
    factors
}

#[inline(always)]
pub(crate) fn load_corners<F: LaneScalar<Element = f32>>(u: &[f32], corners: &[Corner; 8]) -> [[F; 3]; 8] {
    let mut nodes = [[F::zero(); 3]; 8];
    for (corner, node) in corners.iter().zip(&mut nodes) {
        for (c, value) in node.iter_mut().enumerate() {
            *value = F::load(&u[corner.at + c * corner.stride..]);
        }
    }
    nodes
}

#[inline(always)]
fn add_corners<F: LaneScalar<Element = f32>>(
    nodes: &[[F; 3]; 8],
    out: &mut [f32],
    offset: usize,
    corners: &[Corner; 8],
) {
    for (corner, node) in corners.iter().zip(nodes) {
        for (c, &value) in node.iter().enumerate() {
            let at = corner.at + c * corner.stride - offset;
            let sum = &mut out[at..at + LANES];
            (F::load(sum) + value).store(sum);
        }
    }
}
