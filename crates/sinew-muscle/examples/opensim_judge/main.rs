//! Compares curves, equilibria and motions with OpenSim: its Millard2012EquilibriumMuscle against an [`Actuator`] with
//! the same curves, given by points \[Millard13\].
//!
//! `samples.py` queries OpenSim and prints the results. This program reads that file, given as its argument, and panics
//! where the two differ. `cargo xtask test --only opensim` installs OpenSim and runs both.

use std::collections::HashMap;

use sinew_muscle::{Actuator, ActuatorParams, Curve, CurveKind, Drive, FiberCurves, MuscleState, Pennation};

const KINDS: [(&str, CurveKind); 4] = [
    ("active", CurveKind::Active),
    ("passive", CurveKind::Passive),
    ("velocity", CurveKind::Velocity),
    ("tendon", CurveKind::Tendon),
];

/// Lines of the samples, each as its first word and the numbers after it; `curve` and `between` with the name of the
/// curve.
fn samples() -> Vec<(String, Vec<f64>)> {
    let path = std::env::args().nth(1).expect("the first argument must be the output file of samples.py");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let read = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name_count = if matches!(words[0], "curve" | "between") { 2 } else { 1 };
        let numbers = words[name_count..].iter().map(|word| word.parse().unwrap()).collect();
        (words[..name_count].join(" "), numbers)
    };
    text.lines().map(read).collect()
}

fn curves(samples: &[(String, Vec<f64>)]) -> HashMap<&'static str, Curve> {
    let curve = |(name, kind)| {
        let wanted = format!("curve {name}");
        let points: Vec<[f64; 2]> =
            samples.iter().filter(|(word, _)| *word == wanted).map(|(_, xy)| [xy[0], xy[1]]).collect();
        (name, Curve::through(&points, kind).unwrap().named("Millard 2013"))
    };
    KINDS.map(curve).into()
}

fn actuator(curves: &HashMap<&str, Curve>, numbers: &[f64]) -> Actuator {
    let [degrees, max_force, optimal_fiber_length, tendon_slack_length, max_speed, damping] = *numbers else {
        panic!("a muscle must have six numbers")
    };
    let fiber = FiberCurves {
        active: curves["active"].clone(),
        passive: curves["passive"].clone(),
        velocity: Some(curves["velocity"].clone()),
    };
    let params = ActuatorParams {
        max_force,
        optimal_fiber_length,
        tendon_slack_length,
        pennation_angle: degrees.to_radians(),
        pennation: Pennation::ConstantThickness,
        max_speed,
        damping,
        fiber,
        tendon: curves["tendon"].clone(),
    };
    Actuator::new(params).unwrap()
}

/// Largest differences of one kind of comparison.
#[derive(Debug, Default)]
struct Worst {
    count: usize,
    force: f64,
    length: f64,
    velocity: f64,
}

/// Between its points a curve agrees with OpenSim to 1e-5.
fn foreign_curves_come_back_between_their_points(samples: &[(String, Vec<f64>)]) {
    let curves = curves(samples);
    for (name, _) in KINDS {
        let wanted = format!("between {name}");
        let differences =
            samples.iter().filter(|(word, _)| *word == wanted).map(|(_, xy)| (curves[name].value(xy[0]) - xy[1]).abs());
        let worst = differences.fold(0.0, f64::max);
        println!("{name}: {worst:.2e}");
        assert!(worst < 1e-5, "{name}: {worst}");
    }
}

/// Forces at rest, velocities away from rest and redevelopment after a release agree to a thousandth of the maximum
/// isometric force.
fn forces_and_motions_agree(samples: &[(String, Vec<f64>)]) {
    let curves = curves(samples);
    let mut muscle = None;
    let mut state = None;
    let mut time = 0.0;
    let [mut rest, mut motion, mut release] = [(); 3].map(|()| Worst::default());
    for (word, numbers) in samples {
        match (word.as_str(), numbers.as_slice()) {
            ("muscle", numbers) => muscle = Some(actuator(&curves, numbers)),
            ("static", &[path, activation, force, length]) => {
                let muscle = muscle.as_ref().unwrap();
                let found = muscle.equilibrium(path, activation).unwrap();
                rest.count += 1;
                let difference = (found.tendon_force - force).abs() / muscle.params().max_force;
                assert!(difference < 1e-3, "{path} {activation}: {force} {length} {found:?}");
                rest.force = rest.force.max(difference);
                rest.length = rest.length.max((found.fiber_length - length).abs());
            }
            ("velocity", &[path, activation, length, velocity]) => {
                let found = muscle.as_ref().unwrap().fiber_velocity(length, path, activation).unwrap();
                motion.count += 1;
                let difference = (found - velocity).abs();
                assert!(
                    difference < 1e-3 * velocity.abs().max(1.0),
                    "{path} {activation} {length}: {velocity} {found}"
                );
                motion.velocity = motion.velocity.max(difference);
            }
            ("release", &[path_length, fiber_length]) => {
                time = 0.0;
                state = Some(MuscleState {
                    fiber_length,
                    fiber_velocity: 0.0,
                    activation: 1.0,
                    path_length,
                    tendon_force: 0.0,
                });
            }
            ("at", &[until, force, length]) => {
                let (muscle, state) = (muscle.as_ref().unwrap(), state.as_mut().unwrap());
                muscle.advance(state, Drive::Path(state.path_length), 1.0, until - time).unwrap();
                time = until;
                release.count += 1;
                let difference = (state.tendon_force - force).abs() / muscle.params().max_force;
                assert!(difference < 1e-3, "{time}: {force} {length} {state:?}");
                release.force = release.force.max(difference);
                release.length = release.length.max((state.fiber_length - length).abs());
            }
            _ => assert!(word.starts_with("curve") || word.starts_with("between"), "{word} {numbers:?}"),
        }
    }
    for (name, worst) in [("rest", &rest), ("motion", &motion), ("release", &release)] {
        println!("{name}: {worst:?}");
        assert!(worst.count > 0, "no samples of {name}");
    }
}

/// Writes the OpenSim curves as a table next to the samples, for `sinew muscle curves --beside`.
fn write_curves(samples: &[(String, Vec<f64>)]) {
    let mut table = String::from("kind,curve,x,force\n");
    for (name, _) in KINDS {
        let wanted = format!("curve {name}");
        for (_, xy) in samples.iter().filter(|(word, _)| *word == wanted) {
            table += &format!("{name},\"Millard 2013\",{},{}\n", xy[0], xy[1]);
        }
    }
    let path = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_default()).with_file_name("curves.csv");
    std::fs::write(&path, table).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    println!("curves for `sinew muscle curves --beside`: {}", path.display());
}

fn main() {
    let samples = samples();
    write_curves(&samples);
    foreign_curves_come_back_between_their_points(&samples);
    forces_and_motions_agree(&samples);
}
