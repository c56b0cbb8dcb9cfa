//! Initial pose, and motion over time.

use sinew_geometry::shape::Pose;
use sinew_math::{Quaternion, Vec3};

use crate::{
    decode::{
        codec::{length, quantity},
        compound::{direction, matrix, track, vector},
        table::table,
    },
    track::Track,
    value::Dimension,
};

table! {
    /// A rotation by an angle about an axis through the origin.
    pub struct Rotation as "rotation" {
        /// The axis; any length.
        axis: [f64; 3] = direction(), required, example([0, 0, 1]);
        /// The angle \[rad\], counterclockwise when the axis points at you.
        angle: f64 = quantity(Dimension::ANGLE), required, example("45 deg");
    }
}

table! {
    /// A rotation over time about an axis through a point.
    pub struct Turn as "turn" {
        /// The axis; any length.
        axis: [f64; 3] = direction(), required, example([1, 0, 0]);
        /// A point on the axis, in world coordinates \[m\].
        through: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// The angle over time \[rad\].
        angle: Track<f64> = track(quantity(Dimension::ANGLE)), required, example([["0 s", 0], ["1 s", "90 deg"]]);
    }
}

table! {
    /// A prescribed motion in the world: first `deformation` about `about`, then `rotation` about its axis, then
    /// `translation`, all applied to the initial pose: x(t) = through + R(t) (about + F(t) (x(0) − about) − through) +
    /// translation(t).
    pub struct Motion as "motion" {
        /// Displacement over time \[m\].
        translation: Track<[f64; 3]> = track(vector(length())), default([0, 0, 0]), example([["0 s", [0, 0, 0]], ["1 s", ["5 cm", 0, 0]]]);
        /// Rotation over time about an axis through a point.
        rotation: Option<Turn> = table(), optional;
        /// A 3×3 matrix F over time that stretches and shears about `about`; for pins only.
        deformation: Option<Track<[[f64; 3]; 3]>> = track(matrix()), optional, example([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]);
        /// The fixed point of `deformation`, in world coordinates \[m\].
        about: [f64; 3] = vector(length()), default([0, 0, 0]);
    }
}

/// A pose from a scene's `position` and `rotation`.
pub fn pose(position: [f64; 3], rotation: Option<&Rotation>) -> Pose {
    let rotation =
        rotation.map_or(Quaternion::identity(), |r| Quaternion::from_axis_angle(Vec3::from(r.axis), r.angle));
    Pose { translation: Vec3::from(position), rotation }
}
