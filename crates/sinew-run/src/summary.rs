//! The report of a run: collects its data and writes `report.html`, and the artist's report beside it as JSON.

use std::path::Path;

use serde_json::json;
use sinew_fem::{OutputFigures, RecordError};
use sinew_record::record::write_file;
use sinew_record::report::{ExpectRow, ProbeSeries, ReportData, Table, TimingRow, Verdict, page};
use sinew_scene::format_number;
use sinew_scene::output::animation_path;
use sinew_scene::spec::Scene;

use crate::run::RunOutcome;
use crate::study::StudyOutcome;
use crate::timing::TimingNode;

/// Writes the report of `[record]` and adds it to the files of the run.
pub(crate) fn write(scene: &Scene, outcome: &mut RunOutcome, folder: &Path) -> Result<(), RecordError> {
    let Some(name) = scene.record.report.file_name("report.html") else { return Ok(()) };
    let path = folder.join(name);
    write_file(&path, page(&data(scene, outcome, folder)).as_bytes())?;
    if let Some(facts) = &outcome.artist {
        let path = path.with_extension("json");
        let text = format!(
            "{:#}\n",
            json!({
                "scene": scene.source.name(),
                "frames": outcome.frames,
                "characters": facts.to_json(),
                "figures": outcome.figures_json(),
            })
        );
        write_file(&path, text.as_bytes())?;
        outcome.outputs.push(path);
    }
    outcome.outputs.push(path);
    outcome.outputs.sort();
    outcome.outputs.dedup();
    Ok(())
}

fn data(scene: &Scene, outcome: &RunOutcome, folder: &Path) -> ReportData {
    let history = &outcome.history;
    let series = |name: &String| ProbeSeries { name: name.clone(), values: history.column(name).unwrap_or_default() };
    let below = |path: &std::path::PathBuf| path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
    ReportData {
        title: scene.title.clone().unwrap_or_else(|| scene.source.name().into()),
        scene: scene.source.name().into(),
        verdict: match outcome.expectations.as_slice() {
            _ if outcome.interrupted => Verdict::Interrupted,
            [] => Verdict::Unchecked,
            _ if outcome.passed() => Verdict::Passed,
            _ => Verdict::Failed,
        },
        // A run without pictures still has a report, without the pictures of an earlier run.
        animation: animation_path(&scene.record, folder)
            .filter(|path| outcome.outputs.contains(path))
            .and_then(|path| std::fs::read(path).ok()),
        artist: outcome.artist.clone(),
        facts: facts(outcome),
        expectations: outcome
            .expectations
            .iter()
            .map(|check| ExpectRow {
                name: check.name.clone(),
                expected: check.expected.clone(),
                got: check.got,
                time: check.time,
                passed: check.reached.then_some(check.passed),
            })
            .collect(),
        tables: outcome.study.iter().map(study_table).chain(outcome.figures.iter().map(figures_table)).collect(),
        times: history.times().to_vec(),
        probes: history.names().iter().map(series).collect(),
        bodies: outcome.bodies.clone(),
        steps: outcome.reports.clone(),
        timing: timing(&outcome.timing),
        warnings: outcome.warnings.clone(),
        notes: outcome.notes.clone(),
        files: outcome.outputs.iter().map(below).collect(),
        environment: [
            ("Sinew", env!("CARGO_PKG_VERSION").to_string()),
            ("Instruction set", sinew_math::lanes::active_isa().to_string()),
            ("Threads", rayon::current_num_threads().to_string()),
            ("Fingerprint", format!("{:016x}", outcome.hash)),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .to_vec(),
        source: scene.source.text().into(),
    }
}

fn facts(outcome: &RunOutcome) -> Vec<(String, String)> {
    let simulated = outcome.history.times().last().copied().unwrap_or(0.0);
    let steps: f64 = outcome.reports.iter().map(|report| report.timing.total.as_secs_f64()).sum();
    let newton: usize = outcome.reports.iter().map(|report| report.newton_iterations).sum();
    let frames = outcome.frames.max(1) as f64;
    let resumed = match outcome.resumed {
        0 => "never".to_string(),
        times => format!("{times} ×, {} frames recomputed", outcome.recomputed),
    };
    [
        ("Frames", outcome.frames.to_string()),
        ("Simulated", format!("{} s", format_number(simulated))),
        ("Computed in", format!("{:.2} s", outcome.timing.seconds)),
        ("Per frame", format!("{:.1} ms", 1e3 * steps / frames)),
        ("Newton per frame", format!("{:.1}", newton as f64 / frames)),
        ("Resumed", resumed),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .to_vec()
}

fn study_table(study: &StudyOutcome) -> Table {
    let mut columns = vec!["case".to_string(), study.x.clone()];
    columns.extend(study.measures.iter().cloned());
    let mut rows: Vec<Vec<String>> = study
        .cases
        .iter()
        .map(|case| {
            let numbers = std::iter::once(case.x).chain(case.measures.iter().copied());
            std::iter::once(case.label.clone()).chain(numbers.map(|value| format!("{value:.4e}"))).collect()
        })
        .collect();
    let orders = study.orders.iter().map(|order| order.map_or("none".into(), |order| format!("{order:.3}")));
    rows.push(["order".to_string(), String::new()].into_iter().chain(orders).collect());
    Table { title: "Study".into(), columns, rows }
}

fn figures_table(figures: &OutputFigures) -> Table {
    Table {
        title: format!("{}: {}", figures.file, figures.title),
        columns: figures.columns.clone(),
        rows: figures.rows.iter().map(|row| row.iter().map(|value| format!("{value:.3e}")).collect()).collect(),
    }
}

fn timing(node: &TimingNode) -> TimingRow {
    let children = node.children.iter().map(timing).collect();
    TimingRow { name: node.name.clone(), seconds: node.seconds, children }
}
