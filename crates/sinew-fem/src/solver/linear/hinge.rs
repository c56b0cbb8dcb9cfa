//! Parts that hang on one point or turn about one axis: steps that turn them instead of tearing them.
//!
//! Nothing but the load resists the turn of such a part, so Newton's step turns it far, and a straight step of that length stretches
//! it far more than it turns. The line search then admits a thousandth, and the part creeps to where it hangs. Instead the step δ is split into
//! the turn that fits it best and the rest, and nodes go along arcs,
//! ```math
//! x_i(s) = c + e^{[s\omega]_\times}\big(d_i + s\,(\delta_i - \omega \times d_i)\big), \qquad d_i = x_i - c, \qquad
//!    \sum_i m_i\,d_i \times (\delta_i - \omega \times d_i) = 0,
//! ```
//! which begin along δ.

use sinew_math::{Mat3, Quaternion, Vec3};

use crate::kinematics::PointMap;
use crate::model::Model;

/// Longest turn of one step \[rad\].
const LONGEST_TURN: f64 = 1.0;
/// Held nodes this close to a line, over the size of the part, let it turn about the line.
const STRAIGHT: f64 = 1e-6;

/// The parts of a model that pins let turn.
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
    /// Another one far from it, where the part turns about an axis.
    far: Option<u32>,
}

impl Hinges {
    /// Finds those of the connected `parts` that are held at one place or along one line, and by nothing else.
    pub fn find(model: &Model, parts: &[Vec<u32>]) -> Self {
        let kinematics = &model.kinematics;
        let has_other_holds = !model.attachments.is_empty()
            || !model.tendons.is_empty()
            || !model.contacts.is_empty()
            || !model.contact.is_empty()
            || !model.custom.is_empty()
            || !kinematics.rigid_blocks().is_empty()
            || (0..kinematics.point_count()).any(|point| !matches!(kinematics.map(point), PointMap::Free(_)));
        if has_other_holds {
            return Self::default();
        }
        let mut rest = vec![Vec3::zero(); kinematics.unknown_count()];
        for body in &model.bodies {
            for (point, &place) in body.points.clone().zip(body.mesh.positions()) {
                if let PointMap::Free(unknown) = kinematics.map(point) {
                    rest[unknown as usize] = place;
                }
            }
        }
        let hinges = parts.iter().filter_map(|nodes| hinge(model, &rest, nodes.clone())).collect();
        let mut masses = vec![0.0; kinematics.unknown_count()];
        model.add_lumped_masses(&mut masses);
        Self { hinges, masses }
    }

    /// Unknowns of all of them.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.hinges.iter().flat_map(|hinge| hinge.nodes.iter().copied())
    }

    /// Shortens a step that turns a part too far, as a whole: so it still descends.
    pub fn limit(&self, q: &[Vec3], step: &mut [Vec3]) {
        let furthest = self.hinges.iter().map(|hinge| self.turn(hinge, q, step).norm()).fold(0.0, f64::max);
        if furthest > LONGEST_TURN {
            step.iter_mut().for_each(|d| *d *= LONGEST_TURN / furthest);
        }
    }

    /// Replaces q + `fraction` · `step` in `target` by places along the arcs.
    pub fn bend(&self, q: &[Vec3], step: &[Vec3], fraction: f64, target: &mut [Vec3]) {
        for hinge in &self.hinges {
            let turn = self.turn(hinge, q, step);
            let center = q[hinge.pivot as usize];
            let rotation = Quaternion::exp_map(turn * fraction).to_matrix();
            for &node in &hinge.nodes {
                let node = node as usize;
                let d = q[node] - center;
                let place = center + rotation * (d + (step[node] - turn.cross(d)) * fraction);
                // Held nodes lie on the axis, to rounding.
                if step[node] != Vec3::zero() {
                    target[node] = place;
                }
            }
        }
    }

    /// The turn ω of a part that fits a step best.
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
    // Rollers would leave their planes on an arc.
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
