//! `[lab]`: what its numbers say, and whether what it names exists.

use super::Checker;
use crate::lab::{figure_names, unknown_specimen};
use crate::spec::lab::Protocol;
use crate::value_names;

impl Checker<'_> {
    pub(super) fn check_lab(&mut self, is_sound: bool) {
        let lab = &self.scene.lab;
        // What could not be read has no name that could be found.
        if is_sound {
            unknown_specimen(self.scene).into_iter().for_each(|problem| self.report(problem));
        }
        if !(lab.lengths[0] < lab.lengths[1]) {
            let problem = self.at("lab.lengths", "the second of the two lengths must be the greater one");
            self.report(problem);
        }
        if lab.loads.is_empty() {
            let problem = self.at("lab.loads", "there must be at least one load");
            self.report(problem);
        }
        for (word, protocol, _) in Protocol::words() {
            let known = figure_names(protocol);
            for (name, expectations) in lab.expect.of(protocol) {
                let path = format!("lab.expect.{word}.\"{name}\"");
                let whose = format!("the protocol `{word}`");
                let unknown =
                    value_names::check(name, &known, &whose, |message| self.scene.source.key_problem(&path, message));
                unknown.into_iter().for_each(|problem| self.report(problem));
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
