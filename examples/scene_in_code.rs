//! A scene built in Rust, with types and handles in place of names, and run against what it expects.

use sinew::prelude::*;
use sinew::scene::build::{Axis, SceneBuilder, at_most};
use sinew::scene::spec::{material::Material, mesh::Mesh};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = SceneBuilder::new("A block sags under its weight", 0.2);
    let block = scene.body("block", Mesh::block([0.2, 0.05, 0.05], 0.0125), Material::stable_neo_hookean(30e3, 0.45));
    scene[block].density = 1060.0;
    scene.pin(block, "x-min");
    let tip = scene.probe("tip", block, "x-max");
    scene.expect(tip.displacement(Axis::Z), at_most(-0.01));
    // Mistakes are found here, all at once, as in a file. The same scene as a file:
    let scene = scene.build()?;
    println!("{}", scene.to_toml());
    let outcome = run(&scene, &RunOptions::default(), &mut ())?;
    for check in &outcome.expectations {
        println!("{}: {:.4}, expected {}", check.name, check.got, check.expected);
    }
    if outcome.passed() { Ok(()) } else { Err("an expectation failed".into()) }
}
