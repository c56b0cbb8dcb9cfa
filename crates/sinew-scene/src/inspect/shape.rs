//! Shape quality of one cell.

use sinew_geometry::CellKind;
use sinew_geometry::mesh::HEX_CORNERS;
use sinew_math::Vec3;

/// Shape of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellShapeQuality {
    /// Smallest angle between two faces \[rad\]; 70.5° in the regular tetrahedron, 90° in the cube.
    pub min_angle: f64,
    /// Largest angle between two faces \[rad\].
    pub max_angle: f64,
    /// Aspect ratio, 1 for the ideal shape: R / 3r of the circumsphere and insphere of a tetrahedron, the inverse of
    /// the smallest scaled corner Jacobian of a hexahedron.
    pub aspect: f64,
}

impl CellShapeQuality {
    /// Distance of the worst angle from 0° or 180° \[rad\]; smaller is worse.
    pub fn margin(&self) -> f64 {
        self.min_angle.min(std::f64::consts::PI - self.max_angle)
    }
}

/// Smallest and largest corner Jacobian of a hexahedron \[m³\]; both have the same sign unless it is folded.
pub(crate) fn hex_jacobians(x: &[Vec3]) -> [f64; 2] {
    HEX_CORNERS.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &[o, a, b, c]| {
        let jacobian = (x[a] - x[o]).dot((x[b] - x[o]).cross(x[c] - x[o]));
        [low.min(jacobian), high.max(jacobian)]
    })
}

/// Longest edge of a cell \[m\].
pub(crate) fn longest_edge(kind: CellKind, x: &[Vec3]) -> f64 {
    kind.edges().iter().map(|[a, b]| x[*a].distance(x[*b])).fold(0.0, f64::max)
}

/// Angle at the edge direction `e` between the half-planes through `a` and `b`.
fn dihedral(e: Vec3, a: Vec3, b: Vec3) -> f64 {
    let (m, n) = (e.cross(a), e.cross(b));
    m.cross(n).norm().atan2(m.dot(n))
}

/// Shape quality of the cell with these corners in positive orientation.
pub fn cell_quality(kind: CellKind, x: &[Vec3]) -> CellShapeQuality {
    let mut quality = CellShapeQuality { min_angle: f64::INFINITY, max_angle: 0.0, aspect: 1.0 };
    let mut include = |angle: f64| {
        quality.min_angle = quality.min_angle.min(angle);
        quality.max_angle = quality.max_angle.max(angle);
    };
    quality.aspect = match kind {
        CellKind::Tet4 | CellKind::Tet10 => {
            for [a, b] in kind.edges() {
                let c = (0..4).find(|i| i != a && i != b).unwrap_or(0);
                // Local indices sum to 6.
                include(dihedral(x[*b] - x[*a], x[c] - x[*a], x[6 - a - b - c] - x[*a]));
            }
            let (u, v, w) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
            let six_volume = u.dot(v.cross(w)).abs();
            let faces = [u.cross(v), v.cross(w), w.cross(u), (v - u).cross(w - u)];
            let area: f64 = faces.iter().map(|face| 0.5 * face.norm()).sum();
            let offset = v.cross(w) * u.norm_squared() + w.cross(u) * v.norm_squared() + u.cross(v) * w.norm_squared();
            // R / 3r with R = |offset| / 2·6V and r = 6V / 2A.
            offset.norm() * area / (3.0 * six_volume * six_volume)
        }
        CellKind::Hex8 => {
            let mut smallest = f64::INFINITY;
            for [o, a, b, c] in HEX_CORNERS {
                let (u, v, w) = (x[a] - x[o], x[b] - x[o], x[c] - x[o]);
                include(dihedral(u, v, w));
                include(dihedral(v, w, u));
                include(dihedral(w, u, v));
                smallest = smallest.min(u.dot(v.cross(w)).abs() / (u.norm() * v.norm() * w.norm()));
            }
            1.0 / smallest
        }
    };
    quality
}

/// Smallest and largest angle of a triangle \[rad\].
pub fn triangle_angles([a, b, c]: [Vec3; 3]) -> [f64; 2] {
    let angle = |at: Vec3, p: Vec3, q: Vec3| (p - at).cross(q - at).norm().atan2((p - at).dot(q - at));
    let angles = [angle(a, b, c), angle(b, c, a), angle(c, a, b)];
    [angles.into_iter().fold(f64::INFINITY, f64::min), angles.into_iter().fold(0.0, f64::max)]
}

/// Five numbers of a distribution: smallest, first percentile, median, 99th percentile, largest.
pub fn spread(mut values: Vec<f64>) -> Option<[f64; 5]> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0.0, 0.01, 0.5, 0.99, 1.0].map(|part| values[(part * last as f64).round() as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};

    /// The extremes over the cells of a mesh equal those that the mesh reports.
    #[test]
    fn extremes_agree_with_the_quality_of_the_mesh() {
        let size = Vec3::new(0.4, 0.2, 0.3);
        let bent = |x: Vec3| Vec3::new(x.x + 0.4 * x.y, x.y + x.z * x.z, x.z);
        for mesh in [box_tets(size, [3, 2, 2], TetPattern::Bcc).unwrap(), box_hexes(size, [3, 2, 2]).unwrap()] {
            let mesh = mesh.mapped(bent).unwrap().0;
            let known = mesh.quality();
            let x = mesh.positions();
            let cells: Vec<CellShapeQuality> = mesh
                .cells()
                .map(|(kind, nodes)| {
                    let corners: Vec<Vec3> = nodes.iter().map(|&n| x[n as usize]).collect();
                    cell_quality(kind, &corners)
                })
                .collect();
            let least = cells.iter().map(|q| q.min_angle).fold(f64::INFINITY, f64::min);
            let most = cells.iter().map(|q| q.max_angle).fold(0.0, f64::max);
            let aspect = cells.iter().map(|q| q.aspect).fold(0.0, f64::max);
            assert!((least - known.min_dihedral).abs() < 1e-12 && (most - known.max_dihedral).abs() < 1e-12);
            assert!((aspect / known.max_aspect - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn angles_of_a_right_triangle() {
        let [least, most] = triangle_angles([Vec3::zero(), Vec3::unit(0), Vec3::unit(1)]);
        assert!((least.to_degrees() - 45.0).abs() < 1e-12 && (most.to_degrees() - 90.0).abs() < 1e-12);
    }
}
