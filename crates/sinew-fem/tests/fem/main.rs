//! The flesh as a user of the crate sees it: forces, elastic blocks, solver, dynamics, integrators, determinism.

mod contact;
mod contact_pairs;
mod determinism;
mod dynamics;
mod elastic;
mod finite_volume;
mod forces;
mod integrators;
mod lattice;
mod linearization;
mod models;
mod muscles;
mod newton;
mod renumbering;
mod response;
mod strands;
