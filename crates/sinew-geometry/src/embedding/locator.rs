//! The cell that a point is bound to, and the weights of its nodes there.

use sinew_math::{Mat3, Vec3};

use super::Outside;
use super::local_coordinates::{hex8_coordinates, tet_coordinates, tet10_coordinates};
use crate::bvh::Bvh;
use crate::mesh::{Aabb, CellKind, CellMesh, MAX_CELL_NODES, closest_on_triangle};
use crate::shape_functions::{hex8_values, map_gradient, reference_node, tet10_values, values_and_gradients};

/// Weights (in a quadratic cell: barycentric coordinates) above minus this count as inside: points on a face are inside
/// both adjacent cells.
const INSIDE_TOLERANCE: f64 = 1e-10;

/// A point farther outside than this multiple of the longest edge of its cell follows the nearest point of the boundary
/// instead of extrapolating. Otherwise weights would grow without bound, and small strains would move the point far.
const EXTRAPOLATION_REACH: f64 = 1.0;

/// With larger weights, small strains of its cell would move a point far. Points as far away as a well-shaped cell is
/// long need about two.
const LARGEST_WEIGHT: f64 = 4.0;

/// The binding of one point.
pub(super) struct Binding {
    pub cell: u32,
    pub weights: [f64; MAX_CELL_NODES],
    /// Distance from the mesh \[m\]; zero inside.
    pub distance: f64,
    pub is_clamped: bool,
}

/// Finds the cell at a point.
pub(super) struct Locator<'a> {
    mesh: &'a CellMesh,
    cells: Bvh,
    pub(super) boundary: Vec<[u32; 3]>,
    pub(super) boundary_cells: Vec<u32>,
    triangles: Bvh,
    /// Margin of the search boxes \[m\], so that points on a face are not lost to rounding.
    margin: f64,
}

impl<'a> Locator<'a> {
    pub(super) fn new(mesh: &'a CellMesh) -> Self {
        let at = |node: &u32| &mesh.positions()[*node as usize];
        let boxes = mesh.cells().map(|(_, nodes)| Aabb::from_points(nodes.iter().map(at))).collect();
        let (boundary, boundary_cells) = mesh.boundary_triangles_with_cells();
        let triangle_boxes = boundary.iter().map(|t| Aabb::from_points(t.iter().map(at))).collect();
        let bounds = mesh.bounds();
        let scale = bounds.min.abs().max(bounds.max.abs()).max_component();
        Self {
            mesh,
            cells: Bvh::new(boxes),
            boundary,
            boundary_cells,
            triangles: Bvh::new(triangle_boxes),
            margin: 4.0 * f64::EPSILON * scale,
        }
    }

    pub(super) fn bind(&self, p: Vec3, outside: Outside) -> Binding {
        let mut found: Option<(u32, [f64; MAX_CELL_NODES])> = None;
        self.cells.for_each_overlap(&Aabb { min: p, max: p }.grown(self.margin), |cell| {
            if found.is_none_or(|(best, _)| cell < best)
                && let Some((weights, is_inside)) = self.weights(cell, p)
                && is_inside
            {
                found = Some((cell, weights));
            }
            true
        });
        match found {
            Some((cell, weights)) => Binding { cell, weights, distance: 0.0, is_clamped: false },
            None => self.bind_outside(p, outside),
        }
    }

    /// Binds a point to the cell of the nearest boundary triangle.
    fn bind_outside(&self, p: Vec3, outside: Outside) -> Binding {
        let corners = |t: u32| self.boundary[t as usize].map(|node| self.mesh.positions()[node as usize]);
        let at = |x: [Vec3; 3], w: [f64; 3]| x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
        let nearest = self.triangles.nearest(p, |t| {
            let x = corners(t);
            (p - at(x, closest_on_triangle(p, x))).norm_squared()
        });
        // A mesh has cells, so it has a boundary.
        let (triangle, distance_squared) = nearest.unwrap_or((0, 0.0));
        let cell = self.boundary_cells[triangle as usize];
        let distance = distance_squared.sqrt();
        let on_triangle = closest_on_triangle(p, corners(triangle));
        if outside == Outside::Extrapolate && distance <= EXTRAPOLATION_REACH * self.longest_edge(cell) {
            // Beside a distorted cell Newton's method may fail, or find local coordinates so far away that the weights
            // are large.
            let exact = self.weights(cell, p).map(|(weights, _)| weights);
            let moderate = exact.filter(are_moderate);
            if let Some(weights) = moderate.or_else(|| self.affine_weights(triangle, on_triangle, p)).or(exact) {
                return Binding { cell, weights, distance, is_clamped: false };
            }
        }
        let mut weights = [0.0; MAX_CELL_NODES];
        for (weight, node) in weights.iter_mut().zip(self.mesh.cell_nodes(cell as usize)) {
            if let Some(corner) = self.boundary[triangle as usize].iter().position(|corner| corner == node) {
                *weight = on_triangle[corner];
            }
        }
        Binding { cell, weights, distance, is_clamped: true }
    }

    /// Weights at p by linearizing the cell's map at a boundary point ξ*, for points p without local coordinates or
    /// with distant ones:
    ///
    /// ```math
    /// w = N(\xi^*) + \frac{\partial N}{\partial \xi}(\xi^*)\, J^{-1} (p - x(\xi^*)), \qquad
    ///    J = \frac{\partial x}{\partial \xi}(\xi^*)
    /// ```
    ///
    /// They sum to one, reproduce p and all affine functions, and grow linearly with the distance. The boundary point
    /// is given by weights on the corners of a boundary triangle; ξ* is the same mean of their local coordinates.
    /// `None` when a weight would be too large.
    fn affine_weights(&self, triangle: u32, on_triangle: [f64; 3], p: Vec3) -> Option<[f64; MAX_CELL_NODES]> {
        let cell = self.boundary_cells[triangle as usize] as usize;
        let (kind, cell_nodes) = (self.mesh.cell_kind(cell), self.mesh.cell_nodes(cell));
        let mut xi = Vec3::zero();
        for (corner, weight) in self.boundary[triangle as usize].iter().zip(on_triangle) {
            let local = cell_nodes.iter().position(|node| node == corner)?;
            xi += reference_node(kind, local) * weight;
        }
        let nodes = self.mesh.corners(cell_nodes);
        let (mut weights, gradients) = values_and_gradients(kind, xi);
        let x: Vec3 = nodes.iter().zip(weights).map(|(node, weight)| *node * weight).sum();
        let [a, b, c] = map_gradient(&nodes, &gradients);
        let step = Mat3::from_columns(a, b, c).inverse() * (p - x);
        for (weight, gradient) in weights.iter_mut().zip(gradients) {
            *weight += gradient.dot(step);
        }
        are_moderate(&weights).then_some(weights)
    }

    pub(super) fn longest_edge(&self, cell: u32) -> f64 {
        let corners = self.mesh.corners(self.mesh.cell_nodes(cell as usize));
        let edges = self.mesh.cell_kind(cell as usize).edges();
        edges.iter().map(|[a, b]| corners[*a].distance(corners[*b])).fold(0.0, f64::max)
    }

    /// Shape functions of the cell at p, and whether p is inside; `None` if the local coordinates were not found.
    pub(super) fn weights(&self, cell: u32, p: Vec3) -> Option<([f64; MAX_CELL_NODES], bool)> {
        let corners = self.mesh.corners(self.mesh.cell_nodes(cell as usize));
        let mut weights = [0.0; MAX_CELL_NODES];
        let is_inside = |values: &[f64]| values.iter().all(|w| *w >= -INSIDE_TOLERANCE);
        match self.mesh.cell_kind(cell as usize) {
            CellKind::Tet4 => {
                let found = tet_coordinates(p, [corners[0], corners[1], corners[2], corners[3]]);
                weights[..4].copy_from_slice(&found);
                Some((weights, is_inside(&found)))
            }
            CellKind::Tet10 => {
                let barycentric = tet10_coordinates(p, &corners)?;
                weights.copy_from_slice(&tet10_values(barycentric));
                Some((weights, is_inside(&barycentric)))
            }
            CellKind::Hex8 => {
                let found = hex8_values(hex8_coordinates(p, &corners)?);
                weights[..8].copy_from_slice(&found);
                Some((weights, is_inside(&found)))
            }
        }
    }
}

/// Whether all weights are moderate; false for NaN.
fn are_moderate(weights: &[f64; MAX_CELL_NODES]) -> bool {
    weights.iter().all(|weight| weight.abs() <= LARGEST_WEIGHT)
}
