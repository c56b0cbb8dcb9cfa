//! One contact at a time: whether it acts, with its energy and force.

use sinew_geometry::proximity::{Closest, edge_edge, point_triangle};
use sinew_math::Vec3;

use super::super::barrier::{barrier, mollifier};
use super::super::material_space::Exit;
use super::super::surface::{ContactModel, PairRule};
use super::curvature::Parallelogram;
use super::features::{Feature, Features};
use super::merge::Fading;
use super::obstacles::WorldPlane;
use super::{Active, Chunk, ContactStage, NO_VERTEX, combine};

/// Edges fade out towards parallel ones from this squared sine of their angle on \[Li20\]: all do, so that they hardly
/// bend the energy where they start and end.
const PARALLEL: f64 = 1.0;
/// Share of their rest distance at which neighbors in a crease start to repel.
const REST_SHARE: f64 = 0.25;

impl ContactStage {
    pub(super) fn touch_triangle(&self, contact: &ContactModel, [v, t]: [u32; 2], chunk: &mut Chunk) {
        let [a, b, c] = contact.triangles[t as usize];
        let vertices = [v, a, b, c];
        let groups = [contact.vertex_groups[v as usize], contact.vertex_groups[a as usize]];
        let Some(rule) = contact.rule(groups[0] as usize, groups[1] as usize) else { return };
        let x = vertices.map(|v| self.y[v as usize]);
        let closest = point_triangle(x);
        if closest.distance_squared >= rule.gap * rule.gap {
            return;
        }
        let at_rest = || point_triangle(vertices.map(|v| contact.rest[v as usize])).distance_squared;
        let gap = match contact.tangles.of_pair(vertices, 1) {
            Some(pair) if pair.is_across => rule.gap,
            _ => gap_of(rule.gap, groups, at_rest),
        };
        if closest.distance_squared >= gap * gap {
            return;
        }
        let area = contact.areas[v as usize].min(contact.triangle_areas[t as usize]);
        let features = Features::of_triangle(x, whole(&closest), &self.shares[t as usize], gap * gap);
        let pair = Pair { vertices, groups, gap, stiffness: rule.modulus * area, fade: 1.0, rule };
        chunk.pairs += 1;
        for feature in features.iter() {
            pair.add(feature, chunk);
        }
    }

    pub(super) fn touch_edge(&self, contact: &ContactModel, [e, f]: [u32; 2], chunk: &mut Chunk) {
        let Some(tree) = &self.tree else { return };
        let ([a, b], [c, d]) = (tree.edges()[e as usize], tree.edges()[f as usize]);
        let vertices = [a, b, c, d];
        let groups = [contact.vertex_groups[a as usize], contact.vertex_groups[c as usize]];
        let Some(rule) = contact.rule(groups[0] as usize, groups[1] as usize) else { return };
        let x = vertices.map(|v| self.y[v as usize]);
        let closest = edge_edge(x);
        if closest.distance_squared >= rule.gap * rule.gap {
            return;
        }
        let rest = vertices.map(|v| contact.rest[v as usize]);
        let gap = match contact.tangles.of_pair(vertices, 2) {
            Some(pair) if pair.is_across => rule.gap,
            _ => gap_of(rule.gap, groups, || edge_edge(rest).distance_squared),
        };
        if closest.distance_squared >= gap * gap {
            return;
        }
        let epsilon = PARALLEL * (rest[1] - rest[0]).norm_squared() * (rest[3] - rest[2]).norm_squared();
        let sides = Parallelogram::new(x[1] - x[0], x[3] - x[2]);
        let [fade, rate, bend] = mollifier(sides.squared, epsilon);
        let area = self.edge_areas[e as usize].min(self.edge_areas[f as usize]);
        let features = Features::of_edges(x, whole(&closest), gap * gap);
        let pair = Pair { vertices, groups, gap, stiffness: rule.modulus * area, fade, rule };
        chunk.pairs += 1;
        let mut fading = Fading { vertices, energy: 0.0, slopes: [Vec3::zero(); 4], rate, bend };
        for feature in features.iter() {
            let [energy, slope] = pair.add(feature, chunk);
            fading.energy += energy;
            let normal = feature.difference / feature.distance_squared.sqrt();
            for (sum, w) in fading.slopes.iter_mut().zip(feature.weights) {
                *sum += normal * (slope * w);
            }
        }
        if rate > 0.0 {
            chunk.fading.push(fading);
        }
    }

    pub(super) fn touch_plane(&self, contact: &ContactModel, [v, index]: [u32; 2], chunk: &mut Chunk) {
        let (group, plane) = (contact.vertex_groups[v as usize], &contact.planes[index as usize]);
        let Some(rule) = contact.rule(group as usize, plane.group) else { return };
        let WorldPlane { normal, offset } = self.plane(index as usize, self.progress);
        let d = normal.dot(self.y[v as usize]) - offset;
        if d >= rule.gap {
            return;
        }
        let area = contact.areas[v as usize];
        // Behind the plane the energy is infinite.
        let [energy, slope, curvature] = if d > 0.0 { barrier(d / rule.gap) } else { [f64::INFINITY; 3] };
        let slope = rule.modulus * area * slope;
        chunk.energy += rule.modulus * area * rule.gap * energy;
        chunk.active.push(Active {
            vertices: [v, NO_VERTEX, NO_VERTEX, NO_VERTEX],
            weights: [1.0, 0.0, 0.0, 0.0],
            normal,
            gap: d,
            force: normal * slope,
            slope,
            curvature: rule.modulus * area / rule.gap * curvature,
            across: 0.0,
            friction: rule.friction,
            bounces: rule.bounce > 0.0,
            groups: [group, plane.group as u32],
        });
    }

    pub(super) fn touch_inside(&self, contact: &ContactModel, exit: &Exit, chunk: &mut Chunk) {
        let (vertices, weights) = exit.stencil(contact);
        let groups = [vertices[0], vertices[1]].map(|v| contact.vertex_groups[v as usize]);
        let Some(rule) = contact.rule(groups[0] as usize, groups[1] as usize) else { return };
        let apart = combine(vertices, weights, &self.y);
        let along = apart.dot(exit.normal);
        let gap = along + self.allowed[exit.vertex as usize];
        if gap >= 0.0 {
            return;
        }
        let area = contact.areas[exit.vertex as usize];
        let stiffness = rule.stiffness * area;
        let across = rule.tangential * stiffness;
        let sideways = apart - exit.normal * along;
        let [energy, slope, curvature] = spring(gap, rule.onset).map(|part| stiffness * part);
        let force = exit.normal * slope + sideways * across;
        chunk.energy += energy + 0.5 * across * sideways.norm_squared();
        chunk.active.push(Active {
            vertices,
            weights,
            normal: exit.normal,
            gap,
            force,
            slope,
            curvature,
            across,
            friction: rule.friction,
            bounces: rule.bounce > 0.0,
            groups,
        });
    }
}

/// What all features of a pair have in common.
struct Pair<'a> {
    vertices: [u32; 4],
    groups: [u32; 2],
    gap: f64,
    /// Modulus times area \[N\].
    stiffness: f64,
    fade: f64,
    rule: &'a PairRule,
}

impl Pair<'_> {
    /// Adds a feature to the chunk; returns its energy and slope without fading.
    fn add(&self, feature: &Feature, chunk: &mut Chunk) -> [f64; 2] {
        let d = feature.distance_squared.sqrt();
        let stiffness = feature.count * self.stiffness;
        let [energy, slope, curvature] = barrier(d / self.gap);
        let [energy, slope] = [stiffness * self.gap * energy, stiffness * slope];
        chunk.energy += self.fade * energy;
        let normal = feature.difference / d;
        chunk.features.push(Active {
            vertices: self.vertices,
            weights: feature.weights,
            normal,
            gap: d,
            force: normal * (self.fade * slope),
            slope: self.fade * slope,
            curvature: self.fade * stiffness / self.gap * curvature,
            across: 0.0,
            friction: self.rule.friction,
            bounces: self.rule.bounce > 0.0,
            groups: self.groups,
        });
        [energy, slope]
    }
}

fn whole(closest: &Closest) -> Feature {
    let &Closest { weights, difference, distance_squared } = closest;
    Feature { weights, difference, distance_squared, count: 1.0 }
}

/// Distance at which two features start to repel: within one body at most a share of their rest distance, so that
/// neighbors do not repel at rest. Sheets of a tangle that has parted have no such neighbors.
pub(super) fn gap_of(gap: f64, groups: [u32; 2], rest_distance_squared: impl FnOnce() -> f64) -> f64 {
    if groups[0] == groups[1] { gap.min(REST_SHARE * rest_distance_squared().sqrt()) } else { gap }
}

/// Energy, slope and curvature of a spring of unit stiffness at a depth d = −g, with its full stiffness from the depth
/// w on:
/// ```math
/// E = \begin{cases} d^3/(6w) & d < w \\ (d - w/2)^2/2 + w^2/24 & d \ge w\end{cases}
/// ```
/// Light touch is soft, so that points that come and go do not disturb the iteration.
fn spring(gap: f64, w: f64) -> [f64; 3] {
    let d = -gap;
    if d < w {
        [d * d * d / (6.0 * w), -d * d / (2.0 * w), d / w]
    } else {
        let beyond = d - 0.5 * w;
        [0.5 * beyond * beyond + w * w / 24.0, -beyond, 1.0]
    }
}
