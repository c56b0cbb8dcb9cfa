//! Twitch and tetanus: force at constant length over time, under one pulse of excitation or many. Activation follows
//! excitation with two time constants (CHE-13).

use sinew_muscle::{ActivationDynamics, Drive, PulseTrain, Switch};
use sinew_record::report::{Line, Plot, Scale};
use sinew_scene::spec::lab::{Lab, Protocol};

use super::apparatus::{Apparatus, Grip, Reading, Setting, Speed};
use super::doubts::Sample;
use super::measure::{crossing, largest_change, peak};
use super::session::{Session, Stop};
use super::specimen::Specimen;
use super::verdict::ForceTrial;
use super::{FigureKind, four_digits};

pub(super) const TWITCH_FIGURES: &[FigureKind] = &[
    ("peak_force", "N", "largest developed force"),
    ("time_to_peak", "s", "time from the beginning of the pulse to the peak"),
    ("half_relaxation", "s", "time from the peak until half of it is left"),
    ("peak_activation", "", "largest activation"),
    ("force_ratio", "", "largest developed force divided by `max_force`"),
    ("passive_force", "N", "force before the pulse"),
    ("volume_change", "", "largest |V/V₀ − 1|"),
];

pub(super) const TETANUS_FIGURES: &[FigureKind] = &[
    ("peak_force", "N", "largest developed force"),
    ("plateau_force", "N", "mean developed force over the last period of the pulses"),
    ("ripple", "", "difference between largest and smallest force of that period, divided by the plateau"),
    ("fusion", "", "smallest divided by largest force of that period: 1 for a smooth tetanus"),
    ("rise_time", "s", "time from the first pulse to nine tenths of the plateau"),
    ("half_relaxation", "s", "time from the end of the last period until half of the plateau is left"),
    ("peak_activation", "", "largest activation"),
    ("force_ratio", "", "plateau divided by `max_force`"),
    ("passive_force", "N", "force before the pulses"),
    ("volume_change", "", "largest |V/V₀ − 1|"),
];

pub(super) const COLUMNS: [&str; 7] =
    ["time [s]", "excitation", "activation", "force [N]", "developed_force [N]", "length", "volume"];

/// Duration after the last pulse, in time constants of the decay: e⁻⁵ is left.
const DECAYS: f64 = 5.0;

pub(super) fn run_twitch(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    let pulses = PulseTrain::twitch(lab.pulse_width);
    let end = lab.duration.unwrap_or(lab.pulse_width + DECAYS * decay(specimen));
    stimulate(specimen, lab, &pulses, end, Protocol::Twitch, session)?;
    let sheet = &session.sheet;
    let (time, force) = (sheet.column(0), sheet.column(4));
    let (when, top) = peak(&time, &force).unwrap_or((f64::NAN, f64::NAN));
    let after = time.iter().position(|&t| t >= when).unwrap_or(0);
    let half = crossing(&time[after..], &force[after..], 0.5 * top).map(|t| t - when);
    session.figure("peak_force", top);
    session.figure("time_to_peak", when);
    session.figure("half_relaxation", half.unwrap_or(f64::NAN));
    session.figure("force_ratio", top / specimen.max_force());
    common(session);
    Ok(())
}

pub(super) fn run_tetanus(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    let period = 1.0 / lab.frequency;
    if lab.pulse_width > period {
        let message = "pulses last longer than the time from one to the next";
        let problem = specimen.scene.problem("lab.pulse_width", message);
        return Err(specimen.scene.error(vec![problem.hint("shorten them, or lower `frequency`")]).into());
    }
    let pulses = PulseTrain::tetanus(lab.pulse_width, lab.frequency, lab.pulses as u32);
    let last_pulse = (lab.pulses - 1) as f64 * period;
    let end = last_pulse + period + lab.duration.unwrap_or(DECAYS * decay(specimen));
    stimulate(specimen, lab, &pulses, end, Protocol::Tetanus, session)?;
    let sheet = &session.sheet;
    let (time, force) = (sheet.column(0), sheet.column(4));
    // The last whole period of pulses.
    let slack = 1e-6 * lab.step;
    let inside: Vec<usize> =
        (0..time.len()).filter(|&i| time[i] >= last_pulse - slack && time[i] <= last_pulse + period + slack).collect();
    let of_period = |i: &usize| force[*i];
    let (low, high) = inside.iter().map(of_period).fold((f64::MAX, f64::MIN), |(a, b), f| (a.min(f), b.max(f)));
    let plateau = inside.iter().map(of_period).sum::<f64>() / inside.len().max(1) as f64;
    let after = inside.last().copied().unwrap_or(0);
    let half = crossing(&time[after..], &force[after..], 0.5 * plateau).map(|t| t - time[after]);
    let rise = crossing(&time, &force, 0.9 * plateau);
    let top = peak(&time, &force).map_or(f64::NAN, |top| top.1);
    session.figure("peak_force", top);
    session.figure("plateau_force", plateau);
    session.figure("ripple", (high - low) / plateau);
    session.figure("fusion", low / high);
    session.figure("rise_time", rise.unwrap_or(f64::NAN));
    session.figure("half_relaxation", half.unwrap_or(f64::NAN));
    session.figure("force_ratio", plateau / specimen.max_force());
    common(session);
    if lab.step > 0.25 * period {
        session
            .notes
            .push("fewer than four steps in a period: ripple and fusion are inaccurate; shorten `step`".into());
    }
    Ok(())
}

fn decay(specimen: &Specimen) -> f64 {
    specimen.scene.body[specimen.body].muscle[specimen.muscle].decay
}

fn common(session: &mut Session<'_>) {
    let largest = |column: usize| session.sheet.column(column).into_iter().fold(0.0, f64::max);
    let activation = largest(2);
    let volume = largest_change(&session.sheet.column(6));
    let passive = session.sheet.rows.first().map_or(f64::NAN, |row| row[3]);
    session.figure("peak_activation", activation);
    session.figure("passive_force", passive);
    session.figure("volume_change", volume);
}

/// Force of the muscle under pulses, at constant length.
fn stimulate(
    specimen: &Specimen,
    lab: &Lab,
    pulses: &PulseTrain,
    end: f64,
    protocol: Protocol,
    session: &mut Session<'_>,
) -> Result<(), Stop> {
    session.sheet.columns = COLUMNS.to_vec();
    let muscle = &specimen.scene.body[specimen.body].muscle[specimen.muscle];
    let dynamics = ActivationDynamics { rise_secs: muscle.rise, decay_secs: muscle.decay, switch: Switch::Plain };
    let steps = (end / lab.step).ceil().max(1.0) as usize;
    session.expect_steps(steps + 1);
    session.begin("relaxed, before the first pulse");
    let mut held = Apparatus::new(specimen, Grip::Held, Speed::Ignored, 1.0)?;
    let rest = Setting { travel: specimen.travel(lab.length), ..Setting::default() };
    held.approach(rest, 1, session)?;
    let passive = held.reading();
    let mut moving = Apparatus::new(specimen, Grip::Held, Speed::Felt, lab.step)?;
    moving.adopt(&held.state())?;
    let mut activation = 0.0;
    let row = vec![0.0, pulses.excitation(0.0), 0.0, passive.force, 0.0, passive.length, passive.volume];
    session.measure(row, &Sample { place: "at 0 s".into(), active: &passive, relaxed: None, speed: 0.0 });
    let mut last = passive;
    // Activation, state and speed at the largest force: it does not change there, so that tendons and fibers rest.
    let mut top: (f64, Reading, f64) = (0.0, passive, 0.0);
    for k in 1..=steps {
        let (from, to) = ((k - 1) as f64 * lab.step, k as f64 * lab.step);
        session.begin(format!("at {to:.4} s"));
        activation = dynamics.advance_through(pulses, activation, from, to);
        moving.step(Setting { activation, ..rest }, session)?;
        let reading = moving.reading();
        let row = vec![
            to,
            pulses.excitation(to),
            activation,
            reading.force,
            reading.force - passive.force,
            reading.length,
            reading.volume,
        ];
        let speed = session.doubts.limits().speed(&last, &reading, lab.step);
        let place = format!("at {} s", four_digits(to));
        session.measure(row, &Sample { place, active: &reading, relaxed: None, speed });
        if reading.force > top.1.force {
            top = (activation, reading, speed);
        }
        last = reading;
    }
    let (activation, active, speed) = top;
    session.comparison.what = "largest force, at its activation and length";
    let trial = ForceTrial {
        developed: active.force - passive.force,
        ideal: specimen.ideal_force(active.length, activation),
        made_of: "stress × PCSA × activation × f(length) × cos α",
        active: &active,
        relaxed: &passive,
        speed,
    };
    session.try_force(&trial, specimen);
    let (time, developed) = (session.sheet.column(0), session.sheet.column(4));
    let marks = session.marks(&time, &developed, Some((&time, &developed)));
    let mut lines = vec![Line::new("flesh", developed)];
    let of_actuator = actuator_course(specimen, lab, &dynamics, pulses, steps);
    lines.extend(of_actuator.map(|values| Line::new("actuator", values).dashed()));
    lines.extend(marks);
    let word = if protocol == Protocol::Twitch { "Twitch" } else { "Tetanus" };
    session.plots.push(Plot {
        title: word.into(),
        x_label: "time [s]".into(),
        y_label: "developed force [N]".into(),
        x: time.clone(),
        lines,
        scale: Scale::Linear,
    });
    session.plots.push(Plot {
        title: "Excitation and activation".into(),
        x_label: "time [s]".into(),
        y_label: "share of the maximum [–]".into(),
        x: time,
        lines: vec![Line::new("excitation", session.sheet.column(1)), Line::new("activation", session.sheet.column(2))],
        scale: Scale::Linear,
    });
    Ok(())
}

/// Developed force of the actuator under the same pulses \[N\].
fn actuator_course(
    specimen: &Specimen,
    lab: &Lab,
    dynamics: &ActivationDynamics,
    pulses: &PulseTrain,
    steps: usize,
) -> Option<Vec<f64>> {
    let slack = specimen.tendon_length();
    let actuator = specimen.actuator(slack).ok()?;
    let path = slack + specimen.fiber_length * specimen.cosine + specimen.travel(lab.length);
    let state = actuator.rest_state(path, 0.0).ok()?;
    let activation = |time: f64| dynamics.advance_through(pulses, 0.0, 0.0, time).clamp(0.0, 1.0);
    let states = actuator.simulate(state, lab.step, steps, |_| Drive::Path(path), activation).ok()?;
    Some(states.iter().map(|state| state.tendon_force - states[0].tendon_force).collect())
}
