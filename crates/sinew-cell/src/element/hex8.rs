//! Trilinear hexahedron.

use sinew_geometry::shape_functions::{HEX_SIGNS, hex8_gradients, hex8_values};
use sinew_math::Vec3;

use super::{Element, QuadraturePoint};

/// Hexahedron with trilinear shape functions Nₐ = (1 + ξξₐ)(1 + ηηₐ)(1 + ζζₐ)/8 on \[−1, 1\]³, integrated with 2×2×2
/// Gauss points: exact for cubic polynomials in each coordinate, and free of zero-energy modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hex8;

/// 1/√3, the abscissa of the two-point Gauss rule.
const GAUSS: f64 = 0.577_350_269_189_625_8;

/// The Gauss point in the octant of each corner.
const POINTS: [QuadraturePoint; 8] = {
    let mut points = [QuadraturePoint { xi: Vec3::new(0.0, 0.0, 0.0), weight: 1.0 }; 8];
    let mut corner = 0;
    while corner < 8 {
        let [x, y, z] = HEX_SIGNS[corner];
        points[corner].xi = Vec3::new(x * GAUSS, y * GAUSS, z * GAUSS);
        corner += 1;
    }
    points
};

impl Element<8> for Hex8 {
    const NAME: &'static str = "hex8";
    const REFERENCE_VOLUME: f64 = 8.0;

    fn reference_nodes() -> [Vec3; 8] {
        HEX_SIGNS.map(Vec3::from)
    }

    fn shape_values(xi: Vec3) -> [f64; 8] {
        hex8_values(xi)
    }

    fn shape_gradients(xi: Vec3) -> [Vec3; 8] {
        hex8_gradients(xi)
    }

    fn quadrature() -> &'static [QuadraturePoint] {
        &POINTS
    }
}
