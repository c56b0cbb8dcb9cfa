//! Energy and forces of a lattice, callable from many threads.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use sinew_geometry::lattice::HexLattice;
use sinew_math::Vec3;

use crate::aligned::Aligned;
use crate::differential;
use crate::fibers::{Fibers, LaneFibers};
use crate::force::{self, Elastic};
use crate::inversion_barrier::bend_limits;
use crate::kernel::ModeStiffness;
use crate::layout::Layout;
use crate::level::materials_of;
use crate::volume::VolumeLaw;

/// The elastic energy of a lattice,
/// ```math
/// E = \sum_e h^3 \left[ \mu \|F-R\|^2 + \tfrac{\lambda}{2}\operatorname{tr}^2(R^T F - I) \right]
/// ```
/// with F at the center of each cell, plus the energy of the bilinear and trilinear modes. [`VolumeLaw`] may replace
/// the second term by $`\lambda\, w(\det F)`$.
#[derive(Debug)]
pub struct LatticeElastic {
    layout: Layout,
    /// Edge of the cubes \[m\].
    h: f64,
    materials: Aligned,
    modes: ModeStiffness,
    volume: VolumeLaw,
    /// b₀ of each cell with an inversion barrier; empty without one.
    bend_limits: Aligned,
    fibers: LaneFibers,
    rest_positions: Vec<Vec3>,
    /// Scratch that is not in use.
    scratch: Mutex<Vec<Scratch>>,
}

/// Displacements and forces in slots, and the energies of layers.
#[derive(Debug, Default)]
struct Scratch {
    u: Vec<f64>,
    du: Vec<f64>,
    out: Vec<f64>,
    energies: Vec<AtomicU64>,
    /// α σ₀ of the lanes, and the activations α it was computed for.
    active: Aligned,
    activations: Vec<f64>,
}

impl LatticeElastic {
    /// Energy of a lattice with μ and λ of each cell \[Pa\].
    pub fn new(lattice: &HexLattice, lame: &[[f64; 2]], modes: ModeStiffness, volume: VolumeLaw) -> Self {
        Self::with_fibers(lattice, lame, modes, volume, None)
    }

    /// Energy of a lattice with muscle fibers.
    pub fn with_fibers(
        lattice: &HexLattice,
        lame: &[[f64; 2]],
        modes: ModeStiffness,
        volume: VolumeLaw,
        fibers: Option<&Fibers>,
    ) -> Self {
        let layout = Layout::new(lattice);
        Self {
            h: lattice.cell,
            materials: materials_of(&layout, lame),
            modes,
            volume,
            bend_limits: Aligned::default(),
            fibers: fibers.map(|fibers| LaneFibers::new(&layout, fibers)).unwrap_or_default(),
            rest_positions: (0..lattice.node_places.len()).map(|node| lattice.node_position(node)).collect(),
            scratch: Mutex::default(),
            layout,
        }
    }

    /// Adds an inversion barrier for cells of the same lattice. Requires [`VolumeLaw::Determinant`]; see
    /// [`MultigridParams::inversion_barrier`](crate::MultigridParams::inversion_barrier).
    #[must_use]
    pub fn with_inversion_barrier(self, lattice: &HexLattice) -> Self {
        Self { bend_limits: bend_limits(lattice, &self.layout), ..self }
    }

    /// Elastic energy at these node positions and fiber activations \[J\].
    pub fn energy(&self, x: &[Vec3], activations: &[f64]) -> f64 {
        let mut scratch = self.take_scratch(x, activations);
        let energy = force::energy(self.elastic(&scratch.active), &scratch.u, &mut scratch.energies);
        self.give_back(scratch);
        energy
    }

    /// Adds `scale` times the energy gradient \[N\], including fixed components; returns `scale` times the energy.
    pub fn add_gradient(&self, x: &[Vec3], activations: &[f64], scale: f64, gradient: &mut [Vec3]) -> f64 {
        let mut scratch = self.take_scratch(x, activations);
        let Scratch { u, out, energies, active, .. } = &mut scratch;
        out.resize(self.layout.value_count(), 0.0);
        let energy = force::gradient(self.elastic(active), u, out, energies);
        self.layout.collect(out, gradient, |sum, force| *sum += Vec3::from(force) * scale);
        self.give_back(scratch);
        scale * energy
    }

    /// Adds `scale` times the exact change of the gradient when the nodes move by `dx` \[N\], including fixed
    /// components.
    pub fn add_product(&self, x: &[Vec3], activations: &[f64], scale: f64, dx: &[Vec3], out: &mut [Vec3]) {
        let mut scratch = self.take_scratch(x, activations);
        let Scratch { u, du, out: sums, active, .. } = &mut scratch;
        du.resize(self.layout.value_count(), 0.0);
        sums.resize(self.layout.value_count(), 0.0);
        self.layout.spread(du, |node| dx[node].to_array());
        differential::product(self.elastic(active), u, du, sums);
        self.layout.collect(sums, out, |sum, force| *sum += Vec3::from(force) * scale);
        self.give_back(scratch);
    }

    fn elastic<'a>(&'a self, active: &'a [f32]) -> Elastic<'a> {
        let Self { layout, h, materials, modes, volume, bend_limits, fibers, .. } = self;
        let (modes, volume) = (*modes, *volume);
        Elastic { layout, h: *h, materials, fibers: &fibers.rest, active, modes, volume, bend_limits }
    }

    /// Scratch holding the displacements at these positions, and the active stress of the fibers.
    fn take_scratch(&self, x: &[Vec3], activations: &[f64]) -> Scratch {
        assert_eq!(x.len(), self.rest_positions.len(), "a position per node");
        // Data left by a thread that panicked is overwritten before it is read.
        let free = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = free.unwrap_or_default();
        scratch.u.resize(self.layout.value_count(), 0.0);
        scratch.energies.resize_with(self.layout.plane_count(), AtomicU64::default);
        self.layout.spread(&mut scratch.u, |node| {
            let u = x[node] - self.rest_positions[node];
            [u.x, u.y, u.z]
        });
        if !self.fibers.is_empty() && (scratch.active.is_empty() || scratch.activations != activations) {
            self.fibers.fill_active(activations, &mut scratch.active);
            scratch.activations.clear();
            scratch.activations.extend_from_slice(activations);
        }
        scratch
    }

    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }
}
