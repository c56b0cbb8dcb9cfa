//! What keeps cells from turning inside out at their corners.
//!
//! Elasticity looks at the centre of a cell. One that is pressed flat turns a corner inside out with next to no bend, and a corner at the surface that nothing else holds goes out by cells if that
//! gives a pressed cell its volume back. So a cell resists once the volume J at one of its eight Gauss points is less than a part of that at rest, and once its bends b (what the modes
//! xy, xz, yz and xyz add to F) are larger than cells can show:
//! $$E = \kappa h^3 \Big[ \tfrac18 \sum_q \varphi(J_q) + \tfrac12 \max(0, |b| - b_0)^2 \Big], \qquad \varphi(J) = J_0 \ln \frac{J_0}{J} - J_0 + J \quad (J < J_0), \qquad \kappa = 2 (\lambda + 2\mu),$$
//! with φ continued below J₁ by its Taylor polynomial of second degree, so that there is a way back from anywhere. Few cells ever do. Their tangent is a sum of squares of rows ∂J_q/∂u and ∂b/∂u;
//! what ∂²J_q adds is left out, so that it stays definite.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::{LaneScalar, Scalar};

use crate::aligned::Aligned;
use crate::layers::for_each_layer_of_blocks;
use crate::layout::{LANES, Layout};
use crate::nonlinear::load_corners;
use crate::precise::{transform, transform_back};
use crate::tangent::{MATERIAL, corners_of};
use crate::volume::cofactor_columns;

/// J₀, with its cube root (a stretch that is larger leaves no smaller volume), and J₁.
const LEAST: f64 = 0.3;
const LEAST_STRETCH: f64 = 0.67;
const HARD: f64 = 0.06;
/// κ over λ + 2μ.
const FIRMNESS: f64 = 2.0;
/// b₀: flesh that is bent to a radius of two and a half cells.
const MOST_BEND: f64 = 0.2;
/// Gauss points are this far from the centre along each axis, over half an edge: 1/√3.
const REACH: f64 = 0.577_350_269_189_625_8;
/// Norm of what bends add to F at a Gauss point, over that of the bends: 2 √(2/3) at most.
const BEND_REACH: f64 = 1.633;

/// The modes of a cell that bend it: xy, xz, yz and xyz.
const BENDS: [usize; 4] = [3, 5, 6, 7];

/// Columns of F at a Gauss point from those at the centre, and bends over 4h.
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

/// Adds to each mode what the columns of a stress at a Gauss point do there, over 4h.
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

/// φ, its slope and its curvature at a volume J.
#[inline(always)]
fn volume_law<F: Scalar>(volume: F) -> [F; 3] {
    let (least, hard) = (F::splat(LEAST), F::splat(HARD));
    let safe = F::min(F::max(volume, hard), least);
    let inverse = safe.recip();
    let ratio = least * inverse;
    // How far below J₁.
    let beyond = F::min(volume - safe, F::zero());
    let (slope, curvature) = (F::one() - ratio, ratio * inverse);
    let energy = least * ratio.ln() - least + safe + beyond * (slope + F::splat(0.5) * curvature * beyond);
    let curvature = F::select(volume.lt(least), curvature, F::zero());
    [energy, slope + curvature * beyond, curvature]
}

/// Slope over size, and energy, of bends of this size.
#[inline(always)]
fn bend_law<F: Scalar>(size: F) -> [F; 2] {
    let most = F::splat(MOST_BEND);
    let beyond = F::max(size - most, F::zero());
    [beyond * F::max(size, most).recip(), F::splat(0.5) * beyond * beyond]
}

/// κ h³.
#[inline(always)]
fn stiffness<F: Scalar>(h: f64, [mu, lambda]: [F; 2]) -> F {
    (lambda + mu + mu) * F::splat(FIRMNESS * h * h * h)
}

/// Energy of cells by their modes, whose derivatives are added to `forces`; `least` is their least stretch.
#[inline(always)]
pub(crate) fn resist<F: Scalar>(
    h: f64,
    lame: [F; 2],
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
    let is_pressed = (least - F::splat(BEND_REACH) * size).lt(F::splat(LEAST_STRETCH));
    let is_bent = size.gt(F::splat(MOST_BEND));
    if !(F::any(is_pressed) || F::any(is_bent)) {
        return energy;
    }
    let stiffness = stiffness(h, lame);
    let [per_bend, stored] = bend_law(size);
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

/// Rows of the cells that resist, on the finest level: the tangent is the sum of their squares.
#[derive(Clone, Debug, Default)]
pub(crate) struct CornerRows {
    /// Nodes of all cells.
    cells: Vec<[u32; 8]>,
    /// Least volume at the Gauss points of each lane; below zero where bends are too large.
    least: Aligned,
    /// Nodes with rows, sorted; and the rows with indices into it.
    nodes: Vec<u32>,
    rows: Vec<Row>,
    places: Vec<[f32; 3]>,
    pulls: Vec<[f32; 3]>,
    /// What the right-hand side was.
    kept: Vec<[f32; 3]>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    nodes: [u32; 8],
    weights: [[f32; 3]; 8],
}

impl Row {
    /// With weights of the modes over 4h, times the root of a stiffness [J].
    fn new(h: f64, nodes: [u32; 8], mut modes: [[f64; 3]; 8], stiffness: f64) -> Self {
        transform_back(&mut modes);
        let factor = stiffness.sqrt() * 0.25 / h;
        Self { nodes, weights: modes.map(|node| node.map(|value| (factor * value) as f32)) }
    }
}

impl CornerRows {
    /// None yet, of a lattice with these cells.
    pub fn new(cells: Vec<[u32; 8]>) -> Self {
        Self { cells, ..Self::default() }
    }

    /// Finds the rows at displacements u, in slots.
    pub fn find(&mut self, layout: &Layout, h: f64, materials: &[f32], u: &[f32], scale: f64) {
        let Self { cells, least, nodes, rows, places, pulls, kept } = self;
        if cells.is_empty() {
            return;
        }
        if least.is_empty() {
            *least = Aligned::zeros(layout.block_count() * LANES);
        }
        for_each_layer_of_blocks(layout, LANES, least, &|plane, least, first| {
            dispatch(LeastVolumes { layout, plane, h, u, least, first });
        });
        nodes.clear();
        rows.clear();
        for (cell, corners) in cells.iter().enumerate() {
            let (block, lane) = layout.cell_slot(cell);
            if least[block * LANES + lane] < LEAST as f32 {
                let lame = [0, 1].map(|k| f64::from(materials[block * MATERIAL + k * LANES + lane]));
                let places = corners.map(|node| {
                    let slot = layout.slots(node as usize)[0];
                    [0, 1, 2].map(|c| f64::from(u[slot.component(c)]))
                });
                add_rows(h, lame.map(|modulus| scale * modulus), *corners, places, rows);
            }
        }
        nodes.extend(rows.iter().flat_map(|row| row.nodes));
        nodes.sort_unstable();
        nodes.dedup();
        for row in rows {
            row.nodes = row.nodes.map(|node| nodes.binary_search(&node).map_or(0, |at| at as u32));
        }
        for list in [places, pulls, kept] {
            list.resize(nodes.len(), [0.0; 3]);
        }
    }

    /// Adds the product of the rows with x at the nodes that have any: calls with the node and the sum.
    fn multiply(&mut self, place: impl Fn(u32) -> [f32; 3], mut add: impl FnMut(u32, [f32; 3])) {
        let Self { nodes, rows, places, pulls, .. } = self;
        for (to, &node) in places.iter_mut().zip(&*nodes) {
            *to = place(node);
        }
        pulls.fill([0.0; 3]);
        for Row { nodes, weights } in rows {
            let mut along = 0.0;
            for (&node, weight) in nodes.iter().zip(&*weights) {
                let x = places[node as usize];
                along += weight[0] * x[0] + weight[1] * x[1] + weight[2] * x[2];
            }
            for (&node, weight) in nodes.iter().zip(&*weights) {
                (0..3).for_each(|c| pulls[node as usize][c] += weight[c] * along);
            }
        }
        nodes.iter().zip(pulls).for_each(|(&node, pull)| add(node, *pull));
    }

    /// Adds the product of the rows with x, both by node.
    pub fn add_product(&mut self, x: impl Fn(u32) -> [f32; 3], add: impl FnMut(u32, [f32; 3])) {
        if !self.rows.is_empty() {
            self.multiply(x, add);
        }
    }

    /// Takes the product of the rows with x off b, in slots; [`CornerRows::restore`] puts it back.
    pub fn pull(&mut self, layout: &Layout, x: &[f32], b: &mut [f32]) {
        if self.rows.is_empty() {
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

    /// Puts the right-hand side back.
    pub fn restore(&self, layout: &Layout, b: &mut [f32]) {
        for (&node, kept) in self.nodes.iter().zip(&self.kept) {
            for slot in layout.slots(node as usize) {
                (0..3).for_each(|c| b[slot.component(c)] = kept[c]);
            }
        }
    }

    /// Adds the sums of the sizes in each row of the product to a diagonal: with them in D the largest eigenvalue of D⁻¹K does not rise.
    pub fn add_row_sums(&self, layout: &Layout, diagonal: &mut [f32]) {
        for Row { nodes, weights } in &self.rows {
            let total: f32 = weights.iter().flatten().map(|weight| weight.abs()).sum();
            for (&node, weight) in nodes.iter().zip(weights) {
                for slot in layout.slots(self.nodes[node as usize] as usize) {
                    (0..3).for_each(|c| diagonal[slot.component(c)] += total * weight[c].abs());
                }
            }
        }
    }
}

/// Rows of a cell whose corners are displaced by u.
fn add_rows(h: f64, lame: [f64; 2], nodes: [u32; 8], u: [[f64; 3]; 8], rows: &mut Vec<Row>) {
    let mut modes = u;
    transform(&mut modes);
    let (center, bends) = center_and_bends(h, &modes);
    let stiffness = stiffness(h, lame);
    let size = bends.iter().flatten().map(|bend| bend * bend).sum::<f64>().sqrt();
    let [per_bend, _] = bend_law(size);
    if per_bend > 0.0 {
        // ∂²E/∂b² = κ h³ ((1 − b₀/|b|) I + b₀/|b| b̂ b̂ᵀ).
        let along = bends.map(|bend| bend.map(|value| value / size));
        rows.push(bend_row(h, nodes, &along, stiffness * (1.0 - per_bend)));
        for k in 0..12 {
            let mut one = [[0.0; 3]; 4];
            one[k / 3][k % 3] = 1.0;
            rows.push(bend_row(h, nodes, &one, stiffness * per_bend));
        }
    }
    for q in 0..8 {
        let place = gauss_point(q);
        let (volume, cofactor) = volume_of(&gradient_at(&center, &bends, place));
        let [_, _, curvature] = volume_law(volume);
        if curvature > 0.0 {
            let mut weights = [[0.0; 3]; 8];
            add_to_modes(&cofactor, place, &mut weights);
            rows.push(Row::new(h, nodes, weights, 0.125 * stiffness * curvature));
        }
    }
}

/// The row of these bends.
fn bend_row(h: f64, nodes: [u32; 8], bends: &[[f64; 3]; 4], stiffness: f64) -> Row {
    let mut modes = [[0.0; 3]; 8];
    for (bend, mode) in bends.iter().zip(BENDS) {
        modes[mode] = *bend;
    }
    Row::new(h, nodes, modes, stiffness)
}

/// Columns of F at the centre, and bends over 4h.
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

/// Least volume at the Gauss points of the cells of a layer; below zero where bends are too large.
struct LeastVolumes<'a> {
    layout: &'a Layout,
    plane: usize,
    h: f64,
    u: &'a [f32],
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
                let block = segment.block_of(tile) - self.first;
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
                let is_bent = size.gt(I::F32::splat(MOST_BEND * MOST_BEND));
                let least = I::F32::select(is_bent, I::F32::splat(-1.0), least);
                least.store(&mut self.least[block * LANES..(block + 1) * LANES]);
            }
        }
    }
}
