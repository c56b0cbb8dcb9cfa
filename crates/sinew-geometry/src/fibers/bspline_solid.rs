//! Solids shaped by control points, whose parameter lines are the fibers of a muscle.
//!
//! ```math
//! F(u, v, w) = \sum_{ijk} B_i(u)\, B_j(v)\, B_k(w)\, q_{ijk}, \qquad
//!    f(x) = \frac{\partial F / \partial m}{|\partial F / \partial m|}
//!    \text{ at } F^{-1}(x)
//! ```
//!
//! with m the parameter along the fibers \[Teran05\], section 3.4; \[Sifakis07\], section 2.3.4. Neither states degree
//! and knots; cubic over clamped uniform knots is usual. This F is not the deformation gradient.

use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};
use thiserror::Error;

use super::bspline_basis::{Basis, LocalBasis, MAX_DEGREE};
use crate::mesh::{Aabb, CellMesh};

/// A point is in the solid when the inverse map comes this close to it, as a fraction of the size of the solid.
const INSIDE: f64 = 1e-6;
/// Residual at which the inverse map stops, as a fraction of the size: the rounding error of the sum over 64 control
/// points.
const CONVERGED: f64 = 1e-14;
/// Gauss–Newton takes about five steps from the nearest sample, and a few dozen where the solid is pinched.
const MAX_STEPS: usize = 100;
/// Starting points tried when the nearest sample does not lead to the point.
const MAX_STARTS: usize = 4;
/// Largest number of samples per direction from which inverse maps start.
const MAX_SAMPLES: usize = 13;
/// A tangent shorter than this fraction of the size has no direction.
const DEGENERATE: f64 = 1e-10;

/// One of the three parameters of a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParameterAxis {
    /// The first.
    #[default]
    U,
    /// The second.
    V,
    /// The third.
    W,
}

/// Why a solid cannot be built or has no direction at a point.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BsplineError {
    /// The degree is out of range.
    #[error("the degree along {axis:?} is {degree}, but must be 1, 2 or 3")]
    Degree {
        /// The parameter.
        axis: ParameterAxis,
        /// Its degree.
        degree: usize,
    },
    /// A spline of degree p needs p + 1 control points.
    #[error("{count} control points along {axis:?} are too few for degree {degree}; hint: at least {}", degree + 1)]
    TooFewPoints {
        /// The parameter.
        axis: ParameterAxis,
        /// Control points along it.
        count: usize,
        /// Its degree.
        degree: usize,
    },
    /// The list of control points is not the product of the counts.
    #[error("expected {expected} control points, got {found}")]
    WrongCount {
        /// Product of the counts.
        expected: usize,
        /// Points given.
        found: usize,
    },
    /// A control point is NaN or infinite.
    #[error("control point {point} has a coordinate that is not finite")]
    NonFinitePoint {
        /// Its index in the list.
        point: usize,
    },
    /// All control points coincide.
    #[error("all control points coincide")]
    NoExtent,
    /// The query point is NaN or infinite.
    #[error("the query point is not finite")]
    NonFiniteQuery,
    /// The parameter line has no direction at the query point.
    #[error(
        "fibers have no direction at (u, v, w) = ({}, {}, {}); hint: pull apart the control points that coincide along the fibers",
        parameters.x, parameters.y, parameters.z
    )]
    DegenerateTangent {
        /// Parameters of the point.
        parameters: Vec3,
    },
}

/// Location of a point in a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolidPlace {
    /// (u, v, w) ∈ \[0, 1\]³ of the point, or of the closest point found in the solid.
    pub parameters: Vec3,
    /// Distance of the point from there \[m\].
    pub distance: f64,
    /// Whether the point is in the solid: closer than 1e-6 of its size.
    pub is_inside: bool,
}

/// A trivariate tensor-product B-spline F(u, v, w) = Σ B_i(u) B_j(v) B_k(w) q_ijk over clamped uniform knots, one of
/// whose parameters runs along the fibers \[Teran05\].
#[derive(Clone, Debug, PartialEq)]
pub struct BsplineSolid {
    bases: [Basis; 3],
    counts: [usize; 3],
    /// Point (i, j, k) has the index (i n_v + j) n_w + k.
    control_points: Vec<Vec3>,
    fiber_axis: ParameterAxis,
    /// Diagonal of the bounding box of the control points \[m\].
    size: f64,
    /// Parameters and positions at which inverse maps start.
    samples: Vec<(Vec3, Vec3)>,
}

impl BsplineSolid {
    /// Cubic in all directions; the usual choice.
    pub const CUBIC: [usize; 3] = [3; 3];

    /// A solid of `counts` control points in the three directions, the last varying fastest; `degree` 1 to 3 in each.
    pub fn new(
        control_points: Vec<Vec3>,
        counts: [usize; 3],
        degree: [usize; 3],
        fiber_axis: ParameterAxis,
    ) -> Result<Self, BsplineError> {
        let axes = [ParameterAxis::U, ParameterAxis::V, ParameterAxis::W];
        for ((axis, count), degree) in axes.into_iter().zip(counts).zip(degree) {
            if !(1..=MAX_DEGREE).contains(&degree) {
                return Err(BsplineError::Degree { axis, degree });
            }
            if count <= degree {
                return Err(BsplineError::TooFewPoints { axis, count, degree });
            }
        }
        let expected = counts.iter().fold(1, |product: usize, n| product.saturating_mul(*n));
        if control_points.len() != expected {
            return Err(BsplineError::WrongCount { expected, found: control_points.len() });
        }
        if let Some(point) = control_points.iter().position(|q| !q.is_finite()) {
            return Err(BsplineError::NonFinitePoint { point });
        }
        let size = Aabb::from_points(&control_points).diagonal();
        if !(size > 0.0) {
            return Err(BsplineError::NoExtent);
        }
        let bases = [0, 1, 2].map(|axis| Basis::clamped_uniform(counts[axis], degree[axis]));
        let mut solid = Self { bases, counts, control_points, fiber_axis, size, samples: Vec::new() };
        solid.samples = solid.coarse_samples();
        Ok(solid)
    }

    /// The box from `min` to `max` with control points at the Greville abscissae: parameters are fractions of its
    /// sides.
    pub fn identity_box(
        min: Vec3,
        max: Vec3,
        counts: [usize; 3],
        degree: [usize; 3],
        fiber_axis: ParameterAxis,
    ) -> Result<Self, BsplineError> {
        let abscissae = [0, 1, 2].map(|axis| {
            let is_valid = (1..=MAX_DEGREE).contains(&degree[axis]) && counts[axis] > degree[axis];
            // Invalid values are rejected below.
            if is_valid { Basis::clamped_uniform(counts[axis], degree[axis]).greville() } else { Vec::new() }
        });
        let mut control_points = Vec::new();
        for u in &abscissae[0] {
            for v in &abscissae[1] {
                for w in &abscissae[2] {
                    control_points.push(min + Vec3::new(*u, *v, *w).component_mul(max - min));
                }
            }
        }
        Self::new(control_points, counts, degree, fiber_axis)
    }

    /// Control points, w varying fastest.
    pub fn control_points(&self) -> &[Vec3] {
        &self.control_points
    }

    /// Number of control points in each direction.
    pub fn counts(&self) -> [usize; 3] {
        self.counts
    }

    /// The parameter along the fibers.
    pub fn fiber_axis(&self) -> ParameterAxis {
        self.fiber_axis
    }

    /// F(u, v, w); parameters are clamped to \[0, 1\].
    pub fn evaluate(&self, parameters: Vec3) -> Vec3 {
        let [a, b, c] = self.local(parameters);
        self.sum([&a, &b, &c], [&a.values, &b.values, &c.values])
    }

    /// ∂F/∂u, ∂F/∂v, ∂F/∂w; parameters are clamped to \[0, 1\].
    pub fn derivatives(&self, parameters: Vec3) -> [Vec3; 3] {
        let [a, b, c] = self.local(parameters);
        let of = |weights| self.sum([&a, &b, &c], weights);
        [
            of([&a.slopes, &b.values, &c.values]),
            of([&a.values, &b.slopes, &c.values]),
            of([&a.values, &b.values, &c.slopes]),
        ]
    }

    fn local(&self, parameters: Vec3) -> [LocalBasis; 3] {
        [0, 1, 2].map(|axis| self.bases[axis].at(parameters[axis].clamp(0.0, 1.0)))
    }

    /// Σ weights × control points over the nonzero functions.
    fn sum(&self, local: [&LocalBasis; 3], weights: [&[f64; MAX_DEGREE + 1]; 3]) -> Vec3 {
        let [_, nv, nw] = self.counts;
        let [ku, kv, kw] = [0, 1, 2].map(|axis| self.bases[axis].local_count());
        let mut total = Vec3::zero();
        for i in 0..ku {
            let mut sheet = Vec3::zero();
            for j in 0..kv {
                let first = ((local[0].first + i) * nv + local[1].first + j) * nw + local[2].first;
                let points = &self.control_points[first..first + kw];
                let row: Vec3 = points.iter().zip(weights[2]).map(|(q, weight)| *q * *weight).sum();
                sheet += row * weights[1][j];
            }
            total += sheet * weights[0][i];
        }
        total
    }

    /// Two samples per span, or fewer where there are many spans.
    fn coarse_samples(&self) -> Vec<(Vec3, Vec3)> {
        let steps = [0, 1, 2].map(|axis| (2 * self.bases[axis].span_count() + 2).min(MAX_SAMPLES));
        let at = |i: usize, n: usize| (i as f64 + 0.5) / n as f64;
        let mut samples = Vec::with_capacity(steps.iter().product());
        for i in 0..steps[0] {
            for j in 0..steps[1] {
                for k in 0..steps[2] {
                    let parameters = Vec3::new(at(i, steps[0]), at(j, steps[1]), at(k, steps[2]));
                    samples.push((parameters, self.evaluate(parameters)));
                }
            }
        }
        samples
    }

    /// F⁻¹(x), or the closest point of the solid if x is outside.
    ///
    /// Minimizes |F − x|² over the parameter box by damped Gauss–Newton steps from the nearest of a coarse set of
    /// samples, and if that does not reach the point, from the next nearest ones. A solid that overlaps itself has
    /// several solutions; this returns one of them.
    pub fn inverse(&self, x: Vec3) -> Result<SolidPlace, BsplineError> {
        if !x.is_finite() {
            return Err(BsplineError::NonFiniteQuery);
        }
        let mut starts: Vec<(f64, Vec3)> =
            self.samples.iter().map(|(parameters, at)| ((*at - x).norm_squared(), *parameters)).collect();
        let last = MAX_STARTS.min(starts.len()) - 1;
        starts.select_nth_unstable_by(last, |a, b| a.0.total_cmp(&b.0));
        starts.truncate(last + 1);
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best = (f64::INFINITY, Vec3::zero());
        for (_, start) in starts {
            let found = self.descend(x, start);
            if found.0 < best.0 {
                best = found;
            }
            if best.0 <= INSIDE * self.size {
                break;
            }
        }
        let (distance, parameters) = best;
        Ok(SolidPlace { parameters, distance, is_inside: distance <= INSIDE * self.size })
    }

    /// Smallest distance from x reached from `start`, and its parameters.
    fn descend(&self, x: Vec3, start: Vec3) -> (f64, Vec3) {
        let mut u = start;
        let mut r = self.evaluate(u) - x;
        let mut damping = 0.0;
        for _ in 0..MAX_STEPS {
            if r.norm() <= CONVERGED * self.size {
                break;
            }
            let [a, b, c] = self.derivatives(u);
            let gradient = Vec3::new(a.dot(r), b.dot(r), c.dot(r));
            let jacobian = Mat3::from_columns(a, b, c);
            let mut normal = jacobian.transpose_mul(&jacobian);
            // Levenberg's term, scaled by the matrix. Never zero, because pinched solids have singular matrices.
            let scale = normal.trace();
            let mut right = -gradient;
            for axis in 0..3 {
                normal[(axis, axis)] += (damping + 1e-14) * scale;
            }
            for axis in 0..3 {
                // Active bounds of the parameter box: exclude them from this step.
                if (u[axis] <= 0.0 && gradient[axis] > 0.0) || (u[axis] >= 1.0 && gradient[axis] < 0.0) {
                    for other in 0..3 {
                        normal[(axis, other)] = 0.0;
                        normal[(other, axis)] = 0.0;
                    }
                    normal[(axis, axis)] = scale;
                    right[axis] = 0.0;
                }
            }
            let step = normal.inverse() * right;
            let next = (u + step).map(|t| t.clamp(0.0, 1.0));
            let moved = (next - u).abs().max_component();
            if !step.is_finite() || moved <= f64::EPSILON {
                break;
            }
            let candidate = self.evaluate(next) - x;
            if candidate.norm_squared() < r.norm_squared() {
                (u, r) = (next, candidate);
                damping = if damping < 1e-6 { 0.0 } else { 0.1 * damping };
            } else if damping > 1e8 {
                // Steps no longer change anything: rounding error dominates.
                break;
            } else {
                damping = (10.0 * damping).max(1e-4);
            }
        }
        (r.norm(), u)
    }

    /// Unit fiber direction at x; outside the solid, that at the closest point.
    pub fn direction_at(&self, x: Vec3) -> Result<Vec3, BsplineError> {
        let parameters = self.inverse(x)?.parameters;
        let tangent = self.derivatives(parameters)[self.fiber_axis as usize];
        let length = tangent.norm();
        if !(length > DEGENERATE * self.size) {
            return Err(BsplineError::DegenerateTangent { parameters });
        }
        Ok(tangent / length)
    }

    /// Unit fiber direction at the mean of the corners of each cell.
    pub fn directions(&self, mesh: &CellMesh) -> Result<Vec<Vec3>, BsplineError> {
        let cells: Vec<_> = mesh.cells().collect();
        let direction = |(kind, nodes): &(crate::mesh::CellKind, &[u32])| {
            let corners = &nodes[..kind.corners_per_cell()];
            let sum: Vec3 = corners.iter().map(|node| mesh.positions()[*node as usize]).sum();
            self.direction_at(sum / corners.len() as f64)
        };
        cells.par_iter().map(direction).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{TetPattern, box_tets};

    /// Points in (0, 1)³ unrelated to the samples.
    fn scattered(count: usize) -> impl Iterator<Item = Vec3> {
        // Fractional parts of multiples of the golden-ratio sequence in three dimensions.
        let steps = Vec3::new(0.819_172_513_396_164_4, 0.671_043_606_703_789_2, 0.549_700_477_901_970_3);
        (1..=count).map(move |i| (steps * i as f64).map(f64::fract))
    }

    /// A box bent by 120° and twisted: a curved muscle.
    fn bent() -> BsplineSolid {
        let counts = [7, 4, 5];
        let straight =
            BsplineSolid::identity_box(Vec3::zero(), Vec3::splat(1.0), counts, BsplineSolid::CUBIC, ParameterAxis::U)
                .unwrap();
        let bend = |q: &Vec3| {
            let (sin, cos) = (2.1 * q.x).sin_cos();
            let (across_sin, across_cos) = (0.5 * q.x).sin_cos();
            let (y, z) = (q.y - 0.5, q.z - 0.5);
            let (y, z) = (0.08 * (across_cos * y - across_sin * z), 0.06 * (across_sin * y + across_cos * z));
            Vec3::new((0.1 + y) * sin, (0.1 + y) * cos, z)
        };
        let points = straight.control_points().iter().map(bend).collect();
        BsplineSolid::new(points, counts, BsplineSolid::CUBIC, ParameterAxis::U).unwrap()
    }

    #[test]
    fn greville_box_is_the_identity_and_its_fibers_an_axis() {
        for degree in [[1; 3], [2; 3], [3; 3], [3, 1, 2]] {
            for (axis, fiber_axis) in [ParameterAxis::U, ParameterAxis::V, ParameterAxis::W].into_iter().enumerate() {
                let solid =
                    BsplineSolid::identity_box(Vec3::zero(), Vec3::splat(1.0), [5, 4, 6], degree, fiber_axis).unwrap();
                for p in scattered(100) {
                    // Three sums of four rounded terms.
                    assert!((solid.evaluate(p) - p).abs().max_component() < 1e-15);
                    assert!((solid.direction_at(p).unwrap() - Vec3::unit(axis)).norm() < 1e-13);
                    assert!((solid.inverse(p).unwrap().parameters - p).norm() < 1e-13);
                }
            }
        }
    }

    /// F of affinely placed control points is affine, so its tangents are constant.
    #[test]
    fn affine_arrangement_has_a_constant_field() {
        let matrix =
            Mat3::from_rows(Vec3::new(0.3, 0.1, -0.05), Vec3::new(0.02, 0.2, 0.04), Vec3::new(-0.1, 0.03, 0.15));
        let map = |q: &Vec3| matrix * *q + Vec3::new(0.4, -0.2, 0.1);
        let counts = [4, 5, 6];
        let straight =
            BsplineSolid::identity_box(Vec3::zero(), Vec3::splat(1.0), counts, [3, 3, 3], ParameterAxis::V).unwrap();
        let points = straight.control_points().iter().map(map).collect();
        let solid = BsplineSolid::new(points, counts, [3, 3, 3], ParameterAxis::V).unwrap();
        let exact = matrix.column(1).normalized();
        for p in scattered(200) {
            assert!((solid.direction_at(map(&p)).unwrap() - exact).norm() < 1e-14);
        }
        let mesh = box_tets(Vec3::splat(1.0), [2, 2, 2], TetPattern::Bcc).unwrap().mapped(|x| map(&x)).unwrap().0;
        let directions = solid.directions(&mesh).unwrap();
        assert_eq!(directions.len(), mesh.cell_count());
        assert!(directions.iter().all(|f| (*f - exact).norm() < 1e-14));
    }

    #[test]
    fn inverse_map_returns_to_the_point_in_a_curved_solid() {
        let solid = bent();
        for p in scattered(500) {
            let x = solid.evaluate(p);
            let place = solid.inverse(x).unwrap();
            assert!(place.is_inside && place.distance < 1e-13 * solid.size, "{place:?} for {p:?}");
            assert!((place.parameters - p).norm() < 1e-10, "{place:?} for {p:?}");
        }
        // Corners and faces of the parameter box.
        for corner in 0..27 {
            let p = Vec3::new((corner % 3) as f64, (corner / 3 % 3) as f64, (corner / 9) as f64) * 0.5;
            let place = solid.inverse(solid.evaluate(p)).unwrap();
            assert!(place.is_inside && (place.parameters - p).norm() < 1e-9, "{place:?} for {p:?}");
        }
    }

    #[test]
    fn derivatives_are_those_of_the_map() {
        let solid = bent();
        let h = 1e-6;
        for p in scattered(50) {
            for (axis, derivative) in solid.derivatives(p).into_iter().enumerate() {
                let step = Vec3::unit(axis) * h;
                let difference = (solid.evaluate(p + step) - solid.evaluate(p - step)) / (2.0 * h);
                // Rounding of the difference: 1e-16 / h.
                assert!((difference - derivative).norm() < 1e-8);
            }
        }
    }

    /// Outside a box the closest point is the projection onto it, in any direction.
    #[test]
    fn points_outside_take_the_closest_point() {
        let solid =
            BsplineSolid::identity_box(Vec3::zero(), Vec3::splat(1.0), [5, 4, 4], [3; 3], ParameterAxis::U).unwrap();
        for p in scattered(100) {
            let x = (p - Vec3::splat(0.5)) * 4.0;
            let closest = x.map(|c| c.clamp(0.0, 1.0));
            let place = solid.inverse(x).unwrap();
            assert!((place.parameters - closest).norm() < 1e-10, "{place:?} for {x:?}");
            assert!((place.distance - x.distance(closest)).abs() < 1e-12);
            assert_eq!(place.is_inside, x == closest);
        }
        // Beside a curved solid the residual is normal to the surface.
        let solid = bent();
        for p in scattered(50).map(|p| Vec3::new(0.1 + 0.8 * p.x, 0.1 + 0.8 * p.y, 1.0)) {
            let [a, b, _] = solid.derivatives(p);
            let x = solid.evaluate(p) + a.cross(b).normalized() * 0.005;
            let place = solid.inverse(x).unwrap();
            assert!(!place.is_inside && (place.distance - 0.005).abs() < 1e-9, "{place:?}");
            assert!((place.parameters - p).norm() < 1e-6, "{place:?} for {p:?}");
        }
    }

    /// A spindle whose ends are pinched to points: singular there, but only there.
    #[test]
    fn pinched_ends_are_found_or_named() {
        let counts = [6, 4, 4];
        let box_ =
            BsplineSolid::identity_box(Vec3::zero(), Vec3::splat(1.0), counts, [3; 3], ParameterAxis::U).unwrap();
        let pinch = |q: &Vec3| {
            let width = 0.4 * q.x * (1.0 - q.x);
            Vec3::new(q.x, width * (q.y - 0.5), width * (q.z - 0.5))
        };
        let points: Vec<Vec3> = box_.control_points().iter().map(pinch).collect();
        let solid = BsplineSolid::new(points.clone(), counts, [3; 3], ParameterAxis::U).unwrap();
        for p in scattered(200) {
            let x = solid.evaluate(p);
            assert!(solid.inverse(x).unwrap().is_inside);
            assert!(solid.direction_at(x).unwrap().x > 0.9);
        }
        assert!(solid.inverse(Vec3::zero()).unwrap().is_inside);
        // Across the fibers the pinched end has no direction.
        let across = BsplineSolid::new(points, counts, [3; 3], ParameterAxis::V).unwrap();
        let error = across.direction_at(Vec3::new(-0.1, 0.0, 0.0)).unwrap_err();
        assert!(matches!(error, BsplineError::DegenerateTangent { parameters } if parameters.x < 1e-9), "{error}");
    }

    #[test]
    fn wrong_solids_are_refused_with_the_reason() {
        let make = |points: Vec<Vec3>, counts, degree| BsplineSolid::new(points, counts, degree, ParameterAxis::U);
        let corners: Vec<Vec3> =
            (0..8).map(|i| Vec3::new((i >> 2) as f64, (i >> 1 & 1) as f64, (i & 1) as f64)).collect();
        assert!(make(corners.clone(), [2; 3], [1; 3]).is_ok());
        let error = make(corners.clone(), [2; 3], [1, 2, 1]).unwrap_err();
        assert_eq!(error, BsplineError::TooFewPoints { axis: ParameterAxis::V, count: 2, degree: 2 });
        let error = make(corners.clone(), [2; 3], [1, 1, 4]).unwrap_err();
        assert_eq!(error, BsplineError::Degree { axis: ParameterAxis::W, degree: 4 });
        let error = make(corners[..7].to_vec(), [2; 3], [1; 3]).unwrap_err();
        assert_eq!(error, BsplineError::WrongCount { expected: 8, found: 7 });
        let mut broken = corners.clone();
        broken[5].y = f64::NAN;
        assert_eq!(make(broken, [2; 3], [1; 3]).unwrap_err(), BsplineError::NonFinitePoint { point: 5 });
        assert_eq!(make(vec![Vec3::splat(1.0); 8], [2; 3], [1; 3]).unwrap_err(), BsplineError::NoExtent);
        let solid = make(corners, [2; 3], [1; 3]).unwrap();
        assert_eq!(solid.inverse(Vec3::splat(f64::NAN)).unwrap_err(), BsplineError::NonFiniteQuery);
    }
}
