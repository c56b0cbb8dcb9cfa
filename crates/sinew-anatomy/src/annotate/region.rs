//! What lies within outlines, cut out of the boundary of a mesh: finer than its triangles.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::attach::{AttachRule, Boundary, area_of};
use super::outline::Outline;

/// Triangles whose outward normal is less than this against that of the bone are sides of the muscle, not its underside.
const FACING: f64 = 0.1;
/// Parts of an outline that triangles are cut into: chords of 1/36 of a circle miss half a percent of it.
const FINENESS: f64 = 36.0;
/// Most pieces of an edge.
const PIECES: usize = 8;
/// Factor on heights below the largest one, so that they seldom are what a level is: it would not be straight between the
/// outline and the middle of an attachment.
const NEAR: f64 = 8.0;
/// A level changes by at most this much per length, but for kinks of the bone.
const STEEP: f64 = 1.5;

/// What a rule with an outline selects.
pub(super) struct Region {
    /// The selected part of the boundary, laid on the bone: corners of triangles.
    pub surface: Vec<[Vec3; 3]>,
    /// The part of the area around each boundary node, as far as it faces the bone, that is selected, and that area \[m²\].
    pub shares: Vec<[f64; 2]>,
}

impl Region {
    /// Area \[m²\].
    pub fn area(&self) -> f64 {
        self.shares.iter().map(|[selected, _]| selected).sum()
    }

    /// Nodes that stand for the region: those with the largest shares, until they have its area; at least three.
    pub fn marked(&self) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.shares.len()).filter(|i| self.shares[*i][0] > 0.0).collect();
        let share = |i: usize| self.shares[i][0] / self.shares[i][1];
        order.sort_by(|a, b| share(*b).total_cmp(&share(*a)).then(a.cmp(b)));
        let (wanted, mut had) = (self.area(), 0.0);
        let mut marked = vec![false; self.shares.len()];
        for (count, i) in order.into_iter().enumerate() {
            if count >= 3 && had + 0.5 * self.shares[i][1] > wanted {
                break;
            }
            had += self.shares[i][1];
            marked[i] = true;
        }
        marked
    }
}

/// A point as seen by a rule.
struct Seen {
    /// Negative where the rule selects.
    level: f64,
    /// Distance from the bone.
    distance: f64,
    /// The point of the bone that it faces, and the outward normal there; none is zero.
    on_bone: Vec3,
    normal: Vec3,
}

impl Seen {
    /// A point that is not near the bone.
    fn far(level: f64, p: Vec3) -> Self {
        Self { level, distance: f64::INFINITY, on_bone: p, normal: Vec3::zero() }
    }
}

/// `ahead` is given where the nearest point of the bone is not what the muscle faces there, as within thin bones: then it
/// is the point in this direction, or behind.
fn seen(rule: &AttachRule<'_>, p: Vec3, ahead: Option<Vec3>) -> Seen {
    let Some(outline) = rule.outline else {
        let distance = rule.solid.distance(p);
        let level = rule.only.map_or(distance - rule.within, |only| (distance - rule.within).max(only.distance(p)));
        return Seen { distance, ..Seen::far(level, p) };
    };
    let far = outline.bounds().distance_squared(p).sqrt();
    if far > 2.0 * rule.within {
        return Seen::far(far - rule.within, p);
    }
    let distance = rule.solid.distance(p);
    if distance > 1.5 * rule.within {
        return Seen::far(distance - rule.within, p);
    }
    let found = match ahead {
        None => outline.settled(rule.solid, p),
        Some(ahead) => entered(rule, outline, p, ahead),
    };
    let Some((q, normal)) = found else { return Seen::far(f64::INFINITY, p) };
    let height = distance - rule.within;
    // Near the bone the outline alone tells where the crossing is.
    let height = if height < 0.0 { NEAR * height } else { height };
    let level = height.max(outline.level(q, normal));
    let level = rule.only.map_or(level, |only| level.max(only.distance(p)));
    Seen { level, distance, on_bone: q, normal }
}

/// Steps in which a bone is looked for along a line.
const STEPS: usize = 16;

/// Where a line through a point enters the bone, nearest to the point and no farther than twice as far as the rule
/// attaches, and the outward normal there.
fn entered(rule: &AttachRule<'_>, outline: &Outline, p: Vec3, ahead: Vec3) -> Option<(Vec3, Vec3)> {
    let reach = 2.0 * rule.within;
    let at = |k: usize| reach * (2.0 * k as f64 / STEPS as f64 - 1.0);
    let values: Vec<f64> = (0..=STEPS).map(|k| rule.solid.distance(p + ahead * at(k))).collect();
    let entry = |k: &usize| values[*k] > 0.0 && values[*k + 1] <= 0.0;
    let middle = |k: &usize| (at(*k) + at(*k + 1)).abs();
    let k = (0..STEPS).filter(entry).min_by(|a, b| middle(a).total_cmp(&middle(b)))?;
    let t = at(k) + (at(k + 1) - at(k)) * values[k] / (values[k] - values[k + 1]);
    outline.settled(rule.solid, p + ahead * t)
}

/// A point as rule `k` sees it where others also select: what is nearer to another bone is its.
fn shared(rules: &[AttachRule<'_>], k: usize, p: Vec3, ahead: Option<Vec3>) -> Seen {
    let mut own = seen(&rules[k], p, ahead);
    if own.level <= 0.0 {
        for other in (0..rules.len()).filter(|j| *j != k).map(|j| seen(&rules[j], p, None)) {
            own.level = own.level.max((-other.level).min(own.distance - other.distance));
        }
    }
    own
}

/// A piece of a triangle.
struct Piece {
    area: f64,
    /// Weights of its middle at the corners of the triangle.
    weights: [f64; 3],
    /// Its corners on the bone.
    on_bone: [Vec3; 3],
}

/// The part of the boundary that rule `k` selects by its outline.
pub(super) fn region(boundary: &Boundary<'_>, rules: &[AttachRule<'_>], k: usize) -> Region {
    let size = rules[k].outline.map_or(f64::INFINITY, |outline| outline.size());
    let parts: Vec<Option<(Vec<Piece>, f64)>> =
        boundary.triangles.par_iter().map(|t| pieces(boundary, rules, k, *t, size / FINENESS)).collect();
    let mut shares = vec![[0.0; 2]; boundary.nodes().len()];
    let mut surface = Vec::new();
    for (t, part) in boundary.triangles.iter().zip(parts) {
        let Some((pieces, area)) = part else { continue };
        let nodes = t.map(|node| boundary.nodes().partition_point(|other| *other < node));
        nodes.iter().for_each(|i| shares[*i][1] += area / 3.0);
        for piece in pieces {
            nodes.iter().zip(piece.weights).for_each(|(i, weight)| shares[*i][0] += piece.area * weight);
            surface.push(piece.on_bone);
        }
    }
    Region { surface, shares }
}

/// The selected pieces of a boundary triangle and its area; `None` if it does not face the bone nearby.
fn pieces(
    boundary: &Boundary<'_>,
    rules: &[AttachRule<'_>],
    k: usize,
    triangle: [u32; 3],
    fine: f64,
) -> Option<(Vec<Piece>, f64)> {
    let x = triangle.map(|node| boundary.positions[node as usize]);
    let longest = (0..3).map(|i| x[i].distance(x[(i + 1) % 3])).fold(0.0, f64::max);
    let middle = (x[0] + x[1] + x[2]) / 3.0;
    let outward = (x[1] - x[0]).cross(x[2] - x[0]).normalized();
    let (mut ahead, mut at) = (None, shared(rules, k, middle, None));
    if outward.dot(at.normal) > FACING || at.level.is_infinite() {
        ahead = Some(outward);
        at = shared(rules, k, middle, ahead);
    }
    // A third of an edge and more is between the middle and the corners.
    if at.level > STEEP * longest || !(outward.dot(at.normal) < -FACING) {
        return None;
    }
    let level = |p: Vec3| shared(rules, k, p, ahead).level;
    let on_bone = |p: Vec3| seen(&rules[k], p, ahead).on_bone;
    let corners = x.map(level);
    let area = area_of(x);
    let far = |bound: f64| corners.iter().chain([&at.level]).all(|value| value * bound.signum() > bound.abs());
    if far(-STEEP * longest) {
        return Some((vec![Piece { area, weights: [1.0 / 3.0; 3], on_bone: x.map(on_bone) }], area));
    }
    if far(STEEP * longest) {
        return Some((Vec::new(), area));
    }
    let n = ((longest / fine).ceil() as usize).clamp(1, PIECES);
    let weights = |i: usize, j: usize| [1.0 - (i + j) as f64 / n as f64, i as f64 / n as f64, j as f64 / n as f64];
    let place = |w: [f64; 3]| x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
    let levels: Vec<Vec<f64>> = (0..=n).map(|i| (0..=n - i).map(|j| level(place(weights(i, j)))).collect()).collect();
    let mut found = Vec::new();
    let mut add = |corners: [(usize, usize); 3]| {
        let values = corners.map(|(i, j)| levels[i][j]);
        clip(corners.map(|(i, j)| weights(i, j)), values, |cut| {
            let mean = [0, 1, 2].map(|c| (cut[0][c] + cut[1][c] + cut[2][c]) / 3.0);
            let corners = cut.map(place);
            found.push(Piece { area: area_of(corners), weights: mean, on_bone: corners.map(on_bone) });
        });
    };
    for i in 0..n {
        for j in 0..n - i {
            add([(i, j), (i + 1, j), (i, j + 1)]);
            if i + j + 1 < n {
                add([(i + 1, j), (i + 1, j + 1), (i, j + 1)]);
            }
        }
    }
    Some((found, area))
}

/// The part of a triangle where a linear function is not positive, in one or two triangles with the same way around.
fn clip(corners: [[f64; 3]; 3], values: [f64; 3], mut found: impl FnMut([[f64; 3]; 3])) {
    // What is nowhere is far away; no crossing is pulled toward it.
    let largest = values.iter().filter(|value| value.is_finite()).fold(0.0_f64, |most, value| most.max(value.abs()));
    let values = values.map(|value| value.min(largest));
    let mut polygon: Vec<[f64; 3]> = Vec::with_capacity(4);
    for i in 0..3 {
        let j = (i + 1) % 3;
        if values[i] <= 0.0 {
            polygon.push(corners[i]);
        }
        if (values[i] <= 0.0) != (values[j] <= 0.0) {
            let t = values[i] / (values[i] - values[j]);
            polygon.push([0, 1, 2].map(|c| corners[i][c] + (corners[j][c] - corners[i][c]) * t));
        }
    }
    for i in 2..polygon.len() {
        found([polygon[0], polygon[i - 1], polygon[i]]);
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::Aabb;
    use sinew_geometry::procedural::{TetPattern, box_tets};
    use sinew_geometry::shape::Plane;

    use super::super::attach::{Growth, attach_all};
    use super::*;
    use crate::solid::Bounded;

    /// A circle of radius 1.3 cells on the underside of a brick 1 mm above a plate of bone: its area is that of the
    /// circle to 2 %, where whole triangles would be a third off: pieces are a fifth of the radius, so chords miss 0.7 %, and the
    /// distance is not straight along their edges, which adds up to 0.9 %.
    #[test]
    fn areas_are_finer_than_cells() {
        let mesh = box_tets(Vec3::new(0.4, 0.4, 0.1), [16, 16, 4], TetPattern::Bcc).unwrap();
        let bounds = Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        let plate = Bounded { shape: Plane::new(Vec3::unit(2) * -0.001, Vec3::unit(2)).unwrap(), bounds };
        let radius = 1.3 * 0.025;
        let circle = |center: Vec3| -> Vec<Vec3> {
            let at = |k: i32| (f64::from(k) * std::f64::consts::TAU / 60.0).sin_cos();
            (0..60).map(|k| center + Vec3::new(radius * at(k).1, radius * at(k).0, 0.0)).collect()
        };
        let curves = [circle(Vec3::new(0.211, 0.187, -0.001)), circle(Vec3::new(0.3, 0.3, -0.001))];
        let outline = Outline::new(&plate, &curves, 1e-3, 0.02);
        let rule = AttachRule {
            muscle: "belly",
            bone: "plate",
            solid: &plate,
            within: 0.002,
            growth: Growth::None,
            only: None,
            outline: Some(&outline),
        };
        let found = attach_all(&Boundary::new(&mesh), &[rule]).unwrap();
        let expected = 2.0 * std::f64::consts::PI * radius * radius;
        assert!((found[0].area / expected - 1.0).abs() < 0.02, "{} {expected}", found[0].area);
        let underside = mesh.positions().iter().filter(|x| x.z < 1e-9).count();
        let count = expected / 0.16 * underside as f64;
        assert!((found[0].nodes.len() as f64 - count).abs() <= 0.2 * count, "{} {count}", found[0].nodes.len());
        // The sides and the upper face do not face the bone.
        assert!(found[0].nodes.iter().all(|node| mesh.positions()[*node as usize].z < 1e-9));
    }

    /// Clipped parts and what is left make the whole.
    #[test]
    fn clipped_parts_add_up() {
        let corners = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for values in [[-1.0, 2.0, 3.0], [-1.0, -2.0, 0.5], [1.0, 2.0, 3.0], [-1.0, -1.0, -1.0]] {
            let mut area = [0.0; 2];
            for (side, sum) in [1.0, -1.0].into_iter().zip(&mut area) {
                clip(corners, values.map(|value| value * side), |cut| {
                    let [a, b, c] = cut.map(|w| Vec3::new(w[0], w[1], w[2]));
                    *sum += (b - a).cross(c - a).dot(Vec3::splat(1.0)) / 3.0;
                });
            }
            assert!((area[0] + area[1] - 1.0).abs() < 1e-12, "{values:?} {area:?}");
        }
    }
}
