//! Patches of neighboring triangles with similar motion, which bound the speed at which nearby surfaces approach.

use std::ops::Range;

use sinew_geometry::Aabb;
use sinew_math::Vec3;

/// Maximum number of triangles of a patch.
const PATCH: usize = 64;

/// Patches of several surfaces, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patches {
    /// Triangles of all patches.
    triangles: Vec<[u32; 3]>,
    /// One past the last triangle of each patch.
    ends: Vec<usize>,
    /// Patches of each surface.
    surfaces: Vec<Range<usize>>,
}

/// Bounds on positions and velocities of the vertices of a patch, and on the normals of its triangles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving {
    places: Aabb,
    velocities: Aabb,
    normals: Aabb,
}

impl Moving {
    fn nothing() -> Self {
        let [places, velocities, normals] = [(); 3].map(|()| Aabb::from_points([]));
        Self { places, velocities, normals }
    }

    /// Bounds on the velocity of any vertex of this patch relative to any of the other.
    fn velocity_against(&self, other: &Self) -> Aabb {
        let (a, b) = (&self.velocities, &other.velocities);
        Aabb { min: a.min - b.max, max: a.max - b.min }
    }

    /// Bound on the rotation of a triangle in a time `dt` \[rad\].
    fn turn(&self, dt: f64) -> f64 {
        let size = self.places.diagonal();
        if size > 0.0 { (self.velocities.diagonal() * dt / size).min(1.0) } else { 0.0 }
    }

    /// Bound on how far a vertex of one patch gets behind the other in a time `dt`, if they may meet in it: its motion
    /// against the normals, plus the part due to their rotation.
    pub(crate) fn approach(&self, other: &Self, dt: f64) -> Option<f64> {
        let velocity = self.velocity_against(other);
        let fastest = Vec3::from(std::array::from_fn(|axis| velocity.min[axis].abs().max(velocity.max[axis].abs())));
        let way = fastest.norm() * dt;
        if !self.places.grown(way).overlaps(&other.places) {
            return None;
        }
        let inwards =
            largest_product(&self.normals, &velocity, 1.0).max(largest_product(&other.normals, &velocity, -1.0));
        let turn = self.turn(dt).max(other.turn(dt));
        Some((inwards.max(0.0) * dt + turn * way).min(way))
    }
}

/// The side of a cube that a triangle faces.
fn side_of(rest: &[Vec3], triangle: &[u32; 3]) -> usize {
    let [a, b, c] = triangle.map(|v| rest[v as usize]);
    let normal = (b - a).cross(c - a);
    let axis = (0..3).max_by(|&a, &b| normal[a].abs().total_cmp(&normal[b].abs())).unwrap_or(0);
    2 * axis + usize::from(normal[axis] > 0.0)
}

/// Bound on ± a · b over two boxes.
fn largest_product(a: &Aabb, b: &Aabb, sign: f64) -> f64 {
    let along = |axis: usize| {
        let ends = [
            a.min[axis] * b.min[axis],
            a.min[axis] * b.max[axis],
            a.max[axis] * b.min[axis],
            a.max[axis] * b.max[axis],
        ];
        ends.map(|end| end * sign).into_iter().fold(f64::NEG_INFINITY, f64::max)
    };
    along(0) + along(1) + along(2)
}

impl Patches {
    /// Adds a surface: sorts its triangles by the side of a cube that they face, and halves each group across the
    /// longest side of its box until patches are small.
    pub(crate) fn add_surface(&mut self, rest: &[Vec3], triangles: &[[u32; 3]]) {
        let first = self.ends.len();
        for side in 0..6 {
            let mut facing: Vec<[u32; 3]> = triangles.iter().filter(|t| side_of(rest, t) == side).copied().collect();
            if !facing.is_empty() {
                self.split(&mut facing, self.triangles.len(), rest);
                self.triangles.extend(facing);
            }
        }
        self.surfaces.push(first..self.ends.len());
    }

    fn split(&mut self, triangles: &mut [[u32; 3]], begin: usize, rest: &[Vec3]) {
        if triangles.len() <= PATCH {
            self.ends.push(begin + triangles.len());
            return;
        }
        let center = |t: &[u32; 3]| t.iter().fold(Vec3::zero(), |sum, &v| sum + rest[v as usize]);
        let size = Aabb::from_points(&triangles.iter().map(center).collect::<Vec<_>>()).size();
        let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
        let half = triangles.len() / 2;
        triangles.select_nth_unstable_by(half, |a, b| center(a)[axis].total_cmp(&center(b)[axis]).then(a.cmp(b)));
        let (left, right) = triangles.split_at_mut(half);
        self.split(left, begin, rest);
        self.split(right, begin + half, rest);
    }

    fn patch(&self, k: usize) -> &[[u32; 3]] {
        &self.triangles[if k == 0 { 0 } else { self.ends[k - 1] }..self.ends[k]]
    }

    /// The patches of one surface, given the position and velocity of each vertex.
    pub(crate) fn moving(&self, surface: usize, at: impl Fn(u32) -> (Vec3, Vec3)) -> Vec<Moving> {
        let patch = |k: usize| {
            let mut moving = Moving::nothing();
            for triangle in self.patch(k) {
                let corners = triangle.map(&at);
                for (place, velocity) in corners {
                    moving.places.include(place);
                    moving.velocities.include(velocity);
                }
                let [a, b, c] = corners.map(|(place, _)| place);
                let normal = (b - a).cross(c - a);
                let size = normal.norm();
                if size > 0.0 {
                    moving.normals.include(normal / size);
                }
            }
            moving
        };
        self.surfaces[surface].clone().map(patch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of triangles along x, in the plane z = 0.
    fn strip(count: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let rest = (0..count + 2).map(|k| Vec3::new(f64::from(k), f64::from(k % 2), 0.0)).collect();
        let triangle = |k: u32| if k.is_multiple_of(2) { [k, k + 2, k + 1] } else { [k, k + 1, k + 2] };
        (rest, (0..count).map(triangle).collect())
    }

    #[test]
    fn patches_hold_every_triangle() {
        let (rest, triangles) = strip(300);
        let mut patches = Patches::default();
        patches.add_surface(&rest, &triangles);
        patches.add_surface(&rest, &triangles[..10]);
        assert_eq!(patches.surfaces, [0..8, 8..9]);
        let mut found: Vec<[u32; 3]> = (0..8).flat_map(|k| patches.patch(k)).copied().collect();
        let mut all = triangles.clone();
        found.sort_unstable();
        all.sort_unstable();
        assert_eq!(found, all);
        assert_eq!(patches.patch(8).len(), 10);
    }

    /// Strip 1 above strip 2; the upper strip moves with a given velocity.
    fn approach(velocity: Vec3, dt: f64) -> Option<f64> {
        let (rest, triangles) = strip(40);
        let mut patches = Patches::default();
        patches.add_surface(&rest, &triangles);
        let lower = patches.moving(0, |v| (rest[v as usize], Vec3::zero()));
        let up = Vec3::new(0.0, 0.0, 1.0);
        // Its lower side faces down.
        let turned: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
        let mut patches = Patches::default();
        patches.add_surface(&rest, &turned);
        let upper = patches.moving(0, |v| (rest[v as usize] + up, velocity));
        upper[0].approach(&lower[0], dt)
    }

    #[test]
    fn only_what_comes_nearer_counts() {
        let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-12);
        assert_eq!(approach(Vec3::new(0.0, 0.0, -3.0), 0.1), None);
        assert!(close(approach(Vec3::new(0.0, 0.0, -3.0), 0.5), 1.5));
        assert!(close(approach(Vec3::new(0.0, 0.0, 3.0), 0.5), 0.0));
        assert!(close(approach(Vec3::new(4.0, 0.0, -3.0), 0.5), 1.5));
    }

    #[test]
    fn what_turns_may_meet_its_neighbors_only() {
        let (rest, triangles) = strip(300);
        let mut patches = Patches::default();
        patches.add_surface(&rest, &triangles);
        let moving = patches.moving(0, |v| (rest[v as usize], Vec3::new(0.0, 0.0, rest[v as usize].x)));
        let most = |dt: f64| {
            let pairs = moving.iter().enumerate().flat_map(|(k, a)| moving[k..].iter().map(move |b| (a, b)));
            pairs.filter_map(|(a, b)| a.approach(b, dt)).fold(0.0, f64::max)
        };
        assert!(most(0.01) < 0.01 * 90.0);
        assert!(most(10.0) > 10.0 * 290.0);
    }
}
