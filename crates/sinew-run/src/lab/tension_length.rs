//! Tension over length (CHE-57). At each position of the clamp the resting muscle settles and its passive force is
//! measured. Then it becomes fully active and settles again, and its total force is measured. The difference is the
//! developed force.

use sinew_muscle::Actuator;
use sinew_record::report::{Line, Plot, Scale};
use sinew_scene::spec::lab::Lab;

use super::apparatus::{ACTIVATION_PARTS, Apparatus, Grip, Reading, Setting, Speed};
use super::doubts::Sample;
use super::measure::{crossing, largest_change, peak};
use super::session::{Session, Stop};
use super::specimen::Specimen;
use super::verdict::ForceTrial;
use super::{FigureKind, four_digits};

pub(super) const FIGURES: &[FigureKind] = &[
    ("peak_length", "l₀", "mean length of the active fibers where they develop the largest force"),
    ("peak_force", "N", "largest developed force"),
    ("specific_tension", "Pa", "largest developed force divided by the physiological cross-section"),
    ("force_ratio", "", "largest developed force divided by `max_force`"),
    ("peak_pennation", "°", "mean angle between fibers and line of action there"),
    ("length_spread", "l₀", "difference between longest and shortest active fiber there"),
    ("passive_share", "", "passive force divided by developed force there"),
    ("slack_length", "l₀", "mean length of the resting fibers at the onset of tension"),
    ("curve_error", "", "largest difference between the developed force and the input curve, each divided by its peak"),
    ("volume_change", "", "largest |V/V₀ − 1| of the active muscle"),
    ("passive_volume_change", "", "largest |V/V₀ − 1| of the resting muscle"),
];

pub(super) const COLUMNS: [&str; 15] = [
    "clamp_length",
    "travel [m]",
    "passive_force [N]",
    "total_force [N]",
    "developed_force [N]",
    "passive_length",
    "length",
    "length_min",
    "length_max",
    "passive_volume",
    "volume",
    "passive_pennation [deg]",
    "pennation [deg]",
    "active_tension [Pa]",
    "curve_force [N]",
];

pub(super) fn run(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    session.sheet.columns = COLUMNS.to_vec();
    session.expect_steps(lab.count * (1 + ACTIVATION_PARTS) + 2);
    let mut apparatus = Apparatus::new(specimen, Grip::Held, Speed::Ignored, 1.0)?;
    let [low, high] = lab.lengths;
    let lengths: Vec<f64> = (0..lab.count).map(|i| low + (high - low) * i as f64 / (lab.count - 1) as f64).collect();
    let actuator = specimen.actuator(0.0).map_err(|error| Stop::Failed(error.to_string()))?;
    let rest = apparatus.state();
    // Outward from rest, so that each shape starts from the nearest one.
    let (shorter, longer): (Vec<f64>, Vec<f64>) = lengths.iter().partition(|&&length| specimen.travel(length) < 0.0);
    let mut rows: Vec<(f64, Reading, Reading)> = Vec::new();
    for way in [longer, shorter.into_iter().rev().collect()] {
        apparatus.adopt(&rest)?;
        for length in way {
            session.begin(format!("at {length:.3} optimal lengths"));
            let setting = Setting { travel: specimen.travel(length), ..Setting::default() };
            apparatus.approach(setting, 1, session)?;
            let passive = apparatus.reading();
            let relaxed = apparatus.state();
            apparatus.approach(Setting { activation: 1.0, ..setting }, ACTIVATION_PARTS, session)?;
            let total = apparatus.reading();
            apparatus.adopt(&relaxed)?;
            let place = format!("at a clamp length of {}", four_digits(length));
            let sample = Sample { place, active: &total, relaxed: Some(&passive), speed: 0.0 };
            session.measure(row(length, &passive, &total, &actuator, specimen), &sample);
            rows.push((length, passive, total));
        }
    }
    // Rows in order of length.
    session.sheet.sort();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    conclude(specimen, &rows, &actuator, session);
    Ok(())
}

fn row(length: f64, passive: &Reading, total: &Reading, actuator: &Actuator, specimen: &Specimen) -> Vec<f64> {
    vec![
        length,
        total.travel,
        passive.force,
        total.force,
        total.force - passive.force,
        passive.length,
        total.length,
        total.shortest,
        total.longest,
        passive.volume,
        total.volume,
        passive.pennation.to_degrees(),
        total.pennation.to_degrees(),
        total.active,
        curve(actuator, specimen, total.length, 1.0) - curve(actuator, specimen, total.length, 0.0),
    ]
}

/// Force of the actuator with fibers of this length on a rigid tendon \[N\].
fn curve(actuator: &Actuator, specimen: &Specimen, length: f64, activation: f64) -> f64 {
    let path = specimen.travel(length) + specimen.fiber_length * specimen.cosine;
    actuator.equilibrium(path, activation).map_or(f64::NAN, |state| state.tendon_force)
}

fn conclude(specimen: &Specimen, rows: &[(f64, Reading, Reading)], actuator: &Actuator, session: &mut Session<'_>) {
    let column = |value: &dyn Fn(&Reading, &Reading) -> f64| -> Vec<f64> {
        rows.iter().map(|(_, passive, total)| value(passive, total)).collect()
    };
    let length = column(&|_, total| total.length);
    let developed = column(&|passive, total| total.force - passive.force);
    let (place, force) = peak(&length, &developed).unwrap_or((f64::NAN, f64::NAN));
    let nearest = (0..rows.len()).min_by(|&a, &b| (length[a] - place).abs().total_cmp(&(length[b] - place).abs()));
    let (passive, total) = nearest.map_or_else(Default::default, |i| (rows[i].1, rows[i].2));
    session.figure("peak_length", place);
    session.figure("peak_force", force);
    session.figure("specific_tension", force / specimen.cross_section());
    session.figure("force_ratio", force / specimen.max_force());
    session.figure("peak_pennation", total.pennation.to_degrees());
    session.figure("length_spread", total.longest - total.shortest);
    session.figure("passive_share", passive.force / force);
    let passive_length = column(&|passive, _| passive.length);
    let passive_force = column(&|passive, _| passive.force);
    session.figure("slack_length", crossing(&passive_length, &passive_force, 0.0).unwrap_or(f64::NAN));
    let curve_of = |l: f64| curve(actuator, specimen, l, 1.0) - curve(actuator, specimen, l, 0.0);
    let top = curve_of(1.0);
    let errors = length.iter().zip(&developed).map(|(&l, f)| (f / force - curve_of(l) / top).abs());
    session.figure("curve_error", errors.fold(0.0, f64::max));
    let differences = length.iter().zip(&developed).map(|(&l, f)| (f - curve_of(l)).abs() / top);
    session.comparison.of_points = differences.collect();
    session.comparison.what = "force at every length, as a part of the largest";
    let trial = ForceTrial {
        developed: force,
        ideal: top,
        made_of: "stress × PCSA × cos α",
        active: &total,
        relaxed: &passive,
        speed: 0.0,
    };
    session.try_force(&trial, specimen);
    session.figure("volume_change", largest_change(&column(&|_, total| total.volume)));
    session.figure("passive_volume_change", largest_change(&column(&|passive, _| passive.volume)));
    let at_end = nearest.is_some_and(|i| i == 0 || i + 1 == rows.len());
    if at_end {
        session.notes.push("the developed force is largest at an end of `lengths`: its peak may lie outside".into());
    }

    let fine: Vec<f64> = (0..=120).map(|i| 0.4 + 1.3 * f64::from(i) / 120.0).collect();
    let dashed = |label: &str, value: &dyn Fn(f64) -> f64| {
        let (low, high) = (length.iter().copied().fold(f64::MAX, f64::min), length.iter().copied().fold(0.0, f64::max));
        let x: Vec<f64> = fine.iter().copied().filter(|&l| l > low - 0.05 && l < high + 0.05).collect();
        let values = x.iter().map(|&l| value(l)).collect();
        Line::new(label, values).over(x).dashed()
    };
    let marks = session.marks(&length, &developed, Some((&passive_length, &passive_force)));
    let mut lines = vec![
        Line::new("developed", developed.clone()),
        Line::new("passive", passive_force).over(passive_length),
        Line::new("total", column(&|_, total| total.force)),
        dashed("actuator", &curve_of),
        dashed("its passive", &|l| curve(actuator, specimen, l, 0.0)),
    ];
    lines.extend(marks);
    session.plots.push(Plot {
        title: "Tension over length".into(),
        x_label: "mean fiber length [optimal lengths]".into(),
        y_label: "force [N]".into(),
        x: length.clone(),
        lines,
        scale: Scale::Linear,
    });
    session.plots.push(Plot {
        title: "Fibers at full activation".into(),
        x_label: "length of the clamp [optimal lengths]".into(),
        y_label: "fiber length [optimal lengths]".into(),
        x: rows.iter().map(|row| row.0).collect(),
        lines: vec![
            Line::new("mean", length),
            Line::new("shortest", column(&|_, total| total.shortest)),
            Line::new("longest", column(&|_, total| total.longest)),
        ],
        scale: Scale::Linear,
    });
    session.plots.push(Plot {
        title: "Volume relative to rest".into(),
        x_label: "length of the clamp [optimal lengths]".into(),
        y_label: "volume [rest volumes]".into(),
        x: rows.iter().map(|row| row.0).collect(),
        lines: vec![
            Line::new("active", column(&|_, total| total.volume)),
            Line::new("resting", column(&|passive, _| passive.volume)),
        ],
        scale: Scale::Linear,
    });
}
