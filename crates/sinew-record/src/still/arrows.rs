//! Contact forces as arrows over a picture.

use sinew_raster::{Camera, Image};

use super::lines::{Lines, Pen};

/// A position, and the force that acts there \[N\].
pub(crate) type ForceAt = ([f32; 3], [f32; 3]);

/// Maximum number of arrows, the strongest first; more are indistinguishable.
const MAX_ARROWS: usize = 4000;
/// Visible on flesh and bone alike.
const BLUE: [u8; 3] = [20, 74, 168];

/// Length of the longest arrow, in radii of the scene.
pub(crate) const LONGEST_ARROW: f32 = 0.5;

/// Scale of arrows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrowScale {
    /// Force of the longest arrow \[N\].
    pub force: f32,
    /// Its length \[m\].
    pub length: f32,
}

/// The largest of some forces \[N\].
pub(crate) fn largest_force(forces: &[ForceAt]) -> f32 {
    forces.iter().map(|(_, force)| norm(*force)).filter(|size| size.is_finite()).fold(0.0, f32::max)
}

/// Draws arrows in the direction of the force on the pushed body, visible through all bodies.
pub(crate) fn draw_forces(image: &mut Image, camera: &Camera, forces: &[ForceAt], scale: ArrowScale) {
    let mut shown: Vec<(f32, &ForceAt)> = forces.iter().map(|force| (norm(force.1), force)).collect();
    shown.retain(|(size, _)| *size > 0.0 && size.is_finite());
    shown.sort_by(|a, b| b.0.total_cmp(&a.0));
    shown.truncate(MAX_ARROWS);
    let lines = Lines::new(camera, image.width, image.height);
    let thick = (image.height as f32 / 450.0).max(1.0);
    // A bright rim first, so that arrows are seen on dark bodies too.
    let pens =
        [Pen { color: [255; 3], width: thick + 2.0, opacity: 0.35 }, Pen { color: BLUE, width: thick, opacity: 0.85 }];
    let sight: [f32; 3] = std::array::from_fn(|i| camera.target[i] - camera.eye[i]);
    for (pen, (size, (place, force))) in pens.iter().flat_map(|pen| shown.iter().map(move |arrow| (pen, *arrow))) {
        let length = scale.length * size / scale.force;
        let along = force.map(|part| part / size);
        let across = unit(cross(along, sight));
        let at = |back: f32, aside: f32| -> [f32; 3] {
            std::array::from_fn(|i| place[i] + along[i] * (length - back) + across[i] * aside)
        };
        let head = (0.25 * length).min(0.1 * scale.length);
        lines.draw_through(image, [*place, at(0.0, 0.0)], pen);
        for side in [-0.5, 0.5] {
            lines.draw_through(image, [at(head, side * head), at(0.0, 0.0)], pen);
        }
    }
}

fn norm(v: [f32; 3]) -> f32 {
    v.iter().map(|x| x * x).sum::<f32>().sqrt()
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(v: [f32; 3]) -> [f32; 3] {
    let size = norm(v);
    if size > 0.0 { v.map(|x| x / size) } else { [0.0; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_raster::{Bounds, FitParams, UpAxis};

    #[test]
    fn an_arrow_starts_at_its_place_and_points_along_its_force() {
        let bounds = Bounds::of(&[[-1.0; 3], [1.0; 3]]);
        let camera = Camera::fit(&bounds, UpAxis::Z, 1.0, &FitParams::default());
        let mut image = Image::filled(100, 100, [255; 3]);
        let forces = [([0.0; 3], [0.0, 0.0, 2.0]), ([0.0; 3], [0.0; 3]), ([0.5; 3], [f32::NAN; 3])];
        assert_eq!(largest_force(&forces), 2.0);
        draw_forces(&mut image, &camera, &forces, ArrowScale { force: 2.0, length: 0.8 });
        let inked: Vec<usize> =
            (0..100 * 100).filter(|i| image.pixel(i % 100, i / 100) != [255; 3]).map(|i| i / 100).collect();
        assert!(inked.len() > 20 && inked.iter().all(|&row| row <= 51), "upward from the center");
    }
}
