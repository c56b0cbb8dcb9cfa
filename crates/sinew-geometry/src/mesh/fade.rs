//! Soft borders of a mask on a surface.

use sinew_math::Vec3;

use super::TriMesh;

/// Where a step between 0 and 1 along a flat surface rises from a tenth to nine tenths: 2 ln 5 decay lengths.
const WIDTH: f64 = 3.218_875_824_868_201;
/// Residual of the linear system, relative to its right side.
const TOLERANCE: f64 = 1e-9;
/// Most iterations; far more than a tolerance within rounding takes.
const ITERATIONS: usize = 10_000;

/// A mask at the vertices, faded over `width` \[m\] along the surface: the solution of u − ℓ² Δu = m with ℓ = width/(2 ln 5),
/// so that a step m along a line becomes ½ e^(−|x|/ℓ) on its low side. With linear elements, lumped areas, and cotangents
/// that are cut at zero, so that nothing leaves the range of the mask.
pub fn faded(surface: &TriMesh, mask: &[f64], width: f64) -> Vec<f64> {
    let length = width / WIDTH;
    if !(length > 0.0) || mask.is_empty() {
        return mask.to_vec();
    }
    let x = surface.positions();
    let mut areas = vec![0.0; x.len()];
    let mut edges: Vec<(u32, u32, f64)> = Vec::with_capacity(3 * surface.triangle_count());
    for &triangle in surface.triangles() {
        let [a, b, c] = triangle.map(|v| x[v as usize]);
        let double = (b - a).cross(c - a).norm();
        if !(double > 0.0) {
            continue;
        }
        for k in 0..3 {
            let [i, j, across] = [triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]];
            areas[i as usize] += double / 6.0;
            let at = |v: u32| -> Vec3 { x[v as usize] - x[across as usize] };
            let cotangent = at(i).dot(at(j)) / double;
            edges.push((i, j, 0.5 * cotangent * length * length));
        }
    }
    // Both triangles of an edge together decide whether its weight is below zero.
    edges.iter_mut().for_each(|(i, j, _)| (*i, *j) = ((*i).min(*j), (*i).max(*j)));
    edges.sort_unstable_by_key(|edge| (edge.0, edge.1));
    let mut joined: Vec<(u32, u32, f64)> = Vec::with_capacity(edges.len());
    for edge in edges {
        match joined.last_mut().filter(|last| (last.0, last.1) == (edge.0, edge.1)) {
            Some(last) => last.2 += edge.2,
            None => joined.push(edge),
        }
    }
    joined.iter_mut().for_each(|edge| edge.2 = edge.2.max(0.0));
    // Vertices without area keep their value.
    areas.iter_mut().filter(|area| **area <= 0.0).for_each(|area| *area = f64::MIN_POSITIVE.sqrt());
    let mut diagonal = areas.clone();
    for &(i, j, weight) in &joined {
        diagonal[i as usize] += weight;
        diagonal[j as usize] += weight;
    }
    let product = |u: &[f64], out: &mut [f64]| {
        out.iter_mut().zip(&diagonal).zip(u).for_each(|((out, d), u)| *out = d * u);
        for &(i, j, weight) in &joined {
            out[i as usize] -= weight * u[j as usize];
            out[j as usize] -= weight * u[i as usize];
        }
    };
    let right: Vec<f64> = mask.iter().zip(&areas).map(|(m, area)| m * area).collect();
    let (low, high) = mask.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &m| (low.min(m), high.max(m)));
    let mut u = mask.to_vec();
    solve(product, &diagonal, &right, &mut u);
    u.iter_mut().for_each(|u| *u = u.clamp(low, high));
    u
}

/// Conjugate gradients, preconditioned by the diagonal.
fn solve(product: impl Fn(&[f64], &mut [f64]), diagonal: &[f64], right: &[f64], u: &mut [f64]) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut image = vec![0.0; u.len()];
    product(u, &mut image);
    let mut residual: Vec<f64> = right.iter().zip(&image).map(|(b, a)| b - a).collect();
    let scaled = |r: &[f64]| -> Vec<f64> { r.iter().zip(diagonal).map(|(r, d)| r / d).collect() };
    let mut z = scaled(&residual);
    let mut direction = z.clone();
    let goal = TOLERANCE * TOLERANCE * dot(right, &scaled(right));
    let mut size = dot(&residual, &z);
    for _ in 0..ITERATIONS {
        if size <= goal {
            break;
        }
        product(&direction, &mut image);
        let step = size / dot(&direction, &image);
        u.iter_mut().zip(&direction).for_each(|(u, d)| *u += step * d);
        residual.iter_mut().zip(&image).for_each(|(r, a)| *r -= step * a);
        z = scaled(&residual);
        let next = dot(&residual, &z);
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + next / size * *d);
        size = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of right triangles along x, with `count` steps on each side of zero.
    fn strip(count: i32, step: f64) -> TriMesh {
        let positions: Vec<Vec3> =
            (-count..=count).flat_map(|k| [0.0, step].map(|y| Vec3::new(f64::from(k) * step, y, 0.0))).collect();
        let quads = (0..2 * count as u32).map(|k| 2 * k);
        let triangles = quads.flat_map(|a| [[a, a + 2, a + 3], [a, a + 3, a + 1]]).collect();
        TriMesh::new(positions, triangles).unwrap()
    }

    /// A step between two vertices becomes ½ e^(−|x|/ℓ), in any resolution.
    #[test]
    fn a_step_fades_as_an_exponential() {
        for step in [0.02, 0.01] {
            let surface = strip((2.0 / step) as i32, step);
            let border = 0.5 * step;
            let mask: Vec<f64> = surface.positions().iter().map(|x| f64::from(x.x > border)).collect();
            let faded = faded(&surface, &mask, 0.3);
            let length = 0.3 / (2.0 * 5f64.ln());
            for (x, u) in surface.positions().iter().zip(&faded) {
                let distance = x.x - border;
                let tail = 0.5 * (-distance.abs() / length).exp();
                let exact = if distance < 0.0 { tail } else { 1.0 - tail };
                assert!((u - exact).abs() < 0.1 * step / length, "{} {u} {exact}", x.x);
            }
        }
    }

    #[test]
    fn masks_keep_their_range_their_integral_and_without_a_width_themselves() {
        let surface = strip(40, 0.01);
        let mask: Vec<f64> = (0..surface.vertex_count()).map(|v| f64::from(v as u32 * 7 % 5) / 4.0).collect();
        assert_eq!(faded(&surface, &mask, 0.0), mask);
        let soft = faded(&surface, &mask, 0.2);
        assert!(soft.iter().all(|u| (0.0..=1.0).contains(u)));
        let mut areas = vec![0.0; mask.len()];
        for (t, triangle) in surface.triangles().iter().enumerate() {
            let [a, b, c] = surface.corners(t);
            triangle.iter().for_each(|&v| areas[v as usize] += (b - a).cross(c - a).norm() / 6.0);
        }
        let integral = |u: &[f64]| u.iter().zip(&areas).map(|(u, area)| u * area).sum::<f64>();
        assert!((integral(&soft) - integral(&mask)).abs() < 1e-9 * integral(&mask));
    }
}
