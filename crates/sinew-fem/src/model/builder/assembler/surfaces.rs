//! Surfaces: what one sees of bodies, and what contact takes of them and of rigid bodies.

use sinew_geometry::TriMesh;
use sinew_math::Vec3;

use super::Assembler;
use crate::contact::{ContactMode, FleshSurface, Party, RigidSurface, facing_areas};
use crate::faces::contact_triangles;
use crate::force::Assembly;
use crate::model::{Body, BodyParams, RigidParams, Surface};

impl Assembler {
    /// Surfaces of rigid bodies that take part in contact, on points fixed to them.
    pub(super) fn rigid_surfaces(&mut self) -> Vec<RigidSurface> {
        (0..self.parts.rigid.len()).map(|index| self.rigid_surface(index)).collect()
    }

    fn rigid_surface(&mut self, index: usize) -> RigidSurface {
        let RigidParams { name, shape, pose, velocity, angular_velocity, driven_about, .. } =
            self.parts.rigid[index].clone();
        let first = self.kinematics.point_count();
        let mut surface = RigidSurface {
            name,
            masses: if driven_about.is_some() { 0..0 } else { self.rigid[index].points.clone() },
            points: first..first,
            center: 0,
            rest: Vec::new(),
            rest_center: pose.translation,
            areas: Vec::new(),
            triangles: Vec::new(),
            thickness: shape.thickness(),
        };
        let Some(mesh) = self.touching_surface(index) else { return surface };
        let mut add = |local: Vec3| {
            let point = self.add_rigid_point(index, local);
            self.velocities[point as usize] = velocity + angular_velocity.cross(pose.rotation.rotate(local));
            point
        };
        for &local in mesh.positions() {
            add(local);
        }
        surface.center = add(Vec3::zero());
        surface.points = first..surface.center as usize;
        surface.rest = mesh.positions().iter().map(|&p| pose.to_world(p)).collect();
        surface.triangles = mesh.triangles().to_vec();
        surface.areas = facing_areas(&surface.rest, &surface.triangles);
        self.rigid[index].surface = surface.points.clone();
        surface
    }

    /// The surface of a rigid body, where it touches anything: with vertices everywhere for penalties, which act on
    /// points.
    fn touching_surface(&self, index: usize) -> Option<TriMesh> {
        let own = Party::Rigid(index);
        let modes =
            self.parts.contacts.iter().filter(|(a, b, _)| [*a, *b].contains(&own)).map(|(_, _, rule)| rule.mode);
        let has_penalty = modes.clone().any(|mode| mode == ContactMode::Penalty)
            || (0..self.parts.colliders.len()).any(|collider| self.parts.has_collider_penalty(own, collider));
        let shape = &self.parts.rigid[index].shape;
        match has_penalty {
            true => shape.sampled_surface(),
            false => shape.surface().filter(|_| modes.count() > 0),
        }
    }
}

/// The surface of a body as contact takes it.
pub(super) fn flesh_surface(body: &Body) -> FleshSurface<'_> {
    let first = body.points.start as u32;
    let carriers_of = |vertex: usize| {
        let mut carriers = Vec::new();
        body.surface.for_each_carrier(vertex, |node, weight| carriers.push((first + node, weight)));
        carriers
    };
    FleshSurface {
        name: &body.name,
        mesh: &body.mesh,
        points: body.points.clone(),
        carriers: (0..body.surface.vertex_count()).map(carriers_of).collect(),
        rest: body.surface.positions(body.mesh.positions()),
        areas: &body.surface.areas,
        triangles: &body.surface.triangles,
        modulus: body.modulus(),
        cell: body.cell_size(),
    }
}

/// The visible surface: the given embedded one, or the boundary of the mesh with compact vertices.
pub(super) fn surface_of(params: &BodyParams) -> Surface {
    let x = params.mesh.positions();
    let (triangles, parts, nearest_nodes, embedding) = match &params.surface {
        Some((triangles, embedding)) => {
            let nearest = (0..embedding.len())
                .map(|v| {
                    let (nodes, weights) = embedding.entries(v);
                    let heaviest = (0..nodes.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0);
                    nodes[heaviest]
                })
                .collect();
            let parts = triangles.iter().map(|&triangle| (triangle, 1.0)).collect();
            (triangles.clone(), parts, nearest, Some(embedding.clone()))
        }
        None => {
            let mut vertex_of = vec![u32::MAX; x.len()];
            let mut nodes = Vec::new();
            let mut triangles = params.mesh.boundary_triangles();
            let mut parts = contact_triangles(&params.mesh, &triangles);
            for node in triangles.iter_mut().flatten() {
                let vertex = &mut vertex_of[*node as usize];
                if *vertex == u32::MAX {
                    *vertex = nodes.len() as u32;
                    nodes.push(*node);
                }
                *node = *vertex;
            }
            for (triangle, _) in &mut parts {
                *triangle = triangle.map(|node| vertex_of[node as usize]);
            }
            (triangles, parts, nodes, None)
        }
    };
    let mut surface = Surface { triangles, nearest_nodes, embedding, areas: Vec::new() };
    let positions = surface.positions(x);
    surface.areas = vec![0.0; positions.len()];
    for (triangle, share) in parts {
        let [a, b, c] = triangle.map(|v| positions[v as usize]);
        for v in triangle {
            surface.areas[v as usize] += share * (b - a).cross(c - a).norm() / 6.0;
        }
    }
    surface
}
