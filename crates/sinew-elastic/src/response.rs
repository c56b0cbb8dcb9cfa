//! Response of a material to given deformation gradients, without cells: for plots, for fits to measurements, and for
//! programs with elements of their own.

use sinew_cell::material::{FiberStretch, Law, MaterialPoint, MaterialSpec, StretchedFiber};
use sinew_math::complex_step::STEP;
use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::for_each_block_mut;
use sinew_math::{ComplexStep, LaneScalar, Mat3, Scalar, Vec3};
use sinew_muscle::CurveKind;
use thiserror::Error;

use crate::law::{Differentials, LawInPack, Stresses};
use crate::pack::CellPoints;
use crate::{FiberGroup, PACK};

/// Points per block of work: about a hundred microseconds.
const BLOCK: usize = 4096;

/// Numbers in a table of the parameters of all lanes.
const PARAMETERS: usize = MaterialPoint::<f64>::LEN * PACK;

/// A law with its parameters and fibers.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    spec: MaterialSpec,
    muscle: Option<(FiberGroup, f64)>,
}

/// Deformation gradients, with the fibers at each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Points<'a> {
    /// Deformation gradients F.
    pub deformations: &'a [Mat3],
    /// Unit vectors along the fibers at rest: none, one for all, or one for each.
    pub fibers: &'a [Vec3],
    /// Activations from 0 to 1: none, one for all, or one for each.
    pub activations: &'a [f64],
}

/// Why a response cannot be computed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ResponseError {
    /// A list has neither one entry nor as many as there are points.
    #[error("{count} {what} for {points} deformation gradients: give one for all, or one for each")]
    Count {
        /// The list.
        what: &'static str,
        /// Its length.
        count: usize,
        /// The number of points.
        points: usize,
    },
    /// The law has a direction, and nobody says which.
    #[error("{law} needs to know where its fibers run")]
    NoDirection {
        /// The law, or the muscle.
        law: &'static str,
    },
    /// Activation without fibers.
    #[error("this material has no muscle to activate")]
    NoMuscle,
    /// An activation below 0 or above 1.
    #[error("activation {index} is {value}, not a number from 0 to 1")]
    Activation {
        /// Its index.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The law does not take fibers.
    #[error("the law {law} takes no muscle fibers")]
    TakesNone {
        /// Name of the law.
        law: &'static str,
    },
    /// A direction has no length.
    #[error("fiber direction {index} is no unit vector: its length is {length}")]
    Direction {
        /// Its index.
        index: usize,
        /// Its length.
        length: f64,
    },
}

impl Response {
    /// A material without muscle.
    pub fn new(spec: MaterialSpec) -> Self {
        Self { spec, muscle: None }
    }

    /// The same with muscle fibers that pull with the stress `stress` at most \[Pa\].
    pub fn with_muscle(self, group: FiberGroup, stress: f64) -> Result<Self, ResponseError> {
        match self.spec.law().takes_fibers() {
            true => Ok(Self { muscle: Some((group, stress)), ..self }),
            false => Err(ResponseError::TakesNone { law: self.spec.law().name() }),
        }
    }

    /// The law and its parameters.
    pub fn spec(&self) -> &MaterialSpec {
        &self.spec
    }

    /// Energy per rest volume ψ \[J/m³\], that of the fibers included.
    ///
    /// # Panics
    /// When `out` has another length than `points`.
    pub fn energy(&self, points: &Points<'_>, out: &mut [f64]) -> Result<(), ResponseError> {
        let at = self.checked(points)?;
        assert_eq!(out.len(), points.deformations.len(), "one energy per point");
        for_each_block_mut(out, BLOCK, |start, out| dispatch(Block { at, start, answer: Answer::Energy(out) }));
        Ok(())
    }

    /// First Piola–Kirchhoff stress P = ∂ψ/∂F \[Pa\].
    ///
    /// # Panics
    /// When `out` has another length than `points`.
    pub fn stress(&self, points: &Points<'_>, out: &mut [Mat3]) -> Result<(), ResponseError> {
        let at = self.checked(points)?;
        assert_eq!(out.len(), points.deformations.len(), "one stress per point");
        for_each_block_mut(out, BLOCK, |start, out| dispatch(Block { at, start, answer: Answer::Stress(out) }));
        Ok(())
    }

    /// δP = (∂P/∂F) : δF \[Pa\] for one δF at each point.
    ///
    /// # Panics
    /// When `out` or `directions` has another length than `points`.
    pub fn stress_differential(
        &self,
        points: &Points<'_>,
        directions: &[Mat3],
        out: &mut [Mat3],
    ) -> Result<(), ResponseError> {
        let at = self.checked(points)?;
        assert_eq!(out.len(), points.deformations.len(), "one differential per point");
        for_each_block_mut((directions, out), BLOCK, |start, (dF, out)| {
            dispatch(Block { at, start, answer: Answer::Differential(dF, out) });
        });
        Ok(())
    }

    fn checked<'a>(&'a self, points: &Points<'a>) -> Result<Asked<'a>, ResponseError> {
        let count = points.deformations.len();
        for (what, length) in [("fiber directions", points.fibers.len()), ("activations", points.activations.len())] {
            if length > 1 && length != count {
                return Err(ResponseError::Count { what, count: length, points: count });
            }
        }
        let law = self.spec.law();
        if points.fibers.is_empty() && (self.muscle.is_some() || !law.is_isotropic()) {
            let law = if self.muscle.is_some() { "a muscle" } else { law.name() };
            return Err(ResponseError::NoDirection { law });
        }
        if self.muscle.is_none() && points.activations.iter().any(|activation| *activation != 0.0) {
            return Err(ResponseError::NoMuscle);
        }
        // Written so that NaN fails too.
        if let Some(index) = points.activations.iter().position(|activation| !(0.0..=1.0).contains(activation)) {
            return Err(ResponseError::Activation { index, value: points.activations[index] });
        }
        for (index, direction) in points.fibers.iter().enumerate() {
            let length = direction.norm();
            // Written so that NaN fails too.
            if !((length - 1.0).abs() < 1e-6) {
                return Err(ResponseError::Direction { index, length });
            }
        }
        Ok(Asked { points: *points, law, point: self.spec.point(), muscle: self.muscle.as_ref() })
    }
}

/// Points and the material.
#[derive(Clone, Copy)]
struct Asked<'a> {
    points: Points<'a>,
    law: Law,
    point: MaterialPoint<f64>,
    muscle: Option<&'a (FiberGroup, f64)>,
}

/// The requested quantity and its output.
enum Answer<'a> {
    Energy(&'a mut [f64]),
    Stress(&'a mut [Mat3]),
    Differential(&'a [Mat3], &'a mut [Mat3]),
}

/// A range of points.
struct Block<'a> {
    at: Asked<'a>,
    start: usize,
    answer: Answer<'a>,
}

impl LaneKernel for Block<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.body::<I, I::F64Register>();
    }
}

impl Block<'_> {
    #[inline(always)]
    fn body<I: Isa<F64Register = S>, S: LaneScalar<Element = f64>>(self) {
        let Self { at, start, answer } = self;
        let mut points = CellPoints::<S>::new(1);
        let mut parameters = at.parameters();
        match answer {
            Answer::Energy(out) => {
                for (k, out) in out.chunks_mut(S::LANES).enumerate() {
                    let pull = at.load(start + k * S::LANES, out.len(), &mut points.F[0], &mut parameters);
                    at.law.visit(Stresses::<I> { law: LawInPack::at_points(&parameters), points: &mut points });
                    let mut psi = points.psi[0];
                    if let Some(pull) = pull {
                        psi += pull.energy;
                    }
                    store(psi, out);
                }
            }
            Answer::Stress(out) => {
                for (k, out) in out.chunks_mut(S::LANES).enumerate() {
                    let pull = at.load(start + k * S::LANES, out.len(), &mut points.F[0], &mut parameters);
                    at.law.visit(Stresses::<I> { law: LawInPack::at_points(&parameters), points: &mut points });
                    let mut P = points.P[0];
                    if let Some(pull) = pull {
                        P += StretchedFiber::at(&points.F[0], pull.direction, pull.measure).stress(pull.tension);
                    }
                    store_matrices(&P, out);
                }
            }
            Answer::Differential(directions, out) => {
                for (k, (dF, out)) in directions.chunks(S::LANES).zip(out.chunks_mut(S::LANES)).enumerate() {
                    let pull = at.load(start + k * S::LANES, out.len(), &mut points.F[0], &mut parameters);
                    let (F, dF, mut dP) = (&points.F[0], load_matrices::<S>(dF), Mat3::zero());
                    at.law.visit(Differentials::<I> {
                        law: LawInPack::at_points(&parameters),
                        F,
                        dF: &dF,
                        out: &mut dP,
                    });
                    if let Some(pull) = pull {
                        dP += pull.stress_differential(F, &dF);
                    }
                    store_matrices(&dP, out);
                }
            }
        }
    }
}

/// Fibers at some points: energy, tension and stiffness over their stretch.
struct Pull<S> {
    direction: Vec3<S>,
    measure: FiberStretch,
    energy: S,
    tension: S,
    stiffness: S,
}

impl<S: Scalar> Pull<S> {
    /// δ(T ∂λ̄/∂F) by complex step: the tension moves with its stiffness.
    #[inline(always)]
    fn stress_differential(&self, F: &Mat3<S>, dF: &Mat3<S>) -> Mat3<S> {
        let mut moving = Mat3::<ComplexStep<S>>::zero();
        for i in 0..3 {
            for j in 0..3 {
                moving.rows[i][j] = ComplexStep::moving(F.rows[i][j], dF.rows[i][j]);
            }
        }
        let Vec3 { x, y, z } = self.direction;
        let rest = Vec3::new(ComplexStep::constant(x), ComplexStep::constant(y), ComplexStep::constant(z));
        let fiber = StretchedFiber::at(&moving, rest, self.measure);
        let P = fiber.stress(ComplexStep::new(self.tension, fiber.stretch().im * self.stiffness));
        let mut dP = Mat3::zero();
        for i in 0..3 {
            for j in 0..3 {
                dP.rows[i][j] = P.rows[i][j].im * S::splat(1.0 / STEP);
            }
        }
        dP
    }
}

impl Asked<'_> {
    /// The parameters of the law in all lanes.
    fn parameters(&self) -> [f64; PARAMETERS] {
        let values = self.point.into_array();
        std::array::from_fn(|k| values[k / PACK])
    }

    /// F, fiber directions and pull at `count` points from `first`; lanes beyond repeat the last one.
    #[inline(always)]
    fn load<S: LaneScalar<Element = f64>>(
        &self,
        first: usize,
        count: usize,
        F: &mut Mat3<S>,
        parameters: &mut [f64; PARAMETERS],
    ) -> Option<Pull<S>> {
        *F = load_matrices::<S>(&self.points.deformations[first..first + count]);
        let fibers = self.points.fibers;
        let lanes = &mut parameters[6 * PACK..];
        if !fibers.is_empty() {
            for lane in 0..S::LANES {
                let fiber = fibers[if fibers.len() == 1 { 0 } else { first + lane.min(count - 1) }];
                (lanes[lane], lanes[PACK + lane], lanes[2 * PACK + lane]) = (fiber.x, fiber.y, fiber.z);
            }
        }
        let (group, stress) = self.muscle?;
        let direction = Vec3::new(S::load(lanes), S::load(&lanes[PACK..]), S::load(&lanes[2 * PACK..]));
        let activations = self.points.activations;
        let mut lanes = [0.0; PACK];
        if !activations.is_empty() {
            for lane in 0..S::LANES {
                lanes[lane] = activations[if activations.len() == 1 { 0 } else { first + lane.min(count - 1) }];
            }
        }
        Some(pull(group, *stress, F, direction, S::load(&lanes)))
    }
}

/// Fibers at zero speed: force over length only.
#[inline(always)]
fn pull<S: LaneScalar<Element = f64>>(
    group: &FiberGroup,
    stress: f64,
    F: &Mat3<S>,
    direction: Vec3<S>,
    activation: S,
) -> Pull<S> {
    let inverse = S::splat(1.0 / group.optimal_stretch);
    let length = StretchedFiber::at(F, direction, group.measure).stretch() * inverse;
    let passive = group.curves.passive.in_lanes(CurveKind::Passive, length);
    let active = group.curves.active.in_lanes(CurveKind::Active, length);
    let stress = S::splat(stress);
    Pull {
        direction,
        measure: group.measure,
        energy: stress * (passive.integral + activation * active.integral),
        tension: stress * inverse * (passive.value + activation * active.value),
        stiffness: stress * inverse * inverse * (passive.slope + activation * active.slope),
    }
}

/// At most `LANES` matrices, one per lane; lanes beyond repeat the last one.
#[inline(always)]
fn load_matrices<S: LaneScalar<Element = f64>>(matrices: &[Mat3]) -> Mat3<S> {
    let mut lanes = [[0.0; PACK]; 9];
    for lane in 0..S::LANES {
        let rows = &matrices[lane.min(matrices.len() - 1)].rows;
        for k in 0..9 {
            lanes[k][lane] = rows[k / 3][k % 3];
        }
    }
    let mut out = Mat3::zero();
    for k in 0..9 {
        out.rows[k / 3][k % 3] = S::load(&lanes[k]);
    }
    out
}

#[inline(always)]
fn store_matrices<S: LaneScalar<Element = f64>>(value: &Mat3<S>, out: &mut [Mat3]) {
    let mut lanes = [[0.0; PACK]; 9];
    for k in 0..9 {
        value.rows[k / 3][k % 3].store(&mut lanes[k]);
    }
    for (lane, out) in out.iter_mut().enumerate() {
        for k in 0..9 {
            out.rows[k / 3][k % 3] = lanes[k][lane];
        }
    }
}

#[inline(always)]
fn store<S: LaneScalar<Element = f64>>(value: S, out: &mut [f64]) {
    let mut lanes = [0.0; PACK];
    value.store(&mut lanes);
    let count = out.len();
    out.copy_from_slice(&lanes[..count]);
}
