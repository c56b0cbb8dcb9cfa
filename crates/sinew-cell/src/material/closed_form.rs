//! Closed forms of homogeneous deformations: uniaxial and biaxial tension and simple shear of a block.
//!
//! They follow from the nominal principal stresses ψᵢ = ∂ψ/∂λᵢ of [`DeclaredLaw::principal_stresses`], which share no
//! code with the tensor formulas of the laws. Validation scenes and tests compare with these numbers.
//!
//! Directions: x is stretched or sheared, z is free or out of plane. Nominal stress is force per rest area (P), Cauchy
//! stress force per deformed area (P Fᵀ/J). For the small-strain law the two areas, and the two stresses, are equal.

use sinew_math::{ComplexStep, Mat3, Scalar, Vec3, complex_step};
use thiserror::Error;

use super::declaration::{DeclaredLaw, FiberRole, MAX_KEYS, MaterialError, Values};
use super::invertible::{Extension, Inversion};
use super::spec::{MaterialSpec, MaterialVisitor};

/// A bar pulled along x with free sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniaxial {
    /// Prescribed stretch λ along x.
    pub stretch: f64,
    /// Stretch of y and z for which the sides are free of traction.
    pub lateral_stretch: f64,
    /// Force per rest area P₁₁ \[Pa\].
    pub nominal_stress: f64,
    /// Force per deformed area \[Pa\].
    pub cauchy_stress: f64,
}

/// A sheet pulled along x and y with free faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Biaxial {
    /// Prescribed stretches along x and y.
    pub stretches: [f64; 2],
    /// Stretch along z for which the faces are free of traction.
    pub thickness_stretch: f64,
    /// Forces per rest area P₁₁, P₂₂ \[Pa\].
    pub nominal_stresses: [f64; 2],
    /// Forces per deformed area \[Pa\].
    pub cauchy_stresses: [f64; 2],
}

/// A block sheared by F = I + γ e₁ ⊗ e₂.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimpleShear {
    /// Amount of shear γ.
    pub shear: f64,
    /// First Piola–Kirchhoff stress P \[Pa\].
    pub nominal_stress: Mat3,
    /// Cauchy stress \[Pa\].
    pub cauchy_stress: Mat3,
}

/// Why there is no closed form.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ClosedFormError {
    /// The material itself is impossible.
    #[error(transparent)]
    Material(#[from] MaterialError),
    /// A prescribed stretch or shear is not finite, or a stretch is not positive.
    #[error("{value} is not a possible stretch or shear")]
    Deformation {
        /// The value.
        value: f64,
    },
    /// No positive lateral stretch frees the sides from traction: the law collapses before.
    #[error("no lateral stretch frees the sides: traction {traction} Pa at stretch {stretch}")]
    NoEquilibrium {
        /// The last stretch tried.
        stretch: f64,
        /// The traction that remains \[Pa\].
        traction: f64,
    },
    /// The fibers do not run along an axis, or make the free sides move unequally.
    #[error("no closed form: the fibers must run along an axis, and be slack where sides are free")]
    Fibers,
}

/// Nominal principal stresses ψᵢ(λ₁, λ₂, λ₃) \[Pa\] of a material, fibers along an axis included.
pub fn principal_nominal_stresses<S: Scalar>(material: &MaterialSpec, stretches: [S; 3]) -> [S; 3] {
    let fiber = material.fiber();
    let matrix = matrix_stresses(material, stretches);
    if material.law().fiber_role() != FiberRole::AddedTension {
        return matrix;
    }
    let forward = [0, 1, 2].map(|i| stretches[i] * S::splat(fiber[i]));
    let length = (forward[0] * forward[0] + forward[1] * forward[1] + forward[2] * forward[2]).sqrt();
    let tension = material.visit(Tension { values: values_of(material), length });
    [0, 1, 2].map(|i| matrix[i] + tension * forward[i] * S::splat(fiber[i]) / length)
}

/// Nominal principal stresses \[Pa\] without the tension of fibers.
fn matrix_stresses<S: Scalar>(material: &MaterialSpec, stretches: [S; 3]) -> [S; 3] {
    let plain = |stretches| material.visit(Stresses { material: *material, stretches });
    match material.inversion() {
        Some(inversion) => extended_stresses(plain, material.lame(), inversion, stretches),
        None => plain(stretches),
    }
}

fn values_of(material: &MaterialSpec) -> Values {
    let mut values = [0.0; MAX_KEYS];
    values[..material.values().len()].copy_from_slice(material.values());
    values
}

struct Stresses<S> {
    material: MaterialSpec,
    stretches: [S; 3],
}

impl<S: Scalar> MaterialVisitor for Stresses<S> {
    type Output = [S; 3];
    fn visit<M: DeclaredLaw>(self, _: M) -> [S; 3] {
        M::principal_stresses(values_of(&self.material), self.material.fiber(), self.stretches)
    }
}

struct Tension<S> {
    values: Values,
    length: S,
}

impl<S: Scalar> MaterialVisitor for Tension<S> {
    type Output = S;
    fn visit<M: DeclaredLaw>(self, _: M) -> S {
        M::fiber_tension(self.values, self.length)
    }
}

/// Stresses of a law whose stretches below the threshold are replaced by h(s) = ε/(1 + t + t²), t = 1 − s/ε, with the
/// spring p(s) = (λ + 2μ)/2 · t³/(1 + t); or by ε, for the constant extension.
fn extended_stresses<S: Scalar>(
    law: impl Fn([S; 3]) -> [S; 3],
    (mu, lambda): (f64, f64),
    inversion: Inversion,
    stretches: [S; 3],
) -> [S; 3] {
    let one = S::one();
    let epsilon = S::splat(inversion.threshold);
    if inversion.extension == Extension::Constant {
        return law(stretches.map(|s| s.max(epsilon)));
    }
    let is_below = stretches.map(|s| s.lt(epsilon));
    let depth = [0, 1, 2].map(|i| S::select(is_below[i], one - stretches[i] / epsilon, S::zero()));
    let mapped =
        [0, 1, 2].map(|i| S::select(is_below[i], epsilon / (one + depth[i] + depth[i] * depth[i]), stretches[i]));
    let plain = law(mapped);
    [0, 1, 2].map(|i| {
        let (t, h) = (depth[i], mapped[i]);
        let chain = plain[i] * (h / epsilon) * (h / epsilon) * (one + t + t);
        let spring = S::splat(0.5 * (lambda + 2.0 * mu)) / epsilon * (one - t - t - (one + t).powi(-2));
        S::select(is_below[i], chain + spring, plain[i])
    })
}

/// Pulls a bar along x to `stretch`, sides free.
pub fn uniaxial(material: &MaterialSpec, stretch: f64) -> Result<Uniaxial, ClosedFormError> {
    material.validate()?;
    check_fibers(material)?;
    check_stretch(stretch)?;
    let (_, poisson) = material.moduli().young_poisson();
    let guess = stretch.powf(-poisson);
    let lateral_stretch = free_stretch(material, guess, Free::BothSides(stretch))?;
    let [nominal_stress, y, _] = principal_nominal_stresses(material, [stretch, lateral_stretch, lateral_stretch]);
    if y.abs() > 1e-9 * material.moduli().young_poisson().0 {
        return Err(ClosedFormError::Fibers);
    }
    let area = deformed_area(material, lateral_stretch * lateral_stretch);
    Ok(Uniaxial { stretch, lateral_stretch, nominal_stress, cauchy_stress: nominal_stress / area })
}

/// Pulls a sheet to `stretches` along x and y, faces free.
pub fn biaxial(material: &MaterialSpec, stretches: [f64; 2]) -> Result<Biaxial, ClosedFormError> {
    material.validate()?;
    check_fibers(material)?;
    let [x, y] = stretches;
    check_stretch(x)?;
    check_stretch(y)?;
    let (_, poisson) = material.moduli().young_poisson();
    let guess = (x * y).powf(-poisson / (1.0 - poisson));
    let thickness_stretch = free_stretch(material, guess, Free::Faces(x, y))?;
    let [px, py, _] = principal_nominal_stresses(material, [x, y, thickness_stretch]);
    let cauchy_stresses =
        [px / deformed_area(material, y * thickness_stretch), py / deformed_area(material, x * thickness_stretch)];
    Ok(Biaxial { stretches, thickness_stretch, nominal_stresses: [px, py], cauchy_stresses })
}

/// Shears a block by γ in the x direction per unit of y.
///
/// The principal stretches are λ = (γ + √(γ² + 4))/2, 1/λ and 1; the first principal axis after deformation is (λ, 1,
/// 0).
pub fn simple_shear(material: &MaterialSpec, shear: f64) -> Result<SimpleShear, ClosedFormError> {
    material.validate()?;
    if !shear.is_finite() {
        return Err(ClosedFormError::Deformation { value: shear });
    }
    if !material.law().is_objective() {
        let (mu, _) = material.lame();
        let stress = Mat3::new([[0.0, mu * shear, 0.0], [mu * shear, 0.0, 0.0], [0.0; 3]]);
        return Ok(SimpleShear { shear, nominal_stress: stress, cauchy_stress: stress });
    }
    if material.law().fiber_role() == FiberRole::Inseparable {
        return Err(ClosedFormError::Fibers);
    }
    let stretch = 0.5 * (shear + (shear * shear + 4.0).sqrt());
    let stretches = [stretch, 1.0 / stretch, 1.0];
    let nominal = matrix_stresses(material, stretches);
    // The volume is constant, so the Cauchy stress along each axis is λᵢ ψᵢ.
    let [t1, t2, t3] = [0, 1, 2].map(|i| stretches[i] * nominal[i]);
    let (cos2, sin2) = (stretch * stretch / (1.0 + stretch * stretch), 1.0 / (1.0 + stretch * stretch));
    let s11 = t1 * cos2 + t2 * sin2;
    let s22 = t1 * sin2 + t2 * cos2;
    let s12 = (t1 - t2) * stretch / (1.0 + stretch * stretch);
    let mut out = SimpleShear {
        shear,
        // P = σ F⁻ᵀ with F⁻ᵀ = I − γ e₂ ⊗ e₁.
        nominal_stress: Mat3::new([[s11 - shear * s12, s12, 0.0], [s12 - shear * s22, s22, 0.0], [0.0, 0.0, t3]]),
        cauchy_stress: Mat3::new([[s11, s12, 0.0], [s12, s22, 0.0], [0.0, 0.0, t3]]),
    };
    // Fibers do not lie in the principal axes: their tension is added.
    if material.law().fiber_role() == FiberRole::AddedTension {
        let fiber = material.fiber();
        let forward = Vec3::new(fiber.x + shear * fiber.y, fiber.y, fiber.z);
        let length = forward.norm();
        let pull = forward * (material.visit(Tension { values: values_of(material), length }) / length);
        out.nominal_stress += Mat3::outer(pull, fiber);
        out.cauchy_stress += Mat3::outer(pull, forward);
    }
    Ok(out)
}

fn check_fibers(material: &MaterialSpec) -> Result<(), ClosedFormError> {
    let is_along_axis = material.fiber().abs().max_component() >= 1.0 - 1e-12;
    if is_along_axis || !material.law().needs_fibers() { Ok(()) } else { Err(ClosedFormError::Fibers) }
}

fn check_stretch(value: f64) -> Result<(), ClosedFormError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(ClosedFormError::Deformation { value }) }
}

/// Ratio of deformed to rest area, which linear theory takes as 1.
fn deformed_area(material: &MaterialSpec, ratio: f64) -> f64 {
    if material.law().is_objective() { ratio } else { 1.0 }
}

/// The unknown stretch.
#[derive(Clone, Copy)]
enum Free {
    /// Stretch along x is given, y and z are equal and free.
    BothSides(f64),
    /// Stretches along x and y are given, z is free.
    Faces(f64, f64),
}

/// Stretch t > 0 with ψ₃ = 0, by Newton's method; a step to t ≤ 0 is replaced by t/2.
fn free_stretch(material: &MaterialSpec, guess: f64, free: Free) -> Result<f64, ClosedFormError> {
    let traction = |t: ComplexStep| {
        let stretches = match free {
            Free::BothSides(x) => [ComplexStep::splat(x), t, t],
            Free::Faces(x, y) => [ComplexStep::splat(x), ComplexStep::splat(y), t],
        };
        principal_nominal_stresses(material, stretches)[2]
    };
    let (mu, lambda) = material.lame();
    let stiffness = mu + lambda.abs();
    let mut t = guess;
    for _ in 0..100 {
        let value = traction(ComplexStep::splat(t)).re;
        let step = value / complex_step::derivative(traction, t);
        let next = t - step;
        let accepted = if next > 0.0 { next } else { 0.5 * t };
        // Converged: a full step changes t, or the traction, by rounding errors only.
        if (accepted - t).abs() <= 4.0 * f64::EPSILON * t || value.abs() <= f64::EPSILON * stiffness * t {
            return Ok(accepted);
        }
        t = accepted;
    }
    let residual = traction(ComplexStep::splat(t)).re;
    // The last digits may alternate between two neighbors; that is accurate enough.
    if residual.abs() <= 1e-12 * stiffness * t {
        Ok(t)
    } else {
        Err(ClosedFormError::NoEquilibrium { stretch: t, traction: residual })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Law;
    use super::*;

    #[test]
    fn small_stretches_give_young_and_poisson() {
        // dP/dλ = E and dt/dλ = −ν at rest, by central differences of second order.
        let h = 1e-4;
        for law in Law::ALL.into_iter().filter(|law| law.is_isotropic()) {
            let material = MaterialSpec::with_young(law, 30e3, 0.4);
            let (plus, minus) = (uniaxial(&material, 1.0 + h).unwrap(), uniaxial(&material, 1.0 - h).unwrap());
            let young = (plus.nominal_stress - minus.nominal_stress) / (2.0 * h);
            let poisson = (minus.lateral_stretch - plus.lateral_stretch) / (2.0 * h);
            assert!((young / 30e3 - 1.0).abs() < 1e-6 && (poisson / 0.4 - 1.0).abs() < 1e-6, "{}", law.name());
        }
    }

    #[test]
    fn nearly_incompressible_rubber_gives_the_textbook_curve() {
        // Incompressible Mooney–Rivlin in tension: P = 2 (c10 + c01/λ)(λ − λ⁻²); the bulk modulus is 1e7 times larger
        // here.
        let (c10, c01) = (300.0, 100.0);
        let material = MaterialSpec::mooney_rivlin(c10, c01, 1e10);
        for stretch in [0.6, 1.5, 3.0] {
            let exact = 2.0 * (c10 + c01 / stretch) * (stretch - 1.0 / (stretch * stretch));
            let found = uniaxial(&material, stretch).unwrap();
            assert!(
                (found.nominal_stress / exact - 1.0).abs() < 1e-5,
                "λ = {stretch}: {} {exact}",
                found.nominal_stress
            );
        }
    }

    #[test]
    fn neo_hookean_shear_stress_is_linear_in_shear() {
        // σ12 = μ γ for any γ, and σ11 − σ22 = γ σ12 (universal relation of isotropic elasticity).
        for law in Law::ALL {
            let material = MaterialSpec::with_young(law, 30e3, 0.3);
            let (mu, _) = material.lame();
            for shear in [-0.7, 0.2, 1.9] {
                let Ok(SimpleShear { cauchy_stress: stress, .. }) = simple_shear(&material, shear) else {
                    assert_eq!(law, Law::TransverselyIsotropic);
                    continue;
                };
                if matches!(law, Law::NeoHookean | Law::StableNeoHookean | Law::MooneyRivlin) {
                    assert!((stress[(0, 1)] - mu * shear).abs() < 1e-11 * mu, "{}", law.name());
                }
                if law != Law::Linear {
                    let difference = stress[(0, 0)] - stress[(1, 1)];
                    assert!((difference - shear * stress[(0, 1)]).abs() < 1e-11 * mu.max(difference.abs()));
                }
            }
        }
    }

    #[test]
    fn impossible_tests_are_errors() {
        let material = MaterialSpec::with_young(Law::StVenantKirchhoff, 1e4, 0.45);
        assert!(matches!(uniaxial(&material, -1.0), Err(ClosedFormError::Deformation { .. })));
        assert!(matches!(simple_shear(&material, f64::NAN), Err(ClosedFormError::Deformation { .. })));
        // Green strain of the sides would have to be below −1/2.
        assert!(matches!(uniaxial(&material, 3.0), Err(ClosedFormError::NoEquilibrium { .. })));
        let broken = MaterialSpec::with_young(Law::NeoHookean, 1e4, 0.5);
        assert!(matches!(biaxial(&broken, [1.1, 1.1]), Err(ClosedFormError::Material(_))));
    }
}
