//! Embedded springs at points between nodes (MCA-22), and contacts between two such points (MCA-28), on all levels.
//!
//! A spring of stiffness B at a point with trilinear weights w adds w B wᵀ to K. It couples the nodes of its cell, so
//! it is not a nodal block. Trilinear weights nest: w P is the row of weights in the coarse cell. So the same spring in
//! the coarse cell is the exact Galerkin product (MCA-36, factor 1 in units of force). A sweep computes its force from
//! the previous x and subtracts it from the right-hand side. A contact has the weights of one point minus those of the
//! other, so a common motion of both causes no force, on any level.

use sinew_geometry::lattice::Prolongation;
use sinew_math::Mat3;

use crate::aligned::Aligned;
use crate::layout::Layout;

/// Pivots of sums of springs that are nothing but rounding, relative to the first: f32 has seven digits.
const NEGLIGIBLE: f64 = 1e-9;

/// Springs between points of the body and fixed points, or between two points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmbeddedSprings {
    /// Stiffness of each spring \[N/m\], symmetric.
    stiffness: Vec<Mat3<f32>>,
    /// End of the entries of each spring.
    ends: Vec<u32>,
    /// Nodes and weights.
    entries: Vec<(u32, f32)>,
}

impl EmbeddedSprings {
    /// Adds a spring from the point Σ w x of nodes to a fixed point.
    pub fn add(&mut self, stiffness: f64, entries: impl IntoIterator<Item = (u32, f64)>) {
        self.add_block(Mat3::identity() * stiffness as f32, entries);
    }

    /// Adds a spring with an anisotropic stiffness.
    pub fn add_block(&mut self, stiffness: Mat3<f32>, entries: impl IntoIterator<Item = (u32, f64)>) {
        self.stiffness.push(stiffness);
        self.entries.extend(entries.into_iter().map(|(node, weight)| (node, weight as f32)));
        self.ends.push(self.entries.len() as u32);
    }

    /// Removes all springs.
    pub fn clear(&mut self) {
        self.stiffness.clear();
        self.ends.clear();
        self.entries.clear();
    }

    /// Whether there are no springs.
    pub fn is_empty(&self) -> bool {
        self.stiffness.is_empty()
    }

    /// Stiffness, nodes and weights of each spring.
    pub fn iter(&self) -> impl Iterator<Item = (&Mat3<f32>, &[(u32, f32)])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let rows = starts.zip(&self.ends).map(|(start, &end)| &self.entries[start as usize..end as usize]);
        self.stiffness.iter().zip(rows)
    }

    /// Replaces isotropic springs between the same nodes by no more than there are nodes: with stiffnesses k and rows of
    /// weights w, Σ k w wᵀ = L D Lᵀ, where the columns of L are rows of weights again. Coarse cells hold hundreds.
    pub(crate) fn merge(&mut self) {
        let mut order: Vec<(Vec<u32>, usize)> = Vec::new();
        let mut merged = Self::default();
        for (spring, (stiffness, entries)) in self.iter().enumerate() {
            if *stiffness == Mat3::identity() * stiffness.rows[0][0] {
                let mut nodes: Vec<u32> = entries.iter().map(|entry| entry.0).collect();
                nodes.sort_unstable();
                order.push((nodes, spring));
            } else {
                merged.add_narrow(*stiffness, entries);
            }
        }
        order.sort_unstable();
        let rows: Vec<_> = self.iter().collect();
        let mut sum = Vec::new();
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            let nodes = &group[0].0;
            if group.len() <= nodes.len() {
                group.iter().for_each(|&(_, spring)| merged.add_narrow(*rows[spring].0, rows[spring].1));
                continue;
            }
            let count = nodes.len();
            sum.clear();
            sum.resize(count * count, 0.0);
            for &(_, spring) in group {
                let (stiffness, entries) = rows[spring];
                for &(a, weight) in entries {
                    for &(b, other) in entries {
                        let at = [a, b].map(|node| nodes.partition_point(|&known| known < node));
                        sum[at[0] * count + at[1]] +=
                            f64::from(stiffness.rows[0][0]) * f64::from(weight) * f64::from(other);
                    }
                }
            }
            merged.add_factors(nodes, &mut sum);
        }
        *self = merged;
    }

    /// Adds the springs of a positive semidefinite matrix over nodes, by elimination with the largest pivot first.
    fn add_factors(&mut self, nodes: &[u32], matrix: &mut [f64]) {
        let count = nodes.len();
        let mut first = 0.0;
        for step in 0..count {
            let diagonal = |k: usize| matrix[k * count + k];
            let pivot = (0..count).fold(0, |most, k| if diagonal(k) > diagonal(most) { k } else { most });
            let size = diagonal(pivot);
            if step == 0 {
                first = size;
            }
            if size <= NEGLIGIBLE * first {
                break;
            }
            let column: Vec<f64> = (0..count).map(|k| matrix[k * count + pivot] / size).collect();
            for a in 0..count {
                for b in 0..count {
                    matrix[a * count + b] -= size * column[a] * column[b];
                }
            }
            // Exactly, so that no rounding of a pivot becomes the next one.
            (0..count).for_each(|k| (matrix[k * count + pivot], matrix[pivot * count + k]) = (0.0, 0.0));
            self.add(size, nodes.iter().zip(column).filter(|(_, weight)| *weight != 0.0).map(|(&node, w)| (node, w)));
        }
    }

    fn add_narrow(&mut self, stiffness: Mat3<f32>, entries: &[(u32, f32)]) {
        self.stiffness.push(stiffness);
        self.entries.extend(entries);
        self.ends.push(self.entries.len() as u32);
    }

    /// Writes the same springs on a coarser level.
    fn coarsen(&self, prolongation: &Prolongation, row: &mut Vec<(u32, f64)>, coarse: &mut Self) {
        coarse.clear();
        for (stiffness, entries) in self.iter() {
            row.clear();
            for &(node, weight) in entries {
                row.extend(
                    prolongation.row(node as usize).map(|(carrier, share)| (carrier, f64::from(weight) * share)),
                );
            }
            row.sort_unstable_by_key(|&(node, _)| node);
            row.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                if is_same {
                    kept.1 += next.1;
                }
                is_same
            });
            coarse.add_block(*stiffness, row.iter().copied().filter(|&(_, weight)| weight != 0.0));
        }
    }
}

/// The springs of a level, with the data for their forces.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelTies {
    ties: EmbeddedSprings,
    /// Nodes with springs, sorted; and the entries of `ties` with indices into it.
    nodes: Vec<u32>,
    weights: Vec<(u32, f32)>,
    /// Positions of these nodes, and the forces on them; a fourth number fills the lanes.
    places: Vec<[f32; 4]>,
    pulls: Vec<[f32; 4]>,
    /// Saved entries of the right-hand side.
    kept: Vec<[f32; 3]>,
    /// Scratch for a row of weights.
    row: Vec<(u32, f64)>,
}

impl LevelTies {
    /// Replaces the springs.
    pub fn set(&mut self, ties: &EmbeddedSprings) {
        self.ties.clone_from(ties);
        self.index();
    }

    /// Replaces the springs by those of a finer level.
    pub fn set_from_finer(&mut self, finer: &Self, prolongation: &Prolongation) {
        finer.ties.coarsen(prolongation, &mut self.row, &mut self.ties);
        self.index();
    }

    /// Replaces springs by few between the same nodes.
    pub fn merge(&mut self) {
        self.ties.merge();
        self.index();
    }

    fn index(&mut self) {
        let Self { ties, nodes, weights, places, pulls, kept, .. } = self;
        nodes.clear();
        nodes.extend(ties.entries.iter().map(|&(node, _)| node));
        nodes.sort_unstable();
        nodes.dedup();
        weights.clear();
        let at = |node: &u32| nodes.binary_search(node).map_or(0, |k| k as u32);
        weights.extend(ties.entries.iter().map(|(node, weight)| (at(node), *weight)));
        places.resize(nodes.len(), [0.0; 4]);
        pulls.resize(nodes.len(), [0.0; 4]);
        kept.resize(nodes.len(), [0.0; 3]);
    }

    /// Subtracts the spring forces at x from b; [`LevelTies::restore`] undoes it.
    pub fn pull(&mut self, layout: &Layout, x: &[f32], b: &mut [f32]) {
        let Self { ties, nodes, weights, places, pulls, kept, .. } = self;
        for (place, &node) in places.iter_mut().zip(&*nodes) {
            let slot = layout.slots(node as usize)[0];
            (0..3).for_each(|c| place[c] = x[slot.component(c)]);
        }
        pulls.fill([0.0; 4]);
        let mut first = 0;
        for (stiffness, &end) in ties.stiffness.iter().zip(&ties.ends) {
            let row = &weights[first..end as usize];
            first = end as usize;
            let mut place = [0.0f32; 4];
            for &(at, weight) in row {
                for (sum, x) in place.iter_mut().zip(&places[at as usize]) {
                    *sum += weight * x;
                }
            }
            let [x, y, z] = stiffness.rows.map(|row| row[0] * place[0] + row[1] * place[1] + row[2] * place[2]);
            let force = [x, y, z, 0.0];
            for &(at, weight) in row {
                for (sum, force) in pulls[at as usize].iter_mut().zip(force) {
                    *sum += weight * force;
                }
            }
        }
        for ((&node, pull), kept) in nodes.iter().zip(&*pulls).zip(kept) {
            let slots = layout.slots(node as usize);
            for c in 0..3 {
                kept[c] = b[slots[0].component(c)];
                slots.iter().for_each(|slot| b[slot.component(c)] = kept[c] - pull[c]);
            }
        }
    }

    /// Restores the right-hand side.
    pub fn restore(&self, layout: &Layout, b: &mut [f32]) {
        for (&node, kept) in self.nodes.iter().zip(&self.kept) {
            for slot in layout.slots(node as usize) {
                for c in 0..3 {
                    b[slot.component(c)] = kept[c];
                }
            }
        }
    }

    /// Adds the diagonals of w B wᵀ to the diagonal of K in all slots.
    pub fn add_diagonal(&self, layout: &Layout, diagonal: &mut Aligned) {
        for (stiffness, entries) in self.ties.iter() {
            for &(node, weight) in entries {
                for slot in layout.slots(node as usize) {
                    (0..3).for_each(|c| diagonal[slot.component(c)] += stiffness.rows[c][c] * weight * weight);
                }
            }
        }
    }

    /// Adds the absolute row sums of w B wᵀ. With them in D, contacts of many nodes do not raise the largest eigenvalue
    /// of D⁻¹K, however stiff they are.
    pub fn add_row_sums(&self, layout: &Layout, diagonal: &mut Aligned) {
        for (stiffness, entries) in self.ties.iter() {
            let total: f32 = entries.iter().map(|(_, weight)| weight.abs()).sum();
            let sums = stiffness.rows.map(|row| total * (row[0].abs() + row[1].abs() + row[2].abs()));
            for &(node, weight) in entries {
                for slot in layout.slots(node as usize) {
                    (0..3).for_each(|c| diagonal[slot.component(c)] += sums[c] * weight.abs());
                }
            }
        }
    }

    /// Whether there are no springs.
    pub fn is_empty(&self) -> bool {
        self.ties.is_empty()
    }

    /// Calls `visit` with the two nodes of each node pair of each spring.
    pub fn for_each_pair(&self, mut visit: impl FnMut(u32, u32)) {
        for (_, entries) in self.ties.iter() {
            for &(a, _) in entries {
                entries.iter().for_each(|&(b, _)| visit(a, b));
            }
        }
    }

    /// Calls `visit` with the two nodes and the block of each node pair of each spring.
    pub fn for_each_block(&self, mut visit: impl FnMut(u32, u32, Mat3)) {
        for (stiffness, entries) in self.ties.iter() {
            for &(a, weight) in entries {
                for &(b, other) in entries {
                    visit(a, b, stiffness.to_f64() * f64::from(weight * other));
                }
            }
        }
    }
}
