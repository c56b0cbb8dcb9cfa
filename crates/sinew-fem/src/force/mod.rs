//! What acts on points: gradient, linearisation, and a potential where there is one.
//!
//! A force is immutable; what varies comes in by [`StepContext`]. Elasticity has a vectorised path of its own ([`crate::elastic`]).

mod attachment;
mod contact;
mod gravity;
mod load;
mod pressure;
mod sheath;
pub mod strand;

use sinew_math::{Mat3, Vec3};

pub use attachment::{Anchor, Attachment, SpringPoint};
pub use contact::{Collider, ContactForce, ContactMotion};
pub use gravity::Gravity;
pub use load::Load;
pub use pressure::Pressure;
pub use sheath::Sheath;
pub(crate) use sheath::SheathProbe;
pub use strand::{Strand, TendonStrand};

use crate::contacts::Contacts;
use crate::control::Control;
use crate::material::Tangent;
use crate::state::State;

/// What a force may look at besides the positions it is evaluated at.
#[derive(Clone, Copy)]
pub struct StepContext<'a> {
    /// Time at the end of the step [s].
    pub time: f64,
    /// Length of the step [s].
    pub dt: f64,
    /// State at the start of the step.
    pub previous: &'a State,
    /// Commanded channels at the end of the step.
    pub control: &'a Control,
    /// Contacts found at the start of the step.
    pub contacts: &'a Contacts,
}

/// Hessian of a force as 3×3 blocks between pairs of points; storage is reused between iterates.
#[derive(Clone, Debug, Default)]
pub struct Linearized {
    blocks: Vec<(u32, u32, Mat3)>,
}

impl Linearized {
    /// Forgets all blocks, keeps the memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Adds ∂²E/∂x_a∂x_b. For a ≠ b the caller adds the transposed block as well.
    pub fn add(&mut self, a: u32, b: u32, block: Mat3) {
        self.blocks.push((a, b, block));
    }

    /// All blocks.
    pub fn blocks(&self) -> &[(u32, u32, Mat3)] {
        &self.blocks
    }

    /// out += H dx.
    pub fn add_product(&self, dx: &[Vec3], out: &mut [Vec3]) {
        for &(a, b, block) in &self.blocks {
            out[a as usize] += block * dx[b as usize];
        }
    }
}

/// Something that acts on points.
pub trait Force: Send + Sync {
    /// Name in reports.
    fn name(&self) -> &str;
    /// Potential energy [J], or `None` for a force that has none (a follower pressure on an open surface, for example).
    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64>;
    /// gradient += ∂E/∂x, the negative force [N].
    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]);
    /// Appends the blocks of ∂²E/∂x² (the negative derivative of the force) at `x`. `Tangent::Definite` asks for a positive
    /// semi-definite approximation.
    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized);
    /// Largest fraction of `dx` that may be taken; 1 where any step is allowed.
    fn max_step(&self, _x: &[Vec3], _ctx: &StepContext<'_>, _dx: &[Vec3]) -> f64 {
        1.0
    }
    /// Pairs of points between which [`Force::linearize`] will ever put a block (pairs within one point are implied).
    fn couplings(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }
}
