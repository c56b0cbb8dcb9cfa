//! The session of a protocol: its measurements and its observer.

use std::ops::ControlFlow;

use sinew_fem::{Interrupt, StepError, StepReport};
use sinew_record::report::{Line, Plot};
use sinew_scene::SceneError;

use super::doubts::{Doubt, Doubts, Limits, Sample};
use super::specimen::Specimen;
use super::verdict::{Comparison, FarForce, ForceTrial};
use crate::run::Observer;

/// Why a protocol ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The scene does not allow the protocol.
    Scene(SceneError),
    /// The solver failed.
    Step(Box<StepError>),
    /// The observer interrupted it.
    Interrupted,
    /// Another reason, in a sentence.
    Failed(String),
}

impl From<SceneError> for Stop {
    fn from(error: SceneError) -> Self {
        // An interrupt also ends a compilation.
        if Interrupt::ambient().is_wanted() { Self::Interrupted } else { Self::Scene(error) }
    }
}

impl From<StepError> for Stop {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Interrupted { .. } => Self::Interrupted,
            error => Self::Step(Box::new(error)),
        }
    }
}

/// Measurements, one row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Names of the columns, with units in brackets.
    pub columns: Vec<&'static str>,
    /// Rows, one value per column.
    pub rows: Vec<Vec<f64>>,
    /// The doubts about each row.
    pub doubts: Vec<Vec<Doubt>>,
}

impl Sheet {
    /// The values of a column.
    pub fn column(&self, index: usize) -> Vec<f64> {
        self.rows.iter().map(|row| row[index]).collect()
    }

    /// The words for the doubts about a row; empty if there are none.
    pub fn doubt_words(&self, row: usize) -> String {
        self.doubts.get(row).into_iter().flatten().map(|doubt| doubt.word()).collect::<Vec<_>>().join(" ")
    }

    /// Comma-separated, the names first, the doubts last; values that are not finite are left empty.
    pub fn to_csv(&self) -> String {
        let mut csv = self.columns.join(",") + ",doubts\n";
        for (index, row) in self.rows.iter().enumerate() {
            for value in row.iter() {
                csv += &if value.is_finite() { format!("{value},") } else { ",".into() };
            }
            csv += &self.doubt_words(index);
            csv.push('\n');
        }
        csv
    }

    /// Puts the rows in order of their first values.
    pub(super) fn sort(&mut self) {
        let mut rows: Vec<_> = self.rows.drain(..).zip(self.doubts.drain(..)).collect();
        rows.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
        (self.rows, self.doubts) = rows.into_iter().unzip();
    }
}

/// A running protocol.
pub(super) struct Session<'a> {
    observer: &'a mut dyn Observer,
    /// Steps done, and steps expected.
    done: usize,
    all: usize,
    is_interrupted: bool,
    /// The current activity, for messages.
    pub doing: String,
    /// The measurements so far.
    pub sheet: Sheet,
    /// Named results.
    pub figures: Vec<(&'static str, f64)>,
    pub plots: Vec<Plot>,
    pub notes: Vec<String>,
    /// Doubts about the measurements.
    pub doubts: Doubts,
    /// Differences from an ideal muscle.
    pub comparison: Comparison,
    /// A force that is far from that of an ideal muscle.
    pub far_force: Option<FarForce>,
}

impl<'a> Session<'a> {
    pub fn new(observer: &'a mut dyn Observer, specimen: &Specimen) -> Self {
        Self {
            observer,
            done: 0,
            all: 1,
            is_interrupted: false,
            doing: String::new(),
            sheet: Sheet::default(),
            figures: Vec::new(),
            plots: Vec::new(),
            notes: Vec::new(),
            doubts: Doubts::new(Limits::of(specimen)),
            comparison: Comparison::default(),
            far_force: None,
        }
    }

    /// Announces more steps.
    pub fn expect_steps(&mut self, steps: usize) {
        self.all = self.done + steps;
    }

    /// Sets the current activity.
    pub fn begin(&mut self, doing: impl Into<String>) {
        self.doing = doing.into();
    }

    /// Adds a measurement and judges it.
    pub fn measure(&mut self, row: Vec<f64>, sample: &Sample<'_>) {
        debug_assert_eq!(row.len(), self.sheet.columns.len(), "one value per column");
        self.sheet.rows.push(row);
        self.sheet.doubts.push(self.doubts.judge(sample));
    }

    /// Compares a force with that of an ideal muscle.
    pub fn try_force(&mut self, trial: &ForceTrial<'_>, specimen: &Specimen) {
        self.comparison.of_all.push(trial.difference());
        self.far_force = trial.far(specimen);
    }

    /// Marks in a plot: the measurements that are not to be trusted on one line, and those where the clamp pushes on
    /// another.
    pub fn marks(&self, x: &[f64], trusted: &[f64], pushing: Option<(&[f64], &[f64])>) -> Vec<Line> {
        let marked = |values: &[f64], is_marked: &dyn Fn(&Doubt) -> bool| -> Option<Vec<f64>> {
            let doubts = self.sheet.doubts.iter();
            let pick =
                |(&value, doubts): (&f64, &Vec<Doubt>)| if doubts.iter().any(is_marked) { value } else { f64::NAN };
            let values: Vec<f64> = values.iter().zip(doubts).map(pick).collect();
            values.iter().any(|value| value.is_finite()).then_some(values)
        };
        let doubtful = marked(trusted, &|doubt| doubt.is_serious());
        let doubtful = doubtful.map(|values| Line::new("in doubt", values).over(x.to_vec()).crossed());
        let pushes = pushing.and_then(|(x, y)| Some((x, marked(y, &|doubt| *doubt == Doubt::Pushes)?)));
        let pushes = pushes.map(|(x, values)| Line::new("pushes", values).over(x.to_vec()).dotted());
        doubtful.into_iter().chain(pushes).collect()
    }

    /// Adds a named result.
    pub fn figure(&mut self, name: &'static str, value: f64) {
        self.figures.push((name, value));
    }

    pub fn check(&self) -> Result<(), Stop> {
        if self.is_interrupted { Err(Stop::Interrupted) } else { Ok(()) }
    }

    pub fn stepped(&mut self, report: &StepReport) -> Result<(), Stop> {
        self.done += 1;
        // The number of steps of a search is not known in advance.
        self.all = self.all.max(self.done + 1);
        if self.observer.frame(self.done, self.all, report) == ControlFlow::Break(()) {
            self.is_interrupted = true;
        }
        self.check()
    }
}
