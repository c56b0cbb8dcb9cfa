//! A recorder of one's own: whatever implements `Recorder` sees every frame.

use sinew::fem::RecordError;
use sinew::prelude::*;

/// Keeps the height of the lowest point of each frame.
#[derive(Default)]
struct Lowest(Vec<f64>);

impl Recorder for Lowest {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let points = frame.bodies.iter().flat_map(|body| body.positions);
        self.0.push(points.fold(f64::INFINITY, |lowest, x| lowest.min(x.z)));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        println!("{} frames, lowest at {:.3} m", self.0.len(), self.0.iter().fold(f64::INFINITY, |a, &b| a.min(b)));
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scene = Scene::load("scenes/basics/hanging_block.toml")?;
    let mut simulation = compile(&scene)?;
    let mut recorder = Lowest::default();
    for _ in 0..10 {
        simulation.step_frame()?;
        recorder.frame(&simulation.frame())?;
    }
    recorder.finish()?;
    assert_eq!(recorder.0.len(), 10);
    Ok(())
}
