//! Anatomy by formulas, with the truth beside.
