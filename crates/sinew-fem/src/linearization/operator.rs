//! Products with K: the assembled matrix, contacts beside it, lattices as operators, and the antisymmetric part.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sinew_math::Vec3;
use sinew_math::sparse::BlockCsr;

use super::{LinearizationError, LinearizationPlan, Place};
use crate::force::Linearized;
use crate::kinematics::Unknowns;
use crate::material::Tangent;
use crate::model::Model;
use crate::muscle::Activations;
use crate::solver::{AssemblyScratch, ContactOperator, LatticeSystem, SolveFailure, SolverParams, TangentAt};

/// K or its transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Plain,
    Transposed,
}

/// K as an operator.
pub(super) struct Operator {
    /// Everything symmetric except lattices and contacts between bodies, on and below the diagonal.
    matrix: BlockCsr,
    couplings: ContactOperator,
    /// V-cycles of lattices, and products with their definite tangent; behind a lock because both write to its memory.
    lattices: Option<Mutex<Box<LatticeSystem>>>,
    /// Where the exact tangent of lattices is taken; `None` for the definite one.
    exact: Option<Positions>,
    /// The antisymmetric part of forces without a potential, between points.
    skew: Linearized,
}

/// Places of all points, and factor and activations of each lattice.
struct Positions {
    x: Vec<Vec3>,
    lattices: Vec<(f64, Activations)>,
}

impl Positions {
    fn of(at: &TangentAt<'_, '_>) -> Self {
        let (model, control) = (at.problem.model, at.problem.ctx.control);
        let lattices = model.lattices.iter().map(|block| {
            let stiffness = model.body_stiffness(block.body, control);
            (stiffness, block.activations(control, stiffness))
        });
        Self { x: at.x.to_vec(), lattices: lattices.collect() }
    }

    /// out += K v of the lattices, whose nodes are unknowns.
    fn add_product(&self, model: &Model, v: &[Vec3], out: &mut [Vec3]) {
        let (mut moved, mut forces) = (vec![Vec3::zero(); self.x.len()], vec![Vec3::zero(); self.x.len()]);
        for (block, (stiffness, activations)) in model.lattices.iter().zip(&self.lattices) {
            moved[block.points()].copy_from_slice(&v[block.unknowns()]);
            block.add_product(&self.x, activations, *stiffness, &moved, &mut forces);
            for (out, &force) in out[block.unknowns()].iter_mut().zip(&forces[block.points()]) {
                *out += force;
            }
        }
    }
}

impl Operator {
    pub fn new(at: &TangentAt<'_, '_>, plan: &LinearizationPlan) -> Self {
        let model = at.problem.model;
        let mut couplings = ContactOperator::default();
        couplings.fill(at.problem.contact_terms(), &model.contact, &model.kinematics, at.q);
        let mut matrix = BlockCsr::zeros(plan.assembly.pattern.clone());
        plan.assembly.assemble(at, &mut AssemblyScratch::default(), &mut matrix);
        let mut skew = Linearized::default();
        if at.tangent() == Tangent::Exact {
            model.forces().for_each(|force| force.linearize_skew(at.x, &at.problem.ctx, &mut skew));
        }
        let lattices = (!model.lattices.is_empty()).then(|| {
            let mut system = Box::new(LatticeSystem::new(model, &plan.assembly, &SolverParams::default()));
            system.assemble(at, plan.frame(&couplings), &mut AssemblyScratch::default(), false);
            Mutex::new(system)
        });
        let exact = (at.tangent() == Tangent::Exact).then(|| Positions::of(at));
        Self { matrix, couplings, lattices, exact, skew }
    }

    /// Whether K is symmetric.
    pub fn is_symmetric(&self) -> bool {
        self.skew.blocks().is_empty()
    }

    /// The symmetric part without contacts between bodies; `None` with lattices.
    pub fn matrix(&self) -> Option<&BlockCsr> {
        self.lattices.is_none().then_some(&self.matrix)
    }

    pub fn couplings(&self) -> &ContactOperator {
        &self.couplings
    }

    /// out = K v, or Kᵀ v.
    pub fn product(&self, model: &Model, q: &Unknowns, v: &[Vec3], out: &mut [Vec3], side: Side) {
        self.matrix.multiply_lower(v, out);
        self.couplings.add_whole_product(v, out);
        match (&self.exact, self.lattices()) {
            (Some(positions), _) => positions.add_product(model, v, out),
            (None, Some(lattices)) => lattices.add_product(v, out),
            (None, None) => {}
        }
        if !self.is_symmetric() {
            let points = model.kinematics.point_count();
            let (mut moved, mut forces) = (vec![Vec3::zero(); points], vec![Vec3::zero(); points]);
            let mut pulled = vec![Vec3::zero(); out.len()];
            model.kinematics.push_forward(q, v, &mut moved);
            self.skew.add_product(&moved, &mut forces);
            model.kinematics.pull_back(q, &forces, &mut pulled);
            let sign = if side == Side::Plain { 1.0 } else { -1.0 };
            for (out, &pulled) in out.iter_mut().zip(&pulled) {
                *out += pulled * sign;
            }
        }
    }

    fn lattices(&self) -> Option<MutexGuard<'_, Box<LatticeSystem>>> {
        // A poisoned lock is harmless: the system holds only numbers.
        self.lattices.as_ref().map(|lattices| lattices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Prepares the system of lattices for [`Self::solve_lattices`].
    pub fn prepare_lattices(&self, place: &Place<'_>, tangent: Tangent) -> Result<(), LinearizationError> {
        let Some(mut lattices) = self.lattices() else { return Ok(()) };
        let frame = || place.plan.frame(&self.couplings);
        let prepared = place.look(tangent, |at| {
            lattices.assemble(at, frame(), &mut AssemblyScratch::default(), false);
            lattices.prepare(at, frame(), 0.0)
        })?;
        prepared.map(|_| ()).map_err(|failure| LinearizationError::Singular { reason: failure.to_string() })
    }

    /// Solves K z = r in f32 to a relative accuracy.
    pub fn solve_lattices(&self, r: &[Vec3], z: &mut [Vec3], accuracy: f64) -> Result<(), SolveFailure> {
        let Some(mut lattices) = self.lattices() else { return Ok(()) };
        lattices.solve_prepared(&self.couplings, accuracy, r, z)
    }

    /// z = one V-cycle for r.
    pub fn cycle_lattices(&self, r: &[Vec3], z: &mut [Vec3]) {
        if let Some(mut lattices) = self.lattices() {
            lattices.precondition(r, z);
        }
    }
}
