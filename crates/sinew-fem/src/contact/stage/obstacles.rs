//! Colliders on their way through a step: where they are at a share of their motion, and how they pull contacts along.

use sinew_geometry::shape::{Pose, Shape};
use sinew_math::Vec3;

use super::super::surface::ContactModel;
use super::{ContactStage, NO_VERTEX};

/// A half-space in the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldPlane {
    pub normal: Vec3,
    pub offset: f64,
}

impl WorldPlane {
    fn blend(&self, other: &Self, share: f64) -> Self {
        let normal = self.normal * (1.0 - share) + other.normal * share;
        let size = normal.norm();
        Self { normal: normal / size, offset: (self.offset * (1.0 - share) + other.offset * share) / size }
    }
}

impl ContactStage {
    /// Whether colliders or half-spaces move during the step.
    pub(super) fn has_moving_obstacles(&self) -> bool {
        let planes = self.planes[0].iter().zip(&self.planes[1]);
        self.start != self.end || planes.into_iter().any(|(a, b)| a.normal != b.normal || a.offset != b.offset)
    }

    /// Share of their motion that colliders have completed.
    pub fn progress(&self) -> f64 {
        self.progress
    }

    /// Moves colliders to a share of their motion; candidates must be found again.
    pub fn set_progress(&mut self, progress: f64) {
        self.is_current = false;
        self.progress = progress;
    }

    /// Vertices at points `x`, with colliders at `progress`.
    pub(super) fn place(&self, contact: &ContactModel, x: &[Vec3], progress: f64, y: &mut [Vec3]) {
        contact.place(x, y);
        for obstacle in &contact.obstacles {
            for v in obstacle.vertices.clone() {
                y[v] = if progress == 1.0 {
                    self.end[v]
                } else {
                    self.start[v] + (self.end[v] - self.start[v]) * progress
                };
            }
        }
    }

    pub(super) fn plane(&self, index: usize, progress: f64) -> WorldPlane {
        if progress == 1.0 {
            self.planes[1][index]
        } else {
            self.planes[0][index].blend(&self.planes[1][index], progress)
        }
    }

    /// gradient += what the contacts last evaluated would gain if colliders went on by `share` of their way: their
    /// tangent times that motion.
    pub fn add_obstacle_pull(&self, contact: &ContactModel, share: f64, gradient: &mut [Vec3]) {
        for active in self.active() {
            let mut motion = Vec3::zero();
            if active.vertices[1] == NO_VERTEX {
                let plane = contact.planes.iter().position(|plane| plane.group == active.groups[1] as usize);
                if let Some(index) = plane {
                    let from = self.plane(index, self.progress);
                    let to = self.plane(index, (self.progress + share).min(1.0));
                    let place = self.y[active.vertices[0] as usize];
                    // Decrease of the distance.
                    let nearer = (from.normal.dot(place) - from.offset) - (to.normal.dot(place) - to.offset);
                    motion = active.normal * -nearer;
                }
            } else {
                for (&v, &w) in active.vertices.iter().zip(&active.weights) {
                    if contact.carriers(v as usize).is_empty() {
                        motion += (self.end[v as usize] - self.start[v as usize]) * (w * share);
                    }
                }
            }
            let force = active.normal * (active.curvature * active.normal.dot(motion));
            for (&v, &w) in active.vertices.iter().zip(&active.weights).filter(|(v, _)| **v != NO_VERTEX) {
                for &(point, weight) in contact.carriers(v as usize) {
                    gradient[point as usize] += force * (w * weight);
                }
            }
        }
    }
}

pub(super) fn world_planes(contact: &ContactModel, poses: &[Pose], out: &mut Vec<WorldPlane>) {
    out.clear();
    out.extend(contact.planes.iter().map(|group| {
        let pose = &poses[group.collider];
        let normal = pose.rotation.rotate(group.plane.normal(group.plane.point));
        WorldPlane { normal, offset: normal.dot(pose.to_world(group.plane.point)) }
    }));
}
