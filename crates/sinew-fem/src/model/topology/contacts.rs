//! What contacts remember, under the new numbers of those that touch.

use std::collections::HashMap;

use crate::contact::{ContactModel, Party};
use crate::faces::sorted_corners;
use crate::force::ContactForce;
use crate::model::Model;
use crate::state::{ContactMemory, History};

/// Points and weights, by their bits, that carry a place of contact.
type Carriers = Vec<(u32, u64)>;

/// The memory of contacts of `history`: exits, depths and slips.
pub(super) fn carried(history: &History, points: &[Option<u32>], old: &Model, new: &Model) -> History {
    let vertices = vertices(points, &old.contact, &new.contact);
    let mut result = History::default();
    if !history.contact_exits.is_empty() {
        carry_exits(history, &vertices, old, new, &mut result);
    }
    result.contact_tangles = carry_tangles(history, &vertices, old, new);
    let forces: Vec<Vec<Option<u32>>> = old
        .forces_of::<ContactForce>()
        .zip(new.forces_of::<ContactForce>())
        .map(|(old, new)| {
            let known = (0..new.point_count()).map(|point| (bits(new.carriers(point)), point as u32)).collect();
            (0..old.point_count()).map(|point| find(&known, old.carriers(point), points)).collect()
        })
        .collect();
    let key = |key: [u32; 4]| -> Option<[u32; 4]> {
        if let [u32::MAX, force, point, rest] = key {
            let point = (*forces.get(force as usize)?.get(point as usize)?)?;
            return Some([u32::MAX, force, point, rest]);
        }
        let vertex = |v: u32| if v == u32::MAX { Some(v) } else { vertices.get(v as usize).copied().flatten() };
        let [a, b, c, d] = key;
        // A vertex at a half-space: the third number is its group.
        if b == u32::MAX { Some([vertex(a)?, b, c, d]) } else { Some([vertex(a)?, vertex(b)?, vertex(c)?, vertex(d)?]) }
    };
    let memories = history.contact_memory.iter();
    result.contact_memory =
        memories.filter_map(|memory| Some(ContactMemory { key: key(memory.key)?, slip: memory.slip })).collect();
    result.contact_memory.sort_unstable_by_key(|memory| memory.key);
    result
}

fn carry_exits(history: &History, vertices: &[Option<u32>], old: &Model, new: &Model, result: &mut History) {
    let count = new.contact.vertex_count();
    result.contact_exits = vec![u32::MAX; count];
    result.contact_depths = vec![0.0; count];
    let known: HashMap<[u32; 3], u32> = new.contact.triangles.iter().map(|&t| sorted_corners(t)).zip(0..).collect();
    for (vertex, (&exit, &depth)) in history.contact_exits.iter().zip(&history.contact_depths).enumerate() {
        let Some(vertex) = vertices[vertex] else { continue };
        let corners = old.contact.triangles.get(exit as usize);
        let corners =
            corners.and_then(|&[a, b, c]| Some([vertices[a as usize]?, vertices[b as usize]?, vertices[c as usize]?]));
        if let Some(&triangle) = corners.and_then(|corners| known.get(&sorted_corners(corners))) {
            result.contact_exits[vertex as usize] = triangle;
            result.contact_depths[vertex as usize] = depth;
        }
    }
}

/// A tangle is one that has not parted if some of its vertices were in such a one.
fn carry_tangles(history: &History, vertices: &[Option<u32>], old: &Model, new: &Model) -> Vec<bool> {
    let (before, after) = (&old.contact.tangles, &new.contact.tangles);
    let mut result = vec![false; after.at_rest().len()];
    let was_tangled = |k: usize| history.contact_tangles.get(k).copied().unwrap_or(true);
    for (vertex, &now) in (0..).zip(vertices) {
        let tangles = before.tangle_of(vertex).zip(now.and_then(|now| after.tangle_of(now)));
        if let Some((from, to)) = tangles {
            result[to as usize] |= was_tangled(from as usize);
        }
    }
    for (k, [vertex, plane]) in before.at_planes() {
        let now = vertices[vertex as usize].and_then(|vertex| after.of_plane(vertex, plane));
        if let Some(now) = now {
            result[now] |= was_tangled(k);
        }
    }
    result
}

/// New number of each vertex of the collision surface. The parties are the same; vertices of bodies are known by the
/// nodes that carry them, those of others by their place among their own.
fn vertices(points: &[Option<u32>], old: &ContactModel, new: &ContactModel) -> Vec<Option<u32>> {
    let mut vertices = vec![None; old.vertex_count()];
    for (before, after) in old.groups.iter().zip(&new.groups) {
        if !matches!(before.party, Party::Body(_)) {
            before.vertices.clone().zip(after.vertices.clone()).for_each(|(v, w)| vertices[v] = Some(w as u32));
            continue;
        }
        let known = after.vertices.clone().map(|vertex| (bits(new.carriers(vertex)), vertex as u32)).collect();
        for vertex in before.vertices.clone() {
            vertices[vertex] = find(&known, old.carriers(vertex), points);
        }
    }
    vertices
}

fn bits(carriers: &[(u32, f64)]) -> Carriers {
    carriers.iter().map(|&(point, weight)| (point, weight.to_bits())).collect()
}

fn find(known: &HashMap<Carriers, u32>, carriers: &[(u32, f64)], points: &[Option<u32>]) -> Option<u32> {
    let renumbered: Option<Carriers> =
        carriers.iter().map(|&(point, weight)| Some((points[point as usize]?, weight.to_bits()))).collect();
    known.get(&renumbered?).copied()
}
