//! A controller: from frame to frame it sets the activation of a muscle so that its end stays at a height.

use sinew::fem::Command;
use sinew::prelude::*;
use sinew::scene::build::{Axis, SceneBuilder};
use sinew::scene::spec::material::{Fibers, Material};
use sinew::scene::spec::mesh::Mesh;
use sinew::scene::{Interpolation, Track};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = SceneBuilder::new("A muscle holds its end up", 2.0);
    let muscle = scene.body("muscle", Mesh::block([0.03, 0.03, 0.15], 0.015), Material::stable_neo_hookean(20e3, 0.45));
    scene[muscle].damping.tissue = 0.02;
    scene.pin(muscle, "z-max");
    let idle = Track::new(vec![(0.0, 0.0), (10.0, 0.0)], Interpolation::Linear);
    scene.muscle(muscle, "m", Fibers::Along([0.0, 0.0, 1.0]), idle);
    let end = scene.probe("end", muscle, "z-min");
    let scene = scene.build()?;
    let mut simulation = compile(&scene)?;
    // Lift the end by one centimeter: proportional and integral control.
    let (wanted, mut sum) = (0.01, 0.0);
    let name = end.displacement(Axis::Z);
    for frame in 1..=scene.frame_count() {
        let height = simulation.probe(&name).ok_or("the probe is missing")?;
        let error = wanted - height;
        sum += error * scene.frame_duration();
        let activation = (0.3 * error + 4.0 * sum).clamp(0.0, 1.0);
        simulation.command(&Command::SetChannel { channel: "muscle.activation.m".into(), value: activation })?;
        simulation.step_frame()?;
        if frame % 15 == 0 {
            println!("{:.2} s: end at {:5.2} mm, activation {activation:.3}", simulation.time(), 1e3 * height);
        }
    }
    let reached = simulation.probe(&name).ok_or("the probe is missing")?;
    if (reached - wanted).abs() < 1e-3 { Ok(()) } else { Err(format!("the end is at {reached} m").into()) }
}
