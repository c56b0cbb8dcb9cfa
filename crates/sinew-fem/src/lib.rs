//! Flesh in time: elements, materials, forces, kinematics and solvers.
//!
//! | type | content |
//! |---|---|
//! | [`Model`] | everything constant: bodies, bindings, forces; built by [`ModelBuilder`] |
//! | [`State`] | everything that changes: unknowns, points, velocities, history |
//! | [`Control`] | commands from outside, in named channels |
//! | [`Solver`] | one step: [`NewtonSolver`] for quasistatics and implicit schemes, [`ExplicitSolver`] |
//! | [`Linearization`] | the stiffness of a state: products, solves, derivatives by channels and parameters |
//! | [`Simulation`] | all of them, with tracks and probes, frame by frame |
//! | [`Frame`], [`Recorder`] | output of one time, and where it goes |

pub mod activity;
pub mod collider;
pub mod command;
pub mod contact;
pub mod control;
pub mod cover;
pub mod diagnostics;
pub mod faces;
pub mod force;
pub mod frame;
pub mod interrupt;
pub mod kinematics;
pub mod lattice;
pub mod linearization;
pub mod manufactured;
pub mod modal;
pub mod model;
pub mod muscle;
pub mod pacing;
pub mod probe;
pub mod regions;
pub mod report;
pub mod revision;
pub mod simulation;
pub mod solver;
pub mod start;
pub mod start_contact;
pub mod state;
pub mod surface_check;

pub use sinew_cell::{element, material};
pub use sinew_elastic as elastic;

pub use command::Command;
pub use contact::Contacts;
pub use control::{Control, ControlError};
pub use force::{Force, StepContext};
pub use frame::{
    BodyFrame, CellFields, CellSource, Frame, OutputFigures, RecordError, Recorder, ShapeFrame, SurfaceFinish,
};
pub use interrupt::{Hold, Interrupt};
pub use kinematics::Kinematics;
pub use linearization::{Linearization, LinearizationPlan};
pub use model::{BodyParams, Deformation, Model, ModelBuilder, ModelError};
pub use pacing::Substeps;
pub use report::{StepError, StepReport, StepTiming};
pub use simulation::{Driver, FrameParams, Removal, Simulation};
pub use solver::{ExplicitSolver, NewtonSolver, Regime, Solver, SolverParams};
pub use state::State;
