//! Points bound to cells: surfaces, markers and attachments that follow a volume mesh.
//!
//! ```math
//! x_p = \sum_i w_{pi}\, x_i, \qquad f_i = \sum_p w_{pi}\, f_p, \qquad \sum_i w_{pi} = 1
//! ```
//!
//! Positions are interpolated by the weights, forces are transferred by their transpose. So power is equal on both
//! sides, and total force and momentum are conserved.

use rayon::prelude::*;
use sinew_math::{Mat3, Vec3};
use thiserror::Error;

use crate::bvh::Bvh;
use crate::mesh::{
    Aabb, CellKind, CellMesh, HEX_SIGNS, MAX_CELL_NODES, MAX_ENTRIES, closest_on_triangle, hex_gradient, hex_weights,
    tet10_gradient, tet10_weights,
};

/// Weights (in a quadratic cell: barycentric coordinates) above minus this count as inside: points on a face are inside
/// both adjacent cells.
const INSIDE_TOLERANCE: f64 = 1e-10;

/// A point farther outside than this multiple of the longest edge of its cell follows the nearest point of the boundary
/// instead of extrapolating. Otherwise weights would grow without bound, and small strains would move the point far.
const EXTRAPOLATION_REACH: f64 = 1.0;

/// With larger weights, small strains of its cell would move a point far. Points as far away as a well-shaped cell is
/// long need about two.
const LARGEST_WEIGHT: f64 = 4.0;

/// Newton steps for the local coordinates in a hexahedron or a curved tetrahedron. Convergence is quadratic; valid
/// cells need about five.
const NEWTON_STEPS: usize = 30;

/// Treatment of points outside the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// Extrapolate from the nearest cell, so that the point keeps its rest position. Points farther away than the cell
    /// is long are clamped, and so are the few beside very flat cells that would need large weights.
    #[default]
    Extrapolate,
    /// Move the point to the nearest point of the boundary.
    Clamp,
    /// Return [`EmbeddingError::Outside`].
    Reject,
}

/// Why points cannot be bound.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum EmbeddingError {
    /// A coordinate is NaN or infinite.
    #[error("point {point} has a coordinate that is not finite")]
    NonFinitePoint {
        /// The point.
        point: usize,
    },
    /// A point is outside and [`Outside::Reject`] is set.
    #[error("point {point} is outside the mesh by {distance:.3e} m")]
    Outside {
        /// The point.
        point: usize,
        /// Its distance from the mesh \[m\].
        distance: f64,
    },
    /// More points than indices can address.
    #[error("there are {points} points to bind, more than the limit of {limit}")]
    TooLarge {
        /// Number of points.
        points: usize,
        /// Largest number allowed.
        limit: usize,
    },
}

/// Summary of a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EmbeddingReport {
    /// Points outside the mesh.
    pub outside: usize,
    /// Number of outside points moved to the boundary.
    pub clamped: usize,
    /// Largest distance of a point from the mesh \[m\].
    pub max_distance: f64,
}

/// Nodes and weights of each embedded point, in compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedding {
    offsets: Vec<u32>,
    nodes: Vec<u32>,
    weights: Vec<f64>,
    cells: Vec<u32>,
    report: EmbeddingReport,
}

/// The binding of one point.
struct Binding {
    cell: u32,
    weights: [f64; MAX_CELL_NODES],
    /// Distance from the mesh \[m\]; zero inside.
    distance: f64,
    is_clamped: bool,
}

impl Embedding {
    /// Binds each point to the cell that contains it, or extrapolates from the nearest ([`Outside::Extrapolate`]).
    pub fn bind(mesh: &CellMesh, points: &[Vec3]) -> Result<Self, EmbeddingError> {
        Self::bind_with(mesh, points, Outside::Extrapolate)
    }

    /// Binds each point to the cell that contains it; if several do, to the one with the lowest number.
    pub fn bind_with(mesh: &CellMesh, points: &[Vec3], outside: Outside) -> Result<Self, EmbeddingError> {
        let limit = MAX_ENTRIES / MAX_CELL_NODES;
        if points.len() > limit {
            return Err(EmbeddingError::TooLarge { points: points.len(), limit });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(EmbeddingError::NonFinitePoint { point });
        }
        let locator = Locator::new(mesh);
        let bindings: Vec<Binding> = points.par_iter().map(|p| locator.bind(*p, outside)).collect();

        let mut embedding = Self { offsets: vec![0], ..Self::default() };
        for (point, binding) in bindings.iter().enumerate() {
            if binding.distance > 0.0 {
                if outside == Outside::Reject {
                    return Err(EmbeddingError::Outside { point, distance: binding.distance });
                }
                embedding.report.outside += 1;
                embedding.report.clamped += usize::from(binding.is_clamped);
                embedding.report.max_distance = embedding.report.max_distance.max(binding.distance);
            }
            let nodes = mesh.cell_nodes(binding.cell as usize);
            for (node, weight) in nodes.iter().zip(binding.weights).filter(|(_, weight)| *weight != 0.0) {
                embedding.nodes.push(*node);
                embedding.weights.push(weight);
            }
            embedding.offsets.push(embedding.nodes.len() as u32);
            embedding.cells.push(binding.cell);
        }
        Ok(embedding)
    }

    /// Binds each point to one node, with weight one.
    pub fn from_nodes(nodes: &[u32], mesh: &CellMesh) -> Self {
        let node_cells = mesh.node_cells();
        Self {
            offsets: (0..=nodes.len() as u32).collect(),
            nodes: nodes.to_vec(),
            weights: vec![1.0; nodes.len()],
            cells: nodes.iter().map(|node| node_cells.cells(*node as usize).first().copied().unwrap_or(0)).collect(),
            report: EmbeddingReport::default(),
        }
    }

    /// An embedding from stored weights: the entries of point p end at `ends[p]`. `None` when the arrays are
    /// inconsistent.
    pub fn from_rows(ends: &[u32], nodes: Vec<u32>, weights: Vec<f64>, cells: Vec<u32>) -> Option<Self> {
        let fits = ends.is_sorted()
            && ends.last().copied().unwrap_or(0) as usize == nodes.len()
            && nodes.len() == weights.len()
            && ends.len() == cells.len();
        let offsets = std::iter::once(0).chain(ends.iter().copied()).collect();
        fits.then_some(Self { offsets, nodes, weights, cells, report: EmbeddingReport::default() })
    }

    /// End of the entries of each point.
    pub fn ends(&self) -> &[u32] {
        &self.offsets[1..]
    }

    /// Nodes of all points, one after another.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Weights of all points, one after another.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Nodes and weights of a point; zero weights are left out.
    pub fn entries(&self, point: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[point] as usize..self.offsets[point + 1] as usize;
        (&self.nodes[range.clone()], &self.weights[range])
    }

    /// The cell that each point is bound to.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// How many points were outside the mesh.
    pub fn report(&self) -> &EmbeddingReport {
        &self.report
    }

    /// Positions of the points \[m\] for these node positions. Linear, so it also maps velocities and displacements.
    ///
    /// `out` must have one entry for each point.
    pub fn positions(&self, node_positions: &[Vec3], out: &mut [Vec3]) {
        debug_assert_eq!(out.len(), self.len(), "one output per embedded point");
        for (point, x) in out.iter_mut().enumerate() {
            let (nodes, weights) = self.entries(point);
            let mut sum = Vec3::zero();
            for (node, weight) in nodes.iter().zip(weights) {
                sum += node_positions[*node as usize] * *weight;
            }
            *x = sum;
        }
    }

    /// Adds forces at the points \[N\] to the forces at the nodes, by the transpose of the weights.
    pub fn add_forces_back(&self, point_forces: &[Vec3], node_forces: &mut [Vec3]) {
        debug_assert_eq!(point_forces.len(), self.len(), "one force per embedded point");
        for (point, force) in point_forces.iter().enumerate() {
            let (nodes, weights) = self.entries(point);
            for (node, weight) in nodes.iter().zip(weights) {
                node_forces[*node as usize] += *force * *weight;
            }
        }
    }
}

/// Finds the cell at a point.
struct Locator<'a> {
    mesh: &'a CellMesh,
    cells: Bvh,
    boundary: Vec<[u32; 3]>,
    boundary_cells: Vec<u32>,
    triangles: Bvh,
    /// Margin of the search boxes \[m\], so that points on a face are not lost to rounding.
    margin: f64,
}

impl<'a> Locator<'a> {
    fn new(mesh: &'a CellMesh) -> Self {
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

    fn bind(&self, p: Vec3, outside: Outside) -> Binding {
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
            xi += node_coordinates(kind, local) * weight;
        }
        let nodes = self.mesh.corners(cell_nodes);
        let (mut weights, slopes) = weights_with_slopes(kind, xi);
        let x: Vec3 = nodes.iter().zip(weights).map(|(node, weight)| *node * weight).sum();
        let mut columns = [Vec3::zero(); 3];
        for (node, slope) in nodes.iter().zip(slopes) {
            for (axis, column) in columns.iter_mut().enumerate() {
                *column += *node * slope[axis];
            }
        }
        let [a, b, c] = columns;
        let step = Mat3::from_columns(a, b, c).inverse() * (p - x);
        for (weight, slope) in weights.iter_mut().zip(slopes) {
            *weight += slope.dot(step);
        }
        are_moderate(&weights).then_some(weights)
    }

    fn longest_edge(&self, cell: u32) -> f64 {
        let corners = self.mesh.corners(self.mesh.cell_nodes(cell as usize));
        let edges = self.mesh.cell_kind(cell as usize).edges();
        edges.iter().map(|[a, b]| corners[*a].distance(corners[*b])).fold(0.0, f64::max)
    }

    /// Shape functions of the cell at p, and whether p is inside; `None` if the local coordinates were not found.
    fn weights(&self, cell: u32, p: Vec3) -> Option<([f64; MAX_CELL_NODES], bool)> {
        let corners = self.mesh.corners(self.mesh.cell_nodes(cell as usize));
        let mut weights = [0.0; MAX_CELL_NODES];
        let is_inside = |values: &[f64]| values.iter().all(|w| *w >= -INSIDE_TOLERANCE);
        match self.mesh.cell_kind(cell as usize) {
            CellKind::Tet4 => {
                let found = tet_weights(p, [corners[0], corners[1], corners[2], corners[3]]);
                weights[..4].copy_from_slice(&found);
                Some((weights, is_inside(&found)))
            }
            CellKind::Tet10 => {
                let barycentric = tet10_local(p, &corners)?;
                weights.copy_from_slice(&tet10_weights(barycentric));
                Some((weights, is_inside(&barycentric)))
            }
            CellKind::Hex8 => {
                let found = hex_weights(hex_local(p, &corners)?);
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

/// Local coordinates of a node of a cell.
fn node_coordinates(kind: CellKind, node: usize) -> Vec3 {
    let tet_corner = |corner: usize| if corner == 0 { Vec3::zero() } else { Vec3::unit(corner - 1) };
    match kind {
        CellKind::Hex8 => Vec3::from(HEX_SIGNS[node]),
        CellKind::Tet4 | CellKind::Tet10 if node < 4 => tet_corner(node),
        CellKind::Tet4 | CellKind::Tet10 => {
            let [a, b] = kind.edges()[node - 4];
            (tet_corner(a) + tet_corner(b)) * 0.5
        }
    }
}

/// Shape functions N and their derivatives ∂N/∂ξ at ξ; zero beyond the nodes of the cell.
fn weights_with_slopes(kind: CellKind, xi: Vec3) -> ([f64; MAX_CELL_NODES], [Vec3; MAX_CELL_NODES]) {
    let mut weights = [0.0; MAX_CELL_NODES];
    let mut slopes = [Vec3::zero(); MAX_CELL_NODES];
    let barycentric = [1.0 - xi.x - xi.y - xi.z, xi.x, xi.y, xi.z];
    let barycentric_slopes = [Vec3::splat(-1.0), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
    match kind {
        CellKind::Hex8 => {
            weights[..8].copy_from_slice(&hex_weights(xi));
            for (slope, s) in slopes.iter_mut().zip(HEX_SIGNS) {
                let f = [1.0 + s[0] * xi.x, 1.0 + s[1] * xi.y, 1.0 + s[2] * xi.z];
                *slope = Vec3::new(s[0] * f[1] * f[2], f[0] * s[1] * f[2], f[0] * f[1] * s[2]) * 0.125;
            }
        }
        CellKind::Tet4 => {
            weights[..4].copy_from_slice(&barycentric);
            slopes[..4].copy_from_slice(&barycentric_slopes);
        }
        CellKind::Tet10 => {
            weights.copy_from_slice(&tet10_weights(barycentric));
            for i in 0..4 {
                slopes[i] = barycentric_slopes[i] * (4.0 * barycentric[i] - 1.0);
            }
            for (slope, [i, j]) in slopes[4..].iter_mut().zip(kind.edges()) {
                *slope = (barycentric_slopes[*i] * barycentric[*j] + barycentric_slopes[*j] * barycentric[*i]) * 4.0;
            }
        }
    }
    (weights, slopes)
}

/// Barycentric coordinates of p: Cramer's rule relative to the last corner.
fn tet_weights(p: Vec3, [a, b, c, d]: [Vec3; 4]) -> [f64; 4] {
    let (u, v, w, q) = (a - d, b - d, c - d, p - d);
    let determinant = u.dot(v.cross(w));
    let weights = [q.dot(v.cross(w)) / determinant, u.dot(q.cross(w)) / determinant, u.dot(v.cross(q)) / determinant];
    // The last weight as a difference: the sum is one to the last bit or two.
    [weights[0], weights[1], weights[2], 1.0 - weights[0] - weights[1] - weights[2]]
}

/// Barycentric coordinates L with x(L) = p in a quadratic tetrahedron: start from those of its corners, which are exact
/// for straight edges, then Newton's method. `None` when it does not converge, which happens only outside curved cells.
fn tet10_local(p: Vec3, nodes: &[Vec3; MAX_CELL_NODES]) -> Option<[f64; 4]> {
    let scale = nodes[0].distance(nodes[1]) + nodes[0].distance(nodes[2]) + nodes[0].distance(nodes[3]);
    let mut local = tet_weights(p, [nodes[0], nodes[1], nodes[2], nodes[3]]);
    for _ in 0..NEWTON_STEPS {
        let x = nodes.iter().zip(tet10_weights(local)).fold(Vec3::zero(), |sum, (node, weight)| sum + *node * weight);
        if x.distance(p) <= 1e-14 * scale + 4.0 * f64::EPSILON * p.norm() {
            return Some(local);
        }
        let [a, b, c] = tet10_gradient(nodes, Vec3::new(local[1], local[2], local[3]));
        let step = Mat3::from_columns(a, b, c).inverse() * (p - x);
        // Weights grow with the square of the distance: beyond two cells they are useless.
        if !step.is_finite() || local.iter().any(|l| l.abs() > 4.0) {
            return None;
        }
        for axis in 0..3 {
            local[axis + 1] += step[axis];
        }
        local[0] = 1.0 - local[1] - local[2] - local[3];
    }
    let x = nodes.iter().zip(tet10_weights(local)).fold(Vec3::zero(), |sum, (node, weight)| sum + *node * weight);
    (x.distance(p) <= 1e-11 * scale + 8.0 * f64::EPSILON * p.norm()).then_some(local)
}

/// Local coordinates ξ with x(ξ) = p by Newton's method; `None` when it does not converge, which happens only far
/// outside.
fn hex_local(p: Vec3, corners: &[Vec3; MAX_CELL_NODES]) -> Option<Vec3> {
    let mut xi = Vec3::zero();
    let mut previous = f64::INFINITY;
    let scale = corners[0].distance(corners[6]) + corners[1].distance(corners[7]);
    for _ in 0..NEWTON_STEPS {
        let weights = hex_weights(xi);
        let mut x = Vec3::zero();
        for (corner, weight) in corners.iter().zip(weights) {
            x += *corner * weight;
        }
        let [a, b, c] = hex_gradient(corners, xi);
        let step = Mat3::from_columns(a, b, c).inverse() * (p - x);
        if !step.is_finite() {
            return None;
        }
        xi += step;
        let length = step.norm();
        // Stop at the first step that no longer halves: rounding error dominates.
        if length < 1e-9 && length > 0.5 * previous || length == 0.0 {
            break;
        }
        previous = length;
    }
    let weights = hex_weights(xi);
    let mut x = Vec3::zero();
    for (corner, weight) in corners.iter().zip(weights) {
        x += *corner * weight;
    }
    (x.distance(p) <= 1e-11 * scale + 8.0 * f64::EPSILON * p.norm()).then_some(xi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{
        MuscleCells, MuscleParams, MuscleShape, TetPattern, box_hexes, box_tets, muscle, sphere, sphere_surface,
    };

    fn scattered(n: usize, size: f64) -> Vec<Vec3> {
        (0..n)
            .map(|i| {
                let t = i as f64 + 0.5;
                Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract()) * size
            })
            .collect()
    }

    /// A brick of hexahedra with every node moved by a smooth map: no face is flat.
    fn warped_hexes() -> CellMesh {
        let brick = box_hexes(Vec3::splat(1.0), [3, 3, 3]).unwrap();
        brick.mapped(|x| x + Vec3::new((2.0 * x.y * x.z).sin(), (1.5 * x.z).cos() * x.x, x.x * x.y) * 0.15).unwrap().0
    }

    /// Quadratic tetrahedra with every node moved by a smooth map: no edge is straight.
    fn warped_quadratic_tets() -> CellMesh {
        let brick = box_tets(Vec3::splat(1.0), [3, 3, 3], TetPattern::Kuhn).unwrap().to_quadratic().unwrap();
        brick.mapped(|x| x + Vec3::new((2.0 * x.y * x.z).sin(), (1.5 * x.z).cos() * x.x, x.x * x.y) * 0.1).unwrap().0
    }

    /// Straight quadratic cells reproduce quadratic functions: Σ w_i g(x_i) = g(p) for g of degree two.
    #[test]
    fn weights_of_quadratic_cells_reproduce_quadratic_functions() {
        let mesh = box_tets(Vec3::splat(1.0), [3, 2, 4], TetPattern::Bcc).unwrap().to_quadratic().unwrap();
        let g = |x: Vec3| 0.3 + 2.0 * x.x - 1.7 * x.y * x.z + 0.9 * x.z * x.z + x.x * x.y;
        let points = scattered(300, 1.0);
        let embedding = Embedding::bind_with(&mesh, &points, Outside::Reject).unwrap();
        for (i, p) in points.iter().enumerate() {
            let (nodes, weights) = embedding.entries(i);
            let sum: f64 = nodes.iter().zip(weights).map(|(n, w)| g(mesh.positions()[*n as usize]) * w).sum();
            assert!((sum - g(*p)).abs() < 1e-12);
        }
    }

    /// Linear functions are reproduced exactly: Σ w_i g(x_i) = g(p).
    #[test]
    fn weights_reproduce_linear_functions() {
        let meshes = [
            box_tets(Vec3::splat(1.0), [3, 4, 2], TetPattern::Kuhn).unwrap(),
            box_tets(Vec3::splat(1.0), [3, 3, 3], TetPattern::Bcc).unwrap(),
            box_hexes(Vec3::splat(1.0), [3, 2, 4]).unwrap(),
            warped_hexes(),
            box_tets(Vec3::splat(1.0), [3, 4, 2], TetPattern::Kuhn).unwrap().to_quadratic().unwrap(),
            warped_quadratic_tets(),
        ];
        let g = |x: Vec3| 0.3 + 2.0 * x.x - 1.7 * x.y + 0.9 * x.z;
        for mesh in meshes {
            // Some of the points are slightly outside the warped brick: extrapolation is linear too.
            let points = scattered(500, 1.0);
            let embedding = Embedding::bind(&mesh, &points).unwrap();
            assert_eq!(embedding.report().clamped, 0);
            for (i, p) in points.iter().enumerate() {
                let (nodes, weights) = embedding.entries(i);
                let sum: f64 = nodes.iter().zip(weights).map(|(n, w)| g(mesh.positions()[*n as usize]) * w).sum();
                assert!((sum - g(*p)).abs() < 1e-12);
                assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-13);
            }
        }
    }

    /// Power is conserved, f_p · v_p = f_i · v_i, and so are total force and torque.
    #[test]
    fn force_transfer_is_the_transpose_of_position_transfer() {
        let mesh = warped_hexes();
        let points = scattered(100, 0.9);
        let embedding = Embedding::bind(&mesh, &points).unwrap();
        let forces: Vec<Vec3> = scattered(100, 7.0).iter().map(|f| *f - Vec3::splat(3.0)).collect();
        let velocities: Vec<Vec3> = scattered(mesh.node_count(), 2.0);
        let mut point_velocities = vec![Vec3::zero(); 100];
        embedding.positions(&velocities, &mut point_velocities);
        let mut node_forces = vec![Vec3::zero(); mesh.node_count()];
        embedding.add_forces_back(&forces, &mut node_forces);

        let power = |f: &[Vec3], v: &[Vec3]| f.iter().zip(v).map(|(f, v)| f.dot(*v)).sum::<f64>();
        assert!((power(&forces, &point_velocities) - power(&node_forces, &velocities)).abs() < 1e-11);
        assert!((forces.iter().sum::<Vec3>() - node_forces.iter().sum::<Vec3>()).norm() < 1e-11);
        let torque = |f: &[Vec3], x: &[Vec3]| f.iter().zip(x).map(|(f, x)| x.cross(*f)).sum::<Vec3>();
        assert!((torque(&forces, &points) - torque(&node_forces, mesh.positions())).norm() < 1e-11);
    }

    #[test]
    fn points_inside_get_weights_between_zero_and_one() {
        let mesh = sphere(1.0, 0.3).unwrap();
        let points: Vec<Vec3> = scattered(300, 1.0).iter().map(|p| *p - Vec3::splat(0.5)).collect();
        let embedding = Embedding::bind_with(&mesh, &points, Outside::Reject).unwrap();
        assert_eq!(*embedding.report(), EmbeddingReport::default());
        assert!((0..300).all(|i| embedding.entries(i).1.iter().all(|w| (-1e-10..=1.0 + 1e-10).contains(w))));
    }

    #[test]
    fn points_just_outside_keep_their_place_and_far_points_are_clamped() {
        let ball = sphere(1.0, 0.25).unwrap();
        let skin = sphere_surface(1.02, 0.1).unwrap();
        let embedding = Embedding::bind(&ball, skin.positions()).unwrap();
        assert_eq!(embedding.report().outside, skin.vertex_count());
        assert_eq!(embedding.report().clamped, 0);
        let mut placed = vec![Vec3::zero(); skin.vertex_count()];
        embedding.positions(ball.positions(), &mut placed);
        assert!(placed.iter().zip(skin.positions()).all(|(a, b)| a.distance(*b) < 1e-12));

        let far = Embedding::bind(&ball, &[Vec3::new(50.0, 0.0, 0.0)]).unwrap();
        assert_eq!(far.report().clamped, 1);
        assert!((far.report().max_distance - 49.0).abs() < 0.05);
        assert!(far.entries(0).1.iter().all(|w| (0.0..=1.0).contains(w)));
        let error = Embedding::bind_with(&ball, &[Vec3::splat(3.0)], Outside::Reject).unwrap_err();
        assert!(matches!(error, EmbeddingError::Outside { point: 0, .. }));
    }

    /// Points off each boundary triangle along its normal, by fractions of the longest edge of its cell.
    fn points_off_the_boundary(mesh: &CellMesh, fractions: &[f64]) -> Vec<Vec3> {
        let locator = Locator::new(mesh);
        let mut points = Vec::new();
        for (triangle, cell) in locator.boundary.iter().zip(&locator.boundary_cells) {
            let [a, b, c] = triangle.map(|node| mesh.positions()[node as usize]);
            let normal = (b - a).cross(c - a).normalized();
            let length = locator.longest_edge(*cell);
            points.extend(fractions.iter().map(|fraction| (a + b + c) / 3.0 + normal * (fraction * length)));
        }
        points
    }

    /// The corner cells of rounded sections and curved cells have no local coordinates for some points beside them.
    /// There the linearized map takes over: Σ w = 1, Σ w x = p, and Σ w A(x) = A(p) for affine A.
    #[test]
    fn points_beside_distorted_cells_keep_their_place() {
        let typical = |shape| MuscleParams { cells: MuscleCells::Hexes, ..MuscleParams::typical(shape) };
        let meshes = [
            muscle(&typical(MuscleShape::Fusiform)).unwrap().mesh,
            muscle(&typical(MuscleShape::Unipennate)).unwrap().mesh,
            muscle(&typical(MuscleShape::Bipennate)).unwrap().mesh,
            warped_hexes(),
            warped_quadratic_tets(),
        ];
        let affine =
            |x: Vec3| Vec3::new(0.3 + 1.2 * x.x - 0.4 * x.y, 0.9 * x.y + 0.5 * x.z, 0.7 * x.z - 0.2 * x.x - 1.0);
        let mut by_tangent = 0;
        for mesh in &meshes {
            let points = points_off_the_boundary(mesh, &[0.1, 0.5, 0.9]);
            let embedding = Embedding::bind(mesh, &points).unwrap();
            let locator = Locator::new(mesh);
            let mapped: Vec<Vec3> = mesh.positions().iter().map(|x| affine(*x)).collect();
            let (mut placed, mut moved) = (points.clone(), points.clone());
            embedding.positions(mesh.positions(), &mut placed);
            embedding.positions(&mapped, &mut moved);
            assert_eq!(embedding.report().clamped, 0);
            for (i, p) in points.iter().enumerate() {
                let weights = embedding.entries(i).1;
                // Rounding grows with the weights.
                assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-11);
                assert!(placed[i].distance(*p) < 1e-10, "{p:?} is placed at {:?}", placed[i]);
                assert!(moved[i].distance(affine(*p)) < 1e-10);
                by_tangent += usize::from(locator.weights(embedding.cells()[i], *p).is_none());
            }
        }
        assert!(by_tangent > 100, "{by_tangent}");
    }

    /// Central differences of N, and nodes lie at their local coordinates: N_i(ξ_j) = δ_ij.
    #[test]
    fn slopes_are_derivatives_of_the_weights() {
        let xi = Vec3::new(0.21, 0.13, 0.34);
        for kind in [CellKind::Tet4, CellKind::Tet10, CellKind::Hex8] {
            let (_, slopes) = weights_with_slopes(kind, xi);
            for axis in 0..3 {
                let h = Vec3::unit(axis) * 1e-5;
                let (ahead, behind) = (weights_with_slopes(kind, xi + h).0, weights_with_slopes(kind, xi - h).0);
                for i in 0..MAX_CELL_NODES {
                    assert!(((ahead[i] - behind[i]) / 2e-5 - slopes[i][axis]).abs() < 1e-9, "{kind:?}");
                }
            }
            for node in 0..kind.nodes_per_cell() {
                let weights = weights_with_slopes(kind, node_coordinates(kind, node)).0;
                assert!((0..MAX_CELL_NODES).all(|i| weights[i] == f64::from(u8::from(i == node))), "{kind:?}");
            }
        }
    }

    #[test]
    fn far_points_near_warped_hexes_are_bound_too() {
        let mesh = warped_hexes();
        let points: Vec<Vec3> = scattered(200, 20.0).iter().map(|p| *p - Vec3::splat(10.0)).collect();
        let embedding = Embedding::bind(&mesh, &points).unwrap();
        assert!(embedding.report().clamped > 100);
        assert!((0..200).all(|i| embedding.entries(i).1.iter().all(|w| w.is_finite() && w.abs() < 100.0)));
    }

    #[test]
    fn every_node_is_bound_to_itself() {
        let mesh = box_tets(Vec3::splat(1.0), [2, 2, 2], TetPattern::Bcc).unwrap();
        let embedding = Embedding::bind_with(&mesh, mesh.positions(), Outside::Reject).unwrap();
        let mut out = vec![Vec3::zero(); mesh.node_count()];
        embedding.positions(mesh.positions(), &mut out);
        assert!(out.iter().zip(mesh.positions()).all(|(a, b)| a.distance(*b) < 1e-15));
        let nodes = [3, 1];
        let direct = Embedding::from_nodes(&nodes, &mesh);
        assert_eq!(direct.entries(1), ([1].as_slice(), [1.0].as_slice()));
    }

    #[test]
    fn nan_points_are_rejected() {
        let mesh = box_hexes(Vec3::splat(1.0), [1, 1, 1]).unwrap();
        let error = Embedding::bind(&mesh, &[Vec3::zero(), Vec3::new(0.0, f64::NAN, 0.0)]).unwrap_err();
        assert_eq!(error, EmbeddingError::NonFinitePoint { point: 1 });
        assert!(Embedding::bind(&mesh, &[]).unwrap().is_empty());
    }
}
