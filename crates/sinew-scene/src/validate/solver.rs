//! Checks of the solver: combinations of its keys, with each other and with the bodies of the scene.

use super::Checker;
use crate::spec::{LinearSolver, NonlinearSolver, SolverKind, solver::Substeps};

impl Checker<'_> {
    pub(super) fn check_solver(&mut self) {
        let scene = self.scene;
        let solver = &scene.solver;
        let is_given = |key: &str| scene.source.node(&format!("solver.{key}")).is_some();
        if let Some(newmark) = &solver.newmark {
            if solver.kind != SolverKind::Newmark {
                let problem = self.at("solver.newmark", "these parameters need `type = \"newmark\"`");
                self.report(problem);
            } else if newmark.gamma < 0.5 || 2.0 * newmark.beta < newmark.gamma {
                let problem = self.at("solver.newmark", "these parameters of Newmark's method are not stable");
                self.report(problem.hint("choose 2 beta ≥ gamma ≥ 1/2, for example beta = 0.25 and gamma = 0.5"));
            }
        }
        self.check_linear_solver();
        let is_adaptive = solver.substeps == Some(Substeps::Adaptive);
        if is_given("accuracy") && !is_adaptive {
            let problem = self.at("solver.accuracy", "`accuracy` needs `substeps = \"adaptive\"`");
            self.report(problem);
        }
        if solver.kind == SolverKind::Newmark && !scene.rigid.is_empty() {
            let problem =
                self.at("solver.type", "Newmark's method does not support rigid bodies: they would oscillate");
            let problem = problem.label(format!("the scene has the rigid `{}`", scene.rigid[0].name));
            self.report(problem.hint("use `type = \"bdf2\"`, which is also second order"));
        }
        if solver.kind == SolverKind::Explicit {
            self.check_explicit(is_adaptive);
        } else if is_given("safety") {
            let problem = self.at("solver.safety", "`safety` needs `type = \"explicit\"`");
            self.report(problem);
        }
    }

    /// Multigrid solves lattices only, and lattices need multigrid.
    fn check_linear_solver(&mut self) {
        let lattice = self.scene.body.iter().find(|body| body.mesh.is_lattice());
        if self.scene.solver.nonlinear == NonlinearSolver::Fas && lattice.is_none() {
            let problem = self.at("solver.nonlinear", "nonlinear multigrid needs a body on a lattice");
            self.report(problem.hint("give a body `element = \"lattice\"`, or leave `nonlinear` out"));
        }
        if self.scene.solver.band_sweeps > 0 && lattice.is_none() {
            let problem = self.at("solver.band_sweeps", "sweeps over boundaries need a body on a lattice");
            self.report(problem.hint("give a body `element = \"lattice\"`, or leave `band_sweeps` out"));
        }
        match (self.scene.solver.linear, lattice) {
            (LinearSolver::Multigrid, None) => {
                let problem = self.at("solver.linear", "multigrid needs a body on a lattice");
                self.report(problem.hint("give a body `element = \"lattice\"`, or leave `linear` out"));
            }
            (LinearSolver::Auto | LinearSolver::Multigrid, _) | (_, None) => {}
            (_, Some(body)) => {
                let message = format!("body `{}` is on a lattice, which needs multigrid", body.name);
                let problem = self.at("solver.linear", message);
                self.report(problem.hint("leave `linear` out"));
            }
        }
    }

    fn check_explicit(&mut self, is_adaptive: bool) {
        let scene = self.scene;
        let implicit = "use an implicit `type`, for example \"bdf2\"";
        if is_adaptive {
            let problem = self.at("solver.substeps", "explicit steps choose their own length");
            self.report(problem.hint("leave `substeps` out"));
        }
        if scene.solver.live.is_some() {
            let problem = self.at("solver.live", "explicit steps have no iterations to count");
            self.report(problem.hint(implicit));
        }
        if !scene.rigid.is_empty() {
            let problem = self.at("rigid[0]", "explicit steps do not support rigid bodies");
            self.report(problem.hint(implicit));
        }
        if let Some(body) = scene.body.iter().find(|body| body.mesh.is_lattice()) {
            let problem = self.at("solver.type", "explicit steps do not support flesh on a lattice");
            self.report(problem.label(format!("body `{}` is on one", body.name)).hint(implicit));
        }
        for (i, body) in scene.body.iter().enumerate().filter(|(_, body)| !body.bind.is_empty()) {
            let message = format!("explicit steps do not support bound nodes, such as those of `{}`", body.name);
            let problem = self.at(&format!("body[{i}].bind"), message);
            self.report(problem.hint(implicit));
        }
        for (i, body) in scene.body.iter().enumerate().filter(|(_, body)| !body.over.is_empty()) {
            let message = format!("explicit steps do not support bodies layered on others, such as `{}`", body.name);
            let problem = self.at(&format!("body[{i}].over"), message);
            self.report(problem.hint(implicit));
        }
    }
}
