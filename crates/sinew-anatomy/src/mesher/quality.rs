//! Angles of tetrahedra.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

/// Smallest squared sine of the six dihedral angles, negative for an inverted cell.
///
/// ```math
/// \sin \theta_{ij} = \frac{6 V\, l_{ij}}{N_k N_l}
/// ```
///
/// with the edge lengths l and twice the areas N of the two faces at the edge. Small and large angles count alike.
#[inline]
pub fn worst_sine_squared(x: [Vec3; 4]) -> f64 {
    let [a, b, c] = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let (bc, ca, ab) = (b.cross(c), c.cross(a), a.cross(b));
    let six_volume = a.dot(bc);
    // Faces opposite to nodes 0 to 3.
    let n = [(bc + ca + ab).norm_squared(), bc.norm_squared(), ca.norm_squared(), ab.norm_squared()];
    let (p, q, r) = (n[0] * n[1], n[0] * n[2], n[0] * n[3]);
    let (s, t, u) = (n[2] * n[3], n[1] * n[3], n[1] * n[2]);
    let smallest = (a.norm_squared() * p)
        .min(b.norm_squared() * q)
        .min(c.norm_squared() * r)
        .min((b - c).norm_squared() * s)
        .min((c - a).norm_squared() * t)
        .min((a - b).norm_squared() * u);
    let product = p * s;
    if product > 0.0 { six_volume * six_volume.abs() * smallest / product } else { -1.0 }
}

/// Smallest and largest dihedral angle \[rad\] of a cell.
pub fn dihedral_range(x: [Vec3; 4]) -> (f64, f64) {
    let (low, high) = cosine_range(x);
    (high.clamp(-1.0, 1.0).acos(), low.clamp(-1.0, 1.0).acos())
}

/// Smallest and largest dihedral angle \[rad\] of all cells.
pub fn dihedral_range_of(positions: &[Vec3], tets: &[[u32; 4]]) -> (f64, f64) {
    let (low, high) = tets
        .par_iter()
        .map(|tet| cosine_range(tet.map(|node| positions[node as usize])))
        .reduce(|| (1.0, -1.0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (high.clamp(-1.0, 1.0).acos(), low.clamp(-1.0, 1.0).acos())
}

/// Smallest and largest cosine of the dihedral angles.
#[inline]
fn cosine_range(x: [Vec3; 4]) -> (f64, f64) {
    let [a, b, c] = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let inward = [b.cross(c), c.cross(a), a.cross(b)];
    let outward = -(inward[0] + inward[1] + inward[2]);
    let normals = [outward, inward[0], inward[1], inward[2]].map(|n| n / n.norm());
    let mut range = (1.0_f64, -1.0_f64);
    for i in 0..4 {
        for j in 0..i {
            let cosine = -normals[i].dot(normals[j]);
            range = (range.0.min(cosine), range.1.max(cosine));
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of the lattice: 60° and 90°.
    #[test]
    fn cell_of_the_lattice_has_its_angles() {
        let x = [[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [2.0, 0.0, 2.0], [2.0, 0.0, 0.0]].map(Vec3::from);
        let (low, high) = dihedral_range(x);
        assert!((low.to_degrees() - 60.0).abs() < 1e-9 && (high.to_degrees() - 90.0).abs() < 1e-9);
        assert!((worst_sine_squared(x) - 0.75).abs() < 1e-12);
    }

    /// Both measures on random cells: the smallest sine belongs to the smallest or the largest angle.
    #[test]
    fn worst_sine_is_that_of_the_extreme_angles() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for _ in 0..1000 {
            let x: [Vec3; 4] = std::array::from_fn(|_| Vec3::new(random(), random(), random()));
            let volume = (x[1] - x[0]).dot((x[2] - x[0]).cross(x[3] - x[0]));
            let (low, high) = dihedral_range(x);
            let expected = low.sin().min(high.sin()).powi(2);
            let found = worst_sine_squared(x) * volume.signum();
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}
