//! The equations of equilibrium at a state, made linear.
//!
//! At rest the gradient g of all potentials over the unknowns q vanishes wherever no pin holds them, $g(q, c, \theta) = 0$, for channels c and
//! parameters θ. [`Linearization`] holds the stiffness $K = \partial g/\partial q$ of one state and answers what Newton's method, modal analysis and
//! gradients ask of it:
//!
//! | question | method |
//! |---|---|
//! | K v, Kᵀ v | [`Linearization::product`], [`Linearization::transposed_product`] |
//! | K x = b, Kᵀ x = b, many b at once | [`Linearization::solve`], [`Linearization::solve_transposed`], [`Linearization::solve_many`] |
//! | ∂g/∂c, ∂g/∂θ | [`Linearization::derivative`] |
//! | dp/dc, dp/dθ of a probe p | [`crate::Simulation::gradients`] |
//!
//! Which solver answers depends on the model; [`Linearization::method`] names it.
//!
//! * Cells (tetrahedra, hexahedra): K is assembled in f64 and factored once by Cholesky. All right-hand sides share that factor.
//! * Cells whose K is not positive definite, or not symmetric (pressure on an open surface): GMRES in f64 on K itself, preconditioned by the
//!   Cholesky factor of the definite tangent, or of the symmetric part.
//! * More than [`MAX_FACTOR_NODES`] nodes: GMRES in f64, preconditioned by the f32 conjugate gradients of Newton's method.
//! * Lattices, alone or beside cells: GMRES in f64, preconditioned by f32 conjugate gradients with V-cycles. Products with the exact K of a lattice are computed
//!   cell by cell, those with its definite K from the tangent that V-cycles use.
//!
//! K is that of statics: no inertia, no damping, and friction and the speed of fibers as in a step that begins and ends at the state.

mod activation;
mod consistency;
mod derivative;
mod gmres;
mod gradients;
mod material;
mod operator;
mod probe_gradient;
mod solve;

use sinew_math::Vec3;
use sinew_math::sparse::BlockCsr;
use thiserror::Error;

pub use derivative::{Derivative, Input, Kink, Source};
pub use gradients::{Gradient, GradientError, Gradients};
pub use material::Parameter;
pub use probe_gradient::ProbeGradient;
pub use solve::{LinearizationPlan, MAX_FACTOR_NODES};

use crate::contact::ContactStage;
use crate::contacts::Contacts;
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
    /// The plan was made for another model, or for this one before a change.
    #[error("the plan was made for another model")]
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
        /// What the solver met.
        reason: String,
    },
}

/// The stiffness of one state of a model, with whatever solves systems with it.
///
/// Vectors are over the unknowns of [`crate::Kinematics`]: positions of free nodes, and position and turn of rigid bodies.
pub struct Linearization<'a> {
    place: Place<'a>,
    tangent: Tangent,
    /// g over the unknowns, on pinned components the force of the pin.
    gradient: Vec<Vec3>,
    operator: Operator,
    /// Made for the first solve.
    inverse: Option<Inverse>,
}

/// Where equations are linearized.
#[derive(Clone, Copy)]
struct Place<'a> {
    model: &'a Model,
    plan: &'a LinearizationPlan,
    state: &'a State,
    control: &'a Control,
}

impl<'a> Linearization<'a> {
    /// Linearizes the equations of statics at a state under `control`; `plan` was made for this model.
    ///
    /// `Tangent::Definite` leaves the negative curvature of cells and forces out: K is then positive semi-definite, symmetric, and no longer the
    /// derivative of the forces.
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

    /// g over the unknowns [N], [N m]: what is out of balance, and on pinned components the force of the pin.
    pub fn gradient(&self) -> &[Vec3] {
        &self.gradient
    }

    /// g over the unknowns where other unknowns put the points of the model; contacts with friction and barriers are those of the state.
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

    /// Size of what is out of balance where no pin holds it [N].
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

    /// Solves K x = b where no pin holds; `b` becomes x, which is zero on pinned components.
    ///
    /// Parts of the model that nothing holds move as little as they can: b loses the part that would make them fly, x its rigid motion.
    ///
    /// # Errors
    /// [`LinearizationError::Length`], [`LinearizationError::Singular`]; `b` is then unspecified.
    pub fn solve(&mut self, b: &mut [Vec3]) -> Result<(), LinearizationError> {
        self.solve_columns(&mut [b], Side::Plain)
    }

    /// Solves Kᵀ x = b, as [`Self::solve`] does.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn solve_transposed(&mut self, b: &mut [Vec3]) -> Result<(), LinearizationError> {
        self.solve_columns(&mut [b], Side::Transposed)
    }

    /// Solves K x = b for many b at once: one factor, read once for a block of columns, or one preconditioner.
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

    /// Which solver answers, in words. Factors K if nothing did before.
    ///
    /// # Errors
    /// [`LinearizationError::Singular`].
    pub fn method(&mut self) -> Result<&'static str, LinearizationError> {
        Ok(self.inverse()?.method())
    }

    /// The symmetric part of K without contacts between bodies, as a matrix with its blocks on and below the diagonal; `None` with lattices, whose K is never
    /// assembled.
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
        Ok(self.inverse.as_ref().expect("made above"))
    }

    fn check(&self, vector: &[Vec3]) -> Result<(), LinearizationError> {
        let (expected, actual) = (self.place.model.kinematics.unknown_count(), vector.len());
        if expected == actual { Ok(()) } else { Err(LinearizationError::Length { expected, actual }) }
    }
}

impl Place<'_> {
    /// Calls `look` with the equations of a step that begins and ends at the state.
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

    /// g over the points at other places of them.
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

    /// Calls `solve` with the equations of statics of a step that begins at the state.
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
        stage.begin_step(model, state, control, dt);
        let ctx = StepContext { time: state.time, dt, previous: state, control, contacts: &contacts };
        let mut scratch = ProblemScratch::default();
        let regime = Regime::Quasistatic;
        Ok(solve(Problem::new(model, &plan.assembly, ctx, regime, &mut scratch, &mut stage)))
    }
}

/// Length of the last step [s]; friction grows over a slip that is proportional to it.
fn step_length(state: &State) -> f64 {
    if state.history.last_dt > 0.0 { state.history.last_dt } else { 1.0 }
}
