//! Slice edits as data: what people do with a brush or a lasso, repeatable.

use sinew_scene::recipe::shape::{EditKind, SliceEdit};

use super::image::LabelImage;

/// The label of a tissue in its edited image.
pub(super) const OWN: u16 = 1;

/// An image of one tissue after the edits, in order; `None` without edits.
pub(super) fn edited(image: &LabelImage, labels: &[u16], edits: &[SliceEdit]) -> Option<LabelImage> {
    if edits.is_empty() {
        return None;
    }
    let mut voxels: Vec<u16> = image.voxels.iter().map(|label| u16::from(labels.contains(label))).collect();
    for edit in edits {
        apply(edit, image.grid.size, &mut voxels);
    }
    Some(LabelImage { grid: image.grid, voxels, names: Default::default(), notes: Vec::new() })
}

fn apply(edit: &SliceEdit, size: [usize; 3], voxels: &mut [u16]) {
    let axis = edit.axis as usize;
    let along = [[1, 2], [0, 2], [0, 1]][axis];
    let value = if edit.kind == EditKind::Add { OWN } else { 0 };
    let [first, last] = edit.slices;
    for slice in first..=last.min(size[axis].saturating_sub(1)) {
        for b in 0..size[along[1]] {
            for a in 0..size[along[0]] {
                if covers(edit, [a as f64, b as f64]) {
                    let mut at = [0; 3];
                    (at[axis], at[along[0]], at[along[1]]) = (slice, a, b);
                    voxels[at[0] + size[0] * (at[1] + size[1] * at[2])] = value;
                }
            }
        }
    }
}

/// Whether the polygon or the brush covers the center of a voxel.
fn covers(edit: &SliceEdit, p: [f64; 2]) -> bool {
    if let Some(brush) = &edit.brush {
        let [x, y] = [p[0] - brush.center[0], p[1] - brush.center[1]];
        return x * x + y * y <= brush.radius * brush.radius;
    }
    // Even–odd rule: an edge counts if it crosses the line to the right of the point.
    let corners = &edit.polygon;
    let mut is_inside = false;
    for (i, b) in corners.iter().enumerate() {
        let a = &corners[(i + corners.len() - 1) % corners.len()];
        if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0] + (p[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) {
            is_inside = !is_inside;
        }
    }
    is_inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::VoxelGrid;
    use sinew_math::Vec3;
    use sinew_scene::recipe::shape::{Brush, SliceAxis};

    fn image() -> LabelImage {
        let grid = VoxelGrid::cubic([4, 4, 3], Vec3::zero(), 1.0);
        LabelImage { grid, voxels: vec![0; 48], names: Default::default(), notes: Vec::new() }
    }

    fn edit(kind: EditKind, polygon: Vec<[f64; 2]>, brush: Option<Brush>) -> SliceEdit {
        SliceEdit { kind, axis: SliceAxis::K, slices: [1, 7], polygon, brush }
    }

    #[test]
    fn edits_are_done_in_order_and_slices_beyond_the_image_are_left_out() {
        let square = vec![[-0.5, -0.5], [1.5, -0.5], [1.5, 1.5], [-0.5, 1.5]];
        let brush = Brush { center: [0.0, 0.0], radius: 0.5 };
        let edits = [edit(EditKind::Add, square, None), edit(EditKind::Remove, Vec::new(), Some(brush))];
        let made = edited(&image(), &[5], &edits).unwrap();
        let count: usize = made.voxels.iter().map(|v| usize::from(*v)).sum();
        // Four voxels less one, in slices 1 and 2.
        assert_eq!((count, made.voxels[16], made.voxels[17]), (6, 0, 1));
        assert!(edited(&image(), &[5], &[]).is_none());
    }
}
