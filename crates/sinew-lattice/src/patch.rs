//! Tangents of a few cells at the current displacements: a patch that moves while everything else stays fixed.
//!
//! They equal those of [`Multigrid::linearize`] with an inversion barrier, in packs of sixteen cells without a layout:
//! a product gathers the corners of its cells and scatters their forces.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::{LaneScalar, Mat3, Scalar, Vec3};

use crate::inversion_barrier::{self, FirmPack, Lanes};
use crate::kernel::{BLOCK, BULK, ModeStiffness, STATE};
use crate::layout::LANES;
use crate::multigrid::Multigrid;
use crate::precise::{Bent, forces, transform};
use crate::tangent::{GRADIENT, MATERIAL, Role, TangentKind, TangentOf, linearize};
use crate::volume::VolumeLaw;

/// Tangents of some cells of the finest level. The patch has its own node numbering; nodes past its node count stay
/// fixed.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    packs: Vec<Pack>,
    modes: Option<ModeStiffness>,
}

/// Sixteen cells. Lanes without a cell have no stiffness.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Pack {
    count: usize,
    nodes: [[u32; 8]; LANES],
    state: [f32; BLOCK],
    bulk: [f32; BULK],
    has_bulk: bool,
    firm: Option<FirmPack>,
}

/// One cell of a patch.
#[derive(Clone, Copy, Debug)]
pub struct PatchCell {
    /// Index in the lattice.
    pub cell: u32,
    /// Corner nodes, in the patch's numbering.
    pub nodes: [u32; 8],
    /// Corner displacements \[m\].
    pub corners: [Vec3; 8],
}

impl Patch {
    /// Computes the definite tangents of these cells, replacing the old ones. Returns false if there are muscle fibers,
    /// which patches do not support.
    pub fn fill(&mut self, multigrid: &Multigrid, cells: &[PatchCell]) -> bool {
        let level = &multigrid.levels[0];
        if !level.fibers.is_empty() {
            return false;
        }
        let Self { packs, modes } = self;
        *modes = Some(multigrid.params.modes);
        packs.clear();
        for cells in cells.chunks(LANES) {
            let mut corners = [[[0.0; LANES]; 3]; 8];
            let mut materials = [0.0; MATERIAL];
            let mut limits = [f32::MAX; LANES];
            let mut nodes = [[0; 8]; LANES];
            for (lane, cell) in cells.iter().enumerate() {
                nodes[lane] = cell.nodes;
                let (block, from) = level.layout.cell_slot(cell.cell as usize);
                for k in 0..2 {
                    materials[k * LANES + lane] = level.materials[block * MATERIAL + k * LANES + from];
                }
                if multigrid.params.inversion_barrier {
                    limits[lane] = level.corners.limits[block * LANES + from];
                }
                for (corner, u) in corners.iter_mut().zip(&cell.corners) {
                    (0..3).for_each(|c| corner[c][lane] = u[c] as f32);
                }
            }
            let mut gradients = [0.0; GRADIENT];
            dispatch(Gradients { h: level.h, corners: &corners, gradients: &mut gradients });
            let has_bulk = level.volume == VolumeLaw::Determinant;
            let mut pack =
                Pack { count: cells.len(), nodes, state: [0.0; BLOCK], bulk: [0.0; BULK], has_bulk, firm: None };
            let of = TangentOf {
                kind: TangentKind::Definite,
                h: level.h,
                scale: multigrid.scale,
                materials: &materials,
                volume: level.volume,
                role: Role::Product,
            };
            linearize(of, &gradients, &mut pack.state, &mut [], if has_bulk { &mut pack.bulk } else { &mut [] });
            if multigrid.params.inversion_barrier {
                pack.firm = inversion_barrier::firm_pack(level.h, multigrid.scale, &materials, &limits, &corners);
            }
            packs.push(pack);
        }
        true
    }

    /// Adds the product with x to `out`, both by patch node. Nodes past the end of x have x = 0.
    pub fn add_product(&self, x: &[Vec3<f32>], out: &mut [Vec3<f32>]) {
        if let Some(modes) = self.modes {
            dispatch(Product { packs: &self.packs, modes, x, out });
        }
    }

    /// Adds the diagonal blocks.
    pub fn add_diagonal(&self, diagonal: &mut [Mat3<f32>]) {
        if let Some(modes) = self.modes {
            dispatch(Diagonal { packs: &self.packs, modes, diagonal });
        }
    }
}

/// Deformation gradients at the centers of cells with these corner displacements.
struct Gradients<'a> {
    h: f64,
    corners: &'a Lanes<8>,
    gradients: &'a mut [f32; GRADIENT],
}

impl LaneKernel for Gradients<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut modes = inversion_barrier::load::<I::F32, 8>(self.corners);
        transform(&mut modes);
        for (j, mode) in [1, 2, 4].into_iter().enumerate() {
            for i in 0..3 {
                let rest = if i == j { I::F32::one() } else { I::F32::zero() };
                let value = modes[mode][i].mul_add(I::F32::splat(0.25 / self.h), rest);
                value.store(&mut self.gradients[(3 * i + j) * LANES..(3 * i + j + 1) * LANES]);
            }
        }
    }
}

impl Pack {
    /// Forces for corner displacements x.
    #[inline(always)]
    fn forces<F: LaneScalar<Element = f32>>(&self, modes: ModeStiffness, x: &[[F; 3]; 8]) -> [[F; 3]; 8] {
        let mut state = [F::zero(); STATE];
        for (k, row) in state.iter_mut().enumerate() {
            *row = F::load(&self.state[k * LANES..(k + 1) * LANES]);
        }
        let mut bent = Bent::full(modes);
        if self.has_bulk {
            let mut bulk = [F::zero(); BULK / LANES];
            for (k, row) in bulk.iter_mut().enumerate() {
                *row = F::load(&self.bulk[k * LANES..(k + 1) * LANES]);
            }
            bent.bulk = Some(bulk);
        }
        let mut sum = forces(&state, x, &bent);
        if let Some(firm) = &self.firm {
            let firm = firm.forces(*x);
            for k in 0..8 {
                for c in 0..3 {
                    sum[k][c] += firm[k][c];
                }
            }
        }
        sum
    }
}

struct Product<'a> {
    packs: &'a [Pack],
    modes: ModeStiffness,
    x: &'a [Vec3<f32>],
    out: &'a mut [Vec3<f32>],
}

impl LaneKernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut corners = [[[0.0; LANES]; 3]; 8];
        for pack in self.packs {
            for (lane, nodes) in pack.nodes.iter().enumerate() {
                for k in 0..8 {
                    let x = self.x.get(nodes[k] as usize).copied().unwrap_or(Vec3::zero()).to_array();
                    for c in 0..3 {
                        corners[k][c][lane] = x[c];
                    }
                }
            }
            let forces = pack.forces::<I::F32>(self.modes, &inversion_barrier::load(&corners));
            inversion_barrier::store(&forces, &mut corners);
            for (lane, nodes) in pack.nodes[..pack.count].iter().enumerate() {
                for k in 0..8 {
                    if let Some(out) = self.out.get_mut(nodes[k] as usize) {
                        *out += Vec3::from([corners[k][0][lane], corners[k][1][lane], corners[k][2][lane]]);
                    }
                }
            }
        }
    }
}

struct Diagonal<'a> {
    packs: &'a [Pack],
    modes: ModeStiffness,
    diagonal: &'a mut [Mat3<f32>],
}

impl LaneKernel for Diagonal<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut column = [[[0.0; LANES]; 3]; 1];
        for pack in self.packs {
            for k in 0..8 {
                for j in 0..3 {
                    let mut x = [[I::F32::zero(); 3]; 8];
                    x[k][j] = I::F32::one();
                    let forces = pack.forces::<I::F32>(self.modes, &x);
                    inversion_barrier::store(&[forces[k]], &mut column);
                    for (lane, nodes) in pack.nodes[..pack.count].iter().enumerate() {
                        if let Some(block) = self.diagonal.get_mut(nodes[k] as usize) {
                            for i in 0..3 {
                                block.rows[i][j] += column[0][i][lane];
                            }
                        }
                    }
                }
            }
        }
    }
}
