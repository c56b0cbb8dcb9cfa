//! A rigged character from nowhere: made in memory, written as glTF, given flesh, and bent.

use std::path::PathBuf;

use sinew::io::gltf::write_rig;
use sinew::prelude::*;
use sinew::rig::characters::{Character, CharacterParams, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or(PathBuf::from("out/character"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let arm = generate(&CharacterParams { edge: 0.015, ..CharacterParams::of(Character::Arm) })?;
    std::fs::write(folder.join("arm.glb"), write_rig(&arm, true)?)?;
    let scene = Scene::from_str(
        r#"
        duration = "0.5 s"
        frame_rate = "24 Hz"
        up = "y"
        gravity = 0
        solver = { type = "quasistatic", tolerance = 1e-3 }
        [[body]]
        name = "flesh"
        mesh = { from = "fill", surface = "arm.glb", element = "lattice", cell = "15 mm" }
        material = { type = "corotated", young = "20 kPa", poisson = 0.45 }
        rig = { start = "0.6 s", preroll = "0.25 s" }
        "#,
        "arm.toml",
        &folder,
    )?;
    let mut simulation = compile(&scene)?;
    for _ in 0..scene.frame_count() {
        println!("{}", simulation.step_frame()?);
    }
    let moved = |body: &sinew::fem::BodyFrame<'_>| {
        body.positions.iter().zip(body.mesh.positions()).map(|(x, rest)| (*x - *rest).norm()).fold(0.0, f64::max)
    };
    let most = moved(&simulation.frame().bodies[0]);
    println!("the hand has moved by {:.1} cm", 100.0 * most);
    assert!(most > 0.001);
    Ok(())
}
