//! Normals of animated surfaces.
//!
//! Viewers blend normals with the same weights as positions and normalize the result: n(w) ∥ n₀ + Σₖ wₖ Δₖ. The base
//! may be a shape that the body never takes, and its own normals would shade every frame incorrectly. So n₀ and Δₖ are
//! fitted to the normals of the frames by least squares.

use sinew_math::eigen::symmetric_eigen;
use sinew_math::parallel::prelude::*;

use crate::gltf::morph::MorphFit;

/// Number of frames to fit: three for each of 32 targets.
const SAMPLES: usize = 96;

/// Relative size below which a direction of the weights counts as unused.
const UNUSED: f64 = 1e-10;

/// Below this length the base normal is unreliable, and normalizing it would blow up the changes.
const SHORTEST: f64 = 0.05;

/// Base normals, and the change that each target adds.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphNormals {
    /// Of unit length, as the format requires.
    pub base: Vec<[f32; 3]>,
    /// One list for each target.
    pub changes: Vec<Vec<[f32; 3]>>,
}

/// The frames that normals are fitted to: all of them, or an even selection.
pub fn shaded_frames(frame_count: usize) -> Vec<usize> {
    let samples = frame_count.min(SAMPLES);
    let frame = |i: usize| if samples == frame_count { i } else { i * (frame_count - 1) / (samples - 1) };
    (0..samples).map(frame).collect()
}

impl MorphNormals {
    /// Normals of the fitted shapes of a single body.
    pub(super) fn of(fit: &MorphFit, triangles: &[[u32; 3]]) -> MorphNormals {
        let base: Vec<[f64; 3]> = fit.base.iter().map(|x| x.map(f64::from)).collect();
        let count = fit.targets.len();
        let normals_at = |frame: usize| {
            let mut shape = base.clone();
            for (target, weight) in fit.targets.iter().zip(&fit.weights[frame * count..][..count]) {
                add_scaled(&mut shape, f64::from(*weight), target);
            }
            unit_normals(&shape, triangles)
        };
        MorphNormals::fitted(fit, rigid_normals(&fit.base, triangles), normals_at)
    }

    /// Fits to given unit normals at [`shaded_frames`]; `at_rest` replaces a mean normal that vanishes.
    pub fn fitted(fit: &MorphFit, at_rest: Vec<[f32; 3]>, normals_at: impl Fn(usize) -> Vec<[f64; 3]>) -> MorphNormals {
        let count = fit.targets.len();
        let frames = shaded_frames(fit.weights.len() / count.max(1));
        if frames.is_empty() {
            return MorphNormals { base: at_rest, changes: Vec::new() };
        }
        // One row (1, w₁, w₂, …) for each sample.
        let row = |frame: &usize| {
            let weights = &fit.weights[frame * count..][..count];
            std::iter::once(1.0).chain(weights.iter().map(|w| f64::from(*w))).collect()
        };
        let rows: Vec<Vec<f64>> = frames.iter().map(row).collect();
        let solution = pseudo_inverse(&rows, count + 1);

        let mut fitted = vec![vec![[0.0f32; 3]; fit.base.len()]; count + 1];
        for (i, frame) in frames.into_iter().enumerate() {
            let normals = normals_at(frame);
            fitted.par_iter_mut().zip(&solution).for_each(|(fitted, factors)| {
                let pairs = fitted.as_flattened_mut().iter_mut().zip(normals.as_flattened());
                pairs.for_each(|(slot, n)| *slot += (factors[i] * n) as f32);
            });
        }
        let mut changes = fitted.split_off(1);
        let mut base = fitted.swap_remove(0);
        for (vertex, normal) in base.iter_mut().enumerate() {
            let length = norm(&normal.map(f64::from));
            let scaled = |x: f32| (f64::from(x) / length) as f32;
            if length > SHORTEST {
                *normal = normal.map(scaled);
                // A common factor on everything that is added changes no direction.
                changes.iter_mut().for_each(|change| change[vertex] = change[vertex].map(scaled));
            } else {
                *normal = at_rest[vertex];
            }
        }
        MorphNormals { base, changes }
    }
}

/// (XᵀX)⁺ Xᵀ for the rows of X: row k gives unknown k of a least-squares problem from its right-hand sides.
fn pseudo_inverse(rows: &[Vec<f64>], size: usize) -> Vec<Vec<f64>> {
    let entry = |p: usize| rows.iter().map(|row| row[p / size] * row[p % size]).sum();
    let eigen = symmetric_eigen(&(0..size * size).map(entry).collect::<Vec<f64>>(), size);
    let largest = eigen.values.last().copied().unwrap_or(0.0);
    let mut inverse = vec![vec![0.0; rows.len()]; size];
    for (value, vector) in eigen.values.iter().zip(eigen.vectors.chunks_exact(size)) {
        if *value <= UNUSED * largest {
            continue;
        }
        for (i, row) in rows.iter().enumerate() {
            let along: f64 = row.iter().zip(vector).map(|(x, v)| x * v).sum::<f64>() / value;
            inverse.iter_mut().zip(vector).for_each(|(inverse, v)| inverse[i] += along * v);
        }
    }
    inverse
}

/// Unit normals of a rigid body.
pub(super) fn rigid_normals(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Vec<[f32; 3]> {
    let positions: Vec<[f64; 3]> = positions.iter().map(|x| x.map(f64::from)).collect();
    rounded(&unit_normals(&positions, triangles))
}

fn rounded(vectors: &[[f64; 3]]) -> Vec<[f32; 3]> {
    vectors.iter().map(|vector| vector.map(|x| x as f32)).collect()
}

fn norm(vector: &[f64; 3]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn add_scaled(shape: &mut [[f64; 3]], factor: f64, change: &[[f32; 3]]) {
    let change = change.as_flattened();
    shape.as_flattened_mut().iter_mut().zip(change).for_each(|(x, t)| *x += factor * f64::from(*t));
}

/// Unit normals of the vertices: the mean of their triangles, weighted by area.
fn unit_normals(positions: &[[f64; 3]], triangles: &[[u32; 3]]) -> Vec<[f64; 3]> {
    let mut normals = vec![[0.0f64; 3]; positions.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|vertex| positions[vertex as usize]);
        let [u, v] = [b, c].map(|corner| [corner[0] - a[0], corner[1] - a[1], corner[2] - a[2]]);
        let area = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        for vertex in triangle {
            normals[*vertex as usize].iter_mut().zip(area).for_each(|(n, a)| *n += a);
        }
    }
    for normal in &mut normals {
        let length = norm(normal);
        // Vertices without triangles, or with degenerate ones only: any direction will do.
        *normal = if length > 1e-30 { normal.map(|x| x / length) } else { [0.0, 1.0, 0.0] };
    }
    normals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gltf::morph::fit_morph_targets;

    /// A patch that tips about its first edge by 80 degrees.
    #[test]
    fn normals_follow_the_motion() {
        let patch = |angle: f32| vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, angle.cos(), angle.sin()]];
        let angles: Vec<f32> = (0..9).map(|i| (i as f32 * 10.0 - 30.0).to_radians()).collect();
        let frames: Vec<_> = angles.iter().map(|angle| patch(*angle)).collect();
        let fit = fit_morph_targets(&frames, 4);
        assert_eq!(fit.targets.len(), 2);
        let normals = MorphNormals::of(&fit, &[[0, 1, 2]]);
        assert!((norm(&normals.base[2].map(f64::from)) - 1.0).abs() < 1e-6);
        for (f, angle) in angles.iter().enumerate() {
            let mut normal = normals.base[2].map(f64::from);
            for (k, change) in normals.changes.iter().enumerate() {
                (0..3).for_each(|i| normal[i] += f64::from(fit.weights[2 * f + k] * change[2][i]));
            }
            let length = norm(&normal);
            let cosine = (normal[2] * f64::from(angle.cos()) - normal[1] * f64::from(angle.sin())) / length;
            // A normal on a circle is linear in the same functions as its position, so only rounding remains.
            assert!(cosine > 1.0 - 1e-6, "{f}: {}°", cosine.acos().to_degrees());
        }
    }

    #[test]
    fn a_cube_has_diagonal_normals_and_loose_vertices_any() {
        let corner = |i: usize| [(i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32];
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        // Four triangles around the center of each face weight all corners equally.
        let mut positions: Vec<[f32; 3]> = (0..8).map(corner).collect();
        let mut triangles = Vec::new();
        for quad in quads {
            let middle = positions.len() as u32;
            positions.push(std::array::from_fn(|k| (corner(quad[0])[k] + corner(quad[2])[k]) / 2.0));
            triangles.extend((0..4).map(|i| [quad[i] as u32, quad[(i + 1) % 4] as u32, middle]));
        }
        positions.push([9.0; 3]);
        let normals = rigid_normals(&positions, &triangles);
        for i in 0..8 {
            let outward = corner(i).map(|x| (x - 0.5) * 2.0 / 3f32.sqrt());
            assert!((0..3).all(|k| (normals[i][k] - outward[k]).abs() < 1e-6), "{:?}", normals[i]);
        }
        assert_eq!(normals.last(), Some(&[0.0, 1.0, 0.0]));
    }
}
