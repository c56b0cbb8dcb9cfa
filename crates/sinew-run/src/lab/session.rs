//! The session of a protocol: its measurements and its observer.

use std::ops::ControlFlow;

use sinew_fem::{Interrupt, StepError, StepReport};
use sinew_record::report::Plot;
use sinew_scene::SceneError;

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
}

impl Sheet {
    /// The values of a column.
    pub fn column(&self, index: usize) -> Vec<f64> {
        self.rows.iter().map(|row| row[index]).collect()
    }

    /// Comma-separated, the names first; values that are not finite are left empty.
    pub fn to_csv(&self) -> String {
        let mut csv = self.columns.join(",");
        csv.push('\n');
        for row in &self.rows {
            let cells: Vec<String> =
                row.iter().map(|value| if value.is_finite() { value.to_string() } else { String::new() }).collect();
            csv += &cells.join(",");
            csv.push('\n');
        }
        csv
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
}

impl<'a> Session<'a> {
    pub fn new(observer: &'a mut dyn Observer) -> Self {
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

    /// Adds a measurement.
    pub fn measure(&mut self, row: Vec<f64>) {
        debug_assert_eq!(row.len(), self.sheet.columns.len(), "one value per column");
        self.sheet.rows.push(row);
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
