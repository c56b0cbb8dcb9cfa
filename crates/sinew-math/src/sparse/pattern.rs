//! Which pairs of nodes have a block.

use std::ops::Range;

use crate::ordering::Graph;
use crate::parallel::{GatherPlan, PlanError, ScatterPlan};
use crate::sparse::SparseError;

/// Pattern of a block matrix: sorted columns of each row, symmetric, with every diagonal block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPattern {
    row_offsets: Vec<u32>,
    columns: Vec<u32>,
    diagonal: Vec<u32>,
    /// Slot of block (j, i) for the slot of block (i, j).
    mirrored: Vec<u32>,
}

impl BlockPattern {
    /// Blocks for all pairs of nodes that share an element. Elements may have different numbers of nodes.
    ///
    /// # Errors
    /// [`PlanError::IndexOutOfRange`] when an element names a node `>= node_count`; [`PlanError::TooLarge`] beyond
    /// 32-bit indices.
    pub fn from_elements<E: AsRef<[u32]>>(
        node_count: usize,
        elements: impl IntoIterator<Item = E, IntoIter: Clone>,
    ) -> Result<Self, SparseError> {
        let elements = elements.into_iter();
        let incidence = GatherPlan::new(node_count, elements.clone())?;
        // Nodes of all elements in one array, and for each entry the range of its element there.
        let mut nodes = Vec::with_capacity(incidence.contribution_count());
        let mut first_of_entry = Vec::with_capacity(incidence.contribution_count());
        let mut element_ends = Vec::with_capacity(incidence.contribution_count());
        for element in elements {
            let (begin, list) = (nodes.len() as u32, element.as_ref());
            nodes.extend_from_slice(list);
            for _ in list {
                first_of_entry.push(begin);
                element_ends.push(nodes.len() as u32);
            }
        }
        let mut row_offsets = Vec::with_capacity(node_count + 1);
        row_offsets.push(0u32);
        let mut columns: Vec<u32> = Vec::new();
        let mut diagonal = Vec::with_capacity(node_count);
        // Row that last saw a node: a neighbor is listed once without any search.
        let mut seen_by = vec![u32::MAX; node_count];
        for row in 0..node_count {
            let begin = columns.len();
            columns.push(row as u32);
            seen_by[row] = row as u32;
            for &entry in incidence.entries(row) {
                let range = first_of_entry[entry as usize] as usize..element_ends[entry as usize] as usize;
                for &node in &nodes[range] {
                    if seen_by[node as usize] != row as u32 {
                        seen_by[node as usize] = row as u32;
                        columns.push(node);
                    }
                }
            }
            columns[begin..].sort_unstable();
            let end = u32::try_from(columns.len()).map_err(|_| PlanError::TooLarge { count: columns.len() })?;
            let before = columns[begin..].partition_point(|&column| column < row as u32);
            diagonal.push((begin + before) as u32);
            row_offsets.push(end);
        }
        let mirrored = mirror(&row_offsets, &columns);
        Ok(Self { row_offsets, columns, diagonal, mirrored })
    }

    /// Number of block rows.
    pub fn node_count(&self) -> usize {
        self.diagonal.len()
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.columns.len()
    }

    /// Slots of one row: positions of its blocks in `columns` and in the values of a matrix.
    #[inline]
    pub fn row(&self, node: usize) -> Range<usize> {
        self.row_offsets[node] as usize..self.row_offsets[node + 1] as usize
    }

    /// First slot of each row, and the number of slots.
    pub fn row_offsets(&self) -> &[u32] {
        &self.row_offsets
    }

    /// Column of each slot; ascending within a row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Slot of the diagonal block of `node`.
    #[inline]
    pub fn diagonal_slot(&self, node: usize) -> usize {
        self.diagonal[node] as usize
    }

    /// Slot of block (j, i) for the slot of each block (i, j).
    pub fn mirrored_slots(&self) -> &[u32] {
        &self.mirrored
    }

    /// Slot of a block, if it is in the pattern.
    pub fn slot(&self, row: usize, column: usize) -> Option<usize> {
        if row >= self.node_count() {
            return None;
        }
        let range = self.row(row);
        let place = self.columns[range.clone()].binary_search_by(|&c| (c as usize).cmp(&column)).ok()?;
        Some(range.start + place)
    }

    /// Positions of the n × n blocks of each element (row by row), and an order in which to add them.
    ///
    /// # Errors
    /// When an element has a pair of nodes that is not in the pattern.
    pub fn scatter_plan<E: AsRef<[u32]>>(
        &self,
        elements: impl IntoIterator<Item = E>,
    ) -> Result<ScatterPlan, SparseError> {
        let mut missing = None;
        let lists = elements.into_iter().map_while(|element| {
            let nodes = element.as_ref();
            let mut slots = Vec::with_capacity(nodes.len() * nodes.len());
            for &row in nodes {
                for &column in nodes {
                    let Some(slot) = self.slot(row as usize, column as usize) else {
                        missing = Some((row as usize, column as usize));
                        return None;
                    };
                    slots.push(slot as u32);
                }
            }
            Some(slots)
        });
        let plan = ScatterPlan::new(self.block_count(), lists);
        match missing {
            Some((row, column)) => Err(SparseError::NotInPattern { row, column, node_count: self.node_count() }),
            None => Ok(plan?),
        }
    }

    /// The graph of the pattern, for ordering.
    ///
    /// # Errors
    /// Never for a pattern from this module; the error type is that of [`Graph::from_rows`].
    pub fn graph(&self) -> Result<Graph, crate::ordering::OrderingError> {
        Graph::from_rows(&self.row_offsets, &self.columns)
    }
}

/// Slots of the mirrored blocks of a symmetric pattern. Rows that contain a column do so in ascending order.
fn mirror(row_offsets: &[u32], columns: &[u32]) -> Vec<u32> {
    let mut next = row_offsets.to_vec();
    let mut mirrored = vec![0; columns.len()];
    for row in 0..row_offsets.len().saturating_sub(1) {
        for slot in row_offsets[row] as usize..row_offsets[row + 1] as usize {
            let place = &mut next[columns[slot] as usize];
            mirrored[*place as usize] = slot as u32;
            *place += 1;
        }
    }
    mirrored
}
