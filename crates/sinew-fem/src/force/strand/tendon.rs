//! Tendons: strings from points of flesh to the world, a rigid body or other flesh.
//!
//! ```math
//! F = F_{0t}\, \tilde F_T(\varepsilon), \qquad \varepsilon = \frac{|d| - l_s}{l_s}, \qquad
//!    E = F_{0t}\, l_s \int_0^\varepsilon \tilde F_T
//! ```
//!
//! along the line d from flesh to anchor, slack below the slack length l_s (CHE-51). Fascia is many tendons that start
//! slack (CHE-39).

use std::sync::Arc;

use sinew_math::Vec3;
use sinew_muscle::Curve;

use super::super::places::{anchor, carry, places_left};
use super::super::{
    Assembly, AttachTarget, FleshPlace, Force, ForceError, ForceParams, ForceView, Hold, Linearized, NodeMap,
    Renumbered, RowBounds, StepContext,
};
use super::line::{Line, Pull};
use crate::control::{ChannelId, ChannelTable, Control};
use crate::material::Tangent;

/// Below which length tendons are slack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slack {
    /// This part of the distance that each spans at rest.
    Factor(f64),
    /// This length \[m\].
    Length(f64),
}

/// A group of tendons; anchors in the world are moved by the channels `BODY.tendon.NAME.x`, `….y`, `….z` \[m\].
#[derive(Clone, Debug)]
pub struct TendonParams {
    /// The body it belongs to.
    pub body: usize,
    /// Name, unique among the tendons of the body.
    pub name: String,
    /// Where each tendon begins, and where its anchor is at rest, in the world \[m\].
    pub ends: Vec<(FleshPlace, Vec3)>,
    /// What the anchors belong to.
    pub target: AttachTarget,
    /// Force F₀ₜ of all of them together where the curve is 1 \[N\].
    pub force: f64,
    /// Force over strain.
    pub curve: Curve,
    /// Where it begins.
    pub slack: Slack,
}

impl TendonParams {
    fn tendons(&self, assembly: &mut dyn Assembly) -> Result<Vec<Tendon>, String> {
        if !(self.force > 0.0 && self.force.is_finite()) {
            return Err("its force must be positive".into());
        }
        if self.ends.is_empty() {
            return Err("it has no tendons".into());
        }
        let (begins, places): (Vec<FleshPlace>, Vec<Vec3>) = self.ends.iter().copied().unzip();
        let carried = carry(assembly, &begins)?;
        let anchors = anchor(assembly, self.target, &places)?;
        let tendons = carried.iter().zip(&anchors).enumerate().map(|(k, (from, to))| {
            let distance = (to.rest - from.rest).norm();
            let rest_length = match self.slack {
                Slack::Factor(factor) => factor * distance,
                Slack::Length(length) => length,
            };
            if !(distance > 0.0 && rest_length > 0.0 && rest_length.is_finite()) {
                return Err(format!("tendon {k} has no length"));
            }
            let place = if to.entries.is_empty() { to.rest } else { Vec3::zero() };
            let line = Line::between(&from.entries, &to.entries);
            Ok(Tendon { from: from.entries.clone(), line, place, rest_length })
        });
        tendons.collect()
    }
}

impl ForceParams for TendonParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let body = assembly.body_name(self.body).to_string();
        let name = format!("{body}.tendon.{}", self.name);
        let wrong = |reason| ForceError { body: body.clone(), key: "tendon", name: self.name.clone(), reason };
        if assembly.has_force(&name) {
            return Err(wrong("the body has other tendons of that name".into()));
        }
        let tendons = self.tendons(assembly).map_err(wrong)?;
        let to_world = self.target == AttachTarget::World;
        Ok(Box::new(TendonStrand {
            motion: to_world.then(|| assembly.channels().add_vector(&name, [0.0; 3])),
            name,
            body: self.body,
            curve: self.curve.clone(),
            force: self.force / tendons.len() as f64,
            tendons,
        }))
    }

    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let (places, anchors): (Vec<FleshPlace>, Vec<Vec3>) = self.ends.iter().copied().unzip();
        let is_anchored = match self.target {
            AttachTarget::Body(target) => map.places_left(target, &anchors),
            _ => vec![true; anchors.len()],
        };
        let new = places_left(&places, map).into_iter().zip(anchors).zip(is_anchored);
        let ends: Vec<_> =
            new.filter_map(|((place, anchor), is_anchored)| Some((place.filter(|_| is_anchored)?, anchor))).collect();
        let force = self.force * ends.len() as f64 / self.ends.len().max(1) as f64;
        Some(Renumbered {
            body: self.body,
            kind: "tendon",
            name: self.name.clone(),
            things: "strings",
            lost: self.ends.len() - ends.len(),
            count: self.ends.len(),
            needs_some: true,
            params: Arc::new(Self { ends, force, ..self.clone() }),
        })
    }

    fn rank(&self) -> u8 {
        5
    }
}

/// One tendon.
#[derive(Clone, Debug, PartialEq)]
pub struct Tendon {
    /// Its end in the flesh: points and their weights.
    pub from: Vec<(u32, f64)>,
    /// Line from flesh to the anchor; to the origin where the anchor is in the world.
    pub line: Line,
    /// Anchor in the world, before any motion \[m\]; zero where points carry it.
    pub place: Vec3,
    /// Slack length l_s \[m\].
    pub rest_length: f64,
}

/// A group of tendons that belong together.
pub struct TendonStrand {
    /// Name in reports and of its channels, `BODY.tendon.NAME`.
    pub name: String,
    /// The body it belongs to.
    pub body: usize,
    /// Force–strain curve, in F₀ₜ.
    pub curve: Curve,
    /// F₀ₜ of one tendon \[N\].
    pub force: f64,
    /// The tendons.
    pub tendons: Vec<Tendon>,
    /// Translation of anchors in the world \[m\].
    pub motion: Option<[ChannelId; 3]>,
}

impl TendonStrand {
    fn translation(&self, control: &Control) -> Vec3 {
        self.motion.map_or(Vec3::zero(), |channels| control.vector(channels))
    }

    /// Vector from flesh to anchor, and the strain.
    fn stretched(&self, tendon: &Tendon, x: &[Vec3], translation: Vec3) -> (Vec3, f64) {
        let d = tendon.line.vector(x) + tendon.place + translation;
        (d, (d.norm() - tendon.rest_length) / tendon.rest_length)
    }

    fn pull(&self, tendon: &Tendon, strain: f64) -> Pull {
        if strain <= 0.0 {
            return Pull::default();
        }
        let sample = self.curve.at(strain);
        Pull { tension: self.force * sample.value, stiffness: self.force * sample.slope / tendon.rest_length }
    }

    /// Calls `visit` with the end in the flesh of each taut tendon, and its force on the flesh \[N\].
    pub fn for_each_force(&self, x: &[Vec3], control: &Control, mut visit: impl FnMut(Vec3, Vec3)) {
        let translation = self.translation(control);
        for tendon in &self.tendons {
            let (d, strain) = self.stretched(tendon, x, translation);
            let tension = self.pull(tendon, strain).tension;
            if tension > 0.0 {
                let start = tendon.from.iter().fold(Vec3::zero(), |sum, &(point, w)| sum + x[point as usize] * w);
                visit(start, d * (tension / d.norm()));
            }
        }
    }

    /// Sum of the forces of the tendons on the flesh at `x` \[N\]. This is the force of the muscle where they all hold
    /// one end of it (CHE-53).
    pub fn total_force(&self, x: &[Vec3], control: &Control) -> Vec3 {
        let mut sum = Vec3::zero();
        self.for_each_force(x, control, |_, force| sum += force);
        sum
    }

    /// Mean strain of the tendons at `x`; negative where they are slack.
    pub fn mean_strain(&self, x: &[Vec3], control: &Control) -> f64 {
        let translation = self.translation(control);
        let strains = self.tendons.iter().map(|tendon| self.stretched(tendon, x, translation).1);
        strains.sum::<f64>() / self.tendons.len().max(1) as f64
    }
}

impl Force for TendonStrand {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let translation = self.translation(ctx.control);
        let energy = |tendon: &Tendon| match self.stretched(tendon, x, translation).1 {
            strain if strain > 0.0 => self.force * tendon.rest_length * self.curve.at(strain).integral,
            _ => 0.0,
        };
        Some(self.tendons.iter().map(energy).sum())
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        let translation = self.translation(ctx.control);
        for tendon in &self.tendons {
            let (d, strain) = self.stretched(tendon, x, translation);
            let tension = self.pull(tendon, strain).tension;
            if tension > 0.0 {
                tendon.line.add_gradient(d * (tension / d.norm()), gradient);
            }
        }
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        let translation = self.translation(ctx.control);
        for tendon in &self.tendons {
            let (d, strain) = self.stretched(tendon, x, translation);
            tendon.line.linearize(d, self.pull(tendon, strain), tangent, out);
        }
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        self.tendons.iter().for_each(|tendon| tendon.line.add_couplings(&mut pairs));
        pairs
    }

    fn hold(&self) -> Hold {
        let lines = self.tendons.iter().filter(|_| self.motion.is_some()).map(|tendon| &tendon.line);
        Hold::Points(lines.flat_map(|line| line.entries()).map(|&(point, _)| point).collect())
    }

    fn add_row_bounds(&self, x: &[Vec3], control: &Control, bounds: &mut RowBounds<'_>) {
        let translation = self.translation(control);
        for tendon in &self.tendons {
            // A slack tendon may become taut within the step, and a taut one stiffer: by the end of the curve it is as
            // stiff as it gets.
            let (_, strain) = self.stretched(tendon, x, translation);
            let k = self.pull(tendon, strain.max(self.curve.range()[1])).stiffness;
            tendon.line.add_row_bound(k, bounds.stiffness);
        }
    }

    /// Force on the flesh, its magnitude first \[N\], and the mean strain.
    fn probe_names(&self, _channels: &ChannelTable) -> Vec<String> {
        ["force", "force.x", "force.y", "force.z", "strain"].map(|what| format!("{}.{what}", self.name)).to_vec()
    }

    fn probe(&self, at: &ForceView<'_>, out: &mut Vec<f64>) {
        let x = &at.state.positions;
        let force = self.total_force(x, at.control);
        out.extend([force.norm(), force.x, force.y, force.z, self.mean_strain(x, at.control)]);
    }
}
