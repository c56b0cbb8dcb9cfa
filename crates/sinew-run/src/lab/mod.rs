//! A virtual physiology laboratory: takes one muscle of a scene through a protocol and reports the results.
//!
//! Every protocol is a simulation of the flesh with channels set before every step (CHE-57, CHE-58, CHE-67). Pins hold
//! one end of the muscle; an apparatus holds, moves or loads the other. Muscles settle without inertia and gravity;
//! where force depends on speed, time passes. A dashed line shows the one-dimensional actuator of \[Zajac89\] with the
//! same curves for comparison.

mod apparatus;
mod force_velocity;
mod free;
mod measure;
mod quick_release;
mod session;
mod specimen;
mod stimulation;
mod tension_length;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sinew_fem::{Hold, RecordError, StepError};
use sinew_record::record::write_file;
use sinew_record::report::{Plot, Table, sheet};
use sinew_scene::spec::Scene;
use sinew_scene::spec::lab::Protocol;
use sinew_scene::{SceneError, format_number};
use thiserror::Error;

pub use self::session::Sheet;
use self::session::{Session, Stop};
use self::specimen::Specimen;
pub(crate) use self::specimen::unknown_specimen;
use crate::expect::{Checked, Rule, UnknownProbe};
use crate::history::ProbeHistory;
use crate::run::Observer;

/// The result of a protocol.
#[derive(Clone, Debug)]
pub struct LabOutcome {
    /// The protocol.
    pub protocol: Protocol,
    /// Named results with their units.
    pub figures: Vec<Figure>,
    /// Measurements.
    pub sheet: Sheet,
    /// The measurements as plots.
    pub plots: Vec<Plot>,
    /// The claims of `[lab.expect]` and their results.
    pub expectations: Vec<Checked>,
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
const COMMON: [FigureKind; 5] = [
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

/// Why a protocol has no result.
#[derive(Debug, Error)]
pub enum LabError {
    /// The scene cannot be compiled, or has no muscle for this protocol.
    #[error("{0}")]
    Scene(#[from] SceneError),
    /// `[lab.expect]` names a result that the protocol does not have.
    #[error("error: {0}")]
    Figure(#[from] UnknownProbe),
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
    let specimen = Specimen::new(scene)?;
    let mut session = Session::new(observer);
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
    let Session { doing, sheet, figures: found, plots, notes, .. } = session;
    if let Err(stop) = result {
        return Err(stopped(stop, doing, protocol, &sheet, folder)?);
    }
    let mut outcome = LabOutcome {
        protocol,
        figures: named(&specimen, protocol, &found),
        sheet,
        plots,
        expectations: Vec::new(),
        notes,
        outputs: Vec::new(),
    };
    let mut history = ProbeHistory::new(&figure_names(protocol));
    history.push(0.0, &outcome.figures.iter().map(|figure| figure.value).collect::<Vec<_>>());
    for rule in &rules {
        let mut checked = rule.evaluate(&history)?;
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
    kinds(protocol).iter().chain(&COMMON).map(|kind| kind.0.to_string()).collect()
}

fn rules(scene: &Scene, protocol: Protocol) -> Result<Vec<Rule>, LabError> {
    let mut rules = Vec::new();
    for (name, expectations) in scene.lab.expect.of(protocol) {
        for expectation in expectations {
            // Expectations that compare with another scene are an error of the scene.
            let none = |_: &sinew_scene::spec::expect::Compare| Ok::<_, UnknownProbe>(ProbeHistory::default());
            rules.extend(Rule::from_expectation(name, expectation, none)?);
        }
    }
    Ok(rules)
}

/// All results in the order in which they are declared.
fn named(specimen: &Specimen, protocol: Protocol, found: &[(&'static str, f64)]) -> Vec<Figure> {
    let common = [
        specimen.fiber_length,
        specimen.cross_section(),
        specimen.max_force(),
        specimen.cosine.acos().to_degrees(),
        specimen.cells as f64,
    ];
    let own = kinds(protocol).iter().map(|&(name, unit, meaning)| {
        let value = found.iter().find(|figure| figure.0 == name).map_or(f64::NAN, |figure| figure.1);
        Figure { name, value, unit, meaning }
    });
    let shared = COMMON.iter().zip(common).map(|(&(name, unit, meaning), value)| Figure { name, value, unit, meaning });
    own.chain(shared).collect()
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

    /// One JSON object: the results by name, and the expectations; numbers that are not finite become `null`.
    pub fn to_json(&self) -> Value {
        let figures: Map<String, Value> =
            self.figures.iter().map(|figure| (figure.name.to_string(), json!(figure.value))).collect();
        let check = |check: &Checked| json!({ "name": check.name, "expected": check.expected, "got": check.got, "passed": check.passed });
        json!({
            "protocol": self.protocol.word(),
            "passed": self.passed(),
            "figures": figures,
            "expectations": self.expectations.iter().map(check).collect::<Vec<_>>(),
            "notes": self.notes,
            "outputs": self.outputs.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        })
    }

    fn write(&mut self, scene: &Scene, folder: &Path) -> Result<(), RecordError> {
        let file = |ending: &str| folder.join(format!("{}.{ending}", self.protocol.word()));
        let (csv, html) = (file("csv"), file("html"));
        write_file(&csv, self.sheet.to_csv().as_bytes())?;
        write_file(&html, self.page(scene).as_bytes())?;
        self.outputs = vec![csv, html];
        Ok(())
    }

    fn page(&self, scene: &Scene) -> String {
        let title = format!("{}: {}", self.protocol.word(), scene.title.as_deref().unwrap_or(scene.source.name()));
        let mut tables = vec![Table {
            title: "Figures".into(),
            columns: ["figure", "value", "unit", "meaning"].map(String::from).to_vec(),
            rows: self
                .figures
                .iter()
                .map(|f| vec![f.name.into(), format_number(f.value), f.unit.into(), f.meaning.into()])
                .collect(),
        }];
        if !self.expectations.is_empty() {
            let word = |passed: bool| if passed { "pass" } else { "fail" };
            tables.push(Table {
                title: "Expectations".into(),
                columns: ["figure", "expected", "got", "verdict"].map(String::from).to_vec(),
                rows: self
                    .expectations
                    .iter()
                    .map(|c| vec![c.name.clone(), c.expected.clone(), c.got_text(), word(c.passed).into()])
                    .collect(),
            });
        }
        tables.push(Table {
            title: "Measurements".into(),
            columns: self.sheet.columns.iter().map(|&name| name.into()).collect(),
            rows: self.sheet.rows.iter().map(|row| row.iter().map(|&value| shown(value)).collect()).collect(),
        });
        sheet(&title, &tables, &self.plots)
    }
}

fn shown(value: f64) -> String {
    if value.is_finite() { sinew_record::report::short_number(value) } else { "–".into() }
}
