//! A muscle made of force generators between points of its flesh.
//!
//! ```math
//! F = F_{0p} f_p(\tilde l) + F_{0a}\, a\, f_a(\tilde l)\, f_v(\tilde v), \qquad \tilde l = \frac{|d|}{l_0}, \qquad
//!    \tilde v = \frac{\tilde l - \tilde l^n}{\Delta t\, v_m}
//! ```
//!
//! along the line d of each generator (CHE-49), with the velocity as the secant over the step (CHE-50). The force is
//! that at the end of the step. Where it does not depend on speed, it has the potential
//!
//! ```math
//! E = l_0 \Bigl[ F_{0p} \int_1^{\tilde l} f_p + F_{0a}\, a \int_0^{\tilde l} f_a \Bigr]
//! ```

use std::sync::Arc;

use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};

use super::super::places::{carry, places_left};
use super::super::{
    ActiveForce, Assembly, Dependence, FleshPlace, Force, ForceError, ForceParams, ForceView, Hold, Linearized,
    NodeMap, Renumbered, RowBounds, StepContext,
};
use super::line::{Line, Pull};
use crate::control::{ChannelId, ChannelTable, Control};
use crate::material::Tangent;

/// How the generators share the force of a whole muscle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrandScaling {
    /// By columns, which pull in parallel: generators in series carry the same force, so the muscle pulls with F₀.
    #[default]
    Physical,
    /// By all generators, and halved, as \[Chen92\] writes it: four columns of eight pull with F₀/16. The curves in the
    /// paper are scaled, so they do not show this factor. Its shapes do, through the ratio of this force to the
    /// stiffness of the flesh.
    Author,
}

impl StrandScaling {
    /// Share of one generator in the force of the muscle.
    pub fn share(self, columns: usize, generators: usize) -> f64 {
        match self {
            StrandScaling::Physical => 1.0 / columns.max(1) as f64,
            StrandScaling::Author => 0.5 / generators.max(1) as f64,
        }
    }
}

/// A muscle of force generators, active by the channel `BODY.activation.NAME` from 0 to 1.
#[derive(Clone, Debug)]
pub struct StrandParams {
    /// The body whose name its channel and probes bear.
    pub body: usize,
    /// Name, unique among the muscles and strands of the body.
    pub name: String,
    /// Places of each column from end to end; consecutive ones are joined by a generator.
    pub columns: Vec<Vec<FleshPlace>>,
    /// Greatest isometric force F₀ₐ of the whole muscle \[N\].
    pub force: f64,
    /// Passive force F₀ₚ of the whole muscle where its curve is 1 \[N\].
    pub passive_force: f64,
    /// How these are shared by the generators.
    pub scaling: StrandScaling,
    /// Factor on the forces of each generator, column after column; empty for one everywhere.
    pub factors: Vec<f64>,
    /// Force over length, and over velocity where there is a curve for it.
    pub curves: FiberCurves,
    /// Greatest shortening speed \[rest lengths per second\].
    pub max_velocity: f64,
}

impl StrandParams {
    /// Refuses numbers that no muscle has.
    fn check(&self) -> Result<(), String> {
        if self.columns.is_empty() || self.columns.iter().any(|column| column.len() < 2) {
            return Err("a column needs at least two places".into());
        }
        if !(self.force > 0.0 && self.force.is_finite()) {
            return Err("its force must be positive".into());
        }
        if !(self.passive_force >= 0.0 && self.passive_force.is_finite()) {
            return Err("its passive force must not be negative".into());
        }
        if !(self.max_velocity > 0.0 && self.max_velocity.is_finite()) {
            return Err("its greatest speed must be positive".into());
        }
        if self.factors.iter().any(|factor| !(*factor >= 0.0 && factor.is_finite())) {
            return Err("factors of generators must not be negative".into());
        }
        Ok(())
    }

    fn generators(&self, assembly: &dyn Assembly) -> Result<Vec<Generator>, String> {
        let places: Vec<FleshPlace> = self.columns.iter().flatten().copied().collect();
        let carried = carry(assembly, &places)?;
        let mut generators = Vec::new();
        let mut first = 0;
        for (column, places) in self.columns.iter().enumerate() {
            for (k, pair) in carried[first..first + places.len()].windows(2).enumerate() {
                let rest_length = (pair[1].rest - pair[0].rest).norm();
                if !(rest_length > 0.0) {
                    return Err(format!("generator {k} of column {column} has no length"));
                }
                let line = Line::between(&pair[0].entries, &pair[1].entries);
                let factor = self.factors.get(generators.len()).copied().unwrap_or(1.0);
                generators.push(Generator { line, rest_length, factor });
            }
            first += places.len();
        }
        match self.factors.len() {
            0 => Ok(generators),
            count if count == generators.len() => Ok(generators),
            count => Err(format!("{count} factors for {} generators", generators.len())),
        }
    }

    fn share(&self) -> f64 {
        self.scaling.share(self.columns.len(), self.columns.iter().map(|column| column.len().max(1) - 1).sum())
    }
}

impl ForceParams for StrandParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let body = assembly.body_name(self.body).to_string();
        let name = format!("{body}.strand.{}", self.name);
        let wrong = |reason| ForceError { body: body.clone(), key: "strand", name: self.name.clone(), reason };
        if assembly.has_force(&name) || assembly.has_muscle(self.body, &self.name) {
            return Err(wrong("the body has another muscle of that name".into()));
        }
        self.check().map_err(wrong)?;
        let generators = self.generators(assembly).map_err(wrong)?;
        let share = self.share();
        Ok(Box::new(Strand {
            activation: assembly.channels().add(format!("{body}.activation.{}", self.name), 0.0),
            name,
            body: self.body,
            curves: self.curves.clone(),
            max_velocity: self.max_velocity,
            active_force: share * self.force,
            passive_force: share * self.passive_force,
            generators,
        }))
    }

    /// A generator without one of its ends is gone; the others pull as before.
    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let places: Vec<FleshPlace> = self.columns.iter().flatten().copied().collect();
        let numbers = places_left(&places, map);
        let (mut columns, mut factors) = (Vec::new(), self.factors.iter());
        let (mut kept, mut count, mut first) = (Vec::new(), 0, 0);
        for column in &self.columns {
            let new = &numbers[first..first + column.len()];
            first += column.len();
            count += column.len().max(1) - 1;
            let pieces = new.split(Option::is_none).filter(|piece| piece.len() > 1);
            columns.extend(pieces.map(|piece| piece.iter().copied().flatten().collect::<Vec<_>>()));
            let pairs = new.windows(2).zip(factors.by_ref());
            kept.extend(pairs.filter(|(pair, _)| pair.iter().all(Option::is_some)).map(|(_, &factor)| factor));
        }
        let mut left = Self { columns, factors: kept, ..self.clone() };
        let remaining: usize = left.columns.iter().map(|column| column.len() - 1).sum();
        if remaining > 0 {
            let ratio = self.share() / left.share();
            (left.force, left.passive_force) = (ratio * left.force, ratio * left.passive_force);
        }
        Some(Renumbered {
            body: self.body,
            kind: "strand",
            name: self.name.clone(),
            things: "generators",
            lost: count - remaining,
            count,
            needs_some: true,
            params: Arc::new(left),
        })
    }

    fn rank(&self) -> u8 {
        4
    }
}

/// One force generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// From one end to the other.
    pub line: Line,
    /// Optimal length l₀, at which its active force is maximal \[m\].
    pub rest_length: f64,
    /// Factor on its forces: muscle may be stronger in some regions (CHE-56).
    pub factor: f64,
}

/// A muscle made of force generators.
pub struct Strand {
    /// Name in reports, `BODY.strand.NAME`.
    pub name: String,
    /// The body whose name it uses.
    pub body: usize,
    /// Channel of its activation, from 0 to 1: `BODY.activation.NAME`.
    pub activation: ChannelId,
    /// Force–length curve, and force–velocity curve where there is one.
    pub curves: FiberCurves,
    /// Maximum shortening speed v_m \[rest lengths per second\].
    pub max_velocity: f64,
    /// F₀ₐ of a generator \[N\].
    pub active_force: f64,
    /// F₀ₚ of a generator \[N\].
    pub passive_force: f64,
    /// The generators, column by column.
    pub generators: Vec<Generator>,
}

/// Summary of the generators of a strand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StrandSummary {
    /// Mean stretch l̃.
    pub stretch: f64,
    /// Smallest stretch.
    pub shortest: f64,
    /// Largest stretch.
    pub longest: f64,
    /// Mean tension \[N\].
    pub tension: f64,
}

/// Inputs of the generators of a strand in a step.
#[derive(Clone, Copy)]
pub(crate) struct StrandDrive<'a> {
    pub activation: f64,
    /// Positions at the start of the step, and one over its length \[1/s\]; `None` for generators at rest.
    pub motion: Option<(&'a [Vec3], f64)>,
}

impl Strand {
    fn drive<'a>(&self, ctx: &StepContext<'a>) -> StrandDrive<'a> {
        let motion = self.needs_motion().then(|| (ctx.previous.positions.as_slice(), 1.0 / ctx.dt));
        StrandDrive { activation: self.activation(ctx.control), motion }
    }

    /// Stretch at the start of the step, and speed per change of stretch in maximum shortening speeds, where the speed
    /// matters.
    fn start(&self, generator: &Generator, drive: &StrandDrive<'_>) -> Option<(f64, f64)> {
        let (x, rate) = drive.motion.filter(|_| self.needs_motion())?;
        Some((generator.line.vector(x).norm() / generator.rest_length, rate / self.max_velocity))
    }

    /// f_v at stretch l and its derivative by l.
    fn speed_factor(&self, l: f64, start: Option<(f64, f64)>) -> (f64, f64) {
        match (&self.curves.velocity, start) {
            (Some(curve), Some((from, rate))) => {
                let sample = curve.at((l - from) * rate);
                (sample.value, sample.slope * rate)
            }
            _ => (1.0, 0.0),
        }
    }

    fn pull(&self, generator: &Generator, length: f64, drive: &StrandDrive<'_>) -> Pull {
        let l = length / generator.rest_length;
        let passive = self.curves.passive.at(l);
        let (mut value, mut slope) = (self.passive_force * passive.value, self.passive_force * passive.slope);
        if drive.activation > 0.0 {
            let active = self.curves.active.at(l);
            let (speed, by_length) = self.speed_factor(l, self.start(generator, drive));
            let force = self.active_force * drive.activation;
            value += force * active.value * speed;
            slope += force * (active.slope * speed + active.value * by_length);
        }
        Pull { tension: generator.factor * value, stiffness: generator.factor * slope / generator.rest_length }
    }

    /// Energy stored in the passive part of a generator \[J\].
    fn stored_in(&self, generator: &Generator, x: &[Vec3]) -> f64 {
        let l = generator.line.vector(x).norm() / generator.rest_length;
        generator.factor * generator.rest_length * self.passive_force * self.curves.passive.at(l).integral
    }

    /// Energy that the active part of a generator can still release \[J\], where its force does not depend on speed.
    fn active_potential(&self, generator: &Generator, x: &[Vec3], activation: f64) -> f64 {
        let l = generator.line.vector(x).norm() / generator.rest_length;
        generator.factor * generator.rest_length * self.active_force * activation * self.curves.active.at(l).integral
    }

    /// What the generators do at `x`.
    pub(crate) fn summarize(&self, x: &[Vec3], drive: &StrandDrive<'_>) -> StrandSummary {
        let mut out = StrandSummary { shortest: f64::INFINITY, ..StrandSummary::default() };
        let share = 1.0 / self.generators.len().max(1) as f64;
        for generator in &self.generators {
            let length = generator.line.vector(x).norm();
            let stretch = length / generator.rest_length;
            out.stretch += share * stretch;
            out.shortest = out.shortest.min(stretch);
            out.longest = out.longest.max(stretch);
            out.tension += share * self.pull(generator, length, drive).tension;
        }
        out
    }
}

/// Steepest slope of a curve, from samples over its relevant range.
fn steepest_slope(curve: &Curve) -> f64 {
    const SAMPLES: usize = 32;
    let [low, high] = curve.range();
    let slope = |k: usize| curve.at(low + (high - low) * k as f64 / SAMPLES as f64).slope;
    (0..=SAMPLES).map(slope).fold(0.0, f64::max)
}

impl Force for Strand {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let activation = self.activation(ctx.control);
        // Where force depends on speed, its integral over a step has no closed form, and a kink where the curve reaches
        // zero. A quadrature would differ from the force by more than a line search tolerates.
        if self.needs_motion() && activation > 0.0 {
            return None;
        }
        let energy = |generator| self.stored_in(generator, x) + self.active_potential(generator, x, activation);
        Some(self.generators.iter().map(energy).sum())
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        let drive = self.drive(ctx);
        for generator in &self.generators {
            let d = generator.line.vector(x);
            let length = d.norm();
            let tension = self.pull(generator, length, &drive).tension;
            // Curves are zero long before a generator has no length, and so no direction.
            if tension != 0.0 && length > 0.0 {
                generator.line.add_gradient(d * (tension / length), gradient);
            }
        }
    }

    fn add_channel_derivative(
        &self,
        x: &[Vec3],
        ctx: &StepContext<'_>,
        channel: ChannelId,
        out: &mut [Vec3],
    ) -> Dependence {
        // Outside of 0 to 1 activation has no effect.
        if channel != self.activation || !(0.0..=1.0).contains(&ctx.control.get(channel)) {
            return Dependence::None;
        }
        let motion = self.drive(ctx).motion;
        for generator in &self.generators {
            let d = generator.line.vector(x);
            let length = d.norm();
            let [full, none] =
                [1.0, 0.0].map(|activation| self.pull(generator, length, &StrandDrive { activation, motion }).tension);
            if length > 0.0 {
                generator.line.add_gradient(d * ((full - none) / length), out);
            }
        }
        Dependence::Exact
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        let drive = self.drive(ctx);
        for generator in &self.generators {
            let d = generator.line.vector(x);
            generator.line.linearize(d, self.pull(generator, d.norm(), &drive), tangent, out);
        }
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        self.generators.iter().for_each(|generator| generator.line.add_couplings(&mut pairs));
        pairs
    }

    /// What active generators could still do is not stored.
    fn stored(&self, x: &[Vec3], _ctx: &StepContext<'_>) -> f64 {
        self.generators.iter().map(|generator| self.stored_in(generator, x)).sum()
    }

    fn load_channels(&self) -> &[ChannelId] {
        std::slice::from_ref(&self.activation)
    }

    fn hold(&self) -> Hold {
        Hold::Nothing
    }

    fn add_row_bounds(&self, x: &[Vec3], control: &Control, bounds: &mut RowBounds<'_>) {
        let drive = StrandDrive { activation: self.activation(control), motion: None };
        let steepest = self.curves.velocity.as_ref().map_or(0.0, steepest_slope);
        for generator in &self.generators {
            let length = generator.line.vector(x).norm();
            let pull = self.pull(generator, length, &drive);
            // The eigenvalues of the block: one along the line, two across it.
            let k = pull.stiffness.max(pull.tension / length.max(f64::MIN_POSITIVE)).max(0.0);
            generator.line.add_row_bound(k, bounds.stiffness);
            let force = generator.factor * self.active_force * drive.activation;
            generator
                .line
                .add_row_bound(force * steepest / (self.max_velocity * generator.rest_length), bounds.viscosity);
        }
    }

    fn active(&self) -> Option<&dyn ActiveForce> {
        Some(self)
    }

    /// Activation, stretch of the generators, and their mean tension \[N\].
    fn probe_names(&self, channels: &ChannelTable) -> Vec<String> {
        let mut names = vec![channels.names()[self.activation.0 as usize].clone()];
        names.extend(["stretch", "stretch.min", "stretch.max", "force"].map(|what| format!("{}.{what}", self.name)));
        names
    }

    fn probe(&self, at: &ForceView<'_>, out: &mut Vec<f64>) {
        let activation = self.activation(at.control);
        let drive = StrandDrive { activation, motion: at.state.history.last_motion() };
        let s = self.summarize(&at.state.positions, &drive);
        out.extend([activation, s.stretch, s.shortest, s.longest, s.tension]);
    }
}

impl ActiveForce for Strand {
    fn channel(&self) -> ChannelId {
        self.activation
    }

    fn needs_motion(&self) -> bool {
        self.curves.velocity.is_some()
    }

    /// Tension times shortening, by the mean of the active tensions at both ends, each with its activation and the
    /// speed of the step.
    fn work(&self, from: &[Vec3], to: &[Vec3], activations: [f64; 2], rate: f64) -> f64 {
        if activations == [0.0; 2] {
            return 0.0;
        }
        let work = self.generators.iter().map(|generator| {
            let [start, end] = [from, to].map(|x| generator.line.vector(x).norm() / generator.rest_length);
            let (speed, _) = self.speed_factor(end, Some((start, rate / self.max_velocity)));
            let active = |l: f64, activation: f64| activation * self.curves.active.value(l);
            let force = 0.5 * (active(start, activations[0]) + active(end, activations[1])) * speed;
            -generator.factor * self.active_force * generator.rest_length * force * (end - start)
        });
        work.sum()
    }
}
