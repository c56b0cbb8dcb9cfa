//! Tests of phantoms.
