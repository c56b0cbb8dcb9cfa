//! A force of one's own: a wind that pushes the points of a sheet, with its potential and its derivative.

use sinew::fem::force::{Force, Linearized, StepContext};
use sinew::fem::material::Tangent;
use sinew::prelude::*;
use sinew::scene::build::SceneBuilder;
use sinew::scene::compile::compile_with;
use sinew::scene::spec::{material::Material, mesh::Mesh};

/// A spring of every point toward the plane y = 0: E = k/2 Σ y².
struct Curtain {
    points: usize,
    /// k \[N/m\].
    stiffness: f64,
}

impl Force for Curtain {
    fn name(&self) -> &str {
        "curtain"
    }

    fn potential(&self, x: &[Vec3], _: &StepContext<'_>) -> Option<f64> {
        Some(x.iter().take(self.points).map(|x| 0.5 * self.stiffness * x.y * x.y).sum())
    }

    fn add_gradient(&self, x: &[Vec3], _: &StepContext<'_>, gradient: &mut [Vec3]) {
        for (gradient, x) in gradient.iter_mut().zip(x).take(self.points) {
            gradient.y += self.stiffness * x.y;
        }
    }

    fn linearize(&self, _: &[Vec3], _: &StepContext<'_>, _: Tangent, out: &mut Linearized) {
        (0..self.points as u32)
            .for_each(|point| out.add(point, point, Mat3::diagonal(Vec3::new(0.0, self.stiffness, 0.0))));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = SceneBuilder::new("A strip between springs", 0.2);
    let strip = scene.body("strip", Mesh::block([0.2, 0.05, 0.02], 0.02), Material::stable_neo_hookean(30e3, 0.4));
    scene[strip].velocity = [0.0, 0.5, 0.0];
    scene.pin(strip, "x-min");
    let scene = scene.build()?;
    let farthest = |stiffness: f64| -> Result<f64, Box<dyn std::error::Error>> {
        let mut simulation = compile_with(&scene, |model| {
            vec![Box::new(Curtain { points: model.kinematics.point_count(), stiffness }) as Box<dyn Force>]
        })?;
        let mut farthest = 0.0f64;
        for _ in 0..scene.frame_count() {
            simulation.step_frame()?;
            farthest = simulation.frame().bodies[0].positions.iter().fold(farthest, |most, x| most.max(x.y));
        }
        Ok(farthest)
    };
    let (free, held) = (farthest(0.0)?, farthest(5.0)?);
    println!("the strip reaches y = {:.1} cm alone and {:.1} cm with the springs", 100.0 * free, 100.0 * held);
    assert!(held < free);
    Ok(())
}
