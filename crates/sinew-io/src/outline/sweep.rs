//! Surfaces over sections: lathe, extrusion, skin.

use std::f64::consts::TAU;

use sinew_math::Vec3;

use crate::mesh_data::{CellShape, MeshData};
use crate::osu::push_face;

/// A body with elliptic sections: rows of height, half width along x and half width along y \[m\], n points around each.
///
/// With equal half widths it is a body of revolution; its volume goes to ∫ π a b dz with the number of points.
pub fn lathe(profile: &[[f64; 3]], around: usize) -> MeshData {
    let section = |&[z, a, b]: &[f64; 3]| -> Vec<Vec3> {
        let point = |i: usize| {
            let (sine, cosine) = (TAU * i as f64 / around as f64).sin_cos();
            Vec3::new(a * cosine, b * sine, z)
        };
        (0..around).map(point).collect()
    };
    skin(&profile.iter().map(section).collect::<Vec<_>>())
}

/// A prism over a polygon in the plane z = 0, whichever way round its corners go.
pub fn extrude(polygon: &[[f64; 2]], height: f64) -> MeshData {
    let next = |i: usize| polygon[(i + 1) % polygon.len()];
    let twice_area: f64 = polygon.iter().enumerate().map(|(i, p)| p[0] * next(i)[1] - p[1] * next(i)[0]).sum();
    let mut corners = polygon.to_vec();
    if twice_area < 0.0 {
        corners.reverse();
    }
    let section = |z: f64| -> Vec<Vec3> { corners.iter().map(|&[x, y]| Vec3::new(x, y, z)).collect() };
    skin(&[section(0.0), section(height)])
}

/// Quads between sections of equally many corners, which go around counterclockwise seen from the last one, and a polygon
/// at each end.
pub fn skin(sections: &[Vec<Vec3>]) -> MeshData {
    let around = sections.first().map_or(0, Vec::len) as u32;
    let mut mesh = MeshData { points: sections.concat(), ..MeshData::default() };
    for row in 0..sections.len().saturating_sub(1) as u32 {
        for i in 0..around {
            let (a, b) = (row * around + i, row * around + (i + 1) % around);
            mesh.push_cell(CellShape::Quad4, &[a, b, b + around, a + around]);
        }
    }
    let last = sections.len().saturating_sub(1) as u32 * around;
    let bottom: Vec<u32> = (0..around).rev().collect();
    let top: Vec<u32> = (last..last + around).collect();
    push_face(&mut mesh, &bottom);
    push_face(&mut mesh, &top);
    mesh
}
