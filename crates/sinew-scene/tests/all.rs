//! All integration tests of the crate, in one program: that is built in a fraction of the time of one program for each file.

mod mistakes;
mod recipes;
mod round_trip;
mod scenes;
