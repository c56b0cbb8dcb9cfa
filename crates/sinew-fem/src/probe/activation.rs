//! ∂g/∂a by the activations a of muscles in cells.
//!
//! The stress of active fibers is proportional to their activation,
//! $`P = a\, \frac{\sigma}{\lambda_o} f_a(l)\, \frac{\partial\bar\lambda}{\partial F}`$,
//! so its derivative is the stress at full activation. A cell has fibers of one muscle only, so one pass over the cells
//! gives the derivatives by all activations.

#![allow(non_snake_case)]

use sinew_math::Vec3;

use crate::elastic::ElasticBlock;
use crate::material::StretchedFiber;

/// Calls `add(target, point, force)` with what each cell adds to ∂g/∂a of its muscle; `wanted` pairs muscles and
/// targets.
pub(crate) fn add_activation_gradients(
    block: &ElasticBlock,
    x: &[Vec3],
    wanted: &[(usize, usize)],
    mut add: impl FnMut(usize, u32, Vec3),
) {
    if !block.has_fibers() {
        return;
    }
    let groups = block.fiber_groups();
    for cell in 0..block.cell_count() {
        let fiber = block.fiber_of(cell);
        let Some(&(_, target)) = wanted.iter().find(|(muscle, _)| *muscle == usize::from(fiber.group)) else {
            continue;
        };
        if fiber.stress == 0.0 {
            continue;
        }
        let group = &groups[usize::from(fiber.group)];
        block.evaluate_deformation(cell, x, |k, weight, F| {
            let stretched = StretchedFiber::at(&F, fiber.direction, group.measure);
            let length = stretched.stretch() / group.optimal_stretch;
            let tension = fiber.stress / group.optimal_stretch * group.curves.active.value(length);
            let P = stretched.stress(tension) * weight;
            for a in 0..block.kind().nodes_per_cell() {
                add(target, block.point(cell, a), P * block.gradient_of(cell, k, a));
            }
        });
    }
}
