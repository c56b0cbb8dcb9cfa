//! Weight: E = −Σ m g·x.

use sinew_math::Vec3;

use super::{Dependence, EnergyPart, Force, Hold, Linearized, StepContext};
use crate::control::ChannelId;
use crate::material::Tangent;

/// Weight of all points in a uniform field whose three components are control channels.
pub struct Gravity {
    /// Mass of each point \[kg\].
    pub masses: Vec<f64>,
    /// Channels of the acceleration \[m/s²\].
    pub acceleration: [ChannelId; 3],
}

impl Force for Gravity {
    fn name(&self) -> &str {
        "gravity"
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let g = ctx.control.vector(self.acceleration);
        Some(-sinew_math::parallel::sum(x.len(), |p| self.masses[p] * g.dot(x[p])))
    }

    fn add_gradient(&self, _x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        let g = ctx.control.vector(self.acceleration);
        for (out, &mass) in gradient.iter_mut().zip(&self.masses) {
            *out -= g * mass;
        }
    }

    fn add_channel_derivative(
        &self,
        _x: &[Vec3],
        _ctx: &StepContext<'_>,
        channel: ChannelId,
        out: &mut [Vec3],
    ) -> Dependence {
        let Some(axis) = self.acceleration.iter().position(|&own| own == channel) else { return Dependence::None };
        for (out, &mass) in out.iter_mut().zip(&self.masses) {
            out[axis] -= mass;
        }
        Dependence::Exact
    }

    fn linearize(&self, _x: &[Vec3], _ctx: &StepContext<'_>, _tangent: Tangent, _out: &mut Linearized) {}

    fn energy_part(&self) -> EnergyPart {
        EnergyPart::Gravity
    }

    fn load_channels(&self) -> &[ChannelId] {
        &self.acceleration
    }

    fn hold(&self) -> Hold {
        Hold::Nothing
    }
}
