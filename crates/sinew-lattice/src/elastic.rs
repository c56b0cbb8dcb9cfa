//! Energy and forces of a lattice, for many threads at once.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use sinew_geometry::lattice::HexLattice;
use sinew_math::Vec3;

use crate::aligned::Aligned;
use crate::force::{self, Elastic};
use crate::kernel::ModeStiffness;
use crate::layout::Layout;
use crate::level::materials_of;

/// The elastic energy of a lattice,
/// $$E = \sum_e h^3 \left[ \mu \|F-R\|^2 + \tfrac{\lambda}{2}\operatorname{tr}^2(R^T F - I) \right]$$ with F at the centre of each cell, and what its bilinear and trilinear modes add.
#[derive(Debug)]
pub struct LatticeElastic {
    layout: Layout,
    /// Edge of the cubes [m].
    h: f64,
    materials: Aligned,
    modes: ModeStiffness,
    rest_positions: Vec<Vec3>,
    /// Scratch that nobody uses at present.
    scratch: Mutex<Vec<Scratch>>,
}

/// Displacements and forces in slots, and the energies of layers.
#[derive(Debug, Default)]
struct Scratch {
    u: Vec<f64>,
    out: Vec<f64>,
    energies: Vec<AtomicU64>,
}

impl LatticeElastic {
    /// The energy of a lattice with μ and λ of each cell [Pa].
    pub fn new(lattice: &HexLattice, lame: &[[f64; 2]], modes: ModeStiffness) -> Self {
        let layout = Layout::new(lattice);
        Self {
            h: lattice.cell,
            materials: materials_of(&layout, lame),
            modes,
            rest_positions: (0..lattice.node_places.len()).map(|node| lattice.node_position(node)).collect(),
            scratch: Mutex::default(),
            layout,
        }
    }

    /// Elastic energy at these positions of the nodes [J].
    pub fn energy(&self, x: &[Vec3]) -> f64 {
        let mut scratch = self.take_scratch(x);
        let energy = force::energy(self.elastic(), &scratch.u, &mut scratch.energies);
        self.give_back(scratch);
        energy
    }

    /// Adds `scale` times the derivatives of the energy [N], without regard to what is fixed; returns `scale` times the energy.
    pub fn add_gradient(&self, x: &[Vec3], scale: f64, gradient: &mut [Vec3]) -> f64 {
        let mut scratch = self.take_scratch(x);
        let Scratch { u, out, energies } = &mut scratch;
        out.resize(self.layout.value_count(), 0.0);
        let energy = force::gradient(self.elastic(), u, out, energies);
        self.layout.collect(out, gradient, |sum, force| *sum += Vec3::from(force) * scale);
        self.give_back(scratch);
        scale * energy
    }

    fn elastic(&self) -> Elastic<'_> {
        Elastic { layout: &self.layout, h: self.h, materials: &self.materials, modes: self.modes }
    }

    /// Scratch with displacements from positions.
    fn take_scratch(&self, x: &[Vec3]) -> Scratch {
        assert_eq!(x.len(), self.rest_positions.len(), "a position per node");
        // What a thread that panicked left behind is overwritten before it is read.
        let free = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = free.unwrap_or_default();
        scratch.u.resize(self.layout.value_count(), 0.0);
        scratch.energies.resize_with(self.layout.plane_count(), AtomicU64::default);
        self.layout.spread(&mut scratch.u, |node| {
            let u = x[node] - self.rest_positions[node];
            [u.x, u.y, u.z]
        });
        scratch
    }

    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }
}
