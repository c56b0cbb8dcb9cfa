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
use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::{ChunkWriter, ScatterPlan, reduce_blocks, sum};
use sinew_math::sparse::PackReal;
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::diagnostics::FLATTENED;
use crate::element::{RestGeometry, deformation_gradient};
use crate::material::{
    CellVolume, ElementBlocks, Law, Material, MaterialPoint, MaterialSpec, MaterialVisitor, Tangent, VolumeForm,
    projection_excess,
};

/// Cells per pack: the f64 lanes of every instruction-set level.
pub const PACK: usize = 8;
/// Entries of the lower blocks of the element matrix with the most nodes.
const MAX_ENTRIES: usize = 9 * 10 * 11 / 2;

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
    /// Three times the points, pack by pack: `[pack][node][lane]`: places in the flat array of positions.
    offsets: Vec<u32>,
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
        let law = specs[0].law();
        let parameter_count = law.parameter_count();
        let mut parameters = vec![0.0; pack_count * parameter_count * PACK];
        // Cells that share nodes side by side: what a chunk of packs reads and adds to stays in the cache.
        let mut by_place: Vec<usize> = (0..cells.len()).collect();
        by_place.sort_by_key(|&cell| {
            let own = &points[cell * N..(cell + 1) * N];
            (own.iter().min().copied(), own.iter().map(|&point| u64::from(point)).sum::<u64>())
        });
        for slot in 0..pack_count * PACK {
            let (pack, lane) = (slot / PACK, slot % PACK);
            let cell = by_place[slot.min(cells.len() - 1)];
            // In ascending order, so that node a ≥ b of a cell means row ≥ column in the matrix.
            let mut order: [usize; N] = std::array::from_fn(|a| a);
            order.sort_by_key(|&a| points[cell * N + a]);
            for (place, &a) in order.iter().enumerate() {
                packed_points[(pack * N + place) * PACK + lane] = points[cell * N + a];
            }
            for (k, &value) in specs[cell].point().into_array()[..parameter_count].iter().enumerate() {
                parameters[(pack * parameter_count + k) * PACK + lane] = value;
            }
            for k in 0..q {
                let is_padding = slot >= cells.len();
                weights[(pack * q + k) * PACK + lane] = if is_padding { 0.0 } else { geometry.weights[cell * q + k] };
                for (place, &a) in order.iter().enumerate() {
                    let gradient = geometry.gradients[cell * q + k][a];
                    for axis in 0..3 {
                        gradients[(((pack * q + k) * N + place) * 3 + axis) * PACK + lane] = gradient[axis];
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
            law,
            cells: by_place.iter().map(|&cell| cells[cell]).collect(),
            offsets: packed_points.iter().map(|point| 3 * point).collect(),
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

    /// Law of the cells.
    pub fn law(&self) -> Law {
        self.law
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
        self.offsets[(cell / PACK * n + a) * PACK + cell % PACK] / 3
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

    /// Number, weight and deformation gradient of each quadrature point of a cell.
    pub(crate) fn evaluate_deformation(&self, cell: usize, x: &[Vec3], mut visit: impl FnMut(usize, f64, Mat3)) {
        let origin = x[self.point(cell, 0) as usize];
        for k in 0..self.points_per_cell() {
            let mut F = Mat3::zero();
            for a in 1..self.kind.nodes_per_cell() {
                F += Mat3::outer(x[self.point(cell, a) as usize] - origin, self.gradient_of(cell, k, a));
            }
            visit(k, self.weight_of(cell, k), F);
        }
    }

    /// Where the packs add nodal values.
    pub(crate) fn nodal_plan(&self) -> &ScatterPlan {
        &self.nodal
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
        // A kernel of its own would be a third faster, and a quarter more code for every law, kind of cell and instruction set.
        self.summarize(x).energy
    }

    /// Sums and extremes over all quadrature points.
    pub fn summarize(&self, x: &[Vec3]) -> BlockSummary {
        self.check_positions(x);
        self.law.visit(SummaryOf { block: self, x })
    }

    /// gradient += s ∂E/∂x with the factor s = `scale`; returns s E [J]. `pack_energies` is scratch with one entry per pack.
    pub fn add_gradient(&self, x: &[Vec3], scale: f64, gradient: &mut [Vec3], pack_energies: &[AtomicU64]) -> f64 {
        self.check_positions(x);
        self.law.visit(GradientOf { block: self, x, scale, gradient, pack_energies });
        scale * sum(self.pack_count(), |pack| f64::from_bits(pack_energies[pack].load(Ordering::Relaxed)))
    }

    /// Adds the element matrices times `scale`, on and below the diagonal, to `values` through `plan`: its elements are the packs with their
    /// slots as [`matrix_slots`](Self::matrix_slots) lists them.
    pub fn add_tangent<S: PackReal>(
        &self,
        x: &[Vec3],
        tangent: Tangent,
        scale: f64,
        plan: &ScatterPlan,
        values: &mut [Mat3<S>],
    ) {
        self.check_positions(x);
        self.law.visit(TangentOf { block: self, x, tangent, scale, plan, values });
    }

    /// Calls `visit(a, b, K_ab)` for all pairs of local nodes of one cell: the slow path, for cells with bound nodes and for tests.
    pub fn cell_tangent(&self, cell: usize, x: &[Vec3], tangent: Tangent, mut visit: impl FnMut(usize, usize, Mat3)) {
        self.law.visit(CellTangentOf { block: self, cell, x, tangent, visit: &mut visit });
    }

    /// Largest λ/μ of a cell.
    pub(crate) fn largest_volume_stiffness(&self) -> f64 {
        (0..self.cell_count()).map(|cell| self.parameters_of(cell)).map(|p| p.lambda / p.mu).fold(0.0, f64::max)
    }

    /// Adds to each point the size of the elastic force on it when its cells are strained by one: Σ w (λ + 2μ) |∇Nₐ| [N].
    pub fn add_unit_strain_forces(&self, forces: &mut [f64]) {
        for cell in 0..self.cell_count() {
            let point = self.parameters_of(cell);
            let modulus = point.lambda.abs() + 2.0 * point.mu.abs();
            for k in 0..self.points_per_cell() {
                for a in 0..self.kind.nodes_per_cell() {
                    forces[self.point(cell, a) as usize] +=
                        self.weight_of(cell, k) * modulus * self.gradient_of(cell, k, a).norm();
                }
            }
        }
    }

    /// The packed kernels read positions without asking again.
    fn check_positions(&self, x: &[Vec3]) {
        assert_eq!(x.len(), self.nodal.target_length(), "one position per point of the model");
    }

    /// Parameters of the law in one cell.
    pub(crate) fn parameters_of(&self, cell: usize) -> MaterialPoint<f64> {
        let count = self.parameter_count;
        let first = cell / PACK * count * PACK + cell % PACK;
        MaterialPoint::from_array(std::array::from_fn(
            |k| {
                if k < count { self.parameters[first + k * PACK] } else { 0.0 }
            },
        ))
    }

    /// Shape gradient of node `a` at quadrature point `k` of one cell.
    pub(crate) fn gradient_of(&self, cell: usize, k: usize, a: usize) -> Vec3 {
        let (n, q) = (self.kind.nodes_per_cell(), self.points_per_cell());
        let first = ((cell / PACK * q + k) * n + a) * 3 * PACK + cell % PACK;
        Vec3::new(self.gradients[first], self.gradients[first + PACK], self.gradients[first + 2 * PACK])
    }

    /// Weight of quadrature point `k` of one cell [m³].
    pub(crate) fn weight_of(&self, cell: usize, k: usize) -> f64 {
        self.weights[(cell / PACK * self.points_per_cell() + k) * PACK + cell % PACK]
    }

    /// Slots of all packs for a matrix plan, in the order `[a][b ≤ a][lane]` over pairs of local nodes: `slot(row, column)` of two points
    /// with row ≥ column.
    pub fn matrix_slots(&self, mut slot: impl FnMut(u32, u32) -> u32) -> impl Iterator<Item = Vec<u32>> {
        let n = self.kind.nodes_per_cell();
        self.offsets.chunks_exact(n * PACK).map(move |offsets| {
            let mut slots = Vec::with_capacity(n * (n + 1) / 2 * PACK);
            for a in 0..n {
                for b in 0..=a {
                    let pair = |lane: usize| (offsets[a * PACK + lane] / 3, offsets[b * PACK + lane] / 3);
                    slots.extend((0..PACK).map(|lane| {
                        let (row, column) = pair(lane);
                        slot(row, column)
                    }));
                }
            }
            slots
        })
    }
}

/// One pack in lanes: gathers positions and evaluates F at the quadrature points.
struct PackView<'a, const N: usize, const Q: usize> {
    offsets: &'a [u32],
    gradients: &'a [f64],
    weights: &'a [f64],
    parameters: &'a [f64],
}

impl<'a, const N: usize, const Q: usize> PackView<'a, N, Q> {
    #[inline(always)]
    fn new(block: &'a ElasticBlock, pack: usize) -> Self {
        let slice = |values: &'a [f64], width: usize| &values[pack * width..(pack + 1) * width];
        Self {
            offsets: &block.offsets[pack * N * PACK..(pack + 1) * N * PACK],
            gradients: slice(&block.gradients, Q * N * 3 * PACK),
            weights: slice(&block.weights, Q * PACK),
            parameters: slice(&block.parameters, block.parameter_count * PACK),
        }
    }

    #[inline(always)]
    fn positions<S: LaneScalar<Element = f64>>(&self, x: &[Vec3], first: usize) -> [Vec3<S>; N] {
        let x = Vec3::as_flattened(x);
        let mut out = [Vec3::zero(); N];
        for a in 0..N {
            let offsets = &self.offsets[a * PACK + first..][..S::LANES];
            // SAFETY: `ElasticBlock::new` built its plan with all points below `point_count`, and every kernel starts from a
            // function that compared that with the length of x, so 3 · point + 2 is in range.
            let gathered = unsafe {
                // Written out: a closure would be compiled without the instruction set and called 24 times per pack.
                Vec3::new(S::gather(x, offsets), S::gather(&x[1..], offsets), S::gather(&x[2..], offsets))
            };
            out[a] = gathered;
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

/// Packs per block of the sums: some ten microseconds of work.
const SUMMARY_PACKS: usize = 64;

/// Sums and extremes over the quadrature points of a block; see [`ElasticBlock::summarize`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSummary {
    /// Strain energy [J].
    pub energy: f64,
    /// Rest volume Σ w [m³].
    pub rest_volume: f64,
    /// Volume Σ w J [m³].
    pub volume: f64,
    /// Cells with a quadrature point of non-positive volume.
    pub inverted_cells: usize,
    /// Cells with a quadrature point of less than [`FLATTENED`] of its volume.
    pub flattened_cells: usize,
    /// Smallest volume ratio J.
    pub min_volume_ratio: f64,
    /// Largest volume ratio J.
    pub max_volume_ratio: f64,
    /// Largest von Mises stress where J > 0 [Pa].
    pub max_von_mises: f64,
    /// Σ w P [N m].
    pub piola: Mat3,
    /// Σ w P Fᵀ [N m].
    pub kirchhoff: Mat3,
    /// Σ w F [m³].
    pub deformation: Mat3,
}

impl Default for BlockSummary {
    fn default() -> Self {
        Self {
            energy: 0.0,
            rest_volume: 0.0,
            volume: 0.0,
            inverted_cells: 0,
            flattened_cells: 0,
            min_volume_ratio: f64::INFINITY,
            max_volume_ratio: f64::NEG_INFINITY,
            max_von_mises: 0.0,
            piola: Mat3::zero(),
            kirchhoff: Mat3::zero(),
            deformation: Mat3::zero(),
        }
    }
}

impl BlockSummary {
    /// The same for an energy `factor` times as large.
    pub fn stiffened(self, factor: f64) -> Self {
        Self {
            energy: self.energy * factor,
            max_von_mises: self.max_von_mises * factor,
            piola: self.piola * factor,
            kirchhoff: self.kirchhoff * factor,
            ..self
        }
    }

    /// Both together.
    pub fn join(self, other: Self) -> Self {
        Self {
            energy: self.energy + other.energy,
            rest_volume: self.rest_volume + other.rest_volume,
            volume: self.volume + other.volume,
            inverted_cells: self.inverted_cells + other.inverted_cells,
            flattened_cells: self.flattened_cells + other.flattened_cells,
            min_volume_ratio: self.min_volume_ratio.min(other.min_volume_ratio),
            max_volume_ratio: self.max_volume_ratio.max(other.max_volume_ratio),
            max_von_mises: self.max_von_mises.max(other.max_von_mises),
            piola: self.piola + other.piola,
            kirchhoff: self.kirchhoff + other.kirchhoff,
            deformation: self.deformation + other.deformation,
        }
    }
}

struct SummaryOf<'a> {
    block: &'a ElasticBlock,
    x: &'a [Vec3],
}

impl MaterialVisitor for SummaryOf<'_> {
    type Output = BlockSummary;
    fn visit<M: Material>(self, law: M) -> BlockSummary {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
        }
    }
}

impl SummaryOf<'_> {
    fn run<M: Material, const N: usize, const Q: usize>(&self, law: M) -> BlockSummary {
        let kernel = |packs| dispatch(SummaryKernel::<M, N, Q> { law, block: self.block, x: self.x, packs });
        reduce_blocks(self.block.pack_count(), SUMMARY_PACKS, kernel, BlockSummary::join).unwrap_or_default()
    }
}

struct SummaryKernel<'a, M, const N: usize, const Q: usize> {
    law: M,
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    packs: Range<usize>,
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for SummaryKernel<'_, M, N, Q> {
    type Output = BlockSummary;
    #[inline(always)]
    fn run<I: Isa>(self) -> BlockSummary {
        self.body::<I::F64Register>()
    }
}

/// Numbers that a quadrature point adds to the sums: energy, volumes, three tensors.
const SUMMANDS: usize = 3 + 27;

impl<M: Material, const N: usize, const Q: usize> SummaryKernel<'_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) -> BlockSummary {
        let mut total = BlockSummary::default();
        let mut sums = [0.0; SUMMANDS];
        for pack in self.packs {
            let view = PackView::<N, Q>::new(self.block, pack);
            let mut lanes = [[0.0; PACK]; SUMMANDS];
            let (mut lowest, mut highest, mut mises) = ([0.0; PACK], [0.0; PACK], [0.0; PACK]);
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(self.x, first);
                let point = view.parameters::<S, M>(first);
                let (deformations, weights) = view.deformations(&x, first);
                let volume = cell_volume(&self.law, self.block.volume, &point, &deformations, &weights);
                let mut summands = [S::zero(); SUMMANDS];
                summands[0] = volume.energy;
                let (mut low, mut high) = (S::splat(f64::INFINITY), S::splat(f64::NEG_INFINITY));
                let mut worst = S::zero();
                for k in 0..Q {
                    let (w, F) = (weights[k], deformations[k]);
                    let (psi, mut P) = self.law.energy_and_stress(&F, &volume.point);
                    if Q > 1 && self.block.volume == VolumeForm::Mean {
                        P += volume.stress::<M>(&F);
                    }
                    let J = F.determinant();
                    let kirchhoff = P.mul_transpose(&F);
                    summands[0] = weighted_energy(w, psi, summands[0]);
                    summands[1] += w;
                    summands[2] += w * J;
                    for i in 0..3 {
                        for j in 0..3 {
                            let e = 3 + 3 * i + j;
                            summands[e] += w * P[(i, j)];
                            summands[e + 9] += w * kirchhoff[(i, j)];
                            summands[e + 18] += w * F[(i, j)];
                        }
                    }
                    low = low.min(J);
                    high = high.max(J);
                    let stress = crate::frame::von_mises(&kirchhoff) / J;
                    worst = S::select(J.gt(S::zero()), worst.max(stress), worst);
                }
                for (summand, lanes) in summands.iter().zip(&mut lanes) {
                    summand.store(&mut lanes[first..first + S::LANES]);
                }
                low.store(&mut lowest[first..first + S::LANES]);
                high.store(&mut highest[first..first + S::LANES]);
                worst.store(&mut mises[first..first + S::LANES]);
            }
            for (sum, lanes) in sums.iter_mut().zip(&lanes) {
                *sum += lane_sum(lanes);
            }
            let real = (self.block.cells.len() - pack * PACK).min(PACK);
            for lane in 0..real {
                total.inverted_cells += usize::from(lowest[lane] <= 0.0);
                total.flattened_cells += usize::from(lowest[lane] <= FLATTENED);
                total.min_volume_ratio = total.min_volume_ratio.min(lowest[lane]);
                total.max_volume_ratio = total.max_volume_ratio.max(highest[lane]);
                total.max_von_mises = total.max_von_mises.max(mises[lane]);
            }
        }
        let tensor =
            |first: usize| Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| sums[first + 3 * i + j])));
        BlockSummary {
            energy: sums[0],
            rest_volume: sums[1],
            volume: sums[2],
            piola: tensor(3),
            kirchhoff: tensor(12),
            deformation: tensor(21),
            ..total
        }
    }
}

struct GradientOf<'a> {
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    scale: f64,
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
        let Self { block, x, scale, gradient, pack_energies } = self;
        block.nodal.for_each_chunk(gradient, |packs, writer| {
            dispatch(GradientKernel::<M, N, Q> { law, block, x, scale, packs, writer, pack_energies });
        });
    }
}

struct GradientKernel<'a, 'w, M, const N: usize, const Q: usize> {
    law: M,
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    scale: f64,
    packs: Range<usize>,
    writer: &'a mut ChunkWriter<'w, Vec3>,
    pack_energies: &'a [AtomicU64],
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for GradientKernel<'_, '_, M, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.body::<I::F64Register>()
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
                    let wP = P * (w[k] * S::splat(self.scale));
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

struct TangentOf<'a, S> {
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    tangent: Tangent,
    scale: f64,
    plan: &'a ScatterPlan,
    values: &'a mut [Mat3<S>],
}

impl<S: PackReal> MaterialVisitor for TangentOf<'_, S> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl<S: PackReal> TangentOf<'_, S> {
    fn run<M: Material, const N: usize, const Q: usize>(self, law: M) {
        let Self { block, x, tangent, scale, plan, values } = self;
        plan.for_each_chunk(values, |packs, writer| {
            let sink = &mut PrecisionSink(writer);
            dispatch(TangentKernel::<M, N, Q> { law, block, x, tangent, scale, packs, sink });
        });
    }
}

/// Takes the element matrices of a pack. A trait object, so that kernels are compiled once for both precisions of the matrix.
trait PackSink {
    /// `entries[9 · pair + entry][lane]` of the blocks of all pairs (a, b ≤ a).
    fn add(&mut self, pack: usize, entries: &[[f64; PACK]]);
}

/// Rounds to the precision of the matrix and adds.
struct PrecisionSink<'a, 'w, S>(&'a mut ChunkWriter<'w, Mat3<S>>);

impl<S: PackReal> PackSink for PrecisionSink<'_, '_, S> {
    fn add(&mut self, pack: usize, entries: &[[f64; PACK]]) {
        S::add_pack(self.0, pack, entries);
    }
}

struct TangentKernel<'a, M, const N: usize, const Q: usize> {
    law: M,
    block: &'a ElasticBlock,
    x: &'a [Vec3],
    tangent: Tangent,
    scale: f64,
    packs: Range<usize>,
    sink: &'a mut dyn PackSink,
}

impl<M: Material, const N: usize, const Q: usize> LaneKernel for TangentKernel<'_, M, N, Q> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        self.body::<I::F64Register>()
    }
}

impl<M: Material, const N: usize, const Q: usize> TangentKernel<'_, M, N, Q> {
    #[inline(always)]
    fn body<S: LaneScalar<Element = f64>>(self) {
        // In the order of `matrix_slots`. Every entry of this kind of cell is written for every pack.
        let mut entries = [[0.0; PACK]; MAX_ENTRIES];
        for pack in self.packs {
            let view = PackView::<N, Q>::new(self.block, pack);
            for first in (0..PACK).step_by(S::LANES) {
                let x = view.positions::<S>(self.x, first);
                let point = view.parameters::<S, M>(first);
                let mut element = ElementBlocks::<S, N>::zero();
                let (F, mut w) = view.deformations(&x, first);
                w.iter_mut().for_each(|w| *w *= S::splat(self.scale));
                add_cell_tangent(
                    &self.law,
                    &cell_volume(&self.law, self.block.volume, &point, &F, &w),
                    (self.block.volume, self.tangent),
                    (&F, &w),
                    |k| view.shape_gradients::<S>(k, first),
                    &mut element,
                );
                let mut next = 0;
                for a in 0..N {
                    for b in 0..=a {
                        for i in 0..3 {
                            for j in 0..3 {
                                let lanes = &mut entries[next][first..first + S::LANES];
                                element.blocks[a][b].rows[i][j].store(lanes);
                                next += 1;
                            }
                        }
                    }
                }
            }
            self.sink.add(pack, &entries[..9 * N * (N + 1) / 2]);
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

struct CellTangentOf<'a> {
    block: &'a ElasticBlock,
    cell: usize,
    x: &'a [Vec3],
    tangent: Tangent,
    visit: &'a mut dyn FnMut(usize, usize, Mat3),
}

impl MaterialVisitor for CellTangentOf<'_> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl CellTangentOf<'_> {
    fn run<M: Material, const N: usize, const Q: usize>(self, law: M) {
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
