//! Inversion barrier: keeps cells from inverting at their corners.
//!
//! One-point elasticity sees only the center of a cell. A flattened cell can invert a corner with almost no bending,
//! and an unsupported surface corner can move out by several cells if that restores the volume of a compressed cell. So
//! a cell resists in two cases: when the volume J at one of its eight Gauss points falls below a fraction of its rest
//! value, and when its bending modes b (the contribution of the modes xy, xz, yz and xyz to F) exceed the bending that
//! flesh of its thickness needs and cells can represent:
//! ```math
//! E = \kappa h^3 \Big[ \tfrac18 \sum_q \varphi(J_q) + \tfrac12 \max(0, |b| - b_0)^2 \Big], \qquad
//!    \varphi(J) = J_0 \ln \frac{J_0}{J} - J_0 + J \quad (J < J_0), \qquad \kappa = 2 (\lambda + 2\mu),
//! ```
//! Below J₁, φ continues as its second-order Taylor polynomial, so inverted cells can recover from any state. Few cells
//! are ever active. Their tangent is a sum of squares of rows ∂J_q/∂u and ∂b/∂u; the ∂²J_q term is dropped to keep it
//! definite. Thin limbs fold within a few cells, so their b₀ is larger.

use sinew_geometry::lattice::HexLattice;
use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::{LaneScalar, Scalar};

use crate::aligned::Aligned;
use crate::layers::for_each_layer_of_blocks;
use crate::layout::{LANES, Layout};
use crate::nonlinear::load_corners;
use crate::precise::{transform, transform_back};
use crate::tangent::{MATERIAL, corners_of};
use crate::thickness::thickness_of;
use crate::volume::cofactor_columns;

/// J₀, its cube root (no cell whose stretches all exceed it has a smaller volume), and J₁.
const LEAST: f64 = 0.3;
const MIN_STRETCH: f64 = 0.67;
const HARD: f64 = 0.06;
/// κ over λ + 2μ.
const FIRMNESS: f64 = 2.0;
/// Fold angle over a length equal to the thickness \[rad\]: sets b₀ where the body is few cells thick.
const FOLD: f64 = 1.6;
/// b₀ where the body is many cells thick, a bend to a radius of 2.5 cells; and b₀ where it is one cell thick.
const MIN_LIMIT: f64 = 0.2;
const MAX_LIMIT: f64 = 1.0;
/// Distance of Gauss points from the center along each axis, in half edges: 1/√3.
const REACH: f64 = 0.577_350_269_189_625_8;
/// Upper bound of |contribution of bends to F at a Gauss point| / |bends|: 2 √(2/3).
const BEND_REACH: f64 = 1.633;

/// The bending modes of a cell: xy, xz, yz and xyz.
const BENDS: [usize; 4] = [3, 5, 6, 7];

/// Columns of F at a Gauss point, from F at the center and the bending modes over 4h.
#[inline(always)]
fn gradient_at<F: Scalar>(center: &[[F; 3]; 3], bends: &[[F; 3]; 4], [x, y, z]: [F; 3]) -> [[F; 3]; 3] {
    let mut f = *center;
    for c in 0..3 {
        let [xy, xz, yz, xyz] = [bends[0][c], bends[1][c], bends[2][c], bends[3][c]];
        f[0][c] += y * xy + z * xz + y * z * xyz;
        f[1][c] += x * xy + z * yz + x * z * xyz;
        f[2][c] += x * xz + y * yz + x * y * xyz;
    }
    f
}

#[inline(always)]
fn gauss_point<F: Scalar>(q: usize) -> [F; 3] {
    let mut place = [F::splat(REACH); 3];
    for (axis, value) in place.iter_mut().enumerate() {
        if q >> axis & 1 == 0 {
            *value = -*value;
        }
    }
    place
}

/// J and the columns of cof F.
#[inline(always)]
fn volume_of<F: Scalar>(f: &[[F; 3]; 3]) -> (F, [[F; 3]; 3]) {
    let cofactor = cofactor_columns(f);
    let mut volume = F::zero();
    for c in 0..3 {
        volume = f[0][c].mul_add(cofactor[0][c], volume);
    }
    (volume, cofactor)
}

/// Adds to each mode the work-conjugate force of a stress at a Gauss point, over 4h.
#[inline(always)]
fn add_to_modes<F: Scalar>(stress: &[[F; 3]; 3], [x, y, z]: [F; 3], modes: &mut [[F; 3]; 8]) {
    for c in 0..3 {
        let [p, q, r] = [stress[0][c], stress[1][c], stress[2][c]];
        modes[1][c] += p;
        modes[2][c] += q;
        modes[4][c] += r;
        modes[3][c] += y * p + x * q;
        modes[5][c] += z * p + x * r;
        modes[6][c] += z * q + y * r;
        modes[7][c] += y * z * p + x * z * q + x * y * r;
    }
}

/// φ, its slope and its curvature at volume J.
#[inline(always)]
fn volume_law<F: Scalar>(volume: F) -> [F; 3] {
    let (least, hard) = (F::splat(LEAST), F::splat(HARD));
    let safe = F::min(F::max(volume, hard), least);
    let inverse = safe.recip();
    let ratio = least * inverse;
    // Distance below J₁.
    let beyond = F::min(volume - safe, F::zero());
    let (slope, curvature) = (F::one() - ratio, ratio * inverse);
    let energy = least * ratio.ln() - least + safe + beyond * (slope + F::splat(0.5) * curvature * beyond);
    let curvature = F::select(volume.lt(least), curvature, F::zero());
    [energy, slope + curvature * beyond, curvature]
}

/// b₀ of each cell, in the lanes of its block; lanes without a cell have no limit.
pub(crate) fn bend_limits(lattice: &HexLattice, layout: &Layout) -> Aligned {
    let most = (FOLD / MIN_LIMIT).ceil() as u8;
    let mut limits = Aligned::zeros(layout.block_count() * LANES);
    limits.fill(f32::MAX);
    for (cell, thickness) in thickness_of(lattice, most).into_iter().enumerate() {
        let (block, lane) = layout.cell_slot(cell);
        limits[block * LANES + lane] = (FOLD / f64::from(thickness)).clamp(MIN_LIMIT, MAX_LIMIT) as f32;
    }
    limits
}

/// Slope over size, and energy, of bends of this size beyond a limit.
#[inline(always)]
fn bend_law<F: Scalar>(size: F, limit: F) -> [F; 2] {
    let beyond = F::max(size - limit, F::zero());
    [beyond * F::max(size, limit).recip(), F::splat(0.5) * beyond * beyond]
}

/// κ h³.
#[inline(always)]
fn stiffness<F: Scalar>(h: f64, [mu, lambda]: [F; 2]) -> F {
    (lambda + mu + mu) * F::splat(FIRMNESS * h * h * h)
}

/// Energy of cells from their modes; adds its derivatives to `forces`. `limit` is b₀, `least` the smallest stretch.
#[inline(always)]
pub(crate) fn resist<F: Scalar>(
    h: f64,
    lame: [F; 2],
    limit: F,
    center: &[[F; 3]; 3],
    least: F,
    modes: &[[F; 3]; 8],
    forces: &mut [[F; 3]; 8],
) -> F {
    let per_edge = F::splat(0.25 / h);
    let mut bends = [[F::zero(); 3]; 4];
    let mut size = F::zero();
    for (bend, mode) in bends.iter_mut().zip(BENDS) {
        for c in 0..3 {
            bend[c] = modes[mode][c] * per_edge;
            size = bend[c].mul_add(bend[c], size);
        }
    }
    let mut energy = F::zero();
    let size = size.sqrt();
    let is_pressed = (least - F::splat(BEND_REACH) * size).lt(F::splat(MIN_STRETCH));
    let is_bent = size.gt(limit);
    if !(F::any(is_pressed) || F::any(is_bent)) {
        return energy;
    }
    let stiffness = stiffness(h, lame);
    let [per_bend, stored] = bend_law(size, limit);
    energy += stiffness * stored;
    for (bend, mode) in bends.iter().zip(BENDS) {
        for c in 0..3 {
            forces[mode][c] += stiffness * per_bend * bend[c] * per_edge;
        }
    }
    let share = F::splat(0.125) * stiffness;
    for q in 0..8 {
        let place = gauss_point::<F>(q);
        let (volume, mut cofactor) = volume_of(&gradient_at(center, &bends, place));
        let [stored, slope, _] = volume_law(volume);
        energy += share * stored;
        let push = share * slope * per_edge;
        for column in &mut cofactor {
            for value in column {
                *value *= push;
            }
        }
        add_to_modes(&cofactor, place, forces);
    }
    energy
}

/// Three numbers of each of N things, in lanes.
pub(crate) type Lanes<const N: usize> = [[[f32; LANES]; 3]; N];

/// Tangents of the active cells of the finest level.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirmCells {
    /// Nodes of all cells.
    cells: Vec<[u32; 8]>,
    /// b₀ of each lane.
    pub limits: Aligned,
    /// Smallest volume at the Gauss points of each lane; negative where bends are too large.
    least: Aligned,
    /// Nodes of active cells, sorted; and these cells.
    nodes: Vec<u32>,
    packs: Vec<Pack>,
    places: Vec<[f32; 3]>,
    pulls: Vec<[f32; 3]>,
    /// Saved entries of the right-hand side.
    kept: Vec<[f32; 3]>,
}

/// A pack of these cells, in lanes.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Pack {
    count: usize,
    /// Indices of their nodes.
    nodes: [[u32; 8]; LANES],
    tangents: FirmPack,
}

/// Tangents of active cells. Other lanes have zero stiffness.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct FirmPack {
    /// F at the center and bending modes over 4h, at the point of linearization.
    center: Lanes<3>,
    bends: Lanes<4>,
    /// Stiffness of modes: of each bend, of the bends along their own direction, and of the volume at each Gauss point
    /// \[N/m\].
    each_bend: [f32; LANES],
    along_bends: [f32; LANES],
    volumes: [[f32; LANES]; 8],
    /// Absolute row sums of the tangent, or an upper bound \[N/m\].
    sums: Lanes<8>,
}

impl FirmPack {
    const NONE: Self = Self {
        center: [[[0.0; LANES]; 3]; 3],
        bends: [[[0.0; LANES]; 3]; 4],
        each_bend: [0.0; LANES],
        along_bends: [0.0; LANES],
        volumes: [[0.0; LANES]; 8],
        sums: [[[0.0; LANES]; 3]; 8],
    };
}

/// Tangents of cells with these materials, limits b₀ and corner displacements, if one of them is active.
pub(crate) fn firm_pack(
    h: f64,
    scale: f64,
    materials: &[f32; MATERIAL],
    limits: &[f32; LANES],
    corners: &Lanes<8>,
) -> Option<FirmPack> {
    let mut pack = FirmPack::NONE;
    dispatch(Linearization { h, scale, materials, limits, corners, pack: &mut pack });
    let is_stiff = |stiffness: &[f32; LANES]| stiffness.iter().any(|&stiffness| stiffness > 0.0);
    (is_stiff(&pack.each_bend) || pack.volumes.iter().any(is_stiff)).then_some(pack)
}

impl FirmCells {
    /// Empty, for a lattice.
    pub fn new(lattice: &HexLattice, layout: &Layout) -> Self {
        let cells = lattice.cells.iter().map(|cell| cell.nodes).collect();
        Self { cells, limits: bend_limits(lattice, layout), ..Self::default() }
    }

    /// Finds the active cells at displacements u, in slots, and their tangents.
    pub fn find(&mut self, layout: &Layout, h: f64, materials: &[f32], u: &[f32], scale: f64) {
        let Self { cells, limits, least, nodes, packs, places, pulls, kept } = self;
        if cells.is_empty() {
            return;
        }
        if least.is_empty() {
            *least = Aligned::zeros(layout.block_count() * LANES);
        }
        for_each_layer_of_blocks(layout, LANES, least, &|plane, least, first| {
            dispatch(LeastVolumes { layout, plane, h, u, limits, least, first });
        });
        packs.clear();
        let mut corners = [[[0.0; LANES]; 3]; 8];
        let mut own = ([0.0; MATERIAL], [f32::MAX; LANES]);
        let finish =
            |pack: &mut Pack, corners: &Lanes<8>, (materials, limits): &mut ([f32; MATERIAL], [f32; LANES])| {
                dispatch(Linearization { h, scale, materials, limits, corners, pack: &mut pack.tangents });
                *materials = [0.0; MATERIAL];
            };
        for (cell, &nodes) in cells.iter().enumerate() {
            let (block, from) = layout.cell_slot(cell);
            if least[block * LANES + from] >= LEAST as f32 {
                continue;
            }
            if packs.last().is_none_or(|pack| pack.count == LANES) {
                packs.push(Pack { count: 0, nodes: [[0; 8]; LANES], tangents: FirmPack::NONE });
            }
            let Some(pack) = packs.last_mut() else { continue };
            let lane = pack.count;
            pack.nodes[lane] = nodes;
            pack.count += 1;
            (0..2).for_each(|k| own.0[k * LANES + lane] = materials[block * MATERIAL + k * LANES + from]);
            own.1[lane] = limits[block * LANES + from];
            for (corner, &node) in corners.iter_mut().zip(&nodes) {
                let slot = layout.slots(node as usize)[0];
                (0..3).for_each(|c| corner[c][lane] = u[slot.component(c)]);
            }
            if pack.count == LANES {
                finish(pack, &corners, &mut own);
            }
        }
        if let Some(pack) = packs.last_mut().filter(|pack| pack.count < LANES) {
            finish(pack, &corners, &mut own);
        }
        nodes.clear();
        nodes.extend(packs.iter().flat_map(|pack| pack.nodes[..pack.count].as_flattened()));
        nodes.sort_unstable();
        nodes.dedup();
        for node in packs.iter_mut().flat_map(|pack| pack.nodes[..pack.count].as_flattened_mut()) {
            *node = nodes.binary_search(node).map_or(0, |at| at as u32);
        }
        for list in [places, pulls, kept] {
            list.resize(nodes.len(), [0.0; 3]);
        }
    }

    /// Multiplies the tangents with x at their nodes; calls `add` with each node and sum.
    fn multiply(&mut self, place: impl Fn(u32) -> [f32; 3], mut add: impl FnMut(u32, [f32; 3])) {
        let Self { nodes, packs, places, pulls, .. } = self;
        for (to, &node) in places.iter_mut().zip(&*nodes) {
            *to = place(node);
        }
        pulls.fill([0.0; 3]);
        dispatch(Product { packs, places, pulls });
        nodes.iter().zip(pulls).for_each(|(&node, pull)| add(node, *pull));
    }

    /// Adds the product of the tangents with x, both by node.
    pub fn add_product(&mut self, x: impl Fn(u32) -> [f32; 3], add: impl FnMut(u32, [f32; 3])) {
        if !self.packs.is_empty() {
            self.multiply(x, add);
        }
    }

    /// Subtracts the product of the tangents with x from b, in slots; [`FirmCells::restore`] undoes it.
    pub fn pull(&mut self, layout: &Layout, x: &[f32], b: &mut [f32]) {
        if self.packs.is_empty() {
            return;
        }
        let mut kept = std::mem::take(&mut self.kept);
        let mut next = 0;
        let place = |node: u32| {
            let slot = layout.slots(node as usize)[0];
            [0, 1, 2].map(|c| x[slot.component(c)])
        };
        self.multiply(place, |node, pull| {
            let slots = layout.slots(node as usize);
            for c in 0..3 {
                kept[next][c] = b[slots[0].component(c)];
                slots.iter().for_each(|slot| b[slot.component(c)] = kept[next][c] - pull[c]);
            }
            next += 1;
        });
        self.kept = kept;
    }

    /// Restores the right-hand side.
    pub fn restore(&self, layout: &Layout, b: &mut [f32]) {
        for (&node, kept) in self.nodes.iter().zip(&self.kept) {
            for slot in layout.slots(node as usize) {
                (0..3).for_each(|c| b[slot.component(c)] = kept[c]);
            }
        }
    }

    /// Adds the absolute row sums of the tangents to a diagonal. With them in D, the largest eigenvalue of D⁻¹K does
    /// not grow.
    pub fn add_row_sums(&self, layout: &Layout, diagonal: &mut [f32]) {
        for pack in &self.packs {
            for (lane, nodes) in pack.nodes[..pack.count].iter().enumerate() {
                for (&node, sums) in nodes.iter().zip(&pack.tangents.sums) {
                    for slot in layout.slots(self.nodes[node as usize] as usize) {
                        (0..3).for_each(|c| diagonal[slot.component(c)] += sums[c][lane]);
                    }
                }
            }
        }
    }
}

#[inline(always)]
pub(crate) fn load<F: LaneScalar<Element = f32>, const N: usize>(values: &Lanes<N>) -> [[F; 3]; N] {
    let mut loaded = [[F::zero(); 3]; N];
    for k in 0..N {
        for c in 0..3 {
            loaded[k][c] = F::load(&values[k][c]);
        }
    }
    loaded
}

#[inline(always)]
pub(crate) fn store<F: LaneScalar<Element = f32>, const N: usize>(values: &[[F; 3]; N], out: &mut Lanes<N>) {
    for k in 0..N {
        for c in 0..3 {
            values[k][c].store(&mut out[k][c]);
        }
    }
}

/// Absolute row sum of Σ m mᵀ for one corner, where m holds the corner signs of the four bends: 4 for itself, 2 for
/// each of three neighbors and for the opposite corner.
const BENDS_AT_CORNER: f64 = 12.0;

/// Computes the tangents of a pack of cells with these corner displacements.
struct Linearization<'a> {
    h: f64,
    scale: f64,
    materials: &'a [f32; MATERIAL],
    limits: &'a [f32; LANES],
    corners: &'a Lanes<8>,
    pack: &'a mut FirmPack,
}

impl LaneKernel for Linearization<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { h, scale, materials, limits, corners, pack } = self;
        let mut modes = load::<I::F32, 8>(corners);
        transform(&mut modes);
        let (center, bends) = center_and_bends(h, &modes);
        let lame = [I::F32::load(&materials[..LANES]), I::F32::load(&materials[LANES..])];
        // From J over F and b to N/m over modes.
        let stiffness = stiffness(h, lame) * I::F32::splat(scale * (0.25 / h).powi(2));
        let mut size = I::F32::zero();
        for bend in &bends {
            for value in bend {
                size = value.mul_add(*value, size);
            }
        }
        // ∂²E/∂b² = κ h³ ((1 − b₀/|b|) I + b₀/|b| b̂ b̂ᵀ).
        let size = size.sqrt();
        let limit = I::F32::load(limits);
        let [per_bend, _] = bend_law(size, limit);
        let is_bent = per_bend.gt(I::F32::zero());
        let each = stiffness * per_bend;
        let inverse = I::F32::max(size, limit).recip();
        let along = I::F32::select(is_bent, (stiffness - each) * inverse * inverse, I::F32::zero());
        let mut sums = [[each * I::F32::splat(BENDS_AT_CORNER); 3]; 8];
        let mut weights = [[I::F32::zero(); 3]; 8];
        for (bend, mode) in bends.iter().zip(BENDS) {
            weights[mode] = *bend;
        }
        add_sizes(weights, along, &mut sums);
        for q in 0..8 {
            let place = gauss_point(q);
            let (volume, cofactor) = volume_of(&gradient_at(&center, &bends, place));
            let [_, _, curvature] = volume_law(volume);
            let curvature = I::F32::splat(0.125) * stiffness * curvature;
            let mut weights = [[I::F32::zero(); 3]; 8];
            add_to_modes(&cofactor, place, &mut weights);
            add_sizes(weights, curvature, &mut sums);
            curvature.store(&mut pack.volumes[q]);
        }
        store(&center, &mut pack.center);
        store(&bends, &mut pack.bends);
        each.store(&mut pack.each_bend);
        along.store(&mut pack.along_bends);
        store(&sums, &mut pack.sums);
    }
}

/// Adds the absolute row sums of k w wᵀ, where w has these mode weights.
#[inline(always)]
fn add_sizes<F: Scalar>(mut weights: [[F; 3]; 8], stiffness: F, sums: &mut [[F; 3]; 8]) {
    transform_back(&mut weights);
    let mut total = F::zero();
    for weight in weights.as_flattened() {
        total += weight.abs();
    }
    total *= stiffness;
    for k in 0..8 {
        for c in 0..3 {
            sums[k][c] += total * weights[k][c].abs();
        }
    }
}

/// Adds the forces of active cells at these displacements to their nodes.
struct Product<'a> {
    packs: &'a [Pack],
    places: &'a [[f32; 3]],
    pulls: &'a mut [[f32; 3]],
}

impl LaneKernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut corners = [[[0.0; LANES]; 3]; 8];
        for pack in self.packs {
            for (lane, nodes) in pack.nodes.iter().enumerate() {
                for k in 0..8 {
                    let place = self.places[nodes[k] as usize];
                    for c in 0..3 {
                        corners[k][c][lane] = place[c];
                    }
                }
            }
            let forces = pack.tangents.forces::<I::F32>(load(&corners));
            store(&forces, &mut corners);
            for (lane, nodes) in pack.nodes[..pack.count].iter().enumerate() {
                for k in 0..8 {
                    let pull = &mut self.pulls[nodes[k] as usize];
                    for c in 0..3 {
                        pull[c] += corners[k][c][lane];
                    }
                }
            }
        }
    }
}

impl FirmPack {
    /// Product of the tangents with corner displacements.
    #[inline(always)]
    pub fn forces<F: LaneScalar<Element = f32>>(&self, mut modes: [[F; 3]; 8]) -> [[F; 3]; 8] {
        transform(&mut modes);
        let (center, bends) = (load::<F, 3>(&self.center), load::<F, 4>(&self.bends));
        let change = [modes[1], modes[2], modes[4]];
        let bend_change = [modes[3], modes[5], modes[6], modes[7]];
        let mut forces = [[F::zero(); 3]; 8];
        let mut along = F::zero();
        for k in 0..4 {
            for c in 0..3 {
                along = bends[k][c].mul_add(bend_change[k][c], along);
            }
        }
        along *= F::load(&self.along_bends);
        let each = F::load(&self.each_bend);
        for (k, mode) in BENDS.into_iter().enumerate() {
            for c in 0..3 {
                forces[mode][c] = each * bend_change[k][c] + along * bends[k][c];
            }
        }
        for q in 0..8 {
            let stiffness = F::load(&self.volumes[q]);
            if !F::any(stiffness.gt(F::zero())) {
                continue;
            }
            let place = gauss_point(q);
            let mut cofactor = cofactor_columns(&gradient_at(&center, &bends, place));
            let gradient = gradient_at(&change, &bend_change, place);
            let mut volume = F::zero();
            for j in 0..3 {
                for c in 0..3 {
                    volume = cofactor[j][c].mul_add(gradient[j][c], volume);
                }
            }
            volume *= stiffness;
            for column in &mut cofactor {
                for value in column {
                    *value *= volume;
                }
            }
            add_to_modes(&cofactor, place, &mut forces);
        }
        transform_back(&mut forces);
        forces
    }
}

/// Columns of F at the center, and bending modes over 4h.
#[inline(always)]
fn center_and_bends<F: Scalar>(h: f64, modes: &[[F; 3]; 8]) -> ([[F; 3]; 3], [[F; 3]; 4]) {
    let per_edge = F::splat(0.25 / h);
    let mut center = [[F::zero(); 3]; 3];
    let mut bends = [[F::zero(); 3]; 4];
    for (j, mode) in [1, 2, 4].into_iter().enumerate() {
        for c in 0..3 {
            let rest = if c == j { F::one() } else { F::zero() };
            center[j][c] = modes[mode][c].mul_add(per_edge, rest);
        }
    }
    for (bend, mode) in bends.iter_mut().zip(BENDS) {
        for c in 0..3 {
            bend[c] = modes[mode][c] * per_edge;
        }
    }
    (center, bends)
}

/// Smallest volume at the Gauss points of a layer's cells; negative where bends are too large.
struct LeastVolumes<'a> {
    layout: &'a Layout,
    plane: usize,
    h: f64,
    u: &'a [f32],
    limits: &'a [f32],
    least: &'a mut [f32],
    /// First block of the layer.
    first: usize,
}

impl LaneKernel for LeastVolumes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for segment in self.layout.segments(self.plane) {
            for tile in segment.cell_tiles() {
                let block = segment.block_of(tile);
                let lanes = (block - self.first) * LANES..(block - self.first + 1) * LANES;
                let mut modes = load_corners::<I::F32>(self.u, &corners_of(self.layout, self.plane, segment, tile));
                transform(&mut modes);
                let (center, bends) = center_and_bends(self.h, &modes);
                let mut least = I::F32::splat(f64::from(f32::MAX));
                for q in 0..8 {
                    let (volume, _) = volume_of(&gradient_at(&center, &bends, gauss_point(q)));
                    least = I::F32::min(least, volume);
                }
                let mut size = I::F32::zero();
                for bend in &bends {
                    for value in bend {
                        size = value.mul_add(*value, size);
                    }
                }
                let is_bent = size.sqrt().gt(I::F32::load(&self.limits[block * LANES..]));
                let least = I::F32::select(is_bent, I::F32::splat(-1.0), least);
                least.store(&mut self.least[lanes]);
            }
        }
    }
}
