//! Report of a step: effort, accuracy and timing, or the reason of a failure.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// Mechanical energies of the whole model at one time \[J\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energies {
    /// Strain energy of all cells.
    pub elastic: f64,
    /// Kinetic energy ½ Σ m |v|² of all points.
    pub kinetic: f64,
    /// Potential energy −Σ m g·x in the gravity field.
    pub gravity: f64,
    /// Penalty energy of contacts (friction stores none).
    pub contact: f64,
    /// Energy of soft attachments, loads with a potential, tendons, fascia, the passive part of strands, and custom
    /// forces.
    pub other: f64,
}

impl Energies {
    /// Sum of all parts.
    pub fn total(&self) -> f64 {
        self.elastic + self.kinetic + self.gravity + self.contact + self.other
    }
}

/// Wall-clock time spent in the parts of a step; the leaves of the timing tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTiming {
    /// Energy and gradient evaluations.
    pub gradient: Duration,
    /// Assembly of the tangent matrix.
    pub assembly: Duration,
    /// Linear solves, factorization included.
    pub linear_solve: Duration,
    /// V-cycles on lattices, a part of the linear solves.
    pub cycles: Duration,
    /// Number of cells swept in these cycles, counted once per sweep.
    pub cell_sweeps: f64,
    /// Search for contacts.
    pub contact: Duration,
    /// The whole step.
    pub total: Duration,
}

impl std::ops::AddAssign for StepTiming {
    fn add_assign(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.assembly += other.assembly;
        self.linear_solve += other.linear_solve;
        self.cycles += other.cycles;
        self.cell_sweeps += other.cell_sweeps;
        self.contact += other.contact;
        self.total += other.total;
    }
}

/// Result of one accepted step (of a frame with several substeps: their sum, with the worst residual).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Time at the end of the step \[s\].
    pub time: f64,
    /// Number of substeps, without retries.
    pub substeps: usize,
    /// Number of times a step failed, was rolled back and halved.
    pub rollbacks: usize,
    /// Newton iterations.
    pub newton_iterations: usize,
    /// Local solves between them.
    pub local_solves: usize,
    /// Nonlinear multigrid cycles.
    pub nonlinear_cycles: usize,
    /// Conjugate-gradient iterations (a direct solve counts one).
    pub linear_iterations: usize,
    /// Newton iterations that needed the definite tangent.
    pub projections: usize,
    /// Line-search cuts.
    pub cuts: usize,
    /// Norm of the residual at the end \[N\].
    pub residual: f64,
    /// `residual` relative to its norm at the start of the step under the new boundary data, or in dynamics to that of
    /// weight and loads if it is larger.
    pub relative_residual: f64,
    /// Largest remaining force on an unknown, relative to the largest after the motion of prescribed unknowns alone.
    pub largest_residual: f64,
    /// Substeps that ended at the iteration budget before they converged.
    pub unconverged: usize,
    /// Estimated position error of the step \[m\].
    pub local_error: f64,
    /// Points in contact.
    pub contacts: usize,
    /// Energies at the end of the step.
    pub energies: Energies,
    /// Time spent in its parts.
    pub timing: StepTiming,
}

impl StepReport {
    /// Adds a following substep: counts and times add up, residuals keep the worst, energies the last.
    pub fn absorb(&mut self, next: &StepReport) {
        self.time = next.time;
        self.substeps += next.substeps;
        self.rollbacks += next.rollbacks;
        self.newton_iterations += next.newton_iterations;
        self.local_solves += next.local_solves;
        self.nonlinear_cycles += next.nonlinear_cycles;
        self.linear_iterations += next.linear_iterations;
        self.projections += next.projections;
        self.cuts += next.cuts;
        self.residual = self.residual.max(next.residual);
        self.relative_residual = self.relative_residual.max(next.relative_residual);
        self.largest_residual = self.largest_residual.max(next.largest_residual);
        self.unconverged += next.unconverged;
        self.local_error = self.local_error.max(next.local_error);
        self.contacts = next.contacts;
        self.energies = next.energies;
        self.timing += next.timing;
    }

    /// The largest residual that a step of a run leaves, relative to the largest that a step starts with. A step
    /// without motion starts with what the last one left, so its own ratio has no meaning.
    pub fn worst_residual(steps: &[Self]) -> f64 {
        let finite =
            |values: &dyn Fn(&Self) -> f64| steps.iter().map(values).filter(|r| r.is_finite()).fold(0.0, f64::max);
        let left = finite(&|step| step.residual);
        let begun = finite(&|step| step.residual / step.relative_residual);
        if begun > 0.0 { left / begun } else { 0.0 }
    }
}

impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={:.4} newton {}", self.time, self.newton_iterations)?;
        if self.local_solves > 0 {
            write!(f, " local {}", self.local_solves)?;
        }
        let (linear, residual) = (self.linear_iterations, self.relative_residual);
        write!(f, " linear {linear} |r| {residual:.1e} {:.1} ms", self.timing.total.as_secs_f64() * 1e3)
    }
}

/// The worst node and cell of a failed step.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// Name of the body.
    pub body: String,
    /// Node of that body with the largest residual (or a non-finite position).
    pub node: usize,
    /// Rest position of the node \[m\].
    pub rest_position: [f64; 3],
    /// Cell of that body at the node with the smallest volume ratio J.
    pub cell: usize,
    /// Volume ratio of that cell.
    pub volume_ratio: f64,
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.rest_position;
        let Self { body, node, cell, volume_ratio, .. } = self;
        write!(f, "body \"{body}\", node {node} (rest position {x:.4}, {y:.4}, {z:.4} m), cell {cell} ")?;
        match volume_ratio.is_finite() {
            true => write!(f, "(volume ratio {volume_ratio:.3e})"),
            false => f.write_str("(which has no volume left)"),
        }
    }
}

/// Why a step failed. The state is what it was before the step.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum StepError {
    /// Newton's method reached its maximum number of iterations.
    #[error(
        "no equilibrium after {iterations} Newton iterations (relative residual {relative_residual:.2e}) at t = {time:.4} s; worst at {blame}"
    )]
    NotConverged {
        /// Target time of the step \[s\].
        time: f64,
        /// Number of iterations.
        iterations: usize,
        /// Residual reached.
        relative_residual: f64,
        /// Worst node and cell.
        blame: Blame,
    },
    /// The hard steps of a frame exceeded its maximum number of iterations.
    #[error(
        "the steps of a frame took {iterations} Newton iterations beyond ordinary ones and failed at t = {time:.4} s; worst at {blame}\nhint: the limit is forty times `max_newton`"
    )]
    Exhausted {
        /// Target time of the step \[s\].
        time: f64,
        /// Iterations beyond ordinary ones.
        iterations: usize,
        /// Worst node and cell.
        blame: Blame,
    },
    /// The line search could not lower the merit function.
    #[error("the solver stalled at relative residual {relative_residual:.2e} at t = {time:.4} s; worst at {blame}")]
    Stalled {
        /// Target time of the step \[s\].
        time: f64,
        /// Residual reached.
        relative_residual: f64,
        /// Worst node and cell.
        blame: Blame,
    },
    /// A force or position became infinite or not a number.
    #[error("positions or forces are no longer finite at t = {time:.4} s; worst at {blame}")]
    NotFinite {
        /// Target time of the step \[s\].
        time: f64,
        /// Worst node and cell.
        blame: Blame,
    },
    /// Pins or colliders that must not cross flesh have run into an obstacle that does not give way.
    #[error(
        "pins or colliders are blocked at t = {time:.4} s: their obstacle cannot give way; worst at {blame}\nhint: two surfaces with prescribed motion must not meet; penalty mode allows it"
    )]
    Blocked {
        /// Target time of the step \[s\].
        time: f64,
        /// Node and cell with the largest forces.
        blame: Blame,
    },
    /// The linear system has no solution, for example a body that nothing holds in quasistatics.
    #[error(
        "the stiffness matrix is singular at t = {time:.4} s ({reason}); worst at {blame}\nhint: in quasistatics, pins, bindings or springs must hold every body"
    )]
    Singular {
        /// Target time of the step \[s\].
        time: f64,
        /// Failure of the linear solver.
        reason: String,
        /// Worst node and cell.
        blame: Blame,
    },
    /// A control channel is not finite, or is a factor that is not positive.
    #[error("control channel \"{channel}\" is {value} at t = {time:.4} s")]
    Control {
        /// Target time of the step \[s\].
        time: f64,
        /// Name of the channel.
        channel: String,
        /// Its value.
        value: f64,
    },
    /// An [`Interrupt`](crate::Interrupt) stopped the step.
    #[error("interrupted on the way to t = {time:.4} s")]
    Interrupted {
        /// Target time of the step \[s\].
        time: f64,
    },
    /// An explicit step beyond the stability limit.
    #[error(
        "an explicit step of {step:.3e} s is too long at t = {time:.4} s: the flesh needs steps of at most {stable:.3e} s\nhint: without `substeps`, the solver takes as many steps as it needs"
    )]
    Unstable {
        /// Time at the start of the step \[s\].
        time: f64,
        /// Length of the step \[s\].
        step: f64,
        /// Longest stable step \[s\].
        stable: f64,
    },
}

impl StepError {
    /// Worst node and cell; `None` where the cause is not in the flesh.
    pub fn blame(&self) -> Option<&Blame> {
        match self {
            StepError::NotConverged { blame, .. }
            | StepError::Exhausted { blame, .. }
            | StepError::Stalled { blame, .. }
            | StepError::NotFinite { blame, .. }
            | StepError::Blocked { blame, .. }
            | StepError::Singular { blame, .. } => Some(blame),
            StepError::Control { .. } | StepError::Unstable { .. } | StepError::Interrupted { .. } => None,
        }
    }

    /// Whether shorter steps do not help.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, StepError::Control { .. } | StepError::Exhausted { .. } | StepError::Interrupted { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_begin_with_next_to_nothing_do_not_spoil_the_residual_of_a_run() {
        let step = |residual, relative_residual| StepReport { residual, relative_residual, ..StepReport::default() };
        let moved = [step(2e-3, 1e-3), step(3e-3, 5e-4)];
        // 3e-3 of 2 and 6.
        assert!((StepReport::worst_residual(&moved) - 5e-4).abs() < 1e-12);
        let held = [moved[0], moved[1], step(2e-3, 0.7), step(0.0, 0.0), step(f64::NAN, f64::NAN)];
        assert_eq!(StepReport::worst_residual(&held), StepReport::worst_residual(&moved));
        // A step without progress shows up.
        assert!(StepReport::worst_residual(&[moved[0], step(4.0, 0.9)]) > 0.5);
        assert_eq!(StepReport::worst_residual(&[]), 0.0);
    }
}
