//! `[study]`: the same scene for several values of a parameter, and the order of convergence of its measures.
//!
//! For measures e = |m − exact| and sizes x of the cases, the order p is the least-squares slope of ln e over ln x.

use std::fmt;

use sinew_scene::format_number;
use sinew_scene::spec::Scene;
use sinew_scene::spec::study::{Order, Study};

use crate::checkpoint::FinishedCase;
use crate::expect::{Checked, UnknownProbe};
use crate::fit;
use crate::history::ProbeHistory;
use crate::run::{Case, Durable, Observer, OtherRuns, RunError, RunOptions, RunOutcome, run_once};
use crate::timing::TimingNode;
use crate::value_names::MESH_SIZE;

/// A finished sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyOutcome {
    /// Name of the value x.
    pub x: String,
    /// Names of the measures, in the order of `StudyCase::measures`.
    pub measures: Vec<String>,
    /// The cases, one run each.
    pub cases: Vec<StudyCase>,
    /// Fitted order of each measure; `None` if undefined (an error of zero, a single case).
    pub orders: Vec<Option<f64>>,
}

/// One run of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyCase {
    /// The overrides, as on the command line.
    pub label: String,
    /// The value x.
    pub x: f64,
    /// Difference of each measure from its exact value at the end of the run.
    pub measures: Vec<f64>,
    /// Duration of the run \[s\].
    pub seconds: f64,
}

/// Runs every case; the files in `folder` show the last one.
pub(crate) fn sweep(
    scene: &Scene,
    study: &Study,
    options: &RunOptions,
    mut durable: Option<Durable<'_, '_>>,
    others: &mut OtherRuns,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    let runs = study.runs();
    let mut result =
        StudyOutcome { x: study.x.clone(), measures: study.order.keys().cloned().collect(), ..Default::default() };
    let mut expectations = Vec::new();
    let (mut timing, mut warnings) = (Vec::new(), Vec::new());
    let mut last = RunOutcome::default();
    for (number, overrides) in runs.iter().enumerate() {
        let label = overrides.iter().map(|set| set.text()).collect::<Vec<_>>().join(", ");
        let is_last = number + 1 == runs.len();
        let finished = durable.as_ref().and_then(|(_, journal)| journal.finished_cases().get(number));
        if let Some(FinishedCase { case, checks }) = finished.filter(|_| !is_last).cloned() {
            timing.push(TimingNode { name: label, seconds: case.seconds, children: Vec::new() });
            expectations.extend(checks);
            result.cases.push(case);
            continue;
        }
        observer.stage(&format!("case {} of {}: {label}", number + 1, runs.len()));
        let mut case = scene.with_overrides(&[options.overrides.as_slice(), overrides].concat())?;
        case.record.pictures &= scene.record.pictures;
        let case = Case { scene: &case, number, exports: is_last };
        let files = durable.as_mut().map(|(folder, journal)| (*folder, &mut **journal));
        let mut outcome = run_once(&case, options, files, others, observer)?;
        let seconds = outcome.timing.children.iter().map(|part| part.seconds).sum();
        timing.push(TimingNode {
            name: label.clone(),
            seconds,
            children: std::mem::take(&mut outcome.timing.children),
        });
        if outcome.interrupted {
            outcome.timing.children = timing;
            return Ok(outcome);
        }
        warnings.extend(outcome.warnings.drain(..).map(|warning| format!("{label}: {warning}")));
        let (x, measures) = measure(study, &outcome)?;
        let named = |check: &Checked| Checked { name: format!("{} ({label})", check.name), ..check.clone() };
        let checks: Vec<Checked> = outcome.expectations.iter().map(named).collect();
        let case = StudyCase { label, x, measures, seconds };
        if let Some((_, journal)) = &mut durable {
            journal.finish_case(FinishedCase { case: case.clone(), checks: checks.clone() });
        }
        expectations.extend(checks);
        result.cases.push(case);
        last = outcome;
    }
    for (index, (name, order)) in study.order.iter().enumerate() {
        let points: Vec<(f64, f64)> = result.cases.iter().map(|case| (case.x, case.measures[index])).collect();
        let fitted = fit::order(&points);
        if fitted.is_none() && (order.min.is_some() || order.max.is_some()) {
            last.notes.push(format!("{name} has no order: {}", fit::why_none(&points, &study.x)));
        }
        result.orders.push(fitted);
        expectations.extend(check_order(name, order, fitted));
        expectations.extend(check_change(name, order, &points));
    }
    last.expectations = expectations;
    last.warnings = warnings;
    last.study = Some(result);
    last.timing.children = timing;
    Ok(last)
}

/// x and the differences of the measures from their exact values.
fn measure(study: &Study, outcome: &RunOutcome) -> Result<(f64, Vec<f64>), UnknownProbe> {
    let value = |name: &str| final_value(&outcome.history, name);
    let x = if study.x == MESH_SIZE { mesh_size(outcome) } else { value(&study.x)? };
    let mut measures = Vec::new();
    for (name, order) in &study.order {
        measures.push((value(name)? - order.exact).abs());
    }
    Ok((x, measures))
}

/// Mean over the bodies of the mean edge length of their cells \[m\].
fn mesh_size(outcome: &RunOutcome) -> f64 {
    let edges = outcome.bodies.iter().map(|body| body.mean_edge);
    edges.sum::<f64>() / outcome.bodies.len().max(1) as f64
}

fn final_value(history: &ProbeHistory, name: &str) -> Result<f64, UnknownProbe> {
    history.last(name).ok_or_else(|| UnknownProbe::new(name, "this scene", history.names()))
}

/// The claims on an order; an undefined order fails them all.
fn check_order(name: &str, order: &Order, fitted: Option<f64>) -> Vec<Checked> {
    let got = fitted.unwrap_or(f64::NAN);
    let claims = [
        order.min.map(|min| (format!("≥ {}", format_number(min)), got >= min)),
        order.max.map(|max| (format!("≤ {}", format_number(max)), got <= max)),
    ];
    let named = format!("order of {name}");
    let check = |(expected, passed)| Checked { name: named.clone(), expected, got, time: None, passed, reached: true };
    claims.into_iter().flatten().map(check).collect()
}

/// The claim on changes from run to run, for the largest change.
fn check_change(name: &str, order: &Order, points: &[(f64, f64)]) -> Option<Checked> {
    let most = order.change?;
    // Equal values have not changed, including zeros.
    let change = |from: f64, to: f64| if from == to { 0.0 } else { ((to - from) / to).abs() };
    let changes = points.windows(2).map(|pair| change(pair[0].1, pair[1].1));
    // A study of one case has no change, and a value that is not a number fails.
    let larger = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    let got = changes.reduce(larger).unwrap_or(f64::NAN);
    let (expected, passed) = (format!("≤ {}", format_number(most)), got <= most);
    Some(Checked { name: format!("change of {name}"), expected, got, time: None, passed, reached: true })
}

impl fmt::Display for StudyOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.cases.iter().map(|case| case.label.chars().count()).max().unwrap_or(0).max(5);
        write!(f, "{:<width$}  {:>12}", "case", self.x)?;
        for name in &self.measures {
            write!(f, "  {name:>14}")?;
        }
        for case in &self.cases {
            write!(f, "\n{:<width$}  {:>12}", case.label, format!("{:.6e}", case.x))?;
            for (name, value) in self.measures.iter().zip(&case.measures) {
                write!(f, "  {:>1$}", format!("{value:.4e}"), name.chars().count().max(14))?;
            }
        }
        write!(f, "\n{:<width$}  {:>12}", "order", "")?;
        for (name, order) in self.measures.iter().zip(&self.orders) {
            let text = order.map_or("none".into(), |order| format!("{order:.3}"));
            write!(f, "  {text:>0$}", name.chars().count().max(14))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_cannot_be_fitted_fails() {
        let order = Order { min: Some(1.9), max: Some(2.5), exact: 0.0, change: None };
        assert!(check_order("e", &order, None).iter().all(|check| !check.passed));
        assert!(check_order("e", &order, Some(2.0)).iter().all(|check| check.passed));
        let low = check_order("e", &order, Some(1.0));
        assert_eq!((low[0].passed, low[1].passed), (false, true));
    }

    #[test]
    fn the_largest_change_between_neighboring_runs_counts() {
        let order = Order { min: None, max: None, exact: 0.0, change: Some(0.02) };
        let check = |values: &[f64]| {
            let points: Vec<(f64, f64)> = values.iter().map(|&value| (1.0, value)).collect();
            check_change("f", &order, &points).unwrap()
        };
        assert!(check(&[10.0, 10.1, 10.05]).passed);
        let failed = check(&[10.0, 10.5, 10.5]);
        assert!(!failed.passed && (failed.got - 0.5 / 10.5).abs() < 1e-15);
        assert_eq!((check(&[0.0, 0.0]).got, check(&[0.0, 0.0]).passed), (0.0, true), "nothing has changed");
        assert!(!check(&[10.0]).passed && !check(&[1.0, f64::NAN]).passed && !check(&[f64::NAN, 1.0, 1.0]).passed);
    }

    #[test]
    fn the_table_of_a_study_lines_up() {
        let outcome = StudyOutcome {
            x: "h".into(),
            measures: vec!["error".into()],
            cases: vec![StudyCase { label: "cells=2".into(), x: 0.5, measures: vec![0.25], seconds: 0.0 }],
            orders: vec![Some(2.0)],
        };
        let text = outcome.to_string();
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        assert!(text.ends_with("2.000"), "{text}");
    }
}
