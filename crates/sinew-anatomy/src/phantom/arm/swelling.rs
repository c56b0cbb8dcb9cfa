//! By how much sections grow, so that bellies have their volumes.

/// For each head in the order of the tables.
pub(super) const ARM: &[f64] = &[];
