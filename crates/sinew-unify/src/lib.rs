//! No code: only a list of features in its `Cargo.toml`.
//!
//! Cargo compiles a crate once for every set of features, with all its dependents. The Python module needs a few more
//! features of six small crates than the program. Without this list, the wheel would compile all of Sinew a second
//! time.
