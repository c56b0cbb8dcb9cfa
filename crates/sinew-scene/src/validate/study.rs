//! Checks of `[expect]` and `[study]`.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::load;
use crate::overrides::{self, Override};
use crate::spec::expect::{Expectation, Instant, TimeSpan};
use crate::spec::study::Study;
use crate::value::{Dimension, format_number, format_quantity};

/// Maximum number of runs of a study.
const MAX_RUNS: usize = 1000;

impl Checker<'_> {
    pub(super) fn check_expectation(&mut self, expectation: &Expectation, path: &str) {
        let tolerance = expectation.absolute.is_some() || expectation.relative.is_some();
        let claims = [
            expectation.value.is_some(),
            expectation.min.is_some(),
            expectation.max.is_some(),
            expectation.monotone.is_some(),
            expectation.compare.is_some(),
        ];
        if !claims.contains(&true) {
            let problem = self.at(path, "this expectation has no condition");
            self.report(problem.hint("give one of `value`, `min`, `max`, `monotone`, `compare`"));
        }
        if tolerance && expectation.value.is_none() {
            let problem = self.at(path, "`absolute` and `relative` are tolerances of `value`");
            self.report(problem.label("has no `value`"));
        }
        if let (Some(min), Some(max)) = (expectation.min, expectation.max)
            && min > max
        {
            let problem = self.at(&format!("{path}.max"), "`max` must not be less than `min`");
            self.report(problem.label(format!("`min` is {}", format_number(min))));
        }
        if expectation.at.is_some() && expectation.over.is_some() {
            let problem = self.at(&format!("{path}.over"), "an expectation has either `at` or `over`, not both");
            self.report(problem);
        }
        // Half a frame past the end is still the last frame.
        let end = self.scene.duration + 0.5 / self.scene.frame_rate;
        let after_end = format!("the scene ends at {}", format_quantity(self.scene.duration, Dimension::TIME));
        if let Some(Instant::Time(time)) = expectation.at
            && time > end
        {
            let problem = self.at(&format!("{path}.at"), "this time is after the end").label(after_end.clone());
            self.report(problem);
        }
        if let Some(TimeSpan::Between(from, to)) = expectation.over {
            if from > to {
                let problem = self.at(&format!("{path}.over"), "the times of `over` must increase");
                self.report(problem);
            } else if from > end {
                let problem = self.at(&format!("{path}.over"), "this time is after the end").label(after_end);
                self.report(problem);
            }
        }
        if let Some(compare) = &expectation.compare {
            self.check_file(&compare.scene, &format!("{path}.compare.scene"));
        }
    }

    pub(super) fn check_study(&mut self, study: &Study, is_sound: bool) {
        let by_values = study.vary.is_some() || !study.values.is_empty();
        let problem = match (by_values, !study.cases.is_empty()) {
            (true, true) => Some(self.at("study.cases", "a study has either `vary` and `values` or `cases`, not both")),
            (false, false) => Some(
                self.at("study", "this study varies nothing")
                    .hint("give `vary` and `values`, for example `vary = \"body.beam.mesh.cell\"`, `values = [\"2 cm\", \"1 cm\"]`"),
            ),
            (true, false) if study.vary.is_none() => Some(self.at("study.values", "`values` need `vary`")),
            (true, false) if study.values.is_empty() => Some(self.at("study.vary", "`vary` needs `values`")),
            _ => None,
        };
        if let Some(problem) = problem {
            return self.report(problem);
        }
        let runs = study.runs();
        if runs.len() > MAX_RUNS {
            let problem = self.at("study", format!("a study has at most {MAX_RUNS} runs"));
            return self.report(problem.label(format!("has {}", runs.len())));
        }
        if runs.len() < 2 && !study.order.is_empty() {
            let key = if by_values { "study.values" } else { "study.cases" };
            let problem = self.at(key, "an order needs at least two runs");
            self.report(problem);
        }
        for (name, order) in &study.order {
            if let (Some(min), Some(max)) = (order.min, order.max)
                && min > max
            {
                let problem = self.at(&format!("study.order.\"{name}\".max"), "`max` must not be less than `min`");
                self.report(problem.label(format!("`min` is {}", format_number(min))));
            }
        }
        if is_sound {
            for (i, run) in runs.iter().enumerate() {
                let key = if by_values { format!("study.values[{i}]") } else { format!("study.cases[{i}]") };
                self.check_run(run, &key, by_values);
            }
        }
    }

    /// Decodes the scene with the values of one run, so that a mistake in them does not appear after hours of other
    /// runs.
    fn check_run(&mut self, run: &[Override], path: &str, by_values: bool) {
        let mut root = self.scene.source.root().clone();
        let mut found = Vec::new();
        for set in run {
            overrides::apply(&mut root, set, usize::MAX, &mut found);
        }
        if let Some(wrong) = found.into_iter().next() {
            let at = if by_values { "study.vary" } else { path };
            let problem = self.at(at, format!("the study cannot set this: {}", wrong.message));
            self.report(Diagnostic { hint: wrong.hint, ..problem });
        } else if let Some(wrong) = load::first_problem(&root) {
            let about_path = by_values && wrong.message.starts_with("unknown key");
            let problem = self.at(if about_path { "study.vary" } else { path }, wrong.message);
            self.report(Diagnostic { label: wrong.label, hint: wrong.hint, ..problem });
        }
    }
}
