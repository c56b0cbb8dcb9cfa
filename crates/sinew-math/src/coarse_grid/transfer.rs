//! Transfers between mesh and grid, sixteen nodes at a time.
//!
//! All nodes of a piece share the same eight corners. Sixteen nodes form a group, one per lane: interpolation is 24
//! products of a register of weights with one component of a corner; restriction is the transpose, summed over the
//! lanes of the piece.

use super::{CORNERS, CoarseGrid, NONE};
use crate::lanes::{F32_LANES, Isa, LaneKernel, dispatch};
use crate::parallel::for_each_block_mut;
use crate::{LaneScalar, Scalar, Vec3};

/// Nodes per group.
const GROUP: usize = F32_LANES;
/// Pieces per parallel block: about ten microseconds.
const PIECE_BLOCK: usize = 32;

/// Nodes of the pieces in groups of sixteen; the last group of a piece is padded with zero weights.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// First group of each piece.
    starts: Vec<u32>,
    /// Three times the mesh node of each lane of each group.
    offsets: Vec<u32>,
    /// Weights: `[group][corner][lane]`.
    weights: Vec<[[f32; GROUP]; CORNERS]>,
    /// Lane of each mesh node among all lanes; [`NONE`] for nodes outside the grid.
    lane_of: Vec<u32>,
}

impl Groups {
    pub fn new(piece_starts: &[u32], members: &[u32], weights: &[[f32; CORNERS]], nodes: usize) -> Self {
        let mut groups = Self { starts: vec![0], offsets: Vec::new(), weights: Vec::new(), lane_of: vec![NONE; nodes] };
        for piece in piece_starts.windows(2) {
            let own = &members[piece[0] as usize..piece[1] as usize];
            for chunk in own.chunks(GROUP) {
                let mut lanes = [[0.0; GROUP]; CORNERS];
                for lane in 0..GROUP {
                    let node = chunk.get(lane).copied();
                    groups.offsets.push(3 * node.unwrap_or(chunk[0]));
                    if let Some(node) = node {
                        groups.lane_of[node as usize] = (groups.weights.len() * GROUP + lane) as u32;
                        for corner in 0..CORNERS {
                            lanes[corner][lane] = weights[node as usize][corner];
                        }
                    }
                }
                groups.weights.push(lanes);
            }
            groups.starts.push(groups.weights.len() as u32);
        }
        groups
    }
}

/// Scratch memory of the transfers.
#[derive(Clone, Debug)]
pub(super) struct TransferScratch {
    /// Interpolated values: `[group][axis][lane]`.
    lanes: Vec<[[f32; GROUP]; 3]>,
    /// Sums of each piece at its corners.
    corner_sums: Vec<[Vec3<f32>; CORNERS]>,
}

impl TransferScratch {
    pub fn new(coarse_grid: &CoarseGrid) -> Self {
        Self {
            lanes: vec![[[0.0; GROUP]; 3]; coarse_grid.groups.weights.len()],
            corner_sums: vec![[Vec3::zero(); CORNERS]; coarse_grid.corners.len()],
        }
    }

    /// Last interpolated value at a mesh node.
    #[inline(always)]
    pub fn at(&self, coarse_grid: &CoarseGrid, node: usize) -> Vec3<f32> {
        let place = coarse_grid.groups.lane_of[node] as usize;
        let Some(values) = self.lanes.get(place / GROUP) else { return Vec3::zero() };
        Vec3::new(values[0][place % GROUP], values[1][place % GROUP], values[2][place % GROUP])
    }
}

impl CoarseGrid {
    /// Interpolates P c into the scratch; see [`TransferScratch::at`].
    pub(super) fn interpolate(&self, coarse: &[Vec3<f32>], scratch: &mut TransferScratch) {
        let starts = &self.groups.starts;
        for_each_group_of_pieces(&mut scratch.lanes, starts, 0, starts.len() - 1, &|pieces, lanes| {
            dispatch(Interpolate { coarse_grid: self, coarse, pieces, lanes });
        });
    }

    /// out = Pᵀ r.
    pub(super) fn restrict(&self, r: &[Vec3<f32>], out: &mut [Vec3<f32>], scratch: &mut TransferScratch) {
        assert_eq!(r.len(), self.mesh_node_count(), "one entry per mesh node");
        for_each_block_mut(&mut scratch.corner_sums[..], PIECE_BLOCK, |first, sums| {
            dispatch(Restrict { coarse_grid: self, r, first, sums });
        });
        let sums = scratch.corner_sums.as_flattened();
        for (node, value) in out.iter_mut().enumerate() {
            let range = self.corner_starts[node] as usize..self.corner_starts[node + 1] as usize;
            *value = Vec3::zero();
            for &corner in &self.corners_of[range] {
                *value += sums[corner as usize];
            }
        }
    }
}

/// Calls `work(pieces, their lanes)` for blocks of pieces.
fn for_each_group_of_pieces(
    lanes: &mut [[[f32; GROUP]; 3]],
    starts: &[u32],
    first: usize,
    end: usize,
    work: &(impl Fn(std::ops::Range<usize>, &mut [[[f32; GROUP]; 3]]) + Sync),
) {
    if end - first <= PIECE_BLOCK {
        return work(first..end, lanes);
    }
    let middle = first + (end - first) / 2;
    let (left, right) = lanes.split_at_mut((starts[middle] - starts[first]) as usize);
    let mut work_left = || for_each_group_of_pieces(left, starts, first, middle, work);
    let mut work_right = || for_each_group_of_pieces(right, starts, middle, end, work);
    if rayon::current_num_threads() > 1 {
        rayon::join(work_left, work_right);
    } else {
        work_left();
        work_right();
    }
}

struct Interpolate<'a> {
    coarse_grid: &'a CoarseGrid,
    coarse: &'a [Vec3<f32>],
    pieces: std::ops::Range<usize>,
    lanes: &'a mut [[[f32; GROUP]; 3]],
}

impl LaneKernel for Interpolate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let groups = &self.coarse_grid.groups;
        let mut lanes = self.lanes.iter_mut();
        for piece in self.pieces {
            let mut corners = [[I::F32::zero(); CORNERS]; 3];
            for (corner, &node) in self.coarse_grid.corners[piece].iter().enumerate() {
                let c = self.coarse[node as usize];
                corners[0][corner] = I::F32::splat(f64::from(c.x));
                corners[1][corner] = I::F32::splat(f64::from(c.y));
                corners[2][corner] = I::F32::splat(f64::from(c.z));
            }
            for group in groups.starts[piece] as usize..groups.starts[piece + 1] as usize {
                let mut sum = [I::F32::zero(); 3];
                for corner in 0..CORNERS {
                    let w = I::F32::load(&groups.weights[group][corner]);
                    for axis in 0..3 {
                        sum[axis] += w * corners[axis][corner];
                    }
                }
                if let Some(out) = lanes.next() {
                    for axis in 0..3 {
                        sum[axis].store(&mut out[axis]);
                    }
                }
            }
        }
    }
}

struct Restrict<'a> {
    coarse_grid: &'a CoarseGrid,
    r: &'a [Vec3<f32>],
    first: usize,
    sums: &'a mut [[Vec3<f32>; CORNERS]],
}

impl LaneKernel for Restrict<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let groups = &self.coarse_grid.groups;
        let r = Vec3::as_flattened(self.r);
        for (k, out) in self.sums.iter_mut().enumerate() {
            let piece = self.first + k;
            let mut sums = [[I::F32::zero(); 3]; CORNERS];
            for group in groups.starts[piece] as usize..groups.starts[piece + 1] as usize {
                let offsets = &groups.offsets[group * GROUP..][..GROUP];
                // SAFETY: offsets are three times mesh nodes, and r has three entries for each (asserted by
                // `restrict`).
                let values = unsafe {
                    [I::F32::gather(r, offsets), I::F32::gather(&r[1..], offsets), I::F32::gather(&r[2..], offsets)]
                };
                for corner in 0..CORNERS {
                    let w = I::F32::load(&groups.weights[group][corner]);
                    for axis in 0..3 {
                        sums[corner][axis] += w * values[axis];
                    }
                }
            }
            for corner in 0..CORNERS {
                let mut lanes = [[0.0; GROUP]; 3];
                for axis in 0..3 {
                    sums[corner][axis].store(&mut lanes[axis]);
                }
                out[corner] = Vec3::new(lane_sum(&lanes[0]), lane_sum(&lanes[1]), lane_sum(&lanes[2]));
            }
        }
    }
}

/// Sum over the lanes, in one order for every register width.
#[inline(always)]
fn lane_sum(lanes: &[f32; GROUP]) -> f32 {
    let mut sums = *lanes;
    let mut width = GROUP;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            sums[k] += sums[k + width];
        }
    }
    sums[0]
}
