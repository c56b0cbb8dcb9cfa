//! Volume, center and second moments of the inside of a closed surface.

use sinew_geometry::TriMesh;
use sinew_math::eigen::symmetric_eigen;
use sinew_math::{Mat3, Vec3};

/// Integrals over the inside of a closed surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Volume \[m³\]; negative when normals point inward.
    pub volume: f64,
    /// Center of the volume \[m\].
    pub center: Vec3,
    /// ∫ (x − center)(x − center)ᵀ dV over the volume \[m²\].
    pub spread: Mat3,
}

impl Moments {
    /// Moments of the inside of a closed surface: each triangle spans a tetrahedron (o, a, b, c) with a point o, of volume
    /// V = ⅙ a · (b × c) and with ∫ x xᵀ = V/20 (aaᵀ + bbᵀ + ccᵀ + ssᵀ), s = a + b + c. `None` if it encloses nothing.
    pub fn of(surface: &TriMesh) -> Option<Self> {
        let origin = surface.bounds().center();
        let (mut volume, mut first, mut second) = (0.0, Vec3::zero(), Mat3::zero());
        for triangle in 0..surface.triangle_count() {
            let [a, b, c] = surface.corners(triangle).map(|x| x - origin);
            let part = a.dot(b.cross(c)) / 6.0;
            let sum = a + b + c;
            volume += part;
            first += sum * (part / 4.0);
            let outer = [a, b, c, sum].map(|x| Mat3::outer(x, x));
            second += (outer[0] + outer[1] + outer[2] + outer[3]) * (part / 20.0);
        }
        if !(volume.abs() > 0.0 && volume.is_finite()) {
            return None;
        }
        let mean = first / volume;
        let spread = second * (1.0 / volume) - Mat3::outer(mean, mean);
        Some(Moments { volume, center: origin + mean, spread })
    }

    /// Principal axes: the columns are right-handed, the longest first.
    pub fn principal_axes(&self) -> Mat3 {
        let spread = self.spread;
        let flat: Vec<f64> = (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| spread.row(i)[j]).collect();
        let eigen = symmetric_eigen(&flat, 3);
        let mut order = [0, 1, 2];
        order.sort_by(|&a, &b| eigen.values[b].total_cmp(&eigen.values[a]));
        let vector = |k: usize| Vec3::new(eigen.vectors[3 * k], eigen.vectors[3 * k + 1], eigen.vectors[3 * k + 2]);
        let (long, middle) = (vector(order[0]), vector(order[1]));
        Mat3::from_columns(long, middle, long.cross(middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::lattice::HexLattice;

    /// A box of edges (a, b, c) has the variances a²/12, b²/12, c²/12 along them, wherever it stands and however it is
    /// turned.
    #[test]
    fn boxes_have_their_center_and_their_axes() {
        let lattice = HexLattice::dense(Vec3::zero(), 0.1, [6, 3, 2]).unwrap();
        let (surface, _) = lattice.to_mesh().unwrap().boundary_surface().unwrap();
        let turn = sinew_math::Quaternion::from_axis_angle(Vec3::new(1.0, 2.0, -0.5), 0.8).to_matrix();
        let shift = Vec3::new(3.0, -1.0, 2.0);
        let surface = surface.mapped(|p| turn * p + shift).unwrap();
        let moments = Moments::of(&surface).unwrap();
        assert!((moments.volume - 0.036).abs() < 1e-12);
        assert!((moments.center - (turn * Vec3::new(0.3, 0.15, 0.1) + shift)).norm() < 1e-12);
        let axes = moments.principal_axes();
        let own = axes.transpose() * moments.spread * axes;
        for (k, edge) in [0.6, 0.3, 0.2].into_iter().enumerate() {
            // The sums cancel terms of size shift²: 1e-12 leaves three digits of margin.
            assert!((own.row(k)[k] - edge * edge / 12.0).abs() < 1e-12, "{own:?}");
        }
        assert!((axes.determinant() - 1.0).abs() < 1e-12);
    }
}
