//! From `[solver]` to a solver.

use sinew_fem::Substeps;
use sinew_fem::model::Model;
use sinew_fem::pacing::AdaptiveParams;
use sinew_fem::solver::{
    Budget, ExplicitError, ExplicitSolver, LinearSolver, NewmarkParams, NewtonSolver, NonlinearSolver, Projection,
    Regime, ResidualNorm, Solver, SolverParams,
};
use sinew_scene::spec::{self, Scene, SolverKind};
use sinew_scene::{Diagnostic, Dimension, format_quantity};

use super::Compiler;

impl Compiler<'_> {
    pub(super) fn solver(&mut self, model: &Model) -> Result<Box<dyn Solver>, Diagnostic> {
        let Some(regime) = regime(self.scene) else { return self.explicit_solver(model) };
        let mut solver = NewtonSolver::new(solver_params(self.scene, regime));
        self.notes.push(format!("linear solver: {}", solver.linear_solver_reason(model)));
        match solver.free_parts(model) {
            0 => {}
            1 => self.notes.push("one part is not held: quasistatics finds its shape and leaves it in place".into()),
            n => self
                .notes
                .push(format!("{n} parts are not held: quasistatics finds their shapes and leaves them in place")),
        }
        Ok(Box::new(solver))
    }

    fn explicit_solver(&mut self, model: &Model) -> Result<Box<dyn Solver>, Diagnostic> {
        let scene = self.scene;
        let mut solver = ExplicitSolver::new(model).map_err(|error| {
            let path = match &error {
                ExplicitError::Contact => "contact.mode".to_string(),
                ExplicitError::Rigid { name } => format!("rigid.{name}"),
                ExplicitError::Bound { body, .. } => format!("body.{body}.bind"),
                ExplicitError::Deformation { body } => format!("body.{body}.deformation"),
                ExplicitError::Lattice { .. } => "solver.type".to_string(),
                ExplicitError::Massless { body, .. } => format!("body.{body}.mesh"),
            };
            scene.problem(&path, error.to_string())
        })?;
        let stable =
            solver.stable_step(model, &model.initial_state(), &model.initial_control()).unwrap_or(f64::INFINITY);
        let seconds = |time| format_quantity(time, Dimension::TIME);
        let frame = 1.0 / scene.frame_rate;
        match scene.solver.substeps {
            Some(spec::solver::Substeps::Fixed(count)) if frame / count as f64 > stable => {
                let needed = (frame / stable).ceil();
                return Err(scene
                    .problem("solver.substeps", "these explicit steps are too long to be stable")
                    .label(format!("steps of {}, stable up to {}", seconds(frame / count as f64), seconds(stable)))
                    .hint(format!("leave `substeps` out, or use at least {needed}")));
            }
            _ => {}
        }
        self.notes.push(format!(
            "explicit steps: stable up to {}, {} per frame at first",
            seconds(stable),
            (frame / (scene.solver.safety * stable)).ceil().max(1.0)
        ));
        Ok(Box::new(solver))
    }
}

/// How frames are divided into steps.
pub(crate) fn substeps(scene: &Scene) -> Substeps {
    match scene.solver.substeps {
        Some(spec::solver::Substeps::Fixed(count)) => Substeps::Fixed(count),
        Some(spec::solver::Substeps::Adaptive) => {
            Substeps::Adaptive(AdaptiveParams { tolerance: scene.solver.accuracy, ..AdaptiveParams::default() })
        }
        None if scene.solver.kind == SolverKind::Explicit => Substeps::Stable { safety: scene.solver.safety },
        None => Substeps::Fixed(1),
    }
}

/// The implicit scheme; `None` for explicit steps.
fn regime(scene: &Scene) -> Option<Regime> {
    match scene.solver.kind {
        SolverKind::Quasistatic => Some(Regime::Quasistatic),
        SolverKind::ImplicitEuler => Some(Regime::ImplicitEuler),
        SolverKind::Bdf2 => Some(Regime::Bdf2),
        SolverKind::Newmark => Some(Regime::Newmark(
            scene
                .solver
                .newmark
                .as_ref()
                .map_or(NewmarkParams::default(), |given| NewmarkParams { beta: given.beta, gamma: given.gamma }),
        )),
        SolverKind::Explicit => None,
    }
}

fn solver_params(scene: &Scene, regime: Regime) -> SolverParams {
    let settings = &scene.solver;
    SolverParams {
        regime,
        tolerance: settings.tolerance,
        norm: match settings.norm {
            spec::ResidualNorm::Euclidean => ResidualNorm::Euclidean,
            spec::ResidualNorm::Largest => ResidualNorm::Largest,
        },
        max_newton: settings.max_newton,
        projection: match settings.projection {
            spec::Projection::OnDemand => Projection::OnDemand,
            spec::Projection::Always => Projection::Always,
        },
        linear: match settings.linear {
            spec::LinearSolver::Auto => LinearSolver::Auto,
            spec::LinearSolver::Cg => LinearSolver::Cg,
            spec::LinearSolver::VCycle => LinearSolver::VCycle,
            spec::LinearSolver::RestFactor => LinearSolver::RestFactor,
            spec::LinearSolver::Cholesky => LinearSolver::Cholesky,
            spec::LinearSolver::Multigrid => LinearSolver::Multigrid,
        },
        band_sweeps: settings.band_sweeps,
        nonlinear: match settings.nonlinear {
            spec::NonlinearSolver::Newton => NonlinearSolver::Newton,
            spec::NonlinearSolver::Fas => NonlinearSolver::Fas,
        },
        untangle: settings.untangle,
        budget: settings.live.as_ref().map(|live| Budget { newton: live.newton, linear: live.linear }),
    }
}
