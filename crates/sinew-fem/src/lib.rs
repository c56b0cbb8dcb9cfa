//! Flesh in time: elements, materials, forces, kinematics and the solvers that move them.
//!
//! | type | says |
//! |---|---|
//! | [`Model`] | what does not change: bodies, bindings, forces; built by [`ModelBuilder`] |
//! | [`State`] | what changes: unknowns, points, velocities, history |
//! | [`Control`] | what is commanded from outside, by named channels |
//! | [`Solver`] | one step: [`NewtonSolver`] for quasistatics and implicit schemes, [`ExplicitSolver`] |
//! | [`Linearization`] | the stiffness of a state: products, solves, derivatives by channels and parameters |
//! | [`Simulation`] | all of them, with tracks and probes, frame by frame |
//! | [`Frame`], [`Recorder`] | what can be seen, and where it goes |

pub mod command;
pub mod contact;
pub mod contacts;
pub mod control;
pub mod cover;
pub mod diagnostics;
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
pub mod simulation;
pub mod solver;
pub mod start;
pub mod state;

pub use sinew_cell::{element, material};
pub use sinew_elastic as elastic;

pub use command::Command;
pub use contacts::Contacts;
pub use control::{Control, ControlError};
pub use force::{Force, StepContext};
pub use frame::{BodyFrame, CellFields, CellSource, Frame, RecordError, Recorder, ShapeFrame};
pub use interrupt::{Hold, Interrupt};
pub use kinematics::Kinematics;
pub use linearization::{Linearization, LinearizationPlan};
pub use model::{BodyParams, Model, ModelBuilder, ModelError};
pub use pacing::Substeps;
pub use report::{StepError, StepReport, StepTiming};
pub use simulation::{Driver, FrameParams, Removal, Simulation};
pub use solver::{ExplicitSolver, NewtonSolver, Regime, Solver, SolverParams};
pub use state::State;
