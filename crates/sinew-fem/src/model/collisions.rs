//! Penalty contact of bodies and rigid bodies with colliders: selects contact points and their stiffness.

use std::ops::Range;

use sinew_geometry::embedding::{Embedding, Outside};
use sinew_geometry::shape::Shape;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::Vec3;

use super::builder::{ColliderParams, ColliderSettings, ModelBuilder, Side};
use super::{Body, RigidBody};
use crate::collider::Collider;
use crate::contact::{Party, RIGID_MODULUS, RigidSurface, bounce_damping, usual_stiffness};
use crate::force::{Bone, ContactForce};

/// Maximum distance of a point from its embedded position, relative to the size of a cell, for a point in the mesh.
const ROUNDING: f64 = 1e-6;
/// Skin within this many cells of a collider in flesh gets contact points of its own; skin further away has cells
/// between that do.
const SKIN_REACH: f64 = 2.0;

/// Contact points with what carries them.
#[derive(Clone)]
struct Proxies {
    offsets: Vec<u32>,
    entries: Vec<(u32, f64)>,
    areas: Vec<f64>,
    /// Minimum distance of each \[m\]; empty where all may touch.
    clearances: Vec<f64>,
}

impl Proxies {
    fn new() -> Self {
        Self { offsets: vec![0], entries: Vec::new(), areas: Vec::new(), clearances: Vec::new() }
    }

    fn add(&mut self, area: f64, carriers: impl IntoIterator<Item = (u32, f64)>) {
        self.entries.extend(carriers);
        self.offsets.push(self.entries.len() as u32);
        self.areas.push(area);
    }

    /// The surface of a body and its inner nodes: collapsing flesh must not leave through the floor inverted.
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

    /// The vertices of a rigid body.
    fn of_rigid(surface: &RigidSurface) -> Self {
        let mut proxies = Self::new();
        for (point, &area) in surface.points.clone().zip(&surface.areas) {
            proxies.add(area, [(point as u32, 1.0)]);
        }
        proxies
    }

    /// The flesh of a body at the surface of a collider at rest (MCA-23, MCA-24).
    fn at_surface(body: &Body, collider: &Collider, surface: &TriMesh) -> Self {
        let (flat, areas): (Vec<Vec3>, Vec<f64>) = surface.samples(body.cell_size()).into_iter().unzip();
        // Triangles of round shapes lie slightly inside them.
        let on_shape = |p: &Vec3| collider.initial.to_world(collider.shape.closest(*p));
        let points: Vec<Vec3> = flat.iter().map(on_shape).collect();
        let mut proxies = Self::new();
        // Points of a checked surface are finite, and clamped points are always bound.
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

    /// Adds the skin near a collider inside flesh: where a cell contains both, contact points at the collider do not
    /// cover the skin. It keeps the distance `cover`, or its rest distance where that is less.
    fn add_skin(&mut self, body: &Body, collider: &Collider, cover: f64) {
        let first = body.points.start as u32;
        self.clearances = vec![0.0; self.areas.len()];
        let reach = cover + SKIN_REACH * body.cell_size();
        for (vertex, x) in body.surface.positions(body.mesh.positions()).into_iter().enumerate() {
            let distance = collider.shape.distance(collider.initial.to_local(x));
            if (0.0..=reach).contains(&distance) {
                let mut carriers = Vec::new();
                body.surface.for_each_carrier(vertex, |node, weight| carriers.push((first + node, weight)));
                self.add(body.surface.areas[vertex], carriers);
                self.clearances.push(cover.min(distance));
            }
        }
    }
}

/// Creates one contact force per body or rigid body and collider without a barrier between them.
pub(super) fn contact_forces(
    bodies: &[Body],
    rigid_bodies: &[RigidBody],
    rigid_surfaces: &[RigidSurface],
    colliders: &[Collider],
    parts: &ModelBuilder,
    creep: f64,
) -> Vec<ContactForce> {
    let mut forces: Vec<ContactForce> = Vec::new();
    for (body_index, body) in bodies.iter().enumerate() {
        let mut outside = None;
        let owner = Owner::body(body_index, body);
        for (index, (collider, params)) in colliders.iter().zip(&parts.colliders).enumerate() {
            if !parts.has_collider_penalty(owner.party, index) {
                continue;
            }
            let proxies = match (params.side, collider.shape.surface()) {
                (Side::Bone { .. }, _) => continue,
                (Side::Inside, Some(surface)) => Proxies::at_surface(body, collider, &surface),
                _ => outside.get_or_insert_with(|| Proxies::of_body(body)).clone(),
            };
            forces.push(owner.force(index, collider, parts.settings(owner.party, index), creep, proxies));
        }
    }
    for (rigid_index, (rigid, surface)) in rigid_bodies.iter().zip(rigid_surfaces).enumerate() {
        let owner = Owner::rigid(rigid_index, rigid, surface);
        for (index, collider) in colliders.iter().enumerate() {
            if parts.has_collider_penalty(owner.party, index) {
                let settings = parts.settings(owner.party, index);
                forces.push(owner.force(index, collider, settings, creep, Proxies::of_rigid(surface)));
            }
        }
    }
    for (index, force) in forces.iter_mut().enumerate() {
        force.index = index;
    }
    forces
}

/// Bones over which the flesh of their body slides.
pub(super) fn bones(bodies: &[Body], colliders: &[Collider], params: &[ColliderParams], creep: f64) -> Vec<Bone> {
    let mut bones = Vec::new();
    for (index, (collider, params)) in colliders.iter().zip(params).enumerate() {
        let (Side::Bone { body: owner, cover }, Some(surface)) = (params.side, collider.shape.surface()) else {
            continue;
        };
        let body = &bodies[owner];
        let mut proxies = Proxies::at_surface(body, collider, &surface);
        proxies.add_skin(body, collider, cover);
        let own = collider.name.strip_prefix(&format!("{}.bone.", body.name)).unwrap_or(&collider.name);
        let bounds = surface.bounds();
        let settings = ColliderSettings::of(params);
        let contact = Owner::body(owner, body).force(index, collider, settings, creep, proxies);
        bones.push(Bone {
            name: own.to_string(),
            body: owner,
            center: bounds.center(),
            reach: 0.5 * bounds.diagonal(),
            contact: ContactForce { name: collider.name.clone(), ..contact },
        });
    }
    bones
}

/// What a collider pushes out.
struct Owner<'a> {
    name: &'a str,
    party: Party,
    /// Points that have its mass.
    points: Range<usize>,
    /// Stiffness λ + 2μ \[Pa\], and cell size \[m\].
    modulus: f64,
    cell: f64,
}

impl<'a> Owner<'a> {
    fn body(index: usize, body: &'a Body) -> Self {
        Self {
            name: &body.name,
            party: Party::Body(index),
            points: body.points.clone(),
            modulus: body.modulus(),
            cell: body.cell_size(),
        }
    }

    fn rigid(index: usize, rigid: &'a RigidBody, surface: &RigidSurface) -> Self {
        Self {
            name: &rigid.name,
            party: Party::Rigid(index),
            points: rigid.points.clone(),
            modulus: RIGID_MODULUS,
            cell: 0.5 * surface.thickness,
        }
    }

    /// The contact force at some points, without an index in the list of contact forces yet.
    fn force(
        &self,
        collider_index: usize,
        collider: &Collider,
        settings: ColliderSettings,
        creep: f64,
        proxies: Proxies,
    ) -> ContactForce {
        let Proxies { offsets, entries, areas, clearances } = proxies;
        ContactForce {
            name: format!("{}.contact.{}", self.name, collider.name),
            party: self.party,
            points: self.points.clone(),
            cell: self.cell,
            collider: collider_index,
            shape: collider.clone(),
            offsets,
            entries,
            areas,
            stiffness: settings.stiffness.unwrap_or_else(|| usual_stiffness(self.modulus, self.cell)),
            friction: settings.friction,
            bounce: bounce_damping(settings.restitution),
            creep,
            index: usize::MAX,
            meeting: usize::MAX,
            grace: Vec::new(),
            clearances,
        }
    }
}

/// Nodes that are not on the boundary, each with the area V^⅔ of its share V of the volume \[m²\].
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
