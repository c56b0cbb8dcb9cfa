//! Penalty contact of bodies with colliders: which points are kept out, and how hard.

use sinew_geometry::embedding::{Embedding, Outside};
use sinew_geometry::shape::Shape;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::Vec3;

use super::Body;
use super::builder::{ColliderParams, Side};
use crate::contact::bounce_damping;
use crate::force::{Collider, ContactForce};

/// Distance of a point from its embedded place, over the size of a cell, up to which it lies in the mesh.
const ROUNDING: f64 = 1e-6;

/// Contact points with what carries them.
#[derive(Clone)]
struct Proxies {
    offsets: Vec<u32>,
    entries: Vec<(u32, f64)>,
    areas: Vec<f64>,
}

impl Proxies {
    fn new() -> Self {
        Self { offsets: vec![0], entries: Vec::new(), areas: Vec::new() }
    }

    fn add(&mut self, area: f64, carriers: impl IntoIterator<Item = (u32, f64)>) {
        self.entries.extend(carriers);
        self.offsets.push(self.entries.len() as u32);
        self.areas.push(area);
    }

    /// The surface of a body, and its inner nodes: flesh that collapses must not leave through the floor inside out.
    fn of_body(body: &Body) -> Self {
        let first = body.points.start as u32;
        let mut proxies = Self::new();
        for vertex in 0..body.surface.vertex_count() {
            let mut carriers = Vec::new();
            body.surface.for_each_carrier(vertex, |node, weight| carriers.push((first + node, weight)));
            proxies.add(body.surface.areas[vertex], carriers);
        }
        for (node, area) in inner_nodes(&body.mesh) {
            proxies.add(area, [(first + node as u32, 1.0)]);
        }
        proxies
    }

    /// The flesh of a body that lies at a surface at rest (MCA-23, MCA-24).
    fn at_surface(body: &Body, collider: &Collider, surface: &TriMesh) -> Self {
        let (flat, areas): (Vec<Vec3>, Vec<f64>) = samples(surface, body.cell_size()).into_iter().unzip();
        // Triangles of round shapes lie a little inside of them.
        let on_shape = |p: &Vec3| collider.initial.to_world(collider.shape.closest(*p));
        let points: Vec<Vec3> = flat.iter().map(on_shape).collect();
        let mut proxies = Self::new();
        // Points of a checked surface are finite, and clamped ones are always bound.
        let Ok(embedding) = Embedding::bind_with(&body.mesh, &points, Outside::Clamp) else { return proxies };
        let mut bound = vec![Vec3::zero(); points.len()];
        embedding.positions(body.mesh.positions(), &mut bound);
        for (k, &area) in areas.iter().enumerate() {
            if (bound[k] - points[k]).norm() <= ROUNDING * body.cell_size() {
                let (nodes, weights) = embedding.entries(k);
                let point = |node: u32| body.points.start as u32 + node;
                proxies.add(area, nodes.iter().zip(weights).map(|(&node, &weight)| (point(node), weight)));
            }
        }
        proxies
    }
}

/// One contact force per body and collider that are not kept apart by a barrier.
pub(super) fn contact_forces(
    bodies: &[Body],
    colliders: &[Collider],
    params: &[ColliderParams],
    creep: f64,
    has_barrier: impl Fn(usize, usize) -> bool,
) -> Vec<ContactForce> {
    let mut forces: Vec<ContactForce> = Vec::new();
    for (body_index, body) in bodies.iter().enumerate() {
        let mut outside = None;
        for (index, (collider, params)) in colliders.iter().zip(params).enumerate() {
            if has_barrier(body_index, index) {
                continue;
            }
            let proxies = match (params.side, collider.shape.surface()) {
                (Side::Inside, Some(surface)) => Proxies::at_surface(body, collider, &surface),
                _ => outside.get_or_insert_with(|| Proxies::of_body(body)).clone(),
            };
            let Proxies { offsets, entries, areas } = proxies;
            forces.push(ContactForce {
                name: format!("{}.contact.{}", body.name, collider.name),
                body: body_index,
                collider: index,
                shape: collider.clone(),
                offsets,
                entries,
                areas,
                stiffness: params.stiffness.unwrap_or_else(|| default_stiffness(body)),
                friction: params.friction,
                bounce: bounce_damping(params.restitution),
                creep,
                index: forces.len(),
                grace: Vec::new(),
            });
        }
    }
    forces
}

/// Centres of the parts of triangles cut so fine that their edges are no longer than `spacing`, with their areas [m²].
fn samples(surface: &TriMesh, spacing: f64) -> Vec<(Vec3, f64)> {
    let mut samples = Vec::new();
    for triangle in 0..surface.triangle_count() {
        let [a, b, c] = surface.corners(triangle);
        let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
        let parts = (longest / spacing).ceil().max(1.0);
        let area = 0.5 * (b - a).cross(c - a).norm() / (parts * parts);
        let at = |u: f64, v: f64| a + (b - a) * (u / parts) + (c - a) * (v / parts);
        for i in 0..parts as usize {
            for j in 0..parts as usize - i {
                let (u, v) = (i as f64, j as f64);
                samples.push((at(u + 1.0 / 3.0, v + 1.0 / 3.0), area));
                if i + j + 1 < parts as usize {
                    samples.push((at(u + 2.0 / 3.0, v + 2.0 / 3.0), area));
                }
            }
        }
    }
    samples
}

/// Nodes that are not on the boundary, each with the area V^⅔ of its share V of the volume [m²].
fn inner_nodes(mesh: &CellMesh) -> Vec<(usize, f64)> {
    let mut volumes = vec![0.0; mesh.node_count()];
    for ((_, nodes), volume) in mesh.cells().zip(mesh.cell_volumes()) {
        for &node in nodes {
            volumes[node as usize] += volume / nodes.len() as f64;
        }
    }
    for node in mesh.boundary_nodes() {
        volumes[node as usize] = 0.0;
    }
    let inner = volumes.into_iter().enumerate().filter(|(_, volume)| *volume > 0.0);
    inner.map(|(node, volume)| (node, volume.powf(2.0 / 3.0))).collect()
}

/// Penalty stiffness of flesh of modulus M = λ + 2μ in cells of size h: twenty layers of cells in series, 20 M / h.
///
/// A pressure of M/10, which squashes the flesh itself by about a tenth, then sinks the surface by h/200.
fn default_stiffness(body: &Body) -> f64 {
    20.0 * body.modulus() / body.cell_size()
}
