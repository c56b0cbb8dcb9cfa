//! The anatomy of one person on the landmarks of another.
