//! Dead loads: forces of fixed direction on points.

use std::sync::Arc;

use sinew_math::Vec3;

use super::params::nodes_left;
use super::{Assembly, Dependence, Force, ForceError, ForceParams, Hold, Linearized, NodeMap, Renumbered, StepContext};
use crate::control::ChannelId;
use crate::material::Tangent;

/// Forces of fixed direction: each node carries its weight times the vector in the channels `BODY.load.NAME.x` …
/// (weights that sum to one make it a total force \[N\], areas make it a traction \[Pa\]).
#[derive(Clone, Debug)]
pub struct LoadParams {
    /// The body.
    pub body: usize,
    /// Name, unique among the loads of the body.
    pub name: String,
    /// Nodes and their weights.
    pub weights: Vec<(u32, f64)>,
}

impl ForceParams for LoadParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let name = format!("{}.load.{}", assembly.body_name(self.body), self.name);
        let points = self.weights.iter().map(|&(n, w)| (assembly.point(self.body, n), Vec3::splat(w))).collect();
        let channels = assembly.channels().add_vector(&name, [0.0; 3]);
        Ok(Box::new(Load { name, points, channels: Some(channels) }))
    }

    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let weights = nodes_left(&self.weights, self.body, map);
        Some(Renumbered {
            body: self.body,
            kind: "load",
            name: self.name.clone(),
            things: "nodes",
            lost: self.weights.len() - weights.len(),
            count: self.weights.len(),
            needs_some: false,
            params: Arc::new(Self { weights, ..self.clone() }),
        })
    }

    fn rank(&self) -> u8 {
        2
    }
}

/// Given forces on nodes of a body.
#[derive(Clone, Debug)]
pub struct NodalForceParams {
    /// The body.
    pub body: usize,
    /// Name, unique among the loads of the body.
    pub name: String,
    /// Nodes and the force on each \[N\].
    pub forces: Vec<(u32, Vec3)>,
}

impl ForceParams for NodalForceParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let name = format!("{}.load.{}", assembly.body_name(self.body), self.name);
        let points = self.forces.iter().map(|&(n, f)| (assembly.point(self.body, n), f)).collect();
        Ok(Box::new(Load { name, points, channels: None }))
    }

    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let forces = nodes_left(&self.forces, self.body, map);
        Some(Renumbered {
            body: self.body,
            kind: "load",
            name: self.name.clone(),
            things: "nodes",
            lost: self.forces.len() - forces.len(),
            count: self.forces.len(),
            needs_some: false,
            params: Arc::new(Self { forces, ..self.clone() }),
        })
    }

    fn rank(&self) -> u8 {
        3
    }
}

/// Forces f_p = s(t) d_p on points, E = −Σ f_p·x_p.
pub struct Load {
    /// Name in reports.
    pub name: String,
    /// Points and the share of the load on each.
    pub points: Vec<(u32, Vec3)>,
    /// Channels of the total force \[N\] where shares are weights; `None` where shares are forces.
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

    fn load_channels(&self) -> &[ChannelId] {
        self.channels.as_ref().map_or(&[], |channels| channels)
    }

    fn hold(&self) -> Hold {
        Hold::Nothing
    }
}
