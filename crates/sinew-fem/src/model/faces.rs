//! Surface loads on four-cornered faces.
//!
//! A face of a hexahedron is bilinear; cut into two triangles along one diagonal, uniform pressure loads its corners with 1/3, 1/6, 1/3,
//! 1/6 instead of 1/4 each, and a hexahedral mesh fails the patch test. Half the load on each of the two ways to cut it gives
//!
//! $$ f_i = -p \int N_i\, n\, dA = -\tfrac{p}{6} \left( a_i + \textstyle\sum_j a_j / 2 \right) $$
//!
//! exactly, with aᵢ the vector area of the triangle at corner i: over ξ in [−1, 1]² the vector area is n dA = Σ Nᵢ aᵢ/2 d²ξ, bilinear on
//! every such face, plane or not.

use std::collections::BTreeSet;

use sinew_geometry::{CellKind, CellMesh};

/// The given boundary triangles of a mesh, each with the share of the load it carries: 1, or ½ on the faces of hexahedra, where the other
/// way to cut the face is added.
pub fn balanced_triangles(mesh: &CellMesh, triangles: &[[u32; 3]]) -> Vec<([u32; 3], f64)> {
    let wanted: BTreeSet<[u32; 3]> = triangles.iter().copied().collect();
    let mut in_quads = BTreeSet::new();
    let mut balanced = Vec::with_capacity(triangles.len());
    let (boundary, cells) = mesh.boundary_triangles_with_cells();
    let mut k = 0;
    while k < boundary.len() {
        if mesh.cell_nodes(cells[k] as usize).len() != CellKind::Hex8.nodes_per_cell() {
            k += 1;
            continue;
        }
        // The halves of a face follow each other: (a, b, c), (a, c, d).
        let halves = [boundary[k], boundary[k + 1]];
        let [[a, b, c], [_, _, d]] = halves;
        if halves.iter().all(|half| wanted.contains(half)) {
            balanced.extend([[a, b, c], [a, c, d], [a, b, d], [b, c, d]].map(|triangle| (triangle, 0.5)));
            in_quads.extend(halves);
        }
        k += 2;
    }
    balanced.extend(triangles.iter().filter(|t| !in_quads.contains(*t)).map(|&t| (t, 1.0)));
    balanced
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};
    use sinew_math::Vec3;

    use super::*;

    /// Areas of the corners of one quadrilateral face of a single hexahedron.
    fn corner_areas(corners: [Vec3; 4]) -> Vec<f64> {
        let [a, b, c, d] = corners;
        let cube = box_hexes(Vec3::splat(1.0), [1, 1, 1]).unwrap();
        let bottom: Vec<u32> = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
            .iter()
            .map(|&(x, y)| {
                cube.positions().iter().position(|p| (*p - Vec3::new(x, y, 0.0)).norm() < 1e-12).unwrap() as u32
            })
            .collect();
        let place = |p: Vec3| {
            let shape =
                a * ((1.0 - p.x) * (1.0 - p.y)) + b * (p.x * (1.0 - p.y)) + c * (p.x * p.y) + d * ((1.0 - p.x) * p.y);
            shape + Vec3::new(0.0, 0.0, p.z)
        };
        let (mesh, _) = cube.mapped(place).unwrap();
        let face: Vec<[u32; 3]> =
            mesh.boundary_triangles().into_iter().filter(|t| t.iter().all(|n| bottom.contains(n))).collect();
        let mut areas = vec![0.0; 4];
        for (triangle, share) in balanced_triangles(&mesh, &face) {
            let [p, q, r] = triangle.map(|n| mesh.positions()[n as usize]);
            for node in triangle {
                let corner = bottom.iter().position(|&n| n == node).unwrap();
                areas[corner] += share * (q - p).cross(r - p).norm() / 6.0;
            }
        }
        areas
    }

    /// ∫ Nᵢ dA over a bilinear face by 2×2 Gauss points, exact for the product of two bilinear functions.
    fn integrated_areas([a, b, c, d]: [Vec3; 4]) -> Vec<f64> {
        let g = 0.5 / 3f64.sqrt();
        let mut areas = vec![0.0; 4];
        for (x, y) in [(0.5 - g, 0.5 - g), (0.5 + g, 0.5 - g), (0.5 + g, 0.5 + g), (0.5 - g, 0.5 + g)] {
            let along_x = (b - a) * (1.0 - y) + (c - d) * y;
            let along_y = (d - a) * (1.0 - x) + (c - b) * x;
            let area = along_x.cross(along_y).norm() / 4.0;
            let values = [(1.0 - x) * (1.0 - y), x * (1.0 - y), x * y, (1.0 - x) * y];
            areas.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * area);
        }
        areas
    }

    #[test]
    fn corners_of_a_plane_face_carry_the_integrals_of_their_shape_functions() {
        let square = [Vec3::zero(), Vec3::new(1.0, 0.0, 0.0), Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.0, 1.0, 0.0)];
        assert!(corner_areas(square).iter().all(|area| (area - 0.25).abs() < 1e-15));
        let kite = [Vec3::zero(), Vec3::new(1.2, 0.1, 0.0), Vec3::new(0.9, 0.8, 0.0), Vec3::new(-0.2, 1.1, 0.0)];
        for (found, exact) in corner_areas(kite).iter().zip(integrated_areas(kite)) {
            assert!((found - exact).abs() < 1e-15, "{found} {exact}");
        }
    }

    #[test]
    fn triangles_of_tetrahedra_carry_themselves() {
        let mesh = box_tets(Vec3::splat(1.0), [2, 1, 1], TetPattern::Kuhn).unwrap();
        let triangles = mesh.boundary_triangles();
        let balanced = balanced_triangles(&mesh, &triangles);
        assert_eq!(balanced, triangles.iter().map(|&t| (t, 1.0)).collect::<Vec<_>>());
    }

    #[test]
    fn shares_of_hexahedra_sum_to_their_area() {
        let mesh = box_hexes(Vec3::new(2.0, 1.0, 3.0), [2, 2, 3]).unwrap();
        let area: f64 = balanced_triangles(&mesh, &mesh.boundary_triangles())
            .iter()
            .map(|(triangle, share)| {
                let [a, b, c] = triangle.map(|n| mesh.positions()[n as usize]);
                share * (b - a).cross(c - a).norm() / 2.0
            })
            .sum();
        assert!((area - 22.0).abs() < 1e-12);
    }
}
