//! All integration tests of the crate, in one program: that is built in a fraction of the time of one program for each file.

mod anatomy;
mod character_colors;
mod check_and_run;
mod compile;
mod handing_over;
mod layers;
mod recording;
mod removal;
mod starts_and_ranges;
mod strands;
mod watched_values;
