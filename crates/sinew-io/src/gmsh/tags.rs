//! Gmsh's node and element tags, which need not be consecutive, and their indices.

/// Marks a missing index.
pub(super) const NONE: u32 = u32::MAX;

/// Consecutive tags with consecutive indices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    tag: u64,
    index: u32,
    count: u32,
}

impl Run {
    /// Index of a tag, or [`NONE`].
    #[inline]
    pub fn get(&self, tag: u64) -> u32 {
        let offset = tag.wrapping_sub(self.tag);
        if offset < u64::from(self.count) { self.index + offset as u32 } else { NONE }
    }
}

/// Tags in file order, stored as runs, since files number long stretches consecutively.
#[derive(Clone, Debug, Default)]
pub(super) struct TagRuns(Vec<Run>);

impl TagRuns {
    /// Assigns a tag to the thing `index`.
    pub fn push(&mut self, tag: u64, index: u32) {
        match self.0.last_mut() {
            Some(run) if tag.checked_sub(run.tag) == Some(u64::from(run.count)) && index - run.index == run.count => {
                run.count += 1;
            }
            _ => self.0.push(Run { tag, index, count: 1 }),
        }
    }

    /// The map from tags to indices, and a duplicate tag if there is one (the first use counts).
    pub fn into_map(self) -> (TagMap, Option<u64>) {
        let mut runs = self.0;
        let [first, rest @ ..] = runs.as_slice() else {
            return (TagMap::Sparse(runs), None);
        };
        if rest.is_empty() {
            return (TagMap::Consecutive(*first), None);
        }
        let total: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
        let smallest = runs.iter().map(|run| run.tag).min().unwrap_or(0);
        let largest = runs.iter().map(|run| run.tag.saturating_add(u64::from(run.count))).max().unwrap_or(0);
        let span = largest - smallest;
        let mut twice = None;
        // A table up to eight times too large is still small compared with the file, and much faster than a search.
        if span <= 8 * total {
            let mut table = vec![NONE; span as usize];
            for run in &runs {
                for k in 0..run.count {
                    let tag = run.tag + u64::from(k);
                    let entry = &mut table[(tag - smallest) as usize];
                    if *entry == NONE {
                        *entry = run.index + k;
                    } else {
                        twice = Some(tag);
                    }
                }
            }
            return (TagMap::Table { smallest, table }, twice);
        }
        runs.sort_by_key(|run| run.tag);
        for pair in runs.windows(2) {
            if pair[1].tag - pair[0].tag < u64::from(pair[0].count) {
                twice = Some(pair[1].tag);
            }
        }
        (TagMap::Sparse(runs), twice)
    }
}

/// Maps tags to indices.
#[derive(Clone, Debug)]
pub(super) enum TagMap {
    /// One run.
    Consecutive(Run),
    /// An entry for every tag from the smallest.
    Table {
        /// The smallest tag.
        smallest: u64,
        /// Index of each tag.
        table: Vec<u32>,
    },
    /// Runs sorted by tag.
    Sparse(Vec<Run>),
}

impl TagMap {
    /// Index of a tag, or [`NONE`].
    #[inline]
    pub fn get(&self, tag: u64) -> u32 {
        match self {
            TagMap::Consecutive(run) => run.get(tag),
            TagMap::Table { smallest, table } => {
                let at = usize::try_from(tag.wrapping_sub(*smallest)).unwrap_or(usize::MAX);
                table.get(at).copied().unwrap_or(NONE)
            }
            TagMap::Sparse(runs) => {
                let after = runs.partition_point(|run| run.tag <= tag);
                after.checked_sub(1).and_then(|at| runs.get(at)).map_or(NONE, |run| run.get(tag))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map_of(tags: &[u64]) -> (TagMap, Option<u64>) {
        let mut runs = TagRuns::default();
        tags.iter().enumerate().for_each(|(index, &tag)| runs.push(tag, index as u32));
        runs.into_map()
    }

    #[test]
    fn every_tag_is_found_and_no_other() {
        for tags in [
            vec![],
            vec![7],
            vec![1, 2, 3, 4],
            vec![5, 6, 1, 2, 9],
            vec![4, 3, 2, 1],
            vec![1, 2, 1 << 40, (1 << 40) + 1, 77, u64::MAX],
        ] {
            let (map, twice) = map_of(&tags);
            assert_eq!(twice, None);
            for (index, &tag) in tags.iter().enumerate() {
                assert_eq!(map.get(tag), index as u32, "{tags:?}");
            }
            for absent in [0, 8, 100, (1 << 40) + 2, u64::MAX - 1] {
                assert_eq!(map.get(absent), NONE, "{tags:?} {absent}");
            }
        }
    }

    #[test]
    fn a_tag_given_twice_is_named() {
        assert_eq!(map_of(&[1, 2, 3, 2]).1, Some(2));
        assert_eq!(map_of(&[1, 2, 1 << 40, 2]).1, Some(2));
    }
}
