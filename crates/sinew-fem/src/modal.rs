//! Natural frequencies: K φ = ω² M φ at the initial state.

use sinew_math::eigen::{EigenError, EigenParams, lowest_modes};
use sinew_math::sparse::BlockCsr;
use thiserror::Error;

use crate::linearization::{Linearization, LinearizationError, LinearizationPlan};
use crate::material::Tangent;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};

/// Why there are no natural frequencies.
#[derive(Debug, Error)]
pub enum ModalError {
    /// The initial state has no stiffness.
    #[error(transparent)]
    Linearization(#[from] LinearizationError),
    /// Bodies on lattices have no assembled stiffness.
    #[error("bodies on lattices have no assembled stiffness")]
    Lattice,
    /// The eigenvalue problem has no solution.
    #[error(transparent)]
    Eigen(#[from] EigenError),
}

/// The lowest natural frequencies of a model at rest, without contact between bodies \[Hz\]. The model must not have
/// rigid bodies, because they have no lumped mass matrix.
///
/// Pinned components become 1e12 times stiffer than the rest, which moves them far above all frequencies of interest.
pub fn natural_frequencies(model: &Model, count: usize) -> Result<Vec<f64>, ModalError> {
    let (state, control) = (model.initial_state(), model.initial_control());
    let plan = LinearizationPlan::new(model);
    let linearization = Linearization::new(&plan, model, &state, &control, Tangent::Exact)?;
    let matrix = linearization.matrix().ok_or(ModalError::Lattice)?;
    let largest = matrix.diagonal_blocks().map(|block| block.trace()).fold(0.0, f64::max);
    let mut stiffness = BlockCsr::zeros(matrix.pattern().clone());
    stiffness.copy_from(matrix);
    plan.hold_pins(&mut stiffness, 1e6 * largest);
    stiffness.mirror_lower();
    let mut masses = vec![0.0; model.kinematics.unknown_count()];
    model.add_lumped_masses(&mut masses);
    let is_free = model.pins.is_empty();
    // A free body has a singular K, so shift it by a small fraction of its stiffness per mass.
    let mean_mass = masses.iter().sum::<f64>() / masses.len().max(1) as f64;
    let shift = if is_free { 1e-6 * largest / mean_mass } else { 0.0 };
    let params = EigenParams { count, shift, ..EigenParams::default() };
    let modes = lowest_modes(&stiffness, &masses, &params)?;
    Ok(modes.eigenvalues.iter().map(|w2| w2.max(0.0).sqrt() / std::f64::consts::TAU).collect())
}

/// Natural frequencies as constant probes: `frequency.1`, `frequency.2` … \[Hz\].
pub struct FrequencyProbe {
    /// Frequencies \[Hz\].
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
