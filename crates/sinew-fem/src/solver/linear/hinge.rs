//! Hinged parts, which hang on one point or rotate about one axis: their steps follow arcs.
//!
//! Only the load resists the rotation of such a part, so Newton's step rotates it far, and a straight step of that
//! length stretches it far more than it rotates it. The line search then accepts a thousandth, and the part creeps to
//! its hanging position. Instead we split the step δ into its best-fit rotation and the rest, and move nodes along
//! arcs,
//! ```math
//! x_i(s) = c + e^{[s\omega]_\times}\big(d_i + s\,(\delta_i - \omega \times d_i)\big), \qquad d_i = x_i - c, \qquad
//!    \sum_i m_i\,d_i \times (\delta_i - \omega \times d_i) = 0,
//! ```
//! which start along δ.

use sinew_math::{Mat3, Quaternion, Vec3};

use crate::force::Hold;
use crate::model::Model;

/// Maximum rotation of one step \[rad\].
const LONGEST_TURN: f64 = 1.0;
/// Held nodes within this distance of a line, relative to the size of the part, let it rotate about the line.
const STRAIGHT: f64 = 1e-6;

/// The hinged parts of a model.
#[derive(Default)]
pub(crate) struct Hinges {
    hinges: Vec<Hinge>,
    /// Mass of each unknown \[kg\].
    masses: Vec<f64>,
}

struct Hinge {
    nodes: Vec<u32>,
    /// A held node.
    pivot: u32,
    /// Another held node far from it, where the part rotates about an axis.
    far: Option<u32>,
}

impl Hinges {
    /// Finds the connected `parts` that are held at one point or along one line, and by nothing else.
    pub fn find(model: &Model, parts: &[Vec<u32>]) -> Self {
        let kinematics = &model.kinematics;
        let has_other_holds = model.forces().any(|force| force.hold() != Hold::Nothing)
            || !model.contact.is_empty()
            || !kinematics.rigid_blocks().is_empty()
            || !kinematics.has_free_points_only();
        if has_other_holds {
            return Self::default();
        }
        let mut rest = vec![Vec3::zero(); kinematics.unknown_count()];
        for body in &model.bodies {
            for (point, &place) in body.points.clone().zip(body.mesh.positions()) {
                if let Some(unknown) = kinematics.own_unknown(point) {
                    rest[unknown as usize] = place;
                }
            }
        }
        let hinges = parts.iter().filter_map(|nodes| hinge(model, &rest, nodes.clone())).collect();
        let mut masses = vec![0.0; kinematics.unknown_count()];
        model.add_lumped_masses(&mut masses);
        Self { hinges, masses }
    }

    /// Unknowns of all hinged parts.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.hinges.iter().flat_map(|hinge| hinge.nodes.iter().copied())
    }

    /// Scales down a whole step that rotates a part too far, so that it remains a descent direction.
    pub fn limit(&self, q: &[Vec3], step: &mut [Vec3]) {
        let furthest = self.hinges.iter().map(|hinge| self.turn(hinge, q, step).norm()).fold(0.0, f64::max);
        if furthest > LONGEST_TURN {
            step.iter_mut().for_each(|d| *d *= LONGEST_TURN / furthest);
        }
    }

    /// Replaces q + `fraction` · `step` in `target` by positions along the arcs.
    pub fn bend(&self, q: &[Vec3], step: &[Vec3], fraction: f64, target: &mut [Vec3]) {
        for hinge in &self.hinges {
            let turn = self.turn(hinge, q, step);
            let center = q[hinge.pivot as usize];
            let rotation = Quaternion::exp_map(turn * fraction).to_matrix();
            for &node in &hinge.nodes {
                let node = node as usize;
                let d = q[node] - center;
                let place = center + rotation * (d + (step[node] - turn.cross(d)) * fraction);
                // Held nodes lie on the axis, up to rounding.
                if step[node] != Vec3::zero() {
                    target[node] = place;
                }
            }
        }
    }

    /// Best-fit rotation ω of a part for a step.
    fn turn(&self, hinge: &Hinge, q: &[Vec3], step: &[Vec3]) -> Vec3 {
        let center = q[hinge.pivot as usize];
        let (mut inertia, mut moment) = (Mat3::zero(), Vec3::zero());
        for &node in &hinge.nodes {
            let (d, mass) = (q[node as usize] - center, self.masses[node as usize]);
            inertia += (Mat3::identity() * d.norm_squared() - Mat3::outer(d, d)) * mass;
            moment += d.cross(step[node as usize]) * mass;
        }
        let trace = inertia.trace();
        if !(trace > 0.0) {
            return Vec3::zero();
        }
        match hinge.far {
            None => (inertia + Mat3::identity() * (1e-12 * trace)).inverse() * moment,
            Some(far) => {
                let axis = (q[far as usize] - center).normalized();
                axis * (axis.dot(moment) / (axis.dot(inertia * axis) + 1e-12 * trace))
            }
        }
    }
}

fn hinge(model: &Model, rest: &[Vec3], nodes: Vec<u32>) -> Option<Hinge> {
    let fixed = |node: u32| model.kinematics.fixed(node as usize);
    // On an arc, rollers would leave their planes.
    if nodes.iter().any(|&node| fixed(node) != [false; 3] && fixed(node) != [true; 3]) {
        return None;
    }
    let held: Vec<u32> = nodes.iter().copied().filter(|&node| fixed(node) == [true; 3]).collect();
    let pivot = *held.first()?;
    if held.len() == nodes.len() {
        return None;
    }
    let place = |node: u32| rest[node as usize] - rest[pivot as usize];
    let size = nodes.iter().map(|&node| place(node).norm()).fold(0.0, f64::max);
    let far = held.iter().copied().max_by(|&a, &b| place(a).norm().total_cmp(&place(b).norm()))?;
    if place(far).norm() <= STRAIGHT * size {
        return Some(Hinge { nodes, pivot, far: None });
    }
    let axis = place(far).normalized();
    let is_straight = held.iter().all(|&node| place(node).cross(axis).norm() <= STRAIGHT * size);
    is_straight.then_some(Hinge { nodes, pivot, far: Some(far) })
}
