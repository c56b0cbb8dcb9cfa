//! Shape quality of the cells of a mesh.

use std::fmt;

use sinew_math::Vec3;

use super::CellMesh;
use super::cell::{CellKind, HEX_CORNERS};

/// Extremes of the shape measures over all cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshQuality {
    /// Smallest angle between two faces of a cell \[rad\]; 70.5° in the regular tetrahedron, 90° in the cube.
    pub min_dihedral: f64,
    /// Largest angle between two faces of a cell \[rad\].
    pub max_dihedral: f64,
    /// Smallest ratio of the shortest to the longest edge of a cell.
    pub min_edge_ratio: f64,
    /// Largest aspect ratio of a cell: for tetrahedra R / 3r of the circumscribed and inscribed spheres, for hexahedra
    /// the inverse of the smallest scaled corner Jacobian. One is perfect.
    pub max_aspect: f64,
    /// The cell with the smallest dihedral angle.
    pub worst_cell: u32,
    /// Smallest volume of a cell \[m³\].
    pub min_volume: f64,
    /// Largest volume of a cell \[m³\].
    pub max_volume: f64,
    /// Mean length of the edges, each counted once per cell \[m\].
    pub mean_edge: f64,
}

impl MeshQuality {
    pub(crate) fn measure(mesh: &CellMesh) -> Self {
        let mut quality = Self {
            min_dihedral: f64::INFINITY,
            max_dihedral: 0.0,
            min_edge_ratio: f64::INFINITY,
            max_aspect: 0.0,
            worst_cell: 0,
            min_volume: f64::INFINITY,
            max_volume: 0.0,
            mean_edge: 0.0,
        };
        let mut edge_count = 0;
        for (cell, (kind, nodes)) in mesh.cells().enumerate() {
            let corners = mesh.corners(nodes);
            let corners = &corners[..nodes.len()];
            let (smallest, largest) = dihedral_range(kind, corners);
            if smallest < quality.min_dihedral {
                quality.min_dihedral = smallest;
                quality.worst_cell = cell as u32;
            }
            quality.max_dihedral = quality.max_dihedral.max(largest);
            let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
            for [a, b] in kind.edges() {
                let length = corners[*a].distance(corners[*b]);
                shortest = shortest.min(length);
                longest = longest.max(length);
                quality.mean_edge += length;
                edge_count += 1;
            }
            quality.min_edge_ratio = quality.min_edge_ratio.min(shortest / longest);
            quality.max_aspect = quality.max_aspect.max(aspect(kind, corners));
            let volume = kind.volume(corners);
            quality.min_volume = quality.min_volume.min(volume);
            quality.max_volume = quality.max_volume.max(volume);
        }
        quality.mean_edge /= f64::from(edge_count.max(1));
        quality
    }
}

impl fmt::Display for MeshQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "dihedral angles {:.1}°–{:.1}°, edge ratio ≥ {:.2}, aspect ≤ {:.2}, cell volumes {:.2e}–{:.2e} m³",
            self.min_dihedral.to_degrees(),
            self.max_dihedral.to_degrees(),
            self.min_edge_ratio,
            self.max_aspect,
            self.min_volume,
            self.max_volume
        )
    }
}

/// Angle between the half-planes through the edge direction `e` that contain `a` and `b`.
fn dihedral(e: Vec3, a: Vec3, b: Vec3) -> f64 {
    let (m, n) = (e.cross(a), e.cross(b));
    // The arctangent keeps its accuracy at angles near 0 and π, where the arc cosine loses half the digits.
    m.cross(n).norm().atan2(m.dot(n))
}

fn dihedral_range(kind: CellKind, x: &[Vec3]) -> (f64, f64) {
    let mut range = (f64::INFINITY, 0.0_f64);
    let mut include = |angle: f64| range = (range.0.min(angle), range.1.max(angle));
    match kind {
        CellKind::Tet4 | CellKind::Tet10 => {
            for [a, b] in kind.edges() {
                // The two nodes off the edge; local numbers sum to 6.
                let c = (0..4).find(|i| i != a && i != b).unwrap_or(0);
                let d = 6 - a - b - c;
                include(dihedral(x[*b] - x[*a], x[c] - x[*a], x[d] - x[*a]));
            }
        }
        CellKind::Hex8 => {
            for [o, a, b, c] in HEX_CORNERS {
                let (u, v, w) = (x[a] - x[o], x[b] - x[o], x[c] - x[o]);
                include(dihedral(u, v, w));
                include(dihedral(v, w, u));
                include(dihedral(w, u, v));
            }
        }
    }
    range
}

fn aspect(kind: CellKind, x: &[Vec3]) -> f64 {
    match kind {
        CellKind::Tet4 | CellKind::Tet10 => {
            let (u, v, w) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
            let six_volume = u.dot(v.cross(w));
            let areas = [u.cross(v), v.cross(w), w.cross(u), (v - u).cross(w - u)];
            let area: f64 = areas.iter().map(|a| 0.5 * a.norm()).sum();
            let inscribed = 0.5 * six_volume / area;
            let offset = v.cross(w) * u.norm_squared() + w.cross(u) * v.norm_squared() + u.cross(v) * w.norm_squared();
            let circumscribed = offset.norm() / (2.0 * six_volume);
            circumscribed / (3.0 * inscribed)
        }
        CellKind::Hex8 => {
            let mut smallest = f64::INFINITY;
            for [o, a, b, c] in HEX_CORNERS {
                let (u, v, w) = (x[a] - x[o], x[b] - x[o], x[c] - x[o]);
                smallest = smallest.min(u.dot(v.cross(w)) / (u.norm() * v.norm() * w.norm()));
            }
            1.0 / smallest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::CellBlock;

    /// Regular tetrahedron: all dihedral angles arccos(1/3), aspect ratio one.
    #[test]
    fn regular_tet_is_perfect() {
        let positions = vec![
            Vec3::new(1.0, 1.0, 1.0),
            Vec3::new(1.0, -1.0, -1.0),
            Vec3::new(-1.0, 1.0, -1.0),
            Vec3::new(-1.0, -1.0, 1.0),
        ];
        let (mesh, _) = CellMesh::new(positions, vec![CellBlock::tets(&[[0, 1, 2, 3]])]).unwrap();
        let quality = mesh.quality();
        let exact = (1.0_f64 / 3.0).acos();
        assert!((quality.min_dihedral - exact).abs() < 1e-14);
        assert!((quality.max_dihedral - exact).abs() < 1e-14);
        assert!((quality.max_aspect - 1.0).abs() < 1e-14);
        assert!((quality.min_edge_ratio - 1.0).abs() < 1e-14);
        assert!((quality.max_volume - 8.0 / 3.0).abs() < 1e-14);
    }

    /// A sheared brick: the shear angle is a dihedral angle, and its sine the inverse aspect ratio.
    #[test]
    fn sheared_hex_shows_its_shear_angle() {
        let brick = crate::procedural::box_hexes(Vec3::splat(1.0), [1, 1, 1]).unwrap();
        let (mesh, _) = brick.mapped(|x| Vec3::new(x.x + x.y, x.y, x.z)).unwrap();
        let quality = mesh.quality();
        assert!((quality.min_dihedral.to_degrees() - 45.0).abs() < 1e-12);
        assert!((quality.max_dihedral.to_degrees() - 135.0).abs() < 1e-12);
        assert!((quality.max_aspect - 2.0_f64.sqrt()).abs() < 1e-14);
    }
}
