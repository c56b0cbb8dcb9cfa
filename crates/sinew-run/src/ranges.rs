//! Warnings where a result leaves the range of its model: the numbers are computed all the same, and mean little.
//!
//! Everything is read off the frames as recorded, so a run that was resumed warns like one that was not.

use std::collections::BTreeMap;

use sinew_fem::Frame;
use sinew_fem::force::Strand;
use sinew_fem::material::Law;
use sinew_fem::model::Model;
use sinew_geometry::CellMesh;
use sinew_muscle::FiberCurves;
use sinew_scene::format_number;

/// Fibers may be this much faster than their maximum velocity: differences of frames are not exact.
pub(crate) const FASTEST: f64 = 1.05;
/// Largest displacement gradient of a law that is linear in it: a tenth, where rotations show as strain.
const LINEAR: f64 = 0.1;
/// Compression below which the St. Venant–Kirchhoff law loses its strength: 1/√3.
const SOFTENING: f64 = 0.577;

/// The range of a model that a frame may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Range {
    Velocity,
    Stretch,
    Activation,
    SmallStrain,
    Inverted,
    Unconverged,
}

/// The worst that was seen of one thing.
#[derive(Clone, Copy)]
struct Worst {
    value: f64,
    limits: [f64; 2],
    time: f64,
    frames: usize,
}

/// A group of fibers or generators, and where its values stand in a frame.
struct Fibers {
    name: String,
    activation: Option<usize>,
    /// Mean, smallest and largest stretch.
    stretches: Vec<usize>,
    /// Largest shortening speed in stretches per second, where speed matters.
    max_rate: Option<f64>,
    /// Stretches over which the curves were measured.
    range: [f64; 2],
    last: Vec<f64>,
}

/// A body of a law that holds for small strains.
struct SmallStrain {
    body: usize,
    law: Law,
    edges: Vec<[u32; 2]>,
}

/// Watches the frames of a run.
pub(crate) struct RangeWatch {
    fibers: Vec<Fibers>,
    bodies: Vec<SmallStrain>,
    inverted: Option<usize>,
    unconverged: Option<usize>,
    time: Option<f64>,
    seen: BTreeMap<(Range, String), Worst>,
}

impl RangeWatch {
    pub fn new(model: &Model, names: &[String]) -> Self {
        let place = |name: &str| names.iter().position(|known| known == name);
        let places = |names: &[String]| names.iter().filter_map(|name| place(name)).collect::<Vec<_>>();
        let mut fibers = Vec::new();
        for (index, body) in model.bodies.iter().enumerate() {
            let blocks = &model.elastic[body.elastic.clone()];
            let groups = blocks.iter().map(|block| block.fiber_groups()).find(|groups| !groups.is_empty());
            for (muscle, group) in model.muscles_of(index).iter().zip(groups.unwrap_or_default()) {
                let of = |what: &str| format!("{}.{what}.{}", body.name, muscle.name);
                let optimal = group.optimal_stretch;
                fibers.push(Fibers {
                    name: format!("{}.{}", body.name, muscle.name),
                    activation: place(&of("activation")),
                    stretches: places(&["fiber_stretch", "fiber_stretch.min", "fiber_stretch.max"].map(of)),
                    max_rate: group.curves.velocity.as_ref().map(|_| group.max_velocity * optimal),
                    range: curve_range(&group.curves).map(|length| length * optimal),
                    last: Vec::new(),
                });
            }
        }
        for strand in model.forces_of::<Strand>() {
            let of = |what: &str| format!("{}.{what}", strand.name);
            fibers.push(Fibers {
                name: strand.name.clone(),
                activation: place(&model.channels.names()[strand.activation.0 as usize]),
                stretches: places(&["stretch", "stretch.min", "stretch.max"].map(of)),
                max_rate: strand.curves.velocity.as_ref().map(|_| strand.max_velocity),
                range: curve_range(&strand.curves),
                last: Vec::new(),
            });
        }
        let small = model.bodies.iter().enumerate().filter_map(|(body, data)| {
            let law = data.materials.first()?.law();
            let is_small = matches!(law, Law::Linear | Law::StVenantKirchhoff | Law::InvertibleStVenantKirchhoff);
            is_small.then(|| SmallStrain { body, law, edges: edges(&data.mesh) })
        });
        Self {
            fibers,
            bodies: small.collect(),
            inverted: place("inverted_cells"),
            unconverged: place("unconverged_steps"),
            time: None,
            seen: BTreeMap::new(),
        }
    }

    /// Looks at a frame.
    pub fn look(&mut self, model: &Model, frame: &Frame<'_>) {
        let values = frame.probe_values;
        let passed = self.time.map(|last| frame.time - last).filter(|dt| *dt > 0.0);
        self.time = Some(frame.time);
        let mut found = Vec::new();
        for fibers in &mut self.fibers {
            let now: Vec<f64> = fibers.stretches.iter().filter_map(|&k| values.get(k).copied()).collect();
            if let (Some(rate), Some(dt)) = (fibers.max_rate, passed) {
                // Mean and extremes of a set change by no more than its fastest member does.
                let moved = now.iter().zip(&fibers.last).map(|(now, last)| (now - last).abs()).fold(0.0, f64::max);
                found.push((Range::Velocity, fibers.name.clone(), moved / dt / rate, up_to(FASTEST)));
            }
            for &stretch in &now {
                found.push((Range::Stretch, fibers.name.clone(), stretch, fibers.range));
            }
            if let Some(activation) = fibers.activation.and_then(|k| values.get(k)) {
                found.push((Range::Activation, fibers.name.clone(), *activation, [0.0, 1.0]));
            }
            fibers.last = now;
        }
        for small in &self.bodies {
            let (body, positions) = (&model.bodies[small.body], frame.bodies.get(small.body).map(|b| b.positions));
            let Some(positions) = positions.filter(|now| now.len() == body.mesh.node_count()) else { continue };
            let (strain, limit) = small.strain(&body.mesh, positions);
            found.push((Range::SmallStrain, body.name.clone(), strain, up_to(limit)));
        }
        for (range, index) in [(Range::Inverted, self.inverted), (Range::Unconverged, self.unconverged)] {
            if let Some(count) = index.and_then(|k| values.get(k)) {
                found.push((range, String::new(), *count, up_to(0.5)));
            }
        }
        for (range, name, value, limits) in found {
            self.note(range, name, value, limits, frame.time);
        }
    }

    /// Keeps the worst value outside of its limits.
    fn note(&mut self, range: Range, name: String, value: f64, limits: [f64; 2], time: f64) {
        let excess = |value: f64| (limits[0] - value).max(value - limits[1]);
        if excess(value) > 0.0 {
            let worst = self.seen.entry((range, name)).or_insert(Worst { value, limits, time, frames: 0 });
            worst.frames += 1;
            if excess(value) > excess(worst.value) {
                (worst.value, worst.time) = (value, time);
            }
        }
    }

    /// One sentence for each range that was left.
    pub fn warnings(&self, model: &Model) -> Vec<String> {
        let tell = |((range, name), worst): (&(Range, String), &Worst)| {
            let number = |value: f64| format_number(format!("{value:.2e}").parse().unwrap_or(value));
            let Worst { value, limits: [low, high], time, frames } = *worst;
            let count: String = if frames == 1 { "one frame".into() } else { format!("{frames} frames") };
            let when = format!("(worst at {} s; in {count})", number(time));
            match range {
                Range::Velocity => format!(
                    "fibers of {name} move at {} × `max_velocity` {when}: force–velocity curves say nothing of such speeds",
                    number(value)
                ),
                Range::Stretch => format!(
                    "fibers of {name} are at a stretch of {} {when}: their curves cover {} to {}",
                    number(value),
                    number(low),
                    number(high)
                ),
                Range::Activation => {
                    format!("the activation of {name} is {} {when}: it acts as if cut to 0 to 1", number(value))
                }
                Range::SmallStrain => {
                    let law = model.bodies.iter().find(|body| body.name == *name).map(|body| body.materials[0].law());
                    format!(
                        "{name} is strained by {} {when}: the law `{}` is meant for strains below {}",
                        number(value),
                        law.map_or("", |law| law.name()),
                        number(high)
                    )
                }
                Range::Inverted => format!("up to {value} cells are inverted {when}"),
                Range::Unconverged => {
                    format!(
                        "{frames} frames have steps that ended before they converged, the first at {} s",
                        number(time)
                    )
                }
            }
        };
        self.seen.iter().map(tell).collect()
    }
}

/// Limits without a lower one.
fn up_to(limit: f64) -> [f64; 2] {
    [f64::NEG_INFINITY, limit]
}

impl SmallStrain {
    /// The largest strain of an edge, by the measure in which the law is linear, and its limit.
    fn strain(&self, mesh: &CellMesh, now: &[sinew_math::Vec3]) -> (f64, f64) {
        let rest = mesh.positions();
        let strains = self.edges.iter().map(|&[a, b]| {
            let (from, to) = (rest[b as usize] - rest[a as usize], now[b as usize] - now[a as usize]);
            let length = from.norm();
            match self.law {
                Law::Linear => (to - from).norm() / length,
                _ => 1.0 - to.norm() / length,
            }
        });
        let limit = match self.law {
            Law::Linear => LINEAR,
            _ => 1.0 - SOFTENING,
        };
        (strains.fold(0.0, f64::max), limit)
    }
}

/// Edges of cells: each corner with the next ones.
fn edges(mesh: &CellMesh) -> Vec<[u32; 2]> {
    let mut edges = Vec::new();
    for (_, nodes) in mesh.cells() {
        for (k, &a) in nodes.iter().enumerate() {
            edges.extend(nodes[k + 1..].iter().map(|&b| [a.min(b), a.max(b)]));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Lengths that the curves of fibers cover: those of the active curve, and of the passive one beyond it.
pub(crate) fn curve_range(curves: &FiberCurves) -> [f64; 2] {
    let (active, passive) = (curves.active.range(), curves.passive.range());
    [active[0].min(passive[0]), active[1].max(passive[1])]
}
