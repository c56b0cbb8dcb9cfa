//! Fibres turned away from the line they would follow from end to end.

use sinew_math::Vec3;
use thiserror::Error;

/// A fibre this near to the direction it is to lean towards, by the sine of the angle between them, has no plane to turn in.
const PARALLEL: f64 = 1e-9;

/// How far, and which way, fibres lean from the direction of the potential's gradient. Angles are signed [rad].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pennation {
    /// Not at all.
    #[default]
    None,
    /// All towards one direction, as in a unipennate muscle: in the plane of fibre and `normal`, by `angle`; away from it where negative.
    Towards {
        /// Direction to lean towards, of any length.
        normal: Vec3,
        /// How far [rad], of magnitude less than π/2.
        angle: f64,
    },
    /// Towards a plane from both sides of it, as in a bipennate muscle, whose central tendon lies in the plane; away from it where negative.
    /// Fibres in the plane stay as they are.
    TowardsPlane {
        /// A point of the plane [m].
        point: Vec3,
        /// Normal of the plane, of any length.
        normal: Vec3,
        /// How far [rad], of magnitude less than π/2.
        angle: f64,
    },
}

/// Why fibres cannot lean so.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PennationError {
    /// The angle is not one that leaves fibres a pull along the muscle.
    #[error(
        "the pennation is {degrees}°, but must lie between −90° and 90°: at 90° fibres stand across the line of action and, with cos 90° = 0, pull nothing along it"
    )]
    Angle {
        /// The angle [°].
        degrees: f64,
    },
    /// The normal is zero or not finite.
    #[error("the normal of the pennation is zero or not finite")]
    Normal,
    /// The fibre runs along the normal, so that there is no way to lean towards it.
    #[error("the fibre in cell {cell} runs along the normal of the pennation")]
    Parallel {
        /// The cell.
        cell: usize,
    },
}

impl Pennation {
    /// Checks the numbers once, before the directions are turned.
    pub(super) fn check(&self) -> Result<(), PennationError> {
        let (Self::Towards { normal, angle } | Self::TowardsPlane { normal, angle, .. }) = *self else {
            return Ok(());
        };
        if !(angle.abs() < std::f64::consts::FRAC_PI_2) {
            return Err(PennationError::Angle { degrees: angle.to_degrees() });
        }
        if !(normal.is_finite() && normal.norm() > 0.0) {
            return Err(PennationError::Normal);
        }
        Ok(())
    }

    /// The direction f of a cell at x turned by the angle α: f cos α + n⊥ sin α, with n⊥ the part of the normal across f.
    pub(super) fn turned(&self, cell: usize, f: Vec3, x: Vec3) -> Result<Vec3, PennationError> {
        let (normal, angle) = match *self {
            Self::None => return Ok(f),
            Self::Towards { normal, angle } => (normal, angle),
            Self::TowardsPlane { point, normal, angle } => {
                let side = normal.dot(x - point);
                if side == 0.0 {
                    return Ok(f);
                }
                (if side > 0.0 { -normal } else { normal }, angle)
            }
        };
        let normal = normal.normalized();
        let across = normal - f * f.dot(normal);
        if !(across.norm() > PARALLEL) {
            return Err(PennationError::Parallel { cell });
        }
        let (sin, cos) = angle.sin_cos();
        Ok((f * cos + across.normalized() * sin).normalized())
    }
}
