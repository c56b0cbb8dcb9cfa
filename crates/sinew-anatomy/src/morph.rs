//! The anatomy of one person on the landmarks of another, by radial basis functions \[Sifakis07\].
//!
//! ```math
//! m(x) = A x + b + \sum_i c_i\, \varphi(|x - s_i|), \qquad m(s_i) = t_i, \qquad \sum_i c_i = 0, \quad \sum_i c_i s_i^T = 0
//! ```
//!
//! The map is exact at the landmarks and reproduces affine maps. Of all maps that are, the kernel $`\varphi = r`$ has
//! the least bending (biharmonic in space), $`\varphi = r^3`$ the least change of bending (triharmonic) \[Carr01\].
//!
//! - `solve`: the linear system
//! - `folds`: cells that the map turns inside out, and the landmarks that make it so

mod folds;
mod solve;

use sinew_geometry::CellMesh;
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};
use thiserror::Error;

pub use folds::Fold;

/// Largest number of landmarks: the dense system of 4,000 and its factor take 200 MB.
pub const MAX_LANDMARKS: usize = 4000;

/// Landmarks closer than this fraction of their spread count as the same.
const DUPLICATE: f64 = 1e-9;

/// Landmarks thinner than this fraction of their spread count as flat.
const FLAT: f64 = 1e-6;

/// Radial function of a morph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// φ = r: stays close to the landmarks and far from them; its derivative jumps at the landmarks.
    #[default]
    Biharmonic,
    /// φ = r³: smooth everywhere; grows faster away from the landmarks.
    Triharmonic,
}

/// Why landmarks give no morph.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MorphError {
    /// Each landmark needs a target.
    #[error("{from} landmarks are to go to {to} targets; hint: list both in the same order")]
    WrongCount {
        /// Number of landmarks.
        from: usize,
        /// Number of targets.
        to: usize,
    },
    /// Four landmarks span space.
    #[error("{count} landmarks do not span space; hint: at least 4 are needed, and 10 or more make a morph")]
    TooFew {
        /// Number of landmarks.
        count: usize,
    },
    /// The dense system would be too large.
    #[error("{count} landmarks are more than {MAX_LANDMARKS}")]
    TooMany {
        /// Number of landmarks.
        count: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("landmark {landmark} has a coordinate that is not finite")]
    NotFinite {
        /// The landmark.
        landmark: usize,
    },
    /// Two landmarks are at the same position.
    #[error("landmarks {} and {} are {distance:.3e} m apart; hint: remove one", pair[0], pair[1])]
    Duplicate {
        /// The landmarks.
        pair: [usize; 2],
        /// Their distance \[m\].
        distance: f64,
    },
    /// All landmarks lie in a plane or on a line.
    #[error(
        "all landmarks lie within {thickness:.3e} m of a plane, landmark {farthest} the farthest; hint: add one beside it"
    )]
    Coplanar {
        /// The landmark farthest from the plane.
        farthest: usize,
        /// Its distance from the plane \[m\].
        thickness: f64,
    },
    /// The linear system has no solution within rounding.
    #[error("landmark {landmark} is too close to others for the morph to be exact; hint: remove it")]
    Singular {
        /// The landmark at which the elimination broke down.
        landmark: usize,
    },
    /// The morph folds space.
    #[error("{}", folds::message(folds))]
    Folds {
        /// Folded cells, the worst first.
        folds: Vec<Fold>,
    },
    /// The morphed cells are not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] sinew_geometry::MeshError),
}

/// A smooth map of space that takes landmarks to their targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Morph {
    kernel: Kernel,
    /// Landmarks and their targets \[m\].
    from: Vec<Vec3>,
    to: Vec<Vec3>,
    /// Middle and spread of the landmarks \[m\]: the system is solved in (x − middle) / spread.
    middle: Vec3,
    spread: f64,
    /// Coefficients of the radial functions.
    coefficients: Vec<Vec3>,
    linear: Mat3,
    constant: Vec3,
}

impl Morph {
    /// The biharmonic morph that takes each landmark to its target \[m\].
    pub fn new(from: &[Vec3], to: &[Vec3]) -> Result<Self, MorphError> {
        Self::with_kernel(from, to, Kernel::default())
    }

    /// A morph with another radial function.
    pub fn with_kernel(from: &[Vec3], to: &[Vec3], kernel: Kernel) -> Result<Self, MorphError> {
        let (middle, spread) = checked(from, to)?;
        let scaled: Vec<Vec3> = from.iter().map(|x| (*x - middle) / spread).collect();
        let solved = solve::solve(&scaled, to, kernel)?;
        Ok(Self {
            kernel,
            from: from.to_vec(),
            to: to.to_vec(),
            middle,
            spread,
            coefficients: solved.coefficients,
            linear: solved.linear,
            constant: solved.constant,
        })
    }

    /// The morph from the targets to the landmarks: the inverse at the landmarks, and near it between them.
    pub fn reversed(&self) -> Result<Self, MorphError> {
        Self::with_kernel(&self.to, &self.from, self.kernel)
    }

    /// Landmarks \[m\].
    pub fn landmarks(&self) -> &[Vec3] {
        &self.from
    }

    /// Targets of the landmarks \[m\].
    pub fn targets(&self) -> &[Vec3] {
        &self.to
    }

    /// Where a point goes \[m\].
    pub fn apply(&self, p: Vec3) -> Vec3 {
        let x = (p - self.middle) / self.spread;
        let mut sum = self.linear * x + self.constant;
        for (s, c) in self.from.iter().zip(&self.coefficients) {
            sum += *c * self.kernel.value(((p - *s) / self.spread).norm());
        }
        sum
    }

    /// Where many points go \[m\].
    pub fn apply_all(&self, points: &[Vec3]) -> Vec<Vec3> {
        points.par_iter().map(|p| self.apply(*p)).collect()
    }

    /// Derivative ∂m/∂x; at a landmark of a biharmonic morph the mean of those around it.
    pub fn jacobian(&self, p: Vec3) -> Mat3 {
        let mut sum = self.linear;
        for (s, c) in self.from.iter().zip(&self.coefficients) {
            sum += Mat3::outer(*c, self.kernel.gradient((p - *s) / self.spread));
        }
        sum * (1.0 / self.spread)
    }

    /// A mesh of cells with its labels, sets and fields at the new place.
    ///
    /// # Errors
    /// [`MorphError::Folds`] where cells would turn inside out: mesh these anew, from surfaces morphed by
    /// [`Morph::apply`].
    pub fn morphed(&self, mesh: &CellMesh) -> Result<CellMesh, MorphError> {
        let folds = self.folds(mesh);
        if !folds.is_empty() {
            return Err(MorphError::Folds { folds });
        }
        let moved = self.apply_all(mesh.positions());
        let lookup = std::cell::Cell::new(0);
        // `mapped` visits nodes in order.
        let next = |_| {
            let node = lookup.get();
            lookup.set(node + 1);
            moved[node]
        };
        Ok(mesh.mapped(next)?.0)
    }
}

impl Kernel {
    /// φ(r).
    pub(super) fn value(self, r: f64) -> f64 {
        match self {
            Self::Biharmonic => r,
            Self::Triharmonic => r * r * r,
        }
    }

    /// ∇φ(|d|); zero at d = 0.
    fn gradient(self, d: Vec3) -> Vec3 {
        let r = d.norm();
        match self {
            Self::Biharmonic if r > 0.0 => d / r,
            Self::Biharmonic => Vec3::zero(),
            Self::Triharmonic => d * (3.0 * r),
        }
    }
}

/// Middle and spread of the landmarks, if they can define a morph.
fn checked(from: &[Vec3], to: &[Vec3]) -> Result<(Vec3, f64), MorphError> {
    if from.len() != to.len() {
        return Err(MorphError::WrongCount { from: from.len(), to: to.len() });
    }
    if from.len() < 4 {
        return Err(MorphError::TooFew { count: from.len() });
    }
    if from.len() > MAX_LANDMARKS {
        return Err(MorphError::TooMany { count: from.len() });
    }
    if let Some(landmark) = (0..from.len()).find(|i| !(from[*i].is_finite() && to[*i].is_finite())) {
        return Err(MorphError::NotFinite { landmark });
    }
    let middle = from.iter().copied().sum::<Vec3>() / from.len() as f64;
    let spread = from.iter().map(|x| x.distance(middle)).fold(0.0, f64::max);
    for (i, a) in from.iter().enumerate() {
        for (j, b) in from[..i].iter().enumerate() {
            let distance = a.distance(*b);
            if !(distance > DUPLICATE * spread) {
                return Err(MorphError::Duplicate { pair: [j, i], distance });
            }
        }
    }
    check_flat(from, middle, spread)?;
    Ok((middle, spread))
}

/// Landmarks in a plane leave the affine part open.
fn check_flat(from: &[Vec3], middle: Vec3, spread: f64) -> Result<(), MorphError> {
    let mut moments = [0.0; 9];
    for x in from {
        let d = (*x - middle) / spread;
        for i in 0..3 {
            for j in 0..3 {
                moments[3 * i + j] += d[i] * d[j];
            }
        }
    }
    let eigen = sinew_math::eigen::symmetric_eigen(&moments, 3);
    let normal = Vec3::new(eigen.vectors[0], eigen.vectors[1], eigen.vectors[2]);
    let heights = from.iter().map(|x| normal.dot(*x - middle).abs());
    let (farthest, thickness) =
        heights.enumerate().fold((0, 0.0), |best, (i, h)| if h > best.1 { (i, h) } else { best });
    if thickness > FLAT * spread { Ok(()) } else { Err(MorphError::Coplanar { farthest, thickness }) }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{TetPattern, box_tets};

    use super::*;

    fn points(count: usize, seed: u64) -> Vec<Vec3> {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..count).map(|_| Vec3::new(random(), random(), random())).collect()
    }

    /// m(sᵢ) = tᵢ. The dense system loses a few digits to its condition.
    #[test]
    fn morph_is_exact_at_the_landmarks() {
        for (kernel, tolerance) in [(Kernel::Biharmonic, 1e-11), (Kernel::Triharmonic, 1e-9)] {
            for count in [4, 5, 60, 300] {
                let from: Vec<Vec3> = points(count, 5).iter().map(|x| *x * 0.3 + Vec3::splat(7.0)).collect();
                let to: Vec<Vec3> = points(count, 6).iter().map(|x| *x * 0.3).collect();
                let morph = Morph::with_kernel(&from, &to, kernel).unwrap();
                let worst = from.iter().zip(&to).map(|(s, t)| morph.apply(*s).distance(*t)).fold(0.0, f64::max);
                assert!(worst < tolerance, "{kernel:?} {count}: {worst:.3e}");
            }
        }
    }

    /// Affine maps need no radial part, so they come back exactly, far away too.
    #[test]
    fn affine_maps_are_reproduced() {
        let map = Mat3::new([[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.05, 0.0, 1.2]]);
        let shift = Vec3::new(0.4, -2.0, 0.1);
        let from = points(80, 1);
        let to: Vec<Vec3> = from.iter().map(|x| map * *x + shift).collect();
        for kernel in [Kernel::Biharmonic, Kernel::Triharmonic] {
            let morph = Morph::with_kernel(&from, &to, kernel).unwrap();
            for p in points(50, 2) {
                let p = p * 5.0 - Vec3::splat(2.0);
                // 25 times the spread of the landmarks times the residual of the system.
                assert!(morph.apply(p).distance(map * p + shift) < 1e-9);
                assert!((morph.jacobian(p) - map).norm() < 1e-9);
            }
        }
    }

    #[test]
    fn jacobian_is_the_derivative() {
        let (from, to) = (points(30, 3), points(30, 4));
        for kernel in [Kernel::Biharmonic, Kernel::Triharmonic] {
            let morph = Morph::with_kernel(&from, &to, kernel).unwrap();
            for p in points(20, 9) {
                let h = 1e-6;
                for axis in 0..3 {
                    let d = Vec3::unit(axis) * h;
                    let slope = (morph.apply(p + d) - morph.apply(p - d)) / (2.0 * h);
                    // Central differences: h² times the third derivative, which grows near landmarks.
                    assert!(slope.distance(morph.jacobian(p).column(axis)) < 1e-3, "{kernel:?}");
                }
            }
        }
    }

    /// Landmarks at the corners of a box, and two inside that trade places.
    fn crossing() -> (Vec<Vec3>, Vec<Vec3>) {
        let corners = (0..8).map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64));
        let mut from: Vec<Vec3> = corners.collect();
        from.extend([Vec3::new(0.35, 0.5, 0.5), Vec3::new(0.65, 0.5, 0.5)]);
        let mut to = from.clone();
        to.swap(8, 9);
        (from, to)
    }

    /// Brute force: a cell folds when its morphed corners have a negative volume.
    #[test]
    fn folded_cells_are_found_with_the_landmarks_that_fold_them() {
        let (from, to) = crossing();
        let morph = Morph::new(&from, &to).unwrap();
        let mesh = box_tets(Vec3::splat(1.0), [10; 3], TetPattern::Kuhn).unwrap();
        let folds = morph.folds(&mesh);
        assert!(!folds.is_empty());
        let mut cells: Vec<u32> = folds.iter().map(|fold| fold.cell).collect();
        cells.sort_unstable();
        let inverted = |cell: &u32| {
            let x: Vec<Vec3> =
                mesh.cell_nodes(*cell as usize).iter().map(|n| morph.apply(mesh.positions()[*n as usize])).collect();
            sinew_geometry::mesh::tet_volume(x[0], x[1], x[2], x[3]) <= 0.0
        };
        let found: Vec<u32> = (0..mesh.cell_count() as u32).filter(inverted).collect();
        assert_eq!(cells, found);
        assert!(folds.iter().all(|fold| fold.landmarks == [8, 9]));
        assert!(folds.windows(2).all(|pair| pair[0].ratio <= pair[1].ratio));
        let error = morph.morphed(&mesh).unwrap_err();
        assert!(error.to_string().contains("landmarks 8 and 9"), "{error}");
    }

    #[test]
    fn morphed_mesh_has_its_nodes_where_the_morph_puts_them() {
        let mesh = box_tets(Vec3::splat(1.0), [3; 3], TetPattern::Bcc).unwrap().with_node_set("end", vec![2]).unwrap();
        let from = points(20, 11);
        let to: Vec<Vec3> = from.iter().map(|x| *x + Vec3::new(0.1 * x.y * x.y, 0.0, 0.05 * x.x)).collect();
        let morph = Morph::with_kernel(&from, &to, Kernel::Triharmonic).unwrap();
        assert!(morph.folds(&mesh).is_empty());
        let moved = morph.morphed(&mesh).unwrap();
        assert_eq!(moved.node_sets()["end"], [2]);
        for (x, y) in mesh.positions().iter().zip(moved.positions()) {
            assert_eq!(morph.apply(*x), *y);
        }
    }

    #[test]
    fn the_reverse_takes_targets_to_landmarks() {
        let (from, to) = (points(40, 21), points(40, 22));
        let back = Morph::new(&from, &to).unwrap().reversed().unwrap();
        assert!(to.iter().zip(&from).all(|(t, s)| back.apply(*t).distance(*s) < 1e-10));
    }

    #[test]
    fn bad_landmarks_are_named() {
        let from = points(12, 8);
        assert_eq!(Morph::new(&from, &from[..3]).unwrap_err(), MorphError::WrongCount { from: 12, to: 3 });
        assert_eq!(Morph::new(&from[..3], &from[..3]).unwrap_err(), MorphError::TooFew { count: 3 });
        let mut twice = from.clone();
        twice[9] = twice[4];
        assert_eq!(Morph::new(&twice, &from).unwrap_err(), MorphError::Duplicate { pair: [4, 9], distance: 0.0 });
        let mut nan = from.clone();
        nan[5].y = f64::NAN;
        assert_eq!(Morph::new(&from, &nan).unwrap_err(), MorphError::NotFinite { landmark: 5 });
        let mut flat: Vec<Vec3> = from.iter().map(|x| Vec3::new(x.x, x.y, 0.3 * x.x)).collect();
        flat[7].z += 1e-8;
        assert!(matches!(Morph::new(&flat, &from), Err(MorphError::Coplanar { farthest: 7, .. })));
    }
}
