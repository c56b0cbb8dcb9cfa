//! Sums by coloring: elements add directly into shared results, in an order independent of the threads.

use std::ops::{AddAssign, Range};

use super::{DisjointSlice, PlanError, for_each_block};

/// The entries of a shared array that each element adds to, and a safe, reproducible order of the additions.
///
/// Consecutive elements form chunks of a fixed size, and consecutive chunks form windows. Chunks of a window that share
/// an entry get different colors (greedy, in ascending order). Chunks of one color run in parallel, the colors of a
/// window one after another, then the next window; elements of a chunk run in ascending order. So each entry receives
/// its additions in an order fixed by the connectivity alone.
///
/// Coloring chunks instead of elements preserves memory locality (a mesh of Kuhn tetrahedra needs 24 colors for single
/// elements, each scattered through memory) and gives vector kernels runs of elements. Compared with a gather from
/// stored element blocks, it saves writing and reading those blocks: 16 blocks of 72 bytes per tetrahedron.
///
/// One type serves nodal vectors (slots are nodes) and matrices (slots are the n × n blocks of an element).
#[derive(Clone, Debug)]
pub struct ScatterPlan {
    target_length: usize,
    offsets: Vec<u32>,
    slots: Vec<u32>,
    chunk_size: usize,
    /// Chunks in the order of their phases.
    chunks: Vec<u32>,
    /// Ranges of `chunks` that may run in parallel, one range after another.
    phases: Vec<Range<usize>>,
}

/// Chunk sizes to try, largest first. 256 elements amortize the handover to a thread; multiples of 16 fill the lanes.
const CHUNK_SIZES: [usize; 8] = [256, 128, 64, 32, 16, 8, 4, 1];
/// Target number of chunks per phase, so that a handful of threads have work in each phase.
const WANTED_CHUNKS_PER_PHASE: usize = 8;
/// Elements of one window, a multiple of all chunk sizes: their results (3 MB of blocks in `f64` for tetrahedra) stay
/// in the second-level cache from color to color.
const WINDOW: usize = 16384;
/// Colors in the mask of one entry; chunks without a free color run alone at the end.
const MAX_COLORS: usize = 64;

impl ScatterPlan {
    /// Builds the plan from the slot lists of all elements, in element order.
    ///
    /// # Errors
    /// [`PlanError::IndexOutOfRange`] when a slot is `>= target_length`; [`PlanError::TooLarge`] beyond 32-bit indices.
    pub fn new<E: AsRef<[u32]>>(
        target_length: usize,
        elements: impl IntoIterator<Item = E>,
    ) -> Result<Self, PlanError> {
        let mut offsets = vec![0u32];
        let mut slots = Vec::new();
        for (element, list) in elements.into_iter().enumerate() {
            if let Some(&slot) = list.as_ref().iter().find(|&&slot| slot as usize >= target_length) {
                return Err(PlanError::IndexOutOfRange { element, index: slot as usize, length: target_length });
            }
            slots.extend_from_slice(list.as_ref());
            let end = u32::try_from(slots.len()).map_err(|_| PlanError::TooLarge { count: slots.len() })?;
            offsets.push(end);
        }
        let mut plan = Self { target_length, offsets, slots, chunk_size: 1, chunks: Vec::new(), phases: Vec::new() };
        plan.color_chunks();
        Ok(plan)
    }

    /// Tries chunk sizes until phases hold enough chunks each; a randomly numbered mesh needs small chunks.
    fn color_chunks(&mut self) {
        let mut masks = vec![0u64; self.target_length];
        let mut best_width = 0;
        for chunk_size in CHUNK_SIZES {
            let (chunks, phases) = self.phases_for(chunk_size, &mut masks);
            let width = chunks.len() / phases.len().max(1);
            if self.phases.is_empty() || width > best_width {
                best_width = width;
                (self.chunk_size, self.chunks, self.phases) = (chunk_size, chunks, phases);
            }
            if best_width >= WANTED_CHUNKS_PER_PHASE {
                break;
            }
        }
    }

    /// Chunks sorted by window and color, and the ranges that may run in parallel.
    fn phases_for(&self, chunk_size: usize, masks: &mut [u64]) -> (Vec<u32>, Vec<Range<usize>>) {
        let chunk_count = self.element_count().div_ceil(chunk_size);
        let (mut chunks, mut phases) = (Vec::with_capacity(chunk_count), Vec::new());
        let window_size = WINDOW / chunk_size;
        for first in (0..chunk_count).step_by(window_size) {
            let window = first..(first + window_size).min(chunk_count);
            let mut colored: Vec<(usize, u32)> =
                window.clone().map(|chunk| (self.take_color(chunk, chunk_size, masks), chunk as u32)).collect();
            for chunk in window {
                self.slots_of(chunk, chunk_size).iter().for_each(|&slot| masks[slot as usize] = 0);
            }
            colored.sort_unstable();
            // Chunks without a color may conflict with each other: one phase each.
            for group in colored.chunk_by(|a, b| a.0 == b.0 && a.0 < MAX_COLORS) {
                phases.push(chunks.len()..chunks.len() + group.len());
                chunks.extend(group.iter().map(|&(_, chunk)| chunk));
            }
        }
        (chunks, phases)
    }

    /// Gives a chunk the smallest color not used by any of its slots; `MAX_COLORS` when all are taken.
    fn take_color(&self, chunk: usize, chunk_size: usize, masks: &mut [u64]) -> usize {
        let slots = self.slots_of(chunk, chunk_size);
        let taken = slots.iter().fold(0u64, |mask, &slot| mask | masks[slot as usize]);
        let color = taken.trailing_ones() as usize;
        if color < MAX_COLORS {
            slots.iter().for_each(|&slot| masks[slot as usize] |= 1 << color);
        }
        color
    }

    fn slots_of(&self, chunk: usize, chunk_size: usize) -> &[u32] {
        let elements = self.elements_of(chunk, chunk_size);
        &self.slots[self.offsets[elements.start] as usize..self.offsets[elements.end] as usize]
    }

    fn elements_of(&self, chunk: usize, chunk_size: usize) -> Range<usize> {
        let begin = chunk * chunk_size;
        begin..(begin + chunk_size).min(self.element_count())
    }

    /// Number of elements.
    pub fn element_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Length of the target array.
    pub fn target_length(&self) -> usize {
        self.target_length
    }

    /// Number of phases that run one after another: colors, over all windows.
    pub fn phase_count(&self) -> usize {
        self.phases.len()
    }

    /// Elements per chunk (the last chunk may be shorter).
    pub fn chunk_size(&self) -> usize {
        self.chunk_size
    }

    /// The slots of one element, in input order.
    #[inline]
    pub fn slots(&self, element: usize) -> &[u32] {
        &self.slots[self.offsets[element] as usize..self.offsets[element + 1] as usize]
    }

    /// Calls `work(elements, writer)` for each chunk; `writer` adds to the entries of these elements.
    ///
    /// # Panics
    /// When `target` does not have [`Self::target_length`] entries.
    pub fn for_each_chunk<T: Copy + AddAssign + Send>(
        &self,
        target: &mut [T],
        work: impl Fn(Range<usize>, &mut ChunkWriter<'_, T>) + Sync,
    ) {
        assert_eq!(target.len(), self.target_length, "the target must have the length of the plan");
        let target = DisjointSlice::new(target);
        for phase in &self.phases {
            let chunks = &self.chunks[phase.clone()];
            for_each_block(chunks.len(), 1, |block| {
                for &chunk in &chunks[block] {
                    let elements = self.elements_of(chunk as usize, self.chunk_size);
                    let mut writer = ChunkWriter { plan: self, elements: elements.clone(), target: &target };
                    work(elements, &mut writer);
                }
            });
        }
    }
}

/// Adds the results of the elements of one chunk; see [`ScatterPlan::for_each_chunk`].
pub struct ChunkWriter<'a, T> {
    plan: &'a ScatterPlan,
    elements: Range<usize>,
    target: &'a DisjointSlice<'a, T>,
}

impl<T: Copy + AddAssign> ChunkWriter<'_, T> {
    /// Adds `value` to the entry of slot `local` of `element`.
    ///
    /// # Panics
    /// When `element` is not in this chunk or has no such slot.
    #[inline(always)]
    pub fn add(&mut self, element: usize, local: usize, value: T) {
        assert!(self.elements.contains(&element), "element {element} is not in the chunk {:?}", self.elements);
        let slot = self.plan.slots(element)[local];
        // SAFETY: `ScatterPlan::new` checked every slot against `target_length`, which `for_each_chunk` compared with
        // the slice. The slot belongs to an element of this chunk (asserted). Chunks that run in parallel belong to one
        // window and have one color, and such chunks share no slot: `take_color` gives a chunk a color that none of its
        // slots has yet in this window; chunks without a color run alone. A chunk is run by one thread, and `&mut self`
        // serializes its calls.
        unsafe { self.target.add(slot as usize, value) };
    }

    /// The entry of slot `local` of `element`.
    ///
    /// # Panics
    /// When `element` is not in this chunk or has no such slot.
    #[inline(always)]
    pub fn entry(&mut self, element: usize, local: usize) -> &mut T {
        assert!(self.elements.contains(&element), "element {element} is not in the chunk {:?}", self.elements);
        let slot = self.plan.slots(element)[local];
        // SAFETY: as in `add`: the slot is checked and belongs to an element of this chunk, and to no other chunk that
        // runs now; the borrow of `self` excludes a second reference.
        unsafe { self.target.entry(slot as usize) }
    }

    /// Adds `values` to the entries of the slots `first`, `first + 1` … of `element`.
    ///
    /// # Panics
    /// When `element` is not in this chunk or has fewer slots.
    #[inline(always)]
    pub fn add_run(&mut self, element: usize, first: usize, values: &[T]) {
        assert!(self.elements.contains(&element), "element {element} is not in the chunk {:?}", self.elements);
        for (&slot, &value) in self.plan.slots(element)[first..][..values.len()].iter().zip(values) {
            // SAFETY: as in `add`: the slot is checked and belongs to an element of this chunk, and to no other chunk
            // that runs now.
            unsafe { self.target.add(slot as usize, value) };
        }
    }

    /// Adds one value per slot of `element`.
    ///
    /// # Panics
    /// When `element` is not in this chunk, or the number of values is not its number of slots.
    #[inline]
    pub fn add_all(&mut self, element: usize, values: &[T]) {
        assert!(self.elements.contains(&element), "element {element} is not in the chunk {:?}", self.elements);
        let slots = self.plan.slots(element);
        assert_eq!(slots.len(), values.len(), "one value per slot of element {element}");
        for (&slot, &value) in slots.iter().zip(values) {
            // SAFETY: as in `add`: a checked slot of an element of this chunk, which no chunk that runs now shares.
            unsafe { self.target.add(slot as usize, value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{noise, with_threads};
    use super::*;

    fn path_elements(count: usize) -> Vec<[u32; 2]> {
        (0..count as u32).map(|e| [e, e + 1]).collect()
    }

    fn scatter(plan: &ScatterPlan, threads: usize) -> Vec<f64> {
        let mut target = vec![0.0; plan.target_length()];
        with_threads(threads, || {
            plan.for_each_chunk(&mut target, |elements, writer| {
                for e in elements {
                    let values: Vec<f64> = (0..plan.slots(e).len()).map(|k| noise(8 * e + k) - 0.5).collect();
                    writer.add_all(e, &values);
                }
            });
        });
        target
    }

    #[test]
    fn chunks_of_one_phase_share_no_entry() {
        let random: Vec<[u32; 3]> =
            (0..2000).map(|e| std::array::from_fn(|k| (noise(3 * e + k) * 900.0) as u32)).collect();
        for plan in [ScatterPlan::new(5001, path_elements(5000)).unwrap(), ScatterPlan::new(900, random).unwrap()] {
            let mut visited = 0;
            for phase in &plan.phases {
                let mut owner = vec![u32::MAX; plan.target_length];
                for &chunk in &plan.chunks[phase.clone()] {
                    for element in plan.elements_of(chunk as usize, plan.chunk_size) {
                        visited += 1;
                        for &slot in plan.slots(element) {
                            assert!(owner[slot as usize] == u32::MAX || owner[slot as usize] == chunk);
                            owner[slot as usize] = chunk;
                        }
                    }
                }
            }
            assert_eq!(visited, plan.element_count());
        }
    }

    #[test]
    fn scattered_sums_have_the_same_bits_for_any_number_of_threads_and_are_right() {
        let random: Vec<[u32; 3]> =
            (0..5000).map(|e| std::array::from_fn(|k| (noise(3 * e + k) * 3000.0) as u32)).collect();
        let plan = ScatterPlan::new(3000, random.clone()).unwrap();
        let one = scatter(&plan, 1);
        assert_eq!(one, scatter(&plan, 2));
        assert_eq!(one, scatter(&plan, 4));
        let mut expected = vec![0.0; 3000];
        for (e, nodes) in random.iter().enumerate() {
            for k in 0..3 {
                expected[nodes[k] as usize] += noise(8 * e + k) - 0.5;
            }
        }
        // A few dozen terms below one in another order: far below 1e-13.
        assert!(one.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-13));
    }

    #[test]
    fn a_hub_shared_by_all_elements_is_summed_serially() {
        let star: Vec<[u32; 2]> = (0..500).map(|e| [0, e + 1]).collect();
        let plan = ScatterPlan::new(501, star).unwrap();
        let target = scatter(&plan, 2);
        let expected: f64 = (0..500).map(|e| noise(8 * e) - 0.5).sum();
        assert!((target[0] - expected).abs() < 1e-12);
    }

    #[test]
    fn a_long_path_needs_two_colors_in_each_window() {
        let plan = ScatterPlan::new(4 * WINDOW + 1, path_elements(4 * WINDOW)).unwrap();
        assert_eq!((plan.phase_count(), plan.chunk_size()), (8, 256));
    }

    #[test]
    fn empty_and_wrong_input_are_handled() {
        let plan = ScatterPlan::new(3, Vec::<[u32; 2]>::new()).unwrap();
        assert_eq!(scatter(&plan, 2), vec![0.0; 3]);
        let error = ScatterPlan::new(3, [[0u32, 3]]).unwrap_err();
        assert_eq!(error, PlanError::IndexOutOfRange { element: 0, index: 3, length: 3 });
    }
}
