//! Numbers of nodes and elements, which files choose freely.

use std::collections::HashMap;

/// From the numbers of a file to ours: a table where they are dense, else a map.
#[derive(Debug)]
pub(crate) enum Numbering {
    /// Ours by theirs; `u32::MAX` where there is none.
    Table(Vec<u32>),
    Map(HashMap<u32, u32>),
}

impl Numbering {
    /// Ours follow the order of `theirs`; where a number comes twice, the first counts.
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

    /// Our number for theirs.
    #[inline]
    pub(crate) fn get(&self, number: i64) -> Option<u32> {
        match self {
            Numbering::Table(table) => {
                table.get(usize::try_from(number).ok()?).copied().filter(|&index| index != u32::MAX)
            }
            Numbering::Map(map) => map.get(&u32::try_from(number).ok()?).copied(),
        }
    }

    /// Every number of theirs within bounds, with ours, in ascending order of theirs for tables.
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

    /// How many entries a walk over all numbers takes.
    pub(crate) fn walk_len(&self) -> usize {
        match self {
            Numbering::Table(table) => table.len(),
            Numbering::Map(map) => map.len(),
        }
    }
}
