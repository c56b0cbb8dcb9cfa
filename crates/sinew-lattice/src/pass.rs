//! Sweeps over a whole level: slabs of planes on several threads, with the same bits on one.
//!
//! A thread owns the planes of a slab and changes them in place. Of its neighbours it needs the old values of one plane on each side, which it copies before anybody begins; the
//! layer of cells below its first plane is computed twice. Each sum keeps its order, whoever computes it.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};

use crate::aligned::Aligned;
use crate::kernel::{Apply, ModeStiffness, Nothing, PlanePass, Residual, Smooth, carry_length, part_length};
use crate::layout::{Layout, NodeSlot};

/// Fewest blocks that are worth a thread: 16 µs of work.
const LEAST_BLOCKS: usize = 256;

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

/// How a level is shared among threads.
#[derive(Clone, Debug)]
pub(crate) struct Slabs {
    slabs: Vec<Slab>,
    /// Steps of the nodes of seams before a sweep.
    seam_steps: Vec<[f32; 3]>,
}

/// What a pass does, with the arrays of the whole level.
pub(crate) enum Pass<'a> {
    /// out = K x.
    Apply { out: &'a mut [f32] },
    /// out = b − K x where nodes are free.
    Residual { b: &'a [f32], inverse: &'a [f32], out: &'a mut [f32] },
    /// out ← a out + c D⁻¹ (b − K x), x ← x + out.
    Smooth { b: &'a [f32], inverse: &'a [f32], out: &'a mut [f32], a: f64, c: f64 },
}

/// What does not change during a pass.
struct Level<'a> {
    layout: &'a Layout,
    state: &'a [f32],
    modes: ModeStiffness,
    task: Task<'a>,
}

#[derive(Clone, Copy)]
enum Task<'a> {
    Apply,
    Residual { b: &'a [f32], inverse: &'a [f32] },
    Smooth { b: &'a [f32], inverse: &'a [f32], a: f64, c: f64 },
}

impl Slabs {
    /// Cuts a level for as many threads as there are, by the number of blocks.
    pub fn new(layout: &Layout, threads: usize) -> Self {
        let planes = layout.plane_count();
        let blocks = layout.block_count();
        let count = threads.clamp(1, (blocks / LEAST_BLOCKS).max(1)).min(planes.max(1));
        let mut slabs = Vec::new();
        let mut first = 0;
        for k in 0..count {
            let share = blocks * (k + 1) / count;
            let mut last = first + 1;
            while last < planes && (k + 1 == count || layout.blocks(last).start < share) {
                last += 1;
            }
            let last = last.min(planes);
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
        Self { slabs, seam_steps: vec![[0.0; 3]; layout.seams().count()] }
    }

    /// One pass over all planes.
    pub fn run(&mut self, layout: &Layout, state: &[f32], modes: ModeStiffness, x: &mut [f32], pass: Pass<'_>) {
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
        let level = Level { layout, state, modes, task };
        for (slots, step) in layout.seams().zip(&mut self.seam_steps) {
            *step = std::array::from_fn(|c| out[slots[0].component(c)]);
        }
        run_slabs(&mut self.slabs, &level, 0, x, out);
        self.join_seams(layout, task, x, out);
    }

    /// The slots of a seam have seen a part of K x each: puts together what all of it gives.
    fn join_seams(&self, layout: &Layout, task: Task<'_>, x: &mut [f32], out: &mut [f32]) {
        match task {
            Task::Apply => layout.sum_seams(out),
            Task::Residual { b, .. } => {
                for slots in layout.seams() {
                    for c in 0..3 {
                        let at = |slot: &NodeSlot| slot.component(c);
                        // Each is b less a part, so all but one b are too many. Where nodes are fixed it stays zero.
                        let parts = slots.iter().map(|slot| out[at(slot)]);
                        let is_fixed = parts.clone().all(|part| part == 0.0);
                        let surplus = (slots.len() - 1) as f32 * b[at(&slots[0])];
                        let r = if is_fixed { 0.0 } else { parts.sum::<f32>() - surplus };
                        slots.iter().for_each(|slot| out[at(slot)] = r);
                    }
                }
            }
            Task::Smooth { b, inverse, a, c: factor } => {
                for (slots, before) in layout.seams().zip(&self.seam_steps) {
                    for c in 0..3 {
                        let at = |slot: &NodeSlot| slot.component(c);
                        let first = at(&slots[0]);
                        let old = x[first] - out[first];
                        let surplus = a as f32 * before[c] + factor as f32 * inverse[first] * b[first];
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

/// Hands halves of the slabs to two threads. `x` and `out` begin at `offset`.
fn run_slabs(slabs: &mut [Slab], level: &Level<'_>, offset: usize, x: &mut [f32], out: &mut [f32]) {
    match slabs {
        [] => {}
        [slab] => dispatch(SlabPass { slab, level, offset, x, out }),
        _ => {
            let (left, right) = slabs.split_at_mut(slabs.len() / 2);
            let border = level.layout.plane(right[0].first).start;
            let (x_left, x_right) = x.split_at_mut(border - offset);
            let (out_left, out_right) = out.split_at_mut(border - offset);
            rayon::join(
                || run_slabs(left, level, offset, x_left, out_left),
                || run_slabs(right, level, border, x_right, out_right),
            );
        }
    }
}

struct SlabPass<'a, 'b> {
    slab: &'a mut Slab,
    level: &'a Level<'b>,
    offset: usize,
    x: &'a mut [f32],
    out: &'a mut [f32],
}

impl LaneKernel for SlabPass<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { slab, level, offset, x, out } = self;
        let Level { layout, state, modes, task } = *level;
        slab.part.fill(0.0);
        let Slab { first, last, below, above, part, carry } = slab;
        let (first, last) = (*first, *last);
        if first > 0 && !layout.blocks(first - 1).is_empty() {
            let next = layout.plane(first);
            PlanePass {
                layout,
                plane: first - 1,
                state,
                this: &mut *below,
                next: &x[next.start - offset..next.end - offset],
                part: &mut *part,
                carry: &mut *carry,
                modes,
            }
            .run::<I::F32>(&mut Nothing);
        }
        for plane in first..last {
            let range = layout.plane(plane);
            let (this, rest) = x[range.start - offset..].split_at_mut(range.len());
            let next: &[f32] = if plane + 1 < last { &rest[..layout.plane(plane + 1).len()] } else { &*above };
            let out = &mut out[range.start - offset..range.end - offset];
            let mut pass = PlanePass { layout, plane, state, this, next, part: &mut *part, carry: &mut *carry, modes };
            match task {
                Task::Apply => pass.run::<I::F32>(&mut Apply(out)),
                Task::Residual { b, inverse } => {
                    pass.run::<I::F32>(&mut Residual { b: &b[range.clone()], inverse: &inverse[range], r: out });
                }
                Task::Smooth { b, inverse, a, c } => {
                    pass.run::<I::F32>(&mut Smooth { b: &b[range.clone()], inverse: &inverse[range], d: out, a, c });
                }
            }
        }
    }
}
