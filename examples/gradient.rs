//! How a tongue answers to its muscles: derivatives of its tip by their activation, forward and adjoint.

use sinew::fem::linearization::Input;
use sinew::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scene = Scene::load("scenes/muscle/gradient.toml")?;
    let mut simulation = compile(&scene)?;
    for _ in 0..scene.frame_count() {
        simulation.step_frame()?;
    }
    let probe = |name: &str| simulation.probe_names().iter().position(|known| known == name);
    let tip = probe("tip.displacement.z").ok_or("the probe is missing")?;
    let muscles = ["tongue.activation.upper", "tongue.activation.lower"];
    let channels = muscles.map(|name| simulation.control().table().find(name).map(Input::Channel));
    let inputs: Vec<Input> = channels.into_iter().collect::<Option<_>>().ok_or("a channel is missing")?;
    let gradients = simulation.gradients(&[tip], &inputs).map_err(|errors| errors[0].to_string())?;
    for gradient in &gradients.values {
        println!("{}: {:.3} mm per unit of activation", muscles[gradient.input], 1e3 * gradient.forward);
        // A solve for the muscle and a solve for the tip give the same number.
        assert!(gradient.difference < 1e-8, "{gradient:?}");
    }
    // The upper muscle lifts the tip, the lower one pulls it down.
    assert!(gradients.values[0].forward > 0.0 && gradients.values[1].forward < 0.0);
    Ok(())
}
