//! What nodes keep to while they move.

use sinew_math::Vec3;

use crate::Solid;

/// Most surfaces that a node can lie on: three meet in a point.
pub(crate) const MAX_SHEETS: usize = 3;

/// Normals this close to the plane of the others, by the square of the sine, are no constraint of their own: 6°.
const DEPENDENT: f64 = 0.01;

/// The surfaces that nodes lie on.
pub(crate) trait Constraint: Sync {
    /// Distances \[m\] of a point from the surfaces of a node, zero where there are no more.
    fn distances(&self, node: u32, p: Vec3) -> [f64; MAX_SHEETS];

    /// The surfaces of a node near a point, from differences over `step` \[m\].
    fn sheets(&self, node: u32, p: Vec3, step: f64) -> Sheets;

    /// Whether every node lies on its surfaces from the start.
    fn starts_on_surface(&self) -> bool;
}

/// All nodes on the surface of one solid.
pub(crate) struct Whole<'a>(pub &'a dyn Solid);

impl Constraint for Whole<'_> {
    fn distances(&self, _: u32, p: Vec3) -> [f64; MAX_SHEETS] {
        [self.0.distance(p), 0.0, 0.0]
    }

    fn sheets(&self, _: u32, p: Vec3, step: f64) -> Sheets {
        Sheets::new([self.0.gradient(p, step)])
    }

    fn starts_on_surface(&self) -> bool {
        true
    }
}

/// The surfaces of a node as planes: one leaves it a plane to move in, two a line, three nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sheets {
    count: usize,
    /// Number of each surface.
    numbers: [usize; MAX_SHEETS],
    normals: [Vec3; MAX_SHEETS],
    /// The shortest ways that change one distance by 1 m and no other.
    ways: [Vec3; MAX_SHEETS],
}

impl Sheets {
    /// Planes by the gradients of the distances; those that are flat, or of which another says the same, are left out.
    pub fn new(gradients: impl IntoIterator<Item = Vec3>) -> Self {
        let mut sheets = Self::default();
        for (number, normal) in gradients.into_iter().enumerate().take(MAX_SHEETS) {
            let square = normal.norm_squared();
            let across = sheets.beside(normal).norm_squared();
            if square > 1e-12 && square.is_finite() && across > DEPENDENT * square {
                sheets.numbers[sheets.count] = number;
                sheets.normals[sheets.count] = normal;
                sheets.count += 1;
            }
        }
        for i in 0..sheets.count {
            // The part of a normal that no other has.
            let others = Self::with_normals((0..sheets.count).filter(|k| *k != i).map(|k| sheets.normals[k]));
            let own = others.beside(sheets.normals[i]);
            sheets.ways[i] = own / own.dot(sheets.normals[i]);
        }
        sheets
    }

    fn with_normals(normals: impl Iterator<Item = Vec3>) -> Self {
        let mut sheets = Self::default();
        for normal in normals {
            sheets.normals[sheets.count] = normal;
            sheets.count += 1;
        }
        sheets
    }

    /// Unit normal of the first plane; zero if there is none.
    pub fn normal(&self) -> Vec3 {
        if self.count == 0 { Vec3::zero() } else { self.normals[0].normalized() }
    }

    /// The part of a vector that is in all planes.
    fn beside(&self, v: Vec3) -> Vec3 {
        let [a, b, _] = self.normals;
        match self.count {
            0 => v,
            1 => v - a * (v.dot(a) / a.norm_squared()),
            2 => {
                let line = a.cross(b);
                line * (v.dot(line) / line.norm_squared())
            }
            _ => Vec3::zero(),
        }
    }

    /// The way by which distances change by as much as is given.
    #[inline]
    pub fn way(&self, distances: [f64; MAX_SHEETS]) -> Vec3 {
        (0..self.count).map(|k| self.ways[k] * distances[self.numbers[k]]).sum()
    }

    /// Unit vectors along which the node may try to move: eight in a plane, two on a line.
    pub fn directions(&self) -> Vec<Vec3> {
        match self.count {
            1 => {
                let normal = self.normals[0].normalized();
                let axis = (1..3).fold(0, |best, k| if normal[k].abs() < normal[best].abs() { k } else { best });
                let u = normal.cross(Vec3::unit(axis)).normalized();
                let v = normal.cross(u);
                let turn = |k: i32| std::f64::consts::FRAC_PI_4 * f64::from(k);
                (0..8).map(turn).map(|a| u * a.cos() + v * a.sin()).collect()
            }
            2 => {
                let line = self.normals[0].cross(self.normals[1]).normalized();
                vec![line, -line]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newton on planes ends in one step, and the step has no part along what is free.
    #[test]
    fn ways_lead_to_planes_lines_and_points() {
        let normals = [Vec3::new(1.0, 0.2, -0.3), Vec3::new(-0.1, 0.8, 0.4), Vec3::new(0.5, -0.5, 0.9)];
        let p = Vec3::new(0.3, -0.7, 0.2);
        for count in 1..=3 {
            let sheets = Sheets::new(normals[..count].iter().copied());
            let mut distances = [0.0; MAX_SHEETS];
            (0..count).for_each(|k| distances[k] = normals[k].dot(p) - 0.25);
            let q = p - sheets.way(distances);
            for normal in &normals[..count] {
                assert!((normal.dot(q) - 0.25).abs() < 1e-14);
            }
            assert_eq!(sheets.directions().len(), [0, 8, 2, 0][count]);
            for direction in sheets.directions() {
                assert!((direction.norm() - 1.0).abs() < 1e-14);
                assert!(normals[..count].iter().all(|normal| normal.dot(direction).abs() < 1e-14));
                assert!((p - q).dot(direction).abs() < 1e-14, "the shortest way");
            }
        }
    }

    #[test]
    fn flat_and_equal_normals_are_left_out() {
        let normal = Vec3::new(0.0, 2.0, 0.0);
        let sheets = Sheets::new([Vec3::zero(), normal, normal * 0.5]);
        assert_eq!(sheets.way([7.0, 3.0, 9.0]), Vec3::new(0.0, 1.5, 0.0));
        assert_eq!(sheets.directions().len(), 8);
        assert_eq!(Sheets::new([Vec3::splat(f64::NAN)]).way([1.0; 3]), Vec3::zero());
    }
}
