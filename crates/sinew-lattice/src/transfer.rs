//! Transfer between two levels: trilinear prolongation and its transpose, restriction (MCA-32), row by row.
//!
//! If every position has one node, a fine row coincides with a coarse row or lies between two or four of them:
//! prolongation averages these first, then interpolates along x. Restriction does the reverse. Lattices of several
//! sheets go node by node.

use sinew_geometry::lattice::Prolongation;
use sinew_math::lanes::{Isa, LaneKernel, dispatch};

use crate::layers::split_planes;
use crate::layout::{LANES, Layout, NodeSlot};

/// Values of a row processed at a time: sums of twice as many fit on the stack.
const PIECE: usize = 8 * LANES;

/// Coarse rows around a fine one, 0 to 1 further along each axis: index and weight.
fn neighbors_of_fine(index: usize) -> impl Iterator<Item = (usize, f32)> {
    let is_between = index % 2 == 1;
    let weight = if is_between { 0.5 } else { 1.0 };
    (0..=usize::from(is_between)).map(move |k| (index / 2 + k, weight))
}

/// Fine rows around a coarse one: index and weight.
fn neighbors_of_coarse(index: usize) -> impl Iterator<Item = (usize, f32)> {
    let around = [(2 * index).checked_sub(1).map(|k| (k, 0.5)), Some((2 * index, 1.0)), Some((2 * index + 1, 0.5))];
    around.into_iter().flatten()
}

/// Method of transfer.
#[derive(Clone, Debug)]
pub(crate) enum Transfer {
    /// By position: both levels have one sheet, which starts at these layers.
    Rows { fine_lowest: usize, coarse_lowest: usize, prolongation: Prolongation },
    /// Node by node.
    Lists(Lists),
}

/// Coarse parents of each fine node, and fine children of each coarse node.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    prolongation: Prolongation,
    carriers: Weights,
    carried: Weights,
}

/// Rows of a sparse matrix whose columns are slots.
#[derive(Clone, Debug)]
struct Weights {
    offsets: Vec<u32>,
    entries: Vec<(NodeSlot, f32)>,
}

impl Weights {
    fn new(row_count: usize, columns: &Layout, entries: impl Fn(&mut dyn FnMut(usize, usize, f32))) -> Self {
        let mut offsets = vec![0u32; row_count + 1];
        entries(&mut |row, _, _| offsets[row + 1] += 1);
        for k in 0..row_count {
            offsets[k + 1] += offsets[k];
        }
        let mut cursor = offsets.clone();
        let mut sorted = vec![(NodeSlot::default(), 0.0); offsets[row_count] as usize];
        entries(&mut |row, column, weight| {
            sorted[cursor[row] as usize] = (columns.slots(column)[0], weight);
            cursor[row] += 1;
        });
        Self { offsets, entries: sorted }
    }

    /// Product of a row with values in slots.
    #[inline(always)]
    fn row(&self, row: usize, values: &[f32]) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for (slot, weight) in &self.entries[self.offsets[row] as usize..self.offsets[row + 1] as usize] {
            for (c, sum) in sum.iter_mut().enumerate() {
                *sum += weight * values[slot.component(c)];
            }
        }
        sum
    }
}

impl Lists {
    fn new(fine: &Layout, coarse: &Layout, prolongation: Prolongation) -> Self {
        let entries = |visit: &mut dyn FnMut(usize, usize, f32)| {
            for node in 0..prolongation.node_count() {
                prolongation.row(node).for_each(|(carrier, weight)| visit(node, carrier as usize, weight as f32));
            }
        };
        let carriers = Weights::new(fine.node_count(), coarse, entries);
        let carried = Weights::new(coarse.node_count(), fine, |visit: &mut dyn FnMut(usize, usize, f32)| {
            entries(&mut |node, carrier, weight| visit(carrier, node, weight));
        });
        Self { prolongation, carriers, carried }
    }
}

impl Transfer {
    pub fn new(fine: &Layout, coarse: &Layout, prolongation: Prolongation) -> Self {
        match (fine.single_sheet(), coarse.single_sheet()) {
            (Some(fine_lowest), Some(coarse_lowest)) => Self::Rows { fine_lowest, coarse_lowest, prolongation },
            _ => Self::Lists(Lists::new(fine, coarse, prolongation)),
        }
    }

    /// The coarse parents of each fine node.
    pub fn prolongation(&self) -> &Prolongation {
        match self {
            Self::Rows { prolongation, .. } => prolongation,
            Self::Lists(lists) => &lists.prolongation,
        }
    }

    /// x ← x + P e at free nodes.
    pub fn prolong(&self, coarse: &Layout, e: &[f32], fine: &Layout, inverse: &[f32], x: &mut [f32]) {
        match self {
            &Self::Rows { fine_lowest, coarse_lowest, .. } => {
                split_planes(fine, 0..fine.plane_count(), x, &|plane, x: &mut [f32]| {
                    let lowest = [fine_lowest, coarse_lowest];
                    dispatch(Prolong { coarse, e, fine, plane, lowest, inverse: &inverse[fine.plane(plane)], x });
                })
            }
            Self::Lists(lists) => split_planes(fine, 0..fine.plane_count(), x, &|plane, x: &mut [f32]| {
                let inverse = &inverse[fine.plane(plane)];
                fine.for_each_node(plane, |node, at| {
                    for (at, value) in at.into_iter().zip(lists.carriers.row(node, e)) {
                        x[at] += if inverse[at] > 0.0 { value } else { 0.0 };
                    }
                });
            }),
        }
    }

    /// b = Pᵀ r.
    pub fn restrict(&self, fine: &Layout, r: &[f32], coarse: &Layout, b: &mut [f32]) {
        match self {
            &Self::Rows { fine_lowest, coarse_lowest, .. } => {
                split_planes(coarse, 0..coarse.plane_count(), b, &|plane, b: &mut [f32]| {
                    dispatch(Restrict { fine, r, coarse, plane, lowest: [fine_lowest, coarse_lowest], b });
                })
            }
            Self::Lists(lists) => coarse.spread(b, |node| lists.carried.row(node, r)),
        }
    }
}

struct Prolong<'a> {
    coarse: &'a Layout,
    e: &'a [f32],
    fine: &'a Layout,
    plane: usize,
    /// First layers of the fine and coarse levels.
    lowest: [usize; 2],
    inverse: &'a [f32],
    x: &'a mut [f32],
}

impl LaneKernel for Prolong<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { coarse, e, fine, plane, lowest, inverse, x } = self;
        for row_index in 0..fine.row_count() {
            let row = fine.row(plane, row_index);
            let stride = row.stride as usize;
            for begin in (0..stride).step_by(PIECE) {
                let length = PIECE.min(stride - begin);
                // Coarse nodes from the first of the chunk on.
                let first = (row.first as usize * LANES + begin) / 2;
                for c in 0..3 {
                    let mut mean = [0.0; PIECE / 2 + 1];
                    let mean = &mut mean[..length / 2 + 1];
                    for (z, wk) in neighbors_of_fine(plane + lowest[0]) {
                        let k = z.wrapping_sub(lowest[1]);
                        for (j, wj) in neighbors_of_fine(row_index) {
                            if k < coarse.plane_count() && j < coarse.row_count() {
                                add_row(coarse, e, (k, j, c), first, wk * wj, mean);
                            }
                        }
                    }
                    let at = row.base as usize + c * stride + begin;
                    let (x, inverse) = (&mut x[at..at + length], &inverse[at..at + length]);
                    for ((x, inverse), mean) in x.chunks_exact_mut(2).zip(inverse.chunks_exact(2)).zip(mean.windows(2))
                    {
                        x[0] += if inverse[0] > 0.0 { mean[0] } else { 0.0 };
                        x[1] += if inverse[1] > 0.0 { 0.5 * (mean[0] + mean[1]) } else { 0.0 };
                    }
                }
            }
        }
    }
}

/// Adds `weight` times a row, from its node `first` on, to `sums`; values beyond the ends of the row count as zero.
#[inline(always)]
fn add_row(
    layout: &Layout,
    values: &[f32],
    (plane, row, c): (usize, usize, usize),
    first: usize,
    weight: f32,
    sums: &mut [f32],
) {
    let line = layout.row(plane, row);
    let (begin, end) = (line.first as usize * LANES, line.first as usize * LANES + line.stride as usize);
    let (from, to) = (begin.max(first), end.min(first + sums.len()));
    if from >= to {
        return;
    }
    let at = layout.plane(plane).start + line.base as usize + c * line.stride as usize;
    let values = &values[at + from - begin..at + to - begin];
    for (sum, value) in sums[from - first..to - first].iter_mut().zip(values) {
        *sum += weight * value;
    }
}

struct Restrict<'a> {
    fine: &'a Layout,
    r: &'a [f32],
    coarse: &'a Layout,
    plane: usize,
    lowest: [usize; 2],
    b: &'a mut [f32],
}

impl LaneKernel for Restrict<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { fine, r, coarse, plane, lowest, b } = self;
        for row_index in 0..coarse.row_count() {
            let row = coarse.row(plane, row_index);
            let stride = row.stride as usize;
            for begin in (0..stride).step_by(PIECE) {
                let length = PIECE.min(stride - begin);
                // Fine nodes from one before the first of the chunk on; a row that begins at zero has none before it.
                let first = 2 * (row.first as usize * LANES + begin);
                let (skip, from) = if first == 0 { (1, 0) } else { (0, first - 1) };
                for c in 0..3 {
                    let mut sums = [0.0; 2 * PIECE + 1];
                    let sums = &mut sums[..2 * length + 1];
                    for (z, wk) in neighbors_of_coarse(plane + lowest[1]) {
                        let k = z.wrapping_sub(lowest[0]);
                        for (j, wj) in neighbors_of_coarse(row_index) {
                            if k < fine.plane_count() && j < fine.row_count() {
                                add_row(fine, r, (k, j, c), from, wk * wj, &mut sums[skip..]);
                            }
                        }
                    }
                    let at = row.base as usize + c * stride + begin;
                    for (k, b) in b[at..at + length].iter_mut().enumerate() {
                        *b = sums[2 * k + 1] + 0.5 * (sums[2 * k] + sums[2 * k + 2]);
                    }
                }
            }
        }
    }
}
