//! What every element must satisfy: interpolation, exact linear fields, volume, mass, and the degree of its quadrature.

use sinew_math::{Mat3, Vec3};

use super::{Element, ElementError, Hex8, RestGeometry, Tet4, deformation_gradient};

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
        // Sums of at most eight numbers of order one.
        assert!((E::shape_values(xi).into_iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(E::shape_gradients(xi).into_iter().sum::<Vec3>().norm() < 1e-15);
    }
}

fn gradients_are_derivatives_of_values<E: Element<N>, const N: usize>() {
    // Shape functions are at most linear in each coordinate, so central differences are exact but for rounding / step.
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
    for mass in masses {
        // By symmetry of the affine image, each corner takes the same share.
        assert!((mass - 1060.0 * volume / N as f64).abs() < 1e-11 * volume * 1060.0);
    }
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
