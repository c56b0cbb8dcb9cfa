//! Solves with K: one factor for all right-hand sides, or GMRES with an approximate inverse.

use std::sync::OnceLock;

use sinew_math::Vec3;
use sinew_math::cholesky::{Cholesky, SymbolicCholesky};
use sinew_math::sparse::BlockCsr;

use super::gmres::gmres;
use super::operator::{Operator, Side};
use super::{LinearizationError, Place};
use crate::material::Tangent;
use crate::model::{Model, Revision};
use crate::solver::{
    AssemblyPlan, AssemblyScratch, ContactOperator, CoupledFactor, Filter, FreeParts, Hinges, Iterative, LinearSolver,
    SolveFailure, SystemFrame, add_shift, connected_parts, filter_scale, hold_softly,
};

/// Maximum number of nodes for which K is factored: a compact body of this size takes some gigabytes and a minute.
pub const MAX_FACTOR_NODES: usize = 60_000;
/// Right-hand sides per application of a factor: many enough to share one read from memory, few enough to stay in the
/// cache.
const COLUMNS: usize = 32;
/// Relative accuracy of f32 solves inside GMRES, which they reach in half of their iterations.
const INNER_ACCURACY: f64 = 1e-3;
/// Relative shift of the diagonal of a definite tangent whose factorization fails by rounding.
const ROUNDING_SHIFT: f64 = 1e-9;

/// Layout of a model, found once for all of its states.
pub struct LinearizationPlan {
    pub(super) assembly: AssemblyPlan,
    pub(super) filter: Filter,
    pub(super) free: FreeParts,
    pub(super) hinges: Hinges,
    symbolic: OnceLock<Result<SymbolicCholesky, SolveFailure>>,
    revision: Revision,
}

impl LinearizationPlan {
    /// Finds the layout of a model.
    pub fn new(model: &Model) -> Self {
        let assembly = AssemblyPlan::new(model);
        let parts = connected_parts(model, &assembly.pattern);
        Self {
            filter: Filter::new(&model.kinematics, &assembly.pattern),
            free: FreeParts::find(model, &parts),
            hinges: Hinges::find(model, &parts),
            assembly,
            symbolic: OnceLock::new(),
            revision: model.revision(),
        }
    }

    /// Removes pinned components from a matrix and puts `scale` on their diagonal.
    pub fn hold_pins(&self, matrix: &mut BlockCsr, scale: f64) {
        self.filter.apply(matrix, scale);
    }

    /// Whether it belongs to the current revision of this model.
    pub(super) fn fits(&self, model: &Model) -> bool {
        self.revision == model.revision()
    }

    pub(super) fn frame<'a>(&'a self, couplings: &'a ContactOperator) -> SystemFrame<'a> {
        SystemFrame { plan: &self.assembly, filter: &self.filter, free: &self.free, hinges: &self.hinges, couplings }
    }

    /// Allocates a factor without contacts; the elimination order is found once.
    fn factor(&self) -> Result<Cholesky<f64>, SolveFailure> {
        let symbolic = self
            .symbolic
            .get_or_init(|| SymbolicCholesky::new(&self.assembly.pattern).map_err(SolveFailure::Factor))
            .as_ref()
            .map_err(Clone::clone)?;
        symbolic.prepare().map_err(SolveFailure::Factor)
    }
}

/// The solver.
pub(super) struct Inverse {
    kind: Kind,
    method: &'static str,
}

enum Kind {
    /// The factor of K itself.
    Factor(Factor),
    /// A factor of an approximation of K.
    Near(Factor),
    /// Conjugate gradients in f32, for large meshes.
    Iterative(Box<Iterative>, Tangent),
    /// Conjugate gradients in f32 with V-cycles, of the system that the operator holds.
    Lattice(Tangent),
    /// V-cycles alone, where K is not definite.
    Cycles,
}

enum Factor {
    Plain(Box<Cholesky<f64>>),
    /// With the blocks of contacts.
    Coupled(Box<CoupledFactor>),
}

impl Factor {
    fn new(
        plan: &LinearizationPlan,
        matrix: &BlockCsr,
        couplings: &ContactOperator,
        tangent: Tangent,
        shift: f64,
    ) -> Result<Self, SolveFailure> {
        let mut filtered = BlockCsr::zeros(matrix.pattern().clone());
        filtered.copy_from(matrix);
        couplings.add_diagonal(&mut filtered);
        let scale = filter_scale(&filtered);
        plan.filter.apply(&mut filtered, scale);
        hold_softly(&plan.free, &plan.hinges, tangent, &mut filtered, scale);
        add_shift(&mut filtered, shift);
        filtered.mirror_lower();
        if couplings.is_empty() {
            let mut factor = Box::new(plan.factor()?);
            factor.refactor(&filtered).map_err(SolveFailure::Factor)?;
            return Ok(Self::Plain(factor));
        }
        let mut factor = Box::new(CoupledFactor::default());
        factor.factor(&filtered, couplings)?;
        Ok(Self::Coupled(factor))
    }

    fn solve<C: AsMut<[Vec3]>>(&mut self, columns: &mut [C]) -> Result<(), SolveFailure> {
        let factor = match self {
            Self::Plain(factor) => factor,
            Self::Coupled(coupled) => coupled.factored()?,
        };
        for columns in columns.chunks_mut(COLUMNS) {
            factor.solve_columns_in_place(columns).map_err(SolveFailure::Factor)?;
        }
        Ok(())
    }
}

fn singular(failure: SolveFailure) -> LinearizationError {
    LinearizationError::Singular { reason: failure.to_string() }
}

impl Inverse {
    pub fn new(place: &Place<'_>, tangent: Tangent, operator: &Operator) -> Result<Self, LinearizationError> {
        let Place { model, plan, .. } = *place;
        let Some(matrix) = operator.matrix() else {
            let method = "GMRES, preconditioned by conjugate gradients with V-cycles in f32";
            let mut inverse = Self { kind: Kind::Lattice(tangent), method };
            if operator.prepare_lattices(place, tangent).is_err() {
                inverse.take_definite_lattices(place, operator)?;
            }
            return Ok(inverse);
        };
        if model.kinematics.unknown_count() > MAX_FACTOR_NODES {
            let iterative = Self::iterative(place, tangent)?;
            let method = "GMRES, preconditioned by conjugate gradients in f32";
            return Ok(Self { kind: Kind::Iterative(iterative, tangent), method });
        }
        match Factor::new(plan, matrix, operator.couplings(), tangent, 0.0) {
            Ok(factor) if operator.is_symmetric() && plan.free.parts().is_empty() => {
                let method = match tangent {
                    Tangent::Exact => "Cholesky factor of the exact tangent",
                    Tangent::Definite => "Cholesky factor of the definite tangent",
                };
                Ok(Self { kind: Kind::Factor(factor), method })
            }
            Ok(factor) => {
                let method = "GMRES, preconditioned by the Cholesky factor of the symmetric part";
                Ok(Self { kind: Kind::Near(factor), method })
            }
            Err(_) => {
                let definite = place.look(Tangent::Definite, |at| Operator::new(at, plan))?;
                let matrix = definite.matrix().unwrap_or(matrix);
                let factor = |shift| Factor::new(plan, matrix, definite.couplings(), Tangent::Definite, shift);
                let factor = factor(0.0).or_else(|_| factor(ROUNDING_SHIFT)).map_err(singular)?;
                let method = "GMRES, preconditioned by the Cholesky factor of the definite tangent";
                Ok(Self { kind: Kind::Near(factor), method })
            }
        }
    }

    fn iterative(place: &Place<'_>, tangent: Tangent) -> Result<Box<Iterative>, LinearizationError> {
        let plan = place.plan;
        let mut iterative = Box::new(Iterative::new(place.model, &plan.assembly, LinearSolver::Cg, None));
        place.look(tangent, |at| {
            let mut couplings = ContactOperator::default();
            couplings.fill(at.problem.contact_terms(), &place.model.contact, &place.model.kinematics, at.q);
            plan.assembly.assemble(at, &mut AssemblyScratch::default(), &mut iterative.matrix);
            couplings.add_diagonal(&mut iterative.matrix);
            let scale = filter_scale(&iterative.matrix);
            plan.filter.apply(&mut iterative.matrix, scale);
            hold_softly(&plan.free, &plan.hinges, tangent, &mut iterative.matrix, scale);
        })?;
        iterative.forget();
        Ok(iterative)
    }

    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Solves for all columns.
    pub fn solve<C: AsMut<[Vec3]>>(
        &mut self,
        place: &Place<'_>,
        operator: &Operator,
        columns: &mut [C],
        side: Side,
    ) -> Result<(), LinearizationError> {
        let Place { model, plan, state, .. } = *place;
        let q = &state.unknowns.vectors;
        for column in columns.iter_mut() {
            model.kinematics.filter(column.as_mut());
            plan.free.project_forces(q, column.as_mut());
        }
        if let Kind::Factor(factor) = &mut self.kind {
            factor.solve(columns).map_err(singular)?;
        } else {
            let mut x = vec![Vec3::zero(); model.kinematics.unknown_count()];
            for column in columns.iter_mut() {
                self.solve_one(place, operator, column.as_mut(), &mut x, side)?;
                column.as_mut().copy_from_slice(&x);
            }
        }
        for column in columns.iter_mut() {
            model.kinematics.filter(column.as_mut());
            plan.free.project_step(q, column.as_mut());
        }
        Ok(())
    }

    fn solve_one(
        &mut self,
        place: &Place<'_>,
        operator: &Operator,
        b: &[Vec3],
        x: &mut [Vec3],
        side: Side,
    ) -> Result<(), LinearizationError> {
        loop {
            let apply = |v: &[Vec3], out: &mut [Vec3]| {
                operator.product(place.model, &place.state.unknowns, v, out, side);
                place.model.kinematics.filter(out);
            };
            let precondition = |r: &[Vec3], z: &mut [Vec3]| {
                self.precondition(operator, r, z)?;
                place.model.kinematics.filter(z);
                Ok(())
            };
            match gmres(apply, precondition, b, x) {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(left)) => {
                    let reason = format!(
                        "GMRES stopped at a relative residual of {left:.1e}: is every body held against every rigid motion?"
                    );
                    return Err(LinearizationError::Singular { reason });
                }
                Err(failure) => self.retreat(place, operator, failure)?,
            }
        }
    }

    /// z ≈ K⁻¹ r.
    fn precondition(&mut self, operator: &Operator, r: &[Vec3], z: &mut [Vec3]) -> Result<(), SolveFailure> {
        match &mut self.kind {
            Kind::Factor(factor) | Kind::Near(factor) => {
                z.copy_from_slice(r);
                factor.solve(&mut [z])
            }
            Kind::Iterative(iterative, tangent) => {
                iterative.solve_narrow(*tangent, operator.couplings(), r, z, INNER_ACCURACY).map(|_| ())
            }
            Kind::Lattice(_) => operator.solve_lattices(r, z, INNER_ACCURACY),
            Kind::Cycles => {
                operator.cycle_lattices(r, z);
                Ok(())
            }
        }
    }

    /// Switches to a preconditioner that does not need a definite K.
    fn retreat(
        &mut self,
        place: &Place<'_>,
        operator: &Operator,
        failure: SolveFailure,
    ) -> Result<(), LinearizationError> {
        match self.kind {
            Kind::Iterative(_, Tangent::Exact) => {
                let iterative = Self::iterative(place, Tangent::Definite)?;
                self.kind = Kind::Iterative(iterative, Tangent::Definite);
                self.method = "GMRES, preconditioned by conjugate gradients in f32 with the definite tangent";
                Ok(())
            }
            Kind::Lattice(Tangent::Exact) => self.take_definite_lattices(place, operator),
            Kind::Lattice(Tangent::Definite) => {
                self.kind = Kind::Cycles;
                self.method = "GMRES, preconditioned by V-cycles of the definite tangent";
                Ok(())
            }
            _ => Err(singular(failure)),
        }
    }

    /// Takes the definite tangent of lattices and of what is beside them for the solves inside GMRES.
    fn take_definite_lattices(&mut self, place: &Place<'_>, operator: &Operator) -> Result<(), LinearizationError> {
        operator.prepare_lattices(place, Tangent::Definite)?;
        self.kind = Kind::Lattice(Tangent::Definite);
        self.method = "GMRES, preconditioned by conjugate gradients with V-cycles in f32 with the definite tangent";
        Ok(())
    }
}
