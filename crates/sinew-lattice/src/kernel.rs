//! The product K x of a lattice, row by row, fused with a smoother sweep in the same pass.
//!
//! The Laplacian over the edges of a cube is diagonal in its eight sign (Walsh) modes, and the three linear modes are
//! the deformation gradient (MCA-08, MCA-10). So a cell applies a transform, a product per mode, and the inverse
//! transform:
//! ```math
//! P_j = \mu' m_j + \lambda' t\, r_j + (L' b) \times r_j, \qquad t = \sum_j r_j \cdot m_j, \quad
//!    b = \sum_j r_j \times m_j
//! ```
//! for the linear modes mⱼ (sums of the corners with the sign of axis j) and the columns rⱼ of the rotation, and a
//! multiple of μ' for every other mode. Scale factors are folded in: μ' = μh/8, λ' = λh/16, L' = R L Rᵀ h/16. If the
//! volume measure is det F ([`crate::VolumeLaw`]), √λ' cof F replaces √λ' R in the second term, and the first term has
//! its own modulus.
//!
//! The transform is separable, so neighboring cells share its parts: along x by shifted loads, along y by rows carried
//! forward (`carry`), along z by one plane of sums (`part`). A row of nodes is updated once its old values are no
//! longer read, so a Jacobi or Chebyshev sweep works in place with the same result as with a second array.

mod cells;
mod finish;
mod nodal_term;
mod rows;

pub(crate) use cells::{add_pull, columns};
pub(crate) use finish::{Apply, Finish, Nothing, Residual, Smooth};
pub(crate) use nodal_term::{DiagonalAnchors, FullAnchors, NoAnchors, NodalTerm};

use sinew_math::LaneScalar;
use sinew_math::lanes::prefetch;

use cells::{DD, DS, SD, SS, cell_forces, cell_forces_off_center};
use rows::{Triple, load, load_rows, load3, load4, load12, store, store12};

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

/// What cells consist of.
#[derive(Clone, Copy)]
pub(crate) struct Cells {
    /// Cells use their moments; else they are full.
    pub moments: bool,
    /// Cells have fibers, which need moments.
    pub fibers: bool,
    /// The volume measure is det F.
    pub determinant: bool,
}

/// What is known of cells when a kernel is compiled.
pub(crate) trait Case: Copy {
    /// What they may have.
    const MAY: Cells;
    /// What they have.
    const MUST: Cells;
}

/// Whether cells have something. Code for what they cannot have is not even generated, as long as this is written where
/// it branches.
macro_rules! has {
    ($Case:ident, $cells:ident, $what:ident) => {
        const { $Case::MAY.$what }
        &&(const { $Case::MUST.$what } || $cells.$what)
    };
}
use has;

/// Blocks of state to prefetch ahead.
const BLOCKS_AHEAD: usize = 6;

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
    /// Moments of all blocks; read with [`Cells::moments`] only.
    pub moments: &'a [f32],
    /// Tangents of the fibers of all blocks; read with [`Cells::fibers`] only.
    pub fibers: &'a [f32],
    /// Bulk of all blocks; read with [`Cells::determinant`] only.
    pub bulk: &'a [f32],
}

impl PlanePass<'_> {
    /// Runs over the rows of the plane.
    #[inline(always)]
    pub fn run<F: LaneScalar<Element = f32>, K: Case>(&mut self, _: K, cells: Cells, finish: &mut impl Finish<F>) {
        let layout = self.layout;
        // Addresses come from the layout, whose rows, tiles and blocks are within these lengths. A row is read one node
        // past its last tile; planes have room for that.
        let length = layout.plane(self.plane).len();
        let next_length = if layout.blocks(self.plane).is_empty() { 0 } else { layout.plane(self.plane + 1).len() };
        assert!(self.this.len() >= length && finish.length() >= length && self.next.len() >= next_length);
        assert!(self.state.len() >= layout.block_count() * BLOCK);
        assert!(!has!(K, cells, moments) || self.moments.len() >= layout.block_count() * MOMENT);
        assert!(!has!(K, cells, fibers) || self.fibers.len() >= layout.block_count() * PULL);
        assert!(!has!(K, cells, determinant) || self.bulk.len() >= layout.block_count() * BULK);
        assert!(self.part.len() >= part_length(layout) && self.carry.len() >= carry_length(layout));
        let mut ends = [[F::zero(); 3]; 2];
        for segment in self.segments {
            if segment.is_head {
                ends = [[F::zero(); 3]; 2];
            }
            let kind = segment.kind;
            let (is_active, is_carried) =
                (matches!(kind, Kind::Continue | Kind::Start), matches!(kind, Kind::Continue | Kind::Flush));
            if const { F::IS_FALLBACK } {
                self.stretch::<F, K>(segment, cells, is_active, is_carried, &mut ends, finish);
                continue;
            }
            // Constants, so that rows with cells, after cells, and others are compiled by themselves.
            match (is_active, is_carried) {
                (true, _) => {
                    if !is_carried {
                        self.begin::<F>(segment);
                    }
                    self.stretch::<F, K>(segment, cells, true, true, &mut ends, finish);
                }
                (false, true) => self.stretch::<F, K>(segment, cells, false, true, &mut ends, finish),
                (false, false) => self.stretch::<F, K>(segment, cells, false, false, &mut ends, finish),
            }
        }
    }

    /// Carries what cells need that have no row of cells before them, so that these need no code of their own: the sums
    /// of their nodes, and for forces −0, which changes no number that it is added to.
    #[inline(always)]
    fn begin<F: LaneScalar<Element = f32>>(&mut self, segment: &Segment) {
        let rows = self.rows_around(segment.row as usize);
        let nothing = [[F::splat(-0.0); 3]; 4];
        for tile in segment.first as usize..segment.last as usize {
            // SAFETY: `run` checked the lengths of all arrays against the layout, the source of all addresses.
            unsafe {
                let before = sums_of_row::<F>(self.this, self.next, &rows[0][0], &rows[1][0], tile);
                store12(&before, self.carry, tile * CARRY);
                store12(&nothing, self.carry, tile * CARRY + CARRY / 2);
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

    /// Processes tiles with or without cells here (`is_active`) and in the row before (`is_carried`). `ends` holds
    /// forces on right corners: the last lane goes to the next tile.
    #[inline(always)]
    fn stretch<F: LaneScalar<Element = f32>, K: Case>(
        &mut self,
        segment: &Segment,
        cells: Cells,
        is_active: bool,
        is_carried: bool,
        ends: &mut [Triple<F>; 2],
        finish: &mut impl Finish<F>,
    ) {
        let row = segment.row as usize;
        let here = self.layout.row(self.plane, row);
        // Rows of nodes around the cells; they exist where cells do.
        let rows = if is_active { self.rows_around(row) } else { [[here; 2]; 2] };
        let [bilinear, trilinear] = [F::splat(self.modes.bilinear), F::splat(self.modes.trilinear)];
        for tile in segment.first as usize..segment.last as usize {
            let carry = tile * CARRY;
            let mut total = [[F::zero(); 3]; 4];
            // SAFETY: `run` checked the lengths of all arrays against the layout, the source of all addresses.
            unsafe {
                if is_active {
                    let after = sums_of_row::<F>(self.this, self.next, &rows[0][1], &rows[1][1], tile);
                    let before = if is_carried {
                        load12::<F>(self.carry, carry)
                    } else {
                        sums_of_row::<F>(self.this, self.next, &rows[0][0], &rows[1][0], tile)
                    };
                    store12(&after, self.carry, carry);
                    let block = segment.block as usize + tile - segment.first as usize;
                    for line in 0..STATE {
                        prefetch(self.state, (block + BLOCKS_AHEAD) * BLOCK + line * LANES);
                    }
                    if has!(K, cells, determinant) {
                        for line in 0..BULK / LANES {
                            prefetch(self.bulk, (block + BLOCKS_AHEAD) * BULK + line * LANES);
                        }
                    }
                    let bulk = if has!(K, cells, determinant) {
                        load_rows::<F, 10>(self.bulk, block * BULK)
                    } else {
                        [F::zero(); 10]
                    };
                    let [low, high] = if has!(K, cells, moments) {
                        let moments = block * MOMENT;
                        let center = load3::<F>(self.moments, [moments, moments + LANES, moments + 2 * LANES]);
                        let factors = load4::<F>(self.moments, moments + 3 * LANES);
                        let pull = if has!(K, cells, fibers) {
                            load_rows::<F, 9>(self.fibers, block * PULL)
                        } else {
                            [F::zero(); 9]
                        };
                        cell_forces_off_center::<F, K>(
                            cells,
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
                        cell_forces::<F, K>(
                            cells,
                            self.state,
                            block * BLOCK,
                            &bulk,
                            &before,
                            &after,
                            [bilinear, trilinear],
                        )
                    };
                    total = low;
                    if is_carried {
                        let carried = load12::<F>(self.carry, carry + CARRY / 2);
                        for channel in 0..4 {
                            for c in 0..3 {
                                total[channel][c] += carried[channel][c];
                            }
                        }
                    }
                    store12(&high, self.carry, carry + CARRY / 2);
                } else if is_carried {
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
