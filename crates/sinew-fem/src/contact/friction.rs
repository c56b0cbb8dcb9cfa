//! Coulomb friction that lags by one step [Li20]: normal forces N, normals and touching places are those of the start of the step, so that friction has a
//! potential within it,
//! $$E_f = \mu\, N\, f(|u|), \qquad f(y) = \begin{cases} y^2/\epsilon - y^3/(3\epsilon^2) + \epsilon/3 & y < \epsilon \\ y & y \ge \epsilon\end{cases}$$
//! of the slip u of the step in the tangent plane. Below the slip ε the force grows smoothly from zero: a resting body creeps by less than ε per step.

use sinew_math::{Mat3, Vec3};

/// Slip speed below which friction is smoothed unless a scene says otherwise [m/s]: 1 mm/s is invisible at the scale of a body.
pub const USUAL_CREEP: f64 = 1e-3;

/// f(y).
pub(crate) fn friction_energy(y: f64, epsilon: f64) -> f64 {
    if y < epsilon { y * y / epsilon - y * y * y / (3.0 * epsilon * epsilon) + epsilon / 3.0 } else { y }
}

/// f'(y)/y: finite at y = 0.
pub(crate) fn friction_slope(y: f64, epsilon: f64) -> f64 {
    if y < epsilon { (2.0 - y / epsilon) / epsilon } else { 1.0 / y }
}

/// Second derivative of f(|u|) over displacements, positive semi-definite, for a slip u in the plane across `normal`.
pub(crate) fn friction_block(slip: Vec3, normal: Vec3, epsilon: f64) -> Mat3 {
    let y = slip.norm();
    let tangent_plane = Mat3::identity() - Mat3::outer(normal, normal);
    // f'' − f'/y along the slip: −y/ε² below ε, −1/y above.
    let along = if y < epsilon { -y / (epsilon * epsilon) } else { -1.0 / y };
    let direction = if y > 0.0 { slip / y } else { Vec3::zero() };
    tangent_plane * friction_slope(y, epsilon) + Mat3::outer(direction, direction) * along
}
