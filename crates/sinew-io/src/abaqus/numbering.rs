//! Node and element numbers, which files choose freely.

use std::collections::HashMap;

/// Maps file numbers to indices: a table if they are dense, else a hash map.
#[derive(Debug)]
pub(crate) enum Numbering {
    /// Index by file number; `u32::MAX` for none.
    Table(Vec<u32>),
    Map(HashMap<u32, u32>),
}

impl Numbering {
    /// Assigns indices in the order of `theirs`; of duplicate numbers the first counts.
    pub(crate) fn new(theirs: &[u32]) -> Numbering {
        let largest = theirs.iter().copied().max().unwrap_or(0) as usize;
        let ours = |index: usize| index as u32;
        if largest <= 8 * theirs.len() + 1000 {
            let mut table = vec![u32::MAX; largest + 1];
            for (index, &number) in theirs.iter().enumerate().rev() {
                table[number as usize] = ours(index);
            }
            return Numbering::Table(table);
        }
        Numbering::Map(theirs.iter().enumerate().rev().map(|(index, &number)| (number, ours(index))).collect())
    }

    /// Index of a file number.
    #[inline]
    pub(crate) fn get(&self, number: i64) -> Option<u32> {
        match self {
            Numbering::Table(table) => {
                table.get(usize::try_from(number).ok()?).copied().filter(|&index| index != u32::MAX)
            }
            Numbering::Map(map) => map.get(&u32::try_from(number).ok()?).copied(),
        }
    }

    /// File numbers within bounds and their indices; ascending for tables.
    pub(crate) fn within(&self, first: i64, last: i64) -> Vec<(i64, u32)> {
        let is_within = |number: &i64| (first..=last).contains(number);
        match self {
            Numbering::Table(table) => {
                let entries = table.iter().enumerate().filter(|(_, index)| **index != u32::MAX);
                entries.map(|(number, &index)| (number as i64, index)).filter(|(n, _)| is_within(n)).collect()
            }
            Numbering::Map(map) => {
                let entries = map.iter().map(|(&number, &index)| (i64::from(number), index));
                let mut found: Vec<(i64, u32)> = entries.filter(|(number, _)| is_within(number)).collect();
                found.sort_unstable();
                found
            }
        }
    }

    /// Number of entries that an iteration over all numbers visits.
    pub(crate) fn walk_len(&self) -> usize {
        match self {
            Numbering::Table(table) => table.len(),
            Numbering::Map(map) => map.len(),
        }
    }
}
