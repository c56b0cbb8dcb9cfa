//! Bones over which flesh slides.

use sinew_geometry::shape::Pose;
use sinew_math::Vec3;

use super::{ContactForce, Dependence, EnergyPart, Force, Hold, Linearized, StepContext};
use crate::control::{ChannelId, Control};
use crate::material::Tangent;

/// Way of a bone in one step, in cells: flesh that it passes by more may come out on its other side.
const LONGEST_WAY: f64 = 0.5;

/// A bone over which the flesh of one body slides, without friction. Flesh follows its bones, so it is enough to look
/// at the way of the bone itself to know how far a step may go.
pub struct Bone {
    /// Its own name.
    pub name: String,
    /// Index of the body whose flesh slides over it.
    pub body: usize,
    /// How it keeps flesh and skin out.
    pub contact: ContactForce,
    /// Middle of its box, in its frame \[m\].
    pub(crate) center: Vec3,
    /// Distance of the corners of the box from there \[m\].
    pub(crate) reach: f64,
}

impl Bone {
    /// Into how many parts a step from a pose to the one under `control` must be cut.
    pub(crate) fn parts_of_step(&self, from: &Pose, control: &Control, cell: f64) -> f64 {
        let to = self.contact.shape.pose(control);
        let turn = (to.rotation * from.rotation.conjugate()).log_map().norm();
        let way = to.to_world(self.center).distance(from.to_world(self.center)) + turn * self.reach;
        way / (LONGEST_WAY * cell)
    }
}

/// The contact, which holds nothing: flesh may turn about a bone and slide along it.
impl Force for Bone {
    fn name(&self) -> &str {
        self.contact.name()
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        self.contact.potential(x, ctx)
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        self.contact.add_gradient(x, ctx, gradient);
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        self.contact.linearize(x, ctx, tangent, out);
    }

    fn add_channel_derivative(
        &self,
        x: &[Vec3],
        ctx: &StepContext<'_>,
        channel: ChannelId,
        out: &mut [Vec3],
    ) -> Dependence {
        self.contact.add_channel_derivative(x, ctx, channel, out)
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        self.contact.couplings()
    }

    fn stored(&self, x: &[Vec3], ctx: &StepContext<'_>) -> f64 {
        self.contact.stored(x, ctx)
    }

    fn energy_part(&self) -> EnergyPart {
        EnergyPart::Contact
    }

    fn hold(&self) -> Hold {
        Hold::Nothing
    }
}
