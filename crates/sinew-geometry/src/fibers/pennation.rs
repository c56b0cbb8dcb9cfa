//! Fibers rotated away from the line from end to end.

use sinew_math::Vec3;
use thiserror::Error;

/// Sine of the angle below which a fiber and the direction it leans toward count as parallel, with no plane to rotate
/// in.
const PARALLEL: f64 = 1e-9;

/// Angle and direction by which fibers lean from the gradient of the potential. Angles are signed \[rad\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pennation {
    /// No pennation.
    #[default]
    None,
    /// All toward one direction, as in a unipennate muscle: by `angle` in the plane of fiber and `normal`; away from it
    /// if negative.
    Towards {
        /// Direction to lean toward, of any length.
        normal: Vec3,
        /// Pennation angle \[rad\], of magnitude less than π/2.
        angle: f64,
    },
    /// Toward a plane from both sides, as in a bipennate muscle, whose central tendon lies in the plane; away from it
    /// if negative. Fibers in the plane are unchanged.
    TowardsPlane {
        /// A point of the plane \[m\].
        point: Vec3,
        /// Normal of the plane, of any length.
        normal: Vec3,
        /// Pennation angle \[rad\], of magnitude less than π/2.
        angle: f64,
    },
}

/// Why a pennation is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PennationError {
    /// At this angle fibers do not pull along the muscle.
    #[error(
        "the pennation is {degrees}°, but must lie between −90° and 90°: at 90° fibers are perpendicular to the line of action and, with cos 90° = 0, do not pull along it"
    )]
    Angle {
        /// The angle \[°\].
        degrees: f64,
    },
    /// The normal is zero or not finite.
    #[error("the normal of the pennation is zero or not finite")]
    Normal,
    /// The fiber is parallel to the normal, so it cannot lean toward it.
    #[error("the fiber in cell {cell} runs along the normal of the pennation")]
    Parallel {
        /// The cell.
        cell: usize,
    },
}

impl Pennation {
    /// Checks the values once, before directions are rotated.
    pub fn check(&self) -> Result<(), PennationError> {
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

    /// The direction f of a cell at x rotated by the angle α: f cos α + n⊥ sin α, with n⊥ the normalized part of the
    /// normal across f.
    pub fn rotated(&self, cell: usize, f: Vec3, x: Vec3) -> Result<Vec3, PennationError> {
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
