//! Tests through the public interface of the crate: forces, elastic blocks, solver, dynamics, integrators, determinism.

mod contact;
mod contact_pairs;
mod deformation;
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
mod removal;
mod renumbering;
mod response;
mod rigid_contact;
mod strands;
