//! Sweeps over a whole level: slabs of planes on several threads, bit-identical to one thread.
//!
//! A thread owns the planes of a slab and updates them in place. It needs the old values of one plane on each side, and
//! copies them before any thread starts. The layer of cells below its first plane is computed twice. The order of every
//! sum is independent of the threads.

use std::ops::Range;

use sinew_math::lanes::{Isa, LaneKernel, dispatch_or};
use sinew_math::{LaneScalar, Mat3};

use crate::aligned::Aligned;
use crate::kernel::{
    Apply, Case, Cells, DiagonalAnchors, FullAnchors, ModeStiffness, NoAnchors, NodalTerm, Nothing, PlanePass,
    Residual, Smooth, carry_length, part_length,
};
use crate::layout::{Layout, NodeSlot, Segment, Segments};

/// Minimum number of blocks per thread: 8 µs of work.
const MIN_BLOCKS: usize = 128;

/// Planes of a thread, with its scratch.
#[derive(Clone, Debug)]
struct Slab {
    first: usize,
    last: usize,
    below: Aligned,
    above: Aligned,
    part: Aligned,
    carry: Aligned,
}

/// Partition of a level, or of some of its blocks, among threads.
#[derive(Clone, Debug)]
pub(crate) struct Slabs {
    slabs: Vec<Slab>,
    /// Segments to visit, if the sweep covers only some blocks.
    some: Option<Segments>,
    /// Steps of seam nodes before a sweep.
    seam_steps: Vec<[f32; 3]>,
}

/// Blocks added to K at the nodes, with the arrays of the whole level; see [`NodalTerm`].
#[derive(Clone, Copy)]
pub(crate) enum NodalTerms<'a> {
    None,
    Diagonal(DiagonalAnchors<'a>),
    Full(FullAnchors<'a>),
}

/// Operation of a pass, with the arrays of the whole level.
pub(crate) enum Pass<'a> {
    /// out = K x.
    Apply { out: &'a mut [f32] },
    /// out = b − (K + A) x at free nodes.
    Residual { b: &'a [f32], inverse: &'a [f32], out: &'a mut [f32] },
    /// out ← a out + c D⁻¹ (b − (K + A) x), x ← x + out.
    Smooth { b: &'a [f32], inverse: &'a [f32], out: &'a mut [f32], a: f64, c: f64 },
}

/// The operator of a level.
#[derive(Clone, Copy)]
pub(crate) struct Operator<'a> {
    pub layout: &'a Layout,
    /// State of all blocks.
    pub state: &'a [f32],
    pub modes: ModeStiffness,
    /// Moments of all blocks; empty if all cells are full. Levels with moments have added blocks. They support
    /// [`Pass::Apply`] only with fibers, and those levels have full blocks.
    pub moments: &'a [f32],
    /// Tangents of the fibers of all blocks; empty without fibers. Levels with fibers have moments.
    pub fibers: &'a [f32],
    /// Bulk of all blocks; empty if the volume measure is the trace.
    pub bulk: &'a [f32],
    /// Not part of [`Pass::Apply`].
    pub anchors: NodalTerms<'a>,
}

impl Operator<'_> {
    fn cells(&self) -> Cells {
        Cells { moments: !self.moments.is_empty(), fibers: !self.fibers.is_empty(), determinant: !self.bulk.is_empty() }
    }
}

/// Constants of a pass.
struct Work<'a> {
    operator: Operator<'a>,
    some: Option<&'a Segments>,
    task: Task<'a>,
}

impl<'a> Work<'a> {
    /// Segments that a pass visits in a plane.
    fn segments(&self, plane: usize) -> &'a [Segment] {
        self.some.map_or_else(|| self.operator.layout.segments(plane), |some| some.of_plane(plane))
    }
}

#[derive(Clone, Copy)]
enum Task<'a> {
    Apply,
    Residual { b: &'a [f32], inverse: &'a [f32] },
    Smooth { b: &'a [f32], inverse: &'a [f32], a: f64, c: f64 },
}

impl Slabs {
    /// Partitions a level by number of blocks, for the given number of threads.
    pub fn new(layout: &Layout, threads: usize) -> Self {
        Self::cut(layout, threads, |plane| layout.blocks(plane).len(), None)
    }

    /// Partitions some of the blocks. D⁻¹ must be zero at nodes with cells outside these blocks: passes produce
    /// meaningless values there.
    pub fn of_blocks(layout: &Layout, threads: usize, blocks: &[bool]) -> Self {
        let some = layout.segments_of(blocks);
        Self::cut(layout, threads, |plane| some.block_count(plane), Some(some.clone()))
    }

    fn cut(layout: &Layout, threads: usize, blocks_of: impl Fn(usize) -> usize, some: Option<Segments>) -> Self {
        let planes = layout.plane_count();
        let blocks: usize = (0..planes).map(&blocks_of).sum();
        let count = threads.clamp(1, (blocks / MIN_BLOCKS).max(1)).min(planes.max(1));
        let mut slabs = Vec::new();
        let (mut first, mut before) = (0, 0);
        for k in 0..count {
            let share = blocks * (k + 1) / count;
            let mut last = first;
            while last < planes && (last == first || k + 1 == count || before < share) {
                before += blocks_of(last);
                last += 1;
            }
            if first < last {
                let plane_length = |plane: usize| layout.plane(plane).len();
                slabs.push(Slab {
                    first,
                    last,
                    below: Aligned::zeros(if first > 0 { plane_length(first - 1) } else { 0 }),
                    above: Aligned::zeros(if last < planes { plane_length(last) } else { 0 }),
                    part: Aligned::zeros(part_length(layout)),
                    carry: Aligned::zeros(carry_length(layout)),
                });
            }
            first = last;
        }
        Self { slabs, some, seam_steps: vec![[0.0; 3]; layout.seams().count()] }
    }

    /// One pass over all planes.
    pub fn run(&mut self, operator: Operator<'_>, x: &mut [f32], pass: Pass<'_>) {
        let layout = operator.layout;
        let anchors = if matches!(pass, Pass::Apply { .. }) { NodalTerms::None } else { operator.anchors };
        let operator = Operator { anchors, ..operator };
        for slab in &mut self.slabs {
            if slab.first > 0 {
                let range = layout.plane(slab.first - 1);
                slab.below[..range.len()].copy_from_slice(&x[range]);
            }
            if slab.last < layout.plane_count() {
                let range = layout.plane(slab.last);
                slab.above[..range.len()].copy_from_slice(&x[range]);
            }
        }
        let (task, out) = match pass {
            Pass::Apply { out } => (Task::Apply, out),
            Pass::Residual { b, inverse, out } => (Task::Residual { b, inverse }, out),
            Pass::Smooth { b, inverse, out, a, c } => (Task::Smooth { b, inverse, a, c }, out),
        };
        let work = Work { operator, some: self.some.as_ref(), task };
        for (slots, step) in layout.seams().zip(&mut self.seam_steps) {
            *step = std::array::from_fn(|c| out[slots[0].component(c)]);
        }
        run_slabs(&mut self.slabs, &work, 0, x, out);
        self.join_seams(&operator, task, x, out);
    }

    /// Combines the slots of each seam, which have seen only a part of K x each.
    fn join_seams(&self, operator: &Operator<'_>, task: Task<'_>, x: &mut [f32], out: &mut [f32]) {
        let layout = operator.layout;
        match task {
            Task::Apply => layout.sum_seams(out),
            Task::Residual { b, inverse, .. } => {
                for slots in layout.seams() {
                    for c in 0..3 {
                        let at = |slot: &NodeSlot| slot.component(c);
                        let first = at(&slots[0]);
                        // Each slot holds b less a part, so all but one b are surplus. At fixed nodes it stays zero.
                        let parts = slots.iter().map(|slot| out[at(slot)]);
                        let surplus = (slots.len() - 1) as f32 * b[first];
                        let r = if inverse[first] > 0.0 { parts.sum::<f32>() - surplus } else { 0.0 };
                        slots.iter().for_each(|slot| out[at(slot)] = r);
                    }
                }
            }
            Task::Smooth { b, inverse, a, c: factor } => {
                for (slots, before) in layout.seams().zip(&self.seam_steps) {
                    let solved = operator.anchors.solve(inverse, slots[0], b);
                    for c in 0..3 {
                        let at = |slot: &NodeSlot| slot.component(c);
                        let first = at(&slots[0]);
                        if inverse[first] == 0.0 {
                            // The node is fixed, and some of its slots may not have been visited.
                            continue;
                        }
                        let old = x[first] - out[first];
                        let surplus = a as f32 * before[c] + factor as f32 * solved[c];
                        let step =
                            slots.iter().map(|slot| out[at(slot)]).sum::<f32>() - (slots.len() - 1) as f32 * surplus;
                        for slot in slots {
                            out[at(slot)] = step;
                            x[at(slot)] = old + step;
                        }
                    }
                }
            }
        }
    }
}

impl NodalTerms<'_> {
    /// The block of one node, given its first slot.
    pub fn block(&self, slot: NodeSlot) -> Option<Mat3> {
        let at = |values: &[f32]| [0, 1, 2].map(|c| f64::from(values[slot.component(c)]));
        let (diagonal, [yz, xz, xy]) = match self {
            Self::None => return None,
            Self::Diagonal(anchors) => (at(anchors.0), [0.0; 3]),
            Self::Full(anchors) => (at(anchors.diagonal), at(anchors.cross)),
        };
        let [xx, yy, zz] = diagonal;
        Some(Mat3::new([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    }

    /// D⁻¹ r of one node.
    fn solve(&self, inverse: &[f32], slot: NodeSlot, r: &[f32]) -> [f32; 3] {
        let at = |values: &[f32]| [0, 1, 2].map(|c| values[slot.component(c)]);
        let cross = if let Self::Full(anchors) = self { at(anchors.inverse_cross) } else { [0.0; 3] };
        Self::solve_block(at(inverse), cross, at(r))
    }

    /// S r with entries xx, yy, zz and yz, xz, xy of a symmetric S.
    #[inline(always)]
    pub fn solve_block([xx, yy, zz]: [f32; 3], [yz, xz, xy]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
        [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z]
    }
}

/// For kernels that are compiled once for all kinds of blocks.
impl NodalTerm for NodalTerms<'_> {
    const IS_SOME: bool = false;

    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3] {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Self::None => NoAnchors.add(x, at, product),
                Self::Diagonal(anchors) => anchors.add(x, at, product),
                Self::Full(anchors) => anchors.add(x, at, product),
            }
        }
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Self::None => NoAnchors.solve(inverse, at, residual),
                Self::Diagonal(anchors) => anchors.solve(inverse, at, residual),
                Self::Full(anchors) => anchors.solve(inverse, at, residual),
            }
        }
    }

    fn of_plane(&self, values: Range<usize>) -> Self {
        match self {
            Self::None => Self::None,
            Self::Diagonal(anchors) => Self::Diagonal(anchors.of_plane(values)),
            Self::Full(anchors) => Self::Full(anchors.of_plane(values)),
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::None => NoAnchors.length(),
            Self::Diagonal(anchors) => anchors.length(),
            Self::Full(anchors) => anchors.length(),
        }
    }
}

/// Splits the slabs recursively between two threads. `x` and `out` begin at `offset`.
fn run_slabs(slabs: &mut [Slab], work: &Work<'_>, offset: usize, x: &mut [f32], out: &mut [f32]) {
    match slabs {
        [] => {}
        [slab] if work.operator.bulk.is_empty() => run_slab::<false>(slab, work, offset, x, out),
        [slab] => run_slab::<true>(slab, work, offset, x, out),
        _ => {
            let (left, right) = slabs.split_at_mut(slabs.len() / 2);
            let border = work.operator.layout.plane(right[0].first).start;
            let (x_left, x_right) = x.split_at_mut(border - offset);
            let (out_left, out_right) = out.split_at_mut(border - offset);
            rayon::join(
                || run_slabs(left, work, offset, x_left, out_left),
                || run_slabs(right, work, border, x_right, out_right),
            );
        }
    }
}

/// One kernel per kind of level, so that the one without added blocks pays nothing for them.
fn run_slab<const DETERMINANT: bool>(slab: &mut Slab, work: &Work<'_>, offset: usize, x: &mut [f32], out: &mut [f32]) {
    if work.operator.moments.is_empty() {
        let case = Only::<false, false, DETERMINANT>;
        run_below(BelowPass { case, slab, work, offset, x });
        match work.operator.anchors {
            NodalTerms::None => run_planes(SlabPass { case, slab, work, anchors: NoAnchors, offset, x, out }),
            NodalTerms::Diagonal(anchors) => run_planes(SlabPass { case, slab, work, anchors, offset, x, out }),
            NodalTerms::Full(anchors) => run_planes(SlabPass { case, slab, work, anchors, offset, x, out }),
        }
    } else if work.operator.fibers.is_empty() {
        // Coarse levels, which always have added blocks; and all levels with fibers, which have full ones.
        let case = Only::<true, false, DETERMINANT>;
        run_below(BelowPass { case, slab, work, offset, x });
        match work.operator.anchors {
            NodalTerms::None => {}
            NodalTerms::Diagonal(anchors) => run_planes(SlabPass { case, slab, work, anchors, offset, x, out }),
            NodalTerms::Full(anchors) => run_planes(SlabPass { case, slab, work, anchors, offset, x, out }),
        }
    } else {
        let case = Only::<true, true, DETERMINANT>;
        run_below(BelowPass { case, slab, work, offset, x });
        match work.operator.anchors {
            NodalTerms::Full(anchors) => run_planes(SlabPass { case, slab, work, anchors, offset, x, out }),
            _ => dispatch_or(FiberProduct { case, slab, work, offset, x, out }, |pass| {
                let FiberProduct { slab, work, offset, x, out, .. } = pass;
                SlabPass { case: Any, slab, work, anchors: NodalTerms::None, offset, x, out }
            }),
        }
    }
}
fn run_below<C: Case>(pass: BelowPass<'_, '_, C>) {
    dispatch_or(pass, |BelowPass { slab, work, offset, x, .. }| BelowPass { case: Any, slab, work, offset, x });
}

fn run_planes<A: NodalTerm, C: Case>(pass: SlabPass<'_, '_, A, C>) {
    dispatch_or(pass, |SlabPass { slab, work, offset, x, out, .. }| SlabPass {
        case: Any,
        slab,
        work,
        anchors: work.operator.anchors,
        offset,
        x,
        out,
    });
}

/// One kind of cells.
#[derive(Clone, Copy)]
struct Only<const MOMENTS: bool, const FIBERS: bool, const DETERMINANT: bool>;

impl<const MOMENTS: bool, const FIBERS: bool, const DETERMINANT: bool> Case for Only<MOMENTS, FIBERS, DETERMINANT> {
    const MAY: Cells = Cells { moments: MOMENTS, fibers: FIBERS, determinant: DETERMINANT };
    const MUST: Cells = Self::MAY;
}

/// All kinds, with conditions. For the fallback of x86-64.
#[derive(Clone, Copy)]
struct Any;

impl Case for Any {
    const MAY: Cells = Cells { moments: true, fibers: true, determinant: true };
    const MUST: Cells = Cells { moments: false, fibers: false, determinant: false };
}

/// The layer of cells below a slab, for the partial sums of its first plane.
struct BelowPass<'a, 'b, C> {
    case: C,
    slab: &'a mut Slab,
    work: &'a Work<'b>,
    offset: usize,
    x: &'a [f32],
}

impl<C: Case> LaneKernel for BelowPass<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { case, slab, work, offset, x } = self;
        let Operator { layout, state, modes, moments, fibers, bulk, .. } = work.operator;
        let Slab { first, below, part, carry, .. } = slab;
        part.fill(0.0);
        if *first > 0 && !layout.blocks(*first - 1).is_empty() {
            let next = layout.plane(*first);
            let next = &x[next.start - offset..next.end - offset];
            let (plane, segments) = (*first - 1, work.segments(*first - 1));
            PlanePass { layout, plane, segments, state, this: below, next, part, carry, modes, moments, fibers, bulk }
                .run::<I::F32, C>(case, work.operator.cells(), &mut Nothing);
        }
    }
}

/// The planes of a slab, after [`BelowPass`].
struct SlabPass<'a, 'b, A, C> {
    case: C,
    slab: &'a mut Slab,
    work: &'a Work<'b>,
    anchors: A,
    offset: usize,
    x: &'a mut [f32],
    out: &'a mut [f32],
}

impl<A: NodalTerm, C: Case> LaneKernel for SlabPass<'_, '_, A, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { case, slab, work, anchors, offset, x, out } = self;
        let Operator { layout, state, modes, moments, fibers, bulk, .. } = work.operator;
        let Slab { first, last, above, part, carry, .. } = slab;
        let (first, last) = (*first, *last);
        let cells = work.operator.cells();
        for plane in first..last {
            let range = layout.plane(plane);
            let (this, rest) = x[range.start - offset..].split_at_mut(range.len());
            let next: &[f32] = if plane + 1 < last { &rest[..layout.plane(plane + 1).len()] } else { &*above };
            let out = &mut out[range.start - offset..range.end - offset];
            let (part, carry) = (&mut *part, &mut *carry);
            let segments = work.segments(plane);
            let mut pass =
                PlanePass { layout, plane, segments, state, this, next, part, carry, modes, moments, fibers, bulk };
            match work.task {
                Task::Apply => {
                    // Products ignore the added blocks, so no kernel is compiled for that case.
                    if !A::IS_SOME {
                        pass.run::<I::F32, C>(case, cells, &mut Apply(out));
                    }
                }
                Task::Residual { b, inverse } => {
                    let (b, inverse, anchors) = (&b[range.clone()], &inverse[range.clone()], anchors.of_plane(range));
                    pass.run::<I::F32, C>(case, cells, &mut Residual { b, inverse, anchors, r: out });
                }
                Task::Smooth { b, inverse, a, c } => {
                    let (b, inverse, anchors) = (&b[range.clone()], &inverse[range.clone()], anchors.of_plane(range));
                    pass.run::<I::F32, C>(case, cells, &mut Smooth { b, inverse, anchors, d: out, a, c });
                }
            }
        }
    }
}

/// The product of a level with fibers, after [`BelowPass`].
struct FiberProduct<'a, 'b, C> {
    case: C,
    slab: &'a mut Slab,
    work: &'a Work<'b>,
    offset: usize,
    x: &'a mut [f32],
    out: &'a mut [f32],
}

impl<C: Case> LaneKernel for FiberProduct<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { case, slab, work, offset, x, out } = self;
        let Operator { layout, state, modes, moments, fibers, bulk, .. } = work.operator;
        let Slab { first, last, above, part, carry, .. } = slab;
        for plane in *first..*last {
            let range = layout.plane(plane);
            let (this, rest) = x[range.start - offset..].split_at_mut(range.len());
            let next: &[f32] = if plane + 1 < *last { &rest[..layout.plane(plane + 1).len()] } else { &*above };
            let out = &mut out[range.start - offset..range.end - offset];
            PlanePass {
                layout,
                plane,
                segments: work.segments(plane),
                state,
                this,
                next,
                part: &mut *part,
                carry: &mut *carry,
                modes,
                moments,
                fibers,
                bulk,
            }
            .run::<I::F32, C>(case, work.operator.cells(), &mut Apply(out));
        }
    }
}
