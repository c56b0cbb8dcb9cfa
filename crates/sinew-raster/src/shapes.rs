//! Triangulated primitive shapes, for obstacles in a picture.
//!
//! Faces are subdivided even where they are flat: ambient light is computed at vertices.

use sinew_geometry::TriMesh;

use super::vector::{V3, cross, dot, sub};

/// A triangulated shape in its own coordinates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShapeMesh {
    /// Vertices \[m\].
    pub positions: Vec<[f32; 3]>,
    /// Corners, counterclockwise when seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

impl From<&TriMesh> for ShapeMesh {
    fn from(surface: &TriMesh) -> Self {
        let positions = surface.positions().iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
        Self { positions, triangles: surface.triangles().to_vec() }
    }
}

impl ShapeMesh {
    /// A sphere with `rings` rings from pole to pole (at least 3).
    pub fn sphere(center: [f32; 3], radius: f32, rings: usize) -> ShapeMesh {
        ShapeMesh::capsule(center, center, radius, rings)
    }

    /// A capsule: all points within `radius` of the segment from `a` to `b`. `rings` counts latitudes of both caps.
    pub fn capsule(a: [f32; 3], b: [f32; 3], radius: f32, rings: usize) -> ShapeMesh {
        let half = rings.max(4) / 2;
        let around = 4 * half;
        let axis = super::vector::unit_or(sub(b, a), [0.0, 0.0, 1.0]);
        let (t, s) = super::vector::frame_about(axis);
        let length = dot(sub(b, a), axis).abs();
        let mut mesh = ShapeMesh::default();
        let mut ring = |center: V3, latitude: f32| {
            let (sin, cos) = latitude.sin_cos();
            for k in 0..around {
                let (y, x) = (k as f32 * std::f32::consts::TAU / around as f32).sin_cos();
                mesh.positions
                    .push(std::array::from_fn(|i| center[i] + radius * (cos * (x * t[i] + y * s[i]) + sin * axis[i])));
            }
        };
        let quarter = std::f32::consts::FRAC_PI_2;
        // Poles are rings of zero radius: the renderer drops their collapsed triangles, and the rest stays regular.
        for i in 0..=half {
            ring(a, quarter * (i as f32 / half as f32 - 1.0));
        }
        let bands =
            if length > 1e-6 * radius { ((length / radius * half as f32 * 0.6) as usize).clamp(1, 64) } else { 0 };
        for i in 1..bands {
            let at = i as f32 / bands as f32;
            ring(std::array::from_fn(|k| a[k] + (b[k] - a[k]) * at), 0.0);
        }
        for i in usize::from(bands == 0)..=half {
            ring(b, quarter * (i as f32 / half as f32));
        }
        let rings = mesh.positions.len() / around;
        for r in 0..rings - 1 {
            for k in 0..around {
                let next = (k + 1) % around;
                let [p, q, u, v] = [r * around + k, r * around + next, (r + 1) * around + k, (r + 1) * around + next];
                if r > 0 {
                    mesh.triangles.push([p as u32, q as u32, v as u32]);
                }
                if r + 2 < rings {
                    mesh.triangles.push([p as u32, v as u32, u as u32]);
                }
            }
        }
        mesh
    }

    /// A box centered at the origin with edge lengths `size`, each face split into `divisions`² squares.
    pub fn cuboid(size: [f32; 3], divisions: usize) -> ShapeMesh {
        let divisions = divisions.max(1);
        let mut mesh = ShapeMesh::default();
        for axis in 0..3 {
            for sign in [-1.0f32, 1.0] {
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                mesh.grid(divisions, |s, t| {
                    let mut p = [0.0; 3];
                    p[axis] = 0.5 * sign * size[axis];
                    p[u] = (s - 0.5) * size[u];
                    // Reversing one parameter keeps the face outward on the negative side.
                    p[v] = sign * (t - 0.5) * size[v];
                    p
                });
            }
        }
        mesh
    }

    /// A square patch of the plane through `point` with the given unit `normal`; `half` is the distance from its center
    /// to an edge.
    pub fn patch(point: [f32; 3], normal: [f32; 3], half: f32, divisions: usize) -> ShapeMesh {
        let (t, s) = super::vector::frame_about(normal);
        debug_assert!(dot(cross(t, s), normal) > 0.99, "frame is right-handed");
        let mut mesh = ShapeMesh::default();
        mesh.grid(divisions.max(1), |u, v| {
            std::array::from_fn(|i| point[i] + half * ((2.0 * u - 1.0) * t[i] + (2.0 * v - 1.0) * s[i]))
        });
        mesh
    }

    /// A torus about the z axis: `major` from the axis to the center of the tube, `minor` the radius of the tube.
    pub fn torus(major: f32, minor: f32, around: usize, across: usize) -> ShapeMesh {
        let (around, across) = (around.max(3), across.max(3));
        let mut mesh = ShapeMesh::default();
        for i in 0..around {
            let (sin_u, cos_u) = (i as f32 * std::f32::consts::TAU / around as f32).sin_cos();
            for k in 0..across {
                let (sin_v, cos_v) = (k as f32 * std::f32::consts::TAU / across as f32).sin_cos();
                let r = major + minor * cos_v;
                mesh.positions.push([r * cos_u, r * sin_u, minor * sin_v]);
                let at = |i: usize, k: usize| ((i % around) * across + k % across) as u32;
                let [p, q, u, v] = [at(i, k), at(i + 1, k), at(i, k + 1), at(i + 1, k + 1)];
                mesh.triangles.extend([[p, q, v], [p, v, u]]);
            }
        }
        mesh
    }

    /// The shape with every vertex mapped, for example by the pose of a collider.
    #[must_use]
    pub fn mapped(mut self, map: impl Fn([f32; 3]) -> [f32; 3]) -> ShapeMesh {
        self.positions.iter_mut().for_each(|p| *p = map(*p));
        self
    }

    fn grid(&mut self, divisions: usize, point: impl Fn(f32, f32) -> V3) {
        let first = self.positions.len();
        let side = divisions + 1;
        for i in 0..side {
            for k in 0..side {
                self.positions.push(point(i as f32 / divisions as f32, k as f32 / divisions as f32));
            }
        }
        for i in 0..divisions {
            for k in 0..divisions {
                let p = (first + i * side + k) as u32;
                let (q, u) = (p + side as u32, p + 1);
                self.triangles.extend([[p, q, q + 1], [p, q + 1, u]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divergence theorem: V = ⅙ Σ a·(b×c) over outward triangles.
    fn volume(mesh: &ShapeMesh) -> f32 {
        let at = |v: u32| mesh.positions[v as usize];
        mesh.triangles.iter().map(|&[a, b, c]| dot(at(a), cross(at(b), at(c))) / 6.0).sum()
    }

    /// Inscribed polyhedra are smaller than the smooth shape by O(h²): three percent at 32 rings.
    #[test]
    fn shapes_are_closed_and_outward() {
        use std::f32::consts::PI;
        let cases = [
            (volume(&ShapeMesh::sphere([0.3, 0.1, -0.2], 1.0, 32)), 4.0 / 3.0 * PI, 0.03),
            (volume(&ShapeMesh::capsule([0.0; 3], [0.0, 2.0, 0.0], 0.5, 32)), PI * 0.25 * 2.0 + PI / 6.0, 0.03),
            (volume(&ShapeMesh::cuboid([1.0, 2.0, 3.0], 4)), 6.0, 1e-5),
            (volume(&ShapeMesh::torus(1.0, 0.3, 64, 32)), 2.0 * PI * PI * 0.09, 0.03),
        ];
        for (i, (got, exact, tolerance)) in cases.into_iter().enumerate() {
            assert!((got / exact - 1.0).abs() < tolerance, "shape {i}: {got} instead of {exact}");
        }
    }

    #[test]
    fn patch_faces_its_normal() {
        let mesh = ShapeMesh::patch([0.0, 1.0, 0.0], [0.0, 1.0, 0.0], 2.0, 3);
        for &[a, b, c] in &mesh.triangles {
            let at = |v: u32| mesh.positions[v as usize];
            assert!(cross(sub(at(b), at(a)), sub(at(c), at(a)))[1] > 0.0);
        }
    }
}
