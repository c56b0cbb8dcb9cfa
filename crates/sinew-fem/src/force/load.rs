//! Dead loads: forces of fixed direction on points.

use sinew_math::Vec3;

use super::{Dependence, Force, Linearized, StepContext};
use crate::control::ChannelId;
use crate::material::Tangent;

/// Forces f_p = s(t) d_p on points, E = −Σ f_p·x_p.
pub struct Load {
    /// Name in reports.
    pub name: String,
    /// Points and the part of the load each carries.
    pub points: Vec<(u32, Vec3)>,
    /// Total force \[N\] when the parts are weights along three channels; `None` when the parts are forces already.
    pub channels: Option<[ChannelId; 3]>,
}

impl Load {
    #[inline]
    fn force(&self, part: Vec3, ctx: &StepContext<'_>) -> Vec3 {
        match self.channels {
            Some(channels) => ctx.control.vector(channels).component_mul(part),
            None => part,
        }
    }
}

impl Force for Load {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        Some(-self.points.iter().map(|&(p, part)| self.force(part, ctx).dot(x[p as usize])).sum::<f64>())
    }

    fn add_gradient(&self, _x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        for &(p, part) in &self.points {
            gradient[p as usize] -= self.force(part, ctx);
        }
    }

    fn add_channel_derivative(
        &self,
        _x: &[Vec3],
        _ctx: &StepContext<'_>,
        channel: ChannelId,
        out: &mut [Vec3],
    ) -> Dependence {
        let own = self.channels.and_then(|channels| channels.iter().position(|&own| own == channel));
        let Some(axis) = own else { return Dependence::None };
        for &(p, part) in &self.points {
            out[p as usize][axis] -= part[axis];
        }
        Dependence::Exact
    }

    fn linearize(&self, _x: &[Vec3], _ctx: &StepContext<'_>, _tangent: Tangent, _out: &mut Linearized) {}
}
