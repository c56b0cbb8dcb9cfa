//! Tension of a fiber: $`f = a\, f_a(l)\, f_v(v) + f_p(l)`$ \[Zajac89, Chen92\].

use crate::curve::{Curve, CurveSample};

/// The curves of a fiber.
#[derive(Clone, Debug, PartialEq)]
pub struct FiberCurves {
    /// $`f_a`$ over fiber length in optimal lengths.
    pub active: Curve,
    /// $`f_p`$ over fiber length in optimal lengths.
    pub passive: Curve,
    /// $`f_v`$ over velocity in maximum shortening speeds, negative for shortening; `None` means 1 at every velocity.
    pub velocity: Option<Curve>,
}

impl Default for FiberCurves {
    /// TER-35, variant A, whose slopes are continuous, without velocity: suitable for quasistatic flesh.
    fn default() -> Self {
        FiberCurves { active: Curve::active_teran(), passive: Curve::passive_teran(), velocity: None }
    }
}

/// Tension of a fiber in maximum isometric forces, and its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FiberTension {
    /// $`f`$.
    pub value: f64,
    /// $`\partial f / \partial l`$; negative on the descending limb of the active force.
    pub by_stretch: f64,
    /// $`\partial f / \partial a`$: the active force at this length and velocity.
    pub by_activation: f64,
    /// $`\partial f / \partial v`$.
    pub by_velocity: f64,
    /// $`a f_v \int_0^l f_a + \int_1^l f_p`$: the energy whose derivative with respect to length is the tension, at
    /// this activation and velocity.
    pub energy: f64,
}

impl FiberCurves {
    /// The curves of \[Chen92\]: Delp's active force, a passive parabola, arctangents over velocity (CHE-09, CHE-10,
    /// CHE-12).
    pub fn chen() -> FiberCurves {
        FiberCurves {
            active: Curve::active_delp(),
            passive: Curve::passive_chen(),
            velocity: Some(Curve::velocity_chen()),
        }
    }

    /// The curves of \[Blemker05\], without velocity: TER-35, variant B, SIF-019.
    pub fn blemker() -> FiberCurves {
        FiberCurves { active: Curve::active_blemker(), passive: Curve::passive_blemker(), velocity: None }
    }

    /// Tension at length `l` (in optimal lengths: stretch over the stretch at optimal length), activation `a` and
    /// velocity `v` (in maximum shortening speeds, negative for shortening). Affine in the activation (SIF-019);
    /// velocity acts only on the active part (CHE-08).
    #[inline]
    pub fn tension(&self, l: f64, a: f64, v: f64) -> FiberTension {
        let active = self.active.at(l);
        let passive = self.passive.at(l);
        let velocity =
            self.velocity.as_ref().map_or(CurveSample { value: 1.0, ..Default::default() }, |curve| curve.at(v));
        let factor = a * velocity.value;
        FiberTension {
            value: factor * active.value + passive.value,
            by_stretch: factor * active.slope + passive.slope,
            by_activation: active.value * velocity.value,
            by_velocity: a * active.value * velocity.slope,
            energy: factor * active.integral + passive.integral,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Derivatives against central differences of width 2e-6, which err by 1e-9 for curvatures up to a thousand.
    #[test]
    fn derivatives_are_those_of_the_tension() {
        const H: f64 = 1e-6;
        for curves in [FiberCurves::default(), FiberCurves::chen(), FiberCurves::blemker()] {
            for (l, a, v) in
                [(0.55, 0.3, -0.7), (0.93, 1.0, 0.4), (1.21, 0.0, 0.1), (1.37, 0.7, -0.2), (1.55, 1.0, 0.0)]
            {
                let f = |l, a, v| curves.tension(l, a, v).value;
                let tension = curves.tension(l, a, v);
                let pairs = [
                    (tension.by_stretch, f(l + H, a, v) - f(l - H, a, v)),
                    (tension.by_activation, f(l, a + H, v) - f(l, a - H, v)),
                    (tension.by_velocity, f(l, a, v + H) - f(l, a, v - H)),
                    (tension.value, curves.tension(l + H, a, v).energy - curves.tension(l - H, a, v).energy),
                ];
                for (k, (derivative, difference)) in pairs.into_iter().enumerate() {
                    assert!((derivative - difference / (2.0 * H)).abs() < 1e-8, "{k} at {l} {a} {v}: {derivative}");
                }
            }
        }
    }

    /// SIF-019: half the activation gives half the active force on top of the same passive one.
    #[test]
    fn tension_is_affine_in_activation() {
        let curves = FiberCurves::default();
        let f = |a| curves.tension(1.2, a, 0.0).value;
        assert!((f(0.5) - 0.5 * (f(0.0) + f(1.0))).abs() < 1e-15);
        assert_eq!(f(0.0), Curve::passive_teran().value(1.2));
    }

    /// CHE-08: without activation the velocity does not matter.
    #[test]
    fn velocity_acts_on_the_active_part_only() {
        let curves = FiberCurves::chen();
        assert_eq!(
            curves.tension(1.3, 0.0, -0.5),
            FiberTension {
                by_activation: curves.tension(1.3, 1.0, -0.5).by_activation,
                ..curves.tension(1.3, 0.0, 0.5)
            }
        );
    }
}
