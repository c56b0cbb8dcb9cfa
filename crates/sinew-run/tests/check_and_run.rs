//! Generated scenes, some of them wrong: what `sinew check` accepts runs, what it refuses does not run, and what a run
//! warns of was told before where that was possible.
//!
//! 200 scenes; `SINEW_SCENES=2000` runs more.

use std::fmt::Write as _;

use sinew_run::overview::Overview;
use sinew_run::run::{RunOptions, run};
use sinew_run::value_names::check_compared;
use sinew_scene::Scene;

/// A linear congruential generator with a fixed seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.roll(count) == 0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }

    /// A length between 0 and `most` centimeters, in millimeters.
    fn length(&mut self, most: usize) -> f64 {
        self.roll(10 * most) as f64 / 10.0
    }
}

/// The scene of a seed.
fn generate(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for _ in 0..4 {
        dice.roll(2);
    }
    let solver = dice.pick(&["implicit_euler", "implicit_euler", "bdf2", "newmark"]);
    let mut text = format!("duration = \"0.02 s\"\nframe_rate = 50\n[solver]\ntype = \"{solver}\"\n");
    let mut names: Vec<String> = Vec::new();
    for k in 0..dice.roll(3) {
        let name = format!("flesh{k}");
        let (cells, element) = (1 + dice.roll(2), dice.pick(&["hex8", "tet4"]));
        let height = dice.pick(&["0", "1e-3", "2", "5", "-0.5"]);
        let young = if dice.one_in(25) { "-1 kPa" } else { "50 kPa" };
        let law = dice.pick(&["stable_neo_hookean", "corotated", "neo_hookean", "linear"]);
        let _ = write!(
            text,
            "[[body]]\nname = \"{name}\"\n\
             mesh = {{ from = \"box\", size = [\"4 cm\", \"4 cm\", \"2 cm\"], cells = [2, 2, {cells}], element = \"{element}\" }}\n\
             position = [\"{} cm\", 0, \"{height} cm\"]\n\
             material = {{ type = \"{law}\", young = \"{young}\", poisson = 0.3 }}\n",
            k * 3
        );
        match dice.roll(5) {
            0 => text.push_str("pin = [{ region = \"z-min\" }]\n"),
            1 if dice.one_in(4) => text.push_str("pin = [{ region = \"z-mim\" }]\n"),
            2 => text.push_str(
                "muscle = [{ name = \"m\", fibers = { along = [1, 0, 0] }, stress = \"5 kPa\", activation = 0.3 }]\n",
            ),
            _ => {}
        }
        names.push(name);
    }
    for k in 0..dice.roll(3) {
        let name = format!("brick{k}");
        let shape = dice.pick(&[
            "type = \"sphere\", radius = \"1 cm\"",
            "type = \"box\", size = [\"3 cm\", \"2 cm\", \"1 cm\"]",
            "type = \"capsule\", radius = \"5 mm\", ends = [[0, 0, 0], [\"3 cm\", 0, 0]]",
        ]);
        let extra = dice.pick(&["", "", "fixed = true\n", "mass = \"0.1 kg\"\n", "velocity = [0, 0, -0.2]\n"]);
        let _ = write!(
            text,
            "[[rigid]]\nname = \"{name}\"\nshape = {{ {shape} }}\nposition = [\"{} cm\", \"{} cm\", \"{} cm\"]\n{extra}",
            dice.length(6),
            dice.length(3),
            dice.length(8)
        );
        names.push(name);
    }
    for k in 0..dice.roll(3) {
        let name = format!("wall{k}");
        let shape = dice.pick(&[
            "type = \"plane\"",
            "type = \"plane\"",
            "type = \"sphere\", radius = \"3 cm\"",
            "type = \"box\", size = [\"20 cm\", \"20 cm\", \"2 cm\"]",
        ]);
        let _ = write!(
            text,
            "[[collider]]\nname = \"{name}\"\nshape = {{ {shape} }}\nposition = [0, 0, \"{} cm\"]\nfriction = 0.{}\n",
            -dice.length(6),
            dice.roll(5)
        );
        names.push(name);
    }
    if !dice.one_in(4) {
        let (mode, start) = (dice.pick(&["penalty", "barrier"]), dice.pick(&["keep", "keep", "lift"]));
        let _ = write!(text, "[contact]\nmode = \"{mode}\"\nstart = \"{start}\"\nfriction = 0.2\n");
        if names.len() > 1 && dice.one_in(2) {
            let (a, b) = (dice.roll(names.len()), dice.roll(names.len()));
            let mode = dice.pick(&["none", "penalty", "barrier"]);
            let _ =
                write!(text, "[[contact.pair]]\nbetween = [\"{}\", \"{}\"]\nmode = \"{mode}\"\n", names[a], names[b]);
        }
    }
    let movable: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.starts_with("wall")).collect();
    if !movable.is_empty() && dice.one_in(2) {
        let body = if dice.one_in(10) { "flash0" } else { movable[dice.roll(movable.len())] };
        let at = dice.pick(&["[0, 0, 0]", "[\"1 cm\", 0, 0]", "[\"9 m\", 0, 0]"]);
        let _ = write!(text, "[[probe]]\nname = \"tip\"\nbody = \"{body}\"\nat = {at}\n");
    }
    if dice.one_in(2) {
        let value = match names.first() {
            Some(name) if dice.one_in(2) => {
                format!("{name}.{}", dice.pick(&["volume", "position.z", "momentum.x", "contact.wall0.force.z"]))
            }
            _ => dice.pick(&["energy.total", "inverted_cells", "energy.totl", "tip.position.z"]).to_string(),
        };
        let _ = write!(text, "[expect]\n\"{value}\" = {{ min = -1e9 }}\n");
    }
    if dice.one_in(6) && text.contains("name = \"m\"") {
        let most = dice.pick(&["0.5", "1.5"]);
        let _ = write!(text, "[control]\n\"flesh0.activation.m\" = {most}\n");
    }
    text
}

#[test]
fn what_check_accepts_runs_and_what_it_refuses_does_not() {
    let count = std::env::var("SINEW_SCENES").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let (mut accepted, mut faults) = (0, Vec::new());
    for seed in 0..count {
        let text = generate(seed);
        let checked = Scene::from_str(&text, "scene.toml", env!("CARGO_TARGET_TMPDIR")).and_then(|scene| {
            let overview = Overview::of(&scene)?;
            check_compared(&scene)?;
            Ok(overview.simulation.notes.clone())
        });
        let ran = Scene::from_str(&text, "scene.toml", env!("CARGO_TARGET_TMPDIR"))
            .map_err(|error| error.to_string())
            .and_then(|scene| run(&scene, &RunOptions::default(), &mut ()).map_err(|error| error.to_string()));
        let fault = match (checked, ran) {
            (Ok(told), Ok(outcome)) => {
                accepted += 1;
                let is_new = |note: &&String| !told.contains(note);
                let untold: Vec<&String> = outcome.notes.iter().filter(is_new).collect();
                // What commands ask for is known before; how far bodies go is not.
                let asked = outcome.warnings.iter().filter(|warning| warning.contains("activation"));
                let untold_warnings = asked.filter(|_| !told.iter().any(|note| note.contains("activation"))).count();
                (!untold.is_empty() || untold_warnings > 0).then(|| format!("not told by check: {untold:?}"))
            }
            (Ok(_), Err(error)) => Some(format!("accepted by check, refused by run: {error}")),
            (Err(error), Ok(_)) => Some(format!("refused by check, accepted by run: {error}")),
            (Err(checked), Err(ran)) if checked.to_string() == ran => None,
            (Err(checked), Err(ran)) => Some(format!("check says {checked}\nrun says {ran}")),
        };
        faults.extend(fault.map(|fault| format!("seed {seed}: {fault}\n{text}")));
    }
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults[..faults.len().min(3)].join("\n\n"));
    let share = accepted as f64 / count as f64;
    assert!((0.3..0.95).contains(&share), "both happen: {share} accepted");
}
