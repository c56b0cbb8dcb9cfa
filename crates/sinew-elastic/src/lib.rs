//! Elasticity of many cells of one kind and one law: energy, gradient and tangent, eight cells at a time.
//!
//! ```math
//! E = \sum_c \sum_q w_{cq}\, \psi(F_{cq}), \qquad F = \sum_a x_a \otimes \nabla N_a, \qquad
//!    \frac{\partial E}{\partial x_a} = \sum_q w\, P\, \nabla N_a, \qquad
//!    K_{ab} = \sum_q w\, \nabla N_a \cdot \frac{\partial P}{\partial F} \cdot \nabla N_b
//! ```
//!
//! Start with [`ElasticBlock`], which holds the cells of one kind and one law. [`FiberGroup`] adds muscle fibers, and
//! [`Response`] evaluates a law at many points without a mesh.
//!
//! With [`VolumeForm::Mean`] the volume term of the law takes the mean volume ratio of the cell; see
//! `material/volume.rs`.
//!
//! Cells are packed by eight in structure-of-arrays blocks, one cell per f64 lane; the last pack repeats its last cell
//! with weight zero. Results are scattered through plans whose order does not depend on the number of threads.

#![allow(non_snake_case)]

mod fibers;
mod gradient;
mod law;
mod pack;
mod point;
mod response;
mod summary;
mod tangent;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use sinew_cell::element::RestGeometry;
use sinew_cell::material::{Law, MaterialPoint, MaterialSpec, Tangent, VolumeForm};
use sinew_geometry::CellKind;
use sinew_math::lanes::{dispatch, without_lanes};
use sinew_math::parallel::{ScatterPlan, reduce_blocks, sum};
use sinew_math::sparse::PackReal;
use sinew_math::{Mat3, Vec3};

use fibers::Fibers;
pub use fibers::{Actuation, CellFiber, FiberGroup, FiberSummary, MAX_GROUPS};
use gradient::GradientOf;
use point::{ExcessOf, PointsOf};
pub use response::{Points, Response, ResponseError};
use summary::SummaryOf;
pub use summary::{BlockSummary, FLATTENED, von_mises};
use tangent::{PackSink, PrecisionSink, TangentOf, VisitSink};

/// Cells per pack: the f64 lanes of every instruction-set level.
pub const PACK: usize = 8;

/// Packs per block of the sums: about ten microseconds of work.
const SUMMARY_PACKS: usize = 64;

/// Cells of one kind and one law of one body.
pub struct ElasticBlock {
    /// Body of the cells.
    pub body: usize,
    /// Whether cells have nodes that are not unknowns themselves; their tangent takes the general path.
    pub has_bound_nodes: bool,
    /// Where the volume term of the law is evaluated; without effect on cells with one quadrature point.
    pub volume: VolumeForm,
    kind: CellKind,
    law: Law,
    /// Index in the body of each cell of the block.
    cells: Vec<u32>,
    /// Three times the point index, which is the index in the flat array of positions: `[pack][node][lane]`.
    offsets: Vec<u32>,
    /// Shape gradients \[1/m\]: `[pack][quadrature point][node][axis][lane]`.
    gradients: Vec<f64>,
    /// Quadrature weights times rest volume \[m³\]: `[pack][quadrature point][lane]`.
    weights: Vec<f64>,
    /// Material parameters, as many as the law reads: `[pack][parameter][lane]`.
    parameters: Vec<f64>,
    parameter_count: usize,
    has_potential: bool,
    /// Muscle fibers, if any cell has them.
    fibers: Option<Fibers>,
    /// Plan by which packs add nodal gradients.
    nodal: ScatterPlan,
}

impl ElasticBlock {
    /// Packs the cells of `geometry`. `cells` are their indices in the body, `points` lists their points cell by cell,
    /// `specs` are their materials (all of one law), and `point_count` is the number of points of the whole model.
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
        // Cells that share nodes are neighbors, so that the data of a chunk of packs stays in the cache.
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
            fibers: None,
            nodal,
        }
    }

    /// Adds muscle fibers: `fibers` has one entry for each cell of the body.
    ///
    /// # Panics
    /// If the law does not support fibers, or the groups depend on different kinds of stretch.
    pub fn set_fibers(&mut self, groups: Vec<FiberGroup>, fibers: &[CellFiber]) {
        assert!(self.law.takes_fibers(), "the law {} takes no fibers", self.law.name());
        assert!(groups.windows(2).all(|pair| pair[0].measure == pair[1].measure), "one kind of stretch per block");
        let last = self.cells.len() - 1;
        let order = (0..self.pack_count() * PACK).map(|slot| self.cells[slot.min(last)] as usize);
        self.fibers = Some(Fibers::new(groups, fibers, order));
    }

    /// Whether cells have muscle fibers.
    pub fn has_fibers(&self) -> bool {
        self.fibers.is_some()
    }

    /// Whether the force of some fibers depends on their speed; a step then needs the previous positions.
    pub fn needs_motion(&self) -> bool {
        self.fibers.as_ref().is_some_and(Fibers::need_motion)
    }

    /// The groups of fibers; empty without fibers.
    pub fn fiber_groups(&self) -> &[FiberGroup] {
        self.fibers.as_ref().map_or(&[], |fibers| fibers.groups())
    }

    /// The fibers of a cell.
    pub fn fiber_of(&self, cell: usize) -> CellFiber {
        self.fibers.as_ref().map_or(CellFiber::NONE, |fibers| fibers.cell(cell))
    }

    /// Whether the stress of every cell is the derivative of its energy, so that a line search can use the energy.
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

    /// Index in the body of each cell of the block.
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

    /// Rest volume of a cell \[m³\].
    pub fn rest_volume(&self, cell: usize) -> f64 {
        (0..self.points_per_cell()).map(|k| self.weight_of(cell, k)).sum()
    }

    /// Weight, deformation gradient and first Piola–Kirchhoff stress at the quadrature points of a cell, by the scalar
    /// path.
    pub fn evaluate_cell(
        &self,
        cell: usize,
        x: &[Vec3],
        actuation: &Actuation<'_>,
        mut visit: impl FnMut(f64, Mat3, Mat3),
    ) {
        self.visit_points(cell, x, actuation, &mut visit);
    }

    /// Not generic, so that no other crate compiles laws.
    fn visit_points(&self, cell: usize, x: &[Vec3], actuation: &Actuation<'_>, visit: &mut dyn FnMut(f64, Mat3, Mat3)) {
        without_lanes(PointsOf { block: self, cell, x, actuation, visit });
    }

    /// Index, weight and deformation gradient of each quadrature point of a cell.
    pub fn evaluate_deformation(&self, cell: usize, x: &[Vec3], mut visit: impl FnMut(usize, f64, Mat3)) {
        let origin = x[self.point(cell, 0) as usize];
        for k in 0..self.points_per_cell() {
            let mut F = Mat3::zero();
            for a in 1..self.kind.nodes_per_cell() {
                F += Mat3::outer(x[self.point(cell, a) as usize] - origin, self.gradient_of(cell, k, a));
            }
            visit(k, self.weight_of(cell, k), F);
        }
    }

    /// Plan by which packs add nodal values.
    pub fn nodal_plan(&self) -> &ScatterPlan {
        &self.nodal
    }

    /// Largest [`projection_excess`](sinew_cell::material::projection_excess) over the quadrature points of a cell.
    pub fn projection_excess(&self, cell: usize, x: &[Vec3]) -> f64 {
        let point = self.parameters_of(cell);
        let mut most = 0.0f64;
        self.evaluate_deformation(cell, x, |_, _, F| most = most.max(self.law.visit(ExcessOf { F, point })));
        most
    }

    /// Whether the law is isotropic.
    pub fn is_isotropic(&self) -> bool {
        self.law.is_isotropic()
    }

    /// Strain energy with that of active fibers \[J\]; +∞ when a law with a barrier meets a cell of non-positive
    /// volume.
    pub fn energy(&self, x: &[Vec3], actuation: &Actuation<'_>) -> f64 {
        // A separate kernel would be a third faster, but a quarter more code for every law, kind of cell and
        // instruction set.
        self.summarize(x, actuation).potential
    }

    /// Sums and extremes over all quadrature points.
    pub fn summarize(&self, x: &[Vec3], actuation: &Actuation<'_>) -> BlockSummary {
        self.check_positions(x);
        self.check_motion(actuation);
        let packs = |packs| dispatch(SummaryOf { block: self, x, actuation, packs });
        reduce_blocks(self.pack_count(), SUMMARY_PACKS, packs, BlockSummary::join).unwrap_or_default()
    }

    /// gradient += s ∂E/∂x with the factor s = `scale`; returns s E \[J\]. `pack_energies` is scratch with one entry
    /// per pack.
    pub fn add_gradient(
        &self,
        x: &[Vec3],
        actuation: &Actuation<'_>,
        scale: f64,
        gradient: &mut [Vec3],
        pack_energies: &[AtomicU64],
    ) -> f64 {
        self.check_positions(x);
        self.check_motion(actuation);
        self.nodal.for_each_chunk(gradient, |packs, writer| {
            GradientOf { block: self, x, actuation, scale, packs, writer, pack_energies }.run();
        });
        scale * sum(self.pack_count(), |pack| f64::from_bits(pack_energies[pack].load(Ordering::Relaxed)))
    }

    /// Adds the element matrices times `scale`, on and below the diagonal, to `values` through `plan`. The elements of
    /// the plan are the packs with the slots of [`matrix_slots`](Self::matrix_slots).
    pub fn add_tangent<S: PackReal>(
        &self,
        x: &[Vec3],
        actuation: &Actuation<'_>,
        tangent: Tangent,
        scale: f64,
        plan: &ScatterPlan,
        values: &mut [Mat3<S>],
    ) {
        self.check_positions(x);
        self.check_motion(actuation);
        plan.for_each_chunk(values, |packs, writer| {
            self.tangent_packs(packs, x, actuation, tangent, scale, &mut PrecisionSink(writer));
        });
    }

    /// Calls `visit(cell, a, b, K_ab)` for all pairs of local nodes of the cells of some packs, a cell at a time; for
    /// cells with bound nodes, and for estimates.
    pub fn visit_tangents(
        &self,
        packs: Range<usize>,
        x: &[Vec3],
        actuation: &Actuation<'_>,
        tangent: Tangent,
        visit: &mut dyn FnMut(usize, usize, usize, Mat3),
    ) {
        self.check_positions(x);
        self.check_motion(actuation);
        self.tangent_packs(packs, x, actuation, tangent, 1.0, &mut VisitSink { block: self, visit });
    }

    /// Not generic, so that callers with matrices of any precision compile no kernel.
    fn tangent_packs(
        &self,
        packs: Range<usize>,
        x: &[Vec3],
        actuation: &Actuation<'_>,
        tangent: Tangent,
        scale: f64,
        sink: &mut dyn PackSink,
    ) {
        dispatch(TangentOf { block: self, x, actuation, tangent, scale, packs, sink });
    }

    /// Largest λ/μ of a cell.
    pub fn largest_volume_stiffness(&self) -> f64 {
        (0..self.cell_count()).map(|cell| self.parameters_of(cell)).map(|p| p.lambda / p.mu).fold(0.0, f64::max)
    }

    /// Adds to each point the size of the elastic force on it when its cells are strained by one: Σ w (λ + 2μ) |∇Nₐ|
    /// \[N\].
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

    /// Checks the number of positions; the packed kernels do not.
    fn check_positions(&self, x: &[Vec3]) {
        assert_eq!(x.len(), self.nodal.target_length(), "one position per point of the model");
    }

    fn check_motion(&self, actuation: &Actuation<'_>) {
        if let Some((previous, _)) = actuation.motion {
            self.check_positions(previous);
        }
    }

    /// Parameters of the law in one cell.
    pub fn parameters_of(&self, cell: usize) -> MaterialPoint<f64> {
        let count = self.parameter_count;
        let first = cell / PACK * count * PACK + cell % PACK;
        MaterialPoint::from_array(std::array::from_fn(
            |k| {
                if k < count { self.parameters[first + k * PACK] } else { 0.0 }
            },
        ))
    }

    /// Shape gradient of node `a` at quadrature point `k` of one cell.
    pub fn gradient_of(&self, cell: usize, k: usize, a: usize) -> Vec3 {
        let (n, q) = (self.kind.nodes_per_cell(), self.points_per_cell());
        let first = ((cell / PACK * q + k) * n + a) * 3 * PACK + cell % PACK;
        Vec3::new(self.gradients[first], self.gradients[first + PACK], self.gradients[first + 2 * PACK])
    }

    /// Weight of quadrature point `k` of one cell \[m³\].
    pub fn weight_of(&self, cell: usize, k: usize) -> f64 {
        self.weights[(cell / PACK * self.points_per_cell() + k) * PACK + cell % PACK]
    }

    /// Slots of all packs for a matrix plan, in the order `[a][b ≤ a][lane]` over pairs of local nodes: `slot(row,
    /// column)` of two points with row ≥ column.
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
