//! Free contraction: the clamp is released, and the muscle shortens without load as it becomes active. Constant volume
//! makes it thicker (CHE-68).

use sinew_record::report::{Line, Plot, Scale};
use sinew_scene::spec::lab::Lab;

use super::FigureKind;
use super::apparatus::{Apparatus, Grip, Setting, Speed};
use super::doubts::Sample;
use super::measure::largest_change;
use super::session::{Session, Stop};
use super::specimen::Specimen;

pub(super) const FIGURES: &[FigureKind] = &[
    ("shortening", "", "displacement of the clamp at full activation divided by fiber length"),
    ("travel", "m", "the same in meters"),
    ("final_length", "l₀", "mean length of the fibers at full activation"),
    ("length_spread", "l₀", "difference between longest and shortest fiber there"),
    ("widening", "", "larger extent of the body across the axis there, relative to rest"),
    ("final_pennation", "°", "mean angle between fibers and line of action there"),
    ("volume_change", "", "largest |V/V₀ − 1| during the contraction"),
];

pub(super) const COLUMNS: [&str; 8] =
    ["activation", "travel [m]", "length", "length_min", "length_max", "volume", "widening", "pennation [deg]"];

pub(super) fn run(specimen: &Specimen, lab: &Lab, session: &mut Session<'_>) -> Result<(), Stop> {
    session.sheet.columns = COLUMNS.to_vec();
    session.expect_steps(lab.count + 1);
    let mut loaded = Apparatus::new(specimen, Grip::Loaded, Speed::Ignored, 1.0)?;
    let (axis, _) = specimen.coordinate_axis()?;
    let across = |extents: sinew_math::Vec3| (0..3).filter(|&k| k != axis).map(|k| extents[k]).fold(0.0, f64::max);
    let width = across(loaded.reading().extents);
    for k in 0..=lab.count {
        let activation = k as f64 / lab.count as f64;
        session.begin(format!("at activation {activation:.3}"));
        loaded.approach(Setting { activation, ..Setting::default() }, 1, session)?;
        let reading = loaded.reading();
        let row = vec![
            activation,
            reading.travel,
            reading.length,
            reading.shortest,
            reading.longest,
            reading.volume,
            across(reading.extents) / width,
            reading.pennation.to_degrees(),
        ];
        let place = format!("at an activation of {activation:.3}");
        session.measure(row, &Sample { place, active: &reading, relaxed: None, speed: 0.0 });
    }
    let sheet = &session.sheet;
    let last = sheet.rows[sheet.rows.len() - 1].clone();
    let volume = largest_change(&sheet.column(5));
    let plots = [
        ("Shortening", "fiber length [optimal lengths]", vec![(2, "mean"), (3, "shortest"), (4, "longest")]),
        ("Shape", "size [sizes at rest]", vec![(5, "volume"), (6, "width")]),
    ];
    let mut plots = plots.map(|(title, y_label, lines)| Plot {
        title: title.into(),
        x_label: "activation [–]".into(),
        y_label: y_label.into(),
        x: sheet.column(0),
        lines: lines.into_iter().map(|(column, label)| Line::new(label, sheet.column(column))).collect(),
        scale: Scale::Linear,
    });
    plots[0].lines.extend(session.marks(&sheet.column(0), &sheet.column(2), None));
    session.figure("shortening", -last[1] / specimen.fiber_length);
    session.figure("travel", -last[1]);
    session.figure("final_length", last[2]);
    session.figure("length_spread", last[4] - last[3]);
    session.figure("widening", last[6]);
    session.figure("final_pennation", last[7]);
    session.figure("volume_change", volume);
    session.plots.extend(plots);
    Ok(())
}
