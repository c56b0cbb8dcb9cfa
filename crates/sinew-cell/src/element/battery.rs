//! Tests that every element must pass: interpolation, exact linear fields, volume, mass, and the degree of its
//! quadrature.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Vec3};

use super::{Element, ElementError, Hex8, RestGeometry, Tet4, Tet10, deformation_gradient};

/// An affine map with positive determinant: stretch, shear and shift of the reference cell.
const MAP: Mat3 = Mat3::new([[1.3, 0.2, -0.1], [0.1, 0.8, 0.3], [-0.2, 0.15, 1.1]]);
const SHIFT: Vec3 = Vec3::new(0.3, -2.0, 5.0);

/// One cell, the affine image of the reference cell.
fn affine_cell<E: Element<N>, const N: usize>() -> (Vec<Vec3>, Vec<u32>) {
    let corners = E::reference_nodes().map(|xi| MAP * xi + SHIFT);
    (corners.to_vec(), (0..N as u32).collect())
}

/// Points inside the reference cell.
fn samples<E: Element<N>, const N: usize>() -> Vec<Vec3> {
    let center = E::reference_nodes().into_iter().sum::<Vec3>() / N as f64;
    let corners = E::reference_nodes().map(|corner| center + (corner - center) * 0.37);
    E::quadrature().iter().map(|p| p.xi).chain(corners).collect()
}

fn shape_functions_interpolate<E: Element<N>, const N: usize>() {
    for (b, corner) in E::reference_nodes().into_iter().enumerate() {
        for (a, value) in E::shape_values(corner).into_iter().enumerate() {
            assert_eq!(value, f64::from(u8::from(a == b)), "N{a} at corner {b}");
        }
    }
    for xi in samples::<E, N>() {
        // Sums of at most ten numbers of order one.
        assert!((E::shape_values(xi).into_iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(E::shape_gradients(xi).into_iter().sum::<Vec3>().norm() < 2e-15);
    }
}

fn gradients_are_derivatives_of_values<E: Element<N>, const N: usize>() {
    // Shape functions are at most quadratic in each coordinate, so central differences are exact but for rounding /
    // step.
    let step = 0.125;
    for xi in samples::<E, N>() {
        for axis in 0..3 {
            let d = Vec3::unit(axis) * step;
            let (plus, minus) = (E::shape_values(xi + d), E::shape_values(xi - d));
            for (a, g) in E::shape_gradients(xi).into_iter().enumerate() {
                assert!((g[axis] - (plus[a] - minus[a]) / (2.0 * step)).abs() < 1e-14);
            }
        }
    }
}

fn linear_fields_have_exact_gradients<E: Element<N>, const N: usize>() {
    let (rest, cells) = affine_cell::<E, N>();
    let geometry = RestGeometry::<N>::new::<E>(&rest, &cells).unwrap();
    let field = Mat3::new([[0.4, 1.0, -0.3], [-0.7, 1.2, 0.5], [0.2, 0.1, 0.9]]);
    // A shift of 1e6 m would cost six digits if node positions were not taken relative to one another.
    let shift = Vec3::splat(1048576.0);
    let mut moved = [Vec3::zero(); N];
    for (out, x) in moved.iter_mut().zip(&rest) {
        *out = field * *x;
    }
    for g in &geometry.gradients {
        assert!((deformation_gradient(&moved, g) - field).norm() < 1e-14);
        assert!((deformation_gradient(&moved.map(|x| x + shift), g) - field).norm() < 1e-8);
        assert!(g.iter().sum::<Vec3>().norm() < 1e-14);
    }
}

fn volume_and_mass_are_those_of_the_cell<E: Element<N>, const N: usize>() {
    let (rest, cells) = affine_cell::<E, N>();
    let geometry = RestGeometry::<N>::new::<E>(&rest, &cells).unwrap();
    let volume = MAP.determinant() * E::REFERENCE_VOLUME;
    assert!((geometry.cell_volume(0) - volume).abs() < 1e-14 * volume);
    let mut masses = vec![0.0; N];
    geometry.add_lumped_mass(&cells, &[1060.0], &mut masses);
    assert!((masses.iter().sum::<f64>() - 1060.0 * volume).abs() < 1e-12 * 1060.0 * volume);
    assert!(masses.iter().all(|mass| *mass > 0.0));
    // The center of mass of an affine image is the image of the reference cell's center of mass: lumping keeps the
    // first moment.
    let center = rest.iter().zip(&masses).map(|(x, m)| *x * *m).sum::<Vec3>() / masses.iter().sum::<f64>();
    let weights: f64 = geometry.weights.iter().sum();
    let mut exact = Vec3::zero();
    for (weight, values) in geometry.weights.iter().zip(&geometry.shape_values) {
        exact += rest.iter().zip(values).map(|(x, value)| *x * *value).sum::<Vec3>() * (weight / weights);
    }
    assert!((center - exact).norm() < 1e-13);
    // By symmetry of the affine image, all corners have the same share.
    let corners = if E::mass_shares().is_some() { &masses[..4] } else { &masses[..] };
    assert!(corners.iter().all(|mass| (mass - corners[0]).abs() < 1e-11 * volume * 1060.0));
}

fn bad_cells_are_named<E: Element<N>, const N: usize>() {
    let (mut rest, cells) = affine_cell::<E, N>();
    let two: Vec<u32> = cells.iter().chain(&cells).copied().collect();
    let mut flat = rest.clone();
    flat.iter_mut().for_each(|x| x.z = 0.0);
    assert!(matches!(RestGeometry::<N>::new::<E>(&flat, &two), Err(ElementError::NotPositive { cell: 0, .. })));
    let mirrored: Vec<Vec3> = rest.iter().map(|x| Vec3::new(-x.x, x.y, x.z)).collect();
    assert!(matches!(RestGeometry::<N>::new::<E>(&mirrored, &cells), Err(ElementError::NotPositive { .. })));
    assert!(matches!(RestGeometry::<N>::new::<E>(&rest, &cells[1..]), Err(ElementError::RaggedCells { .. })));
    let mut missing = two;
    missing[N] = 99;
    let error = RestGeometry::<N>::new::<E>(&rest, &missing).unwrap_err();
    assert_eq!(error, ElementError::NodeOutOfRange { cell: 1, node: 99, node_count: N });
    rest[0].x = f64::NAN;
    assert!(RestGeometry::<N>::new::<E>(&rest, &cells).is_err());
}

macro_rules! battery {
    ($element:ident, $nodes:literal, [$($test:ident),* $(,)?]) => {
        $(#[test] fn $test() { super::$test::<$element, $nodes>(); })*
    };
}

macro_rules! batteries {
    ($($module:ident: $element:ident, $nodes:literal;)*) => {
        $(mod $module {
            use super::*;
            battery!($element, $nodes, [
                shape_functions_interpolate,
                gradients_are_derivatives_of_values,
                linear_fields_have_exact_gradients,
                volume_and_mass_are_those_of_the_cell,
                bad_cells_are_named,
            ]);
        })*
    };
}

batteries! {
    tet4: Tet4, 4;
    tet10: Tet10, 10;
    hex8: Hex8, 8;
}

#[test]
fn hex_quadrature_is_exact_for_cubics_in_each_coordinate() {
    // ∫ over [−1, 1]³ of ξ² = 8/3, of ξ²η² = 8/9, of ξ³ + ξ²η²ζ² = 8/27.
    let integrate = |f: fn(Vec3) -> f64| Hex8::quadrature().iter().map(|p| p.weight * f(p.xi)).sum::<f64>();
    assert!((integrate(|x| x.x * x.x) - 8.0 / 3.0).abs() < 1e-15);
    assert!((integrate(|x| (x.x * x.y).powi(2)) - 8.0 / 9.0).abs() < 1e-15);
    assert!((integrate(|x| x.x.powi(3) + (x.x * x.y * x.z).powi(2)) - 8.0 / 27.0).abs() < 1e-15);
    assert!((integrate(|_| 1.0) - Hex8::REFERENCE_VOLUME).abs() < 1e-15);
}

#[test]
fn tet_quadrature_is_exact_for_linear_fields() {
    // ∫ ξ over the unit corner = 1/24.
    let integral: f64 = Tet4::quadrature().iter().map(|p| p.weight * p.xi.x).sum();
    assert!((integral - 1.0 / 24.0).abs() < 1e-16);
}

#[test]
fn quadratic_tet_quadrature_is_exact_for_quadratic_fields() {
    // ∫ ξᵃηᵇζᶜ over the unit corner = a! b! c!/(a + b + c + 3)!.
    let integrate = |f: fn(Vec3) -> f64| Tet10::quadrature().iter().map(|p| p.weight * f(p.xi)).sum::<f64>();
    assert!((integrate(|_| 1.0) - 1.0 / 6.0).abs() < 1e-16);
    assert!((integrate(|x| x.y) - 1.0 / 24.0).abs() < 1e-16);
    assert!((integrate(|x| x.z * x.z) - 2.0 / 120.0).abs() < 1e-16);
    assert!((integrate(|x| x.x * x.y) - 1.0 / 120.0).abs() < 1e-16);
}

/// A quadratic displacement of a straight cell has a linear F, which the shape functions reproduce exactly.
#[test]
fn quadratic_fields_have_exact_gradients_in_quadratic_tets() {
    let (rest, cells) = affine_cell::<Tet10, 10>();
    let geometry = RestGeometry::<10>::new::<Tet10>(&rest, &cells).unwrap();
    let field = |x: Vec3| Vec3::new(x.x * x.y - x.z, 0.3 * x.z * x.z + x.x, x.y * x.z - 0.5 * x.x * x.x);
    let gradient = |x: Vec3| Mat3::new([[x.y, x.x, -1.0], [1.0, 0.0, 0.6 * x.z], [-x.x, x.z, x.y]]);
    let moved: [Vec3; 10] = std::array::from_fn(|a| field(rest[a]));
    for (g, values) in geometry.gradients.iter().zip(&geometry.shape_values) {
        let X = rest.iter().zip(values).map(|(x, value)| *x * *value).sum::<Vec3>();
        // Numbers up to 30 in cells of size one.
        assert!((deformation_gradient(&moved, g) - gradient(X)).norm() < 1e-12);
    }
}

/// The mass shares are the diagonal of the consistent mass matrix, ∫ Nₐ² / Σ ∫ N_b², by a rule for quartics; inertia
/// about the center is 11/108 Σ x xᵀ over the corners.
#[test]
fn quadratic_tet_mass_is_the_scaled_diagonal() {
    let shares = Tet10::mass_shares().unwrap();
    // Gauss points on [0, 1] collapsed to the tetrahedron; five in each direction are exact for degree seven.
    let g = [0.046_910_077_030_668, 0.230_765_344_947_158_5, 0.5, 0.769_234_655_052_841_5, 0.953_089_922_969_332];
    let w = [
        0.118_463_442_528_094_5,
        0.239_314_335_249_683_2,
        0.284_444_444_444_444_4,
        0.239_314_335_249_683_2,
        0.118_463_442_528_094_5,
    ];
    let mut squares = [0.0; 10];
    for i in 0..125 {
        let (a, b, c) = (i / 25, i / 5 % 5, i % 5);
        let (p, q) = (1.0 - g[a], 1.0 - g[b]);
        let xi = Vec3::new(g[a], g[b] * p, g[c] * p * q);
        for (sum, value) in squares.iter_mut().zip(Tet10::shape_values(xi)) {
            *sum += w[a] * w[b] * w[c] * p * p * q * value * value;
        }
    }
    let trace: f64 = squares.iter().sum();
    for (share, square) in shares.iter().zip(squares) {
        assert!((share - square / trace).abs() < 1e-12);
    }
    let nodes = Tet10::reference_nodes().map(|x| x - Vec3::splat(0.25));
    let lumped: f64 = nodes.iter().zip(shares).map(|(x, share)| share * x.norm_squared()).sum();
    let corners: f64 = nodes[..4].iter().map(|x| x.norm_squared()).sum();
    assert!((lumped - 11.0 / 108.0 * corners).abs() < 1e-15);
}

#[test]
fn general_hexahedron_has_the_volume_of_its_faces() {
    // A unit cube whose top is squeezed to a square of side s: frustum of volume (1 + s + s²)/3.
    let s = 0.4;
    let mut rest: Vec<Vec3> = Hex8::reference_nodes().iter().map(|xi| (*xi + Vec3::splat(1.0)) * 0.5).collect();
    for corner in &mut rest[4..] {
        corner.x = 0.5 + (corner.x - 0.5) * s;
        corner.y = 0.5 + (corner.y - 0.5) * s;
    }
    let cells: Vec<u32> = (0..8).collect();
    let geometry = RestGeometry::<8>::new::<Hex8>(&rest, &cells).unwrap();
    assert!((geometry.cell_volume(0) - (1.0 + s + s * s) / 3.0).abs() < 1e-15);
}
