//! Nodal sums by ownership: every node adds up the stored contributions of its elements.

use std::ops::AddAssign;

use super::{PlanError, for_each_block_mut};

/// For each node, the positions of its contributions in a flat array of per-element results.
///
/// Element e with nodes n₀ … n₍ₖ₋₁₎ writes k contributions one after another; the contributions of element e + 1
/// follow. The plan turns that array into nodal sums, each in ascending element order:
///
/// ```math
/// y_n \mathrel{+}= \sum_{(e,k):\, \mathrm{node}(e,k) = n} c_{e,k}
/// ```
///
/// Each node has one owner, so no two threads write one entry and the order of additions never changes. Use it where
/// the contributions are stored anyway (lane kernels write them contiguously); [`super::ScatterPlan`] needs no such
/// array.
#[derive(Clone, Debug)]
pub struct GatherPlan {
    offsets: Vec<u32>,
    entries: Vec<u32>,
    contribution_count: usize,
}

/// Nodes per parallel block: 256 nodes with a few dozen contributions each take about ten microseconds.
const NODE_BLOCK: usize = 256;

impl GatherPlan {
    /// Builds the plan from the node lists of all elements, in element order.
    ///
    /// # Errors
    /// [`PlanError::IndexOutOfRange`] when an element names a node `>= node_count`; [`PlanError::TooLarge`] beyond
    /// 32-bit indices.
    pub fn new<E: AsRef<[u32]>>(
        node_count: usize,
        elements: impl IntoIterator<Item = E, IntoIter: Clone>,
    ) -> Result<Self, PlanError> {
        let elements = elements.into_iter();
        let mut offsets = vec![0u32; node_count + 1];
        let mut contribution_count = 0usize;
        for (element, nodes) in elements.clone().enumerate() {
            for &node in nodes.as_ref() {
                let index = node as usize;
                if index >= node_count {
                    return Err(PlanError::IndexOutOfRange { element, index, length: node_count });
                }
                offsets[index + 1] += 1;
                contribution_count += 1;
            }
        }
        if contribution_count > u32::MAX as usize {
            return Err(PlanError::TooLarge { count: contribution_count });
        }
        for node in 0..node_count {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut entries = vec![0u32; contribution_count];
        let mut contribution = 0u32;
        for nodes in elements {
            for &node in nodes.as_ref() {
                let position = &mut next[node as usize];
                entries[*position as usize] = contribution;
                *position += 1;
                contribution += 1;
            }
        }
        Ok(Self { offsets, entries, contribution_count })
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Length of the array of contributions: the sum of nodes per element over all elements.
    pub fn contribution_count(&self) -> usize {
        self.contribution_count
    }

    /// Indices into the array of contributions that belong to `node`, ascending.
    #[inline]
    pub fn entries(&self, node: usize) -> &[u32] {
        &self.entries[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// `sums[n] += Σ contributions of n`, in element order, nodes in parallel.
    ///
    /// # Panics
    /// When the lengths are not [`Self::contribution_count`] and [`Self::node_count`].
    pub fn add_to<T: Copy + AddAssign + Send + Sync>(&self, contributions: &[T], sums: &mut [T]) {
        assert_eq!(contributions.len(), self.contribution_count, "one contribution per element and local node");
        assert_eq!(sums.len(), self.node_count(), "one sum per node");
        for_each_block_mut(sums, NODE_BLOCK, |start, block| {
            for (k, total) in block.iter_mut().enumerate() {
                for &entry in self.entries(start + k) {
                    *total += contributions[entry as usize];
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{noise, with_threads};
    use super::*;

    #[test]
    fn gathered_sums_equal_serial_scatter_bit_for_bit() {
        let node_count = 1000;
        let elements: Vec<[u32; 4]> =
            (0..3000).map(|e| std::array::from_fn(|k| (noise(4 * e + k) * node_count as f64) as u32)).collect();
        let contributions: Vec<f64> = (0..4 * elements.len()).map(|i| noise(i + 77) - 0.5).collect();
        let mut expected = vec![0.0; node_count];
        for (e, nodes) in elements.iter().enumerate() {
            for k in 0..4 {
                expected[nodes[k] as usize] += contributions[4 * e + k];
            }
        }
        let plan = GatherPlan::new(node_count, &elements).unwrap();
        for threads in [1, 2] {
            let mut sums = vec![0.0; node_count];
            with_threads(threads, || plan.add_to(&contributions, &mut sums));
            assert_eq!(sums, expected);
        }
    }

    #[test]
    fn elements_of_different_sizes_may_be_mixed() {
        let elements: [&[u32]; 3] = [&[0, 1, 2], &[2], &[1, 2]];
        let plan = GatherPlan::new(4, elements).unwrap();
        assert_eq!(plan.entries(2), &[2, 3, 5]);
        let mut sums = [0.5; 4];
        plan.add_to(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], &mut sums);
        assert_eq!(sums, [1.5, 18.5, 44.5, 0.5]);
    }

    #[test]
    fn a_node_that_does_not_exist_is_reported() {
        let error = GatherPlan::new(3, [[0u32, 1], [1, 3]]).unwrap_err();
        assert_eq!(error, PlanError::IndexOutOfRange { element: 1, index: 3, length: 3 });
    }
}
