//! Harmonic guess: an initial shape for scrambled bodies, carried in from the pins by harmonic fields.
//!
//! From a scrambled state Newton's method finds some equilibrium, but a slender limb may come out with a full twist in
//! it, which is an equilibrium too. The scrambled positions do not show which equilibrium is right; the pins and the
//! rest shape do. So this guess uses only those \[Zayer05\]:
//!
//! 1. Each pin has a rotation from rest (best fit of its nodes). A harmonic field carries the rotation vectors w from
//!    the pins through the body, ∫ μ |∇w|² → min.
//! 2. Positions follow from the deformation gradients of these rotations \[Yu04\],
//!    ```math
//!    \int \mu\, |F - \exp(w)|^2\, dX \to \min, \qquad x = \text{target on the pins}.
//!    ```
//!
//! Both are linear and elliptic: one system with the stiffness of a Laplacian and two right-hand sides. The solver uses
//! the guess only if the merit function is lower there than at the current state.

use sinew_math::coarse_grid::{CoarseGridParams, CoarseGridPreconditioner};
use sinew_math::krylov::{CgParams, CgScratch, conjugate_gradients, norm};
use sinew_math::sparse::{BlockCsr, SlicedBlocks};
use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Quaternion, Vec3};

use super::super::linear::{AssemblyPlan, Filter, filter_scale};
use crate::control::Control;
use crate::model::Model;

/// Rounds of iterative refinement; each gains the digits that f32 can resolve.
const REFINEMENTS: usize = 2;
/// Rotations below this count as none \[rad\].
const NO_TURN: f64 = 1e-9;

/// The Laplacian of a model's bodies, with its solver.
pub(super) struct HarmonicGuess {
    sliced: SlicedBlocks,
    coarse_grid: CoarseGridPreconditioner,
    scratch: CgScratch<f32>,
    /// Unknowns that the guess moves: nodes of bodies whose cells have no bound nodes.
    guided: Vec<bool>,
    rotation: Vec<Vec3>,
    load: Vec<Vec3>,
    residual: Vec<Vec3>,
    narrow: Vec<Vec3<f32>>,
    correction: Vec<Vec3<f32>>,
    /// Linear solves and their iterations for the current guess.
    effort: (usize, usize),
}

impl HarmonicGuess {
    /// Creates the guess; `None` when no pin holds a node on all axes, so that nothing determines where the bodies
    /// belong.
    pub fn new(model: &Model, plan: &AssemblyPlan, filter: &Filter) -> Option<Self> {
        let kinematics = &model.kinematics;
        let nodes = kinematics.unknown_count();
        let mut matrix = BlockCsr::<f32>::zeros(plan.pattern.clone());
        let mut guided = vec![false; nodes];
        let mut positions = vec![Vec3::zero(); nodes];
        for body in &model.bodies {
            for (point, &place) in body.points.clone().zip(body.mesh.positions()) {
                if let Some(unknown) = kinematics.own_unknown(point) {
                    positions[unknown as usize] = place;
                }
            }
        }
        for_each_term(model, |_, _, weight, unknowns, gradients| {
            for (a, &row) in unknowns.iter().enumerate() {
                guided[row as usize] = true;
                for (b, &column) in unknowns.iter().enumerate().filter(|(_, column)| **column <= row) {
                    let block = Mat3::identity() * (weight * gradients[a].dot(gradients[b])) as f32;
                    let added = matrix.add_block(row as usize, column as usize, &block);
                    debug_assert!(added.is_ok(), "nodes of one cell are coupled");
                }
            }
        });
        // Nodes without such cells stay where they are.
        for unknown in (0..nodes).filter(|&unknown| !guided[unknown]) {
            matrix.add_diagonal(unknown, &Mat3::identity());
        }
        let is_held = (0..nodes).any(|unknown| guided[unknown] && kinematics.fixed(unknown) == [true; 3]);
        if !is_held {
            return None;
        }
        let scale = filter_scale(&matrix);
        filter.apply(&mut matrix, scale);
        let fixed = |unknown: usize| if guided[unknown] { kinematics.fixed(unknown) } else { [true; 3] };
        let mut coarse_grid =
            CoarseGridPreconditioner::new(&positions, &plan.pattern, &CoarseGridParams::default(), fixed, |unknown| {
                guided[unknown]
            });
        coarse_grid.update_diagonal(&matrix);
        coarse_grid.update_grid(&matrix, true).ok()?;
        let mut sliced = SlicedBlocks::new(&plan.pattern);
        sliced.fill_from_lower(&matrix);
        Some(Self {
            sliced,
            coarse_grid,
            scratch: CgScratch::new(),
            guided,
            rotation: vec![Vec3::zero(); nodes],
            load: vec![Vec3::zero(); nodes],
            residual: vec![Vec3::zero(); nodes],
            narrow: vec![Vec3::zero(); nodes],
            correction: vec![Vec3::zero(); nodes],
            effort: (0, 0),
        })
    }

    /// Moves the unknowns in `q`, whose prescribed components are already at their targets. Returns the number of
    /// linear solves and their iterations.
    pub fn place(&mut self, model: &Model, control: &Control, q: &mut [Vec3]) -> (usize, usize) {
        self.effort = (0, 0);
        let is_turned = self.carry_rotations(model, control);
        self.load.fill(Vec3::zero());
        let (load, rotation) = (&mut self.load, &self.rotation);
        for_each_term(model, |_, _, weight, unknowns, gradients| {
            let mut turn = Mat3::identity();
            if is_turned {
                let sum = unknowns.iter().fold(Vec3::zero(), |sum, &u| sum + rotation[u as usize]);
                turn = Quaternion::exp_map(sum / unknowns.len() as f64).to_matrix();
            }
            for (&unknown, &gradient) in unknowns.iter().zip(gradients) {
                load[unknown as usize] += turn * gradient * weight;
            }
        });
        // The start of the solve does not matter; a point near the pins keeps the numbers small.
        let (mut center, mut count) = (Vec3::zero(), 0usize);
        for (unknown, &x) in q.iter().enumerate() {
            if self.guided[unknown] && model.kinematics.fixed(unknown) == [true; 3] {
                center += x;
                count += 1;
            }
        }
        center /= count.max(1) as f64;
        for (unknown, x) in q.iter_mut().enumerate().filter(|(unknown, _)| self.guided[*unknown]) {
            let fixed = model.kinematics.fixed(unknown);
            for axis in (0..3).filter(|&axis| !fixed[axis]) {
                x[axis] = center[axis];
            }
        }
        let load = std::mem::take(&mut self.load);
        self.solve(model, &load, q);
        self.load = load;
        self.effort
    }

    /// Carries the rotation vectors of the pins through the bodies; returns false when no pin rotates.
    fn carry_rotations(&mut self, model: &Model, control: &Control) -> bool {
        self.rotation.fill(Vec3::zero());
        let mut targets: Vec<Option<Vec3>> = vec![None; self.rotation.len()];
        model.for_each_prescribed(control, |unknown, axis, value| {
            targets[unknown].get_or_insert(Vec3::splat(f64::NAN))[axis] = value;
        });
        let mut is_turned = false;
        for pin in model.pins.iter().filter(|pin| pin.axes == [true; 3]) {
            let pairs: Vec<(Vec3, Vec3)> = pin
                .nodes
                .iter()
                .filter_map(|&(unknown, place)| Some((place, targets[unknown as usize].filter(|x| x.is_finite())?)))
                .collect();
            let turn = best_rotation(&pairs);
            is_turned |= turn.norm() > NO_TURN;
            for &(unknown, _) in &pin.nodes {
                self.rotation[unknown as usize] = turn;
            }
        }
        if is_turned {
            let zero = vec![Vec3::zero(); self.rotation.len()];
            let mut rotation = std::mem::take(&mut self.rotation);
            self.solve(model, &zero, &mut rotation);
            self.rotation = rotation;
        }
        is_turned
    }

    /// Solves L x = load for the components that are not prescribed; keeps the others as they are in `x`.
    fn solve(&mut self, model: &Model, load: &[Vec3], x: &mut [Vec3]) {
        for _ in 0..=REFINEMENTS {
            self.laplacian(model, x);
            for (unknown, (r, &b)) in self.residual.iter_mut().zip(load).enumerate() {
                *r = if self.guided[unknown] { b - *r } else { Vec3::zero() };
            }
            model.kinematics.filter(&mut self.residual);
            let scale = norm(&self.residual);
            if scale == 0.0 {
                return;
            }
            for (narrow, &r) in self.narrow.iter_mut().zip(&self.residual) {
                *narrow = Vec3::from_f64(r / scale);
            }
            self.correction.fill(Vec3::zero());
            let params = CgParams { relative_tolerance: 1e-5, absolute_tolerance: 0.0, max_iterations: 2000 };
            let (b, out) = (&self.narrow, &mut self.correction);
            let solved = conjugate_gradients(&self.sliced, &mut self.coarse_grid, b, out, &params, &mut self.scratch);
            let Ok(info) = solved else { return };
            self.effort.0 += 1;
            self.effort.1 += info.iterations;
            for (x, c) in x.iter_mut().zip(&self.correction) {
                *x += c.to_f64() * scale;
            }
        }
    }

    /// residual = L x with all rows and columns, in f64.
    fn laplacian(&mut self, model: &Model, x: &[Vec3]) {
        self.residual.fill(Vec3::zero());
        let residual = &mut self.residual;
        for_each_term(model, |_, _, weight, unknowns, gradients| {
            let mut gradient_of_x = Mat3::zero();
            for (&unknown, &gradient) in unknowns.iter().zip(gradients) {
                gradient_of_x += Mat3::outer(x[unknown as usize], gradient);
            }
            for (&unknown, &gradient) in unknowns.iter().zip(gradients) {
                residual[unknown as usize] += gradient_of_x * gradient * weight;
            }
        });
    }
}

/// Calls `visit(block, cell, μ w, unknowns, gradients)` for all quadrature points of blocks without bound nodes.
fn for_each_term(model: &Model, mut visit: impl FnMut(usize, usize, f64, &[u32], &[Vec3])) {
    let mut unknowns = Vec::new();
    let mut gradients = Vec::new();
    for (index, block) in model.elastic.iter().enumerate().filter(|(_, block)| !block.has_bound_nodes) {
        for cell in 0..block.cell_count() {
            unknowns.clear();
            for a in 0..block.kind().nodes_per_cell() {
                if let Some(unknown) = model.kinematics.own_unknown(block.point(cell, a) as usize) {
                    unknowns.push(unknown);
                }
            }
            for k in 0..block.points_per_cell() {
                gradients.clear();
                gradients.extend((0..unknowns.len()).map(|a| block.gradient_of(cell, k, a)));
                let weight = block.weight_of(cell, k) * block.parameters_of(cell).mu;
                visit(index, cell, weight, &unknowns, &gradients);
            }
        }
    }
}

/// Rotation vector of the best-fit rotation from the first points to the second, about their centers \[Kabsch76\].
fn best_rotation(pairs: &[(Vec3, Vec3)]) -> Vec3 {
    let count = pairs.len().max(1) as f64;
    let (from, to) = pairs.iter().fold((Vec3::zero(), Vec3::zero()), |(a, b), p| (a + p.0, b + p.1));
    let (from, to) = (from / count, to / count);
    let mut covariance = Mat3::zero();
    for &(a, b) in pairs {
        covariance += Mat3::outer(b - to, a - from);
    }
    let size = covariance.norm();
    if !(size > 0.0) {
        return Vec3::zero();
    }
    let svd = svd3_plain(&(covariance / size));
    if svd.sigma[1] < 1e-6 {
        // Nodes on a line, or a single node: the rotation about the line is unknown, so take none.
        return Vec3::zero();
    }
    Quaternion::from_rotation_matrix(&svd.u.mul_transpose(&svd.v)).log_map()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_rotation_of_turned_places_is_their_turn() {
        let turn = Vec3::new(0.3, -1.1, 0.7);
        let rotation = Quaternion::exp_map(turn).to_matrix();
        let flat =
            [Vec3::new(0.0, 0.0, 0.0), Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 2.0, 0.0), Vec3::new(1.0, 1.0, 0.0)];
        let pairs: Vec<(Vec3, Vec3)> = flat.iter().map(|&x| (x, rotation * x + Vec3::splat(5.0))).collect();
        assert!((best_rotation(&pairs) - turn).norm() < 1e-6);
        assert_eq!(best_rotation(&pairs[..1]), Vec3::zero());
        assert_eq!(best_rotation(&[]), Vec3::zero());
    }
}
