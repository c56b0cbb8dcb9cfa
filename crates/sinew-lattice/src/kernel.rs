//! The product K x of a lattice, row by row, fused with a smoother sweep in the same pass.
//!
//! The Laplacian over the edges of a cube is diagonal in its eight sign (Walsh) modes, and the three linear modes are
//! the deformation gradient (MCA-08, MCA-10). So a cell applies a transform, a product per mode, and the inverse
//! transform:
//! ```math
//! P_j = \mu' m_j + \lambda' t\, r_j + (L' b) \times r_j, \qquad t = \sum_j r_j \cdot m_j, \quad b = \sum_j r_j \times m_j
//! ```
//! for the linear modes mⱼ (sums of the corners with the sign of axis j) and the columns rⱼ of the rotation, and a
//! multiple of μ' for every other mode. Scale factors are folded in: μ' = μh/8, λ' = λh/16, L' = R L Rᵀ h/16. If the
//! volume measure is det F ([`crate::VolumeLaw`]), √λ' cof F replaces √λ' R in the second term, and the first term has
//! its own modulus.
//!
//! The transform is separable, so neighboring cells share its parts: along x by shifted loads, along y by rows carried
//! forward (`carry`), along z by one plane of sums (`part`). A row of nodes is updated once its old values are no
//! longer read, so a Jacobi or Chebyshev sweep works in place with the same result as with a second array.

use std::ops::Range;

use sinew_math::lanes::prefetch;
use sinew_math::{LaneScalar, Scalar};

use crate::fibers::PULL;
use crate::layout::{Kind, LANES, Layout, Row, Segment};

/// Rows of state of a block: quaternion times √2, μ', λ', and L' (xx, yy, zz, xy, xz, yz).
pub(crate) const STATE: usize = 12;
/// Values in the state of a block.
pub(crate) const BLOCK: usize = STATE * LANES;
/// Values in the moments of a block: rows of the center of mass (x, y, z) and of the factors of the modes xy, xz, yz
/// and xyz.
pub(crate) const MOMENT: usize = 7 * LANES;
/// Values in the bulk of a block: rows of the columns of √λ' cof F, or of its substitute in compressed cells (see
/// [`crate::volume`]), and of the modulus of the linear modes that replaces μ'.
pub(crate) const BULK: usize = 10 * LANES;
/// Values carried along y per tile: twelve node sums, twelve force sums.
const CARRY: usize = 2 * 12 * LANES;

/// Length of the carried rows of a slab.
pub(crate) fn carry_length(layout: &Layout) -> usize {
    layout.tile_count() * CARRY
}

/// Length of the plane of partial sums of a slab.
pub(crate) fn part_length(layout: &Layout) -> usize {
    layout.row_count() * layout.tile_count() * 3 * LANES
}

/// Stiffness of the higher modes, in units of μ': 2 and 3 in the paper, 2/3 and 1/3 by exact integration (MCA-10).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeStiffness {
    /// Of the three bilinear modes.
    pub bilinear: f64,
    /// Of the trilinear mode.
    pub trilinear: f64,
}

impl ModeStiffness {
    /// The staggered rule of the paper.
    pub const PAPER: Self = Self { bilinear: 2.0, trilinear: 3.0 };
    /// The exact integral of the trilinear cell.
    pub const EXACT: Self = Self { bilinear: 2.0 / 3.0, trilinear: 1.0 / 3.0 };
}

/// Blocks of state to prefetch ahead.
const BLOCKS_AHEAD: usize = 6;

/// Loads sixteen values.
///
/// # Safety
/// They are within the slice.
#[inline(always)]
unsafe fn load<F: LaneScalar<Element = f32>>(values: &[f32], at: usize) -> F {
    debug_assert!(at + LANES <= values.len(), "{at} of {}", values.len());
    // SAFETY: the caller promises it.
    F::load(unsafe { values.get_unchecked(at..at + LANES) })
}

/// Stores sixteen values.
///
/// # Safety
/// They are within the slice.
#[inline(always)]
unsafe fn store<F: LaneScalar<Element = f32>>(value: F, values: &mut [f32], at: usize) {
    debug_assert!(at + LANES <= values.len(), "{at} of {}", values.len());
    // SAFETY: the caller promises it.
    value.store(unsafe { values.get_unchecked_mut(at..at + LANES) });
}

/// Consumer of finished values of K x. `at` holds the offsets of the three components from the start of the plane; each
/// is a multiple of sixteen.
pub(crate) trait Finish<F> {
    /// `x` is the current plane of x.
    ///
    /// # Safety
    /// The sixteen values from each `at` on are within `x`, which is no longer than [`Finish::length`].
    unsafe fn finish(&mut self, x: &mut [f32], at: [usize; 3], product: [F; 3]);

    /// Length of its arrays.
    fn length(&self) -> usize;

    /// Prefetches the values that `finish` will read at `at`.
    #[inline(always)]
    fn prefetch(&self, _at: usize) {}
}

/// The symmetric term A added to K at each node. Entries use the slots of vectors. For a seam only the first slot holds
/// the entries, since the products of its slots are summed.
pub(crate) trait NodalTerm: Copy {
    /// Whether A may be nonzero.
    const IS_SOME: bool = true;

    /// `product` + A x.
    ///
    /// # Safety
    /// The sixteen values from each `at` on are within `x`, which is no longer than [`NodalTerm::length`].
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3];

    /// D⁻¹ r, with the diagonal of D⁻¹ from `inverse`.
    ///
    /// # Safety
    /// The sixteen values from each `at` on are within `inverse`, and no further than [`NodalTerm::length`].
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3];

    /// The part for one plane.
    fn of_plane(&self, values: Range<usize>) -> Self;

    /// Length of its arrays.
    fn length(&self) -> usize;

    /// Prefetches the values at `at`.
    #[inline(always)]
    fn prefetch(&self, _at: usize) {}
}

/// A = 0.
#[derive(Clone, Copy)]
pub(crate) struct NoAnchors;

/// A is diagonal.
#[derive(Clone, Copy)]
pub(crate) struct DiagonalAnchors<'a>(pub &'a [f32]);

/// A as xx, yy, zz and yz, xz, xy; and the entries yz, xz, xy of D⁻¹.
#[derive(Clone, Copy)]
pub(crate) struct FullAnchors<'a> {
    pub diagonal: &'a [f32],
    pub cross: &'a [f32],
    pub inverse_cross: &'a [f32],
}

/// Loads sixteen values of each component.
///
/// # Safety
/// They are within the slice.
#[inline(always)]
unsafe fn load3<F: LaneScalar<Element = f32>>(values: &[f32], at: [usize; 3]) -> [F; 3] {
    // SAFETY: the caller promises it.
    unsafe { [load(values, at[0]), load(values, at[1]), load(values, at[2])] }
}

/// Componentwise products.
#[inline(always)]
fn scaled<F: LaneScalar<Element = f32>>(a: [F; 3], b: [F; 3]) -> [F; 3] {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

/// `sum` + S v, for the symmetric S with entries xx, yy, zz and yz, xz, xy.
#[inline(always)]
fn add_symmetric<F: LaneScalar<Element = f32>>(
    [xx, yy, zz]: [F; 3],
    [yz, xz, xy]: [F; 3],
    [x, y, z]: [F; 3],
    sum: [F; 3],
) -> [F; 3] {
    [
        xx.mul_add(x, xy.mul_add(y, xz.mul_add(z, sum[0]))),
        xy.mul_add(x, yy.mul_add(y, yz.mul_add(z, sum[1]))),
        xz.mul_add(x, yz.mul_add(y, zz.mul_add(z, sum[2]))),
    ]
}

impl NodalTerm for NoAnchors {
    const IS_SOME: bool = false;

    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, _: &[f32], _: [usize; 3], product: [F; 3]) -> [F; 3] {
        product
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: within the array, as the caller promises.
        scaled(unsafe { load3(inverse, at) }, residual)
    }

    #[inline(always)]
    fn of_plane(&self, _: Range<usize>) -> Self {
        Self
    }

    #[inline(always)]
    fn length(&self) -> usize {
        usize::MAX
    }
}

impl NodalTerm for DiagonalAnchors<'_> {
    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3] {
        // SAFETY: within the arrays, as the caller promises.
        let (a, x) = unsafe { (load3::<F>(self.0, at), load3::<F>(x, at)) };
        [a[0].mul_add(x[0], product[0]), a[1].mul_add(x[1], product[1]), a[2].mul_add(x[2], product[2])]
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: within the array, as the caller promises.
        scaled(unsafe { load3(inverse, at) }, residual)
    }

    #[inline(always)]
    fn of_plane(&self, values: Range<usize>) -> Self {
        Self(&self.0[values])
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.0, at);
    }
}

impl NodalTerm for FullAnchors<'_> {
    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3] {
        // SAFETY: within the arrays, as the caller promises.
        unsafe { add_symmetric(load3(self.diagonal, at), load3(self.cross, at), load3(x, at), product) }
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: within the arrays, as the caller promises.
        unsafe { add_symmetric(load3(inverse, at), load3(self.inverse_cross, at), residual, [F::zero(); 3]) }
    }

    #[inline(always)]
    fn of_plane(&self, values: Range<usize>) -> Self {
        Self {
            diagonal: &self.diagonal[values.clone()],
            cross: &self.cross[values.clone()],
            inverse_cross: &self.inverse_cross[values],
        }
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.diagonal.len().min(self.cross.len()).min(self.inverse_cross.len())
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.diagonal, at);
        prefetch(self.cross, at);
        prefetch(self.inverse_cross, at);
    }
}

/// y = K x.
pub(crate) struct Apply<'a>(pub &'a mut [f32]);

impl<F: LaneScalar<Element = f32>> Finish<F> for Apply<'_> {
    #[inline(always)]
    unsafe fn finish(&mut self, _: &mut [f32], at: [usize; 3], product: [F; 3]) {
        for c in 0..3 {
            // SAFETY: within the array, as the caller promises.
            unsafe { store(product[c], self.0, at[c]) };
        }
    }

    fn length(&self) -> usize {
        self.0.len()
    }
}

/// r = b − (K + A) x at free nodes, and 0 elsewhere.
pub(crate) struct Residual<'a, A> {
    pub b: &'a [f32],
    pub inverse: &'a [f32],
    pub anchors: A,
    pub r: &'a mut [f32],
}

impl<F: LaneScalar<Element = f32>, A: NodalTerm> Finish<F> for Residual<'_, A> {
    #[inline(always)]
    unsafe fn finish(&mut self, x: &mut [f32], at: [usize; 3], product: [F; 3]) {
        // SAFETY: within the arrays, as the caller promises.
        unsafe {
            let product = self.anchors.add(x, at, product);
            for c in 0..3 {
                let free = load::<F>(self.inverse, at[c]).gt(F::zero());
                store(F::select(free, load::<F>(self.b, at[c]) - product[c], F::zero()), self.r, at[c]);
            }
        }
    }

    fn length(&self) -> usize {
        self.b.len().min(self.inverse.len()).min(self.r.len()).min(self.anchors.length())
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.b, at);
        prefetch(self.inverse, at);
        self.anchors.prefetch(at);
    }
}

/// d ← a d + c D⁻¹ (b − (K + A) x), x ← x + d: one sweep of Chebyshev, or of Jacobi with a = 0.
pub(crate) struct Smooth<'a, A> {
    pub b: &'a [f32],
    pub inverse: &'a [f32],
    pub anchors: A,
    pub d: &'a mut [f32],
    pub a: f64,
    pub c: f64,
}

impl<F: LaneScalar<Element = f32>, A: NodalTerm> Finish<F> for Smooth<'_, A> {
    #[inline(always)]
    unsafe fn finish(&mut self, x: &mut [f32], at: [usize; 3], product: [F; 3]) {
        // SAFETY: within the arrays, as the caller promises.
        unsafe {
            let product = self.anchors.add(x, at, product);
            let mut residual = [F::zero(); 3];
            for c in 0..3 {
                residual[c] = load::<F>(self.b, at[c]) - product[c];
            }
            let step = self.anchors.solve(self.inverse, at, residual);
            for c in 0..3 {
                let d = load::<F>(self.d, at[c]).mul_add(F::splat(self.a), step[c] * F::splat(self.c));
                store(d, self.d, at[c]);
                store(load::<F>(x, at[c]) + d, x, at[c]);
            }
        }
    }

    fn length(&self) -> usize {
        self.b.len().min(self.inverse.len()).min(self.d.len()).min(self.anchors.length())
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.b, at);
        prefetch(self.inverse, at);
        prefetch(self.d, at);
        self.anchors.prefetch(at);
    }
}

/// Discards the product; only the partial sums for the next plane are needed.
pub(crate) struct Nothing;

impl<F: LaneScalar<Element = f32>> Finish<F> for Nothing {
    #[inline(always)]
    unsafe fn finish(&mut self, _: &mut [f32], _: [usize; 3], _: [F; 3]) {}

    fn length(&self) -> usize {
        usize::MAX
    }
}

/// A plane of nodes and the layer of cells above it.
pub(crate) struct PlanePass<'a> {
    pub layout: &'a Layout,
    pub plane: usize,
    /// Segments to visit.
    pub segments: &'a [Segment],
    /// State of all blocks.
    pub state: &'a [f32],
    /// x of this plane, and of the next one if there are cells above.
    pub this: &'a mut [f32],
    pub next: &'a [f32],
    pub part: &'a mut [f32],
    pub carry: &'a mut [f32],
    pub modes: ModeStiffness,
    /// Moments of all blocks; read with `MOMENTS` only.
    pub moments: &'a [f32],
    /// Tangents of the fibers of all blocks; read with `FIBERS` only.
    pub fibers: &'a [f32],
    /// Bulk of all blocks; read with `DETERMINANT` only.
    pub bulk: &'a [f32],
}

type Triple<F> = [F; 3];

impl PlanePass<'_> {
    /// Runs over the rows of the plane. Cells are full, or with `MOMENTS` use their moments; `FIBERS` also adds fibers.
    /// With `DETERMINANT` the volume measure is det F.
    #[inline(always)]
    pub fn run<F: LaneScalar<Element = f32>, const MOMENTS: bool, const FIBERS: bool, const DETERMINANT: bool>(
        &mut self,
        finish: &mut impl Finish<F>,
    ) {
        let layout = self.layout;
        // Addresses come from the layout, whose rows, tiles and blocks are within these lengths. A row is read one node
        // past its last tile; planes have room for that.
        let length = layout.plane(self.plane).len();
        let next_length = if layout.blocks(self.plane).is_empty() { 0 } else { layout.plane(self.plane + 1).len() };
        assert!(self.this.len() >= length && finish.length() >= length && self.next.len() >= next_length);
        assert!(self.state.len() >= layout.block_count() * BLOCK);
        assert!(!MOMENTS || self.moments.len() >= layout.block_count() * MOMENT);
        assert!(!FIBERS || self.fibers.len() >= layout.block_count() * PULL);
        assert!(!DETERMINANT || self.bulk.len() >= layout.block_count() * BULK);
        assert!(self.part.len() >= part_length(layout) && self.carry.len() >= carry_length(layout));
        let mut ends = [[F::zero(); 3]; 2];
        for segment in self.segments {
            if segment.is_head {
                ends = [[F::zero(); 3]; 2];
            }
            match segment.kind {
                Kind::Continue => {
                    self.stretch::<F, MOMENTS, FIBERS, DETERMINANT, true, true>(segment, &mut ends, finish)
                }
                Kind::Start => self.stretch::<F, MOMENTS, FIBERS, DETERMINANT, true, false>(segment, &mut ends, finish),
                Kind::Flush => self.stretch::<F, MOMENTS, FIBERS, DETERMINANT, false, true>(segment, &mut ends, finish),
                Kind::Idle => self.stretch::<F, MOMENTS, FIBERS, DETERMINANT, false, false>(segment, &mut ends, finish),
            }
        }
    }

    #[inline(always)]
    fn rows_around(&self, row: usize) -> [[Row; 2]; 2] {
        let (layout, plane) = (self.layout, self.plane);
        [
            [layout.row(plane, row), layout.row(plane, row + 1)],
            [layout.row(plane + 1, row), layout.row(plane + 1, row + 1)],
        ]
    }

    /// Processes tiles with or without cells here (`ACTIVE`) and in the row before (`CARRIED`). `ends` holds forces on
    /// right corners: the last lane goes to the next tile.
    #[inline(always)]
    fn stretch<
        F: LaneScalar<Element = f32>,
        const MOMENTS: bool,
        const FIBERS: bool,
        const DETERMINANT: bool,
        const ACTIVE: bool,
        const CARRIED: bool,
    >(
        &mut self,
        segment: &Segment,
        ends: &mut [Triple<F>; 2],
        finish: &mut impl Finish<F>,
    ) {
        let row = segment.row as usize;
        let here = self.layout.row(self.plane, row);
        // Rows of nodes around the cells; they exist where cells do.
        let rows = if ACTIVE { self.rows_around(row) } else { [[here; 2]; 2] };
        let [bilinear, trilinear] = [F::splat(self.modes.bilinear), F::splat(self.modes.trilinear)];
        for tile in segment.first as usize..segment.last as usize {
            let carry = tile * CARRY;
            let mut total = [[F::zero(); 3]; 4];
            // SAFETY: `run` checked the lengths of all arrays against the layout, the source of all addresses.
            unsafe {
                if ACTIVE {
                    let after = sums_of_row::<F>(self.this, self.next, &rows[0][1], &rows[1][1], tile);
                    let before = if CARRIED {
                        load12::<F>(self.carry, carry)
                    } else {
                        sums_of_row::<F>(self.this, self.next, &rows[0][0], &rows[1][0], tile)
                    };
                    store12(&after, self.carry, carry);
                    let block = segment.block as usize + tile - segment.first as usize;
                    for line in 0..STATE {
                        prefetch(self.state, (block + BLOCKS_AHEAD) * BLOCK + line * LANES);
                    }
                    if DETERMINANT {
                        for line in 0..BULK / LANES {
                            prefetch(self.bulk, (block + BLOCKS_AHEAD) * BULK + line * LANES);
                        }
                    }
                    let bulk = if DETERMINANT { load_rows::<F, 10>(self.bulk, block * BULK) } else { [F::zero(); 10] };
                    let [low, high] = if MOMENTS {
                        let moments = block * MOMENT;
                        let center = load3::<F>(self.moments, [moments, moments + LANES, moments + 2 * LANES]);
                        let factors = load4::<F>(self.moments, moments + 3 * LANES);
                        let pull = if FIBERS { load_rows::<F, 9>(self.fibers, block * PULL) } else { [F::zero(); 9] };
                        cell_forces_off_center::<F, FIBERS, DETERMINANT>(
                            self.state,
                            block * BLOCK,
                            &bulk,
                            &before,
                            &after,
                            center,
                            factors,
                            &pull,
                        )
                    } else {
                        cell_forces::<F, DETERMINANT>(
                            self.state,
                            block * BLOCK,
                            &bulk,
                            &before,
                            &after,
                            [bilinear, trilinear],
                        )
                    };
                    total = low;
                    if CARRIED {
                        let carried = load12::<F>(self.carry, carry + CARRY / 2);
                        for channel in 0..4 {
                            for c in 0..3 {
                                total[channel][c] += carried[channel][c];
                            }
                        }
                    }
                    store12(&high, self.carry, carry + CARRY / 2);
                } else if CARRIED {
                    total = load12::<F>(self.carry, carry + CARRY / 2);
                }
                let part = (row * self.layout.tile_count() + tile) * 3 * LANES;
                let stride = here.stride as usize;
                let first = here.tile(tile);
                let at = [first, first + stride, first + 2 * stride];
                let mut product = [F::zero(); 3];
                for c in 0..3 {
                    let [s0, s1] = [total[SS][c] - total[SD][c], total[SS][c] + total[SD][c]];
                    let [d0, d1] = [total[DS][c] - total[DD][c], total[DS][c] + total[DD][c]];
                    let [right0, right1] = [s0 + d0, s1 + d1];
                    product[c] = (s0 - d0) + right0.shift_in(ends[0][c]) + load::<F>(self.part, part + c * LANES);
                    store((s1 - d1) + right1.shift_in(ends[1][c]), self.part, part + c * LANES);
                    ends[0][c] = right0;
                    ends[1][c] = right1;
                }
                finish.finish(self.this, at, product);
                for c in 0..3 {
                    // Two rows further on.
                    finish.prefetch(at[c] + 6 * stride);
                }
            }
        }
    }
}

/// Channels of sums (S) and differences (D) along x and along z.
const SS: usize = 0;
const SD: usize = 1;
const DS: usize = 2;
const DD: usize = 3;

/// Sums and differences along x and z of a row of nodes, for the sixteen cells of a tile.
///
/// # Safety
/// The tile is within both rows, and the rows plus one node are within the planes.
#[inline(always)]
unsafe fn sums_of_row<F: LaneScalar<Element = f32>>(
    this: &[f32],
    next: &[f32],
    low: &Row,
    high: &Row,
    tile: usize,
) -> [Triple<F>; 4] {
    let mut out = [[F::zero(); 3]; 4];
    let (low_at, high_at) = (low.tile(tile), high.tile(tile));
    for c in 0..3 {
        let [at0, at1] = [low_at + c * low.stride as usize, high_at + c * high.stride as usize];
        // SAFETY: as the caller promises.
        let [a, b, e, f] =
            unsafe { [load::<F>(this, at0), load::<F>(this, at0 + 1), load::<F>(next, at1), load::<F>(next, at1 + 1)] };
        let (s0, d0, s1, d1) = (a + b, b - a, e + f, f - e);
        out[SS][c] = s0 + s1;
        out[SD][c] = s1 - s0;
        out[DS][c] = d0 + d1;
        out[DD][c] = d1 - d0;
    }
    out
}

/// Columns of the rotation given by a quaternion of length √2.
#[inline(always)]
pub(crate) fn columns<F: LaneScalar<Element = f32>>([w, x, y, z]: [F; 4]) -> [Triple<F>; 3] {
    let one = F::one();
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (xy, xz, yz) = (x * y, x * z, y * z);
    let (wx, wy, wz) = (w * x, w * y, w * z);
    [[one - (yy + zz), xy + wz, xz - wy], [xy - wz, one - (xx + zz), yz + wx], [xz + wy, yz - wx, one - (xx + yy)]]
}

#[inline(always)]
fn cross<F: LaneScalar<Element = f32>>(a: Triple<F>, b: Triple<F>) -> Triple<F> {
    [a[1].mul_add(b[2], -(a[2] * b[1])), a[2].mul_add(b[0], -(a[0] * b[2])), a[0].mul_add(b[1], -(a[1] * b[0]))]
}

/// Forces of sixteen cells, from the sums of the node rows before and after them, as sums for the same rows.
///
/// # Safety
/// The state of a block from `at` on is within `state`.
#[inline(always)]
unsafe fn cell_forces<F: LaneScalar<Element = f32>, const DETERMINANT: bool>(
    state: &[f32],
    at: usize,
    bulk: &[F; 10],
    before: &[Triple<F>; 4],
    after: &[Triple<F>; 4],
    [bilinear, trilinear]: [F; 2],
) -> [[Triple<F>; 4]; 2] {
    // SAFETY: as the caller promises.
    let s = unsafe { load_rows::<F, STATE>(state, at) };
    let mu = s[4];
    let mut m = [[F::zero(); 3]; 3];
    for c in 0..3 {
        m[0][c] = before[DS][c] + after[DS][c];
        m[1][c] = after[SS][c] - before[SS][c];
        m[2][c] = before[SD][c] + after[SD][c];
    }
    let stress = stress::<F, DETERMINANT>(&s, bulk, &m);
    let (mu2, mu3) = (mu * bilinear, mu * trilinear);
    let mut low = [[F::zero(); 3]; 4];
    let mut high = low;
    for c in 0..3 {
        // Each channel has an even and an odd part along y: lower rows get the difference, upper rows the sum.
        let (xy, yz) = (after[DS][c] - before[DS][c], after[SD][c] - before[SD][c]);
        let (xz, xyz) = (mu2 * (before[DD][c] + after[DD][c]), after[DD][c] - before[DD][c]);
        low[SS][c] = -stress[1][c];
        high[SS][c] = stress[1][c];
        low[SD][c] = (-mu2).mul_add(yz, stress[2][c]);
        high[SD][c] = mu2.mul_add(yz, stress[2][c]);
        low[DS][c] = (-mu2).mul_add(xy, stress[0][c]);
        high[DS][c] = mu2.mul_add(xy, stress[0][c]);
        low[DD][c] = (-mu3).mul_add(xyz, xz);
        high[DD][c] = mu3.mul_add(xyz, xz);
    }
    [low, high]
}

/// [`cell_forces`] for cells whose center of mass is off center; see [`crate::moments`].
///
/// # Safety
/// The state of a block from `at` on is within `state`.
#[inline(always)]
unsafe fn cell_forces_off_center<F: LaneScalar<Element = f32>, const FIBERS: bool, const DETERMINANT: bool>(
    state: &[f32],
    at: usize,
    bulk: &[F; 10],
    before: &[Triple<F>; 4],
    after: &[Triple<F>; 4],
    [x, y, z]: [F; 3],
    factors: [F; 4],
    pull: &[F; 9],
) -> [[Triple<F>; 4]; 2] {
    // SAFETY: as the caller promises.
    let s = unsafe { load_rows::<F, STATE>(state, at) };
    let mu = s[4];
    let products = [y * z, x * z, x * y];
    let mut m = [[F::zero(); 3]; 3];
    // Modes xy, xz, yz and xyz.
    let mut beyond = [[F::zero(); 3]; 4];
    for c in 0..3 {
        beyond[0][c] = after[DS][c] - before[DS][c];
        beyond[1][c] = before[DD][c] + after[DD][c];
        beyond[2][c] = after[SD][c] - before[SD][c];
        beyond[3][c] = after[DD][c] - before[DD][c];
        let [xy, xz, yz, xyz] = [beyond[0][c], beyond[1][c], beyond[2][c], beyond[3][c]];
        m[0][c] = before[DS][c] + after[DS][c] + y.mul_add(xy, z.mul_add(xz, products[0] * xyz));
        m[1][c] = after[SS][c] - before[SS][c] + x.mul_add(xy, z.mul_add(yz, products[1] * xyz));
        m[2][c] = before[SD][c] + after[SD][c] + x.mul_add(xz, y.mul_add(yz, products[2] * xyz));
    }
    let mut stress = stress::<F, DETERMINANT>(&s, bulk, &m);
    if FIBERS {
        add_pull(pull, &m, &mut stress);
    }
    let mut low = [[F::zero(); 3]; 4];
    let mut high = low;
    for c in 0..3 {
        let [p, q, r] = [stress[0][c], stress[1][c], stress[2][c]];
        let xy = (mu * factors[0]).mul_add(beyond[0][c], y.mul_add(p, x * q));
        let xz = (mu * factors[1]).mul_add(beyond[1][c], z.mul_add(p, x * r));
        let yz = (mu * factors[2]).mul_add(beyond[2][c], z.mul_add(q, y * r));
        let pulls = products[0].mul_add(p, products[1].mul_add(q, products[2] * r));
        let xyz = (mu * factors[3]).mul_add(beyond[3][c], pulls);
        low[SS][c] = -q;
        high[SS][c] = q;
        low[SD][c] = r - yz;
        high[SD][c] = r + yz;
        low[DS][c] = p - xy;
        high[DS][c] = p + xy;
        low[DD][c] = xz - xyz;
        high[DD][c] = xz + xyz;
    }
    [low, high]
}

/// Rows of a block from `at` on.
///
/// # Safety
/// They are within `values`.
#[inline(always)]
unsafe fn load_rows<F: LaneScalar<Element = f32>, const N: usize>(values: &[f32], at: usize) -> [F; N] {
    let mut rows = [F::zero(); N];
    for k in 0..N {
        // SAFETY: as the caller promises.
        rows[k] = unsafe { load::<F>(values, at + k * LANES) };
    }
    rows
}

/// Adds the fiber term aⱼ S (Σ aₖ mₖ) for direction a, with rows of a and of the symmetric S (xx, yy, zz, xy, xz, yz).
#[inline(always)]
pub(crate) fn add_pull<F: Scalar>(pull: &[F; 9], m: &[Triple<F>; 3], stress: &mut [Triple<F>; 3]) {
    let [x, y, z, xx, yy, zz, xy, xz, yz] = *pull;
    let mut along = [F::zero(); 3];
    for c in 0..3 {
        along[c] = x.mul_add(m[0][c], y.mul_add(m[1][c], z * m[2][c]));
    }
    let force = [
        xx.mul_add(along[0], xy.mul_add(along[1], xz * along[2])),
        xy.mul_add(along[0], yy.mul_add(along[1], yz * along[2])),
        xz.mul_add(along[0], yz.mul_add(along[1], zz * along[2])),
    ];
    for (j, share) in [x, y, z].into_iter().enumerate() {
        for c in 0..3 {
            stress[j][c] = share.mul_add(force[c], stress[j][c]);
        }
    }
}

/// P of the linear modes. Uses loops and functions: closures are not always inlined.
#[inline(always)]
fn stress<F: LaneScalar<Element = f32>, const DETERMINANT: bool>(
    s: &[F; STATE],
    bulk: &[F; 10],
    m: &[Triple<F>; 3],
) -> [Triple<F>; 3] {
    let r = columns([s[0], s[1], s[2], s[3]]);
    let mu = if DETERMINANT { bulk[9] } else { s[4] };
    // Derivative of the volume measure.
    let g = if DETERMINANT {
        [[bulk[0], bulk[1], bulk[2]], [bulk[3], bulk[4], bulk[5]], [bulk[6], bulk[7], bulk[8]]]
    } else {
        r
    };
    // Short dependency chains, which overlap.
    let mut traces = [F::zero(); 3];
    let (mut plus, mut minus) = ([F::zero(); 3], [F::zero(); 3]);
    for c in 0..3 {
        let (p, q) = ((c + 1) % 3, (c + 2) % 3);
        traces[c] = g[2][c].mul_add(m[2][c], g[1][c].mul_add(m[1][c], g[0][c] * m[0][c]));
        plus[c] = r[2][p].mul_add(m[2][q], r[1][p].mul_add(m[1][q], r[0][p] * m[0][q]));
        minus[c] = r[2][q].mul_add(m[2][p], r[1][q].mul_add(m[1][p], r[0][q] * m[0][p]));
    }
    let t = traces[0] + traces[1] + traces[2];
    let b = [plus[0] - minus[0], plus[1] - minus[1], plus[2] - minus[2]];
    let [xx, yy, zz, xy, xz, yz] = [s[6], s[7], s[8], s[9], s[10], s[11]];
    let w = [
        xx.mul_add(b[0], xy.mul_add(b[1], xz * b[2])),
        xy.mul_add(b[0], yy.mul_add(b[1], yz * b[2])),
        xz.mul_add(b[0], yz.mul_add(b[1], zz * b[2])),
    ];
    let push = if DETERMINANT { t } else { s[5] * t };
    let mut stress = [[F::zero(); 3]; 3];
    for j in 0..3 {
        let turned = cross(w, r[j]);
        for c in 0..3 {
            stress[j][c] = push.mul_add(g[j][c], mu.mul_add(m[j][c], turned[c]));
        }
    }
    stress
}

/// # Safety
/// Four rows from `at` on are within `values`.
#[inline(always)]
unsafe fn load4<F: LaneScalar<Element = f32>>(values: &[f32], at: usize) -> [F; 4] {
    // SAFETY: as the caller promises.
    unsafe { [load(values, at), load(values, at + LANES), load(values, at + 2 * LANES), load(values, at + 3 * LANES)] }
}

/// # Safety
/// Twelve rows from `at` on are within `values`.
#[inline(always)]
unsafe fn load12<F: LaneScalar<Element = f32>>(values: &[f32], at: usize) -> [Triple<F>; 4] {
    let mut out = [[F::zero(); 3]; 4];
    for channel in 0..4 {
        for c in 0..3 {
            // SAFETY: as the caller promises.
            out[channel][c] = unsafe { load(values, at + (3 * channel + c) * LANES) };
        }
    }
    out
}

/// # Safety
/// Twelve rows from `at` on are within `out`.
#[inline(always)]
unsafe fn store12<F: LaneScalar<Element = f32>>(sums: &[Triple<F>; 4], out: &mut [f32], at: usize) {
    for channel in 0..4 {
        for c in 0..3 {
            // SAFETY: as the caller promises.
            unsafe { store(sums[channel][c], out, at + (3 * channel + c) * LANES) };
        }
    }
}
