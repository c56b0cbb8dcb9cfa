//! The table of a comparison, for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::engine::{Run, Tip};
use super::law::Verdict;

/// Our own times, the best from before and after the others \[s\].
#[derive(Clone, Copy, Debug)]
pub struct Ours {
    /// Threads of the first time.
    pub threads: usize,
    /// Seconds per frame on all threads.
    pub all: f64,
    /// Seconds per frame on one thread.
    pub one: f64,
    /// Motion of the tip.
    pub tip: Tip,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub enum Row {
    /// An engine that ran, the tip of its law, and the verdict.
    Ran {
        /// The run with the smallest time per frame.
        run: Box<Run>,
        /// Median over the runs of the counted seconds per frame.
        median_seconds: f64,
        /// Tip of the reference.
        reference: Option<Tip>,
        /// Comparison with the reference.
        verdict: Verdict,
    },
    /// An engine that could not be installed or run, with the reason.
    Skipped { name: String, reason: String },
}

/// A comparison: the problem, and the times of all engines.
#[derive(Clone, Debug)]
pub struct Report {
    /// `S` or `L`.
    pub size: &'static str,
    /// Requested frames.
    pub frames: usize,
    /// Version of our program.
    pub version: String,
    /// Our times.
    pub ours: Ours,
    /// All others.
    pub rows: Vec<Row>,
}

fn tip_text(tip: Option<Tip>) -> String {
    // Typographic minus, as on all pages.
    tip.map_or("–".into(), |tip| format!("{:.3} / {:.3}", tip.min, tip.end).replace('-', "−"))
}

/// Three significant digits.
pub(super) fn short(value: f64) -> String {
    let digits = if value > 0.0 { 2 - value.log10().floor() as i32 } else { 2 };
    format!("{value:.*}", digits.clamp(0, 9) as usize)
}

fn verdict_text(verdict: &Verdict, run: &Run, frames: usize) -> String {
    let millimeters = |miss: &f64| format!("{:.1} mm", 1e3 * miss);
    let mut text = match verdict {
        Verdict::OnLaw { miss } => format!("on its law ({})", millimeters(miss)),
        Verdict::SoFar { miss } => format!("so far on its law ({})", millimeters(miss)),
        Verdict::Lags { miss } => format!("rotations lag a step: {} off its law", millimeters(miss)),
        Verdict::Misses { miss } => format!("misses its law by {}: did not solve the problem", millimeters(miss)),
        Verdict::Diverged => "diverged: did not solve the problem".into(),
        Verdict::Unjudged(reason) => format!("not judged: {reason}"),
    };
    if run.frames < frames {
        let _ = write!(text, ", {} of {frames} frames", run.frames);
    }
    for note in &run.notes {
        let _ = write!(text, "; {note}");
    }
    if run.is_disturbed() {
        let _ = write!(text, "; had {:.1} of a core, processor time counted", run.cores);
    }
    text
}

impl Report {
    /// The table in Markdown. Ratios of engines that did not solve all of the problem are in parentheses.
    pub fn to_markdown(&self) -> String {
        let ours = &self.ours;
        let mut text = format!(
            "| engine | law | solve | s/frame | × ours, {} | × ours, one thread | tip min / end [m] | its law | verdict |\n\
             |---|---|---|---|---|---|---|---|---|\n",
            threads_text(ours.threads)
        );
        for (threads, seconds) in [(ours.threads, ours.all), (1, ours.one)] {
            let cells = [
                format!("**sinew {}**, {}", self.version, threads_text(threads)),
                "neo hookean".into(),
                "Newton 1e-4".into(),
                short(seconds),
                short(seconds / ours.all),
                short(seconds / ours.one),
                tip_text(Some(ours.tip)),
                String::new(),
                String::new(),
            ];
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        for row in &self.rows {
            let _ = match row {
                Row::Ran { run, reference, verdict, .. } => {
                    let ratio = |ours: f64| {
                        let ratio = short(run.counted_seconds() / ours);
                        if verdict.is_on_law() { ratio } else { format!("({ratio})") }
                    };
                    let cells = [
                        format!("{} {}", run.engine, run.version),
                        run.law.replace('_', " "),
                        run.solver.clone(),
                        short(run.counted_seconds()),
                        ratio(ours.all),
                        ratio(ours.one),
                        tip_text(run.tip),
                        tip_text(*reference),
                        verdict_text(verdict, run, self.frames),
                    ];
                    writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "/")).join(" | "))
                }
                Row::Skipped { name, reason } => {
                    writeln!(text, "| {name} | | | | | | | | SKIP: {} |", reason.replace('|', "/"))
                }
            };
        }
        text
    }

    /// The same with all digits.
    pub fn to_json(&self) -> Value {
        json!({
            "size": self.size,
            "frames": self.frames,
            "ours": {
                "version": self.version,
                "law": "neo_hookean",
                "threads": self.ours.threads,
                "seconds_per_frame": self.ours.all,
                "seconds_per_frame_one_thread": self.ours.one,
                "tip_min": self.ours.tip.min,
                "tip_end": self.ours.tip.end,
            },
            "peers": self.rows.iter().map(|row| self.row_to_json(row)).collect::<Vec<_>>(),
        })
    }

    fn row_to_json(&self, row: &Row) -> Value {
        match row {
            Row::Skipped { name, reason } => json!({ "engine": name, "skipped": reason }),
            Row::Ran { run, median_seconds, reference, verdict } => json!({
                "engine": run.engine,
                "version": run.version,
                "law": run.law,
                "solver": run.solver,
                "scheme": run.scheme,
                "substeps": run.substeps,
                "tets": run.tets,
                "frames": run.frames,
                "seconds_per_frame": run.seconds_per_frame,
                "counted_seconds_median": median_seconds,
                "median_frame_seconds": run.median_frame_seconds,
                "cores": run.cores,
                "counted_seconds": run.counted_seconds(),
                "ratio": run.counted_seconds() / self.ours.all,
                "ratio_one_thread": run.counted_seconds() / self.ours.one,
                "tip_min": run.tip.map(|tip| tip.min),
                "tip_end": run.tip.map(|tip| tip.end),
                "reference_tip_min": reference.map(|tip| tip.min),
                "reference_tip_end": reference.map(|tip| tip.end),
                "on_law": verdict.is_on_law(),
                "verdict": verdict_text(verdict, run, self.frames),
            }),
        }
    }
}

pub(super) fn threads_text(threads: usize) -> String {
    if threads == 1 { "one thread".into() } else { format!("{threads} threads") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            engine: "Newton".into(),
            version: "1.7".into(),
            solver: "VBD | 10".into(),
            law: "stable_neo_hookean".into(),
            is_lagged: false,
            scheme: "implicit_euler".into(),
            substeps: 10,
            tets: 5184,
            frames: 60,
            seconds_per_frame: 0.3,
            median_frame_seconds: 0.29,
            cores: 1.0,
            tip: Some(Tip { min: -0.373, end: -0.160 }),
            notes: Vec::new(),
        }
    }

    fn report(rows: Vec<Row>) -> Report {
        let ours = Ours { threads: 2, all: 0.01, one: 0.015, tip: Tip { min: -0.356, end: -0.23 } };
        Report { size: "S", frames: 60, version: "0.1.0".into(), ours, rows }
    }

    fn ran(run: Run, verdict: Verdict) -> Row {
        Row::Ran {
            run: Box::new(run),
            median_seconds: 0.31,
            reference: Some(Tip { min: -0.366, end: -0.192 }),
            verdict,
        }
    }

    #[test]
    fn ratios_stand_in_brackets_unless_the_problem_was_solved() {
        let table = report(vec![ran(run(), Verdict::Misses { miss: 0.032 })]).to_markdown();
        assert!(table.contains("| (30.0) | (20.0) |"), "{table}");
        assert!(table.contains("misses its law by 32.0 mm: did not solve the problem"), "{table}");
        let table = report(vec![ran(run(), Verdict::OnLaw { miss: 0.001 })]).to_markdown();
        assert!(table.contains("| 30.0 | 20.0 | −0.373 / −0.160 | −0.366 / −0.192 | on its law (1.0 mm) |"), "{table}");
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let skipped = Row::Skipped { name: "drake".into(), reason: "pip: a | b".into() };
        let table = report(vec![ran(run(), Verdict::Diverged), skipped]).to_markdown();
        let bars: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
        assert!(bars.len() == 6 && bars.iter().all(|count| *count == bars[0]), "{table}");
        assert!(table.contains("| drake |") && table.contains("SKIP: pip: a / b"), "{table}");
    }

    #[test]
    fn capped_and_disturbed_runs_say_so() {
        let capped = Run { frames: 13, cores: 0.5, notes: vec!["2 warnings".into()], ..run() };
        let table = report(vec![ran(capped, Verdict::SoFar { miss: 0.0 })]).to_markdown();
        assert!(table.contains("(0.0 mm), 13 of 60 frames; 2 warnings; had 0.5 of a core"), "{table}");
        // 0.3 s at half a core are 0.15 s of work, 15 times ours.
        assert!(table.contains("| 0.150 | (15.0) | (10.0) |"), "{table}");
    }

    #[test]
    fn the_report_for_programs_keeps_all_digits() {
        let json = report(vec![ran(run(), Verdict::OnLaw { miss: 0.001 })]).to_json();
        let peers = &json["peers"];
        assert_eq!(peers[0]["ratio"].as_f64(), Some(0.3 / 0.01));
        assert_eq!(peers[0]["on_law"], true);
        assert_eq!(serde_json::from_str::<Value>(&json.to_string()).expect("valid"), json);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.00952, 0.279, 29.44, 412.7, 0.0].map(short), ["0.00952", "0.279", "29.4", "413", "0.00"]);
    }
}
