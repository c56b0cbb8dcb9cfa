//! Initial shapes far from rest: scrambled, collapsed or inverted bodies, to test that the solver recovers.

use sinew_geometry::CellMesh;
use sinew_math::Vec3;

/// Shape of a body before the first step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Every node at a random position in the bounding box of the body, scaled by `scale` about its center.
    Random {
        /// Factor on the box.
        scale: f64,
    },
    /// Every node at the center of the bounding box.
    Point,
    /// Flattened along the thinnest axis of the bounding box.
    Plane,
    /// Reflected along the thinnest axis of the bounding box: every cell is inverted.
    Mirror,
}

/// Positions of the nodes of `mesh` in this shape. Collapsed and mirrored shapes get random shifts of up to `noise`
/// mean cell sizes along each axis, because an exactly flat body is in equilibrium.
pub fn scrambled(mesh: &CellMesh, start: Start, noise: f64, seed: u64) -> Vec<Vec3> {
    let bounds = mesh.bounds();
    let (center, half) = (bounds.center(), bounds.size() * 0.5);
    let thinnest = (0..3).fold(0, |best, axis| if half[axis] < half[best] { axis } else { best });
    let volume: f64 = mesh.cell_volumes().iter().sum();
    let cell = (volume / mesh.cell_count().max(1) as f64).cbrt();
    let mut random = Random(seed);
    mesh.positions()
        .iter()
        .map(|&x| {
            let (place, shift) = (random.vector(), random.vector() * (noise * cell));
            let mut moved = x;
            match start {
                Start::Random { scale } => return center + place.component_mul(half) * scale,
                Start::Point => moved = center,
                Start::Plane => moved[thinnest] = center[thinnest],
                Start::Mirror => moved[thinnest] = 2.0 * center[thinnest] - x[thinnest],
            }
            moved + shift
        })
        .collect()
}

/// SplitMix64 \[Steele14\]: the same numbers on every machine.
struct Random(u64);

impl Random {
    /// A number in [−1, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::procedural::{TetPattern, box_tets};

    #[test]
    fn starts_are_what_their_names_say() {
        let mesh = box_tets(Vec3::new(2.0, 0.5, 1.0), [4, 1, 2], TetPattern::Kuhn).unwrap();
        let start = |start, noise| scrambled(&mesh, start, noise, 7);
        let center = Vec3::new(1.0, 0.25, 0.5);
        assert!(start(Start::Point, 0.0).iter().all(|&x| x == center));
        assert!(start(Start::Plane, 0.0).iter().zip(mesh.positions()).all(|(x, r)| x.y == 0.25 && x.x == r.x));
        assert!(start(Start::Mirror, 0.0).iter().zip(mesh.positions()).all(|(x, r)| x.y == 0.5 - r.y));
        let wide = start(Start::Random { scale: 10.0 }, 0.0);
        assert!(wide.iter().all(|x| (x.x - 1.0).abs() <= 10.0 && (x.y - 0.25).abs() <= 2.5));
        assert!(wide.iter().any(|x| (x.x - 1.0).abs() > 5.0));
        // Shifts are below the noise, differ from node to node, and repeat with the seed.
        let noisy = start(Start::Point, 1e-3);
        assert!(noisy.iter().all(|x| (*x - center).norm() < 2e-3) && noisy[0] != noisy[1]);
        assert_eq!(noisy, start(Start::Point, 1e-3));
        assert_ne!(noisy, scrambled(&mesh, Start::Point, 1e-3, 8));
    }
}
