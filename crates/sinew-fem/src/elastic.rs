//! Elasticity of many cells of one kind and one law: energy, gradient and tangent, eight cells at a time.
//!
//! $$E = \sum_c \sum_q w_{cq}\, \psi(F_{cq}), \qquad F = \sum_a x_a \otimes \nabla N_a, \qquad
//!   \frac{\partial E}{\partial x_a} = \sum_q w\, P\, \nabla N_a, \qquad
//!   K_{ab} = \sum_q w\, \nabla N_a \cdot \frac{\partial P}{\partial F} \cdot \nabla N_b$$
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
    ElementBlocks, Law, Material, MaterialPoint, MaterialSpec, MaterialVisitor, Tangent, projection_excess,
};

/// Cells per pack: the f64 lanes of every instruction-set level.
pub const PACK: usize = 8;

/// Cells of one kind and one law of one body.
pub struct ElasticBlock {
    /// Body the cells belong to.
    pub body: usize,
    /// Whether cells have nodes that are not unknowns of their own: their tangent takes the general path.
    pub has_bound_nodes: bool,
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
    /// Material parameters, as many as the law reads: `[pack][parameter][lane]`.
    parameters: Vec<f64>,
    parameter_count: usize,
    has_potential: bool,
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
        let kind = if N == CellKind::Tet4.nodes_per_cell() { CellKind::Tet4 } else { CellKind::Hex8 };
        let q = geometry.points_per_cell();
        let pack_count = cells.len().div_ceil(PACK);
        let mut packed_points = vec![0; pack_count * N * PACK];
        let mut gradients = vec![0.0; pack_count * q * N * 3 * PACK];
        let mut weights = vec![0.0; pack_count * q * PACK];
        let law = specs[0].law();
        let parameter_count = law.parameter_count();
        let mut parameters = vec![0.0; pack_count * parameter_count * PACK];
        for slot in 0..pack_count * PACK {
            let (pack, lane) = (slot / PACK, slot % PACK);
            let cell = slot.min(cells.len() - 1);
            for a in 0..N {
                packed_points[(pack * N + a) * PACK + lane] = points[cell * N + a];
            }
            for (k, &value) in specs[cell].point().into_array()[..parameter_count].iter().enumerate() {
                parameters[(pack * parameter_count + k) * PACK + lane] = value;
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
            kind,
            law,
            cells,
            points: packed_points,
            gradients,
            weights,
            parameters,
            parameter_count,
            has_potential: specs.iter().all(MaterialSpec::has_potential),
            nodal,
        }
    }

    /// Whether the stress of every cell is the derivative of its energy, so that a line search may look at the energy.
    pub fn has_potential(&self) -> bool {
        self.has_potential
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
    pub fn evaluate_cell(&self, cell: usize, x: &[Vec3], mut visit: impl FnMut(f64, Mat3, Mat3)) {
        let point = self.parameters_of(cell);
        for k in 0..self.points_per_cell() {
            // Relative to node 0, as in `deformation_gradient`.
            let origin = x[self.point(cell, 0) as usize];
            let mut F = Mat3::zero();
            for a in 1..self.kind.nodes_per_cell() {
                F += Mat3::outer(x[self.point(cell, a) as usize] - origin, self.gradient_of(cell, k, a));
            }
            visit(self.weight_of(cell, k), F, self.law.visit(StressOf { F, point }));
        }
    }

    /// Largest [`projection_excess`] over the quadrature points of a cell.
    pub fn projection_excess(&self, cell: usize, x: &[Vec3]) -> f64 {
        let point = self.parameters_of(cell);
        let mut most = 0.0f64;
        self.evaluate_cell(cell, x, |_, F, _| most = most.max(self.law.visit(ExcessOf { F, point })));
        most
    }

    /// Whether no direction of the rest state is special to the law.
    pub fn is_isotropic(&self) -> bool {
        self.law.is_isotropic()
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
        let count = self.parameter_count;
        let first = cell / PACK * count * PACK + cell % PACK;
        MaterialPoint::from_array(std::array::from_fn(
            |k| {
                if k < count { self.parameters[first + k * PACK] } else { 0.0 }
            },
        ))
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
            parameters: slice(&block.parameters, block.parameter_count * PACK),
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

    #[inline(always)]
    fn weight<S: LaneScalar<Element = f64>>(&self, k: usize, first: usize) -> S {
        S::load(&self.weights[k * PACK + first..][..S::LANES])
    }

    /// What the law M reads, which is all that the table holds.
    #[inline(always)]
    fn parameters<S: LaneScalar<Element = f64>, M: Material>(&self, first: usize) -> MaterialPoint<S> {
        let mut values = [S::zero(); MaterialPoint::<f64>::LEN];
        for (k, value) in values.iter_mut().enumerate().take(M::PARAMETERS) {
            *value = S::load(&self.parameters[k * PACK + first..][..S::LANES]);
        }
        MaterialPoint::from_array(values)
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
                let point = view.parameters::<S, M>(first);
                let mut energy = S::zero();
                for k in 0..Q {
                    let F = deformation_gradient(&x, &view.shape_gradients(k, first));
                    energy = weighted_energy(view.weight(k, first), self.law.energy_density(&F, &point), energy);
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
                let point = view.parameters::<S, M>(first);
                let mut energy = S::zero();
                let mut nodal = [Vec3::<S>::zero(); N];
                for k in 0..Q {
                    let g = view.shape_gradients::<S>(k, first);
                    let w = view.weight::<S>(k, first);
                    let F = deformation_gradient(&x, &g);
                    let (psi, P) = self.law.energy_and_stress(&F, &point);
                    energy = weighted_energy(w, psi, energy);
                    let wP = P * w;
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
                let point = view.parameters::<S, M>(first);
                let mut element = ElementBlocks::<S, N>::zero();
                for k in 0..Q {
                    let g = view.shape_gradients::<S>(k, first);
                    let F = deformation_gradient(&x, &g);
                    self.law.tangent_blocks(&F, &point, self.tangent, &g, view.weight(k, first), &mut element);
                }
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

struct StressOf {
    F: Mat3,
    point: MaterialPoint<f64>,
}

impl MaterialVisitor for StressOf {
    type Output = Mat3;
    fn visit<M: Material>(self, law: M) -> Mat3 {
        law.stress(&self.F, &self.point)
    }
}

struct ExcessOf {
    F: Mat3,
    point: MaterialPoint<f64>,
}

impl MaterialVisitor for ExcessOf {
    type Output = f64;
    fn visit<M: Material>(self, law: M) -> f64 {
        projection_excess(&law, &self.F, &self.point).law
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
            CellKind::Tet4 => self.run::<M, 4>(law),
            CellKind::Hex8 => self.run::<M, 8>(law),
        }
    }
}

impl<V: FnMut(usize, usize, Mat3)> CellTangentOf<'_, V> {
    fn run<M: Material, const N: usize>(mut self, law: M) {
        let (block, cell) = (self.block, self.cell);
        let x: [Vec3; N] = std::array::from_fn(|a| self.x[block.point(cell, a) as usize]);
        let point = block.parameters_of(cell);
        let mut element = ElementBlocks::<f64, N>::zero();
        for k in 0..block.points_per_cell() {
            let g: [Vec3; N] = std::array::from_fn(|a| block.gradient_of(cell, k, a));
            let F = deformation_gradient(&x, &g);
            law.tangent_blocks(&F, &point, self.tangent, &g, block.weight_of(cell, k), &mut element);
        }
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
