//! `[lab]`: what its numbers say; names are looked up when a muscle is examined.

use super::Checker;
use crate::spec::lab::Protocol;

impl Checker<'_> {
    pub(super) fn check_lab(&mut self) {
        let lab = &self.scene.lab;
        if !(lab.lengths[0] < lab.lengths[1]) {
            let problem = self.at("lab.lengths", "the second of the two lengths must be the greater one");
            self.report(problem);
        }
        if lab.loads.is_empty() {
            let problem = self.at("lab.loads", "there must be at least one load");
            self.report(problem);
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
                        let message = "figures of the laboratory are single numbers, without time";
                        let problem = self.at(&path, message);
                        self.report(problem.hint("expect them with `value`, `min` and `max`"));
                    }
                }
            }
        }
    }
}
