//! Free parts of a model, which nothing holds: quasistatics determines their shape, not their position (SIF-033).
//!
//! The matrix of such a part is singular: translations and rotations of the whole part need no force. A resultant force
//! or couple (weight, for instance) has no equilibrium; the part would fly. The residual that deforms the part is what
//! remains after subtracting the inertia forces of that flight, and steps leave its momentum unchanged,
//! ```math
//! g_i \leftarrow g_i - m_i\,(a + \alpha \times d_i), \qquad
//!    \delta_i \leftarrow \delta_i - (b + \beta \times d_i), \qquad d_i = x_i - \bar x,
//! ```
//! with a, α from Σ gᵢ = 0, Σ dᵢ × gᵢ = 0 and b, β from Σ mᵢ δᵢ = 0, Σ mᵢ dᵢ × δᵢ = 0 about the center of mass x̄. So
//! weight alone changes no shape, and the part stays where it is.

use sinew_math::sparse::BlockPattern;
use sinew_math::{Mat3, Vec3};

use crate::force::Hold;
use crate::model::{Deformation, Model};

/// Unknowns of the parts that nothing holds.
#[derive(Default)]
pub(crate) struct FreeParts {
    parts: Vec<Vec<u32>>,
    /// Mass of each unknown \[kg\].
    masses: Vec<f64>,
}

impl FreeParts {
    /// Finds those of the connected `parts` without pin, force that holds them, possible contact or rigid body.
    pub fn find(model: &Model, parts: &[Vec<u32>]) -> Self {
        let kinematics = &model.kinematics;
        let count = kinematics.unknown_count();
        let mut is_held: Vec<bool> = (0..count).map(|unknown| kinematics.fixed(unknown) != [false; 3]).collect();
        let mut hold = |point: u32| {
            let mut unknowns = Vec::new();
            kinematics.unknowns_of(point as usize, &mut unknowns);
            unknowns.into_iter().for_each(|unknown| is_held[unknown as usize] = true);
        };
        let mut holds_all = !model.contact.is_empty();
        for force in model.forces() {
            match force.hold() {
                Hold::Nothing => {}
                Hold::Points(points) => points.into_iter().for_each(&mut hold),
                Hold::All => holds_all = true,
            }
        }
        // Affine bodies turn and shift like free nodes do: their control points are places.
        let mut is_affine = vec![false; kinematics.point_count()];
        for body in model.bodies.iter().filter(|body| body.deformation == Deformation::Affine) {
            is_affine[body.points.clone()].fill(true);
        }
        for point in 0..kinematics.point_count() {
            if holds_all || !is_affine[point] && kinematics.own_unknown(point).is_none() {
                hold(point as u32);
            }
        }
        for rigid in kinematics.rigid_blocks() {
            is_held[rigid.translation as usize] = true;
            is_held[rigid.rotation as usize] = true;
        }
        let is_free = |part: &&Vec<u32>| part.iter().all(|&unknown| !is_held[unknown as usize]);
        let parts = parts.iter().filter(is_free).cloned().collect();
        let mut masses = vec![0.0; count];
        model.add_lumped_masses(&mut masses);
        Self { parts, masses }
    }

    /// The unknowns of each part.
    pub fn parts(&self) -> &[Vec<u32>] {
        &self.parts
    }

    /// Subtracts the inertia forces of the flight of each part at positions `q` from a gradient.
    pub fn project_forces(&self, q: &[Vec3], gradient: &mut [Vec3]) {
        for part in &self.parts {
            let sums = self.sums(part, q, |i| (gradient[i], 1.0));
            for &i in part {
                let i = i as usize;
                gradient[i] -= (sums.shift + sums.turn.cross(q[i] - sums.center)) * self.masses[i];
            }
        }
    }

    /// Subtracts the rigid motion of each part from a step.
    pub fn project_step(&self, q: &[Vec3], step: &mut [Vec3]) {
        for part in &self.parts {
            let sums = self.sums(part, q, |i| (step[i], self.masses[i]));
            for &i in part {
                step[i as usize] -= sums.shift + sums.turn.cross(q[i as usize] - sums.center);
            }
        }
    }

    /// Acceleration of a part as a rigid body under the forces w v, with (v, w) = `value`.
    fn sums(&self, part: &[u32], q: &[Vec3], value: impl Fn(usize) -> (Vec3, f64)) -> RigidMotion {
        let (mut mass, mut center, mut force) = (0.0, Vec3::zero(), Vec3::zero());
        for &i in part {
            let (v, weight) = value(i as usize);
            mass += self.masses[i as usize];
            center += q[i as usize] * self.masses[i as usize];
            force += v * weight;
        }
        let center = center / mass;
        let (mut inertia, mut moment) = (Mat3::zero(), Vec3::zero());
        for &i in part {
            let (v, weight) = value(i as usize);
            let d = q[i as usize] - center;
            inertia += (Mat3::identity() * d.norm_squared() - Mat3::outer(d, d)) * self.masses[i as usize];
            moment += d.cross(v) * weight;
        }
        // The inertia of a part on a line (or of a point) is singular; a little extra inertia excludes the rotations
        // without effect.
        let trace = inertia.trace();
        let turn =
            if trace > 0.0 { (inertia + Mat3::identity() * (1e-12 * trace)).inverse() * moment } else { Vec3::zero() };
        RigidMotion { center, shift: force / mass, turn }
    }
}

/// Unknowns of each part connected by the matrix or by the cells of a lattice.
pub(crate) fn connected_parts(model: &Model, pattern: &BlockPattern) -> Vec<Vec<u32>> {
    // Cells around each node of a lattice.
    let around: Vec<_> =
        model.lattices.iter().map(|block| (block, model.bodies[block.body].mesh.node_cells())).collect();
    let mut seen = vec![false; pattern.node_count()];
    let mut parts = Vec::new();
    for seed in 0..seen.len() {
        if std::mem::replace(&mut seen[seed], true) {
            continue;
        }
        let (mut part, mut next) = (vec![seed as u32], 0);
        while let Some(&node) = part.get(next) {
            next += 1;
            let mut reach = |other: u32| {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    part.push(other);
                }
            };
            pattern.row(node as usize).for_each(|slot| reach(pattern.columns()[slot]));
            for (block, cells) in around.iter().filter(|(block, _)| block.unknowns().contains(&(node as usize))) {
                let first = block.unknowns().start as u32;
                let cells = cells.cells((node - first) as usize).iter();
                cells
                    .flat_map(|&cell| block.lattice().cells[cell as usize].nodes)
                    .for_each(|other| reach(first + other));
            }
        }
        parts.push(part);
    }
    parts
}

struct RigidMotion {
    center: Vec3,
    shift: Vec3,
    turn: Vec3,
}
