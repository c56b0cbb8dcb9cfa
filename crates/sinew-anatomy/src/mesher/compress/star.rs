//! The worst dihedral angle around a node, for many places of the node.

use sinew_math::Vec3;

use crate::mesher::soup::{Soup, Stars};

/// A cell seen from one of its nodes: the opposite face and what of it does not change.
#[derive(Clone, Copy, Debug)]
struct Corner {
    face: [Vec3; 3],
    /// Squares of the lengths of its edges ab, bc, ca \[m²\].
    edges: [f64; 3],
    /// Square of twice its area \[m⁴\].
    area: f64,
}

/// The cells of one node.
#[derive(Clone, Debug)]
pub(super) struct Star {
    corners: Vec<Corner>,
    /// Weight of the squared sine of an obtuse angle: it is as bad as an acute one with this part of the square.
    obtuse: f64,
}

/// Local nodes after the first in an even permutation that starts with it: the cell stays positively oriented.
const AFTER: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

impl Star {
    /// No cells.
    pub fn new(obtuse: f64) -> Self {
        Self { corners: Vec::new(), obtuse }
    }

    /// Takes the cells of `node` from the mesh.
    pub fn gather(&mut self, node: u32, soup: &Soup, stars: &Stars) {
        self.corners.clear();
        for cell in stars.of(node) {
            let nodes = soup.tets[*cell as usize];
            let local = nodes.iter().position(|other| *other == node).unwrap_or(0);
            let [a, b, c] = AFTER[local].map(|i| soup.positions[nodes[i] as usize]);
            let edges = [(b - a).norm_squared(), (c - b).norm_squared(), (a - c).norm_squared()];
            self.corners.push(Corner { face: [a, b, c], edges, area: (b - a).cross(c - a).norm_squared() });
        }
    }

    /// Smallest sin² of the dihedral angles with the node at `x`, obtuse ones weighted; −1 with a flat or inverted cell.
    /// Once it is known to be at most `enough`, any value up to that may come.
    pub fn worst(&self, x: Vec3, enough: f64) -> f64 {
        let mut worst = 1.0_f64;
        for corner in &self.corners {
            worst = worst.min(corner.worst(x, self.obtuse));
            if worst <= enough {
                break;
            }
        }
        worst
    }

    /// Mean of the other nodes, each as often as it has cells \[m\].
    pub fn mean(&self) -> Vec3 {
        let sum = self.corners.iter().map(|corner| corner.face.iter().copied().sum::<Vec3>()).sum::<Vec3>();
        sum / (3 * self.corners.len().max(1)) as f64
    }

    /// Mean length of the edges opposite to the node \[m\].
    pub fn size(&self) -> f64 {
        let sum: f64 = self.corners.iter().flat_map(|corner| corner.edges).sum();
        (sum / (3 * self.corners.len().max(1)) as f64).sqrt()
    }
}

impl Corner {
    /// Smallest sin² of the six angles, times `obtuse` beyond 90°: sin θ = 6V l / (2A 2A′) for the edge of length l
    /// between faces of areas A, A′, and cos θ has the sign of the product of their normals, one inward, one outward.
    #[inline]
    fn worst(&self, x: Vec3, obtuse: f64) -> f64 {
        let [a, b, c] = self.face.map(|p| p - x);
        // Inward normals of the faces opposite to a, b, c; their sum is the outward one of the face abc.
        let (fa, fb, fc) = (b.cross(c), c.cross(a), a.cross(b));
        let volume = a.dot(fa);
        if !(volume > 0.0) {
            return -1.0;
        }
        let (na, nb, nc, nx) = (fa.norm_squared(), fb.norm_squared(), fc.norm_squared(), self.area);
        let (fab, fbc, fca) = (fa.dot(fb), fb.dot(fc), fc.dot(fa));
        let weighted = |cosine: f64, square: f64| if cosine < 0.0 { obtuse * square } else { square };
        // The face opposite to a is (b, c, x): the edge x–a lies between the faces opposite to b and c.
        let [ab, bc, ca] = self.edges;
        let product = na * nb * nc * nx;
        let smallest = weighted(-fbc, a.norm_squared() * na * nx)
            .min(weighted(-fca, b.norm_squared() * nb * nx))
            .min(weighted(-fab, c.norm_squared() * nc * nx))
            .min(weighted(nc + fbc + fca, ab * na * nb))
            .min(weighted(na + fab + fca, bc * nb * nc))
            .min(weighted(nb + fab + fbc, ca * nc * na));
        volume * volume * smallest / product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the angles between face normals, one by one.
    #[test]
    fn the_worst_sine_is_that_of_the_angles_between_the_faces() {
        let x =
            [Vec3::new(0.1, 0.0, -0.2), Vec3::new(1.0, 0.2, 0.1), Vec3::new(0.3, 1.4, 0.0), Vec3::new(0.2, 0.1, 0.9)];
        // The first is flat over its face, so that its obtuse angles are the worst.
        let flat = [Vec3::new(0.45, 0.5, 0.35), x[1], x[2], x[3]];
        for (x, obtuse) in [(x, 1.0), (x, 0.1), (flat, 1.0), (flat, 0.6)] {
            let soup = Soup { positions: x.to_vec(), tets: vec![[0, 1, 2, 3]] };
            let stars = Stars::new(4, &soup.tets);
            let faces = crate::mesher::tree::FACES.map(|[i, j, k]| (x[j] - x[i]).cross(x[k] - x[i]).normalized());
            let mut smallest = 1.0_f64;
            for i in 0..4 {
                for j in 0..i {
                    let cosine = -faces[i].dot(faces[j]);
                    smallest = smallest.min((1.0 - cosine * cosine) * if cosine < 0.0 { obtuse } else { 1.0 });
                }
            }
            for node in 0..4 {
                let mut star = Star::new(obtuse);
                star.gather(node, &soup, &stars);
                // Rounding of a few products.
                assert!((star.worst(x[node as usize], -1.0) - smallest).abs() < 1e-13);
            }
        }
        let soup = Soup { positions: x.to_vec(), tets: vec![[0, 1, 2, 3]] };
        let stars = Stars::new(4, &soup.tets);
        let mut star = Star::new(1.0);
        star.gather(0, &soup, &stars);
        assert!(star.worst(Vec3::new(3.0, 3.0, 3.0), -2.0) < 0.0, "an inverted cell is below every angle");
    }
}
