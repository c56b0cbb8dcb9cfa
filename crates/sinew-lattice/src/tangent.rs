//! The tangent of each cell, with its rotation and definite rotational part (MCA-13), and the diagonal of K (MCA-39).

use std::sync::atomic::{AtomicBool, Ordering};

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::svd3::svd3;
use sinew_math::{LaneScalar, Mat3, Scalar};

use crate::fibers::PULL;
use crate::kernel::{BLOCK, BULK, MOMENT, ModeStiffness, columns};
use crate::layers::for_each_layer;
use crate::layout::{LANES, Layout, Segment};
use crate::volume::VolumeLaw;

/// Values in the deformation gradients of a block: rows of Fxx, Fxy, …, Fzz.
pub(crate) const GRADIENT: usize = 9 * LANES;
/// Values in the materials of a block: rows of μ and λ.
pub(crate) const MATERIAL: usize = 2 * LANES;

/// Blocks per parallel chunk.
const PIECE: usize = 64;

/// Smallest sum of two stretches relative to the largest stretch. Below it the rotation is ill-defined: MCA-13's
/// denominators are clamped to it.
const MIN_STRETCH: f64 = 1e-2;

/// Type of tangent; the last two are for comparison (MCA-16..18).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TangentKind {
    /// Definite (Algorithm 1).
    #[default]
    Definite,
    /// The exact one, which may be indefinite.
    Exact,
    /// The exact tangent plus this fraction of the definiteness correction: 0 exact, 1 definite.
    Blend(f64),
    /// Rotations do not change the stress: L = −μ.
    Warped,
    /// Rotations are frozen: L = 0.
    Frozen,
}

impl TangentKind {
    /// The tangent for cycles: a preconditioner must be definite, so this replaces possibly indefinite tangents.
    pub(crate) fn for_cycles(self) -> Self {
        match self {
            Self::Exact | Self::Blend(_) => Self::Definite,
            kind => kind,
        }
    }

    /// Missing fraction of the definiteness correction: 0 if cycles and products use the same tangent.
    pub(crate) fn missing_share(self) -> f64 {
        match self {
            Self::Exact => 1.0,
            Self::Blend(share) => (1.0 - share).clamp(0.0, 1.0),
            Self::Definite | Self::Warped | Self::Frozen => 0.0,
        }
    }
}

/// Inputs of tangents besides deformation gradients.
#[derive(Clone, Copy)]
pub(crate) struct TangentOf<'a> {
    pub kind: TangentKind,
    /// Edge of the cubes \[m\].
    pub h: f64,
    /// Factor on all of K.
    pub scale: f64,
    pub materials: &'a [f32],
    pub volume: VolumeLaw,
    pub role: Role,
}

/// Use of the tangent with a determinant volume law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Products.
    Product,
    /// Cycles: no cell is much stiffer than at rest, since one stiff cell among soft ones raises the largest eigenvalue
    /// of D⁻¹K.
    Cycle,
    /// Cycles of coarse levels. Their deformation gradients are means over finer cells, and shorter, so their size says
    /// nothing about volume.
    CoarseCycle,
}

/// Largest stretch in volume tangents: beyond it f32 could overflow.
const MAX_STRETCH: f64 = 1e3;
/// Largest stiffness of a cell in cycles, relative to rest.
const MAX_STIFFENING: f64 = 1.2;
/// Power iterations for the stiffest stretch.
const POWERS: usize = 6;

/// Computes the state of all blocks for cycles, and for products if that array is not empty; returns whether the two
/// differ in some cell. With a determinant volume law, computes only the state for one role, and its bulk.
pub(crate) fn linearize(
    of: TangentOf<'_>,
    gradients: &[f32],
    state: &mut [f32],
    products: &mut [f32],
    bulk: &mut [f32],
) -> bool {
    let differs = AtomicBool::new(false);
    let piece = |first: usize, state: &mut [f32], products: &mut [f32], bulk: &mut [f32]| {
        let count = state.len() / BLOCK;
        let gradients = &gradients[first * GRADIENT..(first + count) * GRADIENT];
        let materials = &of.materials[first * MATERIAL..(first + count) * MATERIAL];
        if dispatch(Linearize { of: TangentOf { materials, ..of }, gradients, state, products, bulk }) {
            differs.store(true, Ordering::Relaxed);
        }
    };
    let blocks = state.len() / BLOCK;
    in_pieces(0, blocks, state, products, bulk, &piece);
    differs.into_inner()
}

/// Splits blocks among threads.
fn in_pieces(
    first: usize,
    count: usize,
    state: &mut [f32],
    products: &mut [f32],
    bulk: &mut [f32],
    piece: &(impl Fn(usize, &mut [f32], &mut [f32], &mut [f32]) + Sync),
) {
    if count <= PIECE {
        piece(first, state, products, bulk);
        return;
    }
    let half = count / 2;
    let cut = |size: usize, values: &[f32]| if values.is_empty() { 0 } else { half * size };
    let (state_cut, products_cut, bulk_cut) = (cut(BLOCK, state), cut(BLOCK, products), cut(BULK, bulk));
    let (state, state_right) = state.split_at_mut(state_cut);
    let (products, products_right) = products.split_at_mut(products_cut);
    let (bulk, bulk_right) = bulk.split_at_mut(bulk_cut);
    rayon::join(
        || in_pieces(first, half, state, products, bulk, piece),
        || in_pieces(first + half, count - half, state_right, products_right, bulk_right, piece),
    );
}

struct Linearize<'a> {
    of: TangentOf<'a>,
    gradients: &'a [f32],
    state: &'a mut [f32],
    products: &'a mut [f32],
    bulk: &'a mut [f32],
}

impl LaneKernel for Linearize<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let mut differs = false;
        let blocks = self.gradients.chunks_exact(GRADIENT).zip(self.of.materials.chunks_exact(MATERIAL));
        for (block, ((gradient, material), state)) in blocks.zip(self.state.chunks_exact_mut(BLOCK)).enumerate() {
            let of = TangentOf { materials: material, ..self.of };
            let products: &mut [f32] = match self.products.is_empty() {
                true => &mut [],
                false => &mut self.products[block * BLOCK..(block + 1) * BLOCK],
            };
            let bulk: &mut [f32] = match self.bulk.is_empty() {
                true => &mut [],
                false => &mut self.bulk[block * BULK..(block + 1) * BULK],
            };
            differs |= linearize_block::<I::F32>(of, gradient, state, products, bulk);
        }
        differs
    }
}

/// See [`linearize`].
#[inline(always)]
fn linearize_block<F: LaneScalar<Element = f32>>(
    of: TangentOf<'_>,
    gradient: &[f32],
    state: &mut [f32],
    products: &mut [f32],
    bulk: &mut [f32],
) -> bool {
    let TangentOf { kind, h, scale, materials, .. } = of;
    let mut rows = [[F::zero(); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            rows[i][j] = F::load(&gradient[(3 * i + j) * LANES..(3 * i + j + 1) * LANES]);
        }
    }
    let svd = svd3(&Mat3 { rows });
    let (mu, lambda) = (F::load(materials), F::load(&materials[LANES..]));
    let sigma = [svd.sigma.x, svd.sigma.y, svd.sigma.z];
    let trace = sigma[0] + sigma[1] + sigma[2];
    let strain = if of.volume == VolumeLaw::Trace { trace - F::splat(3.0) } else { F::zero() };
    let c = lambda * strain - mu * F::splat(2.0);
    // A cell of stretch 1 has sums of 2; sums far below define no rotation.
    let least = F::splat(MIN_STRETCH) * F::max(sigma[0], F::splat(MIN_STRETCH));
    let missing = F::splat(kind.missing_share());
    let mut least_turn = -mu;
    let mut push = [F::zero(); 3];
    if !bulk.is_empty() {
        let stretched = Stretched::of(of.role, [mu, lambda], sigma);
        least_turn = -stretched.shear;
        for i in 0..3 {
            push[i] = mu - stretched.shear + F::splat(0.5) * stretched.pressure * sigma[i];
        }
        let root = F::splat((scale * h / 16.0).sqrt());
        for j in 0..3 {
            for c in 0..3 {
                let mut sum = F::zero();
                for k in 0..3 {
                    sum = (svd.u.rows[c][k] * stretched.stiffest[k]).mul_add(svd.v.rows[j][k], sum);
                }
                (sum * root).store(&mut bulk[(3 * j + c) * LANES..(3 * j + c + 1) * LANES]);
            }
        }
        (stretched.shear * F::splat(scale * h / 8.0)).store(&mut bulk[9 * LANES..10 * LANES]);
    }
    let mut differs = false;
    let (mut d, mut d_products) = ([F::zero(); 3], [F::zero(); 3]);
    for i in 0..3 {
        let exact = c / F::max(trace - sigma[i], least) + push[i];
        d[i] = match kind.for_cycles() {
            TangentKind::Warped => least_turn,
            TangentKind::Frozen => F::zero(),
            _ => F::max(exact, least_turn),
        };
        // d + missing (exact − d), bit-exact where all of it is missing.
        let is_softer = exact.lt(least_turn);
        let softer = if kind.missing_share() == 1.0 { exact } else { missing.mul_add(exact - d[i], d[i]) };
        d_products[i] = F::select(is_softer, softer, d[i]);
        differs |= F::any(is_softer);
    }
    let q = quaternion(&svd.rotation());
    let root = F::splat(std::f64::consts::SQRT_2);
    let scale_mu = F::splat(scale * h / 8.0);
    let scale = F::splat(scale * h / 16.0);
    let mut out = [F::zero(); 12];
    for k in 0..4 {
        out[k] = q[k] * root;
    }
    out[4] = mu * scale_mu;
    out[5] = lambda * scale;
    turning_part(&svd.u.rows, if of.role == Role::Product { d_products } else { d }, scale, &mut out);
    for (value, row) in out.iter().zip(state.chunks_exact_mut(LANES)) {
        value.store(row);
    }
    if !products.is_empty() {
        turning_part(&svd.u.rows, d_products, scale, &mut out);
        for (value, row) in out.iter().zip(products.chunks_exact_mut(LANES)) {
            value.store(row);
        }
    }
    differs && kind.missing_share() > 0.0
}

/// The stretch tangent with a determinant volume law, A = 2μ I + λ c cᵀ + p S, approximated by 2 `shear` I + `stiffest`
/// `stiffest`ᵀ; see [`crate::volume`].
struct Stretched<F> {
    /// p = λ (J − 1).
    pressure: F,
    shear: F,
    stiffest: [F; 3],
}

impl<F: LaneScalar<Element = f32>> Stretched<F> {
    #[inline(always)]
    fn of(role: Role, [mu, lambda]: [F; 2], sigma: [F; 3]) -> Self {
        let (zero, half, two) = (F::zero(), F::splat(0.5), F::splat(2.0));
        let most = F::splat(MAX_STRETCH);
        let mut s = sigma;
        for s in &mut s {
            *s = F::max(F::min(*s, most), -most);
        }
        let mut c = [s[1] * s[2], s[0] * s[2], s[0] * s[1]];
        let mut pressure = lambda * (s[0] * c[0] - F::one());
        if role == Role::CoarseCycle {
            // As long as the columns of a rotation.
            let square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
            let factor = (F::max(square, F::splat(1e-12)) * F::splat(1.0 / 3.0)).rsqrt();
            for c in &mut c {
                *c *= factor;
            }
            pressure = zero;
        }
        let mut a = [[zero; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                let beside = if i == j { two * mu } else { pressure * s[3 - i - j] };
                a[i][j] = (lambda * c[i]).mul_add(c[j], beside);
            }
        }
        // Power iteration from the vector that is exact without pressure.
        let (mut v, mut top) = (c, zero);
        for _ in 0..POWERS {
            let square = F::max(v[0] * v[0] + v[1] * v[1] + v[2] * v[2], F::splat(1e-20));
            let scale = square.rsqrt();
            let unit = [v[0] * scale, v[1] * scale, v[2] * scale];
            for i in 0..3 {
                v[i] = a[i][0].mul_add(unit[0], a[i][1].mul_add(unit[1], a[i][2] * unit[2]));
            }
            top = v[0].mul_add(unit[0], v[1].mul_add(unit[1], v[2] * unit[2]));
        }
        // The rest: two stretches, and shear in three planes.
        let stretches = a[0][0] + a[1][1] + a[2][2] - top;
        let shears = F::splat(3.0).mul_add(two * mu, -(pressure * (s[0] + s[1] + s[2])));
        let mut shear = F::max((stretches + shears) * F::splat(0.1), half * mu);
        if role == Role::Cycle {
            shear = F::min(shear, F::splat(MAX_STIFFENING) * mu);
            top = F::min(top, two * shear + F::splat(3.0 * MAX_STIFFENING) * F::max(lambda, zero));
        }
        let square = F::max(v[0] * v[0] + v[1] * v[1] + v[2] * v[2], F::splat(1e-20));
        let size = F::max(top - two * shear, zero).sqrt() * square.rsqrt();
        Self { pressure, shear, stiffest: [v[0] * size, v[1] * size, v[2] * size] }
    }
}

/// L' in world axes is U d Uᵀ, since R V = U.
#[inline(always)]
fn turning_part<F: LaneScalar<Element = f32>>(u: &[[F; 3]; 3], d: [F; 3], scale: F, out: &mut [F; 12]) {
    let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (k, (a, b)) in pairs.into_iter().enumerate() {
        let mut sum = F::zero();
        for i in 0..3 {
            sum = (u[a][i] * u[b][i]).mul_add(d[i], sum);
        }
        out[6 + k] = sum * scale;
    }
}

/// Unit quaternion of a rotation, from the largest of its four components, which avoids cancellation.
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

/// Position of a corner of sixteen cells, in the array of the level.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Corner {
    pub at: usize,
    pub stride: usize,
}

/// Positions of the eight corners of a tile of cells above a plane.
#[inline(always)]
pub(crate) fn corners_of(layout: &Layout, plane: usize, segment: &Segment, tile: usize) -> [Corner; 8] {
    let mut corners = [Corner::default(); 8];
    for k in 0..8 {
        let (dx, dy, dz) = (k & 1, k >> 1 & 1, k >> 2);
        let line = layout.row(plane + dz, segment.row as usize + dy);
        corners[k] = Corner { at: layout.plane(plane + dz).start + line.tile(tile) + dx, stride: line.stride as usize };
    }
    corners
}

/// Adds the diagonal of K, component by component.
pub(crate) fn add_diagonal(
    layout: &Layout,
    state: &[f32],
    modes: ModeStiffness,
    moments: &[f32],
    fibers: &[f32],
    bulk: &[f32],
    diagonal: &mut [f32],
) {
    for_each_layer(layout, diagonal, &|plane, diagonal, offset| {
        dispatch(Diagonal { layout, plane, state, modes, moments, fibers, bulk, diagonal, offset });
    });
}

struct Diagonal<'a> {
    layout: &'a Layout,
    plane: usize,
    state: &'a [f32],
    modes: ModeStiffness,
    moments: &'a [f32],
    fibers: &'a [f32],
    bulk: &'a [f32],
    diagonal: &'a mut [f32],
    offset: usize,
}

impl LaneKernel for Diagonal<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let laplace = [I::F32::splat(3.0), I::F32::splat(3.0 * self.modes.bilinear + self.modes.trilinear)];
        for segment in self.layout.segments(self.plane) {
            for tile in segment.cell_tiles() {
                let corners = corners_of(self.layout, self.plane, segment, tile);
                let block = segment.block_of(tile);
                let state = &self.state[block * BLOCK..(block + 1) * BLOCK];
                let bulk = if self.bulk.is_empty() { &[][..] } else { &self.bulk[block * BULK..(block + 1) * BULK] };
                if !self.moments.is_empty() {
                    let moments = &self.moments[block * MOMENT..(block + 1) * MOMENT];
                    for k in 0..8 {
                        let (weights, laplace) = corner_off_center::<I::F32>(moments, k);
                        let mut sum = corner_diagonal::<I::F32>(state, bulk, weights, laplace);
                        if !self.fibers.is_empty() {
                            add_fiber_diagonal(&self.fibers[block * PULL..(block + 1) * PULL], weights, &mut sum);
                        }
                        add_corner(sum, &corners[k], self.diagonal, self.offset);
                    }
                    continue;
                }
                // Opposite corners have the same diagonal.
                for k in 0..4 {
                    let weights = [corner_sign::<I::F32>(k, 0), corner_sign(k, 1), corner_sign(k, 2)];
                    let sum = corner_diagonal::<I::F32>(state, bulk, weights, laplace);
                    add_corner(sum, &corners[k], self.diagonal, self.offset);
                    add_corner(sum, &corners[7 - k], self.diagonal, self.offset);
                }
            }
        }
    }
}

#[inline(always)]
fn add_corner<F: LaneScalar<Element = f32>>(sum: [F; 3], corner: &Corner, diagonal: &mut [f32], offset: usize) {
    for (c, &value) in sum.iter().enumerate() {
        let at = corner.at + c * corner.stride - offset;
        let entry = &mut diagonal[at..at + LANES];
        (F::load(entry) + value).store(entry);
    }
}

/// Sign of a corner along an axis.
#[inline(always)]
fn corner_sign<F: LaneScalar<Element = f32>>(corner: usize, axis: usize) -> F {
    F::splat(if corner >> axis & 1 == 1 { 1.0 } else { -1.0 })
}

/// Weights of a corner in the linear modes of cells with off-center material; the sum of their squares; and the sum of
/// squared weights in the other modes, times their factors.
#[inline(always)]
fn corner_off_center<F: LaneScalar<Element = f32>>(moments: &[f32], corner: usize) -> ([F; 3], [F; 2]) {
    let one = F::one();
    let mut along = [one; 3];
    for axis in 0..3 {
        along[axis] += F::load(&moments[axis * LANES..]) * corner_sign(corner, axis);
    }
    let weights = [
        corner_sign::<F>(corner, 0) * along[1] * along[2],
        corner_sign::<F>(corner, 1) * along[0] * along[2],
        corner_sign::<F>(corner, 2) * along[0] * along[1],
    ];
    let linear = weights[0] * weights[0] + weights[1] * weights[1] + weights[2] * weights[2];
    let mut beyond = F::zero();
    for k in 3..7 {
        beyond += F::load(&moments[k * LANES..]);
    }
    (weights, [linear, beyond])
}

/// Adds the fiber term (Σ aⱼ wⱼ)² Sᵢᵢ.
#[inline(always)]
fn add_fiber_diagonal<F: LaneScalar<Element = f32>>(fibers: &[f32], weights: [F; 3], sum: &mut [F; 3]) {
    let mut along = F::zero();
    for (j, weight) in weights.into_iter().enumerate() {
        along = F::load(&fibers[j * LANES..]).mul_add(weight, along);
    }
    for (c, sum) in sum.iter_mut().enumerate() {
        *sum = (along * along).mul_add(F::load(&fibers[(3 + c) * LANES..]), *sum);
    }
}

/// λ'ρᵢ² + (ρ × eᵢ)ᵀ L' (ρ × eᵢ) + μ' Σ modes, with ρ = Σ wⱼ rⱼ. For cells with bulk, Σ wⱼ gⱼ replaces √λ' ρ.
#[inline(always)]
fn corner_diagonal<F: LaneScalar<Element = f32>>(
    state: &[f32],
    bulk: &[f32],
    weights: [F; 3],
    [linear, beyond]: [F; 2],
) -> [F; 3] {
    let mut s = [F::zero(); 12];
    for (value, row) in s.iter_mut().zip(state.chunks_exact(LANES)) {
        *value = F::load(row);
    }
    let r = columns([s[0], s[1], s[2], s[3]]);
    let mut rho = [F::zero(); 3];
    for (j, column) in r.iter().enumerate() {
        for c in 0..3 {
            rho[c] = weights[j].mul_add(column[c], rho[c]);
        }
    }
    let [xx, yy, zz, xy, xz, yz] = [s[6], s[7], s[8], s[9], s[10], s[11]];
    let two = F::splat(2.0);
    let [x, y, z] = rho;
    let mut base = s[4] * (linear + beyond);
    let mut push = [s[5] * x * x, s[5] * y * y, s[5] * z * z];
    if !bulk.is_empty() {
        base = s[4].mul_add(beyond, F::load(&bulk[9 * LANES..]) * linear);
        for (c, push) in push.iter_mut().enumerate() {
            let mut sum = F::zero();
            for (j, weight) in weights.into_iter().enumerate() {
                sum = weight.mul_add(F::load(&bulk[(3 * j + c) * LANES..]), sum);
            }
            *push = sum * sum;
        }
    }
    [
        base + push[0] + (yy * z * z + zz * y * y - two * yz * y * z),
        base + push[1] + (xx * z * z + zz * x * x - two * xz * x * z),
        base + push[2] + (xx * y * y + yy * x * x - two * xy * x * y),
    ]
}
