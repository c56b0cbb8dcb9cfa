//! From a scene file to moving flesh: the whole system on one screen.

use std::path::PathBuf;

use sinew::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Text -> data. Every mistake is reported at once, with its place in the file.
    let scene = Scene::load("scenes/basics/hanging_block.toml")?;
    // Data -> meshes, forces, state and solver.
    let mut simulation = compile(&scene)?;
    // Where frames go: every file the scene's [record] asks for.
    let folder = std::env::args_os().nth(1).map_or(PathBuf::from("out/first_flesh"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let mut recorders = sinew::scene::record::open(&scene, &folder)?;
    for _ in 0..scene.frame_count() {
        // One frame, substeps inside.
        let report = simulation.step_frame()?;
        println!("{report}");
        for recorder in &mut recorders {
            recorder.frame(&simulation.frame())?;
        }
    }
    for recorder in &mut recorders {
        recorder.finish()?;
    }
    println!("look at {}", folder.display());
    Ok(())
}
