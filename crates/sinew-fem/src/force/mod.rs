//! Forces on points: gradient, linearization, and a potential where there is one.
//!
//! A force is immutable; everything variable comes from [`StepContext`]. Elasticity has its own vectorized path
//! ([`crate::elastic`]).

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
use crate::control::{ChannelId, Control};
use crate::material::Tangent;
use crate::state::State;

/// Inputs of a force besides the positions.
#[derive(Clone, Copy)]
pub struct StepContext<'a> {
    /// Time at the end of the step \[s\].
    pub time: f64,
    /// Length of the step \[s\].
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
    /// Clears all blocks, keeps the memory.
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

/// How a force depends on the value of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// Not at all.
    None,
    /// By a derivative in closed form.
    Exact,
    /// By a derivative from differences.
    Differences,
    /// By differences, where the one-sided derivatives differ.
    Kink,
}

/// Step of differences by a channel, times its value where that is larger than one: translations in meters, angles in
/// radians.
const CHANNEL_STEP: f64 = 1e-5;
/// One-sided derivatives that differ by more than this share make a kink; those of smooth forces differ by about the
/// step over their length scale.
const KINK: f64 = 0.02;

/// out += derivative of a gradient by a channel, by central differences of two steps that cancel the second-order
/// error.
fn channel_differences(
    gradient: impl Fn(&Control, &mut [Vec3]),
    control: &Control,
    channel: ChannelId,
    out: &mut [Vec3],
) -> Dependence {
    let mut moved = control.clone();
    let mut at = |step: f64| {
        moved.set(channel, control.get(channel) + step);
        let mut forces = vec![Vec3::zero(); out.len()];
        gradient(&moved, &mut forces);
        forces
    };
    let h = CHANNEL_STEP * control.get(channel).abs().max(1.0);
    let (plus, minus) = (at(h), at(-h));
    if plus == minus {
        return Dependence::None;
    }
    let (middle, half_plus, half_minus) = (at(0.0), at(0.5 * h), at(-0.5 * h));
    let (mut gap, mut size) = (0.0f64, 0.0f64);
    for (k, out) in out.iter_mut().enumerate() {
        *out += ((half_plus[k] - half_minus[k]) * 8.0 - (plus[k] - minus[k])) / (6.0 * h);
        gap = gap.max((plus[k] + minus[k] - middle[k] * 2.0).norm());
        size = size.max((plus[k] - minus[k]).norm());
    }
    if gap > KINK * size { Dependence::Kink } else { Dependence::Differences }
}

/// A force on points.
pub trait Force: Send + Sync {
    /// Name in reports.
    fn name(&self) -> &str;
    /// Potential energy \[J\], or `None` for a force that has none (a follower pressure on an open surface, for example).
    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64>;
    /// gradient += ∂E/∂x, the negative force \[N\].
    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]);
    /// Appends the blocks of ∂²E/∂x² (the negative derivative of the force) at `x`. `Tangent::Definite` requires a
    /// positive semi-definite approximation.
    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized);
    /// Largest allowed fraction of `dx`; 1 where any step is allowed.
    fn max_step(&self, _x: &[Vec3], _ctx: &StepContext<'_>, _dx: &[Vec3]) -> f64 {
        1.0
    }
    /// Appends the antisymmetric part of the derivative of the gradient, which [`Force::linearize`] omits; nothing for
    /// forces with a potential.
    fn linearize_skew(&self, _x: &[Vec3], _ctx: &StepContext<'_>, _out: &mut Linearized) {}
    /// out += ∂(gradient)/∂c, the derivative of [`Force::add_gradient`] by the value of a channel, at fixed points. The
    /// default uses differences.
    fn add_channel_derivative(
        &self,
        x: &[Vec3],
        ctx: &StepContext<'_>,
        channel: ChannelId,
        out: &mut [Vec3],
    ) -> Dependence {
        let gradient =
            |control: &Control, out: &mut [Vec3]| self.add_gradient(x, &StepContext { control, ..*ctx }, out);
        channel_differences(gradient, ctx.control, channel, out)
    }
    /// Pairs of points between which [`Force::linearize`] may ever add a block (blocks on the diagonal are implied).
    fn couplings(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }
}
