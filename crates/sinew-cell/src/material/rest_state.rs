//! Checks that a law is at rest in its rest shape: ψ(I) = 0, P(I) = 0, and stiff against every strain.
//!
//! A law with stress at rest deforms an unloaded body, and a law without stiffness collapses. In a running simulation
//! both look like mistakes of the scene, so models check their laws when they are built.

#![allow(non_snake_case)]

use sinew_math::Mat3;
use thiserror::Error;

use super::declaration::MaterialError;
use super::jacobi::SymmetricEigen;
use super::law::{Material, MaterialPoint};
use super::spec::{Law, MaterialVisitor};
use super::tangent::Tangent9;

/// A problem of a rest state.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum RestDefect {
    /// ψ(I) is not zero, or not a number.
    #[error("its energy there is {energy} J/m³ instead of 0; subtract this constant from the energy")]
    Energy {
        /// ψ(I) \[J/m³\].
        energy: f64,
    },
    /// P(I) is not zero, or not a number.
    #[error(
        "its stress there is up to {stress} Pa instead of 0; subtract the part of the energy that is linear in the strain, \
         or make the rest shape the one without stress"
    )]
    Stress {
        /// Largest entry of P(I) in magnitude \[Pa\].
        stress: f64,
    },
    /// A strain with zero or negative stiffness.
    #[error(
        "a strain meets the stiffness {stiffness} Pa instead of a positive one; check the signs of the parameters, \
         above all that the bulk and shear moduli are positive"
    )]
    Stiffness {
        /// Smallest second derivative of ψ over unit strains \[Pa\].
        stiffness: f64,
    },
}

/// Fraction of the modulus λ + 2μ below which energy and stress count as zero, because of rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// Checks that the law is at rest in its rest shape with these parameters: ψ(I) = 0, P(I) = 0 and δε : ∂P/∂F : δε > 0
/// for every symmetric δε.
///
/// `ModelBuilder::build` calls it for every law of a model; call it in the tests of your own laws.
pub fn check_rest_state<M: Material>(law: &M, point: &MaterialPoint) -> Result<(), MaterialError> {
    let fails = |defect| Err(MaterialError::Rest { law: M::NAME, defect });
    let scale = (point.lambda + 2.0 * point.mu).abs();
    let negligible = NEGLIGIBLE * scale;
    let rest = Mat3::identity();
    let energy = law.energy_density(&rest, point);
    // Each written so that NaN fails too.
    if !(energy.abs() <= negligible) {
        return fails(RestDefect::Energy { energy });
    }
    let P = law.stress(&rest, point);
    let stress = P
        .rows
        .iter()
        .flatten()
        .fold(0.0, |most: f64, entry| if entry.is_nan() || entry.abs() > most { entry.abs() } else { most });
    if !(stress <= negligible) {
        return fails(RestDefect::Stress { stress });
    }
    let stiffness = smallest_stiffness(&Tangent9::exact(law, &rest, point));
    if !(stiffness > 0.0 && stiffness.is_finite()) {
        return fails(RestDefect::Stiffness { stiffness });
    }
    Ok(())
}

/// Smallest eigenvalue of a tangent over symmetric δF: (11, 22, 33) and the unit shears of the three planes.
fn smallest_stiffness(tangent: &Tangent9) -> f64 {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let mut basis = [[0.0; 9]; 6];
    for i in 0..3 {
        basis[i][4 * i] = 1.0;
    }
    for (k, (i, j)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        basis[3 + k][3 * i + j] = half;
        basis[3 + k][3 * j + i] = half;
    }
    let mut reduced = [[0.0; 6]; 6];
    for a in 0..6 {
        for b in 0..6 {
            for (row, entries) in tangent.0.iter().enumerate() {
                for (column, entry) in entries.iter().enumerate() {
                    reduced[a][b] += basis[a][row] * entry * basis[b][column];
                }
            }
        }
    }
    if reduced.iter().flatten().any(|entry| !entry.is_finite()) {
        return f64::NAN;
    }
    SymmetricEigen::of(reduced).values.into_iter().fold(f64::INFINITY, f64::min)
}

impl Law {
    /// [`check_rest_state`] of this law.
    pub fn check_rest_state(self, point: &MaterialPoint) -> Result<(), MaterialError> {
        struct Check<'a>(&'a MaterialPoint);
        impl MaterialVisitor for Check<'_> {
            type Output = Result<(), MaterialError>;
            fn visit<M: Material>(self, law: M) -> Self::Output {
                check_rest_state(&law, self.0)
            }
        }
        self.visit(Check(point))
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Scalar;

    use super::super::{MaterialSpec, StableNeoHookean};
    use super::*;

    #[test]
    fn every_law_of_ours_rests_at_rest() {
        for law in Law::ALL {
            for (young, poisson) in [(30e3, 0.45), (1e-3, -0.5), (1e11, 0.4999)] {
                assert_eq!(
                    law.check_rest_state(&MaterialSpec::with_young(law, young, poisson).point()),
                    Ok(()),
                    "{law:?}"
                );
            }
        }
    }

    /// A law with a prestress: ψ + p (tr F − 3), and with an offset.
    #[derive(Clone, Copy)]
    struct Wrong {
        pressure: f64,
        offset: f64,
    }

    impl Material for Wrong {
        const NAME: &'static str = "wrong";
        fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
            StableNeoHookean.energy_density(F, point)
                + S::splat(self.pressure) * (F.trace() - S::splat(3.0))
                + S::splat(self.offset)
        }
    }

    #[test]
    fn a_wrong_rest_state_is_named_with_its_remedy() {
        let point = MaterialSpec::with_young(Law::StableNeoHookean, 1e4, 0.3).point();
        let defect = |law: Wrong, point: &MaterialPoint| match check_rest_state(&law, point) {
            Err(MaterialError::Rest { law: "wrong", defect }) => defect,
            other => panic!("{other:?}"),
        };
        assert_eq!(check_rest_state(&Wrong { pressure: 0.0, offset: 0.0 }, &point), Ok(()));
        assert_eq!(defect(Wrong { pressure: 0.0, offset: 7.0 }, &point), RestDefect::Energy { energy: 7.0 });
        let prestressed = defect(Wrong { pressure: -250.0, offset: 0.0 }, &point);
        assert!(matches!(prestressed, RestDefect::Stress { stress } if (stress - 250.0).abs() < 1e-6), "{prestressed}");
        assert!(prestressed.to_string().contains("linear in the strain"));
        assert!(matches!(
            defect(Wrong { pressure: 0.0, offset: f64::NAN }, &point),
            RestDefect::Energy { energy } if energy.is_nan()
        ));
        // A bulk modulus below zero: 3λ + 2μ < 0 is the smallest stiffness, against equal strains.
        let soft = MaterialPoint { mu: 1.0, lambda: -1.0, ..MaterialPoint::default() };
        let found = defect(Wrong { pressure: 0.0, offset: 0.0 }, &soft);
        assert!(matches!(found, RestDefect::Stiffness { stiffness } if (stiffness + 1.0).abs() < 1e-9), "{found:?}");
        let nothing = MaterialPoint::default();
        assert!(matches!(defect(Wrong { pressure: 0.0, offset: 0.0 }, &nothing), RestDefect::Stiffness { .. }));
    }
}
