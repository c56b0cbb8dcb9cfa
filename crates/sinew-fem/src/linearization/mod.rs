//! The equations of equilibrium, linearized at a state.
//!
//! At equilibrium the gradient g of all potentials over the unknowns q vanishes wherever no pin holds them,
//! $`g(q, c, \theta) = 0`$, for channels c and parameters θ. [`Linearization`] holds the stiffness
//! $`K = \partial g/\partial q`$ of one state and provides what Newton's method, modal analysis and gradients need:
//!
//! | quantity | method |
//! |---|---|
//! | K v, Kᵀ v | [`Linearization::product`], [`Linearization::transposed_product`] |
//! | K x = b, Kᵀ x = b, many b at once | [`Linearization::solve`], [`Linearization::solve_transposed`], [`Linearization::solve_many`] |
//! | ∂g/∂c, ∂g/∂θ | [`Linearization::derivative`] |
//! | dp/dc, dp/dθ of a probe p | [`crate::Simulation::gradients`] |
//!
//! The solver depends on the model; [`Linearization::method`] names it.
//!
//! * Cells (tetrahedra, hexahedra): K is assembled in f64 and factored once by Cholesky. All right-hand sides share
//!   that factor.
//! * Cells whose K is not positive definite, or not symmetric (pressure on an open surface): GMRES in f64 on K itself,
//!   preconditioned by the Cholesky factor of the definite tangent, or of the symmetric part.
//! * More than [`MAX_FACTOR_NODES`] nodes: GMRES in f64, preconditioned by the f32 conjugate gradients of Newton's
//!   method.
//! * Lattices, alone or beside cells: GMRES in f64, preconditioned by f32 conjugate gradients with V-cycles. Products
//!   with the exact K of a lattice are computed cell by cell, those with its definite K from the tangent that V-cycles
//!   use.
//!
//! K is the static stiffness: no inertia, no damping, and friction and fiber speed as in a step that starts and ends at
//! the state.

mod consistency;
mod derivative;
mod gmres;
mod gradients;
mod material;
mod operator;
mod solve;

use sinew_math::Vec3;
use sinew_math::sparse::BlockCsr;
use thiserror::Error;

pub use derivative::{Derivative, Input, Kink, Source};
pub use gradients::{Gradient, GradientError, Gradients};
pub use material::Parameter;
pub use solve::{LinearizationPlan, MAX_FACTOR_NODES};

use crate::contact::{ContactStage, Contacts};
use crate::control::Control;
use crate::force::StepContext;
use crate::material::Tangent;
use crate::model::Model;
use crate::solver::{Problem, ProblemScratch, Regime, TangentAt};
use crate::state::State;
use operator::{Operator, Side};
use solve::Inverse;

/// Why a state has no linearization, or a system no solution.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LinearizationError {
    /// The plan belongs to another model, or to an earlier revision of this one.
    #[error("the plan belongs to another model")]
    OtherPlan,
    /// The state belongs to another model.
    #[error("the state has {actual} points, the model {expected}")]
    OtherModel {
        /// Points of the model.
        expected: usize,
        /// Points of the state.
        actual: usize,
    },
    /// A force is not finite at the state.
    #[error("the forces at this state are not finite")]
    NotFinite,
    /// A vector of the wrong length.
    #[error("the model has {expected} unknowns, the vector {actual}")]
    Length {
        /// Unknowns of the model.
        expected: usize,
        /// Length of the vector.
        actual: usize,
    },
    /// No solution was found.
    #[error("the stiffness of this state has no inverse: {reason}")]
    Singular {
        /// Failure of the solver.
        reason: String,
    },
}

/// The stiffness of one state of a model, with a solver for it.
///
/// Vectors are over the unknowns of [`crate::Kinematics`]: positions of free nodes, and position and rotation of rigid
/// bodies.
pub struct Linearization<'a> {
    place: Place<'a>,
    tangent: Tangent,
    /// g over the unknowns; in pinned components, the force of the pin.
    gradient: Vec<Vec3>,
    operator: Operator,
    /// Created by the first solve.
    inverse: Option<Inverse>,
}

/// Point of linearization.
#[derive(Clone, Copy)]
struct Place<'a> {
    model: &'a Model,
    plan: &'a LinearizationPlan,
    state: &'a State,
    control: &'a Control,
}

impl<'a> Linearization<'a> {
    /// Linearizes the equations of statics at a state under `control`; `plan` must belong to this model.
    ///
    /// `Tangent::Definite` removes the negative curvature of cells and forces: K is then positive semi-definite and
    /// symmetric, but no longer the derivative of the forces.
    ///
    /// # Errors
    /// [`LinearizationError::OtherPlan`], [`LinearizationError::OtherModel`], [`LinearizationError::NotFinite`].
    pub fn new(
        plan: &'a LinearizationPlan,
        model: &'a Model,
        state: &'a State,
        control: &'a Control,
        tangent: Tangent,
    ) -> Result<Self, LinearizationError> {
        let place = Place { model, plan, state, control };
        let (gradient, operator) = place.look(tangent, |at| {
            let mut gradient = vec![Vec3::zero(); model.kinematics.unknown_count()];
            model.kinematics.pull_back(at.q, at.point_gradient, &mut gradient);
            (gradient, Operator::new(at, plan))
        })?;
        Ok(Self { place, tangent, gradient, operator, inverse: None })
    }

    /// The model.
    pub fn model(&self) -> &'a Model {
        self.place.model
    }

    /// g over the unknowns \[N\], \[N m\]: the residual, and in pinned components the force of the pin.
    pub fn gradient(&self) -> &[Vec3] {
        &self.gradient
    }

    /// g over the unknowns of another state; contacts with friction and barriers are those of the linearized state.
    ///
    /// # Errors
    /// [`LinearizationError::OtherModel`].
    pub fn gradient_at(&self, other: &State) -> Result<Vec<Vec3>, LinearizationError> {
        let model = self.place.model;
        let points = self.place.gradient_of_points(&other.positions)?;
        let mut gradient = vec![Vec3::zero(); model.kinematics.unknown_count()];
        model.kinematics.pull_back(&other.unknowns, &points, &mut gradient);
        Ok(gradient)
    }

    /// Norm of the residual of components without pins \[N\].
    pub fn residual(&self) -> f64 {
        let mut free = self.gradient.clone();
        self.place.model.kinematics.filter(&mut free);
        self.place.plan.free.project_forces(&self.place.state.unknowns.vectors, &mut free);
        sinew_math::krylov::norm(&free)
    }

    /// out = K v, pinned components included.
    ///
    /// # Errors
    /// [`LinearizationError::Length`].
    pub fn product(&self, v: &[Vec3], out: &mut [Vec3]) -> Result<(), LinearizationError> {
        self.check(v)?;
        self.check(out)?;
        self.operator.product(self.place.model, &self.place.state.unknowns, v, out, Side::Plain);
        Ok(())
    }

    /// out = Kᵀ v.
    ///
    /// # Errors
    /// [`LinearizationError::Length`].
    pub fn transposed_product(&self, v: &[Vec3], out: &mut [Vec3]) -> Result<(), LinearizationError> {
        self.check(v)?;
        self.check(out)?;
        self.operator.product(self.place.model, &self.place.state.unknowns, v, out, Side::Transposed);
        Ok(())
    }

    /// Solves K x = b in components without pins; `b` becomes x, which is zero in pinned components.
    ///
    /// Parts of the model that nothing holds get no rigid motion: b loses its resultant force and couple, x its rigid
    /// motion.
    ///
    /// # Errors
    /// [`LinearizationError::Length`], [`LinearizationError::Singular`]; `b` is then unspecified.
    pub fn solve(&mut self, b: &mut [Vec3]) -> Result<(), LinearizationError> {
        self.solve_columns(&mut [b], Side::Plain)
    }

    /// Solves Kᵀ x = b like [`Self::solve`].
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn solve_transposed(&mut self, b: &mut [Vec3]) -> Result<(), LinearizationError> {
        self.solve_columns(&mut [b], Side::Transposed)
    }

    /// Solves K x = b for many b at once: with one factor, read once for a block of columns, or with one
    /// preconditioner.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn solve_many(&mut self, columns: &mut [Vec<Vec3>]) -> Result<(), LinearizationError> {
        self.solve_columns(columns, Side::Plain)
    }

    /// Solves Kᵀ x = b for many b at once.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn solve_many_transposed(&mut self, columns: &mut [Vec<Vec3>]) -> Result<(), LinearizationError> {
        self.solve_columns(columns, Side::Transposed)
    }

    /// Names the solver. Factors K unless an earlier call did.
    ///
    /// # Errors
    /// [`LinearizationError::Singular`].
    pub fn method(&mut self) -> Result<&'static str, LinearizationError> {
        Ok(self.inverse()?.method())
    }

    /// The symmetric part of K without contacts between bodies, as a matrix with its blocks on and below the diagonal;
    /// `None` with lattices, whose K is never assembled.
    pub fn matrix(&self) -> Option<&BlockCsr> {
        self.operator.matrix()
    }

    fn solve_columns<C: AsMut<[Vec3]>>(&mut self, columns: &mut [C], side: Side) -> Result<(), LinearizationError> {
        for column in columns.iter_mut() {
            self.check(column.as_mut())?;
        }
        self.inverse()?;
        let Self { place, operator, inverse, .. } = self;
        match inverse {
            Some(inverse) => inverse.solve(place, operator, columns, side),
            None => Ok(()),
        }
    }

    fn inverse(&mut self) -> Result<&Inverse, LinearizationError> {
        if self.inverse.is_none() {
            self.inverse = Some(Inverse::new(&self.place, self.tangent, &self.operator)?);
        }
        Ok(self.inverse.as_ref().expect("created above"))
    }

    fn check(&self, vector: &[Vec3]) -> Result<(), LinearizationError> {
        let (expected, actual) = (self.place.model.kinematics.unknown_count(), vector.len());
        if expected == actual { Ok(()) } else { Err(LinearizationError::Length { expected, actual }) }
    }
}

impl Place<'_> {
    /// Calls `look` with the equations of a step that starts and ends at the state.
    fn look<T>(&self, tangent: Tangent, look: impl FnOnce(&TangentAt<'_, '_>) -> T) -> Result<T, LinearizationError> {
        let State { unknowns, positions, .. } = self.state;
        self.pose(|mut problem| {
            let mut point_gradient = vec![Vec3::zero(); positions.len()];
            problem.evaluate_gradient(positions, &mut point_gradient);
            if !point_gradient.iter().all(|g| g.is_finite()) {
                return Err(LinearizationError::NotFinite);
            }
            problem.linearize_contact(positions);
            let definite = if tangent == Tangent::Definite { 1.0 } else { 0.0 };
            let (q, x, point_gradient) = (unknowns, positions, &point_gradient);
            Ok(look(&TangentAt { problem: &problem, q, x, point_gradient, definite }))
        })?
    }

    /// g over the points at other positions.
    fn gradient_of_points(&self, x: &[Vec3]) -> Result<Vec<Vec3>, LinearizationError> {
        let (expected, actual) = (self.model.kinematics.point_count(), x.len());
        if expected != actual {
            return Err(LinearizationError::OtherModel { expected, actual });
        }
        self.pose(|mut problem| {
            let mut gradient = vec![Vec3::zero(); x.len()];
            problem.evaluate_gradient(x, &mut gradient);
            gradient
        })
    }

    /// Calls `solve` with the static equations of a step that starts at the state.
    fn pose<T>(&self, solve: impl FnOnce(Problem<'_>) -> T) -> Result<T, LinearizationError> {
        let Place { model, plan, state, control } = *self;
        let (expected, actual) = (model.kinematics.point_count(), state.positions.len());
        if !plan.fits(model) {
            return Err(LinearizationError::OtherPlan);
        }
        if expected != actual || state.unknowns.vectors.len() != model.kinematics.unknown_count() {
            return Err(LinearizationError::OtherModel { expected, actual });
        }
        let dt = step_length(state);
        let (mut contacts, mut stage) = (Contacts::default(), ContactStage::default());
        contacts.find(model, state, control, dt);
        stage.begin_step(&model.contact, &model.step_start(state, control, dt));
        let ctx = StepContext { time: state.time, dt, previous: state, control, contacts: &contacts };
        let mut scratch = ProblemScratch::default();
        let regime = Regime::Quasistatic;
        Ok(solve(Problem::new(model, &plan.assembly, ctx, regime, &mut scratch, &mut stage)))
    }
}

/// Length of the last step \[s\]. The slip over which friction grows is proportional to it.
fn step_length(state: &State) -> f64 {
    if state.history.last_dt > 0.0 { state.history.last_dt } else { 1.0 }
}
