//! Balls and geodesic spheres, built from the icosahedron.

use std::collections::HashMap;

use sinew_math::Vec3;

use super::boxes::kuhn_tets;
use super::{ProceduralError, check_count, check_length, divisions};
use crate::mesh::{CellMesh, TriMesh, tet_volume};

/// Faces of the icosahedron below, counterclockwise seen from outside.
const FACES: [[u32; 3]; 20] = [
    [0, 11, 5],
    [0, 5, 1],
    [0, 1, 7],
    [0, 7, 10],
    [0, 10, 11],
    [1, 5, 9],
    [5, 11, 4],
    [11, 10, 2],
    [10, 7, 6],
    [7, 1, 8],
    [3, 9, 4],
    [3, 4, 2],
    [3, 2, 6],
    [3, 6, 8],
    [3, 8, 9],
    [4, 9, 5],
    [2, 4, 11],
    [6, 2, 10],
    [8, 6, 7],
    [9, 8, 1],
];

/// Cyclic permutations of (0, ±1, ±φ).
fn icosahedron() -> [Vec3; 12] {
    let phi = 0.5 * (1.0 + 5.0_f64.sqrt());
    [
        Vec3::new(-1.0, phi, 0.0),
        Vec3::new(1.0, phi, 0.0),
        Vec3::new(-1.0, -phi, 0.0),
        Vec3::new(1.0, -phi, 0.0),
        Vec3::new(0.0, -1.0, phi),
        Vec3::new(0.0, 1.0, phi),
        Vec3::new(0.0, -1.0, -phi),
        Vec3::new(0.0, 1.0, -phi),
        Vec3::new(phi, 0.0, -1.0),
        Vec3::new(phi, 0.0, 1.0),
        Vec3::new(-phi, 0.0, -1.0),
        Vec3::new(-phi, 0.0, 1.0),
    ]
}

/// Numbers points by their integer weights on the corners of the icosahedron, so that adjacent faces share nodes.
struct SharedPoints {
    radius: f64,
    layers: usize,
    corners: [Vec3; 12],
    positions: Vec<Vec3>,
    index_of: HashMap<[(u32, usize); 3], u32>,
}

impl SharedPoints {
    fn new(radius: f64, layers: usize) -> Self {
        Self { radius, layers, corners: icosahedron(), positions: Vec::new(), index_of: HashMap::new() }
    }

    /// The point with these weights; the remainder up to `layers` is the weight of the center, so shells are spheres.
    fn index(&mut self, face: [u32; 3], weights: [usize; 3]) -> u32 {
        let mut key = [0, 1, 2].map(|i| if weights[i] == 0 { (u32::MAX, 0) } else { (face[i], weights[i]) });
        key.sort_unstable();
        if let Some(index) = self.index_of.get(&key) {
            return *index;
        }
        // Summed in the order of the key: the same bits for every face.
        let mut direction = Vec3::zero();
        for (corner, weight) in key.iter().filter(|(_, weight)| *weight > 0) {
            direction += self.corners[*corner as usize] * *weight as f64;
        }
        let shell = weights.iter().sum::<usize>() as f64 / self.layers as f64;
        let length = direction.norm();
        let position = if length > 0.0 { direction * (self.radius * shell / length) } else { Vec3::zero() };
        let index = self.positions.len() as u32;
        self.positions.push(position);
        self.index_of.insert(key, index);
        index
    }
}

/// A geodesic sphere: each face of the icosahedron split into `frequency`² triangles, all vertices on the sphere.
pub fn icosphere(radius: f64, frequency: usize) -> Result<TriMesh, ProceduralError> {
    check_length("radius", radius)?;
    if frequency == 0 {
        return Err(ProceduralError::Parameter { name: "frequency", value: 0.0, expected: "at least 1" });
    }
    check_count(20.0 * (frequency as f64).powi(2))?;
    let n = frequency;
    let mut points = SharedPoints::new(radius, n);
    let mut triangles = Vec::with_capacity(20 * n * n);
    for face in FACES {
        let mut at = |i: usize, j: usize| points.index(face, [n - i - j, i, j]);
        for i in 0..n {
            for j in 0..n - i {
                triangles.push([at(i, j), at(i + 1, j), at(i, j + 1)]);
                if i + j + 2 <= n {
                    triangles.push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
                }
            }
        }
    }
    Ok(TriMesh::new(points.positions, triangles)?)
}

/// A geodesic sphere with edges of about `cell` \[m\].
pub fn sphere_surface(radius: f64, cell: f64) -> Result<TriMesh, ProceduralError> {
    check_length("radius", radius)?;
    check_length("cell", cell)?;
    icosphere(radius, divisions(radius, cell, 1))
}

/// A ball of tetrahedra with edges of about `cell` \[m\].
///
/// Twenty tetrahedra from the center to the faces of the icosahedron are each split along the planes of the Kuhn
/// triangulation and projected outward, so that shells of nodes lie on concentric spheres and the outer one is an
/// [`icosphere`].
pub fn sphere(radius: f64, cell: f64) -> Result<CellMesh, ProceduralError> {
    check_length("radius", radius)?;
    check_length("cell", cell)?;
    let n = divisions(radius, cell, 1);
    check_count(20.0 * (n as f64).powi(3))?;
    let mut points = SharedPoints::new(radius, n);
    let mut tets = Vec::with_capacity(20 * n * n * n);
    let offsets = kuhn_tets();
    for face in FACES {
        for i in 0..n {
            for j in 0..=i {
                for k in 0..=j {
                    for corners in &offsets {
                        // The simplex n ≥ x ≥ y ≥ z ≥ 0 is a union of Kuhn tetrahedra; x − y, y − z, z are weights.
                        let corners = corners.map(|o| [i + o[0], j + o[1], k + o[2]]);
                        if corners.iter().any(|[x, y, z]| y > x || z > y) {
                            continue;
                        }
                        let mut tet = corners.map(|[x, y, z]| points.index(face, [x - y, y - z, z]));
                        let [a, b, c, d] = tet.map(|node| points.positions[node as usize]);
                        if tet_volume(a, b, c, d) < 0.0 {
                            tet.swap(2, 3);
                        }
                        tets.push(tet);
                    }
                }
            }
        }
    }
    Ok(CellMesh::from_tets(points.positions, &tets)?.0)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn icosphere_is_a_closed_sphere_of_the_right_size() {
        for frequency in [1, 2, 5] {
            let surface = icosphere(2.0, frequency).unwrap();
            assert_eq!(surface.triangle_count(), 20 * frequency * frequency);
            assert_eq!(surface.vertex_count(), 10 * frequency * frequency + 2);
            assert!(surface.is_closed());
            assert!(surface.volume() > 0.0);
            assert!(surface.positions().iter().all(|x| (x.norm() - 2.0).abs() < 1e-14));
        }
    }

    /// V = 4/3 π R³, error proportional to the square of the cell size.
    #[test]
    fn ball_volume_converges_with_second_order() {
        let error = |cell: f64| {
            let ball = sphere(1.0, cell).unwrap();
            let surface = sphere_surface(1.0, cell).unwrap();
            assert!((ball.volume() - surface.volume()).abs() < 1e-12);
            4.0 / 3.0 * PI - ball.volume()
        };
        let order = (error(1.0 / 4.0) / error(1.0 / 8.0)).log2();
        assert!((order - 2.0).abs() < 0.1, "order {order}");
        assert!(error(1.0 / 8.0) < 0.01 * 4.0 / 3.0 * PI);
    }

    #[test]
    fn ball_is_a_well_shaped_manifold() {
        for n in [1.0, 2.0, 3.0, 6.0] {
            let ball = sphere(0.1, 0.1 / n).unwrap();
            assert_eq!(ball.cell_count(), 20 * (n as usize).pow(3));
            let quality = ball.quality();
            assert!(quality.min_dihedral.to_degrees() > 30.0, "{quality}");
            assert!(quality.max_dihedral.to_degrees() < 135.0, "{quality}");
            let (surface, _) = ball.boundary_surface().unwrap();
            assert!(surface.is_closed());
            assert_eq!(surface.topology().euler_characteristic, 2);
        }
    }

    #[test]
    fn absurd_spheres_are_refused() {
        for (radius, cell) in [(1.0, 1e-9), (0.0, 0.1), (1.0, 0.0), (f64::NAN, 0.1), (1.0, f64::NAN), (1e13, 1e12)] {
            assert!(sphere(radius, cell).is_err());
            assert!(sphere_surface(radius, cell).is_err());
        }
        assert!(icosphere(1.0, 0).is_err());
        assert!(icosphere(1.0, usize::MAX).is_err());
    }
}
