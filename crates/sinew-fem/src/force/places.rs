//! Where forces take hold: places in flesh and on what it is attached to, as weighted sums of points.

use std::collections::BTreeMap;

use sinew_geometry::embedding::{Embedding, Outside};
use sinew_math::Vec3;

use super::params::{Assembly, NodeMap};

/// What nodes are attached or bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachTarget {
    /// The world: the place of the node at rest, movable by channels.
    World,
    /// The flesh of another body.
    Body(usize),
    /// A rigid body.
    Rigid(usize),
}

/// A place in the flesh of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FleshPlace {
    /// A node.
    Node {
        /// The body.
        body: usize,
        /// The node.
        node: u32,
    },
    /// A place between nodes, by where it is at rest.
    Place {
        /// The body.
        body: usize,
        /// The place at rest \[m\].
        place: Vec3,
    },
}

/// The places after nodes were renumbered; `None` for those that are gone.
pub(super) fn places_left(places: &[FleshPlace], map: &dyn NodeMap) -> Vec<Option<FleshPlace>> {
    let new = |place: &FleshPlace| match *place {
        FleshPlace::Node { body, node } => Some(FleshPlace::Node { body, node: map.node(body, node)? }),
        between => Some(between),
    };
    let mut left: Vec<Option<FleshPlace>> = places.iter().map(new).collect();
    let mut by_body: BTreeMap<usize, Vec<(usize, Vec3)>> = BTreeMap::new();
    for (k, place) in places.iter().enumerate() {
        if let FleshPlace::Place { body, place } = *place {
            by_body.entry(body).or_default().push((k, place));
        }
    }
    for (body, inside) in by_body {
        let (numbers, inside): (Vec<usize>, Vec<Vec3>) = inside.into_iter().unzip();
        let gone = numbers.into_iter().zip(map.places_left(body, &inside)).filter(|(_, is_left)| !is_left);
        gone.for_each(|(k, _)| left[k] = None);
    }
    left
}

/// A place at rest, and the points that carry it: none where it is fixed in the world.
pub(super) struct Carried {
    pub rest: Vec3,
    pub entries: Vec<(u32, f64)>,
}

/// Nodes and weights of an embedded point, those without weight left out.
pub(crate) fn entries_of(embedding: &Embedding, k: usize) -> Vec<(u32, f64)> {
    let (nodes, weights) = embedding.entries(k);
    nodes.iter().copied().zip(weights.iter().copied()).filter(|e| e.1 != 0.0).collect()
}

/// The points behind places in flesh.
pub(super) fn carry(assembly: &dyn Assembly, places: &[FleshPlace]) -> Result<Vec<Carried>, String> {
    let mut carried: Vec<Option<Carried>> = Vec::new();
    let mut bodies = Vec::new();
    for place in places {
        carried.push(match *place {
            FleshPlace::Node { body, node } => {
                let rest = assembly.mesh(body).positions().get(node as usize);
                let rest = *rest.ok_or_else(|| format!("there is no node {node}"))?;
                Some(Carried { rest, entries: vec![(assembly.point(body, node), 1.0)] })
            }
            FleshPlace::Place { body, .. } => {
                bodies.push(body);
                None
            }
        });
    }
    // All places in a body at once: finding cells needs a tree over them.
    bodies.sort_unstable();
    bodies.dedup();
    for other in bodies {
        let in_body = |place: &FleshPlace| match *place {
            FleshPlace::Place { body, place } if body == other => Some(place),
            _ => None,
        };
        let inside: Vec<Vec3> = places.iter().filter_map(in_body).collect();
        let mut found = embed(assembly, other, &inside, Outside::Reject)?.into_iter();
        for (slot, _) in carried.iter_mut().zip(places).filter(|(_, place)| in_body(place).is_some()) {
            *slot = found.next();
        }
    }
    Ok(carried.into_iter().flatten().collect())
}

/// Anchors at places in the world at rest, on what they belong to.
pub(super) fn anchor(
    assembly: &mut dyn Assembly,
    target: AttachTarget,
    places: &[Vec3],
) -> Result<Vec<Carried>, String> {
    match target {
        AttachTarget::World => Ok(places.iter().map(|&rest| Carried { rest, entries: Vec::new() }).collect()),
        AttachTarget::Rigid(rigid) => {
            let pose = assembly.rigid_pose(rigid);
            let mut on_rigid = |&rest: &Vec3| {
                let point = assembly.add_rigid_point(rigid, pose.to_local(rest));
                Carried { rest, entries: vec![(point, 1.0)] }
            };
            Ok(places.iter().map(&mut on_rigid).collect())
        }
        AttachTarget::Body(other) => embed(assembly, other, places, Outside::Extrapolate),
    }
}

fn embed(assembly: &dyn Assembly, body: usize, places: &[Vec3], outside: Outside) -> Result<Vec<Carried>, String> {
    let mesh = assembly.mesh(body);
    let embedding = Embedding::bind_with(mesh, places, outside).map_err(|error| error.to_string())?;
    let carried = |k: usize| {
        let entries = entries_of(&embedding, k);
        let rest = entries.iter().fold(Vec3::zero(), |sum, &(n, w)| sum + mesh.positions()[n as usize] * w);
        Carried { rest, entries: entries.into_iter().map(|(n, w)| (assembly.point(body, n), w)).collect() }
    };
    Ok((0..places.len()).map(carried).collect())
}

/// Adds massless points that follow the flesh of a body at these places at rest \[m\].
pub(super) fn add_flesh_points(assembly: &mut dyn Assembly, body: usize, places: &[Vec3]) -> Result<Vec<u32>, String> {
    let embedding =
        Embedding::bind_with(assembly.mesh(body), places, Outside::Reject).map_err(|error| error.to_string())?;
    let mut add = |k: usize| {
        let point = assembly.add_flesh_point(body, &entries_of(&embedding, k));
        point.map_err(|node| format!("node {node} is bound, and places beside it cannot be attached as well"))
    };
    (0..places.len()).map(&mut add).collect()
}
