//! From one state to the next: Newton's method around a linear solver, or explicit steps.

#[cfg(test)]
mod battery;
mod damping;
mod explicit;
mod integrator;
mod linear;
mod newton;
mod params;
mod problem;
mod stable_step;

pub use explicit::{ExplicitError, ExplicitSolver};
pub use integrator::{NewmarkParams, Regime};
pub use newton::NewtonSolver;
pub use params::{Budget, LinearSolver, NonlinearSolver, Projection, ResidualNorm, SolverParams};

pub(crate) use linear::{
    AssemblyPlan, AssemblyScratch, ContactOperator, CoupledFactor, Filter, Frame as SystemFrame, FreeParts, Hinges,
    Iterative, LatticeSystem, SolveFailure, TangentAt, add_shift, connected_parts, filter_scale, hold_softly,
};
pub(crate) use problem::{Problem, ProblemScratch};

use crate::control::Control;
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::report::{StepError, StepReport};
use crate::state::State;

/// Advances a state by one step. A solver owns only scratch memory; everything else is in its arguments.
pub trait Solver: Send {
    /// Moves `state` to `state.time + dt` under `control`, the commands at the end of the step. On error the state is
    /// unchanged.
    fn step(&mut self, model: &Model, state: &mut State, control: &Control, dt: f64) -> Result<StepReport, StepError>;

    /// Allocates the solver's history in the initial state, so that no later step allocates.
    fn prepare(&self, _model: &Model, _state: &mut State) {}

    /// Longest stable step from this state \[s\]; `None` for solvers that are stable at any length.
    fn stable_step(&mut self, _model: &Model, _state: &State, _control: &Control) -> Option<f64> {
        None
    }

    /// Tells whether the next steps end within a frame, where nobody looks: they may stop earlier.
    fn pass_through(&mut self, _is_passing: bool) {}

    /// Marks the next step as the first of a frame.
    fn begin_frame(&mut self) {}

    /// Sets the interrupt that the solver polls between iterations. Solvers with short steps may ignore it.
    fn set_interrupt(&mut self, _interrupt: Interrupt) {}

    /// Lifts the limit on iterations as a last resort, while iterations still make progress, or restores it. Returns
    /// whether the solver can make use of this.
    fn lift_iteration_limit(&mut self, _is_patient: bool) -> bool {
        false
    }

    /// Whether steps find equilibria, so that smaller increments of the commands make a step easier.
    fn is_static(&self) -> bool {
        false
    }

    /// Whether quasistatic steps converge when pins and bones rotate by 90° or more at once.
    fn handles_large_rotations(&self) -> bool {
        false
    }

    /// Order p of the scheme: the error of a step falls as h^{p+1}.
    fn order(&self) -> i32 {
        1
    }
}
