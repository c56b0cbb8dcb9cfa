//! A sweep: the same scene with other values, several at once. Every run has the bits it has alone.

use sinew::prelude::*;
use sinew::scene::Override;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let moduli = ["20 kPa", "40 kPa", "80 kPa"];
    let sag = |young: &str| -> Result<f64, String> {
        let set = Override::from(format!("body.0.material.young=\"{young}\""));
        let scene = Scene::load_with("scenes/basics/hanging_block.toml", &[set]).map_err(|error| error.to_string())?;
        let options = RunOptions { frames: Some(30), ..RunOptions::default() };
        let outcome = run(&scene, &options, &mut ()).map_err(|error| error.to_string())?;
        let names = outcome.history.names();
        let name = names.iter().find(|name| name.ends_with(".displacement.max")).ok_or("no displacement")?;
        outcome.history.column(name).and_then(|values| values.last().copied()).ok_or_else(|| "no frames".into())
    };
    let results: Vec<Result<f64, String>> = std::thread::scope(|scope| {
        let runs: Vec<_> = moduli.iter().map(|young| scope.spawn(|| sag(young))).collect();
        runs.into_iter().map(|run| run.join().unwrap_or_else(|_| Err("a run panicked".into()))).collect()
    });
    let mut last = f64::INFINITY;
    for (young, result) in moduli.iter().zip(results) {
        let sag = result?;
        println!("E = {young}: the block moves by {:.1} mm", 1e3 * sag);
        assert!(sag < last, "stiffer flesh sags less");
        last = sag;
    }
    Ok(())
}
