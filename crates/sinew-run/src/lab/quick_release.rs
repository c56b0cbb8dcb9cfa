//! Quick release (CHE-58): an active muscle at constant length is shortened at once and held there. Its force drops
//! below the isometric force at the new length, because shortening fibers are weak, and recovers as the fibers take up
//! the slack of the tendons.

use sinew_muscle::Drive;
use sinew_record::report::{Line, Plot, Scale};
use sinew_scene::spec::lab::Lab;

use super::apparatus::{ACTIVATION_PARTS, Apparatus, Grip, Setting, Speed};
use super::doubts::Sample;
use super::measure::{is_rising, largest_change, lowest, time_constant};
use super::session::{Session, Stop};
use super::specimen::Specimen;
use super::verdict::ForceTrial;
use super::{FigureKind, four_digits};

pub(super) const FIGURES: &[FigureKind] = &[
    ("drop", "", "smallest force divided by that at the end"),
    ("recovery", "", "force at the end divided by that before the release"),
    (
        "time_constant",
        "s",
        "time in which the force covers 1 − 1/e of the way from its smallest value to that at the end",
    ),
    ("is_rising", "", "1 if the force never falls after its smallest value, else 0"),
    ("initial_force", "N", "force before the release"),
    ("smallest_force", "N", "force right after the release"),
    ("final_force", "N", "force at the end"),
    ("settled_force", "N", "force of the same muscle at rest at its new length, the limit of the final force"),
    ("initial_length", "l₀", "mean length of the fibers before"),
    ("final_length", "l₀", "mean length of the fibers at the end"),
    ("volume_change", "", "largest |V/V₀ − 1|"),
];

pub(super) const COLUMNS: [&str; 7] =
    ["time [s]", "travel [m]", "force [N]", "length", "length_min", "length_max", "volume"];

/// Fraction of the largest force by which a rising force may fall: the tolerance of the solver.
const ROUNDING: f64 = 1e-4;

/// Default duration after the release \[s\].
const USUAL_DURATION: f64 = 0.2;

pub(super) fn run(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    session.sheet.columns = COLUMNS.to_vec();
    let way = lab.release.unwrap_or(0.2 * specimen.fiber_length);
    let steps_of = |time: f64| (time / lab.step).round().max(1.0) as usize;
    // At least two steps, so that the force has a course.
    let (quick, slow) = (steps_of(lab.release_time).max(2), steps_of(lab.duration.unwrap_or(USUAL_DURATION)));
    session.expect_steps(2 * ACTIVATION_PARTS + quick + slow + 2);
    let mut held = Apparatus::new(specimen, Grip::Held, Speed::Ignored, 1.0)?;
    let from = Setting { travel: specimen.travel(lab.length), ..Setting::default() };
    session.begin("isometric before the release");
    held.approach(from, 1, session)?;
    let relaxed = held.reading();
    held.approach(Setting { activation: 1.0, ..from }, ACTIVATION_PARTS, session)?;
    let before = held.reading();
    let start = held.state();
    let mut moving = Apparatus::new(specimen, Grip::Held, Speed::Felt, lab.step)?;
    moving.adopt(&start)?;
    let mut last = before;
    session.measure(row(0.0, &before), &Sample { place: "at 0 s".into(), active: &before, relaxed: None, speed: 0.0 });
    for k in 1..=quick + slow {
        session.begin(if k <= quick { "during the release" } else { "after the release" });
        let share = (k as f64 / quick as f64).min(1.0);
        moving.step(Setting { travel: from.travel - share * way, ..start.1 }, session)?;
        let (time, reading) = (k as f64 * lab.step, moving.reading());
        let speed = session.doubts.limits().speed(&last, &reading, lab.step);
        let place = format!("at {} s", four_digits(time));
        session.measure(row(time, &reading), &Sample { place, active: &reading, relaxed: None, speed });
        last = reading;
    }
    session.begin("settled after the release");
    held.approach(Setting { travel: from.travel - way, ..start.1 }, 2, session)?;
    let settled = held.reading();

    session.comparison.what = "force before the release, at the measured length";
    let trial = ForceTrial {
        developed: before.force - relaxed.force,
        ideal: specimen.ideal_force(before.length, 1.0),
        made_of: "stress × PCSA × f(length) × cos α",
        active: &before,
        relaxed: &relaxed,
        speed: 0.0,
    };
    session.try_force(&trial, specimen);
    let sheet = &session.sheet;
    let (time, force, length) = (sheet.column(0), sheet.column(2), sheet.column(3));
    let least = lowest(&force).unwrap_or(0);
    let last = force.len() - 1;
    let volume = largest_change(&sheet.column(6));
    let constant = time_constant(&time[least..], &force[least..]).unwrap_or(0.0);
    let rises = is_rising(&force[least..], ROUNDING);
    session.figure("drop", force[least] / force[last]);
    session.figure("recovery", force[last] / force[0]);
    session.figure("time_constant", constant);
    session.figure("is_rising", f64::from(u8::from(rises)));
    session.figure("initial_force", force[0]);
    session.figure("smallest_force", force[least]);
    session.figure("final_force", force[last]);
    session.figure("settled_force", settled.force);
    session.figure("initial_length", length[0]);
    session.figure("final_length", length[last]);
    session.figure("volume_change", volume);
    let marks = session.marks(&time, &force, Some((&time, &force)));
    let mut lines = vec![Line::new("flesh", force)];
    match actuator_course(specimen, lab, way, quick, time.len() - 1) {
        Some(values) => lines.push(Line::new("actuator", values).dashed()),
        None => session.notes.push("the one-dimensional actuator does not follow this release".into()),
    }
    lines.extend(marks);
    session.plots.push(Plot {
        title: "Quick release".into(),
        x_label: "time [s]".into(),
        y_label: "force [N]".into(),
        x: time.clone(),
        lines,
        scale: Scale::Linear,
    });
    session.plots.push(Plot {
        title: "Fibers".into(),
        x_label: "time [s]".into(),
        y_label: "fiber length [optimal lengths]".into(),
        x: time,
        lines: vec![
            Line::new("mean", length),
            Line::new("shortest", session.sheet.column(4)),
            Line::new("longest", session.sheet.column(5)),
        ],
        scale: Scale::Linear,
    });
    Ok(())
}

fn row(time: f64, reading: &super::apparatus::Reading) -> Vec<f64> {
    vec![time, reading.travel, reading.force, reading.length, reading.shortest, reading.longest, reading.volume]
}

/// Force of the actuator on the same path \[N\], with a tendon as long as the muscle's.
fn actuator_course(specimen: &Specimen, lab: &Lab, way: f64, quick: usize, steps: usize) -> Option<Vec<f64>> {
    let slack = specimen.tendon_length();
    let actuator = specimen.actuator(slack).ok()?;
    let path = slack + specimen.fiber_length * specimen.cosine + specimen.travel(lab.length);
    let state = actuator.rest_state(path, 1.0).ok()?;
    let release = quick as f64 * lab.step;
    let drive = |time: f64| Drive::Path(path - way * (time / release).min(1.0));
    let states = actuator.simulate(state, lab.step, steps, drive, |_| 1.0).ok()?;
    Some(states.iter().map(|state| state.tendon_force).collect())
}
