//! Nothing but a list of features in its `Cargo.toml`.
//!
//! Cargo compiles a crate once for every set of features that is asked of it, with all that depends on it. The Python module asks a little more of six
//! small crates than the program does; without this list, the wheel would compile all of Sinew a second time, for ten minutes on two cores.
