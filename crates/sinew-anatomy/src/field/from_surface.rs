//! Fields of triangle surfaces, broken ones too.
//!
//! Inside is where the surface winds around a point at least half \[Jacobson13\], which also closes holes and ignores
//! what lies buried. Where the sign changes between voxels the distance is that to the triangles, or in a hole that to
//! the level ½ of the winding number.

use sinew_geometry::TriMesh;
use sinew_geometry::mesh::{WindingNumber, closest_on_triangle};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::bits::{ALL, BitVolume, Bits, NONE, has, set};
use super::distance_field::{Brick, DistanceField, FieldGrid, INSIDE, OUTSIDE};
use super::extent::{Extent, VOLUME, brick_of, local_of, voxel_of};
use super::fresh::{Fresh, SeedBrick};
use super::from_solid::extent_of;
use super::options::{FieldError, FieldOptions, check_band};

/// Triangles count up to this distance \[voxels\]: a voxel beside a change of sign is at most one from the surface.
const REACH: f64 = 1.05;

impl DistanceField {
    /// The distances to a surface, on voxels of an edge \[m\] or a given grid.
    ///
    /// # Errors
    /// When memory would not hold the field, the options make no sense, or nothing is inside: the surface is thinner
    /// than a voxel or wraps around nothing.
    pub fn from_surface(
        surface: &TriMesh,
        grid: impl Into<FieldGrid>,
        options: &FieldOptions,
    ) -> Result<Self, FieldError> {
        check_band(options.band)?;
        let grid = grid.into();
        let extent = extent_of(surface.bounds().grown(grid.voxel), grid)?.grown(2);
        let near = NearTriangles::new(surface, grid, extent);
        let winding = surface.winding_numbers();
        let (volume, levels) = Flood { winding: &winding, grid, extent }.run(&near);
        let bricks = (0..extent.len()).into_par_iter().with_min_len(16);
        let seeds: Vec<SeedBrick> = bricks
            .filter_map(|index| {
                let border = volume.border(extent.brick(index));
                let values = || near.seed_values(surface, &volume, &levels, index, &border);
                (border != NONE).then(|| SeedBrick { index, inside: volume.bricks[index], values: values() })
            })
            .collect();
        let sign = |bits: &Bits| if *bits == ALL { INSIDE } else { OUTSIDE };
        let directory = volume.bricks.iter().map(sign).collect();
        let field = Fresh::new(grid, extent, directory, &seeds, options.band).finish(options);
        if field.is_empty() { Err(FieldError::Nothing { voxel: grid.voxel }) } else { Ok(field) }
    }
}

/// For each brick the triangles near it.
struct NearTriangles {
    grid: FieldGrid,
    extent: Extent,
    /// Where the triangles of each brick begin.
    first: Vec<u32>,
    triangles: Vec<u32>,
}

impl NearTriangles {
    fn new(surface: &TriMesh, grid: FieldGrid, extent: Extent) -> Self {
        let bricks = |triangle: usize| {
            let corners = surface.corners(triangle).map(|x| grid.local(x));
            let low = corners[0].min(corners[1]).min(corners[2]) - Vec3::splat(REACH);
            let high = corners[0].max(corners[1]).max(corners[2]) + Vec3::splat(REACH);
            let low = brick_of([0, 1, 2].map(|a| low[a].ceil() as i32));
            let high = brick_of([0, 1, 2].map(|a| high[a].floor() as i32));
            let count = [0, 1, 2].map(|a| (high[a] - low[a] + 1).max(0) as usize);
            let box_of = Extent { low, size: count };
            (0..box_of.len()).filter_map(move |i| extent.index(box_of.brick(i)))
        };
        let mut first = vec![0u32; extent.len() + 1];
        for triangle in 0..surface.triangle_count() {
            bricks(triangle).for_each(|brick| first[brick + 1] += 1);
        }
        for brick in 0..extent.len() {
            first[brick + 1] += first[brick];
        }
        let mut next = first.clone();
        let mut triangles = vec![0; first[extent.len()] as usize];
        for triangle in 0..surface.triangle_count() {
            for brick in bricks(triangle) {
                triangles[next[brick] as usize] = triangle as u32;
                next[brick] += 1;
            }
        }
        Self { grid, extent, first, triangles }
    }

    fn of(&self, brick: usize) -> &[u32] {
        &self.triangles[self.first[brick] as usize..self.first[brick + 1] as usize]
    }

    fn seed_values(
        &self,
        surface: &TriMesh,
        volume: &BitVolume,
        levels: &[Option<Box<Brick>>],
        index: usize,
        border: &Bits,
    ) -> Brick {
        let brick = self.extent.brick(index);
        let mut values = [f32::INFINITY; VOLUME];
        let corners: Vec<[Vec3; 3]> = self.of(index).iter().map(|&t| surface.corners(t as usize)).collect();
        for local in (0..VOLUME).filter(|&local| has(border, local)) {
            let p = self.grid.position(voxel_of(brick, local));
            let nearest = corners.iter().map(|corners| distance_squared(p, *corners)).fold(f64::INFINITY, f64::min);
            let distance = (nearest.sqrt() / self.grid.voxel) as f32;
            values[local] =
                if f64::from(distance) < REACH { distance.min(1.0) } else { in_hole(volume, levels, brick, local) };
        }
        values
    }
}

fn distance_squared(p: Vec3, [a, b, c]: [Vec3; 3]) -> f64 {
    let w = closest_on_triangle(p, [a, b, c]);
    (a * w[0] + b * w[1] + c * w[2] - p).norm_squared()
}

/// Distance to the level ½ of the winding number, from its crossings along the axes \[voxels\].
fn in_hole(volume: &BitVolume, levels: &[Option<Box<Brick>>], brick: [i32; 3], local: usize) -> f32 {
    let level = |voxel: [i32; 3]| {
        let index = volume.extent.index(brick_of(voxel))?;
        levels[index].as_ref().map(|values| values[local_of(voxel)])
    };
    let at = voxel_of(brick, local);
    let own = level(at).unwrap_or(0.5);
    let mut inverse = 0.0;
    for axis in 0..3 {
        let crossing = |step: i32| {
            let mut beside = at;
            beside[axis] += step;
            let other = level(beside).unwrap_or(-own);
            if (other < 0.0) == (own < 0.0) { f32::INFINITY } else { own / (own - other) }
        };
        inverse += 1.0 / crossing(-1).min(crossing(1)).max(1e-3).powi(2);
    }
    (1.0 / inverse.sqrt()).min(1.0)
}

/// Signs by winding numbers: voxel by voxel in bricks near triangles and wherever the sign changes from there on, one
/// for each other brick.
struct Flood<'a> {
    winding: &'a WindingNumber,
    grid: FieldGrid,
    extent: Extent,
}

impl Flood<'_> {
    /// Signs of all voxels, and ½ − |w| where it was computed.
    fn run(&self, near: &NearTriangles) -> (BitVolume, Vec<Option<Box<Brick>>>) {
        let mut levels: Vec<Option<Box<Brick>>> = vec![None; self.extent.len()];
        let center = |index: usize| {
            let p = self.grid.position(voxel_of(self.extent.brick(index), 0)) + Vec3::splat(3.5 * self.grid.voxel);
            if self.winding.is_inside(p) { ALL } else { NONE }
        };
        let bricks = (0..self.extent.len()).into_par_iter().map(center).collect();
        let mut volume = BitVolume { extent: self.extent, bricks };
        let mut queue: Vec<usize> = (0..self.extent.len()).filter(|&brick| !near.of(brick).is_empty()).collect();
        while !queue.is_empty() {
            let found: Vec<(Bits, Box<Brick>)> = queue.par_iter().map(|&index| self.measure(index)).collect();
            for (&index, (bits, values)) in queue.iter().zip(found) {
                volume.bricks[index] = bits;
                levels[index] = Some(values);
            }
            queue = self.next(&volume, &levels, &queue);
        }
        (volume, levels)
    }

    fn measure(&self, index: usize) -> (Bits, Box<Brick>) {
        let brick = self.extent.brick(index);
        let level = |local| 0.5 - self.winding.at(self.grid.position(voxel_of(brick, local))).abs();
        let values: Box<Brick> = Box::new(std::array::from_fn(|local| level(local) as f32));
        let mut bits = NONE;
        (0..VOLUME).filter(|&local| values[local] < 0.0).for_each(|local| set(&mut bits, local));
        (bits, values)
    }

    /// Bricks not yet measured whose sign differs across a face of one that was.
    fn next(&self, volume: &BitVolume, levels: &[Option<Box<Brick>>], queue: &[usize]) -> Vec<usize> {
        let mut next = Vec::new();
        for &index in queue {
            let brick = self.extent.brick(index);
            for way in 0..6 {
                let mut beside = brick;
                beside[way / 2] += if way % 2 == 1 { 1 } else { -1 };
                let Some(other) = self.extent.index(beside).filter(|&other| levels[other].is_none()) else { continue };
                // Only voxels at the face have their neighbor in the other brick.
                let (own, shifted) = (volume.brick(brick), volume.shifted(brick, way));
                let at_face = |local: &usize| local >> (3 * (way / 2)) & 7 == 7 * (way % 2);
                if (0..VOLUME).filter(at_face).any(|local| has(own, local) != has(&shifted, local)) {
                    next.push(other);
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        next
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{icosphere, torus_surface};

    use super::*;
    use crate::Solid;

    fn worst(field: &DistanceField, exact: impl Fn(Vec3) -> f64) -> f64 {
        let h = field.voxel();
        let near = field.voxels().filter(|(_, v)| v.abs() < 3.0 * h);
        near.map(|(i, v)| (v - exact(field.grid().position(i))).abs() / h).fold(0.0, f64::max)
    }

    #[test]
    fn field_of_a_torus_has_its_distances() {
        let torus = torus_surface(0.03, 0.01, 0.001).unwrap();
        let field = DistanceField::from_surface(&torus, 1e-3, &FieldOptions::default()).unwrap();
        let exact = |p: Vec3| (p.x.hypot(p.y) - 0.03).hypot(p.z) - 0.01;
        // Marching of second order over three voxels at a radius of ten, and facets of a voxel.
        assert!(worst(&field, exact) < 0.08, "{}", worst(&field, exact));
        assert!((field.volume() / torus.volume() - 1.0).abs() < 0.01);
    }

    /// A hole is closed by the level ½ of the winding number; a buried ball changes nothing.
    #[test]
    fn holes_are_closed_and_buried_parts_ignored() {
        let ball = icosphere(0.01, 12).unwrap();
        let kept: Vec<[u32; 3]> = (0..ball.triangle_count())
            .filter(|&t| ball.corners(t).iter().any(|x| x.z < 0.0085))
            .map(|t| ball.triangles()[t])
            .collect();
        assert!(kept.len() < ball.triangle_count() - 10);
        let mut positions = ball.positions().to_vec();
        let mut triangles = kept;
        let inner = icosphere(0.005, 6).unwrap();
        triangles.extend(inner.triangles().iter().map(|t| t.map(|v| v + positions.len() as u32)));
        positions.extend(inner.positions());
        let broken = TriMesh::new(positions, triangles).unwrap();
        let field = DistanceField::from_surface(&broken, 0.5e-3, &FieldOptions::default()).unwrap();
        assert!((field.volume() / ball.volume() - 1.0).abs() < 0.03, "{}", field.volume() / ball.volume());
        // Near the ball's center the wall of the inner ball must not show.
        assert!(field.distance(Vec3::new(0.0, 0.0, -0.0049)) < -1.9e-3);
        assert!(field.distance(Vec3::new(0.0, 0.0, 0.02)) > 0.0);
        assert!(field.value(field.grid().nearest(Vec3::new(0.0, 0.0, 0.007))) < 0.0);
    }

    #[test]
    fn thin_far_and_bad_input_is_an_error() {
        let ball = icosphere(0.01, 4).unwrap();
        let options = FieldOptions::default();
        let thin = ball.mapped(|p| Vec3::new(p.x, p.y, 1e-3 * p.z + 0.5e-3)).unwrap();
        assert!(matches!(DistanceField::from_surface(&thin, 1e-3, &options), Err(FieldError::Nothing { .. })));
        assert!(matches!(DistanceField::from_surface(&ball, 1e-8, &options), Err(FieldError::TooLarge { .. })));
        assert!(matches!(DistanceField::from_surface(&ball, 0.0, &options), Err(FieldError::BadVoxel { .. })));
        assert!(matches!(DistanceField::from_surface(&ball, f64::NAN, &options), Err(FieldError::BadVoxel { .. })));
        let wide = FieldOptions { band: 90.0, ..options };
        assert!(matches!(DistanceField::from_surface(&ball, 1e-3, &wide), Err(FieldError::BadBand { .. })));
    }
}
