//! Speculative contacts: collisions ahead of the motion, which a step resolves within its linear system.
//!
//! Barriers act over a small distance, and continuous collision detection stops a step at the first collision beyond
//! it. If flesh moves by many times that distance, each step would get only to the next few pairs. So each vertex and
//! triangle that would meet get a spring in the linear system, as if they were already in contact: along the normal n
//! at the time of collision, towards the distance g* that a barrier would leave,
//! ```math
//! \tfrac k2 (n \cdot \textstyle\sum w_i (y_i + \delta_i) - g^*)^2.
//! ```
//! The springs only change the direction of the step. Collision detection and energy decide what is accepted, as
//! always.

use sinew_geometry::proximity::{PairKind, free_fraction, point_triangle};
use sinew_math::parallel::for_each_block_mut;
use sinew_math::{Mat3, Vec3};

use super::super::barrier::barrier;
use super::super::surface::ContactModel;
use super::{BLOCK, ContactStage, ContactTerm, KEEP, combine};

/// Target distance, relative to the gap of the barrier.
const AIM: f64 = 0.5;

/// A pair that would meet.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    vertices: [u32; 4],
    weights: [f64; 4],
    normal: Vec3,
    /// Distance along the normal before the step, with prescribed motion at its end \[m\].
    distance: f64,
    aim: f64,
    stiffness: f64,
}

/// Pairs that the last direction would make collide.
#[derive(Default)]
pub(super) struct SpeculativeContacts {
    meetings: Vec<Meeting>,
    /// Vertex, triangle and fraction of the motion, block by block.
    blocked: Vec<Vec<(u32, u32, f64)>>,
    first: Vec<(u32, f64, u32)>,
}

impl SpeculativeContacts {
    /// Tangent terms of the springs.
    pub fn terms(&self) -> impl Iterator<Item = ContactTerm> {
        self.meetings.iter().map(|meeting| {
            let block = Mat3::outer(meeting.normal, meeting.normal) * meeting.stiffness;
            ContactTerm::new(meeting.vertices, meeting.weights, block)
        })
    }
}

impl ContactStage {
    /// Discards the speculative contacts.
    pub fn look_nowhere(&mut self) {
        self.speculative.meetings.clear();
    }

    /// Finds the pairs that would meet on the way of the last [`sweep`](Self::sweep), which is not free. Returns
    /// whether one of them is new.
    pub fn look_ahead(&mut self, contact: &ContactModel) -> bool {
        let mut ahead = std::mem::take(&mut self.speculative);
        let SpeculativeContacts { meetings, blocked, first } = &mut ahead;
        // A pair that is pushed further apart anyway needs no spring, which would pull.
        meetings.retain(|meeting| {
            combine(meeting.vertices, meeting.weights, &self.swept).dot(meeting.normal) < meeting.aim
        });
        let pairs = &self.candidates.point_triangle;
        blocked.resize_with(pairs.len().div_ceil(BLOCK).max(1), Vec::new);
        for_each_block_mut(&mut blocked[..], 1, |at, block| {
            for (k, list) in block.iter_mut().enumerate() {
                list.clear();
                for &[v, t] in &pairs[((at + k) * BLOCK).min(pairs.len())..((at + k + 1) * BLOCK).min(pairs.len())] {
                    let [a, b, c] = contact.triangles[t as usize];
                    let vertices = [v, a, b, c];
                    let [from, to] = [&self.y, &self.swept].map(|y| vertices.map(|v| y[v as usize]));
                    let share = free_fraction(PairKind::PointTriangle, from, to, KEEP);
                    if share < 1.0 {
                        list.push((v, t, share));
                    }
                }
            }
        });
        first.clear();
        first.extend(blocked.iter().flatten().map(|&(v, t, share)| (v, share, t)));
        first.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        first.dedup_by_key(|entry| entry.0);
        let before = meetings.len();
        for &(v, share, t) in &*first {
            let [a, b, c] = contact.triangles[t as usize];
            let vertices = [v, a, b, c];
            if meetings[..before].iter().any(|meeting| meeting.vertices == vertices) {
                continue;
            }
            let groups = [v, a].map(|v| contact.vertex_groups[v as usize] as usize);
            let Some(rule) = contact.rule(groups[0], groups[1]) else { continue };
            let met = vertices.map(|v| {
                let [from, to] = [self.y[v as usize], self.swept[v as usize]];
                from + (to - from) * share
            });
            let closest = point_triangle(met);
            let size = closest.distance_squared.sqrt();
            if !(size > 0.0) {
                continue;
            }
            let normal = closest.difference / size;
            let placed = vertices.iter().zip(&closest.weights).fold(Vec3::zero(), |sum, (&v, &w)| {
                let is_given = contact.carriers(v as usize).is_empty();
                sum + if is_given { self.swept[v as usize] } else { self.y[v as usize] } * w
            });
            let area = contact.areas[v as usize].min(contact.triangle_areas[t as usize]);
            meetings.push(Meeting {
                vertices,
                weights: closest.weights,
                normal,
                distance: placed.dot(normal),
                aim: AIM * rule.gap,
                stiffness: rule.modulus * area / rule.gap * barrier(AIM)[2],
            });
        }
        let has_new = meetings.len() > before;
        self.speculative = ahead;
        has_new
    }

    /// gradient += that of the springs ahead where the flesh is now, and what the scene moves at its end.
    pub fn add_pull_ahead(&self, contact: &ContactModel, gradient: &mut [Vec3]) {
        for meeting in &self.speculative.meetings {
            let force = meeting.normal * (meeting.stiffness * (meeting.distance - meeting.aim));
            for (&v, &w) in meeting.vertices.iter().zip(&meeting.weights) {
                for &(point, weight) in contact.carriers(v as usize) {
                    gradient[point as usize] += force * (w * weight);
                }
            }
        }
    }
}
