//! Parallel work on layers of cells that add into the two planes of nodes around them: even layers first, then odd
//! ones, so that threads never write to the same plane and sums keep their order.

use std::ops::Range;

use sinew_math::parallel::Splittable;

use crate::layout::Layout;

/// Minimum number of planes per thread.
const PLANES: usize = 4;

/// Calls `work` with every layer that has cells, the values of its two planes, and their offset in the whole array.
pub(crate) fn for_each_layer<T: Send>(
    layout: &Layout,
    values: &mut [T],
    work: &(impl Fn(usize, &mut [T], usize) + Sync),
) {
    for parity in 0..2 {
        let first = layout.plane(parity.min(layout.plane_count() - 1)).start;
        let pairs = layout.plane_count().saturating_sub(parity).div_ceil(2);
        split(layout, parity, 0..pairs, &mut values[first..], first, work);
    }
}

/// Splits pairs of planes from `parity` on; `values` begins with the first of them, at `offset`.
fn split<T: Send>(
    layout: &Layout,
    parity: usize,
    pairs: Range<usize>,
    values: &mut [T],
    offset: usize,
    work: &(impl Fn(usize, &mut [T], usize) + Sync),
) {
    if pairs.len() > 1 {
        let middle = pairs.start + pairs.len() / 2;
        let border = layout.plane(parity + 2 * middle).start;
        let (left, right) = values.split_at_mut(border - offset);
        rayon::join(
            || split(layout, parity, pairs.start..middle, left, offset, work),
            || split(layout, parity, middle..pairs.end, right, border, work),
        );
    } else if let Some(pair) = pairs.clone().next() {
        let layer = parity + 2 * pair;
        if !layout.blocks(layer).is_empty() {
            work(layer, values, offset);
        }
    }
}

/// Calls `work` with every layer that has cells, the values of its blocks (`per_block` each), and the index of its
/// first block.
pub(crate) fn for_each_layer_of_blocks<T: Send>(
    layout: &Layout,
    per_block: usize,
    values: &mut [T],
    work: &(impl Fn(usize, &mut [T], usize) + Sync),
) {
    split_blocks(layout, per_block, 0..layout.plane_count(), values, work);
}

fn split_blocks<T: Send>(
    layout: &Layout,
    per_block: usize,
    layers: Range<usize>,
    values: &mut [T],
    work: &(impl Fn(usize, &mut [T], usize) + Sync),
) {
    if layers.len() > 1 {
        let middle = layers.start + layers.len() / 2;
        let border = layout.blocks(middle).start - layout.blocks(layers.start).start;
        let (left, right) = values.split_at_mut(border * per_block);
        rayon::join(
            || split_blocks(layout, per_block, layers.start..middle, left, work),
            || split_blocks(layout, per_block, middle..layers.end, right, work),
        );
    } else if !layers.is_empty() && !layout.blocks(layers.start).is_empty() {
        work(layers.start, values, layout.blocks(layers.start).start);
    }
}

/// Processes each plane of an array, or of several arrays split together, in parallel.
pub(crate) fn split_planes<P: Splittable>(
    layout: &Layout,
    planes: Range<usize>,
    values: P,
    work: &(impl Fn(usize, P) + Sync),
) {
    if planes.len() <= PLANES {
        let mut rest = values;
        for plane in planes {
            let (this, after) = rest.split(layout.plane(plane).len());
            work(plane, this);
            rest = after;
        }
        return;
    }
    let middle = planes.start + planes.len() / 2;
    let (left, right) = values.split(layout.plane(middle).start - layout.plane(planes.start).start);
    rayon::join(
        || split_planes(layout, planes.start..middle, left, work),
        || split_planes(layout, middle..planes.end, right, work),
    );
}
