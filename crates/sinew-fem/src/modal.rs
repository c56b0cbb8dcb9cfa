//! Natural frequencies: K φ = ω² M φ at the initial state.

use sinew_math::eigen::{EigenError, EigenParams, lowest_modes};
use sinew_math::sparse::BlockCsr;

use crate::contact::ContactStage;
use crate::contacts::Contacts;
use crate::force::StepContext;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};
use crate::solver::{AssemblyPlan, AssemblyScratch, Filter, Linearization, Problem, ProblemScratch, Regime};

/// The lowest natural frequencies of a model at rest [Hz]. Rigid bodies have no lumped mass matrix and must not be part of it.
///
/// Pinned components are made 1e12 times stiffer than the rest, which moves them far above all frequencies of interest.
pub fn natural_frequencies(model: &Model, count: usize) -> Result<Vec<f64>, EigenError> {
    let state = model.initial_state();
    let control = model.initial_control();
    let contacts = Contacts::default();
    let ctx = StepContext { time: 0.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts };
    let mut scratch = ProblemScratch::default();
    let plan = AssemblyPlan::new(model);
    let mut stage = ContactStage::default();
    let problem = Problem::new(model, &plan, ctx, Regime::Quasistatic, &mut scratch, &mut stage);
    let mut stiffness = BlockCsr::zeros(plan.pattern.clone());
    let zero = vec![sinew_math::Vec3::zero(); model.kinematics.point_count()];
    let (q, x) = (&state.unknowns, &state.positions);
    let at = Linearization { problem: &problem, q, x, point_gradient: &zero, definite: 0.0 };
    plan.assemble(&at, &mut AssemblyScratch::default(), &mut stiffness);
    let largest = stiffness.diagonal_blocks().map(|block| block.trace()).fold(0.0, f64::max);
    Filter::new(&model.kinematics, &plan.pattern).apply(&mut stiffness, 1e6 * largest);
    stiffness.mirror_lower();
    let mut masses = vec![0.0; model.kinematics.unknown_count()];
    model.add_lumped_masses(&mut masses);
    let is_free = model.pins.is_empty();
    // A free body has a singular K: shift by a small fraction of its stiffness per mass.
    let mean_mass = masses.iter().sum::<f64>() / masses.len().max(1) as f64;
    let shift = if is_free { 1e-6 * largest / mean_mass } else { 0.0 };
    let params = EigenParams { count, shift, ..EigenParams::default() };
    let modes = lowest_modes(&stiffness, &masses, &params)?;
    Ok(modes.eigenvalues.iter().map(|w2| w2.max(0.0).sqrt() / std::f64::consts::TAU).collect())
}

/// Natural frequencies as constant probes: `frequency.1`, `frequency.2` … [Hz].
pub struct FrequencyProbe {
    /// Frequencies [Hz].
    pub frequencies: Vec<f64>,
}

impl Probe for FrequencyProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        (1..=self.frequencies.len()).map(|k| format!("frequency.{k}")).collect()
    }

    fn evaluate(&self, _ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        out.extend(&self.frequencies);
    }
}
