//! Which lattice cells a fine cell reaches into, and with which volume.

use sinew_math::Vec3;

use super::lattice_cell::LatticeCell;
use crate::mesher::Lattice;

/// Barycentric coordinates above −TOUCH count as inside. A corner that sticks out less has a volume below
/// [`NEGLIGIBLE`] of its cell, and rounding of nested lattices is far smaller.
pub(super) const TOUCH: f64 = 1e-4;

/// Parts of a fine cell below this fraction of its volume are rounding, or needles that carry nothing.
const NEGLIGIBLE: f64 = 1e-9;

/// A tetrahedron by the barycentric coordinates of its corners in a lattice cell.
type Corners = [[f64; 4]; 4];

/// A part of a fine cell inside of a lattice cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overlap {
    /// The lattice cell.
    pub cell: LatticeCell,
    /// Volume of the part, as a fraction of the lattice cell.
    pub volume: f64,
    /// Whether the fine cell lies in no other lattice cell.
    pub is_whole: bool,
}

/// Appends the overlaps of a fine cell whose corners are given in half cubes; the largest parts are found first.
pub(super) fn add_overlaps(corners: [Vec3; 4], out: &mut Vec<Overlap>) {
    // In half cubes the lattice has cubes of edge 2.
    let center = corners.into_iter().sum::<Vec3>() * 0.25;
    let home = LatticeCell::at(&Lattice { cell: 2.0 }.locate(center));
    let weights = corners.map(|p| home.weights(p));
    if weights.iter().flatten().all(|w| *w >= -TOUCH) {
        out.push(Overlap { cell: home, volume: fraction(&weights), is_whole: true });
        return;
    }
    let total = fraction(&weights);
    let mut found = vec![home];
    let mut next = 0;
    let start = out.len();
    while let Some(cell) = found.get(next).copied() {
        next += 1;
        let weights = corners.map(|p| cell.weights(p));
        let volume = clipped(&weights, 0);
        if volume > NEGLIGIBLE * total {
            out.push(Overlap { cell, volume, is_whole: false });
        } else if !(volume > 0.0) && cell != home {
            continue;
        }
        for face in (0..4).filter(|face| weights.iter().any(|w| w[*face] < 0.0)) {
            let neighbor = cell.neighbor(face);
            if !found.contains(&neighbor) {
                found.push(neighbor);
            }
        }
    }
    if out.len() == start {
        out.push(Overlap { cell: home, volume: total, is_whole: true });
    }
}

/// Volume of a tetrahedron as a fraction of the lattice cell.
fn fraction(corners: &Corners) -> f64 {
    let edge = |i: usize| {
        Vec3::new(corners[i][1] - corners[0][1], corners[i][2] - corners[0][2], corners[i][3] - corners[0][3])
    };
    edge(1).dot(edge(2).cross(edge(3))).abs()
}

/// Volume of the part with coordinates `plane`, `plane` + 1, … 3 all positive, as a fraction of the lattice cell.
///
/// One plane cuts a tetrahedron into a tetrahedron and the rest, or into two prisms of three tetrahedra each.
fn clipped(corners: &Corners, plane: usize) -> f64 {
    if plane == 4 {
        return fraction(corners);
    }
    let mut order = [0, 1, 2, 3];
    order.sort_by(|a, b| corners[*b][plane].total_cmp(&corners[*a][plane]));
    let [a, b, c, d] = order.map(|i| corners[i]);
    let inside = order.iter().filter(|i| corners[**i][plane] > 0.0).count();
    let cut = |p: [f64; 4], q: [f64; 4]| {
        let t = p[plane] / (p[plane] - q[plane]);
        [0, 1, 2, 3].map(|k| p[k] + t * (q[k] - p[k]))
    };
    match inside {
        0 => 0.0,
        1 => clipped(&[a, cut(a, b), cut(a, c), cut(a, d)], plane + 1),
        2 => prism([a, cut(a, c), cut(a, d)], [b, cut(b, c), cut(b, d)], plane + 1),
        3 => prism([a, b, c], [cut(a, d), cut(b, d), cut(c, d)], plane + 1),
        _ => clipped(corners, plane + 1),
    }
}

/// Clipped volume of the prism between two triangles whose corners correspond.
fn prism([a, b, c]: [[f64; 4]; 3], [d, e, f]: [[f64; 4]; 3], plane: usize) -> f64 {
    clipped(&[a, b, c, d], plane) + clipped(&[b, c, d, e], plane) + clipped(&[c, d, e, f], plane)
}

/// Whether an edge or a triangle, by the barycentric coordinates of its corners, meets the closed lattice cell.
pub(super) fn meets(corners: &[[f64; 4]]) -> bool {
    let mut polygon = corners.to_vec();
    for plane in 0..4 {
        let mut rest = Vec::with_capacity(polygon.len() + 1);
        for (i, p) in polygon.iter().enumerate() {
            let q = &polygon[(i + 1) % polygon.len()];
            let (above, below) = (p[plane] + TOUCH, q[plane] + TOUCH);
            if above >= 0.0 {
                rest.push(*p);
            }
            if (above < 0.0) != (below < 0.0) {
                let t = above / (above - below);
                rest.push([0, 1, 2, 3].map(|k| p[k] + t * (q[k] - p[k])));
            }
        }
        polygon = rest;
        if polygon.is_empty() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The parts of a tetrahedron fill it: lattice cells have the volume 8/12 in half cubes.
    #[test]
    fn parts_of_a_cell_add_up_to_it() {
        let mut state = 3;
        for size in [0.5, 2.0, 5.0] {
            for _ in 0..100 {
                let mut point = || Vec3::new(random(&mut state), random(&mut state), random(&mut state)) * size;
                let corners = [point(), point(), point(), point()];
                let [a, b, c, d] = corners;
                let volume = sinew_geometry::mesh::tet_volume(a, b, c, d).abs();
                let mut parts = Vec::new();
                add_overlaps(corners, &mut parts);
                let sum = parts.iter().map(|part| part.volume).sum::<f64>() * 8.0 / 12.0;
                // Parts below 1e-9 are left out, and corners that stick out by 1e-4 of the lattice cell.
                assert!((sum - volume).abs() < 1e-7 * volume + 1e-12, "{sum} {volume}");
            }
        }
    }

    #[test]
    fn a_triangle_around_a_cell_meets_it_without_a_corner_inside() {
        let cell = LatticeCell { base: [0; 3], class: 0 };
        let center = cell.nodes().iter().map(|n| Vec3::from(n.map(f64::from))).sum::<Vec3>() * 0.25;
        let around = |shift: f64| {
            [Vec3::new(-9.0, -9.0, shift), Vec3::new(9.0, -9.0, shift), Vec3::new(0.0, 9.0, shift)]
                .map(|x| cell.weights(center + x))
        };
        assert!(meets(&around(0.0)));
        assert!(!meets(&around(3.0)));
    }
}
