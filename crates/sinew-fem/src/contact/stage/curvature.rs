//! Second derivatives of barriers, whole: the tangent of equations omits how normals turn.
//!
//! The distance d of two features is the minimum of |r|, r = Σ wᵢ(ξ) yᵢ, over the parameters ξ of the closest points,
//! of which there are two between a vertex and a triangle or two edges, one between a vertex and an edge, and none
//! between two vertices. With rₖ = ∂r/∂ξₖ, cₖ = ∂w/∂ξₖ, G = (rₖ · rₗ) and the projection P across n and all rₖ,
//! ```math
//! \nabla^2 \varphi = \varphi''\, ww^T \otimes nn^T
//!    - \varphi' G^{-1}_{kl} \left( w c_l^T \otimes r_k n^T + c_l w^T \otimes n r_k^T + d\, c_k c_l^T \otimes nn^T \right)
//!    + \frac{\varphi'}{d}\, ww^T \otimes P.
//! ```

use sinew_math::{Mat3, Vec3};

/// Second derivative of an energy over four vertices.
pub(super) type Hessian = [[Mat3; 4]; 4];

/// Edges whose squared sine is below this have no closest points to speak of; there they hardly repel each other.
const SINGULAR: f64 = 1e-12;

/// φ'' ∇d∇dᵀ + φ' ∇²d, for a distance d along n between points with these weights on y.
pub(super) fn of_distance(
    y: [Vec3; 4],
    weights: [f64; 4],
    normal: Vec3,
    d: f64,
    slope: f64,
    curvature: f64,
) -> Hessian {
    let mut hessian = [[Mat3::zero(); 4]; 4];
    let along = Mat3::outer(normal, normal);
    let mut slides = [([0usize; 2], Vec3::zero()); 2];
    let mut used = 0;
    for sign in [1.0, -1.0] {
        let mut first = None;
        for i in (0..4).filter(|&i| weights[i] * sign > 0.0) {
            match first {
                None => first = Some(i),
                Some(j) if used < 2 => {
                    slides[used] = ([i, j], y[i] - y[j]);
                    used += 1;
                }
                Some(_) => {}
            }
        }
    }
    let r = slides.map(|(_, r)| r);
    let g = [r[0].dot(r[0]), r[0].dot(r[1]), r[1].dot(r[1])];
    let (mut dual, mut inverse, mut across) = ([Vec3::zero(); 2], [[0.0; 2]; 2], Mat3::zero());
    match used {
        2 => {
            let determinant = g[0] * g[2] - g[1] * g[1];
            if determinant > SINGULAR * g[0] * g[2] {
                inverse = [[g[2] / determinant, -g[1] / determinant], [-g[1] / determinant, g[0] / determinant]];
            }
        }
        1 => {
            inverse[0][0] = 1.0 / g[0];
            across = Mat3::identity() - along - Mat3::outer(r[0], r[0]) * inverse[0][0];
        }
        _ => across = Mat3::identity() - along,
    }
    for l in 0..used {
        dual[l] = r[0] * inverse[l][0] + r[1] * inverse[l][1];
    }
    let moved = |slide: usize, i: usize| match slides[slide].0 {
        _ if slide >= used => 0.0,
        [plus, _] if plus == i => 1.0,
        [_, minus] if minus == i => -1.0,
        _ => 0.0,
    };
    for i in 0..4 {
        for j in 0..4 {
            let (wi, wj) = (weights[i], weights[j]);
            let mut turning = 0.0;
            let mut block = Mat3::zero();
            for k in 0..used {
                for l in 0..used {
                    turning += inverse[k][l] * moved(k, i) * moved(l, j);
                }
                block += Mat3::outer(dual[k], normal) * (wi * moved(k, j));
                block += Mat3::outer(normal, dual[k]) * (wj * moved(k, i));
            }
            block += along * (d * turning);
            hessian[i][j] = along * (curvature * wi * wj) - block * slope + across * (slope / d * wi * wj);
        }
    }
    hessian
}

/// c = |u × w|² of two edges with its first and second derivative by u and w.
pub(super) struct Parallelogram {
    pub squared: f64,
    pub slopes: [Vec3; 2],
    pub second: [[Mat3; 2]; 2],
}

impl Parallelogram {
    pub fn new(u: Vec3, w: Vec3) -> Self {
        let (uu, ww, uw) = (u.norm_squared(), w.norm_squared(), u.dot(w));
        let one = Mat3::identity();
        let mixed = (Mat3::outer(u, w) * 2.0 - Mat3::outer(w, u) - one * uw) * 2.0;
        Self {
            squared: u.cross(w).norm_squared(),
            slopes: [(u * ww - w * uw) * 2.0, (w * uu - u * uw) * 2.0],
            second: [
                [(one * ww - Mat3::outer(w, w)) * 2.0, mixed],
                [mixed.transpose(), (one * uu - Mat3::outer(u, u)) * 2.0],
            ],
        }
    }

    /// Slopes by the four vertices of u = b − a, w = d − c.
    pub fn slopes_of_vertices(&self) -> [Vec3; 4] {
        let [u, w] = self.slopes;
        [-u, u, -w, w]
    }

    /// Adds m Φ'' of the fading alone: Φ (m'' ∇c∇cᵀ + m' ∇²c) + m' (∇c ∇Φᵀ + ∇Φ ∇cᵀ).
    pub fn add_fading(&self, energy: f64, slopes: &[Vec3; 4], [rate, bend]: [f64; 2], hessian: &mut Hessian) {
        let own = self.slopes_of_vertices();
        let sign = |i: usize| if i.is_multiple_of(2) { -1.0 } else { 1.0 };
        for i in 0..4 {
            for j in 0..4 {
                let second = self.second[i / 2][j / 2] * (sign(i) * sign(j) * rate * energy);
                hessian[i][j] += second + Mat3::outer(own[i], own[j]) * (bend * energy);
                hessian[i][j] += (Mat3::outer(own[i], slopes[j]) + Mat3::outer(slopes[i], own[j])) * rate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::proximity::{Closest, edge_edge, point_triangle};

    use super::super::super::barrier::{barrier, mollifier};
    use super::*;

    const GAP: f64 = 3.0;

    /// Compares with differences of the gradient.
    fn check(y: [Vec3; 4], hessian: &Hessian, gradient: impl Fn([Vec3; 4]) -> [Vec3; 4]) {
        let size = hessian.iter().flatten().map(|block| block.norm()).fold(0.0, f64::max);
        for j in 0..4 {
            for axis in 0..3 {
                let h = 1e-6;
                let at = |s: f64| {
                    let mut y = y;
                    y[j] += Vec3::unit(axis) * s;
                    gradient(y)
                };
                let (low, high) = (at(-h), at(h));
                for i in 0..4 {
                    let expected = (high[i] - low[i]) / (2.0 * h);
                    let found = hessian[i][j].column(axis);
                    assert!((found - expected).norm() < 1e-6 * size, "{i} {j} {axis}: {found:?} {expected:?}");
                }
            }
        }
    }

    fn of(closest: &Closest) -> (f64, Vec3, [f64; 3]) {
        let d = closest.distance_squared.sqrt();
        (d, closest.difference / d, barrier(d / GAP))
    }

    fn slopes(closest: &Closest) -> [Vec3; 4] {
        let (_, normal, [_, slope, _]) = of(closest);
        closest.weights.map(|w| normal * (slope * w))
    }

    const TRIANGLE: [Vec3; 3] = [Vec3::new(-1.0, -0.8, 0.1), Vec3::new(1.2, -0.7, -0.2), Vec3::new(0.1, 1.3, 0.15)];

    #[test]
    fn distances_have_the_second_derivative_of_differences() {
        // Over the triangle, beside an edge, beyond a corner.
        for p in [Vec3::new(0.1, 0.2, 0.9), Vec3::new(0.1, -1.3, 0.5), Vec3::new(2.0, -1.1, 0.4)] {
            let [a, b, c] = TRIANGLE;
            let y = [p, a, b, c];
            let closest = point_triangle(y);
            let (d, normal, [_, slope, curvature]) = of(&closest);
            let hessian = of_distance(y, closest.weights, normal, d, slope, curvature / GAP);
            check(y, &hessian, |y| slopes(&point_triangle(y)));
        }
    }

    #[test]
    fn edges_have_the_second_derivative_of_differences() {
        let [a, b, c] = TRIANGLE;
        // They cross, or one ends before.
        for d in [Vec3::new(-0.3, -2.0, 0.9), Vec3::new(-0.5, -0.2, 0.9)] {
            let y = [a, b, c + Vec3::unit(2) * 0.8, d];
            let energy_at = |y: [Vec3; 4]| {
                let closest = edge_edge(y);
                (of(&closest).2[0] * GAP, slopes(&closest))
            };
            let gradient = |y: [Vec3; 4]| {
                let sides = Parallelogram::new(y[1] - y[0], y[3] - y[2]);
                let [fade, rate, _] = mollifier(sides.squared, 100.0);
                let (energy, slopes) = energy_at(y);
                let own = sides.slopes_of_vertices();
                std::array::from_fn(|i| slopes[i] * fade + own[i] * (rate * energy))
            };
            let sides = Parallelogram::new(y[1] - y[0], y[3] - y[2]);
            let [fade, rate, bend] = mollifier(sides.squared, 100.0);
            assert!(fade > 0.1 && fade < 0.9, "{fade}");
            let closest = edge_edge(y);
            let (d, normal, [_, slope, curvature]) = of(&closest);
            let mut hessian = of_distance(y, closest.weights, normal, d, fade * slope, fade * curvature / GAP);
            let (energy, slopes) = energy_at(y);
            sides.add_fading(energy, &slopes, [rate, bend], &mut hessian);
            check(y, &hessian, gradient);
        }
    }
}
