//! What a step tells: how hard it was, how exact it became, where the time went, or whom to blame.

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
    /// Energy of soft attachments, loads with a potential, tendons, fascia, the passive part of strands, and custom forces.
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
    /// Cells that these cycles went over, each as often as it was swept.
    pub cell_sweeps: f64,
    /// Finding contacts.
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
    /// Number of substeps taken, retries not counted.
    pub substeps: usize,
    /// Number of times a step failed, was rolled back and halved.
    pub rollbacks: usize,
    /// Newton iterations.
    pub newton_iterations: usize,
    /// Iterations of a few nodes alone, between those.
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
    /// `residual` over its norm at the start of the step under the new boundary data.
    pub relative_residual: f64,
    /// Largest force that is left on an unknown, over the largest one when only what is prescribed had moved.
    pub largest_residual: f64,
    /// Substeps that a budget of iterations ended before they converged.
    pub unconverged: usize,
    /// Estimated error of position that the step made \[m\].
    pub local_error: f64,
    /// Points in contact.
    pub contacts: usize,
    /// Energies at the end of the step.
    pub energies: Energies,
    /// Where the time went.
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

    /// The largest residual that a step of a run has left, over the largest that a step began with. Where nothing moves a step begins with what the last one left, and says nothing by itself.
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
            write!(f, " mended {}", self.local_solves)?;
        }
        let (linear, residual) = (self.linear_iterations, self.relative_residual);
        write!(f, " linear {linear} |r| {residual:.1e} {:.1} ms", self.timing.total.as_secs_f64() * 1e3)
    }
}

/// The node and the cell where a failed step looked worst.
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
            false => f.write_str("(which has no volume any more)"),
        }
    }
}

/// Why a step could not be taken. The state is what it was before the step.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum StepError {
    /// Newton used up its iterations.
    #[error(
        "no equilibrium after {iterations} Newton iterations (relative residual {relative_residual:.2e}) at t = {time:.4} s; worst at {blame}"
    )]
    NotConverged {
        /// Time the step aimed at \[s\].
        time: f64,
        /// Iterations done.
        iterations: usize,
        /// Residual reached.
        relative_residual: f64,
        /// Where it was worst.
        blame: Blame,
    },
    /// A frame used up its iterations over many hard steps.
    #[error(
        "a frame whose steps took {iterations} Newton iterations more than ordinary ones was given up at t = {time:.4} s; worst at {blame}\nhint: it may take forty times `max_newton`"
    )]
    Exhausted {
        /// Time the step aimed at \[s\].
        time: f64,
        /// Iterations beyond ordinary ones.
        iterations: usize,
        /// Where it was worst.
        blame: Blame,
    },
    /// The line search could not lower the merit function.
    #[error("the solver stalled at relative residual {relative_residual:.2e} at t = {time:.4} s; worst at {blame}")]
    Stalled {
        /// Time the step aimed at \[s\].
        time: f64,
        /// Residual reached.
        relative_residual: f64,
        /// Where it was worst.
        blame: Blame,
    },
    /// A force or position became infinite or not a number.
    #[error("positions or forces are no longer finite at t = {time:.4} s; worst at {blame}")]
    NotFinite {
        /// Time the step aimed at \[s\].
        time: f64,
        /// Where it was found.
        blame: Blame,
    },
    /// Pins or colliders that may not cross flesh have run into what does not give way.
    #[error(
        "pins or colliders are blocked at t = {time:.4} s: what they would cross cannot give way; worst at {blame}\nhint: two surfaces with given motions must not meet; in penalty mode they may"
    )]
    Blocked {
        /// Time the step aimed at \[s\].
        time: f64,
        /// Where the forces are largest.
        blame: Blame,
    },
    /// The linear system has no solution, for example a body that nothing holds in quasistatics.
    #[error(
        "the stiffness matrix is singular at t = {time:.4} s ({reason}); worst at {blame}\nhint: in quasistatics every body must be held, by pins, bindings or springs"
    )]
    Singular {
        /// Time the step aimed at \[s\].
        time: f64,
        /// What the linear solver said.
        reason: String,
        /// Where it was found.
        blame: Blame,
    },
    /// A control channel holds no finite number, or a factor that is not positive.
    #[error("control channel \"{channel}\" is {value} at t = {time:.4} s")]
    Control {
        /// Time the step aimed at \[s\].
        time: f64,
        /// Name of the channel.
        channel: String,
        /// What it holds.
        value: f64,
    },
    /// Somebody asked to stop ([`Interrupt`](crate::Interrupt)).
    #[error("interrupted on the way to t = {time:.4} s")]
    Interrupted {
        /// Time the step aimed at \[s\].
        time: f64,
    },
    /// An explicit step longer than the flesh allows.
    #[error(
        "an explicit step of {step:.3e} s is too long at t = {time:.4} s: the flesh needs steps of at most {stable:.3e} s\nhint: leave `substeps` out, and as many steps are taken as are needed"
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
    /// The node and cell to look at; `None` where the mistake is not in the flesh.
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

    /// Whether shorter steps are of no use.
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
        // One that got nowhere is seen.
        assert!(StepReport::worst_residual(&[moved[0], step(4.0, 0.9)]) > 0.5);
        assert_eq!(StepReport::worst_residual(&[]), 0.0);
    }
}
