//! Muscle fibers in the cells of a block, and their tension in one step.
//!
//! For a given activation and step, the tension of fibers along a is a function of their stretch alone:
//!
//! ```math
//! T(\bar\lambda) = \frac{\sigma}{\lambda_o} \bigl[ \alpha\, f_a(l)\, f_v(v) + f_p(l) \bigr], \qquad
//!    l = \bar\lambda / \lambda_o, \qquad
//!    v = \frac{l - l^n}{\Delta t\, v_m}
//! ```
//!
//! with the stretch λₒ of maximum tension, and the speed v of the step relative to the maximum shortening speed
//! (SIF-019, CHE-12). If force depends on speed ([`ElasticBlock::needs_motion`]), its integral over the step has no
//! closed form, and quadrature is expensive and too inaccurate for a line search. The active part then has no energy
//! here, and line searches use the work of the forces.

#![allow(non_snake_case)]

use sinew_cell::material::{FiberStretch, MaterialPoint, PullBlocks, StretchedFiber, Tangent};
use sinew_math::lanes::{Isa, LaneKernel, call};
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};
use sinew_muscle::{CurveKind, FiberCurves};

use crate::pack::{CellPoints, MAX_POINTS};
use crate::{ElasticBlock, PACK};

/// Maximum number of groups of fibers in a block.
pub const MAX_GROUPS: usize = 256;

/// Properties that all fibers of one muscle share.
#[derive(Clone, Debug, PartialEq)]
pub struct FiberGroup {
    /// Curves of tension over length, and optionally over speed.
    pub curves: FiberCurves,
    /// Stretch λₒ at which the fibers have their optimal length.
    pub optimal_stretch: f64,
    /// Greatest shortening speed v_m \[optimal lengths per second\].
    pub max_velocity: f64,
    /// The stretch on which the tension depends.
    pub measure: FiberStretch,
}

impl Default for FiberGroup {
    /// The default curves, maximum tension at rest, ten lengths per second, isochoric.
    fn default() -> Self {
        Self {
            curves: FiberCurves::default(),
            optimal_stretch: 1.0,
            max_velocity: 10.0,
            measure: FiberStretch::default(),
        }
    }
}

/// Fibers of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellFiber {
    /// Unit vector along them at rest.
    pub direction: Vec3,
    /// Peak isometric stress σ \[Pa\]; zero where there are none.
    pub stress: f64,
    /// Their group.
    pub group: u8,
}

impl CellFiber {
    /// No fibers.
    pub const NONE: Self = Self { direction: Vec3::new(1.0, 0.0, 0.0), stress: 0.0, group: 0 };
}

/// Activation and motion of the fibers in one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actuation<'a> {
    /// Activation of each group, divided by the stiffness factor of the body; missing ones are zero.
    pub activations: &'a [f64],
    /// Where all points were at the start of the step, and one over its length \[1/s\]; fibers at rest without.
    pub motion: Option<(&'a [Vec3], f64)>,
}

impl Actuation<'_> {
    /// Relaxed and at rest: only the passive energy of the fibers remains.
    pub const PASSIVE: Self = Self { activations: &[], motion: None };
}

/// Fibers of the cells of a block, packed in the same way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fibers {
    groups: Vec<FiberGroup>,
    /// Direction and stress: `[pack][x, y, z, σ][lane]`.
    values: Vec<f64>,
    /// Group: `[pack][lane]`.
    members: Vec<u8>,
    /// Whether all fibers of a pack belong to one group, as in most packs.
    is_uniform: Vec<bool>,
}

/// Energy, tension and stiffness of the fibers at one point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pull<S> {
    pub fiber: StretchedFiber<S>,
    /// What they store, W of the passive part \[J/m³\].
    pub stored: S,
    /// W with the active part, up to a constant of the step \[J/m³\]; without it where it depends on speed.
    pub energy: S,
    /// T = W′ \[Pa\].
    pub tension: S,
    /// T′ \[Pa\].
    pub stiffness: S,
}

/// Tension of a fiber, its derivative and its energies over σ/λₒ, σ/λₒ² and σ.
#[derive(Clone, Copy)]
struct Tension<S> {
    stored: S,
    energy: S,
    value: S,
    slope: S,
}

impl<S: Scalar> Pull<S> {
    /// Zero.
    #[inline(always)]
    fn zero() -> Self {
        let zero = S::zero();
        let fiber = StretchedFiber::at(&Mat3::zero(), Vec3::zero(), FiberStretch::Full);
        Self { fiber, stored: zero, energy: zero, tension: zero, stiffness: zero }
    }
}

impl<S: Scalar> Tension<S> {
    #[inline(always)]
    fn zero() -> Self {
        Self { stored: S::zero(), energy: S::zero(), value: S::zero(), slope: S::zero() }
    }

    #[inline(always)]
    fn select(mask: S::Mask, if_true: Self, if_false: Self) -> Self {
        Self {
            stored: S::select(mask, if_true.stored, if_false.stored),
            energy: S::select(mask, if_true.energy, if_false.energy),
            value: S::select(mask, if_true.value, if_false.value),
            slope: S::select(mask, if_true.slope, if_false.slope),
        }
    }
}

impl FiberGroup {
    /// At length l (in optimal lengths) and this activation; `from` is the length at the start of the step and one over
    /// the length of the step \[1/s\].
    #[inline(always)]
    fn tension<S: LaneScalar<Element = f64>>(&self, l: S, activation: f64, from: Option<(S, f64)>) -> Tension<S> {
        let passive = self.curves.passive.in_lanes(CurveKind::Passive, l);
        let out =
            Tension { stored: passive.integral, energy: passive.integral, value: passive.value, slope: passive.slope };
        if activation == 0.0 {
            return out;
        }
        let active = self.curves.active.in_lanes(CurveKind::Active, l);
        let activation = S::splat(activation);
        let (Some(velocity), Some((start, rate))) = (&self.curves.velocity, from) else {
            return Tension {
                energy: out.energy + activation * active.integral,
                value: out.value + activation * active.value,
                slope: out.slope + activation * active.slope,
                ..out
            };
        };
        let rate = S::splat(rate / self.max_velocity);
        let speed = velocity.in_lanes(CurveKind::Velocity, (l - start) * rate);
        Tension {
            value: out.value + activation * active.value * speed.value,
            slope: out.slope + activation * (active.slope * speed.value + active.value * speed.slope * rate),
            ..out
        }
    }

    fn needs_motion(&self) -> bool {
        self.curves.velocity.is_some()
    }
}

impl Fibers {
    /// One entry per slot of a pack; `order` lists the cell of each slot.
    pub fn new(groups: Vec<FiberGroup>, cells: &[CellFiber], order: impl Iterator<Item = usize>) -> Self {
        assert!(groups.len() <= MAX_GROUPS, "more groups of fibers than a block may have");
        let mut out = Self { groups, ..Self::default() };
        for (slot, cell) in order.enumerate() {
            let (pack, lane) = (slot / PACK, slot % PACK);
            if lane == 0 {
                out.values.resize((pack + 1) * 4 * PACK, 0.0);
            }
            let CellFiber { direction, stress, group } = cells[cell];
            for (row, value) in [direction.x, direction.y, direction.z, stress].into_iter().enumerate() {
                out.values[(pack * 4 + row) * PACK + lane] = value;
            }
            out.members.push(group);
        }
        out.is_uniform =
            out.members.chunks(PACK).map(|members| members.iter().all(|member| *member == members[0])).collect();
        out
    }

    /// Whether force depends on velocity in some group.
    pub fn need_motion(&self) -> bool {
        self.groups.iter().any(FiberGroup::needs_motion)
    }

    pub fn groups(&self) -> &[FiberGroup] {
        &self.groups
    }

    /// The fibers of one cell.
    pub fn cell(&self, slot: usize) -> CellFiber {
        let first = slot / PACK * 4 * PACK + slot % PACK;
        let at = |row: usize| self.values[first + row * PACK];
        CellFiber { direction: Vec3::new(at(0), at(1), at(2)), stress: at(3), group: self.members[slot] }
    }

    /// The pull at one point of the cells `first …` of a pack under F; `previous` is F at the start of the step, if
    /// needed.
    ///
    /// All fibers of a block depend on the same kind of stretch.
    #[inline(always)]
    fn pull<S: LaneScalar<Element = f64>>(
        &self,
        (pack, first): (usize, usize),
        F: &Mat3<S>,
        previous: Option<&Mat3<S>>,
        actuation: &Actuation<'_>,
    ) -> Pull<S> {
        let values = &self.values[pack * 4 * PACK..(pack + 1) * 4 * PACK];
        let rest = Vec3::new(
            S::load(&values[first..]),
            S::load(&values[PACK + first..]),
            S::load(&values[2 * PACK + first..]),
        );
        let measure = self.groups[0].measure;
        let fiber = StretchedFiber::at(F, rest, measure);
        let stretch = fiber.stretch();
        let from = match (previous, actuation.motion) {
            (Some(previous), Some((_, rate))) => Some((StretchedFiber::at(previous, rest, measure).stretch(), rate)),
            _ => None,
        };
        let stress = S::load(&values[3 * PACK + first..]);
        let members = &self.members[pack * PACK + first..][..S::LANES];
        let mut tension = Tension::zero();
        for (lane, &member) in members.iter().enumerate() {
            if lane > 0 && members[..lane].contains(&member) {
                continue;
            }
            let group = &self.groups[usize::from(member)];
            let activation = actuation.activations.get(usize::from(member)).copied().unwrap_or(0.0);
            let inverse = S::splat(1.0 / group.optimal_stretch);
            // Not a closure, which would be compiled without the instruction set.
            let from = if let Some((start, rate)) = from { Some((start * inverse, rate)) } else { None };
            let own = group.tension(stretch * inverse, activation, from);
            let own = Tension { value: own.value * inverse, slope: own.slope * inverse * inverse, ..own };
            if self.is_uniform[pack] {
                tension = own;
                break;
            }
            tension = Tension::select(lanes_of::<S>(members, member), own, tension);
        }
        Pull {
            fiber,
            stored: stress * tension.stored,
            energy: stress * tension.energy,
            tension: stress * tension.value,
            stiffness: stress * tension.slope,
        }
    }
}

/// The lanes whose fibers belong to this group.
#[inline(always)]
fn lanes_of<S: LaneScalar<Element = f64>>(members: &[u8], member: u8) -> S::Mask {
    let mut own = [0.0; PACK];
    for (own, &other) in own.iter_mut().zip(members) {
        *own = f64::from(u8::from(other == member));
    }
    S::load(&own).gt(S::zero())
}

impl<S: Scalar> Pull<S> {
    /// First Piola–Kirchhoff stress.
    #[inline(always)]
    pub fn stress(&self) -> Mat3<S> {
        self.fiber.stress(self.tension)
    }
}

impl<S: LaneScalar<Element = f64>> Pull<S> {
    /// Writes the blocks of the fibers in flesh with the parameters `point`, and returns the pressure that they add to
    /// it.
    #[inline(always)]
    pub fn blocks<I: Isa>(
        &self,
        point: &MaterialPoint<S>,
        tangent: Tangent,
        gradients: &[Vec3<S>],
        weight: S,
        out: &mut PullBlocks<S>,
    ) -> S {
        let mut pressure = S::zero();
        call::<I, Self, _>(WriteBlocks {
            pull: self,
            point,
            tangent,
            gradients,
            weight: &weight,
            out,
            pressure: &mut pressure,
        });
        pressure
    }
}

struct WriteBlocks<'a, S> {
    pull: &'a Pull<S>,
    point: &'a MaterialPoint<S>,
    tangent: Tangent,
    gradients: &'a [Vec3<S>],
    weight: &'a S,
    out: &'a mut PullBlocks<S>,
    pressure: &'a mut S,
}

impl<S: LaneScalar<Element = f64>> LaneKernel for WriteBlocks<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run<Same: Isa>(self) {
        let Self { pull: Pull { fiber, tension, stiffness, .. }, point, tangent, gradients, weight, out, pressure } =
            self;
        match tangent {
            Tangent::Definite => {
                // The definite form excludes this pressure, so the flesh must not add it either.
                *pressure = fiber.pressure(tension.max(S::zero()));
                fiber.definite_beside(*tension, *stiffness, point, gradients, *weight, out);
            }
            Tangent::Exact => {
                *pressure = fiber.pressure(*tension);
                fiber.beside(*tension, *stiffness, gradients, *weight, out);
            }
        }
    }
}

/// The fibers of some lanes of a pack, if any, with memory for their pulls at all points.
pub(crate) struct PulledCells<S> {
    pulls: [Pull<S>; MAX_POINTS],
    /// F at the start of the step, if force depends on velocity.
    previous: [Mat3<S>; MAX_POINTS],
}

impl<S: LaneScalar<Element = f64>> PulledCells<S> {
    #[inline(always)]
    pub fn new() -> Self {
        Self { pulls: [Pull::zero(); MAX_POINTS], previous: [Mat3::zero(); MAX_POINTS] }
    }

    /// The pulls at all points of the cells `first …` of a pack; `None` if the block has no fibers.
    #[inline(always)]
    pub fn evaluate<I: Isa>(
        &mut self,
        block: &ElasticBlock,
        place: (usize, usize),
        points: &CellPoints<S>,
        actuation: &Actuation<'_>,
    ) -> Option<&[Pull<S>]> {
        let fibers = block.fibers.as_ref()?;
        call::<I, Self, _>(EvaluatePulls { cells: self, fibers, block, place, points, actuation });
        Some(&self.pulls[..points.count])
    }
}

struct EvaluatePulls<'a, S> {
    cells: &'a mut PulledCells<S>,
    fibers: &'a Fibers,
    block: &'a ElasticBlock,
    place: (usize, usize),
    points: &'a CellPoints<S>,
    actuation: &'a Actuation<'a>,
}

impl<S: LaneScalar<Element = f64>> LaneKernel for EvaluatePulls<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run<Same: Isa>(self) {
        let Self { cells: PulledCells { pulls, previous }, fibers, block, place, points, actuation } = self;
        let mut moved = false;
        if let Some((x, _)) = actuation.motion
            && fibers.need_motion()
        {
            block.deformations(place, x, previous);
            moved = true;
        }
        for k in 0..points.count {
            pulls[k] = fibers.pull(place, &points.F[k], if moved { Some(&previous[k]) } else { None }, actuation);
        }
    }
}

/// State of the fibers of one group, averaged over their rest volume.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FiberSummary {
    /// Rest volume of the cells \[m³\].
    pub rest_volume: f64,
    /// Stretch |F a|.
    pub stretch: f64,
    /// Smallest stretch.
    pub shortest: f64,
    /// Largest stretch.
    pub longest: f64,
    /// Tension per rest area \[Pa\].
    pub tension: f64,
    /// Active part of it \[Pa\].
    pub active: f64,
    /// Mean of the unit directions F a/|F a| of the fibers.
    pub direction: Vec3,
}

impl FiberSummary {
    /// State of both together.
    pub fn join(self, other: Self) -> Self {
        let volume = self.rest_volume + other.rest_volume;
        if other.rest_volume == 0.0 || self.rest_volume == 0.0 {
            return if other.rest_volume == 0.0 { self } else { other };
        }
        let (a, b) = (self.rest_volume / volume, other.rest_volume / volume);
        Self {
            rest_volume: volume,
            stretch: a * self.stretch + b * other.stretch,
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
            tension: a * self.tension + b * other.tension,
            active: a * self.active + b * other.active,
            direction: self.direction * a + other.direction * b,
        }
    }
}

impl ElasticBlock {
    /// Work that active fibers do between two places of all points \[J\]: −∫ T dλ̄ over the rest volume, by the mean of
    /// the active tensions at both ends, each with the activation it has there and the speed of the step. `rate` is one
    /// over its length \[1/s\].
    pub fn active_work(&self, from: &[Vec3], to: &[Vec3], before: &[f64], after: &[f64], rate: f64) -> f64 {
        let Some(fibers) = &self.fibers else { return 0.0 };
        let at = |list: &[f64], group: usize| list.get(group).copied().unwrap_or(0.0);
        sinew_math::parallel::sum(self.cell_count(), |cell| {
            let CellFiber { direction, stress, group } = fibers.cell(cell);
            let index = usize::from(group);
            let (before, after) = (at(before, index), at(after, index));
            if stress == 0.0 || (before == 0.0 && after == 0.0) {
                return 0.0;
            }
            let group = &fibers.groups[index];
            let stretch = |F: &Mat3| StretchedFiber::at(F, direction, group.measure).stretch() / group.optimal_stretch;
            let mut starts = [0.0; 8];
            self.evaluate_deformation(cell, from, |k, _, F| starts[k] = stretch(&F));
            let mut work = 0.0;
            self.evaluate_deformation(cell, to, |k, weight, F| {
                let (start, end) = (starts[k], stretch(&F));
                let speed = group
                    .curves
                    .velocity
                    .as_ref()
                    .map_or(1.0, |curve| curve.value((end - start) * rate / group.max_velocity));
                let force = before * group.curves.active.value(start) + after * group.curves.active.value(end);
                work -= weight * stress * 0.5 * force * speed * (end - start);
            });
            work
        })
    }

    /// State of the fibers of a group at `x`.
    pub fn fiber_summary(&self, index: usize, x: &[Vec3], actuation: &Actuation<'_>) -> FiberSummary {
        let Some(fibers) = &self.fibers else { return FiberSummary::default() };
        let Some(group) = fibers.groups.get(index) else { return FiberSummary::default() };
        let activation = actuation.activations.get(index).copied().unwrap_or(0.0);
        let of_cells = |cells: std::ops::Range<usize>| {
            let mut total = FiberSummary::default();
            for cell in cells {
                let CellFiber { direction, stress, group: member } = fibers.cell(cell);
                if stress == 0.0 || usize::from(member) != index {
                    continue;
                }
                let mut starts = [0.0; 8];
                let mut from = None;
                if let (true, Some((previous, rate))) = (group.needs_motion(), actuation.motion) {
                    self.evaluate_deformation(cell, previous, |k, _, F| {
                        starts[k] = StretchedFiber::at(&F, direction, group.measure).stretch() / group.optimal_stretch;
                    });
                    from = Some(rate);
                }
                self.evaluate_deformation(cell, x, |k, weight, F| {
                    let l = StretchedFiber::at(&F, direction, group.measure).stretch() / group.optimal_stretch;
                    let tension = group.tension(l, activation, from.map(|rate| (starts[k], rate))).value;
                    let passive = group.curves.passive.value(l);
                    let moved = F * direction;
                    let stretch = moved.norm();
                    let scale = stress / group.optimal_stretch;
                    total = total.join(FiberSummary {
                        rest_volume: weight,
                        stretch,
                        shortest: stretch,
                        longest: stretch,
                        tension: scale * tension,
                        active: scale * (tension - passive),
                        direction: moved / stretch.max(1e-300),
                    });
                });
            }
            total
        };
        sinew_math::parallel::reduce_blocks(self.cell_count(), 512, of_cells, FiberSummary::join).unwrap_or_default()
    }
}
