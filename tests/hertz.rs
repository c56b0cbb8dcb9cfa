//! Contact of two cylinders compared with Hertz: half-width and pressure over the whole contact.

use std::path::Path;

use sinew_run::compile::compile;
use sinew_scene::Scene;

/// Radius of each cylinder, thickness of the slabs \[m\]; stiffness \[Pa\].
const RADIUS: f64 = 0.1;
const THICKNESS: f64 = 2e-3;
const YOUNG: f64 = 100e3;
const POISSON: f64 = 0.3;

/// Two nodes of each slab: pressures are means over this width \[m\].
const WIDTH: f64 = 1e-3;

/// ∫ √(1 − u²) du from −1.
fn half_moon(u: f64) -> f64 {
    let u = u.clamp(-1.0, 1.0);
    0.5 * (u * (1.0 - u * u).sqrt() + u.asin()) + std::f64::consts::FRAC_PI_4
}

#[test]
fn cylinders_touch_as_wide_and_as_hard_as_hertz_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/contact/hertz_cylinders.toml");
    let mut simulation = compile(&Scene::load(&path).unwrap()).unwrap();
    let reduced = YOUNG / (2.0 * (1.0 - POISSON * POISSON));
    for _ in 0..2 {
        simulation.step_frame().unwrap();
        let frame = simulation.frame();
        let forces: Vec<(f64, f64)> = frame.contacts.iter().map(|c| (c.place.x, c.force.z.abs())).collect();
        let total: f64 = forces.iter().map(|(_, force)| force).sum();
        let mean = |power: i32, middle: f64| {
            forces.iter().map(|(x, force)| (x - middle).powi(power) * force).sum::<f64>() / total
        };
        let load = total / THICKNESS;
        let half_width = (4.0 * load * (0.5 * RADIUS) / (std::f64::consts::PI * reduced)).sqrt();
        assert!(half_width > 2e-3, "they are pressed together");
        let middle = mean(1, 0.0);
        // For Hertz's pressure the mean of x² is a²/4.
        let found = 2.0 * mean(2, middle).sqrt();
        assert!((found / half_width - 1.0).abs() < 0.05, "half-width {found} instead of {half_width}");
        let peak = 2.0 * load / (std::f64::consts::PI * half_width);
        for k in -8..8 {
            // Between the nodes of both slabs.
            let ends = [k, k + 1].map(|k| f64::from(k) * WIDTH + 0.335e-3);
            let force: f64 =
                forces.iter().filter(|(x, _)| (ends[0]..ends[1]).contains(x)).map(|(_, force)| force).sum();
            let pressure = force / (WIDTH * THICKNESS);
            let [from, to] = ends.map(|x| half_moon((x - middle) / half_width));
            let expected = peak * (to - from) * half_width / WIDTH;
            assert!((pressure - expected).abs() < 0.05 * peak, "{pressure} Pa instead of {expected} at {ends:?}");
        }
    }
}
