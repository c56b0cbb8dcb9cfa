//! Symmetric block matrices in single precision, laid out for products: sixteen rows side by side.
//!
//! Sixteen rows form a slice; their first blocks are stored together, then their second blocks, and so on, one row per
//! lane (sliced ELLPACK \[Monakov10\]). Rows of a window are first sorted by length to reduce padding (SELL-C-σ
//! \[Kreutzer14\]). Each row sums its blocks in ascending column order, independent of register width and thread count.

use std::ops::Range;

use crate::krylov::{LinearOperator, dot_block};
use crate::lanes::{F32_LANES, Isa, LaneKernel, dispatch};
use crate::parallel::for_each_block_mut;
#[cfg(target_arch = "x86_64")]
use crate::sparse::shuffle;
use crate::sparse::{BlockCsr, BlockPattern};
use crate::{LaneScalar, Mat3, Scalar, Vec3};

/// Rows per slice.
const SLICE: usize = F32_LANES;
/// Rows sorted by length together. A window is also the smallest unit of work for a thread, about thirty microseconds.
const WINDOW: usize = 1024;
/// Marks an empty slot.
const PADDING: u32 = u32::MAX;
/// Bit of a source: the block above the diagonal is the transpose of the stored one.
const TRANSPOSED: u32 = 1 << 31;

/// A symmetric matrix of 3×3 blocks in f32, read from the lower triangle of a [`BlockCsr`].
#[derive(Clone, Debug)]
pub struct SlicedBlocks {
    node_count: usize,
    /// Row of each lane of each slice; [`PADDING`] in unused lanes.
    rows: Vec<u32>,
    /// First slot of each slice, in units of sixteen blocks.
    starts: Vec<u32>,
    /// Three times the column of each block.
    columns: Vec<u32>,
    /// Source of each block.
    sources: Vec<u32>,
    /// Entries: `[place][entry][lane]`.
    values: Vec<f32>,
}

impl SlicedBlocks {
    /// The layout for a pattern, with all values zero.
    ///
    /// # Panics
    /// When the pattern has 2³¹ blocks or 2³¹/3 nodes: such a matrix has hundreds of gigabytes.
    pub fn new(pattern: &BlockPattern) -> Self {
        let node_count = pattern.node_count();
        assert!(pattern.block_count() < TRANSPOSED as usize && node_count < (TRANSPOSED / 3) as usize);
        let mut order: Vec<u32> = (0..node_count as u32).collect();
        for window in order.chunks_mut(WINDOW) {
            window.sort_by_key(|&row| std::cmp::Reverse(pattern.row(row as usize).len()));
        }
        let mut sliced = Self {
            node_count,
            rows: Vec::new(),
            starts: vec![0],
            columns: Vec::new(),
            sources: Vec::new(),
            values: Vec::new(),
        };
        for window in order.chunks(WINDOW) {
            for rows in window.chunks(SLICE) {
                sliced.push_slice(pattern, rows);
            }
        }
        sliced.values = vec![0.0; sliced.columns.len() * 9];
        sliced
    }

    fn push_slice(&mut self, pattern: &BlockPattern, rows: &[u32]) {
        let length = rows.iter().map(|&row| pattern.row(row as usize).len()).max().unwrap_or(0);
        self.rows.extend((0..SLICE).map(|lane| rows.get(lane).copied().unwrap_or(PADDING)));
        for k in 0..length {
            for lane in 0..SLICE {
                let slot = rows.get(lane).and_then(|&row| pattern.row(row as usize).nth(k).map(|slot| (row, slot)));
                let Some((row, slot)) = slot else {
                    // Multiplies a zero block, so any valid node will do.
                    self.columns.push(3 * rows.get(lane).copied().unwrap_or(rows[0]));
                    self.sources.push(PADDING);
                    continue;
                };
                let column = pattern.columns()[slot];
                self.columns.push(3 * column);
                self.sources.push(if column <= row {
                    slot as u32
                } else {
                    pattern.mirrored_slots()[slot] | TRANSPOSED
                });
            }
        }
        self.starts.push((self.columns.len() / SLICE) as u32);
    }

    /// Number of block rows.
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// Copies the blocks on and below the diagonal of `matrix`; those above are ignored.
    ///
    /// # Panics
    /// When the matrix has another pattern.
    pub fn fill_from_lower(&mut self, matrix: &BlockCsr<f32>) {
        assert_eq!(matrix.node_count(), self.node_count, "the matrix must have the pattern of the layout");
        let blocks = matrix.values();
        let (values, _) = self.values.as_chunks_mut::<{ 9 * SLICE }>();
        let (sources, _) = self.sources.as_chunks::<SLICE>();
        for_each_block_mut((values, sources), WINDOW, |_, (values, sources)| {
            for (place, sources) in values.iter_mut().zip(sources) {
                fill_place(blocks, sources, place);
            }
        });
    }

    fn slices_of_window(&self, window: usize) -> Range<usize> {
        let per_window = WINDOW / SLICE;
        window * per_window..((window + 1) * per_window).min(self.starts.len() - 1)
    }

    /// y = A x; returns x · y.
    ///
    /// # Panics
    /// When the vectors do not have one entry per node.
    pub fn multiply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) -> f64 {
        assert_eq!((x.len(), y.len()), (self.node_count, self.node_count), "one entry per node");
        let windows = Windows(y);
        reduce_windows(windows, 0, &|window, y: &mut [Vec3<f32>]| {
            let first = window * WINDOW;
            dispatch(Product { matrix: self, x, y, first, slices: self.slices_of_window(window) });
            dot_block(&x[first..first + y.len()], y)
        })
    }
}

/// The sixteen blocks of one slot, entry by entry.
fn fill_place(blocks: &[Mat3<f32>], sources: &[u32; SLICE], place: &mut [f32; 9 * SLICE]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the check above showed that the processor has AVX2.
        unsafe { fill_place_avx2(blocks, sources, place) };
        return;
    }
    for (lane, &source) in sources.iter().enumerate().filter(|(_, source)| **source != PADDING) {
        let rows = &blocks[(source & !TRANSPOSED) as usize].rows;
        let (across, down) = if source & TRANSPOSED == 0 { (1, 3) } else { (3, 1) };
        for i in 0..3 {
            for j in 0..3 {
                place[(i * down + j * across) * SLICE + lane] = rows[i][j];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_place_avx2(blocks: &[Mat3<f32>], sources: &[u32; SLICE], place: &mut [f32; 9 * SLICE]) {
    use std::arch::x86_64::*;

    for half in [0, 8] {
        let mut rows = [_mm256_setzero_ps(); 8];
        for lane in 0..8 {
            let source = sources[half + lane];
            if source != PADDING {
                let block = &blocks[(source & !TRANSPOSED) as usize];
                rows[lane] = shuffle::load_block(block, source & TRANSPOSED != 0);
                place[8 * SLICE + half + lane] = block.rows[2][2];
            }
        }
        for (entry, lanes) in shuffle::transpose(rows).into_iter().enumerate() {
            let target = &mut place[entry * SLICE + half..][..8];
            // SAFETY: the slice holds eight numbers.
            unsafe { _mm256_storeu_ps(target.as_mut_ptr(), lanes) };
        }
    }
}

/// A vector split at window boundaries.
struct Windows<'a>(&'a mut [Vec3<f32>]);

/// Sums `work` over the windows in a tree whose shape depends only on their number.
fn reduce_windows(windows: Windows<'_>, first: usize, work: &(impl Fn(usize, &mut [Vec3<f32>]) -> f64 + Sync)) -> f64 {
    let count = windows.0.len().div_ceil(WINDOW);
    match count {
        0 => 0.0,
        1 => work(first, windows.0),
        _ => {
            let (left, right) = windows.0.split_at_mut(count / 2 * WINDOW);
            let mut sum_left = || reduce_windows(Windows(left), first, work);
            let mut sum_right = || reduce_windows(Windows(right), first + count / 2, work);
            let (a, b) = match rayon::current_num_threads() {
                1 => (sum_left(), sum_right()),
                _ => rayon::join(sum_left, sum_right),
            };
            a + b
        }
    }
}

impl LinearOperator<f32> for SlicedBlocks {
    fn node_count(&self) -> usize {
        self.node_count
    }

    fn apply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        self.multiply(x, y);
    }

    fn apply_dot(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) -> f64 {
        self.multiply(x, y)
    }
}

/// The rows of some slices; `y` starts at row `first`.
struct Product<'a> {
    matrix: &'a SlicedBlocks,
    x: &'a [Vec3<f32>],
    y: &'a mut [Vec3<f32>],
    first: usize,
    slices: Range<usize>,
}

impl LaneKernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { matrix, x, y, first, slices } = self;
        let x = Vec3::as_flattened(x);
        for slice in slices {
            let mut sum = [I::F32::zero(); 3];
            for place in matrix.starts[slice] as usize..matrix.starts[slice + 1] as usize {
                let columns = &matrix.columns[place * SLICE..][..SLICE];
                // SAFETY: columns hold 3 · node < 3 · node_count, and x has 3 · node_count < 2³¹ entries (asserted by
                // `new` and `multiply`), so that the indices stay in range in the slices that start at entries 0, 1 and
                // 2 as well.
                let v = unsafe {
                    // Written out: a closure would be compiled without the instruction set.
                    [I::F32::gather(x, columns), I::F32::gather(&x[1..], columns), I::F32::gather(&x[2..], columns)]
                };
                let entries = &matrix.values[place * 9 * SLICE..][..9 * SLICE];
                for i in 0..3 {
                    for j in 0..3 {
                        sum[i] += I::F32::load(&entries[(3 * i + j) * SLICE..]) * v[j];
                    }
                }
            }
            let mut lanes = [[0.0; SLICE]; 3];
            for i in 0..3 {
                sum[i].store(&mut lanes[i]);
            }
            for (lane, &row) in matrix.rows[slice * SLICE..][..SLICE].iter().enumerate() {
                if row != PADDING {
                    y[row as usize - first] = Vec3::new(lanes[0][lane], lanes[1][lane], lanes[2][lane]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::parallel::tests::with_threads;
    use crate::sparse::tests::{random_spd, random_vector};

    #[test]
    fn product_is_that_of_the_rows_and_ignores_the_upper_triangle() {
        // More than one window, and a last slice that is not full.
        let matrix = random_spd([13, 11, 9]);
        let pattern = matrix.pattern().clone();
        let mut lower = BlockCsr::<f32>::zeros(pattern.clone());
        lower.copy_from(&matrix);
        for row in 0..pattern.node_count() {
            for slot in pattern.diagonal_slot(row) + 1..pattern.row(row).end {
                lower.values_mut()[slot] = crate::Mat3::identity() * 1e6;
            }
        }
        let mut sliced = SlicedBlocks::new(&pattern);
        sliced.fill_from_lower(&lower);
        let x = random_vector(pattern.node_count(), 5);
        let narrow: Vec<Vec3<f32>> = x.iter().map(|&v| Vec3::from_f64(v)).collect();
        let mut expected = vec![Vec3::zero(); x.len()];
        matrix.multiply(&x, &mut expected);
        let product = |threads| {
            with_threads(threads, || {
                let mut y = vec![Vec3::zero(); x.len()];
                let energy = sliced.multiply(&narrow, &mut y);
                (y, energy)
            })
        };
        let (y, energy) = product(1);
        // Some thirty products of numbers of order one, each rounded to f32.
        let scale = expected.iter().map(|v| v.norm()).fold(0.0, f64::max);
        assert!(y.iter().zip(&expected).all(|(y, e)| (y.to_f64() - *e).norm() < 1e-5 * scale));
        let exact: f64 = x.iter().zip(&expected).map(|(a, b)| a.dot(*b)).sum();
        assert!((energy / exact - 1.0).abs() < 1e-5);
        assert_eq!(product(2), (y, energy));
    }

    #[test]
    fn an_empty_matrix_has_an_empty_product() {
        let pattern = Arc::new(BlockPattern::from_elements(0, Vec::<[u32; 1]>::new()).unwrap());
        assert_eq!(SlicedBlocks::new(&pattern).multiply(&[], &mut []), 0.0);
    }
}
