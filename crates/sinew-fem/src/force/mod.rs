//! Forces on points: gradient, linearization, and a potential where there is one.
//!
//! A force is immutable; what varies comes in by [`StepContext`]. It brings along whatever others want to know of it:
//! its part of the energy balance, probes, load channels, bounds of its stiffness, and what it holds. So all forces of
//! a model stand in one list, and a new one is a new file.
//!
//! Cells are not in that list: elasticity ([`crate::elastic`]) and lattices ([`crate::lattice`]) are evaluated in packs
//! of lanes on all threads, write straight into the matrix or never assemble one, and answer to materials and damping;
//! blocks of pairs of points would cost them their speed. Contact between bodies ([`crate::contact`]) is not either: it
//! remembers candidates from iterate to iterate, and its blocks come and go beside the matrix.

mod attachment;
mod bone;
mod contact;
mod gravity;
mod load;
mod params;
mod places;
mod pressure;
mod sheath;
pub mod strand;

use std::any::Any;

use sinew_math::{Mat3, Vec3};

pub use attachment::{Anchor, AttachPoints, Attachment, AttachmentMotion, AttachmentParams, SpringPoint};
pub use bone::Bone;
pub use contact::ContactForce;
pub use gravity::Gravity;
pub use load::{Load, LoadParams, NodalForceParams};
pub use params::{Assembly, ForceError, ForceParams, NodeMap, Renumbered};
pub(crate) use places::entries_of;
pub use places::{AttachTarget, FleshPlace};
pub use pressure::{Pressure, PressureParams};
pub use sheath::{Sheath, SheathParams};
pub use strand::{Slack, Strand, StrandParams, TendonParams, TendonStrand};

use crate::contact::Contacts;
use crate::control::{ChannelId, ChannelTable, Control};
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

/// Where the energy of a force is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnergyPart {
    /// Weight.
    Gravity,
    /// Contact.
    Contact,
    /// Everything else.
    Other,
}

/// What a force holds in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nothing: what it acts on may turn and drift as a whole as if it were not there.
    Nothing,
    /// These points against the world, and parts against each other.
    Points(Vec<u32>),
    /// Possibly everything.
    All,
}

/// Bounds of what a force adds to the motion of each point, for the length of explicit steps.
pub struct RowBounds<'a> {
    /// Sum of the sizes of the blocks in the row of each point \[N/m\].
    pub stiffness: &'a mut [f64],
    /// The same of the derivative by velocities \[N s/m\].
    pub viscosity: &'a mut [f64],
}

/// What the probes of a force look at.
#[derive(Clone, Copy)]
pub struct ForceView<'a> {
    /// The state at the end of the frame.
    pub state: &'a State,
    /// The commands at the end of the frame.
    pub control: &'a Control,
}

/// A force that forbids long steps.
pub trait StepLimit {
    /// Largest fraction of `dx` that may be taken; 1 where all of it may.
    fn max_step(&self, x: &[Vec3], ctx: &StepContext<'_>, dx: &[Vec3]) -> f64;
}

/// A force that a channel activates, as a muscle.
pub trait ActiveForce {
    /// The channel: 0 is at rest, 1 fully active.
    fn channel(&self) -> ChannelId;
    /// Whether force depends on velocity.
    fn needs_motion(&self) -> bool;
    /// Work that it does in a step of length 1/`rate` by being active \[J\], with the activations at both ends.
    fn work(&self, from: &[Vec3], to: &[Vec3], activations: [f64; 2], rate: f64) -> f64;
    /// Activation under `control`, kept between 0 and 1.
    fn activation(&self, control: &Control) -> f64 {
        control.get(self.channel()).clamp(0.0, 1.0)
    }
}

/// Something that acts on points. The first four methods are all that a force needs; the others have defaults that are
/// right for one that neither moves by channels nor has probes.
pub trait Force: Any + Send + Sync {
    /// Name in reports.
    fn name(&self) -> &str;
    /// Potential energy \[J\], or `None` for a force that has none (a follower pressure on an open surface, for
    /// example).
    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64>;
    /// gradient += ∂E/∂x, the negative force \[N\].
    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]);
    /// Appends the blocks of ∂²E/∂x² (the negative derivative of the force) at `x`. `Tangent::Definite` requires a
    /// positive semi-definite approximation.
    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized);
    /// Itself, where it forbids long steps.
    fn step_limit(&self) -> Option<&dyn StepLimit> {
        None
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
    /// What it stores \[J\]. The default: its potential, or nothing.
    fn stored(&self, x: &[Vec3], ctx: &StepContext<'_>) -> f64 {
        self.potential(x, ctx).unwrap_or(0.0)
    }
    /// Where that is counted.
    fn energy_part(&self) -> EnergyPart {
        EnergyPart::Other
    }
    /// Channels that load the bodies: with all of them zero nothing pulls.
    fn load_channels(&self) -> &[ChannelId] {
        &[]
    }
    /// What it holds in place.
    fn hold(&self) -> Hold {
        Hold::All
    }
    /// Adds bounds of its stiffness and viscosity. A stiff force that has none makes explicit steps unstable.
    fn add_row_bounds(&self, _x: &[Vec3], _control: &Control, _bounds: &mut RowBounds<'_>) {}
    /// Itself, where a channel activates it.
    fn active(&self) -> Option<&dyn ActiveForce> {
        None
    }
    /// Names of its probes: the values that it reports in every frame.
    fn probe_names(&self, _channels: &ChannelTable) -> Vec<String> {
        Vec::new()
    }
    /// Appends one number per name.
    fn probe(&self, _at: &ForceView<'_>, _out: &mut Vec<f64>) {}
}
