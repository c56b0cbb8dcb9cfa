//! Strands and tendons: converts positions to weighted sums of points.

use sinew_geometry::embedding::{Embedding, Outside};
use sinew_math::Vec3;

use super::super::{AttachTarget, FleshPlace, ModelError, Slack, StrandParams, TendonParams};
use super::{Assembler, entries_of};
use crate::force::strand::{Generator, Line, Strand, Tendon, TendonStrand};

/// A point of flesh: its rest position, and the points that carry it.
struct Carried {
    rest: Vec3,
    entries: Vec<(u32, f64)>,
}

impl Assembler {
    pub(super) fn strands(&mut self) -> Result<Vec<Strand>, ModelError> {
        let mut strands: Vec<Strand> = Vec::new();
        for params in std::mem::take(&mut self.parts.strands) {
            let body = self.parts.bodies[params.body].name.clone();
            let wrong = |reason: String| ModelError::Strand { body: body.clone(), strand: params.name.clone(), reason };
            let name = format!("{body}.strand.{}", params.name);
            let is_muscle = |muscle: &super::MuscleParams| muscle.body == params.body && muscle.name == params.name;
            if strands.iter().any(|other| other.name == name) || self.parts.muscles.iter().any(is_muscle) {
                return Err(wrong("the body already has a muscle of this name".into()));
            }
            check_strand(&params).map_err(wrong)?;
            let generators = self.generators(&params).map_err(wrong)?;
            let share = params.scaling.share(params.columns.len(), generators.len());
            strands.push(Strand {
                activation: self.channels.add(format!("{body}.activation.{}", params.name), 0.0),
                name,
                body: params.body,
                curves: params.curves,
                max_velocity: params.max_velocity,
                active_force: share * params.force,
                passive_force: share * params.passive_force,
                generators,
            });
        }
        Ok(strands)
    }

    fn generators(&self, params: &StrandParams) -> Result<Vec<Generator>, String> {
        let places: Vec<FleshPlace> = params.columns.iter().flatten().copied().collect();
        let carried = self.carry(&places)?;
        let mut generators = Vec::new();
        let mut first = 0;
        for (column, places) in params.columns.iter().enumerate() {
            for (k, pair) in carried[first..first + places.len()].windows(2).enumerate() {
                let rest_length = (pair[1].rest - pair[0].rest).norm();
                if !(rest_length > 0.0) {
                    return Err(format!("generator {k} of column {column} has no length"));
                }
                let line = Line::between(&pair[0].entries, &pair[1].entries);
                let factor = params.factors.get(generators.len()).copied().unwrap_or(1.0);
                generators.push(Generator { line, rest_length, factor });
            }
            first += places.len();
        }
        match params.factors.len() {
            0 => Ok(generators),
            count if count == generators.len() => Ok(generators),
            count => Err(format!("{count} factors for {} generators", generators.len())),
        }
    }

    pub(super) fn tendons(&mut self) -> Result<Vec<TendonStrand>, ModelError> {
        let mut groups: Vec<TendonStrand> = Vec::new();
        for params in std::mem::take(&mut self.parts.tendons) {
            let body = self.parts.bodies[params.body].name.clone();
            let wrong = |reason: String| ModelError::Tendon { body: body.clone(), tendon: params.name.clone(), reason };
            let name = format!("{body}.tendon.{}", params.name);
            if groups.iter().any(|other| other.name == name) {
                return Err(wrong("the body already has tendons of this name".into()));
            }
            if !(params.force > 0.0 && params.force.is_finite()) {
                return Err(wrong("its force must be positive".into()));
            }
            if params.ends.is_empty() {
                return Err(wrong("it has no tendons".into()));
            }
            let places: Vec<FleshPlace> = params.ends.iter().map(|end| end.0).collect();
            let carried = self.carry(&places).map_err(wrong)?;
            let anchors = self.anchors(&params).map_err(wrong)?;
            let tendons = carried.iter().zip(&anchors).enumerate().map(|(k, (from, to))| {
                let distance = (to.rest - from.rest).norm();
                let rest_length = match params.slack {
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
            let tendons = tendons.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            let motion = (params.target == AttachTarget::World).then(|| self.channels.add_vector(&name, [0.0; 3]));
            groups.push(TendonStrand {
                name,
                body: params.body,
                curve: params.curve,
                force: params.force / tendons.len() as f64,
                tendons,
                motion,
            });
        }
        Ok(groups)
    }

    /// The anchors of a group; anchors in the world have no points.
    fn anchors(&mut self, params: &TendonParams) -> Result<Vec<Carried>, String> {
        let places: Vec<Vec3> = params.ends.iter().map(|end| end.1).collect();
        match params.target {
            AttachTarget::World => Ok(places.into_iter().map(|rest| Carried { rest, entries: Vec::new() }).collect()),
            AttachTarget::Rigid(rigid) => {
                let pose = self.parts.rigid[rigid].pose;
                let anchor =
                    |rest| Carried { rest, entries: vec![(self.add_rigid_anchor(rigid, pose.to_local(rest)), 1.0)] };
                Ok(places.into_iter().map(anchor).collect())
            }
            AttachTarget::Body(other) => self.embed_places(other, &places, Outside::Extrapolate),
        }
    }

    /// The points that carry positions in flesh.
    fn carry(&self, places: &[FleshPlace]) -> Result<Vec<Carried>, String> {
        let mut carried: Vec<Option<Carried>> = Vec::new();
        for place in places {
            carried.push(match *place {
                FleshPlace::Node { body, node } => {
                    let rest = self.parts.bodies[body].mesh.positions().get(node as usize);
                    let rest = *rest.ok_or_else(|| format!("there is no node {node}"))?;
                    Some(Carried { rest, entries: vec![(self.point(body, node), 1.0)] })
                }
                FleshPlace::Place { .. } => None,
            });
        }
        // All positions in a body at once, because finding cells needs a tree over them.
        for other in 0..self.parts.bodies.len() {
            let in_body = |place: &FleshPlace| match *place {
                FleshPlace::Place { body, place } if body == other => Some(place),
                _ => None,
            };
            let inside: Vec<Vec3> = places.iter().filter_map(in_body).collect();
            if inside.is_empty() {
                continue;
            }
            let mut found = self.embed_places(other, &inside, Outside::Reject)?.into_iter();
            for (slot, _) in carried.iter_mut().zip(places).filter(|(_, place)| in_body(place).is_some()) {
                *slot = found.next();
            }
        }
        Ok(carried.into_iter().flatten().collect())
    }

    fn embed_places(&self, body: usize, places: &[Vec3], outside: Outside) -> Result<Vec<Carried>, String> {
        let mesh = &self.parts.bodies[body].mesh;
        let embedding = Embedding::bind_with(mesh, places, outside).map_err(|error| error.to_string())?;
        let carried = |k: usize| {
            let entries = entries_of(&embedding, k);
            let rest = entries.iter().fold(Vec3::zero(), |sum, &(n, w)| sum + mesh.positions()[n as usize] * w);
            Carried { rest, entries: entries.into_iter().map(|(n, w)| (self.point(body, n), w)).collect() }
        };
        Ok((0..places.len()).map(carried).collect())
    }
}

/// Checks the parameters of a strand.
fn check_strand(params: &StrandParams) -> Result<(), String> {
    if params.columns.is_empty() || params.columns.iter().any(|column| column.len() < 2) {
        return Err("a column needs at least two places".into());
    }
    if !(params.force > 0.0 && params.force.is_finite()) {
        return Err("its force must be positive".into());
    }
    if !(params.passive_force >= 0.0 && params.passive_force.is_finite()) {
        return Err("its passive force must not be negative".into());
    }
    if !(params.max_velocity > 0.0 && params.max_velocity.is_finite()) {
        return Err("its maximum shortening speed must be positive".into());
    }
    if params.factors.iter().any(|factor| !(*factor >= 0.0 && factor.is_finite())) {
        return Err("factors of generators must not be negative".into());
    }
    Ok(())
}
