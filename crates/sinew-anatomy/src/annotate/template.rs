//! Fibers of one muscle for another of the same architecture \[Teran05\].
//!
//! A map from the new muscle to the template takes the middle of each cell there, and the inverse of its derivative
//! brings the fiber back: f = J⁻¹ f_t / |J⁻¹ f_t|. The map is affine between the axes of both muscles, or a morph.

use sinew_geometry::embedding::Outside;
use sinew_geometry::{CellMesh, Embedding};
use sinew_math::eigen::symmetric_eigen;
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};

use super::error::AnnotateError;
use super::select::centers;
use crate::morph::Morph;

/// Axes and size of a muscle: from the middle of the origin to that of the insertion, and across.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuscleAxes {
    /// Middle of the origin \[m\].
    pub origin: Vec3,
    /// Columns: unit vectors along the muscle and across it, right-handed.
    pub frame: Mat3,
    /// Length from origin to insertion, and root mean square width along both other axes \[m\].
    pub size: Vec3,
    /// Mean offset of the muscle from the straight line along both other axes \[m\].
    offset: [f64; 2],
}

impl MuscleAxes {
    /// Axes of a mesh between two sets of nodes.
    ///
    /// `across` names the second axis, for example toward the front of the body in both muscles. Without it, it is the
    /// direction in which the muscle is widest, pointing to where it reaches farther from its middle (by the third
    /// moment): enough for muscles that are not symmetric.
    pub fn new(
        mesh: &CellMesh,
        origin: &[u32],
        insertion: &[u32],
        across: Option<Vec3>,
    ) -> Result<Self, AnnotateError> {
        let start = middle(mesh, origin).ok_or(AnnotateError::EmptySet { set: "origin" })?;
        let end = middle(mesh, insertion).ok_or(AnnotateError::EmptySet { set: "insertion" })?;
        let length = start.distance(end);
        let along = (end - start) / length;
        if !along.is_finite() {
            return Err(AnnotateError::NoAxes { what: "the distance from origin to insertion" });
        }
        let cells: Vec<(Vec3, f64)> = centers(mesh).into_iter().zip(mesh.cell_volumes()).collect();
        let second = match across {
            Some(across) => across - along * along.dot(across),
            None => widest(&cells, start, along),
        };
        if !(second.is_finite() && second.norm() > 0.0) {
            return Err(AnnotateError::NoAxes { what: "the direction across" });
        }
        let second = second.normalized();
        let frame = Mat3::from_columns(along, second, along.cross(second));
        let ([u, v], [width_u, width_v]) = widths(&cells, start, &frame);
        if !(width_u > 0.0 && width_v > 0.0) {
            return Err(AnnotateError::NoAxes { what: "the width" });
        }
        Ok(Self { origin: start, frame, size: Vec3::new(length, width_u, width_v), offset: [u, v] })
    }

    /// The affine map A x + b to the same place of another muscle.
    fn map_to(&self, other: &Self) -> (Mat3, Vec3) {
        let scale = Mat3::diagonal(other.size.component_div(self.size));
        let linear = other.frame * scale * self.frame.transpose();
        (linear, other.center_line() - linear * self.center_line())
    }

    /// The point of the muscle that has all axial coordinates zero \[m\].
    fn center_line(&self) -> Vec3 {
        self.origin + self.frame.column(1) * self.offset[0] + self.frame.column(2) * self.offset[1]
    }
}

fn middle(mesh: &CellMesh, nodes: &[u32]) -> Option<Vec3> {
    let found: Option<Vec<Vec3>> = nodes.iter().map(|node| mesh.positions().get(*node as usize).copied()).collect();
    let found = found.filter(|found| !found.is_empty())?;
    Some(found.iter().copied().sum::<Vec3>() / found.len() as f64)
}

/// Means and root mean squares of both coordinates across, by volume.
fn widths(cells: &[(Vec3, f64)], start: Vec3, frame: &Mat3) -> ([f64; 2], [f64; 2]) {
    let total: f64 = cells.iter().map(|(_, volume)| volume).sum();
    let local = |k: usize| cells.iter().map(move |(x, volume)| (frame.column(k).dot(*x - start), volume / total));
    let means = [1, 2].map(|k| local(k).map(|(u, w)| w * u).sum::<f64>());
    let variance = |k: usize, mean: f64| local(k).map(|(u, w)| w * (u - mean) * (u - mean)).sum::<f64>();
    (means, [variance(1, means[0]).sqrt(), variance(2, means[1]).sqrt()])
}

/// The direction across `along` with the largest variance, pointing to the side with the longer tail.
fn widest(cells: &[(Vec3, f64)], start: Vec3, along: Vec3) -> Vec3 {
    let flat = |x: Vec3| (x - start) - along * along.dot(x - start);
    let total: f64 = cells.iter().map(|(_, volume)| volume).sum();
    let mean = cells.iter().map(|(x, volume)| flat(*x) * (volume / total)).sum::<Vec3>();
    let mut moments = [0.0; 9];
    for (x, volume) in cells {
        let d = flat(*x) - mean;
        for i in 0..3 {
            for j in 0..3 {
                moments[3 * i + j] += volume * d[i] * d[j];
            }
        }
    }
    let eigen = symmetric_eigen(&moments, 3);
    let axis = Vec3::new(eigen.vectors[6], eigen.vectors[7], eigen.vectors[8]);
    let third: f64 = cells.iter().map(|(x, volume)| volume * axis.dot(flat(*x) - mean).powi(3)).sum();
    if third < 0.0 { -axis } else { axis }
}

/// Fibers of a muscle that serve as a pattern for others.
#[derive(Clone, Debug)]
pub struct FiberTemplate<'a> {
    mesh: &'a CellMesh,
    fibers: &'a [Vec3],
}

impl<'a> FiberTemplate<'a> {
    /// A mesh with a unit direction per cell, in its own place and size.
    pub fn new(mesh: &'a CellMesh, fibers: &'a [Vec3]) -> Result<Self, AnnotateError> {
        if fibers.len() != mesh.cell_count() {
            let (what, expected, found) = ("fibers of cells", mesh.cell_count(), fibers.len());
            return Err(AnnotateError::WrongCount { what, expected, found });
        }
        Ok(Self { mesh, fibers })
    }

    /// Fibers for another muscle by the axes of both: the pattern is moved, turned and scaled.
    pub fn by_axes(&self, own: &MuscleAxes, target: &CellMesh, axes: &MuscleAxes) -> Result<Vec<Vec3>, AnnotateError> {
        let (linear, shift) = axes.map_to(own);
        let inverse = linear.inverse();
        let places: Vec<Vec3> = centers(target).into_iter().map(|x| linear * x + shift).collect();
        let found = self.at(&places)?;
        Ok(found.into_iter().map(|f| (inverse * f).normalized()).collect())
    }

    /// Fibers for another muscle by a morph from it to the template, [`Morph::reversed`] of the one that makes the muscle
    /// from the template. Where the morph folds, the direction of the template is taken.
    pub fn by_morph(&self, target: &CellMesh, template_from_target: &Morph) -> Result<Vec<Vec3>, AnnotateError> {
        let centers = centers(target);
        let found = self.at(&template_from_target.apply_all(&centers))?;
        let back = |(f, x): (&Vec3, &Vec3)| {
            let jacobian = template_from_target.jacobian(*x);
            let direction = (jacobian.inverse() * *f).normalized();
            if jacobian.determinant() > 0.0 && direction.is_finite() { direction } else { *f }
        };
        Ok(found.par_iter().zip(&centers).map(back).collect())
    }

    /// Directions at places of the template; outside of it those of the nearest cell.
    fn at(&self, places: &[Vec3]) -> Result<Vec<Vec3>, AnnotateError> {
        let bound = Embedding::bind_with(self.mesh, places, Outside::Clamp)?;
        Ok(bound.cells().iter().map(|cell| self.fibers[*cell as usize]).collect())
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{TetPattern, box_tets};

    use super::*;

    /// A brick whose fibers fan out: at (x, y, z) along (1, 2 y, z).
    fn template() -> (CellMesh, Vec<Vec3>) {
        let mesh = box_tets(Vec3::new(0.4, 0.2, 0.1), [12, 8, 4], TetPattern::Kuhn).unwrap();
        let mesh = mesh.mapped(|x| x - Vec3::new(0.0, 0.06, 0.05)).unwrap().0;
        let fibers = centers(&mesh).iter().map(|x| pattern(*x)).collect();
        (mesh, fibers)
    }

    fn pattern(x: Vec3) -> Vec3 {
        Vec3::new(1.0, 2.0 * x.y, x.z).normalized()
    }

    fn ends(mesh: &CellMesh, along: Vec3) -> [Vec<u32>; 2] {
        let heights: Vec<f64> = mesh.positions().iter().map(|x| along.dot(*x)).collect();
        let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
        let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let near =
            |limit: f64| (0..heights.len() as u32).filter(|n| (heights[*n as usize] - limit).abs() < 1e-9).collect();
        [near(low), near(high)]
    }

    /// Moved, turned and stretched along its axes, the muscle has the same fibers moved along: f ∝ A f_t.
    #[test]
    fn axes_carry_fibers_to_a_moved_and_stretched_muscle() {
        let (mesh, fibers) = template();
        let turn = Mat3::from_columns(Vec3::unit(1), Vec3::unit(2), Vec3::unit(0));
        let map = turn * Mat3::diagonal(Vec3::new(1.5, 0.8, 1.1));
        let target = mesh.mapped(|x| map * x + Vec3::new(3.0, -1.0, 2.0)).unwrap().0;
        let [origin, insertion] = ends(&mesh, Vec3::unit(0));
        let [target_origin, target_insertion] = ends(&target, turn * Vec3::unit(0));
        let across = Vec3::unit(1);
        let own = MuscleAxes::new(&mesh, &origin, &insertion, Some(across)).unwrap();
        let axes = MuscleAxes::new(&target, &target_origin, &target_insertion, Some(turn * across)).unwrap();
        let carried = FiberTemplate::new(&mesh, &fibers).unwrap().by_axes(&own, &target, &axes).unwrap();
        for (f, carried) in fibers.iter().zip(&carried) {
            assert!((map * *f).normalized().distance(*carried) < 1e-9);
        }
    }

    /// Without a direction across, the widest one is taken, pointing to the longer side.
    #[test]
    fn axes_of_a_lopsided_muscle_are_found() {
        let (mesh, _) = template();
        // Thinner toward larger y, which is the longer side of the middle then.
        let lopsided = |x: Vec3| Vec3::new(x.x, x.y, x.z * (0.76 - 4.0 * x.y));
        let mesh = mesh.mapped(lopsided).unwrap().0;
        let [origin, insertion] = ends(&mesh, Vec3::unit(0));
        let axes = MuscleAxes::new(&mesh, &origin, &insertion, None).unwrap();
        assert!(axes.frame.column(0).distance(Vec3::unit(0)) < 1e-9);
        // The diagonals of the cells are not symmetric, and their middles stand for their shapes.
        assert!(axes.frame.column(1).distance(Vec3::unit(1)) < 0.02);
        assert!((axes.size.x - 0.4).abs() < 1e-12);
    }

    /// An affine morph gives what the affine map gives; a bent one turns the fibers with its derivative.
    #[test]
    fn morph_carries_fibers_with_its_derivative() {
        let (mesh, fibers) = template();
        let bend = |x: Vec3| Vec3::new(x.x, x.y + 0.5 * x.x * x.x, x.z);
        let target = mesh.mapped(bend).unwrap().0;
        // Landmarks on every third node.
        let landmarks: Vec<Vec3> = mesh.positions().iter().step_by(3).copied().collect();
        let targets: Vec<Vec3> = landmarks.iter().map(|x| bend(*x)).collect();
        let forth = Morph::with_kernel(&landmarks, &targets, crate::morph::Kernel::Triharmonic).unwrap();
        let carried =
            FiberTemplate::new(&mesh, &fibers).unwrap().by_morph(&target, &forth.reversed().unwrap()).unwrap();
        let angles = carried.iter().zip(centers(&mesh)).map(|(f, x)| {
            let expected = pattern(x) + Vec3::unit(1) * (x.x * pattern(x).x);
            f.cross(expected.normalized()).norm().asin().to_degrees()
        });
        // Fibers are constant in each cell, 0.03 wide, and change by up to 2 per meter: 3°.
        let worst = angles.fold(0.0, f64::max);
        assert!(worst < 4.0, "{worst}°");
    }

    #[test]
    fn muscles_without_axes_are_told() {
        let (mesh, fibers) = template();
        let [origin, _] = ends(&mesh, Vec3::unit(0));
        let axes = |a: &[u32], b: &[u32], across| MuscleAxes::new(&mesh, a, b, across).unwrap_err();
        assert_eq!(axes(&origin, &[], None), AnnotateError::EmptySet { set: "insertion" });
        assert!(matches!(axes(&origin, &origin, None), AnnotateError::NoAxes { .. }));
        assert!(matches!(axes(&[0], &[12], Some(Vec3::zero())), AnnotateError::NoAxes { .. }));
        assert!(FiberTemplate::new(&mesh, &fibers[1..]).is_err());
    }
}
