//! Perspective camera, and the box that it must show.

use super::vector::{V3, add, cross, dot, is_finite, mad, norm, scale, sub, unit_or};

/// The axis of the world that points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UpAxis {
    /// +x up.
    X,
    /// +y up.
    #[default]
    Y,
    /// +z up.
    Z,
}

impl UpAxis {
    /// Index of the axis, 0..3.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Unit vector upward.
    pub fn direction(self) -> [f32; 3] {
        let mut up = [0.0; 3];
        up[self.index()] = 1.0;
        up
    }
}

/// Axis-aligned box around everything that should be in view; empty until the first point is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smallest coordinates.
    pub min: [f32; 3],
    /// Largest coordinates.
    pub max: [f32; 3],
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] }
    }
}

impl Bounds {
    /// The box of `points`; points that are not finite are ignored.
    pub fn of(points: &[[f32; 3]]) -> Bounds {
        let mut bounds = Bounds::default();
        points.iter().for_each(|&p| bounds.add(p));
        bounds
    }

    /// Grows the box to include `p`.
    pub fn add(&mut self, p: [f32; 3]) {
        if is_finite(p) {
            for i in 0..3 {
                self.min[i] = self.min[i].min(p[i]);
                self.max[i] = self.max[i].max(p[i]);
            }
        }
    }

    /// Grows the box to include `other`.
    pub fn union(&mut self, other: &Bounds) {
        if !other.is_empty() {
            self.add(other.min);
            self.add(other.max);
        }
    }

    /// Whether no point was added.
    pub fn is_empty(&self) -> bool {
        self.min[0] > self.max[0]
    }

    /// Center of the box; the origin for an empty one.
    pub fn center(&self) -> [f32; 3] {
        if self.is_empty() { [0.0; 3] } else { scale(add(self.min, self.max), 0.5) }
    }

    /// Half the diagonal \[m\]; 1 for an empty box and never zero, so that it can be a divisor.
    pub fn radius(&self) -> f32 {
        let r = if self.is_empty() { 1.0 } else { 0.5 * norm(sub(self.max, self.min)) };
        if r.is_finite() { r.max(1e-6) } else { 1e30 }
    }

    pub(crate) fn corners(&self) -> [V3; 8] {
        std::array::from_fn(|i| {
            std::array::from_fn(|axis| if i >> axis & 1 == 0 { self.min[axis] } else { self.max[axis] })
        })
    }
}

/// A perspective camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Position of the camera \[m\].
    pub eye: [f32; 3],
    /// The point at the center of the picture \[m\].
    pub target: [f32; 3],
    /// Upward direction in the picture; need not be orthogonal to the line of sight.
    pub up: [f32; 3],
    /// Angle of view from the lower to the upper edge of the picture, in (0, π) \[rad\].
    pub field_of_view: f32,
}

/// Direction of view of an automatic camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitParams {
    /// Angle about the up axis \[rad\]; at 0 the camera looks along a horizontal axis (for z up: along +y).
    pub azimuth: f32,
    /// Angle above the horizon \[rad\].
    pub elevation: f32,
    /// Angle of view from the lower to the upper edge of the picture, in (0, π) \[rad\].
    pub field_of_view: f32,
    /// Share of the width that stays free on the right, for a color bar.
    pub free_right: f32,
}

impl Default for FitParams {
    /// A three-quarter view from slightly above; 26° is about an 80 mm lens, so that bodies near the edge keep their
    /// shape.
    fn default() -> FitParams {
        FitParams {
            azimuth: 0.45,
            elevation: 0.29,
            field_of_view: 26.0 * std::f32::consts::PI / 180.0,
            free_right: 0.0,
        }
    }
}

/// Fraction of the picture that the automatic camera leaves free on each side.
const AUTO_MARGIN: f32 = 0.10;

/// From this elevation on, the up axis is no longer up in the picture \[rad\]: 88°.
const STEEP: f32 = 1.536;

impl Camera {
    /// A camera that sees all of `bounds` in a picture with `aspect` = width / height.
    pub fn fit(bounds: &Bounds, up: UpAxis, aspect: f32, params: &FitParams) -> Camera {
        let FitParams { azimuth, elevation, .. } = *params;
        let field_of_view = params.field_of_view.clamp(0.02, 3.0);
        let vertical = up.direction();
        // With y up: azimuth 0 looks from +z, positive angles move toward +x. The other axes are the cyclic images.
        let (mut front, mut side) = ([0.0; 3], [0.0; 3]);
        front[(up.index() + 1) % 3] = 1.0;
        side[(up.index() + 2) % 3] = 1.0;
        if up == UpAxis::Z {
            // Engineers draw x to the right with z up, so the camera stands at −y.
            (front, side) = ([0.0, -1.0, 0.0], [1.0, 0.0, 0.0]);
        }
        let horizontal = add(scale(front, azimuth.cos()), scale(side, azimuth.sin()));
        let back = add(scale(horizontal, elevation.cos()), scale(vertical, elevation.sin()));
        // Straight from above, what is at the back is up in the picture.
        let steep = sub(scale(vertical, elevation.cos()), scale(horizontal, elevation.sin()));
        let upward = if elevation.abs() < STEEP { vertical } else { steep };
        let mut camera = Camera { eye: [0.0; 3], target: bounds.center(), up: upward, field_of_view };
        let radius = bounds.radius();
        let corners = if bounds.is_empty() { [[0.0; 3]; 8] } else { bounds.corners() };
        let tan_y = (0.5 * field_of_view).tan();
        let free = params.free_right.clamp(0.0, 0.5);
        let reach_x = tan_y * aspect * (1.0 - 2.0 * AUTO_MARGIN - free);
        let reach_y = tan_y * (1.0 - 2.0 * AUTO_MARGIN);
        let mut distance = 3.0 * radius / tan_y;
        // Alternate: center the projected box, then move back until it fits. Four rounds converge to a pixel.
        for _ in 0..4 {
            camera.eye = mad(camera.target, back, distance);
            let basis = camera.basis();
            let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
            for corner in corners {
                let [x, y, depth] = basis.to_camera(corner);
                for (axis, v) in [x / depth, y / depth].into_iter().enumerate() {
                    low[axis] = low[axis].min(v);
                    high[axis] = high[axis].max(v);
                }
            }
            let aside = free * tan_y * aspect;
            let shift = [(0.5 * (low[0] + high[0]) + aside) * distance, 0.5 * (low[1] + high[1]) * distance];
            camera.target = mad(mad(camera.target, basis.right, shift[0]), basis.up, shift[1]);
            let half = [0.5 * (high[0] - low[0]), 0.5 * (high[1] - low[1])];
            distance = (distance * (half[0] / reach_x).max(half[1] / reach_y)).max(0.02 * radius / tan_y);
        }
        // The rounds measure at the center of the box; its front is nearer and must stay in the picture.
        camera.eye = mad(camera.target, back, distance.max(1.05 * radius));
        camera
    }

    /// The orthonormal frame of the camera.
    pub fn basis(&self) -> CameraBasis {
        let forward = unit_or(sub(self.target, self.eye), [0.0, 0.0, -1.0]);
        // Looking straight along `up` leaves no horizon: use any right vector then.
        let fallback = super::vector::frame_about(forward).0;
        let right = cross(forward, self.up);
        let right = if norm(right) > 1e-4 * norm(self.up) { unit_or(right, fallback) } else { fallback };
        CameraBasis { eye: self.eye, right, up: cross(right, forward), forward }
    }
}

/// Orthonormal frame of a camera.
#[derive(Clone, Copy, Debug)]
pub struct CameraBasis {
    /// Position of the camera.
    pub eye: [f32; 3],
    /// Right in the picture.
    pub right: [f32; 3],
    /// Up in the picture.
    pub up: [f32; 3],
    /// Into the picture.
    pub forward: [f32; 3],
}

impl CameraBasis {
    /// (right, up, depth) of a world point.
    pub fn to_camera(self, p: [f32; 3]) -> [f32; 3] {
        let d = sub(p, self.eye);
        [dot(d, self.right), dot(d, self.up), dot(d, self.forward)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every corner of the box is inside the picture, |x/z| ≤ tan(fov/2)·aspect and |y/z| ≤ tan(fov/2), and the box
    /// fills at least a third of one direction.
    #[test]
    fn fitted_camera_sees_the_whole_box() {
        for up in [UpAxis::X, UpAxis::Y, UpAxis::Z] {
            for size in [[1.0, 1.0, 1.0], [0.01, 3.0, 0.2], [5.0, 0.1, 0.1], [1e-3, 1e-3, 1e-3]] {
                let bounds = Bounds { min: [4.0, -2.0, 7.0], max: [4.0 + size[0], -2.0 + size[1], 7.0 + size[2]] };
                let camera = Camera::fit(&bounds, up, 16.0 / 9.0, &FitParams::default());
                let tan = (0.5 * camera.field_of_view).tan();
                let mut largest = 0.0f32;
                for corner in bounds.corners() {
                    let [x, y, depth] = camera.basis().to_camera(corner);
                    assert!(depth > 0.0, "box is before the camera");
                    let (u, v) = (x / depth / (tan * 16.0 / 9.0), y / depth / tan);
                    assert!(u.abs() < 1.0 && v.abs() < 1.0, "{up:?} {size:?}: corner at {u}, {v}");
                    largest = largest.max(u.abs()).max(v.abs());
                }
                assert!(largest > 0.33, "{up:?} {size:?}: only {largest} of the picture is used");
            }
        }
    }

    /// From above, +y is up in the picture and +x to the right; from the right (+x), +y is to the right.
    #[test]
    fn views_along_the_axes_are_those_of_a_drawing() {
        let bounds = Bounds { min: [-1.0; 3], max: [1.0; 3] };
        let degrees = |azimuth: f32, elevation: f32| FitParams {
            azimuth: azimuth.to_radians(),
            elevation: elevation.to_radians(),
            ..FitParams::default()
        };
        let cases = [
            (degrees(0.0, 0.0), [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            (degrees(90.0, 0.0), [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
            (degrees(0.0, 90.0), [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
            (degrees(0.0, -90.0), [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
        ];
        for (params, right, up) in cases {
            let basis = Camera::fit(&bounds, UpAxis::Z, 1.0, &params).basis();
            assert!(dot(basis.right, right) > 0.999 && dot(basis.up, up) > 0.999, "{params:?}: {basis:?}");
        }
    }

    #[test]
    fn the_right_side_stays_free_for_a_color_bar() {
        let bounds = Bounds { min: [-1.0; 3], max: [1.0; 3] };
        let params = FitParams { free_right: 0.25, ..FitParams::default() };
        let camera = Camera::fit(&bounds, UpAxis::Z, 1.5, &params);
        let reach = 1.5 * (0.5 * camera.field_of_view).tan();
        for corner in bounds.corners() {
            let [x, _, depth] = camera.basis().to_camera(corner);
            assert!((-1.0..0.5).contains(&(x / depth / reach)), "{}", x / depth / reach);
        }
    }

    #[test]
    fn empty_and_not_finite_bounds_still_give_a_camera() {
        let mut bounds = Bounds::of(&[[f32::NAN, 0.0, 0.0]]);
        assert!(bounds.is_empty());
        let camera = Camera::fit(&bounds, UpAxis::Z, 1.0, &FitParams::default());
        assert!(is_finite(camera.eye) && norm(sub(camera.eye, camera.target)) > 0.0);
        bounds.add([1.0, 2.0, 3.0]);
        assert_eq!(bounds.center(), [1.0, 2.0, 3.0]);
    }
}
