//! Force over speed, as measured by Wilkie (CHE-67). An active muscle whose fibers are a little longer than optimal is
//! released onto a load. The speed of its fibers is measured where they pass their optimal length.
//!
//! The fibers carry the part of the load P that the relaxed muscle does not carry: $`(P - P_p) / (P_0 - P_p)`$ should
//! equal $`f_v(v)`$, with the isometric force $`P_0`$ and the passive force $`P_p`$ at that length.

use sinew_fem::State;
use sinew_muscle::{Curve, Drive};
use sinew_record::report::{Line, Plot, Scale};
use sinew_scene::spec::lab::Lab;

use super::apparatus::{ACTIVATION_PARTS, Apparatus, Grip, Reading, Setting, Speed};
use super::doubts::Sample;
use super::measure::{between, crossing, largest_change};
use super::session::{Session, Stop};
use super::specimen::Specimen;
use super::verdict::ForceTrial;
use super::{FigureKind, four_digits};

pub(super) const FIGURES: &[FigureKind] = &[
    ("largest_error", "", "largest difference from the input curve, in isometric forces"),
    ("largest_speed_error", "", "the same along the other axis, in maximum shortening speeds"),
    ("isometric_force", "N", "total force at optimal length"),
    ("passive_force", "N", "force of the relaxed muscle at that length"),
    ("peak_power", "W", "largest product of load and speed of the clamp"),
    ("volume_change", "", "largest |V/V₀ − 1| where speeds were measured"),
];

pub(super) const ISOTONIC_FIGURES: &[FigureKind] = &[
    ("load", "N", "load of the muscle"),
    ("speed", "l₀/s", "shortening speed of the fibers where they pass their optimal length"),
    ("shortening", "m", "displacement of the clamp after the recoil of the first step"),
    ("recoil", "m", "displacement of the clamp in the first step: recoil of the tendons"),
    ("final_length", "l₀", "mean length of the fibers at the end"),
    ("work", "J", "load times shortening"),
    ("isometric_force", "N", "total force at optimal length"),
    ("volume_change", "", "largest |V/V₀ − 1| during the motion"),
];

pub(super) const COLUMNS: [&str; 11] = [
    "load_fraction",
    "load [N]",
    "speed [1/s]",
    "speed_fraction",
    "force_fraction",
    "curve",
    "clamp_speed [m/s]",
    "length_min",
    "length_max",
    "volume",
    "time [s]",
];

pub(super) const ISOTONIC_COLUMNS: [&str; 8] =
    ["time [s]", "travel [m]", "shortening [m]", "length", "length_min", "length_max", "speed [1/s]", "volume"];

/// The active muscle before its release, and forces at optimal length.
struct Start {
    state: (State, Setting),
    reading: Reading,
    /// Total isometric force at optimal length, and its passive part \[N\].
    isometric: f64,
    passive: f64,
    /// Maximum shortening speed \[1/s\] and the curve over it.
    max_velocity: f64,
    curve: Curve,
}

impl Start {
    /// Load that leaves the fibers this fraction of their isometric force \[N\].
    fn load(&self, fraction: f64) -> f64 {
        self.passive + fraction * (self.isometric - self.passive)
    }
}

/// Isometric states at optimal length and at the release length.
fn prepare(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<Start, Stop> {
    let max_velocity = specimen.max_velocity()?;
    specimen.coordinate_axis()?;
    let curve = specimen.group.curves.velocity.clone().unwrap_or_else(Curve::velocity_chen);
    let mut held = Apparatus::new(specimen, Grip::Held, Speed::Ignored, 1.0)?;
    let rest = held.state();
    session.begin("relaxed at optimal length");
    let relaxed = held.find_length(1.0, 0.0, session)?;
    let passive = relaxed.force;
    held.adopt(&rest)?;
    session.begin("isometric at optimal length");
    let active = held.find_length(1.0, 1.0, session)?;
    let isometric = active.force;
    session.begin(format!("isometric at {} optimal lengths", lab.release_length));
    let reading = held.find_length(lab.release_length, 1.0, session)?;
    if !(isometric > passive) {
        return Err(Stop::Failed(format!(
            "active, the muscle pulls with {isometric:.4} N at optimal length, and relaxed with {passive:.4} N: its fibers develop no force"
        )));
    }
    let trial = ForceTrial {
        developed: isometric - passive,
        ideal: specimen.ideal_force(1.0, 1.0),
        made_of: "stress × PCSA × cos α",
        active: &active,
        relaxed: &relaxed,
        speed: 0.0,
    };
    session.try_force(&trial, specimen);
    Ok(Start { state: held.state(), reading, isometric, passive, max_velocity, curve })
}

/// Speed at which the curve has a value, between 0 and the maximum shortening speed.
fn speed_at(curve: &Curve, value: f64) -> f64 {
    let (mut fast, mut slow) = (-1.0, 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (fast + slow);
        if curve.value(middle) < value { fast = middle } else { slow = middle }
    }
    0.5 * (fast + slow)
}

/// States of one release: time, reading and speed of the fibers over the step that ends there \[1/s\].
type Course = Vec<(f64, Reading, f64)>;

/// Releases an active muscle onto a load for a number of steps, or until `is_over`.
fn release(
    specimen: &Specimen,
    start: &Start,
    load: f64,
    step_secs: f64,
    most_steps: usize,
    session: &mut Session<'_>,
    is_over: impl Fn(&Course) -> bool,
) -> Result<Course, Stop> {
    let mut loaded = Apparatus::new(specimen, Grip::Loaded, Speed::Felt, step_secs)?;
    loaded.adopt(&(start.state.0.clone(), Setting { load: start.reading.force, ..start.state.1 }))?;
    let mut course: Course = vec![(0.0, start.reading, 0.0)];
    for k in 1..=most_steps {
        loaded.step(Setting { load, ..loaded.setting() }, session)?;
        let reading = loaded.reading();
        let before = course[course.len() - 1].1.length;
        course.push((k as f64 * step_secs, reading, (reading.length - before) / step_secs));
        if is_over(&course) {
            break;
        }
    }
    Ok(course)
}

pub(super) fn run(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    session.sheet.columns = COLUMNS.to_vec();
    session.expect_steps(2 * ACTIVATION_PARTS + 10 + lab.loads.len() * (lab.steps + 2));
    let start = prepare(specimen, lab, session)?;
    let mut power: f64 = 0.0;
    for (i, &fraction) in lab.loads.iter().enumerate() {
        session.begin(format!("released onto {fraction} of the isometric force"));
        session.expect_steps((lab.loads.len() - i) * (lab.steps + 2));
        let expected = speed_at(&start.curve, fraction).abs().max(0.01) * start.max_velocity;
        let step_secs = (lab.release_length - 1.0) / (expected * lab.steps as f64);
        let load = start.load(fraction);
        let passed = |course: &Course| course[course.len() - 1].1.length < 1.0;
        let course = release(specimen, &start, load, step_secs, 4 * lab.steps, session, passed)?;
        if !passed(&course) {
            return Err(Stop::Failed(format!(
                "the fibers do not reach their optimal length: after {:.4} s their mean length is {:.4}",
                4.0 * lab.steps as f64 * step_secs,
                course[course.len() - 1].1.length
            )));
        }
        let point = at_optimum(&course);
        power = power.max(load * -point.clamp_speed);
        let row = vec![
            fraction,
            load,
            point.speed,
            point.speed / start.max_velocity,
            (load - start.passive) / (start.isometric - start.passive),
            start.curve.value(point.speed / start.max_velocity),
            point.clamp_speed,
            point.reading.shortest,
            point.reading.longest,
            point.reading.volume,
            point.time,
        ];
        let (place, speed) = (format!("at a load of {fraction}"), point.speed.abs() / start.max_velocity);
        session.measure(row, &Sample { place, active: &point.reading, relaxed: None, speed });
    }
    conclude(&start, power, session);
    Ok(())
}

/// Measured values where the fibers had their optimal length.
struct Point {
    time: f64,
    reading: Reading,
    /// Speed of the fibers \[1/s\] and of the clamp \[m/s\]; negative for shortening.
    speed: f64,
    clamp_speed: f64,
}

/// Interpolation between the last two states of a course; the last one is the first below optimal length. Speeds belong
/// to the ends of their steps.
fn at_optimum(course: &Course) -> Point {
    let n = course.len();
    let [(t0, r0, v0), (t1, r1, v1)] = [course[n - 2], course[n - 1]];
    let clamp = |i: usize| (course[i].1.travel - course[i - 1].1.travel) / (course[i].0 - course[i - 1].0);
    let lengths = [r0.length, r1.length];
    // The first step contains the recoil of the tendons, so its speed is not used.
    let (v0, c0) = if n > 3 { (v0, clamp(n - 2)) } else { (v1, clamp(n - 1)) };
    Point {
        time: between(lengths, [t0, t1], 1.0),
        reading: r1,
        speed: between(lengths, [v0, v1], 1.0),
        clamp_speed: between(lengths, [c0, clamp(n - 1)], 1.0),
    }
}

fn conclude(start: &Start, power: f64, session: &mut Session<'_>) {
    let sheet = &session.sheet;
    let (speed, force, curve) = (sheet.column(3), sheet.column(4), sheet.column(5));
    let largest = |errors: &mut dyn Iterator<Item = f64>| errors.fold(0.0, |most: f64, e: f64| most.max(e.abs()));
    let volume = largest(&mut sheet.column(9).iter().map(|v| v - 1.0));
    let error = largest(&mut force.iter().zip(&curve).map(|(f, c)| f - c));
    let speed_error = largest(&mut force.iter().zip(&speed).map(|(&f, v)| v - speed_at(&start.curve, f)));
    session.comparison.of_points = force.iter().zip(&curve).map(|(f, c)| (f - c).abs()).collect();
    session.comparison.what = "isometric force, and force at every speed";
    session.figure("largest_error", error);
    session.figure("largest_speed_error", speed_error);
    session.figure("isometric_force", start.isometric);
    session.figure("passive_force", start.passive);
    session.figure("peak_power", power);
    session.figure("volume_change", volume);
    let x: Vec<f64> = (0..=100).map(|i| -1.05 + 1.05 * f64::from(i) / 100.0).collect();
    let put_in = x.iter().map(|&v| start.curve.value(v)).collect();
    let mut lines = vec![
        Line::new("input curve", put_in).dashed(),
        Line::new("flesh", reversed(&force, &speed)).over(sorted(&speed)).dotted(),
    ];
    lines.extend(session.marks(&speed, &force, None));
    session.plots.push(Plot {
        title: "Force over speed".into(),
        x_label: "fiber speed [maximum shortening speeds]".into(),
        y_label: "force [isometric forces]".into(),
        x,
        lines,
        scale: Scale::Linear,
    });
}

/// Values in order of increasing abscissae.
fn reversed(values: &[f64], x: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    order.into_iter().map(|i| values[i]).collect()
}

fn sorted(x: &[f64]) -> Vec<f64> {
    reversed(x, x)
}

pub(super) fn run_isotonic(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    session.sheet.columns = ISOTONIC_COLUMNS.to_vec();
    session.expect_steps(2 * ACTIVATION_PARTS + 10 + lab.steps);
    let start = prepare(specimen, lab, session)?;
    session.expect_steps(lab.steps);
    let fraction = lab.loads.first().copied().unwrap_or(0.3);
    session.begin(format!("released onto {fraction} of the isometric force"));
    let load = start.load(fraction);
    let expected = speed_at(&start.curve, fraction).abs().max(0.01) * start.max_velocity;
    // Until it has shortened by a quarter of its length at the initial speed, and as long again to slow down.
    let duration = lab.duration.unwrap_or(2.0 * 0.25 / expected);
    let course = release(specimen, &start, load, duration / lab.steps as f64, lab.steps, session, |_| false)?;
    // The immediate displacement of the clamp, before fibers have moved.
    let recoil = course[0].1.travel - course[1].1.travel;
    let step_secs = duration / lab.steps as f64;
    for (k, (time, reading, speed)) in course.iter().enumerate() {
        let row = vec![
            *time,
            reading.travel,
            course[0].1.travel - reading.travel,
            reading.length,
            reading.shortest,
            reading.longest,
            *speed,
            reading.volume,
        ];
        let fastest = session.doubts.limits().speed(&course[k.saturating_sub(1)].1, reading, step_secs);
        let place = format!("at {} s", four_digits(*time));
        session.measure(row, &Sample { place, active: reading, relaxed: None, speed: fastest });
    }
    let sheet = &session.sheet;
    let (time, length, shortening) = (sheet.column(0), sheet.column(3), sheet.column(2));
    let passing = length.iter().position(|&l| l < 1.0);
    let speed = passing.filter(|&k| k > 0).map_or(f64::NAN, |k| at_optimum(&course[..=k].to_vec()).speed);
    let way = shortening[shortening.len() - 1] - recoil;
    let volume = largest_change(&sheet.column(7));
    let last = length[length.len() - 1];
    let model = actuator_course(specimen, &start, load, &time);
    let ideal = speed_at(&start.curve, fraction);
    session.comparison.of_all.push((speed / start.max_velocity - ideal).abs());
    session.comparison.what = "isometric force, and speed as a part of the maximum";
    session.figure("load", load);
    session.figure("speed", speed);
    session.figure("shortening", way);
    session.figure("recoil", recoil);
    session.figure("final_length", last);
    session.figure("work", load * way);
    session.figure("isometric_force", start.isometric);
    session.figure("volume_change", volume);
    if crossing(&time, &length, 1.0).is_none() {
        session.notes.push("the fibers did not pass their optimal length; increase `duration`".into());
    }
    let marks = session.marks(&time, &length, None);
    let mut lines = vec![Line::new("flesh", length)];
    lines.extend(model.map(|values| Line::new("actuator", values).dashed()));
    lines.extend(marks);
    session.plots.push(Plot {
        title: format!("Fibers at {} of their isometric force", fraction),
        x_label: "time [s]".into(),
        y_label: "mean fiber length [optimal lengths]".into(),
        x: time.clone(),
        lines,
        scale: Scale::Linear,
    });
    session.plots.push(Plot {
        title: "Shortening of the whole muscle".into(),
        x_label: "time [s]".into(),
        y_label: "displacement of the clamp [m]".into(),
        x: time,
        lines: vec![Line::new("flesh", shortening)],
        scale: Scale::Linear,
    });
    Ok(())
}

/// Fiber lengths of the actuator released from the same length onto the same fraction of its force.
fn actuator_course(specimen: &Specimen, start: &Start, load: f64, times: &[f64]) -> Option<Vec<f64>> {
    // An almost rigid tendon: under a constant load it does not move anyway.
    let actuator = specimen.actuator(0.01 * specimen.fiber_length).ok()?;
    let share = (load - start.passive) / (start.isometric - start.passive);
    let force = share * actuator.params().max_force * specimen.cosine;
    let path = specimen.travel(start.reading.length) + specimen.fiber_length * (specimen.cosine + 0.01);
    let state = actuator.rest_state(path, 1.0).ok()?;
    let dt = times.get(1)? - times[0];
    let states = actuator.simulate(state, dt, times.len() - 1, |_| Drive::Load(force), |_| 1.0).ok()?;
    Some(states.iter().map(|state| state.fiber_length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_is_inverted() {
        let curve = Curve::velocity_chen();
        for value in [0.05, 0.3, 0.77, 0.99] {
            assert!((curve.value(speed_at(&curve, value)) - value).abs() < 1e-9, "{value}");
        }
    }

    /// l = 1.05 − 0.5 t, and a speed that decreases linearly with length.
    #[test]
    fn speeds_are_read_at_optimal_length() {
        let state = |t: f64, length: f64, speed: f64| {
            (t, Reading { length, travel: 0.1 * length, ..Reading::default() }, speed)
        };
        let course =
            vec![state(0.0, 1.05, 0.0), state(0.05, 1.025, -0.6), state(0.09, 1.005, -0.5), state(0.11, 0.995, -0.4)];
        let point = at_optimum(&course);
        assert!((point.speed + 0.45).abs() < 1e-12 && (point.time - 0.1).abs() < 1e-12);
        assert!((point.clamp_speed + 0.05).abs() < 1e-12, "{}", point.clamp_speed);
    }
}
