//! A virtual physiology laboratory: takes one muscle of a scene through a protocol and reports the results.
//!
//! Every protocol is a simulation of the flesh with channels set before every step (CHE-57, CHE-58, CHE-67). Pins hold
//! one end of the muscle; an apparatus holds, moves or loads the other. Muscles settle without inertia and gravity;
//! where force depends on speed, time passes. A dashed line shows the one-dimensional actuator of \[Zajac89\] with the
//! same curves for comparison. A verdict says which measurements are in doubt, and how far the muscle is from an ideal
//! one.

mod apparatus;
mod beside;
mod doubts;
mod force_velocity;
mod free;
mod measure;
mod page;
mod quick_release;
mod session;
mod specimen;
mod stimulation;
mod tension_length;
mod verdict;

use std::path::{Path, PathBuf};

use sinew_fem::{Hold, RecordError, StepError};
use sinew_record::record::write_file;
use sinew_record::report::Plot;
use sinew_scene::spec::Scene;
use sinew_scene::spec::lab::Protocol;
use sinew_scene::{SceneError, format_number};
use thiserror::Error;

pub use self::beside::Beside;
pub use self::doubts::{Doubt, MAX_SPREAD};
pub use self::session::Sheet;
use self::session::{Session, Stop};
use self::specimen::Specimen;
pub(crate) use self::specimen::unknown_specimen;
pub use self::verdict::{CLOSE, Grade, Verdict};
use crate::expect::{Checked, Rule, UnknownProbe};
use crate::history::ProbeHistory;
use crate::run::Observer;

/// The result of a protocol.
#[derive(Clone, Debug)]
pub struct LabOutcome {
    /// The protocol.
    pub protocol: Protocol,
    /// What to think of the results.
    pub verdict: Verdict,
    /// Named results with their units.
    pub figures: Vec<Figure>,
    /// Measurements.
    pub sheet: Sheet,
    /// The measurements as plots.
    pub plots: Vec<Plot>,
    /// The claims of `[lab.expect]` and their results.
    pub expectations: Vec<Checked>,
    /// Measured data beside the curves.
    pub beside: Vec<Beside>,
    /// What is wrong with measurements or with the muscle, each with what to do.
    pub warnings: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Files written.
    pub outputs: Vec<PathBuf>,
}

/// A named result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name in `[lab.expect]` and in JSON.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Name, unit and meaning of a result.
type FigureKind = (&'static str, &'static str, &'static str);

/// Results that every protocol has.
const COMMON: [FigureKind; 7] = [
    ("doubtful_points", "", "measurements that are not to be trusted"),
    ("ideal_difference", "", "largest difference from an ideal muscle, as a part of its force or speed"),
    ("fiber_length", "m", "mean length of the fibers at rest"),
    ("cross_section", "m²", "physiological cross-section: volume of the muscle divided by its fiber length"),
    ("max_force", "N", "stress times cross-section: total force of all fibers"),
    ("rest_pennation", "°", "mean angle between fibers and line of action at rest"),
    ("cells", "", "cells of the body"),
];

/// Results of a protocol, besides [`COMMON`].
fn kinds(protocol: Protocol) -> &'static [FigureKind] {
    match protocol {
        Protocol::TensionLength => tension_length::FIGURES,
        Protocol::ForceVelocity => force_velocity::FIGURES,
        Protocol::Isotonic => force_velocity::ISOTONIC_FIGURES,
        Protocol::QuickRelease => quick_release::FIGURES,
        Protocol::Twitch => stimulation::TWITCH_FIGURES,
        Protocol::Tetanus => stimulation::TETANUS_FIGURES,
        Protocol::Free => free::FIGURES,
    }
}

/// Results that exist where there are measured data; the unit of the first is that of the column.
const BESIDE: [FigureKind; 2] = [
    ("data_difference", "", "root-mean-square difference from the first measured column"),
    ("relative_data_difference", "", "the same for all measured columns, each divided by its largest value"),
];

/// Columns of the measurements of a protocol, with units in brackets.
fn columns(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::TensionLength => &tension_length::COLUMNS,
        Protocol::ForceVelocity => &force_velocity::COLUMNS,
        Protocol::Isotonic => &force_velocity::ISOTONIC_COLUMNS,
        Protocol::QuickRelease => &quick_release::COLUMNS,
        Protocol::Twitch | Protocol::Tetanus => &stimulation::COLUMNS,
        Protocol::Free => &free::COLUMNS,
    }
}

/// Why a protocol has no result.
#[derive(Debug, Error)]
pub enum LabError {
    /// The scene cannot be compiled, or has no muscle for this protocol.
    #[error("{0}")]
    Scene(#[from] SceneError),
    /// `[lab.expect]` names a result that the protocol does not have.
    #[error("error: {0}")]
    Figure(#[from] UnknownProbe),
    /// Measured data cannot be used.
    #[error("error: {}", .problems.iter().map(|problem| format!("{}: {problem}", .file.display())).collect::<Vec<_>>().join("\nerror: "))]
    Beside {
        /// The file.
        file: PathBuf,
        /// All its problems.
        problems: Vec<String>,
    },
    /// The solver failed.
    #[error("error: {doing}: {source}\n{}", .kept)]
    Step {
        /// The activity at the time.
        doing: String,
        /// The cause, with node and cell.
        source: Box<StepError>,
        /// The measurements that were kept.
        kept: Kept,
    },
    /// The protocol cannot be done with this muscle.
    #[error("error: {doing}: {reason}\n{kept}")]
    Failed {
        /// The activity at the time.
        doing: String,
        /// The reason.
        reason: String,
        /// The measurements that were kept.
        kept: Kept,
    },
    /// The observer ended it.
    #[error("error: interrupted\n{kept}")]
    Interrupted {
        /// The measurements that were kept.
        kept: Kept,
    },
    /// A file cannot be written.
    #[error("error: {0}")]
    Record(#[from] RecordError),
}

/// Measurements completed before an error.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Their number.
    pub rows: usize,
    /// Their file.
    pub file: Option<PathBuf>,
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{} measurements were kept in {}", self.rows, file.display()),
            None => write!(f, "{} measurements were completed before", self.rows),
        }
    }
}

/// Takes the muscle of a scene through a protocol; writes `FOLDER/PROTOCOL.csv` and `.html` if there is a folder.
pub fn examine(
    scene: &Scene,
    protocol: Protocol,
    folder: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<LabOutcome, LabError> {
    let _entered = observer.interrupt().enter();
    let rules = rules(scene, protocol)?;
    let file = scene.lab.beside.of(protocol).map(|file| scene.source.resolve(file));
    let data = file.map(|file| beside::read(&file, protocol)).transpose()?;
    let specimen = Specimen::new(scene)?;
    let mut session = Session::new(observer, &specimen);
    // Measurements stay in memory until they are written at the end.
    let _hold = Hold::new();
    let lab = &scene.lab;
    let result = match protocol {
        Protocol::TensionLength => tension_length::run(&specimen, lab, &mut session),
        Protocol::ForceVelocity => force_velocity::run(&specimen, lab, &mut session),
        Protocol::Isotonic => force_velocity::run_isotonic(&specimen, lab, &mut session),
        Protocol::QuickRelease => quick_release::run(&specimen, lab, &mut session),
        Protocol::Twitch => stimulation::run_twitch(&specimen, lab, &mut session),
        Protocol::Tetanus => stimulation::run_tetanus(&specimen, lab, &mut session),
        Protocol::Free => free::run(&specimen, lab, &mut session),
    };
    let Session { doing, sheet, figures: mut found, mut plots, notes, doubts, comparison, far_force, .. } = session;
    if let Err(stop) = result {
        return Err(stopped(stop, doing, protocol, &sheet, folder)?);
    }
    let is_doubtful = |doubts: &&Vec<Doubt>| doubts.iter().any(|doubt| doubt.is_serious());
    found.push(("doubtful_points", sheet.doubts.iter().filter(is_doubtful).count() as f64));
    found.push(("ideal_difference", comparison.largest()));
    let beside = data.map_or_else(Vec::new, |data| beside::compare(&data, &sheet, protocol));
    plots.splice(0..0, beside.iter().map(Beside::plot));
    let mut warnings = doubts.warnings(protocol);
    let verdict = verdict::verdict(&sheet, &comparison, far_force.as_ref());
    warnings.extend(far_force.map(|far| far.long));
    warnings.extend(beside.iter().filter_map(Beside::warning));
    let mut outcome = LabOutcome {
        protocol,
        verdict,
        figures: named(&specimen, protocol, &found, &beside),
        sheet,
        plots,
        expectations: Vec::new(),
        beside,
        warnings,
        notes,
        outputs: Vec::new(),
    };
    let names: Vec<String> = outcome.figures.iter().map(|figure| figure.name.to_string()).collect();
    let mut history = ProbeHistory::new(&names);
    history.push(0.0, &outcome.figures.iter().map(|figure| figure.value).collect::<Vec<_>>());
    for rule in &rules {
        let mut checked = rule.evaluate(&history, true)?;
        // Results have no time.
        checked.time = None;
        checked.expected = checked.expected.trim_end_matches(", at the end").to_string();
        outcome.expectations.push(checked);
    }
    if let Some(folder) = folder {
        outcome.write(scene, folder)?;
    }
    Ok(outcome)
}

/// Names of all results of a protocol.
pub(crate) fn figure_names(protocol: Protocol) -> Vec<String> {
    kinds(protocol).iter().chain(&COMMON).chain(&BESIDE).map(|kind| kind.0.to_string()).collect()
}

fn rules(scene: &Scene, protocol: Protocol) -> Result<Vec<Rule>, LabError> {
    let mut rules = Vec::new();
    for (name, expectations) in scene.lab.expect.of(protocol) {
        if BESIDE.iter().any(|kind| kind.0 == name) && scene.lab.beside.of(protocol).is_none() {
            let path = format!("lab.expect.{}.\"{name}\"", protocol.word());
            let problem = scene.source.key_problem(&path, "there are no measured data to compare with");
            return Err(scene.error(vec![problem.hint("give a file by `--beside` or in `[lab.beside]`")]).into());
        }
        for expectation in expectations {
            // Expectations that compare with another scene are an error of the scene.
            let none = |_: &sinew_scene::spec::expect::Compare| Ok::<_, UnknownProbe>(ProbeHistory::default());
            rules.extend(Rule::from_expectation(name, expectation, none)?);
        }
    }
    Ok(rules)
}

/// All results in the order in which they are declared.
fn named(specimen: &Specimen, protocol: Protocol, found: &[(&'static str, f64)], beside: &[Beside]) -> Vec<Figure> {
    let given = [
        ("fiber_length", specimen.fiber_length),
        ("cross_section", specimen.cross_section()),
        ("max_force", specimen.max_force()),
        ("rest_pennation", specimen.cosine.acos().to_degrees()),
        ("cells", specimen.cells as f64),
    ];
    let value =
        |name: &str| found.iter().chain(&given).find(|figure| figure.0 == name).map_or(f64::NAN, |figure| figure.1);
    let figure = |&(name, unit, meaning): &FigureKind| Figure { name, value: value(name), unit, meaning };
    let mut figures: Vec<Figure> = kinds(protocol).iter().chain(&COMMON).map(figure).collect();
    if let Some(first) = beside.first() {
        let values = [(first.difference, first.unit), (beside::relative_difference(beside), "")];
        let of_data = BESIDE.iter().zip(values);
        figures.extend(of_data.map(|(&(name, _, meaning), (value, unit))| Figure { name, value, unit, meaning }));
    }
    figures
}

/// Keeps the measurements, and returns the error.
fn stopped(
    stop: Stop,
    doing: String,
    protocol: Protocol,
    sheet: &Sheet,
    folder: Option<&Path>,
) -> Result<LabError, LabError> {
    if let Stop::Scene(error) = stop {
        return Ok(error.into());
    }
    let file = match folder.filter(|_| !sheet.rows.is_empty()) {
        Some(folder) => {
            let file = folder.join(format!("{}.csv", protocol.word()));
            write_file(&file, sheet.to_csv().as_bytes())?;
            Some(file)
        }
        None => None,
    };
    let kept = Kept { rows: sheet.rows.len(), file };
    Ok(match stop {
        Stop::Scene(error) => error.into(),
        Stop::Step(source) => LabError::Step { doing, source, kept },
        Stop::Failed(reason) => LabError::Failed { doing, reason, kept },
        Stop::Interrupted => LabError::Interrupted { kept },
    })
}

impl LabOutcome {
    /// Whether all expectations are met.
    pub fn passed(&self) -> bool {
        self.expectations.iter().all(|check| check.passed)
    }
}

/// Four significant digits, and all those of whole numbers.
pub fn four_digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let is_whole = value.fract() == 0.0 && value.abs() < 1e9;
    format_number(if is_whole { value } else { format!("{value:.3e}").parse().unwrap_or(value) })
}

/// A number of things: `1 point`, `2 points`.
fn count_of(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        for (value, text) in [
            (29.868_317_8, "29.87"),
            (0.060_686_247_5, "0.06069"),
            (298_683.178, "298700"),
            (8.664_856e-6, "8.665e-6"),
            (-12.929_416_4, "-12.93"),
            (0.06, "0.06"),
            (12_345.0, "12345"),
            (0.0, "0"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(four_digits(value), text);
        }
    }

    /// Every protocol tells what its columns are before it runs.
    #[test]
    fn names_of_results_and_columns_are_unique() {
        for (word, protocol, _) in Protocol::words() {
            for mut names in [figure_names(protocol), columns(protocol).iter().map(|name| name.to_string()).collect()] {
                let count = names.len();
                names.sort();
                names.dedup();
                assert_eq!(names.len(), count, "{word}");
            }
        }
    }
}
