//! The results of a protocol as JSON, as a page and as a table.

use std::path::Path;

use serde_json::{Map, Value, json};
use sinew_fem::RecordError;
use sinew_record::record::write_file;
use sinew_record::report::{Headline, Table, Tone, judged_sheet};
use sinew_scene::spec::Scene;

use super::{Grade, LabOutcome, four_digits};
use crate::expect::Checked;

impl LabOutcome {
    /// One JSON object: verdict, warnings, results by name, measured data and expectations; numbers that are not finite
    /// become `null`.
    pub fn to_json(&self) -> Value {
        let figures: Map<String, Value> =
            self.figures.iter().map(|figure| (figure.name.to_string(), json!(figure.value))).collect();
        let check = |check: &Checked| json!({ "name": check.name, "expected": check.expected, "got": check.got, "passed": check.passed });
        let beside = self.beside.iter().map(|data| {
            json!({
                "column": data.name,
                "unit": data.unit,
                "points": data.points.len(),
                "compared": data.compared,
                "difference": data.difference,
                "relative": data.relative,
            })
        });
        json!({
            "protocol": self.protocol.word(),
            "verdict": self.verdict.text,
            "grade": self.verdict.grade.word(),
            "warnings": self.warnings,
            "passed": self.passed(),
            "figures": figures,
            "beside": beside.collect::<Vec<_>>(),
            "expectations": self.expectations.iter().map(check).collect::<Vec<_>>(),
            "notes": self.notes,
            "outputs": self.outputs.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        })
    }

    pub(super) fn write(&mut self, scene: &Scene, folder: &Path) -> Result<(), RecordError> {
        let file = |ending: &str| folder.join(format!("{}.{ending}", self.protocol.word()));
        let (csv, html) = (file("csv"), file("html"));
        write_file(&csv, self.sheet.to_csv().as_bytes())?;
        write_file(&html, self.page(scene).as_bytes())?;
        self.outputs = vec![csv, html];
        Ok(())
    }

    fn page(&self, scene: &Scene) -> String {
        let title = format!("{}: {}", self.protocol.word(), scene.title.as_deref().unwrap_or(scene.source.name()));
        let tone = match self.verdict.grade {
            Grade::Sound => Tone::Good,
            Grade::Unlike => Tone::Calm,
            Grade::Doubtful => Tone::Bad,
        };
        let headline = Headline { tone, text: &self.verdict.text, warnings: &self.warnings, notes: &self.notes };
        judged_sheet(&title, &headline, &self.tables(), &self.plots)
    }

    fn tables(&self) -> Vec<Table> {
        let titled = |title: &str, columns: &[&str], rows: Vec<Vec<String>>| Table {
            title: title.into(),
            columns: columns.iter().map(|&column| column.into()).collect(),
            rows,
        };
        let figures =
            self.figures.iter().map(|f| vec![f.name.into(), four_digits(f.value), f.unit.into(), f.meaning.into()]);
        let mut tables = vec![titled("Figures", &["figure", "value", "unit", "meaning"], figures.collect())];
        if !self.beside.is_empty() {
            let columns = ["column", "compared points", "root-mean-square difference", "unit", "of the largest"];
            let rows = self.beside.iter().map(|data| {
                let compared = format!("{} of {}", data.compared, data.points.len());
                vec![
                    data.name.into(),
                    compared,
                    four_digits(data.difference),
                    data.unit.into(),
                    four_digits(data.relative),
                ]
            });
            tables.push(titled("Measured data", &columns, rows.collect()));
        }
        if !self.expectations.is_empty() {
            tables.push(titled("Expectations", &["figure", "expected", "got", "verdict"], self.expectation_rows()));
        }
        let mut columns = self.sheet.columns.clone();
        columns.push("doubts");
        let row = |(index, row): (usize, &Vec<f64>)| {
            row.iter().map(|&value| four_digits(value)).chain([self.sheet.doubt_words(index)]).collect()
        };
        tables.push(titled("Measurements", &columns, self.sheet.rows.iter().enumerate().map(row).collect()));
        tables
    }

    /// Figure, expected value, value and verdict of each expectation; values that fail have all digits.
    pub fn expectation_rows(&self) -> Vec<Vec<String>> {
        let row = |check: &Checked| {
            let got = if check.passed { four_digits(check.got) } else { check.got_text() };
            vec![check.name.clone(), check.expected.clone(), got, if check.passed { "pass" } else { "fail" }.into()]
        };
        self.expectations.iter().map(row).collect()
    }
}
