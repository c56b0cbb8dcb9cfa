//! Which force does not give its exact derivative: a tangent that is wrong makes every gradient wrong.

use sinew_math::Vec3;
use sinew_math::krylov::norm;

use super::{Linearization, LinearizationError};
use crate::force::{Force, Linearized};
use crate::material::Tangent;

impl Linearization<'_> {
    /// The force, besides elasticity and contact between bodies, whose tangent differs most from its own change when
    /// the unknowns move along `d`, and the difference over the unknowns, by central differences of step `h`.
    pub(super) fn worst_force(&self, d: &[Vec3], h: f64) -> Result<Option<(String, f64)>, LinearizationError> {
        let place = self.place;
        let (model, q) = (place.model, &place.state.unknowns);
        let kinematics = &model.kinematics;
        let points = kinematics.point_count();
        let mut moved = vec![Vec3::zero(); points];
        kinematics.push_forward(q, d, &mut moved);
        let [ahead, behind] = [h, -h].map(|step| {
            let mut unknowns = q.clone();
            kinematics.advance(q, d, step, &mut unknowns);
            let mut x = vec![Vec3::zero(); points];
            kinematics.place(&unknowns, &mut x);
            x
        });
        place.pose(|problem| {
            let difference = |force: &dyn Force| {
                let (x, ctx) = (&place.state.positions, &problem.ctx);
                let mut tangent = Linearized::default();
                force.linearize(x, ctx, Tangent::Exact, &mut tangent);
                force.linearize_skew(x, ctx, &mut tangent);
                let mut product = vec![Vec3::zero(); points];
                tangent.add_product(&moved, &mut product);
                let [plus, minus] = [&ahead, &behind].map(|x| {
                    let mut gradient = vec![Vec3::zero(); points];
                    force.add_gradient(x, ctx, &mut gradient);
                    gradient
                });
                let off: Vec<Vec3> = (0..points).map(|p| (plus[p] - minus[p]) / (2.0 * h) - product[p]).collect();
                let mut pulled = vec![Vec3::zero(); d.len()];
                kinematics.pull_back(q, &off, &mut pulled);
                kinematics.filter(&mut pulled);
                norm(&pulled)
            };
            let forces = model.forces().map(|force| (force.name().to_string(), difference(force)));
            forces.max_by(|a, b| a.1.total_cmp(&b.1))
        })
    }
}
