//! Elasticity of many cells of one kind and one law: energy, gradient and tangent, eight cells at a time.
//!
//! $$E = \sum_c \sum_q w_{cq}\, \psi(F_{cq}), \qquad F = \sum_a x_a \otimes \nabla N_a, \qquad
//!   \frac{\partial E}{\partial x_a} = \sum_q w\, P\, \nabla N_a, \qquad
//!   K_{ab} = \sum_q w\, \nabla N_a \cdot \frac{\partial P}{\partial F} \cdot \nabla N_b$$
//!
//! With [`VolumeForm::Mean`] the volume term of the law takes the mean volume ratio of the cell; see `material/volume.rs`.
//!
//! Cells are packed by eight in structure-of-arrays blocks, one cell per f64 lane; the last pack repeats its last cell with weight
//! zero. Results are scattered through plans whose order does not depend on the number of threads.

#![allow(non_snake_case)]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use sinew_geometry::CellKind;
use sinew_math::lanes::{Isa, IsaLevel, LaneKernel, dispatch};
use sinew_math::parallel::{ChunkWriter, ScatterPlan, reduce_blocks, sum};
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::element::{RestGeometry, deformation_gradient};
use crate::material::{
    CellVolume, ElementBlocks, Law, Material, MaterialPoint, MaterialSpec, MaterialVisitor, Tangent, VolumeForm,
};

/// Cells per pack: the f64 lanes of every instruction-set level.
pub const PACK: usize = 8;

/// Cells of one kind and one law of one body.
pub struct ElasticBlock {
    /// Body the cells belong to.
    pub body: usize,
    /// Whether cells have nodes that are not unknowns of their own: their tangent takes the general path.
    pub has_bound_nodes: bool,
    /// Where the volume term of the law is evaluated; the same for cells with one quadrature point.
    pub volume: VolumeForm,
    kind: CellKind,
    law: Law,
    /// Cell of the body behind each cell of the block.
    cells: Vec<u32>,
    /// Points, pack by pack: `[pack][node][lane]`.
    points: Vec<u32>,
    /// Shape gradients [1/m]: `[pack][quadrature point][node][axis][lane]`.
    gradients: Vec<f64>,
    /// Quadrature weights times rest volume [m³]: `[pack][quadrature point][lane]`.
    weights: Vec<f64>,
    /// Material parameters: `[pack][parameter][lane]`.
    parameters: Vec<f64>,
    /// Where the packs add nodal gradients.
    nodal: ScatterPlan,
}

impl ElasticBlock {
    /// Packs the cells behind `geometry`: `cells` are their numbers in the body, `points` lists their points one cell after another,
    /// `specs` gives the material of each (all of one law), `point_count` counts the points of the whole model.
    pub fn new<const N: usize>(
        body: usize,
        cells: Vec<u32>,
        geometry: &RestGeometry<N>,
        points: &[u32],
        specs: &[MaterialSpec],
        point_count: usize,
    ) -> Self {
        let kind = match N {
            4 => CellKind::Tet4,
            10 => CellKind::Tet10,
            _ => CellKind::Hex8,
        };
        let q = geometry.points_per_cell();
        let pack_count = cells.len().div_ceil(PACK);
        let mut packed_points = vec![0; pack_count * N * PACK];
        let mut gradients = vec![0.0; pack_count * q * N * 3 * PACK];
        let mut weights = vec![0.0; pack_count * q * PACK];
        let mut parameters = vec![0.0; pack_count * MaterialPoint::<f64>::LEN * PACK];
        for slot in 0..pack_count * PACK {
            let (pack, lane) = (slot / PACK, slot % PACK);
            let cell = slot.min(cells.len() - 1);
            for a in 0..N {
                packed_points[(pack * N + a) * PACK + lane] = points[cell * N + a];
            }
            for (k, value) in specs[cell].point().into_array().into_iter().enumerate() {
                parameters[(pack * MaterialPoint::<f64>::LEN + k) * PACK + lane] = value;
            }
            for k in 0..q {
                let is_padding = slot >= cells.len();
                weights[(pack * q + k) * PACK + lane] = if is_padding { 0.0 } else { geometry.weights[cell * q + k] };
                for (a, gradient) in geometry.gradients[cell * q + k].iter().enumerate() {
                    for axis in 0..3 {
                        gradients[(((pack * q + k) * N + a) * 3 + axis) * PACK + lane] = gradient[axis];
                    }
                }
            }
        }
        let nodal = ScatterPlan::new(point_count, packed_points.chunks_exact(N * PACK))
            .expect("points of cells are points of the model");
        Self {
            body,
            has_bound_nodes: false,
            volume: VolumeForm::Pointwise,
            kind,
            law: specs[0].law(),
            cells,
            points: packed_points,
            gradients,
            weights,
            parameters,
            nodal,
        }
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// Number of packs.
    pub fn pack_count(&self) -> usize {
        self.cells.len().div_ceil(PACK)
    }

    /// Kind of the cells.
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// Cell of the body behind each cell of the block.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// Number of quadrature points of a cell.
    pub fn points_per_cell(&self) -> usize {
        match self.kind {
            CellKind::Tet4 => 1,
            CellKind::Tet10 => 4,
            CellKind::Hex8 => 8,
        }
    }

    /// Point of node `a` of a cell.
    #[inline]
    pub fn point(&self, cell: usize, a: usize) -> u32 {
        let n = self.kind.nodes_per_cell();
        self.points[(cell / PACK * n + a) * PACK + cell % PACK]
    }

    /// Rest volume of a cell [m³].
    pub fn rest_volume(&self, cell: usize) -> f64 {
        (0..self.points_per_cell()).map(|k| self.weight_of(cell, k)).sum()
    }

    /// Weight, deformation gradient and first Piola–Kirchhoff stress at the quadrature points of a cell, by the scalar path.
    pub fn evaluate_cell(&self, cell: usize, x: &[Vec3], visit: impl FnMut(f64, Mat3, Mat3)) {
        self.law.visit(PointsOf { block: self, cell, x, visit });
    }

    /// Deformation gradients and weights at the points of one cell, by the scalar path.
    fn cell_points<const N: usize, const Q: usize>(&self, cell: usize, x: &[Vec3]) -> ([Mat3; Q], [f64; Q]) {
        let x: [Vec3; N] = std::array::from_fn(|a| x[self.point(cell, a) as usize]);
        let gradients = |k: usize| std::array::from_fn(|a| self.gradient_of(cell, k, a));
        (
            std::array::from_fn(|k| deformation_gradient(&x, &gradients(k))),
            std::array::from_fn(|k| self.weight_of(cell, k)),
        )
    }

    /// Strain energy [J]; +∞ when a law with a barrier meets a cell of non-positive volume.
    pub fn energy(&self, x: &[Vec3]) -> f64 {
        self.law.visit(EnergyOf { block: self, x })
    }

    /// gradient += ∂E/∂x; returns the strain energy [J]. `pack_energies` is scratch with one entry per pack.
    pub fn add_gradient(&self, x: &[Vec3], gradient: &mut [Vec3], pack_energies: &[AtomicU64]) -> f64 {
        self.law.visit(GradientOf { block: self, x, gradient, pack_energies });
        sum(self.pack_count(), |pack| f64::from_bits(pack_energies[pack].load(Ordering::Relaxed)))
    }

    /// Adds the element matrices to `values` through `plan`, whose elements are the packs with their slots in the order
    /// `[a][b][lane]` over all pairs of local nodes.
    pub fn add_tangent(&self, x: &[Vec3], tangent: Tangent, plan: &ScatterPlan, values: &mut [Mat3]) {
        self.law.visit(TangentOf { block: self, x, tangent, plan, values });
    }

    /// Calls `visit(a, b, K_ab)` for all pairs of local nodes of one cell: the slow path, for cells with bound nodes and for tests.
    pub fn cell_tangent(&self, cell: usize, x: &[Vec3], tangent: Tangent, visit: impl FnMut(usize, usize, Mat3)) {
        self.law.visit(CellTangentOf { block: self, cell, x, tangent, visit });
    }

    /// Parameters of the law in one cell.
    fn parameters_of(&self, cell: usize) -> MaterialPoint<f64> {
        let first = cell / PACK * MaterialPoint::<f64>::LEN * PACK + cell % PACK;
        MaterialPoint::from_array(std::array::from_fn(|k| self.parameters[first + k * PACK]))
    }

    /// Shape gradient of node `a` at quadrature point `k` of one cell.
    fn gradient_of(&self, cell: usize, k: usize, a: usize) -> Vec3 {
        let (n, q) = (self.kind.nodes_per_cell(), self.points_per_cell());
        let first = ((cell / PACK * q + k) * n + a) * 3 * PACK + cell % PACK;
        Vec3::new(self.gradients[first], self.gradients[first + PACK], self.gradients[first + 2 * PACK])
    }

    fn weight_of(&self, cell: usize, k: usize) -> f64 {
        self.weights[(cell / PACK * self.points_per_cell() + k) * PACK + cell % PACK]
    }

    /// Slots of all packs for a matrix plan: `slot(point_a, point_b)` in the order that [`ElasticBlock::add_tangent`] expects.
    pub fn matrix_slots(&self, mut slot: impl FnMut(u32, u32) -> u32) -> Vec<Vec<u32>> {
        let n = self.kind.nodes_per_cell();
        self.points
            .chunks_exact(n * PACK)
            .map(|points| {
                let mut slots = Vec::with_capacity(n * n * PACK);
                for a in 0..n {
                    for b in 0..n {
                        slots.extend((0..PACK).map(|lane| slot(points[a * PACK + lane], points[b * PACK + lane])));
                    }
                }
                slots
            })
            .collect()
    }
}

/// One pack in lanes: gathers positions and evaluates F at the quadrature points.
struct PackView<'a, const N: usize, const Q: usize> {
    points: &'a [u32],
    gradients: &'a [f64],
    weights: &'a [f64],
    parameters: &'a [f64],
}

impl<'a, const N: usize, const Q: usize> PackView<'a, N, Q> {
    #[inline(always)]
    fn new(block: &'a ElasticBlock, pack: usize) -> Self {
        let slice = |values: &'a [f64], width: usize| &values[pack * width..(pack + 1) * width];
        Self {
            points: &block.points[pack * N * PACK..(pack + 1) * N * PACK],
            gradients: slice(&block.gradients, Q * N * 3 * PACK),
            weights: slice(&block.weights, Q * PACK),
            parameters: slice(&block.parameters, MaterialPoint::<f64>::LEN * PACK),
        }
    }

    #[inline(always)]
    fn positions<S: LaneScalar<Element = f64>>(&self, x: &[Vec3], first: usize) -> [Vec3<S>; N] {
        let mut out = [Vec3::zero(); N];
        for a in 0..N {
            let mut gathered = [[0.0; PACK]; 3];
            for lane in 0..S::LANES {
                let p = x[self.points[a * PACK + first + lane] as usize];
                gathered[0][lane] = p.x;
                gathered[1][lane] = p.y;
                gathered[2][lane] = p.z;
            }
            out[a] = Vec3::new(S::load(&gathered[0]), S::load(&gathered[1]), S::load(&gathered[2]));
        }
        out
    }

    #[inline(always)]
    fn shape_gradients<S: LaneScalar<Element = f64>>(&self, k: usize, first: usize) -> [Vec3<S>; N] {
        let mut out = [Vec3::zero(); N];
        for a in 0..N {
            let at = |axis: usize| S::load(&self.gradients[((k * N + a) * 3 + axis) * PACK + first..][..S::LANES]);
            out[a] = Vec3::new(at(0), at(1), at(2));
        }
        out
    }

    /// Deformation gradients and weights at all quadrature points.
    #[inline(always)]
    fn deformations<S: LaneScalar<Element = f64>>(&self, x: &[Vec3<S>; N], first: usize) -> ([Mat3<S>; Q], [S; Q]) {
        let (mut F, mut w) = ([Mat3::zero(); Q], [S::zero(); Q]);
        for k in 0..Q {
            F[k] = deformation_gradient(x, &self.shape_gradients(k, first));
            w[k] = S::load(&self.weights[k * PACK + first..][..S::LANES]);
        }
        (F, w)
    }

    #[inline(always)]
    fn parameters<S: LaneScalar<Element = f64>>(&self, first: usize) -> MaterialPoint<S> {
        let at = |k: usize| S::load(&self.parameters[k * PACK + first..][..S::LANES]);
        MaterialPoint::from_array([at(0), at(1), at(2), at(3)])
    }
}

/// Runs a kernel with vector registers where the processor has them, else one cell at a time: the eight-lane arrays of the portable
/// level would multiply the code by eight for no speed.
macro_rules! run_lanes {
    ($kernel:expr, $isa:ident) => {
        if const { matches!($isa::LEVEL, IsaLevel::Avx2 | IsaLevel::Avx512) } {
            $kernel.body::<$isa::F64>()
        } else {
            $kernel.body::<f64>()
        }
    };
}

/// Sum over the lanes of a pack, in one order for every register width.
#[inline(always)]
fn lane_sum(lanes: &[f64; PACK]) -> f64 {
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

/// What the points of a cell share. With a single point the mean is the point itself, and nothing of it is compiled.
#[inline(always)]
fn cell_volume<M: Material, S: Scalar, const Q: usize>(
    law: &M,
    form: VolumeForm,
    point: &MaterialPoint<S>,
    F: &[Mat3<S>; Q],
    w: &[S; Q],
) -> CellVolume<S> {
    if Q > 1 && form == VolumeForm::Mean { CellVolume::mean(law, point, F, w) } else { CellVolume::pointwise(point) }
}

/// Adds w ψ, where padding lanes (w = 0) must not turn an infinite ψ into 0·∞.
#[inline(always)]
fn weighted_energy<S: Scalar>(weight: S, psi: S, sum: S) -> S {
    sum + S::select(weight.gt(S::zero()), weight * psi, S::zero())
}

struct EnergyOf<'a> {
    block: &'a ElasticBlock,
    x: &'a [Vec3],
}

impl MaterialVisitor for EnergyOf<'_> {
    type Output = f64;
    fn visit<M: Material>(self, law: M) -> f64 {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl EnergyOf<'_> {
    fn run<M: Material, const N: usize, const Q: usize>(&self, law: M) -> f64 {
        let kernel = |packs| dispatch(EnergyKernel::<M, N, Q> { law, block: self.block, x: self.x, packs });
        reduce_blocks(self.block.pack_count(), ENERGY_PACKS, kernel, |a, b| a + b).unwrap_or(0.0)
    }
}

/// Packs per block of the energy sum: some ten microseconds of work.
const ENERGY_PACKS: usize = 64;

struct EnergyKernel<'a, M, const N: usize, const Q: usize> {
    law: M,
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    packs: Range<usize>,
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for EnergyKernel<'_, M, N, Q> {
    type Output = f64;
    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        run_lanes!(self, I)
    }
}

impl<M: Material, const N: usize, const Q: usize> EnergyKernel<'_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) -> f64 {
        let mut total = 0.0;
        for pack in self.packs {
            let view = PackView::<N, Q>::new(self.block, pack);
            let mut energies = [0.0; PACK];
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(self.x, first);
                let point = view.parameters::<S>(first);
                let (F, w) = view.deformations(&x, first);
                let volume = cell_volume(&self.law, self.block.volume, &point, &F, &w);
                let mut energy = volume.energy;
                for k in 0..Q {
                    energy = weighted_energy(w[k], self.law.energy_density(&F[k], &volume.point), energy);
                }
                energy.store(&mut energies[first..first + S::LANES]);
            }
            total += lane_sum(&energies);
        }
        total
    }
}

struct GradientOf<'a> {
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    gradient: &'a mut [Vec3],
    pack_energies: &'a [AtomicU64],
}

impl MaterialVisitor for GradientOf<'_> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl GradientOf<'_> {
    fn run<M: Material, const N: usize, const Q: usize>(self, law: M) {
        let Self { block, x, gradient, pack_energies } = self;
        block.nodal.for_each_chunk(gradient, |packs, writer| {
            dispatch(GradientKernel::<M, N, Q> { law, block, x, packs, writer, pack_energies });
        });
    }
}

struct GradientKernel<'a, 'w, M, const N: usize, const Q: usize> {
    law: M,
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    packs: Range<usize>,
    writer: &'a mut ChunkWriter<'w, Vec3>,
    pack_energies: &'a [AtomicU64],
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for GradientKernel<'_, '_, M, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        run_lanes!(self, I)
    }
}

impl<M: Material, const N: usize, const Q: usize> GradientKernel<'_, '_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) {
        for pack in self.packs {
            let view = PackView::<N, Q>::new(self.block, pack);
            let mut energies = [0.0; PACK];
            let mut values = [[Vec3::zero(); PACK]; N];
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(self.x, first);
                let point = view.parameters::<S>(first);
                let (F, w) = view.deformations(&x, first);
                let volume = cell_volume(&self.law, self.block.volume, &point, &F, &w);
                let mut energy = volume.energy;
                let mut nodal = [Vec3::<S>::zero(); N];
                for k in 0..Q {
                    let g = view.shape_gradients::<S>(k, first);
                    let (psi, mut P) = self.law.energy_and_stress(&F[k], &volume.point);
                    if Q > 1 && self.block.volume == VolumeForm::Mean {
                        P += volume.stress::<M>(&F[k]);
                    }
                    energy = weighted_energy(w[k], psi, energy);
                    let wP = P * w[k];
                    for a in 0..N {
                        nodal[a] += wP * g[a];
                    }
                }
                energy.store(&mut energies[first..first + S::LANES]);
                for a in 0..N {
                    for axis in 0..3 {
                        let mut lanes = [0.0; PACK];
                        nodal[a][axis].store(&mut lanes[..S::LANES]);
                        for lane in 0..S::LANES {
                            values[a][first + lane][axis] = lanes[lane];
                        }
                    }
                }
            }
            self.pack_energies[pack].store(lane_sum(&energies).to_bits(), Ordering::Relaxed);
            self.writer.add_all(pack, values.as_flattened());
        }
    }
}

struct TangentOf<'a> {
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    tangent: Tangent,
    plan: &'a ScatterPlan,
    values: &'a mut [Mat3],
}

impl MaterialVisitor for TangentOf<'_> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl TangentOf<'_> {
    fn run<M: Material, const N: usize, const Q: usize>(self, law: M) {
        let Self { block, x, tangent, plan, values } = self;
        plan.for_each_chunk(values, |packs, writer| {
            dispatch(TangentKernel::<M, N, Q> { law, block, x, tangent, packs, writer });
        });
    }
}

struct TangentKernel<'a, 'w, M, const N: usize, const Q: usize> {
    law: M,
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    tangent: Tangent,
    packs: Range<usize>,
    writer: &'a mut ChunkWriter<'w, Mat3>,
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for TangentKernel<'_, '_, M, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        run_lanes!(self, I)
    }
}

impl<M: Material, const N: usize, const Q: usize> TangentKernel<'_, '_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) {
        // In the order of the plan: [a][b][lane]. Every entry is written for every pack.
        let mut values = [[[Mat3::zero(); PACK]; N]; N];
        for pack in self.packs {
            let view = PackView::<N, Q>::new(self.block, pack);
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(self.x, first);
                let point = view.parameters::<S>(first);
                let mut element = ElementBlocks::<S, N>::zero();
                let (F, w) = view.deformations(&x, first);
                add_cell_tangent(
                    &self.law,
                    &cell_volume(&self.law, self.block.volume, &point, &F, &w),
                    (self.block.volume, self.tangent),
                    (&F, &w),
                    |k| view.shape_gradients::<S>(k, first),
                    &mut element,
                );
                for a in 0..N {
                    for b in 0..=a {
                        for i in 0..3 {
                            for j in 0..3 {
                                let mut lanes = [0.0; PACK];
                                element.blocks[a][b].rows[i][j].store(&mut lanes[..S::LANES]);
                                for lane in 0..S::LANES {
                                    values[a][b][first + lane].rows[i][j] = lanes[lane];
                                    values[b][a][first + lane].rows[j][i] = lanes[lane];
                                }
                            }
                        }
                    }
                }
            }
            self.writer.add_all(pack, values.as_flattened().as_flattened());
        }
    }
}

/// The tangent of one cell: of its points, and of the mean volume that couples them.
#[inline(always)]
fn add_cell_tangent<M: Material, S: Scalar, const N: usize, const Q: usize>(
    law: &M,
    volume: &CellVolume<S>,
    (form, tangent): (VolumeForm, Tangent),
    (F, w): (&[Mat3<S>; Q], &[S; Q]),
    gradients: impl Fn(usize) -> [Vec3<S>; N],
    element: &mut ElementBlocks<S, N>,
) {
    for k in 0..Q {
        let g = gradients(k);
        if Q > 1 {
            volume.add_point_blocks(law, &F[k], tangent, &g, w[k], element);
        } else {
            law.tangent_blocks(&F[k], &volume.point, tangent, &g, w[k], element);
        }
    }
    if Q > 1 && form == VolumeForm::Mean {
        volume.add_coupling::<M, N, Q>(F, gradients, w, tangent, element);
    }
}

struct PointsOf<'a, V> {
    block: &'a ElasticBlock,
    cell: usize,
    x: &'a [Vec3],
    visit: V,
}

impl<V: FnMut(f64, Mat3, Mat3)> MaterialVisitor for PointsOf<'_, V> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl<V: FnMut(f64, Mat3, Mat3)> PointsOf<'_, V> {
    fn run<M: Material, const N: usize, const Q: usize>(mut self, law: M) {
        let (F, w) = self.block.cell_points::<N, Q>(self.cell, self.x);
        let volume = cell_volume(&law, self.block.volume, &self.block.parameters_of(self.cell), &F, &w);
        for k in 0..Q {
            (self.visit)(w[k], F[k], law.stress(&F[k], &volume.point) + volume.stress::<M>(&F[k]));
        }
    }
}

struct CellTangentOf<'a, V> {
    block: &'a ElasticBlock,
    cell: usize,
    x: &'a [Vec3],
    tangent: Tangent,
    visit: V,
}

impl<V: FnMut(usize, usize, Mat3)> MaterialVisitor for CellTangentOf<'_, V> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl<V: FnMut(usize, usize, Mat3)> CellTangentOf<'_, V> {
    fn run<M: Material, const N: usize, const Q: usize>(mut self, law: M) {
        let (block, cell) = (self.block, self.cell);
        let (F, w) = block.cell_points::<N, Q>(cell, self.x);
        let mut element = ElementBlocks::<f64, N>::zero();
        add_cell_tangent(
            &law,
            &cell_volume(&law, block.volume, &block.parameters_of(cell), &F, &w),
            (block.volume, self.tangent),
            (&F, &w),
            |k| std::array::from_fn(|a| block.gradient_of(cell, k, a)),
            &mut element,
        );
        for a in 0..N {
            for b in 0..=a {
                (self.visit)(a, b, element.blocks[a][b]);
                if a != b {
                    (self.visit)(b, a, element.blocks[a][b].transpose());
                }
            }
        }
    }
}
