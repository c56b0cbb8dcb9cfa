//! The signed distance of any closed surface, on a sparse grid.
//!
//! Each grid node stores the exact distance φᵢ to the surface and its gradient gᵢ. In between, the tangent planes of
//! the nodes are blended,
//! ```math
//! \varphi(p) = \sum_i W_i(p)\,\bigl(\varphi_i + g_i\cdot(p - x_i)\bigr), \qquad
//!    W_i = \prod_a w(1 - |p_a - x_{i,a}|/h), \quad w(t) = 3t^2 - 2t^3,
//! ```
//! over the corners of a cell. That is exact for planes and differentiable everywhere in the grid, so a penalty on φ
//! has a continuous force. The error is at most ⅜ h² over the radius of curvature (a corner is half a diagonal away).
//! Cells are grouped in bricks; only bricks near the surface have their own nodes, all others share a grid as coarse as
//! the bricks.

use sinew_math::{Mat3, Vec3, parallel};
use thiserror::Error;

use super::Shape;
use crate::mesh::{NearestPlaces, TriMesh, WindingNumber};

/// Cells along the edge of a brick.
const BRICK: usize = 4;
/// Nodes of a refined brick.
const BRICK_NODES: usize = (BRICK + 1).pow(3);
/// Bricks around the surface, so that it lies well inside the grid.
const MARGIN: f64 = 1.0;
/// Default and largest number of cells along the longest side of the surface.
const DEFAULT_CELLS: f64 = 48.0;
const MAX_CELLS: f64 = 512.0;

/// Why a level set cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LevelSetError {
    /// The surface has a boundary.
    #[error(
        "the surface is open: {edges} of its edges have a triangle on one side only, the first at {:.4}, {:.4}, {:.4}; hint: close it, or merge coincident vertices",
        place.x, place.y, place.z
    )]
    Open {
        /// Number of such edges.
        edges: usize,
        /// An end of the first one \[m\].
        place: Vec3,
    },
    /// The surface encloses nothing that the grid resolves.
    #[error(
        "the surface encloses nothing that a grid with cells of {cell:.3e} m can resolve; hint: make it at least two cells thick, or use smaller cells"
    )]
    TooThin {
        /// Edge of the cells \[m\].
        cell: f64,
    },
    /// Such small cells would need too much memory.
    #[error(
        "cells of {cell:.3e} m are too small for a surface of {size:.3e} m; hint: use cells of at least {least:.3e} m"
    )]
    TooFine {
        /// Edge of the cells \[m\].
        cell: f64,
        /// Longest side of the surface \[m\].
        size: f64,
        /// Smallest edge \[m\].
        least: f64,
    },
}

/// Distance and gradient at a grid node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Node {
    value: f64,
    gradient: Vec3,
}

/// A closed surface by its signed distance on a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelSet {
    surface: TriMesh,
    cell: f64,
    /// First corner of the grid \[m\].
    origin: Vec3,
    /// Bricks along each axis.
    bricks: [usize; 3],
    /// Nodes at the corners of bricks.
    coarse: Vec<Node>,
    /// First node of each refined brick.
    first: Vec<Option<u32>>,
    fine: Vec<Node>,
}

/// Value, gradient and second derivative at one place.
struct Sample {
    value: f64,
    gradient: Vec3,
    curvature: Mat3,
}

impl LevelSet {
    /// The level set of a closed surface whose triangles are counterclockwise from outside; `cell` is the edge of the
    /// grid cells, by default 1/48 of the longest side.
    ///
    /// # Errors
    /// When the surface is open, encloses nothing, or the cells are far too small.
    pub fn new(surface: TriMesh, cell: Option<f64>) -> Result<Self, LevelSetError> {
        let border = surface.boundary_edges();
        if let Some(&[vertex, _]) = border.first() {
            return Err(LevelSetError::Open { edges: border.len(), place: surface.positions()[vertex as usize] });
        }
        let bounds = surface.bounds();
        let size = bounds.size().max_component();
        let cell = cell.unwrap_or(size / DEFAULT_CELLS);
        if !(cell * MAX_CELLS >= size) {
            return Err(LevelSetError::TooFine { cell, size, least: size / MAX_CELLS });
        }
        let width = cell * BRICK as f64;
        let origin = bounds.min - Vec3::splat(MARGIN * width);
        let extent = bounds.size() + Vec3::splat(2.0 * MARGIN * width);
        let bricks = [0, 1, 2].map(|axis| (extent[axis] / width).ceil().max(1.0) as usize);
        let distance = Distance::new(&surface);
        let corners = bricks.map(|count| count + 1);
        let coarse = measure(corners.iter().product(), |index| {
            distance.at(origin + Vec3::from(unravel(index, corners).map(|i| i as f64)) * width)
        });
        // A brick whose center is farther from the surface than from its corners contains no surface.
        let count = bricks.iter().product();
        let middles = measure(count, |brick| {
            distance.at(origin + Vec3::from(unravel(brick, bricks).map(|i| i as f64 + 0.5)) * width)
        });
        let reach = (0.5 * 3f64.sqrt() + 0.5) * width;
        let near: Vec<usize> = (0..count).filter(|&brick| middles[brick].value.abs() <= reach).collect();
        let mut first = vec![None; count];
        for (order, &brick) in near.iter().enumerate() {
            first[brick] = Some((order * BRICK_NODES) as u32);
        }
        let mut fine = vec![Node::default(); near.len() * BRICK_NODES];
        parallel::for_each_block_mut(&mut fine[..], BRICK_NODES, |start, nodes| {
            let corner = unravel(near[start / BRICK_NODES], bricks).map(|i| (i * BRICK) as f64);
            distance.fill_brick(|local| origin + (Vec3::from(corner) + local) * cell, cell, nodes);
        });
        if !fine.iter().chain(&coarse).any(|node| node.value < 0.0) {
            return Err(LevelSetError::TooThin { cell });
        }
        Ok(Self { surface, cell, origin, bricks, coarse, first, fine })
    }

    /// The source surface.
    pub fn surface(&self) -> &TriMesh {
        &self.surface
    }

    /// Edge of the grid cells near the surface \[m\].
    pub fn cell(&self) -> f64 {
        self.cell
    }

    /// Number of grid nodes.
    pub fn node_count(&self) -> usize {
        self.coarse.len() + self.fine.len()
    }

    fn sample(&self, p: Vec3) -> Sample {
        let width = self.cell * BRICK as f64;
        let limits = self.bricks.map(|count| count as f64);
        let place = (p - self.origin) / width;
        let inside = Vec3::from([0, 1, 2].map(|axis| place[axis].clamp(0.0, limits[axis])));
        let brick = [0, 1, 2].map(|axis| (inside[axis] as usize).min(self.bricks[axis] - 1));
        let corner = Vec3::from(brick.map(|i| i as f64));
        let mut sample = match self.first[ravel(brick, self.bricks)] {
            Some(first) => {
                let local = (inside - corner) * BRICK as f64;
                let cell = [0, 1, 2].map(|axis| (local[axis] as usize).min(BRICK - 1));
                let node = |at: [usize; 3]| self.fine[first as usize + ravel(at, [BRICK + 1; 3])];
                blend(local - Vec3::from(cell.map(|i| i as f64)), self.cell, cell, node)
            }
            None => {
                let corners = self.bricks.map(|count| count + 1);
                blend(inside - corner, width, brick, |at| self.coarse[ravel(at, corners)])
            }
        };
        // Outside the grid, add the distance to it: an overestimate, but far from zero.
        let beyond = (place - inside) * width;
        let far = beyond.norm();
        if far > 0.0 {
            sample.value += far;
            sample.gradient = beyond / far;
            sample.curvature = Mat3::zero();
        }
        sample
    }
}

impl Shape for LevelSet {
    fn distance(&self, p: Vec3) -> f64 {
        self.sample(p).value
    }

    /// The exact gradient of [`Shape::distance`], which is a unit vector only to the accuracy of the grid: forces must
    /// match their energy.
    fn normal(&self, p: Vec3) -> Vec3 {
        self.sample(p).gradient
    }

    fn curvature(&self, p: Vec3) -> Mat3 {
        self.sample(p).curvature
    }
}

fn ravel(at: [usize; 3], counts: [usize; 3]) -> usize {
    (at[2] * counts[1] + at[1]) * counts[0] + at[0]
}

fn unravel(index: usize, counts: [usize; 3]) -> [usize; 3] {
    [index % counts[0], index / counts[0] % counts[1], index / (counts[0] * counts[1])]
}

fn measure(count: usize, node: impl Fn(usize) -> Node + Sync) -> Vec<Node> {
    let mut nodes = vec![Node::default(); count];
    parallel::for_each_block_mut(&mut nodes[..], 256, |start, nodes| {
        for (i, out) in nodes.iter_mut().enumerate() {
            *out = node(start + i);
        }
    });
    nodes
}

/// Blends the planes at the corners of a cell with edge `h`; t in \[0, 1\]³ is the local point, and `first` the first
/// corner.
fn blend(t: Vec3, h: f64, first: [usize; 3], node: impl Fn([usize; 3]) -> Node) -> Sample {
    let weight = |t: f64| (t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t), 6.0 - 12.0 * t);
    // Per axis and side: w, w′ and w″ with respect to position.
    let sides: [[(f64, f64, f64); 2]; 3] = [0, 1, 2].map(|axis| {
        let (w, slope, bend) = weight(t[axis]);
        [(1.0 - w, -slope / h, -bend / (h * h)), (w, slope / h, bend / (h * h))]
    });
    let mut sample = Sample { value: 0.0, gradient: Vec3::zero(), curvature: Mat3::zero() };
    for corner in 0..8 {
        let bits = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
        let Node { value, gradient } = node([0, 1, 2].map(|axis| first[axis] + bits[axis]));
        let [x, y, z] = [0, 1, 2].map(|axis| sides[axis][bits[axis]]);
        let plane = value + gradient.dot((t - Vec3::from(bits.map(|b| b as f64))) * h);
        let w = x.0 * y.0 * z.0;
        let dw = Vec3::new(x.1 * y.0 * z.0, x.0 * y.1 * z.0, x.0 * y.0 * z.1);
        let (xy, yz, zx) = (x.1 * y.1 * z.0, x.0 * y.1 * z.1, x.1 * y.0 * z.1);
        let ddw = Mat3::new([[x.2 * y.0 * z.0, xy, zx], [xy, x.0 * y.2 * z.0, yz], [zx, yz, x.0 * y.0 * z.2]]);
        sample.value += w * plane;
        sample.gradient += dw * plane + gradient * w;
        sample.curvature += ddw * plane + Mat3::outer(dw, gradient) + Mat3::outer(gradient, dw);
    }
    sample
}

/// Exact distances to a surface.
struct Distance<'a> {
    surface: &'a TriMesh,
    places: NearestPlaces<'a>,
    winding: WindingNumber,
}

impl<'a> Distance<'a> {
    fn new(surface: &'a TriMesh) -> Self {
        Self { surface, places: NearestPlaces::new(surface), winding: surface.winding_numbers() }
    }

    fn at(&self, p: Vec3) -> Node {
        self.with_sign(p, |_| self.sign(p))
    }

    /// Nodes of a refined brick, whose places are given in cells from its first corner.
    ///
    /// Most have the sign of a neighbor: where one of the two is farther from the surface than they are apart, the surface
    /// does not pass between them. A winding number takes three times as long as the nearest place.
    fn fill_brick(&self, place: impl Fn(Vec3) -> Vec3, cell: f64, nodes: &mut [Node]) {
        const SIDE: usize = BRICK + 1;
        // Places are rounded.
        let apart = cell * (1.0 + 1e-9);
        for index in 0..nodes.len() {
            let local = unravel(index, [SIDE; 3]);
            let p = place(Vec3::from(local.map(|i| i as f64)));
            let before = [1, SIDE, SIDE * SIDE].into_iter().zip(local).filter(|(_, i)| *i > 0);
            let before = before.map(|(step, _)| nodes[index - step].value);
            nodes[index] = self.with_sign(p, |distance| {
                let mut before = before;
                let neighbor = before.find(|value| distance.max(value.abs()) > apart && *value != 0.0);
                neighbor.map_or_else(|| self.sign(p), f64::signum)
            });
        }
    }

    fn sign(&self, p: Vec3) -> f64 {
        if self.winding.is_inside(p) { -1.0 } else { 1.0 }
    }

    /// The node at a place; its sign by its distance.
    fn with_sign(&self, p: Vec3, sign: impl FnOnce(f64) -> f64) -> Node {
        let Some(nearest) = self.places.to(p) else { return Node::default() };
        let distance = (nearest.position - p).norm_squared().sqrt();
        let [a, b, c] = self.surface.corners(nearest.triangle);
        // On the surface itself the direction to it is undefined.
        if distance <= 1e-9 * (1.0 + p.norm()) * (b - a).norm() {
            return Node { value: 0.0, gradient: (b - a).cross(c - a).normalized() };
        }
        let sign = sign(distance);
        Node { value: sign * distance, gradient: (p - nearest.position) * (sign / distance) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::icosphere;

    fn ball(cell: f64) -> LevelSet {
        LevelSet::new(icosphere(1.0, 40).unwrap(), Some(cell)).unwrap()
    }

    fn probes() -> impl Iterator<Item = Vec3> {
        (1..400).map(|i| {
            let t = f64::from(i);
            Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract()) * 2.4
                - Vec3::splat(1.2)
        })
    }

    /// Signs that are handed on from node to node are those of winding numbers, around thin walls as well.
    #[test]
    fn every_node_of_a_brick_has_the_sign_of_its_winding_number() {
        let shell = {
            let (outer, inner) = (icosphere(1.0, 12).unwrap(), icosphere(0.9, 12).unwrap());
            let count = outer.positions().len() as u32;
            let turned = inner.triangles().iter().map(|&[a, b, c]| [a + count, c + count, b + count]);
            let positions = outer.positions().iter().chain(inner.positions()).copied().collect();
            TriMesh::new(positions, outer.triangles().iter().copied().chain(turned).collect()).unwrap()
        };
        for (surface, cell) in [(icosphere(1.0, 12).unwrap(), 0.11), (shell.clone(), 0.11), (shell, 0.05)] {
            let level_set = LevelSet::new(surface.clone(), Some(cell)).unwrap();
            let distance = Distance::new(&surface);
            let mut signs = [0; 2];
            for (brick, first) in level_set.first.iter().enumerate() {
                let Some(first) = first else { continue };
                let corner = unravel(brick, level_set.bricks).map(|i| (i * BRICK) as f64);
                for index in (0..BRICK_NODES).step_by(7) {
                    let local = unravel(index, [BRICK + 1; 3]).map(|i| i as f64);
                    let p = level_set.origin + (Vec3::from(corner) + Vec3::from(local)) * cell;
                    assert_eq!(level_set.fine[*first as usize + index], distance.at(p), "{p:?}");
                    signs[usize::from(level_set.fine[*first as usize + index].value < 0.0)] += 1;
                }
            }
            assert!(signs.iter().all(|count| *count > 100), "{signs:?}");
        }
    }

    /// The error decreases with the square of the cell size, down to that of the triangles.
    #[test]
    fn distance_converges_at_second_order() {
        let error = |cell: f64| {
            let ball = ball(cell);
            let near = probes().filter(|p| (p.norm() - 1.0).abs() < 0.2);
            near.map(|p| (ball.distance(p) - (p.norm() - 1.0)).abs()).fold(0.0, f64::max)
        };
        let (coarse, fine) = (error(0.2), error(0.1));
        assert!(fine < 0.375 * 0.01 && coarse / fine > 3.0, "{coarse} {fine}");
    }

    /// Force and tangent of a penalty must be derivatives of its energy, also where cells and bricks meet.
    #[test]
    fn normal_and_curvature_are_derivatives_of_the_distance() {
        let (ball, h) = (ball(0.1), 1e-6);
        for p in probes() {
            let (mut gradient, mut curvature) = (Vec3::zero(), Mat3::zero());
            for axis in 0..3 {
                let e = Vec3::unit(axis) * h;
                gradient[axis] = (ball.distance(p + e) - ball.distance(p - e)) / (2.0 * h);
                curvature.set_column(axis, (ball.normal(p + e) - ball.normal(p - e)) / (2.0 * h));
            }
            assert!((gradient - ball.normal(p)).norm() < 1e-7, "{p:?}");
            assert!((curvature - ball.curvature(p)).norm() < 1e-5 * (1.0 + curvature.norm()), "{p:?}");
        }
    }

    #[test]
    fn normals_near_the_surface_are_nearly_units() {
        let ball = ball(0.1);
        for p in probes().filter(|p| (p.norm() - 1.0).abs() < 0.2) {
            // Planes that differ by ⅜ h² are blended within h.
            assert!((ball.normal(p) - p.normalized()).norm() < 0.08, "{p:?}: {:?}", ball.normal(p));
        }
    }

    #[test]
    fn bricks_far_from_the_surface_have_no_nodes() {
        let ball = ball(0.04);
        assert!(ball.node_count() < ball.first.len() * BRICK_NODES / 2, "{}", ball.node_count());
    }

    #[test]
    fn outside_of_the_grid_the_distance_goes_on_growing() {
        let ball = ball(0.1);
        let far = ball.distance(Vec3::new(5.0, 0.0, 0.0));
        assert!((far - 4.0).abs() < 0.1, "{far}");
        assert!((ball.normal(Vec3::new(5.0, 0.0, 0.0)) - Vec3::unit(0)).norm() < 1e-12);
    }

    #[test]
    fn open_thin_and_too_fine_surfaces_are_refused() {
        let ball = icosphere(1.0, 4).unwrap();
        let open = TriMesh::new(ball.positions().to_vec(), ball.triangles()[1..].to_vec()).unwrap();
        assert!(matches!(LevelSet::new(open, None), Err(LevelSetError::Open { edges: 3, .. })));
        let flat = ball.mapped(|p| Vec3::new(p.x, p.y, 1e-9 * p.z)).unwrap();
        assert!(matches!(LevelSet::new(flat, Some(0.3)), Err(LevelSetError::TooThin { .. })));
        assert!(matches!(LevelSet::new(ball.clone(), Some(1e-6)), Err(LevelSetError::TooFine { .. })));
        assert!(matches!(LevelSet::new(ball, Some(f64::NAN)), Err(LevelSetError::TooFine { .. })));
    }
}
