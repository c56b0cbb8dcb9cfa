//! Forces, which see the model in the making as an [`Assembly`].

use sinew_geometry::CellMesh;
use sinew_geometry::shape::Pose;
use sinew_math::Vec3;

use super::{Assembler, ModelError};
use crate::control::ChannelTable;
use crate::force::Assembly;

impl Assembler {
    pub(super) fn add_forces(&mut self) -> Result<(), ModelError> {
        let mut params = std::mem::take(&mut self.parts.forces);
        params.sort_by_key(|params| params.rank());
        for params in params {
            let force = params.assemble(self)?;
            self.forces.push(force);
        }
        Ok(())
    }
}

impl Assembly for Assembler {
    fn body_name(&self, body: usize) -> &str {
        &self.parts.bodies[body].name
    }

    fn mesh(&self, body: usize) -> &CellMesh {
        &self.parts.bodies[body].mesh
    }

    fn point(&self, body: usize, node: u32) -> u32 {
        (self.first_point[body] + node as usize) as u32
    }

    fn rigid_pose(&self, rigid: usize) -> Pose {
        self.parts.rigid[rigid].pose
    }

    fn add_rigid_point(&mut self, rigid: usize, local: Vec3) -> u32 {
        self.masses.push(0.0);
        self.velocities.push(Vec3::zero());
        self.kinematics.add_rigid_point(self.rigid[rigid].block, local)
    }

    fn add_flesh_point(&mut self, body: usize, weights: &[(u32, f64)]) -> Result<u32, u32> {
        let entries: Vec<_> = weights.iter().map(|&(node, weight)| (self.point(body, node), weight)).collect();
        let first = weights.first().map_or(0, |&(node, _)| node);
        let point = self.kinematics.add_point_between(&entries).ok_or(first)?;
        self.masses.push(0.0);
        self.velocities.push(Vec3::zero());
        Ok(point)
    }

    fn channels(&mut self) -> &mut ChannelTable {
        &mut self.channels
    }

    fn has_muscle(&self, body: usize, name: &str) -> bool {
        self.parts.muscles.iter().any(|muscle| muscle.body == body && muscle.name == name)
    }

    fn has_force(&self, name: &str) -> bool {
        self.forces.iter().any(|force| force.name() == name)
    }
}
