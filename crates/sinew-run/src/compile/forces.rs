//! Forces on bodies: from the tables of a scene to the parameters that the model takes, one function for each kind.

use std::collections::BTreeMap;

use sinew_fem::faces::balanced_triangles;
use sinew_fem::force::{AttachmentParams, LoadParams, PressureParams, SheathParams};
use sinew_math::Vec3;
use sinew_scene::spec::body::Body;

use super::Compiler;
use super::body::{CompiledBody, UniqueNames};

impl Compiler<'_> {
    /// All forces on a body.
    pub(super) fn add_forces(&mut self, index: usize, body: &Body, compiled: &CompiledBody, names: &mut UniqueNames) {
        self.add_attachments(index, body, compiled, names);
        self.add_strands(index, body, compiled);
        self.add_sheaths(index, body, compiled);
        self.add_pressures(index, body, compiled, names);
        self.add_tractions(index, body, compiled, names);
        self.add_point_forces(index, body, compiled, names);
    }

    fn add_attachments(&mut self, index: usize, body: &Body, compiled: &CompiledBody, names: &mut UniqueNames) {
        for (k, attachment) in body.attach.iter().enumerate() {
            let (target, stiffness) = (self.target(&attachment.to), attachment.stiffness);
            let Some(region) = &attachment.region else {
                let name = names.unique("attach", "points");
                let share = stiffness / attachment.points.len().max(1) as f64;
                let place = |&p: &[f64; 3]| (compiled.pose.to_world(Vec3::from(p)), share);
                let springs = attachment.points.iter().map(place).collect();
                self.builder.force(AttachmentParams::places(index, name, springs, target));
                continue;
            };
            let path = format!("body[{index}].attach[{k}].region");
            if let Some(nodes) = self.nodes(compiled, &path, region) {
                let name = names.unique("attach", region);
                self.builder.force(AttachmentParams::nodes(index, name, nodes, target, stiffness));
            }
        }
    }

    fn add_sheaths(&mut self, index: usize, body: &Body, compiled: &CompiledBody) {
        for (k, sheath) in body.sheath.iter().enumerate() {
            let path = format!("body[{index}].sheath[{k}].region");
            if let Some(triangles) = self.triangles(compiled, &path, &sheath.region) {
                let stiffness = sheath.shear * sheath.thickness;
                self.builder.force(SheathParams { body: index, name: sheath.name.clone(), triangles, stiffness });
            }
        }
    }

    fn add_pressures(&mut self, index: usize, body: &Body, compiled: &CompiledBody, names: &mut UniqueNames) {
        for (k, pressure) in body.pressure.iter().enumerate() {
            let path = format!("body[{index}].pressure[{k}].region");
            if let Some(triangles) = self.triangles(compiled, &path, &pressure.region) {
                let name = names.unique("pressure", &pressure.region);
                self.driver.scalars.push((format!("{}.pressure.{name}", body.name), pressure.value.clone()));
                self.builder.force(PressureParams { body: index, name, triangles });
            }
        }
    }

    fn add_tractions(&mut self, index: usize, body: &Body, compiled: &CompiledBody, names: &mut UniqueNames) {
        for (k, traction) in body.traction.iter().enumerate() {
            let path = format!("body[{index}].traction[{k}].region");
            if let Some(triangles) = self.triangles(compiled, &path, &traction.region) {
                let name = names.unique("load", &traction.region);
                self.driver.vectors.push((format!("{}.load.{name}", body.name), traction.value.clone()));
                let triangles = balanced_triangles(compiled.regions.mesh(), &triangles);
                let weights = nodal_areas(&triangles, &compiled.rest);
                self.builder.force(LoadParams { body: index, name, weights });
            }
        }
    }

    fn add_point_forces(&mut self, index: usize, body: &Body, compiled: &CompiledBody, names: &mut UniqueNames) {
        for (k, force) in body.force.iter().enumerate() {
            let path = format!("body[{index}].force[{k}].region");
            if let Some(nodes) = self.nodes(compiled, &path, &force.region) {
                let name = names.unique("load", &force.region);
                self.driver.vectors.push((format!("{}.load.{name}", body.name), force.value.clone()));
                let share = 1.0 / nodes.len() as f64;
                let weights = nodes.into_iter().map(|n| (n, share)).collect();
                self.builder.force(LoadParams { body: index, name, weights });
            }
        }
    }
}

/// Rest area of each node of some triangles with their shares \[m²\].
fn nodal_areas(triangles: &[([u32; 3], f64)], rest: &[Vec3]) -> Vec<(u32, f64)> {
    let mut areas: BTreeMap<u32, f64> = BTreeMap::new();
    for (triangle, share) in triangles {
        let [a, b, c] = triangle.map(|n| rest[n as usize]);
        for &node in triangle {
            *areas.entry(node).or_default() += share * (b - a).cross(c - a).norm() / 6.0;
        }
    }
    areas.into_iter().collect()
}
