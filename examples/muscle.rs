//! A muscle between two clamps: its force over its length, as physiologists measure it.

use sinew::prelude::*;
use sinew::scene::lab::examine;
use sinew::scene::spec::lab::Protocol;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::load("scenes/muscle/lab_strip.toml")?;
    scene.lab.count = 5;
    let outcome = examine(&scene, Protocol::TensionLength, None, &mut ())?;
    for figure in &outcome.figures {
        println!("{:24} {:10.4} {}", figure.name, figure.value, figure.unit);
    }
    println!("{}", outcome.sheet.columns.join("  "));
    for row in &outcome.sheet.rows {
        println!("{}", row.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join("  "));
    }
    assert!(!outcome.sheet.rows.is_empty());
    Ok(())
}
