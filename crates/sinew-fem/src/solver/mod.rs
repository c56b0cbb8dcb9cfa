//! From one state to the next: Newton's method around a linear solver.

mod assembly;
#[cfg(test)]
mod battery;
mod free;
mod guide;
mod iterative;
mod newton;
mod params;
mod problem;
mod system;

pub use newton::NewtonSolver;
pub use params::{LinearSolver, Projection, SolverParams};
pub use problem::Regime;

pub(crate) use assembly::{AssemblyPlan, AssemblyScratch, Filter, Linearization};
pub(crate) use problem::{Problem, ProblemScratch};

use crate::control::Control;
use crate::model::Model;
use crate::report::{StepError, StepReport};
use crate::state::State;

/// Advances a state by one step. A solver owns only scratch memory: everything it knows is in its arguments.
pub trait Solver: Send {
    /// Moves `state` to `state.time + dt` under `control`, the commands at the end of the step. On error the state is unchanged.
    fn step(&mut self, model: &Model, state: &mut State, control: &Control, dt: f64) -> Result<StepReport, StepError>;
}
