//! Checks of `[lab]` alone; the compiler checks the names in it.

use super::Checker;
use crate::spec::MAX_FRAMES;
use crate::spec::lab::Protocol;
use crate::value::{Dimension, format_number, format_quantity};

/// Longest fiber of a protocol, in optimal lengths: passive tension tears muscle long before.
const MAX_FIBER_LENGTH: f64 = 4.0;

impl Checker<'_> {
    pub(super) fn check_lab(&mut self) {
        let lab = &self.scene.lab;
        if !(lab.lengths[0] < lab.lengths[1]) {
            let problem = self.at("lab.lengths", "the second length must be greater than the first");
            self.report(problem);
        }
        if lab.lengths[1] > MAX_FIBER_LENGTH {
            let problem = self.at("lab.lengths", "no muscle can be stretched that far");
            let hint = "lengths count in optimal fiber lengths, not in meters: [0.7, 1.4] is usual";
            self.report(problem.label(format!("at most {MAX_FIBER_LENGTH}")).hint(hint));
        }
        if lab.loads.is_empty() {
            let problem = self.at("lab.loads", "there must be at least one load");
            self.report(problem);
        }
        let times = [
            ("lab.duration", lab.duration.unwrap_or(0.0)),
            ("lab.release_time", lab.release_time),
            ("lab.pulses", lab.pulses as f64 / lab.frequency),
        ];
        for (path, time) in times.into_iter().filter(|(_, time)| time / lab.step > MAX_FRAMES) {
            let is_given = self.scene.source.node(path).is_some();
            let problem = self.at(if is_given { path } else { "lab.step" }, "this protocol has too many steps");
            self.report(problem.label(format!(
                "{} in steps of {} gives {} steps, at most {}",
                format_quantity(time, Dimension::TIME),
                format_quantity(lab.step, Dimension::TIME),
                format_number((time / lab.step).round()),
                format_number(MAX_FRAMES)
            )));
        }
        for (word, protocol, _) in Protocol::words() {
            for (name, expectations) in lab.expect.of(protocol) {
                for (i, expectation) in expectations.iter().enumerate() {
                    let path = match expectations.len() {
                        1 => format!("lab.expect.{word}.\"{name}\""),
                        _ => format!("lab.expect.{word}.\"{name}\"[{i}]"),
                    };
                    self.check_expectation(expectation, &path);
                    let is_timed =
                        expectation.at.is_some() || expectation.over.is_some() || expectation.monotone.is_some();
                    if is_timed || expectation.compare.is_some() {
                        let message = "results of the laboratory are single numbers, without time";
                        let problem = self.at(&path, message);
                        self.report(problem.hint("use `value`, `min` and `max`"));
                    }
                }
            }
        }
    }
}
