//! Surface loads on faces that are not plain triangles.
//!
//! A face of a hexahedron is bilinear. Split into two triangles along one diagonal, uniform pressure loads its corners
//! with 1/3, 1/6, 1/3, 1/6 instead of 1/4 each, and a hexahedral mesh fails the patch test. Half the load on each of
//! the two ways to split it gives
//!
//! ```math
//! f_i = -p \int N_i\, n\, dA = -\tfrac{p}{6} \left( a_i + \textstyle\sum_j a_j / 2 \right)
//! ```
//!
//! exactly, where aᵢ is the vector area of the triangle at corner i. Over ξ in \[−1, 1\]² the vector area is n dA = Σ
//! Nᵢ aᵢ/2 d²ξ, bilinear on every such face, planar or not.

use std::collections::BTreeSet;

use sinew_geometry::{CellKind, CellMesh};

/// The given boundary triangles of a mesh, each with its share of the load: 1 on linear tetrahedra; ½ on the faces of
/// hexahedra, with the other way to split the face added; and the shares of `quadratic_face` on quadratic tetrahedra.
pub fn balanced_triangles(mesh: &CellMesh, triangles: &[[u32; 3]]) -> Vec<([u32; 3], f64)> {
    by_faces(mesh, triangles, |parts| quadratic_face(parts).to_vec())
}

/// Like [`balanced_triangles`], for areas that must be positive at every vertex: quadratic faces as the four triangles
/// one sees, which give a twelfth of the area to each corner and a quarter to each middle.
pub(crate) fn contact_triangles(mesh: &CellMesh, triangles: &[[u32; 3]]) -> Vec<([u32; 3], f64)> {
    by_faces(mesh, triangles, |parts| parts.map(|triangle| (triangle, 1.0)).to_vec())
}

/// Corners in ascending order: the key of a triangle, whichever way around.
pub(crate) fn sorted_corners(mut triangle: [u32; 3]) -> [u32; 3] {
    triangle.sort_unstable();
    triangle
}

/// The triangles over the six nodes of a quadratic face that load its nodes with ∫ Nᵢ n dA. `parts` are the four
/// triangles into which `CellMesh::boundary_triangles` splits it.
///
/// The vector area n dA = Σ xⱼ × xₖ (∂ᵤNⱼ ∂ᵥNₖ − ∂ᵥNⱼ ∂ᵤNₖ) du dv is a polynomial, so the load of each triple of nodes
/// has a rational coefficient: 8/5 at the corners, 16/15 between the midpoints, 4/15 for a corner with two midpoints
/// one of which faces it, −1/3 for an edge with the midpoint of another, 2/15 for the whole face. Triples of one edge
/// are omitted: they cancel between the faces of a closed surface, and vanish where edges are straight. A planar face
/// thus loads its midpoints with a third of its area each and its corners with nothing.
fn quadratic_face(parts: [[u32; 3]; 4]) -> [([u32; 3], f64); 17] {
    let [[a, ab, ca], [_, b, bc], [_, _, c], _] = parts;
    let (tip, side, edge) = (8.0 / 5.0, 4.0 / 15.0, -1.0 / 3.0);
    [
        ([a, b, c], 2.0 / 15.0),
        ([ab, bc, ca], 16.0 / 15.0),
        ([a, ab, ca], tip),
        ([b, bc, ab], tip),
        ([c, ca, bc], tip),
        ([a, ab, bc], side),
        ([a, bc, ca], side),
        ([b, bc, ca], side),
        ([b, ca, ab], side),
        ([c, ca, ab], side),
        ([c, ab, bc], side),
        ([a, b, bc], edge),
        ([a, b, ca], edge),
        ([b, c, ca], edge),
        ([b, c, ab], edge),
        ([c, a, ab], edge),
        ([c, a, bc], edge),
    ]
}

/// Replaces the triangles of faces that are completely among `triangles` by others with their shares.
fn by_faces(
    mesh: &CellMesh,
    triangles: &[[u32; 3]],
    quadratic: impl Fn([[u32; 3]; 4]) -> Vec<([u32; 3], f64)>,
) -> Vec<([u32; 3], f64)> {
    let wanted: BTreeSet<[u32; 3]> = triangles.iter().copied().collect();
    let mut replaced = BTreeSet::new();
    let mut balanced = Vec::with_capacity(triangles.len());
    let (boundary, cells) = mesh.boundary_triangles_with_cells();
    let mut k = 0;
    while k < boundary.len() {
        // The parts of a face are consecutive: (a, b, c), (a, c, d) of a hexahedron.
        let count = match mesh.cell_kind(cells[k] as usize) {
            CellKind::Tet4 => 1,
            CellKind::Hex8 => 2,
            CellKind::Tet10 => 4,
        };
        let parts = &boundary[k..k + count];
        k += count;
        if count == 1 || !parts.iter().all(|part| wanted.contains(part)) {
            continue;
        }
        replaced.extend(parts.iter().copied());
        match *parts {
            [[a, b, c], [_, _, d]] => {
                balanced.extend([[a, b, c], [a, c, d], [a, b, d], [b, c, d]].map(|triangle| (triangle, 0.5)));
            }
            [p, q, r, s] => balanced.extend(quadratic([p, q, r, s])),
            _ => {}
        }
    }
    balanced.extend(triangles.iter().filter(|t| !replaced.contains(*t)).map(|&t| (t, 1.0)));
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

    /// ∫ Nᵢ n dA over a closed surface of curved quadratic faces, by a rule that is exact for these polynomials.
    #[test]
    fn quadratic_faces_carry_the_integrals_of_their_shape_functions() {
        let straight = box_tets(Vec3::splat(1.0), [2, 1, 1], TetPattern::Kuhn).unwrap().to_quadratic().unwrap();
        let bend = |x: Vec3| x + Vec3::new(x.y * x.z, 0.7 * x.x * x.x, x.x * x.y - 0.3 * x.z * x.z) * 0.2;
        let (mesh, _) = straight.mapped(bend).unwrap();
        let x = mesh.positions();
        let boundary = mesh.boundary_triangles();
        let mut loads = vec![Vec3::zero(); mesh.node_count()];
        let mut volume = 0.0;
        for (triangle, share) in balanced_triangles(&mesh, &boundary) {
            let [a, b, c] = triangle.map(|n| x[n as usize]);
            volume += share * a.dot(b.cross(c)) / 6.0;
            for node in triangle {
                loads[node as usize] += (b - a).cross(c - a) * (share / 6.0);
            }
        }
        assert!((volume - mesh.volume()).abs() < 1e-14);
        // Collapsed 4×4 Gauss points have degree six; four is needed.
        let (near, far) = (0.339_981_043_584_856_3, 0.861_136_311_594_052_6);
        let line = [(-far, 0.347_854_845_137_453_9), (-near, 0.652_145_154_862_546_1)]
            .into_iter()
            .flat_map(|(x, w)| [(0.5 + 0.5 * x, 0.5 * w), (0.5 - 0.5 * x, 0.5 * w)])
            .collect::<Vec<(f64, f64)>>();
        let mut exact = vec![Vec3::zero(); mesh.node_count()];
        for parts in boundary.chunks_exact(4) {
            let [[a, ab, ca], [_, b, bc], [_, _, c], _] = [parts[0], parts[1], parts[2], parts[3]];
            let nodes = [a, b, c, ab, bc, ca];
            for &(r, wr) in &line {
                for &(s, ws) in &line {
                    let (u, v, weight) = (r, s * (1.0 - r), wr * ws * (1.0 - r));
                    let l = 1.0 - u - v;
                    let values = [
                        l * (2.0 * l - 1.0),
                        u * (2.0 * u - 1.0),
                        v * (2.0 * v - 1.0),
                        4.0 * l * u,
                        4.0 * u * v,
                        4.0 * v * l,
                    ];
                    let by_u = [1.0 - 4.0 * l, 4.0 * u - 1.0, 0.0, 4.0 * (l - u), 4.0 * v, -4.0 * v];
                    let by_v = [1.0 - 4.0 * l, 0.0, 4.0 * v - 1.0, -4.0 * u, 4.0 * u, 4.0 * (l - v)];
                    let sum =
                        |factors: [f64; 6]| nodes.iter().zip(factors).map(|(&n, f)| x[n as usize] * f).sum::<Vec3>();
                    let normal = sum(by_u).cross(sum(by_v)) * weight;
                    for (&node, value) in nodes.iter().zip(values) {
                        exact[node as usize] += normal * value;
                    }
                }
            }
        }
        for (found, exact) in loads.iter().zip(&exact) {
            assert!((*found - *exact).norm() < 1e-14, "{found:?} {exact:?}");
        }
        // Areas for contact are positive everywhere on the boundary and sum to the visible area.
        let total: f64 =
            contact_triangles(&straight, &straight.boundary_triangles()).iter().map(|(_, share)| share).sum();
        assert_eq!(total, straight.boundary_triangles().len() as f64);
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
