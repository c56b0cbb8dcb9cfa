//! Maps between unknowns and points: x(q), its Jacobian J, and the geometric term of rigid blocks.
//!
//! Forces act on points (mesh nodes, embedded and body-fixed points); the solver moves unknowns, stored in triples.
//! Free nodes are unknowns of their own. Nodes bound to flesh and nodes of affine bodies are weighted sums of other
//! unknowns. Nodes of bodies in reduced coordinates move by x = X + Σ φₖ qₖ, with any number of coordinates: three of
//! them share a triple, and the rest of the last triple stays fixed. Nodes bound to a rigid body follow its six
//! unknowns: the translation c of its center and a rotation increment θ,
//!
//! ```math
//! x_p = c + \exp([\theta]_\times)\, R\, r_p, \qquad
//!    \frac{\partial x_p}{\partial \theta}\Big|_0 = -[R r_p]_\times, \qquad
//!    g\cdot\frac{\partial^2 x_p}{\partial \theta^2}\Big|_0 = \tfrac12 (g\,r^T + r\,g^T) - (g\cdot r) I .
//! ```
//!
//! Rotations are updated by left multiplication, so θ = 0 at every iterate and both formulas stay short.

pub(crate) mod affine;

use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::{Mat3, Quaternion, Vec3};

/// How one point follows the unknowns. Private: others ask [`Kinematics`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum PointMap {
    /// The point is an unknown itself.
    Free(u32),
    /// Weighted sum of unknowns, entries `start..end` of the weight table.
    Weighted { start: u32, end: u32 },
    /// Moves by reduced coordinates: index of its [`ReducedPoint`].
    Reduced(u32),
    /// Fixed to a rigid block, at `local` in its frame \[m\].
    Rigid { block: u32, local: Vec3 },
}

/// A point at X + Σ Bₖ qₖ, entries `start..end` of the basis table.
#[derive(Clone, Copy, Debug)]
struct ReducedPoint {
    rest: Vec3,
    start: u32,
    end: u32,
}

/// ∂x/∂q of a point by one unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jacobian {
    /// A multiple of the identity.
    Scalar(f64),
    /// Anything else.
    Matrix(Mat3),
}

impl Jacobian {
    /// As a matrix.
    #[inline]
    pub fn to_matrix(self) -> Mat3 {
        match self {
            Self::Scalar(weight) => Mat3::identity() * weight,
            Self::Matrix(matrix) => matrix,
        }
    }
}

/// The two unknowns of a rigid body: translation of its center and rotation increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RigidBlock {
    /// Unknown of the center.
    pub translation: u32,
    /// Unknown of the rotation increment.
    pub rotation: u32,
}

/// Values of the unknowns.
#[derive(Debug, Default, PartialEq)]
pub struct Unknowns {
    /// Positions of free nodes and rigid centers; rotation slots stay zero.
    pub vectors: Vec<Vec3>,
    /// Orientation of each rigid block.
    pub rotations: Vec<Quaternion>,
}

/// Written by hand, because the derived `clone_from` would allocate in every step.
impl Clone for Unknowns {
    fn clone(&self) -> Self {
        Self { vectors: self.vectors.clone(), rotations: self.rotations.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { vectors, rotations } = source;
        self.vectors.clone_from(vectors);
        self.rotations.clone_from(rotations);
    }
}

/// The map between unknowns and points.
#[derive(Clone, Debug, Default)]
pub struct Kinematics {
    points: Vec<PointMap>,
    weights: Vec<(u32, f64)>,
    reduced: Vec<ReducedPoint>,
    basis: Vec<(u32, Mat3)>,
    rigid: Vec<RigidBlock>,
    unknown_count: usize,
    fixed: Vec<[bool; 3]>,
}

impl Kinematics {
    /// Adds an unknown and returns its index.
    pub fn add_unknown(&mut self) -> u32 {
        self.unknown_count += 1;
        self.fixed.push([false; 3]);
        (self.unknown_count - 1) as u32
    }

    /// Adds a rigid block with its two unknowns.
    pub fn add_rigid_block(&mut self) -> u32 {
        let block = RigidBlock { translation: self.add_unknown(), rotation: self.add_unknown() };
        self.rigid.push(block);
        (self.rigid.len() - 1) as u32
    }

    /// Adds `count` numbers as unknowns, three in each; the rest of the last one stays fixed. Returns the first of
    /// these unknowns.
    pub fn add_coordinates(&mut self, count: usize) -> u32 {
        let first = self.unknown_count as u32;
        for start in (0..count).step_by(3) {
            let unknown = self.add_unknown();
            self.fix(unknown, [0, 1, 2].map(|axis| start + axis >= count));
        }
        first
    }

    /// Adds a point that is an unknown of its own.
    pub fn add_free_point(&mut self) -> u32 {
        let unknown = self.add_unknown();
        self.push(PointMap::Free(unknown))
    }

    /// Adds a point that is an existing unknown.
    pub fn add_point_of_unknown(&mut self, unknown: u32) -> u32 {
        self.push(PointMap::Free(unknown))
    }

    /// Adds a point fixed to a rigid block at `local`.
    pub fn add_rigid_point(&mut self, block: u32, local: Vec3) -> u32 {
        self.push(PointMap::Rigid { block, local })
    }

    /// Adds a point that is a weighted sum of unknowns.
    pub fn add_weighted_point(&mut self, entries: &[(u32, f64)]) -> u32 {
        let start = self.weights.len() as u32;
        self.weights.extend_from_slice(entries);
        self.push(PointMap::Weighted { start, end: self.weights.len() as u32 })
    }

    /// Adds a point that stays at fixed weights between other points; `None` when one of these does not follow its
    /// unknowns by weights.
    pub fn add_point_between(&mut self, entries: &[(u32, f64)]) -> Option<u32> {
        let mut sum: Vec<(u32, f64)> = Vec::new();
        for &(point, weight) in entries {
            match self.points[point as usize] {
                PointMap::Free(unknown) => add_weight(&mut sum, unknown, weight),
                PointMap::Weighted { start, end } => {
                    self.weights(start, end).iter().for_each(|&(unknown, w)| add_weight(&mut sum, unknown, weight * w));
                }
                PointMap::Reduced(_) | PointMap::Rigid { .. } => return None,
            }
        }
        Some(self.add_weighted_point(&sum))
    }

    /// Adds a point at X + Σ φₖ qₖ, with X = `rest` and φₖ = `modes[k]`, the coordinates beginning at the unknown
    /// `first`.
    pub fn add_reduced_point(&mut self, rest: Vec3, first: u32, modes: &[Vec3]) -> u32 {
        let start = self.basis.len() as u32;
        for (k, triple) in modes.chunks(3).enumerate() {
            let column = |axis: usize| triple.get(axis).copied().unwrap_or(Vec3::zero());
            self.basis.push((first + k as u32, Mat3::from_columns(column(0), column(1), column(2))));
        }
        self.reduced.push(ReducedPoint { rest, start, end: self.basis.len() as u32 });
        self.push(PointMap::Reduced(self.reduced.len() as u32 - 1))
    }

    fn push(&mut self, map: PointMap) -> u32 {
        self.points.push(map);
        (self.points.len() - 1) as u32
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.points.len()
    }

    /// Number of 3-vector unknowns.
    pub fn unknown_count(&self) -> usize {
        self.unknown_count
    }

    /// The rigid blocks.
    pub fn rigid_blocks(&self) -> &[RigidBlock] {
        &self.rigid
    }

    /// The unknown that a point is, where it is one of its own.
    #[inline]
    pub fn own_unknown(&self, point: usize) -> Option<u32> {
        match self.points[point] {
            PointMap::Free(unknown) => Some(unknown),
            _ => None,
        }
    }

    /// Whether each point is an unknown of its own.
    pub fn has_free_points_only(&self) -> bool {
        self.points.iter().all(|map| matches!(map, PointMap::Free(_)))
    }

    /// Whether a point is fixed to a rigid block.
    pub fn is_on_rigid_block(&self, point: usize) -> bool {
        matches!(self.points[point], PointMap::Rigid { .. })
    }

    /// Unknowns and weights of a point that is a weighted sum of them.
    pub fn weighted_sum(&self, point: usize) -> Option<&[(u32, f64)]> {
        match self.points[point] {
            PointMap::Weighted { start, end } => Some(self.weights(start, end)),
            _ => None,
        }
    }

    #[inline]
    fn weights(&self, start: u32, end: u32) -> &[(u32, f64)] {
        &self.weights[start as usize..end as usize]
    }

    #[inline]
    fn basis(&self, point: &ReducedPoint) -> &[(u32, Mat3)] {
        &self.basis[point.start as usize..point.end as usize]
    }

    /// Σ B_k v_k of a point in reduced coordinates.
    #[inline]
    fn reduced_motion(&self, point: &ReducedPoint, v: &[Vec3]) -> Vec3 {
        self.basis(point).iter().fold(Vec3::zero(), |sum, &(unknown, ref b)| sum + *b * v[unknown as usize])
    }

    /// Which axes of a point are prescribed as those of an unknown of its own.
    #[inline]
    pub fn fixed_axes(&self, point: usize) -> [bool; 3] {
        self.own_unknown(point).map_or([false; 3], |unknown| self.fixed(unknown as usize))
    }

    /// out += what each point has, shared among its unknowns by their weights. Points on rigid blocks and in reduced
    /// coordinates have no such weights and are left out.
    pub fn add_lumped(&self, values: &[f64], out: &mut [f64]) {
        for (&map, &value) in self.points.iter().zip(values) {
            match map {
                PointMap::Free(unknown) => out[unknown as usize] += value,
                PointMap::Weighted { start, end } => {
                    for &(unknown, weight) in self.weights(start, end) {
                        out[unknown as usize] += weight * value;
                    }
                }
                PointMap::Reduced(_) | PointMap::Rigid { .. } => {}
            }
        }
    }

    /// Which axes of an unknown are prescribed.
    #[inline]
    pub fn fixed(&self, unknown: usize) -> [bool; 3] {
        self.fixed[unknown]
    }

    /// Prescribes axes of an unknown.
    pub fn fix(&mut self, unknown: u32, axes: [bool; 3]) {
        let fixed = &mut self.fixed[unknown as usize];
        for axis in 0..3 {
            fixed[axis] |= axes[axis];
        }
    }

    /// Zeroes the prescribed components of a vector over the unknowns.
    pub fn filter(&self, vector: &mut [Vec3]) {
        for (v, fixed) in vector.iter_mut().zip(&self.fixed) {
            if fixed[0] {
                v.x = 0.0;
            }
            if fixed[1] {
                v.y = 0.0;
            }
            if fixed[2] {
                v.z = 0.0;
            }
        }
    }

    /// x = x(q).
    pub fn place(&self, q: &Unknowns, x: &mut [Vec3]) {
        for_each_block_mut((x, &self.points[..]), SUM_BLOCK, |_, (x, points): (&mut [Vec3], &[PointMap])| {
            for (x, &map) in x.iter_mut().zip(points) {
                *x = match map {
                    PointMap::Free(unknown) => q.vectors[unknown as usize],
                    PointMap::Weighted { start, end } => self
                        .weights(start, end)
                        .iter()
                        .fold(Vec3::zero(), |sum, &(unknown, w)| sum + q.vectors[unknown as usize] * w),
                    PointMap::Reduced(index) => {
                        let point = &self.reduced[index as usize];
                        point.rest + self.reduced_motion(point, &q.vectors)
                    }
                    PointMap::Rigid { block, local } => {
                        let center = q.vectors[self.rigid[block as usize].translation as usize];
                        center + q.rotations[block as usize].rotate(local)
                    }
                };
            }
        });
    }

    /// Arm R r of a rigid point, from the center to the point in world axes.
    #[inline]
    fn arm(&self, q: &Unknowns, block: u32, local: Vec3) -> Vec3 {
        q.rotations[block as usize].rotate(local)
    }

    /// out = Jᵀ g: maps forces on points to forces on unknowns.
    pub fn pull_back(&self, q: &Unknowns, point_gradient: &[Vec3], out: &mut [Vec3]) {
        out.fill(Vec3::zero());
        for (&g, &map) in point_gradient.iter().zip(&self.points) {
            match map {
                PointMap::Free(unknown) => out[unknown as usize] += g,
                PointMap::Weighted { start, end } => {
                    for &(unknown, w) in self.weights(start, end) {
                        out[unknown as usize] += g * w;
                    }
                }
                PointMap::Reduced(index) => {
                    for &(unknown, ref b) in self.basis(&self.reduced[index as usize]) {
                        out[unknown as usize] += b.transpose_mul_vec(g);
                    }
                }
                PointMap::Rigid { block, local } => {
                    let rigid = self.rigid[block as usize];
                    out[rigid.translation as usize] += g;
                    out[rigid.rotation as usize] += self.arm(q, block, local).cross(g);
                }
            }
        }
    }

    /// out = J δq: maps a motion of the unknowns to the motion of the points.
    pub fn push_forward(&self, q: &Unknowns, dq: &[Vec3], out: &mut [Vec3]) {
        for (out, &map) in out.iter_mut().zip(&self.points) {
            *out = match map {
                PointMap::Free(unknown) => dq[unknown as usize],
                PointMap::Weighted { start, end } => {
                    self.weights(start, end).iter().fold(Vec3::zero(), |sum, &(u, w)| sum + dq[u as usize] * w)
                }
                PointMap::Reduced(index) => self.reduced_motion(&self.reduced[index as usize], dq),
                PointMap::Rigid { block, local } => {
                    let rigid = self.rigid[block as usize];
                    dq[rigid.translation as usize] + dq[rigid.rotation as usize].cross(self.arm(q, block, local))
                }
            };
        }
    }

    /// target = q moved by `scale` δq; rotations change by exp(scale δθ).
    pub fn advance(&self, q: &Unknowns, dq: &[Vec3], scale: f64, target: &mut Unknowns) {
        let parts = (&mut target.vectors[..], &q.vectors[..], dq);
        for_each_block_mut(parts, SUM_BLOCK, |_, (target, q, dq): (&mut [Vec3], &[Vec3], &[Vec3])| {
            for ((t, &v), &d) in target.iter_mut().zip(q).zip(dq) {
                *t = v + d * scale;
            }
        });
        for (block, rigid) in self.rigid.iter().enumerate() {
            target.vectors[rigid.rotation as usize] = Vec3::zero();
            let turn = Quaternion::exp_map(dq[rigid.rotation as usize] * scale);
            target.rotations[block] = (turn * q.rotations[block]).normalized();
        }
    }

    /// Calls `visit(unknown, ∂x/∂q_unknown)` for each unknown that moves the point. The kind of Jacobian depends on the
    /// unknown alone: it is the same for all its points.
    #[inline]
    pub fn for_each_jacobian(&self, q: &Unknowns, point: usize, mut visit: impl FnMut(u32, Jacobian)) {
        match self.points[point] {
            PointMap::Free(unknown) => visit(unknown, Jacobian::Scalar(1.0)),
            PointMap::Weighted { start, end } => {
                for &(unknown, w) in self.weights(start, end) {
                    visit(unknown, Jacobian::Scalar(w));
                }
            }
            PointMap::Reduced(index) => {
                for &(unknown, b) in self.basis(&self.reduced[index as usize]) {
                    visit(unknown, Jacobian::Matrix(b));
                }
            }
            PointMap::Rigid { block, local } => {
                let rigid = self.rigid[block as usize];
                visit(rigid.translation, Jacobian::Matrix(Mat3::identity()));
                visit(rigid.rotation, Jacobian::Matrix(-Mat3::skew(self.arm(q, block, local))));
            }
        }
    }

    /// Calls `visit(row, column, Jₐᵀ K J_b)` for each pair of unknowns behind the points `a` and `b`, which `k`
    /// couples.
    #[inline]
    pub fn for_each_block(&self, q: &Unknowns, a: usize, b: usize, k: &Mat3, mut visit: impl FnMut(u32, u32, Mat3)) {
        if let (PointMap::Free(row), PointMap::Free(column)) = (self.points[a], self.points[b]) {
            visit(row, column, *k);
            return;
        }
        self.for_each_jacobian(q, a, |row, ja| {
            let left = match ja {
                Jacobian::Scalar(weight) => *k * weight,
                Jacobian::Matrix(matrix) => matrix.transpose() * *k,
            };
            self.for_each_jacobian(q, b, |column, jb| {
                let block = match jb {
                    Jacobian::Scalar(weight) => left * weight,
                    Jacobian::Matrix(matrix) => left * matrix,
                };
                visit(row, column, block);
            });
        });
    }

    /// The unknowns that move a point, appended to `out`.
    pub fn unknowns_of(&self, point: usize, out: &mut Vec<u32>) {
        match self.points[point] {
            PointMap::Free(unknown) => out.push(unknown),
            PointMap::Weighted { start, end } => out.extend(self.weights(start, end).iter().map(|e| e.0)),
            PointMap::Reduced(index) => out.extend(self.basis(&self.reduced[index as usize]).iter().map(|e| e.0)),
            PointMap::Rigid { block, .. } => {
                let rigid = self.rigid[block as usize];
                out.extend([rigid.translation, rigid.rotation]);
            }
        }
    }

    /// Writes the geometric term Σ g·∂²x/∂θ² of each rigid block, summed over its points. It belongs on the diagonal of
    /// the block's rotation.
    pub fn geometric_terms(&self, q: &Unknowns, point_gradient: &[Vec3], terms: &mut Vec<Mat3>) {
        terms.clear();
        if self.rigid.is_empty() {
            return;
        }
        terms.resize(self.rigid.len(), Mat3::zero());
        for (&g, &map) in point_gradient.iter().zip(&self.points) {
            if let PointMap::Rigid { block, local } = map {
                let r = self.arm(q, block, local);
                terms[block as usize] += Mat3::outer(g, r).symmetric_part() - Mat3::identity() * g.dot(r);
            }
        }
    }
}

fn add_weight(sum: &mut Vec<(u32, f64)>, unknown: u32, weight: f64) {
    match sum.iter_mut().find(|entry| entry.0 == unknown) {
        Some(entry) => entry.1 += weight,
        None => sum.push((unknown, weight)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> (Kinematics, Unknowns) {
        let mut k = Kinematics::default();
        k.add_free_point();
        k.add_free_point();
        k.add_weighted_point(&[(0, 0.25), (1, 0.75)]);
        let block = k.add_rigid_block();
        k.add_rigid_point(block, Vec3::new(0.3, -0.2, 0.5));
        let first = k.add_coordinates(5);
        let modes = [(1.0, 0.0, 0.2), (0.0, -0.4, 0.3), (0.5, 0.1, 0.0), (-0.2, 0.8, 0.6), (0.7, -0.9, 0.1)];
        k.add_reduced_point(Vec3::new(0.6, 0.1, -0.3), first, &modes.map(|(x, y, z)| Vec3::new(x, y, z)));
        k.add_point_between(&[(2, 0.5), (0, 0.5)]).unwrap();
        let q = Unknowns {
            vectors: vec![
                Vec3::new(1.0, 2.0, 3.0),
                Vec3::new(-1.0, 0.5, 0.0),
                Vec3::new(0.1, 0.2, 0.3),
                Vec3::zero(),
                Vec3::new(0.4, -0.6, 0.2),
                Vec3::new(0.3, 0.9, 0.0),
            ],
            rotations: vec![Quaternion::exp_map(Vec3::new(0.4, -0.3, 0.8))],
        };
        (k, q)
    }

    fn moved(k: &Kinematics, q: &Unknowns, dq: &[Vec3], s: f64) -> Vec<Vec3> {
        let mut target = q.clone();
        k.advance(q, dq, s, &mut target);
        let mut x = vec![Vec3::zero(); k.point_count()];
        k.place(&target, &mut x);
        x
    }

    fn direction() -> Vec<Vec3> {
        (0..6).map(|i| Vec3::new(0.3 + i as f64, -0.7, 0.2 * i as f64)).collect()
    }

    /// x = X + Σ φₖ qₖ with five numbers: the sixth place of their two triples moves nothing and is fixed.
    #[test]
    fn reduced_points_follow_as_many_numbers_as_they_have_modes() {
        let (k, mut q) = system();
        assert_eq!((k.fixed(4), k.fixed(5)), ([false; 3], [false, false, true]));
        let expected =
            Vec3::new(0.6 + 0.4 + 0.1 - 0.06 + 0.63, 0.1 + 0.24 + 0.02 + 0.24 - 0.81, -0.3 + 0.08 - 0.18 + 0.18 + 0.09);
        let mut x = vec![Vec3::zero(); k.point_count()];
        for too_many in [0.0, 7.0] {
            q.vectors[5].z = too_many;
            k.place(&q, &mut x);
            assert!((x[4] - expected).norm() < 1e-15, "{:?} {expected:?}", x[4]);
        }
    }

    /// A point halfway between a node and a point between nodes.
    #[test]
    fn points_between_points_add_their_weights() {
        let (mut k, _) = system();
        assert_eq!(k.weighted_sum(5), Some(&[(0, 0.625), (1, 0.375)][..]));
        assert_eq!(k.add_point_between(&[(0, 0.5), (3, 0.5)]), None, "point 3 is on a rigid block");
    }

    /// Jₐᵀ K J_b by blocks is what push_forward and pull_back give: ⟨δq, JᵀKJ δq⟩ = ⟨J δq, K J δq⟩.
    #[test]
    fn blocks_between_points_become_blocks_between_unknowns() {
        let (k, q) = system();
        let dq = direction();
        let mut dx = vec![Vec3::zero(); k.point_count()];
        k.push_forward(&q, &dq, &mut dx);
        let stiffness = Mat3::new([[2.0, -0.3, 0.1], [0.4, 1.5, 0.6], [-0.2, 0.7, 3.0]]);
        for a in 0..k.point_count() {
            for b in 0..k.point_count() {
                let mut sum = 0.0;
                k.for_each_block(&q, a, b, &stiffness, |row, column, block| {
                    sum += dq[row as usize].dot(block * dq[column as usize]);
                });
                let expected = dx[a].dot(stiffness * dx[b]);
                assert!((sum - expected).abs() < 1e-12 * expected.abs().max(1.0), "{a} {b}: {sum} {expected}");
            }
        }
    }

    /// J δq is the derivative of x(q ⊕ s δq) at s = 0; central differences are accurate to O(s²) = 1e-10.
    #[test]
    fn push_forward_is_the_derivative_of_place() {
        let (k, q) = system();
        let dq = direction();
        let mut dx = vec![Vec3::zero(); k.point_count()];
        k.push_forward(&q, &dq, &mut dx);
        let s = 1e-5;
        let (plus, minus) = (moved(&k, &q, &dq, s), moved(&k, &q, &dq, -s));
        for p in 0..k.point_count() {
            let numeric = (plus[p] - minus[p]) * (0.5 / s);
            assert!((numeric - dx[p]).norm() < 1e-8, "point {p}");
        }
    }

    /// ⟨g, J δq⟩ = ⟨Jᵀ g, δq⟩ exactly in real arithmetic.
    #[test]
    fn pull_back_is_the_adjoint_of_push_forward() {
        let (k, q) = system();
        let dq = direction();
        let g: Vec<Vec3> = (0..k.point_count()).map(|i| Vec3::new(1.0, i as f64, -0.5)).collect();
        let mut dx = vec![Vec3::zero(); k.point_count()];
        let mut back = vec![Vec3::zero(); k.unknown_count()];
        k.push_forward(&q, &dq, &mut dx);
        k.pull_back(&q, &g, &mut back);
        let a: f64 = g.iter().zip(&dx).map(|(g, d)| g.dot(*d)).sum();
        let b: f64 = back.iter().zip(&dq).map(|(g, d)| g.dot(*d)).sum();
        assert!((a - b).abs() < 1e-12);
    }

    /// d²/ds² of g·x(q ⊕ s δq) equals δθᵀ (geometric term) δθ; second differences are accurate to about 1e-6.
    #[test]
    fn geometric_term_is_the_second_derivative_of_place() {
        let (k, q) = system();
        let dq = direction();
        let g: Vec<Vec3> = (0..k.point_count()).map(|i| Vec3::new(1.0, i as f64, -0.5)).collect();
        let value = |s: f64| -> f64 { moved(&k, &q, &dq, s).iter().zip(&g).map(|(x, g)| x.dot(*g)).sum() };
        let s = 1e-4;
        let numeric = (value(s) - 2.0 * value(0.0) + value(-s)) / (s * s);
        let mut terms = Vec::new();
        k.geometric_terms(&q, &g, &mut terms);
        let turn = dq[k.rigid_blocks()[0].rotation as usize];
        let exact = turn.dot(terms[0] * turn);
        assert!((numeric - exact).abs() < 1e-5, "{numeric} {exact}");
    }
}
