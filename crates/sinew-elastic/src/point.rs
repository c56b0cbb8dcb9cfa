//! Single cells, by the scalar path.

use sinew_cell::material::{Material, MaterialPoint, MaterialVisitor, projection_excess};
use sinew_math::lanes::{Isa, LaneKernel};
use sinew_math::{LaneScalar, Mat3, Vec3};

use crate::fibers::{Actuation, PulledCells};
use crate::law::{Lanes, LawInPack, Stresses};
use crate::pack::CellPoints;
use crate::{ElasticBlock, PACK};

/// Weight, deformation gradient and stress at the points of a cell.
pub(crate) struct PointsOf<'a> {
    pub block: &'a ElasticBlock,
    pub cell: usize,
    pub x: &'a [Vec3],
    pub actuation: &'a Actuation<'a>,
    pub visit: &'a mut dyn FnMut(f64, Mat3, Mat3),
}

impl LaneKernel for PointsOf<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { block, cell, x, actuation, visit } = self;
        let (pack, first) = (cell / PACK, cell % PACK);
        let mut points = CellPoints::<Lanes<I>>::new(block.points_per_cell());
        block.deform((pack, first), x, &mut points);
        let law = LawInPack { volume: block.volume, parameters: block.parameters_of_pack(pack), first };
        block.law.visit(Stresses::<I> { law, points: &mut points });
        let mut pulled = PulledCells::<Lanes<I>>::new();
        let pulls = pulled.evaluate::<I>(block, (pack, first), &points, actuation);
        for k in 0..points.count {
            let mut P = points.P[k];
            if let Some(pulls) = pulls {
                P += pulls[k].stress();
            }
            visit(first_lane(points.w[k]), plain(&points.F[k]), plain(&P));
        }
    }
}

/// The number in the first lane.
fn first_lane<S: LaneScalar<Element = f64>>(value: S) -> f64 {
    let mut lanes = [0.0; PACK];
    value.store(&mut lanes[..S::LANES]);
    lanes[0]
}

fn plain<S: LaneScalar<Element = f64>>(value: &Mat3<S>) -> Mat3 {
    Mat3::new(value.rows.map(|row| row.map(first_lane)))
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
