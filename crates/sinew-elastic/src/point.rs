//! Single cells, by the scalar path.

use sinew_cell::element::deformation_gradient;
use sinew_cell::material::{Material, MaterialPoint, MaterialVisitor, projection_excess};
use sinew_geometry::CellKind;
use sinew_math::{Mat3, Vec3};

use crate::fibers::Actuation;
use crate::pack::cell_volume;
use crate::{ElasticBlock, PACK};

impl ElasticBlock {
    /// Deformation gradients and weights at the points of one cell, by the scalar path.
    fn cell_points<const N: usize, const Q: usize>(&self, cell: usize, x: &[Vec3]) -> ([Mat3; Q], [f64; Q]) {
        let x: [Vec3; N] = std::array::from_fn(|a| x[self.point(cell, a) as usize]);
        let gradients = |k: usize| std::array::from_fn(|a| self.gradient_of(cell, k, a));
        (
            std::array::from_fn(|k| deformation_gradient(&x, &gradients(k))),
            std::array::from_fn(|k| self.weight_of(cell, k)),
        )
    }
}

/// Weight, deformation gradient and stress at the points of a cell.
pub(crate) struct PointsOf<'a> {
    pub block: &'a ElasticBlock,
    pub cell: usize,
    pub x: &'a [Vec3],
    pub actuation: &'a Actuation<'a>,
    pub visit: &'a mut dyn FnMut(f64, Mat3, Mat3),
}

impl MaterialVisitor for PointsOf<'_> {
    type Output = ();
    fn visit<M: Material>(self, law: M) {
        match self.block.kind {
            CellKind::Tet4 => self.run::<M, 4, 1>(law),
            CellKind::Tet10 => self.run::<M, 10, 4>(law),
            CellKind::Hex8 => self.run::<M, 8, 8>(law),
        }
    }
}

impl PointsOf<'_> {
    fn run<M: Material, const N: usize, const Q: usize>(self, law: M) {
        let (F, w) = self.block.cell_points::<N, Q>(self.cell, self.x);
        let volume = cell_volume(&law, self.block.volume, &self.block.parameters_of(self.cell), &F, &w);
        let previous = match (self.block.needs_motion(), self.actuation.motion) {
            (true, Some((x, _))) => Some(self.block.cell_points::<N, Q>(self.cell, x).0),
            _ => None,
        };
        for k in 0..Q {
            let mut P = law.stress(&F[k], &volume.point) + volume.stress::<M>(&F[k]);
            if let Some(fibers) = &self.block.fibers {
                let at = (self.cell / PACK, self.cell % PACK);
                let pull = fibers.pull(at, &F[k], previous.as_ref().map(|F| &F[k]), self.actuation);
                P += pull.fiber.stress(pull.tension);
            }
            (self.visit)(w[k], F[k], P);
        }
    }
}

/// How far the definite tangent at F is from the exact one.
pub(crate) struct ExcessOf {
    pub F: Mat3,
    pub point: MaterialPoint<f64>,
}

impl MaterialVisitor for ExcessOf {
    type Output = f64;
    fn visit<M: Material>(self, law: M) -> f64 {
        projection_excess(&law, &self.F, &self.point).law
    }
}
