//! Laws in lanes. Each law is compiled once per instruction set, as functions of the F of a pack that all kinds of
//! cells call. The numbers of laws and of kinds of cells then add instead of multiplying.

use sinew_cell::material::{
    BlockSink, CellVolume, ElementBlocks, MAX_NODES, Material, MaterialPoint, MaterialVisitor, PullBlocks, Shape,
    ShapeRoom, Tangent, VolumeForm, pair,
};
use sinew_math::lanes::{Isa, LaneKernel, call};
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::PACK;
use crate::fibers::Pull;
use crate::pack::{CellPoints, load_gradients};

/// The widest lanes of one register.
pub(crate) type Lanes<I> = <I as Isa>::F64Register;

/// Parameters of the law in some lanes of a pack, and where its volume term is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct LawInPack<'a> {
    pub volume: VolumeForm,
    /// `[parameter][lane]`.
    pub parameters: &'a [f64],
    /// First lane.
    pub first: usize,
}

impl<'a> LawInPack<'a> {
    /// Points that belong to no cell.
    #[inline(always)]
    pub fn at_points(parameters: &'a [f64]) -> Self {
        Self { volume: VolumeForm::Pointwise, parameters, first: 0 }
    }

    /// The parameters of the law M; the table has no others.
    #[inline(always)]
    fn point<M: Material, S: LaneScalar<Element = f64>>(&self) -> MaterialPoint<S> {
        let mut values = [S::zero(); MaterialPoint::<f64>::LEN];
        for (k, value) in values.iter_mut().enumerate().take(M::PARAMETERS) {
            *value = S::load(&self.parameters[k * PACK + self.first..][..S::LANES]);
        }
        MaterialPoint::from_array(values)
    }

    /// The volume term of a cell. With a single point, the mean is the point itself.
    #[inline(always)]
    fn cell_volume<M: Material, S: LaneScalar<Element = f64>>(&self, law: &M, F: &[Mat3<S>], w: &[S]) -> CellVolume<S> {
        let point = self.point::<M, S>();
        if self.is_mean(F.len()) { CellVolume::mean(law, &point, F, w) } else { CellVolume::pointwise(&point) }
    }

    #[inline(always)]
    fn is_mean(&self, points: usize) -> bool {
        points > 1 && self.volume == VolumeForm::Mean
    }
}

/// Energies and stresses at the points of some cells.
pub(crate) struct Stresses<'a, I: Isa> {
    pub law: LawInPack<'a>,
    pub points: &'a mut CellPoints<Lanes<I>>,
}

impl<I: Isa> MaterialVisitor for Stresses<'_, I> {
    type Output = ();
    #[inline(always)]
    fn visit<M: Material>(self, law: M) {
        call::<I, M, _>(InLanes { law, task: self });
    }
}

/// Element matrices of some cells.
pub(crate) struct ElementMatrices<'a, I: Isa> {
    pub law: LawInPack<'a>,
    pub tangent: Tangent,
    /// `[point][node][axis][lane]`.
    pub gradients: &'a [f64],
    pub nodes: usize,
    pub points: &'a CellPoints<Lanes<I>>,
    /// Pulls of fibers at all points, or none.
    pub pulls: Option<&'a [Pull<Lanes<I>>]>,
    pub room: &'a mut MatrixRoom<Lanes<I>>,
}

/// Memory in which an element matrix is assembled.
pub(crate) struct MatrixRoom<S> {
    pub element: ElementBlocks<S>,
    shape: ShapeRoom<S>,
    pull: PullBlocks<S>,
    gradients: [Vec3<S>; MAX_NODES],
}

impl<S: Scalar> MatrixRoom<S> {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            element: ElementBlocks::zero(),
            shape: ShapeRoom::new(),
            pull: PullBlocks::zero(),
            gradients: [Vec3::zero(); MAX_NODES],
        }
    }
}

impl<I: Isa> MaterialVisitor for ElementMatrices<'_, I> {
    type Output = ();
    #[inline(always)]
    fn visit<M: Material>(self, law: M) {
        call::<I, M, _>(InLanes { law, task: self });
    }
}

/// δP at one point for one δF, with all parameters given.
pub(crate) struct Differentials<'a, I: Isa> {
    pub law: LawInPack<'a>,
    pub F: &'a Mat3<Lanes<I>>,
    pub dF: &'a Mat3<Lanes<I>>,
    pub out: &'a mut Mat3<Lanes<I>>,
}

impl<I: Isa> MaterialVisitor for Differentials<'_, I> {
    type Output = ();
    #[inline(always)]
    fn visit<M: Material>(self, law: M) {
        call::<I, M, _>(InLanes { law, task: self });
    }
}

struct InLanes<M, T> {
    law: M,
    task: T,
}

impl<M: Material, I: Isa> LaneKernel for InLanes<M, Stresses<'_, I>> {
    type Output = ();
    #[inline(always)]
    fn run<Same: Isa>(self) {
        let Stresses { law, points } = self.task;
        let count = points.count;
        let volume = law.cell_volume(&self.law, &points.F[..count], &points.w[..count]);
        points.volume_energy = volume.energy;
        for k in 0..count {
            let F = points.F[k];
            let (psi, mut P) = self.law.energy_and_stress(&F, &volume.point);
            if law.is_mean(count) {
                P += volume.stress::<M>(&F);
            }
            (points.psi[k], points.P[k]) = (psi, P);
        }
    }
}

impl<M: Material, I: Isa> LaneKernel for InLanes<M, ElementMatrices<'_, I>> {
    type Output = ();
    #[inline(always)]
    fn run<Same: Isa>(self) {
        let ElementMatrices { law, tangent, gradients, nodes, points, pulls, room } = self.task;
        let MatrixRoom { element, shape, pull: pull_blocks, gradients: g } = room;
        let (F, w) = (&points.F[..points.count], &points.w[..points.count]);
        let volume = law.cell_volume(&self.law, F, w);
        let width = nodes * 3 * PACK;
        element.blocks[..pair(nodes, 0)].fill(Mat3::zero());
        let mut slopes = [Vec3::zero(); MAX_NODES];
        for k in 0..F.len() {
            let g = &mut g[..nodes];
            load_gradients(&gradients[k * width..(k + 1) * width], law.first, g);
            if law.is_mean(F.len()) {
                volume.add_slopes::<M>(&F[k], w[k], g, &mut slopes);
            }
            let mut pressure = if F.len() > 1 { volume.point_pressure::<M>() } else { None };
            let pull = if const { M::TAKES_FIBERS } { pulls } else { None };
            if let Some(pulls) = pull {
                let fibers = pulls[k].blocks::<I>(&volume.point, tangent, g, w[k], pull_blocks);
                pressure = Some(volume.pressure + fibers);
            }
            let mut sum = WithPull { pull: if pull.is_some() { Some(&*pull_blocks) } else { None }, sink: element };
            let mut shape = Shape::new(g, w[k], shape);
            self.law.tangent_blocks(&F[k], &volume.point, (tangent, pressure), &mut shape, &mut sum);
        }
        if law.is_mean(F.len()) {
            volume.add_coupling(&slopes[..nodes], tangent, element);
        }
    }
}

impl<M: Material, I: Isa> LaneKernel for InLanes<M, Differentials<'_, I>> {
    type Output = ();
    #[inline(always)]
    fn run<Same: Isa>(self) {
        let Differentials { law, F, dF, out } = self.task;
        *out = self.law.stress_differential(F, dF, &law.point::<M, _>());
    }
}

/// Adds blocks of flesh, and of its fibers if any.
struct WithPull<'a, S> {
    pull: Option<&'a PullBlocks<S>>,
    sink: &'a mut ElementBlocks<S>,
}

impl<S: Scalar> BlockSink<S> for WithPull<'_, S> {
    #[inline(always)]
    fn add(&mut self, a: usize, b: usize, mut block: Mat3<S>) {
        if let Some(pull) = self.pull {
            block = pull.add_to(a, b, block);
        }
        self.sink.add(a, b, block);
    }
}
