//! A constitutive law from its energy alone: stress and stiffness follow by complex step.

#![allow(non_snake_case)]

use sinew::fem::material::{Material, MaterialPoint};
use sinew::math::{Mat3, Scalar, Vec3};

/// Yeoh's law with two terms and a volume term: ψ = μ/2 (Ī₁ − 3) + c (Ī₁ − 3)² + λ/2 (J − 1)², Ī₁ = J^(−2/3) tr FᵀF.
#[derive(Clone, Copy)]
struct Yeoh {
    /// Second coefficient c \[Pa\].
    stiffening: f64,
}

impl Material for Yeoh {
    const NAME: &'static str = "yeoh";

    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let (J, half) = (F.determinant(), S::splat(0.5));
        // J^(-2/3) = exp(-2/3 ln J)
        let distortion = (J.ln() * S::splat(-2.0 / 3.0)).exp() * F.norm_squared() - S::splat(3.0);
        let volume = J - S::splat(1.0);
        point.mu * half * distortion
            + S::splat(self.stiffening) * distortion * distortion
            + point.lambda * half * volume * volume
    }
}

fn main() {
    let law = Yeoh { stiffening: 4e3 };
    let point = MaterialPoint { mu: 10e3, lambda: 90e3, ..MaterialPoint::default() };
    println!("stretch  P11 [Pa]  dP11/dF11 [Pa]");
    for percent in (80..=150).step_by(10) {
        let stretch = f64::from(percent) / 100.0;
        let F = Mat3::diagonal(Vec3::new(stretch, 1.0, 1.0));
        let stress = law.stress(&F, &point);
        let stiffness = law.stress_differential(&F, &Mat3::diagonal(Vec3::new(1.0, 0.0, 0.0)), &point);
        println!("{stretch:7.2}  {:8.1}  {:14.1}", stress[(0, 0)], stiffness[(0, 0)]);
        // The derivative of the stress, by differences: h = 1e-5 leaves about ten digits.
        let h = 1e-5;
        let moved = |h: f64| law.stress(&Mat3::diagonal(Vec3::new(stretch + h, 1.0, 1.0)), &point)[(0, 0)];
        let difference = (moved(h) - moved(-h)) / (2.0 * h);
        assert!((difference - stiffness[(0, 0)]).abs() < 1e-6 * stiffness[(0, 0)].abs());
    }
}
