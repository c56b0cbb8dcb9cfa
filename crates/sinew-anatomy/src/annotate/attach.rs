//! Origins and insertions: where the boundary of a muscle is held by bones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sinew_geometry::CellMesh;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::error::AnnotateError;
use super::outline::Outline;
use super::region::{Region, region};
use crate::Solid;

/// How an attachment spreads over the boundary from where the bone is near.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Growth {
    /// Not at all.
    #[default]
    None,
    /// By this many rings of boundary nodes.
    Rings(usize),
    /// Along the boundary to nodes this far from where the bone is near \[m\].
    Distance(f64),
}

/// Where a muscle is attached to a bone.
#[derive(Clone, Copy)]
pub struct AttachRule<'a> {
    /// Name of the muscle, for messages.
    pub muscle: &'a str,
    /// Name of the bone, for messages.
    pub bone: &'a str,
    /// The bone.
    pub solid: &'a dyn Solid,
    /// Boundary nodes at most this far from the bone are attached \[m\]; about a cell.
    pub within: f64,
    /// How far the attachment spreads from there.
    pub growth: Growth,
    /// Only nodes inside of this are attached, if given; applied after growth.
    pub only: Option<&'a dyn Solid>,
    /// Only what faces the bone within this outline is attached, if given; the growth does not count then.
    pub outline: Option<&'a Outline>,
}

/// A set of boundary nodes and faces that a bone holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attachment {
    /// Nodes, ascending.
    pub nodes: Vec<u32>,
    /// Boundary triangles with all nodes in the set.
    pub faces: Vec<[u32; 3]>,
    /// Corners of the triangles that are attached: with an outline they are cut at it and laid on the bone, else they are
    /// the faces.
    pub surface: Vec<[Vec3; 3]>,
    /// Its area \[m²\].
    pub area: f64,
    /// Distance of the nearest boundary node from the bone \[m\]; negative inside.
    pub nearest: f64,
}

/// The boundary of a mesh with the neighbors of its nodes, prepared once for several attachments.
pub struct Boundary<'a> {
    pub(super) positions: &'a [Vec3],
    pub(super) triangles: Vec<[u32; 3]>,
    /// Boundary nodes, ascending.
    nodes: Vec<u32>,
    /// Neighbors of boundary node i, as indices of boundary nodes: entries `offsets[i]..offsets[i + 1]`.
    offsets: Vec<usize>,
    neighbors: Vec<u32>,
}

impl<'a> Boundary<'a> {
    /// The boundary of a mesh.
    pub fn new(mesh: &'a CellMesh) -> Self {
        let triangles = mesh.boundary_triangles();
        let mut nodes = triangles.as_flattened().to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let mut index = vec![u32::MAX; mesh.node_count()];
        for (i, node) in nodes.iter().enumerate() {
            index[*node as usize] = i as u32;
        }
        let mut edges: Vec<[u32; 2]> = Vec::with_capacity(6 * triangles.len());
        for t in &triangles {
            let [a, b, c] = t.map(|node| index[node as usize]);
            edges.extend([[a, b], [b, a], [b, c], [c, b], [c, a], [a, c]]);
        }
        edges.sort_unstable();
        edges.dedup();
        let mut offsets = vec![0; nodes.len() + 1];
        for [a, _] in &edges {
            offsets[*a as usize + 1] += 1;
        }
        for i in 0..nodes.len() {
            offsets[i + 1] += offsets[i];
        }
        let neighbors = edges.into_iter().map(|[_, b]| b).collect();
        Self { positions: mesh.positions(), triangles, nodes, offsets, neighbors }
    }

    /// Boundary nodes, ascending.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    fn position(&self, i: usize) -> Vec3 {
        self.positions[self.nodes[i] as usize]
    }

    fn neighbors(&self, i: usize) -> &[u32] {
        &self.neighbors[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Marks what is reached from the marked nodes.
    fn grow(&self, marked: &mut Vec<bool>, growth: Growth) {
        match growth {
            Growth::None => {}
            Growth::Rings(rings) => {
                for _ in 0..rings {
                    let before = marked.clone();
                    for i in (0..marked.len()).filter(|i| before[*i]) {
                        self.neighbors(i).iter().for_each(|k| marked[*k as usize] = true);
                    }
                    if before == *marked {
                        break;
                    }
                }
            }
            Growth::Distance(limit) => self.grow_by_distance(marked, limit),
        }
    }

    /// Nodes reached along the boundary whose straight distance from the node that they are reached from is below the
    /// limit: exact on flat boundaries, where paths along edges would be up to 40 % too long.
    fn grow_by_distance(&self, marked: &mut [bool], limit: f64) {
        let mut reached = vec![f64::INFINITY; marked.len()];
        // Bits of the distance, which are in its order as it is not negative; node; node of the start.
        let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
        for i in (0..marked.len()).filter(|i| marked[*i]) {
            reached[i] = 0.0;
            queue.push(Reverse((0, i as u32, i as u32)));
        }
        while let Some(Reverse((bits, i, start))) = queue.pop() {
            if f64::from_bits(bits) > reached[i as usize] {
                continue;
            }
            marked[i as usize] = true;
            for k in self.neighbors(i as usize) {
                let distance = self.position(*k as usize).distance(self.position(start as usize));
                if distance <= limit && distance < reached[*k as usize] {
                    reached[*k as usize] = distance;
                    queue.push(Reverse((distance.to_bits(), *k, start)));
                }
            }
        }
    }

    /// The attachment of the marked nodes, with the surface that they stand for if there is an outline.
    fn attachment(&self, marked: &[bool], nearest: f64, region: Option<Region>) -> Attachment {
        let nodes: Vec<u32> = (0..marked.len()).filter(|i| marked[*i]).map(|i| self.nodes[i]).collect();
        let has = |node: &u32| nodes.binary_search(node).is_ok();
        let faces: Vec<[u32; 3]> = self.triangles.iter().filter(|t| t.iter().all(has)).copied().collect();
        let corners = |t: &[u32; 3]| t.map(|node| self.positions[node as usize]);
        let surface = region.map_or_else(|| faces.iter().map(corners).collect(), |region| region.surface);
        let area = surface.iter().copied().map(area_of).sum();
        Attachment { nodes, faces, surface, area, nearest }
    }
}

/// Area of a triangle.
pub(super) fn area_of([a, b, c]: [Vec3; 3]) -> f64 {
    0.5 * (b - a).cross(c - a).norm()
}

/// Marked boundary nodes of one rule, their distances from the bone, and the smallest of these.
struct Near {
    marked: Vec<bool>,
    distances: Vec<f64>,
    nearest: f64,
}

fn near(boundary: &Boundary<'_>, rule: &AttachRule<'_>) -> Result<Near, AnnotateError> {
    let growth = match rule.growth {
        Growth::Distance(distance) => distance,
        _ => 0.0,
    };
    for (what, value) in [("the distance of an attachment", rule.within), ("the growth of an attachment", growth)] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(AnnotateError::Parameter { what, value });
        }
    }
    let distances: Vec<f64> =
        (0..boundary.nodes.len()).into_par_iter().map(|i| rule.solid.distance(boundary.position(i))).collect();
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let (muscle, bone) = (rule.muscle.to_owned(), rule.bone.to_owned());
    let mut marked: Vec<bool> = distances.iter().map(|d| *d <= rule.within).collect();
    if !marked.contains(&true) {
        return Err(AnnotateError::NoBoneNear { muscle, bone, nearest, within: rule.within });
    }
    if rule.outline.is_some() {
        // The outline marks nodes by area.
        return Ok(Near { marked, distances, nearest });
    }
    boundary.grow(&mut marked, rule.growth);
    if let Some(only) = rule.only {
        let near = marked.iter().filter(|marked| **marked).count();
        for (i, marked) in marked.iter_mut().enumerate() {
            *marked = *marked && only.distance(boundary.position(i)) <= 0.0;
        }
        if !marked.contains(&true) {
            return Err(AnnotateError::NothingSelected { muscle, bone, near });
        }
    }
    Ok(Near { marked, distances, nearest })
}

/// The boundary nodes near a bone, grown and selected.
pub fn attach(boundary: &Boundary<'_>, rule: &AttachRule<'_>) -> Result<Attachment, AnnotateError> {
    let mut found = attach_all(boundary, std::slice::from_ref(rule)).map_err(|mut errors| errors.remove(0))?;
    Ok(found.remove(0))
}

/// What the outline of a rule selects; `None` for rules without one.
fn outlined(
    boundary: &Boundary<'_>,
    rules: &[AttachRule<'_>],
    k: usize,
    near: &mut Near,
) -> Result<Option<Region>, AnnotateError> {
    if rules[k].outline.is_none() {
        return Ok(None);
    }
    let region = region(boundary, rules, k);
    if !(region.area() > 0.0) {
        let (muscle, bone) = (rules[k].muscle.to_owned(), rules[k].bone.to_owned());
        let near = near.marked.iter().filter(|marked| **marked).count();
        return Err(AnnotateError::NothingSelected { muscle, bone, near });
    }
    near.marked = region.marked();
    Ok(Some(region))
}

/// Attachments of one muscle that share no node: a node that fits several rules goes to the nearest bone, the first of
/// equals.
///
/// # Errors
/// What is wrong with each rule, in their order.
pub fn attach_all(boundary: &Boundary<'_>, rules: &[AttachRule<'_>]) -> Result<Vec<Attachment>, Vec<AnnotateError>> {
    let find = |(k, rule): (usize, &AttachRule<'_>)| {
        let mut found = near(boundary, rule)?;
        let region = outlined(boundary, rules, k, &mut found)?;
        Ok((found, region))
    };
    let all: Vec<Result<(Near, Option<Region>), AnnotateError>> = rules.iter().enumerate().map(find).collect();
    let (found, errors): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
    if !errors.is_empty() {
        return Err(errors.into_iter().filter_map(Result::err).collect());
    }
    let (mut found, regions): (Vec<Near>, Vec<Option<Region>>) = found.into_iter().filter_map(Result::ok).unzip();
    for i in 0..boundary.nodes.len() {
        let candidates = (0..found.len()).filter(|k| found[*k].marked[i]);
        let best = candidates.min_by(|a, b| found[*a].distances[i].total_cmp(&found[*b].distances[i]));
        for (k, near) in found.iter_mut().enumerate() {
            near.marked[i] = near.marked[i] && Some(k) == best;
        }
    }
    let taken = |(k, near): (usize, &Near)| {
        let lost = !near.marked.contains(&true);
        let closest = |j: &usize| found[*j].nearest;
        let other = (0..rules.len()).filter(|j| *j != k).min_by(|a, b| closest(a).total_cmp(&closest(b)));
        let other = other.map_or("", |j| rules[j].bone).to_owned();
        lost.then(|| AnnotateError::Taken { muscle: rules[k].muscle.to_owned(), bone: rules[k].bone.to_owned(), other })
    };
    let errors: Vec<AnnotateError> = found.iter().enumerate().filter_map(taken).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let whole = found.iter().zip(regions).map(|(near, region)| boundary.attachment(&near.marked, near.nearest, region));
    Ok(whole.collect())
}

/// How well two sets agree: |A ∩ B| / |A ∪ B|, one for two empty sets. Both are sorted and without repetitions.
pub fn jaccard(a: &[u32], b: &[u32]) -> f64 {
    let common = a.iter().filter(|x| b.binary_search(x).is_ok()).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 1.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::Aabb;
    use sinew_geometry::procedural::{TetPattern, box_tets};
    use sinew_geometry::shape::{Plane, Sphere};

    use super::*;
    use crate::solid::Bounded;

    const BOUNDS: Aabb = Aabb { min: Vec3::new(-1.0, -1.0, -1.0), max: Vec3::new(1.0, 1.0, 1.0) };

    fn brick() -> CellMesh {
        box_tets(Vec3::new(0.4, 0.2, 0.1), [32, 16, 8], TetPattern::Bcc).unwrap()
    }

    /// A plate of bone at z < `height`.
    fn plate(height: f64) -> Bounded<Plane> {
        Bounded { shape: Plane::new(Vec3::unit(2) * height, Vec3::unit(2)).unwrap(), bounds: BOUNDS }
    }

    fn rule<'a>(solid: &'a dyn Solid, within: f64) -> AttachRule<'a> {
        AttachRule { muscle: "belly", bone: "plate", solid, within, growth: Growth::None, only: None, outline: None }
    }

    fn truth(mesh: &CellMesh, holds: impl Fn(Vec3) -> bool) -> Vec<u32> {
        let positions = mesh.positions();
        mesh.boundary_nodes().into_iter().filter(|node| holds(positions[*node as usize])).collect()
    }

    /// TER-E3: a muscle 1 mm above a plate, attached within 2 mm: its whole underside, 0.4 × 0.2 m².
    #[test]
    fn underside_near_a_plate_is_attached() {
        let mesh = brick();
        let boundary = Boundary::new(&mesh);
        let found = attach(&boundary, &rule(&plate(-0.001), 0.002)).unwrap();
        assert_eq!(found.nodes, truth(&mesh, |x| x.z < 1e-9));
        assert!((found.area - 0.08).abs() < 1e-12);
        assert!((found.nearest - 0.001).abs() < 1e-12);
    }

    /// A ball touches the underside; growth by a distance finds the disk around the contact.
    #[test]
    fn growth_by_distance_covers_a_disk() {
        let mesh = box_tets(Vec3::new(0.2, 0.2, 0.05), [32, 32, 4], TetPattern::Bcc).unwrap();
        let boundary = Boundary::new(&mesh);
        let center = Vec3::new(0.1, 0.1, 0.0);
        let pose = sinew_geometry::shape::Pose::from_translation(center - Vec3::unit(2) * 0.05);
        let ball = sinew_geometry::shape::Posed { shape: Sphere::new(0.05).unwrap(), pose };
        let ball = Bounded { shape: ball, bounds: BOUNDS };
        let growth = Growth::Distance(0.05);
        let found = attach(&boundary, &AttachRule { growth, ..rule(&ball, 0.001) }).unwrap();
        // Within d = 1 mm of a ball of radius r the plane is nearer than √(2 r d) = 10 mm to the contact. Nodes are 6 mm
        // apart, so the disk that grows may be a few millimeters smaller.
        let disk = truth(&mesh, |x| x.z < 1e-9 && x.distance(center) < 0.05 + 0.01);
        let agreement = jaccard(&found.nodes, &disk);
        assert!(agreement > 0.9, "{agreement}");
    }

    #[test]
    fn rings_and_selection_bound_the_attachment() {
        let mesh = brick();
        let boundary = Boundary::new(&mesh);
        let bone = plate(-0.001);
        let h = 0.4 / 32.0;
        let grown = attach(&boundary, &AttachRule { growth: Growth::Rings(2), ..rule(&bone, 0.002) }).unwrap();
        assert_eq!(grown.nodes, truth(&mesh, |x| x.z < 2.0 * h + 1e-9 && x.z < 0.1 - 1e-9));
        let sphere = Bounded { shape: Sphere::new(0.1).unwrap(), bounds: BOUNDS };
        let chosen = attach(&boundary, &AttachRule { only: Some(&sphere), ..rule(&bone, 0.002) }).unwrap();
        assert_eq!(chosen.nodes, truth(&mesh, |x| x.z < 1e-9 && x.norm() <= 0.1));
    }

    #[test]
    fn nodes_near_two_bones_belong_to_the_nearer() {
        let mesh = brick();
        let boundary = Boundary::new(&mesh);
        let wall = |x: f64, side: f64| Bounded {
            shape: Plane::new(Vec3::unit(0) * x, Vec3::unit(0) * side).unwrap(),
            bounds: BOUNDS,
        };
        let (left, right) = (wall(0.0, 1.0), wall(0.4, -1.0));
        let rules = [rule(&left, 0.3), AttachRule { bone: "wall", ..rule(&right, 0.3) }];
        let both = attach_all(&boundary, &rules).unwrap();
        assert_eq!(both[0].nodes, truth(&mesh, |x| x.x <= 0.2));
        assert_eq!(both[1].nodes, truth(&mesh, |x| x.x > 0.2));
    }

    #[test]
    fn what_is_not_attached_is_told_with_its_distance() {
        let mesh = brick();
        let boundary = Boundary::new(&mesh);
        let far = plate(-0.03);
        let error = attach(&boundary, &rule(&far, 0.002)).unwrap_err();
        let AnnotateError::NoBoneNear { nearest, .. } = &error else { panic!("{error}") };
        assert!((nearest - 0.03).abs() < 1e-12);
        assert!(error.to_string().contains("\"belly\" comes no nearer to \"plate\" than 30.0 mm"), "{error}");
        let bone = plate(-0.001);
        let tiny = Bounded { shape: Sphere::new(1e-6).unwrap(), bounds: BOUNDS };
        let tiny = Bounded {
            shape: sinew_geometry::shape::Posed {
                shape: tiny.shape,
                pose: sinew_geometry::shape::Pose::from_translation(Vec3::splat(0.7)),
            },
            bounds: BOUNDS,
        };
        let error = attach(&boundary, &AttachRule { only: Some(&tiny), ..rule(&bone, 0.002) }).unwrap_err();
        assert!(matches!(error, AnnotateError::NothingSelected { .. }));
        let errors = attach_all(&boundary, &[rule(&far, 0.002), rule(&bone, f64::NAN)]).unwrap_err();
        assert_eq!(errors.len(), 2);
        let errors = attach_all(&boundary, &[rule(&bone, 0.002), rule(&plate(-0.0015), 0.002)]).unwrap_err();
        assert!(matches!(errors[..], [AnnotateError::Taken { .. }]));
    }
}
