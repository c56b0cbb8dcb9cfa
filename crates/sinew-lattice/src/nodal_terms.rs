//! Symmetric blocks A added to K at the nodes of a level (inertia, springs, contact), and the inverse of D = diag(K) +
//! A for the smoother.

use sinew_math::Mat3;
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut, reduce_blocks};

use crate::aligned::Aligned;
use crate::kernel::{DiagonalAnchors, FullAnchors};
use crate::layers::split_planes;
use crate::layout::Layout;
use crate::pass::NodalTerms;
use crate::transfer::Transfer;

/// Smallest accepted pivot of D relative to its diagonal. f32 has seven digits; below this the inverse may be
/// indefinite.
const MIN_PIVOT: f64 = 1e-6;

/// Shape of the blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NodalTermKind {
    #[default]
    None,
    Diagonal,
    Full,
}

impl NodalTermKind {
    /// Smallest shape that holds these blocks.
    pub fn of(blocks: &[Mat3<f32>]) -> Self {
        let is_full = |block: &Mat3<f32>| block.rows[1][2] != 0.0 || block.rows[0][2] != 0.0 || block.rows[0][1] != 0.0;
        let any = reduce_blocks(blocks.len(), SUM_BLOCK, |range| blocks[range].iter().any(is_full), |a, b| a || b);
        if any == Some(true) { Self::Full } else { Self::Diagonal }
    }
}

/// Blocks of a level's nodes, in the slots of vectors. Zero for fixed components and in every slot of a seam but the
/// first.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeAnchors {
    kind: NodalTermKind,
    /// xx, yy, zz.
    diagonal: Aligned,
    /// yz, xz, xy.
    cross: Aligned,
    /// yz, xz, xy of D⁻¹.
    inverse_cross: Aligned,
}

impl NodeAnchors {
    /// View for passes.
    pub fn view(&self) -> NodalTerms<'_> {
        match self.kind {
            NodalTermKind::None => NodalTerms::None,
            NodalTermKind::Diagonal => NodalTerms::Diagonal(DiagonalAnchors(&self.diagonal)),
            NodalTermKind::Full => NodalTerms::Full(FullAnchors {
                diagonal: &self.diagonal,
                cross: &self.cross,
                inverse_cross: &self.inverse_cross,
            }),
        }
    }

    /// Removes all blocks and keeps the memory.
    pub fn clear(&mut self) {
        self.kind = NodalTermKind::None;
    }

    /// Reserves memory for blocks of any kind, so that later calls do not allocate.
    fn prepare(&mut self, kind: NodalTermKind, layout: &Layout) {
        self.kind = kind;
        if self.diagonal.is_empty() {
            for values in [&mut self.diagonal, &mut self.cross, &mut self.inverse_cross] {
                *values = Aligned::zeros(layout.value_count());
            }
        }
    }

    /// Sets the blocks of the finest level.
    pub fn set(&mut self, kind: NodalTermKind, layout: &Layout, free: &[f32], blocks: &[Mat3<f32>]) {
        self.prepare(kind, layout);
        layout.spread(&mut self.diagonal, |node| [0, 1, 2].map(|c| blocks[node].rows[c][c]));
        if kind == NodalTermKind::Full {
            layout.spread(&mut self.cross, |node| {
                let rows = &blocks[node].rows;
                [rows[1][2], rows[0][2], rows[0][1]]
            });
        }
        self.hold(layout, free);
    }

    /// Sets the blocks of the finest level to zero, for kernels that support full blocks only.
    pub fn set_zero(&mut self, layout: &Layout) {
        self.prepare(NodalTermKind::Full, layout);
        self.diagonal.fill(0.0);
        self.cross.fill(0.0);
    }

    /// Computes the blocks D_c = Σ w_f D_f of a coarser level. These are row sums of PᵀDP and never softer than PᵀDP,
    /// since a squared mean is at most the mean of squares. `holds` are springs for fixed components and a factor on
    /// them; `sums` is scratch on the finer level; `least` is the minimum kind that the level's kernel requires.
    pub fn restrict(
        &mut self,
        transfer: &Transfer,
        fine: &Layout,
        finer: &Self,
        (holds, factor): (&[f32], f32),
        sums: &mut [f32],
        layout: &Layout,
        free: &[f32],
        least: NodalTermKind,
    ) {
        let least = if holds.is_empty() { least } else { least.max(NodalTermKind::Diagonal) };
        let kind = finer.kind.max(least);
        if kind == NodalTermKind::None {
            self.clear();
            return;
        }
        self.prepare(kind, layout);
        let has_blocks = finer.kind != NodalTermKind::None;
        match (has_blocks, holds.is_empty()) {
            (true, true) => sums.copy_from_slice(&finer.diagonal),
            (false, true) => sums.fill(0.0),
            (_, false) => {
                for (k, (sum, hold)) in sums.iter_mut().zip(holds).enumerate() {
                    *sum = factor * hold + if has_blocks { finer.diagonal[k] } else { 0.0 };
                }
            }
        }
        // Reads the first slot of a seam and writes all of them.
        transfer.restrict(fine, sums, layout, &mut self.diagonal);
        if finer.kind == NodalTermKind::Full {
            transfer.restrict(fine, &finer.cross, layout, &mut self.cross);
        } else {
            self.cross.fill(0.0);
        }
        self.hold(layout, free);
    }

    /// Zeroes fixed components, which corrections do not move, and every slot of a seam but the first.
    fn hold(&mut self, layout: &Layout, free: &[f32]) {
        for_each_block_mut((&mut *self.diagonal, free), SUM_BLOCK, |_, (diagonal, free): (&mut [f32], &[f32])| {
            diagonal.iter_mut().zip(free).for_each(|(entry, free)| *entry *= free);
        });
        let is_full = self.kind == NodalTermKind::Full;
        if is_full {
            split_planes(layout, 0..layout.plane_count(), &mut *self.cross, &|plane, cross: &mut [f32]| {
                let free = &free[layout.plane(plane)];
                layout.for_each_slot(plane, |at| {
                    let [x, y, z] = at.map(|at| free[at]);
                    cross[at[0]] *= y * z;
                    cross[at[1]] *= x * z;
                    cross[at[2]] *= x * y;
                });
            });
        }
        for slot in layout.seams().flat_map(|slots| &slots[1..]) {
            for c in 0..3 {
                self.diagonal[slot.component(c)] = 0.0;
                if is_full {
                    self.cross[slot.component(c)] = 0.0;
                }
            }
        }
    }

    /// Adds A x; for a seam, in its first slot only.
    pub fn add_product(&self, layout: &Layout, x: &[f32], out: &mut [f32]) {
        let Self { kind, diagonal, cross, .. } = self;
        if *kind == NodalTermKind::None {
            return;
        }
        let parts = (&mut *out, &**diagonal, x);
        for_each_block_mut(parts, SUM_BLOCK, |_, (out, diagonal, x): (&mut [f32], &[f32], &[f32])| {
            for ((out, diagonal), x) in out.iter_mut().zip(diagonal).zip(x) {
                *out += diagonal * x;
            }
        });
        if *kind == NodalTermKind::Full {
            split_planes(layout, 0..layout.plane_count(), out, &|plane, out: &mut [f32]| {
                let range = layout.plane(plane);
                let (cross, x) = (&cross[range.clone()], &x[range]);
                layout.for_each_slot(plane, |at| {
                    let ([yz, xz, xy], [x, y, z]) = (at.map(|at| cross[at]), at.map(|at| x[at]));
                    out[at[0]] += xy * y + xz * z;
                    out[at[1]] += xy * x + yz * z;
                    out[at[2]] += xz * x + yz * y;
                });
            });
        }
    }

    /// Computes D⁻¹ on free components from the diagonal of K in `inverse`.
    pub fn invert(&mut self, layout: &Layout, free: &[f32], inverse: &mut [f32]) {
        let Self { kind, diagonal, cross, inverse_cross } = self;
        match kind {
            NodalTermKind::None => {
                for_each_block_mut((inverse, free), SUM_BLOCK, |_, (inverse, free): (&mut [f32], &[f32])| {
                    for (entry, &free) in inverse.iter_mut().zip(free) {
                        *entry = reciprocal(*entry, 0.0) * free;
                    }
                });
                return;
            }
            NodalTermKind::Diagonal => for_each_block_mut(
                (&mut *inverse, &**diagonal, free),
                SUM_BLOCK,
                |_, (inverse, diagonal, free): (&mut [f32], &[f32], &[f32])| {
                    for ((entry, &anchor), &free) in inverse.iter_mut().zip(diagonal).zip(free) {
                        *entry = reciprocal(*entry, anchor) * free;
                    }
                },
            ),
            NodalTermKind::Full => split_planes(
                layout,
                0..layout.plane_count(),
                (&mut *inverse, &mut **inverse_cross),
                &|plane, (inverse, inverse_cross): (&mut [f32], &mut [f32])| {
                    let range = layout.plane(plane);
                    let (diagonal, cross) = (&diagonal[range.clone()], &cross[range.clone()]);
                    let free = &free[range];
                    layout.for_each_slot(plane, |at| {
                        let free = at.map(|at| free[at]);
                        let stiffness = at.map(|at| inverse[at]);
                        let block = inverse_block(stiffness, at.map(|at| diagonal[at]), at.map(|at| cross[at]), free);
                        for c in 0..3 {
                            inverse[at[c]] = block[0][c];
                            inverse_cross[at[c]] = block[1][c];
                        }
                    });
                },
            ),
        }
        // Only the first slot of a seam holds the block.
        for slots in layout.seams() {
            for c in 0..3 {
                let first = slots[0].component(c);
                for slot in &slots[1..] {
                    inverse[slot.component(c)] = inverse[first];
                    inverse_cross[slot.component(c)] = inverse_cross[first];
                }
            }
        }
    }
}

/// 1 / (k + a); 1 / k where that is not positive; zero where neither is.
fn reciprocal(stiffness: f32, anchor: f32) -> f32 {
    let sum = stiffness + anchor;
    if sum > 0.0 {
        1.0 / sum
    } else if stiffness > 0.0 {
        1.0 / stiffness
    } else {
        0.0
    }
}

/// Entries xx, yy, zz and yz, xz, xy of (diag(k) + A)⁻¹ on free components. Uses the diagonal alone where the block is
/// not definite.
fn inverse_block(stiffness: [f32; 3], anchor: [f32; 3], cross: [f32; 3], free: [f32; 3]) -> [[f32; 3]; 2] {
    let alone = [0, 1, 2].map(|c| reciprocal(stiffness[c], anchor[c]) * free[c]);
    if cross == [0.0; 3] {
        return [alone, [0.0; 3]];
    }
    // Fixed components have no off-diagonal entries, whatever their diagonal.
    let [xx, yy, zz] =
        [0, 1, 2].map(|c| if free[c] > 0.0 { f64::from(stiffness[c]) + f64::from(anchor[c]) } else { 1.0 });
    let [yz, xz, xy] = cross.map(f64::from);
    // Pivots of the factor L diag(p) Lᵀ.
    let second = yy - xy * xy / xx;
    let rest = yz - xy * xz / xx;
    let third = zz - xz * xz / xx - rest * rest / second;
    let is_definite = xx > 0.0 && second > MIN_PIVOT * yy && third > MIN_PIVOT * zz;
    if !is_definite {
        return [alone, [0.0; 3]];
    }
    let scale = 1.0 / (xx * second * third);
    let diagonal = [yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy];
    let beside = [xz * xy - xx * yz, xy * yz - xz * yy, xz * yz - xy * zz];
    [[0, 1, 2].map(|c| (diagonal[c] * scale) as f32 * free[c]), beside.map(|entry| (entry * scale) as f32)]
}
