//! The outcome of a run as JSON, for programs.

use serde_json::{Map, Value, json};
use sinew_fem::{OutputFigures, StepReport};
use sinew_record::artist::ArtistFacts;

use crate::expect::Checked;
use crate::run::RunOutcome;
use crate::study::StudyOutcome;
use crate::timing::TimingNode;

impl RunOutcome {
    /// One JSON object; numbers that are not finite become `null`.
    pub fn to_json(&self) -> Value {
        let last = |name: &String| (name.clone(), json!(self.history.last(name)));
        let probes: Map<String, Value> = self.history.names().iter().map(last).collect();
        let newton: usize = self.reports.iter().map(|report| report.newton_iterations).sum();
        json!({
            "passed": self.passed(),
            "interrupted": self.interrupted,
            "frames": self.frames,
            "time": self.history.times().last(),
            "resumed": self.resumed,
            "recomputed": self.recomputed,
            "hash": format!("{:016x}", self.hash),
            "expectations": self.expectations.iter().map(check).collect::<Vec<_>>(),
            "study": self.study.as_ref().map(study),
            "probes": probes,
            "newton_iterations": newton,
            "relative_residual": StepReport::worst_residual(&self.reports),
            "timing": timing(&self.timing),
            "outputs": self.outputs.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "notes": self.notes,
            "warnings": self.warnings,
            "characters": self.artist.as_ref().map(ArtistFacts::to_json),
            "figures": self.figures_json(),
        })
    }

    /// Numbers about single files: by file, a title and an object for each row.
    pub(crate) fn figures_json(&self) -> Value {
        let row = |figures: &OutputFigures, row: &Vec<f64>| -> Value {
            figures.columns.iter().cloned().zip(row.iter().map(|value| json!(value))).collect::<Map<_, _>>().into()
        };
        let of_file = |figures: &OutputFigures| {
            let rows: Vec<Value> = figures.rows.iter().map(|values| row(figures, values)).collect();
            (figures.file.clone(), json!({ "title": figures.title, "rows": rows }))
        };
        self.figures.iter().map(of_file).collect::<Map<_, _>>().into()
    }
}

fn check(check: &Checked) -> Value {
    json!({
        "name": check.name,
        "expected": check.expected,
        "got": check.got,
        "time": check.time,
        "passed": check.reached.then_some(check.passed),
    })
}

fn study(study: &StudyOutcome) -> Value {
    let cases = study.cases.iter().map(|case| {
        let measures: Map<String, Value> =
            study.measures.iter().cloned().zip(case.measures.iter().map(|value| json!(value))).collect();
        json!({ "case": case.label, "x": case.x, "measures": measures, "seconds": case.seconds })
    });
    let orders: Map<String, Value> =
        study.measures.iter().cloned().zip(study.orders.iter().map(|order| json!(order))).collect();
    json!({ "x": study.x, "cases": cases.collect::<Vec<_>>(), "orders": orders })
}

fn timing(node: &TimingNode) -> Value {
    json!({ "name": node.name, "seconds": node.seconds, "parts": node.children.iter().map(timing).collect::<Vec<_>>() })
}
